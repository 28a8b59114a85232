//! How far two results are apart, channel by channel.

use crate::columns::Columns;
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
}

impl Difference {
    /// The difference against the size of the channel; zero where both are zero.
    pub fn relative(&self) -> f64 {
        if self.largest == 0.0 { 0.0 } else { self.largest / self.size.max(f64::MIN_POSITIVE) }
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
    /// Whether they were recorded at the same times. Where they were not, the second is taken along straight lines between
    /// its frames.
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
        let mut found =
            Difference { name: name.clone(), unit: first.units[k].clone(), largest: 0.0, t: out.span.0, size: 0.0 };
        for place in &places {
            let x = a[place.row];
            let y = b[place.before] + place.share * (b[place.after] - b[place.before]);
            found.size = found.size.max(x.abs()).max(y.abs());
            let apart = (x - y).abs();
            if apart > found.largest || apart.is_nan() && !found.largest.is_nan() {
                (found.largest, found.t) = (apart, times[place.row]);
            }
        }
        out.channels.push(found);
    }
    Ok(out)
}

/// A row of the first, and where its time stands between two rows of the second.
struct Placed {
    row: usize,
    before: usize,
    after: usize,
    share: f64,
}

fn places(times: &[f64], others: &[f64]) -> Vec<Placed> {
    let mut out = Vec::with_capacity(times.len());
    for (row, t) in times.iter().enumerate() {
        let after = others.partition_point(|x| x < t);
        match others.get(after) {
            Some(x) if x == t => out.push(Placed { row, before: after, after, share: 0.0 }),
            Some(x) if after > 0 => {
                let before = after - 1;
                let share = (t - others[before]) / (x - others[before]);
                out.push(Placed { row, before, after, share });
            }
            _ => {}
        }
    }
    out
}
