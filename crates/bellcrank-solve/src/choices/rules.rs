//! Which choices make no sense, alone or together.

use super::error::{ChoiceError, Suggestion};
use super::formulation::FormulationKind;
use super::method::MethodName;
use super::options::Options;
use super::words::{Coordinates, ErrorBudget, ErrorScope, Solver, StepControl};
use crate::newton::Iteration;
use bellcrank_math::threads::team;

/// Most iterates of sequential regularization: more do not help, and can make it worse.
pub const MAX_ITERATES: usize = 8;

/// Tolerances below this are lost in rounding.
const LEAST_RTOL: f64 = 1e-13;

type Rule = fn(&Options) -> Result<(), ChoiceError>;

/// All rules, in the order in which they are looked at: the first that is broken is told.
const RULES: &[Rule] = &[
    end,
    tolerances,
    sampling,
    step,
    max_step,
    formulation,
    alternatives,
    iteration,
    error_scope,
    error_budget,
    control,
    max_iterations,
    ranges,
    undamped,
    additive,
    threads,
    limits,
    regularization,
    coordinates_of_solver,
    methods_of_solver,
    max_order,
];

impl Options {
    /// Refuses choices that make no sense, alone or together.
    pub fn check(&self) -> Result<(), ChoiceError> {
        RULES.iter().try_for_each(|rule| rule(self))
    }
}

fn positive(key: &'static str, x: f64, what: &str, example: &'static str) -> Result<(), ChoiceError> {
    match x > 0.0 && x.is_finite() {
        true => Ok(()),
        false => {
            let error = ChoiceError::new(key, format!("{what} must be a positive number, found {x}"));
            Err(error.instead(Suggestion::to(key, example).note(", for example")))
        }
    }
}

fn limits(o: &Options) -> Result<(), ChoiceError> {
    if o.resources.max_steps == Some(0) {
        let error = ChoiceError::new("max_steps", "a run takes one step at least");
        return Err(error.instead(Suggestion::without("max_steps")));
    }
    o.resources.max_seconds.map_or(Ok(()), |x| positive("max_seconds", x, "the time after which a run ends", "60"))
}

fn end(o: &Options) -> Result<(), ChoiceError> {
    positive("until", o.until, "the end of the run", "2")
}

fn tolerances(o: &Options) -> Result<(), ChoiceError> {
    positive("rtol", o.rtol, "the relative tolerance", "1e-6")?;
    if o.rtol < LEAST_RTOL {
        let reason = format!("a relative tolerance of {:e} is below the rounding error of double precision", o.rtol);
        return Err(ChoiceError::new("rtol", reason).instead(Suggestion::to("rtol", "1e-12").note(" or more")));
    }
    match o.testing.atol {
        Some(a) if !(a >= 0.0 && a.is_finite()) => {
            let reason = format!("the absolute tolerance must not be negative, found {a}");
            Err(ChoiceError::new("atol", reason).instead(Suggestion::to("atol", "1e-8").note(", for example")))
        }
        _ => Ok(()),
    }
}

fn sampling(o: &Options) -> Result<(), ChoiceError> {
    let Some(s) = o.sample else { return Ok(()) };
    positive("sample", s, "the interval between samples", "1e-2")?;
    if o.until / s > 1e8 {
        let reason = format!("{:.0e} samples are too many to record", o.until / s);
        return Err(ChoiceError::new("sample", reason).instead(Suggestion::larger("sample")));
    }
    Ok(())
}

fn step(o: &Options) -> Result<(), ChoiceError> {
    match o.step {
        Some(h) => {
            positive("step", h, "the step size", "1e-3")?;
            if o.until / h > 1e12 {
                let reason = format!("{:.0e} steps are too many", o.until / h);
                return Err(ChoiceError::new("step", reason).instead(Suggestion::larger("step")));
            }
            Ok(())
        }
        None if o.method.adaptive() => Ok(()),
        None => {
            let reason = format!("{} has no error control and needs a step size", o.method.name());
            let controlled = Suggestion::to("method", "dopri5").note(", which has error control");
            Err(ChoiceError::new("step", reason).try_with("step", "1e-3").instead(controlled))
        }
    }
}

