//! Sequential regularization of closed loops by explicit methods with fixed steps [Ascher & Lin 2000].
//!
//! Iterates s = 1 … S march together in one sweep through time,
//!
//! ```text
//!     M v̇_s + Gᵀλ_s = f − Dᵀμ_s,   G v̇_s = γ                      the tree is kept exactly: one sweep over it
//!     μ_s = μ_{s−1} + (1/ε) W⁻¹(ḋ_s + β d_s),   μ_0 = 0            d = 0 closes the loops
//! ```
//!
//! One iterate is the penalty form (3.4). μ_0 may be the multipliers of the start instead, and the tree may be kept by Baumgarte's
//! stabilization (3.8) instead of a projection. With all constraints regularized (3.10) only M is inverted.
//!
//! The term in 1/ε bounds the step: (h/ε) λ_max(W⁻¹D P Dᵀ) must stay in the method's interval of stability. With ε = O(h) the
//! s-th iterate is of order min(s, p). As published W = 1, and the joint that is moved most easily decides for all: the
//! others, in other units or between heavier bodies, stay open. So W is the mean diagonal of each joint's own block of D P Dᵀ.
//!
//! Redundant equations are kept: 1/ε times their residuals is bounded whatever their rank, they share the μ that it takes, and all of
//! them together hold better than those that others would leave out (Bennett's linkage in steps of 0.1 ms: open by 5e-8 m with all
//! five equations of its loop, and by 6e-3 m with the two that are independent). An equation that the tree holds by itself has no μ.

use super::explicit::owner;
use super::{Engine, LoopReport, Statistics, StepError};
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::linear::forms::Closing;
use crate::linear::loops::Loops;
use crate::linear::scales::RowScales;
use crate::methods::runge_kutta::RungeKutta;
use crate::methods::tableau::Tableau;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Piece, Point, State, Workspace};
use std::sync::Arc;

/// β: open loops close in a tenth of a second where nothing disturbs them, in 1/s.
pub const CLOSING: f64 = 10.0;

/// ε is this multiple of its limit of stability unless it is given.
const MARGIN: f64 = 2.0;

/// How many steps of the power method an estimate of λ_max takes at most.
const POWER_STEPS: usize = 60;

/// Up to this many equations of loops have weights of their own: they take a sweep each.
const WEIGHED: usize = 1000;

/// A joint that hardly moves at the start may move later: no weight is less than this fraction of the largest.
const LEAST_WEIGHT: f64 = 1e-6;

/// The tree alone holds a joint whose multipliers move it by less than this part of what they would without the tree.
const HELD: f64 = 1e-9;

/// A loop that is open by more than this fraction of the model's length, or by this many radians, is a failure.
const OPEN: f64 = 0.01;

/// The choices of sequential regularization.
#[derive(Clone, Copy, Debug)]
pub struct Regularization {
    /// Number of iterates.
    pub iterates: usize,
    /// One ε for all loops, in s kg⁻¹ for a gap in m; `None`: twice the limit of stability, weighed for each joint.
    pub epsilon: Option<f64>,
    /// Whether ε is the same for all loops also where it is not given, and loops may open without bound: as published.
    pub published: bool,
    /// Whether all constraints are regularized, and not those of loops alone.
    pub all: bool,
    /// What keeps the tree on its constraints.
    pub tree: TreeKeeping,
    /// Whether μ_0 is that of the start, and not zero: then no iterate has a layer there (assumption 3.1).
    pub exact_start: bool,
}

/// What keeps a tree on its constraints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TreeKeeping {
    /// It is put back after each step.
    Projected,
    /// G v̇ = γ − 2α ġ − β² g, as (3.8) has it with Baumgarte's stabilization.
    Baumgarte(Closing),
    /// Nothing: it drifts.
    Drifting,
}

impl Default for Regularization {
    fn default() -> Regularization {
        Regularization {
            iterates: 2,
            epsilon: None,
            published: false,
            all: false,
            tree: TreeKeeping::Projected,
            exact_start: false,
        }
    }
}

/// Sequential regularization with a Runge–Kutta method.
/// Its fields are the choices of a run and what it has counted.
pub struct Srm {
    rk: RungeKutta,
    tableau: &'static Tableau,
    form: IterateRates,
    limit: f64,
    exact_start: bool,
    all: bool,
    state: State,
    accepted: Point,
    y: Vec<f64>,
    dense_ready: bool,
    steps: usize,
    drift: Vec<(f64, f64)>,
    /// How far each equation of a loop may be open; nothing where there is no bound.
    bounds: Vec<f64>,
}

