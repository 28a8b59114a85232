//! The regularization parameter ε: its limit of stability, and the order it leaves.

use super::known::CHAIN;
use super::models::{chain, net};
use super::runs::{LoopMachine, Setup};
use super::{names, short};
use crate::claim::{Against, around, at_least, between, near};
use crate::report::{Missing, Report, Table};
use bellcrank_solve::methods::tableau::{EULER, RK2};

/// The limits of ε.
pub(super) fn stability(report: &mut Report, _: bool) {
    let mut rows = Vec::new();
    let mut alg_one = f64::NAN;
    let cases = [
        ("chain, m = 4", chain(4), false, Some(1.92)),
        ("net 4×4", net(4, 4, 0.5, false), false, Some(2.71)),
        ("chain, m = 4, AlgII", chain(4), true, None),
    ];
    for (name, text, all, known) in cases {
        let machine = LoopMachine::new(&text);
        let (predicted, measured) = machine.limit(&EULER, 1e-4, all);
        rows.push(vec![name.into(), format!("{predicted:.3} h"), format!("{measured:.3} h")]);
        let claim = report.claim("stability", Against::Theory, format!("limit of ε, {name}, by (h/2) λ_max"));
        claim.asks("measured by predicted", measured / predicted, near(1.0, 0.03));
        let what = format!("limit of ε, {name}");
        match known {
            Some(known) => {
                report.claim("stability", Against::Independent, what).asks("limit/h", measured, near(known, 0.03))
            }
            None => {
                let claim =
                    report.claim("stability", Against::Paper, "AlgII needs an ε some 10 times larger than AlgI");
                claim.asks("ratio of the limits", measured / alg_one, between(5.0, 15.0)).paper("10 times larger")
            }
        };
        alg_one = if alg_one.is_nan() { measured } else { alg_one };
    }
    report.missing.push(Missing {
        table: "ε = .5 h",
        paper: "AlgI is stable with ε = .5 h",
        ours: format!("ε has to be at least {alg_one:.2} h on the chain of four squares with explicit Euler"),
        why: "The limit is (h/2) λ_max(D P Dᵀ), computed by the power method and met by measurement to 1 %. The paper's masses \
              are not printed; uniform rods of 1 kg and 1 m are assumed here.",
    });
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
    let machine = LoopMachine::new(&chain(4));
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
        let what = format!("iterate {iterates} with RK2 and ε = O(h): min(s, 2)");
        let range = if iterates < 3 { around(wanted, 0.2) } else { at_least(1.8) };
        report.claim("order", Against::Paper, what).asks("order", order, range).paper(wanted.to_string());
    }
    report.tables.push(Table {
        title: "Errors of the corners of a chain of four squares at t = .3 s, RK2".into(),
        note: "ε is twice its limit, so it falls with h.".into(),
        header: names(["iterate", "h = .002", ".001", ".0005", "order"]),
        rows,
    });
}
