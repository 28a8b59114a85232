//! The chunk of a column: one page of its values, byte by byte, so that like bytes stand together and smooth motion compresses.
//! [Apache Parquet format 2.11, Data pages; Encodings, byte stream split]

use super::thrift::{Compact, code};
use std::io::{self, Write};

/// Writes chunks, one after the other.
pub struct Chunks<W: Write> {
    out: W,
    /// Where the next one begins.
    pub written: u64,
    /// The first bytes of all values, then the second ones, and so on.
    streams: Vec<u8>,
    packed: Vec<u8>,
    header: Vec<u8>,
}

impl<W: Write> Chunks<W> {
    /// Writes to `out`, so many bytes after its beginning.
    pub fn new(out: W, written: u64) -> Chunks<W> {
        Chunks { out, written, streams: Vec::new(), packed: Vec::new(), header: Vec::new() }
    }

    /// Adds column `j` of rows of so many values; gives its size before and after compression.
    pub fn add(&mut self, rows: &[f64], j: usize, width: usize, compressed: bool) -> io::Result<[u32; 2]> {
        let n = rows.len() / width;
        split(rows, j, width, &mut self.streams);
        if compressed {
            self.packed.resize(snap::raw::max_compress_len(self.streams.len()), 0);
            let length = snap::raw::Encoder::new().compress(&self.streams, &mut self.packed)?;
            self.packed.truncate(length);
        }
        let page = if compressed { &self.packed } else { &self.streams };
        self.header.clear();
        describe([n, self.streams.len(), page.len()], &mut self.header)?;
        self.out.write_all(&self.header)?;
        self.out.write_all(page)?;
        let sizes = [self.streams.len(), page.len()].map(|size| size + self.header.len());
        self.written += sizes[1] as u64;
        let [plain, packed] = sizes.map(u32::try_from);
        Ok([plain.map_err(io::Error::other)?, packed.map_err(io::Error::other)?])
    }
}

/// The `PageHeader` of values that are all there: how many they are, their size and that of what is written.
fn describe([values, plain, packed]: [usize; 3], out: &mut Vec<u8>) -> io::Result<()> {
    use code::*;
    let mut out = Compact { out, written: 0 };
    out.integer_field(1, I32, DATA_PAGE)?;
    out.integer_field(1, I32, plain as i64)?;
    out.integer_field(1, I32, packed as i64)?;
    out.field(2, STRUCT)?;
    out.integer_field(1, I32, values as i64)?;
    out.integer_field(1, I32, BYTE_STREAM_SPLIT)?;
    // of levels, which columns without gaps do not have
    out.integer_field(1, I32, RUN_LENGTHS)?;
    out.integer_field(1, I32, RUN_LENGTHS)?;
    out.stop()?;
    out.stop()
}

/// The bytes of a column of rows: the lowest ones of all values, then the next ones, up to the highest.
fn split(rows: &[f64], j: usize, width: usize, out: &mut Vec<u8>) {
    let n = rows.len() / width;
    out.resize(8 * n, 0);
    let whole = rows.chunks_exact(8 * width);
    let (mut first, rest) = (0, whole.remainder());
    for rows in whole {
        let mut block = [0, 1, 2, 3, 4, 5, 6, 7].map(|k: usize| rows[k * width + j].to_bits());
        transpose(&mut block);
        for (k, bytes) in block.iter().enumerate() {
            let at = k * n + first;
            out[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
        }
        first += 8;
    }
    for (i, row) in rest.chunks_exact(width).enumerate() {
        for (k, byte) in row[j].to_le_bytes().into_iter().enumerate() {
            out[k * n + first + i] = byte;
        }
    }
}

/// Byte i of number k becomes byte k of number i: halves, quarters and eighths of the square change places.
fn transpose(a: &mut [u64; 8]) {
    exchange::<4>(a, 0x0000_0000_ffff_ffff);
    exchange::<2>(a, 0x0000_ffff_0000_ffff);
    exchange::<1>(a, 0x00ff_00ff_00ff_00ff);
}

/// The upper parts of rows change places with the lower parts of those `STEP` further down.
fn exchange<const STEP: usize>(a: &mut [u64; 8], mask: u64) {
    for first in (0..8).step_by(2 * STEP) {
        for k in first..first + STEP {
            let swapped = (a[k] >> (8 * STEP) ^ a[k + STEP]) & mask;
            a[k + STEP] ^= swapped;
            a[k] ^= swapped << (8 * STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_hold_byte_by_byte_what_the_values_hold() {
        for (n, width) in [(1, 1), (7, 3), (8, 2), (29, 5)] {
            let rows: Vec<f64> = (0..n * width).map(|k| (k as f64 * 0.7).sin() * 1e3).collect();
            for j in 0..width {
                let mut out = vec![9; 3];
                split(&rows, j, width, &mut out);
                assert_eq!(out.len(), 8 * n);
                for i in 0..n {
                    let bytes: Vec<u8> = (0..8).map(|k| out[k * n + i]).collect();
                    assert_eq!(bytes, rows[i * width + j].to_le_bytes());
                }
            }
        }
    }
}
