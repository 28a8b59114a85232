//! Sensitivities: how outputs of a run change with parameters of its model, through the solver.
//!
//! The run is taken as it is, and the derivative s = ∂(q, v, z)/∂p is carried along its accepted steps: by the same tableau at the
//! stages of explicit methods (`one_step`), and by one linear system with the exact matrix of the step for implicit ones
//! (`multi_step`). Nothing in the engines knows of it.
//!
//! What depends on the parameter itself comes from two neighbours, the same model compiled with p − δ and p + δ: their pieces are asked at
//! the same point, moved along by ±δ s, and
//!
//! ```text
//!     r_p + r_y s ≈ [ r(y + δs; p + δ) − r(y − δs; p − δ) ] / 2δ
//! ```
//!
//! so that any value of a model file can be the parameter, also one that shapes frames, masses or the start. The start's derivative
//! is the difference of two assembled starts a little further apart, in the tangent. Whatever must be the same on both sides (bodies and joints, modes,
//! redundant rows, the position in which the joints close) is checked.
//!
//! **Events.** From the step before an event to a moment behind it, two neighbours, the same as those of the start, run themselves from y ± δs with a tight
//! tolerance: the time of their event, the impact and what follows differ as they must, and their difference is s behind
//! the event. Breakpoints in time that depend on the parameter are crossed in the same way. Where the two do not meet the same
//! events (a contact that is just grazed) the derivative does not exist, and is refused.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use bellcrank_model::read::read_text;
//! use bellcrank_solve::Options;
//! use bellcrank_solve::sensitivity::{Asked, Measure, Varied, sensitivities};
//! let model = |g: f64| {
//!     let text = format!("model.gravity = [0, 0, -{g:?}]\nbody.ball.mass = 1\noutput.height = {{ value = 'ball.z', unit = 'm' }}");
//!     read_text("fall.toml", &text, &[]).map(|read| std::sync::Arc::new(read.model.into_system()))
//! };
//! let varied = Varied::new("g", 9.81, |g| model(g))?;
//! let asked = Asked { outputs: vec!["height".into()], over_time: false };
//! let found = sensitivities(&model(9.81)?, &[varied], &asked, &Options::default())?;
//! let end = found.measure(0, Measure::Final)?; // z = −½ g t²
//! assert!((end.derivatives[0] + 0.5).abs() < 1e-9);
//! # Ok(()) }
//! ```

mod adjoint;
mod along;
mod constraints;
mod curve;
mod measures;
mod members;
mod moves;
mod multi_step;
mod neighbours;
mod one_step;
mod tangent;

pub use adjoint::{Gradients, gradients, gradients_of};
pub use measures::{Measure, Measured};
pub use members::{Member, Members};

use crate::choices::Options;
use crate::engines::{Statistics, StepError};
use crate::machine::StartError;
use along::Along;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::System;
use bellcrank_model::channel::Channel;
use bellcrank_model::model::Filter;
use std::fmt;
use std::sync::Arc;

/// δ is this part of the parameter: rounding over δ is then near 10⁻¹⁰, and so is δ² but where the motion runs
/// ahead by many times the change of the parameter.
const PART: f64 = 1e-6;

/// Starts, and runs through events, are compared this many times as far apart: they are as exact as assembly and tolerances are.
const FAR: f64 = 16.0;

/// The stretch of rows that neighbours passed beside.
const ASIDE: usize = usize::MAX;

/// A parameter, and the models beside its value.
#[derive(Clone)]
pub struct Varied {
    /// What messages call it.
    pub name: String,
    /// Its value p.
    pub value: f64,
    /// δ.
    pub delta: f64,
    /// The models with p − δ and with p + δ.
    pub sides: [Arc<System>; 2],
    /// The models with p − 16 δ and with p + 16 δ, which start and pass events for them.
    pub far: [Arc<System>; 2],
}

impl Varied {
    /// A parameter of a model that can be made for any value of it.
    pub fn new<E>(
        name: impl Into<String>,
        value: f64,
        mut model: impl FnMut(f64) -> Result<Arc<System>, E>,
    ) -> Result<Varied, E> {
        let delta = Varied::delta(value);
        let mut both = |delta: f64| Ok([model(value - delta)?, model(value + delta)?]);
        Ok(Varied { name: name.into(), value, delta, sides: both(delta)?, far: both(FAR * delta)? })
    }

    /// The δ for a value: a part of it, or of one where it is zero. p − δ and p + δ are exact.
    pub fn delta(value: f64) -> f64 {
        let size = if value == 0.0 { 1.0 } else { value.abs() };
        // a power of two near the part wanted
        (PART * size).log2().round().exp2()
    }
}

/// What is asked of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Outputs of the model, by name.
    pub outputs: Vec<String>,
    /// Whether they are wanted over time, or for extremes and means: steps end at the samples of the options, or long steps are cut into a few
    /// where there are none, which is less exact. Else they are known at both ends of the run alone.
    pub over_time: bool,
}

