//! Which rows are recorded of what follows its motion: all of them, or those that tell most. Runs give a row for every step,
//! glued runs for every window, inverse dynamics for every position that it visits.
//!
//! The run is divided into [`BUCKETS`] equal parts, fixed in advance. The rows of a part wait until it is over; then they are
//! handed out, all of them if there is room, else the ones that carry the least or the greatest value of a channel within the part,
//! those around an event, the last one, and some of the rest. What was handed out is never taken back.
//!
//! Room comes in with time: [`AT_ONCE`] rows at the start and [`EACH`] in every part, and a part takes no more than a quarter of
//! what there is. So a run of fewer than [`AT_ONCE`] steps keeps practically all, and none hands out more than
//! `AT_ONCE + BUCKETS · EACH + 2 · channels` rows.
//!
//! **Extremes are exact.** A row that carries the least or the greatest value of a channel in the whole run so far is kept, room
//! or not. Where a part has more of them than there is room for, it is joined with the next one: most are surpassed there, and at
//! the end each channel has two such rows at most. Nothing depends on anything but the rows themselves, and all that is
//! remembered goes into checkpoints: a run that is resumed hands out the same rows.

use std::io;

/// Equal parts of a run, and the fewest rows of it.
pub const BUCKETS: f64 = 200.0;
/// Rows there is room for at the start, and that room is made for in each part.
const AT_ONCE: usize = 1000;
const EACH: usize = 5;
/// Rows of all channels may take this many bytes; models with more channels are recorded at equal intervals.
const BYTES: usize = 1 << 26;
/// Fewer rows than this are not looked through before their part is over.
const FEWEST_ROWS: usize = 64;

/// A row that waits.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct WaitingRow {
    t: f64,
    /// Whether it is one of the two around an event.
    jump: bool,
    values: Vec<f64>,
}

/// The least and the greatest value of a channel.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct MinMax {
    least: f64,
    greatest: f64,
}

const NOTHING: MinMax = MinMax { least: f64::INFINITY, greatest: f64::NEG_INFINITY };

/// Rows on their way to the recorder.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Thinning {
    t0: f64,
    width: f64,
    /// The part that the rows which wait are in, or the last of those that were joined.
    part: u64,
    /// Rows there is room for.
    room: usize,
    /// Of each channel, among the rows that were handed out.
    records: Vec<MinMax>,
    waiting: Vec<WaitingRow>,
    /// Rows that waited after they were last looked through.
    looked_through: usize,
    /// The time of the last row that came.
    last: f64,
}

/// Takes a row: its time and its values.
pub type Take<'a> = &'a mut dyn FnMut(f64, &[f64]) -> io::Result<()>;

impl Thinning {
    /// For a run from `t0` to `until`; `None` if its rows would be too large.
    pub fn new(t0: f64, until: f64, channels: usize) -> Option<Thinning> {
        let rows = AT_ONCE + BUCKETS as usize * EACH + 2 * channels;
        let fits = rows.checked_mul(8 * (channels + 1)).is_some_and(|bytes| bytes <= BYTES);
        fits.then(|| Thinning {
            t0,
            width: (until - t0) / BUCKETS,
            part: 0,
            room: AT_ONCE,
            records: vec![NOTHING; channels],
            waiting: Vec::new(),
            looked_through: 0,
            last: f64::NEG_INFINITY,
        })
    }

    /// Takes the next row; hands out those of the parts that are over. The row behind an event has the time of the one before it,
    /// and is told a moment later. With it, the row before is one of the two around the event.
    pub fn add(&mut self, t: f64, values: &[f64], behind_event: bool, out: Take) -> io::Result<()> {
        let part = ((t - self.t0) / self.width).max(0.0) as u64;
        if part > self.part && !behind_event {
            self.room += EACH * (part - self.part).min(BUCKETS as u64) as usize;
            self.part = part;
            self.hand_out(false, out)?;
        }
        if behind_event && let Some(before) = self.waiting.last_mut() {
            before.jump = true;
        }
        let t = if t > self.last { t } else { self.last.next_up() };
        let begins = self.last == f64::NEG_INFINITY;
        self.last = t;
        self.waiting.push(WaitingRow { t, jump: behind_event, values: values.to_vec() });
        if begins {
            // whoever watches sees the start at once
            return self.hand_out(true, out);
        }
        if self.waiting.len() > FEWEST_ROWS.max(2 * self.looked_through).max(self.share()) {
            let (chosen, _) = self.choose();
            self.retain(&chosen);
        }
        Ok(())
    }

