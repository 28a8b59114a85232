//! Small dense kernels of the block elimination.

use crate::{
    blocks::Class,
    lanes::{Machine, Plain, Row},
    plan::Copy,
    solver::LinearError,
};

/// Calls a kernel with the constant that equals a number, the last one for all others.
macro_rules! with_size {
    ($size:expr, $($n:literal)* ; $last:literal, $constant:ident => $call:expr) => {
        match $size {
            $($n => { const $constant: usize = $n; $call })*
            _ => { const $constant: usize = $last; $call }
        }
    };
}

/// A multiplier's pivot below this part of the magnitudes summed into it is noise: its constraint
/// is redundant. Redundant rows were seen at 2e-15, needed ones at 0.1.
const REDUNDANT: f64 = 1e-9;

/// A pivot that is to be kept may fall to this part before it is lost in rounding.
const LOST: f64 = 1e-13;

/// Diagonal pivots above this part of their magnitude need no search for a better one.
pub const SAFE: f64 = 0.02;

/// Nor above this part where they are those of multipliers in a symmetric matrix, whose blocks are definite, and the rows to
/// drop are given: what is smaller is close to singular, and is to be told.
const SAFE_DEFINITE: f64 = 1e-4;

/// N numbers of `v` from `i` on.
///
/// The kernels spent a third of their time on bounds checks. Their offsets all come from a `Plan`,
/// whose constructor has checked that they stay inside the arrays.
#[inline(always)]
pub fn at<const N: usize>(v: &[f64], i: usize) -> &[f64; N] {
    debug_assert!(i + N <= v.len());
    // SAFETY: in bounds by `Plan::check`; arrays of f64 have the alignment of f64.
    unsafe { &*v.as_ptr().add(i).cast() }
}

/// N numbers of `v` from `i` on, to write to.
#[inline(always)]
pub fn at_mut<const N: usize>(v: &mut [f64], i: usize) -> &mut [f64; N] {
    debug_assert!(i + N <= v.len());
    // SAFETY: as for `at`.
    unsafe { &mut *v.as_mut_ptr().add(i).cast() }
}

/// R rows of C numbers, `stride` apart, from `first` on.
#[inline(always)]
pub fn rows<const R: usize, const C: usize>(v: &[f64], first: usize, stride: usize) -> [[f64; C]; R] {
    let mut rows = [[0.0; C]; R]; // no `from_fn`: its closure would be compiled without the features of its caller
    for r in 0..R {
        rows[r] = *at(v, first + r * stride);
    }
    rows
}

