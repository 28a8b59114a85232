//! Runs that go on from a checkpoint: the same bits as a run that was never stopped.

mod common;

use bellcrank_solve::choices::{Coordinates, ErrorBudget, FormulationKind, METHODS, MethodName, Options, Solver};
use bellcrank_solve::newton::{self, Iteration};
use bellcrank_solve::record::{Header, Memory, Recorder, RunReport};
use bellcrank_solve::run::{Simulation, StartError, Status, Summary};
use common::{FOUR_BAR, SPATIAL, system, windows};
use std::io;

fn example(name: &str) -> String {
    let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Keeps frames, and checkpoints after some steps: the number of frames by then, and what the run remembered.
#[derive(Default)]
struct Keeper {
    frames: Memory,
    looks: usize,
    at: Vec<usize>,
    kept: Vec<(usize, Vec<u8>)>,
}

impl Recorder for Keeper {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.frames.begin(header)
    }
    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        self.frames.frame(t, values)
    }
    fn wants_checkpoint(&mut self, _: bool) -> bool {
        self.looks += 1;
        self.at.contains(&self.looks)
    }
    fn checkpoint(&mut self, remembered: Result<&[u8], &'static str>) -> io::Result<()> {
        let remembered = remembered.map_err(io::Error::other)?;
        self.kept.push((self.frames.times.len(), remembered.to_vec()));
        Ok(())
    }
    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        self.frames.end(report)
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// All that a summary says of the motion and the work, to the last digit.
fn told(s: &Summary) -> String {
    let last: Vec<_> = s.last.iter().collect();
    let state = (s.t, &s.state.q, &s.state.v, &s.state.z);
    let monitors = (&s.drift, &s.energy, &s.error, &s.events, &s.outputs, &s.beyond, &s.refused);
    let work = (&s.statistics, &s.beside, &s.history, &s.split, &s.loops);
    format!("{:?}\n{state:?}\n{last:?}\n{monitors:?}\n{work:?}\n{:?}\n{:?}", s.status, s.plan, s.solver)
}

/// Runs whole, and from each of some checkpoints to the end; gives the number of checkpoints, or why it does not run.
fn compare(text: &str, options: &Options, what: &str) -> Option<usize> {
    compare_told(text, options, what, false)
}

/// The same with the error told.
fn compare_told(text: &str, options: &Options, what: &str, tells: bool) -> Option<usize> {
    let made = || {
        let mut simulation = Simulation::new(system(text), options.clone())?;
        if tells {
            simulation.tell_error();
        }
        Ok::<_, StartError>(simulation)
    };
    let mut counted = Keeper::default();
    let first = made().ok()?.run(&mut counted);
    let steps = counted.looks;
    // the first ones, where a method builds up its history, and some on the way
    let at: Vec<usize> = [2, 7, steps / 2, steps - steps / 7].into_iter().filter(|k| *k > 0 && *k < steps).collect();
    let mut keeper = Keeper { at, ..Keeper::default() };
    let whole = made().ok()?.run(&mut keeper);
    assert_eq!(told(&whole), told(&first), "{what}: a checkpoint disturbs the run");
    assert_eq!(bits(&keeper.frames.values), bits(&counted.frames.values), "{what}");
    for (frames, remembered) in &keeper.kept {
        let mut resumed = made().ok()?;
        resumed.resume(remembered.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut rest = Memory::default();
        let summary = resumed.run(&mut rest);
        let width = keeper.frames.header.channels.len();
        assert_eq!(bits(&rest.times), bits(&keeper.frames.times[*frames..]), "{what}, after {frames} frames");
        let same = bits(&rest.values) == bits(&keeper.frames.values[frames * width..]);
        assert!(same, "{what}, after {frames} frames of {}", keeper.frames.times.len());
        assert_eq!(told(&summary), told(&whole), "{what}, after {frames} frames");
    }
    Some(keeper.kept.len())
}

#[test]
fn a_run_that_is_told_its_error_goes_on_from_a_checkpoint_to_the_bit() {
    let machines = [
        ("four-bar", FOUR_BAR.to_string(), 0.5),
        ("ball", example("bouncing-ball"), 0.9),
        ("stick-slip", example("stick-slip"), 0.5),
        ("stiff", example("stiff-bushing"), 0.1),
    ];
    for (name, text, until) in &machines {
        for method in [MethodName::Auto, MethodName::Bdf, MethodName::GeneralizedAlpha] {
            let options =
                Options { method, until: *until, sample: Some(until / 7.3), rtol: 1e-5, ..Options::default() };
            let found = compare_told(text, &options, &format!("{name} with {}", method.name()), true);
            assert!(found.is_some_and(|n| n > 0), "{name} with {}: {found:?}", method.name());
        }
    }
}

/// Every method × formulation × coordinates × iteration on a closed loop, and on machines with events on the way.
#[test]
fn a_run_goes_on_from_a_checkpoint_to_the_bit_whatever_its_method() {
    let machines = [
        ("four-bar", FOUR_BAR.to_string(), 0.06),
        ("spatial", SPATIAL.into(), 0.03),
        ("ball", example("bouncing-ball"), 0.9),
        ("stick-slip", example("stick-slip"), 0.5),
    ];
    let (mut runs, mut checkpoints) = (0, 0);
    for row in METHODS {
        for formulation in FormulationKind::NAMES.iter().map(|name| FormulationKind::by_name(name)) {
            for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
                for (name, text, until) in &machines {
                    for step in [None, Some(2e-3)] {
                        let options = Options {
                            method: row.method,
                            formulation,
                            coordinates,
                            step,
                            until: *until,
                            sample: Some(until / 7.3),
                            rtol: 1e-5,
                            ..Options::default()
                        };
                        let what = format!("{name}: {} on {formulation:?}, {coordinates:?}, step {step:?}", row.name);
                        if let Some(found) = compare(text, &options, &what) {
                            (runs, checkpoints) = (runs + 1, checkpoints + found);
                        }
                    }
                }
            }
        }
    }
    println!("{runs} runs, {checkpoints} checkpoints");
    assert!(runs > 100 && checkpoints > 500, "{runs} runs, {checkpoints} checkpoints");
}

