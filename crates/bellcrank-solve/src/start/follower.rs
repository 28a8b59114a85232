//! Keeps a mechanism without freedom closed while time goes on.

use super::AssemblyError;
use super::assemble::owner;
use super::closure::Closure;
use crate::linear::kkt::Kkt;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// Keeps a mechanism without freedom closed while time goes on.
pub struct Follower {
    dynamics: Arc<dyn Dynamics>,
    closure: Closure,
    kkt: Kkt,
    w: Workspace,
    /// Newton iterations so far.
    pub iterations: usize,
}

impl Follower {
    /// For points like this one.
    pub fn new(dynamics: Arc<dyn Dynamics>, at: &Point) -> Follower {
        let mut w = dynamics.workspace();
        dynamics.realize(at, &mut w);
        let closure = Closure::new(dynamics.clone(), Vec::new(), at, &mut w);
        Follower { kkt: Kkt::new(dynamics.clone()), closure, w, iterations: 0, dynamics }
    }

    /// Tells a tape what one time leaves to the next.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        self.closure.linear.keep(tape, false);
        self.kkt.keep(tape, false);
        tape.count(&mut self.iterations);
    }

    /// Closes positions by Newton's method, then velocities; accelerations and reactions follow.
    pub fn close(&mut self, at: &mut Point) -> Result<(), AssemblyError> {
        let length = self.dynamics.length();
        let largest = at.q.iter().fold(length, |m, q| m.max(q.abs()));
        let tolerance = 1e-13 * length + 32.0 * f64::EPSILON * largest;
        let open = |c: &Closure, by: f64| {
            let worst = c.open(0.0).into_iter().next().map_or_else(|| "the model".into(), |(_, joint)| joint);
            AssemblyError::Open { worst, by, others: Vec::new(), held: Vec::new() }
        };
        let mut residual = f64::INFINITY;
        for _ in 0..12 {
            self.w.invalidate();
            self.dynamics.realize(at, &mut self.w);
            let now = self.closure.residual(at, &mut self.w, false);
            if now <= tolerance || (now >= 0.5 * residual && now <= 1e3 * tolerance) {
                residual = now;
                break;
            }
            residual = now;
            self.iterations += 1;
            let solved = self.closure.factor(at, &mut self.w).is_ok()
                && self.closure.linear.solve(&mut self.closure.rhs).is_ok();
            if !solved || !now.is_finite() {
                break;
            }
            self.dynamics.retract(1.0, &mut at.q, &self.closure.rhs[..self.closure.n]);
        }
        self.w.invalidate();
        self.dynamics.realize(at, &mut self.w);
        residual = self.closure.residual(at, &mut self.w, false).min(residual);
        if residual > 1e4 * tolerance {
            return Err(open(&self.closure, residual));
        }
        self.closure.factor(at, &mut self.w).map_err(|_| open(&self.closure, residual))?;
        self.closure.residual(at, &mut self.w, true);
        self.closure.linear.solve(&mut self.closure.rhs).map_err(|_| open(&self.closure, residual))?;
        at.v.iter_mut().zip(&self.closure.rhs).for_each(|(v, d)| *v += d);
        let accelerated = self.kkt.accelerate(at, &mut self.w);
        accelerated.map_err(|e| AssemblyError::Singular { culprit: owner(&self.kkt, e) })?;
        self.dynamics.rates(&at.q, &at.v, &mut at.qdot);
        Ok(())
    }
}
