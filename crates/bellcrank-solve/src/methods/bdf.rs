//! Backward differentiation formulas of variable step and order, with DASSL's control.
//!
//! With y = (q, v, z) and modified divided differences φ_i(n) = ψ_1 … ψ_{i−1} [y_n, …, y_{n−i+1}],
//! ψ_i(n) = t_n − t_{n−i}, the step to t_{n+1} of order k predicts
//!
//! ```text
//!     y⁰ = Σ_{i≤k+1} φ*_i,   ẏ⁰ = Σ_{i≤k+1} γ_i φ*_i,   φ*_i = β_i φ_i(n)
//!     ẏ  = ẏ⁰ − (α_s/h)(y − y⁰),   α_s = −Σ_{j≤k} 1/j          (fixed leading coefficient)
//! ```
//!
//! and controls order and step by the norms of y − y⁰ and of the highest differences
//! [Brenan, Campbell & Petzold 1996, ch. 5]. λ and μ have no differences, only their last few values; with
//! [`BdfOptions::as_dassl`] they are unknowns like the others, from rates of zero at the start.

use super::clock::{Clock, ROUNDING, STRETCH};
use super::recent::{KEPT, Recent};
use super::{Method, Rejection, StepCollapse};
use crate::stencil::Stencil;
use crate::weights::Weights;
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::dynamics::{ChartChange, ChartMove};
use bellcrank_model::{Point, Slopes, State};
use std::f64::consts::TAU;

/// The highest order that is zero-stable enough to be of use.
pub const HIGHEST_ORDER: usize = 5;

/// y and k + 1 differences of it.
const COLUMNS: usize = HIGHEST_ORDER + 2;

/// DASSL gives up after so many convergence failures in a row.
const CONVERGENCE_FAILURES: u32 = 10;

/// And we after so many failed error tests, when the step has shrunk by 4⁻²⁵ ≈ 10⁻¹⁵.
const ERROR_FAILURES: u32 = 25;

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

/// With averaged errors, which do not jump, a step may grow when it can by this factor. DASSL waits for two.
const WORTHWHILE: f64 = 1.2;

/// So many tolerances may the errors of all steps of a run add up to, where that is asked for. It leaves a factor of ten to
/// the hundred that a run should end within, for errors that grow.
pub const SHARED: f64 = 10.0;

/// No share is smaller than a tolerance by more than this: the opening steps are tiny and few.
const STRICTEST: f64 = 1e4;

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BdfOptions {
    /// Orders 1 to `max_order` are used; at most [`HIGHEST_ORDER`].
    pub max_order: usize,
    /// A step size that never changes, without error control; the order rises by one with every
    /// step until it is `max_order`.
    pub fixed_step: Option<f64>,
    /// No step is longer.
    pub max_step: f64,
    /// DASSL's rules to the letter: the order may fall to one, a step may grow right after a failure, and multipliers
    /// have differences like all other unknowns.
    pub as_dassl: bool,
    /// Errors that alternate from step to step weigh less than those that add up; for tests of coordinates
    /// alone, where an oscillation may be damped.
    pub averaged: bool,
    /// The length T of a run whose local errors are to add up to no more than [`SHARED`] tolerances: a step may err by
    /// min(1, 10 h/T) tolerances. It is for motions that nothing damps, where all local errors last; a run of less than ten
    /// steps is the same with it.
    pub horizon: Option<f64>,
}

impl Default for BdfOptions {
    fn default() -> BdfOptions {
        BdfOptions {
            max_order: HIGHEST_ORDER,
            fixed_step: None,
            max_step: f64::INFINITY,
            as_dassl: false,
            averaged: false,
            horizon: None,
        }
    }
}

/// DASSL's first step: h = min(10⁻³ `span`, ½/‖ẏ‖).
pub fn first_step(at: &Point, weights: &Weights, span: f64) -> f64 {
    let rate = weights.norm(&at.qdot, &at.vdot, &at.zdot);
    (1e-3 * span).min(0.5 / rate)
}

/// The BDF method.
#[derive(Clone, Debug)]
pub struct Bdf {
    options: BdfOptions,
    clock: Clock,
    /// Order and step size of the next step, and of the last accepted one (order 0 before the first).
    k: usize,
    h: f64,
    k_last: usize,
    h_last: f64,
    /// How many steps of this size and order were taken, up to k + 2.
    equal_steps: usize,
    /// The opening phase: the order rises and the step doubles with every step.
    opening: bool,
    /// ψ_i(n), i = 1 … k_last + 1, at i − 1.
    psi: [f64; COLUMNS],
    /// φ_i(n), i = 1 … k_last + 2, one after the other.
    phi: Vec<f64>,
    coefficients: Coefficients,
    /// The sizes of q, v and z, and the time that the prepared step leads to.
    sizes: [usize; 3],
    t_next: f64,
    /// y⁰, and y − y⁰, with λ and μ behind q, v, z as in DASSL or without.
    prediction: Vec<f64>,
    correction: Vec<f64>,
    scratch: Vec<f64>,
    /// The mean of y − y⁰ over the last steps, scaled to the present step size, and what it becomes when
    /// the present step is accepted.
    mean: Vec<f64>,
    next_mean: Vec<f64>,
    /// An error test has failed, and since then there were not yet k + 2 equal steps.
    careful: bool,
    estimate: Option<Estimate>,
    lambda: Recent,
    mu: Recent,
    error_failures: u32,
    convergence_failures: u32,
}

