//! The paper's gluing (section 3) as couplings on machines that are not its own: errors, orders and exchanges beside ours.

use super::relaxation::pinned;
use super::stability::join_at;
use crate::claim::{Against, at_least, at_most, between, near};
use crate::report::{Report, Table};
use bellcrank_glue::{Coordinator, Coupling, GlueError, GlueOptions};
use bellcrank_model::System;
use bellcrank_model::read::read_text;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status};
use std::sync::Arc;

const TABLE: &str = "corrections";

const FOUR_BAR: &str = r#"
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
[start]
a = { rate = 1.5 }
"#;

const SPATIAL: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body]
arm = { rod = { from = [0, 0, 0], to = [1, 0, 0], mass = 2, radius = 0.05 } }
ball = { box = { size = [0.3, 0.2, 0.4], mass = 3 }, at = [1.2, 0.1, -0.3], angular_velocity = [1, 2, 3] }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0, 0], axis = [0, 1, 0.3] }
socket = { type = "spherical", between = ["arm", "ball"], at = [1, 0, 0] }
"#;

const SPRING: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.left = { rod = { from = [0, 0], to = [0, -1], mass = 2 } }
body.right = { rod = { from = [0.6, 0], to = [1.2, -0.8], mass = 1 } }
joint.a = { type = "revolute", between = ["ground", "left"], at = [0, 0] }
joint.b = { type = "revolute", between = ["ground", "right"], at = [0.6, 0] }
force.k = { type = "spring-damper", between = ["left", "right"], at = [[0, -0.5], [0.9, -0.4]], stiffness = 2000, damping = 2 }
"#;

/// A machine, where it is cut, the windows and the end.
struct Case {
    name: &'static str,
    text: &'static str,
    at: &'static [&'static str],
    window: f64,
}

const CASES: &[Case] = &[
    Case { name: "four-bar, cut at b", text: FOUR_BAR, at: &["b"], window: 1e-3 },
    Case { name: "four-bar, cut at all joints", text: FOUR_BAR, at: &["a", "b", "c", "d"], window: 1e-3 },
    Case { name: "arm and ball in space, cut at the socket", text: SPATIAL, at: &["socket"], window: 1e-3 },
    Case { name: "arm and ball in space, cut at both joints", text: SPATIAL, at: &["pin", "socket"], window: 1e-3 },
    Case { name: "two pendulums, cut at their spring", text: SPRING, at: &["k"], window: 2e-3 },
];

const UNTIL: f64 = 0.1;

/// What a run in parts gave.
struct CorrectedRun {
    error: f64,
    exchanges: f64,
}

fn whole(system: &Arc<System>) -> Option<Vec<(String, f64)>> {
    let options = Options { method: MethodName::Dop853, rtol: 1e-11, until: UNTIL, ..Options::default() };
    let summary = Simulation::new(system.clone(), options).ok()?.run(&mut Silent);
    (summary.status == Status::Finished).then(|| summary.last.to_vec())
}

/// The largest difference of places and angles.
fn error(of: &mut Coordinator, reference: &[(String, f64)]) -> Option<f64> {
    let values = of.observe().ok()?;
    let is_place = |name: &str| [".x", ".y", ".z", ".angle"].iter().any(|end| name.ends_with(end));
    let pairs = of.channels(false).into_iter().zip(values).filter(|(c, _)| is_place(&c.name));
    let off = pairs.filter_map(|(c, x)| reference.iter().find(|(name, _)| *name == c.name).map(|(_, y)| (x - y).abs()));
    off.reduce(f64::max)
}

fn run(case: &Case, coupling: Coupling, window: f64) -> Option<CorrectedRun> {
    let system: Arc<System> = Arc::new(read_text("model.toml", case.text, &[]).ok()?.model.compile());
    let reference = whole(&system)?;
    let options = GlueOptions { coupling, window, ..GlueOptions::default() };
    let mut glued = join_at(&system, case.at, options)?;
    glued.run(UNTIL, &mut |_| Ok(())).ok()?;
    let report = glued.report();
    let exchanges = report.exchanges as f64 / report.windows as f64;
    Some(CorrectedRun { error: error(&mut glued, &reference)?, exchanges })
}

