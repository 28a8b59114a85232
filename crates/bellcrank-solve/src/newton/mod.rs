//! One Newton loop for everything: steps, statics, interfaces.

use bellcrank_math::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::solver::{self, LinearError, LinearSolver};
use std::sync::Arc;
use std::time::Instant;

/// How a matrix is formed and how long it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// A new matrix in every iteration.
    Full,
    /// A matrix is kept, over steps too, while it serves.
    Simplified,
    /// Coordinate splitting: like `Simplified`, with the reactions eliminated by the split,
    /// λ = −(GY)⁻ᵀYᵀ(M v̇ − f), in residuals and matrices: Newton's iteration for P(M v̇ − f) = 0
    /// [Yen & Petzold 1998].
    CoordinateSplit,
    /// Like `CoordinateSplit`, but the matrix lacks (Gᵀλ)_q and (Gᵀμ)_q: the CM iteration
    /// [Yen & Petzold 1998].
    CoordinateModified,
    /// Like `Simplified`, but matrices are formed on the manifold: at the prediction projected onto
    /// g = 0, with the least-squares multipliers of that point.
    Auto,
}

/// All iterations with their names.
const ALL: &[(Iteration, &str)] = &[
    (Iteration::Auto, "auto"),
    (Iteration::Full, "full"),
    (Iteration::Simplified, "simplified"),
    (Iteration::CoordinateSplit, "cs"),
    (Iteration::CoordinateModified, "cm"),
];

/// The names of all iterations.
pub const NAMES: &[&str] = &["auto", "full", "simplified", "cs", "cm"];

impl Iteration {
    /// The iteration of a name.
    pub fn by_name(name: &str) -> Option<Iteration> {
        ALL.iter().find(|(_, n)| *n == name).map(|(i, _)| *i)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(i, _)| *i == self).map_or("", |(_, n)| n)
    }

    /// Whether the multipliers are eliminated by a split of the coordinates.
    pub fn splits(self) -> bool {
        matches!(self, Iteration::CoordinateSplit | Iteration::CoordinateModified)
    }
}

/// Equations r(x) = 0 that hold their present x themselves.
pub trait Residual {
    /// r at the present x.
    fn residual(&mut self, r: &mut [f64]);
    /// ∂r/∂x at the present x; `j` comes cleared, but for what it [`Self::sets`]. Where not the whole is wanted, columns of multipliers in the rows of others
    /// may be left alone.
    fn jacobian(&mut self, iteration: Iteration, whole: bool, j: &mut BlockMatrix);
    /// Whether the Jacobian sets all blocks in the rows of bodies, but for columns of multipliers, and all in the rows of
    /// multipliers at the end, so that they need not be cleared.
    fn sets(&self) -> [bool; 2] {
        [false; 2]
    }
    /// Takes back what it lent to the matrix of [`Self::jacobian`], where that [`BlockMatrix::borrows`].
    fn take_back(&mut self, j: &mut BlockMatrix) {
        let _ = j;
    }
    /// x ← x − dx, a retraction where x holds rotations.
    fn correct(&mut self, dx: &[f64]);
    /// The size of a correction in units of the tolerance, over the unknowns that decide.
    fn size(&self, dx: &[f64]) -> f64;
    /// The part of a correction of some size that may be applied at once.
    fn part(&self, dx: &[f64], size: f64) -> f64 {
        let _ = (dx, size);
        1.0
    }
    /// A correction of this size is round-off.
    fn round_off(&self) -> f64 {
        0.0
    }
    /// A correction of this size that shrinks no more is taken where the matrix is close to singular:
    /// rounding does not let it become smaller.
    fn stagnation(&self) -> f64 {
        0.0
    }
    /// The size of a unit of rounding of the solution, where its amplification close to singular positions is to be allowed for.
    fn rounding(&self) -> f64 {
        0.0
    }
    /// The slope α of the rates, for which the matrix is formed.
    fn slope(&self) -> f64 {
        1.0
    }
}

/// What a solve took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Converged {
    /// Iterations.
    pub iterations: usize,
    /// The last estimate of the contraction, (‖Δ_m‖/‖Δ_1‖)^{1/(m−1)}.
    pub rate: f64,
    /// The ratio of the last two corrections.
    pub contraction: f64,
}

