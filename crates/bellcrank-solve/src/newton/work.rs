//! The work of an iteration: residuals, matrices, factors and solutions.

use super::convergence::{Convergence, Limits, amplified};
use super::fallback::CheapFirst;
use super::refresh::{KEPT, Quality, Refresh};
use super::{Converged, Counts, Economy, Iteration, IterationError, MatrixLoan, Newton, PhaseClock, Residual};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::linear::solver::{self, LinearError, LinearSolver};
use bellcrank_math::tape::Tape;
use std::sync::Arc;

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

    /// From now on these rows of multipliers are left out of every matrix.
    pub fn leave_out(&mut self, rows: Option<&[usize]>) {
        self.linear.leave_out(rows);
        self.forget_matrix();
    }

    /// x ← J⁻¹ x with the last factors: how the solution follows its equations.
    pub fn respond(&mut self, x: &mut [f64]) -> Result<(), LinearError> {
        self.linear.solve_with(&self.matrix, x)
    }

    /// Tells a tape what it remembers.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.iteration);
        tape.plain(&mut self.counts);
        tape.plain(&mut self.last);
        tape.number(&mut self.pivot);
        tape.plain(&mut self.refresh);
        tape.plain(&mut self.convergence);
        let factors = self.refresh.has_factors();
        self.linear.keep(tape, factors);
        if factors {
            tape.numbers(&mut self.matrix.values);
        }
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

    pub(super) fn fall_back(&mut self) -> bool {
        let leaves = self.linear.fall_back();
        if leaves {
            self.forget_matrix();
        }
        leaves
    }

    /// Whether present factors are worth keeping for the next solve.
    pub(super) fn keeps(&self) -> bool {
        let flops = self.linear.flops();
        self.refresh.keeps(&Quality {
            economy: self.economy,
            iterations: self.last.iterations,
            contraction: self.convergence.contraction(),
            factor: flops.factor,
            solve: flops.solve,
            of_two: self.linear.is_cheap(),
        })
    }

    /// Whether [`Iteration::Full`] asks for a new matrix.
    pub(super) fn is_worn(&self, iteration: usize) -> bool {
        let serves = match self.economy {
            Economy::Resembling => self.convergence.serves(),
            Economy::Exact => self.convergence.serves() && !self.refresh.renews(),
            Economy::Careful | Economy::Dassl => false,
        };
        self.iteration == Iteration::Full && iteration > 0 && !serves
    }

    /// What the last correction is judged by; `formed` tells whether its matrix was formed for it.
    pub(super) fn limits<R: Residual + ?Sized>(&self, of: &R, fresh: bool, formed: bool) -> Limits {
        let (resembling, kept) = (self.economy == Economy::Resembling, self.refresh.is_kept());
        Limits {
            economy: self.economy,
            fresh,
            kept: resembling && kept && !self.linear.has_cheap(),
            first_may_do: resembling && !kept,
            exact: (self.economy == Economy::Exact && !formed).then(|| of.exact()),
            round_off: of.round_off(),
            stagnation: self.stagnation(of),
        }
    }

    /// A correction of this size that stops shrinking is accepted: near a singular position rounding is amplified by the
    /// inverse of the smallest pivot.
    pub(super) fn stagnation<R: Residual + ?Sized>(&self, of: &R) -> f64 {
        of.stagnation().max(amplified(of.rounding(), self.pivot))
    }

    pub(super) fn evaluate<R: Residual + ?Sized>(&mut self, of: &mut R) {
        let from = self.clock.now();
        of.residual(&mut self.residual);
        self.clock.book(from, |s| &mut s.residuals);
        self.counts.residuals += 1;
    }

    pub(super) fn solve_again(&mut self) -> Result<(), IterationError> {
        let from = self.clock.now();
        self.linear.solve_with(&self.matrix, &mut self.residual).map_err(IterationError::Linear)?;
        self.clock.book(from, |s| &mut s.solutions);
        Ok(())
    }

    /// Forms the matrix, factors it and solves for the residual.
    pub(super) fn form_and_solve<R: Residual + ?Sized>(
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
