//! Forms of the equations of motion that explicit methods run on, beside v̇ and λ of the whole system with a projection after
//! every step: those that the literature compares with [Tseng & Hulbert 2001, section 2].
//!
//! | file | form | constraints |
//! |---|---|---|
//! | [`baumgarte`] | G v̇ = γ − 2α ġ − β² g | drift, and are drawn back |
//! | [`augmented`] | a penalty on g̈ + 2α ġ + β² g, and multipliers that grow by it | the same |
//! | [`park`] | λ̇ = ġ/ε | springs in their place |
//! | [`maggi`] | P(M v̇ − f) = 0, P Gᵀ = 0, in independent coordinates | hold at every stage |

pub mod augmented;
pub mod baumgarte;
mod free;
pub mod maggi;
pub mod park;

use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Point, Workspace};

/// How accelerations and reactions follow from positions and velocities.
pub trait AccelerationForm: Send {
    /// v̇ and λ at a realized point.
    fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError>;

    /// Gets ready for a step from an accepted point.
    fn begin(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        let _ = (at, w);
        Ok(())
    }

    /// Whether every stage is put onto the constraints, by [`Self::project`].
    fn keeps_stages(&self) -> bool {
        false
    }

    /// Puts positions and velocities onto the constraints, where the form holds them.
    fn project(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        let _ = (at, w);
        Ok(())
    }

    /// λ̇, where multipliers are integrated with the motion.
    fn multiplier_rates(&self) -> Option<&[f64]> {
        None
    }

    /// Factorizations so far.
    fn factorizations(&self) -> usize;

    /// Tells a tape what one evaluation leaves to the next.
    fn keep(&mut self, tape: &mut Tape);

    /// How accelerations are found, for people.
    fn explain(&self) -> String;
}

/// How fast open constraints close: g̈ + 2α ġ + β² g = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closing {
    /// α in 1/s.
    pub alpha: f64,
    /// β in 1/s.
    pub beta: f64,
}
