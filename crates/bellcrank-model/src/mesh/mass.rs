//! What a closed mesh holds: its volume, centre and moments, by the divergence theorem.
//!
//! With the corners a, b, c of a triangle that faces outwards, the tetrahedron from the origin has the signed volume V = a·(b × c)/6,
//! the first moment V (a + b + c)/4 and the second moment ∫ x xᵀ dV = V/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ), s = a + b + c. Their sums
//! over a closed surface are those of what it encloses, wherever the origin is.

use super::{Fault, Mesh};
use bellcrank_math::{Mat3, Vec3};
use std::collections::HashMap;

/// Corners closer than this fraction of the mesh are one.
const WELD: f64 = 1e-6;

/// The volume inside a mesh, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// The volume, in m³.
    pub volume: f64,
    /// The centre of the volume.
    pub centre: Vec3,
    /// The inertia of one kilogram about the centre, in the axes of the mesh.
    pub inertia: Mat3,
}

impl Mesh {
    /// What the mesh encloses. One that is open, whose triangles face different ways or that is inside out is refused with the reason.
    pub fn solid(&self) -> Result<Solid, Fault> {
        let triangles: Vec<[Vec3; 3]> = self.corners.chunks_exact(9).map(corners).collect();
        let (low, high) = bounds(&triangles);
        let (middle, size) = ((low + high) * 0.5, (high - low).norm());
        self.closed(&triangles, low, WELD * size)?;
        let (mut volume, mut first, mut second) = (0.0, Vec3::ZERO, Mat3::ZERO);
        for triangle in &triangles {
            // about the middle, so that nothing is lost far from the origin
            let [a, b, c] = triangle.map(|p| p - middle);
            let v = a.dot(b.cross(c)) / 6.0;
            let s = a + b + c;
            volume += v;
            first += s * (v / 4.0);
            second += (a.outer(a) + b.outer(b) + c.outer(c) + s.outer(s)) * (v / 20.0);
        }
        if volume < 0.0 {
            let help = "turn its triangles around (flip the normals), and export it again";
            return Err((
                format!("is inside out: its triangles face inwards, and its volume is {volume:.4e} m³"),
                help.into(),
            ));
        }
        if volume <= 1e-12 * size.powi(3) {
            return Err(("encloses no volume".into(), "export a solid, not a sheet".into()));
        }
        let centre = first * (1.0 / volume);
        let about = second * (1.0 / volume) - centre.outer(centre);
        let trace = about.0[0][0] + about.0[1][1] + about.0[2][2];
        Ok(Solid { volume, centre: centre + middle, inertia: Mat3::IDENTITY * trace - about })
    }

    /// Refuses a mesh unless every edge is passed once in each direction.
    fn closed(&self, triangles: &[[Vec3; 3]], low: Vec3, weld: f64) -> Result<(), Fault> {
        let mut numbers: HashMap<[i64; 3], usize> = HashMap::new();
        let mut points = Vec::new();
        let mut number = |p: Vec3| {
            let key = (p - low).0.map(|x| (x / weld).round() as i64);
            *numbers.entry(key).or_insert_with(|| {
                points.push(p);
                points.len() - 1
            })
        };
        // how often an edge is passed at all, and forwards less backwards
        let mut edges: HashMap<(usize, usize), (u32, i32)> = HashMap::new();
        for triangle in triangles {
            let [a, b, c] = triangle.map(&mut number);
            if a == b || b == c || c == a {
                continue; // a sliver has no area
            }
            for (from, to) in [(a, b), (b, c), (c, a)] {
                let edge = edges.entry((from.min(to), from.max(to))).or_default();
                edge.0 += 1;
                edge.1 += if from < to { 1 } else { -1 };
            }
        }
        let wrong = edges.iter().filter(|(_, (_, balance))| *balance != 0);
        let Some(((from, to), (passed, _))) = wrong.clone().min_by_key(|(ends, _)| **ends) else { return Ok(()) };
        let shown = |p: Vec3| format!("({:.4}, {:.4}, {:.4})", p[0], p[1], p[2]);
        let place = format!("from {} to {}", shown(points[*from]), shown(points[*to]));
        let count = wrong.count();
        let edges = if count == 1 { "an edge".to_string() } else { format!("{count} edges, one of them") };
        Err(match passed % 2 {
            1 => {
                let help = "close the holes and export it again, or give the body its mass and inertia";
                (format!("is not closed: {edges} {place} has a triangle on one side only"), help.into())
            }
            _ => {
                let help = "let all triangles face outwards (make the normals consistent), and export it again";
                (format!("has triangles that face different ways at {edges} {place}"), help.into())
            }
        })
    }
}

