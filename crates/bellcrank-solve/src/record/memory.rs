//! Frames in memory, row after row.

use super::{Ended, Header, Recorder, RunReport, check_width};
use std::io;

/// Keeps the times and all values, frame after frame.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What the columns are.
    pub header: Header,
    /// The time of each frame.
    pub times: Vec<f64>,
    /// The values, frame after frame.
    pub values: Vec<f64>,
    /// How the run ended; nothing while it goes on.
    pub ended: Option<Ended>,
}

impl Memory {
    /// The values of frame `i` (of `times.len()`), in the order of the header.
    pub fn row(&self, i: usize) -> &[f64] {
        let n = self.header.channels.len();
        &self.values[i * n..(i + 1) * n]
    }

    /// One channel over time, or nothing if there is none of that name.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let j = self.header.channels.iter().position(|c| c.name == name)?;
        Some((0..self.times.len()).map(|i| self.row(i)[j]).collect())
    }
}

impl Recorder for Memory {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        *self = Memory { header: header.clone(), ..Memory::default() };
        Ok(())
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        check_width(values, self.header.channels.len())?;
        self.times.push(t);
        self.values.extend_from_slice(values);
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
    use crate::record::testing::header;

    #[test]
    fn keeps_rows_and_columns_and_starts_afresh() {
        let mut m = Memory::default();
        for _ in 0..2 {
            m.begin(&header(&["a", "b"])).unwrap();
            assert_eq!(m.ended, None);
            m.frame(0.0, &[1.0, 2.0]).unwrap();
            m.frame(0.5, &[3.0, 4.0]).unwrap();
            assert!(m.frame(1.0, &[5.0]).is_err());
            m.end(&Ended::Interrupted).unwrap();
        }
        assert_eq!(m.times, [0.0, 0.5]);
        assert_eq!(m.row(1), [3.0, 4.0]);
        assert_eq!(m.column("b"), Some(vec![2.0, 4.0]));
        assert_eq!(m.column("c"), None);
        assert_eq!(m.ended, Some(Ended::Interrupted));
    }

    #[test]
    fn no_channels_still_have_times() {
        let mut m = Memory::default();
        m.begin(&header(&[])).unwrap();
        m.frame(0.25, &[]).unwrap();
        assert_eq!((m.times.as_slice(), m.row(0)), ([0.25].as_slice(), [].as_slice()));
    }
}