/// The rates of all iterates.
/// Its fields are the vectors of the scheme, named as in its equations.
struct IterateRates {
    dynamics: Arc<dyn Dynamics>,
    loops: Loops,
    point: Point,
    w: Workspace,
    iterates: usize,
    tree: TreeKeeping,
    epsilon: f64,
    weights: Vec<f64>,
    /// μ_0.
    first: Vec<f64>,
    mu: Vec<f64>,
    f: Vec<f64>,
    delta: Vec<f64>,
    velocity: Vec<f64>,
    position: Vec<f64>,
    evaluations: usize,
}

impl IterateRates {
    /// Numbers of one iterate.
    fn size(&self) -> usize {
        2 * self.point.q.len() + self.point.z.len()
    }

    /// Makes the point that of an iterate and realizes it.
    fn place(&mut self, t: f64, y: &[f64]) {
        let (n, p) = (self.point.q.len(), &mut self.point);
        p.t = t;
        p.q.copy_from_slice(&y[..n]);
        p.v.copy_from_slice(&y[n..2 * n]);
        p.z.copy_from_slice(&y[2 * n..]);
        self.w.invalidate();
        self.dynamics.realize(p, &mut self.w);
    }

    /// The residuals of all constraints at the point.
    fn measure(&mut self) {
        self.position.fill(0.0);
        self.velocity.fill(0.0);
        add_position_residual(&*self.dynamics, 1.0, &self.point, &mut self.w, &mut self.position);
        add_velocity_residual(&*self.dynamics, 1.0, &self.point, &mut self.w, &mut self.velocity);
    }

    fn rates(&mut self, t: f64, y: &[f64], ydot: &mut [f64]) -> Result<(), LinearError> {
        let (size, n) = (self.size(), self.point.q.len());
        self.mu.copy_from_slice(&self.first);
        for (y, ydot) in y.chunks_exact(size).zip(ydot.chunks_exact_mut(size)) {
            self.evaluations += 1;
            self.place(t, y);
            self.loops.factor(&self.point, &mut self.w)?;
            self.measure();
            for ((mu, &row), weight) in self.mu.iter_mut().zip(self.loops.rows()).zip(&self.weights) {
                *mu += (self.velocity[row] + CLOSING * self.position[row]) / (self.epsilon * weight);
            }
            let closing = match self.tree {
                TreeKeeping::Baumgarte(closing) => closing,
                _ => Closing { alpha: 0.0, beta: 0.0 },
            };
            let open = self.position.iter_mut().zip(&self.velocity);
            open.for_each(|(g, rate)| *g = -2.0 * closing.alpha * rate - closing.beta * closing.beta * *g);
            let (p, w) = (&mut self.point, &mut self.w);
            p.vdot.fill(0.0);
            self.f.fill(0.0);
            self.dynamics.add(1.0, Piece::Force, p, w, &mut self.f);
            self.dynamics.add(-1.0, Piece::Acceleration, p, w, &mut self.position);
            self.loops.add_pull(-1.0, &self.mu, &mut self.f);
            self.loops.solve(&self.f, Some(&self.position), &mut p.vdot, Some(&mut p.lambda))?;
            let (qdot, rest) = ydot.split_at_mut(n);
            let (vdot, zdot) = rest.split_at_mut(n);
            self.dynamics.rates(&p.q, &p.v, qdot);
            vdot.copy_from_slice(&p.vdot);
            zdot.fill(0.0);
            self.dynamics.add(1.0, Piece::Flow, p, w, zdot);
        }
        let loops = self.loops.rows().iter().zip(&self.mu);
        loops.for_each(|(row, mu)| self.point.lambda[*row] = *mu);
        Ok(())
    }

    /// Puts the tree of the point back onto its constraints, positions and then velocities, with one sweep for the factors.
    fn stabilize(&mut self) -> Result<(), LinearError> {
        self.loops.factor(&self.point, &mut self.w)?;
        self.f.fill(0.0);
        self.measure();
        self.position.iter_mut().for_each(|g| *g = -*g);
        self.loops.solve(&self.f, Some(&self.position), &mut self.delta, None)?;
        self.dynamics.retract(1.0, &mut self.point.q, &self.delta);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        self.measure();
        self.velocity.iter_mut().for_each(|g| *g = -*g);
        self.loops.solve(&self.f, Some(&self.velocity), &mut self.delta, None)?;
        self.point.v.iter_mut().zip(&self.delta).for_each(|(v, d)| *v += d);
        Ok(())
    }

