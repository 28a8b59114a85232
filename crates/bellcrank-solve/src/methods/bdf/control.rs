//! DASSL's control of order and step size, with what we changed of it.

use super::{Bdf, BdfCoefficients, SHARED, add, share};
use crate::weights::Weights;

/// After the first step the order is not lowered below this, but after repeated failures: where steps are tiny, rounding in the
/// estimates would lower it (fifty bounces of a ball: off by 1e-7 s, and 1e-11 s without). At order one every
/// change of the step size kicks stiff springs: backward Euler's velocity is off by a multiple of h that
/// depends on h, and smaller steps do not help (stiff bushing, k = 1e8, rtol 1e-4: 11785 steps with 11124
/// failures, and 3477 with 139).
const LOWEST_ORDER: usize = 2;

/// How much of the mean error is remembered from one step to the next.
const MEMORY: f64 = 0.8;

/// Errors that alternate count at least as this part of themselves.
const ALTERNATING: f64 = 0.25;

/// For this many steps after a failed error test no step comes closer to the size that failed than a part of it: errors that
/// rise and fall with an oscillation would lure it there again and again (stiff bushing, order 2, rtol 1e-6: 11 % refused).
pub(super) const STEPS_KEPT_AWAY: u32 = 40;
const NEAR: f64 = 0.85;

/// With averaged errors, which do not jump, a step may grow when it can by this factor. DASSL waits for two.
const WORTHWHILE: f64 = 1.2;

/// The terms of the Taylor series, each scaled like h^{i} y^{(i)}, and what they advise.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct BdfEstimate {
    /// h^{k+1} y^{(k+1)}.
    pub(super) term: f64,
    /// h^k y^{(k)}.
    pub(super) term_below: f64,
    /// The local error at order k − 1.
    pub(super) error_below: f64,
    /// The order that should be used, k or k − 1, and the local error at that order.
    pub(super) order: usize,
    pub(super) error: f64,
    /// The part of all these that counts.
    pub(super) part: f64,
}

impl Bdf {
    /// The part of y − y⁰ that counts: all of it, or what the last steps have in common. The local errors of a
    /// motion add up over the steps; those of an oscillation follow each other with changing signs, and
    /// their sum stays small.
    fn lasting_part(&mut self, weights: &Weights, norm: f64) -> f64 {
        if !self.options.averaged {
            return 1.0;
        }
        let (old, new) = match self.next.k == self.last.k {
            true => (MEMORY * (self.next.h / self.last.h).powi(self.next.k as i32 + 1), 1.0 - MEMORY),
            false => (0.0, 1.0),
        };
        for ((next, mean), e) in self.work.next_mean.iter_mut().zip(&self.work.mean).zip(&self.work.correction) {
            *next = old * mean + new * e;
        }
        let part = self.norm(weights, &self.work.next_mean) / norm;
        if part.is_finite() { part.max(ALTERNATING) } else { 1.0 }
    }

    /// How many times its share of the errors of the run a step of size h would have with an error of one tolerance.
    pub(super) fn strictness(&self) -> f64 {
        let strictness = |horizon| 1.0 / share(self.next.h, horizon, SHARED, (self.leeway, self.options.least_share));
        self.options.horizon.map_or(1.0, strictness)
    }

    /// The factor by which the step could grow at order k; a share shrinks with its step.
    pub(super) fn growth(&self, error: f64, k: usize) -> f64 {
        match self.strictness() {
            1.0 => factor(error, k),
            strictness => (2.0 * strictness * error + 1e-4).powf(-1.0 / k as f64),
        }
    }

    /// The lowest order that the estimates may advise.
    fn lowest_order(&self) -> usize {
        if self.options.as_dassl || self.pace.error_failures > 1 { 1 } else { LOWEST_ORDER }
    }

    /// The errors of orders k, k − 1 and k − 2 decide whether the order should fall.
    pub(super) fn estimate(&mut self, weights: &Weights) -> (BdfEstimate, f64) {
        let BdfCoefficients { beta, sigma, error, .. } = self.coefficients;
        let (k, size) = (self.next.k, self.size());
        let norm = self.norm(weights, &self.work.correction);
        let part = self.lasting_part(weights, norm);
        let at_order = sigma[k] * norm;
        let term = (k + 1) as f64 * at_order;
        let mut e =
            BdfEstimate { term, term_below: f64::INFINITY, error_below: at_order, order: k, error: at_order, part };
        if k > 1 {
            let mut scratch = std::mem::take(&mut self.work.scratch);
            scratch.copy_from_slice(&self.work.correction);
            add(beta[k], &self.phi[k * size..][..size], &mut scratch);
            e.error_below = sigma[k - 1] * self.norm(weights, &scratch);
            e.term_below = k as f64 * e.error_below;
            let lower = if k == 2 {
                e.term_below <= 0.5 * term
            } else {
                add(beta[k - 1], &self.phi[(k - 1) * size..][..size], &mut scratch);
                let term_two_below = (k - 1) as f64 * sigma[k - 2] * self.norm(weights, &scratch);
                e.term_below.max(term_two_below) <= term
            };
            if lower && k > self.lowest_order() {
                e.order = k - 1;
                e.error = e.error_below;
            }
            self.work.scratch = scratch;
        }
        (e, error * norm * part * self.strictness())
    }

    /// Order and step size after an accepted step.
    pub(super) fn choose(&mut self, e: BdfEstimate, raised: bool, weights: &Weights) {
        let k = self.next.k;
        let lower = e.order < k;
        self.pace.opening &= !lower && k < self.options.max_order;
        if self.pace.opening {
            self.next.k = k + 1;
            self.next.h *= 2.0;
            return;
        }
        let mut error = e.error;
        if lower {
            self.next.k = k - 1;
        } else if k < self.options.max_order && self.coefficients.equal_steps > k + 1 && !raised {
            let size = self.size();
            self.work.scratch.copy_from_slice(&self.work.correction);
            add(-1.0, &self.phi[(k + 1) * size..][..size], &mut self.work.scratch);
            let term_above = self.norm(weights, &self.work.scratch); // (k + 2) times the error above
            if k > self.lowest_order() && e.term_below <= e.term.min(term_above) {
                self.next.k = k - 1;
                error = e.error_below;
            } else if term_above < if k > 1 { e.term } else { 0.5 * e.term } {
                self.next.k = k + 1;
                error = term_above / (k + 2) as f64;
            }
        }
        let r = self.growth(error * e.part / self.pace.blur.max(1.0), self.next.k);
        let settled = self.coefficients.equal_steps > k + 1;
        self.pace.careful &= !settled;
        let worthwhile = if self.options.averaged && self.coefficients.equal_steps > k { WORTHWHILE } else { 2.0 };
        self.pace.patience = self.pace.patience.saturating_sub(1);
        let room = if self.pace.patience > 0 { NEAR * self.pace.refused / self.next.h } else { f64::INFINITY };
        if r >= worthwhile && !self.pace.careful {
            let growth = r.min(2.0).min(room);
            if growth >= WORTHWHILE {
                self.next.h *= growth;
            }
        } else if r <= 1.0 {
            self.next.h *= r.clamp(0.5, 0.9);
        }
    }
}

/// The factor by which a step of order k could grow, (2·error + 10⁻⁴)^{−1/(k+1)}.
fn factor(error: f64, k: usize) -> f64 {
    (2.0 * error + 1e-4).powf(-1.0 / (k + 1) as f64)
}
