//! Implicit engines: a method, a formulation and Newton's iteration.

mod error_test;
mod fixed;
mod partitioning;
mod solver;

use super::progress::StepTally;
use super::{Engine, EngineRevision, LoopReport, Refusal, SplitReport, Statistics, StepError};
use crate::choices::ErrorScope;
use crate::formulation::Formulation;
use crate::linear::partition::Partition;
use crate::linear::plan::{LinearPlan, MatrixPlan};
use crate::linear::projection::Projection;
use crate::methods::{Method, Rejection};
use crate::newton::{Converged, Iteration, IterationError, amplified};
use crate::redundancy;
use crate::step::Step;
use crate::tolerances::Tolerances;
use crate::weights::Weights;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::dynamics::CHART_LIMIT;
use bellcrank_model::{Dynamics, Point, State, Subject, Unknown, Workspace};
use error_test::ErrorTest;
use fixed::FixedSteps;
use partitioning::Partitioning;
use solver::StepSolver;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The fraction of what rounding may become near a singular position that an estimate of the error may contain: all of it, as
/// Newton's iteration stops there. (With a tenth a row of ten four-bars at 1e-10 refused what it could not better, and collapsed.)
const BLURRED: f64 = 1.0;

/// A lean matrix that takes more iterations than this is given up for the rest of the run.
const TOO_LEAN: usize = 6;

/// How a step is solved and tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Newton's iteration.
    pub iteration: Iteration,
    /// Most iterations per attempt.
    pub max_iterations: usize,
    /// Which coordinates the error test looks at.
    pub on: ErrorScope,
    /// Fixed steps: the tolerance of Newton's iteration is that of the arithmetic.
    pub fixed: bool,
    /// DASSL's economy: a matrix is kept while the step size allows, its contraction taken for granted.
    pub as_dassl: bool,
    /// What solves its matrices.
    pub linear: LinearPlan,
    /// What the matrices are.
    pub matrix: MatrixPlan,
    /// No step is longer; infinite for none.
    pub longest: f64,
}

/// An implicit method on a formulation.
pub struct Implicit {
    dynamics: Arc<dyn Dynamics>,
    method: Box<dyn Method>,
    method_name: &'static str,
    control: Control,
    solver: StepSolver,
    projection: Option<Projection>,
    tolerances: Tolerances,
    test: ErrorTest,
    partitioning: Option<Partitioning>,
    /// What fixed steps have in place of an error test.
    fixed: Option<FixedSteps>,
    accepted: Accepted,
    progress: StepTally,
}

/// The last accepted state.
struct Accepted {
    state: State,
    w: Workspace,
}

/// Centres the charts of a start at it, where the method wants them so.
fn centre(dynamics: &dyn Dynamics, method: &dyn Method, at: &mut Accepted, point: &mut Point) {
    if method.centred() && dynamics.settle_past(0.0, &mut at.state, &mut at.w) {
        point.set(&at.state);
        dynamics.rates(&at.state.q, &at.state.v, &mut point.qdot);
    }
}

/// A point where nothing is stabilized; μ is not even carried along where the formulation has none.
fn without_stabilization(formulation: &Formulation, point: &mut Point) {
    match formulation.unknowns().any(|u| u == Unknown::Mu) {
        true => point.mu.fill(0.0),
        false => point.mu.clear(),
    }
}

