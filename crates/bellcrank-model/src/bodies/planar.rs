//! A rigid body in the plane: (x, y, θ) of its centre of mass.

use super::{BodyFrame, Coordinates, PoseKind};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector};
use bellcrank_math::{Mat3, Quat, Vec3};

/// A rigid body in the plane.
#[derive(Clone, Debug)]
pub struct Planar {
    mass: f64,
    inertia: f64,
}

impl Planar {
    /// Mass in kg and moment of inertia about the centre of mass in kg m².
    #[inline]
    pub fn new(mass: f64, inertia: f64) -> Planar {
        Planar { mass, inertia }
    }

    /// The moment of inertia about the centre of mass, in kg m².
    #[inline]
    pub fn inertia(&self) -> f64 {
        self.inertia
    }
}

/// The rotation by θ about z.
#[inline]
pub(super) fn about_z(sin: f64, cos: f64) -> Mat3 {
    Mat3([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
}

/// The angle of a rotation about z.
#[inline]
pub(super) fn angle_about_z(r: Quat) -> f64 {
    2.0 * r.0[3].atan2(r.0[0])
}

/// The vector from the centre of mass to a point on the body, in the world.
#[inline]
fn reach(frame: &BodyFrame, on: &Attachment) -> (f64, f64) {
    let (c, s) = (frame.r.0[0][0], frame.r.0[1][0]);
    let [x, y, _] = on.point.0;
    (c * x - s * y, s * x + c * y)
}

impl Coordinates for Planar {
    fn kind(&self) -> &'static str {
        "planar"
    }
    #[inline]
    fn pose_kind(&self) -> PoseKind {
        PoseKind::Planar
    }
    #[inline]
    fn plane_angle(&self) -> Option<usize> {
        Some(2)
    }
    #[inline]
    fn width(&self) -> usize {
        3
    }
    #[inline]
    fn mass(&self) -> f64 {
        self.mass
    }
    #[inline]
    fn scale(&self, i: usize) -> Scale {
        if i < 2 { Scale::Length } else { Scale::Angle }
    }
    #[inline]
    fn coordinates(&self, p: Vec3, r: Quat, q: &mut [f64]) {
        q.copy_from_slice(&[p[0], p[1], angle_about_z(r)]);
    }
    #[inline]
    fn velocities(&self, _frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]) {
        out.copy_from_slice(&[v[0], v[1], w[2]]);
    }
    #[inline]
    fn locate(&self, q: &[f64], _centre: Quat, frame: &mut BodyFrame) {
        // the rest of a frame is as it was made: the body stays in the plane
        (frame.p[0], frame.p[1]) = (q[0], q[1]);
        let (sin, cos) = q[2].sin_cos();
        (frame.r.0[0][0], frame.r.0[0][1]) = (cos, -sin);
        (frame.r.0[1][0], frame.r.0[1][1]) = (sin, cos);
    }
    #[inline]
    fn point(&self, frame: &BodyFrame, on: &Attachment) -> Vec3 {
        let (x, y) = reach(frame, on);
        Vec3::new(frame.p[0] + x, frame.p[1] + y, 0.0)
    }
    #[inline]
    fn twist(&self, frame: &BodyFrame, on: &Attachment, w: &[f64]) -> (Vec3, Vec3) {
        let (x, y) = reach(frame, on);
        (Vec3::new(w[0] - w[2] * y, w[1] + w[2] * x, 0.0), Vec3::Z * w[2])
    }
    #[inline]
    fn pull(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (x, y) = reach(frame, on);
        let [fx, fy, _] = load.lin.0;
        out[0] += c * fx;
        out[1] += c * fy;
        out[2] += c * (load.ang[2] + x * fy - y * fx);
    }
    #[inline]
    fn twist_stiffness(&self, frame: &BodyFrame, on: &Attachment, w: &[f64], load: Covector, c: f64, out: &mut [f64]) {
        let (x, y) = reach(frame, on);
        out[2] -= c * w[2] * (load.lin[0] * x + load.lin[1] * y);
    }
    #[inline]
    fn load_stiffness(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (x, y) = reach(frame, on);
        out[8] -= c * (load.lin[0] * x + load.lin[1] * y);
    }
    #[inline]
    fn point_rows(&self, frame: &BodyFrame, on: &Attachment, c: f64, out: &mut [f64]) {
        let (x, y) = reach(frame, on);
        out.copy_from_slice(&[c, 0.0, -c * y, 0.0, c, c * x]);
    }
    #[inline]
    fn point_bias(&self, frame: &BodyFrame, on: &Attachment, v: &[f64]) -> Vec3 {
        let ((x, y), w2) = (reach(frame, on), v[2] * v[2]);
        Vec3::new(-w2 * x, -w2 * y, 0.0)
    }
    #[inline]
    fn turn_bias(&self, _frame: &BodyFrame, _on: &Attachment, _v: &[f64]) -> Vec3 {
        Vec3::ZERO
    }
    #[inline]
    fn add_mass(&self, _frame: &BodyFrame, c: f64, out: &mut [f64]) {
        out[0] += c * self.mass;
        out[4] += c * self.mass;
        out[8] += c * self.inertia;
    }
    #[inline]
    fn set_mass(&self, _frame: &BodyFrame, c: f64, out: &mut [f64]) {
        let (m, j) = (c * self.mass, c * self.inertia);
        out.copy_from_slice(&[m, 0.0, 0.0, 0.0, m, 0.0, 0.0, 0.0, j]);
    }
    #[inline]
    fn add_weight(&self, _frame: &BodyFrame, gravity: Vec3, c: f64, out: &mut [f64]) {
        out[0] += c * self.mass * gravity[0];
        out[1] += c * self.mass * gravity[1];
    }
    #[inline]
    fn kinetic(&self, frame: &BodyFrame, v: &[f64]) -> f64 {
        let mut momentum = [0.0; 3];
        self.add_mass_times(frame, 1.0, v, &mut momentum);
        super::coordinates::half_product(&momentum, v)
    }
    #[inline]
    fn loads(&self) -> &'static [usize] {
        &[0, 1, 5]
    }
    #[inline]
    fn spin(&self, v: &[f64]) -> f64 {
        v[2].abs()
    }
    #[inline]
    fn add_mass_times(&self, _frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]) {
        out[0] += c * self.mass * x[0];
        out[1] += c * self.mass * x[1];
        out[2] += c * self.inertia * x[2];
    }
    #[inline]
    fn divide_by_mass(&self, _frame: &BodyFrame, x: &mut [f64]) {
        let [m, j] = [self.mass, self.inertia].map(super::or_one);
        x[0] /= m;
        x[1] /= m;
        x[2] /= j;
    }
}
