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
use bellcrank_solve::history::Taken;
use bellcrank_solve::record::{Ended, Header, Recorder, Report};
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
const PATIENCE: Duration = Duration::from_secs(1);

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
                    "the run in {} cannot be resumed: {what}; resume it as it was begun, or run it without --resume",
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
        if since.elapsed() < PATIENCE { Ok(()) } else { self.flush() }
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

    fn step(&mut self, _: &Taken) {
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

    fn end(&mut self, report: &dyn Report) -> io::Result<()> {
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
        let mut all = std::mem::take(&mut writing.files.head);
        all.insert("status".into(), "finished".into());
        all.extend(json::report(report));
        all.extend(status.map(|status| ("status".to_string(), status.into())));
        all.insert("files".into(), files.into());
        all.insert("notes".into(), std::mem::take(&mut writing.files.notes).into());
        result = result.and(write_summary(&writing.aside, &all, FinalValues::of(report)));
        self.stayed = true;
        if let Err(e) = result {
            writing.aside.leave(); // what was written stays where it is
            return Err(e);
        }
        let resumable = report.ended() == Ended::Interrupted && writing.aside.path(CHECKPOINT).exists();
        self.stayed = !writing.aside.settle(resumable)?;
        Ok(())
    }
}

impl Folder {
    /// The end of a run that finished, for others to begin with.
    fn end_state(&self, report: &dyn Report) -> Option<Vec<u8>> {
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
mod tests {
    use super::*;
    use crate::json::Object;
    use crate::testing::{Scratch, header};
    use bellcrank_solve::record::Ended;

    fn summary(dir: &Path) -> Value {
        serde_json::from_slice(&fs::read(dir.join(SUMMARY)).unwrap()).unwrap()
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The files of a folder with what is in them.
    fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let files = names(dir).into_iter().filter(|name| dir.join(name).is_file());
        files.map(|name| (name.clone(), fs::read(dir.join(name)).unwrap())).collect()
    }

    fn run(dir: &Path, rows: usize, status: &str) -> io::Result<()> {
        let mut f = Folder::new(dir);
        f.begin(&header(&["crank.x"]))?;
        for i in 0..rows {
            f.frame(i as f64, &[0.5])?;
        }
        f.end(&Object::new(json!({"status": status, "steps": rows})))
    }

    #[test]
    fn a_run_leaves_three_files_whatever_its_end() {
        let s = Scratch::new("whole");
        let dir = s.path().join("deep/results");
        for status in ["failed", "interrupted", "finished"] {
            run(&dir, 3, status).unwrap(); // each replaces the one before
            assert_eq!(names(&dir), [CSV, PARQUET, SUMMARY]);
            let v = summary(&dir);
            assert_eq!((&v["status"], &v["steps"], &v["model"]), (&json!(status), &json!(3), &json!("test")));
            assert_eq!(v["files"], json!([PARQUET, CSV]));
            let csv = fs::read_to_string(dir.join(CSV)).unwrap();
            assert_eq!(csv, "time [s],crank.x [m]\n0.0,0.5\n1.0,0.5\n2.0,0.5\n");
        }
    }

    #[test]
    fn events_have_a_table_of_their_own_that_the_next_run_replaces() {
        let s = Scratch::new("events");
        let mut f = Folder::new(s.path());
        f.begin(&header(&["x"])).unwrap();
        let event = |t: f64, name: &str| Event { t, name: name.into(), what: "bounces".into() };
        f.event(&event(0.1, "force `floor`")).unwrap();
        f.event(&event(1.0 / 3.0, "force `a \"b\", c`")).unwrap();
        f.end(&Ended::Finished).unwrap();
        let text = fs::read_to_string(s.path().join(EVENTS)).unwrap();
        let lines = ["time [s],name,event", "0.1,\"force `floor`\",\"bounces\""];
        assert_eq!(text.lines().take(2).collect::<Vec<_>>(), lines);
        assert!(text.ends_with("0.3333333333333333,\"force `a \"\"b\"\", c`\",\"bounces\"\n"), "{text}");
        run(s.path(), 1, "finished").unwrap();
        assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
    }

    #[test]
    fn a_running_result_says_so_and_the_earlier_one_stays_until_it_stands() {
        let s = Scratch::new("running");
        run(s.path(), 2, "finished").unwrap();
        let (earlier, aside) = (contents(s.path()), s.path().join(UNFINISHED));
        let mut f = Folder::new(s.path());
        f.begin(&header(&["crank.x"])).unwrap();
        f.frame(0.0, &[1.0]).unwrap();
        assert_eq!(names(&aside), ["lock", CSV, ROWS, SUMMARY]);
        assert_eq!((&summary(&aside)["status"], &summary(&aside)["files"]), (&json!("running"), &json!([ROWS, CSV])));
        assert_eq!(contents(s.path()), earlier);

        let e = run(s.path(), 1, "finished").unwrap_err();
        assert!(e.to_string().contains("another run is writing there; choose"), "{e}");
        assert_eq!(contents(s.path()), earlier);

        drop(f); // as if killed
        assert_eq!(contents(s.path()), earlier);
        run(s.path(), 1, "finished").unwrap();
        assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
        assert_ne!(contents(s.path()), earlier);
    }

    #[test]
    fn a_worse_result_does_not_replace_a_better_one() {
        let s = Scratch::new("worse");
        let aside = s.path().join(UNFINISHED);
        let run = |rows: usize, status: &str| {
            let mut f = Folder::new(s.path());
            f.begin(&header(&["x"])).unwrap();
            (0..rows).for_each(|k| f.frame(k as f64, &[0.5]).unwrap());
            f.end(&Object::new(json!({"status": status, "t": rows}))).unwrap();
            f.place()
        };
        assert_eq!(run(5, "interrupted"), s.path());
        assert_eq!(run(1, "failed"), aside); // it came less far
        assert_eq!(run(7, "failed"), s.path());
        assert_eq!(run(201, "finished"), s.path());
        let earlier = contents(s.path());
        for (rows, status) in [(1, "failed"), (300, "interrupted")] {
            assert_eq!(run(rows, status), aside);
            assert_eq!(contents(s.path()), earlier);
            assert_eq!(
                (names(&aside), &summary(&aside)["t"]),
                (vec![CSV.into(), PARQUET.into(), SUMMARY.into()], &json!(rows))
            );
        }
        assert_eq!(run(2, "finished"), s.path());
        assert!(!aside.exists());
    }

    #[test]
    fn what_a_killed_run_left_becomes_a_result_unless_there_is_a_better_one() {
        let s = Scratch::new("salvaged");
        let killed = |dir: &Path, rows: usize| {
            let mut f = Folder::new(dir);
            f.begin(&header(&["x"])).unwrap();
            (0..rows).for_each(|k| f.frame(k as f64, &[0.5]).unwrap());
            f.writing.as_mut().unwrap().flush().unwrap();
        };
        for (first, kept) in [(9, 9), (0, 0)] {
            let dir = s.path().join(first.to_string());
            killed(&dir, first);
            killed(&dir, 3); // its beginning made a result of the one before
            let (v, rows) = (summary::read(&dir), crate::Results::open(&dir).unwrap().now().rows());
            assert_eq!(v.as_ref().map(|v| v["status"].clone()), (kept > 0).then(|| json!("killed")));
            assert_eq!(rows, kept.max(3));
        }
    }

    /// Whatever moment a move is cut off at, readers see the new result, and the next run completes the move.
    #[test]
    fn a_move_that_was_cut_off_is_completed() {
        let s = Scratch::new("moved");
        let order = [PARQUET, CSV, SUMMARY];
        for cut in 0..order.len() {
            let dir = s.path().join(cut.to_string());
            run(&dir, 2, "finished").unwrap();
            fs::write(dir.join(EVENTS), "of the first run").unwrap();
            let aside = dir.join(UNFINISHED);
            fs::create_dir(&aside).unwrap();
            let other = s.path().join(format!("other-{cut}"));
            run(&other, 5, "finished").unwrap();
            for name in order {
                fs::rename(other.join(name), aside.join(name)).unwrap();
            }
            if cut > 0 {
                fs::remove_file(dir.join(EVENTS)).unwrap();
            }
            for name in &order[..cut] {
                fs::rename(aside.join(name), dir.join(name)).unwrap();
            }
            let now = crate::Results::open(&dir).unwrap().now();
            assert_eq!((now.rows(), &now.summary["steps"]), (5, &json!(5)), "{cut}");
            let mut f = Folder::new(&dir);
            f.begin(&header(&["crank.x"])).unwrap();
            assert_eq!(
                (names(&dir), &summary(&dir)["steps"]),
                ([CSV, PARQUET, SUMMARY, UNFINISHED].map(String::from).to_vec(), &json!(5))
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        use std::os::unix::fs::symlink;
        let s = Scratch::new("links");
        let (dir, mine) = (s.path().join("results"), s.path().join("mine"));
        fs::write(&mine, "precious").unwrap();
        run(&dir, 1, "finished").unwrap();
        for name in [PARQUET, CSV, SUMMARY] {
            let text = fs::read(dir.join(name)).unwrap();
            fs::remove_file(dir.join(name)).unwrap();
            fs::write(s.path().join(name), text).unwrap();
            symlink(s.path().join(name), dir.join(name)).unwrap();
        }
        let outside = contents(s.path());
        let aside = dir.join(UNFINISHED);
        fs::create_dir(&aside).unwrap();
        for name in [ROWS, CSV, PARQUET, EVENTS, SUMMARY, &part(SUMMARY), &part(CSV)] {
            symlink(&mine, aside.join(name)).unwrap();
        }
        run(&dir, 3, "finished").unwrap();
        assert_eq!(contents(s.path()), outside);
        assert!([PARQUET, CSV, SUMMARY].iter().all(|name| dir.join(name).symlink_metadata().unwrap().is_file()));
        symlink(s.path(), &aside).unwrap();
        let e = run(&dir, 3, "finished").unwrap_err().to_string();
        assert!(e.contains("unfinished: it is no folder of a run; a file is in the way"), "{e}");
        fs::remove_file(&aside).unwrap();
        fs::create_dir(&aside).unwrap();
        symlink(&mine, aside.join("lock")).unwrap();
        assert!(run(&dir, 3, "finished").is_err());
        assert_eq!(fs::read_to_string(&mine).unwrap(), "precious");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_vanishes_or_cannot_be_written_is_told() {
        let s = Scratch::new("vanished");
        let dir = s.path().join("results");
        let mut f = Folder::new(&dir);
        f.begin(&header(&["x"])).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        f.frame(0.0, &[1.0]).unwrap();
        let e = f.end(&Ended::Finished).unwrap_err().to_string();
        assert!(e.starts_with("cannot write ") && e.contains("no such file or directory"), "{e}");
        let e = run(Path::new("/proc/nowhere"), 1, "finished").unwrap_err().to_string();
        assert!(
            e.starts_with("cannot write /proc/nowhere: ") && e.ends_with("choose another folder with --out"),
            "{e}"
        );
    }

    #[test]
    fn other_peoples_folders_are_left_alone() {
        let s = Scratch::new("clobber");
        fs::write(s.path().join("thesis.tex"), "years").unwrap();
        for foreign in [None, Some("{\"program\": \"other\"}"), Some("not json"), Some("[]")] {
            if let Some(text) = foreign {
                fs::write(s.path().join(SUMMARY), text).unwrap();
            }
            let mut f = Folder::new(s.path());
            let e = f.begin(&header(&["x"])).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::DirectoryNotEmpty);
            assert!(e.to_string().contains("choose another folder with --out"), "{e}");
            f.end(&Ended::Failed("it broke".into())).unwrap();
            assert_eq!(fs::read_to_string(s.path().join(SUMMARY)).ok().as_deref(), foreign);
        }
        assert_eq!(names(s.path()), [SUMMARY, "thesis.tex"]);
    }

    #[test]
    fn what_else_lies_in_a_result_folder_stays() {
        let s = Scratch::new("beside");
        run(s.path(), 1, "finished").unwrap();
        fs::write(s.path().join("notes.txt"), "mine").unwrap();
        run(s.path(), 1, "finished").unwrap();
        assert_eq!(names(s.path()), ["notes.txt", CSV, PARQUET, SUMMARY]);
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let s = Scratch::new("file");
        fs::write(s.path().join("results"), "").unwrap();
        for dir in ["results", "results/below"] {
            let path = s.path().join(dir);
            let e = run(&path, 1, "finished").unwrap_err().to_string();
            assert!(e.starts_with(&format!("cannot write {}: ", path.display())), "{e}");
            assert!(e.ends_with("; a file is in the way: choose another folder with --out"), "{e}");
        }
    }

    #[test]
    fn a_bad_header_keeps_the_earlier_results() {
        let s = Scratch::new("twice");
        run(s.path(), 2, "finished").unwrap();
        let mut f = Folder::new(s.path());
        let e = f.begin(&header(&["x", "x"])).unwrap_err().to_string();
        f.end(&Ended::Failed("it broke".into())).unwrap();
        assert!(e.contains("two channels have the name \"x\""), "{e}");
        assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
        assert_eq!(summary(s.path())["status"], "finished");
    }

    #[test]
    fn wide_models_have_no_csv() {
        let s = Scratch::new("wide");
        let wide: Vec<String> = (0..=CSV_CHANNELS).map(|i| format!("b{i}.x")).collect();
        let mut f = Folder::new(s.path());
        f.begin(&header(&wide)).unwrap();
        f.end(&Ended::Finished).unwrap();
        assert_eq!(names(s.path()), [PARQUET, SUMMARY]);
        assert!(summary(s.path())["notes"][0].as_str().unwrap().contains("20001 channels"));
    }

    #[test]
    fn a_table_that_cannot_be_written_leaves_no_final_name() {
        let s = Scratch::new("full");
        let mut f = Folder::new(s.path());
        f.begin(&header(&["x"])).unwrap();
        f.frame(0.0, &[1.0]).unwrap();
        let Ok(full) = File::options().write(true).open("/dev/full") else { return };
        f.writing.as_mut().unwrap().files.csv = Some(Csv::new(full));
        let mut csv = Csv::new(File::options().write(true).open("/dev/full").unwrap());
        assert!(csv.begin(&header(&["x"])).is_err());
        let writing = f.writing.as_mut().unwrap();
        writing.files.csv = Some(csv);
        let e = writing.flush().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::StorageFull);
        assert!(e.to_string().contains("results.csv: no space left on device; free some space"), "{e}");
        f.end(&Ended::Interrupted).unwrap();
        assert_eq!(names(s.path()), [PARQUET, SUMMARY, UNFINISHED]);
        assert_eq!(names(&s.path().join(UNFINISHED)), ["results.csv.part"]);
        let v = summary(s.path());
        assert_eq!((&v["status"], &v["files"]), (&json!("failed"), &json!([PARQUET])));
    }
}
