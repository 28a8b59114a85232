//! The choice of a solver: block elimination first, pivoting where that fails.

use super::{
    block_lu::BlockLu,
    blocks::{BlockMatrix, BlockPattern},
    dense::DenseLu,
    sparse::SparseLu,
};
use crate::{numbers::worst, tape::Tape};
use std::sync::Arc;

pub use super::interface::{Flops, LinearError, LinearSolver, Wants};

/// The default solver for a pattern, analyzed: block elimination, and where that fails, dense or sparse LU with pivoting.
pub fn choose(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Robust::for_pattern(pattern))
}

/// A solver that pivots across the whole matrix, analyzed: dense, or sparse where it is large.
pub fn choose_pivoting(pattern: &Arc<BlockPattern>) -> Result<Box<dyn LinearSolver>, LinearError> {
    let mut solver: Box<dyn LinearSolver> =
        if pattern.dimension() <= SMALL { Box::new(DenseLu::new()) } else { Box::new(SparseLu::new()) };
    solver.analyze(pattern)?;
    Ok(solver)
}

/// The same as [`choose`] for symmetric matrices.
pub fn choose_symmetric(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Robust::for_symmetric(pattern, POOR))
}

/// The same for nearly symmetric matrices where an approximate solution will do: symmetric elimination as long as the two
/// triangles differ by less than a tenth.
pub fn choose_nearly_symmetric(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(Robust::for_symmetric(pattern, SKEW))
}

/// For symmetric elimination, a block and its mirror image may differ by this fraction of their largest entry,
const SKEW: f64 = 0.1;

/// which is checked once in this many factorizations.
const CHECK_EVERY: usize = 256;

/// After a factorization with a pivot below this, the residual of the first solution is checked.
const SUSPICIOUS: f64 = 1e-6;

/// Pivoting is called for where |A x − b| exceeds this fraction of |A||x| + |b| in some row.
const POOR: f64 = 1e-9;

/// Up to this dimension, the solver that pivots is dense; above, sparse.
const SMALL: usize = 300;

/// Up to this dimension, `explain` says why not dense LU: block elimination is faster for every size
/// (`cargo bench -p bellcrank-math --bench block_lu -- small`).
const EXPLAINED_UP_TO: usize = 60;

/// Block elimination that falls back to LU with pivoting across the whole matrix.
///
/// It does so when a pivot of a body vanishes, and when the first solution after a factorization with small pivots has a poor
/// residual.
///
/// Its fields are two solvers, and what it takes to decide between them.
#[derive(Default)]
pub struct Robust {
    pattern: Option<Arc<BlockPattern>>,
    block: Option<BlockLu>,
    pivoting: Option<Box<dyn LinearSolver>>,
    /// Whether the factors in use are those of `pivoting`.
    pivoted: bool,
    /// Rows that block elimination dropped and that the matrix factored by `pivoting` lacks.
    taken_out: Vec<usize>,
    /// Rows that are left out of every matrix.
    left_out: Option<Vec<usize>>,
    /// The matrix factored last, while its first solution is still to be checked.
    suspect: Option<BlockMatrix>,
    check: bool,
    right_side: Vec<f64>,
    residual: Vec<f64>,
    scale: Vec<f64>,
    /// Factorizations since symmetry was checked.
    unchecked: usize,
    /// The relative residual that calls for pivoting.
    poor: f64,
}

impl Robust {
    /// A solver that has seen no pattern yet.
    pub fn new() -> Robust {
        Robust::default()
    }

    /// A solver for matrices of this pattern, analyzed.
    pub fn for_pattern(pattern: &Arc<BlockPattern>) -> Robust {
        Robust {
            pattern: Some(pattern.clone()),
            block: BlockLu::for_pattern(pattern).ok(), // without it, if too large
            poor: POOR,
            ..Robust::default()
        }
    }

