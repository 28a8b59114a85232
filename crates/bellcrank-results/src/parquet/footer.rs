//! The footer of a Parquet file, in Thrift's compact protocol.
//! [Apache Parquet format 2.11, `parquet.thrift`; Thrift compact protocol]

use crate::PROGRAM;
use crate::journal::Described;
use parquet::basic::Encoding;
use std::io::{self, Write};

/// What the footer tells.
pub struct FooterText<'a> {
    pub columns: &'a Described,
    pub groups: Vec<Group>,
}

/// A row group: its number of rows and its place, the encodings and the sizes of its chunks before and after compression.
pub struct Group {
    pub rows: usize,
    pub start: u64,
    /// Whether its chunks are compressed.
    pub compressed: bool,
    pub encodings: Vec<Encoding>,
    pub sizes: Vec<[u32; 2]>,
}

/// Numbers of the types of fields in Thrift's compact protocol, and what the format calls things.
mod code {
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const STRUCT: u8 = 12;
    pub const DOUBLE: i64 = 5;
    pub const REQUIRED: i64 = 0;
    pub const UNCOMPRESSED: i64 = 0;
    pub const SNAPPY: i64 = 1;
    pub const VERSION: i64 = 1;
}

/// Thrift's compact protocol, as far as the footer needs it: fields by their distance from the one before.
pub struct Compact<W: Write> {
    pub out: W,
    pub written: u64,
}

impl<W: Write> Compact<W> {
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn varint(&mut self, mut n: u64) -> io::Result<()> {
        let (mut bytes, mut k) = ([0; 10], 0);
        while n >= 0x80 {
            bytes[k] = n as u8 | 0x80;
            (n, k) = (n >> 7, k + 1);
        }
        bytes[k] = n as u8;
        self.bytes(&bytes[..=k])
    }

    fn integer(&mut self, n: i64) -> io::Result<()> {
        self.varint(((n << 1) ^ (n >> 63)) as u64)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.varint(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    fn field(&mut self, distance: u8, kind: u8) -> io::Result<()> {
        self.bytes(&[distance << 4 | kind])
    }

    fn integer_field(&mut self, distance: u8, kind: u8, n: i64) -> io::Result<()> {
        self.field(distance, kind)?;
        self.integer(n)
    }

    fn text_field(&mut self, distance: u8, text: &str) -> io::Result<()> {
        self.field(distance, code::BINARY)?;
        self.text(text)
    }

    fn list_field(&mut self, distance: u8, kind: u8, length: usize) -> io::Result<()> {
        self.field(distance, code::LIST)?;
        match length {
            0..15 => self.bytes(&[(length as u8) << 4 | kind]),
            _ => {
                self.bytes(&[0xf0 | kind])?;
                self.varint(length as u64)
            }
        }
    }

    fn stop(&mut self) -> io::Result<()> {
        self.bytes(&[0])
    }

    fn pair(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.text_field(1, key)?;
        self.text_field(1, value)?;
        self.stop()
    }
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
            out.list_field(1, I32, group.encodings.len())?;
            group.encodings.iter().try_for_each(|e| out.integer(*e as i64))?;
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