fn max_step(o: &Options) -> Result<(), ChoiceError> {
    let Some(h) = o.testing.max_step else { return Ok(()) };
    positive("max_step", h, "the longest step", "1e-2")?;
    if o.step.is_some() {
        let reason = "a longest step needs error control, but the step is fixed";
        return Err(ChoiceError::new("max_step", reason).try_without("max_step").instead(Suggestion::smaller("step")));
    }
    if o.until / h > 1e12 {
        let reason = format!("{:.0e} steps are too many", o.until / h);
        return Err(ChoiceError::new("max_step", reason).instead(Suggestion::larger("max_step")));
    }
    Ok(())
}

fn formulation(o: &Options) -> Result<(), ChoiceError> {
    use FormulationKind::{Ggl, Index1, Si2};
    let Some(f) = o.formulation else { return Ok(()) };
    if o.method.explicit() && !f.explicit() {
        let reason = format!("{} is explicit and does not run on {f}", o.method.name());
        let implicit = Suggestion::to("method", "bdf").note(", which is implicit");
        return Err(ChoiceError::new("formulation", reason).try_with("formulation", "index1").instead(implicit));
    }
    if o.method == MethodName::Auto && !matches!(f, Ggl | Si2 | Index1) {
        let reason = format!("auto chooses among ggl, si2 and index1 itself and does not run on {}", f.name());
        let method = if f.implicit() { "bdf" } else { "dopri5" };
        return Err(ChoiceError::new("formulation", reason).try_with("method", method));
    }
    if o.method != MethodName::Auto && !o.method.explicit() && !f.implicit() {
        let reason = format!("{f} gives accelerations, to explicit methods, and {} is implicit", o.method.name());
        let method = if o.step.is_some() { "rk4" } else { "dopri5" };
        return Err(ChoiceError::new("formulation", reason).try_with("method", method).try_without("formulation"));
    }
    Ok(())
}

/// Parameters and solvers of the forms that stand in the place of the system of accelerations.
fn alternatives(o: &Options) -> Result<(), ChoiceError> {
    let p = &o.parameters;
    for (key, x) in [("baumgarte_alpha", p.baumgarte_alpha), ("baumgarte_beta", p.closing().1)] {
        if !(x >= 0.0 && x.is_finite()) {
            let reason = format!("α and β of Baumgarte's stabilization must not be negative, found {x}");
            return Err(ChoiceError::new(key, reason).try_with(key, "10"));
        }
    }
    positive("penalty", p.penalty, "the penalty", "1e6")?;
    let Some(f) = o.formulation.filter(|f| f.is_alternative()) else { return Ok(()) };
    if !matches!(o.solver, Solver::Auto | Solver::Direct) {
        let reason = format!("{f} finds accelerations in its own way, and has no use for {}", o.solver.name());
        return Err(ChoiceError::new("solver", reason).try_without("solver").try_with("formulation", "index1"));
    }
    Ok(())
}

fn iteration(o: &Options) -> Result<(), ChoiceError> {
    let Some(iteration) = o.iteration else { return Ok(()) };
    if o.method.explicit() {
        let reason = format!("{} is explicit and does not iterate", o.method.name());
        let implicit = Suggestion::to("method", "bdf").note(", which is implicit");
        return Err(ChoiceError::new("iteration", reason).try_without("iteration").instead(implicit));
    }
    if iteration.splits() && o.formulation == Some(FormulationKind::Si2) {
        let reason = "coordinate splitting needs the plain Gᵀμ, which si2 does not have";
        return Err(ChoiceError::new("iteration", reason)
            .try_with("formulation", "ggl")
            .try_with("iteration", Iteration::Auto.name()));
    }
    Ok(())
}

fn error_scope(o: &Options) -> Result<(), ChoiceError> {
    if o.method.explicit() && o.testing.scope == ErrorScope::Independent {
        let reason = format!("{} does not split the coordinates", o.method.name());
        return Err(ChoiceError::new("on", reason).try_without("on").try_with("method", "bdf"));
    }
    Ok(())
}

fn error_budget(o: &Options) -> Result<(), ChoiceError> {
    if o.testing.budget == ErrorBudget::Run && o.step.is_some() {
        let reason = "fixed steps have no error control, so the error of the run cannot be limited";
        return Err(ChoiceError::new("errors", reason).try_without("errors").try_without("step"));
    }
    Ok(())
}

