//! Apache Parquet: columns that are read on demand, exact, compressed.
//!
//! One required `DOUBLE` column per channel, `time` first, under the channel's own name (a dot in it
//! means nothing to Parquet). Units, the model's name and the program are in the key–value metadata:
//! `unit.crank.x` = `m`, `model`, `program`.
//!
//! It is made of the rows of a run that has ended, group by group. Nothing here depends on the clock: the same run gives the
//! same bytes. [Apache Parquet format 2.11, File format]
//!
//! Chunks and the footer are written here: one page for each chunk, and 20 bytes for each column and 8 for each of its chunks until the
//! footer is written. As records of the `parquet` crate, which reads these files, a million columns would take gigabytes, and a
//! short chunk more instructions than the values in it.
//!
//! Measured: a file of 0.7 GB opens in 50 ms. pyarrow opens a file of a million channels
//! only with `thrift_container_size_limit` raised.

mod chunk;
mod footer;
mod thrift;

use self::chunk::Chunks;
use self::footer::{FooterText, Group};
use self::thrift::Compact;
use crate::journal::Rows;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

/// What a file begins and ends with.
const MAGIC: &[u8; 4] = b"PAR1";
/// Upper limits of a row group: rows, and bytes before compression.
const ROWS: usize = 8192;
const BYTES: usize = 32 << 20;
/// Lower limits: rows, and rows for each group before it. The footer takes about 60 bytes for each chunk of each group,
/// and thus stays smaller than the data it is written with.
const MIN_ROWS: usize = 64;
const ROWS_PER_GROUP: usize = 16;
/// Chunks of so few rows are not compressed: that takes twice the instructions of all the rest, for a fifth of the bytes.
const SHORT: usize = 2500;
/// Rows are turned into columns in strips of this many bytes.
const STRIP: usize = BYTES / 4;

/// Writes the rows as a Parquet file.
pub fn write(rows: &Rows, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    out.write_all(MAGIC)?;
    let mut chunks = Chunks::new(&mut out, MAGIC.len() as u64);
    let mut about = FooterText { columns: rows.described(), groups: vec![] };
    let mut next = 0;
    while next < rows.len() {
        let most = group_rows(about.columns.width(), about.groups.len());
        let group = next..rows.len().min(next + most);
        next = group.end;
        about.groups.push(encode(rows, group, &mut chunks)?);
    }
    let mut footer = Compact { out: &mut out, written: 0 };
    about.write(&mut footer)?;
    let length = u32::try_from(footer.written).map_err(io::Error::other)?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(MAGIC)?;
    out.flush()
}

/// Adds rows as a group.
fn encode<W: Write>(from: &Rows, rows: Range<usize>, chunks: &mut Chunks<W>) -> io::Result<Group> {
    let width = from.described().width();
    let compressed = rows.len() > SHORT;
    let mut group = Group { rows: rows.len(), start: chunks.written, compressed, sizes: Vec::with_capacity(width) };
    let most = (STRIP / (8 * rows.len())).clamp(1, width);
    let mut values = Vec::new();
    for first in (0..width).step_by(most) {
        let strip = first..width.min(first + most);
        values.resize(strip.len() * rows.len(), 0.0);
        from.block(rows.clone(), strip.clone(), &mut values)?;
        for j in 0..strip.len() {
            group.sizes.push(chunks.add(&values, j, strip.len(), compressed)?);
        }
    }
    Ok(group)
}

