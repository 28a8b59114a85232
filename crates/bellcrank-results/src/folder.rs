//! A result folder: `results.parquet`, `results.csv` and `summary.json`; `events.csv` where there were any, `scene.json` for the
//! viewer and `end.state` for runs that begin where this one ended.
//!
//! While a run goes on its frames are in `unfinished/results.rows`, and as text in `unfinished/results.csv`: both only grow, and
//! can be read at any moment. They are handed to the system every second, so that a run which is killed loses no more. At the
//! end the rows become a Parquet file, the disk is waited for, and the files are put in their place (`aside.rs`). A result in
//! its place is complete. `status` in `summary.json` is `running`, then `finished`, `failed` or `interrupted`; that of a run
//! which was killed becomes `killed` when the next one begins.

use crate::aside::{self, Aside, Rank, explain};
use crate::checkpoint::{About, Checkpoint, Schedule};
use crate::journal::{Journal, Rows};
use crate::json::{self, FinalValues};
use crate::names::{CHECKPOINT, CSV, END_STATE, EVENTS, PARQUET, ROWS, SCENE, SUMMARY, UNFINISHED, part};
use crate::{Csv, PROGRAM, parquet, summary};
use bellcrank_model::{System, scene};
use bellcrank_solve::Summary;
use bellcrank_solve::begin::EndState;
use bellcrank_solve::events::Event;
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::{Ended, Header, Recorder, RunReport};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A table with more columns than this cannot be opened in a spreadsheet (most stop at 16384).
const CSV_CHANNELS: usize = 20_000;

/// What was recorded is handed to the system after this time: a killed run loses no more.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// Rows are handed over again in blocks of about this many bytes.
const REPLAYED: usize = 1 << 20;

/// Writes a folder with all results of a run.
pub struct Folder {
    dir: PathBuf,
    /// Writes what the viewer draws, if anything.
    scene: Option<Scene>,
    /// The model whose end is written, if there is one.
    system: Option<Arc<System>>,
    writing: Option<Writing>,
    checkpoints: Option<Schedule>,
    /// What the run goes on from, with the folder it holds.
    resumes: Option<(Checkpoint, Aside)>,
    /// Whether the last result stayed in `unfinished`.
    stayed: bool,
    /// Further files of the result, which are written at its end.
    more: Vec<(&'static str, String)>,
}

/// Writes a scene.
type Scene = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + Send>;

/// Files of a run that goes on.
struct Opened {
    rows: Journal,
    csv: Option<Csv<File>>,
    events: Option<File>,
    /// What the summary says while the run goes on.
    head: Map<String, Value>,
    notes: Vec<String>,
}

/// Those of them beside the rows.
struct Beside {
    csv: Option<Csv<File>>,
    head: Map<String, Value>,
    notes: Vec<String>,
}

/// A run that goes on.
struct Writing {
    aside: Aside,
    files: Opened,
    /// Lines of `events.csv` that are not in it yet, and all of them where checkpoints are taken.
    lines: String,
    all: String,
    /// Why `results.csv` is not written any more.
    failed: Option<&'static str>,
    /// Whether something waits, and since when.
    waits: Option<Instant>,
}

impl Folder {
    /// Results will go to `dir`, which is created when the run begins.
    ///
    /// Earlier results there are replaced when the run has ended, unless its result is worse; a folder with anything else in it
    /// is refused.
    pub fn new(dir: impl Into<PathBuf>) -> Folder {
        Folder {
            dir: dir.into(),
            scene: None,
            system: None,
            writing: None,
            checkpoints: None,
            resumes: None,
            stayed: false,
            more: Vec::new(),
        }
    }

    /// The same for a run of a model: what the viewer draws goes to `scene.json`, and the end of the run to `end.state`.
    pub fn of_model(dir: impl Into<PathBuf>, system: Arc<System>) -> Folder {
        let drawn = system.clone();
        let folder = Folder::new(dir).with_scene(move |out| scene::write(&drawn.model, out));
        Folder { system: Some(system), ..folder }
    }

