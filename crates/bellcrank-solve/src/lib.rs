//! How the equations are solved: formulations, methods, Newton's iteration, consistent initial
//! values, simulations and the recorders that watch them.

pub mod analyses;
pub mod check;
pub mod engines;
pub mod events;
pub mod formulation;
pub mod history;
pub mod initial;
pub mod kkt;
pub mod loop_cg;
pub mod loop_step;
pub mod loops;
pub mod machine;
pub mod methods;
pub mod newton;
pub mod options;
pub mod plan;
pub mod proof;
pub mod record;
pub mod run;
pub mod splitting;
pub mod stencil;
pub mod step;
pub mod tolerances;
pub mod two_kkt;
pub mod verify;
pub mod weights;

pub use options::{MethodName, Options, Tested};
/// The former name of [`run`].
pub use run as simulation;
pub use run::{Machine, Simulation, Summary};
