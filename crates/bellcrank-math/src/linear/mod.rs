//! Linear algebra: block-sparse and dense matrices, and the solvers that factor them.
//!
//! A [`blocks::BlockMatrix`] goes to a [`solver::LinearSolver`] in three phases: *analyze* its pattern once, *factor* its
//! values whenever they change, *solve* for any number of right-hand sides. [`solver::choose`] picks the solver:
//!
//! | solver | for |
//! |---|---|
//! | [`block_lu::BlockLu`] | block elimination in a static order, L D⁻¹ U or L D⁻¹ Lᵀ: the production solver |
//! | [`range_space::RangeSpace`] | accelerations of small machines: products of blocks in a list that is written once |
//! | [`tree::TreeLu`] | elimination along a tree of bodies, without fill |
//! | [`dense::DenseLu`] | small systems that need pivoting across the whole matrix |
//! | [`sparse::SparseLu`] | large ones |
//!
//! ```
//! use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
//! use bellcrank_math::linear::solver;
//! use std::sync::Arc;
//!
//! // a mass of 2 kg in the plane, held by the constraint x = y:  [M Gᵀ; G 0] [a; λ] = [f; 0]
//! let entries = vec![(0, 0), (0, 1), (1, 0)];
//! let pattern = Arc::new(BlockPattern::new(vec![2, 1], vec![Class::Body, Class::Multiplier], entries));
//! let mut a = BlockMatrix::new(pattern.clone());
//! a.block_mut(0, 0).unwrap().copy_from_slice(&[2.0, 0.0, 0.0, 2.0]);
//! a.block_mut(0, 1).unwrap().copy_from_slice(&[1.0, -1.0]);
//! a.block_mut(1, 0).unwrap().copy_from_slice(&[1.0, -1.0]);
//! let mut solver = solver::choose(&pattern);
//! let mut x = [0.0, -4.0, 0.0];
//! solver.factor(&a)?;
//! solver.solve(&mut x)?;
//! assert_eq!(x, [-1.0, -1.0, 2.0]);
//! # Ok::<(), solver::LinearError>(())
//! ```

#[macro_use]
mod kernels;

pub mod block_lu;
pub mod blocks;
mod decomposition;
pub mod deferred;
pub mod dense;
mod interface;
mod lanes;
pub mod matrix;
pub mod ordering;
mod plan;
pub mod range_space;
pub mod solver;
pub mod sparse;
pub mod tree;
mod unchecked;

#[cfg(test)]
#[path = "../../tests/samples/mod.rs"]
pub(crate) mod samples;
