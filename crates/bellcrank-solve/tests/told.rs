//! The estimate of a run's error: against errors that are known, and what it must not change.

mod common;
#[path = "common/undamped.rs"]
mod undamped;

use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_model;
use bellcrank_model::{State, System};
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::*;
use std::sync::Arc;

fn with(method: &str, rtol: f64, until: f64) -> Options {
    Options { rtol, until, ..Options::named(method).unwrap() }
}

/// A run that is told its error, with its state at the end.
fn told(system: &Arc<System>, options: Options) -> (Summary, State) {
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    simulation.tell_error();
    let summary = simulation.run(&mut Silent);
    assert_eq!(summary.status, Status::Finished);
    (summary, simulation.state().clone())
}

/// The largest difference of a run from one at 1e-12, at some times.
fn error_of(system: &Arc<System>, options: &Options) -> f64 {
    let mut run = Simulation::new(system.clone(), options.clone()).unwrap();
    let tight = Options { method: MethodName::Dop853, rtol: 1e-12, until: options.until, ..Options::default() };
    let mut exact = Simulation::new(system.clone(), tight).unwrap();
    let mut error = 0.0f64;
    while let Some(step) = run.step().unwrap() {
        exact.advance_to(step.t).unwrap();
        error = error.max(undamped::distance(system, exact.state(), run.state()));
    }
    error
}

/// The complete elliptic integral of the first kind, K(k), by the arithmetic-geometric mean.
fn elliptic(k: f64) -> f64 {
    let (mut a, mut b) = (1.0, (1.0 - k * k).sqrt());
    for _ in 0..40 {
        (a, b) = ((a + b) / 2.0, (a * b).sqrt());
    }
    std::f64::consts::FRAC_PI_2 / a
}

#[test]
fn the_estimate_of_a_pendulum_is_near_what_the_elliptic_integral_tells() {
    // let go from the horizontal: it is there again after ten periods, and passes the vertical a quarter later
    let s = system(
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.bob = { mass = 1.5, at = [0.8, 0] }
joint.rod = { type = "distance", between = ["ground", "bob"], at = [[0, 0], [0.8, 0]] }
"#,
    );
    let period = 4.0 * elliptic(0.5f64.sqrt()) * (0.8f64 / 9.81).sqrt();
    for (method, rtols) in
        [("auto", &[1e-4, 1e-6, 1e-8][..]), ("dopri5", &[1e-4, 1e-6, 1e-8]), ("bdf", &[1e-4, 1e-6, 1e-8])]
    {
        for rtol in rtols {
            let [(_, level), (summary, state)] =
                [10.0, 10.25].map(|periods| told(&s, with(method, *rtol, periods * period)));
            let (error, estimate) = (state.q[0].abs().max(level.q[1].abs()) / s.length(), summary.error.unwrap());
            let ratio = estimate / error;
            assert!((0.1..10.0).contains(&ratio), "{method} at {rtol:e}: {estimate:e} told, {error:e} measured");
            let (taken, beside) = (summary.statistics.residual_evaluations, summary.beside.residual_evaluations);
            assert!(beside > 0 && beside * 8 < taken, "{method} at {rtol:e}: {beside} beside {taken}");
        }
    }
}

#[test]
fn the_estimate_of_a_slider_crank_is_near_its_error() {
    let machines = undamped::machines();
    let crank = machines.iter().find(|m| m.name == "slider-crank").unwrap();
    let s = system(&crank.text);
    for (method, rtol) in [("auto", 1e-4), ("auto", 1e-6), ("auto", 1e-8), ("bdf", 1e-6), ("gen-alpha", 1e-4)] {
        let options = with(method, rtol, crank.until);
        let (error, estimate) = (error_of(&s, &options), told(&s, options).0.error.unwrap());
        assert!(
            (0.1..10.0).contains(&(estimate / error)),
            "{method} at {rtol:e}: {estimate:e} told, {error:e} measured"
        );
    }
}

