//! The handful of equations that joints are made of, each with its derivatives, written once.
//!
//! An equation gives g, its gradient on the twists of the frames, and the second derivative
//! (Gᵀλ)_q; the drift (G w)_q of the velocity row and the bias of the acceleration row follow from
//! it, because both contract the same second derivative, with twists instead of loads.

use super::{Motion, Placement, X, Y, Z};
use crate::file::Expression;
use crate::frames::{ANG, Covector, Frames, LIN, Row, Stiffness, nearest_turn};
use bellcrank_math::{Mat3, Vec3};

/// An equation between two frames that is plain data: large models are made of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain {
    /// p₂ − p₁ = 0, in so many dimensions.
    Coincide(usize),
    /// (|p₂ − p₁|² − l²)/(2l) = 0.
    Distance(f64),
    /// a₁ · b₂ = 0, of two axes.
    Perpendicular(usize, usize),
}

impl Plain {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Plain::Coincide(d) => *d,
            _ => 1,
        }
    }
}

/// Equations between frames.
pub trait Equation: Send + Sync {
    /// The equation as data, if it is one of the plain ones.
    fn plain(&self) -> Option<Plain> {
        None
    }
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Whether there is a g; if not, `jacobian` is a velocity row that stands in for it: G v + g_t = 0.
    fn holonomic(&self) -> bool {
        true
    }
    /// Whether its velocity rows are rates of functions of the frames, though it may have no g.
    fn integrable(&self) -> bool {
        self.holonomic()
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
    /// ∂g/∂t and ∂²g/∂t² of rheonomic equations, given the time and the inputs of the model.
    fn time(&self, _t: f64, _inputs: &[f64], _g_t: &mut [f64], _g_tt: &mut [f64]) {}
    /// Whether `time` can give other than zero: then the equation does work.
    fn rheonomic(&self) -> bool {
        false
    }
    /// Whether the rotation of an end matters (or only its origin).
    fn rotational(&self, _end: usize) -> bool {
        true
    }
    /// The angles whose full turns it needs, in the order of [`Frames::near`]; at most one equation of
    /// a joint may need any.
    fn angles(&self) -> Vec<Measure> {
        Vec::new()
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

/// Where the second body touches the first: the velocity there of one against the other,
/// u = v₂ + ω₂×ρ − v₁ − ω₁×(d + ρ).
struct Contact {
    /// p₂ − p₁.
    d: Vec3,
    /// From p₂ to the contact.
    rho: Vec3,
    /// ∂ρ/∂δ for rotations δ of both frames.
    rho_by: [Mat3; 2],
}

impl Contact {
    /// The row τ·u.
    fn row(&self, tau: Vec3) -> Row {
        let mut row = Row::default();
        row[0] = Covector::new(-tau, tau.cross(self.d + self.rho));
        row[1] = Covector::new(tau, self.rho.cross(tau));
        row
    }

    /// Adds the change of the loads of a force `f` at the contact, which itself changes by `f_by` with
    /// rotations of both frames.
    fn stiffness(&self, f: Vec3, f_by: [Mat3; 2], k: &mut Stiffness) {
        let (f, rho, arm) = (f.tilde(), self.rho.tilde(), (self.d + self.rho).tilde());
        k.add(0, ANG, 1, LIN, f);
        k.add(0, ANG, 0, LIN, -f);
        for (j, (f_by, rho_by)) in f_by.into_iter().zip(self.rho_by).enumerate() {
            k.add(1, LIN, j, ANG, f_by);
            k.add(0, LIN, j, ANG, -f_by);
            k.add(1, ANG, j, ANG, rho * f_by - f * rho_by);
            k.add(0, ANG, j, ANG, f * rho_by - arm * f_by);
        }
    }
}

/// a₂·u = 0: no velocity of the second point, seen from the first body, along axis a of the second.
pub struct NoSlipAlong {
    axis: usize,
}

/// The second point does not move along axis `axis` of its own frame, as seen from the first body.
pub fn no_slip_along(axis: usize) -> Box<dyn Equation> {
    Box::new(NoSlipAlong { axis })
}

impl NoSlipAlong {
    fn contact(at: &Frames) -> Contact {
        Contact { d: at.ends[1].p - at.ends[0].p, rho: Vec3::ZERO, rho_by: [Mat3::ZERO; 2] }
    }
}

impl Equation for NoSlipAlong {
    fn rows(&self) -> usize {
        1
    }
    fn holonomic(&self) -> bool {
        false
    }
    fn value(&self, _at: &Frames, _g: &mut [f64]) {}
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        rows[0] = NoSlipAlong::contact(at).row(at.ends[1].axis(self.axis));
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let f = at.ends[1].axis(self.axis) * lambda[0];
        NoSlipAlong::contact(at).stiffness(f, [Mat3::ZERO, -f.tilde()], k);
    }
}

/// A disk of radius r about z of the second frame on the plane normal to z of the first.
///
/// With n = z₁, a = z₂ and w = n − (n·a) a the lowest point of the rim is at ρ = −r w/|w| from the
/// centre. It touches where n·(p₂ − p₁) − r|w| = 0, and it rolls where its velocity u has no part along
/// x₁, y₁; the part along n is the rate of the former.
pub struct Roll {
    radius: f64,
    slip: bool,
}

/// A disk touches a plane: one row, whose λ is the force of contact.
pub fn touch(radius: f64) -> Box<dyn Equation> {
    Box::new(Roll { radius, slip: false })
}

/// A disk that touches a plane does not slip on it: two velocity rows.
pub fn roll(radius: f64) -> Box<dyn Equation> {
    Box::new(Roll { radius, slip: true })
}

impl Roll {
    /// The axes of the first frame along which there is no motion.
    fn axes(&self) -> &'static [usize] {
        if self.slip { &[X, Y] } else { &[Z] }
    }

    fn contact(&self, at: &Frames) -> Contact {
        let (n, a) = (at.ends[0].axis(Z), at.ends[1].axis(Z));
        let lean = n.dot(a);
        let w = n - a * lean;
        let s = w.norm().max(FLAT);
        let e = w * (1.0 / s);
        let across = (Mat3::IDENTITY - e.outer(e)) * (-self.radius / s);
        let by_plane = (a.outer(a) - Mat3::IDENTITY) * n.tilde();
        let by_disk = (a.outer(n) + Mat3::IDENTITY * lean) * a.tilde();
        Contact { d: at.ends[1].p - at.ends[0].p, rho: e * -self.radius, rho_by: [across * by_plane, across * by_disk] }
    }
}

/// The sine of the lean below which a disk lies flat and touches everywhere.
const FLAT: f64 = 1e-12;

impl Equation for Roll {
    fn rows(&self) -> usize {
        self.axes().len()
    }
    fn holonomic(&self) -> bool {
        !self.slip
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        if !self.slip {
            let c = self.contact(at);
            g[0] = at.ends[0].axis(Z).dot(c.d + c.rho);
        }
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let contact = self.contact(at);
        for (row, axis) in rows.iter_mut().zip(self.axes()) {
            *row = contact.row(at.ends[0].axis(*axis));
        }
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let mut f = Vec3::ZERO;
        for (axis, l) in self.axes().iter().zip(lambda) {
            f += at.ends[0].axis(*axis) * *l;
        }
        self.contact(at).stiffness(f, [-f.tilde(), Mat3::ZERO], k);
    }
}
