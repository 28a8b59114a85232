//! A penalty in the place of reactions, and multipliers that take it over [Bayo, García de Jalón & Serna 1988].
//!
//! ```text
//!     (M + GᵀA G) v̇ₛ = f − Gᵀλₛ₋₁ − GᵀA(−γ + 2α ġ + β² g),   λₛ = λₛ₋₁ + A(G v̇ₛ − γ + 2α ġ + β² g),   λ₀ = 0
//! ```
//!
//! s = 1 is the penalty method. Each further iterate divides what is left of the constraint by about 1 + p, and the limit is
//! [`super::baumgarte`]. A = p W⁻¹ with W the own mobilities of the rows, so that one number p suits lengths and angles, light and heavy bodies.
//! It is solved as M v̇ + Gᵀλ = f, G v̇ − A⁻¹(λ − λₛ₋₁) = γ − …, whose condition does not suffer from large p; M + GᵀA G is never formed.

use super::{AccelerationForm, Closing};
use crate::linear::kkt::Kkt;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Piece, Point, Workspace};
use std::sync::Arc;

/// The augmented Lagrangian form.
pub struct Augmented {
    dynamics: Arc<dyn Dynamics>,
    kkt: Kkt,
    closing: Closing,
    penalty: f64,
    iterates: usize,
    /// A⁻¹, by rows.
    compliance: Vec<f64>,
}

impl Augmented {
    /// The form of some equations of motion, with the weights of a start.
    pub fn new(
        dynamics: Arc<dyn Dynamics>,
        closing: Closing,
        penalty: f64,
        iterates: usize,
        start: &Point,
    ) -> Result<Augmented, LinearError> {
        let (mut kkt, mut w) = (Kkt::proximal(dynamics.clone()), dynamics.workspace());
        dynamics.realize(start, &mut w);
        let compliance = match dynamics.layout().m() {
            0 => Vec::new(),
            _ => kkt.row_mobilities(start, &mut w)?.into_iter().map(|w| w / penalty).collect(),
        };
        Ok(Augmented { dynamics, kkt, closing, penalty, iterates, compliance })
    }
}

impl AccelerationForm for Augmented {
    fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        if self.compliance.is_empty() {
            return self.kkt.accelerate(at, w);
        }
        self.kkt.factor_giving_way(&self.compliance, at, w)?;
        at.vdot.fill(0.0);
        let (mut f, mut gamma) = (vec![0.0; at.vdot.len()], vec![0.0; at.lambda.len()]);
        self.dynamics.add(1.0, Piece::Force, at, w, &mut f);
        self.dynamics.add(-1.0, Piece::Acceleration, at, w, &mut gamma);
        self.closing.add(&*self.dynamics, -1.0, at, w, &mut gamma);
        at.lambda.fill(0.0);
        for _ in 0..self.iterates {
            let (vdot, lambda) = self.kkt.answer(|loads, rates| {
                loads.copy_from_slice(&f);
                let past = at.lambda.iter().zip(&self.compliance);
                rates.iter_mut().zip(&gamma).zip(past).for_each(|((r, g), (l, c))| *r = g - c * l);
            })?;
            at.vdot.copy_from_slice(vdot);
            at.lambda.copy_from_slice(lambda);
        }
        Ok(())
    }

    fn factorizations(&self) -> usize {
        self.kkt.factorizations
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.kkt.keep(tape, false);
        tape.numbers(&mut self.compliance);
    }

    fn explain(&self) -> String {
        let (s, p) = (self.iterates, self.penalty);
        format!("{}; augmented Lagrangian, penalty {p:e}, {s} iterates", self.kkt.explain())
    }
}
