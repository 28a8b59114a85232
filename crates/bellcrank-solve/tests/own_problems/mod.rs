//! Published problems, hand-written, for tests and benches.

use bellcrank_model::State;
use bellcrank_model::hand_written::Equations;

/// The car axis of the IVP Test Set [Mazzia & Magherini 2008]: stiff springs, a rheonomic constraint.
pub struct CarAxis;

const L: f64 = 1.0;
const L0: f64 = 0.5;
const MASS: f64 = 10.0 * 1e-4 / 2.0; // M ε²/2

impl CarAxis {
    /// Coordinates and velocities at t = 3.
    pub const END: [f64; 8] = [
        0.04934557842755629,
        0.4969894602303324,
        1.041742524885400,
        0.3739110272652214,
        -0.07705836840321485,
        0.007446866596327776,
        0.01755681574942899,
        0.7703410437794031,
    ];

    /// Where it starts.
    pub fn start() -> State {
        State { q: vec![0.0, 0.5, 1.0, 0.5], v: vec![-0.5, 0.0, -0.5, 0.0], ..State::default() }
    }

    /// y_b = 0.1 sin 10t and x_b = √(1 − y_b²) with two derivatives.
    fn road(t: f64) -> [[f64; 2]; 3] {
        let (s, c) = (10.0 * t).sin_cos();
        let (y, dy, ddy) = (0.1 * s, c, -10.0 * s);
        let x = (L * L - y * y).sqrt();
        let dx = -y * dy / x;
        let ddx = -(dy * dy + y * ddy + dx * dx) / x;
        [[x, y], [dx, dy], [ddx, ddy]]
    }
}

impl Equations for CarAxis {
    fn coordinates(&self) -> usize {
        4
    }
    fn constraints(&self) -> usize {
        2
    }
    fn mass(&self, _q: &[f64], m: &mut [f64]) {
        (0..4).for_each(|i| m[5 * i] = MASS);
    }
    fn force(&self, t: f64, q: &[f64], _v: &[f64], f: &mut [f64]) {
        let [[xb, yb], ..] = CarAxis::road(t);
        let (ll, lr) = (q[0].hypot(q[1]), (q[2] - xb).hypot(q[3] - yb));
        f[0] = (L0 - ll) * q[0] / ll;
        f[1] = (L0 - ll) * q[1] / ll - MASS;
        f[2] = (L0 - lr) * (q[2] - xb) / lr;
        f[3] = (L0 - lr) * (q[3] - yb) / lr - MASS;
    }
    fn force_q(&self, t: f64, q: &[f64], _v: &[f64], out: &mut [f64]) {
        let [[xb, yb], ..] = CarAxis::road(t);
        for (i, d) in [(0, [q[0], q[1]]), (2, [q[2] - xb, q[3] - yb])] {
            let l = d[0].hypot(d[1]);
            for a in 0..2 {
                for b in 0..2 {
                    let unit = if a == b { L0 / l - 1.0 } else { 0.0 };
                    out[(i + a) * 4 + i + b] = unit - L0 * d[a] * d[b] / l.powi(3);
                }
            }
        }
    }
    // the sheet writes M v̇ = f + (…)λ; here M v̇ = f − Gᵀλ, so λ has the opposite sign
    fn constraint(&self, t: f64, q: &[f64], g: &mut [f64]) {
        let [[xb, yb], ..] = CarAxis::road(t);
        g[0] = xb * q[0] + yb * q[1];
        g[1] = (q[0] - q[2]).powi(2) + (q[1] - q[3]).powi(2) - L * L;
    }
    fn jacobian(&self, t: f64, q: &[f64], out: &mut [f64]) {
        let [[xb, yb], ..] = CarAxis::road(t);
        let (dx, dy) = (2.0 * (q[0] - q[2]), 2.0 * (q[1] - q[3]));
        out.copy_from_slice(&[xb, yb, 0.0, 0.0, dx, dy, -dx, -dy]);
    }
    fn jacobian_derivative(&self, _t: f64, _q: &[f64], u: &[f64], out: &mut [f64]) {
        let (dx, dy) = (2.0 * (u[0] - u[2]), 2.0 * (u[1] - u[3]));
        out[4..].copy_from_slice(&[dx, dy, -dx, -dy]);
    }
    fn multiplier_derivative(&self, _t: f64, _q: &[f64], lambda: &[f64], out: &mut [f64]) {
        let k = 2.0 * lambda[1];
        for i in 0..4 {
            out[i * 4 + i] = k;
            out[i * 4 + (i + 2) % 4] = -k;
        }
    }
    fn constraint_t(&self, t: f64, q: &[f64], out: &mut [f64]) {
        let [_, [dxb, dyb], _] = CarAxis::road(t);
        out[0] = dxb * q[0] + dyb * q[1];
    }
    fn constraint_tt(&self, t: f64, q: &[f64], out: &mut [f64]) {
        let [_, _, [ddxb, ddyb]] = CarAxis::road(t);
        out[0] = ddxb * q[0] + ddyb * q[1];
    }
    fn jacobian_t(&self, t: f64, _q: &[f64], out: &mut [f64]) {
        let [_, [dxb, dyb], _] = CarAxis::road(t);
        out[..2].copy_from_slice(&[dxb, dyb]);
    }
}

