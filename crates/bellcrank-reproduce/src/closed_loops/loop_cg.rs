//! What loop-CG costs: iterations of explicit methods, operations of implicit steps.

use super::models::{bent_net, chain, lattice, net, system};
use super::runs::{LoopMachine, Solved};
use super::{names, short};
use crate::claim::{Against, at_most, between};
use crate::report::{Report, Table};

/// A count of iterations, and a dash for one that did not converge.
fn count(solved: &Option<Solved>) -> String {
    solved.as_ref().map_or("–".into(), |s| s.iterations.to_string())
}

fn residual(solved: &Option<Solved>) -> f64 {
    solved.as_ref().map_or(f64::NAN, |s| s.open)
}

/// Iterations of loop-CG.
pub(super) fn successor(report: &mut Report, quick: bool) {
    let mut rows = Vec::new();
    let mut chains = Vec::new();
    for m in if quick { vec![25, 100, 500] } else { vec![25, 100, 500, 2500] } {
        let plain = LoopMachine::new(&chain(m)).iterations(None);
        rows.push(vec!["chain".into(), (4 * m).to_string(), count(&plain), "–".into(), short(residual(&plain))]);
        chains.push(plain);
    }
    let mut nets = Vec::new();
    let widths = if quick { vec![4, 8, 16, 32] } else { vec![4, 8, 16, 32, 64, 70] };
    for &w in &widths {
        let bent = |i: usize| 0.5 - 0.6 * i as f64 / w as f64;
        let machine = LoopMachine::new(&bent_net(w, w, &bent, false));
        let earlier = system(&net(w, w, 0.5, false)).initial_state().q;
        let plain = machine.iterations(None);
        let with = machine.iterations(Some(&earlier));
        let (name, n) = (format!("net {w}×{w}"), ((2 * w - 1) * w).to_string());
        rows.push(vec![name, n, count(&plain), count(&with), short(residual(&with))]);
        nets.push(with);
    }
    claim_iterations(report, &chains, &nets, &widths);
    report.tables.push(Table {
        title: "Iterations of loop-CG to 1e-12, from μ = 0".into(),
        note: "Preconditioned by the factors of the straight net, tilted by .5 rad, for a net that is bent down to −.1 rad: far \
               more than a run ever lets it age. In a run μ starts from the last stage, and 3 to 5 iterations are usual. A dash \
               stands where the limit of iterations was reached."
            .into(),
        header: names(["machine", "n", "plain", "preconditioned", "residual"]),
        rows,
    });
}

/// Claims about iterations; one that did not converge fulfils none of them.
fn claim_iterations(report: &mut Report, chains: &[Option<Solved>], nets: &[Option<Solved>], widths: &[usize]) {
    let counts = |all: &[Option<Solved>]| -> Option<Vec<usize>> {
        all.iter().map(|s| s.as_ref().map(|s| s.iterations)).collect()
    };
    let shown = |all: &[Option<Solved>]| all.iter().map(count).collect::<Vec<_>>().join(", ");
    let spread = counts(chains).and_then(|c| Some(c.iter().max()? - c.iter().min()?));
    let what = format!("iterations on chains of any length, cold and without preconditioner: {}", shown(chains));
    // a spread of 0 is within any bound: what is asked is asked of the largest count
    let most = counts(chains).and_then(|c| c.into_iter().max());
    let claim = report.claim("successor", Against::Ours, what);
    claim.asks("spread", spread, between(0.0, 0.5)).asks("most", most, at_most(12.0));
    let growth = counts(nets).and_then(|c| Some(*c.last()? as f64 / (*c.first()?).max(1) as f64));
    let root = (widths[widths.len() - 1] as f64 / widths[0] as f64).sqrt();
    let what = format!("iterations on nets with the factors of an earlier position: {}", shown(nets));
    let claim = report.claim("successor", Against::Theory, what);
    claim.asks("growth by that of √w", growth.map(|g| g / root), at_most(1.0));
    let open = nets.iter().map(residual).fold(0.0f64, |m, x| if x <= m { m } else { x });
    let claim = report.claim("successor", Against::Theory, "closure of the loops' accelerations");
    claim.asks("residual", open, at_most(5e-12));
}

/// The matrices of implicit steps, by elimination and by loop-CG.
pub(super) fn implicit(report: &mut Report, quick: bool) {
    let mut cases =
        vec![("chain", 250, chain(250)), ("net", 10, net(10, 10, 0.5, false)), ("net", 32, net(32, 32, 0.5, false))];
    if !quick {
        cases.push(("net", 71, net(71, 71, 0.5, false)));
    }
    for &w in if quick { &[4, 6, 8][..] } else { &[4, 6, 8, 10, 12] } {
        cases.push(("lattice", w, lattice(w, w)));
    }
    let (mut rows, mut apart, mut cheaper) = (Vec::new(), 0.0f64, 0);
    for (kind, w, text) in cases {
        let machine = LoopMachine::at_rest(&text);
        let Some(s) = machine.step_costs(1e-3, None, true) else { continue };
        let (whole, loops) = s.costs();
        apart = apart.max(s.off);
        cheaper += (whole < loops) as usize;
        let n = machine.system.model.bodies.len().to_string();
        let counts = [s.factor, s.solve, s.sweep].map(short);
        let rest = [s.plain.to_string(), short(whole), short(loops), format!("{:.1}", loops / whole)];
        rows.push([format!("{kind} {w}"), n].into_iter().chain(counts).chain(rest).collect());
    }
    let claim = report.claim("implicit", Against::Ours, "corrections by loop-CG and by elimination are the same");
    claim.asks("difference", apart, at_most(3e-6));
    let what = "by count elimination is cheaper on all of these, and auto takes it";
    report.claim("implicit", Against::Ours, what).all("machines", cheaper, rows.len());
    report.tables.push(Table {
        title: "A fixed step on index3, in operations: elimination and loop-CG without factors".into(),
        note: "Two corrections a step; factors serve ten steps, and an operation on their dense blocks counts as a tenth. A lattice \
               has w × w strings of w rods with rods to both sides. Iterations are to 1e-6 of a correction."
            .into(),
        header: names(["machine", "n", "factors", "solution", "sweep", "iterations", "step, elimination", "step, loop-CG", "ratio"]),
        rows,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_that_did_not_converge_are_a_dash_and_no_claim_holds() {
        let (good, bad) = (Some(Solved { iterations: 9, open: 1e-13 }), None);
        assert_eq!((count(&good).as_str(), count(&bad).as_str()), ("9", "–"));
        let mut report = Report::default();
        claim_iterations(&mut report, &[None], &[Some(Solved { iterations: 16, open: 1e-12 }), None], &[4, 8]);
        assert!(report.claims.iter().all(|c| !c.holds()), "{:?}", report.claims);
        assert!(report.claims[1].what.ends_with("16, –"), "{}", report.claims[1].what);
    }
}
