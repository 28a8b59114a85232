//! Which windows of a glued run are recorded.

use bellcrank_model::snapshot;
use bellcrank_solve::record::{BUCKETS, Thinning};

/// Rounding of sample times, as a fraction of their distance.
const ROUNDING: f64 = 1e-9;

/// What the rows that wait are called in messages.
const KIND: &str = "rows that wait";

/// The windows that are recorded.
pub enum Sampling {
    /// All of them.
    All,
    /// The first one after every multiple of a time, and the last.
    Even(Even),
    /// All of them, thinned.
    Following(Box<Thinning>),
}

/// Multiples of a time.
pub struct Even {
    distance: f64,
    until: f64,
    /// The number of the next one.
    next: u64,
}

impl Even {
    /// Multiples of `distance` from the start on, and the end.
    pub fn new(until: f64, distance: f64) -> Even {
        Even { distance, until, next: 1 }
    }

    /// Whether a frame is due at a committed time.
    pub fn is_due(&mut self, t: f64) -> bool {
        let due = self.next as f64 * self.distance;
        let is_due = t >= due - ROUNDING * self.distance || t >= self.until;
        if is_due {
            self.next = (t / self.distance + ROUNDING) as u64 + 1;
        }
        is_due
    }
}

impl Sampling {
    /// Of a run with so many channels. If they are too many for rows to wait, 200 equal intervals stand for none given.
    pub fn new(until: f64, sample: Option<f64>, channels: usize) -> Sampling {
        match Thinning::new(0.0, until, channels).filter(|_| sample.is_none()) {
            Some(rows) => Sampling::Following(Box::new(rows)),
            None => Sampling::Even(Even::new(until, sample.unwrap_or(until / BUCKETS))),
        }
    }

    /// Whether a window that ends at this time is looked at.
    pub fn is_due(&mut self, t: f64) -> bool {
        match self {
            Sampling::Even(even) => even.is_due(t),
            Sampling::All | Sampling::Following(_) => true,
        }
    }

    /// Takes the values at the end of a window; appends the rows that are recorded, each with its time.
    pub fn add(&mut self, t: f64, values: &[f64], out: &mut Vec<f64>) {
        match self {
            Sampling::All | Sampling::Even(_) => append(out, t, values),
            Sampling::Following(rows) => {
                // memory takes every row
                let _ = rows.add(t, values, false, &mut |t, values| {
                    append(out, t, values);
                    Ok(())
                });
            }
        }
    }

    /// Appends the rows that still wait.
    pub fn finish(&mut self, out: &mut Vec<f64>) {
        if let Sampling::Following(rows) = self {
            let _ = rows.finish(&mut |t, values| {
                append(out, t, values);
                Ok(())
            });
        }
    }

    /// What it needs to go on from here later: a number, or the bytes of the rows that wait behind their count.
    pub fn note(&self) -> Vec<u64> {
        match self {
            Sampling::All => vec![0],
            Sampling::Even(even) => vec![even.next],
            Sampling::Following(rows) => {
                let bytes = snapshot::encode(KIND, rows);
                let mut words = vec![bytes.len() as u64];
                words.extend(bytes.chunks(8).map(|part| {
                    let mut word = [0; 8];
                    word[..part.len()].copy_from_slice(part);
                    u64::from_le_bytes(word)
                }));
                words
            }
        }
    }

    /// Goes back to where it was then; false if the note is of something else.
    pub fn go_back(&mut self, note: &[u64]) -> bool {
        let Some((first, words)) = note.split_first() else { return false };
        match self {
            Sampling::Even(even) if words.is_empty() => even.next = *first,
            Sampling::All if words.is_empty() => {}
            Sampling::All | Sampling::Even(_) => return false,
            Sampling::Following(rows) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let bytes = usize::try_from(*first).ok().and_then(|length| bytes.get(..length));
                let Some(Ok(found)) = bytes.map(|bytes| snapshot::decode(KIND, bytes)) else { return false };
                **rows = found;
            }
        }
        true
    }
}

fn append(out: &mut Vec<f64>, t: f64, values: &[f64]) {
    out.push(t);
    out.extend_from_slice(values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_due_once_per_sample_and_at_the_end() {
        let mut even = Even::new(0.25, 0.1);
        let due: Vec<bool> =
            [0.05, 0.1 - 1e-12, 0.15, 0.19, 0.21, 0.24, 0.25].into_iter().map(|t| even.is_due(t)).collect();
        assert_eq!(due, [false, true, false, false, true, false, true]);
    }

    #[test]
    fn a_run_that_goes_back_records_the_same_rows() {
        let signal = |k: u32| [(f64::from(k) * 0.01).sin(), f64::from(k % 97)];
        let t = |k: u32| f64::from(k) / 5000.0;
        let mut straight = Sampling::new(1.0, None, 2);
        let (mut rows, mut again) = (Vec::new(), Vec::new());
        (0..=5000).for_each(|k| straight.add(t(k), &signal(k), &mut rows));
        straight.finish(&mut rows);
        assert!(rows.len() / 3 > 1000 && rows.len() / 3 < 2010, "{} rows", rows.len() / 3);
        let mut sampling = Sampling::new(1.0, None, 2);
        (0..2003).for_each(|k| sampling.add(t(k), &signal(k), &mut again));
        let (note, recorded) = (sampling.note(), again.len());
        (2003..4000).for_each(|k| sampling.add(t(k), &signal(k), &mut again));
        again.truncate(recorded);
        assert!(sampling.go_back(&note));
        (2003..=5000).for_each(|k| sampling.add(t(k), &signal(k), &mut again));
        sampling.finish(&mut again);
        assert_eq!(rows, again);
        assert!(!sampling.go_back(&[3]) && !sampling.go_back(&[]));
        assert!(!Sampling::new(1.0, Some(0.1), 2).go_back(&note));
    }
}
