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

use crate::{
    blocks::{BlockMatrix, BlockPattern, Class},
    kernels::{Pivot, SAFE, at, at_mut, copy, fma, invert, scaled, spread, spread_wide, subtract_rows},
    plan::{Kernel, Opening, Plan},
    solver::{LinearError, LinearSolver},
};
use std::sync::Arc;

/// Block LU with a static order and pivoting inside the diagonal blocks only.
///
/// Results differ in the last bits between processors with and without fused multiply-add.
#[derive(Default)]
pub struct BlockLu {
    plan: Plan,
    values: Vec<f64>,
    /// Σ |contributions| to every diagonal entry from bodies and velocities, in elimination order.
    magnitude: Vec<f64>,
    x: Vec<f64>,
    strip: Vec<f64>,
    pivot: Pivot,
    dropped: Vec<usize>,
    /// The largest magnitude over pivot.
    growth: f64,
}

/// Calls a kernel with the constant that equals a number, the last one for all others.
macro_rules! with_size {
    ($size:expr, $($n:literal)* ; $last:literal, $constant:ident => $call:expr) => {
        match $size {
            $($n => { const $constant: usize = $n; $call })*
            _ => { const $constant: usize = $last; $call }
        }
    };
}

impl BlockLu {
    /// A solver that has seen no pattern yet.
    pub fn new() -> BlockLu {
        BlockLu::default()
    }

    /// A solver for matrices of this pattern, analyzed.
    pub fn for_pattern(pattern: &BlockPattern) -> Result<BlockLu, LinearError> {
        let plan = Plan::new(pattern)?;
        let multipliers = (0..pattern.blocks()).filter(|&b| pattern.class(b) == Class::Multiplier);
        let mut pivot = Pivot::default();
        pivot.resize(plan.largest);
        Ok(BlockLu {
            values: vec![0.0; plan.length],
            magnitude: vec![0.0; plan.dimension],
            x: vec![0.0; plan.dimension],
            strip: vec![0.0; plan.widest * plan.largest],
            pivot,
            dropped: Vec::with_capacity(multipliers.map(|b| pattern.size(b)).sum()),
            growth: 0.0,
            plan,
        })
    }

    /// The number of scalars stored in the factors.
    pub fn factor_entries(&self) -> usize {
        self.plan.length
    }

    #[inline(always)]
    fn factor_nodes<const F: bool>(&mut self, a: &[f64]) -> Result<(), LinearError> {
        self.dropped.clear();
        self.growth = 0.0;
        let mut opened = 0;
        for s in 0..self.plan.nodes.len().saturating_sub(1) {
            if opened < self.plan.nodes[s].opened as usize {
                self.open(a, &mut opened, s);
            }
            match self.plan.nodes[s].kernel {
                Kernel::Leaf(p) => with_size!(p, 1 2 3 4 5; 6, P => self.eliminate_leaf::<F, P>(s, a)?),
                Kernel::Small(p) => with_size!(p, 1 2 3 4 5; 6, P => self.eliminate_small::<F, P>(s)?),
                Kernel::General => self.eliminate::<F>(s)?,
            }
        }
        self.dropped.sort_unstable();
        Ok(())
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn factor_nodes_fused(&mut self, a: &[f64]) -> Result<(), LinearError> {
        self.factor_nodes::<true>(a)
    }

    /// Copies the matrix into the panels that are used up to node `s`.
    #[inline(always)]
    fn open(&mut self, a: &[f64], opened: &mut usize, s: usize) {
        let plan = &self.plan;
        while *opened < plan.nodes[s].opened as usize {
            let copies = if *opened == 0 { 0 } else { plan.openings[*opened - 1].copies };
            let Opening { node: t, copies: end } = plan.openings[*opened];
            *opened += 1;
            let (node, next) = (plan.nodes[t as usize], plan.nodes[t as usize + 1]);
            let values = &mut self.values;
            values[node.panel as usize..next.panel as usize].fill(0.0);
            for block in &plan.copies[copies as usize..end as usize] {
                let columns = block.columns as usize;
                if columns <= 6 {
                    with_size!(columns, 1 2 3 4 5; 6, C => copy::<C>(block, a, values));
                    continue;
                }
                for r in 0..block.rows as usize {
                    let (from, to) = (block.from as usize + r * columns, block.to as usize + r * block.stride as usize);
                    values[to..to + columns].copy_from_slice(&a[from..from + columns]);
                }
            }
            let (first, width) = (node.first as usize, (node.p + node.m) as usize);
            for r in 0..node.p as usize {
                let diagonal = at::<1>(values, node.panel as usize + r * (width + 1))[0];
                at_mut::<1>(&mut self.magnitude, first + r)[0] = diagonal.abs();
            }
        }
    }

    /// D⁻¹ for the block of P rows `stride` apart, at elimination position `first`.
    #[inline(always)]
    fn inverse_of<const F: bool, const P: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
        s: usize,
    ) -> Result<[[f64; P]; P], LinearError> {
        let (inverse, growth) = invert::<F, P>(d, magnitude);
        if growth <= 1.0 / SAFE {
            self.growth = if growth > self.growth { growth } else { self.growth };
            return Ok(inverse);
        }
        let node = self.plan.nodes[s];
        let class = self.plan.blocks[node.block as usize].1;
        self.search_pivots(node.first as usize, d.as_flattened(), P, P, magnitude, class)?;
        Ok(std::array::from_fn(|i| *at(&self.pivot.inverse, i * P)))
    }

