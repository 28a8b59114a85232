//! The rows of a study on disk: written down as they come, and made a table at the end.
//!
//! ```text
//! DIR/study.parquet          the table
//! DIR/study.rows             the rows it was made of, so that a larger study need not compute them again
//! DIR/study.json             what the study was, and how it ended
//! DIR/runs/KEY/              whole results, if they are kept
//! DIR/unfinished/study.rows  the rows of a study that goes on, or was killed
//! ```
//!
//! The file of rows only grows, by one write for each row. A row has its length before it and a checksum behind it, so that
//! whatever moment a study is killed at, all rows but the last are whole, and a piece of one is cut off. Files are put in
//! their place by renaming: what is there is whole.

use crate::row::{Row, Status};
use crate::study::{RUNS, Study};
use bellcrank_model::file::Report;
use bellcrank_results::PROGRAM;
use bellcrank_results::tidy::{GROUP, TABLE, TidyTable, TidyValues, TidyWriter};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

const ROWS: &str = "study.rows";
const TOLD: &str = "study.json";
const UNFINISHED: &str = "unfinished";
const MAGIC: &[u8; 8] = b"BCSTUDY1";
/// A row is no longer than this.
const LONGEST: u32 = 1 << 24;

/// Why rows cannot be written or read.
#[derive(Debug)]
pub enum LedgerError {
    /// The user asked for something that cannot be.
    Refused(String),
    /// The disk.
    Disk(io::Error),
    /// The model cannot be read any more.
    Model(Report),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::Refused(text) => write!(f, "{text}"),
            LedgerError::Disk(e) => write!(f, "{e}"),
            LedgerError::Model(report) => write!(f, "{report}"),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<io::Error> for LedgerError {
    fn from(e: io::Error) -> LedgerError {
        LedgerError::Disk(e)
    }
}

/// What stands at the beginning of a file of rows.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    program: String,
    about: Vec<(String, String)>,
}

/// The rows of a study that goes on.
pub struct Ledger<S: Deref<Target = Study>> {
    study: S,
    dir: PathBuf,
    file: File,
    /// Where the next row goes.
    end: u64,
    /// Where the row of each point begins; 0 where there is none yet.
    places: Vec<u64>,
    done: u64,
    /// How many of them failed.
    failed: u64,
}

/// A study that has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyOutcome {
    /// Its folder.
    pub dir: PathBuf,
    /// All rows.
    pub rows: u64,
    /// Those that were computed now.
    pub computed: u64,
    /// Those that failed.
    pub failed: u64,
}

impl StudyOutcome {
    /// The table.
    pub fn table(&self) -> io::Result<TidyTable> {
        TidyTable::open(&self.dir.join(TABLE))
    }
}

/// Whether a folder is that of a study, finished or not.
pub fn is_study(dir: &Path) -> bool {
    [dir.join(TABLE), dir.join(ROWS), dir.join(UNFINISHED).join(ROWS)].iter().any(|path| path.is_file())
}

