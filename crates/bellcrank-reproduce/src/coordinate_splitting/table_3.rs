//! Table 3: one step of the preloaded bushing.

use super::problems::Bushing;
use super::{one_step, strings};
use crate::report::{Claim, Report, Table};
use bellcrank_solve::newton::Iteration;

pub(super) fn table_3(report: &mut Report, _: bool) {
    let mut table = Table {
        title: "Table 3: one step of the preloaded bushing".into(),
        note: "CM's column is the paper's to the last count. The paper's CS column is reproduced by neither sign of (Gᵀs)_q: with \
               the right sign CS is Newton's method and takes 3 or 4 iterations. CM contracts by (1/ε)/(1/h² + c/h + 1/ε)."
            .into(),
        header: strings(&["h₀", "CS f", "CM f", "auto f", "CM contraction", "paper CS f", "paper CM f"]),
        rows: Vec::new(),
    };
    let rows = [
        (0.005, 4, 57, 0.704225, 128),
        (0.0025, 3, 20, 0.378788, 80),
        (0.001, 3, 8, 0.090090, 28),
        (0.00075, 3, 6, 0.052879, 52),
        (0.0005, 3, 4, 0.024272, 26),
    ];
    for (h, cs, cm, contraction, paper) in rows {
        let go = |iteration| one_step(Bushing::preloaded(), [1.0, 0.0, 0.0], [0.0; 3], h, iteration);
        let [a, b, c] = [Iteration::CoordinateSplit, Iteration::CoordinateModified, Iteration::Auto].map(go);
        let f = [&a, &b, &c].map(|o| o.statistics.residual_evaluations);
        let measured = b.convergence.contraction;
        table.rows.push(vec![
            h.to_string(),
            f[0].to_string(),
            f[1].to_string(),
            f[2].to_string(),
            format!("{measured:.6}"),
            paper.to_string(),
            cm.to_string(),
        ]);
        let mut claim = |what: String, ours: String, paper: String, asked: String, holds| {
            report.claims.push(Claim { table: "3", what, ours, paper, asked, holds });
        };
        claim(format!("CM evaluations at h₀ = {h}"), f[1].to_string(), cm.to_string(), cm.to_string(), f[1] == cm);
        claim(format!("CS evaluations at h₀ = {h}"), f[0].to_string(), paper.to_string(), cs.to_string(), f[0] == cs);
        claim(format!("auto as CS at h₀ = {h}"), f[2].to_string(), "–".into(), cs.to_string(), f[2] <= cs);
        let close = (measured / contraction - 1.0).abs() < 1e-4;
        claim(
            format!("CM's contraction at h₀ = {h}"),
            format!("{measured:.6}"),
            "–".into(),
            format!("{contraction:.6} to 4 digits"),
            close,
        );
    }
    report.tables.push(table);
}
