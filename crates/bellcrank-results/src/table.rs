//! Columns of `results.parquet`, or of `results.rows` while a run goes on, read when they are asked for.
//!
//! Of a Parquet file only the footer is kept. A request reads the chunks of its columns, neighbours in one go, and decodes
//! them; measured: 1000 columns of 8192 rows take 0.15 s.

use crate::journal::Rows;
use crate::names;
use bytes::{Buf, Bytes};
use parquet::basic::{Repetition, Type};
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::SchemaDescriptor;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Chunks no farther apart than `GAP` bytes are read together, up to `SLAB` bytes at once.
const GAP: u64 = 1 << 16;
const SLAB: u64 = 1 << 24;

/// The columns of a result.
pub enum Table {
    /// Of a run that has ended.
    Columns(Columnar),
    /// Of a run that goes on, or was killed.
    Rows(Rows),
}

/// Two results with the same columns are those of one run if their common row is the same in this many of them.
const COMPARED: usize = 64;

impl Table {
    /// Opens a file, which tells what it is.
    pub fn open(path: &Path) -> io::Result<Table> {
        match path.file_name().is_some_and(|name| name == names::ROWS) {
            true => Rows::open(path).map(Table::Rows),
            false => guarded(|| Columnar::read_footer(path)).map(Table::Columns),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Table::Columns(table) => table.rows(),
            Table::Rows(rows) => rows.len(),
        }
    }

    /// Number of columns; the first is the time.
    pub fn width(&self) -> usize {
        match self {
            Table::Columns(table) => table.width(),
            Table::Rows(rows) => rows.described().width(),
        }
    }

    /// The name of a column.
    pub fn name(&self, column: usize) -> &str {
        match self {
            Table::Columns(table) => table.schema().columns()[column].name(),
            Table::Rows(rows) => rows.described().name(column),
        }
    }

    /// The names of all columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.width()).map(|column| self.name(column))
    }

    /// The units of all columns; empty for pure numbers.
    pub fn units(&self) -> Vec<&str> {
        match self {
            Table::Columns(table) => table.units(),
            Table::Rows(rows) => (0..self.width()).map(|column| rows.described().unit(column)).collect(),
        }
    }

    /// Whether this is `other`, perhaps with more rows: the same columns, and the same last row of those that both have.
    pub fn continues(&self, other: &Table) -> bool {
        let some: Vec<usize> = (0..self.width().min(COMPARED)).collect();
        let row = |table: &Table, row: usize| -> Option<Vec<u64>> {
            let values = table.read(&some, row..row + 1).ok()?;
            Some(values.iter().map(|x| x.to_bits()).collect())
        };
        self.rows() >= other.rows()
            && self.names().eq(other.names())
            && other.rows().checked_sub(1).is_none_or(|last| {
                let mine = row(self, last);
                mine.is_some() && mine == row(other, last)
            })
    }

    /// Rows of some columns, one column after the other.
    pub fn read(&self, columns: &[usize], rows: Range<usize>) -> io::Result<Vec<f64>> {
        if rows.start > rows.end || rows.end > self.rows() || columns.iter().any(|c| *c >= self.width()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there are no such rows or columns"));
        }
        match self {
            Table::Columns(table) => guarded(|| table.read_rows(columns, rows)),
            Table::Rows(table) => table.read(columns, rows),
        }
    }
}

/// The columns of a Parquet file.
pub struct Columnar {
    file: Mutex<File>,
    bytes: u64,
    meta: ParquetMetaData,
    /// The first row of each group, and the number of all rows at the end.
    starts: Vec<usize>,
}

