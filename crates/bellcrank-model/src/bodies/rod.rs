//! A slender rod in natural coordinates: its far end x and the link vector r from near to far end.
//!
//! The mass matrix m [[I, −I/2], [−I/2, I/3]] is constant and ½(|r|² − l²)/l = 0 holds the length
//! [Ascher & Lin 2000, §2.2]. A thin rod in space has no inertia along itself, so six rigid-body
//! coordinates would make M singular; these do not.

use super::{BodyFrame, Coordinates, Orientation, planar};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector};
use bellcrank_math::{Mat3, Quat, Vec3};

/// A slender rod in the plane or in space. Its frame sits at the middle, x along the rod.
#[derive(Clone, Debug)]
pub struct Rod {
    mass: f64,
    length: f64,
    dimension: usize,
}

impl Rod {
    /// Mass in kg, length in m; two or three dimensions.
    #[inline]
    pub fn new(mass: f64, length: f64, dimension: usize) -> Rod {
        Rod { mass, length, dimension }
    }

    /// Two in the plane, three in space.
    #[inline]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The same rod of the plane with the coordinates of a rigid body.
    #[inline]
    pub fn rigid(&self) -> planar::Planar {
        planar::Planar::new(self.mass, self.mass * self.length * self.length / 12.0)
    }

    /// A point of the rod's frame is x + along·r + across·(ẑ × r): linear in the coordinates.
    #[inline]
    fn shares(&self, on: &Attachment) -> (f64, f64) {
        (on.point[0] / self.length - 0.5, on.point[1] / self.length)
    }

    #[inline]
    fn split(&self, q: &[f64]) -> (Vec3, Vec3) {
        (Vec3::from_slice(&q[..self.dimension]), Vec3::from_slice(&q[self.dimension..]))
    }

    #[inline]
    fn add(&self, half: usize, c: f64, v: Vec3, out: &mut [f64]) {
        let d = self.dimension;
        out[half * d..(half + 1) * d].iter_mut().zip(v.0).for_each(|(o, v)| *o += c * v);
    }

    /// Adds a 3×3 matrix to the (r, r) part of a block.
    #[inline]
    fn add_block(&self, c: f64, m: Mat3, out: &mut [f64]) {
        let d = self.dimension;
        for i in 0..d {
            for j in 0..d {
                out[(d + i) * 2 * d + d + j] += c * m.0[i][j];
            }
        }
    }
}

