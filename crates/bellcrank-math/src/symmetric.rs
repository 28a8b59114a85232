//! Symmetric block elimination, A = L D⁻¹ Lᵀ: half the work and the memory of a general one.
//!
//! A node keeps its pivots and what is below them in one panel of rows of p numbers,
//!
//! ```text
//!     ┌─────────┐
//!     │ D  p×p  │   its diagonal blocks inverted, from their lower triangles
//!     ├─────────┤
//!     │ L  m×p  │   as it is: D⁻¹Lᵀ is formed where it is needed
//!     └─────────┘
//! ```
//!
//! and subtracts the lower triangle of L D⁻¹ Lᵀ from the panels of its border [Golub & Van Loan 2013, 4.1].
//! What stands above the diagonal of the matrix is never looked at, but for diagonal blocks of leaves, of which the
//! symmetric part is taken.

#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2;
use crate::{
    block_lu::{Step, dot},
    blocks::{Class, Values},
    kernels::{at, at_mut, rows, subtract, subtract_products, tile_rows},
    lanes::{Machine, Row},
    plan::{Node, Source, take},
    solver::LinearError,
};

impl Step<'_> {
    /// Eliminates a node of P pivots straight from the matrix.
    #[inline(always)]
    pub fn eliminate_symmetric_leaf<M: Machine, const P: usize>(
        &mut self,
        a: Values,
        sources: &[Source],
    ) -> Result<(), LinearError> {
        let Some((own, sources)) = sources.split_first() else { return Ok(()) };
        // number by number: what is written in one width and read in another makes the processor wait
        let (block, first) = a.from(own.lower);
        let entry = |r: usize, c: usize| at::<1>(block, first + r * P + c)[0];
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
                    *at_mut::<P>(self.panel, P * (row + c)) = *at(lower, first + c * P);
                }
                row += C;
            });
        }
        self.finish::<M, P>(&d, &magnitude)
    }

    /// Eliminates a node of P pivots.
    #[inline(always)]
    pub fn eliminate_symmetric_small<M: Machine, const P: usize>(&mut self) -> Result<(), LinearError> {
        let mut d: [[f64; P]; P] = rows(self.panel, 0, P);
        for r in 0..P {
            for c in 0..r {
                d[c][r] = d[r][c];
            }
        }
        let magnitude = *at(self.magnitude, self.pivots.first);
        self.finish::<M, P>(&d, &magnitude)
    }

    /// Inverts D and subtracts L D⁻¹ Lᵀ from the panels of the border. One copy of the code for leaves and others: it
    /// takes long to compile.
    #[inline(always)]
    fn finish<M: Machine, const P: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
    ) -> Result<(), LinearError> {
        #[cfg(target_arch = "x86_64")]
        if M::AVX2 {
            // SAFETY: M tells that the processor has what the function is compiled for.
            return unsafe { self.finish_fused(d, magnitude) };
        }
        self.finish_plain::<M, P>(d, magnitude)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    fn finish_fused<const P: usize>(&mut self, d: &[[f64; P]; P], magnitude: &[f64; P]) -> Result<(), LinearError> {
        self.finish_small::<Avx2, P>(d, magnitude)
    }

    #[inline(never)]
    fn finish_plain<M: Machine, const P: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
    ) -> Result<(), LinearError> {
        self.finish_small::<M, P>(d, magnitude)
    }

    /// Masses and moments of inertia mostly do not mix: blocks of bodies fall into parts, and D⁻¹Lᵀ takes fewer products.
    #[inline(always)]
    fn finish_small<M: Machine, const P: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
    ) -> Result<(), LinearError> {
        let body = self.node.class != Class::Multiplier;
        match P {
            2 | 3 if body && falls_apart::<P, 1>(d) => self.finish_parts::<M, P, 1>(d, magnitude),
            6 if body && falls_apart::<P, 3>(d) => self.finish_parts::<M, P, 3>(d, magnitude),
            _ => self.finish_parts::<M, P, P>(d, magnitude),
        }
    }

    /// `finish_small` for a block D of parts of K rows.
    #[inline(always)]
    fn finish_parts<M: Machine, const P: usize, const K: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
    ) -> Result<(), LinearError> {
        let inverse = self.pivots.inverse::<M, P, K>(d, magnitude, self.node.class)?;
        for i in 0..P {
            *at_mut(self.panel, i * P) = inverse[i];
        }
        let body = self.node.class != Class::Multiplier;
        let (m, panel) = (self.node.m as usize, &*self.panel);
        let (mut targets, mut done) = (self.targets, 0);
        for &piece in self.pieces {
            let targets = take(&mut targets, m - done);
            let lower = &panel[P * (P + done)..];
            with_size!(piece, 1 2 3 4 5; 6, B => {
                let mut l = [M::Row::<P>::zero(); B];
                for c in 0..B {
                    l[c] = Row::load(lower, P * c);
                }
                let l = M::transposed(&l);
                let mut w = [M::Row::<B>::zero(); P]; // D⁻¹Lᵀ
                let mut sum = M::Row::<B>::zero();
                for r in 0..P {
                    let part = r / K * K;
                    for k in part..part + K {
                        w[r] = w[r].plus(at::<1>(panel, r * P + k)[0], l[k]);
                    }
                    sum = sum.plus_magnitudes(l[r], w[r]);
                }
                if body {
                    let first = self.border[done] as usize; // and those of the piece follow it
                    M::Row::<B>::load(self.magnitude, first).plus_row(sum).store(self.magnitude, first);
                }
                subtract::<M, P, B>(lower, &w, targets, self.later);
            });
            done += piece as usize;
        }
        Ok(())
    }

    /// Eliminates any node.
    #[inline(always)]
    pub fn eliminate_symmetric<M: Machine>(
        &mut self,
        blocks: &[(u32, Class)],
        strip: &mut [f64],
    ) -> Result<(), LinearError> {
        let (p, m) = (self.node.p as usize, self.node.m as usize);
        let first = self.pivots.first;
        let mut k = 0;
        for &(n, class) in blocks {
            let (n, end) = (n as usize, k + n as usize);
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
            // The rest of the node's pivots: −= L (D⁻¹ Lᵀ).
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
            k = end;
        }
        let bodies = blocks.iter().any(|block| block.1 != Class::Multiplier);
        let (mut targets, mut done) = (self.targets, 0);
        for &piece in self.pieces {
            let targets = take(&mut targets, m - done);
            let w = &mut strip[..p * piece as usize];
            self.scaled_piece::<M>(blocks, done, piece as usize, w);
            if bodies {
                for c in 0..piece as usize {
                    let l = &self.panel[p * (p + done + c)..p * (p + done + c + 1)];
                    let sum: f64 =
                        l.iter().zip(w[c..].iter().step_by(piece as usize)).map(|(l, w)| (l * w).abs()).sum();
                    self.magnitude[self.border[done + c] as usize] += sum;
                }
            }
            let lower = &self.panel[p * (p + done)..];
            with_size!(piece, 1 2 3 4 5 6 7; 8, B => tile_rows::<M, B>(lower, w, p, B, targets, self.later));
            done += piece as usize;
        }
        Ok(())
    }

    /// `w` ← D⁻¹Lᵀ for some columns of the border.
    #[inline(always)]
    fn scaled_piece<M: Machine>(&self, blocks: &[(u32, Class)], first: usize, columns: usize, w: &mut [f64]) {
        let p = self.node.p as usize;
        for c in 0..columns {
            let l = &self.panel[p * (p + first + c)..p * (p + first + c + 1)];
            let mut k = 0;
            for &(n, _) in blocks {
                let end = k + n as usize;
                for r in k..end {
                    let mut sum = 0.0;
                    for i in k..end {
                        sum = M::fma(at::<1>(self.panel, r * p + i)[0], l[i], sum);
                    }
                    w[r * columns + c] = sum;
                }
                k = end;
            }
        }
    }
}

