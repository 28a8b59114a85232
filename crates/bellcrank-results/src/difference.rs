//! How far two results are apart, channel by channel.

use crate::columns::Columns;
use std::collections::HashMap;
use std::io::{self, ErrorKind};

/// How far one channel of two results is apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The channel.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The largest |a − b|; not a number where one of them is none.
    pub largest: f64,
    /// When, in s.
    pub t: f64,
    /// The largest |a| or |b|.
    pub size: f64,
    /// The largest size of all channels in this unit.
    pub scale: f64,
}

/// A difference below this part of the largest value in its unit is rounding.
const ROUNDING: f64 = 1e-12;

impl Difference {
    /// The difference against the size of the channel; zero where both are zero, and where it is rounding.
    pub fn relative(&self) -> f64 {
        if self.is_rounding() { 0.0 } else { self.largest / self.size.max(f64::MIN_POSITIVE) }
    }

    /// Whether the difference is none, but for rounding.
    pub fn is_rounding(&self) -> bool {
        self.largest <= ROUNDING * self.scale
    }
}

/// How far two results are apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// The channels that both have, in the order of the first.
    pub channels: Vec<Difference>,
    /// Those of the first alone.
    pub only_first: Vec<String>,
    /// Those of the second alone.
    pub only_second: Vec<String>,
    /// The times that both cover, in s.
    pub span: (f64, f64),
    /// Whether they were recorded at the same times. Where they were not, the second is taken along cubics through its
    /// neighbouring frames.
    pub same_times: bool,
}

/// Compares two results at the times of the first that the second covers.
pub fn difference(first: &Columns, second: &Columns) -> io::Result<Differences> {
    let one = |of: &Columns, k: usize| -> io::Result<Vec<f64>> { Ok(of.read(&[k])?.pop().unwrap_or_default()) };
    let (times, others) = (one(first, 0)?, one(second, 0)?);
    let places = places(&times, &others);
    let (Some(from), Some(to)) = (places.first(), places.last()) else {
        let text = "they have no time in common".to_string();
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    };
    let mut out = Differences {
        span: (times[from.row], times[to.row]),
        same_times: times == others,
        only_second: second.names.iter().filter(|n| !first.names.contains(n)).cloned().collect(),
        ..Differences::default()
    };
    for (k, name) in first.names.iter().enumerate().skip(1) {
        let Some(j) = second.names.iter().position(|n| n == name) else {
            out.only_first.push(name.clone());
            continue;
        };
        let (a, b) = (one(first, k)?, one(second, j)?);
        let (name, unit) = (name.clone(), first.units[k].clone());
        let mut found = Difference { name, unit, largest: 0.0, t: out.span.0, size: 0.0, scale: 0.0 };
        for place in &places {
            let x = a[place.row];
            let y: f64 = place.of.iter().map(|(row, weight)| weight * b[*row]).sum();
            found.size = found.size.max(x.abs()).max(y.abs());
            let apart = (x - y).abs();
            if apart > found.largest || apart.is_nan() && !found.largest.is_nan() {
                (found.largest, found.t) = (apart, times[place.row]);
            }
        }
        out.channels.push(found);
    }
    let mut scales = HashMap::<String, f64>::new();
    for d in &out.channels {
        let scale = scales.entry(d.unit.clone()).or_default();
        *scale = scale.max(d.size);
    }
    out.channels.iter_mut().for_each(|d| d.scale = scales[&d.unit]);
    Ok(out)
}

/// A row of the first, and the rows of the second around its time with their weights.
struct Placed {
    row: usize,
    of: Vec<(usize, f64)>,
}

/// Neighbours that are this many times further away than the rows next to a time tell nothing about it.
const FAR: f64 = 8.0;

fn places(times: &[f64], others: &[f64]) -> Vec<Placed> {
    let mut out = Vec::with_capacity(times.len());
    for (row, t) in times.iter().enumerate() {
        let after = others.partition_point(|x| x < t);
        match others.get(after) {
            Some(x) if x == t => out.push(Placed { row, of: vec![(after, 1.0)] }),
            Some(_) if after > 0 => out.push(Placed { row, of: weights(*t, after, others) }),
            _ => {}
        }
    }
    out
}

/// Lagrange's weights of the rows before and after a time, and of their neighbours. Where a row follows at once there was an event,
/// and what is on its other side does not count.
fn weights(t: f64, after: usize, others: &[f64]) -> Vec<(usize, f64)> {
    let between = others[after] - others[after - 1];
    let counts = |k: usize| {
        let apart = others[k + 1] - others[k];
        apart < FAR * between && between < FAR * apart
    };
    let first = if after > 1 && counts(after - 2) { after - 2 } else { after - 1 };
    let last = if after + 1 < others.len() && counts(after) { after + 1 } else { after };
    let rows = first..=last;
    let weight =
        |k: usize| rows.clone().filter(|j| *j != k).map(|j| (t - others[j]) / (others[k] - others[j])).product();
    rows.clone().map(|k| (k, weight(k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rounding_in_its_unit_is_no_difference() {
        let of =
            |largest, size| Difference { name: "a.wy".into(), unit: "rad/s".into(), largest, t: 0.0, size, scale: 2.0 };
        let found = [of(2e-18, 2.5e-18), of(0.0, 0.0), of(1e-6, 1e-5)].map(|d| (d.is_rounding(), d.relative()));
        assert_eq!(found, [(true, 0.0), (true, 0.0), (false, 1e-6 / 1e-5)]);
        assert!(!of(f64::NAN, 1.0).is_rounding());
    }

    #[test]
    fn between_frames_motions_are_smooth_and_events_are_not_smoothed() {
        // uneven frames of a sine that jumps at t = 2
        let signal = |t: f64| if t <= 2.0 { t.sin() } else { 5.0 - t.sin() };
        let mut others: Vec<f64> = (0..=40).map(|k| 0.1 * f64::from(k) + 0.02 * f64::from(k % 3)).collect();
        others.retain(|t| (t - 2.0).abs() > 0.05);
        others.extend([2.0, 2.0f64.next_up()]);
        others.sort_by(f64::total_cmp);
        let times: Vec<f64> = (0..=400).map(|k| 0.01 * f64::from(k)).collect();
        let places = places(&times, &others);
        assert!(places.len() > 395);
        for place in places {
            let t = times[place.row];
            let y: f64 = place.of.iter().map(|(k, weight)| weight * signal(others[*k])).sum();
            // next to the event there are three frames to go by, elsewhere four
            let bound = if (t - 2.0).abs() < 0.2 || !(0.2..3.8).contains(&t) { 3e-4 } else { 2e-5 };
            assert!((y - signal(t)).abs() < bound, "{t}: {y} {}", signal(t));
            assert!((place.of.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
