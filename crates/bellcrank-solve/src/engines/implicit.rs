//! Implicit engines: a method, a formulation and Newton's iteration.

use super::{Engine, LoopReport, Refusal, SplitReport, Statistics, StepError};
use crate::choices::ErrorScope;
use crate::formulation::Formulation;
use crate::linear::kkt::Kkt;
use crate::linear::loop_cg::{DENSE, LoopCg};
use crate::linear::loop_step::{LoopCounts, LoopStep};
use crate::linear::partition::Split;
use crate::linear::two_kkt::TwoKkt;
use crate::methods::bdf::first_step;
use crate::methods::{Method, Rejection};
use crate::newton::{Converged, Iteration, IterationError, Newton, amplified};
use crate::step::{Shape, Step};
use crate::tolerances::Tolerances;
use crate::weights::Weights;
use bellcrank_math::dense::DenseLu;
use bellcrank_math::lazy;
use bellcrank_math::solver::{Flops, LinearError, LinearSolver};
use bellcrank_math::team;
use bellcrank_model::dynamics::CHART_LIMIT;
use bellcrank_model::{Dynamics, Point, State, Unknown, Workspace};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Newton's tolerance in fixed steps, in lengths of the model: the last correction of a full Newton
/// squares what is left, that of a kept matrix only shrinks it.
const FIXED_PRECISION: f64 = 1e-10;
const FIXED_PRECISION_KEPT: f64 = 1e-12;

/// What rounding leaves of coordinates, in parts of the largest, bounds that tolerance from below. A thousand of its units leave
/// room for coordinates that grow while so many fixed steps pass before the largest is looked for again.
const ROUNDING: f64 = 1e3 * f64::EPSILON;
const LOOK: usize = 10;

/// No correction of a fixed step moves anything by more lengths of the model, or radians.
const REACH: f64 = 0.7;

/// Close to singular positions rounding is amplified: a correction below this that stops shrinking is
/// taken. 40 windows in a row, all bars on a line but for 1e-3 rad, end at 2e-10.
const FIXED_STAGNATION: f64 = 1e-8;

/// So much of what rounding may become close to a singular position may be in an estimate of the error.
const BLURRED: f64 = 0.1;

/// From so many bodies on velocities are condensed in steps of index 3, and the matrices of fixed ones leave (Gᵀλ)_q
/// out: it costs more in the factors than the iterations it saves.
const LARGE: usize = 64;

/// Where that takes more iterations than this, it is put back for the rest of the run.
const TOO_LEAN: usize = 6;

pub use crate::linear::projection::Projection;

/// An implicit method on a formulation.
pub struct Implicit {
    dynamics: Arc<dyn Dynamics>,
    method: Box<dyn Method>,
    method_name: &'static str,
    formulation_name: &'static str,
    newton: Newton,
    step: Step,
    projection: Option<Projection>,
    tolerances: Tolerances,
    /// For the convergence test; for the error test, which may leave dependent coordinates out.
    newton_weights: Weights,
    weights: Weights,
    splitting: Option<Splitting>,
    /// What conjugate gradients on loops did, where they solve the matrices.
    loops: Option<Arc<LoopCounts>>,
    state: State,
    shape: Shape,
    formulation: Formulation,
    fixed: bool,
    /// The first step.
    first: f64,
    /// Newton's tolerance in fixed steps, and the weights of a unit.
    precision: f64,
    /// The largest coordinate, as long as it need not be looked for.
    largest: Option<f64>,
    /// The step size and the precision that the weights of Newton's tolerance are for.
    weighed: (f64, f64),
    unit: Weights,
    steps: usize,
    error_test_failures: usize,
    convergence_failures: usize,
    refusals: Vec<Refusal>,
    /// The prediction and the weighted difference from it, for the blame of a refusal.
    predicted: Point,
    difference: Vec<f64>,
    w: Workspace,
}

/// What solves the matrices of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solving {
    /// Elimination.
    #[default]
    Elimination,
    /// Conjugate gradients on the loops of a tree, where the matrix allows.
    Loops,
    /// What takes fewer operations, by count.
    Cheaper,
    /// Dense LU.
    Dense,
}

