//! Dense algebra: the solver for small systems, least squares, singular values.

use super::{
    blocks::{BlockMatrix, BlockPattern, Class},
    decomposition,
    interface::{LinearError, LinearSolver},
};
use crate::numbers::{dot, largest, recip_of_power};
use crate::tape::Tape;
use std::sync::Arc;

/// A multiplier's pivot below this, in equilibrated columns, is noise.
const NEGLIGIBLE: f64 = 1e-12;

/// LU of the whole matrix, dense, rows and columns equilibrated, with partial pivoting.
///
/// Multipliers are eliminated last. A multiplier without a pivot is dropped: it comes out zero, and the equations left over
/// at the end are ignored.
///
/// Its fields are one factorization: pattern, order, factors, scales and scratch.
#[derive(Default)]
pub struct DenseLu {
    pattern: Option<Arc<BlockPattern>>,
    /// Columns in elimination order; those of multipliers start at `regular`.
    columns: Vec<usize>,
    regular: usize,
    /// Position of every column.
    position: Vec<usize>,
    /// L and U, columns in elimination order, rows with pivots first.
    lu: Vec<f64>,
    /// Scalar row at every place of `lu`.
    rows: Vec<usize>,
    /// Positions of the columns with pivots, in the order of the rows.
    pivots: Vec<usize>,
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
    dropped: Vec<usize>,
    left_out: Vec<usize>,
    smallest: f64,
    x: Vec<f64>,
}

impl DenseLu {
    /// A solver that has seen no pattern yet.
    pub fn new() -> DenseLu {
        DenseLu::default()
    }

    /// Scales rows and columns by powers of two until their largest entries are about one.
    fn equilibrate(&mut self) -> Result<(), LinearError> {
        let n = self.rows.len();
        self.row_scale.fill(1.0);
        self.column_scale.fill(1.0);
        for _ in 0..2 {
            self.x.fill(0.0);
            for (r, row) in self.lu.chunks_exact_mut(n).enumerate() {
                if row.iter().any(|a| !a.is_finite()) {
                    return Err(LinearError::NotFinite { row: r });
                }
                let scale = recip_of_power(largest(&*row));
                self.row_scale[r] *= scale;
                for (a, m) in row.iter_mut().zip(&mut self.x) {
                    *a *= scale;
                    *m = a.abs().max(*m);
                }
            }
            self.x.iter_mut().for_each(|m| *m = recip_of_power(*m));
            for row in self.lu.chunks_exact_mut(n) {
                row.iter_mut().zip(&self.x).for_each(|(a, s)| *a *= s);
            }
            self.column_scale.iter_mut().zip(&self.x).for_each(|(c, s)| *c *= s);
        }
        Ok(())
    }
}

