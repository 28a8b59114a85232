//! Options, report and errors of a glued run.

use crate::subdomain::PartError;
use bellcrank_math::linear::matrix::Matrix;
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
    /// All parts step together, and each sees the others as they moved in the last iterate: waveform relaxation. Springs and bushings
    /// have the loads of that motion; a joint is held by the part that comes first, against the last motion of the other. It converges
    /// across soft elements, and across a joint only where the part that holds it is by far the lighter one.
    Relaxation,
    /// The algorithm of [Tseng & Hulbert 2001]: parts take steps of Newmark's law, whose accelerations, velocities and positions are
    /// corrected level by level, accelerations by Gauss's principle (eq. 32).
    Gauss,
    /// The same with the projection that the paper tries first, of accelerations without the masses (eq. 27). It diverges on most
    /// machines.
    Naive,
    /// Springs and bushings only, with their loads taken from the start of the window: the usual explicit co-simulation, stable
    /// for short windows only.
    Explicit,
}

/// The names of all couplings.
pub const COUPLINGS: &[(Coupling, &str)] = &[
    (Coupling::Position, "position"),
    (Coupling::Stabilized, "stabilized"),
    (Coupling::Windows, "windows"),
    (Coupling::Relaxation, "relaxation"),
    (Coupling::Gauss, "gauss"),
    (Coupling::Naive, "naive"),
    (Coupling::Explicit, "explicit"),
];

impl Coupling {
    /// Whether the trial of a window is corrected level by level.
    pub fn corrects(self) -> bool {
        matches!(self, Coupling::Gauss | Coupling::Naive)
    }
}

/// Options of a glued run.
#[derive(Clone, Copy, Debug)]
pub struct GlueOptions {
    /// The coupling.
    pub coupling: Coupling,
    /// Length of the windows, in s; with a tolerance, of the first one.
    pub window: f64,
    /// Relative tolerance: windows follow the estimated error.
    pub rtol: Option<f64>,
    /// With a tolerance, windows end at multiples of this time from the start of the run.
    pub grid: Option<f64>,
    /// Allowed residuals.
    pub tolerances: Levels,
    /// Limit of attempts per window.
    pub max_attempts: usize,
    /// Whether the first windows are taken with damping, because something fast dies out within them; none: the parts find
    /// out.
    pub soft: Option<bool>,
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
            soft: None,
        }
    }
}

/// Error of the parts inside a window, and gaps of joints, as fractions of the tolerance of the run.
pub const INSIDE: f64 = 1e-2;

/// One number for each residual of the interface: its size, or its tolerance.
///
/// Tolerances have no units: gaps count in lengths L of the interface, gap rates in L/H (the rate that opens a gap of L within
/// a window), imbalances of loads by the displacement they cause within a window, in L, and Φ̈ as a fraction of the largest
/// acceleration of the ports. So one number serves for all four. Values below 1e-10 are of no use: parts solve their steps to
/// 1e-12 of their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Levels {
    /// Φ: the gaps, in m.
    pub position: f64,
    /// Φ̇: their rates, in m/s.
    pub velocity: f64,
    /// Φ̈: the accelerations of the gaps where accelerations are recovered, in m/s².
    pub acceleration: f64,
    /// ℓ − F + Γᵀλ: the imbalance of the loads, as a displacement in m.
    pub dynamics: f64,
}

impl Levels {
    /// The same for all, but at least 1e-8 for Φ̈, which rounding limits.
    pub fn all(x: f64) -> Levels {
        Levels { position: x, velocity: x, acceleration: x.max(1e-8), dynamics: x }
    }

    /// The tolerances of a run with error control: small enough not to disturb the estimate.
    pub fn within(rtol: f64) -> Levels {
        Levels::all(INSIDE * rtol)
    }

