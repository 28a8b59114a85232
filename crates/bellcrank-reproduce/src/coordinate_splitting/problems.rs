//! The problems of the papers, hand-written. All have M = I.

use bellcrank_model::hand_written::Equations;

fn identity(n: usize, m: &mut [f64]) {
    (0..n).for_each(|i| m[i * n + i] = 1.0);
}

/// One body (x, y, θ) on ½(x² + y² − ℓ) = 0 and θ = 0, held by a planar bushing of stiffness 1/ε and
/// damping c: the simplified bushing of tables 1 and 2, and preloaded that of table 3.
#[derive(Clone)]
pub struct Bushing {
    /// 1/stiffness.
    pub epsilon: f64,
    /// Damping.
    pub damping: f64,
    /// Gravity along −y.
    pub gravity: f64,
    /// The squared length of the rod.
    pub length: f64,
    /// Whether the bushing is attached at the origins, so that the rod is under load.
    pub preloaded: bool,
}

impl Bushing {
    /// Tables 1 and 2: the equilibrium (1, −ε, 0) lies on the constraint.
    pub fn simplified() -> Bushing {
        let epsilon = 1e-5;
        Bushing { epsilon, damping: 10.0, gravity: 1.0, length: 1.0 + epsilon * epsilon, preloaded: false }
    }

    /// Table 3.
    pub fn preloaded() -> Bushing {
        Bushing { epsilon: 1e-5, damping: 10.0, gravity: 9.8, length: 1.0, preloaded: true }
    }
}

impl Equations for Bushing {
    fn coordinates(&self) -> usize {
        3
    }
    fn constraints(&self) -> usize {
        2
    }
    fn mass(&self, _: &[f64], m: &mut [f64]) {
        identity(3, m);
    }
    fn force(&self, _: f64, q: &[f64], v: &[f64], f: &mut [f64]) {
        let (k, c) = (1.0 / self.epsilon, self.damping);
        let (sin, cos) = q[2].sin_cos();
        if self.preloaded {
            f.copy_from_slice(&[-k * q[0] - c * v[0], -k * q[1] - c * v[1] - self.gravity, 0.0]);
        } else {
            f[0] = k * (0.5 - q[0] + 0.5 * cos) - c * v[0];
            f[1] = k * (0.5 * sin - q[1]) - c * v[1] - self.gravity;
            f[2] = -k * q[2] - c * v[2];
        }
    }
    fn force_q(&self, _: f64, q: &[f64], _: &[f64], out: &mut [f64]) {
        let k = 1.0 / self.epsilon;
        (out[0], out[4]) = (-k, -k);
        if !self.preloaded {
            (out[2], out[5], out[8]) = (-0.5 * k * q[2].sin(), 0.5 * k * q[2].cos(), -k);
        }
    }
    fn force_v(&self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) {
        (out[0], out[4]) = (-self.damping, -self.damping);
        if !self.preloaded {
            out[8] = -self.damping;
        }
    }
    fn constraint(&self, _: f64, q: &[f64], g: &mut [f64]) {
        (g[0], g[1]) = (0.5 * (q[0] * q[0] + q[1] * q[1] - self.length), q[2]);
    }
    fn jacobian(&self, _: f64, q: &[f64], out: &mut [f64]) {
        (out[0], out[1], out[5]) = (q[0], q[1], 1.0);
    }
    fn jacobian_derivative(&self, _: f64, _: &[f64], u: &[f64], out: &mut [f64]) {
        (out[0], out[1]) = (u[0], u[1]);
    }
    fn multiplier_derivative(&self, _: f64, _: &[f64], lambda: &[f64], out: &mut [f64]) {
        (out[0], out[4]) = (lambda[0], lambda[0]);
    }
}

/// Two bodies (x, y, θ), the first held, the second on a rod and a bushing to it: table 4.
#[derive(Clone)]
pub struct TwoBody {
    /// Stiffness.
    pub stiffness: f64,
    /// Damping.
    pub damping: f64,
    /// Gravity along −y.
    pub gravity: f64,
}

impl TwoBody {
    /// With the gravity that the computed columns belong to (13.5 in print).
    pub fn with_stiffness(stiffness: f64) -> TwoBody {
        TwoBody { stiffness, damping: 10.0, gravity: 13.75 }
    }

    /// Its start, q and v.
    pub fn start() -> ([f64; 6], [f64; 6]) {
        let (y, w): (f64, f64) = (-0.01485, -0.0045444);
        let x = (1.0 - y * y).sqrt();
        TwoBody::at(x, y, w)
    }

    /// The start that the computed counts belong to: x₂ rounded to five digits (.9989 in print, a digit lost), which
    /// misses the circle by 2.7e-7.
    pub fn rounded_start() -> ([f64; 6], [f64; 6]) {
        TwoBody::at(0.99989, -0.01485, -0.0045444)
    }

    fn at(x: f64, y: f64, w: f64) -> ([f64; 6], [f64; 6]) {
        ([0.0, 0.0, 0.0, x, y, 0.0], [0.0, 0.0, 0.0, -y * w / x, w, 0.0])
    }
}

