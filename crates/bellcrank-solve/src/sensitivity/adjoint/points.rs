//! Back over accepted points of an implicit method.
//!
//! Forwards, J s = −( r_p + Rate(η_q) + MassAccel(η_v) + ZDot(η_z) ) with η = Σ c_j s_j over past points. Backwards, Jᵀ x = ŝ, and
//! −xᵀ times all this.

use super::super::moves::{Move, Smooth};
use super::super::multi_step::{HIGHEST, moved_charts, slopes};
use super::super::tangent::Tangent;
use super::Adjoints;
use super::equations::{Equations, transposed};
use super::families::Siblings;
use super::stages::add_to;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::{Piece, Point, Slopes, State, Unknown};
use std::collections::VecDeque;

/// The points before the end of the last of some moves that a law goes through, the latest first.
fn past(moves: &[Move]) -> Vec<&State> {
    let mut found = Vec::new();
    for next in moves.iter().rev() {
        let Move::Step(step) = next else { continue };
        found.push(&step.from);
        if step.fresh || found.len() == HIGHEST {
            break;
        }
    }
    found
}

impl Equations {
    /// Back over a step, the last of some moves: adjoints of the points before it grow.
    pub fn points(
        &mut self,
        moves: &[Move],
        step: &Smooth,
        families: &mut [Siblings<'_>],
        ahead: &mut VecDeque<Adjoints>,
        gradients: &mut [Vec<f64>],
    ) -> Result<(), LinearError> {
        let Some(now) = ahead.pop_front() else { return Ok(()) };
        let past = past(moves);
        let order = step.order.clamp(1, HIGHEST).min(past.len());
        let times: Vec<f64> = std::iter::once(step.to.t).chain(past.iter().map(|p| p.t)).take(order + 1).collect();
        let law = slopes(&times);
        let mut at = Point::at(&step.to, self.dynamics.layout());
        self.kkt.complete(&mut at, &mut self.w)?;
        self.form(&at, Slopes { q: law[0], v: law[0], z: law[0] });
        self.transposed.transpose(&self.matrix);
        self.linear.factor(&self.transposed)?;
        let mut solved = Vec::new();
        for s in &now {
            let mut x = self.rows(&[(Unknown::Q, &s.q), (Unknown::V, &s.v), (Unknown::Z, &s.z)]);
            self.linear.solve_with(&self.transposed, &mut x)?;
            solved.push(x);
        }
        let zero = |s: &Tangent| Tangent { q: vec![0.0; s.q.len()], v: vec![0.0; s.v.len()], z: vec![0.0; s.z.len()] };
        while ahead.len() < order {
            ahead.push_back(now.iter().map(zero).collect());
        }
        let q: Vec<Vec<f64>> = past[..order].iter().map(|p| moved_charts(&*self.dynamics, p, &step.to)).collect();
        for (m, x) in solved.iter().enumerate() {
            let eta = self.of_rates(&at, x);
            for (j, q) in q.iter().enumerate() {
                let mut s = eta.clone();
                s.q = transposed(&*self.dynamics, &s.q, |x, out| self.dynamics.rates(q, x, out));
                add_to(-law[1 + j], &s, &mut ahead[j][m]);
            }
        }
        self.by_parameters(&at, &solved, families, gradients);
        Ok(())
    }

    /// xᵀ ∂r/∂(q̇, v̇, ż).
    fn of_rates(&mut self, at: &Point, x: &[f64]) -> Tangent {
        let part = |unknown| &x[self.step.unknowns.range(unknown)];
        let q = transposed(&*self.dynamics, part(Unknown::V), |x, out| self.dynamics.velocities(&at.q, x, out));
        let mut along = at.clone();
        along.vdot.copy_from_slice(part(Unknown::Q));
        let z = part(Unknown::Z).to_vec();
        let mut v = vec![0.0; q.len()];
        self.w.invalidate();
        self.dynamics.realize(&along, &mut self.w);
        self.dynamics.add(1.0, Piece::MassAccel, &along, &mut self.w, &mut v);
        Tangent { q, v, z }
    }

    /// −xᵀ r_p.
    fn by_parameters(
        &self,
        at: &Point,
        solved: &[Vec<f64>],
        families: &mut [Siblings<'_>],
        gradients: &mut [Vec<f64>],
    ) {
        let rows = [Unknown::Q, Unknown::Z, Unknown::Lambda, Unknown::Mu].map(|u| self.step.unknowns.range(u));
        let mut out = rows.clone().map(|range| vec![0.0; range.len()]);
        let layout = self.dynamics.layout();
        for Siblings { pair, members } in families {
            out.iter_mut().for_each(|o| o.fill(0.0));
            pair.across(at, |c, dynamics, point, w| {
                dynamics.add(c, Piece::MassAccel, point, w, &mut out[0]);
                dynamics.add(-c, Piece::Force, point, w, &mut out[0]);
                dynamics.add(c, Piece::GtLambda, point, w, &mut out[0]);
                dynamics.add(-c, Piece::Flow, point, w, &mut out[1]);
                dynamics.add(c, Piece::Position, point, w, &mut out[2]);
                dynamics.add(c, Piece::Velocity, point, w, &mut out[3]);
            });
            for (gradient, x) in gradients.iter_mut().zip(solved) {
                let [q, z, lambda, mu] = rows.clone().map(|range| &x[range]);
                for of in members.iter() {
                    gradient[of.number] -= of.of_bodies(layout, q, &out[0])
                        + of.of_states(layout, z, &out[1])
                        + of.of_constraints(lambda, &out[2])
                        + of.of_constraints(mu, &out[3]);
                }
            }
        }
    }
}
