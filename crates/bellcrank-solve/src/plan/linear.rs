//! What solves the linear systems, and what no solver can do.

use super::scale::MOST_DENSE;
use crate::linear::kkt::{By, SharedKkt};
use crate::options::{OptionError, Options, Solver};
use bellcrank_model::Dynamics;
use std::sync::Arc;

/// The system of accelerations and reactions, solved as the options ask.
pub fn accelerations(dynamics: &Arc<dyn Dynamics>, options: &Options) -> Result<SharedKkt, OptionError> {
    let by = match options.solver {
        Solver::Dense => {
            let layout = dynamics.layout();
            let unknowns = layout.n() + layout.m();
            if unknowns > MOST_DENSE {
                let message = format!("the dense matrix of {unknowns} unknowns would be large, and slow to factor");
                let help = "leave --solver out: elimination by blocks does it".into();
                return Err(OptionError { option: "--solver", message, help });
            }
            By::Dense
        }
        Solver::Direct => By::Elimination,
        _ => By::Cheapest,
    };
    Ok(SharedKkt::by(dynamics.clone(), by))
}

/// Refuses what no machine of this kind can be run with: the additive formulation has no rows for rates alone.
pub fn refuse_additive(dynamics: &dyn Dynamics, options: &Options) -> Result<(), OptionError> {
    if options.formulation != Some("add") {
        return Ok(());
    }
    let sticks = dynamics.may_stick();
    if sticks.is_none() && dynamics.layout().m() == dynamics.layout().m_rates() {
        return Ok(());
    }
    let by = sticks.map_or(String::new(), |force| format!(", and {force} is one while it sticks"));
    let message = format!("the additive formulation has no place for nonholonomic constraints{by}");
    Err(OptionError { option: "--formulation", message, help: "use --method hht-si2".into() })
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
