//! Bodies: how a frame on a body moves with the body's coordinates.
//!
//! A new kind of body is one file that implements [`Coordinates`] and its line in [`Body`].
//! With B the map from velocities to the twist of a frame on the body, a body tells: its pose, B w,
//! Bᵀ(load), ∂(B w)/∂q and ∂(Bᵀ load)/∂q, and its mass matrix.

mod planar;
mod point;
mod rigid;
mod rod;

pub use planar::Planar;
pub use point::PointMass;
pub use rigid::Rigid;
pub use rod::Rod;

use crate::dynamics::Scale;
use crate::frames::{Attachment, BodyFrame, Covector};
use bellcrank_math::{Quat, Vec3};

/// What every kind of body offers. Displacements are tangent: δ moves the pose like the velocity δ.
pub trait Coordinates {
    /// Number of coordinates, and of velocities.
    fn width(&self) -> usize;
    /// The mass in kg.
    fn mass(&self) -> f64;
    /// Where the centre of mass is, for gravity.
    fn centre(&self) -> Attachment {
        Attachment::CENTRE
    }
    /// Index of the three rotation-chart coordinates, where there are such.
    fn chart(&self) -> Option<usize> {
        None
    }
    /// What each coordinate measures.
    fn scale(&self, i: usize) -> Scale;
    /// Coordinates of a pose (the rotation goes to the chart centre where there is one).
    fn coordinates(&self, p: Vec3, r: Quat, q: &mut [f64]);
    /// Velocities that belong to a velocity of the centre of mass and an angular velocity, in the world.
    fn velocities(&self, frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]);
    /// The pose.
    fn locate(&self, q: &[f64], centre: Quat, frame: &mut BodyFrame);
    /// The origin of a frame on the body.
    fn point(&self, frame: &BodyFrame, on: &Attachment) -> Vec3;
    /// The twist (velocity, angular velocity) of a frame under the velocities `w`: B w.
    fn twist(&self, frame: &BodyFrame, on: &Attachment, w: &[f64]) -> (Vec3, Vec3);
    /// out += c Bᵀ(lin, ang).
    fn pull(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]);
    /// out += c (lin, ang) · ∂(B w)/∂q, a row.
    fn twist_stiffness(&self, frame: &BodyFrame, on: &Attachment, w: &[f64], load: Covector, c: f64, out: &mut [f64]);
    /// out += c ∂(Bᵀ load)/∂q for a load fixed in the world; a square block by rows.
    fn load_stiffness(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]);
    /// out += c M x.
    fn add_mass_times(&self, c: f64, x: &[f64], out: &mut [f64]);
    /// x ← M⁻¹ x; where there is no mass, x stays: projections may be weighed by any positive matrix.
    fn divide_by_mass(&self, x: &mut [f64]);
    /// Gyroscopic force: out += c f(v).
    fn add_gyroscopic(&self, _c: f64, _v: &[f64], _out: &mut [f64]) {}
    /// out += c ∂f/∂v of the gyroscopic force; a square block by rows.
    fn add_gyroscopic_damping(&self, _c: f64, _v: &[f64], _out: &mut [f64]) {}
    /// Rows of constraints between the body's own coordinates.
    fn own_rows(&self) -> usize {
        0
    }
    /// The value of the body's own constraint.
    fn own_value(&self, _q: &[f64]) -> f64 {
        0.0
    }
    /// Its gradient: out += c G.
    fn own_gradient(&self, _q: &[f64], _c: f64, _out: &mut [f64]) {}
    /// out += c ∂(Gᵀλ)/∂q for λ = 1; a square block by rows.
    fn own_stiffness(&self, _c: f64, _out: &mut [f64]) {}
    /// Whether frames on the body have a full rotation (a point has none, a thin rod in space no spin).
    fn orientation(&self) -> Orientation {
        Orientation::Full
    }
}

/// A mass to divide by.
fn or_one(mass: f64) -> f64 {
    if mass > 0.0 { mass } else { 1.0 }
}

