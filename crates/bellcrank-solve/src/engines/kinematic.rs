//! A mechanism without freedom: positions, velocities and accelerations follow from the constraints,
//! and the reactions from inverse dynamics.

use super::{Engine, Statistics, StepError};
use crate::start::Follower;
use bellcrank_model::{Dynamics, Point, State, Workspace};
use std::sync::Arc;

/// Follows a fully driven (or immobile) mechanism.
pub struct Kinematic {
    dynamics: Arc<dyn Dynamics>,
    point: Point,
    state: State,
    before: State,
    trial: Point,
    follower: Follower,
    h: f64,
    largest: f64,
    steps: usize,
    failures: usize,
    w: Workspace,
}

impl Kinematic {
    /// Starts from a consistent point; steps are at most `h`.
    pub fn new(dynamics: Arc<dyn Dynamics>, start: &Point, h: f64) -> Kinematic {
        let mut state = State::default();
        start.store(&mut state);
        Kinematic {
            follower: Follower::new(dynamics.clone(), start),
            w: dynamics.workspace(),
            point: start.clone(),
            before: state.clone(),
            trial: start.clone(),
            state,
            h,
            largest: h,
            steps: 0,
            failures: 0,
            dynamics,
        }
    }

    fn close(&mut self, trial: &mut Point) -> Result<(), StepError> {
        let t = trial.t;
        self.follower.close(trial).map_err(|why| StepError::Open { t, why: why.to_string() })
    }

    /// The point at another time, found from the present one.
    fn reach(&mut self, from: &Point, t: f64) -> Result<Point, StepError> {
        let mut trial = from.clone();
        let h = t - trial.t;
        let step: Vec<f64> = trial.v.iter().zip(&trial.vdot).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
        self.dynamics.retract(1.0, &mut trial.q, &step);
        trial.v.iter_mut().zip(&trial.vdot).for_each(|(v, a)| *v += h * a);
        trial.t = t;
        self.close(&mut trial)?;
        let layout = self.dynamics.layout();
        if layout.m() > layout.m_rates() {
            // what only its rate drives has no position to close: Hermite's rule for it, of order four
            let mut step = step;
            for (i, s) in step.iter_mut().enumerate() {
                *s = 0.5 * h * (from.v[i] + trial.v[i]) + h * h / 12.0 * (from.vdot[i] - trial.vdot[i]);
            }
            trial.q.copy_from_slice(&from.q);
            self.dynamics.retract(1.0, &mut trial.q, &step);
            self.close(&mut trial)?;
        }
        Ok(trial)
    }
}

impl Engine for Kinematic {
    fn step(&mut self, t_stop: f64) -> Result<(), StepError> {
        let from = self.point.clone();
        loop {
            let left = t_stop - from.t;
            let t = if left <= self.h * (1.0 + 1e-9) { t_stop } else { from.t + self.h };
            match self.reach(&from, t) {
                Ok(p) => {
                    self.before.clone_from(&self.state);
                    p.store(&mut self.state);
                    self.point = p;
                    self.steps += 1;
                    self.h = (2.0 * self.h).min(self.largest);
                    return Ok(());
                }
                Err(e) => {
                    self.failures += 1;
                    self.h *= 0.5;
                    if self.h < 1e-4 * self.largest {
                        return Err(e);
                    }
                }
            }
        }
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn point(&self) -> &Point {
        &self.point
    }

    fn interpolate(&mut self, t: f64, out: &mut State) -> Result<(), StepError> {
        let from = self.point.clone();
        self.trial = self.reach(&from, t)?;
        self.trial.store(out);
        Ok(())
    }

    fn settle(&mut self) {
        self.dynamics.settle(&mut self.state, &mut self.w);
        let (vdot, lambda) = (std::mem::take(&mut self.point.vdot), std::mem::take(&mut self.point.lambda));
        self.point.set(&self.state);
        (self.point.vdot, self.point.lambda) = (vdot, lambda);
    }

    fn step_size(&self) -> f64 {
        self.h
    }

    fn order(&self) -> usize {
        0
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            flops: 0,
            steps: self.steps,
            convergence_failures: self.failures,
            residual_evaluations: self.follower.iterations,
            jacobian_evaluations: self.follower.iterations,
            factorizations: self.follower.iterations,
            iterations: self.follower.iterations,
            ..Statistics::default()
        }
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        ("kinematics", "index3", "full")
    }
}
