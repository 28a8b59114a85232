//! A linear solver that waits for its first matrix: where it may never be needed, its analysis is spared.

use crate::blocks::{BlockMatrix, BlockPattern};
use crate::solver::{self, Flops, LinearError, LinearSolver};
use std::sync::Arc;

/// The solver that [`solver::choose`] gives, analyzed when the first matrix is factored.
pub fn choose(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Lazy { pattern: pattern.clone(), solver: None, make: solver::choose })
}

/// The same with the solver that [`solver::choose_nearly_symmetric`] gives.
pub fn choose_nearly_symmetric(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Lazy { pattern: pattern.clone(), solver: None, make: solver::choose_nearly_symmetric })
}

struct Lazy {
    pattern: Arc<BlockPattern>,
    solver: Option<Box<dyn LinearSolver>>,
    make: fn(&Arc<BlockPattern>) -> Box<dyn LinearSolver>,
}

impl Lazy {
    fn solver(&mut self) -> &mut dyn LinearSolver {
        self.solver.get_or_insert_with(|| (self.make)(&self.pattern)).as_mut()
    }
}

impl LinearSolver for Lazy {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = Lazy { pattern: pattern.clone(), solver: None, make: self.make };
        Ok(())
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.solver().factor(a)
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.solver().refactor(a)
    }

    fn factor_and_solve(&mut self, a: &BlockMatrix, b: &mut [f64], anew: bool) -> Result<(), LinearError> {
        self.solver().factor_and_solve(a, b, anew)
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        self.solver().solve(b)
    }

    fn release(&mut self) {
        self.solver = None;
    }

    fn looks_above(&self) -> bool {
        self.solver.as_ref().is_none_or(|s| s.looks_above())
    }

    fn borrows(&self) -> bool {
        self.solver.as_ref().is_some_and(|s| s.borrows())
    }

    fn dropped(&self) -> &[usize] {
        self.solver.as_ref().map_or(&[], |s| s.dropped())
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.solver.as_ref().map_or(f64::INFINITY, |s| s.smallest_kept_pivot())
    }

    fn smallest_multiplier_pivot(&self) -> f64 {
        self.solver.as_ref().map_or(f64::INFINITY, |s| s.smallest_multiplier_pivot())
    }

    fn reveals_rank(&self) -> bool {
        self.solver.as_ref().is_none_or(|s| s.reveals_rank())
    }

    fn name(&self) -> &'static str {
        self.solver.as_ref().map_or("none yet", |s| s.name())
    }

    fn explain(&self) -> String {
        self.solver.as_ref().map_or_else(String::new, |s| s.explain())
    }

    fn flops(&self) -> Flops {
        self.solver.as_ref().map_or(Flops::default(), |s| s.flops())
    }
}
