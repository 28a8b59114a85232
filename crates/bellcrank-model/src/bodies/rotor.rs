//! The rotor of an armature: one coordinate, geared to that of a joint, and an inertia along it.
//!
//! A motor behind a gear of ratio n with a rotor of inertia J feels to its joint like the inertia n² J along the joint
//! coordinate x, without weight and without gyroscopic effects [Featherstone 2008, sec. 9.6]. Such a rotor is a body of one
//! coordinate that a row θ = x ties to the joint: M keeps its blocks, and the row has derivatives like any other.

use super::{BodyFrame, CentralInertia, Coordinates, InTree};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector};
use bellcrank_math::{Mat3, Quat, Vec3, rotation};

/// An inertia along one coordinate: a turn about an axis that is fixed in the world, or a slide along it.
#[derive(Clone, Debug)]
pub struct Rotor {
    inertia: f64,
    turns: bool,
    /// Boxed, as other kinds are small.
    place: Box<[Vec3; 2]>,
}

impl Rotor {
    /// An inertia in kg m² about an axis at a point, or for a slide a mass in kg along it.
    pub fn new(inertia: f64, turns: bool, at: Vec3, axis: Vec3) -> Rotor {
        Rotor { inertia, turns, place: Box::new([at, axis]) }
    }

    /// Its inertia, in kg m² or kg.
    #[inline]
    pub fn inertia(&self) -> f64 {
        self.inertia
    }

    #[inline]
    fn at(&self) -> Vec3 {
        self.place[0]
    }

    #[inline]
    fn axis(&self) -> Vec3 {
        self.place[1]
    }

    /// The twist of a unit rate, of a frame at the axis.
    #[inline]
    fn unit(&self) -> (Vec3, Vec3) {
        if self.turns { (Vec3::ZERO, self.axis()) } else { (self.axis(), Vec3::ZERO) }
    }
}

impl Coordinates for Rotor {
    fn kind(&self) -> &'static str {
        "rotor"
    }
    fn width(&self) -> usize {
        1
    }
    /// It has no weight.
    fn mass(&self) -> f64 {
        0.0
    }
    fn scale(&self, _: usize) -> Scale {
        if self.turns { Scale::Angle } else { Scale::Length }
    }
    fn coordinates(&self, _p: Vec3, _r: Quat, q: &mut [f64]) {
        q[0] = 0.0;
    }
    fn velocities(&self, _frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]) {
        out[0] = self.axis().dot(if self.turns { w } else { v });
    }
    fn locate(&self, q: &[f64], _centre: Quat, frame: &mut BodyFrame) {
        let (at, axis) = (self.at(), self.axis());
        (frame.p, frame.r) = match self.turns {
            true => (at, rotation::exp(axis * q[0])),
            false => (at + axis * q[0], Mat3::IDENTITY),
        };
    }
    fn point(&self, frame: &BodyFrame, _on: &Attachment) -> Vec3 {
        frame.p
    }
    fn twist(&self, _frame: &BodyFrame, _on: &Attachment, w: &[f64]) -> (Vec3, Vec3) {
        let (v, turn) = self.unit();
        (v * w[0], turn * w[0])
    }
    fn pull(&self, _frame: &BodyFrame, _on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (v, turn) = self.unit();
        out[0] += c * (v.dot(load.lin) + turn.dot(load.ang));
    }
    // its unit twist is the same at every coordinate
    fn twist_stiffness(&self, _: &BodyFrame, _: &Attachment, _: &[f64], _: Covector, _: f64, _: &mut [f64]) {}
    fn load_stiffness(&self, _: &BodyFrame, _: &Attachment, _: Covector, _: f64, _: &mut [f64]) {}
    fn add_mass(&self, _frame: &BodyFrame, c: f64, out: &mut [f64]) {
        out[0] += c * self.inertia;
    }
    fn spin(&self, v: &[f64]) -> f64 {
        if self.turns { v[0].abs() } else { 0.0 }
    }
    fn add_mass_times(&self, _frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]) {
        out[0] += c * self.inertia * x[0];
    }
    fn divide_by_mass(&self, _frame: &BodyFrame, x: &mut [f64]) {
        x[0] /= super::or_one(self.inertia);
    }
    fn add_weight(&self, _frame: &BodyFrame, _gravity: Vec3, _c: f64, _out: &mut [f64]) {}
}

impl InTree for Rotor {
    fn central_inertia(&self) -> CentralInertia {
        CentralInertia::None
    }
    fn place(&self, _p: Vec3, _r: &Mat3, angle: f64, q: &mut [f64], _centre: Option<&mut Quat>) {
        q[0] = angle;
    }
    fn twist_velocities(&self, _r: &Mat3, v: Vec3, w: Vec3, out: &mut [f64]) {
        out[0] = self.axis().dot(if self.turns { w } else { v });
    }
    fn velocity_load(&self, _r: &Mat3, y: &[f64]) -> (Vec3, Vec3) {
        let (v, turn) = self.unit();
        (v * y[0], turn * y[0])
    }
}
