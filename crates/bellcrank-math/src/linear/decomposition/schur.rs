//! The real Schur form: Hessenberg by reflections, then implicit double shifts [Francis 1961; Golub & Van Loan 2013, 7.4–7.5].

use super::householder::{Reflections, reflect};
use super::{NotConverged, add, dot, turn, two_rows};

/// Francis steps for one eigenvalue or pair; two to three are the rule.
const MOST_STEPS: usize = 300;

/// After so many steps without success a shift of another kind breaks a cycle.
const STEPS_IN_VAIN: usize = 10;

/// A = Z T Zᵀ with orthogonal Z, and T upper triangular but for 2×2 blocks of conjugate pairs.
pub(super) struct Schur {
    pub n: usize,
    /// T by rows.
    pub t: Vec<f64>,
    /// The columns of Z, one after the other.
    pub z: Vec<f64>,
}

impl Schur {
    pub(super) fn new(a: &[f64], n: usize) -> Result<Schur, NotConverged> {
        let mut s = hessenberg(a, n);
        let mut end = n;
        let mut steps = 0;
        while end > 0 {
            let start = s.start_of_block(end);
            match end - start {
                1 => (end, steps) = (start, 0),
                2 => {
                    s.split_pair(start);
                    (end, steps) = (start, 0);
                }
                _ if steps == MOST_STEPS => return Err(NotConverged),
                _ => {
                    steps += 1;
                    s.francis_step(start, end, steps);
                }
            }
        }
        Ok(s)
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.t[i * self.n + j]
    }

    /// Where the last block that does not fall apart begins; what is negligible below the diagonal becomes zero.
    fn start_of_block(&mut self, end: usize) -> usize {
        for k in (1..end).rev() {
            let beside = self.at(k - 1, k - 1).abs() + self.at(k, k).abs();
            let beside = if beside > 0.0 { beside } else { self.norm_of_rows(end) };
            if self.at(k, k - 1).abs() <= f64::EPSILON * beside {
                self.t[k * self.n + k - 1] = 0.0;
                return k;
            }
        }
        0
    }

    fn norm_of_rows(&self, end: usize) -> f64 {
        self.t[..end * self.n].iter().map(|a| a.abs()).fold(0.0, f64::max)
    }

    /// Sum and product of the two shifts: the eigenvalues of the last 2×2 block, or others when they lead in a circle.
    fn shifts(&self, start: usize, end: usize, steps: usize) -> (f64, f64) {
        let (k, l) = (end - 2, end - 1);
        if steps.is_multiple_of(STEPS_IN_VAIN) {
            let below = |i: usize| if i > start { self.at(i, i - 1).abs() } else { 0.0 };
            let size = below(l) + below(l - 1);
            let centre = if steps.is_multiple_of(2 * STEPS_IN_VAIN) { self.at(start, start) } else { self.at(l, l) };
            let shift = centre + 0.75 * size;
            return (2.0 * shift, shift * shift + 0.4375 * size * size);
        }
        let (a, b, c, d) = (self.at(k, k), self.at(k, l), self.at(l, k), self.at(l, l));
        (a + d, a * d - b * c)
    }

    /// One step on rows and columns `start..end`: a bulge of 3×3 is chased down the subdiagonal.
    fn francis_step(&mut self, start: usize, end: usize, steps: usize) {
        let (sum, product) = self.shifts(start, end, steps);
        let h = |i: usize, j: usize| self.at(start + i, start + j);
        // the first column of (H − σ₁)(H − σ₂), divided by its common factor h₁₀
        let mut x =
            [(h(0, 0) * h(0, 0) - sum * h(0, 0) + product) / h(1, 0) + h(0, 1), h(0, 0) + h(1, 1) - sum, h(2, 1)];
        for k in start..end - 1 {
            let size = 3.min(end - k);
            if k > start {
                x = [self.at(k, k - 1), self.at(k + 1, k - 1), if size == 3 { self.at(k + 2, k - 1) } else { 0.0 }];
            }
            let of = reflect(&mut x[..size]);
            if k > start {
                self.t[k * self.n + k - 1] = of.beta;
                (1..size).for_each(|i| self.t[(k + i) * self.n + k - 1] = 0.0);
            }
            if of.tau == 0.0 {
                continue;
            }
            let w = if size == 3 { [1.0, x[1], x[2]] } else { [1.0, x[1], 0.0] };
            self.reflect_rows(k, size, &w, of.tau);
            self.reflect_columns(k, size, &w, of.tau, (k + 4).min(end));
        }
    }

