//! The handful of equations that joints are made of, each with its derivatives, written once.
//!
//! An equation gives g, its gradient on the twists of the frames, and the second derivative
//! (Gᵀλ)_q; the drift (G w)_q of the velocity row and the bias of the acceleration row follow from
//! it, because both contract the same second derivative, with twists instead of loads.

use super::{Motion, X, Y, Z};
use crate::file::Expression;
use crate::frames::{ANG, Covector, Frames, LIN, Row, Stiffness, nearest_turn};
use bellcrank_math::Vec3;

/// Equations between frames.
pub trait Equation: Send + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Whether there is a g; if not, `jacobian` is a velocity row that stands in for it.
    fn holonomic(&self) -> bool {
        true
    }
    /// g.
    fn value(&self, at: &Frames, g: &mut [f64]);
    /// G, a form on the twist of every end; `rows` come zeroed.
    fn jacobian(&self, at: &Frames, rows: &mut [Row]);
    /// Adds (Gᵀλ)_q: the change of the loads Gᵀλ with the displacements of the frames.
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness);
    /// Whether (Gᵀλ)_q vanishes at the level of frames.
    fn straight(&self) -> bool {
        false
    }
    /// ∂g/∂t and ∂²g/∂t² of rheonomic equations.
    fn time(&self, _t: f64, _g_t: &mut [f64], _g_tt: &mut [f64]) {}
    /// Whether the rotation of the frames matters (or only their origins).
    fn rotational(&self) -> bool {
        true
    }
}

/// p₂ − p₁ = 0.
pub struct Coincide {
    dimension: usize,
}

/// Two points stay together.
pub fn coincide(dimension: usize) -> Box<dyn Equation> {
    Box::new(Coincide { dimension })
}

impl Equation for Coincide {
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
    fn rotational(&self) -> bool {
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
        let s = bellcrank_math::Mat3::IDENTITY * (lambda[0] / self.length);
        for (i, j, s) in [(0, 0, s), (0, 1, -s), (1, 0, -s), (1, 1, s)] {
            k.add(i, LIN, j, LIN, s);
        }
    }
    fn rotational(&self) -> bool {
        false
    }
}

/// motion(frames) − f(t) = 0: a joint coordinate that is held or driven.
pub struct Follow {
    motion: Motion,
    course: Expression,
}

/// A motion of a joint follows a function of time (a constant, to lock it).
pub fn follow(motion: Motion, course: Expression) -> Box<dyn Equation> {
    Box::new(Follow { motion, course })
}

/// A motion of a joint stays at zero.
pub fn hold(motion: Motion) -> Box<dyn Equation> {
    follow(motion, Expression::constant(0.0))
}

impl Equation for Follow {
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g[0] = self.motion.value(at) - self.course.value(at.t);
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        rows[0] = self.motion.gradient(at);
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        self.motion.curvature(at, lambda[0], k);
    }
    fn time(&self, t: f64, g_t: &mut [f64], g_tt: &mut [f64]) {
        let course = self.course.jet(t);
        g_t[0] = -course.rate;
        g_tt[0] = -course.second;
    }
}

impl Motion {
    /// The axes x, y that turn about the axis of a rotation.
    fn turning(axis: usize) -> (usize, usize) {
        [(Y, Z), (Z, X), (X, Y)][axis]
    }

    /// The coordinate: a distance along, or a continuous angle about, an axis of the first frame.
    pub fn value(&self, at: &Frames) -> f64 {
        match *self {
            Motion::Translate(axis) => at.ends[0].axis(axis).dot(at.ends[1].p - at.ends[0].p),
            Motion::Rotate(axis) => {
                let (x, y) = Motion::turning(axis);
                let x2 = at.ends[1].axis(x);
                let angle = at.ends[0].axis(y).dot(x2).atan2(at.ends[0].axis(x).dot(x2));
                nearest_turn(angle, at.near)
            }
        }
    }

    /// Its gradient: the rate is this form on the twists.
    pub fn gradient(&self, at: &Frames) -> Row {
        let mut row = Row::default();
        match *self {
            Motion::Translate(axis) => {
                let a = at.ends[0].axis(axis);
                row[0] = Covector::new(-a, a.cross(at.ends[1].p - at.ends[0].p));
                row[1].lin = a;
            }
            Motion::Rotate(axis) => {
                let u = Turn::about(axis, at).axis();
                row[0].ang = -u;
                row[1].ang = u;
            }
        }
        row
    }

    /// Adds the change of the loads gradientᵀ·`load` with the displacements of the frames.
    pub fn curvature(&self, at: &Frames, load: f64, k: &mut Stiffness) {
        match *self {
            Motion::Translate(axis) => {
                let d = at.ends[1].p - at.ends[0].p;
                let a = at.ends[0].axis(axis).tilde() * load;
                k.add(1, LIN, 0, ANG, -a);
                k.add(0, LIN, 0, ANG, a);
                k.add(0, ANG, 0, ANG, d.tilde() * a);
                k.add(0, ANG, 1, LIN, a);
                k.add(0, ANG, 0, LIN, -a);
            }
            Motion::Rotate(axis) => {
                let [by_first, by_second] = Turn::about(axis, at).axis_derivatives();
                for (end, sign) in [(0, -load), (1, load)] {
                    k.add(end, ANG, 0, ANG, by_first * sign);
                    k.add(end, ANG, 1, ANG, by_second * sign);
                }
            }
        }
    }
}

/// The angle θ = atan2(s, c), s = y₁·x₂, c = x₁·x₂, of x₂ about the third axis of the first frame.
struct Turn {
    x1: Vec3,
    y1: Vec3,
    x2: Vec3,
    s: f64,
    c: f64,
}

impl Turn {
    fn about(axis: usize, at: &Frames) -> Turn {
        let (x, y) = Motion::turning(axis);
        let (x1, y1, x2) = (at.ends[0].axis(x), at.ends[0].axis(y), at.ends[1].axis(x));
        Turn { x1, y1, x2, s: y1.dot(x2), c: x1.dot(x2) }
    }

    /// u with θ̇ = u·(ω₂ − ω₁): u = x₂ × (c y₁ − s x₁)/(s² + c²), the axis itself when both frames share it.
    fn axis(&self) -> Vec3 {
        let n = self.y1 * self.c - self.x1 * self.s;
        self.x2.cross(n) * (1.0 / (self.s * self.s + self.c * self.c))
    }

    /// ∂u/∂δ for rotations δ of the first and of the second frame.
    fn axis_derivatives(&self) -> [bellcrank_math::Mat3; 2] {
        let &Turn { x1, y1, x2, s, c } = self;
        let rho2 = s * s + c * c;
        let n = y1 * c - x1 * s;
        let u = self.axis();
        let (ds, dc) = (x2.cross(y1), x2.cross(x1)); // by rotations of the second frame; − by the first
        let common = x2.tilde() * (y1.outer(dc) - x1.outer(ds)) - u.outer(ds * (2.0 * s) + dc * (2.0 * c));
        let by_first = x2.tilde() * (x1.tilde() * s - y1.tilde() * c) - common;
        let by_second = n.tilde() * x2.tilde() + common;
        [by_first * (1.0 / rho2), by_second * (1.0 / rho2)]
    }
}
