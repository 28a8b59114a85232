//! Pivots of the diagonal blocks: inversion, rank decisions, rows to drop.
//!
//! A pivot is judged relative to its *magnitude*, Σ |contributions| to its diagonal entry.

use super::inverse::{invert, is_safe, part};
use crate::{
    linear::{
        blocks::Class,
        interface::LinearError,
        lanes::{Instructions, Plain},
        unchecked::at,
    },
    numbers::largest,
    tape::Tape,
};

/// A multiplier's pivot below this fraction of its magnitude is noise: its constraint is redundant. Redundant rows were seen
/// at 2e-15, independent ones at 0.1.
const REDUNDANT: f64 = 1e-9;

/// While the rank is frozen, a pivot to keep may fall to this fraction before it is lost in rounding.
const LOST: f64 = 1e-13;

/// Diagonal pivots above this fraction of their magnitude are taken without a search for a better one.
const SAFE: f64 = 0.02;

/// The same for multipliers of a symmetric matrix, whose blocks are definite, while the rows to drop are frozen: a smaller
/// pivot means close to singular, and is reported.
const SAFE_DEFINITE: f64 = 1e-4;

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

/// Inverts diagonal blocks, and keeps a record of their pivots.
#[derive(Default)]
pub struct Pivots {
    /// Elimination position of the current node.
    pub first: usize,
    /// The smallest pivot kept, relative to its magnitude, of those that needed a search.
    pub smallest: f64,
    /// The same over multipliers alone.
    pub closest: f64,
    /// Elimination positions of the dropped rows.
    pub dropped: Vec<usize>,
    /// Whether blocks of multipliers are definite, as in symmetric matrices.
    definite: bool,
    /// Whether the rows to drop are fixed.
    frozen: bool,
    /// Whether some rows must be dropped, and which they are: those told, or all of the last factorization.
    holding: bool,
    given: Vec<bool>,
    /// Elimination positions of rows that are left out always, where it is known which are redundant.
    told: Option<Vec<usize>>,
    /// The last block inverted by `invert` or `search`.
    pub inverse: Vec<f64>,
    scratch: Scratch,
}