/// C + A B.
#[inline(always)]
fn add_product<M: Machine, const R: usize, const K: usize, const C: usize>(
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
fn part<const P: usize, const R: usize, const C: usize>(w: &[[f64; P]; P], r: usize, c: usize) -> [[f64; C]; R] {
    let mut part = [[0.0; C]; R];
    for i in 0..R {
        for j in 0..C {
            part[i][j] = w[r + i][c + j];
        }
    }
    part
}

/// Whether the pivot `next`/`last` is finite and no less than a part of the magnitude.
#[inline(always)]
fn is_safe(next: f64, last: f64, magnitude: f64, safe: f64) -> bool {
    let least = safe * magnitude * last.abs();
    next.abs() >= least && least > 0.0 && next.abs() <= f64::MAX
}

/// The smallest pivot of a definite block, relative to its magnitude.
fn smallest_pivot<const P: usize>(d: &[[f64; P]; P], magnitude: &[f64; P]) -> f64 {
    let (mut w, mut smallest) = (*d, f64::INFINITY);
    for k in 0..P {
        smallest = smallest.min(w[k][k].abs() / magnitude[k]);
        for i in k + 1..P {
            let factor = w[i][k] / w[k][k];
            for j in k + 1..P {
                w[i][j] -= factor * w[k][j];
            }
        }
    }
    smallest
}

/// W⁻¹ without a search for pivots, and whether all of them were at least a part of their magnitudes.
#[inline(always)]
pub fn invert<M: Machine, const P: usize>(w: &[[f64; P]; P], magnitude: &[f64; P], safe: f64) -> ([[f64; P]; P], bool) {
    let mut inverse = [[0.0; P]; P];
    // P is a constant: one branch stays. Sizes up to three by cofactors, for one division.
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

/// [A B; C D]⁻¹ = [A⁻¹ + X S⁻¹ Y, −X S⁻¹; −S⁻¹ Y, S⁻¹], X = A⁻¹B, Y = C A⁻¹, S = D − C X.
#[inline(always)]
fn invert_by_parts<M: Machine, const P: usize, const N: usize, const K: usize>(
    w: &[[f64; P]; P],
    magnitude: &[f64; P],
    safe: f64,
    inverse: &mut [[f64; P]; P],
) -> bool {
    let (b, c): ([[f64; K]; N], [[f64; N]; K]) = (part(w, 0, N), part(w, N, 0));
    let (a, first) = invert::<M, N>(&part(w, 0, 0), at(magnitude, 0), safe);
    let x = add_product::<M, N, N, K>(&[[0.0; K]; N], &a, &b);
    let y = add_product::<M, K, N, N>(&[[0.0; N]; K], &c, &a);
    let schur = add_product::<M, K, N, K>(&part(w, N, N), &negative(&c), &x);
    let (s, second) = invert::<M, K>(&schur, at(magnitude, N), safe);
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

/// Copies the rows of a block of C columns, which begins at `first`.
#[inline(always)]
pub fn copy<const C: usize>(copy: &Copy, from: &[f64], first: usize, to: &mut [f64]) {
    for r in 0..copy.rows as usize {
        *at_mut::<C>(to, copy.to as usize + r * copy.stride as usize) = *at(from, first + r * C);
    }
}

/// C columns of D⁻¹ U, where U begins at `first` with rows `stride` apart.
#[inline(always)]
pub fn scaled<M: Machine, const P: usize, const C: usize>(
    inverse: &[[f64; P]; P],
    u: &[f64],
    first: usize,
    stride: usize,
) -> [M::Row<C>; P] {
    let mut scaled = [M::Row::<C>::zero(); P];
    for k in 0..P {
        let u = M::Row::<C>::load(u, first + k * stride);
        for r in 0..P {
            scaled[r] = scaled[r].plus(inverse[r][k], u);
        }
    }
    scaled
}

/// Subtracts B columns of L (D⁻¹U), from `column` on, from the places of the border rows.
#[inline(always)]
pub fn spread<M: Machine, const P: usize, const B: usize>(
    panel: &[f64],
    column: usize,
    width: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    let mut u = [M::Row::<B>::zero(); P];
    for r in 0..P {
        u[r] = Row::load(panel, column + r * width);
    }
    subtract::<M, P, B>(&panel[P * width..], &u, targets, later);
}

/// Subtracts the products of the rows of `lower`, P numbers each, with `upper` from their places.
#[inline(always)]
pub fn subtract<M: Machine, const P: usize, const B: usize>(
    lower: &[f64],
    upper: &[M::Row<B>; P],
    targets: &[u32],
    later: &mut [f64],
) {
    for (i, &to) in targets.iter().enumerate() {
        let mut x = M::Row::<B>::load(later, to as usize);
        for r in 0..P {
            x = x.minus(at::<1>(lower, P * i + r)[0], upper[r]);
        }
        x.store(later, to as usize);
    }
}

/// `spread` for any number of pivots.
#[inline(always)]
pub fn spread_wide<M: Machine, const B: usize>(
    panel: &[f64],
    column: usize,
    p: usize,
    width: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    let (upper, lower) = panel.split_at(p * width);
    tile_rows::<M, B>(lower, &upper[column..], p, width, targets, later);
}

/// Subtracts B columns of `lower` × `upper`, of p products each, from the places of the rows of `lower`. Rows of `upper`
/// are `stride` apart.
#[inline(always)]
pub fn tile_rows<M: Machine, const B: usize>(
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
        tile::<M, R, B>(&lower[first * p..], upper, p, stride, targets, later);
        first += R;
    }
    for targets in rows.remainder().chunks_exact(1) {
        tile::<M, 1, B>(&lower[first * p..], upper, p, stride, targets, later);
        first += 1;
    }
}

/// `tile_rows` for R rows.
#[inline(always)]
fn tile<M: Machine, const R: usize, const B: usize>(
    lower: &[f64],
    upper: &[f64],
    p: usize,
    width: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    let mut sum = [[0.0; B]; R];
    for k in 0..p {
        let u = at::<B>(upper, k * width);
        for r in 0..R {
            let l = at::<1>(lower, r * p + k)[0];
            for c in 0..B {
                sum[r][c] = M::fma(l, u[c], sum[r][c]);
            }
        }
    }
    for r in 0..R {
        let x = at_mut::<B>(later, targets[r] as usize);
        for c in 0..B {
            x[c] -= sum[r][c];
        }
    }
}

/// x −= sign Σ factors[k] rows[k], where the rows are `stride` apart.
#[inline(always)]
pub fn subtract_products<M: Machine>(x: &mut [f64], factors: &[f64], sign: f64, rows: &[f64], stride: usize) {
    for (k, factors) in factors.chunks(6).enumerate() {
        let rows = &rows[k * 6 * stride..];
        with_size!(factors.len(), 1 2 3 4 5; 6, N => subtract_rows::<M, N>(x, at(factors, 0), sign, rows, stride));
    }
}

#[inline(always)]
fn subtract_rows<M: Machine, const N: usize>(
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
            *x = M::fma(factors[k], at::<1>(rows[k], j)[0], *x);
        }
    }
}

