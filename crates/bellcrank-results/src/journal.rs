//! The rows of a run while it goes on: one file that only ever grows.
//!
//! A Parquet file has its footer at its end, so it cannot be read while a group of rows is added. Rows are therefore
//! appended here, as plain numbers, and become a Parquet file when the run has ended. Whatever moment a run is killed at,
//! the file holds a whole number of rows and perhaps a piece of one, which readers leave out.
//!
//! ```text
//! "BCROWS1\n"   8 bytes
//! length        of the description, u64, little-endian
//! description   JSON: see `Described`
//! rows          width · f64, little-endian, one after the other
//! ```

use bellcrank_solve::record::{Header, check_width};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

const MAGIC: &[u8; 8] = b"BCROWS1\n";

/// Rows wait in memory up to this many bytes.
const BYTES: usize = 1 << 20;

/// Rows are read in blocks of about this many bytes.
const BLOCK: usize = 1 << 22;

/// What the columns are, the time included. A million of them take 20 bytes each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The name of the model.
    pub model: String,
    /// The names of the columns in a row; the first is `time`.
    names: String,
    /// Where each name ends.
    ends: Vec<u32>,
    /// The units there are; that of pure numbers is empty.
    words: Vec<String>,
    /// The unit of each column.
    units: Vec<u8>,
}

impl Described {
    /// The columns of a header; their names must differ.
    pub fn new(header: &Header) -> io::Result<Described> {
        let columns = header.channels.len() + 1;
        let mut described = Described {
            model: header.model.clone(),
            names: String::new(),
            ends: Vec::with_capacity(columns),
            words: Vec::new(),
            units: Vec::with_capacity(columns),
        };
        let mut seen = HashSet::with_capacity(columns);
        let channels = header.channels.iter().map(|c| (c.name.as_str(), c.unit));
        for (name, unit) in std::iter::once(("time", "s")).chain(channels) {
            if !seen.insert(name) {
                let message = format!("two channels have the name {name:?}: rename a body, joint or probe");
                return Err(io::Error::new(ErrorKind::InvalidInput, message));
            }
            described.names.push_str(name);
            described.ends.push(u32::try_from(described.names.len()).map_err(io::Error::other)?);
            let word = described.words.iter().position(|word| word == unit).unwrap_or_else(|| {
                described.words.push(unit.to_string());
                described.words.len() - 1
            });
            described.units.push(u8::try_from(word).map_err(io::Error::other)?);
        }
        Ok(described)
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.ends.len()
    }

    /// The name of a column.
    pub fn name(&self, column: usize) -> &str {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.names[start as usize..self.ends[column] as usize]
    }

    /// The unit of a column; empty for pure numbers.
    pub fn unit(&self, column: usize) -> &str {
        &self.words[usize::from(self.units[column])]
    }

    /// Whether each column has a name and a unit.
    fn is_sound(&self) -> bool {
        let mut last = 0;
        let sound = |end: &u32| {
            let ordered = *end >= last && self.names.is_char_boundary(*end as usize);
            last = *end;
            ordered
        };
        !self.ends.is_empty()
            && self.units.len() == self.ends.len()
            && self.units.iter().all(|unit| usize::from(*unit) < self.words.len())
            && self.ends.iter().all(sound)
    }
}

/// Appends rows to a file.
pub struct Journal {
    file: File,
    channels: usize,
    /// Rows that are not in the file yet.
    waiting: Vec<u8>,
    rows: u64,
}

