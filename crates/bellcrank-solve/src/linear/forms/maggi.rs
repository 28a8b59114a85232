//! Maggi's equations in independent coordinates u = Rᵀq [Maggi 1901; Kurdila, Papastavridis & Kamat 1990].
//!
//! ```text
//!     [ G  ]            [ 0 ]
//!     [ Rᵀ ] S  =       [ I ]         S spans the motions that the constraints allow, Sᵀ = P
//!     SᵀM S ü = Sᵀ(f − M D γ),        v̇ = S ü + D γ,   G D = I, RᵀD = 0,   λ = Dᵀ(f − M v̇)
//! ```
//!
//! Positions and velocities follow u and u̇: at every stage of a method Newton's iteration closes g = 0 and ġ = 0 with Rᵀq and Rᵀv as they are.
//! A Runge–Kutta method is linear in what it integrates, so this is the method on u. Only the choice of R differs:
//!
//! | basis | R | |
//! |---|---|---|
//! | LU | columns of the identity: coordinates themselves, kept while they do well | coordinate partitioning [Wehage & Haug 1982] |
//! | QR | the last columns of Q in Gᵀ = Q R, anew at every step | [Kim & Vanderploeg 1986] |
//! | SVD | the right singular vectors of zero, anew at every step | [Mani, Haug & Atkinson 1985] |

use super::AccelerationForm;
use crate::linear::derivatives::dense;
use crate::linear::kkt::Kkt;
use crate::linear::partition::{Partition, SparseRow};
use crate::linear::projection::{Projector, project};
use crate::linear::rank;
use bellcrank_math::linear::dense::svd;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};
use std::sync::Arc;

/// Matrices are dense: most coordinates that they are made for.
pub const MOST: usize = rank::DENSE;

/// How independent coordinates are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Elimination with pivoting: some coordinates stand for all.
    Lu,
    /// Orthogonal combinations, by reflections.
    Qr,
    /// Orthogonal combinations, by singular values.
    Svd,
}

/// The form in independent coordinates.
pub struct Maggi {
    dynamics: Arc<dyn Dynamics>,
    basis: Basis,
    /// It gives the rows of G.
    kkt: Kkt,
    /// Rᵀ; none before the first step.
    independent: Option<Matrix>,
    /// Of LU: the partition in use.
    partition: Partition,
    /// The rows of G that are kept, and the inverse of (G; Rᵀ), at the point that was factored last.
    kept: Vec<usize>,
    inverse: Matrix,
    change: Vec<f64>,
    factorizations: usize,
}

impl Maggi {
    /// The form of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>, basis: Basis) -> Maggi {
        Maggi {
            kkt: Kkt::new(dynamics.clone()),
            dynamics,
            basis,
            independent: None,
            partition: Partition::default(),
            kept: Vec::new(),
            inverse: Matrix::default(),
            change: Vec::new(),
            factorizations: 0,
        }
    }

    fn choose(&mut self, rows: &[SparseRow]) -> Result<(), LinearError> {
        let n = self.dynamics.layout().n();
        let weights = rank::weights(&*self.dynamics);
        let g = || scaled(rows, &weights);
        // by rows, in coordinates of equal weight
        let r = match self.basis {
            Basis::Lu => {
                if self.partition.independent.len() != n {
                    self.partition = Partition::choose(rows, n);
                } else {
                    self.partition.renew(rows);
                }
                let free: Vec<usize> = (0..n).filter(|i| self.partition.independent[*i]).collect();
                Matrix::from_fn(free.len(), n, |k, i| (free[k] == i) as u8 as f64 / weights[i])
            }
            Basis::Qr => g().null_space(rank::RANK)?.transpose(),
            Basis::Svd => {
                let g = g();
                let found = svd(&g.values, g.rows, n)?;
                let rank = found.rank(rank::RANK);
                Matrix::from_fn(n - rank, n, |k, i| found.right(rank + k)[i])
            }
        };
        self.independent = Some(Matrix::from_fn(r.rows, n, |k, i| r.at(k, i) * weights[i]));
        Ok(())
    }

    /// (G; Rᵀ)⁻¹ at a realized point.
    fn invert(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        let rows = self.kkt.kept_rows(at, w);
        if self.independent.is_none() {
            self.choose(&rows)?;
        }
        self.kept = (0..rows.len()).filter(|i| !rows[*i].is_empty()).collect();
        let (n, m) = (self.dynamics.layout().n(), self.kept.len());
        let r = self.independent.as_ref().map_or(0, |r| r.rows);
        if m + r != n {
            // rows depend on each other that did not, or no longer do
            let row = n + self.kept.last().copied().unwrap_or(0);
            return Err(LinearError::Singular { row });
        }
        let mut a = Matrix::zeros(n, n);
        for (i, &row) in self.kept.iter().enumerate() {
            rows[row].iter().for_each(|&(c, g)| *a.at_mut(i, c) = g);
        }
        if let Some(r) = &self.independent {
            a.values[m * n..].copy_from_slice(&r.values);
        }
        self.factorizations += 1;
        self.inverse = a.solve(&Matrix::from_fn(n, n, |i, j| (i == j) as u8 as f64))?;
        Ok(())
    }

    /// D r, for r over all rows.
    fn displace(&self, rows: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.kept.iter().zip(self.inverse.row(i)).map(|(&row, d)| d * rows[row]).sum();
        }
    }
}