/// Room for `Pivots::search`.
#[derive(Default)]
struct Scratch {
    work: Vec<f64>,
    scale: Vec<f64>,
    /// Pivot row of every column, or `usize::MAX`.
    row_of: Vec<usize>,
    row_used: Vec<bool>,
    /// Rows and columns that may still have a pivot, ascending.
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Pivots {
    /// Tells a tape what the next factorization goes by.
    pub fn keep(&mut self, tape: &mut Tape) {
        tape.number(&mut self.smallest);
        tape.number(&mut self.closest);
        tape.plain(&mut self.dropped);
        tape.flag(&mut self.frozen);
        tape.plain(&mut self.given);
        tape.fixed(&mut self.inverse);
    }

    /// For blocks of up to `n` rows of `dimension`, of which up to `droppable` may be dropped in all. `definite`: blocks of
    /// multipliers are.
    pub fn new(n: usize, dimension: usize, droppable: usize, definite: bool) -> Pivots {
        Pivots {
            definite,
            given: vec![false; dimension],
            dropped: Vec::with_capacity(droppable),
            inverse: vec![0.0; n * n],
            scratch: Scratch {
                work: vec![0.0; n * n],
                scale: vec![0.0; n],
                row_of: vec![0; n],
                row_used: vec![false; n],
                rows: Vec::with_capacity(n),
                columns: Vec::with_capacity(n),
            },
            ..Pivots::default()
        }
    }

    /// Starts a factorization.
    pub fn start(&mut self) {
        self.first = 0;
        self.smallest = SAFE;
        self.closest = SAFE;
        self.dropped.clear();
    }

    /// From now on, pivots decide which rows are dropped.
    pub fn decide(&mut self) {
        self.frozen = false;
        let told = self.told.as_deref().unwrap_or_default();
        self.holding = !told.is_empty();
        if self.holding {
            self.given.fill(false);
            told.iter().for_each(|&k| self.given[k] = true);
        }
    }

    /// From now on, the rows at these elimination positions are dropped, whatever their pivots, and others only where they are
    /// lost; with none given pivots decide.
    pub fn leave_out(&mut self, told: Option<Vec<usize>>) {
        self.told = told;
        // what was frozen is so no longer
        self.decide();
    }

    /// From now on, exactly the rows dropped last are dropped.
    pub fn freeze(&mut self) {
        self.given.fill(false);
        self.dropped.iter().for_each(|&k| self.given[k] = true);
        (self.frozen, self.holding) = (true, true);
    }

    /// Whether the rows to drop are fixed.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// The fraction of its magnitude above which a pivot is taken without a search.
    #[inline(always)]
    fn safe(&self, class: Class) -> f64 {
        if self.frozen && self.definite && class == Class::Multiplier { SAFE_DEFINITE } else { SAFE }
    }

    /// Whether some of the n rows from `first` on must be dropped again.
    #[inline(always)]
    fn holds_given(&self, first: usize, n: usize) -> bool {
        self.holding && self.given[first..first + n].contains(&true)
    }

    /// D⁻¹ for a node of one diagonal block, which is block-diagonal with blocks of K rows; K divides P.
    #[inline(always)]
    pub fn inverse<M: Instructions, const P: usize, const K: usize>(
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
        // a definite block shows dependent rows in any order of its pivots
        let definite = self.definite && class == Class::Multiplier;
        let threshold = if definite { SAFE_DEFINITE } else { SAFE };
        let (mut inverse, mut safe) = ([[0.0; P]; P], true);
        for k in (0..P).step_by(K) {
            // SAFETY: K divides P.
            let magnitude = unsafe { at(magnitude, k) };
            let (part, is_safe) = invert::<M, K>(&part(d, k, k), magnitude, threshold);
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
        let mut inverse = [[0.0; P]; P];
        inverse.iter_mut().zip(self.inverse.chunks_exact(P)).for_each(|(row, from)| row.copy_from_slice(from));
        Ok(inverse)
    }

    /// The inverse of the rows that stay, zero in those dropped before; `None` if a pivot is not safe.
    fn without_given<const P: usize>(&mut self, d: &[[f64; P]; P], magnitude: &[f64; P]) -> Option<[[f64; P]; P]> {
        let (mut d, mut magnitude) = (*d, *magnitude);
        let given: [bool; P] = std::array::from_fn(|r| self.given[self.first + r]);
        for r in (0..P).filter(|&r| given[r]) {
            for c in 0..P {
                (d[r][c], d[c][r]) = (0.0, 0.0);
            }
            (d[r][r], magnitude[r]) = (1.0, 1.0);
        }
        // not fused: this is compiled for any processor, where a fused product would be a function call
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

    /// `inverse` ← D⁻¹ for the block `d` of n rows, `stride` apart, which begins with pivot k of its node.
    pub fn invert(
        &mut self,
        k: usize,
        d: &[f64],
        stride: usize,
        n: usize,
        magnitude: &[f64],
        class: Class,
    ) -> Result<(), LinearError> {
        let (threshold, mut safe) = (self.safe(class), true);
        let w = &mut self.inverse[..n * n];
        for i in 0..n {
            w[i * n..(i + 1) * n].copy_from_slice(&d[i * stride..i * stride + n]);
        }
        for k in 0..n {
            safe &= is_safe(w[k * n + k], 1.0, magnitude[k], threshold);
            exchange(w, n, k, k);
        }
        if safe && !self.holds_given(self.first + k, n) {
            return Ok(());
        }
        self.search(k, d, stride, n, magnitude, class)
    }

    /// `invert` by Gauss–Jordan exchanges with complete pivoting, relative to the magnitudes of row and column. Rows without a
    /// usable pivot, and those given, are dropped if the class allows it; their unknowns come out zero. Rows in errors are
    /// elimination positions.
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
        let Scratch { work, scale: scales, row_of, row_used, rows, columns } = &mut self.scratch;
        let w = &mut work[..n * n];
        for i in 0..n {
            w[i * n..(i + 1) * n].copy_from_slice(&d[i * stride..i * stride + n]);
        }
        for i in 0..n {
            let row = largest(&w[i * n..(i + 1) * n]);
            if !row.is_finite() || w[i * n..(i + 1) * n].iter().any(|a| a.is_nan()) {
                return Err(LinearError::NotFinite { row: first + i });
            }
            let scale = if magnitude[i] > 0.0 { magnitude[i] } else { row };
            scales[i] = if scale > 0.0 { scale.sqrt().recip() } else { 0.0 };
        }
        let given = |r: usize| self.holding && self.given[first + r];
        let least = match class {
            Class::Multiplier if self.frozen => LOST,
            Class::Multiplier => REDUNDANT,
            _ => 0.0,
        };
        row_used[..n].fill(false);
        row_of[..n].fill(usize::MAX);
        for left in [&mut *rows, &mut *columns] {
            left.clear();
            left.extend((0..n).filter(|&i| !given(i)));
        }
        let mut smallest = f64::INFINITY;
        for _ in 0..n {
            let mut best = (0.0, 0, 0);
            for &r in rows.iter() {
                let (row, scale) = (&w[r * n..(r + 1) * n], scales[r]);
                for &c in columns.iter() {
                    let size = row[c].abs() * scale * scales[c];
                    if size > best.0 {
                        best = (size, r, c);
                    }
                }
            }
            let (size, r, c) = best;
            if size == 0.0 || size < least {
                break;
            }
            (smallest, row_used[r], row_of[c]) = (smallest.min(size), true, r);
            rows.retain(|&left| left != r);
            columns.retain(|&left| left != c);
            exchange(w, n, r, c);
        }
        for row in (0..n).filter(|&r| !row_used[r]) {
            // a row that was kept before has lost its pivot: the rank must be decided anew
            if class != Class::Multiplier || (self.frozen && !given(row)) {
                return Err(LinearError::Singular { row: first + row });
            }
            self.dropped.push(first + row);
        }
        // Row r of w now belongs to the unknown c it was exchanged with, column c to the row r.
        self.inverse[..n * n].fill(0.0);
        for c in 0..n {
            for k in 0..n {
                let (r, s) = (row_of[c], row_of[k]);
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

/// Exchanges unknown c with right-hand side r in y = W x: one step of Gauss–Jordan elimination. Common sizes are compile-time
/// constants.
#[inline]
fn exchange(w: &mut [f64], n: usize, r: usize, c: usize) {
    match n {
        2 => exchange_within(w, 2, r, c),
        3 => exchange_within(w, 3, r, c),
        4 => exchange_within(w, 4, r, c),
        5 => exchange_within(w, 5, r, c),
        6 => exchange_within(w, 6, r, c),
        _ => exchange_within(w, n, r, c),
    }
}

#[inline(always)]
fn exchange_within(w: &mut [f64], n: usize, r: usize, c: usize) {
    let inverse = w[r * n + c].recip();
    for x in &mut w[r * n..r * n + n] {
        *x *= inverse;
    }
    w[r * n + c] = inverse;
    let (before, rest) = w.split_at_mut(r * n);
    let (own, after) = rest.split_at_mut(n);
    for row in before.chunks_exact_mut(n).chain(after.chunks_exact_mut(n)) {
        let factor = std::mem::take(&mut row[c]);
        for (x, own) in row.iter_mut().zip(&*own) {
            *x -= factor * own;
        }
    }
}
