//! A node of a general matrix: elimination to L D⁻¹ U, and the backward solution.

use super::node_work::NodeWork;
use crate::{
    linear::{
        blocks::Class,
        interface::LinearError,
        kernels::{rows, scaled, spread, subtract_products, tile_rows},
        lanes::{Instructions, Lanes},
        plan::{ElimNode, LeafSource, take},
        unchecked::{at, at_mut},
    },
    numbers::dot,
};

/// Borders of `WIDE` to `GATHERED` rows are gathered before they are multiplied, four numbers at a time.
const WIDE: usize = 8;
const GATHERED: usize = 64;

impl NodeWork<'_> {
    apart! {
        /// Eliminates a node of P pivots straight from the matrix.
        ///
        /// # Safety
        /// The node has P pivots, `sources` are its own, and `a` has all values of the matrix.
        fn eliminate_leaf<const P: usize>(a: &[f64], sources: &[LeafSource]) -> Result<(), LinearError> = leaf
    }

    apart! {
        /// Eliminates a node of P pivots.
        ///
        /// # Safety
        /// The node has P pivots.
        fn eliminate_small<const P: usize>() -> Result<(), LinearError> = small
    }

    apart! {
        /// Eliminates any node.
        ///
        /// # Safety
        /// The blocks are those of the node.
        fn eliminate(blocks: &[(u32, Class)], strip: &mut [f64]) -> Result<(), LinearError> = any
    }

    apart! {
        /// Subtracts L (D⁻¹ U) from the panels of the border: for leaves and other nodes alike.
        ///
        /// # Safety
        /// The node has P pivots.
        fn spread<const P: usize>() = spread_runs
    }

    /// # Safety
    /// As for `eliminate_leaf`.
    #[inline(always)]
    unsafe fn leaf<M: Instructions, const P: usize>(
        &mut self,
        a: &[f64],
        sources: &[LeafSource],
    ) -> Result<(), LinearError> {
        let Some((own, sources)) = sources.split_first() else { return Ok(()) };
        // SAFETY: by the contract.
        let d: [[f64; P]; P] = unsafe { rows(a, own.upper as usize, P) };
        let mut magnitude = [0.0; P];
        for r in 0..P {
            magnitude[r] = d[r][r].abs();
        }
        let inverse = self.pivots.inverse::<M, P, P>(&d, &magnitude, self.node.class)?;
        let width = P + self.node.m as usize;
        for i in 0..P {
            // SAFETY: the panel has P rows of this width.
            *unsafe { at_mut(self.panel, i * width) } = inverse[i];
        }
        let mut done = 0;
        for source in sources {
            let (upper, lower) = (source.upper as usize, source.lower as usize);
            // SAFETY: by the contract; the positions of a block in the border are adjacent.
            with_size!(source.size, 1 2 3 4 5; 6, C => unsafe {
                let u = scaled::<M, P, C>(&inverse, a, upper, C);
                let mut l = [M::Lanes::<P>::zero(); C];
                for c in 0..C {
                    l[c] = Lanes::load(a, lower + c * P);
                    l[c].store(self.panel, P * (width + done + c));
                }
                let l = M::transposed(&l);
                let first = self.border[done] as usize;
                let mut magnitude = M::Lanes::<C>::load(self.magnitude, first);
                for r in 0..P {
                    u[r].store(self.panel, r * width + P + done);
                    magnitude = magnitude.plus_magnitudes(l[r], u[r]);
                }
                magnitude.store(self.magnitude, first);
                done += C;
            });
        }
        // SAFETY: by the contract.
        unsafe { self.spread::<M, P>() };
        Ok(())
    }

    /// # Safety
    /// As for `eliminate_small`.
    #[inline(always)]
    unsafe fn small<M: Instructions, const P: usize>(&mut self) -> Result<(), LinearError> {
        let width = P + self.node.m as usize;
        // SAFETY: the panel has P rows of this width.
        let d: [[f64; P]; P] = unsafe { rows(self.panel, 0, width) };
        // SAFETY: the P pivots have magnitudes.
        let magnitude = *unsafe { at::<P>(self.magnitude, self.pivots.first) };
        let inverse = self.pivots.inverse::<M, P, P>(&d, &magnitude, self.node.class)?;
        for i in 0..P {
            // SAFETY: the panel has P rows of this width.
            *unsafe { at_mut(self.panel, i * width) } = inverse[i];
        }
        let mut column = P;
        while column < width {
            let columns = (width - column).min(4);
            // SAFETY: C columns are left of rows of this width.
            with_size!(columns, 1 2 3; 4, C => unsafe {
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
        // SAFETY: by the contract.
        unsafe { self.spread::<M, P>() };
        Ok(())
    }

    /// # Safety
    /// As for `spread`.
    #[inline(always)]
    unsafe fn spread_runs<M: Instructions, const P: usize>(&mut self) {
        let width = P + self.node.m as usize;
        let mut targets = self.targets;
        let mut column = P;
        for &run in self.runs {
            let targets = take(&mut targets, self.node.m as usize);
            // SAFETY: the plan has checked the runs and their targets.
            with_size!(run, 1 2 3 4 5 6 7; 8, B => unsafe {
                spread::<M, P, B>(self.panel, column, width, targets, self.later)
            });
            column += run as usize;
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

    /// # Safety
    /// As for `eliminate`.
    #[inline(always)]
    unsafe fn any<M: Instructions>(&mut self, blocks: &[(u32, Class)], strip: &mut [f64]) -> Result<(), LinearError> {
        let (p, m) = (self.node.p as usize, self.node.m as usize);
        let width = p + m;
        let mut k = 0;
        for &(n, class) in blocks {
            self.eliminate_block::<M>(k, n as usize, class, strip)?;
            k += n as usize;
        }
        if blocks.iter().any(|block| block.1 != Class::Multiplier) {
            self.add_magnitudes();
        }
        let (upper, lower) = self.panel.split_at(p * width);
        let mut targets = self.targets;
        let mut column = p;
        for &run in self.runs {
            let targets = take(&mut targets, m);
            // SAFETY: the plan has checked the runs and their targets.
            with_size!(run, 1 2 3 4 5 6 7; 8, B => unsafe {
                tile_rows::<M, B>(lower, &upper[column..], p, width, targets, self.later)
            });
            column += run as usize;
        }
        Ok(())
    }

    /// Eliminates the diagonal block of n pivots from pivot k on, within the panel.
    #[inline(always)]
    fn eliminate_block<M: Instructions>(
        &mut self,
        k: usize,
        n: usize,
        class: Class,
        strip: &mut [f64],
    ) -> Result<(), LinearError> {
        let (p, m) = (self.node.p as usize, self.node.m as usize);
        let (first, width, end) = (self.pivots.first, p + m, k + n);
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

        // the remaining pivots of the node
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
        Ok(())
    }
}

/// x −= D⁻¹U x at the P pivots of a node, from `first` on, with x at its border.
///
/// # Safety
/// `panel` is that of a node of P pivots with this border in a checked plan, and x has the dimension of that plan.
#[inline(always)]
pub unsafe fn backward_small<M: Instructions, const P: usize>(
    panel: &[f64],
    border: &[u32],
    first: usize,
    x: &mut [f64],
) {
    let width = P + border.len();
    // SAFETY: by the contract.
    let mut own = *unsafe { at::<P>(x, first) };
    if (WIDE..=GATHERED).contains(&border.len()) {
        let mut gathered = [0.0; GATHERED];
        for (g, &from) in gathered.iter_mut().zip(border) {
            // SAFETY: by the contract.
            *g = unsafe { at::<1>(x, from as usize)[0] };
        }
        for r in 0..P {
            let mut sum = [0.0; 4];
            let row = &panel[r * width + P..r * width + width];
            let mut rows = row.chunks_exact(4);
            let mut i = 0;
            for u in &mut rows {
                // SAFETY: a row is as long as the border, `GATHERED` at most.
                let g = unsafe { at::<4>(&gathered, i) };
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
    } else {
        for (i, &from) in border.iter().enumerate() {
            // SAFETY: by the contract.
            let x = unsafe { at::<1>(x, from as usize)[0] };
            for r in 0..P {
                // SAFETY: by the contract.
                own[r] = M::fma(-unsafe { at::<1>(panel, r * width + P + i)[0] }, x, own[r]);
            }
        }
    }
    // SAFETY: by the contract.
    *unsafe { at_mut(x, first) } = own;
}

/// `backward_small` for any node.
pub fn backward(
    node: &ElimNode,
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
