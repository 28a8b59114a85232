//! Eigenvalues and eigenvectors of any square matrix, from its Schur form [Golub & Van Loan 2013, 7.6].

use super::schur::Schur;
use super::{NotConverged, add, dot};
use crate::numbers::largest;

/// An eigenvalue with its right eigenvector.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigenpair {
    /// Real and imaginary part.
    pub value: (f64, f64),
    /// Real parts of the eigenvector.
    pub re: Vec<f64>,
    /// Imaginary parts of the eigenvector.
    pub im: Vec<f64>,
}

/// The eigenvalues, of a conjugate pair only the one with the positive imaginary part, and their eigenvectors of length one.
pub(in super::super) fn eigen(a: &[f64], n: usize) -> Result<Vec<Eigenpair>, NotConverged> {
    Ok(pairs(&Schur::new(a, n)?))
}

fn pairs(of: &Schur) -> Vec<Eigenpair> {
    let n = of.n;
    let norm = largest(&of.t).max(f64::MIN_POSITIVE);
    let mut out = Vec::new();
    let mut k = 0;
    while k < n {
        let size = block(of, k);
        let mut x =
            Vector { re: vec![0.0; n], im: vec![0.0; n], value: (of.t[k * n + k], 0.0), least: f64::EPSILON * norm };
        if size == 1 {
            x.re[k] = 1.0;
        } else {
            let at = |i: usize, j: usize| of.t[(k + i) * n + k + j];
            let half = 0.5 * (at(0, 0) - at(1, 1));
            // of a pair that rounding left without an imaginary part, the tiniest one
            let im = (-(half * half + at(0, 1) * at(1, 0))).max(f64::MIN_POSITIVE).sqrt();
            x.value = (at(1, 1) + half, im);
            // (b, λ − a) or (λ − d, c)
            if at(0, 1).abs() > at(1, 0).abs() {
                (x.re[k], x.re[k + 1], x.im[k + 1]) = (at(0, 1), -half, im);
            } else {
                (x.re[k], x.im[k], x.re[k + 1]) = (half, im, at(1, 0));
            }
        }
        x.substitute(of, k);
        out.push(x.back(of, k + size));
        k += size;
    }
    out
}

/// How many rows the diagonal block that begins at k has.
fn block(of: &Schur, k: usize) -> usize {
    if k + 1 < of.n && of.t[(k + 1) * of.n + k] != 0.0 { 2 } else { 1 }
}

/// An eigenvector of T, of which the last entries are known.
struct Vector {
    re: Vec<f64>,
    im: Vec<f64>,
    value: (f64, f64),
    /// Differences of eigenvalues below this are this.
    least: f64,
}

impl Vector {
    /// (T − λ) x = 0 for the entries before k, upwards.
    fn substitute(&mut self, of: &Schur, k: usize) {
        let n = of.n;
        let mut end = k;
        while end > 0 {
            let single = end == 1 || of.t[(end - 1) * n + end - 2] == 0.0;
            let i = if single { end - 1 } else { end - 2 };
            let rest = |i: usize, x: &[f64]| -dot(&of.t[i * n + end..(i + 1) * n], &x[end..]);
            let shifted = |i: usize| (of.t[i * n + i] - self.value.0, -self.value.1);
            if single {
                let x = over((rest(i, &self.re), rest(i, &self.im)), self.apart(shifted(i)));
                (self.re[i], self.im[i]) = x;
            } else {
                let (f, g) = ((rest(i, &self.re), rest(i, &self.im)), (rest(i + 1, &self.re), rest(i + 1, &self.im)));
                let (a, d, b, c) = (shifted(i), shifted(i + 1), of.t[i * n + i + 1], of.t[(i + 1) * n + i]);
                let ad = times(a, d);
                let determinant = (ad.0 - b * c, ad.1);
                // a difference of eigenvalues times about the size of the block
                let size = a.0.hypot(a.1) + b.abs() + c.abs() + d.0.hypot(d.1);
                let determinant = if determinant.0.hypot(determinant.1) < self.least * size {
                    (self.least * size, 0.0)
                } else {
                    determinant
                };
                let (df, ag) = (times(d, f), times(a, g));
                let x = over((df.0 - b * g.0, df.1 - b * g.1), determinant);
                let y = over((ag.0 - c * f.0, ag.1 - c * f.1), determinant);
                (self.re[i], self.im[i], self.re[i + 1], self.im[i + 1]) = (x.0, x.1, y.0, y.1);
            }
            let size = largest(&self.re[i..end]).max(largest(&self.im[i..end]));
            if size > 1e100 {
                self.re[i..].iter_mut().chain(&mut self.im[i..]).for_each(|x| *x /= size);
            }
            end = i;
        }
    }

    fn apart(&self, difference: (f64, f64)) -> (f64, f64) {
        if difference.0.hypot(difference.1) < self.least { (self.least, 0.0) } else { difference }
    }

    /// Z x, scaled to length one.
    fn back(self, of: &Schur, known: usize) -> Eigenpair {
        let n = of.n;
        let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
        for (j, z) in of.z.chunks_exact(n).take(known).enumerate() {
            add(&mut re, self.re[j], z);
            add(&mut im, self.im[j], z);
        }
        let scale = largest(&re).max(largest(&im)).max(f64::MIN_POSITIVE);
        re.iter_mut().chain(&mut im).for_each(|x| *x /= scale);
        let length = (dot(&re, &re) + dot(&im, &im)).sqrt();
        re.iter_mut().chain(&mut im).for_each(|x| *x /= length);
        Eigenpair { value: self.value, re, im }
    }
}

fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// a/b, scaled by the larger part of b [Smith 1962].
fn over(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    if b.0.abs() >= b.1.abs() {
        let r = b.1 / b.0;
        let d = b.0 + b.1 * r;
        ((a.0 + a.1 * r) / d, (a.1 - a.0 * r) / d)
    } else {
        let r = b.0 / b.1;
        let d = b.0 * r + b.1;
        ((a.0 * r + a.1) / d, (a.1 * r - a.0) / d)
    }
}
