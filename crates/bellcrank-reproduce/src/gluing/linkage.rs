//! The parallel four-bar of the paper, in relative angles and in Cartesian coordinates.

use bellcrank_math::linear::matrix::Matrix;

/// Lengths, masses and moments of inertia of the three moving links.
const LENGTH: [f64; 3] = [1.0, 2.0, 1.0];
const MASS: [f64; 3] = [10.0, 20.0, 10.0];
const INERTIA: [f64; 3] = [1.0, 2.0, 1.0];

/// A linkage as the glue sees it: M a = Q, Φ = 0.
pub trait Linkage {
    /// M.
    fn mass(&self, q: &[f64]) -> Matrix;
    /// Q.
    fn force(&self, t: f64, q: &[f64], v: &[f64]) -> Vec<f64>;
    /// ∂(M a − Q)/∂a along Newmark's law: M + h²β ∂/∂q + hγ ∂/∂v.
    fn tangent(&self, q: &[f64], v: &[f64], a: &[f64], h: f64, beta: f64, gamma: f64) -> Matrix;
    /// Φ.
    fn position(&self, q: &[f64]) -> Vec<f64>;
    /// Φ_q.
    fn gradient(&self, q: &[f64]) -> Matrix;
    /// Φ̈.
    fn acceleration(&self, q: &[f64], v: &[f64], a: &[f64]) -> Vec<f64>;
    /// The start: q and v.
    fn start(&self) -> (Vec<f64>, Vec<f64>);
    /// The angle of the driven link in a vector of coordinates (its rate in one of velocities).
    fn angle(&self, q: &[f64]) -> f64 {
        q[0]
    }
}

/// The driven angle in closed form: q₁, q̇₁, q̈₁ and the constraint torque on body 2.
pub fn exact(t: f64) -> [f64; 4] {
    let (q, v, a) = (0.5 * PI + 2.0 * PI * t - t.powi(3) / 81.0, 2.0 * PI - t * t / 27.0, -2.0 * t / 27.0);
    [q, v, a, -30.0 * (a * q.cos() - v * v * q.sin())]
}

use std::f64::consts::PI;

/// Relative angles, cut at the last joint.
pub struct Relative;

/// T: absolute angles from relative ones; its transpose gathers torques.
fn sums(x: &[f64]) -> [f64; 3] {
    [x[0], x[0] + x[1], x[0] + x[1] + x[2]]
}

/// Tᵀ A T of a matrix in absolute angles.
fn gathered(a: &Matrix) -> Matrix {
    let t = Matrix::from_fn(3, 3, |i, j| (j <= i) as u8 as f64);
    t.transpose_times(&a.times(&t))
}

/// Σₖ mₖ aₖᵢ aₖⱼ with aₖⱼ the lever of angle j on the centre of link k.
fn coupling(i: usize, j: usize) -> f64 {
    let lever = |k: usize, j: usize| match j.cmp(&k) {
        std::cmp::Ordering::Less => LENGTH[j],
        std::cmp::Ordering::Equal => 0.5 * LENGTH[j],
        std::cmp::Ordering::Greater => 0.0,
    };
    (0..3).map(|k| MASS[k] * lever(k, i) * lever(k, j)).sum()
}

impl Linkage for Relative {
    fn mass(&self, q: &[f64]) -> Matrix {
        let angle = sums(q);
        gathered(&Matrix::from_fn(3, 3, |i, j| {
            coupling(i, j) * (angle[i] - angle[j]).cos() + if i == j { INERTIA[i] } else { 0.0 }
        }))
    }

    fn force(&self, t: f64, q: &[f64], v: &[f64]) -> Vec<f64> {
        let (angle, rate) = (sums(q), sums(v));
        let torque: Vec<f64> = (0..3)
            .map(|i| {
                let gyroscopic: f64 =
                    (0..3).map(|j| coupling(i, j) * (angle[i] - angle[j]).sin() * rate[j] * rate[j]).sum();
                if i == 0 { -2.0 * t - gyroscopic } else { -gyroscopic }
            })
            .collect();
        vec![torque[0] + torque[1] + torque[2], torque[1] + torque[2], torque[2]]
    }

    fn tangent(&self, q: &[f64], v: &[f64], a: &[f64], h: f64, beta: f64, gamma: f64) -> Matrix {
        let (angle, rate, alpha) = (sums(q), sums(v), sums(a));
        let s = |i: usize, j: usize| coupling(i, j) * (angle[i] - angle[j]).sin();
        let c = |i: usize, j: usize| coupling(i, j) * (angle[i] - angle[j]).cos();
        let by_angle = |i: usize, k: usize| match i == k {
            false => s(i, k) * alpha[k] - c(i, k) * rate[k] * rate[k],
            true => (0..3).filter(|j| *j != i).map(|j| c(i, j) * rate[j] * rate[j] - s(i, j) * alpha[j]).sum(),
        };
        let extra = gathered(&Matrix::from_fn(3, 3, |i, k| {
            h * h * beta * by_angle(i, k) + h * gamma * 2.0 * s(i, k) * rate[k]
        }));
        self.mass(q).plus(1.0, &extra)
    }

