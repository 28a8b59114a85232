//! Motions between frames, their gradients and curvatures, and the equations that hold, drive or couple them.

use super::{Equation, Plain};
use crate::file::Expression;
use crate::frames::{ANG, Covector, Frames, LIN, Row, Stiffness, nearest_turn};
use crate::joints::{Motion, Placement, X, Y, Z};
use bellcrank_math::{Mat3, Vec3};

/// A motion, measured between two frames of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What is measured.
    pub motion: Motion,
    /// The first and the second frame, among those of the element.
    pub ends: [usize; 2],
    /// For a turn: its place in [`Frames::near`].
    pub turn: usize,
}

/// motion(frames) − f(t) = 0: a joint coordinate that is held or driven; or its rate, rate − f(t) = 0.
pub struct Follow {
    motion: Motion,
    course: Expression,
    by_rate: bool,
}

/// A motion of a joint follows a function of time (a constant, to lock it). An angle follows it up to
/// full turns.
pub fn follow(motion: Motion, course: Expression) -> Box<dyn Equation> {
    Box::new(Follow { motion, course, by_rate: false })
}

/// The rate of a motion follows a function of time: a velocity row, from wherever the motion starts.
pub fn follow_rate(motion: Motion, course: Expression) -> Box<dyn Equation> {
    Box::new(Follow { motion, course, by_rate: true })
}

/// A motion of a joint stays at zero.
pub fn hold(motion: Motion) -> Box<dyn Equation> {
    follow(motion, Expression::constant(0.0))
}

impl Equation for Follow {
    fn plain(&self) -> Option<Plain> {
        match self.motion {
            Motion::Translate(axis) if !self.by_rate => Some(Plain::Along(axis, self.course.as_constant()?)),
            _ => None,
        }
    }
    fn rows(&self) -> usize {
        1
    }
    fn holonomic(&self) -> bool {
        !self.by_rate
    }
    fn integrable(&self) -> bool {
        true
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        let course = self.course.value(at.t);
        g[0] = self.motion.between().value_near(at, course) - course;
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        rows[0] = self.motion.gradient(at);
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        self.motion.curvature(at, lambda[0], k);
    }
    fn courses(&self) -> &[Expression] {
        std::slice::from_ref(&self.course)
    }
    fn rheonomic(&self) -> bool {
        self.by_rate || self.course.as_constant().is_none()
    }
    fn time(&self, t: f64, inputs: &[f64], g_t: &mut [f64], g_tt: &mut [f64]) {
        let course = self.course.jet_with(t, inputs);
        let (rate, second) = if self.by_rate { (course.value, course.rate) } else { (course.rate, course.second) };
        (g_t[0], g_tt[0]) = (-rate, -second);
    }
    fn rotational(&self, end: usize) -> bool {
        match self.motion {
            Motion::Translate(_) => end == 0,
            _ => true,
        }
    }
}

/// c₁·motion₁ + c₂·motion₂ − constant = 0: screws, gears, belts and racks.
#[derive(Clone, Copy, Debug)]
pub struct Couple {
    terms: [(f64, Measure); 2],
    constant: f64,
}

/// Two motions, each between two frames of the element, keep the weighted sum they have at the start.
pub fn couple(terms: [(f64, Motion, [usize; 2]); 2], start: &Placement) -> Couple {
    let mut turns = 0;
    let terms = terms.map(|(c, motion, ends)| {
        let turn = turns;
        turns += motion.turns() as usize;
        (c, Measure { motion, ends, turn })
    });
    let at = Frames { t: 0.0, ends: &start.frames, near: &[] };
    let value = |(c, m): &(f64, Measure)| c * m.value_near(&at, start.turned(m.ends));
    Couple { terms, constant: terms.iter().map(value).sum() }
}

impl Couple {
    /// The same with another value of the sum.
    pub fn with_constant(self, constant: f64) -> Couple {
        Couple { constant, ..self }
    }
}