fn corners(t: &[f32]) -> [Vec3; 3] {
    [0, 3, 6].map(|k| Vec3::new(t[k].into(), t[k + 1].into(), t[k + 2].into()))
}

fn bounds(triangles: &[[Vec3; 3]]) -> (Vec3, Vec3) {
    let far = f64::INFINITY;
    let mut range = (Vec3::new(far, far, far), Vec3::new(-far, -far, -far));
    for p in triangles.iter().flatten() {
        for i in 0..3 {
            (range.0[i], range.1[i]) = (range.0[i].min(p[i]), range.1[i].max(p[i]));
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by * b.abs().max(1e-12), "{a} against {b}");
    }

    /// Box, tetrahedron and ellipsoid, turned and far from the origin, against their closed forms.
    #[test]
    fn solids_have_the_moments_of_their_closed_forms() {
        let turn = bellcrank_math::rotation::exp(Vec3::new(0.3, -0.7, 0.4));
        let p = Vec3::new(5.0, -3.0, 2.0);
        let mut cuboid = Mesh::cuboid(Vec3::new(0.4, 0.6, 1.0));
        cuboid.carry(turn, p);
        let found = cuboid.solid().unwrap();
        near(found.volume, 0.24, 1e-5);
        assert!((found.centre - p).norm() < 1e-6);
        let exact = Mat3::diagonal(Vec3::new(1.36, 1.16, 0.52) * (1.0 / 12.0));
        let off = turn.transpose() * found.inertia * turn - exact;
        assert!((0..3).all(|i| off.row(i).norm() < 1e-5), "{off:?}");

        // the tetrahedron of the unit vectors: I = m/80·(3 + 3, …) about its centre, products of inertia m/80
        let (o, x, y, z) = (Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z);
        let faces = [[o, y, x], [o, z, y], [o, x, z], [x, y, z]];
        let list = faces.iter().flatten().flat_map(|p| p.0.map(|x| x as f32)).collect();
        let found = Mesh { corners: list }.solid().unwrap();
        near(found.volume, 1.0 / 6.0, 1e-12);
        assert!((found.centre - Vec3::new(0.25, 0.25, 0.25)).norm() < 1e-12);
        near(found.inertia.0[0][0], 6.0 / 80.0, 1e-10);
        near(found.inertia.0[0][1], 1.0 / 80.0, 1e-10);

        // a body of many triangles converges to its own closed form
        let found = Mesh::ellipsoid(Vec3::new(1.0, 2.0, 3.0)).solid().unwrap();
        near(found.volume, 8.0 * std::f64::consts::PI, 0.05);
        near(found.inertia.0[2][2], (1.0 + 4.0) / 5.0, 0.05);
        near(found.inertia.0[0][0], (4.0 + 9.0) / 5.0, 0.05);
    }

    /// A cone: r²h π/3, its centre a quarter of the height above its base, 3/10 m r² and m(3/20 r² + 3/80 h²).
    #[test]
    fn a_cone_stands_about_its_centre_of_mass() {
        let found = Mesh::cone(0.5, 2.0).solid().unwrap();
        near(found.volume, std::f64::consts::PI * 0.25 * 2.0 / 3.0, 0.02);
        assert!(found.centre.norm() < 1e-6, "{:?}", found.centre);
        near(found.inertia.0[2][2], 0.3 * 0.25, 0.03);
        near(found.inertia.0[0][0], 0.15 * 0.25 + 0.0375 * 4.0, 0.01);
    }

    #[test]
    fn open_mixed_and_inside_out_meshes_are_refused_with_the_reason() {
        let whole = Mesh::cuboid(Vec3::new(1.0, 1.0, 1.0));
        let open = Mesh { corners: whole.corners[9..].to_vec() };
        assert!(open.solid().unwrap_err().0.contains("is not closed: 3 edges"));
        let mut mixed = whole.clone();
        (3..6).for_each(|i| mixed.corners.swap(i, i + 3));
        assert!(mixed.solid().unwrap_err().0.contains("face different ways"));
        let mut inside_out = whole;
        inside_out.corners.chunks_exact_mut(9).for_each(|t| (3..6).for_each(|i| t.swap(i, i + 3)));
        assert!(inside_out.solid().unwrap_err().0.contains("is inside out"));
    }
}