impl Columnar {
    fn read_footer(path: &Path) -> io::Result<Columnar> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let meta = ParquetMetaDataReader::new().parse_and_finish(&file).map_err(plain)?;
        let schema = meta.file_metadata().schema_descr();
        for c in schema.columns() {
            if c.physical_type() != Type::DOUBLE || c.self_type().get_basic_info().repetition() != Repetition::REQUIRED
            {
                return Err(damaged(format!("column {:?} does not hold plain numbers", c.name())));
            }
        }
        let mut starts = vec![0usize];
        for group in meta.row_groups() {
            let rows =
                usize::try_from(group.num_rows()).map_err(|_| damaged("a group has a negative number of rows"))?;
            if group.num_columns() != schema.num_columns() {
                return Err(damaged("a group lacks columns"));
            }
            let sum = starts[starts.len() - 1].checked_add(rows);
            starts.push(sum.ok_or_else(|| damaged("there are more rows than can be counted"))?);
        }
        Ok(Columnar { file: Mutex::new(file), bytes, meta, starts })
    }

    fn rows(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn width(&self) -> usize {
        self.schema().num_columns()
    }

    fn schema(&self) -> &SchemaDescriptor {
        self.meta.file_metadata().schema_descr()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.schema().columns().iter().map(|c| c.name())
    }

    fn units(&self) -> Vec<&str> {
        let pairs = self.meta.file_metadata().key_value_metadata();
        let units =
            || pairs.into_iter().flatten().filter_map(|kv| Some((kv.key.strip_prefix("unit.")?, kv.value.as_deref()?)));
        // in our files they come in the order of the columns; a hash table of a million takes a second
        if self.names().eq(units().map(|(name, _)| name)) {
            return units().map(|(_, unit)| unit).collect();
        }
        let units: HashMap<&str, &str> = units().collect();
        self.names().map(|name| units.get(name).copied().unwrap_or("")).collect()
    }

    fn read_rows(&self, columns: &[usize], rows: Range<usize>) -> io::Result<Vec<f64>> {
        let mut out = vec![0.0; columns.len() * rows.len()];
        if out.is_empty() {
            return Ok(out);
        }
        let first = self.starts.partition_point(|s| *s <= rows.start) - 1;
        for (g, group) in self.meta.row_groups().iter().enumerate().skip(first) {
            let (start, end) = (self.starts[g], self.starts[g + 1]);
            if start >= rows.end {
                break;
            }
            let within = rows.start.max(start) - start..rows.end.min(end) - start;
            let place = start + within.start - rows.start;
            self.read_group(g, group, columns, within, |k, values| {
                let at = k * rows.len() + place;
                out[at..at + values.len()].copy_from_slice(values);
            })?;
        }
        Ok(out)
    }

    fn read_group(
        &self,
        g: usize,
        group: &RowGroupMetaData,
        columns: &[usize],
        rows: Range<usize>,
        mut put: impl FnMut(usize, &[f64]),
    ) -> io::Result<()> {
        let mut chunks = Vec::with_capacity(columns.len()); // place in the file, place in the request
        for (k, column) in columns.iter().enumerate() {
            chunks.push((self.chunk(g, *column)?, k));
        }
        chunks.sort_by_key(|(bytes, _)| bytes.start);
        let mut values = Vec::with_capacity(rows.len());
        let mut rest = chunks.as_slice();
        while let Some((head, _)) = rest.first() {
            let mut end = head.end;
            let mut n = 1;
            while let Some((next, _)) = rest.get(n) {
                if next.start > end + GAP || next.end.max(end) - head.start > SLAB {
                    break;
                }
                end = end.max(next.end);
                n += 1;
            }
            let slab = Arc::new(self.slab(head.start..end)?);
            for (_, k) in &rest[..n] {
                values.clear();
                decode(&slab, group, columns[*k], &rows, &mut values).map_err(plain)?;
                if values.len() != rows.len() {
                    return Err(damaged("a column ends before its rows do"));
                }
                put(*k, &values);
            }
            rest = &rest[n..];
        }
        Ok(())
    }

    /// Where the chunk of a column lies in the file.
    fn chunk(&self, group: usize, column: usize) -> io::Result<Range<u64>> {
        let chunk = self.meta.row_group(group).column(column);
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        range.filter(|r| r.end <= self.bytes).ok_or_else(|| damaged("a column lies outside of the file"))
    }

    fn slab(&self, range: Range<u64>) -> io::Result<Slab> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let mut file = self.file.lock().unwrap_or_else(|e| e.into_inner());
        file.seek(SeekFrom::Start(range.start))?;
        file.read_exact(&mut bytes)?;
        Ok(Slab { start: range.start, bytes: bytes.into() })
    }
}

fn decode(
    slab: &Arc<Slab>,
    group: &RowGroupMetaData,
    column: usize,
    rows: &Range<usize>,
    out: &mut Vec<f64>,
) -> Result<(), ParquetError> {
    let chunk = group.column(column);
    let all = usize::try_from(group.num_rows()).unwrap_or(0);
    let pages = SerializedPageReader::new(slab.clone(), chunk, all, None)?;
    let mut reader =
        get_typed_column_reader::<DoubleType>(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)));
    reader.skip_records(rows.start)?;
    while out.len() < rows.len() {
        let (records, _, _) = reader.read_records(rows.len() - out.len(), None, None, out)?;
        if records == 0 {
            break;
        }
    }
    Ok(())
}

/// A part of the file in memory, addressed like the file.
struct Slab {
    start: u64,
    bytes: Bytes,
}

impl Slab {
    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let at = start.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let at = at.filter(|at| *at <= self.bytes.len());
        at.map(|at| self.bytes.slice(at..)).ok_or_else(|| ParquetError::EOF("outside of the chunk".into()))
    }
}

impl Length for Slab {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Slab {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let rest = self.from(start)?;
        if length > rest.len() {
            return Err(ParquetError::EOF("a page is longer than its chunk".into()));
        }
        Ok(rest.slice(..length))
    }
}

/// The Parquet reader asserts some properties of its input: a damaged file must give an error, not a panic.
fn guarded<T>(read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(damaged("its contents are inconsistent")))
}

fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// The error of the file system where there is one.
fn plain(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => e.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e),
        ParquetError::General(text) | ParquetError::EOF(text) => damaged(text),
        e => io::Error::new(io::ErrorKind::InvalidData, e),
    }
}
