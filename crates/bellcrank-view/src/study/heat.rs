//! Heat maps: the mean of a column over the cells of two others.

use super::StudyTable;
use super::chart::{Line, bar, colour, frame};
use crate::drawing::{Colour, Drawing, Style};
use crate::plot::Scale;

/// A column with more values than this is cut into as many slices.
const MOST_SLICES: usize = 24;

/// The cell of each row, and how many there are: one for each value where there are few, else slices of equal width.
fn cells(places: &[f64]) -> (Vec<Option<usize>>, Vec<[f64; 2]>) {
    let mut values: Vec<f64> = places.iter().copied().filter(|u| !u.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.len() > MOST_SLICES {
        let n = (values.len() as f64).sqrt().clamp(8.0, MOST_SLICES as f64) as usize;
        let cell = |u: &f64| (!u.is_nan()).then(|| ((u * n as f64) as usize).min(n - 1));
        let edges = (0..n).map(|k| [k as f64 / n as f64, (k + 1) as f64 / n as f64]).collect();
        return (places.iter().map(cell).collect(), edges);
    }
    // between neighbours the border lies in the middle
    let middle = |k: usize| (values[k - 1] + values[k]) / 2.0;
    let edge = |k: usize| {
        let low = if k == 0 { 0.0 } else { middle(k) };
        [low, if k + 1 == values.len() { 1.0 } else { middle(k + 1) }]
    };
    let cell = |u: &f64| values.iter().position(|v| v == u);
    (places.iter().map(cell).collect(), (0..values.len()).map(edge).collect())
}

/// Draws the mean of a column over two others.
pub fn heat(study: &StudyTable, x: usize, y: usize, of: usize) -> Drawing {
    let mut out = Drawing::new(720.0, 420.0);
    let (across, up) = (Line::new(study, x, 7), Line::new(study, y, 6));
    let area = [86.0, 30.0, 600.0, 366.0];
    let [left, top, right, bottom] = area;
    let ((columns, widths), (rows, heights)) = (cells(&across.places), cells(&up.places));
    let values = study.numbers(of);
    let mut sums = vec![(0.0, 0usize); widths.len() * heights.len()];
    for ((value, column), row) in values.iter().zip(&columns).zip(&rows) {
        if let (false, Some(column), Some(row)) = (value.is_nan(), column, row) {
            let sum = &mut sums[row * widths.len() + column];
            *sum = (sum.0 + value, sum.1 + 1);
        }
    }
    let mean = |(sum, n): &(f64, usize)| if *n == 0 { f64::NAN } else { sum / *n as f64 };
    let means: Vec<f64> = sums.iter().map(mean).collect();
    let scale = Scale::new(&mut means.iter().copied().filter(|x| x.is_finite()), false, 0.0, 6);
    for (k, value) in means.iter().enumerate() {
        let ([a, b], [c, d]) = (widths[k % widths.len()], heights[k / widths.len()]);
        let (px, py) = (|u: f64| left + u * (right - left), |u: f64| bottom - u * (bottom - top));
        let corners = vec![[px(a), py(c)], [px(b), py(c)], [px(b), py(d)], [px(a), py(d)]];
        // cells without a row are empty
        let paint = if value.is_finite() { colour(scale.place(*value)) } else { Colour::hex(0xf4f4f4) };
        out.path(corners, true, Style::outlined(paint, Colour::hex(0xffffff), 0.5));
    }
    frame(&mut out, area, &across, &up);
    let ticks = scale.ticks.iter().map(|(x, text)| (scale.place(*x), text.clone())).collect();
    let legend = Line { label: study.label(of), ticks, factor: scale.factor, places: Vec::new() };
    bar(&mut out, &legend, [630.0, top, bottom]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_cell_each_and_many_share() {
        let (cell, edges) = cells(&[0.1, 0.5, 0.9, 0.5, f64::NAN]);
        assert_eq!(cell, [Some(0), Some(1), Some(2), Some(1), None]);
        assert_eq!(edges, [[0.0, 0.3], [0.3, 0.7], [0.7, 1.0]]);
        let many: Vec<f64> = (0..400).map(|k| f64::from(k) / 399.0).collect();
        let (cell, edges) = cells(&many);
        assert_eq!((edges.len(), cell[0], cell[399]), (20, Some(0), Some(19)));
    }
}