    /// Inverts a block into `pivot.inverse` with a search for pivots, and notes what was dropped.
    #[cold]
    fn search_pivots(
        &mut self,
        first: usize,
        d: &[f64],
        stride: usize,
        n: usize,
        magnitude: &[f64],
        class: Class,
    ) -> Result<(), LinearError> {
        let growth = self.pivot.search(&self.plan, first, d, stride, n, magnitude, class)?;
        self.growth = self.growth.max(growth);
        self.note_dropped(first, n);
        Ok(())
    }

    fn note_dropped(&mut self, first: usize, n: usize) {
        let unused = self.pivot.row_used[..n].iter().enumerate().filter(|(_, used)| !**used);
        self.dropped.extend(unused.map(|(r, _)| self.plan.scalar[first + r] as usize));
    }

    /// Eliminates a node of P pivots straight from the matrix.
    #[inline(always)]
    fn eliminate_leaf<const F: bool, const P: usize>(&mut self, s: usize, a: &[f64]) -> Result<(), LinearError> {
        let (node, next) = (self.plan.nodes[s], self.plan.nodes[s + 1]);
        let source = self.plan.sources[node.source as usize];
        let d: [[f64; P]; P] = std::array::from_fn(|r| *at(a, source.upper as usize + r * P));
        let inverse = self.inverse_of::<F, P>(&d, &std::array::from_fn(|r| d[r][r].abs()), s)?;

        let plan = &self.plan;
        let width = P + node.m as usize;
        let panel = &mut self.values[node.panel as usize..next.panel as usize];
        for i in 0..P {
            *at_mut(panel, i * width) = inverse[i];
        }
        let adds = plan.blocks[node.block as usize].1 != Class::Multiplier;
        let mut border = node.border as usize;
        let (mut column, mut row) = (P, P * width);
        for source in &plan.sources[node.source as usize + 1..next.source as usize] {
            let (upper, lower, size) = (source.upper as usize, source.lower as usize, source.size as usize);
            let mut done = 0;
            // in pieces of six columns and less
            while done < size {
                let columns = (size - done).min(6);
                with_size!(columns, 1 2 3 4 5; 6, C => {
                    let u = scaled::<F, P, C>(&inverse, &a[upper + done..], size);
                    for r in 0..P {
                        *at_mut(panel, r * width + column) = u[r];
                    }
                    for c in 0..C {
                        let l = *at::<P>(a, lower + (done + c) * P);
                        *at_mut(panel, row + c * P) = l;
                        if adds {
                            let mut sum = 0.0;
                            for r in 0..P {
                                sum += (l[r] * u[r][c]).abs();
                            }
                            let to = plan.border[border + c] as usize;
                            at_mut::<1>(&mut self.magnitude, to)[0] += sum;
                        }
                    }
                });
                done += columns;
                column += columns;
                row += columns * P;
                border += columns;
            }
        }
        self.spread_small::<F, P>(s);
        Ok(())
    }