/// The slider-crank of SUNDIALS IDA's examples, a spring-damper between the middles of crank and rod.
pub struct SliderCrank;

const A: f64 = 0.5;

impl SliderCrank {
    /// Coordinates at t = 10.
    pub const END: [f64; 3] = [1.275675848650, 1.023578558980, -0.498813049182];

    /// Where it starts.
    pub fn start() -> State {
        let p = (-A).asin();
        State { q: vec![std::f64::consts::FRAC_PI_2, p.cos(), p], v: vec![0.0; 3], ..State::default() }
    }
}

impl Equations for SliderCrank {
    fn coordinates(&self) -> usize {
        3
    }
    fn constraints(&self) -> usize {
        2
    }
    fn mass(&self, _q: &[f64], m: &mut [f64]) {
        (m[0], m[4], m[8]) = (1.0, 1.0, 2.0);
    }
    fn force(&self, _t: f64, q: &[f64], v: &[f64], f: &mut [f64]) {
        let (sq, cq, sp, cp) = (q[0].sin(), q[0].cos(), q[2].sin(), q[2].cos());
        let d = [q[1] - 0.5 * cp - 0.5 * A * cq, -0.5 * sp - 0.5 * A * sq];
        // ∂d/∂(q, x, p)
        let by = [[0.5 * A * sq, -0.5 * A * cq], [1.0, 0.0], [0.5 * sp, -0.5 * cp]];
        let rate = [0, 1].map(|k| (0..3).map(|i| by[i][k] * v[i]).sum::<f64>());
        let l = d[0].hypot(d[1]);
        let tension = (l - 1.0) + (d[0] * rate[0] + d[1] * rate[1]) / l;
        for i in 0..3 {
            f[i] = -tension / l * (d[0] * by[i][0] + d[1] * by[i][1]);
        }
        f[1] += 1.0;
        f[2] -= sp;
    }
    fn force_q(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        difference(q, out, |q, f| self.force(t, q, v, f));
    }
    fn force_v(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        difference(v, out, |v, f| self.force(t, q, v, f));
    }
    fn constraint(&self, _t: f64, q: &[f64], g: &mut [f64]) {
        g[0] = q[1] - q[2].cos() - A * q[0].cos();
        g[1] = -q[2].sin() - A * q[0].sin();
    }
    fn jacobian(&self, _t: f64, q: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&[A * q[0].sin(), 1.0, q[2].sin(), -A * q[0].cos(), 0.0, -q[2].cos()]);
    }
    fn jacobian_derivative(&self, _t: f64, q: &[f64], u: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&[
            A * q[0].cos() * u[0],
            0.0,
            q[2].cos() * u[2],
            A * q[0].sin() * u[0],
            0.0,
            q[2].sin() * u[2],
        ]);
    }
    fn multiplier_derivative(&self, _t: f64, q: &[f64], l: &[f64], out: &mut [f64]) {
        out[0] = A * (q[0].cos() * l[0] + q[0].sin() * l[1]);
        out[8] = q[2].cos() * l[0] + q[2].sin() * l[1];
    }
}

/// Central differences: good enough for Newton.
fn difference(x: &[f64], out: &mut [f64], f: impl Fn(&[f64], &mut [f64])) {
    let (n, h) = (x.len(), 1e-6);
    for j in 0..n {
        let at = |h: f64| {
            let (mut y, mut f_y) = (x.to_vec(), vec![0.0; n]);
            y[j] += h;
            f(&y, &mut f_y);
            f_y
        };
        let (plus, minus) = (at(h), at(-h));
        (0..n).for_each(|i| out[i * n + j] = (plus[i] - minus[i]) / (2.0 * h));
    }
}
