//! Block elimination in a static order: the production solver.
//!
//! The blocks are eliminated in the order of [`super::ordering`]; neighbours in that order with the same structure are merged
//! into *nodes*. A node keeps its pivot rows and columns dense,
//!
//! ```text
//!     ┌─────────┬───────────────┐
//!     │ D  p×p  │ U  p×m        │   [D | U] by rows, p + m wide
//!     ├─────────┼───────────────┘
//!     │ L  m×p  │                   L by rows, p wide
//!     └─────────┘
//! ```
//!
//! and, once its pivots are eliminated, subtracts L D⁻¹ U from the nodes of its m border rows, at offsets that the analysis
//! has listed. Diagonal blocks are stored inverted and U as D⁻¹U: right-looking block LU [Golub & Van Loan 2013, 3.2.10] on
//! a supernodal structure.

#[macro_use]
mod node_work;

mod forward;
mod general;
mod part;
mod symmetric;
#[cfg(test)]
mod tests;

use self::part::{PartFactors, shared};
use super::{
    blocks::{BlockMatrix, BlockPattern, Class},
    interface::{Flops, LinearError, LinearSolver},
    plan::{Analysis, SHARED},
};
use crate::{tape::Tape, threads::team};
use std::sync::Arc;

/// Below this fraction of their magnitude, the pivots of multipliers at a cut are poor.
const POOR_CUT: f64 = 1e-6;

/// Block elimination in a static order, with pivoting inside the diagonal blocks only: L D⁻¹ U, or L D⁻¹ Lᵀ of symmetric
/// matrices.
///
/// Large systems are eliminated in parts, subtrees of the elimination tree, in parallel where a team works
/// ([`crate::threads::team`]). Their contributions to the rest are added in a fixed order, so that results do not depend on
/// the number of threads. They differ in the last bits between processors with and without fused multiply-add.
#[derive(Default)]
pub struct BlockLu {
    analysis: Arc<Analysis>,
    /// The last one is eliminated after all others.
    parts: Vec<PartFactors>,
    dropped: Vec<usize>,
    flops: Flops,
    is_whole: bool,
}

impl BlockLu {
    /// A solver that has seen no pattern yet.
    pub fn new() -> BlockLu {
        BlockLu::default()
    }

    /// A solver for matrices of this pattern, analyzed.
    pub fn for_pattern(pattern: &Arc<BlockPattern>) -> Result<BlockLu, LinearError> {
        BlockLu::of(pattern, false, true)
    }

    /// A solver for symmetric matrices of this pattern, analyzed. It does not read above the diagonal.
    pub fn for_symmetric(pattern: &Arc<BlockPattern>) -> Result<BlockLu, LinearError> {
        match one_sided(pattern) {
            Some(row) => Err(LinearError::OneSided { row }),
            None => BlockLu::of(pattern, true, true),
        }
    }

    /// The same solver without parts.
    pub fn whole(&self, pattern: &Arc<BlockPattern>) -> Result<BlockLu, LinearError> {
        BlockLu::of(pattern, self.analysis.outline.symmetric, false)
    }

    fn of(pattern: &Arc<BlockPattern>, symmetric: bool, parted: bool) -> Result<BlockLu, LinearError> {
        let analysis = SHARED.of(pattern, symmetric, parted)?;
        let multipliers = (0..pattern.blocks()).filter(|&b| pattern.class(b) == Class::Multiplier);
        let droppable = multipliers.map(|b| pattern.size(b)).sum();
        // factor: D⁻¹, D⁻¹U and L D⁻¹U of every node, half of the last if symmetric; solve: forward and backward through them
        let sizes = || analysis.plans.iter().flat_map(|plan| &plan.nodes).map(|n| (n.p as usize, n.m as usize));
        let half = |p: usize, m: usize| if symmetric { m * (m + p) / 2 } else { m * m };
        let flops = Flops {
            factor: sizes().map(|(p, m)| 2 * p * (p * p + p * m + half(p, m))).sum(),
            solve: sizes().map(|(p, m)| 2 * p * (p + 2 * m + if symmetric { p } else { 0 })).sum(),
        };
        let parts = analysis.plans.iter().cloned().map(PartFactors::new).collect();
        Ok(BlockLu { analysis, parts, dropped: Vec::with_capacity(droppable), flops, is_whole: !parted })
    }

    /// Whether it assumes symmetric matrices.
    pub fn is_symmetric(&self) -> bool {
        self.analysis.outline.symmetric
    }

    /// Whether it would have parts but has none.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The number of scalars stored in the factors.
    pub fn factor_entries(&self) -> usize {
        self.parts.iter().map(|part| part.plan.length).sum()
    }

    /// Whether pivots are small at the cut that was made for two threads. Two long stiff halves meet there so; eliminated from
    /// end to end, the model has no small pivots. (A spatial ladder of n squares, rigid out of its plane: n⁻³.)
    pub fn meets_poorly(&self) -> bool {
        let last = self.parts.last().filter(|_| self.analysis.outline.cut);
        last.is_some_and(|part| part.pivots.closest < POOR_CUT || !part.pivots.dropped.is_empty())
    }

    /// The number of parts that can be eliminated in parallel.
    pub fn parts(&self) -> usize {
        self.parts.len().saturating_sub(1).max(1)
    }
}