#[test]
fn errors_that_die_out_are_not_foreseen_to_grow() {
    let s = system(
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.bob = { mass = 1, inertia = 0.1, at = [0.8, 0] }
joint.pin = { type = "revolute", between = ["ground", "bob"], at = [0, 0] }
force.oil = { type = "torsional-spring-damper", between = ["ground", "bob"], damping = 3 }
"#,
    );
    for (method, rtol) in [("auto", 1e-4), ("auto", 1e-6), ("bdf", 1e-6), ("gen-alpha", 1e-6)] {
        let options = with(method, rtol, 20.0);
        let (error, estimate) = (error_of(&s, &options), told(&s, options).0.error.unwrap());
        assert!(
            (0.1..10.0).contains(&(estimate / error)),
            "{method} at {rtol:e}: {estimate:e} told, {error:e} measured"
        );
    }
}

#[test]
fn a_chaotic_machine_has_no_estimate_and_says_why() {
    // gravity upwards: two rods that stand upright, almost
    let upright = system(&undamped::rods(1.0, 0.0, 0.0).replace("-9.81", "9.81"));
    let (summary, _) = told(&upright, with("auto", 1e-6, 200.0));
    assert_eq!(summary.error, None);
    assert!(summary.no_estimate.as_deref().is_some_and(|why| why.contains("another way")), "{:?}", summary.no_estimate);
}

#[test]
fn errors_that_add_up_to_many_tolerances_are_doubted() {
    let machines = undamped::machines();
    let pendulum = machines.iter().find(|m| m.name == "pendulum").unwrap();
    let (summary, _) = told(&system(&pendulum.text), with("bdf", 1e-6, pendulum.until));
    assert!(summary.error.is_some_and(|e| e > 1e-5), "{:?}", summary.error);
    let doubt = summary.doubts.iter().find(|d| d.kind == "accuracy").expect("a doubt");
    assert!(doubt.message.contains("added up to about"), "{doubt}");
    let (summary, _) = told(&system(FOUR_BAR), with("auto", 1e-6, 1.0));
    assert!(summary.doubts.iter().all(|d| d.kind != "accuracy"), "{:?}", summary.doubts);
}

#[test]
fn a_rod_that_falls_from_its_tip_has_no_estimate_and_says_why() {
    // what it does in the first part of the run is next to nothing, but errors made there grow with the fall
    let s = system(
        r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.rod.rod = { from = [0, 0], to = [1e-7, 1], mass = 1 }
joint.pin = { type = "revolute", between = ["ground", "rod"], at = [0, 0] }
"#,
    );
    let (summary, _) = told(&s, with("auto", 1e-6, 8.0));
    assert_eq!(summary.error, None);
    assert!(summary.no_estimate.as_deref().is_some_and(|why| why.contains("faster")), "{:?}", summary.no_estimate);
}

#[test]
fn nothing_is_told_where_nobody_asked_or_nothing_controls_the_error() {
    let s = system(FOUR_BAR);
    let unasked = run(&s, with("auto", 1e-6, 0.2));
    assert_eq!((unasked.error, unasked.no_estimate, unasked.beside.residual_evaluations), (None, None, 0));
    let fixed = Options { step: Some(1e-3), until: 0.2, ..Options::default() };
    let without = with("auto", 1e-6, 0.2).with(|o| o.testing.budget = ErrorBudget::Step);
    for options in [fixed, without] {
        let (summary, _) = told(&s, options);
        assert_eq!((summary.error, summary.no_estimate, summary.beside.residual_evaluations), (None, None, 0));
    }
    // presets take the steps of their papers, and are told
    assert!(told(&s, with("cs", 1e-5, 0.2)).0.error.is_some());
}

#[test]
fn an_estimate_changes_neither_steps_nor_results() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut estimates = 0;
    for file in files {
        let read = read_model(&file.to_string_lossy(), &[]).unwrap_or_else(|e| panic!("{e}"));
        if read.model.bodies.len() >= 40 {
            continue;
        }
        let until = read.settings.number("until").unwrap_or(1.0).min(1.0);
        let s = Arc::new(read.model.compile());
        for method in ["auto", "bdf"] {
            let options = with(method, 1e-5, until);
            let plain = run(&s, options.clone());
            let (asked, _) = told(&s, options);
            let all = |s: &Summary| {
                format!("{:?} {:?} {:?} {:?} {:?}", s.state, s.statistics, s.energy, s.events, s.plan.revisions)
            };
            assert_eq!(all(&plain), all(&asked), "{} with {method}", file.display());
            estimates += usize::from(asked.error.is_some());
        }
    }
    assert!(estimates > 45, "{estimates} estimates");
}
