//! When to stop: the rate of convergence, and what remains of the error.
//!
//! DASSL's test [Brenan, Campbell & Petzold 1996]: with the rate ρ = (‖Δ_m‖/‖Δ_1‖)^{1/(m−1)} the error that remains is
//! about ρ/(1 − ρ) ‖Δ_m‖, which has to be below a third of the tolerance.

use super::refresh::{AGING, Economy, SERVES};
use bellcrank_math::linear::solver::LinearError;

/// DASSL: an iteration that converges at a rate above this has failed.
const SLOWEST: f64 = 0.9;
/// DASSL: the estimated remaining error, in units of the tolerance, at which to stop.
const ENOUGH: f64 = 0.33;
/// DASSL: ρ/(1 − ρ) as long as no rate is known: no first correction is the last.
const UNKNOWN: f64 = 100.0;
/// The same as `ENOUGH` with factors kept from an earlier solve: what they leave hides in λ, so that there is always a second
/// correction, and less is enough. A net of 100 × 100 errs by 8.7e-5 J of energy this way, as with factors of its own,
/// and by 4.8e-4 J with `ENOUGH`.
const ENOUGH_KEPT: f64 = 0.01;
/// A first correction is accepted as the last if the contraction measured last would leave less than this fraction of
/// `ENOUGH`, …
const MARGIN: f64 = 0.1;
/// … if the correction is at most this many times as large as the one the contraction was measured on, …
const ALIKE: f64 = 2.0;
/// … and if the measurement has been relied on fewer times than this.
const RELIED_ON: usize = 20;
/// Corrections of at most this many times the rounding may stop shrinking.
const STAGNANT: f64 = 100.0;
/// Constraints with a relative pivot below this are close to singular.
const CLOSE: f64 = 1e-4;

/// What rounding of some size becomes where the smallest pivot of the constraints is this small: corrections of the square
/// chain 1e-4 s before a singular position (pivot 2.2e-6) stop at 30 times ε/pivot.
pub(crate) fn amplified(rounding: f64, pivot: f64) -> f64 {
    if pivot < CLOSE { 100.0 * rounding / pivot.max(f64::EPSILON) } else { 0.0 }
}

/// What a solve took.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Converged {
    /// Iterations.
    pub iterations: usize,
    /// The last estimate of the rate, (‖Δ_m‖/‖Δ_1‖)^{1/(m−1)}.
    pub rate: f64,
    /// The ratio of the last two corrections.
    pub contraction: f64,
}

/// Why a solve gave up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IterationError {
    /// The corrections do not shrink, or too slowly.
    Diverged,
    /// The matrix could not be factored.
    Linear(LinearError),
    /// The residual is not finite.
    NotFinite,
}

/// A contraction, the first correction it was measured on, and how often it has been relied on.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Contraction {
    contraction: f64,
    on: f64,
    relied_on: usize,
}

/// What a solve is judged by, beside the sizes of its corrections.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) economy: Economy,
    /// Whether the factors were made for this solve.
    pub(super) fresh: bool,
    /// Whether they were kept from an earlier one, and solve the whole matrix.
    pub(super) kept: bool,
    /// Whether the first correction may be the last. Not with factors of an earlier step: what they leave hides in λ (net of
    /// 30 × 30, factors kept for ten steps: an error of 1.5e-5 instead of 1.3e-6).
    pub(super) first_may_do: bool,
    /// Where a matrix serves several corrections: what they have to come to.
    pub(super) exact: Option<f64>,
    /// Corrections of these sizes are round-off, and may stop shrinking.
    pub(super) round_off: f64,
    pub(super) stagnation: f64,
}

/// What becomes of an iteration.
pub(super) enum Judgement {
    Continue,
    Diverged,
    Converged {
        took: Converged,
        /// Whether the factors converge too slowly to be kept for the next step.
        worn: bool,
    },
}

impl Judgement {
    fn converged(took: Converged) -> Judgement {
        Judgement::Converged { took, worn: false }
    }
}

/// The corrections of the present solve, and what earlier ones tell.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Convergence {
    /// The last estimate of ρ/(1 − ρ).
    remaining: f64,
    /// The slope of the last solve.
    last_slope: f64,
    /// What is known of the contraction.
    measured: Option<Contraction>,
    /// The first correction that was not cut short, the number of those before it, and the last correction.
    first: f64,
    cut_short: usize,
    before: f64,
    /// What the last correction that seemed enough left of the rows of velocities.
    open: f64,
    /// Whether the factors contract well enough to serve the whole solve.
    serves: bool,
}

