//! What a machine is, and the equations that move it: bodies, joints and forces, the model file,
//! and the compilation of a [`model::Model`] into a [`system::System`].

pub mod appearance;
pub mod bodies;
pub mod build;
pub mod catalog;
pub mod channel;
pub mod curve;
pub mod drives;
mod dual;
pub mod dynamics;
pub mod file;
pub mod fmu;
pub mod forces;
pub mod frames;
pub mod hand_written;
pub mod joints;
pub mod mesh;
pub mod model;
pub mod pair;
mod parallel;
pub mod profile;
pub mod read;
pub mod reference;
pub mod relative;
pub mod scene;
pub mod settings;
pub mod snapshot;
pub mod space;
mod subject;
pub mod surface;
pub mod system;
#[doc(hidden)]
pub mod testing;

pub use dynamics::{Charts, Dynamics, Piece, Point, Slopes, State, Unknown, Workspace};
pub use model::{Model, Place, Subject};
pub use relative::Relative;
pub use system::System;
