//! Explicit Runge–Kutta stepping of ẏ = f(t, y), with error control, dense output and a watch for
//! stiffness [Hairer, Nørsett & Wanner 1993, II.4–II.6; Hairer & Wanner 1996, IV.2].
//!
//! A step is `attempt`, then `accept` or `reject`. After `accept` the state may be corrected
//! (`set_state`), and the dense output of the step prepared; both before the next attempt.

use super::clock::{Clock, ROUNDING, STRETCH};
use super::tableau::Tableau;
use super::{Rejection, StepCollapse};

const SAFETY: f64 = 0.9;
const SMALLEST_FACTOR: f64 = 0.2;
const LARGEST_FACTOR: f64 = 10.0;

/// Stiff after so many steps at the edge of stability …
const STIFF_STEPS: u32 = 15;
/// … without so many others between them.
const CALM_STEPS: u32 = 6;

/// As for the multistep methods: the step has shrunk to nothing by then.
const FAILURES: u32 = 25;

/// A method without an error estimate was asked to choose its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsFixedStep;

/// What was done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// The step that is wished for, the one that was attempted, and the last accepted one.
    h: f64,
    h_tried: f64,
    h_last: f64,
    t_tried: f64,
    /// y_n, y_{n−1}, and the end of the attempted step.
    y: Vec<f64>,
    y_last: Vec<f64>,
    y_tried: Vec<f64>,
    /// The stages, one after the other.
    k: Vec<f64>,
    /// Whether the first stage, and that at the end of the last step, are rates at y_n.
    first: bool,
    end: bool,
    /// The argument of the last stage before the end.
    argument: Vec<f64>,
    scratch: Vec<f64>,
    dense: Vec<f64>,
    dense_ready: bool,
    error: f64,
    error_last: f64,
    /// Attempts that failed in a row.
    failures: u32,
    unsettled: bool,
    stiff_steps: u32,
    calm_steps: u32,
    stiff: bool,
    counts: RungeKuttaCounts,
}

