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
mod estimate;
mod history;
mod parameters;

pub use parameters::AlphaParameters;

use super::bdf::{self, least_share};
use super::clock::{Clock, ROUNDING, STRETCH};
use super::recent::Recent;
use super::{Method, Rejection, StepCollapse};
use crate::stencil::Stencil;
use crate::weights::{Weights, root_mean_square};
use bellcrank_math::Vec3;
use bellcrank_math::rotation::inverse_tangent;
use bellcrank_math::tape::Tape;
use bellcrank_math::threads::team;
use bellcrank_model::dynamics::ChartChange;
use bellcrank_model::{Point, State};
use coefficients::{AlphaCoefficients, Known};
use estimate::{AlphaEstimate, SAFETY};
use history::{Node, Pseudo};
use std::ops::Range;

/// The estimate of the additive formulation falls by no more than this from step to step. It is made of the mean motion,
/// in which stiff modes have no part, and passes through zero where the motion's third derivative does: within 25 steps of
/// a flexible slider-crank h grew by 3.3 there, and the error at rtol 1e-7 was no smaller than at 1e-6.
const FADING: f64 = 0.93;

/// A start is rough if the acceleration of the first step, times h², differs by this many lengths (or radians) from
/// what it was at the start: something fast dies out within the step.
const ROUGH: f64 = 0.02;

/// Backward Euler takes this many steps from such a start.
const SOFT_STEPS: usize = 2;

/// Newton solves a step to this part of what it may err by.
const PRECISION: f64 = 0.03;

/// Multipliers are extrapolated from this many points.
const POINTS: usize = 2;

/// Failures in a row after which a step is given up.
const FAILURES: u32 = 25;

/// The generalized-α method.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GeneralizedAlpha {
    kind: Kind,
    clock: Option<Clock>,
    pace: AlphaPace,
    now: Node,
    before: Node,
    /// Pseudo-rates of v and z after the last step.
    a: Pseudo,
    /// Pseudo-rates at the end of the step that is prepared.
    next: Pseudo,
    estimate: AlphaEstimate,
    lambda: Recent,
    mu: Recent,
}

/// What was chosen.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Kind {
    parameters: AlphaParameters,
    /// Whether steps follow the estimated error.
    controlled: bool,
    /// Reactions are no part of the accelerations, but of the means over a step.
    additive: bool,
    /// The factor by which errors are taken larger.
    strict: f64,
    /// The length of a run whose steps share their errors.
    horizon: Option<f64>,
    /// How many times its share a step may err, and the least that it is asked for.
    leeway: f64,
    least_share: f64,
}

/// Sizes of steps, and the past they go by.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct AlphaPace {
    /// The step that is wanted.
    h: f64,
    /// The step that is prepared, and the time it leads to.
    h_next: f64,
    t_next: f64,
    /// The last accepted step.
    h_last: f64,
    /// Steps since the start: after a start there is nothing to extrapolate from.
    past: usize,
    /// Steps of backward Euler to come.
    soft: usize,
    /// Failures in a row.
    failures: u32,
}

impl GeneralizedAlpha {
    /// A method of fixed steps without history; [`Method::start`] sizes it.
    pub fn new(parameters: AlphaParameters) -> GeneralizedAlpha {
        GeneralizedAlpha { kind: Kind { parameters, ..Kind::default() }, ..GeneralizedAlpha::default() }
    }

    /// The same with steps that follow the estimated error.
    ///
    /// Local errors add up over 1/h steps: what is achieved would fall like rtol^⅔ with a method of second order and like √rtol
    /// with one of first. They are weighed by (10⁻²/rtol)^⅓, so that it falls like rtol^{8/9} and rtol^⅔.
    pub fn controlled(parameters: AlphaParameters, rtol: f64) -> GeneralizedAlpha {
        let strict = (1e-2 / rtol).max(1.0).cbrt();
        let kind = Kind {
            parameters,
            controlled: true,
            strict,
            leeway: 1.0,
            least_share: least_share(rtol),
            ..Kind::default()
        };
        GeneralizedAlpha { kind, ..GeneralizedAlpha::default() }
    }

    /// The same with local errors that share the tolerance of a run of this length.
    pub fn sharing(self, horizon: f64) -> GeneralizedAlpha {
        GeneralizedAlpha { kind: Kind { horizon: Some(horizon), ..self.kind }, ..self }
    }

    /// For the additive formulation, whose accelerations are those without reactions.
    pub fn additive(self) -> GeneralizedAlpha {
        GeneralizedAlpha { kind: Kind { additive: true, ..self.kind }, ..self }
    }

