//! FMUs of others in processes of their own: started, asked, and stopped where they do not answer.
//!
//! The process is this program, or another one that knows `fmu-host`, at the other end of a socket. Whatever the FMU does to
//! it (it crashes, hangs, eats memory, prints), the run goes on to say so. The folder that the FMU was unpacked into is removed
//! with the guest; if this program is ended by force, the other process removes it.

use bellcrank_model::fmu::wire::{ExchangeStart, Handle, Setting, Start};
use bellcrank_model::fmu::{Archive, Description, ExchangeFacts};
use bellcrank_model::model::FmuEntry;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

#[cfg(unix)]
mod process;
pub(crate) mod resident;
#[cfg(unix)]
pub use process::Guest;

/// The argument that makes a program of Bellcrank the process of an FMU.
pub const ARGUMENT: &str = "fmu-host";

/// The variable of the environment that names the program.
pub const VARIABLE: &str = "BELLCRANK_FMU_HOST";

static HOST: RwLock<Option<Vec<OsString>>> = RwLock::new(None);

/// Names the command that runs an FMU: a program of Bellcrank with all its arguments, such as `["/usr/bin/bellcrank", "fmu-host"]`.
/// Without it, `bellcrank` is looked for where the system looks for programs; [`VARIABLE`] comes before both.
pub fn set_host(command: impl IntoIterator<Item = impl Into<OsString>>) {
    let command = command.into_iter().map(Into::into).collect();
    *HOST.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(command);
}

#[cfg_attr(not(unix), allow(dead_code))]
fn host() -> Vec<OsString> {
    if let Some(program) = std::env::var_os(VARIABLE).filter(|program| !program.is_empty()) {
        return vec![program, ARGUMENT.into()];
    }
    let named = HOST.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    named.filter(|command| !command.is_empty()).unwrap_or_else(|| vec!["bellcrank".into(), ARGUMENT.into()])
}

/// A folder that is removed when it is no longer needed.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("bellcrank-fmu-{}-{number}", std::process::id()));
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Folder(path)),
            }
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An FMU that is to run, and what is exchanged with it, by the numbers of its variables.
#[derive(Clone)]
pub struct GuestSetup {
    /// Its name in messages.
    pub name: String,
    /// Its file.
    pub archive: Arc<Archive>,
    /// What the file says of it.
    pub description: Arc<Description>,
    /// What it is given.
    pub inputs: Vec<usize>,
    /// What it tells.
    pub outputs: Vec<usize>,
    /// Values that are set before it starts.
    pub set: Vec<(usize, Setting)>,
    /// How long an answer may take, in s.
    pub patience: f64,
    /// How much memory it may take beyond that of its process, in bytes.
    pub memory: u64,
}

impl From<&FmuEntry> for GuestSetup {
    fn from(fmu: &FmuEntry) -> GuestSetup {
        GuestSetup {
            name: fmu.name.clone(),
            archive: fmu.archive.clone(),
            description: fmu.description.clone(),
            inputs: match &fmu.resident {
                Some(resident) => resident.given.iter().map(|(n, _)| *n).collect(),
                None => fmu.inputs.iter().map(|(n, _)| *n).collect(),
            },
            outputs: match &fmu.resident {
                Some(resident) => resident.outputs.iter().map(|o| o.variable).collect(),
                None => fmu.outputs.iter().map(|(n, _)| *n).collect(),
            },
            set: fmu.set.clone(),
            patience: fmu.patience,
            memory: fmu.memory,
        }
    }
}

/// What its process has to know of a model exchange.
fn exchange_start(description: &Description, facts: &ExchangeFacts) -> ExchangeStart {
    let states = || facts.states.iter().map(|s| s.variable.map(|v| description.variables[v].reference));
    let rates = || facts.states.iter().map(|s| s.derivative);
    let both = || Some([states().collect::<Option<_>>()?, rates().collect::<Option<_>>()?]);
    let directional = if facts.directional { both() } else { None };
    ExchangeStart { states: facts.states.len(), indicators: facts.indicators, directional }
}

/// What an FMU is told first, and the folder that it is unpacked into.
fn unpacked(fmu: &GuestSetup, given: &[f64], times: [f64; 2], tolerance: f64) -> Result<(Folder, Start), String> {
    let folder = Folder::new().map_err(|e| format!("cannot be unpacked: {e}"))?;
    let description = &fmu.description;
    fmu.archive.unpack(description.version, folder.path())?;
    let handle = |number: usize| {
        let variable = &description.variables[number];
        variable.of.map(|of| Handle { of, reference: variable.reference })
    };
    let start = Start {
        version: description.version,
        name: fmu.name.clone(),
        token: description.token.clone(),
        folder: folder.path().to_path_buf(),
        library: folder.path().join(&description.library),
        memory: fmu.memory,
        exchange: description.exchange.as_ref().map(|facts| exchange_start(description, facts)),
        set: fmu.set.iter().filter_map(|(n, value)| Some((handle(*n)?, value.clone()))).collect(),
        inputs: fmu.inputs.iter().filter_map(|n| handle(*n)).collect(),
        outputs: fmu.outputs.iter().filter_map(|n| handle(*n)).collect(),
        given: given.to_vec(),
        times,
        tolerance,
    };
    Ok((folder, start))
}

/// No guest: there are no sockets of this kind.
#[cfg(not(unix))]
pub struct Guest(std::convert::Infallible);

#[cfg(not(unix))]
#[allow(missing_docs)]
impl Guest {
    pub fn start(
        fmu: &GuestSetup,
        given: &[f64],
        times: [f64; 2],
        tolerance: f64,
    ) -> Result<(Guest, Vec<f64>), String> {
        unpacked(fmu, given, times, tolerance)?;
        Err("cannot run on this system: FMUs of others run on Linux and macOS".into())
    }
    pub fn step(&mut self, _: f64, _: f64, _: &[f64]) -> Result<Vec<f64>, String> {
        match self.0 {}
    }
    pub fn save(&mut self) -> Result<Vec<u8>, String> {
        match self.0 {}
    }
    pub fn look(&mut self, _: &[f64]) -> Result<Vec<f64>, String> {
        match self.0 {}
    }
    pub fn restore(&mut self, _: &[u8], _: &[f64]) -> Result<(), String> {
        match self.0 {}
    }
    pub fn keep(&mut self) -> Result<(), String> {
        match self.0 {}
    }
    pub fn cross(&mut self, _: f64, _: f64, _: &[f64], _: bool) -> Result<Vec<f64>, String> {
        match self.0 {}
    }
    pub fn numbers(&mut self, _: &bellcrank_model::fmu::wire::Request, _: &str) -> Result<Vec<f64>, String> {
        match self.0 {}
    }
}
