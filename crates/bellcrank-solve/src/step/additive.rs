//! The additive formulation: reactions of the old and of the new point, added to the law of the method.

use super::Step;
use crate::formulation::Additive;
use crate::methods::alpha::AlphaParameters;
use bellcrank_model::{Piece, Point, Workspace};

/// The old point of the additive formulation, with the pull M_n⁻¹G_nᵀλ of the reactions there.
pub(super) struct Old {
    pub(super) point: Point,
    pub(super) w: Workspace,
    pub(super) pull: Vec<f64>,
    /// Where M_n⁻¹G_nᵀ goes in the kinematic rows, and G_nᵀ in the balance.
    pub(super) kinematics: Vec<u32>,
    pub(super) balance: Vec<u32>,
}

impl Step {
    /// Takes the present point for the old one of the next step, where the formulation needs it.
    pub fn remember(&mut self) {
        let Some(old) = &mut self.old else { return };
        old.point.clone_from(&self.point);
        old.w.invalidate();
        self.dynamics.realize(&old.point, &mut old.w);
    }

    /// Finds M_n⁻¹G_nᵀλ and adds its share to v̇, where the formulation has it. The law of the stencil takes
    /// it off again.
    pub(super) fn pull(&mut self) {
        let (Some(old), Some(factors)) = (&mut self.old, self.formulation.additive) else { return };
        old.point.mu.copy_from_slice(&self.point.lambda);
        old.pull.fill(0.0);
        self.dynamics.add(1.0, Piece::MinvGtMu, &old.point, &mut old.w, &mut old.pull);
        self.point.vdot.iter_mut().zip(&old.pull).for_each(|(a, r)| *a += factors.share * r);
    }

    /// v̇ without the reactions, M⁻¹f, in the place of v̇, where the additive formulation counts with it.
    pub fn free_accelerations(&mut self) {
        let Some(factors) = self.formulation.additive else { return };
        self.pull();
        self.dynamics.realize(&self.point, &mut self.w);
        let mut vdot = std::mem::take(&mut self.point.vdot);
        self.dynamics.add(factors.share, Piece::MinvGtMu, &self.point, &mut self.w, &mut vdot);
        self.point.vdot = vdot;
    }

    /// The same at a start, where λ are the reactions.
    pub fn free_start(&mut self) {
        if self.formulation.additive.is_none() {
            return;
        }
        self.point.mu.copy_from_slice(&self.point.lambda);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        let mut vdot = std::mem::take(&mut self.point.vdot);
        self.dynamics.add(1.0, Piece::MinvGtMu, &self.point, &mut self.w, &mut vdot);
        self.point.vdot = vdot;
    }

    /// Adds what the reactions of the prediction do to its positions and velocities: in the additive formulation
    /// the method knows nothing of them.
    pub fn add_reactions(&mut self) {
        let (Some(old), Some(factors)) = (&mut self.old, self.formulation.additive) else { return };
        let (h, slopes) = (self.stencil.h, self.stencil.slopes);
        // v −= h/2 (R_I + R_II), and what the kinematic row asks of q then
        old.point.mu.copy_from_slice(&self.point.lambda);
        old.point.mu.iter_mut().zip(&self.point.mu).for_each(|(a, b)| *a += b);
        old.pull.fill(0.0);
        self.dynamics.add(0.5 * h, Piece::MinvGtMu, &old.point, &mut old.w, &mut old.pull);
        self.point.v.iter_mut().zip(&old.pull).for_each(|(v, r)| *v -= r);
        self.point.q.iter_mut().zip(&old.pull).for_each(|(q, r)| *q -= r / slopes.q);
        for (i, mu) in old.point.mu.iter_mut().enumerate() {
            *mu = factors.old * self.point.lambda[i] + factors.new * self.point.mu[i];
        }
        old.pull.fill(0.0);
        self.dynamics.add(h / slopes.q, Piece::MinvGtMu, &old.point, &mut old.w, &mut old.pull);
        self.point.q.iter_mut().zip(&old.pull).for_each(|(q, r)| *q -= r);
        self.stencil.rates(&mut self.point);
        self.w.invalidate();
    }

    /// Takes the factors of another method.
    pub fn retune(&mut self, parameters: Option<AlphaParameters>) {
        if let (Some(factors), Some(p)) = (&mut self.formulation.additive, parameters) {
            *factors = Additive::new(p, factors.b);
        }
    }

    /// The factor of a piece: those of the additive formulation come from the method and its step.
    pub(super) fn factor(&self, c: f64, piece: Piece) -> f64 {
        match (self.formulation.additive, piece) {
            (Some(factors), Piece::MinvGtMu) => c * factors.new * self.stencil.h,
            (Some(factors), Piece::GtMu) => c * factors.share,
            _ => c,
        }
    }
}
