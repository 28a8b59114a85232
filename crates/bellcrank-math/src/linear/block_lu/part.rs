//! One part of a block elimination: subtrees of the elimination tree that one thread works on, or the rest above them.

use super::{forward::forward_node, general, node_work::NodeWork, symmetric};
#[cfg(target_arch = "x86_64")]
use crate::linear::lanes::Avx2;
use crate::linear::{
    blocks::{Class, MatrixValues},
    interface::LinearError,
    kernels::{Pivots, copy},
    lanes::{Instructions, Plain},
    plan::{BlockCopy, Kernel, Opening, PartPlan, WIDEST_RUN, take, take_last},
    unchecked::{at, at_mut},
};
use crate::tape::Tape;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Prefetch distance, in blocks of leaves.
const AHEAD: usize = 12;

/// The factors of a part.
#[derive(Default)]
pub struct PartFactors {
    pub plan: Arc<PartPlan>,
    /// Its own panels, then its contributions to those of the last part.
    values: Vec<f64>,
    /// Σ |contributions| to every diagonal entry from bodies and velocities, in elimination order.
    magnitude: Vec<f64>,
    pub pivots: Pivots,
    /// Right-hand side or solution, in elimination order.
    pub x: Vec<f64>,
    strip: Vec<f64>,
    pub outcome: Option<LinearError>,
}

/// Defines a method that runs a sweep compiled for the processor at hand.
macro_rules! dispatched {
    ($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $sweep:ident) => {
        $(#[$meta])*
        unsafe fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                unsafe fn fused(part: &mut PartFactors, $($argument: $type),*) $(-> $result)? {
                    // SAFETY: by the contract of the sweep.
                    unsafe { part.$sweep::<Avx2>($($argument),*) }
                }
                if has_fma() {
                    // SAFETY: the processor has AVX2 and FMA; else by the contract of the sweep.
                    return unsafe { fused(self, $($argument),*) };
                }
            }
            // SAFETY: by the contract of the sweep.
            unsafe { self.$sweep::<Plain<{ cfg!(target_arch = "aarch64") }>>($($argument),*) }
        }
    };
}

impl PartFactors {
    /// Room for the factors that a plan describes.
    pub fn new(plan: Arc<PartPlan>) -> PartFactors {
        let dimension = plan.dimension + plan.shared_dimension;
        let multipliers = plan.blocks.iter().filter(|(_, class)| *class == Class::Multiplier);
        let droppable = multipliers.map(|block| block.0 as usize).sum();
        PartFactors {
            values: vec![0.0; plan.length + plan.shared_length],
            magnitude: vec![0.0; dimension],
            pivots: Pivots::new(plan.largest, plan.dimension, droppable, plan.symmetric),
            x: vec![0.0; dimension],
            strip: vec![0.0; plan.widest * plan.largest.max(WIDEST_RUN)],
            outcome: None,
            plan,
        }
    }

    /// Tells a tape which rows are dropped; with `factors`, those too.
    pub fn keep(&mut self, tape: &mut Tape, factors: bool) {
        self.pivots.keep(tape);
        if factors {
            tape.fixed(&mut self.values);
            tape.fixed(&mut self.magnitude);
        }
    }

    /// Factors the part; the last part takes the contributions of `others`. With a right-hand side b, x ← L⁻¹ b on the way.
    ///
    /// # Safety
    /// `a` has all values of a matrix of the analyzed pattern.
    pub unsafe fn factor(&mut self, a: MatrixValues, b: Option<&[f64]>, others: &[PartFactors]) {
        self.values[self.plan.length..].fill(0.0);
        self.magnitude[self.plan.dimension..].fill(0.0);
        self.x[self.plan.dimension..].fill(0.0);
        // SAFETY: by the contract.
        let done = unsafe { self.factor_dispatched(a, b, others) };
        let row = |k: usize| self.plan.scalar[k] as usize;
        self.outcome = done.err().map(|error| match error {
            LinearError::Singular { row: k } => LinearError::Singular { row: row(k) },
            LinearError::NotFinite { row: k } => LinearError::NotFinite { row: row(k) },
            other => other,
        });
    }

    /// x ← L⁻¹ b, with the contributions of `others`.
    pub fn go_forward(&mut self, b: &[f64], others: &[PartFactors]) {
        let PartFactors { plan, x, .. } = self;
        let (own, shared) = x.split_at_mut(plan.dimension);
        for (x, &i) in own.iter_mut().zip(&plan.scalar) {
            *x = b[i as usize];
        }
        shared.fill(0.0);
        for other in others {
            own.iter_mut().zip(&other.x[other.plan.dimension..]).for_each(|(x, share)| *x += share);
        }
        // SAFETY: it needs no more than a checked plan.
        unsafe { self.forward_dispatched() };
    }

