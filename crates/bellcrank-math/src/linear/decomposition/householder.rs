//! Reflections, and QR with column pivoting [Golub & Van Loan 2013, 5.1 and 5.4].

use super::{add, dot, transposed, unit};
use crate::numbers::largest;

/// The reflection I − τ w wᵀ, w₀ = 1, that maps x to (β, 0, …). The rest of w replaces that of x.
pub(super) struct Reflection {
    /// τ; zero where x has its form already.
    pub tau: f64,
    /// ±|x|.
    pub beta: f64,
}

/// Finds the reflection of x, and leaves w in its place.
pub(super) fn reflect(x: &mut [f64]) -> Reflection {
    let size = x.get(1..).map_or(0.0, largest);
    if size == 0.0 {
        let beta = x.first().copied().unwrap_or(0.0);
        return Reflection { tau: 0.0, beta };
    }
    let scale = size.max(x[0].abs());
    x.iter_mut().for_each(|x| *x /= scale);
    let beta = -dot(x, x).sqrt().copysign(x[0]);
    let (tau, pivot) = ((beta - x[0]) / beta, x[0] - beta);
    x.iter_mut().for_each(|x| *x /= pivot);
    x[0] = 1.0;
    Reflection { tau, beta: beta * scale }
}

impl Reflection {
    /// y ← (I − τ w wᵀ) y.
    pub(super) fn apply(&self, w: &[f64], y: &mut [f64]) {
        if self.tau != 0.0 {
            add(y, -self.tau * dot(w, y), w);
        }
    }
}

/// Reflections one after the other, the k-th acting on coordinates from `first + k` on; their vectors are the rows of a matrix.
pub(super) struct Reflections {
    n: usize,
    first: usize,
    vectors: Vec<f64>,
    of: Vec<Reflection>,
}

impl Reflections {
    pub(super) fn new(n: usize, first: usize) -> Reflections {
        Reflections { n, first, vectors: Vec::new(), of: Vec::new() }
    }

    /// Adds the next reflection, whose vector starts at its first coordinate.
    pub(super) fn push(&mut self, of: Reflection, w: &[f64]) {
        self.vectors.resize(self.vectors.len() + self.n - w.len(), 0.0);
        self.vectors.extend_from_slice(w);
        self.of.push(of);
    }

    /// The product Q of all of them, transposed: its columns one after the other.
    pub(super) fn columns(&self) -> Vec<f64> {
        let n = self.n;
        let mut q = unit(n);
        for (k, of) in self.of.iter().enumerate().rev() {
            let from = self.first + k;
            let w = &self.vectors[k * n + from..(k + 1) * n];
            // the columns before are still those of the unit matrix, and zero where this one acts
            q.chunks_exact_mut(n).skip(from).for_each(|column| of.apply(w, &mut column[from..]));
        }
        q
    }
}

/// Q R = Aᵀ P.
pub(super) struct PivotedQr {
    /// The columns of the square Q, one after the other.
    pub q: Vec<f64>,
    /// R by rows, as many as the smaller dimension of A.
    pub r: Vec<f64>,
    /// The row of A at each column of R.
    pub order: Vec<usize>,
}

/// QR of Aᵀ: the row of A with the largest rest is next. Norms are updated, and computed anew where they have lost half of
/// their digits.
pub(super) fn pivoted_qr(a: &[f64], rows: usize, columns: usize) -> PivotedQr {
    let mut a = a.to_vec();
    let rank = rows.min(columns);
    let mut order: Vec<usize> = (0..rows).collect();
    let norm = |x: &[f64]| {
        let scale = largest(x);
        if scale > 0.0 { scale * x.iter().map(|x| (x / scale) * (x / scale)).sum::<f64>().sqrt() } else { 0.0 }
    };
    let mut rest: Vec<(f64, f64)> = a.chunks_exact(columns).map(|row| (norm(row), norm(row))).collect();
    let mut reflections = Reflections::new(columns, 0);
    for k in 0..rank {
        let next = (k..rows).rev().max_by(|i, j| rest[*i].0.total_cmp(&rest[*j].0)).unwrap_or(k);
        if next != k {
            (0..columns).for_each(|j| a.swap(k * columns + j, next * columns + j));
            order.swap(k, next);
            rest.swap(k, next);
        }
        let (done, open) = a.split_at_mut((k + 1) * columns);
        let pivot = &mut done[k * columns + k..];
        let of = reflect(pivot);
        for (row, rest) in open.chunks_exact_mut(columns).zip(&mut rest[k + 1..]) {
            of.apply(pivot, &mut row[k..]);
            if rest.0 > 0.0 {
                let part = row[k] / rest.0;
                rest.0 *= (1.0 - part * part).max(0.0).sqrt();
                if (rest.0 / rest.1).powi(2) <= f64::EPSILON.sqrt() {
                    *rest = (norm(&row[k + 1..]), norm(&row[k + 1..]));
                }
            }
        }
        let beta = of.beta;
        reflections.push(of, pivot);
        pivot.fill(0.0);
        pivot[0] = beta;
    }
    let r = transposed(&a, rows, columns);
    PivotedQr { q: reflections.columns(), r: r[..rank * rows].to_vec(), order }
}

/// QR of Aᵀ with column pivoting: Q by rows, and the diagonal of R.
pub(in super::super) fn transposed_pivoted_qr(a: &[f64], rows: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
    let qr = pivoted_qr(a, rows, columns);
    let diagonal = (0..rows.min(columns)).map(|k| qr.r[k * rows + k]).collect();
    (transposed(&qr.q, columns, columns), diagonal)
}
