//! A linear solver that is analyzed when its first matrix is factored, for systems that may never be solved.

use super::blocks::{BlockMatrix, BlockPattern};
use super::solver::{self, Flops, LinearError, LinearSolver, Wants};
use crate::tape::Tape;
use std::sync::Arc;

/// [`solver::choose`], with the analysis deferred.
pub fn choose(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Deferred { pattern: pattern.clone(), solver: None, left_out: None, make: solver::choose })
}

/// [`solver::choose_nearly_symmetric`], with the analysis deferred.
pub fn choose_nearly_symmetric(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Deferred { pattern: pattern.clone(), solver: None, left_out: None, make: solver::choose_nearly_symmetric })
}

struct Deferred {
    pattern: Arc<BlockPattern>,
    solver: Option<Box<dyn LinearSolver>>,
    left_out: Option<Vec<usize>>,
    make: fn(&Arc<BlockPattern>) -> Box<dyn LinearSolver>,
}

impl Deferred {
    fn solver(&mut self) -> &mut dyn LinearSolver {
        let made = || {
            let mut solver = (self.make)(&self.pattern);
            solver.leave_out(self.left_out.as_deref());
            solver
        };
        self.solver.get_or_insert_with(made).as_mut()
    }
}

impl LinearSolver for Deferred {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        (self.pattern, self.solver) = (pattern.clone(), None);
        Ok(())
    }

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        self.left_out = rows.map(<[usize]>::to_vec);
        self.solver.iter_mut().for_each(|solver| solver.leave_out(rows));
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

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        tape.option(&mut self.solver, || Some((self.make)(&self.pattern)));
        if let Some(solver) = &mut self.solver {
            solver.keep(tape, factors);
        }
    }

    fn release(&mut self) {
        self.solver = None;
    }

    fn wants(&self) -> Wants {
        self.solver.as_ref().map_or(Wants::ALL, |s| s.wants())
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
