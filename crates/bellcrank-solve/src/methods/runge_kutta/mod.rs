//! Explicit Runge–Kutta stepping of ẏ = f(t, y), with error control, dense output and a watch for
//! stiffness [Hairer, Nørsett & Wanner 1993, II.4–II.6; Hairer & Wanner 1996, IV.2].
//!
//! A step is `attempt`, then `accept` or `reject`. After `accept` the state may be corrected
//! (`set_state`), and the dense output of the step prepared; both before the next attempt.

use super::clock::{Clock, ROUNDING, STRETCH};
use super::tableau::Tableau;
use super::{Rejection, StepCollapse};
use bellcrank_math::tape::Tape;

const SAFETY: f64 = 0.9;
const SMALLEST_FACTOR: f64 = 0.2;
const LARGEST_FACTOR: f64 = 10.0;

/// Stiff after this many steps at the edge of stability …
const STIFF_STEPS: u32 = 15;
/// … with fewer others than this in between.
const CALM_STEPS: u32 = 6;

/// As for the multistep methods: the step has shrunk to nothing by then.
const FAILURES: u32 = 25;

/// A method without an error estimate was asked to choose its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsFixedStep;

/// What was done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RungeKuttaCounts {
    /// Accepted steps.
    pub steps: usize,
    /// Rejected attempts.
    pub rejections: usize,
    /// Evaluations of the rates.
    pub evaluations: usize,
}

/// (t, stage, y, ẏ): writes f(t, y) into its last argument. Stage 0 stands at the beginning of a
/// step, stage `tableau.stages` at its end.
pub type Rates<'a, E> = dyn FnMut(f64, usize, &[f64], &mut [f64]) -> Result<(), E> + 'a;

/// An explicit Runge–Kutta method with its last step.
#[derive(Clone, Debug)]
pub struct RungeKutta {
    tableau: &'static Tableau,
    fixed_step: Option<f64>,
    max_step: f64,
    clock: Clock,
    size: StepSizes,
    y: States,
    stages: Stages,
    scratch: Vec<f64>,
    dense: Dense,
    control: StepControl,
    stiffness: Stiffness,
    counts: RungeKuttaCounts,
}

/// Step sizes: the one wished for, the one attempted with the time it leads to, and the last accepted one.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct StepSizes {
    wanted: f64,
    tried: f64,
    t_tried: f64,
    last: f64,
}

/// y_n, y_{n−1}, and the end of the attempted step.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct States {
    now: Vec<f64>,
    last: Vec<f64>,
    tried: Vec<f64>,
}

/// The stages, one after the other.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Stages {
    k: Vec<f64>,
    /// Whether the first stage, and that at the end of the last step, are rates at y_n.
    first: bool,
    end: bool,
    /// The argument of the last stage before the end.
    argument: Vec<f64>,
}

/// The dense output of the last step.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Dense {
    values: Vec<f64>,
    ready: bool,
}

/// What the next step size depends on.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct StepControl {
    error: f64,
    error_last: f64,
    /// Attempts that failed in a row.
    failures: u32,
    unsettled: bool,
}

/// The watch for stiffness.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Stiffness {
    stiff_steps: u32,
    calm_steps: u32,
    found: bool,
}