/// Why a solve gave up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IterationError {
    /// The corrections do not shrink, or too slowly.
    Diverged,
    /// The matrix could not be factored.
    Linear(LinearError),
    /// The residual is not finite.
    NotFinite,
}

/// A contraction, the first correction it was measured on, and how often it was trusted.
#[derive(Clone, Copy)]
struct Measured {
    contraction: f64,
    on: f64,
    trusted: usize,
}

/// Counts of work, kept over all solves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Residual evaluations.
    pub residuals: usize,
    /// Jacobian evaluations.
    pub jacobians: usize,
    /// Factorizations.
    pub factorizations: usize,
    /// Iterations.
    pub iterations: usize,
    /// Multiplications and additions of the linear solver.
    pub flops: usize,
}

/// DASSL: a matrix is useful while α/α₀ lies in [3/5, 5/3].
const REFRESH: f64 = 5.0 / 3.0;
/// Ours: beyond a tenth, the third iteration that an old slope takes costs more than a matrix (bushing ladder,
/// 56 runs: 30042 evaluations instead of 30967).
const REFRESH_EARLY: f64 = 1.1;
/// DASSL: an iteration that contracts worse than this has failed.
const SLOWEST: f64 = 0.9;
/// DASSL: the estimated remaining error, in units of the tolerance, at which to stop.
const ENOUGH: f64 = 0.33;

/// A matrix that contracts worse than this is formed anew for the next step: one more factorization
/// costs less than the iterations it saves (seven-body at rtol 1e-8: 3.9 → 2.2 evaluations per step).
const AGING: f64 = 0.005;

/// A first correction is taken for the last where the contraction that was measured last leaves this much less than
/// is enough, and is no larger than twice the one it was measured on. It is measured anew after so many solves.
const MARGIN: f64 = 0.1;
const LIKE: f64 = 2.0;
const REMEMBERED: usize = 20;

/// Factors that cost more than so many solutions serve so many solves (net of 100 × 100: 8.4 ms a step instead of 14); of
/// two systems half as many, because a solution counts twice there and a residual does not. What kept factors leave hides in
/// λ, so that there is always a second correction, and less is enough: else the energy of that net errs by 4.8e-4 J, and so
/// by 8.7e-5 J, as with fresh factors.
const DEAR: usize = 8;
const KEPT: usize = 10;
const KEPT_ENOUGH: f64 = 0.01;

/// A matrix that is to serve a whole solve is formed anew where it contracts worse than this.
const SERVES: f64 = 0.1;

/// Where the cheaper solver failed, the next matrices are solved whole.
const PATIENCE: usize = 50;

/// From so many unknowns on only one of the two has factors at a time: their analysis takes less than the steps in between.
const VAST: usize = 100_000;

/// And where it took more iterations than this.
const SLOW: usize = 5;

/// Constraints with a pivot below this part of what it was summed from are close to singular.
const CLOSE: f64 = 1e-4;

/// What rounding of a size becomes where the smallest pivot of the constraints is this small: corrections of the square chain 1e-4 s
/// before a singular position (pivot 2.2e-6) stop at 30 times ε/pivot.
pub(crate) fn amplified(rounding: f64, pivot: f64) -> f64 {
    if pivot < CLOSE { 100.0 * rounding / pivot.max(f64::EPSILON) } else { 0.0 }
}

