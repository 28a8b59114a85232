//! Inverses of blocks of one to six rows, without a search for pivots.

use crate::linear::lanes::Instructions;

/// C + A B.
#[inline(always)]
fn add_product<M: Instructions, const R: usize, const K: usize, const C: usize>(
    c: &[[f64; C]; R],
    a: &[[f64; K]; R],
    b: &[[f64; C]; K],
) -> [[f64; C]; R] {
    let mut sum = *c;
    for r in 0..R {
        for k in 0..K {
            for j in 0..C {
                sum[r][j] = M::fma(a[r][k], b[k][j], sum[r][j]);
            }
        }
    }
    sum
}

#[inline(always)]
fn negative<const R: usize, const C: usize>(a: &[[f64; C]; R]) -> [[f64; C]; R] {
    let mut minus = *a;
    minus.iter_mut().flatten().for_each(|x| *x = -*x);
    minus
}

/// The block of W at (r, c).
#[inline(always)]
pub fn part<const P: usize, const R: usize, const C: usize>(w: &[[f64; P]; P], r: usize, c: usize) -> [[f64; C]; R] {
    let mut part = [[0.0; C]; R];
    for i in 0..R {
        for j in 0..C {
            part[i][j] = w[r + i][c + j];
        }
    }
    part
}

/// Whether the pivot `next`/`last` is finite and at least `safe` times its magnitude.
#[inline(always)]
pub fn is_safe(next: f64, last: f64, magnitude: f64, safe: f64) -> bool {
    let least = safe * magnitude * last.abs();
    next.abs() >= least && least > 0.0 && next.abs() <= f64::MAX
}

/// W⁻¹ without a search for pivots, and whether every pivot was at least `safe` times its magnitude.
#[inline(always)]
pub fn invert<M: Instructions, const P: usize>(
    w: &[[f64; P]; P],
    magnitude: &[f64; P],
    safe: f64,
) -> ([[f64; P]; P], bool) {
    let mut inverse = [[0.0; P]; P];
    // P is a constant: one branch stays. Up to three rows by cofactors, which takes one division.
    let safe = match P {
        1 => {
            inverse[0][0] = w[0][0].recip();
            is_safe(w[0][0], 1.0, magnitude[0], safe)
        }
        2 => {
            let det = w[0][0] * w[1][1] - w[0][1] * w[1][0];
            let r = det.recip();
            inverse[0][0] = w[1][1] * r;
            inverse[0][1] = -w[0][1] * r;
            inverse[1][0] = -w[1][0] * r;
            inverse[1][1] = w[0][0] * r;
            is_safe(w[0][0], 1.0, magnitude[0], safe) & is_safe(det, w[0][0], magnitude[1], safe)
        }
        3 => {
            let minor = |a: usize, b: usize, c: usize, d: usize| w[a][c] * w[b][d] - w[a][d] * w[b][c];
            let (x, y, z, leading) = (minor(1, 2, 1, 2), minor(1, 2, 0, 2), minor(1, 2, 0, 1), minor(0, 1, 0, 1));
            let det = w[0][0] * x - w[0][1] * y + w[0][2] * z;
            let r = det.recip();
            inverse[0][0] = x * r;
            inverse[0][1] = -minor(0, 2, 1, 2) * r;
            inverse[0][2] = minor(0, 1, 1, 2) * r;
            inverse[1][0] = -y * r;
            inverse[1][1] = minor(0, 2, 0, 2) * r;
            inverse[1][2] = -minor(0, 1, 0, 2) * r;
            inverse[2][0] = z * r;
            inverse[2][1] = -minor(0, 2, 0, 1) * r;
            inverse[2][2] = leading * r;
            is_safe(w[0][0], 1.0, magnitude[0], safe)
                & is_safe(leading, w[0][0], magnitude[1], safe)
                & is_safe(det, leading, magnitude[2], safe)
        }
        4 => invert_by_parts::<M, P, 2, 2>(w, magnitude, safe, &mut inverse),
        5 => invert_by_parts::<M, P, 3, 2>(w, magnitude, safe, &mut inverse),
        6 => invert_by_parts::<M, P, 3, 3>(w, magnitude, safe, &mut inverse),
        _ => false,
    };
    (inverse, safe)
}

/// P = N + K rows: [A B; C D]⁻¹ = [A⁻¹ + X S⁻¹ Y, −X S⁻¹; −S⁻¹ Y, S⁻¹], X = A⁻¹B, Y = C A⁻¹, S = D − C X.
#[inline(always)]
fn invert_by_parts<M: Instructions, const P: usize, const N: usize, const K: usize>(
    w: &[[f64; P]; P],
    magnitude: &[f64; P],
    safe: f64,
    inverse: &mut [[f64; P]; P],
) -> bool {
    let (b, c): ([[f64; K]; N], [[f64; N]; K]) = (part(w, 0, N), part(w, N, 0));
    let (Some(upper), Some(lower)) = (magnitude.first_chunk::<N>(), magnitude.last_chunk::<K>()) else { return false };
    let (a, first) = invert::<M, N>(&part(w, 0, 0), upper, safe);
    let x = add_product::<M, N, N, K>(&[[0.0; K]; N], &a, &b);
    let y = add_product::<M, K, N, N>(&[[0.0; N]; K], &c, &a);
    let schur = add_product::<M, K, N, K>(&part(w, N, N), &negative(&c), &x);
    let (s, second) = invert::<M, K>(&schur, lower, safe);
    let minus_xs = add_product::<M, N, K, K>(&[[0.0; K]; N], &negative(&x), &s);
    let minus_sy = add_product::<M, K, K, N>(&[[0.0; N]; K], &negative(&s), &y);
    let corner = add_product::<M, N, K, N>(&a, &negative(&minus_xs), &y);
    for i in 0..N {
        inverse[i][..N].copy_from_slice(&corner[i]);
        inverse[i][N..].copy_from_slice(&minus_xs[i]);
    }
    for i in 0..K {
        inverse[N + i][..N].copy_from_slice(&minus_sy[i]);
        inverse[N + i][N..].copy_from_slice(&s[i]);
    }
    first & second
}
