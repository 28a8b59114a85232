//! The forms of accelerations that explicit methods run on, one row each.

use crate::choices::{ChoiceError, FormulationKind, Options, SrmTree};
use crate::engines::StepError;
use crate::engines::explicit::AccelerationSolver;
use crate::engines::regularized::TreeKeeping;
use crate::linear::forms::augmented::Augmented;
use crate::linear::forms::baumgarte::Baumgarte;
use crate::linear::forms::maggi::{Basis, Maggi};
use crate::linear::forms::park::Park;
use crate::linear::forms::{AccelerationForm, Closing};
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::{Dynamics, Point};
use std::sync::Arc;

/// ε of Park's multipliers in s, unless it is given.
const PARK: f64 = 1e-3;

/// What gives the accelerations of a formulation; none where that is the whole system.
pub(super) fn form(
    kind: FormulationKind,
    dynamics: &Arc<dyn Dynamics>,
    options: &Options,
    start: &Point,
) -> Result<Option<AccelerationSolver>, StepError> {
    use FormulationKind::{Augmented as A, Baumgarte as B, MaggiLu, MaggiQr, MaggiSvd, Park as P};
    let (p, d) = (&options.parameters, || dynamics.clone());
    let (alpha, beta) = p.closing();
    let closing = Closing { alpha, beta };
    let made: Result<Box<dyn AccelerationForm>, LinearError> = match kind {
        B => Ok(Box::new(Baumgarte::new(d(), closing))),
        A => Augmented::new(d(), closing, p.penalty, p.iterates, start).map(|form| Box::new(form) as _),
        P => Park::new(d(), p.epsilon.unwrap_or(PARK), start).map(|form| Box::new(form) as _),
        MaggiLu => Ok(Box::new(Maggi::new(d(), Basis::Lu))),
        MaggiQr => Ok(Box::new(Maggi::new(d(), Basis::Qr))),
        MaggiSvd => Ok(Box::new(Maggi::new(d(), Basis::Svd))),
        _ => return Ok(None),
    };
    match made {
        Ok(form) => Ok(Some(AccelerationSolver::Form { form, name: kind.name() })),
        Err(e) => Err(unsuited(kind, start.t, e)),
    }
}

/// What keeps the tree of sequential regularization on its constraints.
pub(super) fn tree(options: &Options) -> TreeKeeping {
    let (alpha, beta) = options.parameters.closing();
    match options.parameters.srm_tree {
        SrmTree::Projected => TreeKeeping::Projected,
        SrmTree::Baumgarte => TreeKeeping::Baumgarte(Closing { alpha, beta }),
        SrmTree::Drifting => TreeKeeping::Drifting,
    }
}

/// Bodies that have no inertia by themselves are refused by name before; what is left is a mass matrix beyond arithmetic.
fn unsuited(kind: FormulationKind, t: f64, e: LinearError) -> StepError {
    let reason = format!("{kind} moves every body by its own inertia, and some mass matrix is singular: {e}");
    StepError::Unsuited {
        t,
        choice: Box::new(ChoiceError::new("formulation", reason).try_with("formulation", "index1")),
    }
}
