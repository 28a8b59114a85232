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

mod control;

use super::clock::{Clock, ROUNDING, STRETCH};
use super::recent::{KEPT, Recent};
use super::{Method, Rejection, StepCollapse};
use crate::stencil::Stencil;
use crate::weights::Weights;
use bellcrank_math::tape::Tape;
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::dynamics::{ChartChange, ChartMove};
use bellcrank_model::{Point, Slopes, State};
use control::BdfEstimate;
use std::f64::consts::TAU;
use std::ops::Range;

/// The highest order that is zero-stable enough to be of use.
pub const HIGHEST_ORDER: usize = 5;

/// y and k + 1 differences of it.
const COLUMNS: usize = HIGHEST_ORDER + 2;

/// DASSL gives up after this many convergence failures in a row.
const CONVERGENCE_FAILURES: u32 = 10;

/// We give up after this many failed error tests, when the step has shrunk by 4⁻²⁵ ≈ 10⁻¹⁵.
const ERROR_FAILURES: u32 = 25;

/// The errors of all steps of a run may add up to this many tolerances, before anything is known of how they grow.
pub const SHARED: f64 = 10.0;

/// What the error of a step of size h may be, in tolerances, where the steps of a run of length T share a sum S: min(1, S h/T),
/// for undamped motions, in which all local errors last. The opening steps are tiny and few, and get 10⁻⁴ at least. A leeway
/// multiplies it, between a least share and three tolerances.
pub(crate) fn share(h: f64, run: f64, sum: f64, (leeway, least): (f64, f64)) -> f64 {
    ((sum * h / run).clamp(1e-4, 1.0) * leeway).clamp(least, 3.0)
}

/// The least share of a step: 10⁻⁵, and no less than what rounding leaves of the tolerance.
pub fn least_share(rtol: f64) -> f64 {
    (1e-12 / rtol).clamp(LEAST_SHARE, 1.0)
}

const LEAST_SHARE: f64 = 1e-5;

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
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
    /// min(1, 10 h/T) tolerances, times a leeway that is set from outside.
    pub horizon: Option<f64>,
    /// The least error that a step is asked for then, in tolerances: see [`least_share`].
    pub least_share: f64,
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
            least_share: LEAST_SHARE,
        }
    }
}

/// DASSL's first step: h = min(10⁻³ `span`, ½/‖ẏ‖).
pub fn first_step(at: &Point, weights: &Weights, span: f64) -> f64 {
    let rate = weights.norm(&at.qdot, &at.vdot, &at.zdot);
    (1e-3 * span).min(0.5 / rate)
}

/// The BDF method. Its many fields are the memory of a multistep method: history, coefficients, control.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Bdf {
    options: BdfOptions,
    clock: Clock,
    /// The step that is prepared or will be tried next.
    next: OrderAndStep,
    /// The last accepted step; of order 0 before the first.
    last: OrderAndStep,
    pace: BdfPace,
    /// ψ_i(n), i = 1 … k_last + 1, at i − 1.
    psi: [f64; COLUMNS],
    /// φ_i(n), i = 1 … k_last + 2, one after the other.
    phi: Vec<f64>,
    coefficients: BdfCoefficients,
    /// The sizes of q, v and z.
    sizes: [usize; 3],
    work: Work,
    lambda: Recent,
    mu: Recent,
    /// How many times its share a step may err, where the steps of a run share their errors.
    leeway: f64,
}

/// Order and size of a step, and the time it leads to.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct OrderAndStep {
    k: usize,
    h: f64,
    t: f64,
}

/// What order and step size depend on, beside the errors.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct BdfPace {
    /// How many steps of this size and order were taken, up to k + 2.
    equal_steps: usize,
    /// The opening phase: the order rises and the step doubles with every step.
    opening: bool,
    /// An error test has failed, and since then there were not yet k + 2 equal steps.
    careful: bool,
    estimate: Option<BdfEstimate>,
    /// The size of the step that last failed the error test, and how many steps this is kept in mind.
    refused: f64,
    patience: u32,
    error_failures: u32,
    convergence_failures: u32,
    /// How many tolerances rounding may be.
    blur: f64,
}

