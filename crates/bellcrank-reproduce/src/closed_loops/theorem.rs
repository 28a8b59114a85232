//! Theorem 3.1: how iterates approach the motion with ε, from which multipliers they begin, and what keeps the tree; and the same in space.

use super::known::{CHAIN, NETS};
use super::models::{chain, net};
use super::runs::{LoopMachine, Setup};
use super::{names, short};
use crate::claim::{Against, around, at_least, at_most};
use crate::report::{Report, Table};
use bellcrank_solve::engines::regularized::TreeKeeping;
use bellcrank_solve::linear::forms::Closing;
use bellcrank_solve::methods::tableau::{RK2, RK4};

/// ε of the rows, in s/kg: far above the limit of stability at the step, so that the error is that of ε.
const EPSILONS: [f64; 3] = [4e-3, 2e-3, 1e-3];
const STEP: f64 = 1e-4;

/// Errors fall with ε^s.
pub(super) fn theorem(report: &mut Report, _: bool) {
    let machine = LoopMachine::new(&chain(4));
    let (until, corners) = CHAIN[0];
    let mut rows = Vec::new();
    for exact_start in [true, false] {
        for iterates in 1..=3 {
            let errors = EPSILONS.map(|epsilon| {
                let how = Setup { iterates, epsilon: Some(epsilon), exact_start, ..Setup::default() };
                machine.srm(&RK4, STEP, how, until).map_or(f64::NAN, |run| machine.corners_off(run.last(), &corners))
            });
            let order = (errors[1] / errors[2]).log2();
            let from = if exact_start { "exact" } else { "zero" };
            let cells = errors.iter().map(|e| short(*e));
            rows.push(
                [from.into(), iterates.to_string()].into_iter().chain(cells).chain([format!("{order:.2}")]).collect(),
            );
            if exact_start {
                let what = format!("iterate {iterates} with μ(0) of the start errs by O(ε^{iterates})");
                let claim = report.claim("theorem", Against::Paper, what);
                claim.asks("power of ε", order, around(iterates as f64, 0.25)).paper(format!("O(ε^{iterates})"));
            }
        }
    }
    report.tables.push(Table {
        title: "Theorem 3.1: error of the corners of a chain of four squares at t = .3 s, RK4, h = .0001".into(),
        note:
            "μ_0 is constant: the multipliers of the start (assumption 3.1), or zero. s = 1 is the penalty form (3.4)."
                .into(),
        header: names(["μ(0)", "s", "ε = .004", ".002", ".001", "power of ε"]),
        rows,
    });
    tree(report, &machine);
}

/// The tree kept by a projection, by Baumgarte's stabilization, and not at all.
fn tree(report: &mut Report, machine: &LoopMachine) {
    let drift = |tree| {
        let how = Setup { tree, ..Setup::default() };
        machine.srm(&RK2, 1e-3, how, 0.4).map_or(f64::NAN, |run| run.worst()[1].1)
    };
    let closing = Closing { alpha: 50.0, beta: 50.0 };
    let [projected, baumgarte, drifting] =
        [TreeKeeping::Projected, TreeKeeping::Baumgarte(closing), TreeKeeping::Drifting].map(drift);
    let what = "Baumgarte's stabilization in (3.8), α = β = 50/s, divides the drift of the tree by";
    report.claim("theorem", Against::Theory, what).asks("factor", drifting / baumgarte, at_least(5.0));
    report.tables.push(Table {
        title: "What keeps the tree: largest drift up to t = .4 s, RK2, h = .001, two iterates".into(),
        note: String::new(),
        header: names(["projected", "Baumgarte, α = β = 50/s", "not at all"]),
        rows: vec![[projected, baumgarte, drifting].map(short).to_vec()],
    });
}

/// A net that swings out of its plane.
pub(super) fn space(report: &mut Report, _: bool) {
    let (w, in_space, until, place) = NETS[6];
    let machine = LoopMachine::new(&net(w, w, 0.5, in_space));
    let mut rows = Vec::new();
    for iterates in 1..=3 {
        let runs = [2e-3, 1e-3, 5e-4].map(|h| {
            let how = Setup { iterates, exact_start: true, ..Setup::default() };
            let run = machine.srm(&RK2, h, how, until);
            let off = run.as_ref().map_or(f64::NAN, |run| machine.end_off(run.last(), w * w - 1, &place));
            (off, run.map_or(f64::NAN, |run| run.worst()[iterates - 1].0))
        });
        let order = (runs[1].0 / runs[2].0).log2();
        let cells = runs.iter().map(|r| short(r.0));
        rows.push(
            [iterates.to_string()].into_iter().chain(cells).chain([format!("{order:.2}"), short(runs[2].1)]).collect(),
        );
        let what = format!("a net out of its plane, iterate {iterates} with RK2 and ε = O(h)");
        report.claim("space", Against::Paper, what.clone()).asks("order", order, around(iterates.min(2) as f64, 0.2));
        if iterates > 1 {
            let claim = report.claim("space", Against::Independent, what);
            claim.asks("error with h = .0005 [m]", runs[2].0, at_most(1e-7));
        }
    }
    report.tables.push(Table {
        title: format!(
            "SRM in space: a {w}×{w} net that swings out of its plane, error of its last joint at t = {until} s, RK2"
        ),
        note: "ε is twice its limit; μ(0) is that of the start.".into(),
        header: names(["s", "h = .002", ".001", ".0005", "order", "drift of the loops"]),
        rows,
    });
}
