//! Solids as triangles, so that what is drawn of a body can be made of several of them.

use super::Mesh;
use bellcrank_math::{Mat3, Vec3};

/// Around a circle, and from pole to pole.
const AROUND: usize = 24;
const RINGS: usize = 6;

impl Mesh {
    /// A box about its middle.
    pub fn cuboid(size: Vec3) -> Mesh {
        let mut mesh = Mesh::default();
        for axis in 0..3 {
            for side in [-1.0, 1.0] {
                let corner = |a: f64, b: f64| {
                    let mut p = Vec3::ZERO;
                    (p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]) = (side, a * side, b);
                    Vec3([0, 1, 2].map(|i| 0.5 * p[i] * size[i]))
                };
                mesh.fan(&[corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)]);
            }
        }
        mesh
    }

    /// A sphere about its middle; with three radii an ellipsoid.
    pub fn ellipsoid(radii: Vec3) -> Mesh {
        let mut mesh = Mesh::lathe(&profile(0.0, 1.0));
        mesh.stretch(radii);
        mesh
    }

    /// A cylinder along z about its middle.
    pub fn cylinder(radius: f64, length: f64) -> Mesh {
        let h = 0.5 * length;
        Mesh::lathe(&[(0.0, -h), (radius, -h), (radius, h), (0.0, h)])
    }

    /// A cylinder along z about its middle, with a half sphere at both ends beyond its length.
    pub fn capsule(radius: f64, length: f64) -> Mesh {
        Mesh::lathe(&profile(0.5 * length, radius))
    }

    /// A cone along z about its centre of mass, its tip up.
    pub fn cone(radius: f64, length: f64) -> Mesh {
        let base = -0.25 * length;
        Mesh::lathe(&[(0.0, base), (radius, base), (0.0, base + length)])
    }

    /// Scales along the axes; where that mirrors, triangles keep facing outwards.
    pub fn stretch(&mut self, by: Vec3) {
        for (i, x) in self.corners.iter_mut().enumerate() {
            *x = (f64::from(*x) * by[i % 3]) as f32;
        }
        if by[0] * by[1] * by[2] < 0.0 {
            for triangle in self.corners.chunks_exact_mut(9) {
                (0..3).for_each(|i| triangle.swap(3 + i, 6 + i));
            }
        }
    }

    /// Turns and then shifts.
    pub fn carry(&mut self, r: Mat3, p: Vec3) {
        for corner in self.corners.chunks_exact_mut(3) {
            let x = p + r * Vec3::new(corner[0].into(), corner[1].into(), corner[2].into());
            (0..3).for_each(|i| corner[i] = x[i] as f32);
        }
    }

    /// Adds the triangles of a convex polygon.
    fn fan(&mut self, polygon: &[Vec3]) {
        for k in 1..polygon.len().saturating_sub(1) {
            for p in [polygon[0], polygon[k], polygon[k + 1]] {
                self.corners.extend(p.0.map(|x| x as f32));
            }
        }
    }

    /// The surface of a line of points (distance from z, z) that turns about z.
    fn lathe(line: &[(f64, f64)]) -> Mesh {
        let mut mesh = Mesh::default();
        let at = |(r, z): (f64, f64), k: usize| {
            let (s, c) = (std::f64::consts::TAU * (k % AROUND) as f64 / AROUND as f64).sin_cos();
            Vec3::new(r * c, r * s, z)
        };
        for ends in line.windows(2) {
            for k in 0..AROUND {
                match (ends[0].0 == 0.0, ends[1].0 == 0.0) {
                    (true, true) => {}
                    (true, false) => mesh.fan(&[at(ends[0], k), at(ends[1], k + 1), at(ends[1], k)]),
                    (false, true) => mesh.fan(&[at(ends[0], k), at(ends[0], k + 1), at(ends[1], k)]),
                    _ => mesh.fan(&[at(ends[0], k), at(ends[0], k + 1), at(ends[1], k + 1), at(ends[1], k)]),
                }
            }
        }
        mesh
    }
}

/// A half circle from pole to pole, its halves `h` above and below.
fn profile(h: f64, radius: f64) -> Vec<(f64, f64)> {
    let mut line = Vec::with_capacity(2 * RINGS + 2);
    for (side, k) in (0..=RINGS).map(|k| (-1.0, RINGS - k)).chain((0..=RINGS).map(|k| (1.0, k))) {
        let (s, c) = (std::f64::consts::FRAC_PI_2 * k as f64 / RINGS as f64).sin_cos();
        line.push((if k == RINGS { 0.0 } else { radius * c }, side * (h + radius * s)));
    }
    line.dedup();
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The volume inside, by the divergence theorem: positive where triangles face outwards.
    fn volume(mesh: &Mesh) -> f64 {
        let corner = |t: &[f32], k: usize| Vec3::new(t[3 * k].into(), t[3 * k + 1].into(), t[3 * k + 2].into());
        mesh.corners.chunks_exact(9).map(|t| corner(t, 0).dot(corner(t, 1).cross(corner(t, 2))) / 6.0).sum()
    }

    #[test]
    fn solids_are_closed_and_face_outwards() {
        use std::f64::consts::PI;
        let near = |mesh: Mesh, exact: f64, by: f64| {
            assert!((volume(&mesh) / exact - 1.0).abs() < by, "{} against {exact}", volume(&mesh));
        };
        near(Mesh::cuboid(Vec3::new(1.0, 2.0, 3.0)), 6.0, 1e-6);
        near(Mesh::cylinder(0.5, 2.0), 0.5 * PI, 0.02);
        near(Mesh::ellipsoid(Vec3::new(1.0, 2.0, 3.0)), 8.0 * PI, 0.04);
        near(Mesh::capsule(0.5, 2.0), PI * 0.25 * 2.0 + 4.0 / 3.0 * PI * 0.125, 0.03);
    }

    #[test]
    fn mirrored_meshes_still_face_outwards() {
        let mut mesh = Mesh::cuboid(Vec3::new(1.0, 2.0, 3.0));
        mesh.stretch(Vec3::new(-2.0, 1.0, 1.0));
        mesh.carry(bellcrank_math::rotation::exp(Vec3::new(0.3, 0.2, -1.0)), Vec3::new(4.0, 5.0, 6.0));
        assert!((volume(&mesh) - 12.0).abs() < 1e-4, "{}", volume(&mesh));
    }
}
