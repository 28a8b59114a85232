//! A small driver for tests: ẏ = f(t, y) with y = (q, v, z), solved by Newton with differences.

use super::{Method, Rejection};
use crate::stencil::Stencil;
use crate::weights::Weights;
use bellcrank_math::rotation::inverse_tangent;
use bellcrank_math::{Quat, Vec3};
use bellcrank_model::dynamics::{ChartChange, ChartMove};
use bellcrank_model::{Point, State};

/// (t, y) ↦ ẏ.
pub type SampleRates = dyn Fn(f64, &[f64], &mut [f64]);

/// ẏ = f(t, y), with the sizes of q (and v) and z.
pub struct Ode<'a> {
    pub n: usize,
    pub nz: usize,
    pub rates: &'a SampleRates,
}

/// What a run counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HarnessCounts {
    pub steps: usize,
    pub error_failures: usize,
    pub convergence_failures: usize,
    pub highest_order: usize,
    pub longest_step: f64,
}

impl Ode<'_> {
    /// The stacked y of a point.
    pub fn stack(&self, p: &Point) -> Vec<f64> {
        [&p.q[..], &p.v, &p.z].concat()
    }

    /// Puts a stacked y into a point.
    pub fn unstack(&self, y: &[f64], p: &mut Point) {
        p.q.copy_from_slice(&y[..self.n]);
        p.v.copy_from_slice(&y[self.n..2 * self.n]);
        p.z.copy_from_slice(&y[2 * self.n..]);
    }

    /// The point at (t, y) with the rates the equations give.
    pub fn point(&self, t: f64, y: &[f64]) -> Point {
        let mut ydot = vec![0.0; y.len()];
        (self.rates)(t, y, &mut ydot);
        let (q, v, z) = (0..self.n, self.n..2 * self.n, 2 * self.n..2 * self.n + self.nz);
        Point {
            t,
            q: y[q.clone()].to_vec(),
            qdot: ydot[q].to_vec(),
            v: y[v.clone()].to_vec(),
            vdot: ydot[v].to_vec(),
            z: y[z.clone()].to_vec(),
            zdot: ydot[z].to_vec(),
            ..Point::default()
        }
    }

    /// A state of the right sizes.
    pub fn state(&self) -> State {
        State { q: vec![0.0; self.n], v: vec![0.0; self.n], z: vec![0.0; self.nz], ..State::default() }
    }

    /// 1/(rtol |y| + atol).
    pub fn weights(&self, p: &Point, rtol: f64, atol: f64) -> Weights {
        let of = |x: &[f64]| x.iter().map(|x| 1.0 / (rtol * x.abs() + atol)).collect();
        Weights { q: of(&p.q), v: of(&p.v), z: of(&p.z), ..Weights::default() }
    }

    /// Solves the prepared step; `None` if Newton does not converge.
    pub fn solve(&self, method: &dyn Method, law: &Stencil, guess: &mut Point) -> Option<()> {
        method.predict(guess);
        let size = 2 * self.n + self.nz;
        let mut rates = vec![0.0; size];
        for _ in 0..12 {
            law.rates(guess);
            let mut y = self.stack(guess);
            (self.rates)(law.t, &y, &mut rates);
            let lhs = [&guess.qdot[..], &guess.vdot, &guess.zdot].concat();
            let mut residual: Vec<f64> = (0..size).map(|i| lhs[i] - rates[i]).collect();
            let mut jacobian = vec![vec![0.0; size]; size];
            let mut moved = vec![0.0; size];
            for j in 0..size {
                let (kept, step) = (y[j], 1e-7 * y[j].abs().max(1e-7));
                y[j] += step;
                (self.rates)(law.t, &y, &mut moved);
                for i in 0..size {
                    jacobian[i][j] = (rates[i] - moved[i]) / step;
                }
                y[j] = kept;
                let slope = [law.slopes.q, law.slopes.v, law.slopes.z];
                jacobian[j][j] += slope[(j >= self.n) as usize + (j >= 2 * self.n) as usize];
            }
            eliminate(&mut jacobian, &mut residual);
            let mut change = 0.0_f64;
            for (y, d) in y.iter_mut().zip(&residual) {
                *y -= d;
                change = change.max(d.abs() / y.abs().max(1e-3));
            }
            self.unstack(&y, guess);
            if change < 1e-13 {
                law.rates(guess);
                return Some(());
            }
            if !change.is_finite() {
                return None;
            }
        }
        law.rates(guess);
        Some(())
    }

    /// Runs to `until`; `observe` is called after every accepted step and may re-centre charts.
    pub fn run(
        &self,
        method: &mut dyn Method,
        start: &Point,
        h: f64,
        until: f64,
        (rtol, atol): (f64, f64),
        observe: &mut dyn FnMut(&mut dyn Method, &mut Point),
    ) -> (Point, HarnessCounts) {
        let (mut counts, mut law) = (HarnessCounts::default(), Stencil::default());
        let mut p = start.clone();
        method.start(&p, h);
        method.limit(until);
        while p.t < until {
            let weights = self.weights(&p, rtol, atol);
            let mut trial = p.clone();
            loop {
                method.prepare(&mut law, &mut trial);
                let why = match self.solve(method, &law, &mut trial) {
                    None => Rejection::Convergence,
                    Some(()) => match method.error(&trial, &weights) {
                        e if e <= 1.0 => break,
                        e => Rejection::Error(e),
                    },
                };
                match why {
                    Rejection::Error(_) => counts.error_failures += 1,
                    Rejection::Convergence => counts.convergence_failures += 1,
                }
                method.reject(why).expect("the step collapsed");
            }
            counts.longest_step = counts.longest_step.max(law.h);
            p = trial;
            method.accept(&p, &weights, &mut State::default());
            counts.steps += 1;
            counts.highest_order = counts.highest_order.max(method.order());
            observe(method, &mut p);
        }
        (p, counts)
    }
}

