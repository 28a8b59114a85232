//! Table 2: the simplified bushing at order 1.

use super::problems::Bushing;
use super::{slashed, strings, within};
use crate::report::{Claim, Report, Table};
use crate::study::{Preset, Setting, consistent, own, run};
use bellcrank_solve::choices::Tested;

pub(super) fn table_2(report: &mut Report, _: bool) {
    let mut table = Table {
        title: "Table 2: the simplified bushing, 0 … 0.05 s, order 1".into(),
        note: "The paper's point is that CS and CM are alike on this problem, and that holds. Its 13 to 17 steps cannot be had \
               with an error test on y: the oscillation of frequency √(1/ε) from x₀ = 0.8 is then followed, here on y alone. \
               How the paper's test left it out is not said."
            .into(),
        header: strings(&["TOL", "CS steps/f/J/etf/ctf", "CM", "paper CS steps/f", "paper CM"]),
        rows: Vec::new(),
    };
    let paper = [(1e-3, "–", "–"), (1e-4, "17/79", "17/79")];
    for (tolerance, cs, cm) in paper {
        let dynamics = own(Bushing::simplified());
        let start = consistent(&dynamics, &[0.8, -(1.0f64 - 0.64).sqrt(), 0.0], &[0.0; 3]);
        let Some(start) = start else { continue };
        let go = |preset: Preset| {
            let tested = Tested::Q;
            let setting = Setting { max_iterations: 50, tested, ..preset.setting(tolerance, 1) };
            run(&dynamics, &start, 0.05, None, &setting)
        };
        let (a, b) = (go(Preset::Cs), go(Preset::Cm));
        table.rows.push(vec![
            format!("{tolerance:e}"),
            slashed(&a.counts()),
            slashed(&b.counts()),
            cs.into(),
            cm.into(),
        ]);
        let (f, g) = (a.counts()[1], b.counts()[1]);
        report.claims.push(Claim {
            table: "2",
            what: format!("CS and CM at TOL {tolerance:e}: evaluations"),
            ours: format!("{f}, {g}"),
            paper: format!("{cs}, {cm}"),
            asked: "alike within 15 %".into(),
            holds: within(f, g, 0.15) && a.finished && b.finished,
        });
    }
    report.tables.push(table);
}
