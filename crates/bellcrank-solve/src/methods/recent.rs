//! The last few values of something that has no history of its own.

use bellcrank_math::team;

/// How many values can be kept: enough for a cubic.
pub(crate) const KEPT: usize = 4;

/// Values and their times, the newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    values: [Vec<f64>; KEPT],
    times: [f64; KEPT],
    count: usize,
}

bellcrank_model::kept_by_fields!(Recent { values, times, count });

impl Recent {
    /// There is only `x`.
    pub fn start(&mut self, t: f64, x: &[f64]) {
        self.values.iter_mut().for_each(|v| {
            v.clear();
            v.extend_from_slice(x);
        });
        self.times[0] = t;
        self.count = 1;
    }

    /// A new value, the first of so many that are kept.
    pub fn push(&mut self, t: f64, x: &[f64], kept: usize) {
        self.values[..kept].rotate_right(1);
        self.times[..kept].rotate_right(1);
        team::copy(x, &mut self.values[0]);
        self.times[0] = t;
        self.count = (self.count + 1).min(kept);
    }

    /// The polynomial through the last `points` values (or as many as there are), at the time `t`.
    pub fn extrapolate(&self, t: f64, points: usize, out: &mut [f64]) {
        let points = points.clamp(1, self.count.max(1));
        let factor = |i: usize| -> f64 {
            let others = (0..points).filter(|j| *j != i);
            others.map(|j| (t - self.times[j]) / (self.times[i] - self.times[j])).product()
        };
        let mut factors = [0.0; KEPT];
        factors[..points].iter_mut().enumerate().for_each(|(i, c)| *c = factor(i));
        team::fill([out], |range, [out]| {
            out.fill(0.0);
            for (c, values) in factors.iter().zip(&self.values).take(points) {
                out.iter_mut().zip(&values[range.clone()]).for_each(|(o, v)| *o += c * v);
            }
        });
    }
}