/// A step of a large machine takes so many corrections, and factors serve so many steps (`book/src/large-models.md`).
const CORRECTIONS_OF_A_STEP: f64 = 2.0;
const STEPS_OF_FACTORS: f64 = 10.0;

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
    pub solving: Solving,
}

/// The split in use and what it is chosen from.
struct Splitting {
    split: Split,
    kkt: Kkt,
    /// Whether the error test leaves dependent coordinates out.
    restricts: bool,
    changes: usize,
    /// The largest |Q| that was put up with.
    worst: f64,
}

/// Centres the charts of a start at it, where the method wants them so.
fn centre(dynamics: &dyn Dynamics, method: &dyn Method, state: &mut State, point: &mut Point, w: &mut Workspace) {
    if method.centred() && dynamics.settle_past(0.0, state, w) {
        point.set(state);
        dynamics.rates(&state.q, &state.v, &mut point.qdot);
    }
}

/// A point where nothing is stabilized; μ is not even carried along where the formulation has none.
fn without_stabilization(formulation: &Formulation, point: &mut Point) {
    match formulation.unknowns().any(|u| u == Unknown::Mu) {
        true => point.mu.fill(0.0),
        false => point.mu.clear(),
    }
}

/// Whether a step takes fewer operations with loop-CG than with factors that cost so much: by a trial.
fn loops_are_cheaper(dynamics: &Arc<dyn Dynamics>, at: &Point, whole: Flops, w: &mut Workspace) -> bool {
    let corrections = CORRECTIONS_OF_A_STEP * whole.solve as f64;
    let eliminated = DENSE * whole.factor as f64 / STEPS_OF_FACTORS + corrections;
    // five corrections' worth of factors is what a trial could save at least
    if eliminated < 5.0 * corrections {
        return false;
    }
    let Some(mut cg) = LoopCg::new(dynamics.clone(), at) else { return false };
    if cg.loops().size() == 0 {
        return false;
    }
    dynamics.realize(at, w);
    let sweep = 2.0 * cg.loops().factor_entries() as f64;
    let iterations = cg.trial(at, w).map_or(f64::INFINITY, |k| k as f64);
    w.invalidate();
    CORRECTIONS_OF_A_STEP * sweep * (iterations + 2.0) + 2.0 * sweep < eliminated
}

/// Newton's iteration for a step, on two systems where the formulation allows it; lean matrices of one are taken for
/// symmetric.
fn newton(
    step: &Step,
    formulation: &Formulation,
    lean: bool,
    centred: bool,
    iteration: Iteration,
    most: usize,
) -> Newton {
    let pattern = step.pattern();
    if formulation.splits() && !step.unknowns.range(Unknown::Lambda).is_empty() {
        // most runs never need the whole
        let mut newton = Newton::by(lazy::choose(pattern), pattern.clone(), iteration, most);
        newton.prefer(Box::new(TwoKkt::new(pattern, &step.unknowns, lean && centred)));
        return newton;
    }
    let make = if lean && !formulation.splits() { Newton::nearly_symmetric } else { Newton::new };
    make(pattern.clone(), iteration, most)
}

