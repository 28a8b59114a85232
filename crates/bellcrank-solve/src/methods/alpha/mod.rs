//! Newmark's method, HHT and generalized-α on Lie groups, with fixed steps or error control.
//!
//! The equations are balanced at t_{n+1}; velocities and positions follow a pseudo-acceleration a
//! [Arnold & Brüls 2007, eqs. 4–5], positions in the charts that are centred at the last step
//! [Brüls, Cardona & Arnold 2012]:
//!
//! ```text
//!     (1 − α_m) a_{n+1} + α_m a_n = (1 − α_f) v̇_{n+1} + α_f v̇_n
//!     v_{n+1} = v_n + h(1 − γ) a_n + hγ a_{n+1}                               (z likewise)
//!     q_{n+1} = q_n + h v_n + h²(½ − β) a_n + h²β b,   q̇_{n+1} = v_n + h(1 − γ) a_n + hγ b
//! ```
//!
//! so that v̇_{n+1} is affine in v_{n+1} and q̇_{n+1} in q_{n+1}. Where q̇ = v, b = a_{n+1} and this is the
//! textbook's method; in a stabilized formulation b − a_{n+1} is the correction that holds the positions,
//! and belongs to this step alone.
//!
//! a_n stands for v̇ at t_n + (α_m − α_f) h: when h changes it is moved along, a_n ← v̇_n + (h'/h)(a_n − v̇_n).

mod coefficients;
mod history;
mod parameters;

pub use parameters::AlphaParameters;

use super::clock::{Clock, ROUNDING, STRETCH};
use super::recent::Recent;
use super::{Method, Rejection, StepCollapse};
use crate::stencil::Stencil;
use crate::weights::{Weights, root_mean_square};
use bellcrank_math::Vec3;
use bellcrank_math::rotation::inverse_tangent;
use bellcrank_math::threads::team;
use bellcrank_model::dynamics::ChartChange;
use bellcrank_model::{Point, State};
use coefficients::{Coefficients, Known};
use history::{Node, Pseudo};
use std::ops::Range;

/// Steps aim at this fraction of the acceptable error.
const SAFETY: f64 = 0.85;

/// The exponents of the PI controller, in units of 1/(order + 1) [Hairer & Wanner 1996, IV.2].
const PROPORTIONAL: f64 = 0.7;
const INTEGRAL: f64 = 0.4;

/// No step is longer than this many times the one before: the pseudo-acceleration is carried over to first
/// order, and on index 3 what is lost there shows in the reactions.
const GROWTH: f64 = 1.8;

/// A step that could grow by less is kept, and the matrix with it.
const WORTH_IT: f64 = 1.15;

/// The estimate of the additive formulation falls by no more than this from step to step. It is made of the mean motion,
/// in which stiff modes have no part, and passes through zero where the motion's third derivative does: within 25 steps of
/// a flexible slider-crank h grew by 3.3 there, and the error at rtol 1e-7 was no smaller than at 1e-6.
const FADING: f64 = 0.93;

/// A start is rough if the acceleration of the first step, times h², differs by this many lengths (or radians) from
/// what it was at the start: something fast dies out within the step.
const ROUGH: f64 = 0.02;

/// Backward Euler takes this many steps from such a start.
const SOFT_STEPS: usize = 2;

/// Multipliers are extrapolated from this many points.
const POINTS: usize = 2;

/// Failures in a row after which a step is given up.
const FAILURES: u32 = 25;

/// The generalized-α method. Its fields are what a checkpoint keeps of it, in this order.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GeneralizedAlpha {
    parameters: AlphaParameters,
    controlled: bool,
    /// Reactions are no part of the accelerations, but of the means over a step.
    additive: bool,
    /// Steps of backward Euler to come.
    soft: usize,
    /// The factor by which errors are taken larger.
    strict: f64,
    clock: Option<Clock>,
    /// The step that is wanted, the one that is prepared with the time it leads to, and the last accepted one.
    h: f64,
    h_next: f64,
    t_next: f64,
    h_last: f64,
    /// After a start there is nothing to extrapolate from.
    past: usize,
    now: Node,
    before: Node,
    /// Pseudo-rates of v and z, after the last step and at the end of the one that is prepared.
    a: Pseudo,
    next: Pseudo,
    /// The change of the pseudo-rate of z in the last step, and the mean of v̇ over it.
    bend: Vec<f64>,
    mean: Vec<f64>,
    /// Estimated errors.
    error_q: Vec<f64>,
    error_z: Vec<f64>,
    error: f64,
    error_before: f64,
    failures: u32,
    lambda: Recent,
    mu: Recent,
}