    /// With a description of what to draw, which `scene` writes to `scene.json` for the viewer.
    pub fn with_scene(self, scene: impl Fn(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Folder {
        Folder { scene: Some(Box::new(scene)), ..self }
    }

    /// A file of the result beside the frames, one of [`RESULT`](crate::names::RESULT); it is written with the end.
    pub fn add(&mut self, name: &'static str, text: String) {
        self.more.push((name, text));
    }

    /// With all that the run remembers kept every so often, so that it can go on when it was killed; `about` says what the run
    /// is of.
    pub fn with_checkpoints(self, every: Duration, about: About) -> Folder {
        Folder { checkpoints: Some(Schedule::new(every, about)), ..self }
    }

    /// Prepares to go on from the last checkpoint of a run that is of the same; gives what it remembered.
    pub fn resume(&mut self) -> io::Result<Vec<u8>> {
        let path = self.dir.join(UNFINISHED).join(CHECKPOINT);
        let refused = |why: String| io::Error::new(ErrorKind::InvalidData, format!("{} {why}", path.display()));
        if !path.symlink_metadata().is_ok_and(|m| m.is_file()) {
            return Err(io::Error::new(
                ErrorKind::NotFound,
                format!("there is no checkpoint in {} to resume from; run it without --resume", self.dir.display()),
            ));
        }
        let aside = Aside::claim(&self.dir)?;
        let mut found = Checkpoint::from_bytes(&fs::read(&path)?).map_err(refused)?;
        if let Some(what) = self.checkpoints.as_ref().and_then(|c| found.differs(&c.about)) {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "the run in {} cannot be resumed: {what}; resume it with the original model and options, or run it without --resume",
                    self.dir.display()
                ),
            ));
        }
        let remembered = std::mem::take(&mut found.remembered);
        self.resumes = Some((found, aside));
        Ok(remembered)
    }

    /// Hands the frames so far to others, of a run that goes on.
    pub fn replay(&self, take: &mut dyn FnMut(f64, &[f64]) -> io::Result<()>) -> io::Result<()> {
        let Some(writing) = self.writing.as_ref().filter(|w| w.files.rows.rows() > 0) else { return Ok(()) };
        replay(&Rows::open(&writing.aside.path(ROWS))?, take)
    }

    /// Opens the files of a run that goes on: rows to where the checkpoint knows them, and the table made of them anew.
    fn reopen(&self, from: &Checkpoint, aside: &Aside, header: &Header) -> io::Result<Opened> {
        let path = aside.path(ROWS);
        let named = |e: io::Error| explain(&path, e);
        if !path.symlink_metadata().is_ok_and(|m| m.is_file()) {
            return Err(named(io::Error::new(ErrorKind::NotFound, "its rows are missing")));
        }
        let file = File::options().read(true).write(true).open(&path).map_err(named)?;
        let rows = Journal::resume(file, header, from.rows).map_err(named)?;
        let Beside { mut csv, head, notes } = self.open_beside(aside, header)?;
        if let Some(csv) = &mut csv {
            replay(&Rows::open(&path)?, &mut |t, values| csv.frame(t, values))?;
        }
        Ok(Opened { rows, csv, events: None, head, notes })
    }

    /// Where the result of the last run is: an earlier one that is better keeps its place.
    pub fn place(&self) -> PathBuf {
        if self.stayed { self.dir.join(UNFINISHED) } else { self.dir.clone() }
    }

    /// Hands all that was recorded to the system, so that others can read it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writing.as_mut().map_or(Ok(()), Writing::flush)
    }

    fn open(&self, aside: &Aside, header: &Header) -> io::Result<Opened> {
        let rows = Journal::begin(aside.create(ROWS)?, header).map_err(|e| explain(&self.dir.join(ROWS), e))?;
        let Beside { csv, head, notes } = self.open_beside(aside, header)?;
        Ok(Opened { rows, csv, events: None, head, notes })
    }

    /// Opens what there is beside the rows.
    fn open_beside(&self, aside: &Aside, header: &Header) -> io::Result<Beside> {
        let named = |name: &'static str| move |e: io::Error| explain(&self.dir.join(name), e);
        let mut notes = Vec::new();
        let csv = if header.channels.len() <= CSV_CHANNELS {
            let mut csv = Csv::new(aside.create(CSV)?);
            csv.begin(header).map_err(named(CSV))?;
            Some(csv)
        } else {
            notes.push(format!(
                "there is no {CSV}: {} channels are more than {CSV_CHANNELS}; all are in {PARQUET}",
                header.channels.len()
            ));
            None
        };
        if let Some(scene) = &self.scene {
            aside.replace(SCENE, |out| {
                scene(out)?;
                out.write_all(b"\n")
            })?;
        }
        let mut files = vec![ROWS];
        files.extend(csv.iter().map(|_| CSV));
        let head =
            json!({"program": PROGRAM, "model": header.model, "status": "running", "files": files, "notes": notes});
        let head = if let Value::Object(head) = head { head } else { Map::new() };
        write_summary(aside, &head, None)?;
        Ok(Beside { csv, head, notes })
    }
}

fn write_summary(aside: &Aside, entries: &Map<String, Value>, last: Option<FinalValues>) -> io::Result<()> {
    aside.replace(SUMMARY, |out| {
        json::write_pretty(entries, last, out)?;
        out.write_all(b"\n")
    })
}

impl Writing {
    /// Notes that something waits; hands it to the system in good time.
    fn in_good_time(&mut self) -> io::Result<()> {
        let since = *self.waits.get_or_insert_with(Instant::now);
        if since.elapsed() < FLUSH_AFTER { Ok(()) } else { self.flush() }
    }

