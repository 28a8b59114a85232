//! The three phases of a linear solver.

use super::blocks::{BlockMatrix, BlockPattern};
use super::decomposition::NotConverged;
use crate::tape::Tape;
use std::{fmt, sync::Arc};

/// Solves A x = b in three phases: the pattern once, the values when the matrix has changed, a right-hand side as often as
/// needed.
pub trait LinearSolver: Send {
    /// Prepares for matrices of this pattern; the only phase that may allocate.
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError>;
    /// From now on these scalar rows of multipliers, ascending, are left out of every factorization, as if they were not there:
    /// their unknowns come out zero. Others are dropped only where their pivots are lost in rounding. With none given, pivots
    /// decide which rows are redundant.
    fn leave_out(&mut self, rows: Option<&[usize]>);
    /// Factors a matrix of the analyzed pattern.
    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError>;
    /// Factors a matrix close to the last one. Exactly the rows dropped last are dropped, so that the rank does not change
    /// within an iteration. A backend that cannot do so decides anew.
    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor(a)
    }
    /// b ← A⁻¹ b with the last factors.
    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError>;
    /// The same, given the matrix factored last: some solvers need it, and keep no copy.
    fn solve_with(&mut self, a: &BlockMatrix, b: &mut [f64]) -> Result<(), LinearError> {
        let _ = a;
        self.solve(b)
    }
    /// b ← A⁻¹ b with factors made on the way: by [`Self::factor`] if the rank is to be decided anew, else by
    /// [`Self::refactor`].
    fn factor_and_solve(&mut self, a: &BlockMatrix, b: &mut [f64], anew: bool) -> Result<(), LinearError> {
        if anew { self.factor(a) } else { self.refactor(a) }?;
        self.solve_with(a, b)
    }
    /// Tells a tape what it remembers from one factorization to the next; with `factors`, those too.
    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        let _ = factors;
        tape.refuse("a linear solver cannot be kept");
    }
    /// Frees memory that the next factorization can allocate again; until then there may be no factors.
    fn release(&mut self) {}
    /// The scalar rows that the last factorization dropped as redundant, ascending.
    fn dropped(&self) -> &[usize];
    /// The smallest pivot kept, relative to the magnitudes of its summands. Backends need not resolve values above a few
    /// percent.
    fn smallest_kept_pivot(&self) -> f64;
    /// The same over multipliers alone: how close the constraints are to becoming dependent. Infinite where it is unknown.
    fn smallest_multiplier_pivot(&self) -> f64 {
        f64::INFINITY
    }
    /// Whether the last factorization looked for redundant rows.
    fn reveals_rank(&self) -> bool {
        true
    }
    /// The parts of a matrix that the next factorization reads.
    fn wants(&self) -> Wants {
        Wants::ALL
    }
    /// The name of the backend.
    fn name(&self) -> &'static str;
    /// What it does and why, for users to read.
    fn explain(&self) -> String {
        self.name().into()
    }
    /// The cost of a factorization and of a solution, by the pattern alone; zero where it is not counted.
    fn flops(&self) -> Flops {
        Flops::default()
    }
}

/// The parts of a matrix that a solver reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Columns of multipliers in the rows of other unknowns. If not, those entries need not be up to date.
    pub above: bool,
    /// Whether the trailing rows of multipliers may be borrowed ([`BlockMatrix::borrow_last`]) instead of copied.
    pub borrowed_rows: bool,
}

impl Wants {
    /// All entries, in place.
    pub const ALL: Wants = Wants { above: true, borrowed_rows: false };
}

/// Multiplications and additions, counted from a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flops {
    /// Of one factorization.
    pub factor: usize,
    /// Of one solution.
    pub solve: usize,
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
    /// The factors of this pattern would have too many entries.
    TooLarge {
        /// Entries counted until the analysis gave up.
        entries: usize,
    },
    /// A solver for symmetric matrices found an entry without its mirror image in this block row.
    OneSided {
        /// The block row.
        row: usize,
    },
    /// An iteration for singular values or eigenvalues did not converge.
    NotConverged,
    /// The matrix or the right-hand side does not fit the analyzed pattern.
    Sizes {
        /// Numbers expected.
        expected: usize,
        /// Numbers found.
        found: usize,
    },
}

impl From<NotConverged> for LinearError {
    fn from(_: NotConverged) -> LinearError {
        LinearError::NotConverged
    }
}

impl fmt::Display for LinearError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinearError::Singular { row } => write!(f, "the matrix is singular at row {row}"),
            LinearError::NotFinite { row } => write!(f, "the matrix has no finite pivot in row {row}"),
            LinearError::TooLarge { entries } => write!(f, "the factors would need more than {entries} numbers"),
            LinearError::OneSided { row } => write!(f, "the pattern is not symmetric in block row {row}"),
            LinearError::NotConverged => write!(f, "the singular values or eigenvalues did not converge"),
            LinearError::Sizes { expected, found } => write!(f, "expected {expected} numbers, found {found}"),
        }
    }
}

impl std::error::Error for LinearError {}