/// Rows of unit length in coordinates of equal weight; those that are left out are none.
fn scaled(rows: &[SparseRow], weights: &[f64]) -> Matrix {
    let kept: Vec<&SparseRow> = rows.iter().filter(|row| !row.is_empty()).collect();
    let mut g = Matrix::zeros(kept.len(), weights.len());
    for (k, row) in kept.iter().enumerate() {
        let length = row.iter().map(|&(c, g)| (g / weights[c]).powi(2)).sum::<f64>().sqrt();
        row.iter().for_each(|&(c, x)| *g.at_mut(k, c) = x / weights[c] / length);
    }
    g
}

impl Projector for Maggi {
    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.invert(at, w)
    }

    fn project(
        &mut self,
        at: &Point,
        w: &mut Workspace,
        fill: &dyn Fn(&mut Workspace, &mut [f64]),
    ) -> Result<&[f64], LinearError> {
        let mut rows = vec![0.0; at.lambda.len()];
        fill(w, &mut rows);
        let mut change = std::mem::take(&mut self.change);
        change.resize(at.v.len(), 0.0);
        self.displace(&rows, &mut change);
        self.change = change;
        Ok(&self.change)
    }
}

impl AccelerationForm for Maggi {
    fn begin(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        if at.lambda.is_empty() {
            return Ok(());
        }
        w.invalidate();
        self.dynamics.realize(at, w);
        let rows = self.kkt.kept_rows(at, w);
        self.choose(&rows)
    }

    fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        if at.lambda.is_empty() {
            return self.kkt.accelerate(at, w);
        }
        self.invert(at, w)?;
        let (n, m) = (at.v.len(), self.kept.len());
        at.vdot.fill(0.0);
        let (mut f, mut gamma) = (vec![0.0; n], vec![0.0; at.lambda.len()]);
        self.dynamics.add(1.0, Piece::Force, at, w, &mut f);
        self.dynamics.add(-1.0, Piece::Acceleration, at, w, &mut gamma);
        let slopes = Slopes { q: 0.0, v: 1.0, z: 0.0 };
        let mass = dense(&*self.dynamics, Piece::MassAccel, Unknown::V, slopes, at, w);
        let mass = Matrix { rows: n, columns: n, values: mass };
        self.displace(&gamma, &mut at.vdot);
        let s = Matrix::from_fn(n, n - m, |i, j| self.inverse.at(i, m + j));
        let rest = |vdot: &[f64]| -> Vec<f64> { f.iter().zip(mass.apply(vdot)).map(|(f, i)| f - i).collect() };
        let reduced = s.transpose_times(&mass.times(&s));
        let loads = s.transpose_times(&Matrix { rows: n, columns: 1, values: rest(&at.vdot) });
        let u = reduced.solve(&loads)?;
        at.vdot.iter_mut().zip(s.apply(&u.values)).for_each(|(v, d)| *v += d);
        let reactions = rest(&at.vdot);
        at.lambda.fill(0.0);
        for (k, &row) in self.kept.iter().enumerate() {
            at.lambda[row] = reactions.iter().enumerate().map(|(i, r)| self.inverse.at(i, k) * r).sum();
        }
        Ok(())
    }

    fn keeps_stages(&self) -> bool {
        true
    }

    fn project(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        let dynamics = self.dynamics.clone();
        project(self, &*dynamics, at, w)
    }

    fn factorizations(&self) -> usize {
        self.factorizations
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.kkt.keep(tape, false);
        tape.plain(&mut self.independent);
        tape.plain(&mut self.partition);
        tape.count(&mut self.factorizations);
    }

    fn explain(&self) -> String {
        let by = match self.basis {
            Basis::Lu => "some coordinates, chosen by elimination",
            Basis::Qr => "orthogonal combinations of coordinates, by reflections",
            Basis::Svd => "orthogonal combinations of coordinates, by singular values",
        };
        let independent = self.independent.as_ref().map_or(0, |r| r.rows);
        format!("Maggi's equations in {independent} independent coordinates: {by}")
    }
}