    /// A solver for symmetric matrices of this pattern, analyzed; a relative residual above `poor` calls for pivoting.
    fn for_symmetric(pattern: &Arc<BlockPattern>, poor: f64) -> Robust {
        let Ok(block) = BlockLu::for_symmetric(pattern) else { return Robust::for_pattern(pattern) };
        Robust { pattern: Some(pattern.clone()), block: Some(block), poor, ..Robust::default() }
    }

    /// Gives up symmetric elimination for good where a matrix is far from symmetric.
    fn check_symmetry(&mut self, a: &BlockMatrix) {
        self.unchecked = (self.unchecked + 1) % CHECK_EVERY;
        if self.unchecked == 1 && self.block.as_ref().is_some_and(|lu| lu.is_symmetric()) && a.skewness() > SKEW {
            self.block = BlockLu::for_pattern(a.pattern()).ok();
            self.block.iter_mut().for_each(|lu| lu.leave_out(self.left_out.as_deref()));
            self.poor = POOR;
        }
    }

    fn factor_with_pivoting(&mut self, a: &BlockMatrix) -> Result<&mut dyn LinearSolver, LinearError> {
        let pivoting = match self.pivoting.take() {
            Some(solver) => self.pivoting.insert(solver),
            None => self.pivoting.insert(choose_pivoting(a.pattern())?),
        };
        pivoting.leave_out(self.left_out.as_deref());
        pivoting.factor(a)?;
        Ok(pivoting.as_mut())
    }

    /// The largest |A x − b| relative to |A||x| + |b|, over the rows that were not dropped.
    fn error(&mut self, a: &BlockMatrix, x: &[f64], dropped: &[usize]) -> f64 {
        self.residual.resize(self.right_side.len(), 0.0);
        self.scale.resize(self.right_side.len(), 0.0);
        for ((r, s), b) in self.residual.iter_mut().zip(&mut self.scale).zip(&self.right_side) {
            (*r, *s) = (-b, b.abs());
        }
        a.add_times(x, &mut self.residual);
        a.add_absolute_times(x, &mut self.scale);
        dropped.iter().for_each(|&i| self.residual[i] = 0.0);
        let ratio = |(r, s): (&f64, &f64)| if r.abs() > 0.0 || r.is_nan() { r.abs() / s } else { 0.0 };
        worst(self.residual.iter().zip(&self.scale).map(ratio))
    }

    /// Checks the solution x of the suspect matrix, and replaces it by one with pivoting if it is poor.
    #[cold]
    fn check(&mut self, a: &BlockMatrix, x: &mut [f64]) -> Result<(), LinearError> {
        let dropped = self.block.take();
        let error = self.error(a, x, dropped.as_ref().map_or(&[], |lu| lu.dropped()));
        self.block = dropped;
        if error <= self.poor {
            return Ok(());
        }
        let mut y = self.right_side.clone();
        // sparse LU does not detect redundant rows: it gets the matrix without them
        let large = self.block.as_ref().filter(|_| a.pattern().dimension() > SMALL);
        let taken_out = large.map_or_else(Vec::new, |lu| lu.dropped().to_vec());
        let mut regular = a.clone();
        regular.take_out(&taken_out);
        taken_out.iter().for_each(|&i| y[i] = 0.0);
        let Ok(solver) = self.factor_with_pivoting(&regular) else { return Ok(()) };
        if solver.solve(&mut y).is_err() {
            return Ok(());
        }
        let dropped = [&taken_out, solver.dropped()].concat();
        if self.error(a, &y, &dropped) < error || error.is_nan() {
            x.copy_from_slice(&y);
            self.pivoted = true;
            self.taken_out = taken_out;
        }
        Ok(())
    }

    fn active(&self) -> Option<&dyn LinearSolver> {
        if self.pivoted { self.pivoting.as_deref() } else { self.block.as_ref().map(|lu| lu as &dyn LinearSolver) }
    }
}

