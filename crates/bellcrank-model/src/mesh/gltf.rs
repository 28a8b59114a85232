//! glTF 2.0: triangles of all meshes in the scene, each where its node puts it.
//!
//! No count in a file is trusted. Nodes form a tree, so each is visited once; a buffer that several entries name is read once;
//! numbers are counted before they are unpacked.
//!
//! The types below are the few fields of the standard that triangles need. The crate `gltf-json` has all of them, but cuts
//! indices to 32 bits, panics in its validation where a mesh names an accessor that is not there, and adds 20 s of
//! processor time to a build.

use super::{Fault, IDENTITY, Matrix, Mesh, TRIANGLES, float, many, number, times, wrong};
use crate::file::bounded::LARGEST;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

/// Bytes of JSON: as nodes they take 24 times as much memory.
const LARGEST_JSON: usize = 32 << 20;

/// Reads a file beside the mesh.
pub type FilesBeside<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, Fault>;

/// The binary form: a header, a chunk of JSON, a chunk of bytes. [glTF 2.0, 4]
pub fn glb(bytes: &[u8], beside: FilesBeside) -> Result<Mesh, Fault> {
    let chunk = |at: usize, kind: &[u8; 4]| {
        let length = u32::from_le_bytes(number(bytes, at)?) as usize;
        let body = bytes.get(at + 8..(at + 8).checked_add(length)?)?;
        (number(bytes, at + 4)? == *kind).then_some((body, at + 8 + length))
    };
    if !bytes.starts_with(b"glTF\x02\0\0\0") {
        return wrong("is no binary glTF 2.0 file", "export it again");
    }
    let Some((json, next)) = chunk(12, b"JSON") else { return wrong("is damaged", "export it again") };
    gltf(json, chunk(next, b"BIN\0").map(|(b, _)| b), beside)
}