    /// The larger of this and another, residual by residual.
    pub fn raise_to(&mut self, other: &Levels) {
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

/// Counts, residuals and times of a glued run.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GlueReport {
    /// Committed windows.
    pub windows: usize,
    /// Windows that were rejected because of their error.
    pub rejected: usize,
    /// Attempts: each is one exchange with every part.
    pub exchanges: usize,
    /// The largest number of attempts in a window.
    pub most: usize,
    /// Evaluations of the admittance.
    pub admittances: usize,
    /// Recoveries of accelerations and multipliers at a committed time, for observation.
    pub recoveries: usize,
    /// The largest residuals of all committed windows.
    pub residuals: Levels,
    /// Seconds spent in each part.
    pub seconds: Vec<f64>,
    /// The joints between parts whose reactions are not unique: those of least size are taken.
    pub not_unique: Vec<String>,
    /// What loads from the start of each window do, in explicit coupling.
    pub lag: Lag,
}

/// The error of loads that are held from the start of a window on: it is of first order in the window H.
///
/// The mean of the load over the window is about ½(ℓ₀ + ℓ₁), and ℓ₀ acts. What that does to the ports, as free bodies that the
/// springs and dampers between the parts pull back, is followed along the run:
///
/// ```text
///     τ ← τ + H S(−½(ℓ₁ − ℓ₀) + ∂F/∂δ δ + ∂F/∂τ τ),    δ ← δ + H τ,    S = ∂(acceleration)/∂(load)
/// ```
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Lag {
    /// S at the start, in the coordinates of the interface; none in other couplings, and where a part does not tell accelerations.
    pub by_load: Option<Matrix>,
    twist: Vec<f64>,
    place: Vec<f64>,
    /// The largest displacement so far, in m or rad.
    pub largest: f64,
}

impl Lag {
    /// Adds a window of length h, whose load has changed by so much, with what pulls the ports back.
    pub(crate) fn add(&mut self, h: f64, change: &[f64], stiffness: &Matrix, damping: &Matrix) {
        let Some(by_load) = &self.by_load else { return };
        self.twist.resize(change.len(), 0.0);
        self.place.resize(change.len(), 0.0);
        let (spring, damper) = (stiffness.apply(&self.place), damping.apply(&self.twist));
        let missing = change.iter().zip(spring.iter().zip(&damper)).map(|(l, (k, d))| k + d - 0.5 * l);
        let jump = by_load.apply(&missing.collect::<Vec<_>>());
        for ((place, twist), jump) in self.place.iter_mut().zip(&mut self.twist).zip(jump) {
            *twist += h * jump;
            *place += h * *twist;
            self.largest = self.largest.max(place.abs());
        }
    }
}

/// What waveform relaxation was asked to converge across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxed {
    /// Joints, among others.
    Joints,
    /// Springs, dampers and bushings alone.
    Forces,
}

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
        /// Whether the gap is one of velocities.
        rate: bool,
    },
    /// The search for the loads of a window did not converge.
    Diverged {
        /// Where the window began.
        t: f64,
        /// Its length.
        length: f64,
        /// The joint that is worst.
        joint: String,
        /// Its gap.
        gap: f64,
        /// Of waveform relaxation: what it is among, and by what one more iterate multiplied the residual.
        relaxed: Option<(Relaxed, f64)>,
    },
    /// The corrections of a trial, level by level, did not converge.
    Uncorrected {
        /// Where the window began.
        t: f64,
        /// Its length.
        length: f64,
        /// By what the last iteration multiplied the residual.
        factor: f64,
        /// Whether accelerations were projected without the masses.
        naive: bool,
    },
    /// The assembly, the options or a checkpoint do not fit.
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
            GlueError::Diverged { t, length, joint, gap, relaxed: Some((across, factor)) } => {
                let remedy = match across {
                    Relaxed::Joints => {
                        "no window is short enough for a joint between parts of like inertia: use --coupling stabilized, which \
                         knows how both parts answer, or a bushing in place of the joint"
                    }
                    Relaxed::Forces => "use a shorter window, or --coupling stabilized, which has no such limit",
                };
                let open = if gap.is_finite() { format!(", {joint} is open by {gap:.3e} m") } else { String::new() };
                write!(
                    f,
                    "waveform relaxation does not converge in the window of {length:.3e} s from t = {t:.9} s: the last iterate \
                     multiplied its residual by {factor:.3}{open}\nhelp: {remedy}"
                )
            }
            GlueError::Diverged { t, length, joint, gap, relaxed: None } => write!(
                f,
                "the loads between the parts did not converge in the window of {length:.3e} s from t = {t:.9} s: \
                 {joint} stays open by {gap:.3e} m\nhelp: use a shorter window"
            ),
            GlueError::Uncorrected { t, length, factor, naive } => {
                let (what, remedy) = match naive {
                    true => (
                        "the projection of accelerations without the masses",
                        "use --coupling gauss, which projects them by Gauss's principle, or --coupling stabilized",
                    ),
                    false => (
                        "gluing by Gauss's principle",
                        "use a shorter window, or --coupling stabilized, which knows how stiff the parts are to the loads of their joints",
                    ),
                };
                write!(
                    f,
                    "{what} does not converge in the window of {length:.3e} s from t = {t:.9} s: the last iteration multiplied its \
                     residual by {factor:.3}\nhelp: {remedy}"
                )
            }
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

/// Why a glued run stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum GluedRunError {
    /// The run itself failed.
    Glue(GlueError),
    /// Results or checkpoints cannot be written or read.
    Record(String),
}

impl fmt::Display for GluedRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GluedRunError::Glue(e) => write!(f, "{e}"),
            GluedRunError::Record(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for GluedRunError {}