    /// Hands out all that is left, at the end of the run or of what was computed of it.
    pub fn finish(&mut self, out: Take) -> io::Result<()> {
        self.hand_out(true, out)
    }

    /// Rows that a part may have.
    fn share(&self) -> usize {
        (self.room / 4).max(EACH).min(self.room).max(1)
    }

    fn hand_out(&mut self, last: bool, out: Take) -> io::Result<()> {
        let (chosen, records) = self.choose();
        self.retain(&chosen);
        if !last && records > self.room {
            return Ok(()); // joined with the next part
        }
        self.room = self.room.saturating_sub(self.waiting.len());
        for row in self.waiting.drain(..) {
            for (of, x) in self.records.iter_mut().zip(&row.values) {
                *of = MinMax { least: of.least.min(*x), greatest: of.greatest.max(*x) };
            }
            out(row.t, &row.values)?;
        }
        self.looked_through = 0;
        Ok(())
    }

    fn retain(&mut self, chosen: &[bool]) {
        let mut kept = chosen.iter();
        self.waiting.retain(|_| kept.next().copied().unwrap_or(true));
        self.looked_through = self.waiting.len();
    }

    /// The rows to keep, and how many of them carry an extreme value of the run so far.
    fn choose(&self) -> (Vec<bool>, usize) {
        let (rows, share) = (self.waiting.len(), self.share());
        if rows <= share {
            return (vec![true; rows], 0); // there is room for all
        }
        let mut chosen = vec![false; rows];
        let carried = self.carried(&mut chosen);
        let records = chosen.iter().filter(|chosen| **chosen).count();
        let mut left = share.saturating_sub(records);
        let mut take = |k: usize, chosen: &mut Vec<bool>| {
            if left > 0 && !std::mem::replace(&mut chosen[k], true) {
                left -= 1;
            }
        };
        take(rows - 1, &mut chosen);
        (0..rows).filter(|k| self.waiting[*k].jump).for_each(|k| take(k, &mut chosen));
        let mut order: Vec<usize> = (0..rows).filter(|k| carried[*k] > 0).collect();
        order.sort_by_key(|k| std::cmp::Reverse(carried[*k])); // stable: the earlier of equals
        order.into_iter().for_each(|k| take(k, &mut chosen));
        // what is left over goes to the others, evenly
        let others: Vec<usize> = (0..rows).filter(|k| !chosen[*k]).collect();
        let some = left.min(others.len());
        (0..some).for_each(|i| chosen[others[i * others.len() / some]] = true);
        (chosen, records)
    }

