//! Coordinate partitioning, the classical form to compare with [Wehage & Haug 1982]: an ordinary differential
//! equation in the independent coordinates alone,
//!
//! ```text
//!     ẍ = a_x(x, ẋ),   y from g(x, y) = 0,   ẏ = −Q ẋ,   [M Gᵀ; G 0](a, λ) = (f, −(G v)_q v),
//! ```
//!
//! by the same BDF. Every evaluation solves the constraints; its derivatives are differences.

use bellcrank_model::hand_written::Equations;
use bellcrank_solve::linear::partition::Partition;
use std::sync::Mutex;

/// Equations without their dependent coordinates. Constraints must not depend on time.
pub struct Partitioned<E> {
    of: E,
    independent: Vec<usize>,
    dependent: Vec<usize>,
    /// All coordinates where the constraints were solved last: the next search starts there.
    near: Mutex<Vec<f64>>,
}

/// Most Newton iterations for the dependent coordinates.
const CLOSINGS: usize = 20;

/// Step of the differences.
const STEP: f64 = 1e-6;

impl<E: Equations> Partitioned<E> {
    /// The partition that is best at q, kept from then on.
    pub fn new(of: E, q: &[f64]) -> Partitioned<E> {
        let (n, m) = (of.coordinates(), of.constraints());
        let mut jacobian = vec![0.0; n * m];
        of.jacobian(0.0, q, &mut jacobian);
        let rows: Vec<Vec<(usize, f64)>> = jacobian
            .chunks_exact(n)
            .map(|r| r.iter().copied().enumerate().filter(|(_, g)| *g != 0.0).collect())
            .collect();
        let partition = Partition::choose(&rows, n);
        let (independent, dependent) = (0..n).partition(|i| partition.independent[*i]);
        Partitioned { of, independent, dependent, near: Mutex::new(q.to_vec()) }
    }

    /// The part of a vector that belongs to the independent coordinates.
    pub fn part(&self, q: &[f64]) -> Vec<f64> {
        self.independent.iter().map(|i| q[*i]).collect()
    }

    /// All coordinates and velocities that belong to the independent ones.
    pub fn complete(&self, x: &[f64], dx: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (n, m) = (self.of.coordinates(), self.of.constraints());
        let mut q = self.near.lock().map(|q| q.clone()).unwrap_or_else(|broken| broken.into_inner().clone());
        self.independent.iter().zip(x).for_each(|(i, x)| q[*i] = *x);
        let dependent_part = |g: &[f64]| -> Vec<Vec<f64>> {
            (0..m).map(|k| self.dependent.iter().map(|y| g[k * n + y]).collect()).collect()
        };
        let mut jacobian = vec![0.0; n * m];
        for _ in 0..CLOSINGS {
            let mut g = vec![0.0; m];
            self.of.constraint(0.0, &q, &mut g);
            jacobian.fill(0.0);
            self.of.jacobian(0.0, &q, &mut jacobian);
            let delta = solve(dependent_part(&jacobian), g);
            self.dependent.iter().zip(&delta).for_each(|(y, d)| q[*y] -= d);
            if delta.iter().all(|d| d.abs() < 1e-14) {
                break;
            }
        }
        let mut v = vec![0.0; n];
        self.independent.iter().zip(dx).for_each(|(i, x)| v[*i] = *x);
        let driven = (0..m).map(|k| -(0..n).map(|i| jacobian[k * n + i] * v[i]).sum::<f64>()).collect();
        let dy = solve(dependent_part(&jacobian), driven);
        self.dependent.iter().zip(dy).for_each(|(y, d)| v[*y] = d);
        if q.iter().all(|q| q.is_finite())
            && let Ok(mut near) = self.near.lock()
        {
            near.clone_from(&q);
        }
        (q, v)
    }

