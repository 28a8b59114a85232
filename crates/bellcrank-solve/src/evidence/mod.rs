//! What a run is worth: every error against a scale of its own, with a verdict.
//!
//! A number alone says little: 10⁻⁶ J is much for a watch and nothing for a crane. Each error is therefore divided by
//! what moves in the model, and judged by bounds that come from the tolerance the user asked for. Reports, tables and
//! JSON all take their verdicts from here.

pub mod compare;

use crate::choices::Options;
use crate::record::Memory;
use crate::run::Summary;
use crate::verify::{Verification, nominal_order};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::model::Space;
use bellcrank_model::system::System;

/// What to think of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is for information only.
    #[default]
    None,
    /// As it should be.
    Good,
    /// Worth a look.
    Doubtful,
    /// Wrong.
    Bad,
}

/// The largest relative errors that are good, and that are still only doubtful.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Good up to here.
    pub good: f64,
    /// Doubtful up to here, bad beyond.
    pub doubtful: f64,
}

impl Bounds {
    /// Loads that balance are exact up to rounding, whatever the tolerance.
    const BALANCED: Bounds = Bounds { good: 1e-8, doubtful: 1e-5 };
    /// Of all attempted steps, those that were rejected.
    const REJECTED: Bounds = Bounds { good: 0.25, doubtful: 0.6 };

    /// With error control a hundred times the tolerance is good; a fixed step promises nothing, so a thousandth is.
    pub fn of(options: &Options) -> Bounds {
        let good = match options.step {
            Some(_) => 1e-3,
            None => (100.0 * options.rtol).clamp(1e-10, 1e-2),
        };
        Bounds { good, doubtful: 1e-2 }
    }

    /// The verdict on a relative error; one that is not a number is bad.
    pub fn judge(self, x: f64) -> Verdict {
        match x {
            x if x <= self.good => Verdict::Good,
            x if x <= self.doubtful => Verdict::Doubtful,
            _ => Verdict::Bad,
        }
    }

    fn judged(self, size: f64, scale: f64) -> Judged {
        Judged { size, scale, verdict: self.judge(size / scale) }
    }
}

/// An error, what it is compared with, and the verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The error.
    pub size: f64,
    /// What it is compared with, in the same unit; positive.
    pub scale: f64,
    /// What to think of it.
    pub verdict: Verdict,
}

impl Judged {
    /// The error as a fraction of its scale.
    pub fn relative(&self) -> f64 {
        self.size / self.scale
    }
}

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
        let convergence = match (v.converges, v.agrees_until) {
            (true, _) => Verdict::None,
            (false, None) => Verdict::Doubtful,
            (false, Some(_)) => Verdict::Bad,
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

    /// The largest error of the balance of energy, in J, against the energy that moves: the largest kinetic energy or the
    /// range of the stored one.
    pub fn energy(&self) -> Judged {
        let kinetic = self.frames.column("energy.kinetic").unwrap_or_default();
        let stored = self.frames.column("energy.stored").unwrap_or_default();
        let largest = kinetic.iter().fold(0.0f64, |m, e| m.max(*e));
        let (low, high) = stored.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |b, e| (b.0.min(*e), b.1.max(*e)));
        let moves = largest.max(if high > low { high - low } else { 0.0 });
        self.bounds().judged(self.summary.energy.largest_error, moves.max(f64::MIN_POSITIVE))
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
        let (push, turn) = (p.largest_momentum.0.max(p.largest_load.0 * span), p.largest_momentum.1);
        let linear = scale(p.largest_momentum.0, p.largest_load.0, turn.max(p.largest_load.1 * span) / length);
        let angular = scale(turn, p.largest_load.1, 1e3 * push * length);
        let bounds = self.bounds();
        let plane = self.system.model.space == Space::Plane;
        let exists = |k: &usize| !plane || matches!(k, 0 | 1 | 5);
        let conserved = (0..6).filter(exists).filter_map(|k| {
            let scale = if k < 3 { linear } else { angular };
            Some((k, bounds.judged(p.conserved[k]?, scale)))
        });
        Some(Momentum {
            linear: bounds.judged(p.impulse_error.0, linear),
            angular: bounds.judged(p.impulse_error.1, angular),
            conserved: conserved.collect(),
        })
    }

    /// How far joints came apart.
    pub fn constraints(&self) -> Constraints {
        let length = self.system.length();
        // of wheels that turn in place the rims move
        let size = |unit: &str| match unit {
            "m/s" => Some(1.0),
            "rad/s" => Some(0.1 * length),
            _ => None,
        };
        let channels = self.frames.header.channels.iter().enumerate();
        let columns: Vec<(usize, f64)> = channels.filter_map(|(j, c)| Some((j, size(c.unit)?))).collect();
        let rows = (0..self.frames.times.len()).map(|i| self.frames.row(i));
        let speed = rows.flat_map(|r| columns.iter().map(|(j, size)| size * r[*j].abs())).fold(0.0, f64::max);
        Constraints {
            position: self.bounds().judged(self.summary.drift.position, length),
            velocity: self.bounds().judged(self.summary.drift.velocity, speed.max(1e-300)),
        }
    }

    /// Loads against rates of momentum, where the run looked at them.
    pub fn reactions(&self) -> Option<Reactions> {
        let p = self.summary.proof.as_ref().filter(|p| p.known)?;
        // where no moment acts (one body on one pin), a small fraction of what its forces could have: otherwise rounding
        // errors are compared with themselves
        let moment = p.largest_load.1.max(1e-3 * p.largest_load.0 * self.system.length());
        let moment = moment.max(1e-3 * p.largest_momentum.1 / self.span()); // a free body that turns
        Some(Reactions {
            force: Bounds::BALANCED.judged(p.reaction_error.0, p.largest_load.0.max(f64::MIN_POSITIVE)),
            moment: Bounds::BALANCED.judged(p.reaction_error.1, moment.max(f64::MIN_POSITIVE)),
            worst_body: p.worst_body,
        })
    }

    /// Rejected steps against all that were attempted.
    pub fn rejected(&self) -> Judged {
        let s = &self.summary.statistics;
        let rejected = s.error_test_failures + s.convergence_failures;
        Bounds::REJECTED.judged(rejected as f64, (s.steps + rejected).max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_the_tolerance_and_not_a_number_is_bad() {
        let adaptive = Bounds::of(&Options { rtol: 1e-6, ..Options::default() });
        let fixed = Bounds::of(&Options { step: Some(1e-3), ..Options::default() });
        assert_eq!((fixed.good, fixed.doubtful), (1e-3, 1e-2));
        assert!((adaptive.good / 1e-4 - 1.0).abs() < 1e-12);
        let verdicts = [1e-5, 1e-3, 0.1, f64::NAN].map(|x| adaptive.judge(x));
        assert_eq!(verdicts, [Verdict::Good, Verdict::Doubtful, Verdict::Bad, Verdict::Bad]);
        assert!(Verdict::None < Verdict::Good && Verdict::Good < Verdict::Doubtful && Verdict::Doubtful < Verdict::Bad);
        let judged = adaptive.judged(2e-6, 2.0);
        assert_eq!((judged.relative(), judged.verdict), (1e-6, Verdict::Good));
    }
}
