//! Tidy tables: one row for each run of a study, columns of numbers and of texts, as Parquet.
//!
//! A value that is missing (that of a run which failed) is null in the file; here it is NaN or an empty text. Units are in the
//! metadata as `unit.NAME`, beside what the writer tells of the table. Nothing depends on the clock: the same rows give the same
//! bytes.

use crate::PROGRAM;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// The table of a study, in its folder.
pub const TABLE: &str = "study.parquet";

/// Rows of a group: what the writer is handed at once.
pub const GROUP: usize = 8192;

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TidyColumn {
    /// Its name.
    pub name: String,
    /// Its unit; empty for pure numbers and texts.
    pub unit: String,
    /// Whether it holds texts, not numbers.
    pub is_text: bool,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum TidyValues {
    /// Numbers; NaN where one is missing.
    Numbers(Vec<f64>),
    /// Texts; empty where one is missing.
    Texts(Vec<String>),
}

impl TidyValues {
    /// An empty column of its kind.
    pub fn of(column: &TidyColumn) -> TidyValues {
        if column.is_text { TidyValues::Texts(Vec::new()) } else { TidyValues::Numbers(Vec::new()) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            TidyValues::Numbers(x) => x.len(),
            TidyValues::Texts(x) => x.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        match self {
            TidyValues::Numbers(x) => x.clear(),
            TidyValues::Texts(x) => x.clear(),
        }
    }

    /// The numbers; none of a column of texts.
    pub fn numbers(&self) -> Option<&[f64]> {
        match self {
            TidyValues::Numbers(x) => Some(x),
            TidyValues::Texts(_) => None,
        }
    }

    /// The value of a row in letters; empty where it is missing.
    pub fn shown(&self, row: usize) -> String {
        match self {
            TidyValues::Numbers(x) => x.get(row).filter(|x| !x.is_nan()).map_or(String::new(), |x| x.to_string()),
            TidyValues::Texts(x) => x.get(row).cloned().unwrap_or_default(),
        }
    }
}

/// Writes a table, group by group.
pub struct TidyWriter<W: Write + Send> {
    out: SerializedFileWriter<W>,
}

impl<W: Write + Send> TidyWriter<W> {
    /// Begins a table; `about` are pairs of texts for its metadata.
    pub fn new(out: W, columns: &[TidyColumn], about: &[(&str, &str)]) -> io::Result<TidyWriter<W>> {
        let field = |c: &TidyColumn| {
            let physical = if c.is_text { Physical::BYTE_ARRAY } else { Physical::DOUBLE };
            let logical = c.is_text.then_some(LogicalType::String);
            let field = Type::primitive_type_builder(&c.name, physical).with_repetition(Repetition::OPTIONAL);
            field.with_logical_type(logical).build().map(Arc::new)
        };
        let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(plain)?;
        let schema = Type::group_type_builder("study").with_fields(fields).build().map_err(plain)?;
        let mut pairs = vec![KeyValue::new("program".into(), PROGRAM.to_string())];
        pairs.extend(about.iter().map(|(key, value)| KeyValue::new(key.to_string(), value.to_string())));
        let units = columns.iter().filter(|c| !c.unit.is_empty());
        pairs.extend(units.map(|c| KeyValue::new(format!("unit.{}", c.name), c.unit.clone())));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_created_by(PROGRAM.replace(' ', " version "))
            .set_key_value_metadata(Some(pairs))
            .build();
        let out = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(plain)?;
        Ok(TidyWriter { out })
    }

    /// Adds rows, one list of values for each column.
    pub fn write(&mut self, columns: &[TidyValues]) -> io::Result<()> {
        let mut write = || {
            let mut group = self.out.next_row_group()?;
            for values in columns {
                let Some(mut chunk) = group.next_column()? else { break };
                match values {
                    TidyValues::Numbers(x) => {
                        let levels: Vec<i16> = x.iter().map(|x| i16::from(!x.is_nan())).collect();
                        let there: Vec<f64> = x.iter().copied().filter(|x| !x.is_nan()).collect();
                        chunk.typed::<DoubleType>().write_batch(&there, Some(&levels), None)?;
                    }
                    TidyValues::Texts(x) => {
                        let levels: Vec<i16> = x.iter().map(|x| i16::from(!x.is_empty())).collect();
                        let there: Vec<ByteArray> =
                            x.iter().filter(|x| !x.is_empty()).map(|x| ByteArray::from(x.as_str())).collect();
                        chunk.typed::<ByteArrayType>().write_batch(&there, Some(&levels), None)?;
                    }
                }
                chunk.close()?;
            }
            group.close().map(|_| ())
        };
        write().map_err(plain)
    }

    /// Writes what stands at the end.
    pub fn finish(self) -> io::Result<()> {
        self.out.close().map(|_| ()).map_err(plain)
    }
}

/// A table that was read, with all its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TidyTable {
    /// Its columns.
    pub columns: Vec<TidyColumn>,
    /// Their values.
    pub values: Vec<TidyValues>,
    /// Pairs of texts of its metadata.
    pub about: Vec<(String, String)>,
}

impl TidyTable {
    /// Reads a file.
    pub fn open(path: &Path) -> io::Result<TidyTable> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let file = File::open(path).map_err(named)?;
        // the decoder is handed files that others may have changed
        let read = catch_unwind(AssertUnwindSafe(|| TidyTable::read(file)));
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        read.unwrap_or_else(|_| Err(damaged())).map_err(named)
    }

    fn read(file: File) -> io::Result<TidyTable> {
        let reader = SerializedFileReader::new(file).map_err(plain)?;
        let meta = reader.metadata().file_metadata();
        let pairs = meta.key_value_metadata().cloned().unwrap_or_default();
        let about: Vec<(String, String)> = pairs.into_iter().map(|p| (p.key, p.value.unwrap_or_default())).collect();
        let schema = meta.schema_descr_ptr();
        let column = |c: &parquet::schema::types::ColumnDescPtr| {
            let key = format!("unit.{}", c.name());
            let unit = about.iter().find(|(k, _)| *k == key).map_or(String::new(), |(_, unit)| unit.clone());
            match c.physical_type() {
                Physical::DOUBLE | Physical::BYTE_ARRAY => {
                    let is_text = c.physical_type() == Physical::BYTE_ARRAY;
                    Ok(TidyColumn { name: c.name().to_string(), unit, is_text })
                }
                other => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("column {:?} holds {other}, not numbers or texts", c.name()),
                )),
            }
        };
        let columns = schema.columns().iter().map(column).collect::<io::Result<Vec<_>>>()?;
        let mut values: Vec<TidyValues> = columns.iter().map(TidyValues::of).collect();
        for g in 0..reader.num_row_groups() {
            let group = reader.get_row_group(g).map_err(plain)?;
            for (j, values) in values.iter_mut().enumerate() {
                let chunk = group.get_column_reader(j).map_err(plain)?;
                let mut levels = Vec::new();
                match values {
                    TidyValues::Numbers(all) => {
                        let mut there = Vec::new();
                        let mut chunk = get_typed_column_reader::<DoubleType>(chunk);
                        chunk.read_records(usize::MAX, Some(&mut levels), None, &mut there).map_err(plain)?;
                        all.extend(spread(&levels, there, f64::NAN));
                    }
                    TidyValues::Texts(all) => {
                        let mut there = Vec::new();
                        let mut chunk = get_typed_column_reader::<ByteArrayType>(chunk);
                        chunk.read_records(usize::MAX, Some(&mut levels), None, &mut there).map_err(plain)?;
                        let there = there.iter().map(|b| String::from_utf8_lossy(b.data()).into_owned()).collect();
                        all.extend(spread(&levels, there, String::new()));
                    }
                }
            }
        }
        Ok(TidyTable { columns, values, about })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.first().map_or(0, TidyValues::len)
    }

    /// The place of a column by its name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// What the metadata say under a name.
    pub fn told(&self, key: &str) -> Option<&str> {
        self.about.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }
}

