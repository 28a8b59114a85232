//! What solves the linear systems, and what no solver can do.

use super::scale::MOST_DENSE;
use crate::choices::{ChoiceError, FormulationKind, Options, Solver, Suggestion};
use crate::linear::LinearPlan;
use crate::linear::forms::maggi::MOST as MOST_INDEPENDENT;
use crate::linear::shared::SharedKkt;
use crate::start::without_mass;
use bellcrank_model::{Dynamics, Point, Unknown};
use std::ops::Range;
use std::sync::Arc;

/// The system of accelerations and reactions, solved as the options ask.
pub fn accelerations(dynamics: &Arc<dyn Dynamics>, options: &Options) -> Result<SharedKkt, ChoiceError> {
    let by = match options.solver {
        Solver::Dense => {
            let layout = dynamics.layout();
            let unknowns = layout.n() + layout.m();
            if unknowns > MOST_DENSE {
                let reason = format!("the dense matrix of {unknowns} unknowns would be large, and slow to factor");
                let blocks = Suggestion::without("solver").note(": elimination by blocks does it");
                return Err(ChoiceError::new("solver", reason).instead(blocks));
            }
            LinearPlan::Dense
        }
        Solver::Direct => LinearPlan::Elimination,
        _ => LinearPlan::Cheapest,
    };
    Ok(SharedKkt::planned(dynamics.clone(), by))
}

/// Refuses what no machine of this kind can be run with: the additive formulation has no rows for rates alone, and turns
/// reactions into accelerations.
pub fn refuse_additive(dynamics: &dyn Dynamics, start: &Point, options: &Options) -> Result<(), ChoiceError> {
    if options.formulation != Some(FormulationKind::Additive) {
        return Ok(());
    }
    if let Some(body) = without_mass(dynamics, start).first() {
        let reason = format!(
            "the additive formulation turns reactions into accelerations, and {body} has no mass or no inertia of its own"
        );
        return Err(ChoiceError::new("formulation", reason).try_with("method", "hht-si2"));
    }
    if let Some((_, force)) = dynamics.followed_blocks().into_iter().next() {
        let reason = format!("the additive formulation turns reactions into accelerations, and {force} follows one");
        return Err(ChoiceError::new("formulation", reason).try_with("method", "hht-si2"));
    }
    let Some(by) = rate_alone(dynamics) else { return Ok(()) };
    let reason = format!("the additive formulation keeps the position of every constraint, and {by}");
    Err(ChoiceError::new("formulation", reason).try_with("method", "hht-si2"))
}

/// What holds a rate without a position, or may come to hold one.
fn rate_alone(dynamics: &dyn Dynamics) -> Option<String> {
    if let Some(force) = dynamics.may_stick() {
        return Some(format!("{force} holds a rate alone while it sticks"));
    }
    let layout = dynamics.layout();
    let rate_alone = |(c, r): (&Range<usize>, &Range<usize>)| c.len() > r.len();
    let block = layout.constraints.iter().zip(&layout.rates).position(rate_alone)?;
    Some(format!("{} holds a rate alone", dynamics.subject(Unknown::Lambda, block)))
}

/// Refuses the forms of accelerations that a machine cannot be run with.
pub fn refuse_alternatives(dynamics: &dyn Dynamics, start: &Point, options: &Options) -> Result<(), ChoiceError> {
    use FormulationKind::{Augmented, Baumgarte, MaggiLu, MaggiQr, MaggiSvd, Park};
    let Some(f) = options.formulation.filter(|f| f.is_alternative()) else { return Ok(()) };
    let refused = |reason: String| Err(ChoiceError::new("formulation", reason).try_with("formulation", "index1"));
    if f == Baumgarte && !options.method.explicit() {
        return match rate_alone(dynamics) {
            Some(by) => {
                let reason =
                    format!("with implicit methods baumgarte needs the position of every constraint, and {by}");
                Err(ChoiceError::new("formulation", reason).try_with("formulation", "ggl").try_with("method", "dopri5"))
            }
            None => Ok(()),
        };
    }
    if f != Baumgarte
        && let Some(force) = dynamics.may_follow()
    {
        return refused(format!("{force} has friction that follows a reaction: {f} finds reactions too late"));
    }
    let n = dynamics.layout().n();
    if matches!(f, MaggiLu | MaggiQr | MaggiSvd) && n > MOST_INDEPENDENT {
        let most = MOST_INDEPENDENT;
        return refused(format!(
            "{f} works with dense matrices, for up to {most} coordinates, and this machine has {n}"
        ));
    }
    if matches!(f, Augmented | Park)
        && let Some(body) = without_mass(dynamics, start).first()
    {
        return refused(format!(
            "{f} moves every body by its own inertia, and {body} has no mass or no inertia of its own"
        ));
    }
    Ok(())
}

/// Refuses a start from elsewhere where nobody made one: see `analyses::begin`.
pub fn refuse_elsewhere(options: &Options) -> Result<(), ChoiceError> {
    match &options.from {
        None => Ok(()),
        Some(from) => {
            let reason = format!("a run from {from} is begun by `begin::simulation`, or by `bellcrank run`");
            Err(ChoiceError::new("from", reason).try_without("from"))
        }
    }
}

/// Refuses solvers that cannot follow the machine: friction of hard contacts and of some joints follows multipliers, and those of a loop
/// solver are found after the loads.
pub fn refuse_sliding(dynamics: &dyn Dynamics, options: &Options) -> Result<(), ChoiceError> {
    if options.solver != Solver::LoopCg && !options.solver.regularizes() {
        return Ok(());
    }
    let Some(force) = dynamics.may_follow() else { return Ok(()) };
    let reason = format!("{force} has friction that follows a reaction: this solver finds reactions too late");
    Err(ChoiceError::new("solver", reason).try_without("solver"))
}

/// What solves the matrices of implicit steps.
pub(super) fn of_steps(solver: Solver, massless: bool) -> LinearPlan {
    match solver {
        Solver::Auto | Solver::Direct if massless => LinearPlan::Pivoting,
        Solver::LoopCg => LinearPlan::LoopCg,
        Solver::Dense => LinearPlan::Dense,
        Solver::Auto => LinearPlan::Cheapest,
        _ => LinearPlan::Elimination,
    }
}

/// The solver in words, before a run has tried any alternative.
pub(super) fn name(solver: Solver, dynamics: &dyn Dynamics) -> &'static str {
    match solver {
        Solver::Auto if dynamics.recursive() => "recursion",
        Solver::Auto | Solver::Direct => "elimination by blocks",
        Solver::Dense => "dense LU",
        other => other.name(),
    }
}