impl Equations for TwoBody {
    fn coordinates(&self) -> usize {
        6
    }
    fn constraints(&self) -> usize {
        5
    }
    fn mass(&self, _: &[f64], m: &mut [f64]) {
        identity(6, m);
    }
    fn force(&self, _: f64, q: &[f64], v: &[f64], f: &mut [f64]) {
        for i in 0..2 {
            let pull = self.stiffness * (q[3 + i] - q[i]) + self.damping * (v[3 + i] - v[i]);
            (f[i], f[3 + i]) = (pull, -pull);
        }
        f[4] -= self.gravity;
    }
    fn force_q(&self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) {
        couple(self.stiffness, out);
    }
    fn force_v(&self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) {
        couple(self.damping, out);
    }
    fn constraint(&self, _: f64, q: &[f64], g: &mut [f64]) {
        let (x, y) = (q[3] - q[0], q[4] - q[1]);
        g.copy_from_slice(&[q[0], q[1], q[2], q[5], 0.5 * (x * x + y * y - 1.0)]);
    }
    fn jacobian(&self, _: f64, q: &[f64], out: &mut [f64]) {
        let (x, y) = (q[3] - q[0], q[4] - q[1]);
        (out[0], out[7], out[14], out[23]) = (1.0, 1.0, 1.0, 1.0);
        out[24..30].copy_from_slice(&[-x, -y, 0.0, x, y, 0.0]);
    }
    fn jacobian_derivative(&self, _: f64, _: &[f64], u: &[f64], out: &mut [f64]) {
        let (x, y) = (u[3] - u[0], u[4] - u[1]);
        out[24..30].copy_from_slice(&[-x, -y, 0.0, x, y, 0.0]);
    }
    fn multiplier_derivative(&self, _: f64, _: &[f64], lambda: &[f64], out: &mut [f64]) {
        couple(-lambda[4], out);
    }
}

/// −k on the diagonal blocks of the two points, k beside them.
fn couple(k: f64, out: &mut [f64]) {
    for i in 0..2 {
        out[i * 6 + i] = -k;
        out[i * 6 + 3 + i] = k;
        out[(3 + i) * 6 + i] = k;
        out[(3 + i) * 6 + 3 + i] = -k;
    }
}

/// What pulls at the point mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pull {
    /// −(q − q_e)/ε towards a point of the circle.
    Towards([f64; 2]),
    /// A spring of stiffness 1/ε from a point, with its rest length.
    Spring([f64; 2], f64),
}

/// A point mass on the unit circle under gravity (0, −1): g = ½(q·q − 1).
#[derive(Clone)]
pub struct PointMass {
    /// 1/stiffness.
    pub epsilon: f64,
    /// The stiff force.
    pub pull: Pull,
}

impl PointMass {
    /// S1a: the equilibrium of the stiff force lies on the circle at the angle −0.3.
    pub fn s1a(epsilon: f64) -> PointMass {
        PointMass { epsilon, pull: Pull::Towards([(-0.3f64).cos(), (-0.3f64).sin()]) }
    }

    /// S1b: a spring from (0, 1.5) that is at rest at the angle −0.3.
    pub fn s1b(epsilon: f64) -> PointMass {
        PointMass { epsilon, pull: Pull::Spring([0.0, 1.5], 2.0338536377979657) }
    }

    /// S1c: a radial spring at rest length; the motion does not depend on ε.
    pub fn s1c(epsilon: f64) -> PointMass {
        PointMass { epsilon, pull: Pull::Spring([0.0, 0.0], 1.0) }
    }
}

impl Equations for PointMass {
    fn coordinates(&self) -> usize {
        2
    }
    fn constraints(&self) -> usize {
        1
    }
    fn mass(&self, _: &[f64], m: &mut [f64]) {
        identity(2, m);
    }
    fn force(&self, _: f64, q: &[f64], _: &[f64], f: &mut [f64]) {
        let k = 1.0 / self.epsilon;
        match self.pull {
            Pull::Towards(e) => (0..2).for_each(|i| f[i] = -k * (q[i] - e[i])),
            Pull::Spring(a, rest) => {
                let d = [q[0] - a[0], q[1] - a[1]];
                let l = d[0].hypot(d[1]);
                (0..2).for_each(|i| f[i] = -k * (l - rest) * d[i] / l);
            }
        }
        f[1] -= 1.0;
    }
    fn force_q(&self, _: f64, q: &[f64], _: &[f64], out: &mut [f64]) {
        let k = 1.0 / self.epsilon;
        match self.pull {
            Pull::Towards(_) => (out[0], out[3]) = (-k, -k),
            Pull::Spring(a, rest) => {
                let d = [q[0] - a[0], q[1] - a[1]];
                let l = d[0].hypot(d[1]);
                for i in 0..2 {
                    for j in 0..2 {
                        let same = (i == j) as u8 as f64;
                        out[2 * i + j] = -k * ((1.0 - rest / l) * same + rest * d[i] * d[j] / (l * l * l));
                    }
                }
            }
        }
    }
    fn constraint(&self, _: f64, q: &[f64], g: &mut [f64]) {
        g[0] = 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0);
    }
    fn jacobian(&self, _: f64, q: &[f64], out: &mut [f64]) {
        out.copy_from_slice(q);
    }
    fn jacobian_derivative(&self, _: f64, _: &[f64], u: &[f64], out: &mut [f64]) {
        out.copy_from_slice(u);
    }
    fn multiplier_derivative(&self, _: f64, _: &[f64], lambda: &[f64], out: &mut [f64]) {
        (out[0], out[3]) = (lambda[0], lambda[0]);
    }
}
