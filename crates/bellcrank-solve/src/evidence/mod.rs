//! What a run is worth: every error against a scale of its own, with a verdict.
//!
//! A number alone says little: 10⁻⁶ J is much for a watch and nothing for a crane. Each error is therefore divided by
//! what moves in the model, and judged by bounds that come from the tolerance the user asked for. Reports, tables and
//! JSON all take their verdicts from here.

pub mod compare;

use crate::choices::Options;
use crate::record::Memory;
use crate::run::Summary;
pub use crate::verdict::{Bounds, Judged, Verdict};
use crate::verify::{Agreement, Verification, nominal_order};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::model::Space;
use bellcrank_model::system::System;

/// A run with everything that is known of it.
pub struct Evidence<'a> {
    /// The compiled model.
    pub system: &'a System,
    /// The choices of the run.
    pub options: &'a Options,
    /// How it went.
    pub summary: &'a Summary,
    /// Its frames, perhaps thinned out.
    pub frames: &'a Memory,
    /// How accurate it was; or why that is not known.
    pub verification: Result<&'a Verification, &'a str>,
}

/// Verdicts on the accuracy of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// On the largest error of all channels; doubtful where it is not known.
    pub error: Verdict,
    /// On whether finer runs come closer to each other.
    pub convergence: Verdict,
    /// On the observed order, where it can be seen.
    pub order: Verdict,
}

/// Errors of the balances of momentum.
#[derive(Clone, Debug, PartialEq)]
pub struct Momentum {
    /// Of linear momentum, in kg m/s.
    pub linear: Judged,
    /// Of angular momentum about the origin, in kg m²/s.
    pub angular: Judged,
    /// Changes of components that no load changes: x, y, z of linear momentum (0 to 2), of angular momentum (3 to 5).
    pub conserved: Vec<(usize, Judged)>,
}

/// Errors of the constraints over all steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraints {
    /// Of positions, in m, against the size of the model.
    pub position: Judged,
    /// Of velocities, in m/s, against the largest speed.
    pub velocity: Judged,
}

/// The loads on a body against the rate of its momentum, at worst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reactions {
    /// Forces, in N.
    pub force: Judged,
    /// Moments, in N m.
    pub moment: Judged,
    /// The body where the forces differ most, by its number.
    pub worst_body: usize,
}

impl Evidence<'_> {
    fn bounds(&self) -> Bounds {
        Bounds::of(self.options)
    }

    /// The simulated time; positive.
    fn span(&self) -> f64 {
        self.summary.t.max(f64::MIN_POSITIVE)
    }

    /// Verdicts on the comparison with finer runs.
    pub fn accuracy(&self) -> Accuracy {
        let Ok(v) = self.verification else {
            return Accuracy { error: Verdict::Doubtful, convergence: Verdict::None, order: Verdict::None };
        };
        let convergence = match v.agreement() {
            Agreement::Converge => Verdict::None,
            Agreement::Agree => Verdict::Doubtful,
            Agreement::Until(_) => Verdict::Bad,
        };
        let error = match (convergence, v.worst()) {
            (_, None) => Verdict::None,
            (Verdict::None, Some(worst)) => self.bounds().judge(worst.relative()),
            (doubt, Some(_)) => doubt,
        };
        let order = match (v.order, nominal_order(self.summary.names.method)) {
            (Some(p), Some(n)) if v.fixed && p > n as f64 - 0.5 => Verdict::Good,
            (Some(_), Some(_)) if v.fixed => Verdict::Doubtful,
            _ => Verdict::None,
        };
        Accuracy { error, convergence, order }
    }

    /// The largest error of the balance of energy, in J, against the energy that moves.
    pub fn energy(&self) -> Judged {
        self.summary.energy.judged(self.bounds())
    }

    /// Errors of the balances of momentum, where the run looked at them.
    pub fn momentum(&self) -> Option<Momentum> {
        let p = self.summary.proof.as_ref().filter(|p| p.known)?;
        let (span, length) = (self.span(), self.system.length());
        // Where little moves, what the loads could have brought about in the time. Of what only turns (or never does) the
        // momentum is a sum of rounding errors, which is compared with a small fraction of the other momentum.
        let scale = |largest: f64, load: f64, other: f64| {
            largest.max(1e-3 * load * span).max(1e-6 * other).max(f64::MIN_POSITIVE)
        };
        let (push, turn) = (p.largest_momentum.linear.max(p.largest_load.linear * span), p.largest_momentum.angular);
        let linear =
            scale(p.largest_momentum.linear, p.largest_load.linear, turn.max(p.largest_load.angular * span) / length);
        let angular = scale(turn, p.largest_load.angular, 1e3 * push * length);
        let bounds = self.bounds();
        let plane = self.system.model.space == Space::Plane;
        let exists = |k: &usize| !plane || matches!(k, 0 | 1 | 5);
        let conserved = (0..6).filter(exists).filter_map(|k| {
            let scale = if k < 3 { linear } else { angular };
            Some((k, bounds.judged(p.conserved[k]?, scale)))
        });
        Some(Momentum {
            linear: bounds.judged(p.impulse_error.linear, linear),
            angular: bounds.judged(p.impulse_error.angular, angular),
            conserved: conserved.collect(),
        })
    }

    /// How far joints came apart.
    pub fn constraints(&self) -> Constraints {
        let [position, velocity] = self.summary.drift.judged(self.bounds());
        Constraints { position, velocity }
    }

    /// Loads against rates of momentum, where the run looked at them.
    pub fn reactions(&self) -> Option<Reactions> {
        let p = self.summary.proof.as_ref().filter(|p| p.known)?;
        // where no moment acts (one body on one pin), a small fraction of what its forces could have: otherwise rounding
        // errors are compared with themselves
        let moment = p.largest_load.angular.max(1e-3 * p.largest_load.linear * self.system.length());
        let moment = moment.max(1e-3 * p.largest_momentum.angular / self.span()); // a free body that turns
        Some(Reactions {
            force: Bounds::BALANCED.judged(p.reaction_error.linear, p.largest_load.linear.max(f64::MIN_POSITIVE)),
            moment: Bounds::BALANCED.judged(p.reaction_error.angular, moment.max(f64::MIN_POSITIVE)),
            worst_body: p.worst_body,
        })
    }

    /// On elements beyond the range in which their equations are right.
    pub fn beyond(&self) -> Verdict {
        if self.summary.beyond.is_empty() { Verdict::None } else { Verdict::Bad }
    }

    /// Rejected steps against all that were attempted.
    pub fn rejected(&self) -> Judged {
        let s = &self.summary.statistics;
        let rejected = s.error_test_failures + s.convergence_failures;
        Bounds::REJECTED.judged(rejected as f64, (s.steps + rejected).max(1) as f64)
    }
}