impl LinearSolver for Robust {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        let left_out = std::mem::take(&mut self.left_out);
        *self = Robust::for_pattern(pattern);
        self.leave_out(left_out.as_deref());
        Ok(())
    }

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        self.left_out = rows.map(<[usize]>::to_vec);
        self.block.iter_mut().for_each(|lu| lu.leave_out(rows));
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor_by(a, true, |lu, _| lu.factor(a))
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor_by(a, false, |lu, anew| if anew { lu.factor(a) } else { lu.refactor(a) })
    }

    fn factor_and_solve(&mut self, a: &BlockMatrix, b: &mut [f64], anew: bool) -> Result<(), LinearError> {
        self.factor_by(a, anew, |lu, anew| lu.go_forward(a, b, anew))?;
        if self.pivoted {
            return self.solve(b);
        }
        self.solve_by_blocks(b, |lu, b| {
            lu.go_backward(b);
            Ok(())
        })
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        let expected = self.pattern.as_ref().map_or(0, |p| p.dimension());
        if b.len() != expected {
            return Err(LinearError::Sizes { expected, found: b.len() });
        }
        if self.pivoted {
            self.taken_out.iter().for_each(|&i| b[i] = 0.0);
            return self.pivoting.as_mut().map_or(Ok(()), |solver| solver.solve(b));
        }
        self.solve_by_blocks(b, BlockLu::solve)
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        let Some(pattern) = self.pattern.clone() else { return };
        // elimination of this kind: by symmetry, and in parts or not
        let mut kind = self.block.as_ref().map(|lu| (lu.is_symmetric(), lu.is_whole()));
        let before = kind;
        tape.plain(&mut kind);
        if kind != before {
            self.block = kind.and_then(|(symmetric, whole)| {
                let made = if symmetric { BlockLu::for_symmetric(&pattern) } else { BlockLu::for_pattern(&pattern) };
                made.and_then(|lu| if whole { lu.whole(&pattern) } else { Ok(lu) }).ok()
            });
        }
        if let Some(lu) = &mut self.block {
            lu.keep(tape, factors);
        }
        tape.flag(&mut self.pivoted);
        tape.option(&mut self.pivoting, || choose_pivoting(&pattern).ok());
        if let Some(pivoting) = &mut self.pivoting {
            pivoting.keep(tape, factors && self.pivoted);
        }
        tape.plain(&mut self.taken_out);
        // a suspect matrix is checked in the solution that follows its factors at once
        tape.flag(&mut self.check);
        tape.count(&mut self.unchecked);
        tape.number(&mut self.poor);
    }

    fn dropped(&self) -> &[usize] {
        if self.pivoted && !self.taken_out.is_empty() {
            &self.taken_out
        } else {
            self.active().map_or(&[], |solver| solver.dropped())
        }
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.active().map_or(f64::INFINITY, |solver| solver.smallest_kept_pivot())
    }

    fn smallest_multiplier_pivot(&self) -> f64 {
        self.active().map_or(f64::INFINITY, |solver| solver.smallest_multiplier_pivot())
    }

    fn reveals_rank(&self) -> bool {
        !self.taken_out.is_empty() || self.active().is_some_and(|solver| solver.reveals_rank())
    }

    fn wants(&self) -> Wants {
        let above = self.unchecked == 0 || !self.block.as_ref().is_some_and(|lu| lu.is_symmetric());
        Wants { above, borrowed_rows: !above }
    }

    fn name(&self) -> &'static str {
        self.active().map_or("none", |solver| solver.name())
    }

    fn explain(&self) -> String {
        let told = self.active().map_or_else(String::new, |solver| solver.explain());
        match (self.pivoted, self.pattern.as_ref().map_or(0, |p| p.dimension())) {
            (true, _) => format!("{told}, because elimination by blocks met a pivot that vanishes"),
            (false, n) if n <= EXPLAINED_UP_TO => format!("{told}; dense LU of {n} unknowns would be slower"),
            (false, _) => told,
        }
    }

    fn flops(&self) -> Flops {
        self.active().map_or(Flops::default(), |solver| solver.flops())
    }
}

