//! The mathematics under Bellcrank, in three rooms:
//!
//! * geometry: vectors and rotations in space ([`Vec3`], [`Mat3`], [`Quat`], [`rotation`]);
//! * [`linear`]: block-sparse and dense matrices, and the solvers that factor them;
//! * [`threads`]: teams of threads that share short tasks without changing results.
//!
//! [`numbers`] and [`random`] hold the small helpers that everything else uses.
//!
//! ```
//! use bellcrank_math::{Quat, Vec3};
//!
//! // a quarter turn about z takes x to y
//! let turn = Quat::exp(Vec3::Z * std::f64::consts::FRAC_PI_2);
//! assert!((turn.matrix() * Vec3::X - Vec3::Y).norm() < 1e-15);
//! ```

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod geometry;
pub mod linear;
pub mod numbers;
pub mod random;
pub mod tape;
pub mod threads;

pub use geometry::{Mat3, Quat, Vec3, rotation};

#[doc(hidden)]
pub use linear::{block_lu, blocks, deferred as lazy, dense, matrix, ordering, solver, sparse, tree};
#[doc(hidden)]
pub use threads::team;

#[cfg(test)]
extern crate self as bellcrank_math; // the samples shared with integration tests name the crate from outside
