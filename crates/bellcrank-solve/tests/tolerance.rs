//! What a tolerance means: the error at the end, for machines of any size and in any place.

mod common;
#[path = "common/undamped.rs"]
mod undamped;

use bellcrank_model::read::read_model;
use bellcrank_model::{State, System};
use bellcrank_solve::choices::{Coordinates, ErrorBudget, MethodName, Options};
use bellcrank_solve::plan::Revision;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::*;
use std::sync::Arc;

/// A method by its name, with a tolerance for every step.
fn controlled(method: &str, rtol: f64, until: f64) -> Options {
    Options { rtol, until, ..Options::named(method).unwrap() }.with(|o| o.testing.budget = ErrorBudget::Step)
}

#[test]
fn machines_of_a_micrometre_and_of_a_thousand_kilometres_take_the_same_steps() {
    for method in ["auto", "dopri5", "dop853", "gen-alpha", "bdf"] {
        let steps = |size: f64| {
            let summary = run(&system(&undamped::rods(size, 0.0, 0.0)), controlled(method, 1e-6, 5.0));
            (summary.statistics.steps, last(&summary, "lower.angle"))
        };
        let (usual, angle) = steps(1.0);
        for size in [1e-6, 1e-3, 1e3, 1e6] {
            let (n, a) = steps(size);
            assert!(n.abs_diff(usual) * 50 <= usual, "{method}, {size:e} m: {n} steps for {usual}");
            assert!((a - angle).abs() < 1e-6, "{method}, {size:e} m: {:e} rad apart", a - angle);
        }
    }
}

#[test]
fn a_machine_far_from_the_origin_takes_the_same_steps() {
    for method in ["dopri5", "dop853", "bdf", "gen-alpha"] {
        for rtol in [1e-4, 1e-6] {
            let steps = |x: f64| {
                let summary = run(&system(&undamped::rods(1.0, x, -x)), controlled(method, rtol, 5.0));
                (summary.statistics.steps, last(&summary, "lower.angle"))
            };
            let ((near, angle), (far, b)) = (steps(0.0), steps(1e5));
            assert!(near.abs_diff(far) * 10 <= near, "{method} at {rtol:e}: {far} steps for {near}");
            assert!((angle - b).abs() < rtol, "{method} at {rtol:e}: {:e} rad apart", angle - b);
        }
    }
}

#[test]
fn far_from_the_origin_index_3_says_that_rounding_exceeds_the_tolerance() {
    for (x, told) in [(0.0, false), (5e5, true)] {
        let summary = run(&system(&undamped::rods(1.0, x, 0.0)), controlled("hht-i3", 1e-6, 0.2));
        let doubted = summary.doubts.iter().any(|d| d.kind == "accuracy" && d.message.contains("origin"));
        assert_eq!(doubted, told, "{x}: {:?}", summary.doubts);
    }
    let far = run(&system(&undamped::rods(1.0, 5e5, 0.0)), controlled("bdf", 1e-6, 0.2));
    assert!(far.doubts.is_empty(), "{:?}", far.doubts);
}

fn state_after(system: &Arc<System>, options: Options) -> (Summary, State) {
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    let summary = simulation.run(&mut Silent);
    assert_eq!(summary.status, Status::Finished);
    (summary, simulation.state().clone())
}

/// The largest error over the last tenth of a run, which a bob at rest at its end does not hide, and the one that was told.
#[test]
fn the_error_at_the_end_is_about_the_tolerance_and_is_told() {
    let names = ["small-swing", "double-pendulum", "chain", "oscillator", "slider-crank", "top", "elastic-pendulum"];
    for m in undamped::machines().into_iter().filter(|m| names.contains(&m.name)) {
        let s = system(&m.text);
        let exact = |until: f64| {
            let tight = Options { method: MethodName::Dop853, rtol: 1e-13, until, ..Options::default() };
            state_after(&s, tight).1
        };
        let reference = exact(m.until);
        for (method, rtol) in [("dopri5", 1e-4), ("dopri5", 1e-6), ("dop853", 1e-8), ("bdf", 1e-6), ("gen-alpha", 1e-4)]
        {
            let options = controlled(method, rtol, m.until).with(|o| o.testing.budget = ErrorBudget::Run);
            let (summary, state) = state_after(&s, options);
            let error = undamped::distance(&s, &reference, &state) / rtol;
            let told = summary.error.unwrap() / rtol;
            // at the end a machine may pass through a position where errors do not show
            assert!(error < 12.0 && (error > 0.1 || told > 0.1), "{} with {method} at {rtol:e}: {error:.2}", m.name);
            assert!(told < 10.0 && told > 0.1 * error, "{} with {method} at {rtol:e}: {told:.2} told", m.name);
        }
    }
}

