//! A result folder in any state: finished, still being written, cut off, empty.

use crate::names::{CSV, PARQUET, PARQUET_PART, SCENE, SUMMARY, part};
use crate::table::Table;
use serde_json::{Value, json};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// A larger file was not written by this program.
const SCENE_BYTES: u64 = 1 << 30;
const SUMMARY_BYTES: u64 = 1 << 30;

/// While a running result grows by a group its footer is being replaced: reading is tried this often, this far apart.
const TRIES: usize = 6;
const PAUSE: Duration = Duration::from_millis(40);

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It ended well.
    Finished,
    /// It ended with an error; what was computed is there.
    Failed,
    /// The user stopped it; what was computed is there.
    Interrupted,
    /// It goes on.
    Running,
    /// It ended without a report, as when killed; what was written is there.
    Killed,
    /// There are frames but no summary.
    Unknown,
    /// The frames cannot be read.
    Damaged,
    /// There are no results.
    Missing,
}

impl State {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            State::Finished => "finished",
            State::Failed => "failed",
            State::Interrupted => "interrupted",
            State::Running => "running",
            State::Killed => "killed",
            State::Unknown => "unknown",
            State::Damaged => "damaged",
            State::Missing => "missing",
        }
    }
}

/// What was found in the folder at one time.
pub struct Snapshot {
    /// Counts the runs that were seen; a longer result of the same run keeps it.
    pub generation: u64,
    /// How the run stands.
    pub state: State,
    /// What the user should know, in a sentence or two; empty if all is well.
    pub message: String,
    /// `summary.json` without the final values, which are the last row; or null.
    pub summary: Value,
    /// The frames.
    pub table: Option<Table>,
    stamp: Stamp,
}

/// Changes when anything was written.
#[derive(PartialEq, Default, Clone)]
struct Stamp([Option<(u64, Option<SystemTime>)>; 3], bool);

/// A result folder that is watched.
pub struct Results {
    dir: PathBuf,
    now: Mutex<Arc<Snapshot>>,
}

impl Results {
    /// Looks into a folder, which must exist.
    pub fn open(dir: impl Into<PathBuf>) -> io::Result<Results> {
        let dir = dir.into();
        let what = fs::metadata(&dir).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                missing(format!("there is no folder {0}; a run makes it: bellcrank run MODEL --out {0}", dir.display()))
            }
            _ => io::Error::new(e.kind(), format!("cannot open {}: {e}", dir.display())),
        })?;
        if !what.is_dir() {
            let text = format!("{} is a file; name the folder that holds the results", dir.display());
            return Err(io::Error::new(ErrorKind::NotADirectory, text));
        }
        let now = look(&dir, None);
        Ok(Results { dir, now: Mutex::new(Arc::new(now)) })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What was found at the last look.
    pub fn now(&self) -> Arc<Snapshot> {
        self.now.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Looks again.
    pub fn refresh(&self) -> Arc<Snapshot> {
        let mut now = self.now.lock().unwrap_or_else(|e| e.into_inner());
        if stamp(&self.dir) != now.stamp {
            *now = Arc::new(look(&self.dir, Some(now.clone())));
        }
        now.clone()
    }

    /// The text of `scene.json`, or nothing if there is none.
    pub fn scene(&self) -> io::Result<Option<Vec<u8>>> {
        match bounded(&self.dir.join(SCENE), SCENE_BYTES) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }
}

impl Snapshot {
    /// Number of rows that can be read.
    pub fn rows(&self) -> usize {
        self.table.as_ref().map_or(0, Table::rows)
    }

    /// The answer to `/api/summary`.
    pub fn describe(&self, dir: &Path) -> Value {
        json!({
            "folder": dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy(),
            "generation": self.generation,
            "state": self.state.word(),
            "message": self.message,
            "rows": self.rows(),
            "summary": self.summary,
        })
    }
}

/// A summary with `null` for the final values: with a million channels these are a hundred megabytes.
fn brief(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 << 12);
    let (mut depth, mut quoted, mut escaped, mut skipping) = (0u32, None, false, false);
    let mut key: &[u8] = b"";
    for (k, c) in text.iter().enumerate() {
        match (quoted, *c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                quoted = None;
                if depth == 1 && !skipping {
                    key = &text[start + 1..k];
                }
            }
            (Some(_), _) => {}
            (None, b'"') => quoted = Some(k),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if skipping && (depth == 0 || depth == 1 && *c == b',' && quoted.is_none()) {
            skipping = false;
        }
        if !skipping {
            out.push(*c);
        }
        if *c == b':' && quoted.is_none() && depth == 1 && key == b"final" {
            out.extend(b"null");
            skipping = true;
            key = b"";
        }
    }
    out
}

fn missing(text: String) -> io::Error {
    io::Error::new(ErrorKind::NotFound, text)
}

fn bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("{} is too large", path.display())));
    }
    fs::read(path)
}

