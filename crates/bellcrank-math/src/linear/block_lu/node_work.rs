//! A node during its elimination.

use crate::linear::{kernels::Pivots, plan::ElimNode};

/// Defines a method of [`NodeWork`] that runs a kernel in a function of its own, compiled for the processor at hand. All
/// kernels of all sizes in one function would take a minute to compile.
macro_rules! apart {
    ($(#[$meta:meta])* fn $name:ident$(<const $p:ident: usize>)?($($argument:ident: $type:ty),*) $(-> $result:ty)? = $kernel:ident) => {
        $(#[$meta])*
        #[inline(always)]
        pub unsafe fn $name<M: Instructions $(, const $p: usize)?>(&mut self, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                #[inline(never)]
                unsafe fn fused$(<const $p: usize>)?(work: &mut NodeWork<'_>, $($argument: $type),*) $(-> $result)? {
                    // SAFETY: by the contract of the kernel.
                    unsafe { work.$kernel::<crate::linear::lanes::Avx2 $(, $p)?>($($argument),*) }
                }
                if M::AVX2 {
                    // SAFETY: M says that the processor has AVX2 and FMA; else by the contract of the kernel.
                    return unsafe { fused$(::<$p>)?(self, $($argument),*) };
                }
            }
            #[inline(never)]
            unsafe fn plain<M: Instructions $(, const $p: usize)?>(work: &mut NodeWork<'_>, $($argument: $type),*) $(-> $result)? {
                // SAFETY: by the contract of the kernel.
                unsafe { work.$kernel::<M $(, $p)?>($($argument),*) }
            }
            // SAFETY: by the contract of the kernel.
            unsafe { plain::<M $(, $p)?>(self, $($argument),*) }
        }
    };
}

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
