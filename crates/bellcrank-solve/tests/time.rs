//! Loads, drives and inputs that change at certain times: nothing is stepped over, and jumps are resolved or refused.

mod common;

use bellcrank_model::System;
use bellcrank_solve::choices::{FormulationKind, MethodName, Options};
use bellcrank_solve::engines::StepError;
use bellcrank_solve::record::{Memory, OnStep, Silent};
use bellcrank_solve::run::{Machine, Simulation, Status, Summary};
use bellcrank_solve::verify::{ThinnedFrames, verify_with};
use common::*;
use std::sync::Arc;

/// A cart of 1 kg on a track, pushed by a force along it.
fn cart(force: &str) -> Arc<System> {
    system(&format!(
        r#"
        model = {{ plane = "xy" }}
        body.cart = {{ mass = 1, inertia = 1, at = [0, 0] }}
        joint.track = {{ type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }}
        force.push = {{ type = "force", body = "cart", force = ["{force}", 0] }}
        "#
    ))
}

/// The same cart, driven.
fn driven(key: &str, course: &str) -> Arc<System> {
    system(&format!(
        r#"
        model = {{ plane = "xy" }}
        body.cart = {{ mass = 2, inertia = 1, at = [0, 0] }}
        body.bob = {{ mass = 1, at = [0, -1] }}
        joint.track = {{ type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }}
        joint.drive = {{ type = "drive", joint = "track", {key} = "{course}" }}
        joint.rod = {{ type = "distance", between = ["cart", "bob"], at = [[0, 0], [0, -1]] }}
        "#
    ))
}

/// Every way to run a cart: methods with error control, and fixed steps that do not meet the breakpoints.
fn ways(until: f64) -> Vec<Options> {
    let controlled = [MethodName::Auto, MethodName::Bdf, MethodName::Dopri5, MethodName::Dop853];
    let alpha = [MethodName::GeneralizedAlpha, MethodName::Hht, MethodName::Newmark];
    let fixed = [MethodName::Bdf, MethodName::GeneralizedAlpha, MethodName::Rk4, MethodName::Dopri5];
    let mut all: Vec<Options> =
        controlled.iter().map(|m| Options { method: *m, until, ..Options::default() }).collect();
    all.extend(alpha.iter().map(|m| {
        let formulation = Some(FormulationKind::Ggl);
        Options { method: *m, formulation, rtol: 1e-4, until, ..Options::default() }
    }));
    all.extend(fixed.iter().map(|m| Options { method: *m, step: Some(0.037), until, ..Options::default() }));
    all
}

fn name(o: &Options) -> String {
    format!("{} with {:?}", o.method.name(), o.step)
}

#[test]
fn a_newton_for_a_second_leaves_a_metre_per_second() {
    for force in [
        "if(t < 1, 1, 0)",
        "(t >= 3)*(t < 4)",
        "if(abs(t - 7.5) < 0.5, 1, 0)",
        "max(0, min(1, 1e9*(t - 2)), 0)*(t < 3)",
    ] {
        let s = cart(force);
        for o in ways(10.0) {
            let v = last(&run(&s, o.clone()), "cart.vx");
            assert!((v - 1.0).abs() < 1e-6, "{force}, {}: {v}", name(&o));
        }
    }
}

#[test]
fn where_the_force_stops_is_exact_and_nothing_happens_besides() {
    let summary = run(&cart("if(t < 1, 1, 0)"), Options { until: 10.0, ..Options::default() });
    assert!((last(&summary, "cart.vx") - 1.0).abs() < 1e-14, "{}", last(&summary, "cart.vx"));
    assert!((last(&summary, "cart.x") - 9.5).abs() < 1e-13);
    assert!(summary.events.is_empty() && summary.statistics.steps < 60, "{:?}", summary.statistics);
    assert!(summary.energy.largest_error < 1e-13);
}

#[test]
fn a_run_that_ends_on_a_breakpoint_ends_there() {
    for force in ["step(t, 0, 0, 1, 2)", "if(t < 1, 1, 0)", "max(0, t - 1)"] {
        for o in ways(1.0) {
            let summary = run(&cart(force), o.clone());
            assert_eq!(summary.t, 1.0, "{force}, {}", name(&o));
        }
    }
}

