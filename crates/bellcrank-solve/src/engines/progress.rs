//! What an engine counts.

use super::{EngineRevision, Refusal};
use bellcrank_model::Unknown;

/// Steps taken and refused.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct StepTally {
    pub(super) steps: usize,
    pub(super) error_test_failures: usize,
    pub(super) convergence_failures: usize,
    /// What was refused before the last step was taken.
    pub(super) refusals: Vec<Refusal>,
    /// Decisions that were changed and not yet reported.
    pub(super) revisions: Vec<EngineRevision>,
}

impl StepTally {
    pub(super) fn new() -> StepTally {
        StepTally {
            steps: 0,
            error_test_failures: 0,
            convergence_failures: 0,
            refusals: Vec::with_capacity(16),
            revisions: Vec::new(),
        }
    }

    /// Counts a refused step, of which a block of unknowns was furthest from being acceptable.
    pub(super) fn refuse(&mut self, h: f64, convergence: bool, owner: (Unknown, usize)) {
        *if convergence { &mut self.convergence_failures } else { &mut self.error_test_failures } += 1;
        self.refusals.push(Refusal { h, convergence, owner });
    }
}
