//! When frames are recorded.

/// The times of samples: t₀ + k·distance, and the end.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Sampler {
    t0: f64,
    distance: f64,
    next: u64,
    until: f64,
    last: f64,
}

impl Sampler {
    pub(super) fn new(t0: f64, distance: f64, until: f64) -> Sampler {
        Sampler { t0, distance, next: 0, until, last: f64::NEG_INFINITY }
    }

    /// The next sample up to the time `now`, if one is due.
    pub(super) fn due(&mut self, now: f64) -> Option<f64> {
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
