//! The algorithms of the paper's survey (sections 2.2 and 2.4) on one closed loop: drift, error and work.

use crate::claim::{Against, around, at_least, at_most, between};
use crate::report::{Report, Table};
use bellcrank_model::System;
use bellcrank_model::read::read_text;
use bellcrank_solve::choices::{FormulationKind, MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use bellcrank_view::plot::{Axis, Curve, Figure};
use std::sync::Arc;

const TABLE: &str = "survey";

/// A four-bar with a spring and a damper, swinging.
const MACHINE: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
crank = { rod = { from = [0, 0], to = [0.5, 0.8], mass = 2 } }
coupler = { rod = { from = [0.5, 0.8], to = [2.1, 1.2], mass = 3 } }
rocker = { rod = { from = [2.0, 0], to = [2.1, 1.2], mass = 2 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
b = { type = "revolute", between = ["crank", "coupler"], at = [0.5, 0.8] }
c = { type = "revolute", between = ["coupler", "rocker"], at = [2.1, 1.2] }
d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0] }
[force]
k = { type = "spring-damper", between = ["ground", "coupler"], at = [[1, 3], [1.3, 1.0]], stiffness = 40, damping = 0.5, length = 1.5 }
[start]
a = { rate = 3 }
"#;

/// One algorithm of the survey, with its parameters.
struct Entry {
    name: &'static str,
    /// Where it comes from.
    source: &'static str,
    formulation: FormulationKind,
    set: fn(&mut Options),
}

/// All of them; the order of the table.
const ENTRIES: &[Entry] = &[
    Entry { name: "index 1, projected", source: "ours", formulation: FormulationKind::Index1, set: |_| {} },
    Entry {
        name: "index 1, as it is",
        source: "no stabilization",
        formulation: FormulationKind::Baumgarte,
        set: |o| o.parameters.baumgarte_alpha = 0.0,
    },
    Entry {
        name: "α = β = 20/s",
        source: "Baumgarte",
        formulation: FormulationKind::Baumgarte,
        set: |o| o.parameters.baumgarte_alpha = 20.0,
    },
    Entry {
        name: "penalty 1e6",
        source: "Bayo",
        formulation: FormulationKind::Augmented,
        set: |o| (o.parameters.iterates, o.parameters.baumgarte_alpha) = (1, 20.0),
    },
    Entry {
        name: "penalty 1e6, 3 iterates",
        source: "Bayo",
        formulation: FormulationKind::Augmented,
        set: |o| (o.parameters.iterates, o.parameters.baumgarte_alpha) = (3, 20.0),
    },
    Entry {
        name: "ε = 4 ms",
        source: "Park",
        formulation: FormulationKind::Park,
        set: |o| o.parameters.epsilon = Some(4e-3),
    },
    Entry { name: "LU: partitioning", source: "Maggi", formulation: FormulationKind::MaggiLu, set: |_| {} },
    Entry { name: "QR", source: "Maggi", formulation: FormulationKind::MaggiQr, set: |_| {} },
    Entry { name: "SVD", source: "Maggi", formulation: FormulationKind::MaggiSvd, set: |_| {} },
];

fn options(entry: &Entry, h: f64, until: f64) -> Options {
    let (method, step) = (MethodName::Rk4, Some(h));
    Options { method, formulation: Some(entry.formulation), step, until, ..Options::default() }.with(entry.set)
}

fn run(machine: &Arc<System>, options: Options) -> Option<Summary> {
    let mut simulation = Simulation::new(machine.clone(), options).ok()?;
    let summary = simulation.run(&mut Silent);
    (summary.status == Status::Finished).then_some(summary)
}

/// How far the coupler is from where it should be.
fn off(summary: &Option<Summary>, exact: &Option<Summary>) -> f64 {
    let (Some(found), Some(exact)) = (summary, exact) else { return f64::NAN };
    let places = |name: &str| name == "coupler.x" || name == "coupler.y";
    let pairs = found.last.iter().zip(exact.last.iter()).filter(|((name, _), _)| places(name));
    pairs.map(|((_, a), (_, b))| (a - b).abs()).fold(0.0, f64::max)
}

fn drift(summary: &Option<Summary>) -> f64 {
    summary.as_ref().map_or(f64::NAN, |s| s.drift.position)
}

/// Baumgarte, Bayo, Park and Maggi on one machine.
pub(super) fn survey(report: &mut Report) {
    let Ok(read) = read_text("four-bar.toml", MACHINE, &[]) else { return };
    let machine = Arc::new(read.model.compile());
    let until = 2.0;
    let h = 4e-3;
    let tight = Options { method: MethodName::Dop853, rtol: 1e-12, until, ..Options::default() };
    let exact = run(&machine, tight);
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for entry in ENTRIES {
        let runs = [4.0, 2.0, 1.0].map(|c| run(&machine, options(entry, c * h / 4.0, until)));
        let errors = runs.each_ref().map(|r| off(r, &exact));
        let order = (errors[1] / errors[2]).log2();
        let work =
            runs[0].as_ref().map_or((0, 0), |s| (s.statistics.residual_evaluations, s.statistics.factorizations));
        rows.push(vec![
            entry.source.into(),
            entry.name.into(),
            format!("{:.2e}", drift(&runs[0])),
            format!("{:.2e}", errors[0]),
            format!("{:.2e}", errors[2]),
            format!("{order:.2}"),
            work.0.to_string(),
            work.1.to_string(),
        ]);
        let points =
            runs.iter().zip(&errors).filter_map(|(run, e)| Some((run.as_ref()?.statistics.factorizations as f64, *e)));
        curves.push(Curve { name: format!("{} {}", entry.source, entry.name), points: points.collect(), marked: true });
        if entry.formulation != FormulationKind::Park && entry.name != "penalty 1e6" {
            let what = format!("RK4 on {} ({}) keeps its order", entry.source, entry.name);
            report.claim(TABLE, Against::Theory, what).asks("order", order, around(4.0, 0.4));
        }
        if matches!(entry.formulation, FormulationKind::MaggiLu | FormulationKind::MaggiQr | FormulationKind::MaggiSvd)
        {
            let what = format!("independent coordinates by {} stay on the constraints", entry.name);
            report
                .claim(TABLE, Against::Paper, what)
                .asks("drift [m]", drift(&runs[0]), at_most(1e-14))
                .paper("always stay on M");
        }
    }
    laws(report, &machine, h);
    report.tables.push(Table {
        title: format!("The survey's algorithms on a four-bar with a spring, RK4, h = 4 ms, to t = {until} s"),
        note: "Error of the coupler at the end against dop853 at 1e-12, with h and h/4; the order from h/2 to h/4. Maggi's equations factor twice for an evaluation: \
               to close the loop, and to find the accelerations. Every step of the projected form factors once more. Park's joints are \
               springs of 4 ms, which is an error that steps do not reduce; so is one iterate of the penalty."
            .into(),
        header: ["", "form", "drift [m]", "error [m]", "with h/4", "order", "evaluations", "factorizations"]
            .map(String::from)
            .to_vec(),
        rows,
    });
    let (abscissa, ordinate) = (Axis::logarithmic("factorizations"), Axis::logarithmic("error of the coupler [m]"));
    let title = "The survey's algorithms: work and error".into();
    report.figures.push(("survey", Figure { title, abscissa, ordinate, curves }));
}

/// How drift and error follow the parameters.
fn laws(report: &mut Report, machine: &Arc<System>, h: f64) {
    let at = |form, until: f64, set: &dyn Fn(&mut Options)| {
        let entry = Entry { name: "", source: "", formulation: form, set: |_| {} };
        run(machine, options(&entry, h, until).with(|o| set(o)))
    };
    let plain = |until| drift(&at(FormulationKind::Baumgarte, until, &|o| o.parameters.baumgarte_alpha = 0.0));
    let [early, late] = [plain(1.0), plain(4.0)];
    let what = "without stabilization the drift grows: from t = 1 s to 4 s, by";
    report.claim(TABLE, Against::Paper, what).asks("factor", late / early, at_least(8.0)).paper("may drift off");
    let with = drift(&at(FormulationKind::Baumgarte, 4.0, &|o| o.parameters.baumgarte_alpha = 20.0));
    let what = "Baumgarte's α = β = 20/s divides the drift at t = 4 s by";
    report.claim(TABLE, Against::Theory, what).asks("factor", late / with, at_least(60.0));
    let limit = at(FormulationKind::Baumgarte, 0.5, &|_| {});
    let bayo = |iterates: usize, penalty: f64| {
        let set = |o: &mut Options| (o.parameters.iterates, o.parameters.penalty) = (iterates, penalty);
        off(&at(FormulationKind::Augmented, 0.5, &set), &limit)
    };
    let what = "one iterate of Bayo's form errs by O(1/p): from p = 1e3 to 1e4";
    report.claim(TABLE, Against::Theory, what).asks("ratio", bayo(1, 1e3) / bayo(1, 1e4), between(9.0, 11.0));
    let what = "the second iterate, p = 1e3, divides what the first has left by";
    report.claim(TABLE, Against::Theory, what).asks("ratio", bayo(1, 1e3) / bayo(2, 1e3), at_least(80.0));
    let park = |epsilon: f64| {
        let entry = Entry { name: "", source: "", formulation: FormulationKind::Park, set: |_| {} };
        let options = options(&entry, 2.5e-4, 0.5).with(|o| o.parameters.epsilon = Some(epsilon));
        drift(&run(machine, options))
    };
    let order = (park(4e-3) / park(2e-3)).log2();
    let what = "Park's joints open with the power of ε (his ε is ours squared)";
    report.claim(TABLE, Against::Theory, what).asks("power", order, around(2.0, 0.25));
}
