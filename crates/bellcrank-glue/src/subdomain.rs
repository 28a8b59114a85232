//! What the coordinator sees of a part: nothing but its ports.

use crate::port::PortMotion;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::{Break, Channel};
use bellcrank_model::model::Space;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// An interval of time that all parts cross together.
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
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
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
    /// That of accelerations, as `begin` returns it: the other three are zero.
    pub fn of_accelerations(place: Matrix) -> Admittance {
        let none = Matrix::zeros(place.rows, place.columns);
        Admittance { place, velocity: none.clone(), place_by_shift: none.clone(), velocity_by_shift: none }
    }
}

/// The answer of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartResponse {
    /// The motion of each port.
    pub ports: Vec<PortMotion>,
    /// How the motion follows the loads, if it was asked for and the part knows.
    pub admittance: Option<Admittance>,
    /// The estimated error of the window, as a fraction of the machine's size; zero if the part controls its own errors.
    pub error: f64,
    /// Whether something fast died out within the window, which is the first of a run.
    pub rough: bool,
}

/// One correction of the trial of a window, as in [Tseng & Hulbert 2001], section 3: each is one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// The trial begins: one step of Newmark's law with the acceleration at the start of the window.
    Predict,
    /// GL-DYN: Δâ, the response of the part's own tangent K̄ to what is out of balance under the loads; nothing moves yet.
    Dynamics,
    /// GL-ACC: accelerations take Δâ and the response to the loads (of M by Gauss's principle, of P∥ by the naive projection), and that
    /// of K̄ to loads in the place of the shifts; positions and velocities follow by Newmark's law.
    Acceleration,
    /// GL-POS and GL-VEL: positions take the response of P∥ to the shifts, velocities that to the loads.
    Position,
}

/// The answer of a part to a correction.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrected {
    /// The motion of the ports. But for [`Correction::Dynamics`] it comes with an admittance, whose `place` is ∂(acceleration)/∂(load) by
    /// M, `velocity` the same by K̄, and `place_by_shift` that by P∥; its `error` is what the loads of no port can bring into balance, as
    /// an acceleration.
    pub response: PartResponse,
    /// The loads of the ports that would bring the part into balance; none for [`Correction::Dynamics`].
    pub imbalance: Vec<f64>,
}

/// Why a part could not do what it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PartError {
    /// The part.
    pub part: String,
    /// The reason, in the words of the part.
    pub why: String,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part `{}`: {}", self.part, self.why)
    }
}

impl std::error::Error for PartError {}