    fn position(&self, q: &[f64]) -> Vec<f64> {
        let angle = sums(q);
        let sum = |f: fn(f64) -> f64| (0..3).map(|i| LENGTH[i] * f(angle[i])).sum::<f64>();
        vec![sum(f64::cos) - LENGTH[1], sum(f64::sin)]
    }

    fn gradient(&self, q: &[f64]) -> Matrix {
        let angle = sums(q);
        Matrix::from_fn(2, 3, |row, j| {
            (j..3).map(|i| LENGTH[i] * if row == 0 { -angle[i].sin() } else { angle[i].cos() }).sum()
        })
    }

    fn acceleration(&self, q: &[f64], v: &[f64], a: &[f64]) -> Vec<f64> {
        let (angle, rate) = (sums(q), sums(v));
        let bend = |f: fn(f64) -> f64| (0..3).map(|i| LENGTH[i] * f(angle[i]) * rate[i] * rate[i]).sum::<f64>();
        let straight = self.gradient(q).apply(a);
        vec![straight[0] - bend(f64::cos), straight[1] - bend(f64::sin)]
    }

    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![0.5 * PI, 1.5 * PI, 1.5 * PI], vec![2.0 * PI, -2.0 * PI, 2.0 * PI])
    }
}

/// Three bodies (x, y, θ), all four joints cut.
pub struct Cartesian;

impl Cartesian {
    /// The joints as (body, side along the link) pairs; side −½ is its start, ½ its end; `None` is a fixed point.
    const JOINTS: [[Option<(usize, f64)>; 2]; 4] = [
        [None, Some((0, -0.5))],
        [Some((0, 0.5)), Some((1, -0.5))],
        [Some((1, 0.5)), Some((2, -0.5))],
        [Some((2, 0.5)), None],
    ];
    /// Where the joint is fixed, for the first and the last.
    const FIXED: [f64; 4] = [0.0, 0.0, 0.0, 2.0];
}

impl Linkage for Cartesian {
    fn mass(&self, _: &[f64]) -> Matrix {
        Matrix::from_fn(9, 9, |i, j| match (i == j, i % 3 == 2) {
            (false, _) => 0.0,
            (true, true) => INERTIA[i / 3],
            (true, false) => MASS[i / 3],
        })
    }

    fn force(&self, t: f64, _: &[f64], _: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; 9];
        out[2] = -2.0 * t;
        out
    }

    fn tangent(&self, q: &[f64], _: &[f64], _: &[f64], _: f64, _: f64, _: f64) -> Matrix {
        self.mass(q)
    }

    fn position(&self, q: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        for (joint, fixed) in Self::JOINTS.iter().zip(Self::FIXED) {
            let point = |side: Option<(usize, f64)>| match side {
                None => [fixed, 0.0],
                Some((b, s)) => {
                    let (sin, cos) = q[3 * b + 2].sin_cos();
                    [q[3 * b] + s * LENGTH[b] * cos, q[3 * b + 1] + s * LENGTH[b] * sin]
                }
            };
            let (a, b) = (point(joint[0]), point(joint[1]));
            out.extend([b[0] - a[0], b[1] - a[1]]);
        }
        out
    }

    fn gradient(&self, q: &[f64]) -> Matrix {
        let mut g = Matrix::zeros(8, 9);
        for (k, joint) in Self::JOINTS.iter().enumerate() {
            for (side, sign) in joint.iter().zip([-1.0, 1.0]) {
                if let Some((b, s)) = side {
                    let (sin, cos) = q[3 * b + 2].sin_cos();
                    *g.at_mut(2 * k, 3 * b) = sign;
                    *g.at_mut(2 * k + 1, 3 * b + 1) = sign;
                    *g.at_mut(2 * k, 3 * b + 2) = -sign * s * LENGTH[*b] * sin;
                    *g.at_mut(2 * k + 1, 3 * b + 2) = sign * s * LENGTH[*b] * cos;
                }
            }
        }
        g
    }

    fn acceleration(&self, q: &[f64], v: &[f64], a: &[f64]) -> Vec<f64> {
        let mut out = self.gradient(q).apply(a);
        for (k, joint) in Self::JOINTS.iter().enumerate() {
            for (side, sign) in joint.iter().zip([-1.0, 1.0]) {
                if let Some((b, s)) = side {
                    let ((sin, cos), w) = (q[3 * b + 2].sin_cos(), v[3 * b + 2]);
                    out[2 * k] -= sign * s * LENGTH[*b] * cos * w * w;
                    out[2 * k + 1] -= sign * s * LENGTH[*b] * sin * w * w;
                }
            }
        }
        out
    }

    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        let w = 2.0 * PI;
        let q = vec![0.0, 0.5, 0.5 * PI, 1.0, 1.0, 0.0, 2.0, 0.5, -0.5 * PI];
        (q, vec![-0.5 * w, 0.0, w, -w, 0.0, 0.0, -0.5 * w, 0.0, w])
    }

    fn angle(&self, q: &[f64]) -> f64 {
        q[2]
    }
}
