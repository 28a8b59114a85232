//! Explicit engines: Runge–Kutta on the index-1 form, v̇ from the KKT system, with projection.

mod accelerations;
mod along;
mod smoothness;

pub use self::accelerations::AccelerationSolver;
use self::accelerations::counted;
use self::along::Fading;
use super::progress::StepTally;
use super::{Engine, LoopReport, Refusal, Statistics, StepError, Stiff};
use crate::methods::Rejection;
use crate::methods::runge_kutta::RungeKutta;
use crate::methods::tableau::Tableau;
use crate::tolerances::Tolerances;
use crate::weights::Weights;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Piece, Point, State, Subject, Unknown, Workspace};
use smoothness::Smoothness;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// A Runge–Kutta method on ẏ = F(t, y), y = (q, v, z).
pub struct Explicit {
    rk: RungeKutta,
    tableau: &'static Tableau,
    form: RightHandSide,
    tolerances: Tolerances,
    weights: Weights,
    state: State,
    accepted: Point,
    y: Vec<f64>,
    dense_ready: bool,
    progress: StepTally,
    last: LastStep,
    /// The time spent, where it is measured.
    seconds: Option<Seconds>,
}

/// What is known of the last steps.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct LastStep {
    smoothness: Smoothness,
    /// Redundant rows and smallest pivot of its last evaluation.
    rank: Option<(usize, f64)>,
    /// The work that came in, where forces bring energy in from outside.
    work: Option<f64>,
    /// Whether its end was not put onto the constraints.
    unprojected: bool,
    /// Up to this number of steps the edge of stability is known to be that of an oscillation.
    trusted: usize,
}

/// Seconds of evaluations and of projections.
#[derive(Clone, Copy, Default)]
struct Seconds {
    evaluations: f64,
    projections: f64,
}

/// The right-hand side: q̇ = N v, v̇ from M v̇ + Gᵀλ = f, G v̇ = γ, ż = φ.
struct RightHandSide {
    dynamics: Arc<dyn Dynamics>,
    linear: AccelerationSolver,
    point: Point,
    w: Workspace,
    evaluations: usize,
    /// The smallest pivots of the present step, with their times.
    pivots: Vec<(f64, f64)>,
    /// The time and the coordinates of the smallest of them, where it is small and rows are left out.
    closest: Option<(f64, Vec<f64>)>,
    /// Where rows of G may vanish, how far they have.
    fading: Option<Fading>,
    /// Whether stages are put onto the constraints.
    careful: bool,
    /// Where forces work, the power at every stage and at the end of the step; at the first stage NaN until it is known.
    power: Option<Vec<f64>>,
    weights: &'static [f64],
}

/// The body or constraint of a row of the coordinates and, after them, the constraints.
pub(super) fn owner(dynamics: &dyn Dynamics, row: usize) -> (Unknown, usize) {
    let layout = dynamics.layout();
    match row.checked_sub(layout.n()) {
        None => (Unknown::Q, layout.bodies.partition_point(|r| r.end <= row)),
        Some(row) => (Unknown::Lambda, layout.constraints.partition_point(|r| r.end <= row)),
    }
}

impl RightHandSide {
    /// Tells a tape what one evaluation leaves to the next.
    fn keep(&mut self, tape: &mut Tape) {
        self.linear.keep(tape);
        tape.plain(&mut self.point);
        tape.count(&mut self.evaluations);
        tape.plain(&mut self.pivots);
        self.fading.iter_mut().for_each(|fading| fading.keep(tape));
        tape.plain(&mut self.power);
        if tape.reads() {
            self.w.invalidate();
        }
    }

    /// The size of (q, v, z).
    fn size(&self) -> usize {
        2 * self.point.q.len() + self.point.z.len()
    }

