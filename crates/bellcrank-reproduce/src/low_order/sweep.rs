//! Errors of every preset over a range of step sizes.

use super::runs::{Run, fixed, go, slope};
use super::{claim_slope, runs, shown};
use crate::parallel;
use crate::report::{Report, Table};
use bellcrank_solve::choices::{LOW_ORDER, MethodName, Preset};
use bellcrank_view::plot::{Axis, Curve, Figure};

/// The order of a preset in fixed steps.
pub(super) fn order(p: &Preset) -> f64 {
    if p.method == MethodName::Newmark { 1.0 } else { 2.0 }
}

/// Errors of every preset for step sizes h, fitted over those between `from` and `to`.
pub(super) fn sweep(
    report: &mut Report,
    (table, title, note): (&'static str, &str, &str),
    model: &Run,
    steps: &[f64],
    errors: &[(&str, f64)],
    fit: (f64, f64),
    tolerance: impl Fn(&Preset, &str) -> Option<f64> + Sync,
) -> Vec<Vec<Vec<f64>>> {
    let found = parallel::map(LOW_ORDER, |p| -> Vec<Vec<f64>> {
        let one = |h: &f64| match go(model, fixed(p, *h)) {
            Some(s) => errors.iter().map(|(channel, exact)| runs::apart(&s, channel, *exact)).collect(),
            None => vec![f64::NAN; errors.len()],
        };
        steps.iter().map(one).collect()
    });
    for (k, (channel, _)) in errors.iter().enumerate() {
        let mut shown_table =
            Table { title: format!("{title}: error of {channel}"), note: note.into(), ..Table::default() };
        shown_table.header = vec!["h".into()];
        shown_table.header.extend(LOW_ORDER.iter().map(|p| p.name.to_string()));
        for (i, h) in steps.iter().enumerate() {
            let mut row = vec![format!("{h:.4e}")];
            row.extend(found.iter().map(|f| shown(f[i][k])));
            shown_table.rows.push(row);
        }
        let mut slopes = vec!["slope".to_string()];
        let mut figure = Figure {
            title: format!("{title}: error of {channel}"),
            abscissa: Axis::logarithmic("h [s]"),
            ordinate: Axis::logarithmic("error"),
            curves: Vec::new(),
        };
        for (p, f) in LOW_ORDER.iter().zip(&found) {
            let points: Vec<(f64, f64)> = steps.iter().zip(f).map(|(h, e)| (*h, e[k])).collect();
            let fitted: Vec<(f64, f64)> = points.iter().copied().filter(|(h, _)| *h <= fit.0 && *h >= fit.1).collect();
            let s = slope(&fitted);
            slopes.push(format!("{s:.3}"));
            if let Some(by) = tolerance(p, channel) {
                claim_slope(report, table, format!("order of {} in {channel}", p.name), s, order(p), by);
            }
            figure.curves.push(Curve { name: p.name.into(), points, marked: true });
        }
        shown_table.rows.push(slopes);
        report.tables.push(shown_table);
        let name = match (table, k) {
            ("3", _) => "figure-3",
            ("4", _) => "figure-4",
            ("5", 0) => "figure-5",
            ("5", 1) => "figure-6",
            ("5", _) => "figure-6-crank",
            _ => "stiff-smooth",
        };
        report.figures.push((name, figure));
    }
    found
}

pub(super) fn halvings(from: i32, to: i32) -> Vec<f64> {
    (from..=to).map(|k| 0.5f64.powi(k)).collect()
}

/// Figures 9 and 10: the mean error of the energy of every preset, and its order over h ≤ 2⁻⁹.
pub(super) fn energy_sweep(
    report: &mut Report,
    (table, title, note): (&'static str, &str, &str),
    steps: Vec<f64>,
    mean: impl Fn(&Preset, f64) -> f64 + Sync,
) {
    let found = parallel::map(LOW_ORDER, |p| -> Vec<f64> { steps.iter().map(|h| mean(p, *h)).collect() });
    let mut shown_table = Table {
        title: title.into(),
        note: note.into(),
        header: std::iter::once("h".to_string()).chain(LOW_ORDER.iter().map(|p| p.name.into())).collect(),
        rows: Vec::new(),
    };
    for (i, h) in steps.iter().enumerate() {
        shown_table.rows.push(std::iter::once(format!("{h:.4e}")).chain(found.iter().map(|f| shown(f[i]))).collect());
    }
    let mut figure = Figure {
        title: format!("Figure {table}: mean |E − E₀|"),
        abscissa: Axis::logarithmic("h [s]"),
        ordinate: Axis::logarithmic("J"),
        curves: Vec::new(),
    };
    let mut slopes = vec!["slope".to_string()];
    for (p, f) in LOW_ORDER.iter().zip(&found) {
        let points: Vec<(f64, f64)> = steps.iter().copied().zip(f.iter().copied()).collect();
        let fitted: Vec<(f64, f64)> = points.iter().copied().filter(|(h, _)| *h <= 0.5f64.powi(9)).collect();
        let s = slope(&fitted);
        slopes.push(format!("{s:.3}"));
        claim_slope(report, table, format!("mean |E − E₀| of {}", p.name), s, order(p), 0.1);
        figure.curves.push(Curve { name: p.name.into(), points, marked: true });
    }
    shown_table.rows.push(slopes);
    report.tables.push(shown_table);
    report.figures.push((if table == "9" { "figure-9" } else { "figure-10" }, figure));
}
