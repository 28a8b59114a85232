//! Methods: how rates are discretized. A method knows no body and no formulation.

pub mod alpha;
pub mod bdf;
pub(crate) mod clock;
#[cfg(test)]
mod harness;
pub(crate) mod recent;
pub mod runge_kutta;
pub mod tableau;

use crate::stencil::Stencil;
use crate::weights::Weights;
use bellcrank_math::tape::Tape;
use bellcrank_model::dynamics::ChartChange;
use bellcrank_model::{Point, State};

/// Why a step is rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rejection {
    /// The estimated error (1 is just acceptable).
    Error(f64),
    /// Newton's iteration did not converge with a fresh matrix, or the matrix was singular.
    Convergence,
}

/// The step size fell below what the clock can resolve, or too many attempts failed in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCollapse;

/// An implicit method: an affine law for the rates, with the history it needs.
///
/// A step is `limit?`, `prepare`, solve (from `predict` again, if need be), `error`, then `accept` or `reject`.
pub trait Method: Send {
    /// Forgets all history and starts from a consistent point (with its rates) with step size `h`.
    fn start(&mut self, at: &Point, h: f64);

    /// The step must not pass this time.
    fn limit(&mut self, t_stop: f64);

    /// Finds the law of the step from t_n to t_n + h, and a guess for its end, that of [`Method::predict`]: with the rates of
    /// the law, where velocities follow by it.
    fn prepare(&mut self, law: &mut Stencil, guess: &mut Point);

    /// A guess for q, v, z (and λ, μ where the method can) at the new time; the rates are those of the law.
    fn predict(&self, guess: &mut Point);

    /// A guess that trusts positions and velocities alone, for a start, an event, or where the better one failed.
    fn predict_positions(&self, guess: &mut Point) {
        self.predict(guess);
    }

    /// Whether the prepared step is the first one after a start that could be rough.
    fn is_first(&self) -> bool {
        false
    }

    /// Whether the solved first step shows that something fast dies out within it; `unit` weighs lengths and angles.
    fn is_rough(&mut self, p: &Point, unit: &Weights) -> bool {
        let _ = (p, unit);
        false
    }

    /// Takes the next steps without regard to the accelerations of the start; false if the method
    /// cannot, or does already.
    fn soften(&mut self) -> bool {
        false
    }

    /// Local errors may be this many times as large from now on, where they share those of a run.
    fn set_leeway(&mut self, leeway: f64) {
        let _ = leeway;
    }

    /// Whether weights of errors matter to it.
    fn tests_error(&self) -> bool {
        true
    }

    /// The estimated local error of the solved step in the weighted norm; up to 1 is acceptable.
    /// Zero for a method with fixed steps.
    fn error(&mut self, p: &Point, weights: &Weights) -> f64;

    /// Errors up to this many tolerances are rounding, which shorter steps would not lessen.
    fn blur(&mut self, admitted: f64) {
        let _ = admitted;
    }

    /// By how many roundings of the positions its estimate errs, as velocities: those that are made of differences of positions.
    fn noise(&self) -> f64 {
        0.0
    }

    /// The first step from a point, at most as long as a thousandth of `span`.
    fn first_step(&self, at: &Point, weights: &Weights, span: f64) -> f64 {
        bdf::first_step(at, weights, span)
    }

    /// Takes the point into the history and what moved into the state, and chooses order and step size of what follows.
    fn accept(&mut self, p: &Point, weights: &Weights, state: &mut State);

    /// Gives the step up and prepares a smaller one.
    fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse>;

    /// The state inside the last accepted step. The charts are those of the history.
    fn interpolate(&self, t: f64, out: &mut State);

    /// Carries the history over to new rotation charts.
    fn recentre(&mut self, change: &ChartChange);

    /// The step size that will be tried next.
    fn step_size(&self) -> f64;

    /// The order in use.
    fn order(&self) -> usize;

    /// Whether rotation charts must be centred at the last step.
    fn centred(&self) -> bool {
        false
    }

    /// Tells a tape its history.
    fn keep(&mut self, tape: &mut Tape);

    /// Corrections of Newton's iteration that stop shrinking do no harm up to this size, in units of its precision.
    fn stagnation(&self) -> f64 {
        0.0
    }

    /// The part of the tolerance to which Newton must solve a step for the error estimate to be of use.
    fn precision(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::alpha::GeneralizedAlpha;
    use super::bdf::Bdf;
    use super::harness::Ode;
    use super::*;

    #[test]
    fn prepared_guesses_have_the_rates_of_the_law_where_velocities_follow() {
        let driven = |t: f64, y: &[f64], rates: &mut [f64]| {
            (rates[0], rates[1], rates[2]) = (y[1], t.sin() - 4.0 * y[0], y[0] - y[2]);
        };
        let ode = Ode { n: 1, nz: 1, rates: &driven };
        let methods: [Box<dyn Method>; 2] = [Box::new(GeneralizedAlpha::from_rho(0.8)), Box::new(Bdf::default())];
        for mut method in methods {
            let mut p = ode.point(0.0, &[1.0, -0.5, 0.2]);
            method.start(&p, 1e-3);
            for _ in 0..3 {
                let (mut law, mut guess) = (Stencil::default(), p.clone());
                method.prepare(&mut law, &mut guess);
                law.rates_and_velocities(&mut guess);
                let (mut following, mut whole) = (Stencil { velocities_follow: true, ..Stencil::default() }, p.clone());
                method.prepare(&mut following, &mut whole);
                assert_eq!(whole, guess);
                assert_eq!(whole.v[0], law.slopes.q * whole.q[0] + law.eta_q[0]);
                assert!(ode.solve(&*method, &law, &mut p).is_some());
                let mut state = State::default();
                method.accept(&p, &Weights::default(), &mut state);
                assert_eq!((state.t, &state.q, &state.v, &state.z), (p.t, &p.q, &p.v, &p.z));
            }
        }
    }
}
