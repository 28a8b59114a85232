//! Parallel coordinates: one upright axis for each column, one line for each row [Inselberg 1985].

use super::StudyTable;
use super::chart::{Line, colour};
use crate::colours::colours;
use crate::drawing::{Anchor, Drawing, Style, fitted};

/// More lines than this hide each other: an even selection is drawn.
const MOST_LINES: usize = 2000;

/// Draws columns side by side; lines have the colour of the last one.
pub fn parallel(study: &StudyTable, columns: &[usize]) -> Drawing {
    const STEP: f64 = 130.0;
    let (top, bottom, left) = (56.0, 360.0, 70.0);
    let mut out = Drawing::new((left + 60.0 + STEP * columns.len().saturating_sub(1) as f64).max(360.0), 390.0);
    let lines: Vec<Line> = columns.iter().map(|c| Line::new(study, *c, 6)).collect();
    let x = |k: usize| left + STEP * k as f64;
    let y = |u: f64| bottom - u * (bottom - top);
    let rows = study.table.rows();
    let every = rows.div_ceil(MOST_LINES).max(1);
    let opacity = (40.0 / (rows / every).max(1) as f64).clamp(0.12, 0.85);
    let place = |row: usize, line: &Line| line.places.get(row).copied().filter(|u| !u.is_nan());
    for row in (0..rows).step_by(every) {
        let shown: Option<Vec<[f64; 2]>> =
            lines.iter().enumerate().map(|(k, line)| Some([x(k), y(place(row, line)?)])).collect();
        let (Some(points), Some(last)) = (shown, lines.last().and_then(|l| place(row, l))) else { continue };
        out.path(points, false, Style::line(colour(last).with_opacity(opacity), 1.2));
    }
    for (k, line) in lines.iter().enumerate() {
        out.line([x(k), top], [x(k), bottom], colours().frame, 1.2);
        for (u, text) in &line.ticks {
            out.line([x(k) - 4.0, y(*u)], [x(k), y(*u)], colours().frame, 1.0);
            out.text([x(k) - 7.0, y(*u) + 4.0], &fitted(text, 11.0, 60.0), 11.0, Anchor::End, colours().ink);
        }
        // neighbours stand at two heights, so that long names have room
        let height = if k % 2 == 0 { 20.0 } else { 38.0 };
        out.text([x(k), height], &fitted(&line.label, 12.0, 2.0 * STEP - 16.0), 12.0, Anchor::Middle, colours().ink);
        out.text([x(k), bottom + 18.0], &line.factor, 11.0, Anchor::Middle, colours().ink);
    }
    out
}