impl Journal {
    /// Begins a file, which must be empty.
    pub fn begin(file: File, header: &Header) -> io::Result<Journal> {
        let described = Described::new(header)?;
        let mut file = file;
        let mut out = BufWriter::new(&file);
        out.write_all(&[0; 16])?;
        serde_json::to_writer(&mut out, &described)?;
        out.flush()?;
        drop(out);
        // a file without its first word holds nothing: it comes last
        let end = file.stream_position()?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&[MAGIC.as_slice(), &(end - 16).to_le_bytes()].concat())?;
        file.seek(SeekFrom::Start(end))?;
        Ok(Journal { file, channels: header.channels.len(), waiting: Vec::new(), rows: 0 })
    }

    /// Goes on after the first rows of a file; later ones are cut off.
    pub fn resume(file: File, header: &Header, rows: u64) -> io::Result<Journal> {
        let mut file = file;
        let (described, start) = describe(&mut file)?;
        let width = described.width() as u64;
        if described != Described::new(header)? {
            return Err(damaged("its columns are not those of this run"));
        }
        let end = rows.checked_mul(8 * width).and_then(|bytes| bytes.checked_add(start));
        let end = end.filter(|end| file.metadata().is_ok_and(|m| m.len() >= *end));
        let end = end.ok_or_else(|| damaged("it has fewer rows than the checkpoint says"))?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(Journal { file, channels: header.channels.len(), waiting: Vec::new(), rows })
    }

    /// Number of rows, those that wait included.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row.
    pub fn push(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        check_width(values, self.channels)?;
        self.waiting.extend_from_slice(&t.to_le_bytes());
        let from = self.waiting.len();
        self.waiting.resize(from + 8 * values.len(), 0);
        let bytes = self.waiting[from..].as_chunks_mut().0;
        bytes.iter_mut().zip(values).for_each(|(bytes, x)| *bytes = x.to_le_bytes());
        self.rows += 1;
        if self.waiting.len() >= BYTES { self.write() } else { Ok(()) }
    }

    /// Hands the rows that wait to the system: from here on, killing the run does not lose them.
    pub fn write(&mut self) -> io::Result<()> {
        self.file.write_all(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// Writes all rows, and waits until the disk has them.
    pub fn sync(&mut self) -> io::Result<()> {
        self.write()?;
        self.file.sync_data()
    }
}

/// Whether a file does not begin yet, because its run was killed or is at its very beginning.
pub fn is_blank(path: &Path) -> bool {
    let mut magic = [0; 8];
    match File::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) => magic == [0; 8],
        Err(e) => e.kind() == io::ErrorKind::UnexpectedEof,
    }
}

/// The rows of a file, read when they are asked for.
pub struct Rows {
    file: Mutex<File>,
    described: Described,
    start: u64,
    rows: usize,
}

impl Rows {
    /// Opens a file, which may still grow.
    pub fn open(path: &Path) -> io::Result<Rows> {
        let mut file = File::open(path)?;
        let (described, start) = describe(&mut file)?;
        let bytes = file.metadata()?.len().saturating_sub(start);
        let rows = usize::try_from(bytes / (8 * described.width() as u64)).map_err(|e| damaged(e.to_string()))?;
        Ok(Rows { file: Mutex::new(file), described, start, rows })
    }

    /// What the columns are.
    pub fn described(&self) -> &Described {
        &self.described
    }

    /// Number of whole rows when it was opened.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Neighbouring columns of one row after the other.
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [f64]) -> io::Result<()> {
        let (width, per) = (self.described.width(), columns.len());
        let mut file = self.file.lock().unwrap_or_else(|e| e.into_inner());
        let place = |row: usize| self.start + 8 * (row * width + columns.start) as u64;
        let mut bytes = Vec::new();
        let mut read = |at: u64, out: &mut [f64]| {
            bytes.resize(8 * out.len(), 0);
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut bytes)?;
            out.iter_mut().zip(bytes.as_chunks().0).for_each(|(x, bytes)| *x = f64::from_le_bytes(*bytes));
            io::Result::Ok(())
        };
        if per == width {
            return read(place(rows.start), out); // in one piece
        }
        rows.zip(out.chunks_exact_mut(per)).try_for_each(|(row, out)| read(place(row), out))
    }

    /// Rows of some columns, one column after the other.
    pub fn read(&self, columns: &[usize], rows: Range<usize>) -> io::Result<Vec<f64>> {
        let mut out = vec![0.0; columns.len() * rows.len()];
        let (Some(least), Some(most)) = (columns.iter().min(), columns.iter().max()) else { return Ok(out) };
        let all = *least..most + 1;
        let at_once = (BLOCK / (8 * all.len())).max(1);
        let mut block = Vec::new();
        for first in rows.clone().step_by(at_once) {
            let some = first..rows.end.min(first + at_once);
            block.resize(some.len() * all.len(), 0.0);
            self.block(some.clone(), all.clone(), &mut block)?;
            for (row, values) in some.zip(block.chunks_exact(all.len())) {
                for (k, column) in columns.iter().enumerate() {
                    out[k * rows.len() + row - rows.start] = values[column - all.start];
                }
            }
        }
        Ok(out)
    }
}