    /// Hands everything to the system.
    fn flush(&mut self) -> io::Result<()> {
        self.waits = None;
        self.files.rows.write().map_err(|e| explain(&self.aside.path(ROWS), e))?;
        if let Some(csv) = &mut self.files.csv
            && let Err(e) = csv.write()
        {
            return Err(self.give_up_csv(e));
        }
        self.write_events().map_err(|e| explain(&self.aside.path(EVENTS), e))
    }

    fn write_events(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let file = match &mut self.files.events {
            Some(file) => file,
            None => {
                let mut file = self.aside.create(EVENTS)?;
                file.write_all(b"time [s],name,event\n")?;
                self.files.events.insert(file)
            }
        };
        file.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }

    /// The other files go on.
    fn give_up_csv(&mut self, e: io::Error) -> io::Error {
        (self.files.csv, self.failed) = (None, Some(CSV));
        let _ = fs::rename(self.aside.path(CSV), self.aside.path(&part(CSV)));
        explain(&self.aside.path(CSV), e)
    }

    /// Writes all to the end, and waits for the disk; gives the files that hold the frames.
    fn close(&mut self) -> io::Result<Vec<&'static str>> {
        let flushed = self.flush();
        let mut files = vec![PARQUET];
        let path = self.aside.path(PARQUET);
        let rows = self.files.rows.sync().and_then(|()| Rows::open(&self.aside.path(ROWS)));
        let write = |rows: &Rows| {
            let file = self.aside.create(PARQUET)?;
            parquet::write(rows, &file)?;
            file.sync_all()
        };
        rows.and_then(|rows| write(&rows)).map_err(|e| explain(&path, e))?;
        if let Some(csv) = self.files.csv.take() {
            let path = self.aside.path(CSV);
            csv.into_inner().sync_all().map_err(|e| explain(&path, e))?;
            files.push(CSV);
        }
        if let Some(events) = self.files.events.take() {
            events.sync_all().map_err(|e| explain(&self.aside.path(EVENTS), e))?;
        }
        flushed.map(|()| files)
    }
}

impl Recorder for Folder {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.writing = None;
        if let Some((from, aside)) = self.resumes.take() {
            // the checkpoint stays until the next one
            let files = self.reopen(&from, &aside, header)?;
            let waits = Some(Instant::now());
            let (lines, all) = (from.events.clone(), from.events);
            self.writing = Some(Writing { aside, files, lines, all, failed: None, waits });
            return Ok(());
        }
        let aside = Aside::claim(&self.dir)?;
        salvage(&self.dir, &aside)?;
        aside.clear()?;
        match self.open(&aside, header) {
            Ok(files) => {
                let (lines, all) = (String::new(), String::new());
                self.writing = Some(Writing { aside, files, lines, all, failed: None, waits: None });
                Ok(())
            }
            Err(e) => {
                let _ = aside.clear();
                aside.leave();
                Err(e)
            }
        }
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        let Some(writing) = &mut self.writing else { return Ok(()) };
        writing.files.rows.push(t, values).map_err(|e| explain(&writing.aside.path(ROWS), e))?;
        if let Some(csv) = &mut writing.files.csv
            && let Err(e) = csv.frame(t, values)
        {
            return Err(writing.give_up_csv(e));
        }
        writing.in_good_time()
    }

    fn step(&mut self, _: &AcceptedStep) {
        if let Some(writing) = self.writing.as_mut().filter(|w| w.waits.is_some()) {
            // what cannot be written is told with the next frame, or at the end
            let _ = writing.in_good_time();
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let Some(writing) = &mut self.writing else { return Ok(()) };
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        // the shortest digits that give the same number
        let line = format!("{:?},{},{}\n", event.t, quoted(&event.name), quoted(&event.what));
        writing.lines.push_str(&line);
        if self.checkpoints.is_some() {
            writing.all.push_str(&line);
        }
        writing.in_good_time()
    }

    fn wants_checkpoint(&mut self, last: bool) -> bool {
        self.writing.is_some() && self.checkpoints.as_ref().is_some_and(|c| c.is_due(last))
    }

    fn checkpoint(&mut self, remembered: Result<&[u8], &'static str>) -> io::Result<()> {
        let (Some(writing), Some(schedule)) = (&mut self.writing, &mut self.checkpoints) else { return Ok(()) };
        match remembered {
            Err(why) => schedule.impossible = Some(why),
            Ok(remembered) => {
                // first the rows, then what knows of them
                writing.flush()?;
                writing.files.rows.sync().map_err(|e| explain(&writing.aside.path(ROWS), e))?;
                let found = Checkpoint::new(&schedule.about, writing.files.rows.rows(), &writing.all, remembered);
                writing.aside.replace(CHECKPOINT, |out| out.write_all(&found.to_bytes()))?;
                schedule.took();
            }
        }
        Ok(())
    }

    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        // no run was begun: the folder may be somebody else's
        let Some(mut writing) = self.writing.take() else { return Ok(()) };
        let (mut result, mut status) = (Ok(()), None);
        let files = writing.close().unwrap_or_else(|e| {
            (result, status) = (Err(e), Some("failed"));
            vec![ROWS]
        });
        if let Some(name) = writing.failed {
            status = Some("failed");
            writing.files.notes.push(format!("{name} could not be written to its end"));
        }
        if let (Some(end), None) = (self.end_state(report), status) {
            result = result.and(writing.aside.replace(END_STATE, |out| out.write_all(&end)));
        }
        for (name, text) in std::mem::take(&mut self.more) {
            result = result.and_then(|()| writing.aside.replace(name, |out| out.write_all(text.as_bytes())));
        }
        let mut all = std::mem::take(&mut writing.files.head);
        all.insert("status".into(), "finished".into());
        all.extend(json::report(report));
        all.extend(status.map(|status| ("status".to_string(), status.into())));
        all.insert("files".into(), files.clone().into());
        all.insert("notes".into(), std::mem::take(&mut writing.files.notes).into());
        result = result.and(write_summary(&writing.aside, &all, FinalValues::of(report)));
        self.stayed = true;
        if let Err(e) = result {
            writing.aside.leave(); // what was written stays where it is
            return Err(e);
        }
        let resumable = report.ended() == Ended::Interrupted && writing.aside.path(CHECKPOINT).exists();
        self.stayed = !writing.aside.settle(&files, resumable)?;
        Ok(())
    }
}

