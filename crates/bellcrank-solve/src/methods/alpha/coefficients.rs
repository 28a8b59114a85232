//! The coefficients of one step of generalized-α: what makes of a coordinate's past its law and its prediction.

use super::parameters::AlphaParameters;
use bellcrank_model::Slopes;

/// What is known of a coordinate before a step: a_n, q, v and the last two v̇.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) a: f64,
    pub(super) q: f64,
    pub(super) v: f64,
    pub(super) rate: f64,
    pub(super) rate_before: f64,
}

/// All coefficients of a step. A copy of its own in each loop lets the compiler vectorize.
#[derive(Clone, Copy)]
pub(super) struct AlphaCoefficients {
    h: f64,
    /// The size of the step over that of the last one.
    ratio: f64,
    /// a_n for this step size, by a_n and by v̇_n.
    moved: [f64; 2],
    /// a_{n+1}, by v̇_{n+1}, v̇_n and a_n.
    next: [f64; 3],
    /// α of q, v and z.
    pub(super) slopes: Slopes,
    /// η of v (or z), by a_n and v̇_n.
    eta: [f64; 2],
    /// η of q, by a_n and v_n.
    eta_q: [f64; 2],
    /// β and γ of the prediction.
    beta: f64,
    gamma: f64,
}

impl AlphaCoefficients {
    /// For a step with `active` parameters, predicted with `usual` ones. A soft step knows nothing of a_n.
    pub(super) fn new(
        active: AlphaParameters,
        usual: AlphaParameters,
        h: f64,
        ratio: f64,
        soft: bool,
    ) -> AlphaCoefficients {
        let AlphaParameters { alpha_m, alpha_f, beta, gamma } = active;
        let slope = (1.0 - alpha_m) / ((1.0 - alpha_f) * gamma * h);
        let slopes = Slopes { q: gamma / (beta * h), v: slope, z: slope };
        AlphaCoefficients {
            h,
            ratio,
            moved: if soft { [0.0, 0.0] } else { [ratio, 1.0 - ratio] },
            next: [1.0 - alpha_f, alpha_f, -alpha_m].map(|c| c / (1.0 - alpha_m)),
            slopes,
            eta: [alpha_m / (1.0 - alpha_f) - slope * h * (1.0 - gamma), alpha_f / (1.0 - alpha_f)],
            eta_q: [h * (1.0 - gamma) - slopes.q * h * h * (0.5 - beta), 1.0 - slopes.q * h],
            beta: usual.beta,
            gamma: usual.gamma,
        }
    }

    /// a_n for the size of this step, from that of the last one and the rate.
    #[inline(always)]
    pub(super) fn moved(&self, a: f64, rate: f64) -> f64 {
        self.moved[0] * a + self.moved[1] * rate
    }

    /// a_{n+1} from a_n and the rates at both ends.
    #[inline(always)]
    pub(super) fn next(&self, a: f64, [before, rate]: [f64; 2]) -> f64 {
        self.next[0] * rate + self.next[1] * before + self.next[2] * self.moved(a, before)
    }

    /// η of v, or of z, from its value, its rate and its pseudo-rate.
    #[inline(always)]
    pub(super) fn first_order(&self, x: f64, rate: f64, a: f64) -> f64 {
        self.eta[0] * a - self.eta[1] * rate - self.slopes.v * x
    }

    /// η of a coordinate and of its velocity.
    #[inline(always)]
    pub(super) fn law(&self, Known { a, q, v, rate, .. }: Known) -> (f64, f64) {
        let a = self.moved(a, rate);
        (self.eta_q[0] * a + self.eta_q[1] * v - self.slopes.q * q, self.first_order(v, rate, a))
    }

    /// a_n, and the change to the a_{n+1} that belongs to an extrapolated rate.
    #[inline(always)]
    fn extrapolated(&self, a: f64, rate: f64, rate_before: f64) -> (f64, f64) {
        let (rate_next, moved) = (rate + self.ratio * (rate - rate_before), self.moved(a, rate));
        (moved, self.next(a, [rate, rate_next]) - moved)
    }

    /// A coordinate and its velocity at the end of the step, with an extrapolated acceleration or with the last velocity.
    #[inline(always)]
    pub(super) fn guess(&self, extrapolates: bool, known: Known) -> (f64, f64) {
        let Known { a, q, v, rate, rate_before } = known;
        let c = if extrapolates { self.h } else { 0.0 };
        let (a, change) = self.extrapolated(a, rate, rate_before);
        (q + self.h * (v + c * (0.5 * a + self.beta * change)), v + c * (a + self.gamma * change))
    }

    /// A first-order state at the end of the step, with an extrapolated rate.
    #[inline(always)]
    pub(super) fn guess_state(&self, z: f64, a: f64, rate: f64, rate_before: f64) -> f64 {
        let (a, change) = self.extrapolated(a, rate, rate_before);
        z + self.h * (a + self.gamma * change)
    }
}
