//! Runs of a machine with every choice open.

use super::models::system;
use crate::clock::processor;
use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::solver::LinearSolver;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, System, Unknown, Workspace};
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options, Solver, Tested};
use bellcrank_solve::engines::explicit::{AccelerationSolver, Explicit};
use bellcrank_solve::engines::regularized::{Regularization, Srm, TreeKeeping};
use bellcrank_solve::engines::{Engine, StepError};
use bellcrank_solve::formulation;
use bellcrank_solve::linear::MatrixPlan;
use bellcrank_solve::linear::loop_cg::LoopCg;
use bellcrank_solve::linear::loop_step::LoopStep;
use bellcrank_solve::linear::shared::SharedKkt;
use bellcrank_solve::methods::tableau::Tableau;
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status};
use bellcrank_solve::start;
use bellcrank_solve::step::Step;
use bellcrank_solve::tolerances::Tolerances;
use std::sync::Arc;
use std::time::Instant;

/// How sequential regularization runs.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Whether all constraints are regularized (AlgII).
    pub all: bool,
    /// Iterates.
    pub iterates: usize,
    /// ε, or twice its limit.
    pub epsilon: Option<f64>,
    /// What keeps the tree on its constraints.
    pub tree: TreeKeeping,
    /// Whether μ_0 is that of the start.
    pub exact_start: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { all: false, iterates: 2, epsilon: None, tree: TreeKeeping::Projected, exact_start: false }
    }
}

/// A machine at its start.
pub struct LoopMachine {
    /// Its equations.
    pub system: Arc<System>,
    start: Point,
}

/// A run of sequential regularization that is over.
pub struct Regularized {
    srm: Srm,
}

impl Regularized {
    /// The coordinates of the last iterate.
    pub fn last(&self) -> &[f64] {
        &self.srm.state().q
    }

    /// The drift of loops and tree of every iterate at the end.
    pub fn drift_now(&mut self) -> Vec<(f64, f64)> {
        self.srm.drift_now()
    }

    /// The largest drift on the way.
    pub fn worst(&self) -> Vec<(f64, f64)> {
        self.srm.loop_report().map_or_else(Vec::new, |r| r.drift)
    }
}

/// Some steps of an explicit method.
pub struct Closed {
    /// The largest drift of all positions.
    pub drift: f64,
    /// Systems of loops, and their iterations.
    pub solves: usize,
    /// See `solves`.
    pub iterations: usize,
    /// Seconds of one step, the fastest.
    pub seconds: f64,
}

impl Closed {
    /// Iterations per system.
    pub fn mean(&self) -> String {
        format!("{:.1}", self.iterations as f64 / self.solves.max(1) as f64)
    }
}

/// One system of loops.
pub struct Solved {
    /// Iterations.
    pub iterations: usize,
    /// What the accelerations leave open, relative to their size.
    pub open: f64,
}

/// The matrix of an implicit step, solved by elimination and by loop-CG.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steps {
    /// Operations of a factorization, of a solution, and of a sweep over the tree.
    pub factor: f64,
    /// See `factor`.
    pub solve: f64,
    /// See `factor`.
    pub sweep: f64,
    /// Iterations of a correction: without factors, and with those of another position.
    pub plain: usize,
    /// See `plain`.
    pub with: Option<usize>,
    /// Seconds of the processor: of a factorization, a solution, and a correction by plain loop-CG.
    pub seconds: [f64; 3],
    /// How far the corrections are apart, relative to themselves.
    pub off: f64,
}

impl Steps {
    /// Operations of a step by elimination, with two corrections and factors that serve ten steps, dense ones counted by what they
    /// cost; and with two corrections by plain loop-CG.
    pub fn costs(&self) -> (f64, f64) {
        (0.1 * self.factor / 10.0 + 2.0 * self.solve, 2.0 * self.sweep * (self.plain as f64 + 3.0))
    }
}

impl LoopMachine {
    /// The machine of a text.
    pub fn new(text: &str) -> LoopMachine {
        let system = system(text);
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let state = system.initial_state();
        let start = match start::assemble(&dynamics, &state) {
            Ok((start, _)) => start,
            Err(e) => unreachable!("{e}"),
        };
        LoopMachine { system, start }
    }

