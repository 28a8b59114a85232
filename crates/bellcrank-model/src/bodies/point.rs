//! A point mass: its position is all it has.

use super::{BodyFrame, Coordinates, Orientation, PoseKind};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector};
use bellcrank_math::{Mat3, Quat, Vec3};

/// A point mass in the plane or in space.
#[derive(Clone, Debug)]
pub struct PointMass {
    mass: f64,
    dimension: usize,
}

impl PointMass {
    /// Mass in kg; two or three dimensions.
    #[inline]
    pub fn new(mass: f64, dimension: usize) -> PointMass {
        PointMass { mass, dimension }
    }
}

impl Coordinates for PointMass {
    fn kind(&self) -> &'static str {
        "point"
    }
    #[inline]
    fn pose_kind(&self) -> PoseKind {
        if self.dimension == 3 { PoseKind::SpatialPoint } else { PoseKind::Other }
    }
    #[inline]
    fn width(&self) -> usize {
        self.dimension
    }
    #[inline]
    fn mass(&self) -> f64 {
        self.mass
    }
    #[inline]
    fn scale(&self, _: usize) -> Scale {
        Scale::Length
    }
    #[inline]
    fn coordinates(&self, p: Vec3, _r: Quat, q: &mut [f64]) {
        q.copy_from_slice(&p.0[..self.dimension]);
    }
    #[inline]
    fn velocities(&self, _frame: &BodyFrame, v: Vec3, _w: Vec3, out: &mut [f64]) {
        out.copy_from_slice(&v.0[..self.dimension]);
    }
    #[inline]
    fn locate(&self, q: &[f64], _centre: Quat, frame: &mut BodyFrame) {
        frame.p = Vec3::from_slice(q);
        frame.r = Mat3::IDENTITY;
    }
    #[inline]
    fn point(&self, frame: &BodyFrame, _on: &Attachment) -> Vec3 {
        frame.p
    }
    #[inline]
    fn twist(&self, _frame: &BodyFrame, _on: &Attachment, w: &[f64]) -> (Vec3, Vec3) {
        (Vec3::from_slice(w), Vec3::ZERO)
    }
    #[inline]
    fn pull(&self, _frame: &BodyFrame, _on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        out.iter_mut().zip(load.lin.0).for_each(|(o, f)| *o += c * f);
    }
    #[inline]
    fn twist_stiffness(&self, _: &BodyFrame, _: &Attachment, _: &[f64], _: Covector, _: f64, _: &mut [f64]) {}
    #[inline]
    fn load_stiffness(&self, _: &BodyFrame, _: &Attachment, _: Covector, _: f64, _: &mut [f64]) {}
    #[inline]
    fn point_rows(&self, _frame: &BodyFrame, _on: &Attachment, c: f64, out: &mut [f64]) {
        out.fill(0.0);
        out.iter_mut().step_by(self.dimension + 1).for_each(|o| *o = c);
    }
    #[inline]
    fn point_bias(&self, _frame: &BodyFrame, _on: &Attachment, _v: &[f64]) -> Vec3 {
        Vec3::ZERO
    }
    #[inline]
    fn turn_bias(&self, _frame: &BodyFrame, _on: &Attachment, _v: &[f64]) -> Vec3 {
        Vec3::ZERO
    }
    #[inline]
    fn add_mass(&self, _frame: &BodyFrame, c: f64, out: &mut [f64]) {
        out.iter_mut().step_by(self.dimension + 1).for_each(|o| *o += c * self.mass);
    }
    #[inline]
    fn spin(&self, _v: &[f64]) -> f64 {
        0.0
    }
    #[inline]
    fn add_mass_times(&self, _frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(o, x)| *o += c * self.mass * x);
    }
    #[inline]
    fn divide_by_mass(&self, _frame: &BodyFrame, x: &mut [f64]) {
        x.iter_mut().for_each(|x| *x /= super::or_one(self.mass));
    }
    #[inline]
    fn orientation(&self) -> Orientation {
        Orientation::None
    }
}