/// The number of rows of the next group.
fn group_rows(width: usize, groups: usize) -> usize {
    (BYTES / (8 * width)).clamp(MIN_ROWS, ROWS).max(ROWS_PER_GROUP * groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PROGRAM;
    use crate::journal::Journal;
    use crate::testing::{ODD_NAMES, ODD_VALUES, Scratch, header};
    use parquet::column::reader::get_typed_column_reader;
    use parquet::data_type::DoubleType;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::fs::File;
    use std::path::{Path, PathBuf};

    /// The columns by name, and the number of row groups.
    fn read(path: &Path) -> (Vec<(String, Vec<f64>)>, usize) {
        let r = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let schema = r.metadata().file_metadata().schema_descr_ptr();
        let mut columns: Vec<_> = schema.columns().iter().map(|c| (c.name().to_string(), vec![])).collect();
        for g in 0..r.num_row_groups() {
            let group = r.get_row_group(g).unwrap();
            for (j, (_, out)) in columns.iter_mut().enumerate() {
                let mut chunk = get_typed_column_reader::<DoubleType>(group.get_column_reader(j).unwrap());
                chunk.read_records(usize::MAX, None, None, out).unwrap();
            }
        }
        (columns, r.num_row_groups())
    }

    fn bits(x: &[f64]) -> Vec<u64> {
        x.iter().map(|x| x.to_bits()).collect()
    }

    /// Writes rows to a file beside their journal.
    fn written<S: AsRef<str>>(s: &Scratch, names: &[S], rows: impl Iterator<Item = (f64, Vec<f64>)>) -> PathBuf {
        let (path, journal) = (s.path().join("r.parquet"), s.path().join("rows"));
        let mut out = Journal::begin(File::create(&journal).unwrap(), &header(names)).unwrap();
        rows.for_each(|(t, values)| out.push(t, &values).unwrap());
        out.write().unwrap();
        write(&Rows::open(&journal).unwrap(), File::create(&path).unwrap()).unwrap();
        path
    }

    #[test]
    fn odd_names_and_values_come_back_to_the_bit() {
        let s = Scratch::new("parquet-odd");
        let rows = [(0.3, ODD_VALUES.to_vec()), (0.4, ODD_VALUES.map(|x| -x).to_vec())];
        let path = written(&s, &ODD_NAMES, rows.into_iter());
        let (columns, _) = read(&path);
        assert_eq!(columns[0], ("time".to_string(), vec![0.3, 0.4]));
        for ((column, name), x) in columns[1..].iter().zip(ODD_NAMES).zip(ODD_VALUES) {
            assert_eq!((column.0.as_str(), bits(&column.1)), (name, bits(&[x, -x])));
        }
        let r = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let meta = r.metadata().file_metadata().key_value_metadata().unwrap();
        let value = |key: &str| meta.iter().find(|kv| kv.key == key).unwrap().value.clone().unwrap();
        assert_eq!([value("unit.time"), value("unit.a,b"), value("model")], ["s", "m", "test"]);
        assert_eq!(value("program"), PROGRAM);
    }

    #[test]
    fn groups_hold_all_rows_and_the_same_run_gives_the_same_bytes() {
        let s = Scratch::new("parquet-same");
        let n = 2 * ROWS + 5;
        let rows = || (0..n).map(|i| (i as f64, vec![(i as f64).sin()]));
        let path = written(&s, &["x"], rows());
        let (columns, groups) = read(&path);
        let expected: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        assert_eq!((groups, bits(&columns[1].1)), (3, bits(&expected)));
        let first = std::fs::read(&path).unwrap();
        assert!(first == std::fs::read(written(&s, &["x"], rows())).unwrap());
        let (columns, groups) = read(&written(&s, &["x"], std::iter::empty()));
        assert_eq!((columns, groups), (vec![("time".into(), vec![]), ("x".into(), vec![])], 0));
    }

    #[test]
    fn groups_are_bounded_and_footers_stay_smaller_than_data() {
        assert_eq!(group_rows(2, 0), ROWS);
        assert_eq!(group_rows(3000, 0), BYTES / 24_000);
        for groups in 0..5000 {
            assert!(8 * group_rows(1_000_000, groups) > 60 * groups);
        }
    }

    /// As wide as a model of tens of thousands of bodies: columns are made in strips.
    #[test]
    fn many_channels_come_in_strips() {
        let s = Scratch::new("parquet-wide");
        let width = 1 + STRIP / 16;
        let names: Vec<String> = (0..width - 1).map(|k| format!("c{k}")).collect();
        let rows = (0..2).map(|k| (k as f64, (1..width).map(|c| (k * c) as f64 + 0.5).collect()));
        let (columns, groups) = read(&written(&s, &names, rows));
        assert_eq!((groups, columns.len()), (1, width));
        assert_eq!(columns[0], ("time".into(), vec![0.0, 1.0]));
        for (c, column) in columns.iter().enumerate().skip(1) {
            assert_eq!(*column, (format!("c{}", c - 1), vec![0.5, c as f64 + 0.5]));
        }
    }

    #[test]
    fn a_disk_that_is_full_is_told_as_such() {
        // Linux: every write to this device fails for want of space
        let Ok(file) = File::options().write(true).open("/dev/full") else { return };
        let s = Scratch::new("parquet-full");
        let journal = s.path().join("rows");
        Journal::begin(File::create(&journal).unwrap(), &header(&["x"])).unwrap();
        let e = write(&Rows::open(&journal).unwrap(), file).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::StorageFull);
    }
}