#[test]
fn samples_on_a_breakpoint_see_what_is_behind_it() {
    let mut memory = Memory::default();
    let options = Options { until: 2.0, sample: Some(0.5), ..Options::default() };
    Simulation::new(cart("if(t < 1, 1, 3)"), options).unwrap().run(&mut memory);
    assert_eq!(memory.times, [0.0, 0.5, 1.0, 1.5, 2.0]);
    let column = memory.header.channels.iter().position(|c| c.name == "cart.ax");
    if let Some(a) = column {
        assert_eq!((0..5).map(|i| memory.row(i)[a].round()).collect::<Vec<_>>(), [1.0, 1.0, 3.0, 3.0, 3.0]);
    }
    let v = memory.header.channels.iter().position(|c| c.name == "cart.vx").unwrap();
    assert!((memory.row(4)[v] - 4.0).abs() < 1e-12 && (memory.row(2)[v] - 1.0).abs() < 1e-12);
}

/// A pendulum at rest, or swinging, with a torque at its hinge.
fn pendulum(torque: &str, rate: f64) -> Arc<System> {
    system(&format!(
        r#"
        model = {{ plane = "xy", gravity = [0, -9.81] }}
        body.rod = {{ rod = {{ from = [0, 0], to = [0, -1], mass = 3 }} }}
        joint.pin = {{ type = "revolute", between = ["ground", "rod"], at = [0, 0] }}
        force.hit = {{ type = "torque", body = "rod", torque = "{torque}" }}
        start.pin = {{ rate = {rate} }}
        "#
    ))
}

#[test]
fn a_pendulum_at_rest_feels_a_hammer_of_twenty_milliseconds() {
    let s = pendulum("if(abs(t - 5.013) < 0.01, 50, 0)", 0.0);
    let truth = last(&run(&s, Options { rtol: 1e-11, until: 6.0, ..Options::default() }), "pin.rate");
    // 1 N m s on 1 kg m²: it swings through about 1 rad/s
    assert!(truth.abs() > 0.1, "{truth}");
    for o in ways(6.0) {
        let found = last(&run(&s, o.clone()), "pin.rate");
        let tolerance = if o.step.is_some() {
            0.1
        } else if o.rtol > 1e-5 {
            1e-2
        } else {
            1e-4
        };
        assert!((found - truth).abs() < tolerance, "{}: {found} for {truth}", name(&o));
    }
}

#[test]
fn no_pulse_of_a_swinging_pendulum_is_missed() {
    // 21 pulses of 4 ms, at times without a pattern
    let pulses: Vec<String> =
        (0..21).map(|k| 0.31 + 0.4567 * k as f64).map(|t| format!("(abs(t - {t}) < 0.002)")).collect();
    let s = pendulum(&format!("100*({})", pulses.join(" + ")), 1.0);
    let end = |o: Options| run(&s, o);
    let truth = last(&end(Options { rtol: 1e-11, until: 10.0, ..Options::default() }), "pin.rate");
    for method in [MethodName::Auto, MethodName::Bdf, MethodName::Dop853] {
        let summary = end(Options { method, until: 10.0, ..Options::default() });
        let found = last(&summary, "pin.rate");
        println!("{}: {found} for {truth}, {} steps", method.name(), summary.statistics.steps);
        assert!((found - truth).abs() < 2e-4, "{}: {found} for {truth}", method.name());
    }
}