    /// The largest position residual of the loops and of the tree at the point.
    fn drift(&mut self) -> (f64, f64) {
        self.measure();
        let size = |loops: bool| {
            let rows = self.position.iter().enumerate().filter(|(i, _)| self.loops.place(*i).is_some() == loops);
            rows.fold(0.0f64, |m, (_, g)| if g.is_nan() { f64::NAN } else { m.max(g.abs()) })
        };
        (size(true), size(false))
    }
}

/// The real interval of stability of a tableau without error estimate: h|λ| up to this.
fn interval(tableau: &Tableau) -> f64 {
    if tableau.order == 4 { 2.785_293_563_405_282 } else { 2.0 }
}

impl Srm {
    /// Starts from a consistent point; none where the equations have no tree.
    pub fn new(
        dynamics: Arc<dyn Dynamics>,
        tableau: &'static Tableau,
        h: f64,
        how: Regularization,
        start: &Point,
    ) -> Option<Result<Srm, StepError>> {
        let mut loops = match how.all {
            true => Loops::all(dynamics.clone(), start)?,
            false => Loops::new(dynamics.clone(), start)?,
        };
        loops.keeps_redundant = true;
        let mut rk = RungeKutta::new(tableau, Some(h)).ok()?;
        let mut w = dynamics.workspace();
        dynamics.realize(start, &mut w);
        let estimated = loops.factor(start, &mut w).and_then(|()| {
            let equal = how.published || how.epsilon.is_some();
            let weights = if equal { vec![1.0; loops.size()] } else { weights(&mut loops, &dynamics, start, &mut w)? };
            loops.largest_mobility(&weights, POWER_STEPS).map(|largest| (largest, weights))
        });
        let (largest, weights) = match estimated {
            Ok(found) => found,
            Err(e) => return Some(Err(failed(&*dynamics, start.t, e))),
        };
        let bounds = if how.published { Vec::new() } else { bounds(&*dynamics, &loops, start, &mut w) };
        let limit = h * largest.max(0.0) / interval(tableau);
        let (n, m, k) = (dynamics.layout().n(), dynamics.layout().m(), loops.size());
        let mut state = State::default();
        start.store(&mut state);
        let one: Vec<f64> = [&state.q[..], &state.v, &state.z].concat();
        let y = one.repeat(how.iterates);
        rk.start(start.t, &y, h);
        let form = IterateRates {
            loops,
            point: start.clone(),
            w,
            iterates: how.iterates,
            tree: how.tree,
            // where nothing moves any ε will do
            epsilon: how.epsilon.unwrap_or(if limit > 0.0 { MARGIN * limit } else { 1.0 }).max(f64::MIN_POSITIVE),
            weights,
            first: vec![0.0; k],
            mu: vec![0.0; k],
            f: vec![0.0; n],
            delta: vec![0.0; n],
            velocity: vec![0.0; m],
            position: vec![0.0; m],
            evaluations: 0,
            dynamics,
        };
        let mut srm = Srm {
            rk,
            tableau,
            form,
            limit,
            exact_start: how.exact_start,
            all: how.all,
            state,
            accepted: start.clone(),
            y,
            dense_ready: false,
            steps: 0,
            drift: vec![(0.0, 0.0); how.iterates],
            bounds,
        };
        srm.start_multipliers(start);
        Some(Ok(srm))
    }

    /// μ_0 at a start.
    fn start_multipliers(&mut self, start: &Point) {
        if self.exact_start {
            let rows = self.form.loops.rows().to_vec();
            self.form.first.iter_mut().zip(rows).for_each(|(mu, row)| *mu = start.lambda[row]);
        }
    }

    /// The drift of every iterate now: of its loops, and of its tree.
    pub fn drift_now(&mut self) -> Vec<(f64, f64)> {
        let size = self.form.size();
        let y = std::mem::take(&mut self.y);
        let drift = y.chunks_exact(size).map(|y| {
            self.form.place(self.state.t, y);
            self.form.drift()
        });
        let drift = drift.collect();
        self.y = y;
        drift
    }

    /// The coordinates of an iterate.
    pub fn iterate(&self, s: usize) -> &[f64] {
        &self.y[s * self.form.size()..][..self.state.q.len()]
    }

    /// ε, and its limit of stability by the estimate at the start.
    pub fn epsilon(&self) -> (f64, f64) {
        (self.form.epsilon, self.limit)
    }

    /// Sweeps over the tree so far: factorizations and solutions.
    pub fn sweeps(&self) -> (usize, usize) {
        (self.form.loops.sweeps.factorizations, self.form.loops.sweeps.solutions)
    }