/// How much of a rotation the frames on a body have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Orientation {
    /// None: a point.
    None,
    /// A direction, but no spin about it: a thin rod in space.
    Direction,
    /// All of it.
    Full,
}

/// A body of the catalog, with its constants.
#[derive(Clone, Debug)]
pub enum Body {
    /// Six coordinates in space.
    Rigid(Rigid),
    /// (x, y, θ) in the plane.
    Planar(Planar),
    /// A position.
    Point(PointMass),
    /// A slender rod in natural coordinates: an end point and the link vector.
    Rod(Rod),
}

/// `each!(body, b => expression)`: the same expression for whatever kind of body it is.
macro_rules! each {
    ($body:expr, $b:ident => $do:expr) => {
        match $body {
            Body::Rigid($b) => $do,
            Body::Planar($b) => $do,
            Body::Point($b) => $do,
            Body::Rod($b) => $do,
        }
    };
}
pub(crate) use each;

#[cfg(test)]
mod tests {
    //! Every kind of body: B, its derivatives and its mass against differences at random states.
    use super::*;
    use crate::testing::Random;

    /// One of each kind, with an attachment it accepts.
    fn samples() -> Vec<(Body, Attachment)> {
        let inertia = bellcrank_math::Mat3([[2.0, 0.1, -0.2], [0.1, 3.0, 0.3], [-0.2, 0.3, 4.0]]);
        let off = Attachment {
            point: Vec3::new(0.3, -0.2, 0.5),
            axes: bellcrank_math::rotation::exp(Vec3::new(0.3, 0.2, 0.1)),
        };
        let flat = Attachment { point: Vec3::new(0.3, -0.2, 0.0), axes: bellcrank_math::rotation::exp(Vec3::Z * 0.7) };
        let on_axis = Attachment { point: Vec3::new(0.3, 0.0, 0.0), ..Attachment::CENTRE };
        vec![
            (Body::Rigid(Rigid::new(2.0, inertia)), off),
            (Body::Planar(Planar::new(2.0, 0.7)), flat),
            (Body::Point(PointMass::new(2.0, 2)), Attachment::CENTRE),
            (Body::Point(PointMass::new(2.0, 3)), Attachment::CENTRE),
            (Body::Rod(Rod::new(2.0, 1.3, 2)), flat),
            (Body::Rod(Rod::new(2.0, 1.3, 3)), on_axis),
        ]
    }

    struct At {
        q: Vec<f64>,
        v: Vec<f64>,
        frame: BodyFrame,
    }

    fn locate(b: &Body, q: Vec<f64>, v: Vec<f64>) -> At {
        let centre = Quat::exp(Vec3::new(0.4, -0.3, 0.8));
        let mut frame = BodyFrame::default();
        each!(b, b => b.locate(&q, centre, &mut frame));
        At { q, v, frame }
    }

    /// The point moved along the tangent displacement h e_i.
    fn moved(b: &Body, at: &At, i: usize, h: f64) -> At {
        let mut q = at.q.clone();
        match b {
            Body::Rigid(_) if i >= 3 => {
                let phi = Vec3::from_slice(&q[3..6]);
                let step = bellcrank_math::rotation::inverse_tangent(phi) * Vec3::unit(i - 3) * h;
                (0..3).for_each(|k| q[3 + k] += step[k]);
            }
            _ => q[i] += h,
        }
        locate(b, q, at.v.clone())
    }

    fn close(a: f64, b: f64, tolerance: f64, what: &str) {
        assert!((a - b).abs() < tolerance, "{what}: {a} against {b}");
    }

