//! Table 4: the two-body bushing at four tolerances.

use super::problems::TwoBody;
use super::{slashed, strings, within};
use crate::report::{Claim, Report, Table};
use crate::study::{Outcome, Preset, Setting, consistent, own, run};
use bellcrank_view::plot::{Axis, Curve, Figure};

/// x, v of the two-body bushing at t = 0.5.
pub(super) const TWO_BODY: [f64; 4] = [0.852742256263, -0.522331929317, -0.64471925692, -1.05254785883];

fn two_body_error(o: &Outcome) -> f64 {
    let last = [o.last.q[3], o.last.q[4], o.last.v[3], o.last.v[4]];
    last.iter().zip(TWO_BODY).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// The two-body bushing at a tolerance, orders ≤ 5, from the start as printed or from one on the circle.
pub(super) fn two_body(preset: Preset, tolerance: f64, as_dassl: bool, rounded: bool) -> Option<Outcome> {
    let dynamics = own(TwoBody::with_stiffness(1e5));
    let (q, v) = TwoBody::start();
    let mut start = consistent(&dynamics, &q, &v)?;
    if rounded {
        let (q, v) = TwoBody::rounded_start();
        (start.q, start.qdot, start.v) = (q.to_vec(), v.to_vec(), v.to_vec());
    }
    let setting = Setting { as_dassl, max_steps: 5000, ..preset.setting(tolerance, 5) };
    Some(run(&dynamics, &start, 0.5, None, &setting))
}

/// A row of the table: steps and evaluations of a careful implementation of each iteration, and the paper's own counts.
struct Row {
    tolerance: f64,
    cs: [usize; 2],
    cm: [usize; 2],
    ggl_star: [usize; 2],
    ggl: [usize; 2],
    paper_cs: &'static str,
    paper_cm: &'static str,
}

const ROWS: [Row; 4] = [
    Row {
        tolerance: 1e-3,
        cs: [25, 42],
        cm: [142, 528],
        ggl_star: [19, 30],
        ggl: [19, 44],
        paper_cs: "125/465/147/19/28",
        paper_cm: "27/55/9/0/0",
    },
    Row {
        tolerance: 1e-4,
        cs: [35, 47],
        cm: [730, 1725],
        ggl_star: [34, 55],
        ggl: [30, 73],
        paper_cs: "96/278/86/2/22",
        paper_cm: "35/72/11/1/0",
    },
    Row {
        tolerance: 1e-5,
        cs: [77, 134],
        cm: [161, 431],
        ggl_star: [48, 79],
        ggl: [44, 91],
        paper_cs: "188/630/225/1/57",
        paper_cm: "45/94/7/0/0",
    },
    Row {
        tolerance: 1e-6,
        cs: [84, 135],
        cm: [149, 333],
        ggl_star: [62, 119],
        ggl: [57, 123],
        paper_cs: "172/542/148/2/39",
        paper_cm: "60/122/8/1/0",
    },
];

const PRESETS: [Preset; 5] = [Preset::Cs, Preset::Cm, Preset::GglStar, Preset::Ggl, Preset::Auto];

pub(super) fn table_4(report: &mut Report, _: bool) {
    let mut table = Table {
        title: "Table 4: the two-body bushing, 0 … 0.5 s, orders ≤ 5 (steps/f/J/etf/ctf)".into(),
        note: "The paper's rows look like these with the labels CS and CM exchanged; the cause is unknown. Data as corrected: \
               g = 13.75 (13.5 in print), y₂ = −.01485. DASSL's control to the letter: steps go past the end, and the solution there is \
               interpolated. CS and CM test errors on the independent q and v and corrections on all q and v; GGL* tests errors on \
               all q and corrections on all q and v, GGL corrections on the multipliers too, which are unknowns with \
               differences of their own. The first step is ½/‖ẏ‖ over all unknowns. Counts hang on small things: they \
               are those of x₂ = .99989 (.9989 in print), which is off the circle by 2.7e-7. From √(1 − y₂²), the next \
               column, CS takes other steps at 1e-5 and 1e-6. auto* is auto with our own control from a start on the circle."
            .into(),
        header: strings(&[
            "TOL",
            "CS",
            "CS, x₂ = √(1 − y₂²)",
            "CM",
            "GGL*",
            "GGL",
            "auto",
            "auto*",
            "error of auto*",
            "paper CS",
            "paper CM",
        ]),
        rows: Vec::new(),
    };
    let mut steps = Figure {
        title: "Step sizes on the two-body bushing at TOL 1e-4".into(),
        abscissa: Axis::linear("t"),
        ordinate: Axis::logarithmic("h"),
        curves: Vec::new(),
    };
    for of in &ROWS {
        let tolerance = of.tolerance;
        let outcomes: Vec<Outcome> = PRESETS.iter().filter_map(|p| two_body(*p, tolerance, true, true)).collect();
        let Some(own) = two_body(Preset::Auto, tolerance, false, false) else { continue };
        let Some(on_circle) = two_body(Preset::Cs, tolerance, true, false) else { continue };
        let mut row = vec![format!("{tolerance:e}")];
        let shown = outcomes[..1].iter().chain([&on_circle]).chain(&outcomes[1..]).chain([&own]);
        row.extend(shown.map(|o| slashed(&o.counts())));
        row.extend([format!("{:.1e}", two_body_error(&own)), of.paper_cs.into(), of.paper_cm.into()]);
        table.rows.push(row);
        claim_counts(report, of, &outcomes);
        claim_ends(report, tolerance, &outcomes, &own);
        if tolerance == 1e-4 {
            for (preset, o) in PRESETS.iter().zip(&outcomes) {
                let points = o.course.iter().map(|c| (c.0, c.1)).collect();
                steps.curves.push(Curve { name: preset.name().into(), points, marked: false });
            }
        }
    }
    report.tables.push(table);
    report.figures.push(("two-body-steps", steps));
}

/// Steps and evaluations of each iteration, beside those of a careful implementation. The paper has the labels of CS and CM
/// exchanged.
fn claim_counts(report: &mut Report, of: &Row, outcomes: &[Outcome]) {
    let known = [(of.cs, 0.15, of.paper_cm), (of.cm, 1.0, of.paper_cs), (of.ggl_star, 0.15, "–"), (of.ggl, 0.15, "–")];
    for ((preset, o), (theirs, part, paper)) in PRESETS.iter().zip(outcomes).zip(known) {
        let c = o.counts();
        let twice = |a: usize, b: usize| a <= 2 * b && 2 * a >= b;
        let near = |a: usize, b: usize| if part < 1.0 { within(a, b, part) } else { twice(a, b) };
        let how = if part < 1.0 { "± 15 %" } else { "within a factor 2: failures dominate" };
        report.claims.push(Claim {
            table: "4",
            what: format!("{} steps and evaluations at TOL {:e}", preset.name(), of.tolerance),
            ours: slashed(&c),
            paper: paper.into(),
            asked: format!("{}/{} {how}", theirs[0], theirs[1]),
            holds: o.finished && near(c[0], theirs[0]) && near(c[1], theirs[1]),
        });
    }
}

fn claim_ends(report: &mut Report, tolerance: f64, outcomes: &[Outcome], own: &Outcome) {
    for (name, o) in [("CS", &outcomes[0]), ("GGL", &outcomes[3]), ("auto", &outcomes[4]), ("auto*", own)] {
        let error = two_body_error(o);
        report.claims.push(Claim {
            table: "4",
            what: format!("{name} ends near the reference at TOL {tolerance:e}"),
            ours: format!("{error:.1e}"),
            paper: "–".into(),
            asked: format!("≤ {:.0e}", 100.0 * tolerance),
            holds: o.finished && error <= 100.0 * tolerance,
        });
    }
}
