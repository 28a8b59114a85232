//! From a plan to the engine that takes the steps.

use super::{DecidedBy, EnginePlan, ImplicitPlan, LinearPlan, Reason, forms, linear, matrix};
use crate::choices::{
    ChoiceError, ErrorBudget, ErrorScope, FormulationKind, MethodName, Options, Solver, SrmStart, StepControl, Tested,
};
use crate::engines::explicit::{AccelerationSolver, Explicit};
use crate::engines::implicit::{Control, Implicit};
use crate::engines::kinematic::Kinematic;
use crate::engines::regularized::{Regularization, Srm};
use crate::engines::{Engine, StepError};
use crate::formulation::{self, Formulation};
use crate::linear::loop_cg::LoopCg;
use crate::linear::shared::SharedKkt;
use crate::methods::Method;
use crate::methods::alpha::{AlphaParameters, GeneralizedAlpha};
use crate::methods::bdf::{Bdf, BdfOptions, first_step, least_share};
use crate::methods::tableau::{DORMAND_PRINCE_5, Tableau};
use crate::newton::Iteration;
use crate::start::without_mass;
use crate::tolerances::Tolerances;
use crate::weights::Weights;
use bellcrank_model::{Dynamics, Point};
use std::sync::Arc;

/// The fewest steps of a run in which drives move everything.
const FOLLOWING: f64 = 200.0;

/// Decides what takes the steps. Loop-CG is tried where it may be cheaper; what was made for the trial comes along.
pub(super) fn decide(
    method: Option<MethodName>,
    solver: Solver,
    dynamics: &Arc<dyn Dynamics>,
    start: &Point,
    options: &Options,
) -> Result<(EnginePlan, Option<LoopCg>), StepError> {
    let step = options.step.unwrap_or(options.sample_distance());
    let Some(method) = method else {
        let longest = options.step.or(options.testing.max_step).unwrap_or(options.until / FOLLOWING);
        return Ok((EnginePlan::Kinematic { step: longest }, None));
    };
    if !method.explicit() {
        return Ok((EnginePlan::Implicit(ImplicitPlan::new(method, solver, &**dynamics, start, options)), None));
    }
    if solver.regularizes() {
        return Ok((EnginePlan::Regularized { method, step, all: solver == Solver::SrmAll }, None));
    }
    let formulation = options.formulation.filter(|f| f.is_alternative()).unwrap_or(FormulationKind::Index1);
    let loops = match solver {
        _ if formulation.is_alternative() => None,
        Solver::LoopCg => Some(LoopCg::new(dynamics.clone(), start).ok_or_else(|| no_tree(start.t))?),
        Solver::Auto if dynamics.may_follow().is_none() => LoopCg::if_cheaper(dynamics.clone(), start),
        _ => None,
    };
    let tested = options.testing.test.unwrap_or(Tested::QV);
    Ok((EnginePlan::Explicit { method, formulation, step: options.step, loop_cg: loops.is_some(), tested }, loops))
}

fn no_tree(t: f64) -> StepError {
    let reason = "these equations have no tree of bodies with masses of their own";
    StepError::Unsuited { t, choice: Box::new(ChoiceError::new("solver", reason).try_with("solver", "direct")) }
}

/// Where loops are open, what they hold needs a mass.
fn needs_mass(e: StepError) -> StepError {
    let StepError::Singular { t, culprit } = e else { return e };
    let reason = format!("sequential regularization opens loops, and without its loop {culprit} moves without inertia");
    StepError::Unsuited { t, choice: Box::new(ChoiceError::new("solver", reason).try_without("solver")) }
}

fn no_loops(t: f64) -> StepError {
    let reason = "loop-cg has no use for the matrices of these steps: it needs a tree of bodies with masses of their own, \
                  and no force between two bodies or variable of its own beside their motion";
    StepError::Unsuited { t, choice: Box::new(ChoiceError::new("solver", reason).try_without("solver")) }
}

/// The rows of a formulation; rules refuse those that have none.
fn table(formulation: FormulationKind, options: &Options) -> Formulation {
    formulation.table(&options.parameters).unwrap_or_else(formulation::index1)
}

