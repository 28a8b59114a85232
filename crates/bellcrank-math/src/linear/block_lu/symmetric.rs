//! A node of a symmetric matrix: elimination to L D⁻¹ Lᵀ, with half the work and memory of L D⁻¹ U, and the backward
//! solution.
//!
//! A node keeps its pivots and the rows below them in one panel, p numbers wide,
//!
//! ```text
//!     ┌─────────┐
//!     │ D  p×p  │   its diagonal blocks inverted, from their lower triangles
//!     ├─────────┤
//!     │ L  m×p  │   not scaled: D⁻¹Lᵀ is formed where it is needed
//!     └─────────┘
//! ```
//!
//! and subtracts the lower triangle of L D⁻¹ Lᵀ from the panels of its border [Golub & Van Loan 2013, 4.1].
//! Entries above the diagonal of the matrix are never read, except in the diagonal blocks of leaves, of which the symmetric
//! part is taken.

use super::node_work::NodeWork;
use crate::{
    linear::{
        blocks::{Class, MatrixValues},
        interface::LinearError,
        kernels::{rows, subtract, subtract_products, tile_rows},
        lanes::{Instructions, Lanes},
        plan::{ElimNode, LeafSource, take},
        unchecked::{at, at_mut},
    },
    numbers::dot,
};

