//! Newton's tolerance in steps of a fixed size: that of the arithmetic.

use crate::newton::Iteration;
use crate::step::{Step, StepLimits};
use crate::tolerances::Tolerances;
use crate::weights::Weights;
use bellcrank_math::threads::team;
use bellcrank_model::State;

/// Newton's tolerance, in lengths of the model: the last correction of a full Newton squares what is left, …
const PRECISION: f64 = 1e-10;
/// … that of a kept matrix only shrinks it.
const PRECISION_KEPT: f64 = 1e-12;

/// What rounding leaves of coordinates, relative to the largest, bounds that tolerance from below. A thousand units of
/// rounding leave room for coordinates that grow until the largest is looked for again.
const ROUNDING: f64 = 1e3 * f64::EPSILON;
/// Steps between two searches for the largest coordinate.
const SEARCH: usize = 10;

/// No correction moves anything by more lengths of the model, or radians.
const REACH: f64 = 0.7;

/// Near singular positions rounding is amplified: a correction below this that stops shrinking is
/// accepted. 40 windows in a row, all bars on a line but for 1e-3 rad, end at 2e-10.
const STAGNATION: f64 = 1e-8;

/// Rounding of the rates of constraints, in units of that of the largest velocity.
const RATES: f64 = 2.0;

/// Corrections below this fraction of the tolerance are round-off.
const ROUND_OFF: f64 = 0.01;

/// The tolerance of fixed steps, and what it was last found for.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct FixedSteps {
    /// The step size.
    pub(super) h: f64,
    precision: f64,
    /// The largest coordinate, as long as it need not be looked for.
    largest: Option<f64>,
    /// The step size and the precision that the present weights are for.
    weighed: Weighed,
    /// The weights of a length or a radian.
    unit: Weights,
}

#[derive(Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Weighed {
    h: f64,
    precision: f64,
}

impl FixedSteps {
    /// For steps of this size.
    pub(super) fn new(h: f64) -> FixedSteps {
        FixedSteps { h, ..FixedSteps::default() }
    }

    /// Weights and limits of Newton's iteration for a step of size h from a state.
    pub(super) fn limit(
        &mut self,
        (h, length): (f64, f64),
        iteration: Iteration,
        tolerances: &Tolerances,
        state: &State,
        step: &mut Step,
    ) {
        let largest = *self.largest.get_or_insert_with(|| team::largest(&state.q));
        let precision = if iteration == Iteration::Full { PRECISION } else { PRECISION_KEPT };
        self.precision = precision.max(ROUNDING * largest / length);
        let now = Weighed { h, precision: self.precision };
        if self.weighed != now || !tolerances.absolute() {
            tolerances.weigh_fixed(state, h, self.precision, &mut step.weights);
            self.weighed = now;
        }
        let (reach, stagnation) = (REACH / self.precision, STAGNATION / self.precision);
        let exact = f64::EPSILON * (largest / length).max(0.5) / self.precision;
        let rates = RATES * f64::EPSILON * length * self.precision / h;
        step.limits = StepLimits { round_off: ROUND_OFF, exact, rates, reach, stagnation, rounding: 0.0 };
    }

    /// The weights of a length or a radian, from those of the tolerance.
    pub(super) fn unit(&mut self, weights: &Weights) -> &Weights {
        self.unit.clone_from(weights);
        self.unit.scale(self.precision);
        &self.unit
    }

    /// A step was refused, or there is a new start.
    pub(super) fn forget(&mut self) {
        self.largest = None;
    }

    /// This many steps have been taken.
    pub(super) fn accepted(&mut self, steps: usize) {
        self.largest.take_if(|_| steps.is_multiple_of(SEARCH));
    }
}
