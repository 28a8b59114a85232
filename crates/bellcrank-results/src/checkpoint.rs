//! What a run leaves so that it can go on after it was killed.
//!
//! A file beside the rows: what the run remembered, how many rows there were, and what the run was of. It is replaced in one go,
//! after the rows it knows of are on the disk; it has a version and a checksum.

use crate::PROGRAM;
use bellcrank_model::snapshot;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The name of checkpoints among stored states.
const KIND: &str = "checkpoint of a run";

/// What a run is of: names and values, such as `rtol` and `1e-6`. A run resumes only what it is itself.
pub type About = Vec<(String, String)>;

/// The names of files that a run reads begin so; their values are what tells one content from another.
pub const FILE: &str = "file ";

/// What is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    program: String,
    about: About,
    pub(crate) rows: u64,
    /// The lines of `events.csv`.
    pub(crate) events: String,
    pub(crate) remembered: Vec<u8>,
}

impl Checkpoint {
    pub(crate) fn new(about: &About, rows: u64, events: &str, remembered: &[u8]) -> Checkpoint {
        let (about, events, remembered) = (about.clone(), events.to_string(), remembered.to_vec());
        Checkpoint { program: PROGRAM.into(), about, rows, events, remembered }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        snapshot::encode(KIND, self)
    }

    /// What was stored, or what is wrong with it; the text continues a sentence that names the file.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Checkpoint, String> {
        let found: Checkpoint = snapshot::decode(KIND, bytes).map_err(|e| e.to_string())?;
        match found.program == PROGRAM {
            true => Ok(found),
            false => Err(format!("is of {}; this is {PROGRAM}, which continues none but its own runs", found.program)),
        }
    }

    /// What is not as it was, by name.
    pub(crate) fn differs(&self, about: &About) -> Option<String> {
        let value = |of: &About, name: &str| of.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        let names = self.about.iter().chain(about).map(|(name, _)| name.as_str());
        let name = names.into_iter().find(|name| value(&self.about, name) != value(about, name))?;
        let told = |value: Option<String>| value.unwrap_or_else(|| "not given".into());
        Some(match name {
            "model" => "the model has changed since the run began".into(),
            _ if name.starts_with(FILE) => {
                let file = name.trim_start_matches(FILE);
                format!("the file `{file}`, which the model reads, has changed since the run began")
            }
            _ => format!("{name} was {} and is {}", told(value(&self.about, name)), told(value(about, name))),
        })
    }
}

/// When checkpoints are taken, and of what.
pub(crate) struct Schedule {
    pub(crate) every: Duration,
    pub(crate) about: About,
    last: Instant,
    /// Why none can be taken.
    pub(crate) impossible: Option<&'static str>,
    pub(crate) taken: bool,
}

impl Schedule {
    pub(crate) fn new(every: Duration, about: About) -> Schedule {
        Schedule { every, about, last: Instant::now(), impossible: None, taken: false }
    }

    pub(crate) fn is_due(&self, last: bool) -> bool {
        self.impossible.is_none() && (last || self.last.elapsed() >= self.every)
    }

    pub(crate) fn took(&mut self) {
        (self.last, self.taken) = (Instant::now(), true);
    }
}
