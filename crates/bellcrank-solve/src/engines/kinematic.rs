//! A mechanism without freedom: positions, velocities and accelerations follow from the constraints,
//! and the reactions from inverse dynamics.

use super::progress::StepTally;
use super::{Engine, Refusal, Statistics, StepError};
use crate::start::Follower;
use bellcrank_math::tape::Tape;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Dynamics, Point, State, Unknown, Workspace};
use std::sync::Arc;

/// A step may end this far, in rad or lengths of the model, from where velocities and accelerations lead. So the nearest
/// of several closed positions is the next one, and no turn is lost.
const SURPRISE: f64 = 0.1;

/// The part of the tolerance that a step may add to coordinates of which only the rate is driven.
const SHARE: f64 = 0.1;

/// Relative differences below this are rounding.
const SAME: f64 = 1e-9;

/// Steps are halved down to this part of the longest one.
const SHORTEST: f64 = 1e-9;

/// Follows a fully driven (or immobile) mechanism.
///
/// What has a position is closed at every step and has no error. What only its rate drives is integrated by Hermite's rule,
/// of order four, and its error is the difference to two steps of half the size [Hairer, Nørsett & Wanner 1993, II.4].
pub struct Kinematic {
    dynamics: Arc<dyn Dynamics>,
    point: Point,
    state: State,
    follower: Follower,
    /// One over what counts as a unit of each coordinate: a length of the model, or a radian.
    units: Vec<f64>,
    h: f64,
    longest: f64,
    rtol: f64,
    progress: StepTally,
    w: Workspace,
}

/// A closed position, and how well it was foreseen.
struct Reached {
    point: Point,
    /// Up to 1 is well enough.
    surprise: f64,
}

impl Kinematic {
    /// Starts from a consistent point; steps are at most `longest`.
    pub fn new(dynamics: Arc<dyn Dynamics>, start: &Point, longest: f64, rtol: f64) -> Kinematic {
        let mut state = State::default();
        start.store(&mut state);
        let length = dynamics.length();
        let units = dynamics.scales().iter().map(|s| if *s == Scale::Angle { 1.0 } else { 1.0 / length }).collect();
        Kinematic {
            follower: Follower::new(dynamics.clone(), start),
            w: dynamics.workspace(),
            point: start.clone(),
            state,
            units,
            h: longest,
            longest,
            rtol,
            progress: StepTally::new(),
            dynamics,
        }
    }

    fn close(&mut self, trial: &mut Point) -> Result<(), StepError> {
        let t = trial.t;
        self.follower.close(trial).map_err(|why| StepError::Open { t, why: Box::new(why) })
    }

    /// Whether only the rate of something is driven.
    fn integrates(&self) -> bool {
        let layout = self.dynamics.layout();
        layout.m() > layout.m_rates()
    }