impl LinearSolver for BlockLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = BlockLu::of(pattern, self.analysis.outline.symmetric, true)?;
        Ok(())
    }

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        for part in &mut self.parts {
            let own = |rows: &[usize]| match rows {
                [] => Vec::new(),
                _ => {
                    let own = part.plan.scalar[..part.plan.dimension].iter().enumerate();
                    own.filter(|(_, row)| rows.binary_search(&(**row as usize)).is_ok()).map(|(k, _)| k).collect()
                }
            };
            let told = rows.map(own);
            part.pivots.leave_out(told);
        }
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.decide();
        self.factor_as_told(a, None)
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.freeze();
        self.factor_as_told(a, None)
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        self.check_side(b)?;
        if let Some((last, parts)) = self.parts.split_last_mut() {
            team::each(parts, |part| part.go_forward(b, &[]));
            last.go_forward(b, parts);
        }
        self.go_backward(b);
        Ok(())
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        self.parts.iter_mut().for_each(|part| part.keep(tape, factors));
        tape.plain(&mut self.dropped);
    }

    fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.parts.iter().map(|part| part.pivots.smallest).fold(f64::INFINITY, f64::min)
    }

    fn smallest_multiplier_pivot(&self) -> f64 {
        self.parts.iter().map(|part| part.pivots.closest).fold(f64::INFINITY, f64::min)
    }

    fn name(&self) -> &'static str {
        if self.analysis.outline.symmetric { "block LDLᵀ" } else { "block LU" }
    }

    fn explain(&self) -> String {
        let order = match self.analysis.outline.dissection {
            None => "by minimum degree (no column is wide)".into(),
            Some(ratio) if ratio < 1.0 => format!("after nested dissection ({ratio:.2} of the work of minimum degree)"),
            Some(ratio) => format!("by minimum degree (nested dissection would be {ratio:.2} of its work)"),
        };
        let numbers = self.factor_entries() as f64 / self.analysis.outline.bodies.max(1) as f64;
        let parts = match self.parts() {
            1 => String::new(),
            n => format!(", in {n} parts at a time"),
        };
        format!("{} {order}, {numbers:.0} numbers per body{parts}", self.name())
    }

    fn flops(&self) -> Flops {
        self.flops
    }
}

/// A block row with an entry whose mirror image is not stored.
fn one_sided(pattern: &BlockPattern) -> Option<usize> {
    let missing = |i: usize| pattern.row(i).any(|(j, _)| pattern.offset(j, i).is_none());
    (0..pattern.blocks()).find(|&i| missing(i))
}

impl BlockLu {
    /// From now on, pivots decide which rows are dropped.
    fn decide(&mut self) {
        self.parts.iter_mut().for_each(|part| part.pivots.decide());
    }

    /// From now on, exactly the rows dropped last are dropped.
    fn freeze(&mut self) {
        self.parts.iter_mut().for_each(|part| part.pivots.freeze());
    }

    /// Factors a matrix and takes a right-hand side along; [`Self::go_backward`] completes the solution. `anew`: decide which
    /// rows to drop, instead of dropping the same as before. Cheaper than two sweeps: b meets each panel while it is in the
    /// cache.
    pub fn go_forward(&mut self, a: &BlockMatrix, b: &[f64], anew: bool) -> Result<(), LinearError> {
        self.check_side(b)?;
        if anew {
            self.decide()
        } else {
            self.freeze()
        }
        self.factor_as_told(a, Some(b))
    }

    /// b ← A⁻¹ b, after [`Self::go_forward`].
    pub fn go_backward(&mut self, b: &mut [f64]) {
        let Some((last, parts)) = self.parts.split_last_mut() else { return };
        last.go_backward();
        let b = shared(b);
        last.scatter(b);
        team::each(parts, |part| {
            part.x[part.plan.dimension..].copy_from_slice(&last.x);
            part.go_backward();
            part.scatter(b);
        });
    }

    fn check_side(&self, b: &[f64]) -> Result<(), LinearError> {
        let expected = self.analysis.outline.dimension;
        if b.len() == expected { Ok(()) } else { Err(LinearError::Sizes { expected, found: b.len() }) }
    }

    /// Factors, after `decide` or `freeze`.
    fn factor_as_told(&mut self, a: &BlockMatrix, b: Option<&[f64]>) -> Result<(), LinearError> {
        if a.values.len() != self.analysis.outline.entries {
            return Err(LinearError::Sizes { expected: self.analysis.outline.entries, found: a.values.len() });
        }
        assert!(!a.has_borrowed() || self.analysis.outline.symmetric, "borrowed rows need symmetric elimination");
        let values = a.all_values();
        let Some((last, parts)) = self.parts.split_last_mut() else { return Ok(()) };
        team::each(parts, |part| {
            // SAFETY: `a` has as many values as the analyzed pattern. Where rows are borrowed, those below the diagonal are
            // valid, which are all that symmetric elimination reads.
            unsafe { part.factor(values, b, &[]) }
        });
        last.outcome = parts.iter().find_map(|part| part.outcome);
        if last.outcome.is_none() {
            // SAFETY: as above.
            unsafe { last.factor(values, b, parts) };
        }
        if !last.pivots.is_frozen() {
            self.dropped.clear();
            for part in &self.parts {
                self.dropped.extend(part.pivots.dropped.iter().map(|&k| part.plan.scalar[k] as usize));
            }
            self.dropped.sort_unstable();
        }
        self.parts.last().and_then(|last| last.outcome).map_or(Ok(()), Err)
    }
}
