//! What a machine is, and the equations that move it: bodies, joints and forces, the model file,
//! and the compilation of a [`model::Model`] into a [`system::System`].

pub mod dynamics;
pub mod frames;

pub use dynamics::{Charts, Dynamics, Level, Piece, Point, Slopes, State, Unknown, Workspace};