impl Equation for Couple {
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g[0] = self.terms.iter().map(|(c, m)| c * m.value(at)).sum::<f64>() - self.constant;
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        for (c, m) in self.terms {
            for (form, end) in m.gradient(at).into_iter().zip(m.ends) {
                rows[0][end].lin += form.lin * c;
                rows[0][end].ang += form.ang * c;
            }
        }
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        for (c, m) in self.terms {
            m.curvature(at, c * lambda[0], k);
        }
    }
    fn rotational(&self, end: usize) -> bool {
        self.terms.iter().any(|(_, m)| end == m.ends[0] || (end == m.ends[1] && m.motion.turns()))
    }
    fn angles(&self) -> Vec<Measure> {
        self.terms.iter().map(|(_, m)| *m).filter(|m| m.motion.turns()).collect()
    }
}

impl Motion {
    /// The axes x, y that turn about the axis of a rotation.
    fn turning(axis: usize) -> (usize, usize) {
        [(Y, Z), (Z, X), (X, Y)][axis]
    }

    /// Whether it is a turn, whose full revolutions are counted.
    pub fn turns(&self) -> bool {
        !matches!(self, Motion::Translate(_))
    }

    /// The motion between the first two frames of an element.
    pub fn between(self) -> Measure {
        Measure { motion: self, ends: [0, 1], turn: 0 }
    }

    /// The coordinate: a distance along, or a continuous angle about, an axis.
    pub fn value(&self, at: &Frames) -> f64 {
        self.between().value(at)
    }

    /// Its gradient: the rate is this form on the twists.
    pub fn gradient(&self, at: &Frames) -> Row {
        let mut row = Row::default();
        row[..2].copy_from_slice(&self.between().gradient(at));
        row
    }

    /// Adds the change of the loads gradientᵀ·`load` with the displacements of the frames.
    pub fn curvature(&self, at: &Frames, load: f64, k: &mut Stiffness) {
        self.between().curvature(at, load, k);
    }
}

impl Measure {
    /// The coordinate: a distance along, or a continuous angle about, an axis.
    pub fn value(&self, at: &Frames) -> f64 {
        self.value_near(at, at.near.get(self.turn).copied().unwrap_or(0.0))
    }

    /// The coordinate; of an angle the one nearest to `near`.
    pub fn value_near(&self, at: &Frames, near: f64) -> f64 {
        let [first, second] = self.ends.map(|e| &at.ends[e]);
        match self.motion {
            Motion::Translate(axis) => first.axis(axis).dot(second.p - first.p),
            _ => {
                let turn = Turn::of(self, at);
                nearest_turn(turn.s.atan2(turn.c), near)
            }
        }
    }

    /// The coordinate and its rate; of an angle the one nearest to what `near` makes of the rate.
    pub fn value_and_rate(&self, at: &Frames, near: impl FnOnce(f64) -> f64) -> (f64, f64) {
        let [first, second] = self.ends.map(|e| &at.ends[e]);
        match self.motion {
            Motion::Translate(axis) => {
                let (a, d) = (first.axis(axis), second.p - first.p);
                (a.dot(d), a.dot(second.v - first.v) + a.cross(d).dot(first.w))
            }
            _ => {
                let turn = Turn::of(self, at);
                let rate = turn.sign * turn.axis().dot(second.w - first.w);
                (nearest_turn(turn.s.atan2(turn.c), near(rate)), rate)
            }
        }
    }

    /// Its gradient: forms on the twists of the two ends.
    pub fn gradient(&self, at: &Frames) -> [Covector; 2] {
        match self.motion {
            Motion::Translate(axis) => {
                let [first, second] = self.ends.map(|e| &at.ends[e]);
                let a = first.axis(axis);
                [Covector::new(-a, a.cross(second.p - first.p)), Covector::new(a, Vec3::ZERO)]
            }
            _ => {
                let turn = Turn::of(self, at);
                let u = turn.axis() * turn.sign;
                [Covector::new(Vec3::ZERO, -u), Covector::new(Vec3::ZERO, u)]
            }
        }
    }