fn control(o: &Options) -> Result<(), ChoiceError> {
    if o.testing.control == StepControl::Own {
        return Ok(());
    }
    if o.method != MethodName::Bdf {
        let reason = format!("DASSL's control is for bdf, not for {}", o.method.name());
        return Err(ChoiceError::new("control", reason).try_with("method", "bdf").try_without("control"));
    }
    if o.step.is_some() {
        let reason = "DASSL's control chooses the steps, but the step is fixed";
        return Err(ChoiceError::new("control", reason).try_without("step").try_without("control"));
    }
    if o.testing.budget == ErrorBudget::Run {
        let reason = "DASSL's control limits the error of every step, not that of the run";
        return Err(ChoiceError::new("control", reason).try_without("errors").try_without("control"));
    }
    Ok(())
}

fn max_iterations(o: &Options) -> Result<(), ChoiceError> {
    if o.testing.max_iterations == Some(0) {
        let reason = "at least one iteration is needed";
        return Err(ChoiceError::new("max_iterations", reason).try_with("max_iterations", "4"));
    }
    Ok(())
}

/// Parameters for which a method is unstable or does not exist.
fn ranges(o: &Options) -> Result<(), ChoiceError> {
    let p = &o.parameters;
    if !(0.0..=1.0).contains(&p.rho) {
        let reason = format!("ρ∞ must lie between 0 and 1, found {}", p.rho);
        return Err(ChoiceError::new("rho", reason).try_with("rho", "0.8"));
    }
    if !(-1.0 / 3.0 - 1e-12..=0.0).contains(&p.alpha) {
        let reason = format!("α of HHT must lie between −1/3 and 0, found {}", p.alpha);
        let much = Suggestion::to("alpha", "-0.3").note(" for much damping");
        let little = Suggestion::to("alpha", "-0.05").note(" for little");
        return Err(ChoiceError::new("alpha", reason).instead(much).instead(little));
    }
    if !(0.5..=1.5).contains(&p.gamma) {
        let reason = format!("γ of Newmark's method must lie between 1/2 and 3/2, found {}", p.gamma);
        let stable = Suggestion::to("gamma", "0.6").note("; below 1/2 the method is unstable");
        return Err(ChoiceError::new("gamma", reason).instead(stable));
    }
    let beta = p.newmark().beta;
    if !(beta >= 0.5 * p.gamma && beta.is_finite()) {
        let reason = format!("β of Newmark's method must not be less than γ/2 = {}", 0.5 * p.gamma);
        let best = Suggestion::without("beta").note(" for (γ + 1/2)²/4; below γ/2 stiff parts are unstable");
        return Err(ChoiceError::new("beta", reason).instead(best));
    }
    Ok(())
}

/// Methods without damping on index 3.
fn undamped(o: &Options) -> Result<(), ChoiceError> {
    if o.formulation_of(o.method) != FormulationKind::Index3 {
        return Ok(());
    }
    let p = &o.parameters;
    let (key, value, instead, bound) = match o.method {
        MethodName::GeneralizedAlpha if p.rho == 1.0 => ("rho", "ρ∞ = 1", "0.9", " or less"),
        MethodName::Hht if p.alpha == 0.0 => ("alpha", "α = 0", "-0.01", " or less"),
        MethodName::Newmark if p.gamma == 0.5 => ("gamma", "γ = 1/2", "0.51", " or more"),
        _ => return Ok(()),
    };
    let reason = format!("{value} has no damping, and on index3 its accelerations and reactions grow without bound");
    let stabilized = Suggestion::to("formulation", "si2").note(", which also holds velocities");
    Err(ChoiceError::new(key, reason).instead(Suggestion::to(key, instead).note(bound)).instead(stabilized))
}

fn additive(o: &Options) -> Result<(), ChoiceError> {
    if o.formulation_of(o.method) != FormulationKind::Additive {
        return Ok(());
    }
    if !matches!(o.method, MethodName::Hht | MethodName::Newmark) {
        let reason = format!("the additive formulation is made for hht and newmark, not for {}", o.method.name());
        return Err(ChoiceError::new("formulation", reason)
            .try_with("method", "hht-add")
            .try_with("formulation", "si2"));
    }
    let b = o.parameters.b;
    if !b.is_finite() || (b - 0.5).abs() < 1e-3 {
        let reason = "b = 1/2 gives positions and velocities the same mean of old and new reactions, \
                      which cannot hold both constraints";
        return Err(ChoiceError::new("b", reason).try_with("b", "0"));
    }
    if (b - 1.0).abs() < 1e-3 {
        let reason = "b = 1 leaves the old reactions no part in the positions, from which they are found";
        return Err(ChoiceError::new("b", reason).try_with("b", "0"));
    }
    if o.iteration.is_some_and(|i| !matches!(i, Iteration::Full | Iteration::Simplified)) {
        let reason = "the additive formulation has reactions of two times, which no split eliminates";
        return Err(ChoiceError::new("iteration", reason)
            .try_with("iteration", Iteration::Full.name())
            .try_with("iteration", Iteration::Simplified.name()));
    }
    Ok(())
}