#[test]
fn a_tolerance_per_step_tells_no_error() {
    let options = controlled("bdf", 1e-5, 1.0).with(|o| o.testing.budget = ErrorBudget::Step);
    assert_eq!(run(&system(FOUR_BAR), options).error, None);
    assert_eq!(
        run(&system(FOUR_BAR), controlled("cs", 1e-5, 1.0)).error,
        None,
        "presets are as their papers have them"
    );
    let fixed = Options { step: Some(1e-3), ..Options::default() };
    assert_eq!(run(&system(FOUR_BAR), fixed).error, None);
}

#[test]
fn where_nothing_damps_the_tolerance_is_that_of_the_run_and_elsewhere_that_of_every_step() {
    let auto = |until| Options { until, ..Options::default() }.with(|o| o.testing.budget = ErrorBudget::Auto);
    let conservative = run(&system(&undamped::rods(1.0, 0.0, 0.0)), auto(5.0));
    assert!(conservative.error.is_some_and(|e| e < 1e-5), "{:?}", conservative.error);
    assert!(conservative.beside.residual_evaluations > 0);
    for text in [FOUR_BAR, SPATIAL] {
        let damped = run(&system(text), auto(1.0));
        assert_eq!((damped.error, damped.beside.residual_evaluations), (None, 0));
    }
}

#[test]
fn an_estimate_costs_less_than_half_of_a_companion_to_the_end() {
    // which took 0.35 to 0.5 of the evaluations of the run at these tolerances with dopri5 and bdf, 0.6 to 0.9 with dop853
    let machines = undamped::machines();
    let named =
        |name: &&undamped::Undamped| ["small-swing", "double-pendulum", "oscillator", "rods"].contains(&name.name);
    for m in machines.iter().filter(named) {
        for (method, rtol, most) in [("dopri5", 1e-6, 0.22), ("bdf", 1e-6, 0.26), ("dop853", 1e-8, 0.42)] {
            let options = controlled(method, rtol, m.until).with(|o| o.testing.budget = ErrorBudget::Run);
            let summary = run(&system(&m.text), options);
            let (all, beside) = (summary.statistics.residual_evaluations, summary.beside.residual_evaluations);
            let part = beside as f64 / (all - beside) as f64;
            assert!(part > 0.0 && part < most, "{} with {method}: {part:.2}", m.name);
        }
    }
}

fn became_stiff(summary: &Summary) -> bool {
    summary.plan.revisions.iter().any(|r| matches!(r, Revision::Stiff { .. }))
}

#[test]
fn a_flyball_governor_goes_over_to_bdf() {
    for damping in [1e3, 4e4] {
        let s = system(&governor(damping));
        let summary = run(&s, Options { until: 1.0, ..Options::default() });
        assert!(became_stiff(&summary), "damping {damping}: {} steps", summary.statistics.steps);
        assert!(summary.statistics.steps < 1500, "damping {damping}: {} steps", summary.statistics.steps);
    }
}

#[test]
fn an_oscillation_that_hardly_dies_out_is_not_called_stiff() {
    // rods and strips that bend: auto went over to bdf, which then took two and three times as many steps
    let bend = [("flexible-crank", 1500), ("modal-strip", 300)];
    for (name, s, until) in examples() {
        let Some((_, most)) = bend.iter().find(|(n, _)| *n == name) else { continue };
        let summary = run(&s, Options { until, ..Options::default() });
        assert!(!became_stiff(&summary), "{name}: {:?}", summary.choices);
        assert!(summary.statistics.steps < *most, "{name}: {} steps", summary.statistics.steps);
    }
}

