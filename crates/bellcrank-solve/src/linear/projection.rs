//! Projection of positions and velocities onto the constraints.

use super::kkt::Kkt;
use crate::constraints::{add_position_residual, add_velocity_residual};
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::numbers;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// Finds the least change δ (in the norm of the mass) with G δ = r.
pub trait Projector {
    /// Gets ready at a realized point.
    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError>;
    /// The change for an r over all constraint rows, near the point of the factors.
    fn project(
        &mut self,
        at: &Point,
        w: &mut Workspace,
        fill: &dyn Fn(&mut Workspace, &mut [f64]),
    ) -> Result<&[f64], LinearError>;
}

impl Projector for Kkt {
    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.prepare(at, w)
    }
    fn project(
        &mut self,
        _: &Point,
        w: &mut Workspace,
        fill: &dyn Fn(&mut Workspace, &mut [f64]),
    ) -> Result<&[f64], LinearError> {
        Kkt::project(self, |rows| fill(w, rows))
    }
}

/// Puts positions and velocities back onto the constraints, with the least change in the norm of the mass.
pub struct Projection {
    kkt: Kkt,
}

impl Projection {
    /// The projection of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> Projection {
        Projection { kkt: Kkt::new(dynamics) }
    }

    /// Tells a tape what one projection leaves to the next.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        self.kkt.keep(tape, false);
    }

    /// Factorizations so far.
    pub fn factorizations(&self) -> usize {
        self.kkt.factorizations
    }

    /// Projects q, then v, with one matrix.
    pub fn apply(&mut self, dynamics: &dyn Dynamics, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        project(&mut self.kkt, dynamics, at, w)
    }
}

/// Projects q, then v, with one matrix; large drift takes more than one correction.
pub fn project(
    with: &mut dyn Projector,
    dynamics: &dyn Dynamics,
    at: &mut Point,
    w: &mut Workspace,
) -> Result<(), LinearError> {
    if dynamics.layout().m() == 0 {
        return Ok(());
    }
    dynamics.realize(at, w);
    with.factor(at, w)?;
    project_with_factors(with, dynamics, at, w)
}

/// The same with the factors at hand, those of a point at most as far as the drift.
pub fn project_with_factors(
    with: &mut dyn Projector,
    dynamics: &dyn Dynamics,
    at: &mut Point,
    w: &mut Workspace,
) -> Result<(), LinearError> {
    if dynamics.layout().m() == 0 {
        return Ok(());
    }
    dynamics.realize(at, w);
    // a correction below this leaves less than rounding
    let small = 1e-8 * dynamics.length();
    for _ in 0..CORRECTIONS {
        let delta = with.project(at, w, &|w, rows| add_position_residual(dynamics, -1.0, at, w, rows))?;
        let largest = numbers::largest(delta);
        dynamics.retract(1.0, &mut at.q, delta);
        w.invalidate();
        dynamics.realize(at, w);
        if largest < small {
            break;
        }
    }
    let speed = numbers::largest(&at.v);
    for _ in 0..CORRECTIONS {
        let delta = with.project(at, w, &|w, rows| add_velocity_residual(dynamics, -1.0, at, w, rows))?;
        let largest = numbers::largest(delta);
        at.v.iter_mut().zip(delta).for_each(|(v, d)| *v += d);
        if largest < 1e-8 * speed {
            break;
        }
    }
    Ok(())
}

/// Most corrections of a projection.
const CORRECTIONS: usize = 4;
