//! Multipliers that follow the rates of their constraints [Park & Chiou 1988].
//!
//! ```text
//!     M v̇ = f − Gᵀλ,   λ̇ = ġ / (ε² W)
//! ```
//!
//! The penalty λ = λ(0) + g/(ε²W), differentiated once: ordinary differential equations for q, v and λ, without any system of constraints to solve.
//! Each joint is a spring whose own period is 2π ε, whatever its units and masses: W are the own mobilities of the rows at the start. Joints open
//! by ε²W Δλ, and steps resolve ε. Dependent rows do no harm.

use super::AccelerationForm;
use crate::constraints::add_velocity_residual;
use crate::linear::kkt::Kkt;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// Multipliers as states.
pub struct Park {
    dynamics: Arc<dyn Dynamics>,
    kkt: Kkt,
    epsilon: f64,
    /// ε²W.
    compliance: Vec<f64>,
    rates: Vec<f64>,
}

impl Park {
    /// The form of some equations of motion, with the weights of a start.
    pub fn new(dynamics: Arc<dyn Dynamics>, epsilon: f64, start: &Point) -> Result<Park, LinearError> {
        let (mut kkt, mut w) = (Kkt::proximal(dynamics.clone()), dynamics.workspace());
        dynamics.realize(start, &mut w);
        let compliance: Vec<f64> = match dynamics.layout().m() {
            0 => Vec::new(),
            _ => kkt.row_mobilities(start, &mut w)?.into_iter().map(|w| epsilon * epsilon * w).collect(),
        };
        let rates = vec![0.0; compliance.len()];
        Ok(Park { dynamics, kkt, epsilon, compliance, rates })
    }
}

impl AccelerationForm for Park {
    fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        if self.compliance.is_empty() {
            return self.kkt.accelerate(at, w);
        }
        self.kkt.accelerate_freely(at, w)?;
        self.rates.fill(0.0);
        add_velocity_residual(&*self.dynamics, 1.0, at, w, &mut self.rates);
        self.rates.iter_mut().zip(&self.compliance).for_each(|(r, c)| *r /= c);
        Ok(())
    }

    fn multiplier_rates(&self) -> Option<&[f64]> {
        Some(&self.rates)
    }

    fn factorizations(&self) -> usize {
        self.kkt.factorizations
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.kkt.keep(tape, false);
        tape.numbers(&mut self.compliance);
    }

    fn explain(&self) -> String {
        format!("masses alone; multipliers are states, ε = {} s", self.epsilon)
    }
}
