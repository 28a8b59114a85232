//! The variational equations at the accepted points of an implicit method.
//!
//! A method is an affine law for the rates, so that the derivative of its step is one linear system with the matrix of the step:
//!
//! ```text
//!     ṡ = α s + η,      J s = −( r_p + Rate(η_q) + MassAccel(η_v) + ZDot(η_z) )
//! ```
//!
//! The law is the backward differentiation formula through the last accepted times, of the order that the run has come to: no
//! iteration and no error test of its own, because s varies as fast as the motion does and the run has chosen steps and orders for
//! that. Methods of Newmark's family run on order two. J is exact, formed at the accepted point with the v̇ and λ
//! of its accelerations, on the stabilized form `ggl`: s fulfils the linearized constraints of positions and of velocities. (On `index1`,
//! with a projection behind it, the same steps err a thousand times as much.)

use super::neighbours::{Pair, SIGNS};
use super::tangent::{Tangent, add};
use crate::formulation::ggl;
use crate::linear::kkt::Kkt;
use crate::newton::{Iteration, Residual};
use crate::step::Step;
use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::solver::{self, LinearError, LinearSolver};
use bellcrank_model::{Dynamics, Point, Slopes, State, Unknown, Workspace};
use std::collections::VecDeque;
use std::sync::Arc;

/// The highest order of the law.
pub(super) const HIGHEST: usize = 5;

/// Tangents along accepted points. Its fields are the equations of a step, what solves them, and the past.
pub(super) struct MultiStep {
    pub dynamics: Arc<dyn Dynamics>,
    step: Step,
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    /// The steps of both neighbours of each parameter.
    sides: Vec<[Step; 2]>,
    kkt: Kkt,
    w: Workspace,
    /// The last points, the latest first.
    past: VecDeque<Past>,
    /// The accepted point.
    at: Point,
    sums: PointSums,
}

/// PointSums over past points, and residuals.
#[derive(Default)]
struct PointSums {
    eta: [Vec<f64>; 3],
    rate: Vec<f64>,
    out: Vec<f64>,
    residual: Vec<f64>,
}

/// An accepted point.
struct Past {
    state: State,
    /// Its coordinates in the present charts.
    q: Vec<f64>,
    tangents: Vec<Tangent>,
}

