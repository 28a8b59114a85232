//! A glued run from its start to its end: frames for a recorder, checkpoints, a summary.

use crate::checkpoint::{Checkpoints, PARTS_FILE, Watch};
use crate::coordinator::{Coordinator, INTERFACE_FILE};
use crate::options::{GlueError, GluedRunError};
use crate::sampling::Sampling;
use crate::summary::{GluedStatus, GluedSummary};
use bellcrank_solve::record::{Header, Recorder};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The file of frames in the folder of checkpoints.
const FRAMES_FILE: &str = "frames";

/// Parts that run together, with a recorder that watches.
pub struct GluedSimulation {
    name: String,
    coordinator: Coordinator,
    until: f64,
    sample: Option<f64>,
    /// Whether whoever records chooses among all windows.
    all: bool,
    /// Whether the names of channels begin with that of their part.
    named: bool,
    checkpoints: Option<Checkpoints>,
    resume: bool,
}

impl From<GlueError> for GluedRunError {
    fn from(e: GlueError) -> GluedRunError {
        GluedRunError::Glue(e)
    }
}

impl From<io::Error> for GluedRunError {
    fn from(e: io::Error) -> GluedRunError {
        GluedRunError::Record(e.to_string())
    }
}

/// Follows a glued run, for people.
pub trait GluedProgress {
    /// A window was committed.
    fn window(&mut self, run: &Coordinator) {
        let _ = run;
    }
    /// The run goes on from a checkpoint.
    fn resumed(&mut self, run: &Coordinator) {
        let _ = run;
    }
    /// All parts were taken back to the last checkpoint.
    fn taken_back(&mut self, why: &GlueError) {
        let _ = why;
    }
}

/// Nobody follows.
impl GluedProgress for () {}

impl GluedSimulation {
    /// A run up to a time. It records the end of every window, thinned as the rows of other runs are; with `sample`, the first one after
    /// every multiple of it.
    pub fn new(name: &str, coordinator: Coordinator, until: f64, sample: Option<f64>) -> GluedSimulation {
        let name = name.to_string();
        GluedSimulation { name, coordinator, until, sample, all: false, named: true, checkpoints: None, resume: false }
    }

    /// The same with the end of every window.
    pub(crate) fn all(name: &str, coordinator: Coordinator, until: f64) -> GluedSimulation {
        GluedSimulation { all: true, ..GluedSimulation::new(name, coordinator, until, None) }
    }

    /// With the names of channels as the parts have them, for parts that were cut from one model.
    pub fn with_plain_names(self) -> GluedSimulation {
        GluedSimulation { named: false, ..self }
    }

    /// With checkpoints; `resume` goes on from the last one.
    pub fn with_checkpoints(self, checkpoints: Checkpoints, resume: bool) -> GluedSimulation {
        GluedSimulation { checkpoints: Some(checkpoints), resume, ..self }
    }

    /// The parts and their interface.
    pub fn coordinator(&mut self) -> &mut Coordinator {
        &mut self.coordinator
    }

    /// What a recorder is told before the first frame.
    pub fn header(&self) -> Header {
        Header { model: self.name.clone(), channels: self.coordinator.channels(self.named) }
    }

    /// Runs to the end. The recorder gets its header and all frames, also those before a failure; its `end` is left to the
    /// caller, with the summary that is returned.
    pub fn run(&mut self, out: &mut dyn Recorder, progress: &mut dyn GluedProgress) -> GluedSummary {
        let status = match self.try_run(out, progress) {
            Ok(()) => GluedStatus::Finished,
            Err(e) => GluedStatus::Failed(e),
        };
        GluedSummary::of(&self.coordinator, &self.name, status)
    }

    fn try_run(&mut self, out: &mut dyn Recorder, progress: &mut dyn GluedProgress) -> Result<(), GluedRunError> {
        let header = self.header();
        let note = match (self.resume, &self.checkpoints) {
            (true, Some(kept)) => Some(self.coordinator.recover(&kept.folder)?),
            _ => None,
        };
        // the folder of results takes no other files before it has its own
        out.begin(&header)?;
        let file = match &self.checkpoints {
            Some(kept) => Some(frames_file(kept, self.resume)?),
            None => None,
        };
        let sampling = match self.all {
            true => Sampling::All,
            false => Sampling::new(self.until, self.sample, header.channels.len()),
        };
        let width = 1 + header.channels.len();
        let mut frames = PendingFrames { out, progress, file, waiting: Vec::new(), recorded: 0, width, sampling };
        match note {
            Some(note) => {
                frames.replay(&note)?;
                frames.progress.resumed(&self.coordinator);
            }
            None => frames.observe(&mut self.coordinator)?,
        }
        let ended = match &self.checkpoints {
            Some(kept) => kept.run(&mut self.coordinator, self.until, &mut frames),
            None => self.coordinator.run(self.until, &mut |run| frames.window(run)),
        };
        let written = frames.finish();
        ended?;
        Ok(written?)
    }
}

