//! FMUs of other tools, as files: the archive, what its description says, and what is said to the process that runs it.
//!
//! Sources: FMI 2.0.4 and FMI 3.0.2, <https://fmi-standard.org>.

mod archive;
mod description;
pub mod wire;

pub use archive::Archive;
pub use description::{Causality, Description, Type, Variable};

use crate::model::Output;
use std::sync::Arc;

/// A version of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Version {
    /// FMI 2.0.
    Two,
    /// FMI 3.0.
    Three,
}

/// The folder of libraries for the machine that this was compiled for.
pub fn platform(version: Version) -> String {
    let (architecture, system) = (std::env::consts::ARCH, std::env::consts::OS);
    let system = if system == "macos" { "darwin" } else { system };
    match (version, architecture, system) {
        (Version::Two, "x86_64", "linux") => "linux64".into(),
        (Version::Two, "x86_64", "windows") => "win64".into(),
        (Version::Two, _, "darwin") => "darwin64".into(),
        _ => format!("{architecture}-{system}"),
    }
}

/// An FMU as an element of a model: it is given values of expressions and gives values of inputs, at equal distances in time.
#[derive(Clone)]
pub struct FmuEntry {
    /// The user's name.
    pub name: String,
    /// Its file.
    pub archive: Arc<Archive>,
    /// What the file says of it.
    pub description: Arc<Description>,
    /// The communication step, in s.
    pub step: f64,
    /// What it is given, by the numbers of its variables.
    pub inputs: Vec<(usize, Output)>,
    /// What it gives: the number of its variable, and that of the input of the model that has its value.
    pub outputs: Vec<(usize, usize)>,
    /// Values that are set before it starts, by the numbers of its variables.
    pub set: Vec<(usize, wire::Setting)>,
    /// How long an answer may take, in s.
    pub patience: f64,
    /// How much memory it may take beyond that of its process, in bytes.
    pub memory: u64,
}
