//! The regularization parameter ε: its limit of stability, and the order it leaves.

use super::known::CHAIN;
use super::models::{chain, net};
use super::runs::{Machine, Setup};
use super::{claim, names, short};
use crate::report::{Report, Table};
use bellcrank_solve::methods::tableau::{EULER, RK2};

/// The limits of ε.
pub(super) fn stability(report: &mut Report, _: bool) {
    let mut rows = Vec::new();
    let cases = [
        ("chain, m = 4", chain(4), false, Some(1.92)),
        ("net 4×4", net(4, 4, 0.5, false), false, Some(2.71)),
        ("chain, m = 4, AlgII", chain(4), true, None),
    ];
    for (name, text, all, sheet) in cases {
        let machine = Machine::new(&text);
        let (predicted, measured) = machine.limit(&EULER, 1e-4, all);
        let off = measured / predicted - 1.0;
        rows.push(vec![name.into(), format!("{predicted:.3} h"), format!("{measured:.3} h")]);
        report.claims.push(claim(
            "stability",
            format!("limit of ε, {name}: (h/2) λ_max against measured"),
            format!("{predicted:.3} h, {measured:.3} h"),
            ".5 h is stable",
            "within 3 %",
            off.abs() < 0.03,
        ));
        match sheet {
            Some(sheet) => report.claims.push(claim(
                "stability",
                format!("limit of ε, {name}, against the known one"),
                format!("{measured:.3} h"),
                "–",
                &format!("{sheet} h within 3 %"),
                (measured / sheet - 1.0).abs() < 0.03,
            )),
            None => report.claims.push(claim(
                "stability",
                "AlgII needs an ε several times larger",
                format!("{measured:.1} h"),
                "10 times larger",
                "between 11 h and 33 h",
                (11.0..33.0).contains(&measured),
            )),
        }
    }
    report.tables.push(Table {
        title: "Limits of ε for explicit Euler".into(),
        note: "λ_max(D P Dᵀ) by the power method with one sweep over the tree per step; measured by halving an interval of ε."
            .into(),
        header: names(["machine", "(h/2) λ_max", "measured"]),
        rows,
    });
}

/// Order min(s, 2) with RK2.
pub(super) fn order(report: &mut Report, _: bool) {
    let machine = Machine::new(&chain(4));
    let (until, corners) = CHAIN[0];
    let mut rows = Vec::new();
    for iterates in 1..=3 {
        let errors: Vec<f64> = [2e-3, 1e-3, 5e-4]
            .iter()
            .map(|&h| {
                let how = Setup { iterates, ..Setup::default() };
                machine.srm(&RK2, h, how, until).map_or(f64::NAN, |run| machine.corners_off(run.last(), &corners))
            })
            .collect();
        let order = (errors[1] / errors[2]).log2();
        rows.push(vec![
            iterates.to_string(),
            short(errors[0]),
            short(errors[1]),
            short(errors[2]),
            format!("{order:.2}"),
        ]);
        let wanted = iterates.min(2) as f64;
        let holds = if iterates < 3 { (order - wanted).abs() < 0.2 } else { order > 1.8 };
        report.claims.push(claim(
            "order",
            format!("order of iterate {iterates} with RK2 and ε = O(h)"),
            format!("{order:.2}"),
            &format!("{wanted}"),
            if iterates < 3 { "within .2 of min(s, 2)" } else { "at least 2 (less .2)" },
            holds,
        ));
    }
    report.tables.push(Table {
        title: "Errors of the corners of a chain of four squares at t = .3 s, RK2".into(),
        note: "ε is twice its limit, so it falls with h.".into(),
        header: names(["iterate", "h = .002", ".001", ".0005", "order"]),
        rows,
    });
}