impl NodeWork<'_> {
    /// Eliminates a node of P pivots straight from the matrix.
    ///
    /// # Safety
    /// The node has P pivots, `sources` are its own, and `a` has all values of the matrix below the diagonal.
    #[inline(always)]
    pub unsafe fn eliminate_symmetric_leaf<M: Instructions, const P: usize>(
        &mut self,
        a: MatrixValues,
        sources: &[LeafSource],
    ) -> Result<(), LinearError> {
        let Some((own, sources)) = sources.split_first() else { return Ok(()) };
        // number by number: data written in one width and read back in another stalls the processor
        let (block, first) = a.from(own.lower);
        // SAFETY: P rows of P numbers lie there, by the contract.
        let entry = |r: usize, c: usize| unsafe { at::<1>(block, first + r * P + c)[0] };
        let (mut d, mut magnitude) = ([[0.0; P]; P], [0.0; P]);
        for r in 0..P {
            d[r][r] = entry(r, r);
            magnitude[r] = d[r][r].abs();
            for c in 0..r {
                let mean = 0.5 * (entry(r, c) + entry(c, r));
                (d[r][c], d[c][r]) = (mean, mean);
            }
        }
        let mut row = P;
        for source in sources {
            let (lower, first) = a.from(source.lower);
            with_size!(source.size, 1 2 3 4 5; 6, C => {
                for c in 0..C {
                    // SAFETY: C rows of P numbers lie there, by the contract; the panel has a row for each.
                    unsafe { *at_mut::<P>(self.panel, P * (row + c)) = *at(lower, first + c * P) };
                }
                row += C;
            });
        }
        // SAFETY: by the contract.
        unsafe { self.finish::<M, P>(&d, &magnitude) }
    }

    /// Eliminates a node of P pivots.
    ///
    /// # Safety
    /// The node has P pivots.
    #[inline(always)]
    pub unsafe fn eliminate_symmetric_small<M: Instructions, const P: usize>(&mut self) -> Result<(), LinearError> {
        // SAFETY: the panel begins with P rows of P numbers.
        let mut d: [[f64; P]; P] = unsafe { rows(self.panel, 0, P) };
        for r in 0..P {
            for c in 0..r {
                d[c][r] = d[r][c];
            }
        }
        // SAFETY: the P pivots have magnitudes.
        let magnitude = *unsafe { at::<P>(self.magnitude, self.pivots.first) };
        // SAFETY: by the contract.
        unsafe { self.finish::<M, P>(&d, &magnitude) }
    }

    apart! {
        /// Inverts D and subtracts L D⁻¹ Lᵀ from the panels of the border: for leaves and other nodes alike.
        ///
        /// # Safety
        /// The node has P pivots.
        fn finish<const P: usize>(d: &[[f64; P]; P], magnitude: &[f64; P]) -> Result<(), LinearError> = finish_small
    }

    /// Masses and moments of inertia rarely mix: blocks of bodies are mostly block-diagonal, and D⁻¹Lᵀ takes fewer products.
    ///
    /// # Safety
    /// As for `finish`.
    #[inline(always)]
    unsafe fn finish_small<M: Instructions, const P: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
    ) -> Result<(), LinearError> {
        let body = self.node.class != Class::Multiplier;
        // SAFETY: by the contract; 1, 3 and P divide P.
        unsafe {
            match P {
                2 | 3 if body && is_block_diagonal::<P, 1>(d) => self.finish_blocks::<M, P, 1>(d, magnitude),
                6 if body && is_block_diagonal::<P, 3>(d) => self.finish_blocks::<M, P, 3>(d, magnitude),
                _ => self.finish_blocks::<M, P, P>(d, magnitude),
            }
        }
    }

    /// `finish_small` for a D of diagonal blocks of K rows.
    ///
    /// # Safety
    /// As for `finish`, and K divides P.
    #[inline(always)]
    unsafe fn finish_blocks<M: Instructions, const P: usize, const K: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
    ) -> Result<(), LinearError> {
        let inverse = self.pivots.inverse::<M, P, K>(d, magnitude, self.node.class)?;
        for i in 0..P {
            // SAFETY: the panel begins with P rows of P numbers.
            *unsafe { at_mut(self.panel, i * P) } = inverse[i];
        }
        let body = self.node.class != Class::Multiplier;
        let (m, panel) = (self.node.m as usize, &*self.panel);
        let (mut targets, mut done) = (self.targets, 0);
        for &run in self.runs {
            let targets = take(&mut targets, m - done);
            let lower = &panel[P * (P + done)..];
            // SAFETY: `lower` has a row of P numbers for every target; the plan has checked the runs, whose positions are
            // adjacent, and their targets.
            with_size!(run, 1 2 3 4 5; 6, B => unsafe {
                let mut l = [M::Lanes::<P>::zero(); B];
                for c in 0..B {
                    l[c] = Lanes::load(lower, P * c);
                }
                let l = M::transposed(&l);
                let mut w = [M::Lanes::<B>::zero(); P]; // D⁻¹Lᵀ
                let mut sum = M::Lanes::<B>::zero();
                for r in 0..P {
                    let block = r / K * K;
                    for k in block..block + K {
                        w[r] = w[r].plus(at::<1>(panel, r * P + k)[0], l[k]);
                    }
                    sum = sum.plus_magnitudes(l[r], w[r]);
                }
                if body {
                    let first = self.border[done] as usize;
                    M::Lanes::<B>::load(self.magnitude, first).plus_row(sum).store(self.magnitude, first);
                }
                subtract::<M, P, B>(lower, &w, targets, self.later);
            });
            done += run as usize;
        }
        Ok(())
    }

    apart! {
        /// Eliminates any node.
        ///
        /// # Safety
        /// The blocks are those of the node.
        fn eliminate_symmetric(blocks: &[(u32, Class)], strip: &mut [f64]) -> Result<(), LinearError> = any_symmetric
    }

    /// # Safety
    /// As for `eliminate_symmetric`.
    #[inline(always)]
    unsafe fn any_symmetric<M: Instructions>(
        &mut self,
        blocks: &[(u32, Class)],
        strip: &mut [f64],
    ) -> Result<(), LinearError> {
        let (p, m) = (self.node.p as usize, self.node.m as usize);
        let mut k = 0;
        for &(n, class) in blocks {
            self.eliminate_symmetric_block::<M>(k, n as usize, class, strip)?;
            k += n as usize;
        }
        let bodies = blocks.iter().any(|block| block.1 != Class::Multiplier);
        let (mut targets, mut done) = (self.targets, 0);
        for &run in self.runs {
            let targets = take(&mut targets, m - done);
            let w = &mut strip[..p * run as usize];
            self.scaled_run::<M>(blocks, done, run as usize, w);
            if bodies {
                for c in 0..run as usize {
                    let l = &self.panel[p * (p + done + c)..p * (p + done + c + 1)];
                    let sum: f64 = l.iter().zip(w[c..].iter().step_by(run as usize)).map(|(l, w)| (l * w).abs()).sum();
                    self.magnitude[self.border[done + c] as usize] += sum;
                }
            }
            let lower = &self.panel[p * (p + done)..];
            // SAFETY: the plan has checked the runs and their targets; w has p rows of B numbers.
            with_size!(run, 1 2 3 4 5 6 7; 8, B => unsafe {
                tile_rows::<M, B>(lower, w, p, B, targets, self.later)
            });
            done += run as usize;
        }
        Ok(())
    }

    /// Eliminates the diagonal block of n pivots from pivot k on, within the panel.
    #[inline(always)]
    fn eliminate_symmetric_block<M: Instructions>(
        &mut self,
        k: usize,
        n: usize,
        class: Class,
        strip: &mut [f64],
    ) -> Result<(), LinearError> {
        let (p, m) = (self.node.p as usize, self.node.m as usize);
        let (first, end) = (self.pivots.first, k + n);
        for r in k..end {
            for c in k..r {
                self.panel[c * p + r] = self.panel[r * p + c];
            }
        }
        let magnitude = &self.magnitude[first + k..first + end];
        self.pivots.invert(k, &self.panel[k * (p + 1)..], p, n, magnitude, class)?;
        let inverse = &self.pivots.inverse[..n * n];
        for (r, inverse) in inverse.chunks_exact(n.max(1)).enumerate() {
            self.panel[(k + r) * p + k..(k + r) * p + end].copy_from_slice(inverse);
        }
        // the remaining pivots of the node: −= L (D⁻¹ Lᵀ)
        let rest = p - end;
        for c in 0..rest {
            let l = &self.panel[(end + c) * p + k..(end + c) * p + end];
            for r in 0..n {
                strip[r * rest + c] = dot(&inverse[r * n..(r + 1) * n], l);
            }
        }
        for r in 0..if rest > 0 { rest + m } else { 0 } {
            let row = &mut self.panel[(end + r) * p..(end + r + 1) * p];
            let (factors, row) = row[k..].split_at_mut(n);
            let columns = rest.min(r + 1);
            let before = if r < rest { row[r] } else { 0.0 };
            subtract_products::<M>(&mut row[..columns], factors, 1.0, strip, rest);
            if r < rest {
                self.magnitude[first + end + r] += (row[r] - before).abs();
            }
        }
        Ok(())
    }

    /// `w` ← D⁻¹Lᵀ for some columns of the border.
    #[inline(always)]
    fn scaled_run<M: Instructions>(&self, blocks: &[(u32, Class)], first: usize, columns: usize, w: &mut [f64]) {
        let p = self.node.p as usize;
        for c in 0..columns {
            let l = &self.panel[p * (p + first + c)..p * (p + first + c + 1)];
            let mut k = 0;
            for &(n, _) in blocks {
                let end = k + n as usize;
                for r in k..end {
                    let mut sum = 0.0;
                    for i in k..end {
                        // SAFETY: r and i are below p, and the panel begins with p rows of p numbers.
                        sum = M::fma(unsafe { at::<1>(self.panel, r * p + i)[0] }, l[i], sum);
                    }
                    w[r * columns + c] = sum;
                }
                k = end;
            }
        }
    }
}

