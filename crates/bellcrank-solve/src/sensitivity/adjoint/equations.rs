//! The matrices of the linearized equations at a point, and products with their transposes.

use super::super::tangent::{Tangent, add, directions};
use super::families::Siblings;
use crate::formulation::ggl;
use crate::linear::kkt::Kkt;
use crate::newton::Iteration;
use crate::step::Step;
use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::solver::{self, LinearError, LinearSolver};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, Unknown, Workspace};
use std::sync::Arc;

/// The linearized equations of one set of equations of motion: matrices, what solves them, and a workspace.
pub(super) struct Equations {
    pub dynamics: Arc<dyn Dynamics>,
    /// `ggl`: every row but that of accelerations, with exact derivatives.
    pub step: Step,
    pub matrix: BlockMatrix,
    pub transposed: BlockMatrix,
    pub linear: Box<dyn LinearSolver>,
    pub kkt: Kkt,
    pub w: Workspace,
    /// Whether accelerations are differenced as a whole: loads follow multipliers, or a recursion stands for the matrix.
    pub whole: bool,
    /// Bodies of which no two share a constraint, with the constraints of each.
    groups: Vec<Vec<(usize, Vec<usize>)>>,
}

impl Equations {
    /// At a state, with the rows that it leaves out.
    pub fn new(dynamics: &Arc<dyn Dynamics>, at: &State) -> Equations {
        let step = Step::new(dynamics.clone(), ggl(), Point::at(at, dynamics.layout()));
        let transposed = Arc::new(step.pattern().transposed());
        let mut linear = solver::choose(&transposed);
        let layout = dynamics.layout();
        let left_out = at.charts.left_out.chosen(layout.m());
        linear.leave_out(left_out.map(|rows| step.unknowns.multipliers_of(layout, rows)).as_deref());
        Equations {
            matrix: BlockMatrix::new(step.pattern().clone()),
            transposed: BlockMatrix::new(transposed),
            linear,
            kkt: Kkt::new(dynamics.clone()),
            w: dynamics.workspace(),
            whole: dynamics.recursive() || dynamics.may_follow().is_some(),
            groups: groups(&**dynamics),
            step,
            dynamics: dynamics.clone(),
        }
    }

    /// Forms ∂r/∂x at a point, with slopes of the rates.
    pub fn form(&mut self, at: &Point, slopes: Slopes) {
        self.step.stencil.slopes = slopes;
        self.step.point.clone_from(at);
        self.step.point.mu.fill(0.0);
        self.step.touched();
        self.step.form_matrix(Iteration::Full, &mut self.matrix);
    }

    /// A vector over all rows, zero but for some of them: those paired with v, with q, with z, with λ and with μ.
    pub fn rows(&self, parts: &[(Unknown, &[f64])]) -> Vec<f64> {
        let mut rows = vec![0.0; self.matrix.pattern().dimension()];
        for (paired, values) in parts {
            let range = self.step.unknowns.range(*paired);
            rows[range].copy_from_slice(values);
        }
        rows
    }

    /// The columns of q, v and z in (∂r/∂x)ᵀ x, with the matrix that was formed.
    pub fn pulled(&self, x: &[f64]) -> Tangent {
        let mut y = vec![0.0; x.len()];
        self.matrix.add_transposed_times(x, &mut y);
        let part = |unknown| y[self.step.unknowns.range(unknown)].to_vec();
        Tangent { q: part(Unknown::Q), v: part(Unknown::V), z: part(Unknown::Z) }
    }

    /// The columns of λ and μ in ∂r/∂x s are no matter: the rows of positions and velocities in (∂r/∂x) s.
    pub fn open(&self, s: &Tangent) -> [Vec<f64>; 2] {
        let x = self.rows(&[(Unknown::Q, &s.q), (Unknown::V, &s.v), (Unknown::Z, &s.z)]);
        let mut y = vec![0.0; x.len()];
        self.matrix.add_times(&x, &mut y);
        let part = |unknown| y[self.step.unknowns.range(unknown)].to_vec();
        [part(Unknown::Lambda), part(Unknown::Mu)]
    }

    /// Rows of multipliers for open positions (1) and velocities (2) over all constraints as rows of `ggl`: those of λ, where nonholonomic
    /// velocities stand among the positions, and those of μ.
    pub fn spread(&self, positions: &[f64], velocities: &[f64]) -> [Vec<f64>; 2] {
        let layout = self.dynamics.layout();
        let (mut lambda, mut mu) = (positions.to_vec(), vec![0.0; layout.m_rates()]);
        for (rows, rates) in layout.constraints.iter().zip(&layout.rates) {
            match rates.is_empty() {
                true => lambda[rows.clone()].copy_from_slice(&velocities[rows.clone()]),
                false => mu[rates.clone()].copy_from_slice(&velocities[rows.clone()]),
            }
        }
        [lambda, mu]
    }