/// Outputs with their derivatives at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Time in s.
    pub t: f64,
    /// The outputs.
    pub values: Vec<f64>,
    /// Of each output, its derivatives by the parameters.
    pub derivatives: Vec<Vec<f64>>,
    /// Whether it is one of the samples that were asked for.
    pub sampled: bool,
    /// Which smooth stretch of the run it is in.
    stretch: usize,
    /// Which of the rows that were noted it is.
    number: usize,
}

/// What a run with its sensitivities gave.
#[derive(Clone, Debug)]
pub struct Sensitivities {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// Their values.
    pub values: Vec<f64>,
    /// Names and units of the outputs.
    pub outputs: Vec<Channel>,
    /// Rows over time: all accepted steps, and the samples.
    pub rows: Vec<Row>,
    /// The name of the method.
    pub method: &'static str,
    /// Work of the run itself.
    pub statistics: Statistics,
    /// Events that were crossed.
    pub events: usize,
    /// Of each output ∫ u dt and ∫ u² dt, and of each parameter what stretches through events add to ∫ u_p dt and ∫ u u_p dt.
    integrals: Vec<[f64; 2]>,
    through_events: Vec<Vec<[f64; 2]>>,
}

/// Why there are no sensitivities.
#[derive(Clone, Debug, PartialEq)]
pub enum SensitivityError {
    /// A run cannot begin.
    Start(StartError),
    /// The run, or that of a neighbour, cannot go on.
    Step(StepError),
    /// An output that cannot be differentiated.
    Output {
        /// Its name.
        name: String,
        /// What is the matter, and what to do.
        why: String,
    },
    /// A parameter that nothing can be differentiated by here.
    Refused {
        /// Its name.
        parameter: String,
        /// What is the matter.
        why: String,
    },
    /// Gradients are not computed through a run of this method.
    Method {
        /// Its name.
        method: &'static str,
    },
    /// A model beside a parameter's value cannot be made.
    Model(String),
    /// A run does not go through the same events from everywhere beside its states.
    Events {
        /// Which.
        what: String,
    },
    /// It was interrupted.
    Interrupted,
}

impl fmt::Display for SensitivityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SensitivityError::Start(e) => write!(f, "{e}"),
            SensitivityError::Step(e) => write!(f, "{e}"),
            SensitivityError::Output { name, why } => write!(f, "`{name}` has no sensitivities: {why}"),
            SensitivityError::Refused { parameter, why } => {
                write!(
                    f,
                    "there is no derivative by `{parameter}`: {why}\nhelp: change the value a little, or sweep over it"
                )
            }
            SensitivityError::Method { method } => write!(
                f,
                "adjoint gradients are those of one-step methods: `{method}` remembers several steps, with sizes and orders of their own\n\
                 help: use method = \"dop853\", or \"gen-alpha\" for a stiff machine; the forward mode takes any method"
            ),
            SensitivityError::Model(why) => write!(f, "{why}"),
            SensitivityError::Events { what } => write!(
                f,
                "there are no gradients: from beside its states the run does not meet the same events ({what})\n\
                 help: change a value a little so that nothing is just grazed, or sweep"
            ),
            SensitivityError::Interrupted => write!(f, "interrupted"),
        }
    }
}

impl std::error::Error for SensitivityError {}

impl From<StartError> for SensitivityError {
    fn from(e: StartError) -> SensitivityError {
        SensitivityError::Start(e)
    }
}

impl From<StepError> for SensitivityError {
    fn from(e: StepError) -> SensitivityError {
        SensitivityError::Step(e)
    }
}

/// Runs a model and carries the derivatives of its outputs by parameters along.
///
/// Rows stand at the start, at all accepted steps, and at the samples of the options, if they are asked for. Integrals and extremes are as
/// exact as polynomials through the rows; the long steps of methods of high order are cut for them.
pub fn sensitivities(
    system: &Arc<System>,
    varied: &[Varied],
    asked: &Asked,
    options: &Options,
) -> Result<Sensitivities, SensitivityError> {
    sensitivities_of(system, &Members::of(varied), asked, options)
}

/// The same for parameters whose models are made when they are needed.
pub fn sensitivities_of(
    system: &Arc<System>,
    members: &Members<'_>,
    asked: &Asked,
    options: &Options,
) -> Result<Sensitivities, SensitivityError> {
    check_outputs(system, &asked.outputs)?;
    Along::new(system, members, asked, options)?.run()
}

fn check_outputs(system: &System, outputs: &[String]) -> Result<(), SensitivityError> {
    for name in outputs {
        let known = system.model.outputs.iter().find(|o| o.name == *name);
        let why = match known.map(|o| o.filter) {
            None => "the model has no such output",
            Some(Filter::None) => continue,
            Some(_) => "its filter remembers the past; take the output without it, or mean and rms of it",
        };
        return Err(SensitivityError::Output { name: name.clone(), why: why.into() });
    }
    Ok(())
}

/// The equations of a step could not be solved.
fn unsolved(t: f64, _: LinearError) -> SensitivityError {
    StepError::Singular { t, culprit: "the model".into() }.into()
}
