//! Block elimination in a fixed order: the production solver.
//!
//! The blocks are eliminated in a static order ([`crate::ordering`]); neighbours in that order with
//! the same structure are merged into *nodes*. A node keeps its pivot rows and columns dense,
//!
//! ```text
//!     ┌─────────┬───────────────┐
//!     │ D  p×p  │ U  p×m        │   [D | U] by rows, p + m wide
//!     ├─────────┼───────────────┘
//!     │ L  m×p  │                   L by rows, p wide
//!     └─────────┘
//! ```
//!
//! and, once its pivots are gone, subtracts L D⁻¹ U from the nodes of its m border rows, at offsets
//! that were listed by the analysis. Diagonal blocks are kept inverted, U is kept as D⁻¹U:
//! right-looking block LU [Golub & Van Loan 2013, 3.2.10] on a supernodal structure.

#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2;
use crate::{
    blocks::{BlockMatrix, BlockPattern, Class, Values},
    kernels::{Pivots, at, at_mut, copy, rows, scaled, spread, spread_wide, subtract_products},
    lanes::{Machine, Plain, Row},
    plan::{Analysis, Kernel, Node, Opening, PIECE, Plan, Source, take, take_last},
    solver::{Flops, LinearError, LinearSolver},
    symmetric, team,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// So many blocks of leaves pass until what is called for comes from memory.
const AHEAD: usize = 12;

/// Pivots of multipliers at a cut below this part of their magnitude are poor.
const POOR_CUT: f64 = 1e-6;

/// Block elimination with a static order and pivoting inside the diagonal blocks only: L D⁻¹ U, or of symmetric
/// matrices L D⁻¹ Lᵀ.
///
/// Large systems are eliminated in parts, subtrees of the elimination tree, at the same time where a team works
/// ([`crate::team`]); what they leave to the rest is added up in a fixed order, so that results do not depend on who works.
/// They differ in the last bits between processors with and without fused multiply-add.
#[derive(Default)]
pub struct BlockLu {
    analysis: Arc<Analysis>,
    /// The last one waits for all others.
    parts: Vec<Part>,
    dropped: Vec<usize>,
    flops: Flops,
}

/// The factors of a part.
#[derive(Default)]
struct Part {
    plan: Arc<Plan>,
    /// Its own panels, then what it subtracts from those of the last part.
    values: Vec<f64>,
    /// Σ |contributions| to every diagonal entry from bodies and velocities, in elimination order.
    magnitude: Vec<f64>,
    pivots: Pivots,
    x: Vec<f64>,
    strip: Vec<f64>,
    outcome: Option<LinearError>,
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

    /// A solver for symmetric matrices of this pattern, analyzed. It does not look above the diagonal.
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
        let analysis = Analysis::of(pattern, symmetric, parted)?;
        let multipliers = (0..pattern.blocks()).filter(|&b| pattern.class(b) == Class::Multiplier);
        let droppable = multipliers.map(|b| pattern.size(b)).sum();
        // D⁻¹, D⁻¹U and L D⁻¹U of every node, half of the latter where it is symmetric; then twice through D⁻¹, L and U
        let sizes = || analysis.plans.iter().flat_map(|plan| &plan.nodes).map(|n| (n.p as usize, n.m as usize));
        let half = |p: usize, m: usize| if symmetric { m * (m + p) / 2 } else { m * m };
        let flops = Flops {
            factor: sizes().map(|(p, m)| 2 * p * (p * p + p * m + half(p, m))).sum(),
            solve: sizes().map(|(p, m)| 2 * p * (p + 2 * m + if symmetric { p } else { 0 })).sum(),
        };
        let parts = analysis.plans.iter().cloned().map(Part::new).collect();
        Ok(BlockLu { analysis, parts, dropped: Vec::with_capacity(droppable), flops })
    }

    /// Whether it takes matrices for symmetric.
    pub fn is_symmetric(&self) -> bool {
        self.analysis.outline.symmetric
    }

    /// The number of scalars stored in the factors.
    pub fn factor_entries(&self) -> usize {
        self.parts.iter().map(|part| part.plan.length).sum()
    }

    /// Whether halves of a model, each as stiff as it is long, meet with small pivots at the cut that was made for two threads:
    /// eliminated from end to end it has none. (A spatial ladder, rigid out of its plane: n⁻³.)
    pub fn meets_poorly(&self) -> bool {
        let last = self.parts.last().filter(|_| self.analysis.outline.cut);
        last.is_some_and(|part| part.pivots.closest < POOR_CUT || !part.pivots.dropped.is_empty())
    }

    /// How many parts can be eliminated at the same time.
    pub fn parts(&self) -> usize {
        self.parts.len().saturating_sub(1).max(1)
    }
}

/// Calls a method compiled for what the processor can do, `$plain` or `$fused`.
macro_rules! on_this_processor {
    ($part:expr, $plain:ident, $fused:ident, $($argument:expr),*) => {{
        #[cfg(target_arch = "x86_64")]
        if fused() {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { $part.$fused($($argument),*) }
        } else {
            $part.$plain::<Plain<false>>($($argument),*)
        }
        #[cfg(not(target_arch = "x86_64"))]
        $part.$plain::<Plain<{ cfg!(target_arch = "aarch64") }>>($($argument),*)
    }};
}