impl Implicit {
    /// Starts a method from a consistent point, with the first step size for given weights of the convergence test. `names` are
    /// those of the method and of the formulation.
    pub fn new(
        dynamics: Arc<dyn Dynamics>,
        mut method: Box<dyn Method>,
        names: (&'static str, &'static str),
        formulation: Formulation,
        control: Control,
        mut tolerances: Tolerances,
        start: &Point,
        first_step: impl FnOnce(&Weights) -> f64,
    ) -> Implicit {
        let mut accepted = Accepted { state: State::default(), w: dynamics.workspace() };
        start.store(&mut accepted.state);
        let mut point = start.clone();
        without_stabilization(&formulation, &mut point);
        centre(&*dynamics, &*method, &mut accepted, &mut point);
        let projection = formulation.projects().then(|| Projection::new(dynamics.clone()));
        let (centred, w) = (method.centred(), &mut accepted.w);
        let mut solver = StepSolver::new(&dynamics, formulation, &control, centred, (point, start), w);
        let mut test = ErrorTest::new(&mut tolerances, &accepted.state, start, control.fixed);
        let restricts = control.on == ErrorScope::Independent;
        let partitioned = (control.iteration.splits() || restricts) && dynamics.layout().m() > 0;
        let partitioning = partitioned.then(|| Partitioning::new(&dynamics, start, &mut accepted.w, restricts));
        if let Some(p) = &partitioning {
            solver.step.set_partition(&p.partition);
            p.restrict(&mut test.error);
        }
        // over all coordinates, as in DASSL: the start knows no partition yet
        let first = first_step(&test.convergence);
        method.start(&solver.step.point, first);
        Implicit {
            dynamics,
            method,
            method_name: names.0,
            control,
            solver,
            projection,
            tolerances,
            test,
            partitioning,
            fixed: control.fixed.then(|| FixedSteps::new(first)),
            accepted,
            progress: StepTally::new(),
        }
    }

    /// What the last solve that converged took.
    pub fn convergence(&self) -> Converged {
        self.solver.newton.last
    }

    /// The partition of the coordinates in use, if there is one.
    pub fn partition(&self) -> Option<&Partition> {
        self.partitioning.as_ref().map(|p| &p.partition)
    }

    /// Tries a step; false if another one is to be tried. A cautious attempt predicts positions and velocities alone.
    fn attempt(&mut self, cautious: &mut bool) -> Result<bool, StepError> {
        self.method.prepare(&mut self.solver.step.stencil, &mut self.solver.step.point);
        self.set_limits();
        let solved = self.solve(*cautious);
        if self.solver.plan.lean && solved.map_or(true, |c| c.iterations > TOO_LEAN) {
            self.solver.give_up_lean(&self.control);
            self.progress.revisions.push(EngineRevision::WholeMatrix { t: self.accepted.state.t });
            if solved.is_err() {
                return Ok(false);
            }
        }
        if let Err(why) = solved {
            return self.fail(why, cautious).map(|()| false);
        }
        self.solver.step.solved();
        if self.is_rough() {
            self.solver.newton.forget_matrix();
            return Ok(false);
        }
        let admitted = self.admitted();
        if !self.control.as_dassl {
            self.method.blur(admitted);
        }
        let error = self.method.error(&self.solver.step.point, &self.test.error);
        if error > admitted || error.is_nan() {
            let owner = self.test.blame(&*self.method, &self.solver.step);
            self.progress.refuse(self.solver.step.stencil.h, false, owner);
            return match self.method.reject(Rejection::Error(error / admitted)) {
                Ok(()) => Ok(false),
                Err(_) => Err(self.collapse(false, owner)),
            };
        }
        self.project()?;
        Ok(true)
    }

    /// Weights and limits of Newton's iteration for the prepared step.
    fn set_limits(&mut self) {
        let (step, state) = (&mut self.solver.step, &self.accepted.state);
        match &mut self.fixed {
            Some(fixed) => {
                let sizes = (self.method.step_size(), self.dynamics.length());
                fixed.limit(sizes, self.solver.newton.iteration, &self.tolerances, state, step);
            }
            None => {
                self.test.limit(self.method.precision(), state, step, self.control.as_dassl);
                if self.solver.formulation.index == 3 && !self.control.as_dassl {
                    error_test::blur_velocities(&self.tolerances, state, step);
                    step.limits.stagnation = self.method.stagnation();
                }
            }
        }
    }

