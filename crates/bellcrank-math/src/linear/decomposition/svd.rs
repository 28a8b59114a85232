//! Singular values by one-sided Jacobi rotations of the triangular factor: small ones to as many digits as the matrix has
//! [Demmel & Veselić 1992; Drmač & Veselić 2008].

use super::householder::pivoted_qr;
use super::{NotConverged, add, dot, transposed, turn, two_rows, unit};
use crate::numbers::largest;

/// Sweeps over all pairs; after the pivoted QR four to six are the rule.
const MOST_SWEEPS: usize = 60;

/// Squares of lengths below this are zero beside a largest entry of one: their digits are lost to underflow.
const NOTHING: f64 = 1e-280;

/// Singular values, descending, with left and right singular vectors, each vector after the other: A = Σ σₖ uₖ vₖᵀ.
pub(in super::super) struct SvdFactors {
    /// σₖ, as many as the smaller dimension.
    pub values: Vec<f64>,
    /// uₖ, as many as A has rows.
    pub left: Vec<f64>,
    /// vₖ, as many as A has columns.
    pub right: Vec<f64>,
}

/// The singular value decomposition.
pub(in super::super) fn svd(a: &[f64], rows: usize, columns: usize) -> Result<SvdFactors, NotConverged> {
    if rows <= columns {
        return wide(a, rows, columns);
    }
    let SvdFactors { values, left, right } = wide(&transposed(a, rows, columns), columns, rows)?;
    Ok(SvdFactors { values, left: right, right: left })
}

/// At most as many rows as columns: A = P Rᵀ Qᵀ, and Rᵀ W = V Σ with the columns of Rᵀ turned until they are orthogonal.
fn wide(a: &[f64], rows: usize, columns: usize) -> Result<SvdFactors, NotConverged> {
    if rows == 0 {
        return Ok(SvdFactors { values: Vec::new(), left: Vec::new(), right: unit(columns) });
    }
    // so that squares neither overflow nor vanish
    let scale = largest(a);
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let scaled: Vec<f64> = a.iter().map(|a| a / scale).collect();
    let qr = pivoted_qr(&scaled, rows, columns);
    let (mut x, mut w) = (qr.r, unit(rows));
    make_orthogonal(&mut x, &mut w, rows)?;

    let size = |k: usize| dot(&x[k * rows..(k + 1) * rows], &x[k * rows..(k + 1) * rows]).sqrt();
    let mut order: Vec<(usize, f64)> = (0..rows).map(|k| (k, size(k))).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let regular = order.iter().take_while(|(_, s)| s * s > NOTHING).count();
    order[regular..].iter_mut().for_each(|(_, s)| *s = 0.0);
    let mut turned: Vec<f64> = Vec::with_capacity(rows * rows);
    for &(k, s) in &order[..regular] {
        turned.extend(x[k * rows..(k + 1) * rows].iter().map(|x| x / s));
    }
    if regular < rows {
        // vectors without a direction of their own complete the others
        let all = if regular == 0 { unit(rows) } else { pivoted_qr(&turned, regular, rows).q };
        turned.extend_from_slice(&all[regular * rows..]);
    }
    let mut left = vec![0.0; rows * rows];
    for (to, from) in left.chunks_exact_mut(rows).zip(turned.chunks_exact(rows)) {
        qr.order.iter().zip(from).for_each(|(&i, x)| to[i] = *x);
    }
    let mut right = qr.q.clone();
    for (to, &(k, _)) in right.chunks_exact_mut(columns).zip(&order) {
        to.fill(0.0);
        for (j, q) in qr.q.chunks_exact(columns).take(rows).enumerate() {
            add(to, w[k * rows + j], q);
        }
    }
    Ok(SvdFactors { values: order.iter().map(|(_, s)| s * scale).collect(), left, right })
}

/// Turns pairs of the rows of x, and those of w with them, until all rows of x are orthogonal.
fn make_orthogonal(x: &mut [f64], w: &mut [f64], n: usize) -> Result<(), NotConverged> {
    let small = f64::EPSILON * (n as f64).sqrt();
    for _ in 0..MOST_SWEEPS {
        let mut done = true;
        for i in 0..n {
            for j in i + 1..n {
                let (a, b) = two_rows(x, n, i, j);
                let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
                if aa.min(bb) <= NOTHING || ab.abs() <= small * aa.sqrt() * bb.sqrt() {
                    continue;
                }
                done = false;
                // the smaller root of t² + 2 ζ t − 1 = 0
                let zeta = (bb - aa) / (2.0 * ab);
                let t = 1.0f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
                let c = t.hypot(1.0).recip();
                turn(a, b, c, c * t);
                let (a, b) = two_rows(w, n, i, j);
                turn(a, b, c, c * t);
            }
        }
        if done {
            return Ok(());
        }
    }
    Err(NotConverged)
}
