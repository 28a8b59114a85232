//! The equations that Newton's iteration solves, and the matrix they hand to the linear solver.

use super::Iteration;
use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::solver::Wants;

/// Equations r(x) = 0 that hold their present x themselves.
pub trait Residual {
    /// r at the present x.
    fn residual(&mut self, r: &mut [f64]);
    /// ∂r/∂x at the present x. The loan says which parts the solver reads, and lends rows the equations hold already.
    fn jacobian<'m>(&'m mut self, iteration: Iteration, loan: &mut MatrixLoan<'m>);
    /// x ← x − dx, a retraction where x holds rotations.
    fn correct(&mut self, dx: &[f64]);
    /// The weighted norm of a correction over the unknowns that decide, in units of the tolerance.
    fn size(&self, dx: &[f64]) -> f64;
    /// The fraction of a correction of this size that may be applied at once.
    fn step_fraction(&self, dx: &[f64], size: f64) -> f64 {
        let _ = (dx, size);
        1.0
    }
    /// A correction up to this size is round-off.
    fn round_off(&self) -> f64 {
        0.0
    }
    /// An error of this size is rounding of the solution itself: corrections with a matrix of others may leave it.
    fn exact(&self) -> f64 {
        0.0
    }
    /// The largest residual of the rows that hold velocities alone at the present x, in units of rounding: what is left there does
    /// not show in the size of a correction.
    fn open_rates(&mut self) -> f64 {
        0.0
    }
    /// Near singular matrices a correction up to this size is accepted once it stops shrinking: rounding keeps it from
    /// becoming smaller.
    fn stagnation(&self) -> f64 {
        0.0
    }
    /// The size of one unit of rounding of the solution, where its amplification near singular positions is to be
    /// allowed for; else zero.
    fn rounding(&self) -> f64 {
        0.0
    }
    /// The slope α of the rates, for which the matrix is formed.
    fn slope(&self) -> f64 {
        1.0
    }
}

/// The parts of a matrix that the equations set block by block, so that they need no clearing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetParts {
    /// All blocks in the rows of bodies, but for columns of multipliers.
    pub bodies: bool,
    /// All blocks in the last rows of multipliers.
    pub multipliers: bool,
}

/// A matrix lent to equations to be filled, and by them to the solver to be factored.
///
/// G fills the last rows of many a step's matrix, and the equations hold it already. The loan takes these rows by
/// swapping buffers, and gives them back when it is dropped: G is never copied.
pub struct MatrixLoan<'m> {
    matrix: &'m mut BlockMatrix,
    wants: Wants,
    lender: Option<&'m mut Vec<f64>>,
}

impl<'m> MatrixLoan<'m> {
    /// A loan of a matrix, whose values are void until they are cleared and set.
    pub fn new(matrix: &'m mut BlockMatrix, wants: Wants) -> MatrixLoan<'m> {
        MatrixLoan { matrix, wants, lender: None }
    }

    /// The parts that the solver reads.
    pub fn wants(&self) -> Wants {
        self.wants
    }

    /// The matrix.
    pub fn matrix(&mut self) -> &mut BlockMatrix {
        self.matrix
    }

    /// Clears what is read and not set anyway.
    pub fn clear(&mut self, set: SetParts) {
        self.matrix.values.resize(self.matrix.pattern().values(), 0.0);
        self.matrix.clear_parts([!set.bodies, !set.multipliers, self.wants.above]);
    }

    /// Takes the last rows of multipliers from here until the loan ends.
    pub fn borrow_rows(&mut self, rows: &'m mut Vec<f64>) {
        self.matrix.borrow_last(rows);
        self.lender = Some(rows);
    }
}

impl Drop for MatrixLoan<'_> {
    fn drop(&mut self) {
        if let Some(rows) = self.lender.take() {
            self.matrix.give_back(rows);
        }
    }
}
