//! The weights of the convergence test and of the error test, and the body to blame for a refused step.

use crate::methods::Method;
use crate::step::{Step, StepLimits};
use crate::tolerances::Tolerances;
use crate::weights::Weights;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Point, State, Unknown};

/// Rounding of multipliers, in units of that of the differences they are made from: of positions or velocities once, and of
/// positions twice. (Seven-body mechanism, preset `ggl` at 1e-8, first step of 7e-12 s: λ is known to 3e-7 N.)
const NOISE: [f64; 2] = [1e3, 1e8];

/// Velocities that are differences of positions are known to this many roundings of these.
const BLUR: f64 = 10.0;

/// Multipliers that are tested are tested as well as rounding lets them be known: μ is made of differences of positions over
/// h, and λ of differences of velocities.
fn blur(state: &State, step: &mut Step) {
    let (weights, slopes, point) = (&mut step.weights, step.stencil.slopes, &step.point);
    if weights.lambda.iter().all(|w| *w == 0.0) {
        return;
    }
    let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let [once, twice] = NOISE.map(|noise| noise * f64::EPSILON);
    let drop = slopes.q.abs() * largest(&state.q);
    let jolt = slopes.v.abs() * (once * largest(&state.v) + twice * f64::EPSILON * drop);
    let lambda = jolt * largest(&point.lambda) / largest(&point.vdot).max(f64::MIN_POSITIVE);
    for (weights, noise) in [(&mut weights.lambda, lambda), (&mut weights.mu, once * drop)] {
        weights.iter_mut().for_each(|w| *w = 1.0 / (1.0 / *w + noise));
    }
}

/// On index 3 velocities are differences of positions over h: they are tested as well as rounding lets them be known.
pub(super) fn blur_velocities(tolerances: &Tolerances, state: &State, step: &mut Step) {
    let (rounding, slope) = (tolerances.rounding(state), BLUR * step.stencil.slopes.q.abs());
    for (i, w) in step.weights.v.iter_mut().enumerate() {
        *w = w.min(1.0 / (slope * rounding(i)));
    }
}

/// Both tests, at the last accepted state.
pub(super) struct ErrorTest {
    /// Weights of the convergence test.
    pub(super) convergence: Weights,
    /// Weights of the error test, which may leave dependent coordinates out.
    pub(super) error: Weights,
    /// The prediction of a refused step, and the weighted difference from it.
    predicted: Point,
    difference: Vec<f64>,
}

impl ErrorTest {
    /// The tests at a start. Refusals of fixed steps are rare: these make room when one happens.
    pub(super) fn new(tolerances: &mut Tolerances, state: &State, start: &Point, fixed: bool) -> ErrorTest {
        let mut test = ErrorTest {
            convergence: Weights::default(),
            error: Weights::default(),
            predicted: if fixed { Point::default() } else { start.clone() },
            difference: Vec::new(),
        };
        test.weigh(tolerances, state, start);
        test
    }

    /// Tells a tape the weights.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.convergence);
        tape.plain(&mut self.error);
    }

    /// The weights at an accepted state.
    pub(super) fn weigh(&mut self, tolerances: &mut Tolerances, state: &State, point: &Point) {
        tolerances.see(&state.v);
        tolerances.weigh(state, point, &mut self.convergence);
        tolerances.restrict(&self.convergence, &mut self.error);
    }

    /// Weights and limits of Newton's iteration where the error is controlled.
    pub(super) fn limit(&self, precision: f64, state: &State, step: &mut Step, as_dassl: bool) {
        step.weights.clone_from(&self.convergence);
        step.weights.scale(1.0 / precision);
        if !as_dassl {
            blur(state, step);
        }
        // DASSL: 100 ε ‖y‖
        let size = step.weights.norm(&state.q, &state.v, &state.z);
        step.limits = StepLimits {
            round_off: 100.0 * f64::EPSILON * size,
            rounding: f64::EPSILON * size,
            ..StepLimits::default()
        };
    }

    /// The block of unknowns that differs most from the prediction.
    pub(super) fn blame(&mut self, method: &dyn Method, step: &Step) -> (Unknown, usize) {
        let trial = &step.point;
        self.predicted.clone_from(trial);
        method.predict(&mut self.predicted);
        let dx = &mut self.difference;
        dx.clear();
        dx.resize(step.pattern().dimension(), 0.0);
        for (unknown, a, b, w) in [
            (Unknown::Q, &trial.q, &self.predicted.q, &self.error.q),
            (Unknown::V, &trial.v, &self.predicted.v, &self.error.v),
        ] {
            for (k, i) in step.unknowns.range(unknown).enumerate() {
                dx[i] = (a[k] - b[k]) * w[k];
            }
        }
        step.worst(dx)
    }
}