impl Implicit {
    /// Starts a method from a consistent point with its first step size.
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
        let Control { iteration, max_iterations, on, fixed, as_dassl, solving } = control;
        let mut w = dynamics.workspace();
        let mut state = State::default();
        start.store(&mut state);
        let mut point = start.clone();
        without_stabilization(&formulation, &mut point);
        centre(&*dynamics, &*method, &mut state, &mut point, &mut w);
        let projection = (formulation.index == 1).then(|| Projection::new(dynamics.clone()));
        let large = dynamics.layout().bodies.len() >= LARGE;
        let iterated = solving == Solving::Loops && formulation.condenses();
        let sparse = formulation.condenses() || formulation.splits();
        let lean = fixed && solving != Solving::Dense && (large || iterated) && iteration == Iteration::Full && sparse;
        let shape = Shape { condensed: large || iterated, lean };
        let mut step = Step::shaped(dynamics.clone(), formulation.clone(), point, shape);
        step.prepare(iteration);
        step.free_start();
        let of_loops = || LoopStep::new(&dynamics, start, step.pattern(), &step.unknowns);
        let by = |loops: LoopStep| {
            let counts = Some(loops.counts());
            (counts, Newton::by(Box::new(loops), step.pattern().clone(), iteration, max_iterations))
        };
        let (mut counts, mut newton) = match (lean && iterated).then(of_loops).flatten() {
            Some(loops) => by(loops),
            None => (None, newton(&step, &formulation, lean, method.centred(), iteration, max_iterations)),
        };
        if lean
            && formulation.condenses()
            && solving == Solving::Cheaper
            && loops_are_cheaper(&dynamics, start, newton.linear().flops(), &mut w)
            && let Some(loops) = of_loops()
        {
            (counts, newton) = by(loops);
        }
        let mut dense = DenseLu::new();
        if solving == Solving::Dense && dense.analyze(step.pattern()).is_ok() {
            newton = Newton::by(Box::new(dense), step.pattern().clone(), iteration, max_iterations);
        }
        newton.trust_old_contraction = as_dassl;
        newton.once = lean;
        tolerances.see(&state.v);
        let mut newton_weights = Weights::default();
        tolerances.weigh(&state, start, &mut newton_weights);
        let mut weights = Weights::default();
        tolerances.restrict(&newton_weights, &mut weights);
        let splits = (iteration.splits() || on == ErrorScope::Independent) && dynamics.layout().m() > 0;
        let splitting = splits.then(|| {
            let mut kkt = Kkt::new(dynamics.clone());
            dynamics.realize(start, &mut w);
            let split = Split::choose(&kkt.constraint_rows(start, &mut w), dynamics.layout().n());
            Splitting { worst: split.largest, split, kkt, restricts: on == ErrorScope::Independent, changes: 0 }
        });
        if let Some(s) = &splitting {
            step.set_split(&s.split);
            if s.restricts {
                weights.restrict(&s.split.independent);
            }
        }
        // over all coordinates, as in DASSL: the start knows no split yet
        let first = first_step(&newton_weights);
        method.start(&step.point, first);
        Implicit {
            dynamics,
            method,
            method_name: names.0,
            formulation_name: names.1,
            newton,
            step,
            projection,
            tolerances,
            newton_weights,
            weights,
            splitting,
            loops: counts,
            state,
            shape,
            formulation,
            fixed,
            first,
            precision: 0.0,
            largest: None,
            weighed: (0.0, 0.0),
            unit: Weights::default(),
            steps: 0,
            error_test_failures: 0,
            convergence_failures: 0,
            refusals: Vec::with_capacity(16),
            // refusals of fixed steps are rare
            predicted: if fixed { Point::default() } else { start.clone() },
            difference: Vec::new(),
            w,
        }
    }

    fn set_newton_weights(&mut self) {
        let step = &mut self.step;
        if self.fixed {
            let largest = *self.largest.get_or_insert_with(|| team::largest(&self.state.q));
            let floor = ROUNDING * largest / self.dynamics.length();
            let h = self.method.step_size();
            let precision = match self.newton.iteration {
                Iteration::Full => FIXED_PRECISION,
                _ => FIXED_PRECISION_KEPT,
            };
            self.precision = precision.max(floor);
            if self.weighed != (h, self.precision) || !self.tolerances.absolute() {
                self.tolerances.weigh_fixed(&self.state, h, self.precision, &mut step.weights);
                self.weighed = (h, self.precision);
            }
            step.round_off = 0.01;
            step.reach = REACH / self.precision;
            step.stagnation = FIXED_STAGNATION / self.precision;
        } else {
            step.weights.clone_from(&self.newton_weights);
            step.weights.scale(1.0 / self.method.precision());
            // DASSL: 100 ε ‖y‖
            let size = step.weights.norm(&self.state.q, &self.state.v, &self.state.z);
            step.round_off = 100.0 * f64::EPSILON * size;
            step.rounding = f64::EPSILON * size;
        }
    }

    /// A poor split is replaced: it needs a new matrix and another mask, and no restart, because the
    /// solution of P r = 0 does not depend on it.
    fn look_at_split(&mut self) {
        let Some(s) = &mut self.splitting else { return };
        self.w.invalidate();
        self.dynamics.realize(&self.step.point, &mut self.w);
        if s.split.renew(&s.kkt.constraint_rows(&self.step.point, &mut self.w)) {
            s.changes += 1;
            if self.step.set_split(&s.split) {
                self.newton.forget_matrix();
            }
        }
        s.worst = s.worst.max(s.split.largest);
        if s.restricts {
            self.weights.restrict(&s.split.independent);
        }
    }

    /// Puts (Gᵀλ)_q back into the matrix.
    #[cold]
    fn fatten(&mut self) {
        self.shape.lean = false;
        let whole = Step::shaped(self.dynamics.clone(), self.formulation.clone(), self.step.point.clone(), self.shape);
        let Newton { iteration, max_iterations, .. } = self.newton;
        let mut newton = newton(&whole, &self.formulation, false, self.method.centred(), iteration, max_iterations);
        (newton.counts, newton.last, newton.seconds) = (self.newton.counts, self.newton.last, self.newton.seconds);
        let old = std::mem::replace(&mut self.step, whole);
        (self.step.stencil, self.step.weights) = (old.stencil, old.weights);
        (self.step.round_off, self.step.reach, self.step.stagnation) = (old.round_off, old.reach, old.stagnation);
        self.newton = newton;
    }

    /// What the last solve that converged took.
    pub fn convergence(&self) -> Converged {
        self.newton.last
    }

    /// The split in use, if there is one, and how often it was chosen anew.
    pub fn split(&self) -> Option<(&Split, usize)> {
        self.splitting.as_ref().map(|s| (&s.split, s.changes))
    }

    /// The largest error that passes its test: 1, and what rounding makes of itself close to a singular position, where shorter
    /// steps do not help.
    fn admitted(&self) -> f64 {
        match self.fixed {
            true => 1.0,
            false => {
                let size = self.weights.norm(&self.state.q, &self.state.v, &self.state.z);
                1.0 + BLURRED * amplified(f64::EPSILON * size, self.newton.pivot)
            }
        }
    }

    fn collapse(&self, convergence: bool, owner: (Unknown, usize)) -> StepError {
        let (t, h, culprit) = (self.state.t, self.step.stencil.h, self.name(owner));
        let pivot = self.newton.pivot;
        if !self.fixed && amplified(1.0, pivot) > 0.0 {
            let redundant = self.rank().map_or(0, |r| r.0);
            return StepError::NearSingular { t, h, culprit, pivot, redundant };
        }
        StepError::Collapse { t, h, culprit, convergence, fixed: self.fixed }
    }

    fn name(&self, owner: (Unknown, usize)) -> String {
        self.dynamics.name(owner.0, owner.1)
    }

    /// Where it hurts: the body whose coordinates differ most from the prediction.
    fn blame(&mut self) -> (Unknown, usize) {
        let trial = &self.step.point;
        self.predicted.clone_from(trial);
        self.method.predict(&mut self.predicted);
        let unknowns = &self.step.unknowns;
        let dx = &mut self.difference;
        dx.clear();
        dx.resize(self.step.pattern().dimension(), 0.0);
        for (unknown, a, b, w) in [
            (Unknown::Q, &trial.q, &self.predicted.q, &self.weights.q),
            (Unknown::V, &trial.v, &self.predicted.v, &self.weights.v),
        ] {
            for (k, i) in unknowns.range(unknown).enumerate() {
                dx[i] = (a[k] - b[k]) * w[k];
            }
        }
        self.step.worst(dx)
    }
}

