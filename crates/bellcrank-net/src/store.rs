//! Where a part keeps the states of checkpoints.

use bellcrank_glue::write_whole;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Keeps the states of a part; they never leave its machine.
pub trait StateStore: Send + Sync {
    /// Stores bytes under a name.
    fn write(&self, id: &str, bytes: &[u8]) -> std::io::Result<()>;
    /// The bytes stored under a name.
    fn read(&self, id: &str) -> std::io::Result<Vec<u8>>;
}

/// A folder with the newest states.
pub struct StateFolder {
    /// The folder.
    pub path: PathBuf,
    /// Limit of states; the oldest are removed first.
    pub most: usize,
}

/// Extension of the files.
const STATE: &str = "state";

impl StateStore for StateFolder {
    fn write(&self, id: &str, bytes: &[u8]) -> std::io::Result<()> {
        write_whole(&self.path.join(format!("{id}.{STATE}")), bytes)?;
        let files = std::fs::read_dir(&self.path)?.flatten().map(|f| f.path());
        let mut files: Vec<_> = files
            .filter(|f| f.extension().is_some_and(|e| e == STATE))
            .filter_map(|f| Some((f.metadata().ok()?.modified().ok()?, f)))
            .collect();
        files.sort();
        files.reverse();
        // two states of each run: other parts may have failed to write the last one
        let run = |f: &Path| {
            let stem = f.file_stem().unwrap_or_default().to_string_lossy();
            stem.rsplit_once('-').map_or(stem.to_string(), |(run, _)| run.to_string())
        };
        let mut of_run: HashMap<String, usize> = HashMap::new();
        let mut kept = 0;
        for (_, file) in &files {
            let count = of_run.entry(run(file)).or_default();
            *count += 1;
            if *count > 2 || kept == self.most.max(1) {
                std::fs::remove_file(file)?;
            } else {
                kept += 1;
            }
        }
        Ok(())
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
        let folder = StateFolder { path: path.clone(), most: 5 };
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
}
