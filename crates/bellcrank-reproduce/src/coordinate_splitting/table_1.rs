//! Table 1: the rate of convergence in one step of the simplified bushing.

use super::problems::Bushing;
use super::{one_step, strings};
use crate::report::{Claim, Report, Table};
use bellcrank_solve::newton::Iteration;

pub(super) fn table_1(report: &mut Report, _: bool) {
    let mut table = Table {
        title: "Table 1: one step of the simplified bushing".into(),
        note: "The printed rates cannot belong to the printed data: the stiff limit of this iteration is about .44. What holds \
               is that CS and CM are alike here, and that the rate rises with the step."
            .into(),
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
        let mut before = 0.0;
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
            report.claims.push(Claim {
                table: "1",
                what: format!("{name} at h₀ = {h}: iterations and rate, and the solution"),
                ours: format!("{count}, {rate:.4}"),
                paper: format!("{}, {:.3}", paper[k].0, paper[k].1),
                asked: format!("{} ± 2, {:.4} ± 10 %, rising", iterations[k], rates[k]),
                holds: count.abs_diff(iterations[k]) <= 2
                    && (rate / rates[k] - 1.0).abs() < 0.1
                    && rate > before
                    && (o.last.q[0] - x).abs() < 1e-9,
            });
            before = rate;
        }
    }
    report.tables.push(table);
}