impl RungeKutta {
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
            h: 0.0,
            h_tried: 0.0,
            h_last: 0.0,
            t_tried: 0.0,
            y: Vec::new(),
            y_last: Vec::new(),
            y_tried: Vec::new(),
            k: Vec::new(),
            first: false,
            end: false,
            argument: Vec::new(),
            scratch: Vec::new(),
            dense: Vec::new(),
            dense_ready: false,
            error: 0.0,
            error_last: 0.0,
            failures: 0,
            unsettled: false,
            stiff_steps: 0,
            calm_steps: 0,
            stiff: false,
            counts: RungeKuttaCounts::default(),
        })
    }

    /// No step will be longer.
    pub fn set_max_step(&mut self, h: f64) {
        self.max_step = h;
    }

    /// Forgets everything and starts at (t, y) with step size `h`, which a fixed step overrides.
    pub fn start(&mut self, t: f64, y: &[f64], h: f64) {
        let (n, stages, terms) = (y.len(), self.tableau.a.len(), 4 + self.tableau.dense.len());
        self.clock = Clock::at(t);
        self.h = self.fixed_step.unwrap_or(h);
        (self.h_tried, self.h_last, self.t_tried) = (self.h, 0.0, t);
        for (buffer, size) in [
            (&mut self.y, n),
            (&mut self.y_last, n),
            (&mut self.y_tried, n),
            (&mut self.k, stages * n),
            (&mut self.argument, n),
            (&mut self.scratch, n),
            (&mut self.dense, terms * n),
        ] {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
        self.y.copy_from_slice(y);
        self.y_last.copy_from_slice(y);
        (self.first, self.end, self.unsettled, self.dense_ready) = (false, false, false, false);
        (self.error, self.error_last, self.failures) = (0.0, 1e-4, 0);
        (self.stiff_steps, self.calm_steps, self.stiff) = (0, 0, false);
        self.counts = RungeKuttaCounts::default();
    }

    /// The step must not pass this time.
    pub fn limit(&mut self, t_stop: f64) {
        self.clock.stop = t_stop;
    }

    /// Chooses the first step from the sizes of y, ẏ and ÿ [Hairer, Nørsett & Wanner 1993, II.4].
    pub fn choose_first_step<E>(&mut self, rates: &mut Rates<E>, norm: &dyn Fn(&[f64]) -> f64) -> Result<f64, E> {
        if self.fixed_step.is_some() {
            return Ok(self.h);
        }
        self.begin(rates)?;
        let n = self.y.len();
        let (d0, d1) = (norm(&self.y), norm(&self.k[..n]));
        let h0 = (if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 }).min(self.max_step);
        self.scratch.copy_from_slice(&self.y);
        add(h0, &self.k[..n], &mut self.scratch);
        let (first, rest) = self.k.split_at_mut(n);
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
        self.h = (100.0 * h0).min(h1).min(self.max_step);
        Ok(self.h)
    }

    /// Tries a step and returns its error in the given norm; up to 1 is acceptable. Zero for fixed
    /// steps. The end of the step can be read from [`RungeKutta::tried`].
    pub fn attempt<E>(&mut self, rates: &mut Rates<E>, norm: &dyn Fn(&[f64]) -> f64) -> Result<f64, E> {
        self.begin(rates)?;
        let (h, t) = self.next_step();
        (self.h_tried, self.t_tried) = (h, t);
        let (n, s) = (self.y.len(), self.tableau.stages);
        self.end = false;
        for i in 1..s {
            let (before, after) = self.k.split_at_mut(i * n);
            combine(&self.y, h, self.tableau.a[i], before, &mut self.argument);
            rates(self.clock.t + self.tableau.c[i] * h, i, &self.argument, &mut after[..n])?;
            self.counts.evaluations += 1;
        }
        combine(&self.y, h, self.tableau.b(), &self.k, &mut self.y_tried);
        self.error = 0.0;
        if self.fixed_step.is_none() {
            if self.tableau.estimates_with_end() {
                rates(t, s, &self.y_tried, &mut self.k[s * n..][..n])?;
                self.counts.evaluations += 1;
                self.end = true;
            }
            let mut sizes = [0.0; 2];
            for (size, e) in sizes.iter_mut().zip(self.tableau.errors) {
                self.scratch.fill(0.0);
                accumulate(h, e, &self.k, &mut self.scratch);
                *size = norm(&self.scratch);
            }
            // the two estimates of DOP853 become one of order h⁸; with one estimate this is itself
            let [e5, e3] = sizes;
            let both = (e5 * e5 + 0.01 * e3 * e3).sqrt();
            self.error = if both == 0.0 { 0.0 } else { e5 * (e5 / both) };
        }
        Ok(self.error)
    }

    /// The time and the state at the end of the attempted step.
    pub fn tried(&self) -> (f64, &[f64]) {
        (self.t_tried, &self.y_tried)
    }

    /// Takes the attempted step and chooses the next step size.
    pub fn accept(&mut self) {
        std::mem::swap(&mut self.y, &mut self.y_last);
        std::mem::swap(&mut self.y, &mut self.y_tried);
        let h = self.h_tried;
        self.clock.advance(h, self.t_tried);
        self.h_last = h;
        (self.first, self.dense_ready) = (false, false);
        self.unsettled = self.tableau.stability.is_some();
        self.counts.steps += 1;
        if self.end {
            self.watch();
        }
        if self.fixed_step.is_none() {
            let wish = h * self.growth();
            // a step that was cut to land says nothing against the wish before
            let cut = h < self.h.min(self.max_step);
            self.h = match (self.failures > 0, cut) {
                (true, _) => wish.min(h),
                (false, true) => wish.max(self.h),
                (false, false) => wish,
            };
            self.error_last = self.error.max(1e-4);
        }
        self.failures = 0;
    }

    /// Gives the attempted step up: after a large error, or a veto of the caller (a quarter of the
    /// step is tried next).
    pub fn reject(&mut self, why: Rejection) -> Result<(), StepCollapse> {
        self.counts.rejections += 1;
        self.failures += 1;
        self.end = false;
        if self.fixed_step.is_some() {
            return Err(StepCollapse);
        }
        let factor = match why {
            Rejection::Error(e) if e.is_finite() => (SAFETY * e.powf(-self.exponent())).clamp(SMALLEST_FACTOR, SAFETY),
            Rejection::Error(_) => SMALLEST_FACTOR,
            Rejection::Convergence => 0.25,
        };
        self.h = self.h_tried * factor;
        let hopeful = self.h > self.clock.resolution() && self.failures < FAILURES;
        if hopeful { Ok(()) } else { Err(StepCollapse) }
    }

    /// Replaces the state at the present time, after a projection or a change of charts. The rates
    /// at the end of the last step are then evaluated anew. For jumps use [`RungeKutta::start`].
    pub fn set_state(&mut self, y: &[f64]) {
        self.y.copy_from_slice(y);
        self.invalidate();
    }

    /// The rates at the present state are no longer what they were.
    pub fn invalidate(&mut self) {
        (self.first, self.end, self.dense_ready) = (false, false, false);
    }

    /// Prepares the dense output of the last accepted step, for which DOP853 needs three more
    /// evaluations. To be called before the next attempt; a second call does nothing.
    pub fn prepare_dense<E>(&mut self, rates: &mut Rates<E>) -> Result<(), E> {
        if self.dense_ready {
            return Ok(());
        }
        if self.h_last == 0.0 {
            let (start, rest) = self.dense.split_at_mut(self.y.len());
            start.copy_from_slice(&self.y);
            rest.fill(0.0);
            return Ok(());
        }
        self.finish(rates)?;
        let (n, s, h) = (self.y.len(), self.tableau.stages, self.h_last);
        let t = self.clock.t - h;
        for i in s + 1..self.tableau.a.len() {
            let (before, after) = self.k.split_at_mut(i * n);
            combine(&self.y_last, h, self.tableau.a[i], before, &mut self.scratch);
            rates(t + self.tableau.c[i] * h, i, &self.scratch, &mut after[..n])?;
            self.counts.evaluations += 1;
        }
        for i in 0..n {
            let change = self.y[i] - self.y_last[i];
            let bend = h * self.k[i] - change;
            let rest = change - h * self.k[s * n + i] - bend;
            for (j, term) in [self.y_last[i], change, bend, rest].into_iter().enumerate() {
                self.dense[j * n + i] = term;
            }
        }
        self.dense[4 * n..].fill(0.0);
        for (term, d) in self.dense[4 * n..].chunks_exact_mut(n.max(1)).zip(self.tableau.dense) {
            accumulate(h, d, &self.k, term);
        }
        self.dense_ready = true;
        Ok(())
    }

    /// The state inside the last accepted step, after [`RungeKutta::prepare_dense`].
    pub fn interpolate(&self, t: f64, out: &mut [f64]) {
        let n = self.y.len();
        let theta = if self.h_last == 0.0 { 0.0 } else { 1.0 + (t - self.clock.t) / self.h_last };
        out.fill(0.0);
        let mut c = 1.0;
        for (j, term) in self.dense.chunks_exact(n.max(1)).enumerate() {
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
        &self.y
    }

    /// The rates at the present state, if they are known without another evaluation.
    pub fn rates(&self) -> Option<&[f64]> {
        let n = self.y.len();
        match (self.first, self.end) {
            (true, _) => Some(&self.k[..n]),
            (false, true) => Some(&self.k[self.tableau.stages * n..][..n]),
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

    /// Whether the step size is held down by stability and not by accuracy: an implicit method
    /// would be faster. Stays true until the next start.
    pub fn stiff(&self) -> bool {
        self.stiff
    }

    /// The step that will be tried, and the time it leads to.
    fn next_step(&self) -> (f64, f64) {
        let slack = if self.fixed_step.is_some() { ROUNDING } else { STRETCH };
        self.clock.fit(self.h.min(self.max_step), slack)
    }

    /// Makes the first stage the rates at y_n.
    fn begin<E>(&mut self, rates: &mut Rates<E>) -> Result<(), E> {
        if self.first {
            return Ok(());
        }
        let (n, s) = (self.y.len(), self.tableau.stages);
        if self.unsettled {
            self.finish(rates)?;
        }
        if self.end {
            self.k.copy_within(s * n..(s + 1) * n, 0);
        } else {
            rates(self.clock.t, 0, &self.y, &mut self.k[..n])?;
            self.counts.evaluations += 1;
        }
        self.first = true;
        Ok(())
    }

    /// Makes the stage at the end of the last step the rates at y_n, while the others are kept.
    fn finish<E>(&mut self, rates: &mut Rates<E>) -> Result<(), E> {
        if !self.end {
            let (n, s) = (self.y.len(), self.tableau.stages);
            rates(self.clock.t, s, &self.y, &mut self.k[s * n..][..n])?;
            self.counts.evaluations += 1;
            self.end = true;
            self.watch();
        }
        Ok(())
    }

    /// Compares the rates at the end of the step with those of the last stage, at the same time:
    /// |λ| ≈ |Δk|/|Δy|.
    fn watch(&mut self) {
        let (true, Some(edge)) = (self.unsettled, self.tableau.stability) else { return };
        self.unsettled = false;
        let (n, s) = (self.y.len(), self.tableau.stages);
        let (before, end) = self.k[(s - 1) * n..(s + 1) * n].split_at(n);
        let rate = distance(end, before);
        let lambda = rate / distance(&self.y, &self.argument);
        if self.h_last * lambda > edge {
            self.calm_steps = 0;
            self.stiff_steps += 1;
            self.stiff |= self.stiff_steps >= STIFF_STEPS;
        } else {
            self.calm_steps += 1;
            if self.calm_steps >= CALM_STEPS {
                self.stiff_steps = 0;
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
        let previous = self.error_last.powf(0.2 / (self.tableau.error_order + 1) as f64);
        let factor = SAFETY * previous * self.error.max(1e-15).powf(-self.exponent());
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
mod tests {
    use super::super::tableau::{DORMAND_PRINCE_5, DORMAND_PRINCE_8, RK4};
    use super::*;
    use std::convert::Infallible;

    type Answer = Result<(), Infallible>;

    /// Two bodies in a plane, eccentricity 0.5, period 2π.
    fn kepler(_: f64, _: usize, y: &[f64], f: &mut [f64]) -> Answer {
        let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
        f.copy_from_slice(&[y[2], y[3], -y[0] / r3, -y[1] / r3]);
        Ok(())
    }
    const ORBIT: [f64; 4] = [0.5, 0.0, 0.0, 1.732_050_807_568_877_2];

    fn rms(tolerance: f64) -> impl Fn(&[f64]) -> f64 {
        move |e: &[f64]| (e.iter().map(|e| e * e).sum::<f64>() / e.len() as f64).sqrt() / tolerance
    }

    /// Runs to a time; `observe` sees every accepted step.
    fn run(
        method: &mut RungeKutta,
        rates: &mut Rates<Infallible>,
        y: &[f64],
        until: f64,
        tolerance: f64,
        observe: &mut dyn FnMut(&mut RungeKutta, &mut Rates<Infallible>),
    ) {
        let norm = rms(tolerance);
        method.start(0.0, y, 0.0);
        method.limit(until);
        method.choose_first_step(rates, &norm).unwrap();
        while method.time() < until {
            match method.attempt(rates, &norm).unwrap() {
                e if e <= 1.0 => {
                    method.accept();
                    observe(method, rates);
                }
                e => method.reject(Rejection::Error(e)).unwrap(),
            }
        }
        assert_eq!(method.time(), until);
    }

    #[test]
    fn fixed_steps_show_the_orders() {
        // Kepler's equation t = E − e sin E at E = 2.5
        let (e, root) = (2.5_f64, 0.75_f64.sqrt());
        let (until, rate) = (e - 0.5 * e.sin(), 1.0 / (1.0 - 0.5 * e.cos()));
        let exact = [e.cos() - 0.5, root * e.sin(), -rate * e.sin(), rate * root * e.cos()];
        for (tableau, steps) in [(&RK4, 100), (&DORMAND_PRINCE_5, 50), (&DORMAND_PRINCE_8, 10)] {
            let error = |steps: usize| {
                let mut method = RungeKutta::new(tableau, Some(until / steps as f64)).unwrap();
                run(&mut method, &mut kepler, &ORBIT, until, 1.0, &mut |_, _| ());
                assert_eq!(method.counts().steps, steps);
                distance(method.state(), &exact)
            };
            // over three halvings: single ones of DOP853 scatter from 7.4 to 8.8
            let (coarse, fine) = (error(steps), error(8 * steps));
            let measured = (coarse / fine).log2() / 3.0;
            assert!((measured - tableau.order as f64).abs() < 0.25, "{}: {coarse:.1e} {measured:.2}", tableau.name);
        }
    }

    #[test]
    fn accuracy_follows_the_tolerance() {
        for tableau in [&DORMAND_PRINCE_5, &DORMAND_PRINCE_8] {
            for tolerance in [1e-4, 1e-6, 1e-8, 1e-10] {
                let mut method = RungeKutta::new(tableau, None).unwrap();
                run(&mut method, &mut kepler, &ORBIT, std::f64::consts::TAU, tolerance, &mut |_, _| ());
                let error = distance(method.state(), &ORBIT);
                let RungeKuttaCounts { steps, rejections, evaluations } = method.counts();
                assert!(error < 1e3 * tolerance, "{}: {error:.1e} at {tolerance:.0e}", tableau.name);
                assert!(rejections <= 2 + steps / 5, "{rejections} of {steps}");
                // every stage once, the end of a step being the beginning of the next
                let per_attempt = tableau.stages;
                let expected = if tableau.stages == 6 {
                    2 + per_attempt * (steps + rejections)
                } else {
                    1 + (per_attempt - 1) * (steps + rejections) + steps
                };
                assert_eq!(evaluations, expected);
                assert!(!method.stiff());
            }
        }
        assert!(RungeKutta::new(&RK4, None).is_err());
    }

    #[test]
    fn dense_output_has_its_order() {
        for (tableau, h) in [(&RK4, 0.1), (&DORMAND_PRINCE_5, 0.2), (&DORMAND_PRINCE_8, 0.8)] {
            let error = |h: f64| {
                let mut method = RungeKutta::new(tableau, Some(h)).unwrap();
                let mut rates = |_: f64, _: usize, y: &[f64], f: &mut [f64]| -> Answer {
                    f.copy_from_slice(&[y[1], -y[0]]);
                    Ok(())
                };
                method.start(0.0, &[1.0, 0.0], h);
                method.attempt(&mut rates, &rms(1.0)).unwrap();
                method.accept();
                method.prepare_dense(&mut rates).unwrap();
                let mut out = [0.0; 2];
                method.interpolate(h, &mut out);
                assert!(distance(&out, method.state()) < 1e-15);
                let at = |s: f64| {
                    let mut out = [0.0; 2];
                    method.interpolate(s * h, &mut out);
                    (out[0] - (s * h).cos()).hypot(out[1] + (s * h).sin())
                };
                [0.0, 0.2, 0.5, 0.8].map(at).into_iter().fold(0.0, f64::max)
            };
            let measured = (error(h) / error(0.5 * h)).log2();
            let expected = tableau.dense_order as f64 + 1.0;
            assert!((measured - expected).abs() < 0.25, "{}: {measured:.2}", tableau.name);
        }
    }

    #[test]
    fn dense_output_along_an_orbit() {
        for (tableau, allowed) in [(&DORMAND_PRINCE_5, 1e-5), (&DORMAND_PRINCE_8, 1e-5)] {
            let mut method = RungeKutta::new(tableau, None).unwrap();
            let mut worst = 0.0_f64;
            run(&mut method, &mut kepler, &ORBIT, 5.0, 1e-8, &mut |m, rates| {
                m.prepare_dense(rates).unwrap();
                let before = m.counts().evaluations;
                m.prepare_dense(rates).unwrap();
                let mut y = [0.0; 4];
                for s in [0.1, 0.5, 0.9] {
                    m.interpolate(m.time() - s * m.h_last, &mut y);
                    let energy = 0.5 * (y[2] * y[2] + y[3] * y[3]) - 1.0 / y[0].hypot(y[1]);
                    worst = worst.max((energy + 0.5).abs());
                }
                assert_eq!(m.counts().evaluations, before);
            });
            assert!(worst < allowed, "{}: {worst:.1e}", tableau.name);
        }
    }

    #[test]
    fn stiffness_is_noticed_and_nothing_else() {
        for tableau in [&DORMAND_PRINCE_5, &DORMAND_PRINCE_8] {
            let mut method = RungeKutta::new(tableau, None).unwrap();
            let mut rates = |t: f64, _: usize, y: &[f64], f: &mut [f64]| -> Answer {
                f[0] = -1e4 * (y[0] - t.cos());
                Ok(())
            };
            run(&mut method, &mut rates, &[1.0], 1.0, 1e-4, &mut |_, _| ());
            assert!(method.stiff(), "{}", tableau.name);
            let mut swing = |_: f64, _: usize, y: &[f64], f: &mut [f64]| -> Answer {
                f.copy_from_slice(&[y[1], -1e4 * y[0]]);
                Ok(())
            };
            run(&mut method, &mut swing, &[1.0, 0.0], 3.0, 1e-6, &mut |_, _| ());
            assert!(!method.stiff(), "{}: fast oscillation is not stiffness", tableau.name);
        }
    }

    #[test]
    fn a_corrected_state_costs_at_most_one_evaluation() {
        for tableau in [&DORMAND_PRINCE_5, &DORMAND_PRINCE_8] {
            let mut method = RungeKutta::new(tableau, None).unwrap();
            let mut worst = 0.0_f64;
            run(&mut method, &mut kepler, &ORBIT, 10.0, 1e-6, &mut |m, _| {
                // back onto the energy of the start, along the velocity
                let mut y: [f64; 4] = m.state().try_into().unwrap();
                let speed2 = 2.0 * (1.0 / y[0].hypot(y[1]) - 0.5);
                let factor = (speed2 / (y[2] * y[2] + y[3] * y[3])).sqrt();
                (y[2], y[3]) = (y[2] * factor, y[3] * factor);
                worst = worst.max((factor - 1.0).abs());
                m.set_state(&y);
                assert_eq!(m.rates(), None);
            });
            let RungeKuttaCounts { steps, rejections, evaluations } = method.counts();
            assert!(worst > 0.0 && worst < 1e-4);
            // DOPRI5 had evaluated the end of the step already, DOP853 had not
            let per_attempt = if tableau.stages == 6 { 6 } else { 11 };
            assert_eq!(evaluations, 2 + per_attempt * (steps + rejections) + steps - 1);
        }
    }

    #[test]
    fn failures_and_vetoes_shorten_the_step() {
        let mut method = RungeKutta::new(&DORMAND_PRINCE_5, None).unwrap();
        method.start(1.0, &ORBIT, 0.1);
        method.attempt(&mut kepler, &rms(1.0)).unwrap();
        method.reject(Rejection::Convergence).unwrap();
        assert_eq!(method.step_size(), 0.025);
        method.attempt(&mut kepler, &rms(1.0)).unwrap();
        method.reject(Rejection::Error(f64::NAN)).unwrap();
        assert!((method.step_size() - 0.005).abs() < 1e-15);
        let mut nan = |_: f64, _: usize, _: &[f64], f: &mut [f64]| -> Answer {
            f.fill(f64::NAN);
            Ok(())
        };
        method.start(1.0, &ORBIT, 0.1);
        let mut failures = 0;
        loop {
            let e = method.attempt(&mut nan, &rms(1.0)).unwrap();
            assert!(e.is_nan());
            failures += 1;
            if method.reject(Rejection::Error(e)).is_err() {
                break;
            }
        }
        assert!((15..=25).contains(&failures), "{failures}");
        let mut fails = |_: f64, _: usize, _: &[f64], _: &mut [f64]| Err("singular");
        method.start(0.0, &ORBIT, 0.1);
        assert_eq!(method.attempt(&mut fails, &rms(1.0)), Err("singular"));
    }

    #[test]
    fn landing_does_not_spoil_the_step_size() {
        let mut method = RungeKutta::new(&DORMAND_PRINCE_5, None).unwrap();
        let norm = rms(1e-6);
        method.start(0.0, &ORBIT, 0.05);
        let mut steps = Vec::new();
        for stop in [1.0, 1.0001, 1.0002, 2.0] {
            method.limit(stop);
            while method.time() < stop {
                match method.attempt(&mut kepler, &norm).unwrap() {
                    e if e <= 1.0 => {
                        method.accept();
                        steps.push(method.h_last);
                    }
                    e => method.reject(Rejection::Error(e)).unwrap(),
                }
            }
            assert_eq!(method.time(), stop);
        }
        let sliver = steps.iter().position(|h| (h - 1e-4).abs() < 1e-9).unwrap();
        assert!(steps[sliver + 2] > 0.02, "{steps:?}");
    }
}