impl Engine for Implicit {
    fn step(&mut self, t_stop: f64) -> Result<(), StepError> {
        self.method.limit(t_stop);
        self.refusals.clear();
        self.step.remember();
        let mut cautious = false;
        loop {
            self.method.prepare(&mut self.step.stencil, &mut self.step.point);
            self.step.retune(self.method.parameters_now());
            self.set_newton_weights();
            let method = &self.method;
            let complete = |s: &mut Step| {
                s.touched();
                s.add_reactions();
            };
            let predict = |s: &mut Step| {
                if cautious {
                    method.predict_positions(&mut s.point)
                } else {
                    method.predict(&mut s.point)
                }
                s.follow();
                complete(s);
            };
            if cautious {
                predict(&mut self.step)
            } else {
                if !self.step.stencil.velocities_follow {
                    self.step.follow();
                }
                complete(&mut self.step)
            }
            let solved = self.newton.solve(&mut self.step, predict);
            let h = self.step.stencil.h;
            if self.shape.lean && solved.map_or(true, |c| c.iterations > TOO_LEAN) {
                self.fatten();
                if solved.is_err() {
                    continue;
                }
            }
            if let Err(why) = solved {
                self.convergence_failures += 1;
                self.newton.forget_matrix();
                self.largest = None;
                let owner = match why {
                    IterationError::Linear(LinearError::Singular { row }) => self.step.owner(row),
                    _ => self.blame(),
                };
                self.refusals.push(Refusal { h, convergence: true, owner });
                let softened = self.fixed && self.method.soften();
                if softened || self.fixed && !std::mem::replace(&mut cautious, true) {
                    continue;
                }
                if self.method.reject(Rejection::Convergence).is_err() {
                    let (t, culprit) = (self.state.t, self.name(owner));
                    return Err(match why {
                        _ if !self.fixed && amplified(1.0, self.newton.pivot) > 0.0 => self.collapse(true, owner),
                        IterationError::Linear(LinearError::Singular { .. }) => StepError::Singular { t, culprit },
                        IterationError::NotFinite | IterationError::Linear(LinearError::NotFinite { .. }) => {
                            StepError::NotFinite { t, culprit }
                        }
                        _ => self.collapse(true, owner),
                    });
                }
                continue;
            }
            self.step.free_accelerations();
            if self.fixed && self.method.fresh() {
                self.unit.clone_from(&self.step.weights);
                self.unit.scale(self.precision);
                if self.method.rough(&self.step.point, &self.unit) && self.method.soften() {
                    self.newton.forget_matrix();
                    continue;
                }
            }
            let error = self.method.error(&self.step.point, &self.weights);
            if error > self.admitted() || error.is_nan() {
                self.error_test_failures += 1;
                let owner = self.blame();
                self.refusals.push(Refusal { h, convergence: false, owner });
                if self.method.reject(Rejection::Error(error)).is_err() {
                    return Err(self.collapse(false, owner));
                }
                continue;
            }
            if let Some(projection) = &mut self.projection {
                let t = self.state.t;
                self.w.invalidate();
                projection
                    .apply(&*self.dynamics, &mut self.step.point, &mut self.w)
                    .map_err(|_| StepError::Singular { t, culprit: "the constraints".into() })?;
                self.step.stencil.rates(&mut self.step.point);
                self.step.touched();
            }
            break;
        }
        self.method.accept(&self.step.point, &self.weights, &mut self.state);
        if !self.fixed {
            // after the history has taken its point: differences of high order would see the polish
            self.step.polish();
            self.step.point.store_motion(&mut self.state);
        }
        self.steps += 1;
        self.largest.take_if(|_| self.steps.is_multiple_of(LOOK));
        if self.fixed && self.method.parameters_now().is_some() && self.splitting.is_none() {
            return Ok(()); // there is no error test
        }
        self.tolerances.see(&self.state.v);
        self.tolerances.weigh(&self.state, &self.step.point, &mut self.newton_weights);
        self.tolerances.restrict(&self.newton_weights, &mut self.weights);
        self.look_at_split();
        Ok(())
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn point(&self) -> &Point {
        &self.step.point
    }

    fn interpolate(&mut self, t: f64, out: &mut State) -> Result<(), StepError> {
        out.clone_from(&self.state);
        out.t = t;
        self.method.interpolate(t, out);
        Ok(())
    }

    fn settle(&mut self) {
        let limit = if self.method.centred() { 0.0 } else { CHART_LIMIT };
        let (point, state) = (&mut self.step.point, &mut self.state);
        if self.dynamics.settle_past(limit, state, &mut self.w) {
            self.method.recentre(&self.w.recentred);
            for m in &self.w.recentred.moves {
                let chart = m.at..m.at + 3;
                point.q[chart.clone()].copy_from_slice(&state.q[chart]);
            }
            point.charts.centres.clone_from(&state.charts.centres);
        }
        if point.charts.time != state.charts.time {
            // turns were counted
            point.charts.clone_from(&state.charts);
        }
        self.step.touched();
    }

    /// With order 1 and, where steps are not fixed, DASSL's first step, at most the last one.
    fn restart(&mut self, start: &Point) -> Result<(), StepError> {
        start.store(&mut self.state);
        self.step.point.clone_from(start);
        without_stabilization(&self.formulation, &mut self.step.point);
        centre(&*self.dynamics, &*self.method, &mut self.state, &mut self.step.point, &mut self.w);
        self.step.touched();
        self.step.free_start();
        self.newton.forget_matrix();
        self.largest = None;
        self.tolerances.see(&self.state.v);
        self.tolerances.weigh(&self.state, start, &mut self.newton_weights);
        self.tolerances.restrict(&self.newton_weights, &mut self.weights);
        self.look_at_split();
        let h = match self.fixed {
            true => self.first,
            false => first_step(start, &self.newton_weights, 1e3 * self.method.step_size()),
        };
        self.method.start(&self.step.point, h);
        Ok(())
    }

    fn step_size(&self) -> f64 {
        self.method.step_size()
    }

    fn order(&self) -> usize {
        self.method.order()
    }

    fn statistics(&self) -> Statistics {
        let c = self.newton.counts;
        Statistics {
            steps: self.steps,
            error_test_failures: self.error_test_failures,
            convergence_failures: self.convergence_failures,
            residual_evaluations: c.residuals,
            jacobian_evaluations: c.jacobians,
            factorizations: c.factorizations
                + self.step.factorizations()
                + self.projection.as_ref().map_or(0, |p| p.factorizations()),
            iterations: c.iterations,
            flops: c.flops,
        }
    }

    fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    fn measure(&mut self) {
        self.newton.seconds = Some(Default::default());
    }

    fn seconds(&self) -> Vec<(&'static str, f64)> {
        let Some([residuals, matrices, factors, solutions]) = self.newton.seconds else { return Vec::new() };
        vec![
            ("residuals", residuals),
            ("matrices", matrices),
            ("factors and first solutions", factors),
            ("other solutions", solutions),
        ]
    }

    fn split_report(&self) -> Option<SplitReport> {
        let s = self.splitting.as_ref()?;
        let independent = s.split.independent.iter().filter(|x| **x).count();
        let constraints = &self.dynamics.layout().constraints;
        let mut redundant: Vec<String> = s
            .split
            .redundant()
            .filter_map(|row| constraints.iter().position(|c| c.contains(&row)))
            .map(|k| self.dynamics.name(Unknown::Lambda, k))
            .collect();
        redundant.dedup();
        Some(SplitReport {
            independent,
            dependent: s.split.independent.len() - independent,
            largest: s.split.largest,
            worst: s.worst,
            changes: s.changes,
            redundant,
        })
    }

    fn rank(&self) -> Option<(usize, f64)> {
        let linear = self.newton.linear();
        let rows = self.step.unknowns.range(bellcrank_model::Unknown::Lambda);
        let dropped = linear.dropped().iter().filter(|r| rows.contains(r)).count();
        (self.steps > 0 && linear.reveals_rank()).then(|| (dropped, linear.smallest_multiplier_pivot()))
    }

    fn pivot_of_step(&self) -> Option<f64> {
        (!self.fixed && self.newton.linear().reveals_rank()).then_some(self.newton.pivot)
    }

    fn loop_report(&self) -> Option<LoopReport> {
        let counts = self.loops.as_ref()?;
        Some(LoopReport {
            solver: "loop-cg",
            equations: counts.equations,
            solves: counts.solves.load(Relaxed),
            iterations: counts.iterations.load(Relaxed),
            renewals: counts.renewals.load(Relaxed),
            ..LoopReport::default()
        })
    }

    fn release(&mut self) {
        self.newton.release();
    }

    fn explain_solver(&self) -> Option<String> {
        Some(self.newton.linear().explain())
    }

    fn names(&self) -> (&'static str, &'static str, &'static str) {
        (self.method_name, self.formulation_name, self.newton.iteration.name())
    }
}
