//! Runs of hand-written equations with every choice open, as the papers need them.

use bellcrank_model::dynamics::{Point, State};
use bellcrank_model::hand_written::{Equations, HandWritten};
use bellcrank_model::{Dynamics, Piece};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{ErrorScope, Options, Tested};
use bellcrank_solve::engines::implicit::{Control, Implicit};
use bellcrank_solve::engines::{Engine, Statistics};
use bellcrank_solve::linear::plan::{LinearPlan, MatrixNeeds, matrix_plan};
use bellcrank_solve::methods::bdf::{Bdf, BdfOptions, first_step};
use bellcrank_solve::newton::{Converged, Iteration};
use bellcrank_solve::start;
use bellcrank_solve::tolerances::Tolerances;
use std::sync::Arc;

/// Everything a run can be told.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The formulation's name.
    pub formulation: FormulationKind,
    /// Newton's iteration.
    pub iteration: Iteration,
    /// What is tested.
    pub tested: Tested,
    /// On which coordinates.
    pub on: ErrorScope,
    /// Whether the iteration is to converge in the multipliers too.
    pub multipliers: bool,
    /// rtol = atol.
    pub tolerance: f64,
    /// Highest order of BDF.
    pub max_order: usize,
    /// Most iterations per attempt.
    pub max_iterations: usize,
    /// DASSL's control to the letter: its economy with matrices and contraction rates, multipliers that are unknowns like all
    /// others, and steps that go past the end, where the solution is interpolated.
    pub as_dassl: bool,
    /// Whether the errors of all steps share a hundred tolerances.
    pub shared: bool,
    /// The number of steps after which a run is given up.
    pub max_steps: usize,
}

