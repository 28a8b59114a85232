//! One Newton loop for everything: steps, statics, interfaces.
//!
//! The loop is here; when to stop is told in `convergence`, when to form a matrix in `refresh`, and which linear
//! solver to fall back on in `fallback`.

mod convergence;
mod fallback;
mod iteration;
mod refresh;
mod residual;
mod timing;

pub use convergence::Converged;
pub(crate) use convergence::amplified;
pub use iteration::{Iteration, NAMES};
pub use refresh::Economy;
pub use residual::{MatrixLoan, Residual, SetParts, Wants};
pub use timing::{PhaseClock, PhaseSeconds};

use bellcrank_math::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::solver::{self, LinearError, LinearSolver};
use convergence::{Convergence, Limits, Verdict};
use fallback::CheapFirst;
use refresh::{KEPT, Quality, Refresh};
use std::sync::Arc;

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

/// Counts of work over all solves.
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

/// Newton's iteration with its matrix, its factors and what it remembers of their quality.
pub struct Newton {
    /// How matrices are formed and kept.
    pub iteration: Iteration,
    /// Most iterations of a solve.
    pub max_iterations: usize,
    /// What a solve takes for granted about earlier ones.
    pub economy: Economy,
    /// The work so far.
    pub counts: Counts,
    /// What the last solve that converged took.
    pub last: Converged,
    /// The smallest relative pivot of a multiplier in the last factors that tell it.
    pub pivot: f64,
    /// The time spent in each phase.
    pub clock: PhaseClock,
    linear: CheapFirst,
    matrix: BlockMatrix,
    residual: Vec<f64>,
    refresh: Refresh,
    convergence: Convergence,
}

impl Newton {
    /// A loop for residuals with this pattern.
    pub fn new(pattern: Arc<BlockPattern>, iteration: Iteration, max_iterations: usize) -> Newton {
        let linear = solver::choose(&pattern);
        Newton::with_solver(linear, pattern, iteration, max_iterations)
    }

    /// The same with matrices that are taken for symmetric.
    pub fn nearly_symmetric(pattern: Arc<BlockPattern>, iteration: Iteration, max_iterations: usize) -> Newton {
        let linear = solver::choose_nearly_symmetric(&pattern);
        Newton::with_solver(linear, pattern, iteration, max_iterations)
    }

    /// The same with this linear solver.
    pub fn with_solver(
        linear: Box<dyn LinearSolver>,
        pattern: Arc<BlockPattern>,
        iteration: Iteration,
        max_iterations: usize,
    ) -> Newton {
        Newton {
            iteration,
            max_iterations,
            economy: Economy::default(),
            counts: Counts::default(),
            last: Converged::default(),
            pivot: f64::INFINITY,
            clock: PhaseClock::default(),
            linear: CheapFirst::new(linear, pattern.dimension()),
            residual: vec![0.0; pattern.dimension()],
            matrix: BlockMatrix::new(pattern),
            refresh: Refresh::default(),
            convergence: Convergence::default(),
        }
    }

    /// Puts a cheaper solver for the same matrices in front, to be used while it converges well.
    pub fn prefer(&mut self, cheap: Box<dyn LinearSolver>) {
        self.linear.prefer(cheap);
    }

    /// The linear solver in use, for reports of what it dropped.
    pub fn linear(&self) -> &dyn LinearSolver {
        self.linear.active()
    }

    /// x ← J⁻¹ x with the last factors: how the solution follows its equations.
    pub fn respond(&mut self, x: &mut [f64]) -> Result<(), LinearError> {
        self.linear.solve_with(&self.matrix, x)
    }

    /// Frees matrix and factors of large machines; further steps make them anew.
    pub fn release(&mut self) {
        if self.linear.has_cheap() {
            self.linear.release();
            self.matrix.values = Vec::new();
            self.forget_matrix();
        }
    }

    /// The matrix will be formed anew before it is used again.
    pub fn forget_matrix(&mut self) {
        self.convergence.forget();
        self.refresh.forget();
    }

    fn fall_back(&mut self) -> bool {
        let leaves = self.linear.fall_back();
        if leaves {
            self.forget_matrix();
        }
        leaves
    }

    /// Whether present factors are worth keeping for the next solve.
    fn keeps(&self) -> bool {
        let flops = self.linear.flops();
        self.refresh.keeps(&Quality {
            economy: self.economy,
            contraction: self.convergence.contraction(),
            factor: flops.factor,
            solve: flops.solve,
            of_two: self.linear.is_cheap(),
        })
    }

