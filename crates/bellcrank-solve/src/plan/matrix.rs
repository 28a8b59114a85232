//! What the matrices of implicit steps are.

use super::{DecidedBy, Reason};
use crate::formulation::Formulation;
use crate::linear::plan::{LinearPlan, MatrixNeeds, MatrixPlan, matrix_plan};
use crate::newton::Iteration;
use bellcrank_model::Dynamics;

/// The matrix of the steps of a formulation.
pub(super) fn decide(
    dynamics: &dyn Dynamics,
    formulation: &Formulation,
    (iteration, asked): (Iteration, bool),
    fixed: bool,
    linear: LinearPlan,
) -> MatrixPlan {
    let layout = dynamics.layout();
    let (bodies, constrained) = (layout.bodies.len(), layout.m() > 0);
    matrix_plan(MatrixNeeds { formulation, bodies, constrained, iteration, asked, fixed, linear })
}

/// A matrix in words, for the list of decisions.
pub(super) fn reason(plan: MatrixPlan) -> Reason {
    let words = [
        (plan.condensed, "condensed"),
        (plan.lean, "without (Gᵀλ)_q"),
        (plan.symmetric, "symmetric"),
        (plan.decoupled, "as two systems"),
    ];
    let said: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    match said.is_empty() {
        true => Reason::new("matrix", "whole", DecidedBy::Default),
        false => Reason::new("matrix", said.join(", "), DecidedBy::Chosen),
    }
}