    /// ẍ.
    fn acceleration(&self, t: f64, x: &[f64], dx: &[f64], out: &mut [f64]) {
        let (n, m) = (self.of.coordinates(), self.of.constraints());
        let (q, v) = self.complete(x, dx);
        let (mut mass, mut g, mut bends, mut right) =
            (vec![0.0; n * n], vec![0.0; m * n], vec![0.0; m * n], vec![0.0; n]);
        self.of.mass(&q, &mut mass);
        self.of.jacobian(t, &q, &mut g);
        self.of.jacobian_derivative(t, &q, &v, &mut bends);
        self.of.force(t, &q, &v, &mut right);
        right.extend((0..m).map(|k| -(0..n).map(|i| bends[k * n + i] * v[i]).sum::<f64>()));
        let matrix = (0..n + m)
            .map(|i| {
                (0..n + m)
                    .map(|j| match (i < n, j < n) {
                        (true, true) => mass[i * n + j],
                        (true, false) => g[(j - n) * n + i],
                        (false, true) => g[(i - n) * n + j],
                        _ => 0.0,
                    })
                    .collect()
            })
            .collect();
        let a = solve(matrix, right);
        self.independent.iter().zip(out).for_each(|(i, o)| *o = a[*i]);
    }

    fn difference(&self, x: &[f64], out: &mut [f64], f: impl Fn(&[f64], &mut [f64])) {
        let p = x.len();
        for j in 0..p {
            let at = |h: f64| {
                let (mut x, mut a) = (x.to_vec(), vec![0.0; p]);
                x[j] += h;
                f(&x, &mut a);
                a
            };
            let (plus, minus) = (at(STEP), at(-STEP));
            (0..p).for_each(|i| out[i * p + j] = (plus[i] - minus[i]) / (2.0 * STEP));
        }
    }
}

impl<E: Equations> Equations for Partitioned<E> {
    fn coordinates(&self) -> usize {
        self.independent.len()
    }
    fn constraints(&self) -> usize {
        0
    }
    fn mass(&self, _: &[f64], m: &mut [f64]) {
        let p = self.independent.len();
        (0..p).for_each(|i| m[i * p + i] = 1.0);
    }
    fn force(&self, t: f64, q: &[f64], v: &[f64], f: &mut [f64]) {
        self.acceleration(t, q, v, f);
    }
    fn force_q(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        self.difference(q, out, |q, a| self.acceleration(t, q, v, a));
    }
    fn force_v(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        self.difference(v, out, |v, a| self.acceleration(t, q, v, a));
    }
    fn constraint(&self, _: f64, _: &[f64], _: &mut [f64]) {}
    fn jacobian(&self, _: f64, _: &[f64], _: &mut [f64]) {}
    fn jacobian_derivative(&self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) {}
    fn multiplier_derivative(&self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) {}
}

/// A⁻¹b by rows, with row pivots; a singular A gives nothing finite.
pub(super) fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            (k..n).for_each(|j| a[i][j] -= factor * a[k][j]);
            b[i] -= factor * b[k];
        }
    }
    for i in (0..n).rev() {
        (i + 1..n).for_each(|j| b[i] -= a[i][j] * b[j]);
        b[i] /= a[i][i];
    }
    b
}

#[cfg(test)]
mod tests {
    use super::super::problems::TwoBody;
    use super::*;

    #[test]
    fn dependent_coordinates_follow() {
        let (q, v) = TwoBody::start();
        let p = Partitioned::new(TwoBody::with_stiffness(1e5), &q);
        assert_eq!(p.coordinates(), 1);
        let (found, rates) = p.complete(&p.part(&q), &p.part(&v));
        for i in 0..6 {
            assert!((found[i] - q[i]).abs() < 1e-14 && (rates[i] - v[i]).abs() < 1e-14, "{i}");
        }
        // on the circle the angle φ has φ̈ = −g cos φ − c φ̇: y = sin φ
        let mut a = [0.0];
        p.acceleration(0.0, &p.part(&q), &p.part(&v), &mut a);
        let (x, y, w) = (q[3], q[4], v[4]);
        let rate = w / x;
        let exact = x * (-13.75 * x - 10.0 * rate) - y * rate * rate;
        assert!((a[0] - exact).abs() < 1e-9 * exact.abs(), "{} against {exact}", a[0]);
    }
}
