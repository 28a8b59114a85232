//! Sensitivities against closed forms and against differences of tight runs.

mod common;

use bellcrank_study::sensitivity::{Mode, QuestionError};
use common::machines::{ALL, BOUNCE, GRAZE, STOP, WIND};
use common::{Machine, machine};

/// One of the bench's machines, by a part of its model and a measure that is asked of it.
fn compare(model: &str, of: &str, bound: f64) {
    let found = ALL.iter().find(|m| m.model.contains(model) && m.of.contains(&of)).expect("a machine of the bench");
    let (error, place) = found.compare(Mode::Forward);
    assert!(error < bound, "{model}: {error:e}, {place}");
}

/// The same by both ways.
fn back(model: &str, of: &str, bound: f64) {
    let found = ALL.iter().find(|m| m.model.contains(model) && m.of.contains(&of)).expect("a machine of the bench");
    let (error, place) = found.both_ways();
    assert!(error < bound, "{model}: {error:e}, {place}");
}

fn derivative(machine: &Machine, of: usize, to: usize) -> f64 {
    let found = machine.answer().unwrap_or_else(|e| panic!("{e}"));
    found.measured[of].derivatives[to]
}

fn refused(machine: &Machine) -> String {
    match machine.answer() {
        Ok(_) => panic!("it has an answer"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn a_loop_in_the_plane_agrees_with_differences_along_stages_and_along_accepted_points() {
    compare("slider-crank", "slider.x.mean", 1e-6);
    compare("slider-crank", "link.angle", 1e-6);
}

#[test]
fn derivatives_of_final_values_take_the_steps_of_the_run() {
    let machine = machine("slider-crank.toml", &["slider.x"], &["k", "L1"], 1.0);
    let plain = machine.plain().statistics.steps;
    assert_eq!(machine.answer().expect("an answer").steps, plain);
}

#[test]
fn a_spinning_top_agrees_with_differences() {
    compare("gyroscope", "end.z.min", 1e-6);
}

#[test]
fn redundant_loops_agree_with_differences() {
    compare("bennett", "far.x", 1e-6);
}

#[test]
fn driven_machines_agree_with_differences() {
    compare("quick-return", "ram.x", 1e-6);
}

#[test]
fn bodies_that_bend_agree_with_differences() {
    compare("flexible-rod", "tip.x", 1e-6);
    // on its joints
    compare("flexible-rod", "tip.y", 1e-6);
}

#[test]
fn a_breakpoint_that_moves_with_its_parameter_has_the_closed_form() {
    // v = F T − F/2 (t − T), x = F T²/2 + F T (t − T) − F/4 (t − T)², all over m
    let machine = machine(WIND, &["ball.vx", "ball.x"], &["T", "F"], 1.0);
    let (m, f, t, end) = (0.5, 3.0, 0.4, 1.0);
    let exact = [
        [1.5 * f, t - 0.5 * (end - t)],
        [
            f * t + f * (end - t) - f * t + 0.5 * f * (end - t),
            0.5 * t * t + t * (end - t) - 0.25 * (end - t) * (end - t),
        ],
    ];
    for (of, row) in exact.iter().enumerate() {
        for (to, exact) in row.iter().enumerate() {
            let found = derivative(&machine, of, to);
            assert!((found - exact / m).abs() < 1e-8 * exact.abs(), "{of} {to}: {found} {}", exact / m);
        }
    }
}

#[test]
fn a_bounce_has_the_closed_form() {
    // it falls h − r in t₁ = √(2(h − r)/g) and leaves with e g t₁: z = r + e g t₁ (t − t₁) − g (t − t₁)²/2
    let machine = machine(BOUNCE, &["ball.z", "ball.vz"], &["e", "h"], 1.0);
    let (g, e, h, r, end) = (9.81f64, 0.8, 1.0, 0.1, 1.0);
    let t1 = (2.0 * (h - r) / g).sqrt();
    let by_h = 1.0 / (g * t1);
    let exact = [
        [g * t1 * (end - t1), (e * g * (end - t1) - e * g * t1 + g * (end - t1)) * by_h],
        [g * t1, (e * g + g) * by_h],
    ];
    for (of, row) in exact.iter().enumerate() {
        for (to, exact) in row.iter().enumerate() {
            let found = derivative(&machine, of, to);
            assert!((found - exact).abs() < 1e-7 * exact.abs(), "{of} {to}: {found} {exact}");
        }
    }
}

#[test]
fn sticking_and_slipping_agree_with_differences() {
    compare("stick-slip", "mass.x", 1e-6);
}

#[test]
fn the_way_back_agrees_with_the_way_forward_along_stages() {
    // of the small derivative by a mass, where the rounding of differences shows
    back("slider-crank", "slider.x.mean", 1e-8);
    back("four-bar", "P.x", 1e-7);
    // a wheel that has turned by 20 rad: differences along its tangent err by 2e-7
    back("gyroscope", "end.z.min", 1e-6);
    let gyroscope = ALL.iter().find(|m| m.model.contains("gyroscope")).expect("a machine of the bench");
    let (error, place) = gyroscope.compare(Mode::Adjoint);
    assert!(error < 1e-6, "{error:e}, {place}");
}

#[test]
fn an_output_that_amplifies_the_rounding_of_its_channels_has_exact_derivatives() {
    // acos(−z/l) of balls that hang nearly at rest
    compare("flyball-governor", "angle", 1e-6);
    back("flyball-governor", "angle", 5e-7);
}

#[test]
fn the_way_back_agrees_with_the_way_forward_along_the_points_of_generalized_alpha() {
    let machine = machine("slider-crank.toml", &["slider.x", "slider.x.mean", "link.angle"], &["k", "L1"], 0.5);
    let (error, place) = machine.solved(&["method=gen-alpha", "step=1e-3"]).both_ways();
    // rates are differences of tangents over h, in which the rounding of residuals shows (1.7e-8)
    assert!(error < 1e-7, "{error:e}, {place}");
}

#[test]
fn the_way_back_is_refused_to_multistep_methods_with_what_to_use() {
    let stiff = ALL.iter().find(|m| m.model.contains("stiff-bushing")).expect("a machine of the bench");
    let told = stiff.answer_by(Mode::Adjoint, stiff.to).err().expect("bdf").to_string();
    assert!(told.contains("`bdf`") && told.contains("dop853") && told.contains("gen-alpha"), "{told}");
    assert!(stiff.answer_by(Mode::Auto, &["k"; 8]).is_ok_and(|found| found.curves.is_some()));
    let grazing = machine(GRAZE, &["slide.position"], &["A"], 0.5).answer_by(Mode::Adjoint, &["A"]);
    let told = grazing.err().expect("grazing").to_string();
    assert!(told.contains("same events") && told.contains("stop"), "{told}");
}

#[test]
fn the_way_back_agrees_with_the_way_forward_in_loops_redundant_driven_flexible_and_rolling_machines() {
    back("bennett", "far.x", 1e-7);
    back("quick-return", "ram.x", 2e-9);
    back("flexible-rod", "tip.x", 1e-8);
    back("rolling-disk", "disk.x", 2e-9);
    back("robot-arm", "hand.x", 1e-7);
}

#[test]
fn the_way_back_leads_through_events() {
    back("T = 0.4", "ball.x.mean", 2e-9);
    back("restitution", "ball.z.mean", 2e-9);
    back("stop", "pin.angle.rms", 2e-7);
    back("stick-slip", "mass.x", 1e-7);
}

#[test]
fn a_start_at_an_event_is_refused_by_name() {
    let text: &str = Box::leak(format!("{STOP}start.pin = {{ angle = 1.2 }}\n").into_boxed_str());
    let told = refused(&machine(text, &["pin.angle"], &["start.pin.angle"], 0.5));
    assert!(told.contains("`start.pin.angle`") && told.contains("event"), "{told}");
}

#[test]
fn a_stop_that_is_just_grazed_is_refused_by_name() {
    let told = refused(&machine(GRAZE, &["slide.position"], &["A"], 0.5));
    assert!(told.contains("`A`") && told.contains("same events") && told.contains("stop"), "{told}");
}

#[test]
fn what_has_no_derivative_is_refused_by_name() {
    let of = |of: &'static [&'static str], to: &'static [&'static str]| refused(&machine(STOP, of, to, 0.1));
    let told = of(&["pin.angel"], &["k"]);
    assert!(told.contains("pin.angel") && told.contains("pin.angle"), "{told}");
    let told = of(&["pin.angle"], &["kk"]);
    assert!(told.contains("no parameter `kk`"), "{told}");
    let told = of(&["pin.angle"], &["body.bar.mass"]);
    assert!(told.contains("`body.bar.mass` has no value"), "{told}");
    let told = of(&["pin.angle"], &["solve.rtol"]);
    assert!(told.contains("choice of the solver"), "{told}");
    let told = of(&["run.steps"], &["k"]);
    assert!(told.contains("no derivative"), "{told}");
    let whole = machine("net.toml", &["net.x"], &["n"], 0.1).answer().err();
    assert!(matches!(whole, Some(QuestionError::Report(_))));
}