impl<S: Deref<Target = Study>> Ledger<S> {
    /// Takes hold of a folder. With `resume`, rows that an earlier study left there are taken over.
    pub fn open(study: S, dir: &Path, resume: bool) -> Result<Ledger<S>, LedgerError> {
        let head = Head { program: PROGRAM.into(), about: study.about().map_err(LedgerError::Model)? };
        fs::create_dir_all(dir).map_err(|e| explain(dir, e))?;
        refuse_others(dir)?;
        let unfinished = dir.join(UNFINISHED);
        let path = unfinished.join(ROWS);
        let earlier = path.is_file();
        fs::create_dir_all(&unfinished).map_err(|e| explain(&unfinished, e))?;
        let options = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options().map_err(|e| explain(&path, e))?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let text =
                format!("another study is writing to {}\nhelp: wait for it, or choose another folder", dir.display());
            return Err(LedgerError::Refused(text));
        }
        if earlier && !resume && count(&mut file)? > 0 {
            let n = count(&mut file)?;
            let rows = if n == 1 { "1 row".into() } else { format!("{n} rows") };
            let help = "--resume continues with them; to start again, remove the folder or choose another";
            let text = format!("{} holds {rows} of an unfinished study\nhelp: {help}", dir.display());
            return Err(LedgerError::Refused(text));
        }
        let finished = dir.join(ROWS);
        if resume && count(&mut file)? == 0 && finished.is_file() {
            copy(&finished, &mut file).map_err(|e| explain(&path, e))?;
        }
        let places = vec![0; study.rows() as usize];
        let mut ledger = Ledger { study, dir: dir.to_path_buf(), file, end: 0, places, done: 0, failed: 0 };
        if resume {
            ledger.take_over(&head)?
        } else {
            ledger.begin(&head)?
        }
        Ok(ledger)
    }

    /// How many rows there are, and how many of them failed.
    pub fn done(&self) -> (u64, u64) {
        (self.done, self.failed)
    }

    /// Whether the row of a point is there.
    pub fn has(&self, index: u64) -> bool {
        self.places.get(index as usize).is_some_and(|place| *place > 0)
    }

    /// Writes down a row; one that is there already stays.
    pub fn push(&mut self, index: u64, row: &Row) -> io::Result<()> {
        if self.has(index) || index as usize >= self.places.len() {
            return Ok(());
        }
        let record = record(row)?;
        let path = || self.dir.join(UNFINISHED).join(ROWS);
        self.file
            .seek(SeekFrom::Start(self.end))
            .and_then(|_| self.file.write_all(&record))
            .map_err(|e| explain(&path(), e))?;
        self.note(index, self.end, row);
        self.end += record.len() as u64;
        Ok(())
    }

    fn note(&mut self, index: u64, place: u64, row: &Row) {
        self.places[index as usize] = place;
        self.done += 1;
        self.failed += u64::from(row.status == Status::Failed);
    }

    fn begin(&mut self, head: &Head) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        let text = serde_json::to_vec(head)?;
        let length = (text.len() as u32).to_le_bytes();
        self.file.write_all(&[MAGIC.as_slice(), &length, &text].concat())?;
        self.end = (MAGIC.len() + 4 + text.len()) as u64;
        Ok(())
    }

    /// Takes over the rows of an earlier study of the same model; a file without a beginning holds none.
    fn take_over(&mut self, head: &Head) -> Result<(), LedgerError> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::with_capacity(1 << 16, &self.file);
        let Some((found, start)) = read_head(&mut reader)? else { return Ok(self.begin(head)?) };
        if let Some(why) = differs(&found, head) {
            let help = "start again in another folder, or undo the change";
            let text = format!("{} cannot be resumed: {why}\nhelp: {help}", self.dir.display());
            return Err(LedgerError::Refused(text));
        }
        let mut known: HashMap<u128, (u64, Row)> = HashMap::new();
        let mut at = start;
        while let Some((row, length)) = read_record(&mut reader)? {
            known.entry(row.key).or_insert((at, Row { values: Vec::new(), reason: String::new(), ..row }));
            at += length;
        }
        // the piece of a row that was cut off
        self.file.set_len(at)?;
        self.end = at;
        for index in 0..self.study.rows() {
            if let Some((place, row)) = known.get(&self.study.space.point(index).key) {
                self.note(index, *place, row);
            }
        }
        Ok(())
    }

    fn row(&self, index: u64) -> io::Result<Row> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.places[index as usize]))?;
        let damaged = || io::Error::new(ErrorKind::InvalidData, "a row that was written cannot be read again");
        read_record(&mut BufReader::with_capacity(1 << 12, file))?.map(|(row, _)| row).ok_or_else(damaged)
    }

    /// Makes the table, and puts it in its place.
    pub fn finish(mut self, computed: u64) -> io::Result<StudyOutcome> {
        self.file.sync_all()?;
        let unfinished = self.dir.join(UNFINISHED);
        let part = unfinished.join(TABLE);
        self.write_table(&part).map_err(|e| explain(&part, e))?;
        let told = unfinished.join(TOLD);
        self.write_told(&told).map_err(|e| explain(&told, e))?;
        for name in [TABLE, ROWS, TOLD] {
            let to = self.dir.join(name);
            fs::rename(unfinished.join(name), &to).map_err(|e| explain(&to, e))?;
        }
        let _ = fs::remove_dir(&unfinished);
        self.clear_runs();
        if let Ok(folder) = File::open(&self.dir) {
            let _ = folder.sync_all();
        }
        Ok(StudyOutcome { dir: self.dir, rows: self.done, computed, failed: self.failed })
    }

    fn write_table(&mut self, path: &Path) -> io::Result<()> {
        let columns = self.study.table_columns();
        let names = |list: Vec<&str>| serde_json::Value::from(list).to_string();
        let axes = names(self.study.space.axes.iter().map(|a| a.name.as_str()).collect());
        let wanted = names(self.study.columns.iter().map(|c| c.name.as_str()).collect());
        let about = [("model", self.study.model.as_str()), ("axes", &axes), ("columns", &wanted)];
        let file = File::create(path)?;
        let mut out = TidyWriter::new(BufWriter::new(&file), &columns, &about)?;
        let mut group: Vec<TidyValues> = columns.iter().map(TidyValues::of).collect();
        for index in 0..self.study.rows() {
            self.add_row(index, &mut group)?;
            if group[0].len() == GROUP || index + 1 == self.study.rows() {
                out.write(&group)?;
                group.iter_mut().for_each(TidyValues::clear);
            }
        }
        out.finish()?;
        file.sync_all()
    }

    /// Adds the cells of a row to the columns of the table.
    fn add_row(&self, index: u64, group: &mut [TidyValues]) -> io::Result<()> {
        let (point, row) = (self.study.space.point(index), self.row(index)?);
        let mut columns = group.iter_mut();
        let mut put = |number: f64, text: &dyn Fn() -> String| match columns.next() {
            Some(TidyValues::Numbers(list)) => list.push(number),
            Some(TidyValues::Texts(list)) => list.push(text()),
            None => {}
        };
        put(index as f64, &String::new);
        for value in &point.values {
            let number = if let crate::axis::AxisValue::Number(x) = value { *x } else { f64::NAN };
            put(number, &|| value.shown());
        }
        for k in 0..self.study.columns.len() {
            put(row.values.get(k).copied().unwrap_or(f64::NAN), &String::new);
        }
        put(f64::NAN, &|| row.status.word().to_string());
        put(f64::NAN, &|| row.reason.clone());
        // a run that did not start left nothing
        let folder = self.study.folder(row.key);
        let there = self.study.keep && self.dir.join(&folder).is_dir();
        put(f64::NAN, &|| if there { folder.clone() } else { String::new() });
        Ok(())
    }

    fn write_told(&self, path: &Path) -> io::Result<()> {
        let axes = self.study.space.axes.iter().map(|a| (a.name.clone(), a.target.path().into()));
        let columns = self.study.columns.iter().map(|c| (c.name.clone(), c.text.clone().into()));
        let told = serde_json::json!({
            "program": PROGRAM,
            "study": self.study.name,
            "model": self.study.model,
            "rows": self.done,
            "failed": self.failed,
            "axes": axes.collect::<serde_json::Map<_, serde_json::Value>>(),
            "columns": columns.collect::<serde_json::Map<_, serde_json::Value>>(),
        });
        let file = File::create(path)?;
        writeln!(&file, "{told:#}")?;
        file.sync_all()
    }

    /// Removes results of an earlier study that are none of this one.
    fn clear_runs(&self) {
        let Ok(entries) = fs::read_dir(self.dir.join(RUNS)) else { return };
        let keys: HashSet<u128> = match self.study.keep {
            true => (0..self.study.rows()).map(|i| self.study.space.point(i).key).collect(),
            false => HashSet::new(),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let key = u128::from_str_radix(&name, 16).ok().filter(|_| name.len() == 32);
            if key.is_some_and(|key| !keys.contains(&key)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let _ = fs::remove_dir(self.dir.join(RUNS));
    }
}

/// A row as it is written: its length, itself, its checksum.
fn record(row: &Row) -> io::Result<Vec<u8>> {
    let bytes = postcard::to_stdvec(row).map_err(io::Error::other)?;
    let sum = crc32fast::hash(&bytes).to_le_bytes();
    Ok([&(bytes.len() as u32).to_le_bytes()[..], &bytes, &sum].concat())
}

/// Reads as many bytes as there are up to a number.
fn bytes(reader: &mut impl Read, n: usize) -> io::Result<Option<Vec<u8>>> {
    let mut out = vec![0; n];
    match reader.read_exact(&mut out) {
        Ok(()) => Ok(Some(out)),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e),
    }
}

