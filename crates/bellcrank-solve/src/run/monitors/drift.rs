//! How far the constraints drift.

use super::{Monitor, StepView};
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::run::summary::{Drift, Summary};
use bellcrank_math::numbers;
use bellcrank_model::dynamics::Scale;

/// Keeps the largest residuals of the constraints.
#[derive(Default)]
pub(crate) struct DriftMonitor {
    pub drift: Drift,
    rows: Vec<f64>,
    scales: Vec<Scale>,
}

impl Monitor for DriftMonitor {
    fn measure(&mut self, view: &mut StepView<'_>) {
        let (dynamics, w) = (&*view.observer.dynamics, &mut view.observer.w);
        let at = view.engine.point();
        self.rows.clear();
        self.rows.resize(dynamics.layout().m(), 0.0);
        add_position_residual(dynamics, 1.0, at, w, &mut self.rows);
        let position = numbers::largest(&self.rows);
        self.rows.fill(0.0);
        add_velocity_residual(dynamics, 1.0, at, w, &mut self.rows);
        let velocity = numbers::largest(&self.rows);
        if self.scales.len() != at.v.len() {
            self.scales = dynamics.scales();
        }
        let length = dynamics.length();
        // of wheels that turn in place the rims move
        let speed = |(v, scale): (&f64, &Scale)| match scale {
            Scale::Length => v.abs(),
            Scale::Angle => 0.1 * length * v.abs(),
            Scale::Magnitude => 0.0,
        };
        let drift = &mut self.drift;
        drift.position = drift.position.max(position);
        drift.velocity = drift.velocity.max(velocity);
        drift.length = length;
        drift.speed = at.v.iter().zip(&self.scales).map(speed).fold(drift.speed, f64::max);
    }

    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary) {
        into.drift = self.drift;
    }
}
