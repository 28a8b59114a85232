//! Figures of the columns of a table.

use super::{Axis, Curve, Figure};
use bellcrank_model::file::diagnostic::escaped;
use std::io;
use std::ops::RangeInclusive;

/// Columns that can be plotted, the time first.
pub struct Table<'a> {
    /// Their names.
    pub names: &'a [&'a str],
    /// Their units; empty for pure numbers.
    pub units: &'a [&'a str],
    /// Reads a column.
    pub read: &'a dyn Fn(usize) -> io::Result<Vec<f64>>,
}

/// What is plotted of a table.
pub struct Chosen<'a> {
    /// The column of the horizontal axis; 0 is the time.
    pub x: usize,
    /// The columns of the curves.
    pub channels: &'a [usize],
    /// Whether vertical axes are logarithmic.
    pub logarithmic: bool,
    /// The heading; empty for none.
    pub title: &'a str,
    /// The times that are shown.
    pub span: RangeInclusive<f64>,
}

/// Curves of channels, those of one unit in one figure.
pub fn figures(table: &Table, chosen: &Chosen) -> io::Result<Vec<Figure>> {
    let (times, x) = ((table.read)(0)?, (table.read)(chosen.x)?);
    let rows: Vec<usize> = (0..times.len()).filter(|i| chosen.span.contains(&times[*i])).collect();
    if rows.is_empty() {
        let span = times.first().zip(times.last());
        let help = span.map_or("the result holds no frames".into(), |(a, b)| format!("the result covers {a} to {b} s"));
        return Err(io::Error::other(format!("there are no frames between these times\nhelp: {help}")));
    }
    let label = |k: usize| labelled(table.names[k], table.units[k]);
    let mut figures: Vec<(&str, Figure)> = Vec::new();
    for k in chosen.channels {
        let (unit, values) = (table.units[*k], (table.read)(*k)?);
        let points = rows.iter().map(|i| (x[*i], values[*i])).collect();
        let curve = Curve { name: escaped(table.names[*k]), points, marked: false };
        match figures.iter_mut().find(|(u, _)| *u == unit) {
            Some((_, figure)) => figure.curves.push(curve),
            None => {
                let ordinate = Axis { label: label(*k), logarithmic: chosen.logarithmic };
                let abscissa = Axis::linear(if chosen.x == 0 { "t [s]".into() } else { label(chosen.x) });
                figures.push((unit, Figure { abscissa, ordinate, curves: vec![curve], ..Figure::default() }));
            }
        }
    }
    for (unit, figure) in &mut figures {
        if let Some(common) = common(&figure.curves) {
            figure.ordinate.label = labelled(&common, unit);
        }
    }
    let mut figures: Vec<Figure> = figures.into_iter().map(|(_, f)| f).collect();
    if let Some(first) = figures.first_mut() {
        first.title = escaped(chosen.title);
    }
    Ok(figures)
}

/// A name with its unit, as axes have it.
pub fn labelled(name: &str, unit: &str) -> String {
    let name = escaped(name);
    if unit.is_empty() { name } else { format!("{name} [{unit}]") }
}

/// What all names share behind their last dot, where there are several names.
fn common(curves: &[Curve]) -> Option<String> {
    let part = |c: &Curve| c.name.rsplit_once('.').map(|(_, part)| part.to_string());
    let first = part(curves.first()?);
    match (curves.len(), first) {
        (0 | 1, _) => None,
        (_, Some(first)) if curves.iter().all(|c| part(c).as_ref() == Some(&first)) => Some(first),
        _ => Some(String::new()),
    }
}
