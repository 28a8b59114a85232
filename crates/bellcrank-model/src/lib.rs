//! What a machine is, and the equations that move it: bodies, joints and forces, the model file,
//! and the compilation of a [`model::Model`] into a [`system::System`].

mod balance;
pub mod bodies;
pub mod build;
pub mod channels;
pub mod curve;
pub mod dynamics;
pub mod file;
pub mod forces;
pub mod frames;
pub mod joints;
pub mod mesh;
pub mod model;
pub mod own;
pub mod read;
pub mod reference;
pub mod relative;
pub mod scene;
mod shares;
pub mod system;
pub mod tape;
#[doc(hidden)]
pub mod testing;

pub use dynamics::{Charts, Dynamics, Piece, Point, Slopes, State, Unknown, Workspace};
pub use model::Model;
pub use relative::Relative;
pub use system::System;
