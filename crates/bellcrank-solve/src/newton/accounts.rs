//! What Newton's iteration counts, and where its time goes.

use std::time::Instant;

/// Counts of work over all solves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Residual evaluations.
    pub residuals: usize,
    /// Jacobian evaluations.
    pub jacobians: usize,
    /// Factorizations.
    pub factorizations: usize,
    /// Iterations.
    pub iterations: usize,
    /// Multiplications and additions of the linear solver.
    pub flops: usize,
}

/// Seconds spent so far, by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseSeconds {
    /// Residuals.
    pub residuals: f64,
    /// Matrices.
    pub matrices: f64,
    /// Factorizations, each with a first solution.
    pub factors: f64,
    /// Other solutions.
    pub solutions: f64,
}

/// Measures phases once it is switched on.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseClock(Option<PhaseSeconds>);

impl PhaseClock {
    /// Measures from now on.
    pub fn switch_on(&mut self) {
        self.0 = Some(PhaseSeconds::default());
    }

    /// What was measured, if anything was.
    pub fn seconds(&self) -> Option<PhaseSeconds> {
        self.0
    }

    /// The time now, if it is measured.
    pub(super) fn now(&self) -> Option<Instant> {
        self.0.is_some().then(Instant::now)
    }

    /// Adds the time since `from` to a phase.
    pub(super) fn book(&mut self, from: Option<Instant>, phase: impl FnOnce(&mut PhaseSeconds) -> &mut f64) {
        if let (Some(seconds), Some(from)) = (&mut self.0, from) {
            *phase(seconds) += from.elapsed().as_secs_f64();
        }
    }
}
