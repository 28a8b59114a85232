//! How the equations are solved: formulations, methods, Newton's iteration, consistent initial
//! values, simulations and the recorders that watch them.

pub mod methods;
pub mod record;
pub mod stencil;
pub mod weights;
