//! The forward solution of a node, x ← D⁻¹ x at its pivots and x −= L x at its border, for general and symmetric factors.

use crate::{
    linear::{
        blocks::Class,
        lanes::Instructions,
        plan::{ElimNode, Kernel},
        unchecked::{at, at_mut},
    },
    numbers::dot,
};

/// x ← D⁻¹ x at the pivots of a node, which begin at `first`, then x −= L x at its border.
///
/// # Safety
/// Panel, blocks and border are those of `node` in a checked plan, and x has the dimension of that plan.
#[inline(always)]
pub unsafe fn forward_node<M: Instructions>(
    node: &ElimNode,
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
            // SAFETY: by the contract; P is the node's number of pivots.
            with_size!(p, 1 2 3 4 5; 6, P => unsafe { forward_small::<M, P>(panel, border, first, x, symmetric) });
        }
        Kernel::General => {
            let width = if symmetric { node.p } else { node.p + node.m } as usize;
            forward(node, panel, width, blocks, border, first, x, strip)
        }
    }
}

/// `forward_node` for P pivots.
///
/// # Safety
/// As for `forward_node`, and the node has P pivots.
#[inline(always)]
unsafe fn forward_small<M: Instructions, const P: usize>(
    panel: &[f64],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    symmetric: bool,
) {
    let width = if symmetric { P } else { P + border.len() };
    // SAFETY: by the contract.
    unsafe {
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
}

/// `forward_node` for any node, whose pivot rows are `width` wide.
fn forward(
    node: &ElimNode,
    panel: &[f64],
    width: usize,
    blocks: &[(u32, Class)],
    border: &[u32],
    first: usize,
    x: &mut [f64],
    strip: &mut [f64],
) {
    let p = node.p as usize;
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
