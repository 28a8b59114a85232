//! A rigid body in space: centre of mass and rotation chart, velocities (world velocity, body rate).

use super::{BodyFrame, Coordinates, PoseKind};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector};
use bellcrank_math::{Mat3, Quat, Vec3, rotation};

/// A rigid body in space. M = diag(m I, J) is constant; −ω × Jω belongs to the forces.
#[derive(Clone, Debug)]
pub struct Rigid {
    mass: f64,
    /// Boxed: bodies of other kinds have two or three numbers, and all kinds stand in one list.
    inertia: Box<Inertia>,
}

#[derive(Clone, Debug)]
struct Inertia {
    central: Mat3,
    inverse: Mat3,
}

impl Rigid {
    /// Mass in kg and inertia about the centre of mass in the body frame, in kg m².
    #[inline]
    pub fn new(mass: f64, inertia: Mat3) -> Rigid {
        let inverse = inertia.inverse().unwrap_or(Mat3::IDENTITY);
        Rigid { mass, inertia: Box::new(Inertia { central: inertia, inverse }) }
    }

    /// The inertia about the centre of mass in the body frame, in kg m².
    #[inline]
    pub fn inertia(&self) -> &Mat3 {
        &self.inertia.central
    }
}

#[inline]
fn halves(x: &[f64]) -> (Vec3, Vec3) {
    (Vec3::from_slice(&x[..3]), Vec3::from_slice(&x[3..6]))
}

#[inline]
fn add(out: &mut [f64], c: f64, v: Vec3) {
    out.iter_mut().zip(v.0).for_each(|(o, v)| *o += c * v);
}

/// The 3×3 rotation–rotation part of a 6×6 block.
#[inline]
fn add_rotation_block(out: &mut [f64], c: f64, m: Mat3) {
    for i in 0..3 {
        add(&mut out[(3 + i) * 6 + 3..(3 + i) * 6 + 6], c, m.row(i));
    }
}

