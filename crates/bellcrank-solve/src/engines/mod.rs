//! Engines: what takes a step. Each advances an accepted state and can be asked inside its last step.

mod error;
pub mod explicit;
pub mod implicit;
pub mod kinematic;
mod progress;
pub mod regularized;

pub use error::StepError;

use bellcrank_math::tape::Tape;
use bellcrank_model::{Point, State, Unknown};

/// Counts of a run, all deterministic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Statistics {
    /// Accepted steps.
    pub steps: usize,
    /// Steps refused because the estimated error was too large.
    pub error_test_failures: usize,
    /// Steps refused because Newton's iteration did not converge.
    pub convergence_failures: usize,
    /// Evaluations of the residual (or of the right-hand side).
    pub residual_evaluations: usize,
    /// Evaluations of the Jacobian.
    pub jacobian_evaluations: usize,
    /// Factorizations of a matrix.
    pub factorizations: usize,
    /// Newton iterations.
    pub iterations: usize,
    /// Multiplications and additions of Newton's linear solver.
    pub flops: usize,
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, o: Statistics) {
        self.steps += o.steps;
        self.error_test_failures += o.error_test_failures;
        self.convergence_failures += o.convergence_failures;
        self.residual_evaluations += o.residual_evaluations;
        self.jacobian_evaluations += o.jacobian_evaluations;
        self.factorizations += o.factorizations;
        self.iterations += o.iterations;
        self.flops += o.flops;
    }
}

/// A step that was tried and refused.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Refusal {
    /// Its size.
    pub h: f64,
    /// Whether Newton's iteration (or else the error test) refused it.
    pub convergence: bool,
    /// What was furthest from being acceptable: a block of unknowns, for [`Observable::name`](bellcrank_model::dynamics::Observable::name).
    pub owner: (Unknown, usize),
}

/// A decision that an engine changed during a run.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum EngineRevision {
    /// The lean matrix took too many iterations: (Gᵀλ)_q is part of it for the rest of the run.
    WholeMatrix {
        /// When.
        t: f64,
    },
    /// Something fast dies out within the first fixed step: the first steps are taken with damping.
    SoftStart {
        /// When.
        t: f64,
    },
}

/// The split of the coordinates in use, and how well it does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitReport {
    /// Independent coordinates.
    pub independent: usize,
    /// Dependent ones.
    pub dependent: usize,
    /// The largest |Q| = |(GY)⁻¹GX| now, and the largest that was put up with; 1 is ideal.
    pub largest: f64,
    /// See `largest`.
    pub worst: f64,
    /// How often the split was chosen anew.
    pub changes: usize,
    /// The constraints with rows that determine nothing, by name.
    pub redundant: Vec<String>,
}

/// How closed loops were dealt with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopReport {
    /// The solver's name.
    pub solver: &'static str,
    /// Equations that close loops.
    pub equations: usize,
    /// Systems of loops solved.
    pub solves: usize,
    /// Iterations of all of them.
    pub iterations: usize,
    /// How often the preconditioner was made anew.
    pub renewals: usize,
    /// ε of sequential regularization, and its limit of stability.
    pub epsilon: Option<(f64, f64)>,
    /// The largest drift of every iterate: of its loops, and of its tree.
    pub drift: Vec<(f64, f64)>,
}

/// How a problem looks stiff to an explicit method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stiff {
    /// The motion is far smoother than its steps: whatever is fast has died out, or never began.
    Smooth,
    /// Steps are at the edge of stability, and the motion is no smoother: something fast dies out, or goes on and on.
    Rough,
}

/// Advances a state step by step.
pub trait Engine: Send {
    /// Takes one step that does not pass `t_stop`.
    fn step(&mut self, t_stop: f64) -> Result<(), StepError>;
    /// The accepted state.
    fn state(&self) -> &State;
    /// The last point: the state with the rates and multipliers the method has for it.
    fn point(&self) -> &Point;
    /// The state inside the last step, in the charts of the accepted state before [`Engine::settle`].
    fn interpolate(&mut self, t: f64, out: &mut State) -> Result<(), StepError>;
    /// The work that came in during the last step, where the method integrates it with the rest: to its own order, with its own
    /// stages.
    fn work(&self) -> Option<f64> {
        None
    }
    /// Closes the step: counts joint turns and re-centres rotation charts.
    fn settle(&mut self);
    /// Forgets its history and goes on from a consistent point of the same equations, after an event.
    fn restart(&mut self, start: &Point) -> Result<(), StepError> {
        let _ = start;
        Ok(())
    }
    /// Steps may err by this many times the tolerance from now on, where errors are controlled.
    fn set_leeway(&mut self, leeway: f64) {
        let _ = leeway;
    }
    /// The step size that will be tried next.
    fn step_size(&self) -> f64;
    /// The order in use.
    fn order(&self) -> usize;
    /// The work so far.
    fn statistics(&self) -> Statistics;
    /// What was refused before the last step was taken.
    fn refusals(&self) -> &[Refusal] {
        &[]
    }
    /// The decisions changed since this was last asked.
    fn revisions(&mut self) -> Vec<EngineRevision> {
        Vec::new()
    }
    /// Measures from now on how long each part of a step takes.
    fn measure(&mut self) {}
    /// The parts of a step with the seconds they took, where they are measured.
    fn seconds(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
    /// How many constraint rows the last factors left out as redundant, and the smallest relative pivot
    /// of those they kept, where that is known.
    fn rank(&self) -> Option<(usize, f64)> {
        None
    }
    /// How close the constraints were to others that depend on each other at the evaluations inside the last step: times and
    /// smallest relative pivots, where they are known.
    fn pivots(&self) -> &[(f64, f64)] {
        &[]
    }
    /// The smallest relative pivot at the last step of an error-controlled method that evaluates nothing inside it.
    fn pivot_of_step(&self) -> Option<f64> {
        None
    }
    /// Whether an explicit method finds the problem stiff, and how.
    fn stiff(&self) -> Option<Stiff> {
        None
    }
    /// What stability seemed to hold down is none of it: the watch begins anew, and is twice as patient.
    fn follow_oscillation(&mut self) {}
    /// The split of the coordinates, where there is one.
    fn split_report(&self) -> Option<SplitReport> {
        None
    }
    /// How closed loops were dealt with, where that is known.
    fn loop_report(&self) -> Option<LoopReport> {
        None
    }
    /// How linear systems are solved and why, for people.
    fn explain_solver(&self) -> Option<String> {
        None
    }
    /// Tells a tape all that it remembers: an engine that was made in the same way goes on from it, to the bit.
    fn keep(&mut self, tape: &mut Tape) {
        tape.refuse("this engine cannot be kept");
    }
    /// Gives memory back that only further steps need; they can make it anew.
    fn release(&mut self) {}
    /// Method, formulation and iteration, by name.
    fn names(&self) -> (&'static str, &'static str, &'static str);
}
