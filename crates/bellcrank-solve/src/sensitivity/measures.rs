//! Numbers of a whole run with their derivatives: extremes, means and final values.

use super::curve::{bases, gauss, largest, window};
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

/// A measure as a linear function of what is known in the rows: its derivative is Σ w u_p over rows, and what stretches through events add.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Functional {
    /// The number itself.
    pub value: f64,
    /// When it was met, if it was at one time.
    pub at: Option<f64>,
    /// Rows, by their places, with the weights w of u_p there.
    pub rows: Vec<(usize, f64)>,
    /// Weights of ∫ u_p dt and of ∫ u u_p dt through events.
    pub through: [f64; 2],
}

impl Sensitivities {
    /// A measure of an output.
    pub fn measure(&self, output: usize, measure: Measure) -> Result<Measured, SensitivityError> {
        let of = self.functional(output, measure)?;
        let by = |p: usize| {
            let rows: f64 = of.rows.iter().map(|(k, weight)| weight * self.rows[*k].derivatives[output][p]).sum();
            let through = self.through_events[output][p];
            rows + of.through[0] * through[0] + of.through[1] * through[1]
        };
        Ok(Measured { value: of.value, derivatives: (0..self.parameters.len()).map(by).collect(), at: of.at })
    }

    /// How a measure hangs together with the rows.
    pub(super) fn functional(&self, output: usize, measure: Measure) -> Result<Functional, SensitivityError> {
        match measure {
            Measure::Final => Ok(self.last(output)),
            Measure::Max => self.extreme(output, 1.0),
            Measure::Min => self.extreme(output, -1.0),
            Measure::AbsMax => {
                let [a, b] = [self.extreme(output, 1.0)?, self.extreme(output, -1.0)?];
                let mut m = if a.value.abs() >= b.value.abs() { a } else { b };
                let sign = m.value.signum();
                m.rows.iter_mut().for_each(|(_, weight)| *weight *= sign);
                Ok(Functional { value: m.value.abs(), ..m })
            }
            Measure::Mean => Ok(self.mean(output)),
            Measure::Rms => Ok(self.rms(output)),
        }
    }

    fn last(&self, output: usize) -> Functional {
        let Some(row) = self.rows.last() else { return Functional { value: f64::NAN, ..Functional::default() } };
        let rows = vec![(self.rows.len() - 1, 1.0)];
        Functional { value: row.values[output], at: Some(row.t), rows, through: [0.0; 2] }
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

    fn times(&self, near: &Range<usize>) -> Vec<f64> {
        self.rows[near.clone()].iter().map(|row| row.t).collect()
    }

    /// The output at a time, by the polynomial through the rows around it.
    fn between(&self, near: &Range<usize>, output: usize, t: f64) -> f64 {
        let bases = bases(&self.times(near), t);
        self.rows[near.clone()].iter().zip(bases).map(|(row, basis)| basis * row.values[output]).sum()
    }

    /// The derivative of an extreme is that at the time of the extreme.
    fn extreme(&self, output: usize, sign: f64) -> Result<Functional, SensitivityError> {
        let upward = |u: f64| sign * u;
        let best = self
            .rows
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| upward(a.values[output]).total_cmp(&upward(b.values[output])));
        let Some((best, row)) = best else { return Ok(self.last(output)) };
        let mut found =
            Functional { value: row.values[output], at: Some(row.t), rows: vec![(best, 1.0)], through: [0.0; 2] };
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
            let u = |t: f64| self.between(&near, output, t);
            let t = largest(self.rows[k].t, self.rows[k + 1].t, |t| upward(u(t)));
            if upward(u(t)) > upward(found.value) {
                let rows = near.clone().zip(bases(&self.times(&near), t)).collect();
                found = Functional { value: u(t), at: Some(t), rows, through: [0.0; 2] };
            }
        }
        Ok(found)
    }

    fn span(&self) -> f64 {
        self.rows.last().map_or(0.0, |last| last.t - self.rows[0].t)
    }

    /// The weights of rows in ∫ c(u) u_p dt over the smooth stretches.
    fn integrated(&self, output: usize, factor: impl Fn(f64) -> f64) -> Vec<(usize, f64)> {
        let mut weights = vec![0.0; self.rows.len()];
        for (k, near) in self.intervals() {
            let times = self.times(&near);
            for (t, weight) in gauss(self.rows[k].t, self.rows[k + 1].t) {
                let bases = bases(&times, t);
                let u: f64 = self.rows[near.clone()].iter().zip(&bases).map(|(row, b)| b * row.values[output]).sum();
                let weight = weight * factor(u);
                weights[near.clone()].iter_mut().zip(&bases).for_each(|(w, basis)| *w += weight * basis);
            }
        }
        weights.into_iter().enumerate().filter(|(_, weight)| *weight != 0.0).collect()
    }

    fn mean(&self, output: usize) -> Functional {
        let span = self.span();
        if span == 0.0 {
            return self.last(output);
        }
        let rows = self.integrated(output, |_| 1.0 / span);
        Functional { value: self.integrals[output][0] / span, at: None, rows, through: [1.0 / span, 0.0] }
    }

    /// rms² = ∫ u² dt/T, so that its derivative is ∫ u u_p dt/(T rms).
    fn rms(&self, output: usize) -> Functional {
        let span = self.span();
        let rms = (self.integrals[output][1] / span).sqrt();
        if span == 0.0 || rms == 0.0 {
            let last = self.last(output);
            return Functional { value: last.value.abs(), ..last };
        }
        let factor = 1.0 / (span * rms);
        let rows = self.integrated(output, |u| factor * u);
        Functional { value: rms, at: None, rows, through: [0.0, factor] }
    }
}