    /// Solves the prepared step from the method's prediction.
    fn solve(&mut self, cautious: bool) -> Result<Converged, IterationError> {
        let (method, step) = (&*self.method, &mut self.solver.step);
        let predict = |s: &mut Step| {
            if cautious {
                method.predict_positions(&mut s.point)
            } else {
                method.predict(&mut s.point)
            }
            s.follow();
            s.predicted();
        };
        if cautious {
            predict(step)
        } else {
            if !step.stencil.velocities_follow {
                step.follow();
            }
            step.predicted();
        }
        self.solver.newton.solve(step, predict)
    }

    /// Newton's iteration failed: another attempt is prepared, if there is one.
    fn fail(&mut self, why: IterationError, cautious: &mut bool) -> Result<(), StepError> {
        self.solver.newton.forget_matrix();
        self.fixed.iter_mut().for_each(FixedSteps::forget);
        let owner = match why {
            IterationError::Linear(LinearError::Singular { row }) => self.solver.step.owner(row),
            _ => self.test.blame(&*self.method, &self.solver.step),
        };
        self.progress.refuse(self.solver.step.stencil.h, true, owner);
        if self.fixed.is_some() && (self.soften() || !std::mem::replace(cautious, true)) {
            return Ok(());
        }
        if self.method.reject(Rejection::Convergence).is_ok() {
            return Ok(());
        }
        let (t, culprit) = (self.accepted.state.t, self.subject(owner));
        Err(match why {
            _ if self.is_near_singular() => self.collapse(true, owner),
            IterationError::Linear(LinearError::Singular { .. }) => StepError::Singular { t, culprit },
            IterationError::NotFinite | IterationError::Linear(LinearError::NotFinite { .. }) => {
                StepError::NotFinite { t, culprit }
            }
            _ => self.collapse(true, owner),
        })
    }

    /// Whether the first fixed step shows that something fast dies out within it, and the method can take it softly.
    fn is_rough(&mut self) -> bool {
        let Some(fixed) = self.fixed.as_mut().filter(|_| self.method.is_first()) else { return false };
        let step = &self.solver.step;
        self.method.is_rough(&step.point, fixed.unit(&step.weights)) && self.soften()
    }

    /// Takes the first steps with damping; false if they are over.
    fn soften(&mut self) -> bool {
        let can = self.method.soften();
        if can {
            self.progress.revisions.push(EngineRevision::SoftStart { t: self.accepted.state.t });
        }
        can
    }

    /// Puts the solved step onto the constraints, where the formulation lets it drift.
    fn project(&mut self) -> Result<(), StepError> {
        let Some(projection) = &mut self.projection else { return Ok(()) };
        let (t, step, w) = (self.accepted.state.t, &mut self.solver.step, &mut self.accepted.w);
        w.invalidate();
        let projected = projection.apply(&*self.dynamics, &mut step.point, w);
        projected.map_err(|_| StepError::Singular { t, culprit: "the constraints".into() })?;
        step.stencil.rates(&mut step.point);
        step.touched();
        Ok(())
    }

    /// Takes the step, and weighs what follows by it.
    fn accept(&mut self) {
        let (step, state) = (&mut self.solver.step, &mut self.accepted.state);
        self.method.accept(&step.point, &self.test.error, state);
        if self.fixed.is_none() {
            // after the history has taken its point: differences of high order would see the polish
            step.polish();
            step.point.store_motion(state);
        }
        self.progress.steps += 1;
        self.fixed.iter_mut().for_each(|f| f.accepted(self.progress.steps));
        if self.fixed.is_some() && !self.method.tests_error() && self.partitioning.is_none() {
            return;
        }
        self.test.weigh(&mut self.tolerances, &self.accepted.state, &self.solver.step.point);
        self.renew_partition();
    }

    /// Replaces a poor partition. That takes a new matrix and other weights, and no restart, because the
    /// solution of P r = 0 does not depend on the partition.
    fn renew_partition(&mut self) {
        let Some(p) = &mut self.partitioning else { return };
        let (step, w) = (&mut self.solver.step, &mut self.accepted.w);
        w.invalidate();
        self.dynamics.realize(&step.point, w);
        if p.renew(&step.point, w) && step.set_partition(&p.partition) {
            self.solver.newton.forget_matrix();
        }
        p.restrict(&mut self.test.error);
    }

