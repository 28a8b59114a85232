//! The error of a step of generalized-α, and the size of the next.

use super::super::bdf::share;
use super::GeneralizedAlpha;
use crate::weights::{Weights, root_mean_square};
use bellcrank_model::Point;

/// Steps aim at this fraction of the acceptable error.
pub(super) const SAFETY: f64 = 0.85;

/// The exponents of the PI controller, in units of 1/(order + 1) [Hairer & Wanner 1996, IV.2].
const PROPORTIONAL: f64 = 0.7;
const INTEGRAL: f64 = 0.4;

/// No step is longer than this many times the one before: the pseudo-acceleration is carried over to first
/// order, and on index 3 what is lost there shows in the reactions.
const GROWTH: f64 = 1.8;

/// A step that could grow by less is kept, and the matrix with it.
const WORTH_IT: f64 = 1.15;

/// The errors of all steps of a run may add up to this many tolerances, before anything is known of how they grow.
const SHARED: f64 = 30.0;

/// The estimate of the error.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct AlphaEstimate {
    /// The change of the pseudo-rate of z in the last step, and the mean of v̇ over it.
    pub(super) bend: Vec<f64>,
    pub(super) mean: Vec<f64>,
    /// The positions before the last two steps, and the size of the first of these.
    pub(super) older: Vec<f64>,
    pub(super) h_older: f64,
    /// Estimated errors of q (or v) and z.
    pub(super) error_q: Vec<f64>,
    pub(super) error_z: Vec<f64>,
    /// Their norm, and that of the last step.
    pub(super) error: f64,
    pub(super) error_before: f64,
    /// How much of it is rounding.
    pub(super) blur: f64,
}

impl GeneralizedAlpha {
    /// How many times its share of the tolerance the prepared step would have with an error of one tolerance.
    pub(super) fn strictness(&self) -> f64 {
        let strictness =
            |horizon| 1.0 / share(self.pace.h_next, horizon, SHARED, (self.kind.leeway, self.kind.least_share));
        self.kind.horizon.map_or(self.kind.strict, strictness)
    }

    /// What one step adds to the error: |c| h² ‖a_{n+1} − a_n‖ in the positions, |γ − ½| h ‖a_{n+1} − a_n‖ in
    /// the velocities where the method is of first order. There the change is that of second differences of the positions,
    /// which lie on the constraints: on index 3 velocities are open by a multiple of h, so that accelerations jump with
    /// every change of the step, the more the smaller it gets. First-order states have no position: the second
    /// difference of their pseudo-rates stands for the third derivative.
    pub(super) fn estimate(&mut self, p: &Point, weights: &Weights) -> f64 {
        let (h, second) = (self.pace.h_next, self.kind.parameters.order() == 2);
        let lag = self.kind.parameters.lag();
        let factor = if second { self.kind.parameters.error_constant().abs() * h } else { lag } * h;
        let (now, a, c, next) = (&self.now, &self.a, self.coefficients(), &self.next);
        let apart = 2.0 / (h + self.pace.h_last);
        let [h_last, h_older] = [self.pace.h_last, self.estimate.h_older];
        let (before, older) = (&self.before.q, &self.estimate.older);
        // second differences stand for q̈ at the mean of their three times
        let bend = |i: usize| {
            let slope = (p.q[i] - now.q[i]) / h;
            let slope_last = (now.q[i] - before[i]) / h_last;
            let (change, apart) = match self.pace.past {
                0 => (2.0 * (slope - now.v[i]) / h - now.vdot[i], h),
                1 => (2.0 * (slope - slope_last) / (h + h_last) - self.before.vdot[i], h + 2.0 * h_last),
                _ => {
                    let slope_older = (before[i] - older[i]) / h_older;
                    let bend_last = (slope_last - slope_older) / (h_last + h_older);
                    (2.0 * ((slope - slope_last) / (h + h_last) - bend_last), h + h_last + h_older)
                }
            };
            change * 3.0 * h / apart
        };
        for (i, e) in self.estimate.error_q.iter_mut().enumerate() {
            *e = factor
                * match (self.kind.additive, self.pace.past) {
                    (false, _) if !second => bend(i),
                    (false, _) => next.v[i] - c.moved(a.v[i], now.vdot[i]),
                    (true, 0) => 0.0,
                    (true, _) => (p.v[i] - now.v[i] - h * self.estimate.mean[i]) * apart,
                };
        }
        let ratio = if self.pace.past < 2 { 0.0 } else { h / self.pace.h_last };
        for (i, e) in self.estimate.error_z.iter_mut().enumerate() {
            let change = next.z[i] - c.moved(a.z[i], now.zdot[i]);
            *e = if second { (change - ratio * self.estimate.bend[i]) * h / 12.0 } else { lag * h * change };
        }
        let of = if second { &weights.q } else { &weights.v };
        root_mean_square(&[(of, &self.estimate.error_q), (&weights.z, &self.estimate.error_z)])
    }

    /// The error grows like h^{order + 1}.
    pub(super) fn exponent(&self) -> f64 {
        let order = self.kind.parameters.order();
        1.0 / (if self.kind.horizon.is_some() { order } else { order + 1 }) as f64
    }

    /// The step after an accepted one.
    pub(super) fn choose(&mut self) {
        let k = self.exponent();
        // what is rounding does not shrink with the step
        let error = (self.estimate.error - self.estimate.blur).max(1e-6);
        let before = if self.pace.past < 2 { error } else { self.estimate.error_before.max(1e-6) };
        let factor = SAFETY * error.powf(-PROPORTIONAL * k) * before.powf(INTEGRAL * k);
        let most = if self.pace.failures > 0 { 1.0 } else { GROWTH };
        let wish = match factor.clamp(0.3, most) {
            f if (1.0..WORTH_IT).contains(&f) => self.pace.h_next,
            f => self.pace.h_next * f,
        };
        // a step that was cut short to land somewhere says nothing against the one that was wanted
        let cut = self.pace.h_next < 0.999 * self.pace.h;
        self.pace.h = if cut { self.pace.h.max(wish) } else { wish };
        self.estimate.error_before = error;
    }
}