impl Part {
    fn new(plan: Arc<Plan>) -> Part {
        let dimension = plan.dimension + plan.shared_dimension;
        let multipliers = plan.blocks.iter().filter(|(_, class)| *class == Class::Multiplier);
        let droppable = multipliers.map(|block| block.0 as usize).sum();
        Part {
            values: vec![0.0; plan.length + plan.shared_length],
            magnitude: vec![0.0; dimension],
            pivots: Pivots::new(plan.largest, plan.dimension, droppable, plan.symmetric),
            x: vec![0.0; dimension],
            strip: vec![0.0; plan.widest * plan.largest.max(PIECE)],
            outcome: None,
            plan,
        }
    }

    /// Factors it, the last part with what the others subtract from it; x ← L⁻¹ b on the way, if there is a b.
    fn factor(&mut self, a: Values, b: Option<&[f64]>, others: &[Part]) {
        self.values[self.plan.length..].fill(0.0);
        self.magnitude[self.plan.dimension..].fill(0.0);
        self.x[self.plan.dimension..].fill(0.0);
        let done = on_this_processor!(self, factor_nodes, factor_nodes_fused, a, b, others);
        let row = |k: usize| self.plan.scalar[k] as usize;
        self.outcome = done.err().map(|error| match error {
            LinearError::Singular { row: k } => LinearError::Singular { row: row(k) },
            LinearError::NotFinite { row: k } => LinearError::NotFinite { row: row(k) },
            other => other,
        });
    }

    /// x ← L⁻¹ b, with what the others subtract from it.
    fn go_forward(&mut self, b: &[f64], others: &[Part]) {
        let Part { plan, x, .. } = self;
        let (own, shared) = x.split_at_mut(plan.dimension);
        for (x, &i) in own.iter_mut().zip(&plan.scalar) {
            *x = b[i as usize];
        }
        shared.fill(0.0);
        for other in others {
            own.iter_mut().zip(&other.x[other.plan.dimension..]).for_each(|(x, share)| *x += share);
        }
        on_this_processor!(self, forward_nodes, forward_nodes_fused,);
    }

    /// x ← U⁻¹ x.
    fn go_backward(&mut self) {
        on_this_processor!(self, backward_nodes, backward_nodes_fused,);
    }

