//! Small dense kernels of the block elimination, compiled for each size.
//!
//! Their offsets are not checked here ([`crate::linear::unchecked`]): the unsafe functions say what they rely on.

mod inverse;
mod pivots;

pub use pivots::Pivots;

use super::{
    lanes::{Instructions, Lanes},
    plan::BlockCopy,
    unchecked::{at, at_mut},
};

/// Calls a kernel with the constant that equals `$size`; any other size gets the last one.
macro_rules! with_size {
    ($size:expr, $($n:literal)* ; $last:literal, $constant:ident => $call:expr) => {
        match $size {
            $($n => { const $constant: usize = $n; $call })*
            _ => { const $constant: usize = $last; $call }
        }
    };
}

/// R rows of C numbers, `stride` apart, from `first` on.
///
/// # Safety
/// The rows lie inside `v`.
#[inline(always)]
pub unsafe fn rows<const R: usize, const C: usize>(v: &[f64], first: usize, stride: usize) -> [[f64; C]; R] {
    let mut rows = [[0.0; C]; R]; // not `from_fn`: its closure would be compiled without the CPU features of the caller
    for r in 0..R {
        // SAFETY: by the contract.
        rows[r] = *unsafe { at(v, first + r * stride) };
    }
    rows
}

/// Copies a block of C columns, which begins at `first` of `from`, to its place in a panel.
///
/// # Safety
/// The block lies inside `from`, and its place inside `panel`.
#[inline(always)]
pub unsafe fn copy<const C: usize>(copy: &BlockCopy, from: &[f64], first: usize, panel: &mut [f64]) {
    for r in 0..copy.rows as usize {
        // SAFETY: by the contract.
        unsafe { *at_mut::<C>(panel, copy.to as usize + r * copy.stride as usize) = *at(from, first + r * C) };
    }
}

/// C columns of D⁻¹ U, where U begins at `first` with rows `stride` apart.
///
/// # Safety
/// P rows of C numbers lie inside `u`.
#[inline(always)]
pub unsafe fn scaled<M: Instructions, const P: usize, const C: usize>(
    inverse: &[[f64; P]; P],
    u: &[f64],
    first: usize,
    stride: usize,
) -> [M::Lanes<C>; P] {
    let mut scaled = [M::Lanes::<C>::zero(); P];
    for k in 0..P {
        // SAFETY: by the contract.
        let u = unsafe { M::Lanes::<C>::load(u, first + k * stride) };
        for r in 0..P {
            scaled[r] = scaled[r].plus(inverse[r][k], u);
        }
    }
    scaled
}

/// Subtracts B columns of L (D⁻¹U), from `column` on, from the targets of the border rows.
///
/// # Safety
/// `panel` is [D | U] of P rows `width` wide, then L of as many rows as there are targets; `column + B <= width`; B numbers
/// from each target on lie inside `later`.
#[inline(always)]
pub unsafe fn spread<M: Instructions, const P: usize, const B: usize>(
    panel: &[f64],
    column: usize,
    width: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    let mut u = [M::Lanes::<B>::zero(); P];
    for r in 0..P {
        // SAFETY: by the contract.
        u[r] = unsafe { Lanes::load(panel, column + r * width) };
    }
    // SAFETY: by the contract.
    unsafe { subtract::<M, P, B>(&panel[P * width..], &u, targets, later) };
}

/// Subtracts the product of each row of `lower`, P numbers long, with `upper` from its target.
///
/// # Safety
/// `lower` has a row for every target, and B numbers from each target on lie inside `later`.
#[inline(always)]
pub unsafe fn subtract<M: Instructions, const P: usize, const B: usize>(
    lower: &[f64],
    upper: &[M::Lanes<B>; P],
    targets: &[u32],
    later: &mut [f64],
) {
    for (i, &to) in targets.iter().enumerate() {
        // SAFETY: by the contract.
        unsafe {
            let mut x = M::Lanes::<B>::load(later, to as usize);
            for r in 0..P {
                x = x.minus(at::<1>(lower, P * i + r)[0], upper[r]);
            }
            x.store(later, to as usize);
        }
    }
}

/// Subtracts B columns of `lower` × `upper`, of p products each, from the targets of the rows of `lower`. Rows of `upper`
/// are `stride` apart. Four rows at a time, so that each number of `upper` is read once for four products.
///
/// # Safety
/// `lower` has a row of p numbers for every target, p rows of B numbers lie inside `upper`, and B numbers from each target on
/// inside `later`.
#[inline(always)]
pub unsafe fn tile_rows<M: Instructions, const B: usize>(
    lower: &[f64],
    upper: &[f64],
    p: usize,
    stride: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    const R: usize = 4;
    let mut rows = targets.chunks_exact(R);
    let mut first = 0;
    for targets in &mut rows {
        // SAFETY: by the contract.
        unsafe { tile::<M, R, B>(&lower[first * p..], upper, p, stride, targets, later) };
        first += R;
    }
    for targets in rows.remainder().chunks_exact(1) {
        // SAFETY: by the contract.
        unsafe { tile::<M, 1, B>(&lower[first * p..], upper, p, stride, targets, later) };
        first += 1;
    }
}

/// `tile_rows` for R rows.
///
/// # Safety
/// As for `tile_rows`, with R targets.
#[inline(always)]
unsafe fn tile<M: Instructions, const R: usize, const B: usize>(
    lower: &[f64],
    upper: &[f64],
    p: usize,
    stride: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    let mut sum = [[0.0; B]; R];
    for k in 0..p {
        // SAFETY: by the contract.
        let u = unsafe { at::<B>(upper, k * stride) };
        for r in 0..R {
            // SAFETY: by the contract.
            let l = unsafe { at::<1>(lower, r * p + k)[0] };
            for c in 0..B {
                sum[r][c] = M::fma(l, u[c], sum[r][c]);
            }
        }
    }
    for r in 0..R {
        // SAFETY: by the contract.
        let x = unsafe { at_mut::<B>(later, targets[r] as usize) };
        for c in 0..B {
            x[c] -= sum[r][c];
        }
    }
}

/// x −= sign Σ factors[k] rows[k], where the rows are `stride` apart.
#[inline(always)]
pub fn subtract_products<M: Instructions>(x: &mut [f64], factors: &[f64], sign: f64, rows: &[f64], stride: usize) {
    for (k, factors) in factors.chunks(6).enumerate() {
        let rows = &rows[k * 6 * stride..];
        with_size!(factors.len(), 1 2 3 4 5; 6, N => {
            // SAFETY: a chunk of N numbers.
            let factors = unsafe { at(factors, 0) };
            subtract_rows::<M, N>(x, factors, sign, rows, stride)
        });
    }
}

#[inline(always)]
fn subtract_rows<M: Instructions, const N: usize>(
    x: &mut [f64],
    factors: &[f64; N],
    sign: f64,
    rows: &[f64],
    stride: usize,
) {
    let end = x.len();
    let rows: [&[f64]; N] = std::array::from_fn(|k| &rows[k * stride..k * stride + end]);
    let factors = factors.map(|factor| -sign * factor);
    for (j, x) in x.iter_mut().enumerate() {
        for k in 0..N {
            // SAFETY: all rows are as long as x.
            *x = M::fma(factors[k], unsafe { at::<1>(rows[k], j)[0] }, *x);
        }
    }
}