impl LinearSolver for DenseLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        let n = pattern.dimension();
        let multiplier = |b: &usize| pattern.class(*b) == Class::Multiplier;
        let scalars = |blocks: &mut dyn Iterator<Item = usize>| blocks.flat_map(|b| pattern.range(b)).collect();
        self.columns = scalars(&mut (0..pattern.blocks()).filter(|b| !multiplier(b)));
        self.regular = self.columns.len();
        let last: Vec<usize> = scalars(&mut (0..pattern.blocks()).filter(multiplier));
        self.columns.extend(last);
        self.position = vec![0; n];
        for (k, &c) in self.columns.iter().enumerate() {
            self.position[c] = k;
        }
        self.pattern = Some(pattern.clone());
        self.lu = vec![0.0; n * n];
        self.rows = (0..n).collect();
        self.pivots = Vec::with_capacity(n);
        self.row_scale = vec![1.0; n];
        self.column_scale = vec![1.0; n];
        self.dropped = Vec::with_capacity(n);
        self.x = vec![0.0; n];
        Ok(())
    }

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        self.left_out = rows.unwrap_or_default().to_vec();
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        let n = self.rows.len();
        let expected = self.pattern.as_ref().map_or(0, |p| p.values());
        let Some(pattern) = self.pattern.as_ref().filter(|_| a.values.len() == expected) else {
            return Err(LinearError::Sizes { expected, found: a.values.len() });
        };
        self.dropped.clear();
        self.pivots.clear();
        self.smallest = f64::INFINITY;
        if n == 0 {
            return Ok(());
        }
        self.lu.fill(0.0);
        for i in 0..pattern.blocks() {
            for (j, offset) in pattern.row(i) {
                let mut block = a.values[offset..].iter();
                for r in pattern.range(i) {
                    for c in pattern.range(j) {
                        self.lu[r * n + self.position[c]] = *block.next().unwrap_or(&0.0);
                    }
                }
            }
        }
        // without entries they have no pivots
        for &r in &self.left_out {
            self.lu[r * n..(r + 1) * n].fill(0.0);
            let c = self.position[r];
            self.lu.chunks_exact_mut(n).for_each(|row| row[c] = 0.0);
        }
        self.equilibrate()?;
        self.rows.iter_mut().enumerate().for_each(|(k, r)| *r = k);
        for c in 0..n {
            let k = self.pivots.len();
            let column = self.lu.chunks_exact(n).map(|row| row[c].abs()).enumerate().skip(k);
            let (at, size) = column.fold((k, 0.0), |best, x| if x.1 > best.1 { x } else { best });
            let least = if c < self.regular { 0.0 } else { NEGLIGIBLE };
            if size <= least {
                if c < self.regular {
                    return Err(LinearError::Singular { row: self.columns[c] });
                }
                self.dropped.push(self.columns[c]);
                continue;
            }
            self.smallest = self.smallest.min(size);
            self.pivots.push(c);
            self.rows.swap(k, at);
            let (upper, lower) = self.lu.split_at_mut((k + 1) * n);
            let pivot = &mut upper[k * n..];
            if at > k {
                pivot.swap_with_slice(&mut lower[(at - k - 1) * n..(at - k) * n]);
            }
            let inverse = pivot[c].recip();
            for row in lower.chunks_exact_mut(n) {
                row[c] *= inverse;
                let factor = row[c];
                row[c + 1..].iter_mut().zip(&pivot[c + 1..]).for_each(|(a, p)| *a -= factor * p);
            }
        }
        self.dropped.sort_unstable();
        Ok(())
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        let n = self.rows.len();
        if b.len() != n {
            return Err(LinearError::Sizes { expected: n, found: b.len() });
        }
        let rank = self.pivots.len();
        for k in 0..rank {
            let row = &self.lu[k * n..(k + 1) * n];
            let known: f64 = (0..k).map(|i| row[self.pivots[i]] * self.x[i]).sum();
            self.x[k] = b[self.rows[k]] * self.row_scale[self.rows[k]] - known;
        }
        b.fill(0.0);
        for k in (0..rank).rev() {
            let row = &self.lu[k * n..(k + 1) * n];
            let known: f64 = (k + 1..rank).map(|i| row[self.pivots[i]] * self.x[i]).sum();
            self.x[k] = (self.x[k] - known) / row[self.pivots[k]];
            b[self.columns[self.pivots[k]]] = self.x[k] * self.column_scale[self.pivots[k]];
        }
        Ok(())
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        tape.plain(&mut self.dropped);
        tape.number(&mut self.smallest);
        if factors {
            tape.fixed(&mut self.lu);
            tape.plain(&mut self.rows);
            tape.plain(&mut self.pivots);
            tape.fixed(&mut self.row_scale);
            tape.fixed(&mut self.column_scale);
        }
    }

    fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.smallest
    }

    fn name(&self) -> &'static str {
        "dense LU"
    }
}

