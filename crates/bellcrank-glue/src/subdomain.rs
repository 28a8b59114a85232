//! What the coordinator sees of a part: nothing but its ports.

use crate::port::Motion;
use bellcrank_math::matrix::Matrix;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::model::Space;
use std::fmt;

/// What a part is and what it can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Plane or space.
    pub space: Space,
    /// The names of its ports, in the order of all loads and motions.
    pub ports: Vec<String>,
    /// Whether it takes one step of the coordinator's method per window, load and rates in balance at its end.
    pub in_step: bool,
}

/// A piece of time that all parts cross together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its number, from 0.
    pub number: u64,
    /// Its start: the time of the last commit.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

impl Window {
    /// Its length.
    pub fn length(&self) -> f64 {
        self.to - self.from
    }
}

/// How the ports of a part at the end of a window follow the loads: six numbers per port, in the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Admittance {
    /// ∂(displacement)/∂(load).
    pub place: Matrix,
    /// ∂(twist)/∂(load).
    pub velocity: Matrix,
    /// ∂(displacement)/∂(shift).
    pub place_by_shift: Matrix,
    /// ∂(twist)/∂(shift).
    pub velocity_by_shift: Matrix,
}

impl Admittance {
    /// That of accelerations, with which a part begins.
    pub fn of_accelerations(place: Matrix) -> Admittance {
        let none = Matrix::zeros(place.rows, place.columns);
        Admittance { place, velocity: none.clone(), place_by_shift: none.clone(), velocity_by_shift: none }
    }
}

/// What a part answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The motion of each port.
    pub ports: Vec<Motion>,
    /// How the motion follows the loads, if it was asked for and the part can tell.
    pub admittance: Option<Admittance>,
    /// The estimated error of the window in parts of the machine's size; zero if the part looks after its own errors.
    pub error: f64,
    /// Whether something fast died out within the window, which is the first of a run.
    pub rough: bool,
}

/// Why a part could not do what it was asked for, in its own words.
#[derive(Clone, Debug, PartialEq)]
pub struct PartError {
    /// The part.
    pub part: String,
    /// What happened.
    pub why: String,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part `{}`: {}", self.part, self.why)
    }
}

impl std::error::Error for PartError {}

/// A part with its own model and its own solver. Every call can be repeated: it starts from the last commit.
pub trait Subdomain: Send {
    /// What it is.
    fn description(&self) -> &Description;

    /// The motion at the committed time under these loads (six numbers per port, in the world), with
    /// ∂(acceleration)/∂(load) = B M̂⁻¹Bᵀ, condensed over the part's own constraints, as the `place` of an
    /// admittance if the part can tell it.
    fn begin(&mut self, loads: &[f64]) -> Result<Response, PartError>;

    /// Tries a window. In step, the loads act at its end, and the shifts σ move positions: T q̇ = v + M̂⁻¹Bᵀσ.
    /// With a solver of its own, a part holds the loads over the window and has no shifts.
    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        shifts: &[f64],
        admittance: bool,
    ) -> Result<Response, PartError>;

    /// Passes a rough start: the first windows are to be taken with damping enough to forget what is fast.
    fn soften(&mut self) -> Result<(), PartError> {
        Ok(())
    }

    /// Takes what was tried last.
    fn commit(&mut self) -> Result<(), PartError>;

    /// Keeps the committed state, until another is kept.
    fn save(&mut self) -> Result<(), PartError>;

    /// Goes back to the state that was kept.
    fn restore(&mut self) -> Result<(), PartError>;

    /// What the part records. Parts that show nothing have no channels.
    fn channels(&self) -> Vec<Channel> {
        Vec::new()
    }

    /// Appends the values of all channels at the committed time.
    fn observe(&mut self, out: &mut Vec<f64>) {
        let _ = out;
    }
}
