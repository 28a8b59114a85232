//! The stiff double pendulum, from its original start and from a smooth one.

use super::runs::{Run, fixed, go, stiff_pendulum};
use super::sweep::{halvings, sweep};
use super::{runs, shown};
use crate::claim::{Against, at_most};
use crate::parallel;
use crate::problems::DOUBLE_PENDULUM;
use crate::report::{Report, Table};
use bellcrank_solve::choices::LOW_ORDER;

pub(super) fn stiff(report: &mut Report, quick: bool) {
    let text = stiff_pendulum();
    let model = Run::new(&text, 0.5);
    let steps = halvings(5, if quick { 9 } else { 12 });
    let mut table = Table {
        title: "Stiff double pendulum from its original start: error of both angles at T = .5".into(),
        note: "The start is far from what the stiff damper allows: its accelerations of 1e7 rad/s² die out within 1e-6 s. Prediction from \
               positions, no reactions of the start in the first matrix, and two steps of backward Euler where the first step shows such a \
               layer: so every method runs from h = 2⁻⁵ on. What is left of order 2 is order 1 for nstiff and hht on this start, \
               because a step of size h sees the layer as a jump."
            .into(),
        header: std::iter::once("h".to_string()).chain(LOW_ORDER.iter().map(|p| p.name.into())).collect(),
        rows: Vec::new(),
    };
    let found = parallel::map(LOW_ORDER, |p| -> Vec<Option<f64>> {
        let error = |h: &f64| {
            let s = go(&model, fixed(p, *h))?;
            Some(runs::apart(&s, "upper.angle", 4.7347476428).max(runs::apart(&s, "lower.angle", 4.7999164214)))
        };
        steps.iter().map(error).collect()
    });
    for (i, h) in steps.iter().enumerate() {
        let cell = |f: &Vec<Option<f64>>| f[i].map_or("–".to_string(), shown);
        table.rows.push(std::iter::once(format!("{h:.4e}")).chain(found.iter().map(cell)).collect());
    }
    report.tables.push(table);
    for (p, f) in LOW_ORDER.iter().zip(&found) {
        let worst = f.iter().fold(0.0f64, |m, e| m.max(e.unwrap_or(f64::INFINITY)));
        let what = format!("{} from the original start at every h from 2⁻⁵: largest error", p.name);
        report.claim("stiff", Against::Independent, what).asks("largest error [rad]", worst, at_most(1e-2));
        let (first, last) = (f[0].unwrap_or(f64::NAN), f.last().copied().flatten().unwrap_or(f64::NAN));
        let what = format!("{}: error at the smallest h against that at 2⁻⁵", p.name);
        report.claim("stiff", Against::Independent, what).asks("ratio", last / first, at_most(0.05));
    }
    // the smooth variant shows the orders
    let model = Run::new(DOUBLE_PENDULUM, 1.0);
    let note = "Rest angle and start changed so that there is no layer: here the orders are seen.";
    let title = ("stiff", "Stiff double pendulum, smooth start", note);
    let channels = [("upper.wz", -0.0987293442)];
    sweep(report, title, &model, &halvings(8, 11), &channels, (1.0, 0.0), |_, _| Some(0.15));
}