/// Newton's iteration with its matrix, its factors and what it remembers of their quality.
pub struct Newton {
    /// How matrices are formed and kept.
    pub iteration: Iteration,
    /// When to give up.
    pub max_iterations: usize,
    /// The work so far.
    pub counts: Counts,
    /// What the last solve that converged took.
    pub last: Converged,
    linear: Box<dyn LinearSolver>,
    /// A cheaper solver that is good for most steps, and for how many matrices it is not used.
    split: Option<Box<dyn LinearSolver>>,
    whole: usize,
    /// Whether it took the last solve too many iterations.
    slow: bool,
    matrix: BlockMatrix,
    residual: Vec<f64>,
    /// The slope of the present factors; `None`: there are none.
    formed_at: Option<f64>,
    /// The last estimate of ρ/(1 − ρ).
    remaining: f64,
    /// The slope of the last solve.
    last_slope: f64,
    /// DASSL takes the contraction of earlier steps for granted while matrix and step size are kept, and
    /// stops after one iteration; it also keeps a matrix however slowly it contracts. With constraints
    /// the multipliers hide the error: a pendulum at rtol 1e-4 took 1153 steps to an error of 2e-2 that
    /// way, and 190 steps to 1e-3 without. So it is off by default, and on for the papers' counts.
    pub trust_old_contraction: bool,
    /// For large models in fixed steps: a matrix of `Full` serves a whole solve, and as one step resembles the next, a
    /// first correction may be the last. On small ones it costs accuracy where matrices are kept over steps.
    pub once: bool,
    /// What is known of the contraction, in such solves.
    measured: Option<Measured>,
    /// For how many solves the present factors have served.
    age: usize,
    /// The smallest pivot of a multiplier in the last factors that told it.
    pub pivot: f64,
    /// Seconds of residuals, matrices, factorizations with a first solution, and other solutions, where they are measured.
    pub seconds: Option<[f64; 4]>,
}

impl Newton {
    /// A loop for residuals with this pattern.
    pub fn new(pattern: Arc<BlockPattern>, iteration: Iteration, max_iterations: usize) -> Newton {
        let linear = solver::choose(&pattern);
        Newton::by(linear, pattern, iteration, max_iterations)
    }

    /// The same with matrices that are taken for symmetric.
    pub fn nearly_symmetric(pattern: Arc<BlockPattern>, iteration: Iteration, max_iterations: usize) -> Newton {
        let linear = solver::choose_nearly_symmetric(&pattern);
        Newton::by(linear, pattern, iteration, max_iterations)
    }

    /// The same with a linear solver of one's own.
    pub fn by(
        linear: Box<dyn LinearSolver>,
        pattern: Arc<BlockPattern>,
        iteration: Iteration,
        max_iterations: usize,
    ) -> Newton {
        Newton {
            iteration,
            max_iterations,
            counts: Counts::default(),
            last: Converged::default(),
            residual: vec![0.0; pattern.dimension()],
            matrix: BlockMatrix::new(pattern),
            linear,
            split: None,
            whole: 0,
            slow: false,
            formed_at: None,
            remaining: 100.0,
            last_slope: 0.0,
            trust_old_contraction: false,
            once: false,
            measured: None,
            age: 0,
            seconds: None,
            pivot: f64::INFINITY,
        }
    }

    /// The time, where it is measured.
    fn clock(&self) -> Option<Instant> {
        self.seconds.is_some().then(Instant::now)
    }

    /// Books the time since `from` for a phase.
    fn book(&mut self, phase: usize, from: Option<Instant>) {
        if let (Some(seconds), Some(from)) = (&mut self.seconds, from) {
            seconds[phase] += from.elapsed().as_secs_f64();
        }
    }

    /// Whether factors serve the next solve too: where they cost many solutions, and contract well enough.
    fn keeps(&self) -> bool {
        let (flops, contraction) = (self.linear().flops(), self.measured.map_or(1.0, |m| m.contraction));
        let dear = if self.split.is_some() && self.whole == 0 { DEAR / 2 } else { DEAR };
        self.once && self.age + 1 < KEPT && contraction < SERVES && flops.factor > dear * flops.solve
    }

    /// A cheaper solver for the same matrices, to be used while it serves.
    pub fn prefer(&mut self, split: Box<dyn LinearSolver>) {
        self.split = Some(split);
    }

    /// The linear solver, for reports of what it dropped.
    pub fn linear(&self) -> &dyn LinearSolver {
        match &self.split {
            Some(split) if self.whole == 0 => &**split,
            _ => &*self.linear,
        }
    }

    /// Whether the factors of one solver are given back while another is used.
    fn is_vast(&self) -> bool {
        self.residual.len() > VAST
    }

