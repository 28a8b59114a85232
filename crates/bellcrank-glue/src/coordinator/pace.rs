//! A run: windows one after the other, of a length that is given or follows the error.

use super::Coordinator;
use super::history::Pace;
use crate::options::GlueError;

/// Rounding of times, as a fraction of a window.
const ROUNDING: f64 = 1e-9;

/// A window that is shorter than this fraction of the wanted length was cut to land on a sample.
const CUT: f64 = 0.999;

/// Windows aim at this fraction of the acceptable error, and grow or shrink by no more than these factors.
const SAFETY: f64 = 0.9;
const SHRINK: f64 = 0.3;
const GROWTH: f64 = 1.5;

/// The shortest window, as a fraction of the end time.
const SHORTEST: f64 = 1e-12;

impl Coordinator {
    /// Goes on until a time, in windows of the length that was asked for; `watch` is called after each.
    pub fn run(
        &mut self,
        until: f64,
        watch: &mut dyn FnMut(&mut Coordinator) -> Result<(), GlueError>,
    ) -> Result<(), GlueError> {
        // a run that was resumed from a checkpoint goes on counting
        let fresh = Pace { start: self.history.t, windows: 0, length: self.options.window };
        self.history.pace.get_or_insert(fresh);
        let adaptive = self.options.rtol.is_some();
        while let Some(pace) = self.history.pace
            && self.history.t < until
        {
            let (from, h) = (self.history.t, pace.length);
            let to = self.next_end(&pace, until);
            let committed = match self.window(to - from) {
                Err(GlueError::Diverged { .. }) if adaptive && h > SHORTEST * until => {
                    // a shorter window may converge
                    self.error = f64::INFINITY;
                    self.history.admittance.stale = true;
                    self.report.rejected += 1;
                    false
                }
                crossed => crossed?,
            };
            let length = if adaptive { self.next_length(to - from, h, committed, until)? } else { h };
            self.history.pace = Some(Pace { windows: pace.windows + committed as u64, length, ..pace });
            if committed {
                watch(self)?;
            }
        }
        self.history.pace = None;
        Ok(())
    }

    /// Where the next window ends.
    fn next_end(&self, pace: &Pace, until: f64) -> f64 {
        let (t, h, adaptive) = (self.history.t, pace.length, self.options.rtol.is_some());
        // fixed windows end at multiples, so that rounding does not add up
        let aim = if adaptive { t + h } else { pace.start + (pace.windows + 1) as f64 * h };
        let end = match self.options.grid {
            Some(grid) if adaptive => {
                until.min(pace.start + (((t - pace.start) / grid + ROUNDING).floor() + 1.0) * grid)
            }
            _ => until,
        };
        // a sliver before the end is shared by the last two windows
        match aim {
            aim if aim > end - ROUNDING * h => end,
            aim if adaptive && aim > end - 0.5 * h => 0.5 * (t + end),
            aim => aim,
        }
    }

    /// The length of the next window, by the error of the one that was tried.
    fn next_length(&mut self, tried: f64, wanted: f64, committed: bool, until: f64) -> Result<f64, GlueError> {
        // the estimate is of third order
        let factor = if self.error > 0.0 { SAFETY * self.error.powf(-1.0 / 3.0) } else { 1.0 };
        let wish = tried * factor.clamp(SHRINK, GROWTH);
        // a window that was cut short to land on a sample says nothing against the one that was wanted
        let length = if tried < CUT * wanted && committed { wanted.max(wish) } else { wish };
        if length < SHORTEST * until {
            let gaps = self.interface.position();
            return Err(self.diverged(length, &gaps));
        }
        Ok(length)
    }
}
