//! Dense matrices of moderate size, for linearizations and their eigenvalues.

pub use super::decomposition::Eigenpair;
use super::{decomposition, interface::LinearError};
use crate::numbers::{dot, largest};

/// A dense matrix, by rows.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "StoredMatrix")]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// The entries, row after row.
    pub values: Vec<f64>,
}

/// A matrix as it is stored, before its sizes are checked.
#[derive(serde::Deserialize)]
struct StoredMatrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl TryFrom<StoredMatrix> for Matrix {
    type Error = &'static str;

    fn try_from(StoredMatrix { rows, columns, values }: StoredMatrix) -> Result<Matrix, &'static str> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err("a matrix has another number of entries than its sizes say");
        }
        Ok(Matrix { rows, columns, values })
    }
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// The matrix with the entries f(row, column).
    pub fn from_fn(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Matrix {
        let mut a = Matrix::zeros(rows, columns);
        for i in 0..rows {
            for j in 0..columns {
                a.values[i * columns + j] = entry(i, j);
            }
        }
        a
    }

    /// An entry.
    #[inline]
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.columns + j]
    }

    /// An entry, to be changed.
    #[inline]
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.values[i * self.columns + j]
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// A copy of a column.
    pub fn column(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self.at(i, j)).collect()
    }

    /// Aᵀ.
    pub fn transpose(&self) -> Matrix {
        Matrix::from_fn(self.columns, self.rows, |i, j| self.at(j, i))
    }

    /// A B.
    pub fn times(&self, b: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(self.rows, b.columns);
        for i in 0..self.rows {
            for j in 0..self.columns {
                out.add_row(i, self.at(i, j), b.row(j));
            }
        }
        out
    }

    /// Aᵀ B.
    pub fn transpose_times(&self, b: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(self.columns, b.columns);
        for i in 0..self.rows {
            for j in 0..self.columns {
                out.add_row(j, self.at(i, j), b.row(i));
            }
        }
        out
    }

    /// Adds c x to a row.
    fn add_row(&mut self, i: usize, c: f64, x: &[f64]) {
        if c != 0.0 {
            let row = &mut self.values[i * self.columns..(i + 1) * self.columns];
            row.iter_mut().zip(x).for_each(|(a, x)| *a += c * x);
        }
    }

    /// A x.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        (0..self.rows).map(|i| dot(self.row(i), x)).collect()
    }

    /// A + c B.
    pub fn plus(mut self, c: f64, b: &Matrix) -> Matrix {
        self.values.iter_mut().zip(&b.values).for_each(|(a, b)| *a += c * b);
        self
    }

    /// The largest |entry|.
    pub fn largest(&self) -> f64 {
        largest(&self.values)
    }

    /// The largest |A − Aᵀ|.
    pub fn asymmetry(&self) -> f64 {
        (0..self.rows).flat_map(|i| (0..i).map(move |j| (i, j))).fold(0.0, |m, (i, j)| {
            let d: f64 = self.at(i, j) - self.at(j, i);
            d.abs().max(m)
        })
    }

    fn finite(&self) -> Result<(), LinearError> {
        match self.values.iter().position(|a| !a.is_finite()) {
            Some(at) => Err(LinearError::NotFinite { row: at / self.columns }),
            None => Ok(()),
        }
    }

    /// An orthonormal basis of the null space of A, by columns: QR of Aᵀ with column pivoting, whose rank ends where the
    /// diagonal of R falls below `tolerance` times its first entry [Golub & Van Loan 2013, 5.4].
    pub fn null_space(&self, tolerance: f64) -> Result<Matrix, LinearError> {
        self.finite()?;
        let n = self.columns;
        if self.rows == 0 || n == 0 {
            return Ok(Matrix::from_fn(n, n, |i, j| (i == j) as u8 as f64));
        }
        let (q, r) = decomposition::transposed_pivoted_qr(&self.values, self.rows, n);
        let rank = r.iter().take_while(|d| d.abs() > tolerance * r[0].abs()).count();
        Ok(Matrix::from_fn(n, n - rank, |i, j| q[i * n + rank + j]))
    }

    /// Eigenvalues, ascending, and eigenvectors (by columns) of a symmetric matrix; only its lower half is read.
    pub fn symmetric_eigen(&self) -> Result<(Vec<f64>, Matrix), LinearError> {
        self.finite()?;
        if self.rows == 0 {
            return Ok((Vec::new(), Matrix::zeros(0, 0)));
        }
        let (values, vectors) = decomposition::symmetric_eigen(&self.values, self.rows)?;
        Ok((values, Matrix { rows: self.rows, columns: self.rows, values: vectors }))
    }

    /// Eigenvalues and right eigenvectors of any square matrix; of a conjugate pair, only the one with the positive imaginary
    /// part.
    pub fn eigen(&self) -> Result<Vec<Eigenpair>, LinearError> {
        self.finite()?;
        if self.rows == 0 {
            return Ok(Vec::new());
        }
        Ok(decomposition::eigen(&self.values, self.rows)?)
    }

    /// A⁻¹B of a regular square matrix, by Gaussian elimination with partial pivoting.
    pub fn solve(&self, b: &Matrix) -> Result<Matrix, LinearError> {
        if self.rows != self.columns || self.rows != b.rows {
            return Err(LinearError::Sizes { expected: self.rows, found: b.rows });
        }
        let (mut a, mut x, n) = (self.clone(), b.clone(), self.rows);
        let swap = |m: &mut Matrix, i: usize, k: usize| {
            let columns = m.columns;
            (0..columns).for_each(|j| m.values.swap(i * columns + j, k * columns + j));
        };
        for k in 0..n {
            let pivot = (k..n).max_by(|i, j| a.at(*i, k).abs().total_cmp(&a.at(*j, k).abs())).unwrap_or(k);
            if a.at(pivot, k) == 0.0 || !a.at(pivot, k).is_finite() {
                return Err(LinearError::Singular { row: k });
            }
            swap(&mut a, k, pivot);
            swap(&mut x, k, pivot);
            for i in k + 1..n {
                let f = a.at(i, k) / a.at(k, k);
                if f != 0.0 {
                    (k..n).for_each(|j| *a.at_mut(i, j) -= f * a.at(k, j));
                    (0..x.columns).for_each(|j| *x.at_mut(i, j) -= f * x.at(k, j));
                }
            }
        }
        for k in (0..n).rev() {
            for j in 0..x.columns {
                let known: f64 = (k + 1..n).map(|i| a.at(k, i) * x.at(i, j)).sum();
                *x.at_mut(k, j) = (x.at(k, j) - known) / a.at(k, k);
            }
        }
        Ok(x)
    }

    /// The Moore–Penrose inverse, with singular values below `tolerance` times the largest set to zero.
    pub fn pseudo_inverse(&self, tolerance: f64) -> Result<Matrix, LinearError> {
        if self.rows * self.columns == 0 {
            return Ok(Matrix::zeros(self.columns, self.rows));
        }
        let svd = super::dense::svd(&self.values, self.rows, self.columns)?;
        let rank = svd.rank(tolerance);
        let v = Matrix::from_fn(self.columns, rank, |i, k| svd.right(k)[i] / svd.values[k]);
        let u = Matrix::from_fn(rank, self.rows, |k, j| svd.left(k)[j]);
        Ok(v.times(&u))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_space_is_orthonormal_and_annihilated_also_with_redundant_rows() {
        let a = Matrix { rows: 3, columns: 4, values: vec![1., 2., 3., 4., 0., 1., -1., 2., 1., 3., 2., 6.] };
        let n = a.null_space(1e-10).unwrap();
        assert_eq!((n.rows, n.columns), (4, 2), "the third row is the sum of the others");
        assert!(a.times(&n).largest() < 1e-14);
        let unit = n.transpose_times(&n).plus(-1.0, &Matrix::from_fn(2, 2, |i, j| (i == j) as u8 as f64));
        assert!(unit.largest() < 1e-14);
        assert_eq!(Matrix::zeros(0, 3).null_space(1e-10).unwrap().columns, 3);
    }

    #[test]
    fn a_system_is_solved_and_a_singular_one_told() {
        let a = Matrix { rows: 3, columns: 3, values: vec![0., 2., 3., 1., 1., -1., 4., 3., 2.] };
        let b = Matrix { rows: 3, columns: 2, values: vec![1., 0., 2., 5., -3., 1.] };
        let x = a.solve(&b).unwrap();
        assert!(a.times(&x).plus(-1.0, &b).largest() < 1e-14);
        let singular = Matrix { rows: 2, columns: 2, values: vec![1., 2., 2., 4.] };
        assert!(singular.solve(&Matrix::zeros(2, 1)).is_err());
    }

    #[test]
    fn eigenpairs_fulfil_their_equation() {
        // −0.1 ± 2i, and −3
        let a = Matrix { rows: 3, columns: 3, values: vec![-0.1, 2.0, 1.0, -2.0, -0.1, 4.0, 0.0, 0.0, -3.0] };
        let pairs = a.eigen().unwrap();
        assert_eq!(pairs.len(), 2);
        for p in &pairs {
            let (x, y) = (a.apply(&p.re), a.apply(&p.im));
            for i in 0..3 {
                assert!((x[i] - p.value.0 * p.re[i] + p.value.1 * p.im[i]).abs() < 1e-14);
                assert!((y[i] - p.value.0 * p.im[i] - p.value.1 * p.re[i]).abs() < 1e-14);
            }
        }
        assert!(pairs.iter().any(|p| (p.value.0 + 0.1).abs() < 1e-14 && (p.value.1 - 2.0).abs() < 1e-14));
    }

    #[test]
    fn a_pseudo_inverse_solves_what_can_be_solved() {
        let a = Matrix { rows: 2, columns: 3, values: vec![1., 2., 0., 2., 4., 0.] };
        let x = a.pseudo_inverse(1e-12).unwrap().apply(&[1.0, 2.0]);
        assert!(a.apply(&x).iter().zip([1.0, 2.0]).all(|(a, b)| (a - b).abs() < 1e-14));
    }
}