/// Singular values and vectors, A = Σ σₖ uₖ vₖᵀ.
#[derive(Clone, Debug)]
pub struct Svd {
    rows: usize,
    columns: usize,
    /// σₖ, descending, as many as the smaller dimension.
    pub values: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Svd {
    /// uₖ, k below the number of rows of A.
    pub fn left(&self, k: usize) -> &[f64] {
        &self.left[k * self.rows..(k + 1) * self.rows]
    }

    /// vₖ, k below the number of columns of A; those from the rank on span the null space of A.
    pub fn right(&self, k: usize) -> &[f64] {
        &self.right[k * self.columns..(k + 1) * self.columns]
    }

    /// The number of singular values above `tolerance` · σ₀.
    pub fn rank(&self, tolerance: f64) -> usize {
        let least = tolerance * self.values.first().copied().unwrap_or(0.0);
        self.values.iter().take_while(|&&s| s > least).count()
    }
}

/// The singular values and all singular vectors of a matrix given by rows.
pub fn svd(a: &[f64], rows: usize, columns: usize) -> Result<Svd, LinearError> {
    check(a, rows, columns)?;
    let f = decomposition::svd(a, rows, columns)?;
    Ok(Svd { rows, columns, values: f.values, left: f.left, right: f.right })
}

/// The solution of a least-squares problem, and the numerical rank it was found with.
#[derive(Clone, Debug)]
pub struct LeastSquares {
    /// The x of least |x| among those of least |A x − b|.
    pub x: Vec<f64>,
    /// The number of singular values above the tolerance.
    pub rank: usize,
}

/// min |x| over min |A x − b|: x = Σ vₖ (uₖ · b) / σₖ over the singular values above
/// `tolerance` · σ₀ [Golub & Van Loan 2013, 5.5]. A is given by rows.
pub fn least_squares(
    a: &[f64],
    rows: usize,
    columns: usize,
    b: &[f64],
    tolerance: f64,
) -> Result<LeastSquares, LinearError> {
    if b.len() != rows {
        return Err(LinearError::Sizes { expected: rows, found: b.len() });
    }
    let svd = svd(a, rows, columns)?;
    let rank = svd.rank(tolerance);
    let mut x = vec![0.0; columns];
    for k in 0..rank {
        let c = dot(svd.left(k), b) / svd.values[k];
        x.iter_mut().zip(svd.right(k)).for_each(|(x, v)| *x += c * v);
    }
    Ok(LeastSquares { x, rank })
}

/// The eigenvalues of a symmetric matrix given by rows, ascending; only its lower half is read.
pub fn symmetric_eigenvalues(a: &[f64], n: usize) -> Result<Vec<f64>, LinearError> {
    check(a, n, n)?;
    Ok(decomposition::symmetric_eigenvalues(a, n)?)
}

fn check(a: &[f64], rows: usize, columns: usize) -> Result<(), LinearError> {
    if a.len() != rows * columns {
        return Err(LinearError::Sizes { expected: rows * columns, found: a.len() });
    }
    match a.iter().position(|a| !a.is_finite()) {
        Some(at) => Err(LinearError::NotFinite { row: at / columns }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_is_least_twice() {
        // rank 2 of 3 columns: the third is the sum of the others
        let a = [1.0, 2.0, 3.0, 0.0, 1.0, 1.0, -1.0, 4.0, 3.0, 2.0, 0.0, 2.0];
        let b = [1.0, -1.0, 2.0, 0.5];
        let LeastSquares { x, rank } = least_squares(&a, 4, 3, &b, 1e-12).unwrap();
        assert_eq!(rank, 2);
        let r: Vec<f64> = (0..4).map(|i| (0..3).map(|j| a[i * 3 + j] * x[j]).sum::<f64>() - b[i]).collect();
        for j in 0..3 {
            assert!((0..4).map(|i| a[i * 3 + j] * r[i]).sum::<f64>().abs() < 1e-13, "AᵀR = 0");
        }
        assert!((x[0] + x[1] - x[2]).abs() < 1e-14, "x is orthogonal to the null space (1, 1, −1)");
        let wide = least_squares(&[1.0, 1.0], 1, 2, &[4.0], 1e-12).unwrap();
        assert!(wide.x.iter().all(|x| (x - 2.0).abs() < 1e-14));
        assert_eq!(least_squares(&[], 0, 2, &[], 1e-12).unwrap().x, [0.0, 0.0]);
        assert_eq!(least_squares(&[f64::NAN], 1, 1, &[1.0], 0.0).unwrap_err(), LinearError::NotFinite { row: 0 });
    }

    #[test]
    fn singular_vectors_rebuild_the_matrix() {
        let a = [1.0, 2.0, 3.0, 4.0, -5.0, 6.5];
        for (rows, columns) in [(2, 3), (3, 2)] {
            let f = svd(&a, rows, columns).unwrap();
            for i in 0..rows {
                for j in 0..columns {
                    let sum: f64 = (0..2).map(|k| f.values[k] * f.left(k)[i] * f.right(k)[j]).sum();
                    assert!((sum - a[i * columns + j]).abs() < 1e-14);
                }
            }
        }
        let null = svd(&a, 2, 3).unwrap();
        let v = null.right(2);
        assert!((0..2).all(|i| (0..3).map(|j| a[i * 3 + j] * v[j]).sum::<f64>().abs() < 1e-14));
    }

    #[test]
    fn eigenvalues_of_a_string() {
        let n = 7usize;
        let a: Vec<f64> = (0..n * n)
            .map(|k| match (k / n).abs_diff(k % n) {
                0 => 2.0,
                1 => -1.0,
                _ => 0.0,
            })
            .collect();
        for (k, value) in symmetric_eigenvalues(&a, n).unwrap().iter().enumerate() {
            let exact = 2.0 - 2.0 * (std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64).cos();
            assert!((value - exact).abs() < 1e-14);
        }
    }
}
