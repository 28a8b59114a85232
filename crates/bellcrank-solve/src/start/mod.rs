//! Consistent initial values: positions, velocities, accelerations and multipliers.
//!
//! Positions move as little as possible (lengths and angles weighed by the size of the model, or of its parts
//! where it is large: [`crate::linear::scales::turn`]) until
//! the constraints and the given joint coordinates hold, and joints that nobody named stay as drawn unless loops move
//! them (`on_joints.rs`); given velocities are kept, and the others change as little as possible (`velocities.rs`); the
//! accelerations and reactions follow from the equations of motion. Redundant rows are harmless:
//! the linear solver drops them. Near singular positions, and where a full step would not close the
//! joints further, the step is damped [Levenberg 1944, Marquardt 1963].

mod assemble;
mod closure;
mod conflict;
mod deformation;
mod follower;
mod massless;
mod on_joints;
mod velocities;

pub(crate) use assemble::moved;
pub use assemble::{assemble, close, complete, resume};
pub(crate) use conflict::contradicting;
pub use conflict::smallest;
pub use follower::Follower;
pub use massless::{free_without_mass, without_mass};

use crate::wedge::Wedge;
use bellcrank_model::Subject;
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
    /// The joint, or the start value that was given.
    pub of: Subject,
    /// Its largest residual in m (or rad) before the assembly, and after.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// A joint coordinate that nobody named and that a start moved all the same: loops ask for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// The coordinate, as results call it: `pin.angle`.
    pub name: String,
    /// How far it is from where it was drawn, in m or rad.
    pub change: f64,
    /// Its rate, in m/s or rad/s.
    pub rate: f64,
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
    /// The joint coordinates that loops moved though nobody named them.
    pub followed: Vec<Followed>,
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
        worst: Subject,
        /// By how much, in m (or rad).
        by: f64,
        /// Other joints that stay open.
        others: Vec<Subject>,
        /// Bodies that were not to move.
        held: Vec<Subject>,
    },
    /// Velocities given at the start contradict the joints, or each other.
    Rates {
        /// The joint where it shows.
        worst: Subject,
        /// By how much, in m/s (or rad/s).
        by: f64,
        /// Which of them contradict each other, as few as it takes; none if that was not looked for.
        sides: Vec<Subject>,
    },
    /// A drive prescribes a rate that is no number.
    NoNumber {
        /// The drive.
        culprit: Subject,
        /// Its value, and for which arguments.
        what: String,
    },
    /// Bodies are inside each other, or a joint is past its stop, where that cannot be.
    Beyond {
        /// The hard contact or stop.
        culprit: Subject,
        /// By how much, in m (or rad).
        by: f64,
    },
    /// A load follows a reaction that is not unique.
    NotUnique {
        /// Whose load it is.
        culprit: Subject,
        /// The joint.
        joint: Subject,
    },
    /// Friction presses the joint that makes it harder than it can push back.
    Wedged(Box<Wedge>),
    /// A body without inertia in a direction that nothing holds.
    Singular {
        /// The body.
        culprit: Subject,
    },
}

impl AssemblyError {
    /// The joint or body where it shows.
    pub fn culprit(&self) -> &Subject {
        match self {
            AssemblyError::Rates { worst, sides, .. } => sides.first().unwrap_or(worst),
            AssemblyError::Open { worst, .. } => worst,
            AssemblyError::Wedged(wedge) => &wedge.culprit,
            AssemblyError::Beyond { culprit, .. }
            | AssemblyError::NoNumber { culprit, .. }
            | AssemblyError::NotUnique { culprit, .. }
            | AssemblyError::Singular { culprit } => culprit,
        }
    }

    /// What else takes part in it.
    pub fn others(&self) -> &[Subject] {
        match self {
            AssemblyError::Rates { sides, .. } => sides.get(1..).unwrap_or_default(),
            AssemblyError::Open { others, .. } => others,
            AssemblyError::NotUnique { joint, .. } => std::slice::from_ref(joint),
            AssemblyError::Wedged(wedge) => wedge.joint.as_slice(),
            AssemblyError::Beyond { .. } | AssemblyError::NoNumber { .. } | AssemblyError::Singular { .. } => &[],
        }
    }

    /// What is wrong, without advice.
    pub fn reason(&self) -> String {
        match self {
            AssemblyError::Open { worst, by, others, held } => {
                let mut text = format!("the model cannot be assembled: {worst} stays open by {by:.3e} m");
                for (what, list) in [("also open", others), ("held by `fixed = true`", held)] {
                    if !list.is_empty() {
                        let words: Vec<&str> = list.iter().map(|s| s.words.as_str()).collect();
                        text += &format!("; {what}: {}", words.join(", "));
                    }
                }
                text
            }
            AssemblyError::Rates { worst, by, sides } => {
                let sides: Vec<&str> = sides.iter().map(|s| s.words.as_str()).collect();
                let who = match sides.as_slice() {
                    [] | [_] => "the velocities given at the start contradict the joints".into(),
                    [one, other] => format!("{one} contradicts {other}"),
                    [most @ .., last] => format!("{} and {last} contradict each other", most.join(", ")),
                };
                format!("{who}: {worst} is off by {by:.3e} m/s (or rad/s)")
            }
            AssemblyError::NotUnique { culprit, joint } => {
                format!("{culprit} follows the reaction of {joint}, which redundant constraints leave undetermined")
            }
            AssemblyError::NoNumber { culprit, what } => format!("{culprit} is no number at the start: {what}"),
            AssemblyError::Beyond { culprit, by } => {
                format!("{culprit} is hard, and the start is beyond it by {by:.3e} m (or rad)")
            }
            AssemblyError::Wedged(wedge) => format!("at the start {}", wedge.reason()),
            AssemblyError::Singular { culprit } => format!(
                "the accelerations are not determined at the start: {culprit} has no inertia in a direction that is free"
            ),
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            AssemblyError::Open { .. } => {
                "check the points, lengths and given start values of these joints; start the bodies nearer to their places"
            }
            AssemblyError::Rates { sides, .. } if sides.len() > 1 && sides.iter().all(Subject::is_joint) => {
                "they prescribe rates that cannot all be; leave one of them out, or change it"
            }
            AssemblyError::Rates { .. } => "values given at the start hold exactly; remove one of these, or change it",
            AssemblyError::NotUnique { .. } => {
                "take out the redundancy (`bellcrank check` names it): a spherical or cylindrical joint in the place of a revolute one, or \
                 model = { plane = \"xy\" }; or give the level of the friction with `coulomb`"
            }
            AssemblyError::NoNumber { .. } => "give it a course with a finite rate at the start; `sqrt(t)` has none",
            AssemblyError::Beyond { .. } => {
                "start its bodies where they do not touch, or add `push_out = true` to have them moved there"
            }
            AssemblyError::Wedged(_) => Wedge::ADVICE,
            AssemblyError::Singular { .. } => "give it a mass and an inertia, or hold it by a joint",
        }
    }
}

impl fmt::Display for AssemblyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhelp: {}", self.reason(), self.advice())
    }
}

impl std::error::Error for AssemblyError {}
