//! Where a part keeps the states of checkpoints.

use crate::locks::lock;
use bellcrank_glue::write_whole;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Keeps the states of a part; they never leave its machine.
pub trait StateStore: Send + Sync {
    /// Stores bytes under a name.
    fn write(&self, id: &str, bytes: &[u8]) -> std::io::Result<()>;
    /// The bytes stored under a name.
    fn read(&self, id: &str) -> std::io::Result<Vec<u8>>;
}

/// A folder with the newest states.
pub struct StateFolder {
    path: PathBuf,
    /// Limit of states; the oldest are removed first.
    most: usize,
    /// Held by whoever removes old states. Another server may do so at the same time in the same folder.
    clearing: Mutex<()>,
}

/// Extension of the files.
const STATE: &str = "state";

/// What a writer that was killed left behind is removed after this time.
const STALE: Duration = Duration::from_secs(600);

/// A stored state: when it was written, its number within the run, and its file.
type Stored = (SystemTime, u64, PathBuf);

impl StateFolder {
    /// A folder that keeps so many states.
    pub fn new(path: PathBuf, most: usize) -> StateFolder {
        StateFolder { path, most, clearing: Mutex::default() }
    }

    /// All states, the newest first. Two that were written within one tick of the file system's clock are told apart by their numbers.
    fn states(&self) -> std::io::Result<Vec<Stored>> {
        let mut all = Vec::new();
        for path in std::fs::read_dir(&self.path)?.flatten().map(|f| f.path()) {
            // a file may be gone by now
            let Some(written) = path.metadata().ok().and_then(|m| m.modified().ok()) else { continue };
            match path.extension().and_then(|e| e.to_str()) {
                Some(STATE) => all.push((written, split(&path).1, path)),
                Some("new") if written.elapsed().is_ok_and(|age| age > STALE) => remove(&path)?,
                _ => {}
            }
        }
        all.sort();
        all.reverse();
        Ok(all)
    }

    /// Removes old states: two of each run stay, for other parts may have failed to write the last one. What was just written stays.
    fn clear(&self, written: &Path) -> std::io::Result<()> {
        let _alone = lock(&self.clearing);
        let mut of_run: HashMap<String, usize> = HashMap::new();
        let mut kept = 0;
        for (_, _, file) in self.states()? {
            let count = of_run.entry(split(&file).0).or_default();
            *count += 1;
            if file != written && (*count > 2 || kept >= self.most.max(1)) {
                remove(&file)?;
            } else {
                kept += 1;
            }
        }
        Ok(())
    }
}

/// The run that a state belongs to, and its number.
fn split(file: &Path) -> (String, u64) {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let (run, number) = stem.rsplit_once('-').unwrap_or((&stem, ""));
    (run.to_string(), number.parse().unwrap_or(0))
}

/// Removes a file; that it is gone already is as good.
fn remove(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

impl StateStore for StateFolder {
    fn write(&self, id: &str, bytes: &[u8]) -> std::io::Result<()> {
        let file = self.path.join(format!("{id}.{STATE}"));
        write_whole(&file, bytes)?;
        self.clear(&file)
    }

    fn read(&self, id: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.path.join(format!("{id}.{STATE}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_folder_keeps_the_last_two_states_of_a_run_and_no_more_than_it_may() {
        let path = std::env::temp_dir().join(format!("bellcrank-states-{}", std::process::id()));
        let folder = StateFolder::new(path.clone(), 5);
        for run in ["a", "b", "c", "d"] {
            for window in 0..4 {
                folder.write(&format!("{run}-{window}"), &[window]).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let there = |id: &str| folder.read(id).is_ok();
        assert!(there("d-3") && there("d-2") && there("c-3") && there("c-2") && there("b-3"));
        assert!(!there("d-1") && !there("b-2") && !there("a-3"));
        std::fs::remove_dir_all(path).unwrap();
    }

    /// The clock of a file system has ticks of some milliseconds; the ninth state was taken for younger than the tenth.
    #[test]
    fn states_of_one_tick_are_told_apart_by_their_numbers() {
        let path = std::env::temp_dir().join(format!("bellcrank-ticks-{}", std::process::id()));
        let folder = StateFolder::new(path.clone(), 5);
        for window in 0..30 {
            folder.write(&format!("a-{window}"), &[window]).unwrap();
            assert!(folder.read(&format!("a-{window}")).is_ok());
            assert!(window == 0 || folder.read(&format!("a-{}", window - 1)).is_ok(), "{window}");
        }
        std::fs::remove_dir_all(path).unwrap();
    }
}
