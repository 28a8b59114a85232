//! What a machine is, and the equations that move it: bodies, joints and forces, the model file,
//! and the compilation of a [`model::Model`] into a [`system::System`].

pub mod bodies;
pub mod dynamics;
pub mod frames;
#[doc(hidden)]
pub mod testing;

pub use dynamics::{Charts, Dynamics, Level, Piece, Point, Slopes, State, Unknown, Workspace};