    /// Solves r(x) = 0 from the present x. A failure with an old matrix is tried once more from the same start with a fresh
    /// one, and with the robust linear solver if it was not in use; `restart` puts the start back.
    pub fn solve<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        mut restart: impl FnMut(&mut R),
    ) -> Result<Converged, IterationError> {
        let slope = of.slope();
        let full = self.iteration == Iteration::Full && !self.keeps();
        self.refresh.drop_stale(slope, self.economy, full);
        if self.linear.was_slow() {
            self.fall_back();
        }
        let fresh = self.refresh.begin();
        match self.iterate(of, slope, fresh) {
            Err(IterationError::Diverged | IterationError::NotFinite) if !fresh => {
                self.forget_matrix();
                restart(of);
                let again = self.iterate(of, slope, true);
                if again.is_err() && self.fall_back() {
                    restart(of);
                    return self.iterate(of, slope, true);
                }
                again
            }
            Err(_) if self.fall_back() => {
                restart(of);
                self.iterate(of, slope, true)
            }
            result => {
                self.linear.note(result.map_or(0, |c| c.iterations));
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
        self.convergence.begin(slope, self.economy);
        for iteration in 0..self.max_iterations {
            self.evaluate(of);
            if !self.refresh.has_factors() || self.is_worn(iteration) {
                // which rows are redundant is decided once in a solve
                self.form_and_solve(of, slope, iteration == 0)?;
            } else {
                self.solve_again()?;
            }
            self.counts.flops += self.linear.flops().solve;
            if let Some(c) = self.refresh.overshoot(slope) {
                self.residual.iter_mut().for_each(|x| *x *= c);
            }
            let size = of.size(&self.residual);
            if !size.is_finite() {
                return Err(IterationError::NotFinite);
            }
            let fraction = of.step_fraction(&self.residual, size);
            if fraction < 1.0 {
                self.residual.iter_mut().for_each(|x| *x *= fraction);
            }
            of.correct(&self.residual);
            self.counts.iterations += 1;
            if fraction < 1.0 {
                self.convergence.cut_short(iteration);
                continue;
            }
            let limits = self.limits(of, fresh);
            match self.convergence.judge(size, iteration, limits) {
                Verdict::Continue => {}
                Verdict::Diverged => return Err(IterationError::Diverged),
                Verdict::Converged { took, worn } => {
                    if worn {
                        self.refresh.forget();
                    }
                    return self.done(took);
                }
            }
        }
        if fresh && of.rounding() > 0.0 && self.convergence.last_size() <= self.stagnation(of) {
            return self.done(Converged { iterations: self.max_iterations, rate: 0.0, contraction: 1.0 });
        }
        Err(IterationError::Diverged)
    }

    fn done(&mut self, took: Converged) -> Result<Converged, IterationError> {
        self.last = took;
        Ok(took)
    }

    /// Whether [`Iteration::Full`] asks for a new matrix.
    fn is_worn(&self, iteration: usize) -> bool {
        let serves = self.economy == Economy::Resembling && self.convergence.serves();
        self.iteration == Iteration::Full && iteration > 0 && !serves
    }

    fn limits<R: Residual + ?Sized>(&self, of: &R, fresh: bool) -> Limits {
        let (resembling, kept) = (self.economy == Economy::Resembling, self.refresh.is_kept());
        Limits {
            economy: self.economy,
            fresh,
            kept: resembling && kept && !self.linear.has_cheap(),
            first_may_do: resembling && !kept,
            round_off: of.round_off(),
            stagnation: self.stagnation(of),
        }
    }

    /// A correction of this size that stops shrinking is accepted: near a singular position rounding is amplified by the
    /// inverse of the smallest pivot.
    fn stagnation<R: Residual + ?Sized>(&self, of: &R) -> f64 {
        of.stagnation().max(amplified(of.rounding(), self.pivot))
    }

    fn evaluate<R: Residual + ?Sized>(&mut self, of: &mut R) {
        let from = self.clock.now();
        of.residual(&mut self.residual);
        self.clock.book(from, |s| &mut s.residuals);
        self.counts.residuals += 1;
    }

    fn solve_again(&mut self) -> Result<(), IterationError> {
        let from = self.clock.now();
        self.linear.solve_with(&self.matrix, &mut self.residual).map_err(IterationError::Linear)?;
        self.clock.book(from, |s| &mut s.solutions);
        Ok(())
    }

    /// Forms the matrix, factors it and solves for the residual.
    fn form_and_solve<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        slope: f64,
        decide: bool,
    ) -> Result<(), IterationError> {
        let from = self.clock.now();
        let mut loan = MatrixLoan::new(&mut self.matrix, self.linear.wants());
        of.jacobian(self.iteration, &mut loan);
        self.clock.book(from, |s| &mut s.matrices);
        self.counts.jacobians += 1;
        self.counts.factorizations += 1;
        self.refresh.forget();
        let from = self.clock.now();
        // where one step resembles the next, so does its rank
        let same_rank = self.economy == Economy::Resembling
            && self.convergence.is_measured()
            && !self.counts.factorizations.is_multiple_of(KEPT);
        let solved = self.linear.factor_and_solve(loan.matrix(), &mut self.residual, decide && !same_rank);
        drop(loan);
        solved.map_err(IterationError::Linear)?;
        self.counts.flops += self.linear.flops().factor;
        let pivot = self.linear.smallest_multiplier_pivot();
        if pivot.is_finite() {
            self.pivot = pivot;
        }
        self.clock.book(from, |s| &mut s.factors);
        self.refresh.formed(slope);
        self.convergence.forget_rate();
        Ok(())
    }
}