/// Values that are there, each at its place.
fn spread<T: Clone>(levels: &[i16], there: Vec<T>, missing: T) -> Vec<T> {
    let mut there = there.into_iter();
    let place =
        |level: &i16| if *level > 0 { there.next().unwrap_or_else(|| missing.clone()) } else { missing.clone() };
    levels.iter().map(place).collect()
}

fn plain(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => e.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e),
        e => io::Error::other(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ODD_NAMES, ODD_VALUES, Scratch};

    fn column(name: &str, unit: &str, is_text: bool) -> TidyColumn {
        TidyColumn { name: name.into(), unit: unit.into(), is_text }
    }

    #[test]
    fn numbers_and_texts_come_back_and_what_is_missing_stays_missing() {
        let s = Scratch::new("tidy");
        let path = s.path().join("t.parquet");
        let columns = [column("k", "N/m", false), column("method", "", true), column("peak, \"x\"", "m", false)];
        let names: Vec<String> = ODD_NAMES.iter().map(|n| n.to_string()).collect();
        let group = [
            TidyValues::Numbers(ODD_VALUES.to_vec()),
            TidyValues::Texts(names),
            TidyValues::Numbers(vec![f64::NAN; ODD_VALUES.len()]),
        ];
        let write = || {
            let mut out = TidyWriter::new(File::create(&path).unwrap(), &columns, &[("axes", "[\"k\"]")]).unwrap();
            out.write(&group).unwrap();
            out.write(&group).unwrap();
            out.finish().unwrap();
            std::fs::read(&path).unwrap()
        };
        assert!(write() == write());
        let table = TidyTable::open(&path).unwrap();
        assert_eq!((&table.columns[..], table.rows()), (&columns[..], 2 * ODD_VALUES.len()));
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let numbers = table.values[0].numbers().unwrap();
        let twice = [ODD_VALUES, ODD_VALUES].concat();
        let clean = |x: f64| if x.is_nan() { f64::NAN } else { x };
        assert_eq!(bits(numbers), bits(&twice.iter().map(|x| clean(*x)).collect::<Vec<_>>()));
        let TidyValues::Texts(texts) = &table.values[1] else { panic!() };
        assert_eq!(texts[..9], ODD_NAMES);
        assert!(table.values[2].numbers().unwrap().iter().all(|x| x.is_nan()));
        assert_eq!((table.told("axes"), table.told("nothing")), (Some("[\"k\"]"), None));
    }

    #[test]
    fn files_that_are_cut_or_changed_are_refused_and_nothing_panics() {
        let s = Scratch::new("tidy-damaged");
        let path = s.path().join("t.parquet");
        let columns = [column("k", "", false), column("why", "", true)];
        let mut out = TidyWriter::new(File::create(&path).unwrap(), &columns, &[]).unwrap();
        let why = (0..100).map(|k| format!("reason {k}")).collect();
        out.write(&[TidyValues::Numbers((0..100).map(f64::from).collect()), TidyValues::Texts(why)]).unwrap();
        out.finish().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in (0..whole.len()).step_by(37) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(TidyTable::open(&path).is_err(), "{cut}");
        }
        for at in (0..whole.len()).step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            std::fs::write(&path, &bytes).unwrap();
            let _ = TidyTable::open(&path);
        }
    }
}
