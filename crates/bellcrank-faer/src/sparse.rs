//! Sparse LU with partial pivoting.

use faer::MatMut;
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};

/// A sparse matrix of fixed pattern, and its factors.
pub struct SparseLu {
    pattern: SymbolicSparseColMat<usize>,
    symbolic: SymbolicLu<usize>,
    factors: Option<Lu<usize, f64>>,
}

impl SparseLu {
    /// A square pattern by columns: where each column starts, and the rows of all entries, ascending in each column.
    /// Nothing if it is too large for this machine.
    pub fn new(n: usize, starts: Vec<usize>, rows: Vec<usize>) -> Option<SparseLu> {
        let pattern = SymbolicSparseColMat::new_checked(n, n, starts, None, rows);
        let symbolic = SymbolicLu::try_new(pattern.as_ref()).ok()?;
        Some(SparseLu { pattern, symbolic, factors: None })
    }

    /// Factors the matrix with these entries, in the order of the pattern; false if it is singular.
    pub fn factor(&mut self, values: &[f64]) -> bool {
        let matrix = SparseColMatRef::new(self.pattern.as_ref(), values);
        self.factors = Lu::try_new_with_symbolic(self.symbolic.clone(), matrix).ok();
        self.factors.is_some()
    }

    /// Whether there are factors to solve with.
    pub fn is_factored(&self) -> bool {
        self.factors.is_some()
    }

    /// Solves with the last factors, in place; without factors nothing happens.
    pub fn solve(&self, b: &mut [f64]) {
        let n = b.len();
        if let Some(lu) = &self.factors {
            lu.solve_in_place(MatMut::from_column_major_slice_mut(b, n, 1));
        }
    }
}
