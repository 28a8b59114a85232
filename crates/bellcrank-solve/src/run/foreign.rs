//! The equations for an integrator that is somewhere else, as in model exchange of FMI.
//!
//! The state is the caller's: q, v and z follow its integrator, charts and modes change here alone. Of the simulation it
//! uses what looks at states, none of what takes steps.

use super::Simulation;
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::engines::StepError;
use bellcrank_model::dynamics::{Ahead, Break, Scale};
use bellcrank_model::{Dynamics, Point, State};
use std::sync::Arc;

/// The sizes of the equations of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EquationSizes {
    /// Coordinates q, and velocities v.
    pub n: usize,
    /// First-order states z.
    pub nz: usize,
    /// Constraint rows that hold now.
    pub m: usize,
    /// Switch functions.
    pub switches: usize,
}

impl Simulation {
    /// The equations of motion in which the present modes hold.
    pub(crate) fn equations(&self) -> &Arc<dyn Dynamics> {
        &self.observer.dynamics
    }

    /// The order that the method has come to.
    pub(crate) fn order(&self) -> usize {
        self.engine.order()
    }

    /// The last breakpoint in time at which the method started anew.
    pub(crate) fn last_gap(&self) -> Option<Break> {
        self.timetable.gap()
    }

    /// ∫ u dt and ∫ u² dt of every output so far.
    pub(crate) fn output_integrals(&self) -> Vec<[f64; 2]> {
        self.monitors.outputs.iter().flat_map(|outputs| outputs.integrals()).collect()
    }

    /// The step size that will be tried next.
    pub(crate) fn next_step(&self) -> f64 {
        self.engine.step_size()
    }

    /// Outputs are no longer looked at in every step: they have no extremes and no integrals then.
    pub(crate) fn leave_outputs(&mut self) {
        self.monitors.outputs.iter_mut().for_each(|outputs| outputs.rest());
    }

    /// The present sizes of the equations.
    pub fn sizes(&self) -> EquationSizes {
        let layout = self.observer.dynamics.layout();
        EquationSizes { n: layout.n(), nz: layout.nz(), m: layout.m(), switches: self.passing.count() }
    }

    /// What each coordinate measures, and a typical length of the model in m.
    pub fn scales(&self) -> (Vec<Scale>, f64) {
        (self.observer.dynamics.scales(), self.observer.dynamics.length())
    }

    /// A state with its rates q̇, v̇, ż and its multipliers.
    pub fn rates_at(&mut self, state: &State) -> Result<Point, StepError> {
        self.observed = false;
        self.observer.complete(state)
    }

    /// All channels at a state, in the order of [`Simulation::header`].
    pub fn observe_at(&mut self, state: &State) -> Result<&[f64], StepError> {
        self.observed = false;
        self.observer.state.clone_from(state);
        self.observe_recorded()?;
        Ok(&self.observer.values)
    }

    /// The switch functions at a state: not negative while its modes are right, infinite where a mode does not use one.
    pub fn switch_values_at(&mut self, state: &State, out: &mut Vec<f64>) -> Result<(), StepError> {
        out.clear();
        out.resize(self.passing.count(), f64::INFINITY);
        if out.is_empty() {
            return Ok(());
        }
        self.observed = false;
        let observer = &mut self.observer;
        observer.state.clone_from(state);
        if observer.dynamics.reactive() {
            observer.react()?;
        } else {
            observer.place();
        }
        observer.dynamics.switch_values(&observer.point, &mut observer.w, out);
        Ok(())
    }

    /// What happens at a state when a switch function falls through zero: its modes change, velocities may jump, and it is
    /// put onto the constraints that hold from now on. Gives what happened, in words.
    pub fn pass_at(&mut self, switch: usize, state: &mut State) -> Result<Vec<String>, StepError> {
        self.observed = false;
        let observer = &mut self.observer;
        observer.state.clone_from(state);
        let happened = observer.happen(switch)?;
        observer.hold();
        observer.consistent()?;
        state.clone_from(&observer.state);
        Ok(happened.events.into_iter().map(|(subject, what)| format!("{} {what}", subject.words)).collect())
    }

    /// Counts turns at an accepted state, and re-centres rotation charts whose angle exceeds a limit in rad; true if
    /// coordinates are others than before.
    pub fn settle_at(&mut self, limit: f64, state: &mut State) -> bool {
        self.observed = false;
        self.observer.dynamics.settle_past(limit, state, &mut self.observer.w)
    }

    /// The largest residuals of constraints at a state, of positions and of velocities.
    pub fn drift_at(&mut self, state: &State) -> [f64; 2] {
        self.observed = false;
        let [position, velocity] = self.residuals_at(state);
        [position, velocity].map(|rows| rows.iter().fold(0.0, |m: f64, x| m.max(x.abs())))
    }

    fn residuals_at(&mut self, state: &State) -> [Vec<f64>; 2] {
        let observer = &mut self.observer;
        observer.state.clone_from(state);
        observer.place();
        let m = observer.dynamics.layout().m();
        let (mut position, mut velocity) = (vec![0.0; m], vec![0.0; m]);
        add_position_residual(&*observer.dynamics, 1.0, &observer.point, &mut observer.w, &mut position);
        add_velocity_residual(&*observer.dynamics, 1.0, &observer.point, &mut observer.w, &mut velocity);
        [position, velocity]
    }

    /// Puts a state back onto the constraints.
    pub fn project_at(&mut self, state: &mut State) -> Result<(), StepError> {
        self.observed = false;
        self.observer.state.clone_from(state);
        self.observer.consistent()?;
        state.clone_from(&self.observer.state);
        Ok(())
    }

    /// What is known of breakpoints in time behind a state, up to a time.
    pub fn breaks_ahead(&mut self, state: &State, until: f64) -> Ahead {
        self.timetable.ahead(state, until)
    }

    /// Whether anything in the equations is a function of time that may bend.
    pub fn watches_time(&self) -> bool {
        !self.timetable.is_empty()
    }

    /// Forgets what was found of breakpoints: time went back, or inputs are others.
    pub fn forget_breaks(&mut self) {
        self.timetable.forget();
    }

    /// The first input that a constraint follows, as that of a drive: its rates are not known to anybody.
    pub fn input_of_a_drive(&mut self, state: &State) -> Option<usize> {
        self.observed = false;
        let inputs = state.charts.inputs.len();
        // where a function of time hides an input at one time, it shows at another
        let times = [0.0, 0.37, 1.1].map(|later| State { t: state.t + later, ..state.clone() });
        (0..inputs).find(|&k| {
            times.iter().any(|at| {
                let mut other = at.clone();
                other.charts.inputs[k] += 1.0;
                self.residuals_at(at) != self.residuals_at(&other)
            })
        })
    }
}