    /// Eliminates a node of P pivots.
    #[inline(always)]
    fn eliminate_small<const F: bool, const P: usize>(&mut self, s: usize) -> Result<(), LinearError> {
        let (node, next) = (self.plan.nodes[s], self.plan.nodes[s + 1]);
        let width = P + node.m as usize;
        let panel = &self.values[node.panel as usize..next.panel as usize];
        let d: [[f64; P]; P] = std::array::from_fn(|r| *at(panel, r * width));
        let magnitude = *at(&self.magnitude, node.first as usize);
        let inverse = self.inverse_of::<F, P>(&d, &magnitude, s)?;

        let panel = &mut self.values[node.panel as usize..next.panel as usize];
        for i in 0..P {
            *at_mut(panel, i * width) = inverse[i];
        }
        let mut column = P;
        while column < width {
            let columns = (width - column).min(4);
            with_size!(columns, 1 2 3; 4, C => {
                let u = scaled::<F, P, C>(&inverse, &panel[column..], width);
                for r in 0..P {
                    *at_mut(panel, r * width + column) = u[r];
                }
            });
            column += columns;
        }
        if self.plan.blocks[node.block as usize].1 != Class::Multiplier {
            self.add_magnitudes(s);
        }
        self.spread_small::<F, P>(s);
        Ok(())
    }

    /// Subtracts L (D⁻¹ U) of node `s` from the panels of its border.
    #[inline(always)]
    fn spread_small<const F: bool, const P: usize>(&mut self, s: usize) {
        let plan = &self.plan;
        let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
        let (m, width) = (node.m as usize, (node.p + node.m) as usize);
        let (own, later) = self.values.split_at_mut(next.panel as usize); // the border lies in later panels
        let (upper, lower) = own[node.panel as usize..].split_at(P * width);
        let pieces = &plan.pieces[node.piece as usize..next.piece as usize];
        let targets = &plan.targets[node.target as usize..next.target as usize];
        let mut column = P;
        for (k, &piece) in pieces.iter().enumerate() {
            let targets = &targets[k * m..(k + 1) * m];
            let u = &upper[column..];
            with_size!(piece, 1 2 3 4 5 6 7; 8, B => spread::<F, P, B>(lower, u, width, targets, later));
            column += piece as usize;
        }
    }

    /// Adds the magnitudes of what node `s` will subtract from the diagonal.
    fn add_magnitudes(&mut self, s: usize) {
        let plan = &self.plan;
        let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
        let (p, width) = (node.p as usize, (node.p + node.m) as usize);
        let (upper, lower) = self.values[node.panel as usize..next.panel as usize].split_at(p * width);
        let border = &plan.border[node.border as usize..next.border as usize];
        for (i, (l, &to)) in lower.chunks_exact(p.max(1)).zip(border).enumerate() {
            let sum: f64 = l.iter().enumerate().map(|(r, l)| (l * upper[r * width + p + i]).abs()).sum();
            self.magnitude[to as usize] += sum;
        }
    }