fn threads(o: &Options) -> Result<(), ChoiceError> {
    match o.resources.threads {
        Some(n) if !(1..=team::MOST_THREADS).contains(&n) => {
            let reason = format!("a run takes 1 to {} threads, found {n}", team::MOST_THREADS);
            let best = Suggestion::without("threads").note(", and it is chosen by model size");
            Err(ChoiceError::new("threads", reason).instead(best))
        }
        _ => Ok(()),
    }
}

fn regularization(o: &Options) -> Result<(), ChoiceError> {
    let p = &o.parameters;
    if !(1..=MAX_ITERATES).contains(&p.iterates) {
        let reason = format!("between 1 and {MAX_ITERATES} iterates make sense, found {}", p.iterates);
        let second = Suggestion::to("iterates", "2").note("; the second makes rk2 of order 2");
        return Err(ChoiceError::new("iterates", reason).instead(second));
    }
    match p.epsilon {
        Some(e) if !(e > 0.0 && e.is_finite()) => {
            let best = Suggestion::without("epsilon").note(" for twice the limit of stability");
            Err(ChoiceError::new("epsilon", format!("ε must be a positive number, found {e}")).instead(best))
        }
        _ => Ok(()),
    }
}

fn coordinates_of_solver(o: &Options) -> Result<(), ChoiceError> {
    if o.coordinates == Coordinates::Relative && (o.solver == Solver::LoopCg || o.solver.regularizes()) {
        let reason = format!("{} works in Cartesian coordinates, on a tree of its own", o.solver.name());
        return Err(ChoiceError::new("solver", reason).try_without("coordinates").try_without("solver"));
    }
    Ok(())
}

/// Solvers with methods that have no use for them.
fn methods_of_solver(o: &Options) -> Result<(), ChoiceError> {
    let (solver, method) = (o.solver, o.method);
    let loop_cg = || Suggestion::to("solver", Solver::LoopCg.name());
    if solver.regularizes() && method != MethodName::Auto && method.adaptive() {
        let reason =
            format!("{} runs with fixed steps of euler, rk2 or rk4, not with {}", solver.name(), method.name());
        let rk2 = Suggestion::to("method", "rk2").and("step", "1e-3");
        return Err(ChoiceError::new("solver", reason).instead(rk2).instead(loop_cg()));
    }
    if solver.regularizes() && o.step.is_none() {
        let reason = format!("{} needs a step size: its ε is made from it", solver.name());
        return Err(ChoiceError::new("step", reason).try_with("step", "1e-3").instead(loop_cg()));
    }
    let explicit = match method {
        MethodName::Auto => o.formulation.is_none_or(|f| f == FormulationKind::Index1),
        _ => method.explicit(),
    };
    if solver == Solver::Recursion && !explicit {
        let reason = format!("recursion gives accelerations, and {} needs matrices", method.name());
        return Err(ChoiceError::new("solver", reason).try_with("method", "dopri5").try_without("solver"));
    }
    let formulation = o.formulation_of(method);
    let full = o.iteration.is_none_or(|i| i == Iteration::Full);
    let fixed = o.step.is_some() && formulation == FormulationKind::Index3 && full;
    if solver == Solver::LoopCg && !explicit && !fixed {
        let how = match o.step {
            Some(_) if full => format!("on {}", formulation.name()),
            Some(_) => "with a matrix that is kept".into(),
            None => "with error control".into(),
        };
        let reason = format!(
            "loop-cg is for explicit methods and for fixed steps of implicit ones on index3, not for {} {how}, where \
             elimination is faster",
            method.name()
        );
        let index3 = Suggestion::to("formulation", "index3").and("step", "1e-3");
        return Err(ChoiceError::new("solver", reason)
            .try_without("solver")
            .try_with("method", "dopri5")
            .instead(index3));
    }
    Ok(())
}

fn max_order(o: &Options) -> Result<(), ChoiceError> {
    if !(1..=5).contains(&o.parameters.max_order) {
        let reason = format!("BDF has the orders 1 to 5, found {}", o.parameters.max_order);
        return Err(ChoiceError::new("max_order", reason).try_with("max_order", "5"));
    }
    Ok(())
}
