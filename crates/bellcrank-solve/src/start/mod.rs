//! Consistent initial values: positions, velocities, accelerations and multipliers.
//!
//! Positions move as little as possible (lengths and angles weighed by the size of the model, or of its parts
//! where it is large: [`crate::linear::scales::turn`]) until
//! the constraints and the given joint coordinates hold; velocities change as little as possible; the
//! accelerations and reactions follow from the equations of motion. Redundant rows are harmless:
//! the linear solver drops them. Near singular positions, and where a full step would not close the
//! joints further, the step is damped [Levenberg 1944, Marquardt 1963].

mod assemble;
mod closure;
mod deformation;
mod follower;
mod massless;

pub use assemble::{assemble, close, complete};
pub use follower::Follower;
pub use massless::free_without_mass;

use std::fmt;

/// A body that the assembly moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// How far, in m (the largest change of a length).
    pub distance: f64,
    /// How much it turned, in rad (the largest change of an angle).
    pub angle: f64,
}

/// A joint that was open at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The user's name of the joint, or of the given start value.
    pub name: String,
    /// Its largest residual in m (or rad) before the assembly, and after.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// What it took to make a start consistent.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// Iterations for the positions.
    pub iterations: usize,
    /// The largest position residual before, and after.
    pub residual: (f64, f64),
    /// The largest velocity residual before, and after.
    pub velocity_residual: (f64, f64),
    /// The bodies that moved, the farthest first.
    pub moved: Vec<Moved>,
    /// The joints that were open, the widest first.
    pub gaps: Vec<Gap>,
    /// Constraint rows found redundant at the start.
    pub redundant: usize,
    /// Degrees of freedom at the start.
    pub degrees_of_freedom: usize,
    /// The redundant constraint rows.
    pub redundant_rows: Vec<usize>,
    /// Names of the joints with redundant rows, with how many.
    pub redundant_joints: Vec<(String, usize)>,
}

/// Why a start cannot be made consistent.
#[derive(Clone, Debug, PartialEq)]
pub enum AssemblyError {
    /// The joints cannot all be closed.
    Open {
        /// The joint that is farthest from closed.
        worst: String,
        /// By how much, in m (or rad).
        by: f64,
        /// Other joints that stay open.
        others: Vec<String>,
        /// Bodies that were not to move.
        held: Vec<String>,
    },
    /// The given rates contradict the joints, or each other.
    Rates {
        /// The joint where it shows.
        worst: String,
        /// By how much, in m/s (or rad/s).
        by: f64,
    },
    /// A body without inertia in a direction that nothing holds.
    Singular {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for AssemblyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssemblyError::Open { worst, by, others, held } => {
                write!(f, "the model cannot be assembled: {worst} stays open by {by:.3e} m")?;
                if !others.is_empty() {
                    write!(f, "\n  also open: {}", others.join(", "))?;
                }
                if !held.is_empty() {
                    write!(f, "\n  held by `fixed = true`: {}", held.join(", "))?;
                }
                write!(
                    f,
                    "\nhelp: check the points, lengths and given start values of these joints; \
                     start the bodies nearer to their places"
                )
            }
            AssemblyError::Rates { worst, by } => write!(
                f,
                "the given start rates contradict the joints: {worst} is off by {by:.3e} m/s\n\
                 help: give only as many rates as the mechanism has degrees of freedom"
            ),
            AssemblyError::Singular { name } => write!(
                f,
                "the accelerations are not determined at the start: {name} has no inertia in a direction that is free\n\
                 help: give it a mass and an inertia, or hold it by a joint"
            ),
        }
    }
}

impl std::error::Error for AssemblyError {}