fn frames_file(kept: &Checkpoints, resume: bool) -> io::Result<File> {
    std::fs::create_dir_all(&kept.folder)?;
    if !resume {
        // without this file the states of an earlier run are none of this one
        let _ = std::fs::remove_file(kept.folder.join(INTERFACE_FILE));
        std::fs::write(kept.folder.join(PARTS_FILE), &kept.parts)?;
    }
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(!resume).open(kept.folder.join(FRAMES_FILE))
}

/// Frames on their way to the recorder: with checkpoints, those since the last one can still be taken back.
struct PendingFrames<'a> {
    out: &'a mut dyn Recorder,
    progress: &'a mut dyn GluedProgress,
    /// The frames of the run so far, for whoever resumes it; none without checkpoints.
    file: Option<File>,
    /// The time and values of frames that are not recorded yet.
    waiting: Vec<f64>,
    /// Number of recorded frames.
    recorded: u64,
    /// Numbers of a frame.
    width: usize,
    sampling: Sampling,
}

fn unfit() -> io::Error {
    io::Error::other("the checkpoint and its file of frames do not belong together")
}

fn broken(e: io::Error) -> GlueError {
    GlueError::Unfit(format!("cannot write results: {e}"))
}

impl PendingFrames<'_> {
    fn observe(&mut self, run: &mut Coordinator) -> Result<(), GlueError> {
        let (t, values) = (run.time(), run.observe()?);
        self.sampling.add(t, &values, &mut self.waiting);
        // without checkpoints nothing is ever taken back
        if self.file.is_none() { self.record().map_err(broken) } else { Ok(()) }
    }

    /// Records all that waits, at the end of the run or of what was computed of it.
    fn finish(&mut self) -> io::Result<()> {
        self.sampling.finish(&mut self.waiting);
        self.record()
    }

    /// Gives all waiting frames to the recorder.
    fn record(&mut self) -> io::Result<()> {
        for frame in self.waiting.chunks_exact(self.width) {
            self.out.frame(frame[0], &frame[1..])?;
        }
        self.recorded += (self.waiting.len() / self.width) as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Records the frames of a run up to its checkpoint.
    fn replay(&mut self, note: &[u64]) -> io::Result<()> {
        let (Some((&count, sampling)), Some(file)) = (note.split_first(), &mut self.file) else { return Err(unfit()) };
        let size =
            count.checked_mul(8 * self.width as u64).filter(|size| file.metadata().is_ok_and(|m| *size <= m.len()));
        let mut bytes = vec![0; size.ok_or_else(unfit)? as usize];
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut bytes)?;
        self.waiting = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        if !self.sampling.go_back(sampling) {
            return Err(unfit());
        }
        self.record()
    }

    /// Appends the waiting frames to the file.
    fn write(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let bytes: Vec<u8> = self.waiting.iter().flat_map(|x| x.to_le_bytes()).collect();
        let at = 8 * self.width as u64 * self.recorded;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&bytes)?;
        file.set_len(at + bytes.len() as u64)
    }
}

impl Watch for PendingFrames<'_> {
    fn window(&mut self, run: &mut Coordinator) -> Result<(), GlueError> {
        if self.sampling.is_due(run.time()) {
            self.observe(run)?;
        }
        self.progress.window(run);
        Ok(())
    }

    fn note(&mut self) -> Result<Vec<u64>, GlueError> {
        self.write().map_err(broken)?;
        let count = self.recorded + (self.waiting.len() / self.width) as u64;
        Ok(std::iter::once(count).chain(self.sampling.note()).collect())
    }

    fn kept(&mut self) -> Result<(), GlueError> {
        self.record().map_err(broken)
    }

    fn taken_back(&mut self, note: &[u64], why: &GlueError) -> Result<(), GlueError> {
        self.waiting.clear();
        if !note.split_first().is_some_and(|(_, sampling)| self.sampling.go_back(sampling)) {
            return Err(broken(unfit()));
        }
        self.progress.taken_back(why);
        Ok(())
    }
}
