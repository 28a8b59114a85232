//! Wavefront OBJ: `v` and `f` lines; faces of more than three corners become fans of triangles.

use super::{Fault, Mesh, TRIANGLES, many, wrong};

pub(super) fn obj(bytes: &[u8]) -> Result<Mesh, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let (mut points, mut corners): (Vec<[f32; 3]>, Vec<f32>) = Default::default();
    let damaged = |line: usize| wrong(format!("is damaged in line {}", line + 1), "export it again as triangles");
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let mut next = || words.next().and_then(|w| w.parse::<f32>().ok());
                match (next(), next(), next()) {
                    (Some(x), Some(y), Some(z)) => points.push([x, y, z]),
                    _ => return damaged(number),
                }
            }
            Some("f") => {
                // `7`, `7/1`, `7//2`, `7/1/2`; negative numbers count from the last point
                let point = |word: &str| {
                    let n: i64 = word.split('/').next()?.parse().ok()?;
                    let at = if n < 0 { points.len() as i64 + n } else { n - 1 };
                    points.get(usize::try_from(at).ok()?).copied()
                };
                let Some(face) = words.map(point).collect::<Option<Vec<_>>>() else { return damaged(number) };
                for k in 1..face.len().saturating_sub(1) {
                    [face[0], face[k], face[k + 1]].iter().for_each(|p| corners.extend(p));
                }
                if corners.len() / 9 > TRIANGLES {
                    return Err(many());
                }
            }
            _ => {}
        }
    }
    Ok(Mesh { corners })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_become_triangles() {
        let mesh = obj(b"# a square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1 -1//1\n").unwrap();
        assert_eq!(mesh.corners.len(), 18);
        assert_eq!(mesh.corners[9..], [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        for text in ["v 0 0\n", "v 0 0 0\nf 1 2 3\n", "f a b c\n", "v 0 0 0\nf 0 0 0\n"] {
            assert!(obj(text.as_bytes()).is_err(), "{text}");
        }
    }
}