    fn rates(&mut self, t: f64, stage: usize, y: &[f64], ydot: &mut [f64]) -> Result<(), LinearError> {
        self.evaluations += 1;
        let n = self.dynamics.layout().n();
        let p = &mut self.point;
        p.t = t;
        p.q.copy_from_slice(&y[..n]);
        p.v.copy_from_slice(&y[n..2 * n]);
        let (z, multipliers) = y[2 * n..].split_at(p.z.len());
        p.z.copy_from_slice(z);
        if self.linear.integrates_multipliers() {
            p.lambda.copy_from_slice(multipliers);
        }
        self.w.invalidate();
        if self.careful || self.linear.keeps_stages() {
            self.linear.project(&*self.dynamics, p, &mut self.w)?;
            self.w.invalidate();
        }
        self.dynamics.realize(p, &mut self.w);
        self.linear.accelerate(p, &mut self.w)?;
        let pivot = self.pivot_at_hand();
        self.note_pivot(t, pivot);
        let p = &mut self.point;
        let (qdot, rest) = ydot.split_at_mut(n);
        let (vdot, rest) = rest.split_at_mut(n);
        let (zdot, of_multipliers) = rest.split_at_mut(p.z.len());
        self.dynamics.rates(&p.q, &p.v, qdot);
        vdot.copy_from_slice(&p.vdot);
        zdot.fill(0.0);
        self.dynamics.add(1.0, Piece::Flow, p, &mut self.w, zdot);
        if let Some(rates) = self.linear.multiplier_rates() {
            of_multipliers.copy_from_slice(rates);
        }
        self.note_power(stage);
        Ok(())
    }

    /// Notes the power at a stage that counts. The end of a step may become the beginning of the next.
    fn note_power(&mut self, stage: usize) {
        let (Some(power), end) = (&mut self.power, self.weights.len()) else { return };
        if stage == end || self.weights.get(stage).is_some_and(|b| *b != 0.0) {
            power[stage] = self.dynamics.power(&self.point, &mut self.w);
            if stage == end && power[0].is_nan() {
                power[0] = power[stage];
            }
        }
    }

    /// The step is done: what is known of the power where the next one begins.
    fn pass_power(&mut self, known: bool) {
        if let Some(power) = &mut self.power {
            power[0] = if known { power[self.weights.len()] } else { f64::NAN };
        }
    }
}

/// y = (q, v, z), and λ where it is integrated.
fn stack(s: &State, multipliers: &[f64], y: &mut Vec<f64>) {
    y.clear();
    [&s.q, &s.v, &s.z].into_iter().for_each(|x| y.extend_from_slice(x));
    y.extend_from_slice(multipliers);
}

fn unstack(y: &[f64], s: &mut State) {
    let (n, m, k) = (s.q.len(), s.v.len(), s.z.len());
    s.q.copy_from_slice(&y[..n]);
    s.v.copy_from_slice(&y[n..n + m]);
    s.z.copy_from_slice(&y[n + m..][..k]);
}

fn norm(weights: &Weights, n: usize, y: &[f64]) -> f64 {
    weights.norm(&y[..n], &y[n..2 * n], &y[2 * n..][..weights.z.len()])
}

impl Explicit {
    /// Starts a tableau from a consistent point, with what gives the accelerations. A tableau without error estimate needs a fixed step.
    pub fn new(
        dynamics: Arc<dyn Dynamics>,
        tableau: &'static Tableau,
        fixed_step: Option<f64>,
        mut tolerances: Tolerances,
        start: &Point,
        linear: AccelerationSolver,
    ) -> Result<Explicit, StepError> {
        let t = start.t;
        let mut rk = RungeKutta::new(tableau, fixed_step).map_err(|_| StepError::Collapse {
            t,
            h: 0.0,
            culprit: format!("{} has no error estimate and needs a fixed step", tableau.name).into(),
            convergence: false,
            fixed: false,
        })?;
        let mut state = State::default();
        start.store(&mut state);
        tolerances.see(&state.v);
        let mut weights = Weights::default();
        tolerances.weigh(&state, start, &mut weights);
        let mut y = Vec::new();
        stack(&state, linear.integrated(start), &mut y);
        let mut form = RightHandSide {
            linear,
            point: start.clone(),
            w: dynamics.workspace(),
            evaluations: 0,
            pivots: Vec::with_capacity(32),
            closest: None,
            fading: Fading::new(&*dynamics),
            careful: false,
            power: dynamics.has_power().then(|| vec![f64::NAN; tableau.stages + 1]),
            weights: tableau.b(),
            dynamics: dynamics.clone(),
        };
        begin(&mut rk, &mut form, &weights, t, &y, state.q.len())?;
        Ok(Explicit {
            rk,
            tableau,
            form,
            tolerances,
            weights,
            state,
            accepted: start.clone(),
            y,
            dense_ready: false,
            progress: StepTally::new(),
            last: LastStep::default(),
            seconds: None,
        })
    }

