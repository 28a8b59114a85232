//! What changes from outside while a run goes on: inputs, and parameters of the model.

use super::{Machine, Simulation, StartError, Timetable};
use crate::choices::{ChoiceError, Coordinates};
use crate::engines::StepError;
use crate::record::{Recorder, Silent};

/// An input of a model, by its place in [`bellcrank_model::Model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputId(pub usize);

impl Simulation {
    /// The input of a name: `[input.torque]` of the model file.
    pub fn input(&self, name: &str) -> Option<InputId> {
        self.about.inputs.iter().position(|input| input == name).map(InputId)
    }

    /// The present value of an input; NaN for an input of another model.
    pub fn input_value(&self, input: InputId) -> f64 {
        self.engine.state().charts.inputs.get(input.0).copied().unwrap_or(f64::NAN)
    }

    /// Sets an input from now on. Forces jump, so what a method remembers of the motion before is no longer true: BDF
    /// begins anew at first order, and one-step methods go on with a fresh evaluation and step size. Where the rate of a drive
    /// jumps, velocities jump with it, and its impulse is an event. A value that an input has already changes nothing.
    pub fn set_input(&mut self, input: InputId, value: f64) -> Result<(), StepError> {
        self.set_inputs(&[(input, value)])
    }

    /// Sets several inputs at once: what jumps with them jumps together.
    pub fn set_inputs(&mut self, values: &[(InputId, f64)]) -> Result<(), StepError> {
        let t = self.t();
        let refused = |why: String| Err(StepError::Refused { t, why });
        if values.iter().any(|(input, _)| input.0 >= self.about.inputs.len()) {
            return refused("the input is of another model".into());
        }
        self.change_inputs(values, &mut Silent).map(|_| ())
    }

    /// The same of all inputs, those too that FMUs set. Whether anything changed.
    pub(super) fn change_inputs(
        &mut self,
        values: &[(InputId, f64)],
        out: &mut dyn Recorder,
    ) -> Result<bool, StepError> {
        let t = self.t();
        let refused = |why: String| Err(StepError::Refused { t, why });
        let mut state = self.engine.state().clone();
        let mut changed = false;
        for (input, value) in values {
            if !value.is_finite() {
                return refused(format!("an input cannot be {value}"));
            }
            let Some(present) = state.charts.inputs.get_mut(input.0) else {
                return refused("the input is of another model".into());
            };
            changed |= *present != *value;
            *present = *value;
        }
        if !changed {
            return Ok(false);
        }
        self.timetable.forget();
        let from = self.engine.state().clone();
        self.change_over(&from, &state, None, out).map(|_| true)
    }

    /// Goes on with a model of the same bodies, joints and forces whose parameters are others. The state stays, and is
    /// put back onto constraints that have moved.
    pub fn exchange(&mut self, machine: impl Into<Machine>) -> Result<(), StartError> {
        let machine = machine.into();
        if !self.guests.tenants.is_empty() {
            let why = "an FMU is part of its equations: parameters cannot change in a run".into();
            return Err(StepError::Refused { t: self.t(), why }.into());
        }
        if self.plan.coordinates == Coordinates::Relative {
            let reason = "a tree of relative coordinates belongs to its parameters: they cannot change in a run";
            return Err(ChoiceError::new("coordinates", reason).try_with("coordinates", "cartesian").into());
        }
        let dynamics = machine.dynamics();
        let (now, new) = (self.observer.base.layout(), dynamics.layout());
        let same = now.bodies == new.bodies && now.constraints == new.constraints && now.nz() == new.nz();
        if !same {
            let why = "the other model has other bodies, joints or forces".into();
            return Err(StepError::Refused { t: self.t(), why }.into());
        }
        self.observed = false;
        self.observer.state.clone_from(self.engine.state());
        self.observer.base = dynamics.clone();
        self.timetable = Timetable::of(&*dynamics, machine.outputs());
        self.observer.take(dynamics);
        self.observer.hold();
        let start = self.observer.consistent()?;
        self.rebuild(&start)?;
        self.passing.restart();
        self.monitors.energy.forget_power();
        Ok(())
    }
}