fn stamp(dir: &Path) -> Stamp {
    let one = |name| fs::metadata(dir.join(name)).ok().map(|m| (m.len(), m.modified().ok()));
    let files = [one(SUMMARY), one(PARQUET), one(PARQUET_PART)];
    let locked = files[2].is_some() && locked(&dir.join(PARQUET_PART));
    Stamp(files, locked)
}

/// Whether a run holds the file; a run that was killed holds nothing.
fn locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|f| matches!(f.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn look(dir: &Path, before: Option<Arc<Snapshot>>) -> Snapshot {
    let stamp = stamp(dir);
    let Stamp([_, whole, part], held) = &stamp;
    let text = bounded(&dir.join(SUMMARY), SUMMARY_BYTES);
    let summary = text.ok().and_then(|t| serde_json::from_slice(&brief(&t)).ok()).unwrap_or(Value::Null);
    let status = summary["status"].as_str();
    let name = match (status, whole.is_some(), part.is_some()) {
        (Some("running"), _, true) | (_, false, true) => Some(PARQUET_PART),
        (_, true, _) => Some(PARQUET),
        (_, false, false) => None,
    };
    let mut state = match (status, name) {
        (Some("running"), Some(PARQUET)) => State::Unknown, // the summary comes last
        (Some("running"), _) if *held => State::Running,
        (Some("running"), _) => State::Killed,
        (Some("finished"), _) => State::Finished,
        (Some("failed"), _) => State::Failed,
        (Some("interrupted"), _) => State::Interrupted,
        _ => State::Unknown,
    };
    let mut problem = None;
    let mut table = None;
    match name {
        None => state = State::Missing,
        Some(name) => match open(&dir.join(name), *held) {
            Ok(t) => table = Some(t),
            Err(e) => {
                state = State::Damaged;
                problem = Some((name, e));
            }
        },
    }
    let rows = table.as_ref().map_or(0, Table::rows);
    let message = message(dir, state, rows, problem, &summary);
    let same = |b: &Snapshot| match (&table, &b.table) {
        (Some(new), Some(old)) => new.continues(old),
        (None, None) => true,
        _ => false,
    };
    let generation = before.map_or(1, |b| b.generation + u64::from(!same(&b)));
    Snapshot { generation, state, message, summary, table, stamp }
}

fn open(path: &Path, written: bool) -> io::Result<Table> {
    let mut tries = if written { TRIES } else { 1 };
    loop {
        tries -= 1;
        match Table::open(path) {
            Err(_) if tries > 0 => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
}

fn message(dir: &Path, state: State, rows: usize, problem: Option<(&str, io::Error)>, summary: &Value) -> String {
    let error = ["error", "message", "reason"].iter().find_map(|k| summary[*k].as_str());
    let told = error.map_or(String::new(), |e| format!(": {e}"));
    let kept = if rows == 0 { "No frames were recorded" } else { "What was computed until then is shown" };
    match (state, problem) {
        (State::Damaged, Some((name, e))) => {
            let instead = if dir.join(CSV).exists() || dir.join(part(CSV)).exists() {
                "; the table beside it, results.csv, may still hold the frames"
            } else {
                ""
            };
            let why = match e.kind() {
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                    "it is damaged, or its end is missing (was it copied in full?)".to_string()
                }
                _ => e.to_string(),
            };
            format!("{name} cannot be read: {why}. Run the model again, or copy the file again{instead}.")
        }
        (State::Missing | State::Damaged, _) => {
            "There are no results in this folder. Run a model first: bellcrank run MODEL --out FOLDER.".to_string()
        }
        (State::Running, _) if rows == 0 => "The run has begun; its first frames are not written yet.".to_string(),
        (State::Running, _) => "The run goes on; frames are shown as they are written.".to_string(),
        (State::Killed, _) => format!("The run ended without finishing (was it killed?). {kept}."),
        (State::Failed, _) => format!("The run failed{told}. {kept}."),
        (State::Interrupted, _) => format!("The run was interrupted. {kept}."),
        (State::Unknown, _) => format!(
            "There is no complete summary.json, so how the run ended is not known. {}.",
            if rows == 0 { kept } else { "Its frames are shown" }
        ),
        (State::Finished, _) if rows == 0 => {
            "The run finished, but recorded no frames: is its sample distance longer than the run?".to_string()
        }
        (State::Finished, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_values_are_left_out_of_a_summary() {
        let whole = json!({"status": "finished", "a \"final\": [": 1, "energy": {"final": 3.5}, "final": {"x,}": [1, {"y": "]\\"}], "\"": 2}, "end": "}"});
        for text in [whole.to_string(), serde_json::to_string_pretty(&whole).unwrap_or_default()] {
            let mut want = whole.clone();
            want["final"] = Value::Null;
            assert_eq!(serde_json::from_slice::<Value>(&brief(text.as_bytes())).ok(), Some(want));
        }
        assert_eq!(serde_json::from_slice::<Value>(&brief(b"{\"final\": 1}")).ok(), Some(json!({"final": null})));
        for broken in ["", "{", "{\"final", "{\"final\":", "]]", "\"\\"] {
            assert!(serde_json::from_slice::<Value>(&brief(broken.as_bytes())).is_err(), "{broken}");
        }
    }
}