    /// The largest error that passes the test: 1, and what rounding becomes near a singular position, where
    /// shorter steps do not help.
    fn admitted(&self) -> f64 {
        if self.fixed.is_some() {
            return 1.0;
        }
        let (state, pivot) = (&self.accepted.state, self.solver.newton.pivot);
        let blurs = amplified(1.0, pivot) > 0.0;
        let size = if blurs { self.test.error.norm(&state.q, &state.v, &state.z) } else { 0.0 };
        1.0 + BLURRED * amplified(f64::EPSILON * size, pivot) + self.noise()
    }

    /// What rounding of positions makes of the estimate, where that is made of their differences.
    fn noise(&self) -> f64 {
        let (noise, weights) = (self.method.noise(), &self.test.error.v);
        if noise == 0.0 {
            return 0.0;
        }
        let rounding = self.tolerances.rounding(&self.accepted.state);
        noise * weights.iter().enumerate().fold(0.0f64, |m, (i, w)| m.max(w * rounding(i)))
    }

    fn is_near_singular(&mut self) -> bool {
        let small = self.fixed.is_none() && amplified(1.0, self.solver.newton.pivot) > 0.0;
        small && redundancy::is_singular(&*self.dynamics, &self.solver.step.point, &mut self.accepted.w)
    }

    fn collapse(&mut self, convergence: bool, owner: (Unknown, usize)) -> StepError {
        let (t, h, culprit) = (self.accepted.state.t, self.solver.step.stencil.h, self.subject(owner));
        if self.is_near_singular() {
            let (pivot, redundant) = (self.solver.newton.pivot, self.rank().map_or(0, |r| r.0));
            return StepError::NearSingular { t, h, culprit, pivot, redundant };
        }
        StepError::Collapse { t, h, culprit, convergence, fixed: self.fixed.is_some() }
    }

    fn subject(&self, owner: (Unknown, usize)) -> Subject {
        self.dynamics.subject(owner.0, owner.1)
    }
}

impl Engine for Implicit {
    fn step(&mut self, t_stop: f64) -> Result<(), StepError> {
        self.method.limit(t_stop.min(self.accepted.state.t + self.control.longest));
        self.progress.refusals.clear();
        self.solver.step.begin();
        let mut cautious = false;
        while !self.attempt(&mut cautious)? {}
        self.accept();
        Ok(())
    }

    fn state(&self) -> &State {
        &self.accepted.state
    }

    fn point(&self) -> &Point {
        &self.solver.step.point
    }

    fn interpolate(&mut self, t: f64, out: &mut State) -> Result<(), StepError> {
        out.clone_from(&self.accepted.state);
        out.t = t;
        self.method.interpolate(t, out);
        Ok(())
    }

    fn settle(&mut self) {
        let limit = if self.method.centred() { 0.0 } else { CHART_LIMIT };
        let (point, Accepted { state, w }) = (&mut self.solver.step.point, &mut self.accepted);
        if self.dynamics.settle_past(limit, state, w) {
            self.method.recentre(&w.recentred);
            for m in &w.recentred.moves {
                let chart = m.at..m.at + 3;
                point.q[chart.clone()].copy_from_slice(&state.q[chart]);
            }
            point.charts.centres.clone_from(&state.charts.centres);
        }
        if point.charts.time != state.charts.time {
            // turns were counted
            point.charts.clone_from(&state.charts);
        }
        self.solver.step.touched();
    }

