//! Models on bushings: the ladder of stiffnesses, and the stiff bushing of the benchmarks.

use super::{counted, slashed, strings};
use crate::claim::{Against, at_most};
use crate::parallel;
use crate::report::{Report, Table};
use crate::study::counts;
use bellcrank_model::Dynamics;
use bellcrank_model::read::read_text;
use bellcrank_solve::analyses::statics;
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options, Tested};
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Machine, Simulation, Status, Summary};
use bellcrank_solve::start;
use std::sync::Arc;

/// A suspension as a chain: a carrier turned by a drive that starts without a jerk, and four bodies below it on
/// 6×6 bushings. The third and the fourth are also held at a distance, against which `offset` loads their
/// bushing: the reaction then grows with the stiffness.
pub const LADDER: &str = r#"
model = { gravity = [0, -9.81, 0] }
parameter = { k = 1e5, r = "0.02*k", x = "0.002*k", c = "0.1*sqrt(k)", d = "0.002*sqrt(k)", offset = 0 }
[body]
carrier = { mass = 20, inertia = [1, 1, 1], at = [0, 0, 0] }
subframe = { mass = 8, inertia = [0.2, 0.3, 0.2], at = [0, -0.4, 0] }
arm = { mass = 3, inertia = [0.06, 0.02, 0.06], at = [0, -0.8, 0] }
upright = { mass = 5, inertia = [0.08, 0.05, 0.08], at = [0, -1.2, 0] }
wheel = { mass = 10, inertia = [0.4, 0.4, 0.7], at = [0.1, -1.4, 0] }
[joint]
pivot = { type = "revolute", between = ["ground", "carrier"], at = [0, 0.3, 0], axis = [0, 0, 1] }
motor = { type = "drive", joint = "pivot", angle = "0.4*(t - sin(2*t)/2)" }
strut = { type = "distance", between = ["arm", "upright"], at = [[0, -0.9, 0], [0, -1.1, 0]] }
[force.first]
type = "bushing"
between = ["carrier", "subframe"]
at = [0, -0.2, 0]
stiffness = [["k", 0, 0, 0, 0, "x"], [0, "k", 0, 0, 0, 0], [0, 0, "k", "-x", 0, 0], [0, 0, "-x", "r", 0, 0], [0, 0, 0, 0, "r", 0], ["x", 0, 0, 0, 0, "r"]]
damping = ["c", "c", "c", "d", "d", "d"]
[force.second]
type = "bushing"
between = ["subframe", "arm"]
at = [0, -0.6, 0]
stiffness = ["k", "2*k", "k", "r", "r", "r"]
damping = ["c", "c", "c", "d", "d", "d"]
[force.third]
type = "bushing"
between = ["arm", "upright"]
at = [0, -1, 0]
stiffness = ["k", "k", "k", "r", "r", "r"]
damping = ["c", "c", "c", "d", "d", "d"]
offset = [0, "offset", 0, 0, 0, 0]
[force.fourth]
type = "bushing"
between = ["upright", "wheel"]
at = [0, -1.3, 0]
stiffness = ["k", "k", "k", "r", "r", "2*r"]
damping = ["c", "c", "c", "d", "d", "d"]
"#;

/// Two bodies in a row, the first pinned, the second joined to its tip by a bushing; from rest.
pub const STIFF: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter = { k = 1e5, r = "0.01*k", c = "0.02*sqrt(k)", d = "0.02*sqrt(r/12)" }
[body]
first = { mass = 1, inertia = "1/12", at = [0.5, 0] }
second = { mass = 1, inertia = "1/12", at = [1.5, 0] }
[joint]
pin = { type = "revolute", between = ["ground", "first"], at = [0, 0] }
[force]
bushing = { type = "bushing", between = ["first", "second"], at = [1, 0], stiffness = ["k", "k", "r"], damping = ["c", "c", "d"] }
"#;

/// The second body of [`STIFF`] at t = 1, by Dormand–Prince of order 8 at 1e-11: k, x, y.
pub const STIFF_END: [(f64, f64, f64); 4] = [
    (1e5, -1.3221983551875, -0.7086912728260),
    (1e6, -1.3223024148486, -0.7082100540874),
    (1e7, -1.3223125385445, -0.7081624574076),
    (1e8, -1.3223135534829, -0.7081576927747),
];

/// The tests and orders at which stiff bushings are damped.
fn damped(iteration: Iteration, rtol: f64, until: f64) -> Options {
    let (method, test) = (MethodName::Bdf, Some(Tested::Q));
    Options { method, iteration: Some(iteration), rtol, until, ..Options::default() }.with(|o| {
        (o.testing.test, o.parameters.max_order) = (test, 2);
    })
}