impl MultiStep {
    /// For some equations from a state on.
    pub fn new(dynamics: &Arc<dyn Dynamics>, from: &State, pairs: &[Pair<'_>], tangents: &[Tangent]) -> MultiStep {
        let made =
            |dynamics: &Arc<dyn Dynamics>| Step::new(dynamics.clone(), ggl(), Point::at(from, dynamics.layout()));
        let step = made(dynamics);
        let mut linear = solver::choose(step.pattern());
        let layout = dynamics.layout();
        let left_out = from.charts.left_out.chosen(layout.m());
        linear.leave_out(left_out.map(|rows| step.unknowns.multipliers_of(layout, rows)).as_deref());
        MultiStep {
            matrix: BlockMatrix::new(step.pattern().clone()),
            linear,
            sides: pairs.iter().map(|pair| pair.far.each_ref().map(|side| made(&side.dynamics))).collect(),
            kkt: Kkt::new(dynamics.clone()),
            w: dynamics.workspace(),
            past: VecDeque::from([Past { state: from.clone(), q: from.q.clone(), tangents: tangents.to_vec() }]),
            at: Point::at(from, layout),
            sums: PointSums::default(),
            step,
            dynamics: dynamics.clone(),
        }
    }

    /// Moves tangents on to the next accepted state, with a law of this order or of what the past allows.
    pub fn advance(
        &mut self,
        to: &State,
        order: usize,
        pairs: &[Pair<'_>],
        tangents: &mut [Tangent],
    ) -> Result<(), LinearError> {
        self.at.set(to);
        self.kkt.complete(&mut self.at, &mut self.w)?;
        self.move_charts(to);
        let order = order.clamp(1, HIGHEST).min(self.past.len());
        let times: Vec<f64> =
            std::iter::once(to.t).chain(self.past.iter().map(|p| p.state.t)).take(order + 1).collect();
        let law = slopes(&times);
        self.step.stencil.slopes = Slopes { q: law[0], v: law[0], z: law[0] };
        self.step.point.clone_from(&self.at);
        self.step.touched();
        self.step.form_matrix(Iteration::Full, &mut self.matrix);
        self.linear.factor(&self.matrix)?;
        for (k, tangent) in tangents.iter_mut().enumerate() {
            self.imbalance(k, pairs[k].reach, &law[1..]);
            let x = &mut self.sums.out;
            self.linear.solve_with(&self.matrix, x)?;
            let part = |unknown| &x[self.step.unknowns.range(unknown)];
            tangent.q.copy_from_slice(part(Unknown::Q));
            tangent.v.copy_from_slice(part(Unknown::V));
            tangent.z.copy_from_slice(part(Unknown::Z));
        }
        self.remember(to, tangents);
        Ok(())
    }

    /// Notes a point as the latest one, in the place of the oldest.
    fn remember(&mut self, to: &State, tangents: &[Tangent]) {
        let oldest = if self.past.len() < HIGHEST { None } else { self.past.pop_back() };
        let mut latest =
            oldest.unwrap_or_else(|| Past { state: to.clone(), q: Vec::new(), tangents: tangents.to_vec() });
        latest.state.clone_from(to);
        latest.q.clone_from(&to.q);
        for (kept, tangent) in latest.tangents.iter_mut().zip(tangents) {
            kept.q.clone_from(&tangent.q);
            kept.v.clone_from(&tangent.v);
            kept.z.clone_from(&tangent.z);
        }
        self.past.push_front(latest);
    }

    /// −(r_p + Rate(η_q) + MassAccel(η_v) + ZDot(η_z)) of a parameter, by central differences of its neighbours.
    fn imbalance(&mut self, k: usize, delta: f64, law: &[f64]) {
        let (at, PointSums { eta, rate, out, residual }) = (&self.at, &mut self.sums);
        let fill = |x: &mut Vec<f64>, n: usize| {
            x.clear();
            x.resize(n, 0.0);
        };
        let [n, nz, size] = [at.q.len(), at.z.len(), self.matrix.pattern().dimension()];
        eta.iter_mut().zip([n, n, nz]).for_each(|(eta, n)| fill(eta, n));
        fill(rate, n);
        fill(out, size);
        residual.resize(size, 0.0);
        for (c, past) in law.iter().zip(&self.past) {
            let s = &past.tangents[k];
            self.dynamics.rates(&past.q, &s.q, rate);
            add(*c, rate, &mut eta[0]);
            add(*c, &s.v, &mut eta[1]);
            add(*c, &s.z, &mut eta[2]);
        }
        for (side, sign) in self.sides[k].iter_mut().zip(SIGNS) {
            side.point.clone_from(at);
            add(sign * delta, &eta[0], &mut side.point.qdot);
            add(sign * delta, &eta[1], &mut side.point.vdot);
            add(sign * delta, &eta[2], &mut side.point.zdot);
            side.touched();
            side.residual(residual);
            add(-sign / (2.0 * delta), residual, out);
        }
    }

    /// Writes the coordinates of the past in the charts of a state.
    fn move_charts(&mut self, to: &State) {
        if self.dynamics.flat() {
            return;
        }
        for past in &mut self.past {
            past.q = moved_charts(&*self.dynamics, &past.state, to);
        }
    }
}

/// The coordinates of a state in the charts of another.
pub(super) fn moved_charts(dynamics: &dyn Dynamics, state: &State, to: &State) -> Vec<f64> {
    if dynamics.flat() {
        return state.q.clone();
    }
    let centre = State { q: vec![0.0; to.q.len()], ..to.clone() };
    let mut q = state.q.clone();
    dynamics.differ(&centre, state, &mut q);
    q
}

/// The weights of the values at some times in the slope at the first of them, of the polynomial through all.
pub(super) fn slopes(times: &[f64]) -> Vec<f64> {
    let (t, rest) = (times[0], &times[1..]);
    let others = rest.iter().enumerate().map(|(j, tj)| {
        let factor = |(m, tm): (usize, &f64)| if m == j { 1.0 } else { (t - tm) / (tj - tm) };
        rest.iter().enumerate().map(factor).product::<f64>() / (tj - t)
    });
    std::iter::once(rest.iter().map(|tj| 1.0 / (t - tj)).sum()).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_exact_for_polynomials() {
        let times = [1.3, 1.0, 0.85, 0.4, 0.1];
        let value = |t: f64| 2.0 - t + 0.5 * t * t - 3.0 * t.powi(3) + 0.7 * t.powi(4);
        let slope = |t: f64| -1.0 + t - 9.0 * t * t + 2.8 * t.powi(3);
        let found: f64 = slopes(&times).iter().zip(times).map(|(w, t)| w * value(t)).sum();
        assert!((found - slope(times[0])).abs() < 1e-12, "{found}");
    }
}