impl GeneralizedAlpha {
    /// A method of fixed steps without history; [`Method::start`] sizes it.
    pub fn new(parameters: AlphaParameters) -> GeneralizedAlpha {
        GeneralizedAlpha { parameters, ..GeneralizedAlpha::default() }
    }

    /// The same with steps that follow the estimated error.
    ///
    /// Local errors add up over 1/h steps: what is achieved would fall like rtol^⅔ with a method of second order and like √rtol
    /// with one of first. They are weighed by (10⁻²/rtol)^⅓, so that it falls like rtol^{8/9} and rtol^⅔.
    pub fn controlled(parameters: AlphaParameters, rtol: f64) -> GeneralizedAlpha {
        let strict = (1e-2 / rtol).max(1.0).cbrt();
        GeneralizedAlpha { parameters, controlled: true, strict, ..GeneralizedAlpha::default() }
    }

    /// For the additive formulation, whose accelerations are those without reactions.
    pub fn additive(self) -> GeneralizedAlpha {
        GeneralizedAlpha { additive: true, ..self }
    }

    /// Whether its memory is of the sizes of a point, or empty because no step was taken.
    pub fn fits(&self, p: &Point) -> bool {
        let (n, nz) = (p.v.len(), p.z.len());
        let of_v = [&self.a.v, &self.next.v, &self.mean, &self.error_q];
        let of_z = [&self.a.z, &self.next.z, &self.bend, &self.error_z];
        let sized = |x: &[f64], n: usize| x.is_empty() || x.len() == n;
        of_v.iter().all(|x| sized(x, n))
            && of_z.iter().all(|x| sized(x, nz))
            && [&self.now, &self.before].iter().all(|node| node.fits(n, nz))
            && self.lambda.fits(p.lambda.len())
            && self.mu.fits(p.mu.len())
    }

    /// The parameters of the next step.
    fn active(&self) -> AlphaParameters {
        if self.soft > 0 { AlphaParameters::EULER } else { self.parameters }
    }

    /// Generalized-α, see [`AlphaParameters::from_rho`].
    pub fn from_rho(rho: f64) -> GeneralizedAlpha {
        GeneralizedAlpha::new(AlphaParameters::from_rho(rho))
    }

    /// HHT, see [`AlphaParameters::hht`].
    pub fn hht(alpha: f64) -> GeneralizedAlpha {
        GeneralizedAlpha::new(AlphaParameters::hht(alpha))
    }

    /// Newmark's method, see [`AlphaParameters::newmark`].
    pub fn newmark(beta: f64, gamma: f64) -> GeneralizedAlpha {
        GeneralizedAlpha::new(AlphaParameters::newmark(beta, gamma))
    }

    /// What was chosen.
    pub fn parameters(&self) -> AlphaParameters {
        self.parameters
    }

    /// The pseudo-acceleration a_n.
    pub fn pseudo_acceleration(&self) -> &[f64] {
        &self.a.v
    }

    /// A first step for which the error is acceptable even if the acceleration changes by all of itself.
    pub fn first_step(parameters: AlphaParameters, at: &Point, weights: &Weights, span: f64) -> f64 {
        let rate = root_mean_square(&[(&weights.q, &at.vdot), (&weights.z, &at.zdot)]);
        (1e-2 * span).min((parameters.error_constant().abs().max(0.05) * rate).sqrt().recip())
    }

    /// Sets the size of the next step; the pseudo-acceleration moves along when it is prepared.
    pub fn set_step(&mut self, h: f64) {
        self.h = h;
    }

    /// What the prepared step adds to the error if it leads to `p`, with or without error control.
    pub fn local_error(&mut self, p: &Point, weights: &Weights) -> f64 {
        self.find_pseudo_rates(p);
        self.estimate(p, weights)
    }

    /// The step that will be tried, and the time it leads to.
    fn next_step(&self) -> (f64, f64) {
        let slack = if self.controlled { STRETCH } else { ROUNDING };
        self.clock.as_ref().map_or((self.h, self.h), |clock| clock.fit(self.h, slack))
    }

