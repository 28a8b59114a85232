//! Which method takes the steps.

use super::scale::HIGH_ORDER;
use super::{Origin, Reason};
use crate::choices::FormulationKind::{Ggl, Index1, Si2};
use crate::choices::{MethodName, Options, Solver};

/// What the method is, and why; none where nothing is free to move.
pub(super) fn choose(options: &Options, degrees_of_freedom: usize) -> (Option<MethodName>, Reason) {
    if degrees_of_freedom == 0 {
        let why = "fully driven (0 degrees of freedom): motion from kinematics, reactions from inverse dynamics";
        return (None, Reason::new("method", "kinematics", Origin::Chosen).because(why));
    }
    if options.method != MethodName::Auto {
        return (Some(options.method), Reason::new("method", options.method.name(), Origin::Asked));
    }
    let (method, why) = automatic(options);
    (Some(method), Reason::new("method", method.name(), Origin::Chosen).because(why))
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