/// The inversion of diagonal blocks, and what came of it.
#[derive(Default)]
pub struct Pivots {
    /// Elimination position of the node at hand.
    pub first: usize,
    /// The smallest pivot kept, relative to its magnitude, of those that needed a search.
    pub smallest: f64,
    /// The same over multipliers alone.
    pub closest: f64,
    /// Elimination positions of the rows dropped.
    pub dropped: Vec<usize>,
    /// Whether blocks of multipliers are definite, as in symmetric matrices.
    definite: bool,
    /// Whether the rows to drop are given, and which they are.
    frozen: bool,
    given: Vec<bool>,
    /// The last block inverted by `invert` or `search`.
    pub inverse: Vec<f64>,
    work: Vec<f64>,
    scale: Vec<f64>,
    /// Pivot row of every column, or none.
    row_of: Vec<usize>,
    row_used: Vec<bool>,
}

impl Pivots {
    /// For blocks of up to n rows of `dimension`, of which `droppable` in all may be dropped; those of multipliers may be
    /// `definite`.
    pub fn new(n: usize, dimension: usize, droppable: usize, definite: bool) -> Pivots {
        Pivots {
            definite,
            given: vec![false; dimension],
            dropped: Vec::with_capacity(droppable),
            inverse: vec![0.0; n * n],
            work: vec![0.0; n * n],
            scale: vec![0.0; n],
            row_of: vec![0; n],
            row_used: vec![false; n],
            ..Pivots::default()
        }
    }

    /// Begins a factorization.
    pub fn start(&mut self) {
        self.first = 0;
        self.smallest = SAFE;
        self.closest = SAFE;
        self.dropped.clear();
    }

    /// From now on rows are dropped by their pivots.
    pub fn decide(&mut self) {
        self.frozen = false;
    }

    /// From now on the rows dropped last are dropped, and no others.
    pub fn freeze(&mut self) {
        self.given.fill(false);
        self.dropped.iter().for_each(|&k| self.given[k] = true);
        self.frozen = true;
    }

    /// Whether the rows to drop are those of the last factorization.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// The part of its magnitude that a pivot needs to be taken without a search.
    #[inline(always)]
    fn safe(&self, class: Class) -> f64 {
        if self.frozen && self.definite && class == Class::Multiplier { SAFE_DEFINITE } else { SAFE }
    }

    /// Whether rows of a block were dropped before and are to be dropped again.
    #[inline(always)]
    fn holds_given(&self, first: usize, n: usize) -> bool {
        self.frozen && self.given[first..first + n].contains(&true)
    }

    /// D⁻¹ for the diagonal block of a node with one, which falls into parts of K rows.
    #[inline(always)]
    pub fn inverse<M: Machine, const P: usize, const K: usize>(
        &mut self,
        d: &[[f64; P]; P],
        magnitude: &[f64; P],
        class: Class,
    ) -> Result<[[f64; P]; P], LinearError> {
        let given = self.holds_given(self.first, P);
        if given
            && class == Class::Multiplier
            && let Some(inverse) = self.without_given::<P>(d, magnitude)
        {
            return Ok(inverse);
        }
        // rows of a definite block that depend on others show in any order of its pivots
        let definite = self.definite && class == Class::Multiplier;
        let part_of = if definite { SAFE_DEFINITE } else { SAFE };
        let (mut inverse, mut safe) = ([[0.0; P]; P], true);
        for k in (0..P).step_by(K) {
            let (part, is_safe) = invert::<M, K>(&part(d, k, k), at(magnitude, k), part_of);
            for i in 0..K {
                inverse[k + i][k..k + K].copy_from_slice(&part[i]);
            }
            safe &= is_safe;
        }
        if safe && !given {
            if definite && !self.frozen {
                self.closest = self.closest.min(smallest_pivot(d, magnitude));
            }
            return Ok(inverse);
        }
        self.search(0, d.as_flattened(), P, P, magnitude, class)?;
        Ok(rows(&self.inverse, 0, P))
    }

    /// The inverse of the rows that were not dropped before, zero in the others; none if a pivot is not safe.
    fn without_given<const P: usize>(&mut self, d: &[[f64; P]; P], magnitude: &[f64; P]) -> Option<[[f64; P]; P]> {
        let (mut d, mut magnitude) = (*d, *magnitude);
        let given: [bool; P] = std::array::from_fn(|r| self.given[self.first + r]);
        for r in (0..P).filter(|&r| given[r]) {
            for c in 0..P {
                (d[r][c], d[c][r]) = (0.0, 0.0);
            }
            (d[r][r], magnitude[r]) = (1.0, 1.0);
        }
        // not fused: this is compiled for any processor, where that would be a call
        let (mut inverse, safe) = invert::<Plain<false>, P>(&d, &magnitude, self.safe(Class::Multiplier));
        if !safe {
            return None;
        }
        for r in (0..P).filter(|&r| given[r]) {
            inverse[r][r] = 0.0;
            self.dropped.push(self.first + r);
        }
        Some(inverse)
    }

