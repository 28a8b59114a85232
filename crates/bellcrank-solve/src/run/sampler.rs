//! When frames are recorded: at equal intervals if an interval was asked for, else as the motion goes.

use crate::choices::Options;
use crate::record::{BUCKETS, Take, Thinning};
use std::io;

/// When a run is looked at, and which looks are recorded.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) enum Sampler {
    Even(Even),
    Following(Box<Following>),
}

/// The times t₀ + k·distance, and the end.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Even {
    t0: f64,
    distance: f64,
    next: u64,
    until: f64,
    last: f64,
}

/// The end of every step, and times inside of steps that are longer than a two-hundredth of the run.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Following {
    /// The last look.
    last: f64,
    /// Looks are not further apart.
    longest: f64,
    rows: Thinning,
}

impl Sampler {
    /// For a run from `t0` that records this many channels.
    pub(super) fn new(t0: f64, options: &Options, channels: usize) -> Sampler {
        let until = options.until;
        match Thinning::new(t0, until, channels).filter(|_| options.sample.is_none()) {
            Some(rows) => {
                let longest = (until - t0) / BUCKETS;
                Sampler::Following(Box::new(Following { last: f64::NEG_INFINITY, longest, rows }))
            }
            None => {
                let distance = options.sample_distance();
                Sampler::Even(Even { t0, distance, next: 0, until, last: f64::NEG_INFINITY })
            }
        }
    }

    /// The next look up to the time `now`, if one is due.
    pub(super) fn due(&mut self, now: f64) -> Option<f64> {
        match self {
            Sampler::Even(even) => even.due(now),
            Sampler::Following(following) => following.due(now),
        }
    }

    /// Whether looks are the ends of steps, and what is behind an event.
    pub(super) fn follows(&self) -> bool {
        matches!(self, Sampler::Following(_))
    }

    /// Hands the values at a look to the recorder, now or later; `behind_event` where the last look was before it.
    pub(super) fn take(&mut self, t: f64, values: &[f64], behind_event: bool, out: Take) -> io::Result<()> {
        match self {
            Sampler::Even(_) => out(t, values),
            Sampler::Following(following) => following.rows.add(t, values, behind_event, out),
        }
    }

    /// Hands out all that waits.
    pub(super) fn finish(&mut self, out: Take) -> io::Result<()> {
        match self {
            Sampler::Even(_) => Ok(()),
            Sampler::Following(following) => following.rows.finish(out),
        }
    }
}

impl Even {
    fn due(&mut self, now: f64) -> Option<f64> {
        if self.last >= self.until {
            return None;
        }
        let t = self.t0 + self.next as f64 * self.distance;
        // a sample within rounding of the end is the end
        let t = if t > self.until - 1e-9 * self.distance { self.until } else { t };
        if t > now {
            return None;
        }
        self.next += 1;
        self.last = t;
        Some(t)
    }
}

impl Following {
    fn due(&mut self, now: f64) -> Option<f64> {
        if now <= self.last {
            return None;
        }
        // equal parts of what is left of the step
        let parts = ((now - self.last) / self.longest * (1.0 - 1e-9)).ceil();
        self.last = if self.last.is_finite() && parts > 1.0 { self.last + (now - self.last) / parts } else { now };
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_are_looked_at_in_equal_parts() {
        let options = Options { until: 2.0, ..Options::default() };
        let mut sampler = Sampler::new(0.0, &options, 3);
        let mut looks = |now: f64| std::iter::from_fn(|| sampler.due(now)).collect::<Vec<f64>>();
        assert_eq!(looks(0.0), [0.0]);
        assert_eq!(looks(0.004), [0.004]);
        let found = looks(0.034);
        assert_eq!((found.len(), found[2]), (3, 0.034));
        (0..3).for_each(|k| assert!((found[k] - 0.014 - 0.01 * k as f64).abs() < 1e-15, "{found:?}"));
        assert!(looks(0.034).is_empty());
        assert_eq!(looks(2.0).last(), Some(&2.0));
    }
}