    #[test]
    fn motion_and_its_derivatives_agree_with_differences() {
        let mut random = Random::new(1);
        for (b, on) in samples() {
            for _ in 0..50 {
                let n = each!(&b, b => b.width());
                let at = locate(&b, random.vector(n), random.vector(n));
                let load = Covector::new(random.vec3(), random.vec3());
                // a planar rod or body carries torques about z only; a rod in space none along itself
                let load = match &b {
                    Body::Planar(_) => Covector::new(load.lin, Vec3::Z * load.ang[2]),
                    Body::Rod(r) if r.dimension() == 2 => Covector::new(load.lin, Vec3::Z * load.ang[2]),
                    _ => load,
                };
                let w = random.vector(n);
                let (lin, ang) = each!(&b, b => b.twist(&at.frame, &on, &w));
                // Bᵀ is the transpose of B
                let mut pulled = vec![0.0; n];
                each!(&b, b => b.pull(&at.frame, &on, load, 2.0, &mut pulled));
                let power: f64 = pulled.iter().zip(&w).map(|(f, w)| f * w).sum();
                close(power, 2.0 * (load.lin.dot(lin) + load.ang.dot(ang)), 1e-12, "Bᵀ");
                let (mut row, mut block) = (vec![0.0; n], vec![0.0; n * n]);
                each!(&b, b => b.twist_stiffness(&at.frame, &on, &w, load, 1.0, &mut row));
                each!(&b, b => b.load_stiffness(&at.frame, &on, load, 1.0, &mut block));
                for i in 0..n {
                    let h = 1e-6;
                    let [plus, minus] = [h, -h].map(|h| moved(&b, &at, i, h));
                    let point = |a: &At| each!(&b, b => b.point(&a.frame, &on));
                    let mut unit = vec![0.0; n];
                    unit[i] = 1.0;
                    let (expected, _) = each!(&b, b => b.twist(&at.frame, &on, &unit));
                    let velocity = (point(&plus) - point(&minus)) * (0.5 / h);
                    assert!((velocity - expected).norm() < 1e-8, "B of {b:?}");
                    let form = |a: &At| {
                        let (l, r) = each!(&b, b => b.twist(&a.frame, &on, &w));
                        load.lin.dot(l) + load.ang.dot(r)
                    };
                    close(row[i], (form(&plus) - form(&minus)) * 0.5 / h, 1e-7, "∂(Bw)/∂q");
                    let pull = |a: &At| {
                        let mut out = vec![0.0; n];
                        each!(&b, b => b.pull(&a.frame, &on, load, 1.0, &mut out));
                        out
                    };
                    let (p, m) = (pull(&plus), pull(&minus));
                    for k in 0..n {
                        close(block[k * n + i], (p[k] - m[k]) * 0.5 / h, 1e-7, "∂(Bᵀload)/∂q");
                    }
                }
            }
        }
    }

    #[test]
    fn mass_is_inverted_and_gyroscopic_forces_do_no_work() {
        let mut random = Random::new(2);
        for (b, _) in samples() {
            let n = each!(&b, b => b.width());
            let (v, x) = (random.vector(n), random.vector(n));
            let mut y = vec![0.0; n];
            each!(&b, b => b.add_mass_times(1.0, &x, &mut y));
            each!(&b, b => b.divide_by_mass(&mut y));
            (0..n).for_each(|i| close(y[i], x[i], 1e-13, "M⁻¹M"));
            let gyroscopic = |v: &[f64]| {
                let mut f = vec![0.0; n];
                each!(&b, b => b.add_gyroscopic(1.0, v, &mut f));
                f
            };
            let power: f64 = gyroscopic(&v).iter().zip(&v).map(|(f, v)| f * v).sum();
            close(power, 0.0, 1e-13, "gyroscopic power");
            let mut block = vec![0.0; n * n];
            each!(&b, b => b.add_gyroscopic_damping(1.0, &v, &mut block));
            for i in 0..n {
                let (mut plus, mut minus) = (v.clone(), v.clone());
                plus[i] += 1e-6;
                minus[i] -= 1e-6;
                let (p, m) = (gyroscopic(&plus), gyroscopic(&minus));
                (0..n).for_each(|k| close(block[k * n + i], (p[k] - m[k]) * 0.5e6, 1e-8, "gyroscopic damping"));
            }
        }
    }
}