    /// x ← U⁻¹ x.
    pub fn go_backward(&mut self) {
        // SAFETY: it needs no more than a checked plan.
        unsafe { self.backward_dispatched() };
    }

    dispatched! {
        /// # Safety
        /// As for `factor`.
        fn factor_dispatched(a: MatrixValues, b: Option<&[f64]>, others: &[PartFactors]) -> Result<(), LinearError> = factor_nodes
    }

    dispatched! {
        /// # Safety
        /// As for `forward_nodes`.
        fn forward_dispatched() = forward_nodes
    }

    dispatched! {
        /// # Safety
        /// As for `backward_nodes`.
        fn backward_dispatched() = backward_nodes
    }

    /// # Safety
    /// As for `factor`; M may be `Avx2` in functions compiled for AVX2 and FMA alone.
    #[inline(always)]
    unsafe fn factor_nodes<M: Instructions>(
        &mut self,
        a: MatrixValues,
        b: Option<&[f64]>,
        others: &[PartFactors],
    ) -> Result<(), LinearError> {
        let PartFactors { plan, values, magnitude, pivots, x, strip, .. } = self;
        let mut lists = plan.lists();
        let mut values = values.as_mut_slice();
        let mut done = 0;
        let gather = |b: &[f64], x: &mut [f64], first: usize, p: usize| {
            for (x, &i) in x[first..first + p].iter_mut().zip(&plan.scalar[first..]) {
                *x = b[i as usize];
            }
        };
        pivots.start();
        for node in &plan.nodes {
            let first = pivots.first;
            for opening in take(&mut lists.openings, node.opens as usize) {
                let copies = take(&mut lists.copies, opening.copies as usize);
                // SAFETY: the plan is checked, and `a` has all values by the contract.
                unsafe { open(opening, copies, a, values, magnitude, plan.symmetric) };
                if let Some(b) = b {
                    gather(b, x, opening.first as usize, opening.p as usize);
                }
                others.iter().for_each(|other| other.share(opening, done, values, magnitude, x));
            }
            let border = take(&mut lists.border, node.m as usize);
            let (panel, later) = values.split_at_mut(node.entries as usize);
            let mut work = NodeWork {
                node,
                border,
                runs: take(&mut lists.runs, node.runs as usize),
                targets: take(&mut lists.targets, node.targets as usize),
                panel: &mut *panel,
                later: &mut *later,
                magnitude,
                pivots,
            };
            let blocks = take(&mut lists.blocks, node.blocks as usize);
            match node.kernel {
                Kernel::Leaf(p) => {
                    let sources = take(&mut lists.sources, node.sources as usize);
                    let ahead = &lists.sources[AHEAD.min(lists.sources.len())..];
                    for source in &ahead[..sources.len().min(ahead.len())] {
                        a.prefetch(source.lower);
                    }
                    // SAFETY: P is the node's number of pivots, and `a` has all values by the contract.
                    with_size!(p, 1 2 3 4 5; 6, P => unsafe {
                        match plan.symmetric {
                            true => work.eliminate_symmetric_leaf::<M, P>(a, sources)?,
                            false => work.eliminate_leaf::<M, P>(a.own, sources)?,
                        }
                    })
                }
                // SAFETY: P is the node's number of pivots.
                Kernel::Small(p) => with_size!(p, 1 2 3 4 5; 6, P => unsafe {
                    match plan.symmetric {
                        true => work.eliminate_symmetric_small::<M, P>()?,
                        false => work.eliminate_small::<M, P>()?,
                    }
                }),
                // SAFETY: the blocks are those of the node.
                Kernel::General if plan.symmetric => unsafe { work.eliminate_symmetric::<M>(blocks, strip)? },
                // SAFETY: the blocks are those of the node.
                Kernel::General => unsafe { work.eliminate::<M>(blocks, strip)? },
            }
            if let Some(b) = b {
                if let Kernel::Leaf(_) = node.kernel {
                    gather(b, x, first, node.p as usize);
                }
                // SAFETY: the plan is checked. (Now, while the panel is in the cache.)
                unsafe { forward_node::<M>(node, panel, blocks, border, first, x, strip, plan.symmetric) };
            }
            values = later;
            done += node.entries as usize;
            pivots.first += node.p as usize;
        }
        Ok(())
    }

    /// Adds this part's contributions to a panel of the last part, to its magnitudes and to its right-hand side; `done` values
    /// of that part come before `values`.
    fn share(&self, opening: &Opening, done: usize, values: &mut [f64], magnitude: &mut [f64], x: &mut [f64]) {
        let (panel, size) = (opening.panel as usize, opening.entries as usize);
        let (first, p, mine) = (opening.first as usize, opening.p as usize, self.plan.dimension);
        for (theirs, mine) in [
            (&mut values[panel..panel + size], &self.values[self.plan.length + done + panel..]),
            (&mut magnitude[first..first + p], &self.magnitude[mine + first..]),
            (&mut x[first..first + p], &self.x[mine + first..]),
        ] {
            theirs.iter_mut().zip(mine).for_each(|(x, mine)| *x += mine);
        }
    }

