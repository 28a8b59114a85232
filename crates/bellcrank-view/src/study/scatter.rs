//! Scatter: one dot for each row.

use super::StudyTable;
use super::chart::{Line, bar, colour, frame};
use crate::colours::colours;
use crate::drawing::{Colour, Drawing, Style};

/// Draws one column over another; dots have the colour of a third one, if there is one.
pub fn scatter(study: &StudyTable, x: usize, y: usize, hue: Option<usize>) -> Drawing {
    let hue = hue.map(|c| Line::new(study, c, 6));
    let mut out = Drawing::new(if hue.is_some() { 720.0 } else { 640.0 }, 420.0);
    let (across, up) = (Line::new(study, x, 7), Line::new(study, y, 6));
    let area = [86.0, 30.0, 610.0, 366.0];
    let [left, top, right, bottom] = area;
    for (u, _) in &across.ticks {
        out.line([left + u * (right - left), top], [left + u * (right - left), bottom], colours().ruled, 1.0);
    }
    for (u, _) in &up.ticks {
        out.line([left, bottom - u * (bottom - top)], [right, bottom - u * (bottom - top)], colours().ruled, 1.0);
    }
    let rows = study.table.rows();
    let radius = if rows > 2000 { 1.6 } else { 3.0 };
    for row in 0..rows {
        let at = [left + across.places[row] * (right - left), bottom - up.places[row] * (bottom - top)];
        let paint = match &hue {
            Some(line) if line.places[row].is_nan() => continue,
            Some(line) => colour(line.places[row]),
            None => Colour::hex(0x0072b2),
        };
        out.circle(at, radius, Style::fill(paint.with_opacity(0.8)));
    }
    frame(&mut out, area, &across, &up);
    if let Some(line) = &hue {
        bar(&mut out, line, [640.0, top, bottom]);
    }
    out
}