impl Coordinates for Rigid {
    fn kind(&self) -> &'static str {
        "rigid"
    }
    #[inline]
    fn pose_kind(&self) -> PoseKind {
        PoseKind::Spatial
    }
    #[inline]
    fn width(&self) -> usize {
        6
    }
    #[inline]
    fn mass(&self) -> f64 {
        self.mass
    }
    #[inline]
    fn chart(&self) -> Option<usize> {
        Some(3)
    }
    #[inline]
    fn scale(&self, i: usize) -> Scale {
        if i < 3 { Scale::Length } else { Scale::Angle }
    }
    #[inline]
    fn coordinates(&self, p: Vec3, _r: Quat, q: &mut [f64]) {
        q[..3].copy_from_slice(&p.0);
        q[3..6].fill(0.0);
    }
    #[inline]
    fn velocities(&self, frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]) {
        out[..3].copy_from_slice(&v.0);
        out[3..6].copy_from_slice(&frame.r.transpose_times(w).0);
    }
    #[inline]
    fn locate(&self, q: &[f64], centre: Quat, frame: &mut BodyFrame) {
        let (p, phi) = halves(q);
        frame.p = p;
        frame.r = centre.matrix() * rotation::exp(phi);
    }
    #[inline]
    fn point(&self, frame: &BodyFrame, on: &Attachment) -> Vec3 {
        frame.p + frame.r * on.point
    }
    #[inline]
    fn twist(&self, frame: &BodyFrame, on: &Attachment, w: &[f64]) -> (Vec3, Vec3) {
        let (v, w_b) = halves(w);
        (v + frame.r * w_b.cross(on.point), frame.r * w_b)
    }
    #[inline]
    fn pull(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        add(&mut out[..3], c, load.lin);
        let torque = load.ang + (frame.r * on.point).cross(load.lin);
        add(&mut out[3..6], c, frame.r.transpose_times(torque));
    }
    #[inline]
    fn twist_stiffness(&self, frame: &BodyFrame, on: &Attachment, w: &[f64], load: Covector, c: f64, out: &mut [f64]) {
        // B w = (v + R(ω × r), R ω), and R moves by R δ̃
        let (_, w_b) = halves(w);
        let (lin_b, ang_b) = (frame.r.transpose_times(load.lin), frame.r.transpose_times(load.ang));
        add(&mut out[3..6], c, w_b.cross(on.point).cross(lin_b) + w_b.cross(ang_b));
    }
    #[inline]
    fn load_stiffness(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (lin_b, ang_b) = (frame.r.transpose_times(load.lin), frame.r.transpose_times(load.ang));
        add_rotation_block(out, c, ang_b.tilde() + on.point.tilde() * lin_b.tilde());
    }
    #[inline]
    fn point_rows(&self, frame: &BodyFrame, on: &Attachment, c: f64, out: &mut [f64]) {
        // Rᵀ(R r × e) = r × Rᵀe
        for (i, row) in out.chunks_exact_mut(6).enumerate() {
            let turn = on.point.cross(frame.r.row(i)) * c;
            row[..3].fill(0.0);
            row[i] = c;
            row[3..].copy_from_slice(&turn.0);
        }
    }
    #[inline]
    fn point_bias(&self, frame: &BodyFrame, on: &Attachment, v: &[f64]) -> Vec3 {
        let (_, w) = halves(v);
        frame.r * w.cross(w.cross(on.point))
    }
    #[inline]
    fn turn_bias(&self, _frame: &BodyFrame, _on: &Attachment, _v: &[f64]) -> Vec3 {
        Vec3::ZERO
    }
    #[inline]
    fn add_mass(&self, _frame: &BodyFrame, c: f64, out: &mut [f64]) {
        (0..3).for_each(|i| out[7 * i] += c * self.mass);
        add_rotation_block(out, c, self.inertia.central);
    }
    #[inline]
    fn set_mass(&self, frame: &BodyFrame, c: f64, out: &mut [f64]) {
        let mut block = [0.0; 36];
        self.add_mass(frame, c, &mut block);
        out.copy_from_slice(&block);
    }
    #[inline]
    fn add_weight(&self, _frame: &BodyFrame, gravity: Vec3, c: f64, out: &mut [f64]) {
        add(&mut out[..3], c * self.mass, gravity);
    }
    #[inline]
    fn kinetic(&self, frame: &BodyFrame, v: &[f64]) -> f64 {
        let mut momentum = [0.0; 6];
        self.add_mass_times(frame, 1.0, v, &mut momentum);
        super::coordinates::half_product(&momentum, v)
    }
    #[inline]
    fn spin(&self, v: &[f64]) -> f64 {
        halves(v).1.norm()
    }
    #[inline]
    fn add_mass_times(&self, _frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]) {
        let (a, alpha) = halves(x);
        add(&mut out[..3], c * self.mass, a);
        add(&mut out[3..6], c, self.inertia.central * alpha);
    }
    #[inline]
    fn divide_by_mass(&self, _frame: &BodyFrame, x: &mut [f64]) {
        let (f, torque) = halves(x);
        x[..3].copy_from_slice(&(f * (1.0 / super::or_one(self.mass))).0);
        x[3..6].copy_from_slice(&(self.inertia.inverse * torque).0);
    }
    #[inline]
    fn has_inner(&self) -> bool {
        true
    }
    #[inline]
    fn add_inner(&self, _frame: &BodyFrame, c: f64, v: &[f64], out: &mut [f64]) {
        let (_, w) = halves(v);
        add(&mut out[3..6], -c, w.cross(self.inertia.central * w));
    }
    #[inline]
    fn add_inner_damping(&self, _frame: &BodyFrame, c: f64, v: &[f64], out: &mut [f64]) {
        let (_, w) = halves(v);
        add_rotation_block(out, c, (self.inertia.central * w).tilde() - w.tilde() * self.inertia.central);
    }
}