fn number(reader: &mut impl Read) -> io::Result<Option<u32>> {
    Ok(bytes(reader, 4)?.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])))
}

/// The next row and its length on disk; none where the file ends, or is not whole any more.
fn read_record(reader: &mut impl Read) -> io::Result<Option<(Row, u64)>> {
    let Some(length) = number(reader)?.filter(|n| *n <= LONGEST) else { return Ok(None) };
    let Some(body) = bytes(reader, length as usize)? else { return Ok(None) };
    let sum = number(reader)?;
    if sum != Some(crc32fast::hash(&body)) {
        return Ok(None);
    }
    Ok(postcard::from_bytes(&body).ok().map(|row| (row, 8 + u64::from(length))))
}

/// What stands at the beginning, and where rows begin.
fn read_head(reader: &mut impl Read) -> io::Result<Option<(Head, u64)>> {
    if bytes(reader, MAGIC.len())?.as_deref() != Some(MAGIC) {
        return Ok(None);
    }
    let Some(length) = number(reader)?.filter(|n| *n <= LONGEST) else { return Ok(None) };
    let Some(text) = bytes(reader, length as usize)? else { return Ok(None) };
    let start = (MAGIC.len() + 4) as u64 + u64::from(length);
    Ok(serde_json::from_slice(&text).ok().map(|head| (head, start)))
}