/// Vectors of the size of y: λ and μ stand behind q, v, z as in DASSL, or not at all.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Work {
    /// y⁰.
    prediction: Vec<f64>,
    /// y − y⁰.
    correction: Vec<f64>,
    scratch: Vec<f64>,
    /// The mean of y − y⁰ over the last steps, scaled to the present step size.
    mean: Vec<f64>,
    /// What it becomes when the present step is accepted.
    next_mean: Vec<f64>,
}

/// The coefficients of one step, index i − 1 standing for i.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct BdfCoefficients {
    psi: [f64; COLUMNS],
    beta: [f64; COLUMNS],
    gamma: [f64; COLUMNS],
    sigma: [f64; COLUMNS],
    /// The error is `error`·‖y − y⁰‖.
    error: f64,
    equal_steps: usize,
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
            next: OrderAndStep { k: 1, h: 0.0, t: 0.0 },
            last: OrderAndStep::default(),
            pace: BdfPace { opening: true, ..BdfPace::default() },
            psi: [0.0; COLUMNS],
            phi: Vec::new(),
            coefficients: BdfCoefficients::default(),
            sizes: [0; 3],
            work: Work::default(),
            lambda: Recent::default(),
            mu: Recent::default(),
            leeway: 1.0,
        }
    }

    /// What was chosen.
    pub fn options(&self) -> BdfOptions {
        self.options
    }

    /// The order of the last accepted step; zero before the first.
    pub fn last_order(&self) -> usize {
        self.last.k
    }

    /// The size of the last accepted step; zero before the first.
    pub fn last_step(&self) -> f64 {
        self.last.h
    }

    /// The step that will be tried, and the time it leads to.
    fn next_step(&self) -> (f64, f64) {
        let slack = if self.options.fixed_step.is_some() { ROUNDING } else { STRETCH };
        self.clock.fit(self.next.h.min(self.options.max_step), slack)
    }

    fn size(&self) -> usize {
        self.work.prediction.len()
    }

    fn norm(&self, weights: &Weights, y: &[f64]) -> f64 {
        let [n, m, nz] = self.sizes;
        weights.norm(&y[..n], &y[n..n + m], &y[n + m..][..nz])
    }

    /// y − y⁰.
    fn measure(&mut self, p: &Point) {
        let Work { correction, prediction, .. } = &mut self.work;
        each_part(p, correction.len(), |at, y| {
            for ((e, y), predicted) in correction[at.clone()].iter_mut().zip(y).zip(&prediction[at]) {
                *e = y - predicted;
            }
        });
    }

    /// φ_i(n+1) from φ*_i and the correction, from the highest down.
    fn update(&mut self, p: &Point) {
        let (k, size) = (self.next.k, self.size());
        let beta = &self.coefficients.beta;
        let (below, top) = self.phi.split_at_mut((k + 1) * size);
        top[..size].copy_from_slice(&self.work.correction);
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
        each_part(p, size, |at, y| self.phi[at].copy_from_slice(y));
    }
}

/// The parts of y = (q, v, z), with λ and μ behind it, as far as the first `size` numbers go, and their places.
fn each_part(p: &Point, size: usize, mut work: impl FnMut(Range<usize>, &[f64])) {
    let mut from = 0;
    for part in [&p.q, &p.v, &p.z, &p.lambda, &p.mu] {
        let n = part.len().min(size - from);
        work(from..from + n, &part[..n]);
        from += n;
    }
}

