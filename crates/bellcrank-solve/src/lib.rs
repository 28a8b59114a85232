//! How the equations are solved: formulations, methods, Newton's iteration, consistent initial
//! values, simulations and the recorders that watch them.

pub mod analyses;
mod approach;
pub mod check;
pub mod choices;
pub mod constraints;
pub mod engines;
pub mod events;
pub mod evidence;
pub mod formulation;
pub mod guest;
pub mod history;
pub mod linear;
pub mod linearization;
pub mod machine;
pub mod methods;
pub mod newton;
mod outputs;
pub mod plan;
pub mod proof;
pub mod record;
mod redundancy;
pub mod run;
pub mod sensitivity;
pub mod start;
pub mod stencil;
pub mod step;
pub mod tolerances;
pub mod unknowns;
pub mod verdict;
pub mod verify;
pub mod wedge;
pub mod weights;

pub use analyses::begin;
pub use choices::{ChoiceError, FormulationKind, MethodName, Options, Tested};
pub use run::{Machine, Simulation, Summary};