impl RungeKutta {
    /// Tells a tape its memory.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        tape.number(&mut self.max_step);
        tape.plain(&mut self.clock);
        tape.plain(&mut self.size);
        tape.plain(&mut self.y);
        tape.plain(&mut self.stages);
        tape.plain(&mut self.dense);
        tape.plain(&mut self.control);
        tape.plain(&mut self.stiffness);
        tape.plain(&mut self.counts);
    }

    /// A method that chooses its steps, or keeps one. [`RungeKutta::start`] sizes it.
    pub fn new(tableau: &'static Tableau, fixed_step: Option<f64>) -> Result<RungeKutta, NeedsFixedStep> {
        if fixed_step.is_none() && tableau.errors.is_empty() {
            return Err(NeedsFixedStep);
        }
        Ok(RungeKutta {
            tableau,
            fixed_step,
            max_step: f64::INFINITY,
            clock: Clock::at(0.0),
            size: StepSizes::default(),
            y: States::default(),
            stages: Stages::default(),
            scratch: Vec::new(),
            dense: Dense::default(),
            control: StepControl::default(),
            stiffness: Stiffness::default(),
            counts: RungeKuttaCounts::default(),
        })
    }

    /// Whether it chooses its steps.
    pub fn controls(&self) -> bool {
        self.fixed_step.is_none()
    }

    /// No step will be longer.
    pub fn set_max_step(&mut self, h: f64) {
        self.max_step = h;
    }

    /// Forgets everything and starts at (t, y) with step size `h`, which a fixed step overrides.
    pub fn start(&mut self, t: f64, y: &[f64], h: f64) {
        let (n, stages, terms) = (y.len(), self.tableau.a.len(), 4 + self.tableau.dense.len());
        self.clock = Clock::at(t);
        self.size.wanted = self.fixed_step.unwrap_or(h);
        (self.size.tried, self.size.last, self.size.t_tried) = (self.size.wanted, 0.0, t);
        for (buffer, size) in [
            (&mut self.y.now, n),
            (&mut self.y.last, n),
            (&mut self.y.tried, n),
            (&mut self.stages.k, stages * n),
            (&mut self.stages.argument, n),
            (&mut self.scratch, n),
            (&mut self.dense.values, terms * n),
        ] {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        self.y.now.copy_from_slice(y);
        self.y.last.copy_from_slice(y);
        (self.stages.first, self.stages.end, self.control.unsettled, self.dense.ready) = (false, false, false, false);
        (self.control.error, self.control.error_last, self.control.failures) = (0.0, 1e-4, 0);
        self.watch_anew();
        self.counts = RungeKuttaCounts::default();
    }

    /// The step must not pass this time.
    pub fn limit(&mut self, t_stop: f64) {
        self.clock.stop = t_stop;
    }

    /// Chooses the first step from the sizes of y, ẏ and ÿ [Hairer, Nørsett & Wanner 1993, II.4].
    pub fn choose_first_step<E>(&mut self, rates: &mut Rates<E>, norm: &dyn Fn(&[f64]) -> f64) -> Result<f64, E> {
        if self.fixed_step.is_some() {
            return Ok(self.size.wanted);
        }
        self.begin(rates)?;
        let n = self.y.now.len();
        let (d0, d1) = (norm(&self.y.now), norm(&self.stages.k[..n]));
        let h0 = (if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 }).min(self.max_step);
        self.scratch.copy_from_slice(&self.y.now);
        add(h0, &self.stages.k[..n], &mut self.scratch);
        let (first, rest) = self.stages.k.split_at_mut(n);
        rates(self.clock.t + h0, 1, &self.scratch, &mut rest[..n])?;
        self.counts.evaluations += 1;
        self.scratch.copy_from_slice(&rest[..n]);
        add(-1.0, first, &mut self.scratch);
        let d2 = norm(&self.scratch) / h0;
        let largest = d1.max(d2);
        let h1 = if largest <= 1e-15 {
            (1e-3 * h0).max(1e-6)
        } else {
            (0.01 / largest).powf(1.0 / (self.tableau.error_order + 1) as f64)
        };
        self.size.wanted = (100.0 * h0).min(h1).min(self.max_step);
        Ok(self.size.wanted)
    }

    /// Tries a step and returns its error in the given norm; up to 1 is acceptable. Zero for fixed
    /// steps. The end of the step can be read from [`RungeKutta::tried`].
    pub fn attempt<E>(&mut self, rates: &mut Rates<E>, norm: &dyn Fn(&[f64]) -> f64) -> Result<f64, E> {
        self.begin(rates)?;
        let (h, t) = self.next_step();
        (self.size.tried, self.size.t_tried) = (h, t);
        let (n, s) = (self.y.now.len(), self.tableau.stages);
        self.stages.end = false;
        for i in 1..s {
            let (before, after) = self.stages.k.split_at_mut(i * n);
            combine(&self.y.now, h, self.tableau.a[i], before, &mut self.stages.argument);
            // rounding must not take a stage past the end: there may be a jump behind it
            let stage =
                (self.clock.t + self.tableau.c[i] * h).min(if t == self.clock.stop { t } else { f64::INFINITY });
            rates(stage, i, &self.stages.argument, &mut after[..n])?;
            self.counts.evaluations += 1;
        }
        combine(&self.y.now, h, self.tableau.b(), &self.stages.k, &mut self.y.tried);
        self.control.error = 0.0;
        if self.fixed_step.is_none() {
            if self.tableau.estimates_with_end() {
                rates(t, s, &self.y.tried, &mut self.stages.k[s * n..][..n])?;
                self.counts.evaluations += 1;
                self.stages.end = true;
            }
            self.estimate(&mut |e| norm(e));
        }
        Ok(self.control.error)
    }

    /// The error of the attempted step in another norm, which then decides on the step size in the place of the first. The norm may
    /// change what it is shown.
    pub fn estimate(&mut self, norm: &mut dyn FnMut(&mut [f64]) -> f64) -> f64 {
        let mut sizes = [0.0; 2];
        for (size, e) in sizes.iter_mut().zip(self.tableau.errors) {
            self.scratch.fill(0.0);
            accumulate(self.size.tried, e, &self.stages.k, &mut self.scratch);
            *size = norm(&mut self.scratch);
        }
        // the two estimates of DOP853 become one of order h⁸; with one estimate this is itself
        let [e5, e3] = sizes;
        let both = (e5 * e5 + 0.01 * e3 * e3).sqrt();
        self.control.error = if both == 0.0 { 0.0 } else { e5 * (e5 / both) };
        self.control.error
    }

    /// The time and the state at the end of the attempted step.
    pub fn tried(&self) -> (f64, &[f64]) {
        (self.size.t_tried, &self.y.tried)
    }

    /// Takes the attempted step and chooses the next step size.
    pub fn accept(&mut self) {
        std::mem::swap(&mut self.y.now, &mut self.y.last);
        std::mem::swap(&mut self.y.now, &mut self.y.tried);
        let h = self.size.tried;
        self.clock.advance(h, self.size.t_tried);
        self.size.last = h;
        (self.stages.first, self.dense.ready) = (false, false);
        self.control.unsettled = self.tableau.stability.is_some();
        self.counts.steps += 1;
        if self.stages.end {
            self.watch();
        }
        if self.fixed_step.is_none() {
            let wish = h * self.growth();
            // a step that was cut to land says nothing against the wish before
            let cut = h < self.size.wanted.min(self.max_step);
            self.size.wanted = match (self.control.failures > 0, cut) {
                (true, _) => wish.min(h),
                (false, true) => wish.max(self.size.wanted),
                (false, false) => wish,
            };
            self.control.error_last = self.control.error.max(1e-4);
        }
        self.control.failures = 0;
    }

    /// Gives the attempted step up: after a large error, or a veto of the caller (a quarter of the
    /// step is tried next).
    pub fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse> {
        self.counts.rejections += 1;
        self.control.failures += 1;
        self.stages.end = false;
        if self.fixed_step.is_some() {
            return Err(StepCollapse);
        }
        let factor = match why {
            Rejection::Error(e) if e.is_finite() => (SAFETY * e.powf(-self.exponent())).clamp(SMALLEST_FACTOR, SAFETY),
            Rejection::Error(_) => SMALLEST_FACTOR,
            Rejection::Convergence => 0.25,
        };
        self.size.wanted = self.size.tried * factor;
        let hopeful = self.size.wanted > self.clock.resolution() && self.control.failures < FAILURES;
        if hopeful { Ok(()) } else { Err(StepCollapse) }
    }

    /// Replaces the state at the present time, after a projection or a change of charts. The rates
    /// at the end of the last step are then evaluated anew. For jumps use [`RungeKutta::start`].
    pub fn set_state(&mut self, y: &[f64]) {
        self.y.now.copy_from_slice(y);
        self.invalidate();
    }

    /// The rates at the present state are no longer what they were.
    pub fn invalidate(&mut self) {
        (self.stages.first, self.stages.end, self.dense.ready) = (false, false, false);
    }

    /// Prepares the dense output of the last accepted step, for which DOP853 needs three more
    /// evaluations. To be called before the next attempt; a second call does nothing.
    pub fn prepare_dense<E>(&mut self, rates: &mut Rates<E>) -> Result<(), E> {
        if self.dense.ready {
            return Ok(());
        }
        if self.size.last == 0.0 {
            let (start, rest) = self.dense.values.split_at_mut(self.y.now.len());
            start.copy_from_slice(&self.y.now);
            rest.fill(0.0);
            return Ok(());
        }
        self.finish(rates)?;
        let (n, s, h) = (self.y.now.len(), self.tableau.stages, self.size.last);
        let t = self.clock.t - h;
        for i in s + 1..self.tableau.a.len() {
            let (before, after) = self.stages.k.split_at_mut(i * n);
            combine(&self.y.last, h, self.tableau.a[i], before, &mut self.scratch);
            rates(t + self.tableau.c[i] * h, i, &self.scratch, &mut after[..n])?;
            self.counts.evaluations += 1;
        }
        for i in 0..n {
            let change = self.y.now[i] - self.y.last[i];
            let bend = h * self.stages.k[i] - change;
            let rest = change - h * self.stages.k[s * n + i] - bend;
            for (j, term) in [self.y.last[i], change, bend, rest].into_iter().enumerate() {
                self.dense.values[j * n + i] = term;
            }
        }
        self.dense.values[4 * n..].fill(0.0);
        for (term, d) in self.dense.values[4 * n..].chunks_exact_mut(n.max(1)).zip(self.tableau.dense) {
            accumulate(h, d, &self.stages.k, term);
        }
        self.dense.ready = true;
        Ok(())
    }

    /// The state inside the last accepted step, after [`RungeKutta::prepare_dense`].
    pub fn interpolate(&self, t: f64, out: &mut [f64]) {
        let n = self.y.now.len();
        let theta = if self.size.last == 0.0 { 0.0 } else { 1.0 + (t - self.clock.t) / self.size.last };
        out.fill(0.0);
        let mut c = 1.0;
        for (j, term) in self.dense.values.chunks_exact(n.max(1)).enumerate() {
            add(c, term, out);
            c *= if j % 2 == 0 { theta } else { 1.0 - theta };
        }
    }

    /// The present time.
    pub fn time(&self) -> f64 {
        self.clock.t
    }

    /// The present state.
    pub fn state(&self) -> &[f64] {
        &self.y.now
    }

    /// The rates at the present state, if they are known without another evaluation.
    pub fn rates(&self) -> Option<&[f64]> {
        let n = self.y.now.len();
        match (self.stages.first, self.stages.end) {
            (true, _) => Some(&self.stages.k[..n]),
            (false, true) => Some(&self.stages.k[self.tableau.stages * n..][..n]),
            _ => None,
        }
    }

    /// The step size that will be tried next.
    pub fn step_size(&self) -> f64 {
        self.next_step().0
    }

    /// The coefficients.
    pub fn tableau(&self) -> &'static Tableau {
        self.tableau
    }

    /// What was done since the start.
    pub fn counts(&self) -> RungeKuttaCounts {
        self.counts
    }

    /// The error of the last attempt; zero for fixed steps.
    pub fn error(&self) -> f64 {
        self.control.error
    }

    /// Whether the step size is held down by stability and not by accuracy: an implicit method
    /// would be faster. Stays true until the next start.
    pub fn stiff(&self) -> bool {
        self.stiffness.found
    }

    /// Watches for stiffness from here on as from a start.
    pub fn watch_anew(&mut self) {
        self.stiffness = Stiffness::default();
    }

    /// The step that will be tried, and the time it leads to.
    fn next_step(&self) -> (f64, f64) {
        let slack = if self.fixed_step.is_some() { ROUNDING } else { STRETCH };
        self.clock.fit(self.size.wanted.min(self.max_step), slack)
    }

    /// Makes the first stage the rates at y_n.
    fn begin<E>(&mut self, rates: &mut Rates<E>) -> Result<(), E> {
        if self.stages.first {
            return Ok(());
        }
        let (n, s) = (self.y.now.len(), self.tableau.stages);
        if self.control.unsettled {
            self.finish(rates)?;
        }
        if self.stages.end {
            self.stages.k.copy_within(s * n..(s + 1) * n, 0);
        } else {
            rates(self.clock.t, 0, &self.y.now, &mut self.stages.k[..n])?;
            self.counts.evaluations += 1;
        }
        self.stages.first = true;
        Ok(())
    }

    /// Makes the stage at the end of the last step the rates at y_n, while the others are kept.
    fn finish<E>(&mut self, rates: &mut Rates<E>) -> Result<(), E> {
        if !self.stages.end {
            let (n, s) = (self.y.now.len(), self.tableau.stages);
            rates(self.clock.t, s, &self.y.now, &mut self.stages.k[s * n..][..n])?;
            self.counts.evaluations += 1;
            self.stages.end = true;
            self.watch();
        }
        Ok(())
    }

    /// Compares the rates at the end of the step with those of the last stage, at the same time:
    /// |λ| ≈ |Δk|/|Δy|.
    fn watch(&mut self) {
        let (true, Some(edge)) = (self.control.unsettled, self.tableau.stability) else { return };
        self.control.unsettled = false;
        let (n, s) = (self.y.now.len(), self.tableau.stages);
        let (before, end) = self.stages.k[(s - 1) * n..(s + 1) * n].split_at(n);
        let rate = distance(end, before);
        let lambda = rate / distance(&self.y.now, &self.stages.argument);
        if self.size.last * lambda > edge {
            self.stiffness.calm_steps = 0;
            self.stiffness.stiff_steps += 1;
            self.stiffness.found |= self.stiffness.stiff_steps >= STIFF_STEPS;
        } else {
            self.stiffness.calm_steps += 1;
            if self.stiffness.calm_steps >= CALM_STEPS {
                self.stiffness.stiff_steps = 0;
            }
        }
    }

    /// 0.85/(q + 1): what is left of 1/(q + 1) for the present error in the PI controller.
    fn exponent(&self) -> f64 {
        0.85 / (self.tableau.error_order + 1) as f64
    }

    /// Gustafsson's PI controller, 0.9 e_n^{−0.85/(q+1)} e_{n−1}^{0.2/(q+1)}
    /// [Hairer & Wanner 1996, IV.2, eq. 2.43c].
    fn growth(&self) -> f64 {
        let previous = self.control.error_last.powf(0.2 / (self.tableau.error_order + 1) as f64);
        let factor = SAFETY * previous * self.control.error.max(1e-15).powf(-self.exponent());
        factor.clamp(SMALLEST_FACTOR, LARGEST_FACTOR)
    }
}

/// y += c x.
fn add(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// out += h Σ w_j k_j.
fn accumulate(h: f64, w: &[f64], k: &[f64], out: &mut [f64]) {
    for (w, k) in w.iter().zip(k.chunks_exact(out.len().max(1))) {
        if *w != 0.0 {
            add(h * w, k, out);
        }
    }
}

/// out = y + h Σ w_j k_j, the sum first, so that little is lost beside y.
fn combine(y: &[f64], h: f64, w: &[f64], k: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    accumulate(h, w, k, out);
    add(1.0, y, out);
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
