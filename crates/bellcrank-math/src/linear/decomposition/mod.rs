//! Decompositions of dense matrices: orthogonal bases, singular values, eigenvalues.
//!
//! They serve analyses and starts, not steps: matrices have up to some hundred rows, and clear code that needs no package
//! of its own is worth more here than the last factor in speed. Matrices are given and returned by rows; all numbers must
//! be finite.
//!
//! | file | decomposition | used for |
//! |---|---|---|
//! | [`householder`] | QR of Aᵀ with pivoting | null spaces |
//! | [`svd`] | singular values, by one-sided Jacobi rotations | ranks, least squares, minimum-norm solutions |
//! | [`symmetric`] | tridiagonal form, then implicit QL | frequencies, principal inertias |
//! | [`schur`] and [`eigen`] | Hessenberg form, then Francis steps; eigenvectors from the Schur form | damped modes |

mod eigen;
mod householder;
mod schur;
mod svd;
mod symmetric;

pub use eigen::Eigenpair;
pub(super) use eigen::eigen;
pub(super) use householder::transposed_pivoted_qr;
pub(super) use svd::svd;
pub(super) use symmetric::{symmetric_eigen, symmetric_eigenvalues};

/// An iteration of a decomposition did not converge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotConverged;

/// a · b in eight sums, which the processor adds at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (of_a, of_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = of_a.remainder().iter().zip(of_b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in of_a.zip(of_b) {
        (0..8).for_each(|k| sums[k] += a[k] * b[k]);
    }
    sums.iter().sum::<f64>() + rest
}

/// y += c x.
fn add(y: &mut [f64], c: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += c * x);
}

/// Two different rows of a matrix with `n` columns, i < j.
fn two_rows(a: &mut [f64], n: usize, i: usize, j: usize) -> (&mut [f64], &mut [f64]) {
    let (before, after) = a.split_at_mut(j * n);
    (&mut before[i * n..(i + 1) * n], &mut after[..n])
}

/// Turns two vectors in their plane: x ← c x − s y, y ← s x + c y.
fn turn(x: &mut [f64], y: &mut [f64], c: f64, s: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// Aᵀ of a matrix with `rows` rows and `columns` columns.
fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..rows * columns).map(|k| a[(k % rows) * columns + k / rows]).collect()
}

/// A unit matrix.
fn unit(n: usize) -> Vec<f64> {
    (0..n * n).map(|k| (k / n == k % n) as u8 as f64).collect()
}

#[cfg(test)]
mod tests;
