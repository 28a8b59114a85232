//! Joint angles over many turns: which turn an angle is on is counted from one accepted step to the next.

use super::*;
use crate::model::End;
use bellcrank_math::threads::team;

/// Bodies may turn against each other by this much, in rad, before turns are counted again; angles are unambiguous up
/// to π.
const UNCOUNTED: f64 = 0.2;

/// The element whose angle is counted.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    Joint(u32),
    Force(u32),
}

/// An angle whose turns are counted, and the places of its owner between which it is measured.
pub(super) struct Angle {
    pub of: Owner,
    pub ends: [u8; 2],
    pub motion: Motion,
    /// Whether an equation or a force needs it within a step.
    pub acts: bool,
}

/// The angles whose turns are counted.
#[derive(Default)]
pub(super) struct Turns {
    pub angles: Vec<Angle>,
    /// Whether an equation or a force uses one of them.
    pub act: bool,
}

impl System {
    /// Whether a body has an angle in the plane among its coordinates: it counts turns by itself.
    pub fn counts_turns(&self, body: usize) -> bool {
        self.plane_angle(body).is_some()
    }

    /// The index of a body's angle in the plane among all coordinates.
    pub fn plane_angle(&self, body: usize) -> Option<usize> {
        let angle = each!(&self.bodies[body], b => b.plane_angle());
        angle.map(|k| self.layout.bodies[body].start + k)
    }

    /// Counts the turns of all angles at an accepted step.
    pub(crate) fn count_turns(&self, s: &mut State, w: &mut Workspace) {
        if self.turns.angles.is_empty() {
            return;
        }
        let passed = s.t - s.charts.time;
        // the last count serves as long as nothing can have turned far
        if passed > 0.0 && s.charts.rates.len() == self.turns.angles.len() && self.can_wait(passed, &s.v) {
            return;
        }
        let SystemCache { bodies, standing, .. } = w.cache_mut();
        standing.leave();
        self.locate(&s.q, &s.charts, bodies);
        let w = &Realized::poses(bodies);
        s.charts.rates.resize(self.turns.angles.len(), 0.0);
        for (angle, (old, old_rate)) in
            self.turns.angles.iter().zip(s.charts.angles.iter_mut().zip(&mut s.charts.rates))
        {
            let ends = self.frames_of(angle, w, &s.v);
            let seen = Frames { t: s.t, ends: &ends, near: &[] };
            let gradient = angle.motion.gradient(&seen);
            let rate = gradient[0].on(&ends[0]) + gradient[1].on(&ends[1]);
            *old = angle.motion.between().value_near(&seen, *old + 0.5 * passed * (*old_rate + rate));
            *old_rate = rate;
        }
        s.charts.time = s.t;
    }

    /// Whether turns need not be counted yet: no equation or force uses them, and no two frames have turned against
    /// each other by more than [`UNCOUNTED`].
    fn can_wait(&self, passed: f64, v: &[f64]) -> bool {
        let spin = |b: usize| each!(&self.bodies[b], body => body.spin(&v[self.layout.bodies[b].clone()]));
        let slow = |mut bodies: std::ops::Range<usize>| bodies.all(|b| 2.0 * passed * spin(b) < UNCOUNTED);
        !self.turns.act && team::reduced(self.bodies.len(), slow, |a, b| a && b)
    }

    /// Predicts the angles that equations or forces use, to within half a turn.
    pub(super) fn predict_angles(&self, at: &Point, bodies: &[BodyFrame], near: &mut [f64]) {
        let w = &Realized::poses(bodies);
        let passed = at.t - at.charts.time;
        for (k, angle) in self.turns.angles.iter().enumerate().filter(|(_, angle)| angle.acts) {
            // by the mean of both rates, as at the end of the step: a step may pass many turns
            let before = at.charts.rates.get(k).copied().unwrap_or(0.0);
            let now = if passed != 0.0 { self.turn_rate(angle, at, w) } else { before };
            near[k] = at.charts.angles[k] + 0.5 * passed * (before + now);
        }
    }

    /// The rate of a counted angle.
    fn turn_rate(&self, angle: &Angle, at: &Point, w: &Realized) -> f64 {
        let ends = self.frames_of(angle, w, &at.v);
        let gradient = angle.motion.gradient(&Frames { t: at.t, ends: &ends, near: &[] });
        gradient[0].on(&ends[0]) + gradient[1].on(&ends[1])
    }

    /// The places an angle is measured between.
    pub(super) fn ends_of(&self, angle: &Angle) -> [&End; 2] {
        let ends = match angle.of {
            Owner::Joint(j) => &self.model.joints[j as usize].ends,
            Owner::Force(f) => &self.model.forces[f as usize].ends,
        };
        angle.ends.map(|k| &ends[k as usize])
    }

    fn frames_of(&self, angle: &Angle, w: &Realized, v: &[f64]) -> [Frame; 2] {
        self.ends_of(angle).map(|end| self.frame_at(end, w, Some(v)))
    }
}
