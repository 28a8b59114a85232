//! The mathematics under Bellcrank: vectors and rotations in space, block-sparse matrices and
//! the linear solvers that factor them.

pub mod blocks;
pub mod rotation;
pub mod solver;
pub mod vec3;

pub use rotation::Quat;
pub use vec3::{Mat3, Vec3};
