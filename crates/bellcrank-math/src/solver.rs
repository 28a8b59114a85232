//! The three phases of a linear solver.

use crate::blocks::{BlockMatrix, BlockPattern};
use std::{fmt, sync::Arc};

/// Solves A x = b in three phases of three costs: the pattern once, the values when the matrix
/// changed, a right-hand side as often as needed.
pub trait LinearSolver: Send {
    /// Prepares for matrices of this pattern; the only phase that may allocate.
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError>;
    /// Factors a matrix of the analyzed pattern.
    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError>;
    /// b ← A⁻¹ b with the last factors.
    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError>;
    /// The scalar rows that were dropped as redundant by the last factorization, ascending.
    fn dropped(&self) -> &[usize];
    /// The smallest pivot that was kept, relative to the magnitude of what it was summed from.
    fn smallest_kept_pivot(&self) -> f64;
    /// The name of the backend.
    fn name(&self) -> &'static str;
}

/// Why a linear system could not be solved. Rows are scalar rows of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearError {
    /// The pivot of this row is zero.
    Singular {
        /// The scalar row.
        row: usize,
    },
    /// The pivot of this row is infinite or not a number.
    NotFinite {
        /// The scalar row.
        row: usize,
    },
    /// The matrix or the right-hand side does not fit the analyzed pattern.
    Sizes {
        /// Numbers expected.
        expected: usize,
        /// Numbers found.
        found: usize,
    },
}

impl fmt::Display for LinearError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinearError::Singular { row } => write!(f, "the matrix is singular at row {row}"),
            LinearError::NotFinite { row } => write!(f, "the matrix has no finite pivot in row {row}"),
            LinearError::Sizes { expected, found } => write!(f, "expected {expected} numbers, found {found}"),
        }
    }
}

impl std::error::Error for LinearError {}

/// The solver to use for a pattern unless there is a reason for another, already analyzed.
pub fn choose(pattern: &Arc<BlockPattern>) -> Box<dyn LinearSolver> {
    Box::new(crate::block_lu::BlockLu::for_pattern(pattern))
}
