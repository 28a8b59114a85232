//! What happens to a state at an event: velocities jump, modes hold other motions, and it goes back onto the constraints.

use super::observer::Observer;
use crate::engines::StepError;
use crate::linear::projection::Projection;
use bellcrank_model::Point;
use bellcrank_model::dynamics::{BY_VALUE, Impact};

impl Observer {
    /// Gives a start its modes, unless it has them, and the equations that hold what they hold.
    pub(super) fn lock(&mut self, start: &Point) -> Result<Point, StepError> {
        start.store(&mut self.state);
        self.place();
        let modes = self.dynamics.modes(&self.point, &mut self.w);
        let kept = &mut self.state.charts.modes;
        if kept.len() != modes.len() || kept.contains(&BY_VALUE) {
            *kept = modes;
        }
        self.hold();
        self.consistent()
    }

    /// Changes to the equations that hold what the modes of `self.state` hold; whether they are others.
    pub(super) fn hold(&mut self) -> bool {
        let Some(dynamics) = self.dynamics.holding(&self.state.charts.modes) else { return false };
        self.take(dynamics);
        true
    }

    /// `self.state`, put onto the constraints, with its rates, accelerations and reactions.
    pub(super) fn consistent(&mut self) -> Result<Point, StepError> {
        self.place();
        let t = self.state.t;
        let projection = self.projection.get_or_insert_with(|| Projection::new(self.dynamics.clone()));
        let projected = projection.apply(&*self.dynamics, &mut self.point, &mut self.w);
        projected.map_err(|_| Observer::singular(t))?;
        self.point.store(&mut self.state);
        let state = self.state.clone();
        self.complete(&state)
    }

    /// Lets the velocities of `self.state` jump, with the factors of its accelerations at hand. Gives the change of the
    /// energy, P (ġ⁺ + ġ⁻)/2 with the impulse P.
    pub(super) fn strike(&mut self, impact: &Impact) -> Result<f64, StepError> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let t = self.state.t;
        let mut kkt = self.kkt.lock();
        let response = kkt.respond(&impact.row).map_err(|_| Observer::singular(t))?;
        let before = dot(&impact.row, &self.state.v);
        let mobility = dot(&impact.row, response);
        if mobility <= 0.0 {
            return Ok(0.0); // joints or drives hold it
        }
        let impulse = (impact.after - before) / mobility;
        self.state.v.iter_mut().zip(response).for_each(|(v, r)| *v += impulse * r);
        Ok(0.5 * impulse * (impact.after + before))
    }
}