    #[inline(always)]
    fn factor_nodes<M: Machine>(&mut self, a: Values, b: Option<&[f64]>, others: &[Part]) -> Result<(), LinearError> {
        let Part { plan, values, magnitude, pivots, x, strip, .. } = self;
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
                open(opening, take(&mut lists.copies, opening.copies as usize), a, values, magnitude, plan.symmetric);
                if let Some(b) = b {
                    gather(b, x, opening.first as usize, opening.p as usize);
                }
                others.iter().for_each(|other| other.share(opening, done, values, magnitude, x));
            }
            let border = take(&mut lists.border, node.m as usize);
            let (panel, later) = values.split_at_mut(node.entries as usize);
            let mut step = Step {
                node,
                border,
                pieces: take(&mut lists.pieces, node.pieces as usize),
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
                    lists.sources.iter().skip(AHEAD).take(sources.len()).for_each(|source| a.call_for(source.lower));
                    with_size!(p, 1 2 3 4 5; 6, P => match plan.symmetric {
                        true => step.eliminate_symmetric_leaf::<M, P>(a, sources)?,
                        false => step.eliminate_leaf::<M, P>(a.own, sources)?,
                    })
                }
                Kernel::Small(p) => with_size!(p, 1 2 3 4 5; 6, P => match plan.symmetric {
                    true => step.eliminate_symmetric_small::<M, P>()?,
                    false => step.eliminate_small::<M, P>()?,
                }),
                Kernel::General if plan.symmetric => step.eliminate_symmetric::<M>(blocks, strip)?,
                Kernel::General => step.eliminate::<M>(blocks, strip)?,
            }
            if let Some(b) = b {
                if let Kernel::Leaf(_) = node.kernel {
                    gather(b, x, first, node.p as usize);
                }
                // its panel is still at hand
                forward_node::<M>(node, panel, blocks, border, first, x, strip, plan.symmetric);
            }
            values = later;
            done += node.entries as usize;
            pivots.first += node.p as usize;
        }
        Ok(())
    }

    /// Adds what this part subtracts from a panel of the last part and from its right-hand side, and to its magnitudes; `done`
    /// values come before `values` there.
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

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn factor_nodes_fused(&mut self, a: Values, b: Option<&[f64]>, others: &[Part]) -> Result<(), LinearError> {
        self.factor_nodes::<Avx2>(a, b, others)
    }

    #[inline(always)]
    fn forward_nodes<M: Machine>(&mut self) {
        let Part { plan, values, x, strip, .. } = self;
        let mut lists = plan.lists();
        let mut values = values.as_slice();
        let mut first = 0;
        for node in &plan.nodes {
            let panel = take(&mut values, node.entries as usize);
            let border = take(&mut lists.border, node.m as usize);
            let blocks = take(&mut lists.blocks, node.blocks as usize);
            forward_node::<M>(node, panel, blocks, border, first, x, strip, plan.symmetric);
            first += node.p as usize;
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn forward_nodes_fused(&mut self) {
        self.forward_nodes::<Avx2>();
    }

    #[inline(always)]
    fn backward_nodes<M: Machine>(&mut self) {
        let Part { plan, values, x, strip, .. } = self;
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
                    with_size!(p, 1 2 3 4 5; 6, P => match plan.symmetric {
                        true => symmetric::backward_small::<M, P>(panel, border, first, x),
                        false => backward_small::<M, P>(panel, border, first, x),
                    });
                }
                Kernel::General if plan.symmetric => symmetric::backward(node, panel, blocks, border, first, x, strip),
                Kernel::General => backward(node, panel, blocks, border, first, x, strip),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn backward_nodes_fused(&mut self) {
        self.backward_nodes::<Avx2>();
    }

    /// Puts its unknowns where they belong.
    fn scatter(&self, b: &[AtomicU64]) {
        for (x, &i) in self.x.iter().zip(&self.plan.scalar) {
            b[i as usize].store(x.to_bits(), Relaxed);
        }
    }
}

/// Numbers that several threads write, each one of them.
fn shared(b: &mut [f64]) -> &[AtomicU64] {
    // SAFETY: both have the size, the alignment and all bit patterns in common, and the borrow is exclusive.
    unsafe { &*(std::ptr::from_mut(b) as *const [AtomicU64]) }
}

/// Whether the processor multiplies and adds in one rounding, fast.
#[cfg(target_arch = "x86_64")]
fn fused() -> bool {
    #[cfg(test)]
    if tests::PLAIN.get() {
        return false;
    }
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

impl LinearSolver for BlockLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = BlockLu::of(pattern, self.analysis.outline.symmetric, true)?;
        Ok(())
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
    /// From now on rows are dropped by their pivots.
    fn decide(&mut self) {
        self.parts.iter_mut().for_each(|part| part.pivots.decide());
    }

    /// From now on the rows dropped last are dropped, and no others.
    fn freeze(&mut self) {
        self.parts.iter_mut().for_each(|part| part.pivots.freeze());
    }

    /// Factors a matrix, with the rows to drop decided anew or as they were, and takes a right-hand side along: what is left of
    /// the solution is [`Self::go_backward`]. Each part of the factors is still at hand when b needs it.
    pub fn go_forward(&mut self, a: &BlockMatrix, b: &[f64], anew: bool) -> Result<(), LinearError> {
        self.check_side(b)?;
        if anew {
            self.decide()
        } else {
            self.freeze()
        }
        self.factor_as_told(a, Some(b))
    }

    /// b ← A⁻¹ b, where [`Self::go_forward`] has gone before.
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

    /// Factors, with the rows to drop decided or given.
    fn factor_as_told(&mut self, a: &BlockMatrix, b: Option<&[f64]>) -> Result<(), LinearError> {
        if a.values.len() != self.analysis.outline.entries {
            return Err(LinearError::Sizes { expected: self.analysis.outline.entries, found: a.values.len() });
        }
        assert!(!a.has_borrowed() || self.analysis.outline.symmetric, "lent rows are for symmetric elimination");
        let values = a.all_values();
        let Some((last, parts)) = self.parts.split_last_mut() else { return Ok(()) };
        team::each(parts, |part| part.factor(values, b, &[]));
        last.outcome = parts.iter().find_map(|part| part.outcome);
        if last.outcome.is_none() {
            last.factor(values, b, parts);
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

/// Fills a panel, `opening.panel` entries into `values`, from the matrix.
#[inline(always)]
fn open(
    opening: &Opening,
    copies: &[crate::plan::Copy],
    a: Values,
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
            with_size!(columns, 1 2 3 4 5; 6, C => copy::<C>(block, a, first, panel));
            continue;
        }
        for r in 0..block.rows as usize {
            let (from, to) = (first + r * columns, block.to as usize + r * block.stride as usize);
            panel[to..to + columns].copy_from_slice(&a[from..from + columns]);
        }
    }
    for r in 0..p {
        at_mut::<1>(magnitude, opening.first as usize + r)[0] = at::<1>(panel, r * (width + 1))[0].abs();
    }
}

/// One node at work.
pub(crate) struct Step<'a> {
    pub node: &'a Node,
    pub border: &'a [u32],
    pub pieces: &'a [u32],
    pub targets: &'a [u32],
    pub panel: &'a mut [f64],
    /// The panels after this one: all that the border touches.
    pub later: &'a mut [f64],
    pub magnitude: &'a mut [f64],
    pub pivots: &'a mut Pivots,
}

impl Step<'_> {
    /// Eliminates a node of P pivots straight from the matrix.
    #[inline(always)]
    fn eliminate_leaf<M: Machine, const P: usize>(&mut self, a: &[f64], sources: &[Source]) -> Result<(), LinearError> {
        let Some((own, sources)) = sources.split_first() else { return Ok(()) };
        let d: [[f64; P]; P] = rows(a, own.upper as usize, P);
        let mut magnitude = [0.0; P];
        for r in 0..P {
            magnitude[r] = d[r][r].abs();
        }
        let inverse = self.pivots.inverse::<M, P, P>(&d, &magnitude, self.node.class)?;
        let width = P + self.node.m as usize;
        for i in 0..P {
            *at_mut(self.panel, i * width) = inverse[i];
        }
        let mut done = 0;
        for source in sources {
            let (upper, lower) = (source.upper as usize, source.lower as usize);
            with_size!(source.size, 1 2 3 4 5; 6, C => {
                let u = scaled::<M, P, C>(&inverse, a, upper, C);
                let mut l = [M::Row::<P>::zero(); C];
                for c in 0..C {
                    l[c] = Row::load(a, lower + c * P);
                    l[c].store(self.panel, P * (width + done + c));
                }
                let l = M::transposed(&l);
                let first = self.border[done] as usize; // and those of the block follow it
                let mut magnitude = M::Row::<C>::load(self.magnitude, first);
                for r in 0..P {
                    u[r].store(self.panel, r * width + P + done);
                    magnitude = magnitude.plus_magnitudes(l[r], u[r]);
                }
                magnitude.store(self.magnitude, first);
                done += C;
            });
        }
        self.spread::<M, P>();
        Ok(())
    }

    /// Eliminates a node of P pivots.
    #[inline(always)]
    fn eliminate_small<M: Machine, const P: usize>(&mut self) -> Result<(), LinearError> {
        let width = P + self.node.m as usize;
        let d: [[f64; P]; P] = rows(self.panel, 0, width);
        let magnitude = *at(self.magnitude, self.pivots.first);
        let inverse = self.pivots.inverse::<M, P, P>(&d, &magnitude, self.node.class)?;
        for i in 0..P {
            *at_mut(self.panel, i * width) = inverse[i];
        }
        let mut column = P;
        while column < width {
            let columns = (width - column).min(4);
            with_size!(columns, 1 2 3; 4, C => {
                let u = scaled::<M, P, C>(&inverse, self.panel, column, width);
                for r in 0..P {
                    u[r].store(self.panel, r * width + column);
                }
            });
            column += columns;
        }
        if self.node.class != Class::Multiplier {
            self.add_magnitudes();
        }
        self.spread::<M, P>();
        Ok(())
    }

    /// Subtracts L (D⁻¹ U) from the panels of the border.
    #[inline(always)]
    fn spread<M: Machine, const P: usize>(&mut self) {
        let width = P + self.node.m as usize;
        let mut targets = self.targets;
        let mut column = P;
        for &piece in self.pieces {
            let targets = take(&mut targets, self.node.m as usize);
            with_size!(piece, 1 2 3 4 5 6 7; 8, B => spread::<M, P, B>(self.panel, column, width, targets, self.later));
            column += piece as usize;
        }
    }

    /// Adds the magnitudes of what will be subtracted from the diagonal.
    fn add_magnitudes(&mut self) {
        let (p, width) = (self.node.p as usize, (self.node.p + self.node.m) as usize);
        let (upper, lower) = self.panel.split_at(p * width);
        for (i, (l, &to)) in lower.chunks_exact(p.max(1)).zip(self.border).enumerate() {
            let sum: f64 = l.iter().enumerate().map(|(r, l)| (l * upper[r * width + p + i]).abs()).sum();
            self.magnitude[to as usize] += sum;
        }
    }

    /// Eliminates any node.
    #[inline(always)]
    fn eliminate<M: Machine>(&mut self, blocks: &[(u32, Class)], strip: &mut [f64]) -> Result<(), LinearError> {
        let (p, m) = (self.node.p as usize, self.node.m as usize);
        let (first, width) = (self.pivots.first, p + m);
        let mut k = 0;
        for &(n, class) in blocks {
            let (n, end) = (n as usize, k + n as usize);
            let magnitude = &self.magnitude[first + k..first + end];
            self.pivots.invert(k, &self.panel[k * (width + 1)..], width, n, magnitude, class)?;
            let inverse = &self.pivots.inverse[..n * n];

            // U ← D⁻¹ U
            let (upper, lower) = self.panel.split_at_mut(p * width);
            let tail = width - end;
            let old = &mut strip[..n * tail];
            for r in 0..n {
                let row = &mut upper[(k + r) * width..(k + r + 1) * width];
                old[r * tail..(r + 1) * tail].copy_from_slice(&row[end..]);
                row[k..end].copy_from_slice(&inverse[r * n..(r + 1) * n]);
                row[end..].fill(0.0);
            }
            for r in 0..n {
                let row = &mut upper[(k + r) * width + end..(k + r + 1) * width];
                subtract_products::<M>(row, &inverse[r * n..(r + 1) * n], -1.0, old, tail);
            }

            // The rest of the node's pivots.
            let (done, rest) = upper.split_at_mut(end * width);
            let done = &done[k * width + end..];
            for (r, row) in rest.chunks_exact_mut(width.max(1)).enumerate() {
                let before = row[end + r];
                let (factors, row) = row[k..].split_at_mut(n);
                subtract_products::<M>(row, factors, 1.0, done, width);
                self.magnitude[first + end + r] += (row[r] - before).abs();
            }
            if end < p {
                for row in lower.chunks_exact_mut(p) {
                    let (factors, row) = row[k..].split_at_mut(n);
                    subtract_products::<M>(row, factors, 1.0, done, width);
                }
            }
            k = end;
        }
        if blocks.iter().any(|block| block.1 != Class::Multiplier) {
            self.add_magnitudes();
        }
        let mut targets = self.targets;
        let mut column = p;
        for &piece in self.pieces {
            let targets = take(&mut targets, m);
            with_size!(piece, 1 2 3 4 5 6 7; 8, B => {
                spread_wide::<M, B>(self.panel, column, p, width, targets, self.later)
            });
            column += piece as usize;
        }
        Ok(())
    }
}

