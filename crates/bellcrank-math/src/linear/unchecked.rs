//! Reads and writes without bounds checks: the checks took a third of the kernels' time.
//!
//! All offsets come from a `PartPlan`, which checks them once per pattern (`plan/check.rs`). Builds with debug assertions check
//! every access.

/// N numbers of `v` from `i` on.
///
/// # Safety
/// `i + N <= v.len()`.
#[inline(always)]
pub unsafe fn at<const N: usize>(v: &[f64], i: usize) -> &[f64; N] {
    debug_assert!(i + N <= v.len());
    // SAFETY: in bounds by the contract; [f64; N] has the alignment of f64.
    unsafe { &*v.as_ptr().add(i).cast() }
}

/// N numbers of `v` from `i` on, to write to.
///
/// # Safety
/// `i + N <= v.len()`.
#[inline(always)]
pub unsafe fn at_mut<const N: usize>(v: &mut [f64], i: usize) -> &mut [f64; N] {
    debug_assert!(i + N <= v.len());
    // SAFETY: in bounds by the contract; [f64; N] has the alignment of f64.
    unsafe { &mut *v.as_mut_ptr().add(i).cast() }
}
