//! Numbers of a whole run with their derivatives: extremes, means and final values.

use super::curve::{integral, largest, value, window};
use super::{ASIDE, Row, Sensitivities, SensitivityError};
use std::ops::Range;

/// What is asked of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Its largest value.
    Max,
    /// Its smallest value.
    Min,
    /// The largest of its absolute values.
    AbsMax,
    /// Its mean over time.
    Mean,
    /// The root of the mean of its square.
    Rms,
    /// Its last value.
    Final,
}

impl Measure {
    /// All of them, by the names of [`OutputSummary::MEASURES`](crate::run::OutputSummary::MEASURES).
    pub const ALL: [(&'static str, Measure); 6] = [
        ("max", Measure::Max),
        ("min", Measure::Min),
        ("absmax", Measure::AbsMax),
        ("mean", Measure::Mean),
        ("rms", Measure::Rms),
        ("final", Measure::Final),
    ];

    /// The one of a name.
    pub fn by_name(name: &str) -> Option<Measure> {
        Measure::ALL.iter().find(|(n, _)| *n == name).map(|(_, m)| *m)
    }
}

/// A number of a run, and how it changes with the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Its derivatives by the parameters.
    pub derivatives: Vec<f64>,
    /// When it was met, if it was at one time.
    pub at: Option<f64>,
}

impl Sensitivities {
    /// A measure of an output.
    pub fn measure(&self, output: usize, measure: Measure) -> Result<Measured, SensitivityError> {
        match measure {
            Measure::Final => Ok(self.last(output)),
            Measure::Max => self.extreme(output, |u| u),
            Measure::Min => self.extreme(output, |u| -u),
            Measure::AbsMax => {
                let both = [self.extreme(output, |u| u)?, self.extreme(output, |u| -u)?];
                let [a, b] = both;
                let m = if a.value.abs() >= b.value.abs() { a } else { b };
                let sign = m.value.signum();
                Ok(Measured {
                    value: m.value.abs(),
                    derivatives: m.derivatives.iter().map(|d| sign * d).collect(),
                    ..m
                })
            }
            Measure::Mean => Ok(self.mean(output)),
            Measure::Rms => Ok(self.rms(output)),
        }
    }

    fn last(&self, output: usize) -> Measured {
        let Some(row) = self.rows.last() else {
            return Measured { value: f64::NAN, derivatives: Vec::new(), at: None };
        };
        Measured { value: row.values[output], derivatives: row.derivatives[output].clone(), at: Some(row.t) }
    }

    /// The intervals between rows of one smooth stretch, with the rows around each.
    fn intervals(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let stretches = self.rows.chunk_by(|a, b| a.stretch == b.stretch && a.stretch != ASIDE);
        stretches
            .scan(0, |first, rows: &[Row]| {
                let begin = *first;
                *first += rows.len();
                let within = (0..rows.len().saturating_sub(1)).map(move |k| {
                    let near = window(k, rows.len());
                    (begin + k, begin + near.start..begin + near.end)
                });
                Some(within)
            })
            .flatten()
    }

    /// The interpolated value at a time of something in the rows around it.
    fn between(&self, near: &Range<usize>, of: impl Fn(&Row) -> f64, t: f64) -> f64 {
        let rows = &self.rows[near.clone()];
        let times: Vec<f64> = rows.iter().map(|row| row.t).collect();
        value(&times, |k| of(&rows[k]), t)
    }

    /// The derivative of an extreme is that at the time of the extreme.
    fn extreme(&self, output: usize, upward: impl Fn(f64) -> f64) -> Result<Measured, SensitivityError> {
        let best = self
            .rows
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| upward(a.values[output]).total_cmp(&upward(b.values[output])));
        let Some((best, row)) = best else { return Ok(self.last(output)) };
        let mut found =
            Measured { value: row.values[output], derivatives: row.derivatives[output].clone(), at: Some(row.t) };
        let ends = best == 0 || best + 1 == self.rows.len();
        let beside = |other: usize| self.rows.get(other).is_some_and(|r| r.stretch != row.stretch);
        if !ends && (beside(best.wrapping_sub(1)) || beside(best + 1)) {
            let why = format!(
                "its extreme at t = {:.6} s is at an event, where it may have a corner; take its final value or its mean",
                row.t
            );
            return Err(SensitivityError::Output { name: self.outputs[output].name.clone(), why });
        }
        for (k, near) in self.intervals().filter(|(k, _)| *k == best || *k + 1 == best) {
            let u = |t: f64| self.between(&near, |row| row.values[output], t);
            let t = largest(self.rows[k].t, self.rows[k + 1].t, |t| upward(u(t)));
            if upward(u(t)) > upward(found.value) {
                let by = |p: usize| self.between(&near, |row| row.derivatives[output][p], t);
                let derivatives = (0..self.parameters.len()).map(by).collect();
                found = Measured { value: u(t), derivatives, at: Some(t) };
            }
        }
        Ok(found)
    }

    fn span(&self) -> f64 {
        self.rows.last().map_or(0.0, |last| last.t - self.rows[0].t)
    }

    fn mean(&self, output: usize) -> Measured {
        let span = self.span();
        if span == 0.0 {
            return self.last(output);
        }
        let by = |p: usize| {
            let smooth: f64 = self
                .intervals()
                .map(|(k, near)| {
                    let d = |t: f64| self.between(&near, |row| row.derivatives[output][p], t);
                    integral(self.rows[k].t, self.rows[k + 1].t, d)
                })
                .sum();
            (smooth + self.through_events[output][p][0]) / span
        };
        let derivatives = (0..self.parameters.len()).map(by).collect();
        Measured { value: self.integrals[output][0] / span, derivatives, at: None }
    }

    /// rms² = ∫ u² dt/T, so that its derivative is ∫ u u_p dt/(T rms).
    fn rms(&self, output: usize) -> Measured {
        let span = self.span();
        let rms = (self.integrals[output][1] / span).sqrt();
        if span == 0.0 || rms == 0.0 {
            let last = self.last(output);
            return Measured { value: last.value.abs(), ..last };
        }
        let by = |p: usize| {
            let smooth: f64 = self
                .intervals()
                .map(|(k, near)| {
                    let u = |t: f64| self.between(&near, |row| row.values[output], t);
                    let d = |t: f64| self.between(&near, |row| row.derivatives[output][p], t);
                    integral(self.rows[k].t, self.rows[k + 1].t, |t| u(t) * d(t))
                })
                .sum();
            (smooth + self.through_events[output][p][1]) / (span * rms)
        };
        let derivatives = (0..self.parameters.len()).map(by).collect();
        Measured { value: rms, derivatives, at: None }
    }
}
