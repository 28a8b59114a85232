//! Thrift's compact protocol, which pages and footers of Parquet files are described in.
//! [Apache Parquet format 2.11, `parquet.thrift`; Thrift compact protocol]

use std::io::{self, Write};

/// Numbers of the types of fields in Thrift's compact protocol, and what the format calls things.
pub mod code {
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
    pub const DATA_PAGE: i64 = 0;
    pub const RUN_LENGTHS: i64 = 3;
    pub const BYTE_STREAM_SPLIT: i64 = 9;
}

/// Thrift's compact protocol, as far as files of results need it: fields by their distance from the one before.
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

    pub fn integer(&mut self, n: i64) -> io::Result<()> {
        self.varint(((n << 1) ^ (n >> 63)) as u64)
    }

    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.varint(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    pub fn field(&mut self, distance: u8, kind: u8) -> io::Result<()> {
        self.bytes(&[distance << 4 | kind])
    }

    pub fn integer_field(&mut self, distance: u8, kind: u8, n: i64) -> io::Result<()> {
        self.field(distance, kind)?;
        self.integer(n)
    }

    pub fn text_field(&mut self, distance: u8, text: &str) -> io::Result<()> {
        self.field(distance, code::BINARY)?;
        self.text(text)
    }

    pub fn list_field(&mut self, distance: u8, kind: u8, length: usize) -> io::Result<()> {
        self.field(distance, code::LIST)?;
        match length {
            0..15 => self.bytes(&[(length as u8) << 4 | kind]),
            _ => {
                self.bytes(&[0xf0 | kind])?;
                self.varint(length as u64)
            }
        }
    }

    pub fn stop(&mut self) -> io::Result<()> {
        self.bytes(&[0])
    }

    pub fn pair(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.text_field(1, key)?;
        self.text_field(1, value)?;
        self.stop()
    }
}