/// The next call of a part, with all arguments.
pub enum Upcoming<'a> {
    /// [`Subdomain::begin`].
    Begin(&'a [f64]),
    /// [`Subdomain::attempt`].
    Attempt(&'a Window, &'a [f64], &'a [f64], bool),
    /// [`Subdomain::correct`].
    Correct(&'a Window, Correction, &'a [f64], &'a [f64]),
    /// [`Subdomain::observe`].
    Observe,
}

/// Messages between the coordinator and a remote part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Where the part is.
    pub address: String,
    /// Requests that were answered.
    pub round_trips: u64,
    /// Requests that were repeated because no answer came in time.
    pub repeated: u64,
    /// Connections, the first one included.
    pub links: u64,
    /// Bytes sent and received.
    pub bytes: [u64; 2],
    /// Seconds between requests and their answers.
    pub waiting: f64,
    /// Seconds of work by the part's own clock.
    pub working: f64,
}

/// A part with its own model and its own solver. Every call may be repeated: it starts from the last commit.
pub trait Subdomain: Send {
    /// What it is.
    fn description(&self) -> &Description;

    /// Whether it can try a window again. One that cannot crosses each window once.
    fn goes_back(&self) -> bool {
        true
    }

    /// Whether `begin` tells accelerations.
    fn accelerates(&self) -> bool {
        true
    }

    /// The motion at the committed time under these loads (six numbers per port, in the world), with
    /// ∂(acceleration)/∂(load) = B M̂⁻¹Bᵀ, condensed over the part's own constraints, as the `place` of an
    /// admittance if the part can tell it.
    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError>;

    /// Tries a window. In step, the loads act at its end, and the shifts σ move positions: T q̇ = v + M̂⁻¹Bᵀσ.
    /// With a solver of its own, a part holds the loads over the window and has no shifts.
    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        shifts: &[f64],
        admittance: bool,
    ) -> Result<PartResponse, PartError>;

    /// Corrects the trial of a window, where parts are glued by Gauss's principle.
    fn correct(
        &mut self,
        window: &Window,
        step: Correction,
        loads: &[f64],
        shifts: &[f64],
    ) -> Result<Corrected, PartError> {
        let _ = (window, step, loads, shifts);
        Err(PartError {
            part: self.description().name.clone(),
            why: "cannot correct the trial of a window\nhelp: use another coupling".into(),
        })
    }

    /// The time that a window of some length from the committed time must not pass: the end of the run, or the next breakpoint of a
    /// function of time in the part. Parts elsewhere do not tell theirs.
    fn stop(&mut self, until: f64, length: f64) -> f64 {
        let _ = length;
        until
    }

    /// The breakpoint that the committed time has come to; it is told once.
    fn due(&mut self, until: f64) -> Option<Break> {
        let _ = until;
        None
    }

    /// Whether accelerations jump from the committed time to one behind a breakpoint, under the last loads.
    fn jumps(&mut self, after: f64) -> Result<bool, PartError> {
        let _ = after;
        Ok(false)
    }

    /// Goes over to a time behind a breakpoint, in no time; the method begins anew there where something jumps in the machine.
    fn pass(&mut self, after: f64, anew: bool) -> Result<(), PartError> {
        let _ = (after, anew);
        Ok(())
    }

    /// Announces the next call, so that remote parts work at the same time.
    fn announce(&mut self, next: &Upcoming) {
        let _ = next;
    }

    /// Asks for a damped start: the first windows are taken with enough damping to forget fast transients.
    fn soften(&mut self) -> Result<(), PartError> {
        Ok(())
    }

    /// Gives up an attempt soon after the flag is set; nothing is committed by that, and the attempt may be repeated.
    fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        let _ = flag;
    }

    /// Commits the last attempt, or the trial as it was corrected.
    fn commit(&mut self) -> Result<(), PartError>;

    /// Keeps the committed state in memory, in place of the one kept before.
    fn save(&mut self) -> Result<(), PartError>;

    /// Goes back to the state in memory.
    fn restore(&mut self) -> Result<(), PartError>;

    /// The channels of the part. Parts that reveal nothing have none.
    fn channels(&self) -> Vec<Channel> {
        Vec::new()
    }

    /// Appends the values of all channels at the committed time.
    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        let _ = out;
        Ok(())
    }

    /// The committed state as bytes, to be stored where the part lives.
    fn state(&mut self) -> Result<Vec<u8>, PartError> {
        Err(PartError { part: self.description().name.clone(), why: "cannot write its state".into() })
    }

    /// Commits a state that a part of the same model and solver wrote.
    fn set_state(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        let _ = bytes;
        Err(PartError { part: self.description().name.clone(), why: "cannot read a stored state".into() })
    }

    /// Writes the committed state where the part lives; for a part in this program that is the folder of the run.
    fn keep(&mut self, folder: &Path, id: &str) -> Result<(), PartError> {
        let bytes = self.state()?;
        let (path, part) = (state_file(folder, id, self.description()), self.description().name.clone());
        write_whole(&path, &bytes)
            .map_err(|e| PartError { part, why: format!("cannot keep its state in `{}`: {e}", path.display()) })
    }

    /// Goes back to a state that was written.
    fn recover(&mut self, folder: &Path, id: &str) -> Result<(), PartError> {
        let (path, part) = (state_file(folder, id, self.description()), self.description().name.clone());
        let bytes = std::fs::read(&path)
            .map_err(|e| PartError { part, why: format!("cannot read its state from `{}`: {e}", path.display()) })?;
        self.set_state(&bytes)
    }

    /// Whether the part answers but has lost its state, so that only a checkpoint helps.
    fn forgot(&self) -> bool {
        false
    }

    /// Messages so far, if the part is remote.
    fn traffic(&self) -> Option<Traffic> {
        None
    }
}

/// The file of a part in a checkpoint; names of parts may hold any character, so they are spelled in hexadecimal.
fn state_file(folder: &Path, id: &str, of: &Description) -> std::path::PathBuf {
    let name: String = of.name.bytes().map(|b| format!("{b:02x}")).collect();
    folder.join(format!("{id}.{name}.part"))
}

/// Writes a file atomically: under another name first, which no other writer has, then renamed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}-{}.new", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let write = || {
        let mut file = std::fs::File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&aside, path)
    };
    write().inspect_err(|_| _ = std::fs::remove_file(&aside))
}
