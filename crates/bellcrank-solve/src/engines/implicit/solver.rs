//! The equations of a step with the iteration that solves them, built as planned.

use super::Control;
use crate::formulation::Formulation;
use crate::linear::loop_cg::LoopCg;
use crate::linear::loop_step::{LoopCounts, LoopStep};
use crate::linear::plan::{LinearPlan, MatrixPlan, loops_pay_for_steps, worth_a_trial};
use crate::linear::two_kkt::TwoKkt;
use crate::newton::{Economy, Newton};
use crate::step::Step;
use bellcrank_math::linear::deferred;
use bellcrank_math::linear::dense::DenseLu;
use bellcrank_math::linear::solver::{self, Flops, LinearSolver};
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// A step and its Newton.
pub(super) struct StepSolver {
    dynamics: Arc<dyn Dynamics>,
    pub(super) formulation: Formulation,
    pub(super) plan: MatrixPlan,
    /// Whether rotation charts are centred at the beginning of each step.
    centred: bool,
    pub(super) step: Step,
    pub(super) newton: Newton,
    /// What conjugate gradients on loops did, where they solve the matrices.
    pub(super) loops: Option<Arc<LoopCounts>>,
    /// The rows that are left out of its matrices.
    left_out: Option<Vec<usize>>,
}

impl StepSolver {
    /// The equations of a formulation from a point on, at a start that loops are judged by.
    pub(super) fn new(
        dynamics: &Arc<dyn Dynamics>,
        formulation: Formulation,
        control: &Control,
        centred: bool,
        (point, start): (Point, &Point),
        w: &mut Workspace,
    ) -> StepSolver {
        let plan = control.matrix;
        let mut step = Step::planned(dynamics.clone(), formulation.clone(), point, plan);
        step.prepare(control.iteration);
        step.started();
        let direct = || direct(&step, plan, centred, control);
        let of_loops = || LoopStep::new(dynamics, start, step.pattern(), &step.unknowns);
        let suits_loops = plan.suits_loops(&formulation);
        let (mut newton, loops) = match control.linear {
            LinearPlan::Dense => (dense(&step, control).unwrap_or_else(direct), None),
            LinearPlan::Pivoting => (pivoting(&step, control).unwrap_or_else(direct), None),
            LinearPlan::LoopCg if suits_loops => by_loops(of_loops(), &step, control, direct),
            LinearPlan::Cheapest if suits_loops => {
                let whole = direct();
                let flops = whole.linear().flops();
                let loops = loops_are_cheaper(dynamics, start, flops, w).then(of_loops).flatten();
                by_loops(loops, &step, control, || whole)
            }
            _ => (direct(), None),
        };
        newton.economy = match (plan.lean, control.as_dassl) {
            (true, _) => Economy::Resembling,
            (false, true) => Economy::Dassl,
            (false, false) if plan.kept => Economy::Exact,
            (false, false) => Economy::Careful,
        };
        let mut solver =
            StepSolver { dynamics: dynamics.clone(), formulation, plan, centred, step, newton, loops, left_out: None };
        solver.leave_out();
        solver
    }

    /// Leaves out the rows that are redundant at the point of the step, with their multipliers.
    pub(super) fn leave_out(&mut self) {
        let (layout, unknowns) = (self.dynamics.layout(), &self.step.unknowns);
        let chosen = self.step.point.charts.left_out.chosen(layout.m());
        let out = chosen.map(|rows| unknowns.multipliers_of(layout, rows));
        if out != self.left_out {
            self.newton.leave_out(out.as_deref());
            self.left_out = out;
        }
    }

    /// Tells a tape what one step leaves to the next.
    pub(super) fn keep(&mut self, tape: &mut Tape, control: &Control) {
        let mut lean = self.plan.lean;
        tape.flag(&mut lean);
        if self.plan.lean && !lean {
            self.give_up_lean(control);
        }
        self.step.keep(tape);
        if tape.reads() {
            self.leave_out();
        }
        self.newton.keep(tape);
    }

    /// Puts (Gᵀλ)_q back into the matrix, for the rest of the run.
    #[cold]
    pub(super) fn give_up_lean(&mut self, control: &Control) {
        self.plan = self.plan.whole();
        let point = self.step.point.clone();
        let mut step = Step::planned(self.dynamics.clone(), self.formulation.clone(), point, self.plan);
        let mut newton = direct(&step, self.plan, self.centred, control);
        (newton.counts, newton.last, newton.clock) = (self.newton.counts, self.newton.last, self.newton.clock);
        (step.stencil, step.weights) = (self.step.stencil.clone(), self.step.weights.clone());
        step.limits = self.step.limits;
        (self.step, self.newton) = (step, newton);
        self.left_out = None;
        self.leave_out();
    }
}

/// Newton's iteration by elimination: on two systems where the plan is so, which most runs never leave, or on one.
fn direct(step: &Step, plan: MatrixPlan, centred: bool, control: &Control) -> Newton {
    let (pattern, iteration, most) = (step.pattern(), control.iteration, control.max_iterations);
    if plan.decoupled {
        let mut newton = Newton::with_solver(deferred::choose(pattern), pattern.clone(), iteration, most);
        newton.prefer(Box::new(TwoKkt::new(pattern, &step.unknowns, plan.lean && centred)));
        return newton;
    }
    let make = if plan.symmetric { Newton::nearly_symmetric } else { Newton::new };
    make(pattern.clone(), iteration, most)
}

/// Newton's iteration by dense LU, where that is possible.
fn dense(step: &Step, control: &Control) -> Option<Newton> {
    let mut dense = DenseLu::new();
    dense.analyze(step.pattern()).ok()?;
    let pattern = step.pattern().clone();
    Some(Newton::with_solver(Box::new(dense), pattern, control.iteration, control.max_iterations))
}

/// Newton's iteration by LU with pivoting, where that is possible.
fn pivoting(step: &Step, control: &Control) -> Option<Newton> {
    let pattern = step.pattern();
    let solver = solver::choose_pivoting(pattern).ok()?;
    Some(Newton::with_solver(solver, pattern.clone(), control.iteration, control.max_iterations))
}

/// Newton's iteration by loop-CG, or another one where there is none.
fn by_loops(
    loops: Option<LoopStep>,
    step: &Step,
    control: &Control,
    otherwise: impl FnOnce() -> Newton,
) -> (Newton, Option<Arc<LoopCounts>>) {
    let Some(loops) = loops else { return (otherwise(), None) };
    let counts = loops.counts();
    let pattern = step.pattern().clone();
    (Newton::with_solver(Box::new(loops), pattern, control.iteration, control.max_iterations), Some(counts))
}

/// Whether a step takes fewer operations by loop-CG than with factors of this cost: by a trial.
fn loops_are_cheaper(dynamics: &Arc<dyn Dynamics>, at: &Point, whole: Flops, w: &mut Workspace) -> bool {
    let Some(eliminated) = worth_a_trial(whole) else { return false };
    let Some(mut cg) = LoopCg::new(dynamics.clone(), at).filter(|cg| cg.loops().size() > 0) else { return false };
    dynamics.realize(at, w);
    let sweep = 2.0 * cg.loops().factor_entries() as f64;
    let iterations = cg.trial(at, w).map_or(f64::INFINITY, |k| k as f64);
    w.invalidate();
    loops_pay_for_steps(eliminated, sweep, iterations)
}