    /// # Safety
    /// M may be `Avx2` in functions compiled for AVX2 and FMA alone.
    #[inline(always)]
    unsafe fn forward_nodes<M: Instructions>(&mut self) {
        let PartFactors { plan, values, x, strip, .. } = self;
        let mut lists = plan.lists();
        let mut values = values.as_slice();
        let mut first = 0;
        for node in &plan.nodes {
            let panel = take(&mut values, node.entries as usize);
            let border = take(&mut lists.border, node.m as usize);
            let blocks = take(&mut lists.blocks, node.blocks as usize);
            // SAFETY: the plan is checked, and x has its dimension.
            unsafe { forward_node::<M>(node, panel, blocks, border, first, x, strip, plan.symmetric) };
            first += node.p as usize;
        }
    }

    /// # Safety
    /// M may be `Avx2` in functions compiled for AVX2 and FMA alone.
    #[inline(always)]
    unsafe fn backward_nodes<M: Instructions>(&mut self) {
        let PartFactors { plan, values, x, strip, .. } = self;
        let mut lists = plan.lists();
        let mut values = &values[..plan.length];
        let mut first = plan.dimension;
        for node in plan.nodes.iter().rev() {
            first -= node.p as usize;
            let panel = take_last(&mut values, node.entries as usize);
            let border = take_last(&mut lists.border, node.m as usize);
            let blocks = take_last(&mut lists.blocks, node.blocks as usize);
            match node.kernel {
                Kernel::Leaf(p) | Kernel::Small(p) => {
                    // SAFETY: the plan is checked, x has its dimension, and P is the node's number of pivots.
                    with_size!(p, 1 2 3 4 5; 6, P => unsafe {
                        match plan.symmetric {
                            true => symmetric::backward_small::<M, P>(panel, border, first, x),
                            false => general::backward_small::<M, P>(panel, border, first, x),
                        }
                    });
                }
                Kernel::General if plan.symmetric => symmetric::backward(node, panel, blocks, border, first, x, strip),
                Kernel::General => general::backward(node, panel, blocks, border, first, x, strip),
            }
        }
    }

    /// Writes its unknowns to their rows.
    pub fn scatter(&self, b: &[AtomicU64]) {
        for (x, &i) in self.x.iter().zip(&self.plan.scalar) {
            b[i as usize].store(x.to_bits(), Relaxed);
        }
    }
}

/// Numbers that several threads write, each to rows of its own.
pub fn shared(b: &mut [f64]) -> &[AtomicU64] {
    // SAFETY: f64 and AtomicU64 have the same size, alignment (asserted below) and valid bit patterns; the borrow is exclusive.
    unsafe { &*(std::ptr::from_mut(b) as *const [AtomicU64]) }
}

// On 32-bit x86, f64 is aligned less strictly.
const _: () = assert!(align_of::<f64>() == align_of::<AtomicU64>());

/// Whether the processor has AVX2 and a fast fused multiply-add.
#[cfg(target_arch = "x86_64")]
fn has_fma() -> bool {
    #[cfg(test)]
    if super::tests::PLAIN.get() {
        return false;
    }
    !cfg!(miri) && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Fills the panel `opening.panel` entries into `values` from the matrix.
///
/// # Safety
/// Opening and copies belong to a checked plan for matrices with the values `a`; `values` and `magnitude` have its sizes.
#[inline(always)]
unsafe fn open(
    opening: &Opening,
    copies: &[BlockCopy],
    a: MatrixValues,
    values: &mut [f64],
    magnitude: &mut [f64],
    symmetric: bool,
) {
    let p = opening.p as usize;
    let panel = &mut values[opening.panel as usize..][..opening.entries as usize];
    // p + m, or p
    let width = if symmetric { p } else { (panel.len() / p.max(1) + p) / 2 };
    panel.fill(0.0);
    for block in copies {
        let (columns, (a, first)) = (block.columns as usize, a.from(block.from));
        if columns <= 6 {
            // SAFETY: by the contract.
            with_size!(columns, 1 2 3 4 5; 6, C => unsafe { copy::<C>(block, a, first, panel) });
            continue;
        }
        for r in 0..block.rows as usize {
            let (from, to) = (first + r * columns, block.to as usize + r * block.stride as usize);
            panel[to..to + columns].copy_from_slice(&a[from..from + columns]);
        }
    }
    for r in 0..p {
        // SAFETY: by the contract.
        unsafe { at_mut::<1>(magnitude, opening.first as usize + r)[0] = at::<1>(panel, r * (width + 1))[0].abs() };
    }
}