#[test]
fn a_square_wave_goes_on_for_a_hundred_seconds() {
    // 1 N for the first half of every second, −1 N for the second: v is a triangle, x = 0.25 t at whole seconds
    let s = cart("if(t - floor(t) < 0.5, 1, -1)");
    for method in [MethodName::Auto, MethodName::Bdf] {
        let summary = run(&s, Options { method, until: 100.0, ..Options::default() });
        let (x, v) = (last(&summary, "cart.x"), last(&summary, "cart.vx"));
        assert!(v.abs() < 1e-10 && (x - 25.0).abs() < 1e-8, "{}: {x} {v}", method.name());
    }
    // sin(2πt) > 0 is the same, found by bounds of the sine
    let (x, v) = {
        let summary = run(&cart("if(sin(2*pi*t) > 0, 1, -1)"), Options { until: 100.0, ..Options::default() });
        (last(&summary, "cart.x"), last(&summary, "cart.vx"))
    };
    assert!(v.abs() < 1e-10 && (x - 25.0).abs() < 1e-8, "{x} {v}");
}

#[test]
fn a_table_is_not_stepped_over_either() {
    let folder = std::env::temp_dir().join(format!("bellcrank-time-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("pulse.csv"), "t,f\n0,0\n4.99,0\n5,100\n5.01,0\n10,0\n").unwrap();
    let text = r#"
        model = { plane = "xy" }
        body.cart = { mass = 1, inertia = 1, at = [0, 0] }
        joint.track = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
        force.push = { type = "force", body = "cart", force = [{ table = "pulse.csv", interpolation = "monotone" }, 0] }
        "#;
    std::fs::write(folder.join("model.toml"), text).unwrap();
    let read = bellcrank_model::read::read_model(folder.join("model.toml").to_str().unwrap(), &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let s = Arc::new(read.model.compile());
    // the monotone cubic through the three points has the area of the triangle
    for o in ways(10.0) {
        let v = last(&run(&s, o.clone()), "cart.vx");
        let tolerance = match o.step {
            Some(_) => 0.3,
            None => (100.0 * o.rtol).max(1e-4),
        };
        assert!((v - 1.0).abs() < tolerance, "{}: {v}", name(&o));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// An expression that also depends on the state bends at its times as one of time alone does.
#[test]
fn pulses_in_expressions_of_the_state_are_not_missed() {
    let width = 0.9999f64.acos() / std::f64::consts::PI;
    for (force, impulse) in [
        ("if((t - 5)^2 < 2.5e-7, 1000, 0) + 0*track.position", 1.0),
        ("if(sin(2*pi*t) > 0.9999, 100, 0) + 0*cart.vx", 10.0 * 100.0 * width),
        ("floor(t/9)*(1 + 0*track.rate)", 1.0),
    ] {
        let s = cart(force);
        for o in ways(10.0) {
            let v = last(&run(&s, o.clone()), "cart.vx");
            assert!((v - impulse).abs() < 1e-6, "{force}, {}: {v}", name(&o));
        }
    }
}

/// A force that acts on a short part of a path, which a long step would pass over; it may lie beside an end of the step.
#[test]
fn a_force_on_a_short_part_of_the_path_is_felt() {
    for place in [10.3, 100.3, 150.0, 333.3, 490.0] {
        let s = system(&format!(
            r#"
            model = {{ plane = "xy" }}
            body.ball = {{ mass = 1, inertia = 1, at = [0, 0], velocity = [50, 0] }}
            force.blow = {{ type = "force", body = "ball", force = [0, "if((ball.x - {place})^2 < 0.25, 1000, 0)"] }}
            "#
        ));
        for o in ways(10.0) {
            let v = last(&run(&s, o.clone()), "ball.vy");
            assert!((v - 20.0).abs() < 1e-6, "{place}, {}: {v}", name(&o));
        }
    }
}

/// A table in an expression: a pulse between distant points is one, and none is stepped over.
#[test]
fn two_bodies_that_fly_past_each_other_close_by_feel_it() {
    // a hyperbola about the sun: tan δ/2 = μ/(b v²), and the energy is what it was
    let (mu, b, v) = (1e-3, 1e-4, 10.0f64);
    let text = format!(
        "model = {{ plane = \"xy\" }}\nbody.a = {{ mass = 1, inertia = 1, at = [-201.23, {b}], velocity = [{v}, 0] }}\n\
         force.p = {{ type = \"attraction\", between = [\"ground\", \"a\"], at = [[0, 0], [-201.23, {b}]], masses = [{mu}, 1], \
         constant = 1 }}\n"
    );
    let turn = 2.0 * (mu / (b * v * v)).atan();
    for method in [MethodName::Dopri5, MethodName::Dop853, MethodName::Bdf] {
        let summary = run(&system(&text), Options { method, until: 40.0, ..Options::default() });
        let found = (-last(&summary, "a.vy")).atan2(last(&summary, "a.vx"));
        assert!((found - turn).abs() < 1e-3, "{method:?}: {found} {turn}");
    }
    // straight into it there is no way on
    let text = text.replace(&format!("-201.23, {b}"), "-201.23, 0.0");
    let mut simulation = Simulation::new(system(&text), Options { until: 40.0, ..Options::default() }).unwrap();
    let Status::Failed(e) = simulation.run(&mut Silent).status else { panic!("it passes through") };
    assert!(e.to_string().contains("`p`"), "{e}");
}

#[test]
fn a_pulse_of_a_table_in_an_expression_is_felt() {
    let with = |x: &str, values: &str| {
        system(&format!(
            r#"
            model = {{ plane = "xy" }}
            table.pulse = {{ x = [{x}], values = [{values}] }}
            body.cart = {{ mass = 1, inertia = 1, at = [0, 0] }}
            joint.track = {{ type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }}
            force.push = {{ type = "force", body = "cart", force = ["pulse(t)", 0] }}
            "#
        ))
    };
    // smooth cubics between level points: the area of a triangle
    for (s, impulse) in
        [(with("0, 4.9, 5, 5.1, 10", "0, 0, 1, 0, 0"), 0.1), (with("0, 4.999, 5, 5.001, 10", "0, 0, 1000, 0, 0"), 1.0)]
    {
        for o in ways(10.0).into_iter().filter(|o| o.step.is_none()) {
            let summary = run(&s, o.clone());
            let v = last(&summary, "cart.vx");
            // newmark is of first order: what it misses of two steps through the pulse, it tells
            let is_told = o.method == MethodName::Newmark && !summary.doubts.is_empty();
            assert!(is_told || (v - impulse).abs() < 100.0 * o.rtol * impulse, "{impulse}, {}: {v}", name(&o));
        }
    }
}

#[test]
fn a_drive_whose_rate_jumps_takes_the_cart_along_with_an_impulse() {
    for (key, course) in [("position", "max(0, t - 1)"), ("rate", "if(t < 1, 0, 1)")] {
        let s = driven(key, course);
        for o in ways(2.0) {
            let summary = run(&s, o.clone());
            let x = last(&summary, "cart.x");
            // a position is closed, a rate is integrated
            let tolerance = match (key, o.step) {
                ("position", _) => 1e-9,
                (_, None) => 1e-6,
                (_, Some(_)) => 1e-4,
            };
            assert!((x - 1.0).abs() < tolerance, "{key}, {}: {x}", name(&o));
            // the rod is perpendicular to the track: 2 kg jump by 1 m/s, the bob stays
            let [event] = &summary.events[..] else { panic!("{:?}", summary.events) };
            assert!((event.t - 1.0).abs() < 1e-12 && event.name.contains("drive"), "{event}");
            assert!(event.what.contains("impulse 2.000000 N s"), "{event}");
            if o.step.is_none() && o.rtol < 1e-5 {
                assert!(summary.energy.largest_error < 1e-5, "{}: {:?}", name(&o), summary.energy);
            }
        }
    }
}

#[test]
fn a_drive_with_a_corner_that_a_root_makes_jolts() {
    // the rate of √(t − 1)² jumps by 2 at t = 1, and the bob's velocity by as much the other way
    for course in ["sqrt((t-1)^2) - 1", "hypot(t - 1, 0) - 1", "acos(cos(pi*t))/pi*(t < 0) + sqrt((t-1)*(t-1)) - 1"] {
        for method in [MethodName::Dopri5, MethodName::Bdf, MethodName::GeneralizedAlpha] {
            let summary = run(&driven("position", course), Options { method, until: 1.001, ..Options::default() });
            assert!(
                summary.events.iter().any(|e| e.what.contains("jumps by 2.0000")),
                "{course} {method:?}: {:?}",
                summary.events
            );
        }
    }
    let wave = run(&driven("position", "acos(cos(pi*t))/pi"), Options { until: 2.5, ..Options::default() });
    assert_eq!(wave.events.iter().filter(|e| e.what.contains("jumps")).count(), 2, "{:?}", wave.events);
    assert!((last(&wave, "cart.x") - 0.5).abs() < 1e-9);
}

#[test]
fn a_drive_whose_rate_is_infinite_at_the_start_is_named() {
    let refused = Simulation::new(driven("position", "sqrt(t)"), Options::default()).err().expect("no rate");
    let text = refused.to_string();
    assert!(text.contains("`drive`") && text.contains("sqrt(t)") && !text.contains("`track`"), "{text}");
}

#[test]
fn a_drive_that_starts_at_once_is_no_impact() {
    let summary = run(&driven("position", "max(0, t)"), Options { until: 1.0, ..Options::default() });
    assert!((last(&summary, "cart.x") - 1.0).abs() < 1e-12 && summary.events.is_empty(), "{:?}", summary.events);
}

#[test]
fn a_drive_whose_acceleration_jumps_starts_anew() {
    let s = driven("position", "if(t < 1, 0, 0.5*(t - 1)^2)");
    for o in ways(3.0) {
        let summary = run(&s, o.clone());
        assert!((last(&summary, "cart.x") - 2.0).abs() < 1e-9 && summary.events.is_empty(), "{}", name(&o));
    }
}

fn refused(s: &Arc<System>, options: Options) -> String {
    let summary: Summary = Simulation::new(s.clone(), options).unwrap().run(&mut Silent);
    match summary.status {
        Status::Failed(e) => e.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_position_that_jumps_is_refused_with_the_time() {
    let s = driven("position", "if(t < 1, 0, 0.5)");
    for o in ways(2.0) {
        let message = refused(&s, o.clone());
        assert!(message.contains("joint `drive` jumps by 0.500000 m at t = 1.000000000 s"), "{}: {message}", name(&o));
    }
}

#[test]
fn an_input_that_drives_a_rate_moves_velocities() {
    let text = r#"
        model = { plane = "xy" }
        input.speed = { start = 0 }
        body.cart = { mass = 2, inertia = 1, at = [0, 0] }
        body.bob = { mass = 1, at = [0, -1] }
        joint.track = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
        joint.drive = { type = "drive", joint = "track", rate = "speed" }
        joint.rod = { type = "distance", between = ["cart", "bob"], at = [[0, 0], [0, -1]] }
        "#;
    for method in [MethodName::Auto, MethodName::Bdf] {
        let mut s = Simulation::new(system(text), Options { method, until: 2.0, ..Options::default() }).unwrap();
        let (speed, x) = (s.input("speed").unwrap(), s.channel("cart.x").unwrap());
        s.advance_to(1.0).unwrap();
        s.set_input(speed, 3.0).unwrap();
        let v = s.channel("cart.vx").unwrap();
        assert!((s.value(v).unwrap() - 3.0).abs() < 1e-12);
        assert!(s.events().len() == 1 && s.events()[0].what.contains("impulse 6.000000 N s"), "{:?}", s.events());
        s.advance_to(2.0).unwrap();
        assert!((s.value(x).unwrap() - 3.0).abs() < 1e-6);
    }
}

#[test]
fn steps_are_no_longer_than_the_longest() {
    let s = cart("sin(t)");
    for method in [MethodName::Auto, MethodName::Bdf, MethodName::Dop853, MethodName::GeneralizedAlpha] {
        let mut longest = 0.0f64;
        let options = Options { method, until: 2.0, rtol: 1e-3, ..Options::default() };
        let free = run(&s, options.clone()).statistics.steps;
        let limited = options.with(|o| o.testing.max_step = Some(0.01));
        let mut simulation = Simulation::new(s.clone(), limited).unwrap();
        let mut watch = OnStep(|taken: &bellcrank_solve::history::AcceptedStep<'_>| longest = longest.max(taken.h));
        let summary = simulation.run(&mut watch);
        let steps = summary.statistics.steps;
        assert!(
            longest < 0.01 * (1.0 + 1e-3) && steps >= 200 && free < 150,
            "{}: {longest} {steps} {free}",
            method.name()
        );
    }
    let fixed = Options { step: Some(0.1), ..Options::default() }.with(|o| o.testing.max_step = Some(0.01));
    assert!(fixed.check().unwrap_err().to_string().contains("the step is fixed"));
}

#[test]
fn a_run_that_misses_a_smooth_pulse_is_found_out() {
    let s = cart("exp(-((t - 5.0123)/0.01)^2)/(0.01*sqrt(pi))");
    let options = Options { until: 10.0, rtol: 1e-4, ..Options::default() };
    let machine = || Machine::from(&s);
    let mut kept = ThinnedFrames::new(&options, 20);
    let run = Simulation::new(machine(), options.clone()).unwrap().run(&mut kept);
    let v = last(&run, "cart.vx");
    let found = verify_with(&|o| Simulation::new(machine(), o), &options, &kept, &run).unwrap();
    let told = found.worst().unwrap().relative();
    assert!((v - 1.0).abs() < 1e-2 || told > 0.5, "{v}, and the verification says {told}");
}

#[test]
fn kinematic_runs_do_not_depend_on_the_samples() {
    let rack = system(
        r#"
        model = { plane = "xy" }
        body.wheel = { mass = 1, inertia = 0.1, at = [0, 0] }
        body.bar = { mass = 1, inertia = 0.1, at = [0, -0.1] }
        joint.hub = { type = "revolute", between = ["ground", "wheel"], at = [0, 0] }
        joint.slide = { type = "prismatic", between = ["ground", "bar"], at = [0, -0.1], axis = [1, 0] }
        joint.mesh = { type = "rack", joints = ["hub", "slide"], radius = 0.1 }
        joint.motor = { type = "drive", joint = "hub", angle = "100*(1 - cos(pi*t))/2" }
        "#,
    );
    let lead = system(
        r#"
        model = { plane = "xy" }
        body.cart = { mass = 1, inertia = 1, at = [0, 0] }
        joint.track = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
        joint.drive = { type = "drive", joint = "track", rate = "10*(1 - cos(20*pi*t))" }
        "#,
    );
    for sample in [1.0, 0.5, 0.33, 0.1, 0.01] {
        let options = Options { until: 1.0, sample: Some(sample), ..Options::default() };
        let x = last(&run(&rack, options.clone()), "bar.x");
        assert!((x.abs() - 10.0).abs() < 1e-9, "rack with samples every {sample} s: {x}");
        let x = last(&run(&lead, options), "cart.x");
        assert!((x - 10.0).abs() < 1e-5, "rate with samples every {sample} s: {x}");
    }
    // the same where the drive jumps: 1 m/s from 0.3 s on
    let jump = system(
        r#"
        model = { plane = "xy" }
        body.cart = { mass = 1, inertia = 1, at = [0, 0] }
        joint.track = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
        joint.drive = { type = "drive", joint = "track", rate = "if(t < 0.3, 0, 1)" }
        "#,
    );
    let summary = run(&jump, Options { until: 1.0, ..Options::default() });
    assert!((last(&summary, "cart.x") - 0.7).abs() < 1e-12 && summary.events.len() == 1, "{:?}", summary.events);
}

/// The first number that is none names what it came from, with its arguments; a pole is not stepped over.
#[test]
fn what_becomes_infinite_is_named_with_its_arguments() {
    let base = "model = { plane = \"xy\", gravity = [0, -9.81] }\n\
                body.arm = { mass = 1, inertia = 0.1, at = [1, 0] }\n\
                joint.pin = { type = \"revolute\", between = [\"ground\", \"arm\"], at = [0, 0] }\n";
    let pushed =
        |f: &str| format!("force.push = {{ type = \"force\", body = \"arm\", at = [1, 0], force = [0, \"{f}\"] }}\n");
    let cases = [
        (pushed("1e-20/(0.01 - t)^9"), "push", 0.01),
        (pushed("1/(t - 0.5)"), "push", 0.5),
        (pushed("1/(t - 1/3)^2"), "push", 1.0 / 3.0),
        (pushed("log(0.25 - t)"), "push", 0.25),
        (pushed("sqrt(0.2 - t)"), "push", 0.2),
    ];
    for (text, name, when) in &cases {
        for method in [MethodName::Auto, MethodName::Bdf, MethodName::Dopri5] {
            let options = Options { method, ..Options::default() };
            let told = match Simulation::new(system(&format!("{base}{text}")), options) {
                Ok(mut simulation) => match simulation.run(&mut Silent).status {
                    Status::Failed(e) => (e.t(), e.to_string()),
                    other => panic!("{text}, {}: {other:?}", method.name()),
                },
                Err(e) => panic!("{text}: {e}"),
            };
            println!("{}: {told:?}", method.name());
            assert!(told.1.contains(&format!("`{name}`")) && told.1.contains("for t = "), "{text}: {}", told.1);
            assert!(told.0.is_some_and(|t| (t - when).abs() < 2e-3), "{text}: {told:?}");
        }
    }
}

/// Bounds next to this pole are infinite on both sides of every middle, because those of a sine are a little wide: it was stepped over.
#[test]
fn a_pole_between_two_numbers_is_not_stepped_over() {
    let text = "model = { plane = \"xy\" }\nbody.m = { mass = 1, inertia = 1 }\n\
                joint.s = { type = \"prismatic\", between = [\"ground\", \"m\"], at = [0, 0], axis = [1, 0] }\n\
                force.f = { type = \"joint-actuator\", joint = \"s\", effort = \"1/(sin(3*t) - 0.5)\" }\n";
    for (method, rtol) in [(MethodName::GeneralizedAlpha, 1e-6), (MethodName::Hht, 1e-5), (MethodName::Bdf, 1e-6)] {
        let mut simulation = Simulation::new(system(text), Options { method, rtol, ..Options::default() }).unwrap();
        let status = simulation.run(&mut Silent).status;
        assert!(
            matches!(&status, Status::Failed(e) if e.t().is_some_and(|t| t < 0.1746)),
            "{}: {status:?}",
            method.name()
        );
    }
}

/// Runs that will not end are given up, with what was computed and what held them up.
#[test]
fn a_run_that_will_not_end_is_given_up() {
    let spring = |k: f64| {
        format!(
            "model = {{ plane = \"xy\" }}\nbody.mass = {{ mass = 1e-9, inertia = 1, at = [0.001, 0] }}\n\
             force.wrong = {{ type = \"spring-damper\", between = [\"ground\", \"mass\"], at = [[-1, 0], [0.001, 0]], stiffness = {k:e}, length = 1 }}\n"
        )
    };
    let endless = Options { method: MethodName::Dopri5, until: 1e3, ..Options::default() };
    let run = |k: f64, options: Options| match Simulation::new(system(&spring(k)), options).unwrap().run(&mut Silent) {
        summary if matches!(summary.status, Status::Failed(StepError::GivenUp { .. })) => summary,
        other => panic!("{:?}", other.status),
    };
    let summary = run(1e16, endless.clone());
    let Status::Failed(e) = &summary.status else { return };
    assert!(summary.statistics.steps < 30_000 && summary.t > 0.0, "{:?}", summary.statistics);
    assert!(e.to_string().contains("would be") && e.to_string().contains("stiffness of the wrong unit"), "{e}");
    // loads of 1e12 N and more are large, but numbers
    let summary = run(1e17, endless.clone());
    assert!(summary.t > 0.0 && summary.t < 1e-3, "{}", summary.t);
    let few = endless.clone().with(|o| o.resources.max_steps = Some(17));
    assert_eq!(run(1e6, few).statistics.steps, 17);
    let short = endless.with(|o| o.resources.max_seconds = Some(0.05));
    assert!(run(1e9, short).wall_seconds < 5.0);
}