/// Runs a model with its parameters changed; from its equilibrium, or from its start as it is.
pub fn simulate(text: &str, changes: &[(&str, f64)], at_rest: bool, options: Options) -> Option<Summary> {
    let changes: Vec<String> = changes.iter().map(|(name, x)| format!("parameter.{name}={x:e}")).collect();
    let system = Arc::new(read_text("model.toml", text, &changes).ok()?.model.compile());
    let mut state = system.initial_state();
    let dynamics: Arc<dyn Dynamics> = system;
    if at_rest {
        let (start, _) = start::assemble(&dynamics, &state).ok()?;
        statics::equilibrium(&dynamics, &start).ok()?.point.store(&mut state);
    }
    let options = options.with(|o| o.testing.budget = ErrorBudget::Step);
    let summary = Simulation::new(Machine::equations("bushings", dynamics, &state), options).ok()?.run(&mut Silent);
    (summary.status == Status::Finished).then_some(summary)
}

/// The final value of a channel.
pub fn last(summary: &Summary, channel: &str) -> f64 {
    summary.last.iter().find(|(name, _)| name == channel).map_or(f64::NAN, |(_, x)| *x)
}

/// Where the wheel of the ladder ends.
fn wheel(s: &Summary) -> [f64; 3] {
    [last(s, "wheel.x"), last(s, "wheel.y"), last(s, "wheel.z")]
}

/// CS, CM and `auto` at one stiffness of the ladder.
struct Rung {
    k: f64,
    runs: [Option<Summary>; 3],
}

impl Rung {
    fn evaluations(&self, i: usize) -> Option<usize> {
        self.runs[i].as_ref().map(|s| s.statistics.residual_evaluations)
    }

    /// Evaluations of `auto` by those of the better of CS and CM.
    fn ratio(&self) -> f64 {
        let best = self.evaluations(0).into_iter().chain(self.evaluations(1)).min();
        self.evaluations(2).zip(best).map_or(f64::NAN, |(f, best)| f as f64 / best as f64)
    }

    /// How far `auto` ends from the reference, in m.
    fn error(&self, end: &[f64; 3]) -> f64 {
        let apart = |s| wheel(s).iter().zip(end).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        self.runs[2].as_ref().map_or(f64::NAN, apart)
    }

    fn row(&self, load: &str, tolerance: f64, end: &[f64; 3]) -> Vec<String> {
        let shown = |i: usize| self.runs[i].as_ref().map_or("failed".into(), |s| slashed(&counts(&s.statistics)));
        let away = self.error(end);
        vec![
            load.into(),
            format!("{tolerance:e}"),
            format!("{:e}", self.k),
            shown(0),
            shown(1),
            shown(2),
            format!("{:.2}", self.ratio()),
            format!("{away:.1e}"),
            format!("{:.1}", away / tolerance),
        ]
    }

    fn claim(&self, report: &mut Report, load: &str, tolerance: f64, end: &[f64; 3]) {
        let what = format!("{load}, TOL {tolerance:e}, k = {:e}: auto", self.k);
        let claim = report.claim("ladder", Against::Ours, what);
        // every step may err by TOL, and steps of order 2 are TOL^(1/3) long: their errors add up to TOL^(2/3)
        claim.asks("error at the end/TOL^(2/3)", self.error(end) / tolerance.powf(2.0 / 3.0), at_most(0.3));
        claim.asks("evaluations by those of the best", self.ratio(), at_most(1.10));
    }
}

/// The ladder: stiffness from 1e3 to 1e9, loaded and not, at four tolerances.
pub fn ladder(report: &mut Report, quick: bool) {
    let mut table = Table {
        title: "Bushing ladder: five bodies on 6×6 bushings of stiffness k (steps/f/J/etf/ctf)".into(),
        note: "From equilibrium, coordinates tested alone, orders ≤ 2. Loaded: one bushing presses by k · 2 mm against a rod of \
               fixed length. `error` is how far the wheel ends from where a run at rtol 1e-9 (5e-8 in quick runs) has it, velocities tested, orders ≤ 5."
            .into(),
        header: strings(&["load", "TOL", "k", "CS", "CM", "auto", "auto/best", "error", "error/TOL"]),
        rows: Vec::new(),
    };
    let tolerances: &[f64] = if quick { &[1e-3, 1e-5] } else { &[1e-3, 1e-4, 1e-5, 1e-6] };
    let stiffnesses: &[f64] = if quick { &[1e3, 1e6, 1e9] } else { &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] };
    let loads = [0.0, 2e-3].map(|offset| stiffnesses.iter().map(move |k| [("k", *k), ("offset", offset)]));
    let rungs: Vec<_> = loads.into_iter().flatten().collect();
    let exact = parallel::map(&rungs, |changes| {
        // two hundred times as tight as the tightest tolerance
        let tight = if quick { 5e-8 } else { 1e-9 };
        let followed = damped(Iteration::Auto, tight, 2.0).with(|o| {
            (o.testing.test, o.parameters.max_order) = (Some(Tested::QV), 5);
        });
        simulate(LADDER, changes, true, followed).as_ref().map_or([f64::NAN; 3], wheel)
    });
    for (load, exact) in ["not loaded", "loaded"].into_iter().zip(exact.chunks(stiffnesses.len())) {
        let offset = if load == "loaded" { 2e-3 } else { 0.0 };
        for &tolerance in tolerances {
            let rungs = parallel::map(stiffnesses, |&k| {
                let changes = [("k", k), ("offset", offset)];
                let go = |iteration| simulate(LADDER, &changes, true, damped(iteration, tolerance, 2.0));
                Rung { k, runs: [Iteration::CoordinateSplit, Iteration::CoordinateModified, Iteration::Auto].map(go) }
            });
            for (rung, end) in rungs.iter().zip(exact) {
                table.rows.push(rung.row(load, tolerance, end));
                rung.claim(report, load, tolerance, end);
            }
            let steps = |rung: Option<&Rung>| Some(rung?.runs[2].as_ref()?.statistics.steps);
            let (soft, stiff) = (steps(rungs.first()), steps(rungs.last()));
            let (from, to) = (counted(soft), counted(stiff));
            let what = format!("{load}, TOL {tolerance:e}: steps of auto, {from} on the softest, {to} on the stiffest");
            let growth = soft.zip(stiff).map(|(soft, stiff)| stiff as f64 / soft as f64);
            report.claim("ladder", Against::Ours, what).asks("growth", growth, at_most(1.5));
        }
    }
    report.tables.push(table);
}