    /// Whether its memory is of the sizes of a point, or empty because no step was taken.
    pub fn fits(&self, p: &Point) -> bool {
        let (n, nz) = (p.v.len(), p.z.len());
        let of_v = [&self.a.v, &self.next.v, &self.estimate.mean, &self.estimate.error_q, &self.estimate.older];
        let of_z = [&self.a.z, &self.next.z, &self.estimate.bend, &self.estimate.error_z];
        let sized = |x: &[f64], n: usize| x.is_empty() || x.len() == n;
        of_v.iter().all(|x| sized(x, n))
            && of_z.iter().all(|x| sized(x, nz))
            && [&self.now, &self.before].iter().all(|node| node.fits(n, nz))
            && self.lambda.fits(p.lambda.len())
            && self.mu.fits(p.mu.len())
    }

    /// The parameters of the next step.
    fn active(&self) -> AlphaParameters {
        if self.pace.soft > 0 { AlphaParameters::EULER } else { self.kind.parameters }
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
        self.kind.parameters
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
        self.pace.h = h;
    }

    /// What the prepared step adds to the error if it leads to `p`, with or without error control.
    pub fn local_error(&mut self, p: &Point, weights: &Weights) -> f64 {
        self.find_pseudo_rates(p);
        self.estimate(p, weights)
    }

    /// The step that will be tried, and the time it leads to.
    fn next_step(&self) -> (f64, f64) {
        let slack = if self.kind.controlled { STRETCH } else { ROUNDING };
        self.clock.as_ref().map_or((self.pace.h, self.pace.h), |clock| clock.fit(self.pace.h, slack))
    }

    /// The coefficients of the prepared step.
    fn coefficients(&self) -> AlphaCoefficients {
        let ratio = self.pace.h_next / self.pace.h_last;
        AlphaCoefficients::new(self.active(), self.kind.parameters, self.pace.h_next, ratio, self.pace.soft > 0)
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
        self.pace.past > 0 && self.pace.soft == 0
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
        let extrapolated = known.extrapolated(self.pace.t_next, if extrapolates { POINTS } else { 1 });
        let nothing = self.pace.past == 0 && self.pace.soft > 0;
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
}

impl Method for GeneralizedAlpha {
    fn keep(&mut self, tape: &mut Tape) {
        tape.plain(self);
    }

