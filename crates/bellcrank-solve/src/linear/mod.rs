//! Linear systems: the KKT system of accelerations and projections, and solvers for the matrices of implicit steps.

pub mod derivatives;
mod following;
pub mod forms;
pub mod kkt;
pub mod loop_cg;
pub mod loop_step;
pub mod loops;
mod min_norm;
pub mod partition;
pub mod plan;
pub mod projection;
mod quick;
pub(crate) mod rank;
pub mod scales;
pub mod shared;
mod spanning;
pub mod two_kkt;

pub use plan::{LinearPlan, MatrixPlan};