    /// The same without a look at whether it is consistent, for it is by the way it was made: nothing is factored.
    pub fn at_rest(text: &str) -> LoopMachine {
        let system = system(text);
        let start = Point::at(&system.initial_state(), system.layout());
        LoopMachine { system, start }
    }

    /// Its equations, for solvers.
    pub fn dynamics(&self) -> Arc<dyn Dynamics> {
        self.system.clone()
    }

    /// Where it starts.
    pub fn start(&self) -> &Point {
        &self.start
    }

    /// Sequential regularization at its start.
    pub fn regularized(&self, tableau: &'static Tableau, h: f64, how: Setup) -> Option<Srm> {
        let Setup { all, iterates, epsilon, tree, exact_start } = how;
        let how = Regularization { iterates, epsilon, published: true, all, tree, exact_start };
        Srm::new(self.dynamics(), tableau, h, how, &self.start)?.ok()
    }

    /// Sequential regularization up to a time; none if it left the range of numbers.
    pub fn srm(&self, tableau: &'static Tableau, h: f64, how: Setup, until: f64) -> Option<Regularized> {
        let mut srm = self.regularized(tableau, h, how)?;
        while srm.state().t < until {
            srm.step(until).ok()?;
        }
        Some(Regularized { srm })
    }

    /// The drift of loops and tree of the last iterate at some times, as far as it gets.
    pub fn srm_course(&self, tableau: &'static Tableau, h: f64, how: Setup, times: &[f64]) -> Vec<(f64, f64)> {
        let mut out = Vec::new();
        let Some(mut srm) = self.regularized(tableau, h, how) else { return out };
        for &t in times {
            while srm.state().t < t {
                if srm.step(t).is_err() {
                    return out;
                }
            }
            out.extend(srm.drift_now().last());
        }
        out
    }

    /// How many steps it takes before it leaves the range of numbers, or to a time.
    pub fn srm_steps(&self, tableau: &'static Tableau, h: f64, how: Setup, until: f64) -> usize {
        let Some(mut srm) = self.regularized(tableau, h, how) else { return 0 };
        while srm.state().t < until && srm.step(until).is_ok() {}
        srm.statistics().steps
    }

    /// The limit of ε in units of h: predicted from λ_max, and measured.
    pub fn limit(&self, tableau: &'static Tableau, h: f64, all: bool) -> (f64, f64) {
        let how =
            |epsilon: Option<f64>| Setup { all, iterates: 1, epsilon, tree: TreeKeeping::Drifting, ..Setup::default() };
        let Some(srm) = self.regularized(tableau, h, how(None)) else { return (f64::NAN, f64::NAN) };
        let predicted = srm.epsilon().1;
        let stable = |epsilon: f64| {
            let Some(mut srm) = self.regularized(tableau, h, how(Some(epsilon))) else { return false };
            (0..1500).all(|_| srm.step(f64::INFINITY).is_ok() && srm.drift_now().iter().all(|d| d.0 < 0.1))
        };
        let (mut low, mut high) = (0.7 * predicted, 1.4 * predicted);
        for _ in 0..8 {
            let middle = 0.5 * (low + high);
            if stable(middle) { high = middle } else { low = middle }
        }
        (predicted / h, 0.5 * (low + high) / h)
    }

    /// An explicit engine with a solver.
    pub fn engine(
        &self,
        tableau: &'static Tableau,
        solver: Solver,
        h: Option<f64>,
        rtol: f64,
    ) -> Result<Explicit, StepError> {
        let options = Options { rtol, ..Options::default() };
        let tolerances = Tolerances::new(&*self.system, &options, Tested::QV);
        let loops = if solver == Solver::LoopCg { LoopCg::new(self.dynamics(), &self.start) } else { None };
        let linear = AccelerationSolver::of(loops, &SharedKkt::new(self.dynamics()));
        Explicit::new(self.dynamics(), tableau, h, tolerances, &self.start, linear)
    }

