//! Table 1: the rate of convergence in one step of the simplified bushing.

use super::problems::Bushing;
use super::{one_step, strings};
use crate::claim::{Against, around, at_least, at_most, near};
use crate::report::{Missing, Report, Table};
use bellcrank_solve::newton::Iteration;

pub(super) fn table_1(report: &mut Report, _: bool) {
    let mut table = Table {
        title: "Table 1: one step of the simplified bushing".into(),
        note: "What holds of the paper is that CS and CM are alike here, and that the rate rises with the step.".into(),
        header: strings(&["method", "h₀", "iterations", "rate", "paper: iterations", "rate"]),
        rows: Vec::new(),
    };
    let paper = [(24, 0.316), (46, 0.522), (74, 0.659), (96, 0.723)];
    let expected = [
        (Iteration::CoordinateSplit, "CS", [8usize, 25, 33, 39], [0.0433, 0.3182, 0.4027, 0.4419]),
        (Iteration::CoordinateModified, "CM", [9, 26, 35, 41], [0.0472, 0.3287, 0.4178, 0.4571]),
    ];
    let solution = [(0.001, 0.916549035341), (0.005, 0.991287011459), (0.01, 0.999048826707), (0.05, 0.999996585581)];
    for (iteration, name, iterations, rates) in expected {
        let mut before = None;
        for (k, (h, x)) in solution.into_iter().enumerate() {
            let bushing = Bushing::simplified();
            let q = [0.9, -(bushing.length - 0.81f64).sqrt(), 0.0];
            let o = one_step(bushing, q, [-4.843e-3, -1e-2, 0.0], h, iteration);
            let (count, rate) = (o.statistics.residual_evaluations, o.convergence.rate);
            table.rows.push(vec![
                name.into(),
                format!("{h}"),
                count.to_string(),
                format!("{rate:.4}"),
                paper[k].0.to_string(),
                format!("{:.3}", paper[k].1),
            ]);
            let claim = report.claim("1", Against::Independent, format!("{name} at h₀ = {h}"));
            claim
                .asks("iterations", count, around(iterations[k] as f64, 2.0))
                .asks("rate", rate, near(rates[k], 0.1))
                .asks("error of x", (o.last.q[0] - x).abs(), at_most(3e-11))
                .paper(format!("{} iterations, rate {:.3}", paper[k].0, paper[k].1));
            if let Some(before) = before.replace(rate) {
                claim.asks("rate by that at the step before", rate / before, at_least(1.05));
            }
        }
    }
    report.missing.push(Missing {
        table: "1",
        paper: "24, 46, 74, 96 iterations and rates .316, .522, .659, .723",
        ours: "8, 25, 33, 39 iterations and rates .043, .318, .403, .442 for CS".into(),
        why: "The stiff limit of this iteration is a rate of about .44, so the printed rates cannot belong to the printed data.",
    });
    report.tables.push(table);
}
