//! The decompositions that Bellcrank takes from [faer](https://docs.rs/faer), behind plain slices.
//!
//! faer is generic, so that its code is compiled in the crate that calls it. Behind this wall that happens once, and not each
//! time a kernel of Bellcrank changes. Matrices are given and returned by rows unless a name says otherwise; no matrix may
//! be empty, and all numbers must be finite.

mod sparse;

pub use sparse::SparseLu;

use faer::{Mat, MatRef, Side};

/// An iteration of a decomposition did not converge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotConverged;

/// Singular values, descending, with left and right singular vectors, each vector after the other: A = Σ σₖ uₖ vₖᵀ.
pub struct Svd {
    /// σₖ, as many as the smaller dimension.
    pub values: Vec<f64>,
    /// uₖ, as many as A has rows.
    pub left: Vec<f64>,
    /// vₖ, as many as A has columns.
    pub right: Vec<f64>,
}

/// An eigenvalue with its right eigenvector.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigenpair {
    /// Real and imaginary part.
    pub value: (f64, f64),
    /// Real parts of the eigenvector.
    pub re: Vec<f64>,
    /// Imaginary parts of the eigenvector.
    pub im: Vec<f64>,
}

fn view(a: &[f64], rows: usize, columns: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(a, rows, columns)
}

fn by_rows(a: MatRef<'_, f64>) -> Vec<f64> {
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| a[(i, j)])).collect()
}

/// The singular value decomposition.
pub fn svd(a: &[f64], rows: usize, columns: usize) -> Result<Svd, NotConverged> {
    let f = view(a, rows, columns).svd().map_err(|_| NotConverged)?;
    let s = f.S().column_vector();
    let values = (0..rows.min(columns)).map(|k| s[k]).collect();
    Ok(Svd { values, left: by_rows(f.U().transpose()), right: by_rows(f.V().transpose()) })
}

/// The eigenvalues of a symmetric matrix, ascending; only its lower half is read.
pub fn symmetric_eigenvalues(a: &[f64], n: usize) -> Result<Vec<f64>, NotConverged> {
    view(a, n, n).self_adjoint_eigenvalues(Side::Lower).map_err(|_| NotConverged)
}

/// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors by columns; only its lower half is read.
pub fn symmetric_eigen(a: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>), NotConverged> {
    let f = view(a, n, n).self_adjoint_eigen(Side::Lower).map_err(|_| NotConverged)?;
    let s = f.S().column_vector();
    Ok(((0..n).map(|k| s[k]).collect(), by_rows(f.U())))
}

/// All eigenvalues and right eigenvectors of a square matrix.
pub fn eigen(a: &[f64], n: usize) -> Result<Vec<Eigenpair>, NotConverged> {
    let f = view(a, n, n).eigen().map_err(|_| NotConverged)?;
    let (s, u) = (f.S().column_vector(), f.U());
    let pair = |k: usize| Eigenpair {
        value: (s[k].re, s[k].im),
        re: (0..n).map(|i| u[(i, k)].re).collect(),
        im: (0..n).map(|i| u[(i, k)].im).collect(),
    };
    Ok((0..n).map(pair).collect())
}

/// QR of Aᵀ with column pivoting: Q by rows, and the diagonal of R.
pub fn transposed_pivoted_qr(a: &[f64], rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
    let qr = view(a, rows, columns).transpose().col_piv_qr();
    let r = qr.R();
    let diagonal = (0..rows.min(columns)).map(|k| r[(k, k)]).collect();
    let q: Mat<f64> = qr.compute_Q();
    (by_rows(q.as_ref()), diagonal)
}

/// A B, with A of `inner` columns and B of as many rows.
pub fn product(a: &[f64], b: &[f64], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
    by_rows((view(a, rows, inner) * view(b, inner, columns)).as_ref())
}

/// Aᵀ B, with A and B of `inner` rows.
pub fn transposed_product(a: &[f64], b: &[f64], inner: usize, rows: usize, columns: usize) -> Vec<f64> {
    by_rows((view(a, inner, rows).transpose() * view(b, inner, columns)).as_ref())
}