/// The form as text, whose buffers are beside it or in it.
pub fn gltf(json: &[u8], binary: Option<&[u8]>, beside: FilesBeside) -> Result<Mesh, Fault> {
    if json.len() > LARGEST_JSON {
        return wrong(
            format!("has more than {} MB of JSON", LARGEST_JSON >> 20),
            "export it as one binary file (.glb)",
        );
    }
    let file: File = serde_json::from_slice(json)
        .or_else(|e| wrong(format!("is no glTF file that can be read: {e}"), "export it again"))?;
    if let Some(extension) = file.extensions_required.first() {
        return wrong(format!("needs the extension \"{extension}\""), "export it without compression and extensions");
    }
    let buffers = buffers(&file, binary, beside)?;
    let roots: Vec<usize> = match file.scenes.get(file.scene).and_then(|s| s.nodes.clone()) {
        Some(nodes) => nodes,
        None => (0..file.nodes.len()).collect(),
    };
    let mut walk = Walk {
        file: &file,
        buffers: &buffers,
        visited: vec![false; file.nodes.len()],
        left: 12 * TRIANGLES,
        corners: vec![],
    };
    walk.nodes(roots)?;
    Ok(Mesh { corners: walk.corners })
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct File {
    extensions_required: Vec<String>,
    scene: usize,
    scenes: Vec<GltfScene>,
    nodes: Vec<SceneNode>,
    meshes: Vec<Primitives>,
    accessors: Vec<Accessor>,
    buffer_views: Vec<View>,
    buffers: Vec<Buffer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GltfScene {
    nodes: Option<Vec<usize>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SceneNode {
    // boxes: most nodes have none of them
    matrix: Option<Box<Matrix>>,
    translation: Option<Box<[f64; 3]>>,
    rotation: Option<Box<[f64; 4]>>,
    scale: Option<Box<[f64; 3]>>,
    mesh: Option<usize>,
    children: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Primitives {
    primitives: Vec<Primitive>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Primitive {
    mode: Option<u32>,
    attributes: Attributes,
    indices: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<usize>,
    byte_offset: usize,
    component_type: u32,
    count: usize,
    sparse: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct View {
    buffer: usize,
    byte_offset: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Buffer {
    uri: Option<String>,
}

/// The bytes of each buffer: an index into those that were read, each once.
struct Buffers {
    read: Vec<Vec<u8>>,
    of: Vec<usize>,
}

fn buffers(file: &File, binary: Option<&[u8]>, beside: FilesBeside) -> Result<Buffers, Fault> {
    let mut buffers = Buffers { read: Vec::new(), of: Vec::new() };
    let mut named: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    let mut total = 0;
    for (k, buffer) in file.buffers.iter().enumerate() {
        let uri = buffer.uri.as_deref();
        if let Some(known) = uri.and_then(|uri| named.get(uri)) {
            buffers.of.push(*known);
            continue;
        }
        let bytes = match (uri, binary) {
            (None, Some(binary)) if k == 0 => binary.to_vec(),
            (None, _) => return wrong("has a buffer without bytes", "export it again"),
            (Some(uri), _) => match uri.strip_prefix("data:") {
                Some(data) => match data.split_once(";base64,").and_then(|(_, code)| from_base64(code)) {
                    Some(bytes) => bytes,
                    None => return wrong("has a buffer that cannot be read", "export it again"),
                },
                None => beside(uri)?,
            },
        };
        total += bytes.len() as u64;
        if total > LARGEST {
            return wrong(format!("has buffers of more than {} MB", LARGEST >> 20), "export it more coarsely");
        }
        if let Some(uri) = uri {
            named.insert(uri, buffers.read.len());
        }
        buffers.of.push(buffers.read.len());
        buffers.read.push(bytes);
    }
    Ok(buffers)
}

impl SceneNode {
    /// From its own coordinates to those of the node that holds it.
    fn place(&self) -> Matrix {
        if let Some(matrix) = &self.matrix {
            return **matrix;
        }
        let [x, y, z, w] = self.rotation.as_deref().copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let scale = self.scale.as_deref().copied().unwrap_or([1.0; 3]);
        let shift = self.translation.as_deref().copied().unwrap_or_default();
        let turn = bellcrank_math::Quat([w, x, y, z]).normalized().matrix();
        let mut m = IDENTITY;
        for (i, row) in turn.0.iter().enumerate() {
            (0..3).for_each(|j| m[4 * j + i] = row[j] * scale[j]);
            m[12 + i] = shift[i];
        }
        m
    }
}

struct Walk<'a> {
    file: &'a File,
    buffers: &'a Buffers,
    visited: Vec<bool>,
    /// Numbers that may still be unpacked.
    left: usize,
    corners: Vec<f32>,
}

fn damaged() -> Fault {
    ("is damaged: a mesh refers to numbers that are not there".into(), "export it again".into())
}

impl Walk<'_> {
    fn nodes(&mut self, roots: Vec<usize>) -> Result<(), Fault> {
        let mut stack: Vec<(usize, Matrix)> = roots.into_iter().rev().map(|n| (n, IDENTITY)).collect();
        while let Some((n, above)) = stack.pop() {
            let Some(node) = self.file.nodes.get(n) else {
                return wrong("names a node that is not there", "export it again");
            };
            if std::mem::replace(&mut self.visited[n], true) {
                return wrong(format!("has a node (number {n}) that hangs on two others"), "export it again");
            }
            let place = times(&above, &node.place());
            let mesh = node.mesh.and_then(|m| self.file.meshes.get(m));
            for p in mesh.into_iter().flat_map(|m| &m.primitives) {
                self.primitive(p, &place)?;
            }
            stack.extend(node.children.iter().rev().map(|c| (*c, place)));
        }
        Ok(())
    }

    fn primitive(&mut self, p: &Primitive, place: &Matrix) -> Result<(), Fault> {
        // Corners of triangle k among the points. In a strip every second triangle is turned over. [glTF 2.0, 3.7.2.1]
        let triangle: fn(usize) -> [usize; 3] = match p.mode.unwrap_or(4) {
            0..=3 => return Ok(()), // points and lines
            4 => |k| [3 * k, 3 * k + 1, 3 * k + 2],
            5 => |k| [k, k + 1 + k % 2, k + 2 - k % 2],
            6 => |k| [k + 1, k + 2, 0],
            _ => return wrong("has a mesh of a kind that glTF 2.0 does not know", "export it again"),
        };
        let points = self.accessor(p.attributes.position.ok_or_else(damaged)?, 3)?;
        let order: Vec<usize> = match p.indices {
            None => (0..points.len() / 3).collect(),
            Some(indices) => self.accessor(indices, 1)?.into_iter().map(|x| x as usize).collect(),
        };
        let count = if p.mode.unwrap_or(4) == 4 { order.len() / 3 } else { order.len().saturating_sub(2) };
        if self.corners.len() / 9 + count > TRIANGLES {
            return Err(many());
        }
        for i in (0..count).flat_map(triangle).map(|at| order[at]) {
            let v = points.get(3 * i..3 * i + 3).ok_or_else(damaged)?;
            for k in 0..3 {
                let x = (0..3).map(|j| place[4 * j + k] * v[j]).sum::<f64>() + place[12 + k];
                self.corners.push(x as f32);
            }
        }
        Ok(())
    }

    /// The numbers of an accessor, `width` in each element.
    fn accessor(&mut self, k: usize, width: usize) -> Result<Vec<f64>, Fault> {
        let a = self.file.accessors.get(k).ok_or_else(damaged)?;
        if a.sparse.is_some() {
            return wrong(
                "has numbers stored as differences (a sparse accessor)",
                "export it without sparse accessors",
            );
        }
        let total = a.count.checked_mul(width).ok_or_else(damaged)?;
        self.left = self.left.checked_sub(total).ok_or_else(many)?;
        self.numbers(a, width).ok_or_else(damaged)
    }

    fn numbers(&self, a: &Accessor, width: usize) -> Option<Vec<f64>> {
        let view = self.file.buffer_views.get(a.buffer_view?)?;
        let bytes = &self.buffers.read[*self.buffers.of.get(view.buffer)?];
        let start = view.byte_offset.checked_add(a.byte_offset)?;
        let size = match a.component_type {
            5121 => 1,
            5123 => 2,
            5125 | 5126 => 4,
            _ => return None,
        };
        let stride = view.byte_stride.unwrap_or(size * width);
        if a.count > bytes.len() {
            return None;
        }
        let mut out = Vec::with_capacity(a.count * width);
        for i in 0..a.count {
            for k in 0..width {
                let at = start.checked_add(i.checked_mul(stride)?)?.checked_add(k * size)?;
                out.push(match a.component_type {
                    5121 => f64::from(*bytes.get(at)?),
                    5123 => f64::from(u16::from_le_bytes(number(bytes, at)?)),
                    5125 => f64::from(u32::from_le_bytes(number(bytes, at)?)),
                    _ => f64::from(float(bytes, at)?),
                });
            }
        }
        Some(out)
    }
}

/// Base64 as files have it, with padding or without. [RFC 4648, section 4]
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&STANDARD, config).decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use serde_json::{Value, json};

    const TRIANGLE: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.5];

    fn data() -> Vec<u8> {
        let mut data = Vec::new();
        TRIANGLE.iter().for_each(|x| data.extend(x.to_le_bytes()));
        [0u16, 1, 2].iter().for_each(|i| data.extend(i.to_le_bytes()));
        data
    }

    fn turned_triangle() -> Value {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        json!({
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": [
                {"children": [1], "translation": [10, 0, 0]},
                {"mesh": 0, "scale": [2, 2, 2], "rotation": [0, 0, half, half]},
            ],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
            ],
            "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 6}],
            "buffers": [{"byteLength": 42, "uri": format!("data:application/octet-stream;base64,{}", BASE64.encode(data()))}],
        })
    }

    fn read(file: &Value) -> Result<Mesh, Fault> {
        gltf(file.to_string().as_bytes(), None, &|_| wrong("is not there", ""))
    }

    #[test]
    fn nodes_turn_stretch_and_shift_their_meshes() {
        let json = turned_triangle();
        let expected = [10.0, 0.0, 0.0, 10.0, 2.0, 0.0, 6.0, 0.0, 1.0];
        let near = |m: &Mesh| m.corners.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6) && m.corners.len() == 9;
        assert!(near(&read(&json).unwrap()));
        // the same as one binary file
        let mut own = json.clone();
        own["buffers"] = json!([{"byteLength": 42}]);
        let mut text = own.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (kind, body) in [(b"JSON", &text), (b"BIN\0", &data())] {
            bytes.extend((body.len() as u32).to_le_bytes());
            bytes.extend(kind);
            bytes.extend(body);
        }
        let beside: FilesBeside = &|_| wrong("is not there", "");
        assert!(near(&glb(&bytes, beside).unwrap()));
        for n in (0..bytes.len()).step_by(7) {
            assert!(glb(&bytes[..n], beside).is_err(), "{n}");
        }
        let mut compressed = json;
        compressed["extensionsRequired"] = json!(["KHR_draco_mesh_compression"]);
        assert!(read(&compressed).unwrap_err().0.contains("draco"));
    }

    /// A tetrahedron's faces, in the order and with the orientation that each mode gives them.
    #[test]
    fn strips_and_fans_have_the_triangles_of_a_list() {
        let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]];
        let mesh = |mode: u32, order: &[u16]| {
            let mut data: Vec<u8> = points.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
            data.extend(order.iter().flat_map(|i| i.to_le_bytes()));
            let mut file = turned_triangle();
            file["nodes"] = json!([{"mesh": 0}]);
            file["meshes"][0]["primitives"][0]["mode"] = json!(mode);
            file["accessors"][0]["count"] = json!(points.len());
            file["accessors"][1]["count"] = json!(order.len());
            file["bufferViews"] = json!([{"buffer": 0}, {"buffer": 0, "byteOffset": 60}]);
            let uri = format!("data:application/octet-stream;base64,{}", BASE64.encode(&data));
            file["buffers"] = json!([{"byteLength": data.len(), "uri": uri}]);
            read(&file)
        };
        let list = |order: &[u16]| mesh(4, order).unwrap().corners;
        assert_eq!(mesh(5, &[0, 1, 2, 3, 4]).unwrap().corners, list(&[0, 1, 2, 1, 3, 2, 2, 3, 4]));
        assert_eq!(mesh(6, &[0, 1, 2, 3, 4]).unwrap().corners, list(&[1, 2, 0, 2, 3, 0, 3, 4, 0]));
        assert!(mesh(5, &[0, 1]).unwrap().corners.is_empty());
        assert!(mesh(1, &[0, 1]).unwrap().corners.is_empty()); // lines
        assert!(mesh(7, &[0, 1, 2]).unwrap_err().0.contains("does not know"));
    }

    #[test]
    fn sparse_numbers_are_refused_by_name() {
        let mut file = turned_triangle();
        file["accessors"][0]["sparse"] = json!({"count": 1});
        assert!(read(&file).unwrap_err().0.contains("sparse"));
    }

    #[test]
    fn nodes_without_end_are_refused() {
        let mut file = turned_triangle();
        file["nodes"][1]["children"] = json!([0]);
        assert!(read(&file).unwrap_err().0.contains("hangs on two"));
        // two children that are the same, at each of sixty levels: 2⁶⁰ visits
        let mut file = turned_triangle();
        file["nodes"] = (1..=60).map(|k| json!({"children": [k, k]})).chain([json!({"mesh": 0})]).collect();
        assert!(read(&file).unwrap_err().0.contains("hangs on two"));
        // a chain deeper than any stack
        let mut file = turned_triangle();
        let deep = 200_000;
        file["nodes"] = (1..=deep).map(|k| json!({"children": [k]})).chain([json!({"mesh": 0})]).collect();
        assert_eq!(read(&file).unwrap().corners, TRIANGLE);
    }

    #[test]
    fn a_buffer_named_many_times_is_read_once() {
        let mut file = turned_triangle();
        file["buffers"] = (0..300).map(|_| json!({"byteLength": 42, "uri": "data.bin"})).collect();
        let times = std::cell::Cell::new(0);
        let beside = |_: &str| {
            times.set(times.get() + 1);
            Ok(data())
        };
        assert!(gltf(file.to_string().as_bytes(), None, &beside).is_ok());
        assert_eq!(times.get(), 1);
    }

    #[test]
    fn numbers_are_counted_before_they_are_unpacked() {
        let mut file = turned_triangle();
        for count in [json!(u64::MAX), json!(1u64 << 62), json!(7_000_000)] {
            file["accessors"][0]["count"] = count;
            assert!(read(&file).is_err());
        }
        for count in [json!(-1), json!(1.5), json!("3"), json!(4)] {
            file["accessors"][0]["count"] = count;
            assert!(read(&file).is_err());
        }
        // a small mesh drawn two million times
        let mut file = turned_triangle();
        file["meshes"] = json!([{"primitives": vec![json!({"attributes": {"POSITION": 0}, "indices": 1}); 1000]}]);
        file["nodes"] = (0..2001).map(|_| json!({"mesh": 0})).collect();
        file["scenes"] = json!([]);
        assert!(read(&file).unwrap_err().0.contains("more than"));
    }
}
