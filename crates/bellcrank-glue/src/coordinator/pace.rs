//! A run: windows one after the other, of a length that is given or follows the error.

use super::Coordinator;
use super::history::Pace;
use crate::options::GlueError;
use bellcrank_model::dynamics::Break;

/// Rounding of times, as a fraction of a window.
const ROUNDING: f64 = 1e-9;

/// A part of a window before or behind a breakpoint that is shorter than this belongs to its neighbour: accelerations would be
/// differences over next to no time.
const SLIVER: f64 = 0.1;

/// Times that are this close, as a fraction of themselves, are one.
const UNRESOLVED: f64 = 64.0 * f64::EPSILON;

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
        let fresh = Pace { start: self.history.t, length: self.options.window };
        self.history.pace.get_or_insert(fresh);
        let adaptive = self.options.rtol.is_some();
        self.pass_breaks(until)?;
        while let Some(pace) = self.history.pace
            && self.history.t < until
        {
            let (from, h) = (self.history.t, pace.length);
            let to = self.next_end(&pace, until);
            let committed = match self.window_to(to) {
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
            self.history.pace = Some(Pace { length, ..pace });
            if committed {
                self.pass_breaks(until)?;
                watch(self)?;
            }
        }
        self.history.pace = None;
        Ok(())
    }

    /// Goes over the breakpoints that the run has come to: functions of time have other values from there on, and where
    /// accelerations jump all parts begin anew.
    fn pass_breaks(&mut self, until: f64) -> Result<(), GlueError> {
        loop {
            let of_parts = self.parts.iter_mut().filter_map(|p| p.due(until));
            let due: Vec<Break> = of_parts.chain(self.interface.due(until)).collect();
            let Some(mut after) = due.iter().map(|b| b.after).max_by(f64::total_cmp) else { return Ok(()) };
            // nothing steps over what a clock cannot resolve: at the end of a run it is put there
            if until - self.history.t <= UNRESOLVED * until.abs() {
                after = until;
            }
            let mut anew = due.iter().any(|b| b.bends);
            for part in &mut self.parts {
                anew |= part.jumps(after)?;
            }
            self.parts.iter_mut().try_for_each(|p| p.pass(after, anew))?;
            self.history.t = after;
            let (motions, lambda) = (self.history.motions.clone(), self.history.lambda.clone());
            self.interface.place(after, &motions, &lambda);
            if anew {
                self.history.admittance.stale = true;
                self.begin_anew()?;
            }
        }
    }

    /// Where the next window ends.
    fn next_end(&mut self, pace: &Pace, until: f64) -> f64 {
        let (t, h, adaptive) = (self.history.t, pace.length, self.options.rtol.is_some());
        let of_parts = self.parts.iter_mut().map(|p| p.stop(until, h)).fold(until, f64::min);
        let stop = of_parts.min(self.interface.stop(until, h));
        // fixed windows end at multiples, so that rounding does not add up; behind a breakpoint they go back to them
        let multiples = (t - pace.start) / h;
        let next = (multiples + ROUNDING).floor() + 1.0;
        let next = if next - multiples < SLIVER { next + 1.0 } else { next };
        let aim = if adaptive { t + h } else { pace.start + next * h };
        let end = match self.options.grid {
            Some(grid) if adaptive => {
                until.min(pace.start + (((t - pace.start) / grid + ROUNDING).floor() + 1.0) * grid)
            }
            _ => until,
        };
        let (end, near) = if stop < end { (stop, SLIVER) } else { (end, ROUNDING) };
        // a sliver before the end is shared by the last two windows
        match aim {
            aim if aim > end - near * h => end,
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
