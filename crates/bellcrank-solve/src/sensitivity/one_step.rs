//! The variational equations along the stages of an explicit method.
//!
//! With y = (q, v, z) and ẏ = F(t, y; p), the same tableau steps s = ∂y/∂p: ṡ = F_y s + F_p at every stage, where
//!
//! ```text
//!     [ M  Gᵀ ] [ ∂v̇/∂p ]   d  [ f − M v̇ − Gᵀλ ]
//!     [ G  0  ] [ ∂λ/∂p ] = ── [      −g̈        ]      at fixed v̇ and λ
//!                           dp
//! ```
//!
//! has the factors of the stage. What comes out is the derivative of the numbers that the method computes. At the end of a step s is
//! put onto the constraints as the state is: G δ = −dg/dp, and the same of velocities.

use super::constraints::project;
use super::neighbours::{Imbalance, Pair};
use super::tangent::{Tangent, add};
use crate::linear::kkt::Kkt;
use crate::methods::tableau::Tableau;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::{Dynamics, Point, State, Workspace};
use std::sync::Arc;

/// Steps states and their tangents along a tableau.
pub(super) struct OneStep {
    pub dynamics: Arc<dyn Dynamics>,
    kkt: Kkt,
    point: Point,
    w: Workspace,
    /// Whether loads follow multipliers, or a recursion stands for the matrix: accelerations of neighbours are compared then.
    whole: bool,
    imbalance: Imbalance,
    /// The rates of the state and of each tangent at all stages, one after the other.
    stages: Vec<Vec<f64>>,
}

impl OneStep {
    /// For some equations, at a state.
    pub fn new(dynamics: &Arc<dyn Dynamics>, at: &State) -> OneStep {
        let layout = dynamics.layout();
        let (n, m, nz) = (layout.n(), layout.m(), layout.nz());
        let (point, mut w) = (Point::at(at, layout), dynamics.workspace());
        dynamics.realize(&point, &mut w);
        let whole = dynamics.recursive() || dynamics.may_follow().is_some();
        let zeros = |n: usize| vec![0.0; n];
        OneStep {
            kkt: Kkt::new(dynamics.clone()),
            point,
            w,
            whole,
            imbalance: Imbalance { load: zeros(n), rows: zeros(m), qdot: zeros(n), zdot: zeros(nz) },
            stages: Vec::new(),
            dynamics: dynamics.clone(),
        }
    }

    /// Moves tangents over a step from a state to a time, and puts them onto the constraints at its end.
    pub fn advance(
        &mut self,
        tableau: &Tableau,
        (from, t, to): (&State, f64, &State),
        pairs: &mut [Pair<'_>],
        tangents: &mut [Tangent],
    ) -> Result<(), LinearError> {
        let (n, h) = (from.q.len(), t - from.t);
        let begin = self.begin(from, tangents);
        let size = begin[0].len();
        self.stages.resize(begin.len(), Vec::new());
        self.stages.iter_mut().for_each(|k| k.resize(tableau.stages * size, 0.0));
        self.point.charts.clone_from(&from.charts);
        let mut y = begin.clone();
        for i in 0..tableau.stages {
            self.combine(h, tableau.a[i], &begin, &mut y);
            let (state, along) = y.split_at(1);
            let stage = i * size..(i + 1) * size;
            self.evaluate((from.t + tableau.c[i] * h).min(t), &state[0], stage.clone())?;
            for (k, (pair, s)) in pairs.iter_mut().zip(along).enumerate() {
                self.differentiate(pair, s, k + 1, stage.clone())?;
            }
        }
        self.combine(h, tableau.b(), &begin, &mut y);
        let (state, along) = y.split_at(1);
        for (s, tangent) in along.iter().zip(tangents.iter_mut()) {
            self.dynamics.velocities(&state[0][..n], &s[..n], &mut tangent.q);
            tangent.v.copy_from_slice(&s[n..2 * n]);
            tangent.z.copy_from_slice(&s[2 * n..]);
        }
        self.project(to, pairs, tangents)
    }

    /// The state and the tangents in the coordinates of its charts.
    fn begin(&self, from: &State, tangents: &[Tangent]) -> Vec<Vec<f64>> {
        let stacked = |s: &Tangent| {
            let mut qdot = vec![0.0; from.q.len()];
            self.dynamics.rates(&from.q, &s.q, &mut qdot);
            [&qdot, &s.v[..], &s.z].concat()
        };
        let state = [&from.q[..], &from.v, &from.z].concat();
        std::iter::once(state).chain(tangents.iter().map(stacked)).collect()
    }

    /// y = y₀ + h Σ a k.
    fn combine(&self, h: f64, a: &[f64], begin: &[Vec<f64>], y: &mut [Vec<f64>]) {
        for ((y, begin), k) in y.iter_mut().zip(begin).zip(&self.stages) {
            y.copy_from_slice(begin);
            for (a, k) in a.iter().zip(k.chunks_exact(begin.len().max(1))).filter(|(a, _)| **a != 0.0) {
                add(h * a, k, y);
            }
        }
    }

    /// The rates of the state.
    fn evaluate(&mut self, t: f64, y: &[f64], stage: std::ops::Range<usize>) -> Result<(), LinearError> {
        let n = self.point.q.len();
        let (p, w) = (&mut self.point, &mut self.w);
        p.t = t;
        p.q.copy_from_slice(&y[..n]);
        p.v.copy_from_slice(&y[n..2 * n]);
        p.z.copy_from_slice(&y[2 * n..]);
        self.kkt.complete(p, w)?;
        let out = &mut self.stages[0][stage];
        out[..n].copy_from_slice(&p.qdot);
        out[n..2 * n].copy_from_slice(&p.vdot);
        out[2 * n..].copy_from_slice(&p.zdot);
        Ok(())
    }

    /// The rates of a tangent, with the factors of the state.
    fn differentiate(
        &mut self,
        pair: &mut Pair<'_>,
        s: &[f64],
        k: usize,
        stage: std::ops::Range<usize>,
    ) -> Result<(), LinearError> {
        let n = self.point.q.len();
        let along = (&s[..n], &s[n..2 * n], &s[2 * n..]);
        pair.imbalance(&self.point, along, self.whole, &mut self.imbalance)?;
        let Imbalance { load, rows, qdot, zdot } = &self.imbalance;
        let out = &mut self.stages[k][stage];
        let vdot = match self.whole {
            true => load,
            false => {
                let fill = |top: &mut [f64], bottom: &mut [f64]| {
                    top.copy_from_slice(load);
                    bottom.copy_from_slice(rows);
                };
                self.kkt.answer(fill)?.0
            }
        };
        out[..n].copy_from_slice(qdot);
        out[n..2 * n].copy_from_slice(vdot);
        out[2 * n..].copy_from_slice(zdot);
        Ok(())
    }

    /// Puts tangents onto the constraints at a state.
    pub fn project(&mut self, at: &State, pairs: &mut [Pair<'_>], tangents: &mut [Tangent]) -> Result<(), LinearError> {
        self.point.set(at);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        self.kkt.factor(&self.point, &mut self.w)?;
        project(&mut self.kkt, &*self.dynamics, at, pairs, tangents)
    }
}