impl Folder {
    /// The end of a run that finished, for others to begin with.
    fn end_state(&self, report: &dyn RunReport) -> Option<Vec<u8>> {
        let summary = (report as &dyn Any).downcast_ref::<Summary>()?;
        let finished = summary.ended() == Ended::Finished;
        let system = self.system.as_ref().filter(|_| finished)?;
        EndState::of(system, &summary.state).map(|end| end.to_bytes())
    }
}

/// Hands rows over, one after the other.
fn replay(rows: &Rows, take: &mut dyn FnMut(f64, &[f64]) -> io::Result<()>) -> io::Result<()> {
    let width = rows.described().width();
    let at_once = (REPLAYED / (8 * width)).max(1);
    let mut block = Vec::new();
    for first in (0..rows.len()).step_by(at_once) {
        let some = first..rows.len().min(first + at_once);
        block.resize(some.len() * width, 0.0);
        rows.block(some, 0..width, &mut block)?;
        block.chunks_exact(width).try_for_each(|row| take(row[0], &row[1..]))?;
    }
    Ok(())
}

/// Keeps what an earlier run left in `unfinished`, if it is better than the result in its place: a move that was cut off is
/// completed, and the rows of a run that was killed become a result.
fn salvage(dir: &Path, aside: &Aside) -> io::Result<()> {
    if let Some(Value::Object(mut head)) = summary::read(&dir.join(UNFINISHED))
        && head.get("status").is_some_and(|status| status == "running")
        && let Ok(rows) = Rows::open(&aside.path(ROWS))
        && let Some(last) = rows.len().checked_sub(1)
    {
        let t = rows.read(&[0], last..last + 1)?[0];
        let earlier = summary::read(dir).as_ref().and_then(Rank::of);
        if Rank::until(t).replaces(earlier) {
            let file = aside.create(PARQUET)?;
            parquet::write(&rows, &file)
                .and_then(|()| file.sync_all())
                .map_err(|e| explain(&aside.path(PARQUET), e))?;
            let mut files = vec![PARQUET];
            files.extend(aside.path(CSV).exists().then_some(CSV));
            head.insert("status".into(), "killed".into());
            head.insert("t".into(), t.into());
            head.insert("files".into(), files.into());
            write_summary(aside, &head, None)?;
        }
    }
    aside::complete(aside)
}

/// Adds an entry to the summary in a result folder, after the run has ended.
pub fn amend(dir: &Path, key: &str, value: &Value) -> io::Result<()> {
    let aside = dir.join(UNFINISHED);
    let folder = if aside.join(SUMMARY).exists() { aside.as_path() } else { dir };
    let path = folder.join(SUMMARY);
    let text = fs::read(&path).map_err(|e| explain(&path, e))?;
    let mut summary: Map<String, Value> = serde_json::from_slice(&text)?;
    summary.insert(key.into(), value.clone());
    aside::replace(folder, SUMMARY, |out| {
        json::write_pretty(&summary, None, out)?;
        out.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests;