/// The coefficients of one step, index i − 1 standing for i.
#[derive(Clone, Copy, Debug, Default)]
struct Coefficients {
    psi: [f64; COLUMNS],
    beta: [f64; COLUMNS],
    gamma: [f64; COLUMNS],
    sigma: [f64; COLUMNS],
    /// The error is `error`·‖y − y⁰‖.
    error: f64,
    equal_steps: usize,
}

/// The terms of the Taylor series, each scaled like h^{i} y^{(i)}, and what they advise.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// h^{k+1} y^{(k+1)}.
    term: f64,
    /// h^k y^{(k)}.
    term_below: f64,
    /// The local error at order k − 1.
    error_below: f64,
    /// The order that should be used, k or k − 1, and the local error at that order.
    order: usize,
    error: f64,
    /// The part of all these that counts.
    part: f64,
}

impl Default for Bdf {
    fn default() -> Bdf {
        Bdf::new(BdfOptions::default())
    }
}

impl Bdf {
    /// A method without history; [`Method::start`] sizes it.
    pub fn new(options: BdfOptions) -> Bdf {
        Bdf {
            options: BdfOptions { max_order: options.max_order.clamp(1, HIGHEST_ORDER), ..options },
            clock: Clock::at(0.0),
            k: 1,
            h: 0.0,
            k_last: 0,
            h_last: 0.0,
            equal_steps: 0,
            opening: true,
            psi: [0.0; COLUMNS],
            phi: Vec::new(),
            coefficients: Coefficients::default(),
            sizes: [0; 3],
            t_next: 0.0,
            prediction: Vec::new(),
            correction: Vec::new(),
            scratch: Vec::new(),
            mean: Vec::new(),
            next_mean: Vec::new(),
            careful: false,
            estimate: None,
            lambda: Recent::default(),
            mu: Recent::default(),
            error_failures: 0,
            convergence_failures: 0,
        }
    }

    /// What was chosen.
    pub fn options(&self) -> BdfOptions {
        self.options
    }

    /// The order of the last accepted step; zero before the first.
    pub fn last_order(&self) -> usize {
        self.k_last
    }

    /// The size of the last accepted step; zero before the first.
    pub fn last_step(&self) -> f64 {
        self.h_last
    }

    /// The step that will be tried, and the time it leads to.
    fn next_step(&self) -> (f64, f64) {
        let slack = if self.options.fixed_step.is_some() { ROUNDING } else { STRETCH };
        self.clock.fit(self.h.min(self.options.max_step), slack)
    }

    fn size(&self) -> usize {
        self.prediction.len()
    }

    fn norm(&self, weights: &Weights, y: &[f64]) -> f64 {
        let [n, m, nz] = self.sizes;
        weights.norm(&y[..n], &y[n..n + m], &y[n + m..][..nz])
    }

    /// y − y⁰.
    fn measure(&mut self, p: &Point) {
        for ((e, y), predicted) in self.correction.iter_mut().zip(stacked(p)).zip(&self.prediction) {
            *e = y - predicted;
        }
    }

    /// The part of y − y⁰ that counts: all of it, or what the last steps have in common. The local errors of a
    /// motion add up over the steps; those of an oscillation follow each other with changing signs, and
    /// their sum stays small.
    fn lasting_part(&mut self, weights: &Weights, norm: f64) -> f64 {
        if !self.options.averaged {
            return 1.0;
        }
        let (old, new) = match self.k == self.k_last {
            true => (MEMORY * (self.h / self.h_last).powi(self.k as i32 + 1), 1.0 - MEMORY),
            false => (0.0, 1.0),
        };
        for ((next, mean), e) in self.next_mean.iter_mut().zip(&self.mean).zip(&self.correction) {
            *next = old * mean + new * e;
        }
        let part = self.norm(weights, &self.next_mean) / norm;
        if part.is_finite() { part.max(ALTERNATING) } else { 1.0 }
    }

    /// How many times its share of the errors of the run a step of size h would have with an error of one tolerance.
    fn strictness(&self) -> f64 {
        self.options.horizon.map_or(1.0, |horizon| (horizon / (SHARED * self.h)).clamp(1.0, STRICTEST))
    }

    /// The factor by which the step could grow at order k; a share shrinks with its step.
    fn growth(&self, error: f64, k: usize) -> f64 {
        match self.strictness() {
            1.0 => factor(error, k),
            strictness => (2.0 * strictness * error + 1e-4).powf(-1.0 / k as f64),
        }
    }

    /// The lowest order that the estimates may advise.
    fn lowest_order(&self) -> usize {
        if self.options.as_dassl || self.error_failures > 1 { 1 } else { LOWEST_ORDER }
    }

