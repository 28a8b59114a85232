//! COLLADA (.dae): the triangles of the geometries that the scene shows, with the transforms of their nodes and the unit of
//! the file [COLLADA 1.4.1, 5]. The file's up axis is left alone, as robot files mean it; materials, skins and animations are not read.

use super::{Fault, Matrix, Mesh, TRIANGLES, many, times, wrong};
use roxmltree::{Document, Node};
use std::collections::HashMap;

/// Nodes are followed to this depth, and no more are visited: instances may multiply them.
const DEPTH: usize = 64;
const VISITS: usize = 100_000;
/// Bytes of text that are read, each as often as it is used.
const WORK: usize = 512 << 20;

pub(super) fn dae(bytes: &[u8]) -> Result<Mesh, Fault> {
    let Ok(text) = std::str::from_utf8(bytes) else { return wrong("is no text in UTF-8", "export it again") };
    let document = Document::parse(text.trim_start_matches('\u{feff}'))
        .or_else(|e| wrong(format!("is no COLLADA file: {e}"), "export it again, or as STL or OBJ"))?;
    let by_id = document.descendants().filter_map(|n| Some((n.attribute("id")?, n))).collect();
    let root = document.root_element();
    let unit = child(root, "asset").and_then(|a| child(a, "unit")).and_then(|u| u.attribute("meter")?.parse().ok());
    let mut file = Collada { by_id, corners: Vec::new(), steps: 0, work: 0 };
    let unit: f64 = unit.filter(|u: &f64| u.is_finite() && *u > 0.0).unwrap_or(1.0);
    let mut place = [0.0; 16];
    (0..3).for_each(|i| place[5 * i] = unit);
    place[15] = 1.0;
    let shown = child(root, "scene").and_then(|s| child(s, "instance_visual_scene"));
    match shown.and_then(|s| file.target(s)) {
        Some(scene) => file.nodes(scene, &place, 0)?,
        None => {
            // without a scene every geometry is shown as it is
            let all: Vec<Node> =
                document.descendants().filter(|n| n.has_tag_name("geometry") || is(*n, "geometry")).collect();
            for geometry in all {
                file.geometry(geometry, &place)?;
            }
        }
    }
    Ok(Mesh { corners: file.corners })
}

struct Collada<'a, 'b> {
    by_id: HashMap<&'a str, Node<'a, 'b>>,
    corners: Vec<f32>,
    /// Nodes visited: instances may multiply them.
    steps: usize,
    /// Bytes of text that were read.
    work: usize,
}

