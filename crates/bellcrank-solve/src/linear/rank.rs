//! The rank of G by singular values, with rows of unit length and all coordinates in lengths of the model.

use super::derivatives::dense;
use bellcrank_math::linear::dense::svd;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};

/// Largest number of coordinates (or equations) for which ranks come from singular values.
pub(crate) const DENSE: usize = 400;

/// A singular value below this part of the largest is none.
pub(crate) const RANK: f64 = 1e-7;

/// G with rows of length one, in coordinates of equal weight, and what follows from it.
pub(crate) struct Rank {
    pub(crate) rows: Vec<f64>,
    pub(crate) rank: usize,
    pub(crate) n: usize,
    /// Motions that G leaves free, in coordinates of equal weight.
    pub(crate) free: Vec<Vec<f64>>,
    /// Combinations of rows that vanish.
    vanishing: Vec<Vec<f64>>,
}

/// The length that each coordinate is counted in.
pub(crate) fn weights(dynamics: &dyn Dynamics) -> Vec<f64> {
    let length = dynamics.length();
    dynamics.scales().iter().map(|s| if *s == Scale::Angle { length } else { 1.0 }).collect()
}

/// The rows of G at a point, each of length one, in coordinates of equal weight.
pub(crate) fn scaled_rows(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Vec<f64> {
    w.invalidate();
    dynamics.realize(at, w);
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    let transposed = dense(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w);
    let weights = weights(dynamics);
    let mut rows = vec![0.0; m * n];
    for k in 0..m {
        let row = &mut rows[k * n..(k + 1) * n];
        (0..n).for_each(|i| row[i] = transposed[i * m + k] / weights[i]);
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 1e-12 {
            row.iter_mut().for_each(|x| *x /= length);
        }
    }
    rows
}

pub(crate) fn rank(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Option<Rank> {
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    let rows = scaled_rows(dynamics, at, w);
    let svd = svd(&rows, m, n).ok()?;
    let rank = svd.rank(RANK);
    let free = (rank..n).map(|k| svd.right(k).to_vec()).collect();
    let vanishing = (rank..m).map(|k| svd.left(k).to_vec()).collect();
    Some(Rank { rows, rank, n, free, vanishing })
}

impl Rank {
    /// The rows that depend on those before them.
    pub(crate) fn dependent(&self) -> Vec<usize> {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut found = Vec::new();
        for (k, row) in self.rows.chunks_exact(self.n.max(1)).enumerate() {
            let mut rest = row.to_vec();
            // twice is enough [Parlett 1980]
            for _ in 0..2 {
                for b in &basis {
                    let part: f64 = b.iter().zip(&rest).map(|(b, r)| b * r).sum();
                    rest.iter_mut().zip(b).for_each(|(r, b)| *r -= part * b);
                }
            }
            let length = rest.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length > 10.0 * RANK && basis.len() < self.rank {
                rest.iter_mut().for_each(|x| *x /= length);
                basis.push(rest);
            } else {
                found.push(k);
            }
        }
        found
    }

    /// The constraint blocks in vanishing combinations of rows.
    pub(crate) fn support(&self, dynamics: &dyn Dynamics) -> Vec<usize> {
        let involved =
            |r: &std::ops::Range<usize>| self.vanishing.iter().any(|u| u[r.clone()].iter().any(|x| x.abs() > 1e-6));
        let blocks = dynamics.layout().constraints.iter().enumerate();
        blocks.filter(|(_, r)| involved(r)).map(|(k, _)| k).collect()
    }
}

/// SᵀAS for a basis S of the free motions.
pub(crate) fn reduce(a: &[f64], free: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let (n, d) = (weights.len(), free.len());
    let mut out = vec![0.0; d * d];
    for (j, s) in free.iter().enumerate() {
        let x: Vec<f64> = s.iter().zip(weights).map(|(s, w)| s / w).collect();
        let image: Vec<f64> = (0..n)
            .map(|i| a[i * n..(i + 1) * n].iter().zip(&x).map(|(a, x)| a * x).sum::<f64>() / weights[i])
            .collect();
        for (i, s) in free.iter().enumerate() {
            out[i * d + j] = s.iter().zip(&image).map(|(s, y)| s * y).sum();
        }
    }
    out
}
