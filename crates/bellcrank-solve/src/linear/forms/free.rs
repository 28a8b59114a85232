//! The system of accelerations without its constraints, or with constraints that give way.

use crate::linear::kkt::Kkt;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::{Piece, Point, Workspace};

impl Kkt {
    /// Forms and factors M alone at a realized point; of a [`Kkt::proximal`] system.
    pub(super) fn factor_free(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.form(at, w);
        for k in self.constraint_blocks() {
            self.release(k)?;
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)
    }

    /// Forms and factors the matrix at a realized point with −c on the diagonal of the multipliers: rows that give way by c per unit
    /// of their multiplier; of a [`Kkt::proximal`] system.
    pub(super) fn factor_giving_way(&mut self, c: &[f64], at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.form(at, w);
        for k in self.constraint_blocks() {
            let rows = self.matrix.pattern().range(k);
            let (n, first) = (rows.len(), rows.start - self.n);
            let own = self.matrix.block_mut(k, k).ok_or(LinearError::Singular { row: rows.start })?;
            (0..n).for_each(|i| own[i * n + i] = -c[first + i]);
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)
    }

    /// How easily each constraint row is moved by its own multiplier, (G M⁻¹Gᵀ)ᵢᵢ, at a realized point; one where nothing moves it.
    /// Of a [`Kkt::proximal`] system.
    pub(super) fn row_mobilities(&mut self, at: &Point, w: &mut Workspace) -> Result<Vec<f64>, LinearError> {
        let rows = self.constraint_rows(at, w);
        self.factor_free(at, w)?;
        let mobility = |row: &Vec<(usize, f64)>| {
            let (moved, _) = self.answer(|load, _| row.iter().for_each(|&(c, g)| load[c] = g))?;
            let sum: f64 = row.iter().map(|&(c, g)| g * moved[c]).sum();
            Ok(if sum > 0.0 { sum } else { 1.0 })
        };
        rows.iter().map(mobility).collect()
    }

    /// v̇ = M⁻¹(f − Gᵀλ) with the multipliers of a realized point.
    pub(super) fn accelerate_freely(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.factor_free(at, w)?;
        let dynamics = self.dynamics.clone();
        let (vdot, _) = self.answer(|load, _| {
            dynamics.add(1.0, Piece::Force, at, w, load);
            dynamics.add(-1.0, Piece::GtLambda, at, w, load);
        })?;
        at.vdot.copy_from_slice(vdot);
        Ok(())
    }

    fn constraint_blocks(&self) -> std::ops::Range<usize> {
        self.dynamics.layout().bodies.len()..self.matrix.pattern().blocks()
    }
}
