//! The footer of a Parquet file, in Thrift's compact protocol.
//! [Apache Parquet format 2.11, `parquet.thrift`; Thrift compact protocol]

use crate::PROGRAM;
use crate::journal::Described;
use crate::parquet::thrift::{Compact, code};
use std::io::{self, Write};

/// What the footer tells.
pub struct FooterText<'a> {
    pub columns: &'a Described,
    pub groups: Vec<Group>,
}

/// A row group: its number of rows and its place, and the sizes of its chunks before and after compression.
pub struct Group {
    pub rows: usize,
    pub start: u64,
    /// Whether its chunks are compressed.
    pub compressed: bool,
    pub sizes: Vec<[u32; 2]>,
}

impl FooterText<'_> {
    /// The `FileMetaData` of the format.
    pub fn write<W: Write>(&self, out: &mut Compact<W>) -> io::Result<()> {
        use code::*;
        out.integer_field(1, I32, VERSION)?;
        out.list_field(1, STRUCT, self.columns.width() + 1)?;
        out.text_field(4, "results")?;
        out.integer_field(1, I32, self.columns.width() as i64)?;
        out.stop()?;
        for j in 0..self.columns.width() {
            out.integer_field(1, I32, DOUBLE)?;
            out.integer_field(2, I32, REQUIRED)?;
            out.text_field(1, self.columns.name(j))?;
            out.stop()?;
        }
        out.integer_field(1, I64, self.groups.iter().map(|g| g.rows as i64).sum())?;
        out.list_field(1, STRUCT, self.groups.len())?;
        self.groups.iter().try_for_each(|group| self.write_group(group, out))?;
        out.list_field(1, STRUCT, self.columns.width() + 2)?;
        out.pair("program", PROGRAM)?;
        out.pair("model", &self.columns.model)?;
        let mut key = String::new();
        for j in 0..self.columns.width() {
            key.clear();
            key.push_str("unit.");
            key.push_str(self.columns.name(j));
            out.pair(&key, self.columns.unit(j))?;
        }
        out.text_field(1, &PROGRAM.replace(' ', " version "))?;
        out.stop()
    }

    /// A `RowGroup`.
    fn write_group<W: Write>(&self, group: &Group, out: &mut Compact<W>) -> io::Result<()> {
        use code::*;
        out.list_field(1, STRUCT, group.sizes.len())?;
        let (mut at, mut sums) = (group.start as i64, [0; 2]);
        for (j, sizes) in group.sizes.iter().enumerate() {
            let [plain, packed] = sizes.map(i64::from);
            out.integer_field(2, I64, 0)?;
            out.field(1, STRUCT)?;
            out.integer_field(1, I32, DOUBLE)?;
            out.list_field(1, I32, 2)?;
            [RUN_LENGTHS, BYTE_STREAM_SPLIT].into_iter().try_for_each(|encoding| out.integer(encoding))?;
            out.list_field(1, BINARY, 1)?;
            out.text(self.columns.name(j))?;
            out.integer_field(1, I32, if group.compressed { SNAPPY } else { UNCOMPRESSED })?;
            out.integer_field(1, I64, group.rows as i64)?;
            out.integer_field(1, I64, plain)?;
            out.integer_field(1, I64, packed)?;
            out.integer_field(2, I64, at)?;
            out.stop()?;
            out.stop()?;
            (at, sums) = (at + packed, [sums[0] + plain, sums[1] + packed]);
        }
        out.integer_field(1, I64, sums[0])?;
        out.integer_field(1, I64, group.rows as i64)?;
        out.integer_field(2, I64, group.start as i64)?;
        out.integer_field(1, I64, sums[1])?;
        out.stop()
    }
}