    /// The errors of orders k, k − 1 and k − 2 decide whether the order should fall.
    fn estimate(&mut self, weights: &Weights) -> (Estimate, f64) {
        let Coefficients { beta, sigma, error, .. } = self.coefficients;
        let (k, size) = (self.k, self.size());
        let norm = self.norm(weights, &self.correction);
        let part = self.lasting_part(weights, norm);
        let at_order = sigma[k] * norm;
        let term = (k + 1) as f64 * at_order;
        let mut e =
            Estimate { term, term_below: f64::INFINITY, error_below: at_order, order: k, error: at_order, part };
        if k > 1 {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.copy_from_slice(&self.correction);
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
            self.scratch = scratch;
        }
        (e, error * norm * part * self.strictness())
    }

    /// Order and step size after an accepted step.
    fn choose(&mut self, e: Estimate, raised: bool, weights: &Weights) {
        let k = self.k;
        let lower = e.order < k;
        self.opening &= !lower && k < self.options.max_order;
        if self.opening {
            self.k = k + 1;
            self.h *= 2.0;
            return;
        }
        let mut error = e.error;
        if lower {
            self.k = k - 1;
        } else if k < self.options.max_order && self.coefficients.equal_steps > k + 1 && !raised {
            let size = self.size();
            self.scratch.copy_from_slice(&self.correction);
            add(-1.0, &self.phi[(k + 1) * size..][..size], &mut self.scratch);
            let term_above = self.norm(weights, &self.scratch); // (k + 2) times the error above
            if k > self.lowest_order() && e.term_below <= e.term.min(term_above) {
                self.k = k - 1;
                error = e.error_below;
            } else if term_above < if k > 1 { e.term } else { 0.5 * e.term } {
                self.k = k + 1;
                error = term_above / (k + 2) as f64;
            }
        }
        let r = self.growth(error * e.part, self.k);
        let settled = self.coefficients.equal_steps > k + 1;
        self.careful &= !settled;
        let worthwhile = if self.options.averaged && self.coefficients.equal_steps > k { WORTHWHILE } else { 2.0 };
        if r >= worthwhile && !self.careful {
            self.h *= r.min(2.0);
        } else if r <= 1.0 {
            self.h *= r.clamp(0.5, 0.9);
        }
    }

    /// φ_i(n+1) from φ*_i and the correction, from the highest down.
    fn update(&mut self, p: &Point) {
        let (k, size) = (self.k, self.size());
        let beta = &self.coefficients.beta;
        let (below, top) = self.phi.split_at_mut((k + 1) * size);
        top[..size].copy_from_slice(&self.correction);
        let mut above: &[f64] = &top[..size];
        let mut rest = below;
        for i in (0..=k).rev() {
            let (lower, column) = rest.split_at_mut(i * size);
            for (x, a) in column.iter_mut().zip(above) {
                *x = beta[i] * *x + a;
            }
            (rest, above) = (lower, column);
        }
        // y itself, without the rounding of y⁰ + (y − y⁰)
        self.phi[..size].iter_mut().zip(stacked(p)).for_each(|(x, y)| *x = *y);
    }
}

/// y = (q, v, z) and, for those who want more, λ and μ.
fn stacked(p: &Point) -> impl Iterator<Item = &f64> {
    p.q.iter().chain(&p.v).chain(&p.z).chain(&p.lambda).chain(&p.mu)
}

