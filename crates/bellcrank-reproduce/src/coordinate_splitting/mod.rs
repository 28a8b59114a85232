//! Coordinate splitting [Yen & Petzold 1998]: tables 1–4, the point mass and what became of it.

pub mod bushings;
pub mod partition;
pub mod problems;
#[cfg(test)]
mod projector;
#[cfg(test)]
mod tests;

use crate::low_order::runs::together;
use crate::report::{Claim, Report, Table};
use crate::study::{Outcome, Preset, Setting, consistent, own, plain, run};
use bellcrank_model::own::Equations;
use bellcrank_model::{Dynamics, State};
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::options::{ErrorScope, MethodName, Options, Tested};
use bellcrank_solve::record::Silent;
use bellcrank_solve::simulation::{Simulation, Status};
use bellcrank_view::plot::{Axis, Curve, Figure};
use partition::Partitioned;
use problems::{Bushing, PointMass, TwoBody};
use std::sync::Arc;

/// What can be asked for.
pub const TABLES: &[&str] = &["1", "2", "3", "4", "s1c", "auto", "equal", "ladder", "bushing", "hour"];

/// The title of the page.
const TITLE: &str = "Coordinate splitting: the papers' tables, computed again";

/// Runs one table, or all of them; `quick` leaves the long rows out.
pub fn reproduce(table: Option<&str>, quick: bool) -> Report {
    let mut report = Report { title: TITLE.into(), ..Report::default() };
    let parts: [fn(&mut Report, bool); 10] =
        [table_1, table_2, table_3, table_4, s1c, auto, equal, bushings::ladder, bushings::stiff, bushings::hour];
    for (name, part) in TABLES.iter().zip(parts) {
        if table.is_none_or(|t| t == *name) {
            part(&mut report, quick);
        }
    }
    report
}

fn strings<T: ToString>(cells: &[T]) -> Vec<String> {
    cells.iter().map(|c| c.to_string()).collect()
}

/// steps/f/J/error test failures/convergence failures.
fn slashed(counts: &[usize; 5]) -> String {
    strings(counts).join("/")
}

fn within(ours: usize, theirs: usize, part: f64) -> bool {
    (ours as f64 - theirs as f64).abs() <= part * theirs as f64
}

/// One step of a bushing, without error test, with Newton's norm over all of q and v.
fn one_step(bushing: Bushing, q: [f64; 3], v: [f64; 3], h: f64, iteration: Iteration) -> Outcome {
    let preloaded = bushing.preloaded;
    let dynamics = own(bushing);
    let mut start = plain(&dynamics, &q, &v);
    if !preloaded && let Some(with_reactions) = consistent(&dynamics, &q, &v) {
        start = with_reactions;
    }
    let setting = Setting { iteration, on: ErrorScope::All, max_iterations: 100, ..Preset::Cs.setting(1e-10, 1) };
    run(&dynamics, &start, h, Some(h), &setting)
}