/// What the columns of a file are, and where its rows begin.
fn describe(file: &mut File) -> io::Result<(Described, u64)> {
    let bytes = file.metadata()?.len();
    let (mut magic, mut length) = ([0; 8], [0; 8]);
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(&mut magic)?;
    file.read_exact(&mut length)?;
    let start = u64::from_le_bytes(length).checked_add(16).filter(|start| *start <= bytes && magic == *MAGIC);
    let start = start.ok_or_else(|| damaged("it does not begin as rows of a run do"))?;
    let text = BufReader::new(Read::take(&mut *file, start - 16));
    let described: Described = serde_json::from_reader(text).map_err(|e| damaged(e.to_string()))?;
    if !described.is_sound() {
        return Err(damaged("its columns are not described"));
    }
    Ok((described, start))
}

fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ODD_NAMES, ODD_VALUES, Scratch, header};

    fn made(path: &Path) -> File {
        File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap()
    }

    #[test]
    fn what_was_written_is_read_at_any_length_the_file_is_cut_to() {
        let s = Scratch::new("journal-cut");
        let path = s.path().join("rows");
        let mut journal = Journal::begin(made(&path), &header(&ODD_NAMES)).unwrap();
        let begun = std::fs::metadata(&path).unwrap().len() as usize;
        for k in 0..5 {
            journal.push(k as f64, &ODD_VALUES).unwrap();
        }
        assert!(journal.push(0.0, &[1.0]).is_err());
        journal.sync().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let row = 8 * (ODD_NAMES.len() + 1);
        assert_eq!(whole.len(), begun + 5 * row);
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            if length < begun {
                assert!(Rows::open(&path).is_err(), "{length}");
                continue;
            }
            let rows = Rows::open(&path).unwrap();
            assert_eq!(rows.len(), (length - begun) / row);
            assert!((1..10).all(|k| rows.described().name(k) == ODD_NAMES[k - 1] && rows.described().unit(k) == "m"));
            let read = rows.read(&[9, 0, 5], 0..rows.len()).unwrap();
            for k in 0..rows.len() {
                let got = [read[k], read[rows.len() + k], read[2 * rows.len() + k]];
                assert_eq!(got.map(f64::to_bits), [ODD_VALUES[8], k as f64, ODD_VALUES[4]].map(f64::to_bits));
            }
        }
    }

    #[test]
    fn a_journal_goes_on_after_the_rows_that_a_checkpoint_knows() {
        let s = Scratch::new("journal-resume");
        let path = s.path().join("rows");
        let mut journal = Journal::begin(made(&path), &header(&["x"])).unwrap();
        (0..4).for_each(|k| journal.push(f64::from(k), &[0.5]).unwrap());
        journal.write().unwrap();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        let mut journal = Journal::resume(open(), &header(&["x"]), 2).unwrap();
        journal.push(9.0, &[1.5]).unwrap();
        journal.write().unwrap();
        assert_eq!(Rows::open(&path).unwrap().read(&[0], 0..3).unwrap(), [0.0, 1.0, 9.0]);
        assert!(Journal::resume(open(), &header(&["x"]), 4).is_err());
        assert!(Journal::resume(open(), &header(&["y"]), 1).is_err());
    }

    #[test]
    fn names_must_differ() {
        for names in [["a", "a"], ["b", "time"]] {
            let e = Described::new(&header(&names)).unwrap_err();
            assert!(e.to_string().contains(&format!("{:?}", names[1])), "{e}");
        }
    }
}
