//! Vectors, 3×3 matrices and rotations.

pub mod rotation;
mod vec3;

pub use rotation::Quat;
pub use vec3::{Mat3, Vec3};