/// Whether a symmetric block is block-diagonal with blocks of K rows.
#[inline(always)]
fn is_block_diagonal<const P: usize, const K: usize>(d: &[[f64; P]; P]) -> bool {
    let mut mixed = 0;
    for r in 0..P {
        for c in 0..r / K * K {
            mixed |= d[r][c].to_bits() << 1; // without the sign: −0 is zero
        }
    }
    mixed == 0
}

/// x −= D⁻¹Lᵀ x at the P pivots of a node, from `first` on, with x at its border.
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
    let mut sums = M::Lanes::<P>::zero();
    for (i, &from) in border.iter().enumerate() {
        // SAFETY: by the contract.
        sums = unsafe { sums.plus(at::<1>(x, from as usize)[0], Lanes::load(panel, P * (P + i))) };
    }
    let mut sum = [0.0; P];
    // SAFETY: by the contract; `sum` has P numbers.
    let own = unsafe {
        sums.store(&mut sum, 0);
        at_mut::<P>(x, first)
    };
    for r in 0..P {
        // SAFETY: by the contract.
        let inverse = unsafe { at::<P>(panel, r * P) };
        for c in 0..P {
            own[r] = M::fma(-inverse[c], sum[c], own[r]);
        }
    }
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
    let p = node.p as usize;
    let sum = &mut strip[..p];
    sum.fill(0.0);
    for (l, &i) in panel[p * p..].chunks_exact(p.max(1)).zip(border) {
        let x = x[i as usize];
        sum.iter_mut().zip(l).for_each(|(sum, l)| *sum += l * x);
    }
    let own = &mut x[first..first + p];
    let mut end = p;
    for &(n, _) in blocks.iter().rev() {
        let k = end - n as usize;
        for r in end..p {
            let (l, x) = (&panel[r * p + k..r * p + end], own[r]);
            sum[k..end].iter_mut().zip(l).for_each(|(sum, l)| *sum += l * x);
        }
        for r in k..end {
            own[r] -= dot(&panel[r * p + k..r * p + end], &sum[k..end]);
        }
        end = k;
    }
}