fn tableau(method: MethodName) -> &'static Tableau {
    method.tableau().unwrap_or(&DORMAND_PRINCE_5)
}

impl EnginePlan {
    /// Builds the engine at a consistent start; `loops` is what [`decide`] made.
    pub(super) fn build(
        &self,
        dynamics: &Arc<dyn Dynamics>,
        options: &Options,
        start: &Point,
        kkt: &SharedKkt,
        loops: Option<LoopCg>,
    ) -> Result<Box<dyn Engine>, StepError> {
        Ok(match self {
            EnginePlan::Kinematic { step } => Box::new(Kinematic::new(dynamics.clone(), start, *step, options.rtol)),
            EnginePlan::Explicit { method, formulation, step, tested, .. } => {
                let tolerances = Tolerances::new(&**dynamics, options, *tested);
                let tableau = tableau(*method);
                let form = forms::form(*formulation, dynamics, options, start)?;
                let linear = form.unwrap_or_else(|| AccelerationSolver::of(loops, kkt));
                let mut engine = Explicit::new(dynamics.clone(), tableau, *step, tolerances, start, linear)?;
                engine.limit_steps(options.testing.max_step.unwrap_or(f64::INFINITY));
                Box::new(engine)
            }
            EnginePlan::Regularized { method, step, all } => {
                let p = &options.parameters;
                let how = Regularization {
                    iterates: p.iterates,
                    epsilon: p.epsilon,
                    all: *all,
                    tree: forms::tree(options),
                    exact_start: p.srm_start == SrmStart::Exact,
                    ..Regularization::default()
                };
                let made = Srm::new(dynamics.clone(), tableau(*method), *step, how, start);
                Box::new(made.ok_or_else(|| no_tree(start.t))?.map_err(needs_mass)?)
            }
            EnginePlan::Implicit(plan) => {
                let engine = plan.build(dynamics, options, start);
                if plan.linear == LinearPlan::LoopCg && engine.loop_report().is_none() {
                    return Err(no_loops(start.t));
                }
                engine
            }
        })
    }

    /// The decisions about what takes the steps, beside the method.
    pub(super) fn reasons(&self, options: &Options, dynamics: &dyn Dynamics) -> Vec<Reason> {
        let asked = |given: bool| if given { DecidedBy::Asked } else { DecidedBy::Default };
        let solver_asked = asked(options.solver != Solver::Auto);
        let solver = |name: &str| Reason::new("solver", name, solver_asked);
        let step = |step: Option<f64>| match step {
            Some(h) => Reason::new("step", format!("{h} s"), asked(options.step.is_some())),
            None => Reason::new("step", format!("by error control, rtol {:e}", options.rtol), DecidedBy::Default),
        };
        let test = |tested: Tested| Reason::new("test", tested.name(), asked(options.testing.test.is_some()));
        let by = linear::name(options.solver, dynamics);
        match self {
            EnginePlan::Kinematic { step: h } => vec![step(Some(*h))],
            EnginePlan::Explicit { step: h, tested, formulation, .. } => {
                let name = formulation.name();
                let formulation = Reason::new("formulation", name, asked(options.formulation.is_some()));
                vec![formulation, step(*h), test(*tested), solver(by)]
            }
            EnginePlan::Regularized { step: h, .. } => {
                let index2 = Reason::new("formulation", "regularized", DecidedBy::Default);
                let iterates = Reason::new("iterates", options.parameters.iterates.to_string(), DecidedBy::Default);
                vec![index2, step(Some(*h)), solver(by), iterates]
            }
            EnginePlan::Implicit(plan) => {
                let mut formulation =
                    Reason::new("formulation", plan.formulation.name(), asked(options.formulation.is_some()));
                if plan.formulation != options.formulation_of(plan.method) {
                    formulation = formulation
                        .because("si2 in place of ggl, whose corrections mix lengths and angles: wide machine");
                }
                let mut reasons = vec![
                    formulation,
                    Reason::new("iteration", plan.iteration.name(), asked(options.iteration.is_some())),
                    step(plan.step),
                    test(plan.tested),
                    solver(by),
                    matrix::reason(plan.matrix),
                ];
                if plan.scope == ErrorScope::Independent {
                    reasons.push(Reason::new("on", "independent", DecidedBy::Asked));
                }
                reasons
            }
        }
    }
}