    /// So many steps of an explicit method.
    pub fn explicit(&self, tableau: &'static Tableau, solver: Solver, h: f64, steps: usize) -> Closed {
        let mut closed = Closed { drift: f64::NAN, solves: 0, iterations: 0, seconds: f64::INFINITY };
        let Ok(mut engine) = self.engine(tableau, solver, Some(h), 1e-6) else { return closed };
        let mut w = self.system.workspace();
        let mut rows = vec![0.0; self.system.layout().m()];
        closed.drift = 0.0;
        for _ in 0..steps {
            let clock = Instant::now();
            if engine.step(f64::INFINITY).is_err() {
                closed.drift = f64::NAN;
                return closed;
            }
            closed.seconds = closed.seconds.min(clock.elapsed().as_secs_f64());
            w.invalidate();
            self.system.realize(engine.point(), &mut w);
            rows.fill(0.0);
            self.system.add(1.0, Piece::Position, engine.point(), &mut w, &mut rows);
            closed.drift = rows.iter().fold(closed.drift, |m, r| m.max(r.abs()));
            engine.settle();
        }
        if let Some(report) = engine.loop_report() {
            (closed.solves, closed.iterations) = (report.solves, report.iterations);
        }
        closed
    }

    /// Loop-CG at the start from μ = 0: plain, or preconditioned by the factors of an earlier position. None where it does not
    /// converge within its limit of iterations.
    pub fn iterations(&self, earlier: Option<&[f64]>) -> Option<Solved> {
        let mut cg = LoopCg::new(self.dynamics(), &self.start)?;
        let mut w = self.system.workspace();
        cg.cool();
        cg.cg.plain = true; // no factors but those
        if let Some(q) = earlier {
            let mut point = self.start.clone();
            point.q.copy_from_slice(q);
            self.system.realize(&point, &mut w);
            cg.renew(&point, &mut w).ok()?;
            w.invalidate();
        }
        let mut point = self.start.clone();
        self.system.realize(&point, &mut w);
        cg.accelerate(&mut point, &mut w).ok()?;
        Some(Solved { iterations: cg.cg.iterations, open: self.open(&point, &mut w) })
    }

    /// The matrix of a fixed step of an implicit method at the start, with a right-hand side at random; and where factors are
    /// wanted, those of the position `earlier` for a preconditioner. Without `eliminated` nothing is factored.
    pub fn step_costs(&self, h: f64, earlier: Option<&[f64]>, eliminated: bool) -> Option<Steps> {
        let plan = MatrixPlan { condensed: true, lean: true, ..MatrixPlan::default() };
        let mut step = Step::planned(self.dynamics(), formulation::index3(), self.start.clone(), plan);
        step.stencil.h = h;
        step.stencil.slopes = Slopes { q: 2.0 / h, v: 2.0 / h, z: 2.0 / h };
        let mut loops = LoopStep::new(&self.dynamics(), &self.start, step.pattern(), &step.unknowns)?;
        loops.cg.plain = true;
        let mut matrix = BlockMatrix::new(step.pattern().clone());
        step.form_matrix(Iteration::Full, &mut matrix);
        let mut x = 1u64;
        let right: Vec<f64> = (0..step.pattern().dimension())
            .map(|_| {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (x >> 11) as f64 / (1u64 << 53) as f64 - 0.5
            })
            .collect();
        let wall = Instant::now();
        let mut found = Steps::default();
        let mut swept = right.clone();
        let began = processor(wall);
        loops.factor(&matrix).ok()?;
        loops.solve(&mut swept).ok()?;
        found.seconds[2] = 1e-9 * (processor(wall) - began);
        (found.plain, found.sweep) = (loops.cg.iterations, loops.sweep());
        let flops = loops.of_whole();
        (found.factor, found.solve) = (flops.factor as f64, flops.solve as f64);
        if eliminated {
            let mut linear = bellcrank_math::linear::solver::choose_nearly_symmetric(step.pattern());
            let mut whole = right.clone();
            let began = processor(wall);
            linear.factor(&matrix).ok()?;
            let factored = processor(wall);
            linear.solve(&mut whole).ok()?;
            found.seconds[0] = 1e-9 * (factored - began);
            found.seconds[1] = 1e-9 * (processor(wall) - factored);
            let q = step.unknowns.range(Unknown::Q);
            let size = whole[q.clone()].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let apart = q.map(|i| (whole[i] - swept[i]).abs()).fold(0.0, f64::max);
            found.off = apart / size;
        }
        if let Some(earlier) = earlier {
            step.point.q.copy_from_slice(earlier);
            step.touched();
            let mut other = BlockMatrix::new(step.pattern().clone());
            step.form_matrix(Iteration::Full, &mut other);
            loops.factor(&other).ok()?;
            loops.renew().ok()?;
            loops.factor(&matrix).ok()?;
            let before = loops.cg.iterations;
            loops.solve(&mut right.clone()).ok()?;
            found.with = Some(loops.cg.iterations - before);
        }
        Some(found)
    }

