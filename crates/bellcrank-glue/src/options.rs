//! What a glued run is told, and what it tells.

use crate::subdomain::PartError;
use std::fmt;

/// How parts are coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// All parts step together, joints held in position.
    Position,
    /// All parts step together, joints held in position and velocity.
    Stabilized,
    /// Every part has its own solver inside a window.
    Windows,
    /// Springs and bushings only, their loads taken from the start of the window: what users know from
    /// co-simulation, stable for short windows only.
    Explicit,
}

/// The names of all couplings.
pub const COUPLINGS: &[(Coupling, &str)] = &[
    (Coupling::Position, "position"),
    (Coupling::Stabilized, "stabilized"),
    (Coupling::Windows, "windows"),
    (Coupling::Explicit, "explicit"),
];

/// What a glued run is told.
#[derive(Clone, Copy, Debug)]
pub struct GlueOptions {
    /// The coupling.
    pub coupling: Coupling,
    /// The length of a window, in seconds; with a tolerance, of the first one.
    pub window: f64,
    /// Lets the error choose the windows.
    pub rtol: Option<f64>,
    /// With a tolerance, windows end at multiples of this time, counted from the start of a run.
    pub grid: Option<f64>,
    /// How much of each residual may be left.
    pub tolerances: Levels,
    /// Most attempts per window.
    pub max_attempts: usize,
}

impl Default for GlueOptions {
    fn default() -> GlueOptions {
        GlueOptions {
            coupling: Coupling::Stabilized,
            window: 1e-3,
            rtol: None,
            grid: None,
            tolerances: Levels::all(1e-10),
            max_attempts: 20,
        }
    }
}

/// What the parts err inside a window, and how far joints may be open, in tolerances of the run.
pub const INSIDE: f64 = 1e-2;

/// One number for each residual of the interface: how much is left, or may be left.
///
/// As tolerances they have no units: gaps count in lengths L of the interface, gap rates in L/H (what opens a gap within
/// a window), imbalances of loads by the displacement they cause within a window, in L, and Φ̈ in parts of the largest
/// acceleration of the ports. So one number serves for all four. Nothing smaller than 1e-10 is of use: parts find their
/// steps to 1e-12 of their length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Levels {
    /// Φ: the gaps, in m.
    pub position: f64,
    /// Φ̇: their rates, in m/s.
    pub velocity: f64,
    /// Φ̈: the accelerations of the gaps wherever accelerations are told, in m/s².
    pub acceleration: f64,
    /// ℓ − F + Γᵀλ: the imbalance of the loads, as a displacement in m.
    pub dynamics: f64,
}

impl Levels {
    /// The same for all; Φ̈ is a matter of rounding, and never asked for below 1e-8.
    pub fn all(x: f64) -> Levels {
        Levels { position: x, velocity: x, acceleration: x.max(1e-8), dynamics: x }
    }

    /// What belongs to a run with error control: so little that it does not disturb the control.
    pub fn within(rtol: f64) -> Levels {
        Levels::all(INSIDE * rtol)
    }

    /// Takes notice of what another window left.
    pub fn take(&mut self, other: &Levels) {
        for (mine, theirs) in [
            (&mut self.position, other.position),
            (&mut self.velocity, other.velocity),
            (&mut self.acceleration, other.acceleration),
            (&mut self.dynamics, other.dynamics),
        ] {
            *mine = mine.max(theirs);
        }
    }
}

/// What a glued run took.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Committed windows.
    pub windows: usize,
    /// Windows that were given up because of their error.
    pub rejected: usize,
    /// Attempts: each is one exchange with every part.
    pub exchanges: usize,
    /// Most attempts a window took.
    pub most: usize,
    /// How often admittances were asked for.
    pub admittances: usize,
    /// How often accelerations and multipliers were recovered at a committed time, to be told.
    pub recoveries: usize,
    /// The largest residuals of all committed windows.
    pub residuals: Levels,
    /// Seconds spent in each part.
    pub seconds: Vec<f64>,
}

bellcrank_model::kept_by_fields!(Levels { position, velocity, acceleration, dynamics });
bellcrank_model::kept_by_fields!(Report {
    windows,
    rejected,
    exchanges,
    most,
    admittances,
    recoveries,
    residuals,
    seconds
});

/// Why a glued run cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub enum GlueError {
    /// A part failed.
    Part(PartError),
    /// A joint is open at the start.
    Open {
        /// The joint.
        joint: String,
        /// By how much.
        gap: f64,
        /// Whether in velocity, not in position.
        rate: bool,
    },
    /// The loads of a window were not found.
    Diverged {
        /// Where the window began.
        t: f64,
        /// Its length.
        length: f64,
        /// The joint that is worst.
        joint: String,
        /// Its gap.
        gap: f64,
    },
    /// The coupling does not fit.
    Unfit(String),
}

impl fmt::Display for GlueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GlueError::Part(e) => write!(f, "{e}"),
            GlueError::Open { joint, gap, rate } => {
                let (what, unit) = if *rate { ("moves apart with", "m/s") } else { ("is open by", "m") };
                write!(
                    f,
                    "{joint} {what} {gap:.3e} {unit} at the start\n\
                     help: the ports of two parts must meet: compare their places (and velocities) in both models"
                )
            }
            GlueError::Diverged { t, length, joint, gap } => write!(
                f,
                "the loads between the parts were not found in the window of {length:.3e} s from t = {t:.9} s: \
                 {joint} stays open by {gap:.3e} m\nhelp: use a shorter window"
            ),
            GlueError::Unfit(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for GlueError {}

impl From<PartError> for GlueError {
    fn from(e: PartError) -> GlueError {
        GlueError::Part(e)
    }
}