    /// No step will be longer.
    pub fn limit_steps(&mut self, h: f64) {
        self.rk.set_max_step(h);
    }

    fn clock(&self) -> Option<Instant> {
        self.seconds.is_some().then(Instant::now)
    }
}

/// The body with the largest weighted entry of an error.
fn largest(bodies: &[Range<usize>], weights: &Weights, n: usize, e: &[f64]) -> usize {
    let size = |r: &Range<usize>| {
        r.clone().map(|i| (e[i] * weights.q[i]).abs().max((e[n + i] * weights.v[i]).abs())).fold(0.0, f64::max)
    };
    let sizes = bodies.iter().map(size).enumerate();
    sizes.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(b, _)| b)
}

/// Starts the method, with a first step of its own choice unless it is fixed.
fn begin(
    rk: &mut RungeKutta,
    form: &mut RightHandSide,
    weights: &Weights,
    t: f64,
    y: &[f64],
    n: usize,
) -> Result<(), StepError> {
    rk.start(t, y, 0.0);
    let first = rk.choose_first_step(&mut |t, stage, y, ydot| form.rates(t, stage, y, ydot), &|e| norm(weights, n, e));
    first.map(|_| ()).map_err(|e| singular(form, t, e))
}

fn singular(form: &RightHandSide, t: f64, error: LinearError) -> StepError {
    match error {
        LinearError::Singular { row } => StepError::Singular { t, culprit: subject(form, row) },
        LinearError::NotFinite { row } => StepError::NotFinite { t, culprit: subject(form, row) },
        _ => StepError::Singular { t, culprit: error.to_string().into() },
    }
}

fn subject(form: &RightHandSide, row: usize) -> Subject {
    let (unknown, block) = owner(&*form.dynamics, row);
    form.dynamics.subject(unknown, block)
}

impl Explicit {
    /// Tries steps until one is acceptable.
    fn attempt(&mut self) -> Result<(), StepError> {
        let dynamics = self.form.dynamics.clone();
        let (n, bodies) = (self.state.q.len(), &dynamics.layout().bodies);
        loop {
            let from = self.clock();
            let (form, weights, worst) = (&mut self.form, &self.weights, Cell::new(0));
            form.forget_pivots();
            let attempt = self.rk.attempt(&mut |t, stage, y, ydot| form.rates(t, stage, y, ydot), &|e| {
                let size = norm(weights, n, e);
                if size > 1.0 {
                    worst.set(largest(bodies, weights, n, e));
                }
                size
            });
            if let (Some(from), Some(seconds)) = (from, &mut self.seconds) {
                seconds.evaluations += from.elapsed().as_secs_f64();
            }
            if attempt.as_ref().is_ok_and(|error| *error > 1.0) && self.takes_care() {
                continue;
            }
            let attempt = attempt.map(|error| if error > 1.0 { self.error_along(error) } else { error });
            let (rejection, owner) = match attempt {
                Ok(error) if error <= 1.0 && self.rk.tried().1.iter().all(|y| y.is_finite()) => return Ok(()),
                Ok(error) if error.is_finite() && error > 1.0 => (Rejection::Error(error), (Unknown::Q, worst.get())),
                // a stage left the range of the equations: a shorter step may not
                Ok(_) => {
                    let tried = self.rk.tried().1;
                    let lost = |r: &Range<usize>| !r.clone().all(|i| (tried[i] + tried[n + i]).is_finite());
                    (Rejection::Convergence, (Unknown::Q, bodies.iter().position(lost).unwrap_or(0)))
                }
                Err(LinearError::NotFinite { row }) => (Rejection::Convergence, owner(&*dynamics, row)),
                // friction that follows reactions may have no solution at a stage, and still have one before
                Err(LinearError::Singular { row }) if dynamics.may_follow().is_some() => {
                    let e = singular(&self.form, self.state.t, LinearError::Singular { row });
                    self.refuse(Rejection::Convergence, owner(&*dynamics, row)).map_err(|_| e)?;
                    continue;
                }
                Err(e) => return Err(singular(&self.form, self.state.t, e)),
            };
            self.refuse(rejection, owner)?;
        }
    }

