//! Back over a step of an explicit method.
//!
//! Forwards, Y_i = y₀ + h Σ a_ij K_j and K_i = F_y Y_i + F_p at the stages. Backwards,
//!
//! ```text
//!     κ_i = h ( b_i ŷ⁺ + Σ_{j>i} a_ji Ŷ_j ),    Ŷ_i = F_yᵀ κ_i,    ŷ₀ = ŷ⁺ + Σ Ŷ_i
//! ```
//!
//! The matrix of accelerations is symmetric, so that F_yᵀ takes one solution with it: [M Gᵀ; G 0] (a, b) = (κ_v, 0), and then products
//! of a and b with the derivatives of loads and rows.

use super::super::moves::Smooth;
use super::super::neighbours::Imbalance;
use super::super::tangent::{Tangent, add, directions};
use super::equations::{Equations, dot, transposed};
use super::families::Siblings;
use crate::methods::tableau::Tableau;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::{Point, Slopes, State, Unknown};

/// What a stage gives to a measure: the factors of ∂r/∂p.
struct Pull {
    /// a, or κ_v where accelerations are differenced as a whole.
    load: Vec<f64>,
    /// b.
    rows: Vec<f64>,
    /// κ_z.
    flow: Vec<f64>,
}

impl Equations {
    /// Back over a step, with the projection at its end.
    pub fn stages(
        &mut self,
        tableau: &Tableau,
        step: &Smooth,
        families: &mut [Siblings<'_>],
        adjoints: &mut [Tangent],
        gradients: &mut [Vec<f64>],
    ) -> Result<(), LinearError> {
        self.project(&step.to, families, adjoints, gradients)?;
        let h = step.to.t - step.from.t;
        let (points, end) = self.forward(tableau, step, h)?;
        // in the coordinates of the chart
        let mut before: Vec<Tangent> = adjoints.to_vec();
        for s in &mut before {
            s.q = transposed(&*self.dynamics, &s.q, |x, out| self.dynamics.velocities(&end, x, out));
        }
        let scaled = |c: f64, s: &Tangent| {
            let mut out = s.clone();
            [&mut out.q, &mut out.v, &mut out.z].into_iter().flatten().for_each(|x| *x *= c);
            out
        };
        let mut kappa: Vec<Vec<Tangent>> =
            tableau.b()[..tableau.stages].iter().map(|b| before.iter().map(|s| scaled(h * b, s)).collect()).collect();
        for i in (0..tableau.stages).rev() {
            if kappa[i].iter().all(|k| k.size() == 0.0) {
                continue;
            }
            let pulled = self.stage(&points[i], &kappa[i], families, gradients)?;
            for (m, pulled) in pulled.iter().enumerate() {
                add_to(1.0, pulled, &mut before[m]);
                for (j, a) in tableau.a[i].iter().enumerate().take(i) {
                    add_to(h * a, pulled, &mut kappa[j][m]);
                }
            }
        }
        for (adjoint, mut s) in adjoints.iter_mut().zip(before) {
            s.q = transposed(&*self.dynamics, &s.q, |x, out| self.dynamics.rates(&step.from.q, x, out));
            *adjoint = s;
        }
        Ok(())
    }

    /// The points of the stages, and the coordinates at the end.
    fn forward(&mut self, tableau: &Tableau, step: &Smooth, h: f64) -> Result<(Vec<Point>, Vec<f64>), LinearError> {
        let mut points: Vec<Point> = Vec::with_capacity(tableau.stages);
        let start = Point::at(&step.from, self.dynamics.layout());
        let combined = |points: &[Point], weights: &[f64]| {
            let mut at = start.clone();
            for (a, k) in weights.iter().zip(points).filter(|(a, _)| **a != 0.0) {
                add(h * a, &k.qdot, &mut at.q);
                add(h * a, &k.vdot, &mut at.v);
                add(h * a, &k.zdot, &mut at.z);
            }
            at
        };
        for i in 0..tableau.stages {
            let mut at = combined(&points, tableau.a[i]);
            at.t = (step.from.t + tableau.c[i] * h).min(step.to.t);
            self.kkt.complete(&mut at, &mut self.w)?;
            points.push(at);
        }
        let end = combined(&points, tableau.b()).q;
        Ok((points, end))
    }

    /// F_yᵀ κ at a stage; and κᵀ F_p.
    fn stage(
        &mut self,
        at: &Point,
        kappa: &[Tangent],
        families: &mut [Siblings<'_>],
        gradients: &mut [Vec<f64>],
    ) -> Result<Vec<Tangent>, LinearError> {
        let (out, pulls) = match self.whole {
            true => self.by_columns(at, kappa)?,
            false => self.by_matrices(at, kappa)?,
        };
        let dynamics = self.dynamics.clone();
        let layout = dynamics.layout();
        let (n, nz) = (layout.n(), layout.nz());
        let zeros = |n: usize| vec![0.0; n];
        let still = (zeros(n), zeros(n), zeros(nz));
        let mut parts = Imbalance { load: zeros(n), rows: zeros(layout.m()), qdot: zeros(n), zdot: zeros(nz) };
        for Siblings { pair, members } in families {
            pair.imbalance(at, (&still.0, &still.1, &still.2), self.whole, &mut parts)?;
            for (gradient, pull) in gradients.iter_mut().zip(&pulls) {
                for of in members.iter() {
                    gradient[of.number] += of.of_bodies(layout, &pull.load, &parts.load)
                        + of.of_constraints(&pull.rows, &parts.rows)
                        + of.of_states(layout, &pull.flow, &parts.zdot);
                }
            }
        }
        Ok(out)
    }

    /// With the factors of the stage and exact derivatives of loads.
    fn by_matrices(&mut self, at: &Point, kappa: &[Tangent]) -> Result<(Vec<Tangent>, Vec<Pull>), LinearError> {
        let mut again = at.clone();
        self.kkt.complete(&mut again, &mut self.w)?;
        let mut pulls = Vec::with_capacity(kappa.len());
        for k in kappa {
            let (a, b) = self.kkt.answer(|top, _| top.copy_from_slice(&k.v))?;
            pulls.push(Pull { load: a.to_vec(), rows: b.to_vec(), flow: k.z.clone() });
        }
        self.form(at, Slopes::default());
        let mut out = Vec::with_capacity(kappa.len());
        for (k, pull) in kappa.iter().zip(&pulls) {
            let rate = transposed(&*self.dynamics, &k.q, |x, out| self.dynamics.rates(&at.q, x, out));
            let rows = self.rows(&[(Unknown::V, &rate), (Unknown::Q, &pull.load), (Unknown::Z, &pull.flow)]);
            out.push(self.pulled(&rows));
        }
        let rows: Vec<Vec<f64>> = pulls.iter().map(|pull| pull.rows.clone()).collect();
        self.pulled_accelerations(at, &rows, &mut out);
        for s in &mut out {
            s.q = transposed(&*self.dynamics, &s.q, |x, out| self.dynamics.velocities(&at.q, x, out));
            [&mut s.q, &mut s.v, &mut s.z].into_iter().flatten().for_each(|x| *x = -*x);
        }
        Ok((out, pulls))
    }

    /// By differences of accelerations along all coordinates.
    fn by_columns(&mut self, at: &Point, kappa: &[Tangent]) -> Result<(Vec<Tangent>, Vec<Pull>), LinearError> {
        let zero = |s: &Tangent| Tangent { q: vec![0.0; s.q.len()], v: vec![0.0; s.v.len()], z: vec![0.0; s.z.len()] };
        let mut out: Vec<Tangent> = kappa.iter().map(zero).collect();
        let state = State { q: at.q.clone(), v: at.v.clone(), z: at.z.clone(), ..State::default() };
        let mut point = at.clone();
        for (part, place, h) in directions(&*self.dynamics, &state) {
            for sign in [-1.0, 1.0] {
                point.clone_from(at);
                [&mut point.q, &mut point.v, &mut point.z][part][place] += sign * h;
                self.kkt.complete(&mut point, &mut self.w)?;
                for (k, out) in kappa.iter().zip(&mut out) {
                    let along = dot(&k.q, &point.qdot) + dot(&k.v, &point.vdot) + dot(&k.z, &point.zdot);
                    *super::part_of(out, part, place) += sign * along / (2.0 * h);
                }
            }
        }
        let pull = |k: &Tangent| Pull { load: k.v.clone(), rows: Vec::new(), flow: k.z.clone() };
        Ok((out, kappa.iter().map(pull).collect()))
    }
}

/// y += c x.
pub(super) fn add_to(c: f64, x: &Tangent, y: &mut Tangent) {
    add(c, &x.q, &mut y.q);
    add(c, &x.v, &mut y.v);
    add(c, &x.z, &mut y.z);
}