fn is(node: Node, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

fn child<'a, 'b>(node: Node<'a, 'b>, name: &str) -> Option<Node<'a, 'b>> {
    node.children().find(|n| is(*n, name))
}

fn numbers(node: Node) -> Vec<f64> {
    node.text().unwrap_or("").split_ascii_whitespace().map(|w| w.parse().unwrap_or(f64::NAN)).collect()
}

fn damaged<T>() -> Result<T, Fault> {
    wrong("is damaged: a geometry refers to numbers that are not there", "export it again, or as STL or OBJ")
}

impl<'a, 'b> Collada<'a, 'b> {
    /// What `url` or `source` of an element refers to.
    fn target(&self, node: Node<'a, 'b>) -> Option<Node<'a, 'b>> {
        let url = node.attribute("url").or(node.attribute("source"))?;
        self.by_id.get(url.strip_prefix('#')?).copied()
    }

    fn nodes(&mut self, parent: Node<'a, 'b>, place: &Matrix, depth: usize) -> Result<(), Fault> {
        self.steps += 1;
        if depth > DEPTH || self.steps > VISITS {
            return wrong("has nodes that hold themselves, or too many", "export it again");
        }
        for node in parent.children().filter(|n| is(*n, "node")) {
            self.node(node, place, depth)?;
        }
        Ok(())
    }

    fn node(&mut self, node: Node<'a, 'b>, above: &Matrix, depth: usize) -> Result<(), Fault> {
        let mut place = *above;
        for n in node.children() {
            if let Some(own) = transform(n) {
                place = times(&place, &own);
            }
        }
        for n in node.children() {
            if is(n, "instance_geometry") {
                match self.target(n) {
                    Some(geometry) => self.geometry(geometry, &place)?,
                    None => return damaged(),
                }
            } else if is(n, "instance_node")
                && let Some(other) = self.target(n)
            {
                self.steps += 1;
                if depth > DEPTH || self.steps > VISITS {
                    return wrong("has nodes that hold themselves, or too many", "export it again");
                }
                self.node(other, &place, depth + 1)?;
            }
        }
        self.nodes(node, &place, depth + 1)
    }

    fn geometry(&mut self, geometry: Node<'a, 'b>, place: &Matrix) -> Result<(), Fault> {
        let Some(mesh) = child(geometry, "mesh") else { return Ok(()) };
        for part in mesh.children().filter(|n| ["triangles", "polylist", "polygons"].iter().any(|k| is(*n, k))) {
            self.part(part, place)?;
        }
        Ok(())
    }

    /// The positions of the corners of a list of polygons.
    fn part(&mut self, part: Node<'a, 'b>, place: &Matrix) -> Result<(), Fault> {
        let inputs: Vec<Node> = part.children().filter(|n| is(*n, "input")).collect();
        let offset = |n: &Node| n.attribute("offset").and_then(|o| o.parse::<usize>().ok()).unwrap_or(0);
        let stride = inputs.iter().map(offset).max().unwrap_or(0).saturating_add(1);
        let Some(vertex) = inputs.iter().find(|n| n.attribute("semantic") == Some("VERTEX")) else { return damaged() };
        let Some(points) = self.positions(*vertex) else { return damaged() };
        self.work = self.work.saturating_add(part.range().len() + 8 * points.len());
        if self.work > WORK {
            return Err(many());
        }
        let sizes: Option<Vec<usize>> =
            child(part, "vcount").map(|v| numbers(v).into_iter().map(|n| n as usize).collect());
        for list in part.children().filter(|n| is(*n, "p")) {
            let corners: Vec<usize> =
                numbers(list).into_iter().skip(offset(vertex)).step_by(stride).map(|n| n as usize).collect();
            let mut rest = &corners[..];
            let mut next = 0;
            while !rest.is_empty() {
                let size = match &sizes {
                    Some(sizes) => sizes.get(next).copied().unwrap_or(0),
                    None if is(part, "polygons") => rest.len(),
                    None => 3,
                };
                next += 1;
                if size == 0 || size > rest.len() {
                    return damaged();
                }
                let (face, others) = rest.split_at(size);
                rest = others;
                for k in 1..size.saturating_sub(1) {
                    for i in [face[0], face[k], face[k + 1]] {
                        let Some(v) = i.checked_mul(3).and_then(|i| points.get(i..i.checked_add(3)?)) else {
                            return damaged();
                        };
                        for r in 0..3 {
                            let x = (0..3).map(|j| place[4 * j + r] * v[j]).sum::<f64>() + place[12 + r];
                            self.corners.push(x as f32);
                        }
                    }
                }
                if self.corners.len() / 9 > TRIANGLES {
                    return Err(many());
                }
            }
        }
        Ok(())
    }

    /// x, y, z of the points of a `VERTEX` input.
    fn positions(&self, input: Node<'a, 'b>) -> Option<Vec<f64>> {
        let vertices = self.target(input)?;
        let position = vertices.children().find(|n| is(*n, "input") && n.attribute("semantic") == Some("POSITION"))?;
        let source = self.target(position)?;
        let array = child(source, "float_array")?;
        let stride =
            child(source, "technique_common").and_then(|t| child(t, "accessor")?.attribute("stride")?.parse().ok());
        let values = numbers(array);
        let stride: usize = stride.unwrap_or(3);
        (stride >= 3).then(|| values.chunks_exact(stride).flat_map(|c| c[..3].to_vec()).collect())
    }
}

/// The matrix of a transform element, in columns.
fn transform(node: Node) -> Option<Matrix> {
    let mut m = [0.0; 16];
    (0..4).for_each(|i| m[5 * i] = 1.0);
    let x = if node.is_element() { numbers(node) } else { return None };
    match (node.tag_name().name(), x.len()) {
        ("matrix", 16) => (0..4).for_each(|i| (0..4).for_each(|j| m[4 * j + i] = x[4 * i + j])),
        ("translate", 3) => m[12..15].copy_from_slice(&x),
        ("scale", 3) => (0..3).for_each(|i| m[5 * i] = x[i]),
        ("rotate", 4) => {
            let axis = bellcrank_math::Vec3::new(x[0], x[1], x[2]).normalized()?;
            let r = bellcrank_math::rotation::exp(axis * x[3].to_radians());
            (0..3).for_each(|i| (0..3).for_each(|j| m[4 * j + i] = r.0[i][j]));
        }
        _ => return None,
    }
    Some(m)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r##"<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit meter="0.001" name="millimeter"/><up_axis>Z_UP</up_axis></asset>
 <library_geometries><geometry id="g"><mesh>
  <source id="s"><float_array id="a" count="12">0 0 0 1000 0 0 1000 1000 0 0 1000 0</float_array>
   <technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
  <polylist count="1"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
   <vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="scene"><node><translate>0 0 5000</translate><rotate>0 0 1 90</rotate>
  <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>"##;

    #[test]
    fn nodes_and_units_move_the_triangles() {
        let mesh = dae(FILE.as_bytes()).unwrap();
        let expected = [0.0, 0.0, 5.0, 0.0, 1.0, 5.0, -1.0, 1.0, 5.0, 0.0, 0.0, 5.0, -1.0, 1.0, 5.0, -1.0, 0.0, 5.0];
        assert_eq!(mesh.corners.len(), 18);
        assert!(mesh.corners.iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6), "{mesh:?}");
    }

    #[test]
    fn damaged_files_are_refused() {
        for (from, to) in
            [("<p>0 0 1 0 2 0 3 0", "<p>0 0 1 0 2 0 9 0"), ("<vcount>4", "<vcount>5"), ("<scene>", "<scene")]
        {
            assert!(dae(FILE.replace(from, to).as_bytes()).is_err(), "{to}");
        }
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
        assert!(dae(bomb.as_bytes()).unwrap_err().0.contains("DTD"));
        let selfish = FILE
            .replace("<translate>0 0 5000</translate>", "")
            .replace("<node>", "<node id=\"me\"><instance_node url=\"#me\"/>");
        assert!(dae(selfish.as_bytes()).is_err());
    }
}
