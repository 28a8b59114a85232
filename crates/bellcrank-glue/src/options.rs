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
    /// Lets the error choose the windows (of parts with solvers of their own).
    pub rtol: Option<f64>,
    /// How well joints hold: their gap, in lengths of the interface.
    pub tolerance: f64,
    /// Most attempts per window.
    pub max_attempts: usize,
}

impl Default for GlueOptions {
    fn default() -> GlueOptions {
        GlueOptions { coupling: Coupling::Stabilized, window: 1e-3, rtol: None, tolerance: 1e-10, max_attempts: 20 }
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
    /// The largest gap, gap rate and imbalance of loads (as a displacement) of all committed windows.
    pub residuals: [f64; 3],
    /// Seconds spent in each part.
    pub seconds: Vec<f64>,
}

bellcrank_model::kept_by_fields!(Report { windows, rejected, exchanges, most, admittances, residuals, seconds });

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
