//! Meshes that bodies are drawn with: triangles from STL, OBJ, COLLADA and glTF files in the model's folder, and of solids.
//!
//! They are for looks only: mass and inertia come from the model. What is drawn goes into `scene.json`, so that
//! results and reports do not need the files again.

mod dae;
mod obj;
mod solid;

use crate::file::suggest::quoted;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use std::path::{Component, Path};

/// Larger files, and more triangles, are refused.
const LARGEST: u64 = 256 << 20;
const TRIANGLES: usize = 2_000_000;
/// Nodes of a glTF file are followed to this depth.
const DEPTH: usize = 64;

/// Triangles: the corners of one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// x, y, z of three corners each, in the frame of the file.
    pub corners: Vec<f32>,
}

/// What is wrong, and what to try.
pub type Fault = (String, String);

/// Reads a mesh from a file in the model's folder.
pub fn open(folder: &Path, file: &str) -> Result<Mesh, Fault> {
    let fault = |(text, help): Fault| (format!("{} {text}", quoted(file)), help);
    let bytes = inside(folder, Path::new(file)).map_err(fault)?;
    let beside = |name: &str| {
        let dir = Path::new(file).parent().unwrap_or(Path::new(""));
        inside(folder, &dir.join(name)).map_err(|(text, help)| (format!("names {}, which {text}", quoted(name)), help))
    };
    let ending = Path::new(file).extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let mesh = match ending.as_str() {
        "glb" => glb(&bytes, &beside),
        "gltf" => gltf(&bytes, None, &beside),
        _ => parse(&ending, &bytes),
    };
    checked(mesh.map_err(fault)?).map_err(fault)
}

/// Reads a mesh that is one file, by its ending in small letters.
pub fn parse(ending: &str, bytes: &[u8]) -> Result<Mesh, Fault> {
    checked(match ending {
        "stl" => stl(bytes)?,
        "obj" => obj::obj(bytes)?,
        "dae" => dae::dae(bytes)?,
        "glb" => glb(bytes, &|_| wrong("is another file", "use a file that stands alone"))?,
        _ => return wrong("is no mesh that can be read", "use STL, OBJ, COLLADA (.dae) or glTF (.gltf, .glb)"),
    })
}

fn checked(mesh: Mesh) -> Result<Mesh, Fault> {
    match mesh.corners.len() / 9 {
        0 => wrong("has no triangles", "export the surface of the body as triangles"),
        n if n > TRIANGLES => Err(many()),
        _ if mesh.corners.iter().any(|x| !x.is_finite()) => wrong("has corners that are no numbers", "export it again"),
        _ => Ok(mesh),
    }
}

fn wrong<T>(text: impl Into<String>, help: &str) -> Result<T, Fault> {
    Err((text.into(), help.into()))
}

fn many() -> Fault {
    (format!("has more than {TRIANGLES} triangles"), "export it more coarsely".into())
}

