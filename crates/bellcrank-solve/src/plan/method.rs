//! Which method takes the steps.

use super::scale::{HIGH_ORDER, LARGE};
use super::{DecidedBy, Reason};
use crate::choices::FormulationKind::{Ggl, Index1, Si2};
use crate::choices::{ErrorBudget, FormulationKind, MethodName, Options, Solver};
use bellcrank_model::Dynamics;
use bellcrank_model::dynamics::Scale;

/// What the method is, and why; none where nothing is free to move.
pub(super) fn choose(options: &Options, degrees_of_freedom: usize) -> (Option<MethodName>, Reason) {
    if degrees_of_freedom == 0 {
        let why = "fully driven (0 degrees of freedom): motion from kinematics, reactions from inverse dynamics";
        return (None, Reason::new("method", "kinematics", DecidedBy::Chosen).because(why));
    }
    if options.method != MethodName::Auto {
        return (Some(options.method), Reason::new("method", options.method.name(), DecidedBy::Asked));
    }
    let (method, why) = automatic(options);
    (Some(method), Reason::new("method", method.name(), DecidedBy::Chosen).because(why))
}

/// What the tolerance limits. Where energy neither leaves nor enters, errors add up and the run is what counts; where something
/// damps, they die out, and where events or states are, there is no knowing ahead. A companion of a large model is too dear.
pub fn budget(options: &Options, dynamics: &dyn Dynamics) -> ErrorBudget {
    let lasting = !dynamics.has_power() && dynamics.switches() == 0 && dynamics.layout().nz() == 0;
    let small = dynamics.layout().bodies.len() < LARGE;
    match options.testing.budget {
        ErrorBudget::Auto if options.step.is_none() && lasting && small => ErrorBudget::Run,
        ErrorBudget::Auto => ErrorBudget::Told,
        asked => asked,
    }
}

/// Gᵀμ of ggl adds lengths and angles: in a machine of more than so many metres its pivots look as if constraints depended on
/// each other (in one of 1e5 m no step converges). M⁻¹Gᵀμ of si2 knows units, and takes the same steps at any size.
const WIDEST_OF_GGL: f64 = 200.0;

/// The formulation that a method runs on: the chosen one, or what suits a machine of its size.
pub fn formulation(method: MethodName, options: &Options, dynamics: &dyn Dynamics) -> FormulationKind {
    let wide = dynamics.length() > WIDEST_OF_GGL && dynamics.scales().contains(&Scale::Length);
    match options.formulation_of(method) {
        Ggl if wide && options.formulation.is_none() => Si2,
        formulation => formulation,
    }
}

/// What `auto` takes.
fn automatic(options: &Options) -> (MethodName, String) {
    let sweeps = matches!(options.solver, Solver::LoopCg | Solver::Recursion);
    match (options.step, options.formulation) {
        (Some(_), _) if options.solver.regularizes() => (MethodName::Rk2, "srm: rk2".into()),
        (Some(_), None | Some(Index1)) if sweeps => (MethodName::Rk4, format!("{}: rk4", options.solver.name())),
        (Some(_), Some(Index1)) => (MethodName::Rk4, "fixed step on index1: rk4".into()),
        (Some(_), _) => (MethodName::GeneralizedAlpha, "fixed step: gen-alpha on si2".into()),
        (None, Some(Ggl | Si2)) => (MethodName::Bdf, "an implicit formulation: bdf".into()),
        (None, _) if options.rtol < HIGH_ORDER => (MethodName::Dop853, "started with dop853 (tight tolerance)".into()),
        _ => (MethodName::Dopri5, "started with dopri5".into()),
    }
}