/// y += c x.
fn add(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// The factor by which a step of order k could grow, (2·error + 10⁻⁴)^{−1/(k+1)}.
fn factor(error: f64, k: usize) -> f64 {
    (2.0 * error + 1e-4).powf(-1.0 / (k + 1) as f64)
}

impl Method for Bdf {
    fn start(&mut self, at: &Point, h: f64) {
        let h = self.options.fixed_step.unwrap_or(h).min(self.options.max_step);
        let multipliers = if self.options.as_dassl { at.lambda.len() + at.mu.len() } else { 0 };
        let size = at.q.len() + at.v.len() + at.z.len() + multipliers;
        self.clock = Clock::at(at.t);
        (self.k, self.h, self.k_last, self.h_last) = (1, h, 0, 0.0);
        (self.equal_steps, self.opening, self.estimate) = (0, true, None);
        (self.error_failures, self.convergence_failures) = (0, 0);
        self.careful = false;
        let Bdf { prediction, correction, scratch, mean, next_mean, .. } = self;
        for buffer in [prediction, correction, scratch, mean, next_mean] {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        self.phi.clear();
        self.phi.resize(COLUMNS * size, 0.0);
        self.phi.iter_mut().zip(stacked(at)).take(size).for_each(|(x, y)| *x = *y);
        let rates = at.qdot.iter().chain(&at.vdot).chain(&at.zdot);
        self.phi[size..].iter_mut().zip(rates).for_each(|(x, rate)| *x = h * rate);
        self.psi[0] = h;
        self.sizes = [at.q.len(), at.v.len(), at.z.len()];
        self.lambda.start(at.t, &at.lambda);
        self.mu.start(at.t, &at.mu);
    }

    fn limit(&mut self, t_stop: f64) {
        self.clock.stop = t_stop;
    }

    fn prepare(&mut self, law: &mut Stencil, guess: &mut Point) {
        let (h, t) = self.next_step();
        (self.h, self.t_next) = (h, t);
        self.estimate = None;
        let k = self.k;
        let equal = h == self.h_last && k == self.k_last;
        let c = &mut self.coefficients;
        c.equal_steps = (if equal { self.equal_steps } else { 0 } + 1).min(self.k_last + 2);

        let mut alpha = [0.0; COLUMNS];
        (alpha[0], c.beta[0], c.gamma[0], c.sigma[0], c.psi[0]) = (1.0, 1.0, 0.0, 1.0, h);
        for i in 1..=k {
            c.psi[i] = self.psi[i - 1] + h;
            c.beta[i] = c.beta[i - 1] * c.psi[i - 1] / self.psi[i - 1];
            alpha[i] = h / c.psi[i];
            c.sigma[i] = i as f64 * c.sigma[i - 1] * alpha[i];
            c.gamma[i] = c.gamma[i - 1] + alpha[i - 1] / h;
        }
        let alpha_s: f64 = -(1..=k).map(|j| 1.0 / j as f64).sum::<f64>();
        let alpha_0: f64 = -alpha[..k].iter().sum::<f64>();
        c.error = (alpha[k] + alpha_s - alpha_0).abs().max(alpha[k]);

        let slope = -alpha_s / h;
        let size = self.prediction.len();
        self.prediction.fill(0.0);
        self.scratch.fill(0.0);
        for i in 0..=k {
            let column = &self.phi[i * size..][..size];
            add(c.beta[i], column, &mut self.prediction);
            add(c.gamma[i] * c.beta[i], column, &mut self.scratch);
        }
        let [n, m, nz] = self.sizes;
        law.resize(n, m, nz);
        (law.t, law.h, law.slopes) = (t, h, Slopes { q: slope, v: slope, z: slope });
        let eta = law.eta_q.iter_mut().chain(&mut law.eta_v).chain(&mut law.eta_z);
        for ((eta, rate), y) in eta.zip(&self.scratch).zip(&self.prediction) {
            *eta = rate - slope * y;
        }
        self.predict(guess);
        if law.velocities_follow {
            law.rates_and_velocities(guess);
        }
    }

    fn predict(&self, guess: &mut Point) {
        let [n, m, nz] = self.sizes;
        guess.q.copy_from_slice(&self.prediction[..n]);
        guess.v.copy_from_slice(&self.prediction[n..n + m]);
        let (z, multipliers) = self.prediction[n + m..].split_at(nz);
        guess.z.copy_from_slice(z);
        if self.options.as_dassl {
            let all = guess.lambda.iter_mut().chain(&mut guess.mu);
            all.zip(multipliers).for_each(|(x, predicted)| *x = *predicted);
            return;
        }
        // as smooth as the rest: with linear extrapolation the error of λ hides from the first correction
        self.lambda.extrapolate(self.t_next, self.k + 1, &mut guess.lambda);
        self.mu.extrapolate(self.t_next, self.k + 1, &mut guess.mu);
    }

    /// The last positions and velocities, moved on by the velocities; reactions of a start may belong to what dies out
    /// within the step.
    fn predict_positions(&self, guess: &mut Point) {
        let ([n, m, nz], y) = (self.sizes, &self.phi);
        guess.v.copy_from_slice(&y[n..n + m]);
        for i in 0..n {
            guess.q[i] = y[i] + self.h * y[n + i];
        }
        guess.z.copy_from_slice(&y[n + m..][..nz]);
        if self.k_last == 0 {
            guess.lambda.fill(0.0);
            guess.mu.fill(0.0);
        } else {
            self.lambda.extrapolate(self.t_next, 1, &mut guess.lambda);
            self.mu.extrapolate(self.t_next, 1, &mut guess.mu);
        }
    }

    fn error(&mut self, p: &Point, weights: &Weights) -> f64 {
        if self.options.fixed_step.is_some() {
            return 0.0;
        }
        self.measure(p);
        let (estimate, error) = self.estimate(weights);
        self.estimate = Some(estimate);
        error
    }

    fn accept(&mut self, p: &Point, weights: &Weights, state: &mut State) {
        self.measure(p);
        let (k, h) = (self.k, self.h);
        let raised = k == self.k_last + 1;
        if let Some(fixed) = self.options.fixed_step {
            self.update(p);
            self.k = (k + 1).min(self.options.max_order);
            self.h = fixed;
        } else {
            let estimate = match self.estimate.take() {
                Some(estimate) => estimate,
                None => self.estimate(weights).0,
            };
            self.choose(estimate, raised, weights);
            std::mem::swap(&mut self.mean, &mut self.next_mean);
            // the differences of the step that was taken, in its own order
            let next = std::mem::replace(&mut self.k, k);
            self.update(p);
            self.k = next;
        }
        self.clock.advance(h, self.t_next);
        self.psi = self.coefficients.psi;
        self.equal_steps = self.coefficients.equal_steps;
        (self.k_last, self.h_last) = (k, h);
        (self.error_failures, self.convergence_failures) = (0, 0);
        self.lambda.push(self.t_next, &p.lambda, KEPT);
        self.mu.push(self.t_next, &p.mu, KEPT);
        p.store_motion(state);
    }

    fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse> {
        if self.options.fixed_step.is_some() {
            return Err(StepCollapse);
        }
        self.opening = false;
        match why {
            Rejection::Convergence => {
                self.convergence_failures += 1;
                self.h *= 0.25;
            }
            Rejection::Error(_) => {
                self.error_failures += 1;
                self.careful = !self.options.as_dassl;
                let advice = self.estimate.take().filter(|e| e.error.is_finite());
                match (self.error_failures, advice) {
                    (1, Some(e)) => {
                        self.k = e.order;
                        self.h *= (0.9 * self.growth(e.error * e.part, e.order)).clamp(0.25, 0.9);
                    }
                    (1 | 2, e) => {
                        self.k = e.map_or(self.k, |e| e.order);
                        self.h *= 0.25;
                    }
                    _ => {
                        self.k = 1;
                        self.h *= 0.25;
                    }
                }
            }
        }
        let resolved = self.h > self.clock.resolution();
        let hopeful = self.convergence_failures < CONVERGENCE_FAILURES && self.error_failures < ERROR_FAILURES;
        if resolved && hopeful { Ok(()) } else { Err(StepCollapse) }
    }

    /// The polynomial through y_n, …, y_{n−k}. The charts of `out` stay as they are.
    fn interpolate(&self, t: f64, out: &mut State) {
        let ([n, m, nz], size) = (self.sizes, self.size());
        out.t = t;
        for (x, at) in [(&mut out.q, 0..n), (&mut out.v, n..n + m), (&mut out.z, n + m..n + m + nz)] {
            x.resize(at.len(), 0.0);
            x.fill(0.0);
            // before the first step there is the start and its rates
            let (from, last) = (t - self.clock.t, self.k_last.max(1));
            let mut c = 1.0;
            for i in 0..=last {
                add(c, &self.phi[i * size..][at.clone()], x);
                // Π (t − t_{n−j})/ψ_{j+1}
                c *= (from + if i == 0 { 0.0 } else { self.psi[i - 1] }) / self.psi[i];
            }
        }
    }

    fn recentre(&mut self, change: &ChartChange) {
        let (points, size) = (self.k_last + 2, self.size());
        let phi = &mut self.phi;
        for &ChartMove { at, turn, .. } in &change.moves {
            // the past poses, newest first; the differences then replace them in place
            let mut poses = [Vec3::ZERO; COLUMNS];
            for j in 0..points {
                let time = if j == 0 { 0.0 } else { -self.psi[j - 1] };
                let mut pose = Vec3::ZERO;
                let mut c = 1.0;
                for i in 0..=j {
                    pose += Vec3::from_slice(&phi[i * size + at..][..3]) * c;
                    c *= (time + if i == 0 { 0.0 } else { self.psi[i - 1] }) / self.psi[i];
                }
                poses[j] = carry(turn, pose, if j == 0 { None } else { Some(poses[j - 1]) });
            }
            let mut product = 1.0;
            for i in 0..points {
                phi[i * size + at..][..3].copy_from_slice(&(poses[0] * product).0);
                for j in 0..points - i - 1 {
                    let newer = if j == 0 { 0.0 } else { -self.psi[j - 1] };
                    poses[j] = (poses[j] - poses[j + 1]) * (1.0 / (newer + self.psi[j + i]));
                }
                product *= self.psi[i];
            }
        }
    }

    fn step_size(&self) -> f64 {
        self.next_step().0
    }

    fn order(&self) -> usize {
        self.k
    }

    /// What Newton leaves adds up like the errors of the steps.
    fn precision(&self) -> f64 {
        1.0 / self.strictness()
    }
}

/// A pose in its new chart; of the two rotation vectors ±2π apart the one next to its neighbour.
fn carry(turn: Quat, pose: Vec3, neighbour: Option<Vec3>) -> Vec3 {
    let near = turn.then(Quat::exp(pose)).log();
    let angle = near.norm();
    match neighbour {
        Some(x) if angle > 1.0 => {
            let far = near * (1.0 - TAU / angle);
            if (far - x).norm() < (near - x).norm() { far } else { near }
        }
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Counts, Ode, eliminate, tumble};
    use super::*;

    /// q̈ = −q as q̇ = v, v̇ = −q; from (cos 0, −sin 0).
    fn oscillator(_: f64, y: &[f64], rates: &mut [f64]) {
        (rates[0], rates[1]) = (y[1], -y[0]);
    }
    const OSCILLATOR: Ode = Ode { n: 1, nz: 0, rates: &oscillator };

    fn run(ode: &Ode, options: BdfOptions, y: &[f64], h: f64, until: f64, tolerance: (f64, f64)) -> (Vec<f64>, Counts) {
        let mut bdf = Bdf::new(options);
        let (p, counts) = ode.run(&mut bdf, &ode.point(0.0, y), h, until, tolerance, &mut |_, _| ());
        assert_eq!(p.t, until, "lands exactly");
        (ode.stack(&p), counts)
    }

    #[test]
    fn accuracy_follows_the_tolerance() {
        let mut steps = 0;
        for tolerance in [1e-3_f64, 1e-5, 1e-7, 1e-9] {
            let options = BdfOptions::default();
            let (y, counts) =
                run(&OSCILLATOR, options, &[1.0, 0.0], 1e-3 * tolerance.sqrt(), 10.0, (tolerance, tolerance));
            let error = (y[0] - 10_f64.cos()).hypot(y[1] + 10_f64.sin());
            assert!(error < 100.0 * tolerance, "{error:.1e} at {tolerance:.0e}");
            assert!(error > 0.1 * tolerance, "{error:.1e} at {tolerance:.0e}: too many steps?");
            assert!(counts.steps > steps && counts.error_failures <= 3 + counts.steps / 20, "{counts:?}");
            steps = counts.steps;
            if tolerance < 1e-4 {
                assert_eq!(counts.highest_order, 5);
            }
        }
    }

    #[test]
    fn every_order_converges_with_fixed_steps() {
        let exact = |t: f64| OSCILLATOR.point(t, &[t.cos(), -t.sin()]);
        for order in 1..=HIGHEST_ORDER {
            let error = |steps: usize| {
                let h = 2.0 / steps as f64;
                let mut bdf = Bdf::new(BdfOptions { max_order: order, fixed_step: Some(h), ..Default::default() });
                let (mut law, mut p) = (Stencil::default(), exact(0.0));
                bdf.start(&p, 1.0);
                for n in 1..=steps {
                    bdf.prepare(&mut law, &mut p);
                    if n <= order {
                        p = exact(law.t); // an exact history in place of the opening
                    } else {
                        assert_eq!(bdf.order(), order);
                        OSCILLATOR.solve(&bdf, &law, &mut p).unwrap();
                    }
                    assert_eq!(bdf.error(&p, &Weights::default()), 0.0);
                    bdf.accept(&p, &Weights::default(), &mut State::default());
                }
                (p.q[0] - 2_f64.cos()).hypot(p.v[0] + 2_f64.sin())
            };
            let measured = (error(64) / error(128)).log2();
            assert!((measured - order as f64).abs() < 0.15, "order {order}: {measured:.3}");
        }
    }

    #[test]
    fn the_opening_of_fixed_steps_keeps_order_two() {
        let error = |h: f64| {
            let options = BdfOptions { max_order: 2, fixed_step: Some(h), ..Default::default() };
            let (y, counts) = run(&OSCILLATOR, options, &[1.0, 0.0], 0.0, 2.0, (1.0, 1.0));
            assert_eq!(counts.steps, (2.0 / h).round() as usize);
            (y[0] - 2_f64.cos()).hypot(y[1] + 2_f64.sin())
        };
        let order = (error(0.01) / error(0.005)).log2();
        assert!((order - 2.0).abs() < 0.1, "{order}");
    }

    #[test]
    fn shared_errors_of_a_run_stay_below_ten_tolerances_of_each_unknown() {
        let error = |y: &[f64], t: f64| (y[0] - t.cos()).hypot(y[1] + t.sin());
        for max_order in [2, 5] {
            for tolerance in [1e-3_f64, 1e-5] {
                let go = |horizon, until| {
                    let options = BdfOptions { max_order, horizon, ..Default::default() };
                    run(&OSCILLATOR, options, &[1.0, 0.0], 1e-3 * tolerance.sqrt(), until, (tolerance, tolerance))
                };
                // a hundred periods
                let until = 200.0 * std::f64::consts::PI;
                let (alone, few) = go(None, until);
                let (shared, counts) = go(Some(until), until);
                // a tolerance is rtol |y| + atol, up to twice 10⁻³ or 10⁻⁵ in each of two unknowns
                let bound = SHARED * 2.0 * 2f64.sqrt() * tolerance;
                let (alone, shared) = (error(&alone, until), error(&shared, until));
                assert!(shared <= bound && alone > shared, "{shared:.1e}, {alone:.1e} at {tolerance:.0e}");
                assert!(counts.steps > few.steps && counts.error_failures <= 3 + counts.steps / 10, "{counts:?}");
            }
        }
        // few steps have their whole tolerance
        let short = |horizon| {
            run(&OSCILLATOR, BdfOptions { horizon, ..Default::default() }, &[1.0, 0.0], 0.25, 2.0, (1.0, 1.0))
        };
        assert_eq!(short(None), short(Some(2.0)));
    }

    #[test]
    fn van_der_pol_is_passed_in_few_steps_and_the_same_ones_every_time() {
        let rates = |_: f64, y: &[f64], f: &mut [f64]| {
            (f[0], f[1]) = (y[1], 1e3 * (1.0 - y[0] * y[0]) * y[1] - y[0]);
        };
        let ode = Ode { n: 0, nz: 2, rates: &rates };
        let go = || run(&ode, BdfOptions::default(), &[2.0, 0.0], 1e-6, 2000.0, (1e-6, 1e-9));
        let (y, counts) = go();
        // reference of the IVP test set, in unscaled time
        assert!((y[0] - 1.706167732170483).abs() < 1e-4, "{y:?}");
        assert!((y[1] + 0.892809701024795e-3).abs() < 1e-6, "{y:?}");
        assert!(counts.steps < 1400 && counts.convergence_failures == 0, "{counts:?}");
        assert_eq!((y, counts), go());
    }

    #[test]
    fn robertson_reaches_its_equilibrium_with_huge_steps() {
        let rates = |_: f64, y: &[f64], f: &mut [f64]| {
            let (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]);
            (f[0], f[1], f[2]) = (b - a, a - b - c, c);
        };
        let ode = Ode { n: 0, nz: 3, rates: &rates };
        let (y, _) = run(&ode, BdfOptions::default(), &[1.0, 0.0, 0.0], 1e-6, 40.0, (1e-6, 1e-12));
        let reference = [0.7158270688, 0.9185534765e-5, 0.2841637457];
        assert!(y.iter().zip(reference).all(|(y, r)| (y / r - 1.0).abs() < 1e-4), "{y:?}");
        let (y, counts) = run(&ode, BdfOptions::default(), &[1.0, 0.0, 0.0], 1e-6, 1e11, (1e-6, 1e-14));
        let reference = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.999999979166505];
        assert!(y.iter().zip(reference).all(|(y, r)| (y / r - 1.0).abs() < 1e-2), "{y:?}");
        assert!(counts.steps < 1100 && counts.longest_step > 1e9, "{counts:?}");
    }

    #[test]
    fn interpolation_is_as_accurate_as_the_steps() {
        let mut worst = 0.0_f64;
        let mut state = OSCILLATOR.state();
        let mut previous = 0.0;
        let mut bdf = Bdf::default();
        OSCILLATOR.run(&mut bdf, &OSCILLATOR.point(0.0, &[1.0, 0.0]), 1e-5, 5.0, (1e-7, 1e-7), &mut |m, p| {
            for part in [0.0, 0.3, 0.7, 1.0] {
                let t = (1.0 - part) * previous + part * p.t;
                m.interpolate(t, &mut state);
                worst = worst.max((state.q[0] - t.cos()).hypot(state.v[0] + t.sin()));
            }
            assert_eq!((state.q[0], state.v[0]), (p.q[0], p.v[0]));
            previous = p.t;
        });
        assert!(worst < 5e-6, "{worst:.1e}");
    }

    #[test]
    fn prediction_of_multipliers_is_linear() {
        let mut bdf = Bdf::new(BdfOptions { max_order: 2, fixed_step: Some(0.5), ..Default::default() });
        let mut p = Point { lambda: vec![1.0], mu: vec![2.0], ..OSCILLATOR.point(0.0, &[1.0, 0.0]) };
        let mut law = Stencil::default();
        bdf.start(&p, 0.5);
        bdf.prepare(&mut law, &mut p);
        assert_eq!((p.lambda[0], p.mu[0]), (1.0, 2.0));
        (p.lambda[0], p.mu[0]) = (3.0, 1.0);
        bdf.accept(&p, &Weights::default(), &mut State::default());
        bdf.prepare(&mut law, &mut p);
        assert_eq!((p.lambda[0], p.mu[0]), (5.0, 0.0));
    }

    #[test]
    fn failures_shorten_the_step_until_it_collapses() {
        let start = OSCILLATOR.point(1.0, &[1.0, 0.0]);
        let (mut bdf, mut law) = (Bdf::default(), Stencil::default());
        bdf.start(&start, 0.1);
        bdf.prepare(&mut law, &mut start.clone());
        assert!(bdf.reject(Rejection::Convergence).is_ok());
        assert_eq!(bdf.step_size(), 0.025);
        let more = (0..20).take_while(|_| bdf.reject(Rejection::Convergence).is_ok()).count();
        assert_eq!(more, 8);
        bdf.start(&start, 0.1);
        let failures = (0..100).take_while(|_| bdf.reject(Rejection::Error(f64::NAN)).is_ok()).count();
        assert!((20..30).contains(&failures), "{failures}");
        let mut fixed = Bdf::new(BdfOptions { fixed_step: Some(0.1), ..Default::default() });
        fixed.start(&start, 0.1);
        assert_eq!(fixed.reject(Rejection::Convergence), Err(StepCollapse));
    }

    #[test]
    fn recentring_keeps_the_path_to_the_order() {
        // R(t) = exp(a sin t) exp(b t), chart at the identity
        let pose =
            |t: f64| Quat::exp(Vec3::new(0.5, -0.3, 0.2) * t.sin()).then(Quat::exp(Vec3::new(0.1, 0.4, 0.3) * t));
        for order in 1..=HIGHEST_ORDER {
            let difference = |h: f64| {
                let mut bdf = Bdf::new(BdfOptions { max_order: order, fixed_step: Some(h), ..Default::default() });
                let point = |t: f64| Point { t, q: pose(t).log().0.to_vec(), qdot: vec![0.0; 3], ..Point::default() };
                let (mut law, mut guess) = (Stencil::default(), point(1.0));
                bdf.start(&guess, h);
                for _ in 0..8 {
                    bdf.prepare(&mut law, &mut guess);
                    bdf.accept(&point(law.t), &Weights::default(), &mut State::default());
                }
                let t = law.t - 0.5 * h;
                let change = ChartMove::to(0, Vec3::new(-0.2, 0.5, -0.7));
                let turn = change.turn;
                let mut before = State::default();
                let mut after = State::default();
                bdf.interpolate(t, &mut before);
                bdf.recentre(&ChartChange { moves: vec![change] });
                bdf.interpolate(t, &mut after);
                let moved = turn.then(Quat::exp(Vec3::from_slice(&before.q))).log();
                // at the nodes themselves the poses are the same
                let mut node = State::default();
                bdf.interpolate(law.t - h, &mut node);
                let exact = turn.then(pose(law.t - h)).log();
                assert!((Vec3::from_slice(&node.q) - exact).norm() < 1e-13);
                (Vec3::from_slice(&after.q) - moved).norm()
            };
            let (coarse, fine) = (difference(0.2), difference(0.025));
            let measured = (coarse / fine).log2() / 3.0;
            assert!(measured > order as f64 + 0.75, "order {order}: {coarse:.1e} {fine:.1e} → {measured:.2}");
        }
    }

    #[test]
    fn integration_does_not_notice_recentring() {
        let angle = |a: Quat, b: Quat| a.conjugate().then(b).log().norm();
        let (reference, ..) = tumble(&mut Bdf::default(), 2.0, 1e-11, 10.0);
        let (fixed, few, _) = tumble(&mut Bdf::default(), 2.0, 1e-7, 10.0);
        let (moved, counts, changes) = tumble(&mut Bdf::default(), 2.0, 1e-7, 0.3);
        assert!(changes >= 5, "{changes}");
        assert!(angle(fixed, reference) < 1e-5 && angle(moved, reference) < 1e-5);
        assert!(counts.steps <= few.steps + few.steps / 4 + 5, "{} against {}", counts.steps, few.steps);
        let (long, ..) = tumble(&mut Bdf::default(), 20.0, 1e-10, 1.0);
        let (coarse, _, changes) = tumble(&mut Bdf::default(), 20.0, 1e-7, 1.0);
        assert!(changes >= 15 && angle(coarse, long) < 1e-4, "{changes} {:.1e}", angle(coarse, long));
    }

    /// A point mass on the unit circle under gravity and a radial spring at rest length, held by
    /// coordinate splitting: P(q̇ − v) = 0, P(v̇ − f) = 0, G v = 0, g = 0 with P = (−y, x)/x.
    #[test]
    fn steps_are_those_of_dassl_on_a_constrained_point() {
        let residual = |s: &Stencil, y: &[f64]| {
            let r = y[0].hypot(y[1]);
            let pull = -(r - 1.0) / (1e-2 * r);
            let rate = |i: usize, eta: f64| s.slopes.q * y[i] + eta;
            let along = |x: f64, z: f64| z - y[1] / y[0] * x;
            [
                along(rate(0, s.eta_q[0]) - y[2], rate(1, s.eta_q[1]) - y[3]),
                along(rate(2, s.eta_v[0]) - pull * y[0], rate(3, s.eta_v[1]) - pull * y[1] + 1.0),
                y[0] * y[2] + y[1] * y[3],
                0.5 * (y[0] * y[0] + y[1] * y[1] - 1.0),
            ]
        };
        let ode = Ode { n: 2, nz: 0, rates: &|_, _, _| () };
        let mut p = ode.point(0.0, &[1.0, 0.0, 0.0, 0.0]);
        p.vdot[1] = -1.0;
        let weigh = |p: &Point| {
            let of = |x: f64| 1.0 / (1e-5 * x.abs() + 1e-5);
            Weights { q: vec![0.0, of(p.q[1])], v: vec![0.0, of(p.v[1])], ..Weights::default() }
        };
        let mut bdf = Bdf::new(BdfOptions { max_order: 2, ..Default::default() });
        bdf.start(&p, first_step(&p, &weigh(&p), 1.0));
        bdf.limit(1.0);
        let (mut steps, mut failures, mut law) = (0, 0, Stencil::default());
        while p.t < 1.0 {
            let weights = weigh(&p);
            let mut trial = p.clone();
            bdf.prepare(&mut law, &mut trial);
            law.rates(&mut trial);
            for _ in 0..6 {
                let mut y = ode.stack(&trial);
                let mut r = residual(&law, &y).to_vec();
                let mut jacobian = vec![vec![0.0; 4]; 4];
                for j in 0..4 {
                    y[j] += 1e-7;
                    let moved = residual(&law, &y);
                    y[j] -= 1e-7;
                    (0..4).for_each(|i| jacobian[i][j] = (moved[i] - r[i]) / 1e-7);
                }
                eliminate(&mut jacobian, &mut r);
                y.iter_mut().zip(&r).for_each(|(y, d)| *y -= d);
                ode.unstack(&y, &mut trial);
            }
            trial.t = law.t;
            match bdf.error(&trial, &weights) {
                e if e <= 1.0 => {
                    bdf.accept(&trial, &weights, &mut State::default());
                    p = trial;
                    steps += 1;
                }
                e => {
                    bdf.reject(Rejection::Error(e)).unwrap();
                    failures += 1;
                }
            }
        }
        // DASSL with its own, laxer Newton test: 50 steps and 1 failure
        assert_eq!((steps, failures), (50, 0));
        assert!((p.q[1] + 0.475809922943).abs() < 1e-3 && (p.v[1] + 0.85800803732).abs() < 1e-3);
    }
}
