//! Frames in memory, column after column: what NumPy and Arrow take over without copying.

use super::{Ended, Header, Recorder, RunReport, check_width};
use std::io;

/// Rows in a chunk, where the channels are few.
const ROWS: usize = 4096;
/// Values in a chunk, where they are many: 8 MiB.
const VALUES: usize = 1 << 20;

/// Keeps the values of each channel together, in chunks that are never moved once written.
///
/// A recorded run is a list of chunks of the same number of rows (the last may be shorter); within a chunk each
/// column, the time first, is one slice. Nothing is transposed at the end.
#[derive(Clone, Debug, Default)]
pub struct ColumnMemory {
    header: Header,
    /// Column after column, each of `rows_per_chunk` values.
    chunks: Vec<Vec<f64>>,
    rows_per_chunk: usize,
    rows: usize,
    ended: Option<Ended>,
}

impl ColumnMemory {
    /// What the columns are; the time comes before them.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of frames.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How the run ended; nothing while it goes on.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// The slices of a column in order of time, one for each chunk: column 0 is the time, column j channel j − 1.
    /// A column that does not exist has none.
    pub fn slices(&self, column: usize) -> impl Iterator<Item = &[f64]> {
        let per = self.rows_per_chunk;
        let exists = column <= self.header.channels.len();
        self.chunks.iter().enumerate().filter(move |_| exists).map(move |(k, chunk)| {
            let rows = (self.rows - k * per).min(per);
            &chunk[column * per..column * per + rows]
        })
    }

    /// Hands over the frames again, in order, until one is refused.
    pub fn replay(&self, take: &mut dyn FnMut(f64, &[f64]) -> io::Result<()>) -> io::Result<()> {
        let mut row = vec![0.0; self.header.channels.len()];
        for (k, chunk) in self.chunks.iter().enumerate() {
            for i in 0..(self.rows - k * self.rows_per_chunk).min(self.rows_per_chunk) {
                let columns = chunk[self.rows_per_chunk..].chunks_exact(self.rows_per_chunk);
                row.iter_mut().zip(columns).for_each(|(x, column)| *x = column[i]);
                take(chunk[i], &row)?;
            }
        }
        Ok(())
    }

    /// A column in one piece: 0 is the time, j channel j − 1.
    pub fn column(&self, column: usize) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.rows);
        self.slices(column).for_each(|slice| out.extend_from_slice(slice));
        out
    }

    /// A channel by its name, in one piece.
    pub fn channel(&self, name: &str) -> Option<Vec<f64>> {
        let j = self.header.channels.iter().position(|c| c.name == name)?;
        Some(self.column(j + 1))
    }
}

impl Recorder for ColumnMemory {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        let width = header.channels.len() + 1;
        let rows_per_chunk = (VALUES / width).clamp(16, ROWS);
        *self = ColumnMemory { header: header.clone(), rows_per_chunk, ..ColumnMemory::default() };
        Ok(())
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        check_width(values, self.header.channels.len())?;
        let per = self.rows_per_chunk;
        let row = self.rows % per;
        if row == 0 {
            self.chunks.push(vec![0.0; per * (values.len() + 1)]);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk[row] = t;
            for (column, x) in chunk[per..].chunks_exact_mut(per).zip(values) {
                column[row] = *x;
            }
            self.rows += 1;
        }
        Ok(())
    }

    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        self.ended = Some(report.ended());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Memory;
    use crate::record::testing::header;

    #[test]
    fn columns_are_those_of_the_rows() {
        let (mut columns, mut rows) = (ColumnMemory::default(), Memory::default());
        let n = 2 * ROWS + 3;
        for r in [&mut columns as &mut dyn Recorder, &mut rows] {
            r.begin(&header(&["a", "b"])).unwrap();
            (0..n).for_each(|k| r.frame(k as f64, &[(k as f64).sin(), -(k as f64)]).unwrap());
            assert!(r.frame(0.0, &[1.0]).is_err());
            r.end(&Ended::Finished).unwrap();
        }
        assert_eq!((columns.rows(), columns.ended()), (n, Some(&Ended::Finished)));
        assert_eq!(columns.column(0), rows.times);
        for name in ["a", "b", "c"] {
            assert_eq!(columns.channel(name), rows.column(name));
        }
        let lengths: Vec<usize> = columns.slices(1).map(<[f64]>::len).collect();
        assert_eq!(lengths, [ROWS, ROWS, 3]);
        assert_eq!(columns.slices(3).count(), 0);
        let mut again = Memory::default();
        again.begin(&header(&["a", "b"])).unwrap();
        columns.replay(&mut |t, values| again.frame(t, values)).unwrap();
        assert_eq!((again.times, again.values), (rows.times, rows.values));
        columns.begin(&header(&[])).unwrap();
        assert_eq!((columns.rows(), columns.slices(0).count()), (0, 0));
        columns.frame(0.25, &[]).unwrap();
        assert_eq!(columns.column(0), [0.25]);
    }
}