/// x ← D⁻¹ x at the pivots of a node, then x −= L x at its border.
#[inline(always)]
fn forward_node<M: Machine>(
    node: &Node,
    panel: &[f64],
    blocks: &[(u32, Class)],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    strip: &mut [f64],
    symmetric: bool,
) {
    match node.kernel {
        Kernel::Leaf(p) | Kernel::Small(p) => {
            with_size!(p, 1 2 3 4 5; 6, P => forward_small::<M, P>(panel, border, first, x, symmetric));
        }
        Kernel::General if symmetric => symmetric::forward(node, panel, blocks, border, first, x, strip),
        Kernel::General => forward(node, panel, blocks, border, first, x, strip),
    }
}

/// `forward_node` for P pivots.
#[inline(always)]
fn forward_small<M: Machine, const P: usize>(
    panel: &[f64],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    symmetric: bool,
) {
    let width = if symmetric { P } else { P + border.len() };
    let old = *at::<P>(x, first);
    let mut own = [0.0; P];
    for r in 0..P {
        let inverse = at::<P>(panel, r * width);
        for c in 0..P {
            own[r] = M::fma(inverse[c], old[c], own[r]);
        }
    }
    *at_mut(x, first) = own;
    for (i, &to) in border.iter().enumerate() {
        let l = at::<P>(panel, P * (width + i));
        let x = &mut at_mut::<1>(x, to as usize)[0];
        for r in 0..P {
            *x = M::fma(-l[r], own[r], *x);
        }
    }
}