    /// Refuses an attempt; an error if no other is left.
    fn refuse(&mut self, rejection: Rejection, owner: (Unknown, usize)) -> Result<(), StepError> {
        let convergence = rejection == Rejection::Convergence;
        self.progress.refuse(self.rk.step_size(), convergence, owner);
        if self.rk.reject(rejection).is_ok() {
            return Ok(());
        }
        let (t, h) = (self.state.t, self.rk.step_size());
        let culprit = self.form.dynamics.subject(owner.0, owner.1);
        Err(match convergence {
            true => StepError::NotFinite { t, culprit },
            false => StepError::Collapse { t, h, culprit, convergence, fixed: false },
        })
    }

    /// Takes the attempted step, with what came in during it.
    fn accept(&mut self) {
        self.last.rank = self.form.linear.rank();
        self.rk.accept();
        self.dense_ready = false;
        self.progress.steps += 1;
        let h = self.rk.time() - self.state.t;
        let sum = |power: &Vec<f64>| {
            let counting = self.form.weights.iter().zip(power).filter(|(b, _)| **b != 0.0);
            h * counting.map(|(b, p)| b * p).sum::<f64>()
        };
        self.last.work = self.form.power.as_ref().map(sum);
        self.form.pass_power(self.tableau.estimates_with_end());
        self.state.t = self.rk.time();
        unstack(self.rk.state(), &mut self.state);
        self.accepted.set(&self.state);
        self.form.w.invalidate();
    }

    /// Puts the accepted point onto the constraints.
    fn project(&mut self) -> Result<(), StepError> {
        let from = self.clock();
        if !self.noisy() {
            let RightHandSide { dynamics, w, linear, point, .. } = &mut self.form;
            // where the last stage is the end of the step
            let projected = match point.q == self.accepted.q {
                true => linear.project_there(&**dynamics, &mut self.accepted, w),
                false => linear.project(&**dynamics, &mut self.accepted, w),
            };
            projected.map_err(|e| singular(&self.form, self.state.t, e))?;
        }
        if let (Some(from), Some(seconds)) = (from, &mut self.seconds) {
            seconds.projections += from.elapsed().as_secs_f64();
        }
        self.accepted.store(&mut self.state);
        match self.form.linear.integrates_multipliers() {
            true => self.accepted.lambda.copy_from_slice(&self.rk.state()[self.form.size()..]),
            false => self.accepted.lambda.copy_from_slice(&self.form.point.lambda),
        }
        self.accepted.vdot.copy_from_slice(&self.form.point.vdot);
        Ok(())
    }

    /// The weights of the error test at the accepted state.
    fn weigh(&mut self) {
        stack(&self.state, self.form.linear.integrated(&self.accepted), &mut self.y);
        self.tolerances.see(&self.state.v);
        self.tolerances.weigh(&self.state, &self.accepted, &mut self.weights);
    }
}

