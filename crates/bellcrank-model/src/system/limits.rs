//! Elements beyond the range in which their equations are right.

use super::*;
use crate::bodies::{ModeField, Structure};
use bellcrank_math::Vec3;

impl Structure {
    /// The largest deflection of a deformed body, relative to its length.
    fn deflection(&self, modal: &[f64]) -> f64 {
        let places = self.outline();
        let first = places.first().copied().unwrap_or_default();
        let length = places.iter().fold(0.0f64, |m, p| m.max((*p - first).norm()));
        let moved = |place: &Vec3| {
            let (_, shapes) = self.shapes(*place);
            shapes.iter().zip(modal).fold(Vec3::ZERO, |sum, ((shift, _), eta)| sum + *shift * *eta).norm()
        };
        if length > 0.0 { places.iter().map(moved).fold(0.0, f64::max) / length } else { 0.0 }
    }

    /// The lowest natural frequency of its modes, each by itself, in rad/s.
    fn lowest(&self) -> f64 {
        let n = self.count();
        let squares = (0..n).map(|i| self.stiffness[i * n + i] / self.modal_mass[i * n + i]);
        squares.filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min).sqrt()
    }

    /// The rate of turning that loads its modes: of a beam that across its axis.
    fn swing(&self, v: &[f64]) -> f64 {
        match (self.dimension, &self.field) {
            (2, _) => v[2].abs(),
            (_, ModeField::Beam { .. }) => v[4].hypot(v[5]),
            _ => Vec3::from_slice(&v[3..6]).norm(),
        }
    }
}

impl System {
    /// Whether anything can leave the range in which its equations are right.
    pub(super) fn is_limited(&self) -> bool {
        let bends = self.bodies.iter().any(|b| each!(b, b => b.deformable()).is_some());
        bends || self.limited().next().is_some() || self.forces.iter().any(|f| f.force.is_limited())
    }

    /// The constraints that follow curves with ends, or wires.
    fn limited(&self) -> impl Iterator<Item = &Constraint> {
        self.constraints.iter().filter(|c| c.equations.iter().any(|e| e.is_limited()))
    }

    /// What is beyond the range in which its equations are right.
    pub(super) fn beyond_limits(&self, at: &Point, w: &Realized) -> Vec<BeyondLimit> {
        let mut out = Vec::new();
        // looked at in every step: nothing is named that is within its limits
        let mut add = |name: &dyn Fn() -> String, limit: Limit, ratio: f64| {
            if ratio > limit.bound() {
                out.push(BeyondLimit { name: name(), limit, ratio });
            }
        };
        for (b, range) in self.layout.bodies.iter().enumerate() {
            let Some(of) = each!(&self.bodies[b], body => body.deformable()) else { continue };
            let rigid = range.len() - of.count();
            let (q, v) = (&at.q[range.clone()], &at.v[range.clone()]);
            add(&|| self.name(Unknown::Q, b), Limit::Deflection, of.deflection(&q[rigid..]));
            add(&|| self.name(Unknown::Q, b), Limit::Spin, of.swing(v) / of.lowest());
        }
        for c in self.limited() {
            let frames = self.frames(&c.ends, w, None);
            let seen = Frames { t: at.t, ends: &frames[..c.ends.len()], near: &[] };
            let Some(joint) = c.joint else { continue };
            for (limit, ratio) in c.equations.iter().filter_map(|e| e.limit(&seen)) {
                add(&|| format!("joint `{}`", self.model.joints[joint].name), limit, ratio);
            }
        }
        for (f, entry) in self.forces.iter().zip(&self.model.forces) {
            if !f.force.is_limited() {
                continue;
            }
            let frames = self.frames(&f.ends, w, Some(&at.v));
            if let Some((limit, ratio)) = f.force.limit(&self.seen(f, at, &frames, w)) {
                add(&|| format!("force `{}`", entry.name), limit, ratio);
            }
        }
        out
    }
}
