//! Dense algebra: the solver for small systems, least squares, singular values.

use crate::{
    blocks::{BlockMatrix, BlockPattern, Class},
    solver::{LinearError, LinearSolver},
};
use std::sync::Arc;

/// A pivot below this part of its equilibrated column is noise.
const NEGLIGIBLE: f64 = 1e-12;

/// LU of the whole matrix, dense, rows and columns equilibrated, with partial pivoting.
///
/// Multipliers are eliminated last; a multiplier without a pivot is dropped: it is zero, and the
/// equations left over at the end are ignored.
#[derive(Default)]
pub struct DenseLu {
    n: usize,
    pattern: Option<Arc<BlockPattern>>,
    /// Columns in order of elimination, those of multipliers from `regular` on.
    columns: Vec<usize>,
    regular: usize,
    /// Position of every column.
    position: Vec<usize>,
    /// L and U, columns in order of elimination, rows with pivots first.
    lu: Vec<f64>,
    rows: Vec<usize>,
    /// Positions of the columns with pivots, in the order of the rows.
    pivots: Vec<usize>,
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
    dropped: Vec<usize>,
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
        let n = self.n;
        self.row_scale.fill(1.0);
        self.column_scale.fill(1.0);
        for _ in 0..2 {
            self.x.fill(0.0);
            for (r, row) in self.lu.chunks_exact_mut(n).enumerate() {
                if row.iter().any(|a| !a.is_finite()) {
                    return Err(LinearError::NotFinite { row: r });
                }
                let scale = recip_of_power(row.iter().fold(0.0, |m, a| a.abs().max(m)));
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
        self.n = n;
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

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        let n = self.n;
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
        let n = self.n;
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

/// The reciprocal of the power of two below `x`, so that scaling by it is exact; one for zero.
fn recip_of_power(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { (-x.log2().floor()).exp2() } else { 1.0 }
}