impl Engine for Explicit {
    fn step(&mut self, t_stop: f64) -> Result<(), StepError> {
        self.rk.limit(t_stop);
        self.progress.refusals.clear();
        let begun = self.form.linear.begin(&self.accepted, &mut self.form.w);
        begun.map_err(|e| singular(&self.form, self.state.t, e))?;
        let attempted = self.attempt();
        self.form.careful = false;
        attempted?;
        self.accept();
        self.project()?;
        self.weigh();
        let (weights, n) = (&self.weights, self.state.q.len());
        self.last.smoothness.note(self.state.t, &self.y, self.rk.error(), |e| norm(weights, n, e));
        Ok(())
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn point(&self) -> &Point {
        &self.accepted
    }

    fn interpolate(&mut self, t: f64, out: &mut State) -> Result<(), StepError> {
        if t == self.state.t {
            out.clone_from(&self.state);
            return Ok(());
        }
        if !self.dense_ready {
            let form = &mut self.form;
            let ready = self.rk.prepare_dense(&mut |t, stage, y, ydot| form.rates(t, stage, y, ydot));
            ready.map_err(|e| singular(&self.form, t, e))?;
            self.dense_ready = true;
        }
        out.clone_from(&self.state);
        out.t = t;
        let mut y = std::mem::take(&mut self.y);
        self.rk.interpolate(t, &mut y);
        unstack(&y, out);
        stack(&self.state, self.form.linear.integrated(&self.accepted), &mut y);
        self.y = y;
        Ok(())
    }

    fn settle(&mut self) {
        let changed = self.form.dynamics.settle(&mut self.state, &mut self.form.w);
        stack(&self.state, self.form.linear.integrated(&self.accepted), &mut self.y);
        if changed || self.rk.state() != self.y.as_slice() {
            self.rk.set_state(&self.y);
            self.form.pass_power(false);
        }
        if changed {
            self.last.smoothness.start(self.state.t, &self.y);
        }
        self.form.point.charts.clone_from(&self.state.charts);
        self.accepted.set(&self.state);
    }

    fn restart(&mut self, start: &Point) -> Result<(), StepError> {
        start.store(&mut self.state);
        self.accepted.clone_from(start);
        self.form.point.clone_from(start);
        self.dense_ready = false;
        self.weigh();
        self.last.smoothness = Smoothness::default();
        self.form.pass_power(false);
        begin(&mut self.rk, &mut self.form, &self.weights, start.t, &self.y, start.q.len())
    }

    fn work(&self) -> Option<f64> {
        self.last.work
    }

    fn set_leeway(&mut self, leeway: f64) {
        self.tolerances.set_leeway(leeway);
    }

    fn step_size(&self) -> f64 {
        self.rk.step_size()
    }

    fn order(&self) -> usize {
        self.tableau.order
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            flops: 0,
            steps: self.progress.steps,
            error_test_failures: self.progress.error_test_failures,
            convergence_failures: self.progress.convergence_failures,
            residual_evaluations: self.form.evaluations,
            jacobian_evaluations: 0,
            factorizations: self.form.linear.factorizations(),
            iterations: if let AccelerationSolver::Loops(loops) = &self.form.linear { loops.cg.iterations } else { 0 },
        }
    }

    fn refusals(&self) -> &[Refusal] {
        &self.progress.refusals
    }

    fn measure(&mut self) {
        self.seconds = Some(Seconds::default());
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        self.seconds
            .map_or_else(Vec::new, |s| vec![("stages of the method", s.evaluations), ("projections", s.projections)])
    }

    fn rank(&self) -> Option<(usize, f64)> {
        self.last.rank
    }

    fn pivots(&self) -> &[(f64, f64)] {
        &self.form.pivots
    }

    fn loop_report(&self) -> Option<LoopReport> {
        let AccelerationSolver::Loops(loops) = &self.form.linear else { return None };
        if loops.loops().size() == 0 {
            return None;
        }
        Some(LoopReport {
            solver: "loop-cg",
            equations: loops.loops().size(),
            solves: loops.cg.solves,
            iterations: loops.cg.iterations,
            renewals: loops.cg.renewals,
            ..LoopReport::default()
        })
    }

    fn explain_solver(&self) -> Option<String> {
        Some(self.form.linear.explain())
    }

    fn stiff(&self) -> Option<Stiff> {
        let LastStep { smoothness, trusted, .. } = &self.last;
        let at_edge = self.rk.stiff() && self.progress.steps >= *trusted;
        match at_edge && smoothness.surprise > Smoothness::EXCITED {
            true => Some(Stiff::Rough),
            false => (at_edge || smoothness.stiff()).then_some(Stiff::Smooth),
        }
    }

    fn follow_oscillation(&mut self) {
        self.rk.watch_anew();
        self.last.trusted = 2 * self.progress.steps;
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.rk.keep(tape);
        self.form.keep(tape);
        self.tolerances.keep(tape);
        tape.plain(&mut self.weights);
        tape.plain(&mut self.state);
        tape.plain(&mut self.accepted);
        tape.numbers(&mut self.y);
        tape.flag(&mut self.dense_ready);
        tape.plain(&mut self.progress);
        tape.plain(&mut self.last);
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        (
            self.tableau.name,
            self.form.linear.formulation(),
            if self.loop_report().is_some() { "loop-cg" } else { "none" },
        )
    }
}