impl Convergence {
    /// A solve begins.
    pub(super) fn begin(&mut self, slope: f64, economy: Economy) {
        (self.first, self.cut_short, self.before, self.serves) = (0.0, 0, f64::INFINITY, true);
        self.open = f64::INFINITY;
        if economy != Economy::Dassl || slope != self.last_slope {
            self.remaining = UNKNOWN;
        }
        self.last_slope = slope;
    }

    /// There are new factors: no rate is known.
    pub(super) fn forget_rate(&mut self) {
        self.remaining = UNKNOWN;
    }

    /// The factors are given up, and what is known of them.
    pub(super) fn forget(&mut self) {
        self.measured = None;
    }

    /// Whether a contraction has been measured.
    pub(super) fn is_measured(&self) -> bool {
        self.measured.is_some()
    }

    /// The contraction measured last; 1 if there is none.
    pub(super) fn contraction(&self) -> f64 {
        self.measured.map_or(1.0, |m| m.contraction)
    }

    /// Whether the factors contract well enough to serve the whole solve.
    pub(super) fn serves(&self) -> bool {
        self.serves
    }

    /// The last correction.
    pub(super) fn last_size(&self) -> f64 {
        self.before
    }

    /// A correction was cut short: far away, what remains tells nothing about how the iteration contracts.
    pub(super) fn cut_short(&mut self, iteration: usize) {
        (self.cut_short, self.before) = (iteration + 1, f64::INFINITY);
    }

    /// Judges a solve by a correction of this size.
    pub(super) fn judge(&mut self, size: f64, iteration: usize, limits: Limits) -> Judgement {
        let iterations = iteration + 1;
        let contraction = size / self.before;
        self.before = size;
        if iteration == self.cut_short + 1 {
            self.measured = Some(Contraction { contraction, on: self.first, relied_on: 0 });
        }
        let is_first = iteration == self.cut_short;
        if let Some(exact) = limits.exact {
            return self.judge_exactly((size, contraction), is_first, iterations, (exact, limits.fresh));
        }
        if size <= limits.round_off && !(limits.kept && is_first) {
            return Judgement::converged(Converged { iterations, rate: 0.0, contraction });
        }
        let mut rate = 0.0;
        if is_first {
            self.first = size;
            if let Some(contraction) = self.first_does(size, limits) {
                return Judgement::converged(Converged { iterations, rate, contraction });
            }
        } else {
            self.serves = contraction < SERVES;
            rate = (size / self.first).powf(1.0 / (iteration - self.cut_short) as f64);
            if rate > SLOWEST {
                return match limits.fresh && size <= limits.stagnation {
                    true => Judgement::converged(Converged { iterations, rate, contraction }),
                    false => Judgement::Diverged,
                };
            }
            self.remaining = rate / (1.0 - rate);
        }
        if self.remaining * size <= if limits.kept { ENOUGH_KEPT } else { ENOUGH } {
            let worn = rate > AGING && limits.economy == Economy::Careful;
            return Judgement::Converged { took: Converged { iterations, rate, contraction }, worn };
        }
        Judgement::Continue
    }

    /// Whether the rows of velocities that a correction left open by so much, in units of rounding, are closed, or as far as a matrix
    /// made for it can close them. One of others is given up where it closes them no further.
    pub(super) fn closes(&mut self, open: f64, formed: bool) -> bool {
        let shrinks = open < SERVES * std::mem::replace(&mut self.open, open);
        self.serves &= shrinks;
        open <= 1.0 || formed && !shrinks
    }

    /// Judges a correction with a matrix of an earlier one: it is the last if what it leaves, contraction times its size, is rounding.
    fn judge_exactly(
        &mut self,
        (size, contraction): (f64, f64),
        is_first: bool,
        iterations: usize,
        (rounding, fresh): (f64, bool),
    ) -> Judgement {
        let converged = || Judgement::converged(Converged { iterations, rate: contraction.min(1.0), contraction });
        if is_first {
            self.first = size;
            return if size <= rounding { converged() } else { Judgement::Continue };
        }
        // at most two more corrections, or a new matrix
        self.serves = contraction.powi(3) * size <= rounding;
        match contraction {
            c if c * size <= rounding => converged(),
            c if c > SLOWEST && size <= STAGNANT * rounding => converged(),
            c if c > SLOWEST && !fresh => Judgement::Diverged,
            _ => Judgement::Continue,
        }
    }

    /// The contraction by which a first correction of this size is good enough, if one is known.
    fn first_does(&mut self, size: f64, limits: Limits) -> Option<f64> {
        let m = self.measured.as_mut().filter(|_| limits.first_may_do)?;
        let does = m.relied_on < RELIED_ON && size <= ALIKE * m.on && m.contraction * size <= MARGIN * ENOUGH;
        does.then(|| {
            m.relied_on += 1;
            m.contraction
        })
    }
}