    /// The reverse of [`Self::spread`], for residuals.
    pub fn gathered(&self, [lambda, mu]: &[Vec<f64>; 2]) -> [Vec<f64>; 2] {
        let layout = self.dynamics.layout();
        let (mut positions, mut velocities) = (lambda.clone(), vec![0.0; layout.m()]);
        for (rows, rates) in layout.constraints.iter().zip(&layout.rates) {
            match rates.is_empty() {
                true => {
                    velocities[rows.clone()].copy_from_slice(&lambda[rows.clone()]);
                    positions[rows.clone()].fill(0.0);
                }
                false => velocities[rows.clone()].copy_from_slice(&mu[rates.clone()]),
            }
        }
        [positions, velocities]
    }

    /// Factors M and G at a state, and forms the rows of the constraints there.
    pub fn stand(&mut self, at: &State) -> Result<Point, LinearError> {
        let point = Point::at(at, self.dynamics.layout());
        self.w.invalidate();
        self.dynamics.realize(&point, &mut self.w);
        self.kkt.factor(&point, &mut self.w)?;
        self.form(&point, Slopes::default());
        Ok(point)
    }

    /// Back over the projection of tangents onto the constraints at a state.
    pub fn project(
        &mut self,
        at: &State,
        families: &mut [Siblings<'_>],
        adjoints: &mut [Tangent],
        gradients: &mut [Vec<f64>],
    ) -> Result<(), LinearError> {
        let m = self.dynamics.layout().m();
        if m == 0 {
            return Ok(());
        }
        let point = self.stand(at)?;
        let mut rows = Vec::new();
        for adjoint in adjoints {
            let mut open = [vec![0.0; m], vec![0.0; m]];
            self.kkt.multipliers(&adjoint.q, &mut open[0])?;
            self.kkt.multipliers(&adjoint.v, &mut open[1])?;
            let spread = self.spread(&open[0], &open[1]);
            let x = self.rows(&[(Unknown::Lambda, &spread[0]), (Unknown::Mu, &spread[1])]);
            let pulled = self.pulled(&x);
            add(-1.0, &pulled.q, &mut adjoint.q);
            add(-1.0, &pulled.v, &mut adjoint.v);
            add(-1.0, &pulled.z, &mut adjoint.z);
            rows.push(spread);
        }
        let mut out = [vec![0.0; m], vec![0.0; self.dynamics.layout().m_rates()]];
        for Siblings { pair, members } in families {
            out.iter_mut().for_each(|o| o.fill(0.0));
            pair.across(&point, |c, dynamics, point, w| {
                dynamics.add(c, Piece::Position, point, w, &mut out[0]);
                dynamics.add(c, Piece::Velocity, point, w, &mut out[1]);
            });
            for (gradient, rows) in gradients.iter_mut().zip(&rows) {
                for of in members.iter() {
                    gradient[of.number] -= of.of_constraints(&rows[0], &out[0]) + of.of_constraints(&rows[1], &out[1]);
                }
            }
        }
        Ok(())
    }

    /// Puts a tangent onto the linearized constraints of the same model, at a state that [`Self::stand`] was at.
    pub fn admit(&mut self, s: &mut Tangent) -> Result<(), LinearError> {
        if self.dynamics.layout().m() == 0 {
            return Ok(());
        }
        let [mut positions, _] = self.gathered(&self.open(s));
        positions.iter_mut().for_each(|x| *x = -*x);
        let change = self.kkt.project(|out| out.copy_from_slice(&positions))?.to_vec();
        add(1.0, &change, &mut s.q);
        let [_, mut velocities] = self.gathered(&self.open(s));
        velocities.iter_mut().for_each(|x| *x = -*x);
        add(1.0, self.kkt.project(|out| out.copy_from_slice(&velocities))?, &mut s.v);
        Ok(())
    }

    /// Bᵀ ∂g̈/∂(q, v) at a point, for several b: by differences, which have no derivatives in closed form. Bodies that share no constraint are
    /// moved together.
    pub fn pulled_accelerations(&mut self, at: &Point, b: &[Vec<f64>], out: &mut [Tangent]) {
        let layout = self.dynamics.layout();
        let (n, m) = (layout.n(), layout.m());
        if m == 0 || b.iter().flatten().all(|x| *x == 0.0) {
            return;
        }
        let state = State { q: at.q.clone(), v: at.v.clone(), z: at.z.clone(), ..State::default() };
        let widths: Vec<f64> = directions(&*self.dynamics, &state).iter().map(|(.., h)| *h).collect();
        let (mut rows, mut unit, mut point) = (vec![0.0; m], vec![0.0; n], at.clone());
        for group in &self.groups {
            let most = group.iter().map(|(body, _)| layout.bodies[*body].len()).max().unwrap_or(0);
            for (k, velocities) in (0..most).flat_map(|k| [(k, false), (k, true)]) {
                let moved = group.iter().filter(|(body, _)| k < layout.bodies[*body].len());
                let place = |body: usize| layout.bodies[body].start + k;
                let width = |body: usize| widths[place(body) + if velocities { n } else { 0 }];
                unit.fill(0.0);
                moved.clone().for_each(|(body, _)| unit[place(*body)] = width(*body));
                rows.fill(0.0);
                for sign in [-1.0, 1.0] {
                    point.clone_from(at);
                    match velocities {
                        true => add(sign, &unit, &mut point.v),
                        false => self.dynamics.retract(sign, &mut point.q, &unit),
                    }
                    self.w.invalidate();
                    self.dynamics.realize(&point, &mut self.w);
                    self.dynamics.add(0.5 * sign, Piece::Acceleration, &point, &mut self.w, &mut rows);
                }
                for (body, constraints) in moved {
                    let own = |b: &Vec<f64>| -> f64 {
                        let rows =
                            |k: &usize| dot(&b[layout.constraints[*k].clone()], &rows[layout.constraints[*k].clone()]);
                        constraints.iter().map(rows).sum::<f64>() / width(*body)
                    };
                    for (b, out) in b.iter().zip(out.iter_mut()) {
                        let to = if velocities { &mut out.v } else { &mut out.q };
                        to[place(*body)] += own(b);
                    }
                }
            }
        }
    }
}

/// Colours the bodies so that those of a colour share no constraint.
fn groups(dynamics: &dyn Dynamics) -> Vec<Vec<(usize, Vec<usize>)>> {
    let layout = dynamics.layout();
    let mut of_body: Vec<Vec<usize>> = vec![Vec::new(); layout.bodies.len()];
    let mut of_constraint: Vec<Vec<usize>> = vec![Vec::new(); layout.constraints.len()];
    let pairs = [Unknown::Q, Unknown::V].map(|wrt| dynamics.pattern(Piece::Acceleration, wrt)).concat();
    for (k, body) in pairs.into_iter().map(|(k, body)| (k as usize, body as usize)) {
        if !of_body[body].contains(&k) {
            of_body[body].push(k);
            of_constraint[k].push(body);
        }
    }
    let mut colours: Vec<Option<usize>> = vec![None; layout.bodies.len()];
    let mut groups: Vec<Vec<(usize, Vec<usize>)>> = Vec::new();
    for body in 0..layout.bodies.len() {
        if of_body[body].is_empty() {
            continue;
        }
        let near: Vec<usize> =
            of_body[body].iter().flat_map(|k| &of_constraint[*k]).filter_map(|b| colours[*b]).collect();
        let colour = (0..).find(|c| !near.contains(c)).unwrap_or(0);
        colours[body] = Some(colour);
        if colour == groups.len() {
            groups.push(Vec::new());
        }
        groups[colour].push((body, std::mem::take(&mut of_body[body].clone())));
    }
    groups
}

/// Aᵀ x of a map that is block-diagonal by bodies.
pub(super) fn transposed(dynamics: &dyn Dynamics, x: &[f64], map: impl Fn(&[f64], &mut [f64])) -> Vec<f64> {
    if dynamics.flat() {
        return x.to_vec();
    }
    let bodies = &dynamics.layout().bodies;
    let (mut unit, mut column, mut out) = (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; x.len()]);
    for k in 0..bodies.iter().map(|b| b.len()).max().unwrap_or(0) {
        let wide = || bodies.iter().filter(|b| k < b.len());
        unit.fill(0.0);
        wide().for_each(|b| unit[b.start + k] = 1.0);
        map(&unit, &mut column);
        wide().for_each(|b| out[b.start + k] = dot(&column[b.clone()], &x[b.clone()]));
    }
    out
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