fn table_1(report: &mut Report, _: bool) {
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

fn table_2(report: &mut Report, _: bool) {
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

fn table_3(report: &mut Report, _: bool) {
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

/// x, v of the two-body bushing at t = 0.5.
const TWO_BODY: [f64; 4] = [0.852742256263, -0.522331929317, -0.64471925692, -1.05254785883];

fn two_body_error(o: &Outcome) -> f64 {
    let last = [o.last.q[3], o.last.q[4], o.last.v[3], o.last.v[4]];
    last.iter().zip(TWO_BODY).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

/// The two-body bushing at a tolerance, orders ≤ 5, from the start as printed or from one on the circle.
fn two_body(preset: Preset, tolerance: f64, as_dassl: bool, rounded: bool) -> Option<Outcome> {
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

fn table_4(report: &mut Report, _: bool) {
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
    let rows = [
        (1e-3, [25, 42], [142, 528], [19, 30], [19, 44], "125/465/147/19/28", "27/55/9/0/0"),
        (1e-4, [35, 47], [730, 1725], [34, 55], [30, 73], "96/278/86/2/22", "35/72/11/1/0"),
        (1e-5, [77, 134], [161, 431], [48, 79], [44, 91], "188/630/225/1/57", "45/94/7/0/0"),
        (1e-6, [84, 135], [149, 333], [62, 119], [57, 123], "172/542/148/2/39", "60/122/8/1/0"),
    ];
    for (tolerance, cs, cm, star, ggl, paper_cs, paper_cm) in rows {
        let presets = [Preset::Cs, Preset::Cm, Preset::GglStar, Preset::Ggl, Preset::Auto];
        let outcomes: Vec<Outcome> = presets.iter().filter_map(|p| two_body(*p, tolerance, true, true)).collect();
        let Some(own) = two_body(Preset::Auto, tolerance, false, false) else { continue };
        let Some(on_circle) = two_body(Preset::Cs, tolerance, true, false) else { continue };
        let mut row = vec![format!("{tolerance:e}")];
        let shown = outcomes[..1].iter().chain([&on_circle]).chain(&outcomes[1..]).chain([&own]);
        row.extend(shown.map(|o| slashed(&o.counts())));
        row.extend([format!("{:.1e}", two_body_error(&own)), paper_cs.into(), paper_cm.into()]);
        table.rows.push(row);
        let known = [(cs, 0.15, paper_cm), (cm, 1.0, paper_cs), (star, 0.15, "–"), (ggl, 0.15, "–")];
        for ((preset, o), (theirs, part, paper)) in presets.iter().zip(&outcomes).zip(known) {
            let c = o.counts();
            let twice = |a: usize, b: usize| a <= 2 * b && 2 * a >= b;
            let near = |a: usize, b: usize| if part < 1.0 { within(a, b, part) } else { twice(a, b) };
            let how = if part < 1.0 { "± 15 %" } else { "within a factor 2: failures dominate" };
            report.claims.push(Claim {
                table: "4",
                what: format!("{} steps and evaluations at TOL {tolerance:e}", preset.name()),
                ours: slashed(&c),
                paper: paper.into(),
                asked: format!("{}/{} {how}", theirs[0], theirs[1]),
                holds: o.finished && near(c[0], theirs[0]) && near(c[1], theirs[1]),
            });
        }
        for (name, o) in [("CS", &outcomes[0]), ("GGL", &outcomes[3]), ("auto", &outcomes[4]), ("auto*", &own)] {
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
        if tolerance == 1e-4 {
            for (preset, o) in presets.iter().zip(&outcomes) {
                let points = o.course.iter().map(|c| (c.0, c.1)).collect();
                steps.curves.push(Curve { name: preset.name().into(), points, marked: false });
            }
        }
    }
    report.tables.push(table);
    report.figures.push(("two-body-steps", steps));
}

fn s1c(report: &mut Report, quick: bool) {
    let mut table = Table {
        title: "S1c: a point mass on a circle and a radial spring of stiffness 1/ε, TOL 1e-5, order ≤ 2".into(),
        note: "The motion does not depend on ε, nor do the counts of CS and of auto*. Multipliers in the tests (GGL) and left out \
               of them (GGL*) both fail as ε → 0. DASSL's control and tests as in table 4. At ε = 1e-10 the rounding of the spring's \
               length is 1e-6 in its force, which GGL's iteration cannot get below: what becomes of it hangs on the last \
               bit. It stalls at t ≈ 1.4e-4 (asked for: > 4499 evaluations in 1500 steps), gives up, or comes through with \
               some 900."
            .into(),
        header: strings(&["ε", "CS", "CM", "GGL*", "GGL", "auto", "auto*", "error of auto*"]),
        rows: Vec::new(),
    };
    let mut energy = Figure {
        title: "Error of the energy on S1c at ε = 1e-6".into(),
        abscissa: Axis::linear("t"),
        ordinate: Axis::logarithmic("|T + y − (T + y)₀|"),
        curves: Vec::new(),
    };
    // ε, CM, how near, evaluations of GGL and GGL*
    let rows: [(f64, [usize; 2], f64, [usize; 2]); 4] = [
        (1e-2, [50, 71], 0.15, [83, 80]),
        (1e-6, [50, 69], 0.15, [217, 144]),
        (1e-8, [58, 112], 1.0, [344, 261]),
        (1e-10, [354, 1104], 1.0, [4499, 339]),
    ];
    for (epsilon, cm, part, multipliers) in rows {
        if quick && epsilon == 1e-8 {
            continue;
        }
        let go = |epsilon: f64, preset: Preset, as_dassl| {
            let dynamics = own(PointMass::s1c(epsilon));
            let start = consistent(&dynamics, &[1.0, 0.0], &[0.0; 2])?;
            let setting = Setting { max_steps: 1500, as_dassl, ..preset.setting(1e-5, 2) };
            Some(run(&dynamics, &start, 1.0, None, &setting))
        };
        let presets = [Preset::Cs, Preset::Cm, Preset::GglStar, Preset::Ggl, Preset::Auto];
        let outcomes: Vec<Outcome> = presets.iter().filter_map(|p| go(epsilon, *p, true)).collect();
        let (Some(own), Some(own_cs)) = (go(epsilon, Preset::Auto, false), go(epsilon, Preset::Cs, false)) else {
            continue;
        };
        let error = |o: &Outcome| (o.last.q[0] - 0.879548132412).abs().max((o.last.q[1] + 0.475809922943).abs());
        let mut row = vec![format!("{epsilon:e}")];
        row.extend(outcomes.iter().chain([&own]).map(|o| slashed(&o.counts())));
        row.push(format!("{:.1e}", error(&own)));
        table.rows.push(row);
        let counts = |k: usize| outcomes[k].counts();
        let mut claim = |what: &str, ours: String, asked: String, holds| {
            let what = format!("{what} at ε = {epsilon:e}");
            report.claims.push(Claim { table: "s1c", what, ours, paper: "–".into(), asked, holds });
        };
        let cs = counts(0);
        let like = within(cs[0], 50, 0.15) && within(cs[1], 71, 0.15);
        claim("CS", slashed(&cs), "50/71/16/1/0 ± 15 %, for every ε".into(), like);
        let c = counts(1);
        let near = |a: usize, b: usize| if part < 1.0 { within(a, b, part) } else { a <= 2 * b && 2 * a >= b };
        let asked = if part < 1.0 { "± 15 %" } else { "within a factor 2" };
        claim("CM", slashed(&c), format!("{}/{} {asked}", cm[0], cm[1]), near(c[0], cm[0]) && near(c[1], cm[1]));
        for (name, k, theirs) in [("GGL", 3, multipliers[0]), ("GGL*", 2, multipliers[1])] {
            let f = counts(k)[1];
            let twice = |f: usize| f <= 2 * theirs && 2 * f >= theirs;
            let (ours, asked, holds) = match (epsilon, name) {
                (1e-2, _) => (String::new(), format!("{theirs} ± 15 %"), within(f, theirs, 0.15)),
                // what becomes of it hangs on the last bit
                (1e-10, "GGL") => {
                    let near = (-10..=10).filter_map(|j| go(epsilon * (1.0 + 1e-3 * j as f64), Preset::Ggl, true));
                    let stalled = near.filter(|o| twice(o.counts()[1])).count();
                    let ours = format!("; {stalled} of 21 runs with ε ± 1 % stall like that");
                    (ours, format!("> {theirs} within a factor 2, here or in 5 of 21 runs"), twice(f) || stalled >= 5)
                }
                _ => (String::new(), format!("{theirs} within a factor 2"), twice(f)),
            };
            claim(&format!("{name} evaluations"), slashed(&counts(k)) + &ours, asked, holds);
        }
        let (f, best) = (own.counts()[1], own_cs.counts()[1]);
        claim(
            "auto* against CS with the same control",
            format!("{f} to {best}"),
            "≤ 1.10".into(),
            f as f64 <= 1.1 * best as f64,
        );
        claim("auto* at the end", format!("{:.1e}", error(&own)), "≤ 1e-3".into(), error(&own) <= 1e-3);
        if epsilon == 1e-6 {
            for (preset, o) in presets.iter().zip(&outcomes) {
                energy.curves.push(Curve { name: preset.name().into(), points: energy_error(o), marked: false });
            }
            energy.curves.push(Curve { name: "auto*".into(), points: energy_error(&own), marked: false });
        }
    }
    report.tables.push(table);
    report.figures.push(("point-mass-energy", energy));
}

/// The energy of S1c is kinetic and of height: the spring is at rest on the circle.
fn energy_error(o: &Outcome) -> Vec<(f64, f64)> {
    o.course.iter().map(|c| (c.0, c.3.abs().max(1e-16))).collect()
}

/// The coordinates at the end by an explicit method of order 8. Where the motion does not depend on ε (S1c, table 4), the
/// equations of motion do not either, once λ is eliminated.
fn tight(dynamics: &Arc<dyn Dynamics>, q: &[f64], v: &[f64], until: f64) -> Option<Vec<f64>> {
    let state = State { q: q.to_vec(), v: v.to_vec(), ..State::default() };
    let options = Options { method: MethodName::Dop853, rtol: 1e-11, until, ..Options::default() };
    let mut simulation = Simulation::new("reference", dynamics.clone(), &state, options).ok()?;
    let summary = simulation.run(&mut Silent, &mut |_, _| {});
    (summary.status == Status::Finished).then(|| simulation.state().q.clone())
}

/// A problem of the comparison.
struct Problem {
    name: String,
    dynamics: Arc<dyn Dynamics>,
    q: Vec<f64>,
    v: Vec<f64>,
    until: f64,
    /// Where it ends, where that is known.
    end: Option<Vec<f64>>,
    /// Of an oscillation that nothing damps: the lowest order whose errors can be shared in less than a million steps.
    followed: Option<usize>,
}

/// CS, CM and `auto` at one order and tolerance, and where nothing is damped `auto` with shared errors.
struct Race {
    order: usize,
    tolerance: f64,
    evaluations: [usize; 3],
    finished: bool,
    /// CM ends elsewhere than CS and `auto` do: it has converged falsely.
    astray: bool,
    /// Of CS and `auto`, at the end.
    errors: [f64; 2],
    shared: Option<(usize, f64)>,
}

impl Problem {
    fn all(quick: bool) -> Vec<Problem> {
        let mut all = Vec::new();
        let mut add = |name: String, dynamics, q: &[f64], v: &[f64], until, end: &Option<Vec<f64>>, followed| {
            all.push(Problem { name, dynamics, q: q.to_vec(), v: v.to_vec(), until, end: end.clone(), followed });
        };
        let (q, v) = TwoBody::start();
        let (at, rest) = ([1.0, 0.0], [0.0; 2]);
        // where the motion does not depend on ε, the softest spring has the least rounding
        let circle = tight(&own(PointMass::s1c(1e-2)), &at, &rest, 1.0);
        let two_body = tight(&own(TwoBody::with_stiffness(1e2)), &q, &v, 0.5);
        for epsilon in [1e-2, 1e-4, 1e-6, 1e-8, 1e-10] {
            add(format!("S1c, ε = {epsilon:e}"), own(PointMass::s1c(epsilon)), &at, &rest, 1.0, &circle, None);
            if epsilon >= if quick { 1e-2 } else { 1e-6 } {
                for angle in [-0.25f64, 0.2] {
                    let least = Some(if epsilon < 1e-5 { 5 } else { 2 });
                    let (q, from) = ([angle.cos(), angle.sin()], format!("from {angle}, ε = {epsilon:e}"));
                    let [a, b] = [own(PointMass::s1a(epsilon)), own(PointMass::s1b(epsilon))];
                    add(format!("S1a {from}"), a, &q, &rest, 2.0, &None, least);
                    add(format!("S1b {from}"), b, &q, &rest, 2.0, &None, least);
                }
            }
            let stiff = own(TwoBody::with_stiffness(1.0 / epsilon));
            add(format!("table 4, ε = {epsilon:e}"), stiff, &q, &v, 0.5, &two_body, None);
        }
        all
    }

    /// All orders and tolerances.
    fn races(&self, tolerances: &[f64], max_steps: usize) -> Vec<Race> {
        let Some(start) = consistent(&self.dynamics, &self.q, &self.v) else { return Vec::new() };
        let known = self.end.clone().or_else(|| tight(&self.dynamics, &self.q, &self.v, self.until));
        let Some(exact) = known else { return Vec::new() };
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        let race = |order: usize, tolerance: f64| {
            let go = |preset: Preset, shared| {
                let max_steps = if shared { MOST_SHARED } else { max_steps };
                let setting = Setting { as_dassl: false, max_steps, shared, ..preset.setting(tolerance, order) };
                run(&self.dynamics, &start, self.until, None, &setting)
            };
            let [cs, cm, ours] = [Preset::Cs, Preset::Cm, Preset::Auto].map(|p| go(p, false));
            let agree = apart(&cs.last.q, &ours.last.q);
            let shared = self.followed.filter(|least| order >= *least).map(|_| {
                let o = go(Preset::Auto, true);
                let error = if o.finished { apart(&o.last.q, &exact) } else { f64::INFINITY };
                (o.statistics.residual_evaluations, error)
            });
            Race {
                order,
                tolerance,
                evaluations: [&cs, &cm, &ours].map(|o| o.statistics.residual_evaluations),
                finished: ours.finished,
                astray: !cm.finished || apart(&cm.last.q, &ours.last.q) > (20.0 * agree).max(20.0 * tolerance),
                errors: [&cs, &ours].map(|o| apart(&o.last.q, &exact)),
                shared,
            }
        };
        [2, 5].iter().flat_map(|order| tolerances.iter().map(|t| race(*order, *t))).collect()
    }
}

/// Most steps of a run with shared errors.
const MOST_SHARED: usize = 1_500_000;

/// All problems for `auto` against CS and CM, our own control, the same test for all.
fn auto(report: &mut Report, quick: bool) {
    let mut table = Table {
        title: "auto against CS and CM: residual evaluations with our own control, errors tested alike".into(),
        note: "Where CM takes fewer it is said whether it came to the right end: an iteration that contracts slowly can pass the \
               convergence test far from the solution. S1a and S1b are not damped, and with the velocities tested the \
               oscillation is followed, for 318 periods at ε = 1e-6. A BDF of order k lags behind by O(h^k) in every period, so the \
               error at the end goes with TOL^{k/(k+1)} times the number of periods: with orders ≤ 2 error/TOL grows by 2.2 for \
               every decade, whatever the iteration, when every step may err by TOL. For such motions errors can be shared \
               (--errors run): a step may then err by min(1, 10 h/T) TOL, so that all of them together stay below 10 TOL and a factor of ten is left for growth. The last \
               two columns are auto with shared errors, – where that would take millions of steps: orders ≤ 2 at ε = 1e-6. From 0.2 \
               the amplitude is half a radian, and the period depends on it: an error of the amplitude shifts the phase more \
               with every period, and errors add up twice."
            .into(),
        header: strings(&[
            "problem",
            "order",
            "TOL",
            "CS",
            "CM",
            "auto",
            "auto/best",
            "error of CS/TOL",
            "error of auto/TOL",
            "auto, shared",
            "error/TOL",
        ]),
        rows: Vec::new(),
    };
    let tolerances: &[f64] = if quick { &[1e-3, 1e-5] } else { &[1e-3, 1e-4, 1e-5, 1e-6] };
    let problems = Problem::all(quick);
    let races = together(&problems, |p| p.races(tolerances, if quick { 1500 } else { 1_000_000 }));
    // of the undamped runs: how many, how many of CS, auto and auto with shared errors within 100 TOL, and
    // log(error of auto/error of CS)
    let (mut followed, mut near, mut ratios) = (0, [0; 3], 0.0);
    for (problem, race) in problems.iter().zip(&races).flat_map(|(p, races)| races.iter().map(move |r| (p, r))) {
        let Race { order, tolerance, evaluations: f, errors, .. } = race;
        let best = if race.astray { f[0] } else { f[0].min(f[1]) };
        let ratio = f[2] as f64 / best as f64;
        let cm_shown = if race.astray { format!("{} (astray)", f[1]) } else { f[1].to_string() };
        let what = format!("{}, order ≤ {order}, TOL {tolerance:e}", problem.name);
        let units = |error: f64| format!("{:.1}", error / tolerance);
        let (shared, shared_error) =
            race.shared.map_or(("–".into(), "–".into()), |(f, e)| (f.to_string(), units(e)));
        table.rows.push(vec![
            problem.name.clone(),
            order.to_string(),
            format!("{tolerance:e}"),
            f[0].to_string(),
            cm_shown.clone(),
            f[2].to_string(),
            format!("{ratio:.2}"),
            units(errors[0]),
            units(errors[1]),
            shared,
            shared_error,
        ]);
        report.claims.push(Claim {
            table: "auto",
            what: what.clone(),
            ours: format!("{} against CS {}, CM {cm_shown}", f[2], f[0]),
            paper: "–".into(),
            asked: "≤ 1.10 × the best".into(),
            holds: race.finished && ratio <= 1.10,
        });
        if problem.followed.is_some() {
            followed += 1;
            (0..2).for_each(|i| near[i] += (errors[i] <= 100.0 * tolerance) as usize);
            near[2] += race.shared.is_some_and(|s| s.1 <= 100.0 * tolerance) as usize;
            ratios += (errors[1] / errors[0]).ln();
        }
        let (how, error) = match (problem.followed, race.shared) {
            (None, _) => ("", errors[1]),
            (Some(_), Some((_, error))) => (" with shared errors", error),
            (Some(_), None) => continue,
        };
        report.claims.push(Claim {
            table: "auto",
            what: format!("{what}: error of auto{how} at the end"),
            ours: format!("{error:.1e}"),
            paper: "–".into(),
            asked: format!("≤ {:.0e}", 100.0 * tolerance),
            holds: error <= 100.0 * tolerance,
        });
    }
    let mean = (ratios / followed as f64).exp();
    report.claims.push(Claim {
        table: "auto",
        what: format!(
            "S1a and S1b, {followed} runs, every step within TOL: error of auto by that of CS, geometric mean; runs within 100 TOL"
        ),
        ours: format!("{mean:.2}; {} of auto, {} of CS, {} of auto with shared errors", near[1], near[0], near[2]),
        paper: "–".into(),
        asked: "≤ 1.25; as many as of CS, give or take 5; more with shared errors".into(),
        holds: mean <= 1.25 && near[1] + 5 >= near[0] && near[2] >= near[1],
    });
    report.tables.push(table);
}

/// The fewest evaluations with which each form comes to an error: tolerances differ, errors do not.
fn equal(report: &mut Report, quick: bool) {
    let mut table = Table {
        title: "Residual evaluations to come within an error of the reference".into(),
        note: "Tolerances from 1e-2 to 1e-9, three per decade; the fewest evaluations of a run that ends within the error, and – \
               where none does. All with our own control, orders ≤ 5; `auto, all` tests all coordinates, as GGL* and the command \
               line do. `partition` is the ordinary differential equation in the independent coordinates: it solves the \
               constraints in every evaluation, which is not counted. Tested alike, auto is as good as GGL* where nothing is \
               stiff, and its evaluations do not depend on ε, as those of CM, GGL and GGL* do."
            .into(),
        header: strings(&["problem", "error", "CS", "CM", "GGL", "GGL*", "partition", "auto", "auto, all"]),
        rows: Vec::new(),
    };
    let epsilons: &[f64] = if quick { &[1e-2, 1e-8] } else { &[1e-2, 1e-4, 1e-6, 1e-8] };
    let presets = [Preset::Cs, Preset::Cm, Preset::Ggl, Preset::GglStar, Preset::Auto];
    let circle = [0.879548132412, -0.475809922943];
    let (q, v) = TwoBody::start();
    let two_body = |epsilon: f64| TwoBody::with_stiffness(1.0 / epsilon);
    compare(
        report,
        &mut table,
        "table 4",
        epsilons,
        &presets,
        &two_body,
        (&q, &v, 0.5),
        [3, 4],
        [TWO_BODY[0], TWO_BODY[1]],
    );
    compare(
        report,
        &mut table,
        "S1c",
        epsilons,
        &presets,
        &PointMass::s1c,
        (&[1.0, 0.0], &[0.0; 2], 1.0),
        [0, 1],
        circle,
    );
    report.tables.push(table);
}

fn compare<E: Equations + Clone + 'static>(
    report: &mut Report,
    table: &mut Table,
    name: &str,
    epsilons: &[f64],
    presets: &[Preset],
    equations: &dyn Fn(f64) -> E,
    (q, v, until): (&[f64], &[f64], f64),
    at: [usize; 2],
    reference: [f64; 2],
) {
    const LEVELS: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-5];
    let tolerances = || (6..=27).map(|k| 10f64.powf(-k as f64 / 3.0));
    let away = |q: &[f64]| (q[at[0]] - reference[0]).abs().max((q[at[1]] - reference[1]).abs());
    let fewest = |runs: &[(f64, usize)], level: f64| runs.iter().filter(|r| r.0 <= level).map(|r| r.1).min();
    let shown = |f: Option<usize>| f.map_or("–".to_string(), |f| f.to_string());
    let mut ours = [(usize::MAX, 0); LEVELS.len()];
    for &epsilon in epsilons {
        let dynamics = own(equations(epsilon));
        let Some(start) = consistent(&dynamics, q, v) else { continue };
        let go = |preset: Preset, on: Option<ErrorScope>| -> Vec<(f64, usize)> {
            let of = |tolerance| {
                let tested = Tested::QV;
                let setting = Setting { as_dassl: false, tested, max_steps: 5000, ..preset.setting(tolerance, 5) };
                let o = run(&dynamics, &start, until, None, &Setting { on: on.unwrap_or(setting.on), ..setting });
                let error = if o.finished { away(&o.last.q) } else { f64::INFINITY };
                (error, o.statistics.residual_evaluations)
            };
            tolerances().map(of).collect()
        };
        let mut runs: Vec<_> = presets.iter().map(|p| go(*p, None)).collect();
        runs.insert(4, partition(equations(epsilon), q, v, until, tolerances(), &away));
        runs.push(go(Preset::Auto, Some(ErrorScope::All)));
        for (level, (least, most)) in LEVELS.into_iter().zip(&mut ours) {
            let mut row = vec![format!("{name}, ε = {epsilon:e}"), format!("{level:e}")];
            row.extend(runs.iter().map(|r| shown(fewest(r, level))));
            table.rows.push(row);
            let (alike, star) = (fewest(&runs[6], level), fewest(&runs[3], level));
            report.claims.push(Claim {
                table: "equal",
                what: format!("{name}, ε = {epsilon:e}: evaluations of auto (all) and GGL* to come within {level:e}"),
                ours: format!("{} against {}", shown(alike), shown(star)),
                paper: "–".into(),
                asked: "≤ 1.10 × GGL*".into(),
                holds: alike.is_some_and(|f| star.is_none_or(|g| f as f64 <= 1.1 * g as f64)),
            });
            let f = fewest(&runs[5], level).unwrap_or(usize::MAX);
            (*least, *most) = ((*least).min(f), (*most).max(f));
        }
    }
    for (level, (least, most)) in LEVELS.into_iter().zip(ours) {
        report.claims.push(Claim {
            table: "equal",
            what: format!("{name}: evaluations of auto to come within {level:e}, for all ε"),
            ours: format!("{least} to {most}"),
            paper: "–".into(),
            asked: "within 1.10 of each other".into(),
            holds: most < usize::MAX && most as f64 <= 1.1 * least as f64,
        });
    }
}

/// Errors and evaluations of the partitioned equations at some tolerances.
fn partition<E: Equations + Clone + 'static>(
    equations: E,
    q: &[f64],
    v: &[f64],
    until: f64,
    tolerances: impl Iterator<Item = f64>,
    away: &dyn Fn(&[f64]) -> f64,
) -> Vec<(f64, usize)> {
    let whole = Partitioned::new(equations.clone(), q);
    let of = |tolerance| {
        let dynamics = own(Partitioned::new(equations.clone(), q));
        let start = consistent(&dynamics, &whole.part(q), &whole.part(v))?;
        let setting = Setting { tested: Tested::QV, ..Preset::GglStar.setting(tolerance, 5) };
        let o = run(&dynamics, &start, until, None, &Setting { as_dassl: false, max_steps: 5000, ..setting });
        let error = if o.finished { away(&whole.complete(&o.last.q, &o.last.v).0) } else { f64::INFINITY };
        Some((error, o.statistics.residual_evaluations))
    };
    tolerances.filter_map(of).collect()
}
