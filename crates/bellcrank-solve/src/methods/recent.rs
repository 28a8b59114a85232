//! The last few values of something that has no history of its own.

use bellcrank_math::threads::team;
use std::ops::Range;

/// How many values can be kept: enough for a cubic.
pub(crate) const KEPT: usize = 4;

/// Values and their times, the newest first.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Recent {
    values: [Vec<f64>; KEPT],
    times: [f64; KEPT],
    count: usize,
}

impl Recent {
    /// Whether its values are of a length, or empty.
    pub fn fits(&self, n: usize) -> bool {
        self.count <= KEPT && self.values.iter().all(|v| v.is_empty() || v.len() == n)
    }

    /// There is only `x`.
    pub fn start(&mut self, t: f64, x: &[f64]) {
        self.values.iter_mut().for_each(|v| {
            v.clear();
            v.extend_from_slice(x);
        });
        self.times[0] = t;
        self.count = 1;
    }

    /// A new value, of which this many are kept.
    pub fn push(&mut self, t: f64, x: &[f64], kept: usize) {
        team::copy(x, self.room(t, x.len(), kept));
    }

    /// Room for such a value of some length.
    pub fn room(&mut self, t: f64, length: usize, kept: usize) -> &mut Vec<f64> {
        self.values[..kept].rotate_right(1);
        self.times[..kept].rotate_right(1);
        self.times[0] = t;
        self.count = (self.count + 1).min(kept);
        self.values[0].resize(length, 0.0);
        &mut self.values[0]
    }

    /// The polynomial through the last `points` values (or as many as there are), at the time `t`.
    pub fn extrapolate(&self, t: f64, points: usize, out: &mut [f64]) {
        let extrapolated = self.extrapolated(t, points);
        team::fill([out], |range, [out]| extrapolated(range, out));
    }

    /// The same for a range of the values.
    pub fn extrapolated(&self, t: f64, points: usize) -> impl Fn(Range<usize>, &mut [f64]) + Sync {
        let points = points.clamp(1, self.count.max(1));
        let factor = |i: usize| -> f64 {
            let others = (0..points).filter(|j| *j != i);
            others.map(|j| (t - self.times[j]) / (self.times[i] - self.times[j])).product()
        };
        let mut factors = [0.0; KEPT];
        factors[..points].iter_mut().enumerate().for_each(|(i, c)| *c = factor(i));
        move |range, out| match &self.values[..points] {
            [only] => out.copy_from_slice(&only[range]),
            [last, before] => {
                let ([c, d, ..], known) = (factors, last[range.clone()].iter().zip(&before[range]));
                out.iter_mut().zip(known).for_each(|(o, (x, y))| *o = c * x + d * y);
            }
            all => {
                out.fill(0.0);
                for (c, values) in factors.iter().zip(all) {
                    out.iter_mut().zip(&values[range.clone()]).for_each(|(o, v)| *o += c * v);
                }
            }
        }
    }
}