/// The stiff bushing of the benchmarks, by all tests.
pub fn stiff(report: &mut Report, quick: bool) {
    let mut table = Table {
        title: "Stiff bushing: two bodies, 1 s at rtol 1e-4 (steps/f/J/etf/ctf and the error in m)".into(),
        note: "What is asked for is asked with the coordinates tested alone and orders ≤ 2: there errors that alternate weigh \
               less than those that add up, and the oscillation at k = 1e5, which is above the tolerance, is damped. With the \
               velocities tested it is followed, and the higher orders, which are unstable near the imaginary axis, take more \
               steps than the second."
            .into(),
        header: strings(&["test", "orders", "k = 1e5", "1e6", "1e7", "1e8", "most/fewest steps"]),
        rows: Vec::new(),
    };
    for (test, name, max_order) in [(Tested::Q, "q", 2), (Tested::QV, "q+v", 2), (Tested::QV, "q+v", 5)] {
        if quick && max_order == 5 {
            continue;
        }
        let mut row = vec![name.to_string(), format!("≤ {max_order}")];
        let (mut steps, mut worst) = (Vec::new(), 0.0f64);
        for (k, x, y) in STIFF_END {
            let options = damped(Iteration::Auto, 1e-4, 1.0).with(|o| {
                (o.testing.test, o.parameters.max_order) = (Some(test), max_order);
            });
            let Some(s) = simulate(STIFF, &[("k", k)], false, options) else {
                row.push("failed".into());
                worst = f64::INFINITY;
                continue;
            };
            let error = (last(&s, "second.x") - x).hypot(last(&s, "second.y") - y);
            row.push(format!("{}, {error:.1e}", slashed(&counts(&s.statistics))));
            steps.push(s.statistics.steps);
            worst = worst.max(error);
        }
        let (fewest, most) = (steps.iter().min().copied(), steps.iter().max().copied());
        let ratio = most.zip(fewest).map_or(f64::NAN, |(most, fewest)| most as f64 / fewest as f64);
        row.push(format!("{ratio:.2}"));
        table.rows.push(row);
        if test == Tested::Q {
            let what = format!("k = 1e5 to 1e8: {} to {} steps", counted(fewest), counted(most));
            let claim = report.claim("bushing", Against::Ours, what);
            claim.asks("most by fewest steps", ratio, at_most(1.5)).asks("largest error [m]", worst, at_most(1e-3));
        }
    }
    report.tables.push(table);
}

/// A pendulum and a four-bar, whose constraints have to hold for an hour.
const HOUR: [(&str, &str); 2] = [
    (
        "pendulum",
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
mass = { mass = 1, at = [-1, 0] }
[joint]
rod = { type = "distance", between = ["ground", "mass"], at = [[0, 0], [-1, 0]] }
"#,
    ),
    (
        "four-bar",
        r#"
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
"#,
    ),
];

/// Drift of the constraints over an hour; `quick`: over a minute.
pub fn hour(report: &mut Report, quick: bool) {
    let until = if quick { 60.0 } else { 3600.0 };
    let mut table = Table {
        title: format!("Largest residual of the constraints in {until} s, over all steps"),
        note: "BDF on ggl with auto, which puts every accepted point onto the constraints to rounding.".into(),
        header: strings(&["model", "rtol", "steps/f/J/etf/ctf", "position [m]", "velocity [m/s]"]),
        rows: Vec::new(),
    };
    for (name, text) in HOUR {
        for rtol in [1e-4, 1e-6] {
            let options = Options { method: MethodName::Bdf, rtol, until, ..Options::default() };
            let Some(s) = simulate(text, &[], false, options) else { continue };
            let drift = s.drift.position;
            table.rows.push(vec![
                name.into(),
                format!("{rtol:e}"),
                slashed(&counts(&s.statistics)),
                format!("{drift:.1e}"),
                format!("{:.1e}", s.drift.velocity),
            ]);
            let what = format!("{name} at rtol {rtol:e}: residual of the constraints through {until} s");
            report.claim("hour", Against::Theory, what).asks("residual [m]", drift, at_most(1e-12));
        }
    }
    report.tables.push(table);
}