    /// `inverse` ← D⁻¹ for the block `d` of n rows, `stride` apart, that begins with pivot k of its node.
    pub fn invert(
        &mut self,
        k: usize,
        d: &[f64],
        stride: usize,
        n: usize,
        magnitude: &[f64],
        class: Class,
    ) -> Result<(), LinearError> {
        let (part, mut safe) = (self.safe(class), true);
        let w = &mut self.inverse[..n * n];
        for i in 0..n {
            w[i * n..(i + 1) * n].copy_from_slice(&d[i * stride..i * stride + n]);
        }
        for k in 0..n {
            safe &= is_safe(w[k * n + k], 1.0, magnitude[k], part);
            exchange(w, n, k, k);
        }
        if safe && !self.holds_given(self.first + k, n) {
            return Ok(());
        }
        self.search(k, d, stride, n, magnitude, class)
    }

    /// `invert` by Gauss–Jordan exchanges with complete pivoting, relative to the magnitudes of row
    /// and column. Rows without a usable pivot, or those given, are dropped if the class allows that;
    /// their unknowns come out zero. Rows in errors are elimination positions.
    #[cold]
    pub fn search(
        &mut self,
        k: usize,
        d: &[f64],
        stride: usize,
        n: usize,
        magnitude: &[f64],
        class: Class,
    ) -> Result<(), LinearError> {
        let first = self.first + k;
        let w = &mut self.work[..n * n];
        for i in 0..n {
            w[i * n..(i + 1) * n].copy_from_slice(&d[i * stride..i * stride + n]);
        }
        for i in 0..n {
            let row = w[i * n..(i + 1) * n].iter().fold(0.0, |m: f64, a| m.max(a.abs()));
            if !row.is_finite() || w[i * n..(i + 1) * n].iter().any(|a| a.is_nan()) {
                return Err(LinearError::NotFinite { row: first + i });
            }
            let scale = if magnitude[i] > 0.0 { magnitude[i] } else { row };
            self.scale[i] = if scale > 0.0 { scale.sqrt().recip() } else { 0.0 };
        }
        let given = |r: usize| self.frozen && self.given[first + r];
        let least = match class {
            Class::Multiplier if self.frozen => LOST,
            Class::Multiplier => REDUNDANT,
            _ => 0.0,
        };
        self.row_used[..n].fill(false);
        self.row_of[..n].fill(usize::MAX);
        let mut smallest = f64::INFINITY;
        for _ in 0..n {
            let mut best = (0.0, 0, 0);
            for r in (0..n).filter(|&r| !self.row_used[r] && !given(r)) {
                for c in (0..n).filter(|&c| self.row_of[c] == usize::MAX && !given(c)) {
                    let size = w[r * n + c].abs() * self.scale[r] * self.scale[c];
                    if size > best.0 {
                        best = (size, r, c);
                    }
                }
            }
            let (size, r, c) = best;
            if size == 0.0 || size < least {
                break;
            }
            smallest = smallest.min(size);
            self.row_used[r] = true;
            self.row_of[c] = r;
            exchange(w, n, r, c);
        }
        for row in (0..n).filter(|&r| !self.row_used[r]) {
            // a row that was needed before has lost its pivot: which to drop is to be decided anew
            if class != Class::Multiplier || (self.frozen && !given(row)) {
                return Err(LinearError::Singular { row: first + row });
            }
            self.dropped.push(first + row);
        }
        // Row r of w now speaks of the unknown c it was exchanged with, column c of the row r.
        self.inverse[..n * n].fill(0.0);
        for c in 0..n {
            for k in 0..n {
                let (r, s) = (self.row_of[c], self.row_of[k]);
                if r != usize::MAX && s != usize::MAX {
                    self.inverse[c * n + s] = w[r * n + k];
                }
            }
        }
        self.smallest = self.smallest.min(smallest);
        if class == Class::Multiplier {
            self.closest = self.closest.min(smallest);
        }
        Ok(())
    }
}

/// Exchanges unknown c with right-hand side r in y = W x.
#[inline]
fn exchange(w: &mut [f64], n: usize, r: usize, c: usize) {
    let inverse = w[r * n + c].recip();
    for j in 0..n {
        w[r * n + j] *= inverse;
    }
    w[r * n + c] = inverse;
    for i in (0..n).filter(|&i| i != r) {
        let factor = w[i * n + c];
        w[i * n + c] = 0.0;
        for j in 0..n {
            w[i * n + j] -= factor * w[r * n + j];
        }
    }
}