    fn start(&mut self, at: &Point, h: f64) {
        self.clock = Some(Clock::at(at.t));
        (self.pace.h, self.pace.h_next, self.pace.h_last, self.pace.past) = (h, h, h, 0);
        (self.estimate.error, self.estimate.error_before, self.pace.failures, self.pace.soft) = (0.0, 0.0, 0, 0);
        self.estimate.mean.clone_from(&at.vdot);
        self.now.set(at);
        self.before.set(at);
        for pseudo in [&mut self.a, &mut self.next] {
            pseudo.v.clone_from(&at.vdot);
            pseudo.z.clone_from(&at.zdot);
        }
        for (buffer, size) in [
            (&mut self.estimate.error_q, at.v.len()),
            (&mut self.estimate.older, 0),
            (&mut self.estimate.error_z, at.z.len()),
            (&mut self.estimate.bend, at.z.len()),
        ] {
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
        (self.pace.h_next, self.pace.t_next) = self.next_step();
        let (method, n, nz) = (&*self, self.now.v.len(), self.now.z.len());
        law.resize(n, n, nz);
        let coefficients = self.coefficients();
        (law.t, law.h, law.slopes) = (self.pace.t_next, self.pace.h_next, coefficients.slopes);
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
        self.pace.past == 0 && self.pace.soft == 0
    }

    fn soften(&mut self) -> bool {
        let can = self.is_first();
        if can {
            self.pace.soft = SOFT_STEPS;
        }
        can
    }

    fn is_rough(&mut self, p: &Point, unit: &Weights) -> bool {
        self.find_pseudo_rates(p);
        let (h, c) = (self.pace.h_next, self.coefficients());
        for (i, e) in self.estimate.error_q.iter_mut().enumerate() {
            *e = h * h * (self.next.v[i] - c.moved(self.a.v[i], self.now.vdot[i]));
        }
        root_mean_square(&[(&unit.q, &self.estimate.error_q)]) > ROUGH
    }

    fn set_leeway(&mut self, leeway: f64) {
        self.kind.leeway = leeway;
    }

    fn tests_error(&self) -> bool {
        self.kind.controlled
    }

    fn error(&mut self, p: &Point, weights: &Weights) -> f64 {
        if !self.kind.controlled {
            return 0.0;
        }
        self.find_pseudo_rates(p);
        self.estimate.error = self.estimate(p, weights) * self.strictness();
        if self.kind.additive && self.pace.past > 2 {
            let cubed = (self.pace.h_next / self.pace.h_last).powf(self.exponent().recip());
            self.estimate.error = self.estimate.error.max((FADING * self.estimate.error_before * cubed).min(0.9));
        }
        self.estimate.error
    }

    fn accept(&mut self, p: &Point, _: &Weights, state: &mut State) {
        let (h, c) = (self.pace.h_next, self.coefficients());
        if self.kind.controlled && self.kind.parameters.order() == 1 {
            self.estimate.older.clone_from(&self.before.q);
            self.estimate.h_older = self.pace.h_last;
        }
        let GeneralizedAlpha { now, before, a, .. } = self;
        for (i, (bend, a)) in self.estimate.bend.iter_mut().zip(&mut a.z).enumerate() {
            let moved = c.moved(*a, now.zdot[i]);
            *a = c.next(*a, [now.zdot[i], p.zdot[i]]);
            *bend = *a - moved;
        }
        if self.kind.additive {
            self.estimate.mean.iter_mut().enumerate().for_each(|(i, mean)| *mean = (p.v[i] - now.v[i]) / h);
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
        let lambda = &mut self.lambda.room(self.pace.t_next, p.lambda.len(), POINTS)[..];
        let multipliers =
            ([lambda], |range: Range<usize>, [out]: [&mut [f64]; 1]| out.copy_from_slice(&p.lambda[range]));
        team::fill_both((outs.map(|x| &mut x[..]), motion), multipliers);
        std::mem::swap(now, before);
        self.mu.push(self.pace.t_next, &p.mu, POINTS);
        if let Some(clock) = &mut self.clock {
            clock.advance(h, self.pace.t_next);
        }
        if self.kind.controlled {
            self.choose();
        }
        (self.pace.h_last, self.pace.failures) = (h, 0);
        // what was before soft steps is no past to extrapolate from
        self.pace.past = if self.pace.soft > 0 { 1 } else { self.pace.past + 1 };
        self.pace.soft = self.pace.soft.saturating_sub(1);
    }

    /// A fixed step has no smaller one.
    fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse> {
        if !self.kind.controlled {
            return Err(StepCollapse);
        }
        self.pace.failures += 1;
        let k = self.exponent();
        self.pace.h = self.pace.h_next
            * match why {
                Rejection::Error(e) if self.pace.failures < 4 && e.is_finite() => (SAFETY * e.powf(-k)).clamp(0.2, 0.9),
                _ => 0.25,
            };
        let resolved = self.clock.as_ref().is_some_and(|clock| self.pace.h > clock.resolution());
        if resolved && self.pace.failures < FAILURES { Ok(()) } else { Err(StepCollapse) }
    }

    /// Cubic Hermite polynomials between the ends of the step. The charts of `out` stay as they are.
    fn interpolate(&self, t: f64, out: &mut State) {
        let (h, end) = (self.pace.h_last, self.clock.as_ref().map_or(t, |clock| clock.t));
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
        if !self.estimate.older.is_empty() {
            change.apply(&mut self.estimate.older);
        }
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
        self.kind.parameters.order()
    }

    /// The law holds at the centre of a chart.
    fn centred(&self) -> bool {
        true
    }

    /// Second differences of positions, of three sizes of rounding at most, times the factor of the estimate.
    fn noise(&self) -> f64 {
        if !self.kind.controlled || self.kind.additive || self.kind.parameters.order() == 2 {
            return 0.0;
        }
        12.0 * self.kind.parameters.lag() / self.pace.h_next * self.strictness()
    }

    fn blur(&mut self, admitted: f64) {
        self.estimate.blur = admitted - 1.0;
    }

    /// Of first order its own; DASSL's would be of the size of rounding.
    fn first_step(&self, at: &Point, weights: &Weights, span: f64) -> f64 {
        match self.kind.parameters.order() {
            1 => GeneralizedAlpha::first_step(self.kind.parameters, at, weights, 0.1 * span),
            _ => bdf::first_step(at, weights, span),
        }
    }

    /// The estimate is made of second differences of positions: what Newton leaves there is not to be seen in it.
    fn precision(&self) -> f64 {
        PRECISION / self.strictness().max(1.0)
    }

    /// A tenth of what a step may err by: states that follow velocities inherit the rounding of positions, whatever the step.
    fn stagnation(&self) -> f64 {
        0.1 / PRECISION
    }
}

#[cfg(test)]
mod tests;