    /// The largest difference of two positions, in units.
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let differences = a.iter().zip(b).zip(&self.units).map(|((a, b), unit)| ((a - b) * unit).abs());
        differences.fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m })
    }

    /// The point at another time, found from the present one.
    fn reach(&mut self, from: &Point, t: f64) -> Result<Reached, StepError> {
        let mut trial = from.clone();
        let h = t - trial.t;
        let step: Vec<f64> = trial.v.iter().zip(&trial.vdot).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
        self.dynamics.retract(1.0, &mut trial.q, &step);
        trial.v.iter_mut().zip(&trial.vdot).for_each(|(v, a)| *v += h * a);
        trial.t = t;
        let foreseen = trial.q.clone();
        self.close(&mut trial)?;
        if self.integrates() {
            let mut step = step;
            for (i, s) in step.iter_mut().enumerate() {
                *s = 0.5 * h * (from.v[i] + trial.v[i]) + h * h / 12.0 * (from.vdot[i] - trial.vdot[i]);
            }
            trial.q.copy_from_slice(&from.q);
            self.dynamics.retract(1.0, &mut trial.q, &step);
            self.close(&mut trial)?;
        }
        let surprise = self.distance(&trial.q, &foreseen) / SURPRISE;
        Ok(Reached { point: trial, surprise })
    }

    /// The point at a time within a step that began at `from`.
    pub fn within(&mut self, from: &Point, t: f64) -> Result<Point, StepError> {
        Ok(self.reach(from, t)?.point)
    }

    /// Goes over to the other side of a breakpoint. Whether velocities jump there.
    pub fn cross(&mut self, after: f64) -> Result<bool, StepError> {
        let mut behind = self.point.clone();
        behind.t = after;
        self.close(&mut behind)?;
        let by = self.distance(&behind.q, &self.point.q);
        if by > SAME {
            let by = format!("{by:.6} of the model's length, or rad");
            return Err(StepError::Jump { t: after, culprit: "a drive".into(), by });
        }
        let jump = self.distance(&behind.v, &self.point.v);
        let still = vec![0.0; behind.v.len()];
        // what moves less than rounding in the time of a run does not jump
        let speed = self.distance(&behind.v, &still).max(self.distance(&self.point.v, &still));
        let jumps = jump > SAME * speed.max(1e-3 / self.longest);
        behind.store(&mut self.state);
        self.point = behind;
        Ok(jumps)
    }

    /// A step, its error (up to 1 is acceptable), and the factor by which the next one may be longer.
    fn attempt(&mut self, from: &Point, t: f64) -> Result<(Point, f64, f64), StepError> {
        let Reached { point, surprise } = self.reach(from, t)?;
        let factor = 0.9 * surprise.max(1e-9).powf(-1.0 / 3.0);
        if !self.integrates() || surprise > 1.0 {
            return Ok((point, surprise, factor));
        }
        let middle = self.reach(from, 0.5 * (from.t + t))?;
        let end = self.reach(&middle.point, t)?;
        let error = self.distance(&end.point.q, &point.q) / (SHARE * self.rtol);
        let growth = 0.9 * error.max(1e-9).powf(-0.2);
        Ok((end.point, surprise.max(error), factor.min(growth)))
    }
}

impl Engine for Kinematic {
    fn step(&mut self, t_stop: f64) -> Result<(), StepError> {
        let from = self.point.clone();
        self.progress.refusals.clear();
        loop {
            let left = t_stop - from.t;
            let t = if left <= self.h * (1.0 + 1e-9) { t_stop } else { from.t + self.h };
            let h = t - from.t;
            let failure = match self.attempt(&from, t) {
                Ok((point, error, factor)) if error <= 1.0 => {
                    point.store(&mut self.state);
                    self.point = point;
                    self.progress.steps += 1;
                    // a step that was cut to land says nothing against a longer one
                    let wish = h * factor.clamp(0.2, 2.0);
                    self.h = if h < self.h { wish.max(self.h) } else { wish }.min(self.longest);
                    return Ok(());
                }
                Ok((_, _, factor)) => {
                    self.h = h * if factor.is_finite() { factor.clamp(0.1, 0.9) } else { 0.1 };
                    self.progress.refuse(h, false, (Unknown::Q, 0));
                    let culprit = "the drives".into();
                    StepError::Collapse { t: from.t, h, culprit, convergence: false, fixed: false }
                }
                Err(e) => {
                    self.h = 0.5 * h;
                    self.progress.refuse(h, true, (Unknown::Q, 0));
                    e
                }
            };
            if self.h < SHORTEST * self.longest {
                return Err(failure);
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
        self.reach(&from, t)?.point.store(out);
        Ok(())
    }

    fn settle(&mut self) {
        self.dynamics.settle(&mut self.state, &mut self.w);
        let (vdot, lambda) = (std::mem::take(&mut self.point.vdot), std::mem::take(&mut self.point.lambda));
        self.point.set(&self.state);
        (self.point.vdot, self.point.lambda) = (vdot, lambda);
    }

    fn restart(&mut self, start: &Point) -> Result<(), StepError> {
        start.store(&mut self.state);
        self.point.clone_from(start);
        Ok(())
    }

    fn refusals(&self) -> &[Refusal] {
        &self.progress.refusals
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
            steps: self.progress.steps,
            error_test_failures: self.progress.error_test_failures,
            convergence_failures: self.progress.convergence_failures,
            residual_evaluations: self.follower.iterations,
            jacobian_evaluations: self.follower.iterations,
            factorizations: self.follower.iterations,
            iterations: self.follower.iterations,
        }
    }

    fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.point);
        tape.plain(&mut self.state);
        self.follower.keep(tape);
        tape.number(&mut self.h);
        tape.plain(&mut self.progress);
        if tape.reads() {
            self.w.invalidate();
        }
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        ("kinematics", "index3", "full")
    }
}
