//! Multipliers of least size where the joints between parts are redundant.
//!
//! The rows that hold the joints follow the multipliers by A = Γ Y Γᵀ, Y the admittance of the parts. Where joints are
//! redundant, some multipliers N move nothing: A N = 0. They would be carried on from window to window by extrapolation, in which
//! rounding grows without bound. So what is solved for are the least multipliers that do the same,
//!
//! ```text
//!     x ← A⁺ b + A⁺A x,        |x| after columns are scaled to one: multipliers count by what they move
//! ```
//!
//! and what is predicted goes through the last A⁺A.

use super::largest;
use bellcrank_math::linear::dense::{Svd, svd};
use bellcrank_math::linear::matrix::Matrix;

/// Singular values below this fraction of the largest count as zero: redundant joints and singular positions. Those of the
/// redundant rows of a Bennett linkage are up to 1.4e-7, because its geometry closes only as well as its joints; what a joint
/// has to hold is seldom below 1e-3, and what was not held shows as a gap.
const RANK: f64 = 1e-6;

/// A multiplier that takes part in motionless ones by more than this fraction is not unique.
const PART: f64 = 1e-6;

/// Equations A x = b of the interface, rows and columns scaled to one.
pub(super) struct Equations {
    of: Option<Svd>,
    rank: usize,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Equations {
    /// None if A is not finite.
    pub fn new(a: &Matrix) -> Option<Equations> {
        let unit = |x: f64| if x > 0.0 { 1.0 / x } else { 1.0 };
        let columns: Vec<f64> = (0..a.columns).map(|j| unit(largest(&a.column(j)))).collect();
        let scaled = Matrix::from_fn(a.rows, a.columns, |i, j| a.at(i, j) * columns[j]);
        let rows: Vec<f64> = (0..a.rows).map(|i| unit(largest(scaled.row(i)))).collect();
        let scaled = Matrix::from_fn(a.rows, a.columns, |i, j| scaled.at(i, j) * rows[i]);
        let empty = a.rows == 0 || a.columns == 0;
        let of = if empty { None } else { Some(svd(&scaled.values, a.rows, a.columns).ok()?) };
        let rank = of.as_ref().map_or(0, |svd| svd.rank(RANK));
        Some(Equations { of, rank, rows, columns })
    }

    /// The least change of x by which A x changes by b, as far as it can.
    pub fn least_change(&self, b: &[f64]) -> Vec<f64> {
        let b: Vec<f64> = b.iter().zip(&self.rows).map(|(b, r)| b * r).collect();
        let mut z = vec![0.0; self.columns.len()];
        for (svd, k) in self.of.iter().flat_map(|svd| (0..self.rank).map(move |k| (svd, k))) {
            let c = svd.left(k).iter().zip(&b).map(|(u, b)| u * b).sum::<f64>() / svd.values[k];
            z.iter_mut().zip(svd.right(k)).for_each(|(z, v)| *z += c * v);
        }
        z.iter().zip(&self.columns).map(|(z, c)| z * c).collect()
    }

    /// A⁺A, which takes from multipliers what moves nothing; none if every multiplier moves something.
    pub fn moving(&self) -> Option<Matrix> {
        let (n, c) = (self.columns.len(), &self.columns);
        let svd = self.of.as_ref().filter(|_| self.rank < n)?;
        let motionless = |i: usize, j: usize| (self.rank..n).map(|k| svd.right(k)[i] * svd.right(k)[j]).sum::<f64>();
        Some(Matrix::from_fn(n, n, |i, j| (i == j) as u8 as f64 - c[i] * motionless(i, j) / c[j]))
    }
}

/// The multipliers of a machine that are not unique, by its A⁺A.
pub(super) fn not_unique(moving: &Matrix) -> impl Iterator<Item = usize> + '_ {
    (0..moving.rows).filter(|&i| 1.0 - moving.at(i, i) > PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_nothing_is_taken_away_and_the_rest_is_kept() {
        // the third multiplier does what the first two do together, in other units
        let a = Matrix { rows: 3, columns: 3, values: vec![2.0, 0.0, 2e-3, 0.0, 1.0, 1e-3, 2.0, 1.0, 3e-3] };
        let equations = Equations::new(&a).unwrap();
        let moving = equations.moving().unwrap();
        let x = [1.0, -2.0, 300.0];
        let least = moving.apply(&x);
        let (before, after) = (a.apply(&x), a.apply(&least));
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-12), "{before:?} {after:?}");
        assert!(moving.apply(&least).iter().zip(&least).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(not_unique(&moving).collect::<Vec<_>>(), [0, 1, 2]);
        let change = equations.least_change(&after);
        assert!(change.iter().zip(&least).all(|(a, b)| (a - b).abs() < 1e-12), "{change:?} {least:?}");
        let full = Matrix { rows: 2, columns: 2, values: vec![2.0, 1.0, 0.0, 1e-7] };
        assert!(Equations::new(&full).unwrap().moving().is_none());
    }
}