    /// With order 1 and, where steps are not fixed, DASSL's first step, at most the last one.
    fn restart(&mut self, start: &Point) -> Result<(), StepError> {
        start.store(&mut self.accepted.state);
        let step = &mut self.solver.step;
        step.point.clone_from(start);
        without_stabilization(&self.solver.formulation, &mut step.point);
        centre(&*self.dynamics, &*self.method, &mut self.accepted, &mut step.point);
        step.touched();
        step.started();
        self.solver.leave_out();
        self.solver.newton.forget_matrix();
        self.fixed.iter_mut().for_each(FixedSteps::forget);
        self.test.weigh(&mut self.tolerances, &self.accepted.state, start);
        self.renew_partition();
        let h = match &self.fixed {
            Some(fixed) => fixed.h,
            None => self.method.first_step(start, &self.test.convergence, 1e3 * self.method.step_size()),
        };
        self.method.start(&self.solver.step.point, h);
        Ok(())
    }

    fn set_leeway(&mut self, leeway: f64) {
        self.method.set_leeway(leeway);
    }

    fn step_size(&self) -> f64 {
        self.method.step_size()
    }

    fn order(&self) -> usize {
        self.method.order()
    }

    fn statistics(&self) -> Statistics {
        let (c, p) = (self.solver.newton.counts, &self.progress);
        let projections = self.projection.as_ref().map_or(0, |p| p.factorizations());
        Statistics {
            steps: p.steps,
            error_test_failures: p.error_test_failures,
            convergence_failures: p.convergence_failures,
            residual_evaluations: c.residuals,
            jacobian_evaluations: c.jacobians,
            factorizations: c.factorizations + self.solver.step.factorizations() + projections,
            iterations: c.iterations,
            flops: c.flops,
        }
    }

    fn refusals(&self) -> &[Refusal] {
        &self.progress.refusals
    }

    fn revisions(&mut self) -> Vec<EngineRevision> {
        std::mem::take(&mut self.progress.revisions)
    }

    fn measure(&mut self) {
        self.solver.newton.clock.switch_on();
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        let Some(s) = self.solver.newton.clock.seconds() else { return Vec::new() };
        vec![
            ("residuals", s.residuals),
            ("matrices", s.matrices),
            ("factors and first solutions", s.factors),
            ("other solutions", s.solutions),
        ]
    }

    fn split_report(&self) -> Option<SplitReport> {
        self.partitioning.as_ref().map(|p| p.report(&*self.dynamics))
    }

    fn rank(&self) -> Option<(usize, f64)> {
        let linear = self.solver.newton.linear();
        let rows = self.solver.step.unknowns.range(Unknown::Lambda);
        let dropped = linear.dropped().iter().filter(|r| rows.contains(r)).count();
        (self.progress.steps > 0 && linear.reveals_rank()).then(|| (dropped, linear.smallest_multiplier_pivot()))
    }

    fn pivot_of_step(&self) -> Option<f64> {
        let newton = &self.solver.newton;
        (self.fixed.is_none() && newton.linear().reveals_rank()).then_some(newton.pivot)
    }

    fn loop_report(&self) -> Option<LoopReport> {
        let counts = self.solver.loops.as_ref()?;
        Some(LoopReport {
            solver: "loop-cg",
            equations: counts.equations,
            solves: counts.solves.load(Relaxed),
            iterations: counts.iterations.load(Relaxed),
            renewals: counts.renewals.load(Relaxed),
            ..LoopReport::default()
        })
    }

    fn keep(&mut self, tape: &mut Tape) {
        self.method.keep(tape);
        self.solver.keep(tape, &self.control);
        if let Some(projection) = &mut self.projection {
            projection.keep(tape);
        }
        self.tolerances.keep(tape);
        self.test.keep(tape);
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.keep(tape);
        }
        tape.plain(&mut self.fixed);
        tape.plain(&mut self.accepted.state);
        tape.plain(&mut self.progress);
        if tape.reads() {
            self.accepted.w.invalidate();
        }
    }

    fn release(&mut self) {
        self.solver.newton.release();
    }

    fn explain_solver(&self) -> Option<String> {
        Some(self.solver.newton.linear().explain())
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        (self.method_name, self.solver.formulation.name, self.solver.newton.iteration.name())
    }
}