/// By what the naive projection multiplies the residual across a pin, or the exchanges per window if it converges.
fn naive(first: f64, second: f64) -> Option<Result<f64, f64>> {
    let options = GlueOptions { coupling: Coupling::Naive, window: 1e-4, ..GlueOptions::default() };
    let mut glued = join_at(&pinned(first, second)?, &["pin"], options)?;
    match glued.run(2e-3, &mut |_| Ok(())) {
        Ok(()) => Some(Ok(glued.report().exchanges as f64 / glued.report().windows as f64)),
        Err(GlueError::Uncorrected { factor, .. }) => Some(Err(factor)),
        Err(_) => None,
    }
}

/// Gluing by corrections beside ours.
pub(super) fn corrections(report: &mut Report) {
    let nothing = || CorrectedRun { error: f64::NAN, exchanges: f64::NAN };
    let mut rows = Vec::new();
    for case in CASES {
        let of = |coupling, window| run(case, coupling, window).unwrap_or_else(nothing);
        let [coarse, fine] = [2.0, 1.0].map(|c| of(Coupling::Gauss, c * case.window));
        let ours = of(Coupling::Stabilized, case.window);
        let order = (coarse.error / fine.error).log2();
        let claim = report.claim(TABLE, Against::Theory, format!("{}: of second order", case.name));
        claim.asks("order", order, between(1.9, 2.1));
        let claim =
            report.claim(TABLE, Against::Ours, format!("{}: the motion of ours, for more exchanges", case.name));
        claim.asks("error, in ours", fine.error / ours.error, at_most(7.0));
        claim.asks("exchanges per window, in ours", fine.exchanges / ours.exchanges, at_least(2.5));
        let what = format!("{}: about six exchanges per window, three in an iteration", case.name);
        report.claim(TABLE, Against::Independent, what).asks("exchanges per window", fine.exchanges, between(5.5, 7.0));
        rows.push(vec![
            case.name.to_string(),
            format!("{} ms", case.window * 1e3),
            format!("{:.2e}", fine.error),
            format!("{order:.2}"),
            format!("{:.2}", fine.exchanges),
            format!("{:.2e}", ours.error),
            format!("{:.2}", ours.exchanges),
        ]);
    }
    let header = ["machine", "window", "gauss: error", "order", "exchanges", "stabilized: error", "exchanges"];
    report.tables.push(Table {
        title: "The paper's gluing on other machines: GL-DYN, GL-ACC, GL-POS, GL-VEL as --coupling gauss".into(),
        note: "Errors after 0.1 s against a run of the whole at 1e-11; exchanges per window. The paper's iteration asks for three exchanges \
               that depend on each other, and its first trial for one; ours sends loads, positions and velocities together, predicts \
               them, and knows how the parts answer to a step."
            .into(),
        header: header.map(String::from).to_vec(),
        rows,
    });
    let mut rows = Vec::new();
    for (first, second) in [(1.0, 2.0), (1.0, 4.0), (1.0, 10.0), (20.0, 1.0)] {
        let theory = (first - second) * (first - second) / (4.0 * first * second);
        let found = naive(first, second);
        if theory > 1.0 {
            let what = format!("the naive projection across a pin of {first} kg and {second} kg: 1 − (uᵀM⁻¹u)(uᵀMu)");
            let factor = found.and_then(Result::err).unwrap_or(f64::NAN);
            report
                .claim(TABLE, Against::Theory, what)
                .asks("factor", factor, near(theory, 1e-3))
                .paper("does not converge");
        }
        let cell = match found {
            Some(Ok(exchanges)) => format!("{exchanges:.1} exchanges per window"),
            Some(Err(factor)) => format!("diverges, × {factor:.3}"),
            None => "failed".into(),
        };
        rows.push(vec![first.to_string(), second.to_string(), format!("{theory:.3}"), cell]);
    }
    report.tables.push(Table {
        title: "The naive projection (27) across a pin, as --coupling naive".into(),
        note:
            "For two masses the factor is −(m₁ − m₂)²/(4m₁m₂), whatever the window: it converges below m₁/m₂ = 3 + 2√2."
                .into(),
        header: ["m₁ [kg]", "m₂ [kg]", "theory", "measured"].map(String::from).to_vec(),
        rows,
    });
}