/// Whether a symmetric block falls into parts of K rows.
#[inline(always)]
fn falls_apart<const P: usize, const K: usize>(d: &[[f64; P]; P]) -> bool {
    let mut mixed = 0;
    for r in 0..P {
        for c in 0..r / K * K {
            mixed |= d[r][c].to_bits() << 1; // without its sign
        }
    }
    mixed == 0
}

/// x −= D⁻¹Lᵀ x at the pivots of a node, from those of its border.
#[inline(always)]
pub fn backward_small<M: Machine, const P: usize>(panel: &[f64], border: &[u32], first: usize, x: &mut [f64]) {
    let mut sums = M::Row::<P>::zero();
    for (i, &from) in border.iter().enumerate() {
        sums = sums.plus(at::<1>(x, from as usize)[0], Row::load(panel, P * (P + i)));
    }
    let mut sum = [0.0; P];
    sums.store(&mut sum, 0);
    let own = at_mut::<P>(x, first);
    for r in 0..P {
        let inverse = at::<P>(panel, r * P);
        for c in 0..P {
            own[r] = M::fma(-inverse[c], sum[c], own[r]);
        }
    }
}

/// x ← D⁻¹ x at the pivots of any node, then x −= L x at its border.
pub fn forward(
    node: &Node,
    panel: &[f64],
    blocks: &[(u32, Class)],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    strip: &mut [f64],
) {
    let p = node.p as usize;
    let (own, later) = x[first..].split_at_mut(p);
    let mut k = 0;
    for &(n, _) in blocks {
        let end = k + n as usize;
        for r in k..end {
            strip[r - k] = dot(&panel[r * p + k..r * p + end], &own[k..end]);
        }
        own[k..end].copy_from_slice(&strip[..end - k]);
        for r in end..p {
            own[r] -= dot(&panel[r * p + k..r * p + end], &own[k..end]);
        }
        k = end;
    }
    for (l, &i) in panel[p * p..].chunks_exact(p.max(1)).zip(border) {
        later[i as usize - first - p] -= dot(l, own);
    }
}

/// `backward_small` for any node.
pub fn backward(
    node: &Node,
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