    /// Refuses a last iterate whose loops are open; it was measured last.
    fn check_closed(&self) -> Result<(), StepError> {
        let gaps = self.form.loops.rows().iter().map(|&row| (row, self.form.position[row].abs()));
        let worst = gaps.zip(&self.bounds).max_by(|((_, a), x), ((_, b), y)| (a / **x).total_cmp(&(b / **y)));
        let Some(((row, gap), &bound)) = worst.filter(|((_, gap), bound)| gap > *bound) else { return Ok(()) };
        let (unknown, block) = owner(&*self.form.dynamics, self.form.dynamics.layout().n() + row);
        let culprit = self.form.dynamics.subject(unknown, block);
        Err(StepError::OpenLoop { t: self.state.t, culprit, gap, bound })
    }

    /// Copies the last iterate into the state.
    fn last(&mut self) {
        let (n, size) = (self.state.q.len(), self.form.size());
        let y = &self.y[(self.form.iterates - 1) * size..];
        self.state.q.copy_from_slice(&y[..n]);
        self.state.v.copy_from_slice(&y[n..2 * n]);
        self.state.z.copy_from_slice(&y[2 * n..]);
    }
}

/// W: how easily each joint is moved by its own multipliers; without bound where the tree alone holds it, and one for all where there
/// are many.
fn weights(
    loops: &mut Loops,
    dynamics: &Arc<dyn Dynamics>,
    at: &Point,
    w: &mut Workspace,
) -> Result<Vec<f64>, LinearError> {
    if loops.size() > WEIGHED {
        return Ok(vec![1.0; loops.size()]);
    }
    let mut own = loops.own_mobilities()?;
    if let Some(mut free) = Loops::all(dynamics.clone(), at) {
        free.keeps_redundant = true;
        free.factor(at, w)?;
        let alone = free.own_mobilities()?;
        for (own, row) in own.iter_mut().zip(loops.rows()) {
            let alone = free.place(*row).map_or(0.0, |i| alone[i]);
            *own = if *own <= HELD * alone { f64::INFINITY } else { *own };
        }
    }
    let largest = own.iter().filter(|w| w.is_finite()).fold(0.0f64, |m, w| m.max(*w));
    let least = if largest > 0.0 { LEAST_WEIGHT * largest } else { 1.0 };
    Ok(own.into_iter().map(|w| w.max(least)).collect())
}

/// How far each equation of a loop may be open: a fraction of the model's length, or of a radian.
fn bounds(dynamics: &dyn Dynamics, loops: &Loops, at: &Point, w: &mut Workspace) -> Vec<f64> {
    let scales = RowScales::new(dynamics, at, w);
    loops.rows().iter().map(|&row| OPEN * dynamics.length() * scales.rows[row]).collect()
}

fn failed(dynamics: &dyn Dynamics, t: f64, error: LinearError) -> StepError {
    let name = |row: usize| {
        let (unknown, block) = owner(dynamics, row);
        dynamics.subject(unknown, block)
    };
    match error {
        LinearError::Singular { row } => StepError::Singular { t, culprit: name(row) },
        LinearError::NotFinite { row } => StepError::NotFinite { t, culprit: name(row) },
        _ => StepError::Singular { t, culprit: error.to_string().into() },
    }
}

