//! Where a run begins: as drawn, at rest in an equilibrium, or where another run ended.
//!
//! Rates and velocities that the model gives are applied after it; coordinates that it gives contradict it.

use super::statics::{StaticsError, equilibrium, refuse_fmus};
use crate::choices::{ChoiceError, EQUILIBRIUM, Options, Suggestion};
use crate::engines::StepError;
use crate::machine::{Machine, Start, StartError};
use crate::run::Simulation;
use crate::start::{self, Assembly, Moved};
use bellcrank_model::dynamics::Scale;
use bellcrank_model::snapshot::{self, SnapshotError};
use bellcrank_model::{Dynamics, Place, Point, State, System, Unknown};
use std::sync::Arc;
use std::time::Instant;

/// The state at the end of a run in Cartesian coordinates, for another run to begin with.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EndState {
    /// The names of the bodies, in their order.
    bodies: Vec<String>,
    state: State,
}

/// The name of end states among stored ones.
const KIND: &str = "end of a run";

impl EndState {
    /// A state of a run of a model; none in relative coordinates, which have no places of bodies in their state.
    pub fn of(system: &System, state: &State) -> Option<EndState> {
        let mine = system.initial_state();
        let sizes = |s: &State| [s.q.len(), s.v.len(), s.z.len(), s.charts.centres.len()];
        let bodies = system.model.bodies.iter().map(|b| b.name.clone()).collect();
        (sizes(state) == sizes(&mine)).then(|| EndState { bodies, state: state.clone() })
    }

    /// As bytes, for a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        snapshot::encode(KIND, self)
    }

    /// What [`EndState::to_bytes`] wrote; bytes that are cut or changed are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<EndState, SnapshotError> {
        snapshot::decode(KIND, bytes)
    }

    /// The state for a run of a model with the same bodies, at the time 0 and with that model's inputs.
    fn for_model(&self, system: &System) -> Result<State, ChoiceError> {
        let mut state = system.initial_state();
        let same = system.model.bodies.iter().map(|b| b.name.as_str()).eq(self.bodies.iter().map(String::as_str));
        let sizes = |s: &State| {
            [s.q.len(), s.v.len(), s.z.len(), s.charts.centres.len(), s.charts.angles.len(), s.charts.rates.len()]
        };
        if !same || sizes(&self.state) != sizes(&state) {
            let reason = "the other run is of a machine with other bodies, joint angles or controllers";
            return Err(ChoiceError::new("from", reason).instead(Suggestion::without("from")));
        }
        (state.q, state.v, state.z) = (self.state.q.clone(), self.state.v.clone(), self.state.z.clone());
        let charts = &self.state.charts;
        state.charts.centres.clone_from(&charts.centres);
        (state.charts.angles, state.charts.rates) = (charts.angles.clone(), charts.rates.clone());
        Ok(state)
    }
}

/// The start that the options ask for: as drawn, or from an equilibrium. Another run's end comes by [`from_end`].
pub fn start(machine: &Machine, options: &Options) -> Result<Start, StartError> {
    match options.from.as_deref() {
        None => Ok(machine.assemble()?),
        Some(EQUILIBRIUM) => at_rest(machine),
        Some(other) => {
            let reason = format!("{other} is a folder of results, which nobody has read for this run");
            Err(ChoiceError::new("from", reason).try_with("from", EQUILIBRIUM).into())
        }
    }
}

/// A simulation that begins where the options say.
pub fn simulation(machine: impl Into<Machine>, options: Options) -> Result<Simulation, StartError> {
    let machine = machine.into();
    options.check()?;
    let start = start(&machine, &options)?;
    Simulation::assembled(&machine, start, options)
}

/// Coordinates that the model gives contradict a start from elsewhere.
fn refuse_given(system: &System) -> Result<(), ChoiceError> {
    let Some(given) = system.model.start.iter().find(|s| s.value.is_some()) else { return Ok(()) };
    let what = system.model.subject(Place::Start(given.joint));
    let reason = format!("{what} gives a coordinate, which the run is to begin with from elsewhere");
    Err(ChoiceError::new("from", reason).instead(Suggestion::without("from").note(", or give rates alone in [start]")))
}

fn model_of(machine: &Machine) -> Result<&Arc<System>, ChoiceError> {
    match machine {
        Machine::Model(system) => Ok(system),
        Machine::Equations { .. } => {
            let reason = "equations by hand begin with the state that they are given";
            Err(ChoiceError::new("from", reason).instead(Suggestion::without("from")))
        }
    }
}

/// Statics first, then the rates that the model gives.
fn at_rest(machine: &Machine) -> Result<Start, StartError> {
    let clock = Instant::now();
    let system = model_of(machine)?;
    refuse_given(system)?;
    let drawn = system.initial_state();
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (assembled, _) = start::assemble(&dynamics, &drawn)?;
    let refused = |e: StaticsError| StepError::Refused { t: drawn.t, why: format!("the run does not begin: {e}") };
    refuse_fmus(system).map_err(refused)?;
    let found = equilibrium(&dynamics, &assembled).map_err(refused)?;
    let mut state = drawn.clone();
    found.point.store(&mut state);
    // velocities that are given
    state.v.clone_from(&drawn.v);
    let (point, mut assembly) = start::assemble(&dynamics, &state)?;
    tell_moves(&*dynamics, &drawn, &point, &mut assembly);
    Ok(Start { point, assembly, seconds: clock.elapsed().as_secs_f64() })
}

/// A start where another run of a machine with the same bodies ended, at the time 0.
pub fn from_end(machine: &Machine, end: &EndState) -> Result<Start, StartError> {
    let clock = Instant::now();
    let system = model_of(machine)?;
    refuse_given(system)?;
    let state = end.for_model(system)?;
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (point, mut assembly) = start::resume(&dynamics, &state)?;
    tell_moves(&*dynamics, &system.initial_state(), &point, &mut assembly);
    Ok(Start { point, assembly, seconds: clock.elapsed().as_secs_f64() })
}

/// Tells what stands elsewhere than it is drawn.
fn tell_moves(dynamics: &dyn Dynamics, drawn: &State, to: &Point, report: &mut Assembly) {
    let mut there = drawn.clone();
    to.store(&mut there);
    let mut delta = vec![0.0; drawn.q.len()];
    dynamics.differ(drawn, &there, &mut delta);
    let (scales, length) = (dynamics.scales(), dynamics.length());
    report.moved.clear();
    for (b, range) in dynamics.layout().bodies.iter().enumerate() {
        let largest = |turns: bool| {
            let of = range.clone().filter(|i| (scales[*i] == Scale::Angle) == turns);
            of.fold(0.0f64, |m, i| m.max(delta[i].abs()))
        };
        let (distance, angle) = (largest(false), largest(true));
        if distance > 1e-9 * length || angle > 1e-9 {
            report.moved.push(Moved { name: dynamics.name(Unknown::Q, b), distance, angle });
        }
    }
    report.moved.sort_by(|a, b| (b.distance + b.angle).total_cmp(&(a.distance + a.angle)));
}