    /// How many extreme values within the part each row carries; marks rows with one that is beyond all that was handed out.
    fn carried(&self, beyond: &mut [bool]) -> Vec<usize> {
        let mut carried = vec![0; self.waiting.len()];
        let mut found = vec![(NOTHING, [usize::MAX; 2]); self.records.len()];
        for (k, row) in self.waiting.iter().enumerate() {
            for ((of, [least, greatest]), x) in found.iter_mut().zip(&row.values) {
                if *x < of.least {
                    (of.least, *least) = (*x, k);
                }
                if *x > of.greatest {
                    (of.greatest, *greatest) = (*x, k);
                }
            }
        }
        for ((of, [least, greatest]), record) in found.into_iter().zip(&self.records) {
            // a channel that does not move has no extremes
            if of.least < of.greatest {
                carried[least] += 1;
                carried[greatest] += 1;
            }
            if of.least < record.least {
                beyond[least] = true;
            }
            if of.greatest > record.greatest {
                beyond[greatest] = true;
            }
        }
        carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thins a signal of two channels in `n` rows; gives what was handed out.
    fn thinned(n: usize, until: f64, signal: impl Fn(f64) -> [f64; 2]) -> Vec<(f64, Vec<f64>)> {
        let mut out = Vec::new();
        let mut take = |t: f64, values: &[f64]| {
            out.push((t, values.to_vec()));
            Ok(())
        };
        let mut thinning = Thinning::new(0.0, until, 2).unwrap();
        for k in 0..=n {
            let t = until * k as f64 / n as f64;
            thinning.add(t, &signal(t), false, &mut take).unwrap();
            assert!(thinning.waiting.len() < 2000);
        }
        thinning.finish(&mut take).unwrap();
        out
    }

    fn bounds(rows: impl Iterator<Item = f64>) -> MinMax {
        rows.fold(NOTHING, |b, x| MinMax { least: b.least.min(x), greatest: b.greatest.max(x) })
    }

    #[test]
    fn extremes_are_those_of_all_rows_and_rows_stay_within_the_budget() {
        type Signal = fn(f64) -> [f64; 2];
        let signals: [Signal; 4] = [
            |t| [(40.0 * t).sin() * (0.3 * t).exp(), t], // grows: each part has new extremes
            |t| [(-((t - 7.123) / 0.003).powi(2)).exp(), -(9.0 * t).cos()], // one short pulse
            |t| [0.0, (1e4 * t).sin() * t],
            |t| [f64::NAN, (3.0 * t).sin()],
        ];
        for (i, signal) in signals.iter().enumerate() {
            for n in [10, 900, 50_000, 400_000] {
                let rows = thinned(n, 10.0, signal);
                assert!(rows.len() <= (n + 1).min(2000 + 4 + 200), "signal {i}, {n}: {} rows", rows.len());
                assert!(n > 900 || rows.len() == n + 1, "signal {i}, {n}: all fit, {} rows", rows.len());
                assert!(rows.is_sorted_by(|a, b| a.0 < b.0));
                assert_eq!((rows[0].0, rows[rows.len() - 1].0), (0.0, 10.0));
                for c in 0..2 {
                    let all = bounds((0..=n).map(|k| signal(10.0 * k as f64 / n as f64)[c]));
                    assert_eq!(bounds(rows.iter().map(|(_, v)| v[c])), all, "signal {i}, {n}, channel {c}");
                }
            }
        }
    }

    #[test]
    fn what_is_remembered_goes_on_to_the_same_rows() {
        let signal = |t: f64| [(70.0 * t).sin() * t, (11.0 * t).cos()];
        let whole = thinned(20_000, 3.0, signal);
        for stop in [1, 77, 5_000, 19_999] {
            let mut out = Vec::new();
            let mut take = |t: f64, values: &[f64]| {
                out.push((t, values.to_vec()));
                Ok(())
            };
            let mut thinning = Thinning::new(0.0, 3.0, 2).unwrap();
            for k in 0..=20_000 {
                let t = 3.0 * f64::from(k) / 20_000.0;
                if k == stop {
                    let mut tape = bellcrank_math::tape::Tape::blank();
                    tape.plain(&mut thinning);
                    let mut tape = bellcrank_math::tape::Tape::of(tape.finish().unwrap());
                    thinning = Thinning::new(0.0, 3.0, 2).unwrap();
                    tape.plain(&mut thinning);
                }
                thinning.add(t, &signal(t), false, &mut take).unwrap();
            }
            thinning.finish(&mut take).unwrap();
            assert_eq!(out, whole);
        }
    }

    #[test]
    fn both_sides_of_a_jump_are_kept_with_times_that_rise() {
        let mut out = Vec::new();
        let mut take = |t: f64, values: &[f64]| {
            out.push((t, values[0]));
            Ok(())
        };
        let mut thinning = Thinning::new(0.0, 1.0, 1).unwrap();
        // 40 000 rows, with a jump of the slope that is an extreme of nothing
        for k in 0..=40_000 {
            let t = f64::from(k) / 40_000.0;
            thinning.add(t, &[(300.0 * t).sin()], false, &mut take).unwrap();
            if k == 30_007 {
                thinning.add(t, &[0.125], true, &mut take).unwrap();
            }
        }
        thinning.finish(&mut take).unwrap();
        let t = 30_007.0 / 40_000.0;
        assert!(out.contains(&(t, (300.0 * t).sin())) && out.contains(&(t.next_up(), 0.125)));
        assert!(out.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn large_models_are_not_thinned() {
        assert!(Thinning::new(0.0, 1.0, 1500).is_some());
        assert!(Thinning::new(0.0, 1.0, 3000).is_none());
        assert!(Thinning::new(0.0, 1.0, usize::MAX / 16).is_none());
    }
}
