//! A linear solver that waits for its first matrix: where it may never be needed, its analysis is spared.

use crate::blocks::{BlockMatrix, BlockPattern};
use crate::solver::{self, Flops, LinearError, LinearSolver};
use std::sync::Arc;

/// The solver that [`solver::choose`] gives, analyzed when the first matrix is factored.
pub fn choose(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Lazy { pattern: pattern.clone(), solver: None })
}

struct Lazy {
    pattern: Arc<BlockPattern>,
    solver: Option<Box<dyn LinearSolver>>,
}

impl Lazy {
    fn solver(&mut self) -> &mut dyn LinearSolver {
        self.solver.get_or_insert_with(|| solver::choose(&self.pattern)).as_mut()
    }
}

impl LinearSolver for Lazy {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = Lazy { pattern: pattern.clone(), solver: None };
        Ok(())
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.solver().factor(a)
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.solver().refactor(a)
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        self.solver().solve(b)
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
