//! A result folder in any state: finished, still being written, cut off, empty.

use crate::aside::{Rank, is_held};
use crate::journal;
use crate::names::{CSV, PARQUET, ROWS, SCENE, SUMMARY, UNFINISHED};
use crate::summary::{self, bounded};
use crate::table::Table;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// A larger file was not written by this program.
const SCENE_BYTES: u64 = 1 << 30;

/// A result that has just ended is being moved to its place: reading is tried this often, this far apart.
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
    /// The folder that they are in: that of the run in progress, or of the result that stands.
    pub place: PathBuf,
    stamp: Stamp,
}

/// Changes when anything was written.
#[derive(PartialEq, Default, Clone)]
struct Stamp([Option<(u64, Option<SystemTime>)>; 6], bool);

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

    /// How many bytes the scene has, or none if there is no scene.
    pub fn scene_bytes(&self) -> usize {
        std::fs::metadata(self.now().place.join(SCENE)).map_or(0, |m| m.len() as usize)
    }

    /// The text of `scene.json`, or nothing if there is none.
    pub fn scene(&self) -> io::Result<Option<Vec<u8>>> {
        match bounded(&self.now().place.join(SCENE), SCENE_BYTES) {
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

fn missing(text: String) -> io::Error {
    io::Error::new(ErrorKind::NotFound, text)
}

fn stamp(dir: &Path) -> Stamp {
    let aside = dir.join(UNFINISHED);
    let one = |path: PathBuf| fs::metadata(path).ok().map(|m| (m.len(), m.modified().ok()));
    let of = |folder: &Path| [SUMMARY, PARQUET, ROWS].map(|name| one(folder.join(name)));
    let ([a, b, c], [d, e, f]) = (of(dir), of(&aside));
    Stamp([a, b, c, d, e, f], is_held(&aside) || is_held(dir))
}

/// What a folder holds, by its summary and the names in it.
struct FolderContents {
    place: PathBuf,
    summary: Value,
    /// The file of the frames.
    frames: Option<PathBuf>,
    held: bool,
}

impl FolderContents {
    fn look(folder: &Path) -> FolderContents {
        let summary = summary::read(folder).unwrap_or(Value::Null);
        let (rows, columns) = (folder.join(ROWS), folder.join(PARQUET));
        // rows stay until the columns are complete
        let first = if summary["status"] == "running" { [rows, columns] } else { [columns, rows] };
        let frames = first.into_iter().find(|path| path.exists());
        FolderContents { place: folder.to_path_buf(), summary, frames, held: is_held(folder) }
    }

    /// How far a run came that has not ended, by its last row.
    fn came(&self) -> Option<Rank> {
        let table = Table::open(self.frames.as_ref()?).ok()?;
        let last = table.rows().checked_sub(1)?;
        Some(Rank::until(*table.read(&[0], last..last + 1).ok()?.first()?))
    }

    fn is_none(&self) -> bool {
        self.frames.is_none() && self.summary.is_null()
    }
}

/// The result to show, and what there is besides: a run that goes on before one that stands, and the better one of that and a
/// run that was killed, or whose files were being moved.
fn choose(dir: &Path) -> (FolderContents, String) {
    let (stands, aside) = (FolderContents::look(dir), FolderContents::look(&dir.join(UNFINISHED)));
    // after an interrupt rows alone wait there, for whoever resumes the run
    if aside.is_none() || aside.summary.is_null() && !stands.is_none() {
        return (stands, String::new());
    }
    if stands.is_none() || aside.held {
        // a run that is being put in its place has its summary here and its frames there
        let frames = aside.frames.clone().or_else(|| stands.frames.clone());
        return (FolderContents { frames, ..aside }, String::new());
    }
    let rank = Rank::of(&aside.summary).or_else(|| aside.came());
    if rank.is_some_and(|rank| rank.replaces(Rank::of(&stands.summary))) {
        let frames = aside.frames.clone().or_else(|| stands.frames.clone());
        return (FolderContents { frames, ..aside }, String::new());
    }
    let word = aside.summary["status"].as_str().filter(|word| *word != "running").unwrap_or("killed");
    let more = format!("A later run was {word}; its frames are in {}.", aside.place.display());
    (stands, more.replace("was failed", "failed"))
}

fn look(dir: &Path, before: Option<Arc<Snapshot>>) -> Snapshot {
    let mut tries = TRIES;
    let (found, more, opened, stamp) = loop {
        let stamp = stamp(dir);
        let (found, more) = choose(dir);
        let opened = found.frames.as_ref().map(|path| Table::open(path));
        tries -= 1;
        match opened {
            Some(Err(_)) if tries > 0 && found.held => std::thread::sleep(PAUSE),
            // it was moved in between
            Some(Err(e)) if tries > 0 && e.kind() == ErrorKind::NotFound => std::thread::sleep(PAUSE),
            opened => break (found, more, opened, stamp),
        }
    };
    let FolderContents { place, summary, frames, held } = found;
    let mut state = match summary["status"].as_str() {
        Some("running") if held => State::Running,
        Some("running" | "killed") => State::Killed,
        Some("finished") => State::Finished,
        Some("failed") => State::Failed,
        Some("interrupted") => State::Interrupted,
        _ => State::Unknown,
    };
    let mut problem = None;
    let mut table = None;
    match opened {
        None => state = State::Missing,
        Some(Ok(found)) => table = Some(found),
        // it was killed before it could say what its rows are
        Some(Err(_)) if frames.as_ref().is_some_and(|path| path.ends_with(ROWS) && journal::is_blank(path)) => {}
        Some(Err(e)) => {
            state = State::Damaged;
            let name = frames.as_ref().and_then(|path| path.file_name()).unwrap_or_default();
            problem = Some((name.to_string_lossy().into_owned(), e));
        }
    }
    let rows = table.as_ref().map_or(0, Table::rows);
    let told = message(&place, state, rows, problem, &summary);
    let message = [told, more].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    let same = |b: &Snapshot| match (&table, &b.table) {
        (Some(new), Some(old)) => new.continues(old),
        (None, None) => true,
        _ => false,
    };
    let generation = before.map_or(1, |b| b.generation + u64::from(!same(&b)));
    Snapshot { generation, state, message, summary, table, place, stamp }
}

fn message(dir: &Path, state: State, rows: usize, problem: Option<(String, io::Error)>, summary: &Value) -> String {
    let error = ["error", "message", "reason"].iter().find_map(|k| summary[*k].as_str());
    let told = error.map_or(String::new(), |e| format!(": {e}"));
    let kept = if rows == 0 { "No frames were recorded" } else { "The results so far are shown" };
    match (state, problem) {
        (State::Damaged, Some((name, e))) => {
            let instead = if dir.join(CSV).exists() {
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
        (State::Running, _) => "The run is in progress; frames appear as they are written.".to_string(),
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