impl Engine for Srm {
    fn step(&mut self, t_stop: f64) -> Result<(), StepError> {
        self.rk.limit(t_stop);
        let (dynamics, form) = (self.form.dynamics.clone(), &mut self.form);
        let t = self.state.t;
        let attempt = self.rk.attempt(&mut |t, _, y, ydot| form.rates(t, y, ydot), &|_| 0.0);
        attempt.map_err(|e| failed(&*dynamics, t, e))?;
        if let Some(i) = self.rk.tried().1.iter().position(|y| !y.is_finite()) {
            let n = self.state.q.len();
            let (_, body) = owner(&*dynamics, (i % self.form.size()) % n.max(1));
            let (epsilon, limit) = self.epsilon();
            let unstable = if epsilon < limit {
                format!(" (ε = {epsilon:.3e} s is below its limit {limit:.3e} s)")
            } else {
                String::new()
            };
            let mut culprit = dynamics.subject(bellcrank_model::Unknown::Q, body);
            culprit.words += &unstable;
            return Err(StepError::NotFinite { t, culprit });
        }
        self.rk.accept();
        self.dense_ready = false;
        self.steps += 1;
        self.state.t = self.rk.time();
        self.y.copy_from_slice(self.rk.state());
        let (n, size) = (self.state.q.len(), self.form.size());
        for s in 0..self.form.iterates {
            let y = &mut self.y[s * size..(s + 1) * size];
            self.form.place(self.state.t, y);
            if self.form.tree == TreeKeeping::Projected && !self.form.loops.tree.is_empty() {
                self.form.stabilize().map_err(|e| failed(&*dynamics, self.state.t, e))?;
                y[..n].copy_from_slice(&self.form.point.q);
                y[n..2 * n].copy_from_slice(&self.form.point.v);
                self.form.w.invalidate();
                dynamics.realize(&self.form.point, &mut self.form.w);
            }
            let (loops, tree) = self.form.drift();
            let worst = &mut self.drift[s];
            *worst = (worst.0.max(loops), worst.1.max(tree));
        }
        self.check_closed()?;
        self.rk.set_state(&self.y);
        self.last();
        self.accepted.set(&self.state);
        self.accepted.lambda.copy_from_slice(&self.form.point.lambda);
        self.accepted.vdot.copy_from_slice(&self.form.point.vdot);
        Ok(())
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn point(&self) -> &Point {
        &self.accepted
    }

    fn interpolate(&mut self, t: f64, out: &mut State) -> Result<(), StepError> {
        out.clone_from(&self.state);
        if t == self.state.t {
            return Ok(());
        }
        if !self.dense_ready {
            let (dynamics, form) = (self.form.dynamics.clone(), &mut self.form);
            let ready = self.rk.prepare_dense(&mut |t, _, y, ydot| form.rates(t, y, ydot));
            ready.map_err(|e| failed(&*dynamics, t, e))?;
            self.dense_ready = true;
        }
        let mut y = self.y.clone();
        self.rk.interpolate(t, &mut y);
        let (n, size) = (self.state.q.len(), self.form.size());
        let y = &y[(self.form.iterates - 1) * size..];
        out.t = t;
        out.q.copy_from_slice(&y[..n]);
        out.v.copy_from_slice(&y[n..2 * n]);
        out.z.copy_from_slice(&y[2 * n..]);
        Ok(())
    }

    fn settle(&mut self) {
        let (n, size) = (self.state.q.len(), self.form.size());
        if self.form.dynamics.settle(&mut self.state, &mut self.form.w) {
            // all iterates live in the same charts
            for y in self.y.chunks_exact_mut(size) {
                self.form.w.recentred.apply(&mut y[..n]);
            }
            self.rk.set_state(&self.y);
            self.dense_ready = false;
        }
        self.form.point.charts.clone_from(&self.state.charts);
        self.accepted.set(&self.state);
    }

    fn restart(&mut self, start: &Point) -> Result<(), StepError> {
        start.store(&mut self.state);
        self.accepted.clone_from(start);
        self.form.point.clone_from(start);
        self.dense_ready = false;
        let one: Vec<f64> = [&self.state.q[..], &self.state.v, &self.state.z].concat();
        self.y = one.repeat(self.form.iterates);
        self.start_multipliers(start);
        self.rk.start(start.t, &self.y, self.rk.step_size());
        Ok(())
    }

    fn step_size(&self) -> f64 {
        self.rk.step_size()
    }

    fn order(&self) -> usize {
        self.tableau.order.min(self.form.iterates)
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            steps: self.steps,
            residual_evaluations: self.form.evaluations,
            factorizations: self.form.loops.sweeps.factorizations,
            ..Statistics::default()
        }
    }

    fn loop_report(&self) -> Option<LoopReport> {
        Some(LoopReport {
            solver: if self.all { "srm-all" } else { "srm" },
            equations: self.form.loops.size(),
            epsilon: Some(self.epsilon()),
            drift: self.drift.clone(),
            ..LoopReport::default()
        })
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.rk.keep(tape);
        let form = &mut self.form;
        tape.plain(&mut form.loops.sweeps);
        tape.plain(&mut form.point);
        tape.numbers(&mut form.weights);
        tape.fixed(&mut form.first);
        tape.fixed(&mut form.mu);
        tape.fixed(&mut form.velocity);
        tape.fixed(&mut form.position);
        tape.number(&mut form.epsilon);
        tape.count(&mut form.evaluations);
        tape.plain(&mut self.state);
        tape.plain(&mut self.accepted);
        tape.numbers(&mut self.y);
        tape.flag(&mut self.dense_ready);
        tape.count(&mut self.steps);
        tape.plain(&mut self.drift);
        tape.numbers(&mut self.bounds);
        if tape.reads() {
            self.form.w.invalidate();
        }
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        (self.tableau.name, "index1", if self.all { "srm-all" } else { "srm" })
    }
}