impl ImplicitPlan {
    fn new(
        method: MethodName,
        solver: Solver,
        dynamics: &dyn Dynamics,
        start: &Point,
        options: &Options,
    ) -> ImplicitPlan {
        let formulation = super::formulation(method, options, dynamics);
        let alpha = options.alpha_parameters(method);
        let form = table(formulation, options);
        // velocities of index-3 steps oscillate with the step size: they cannot decide, unless the method is of first
        // order in them
        let first_order = alpha.is_some_and(|p| p.order() == 1);
        let tested =
            options.testing.test.unwrap_or(if form.index == 3 && !first_order { Tested::Q } else { Tested::QV });
        let fixed = options.step.is_some();
        let economic = if form.additive.is_some() { Iteration::Simplified } else { Iteration::Auto };
        let iteration = options.iteration.unwrap_or(if fixed { Iteration::Full } else { economic });
        let linear = linear::of_steps(solver, !without_mass(dynamics, start).is_empty());
        ImplicitPlan {
            method,
            formulation,
            iteration,
            max_iterations: options.testing.max_iterations.unwrap_or(if fixed { 20 } else { 4 }),
            step: options.step,
            tested,
            scope: options.testing.scope,
            linear,
            matrix: matrix::decide(dynamics, &form, (iteration, options.iteration.is_some()), fixed, linear),
        }
    }

    fn build(&self, dynamics: &Arc<dyn Dynamics>, options: &Options, start: &Point) -> Box<dyn Engine> {
        let alpha = options.alpha_parameters(self.method);
        let form = table(self.formulation, options);
        let mut tolerances = Tolerances::new(&**dynamics, options, self.tested);
        tolerances.velocities_converge = form.index != 3;
        let control = Control {
            iteration: self.iteration,
            max_iterations: self.max_iterations,
            on: self.scope,
            fixed: self.step.is_some(),
            as_dassl: options.testing.control == StepControl::Dassl,
            linear: self.linear,
            matrix: self.matrix,
            // bdf limits its steps itself, to keep them equal
            longest: alpha.and(options.testing.max_step).unwrap_or(f64::INFINITY),
        };
        let method = self.method(alpha, form.additive.is_some(), options, start);
        let span = options.until - start.t;
        let first = |w: &Weights| match (self.step, alpha) {
            (Some(h), _) => h,
            (None, Some(parameters)) => GeneralizedAlpha::first_step(parameters, start, w, span),
            (None, None) => first_step(start, w, span),
        };
        let names = (self.method.name(), form.name);
        Box::new(Implicit::new(dynamics.clone(), method, names, form, control, tolerances, start, first))
    }

    fn method(
        &self,
        alpha: Option<AlphaParameters>,
        additive: bool,
        options: &Options,
        start: &Point,
    ) -> Box<dyn Method> {
        let horizon = (options.testing.budget == ErrorBudget::Run).then_some(options.until - start.t);
        let as_dassl = options.testing.control == StepControl::Dassl;
        let Some(parameters) = alpha else {
            return Box::new(Bdf::new(BdfOptions {
                max_order: options.parameters.max_order,
                fixed_step: self.step,
                max_step: options.testing.max_step.unwrap_or(f64::INFINITY),
                as_dassl,
                averaged: self.tested == Tested::Q && !as_dassl,
                horizon,
                least_share: least_share(options.rtol),
            }));
        };
        let method = match self.step {
            Some(_) => GeneralizedAlpha::new(parameters),
            None => {
                let method = GeneralizedAlpha::controlled(parameters, options.rtol);
                match horizon {
                    Some(horizon) => method.sharing(horizon),
                    None => method,
                }
            }
        };
        Box::new(if additive { method.additive() } else { method })
    }
}
