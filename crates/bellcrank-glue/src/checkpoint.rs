//! Checkpoints: at regular intervals all parts write their states, each where it lives, so that a run survives the loss of a
//! part, of a link or of the coordinator itself.

use crate::coordinator::Coordinator;
use crate::options::GlueError;
use std::path::PathBuf;

/// Where and when checkpoints are written.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The folder of the coordinator: it holds the interface, and the parts that live here.
    pub folder: PathBuf,
    /// Windows between checkpoints.
    pub every: u64,
    /// Prefix of the names of states, unique to this run.
    pub run: String,
    /// What the parts are, for whoever resumes the run: kept beside the states in [`PARTS_FILE`].
    pub parts: String,
}

/// The file that says what the parts were when the run was begun.
pub const PARTS_FILE: &str = "parts.json";

/// A run is taken back to the same checkpoint at most this many times in a row.
const MAX_TRIES: usize = 5;

/// Follows a run with checkpoints.
pub trait Watch {
    /// A window was committed.
    fn window(&mut self, run: &mut Coordinator) -> Result<(), GlueError>;
    /// A checkpoint is about to be written: the note to put into it.
    fn note(&mut self) -> Result<Vec<u64>, GlueError>;
    /// It was written: all windows so far are final.
    fn kept(&mut self) -> Result<(), GlueError>;
    /// The run was taken back to the last checkpoint: later windows are void.
    fn taken_back(&mut self, note: &[u64], why: &GlueError) -> Result<(), GlueError>;
}

impl Checkpoints {
    fn keep(&self, run: &mut Coordinator, watch: &mut dyn Watch, last: &mut String) -> Result<(), GlueError> {
        let id = format!("{}-{}", self.run, run.windows());
        let note = watch.note()?;
        run.keep(&self.folder, &id, &note)?;
        watch.kept()?;
        // the checkpoint before is no longer needed; a file that cannot be removed does no harm
        let before = std::mem::replace(last, id);
        if let (false, Ok(files)) = (before.is_empty() || before == *last, std::fs::read_dir(&self.folder)) {
            let old = files.flatten().filter(|f| f.file_name().to_string_lossy().starts_with(&format!("{before}.")));
            old.for_each(|f| _ = std::fs::remove_file(f.path()));
        }
        Ok(())
    }

    /// Goes on until a time. When a part was restarted, all of them are taken back to the last checkpoint.
    pub fn run(&self, run: &mut Coordinator, until: f64, watch: &mut dyn Watch) -> Result<(), GlueError> {
        let (mut last, mut tries) = (String::new(), 0);
        let mut lost = self.keep(run, watch, &mut last).err();
        loop {
            let ended = match lost.take() {
                Some(e) => Err(e),
                None => run.run(until, &mut |run| {
                    watch.window(run)?;
                    if run.windows() % self.every.max(1) == 0 {
                        self.keep(run, watch, &mut last)?;
                        tries = 0;
                    }
                    Ok(())
                }),
            };
            let Err(why) = ended else { return Ok(()) };
            tries += 1;
            if last.is_empty() || tries > MAX_TRIES || !run.parts().iter().any(|p| p.forgot()) {
                return Err(why);
            }
            match run.recover(&self.folder) {
                Ok(note) => watch.taken_back(&note, &why)?,
                Err(e) => lost = Some(e),
            }
        }
    }
}
