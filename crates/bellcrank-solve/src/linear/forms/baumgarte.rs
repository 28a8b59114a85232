//! Accelerations that draw open constraints closed [Baumgarte 1972].
//!
//! ```text
//!     M v̇ + Gᵀλ = f,   G v̇ = γ − 2α ġ − β² g
//! ```
//!
//! What is open dies out like a damped oscillator. Nothing is projected: constraints hold as well as the method solves this equation, and α
//! and β that are large make it stiff.

use super::{AccelerationForm, Closing};
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::linear::kkt::Kkt;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// The whole system with Baumgarte's right-hand side.
pub struct Baumgarte {
    dynamics: Arc<dyn Dynamics>,
    kkt: Kkt,
    closing: Closing,
}

impl Baumgarte {
    /// The form of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>, closing: Closing) -> Baumgarte {
        Baumgarte { kkt: Kkt::new(dynamics.clone()), dynamics, closing }
    }
}

impl Closing {
    /// Adds c (2α ġ + β² g); rows that hold rates alone have no g.
    pub(super) fn add(self, dynamics: &dyn Dynamics, c: f64, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let mut open = vec![0.0; out.len()];
        add_position_residual(dynamics, self.beta * self.beta, at, w, &mut open);
        add_velocity_residual(dynamics, 2.0 * self.alpha, at, w, &mut open);
        out.iter_mut().zip(open).for_each(|(out, s)| *out += c * s);
    }
}

impl AccelerationForm for Baumgarte {
    fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        let (dynamics, closing) = (&*self.dynamics, self.closing);
        self.kkt.accelerate_towards(at, w, |at, w, rows| closing.add(dynamics, -1.0, at, w, rows))
    }

    fn factorizations(&self) -> usize {
        self.kkt.factorizations
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.kkt.keep(tape, false);
    }

    fn explain(&self) -> String {
        let Closing { alpha, beta } = self.closing;
        format!("{}; constraints close with α = {alpha} 1/s, β = {beta} 1/s", self.kkt.explain())
    }
}