/// The bytes of a file that lies in the model's folder; links are followed, but not out of it.
fn inside(folder: &Path, file: &Path) -> Result<Vec<u8>, Fault> {
    let help = "copy the file into the model's folder and give its path from there";
    if file.components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir)) {
        return wrong("leaves the model's folder", help);
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(found) = folder.join(file).canonicalize() else { return wrong("is not in the model's folder", help) };
    if !folder.canonicalize().is_ok_and(|f| found.starts_with(f)) {
        return wrong("is a link that leaves the model's folder", help);
    }
    match found.metadata() {
        Ok(m) if !m.is_file() => wrong("is no file", "give the name of an STL, OBJ, COLLADA or glTF file"),
        Ok(m) if m.len() > LARGEST => wrong("is larger than 256 MB", "export it more coarsely"),
        _ => std::fs::read(&found).or_else(|e| wrong(format!("cannot be read: {e}"), help)),
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn float(bytes: &[u8], at: usize) -> Option<f32> {
    number(bytes, at).map(f32::from_le_bytes)
}

/// STL: binary where the length says so, else text.
fn stl(bytes: &[u8]) -> Result<Mesh, Fault> {
    let count = number(bytes, 80).map(|n| u32::from_le_bytes(n) as usize);
    if let Some(n) = count.filter(|n| n.checked_mul(50).is_some_and(|l| l + 84 == bytes.len())) {
        if n > TRIANGLES {
            return Err(many());
        }
        let corner = |t: usize, k: usize| float(bytes, 84 + 50 * t + 12 + 4 * k).unwrap_or(f32::NAN);
        return Ok(Mesh { corners: (0..n).flat_map(|t| (0..9).map(move |k| corner(t, k))).collect() });
    }
    let broken = || wrong("is no STL file, or its end is missing", "export it again, binary or as text");
    let Ok(text) = std::str::from_utf8(bytes) else { return broken() };
    let mut words = text.split_ascii_whitespace();
    if words.next() != Some("solid") {
        return broken();
    }
    let mut corners = Vec::new();
    while let Some(word) = words.next() {
        if word == "vertex" {
            for _ in 0..3 {
                match words.next().and_then(|w| w.parse().ok()) {
                    Some(x) => corners.push(x),
                    None => return broken(),
                }
            }
        }
    }
    if corners.len() % 9 == 0 { Ok(Mesh { corners }) } else { broken() }
}

type Beside<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, Fault>;

/// The binary form of glTF: a header, a chunk of JSON, a chunk of bytes. [glTF 2.0, 4]
fn glb(bytes: &[u8], beside: Beside) -> Result<Mesh, Fault> {
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

/// Column-major 4×4 matrices.
type Matrix = [f64; 16];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = [0.0; 16];
    for (k, o) in out.iter_mut().enumerate() {
        *o = (0..4).map(|i| a[4 * i + k % 4] * b[4 * (k / 4) + i]).sum();
    }
    out
}

struct Gltf {
    root: Value,
    buffers: Vec<Vec<u8>>,
    corners: Vec<f32>,
}

fn gltf(json: &[u8], binary: Option<&[u8]>, beside: Beside) -> Result<Mesh, Fault> {
    let Ok(root) = serde_json::from_slice::<Value>(json) else { return wrong("is no glTF file", "export it again") };
    if let Some(extension) = root["extensionsRequired"].as_array().and_then(|e| e.first()) {
        return wrong(format!("needs the extension {extension}"), "export it without compression and extensions");
    }
    let mut buffers = Vec::new();
    for (k, b) in root["buffers"].as_array().into_iter().flatten().enumerate() {
        buffers.push(match (b["uri"].as_str(), binary) {
            (None, Some(binary)) if k == 0 => binary.to_vec(),
            (None, _) => return wrong("has a buffer without bytes", "export it again"),
            (Some(uri), _) => match uri.strip_prefix("data:") {
                Some(data) => match data.split_once(";base64,").and_then(|(_, code)| from_base64(code)) {
                    Some(bytes) => bytes,
                    None => return wrong("has a buffer that cannot be read", "export it again"),
                },
                None => beside(uri)?,
            },
        });
    }
    let mut file = Gltf { root, buffers, corners: vec![] };
    let scene = &file.root["scenes"][file.root["scene"].as_u64().unwrap_or(0) as usize]["nodes"];
    let nodes: Vec<u64> = match scene.as_array() {
        Some(list) => list.iter().filter_map(Value::as_u64).collect(),
        None => (0..file.root["nodes"].as_array().map_or(0, Vec::len) as u64).collect(),
    };
    let mut identity = [0.0; 16];
    (0..4).for_each(|i| identity[5 * i] = 1.0);
    for n in nodes {
        file.node(n as usize, &identity, 0)?;
    }
    Ok(Mesh { corners: file.corners })
}

impl Gltf {
    fn node(&mut self, n: usize, above: &Matrix, depth: usize) -> Result<(), Fault> {
        if depth > DEPTH {
            return wrong("has nodes that hold themselves", "export it again");
        }
        let node = self.root["nodes"][n].clone();
        let list = |v: &Value| v.as_array().map(|a| a.iter().map(|x| x.as_f64().unwrap_or(0.0)).collect::<Vec<f64>>());
        let own: Matrix = match list(&node["matrix"]).and_then(|m| m.try_into().ok()) {
            Some(m) => m,
            None => {
                let t = list(&node["translation"]).filter(|t| t.len() == 3).unwrap_or_else(|| vec![0.0; 3]);
                let s = list(&node["scale"]).filter(|s| s.len() == 3).unwrap_or_else(|| vec![1.0; 3]);
                let q = list(&node["rotation"]).filter(|q| q.len() == 4).unwrap_or_else(|| vec![0.0, 0.0, 0.0, 1.0]);
                let r = bellcrank_math::Quat([q[3], q[0], q[1], q[2]]).normalized().matrix();
                let mut m = [0.0; 16];
                for (i, row) in r.0.iter().enumerate() {
                    (0..3).for_each(|j| m[4 * j + i] = row[j] * s[j]);
                    m[12 + i] = t[i];
                }
                m[15] = 1.0;
                m
            }
        };
        let place = times(above, &own);
        if let Some(mesh) = node["mesh"].as_u64() {
            for p in self.root["meshes"][mesh as usize]["primitives"].as_array().cloned().into_iter().flatten() {
                self.primitive(&p, &place)?;
            }
        }
        for child in node["children"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
            self.node(child as usize, &place, depth + 1)?;
        }
        Ok(())
    }

    fn primitive(&mut self, p: &Value, place: &Matrix) -> Result<(), Fault> {
        if p["mode"].as_u64().unwrap_or(4) != 4 {
            return Ok(()); // points and lines
        }
        let damaged =
            || ("is damaged: a mesh refers to numbers that are not there".to_string(), "export it again".into());
        let points = self.accessor(&p["attributes"]["POSITION"], 3).ok_or_else(damaged)?;
        let order: Vec<usize> = match p["indices"].is_null() {
            true => (0..points.len() / 3).collect(),
            false => self.accessor(&p["indices"], 1).ok_or_else(damaged)?.into_iter().map(|x| x as usize).collect(),
        };
        if self.corners.len() / 9 + order.len() / 3 > TRIANGLES {
            return Err(many());
        }
        for i in &order[..order.len() / 3 * 3] {
            let v = points.get(3 * i..3 * i + 3).ok_or_else(damaged)?;
            for k in 0..3 {
                let x = (0..3).map(|j| place[4 * j + k] * v[j]).sum::<f64>() + place[12 + k];
                self.corners.push(x as f32);
            }
        }
        Ok(())
    }

    /// The numbers of an accessor, `width` in each element.
    fn accessor(&self, number_of: &Value, width: usize) -> Option<Vec<f64>> {
        let a = &self.root["accessors"][number_of.as_u64()? as usize];
        let view = &self.root["bufferViews"][a["bufferView"].as_u64()? as usize];
        let bytes = self.buffers.get(view["buffer"].as_u64()? as usize)?;
        let offset = |v: &Value| v["byteOffset"].as_u64().unwrap_or(0) as usize;
        let (start, count) = (offset(view).checked_add(offset(a))?, a["count"].as_u64()? as usize);
        let kind = a["componentType"].as_u64()?;
        let size = match kind {
            5121 => 1,
            5123 => 2,
            5125 | 5126 => 4,
            _ => return None,
        };
        let stride = view["byteStride"].as_u64().map_or(size * width, |s| s as usize);
        if count > bytes.len() || !a["sparse"].is_null() {
            return None;
        }
        let mut out = Vec::with_capacity(count * width);
        for i in 0..count {
            for k in 0..width {
                let at = start.checked_add(i.checked_mul(stride)?)?.checked_add(k * size)?;
                out.push(match kind {
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

    const TRIANGLE: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.5];

    fn binary_stl(n: u32) -> Vec<u8> {
        let mut bytes = vec![b's'; 80];
        bytes.extend(n.to_le_bytes());
        for _ in 0..n {
            bytes.extend([0; 12]);
            TRIANGLE.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn both_kinds_of_stl_give_the_same_triangles() {
        let text = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2 0.5\nendloop\nendfacet\nendsolid a";
        assert_eq!(stl(text.as_bytes()).unwrap().corners, TRIANGLE);
        assert_eq!(stl(&binary_stl(1)).unwrap().corners, TRIANGLE);
        for damaged in [&binary_stl(2)[..150], b"solid a vertex 1 2", b"", b"solid a vertex 1 2 x"] {
            assert!(stl(damaged).is_err());
        }
    }

    #[test]
    fn gltf_nodes_turn_stretch_and_shift_their_meshes() {
        let mut data = Vec::new();
        TRIANGLE.iter().for_each(|x| data.extend(x.to_le_bytes()));
        [0u16, 1, 2].iter().for_each(|i| data.extend(i.to_le_bytes()));
        let json = serde_json::json!({
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": [
                {"children": [1], "translation": [10, 0, 0]},
                {"mesh": 0, "scale": [2, 2, 2], "rotation": [0, 0, std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2]},
            ],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                {"bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR"},
            ],
            "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 6}],
            "buffers": [{"byteLength": 42, "uri": format!("data:application/octet-stream;base64,{}", BASE64.encode(&data))}],
        });
        let beside = |_: &str| wrong("is not there", "");
        let expected = [10.0, 0.0, 0.0, 10.0, 2.0, 0.0, 6.0, 0.0, 1.0];
        let near = |m: &Mesh| m.corners.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6) && m.corners.len() == 9;
        assert!(near(&gltf(json.to_string().as_bytes(), None, &beside).unwrap()));
        // the same as one binary file
        let mut own = json.clone();
        own["buffers"] = serde_json::json!([{"byteLength": 42}]);
        let mut text = own.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut bytes = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (kind, body) in [(b"JSON", &text), (b"BIN\0", &data)] {
            bytes.extend((body.len() as u32).to_le_bytes());
            bytes.extend(kind);
            bytes.extend(body);
        }
        assert!(near(&glb(&bytes, &beside).unwrap()));
        for n in (0..bytes.len()).step_by(7) {
            assert!(glb(&bytes[..n], &beside).is_err(), "{n}");
        }
        let mut compressed = json;
        compressed["extensionsRequired"] = serde_json::json!(["KHR_draco_mesh_compression"]);
        assert!(gltf(compressed.to_string().as_bytes(), None, &beside).unwrap_err().0.contains("draco"));
    }

    #[test]
    fn only_files_in_the_folder_are_read() {
        let dir = std::env::temp_dir().join(format!("bellcrank-mesh-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("model")).unwrap();
        std::fs::write(dir.join("out.stl"), binary_stl(1)).unwrap();
        std::fs::write(dir.join("model/in.stl"), binary_stl(1)).unwrap();
        let of = |file: &str| open(&dir.join("model"), file);
        assert_eq!(of("in.stl").unwrap().corners, TRIANGLE);
        for (file, told) in
            [("../out.stl", "leaves"), ("/etc/passwd", "leaves"), ("none.stl", "is not in"), (".", "no file")]
        {
            let e = of(file).unwrap_err();
            assert!(e.0.contains(told), "{e:?}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.join("out.stl"), dir.join("model/link.stl")).unwrap();
            assert!(of("link.stl").unwrap_err().0.contains("link that leaves"));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