/// The papers' four methods, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Coordinate splitting.
    Cs,
    /// Its modified iteration.
    Cm,
    /// Gear, Gupta & Leimkuhler with multipliers in the test of convergence.
    Ggl,
    /// The same without the multipliers.
    GglStar,
    /// Matrices on the manifold.
    Auto,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 5] = [Preset::Cs, Preset::Cm, Preset::Ggl, Preset::GglStar, Preset::Auto];

    /// Its name in the papers.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Cs => "CS",
            Preset::Cm => "CM",
            Preset::Ggl => "GGL",
            Preset::GglStar => "GGL*",
            Preset::Auto => "auto",
        }
    }

    /// The preset as settings, with DASSL's control, at a tolerance.
    pub fn setting(self, tolerance: f64, max_order: usize) -> Setting {
        let (iteration, tested, on) = match self {
            Preset::Cs => (Iteration::CoordinateSplit, Tested::QV, ErrorScope::Independent),
            Preset::Cm => (Iteration::CoordinateModified, Tested::QV, ErrorScope::Independent),
            Preset::Ggl | Preset::GglStar => (Iteration::Simplified, Tested::Q, ErrorScope::All),
            Preset::Auto => (Iteration::Auto, Tested::QV, ErrorScope::Independent),
        };
        Setting {
            formulation: FormulationKind::Ggl,
            iteration,
            tested,
            on,
            multipliers: self == Preset::Ggl,
            tolerance,
            max_order,
            max_iterations: 4,
            as_dassl: true,
            shared: false,
            max_steps: 20_000,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct StudyRun {
    /// Counts of work.
    pub statistics: Statistics,
    /// The last point.
    pub last: Point,
    /// Time, step size, order and energy after every step.
    pub course: Vec<(f64, f64, usize, f64)>,
    /// q, v and λ after every step.
    pub path: Vec<[Vec<f64>; 3]>,
    /// What Newton's iteration took in the last step.
    pub convergence: Converged,
    /// Whether it reached the end.
    pub finished: bool,
}

impl StudyRun {
    /// steps/f/J/error test failures/convergence failures.
    pub fn counts(&self) -> [usize; 5] {
        counts(&self.statistics)
    }
}

/// steps/f/J/error test failures/convergence failures.
pub fn counts(s: &Statistics) -> [usize; 5] {
    [s.steps, s.residual_evaluations, s.jacobian_evaluations, s.error_test_failures, s.convergence_failures]
}

/// The consistent start of equations: q and v projected, v̇ and λ from the equations of motion.
pub fn consistent(dynamics: &Arc<dyn Dynamics>, q: &[f64], v: &[f64]) -> Option<Point> {
    let state = State { q: q.to_vec(), v: v.to_vec(), ..State::default() };
    start::assemble(dynamics, &state).ok().map(|(point, _)| point)
}

/// The start as it stands, with v̇ = M⁻¹f for M = I: without the reactions.
pub fn plain(dynamics: &Arc<dyn Dynamics>, q: &[f64], v: &[f64]) -> Point {
    let state = State { q: q.to_vec(), v: v.to_vec(), ..State::default() };
    let mut point = Point::at(&state, dynamics.layout());
    let mut w = dynamics.workspace();
    dynamics.realize(&point, &mut w);
    let mut f = vec![0.0; q.len()];
    dynamics.add(1.0, Piece::Force, &point, &mut w, &mut f);
    point.vdot = f;
    point.qdot = v.to_vec();
    point
}

/// Equations as a model.
pub fn own<E: Equations + 'static>(equations: E) -> Arc<dyn Dynamics> {
    Arc::new(HandWritten::new(equations))
}

/// Runs to a time; with `step` in fixed steps without error test.
pub fn run(dynamics: &Arc<dyn Dynamics>, start: &Point, until: f64, step: Option<f64>, s: &Setting) -> StudyRun {
    let options = Options { rtol: s.tolerance, until, ..Options::default() }.with(|o| {
        o.testing.atol = Some(s.tolerance);
    });
    let mut tolerances = Tolerances::new(&**dynamics, &options, s.tested);
    tolerances.velocities_converge = true;
    tolerances.multipliers_converge = s.multipliers;
    let form = s.formulation.table(&options.parameters).unwrap_or_else(bellcrank_solve::formulation::ggl);
    let averaged = s.tested == Tested::Q && !s.as_dassl;
    let bdf = Bdf::new(BdfOptions {
        max_order: s.max_order,
        fixed_step: step,
        as_dassl: s.as_dassl,
        averaged,
        horizon: s.shared.then_some(until - start.t),
        ..Default::default()
    });
    let linear = LinearPlan::Elimination;
    let matrix = matrix_plan(MatrixNeeds {
        formulation: &form,
        bodies: dynamics.layout().bodies.len(),
        constrained: dynamics.layout().m() > 0,
        iteration: s.iteration,
        asked: true,
        fixed: false,
        linear,
    });
    let control = Control {
        iteration: s.iteration,
        max_iterations: s.max_iterations,
        on: s.on,
        fixed: false,
        as_dassl: s.as_dassl,
        linear,
        matrix,
        longest: f64::INFINITY,
    };
    let names = ("bdf", form.name);
    // DASSL's norm of ẏ runs over all unknowns, and the rates of multipliers start at zero
    let (others, multipliers) = (start.q.len() + start.v.len() + start.z.len(), 2 * start.lambda.len());
    let diluted = s.as_dassl && s.iteration == Iteration::Simplified;
    let dilution = if diluted { ((others + multipliers) as f64 / others as f64).sqrt() } else { 1.0 };
    let first = |w: &bellcrank_solve::weights::Weights| {
        (1e-3 * (until - start.t)).min(dilution * first_step(start, w, f64::INFINITY))
    };
    let mut engine = Implicit::new(dynamics.clone(), Box::new(bdf), names, form, control, tolerances, start, first);
    let (mut course, mut path) = (Vec::new(), Vec::new());
    let mut w = dynamics.workspace();
    let mut finished = true;
    let past = s.as_dassl && step.is_none();
    let stop = if past { f64::INFINITY } else { until };
    while engine.state().t < until {
        let order = engine.order();
        let from = engine.state().t;
        if engine.statistics().steps >= s.max_steps || engine.step(stop).is_err() {
            finished = false;
            break;
        }
        w.invalidate();
        dynamics.realize(engine.point(), &mut w);
        let energy = dynamics.energy(engine.point(), &mut w);
        course.push((engine.state().t, engine.state().t - from, order, energy.kinetic + energy.stored));
        let p = engine.point();
        path.push([p.q.clone(), p.v.clone(), p.lambda.clone()]);
        engine.settle();
    }
    let (statistics, convergence) = (engine.statistics(), engine.convergence());
    let mut last = engine.point().clone();
    if past && finished {
        let mut state = State::default();
        finished = engine.interpolate(until, &mut state).is_ok();
        (last.t, last.q, last.v, last.z) = (until, state.q, state.v, state.z);
    }
    StudyRun { statistics, last, course, path, convergence, finished }
}