    /// The coefficients of the prepared step.
    fn coefficients(&self) -> Coefficients {
        let ratio = self.h_next / self.h_last;
        Coefficients::new(self.active(), self.parameters, self.h_next, ratio, self.soft > 0)
    }

    /// Does something with what is known of every coordinate of a range, counted from its start.
    #[inline(always)]
    fn each_known(&self, range: Range<usize>, mut with: impl FnMut(usize, Known)) {
        let known = [&self.a.v, &self.now.q, &self.now.v, &self.now.vdot, &self.before.vdot];
        let [a, q, v, rate, rate_before] = known.map(|x| &x[range.clone()]);
        for i in 0..range.len() {
            with(i, Known { a: a[i], q: q[i], v: v[i], rate: rate[i], rate_before: rate_before[i] });
        }
    }

    /// Whether accelerations and multipliers can be extrapolated.
    fn extrapolates(&self) -> bool {
        self.past > 0 && self.soft == 0
    }

    /// Sets positions and velocities to a guess.
    fn move_on(&self, extrapolates: bool, point: &mut Point) {
        let coefficients = self.coefficients();
        team::fill([&mut point.q, &mut point.v], |range, [q, v]| {
            let (n, c) = (range.len(), coefficients);
            let (q, v) = (&mut q[..n], &mut v[..n]);
            self.each_known(range, |i, known| (q[i], v[i]) = c.guess(extrapolates, known));
        });
    }

    /// First-order states at the end of the step.
    fn guess_states(&self, z: &mut [f64]) {
        if !self.extrapolates() {
            return z.copy_from_slice(&self.now.z);
        }
        let (now, c) = (&self.now, self.coefficients());
        for (i, z) in z.iter_mut().enumerate() {
            *z = c.guess_state(now.z[i], self.a.z[i], now.zdot[i], self.before.zdot[i]);
        }
    }

    /// A guess for multipliers, by range: those of a start with something fast in it say nothing.
    fn guess_multipliers<'a>(
        &self,
        known: &'a Recent,
        extrapolates: bool,
    ) -> impl Fn(Range<usize>, &mut [f64]) + Sync + use<'a> {
        let extrapolated = known.extrapolated(self.t_next, if extrapolates { POINTS } else { 1 });
        let nothing = self.past == 0 && self.soft > 0;
        move |range, out| if nothing { out.fill(0.0) } else { extrapolated(range, out) }
    }

    /// The guess for both kinds.
    fn set_multipliers(&self, extrapolates: bool, guess: &mut Point) {
        for (known, out) in [(&self.lambda, &mut guess.lambda), (&self.mu, &mut guess.mu)] {
            let guess = self.guess_multipliers(known, extrapolates);
            team::fill([out], |range, [out]| guess(range, out));
        }
    }

    /// a_{n+1} and its kin from the rates at the new time.
    fn find_pseudo_rates(&mut self, p: &Point) {
        let coefficients = self.coefficients();
        for (out, a, before, rate) in [
            (&mut self.next.v, &self.a.v, &self.now.vdot, &p.vdot),
            (&mut self.next.z, &self.a.z, &self.now.zdot, &p.zdot),
        ] {
            team::fill([out], |range, [out]| {
                let [a, before, rate] = [a, before, rate].map(|x| &x[range.clone()]);
                let (c, out) = (coefficients, &mut out[..a.len()]);
                for i in 0..a.len() {
                    out[i] = c.next(a[i], [before[i], rate[i]]);
                }
            });
        }
    }

    /// What one step adds to the error: |c| h² ‖a_{n+1} − a_n‖ in the positions, |γ − ½| h ‖a_{n+1} − a_n‖ in
    /// the velocities where the method is of first order. First-order states have no position: there the
    /// second difference of their pseudo-rates stands for the third derivative.
    fn estimate(&mut self, p: &Point, weights: &Weights) -> f64 {
        let AlphaParameters { alpha_m, alpha_f, gamma, .. } = self.parameters;
        let (h, second) = (self.h_next, self.parameters.order() == 2);
        let lag = (gamma - 0.5 - alpha_f + alpha_m).abs();
        let factor = if second { self.parameters.error_constant().abs() * h } else { lag } * h;
        let (now, a, c, next) = (&self.now, &self.a, self.coefficients(), &self.next);
        let apart = 2.0 / (h + self.h_last);
        for (i, e) in self.error_q.iter_mut().enumerate() {
            *e = factor
                * match (self.additive, self.past) {
                    (false, _) => next.v[i] - c.moved(a.v[i], now.vdot[i]),
                    (true, 0) => 0.0,
                    (true, _) => (p.v[i] - now.v[i] - h * self.mean[i]) * apart,
                };
        }
        let ratio = if self.past < 2 { 0.0 } else { h / self.h_last };
        for (i, e) in self.error_z.iter_mut().enumerate() {
            let change = next.z[i] - c.moved(a.z[i], now.zdot[i]);
            *e = if second { (change - ratio * self.bend[i]) * h / 12.0 } else { lag * h * change };
        }
        let of = if second { &weights.q } else { &weights.v };
        root_mean_square(&[(of, &self.error_q), (&weights.z, &self.error_z)])
    }

    /// The error grows like h^{order + 1}.
    fn exponent(&self) -> f64 {
        1.0 / (self.parameters.order() + 1) as f64
    }

    /// The step after an accepted one.
    fn choose(&mut self) {
        let k = self.exponent();
        let error = self.error.max(1e-6);
        let before = if self.past < 2 { error } else { self.error_before.max(1e-6) };
        let factor = SAFETY * error.powf(-PROPORTIONAL * k) * before.powf(INTEGRAL * k);
        let most = if self.failures > 0 { 1.0 } else { GROWTH };
        let wish = match factor.clamp(0.3, most) {
            f if (1.0..WORTH_IT).contains(&f) => self.h_next,
            f => self.h_next * f,
        };
        // a step that was cut short to land somewhere says nothing against the one that was wanted
        let cut = self.h_next < 0.999 * self.h;
        self.h = if cut { self.h.max(wish) } else { wish };
        self.error_before = error;
    }
}

