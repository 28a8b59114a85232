//! Time as the methods count it: without drift, and never past the time it must stop at.

/// How much an error-controlled step may be stretched to reach the stop, so that no sliver is left.
pub(crate) const STRETCH: f64 = 1e-4;

/// The same for a fixed step: the rounding of some 10⁹ steps.
pub(crate) const ROUNDING: f64 = 1e-6;

/// What a clock resolves of the present time.
pub(crate) const RESOLUTION: f64 = 4.0 * f64::EPSILON;

/// The present time as a compensated sum [Kahan 1965], and the time that must not be passed.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Clock {
    pub t: f64,
    carry: f64,
    pub stop: f64,
}

impl Clock {
    pub fn at(t: f64) -> Clock {
        Clock { t, carry: 0.0, stop: f64::INFINITY }
    }

    /// The step that is really taken for a wish `h`, and the time it leads to. A stop that was
    /// reached already holds nobody back.
    pub fn fit(&self, h: f64, slack: f64) -> (f64, f64) {
        let remaining = (self.stop - self.t) - self.carry;
        if remaining > self.resolution() && remaining <= h * (1.0 + slack) {
            (remaining, self.stop)
        } else {
            (h, self.t + (h + self.carry))
        }
    }

    /// Moves on by `h` to the time `t` that [`Clock::fit`] gave.
    pub fn advance(&mut self, h: f64, t: f64) {
        self.carry += h - (t - self.t);
        self.t = t;
    }

    /// The smallest step that the clock resolves, 4ε|t|. DASSL has max(|t|, |stop|) here, but a
    /// stop far away is no reason to give up early on a short opening step.
    pub fn resolution(&self) -> f64 {
        RESOLUTION * self.t.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_steps_do_not_drift_and_the_stop_is_hit() {
        let mut clock = Clock::at(0.0);
        clock.stop = 1e5;
        let mut steps = 0;
        while clock.t < clock.stop {
            let (h, t) = clock.fit(0.1, ROUNDING);
            assert!((h - 0.1).abs() < 1e-11);
            clock.advance(h, t);
            steps += 1;
        }
        assert_eq!((steps, clock.t), (1_000_000, 1e5));
        assert!((clock.fit(0.1, ROUNDING).0 - 0.1).abs() == 0.0, "a stop that was reached holds nobody back");
    }

    #[test]
    fn steps_are_cut_or_stretched_to_land() {
        let mut clock = Clock::at(1.0);
        clock.stop = 2.0;
        assert_eq!(clock.fit(3.0, STRETCH), (1.0, 2.0));
        assert_eq!(clock.fit(0.99995, STRETCH), (1.0, 2.0));
        assert_eq!(clock.fit(0.875, ROUNDING), (0.875, 1.875));
        assert_eq!(clock.fit(0.5, STRETCH), (0.5, 1.5));
    }
}