#[test]
fn iterations_solvers_budgets_and_stiffness_go_on_to_the_bit() {
    let mut cases: Vec<(String, String, Options)> = Vec::new();
    let base =
        |method: MethodName, until: f64| Options { method, until, sample: Some(until / 9.7), ..Options::default() };
    for name in newton::NAMES {
        let iteration = Iteration::by_name(name);
        for formulation in [FormulationKind::Ggl, FormulationKind::Index1] {
            let options = Options { iteration, formulation: Some(formulation), ..base(MethodName::Bdf, 0.15) };
            cases.push((format!("iteration {name}"), FOUR_BAR.into(), options));
        }
    }
    for name in Solver::NAMES {
        let solver = Solver::by_name(name).unwrap_or_default();
        for (method, step) in [
            (MethodName::Bdf, None),
            (MethodName::Dopri5, None),
            (MethodName::Rk4, Some(1e-3)),
            (MethodName::GeneralizedAlpha, Some(1e-3)),
        ] {
            let options = Options { solver, step, ..base(method, 0.03) };
            cases.push((format!("solver {name} with {}", method.name()), windows(3, false), options));
        }
    }
    for method in [MethodName::Auto, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let options = base(method, 0.4).with(|o| o.testing.budget = ErrorBudget::Run);
        cases.push((format!("errors of the run with {}", method.name()), FOUR_BAR.into(), options));
    }
    cases.push(("stiff".into(), example("stiff-bushing"), base(MethodName::Auto, 0.05)));
    cases.push(("flexible".into(), example("flexible-crank"), base(MethodName::Bdf, 0.02)));
    let relative = Options { coordinates: Coordinates::Relative, ..base(MethodName::Bdf, 0.02) };
    cases.push(("flexible on its joints".into(), example("flexible-crank"), relative));
    cases.push(("driven".into(), example("windshield-wiper"), base(MethodName::Auto, 0.5)));
    cases.push(("excavator".into(), example("excavator"), base(MethodName::Auto, 1.0)));
    cases.push(("overconstrained".into(), example("bennett"), base(MethodName::Auto, 0.3)));
    cases.push(("rolling".into(), example("rolling-disk"), base(MethodName::Auto, 0.3)));
    for (formulation, preset) in [(FormulationKind::Index3, "index3"), (FormulationKind::Si2, "si2")] {
        let options =
            Options { formulation: Some(formulation), step: Some(1e-3), ..base(MethodName::GeneralizedAlpha, 0.03) };
        cases.push((format!("large, {preset}"), windows(40, false), options));
    }
    // rows that wait belong to the checkpoint
    for (what, text, until) in [
        ("four-bar", FOUR_BAR.to_string(), 2.0),
        ("ball", example("bouncing-ball"), 3.0),
        ("excavator", example("excavator"), 0.5),
        ("stick-slip", example("stick-slip"), 2.0),
    ] {
        for method in [MethodName::Auto, MethodName::Bdf] {
            let rtol = if method == MethodName::Bdf { 1e-9 } else { 1e-6 };
            let options = Options { sample: None, rtol, ..base(method, until) };
            cases.push((format!("{what} as the motion goes, {}", method.name()), text.clone(), options));
        }
    }
    let mut found = 0;
    for (what, text, options) in &cases {
        found += compare(text, options, what).unwrap_or(0);
    }
    println!("{} cases, {found} checkpoints", cases.len());
    assert!(found > 120, "{found}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let options = Options { method: MethodName::Bdf, until: 0.1, ..Options::default() };
    let mut keeper = Keeper { at: vec![5], ..Keeper::default() };
    let whole = Simulation::new(system(FOUR_BAR), options.clone()).unwrap().run(&mut keeper);
    assert_eq!(whole.status, Status::Finished);
    let (_, remembered) = keeper.kept.pop().unwrap();
    let resume = |text: &str, options: Options, bytes: &[u8]| {
        Simulation::new(system(text), options).unwrap().resume(bytes.to_vec())
    };
    assert!(resume(FOUR_BAR, options.clone(), &remembered).is_ok());
    assert!(resume(SPATIAL, options.clone(), &remembered).is_err());
    assert!(resume(FOUR_BAR, Options { method: MethodName::Dopri5, ..options.clone() }, &remembered).is_err());
    for length in (0..remembered.len()).step_by(37) {
        assert!(resume(FOUR_BAR, options.clone(), &remembered[..length]).is_err(), "{length}");
    }
}

/// The counts began anew with every resume, so that a run that is killed often would never be given up.
#[test]
fn a_run_that_will_not_end_is_given_up_at_the_same_step_after_a_resume() {
    let stiff = "model = { plane = \"xy\" }\nbody.mass = { mass = 1e-9, inertia = 1, at = [0.001, 0] }\n\
        force.wrong = { type = \"spring-damper\", between = [\"ground\", \"mass\"], at = [[-1, 0], [0.001, 0]], stiffness = 1e16, length = 1 }\n";
    let endless = Options { method: MethodName::Dopri5, until: 1e3, ..Options::default() };
    for options in [endless.clone(), endless.with(|o| o.resources.max_steps = Some(9000))] {
        let made = || Simulation::new(system(stiff), options.clone()).unwrap();
        let mut keeper = Keeper { at: vec![100, 5000, 8500], ..Keeper::default() };
        let whole = made().run(&mut keeper);
        assert!(matches!(whole.status, Status::Failed(_)) && whole.statistics.steps >= 9000, "{:?}", whole.status);
        assert_eq!(keeper.kept.len(), 3);
        for (_, remembered) in keeper.kept {
            let mut resumed = made();
            resumed.resume(remembered).unwrap();
            let summary = resumed.run(&mut Memory::default());
            assert_eq!(told(&summary), told(&whole));
        }
    }
    // and what was spent on the clock counts
    let hasty = Options::default().with(|o| (o.until, o.resources.max_seconds) = (1e6, Some(0.3)));
    let mut keeper = Keeper { at: (1..400).map(|k| 1000 * k).collect(), ..Keeper::default() };
    let first = Simulation::new(system(FOUR_BAR), hasty.clone()).unwrap().run(&mut keeper);
    assert!(matches!(first.status, Status::Failed(_)), "{:?}", first.status);
    let (_, remembered) = keeper.kept.pop().unwrap();
    let mut resumed = Simulation::new(system(FOUR_BAR), hasty).unwrap();
    resumed.resume(remembered).unwrap();
    let rest = resumed.run(&mut Memory::default());
    assert!(matches!(rest.status, Status::Failed(_)) && rest.wall_seconds < 0.25, "{:?}", rest.wall_seconds);
}