impl Coordinates for Rod {
    fn is_link(&self) -> bool {
        true
    }
    fn kind(&self) -> &'static str {
        "rod"
    }
    #[inline]
    fn width(&self) -> usize {
        2 * self.dimension
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
    fn coordinates(&self, p: Vec3, r: Quat, q: &mut [f64]) {
        let link = r.matrix().column(0) * self.length;
        let end = p + link * 0.5;
        q[..self.dimension].copy_from_slice(&end.0[..self.dimension]);
        q[self.dimension..].copy_from_slice(&link.0[..self.dimension]);
    }
    #[inline]
    fn velocities(&self, frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]) {
        let rate = w.cross(frame.link);
        let end = v + rate * 0.5;
        out[..self.dimension].copy_from_slice(&end.0[..self.dimension]);
        out[self.dimension..].copy_from_slice(&rate.0[..self.dimension]);
    }
    #[inline]
    fn locate(&self, q: &[f64], _centre: Quat, frame: &mut BodyFrame) {
        let (x, link) = self.split(q);
        let along = link.normalized().unwrap_or(Vec3::X);
        (frame.p, frame.link) = (x, link);
        frame.r = if self.dimension == 2 {
            planar::about_z(along[1], along[0])
        } else {
            let across = along.any_perpendicular();
            Mat3::from_columns(along, across, along.cross(across))
        };
    }
    #[inline]
    fn point(&self, frame: &BodyFrame, on: &Attachment) -> Vec3 {
        let (along, across) = self.shares(on);
        frame.p + frame.link * along + Vec3::Z.cross(frame.link) * across
    }
    #[inline]
    fn twist(&self, frame: &BodyFrame, on: &Attachment, w: &[f64]) -> (Vec3, Vec3) {
        let (v, rate) = self.split(w);
        let (along, across) = self.shares(on);
        let turn = frame.link.cross(rate) * (1.0 / frame.link.dot(frame.link));
        (v + rate * along + Vec3::Z.cross(rate) * across, turn)
    }
    #[inline]
    fn pull(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (along, across) = self.shares(on);
        let turning = load.ang.cross(frame.link) * (1.0 / frame.link.dot(frame.link));
        self.add(0, c, load.lin, out);
        self.add(1, c, load.lin * along - Vec3::Z.cross(load.lin) * across + turning, out);
    }
    #[inline]
    fn twist_stiffness(&self, frame: &BodyFrame, _on: &Attachment, w: &[f64], load: Covector, c: f64, out: &mut [f64]) {
        // only ω = r × ṙ / |r|² depends on the coordinates
        let (_, rate) = self.split(w);
        let (r, r2) = (frame.link, frame.link.dot(frame.link));
        let along = load.ang.dot(r.cross(rate));
        self.add(1, c / r2, rate.cross(load.ang) - r * (2.0 * along / r2), out);
    }
    #[inline]
    fn load_stiffness(&self, frame: &BodyFrame, _on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (r, r2) = (frame.link, frame.link.dot(frame.link));
        self.add_block(c / r2, load.ang.tilde() - load.ang.cross(r).outer(r) * (2.0 / r2), out);
    }
    #[inline]
    fn point_rows(&self, _frame: &BodyFrame, on: &Attachment, c: f64, out: &mut [f64]) {
        let ((along, across), d) = (self.shares(on), self.dimension);
        out.fill(0.0);
        for (i, row) in out.chunks_exact_mut(2 * d).enumerate() {
            row[i] = c;
            row[d + i] = c * along;
        }
        // ẑ × r
        out[d + 1] -= c * across;
        out[3 * d] += c * across;
    }
    #[inline]
    fn point_bias(&self, _frame: &BodyFrame, _on: &Attachment, _v: &[f64]) -> Vec3 {
        Vec3::ZERO
    }
    #[inline]
    fn add_mass(&self, _frame: &BodyFrame, c: f64, out: &mut [f64]) {
        let (d, n, m) = (self.dimension, 2 * self.dimension, c * self.mass);
        for i in 0..d {
            out[i * n + i] += m;
            out[i * n + d + i] -= 0.5 * m;
            out[(d + i) * n + i] -= 0.5 * m;
            out[(d + i) * n + d + i] += m / 3.0;
        }
    }
    #[inline]
    fn spin(&self, v: &[f64]) -> f64 {
        self.split(v).1.norm() / self.length
    }
    #[inline]
    fn add_mass_times(&self, _frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]) {
        let (a, b) = self.split(x);
        self.add(0, c * self.mass, a - b * 0.5, out);
        self.add(1, c * self.mass, b * (1.0 / 3.0) - a * 0.5, out);
    }
    #[inline]
    fn divide_by_mass(&self, _frame: &BodyFrame, x: &mut [f64]) {
        let (f, k) = self.split(x);
        let s = 1.0 / super::or_one(self.mass);
        let (a, b) = ((f * 4.0 + k * 6.0) * s, (f * 6.0 + k * 12.0) * s);
        x[..self.dimension].copy_from_slice(&a.0[..self.dimension]);
        x[self.dimension..].copy_from_slice(&b.0[..self.dimension]);
    }
    #[inline]
    fn internal_rows(&self) -> usize {
        1
    }
    #[inline]
    fn internal_value(&self, q: &[f64]) -> f64 {
        let (_, r) = self.split(q);
        0.5 * (r.dot(r) / self.length - self.length)
    }
    #[inline]
    fn internal_gradient(&self, q: &[f64], c: f64, out: &mut [f64]) {
        let (_, r) = self.split(q);
        self.add(1, c / self.length, r, out);
    }
    #[inline]
    fn internal_stiffness(&self, c: f64, out: &mut [f64]) {
        self.add_block(c / self.length, Mat3::IDENTITY, out);
    }
    #[inline]
    fn orientation(&self) -> Orientation {
        if self.dimension == 2 { Orientation::Full } else { Orientation::Direction }
    }
}