/// Borders of these widths are gathered before they are multiplied, four numbers at once.
const WIDE: usize = 8;
const GATHERED: usize = 64;

/// x −= D⁻¹U x at the pivots of a node, from those of its border.
#[inline(always)]
fn backward_small<M: Machine, const P: usize>(panel: &[f64], border: &[u32], first: usize, x: &mut [f64]) {
    let width = P + border.len();
    let mut own = *at::<P>(x, first);
    if (WIDE..=GATHERED).contains(&border.len()) {
        let mut gathered = [0.0; GATHERED];
        for (g, &from) in gathered.iter_mut().zip(border) {
            *g = at::<1>(x, from as usize)[0];
        }
        for r in 0..P {
            let mut sum = [0.0; 4];
            let row = &panel[r * width + P..r * width + width];
            let mut rows = row.chunks_exact(4);
            let mut i = 0;
            for u in &mut rows {
                let g = at::<4>(&gathered, i);
                for k in 0..4 {
                    sum[k] = M::fma(u[k], g[k], sum[k]);
                }
                i += 4;
            }
            for &u in rows.remainder() {
                sum[0] = M::fma(u, gathered[i], sum[0]);
                i += 1;
            }
            own[r] -= (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
        *at_mut(x, first) = own;
        return;
    }
    for (i, &from) in border.iter().enumerate() {
        let x = at::<1>(x, from as usize)[0];
        for r in 0..P {
            own[r] = M::fma(-at::<1>(panel, r * width + P + i)[0], x, own[r]);
        }
    }
    *at_mut(x, first) = own;
}

/// `forward_small` for any node.
fn forward(
    node: &Node,
    panel: &[f64],
    blocks: &[(u32, Class)],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    strip: &mut [f64],
) {
    let (p, width) = (node.p as usize, (node.p + node.m) as usize);
    let (upper, lower) = panel.split_at(p * width);
    let (own, later) = x[first..].split_at_mut(p);
    let mut k = 0;
    for &(n, _) in blocks {
        let end = k + n as usize;
        for r in k..end {
            strip[r - k] = dot(&upper[r * width + k..r * width + end], &own[k..end]);
        }
        own[k..end].copy_from_slice(&strip[..end - k]);
        for r in end..p {
            own[r] -= dot(&upper[r * width + k..r * width + end], &own[k..end]);
        }
        k = end;
    }
    for (l, &i) in lower.chunks_exact(p.max(1)).zip(border) {
        later[i as usize - first - p] -= dot(l, own);
    }
}

/// `backward_small` for any node.
fn backward(
    node: &Node,
    panel: &[f64],
    blocks: &[(u32, Class)],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    strip: &mut [f64],
) {
    let (p, width) = (node.p as usize, (node.p + node.m) as usize);
    for (strip, &i) in strip.iter_mut().zip(border) {
        *strip = x[i as usize];
    }
    let own = &mut x[first..first + p];
    let mut end = p;
    for &(n, _) in blocks.iter().rev() {
        for r in end - n as usize..end {
            let row = &panel[r * width..(r + 1) * width];
            own[r] -= dot(&row[end..p], &own[end..]) + dot(&row[p..], &strip[..border.len()]);
        }
        end -= n as usize;
    }
}

#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
pub(crate) mod samples;

#[cfg(test)]
mod tests {
    use super::samples::{Form, Random, Sample, Shuffled};
    use super::*;
    use crate::dense::DenseLu;

    fn solution(solver: &mut dyn LinearSolver, a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
        solver.analyze(a.pattern()).unwrap();
        solver.factor(a).unwrap();
        let mut x = b.to_vec();
        solver.solve(&mut x).unwrap();
        x
    }

    /// The solution that comes with the factors.
    fn on_the_way(solver: &mut BlockLu, a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
        solver.go_forward(a, b, true).unwrap();
        let mut x = b.to_vec();
        solver.go_backward(&mut x);
        x
    }

    fn largest(x: impl Iterator<Item = f64>) -> f64 {
        x.fold(0.0, |m, x| if x.abs() > m { x.abs() } else { m })
    }

    fn assert_close(x: &[f64], y: &[f64], tolerance: f64, what: &str) {
        let difference = largest(x.iter().zip(y).map(|(x, y)| x - y));
        assert!(difference <= tolerance * largest(y.iter().copied()), "{what}: {difference:e}");
    }

    thread_local! {
        /// Whether to do as on a processor without fused multiply-add.
        pub static PLAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    fn check(sample: &Sample, what: &str) {
        for (form, plain) in [(Form::Index3, false), (Form::Ggl, false), (Form::Index3, true), (Form::Ggl, true)] {
            PLAIN.set(plain);
            let mut rng = Random(5);
            let a = sample.matrix(form, 3.0, &mut rng);
            let b: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
            let mut lu = BlockLu::new();
            let x = solution(&mut lu, &a, &b);
            assert_eq!(lu.dropped(), &[] as &[usize], "{what}");
            assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, what);
            assert_eq!(on_the_way(&mut lu, &a, &b), x, "{what}");
            if form == Form::Index3 {
                let mut a = mirrored(a);
                let mut ldl = BlockLu::for_symmetric(a.pattern()).unwrap();
                let x = solution(&mut ldl, &a, &b);
                assert_eq!(ldl.dropped(), &[] as &[usize], "{what}");
                assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, what);
                assert!(ldl.factor_entries() < lu.factor_entries() || a.pattern().blocks() < 3, "{what}");
                assert_eq!(on_the_way(&mut ldl, &a, &b), x, "{what}");
                // with rows of multipliers that are somewhere else
                let [first, end, _] = a.pattern().ends();
                let mut rows = a.values[first..end].to_vec();
                a.values[first..].fill(f64::NAN);
                assert!(a.borrow_last(&mut rows) && rows.is_empty());
                assert_eq!(on_the_way(&mut ldl, &a, &b), x, "{what}");
                a.give_back(&mut rows);
                assert!(!a.has_borrowed() && rows.len() == end - first);
            }
        }
    }

    /// The symmetric matrix with the same lower triangle.
    fn mirrored(mut a: BlockMatrix) -> BlockMatrix {
        let pattern = a.pattern().clone();
        for i in 0..pattern.blocks() {
            for (j, from) in pattern.row(i).filter(|(j, _)| *j <= i) {
                let (m, n) = (pattern.size(i), pattern.size(j));
                let to = pattern.offset(j, i).unwrap() as usize;
                for r in 0..m {
                    for c in 0..if i == j { r } else { n } {
                        a.values[to + c * m + r] = a.values[from + r * n + c];
                    }
                }
            }
        }
        a
    }

    #[test]
    fn trees_chains_and_ladders_agree_with_dense() {
        for seed in 1..6 {
            let mut rng = Random(seed);
            check(&Sample::tree(&mut rng, &[3], 20, 1), "planar chain");
            check(&Sample::tree(&mut rng, &[2, 3, 4, 6], 25, 100), "tree");
            let mut mixed = Sample::tree(&mut rng, &[1, 6, 12], 12, 3);
            mixed.springs = vec![(0, 5), (3, 4), (2, 9), (0, 11)];
            mixed.random_joint(&mut rng, 1, &[1, 7, 10]);
            check(&mixed, "mixed with springs and a joint of three");
            let mut clusters = Sample::tree(&mut rng, &[1, 2, 3], 20, 4);
            clusters.springs = (0..30).map(|_| (rng.below(20), rng.below(20))).filter(|(a, b)| a != b).collect();
            check(&clusters, "small bodies with many springs");
        }
        check(&Sample::ladder(6), "ladder");
        check(&Sample::net(5), "net");
    }

    #[test]
    fn one_large_body_and_joint() {
        for (coordinates, rows) in [(4, 2), (40, 11), (40, 39)] {
            let mut rng = Random(11);
            let mut s = Sample { bodies: vec![coordinates], ..Sample::default() };
            s.random_joint(&mut rng, rows, &[0]);
            check(&s, "hand-written");
        }
    }

    /// Bodies' part of the solution with b = A x, against x; returns how many rows were dropped.
    fn check_redundant(sample: &Sample, form: Form, what: &str) -> usize {
        let mut rng = Random(17);
        let a = sample.matrix(form, 50.0, &mut rng);
        let pattern = a.pattern().clone();
        let x: Vec<f64> = (0..pattern.dimension()).map(|_| rng.number()).collect();
        let mut b = vec![0.0; x.len()];
        a.add_times(&x, &mut b);
        let mut lu = BlockLu::new();
        let y = solution(&mut lu, &a, &b);
        for k in (0..pattern.blocks()).filter(|&k| pattern.class(k) != Class::Multiplier) {
            assert_close(&y[pattern.range(k)], &x[pattern.range(k)], 1e-8, what);
        }
        assert!(lu.smallest_kept_pivot() > 1e-6, "{what}: {:e}", lu.smallest_kept_pivot());
        if form == Form::Index3 {
            let a = mirrored(a);
            b.fill(0.0);
            a.add_times(&x, &mut b);
            let mut ldl = BlockLu::for_symmetric(&pattern).unwrap();
            let y = solution(&mut ldl, &a, &b);
            for k in (0..pattern.blocks()).filter(|&k| pattern.class(k) != Class::Multiplier) {
                assert_close(&y[pattern.range(k)], &x[pattern.range(k)], 1e-8, what);
            }
            assert_eq!(ldl.dropped().len(), lu.dropped().len(), "{what}");
        }
        lu.dropped().len()
    }

    #[test]
    fn redundant_constraints_are_dropped_and_bodies_stay() {
        for seed in 1..8 {
            let mut rng = Random(seed);
            for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
                let mut s = Sample::tree(&mut rng, &[3, 6], 15, 4);
                // the same joint twice, one of them scaled
                let mut twin = s.joints[3].clone();
                twin.on.iter_mut().for_each(|(_, g)| g.iter_mut().for_each(|g| *g *= 1e3));
                let rows = twin.rows;
                s.joints.push(twin);
                assert_eq!(check_redundant(&s, form, "twin"), rows * per_row);
                // a row that follows from two others on other bodies
                let (g, h) = (s.joints[5].clone(), s.joints[7].clone());
                let first_row = |joint: &samples::Joint, factor: f64| {
                    let row = |(b, g): &(usize, Vec<f64>)| {
                        (*b, g[..g.len() / joint.rows].iter().map(|g| factor * g).collect::<Vec<f64>>())
                    };
                    joint.on.iter().map(row).collect::<Vec<_>>()
                };
                let mut on = first_row(&g, 2.0);
                for (b, row) in first_row(&h, -0.7) {
                    match on.iter_mut().find(|(a, _)| *a == b) {
                        Some((_, sum)) => sum.iter_mut().zip(&row).for_each(|(s, r)| *s += r),
                        None => on.push((b, row)),
                    }
                }
                s.joints.push(samples::Joint { rows: 1, on });
                assert_eq!(check_redundant(&s, form, "dependent"), (rows + 1) * per_row);
                // inside one joint, a row twice
                let joint = &mut s.joints[0];
                joint.rows += 1;
                for (_, g) in &mut joint.on {
                    let n = g.len() / (joint.rows - 1);
                    g.extend_from_within(..n);
                }
                assert_eq!(check_redundant(&s, form, "row twice"), (rows + 2) * per_row);
            }
        }
    }

    /// A ladder of planar bodies seen out of plane, (z, φx, φy): rods joined by revolutes about z leave three redundant rows
    /// per square.
    fn out_of_plane(m: usize) -> Sample {
        let planar = Sample::ladder(m);
        let mut s = Sample { bodies: planar.bodies.clone(), ..Sample::default() };
        for joint in &planar.joints {
            let on = joint.on.iter().map(|(b, g)| {
                let (sign, y, x) = (g[0], -g[2] * g[0], g[5] * g[0]);
                (*b, vec![sign, sign * y, -sign * x, 0.0, sign, 0.0, 0.0, 0.0, sign])
            });
            s.joints.push(samples::Joint { rows: 3, on: on.collect() });
        }
        s
    }

    #[test]
    fn closed_loops_of_spatial_revolutes_lose_the_rows_out_of_plane() {
        let m = 20;
        let s = out_of_plane(m);
        for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
            assert_eq!(check_redundant(&s, form, "loops"), 3 * m * per_row);
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bits() {
        let a = Sample::net(8).matrix(Form::Ggl, 7.0, &mut Random(1));
        let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).cos()).collect();
        let x = solution(&mut BlockLu::new(), &a, &b);
        let mut used = BlockLu::new();
        solution(&mut used, &a, &x);
        assert_eq!(x, solution(&mut used, &a, &b));
        assert!(matches!(BlockLu::for_symmetric(a.pattern()), Err(LinearError::OneSided { .. })));
    }

    #[test]
    fn parts_are_eliminated_alike_by_any_number_of_threads() {
        let mut rng = Random(3);
        let chain = Sample::tree(&mut rng, &[3, 6], 700, 1);
        let mut twins = Sample::ladder(160);
        twins.joints.extend_from_within(40..60);
        let tree = Sample::tree(&mut rng, &[3], 900, 100);
        let samples = [(chain, 2), (tree, 2), (Sample::ladder(160), 2), (Sample::net(25), 2), (twins, 1)];
        for (sample, parts) in samples {
            let a = mirrored(sample.matrix(Form::Index3, 3.0, &mut rng));
            let x: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
            let mut b = vec![0.0; x.len()];
            a.add_times(&x, &mut b);
            for analyze in [BlockLu::for_symmetric, BlockLu::for_pattern] {
                let mut lu = analyze(a.pattern()).unwrap();
                assert!(lu.parts() >= parts, "{} bodies", sample.bodies.len());
                let mut by = |threads: usize| {
                    let mut y = b.clone();
                    team::Team::of(threads).lead(|| {
                        lu.factor(&a).unwrap();
                        lu.refactor(&a).unwrap();
                        lu.solve(&mut y).unwrap();
                    });
                    (y, lu.dropped().to_vec(), lu.smallest_kept_pivot())
                };
                let alone = by(1);
                assert!(by(2) == alone && by(3) == alone, "{}", sample.bodies.len());
                let of_bodies = (0..sample.bodies.len()).flat_map(|k| a.pattern().range(k));
                let worst = largest(of_bodies.map(|i| alone.0[i] - x[i]));
                assert!(worst < 1e-7, "{worst:e}");
                assert_eq!(alone.1.len(), if parts == 1 { 40 } else { 0 });
            }
        }
    }

    #[test]
    fn halves_that_are_stiff_are_not_eliminated_apart() {
        for m in [200, 800] {
            let a = mirrored(out_of_plane(m).matrix(Form::Index3, 1.0, &mut Random(2)));
            let mut cut = BlockLu::for_symmetric(a.pattern()).unwrap();
            cut.factor(&a).unwrap();
            assert!(cut.parts() == 2 && cut.meets_poorly());
            let mut solver = crate::solver::choose_symmetric(a.pattern());
            solver.factor(&a).unwrap();
            assert_eq!(solver.dropped().len(), 3 * m);
            assert!(!solver.explain().contains("parts"), "{}", solver.explain());
            assert!(solver.smallest_kept_pivot() > 1e-4, "{m}: {:e}", solver.smallest_kept_pivot());
        }
    }

    #[test]
    fn equal_patterns_are_analyzed_once() {
        let matrix = |bodies| mirrored(Sample::ladder(bodies).matrix(Form::Index3, 1.0, &mut Random(7)));
        let [a, twin, other] = [5, 5, 6].map(matrix);
        let [first, second, third] = [&a, &twin, &other].map(|a| BlockLu::for_symmetric(a.pattern()).unwrap());
        assert!(Arc::ptr_eq(&first.analysis, &second.analysis) && !Arc::ptr_eq(&first.analysis, &third.analysis));
        let general = BlockLu::for_pattern(a.pattern()).unwrap();
        assert!(!Arc::ptr_eq(&first.analysis, &general.analysis));
        // one that nobody uses is gone
        let of_nobody = Arc::downgrade(&third.analysis);
        drop(third);
        assert!(of_nobody.upgrade().is_none());
    }

    #[test]
    fn what_cannot_be_solved_is_named() {
        let s = Sample::ladder(3);
        let mut a = s.matrix(Form::Index3, 1.0, &mut Random(1));
        let mut lu = BlockLu::for_pattern(a.pattern()).unwrap();
        let good = a.clone();
        if let Some(d) = a.block_mut(4, 4) {
            d[3..6].fill(0.0);
        }
        assert_eq!(lu.factor(&a), Err(LinearError::Singular { row: 13 }));
        if let Some(d) = a.block_mut(4, 4) {
            d[8] = f64::NAN;
        }
        assert_eq!(lu.factor(&a), Err(LinearError::NotFinite { row: 14 }));
        assert_eq!(lu.factor(&good), Ok(()));
        assert_eq!(lu.solve(&mut [0.0]), Err(LinearError::Sizes { expected: 56, found: 1 }));
        let empty = BlockMatrix::new(Arc::new(BlockPattern::new(vec![], vec![], vec![])));
        assert_eq!(solution(&mut lu, &empty, &[]), []);
    }

    #[test]
    fn blocks_may_be_numbered_in_any_way() {
        for seed in 1..5 {
            let mut rng = Random(seed);
            let mut s = Sample::tree(&mut rng, &[2, 3, 6], 30, 6);
            s.random_joint(&mut rng, 1, &[3, 20]);
            let a = s.matrix(Form::Ggl, 20.0, &mut rng).shuffled(&mut rng);
            let b: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
            let x = solution(&mut BlockLu::new(), &a, &b);
            assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, "shuffled");
        }
    }

    #[test]
    fn empty_blocks_lone_multipliers_and_one_sided_entries() {
        use Class::*;
        let classes = vec![Body, Body, Velocity, Multiplier, Multiplier, Body, Multiplier];
        #[rustfmt::skip]
        let entries = vec![(0, 0), (2, 2), (0, 2), (5, 5), (5, 0), (6, 5), (5, 6), (1, 1), (1, 0), (4, 0), (3, 3), (0, 4)];
        let pattern = Arc::new(BlockPattern::new(vec![2, 0, 3, 1, 0, 2, 1], classes, entries));
        let mut a = BlockMatrix::new(pattern.clone());
        let mut rng = Random(5);
        a.values.iter_mut().for_each(|v| *v = rng.number());
        a.block_mut(3, 3).unwrap()[0] = 0.0;
        let lone = pattern.range(3).start;
        let mut x: Vec<f64> = (0..pattern.dimension()).map(|_| rng.number()).collect();
        x[lone] = 0.0;
        let mut b = vec![0.0; x.len()];
        a.add_times(&x, &mut b);
        let mut lu = BlockLu::new();
        assert_close(&solution(&mut lu, &a, &b), &x, 1e-12, "odd pattern");
        assert_eq!(lu.dropped(), [lone]);
    }
}
