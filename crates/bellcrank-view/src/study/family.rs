//! Families of curves: a channel over time in every row whose results were kept.

use super::StudyTable;
use super::chart::{Line, bar, colour, frame};
use crate::colours::colours;
use crate::drawing::{Drawing, Style};
use crate::plot::{Scale, labelled};
use bellcrank_results::Columns;
use std::io;

/// More curves than this hide each other: an even selection is drawn.
const MOST_CURVES: usize = 200;
/// Points of a curve that can be seen.
const POINTS: usize = 600;

/// Draws a channel over time for the rows that were kept; curves have the colour of a column.
pub fn family(study: &StudyTable, channel: &str, hue: usize) -> io::Result<Drawing> {
    let kept = study.table.place("folder");
    let Some(kept) = kept else {
        let help = "run it with `keep = true` under [study]";
        return Err(io::Error::other(format!("the study kept no whole results\nhelp: {help}")));
    };
    let line = Line::new(study, hue, 6);
    let folders: Vec<(usize, String)> = (0..study.table.rows())
        .map(|i| (i, study.table.values[kept].shown(i)))
        .filter(|(i, folder)| !folder.is_empty() && !line.places[*i].is_nan())
        .collect();
    let every = folders.len().div_ceil(MOST_CURVES).max(1);
    let mut curves: Vec<(usize, Vec<f64>, Vec<f64>)> = Vec::new();
    let mut unit = String::new();
    for (row, folder) in folders.iter().step_by(every) {
        let columns = Columns::open(&study.dir.join(folder))?;
        let Some(k) = columns.names.iter().position(|name| name == channel) else {
            let near = bellcrank_model::file::suggest::nearest(channel, columns.names.iter().map(String::as_str));
            let help = near.map_or(String::new(), |near| format!("\nhelp: did you mean `{near}`?"));
            return Err(io::Error::other(format!("the results have no channel `{channel}`{help}")));
        };
        unit.clone_from(&columns.units[k]);
        let mut both = columns.read(&[0, k])?.into_iter();
        let (t, x) = (both.next().unwrap_or_default(), both.next().unwrap_or_default());
        let skip = t.len().div_ceil(POINTS).max(1);
        let thin = |list: Vec<f64>| list.into_iter().step_by(skip).collect::<Vec<f64>>();
        curves.push((*row, thin(t), thin(x)));
    }
    let mut out = Drawing::new(720.0, 420.0);
    let area = [86.0, 30.0, 610.0, 366.0];
    let [left, top, right, bottom] = area;
    let across = Scale::new(&mut curves.iter().flat_map(|(_, t, _)| t.iter().copied()), false, 0.0, 7);
    let finite = |x: &f64| x.is_finite();
    let up = Scale::new(&mut curves.iter().flat_map(|(_, _, x)| x.iter().copied().filter(finite)), false, 0.04, 6);
    let axis = |scale: &Scale, label: String| Line {
        label,
        ticks: scale.ticks.iter().map(|(x, text)| (scale.place(*x), text.clone())).collect(),
        factor: scale.factor.clone(),
        places: Vec::new(),
    };
    let (x, y) = (axis(&across, "t [s]".into()), axis(&up, labelled(channel, &unit)));
    for (u, _) in &y.ticks {
        out.line([left, bottom - u * (bottom - top)], [right, bottom - u * (bottom - top)], colours().ruled, 1.0);
    }
    for (row, t, values) in &curves {
        let place =
            |(t, x): (&f64, &f64)| [left + across.place(*t) * (right - left), bottom - up.place(*x) * (bottom - top)];
        let points = t.iter().zip(values).map(place).collect();
        out.path(points, false, Style::line(colour(line.places[*row]).with_opacity(0.8), 1.3));
    }
    frame(&mut out, area, &x, &y);
    bar(&mut out, &line, [640.0, top, bottom]);
    Ok(out)
}