    /// |G v̇ + …| of a point with its v̇, relative to the largest acceleration.
    fn open(&self, at: &Point, w: &mut Workspace) -> f64 {
        let mut rows = vec![0.0; self.system.layout().m()];
        self.system.add(1.0, Piece::Acceleration, at, w, &mut rows);
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        largest(&rows) / largest(&at.vdot).max(1.0)
    }

    fn simulation(&self, solver: Solver, rtol: f64, until: f64) -> Option<Simulation> {
        let (method, threads) = (MethodName::Dop853, Some(1));
        let options = Options { method, solver, rtol, until, ..Options::default() }
            .with(|o| (o.resources.threads, o.testing.budget) = (threads, ErrorBudget::Step));
        Simulation::new(self.system.clone(), options).ok()
    }

    /// The coordinates at the end of an error-controlled run.
    pub fn controlled(&self, solver: Solver, rtol: f64, until: f64) -> Option<Vec<f64>> {
        let mut simulation = self.simulation(solver, rtol, until)?;
        let summary = simulation.run(&mut Silent);
        (summary.status == Status::Finished).then(|| simulation.state().q.clone())
    }

    /// The singular positions that a run logs: time and words.
    pub fn singular_times(&self, solver: Solver, rtol: f64, until: f64) -> Vec<(f64, String)> {
        let Some(mut simulation) = self.simulation(solver, rtol, until) else { return Vec::new() };
        let summary = simulation.run(&mut Silent);
        let singular = summary.events.into_iter().filter(|e| e.what.contains("singular"));
        singular.map(|e| (e.t, e.what)).collect()
    }

    /// The largest error of the energy balance, relative to the largest kinetic energy that gravity could have given.
    pub fn energy_error(&self, rtol: f64, until: f64) -> f64 {
        let Some(mut simulation) = self.simulation(Solver::Auto, rtol, until) else { return f64::NAN };
        let summary = simulation.run(&mut Silent);
        summary.energy.largest_error / summary.energy.initial.abs().max(1.0)
    }

    /// Where the rods are at some times: lines with breaks between them.
    pub fn frames(&self, rtol: f64, times: &[f64]) -> Vec<(f64, Vec<(f64, f64)>)> {
        let mut frames = vec![(0.0, self.lines(&self.system.initial_state()))];
        let Some(&until) = times.last() else { return frames };
        let Ok(mut engine) =
            self.engine(&bellcrank_solve::methods::tableau::DORMAND_PRINCE_8, Solver::Direct, None, rtol)
        else {
            return frames;
        };
        for &t in times.iter().filter(|t| **t > 0.0 && **t <= until) {
            while engine.state().t < t {
                if engine.step(t).is_err() {
                    return frames;
                }
                engine.settle();
            }
            frames.push((t, self.lines(engine.state())));
        }
        frames
    }

    fn lines(&self, state: &State) -> Vec<(f64, f64)> {
        let mut out = Vec::new();
        for body in &self.system.layout().bodies {
            let q = &state.q[body.clone()];
            out.extend([(q[0] - q[2], q[1] - q[3]), (q[0], q[1]), (f64::NAN, f64::NAN)]);
        }
        out
    }

    /// How far the far end of a rod is from a place.
    pub fn end_off(&self, q: &[f64], body: usize, place: &[f64]) -> f64 {
        let from = self.system.layout().bodies[body].start;
        let d = self.system.model.space.dimension();
        (0..d).map(|i| (q[from + i] - place[i]).abs()).fold(0.0, f64::max)
    }

    /// How far the far corners of the first squares of a chain are from their places.
    pub fn corners_off(&self, q: &[f64], corners: &[[f64; 2]]) -> f64 {
        let off = |(k, place): (usize, &[f64; 2])| self.end_off(q, 4 * k + 2, place);
        corners.iter().enumerate().map(off).fold(0.0, f64::max)
    }
}
