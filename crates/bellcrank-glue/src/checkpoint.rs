//! Checkpoints: all parts keep their states every so many windows, each where it lives, so that a run goes on after a part,
//! a link or the coordinator itself was lost.

use crate::coordinator::Coordinator;
use crate::options::GlueError;
use std::path::PathBuf;

/// Where and when states are kept.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The folder of the coordinator: it holds the interface, and the parts that live here.
    pub folder: PathBuf,
    /// Windows between checkpoints.
    pub every: u64,
    /// What the names of states begin with: one word for this run alone.
    pub run: String,
}

/// So often in a row parts that lost their state are taken back to the same checkpoint.
const TRIES: usize = 5;

/// Sees a run go on.
pub trait Watch {
    /// A window was committed.
    fn window(&mut self, run: &mut Coordinator) -> Result<(), GlueError>;
    /// A checkpoint is about to be made: what to write into it.
    fn note(&mut self) -> Result<Vec<u64>, GlueError>;
    /// It was made: what was seen until now stays.
    fn kept(&mut self) -> Result<(), GlueError>;
    /// The run was taken back to a checkpoint, and what was seen since then is void.
    fn taken_back(&mut self, note: &[u64], why: &GlueError) -> Result<(), GlueError>;
}

impl Checkpoints {
    fn keep(&self, run: &mut Coordinator, watch: &mut dyn Watch, last: &mut String) -> Result<(), GlueError> {
        let id = format!("{}-{}", self.run, run.windows());
        let note = watch.note()?;
        run.keep(&self.folder, &id, &note)?;
        watch.kept()?;
        // the state before is needed no more, and one file too many hurts nobody
        let before = std::mem::replace(last, id);
        if let (false, Ok(files)) = (before.is_empty() || before == *last, std::fs::read_dir(&self.folder)) {
            let old = files.flatten().filter(|f| f.file_name().to_string_lossy().starts_with(&format!("{before}.")));
            old.for_each(|f| _ = std::fs::remove_file(f.path()));
        }
        Ok(())
    }

    /// Goes on until a time; parts that were started anew are taken back with all others to the last checkpoint.
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
            if last.is_empty() || tries > TRIES || !run.parts().iter().any(|p| p.forgot()) {
                return Err(why);
            }
            match run.recover(&self.folder) {
                Ok(note) => watch.taken_back(&note, &why)?,
                Err(e) => lost = Some(e),
            }
        }
    }
}