    /// Eliminates any node.
    #[inline(always)]
    fn eliminate<const F: bool>(&mut self, s: usize) -> Result<(), LinearError> {
        let (node, next) = (self.plan.nodes[s], self.plan.nodes[s + 1]);
        let (first, p, m) = (node.first as usize, node.p as usize, node.m as usize);
        let width = p + m;
        let mut adds = false;
        for b in node.block as usize..next.block as usize {
            let plan = &self.plan;
            let (k, class) = (plan.blocks[b].0 as usize, plan.blocks[b].1);
            let end = if b + 1 < next.block as usize { plan.blocks[b + 1].0 as usize } else { p };
            let n = end - k;
            adds |= class != Class::Multiplier;
            let d = &self.values[node.panel as usize + k * (width + 1)..];
            let magnitude = &self.magnitude[first + k..first + end];
            let growth = self.pivot.invert(plan, first + k, d, width, n, magnitude, class)?;
            self.growth = self.growth.max(growth);
            self.note_dropped(first + k, n);
            let inverse = &self.pivot.inverse[..n * n];

            // U ← D⁻¹ U
            let panel = &mut self.values[node.panel as usize..next.panel as usize];
            let (upper, lower) = panel.split_at_mut(p * width);
            let tail = width - end;
            let old = &mut self.strip[..n * tail];
            for r in 0..n {
                let row = (k + r) * width;
                old[r * tail..(r + 1) * tail].copy_from_slice(&upper[row + end..row + width]);
                upper[row + k..row + end].copy_from_slice(&inverse[r * n..(r + 1) * n]);
            }
            for r in 0..n {
                let row = &mut upper[(k + r) * width + end..(k + r + 1) * width];
                row.fill(0.0);
                for c in 0..n {
                    subtract_rows::<F, 1>(row, &[-inverse[r * n + c]], &old[c * tail..], tail);
                }
            }

            // The rest of the node's pivots.
            let (done, rest) = upper.split_at_mut(end * width);
            let done = &done[k * width..];
            for (r, row) in rest.chunks_exact_mut(width.max(1)).enumerate() {
                let before = row[end + r];
                let (factors, row) = row[k..].split_at_mut(n);
                subtract_products::<F>(row, factors, &done[end..], width);
                self.magnitude[first + end + r] += (row[r] - before).abs();
            }
            if end < p {
                for row in lower.chunks_exact_mut(p) {
                    let (factors, row) = row[k..].split_at_mut(n);
                    subtract_products::<F>(row, factors, &done[end..], width);
                }
            }
        }
        if adds {
            self.add_magnitudes(s);
        }

        let plan = &self.plan;
        let (own, later) = self.values.split_at_mut(next.panel as usize);
        let (upper, lower) = own[node.panel as usize..].split_at(p * width);
        let pieces = &plan.pieces[node.piece as usize..next.piece as usize];
        let targets = &plan.targets[node.target as usize..next.target as usize];
        let mut column = p;
        for (k, &piece) in pieces.iter().enumerate() {
            let targets = &targets[k * m..(k + 1) * m];
            let u = &upper[column..];
            with_size!(piece, 1 2 3 4 5 6 7; 8, B => spread_wide::<F, B>(lower, u, p, width, targets, later));
            column += piece as usize;
        }
        Ok(())
    }

    #[inline(always)]
    fn solve_nodes<const F: bool>(&mut self, b: &mut [f64]) {
        let plan = &self.plan;
        let x = &mut self.x;
        for (x, &i) in x.iter_mut().zip(&plan.scalar) {
            *x = b[i as usize];
        }
        for (s, pair) in plan.nodes.windows(2).enumerate() {
            let values = &self.values[pair[0].panel as usize..pair[1].panel as usize];
            match pair[0].kernel {
                Kernel::Leaf(p) | Kernel::Small(p) => {
                    with_size!(p, 1 2 3 4 5; 6, P => forward_small::<F, P>(plan, s, values, x));
                }
                Kernel::General => forward(plan, s, values, x, &mut self.strip),
            }
        }
        for (s, pair) in plan.nodes.windows(2).enumerate().rev() {
            let values = &self.values[pair[0].panel as usize..pair[1].panel as usize];
            match pair[0].kernel {
                Kernel::Leaf(p) | Kernel::Small(p) => {
                    with_size!(p, 1 2 3 4 5; 6, P => backward_small::<F, P>(plan, s, values, x));
                }
                Kernel::General => backward(plan, s, values, x, &mut self.strip),
            }
        }
        for (x, &i) in x.iter().zip(&plan.scalar) {
            b[i as usize] = *x;
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn solve_nodes_fused(&mut self, b: &mut [f64]) {
        self.solve_nodes::<true>(b);
    }
}

/// x −= factors · rows, for any number of rows.
#[inline(always)]
fn subtract_products<const F: bool>(x: &mut [f64], factors: &[f64], rows: &[f64], stride: usize) {
    for (k, factors) in factors.chunks(6).enumerate() {
        let rows = &rows[k * 6 * stride..];
        with_size!(factors.len(), 1 2 3 4 5; 6, N => subtract_rows::<F, N>(x, at(factors, 0), rows, stride));
    }
}

/// Whether the processor multiplies and adds in one rounding, fast.
#[cfg(target_arch = "x86_64")]
fn fused() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

impl LinearSolver for BlockLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = BlockLu::for_pattern(pattern)?;
        Ok(())
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        if a.values.len() != self.plan.entries {
            return Err(LinearError::Sizes { expected: self.plan.entries, found: a.values.len() });
        }
        #[cfg(target_arch = "x86_64")]
        if fused() {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.factor_nodes_fused(&a.values) };
        }
        self.factor_nodes::<{ cfg!(target_arch = "aarch64") }>(&a.values)
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        if b.len() != self.plan.dimension {
            return Err(LinearError::Sizes { expected: self.plan.dimension, found: b.len() });
        }
        #[cfg(target_arch = "x86_64")]
        if fused() {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { self.solve_nodes_fused(b) };
            return Ok(());
        }
        self.solve_nodes::<{ cfg!(target_arch = "aarch64") }>(b);
        Ok(())
    }

    fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.growth.recip()
    }

    fn name(&self) -> &'static str {
        "block LU"
    }
}