#[test]
fn a_stiff_bushing_goes_over_to_bdf() {
    // a watch that asked for smoother motion once missed it
    let stiff = [("stiff-bushing", 1000), ("suspension", 2000)];
    for (name, s, until) in examples() {
        let Some((_, most)) = stiff.iter().find(|(n, _)| *n == name) else { continue };
        let summary = run(&s, Options { until, ..Options::default() });
        assert!(became_stiff(&summary), "{name}: {:?}", summary.choices);
        assert!(summary.statistics.steps < *most, "{name}: {} steps", summary.statistics.steps);
    }
}

#[test]
fn a_stiff_bushing_takes_as_many_steps_in_joint_coordinates() {
    let (_, s, _) = examples().into_iter().find(|(name, ..)| name == "stiff-bushing").expect("the example is there");
    for name in ["bdf", "auto", "dopri5"] {
        let options = if name == "auto" { Options::default() } else { Options::named(name).unwrap() };
        let steps = [Coordinates::Cartesian, Coordinates::Relative].map(|coordinates| {
            let summary = run(&s, Options { until: 0.3, coordinates, ..options.clone() });
            (summary.statistics.steps, summary.statistics.convergence_failures)
        });
        assert!(steps[1].0 < steps[0].0 * 3 / 2, "{name}: {steps:?}");
    }
}

#[test]
fn a_fast_spring_that_never_swings_is_passed_over() {
    // nothing damps it, but nothing moves it either
    let s = system(
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.a = { mass = 1, inertia = 1, at = [1, 0] }
body.b = { mass = 1, at = [0.8, 2] }
joint.g = { type = "prismatic", between = ["ground", "a"], at = [0, 0], axis = [1, 0] }
joint.rod = { type = "distance", between = ["ground", "b"], at = [[0, 2], [0.8, 2]] }
force.k = { type = "spring-damper", between = ["ground", "a"], at = [[0, 0], [1, 0]], stiffness = 1e9, damping = 0, length = 1 }
"#,
    );
    let summary = run(&s, Options { until: 10.0, ..Options::default() });
    assert!(summary.statistics.steps < 5000, "{} steps", summary.statistics.steps);
}

#[test]
fn a_run_goes_over_to_bdf_only_where_check_foretells_it() {
    // a car that is dropped is not stiff before its wheels are on the road
    for (name, s, until) in examples().into_iter().filter(|(name, ..)| name != "car") {
        let options = Options { until, ..Options::default() };
        let (summary, foretold) = (run(&s, options.clone()), bellcrank_solve::check::check(&s, &options).method);
        if became_stiff(&summary) {
            assert!(foretold.contains("bdf"), "{name}: {foretold}");
        } else {
            assert!(!foretold.starts_with("bdf"), "{name}: {foretold}");
        }
    }
}

/// The examples of the folder but for those of hundreds of bodies, with their times.
fn examples() -> Vec<(String, Arc<System>, f64)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let mut files: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let read = read_model(&file.to_string_lossy(), &[]).unwrap_or_else(|e| panic!("{e}"));
        let until = read.settings.number("until").unwrap_or(1.0);
        (file.file_stem().unwrap().to_string_lossy().to_string(), Arc::new(read.model.compile()), until)
    };
    let small = |(_, system, _): &(String, Arc<System>, f64)| system.model.bodies.len() < 40;
    files.iter().map(read).filter(small).collect()
}

#[test]
fn newmark_with_error_control_runs_every_example() {
    for (name, s, until) in examples() {
        for rtol in [1e-2, 1e-3] {
            let mut simulation = Simulation::new(s.clone(), controlled("newmark", rtol, until)).unwrap();
            let summary = simulation.run(&mut Silent);
            assert_eq!(summary.status, Status::Finished, "{name} at {rtol:e}");
        }
    }
}

#[test]
fn nstiff_si2_refuses_few_steps_and_keeps_velocities_on_the_constraints() {
    for (name, s, until) in examples() {
        let rtol = 1e-4;
        let summary = run(&s, controlled("nstiff-si2", rtol, until));
        let n = summary.statistics;
        let refused = n.error_test_failures + n.convergence_failures;
        assert!(refused * 20 <= n.steps + 40, "{name}: {refused} of {} refused", n.steps);
        assert!(summary.drift.velocity < 1e-9, "{name}: {:e} m/s", summary.drift.velocity);
    }
}
