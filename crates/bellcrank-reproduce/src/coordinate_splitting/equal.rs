//! Evaluations needed for a given error: every iteration at its best tolerance.

use super::partition::Partitioned;
use super::problems::{PointMass, TwoBody};
use super::table_4::TWO_BODY;
use super::{counted, strings};
use crate::claim::{Against, at_most};
use crate::report::{Report, Table};
use crate::study::{Preset, Setting, consistent, own, run};
use bellcrank_model::hand_written::Equations;
use bellcrank_solve::choices::{ErrorScope, Tested};

/// The fewest evaluations with which each form comes to an error: tolerances differ, errors do not.
pub(super) fn equal(report: &mut Report, quick: bool) {
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
    // evaluations of `auto` at every level, for every ε
    let mut ours: [Vec<Option<usize>>; LEVELS.len()] = Default::default();
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
        for (level, ours) in LEVELS.into_iter().zip(&mut ours) {
            let mut row = vec![format!("{name}, ε = {epsilon:e}"), format!("{level:e}")];
            row.extend(runs.iter().map(|r| counted(fewest(r, level))));
            table.rows.push(row);
            let (alike, star) = (fewest(&runs[6], level), fewest(&runs[3], level));
            let what = format!(
                "{name}, ε = {epsilon:e}: evaluations to come within {level:e}, auto (all) {}, GGL* {}",
                counted(alike),
                counted(star)
            );
            // where GGL* never comes within the error, auto has to
            let ratio = alike.map(|f| star.map_or(1.0, |g| f as f64 / g as f64));
            report.claim("equal", Against::Ours, what).asks("evaluations by those of GGL*", ratio, at_most(1.1));
            ours.push(fewest(&runs[5], level));
        }
    }
    for (level, ours) in LEVELS.into_iter().zip(ours) {
        // none, where a run at some ε never came within the error
        let all: Option<Vec<usize>> = ours.into_iter().collect();
        let range = all.and_then(|f| Some((*f.iter().min()?, *f.iter().max()?)));
        let what = format!("{name}: evaluations of auto to come within {level:e}, for all ε");
        let ratio = range.map(|(least, most)| most as f64 / least as f64);
        report.claim("equal", Against::Ours, what).asks("most by fewest evaluations", ratio, at_most(1.1));
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
