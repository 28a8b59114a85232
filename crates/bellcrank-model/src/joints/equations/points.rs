//! Equations between points and axes: coincidence, perpendicularity, distance, traced points, constant velocity.

use super::{Equation, Plain};
use crate::file::Expression;
use crate::frames::{ANG, Frames, LIN, Row, Stiffness};
use crate::joints::{X, Y};
use bellcrank_math::Mat3;

/// p₂ − p₁ = 0.
pub struct Coincide {
    dimension: usize,
}

/// Two points stay together.
pub fn coincide(dimension: usize) -> Box<dyn Equation> {
    Box::new(Coincide { dimension })
}

impl Equation for Coincide {
    fn plain(&self) -> Option<Plain> {
        Some(Plain::Coincide(self.dimension))
    }
    fn rows(&self) -> usize {
        self.dimension
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        let d = at.ends[1].p - at.ends[0].p;
        g.copy_from_slice(&d.0[..self.dimension]);
    }
    fn jacobian(&self, _at: &Frames, rows: &mut [Row]) {
        for (i, row) in rows.iter_mut().enumerate() {
            row[0].lin[i] = -1.0;
            row[1].lin[i] = 1.0;
        }
    }
    fn stiffness(&self, _at: &Frames, _lambda: &[f64], _k: &mut Stiffness) {}
    fn straight(&self) -> bool {
        true
    }
    fn rotational(&self, _end: usize) -> bool {
        false
    }
}

/// a₁ · b₂ = 0.
pub struct Perpendicular {
    a: usize,
    b: usize,
}

/// Axis `a` of the first frame stays perpendicular to axis `b` of the second.
pub fn perpendicular(a: usize, b: usize) -> Box<dyn Equation> {
    Box::new(Perpendicular { a, b })
}

impl Equation for Perpendicular {
    fn plain(&self) -> Option<Plain> {
        Some(Plain::Perpendicular(self.a, self.b))
    }
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g[0] = at.ends[0].axis(self.a).dot(at.ends[1].axis(self.b));
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let (a, b) = (at.ends[0].axis(self.a), at.ends[1].axis(self.b));
        rows[0][0].ang = a.cross(b);
        rows[0][1].ang = b.cross(a);
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        // the torque λ b × a on the second end, its opposite on the first
        let (a, b) = (at.ends[0].axis(self.a).tilde(), at.ends[1].axis(self.b).tilde());
        let (by_first, by_second) = (b * a * -lambda[0], a * b * lambda[0]);
        k.add(1, ANG, 0, ANG, by_first);
        k.add(1, ANG, 1, ANG, by_second);
        k.add(0, ANG, 0, ANG, -by_first);
        k.add(0, ANG, 1, ANG, -by_second);
    }
}

/// (|p₂ − p₁|² − l²)/(2l) = 0: λ is the force along the line.
pub struct Distance {
    length: f64,
}

/// Two points keep their distance, which must not be zero.
pub fn distance(length: f64) -> Box<dyn Equation> {
    Box::new(Distance { length })
}

impl Equation for Distance {
    fn plain(&self) -> Option<Plain> {
        Some(Plain::Distance(self.length))
    }
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        let d = at.ends[1].p - at.ends[0].p;
        g[0] = 0.5 * (d.dot(d) / self.length - self.length);
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let u = (at.ends[1].p - at.ends[0].p) * (1.0 / self.length);
        rows[0][0].lin = -u;
        rows[0][1].lin = u;
    }
    fn stiffness(&self, _at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let s = Mat3::IDENTITY * (lambda[0] / self.length);
        for (i, j, s) in [(0, 0, s), (0, 1, -s), (1, 0, -s), (1, 1, s)] {
            k.add(i, LIN, j, LIN, s);
        }
    }
    fn rotational(&self, _end: usize) -> bool {
        false
    }
}

/// p₂ − p₁ − x(t) = 0, x along the axes of the world.
pub struct Trace {
    points: Coincide,
    course: Vec<Expression>,
}

/// A point follows a course, given from the first point on.
pub fn trace(dimension: usize, course: &[Expression]) -> Box<dyn Equation> {
    Box::new(Trace { points: Coincide { dimension }, course: course[..dimension].to_vec() })
}

impl Equation for Trace {
    fn rows(&self) -> usize {
        self.points.dimension
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        self.points.value(at, g);
        g.iter_mut().zip(&self.course).for_each(|(g, x)| *g -= x.value(at.t));
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        self.points.jacobian(at, rows);
    }
    fn stiffness(&self, _at: &Frames, _lambda: &[f64], _k: &mut Stiffness) {}
    fn straight(&self) -> bool {
        true
    }
    fn courses(&self) -> &[Expression] {
        &self.course
    }
    fn rheonomic(&self) -> bool {
        self.course.iter().any(|x| x.as_constant().is_none())
    }
    fn time(&self, t: f64, _inputs: &[f64], g_t: &mut [f64], g_tt: &mut [f64]) {
        for (i, x) in self.course.iter().enumerate() {
            let x = x.jet(t);
            (g_t[i], g_tt[i]) = (-x.rate, -x.second);
        }
    }
    fn rotational(&self, _end: usize) -> bool {
        false
    }
}

/// y₁·x₂ − x₁·y₂ = 0: one frame is the other, bent about an axis perpendicular to z.
///
/// The turns of two shafts along z are equal, however they are bent: the rotation vector from one to
/// the other has no part along z.
pub struct Homokinetic;

/// Turns about the z axes are passed on unchanged.
pub fn homokinetic() -> Box<dyn Equation> {
    Box::new(Homokinetic)
}

impl Homokinetic {
    const TERMS: [(f64, Perpendicular); 2] =
        [(1.0, Perpendicular { a: Y, b: X }), (-1.0, Perpendicular { a: X, b: Y })];
}

impl Equation for Homokinetic {
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g[0] = at.ends[0].axis(Y).dot(at.ends[1].axis(X)) - at.ends[0].axis(X).dot(at.ends[1].axis(Y));
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        for (c, term) in Homokinetic::TERMS {
            let mut row = [Row::default()];
            term.jacobian(at, &mut row);
            (0..2).for_each(|end| rows[0][end].ang += row[0][end].ang * c);
        }
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        for (c, term) in Homokinetic::TERMS {
            term.stiffness(at, &[c * lambda[0]], k);
        }
    }
}
