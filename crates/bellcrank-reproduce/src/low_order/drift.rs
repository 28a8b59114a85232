//! Figures 11 to 15: velocity constraints, held exactly and left open.

use super::runs::{Run, fixed};
use super::{runs, shown, strings};
use crate::claim::{Against, around, at_most, near};
use crate::parallel;
use crate::problems::SLIDER_CRANK;
use crate::report::{Report, Table};
use bellcrank_solve::choices::Preset;
use bellcrank_view::plot::{Axis, Curve, Figure};

/// The figures as they are printed, x against y.
const PLANES: [(&str, &str, &str); 3] = [
    ("hht-add", "figure-11-plane", "Figure 11"),
    ("hht-si2", "figure-12-plane", "Figure 12"),
    ("nstiff-si2", "figure-12-nstiff", "As figure 12"),
];

pub(super) fn no_drift(report: &mut Report, quick: bool) {
    let until = if quick { 4.0 } else { 10.0 };
    let model = Run { set: vec!["parameter.c=0".into()], ..Run::new(SLIDER_CRANK, until) };
    let mut figure = Figure {
        title: "Figures 11 and 12: velocity residual of the crank pin where velocities are stabilized".into(),
        abscissa: Axis::linear("t [s]"),
        ordinate: Axis::logarithmic("m/s"),
        curves: Vec::new(),
    };
    for name in ["hht-add", "hht-si2", "nstiff-si2"] {
        let Some(p) = Preset::by_name(name) else { continue };
        let Some(residuals) = runs::pin_residuals(&model, fixed(p, 0.5f64.powi(10)), 0.5f64.powi(10)) else { continue };
        let worst = residuals.points.iter().fold(0.0f64, |m, (x, y)| m.max(x.abs()).max(y.abs()));
        let what = format!("velocity residual of {name} over {until} s, in parts of the largest speed");
        let claim = report.claim("11", Against::Paper, what);
        claim.asks("residual/speed", worst / residuals.speed, at_most(2e-14)).paper("machine precision");
        // the largest of sixteen steps; a residual of zero has no logarithm
        let size = |(k, some): (usize, &[(f64, f64)])| {
            let largest = some.iter().fold(1e-18f64, |m, (x, y)| m.max(x.hypot(*y)));
            ((16 * k) as f64 * 0.5f64.powi(10), largest)
        };
        let points = residuals.points.chunks(16).enumerate().map(size).collect();
        figure.curves.push(Curve { name: name.into(), points, marked: false });
        if let Some((_, file, number)) = PLANES.iter().find(|(n, ..)| *n == name) {
            let (abscissa, ordinate) = (Axis::linear("along x [m/s]"), Axis::linear("along y [m/s]"));
            let title = format!("{number}: velocity residual of the crank pin, {name}, every fourth step");
            let points = residuals.points.iter().step_by(4).copied().collect();
            let curves = vec![Curve { name: name.into(), points, marked: true }];
            report.figures.push((file, Figure { title, abscissa, ordinate, curves }));
        }
    }
    report.figures.push(("figure-11", figure));
}

/// The largest |residual| of the crank pin, h = 2⁻¹⁰, T = 10.
const BOXES: [(&str, f64); 3] = [("nstiff", 3.74e-5), ("hht-i3", 1.19e-5), ("newmark", 9.6e-6)];

pub(super) fn boxes(report: &mut Report, quick: bool) {
    let until = 10.0;
    let model = Run { set: vec!["parameter.c=0".into()], ..Run::new(SLIDER_CRANK, until) };
    let mut table = Table {
        title: "Figures 13–15: velocity residual of the crank pin, h = 2⁻¹⁰, T = 10, undamped".into(),
        note: "One shape for all, as the paper found, and this is why: an index-3 step leaves G v = c h² G q⃛ with c = γ/2 − β − 1/12 \
               (BDF2: −1/3), O(h²) also for Newmark, bounded for all times. The boxes have the ratio of the constants c."
            .into(),
        header: strings(&["method", "c", "box at 2⁻⁹", "box at 2⁻¹⁰", "ratio"]),
        rows: Vec::new(),
    };
    let mut figure = Figure {
        title: "Figures 13–15: velocity residual of the crank pin".into(),
        abscissa: Axis::linear("along x [m/s]"),
        ordinate: Axis::linear("along y [m/s]"),
        curves: Vec::new(),
    };
    let size = |p: &Preset, model: &Run, k: i32| {
        let found = runs::pin_residuals(model, fixed(p, 0.5f64.powi(k)), 0.5f64.powi(k))?;
        let skip = 64; // the start-up of the reactions
        let worst = found.points.iter().skip(skip).fold(0.0f64, |m, (x, y)| m.max(x.abs()).max(y.abs()));
        Some((worst, found.points))
    };
    let mut at_10 = Vec::new();
    for (name, wanted) in BOXES {
        let Some(p) = Preset::by_name(name) else { continue };
        let runs = parallel::map(&[9, 10], |k| size(p, &model, *k));
        let [Some((coarse, _)), Some((fine, points))] = &runs[..] else { continue };
        let c = fixed(p, 1.0).alpha_parameters(p.method).map_or(-1.0 / 3.0, |a| a.error_constant());
        table.rows.push(vec![
            name.into(),
            format!("{c:.4}"),
            shown(*coarse),
            shown(*fine),
            format!("{:.3}", coarse / fine),
        ]);
        at_10.push(*fine);
        report.claim("13", Against::Independent, format!("box of {name}")).asks("size", *fine, near(wanted, 0.03));
        let claim = report.claim("13", Against::Theory, format!("box of {name}, per halving of h"));
        claim.asks("shrinks by", coarse / fine, around(4.0, 0.1)).paper("the box shrinks");
        let thinned = points.iter().skip(64).step_by(4).copied().collect();
        figure.curves.push(Curve { name: name.into(), points: thinned, marked: false });
        if !quick && name == "hht-i3" {
            let long = Run { until: 100.0, ..model.clone() };
            if let Some((worst, _)) = size(p, &long, 10) {
                let claim = report.claim("15", Against::Ours, "box of hht-i3 up to T = 100, by that up to T = 10");
                claim.asks("growth", worst / fine, at_most(1.1));
            }
        }
    }
    if let [a, b, ..] = at_10[..] {
        let claim = report.claim("14", Against::Theory, "box of nstiff by that of hht-i3, as their constants c");
        claim.asks("ratio", a / b, near(3.15, 0.01)).paper("one shape");
    }
    report.tables.push(table);
    report.figures.push(("figure-13", figure));
}