/// Free motion of a rigid body with inertia (1, 2, 3): q the chart, v the angular velocity.
fn tumbling(_: f64, y: &[f64], rates: &mut [f64]) {
    let (phi, w) = (Vec3::from_slice(&y[..3]), Vec3::from_slice(&y[3..]));
    let momentum = Vec3::new(w[0], 2.0 * w[1], 3.0 * w[2]);
    let torque = momentum.cross(w);
    rates[..3].copy_from_slice(&(inverse_tangent(phi) * w).0);
    rates[3..].copy_from_slice(&[torque[0], torque[1] / 2.0, torque[2] / 3.0]);
}

/// The tumbling body's pose at the end, the counts, and how often its chart was re-centred, which
/// is done past the angle `limit`. `accuracy` is the tolerance or, for a fixed step, its size.
pub fn tumble(method: &mut dyn Method, until: f64, accuracy: f64, limit: f64) -> (Quat, HarnessCounts, usize) {
    let ode = Ode { n: 3, nz: 0, rates: &tumbling };
    let mut centre = Quat::IDENTITY;
    let mut changes = 0;
    let start = ode.point(0.0, &[0.0, 0.0, 0.0, 0.2, 1.2, 0.1]);
    let mut recentre = |m: &mut dyn Method, p: &mut Point| {
        let phi = Vec3::from_slice(&p.q);
        if phi.norm() > limit {
            centre = centre.then(Quat::exp(phi));
            let change = ChartChange { moves: vec![ChartMove::to(0, phi)] };
            change.apply(&mut p.q);
            m.recentre(&change);
            changes += 1;
        }
    };
    let weights = (0.0, accuracy); // the size of φ depends on the chart
    let (p, counts) = ode.run(method, &start, accuracy.max(1e-4), until, weights, &mut recentre);
    (centre.then(Quat::exp(Vec3::from_slice(&p.q))), counts, changes)
}

/// Gaussian elimination with row pivots; the solution replaces `b`.
pub fn eliminate(a: &mut [Vec<f64>], b: &mut [f64]) {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            b[i] -= a[i][j] * b[j];
        }
        b[i] /= a[i][i];
    }
}