/// x ← D⁻¹ x at the pivots of a node, then x −= L x at its border.
#[inline(always)]
fn forward_small<const F: bool, const P: usize>(plan: &Plan, s: usize, values: &[f64], x: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, width) = (node.first as usize, P + node.m as usize);
    let old = *at::<P>(x, first);
    let mut own = [0.0; P];
    for r in 0..P {
        let inverse = at::<P>(values, r * width);
        for c in 0..P {
            own[r] = fma::<F>(inverse[c], old[c], own[r]);
        }
    }
    *at_mut(x, first) = own;
    let border = &plan.border[node.border as usize..next.border as usize];
    for (i, &to) in border.iter().enumerate() {
        let l = at::<P>(values, P * width + i * P);
        let mut sum = 0.0;
        for r in 0..P {
            sum = fma::<F>(l[r], own[r], sum);
        }
        at_mut::<1>(x, to as usize)[0] -= sum;
    }
}

/// x −= D⁻¹U x at the pivots of a node, from those of its border.
#[inline(always)]
fn backward_small<const F: bool, const P: usize>(plan: &Plan, s: usize, values: &[f64], x: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, width) = (node.first as usize, P + node.m as usize);
    let mut own = *at::<P>(x, first);
    let border = &plan.border[node.border as usize..next.border as usize];
    for (i, &from) in border.iter().enumerate() {
        let x = at::<1>(x, from as usize)[0];
        for r in 0..P {
            own[r] = fma::<F>(-at::<1>(values, r * width + P + i)[0], x, own[r]);
        }
    }
    *at_mut(x, first) = own;
}

/// `forward_small` for any node.
fn forward(plan: &Plan, s: usize, values: &[f64], x: &mut [f64], strip: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, p, width) = (node.first as usize, node.p as usize, (node.p + node.m) as usize);
    let (upper, lower) = values.split_at(p * width);
    let (own, later) = x[first..].split_at_mut(p);
    let blocks = &plan.blocks[node.block as usize..next.block as usize];
    for (b, &(k, _)) in blocks.iter().enumerate() {
        let k = k as usize;
        let end = blocks.get(b + 1).map_or(p, |next| next.0 as usize);
        for r in k..end {
            strip[r - k] = dot(&upper[r * width + k..r * width + end], &own[k..end]);
        }
        own[k..end].copy_from_slice(&strip[..end - k]);
        for r in end..p {
            own[r] -= dot(&upper[r * width + k..r * width + end], &own[k..end]);
        }
    }
    let border = &plan.border[node.border as usize..next.border as usize];
    for (l, &i) in lower.chunks_exact(p.max(1)).zip(border) {
        later[i as usize - first - p] -= dot(l, own);
    }
}

/// `backward_small` for any node.
fn backward(plan: &Plan, s: usize, values: &[f64], x: &mut [f64], strip: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, p, width) = (node.first as usize, node.p as usize, (node.p + node.m) as usize);
    let border = &plan.border[node.border as usize..next.border as usize];
    for (x_border, &i) in strip.iter_mut().zip(border) {
        *x_border = x[i as usize];
    }
    let own = &mut x[first..first + p];
    let blocks = &plan.blocks[node.block as usize..next.block as usize];
    let mut end = p;
    for &(k, _) in blocks.iter().rev() {
        let k = k as usize;
        for r in k..end {
            let row = &values[r * width..(r + 1) * width];
            own[r] -= dot(&row[end..p], &own[end..]) + dot(&row[p..], &strip[..border.len()]);
        }
        end = k;
    }
}

#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
pub(crate) mod samples;

#[cfg(test)]
mod tests {
    use super::samples::{Form, Random, Sample};
    use super::*;
    use crate::{dense::DenseLu, ordering::fill};