    /// Leaves the cheaper solver for a while; false if it was not in use.
    fn take_whole(&mut self) -> bool {
        let leaves = self.split.is_some() && self.whole == 0;
        let vast = self.is_vast();
        if leaves {
            self.split.iter_mut().filter(|_| vast).for_each(|split| split.release());
            self.whole = PATIENCE;
            self.forget_matrix();
        }
        leaves
    }

    /// x ← J⁻¹ x with the last factors: how the solution follows its equations.
    pub fn respond(&mut self, x: &mut [f64]) -> Result<(), LinearError> {
        match &mut self.split {
            Some(split) if self.whole == 0 => split.solve_with(&self.matrix, x),
            _ => self.linear.solve_with(&self.matrix, x),
        }
    }

    /// Gives the memory of matrices and factors back, where the next ones can be made anew.
    pub fn release(&mut self) {
        if let Some(split) = &mut self.split {
            split.release();
            self.linear.release();
            self.matrix.values = Vec::new();
            self.forget_matrix();
        }
    }

    /// The matrix will be formed anew before it is used again.
    pub fn forget_matrix(&mut self) {
        self.measured = None;
        self.formed_at = None;
    }

    /// Solves r(x) = 0 from the present x. A failure with an old matrix is tried once more, from the
    /// same start, with a fresh one; `restart` puts that start back.
    pub fn solve<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        mut restart: impl FnMut(&mut R),
    ) -> Result<Converged, IterationError> {
        let slope = of.slope();
        let stale = self.formed_at.is_some_and(|a| {
            let (ratio, limit) = (slope / a, if self.trust_old_contraction { REFRESH } else { REFRESH_EARLY });
            let full = self.iteration == Iteration::Full && !self.keeps();
            full || !(1.0 / limit..=limit).contains(&ratio)
        });
        if stale {
            self.formed_at = None;
        }
        if std::mem::take(&mut self.slow) {
            self.take_whole();
        }
        let fresh = self.formed_at.is_none();
        self.age = if fresh { 0 } else { self.age + 1 };
        match self.iterate(of, slope, fresh) {
            Err(IterationError::Diverged | IterationError::NotFinite) if !fresh => {
                self.forget_matrix();
                restart(of);
                let again = self.iterate(of, slope, true);
                if again.is_err() && self.take_whole() {
                    restart(of);
                    return self.iterate(of, slope, true);
                }
                again
            }
            Err(_) if self.take_whole() => {
                restart(of);
                self.iterate(of, slope, true)
            }
            result => {
                self.slow = result.is_ok_and(|c| c.iterations > SLOW);
                result
            }
        }
    }

    fn iterate<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        slope: f64,
        fresh: bool,
    ) -> Result<Converged, IterationError> {
        let (mut first, mut before, mut far, mut serves) = (0.0, f64::INFINITY, 0, true);
        if !self.trust_old_contraction || slope != self.last_slope {
            self.remaining = 100.0;
        }
        self.last_slope = slope;
        for iteration in 0..self.max_iterations {
            let clock = self.clock();
            of.residual(&mut self.residual);
            self.book(0, clock);
            self.counts.residuals += 1;
            let worn = self.iteration == Iteration::Full && iteration > 0 && !(self.once && serves);
            if self.formed_at.is_none() || worn {
                // which rows are redundant is decided once in a solve
                self.form_and_solve(of, slope, iteration == 0)?;
            } else {
                let clock = self.clock();
                let mut residual = std::mem::take(&mut self.residual);
                let solved = self.respond(&mut residual);
                self.residual = residual;
                solved.map_err(IterationError::Linear)?;
                self.book(3, clock);
            }
            self.counts.flops += self.linear().flops().solve;
            // a matrix of another slope over- or undershoots by about this factor [Petzold 1982]
            if let Some(a) = self.formed_at
                && a != slope
            {
                let c = 2.0 / (1.0 + slope / a);
                self.residual.iter_mut().for_each(|x| *x *= c);
            }
            let size = of.size(&self.residual);
            if !size.is_finite() {
                return Err(IterationError::NotFinite);
            }
            let part = of.part(&self.residual, size);
            if part < 1.0 {
                // far away: what is left says nothing of how the iteration contracts
                self.residual.iter_mut().for_each(|x| *x *= part);
                of.correct(&self.residual);
                self.counts.iterations += 1;
                (far, before) = (iteration + 1, f64::INFINITY);
                continue;
            }
            of.correct(&self.residual);
            self.counts.iterations += 1;
            let mut rate = 0.0;
            let contraction = size / before;
            before = size;

            if iteration == far + 1 {
                self.measured = Some(Measured { contraction, on: first, trusted: 0 });
            }
            let kept = self.once && self.age > 0 && self.split.is_none();
            if size <= of.round_off() && !(kept && iteration == far) {
                self.last = Converged { iterations: iteration + 1, rate, contraction };
                return Ok(self.last);
            }
            if iteration == far {
                first = size;
                // not with factors of an earlier step: what they leave hides in λ (net of 30 × 30, kept for ten
                // steps: an error of 1.5e-5 instead of 1.3e-6)
                if let Some(m) = self.measured.as_mut().filter(|_| self.once && self.age == 0)
                    && m.trusted < REMEMBERED
                    && size <= LIKE * m.on
                    && m.contraction * size <= MARGIN * ENOUGH
                {
                    m.trusted += 1;
                    self.last = Converged { iterations: iteration + 1, rate, contraction: m.contraction };
                    return Ok(self.last);
                }
            } else {
                serves = contraction < SERVES;
                rate = (size / first).powf(1.0 / (iteration - far) as f64);
                if rate > SLOWEST && fresh && size <= self.stagnation(of) {
                    self.last = Converged { iterations: iteration + 1, rate, contraction };
                    return Ok(self.last);
                }
                if rate > SLOWEST {
                    return Err(IterationError::Diverged);
                }
                self.remaining = rate / (1.0 - rate);
            }
            if self.remaining * size <= if kept { KEPT_ENOUGH } else { ENOUGH } {
                if rate > AGING && !self.trust_old_contraction && !self.once {
                    self.formed_at = None;
                }
                self.last = Converged { iterations: iteration + 1, rate, contraction };
                return Ok(self.last);
            }
        }
        if fresh && of.rounding() > 0.0 && before <= self.stagnation(of) {
            self.last = Converged { iterations: self.max_iterations, rate: 0.0, contraction: 1.0 };
            return Ok(self.last);
        }
        Err(IterationError::Diverged)
    }

    /// A correction of this size that shrinks no more is taken: close to a singular position rounding is amplified by the
    /// inverse of the smallest pivot.
    fn stagnation<R: Residual + ?Sized>(&self, of: &R) -> f64 {
        of.stagnation().max(amplified(of.rounding(), self.pivot))
    }

    /// Forms the matrix, factors it and solves for the residual.
    fn form_and_solve<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        slope: f64,
        decide: bool,
    ) -> Result<(), IterationError> {
        let clock = self.clock();
        let whole = self.linear().looks_above();
        self.matrix.values.resize(self.matrix.pattern().values(), 0.0);
        let [bodies, multipliers] = of.sets();
        self.matrix.clear_parts([!bodies, !multipliers, whole]);
        self.matrix.borrows = self.linear().borrows();
        of.jacobian(self.iteration, whole, &mut self.matrix);
        self.book(1, clock);
        self.counts.jacobians += 1;
        self.counts.factorizations += 1;
        self.formed_at = None;
        let clock = self.clock();
        // where one step resembles the next, so does the rank
        let decide =
            decide && !(self.once && self.measured.is_some() && !self.counts.factorizations.is_multiple_of(KEPT));
        if decide && self.whole > 0 {
            self.whole -= 1;
            if self.whole == 0 && self.is_vast() {
                self.linear.release();
            }
        }
        let linear = match &mut self.split {
            Some(split) if self.whole == 0 => &mut **split,
            _ => &mut *self.linear,
        };
        let solved = linear.factor_and_solve(&self.matrix, &mut self.residual, decide);
        of.take_back(&mut self.matrix);
        solved.map_err(IterationError::Linear)?;
        self.counts.flops += self.linear().flops().factor;
        let pivot = self.linear().smallest_multiplier_pivot();
        if pivot.is_finite() {
            self.pivot = pivot;
        }
        self.book(2, clock);
        self.formed_at = Some(slope);
        self.remaining = 100.0;
        Ok(())
    }
}
