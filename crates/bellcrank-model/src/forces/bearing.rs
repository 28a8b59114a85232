//! What presses the surfaces of a joint together: its reaction, as a sum of lengths of vectors.
//!
//! The joint puts a force F and a moment M on its second body, told at its place there. With a the axis of the coordinate and N = F − a (a·F), two
//! bearings (or the two ends of a guide) at the distance ℓ carry N/2 ∓ (a × M)/ℓ, so that
//!
//! ```text
//!     R = |N/2 + (a × M)/ℓ| + |N/2 − (a × M)/ℓ| + |a·F|      of a turn: the last is the thrust
//!     R = |N/2 + (a × M)/ℓ| + |N/2 − (a × M)/ℓ| + |a·M|/ρ    of a slide: the last is what keeps a guide of radius ρ from turning
//! ```
//!
//! Without ℓ and ρ moments do not press: R = |N|, or |N| + |a·F|.

use super::{Placement, Seen};
use crate::file::{Diagnostics, Values};
use crate::frames::{Covector, Frame, Frames, MAX_ROWS, Row, Stiffness};
use crate::joints::{Equation, Motion};
use bellcrank_math::Vec3;

/// The surfaces of a joint that rub along one of its coordinates.
pub struct Bearing {
    equations: Vec<Box<dyn Equation>>,
    motion: Motion,
    /// The number of the joint.
    pub joint: usize,
    /// 1/ℓ; zero where moments do not press.
    per_length: f64,
    /// 1/ρ of a slide, likewise.
    per_radius: f64,
}

/// R and its derivatives.
#[derive(Debug, Default)]
pub struct Pressed {
    /// R.
    pub load: f64,
    /// ∂R/∂λ.
    pub by_lambda: [f64; MAX_ROWS],
    /// ∂R/∂displacement.
    pub by_displacement: Row,
}

/// Sums lengths |u| with u = s (F − a (a·F)) + c (a × M), and magnitudes |a·F|, |a·M|; and their derivatives by F, M and a.
#[derive(Default)]
struct Sum {
    load: f64,
    by_force: Vec3,
    by_moment: Vec3,
    by_axis: Vec3,
}

impl Sum {
    fn across(&mut self, (a, force, moment): (Vec3, Vec3, Vec3), s: f64, c: f64) {
        let along = a.dot(force);
        let u = (force - a * along) * s + a.cross(moment) * c;
        let Some(e) = u.normalized() else { return };
        self.load += u.norm();
        self.by_force += (e - a * a.dot(e)) * s;
        self.by_moment += e.cross(a) * c;
        self.by_axis += (e * along + force * a.dot(e)) * -s + moment.cross(e) * c;
    }

    /// The magnitude c |a·x|; its derivative by x is returned.
    fn along(&mut self, a: Vec3, x: Vec3, c: f64) -> Vec3 {
        let c = if a.dot(x) < 0.0 { -c } else { c };
        self.load += c * a.dot(x);
        self.by_axis += x * c;
        a * c
    }
}

impl Bearing {
    /// The surfaces of the joint that a force acts along, with the keys `length` and `radius`.
    pub fn read(values: &Values, place: &Placement) -> Result<Bearing, Diagnostics> {
        let motion = place.joint().motion;
        let what = values.what();
        let carrier = place.carrier.as_ref().expect("the reader names the joint of a coordinate");
        let equations = carrier.joint.equations(place.space);
        let rows: usize = equations.iter().map(|e| e.rows()).sum();
        if carrier.ends != 2
            || rows == 0
            || rows > MAX_ROWS
            || !equations.iter().all(|e| e.holonomic() && !e.rheonomic())
        {
            let message = format!("{what} cannot follow the reaction of joint `{}`", carrier.name);
            let help =
                "give the level of friction with `coulomb`, or use a joint between two bodies that only guides them";
            return Err(values.error_at("coefficient", message).help(help).into());
        }
        if motion.turns() && !values.has("radius") {
            let message = format!("{what} needs `radius`: friction of a turn acts at the radius of the bearing");
            return Err(values.error(message).help("add `radius = …`, in m").into());
        }
        let per = |key: &str| values.optional_number(key).map_or(0.0, |x| 1.0 / x);
        let per_radius = if motion.turns() { 0.0 } else { per("radius") };
        Ok(Bearing { equations, motion, joint: carrier.number, per_length: per("length"), per_radius })
    }

    /// The number of the frame that the axis belongs to, and the axis in it.
    fn axis(&self) -> (usize, usize) {
        match self.motion {
            Motion::Rotate(k) | Motion::Translate(k) => (0, k),
            Motion::RotateSecond(k) => (1, k),
        }
    }

    /// R at some multipliers of the joint.
    pub fn pressed(&self, at: &Seen) -> Pressed {
        let frames = Frames { t: at.t, ends: &at.ends[..2], near: &[] };
        let mut out = Pressed::default();
        if at.reaction.is_empty() {
            return out;
        }
        // the load on the second frame is −Gᵀλ
        let mut rows = [Row::default(); MAX_ROWS];
        let mut bend = Stiffness::default();
        let mut first = 0;
        for equation in &self.equations {
            let range = first..first + equation.rows();
            equation.jacobian(&frames, &mut rows[range.clone()]);
            equation.stiffness(&frames, &at.reaction[range.clone()], &mut bend);
            first = range.end;
        }
        let mut reaction = Covector::default();
        for (row, lambda) in rows.iter().zip(at.reaction) {
            reaction.lin -= row[1].lin * *lambda;
            reaction.ang -= row[1].ang * *lambda;
        }
        let (end, axis) = self.axis();
        let (a, force, moment) = (at.ends[end].axis(axis), reaction.lin, reaction.ang);
        let mut sum = Sum::default();
        if self.per_length == 0.0 {
            sum.across((a, force, moment), 1.0, 0.0);
        } else {
            [1.0, -1.0].into_iter().for_each(|sign| sum.across((a, force, moment), 0.5, sign * self.per_length));
        }
        if self.motion.turns() {
            let by = sum.along(a, force, 1.0);
            sum.by_force += by;
        } else if self.per_radius != 0.0 {
            let by = sum.along(a, moment, self.per_radius);
            sum.by_moment += by;
        }
        out.load = sum.load;
        for (by, row) in out.by_lambda.iter_mut().zip(&rows).take(at.reaction.len()) {
            *by = -(sum.by_force.dot(row[1].lin) + sum.by_moment.dot(row[1].ang));
        }
        // the second frame alone is loaded: the contraction with these twists is that of its loads
        let pick = [Frame::default(), Frame { v: sum.by_force, w: sum.by_moment, ..Frame::default() }];
        for (out, by) in out.by_displacement.iter_mut().zip(bend.contract(&pick)).take(2) {
            *out = Covector::new(-by.lin, -by.ang);
        }
        out.by_displacement[end].ang += a.cross(sum.by_axis);
        out
    }
}
