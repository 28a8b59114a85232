//! A result folder: `results.parquet`, `results.csv` and `summary.json`, and `events.csv` where there were any.
//!
//! `summary.json` is there from the start and always whole. Its `status` is `running`, then `finished`,
//! `failed` or `interrupted`; its `files` are those that hold the frames. While the run goes on these end
//! with `.part`, and they lose that ending when they are closed: a file under its final name is complete.
//! The run holds a lock on `results.parquet.part`, which tells a running one from one that was killed.

use crate::json::{self, FinalValues};
use crate::names::{CSV, EVENTS, PARQUET, SCENE, SUMMARY, WAITING, part};
use crate::{Csv, PROGRAM, ParquetFile};
use bellcrank_solve::events::Event;
use bellcrank_solve::record::{Header, Recorder, Report};
use serde_json::{Map, Value, json};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A table with more columns than this cannot be opened in a spreadsheet (most stop at 16384).
const CSV_CHANNELS: usize = 20_000;

/// Writes a folder with all results of a run.
pub struct Folder {
    dir: PathBuf,
    outputs: Vec<Output>,
    /// What the summary says while the run goes on; empty when none does.
    head: Map<String, Value>,
    notes: Vec<String>,
    /// Writes what the viewer draws, if anything.
    scene: Option<Scene>,
    /// The lines of `events.csv`.
    events: String,
}

/// Writes a scene.
type Scene = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + Send>;

struct Output {
    name: &'static str,
    recorder: Box<dyn Recorder + Send>,
    failed: bool,
}

impl Folder {
    /// Results will go to `dir`, which is created when the run begins.
    ///
    /// Earlier results there are replaced; a folder with anything else in it is refused.
    pub fn new(dir: impl Into<PathBuf>) -> Folder {
        Folder { dir: dir.into(), outputs: vec![], head: Map::new(), notes: vec![], scene: None, events: String::new() }
    }