impl Robust {
    /// Solves with the factors of block elimination, and checks the solution where they are suspect.
    fn solve_by_blocks(
        &mut self,
        b: &mut [f64],
        by_blocks: impl FnOnce(&mut BlockLu, &mut [f64]) -> Result<(), LinearError>,
    ) -> Result<(), LinearError> {
        if self.check {
            self.right_side.clear();
            self.right_side.extend_from_slice(b);
        }
        if let Some(lu) = &mut self.block {
            by_blocks(lu, b)?;
        }
        if std::mem::take(&mut self.check)
            && let Some(a) = self.suspect.take()
        {
            self.check(&a, b)?;
            self.suspect = Some(a);
        }
        Ok(())
    }

    /// Factors by blocks, with the rank decided anew or kept, and with pivoting where that fails.
    fn factor_by(
        &mut self,
        a: &BlockMatrix,
        anew: bool,
        by_blocks: impl Fn(&mut BlockLu, bool) -> Result<(), LinearError>,
    ) -> Result<(), LinearError> {
        let expected = self.pattern.as_ref().map_or(0, |p| p.values());
        if a.values.len() != expected {
            return Err(LinearError::Sizes { expected, found: a.values.len() });
        }
        self.check = false;
        let anew = std::mem::take(&mut self.pivoted) || anew;
        self.taken_out.clear();
        self.check_symmetry(a);
        let mut blocked = None;
        if let Some(lu) = &mut self.block {
            let mut done = by_blocks(lu, anew);
            if done.is_err() && !anew {
                done = by_blocks(lu, true);
            }
            if lu.meets_poorly()
                && let Ok(whole) = lu.whole(a.pattern())
            {
                *lu = whole;
                lu.leave_out(self.left_out.as_deref());
                done = by_blocks(lu, true);
            }
            match done {
                Ok(()) => {
                    self.check = lu.smallest_kept_pivot() < SUSPICIOUS;
                    if self.check {
                        let suspect = self.suspect.get_or_insert_with(|| BlockMatrix::new(a.pattern().clone()));
                        suspect.copy_values(a);
                        if lu.is_symmetric() {
                            suspect.mirror();
                        }
                    }
                    return Ok(());
                }
                Err(LinearError::Singular { row }) => blocked = Some(row),
                Err(other) => return Err(other),
            }
        }
        // sparse LU does not tell where it fails
        let large = a.pattern().dimension() > SMALL;
        let mirrored = self.block.as_ref().filter(|lu| lu.is_symmetric()).map(|_| {
            let mut whole = BlockMatrix::new(a.pattern().clone());
            whole.copy_values(a);
            whole.mirror();
            whole
        });
        self.factor_with_pivoting(mirrored.as_ref().unwrap_or(a)).map_err(|error| match (error, blocked) {
            (LinearError::Singular { .. }, Some(row)) if large => LinearError::Singular { row },
            _ => error,
        })?;
        self.pivoted = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::blocks::Class;
    use crate::linear::samples::{Form, Sample};
    use crate::random::Random;

    /// A body without mass along y and φ, where its joints hold it: its own block is singular, the matrix is not.
    #[test]
    fn a_singular_body_is_solved_with_pivoting() {
        for n in [4, 400] {
            let mut sample = Sample { bodies: vec![3; n], ..Sample::default() };
            (1..n).for_each(|b| sample.random_joint(&mut Random::new(b as u64), 2, &[b - 1, b]));
            let mut a = sample.matrix(Form::Index3, 1.0, &mut Random::new(9));
            if let Some(block) = a.block_mut(1, 1) {
                block.fill(0.0);
                block[0] = 1.0;
            }
            let x: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).sin()).collect();
            let mut b = vec![0.0; x.len()];
            a.add_times(&x, &mut b);
            assert!(matches!(BlockLu::for_pattern(a.pattern()).unwrap().factor(&a), Err(LinearError::Singular { .. })));
            let mut solver = choose(a.pattern());
            solver.factor(&a).unwrap();
            solver.solve(&mut b).unwrap();
            assert_eq!(solver.name(), if n == 4 { "dense LU" } else { "sparse LU" });
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-9), "{n}");
        }
    }

    #[test]
    fn without_its_redundant_rows_a_matrix_suits_a_pivoting_solver() {
        // a chain with every joint twice
        let n = 20;
        let mut sample = Sample { bodies: vec![3; n], ..Sample::default() };
        for b in 1..n {
            sample.random_joint(&mut Random::new(b as u64), 2, &[b - 1, b]);
            sample.random_joint(&mut Random::new(b as u64), 2, &[b - 1, b]);
        }
        let mut a = sample.matrix(Form::Index3, 1.0, &mut Random::new(9));
        let mut lu = BlockLu::for_pattern(a.pattern()).unwrap();
        lu.factor(&a).unwrap();
        assert_eq!(lu.dropped().len(), 2 * (n - 1));
        let mut x: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).sin()).collect();
        lu.dropped().iter().for_each(|&i| x[i] = 0.0);
        let mut b = vec![0.0; x.len()];
        a.add_times(&x, &mut b);
        lu.dropped().iter().for_each(|&i| b[i] = 0.0);
        a.take_out(lu.dropped());
        let mut solver = DenseLu::new();
        solver.analyze(a.pattern()).unwrap();
        solver.factor(&a).unwrap();
        solver.solve(&mut b).unwrap();
        assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-10));
    }

    #[test]
    fn the_rank_stays_while_it_is_frozen() {
        // two rows of one joint that come close to each other, and part again
        let matrix = |apart: f64| {
            let classes = vec![Class::Body, Class::Multiplier];
            let entries = vec![(0, 0), (0, 1), (1, 0), (1, 1)];
            let mut a = BlockMatrix::new(Arc::new(BlockPattern::new(vec![2, 2], classes, entries)));
            a.values = vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, apart, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, apart];
            a
        };
        let mut lu = BlockLu::for_pattern(matrix(1.0).pattern()).unwrap();
        let ranks = |lu: &mut BlockLu, sizes: &[f64]| -> Vec<usize> {
            sizes.iter().map(|s| lu.refactor(&matrix(*s)).map_or(9, |()| lu.dropped().len())).collect()
        };
        lu.factor(&matrix(1e-3)).unwrap();
        assert_eq!(ranks(&mut lu, &[1e-5, 1e-6, 1.0, 1e-7]), [0, 0, 0, 9]);
        lu.factor(&matrix(1e-5)).unwrap();
        assert_eq!(lu.dropped().len(), 1);
        assert_eq!(ranks(&mut lu, &[1e-3, 1.0, 1e-9]), [1, 1, 1]);
        lu.factor(&matrix(1e-3)).unwrap();
        assert_eq!(lu.dropped(), []);
        // a frozen pivot is lost: the solver decides anew
        let mut robust = choose(matrix(1.0).pattern());
        robust.factor(&matrix(1e-3)).unwrap();
        robust.refactor(&matrix(0.0)).unwrap();
        assert_eq!(robust.dropped().len(), 1);
    }

    #[test]
    fn a_poor_solution_is_replaced() {
        // the pivot of the first body is all but zero; with pivoting, the joint carries it
        let entries = vec![(0, 0), (0, 1), (1, 0), (1, 1)];
        let classes = vec![Class::Body, Class::Multiplier];
        let mut a = BlockMatrix::new(Arc::new(BlockPattern::new(vec![2, 2], classes, entries)));
        a.values = vec![1.0, 1.0, 1.0, 1.0 + 1e-13, 0.7, 1.0, 1.0, -2.0, 0.1, 0.2, -0.4, 0.3, 0.3, 1.0, 1.0, 3.0];
        let x = [1.0, 2.0, 3.0, -4.0];
        let mut b = vec![0.0; 4];
        a.add_times(&x, &mut b);
        let mut solver = choose(a.pattern());
        solver.factor(&a).unwrap();
        solver.solve(&mut b).unwrap();
        assert_eq!(solver.name(), "dense LU");
        assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-12), "{b:?}");
    }
}
