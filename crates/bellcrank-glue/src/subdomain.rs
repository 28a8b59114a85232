//! What the coordinator sees of a part: nothing but its ports.

use crate::port::Motion;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::model::Space;
use std::fmt;
use std::path::Path;

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
#[derive(Clone, Debug, Default, PartialEq)]
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

bellcrank_model::kept_by_fields!(Admittance { place, velocity, place_by_shift, velocity_by_shift });

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

/// What a part will be asked for next, with all arguments.
pub enum Upcoming<'a> {
    /// [`Subdomain::begin`].
    Begin(&'a [f64]),
    /// [`Subdomain::attempt`].
    Attempt(&'a Window, &'a [f64], &'a [f64], bool),
    /// [`Subdomain::observe`].
    Observe,
}

/// What went to and fro between the coordinator and a part that is far away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Where the part is.
    pub address: String,
    /// Questions that were answered.
    pub round_trips: u64,
    /// Messages that were sent again because no answer came in time.
    pub repeated: u64,
    /// How often the link was made, the first time included.
    pub links: u64,
    /// Bytes of messages that were sent and received.
    pub bytes: [u64; 2],
    /// Seconds from questions to their answers.
    pub waiting: f64,
    /// Seconds the part itself worked, by its own clock.
    pub working: f64,
}

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

    /// Tells what it will be asked for next, so that a part that is far away works while others do.
    fn announce(&mut self, next: &Upcoming) {
        let _ = next;
    }

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
    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        let _ = out;
        Ok(())
    }

    /// The committed state, for the part's own disk.
    fn state(&mut self) -> Result<Vec<u8>, PartError> {
        Err(PartError { part: self.description().name.clone(), why: "cannot write its state to a disk".into() })
    }

    /// Takes a state that a part of the same model and solver wrote.
    fn set_state(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        let _ = bytes;
        Err(PartError { part: self.description().name.clone(), why: "cannot read a state from a disk".into() })
    }

    /// Keeps the committed state on the disk where the part lives; here that is the folder of the run.
    fn keep(&mut self, folder: &Path, id: &str) -> Result<(), PartError> {
        let bytes = self.state()?;
        let (path, part) = (kept_file(folder, id, self.description()), self.description().name.clone());
        write_whole(&path, &bytes)
            .map_err(|e| PartError { part, why: format!("cannot keep its state in `{}`: {e}", path.display()) })
    }

    /// Goes back to a state that was kept on disk.
    fn recover(&mut self, folder: &Path, id: &str) -> Result<(), PartError> {
        let (path, part) = (kept_file(folder, id, self.description()), self.description().name.clone());
        let bytes = std::fs::read(&path)
            .map_err(|e| PartError { part, why: format!("cannot read its state from `{}`: {e}", path.display()) })?;
        self.set_state(&bytes)
    }

    /// Whether the part answers, but has lost its state: only a checkpoint helps.
    fn forgot(&self) -> bool {
        false
    }

    /// What went to and fro, if the part is far away.
    fn traffic(&self) -> Option<Traffic> {
        None
    }
}

/// The file of a part in a checkpoint: names of parts may hold anything.
fn kept_file(folder: &Path, id: &str, of: &Description) -> std::path::PathBuf {
    let name: String = of.name.bytes().map(|b| format!("{b:02x}")).collect();
    folder.join(format!("{id}.{name}.part"))
}

/// Writes a file so that it is there whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = std::fs::File::create(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(aside, path)
}