    /// Adds the change of the loads gradientᵀ·`load` with the displacements of the frames.
    pub fn curvature(&self, at: &Frames, load: f64, k: &mut Stiffness) {
        let [first, second] = self.ends;
        match self.motion {
            Motion::Translate(axis) => {
                let d = at.ends[second].p - at.ends[first].p;
                let a = at.ends[first].axis(axis).tilde() * load;
                k.add(second, LIN, first, ANG, -a);
                k.add(first, LIN, first, ANG, a);
                k.add(first, ANG, first, ANG, d.tilde() * a);
                k.add(first, ANG, second, LIN, a);
                k.add(first, ANG, first, LIN, -a);
            }
            _ => {
                let turn = Turn::of(self, at);
                let by = turn.axis_derivatives();
                for (end, sign) in [(first, -turn.sign), (second, turn.sign)] {
                    for (other, by) in turn.ends.into_iter().zip(by) {
                        k.add(end, ANG, other, ANG, by * (sign * load));
                    }
                }
            }
        }
    }
}

/// The angle θ = atan2(s, c), s = y₁·x₂, c = x₁·x₂, of a direction x₂ on one frame in the plane of two
/// axes of another.
struct Turn {
    x1: Vec3,
    y1: Vec3,
    x2: Vec3,
    s: f64,
    c: f64,
    /// The end of x₁, y₁ and that of x₂.
    ends: [usize; 2],
    /// Whether θ grows with the rotation of the second frame against the first, or the other way.
    sign: f64,
}

impl Turn {
    fn of(m: &Measure, at: &Frames) -> Turn {
        let [first, second] = m.ends;
        let [a, b] = m.ends.map(|e| &at.ends[e]);
        // about an axis of the second frame: the first turns back, and y₁ keeps to the plane of x₂, y₂
        let (x1, y1, x2, ends, sign) = match m.motion {
            Motion::RotateSecond(axis) => {
                let (x, y) = Motion::turning(axis);
                (b.axis(y), b.axis(x), a.axis(y), [second, first], -1.0)
            }
            Motion::Rotate(axis) | Motion::Translate(axis) => {
                let (x, y) = Motion::turning(axis);
                (a.axis(x), a.axis(y), b.axis(x), [first, second], 1.0)
            }
        };
        Turn { x1, y1, x2, s: y1.dot(x2), c: x1.dot(x2), ends, sign }
    }

    /// u with θ̇ = u·(ω₂ − ω₁): u = x₂ × (c y₁ − s x₁)/(s² + c²), the axis itself when both frames share it.
    fn axis(&self) -> Vec3 {
        let n = self.y1 * self.c - self.x1 * self.s;
        self.x2.cross(n) * (1.0 / (self.s * self.s + self.c * self.c))
    }

    /// ∂u/∂δ for rotations δ of the frame of x₁, y₁ and of that of x₂.
    fn axis_derivatives(&self) -> [Mat3; 2] {
        let &Turn { x1, y1, x2, s, c, .. } = self;
        let rho2 = s * s + c * c;
        let n = y1 * c - x1 * s;
        let u = self.axis();
        let (ds, dc) = (x2.cross(y1), x2.cross(x1)); // by rotations of x₂; − by those of x₁, y₁
        let common = x2.tilde() * (y1.outer(dc) - x1.outer(ds)) - u.outer(ds * (2.0 * s) + dc * (2.0 * c));
        let by_first = x2.tilde() * (x1.tilde() * s - y1.tilde() * c) - common;
        let by_second = n.tilde() * x2.tilde() + common;
        [by_first * (1.0 / rho2), by_second * (1.0 / rho2)]
    }
}