    /// With a description of what to draw, which `scene` writes to `scene.json` for the viewer.
    pub fn with_scene(self, scene: impl Fn(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Folder {
        Folder { scene: Some(Box::new(scene)), ..self }
    }

    fn open(&mut self, header: &Header) -> io::Result<()> {
        claim(&self.dir)?;
        let scratch = self.part(WAITING);
        self.add(PARQUET, |file| ParquetFile::new(file).with_scratch(scratch))?;
        if header.channels.len() <= CSV_CHANNELS {
            self.add(CSV, Csv::new)?;
        } else {
            self.notes.push(format!(
                "there is no {CSV}: {} channels are more than {CSV_CHANNELS}; all are in {PARQUET}",
                header.channels.len()
            ));
        }
        let files: Vec<String> = self.outputs.iter().map(|o| part(o.name)).collect();
        let head = json!({"program": PROGRAM, "model": header.model, "status": "running", "files": files, "notes": self.notes});
        if let Value::Object(head) = head {
            self.head = head;
        }
        for o in &mut self.outputs {
            o.recorder.begin(header).map_err(|e| explain(&self.dir.join(o.name), e))?;
        }
        // the new files are open: only now are the old ones removed
        self.write_summary(&self.head, None)?;
        if let Some(scene) = &self.scene {
            self.replace_by(SCENE, |out| {
                scene(out)?;
                out.write_all(b"\n")
            })?;
        }
        for name in [PARQUET, CSV, EVENTS] {
            let path = self.dir.join(name);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(explain(&path, e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a file that is not yet complete.
    fn add<R: Recorder + Send + 'static>(&mut self, name: &'static str, to: impl FnOnce(File) -> R) -> io::Result<()> {
        let path = self.part(name);
        let open = || {
            let file = File::options().write(true).create(true).truncate(false).open(&path)?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(io::Error::new(ErrorKind::ResourceBusy, "another run is writing there"));
            }
            file.set_len(0).map(|()| file)
        };
        let file = open().map_err(|e| explain(&path, e))?;
        self.outputs.push(Output { name, recorder: Box::new(to(file)), failed: false });
        Ok(())
    }

    fn part(&self, name: &str) -> PathBuf {
        self.dir.join(part(name))
    }

    fn write_summary(&self, entries: &Map<String, Value>, last: Option<FinalValues>) -> io::Result<()> {
        self.replace_by(SUMMARY, |out| {
            json::write_pretty(entries, last, out)?;
            out.write_all(b"\n")
        })
    }

    fn replace_text(&self, name: &str, text: &str) -> io::Result<()> {
        self.replace_by(name, |out| out.write_all(text.as_bytes()))
    }

    /// Replaces a file in one go.
    fn replace_by(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let (path, unfinished) = (self.dir.join(name), self.part(name));
        let replace = || {
            let mut out = BufWriter::new(File::create(&unfinished)?);
            write(&mut out)?;
            out.flush()?;
            fs::rename(&unfinished, &path)
        };
        replace().map_err(|e| explain(&path, e))
    }
}

impl Recorder for Folder {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        *self = Folder { scene: self.scene.take(), ..Folder::new(std::mem::take(&mut self.dir)) };
        let result = self.open(header);
        if result.is_err() {
            let names: Vec<_> = self.outputs.drain(..).map(|o| o.name).collect();
            names.iter().for_each(|name| drop(fs::remove_file(self.part(name))));
            self.head.clear();
        }
        result
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        let mut result = Ok(());
        for o in self.outputs.iter_mut().filter(|o| !o.failed) {
            if let Err(e) = o.recorder.frame(t, values) {
                o.failed = true;
                result = result.and(Err(explain(&self.dir.join(o.name), e)));
            }
        }
        result
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        // the shortest digits that give the same number
        self.events.push_str(&format!("{:?},{},{}\n", event.t, quoted(&event.name), quoted(&event.what)));
        Ok(())
    }

    fn end(&mut self, report: &dyn Report) -> io::Result<()> {
        if self.head.is_empty() {
            return Ok(()); // no run was begun: the folder may be somebody else's
        }
        let (mut result, mut files, mut whole) = (Ok(()), vec![], true);
        if !self.events.is_empty() {
            let text = format!("time [s],name,event\n{}", std::mem::take(&mut self.events));
            result = self.replace_text(EVENTS, &text);
        }
        for mut o in std::mem::take(&mut self.outputs) {
            let (path, unfinished) = (self.dir.join(o.name), self.part(o.name));
            let ended = if o.failed { Err(None) } else { o.recorder.end(report).map_err(Some) };
            drop(o.recorder); // closes the file
            match ended.and_then(|()| fs::rename(&unfinished, &path).map_err(Some)) {
                Ok(()) => files.push(o.name.to_string()),
                Err(e) => {
                    whole = false;
                    self.notes.push(format!("{} could not be written to its end", o.name));
                    files.push(part(o.name));
                    result = result.and(e.map_or(Ok(()), |e| Err(explain(&path, e))));
                }
            }
        }
        let mut all = std::mem::take(&mut self.head);
        all.insert("status".into(), "finished".into());
        all.extend(json::report(report));
        if !whole {
            all.insert("status".into(), "failed".into());
        }
        all.insert("files".into(), files.into());
        all.insert("notes".into(), std::mem::take(&mut self.notes).into());
        result.and(self.write_summary(&all, FinalValues::of(report)))
    }
}

/// Adds an entry to the summary in a result folder, after the run has ended.
pub fn amend(dir: &Path, key: &str, value: &Value) -> io::Result<()> {
    let path = dir.join(SUMMARY);
    let text = fs::read(&path).map_err(|e| explain(&path, e))?;
    let mut summary: Map<String, Value> = serde_json::from_slice(&text)?;
    summary.insert(key.into(), value.clone());
    Folder::new(dir).write_summary(&summary, None)
}

/// Makes sure that the folder exists, and is empty or holds earlier results.
fn claim(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir).map_err(|e| explain(dir, e))?;
    let ours = fs::read(dir.join(SUMMARY))
        .ok()
        .and_then(|text| serde_json::from_slice::<Value>(&text).ok())
        .is_some_and(|v| v["program"].as_str().is_some_and(|p| p.starts_with("bellcrank ")));
    if ours {
        return Ok(());
    }
    for entry in fs::read_dir(dir).map_err(|e| explain(dir, e))? {
        let name = entry.map_err(|e| explain(dir, e))?.file_name();
        // a run that could not even write its first summary leaves these
        if ![PARQUET, CSV, SUMMARY, SCENE, EVENTS, WAITING].iter().any(|f| *name == *part(f)) {
            let message = format!(
                "{} contains other files ({}) and no earlier results; choose another folder with --out, or empty it",
                dir.display(),
                name.display()
            );
            return Err(io::Error::new(ErrorKind::DirectoryNotEmpty, message));
        }
    }
    Ok(())
}

/// The error with the path, and what to try.
fn explain(path: &Path, e: io::Error) -> io::Error {
    let hint = match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or choose a folder on another disk with --out"
        }
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "; a file is in the way: choose another folder with --out"
        }
        ErrorKind::InvalidInput | ErrorKind::Other => "",
        _ => "; choose another folder with --out",
    };
    let text = e.to_string();
    let mut what = text.split(" (os error").next().unwrap_or_default().to_string();
    if let Some(first) = what.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    io::Error::new(e.kind(), format!("cannot write {}: {what}{hint}", path.display()))
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
        for status in ["finished", "failed", "interrupted"] {
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
    fn a_running_result_says_so_and_a_killed_one_keeps_its_files() {
        let s = Scratch::new("running");
        run(s.path(), 2, "finished").unwrap();
        let mut f = Folder::new(s.path());
        f.begin(&header(&["crank.x"])).unwrap();
        let parts = ["results.csv.part", "results.parquet.part", SUMMARY];
        assert_eq!(names(s.path()), parts);
        assert_eq!(summary(s.path())["status"], "running");
        assert_eq!(summary(s.path())["files"], json!([parts[1], parts[0]]));

        let e = run(s.path(), 1, "finished").unwrap_err();
        assert!(e.to_string().contains("another run is writing there; choose"), "{e}");
        assert_eq!(names(s.path()), parts);

        drop(f); // as if killed
        assert_eq!(names(s.path()), parts);
        run(s.path(), 1, "finished").unwrap();
        assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
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
    fn a_failure_of_writing_leaves_no_final_name() {
        struct Full;
        impl Recorder for Full {
            fn begin(&mut self, _: &Header) -> io::Result<()> {
                Ok(())
            }
            fn frame(&mut self, _: f64, _: &[f64]) -> io::Result<()> {
                Err(ErrorKind::StorageFull.into())
            }
            fn end(&mut self, _: &dyn Report) -> io::Result<()> {
                Ok(())
            }
        }
        let s = Scratch::new("full");
        let mut f = Folder::new(s.path());
        f.begin(&header(&["x"])).unwrap();
        f.outputs[1].recorder = Box::new(Full);
        let e = f.frame(0.0, &[1.0]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::StorageFull);
        assert!(e.to_string().contains("results.csv: no storage space; free some space"), "{e}");
        f.end(&Ended::Interrupted).unwrap();
        assert_eq!(names(s.path()), ["results.csv.part", PARQUET, SUMMARY]);
        let v = summary(s.path());
        assert_eq!((&v["status"], &v["files"]), (&json!("failed"), &json!([PARQUET, "results.csv.part"])));
    }
}
