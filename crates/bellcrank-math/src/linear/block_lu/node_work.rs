//! A node during its elimination.

use crate::linear::{kernels::Pivots, plan::ElimNode};

/// A node with its lists and the memory it works on. [`super::general`] and [`super::symmetric`] eliminate it.
///
/// Invariant, which all unchecked accesses rely on: the lists are those of `node` in a plan that has passed its check, and
/// panel, `later` and magnitudes have the sizes that this plan tells.
pub struct NodeWork<'a> {
    pub node: &'a ElimNode,
    /// Elimination positions of its border rows.
    pub border: &'a [u32],
    /// Lengths of the runs of adjacent border columns.
    pub runs: &'a [u32],
    /// Where each run of each border row goes in `later`.
    pub targets: &'a [u32],
    pub panel: &'a mut [f64],
    /// The panels after this one: all that the border touches.
    pub later: &'a mut [f64],
    /// Σ |contributions| to every diagonal entry, in elimination order.
    pub magnitude: &'a mut [f64],
    pub pivots: &'a mut Pivots,
}