    /// Rows k … of T from column k on, and columns k … of Z.
    fn reflect_rows(&mut self, k: usize, size: usize, w: &[f64; 3], tau: f64) {
        let n = self.n;
        for (a, from) in [(&mut self.t, k), (&mut self.z, 0)] {
            let (x, rest) = a[k * n..(k + size) * n].split_at_mut(n);
            let (y, z) = rest.split_at_mut(n);
            let (x, y) = (&mut x[from..], &mut y[from..]);
            if size == 2 {
                for (x, y) in x.iter_mut().zip(y) {
                    let s = tau * (*x + w[1] * *y);
                    *x -= s;
                    *y -= s * w[1];
                }
                continue;
            }
            for ((x, y), z) in x.iter_mut().zip(y).zip(&mut z[from..]) {
                let s = tau * (*x + w[1] * *y + w[2] * *z);
                *x -= s;
                *y -= s * w[1];
                *z -= s * w[2];
            }
        }
    }

    /// Columns k … of T, in the rows before `end`.
    fn reflect_columns(&mut self, k: usize, size: usize, w: &[f64; 3], tau: f64, end: usize) {
        for row in self.t.chunks_exact_mut(self.n).take(end) {
            if let Some([x, y, z]) = row.get_mut(k..k + 3).filter(|_| size == 3) {
                let s = tau * (*x + w[1] * *y + w[2] * *z);
                *x -= s;
                *y -= s * w[1];
                *z -= s * w[2];
            } else if let [x, y] = &mut row[k..k + 2] {
                let s = tau * (*x + w[1] * *y);
                *x -= s;
                *y -= s * w[1];
            }
        }
    }

    /// Turns a 2×2 block with real eigenvalues into a triangle.
    fn split_pair(&mut self, k: usize) {
        let (a, b, c, d) = (self.at(k, k), self.at(k, k + 1), self.at(k + 1, k), self.at(k + 1, k + 1));
        let half = 0.5 * (a - d);
        let under = half * half + b * c;
        if under < 0.0 || c == 0.0 {
            return;
        }
        // (λ − d, c) is the eigenvector of λ = d + half ± √under, the larger one
        let x = half + under.sqrt().copysign(half);
        let size = x.hypot(c);
        let (cos, sin) = (x / size, c / size);
        let n = self.n;
        let (above, below) = two_rows(&mut self.t, n, k, k + 1);
        turn(&mut above[k..], &mut below[k..], cos, -sin);
        let (above, below) = two_rows(&mut self.z, n, k, k + 1);
        turn(above, below, cos, -sin);
        for row in self.t.chunks_exact_mut(n).take(k + 2) {
            let (x, y) = (row[k], row[k + 1]);
            (row[k], row[k + 1]) = (cos * x + sin * y, cos * y - sin * x);
        }
        self.t[(k + 1) * n + k] = 0.0;
    }
}

/// H = Zᵀ A Z with zeros below the subdiagonal.
fn hessenberg(a: &[f64], n: usize) -> Schur {
    let mut t = a.to_vec();
    let mut z = Reflections::new(n, 1);
    for k in 0..n.saturating_sub(2) {
        let mut w: Vec<f64> = (k + 1..n).map(|i| t[i * n + k]).collect();
        let of = reflect(&mut w);
        if of.tau != 0.0 {
            let mut sums = vec![0.0; n - k];
            for (w, row) in w.iter().zip(t[(k + 1) * n..].chunks_exact(n)) {
                add(&mut sums, *w, &row[k..]);
            }
            for (w, row) in w.iter().zip(t[(k + 1) * n..].chunks_exact_mut(n)) {
                add(&mut row[k..], -of.tau * w, &sums);
            }
            for row in t.chunks_exact_mut(n) {
                let s = of.tau * dot(&row[k + 1..], &w);
                add(&mut row[k + 1..], -s, &w);
            }
        }
        t[(k + 1) * n + k] = of.beta;
        (k + 2..n).for_each(|i| t[i * n + k] = 0.0);
        z.push(of, &w);
    }
    Schur { n, t, z: z.columns() }
}