impl Method for GeneralizedAlpha {
    fn start(&mut self, at: &Point, h: f64) {
        self.clock = Some(Clock::at(at.t));
        (self.h, self.h_next, self.h_last, self.past) = (h, h, h, 0);
        (self.error, self.error_before, self.failures, self.soft) = (0.0, 0.0, 0, 0);
        self.mean.clone_from(&at.vdot);
        self.now.set(at);
        self.before.set(at);
        for pseudo in [&mut self.a, &mut self.next] {
            pseudo.v.clone_from(&at.vdot);
            pseudo.z.clone_from(&at.zdot);
        }
        for (buffer, size) in
            [(&mut self.error_q, at.v.len()), (&mut self.error_z, at.z.len()), (&mut self.bend, at.z.len())]
        {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        self.lambda.start(at.t, &at.lambda);
        self.mu.start(at.t, &at.mu);
    }

    fn limit(&mut self, t_stop: f64) {
        if let Some(clock) = &mut self.clock {
            clock.stop = t_stop;
        }
    }

    fn prepare(&mut self, law: &mut Stencil, guess: &mut Point) {
        (self.h_next, self.t_next) = self.next_step();
        let (method, n, nz) = (&*self, self.now.v.len(), self.now.z.len());
        law.resize(n, n, nz);
        let coefficients = self.coefficients();
        (law.t, law.h, law.slopes) = (self.t_next, self.h_next, coefficients.slopes);
        law.newmark = Some(self.active().ratios());
        let now = &self.now;
        for (i, eta) in law.eta_z.iter_mut().enumerate() {
            let a = coefficients.moved(self.a.z[i], now.zdot[i]);
            *eta = coefficients.first_order(now.z[i], now.zdot[i], a);
        }
        self.guess_states(&mut guess.z);
        // one pass: the vectors of large models come from memory each time they are read
        let (extrapolates, following) = (self.extrapolates(), law.following());
        let Point { q, qdot, v, vdot, lambda, mu, .. } = guess;
        let [of_lambda, of_mu] = [&self.lambda, &self.mu].map(|x| self.guess_multipliers(x, extrapolates));
        team::fill([mu], |range, [out]| of_mu(range, out));
        let multipliers = ([&mut lambda[..]], |range: Range<usize>, [out]: [&mut [f64]; 1]| of_lambda(range, out));
        if law.velocities_follow {
            let outs = [&mut law.eta_q, &mut law.eta_v, q, qdot, v, vdot].map(|x| &mut x[..]);
            let all = |range: Range<usize>, outs: [&mut [f64]; 6]| {
                let (n, c, following) = (range.len(), coefficients, following);
                let [eta_q, eta_v, q, qdot, v, vdot] = outs.map(|x| &mut x[..n]);
                method.each_known(range, |i, known| {
                    (eta_q[i], eta_v[i]) = c.law(known);
                    q[i] = c.guess(extrapolates, known).0;
                    (v[i], vdot[i]) = following(q[i], eta_q[i], eta_v[i]);
                    qdot[i] = v[i];
                });
            };
            team::fill_both((outs, all), multipliers);
            law.states(guess);
        } else {
            let outs = [&mut law.eta_q, &mut law.eta_v, q, v].map(|x| &mut x[..]);
            let all = |range: Range<usize>, outs: [&mut [f64]; 4]| {
                let (n, c) = (range.len(), coefficients);
                let [eta_q, eta_v, q, v] = outs.map(|x| &mut x[..n]);
                method.each_known(range, |i, known| {
                    (eta_q[i], eta_v[i]) = c.law(known);
                    (q[i], v[i]) = c.guess(extrapolates, known);
                });
            };
            team::fill_both((outs, all), multipliers);
        }
    }

    /// v̇, ż and the multipliers are extrapolated linearly, which leaves Newton a first correction some 40 times
    /// smaller than without.
    fn predict(&self, guess: &mut Point) {
        self.move_on(self.extrapolates(), guess);
        self.guess_states(&mut guess.z);
        self.set_multipliers(self.extrapolates(), guess);
    }

    /// Accelerations of a start or an event may last for a fraction of the step only: they say nothing
    /// about its end.
    fn predict_positions(&self, guess: &mut Point) {
        self.move_on(false, guess);
        guess.z.copy_from_slice(&self.now.z);
        self.set_multipliers(false, guess);
    }

    fn is_first(&self) -> bool {
        self.past == 0 && self.soft == 0
    }

    fn soften(&mut self) -> bool {
        let can = self.is_first();
        if can {
            self.soft = SOFT_STEPS;
        }
        can
    }

    fn is_rough(&mut self, p: &Point, unit: &Weights) -> bool {
        self.find_pseudo_rates(p);
        let (h, c) = (self.h_next, self.coefficients());
        for (i, e) in self.error_q.iter_mut().enumerate() {
            *e = h * h * (self.next.v[i] - c.moved(self.a.v[i], self.now.vdot[i]));
        }
        root_mean_square(&[(&unit.q, &self.error_q)]) > ROUGH
    }

    fn tests_error(&self) -> bool {
        self.controlled
    }

    fn error(&mut self, p: &Point, weights: &Weights) -> f64 {
        if !self.controlled {
            return 0.0;
        }
        self.find_pseudo_rates(p);
        self.error = self.strict * self.estimate(p, weights);
        if self.additive && self.past > 2 {
            let cubed = (self.h_next / self.h_last).powi(3);
            self.error = self.error.max((FADING * self.error_before * cubed).min(0.9));
        }
        self.error
    }

    fn accept(&mut self, p: &Point, _: &Weights, state: &mut State) {
        let (h, c) = (self.h_next, self.coefficients());
        let GeneralizedAlpha { now, before, a, .. } = self;
        for (i, (bend, a)) in self.bend.iter_mut().zip(&mut a.z).enumerate() {
            let moved = c.moved(*a, now.zdot[i]);
            *a = c.next(*a, [now.zdot[i], p.zdot[i]]);
            *bend = *a - moved;
        }
        if self.additive {
            self.mean.iter_mut().enumerate().for_each(|(i, mean)| *mean = (p.v[i] - now.v[i]) / h);
        }
        before.z.copy_from_slice(&p.z);
        before.zdot.copy_from_slice(&p.zdot);
        state.t = p.t;
        state.z.clone_from(&p.z);
        state.q.resize(p.q.len(), 0.0);
        state.v.resize(p.v.len(), 0.0);
        let outs =
            [&mut a.v, &mut before.q, &mut before.qdot, &mut before.v, &mut before.vdot, &mut state.q, &mut state.v];
        let motion = |range: Range<usize>, outs: [&mut [f64]; 7]| {
            let [a, q, qdot, v, vdot, state_q, state_v] = outs;
            let [rate_before, rate] = [&now.vdot, &p.vdot].map(|x| &x[range.clone()]);
            // of its own, not behind a reference: else the compiler takes number by number
            let (c, a) = (c, &mut a[..rate.len()]);
            for i in 0..rate.len() {
                a[i] = c.next(a[i], [rate_before[i], rate[i]]);
            }
            for (to, from) in [(q, &p.q), (state_q, &p.q), (qdot, &p.qdot), (v, &p.v), (state_v, &p.v), (vdot, &p.vdot)]
            {
                to.copy_from_slice(&from[range.clone()]);
            }
        };
        let lambda = &mut self.lambda.room(self.t_next, p.lambda.len(), POINTS)[..];
        let multipliers =
            ([lambda], |range: Range<usize>, [out]: [&mut [f64]; 1]| out.copy_from_slice(&p.lambda[range]));
        team::fill_both((outs.map(|x| &mut x[..]), motion), multipliers);
        std::mem::swap(now, before);
        self.mu.push(self.t_next, &p.mu, POINTS);
        if let Some(clock) = &mut self.clock {
            clock.advance(h, self.t_next);
        }
        if self.controlled {
            self.choose();
        }
        (self.h_last, self.failures) = (h, 0);
        // what was before soft steps is no past to extrapolate from
        self.past = if self.soft > 0 { 1 } else { self.past + 1 };
        self.soft = self.soft.saturating_sub(1);
    }

    /// A fixed step has no smaller one.
    fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse> {
        if !self.controlled {
            return Err(StepCollapse);
        }
        self.failures += 1;
        let k = self.exponent();
        self.h = self.h_next
            * match why {
                Rejection::Error(e) if self.failures < 4 && e.is_finite() => (SAFETY * e.powf(-k)).clamp(0.2, 0.9),
                _ => 0.25,
            };
        let resolved = self.clock.as_ref().is_some_and(|clock| self.h > clock.resolution());
        if resolved && self.failures < FAILURES { Ok(()) } else { Err(StepCollapse) }
    }

    /// Cubic Hermite polynomials between the ends of the step. The charts of `out` stay as they are.
    fn interpolate(&self, t: f64, out: &mut State) {
        let (h, end) = (self.h_last, self.clock.as_ref().map_or(t, |clock| clock.t));
        let s = 1.0 + (t - end) / h;
        let r = 1.0 - s;
        // weights of the values and of the rates at both ends
        let (x0, x1) = ((1.0 + 2.0 * s) * r * r, s * s * (3.0 - 2.0 * s));
        let (d0, d1) = (h * s * r * r, -h * s * s * r);
        let (old, new) = (&self.before, &self.now);
        out.t = t;
        for (x, a, a_rate, b, b_rate) in [
            (&mut out.q, &old.q, &old.qdot, &new.q, &new.qdot),
            (&mut out.v, &old.v, &old.vdot, &new.v, &new.vdot),
            (&mut out.z, &old.z, &old.zdot, &new.z, &new.zdot),
        ] {
            x.resize(a.len(), 0.0);
            for (i, x) in x.iter_mut().enumerate() {
                *x = x0 * a[i] + x1 * b[i] + d0 * a_rate[i] + d1 * b_rate[i];
            }
        }
    }

    /// The new centres are the present poses, where φ = 0, φ̇ = ω and φ̈ = ω̇.
    fn recentre(&mut self, change: &ChartChange) {
        change.apply(&mut self.before.q);
        for m in &change.moves {
            let chart = m.at..m.at + 3;
            self.now.q[chart.clone()].fill(0.0);
            self.now.qdot[chart.clone()].copy_from_slice(&self.now.v[chart.clone()]);
            let (phi, omega) = (&self.before.q[chart.clone()], &self.before.v[chart.clone()]);
            let rate = inverse_tangent(Vec3::from_slice(phi)) * Vec3::from_slice(omega);
            self.before.qdot[chart].copy_from_slice(&rate.0);
        }
    }

    fn step_size(&self) -> f64 {
        self.next_step().0
    }

    fn order(&self) -> usize {
        self.parameters.order()
    }

    /// The law holds at the centre of a chart.
    fn centred(&self) -> bool {
        true
    }

    /// The estimate is made of second differences of positions: what Newton leaves there is not to be seen in it.
    fn precision(&self) -> f64 {
        0.03 / self.strict.max(1.0)
    }
}

#[cfg(test)]
mod tests;
