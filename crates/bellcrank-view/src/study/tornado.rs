//! Tornado: how far each of the varied values moves a result, the strongest on top.

use super::StudyTable;
use super::chart::Line;
use crate::colours::colours;
use crate::drawing::{Anchor, Colour, Drawing, Style, fitted, text_width};
use crate::plot::Scale;

/// The rows in the lowest and in the highest fifth of an axis stand for its ends; of a list that is its least and greatest value.
const SHARE: f64 = 0.2;

/// The mean of a result at both ends of each axis, the widest first.
pub(super) fn swings(study: &StudyTable, of: usize) -> Vec<(usize, [f64; 2])> {
    let values = study.numbers(of);
    let mean = |rows: &[usize]| {
        let there: Vec<f64> = rows.iter().map(|i| values[*i]).filter(|x| x.is_finite()).collect();
        if there.is_empty() { f64::NAN } else { there.iter().sum::<f64>() / there.len() as f64 }
    };
    let ends = |axis: usize| {
        let at = study.numbers(axis);
        let mut rows: Vec<usize> = (0..at.len()).filter(|i| at[*i].is_finite() && values[*i].is_finite()).collect();
        rows.sort_by(|a, b| at[*a].total_cmp(&at[*b]));
        let n = ((rows.len() as f64 * SHARE).ceil() as usize).clamp(1, rows.len().max(1));
        let (Some(low), Some(high)) = (rows.get(n - 1), rows.len().checked_sub(n).and_then(|k| rows.get(k))) else {
            return [f64::NAN; 2];
        };
        // all rows of a value belong together
        let (low, high) = (at[*low], at[*high]);
        let below: Vec<usize> = rows.iter().copied().filter(|i| at[*i] <= low).collect();
        let above: Vec<usize> = rows.iter().copied().filter(|i| at[*i] >= high).collect();
        [mean(&below), mean(&above)]
    };
    let mut all: Vec<(usize, [f64; 2])> = study.axes.iter().map(|a| (*a, ends(*a))).collect();
    all.retain(|(_, ends)| ends.iter().all(|x| x.is_finite()));
    all.sort_by(|(_, a), (_, b)| (b[1] - b[0]).abs().total_cmp(&(a[1] - a[0]).abs()));
    all
}

/// Draws how far each axis moves a column.
pub fn tornado(study: &StudyTable, of: usize) -> Drawing {
    const BAR: f64 = 30.0;
    let swings = swings(study, of);
    let (left, right, top) = (160.0, 640.0, 30.0);
    let bottom = top + BAR * swings.len().max(1) as f64 + 8.0;
    let mut out = Drawing::new(720.0, bottom + 76.0);
    let scale = Scale::new(&mut swings.iter().flat_map(|(_, ends)| *ends), false, 0.08, 7);
    let x = |value: f64| left + scale.place(value) * (right - left);
    for (value, text) in &scale.ticks {
        out.line([x(*value), top], [x(*value), bottom], colours().ruled, 1.0);
        out.text([x(*value), bottom + 17.0], text, 12.0, Anchor::Middle, colours().ink);
    }
    let (low, high) = (Colour::hex(0x0072b2), Colour::hex(0xd55e00));
    for (k, (axis, ends)) in swings.iter().enumerate() {
        let y = top + 8.0 + BAR * k as f64;
        let middle = (ends[0] + ends[1]) / 2.0;
        for (end, paint) in [(ends[0], low), (ends[1], high)] {
            let corners = vec![[x(middle), y], [x(end), y], [x(end), y + 20.0], [x(middle), y + 20.0]];
            out.path(corners, true, Style::fill(paint));
        }
        out.text(
            [left - 10.0, y + 14.0],
            &fitted(&study.label(*axis), 12.0, left - 20.0),
            12.0,
            Anchor::End,
            colours().ink,
        );
    }
    out.path(vec![[left, top], [right, top], [right, bottom], [left, bottom]], true, Style::line(colours().frame, 1.0));
    let label = Line::new(study, of, 2).label;
    out.text([(left + right) / 2.0, bottom + 38.0], &format!("mean of {label}"), 13.0, Anchor::Middle, colours().ink);
    out.text([right, bottom + 38.0], &scale.factor, 12.0, Anchor::End, colours().ink);
    let mut at = left;
    for (text, paint) in [("lowest fifth of the value", low), ("highest fifth", high)] {
        out.circle([at + 5.0, bottom + 56.0], 5.0, Style::fill(paint));
        out.text([at + 16.0, bottom + 60.0], text, 12.0, Anchor::Start, colours().ink);
        at += 34.0 + text_width(text, 12.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellcrank_results::tidy::{TidyColumn, TidyTable, TidyValues};

    /// y = 3a + b − 2c on a grid: the means at the ends differ by 6, 2 and −4, whatever the others do.
    #[test]
    fn the_strongest_axis_comes_first_and_signs_are_kept() {
        let rows: Vec<[f64; 3]> = (0..27i32).map(|k| [k / 9, k / 3 % 3, k % 3].map(|k| f64::from(k) - 1.0)).collect();
        let column = |name: &str| TidyColumn { name: name.into(), ..TidyColumn::default() };
        let mut values: Vec<TidyValues> =
            (0..3).map(|k| TidyValues::Numbers(rows.iter().map(|r| r[k]).collect())).collect();
        let mut y: Vec<f64> = rows.iter().map(|[a, b, c]| 3.0 * a + b - 2.0 * c).collect();
        values.push(TidyValues::Numbers(y.clone()));
        let table = TidyTable { columns: ["a", "b", "c", "y"].map(column).to_vec(), values, about: Vec::new() };
        let mut study = StudyTable { dir: "".into(), table, axes: vec![0, 1, 2], wanted: vec![3] };
        let found = swings(&study, 3);
        let expected = [(0, [-3.0, 3.0]), (2, [2.0, -2.0]), (1, [-1.0, 1.0])];
        for ((axis, ends), (wanted, exact)) in found.iter().zip(expected) {
            assert_eq!(*axis, wanted);
            assert!((ends[0] - exact[0]).abs() < 1e-12 && (ends[1] - exact[1]).abs() < 1e-12, "{ends:?}");
        }
        // rows that failed count for nothing, and a table of them draws nothing
        y.fill(f64::NAN);
        study.table.values[3] = TidyValues::Numbers(y);
        assert!(swings(&study, 3).is_empty());
        assert!(tornado(&study, 3).to_svg().ends_with("</svg>\n"));
    }
}
