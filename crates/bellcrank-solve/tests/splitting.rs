//! Coordinate splitting over whole runs: the split follows large rotations, without a restart.

mod common;

use bellcrank_solve::FormulationKind::Ggl;
use bellcrank_solve::choices::{ErrorScope, MethodName, Options, StepControl};
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::record::{Header, Recorder, RunReport};
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::*;

/// The order of every step, and x of the first body at samples.
#[derive(Default)]
struct Seen {
    orders: Vec<usize>,
    x: Vec<f64>,
}

impl Recorder for Seen {
    fn begin(&mut self, _: &Header) -> std::io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, values: &[f64]) -> std::io::Result<()> {
        self.x.push(values[0]);
        Ok(())
    }
    fn step(&mut self, step: &AcceptedStep) {
        self.orders.push(step.order);
    }
    fn end(&mut self, _: &dyn RunReport) -> std::io::Result<()> {
        Ok(())
    }
}

/// A mass on a rod that goes over the top, and two masses that are the joints of a four-bar whose crank turns: x and y
/// have to take turns.
const PENDULUM: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
m = { mass = 1, at = [1, 0], velocity = [0, 9] }
[joint]
rod = { type = "distance", between = ["ground", "m"], at = [[0, 0], [1, 0]] }
"#;
const LINKAGE: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
m = { mass = 4, at = [0, 0.5], velocity = [8, 0] }
n = { mass = 1, at = [1.6, 1.2] }
[joint]
crank = { type = "distance", between = ["ground", "m"], at = [[0, 0], [0, 0.5]] }
coupler = { type = "distance", between = ["m", "n"], at = [[0, 0.5], [1.6, 1.2]] }
rocker = { type = "distance", between = ["ground", "n"], at = [[1.5, 0], [1.6, 1.2]] }
"#;

fn go(text: &str, iteration: Iteration, on: ErrorScope) -> (Summary, Seen) {
    let s = system(text);
    let (method, formulation, iteration) = (MethodName::Bdf, Some(Ggl), Some(iteration));
    let options =
        Options { method, formulation, iteration, rtol: 1e-7, sample: Some(0.01), until: 4.0, ..Options::default() }
            .with(|o| o.testing.scope = on);
    let mut simulation = Simulation::new(s.clone(), options).expect("starts");
    let mut seen = Seen::default();
    let summary = simulation.run(&mut seen);
    assert_eq!(summary.status, Status::Finished);
    (summary, seen)
}

#[test]
fn the_split_follows_full_turns_without_a_restart() {
    for (name, text) in [("pendulum", PENDULUM), ("linkage", LINKAGE)] {
        let (reference, seen) = go(text, Iteration::Full, ErrorScope::All);
        let crossings = seen.x.windows(2).filter(|w| w[0] * w[1] < 0.0).count();
        let turns = 0.5 * crossings as f64;
        assert!(turns > 3.0, "{name}: {turns} turns");
        for iteration in [Iteration::CoordinateSplit, Iteration::CoordinateModified] {
            for on in [ErrorScope::All, ErrorScope::Independent] {
                let (summary, Seen { orders, .. }) = go(text, iteration, on);
                let split = summary.split.clone().expect("a split");
                let st = summary.statistics;
                println!(
                    "{name}, {} on {on:?}: {} changes in {turns:.1} turns, worst {:.2}, {st:?}",
                    iteration.name(),
                    split.changes,
                    split.worst
                );
                // x and y take turns, twice in a turn at least and not at every step
                let changes = split.changes as f64;
                assert!(changes >= 2.0 * turns - 1.0 && changes <= 20.0 * turns, "{name}: {changes} in {turns} turns");
                assert!(8 * split.changes < st.steps, "{name}: {changes} in {} steps", st.steps);
                // hysteresis: never far beyond the bound at which it is chosen anew
                assert!(split.worst < 4.0, "{name}: {}", split.worst);
                // a restart would begin at order one
                let begun = orders.iter().position(|k| *k > 1).expect("an opening");
                assert!(orders[begun..].iter().all(|k| *k > 1), "{name}: {orders:?}");
                assert!(st.convergence_failures * 50 <= st.steps, "{name}: {st:?}");
                let away = |c: &str| (last(&summary, c) - last(&reference, c)).abs();
                let error = away("m.x").max(away("m.y"));
                assert!(error < 1e-4 && summary.drift.position < 1e-9, "{name}: {error:e} {:?}", summary.drift);
                // as many steps as without a split
                let (a, b) = (st.steps as f64, reference.statistics.steps as f64);
                assert!(on == ErrorScope::Independent || (a / b - 1.0).abs() < 0.1, "{name}: {a} and {b} steps");
            }
        }
    }
}

/// DASSL's own rules cost it steps where constraints hide the error of its iteration; the motion is the same.
#[test]
fn control_to_the_letter_is_a_preset_on_any_model() {
    for text in [FOUR_BAR, SPATIAL] {
        let s = system(text);
        let exact = run(&s, Options { method: MethodName::Dop853, rtol: 1e-11, until: 0.5, ..Options::default() });
        for name in ["dassl-cs", "dassl-cm", "dassl-ggl", "dassl-ggl-star"] {
            let mut options = Options::named(name).expect("a preset");
            (options.rtol, options.until) = (1e-6, 0.5);
            assert_eq!(options.testing.control, StepControl::Dassl);
            let found = run(&s, options.clone());
            let own = run(&s, options.with(|o| o.testing.control = StepControl::Own));
            assert_ne!(found.statistics, own.statistics, "{name}: the control makes a difference");
            for (channel, value) in exact.last.iter().filter(|(n, _)| n.ends_with(".x") || n.ends_with(".y")) {
                let off = (last(&found, channel) - value).abs();
                assert!(off < 1e-3, "{name}, {channel}: {off:e}");
            }
        }
    }
    let refused = Options::named("dassl-cs").expect("a preset").with(|o| o.step = Some(1e-3));
    assert!(refused.check().is_err());
}
