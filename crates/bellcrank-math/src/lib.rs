//! The mathematics under Bellcrank: vectors and rotations in space, block-sparse matrices and
//! the linear solvers that factor them.

#[macro_use]
mod kernels;

pub mod block_lu;
pub mod blocks;
pub mod dense;
mod dissection;
mod lanes;
pub mod lazy;
pub mod matrix;
pub mod ordering;
mod plan;
pub mod rotation;
pub mod solver;
pub mod sparse;
mod symmetric;
pub mod team;
pub mod tree;
pub mod vec3;

pub use rotation::Quat;
pub use vec3::{Mat3, Vec3};

#[cfg(test)]
extern crate self as bellcrank_math; // the samples of the tests name the crate from outside