/// y += c x.
fn add(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

impl Method for Bdf {
    fn keep(&mut self, tape: &mut Tape) {
        tape.plain(self);
    }

    fn start(&mut self, at: &Point, h: f64) {
        let h = self.options.fixed_step.unwrap_or(h).min(self.options.max_step);
        let multipliers = if self.options.as_dassl { at.lambda.len() + at.mu.len() } else { 0 };
        let size = at.q.len() + at.v.len() + at.z.len() + multipliers;
        self.clock = Clock::at(at.t);
        (self.next.k, self.next.h, self.last.k, self.last.h) = (1, h, 0, 0.0);
        (self.pace.equal_steps, self.pace.opening, self.pace.estimate) = (0, true, None);
        (self.pace.error_failures, self.pace.convergence_failures) = (0, 0);
        (self.pace.careful, self.pace.patience) = (false, 0);
        let Work { prediction, correction, scratch, mean, next_mean } = &mut self.work;
        for buffer in [prediction, correction, scratch, mean, next_mean] {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        self.phi.clear();
        self.phi.resize(COLUMNS * size, 0.0);
        each_part(at, size, |place, y| self.phi[place].copy_from_slice(y));
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
        (self.next.h, self.next.t) = (h, t);
        self.pace.estimate = None;
        let k = self.next.k;
        let equal = h == self.last.h && k == self.last.k;
        let c = &mut self.coefficients;
        c.equal_steps = (if equal { self.pace.equal_steps } else { 0 } + 1).min(self.last.k + 2);

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
        let size = self.work.prediction.len();
        let Work { prediction, scratch, .. } = &mut self.work;
        // β₁ = 1 and γ₁ = 0
        prediction.copy_from_slice(&self.phi[..size]);
        scratch.fill(0.0);
        for i in 1..=k {
            let (beta, gamma) = (c.beta[i], c.gamma[i] * c.beta[i]);
            for ((y, rate), x) in prediction.iter_mut().zip(&mut *scratch).zip(&self.phi[i * size..][..size]) {
                *y += beta * x;
                *rate += gamma * x;
            }
        }
        let [n, m, nz] = self.sizes;
        law.resize(n, m, nz);
        (law.t, law.h, law.slopes) = (t, h, Slopes { q: slope, v: slope, z: slope });
        let parts = [(&mut law.eta_q, 0..n), (&mut law.eta_v, n..n + m), (&mut law.eta_z, n + m..n + m + nz)];
        for (eta, at) in parts {
            for ((eta, rate), y) in eta.iter_mut().zip(&scratch[at.clone()]).zip(&prediction[at]) {
                *eta = rate - slope * y;
            }
        }
        self.predict(guess);
        if law.velocities_follow {
            law.rates_and_velocities(guess);
        }
    }

    fn predict(&self, guess: &mut Point) {
        let [n, m, nz] = self.sizes;
        guess.q.copy_from_slice(&self.work.prediction[..n]);
        guess.v.copy_from_slice(&self.work.prediction[n..n + m]);
        let (z, multipliers) = self.work.prediction[n + m..].split_at(nz);
        guess.z.copy_from_slice(z);
        if self.options.as_dassl {
            let all = guess.lambda.iter_mut().chain(&mut guess.mu);
            all.zip(multipliers).for_each(|(x, predicted)| *x = *predicted);
            return;
        }
        // as smooth as the rest: with linear extrapolation the error of λ hides from the first correction
        self.lambda.extrapolate(self.next.t, self.next.k + 1, &mut guess.lambda);
        self.mu.extrapolate(self.next.t, self.next.k + 1, &mut guess.mu);
    }

    /// The last positions and velocities, moved on by the velocities; reactions of a start may belong to what dies out
    /// within the step.
    fn predict_positions(&self, guess: &mut Point) {
        let ([n, m, nz], y) = (self.sizes, &self.phi);
        guess.v.copy_from_slice(&y[n..n + m]);
        for i in 0..n {
            guess.q[i] = y[i] + self.next.h * y[n + i];
        }
        guess.z.copy_from_slice(&y[n + m..][..nz]);
        if self.last.k == 0 {
            guess.lambda.fill(0.0);
            guess.mu.fill(0.0);
        } else {
            self.lambda.extrapolate(self.next.t, 1, &mut guess.lambda);
            self.mu.extrapolate(self.next.t, 1, &mut guess.mu);
        }
    }

    fn error(&mut self, p: &Point, weights: &Weights) -> f64 {
        if self.options.fixed_step.is_some() {
            return 0.0;
        }
        self.measure(p);
        let (estimate, error) = self.estimate(weights);
        self.pace.estimate = Some(estimate);
        error
    }

    fn blur(&mut self, admitted: f64) {
        self.pace.blur = admitted;
    }

    fn accept(&mut self, p: &Point, weights: &Weights, state: &mut State) {
        self.measure(p);
        let (k, h) = (self.next.k, self.next.h);
        let raised = k == self.last.k + 1;
        if let Some(fixed) = self.options.fixed_step {
            self.update(p);
            self.next.k = (k + 1).min(self.options.max_order);
            self.next.h = fixed;
        } else {
            let estimate = match self.pace.estimate.take() {
                Some(estimate) => estimate,
                None => self.estimate(weights).0,
            };
            self.choose(estimate, raised, weights);
            std::mem::swap(&mut self.work.mean, &mut self.work.next_mean);
            // the differences of the step that was taken, in its own order
            let next = std::mem::replace(&mut self.next.k, k);
            self.update(p);
            self.next.k = next;
        }
        self.clock.advance(h, self.next.t);
        self.psi = self.coefficients.psi;
        self.pace.equal_steps = self.coefficients.equal_steps;
        (self.last.k, self.last.h) = (k, h);
        (self.pace.error_failures, self.pace.convergence_failures) = (0, 0);
        self.lambda.push(self.next.t, &p.lambda, KEPT);
        self.mu.push(self.next.t, &p.mu, KEPT);
        p.store_motion(state);
    }

    fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse> {
        if self.options.fixed_step.is_some() {
            return Err(StepCollapse);
        }
        self.pace.opening = false;
        match why {
            Rejection::Convergence => {
                self.pace.convergence_failures += 1;
                self.next.h *= 0.25;
            }
            Rejection::Error(_) => {
                self.pace.error_failures += 1;
                self.pace.careful = !self.options.as_dassl;
                self.pace.refused = self.next.h;
                self.pace.patience = if self.options.as_dassl { 0 } else { control::STEPS_KEPT_AWAY };
                let advice = self.pace.estimate.take().filter(|e| e.error.is_finite());
                match (self.pace.error_failures, advice) {
                    (1, Some(e)) => {
                        self.next.k = e.order;
                        self.next.h *= (0.9 * self.growth(e.error * e.part, e.order)).clamp(0.25, 0.9);
                    }
                    (1 | 2, e) => {
                        self.next.k = e.map_or(self.next.k, |e| e.order);
                        self.next.h *= 0.25;
                    }
                    _ => {
                        self.next.k = 1;
                        self.next.h *= 0.25;
                    }
                }
            }
        }
        let resolved = self.next.h > self.clock.resolution();
        let hopeful =
            self.pace.convergence_failures < CONVERGENCE_FAILURES && self.pace.error_failures < ERROR_FAILURES;
        if resolved && hopeful { Ok(()) } else { Err(StepCollapse) }
    }

    /// The polynomial through y_n, …, y_{n−k}. The charts of `out` stay as they are.
    fn interpolate(&self, t: f64, out: &mut State) {
        let ([n, m, nz], size) = (self.sizes, self.size());
        out.t = t;
        // before the first step there is the start and its rates
        let (from, last) = (t - self.clock.t, self.last.k.max(1));
        let mut c = [1.0; COLUMNS];
        for i in 1..=last {
            // Π (t − t_{n−j})/ψ_{j+1}
            c[i] = c[i - 1] * ((from + if i == 1 { 0.0 } else { self.psi[i - 2] }) / self.psi[i - 1]);
        }
        for (x, at) in [(&mut out.q, 0..n), (&mut out.v, n..n + m), (&mut out.z, n + m..n + m + nz)] {
            x.resize(at.len(), 0.0);
            x.copy_from_slice(&self.phi[at.clone()]);
            for i in 1..=if at.is_empty() { 0 } else { last } {
                add(c[i], &self.phi[i * size..][at.clone()], x);
            }
        }
    }

    fn recentre(&mut self, change: &ChartChange) {
        let (points, size) = (self.last.k + 2, self.size());
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

    fn set_leeway(&mut self, leeway: f64) {
        self.leeway = leeway;
    }

    fn step_size(&self) -> f64 {
        self.next_step().0
    }

    fn order(&self) -> usize {
        self.next.k
    }

    /// What Newton leaves adds up like the errors of the steps.
    fn precision(&self) -> f64 {
        (1.0 / self.strictness()).min(1.0)
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
mod tests;