    fn solution(solver: &mut dyn LinearSolver, a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
        solver.analyze(a.pattern()).unwrap();
        solver.factor(a).unwrap();
        let mut x = b.to_vec();
        solver.solve(&mut x).unwrap();
        x
    }

    fn largest(x: impl Iterator<Item = f64>) -> f64 {
        x.fold(0.0, |m, x| if x.abs() > m { x.abs() } else { m })
    }

    fn assert_close(x: &[f64], y: &[f64], tolerance: f64, what: &str) {
        let difference = largest(x.iter().zip(y).map(|(x, y)| x - y));
        assert!(difference <= tolerance * largest(y.iter().copied()), "{what}: {difference:e}");
    }

    fn check(sample: &Sample, what: &str) {
        for form in [Form::Index3, Form::Ggl] {
            let mut rng = Random(5);
            let a = sample.matrix(form, 3.0, &mut rng);
            let b: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
            let mut lu = BlockLu::new();
            let x = solution(&mut lu, &a, &b);
            assert_eq!(lu.dropped(), &[] as &[usize], "{what}");
            assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, what);
        }
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

    #[test]
    fn closed_loops_of_spatial_revolutes_lose_the_rows_out_of_plane() {
        // A ladder of planar bodies seen out of plane, (z, φx, φy): rods joined by revolutes about z
        // leave three redundant rows per square.
        let m = 20;
        let planar = Sample::ladder(m);
        let mut s = Sample { bodies: planar.bodies.clone(), ..Sample::default() };
        for joint in &planar.joints {
            let on = joint.on.iter().map(|(b, g)| {
                let (sign, y, x) = (g[0], -g[2] * g[0], g[5] * g[0]);
                (*b, vec![sign, sign * y, -sign * x, 0.0, sign, 0.0, 0.0, 0.0, sign])
            });
            s.joints.push(samples::Joint { rows: 3, on: on.collect() });
        }
        for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
            assert_eq!(check_redundant(&s, form, "loops"), 3 * m * per_row);
        }
    }

    #[test]
    fn fill_grows_linearly() {
        let mut rng = Random(23);
        let entries = |s: &Sample, form| fill(s.matrix(form, 1.0, &mut Random(1)).pattern()).unwrap() as f64;
        for form in [Form::Index3, Form::Ggl] {
            for (what, make) in [
                ("chain", Box::new(|n| Sample::tree(&mut rng, &[3], n, 1)) as Box<dyn FnMut(usize) -> Sample>),
                ("tree", Box::new(|n| Sample::tree(&mut Random(2), &[3], n, n / 4))),
                ("ladder", Box::new(|n| Sample::ladder(n / 3))),
            ]
            .iter_mut()
            {
                let (few, many) = (entries(&make(100), form), entries(&make(20_000), form));
                let exponent = (many / few).ln() / 200f64.ln();
                assert!(exponent <= 1.05, "{what}: {few} to {many}, exponent {exponent}");
            }
        }
        assert!(entries(&Sample::ladder(333), Form::Index3) <= 71.0 * 1000.0);
    }

    #[test]
    fn a_shuffled_ladder_fills_no_more() {
        let mut s = Sample::ladder(300);
        let straight = fill(s.matrix(Form::Index3, 1.0, &mut Random(1)).pattern()).unwrap();
        let mut rng = Random(4);
        for i in (1..s.joints.len()).rev() {
            s.joints.swap(i, rng.below(i + 1));
        }
        let mut names: Vec<usize> = (0..s.bodies.len()).collect();
        for i in (1..names.len()).rev() {
            names.swap(i, rng.below(i + 1));
        }
        s.joints.iter_mut().flat_map(|j| &mut j.on).for_each(|(b, _)| *b = names[*b]);
        let shuffled = fill(s.matrix(Form::Index3, 1.0, &mut Random(1)).pattern()).unwrap();
        assert!(shuffled as f64 <= 1.1 * straight as f64, "{straight} to {shuffled}");
    }

    #[test]
    fn the_same_input_gives_the_same_bits() {
        let a = Sample::net(8).matrix(Form::Ggl, 7.0, &mut Random(1));
        let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).cos()).collect();
        let x = solution(&mut BlockLu::new(), &a, &b);
        let mut used = BlockLu::new();
        solution(&mut used, &a, &x);
        assert_eq!(x, solution(&mut used, &a, &b));
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
}
