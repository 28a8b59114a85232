//! Meshes that bodies are drawn with: triangles from STL, OBJ, COLLADA and glTF files in the model's folder, and of solids.
//!
//! Mass and inertia come from the model, or from a closed mesh and a density ([`Mesh::solid`]). What is drawn goes into `scene.json`, so that
//! results and reports do not need the files again.

mod dae;
mod gltf;
mod mass;
mod obj;
mod solid;

use crate::file::bounded::{self, TRIANGLES};
use crate::file::suggest::quoted;
use gltf::{glb, gltf};
use std::path::Path;

pub use crate::file::bounded::Fault;
pub use mass::Solid;

/// Triangles: the corners of one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// x, y, z of three corners each, in the frame of the file.
    pub corners: Vec<f32>,
}

/// Reads a mesh from a file in the model's folder.
pub fn open(folder: &Path, file: &str) -> Result<Mesh, Fault> {
    let read = |file: &Path| bounded::read_inside(folder, file, "export it more coarsely");
    let bytes = read(Path::new(file))?;
    let beside = |name: &str| {
        let dir = Path::new(file).parent().unwrap_or(Path::new(""));
        read(&dir.join(name)).map_err(|(text, help)| (format!("names a file that cannot be used: {text}"), help))
    };
    let fault = |(text, help): Fault| (format!("{} {text}", quoted(file)), help);
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

/// Column-major 4×4 matrices.
type Matrix = [f64; 16];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|k| (0..4).map(|i| a[4 * i + k % 4] * b[4 * (k / 4) + i]).sum())
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

#[cfg(test)]
mod tests {
    use super::*;

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