/// How many rows a file holds.
fn count(file: &mut File) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut n = 0;
    if read_head(&mut reader)?.is_some() {
        while read_record(&mut reader)?.is_some() {
            n += 1;
        }
    }
    Ok(n)
}

fn copy(from: &Path, to: &mut File) -> io::Result<()> {
    to.set_len(0)?;
    to.seek(SeekFrom::Start(0))?;
    io::copy(&mut File::open(from)?, to).map(|_| ())
}

/// What is not as it was.
fn differs(found: &Head, head: &Head) -> Option<String> {
    if found.program != head.program {
        return Some(format!("its rows are of {}, and this is {}", found.program, head.program));
    }
    let name = head.about.iter().find(|pair| !found.about.contains(pair)).map(|(name, _)| name.as_str())?;
    Some(match name {
        "model" => "the model, or a file that it reads, has changed since the study began".into(),
        _ => format!("`{name}` has changed since the study began"),
    })
}

/// Refuses a folder with anything in it but a study.
fn refuse_others(dir: &Path) -> Result<(), LedgerError> {
    if is_study(dir) {
        return Ok(());
    }
    let mut entries = fs::read_dir(dir).map_err(|e| explain(dir, e))?.flatten().map(|e| e.file_name());
    // a study that was killed before its first row leaves this, and one that keeps results those of its first rows
    match entries.find(|name| *name != *UNFINISHED && *name != *RUNS) {
        None => Ok(()),
        Some(name) => {
            let text = format!("{} contains other files ({}) and no earlier study", dir.display(), name.display());
            Err(LedgerError::Refused(format!("{text}\nhelp: choose another folder with --out, or empty it")))
        }
    }
}

fn explain(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("cannot write {}: {e}", path.display()))
}
