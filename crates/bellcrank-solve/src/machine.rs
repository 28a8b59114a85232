//! What a simulation moves, and the consistent start it moves from.

use crate::choices::ChoiceError;
use crate::engines::StepError;
use crate::start::{self, Assembly, AssemblyError};
use bellcrank_model::read::Read;
use bellcrank_model::{Dynamics, Point, State, System};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A compiled model, or equations written by hand.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use bellcrank_solve::{Options, Simulation};
/// let read = bellcrank_model::read::read_model("four-bar.toml", &[])?;
/// let simulation = Simulation::new(read, Options::default())?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub enum Machine {
    /// A model, in whatever coordinates the options ask for.
    Model(Arc<System>),
    /// Equations in coordinates of their own, from a state.
    Equations {
        /// The name for headers and summaries.
        name: String,
        /// The equations of motion.
        dynamics: Arc<dyn Dynamics>,
        /// Where they start, before assembly.
        state: Box<State>,
    },
}

impl Machine {
    /// Equations in coordinates of their own, from a state. A compiled model passed here runs in Cartesian coordinates
    /// from a state other than its `[start]`.
    pub fn equations(name: impl Into<String>, dynamics: Arc<dyn Dynamics>, state: &State) -> Machine {
        Machine::Equations { name: name.into(), dynamics, state: Box::new(state.clone()) }
    }

    /// The name for headers and summaries.
    pub fn name(&self) -> &str {
        match self {
            Machine::Model(system) => &system.model.name,
            Machine::Equations { name, .. } => name,
        }
    }

    /// The names of its inputs, in the order of their values in a state; not those that FMUs set.
    pub fn inputs(&self) -> Vec<String> {
        match self {
            Machine::Model(system) => system.model.own_inputs().iter().map(|input| input.name.clone()).collect(),
            Machine::Equations { .. } => Vec::new(),
        }
    }

    /// What is computed from its channels and recorded beside them.
    pub fn outputs(&self) -> &[bellcrank_model::model::Output] {
        match self {
            Machine::Model(system) => &system.model.outputs,
            Machine::Equations { .. } => &[],
        }
    }

    /// The FMUs that run beside it.
    pub fn fmus(&self) -> &[bellcrank_model::model::FmuEntry] {
        match self {
            Machine::Model(system) => &system.model.fmus,
            Machine::Equations { .. } => &[],
        }
    }

    /// The equations of motion; of a model those in Cartesian coordinates.
    pub fn dynamics(&self) -> Arc<dyn Dynamics> {
        match self {
            Machine::Model(system) => system.clone(),
            Machine::Equations { dynamics, .. } => dynamics.clone(),
        }
    }

    /// Closes the joints, makes velocities consistent and solves for accelerations and reactions.
    pub fn assemble(&self) -> Result<Start, AssemblyError> {
        self.assemble_from(self.initial_state())
    }

    /// The same for a start at another time.
    pub fn assemble_at(&self, t: f64) -> Result<Start, AssemblyError> {
        self.assemble_from(State { t, ..self.initial_state() })
    }

    fn initial_state(&self) -> State {
        match self {
            Machine::Model(system) => system.initial_state(),
            Machine::Equations { state, .. } => (**state).clone(),
        }
    }

    fn assemble_from(&self, state: State) -> Result<Start, AssemblyError> {
        let clock = Instant::now();
        let (point, assembly) = start::assemble(&self.dynamics(), &state)?;
        Ok(Start { point, assembly, seconds: clock.elapsed().as_secs_f64() })
    }
}

impl From<Arc<System>> for Machine {
    fn from(system: Arc<System>) -> Machine {
        Machine::Model(system)
    }
}

impl From<&Arc<System>> for Machine {
    fn from(system: &Arc<System>) -> Machine {
        Machine::Model(system.clone())
    }
}

impl From<Read> for Machine {
    fn from(read: Read) -> Machine {
        Machine::from(read.model.into_system())
    }
}

impl From<System> for Machine {
    fn from(system: System) -> Machine {
        Machine::Model(Arc::new(system))
    }
}

/// A consistent start, and what it took to get there.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Positions and velocities on the constraints, with accelerations and reactions.
    pub point: Point,
    /// What the assembly found.
    pub assembly: Assembly,
    /// Seconds it took.
    pub seconds: f64,
}

/// Why a simulation cannot start.
#[derive(Clone, Debug, PartialEq)]
pub enum StartError {
    /// A choice makes no sense.
    Option(ChoiceError),
    /// The start cannot be made consistent.
    Assembly(AssemblyError),
    /// The first evaluation failed.
    Step(StepError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Option(e) => write!(f, "{e}"),
            StartError::Assembly(e) => write!(f, "{e}"),
            StartError::Step(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<ChoiceError> for StartError {
    fn from(e: ChoiceError) -> StartError {
        StartError::Option(e)
    }
}

impl From<AssemblyError> for StartError {
    fn from(e: AssemblyError) -> StartError {
        StartError::Assembly(e)
    }
}

impl From<StepError> for StartError {
    fn from(e: StepError) -> StartError {
        StartError::Step(e)
    }
}
