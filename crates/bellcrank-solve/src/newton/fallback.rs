//! A cheap solver that is good for most steps, with a robust one behind it.

use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::linear::solver::{Flops, LinearError, LinearSolver, Wants};
use bellcrank_math::tape::Tape;
use std::sync::Arc;

/// Number of factorizations by the robust solver after the cheap one failed.
const REPRIEVE: usize = 50;

/// From this many unknowns on only one of the two has factors at a time: to analyze anew takes less than the steps in between.
const VAST: usize = 100_000;

/// A solve of more iterations than this counts against the cheap solver.
const SLOW: usize = 5;

/// The solver of a step's matrices: a robust one, and perhaps a cheap one that is used while it does.
pub struct CheapFirst {
    robust: Box<dyn LinearSolver>,
    cheap: Option<Box<dyn LinearSolver>>,
    /// Factorizations to go before the cheap solver is tried again.
    reprieve: usize,
    /// Whether the last solve took too many iterations with it.
    slow: bool,
    is_vast: bool,
}

impl CheapFirst {
    /// A robust solver alone, for this many unknowns.
    pub(super) fn new(robust: Box<dyn LinearSolver>, unknowns: usize) -> CheapFirst {
        CheapFirst { robust, cheap: None, reprieve: 0, slow: false, is_vast: unknowns > VAST }
    }

    /// Puts a cheap solver in front.
    pub(super) fn prefer(&mut self, cheap: Box<dyn LinearSolver>) {
        self.cheap = Some(cheap);
    }

    /// Whether there is a cheap solver, in use or not.
    pub(super) fn has_cheap(&self) -> bool {
        self.cheap.is_some()
    }

    /// Whether the cheap solver is in use.
    pub(super) fn is_cheap(&self) -> bool {
        self.cheap.is_some() && self.reprieve == 0
    }

    /// The solver in use.
    pub(super) fn active(&self) -> &dyn LinearSolver {
        match &self.cheap {
            Some(cheap) if self.reprieve == 0 => &**cheap,
            _ => &*self.robust,
        }
    }

    fn active_mut(&mut self) -> &mut dyn LinearSolver {
        match &mut self.cheap {
            Some(cheap) if self.reprieve == 0 => &mut **cheap,
            _ => &mut *self.robust,
        }
    }

    /// Leaves the cheap solver for a while; false if it was not in use. There are no factors then.
    pub(super) fn fall_back(&mut self) -> bool {
        let leaves = self.is_cheap();
        if leaves {
            self.cheap.iter_mut().filter(|_| self.is_vast).for_each(|cheap| cheap.release());
            self.reprieve = REPRIEVE;
        }
        leaves
    }

    /// Notes how many iterations a solve took.
    pub(super) fn note(&mut self, iterations: usize) {
        self.slow = iterations > SLOW;
    }

    /// Whether the last solve took too many iterations; asked once.
    pub(super) fn was_slow(&mut self) -> bool {
        std::mem::take(&mut self.slow)
    }

    /// Counts a factorization that decides the rank against the reprieve.
    fn pass(&mut self) {
        if self.reprieve > 0 {
            self.reprieve -= 1;
            if self.reprieve == 0 && self.is_vast {
                self.robust.release();
            }
        }
    }
}

impl LinearSolver for CheapFirst {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        self.robust.analyze(pattern)?;
        self.cheap.iter_mut().try_for_each(|cheap| cheap.analyze(pattern))
    }

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        self.robust.leave_out(rows);
        self.cheap.iter_mut().for_each(|cheap| cheap.leave_out(rows));
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.pass();
        self.active_mut().factor(a)
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.active_mut().refactor(a)
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        self.active_mut().solve(b)
    }

    fn solve_with(&mut self, a: &BlockMatrix, b: &mut [f64]) -> Result<(), LinearError> {
        self.active_mut().solve_with(a, b)
    }

    fn factor_and_solve(&mut self, a: &BlockMatrix, b: &mut [f64], anew: bool) -> Result<(), LinearError> {
        if anew {
            self.pass();
        }
        self.active_mut().factor_and_solve(a, b, anew)
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        tape.count(&mut self.reprieve);
        tape.flag(&mut self.slow);
        let cheap = self.is_cheap();
        self.robust.keep(tape, factors && !cheap);
        if let Some(solver) = &mut self.cheap {
            solver.keep(tape, factors && cheap);
        }
    }

    fn release(&mut self) {
        self.cheap.iter_mut().for_each(|cheap| cheap.release());
        self.robust.release();
    }

    fn dropped(&self) -> &[usize] {
        self.active().dropped()
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.active().smallest_kept_pivot()
    }

    fn smallest_multiplier_pivot(&self) -> f64 {
        self.active().smallest_multiplier_pivot()
    }

    fn reveals_rank(&self) -> bool {
        self.active().reveals_rank()
    }

    fn wants(&self) -> Wants {
        self.active().wants()
    }

    fn name(&self) -> &'static str {
        self.active().name()
    }

    fn explain(&self) -> String {
        self.active().explain()
    }

    fn flops(&self) -> Flops {
        self.active().flops()
    }
}
