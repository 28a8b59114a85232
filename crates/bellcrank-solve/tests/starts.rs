//! What is given at the start is kept, what is not given stays as drawn and at rest, and what cannot be is refused by name.

mod common;

use bellcrank_model::dynamics::roles::*;
use bellcrank_model::{Point, System};
use bellcrank_solve::choices::{Coordinates, Options};
use bellcrank_solve::start::{self, Assembly};
use bellcrank_solve::{Machine, Simulation};
use common::*;
use std::sync::Arc;

fn assembled(s: &Arc<System>) -> (Point, Assembly) {
    let dynamics: Arc<dyn Dynamics> = s.clone();
    start::assemble(&dynamics, &s.initial_state()).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    let s = system(text);
    let dynamics: Arc<dyn Dynamics> = s.clone();
    start::assemble(&dynamics, &s.initial_state()).expect_err("cannot be").to_string()
}

/// A channel at the start, in Cartesian or relative coordinates.
fn at_start(s: &Arc<System>, coordinates: Coordinates, channel: &str) -> f64 {
    let options = Options { coordinates, until: 1e-9, ..Options::default() };
    let mut simulation = Simulation::new(Machine::from(s), options).unwrap_or_else(|e| panic!("{e}"));
    let id = simulation.channel(channel).unwrap_or_else(|| panic!("no channel {channel}"));
    simulation.value(id).unwrap_or_else(|e| panic!("{e:?}"))
}

const BOTH: [Coordinates; 2] = [Coordinates::Cartesian, Coordinates::Relative];

/// A cart of a size with wheels of another: pins, and wheels that roll.
fn cart(size: f64, wheel: f64, given: &str) -> String {
    format!(
        r#"
model = {{ plane = "xy" }}
[body]
cart = {{ mass = 1, inertia = 1, at = [0, {wheel}] {given} }}
front = {{ mass = 1, inertia = 1, at = [{size}, {wheel}] }}
rear = {{ mass = 1, inertia = 1, at = [-{size}, {wheel}] }}
[joint]
f = {{ type = "revolute", between = ["cart", "front"], at = [{size}, {wheel}] }}
r = {{ type = "revolute", between = ["cart", "rear"], at = [-{size}, {wheel}] }}
froll = {{ type = "rolling-disk", between = ["ground", "front"], at = [[0, 0], [{size}, {wheel}]], normal = [0, 1], radius = {wheel} }}
rroll = {{ type = "rolling-disk", between = ["ground", "rear"], at = [[0, 0], [-{size}, {wheel}]], normal = [0, 1], radius = {wheel} }}
"#
    )
}

#[test]
fn a_given_velocity_is_kept_in_models_of_every_size() {
    for size in [1e-6, 1e-3, 1.0, 50.0, 1e6] {
        for wheel in [1e-6, 1e-3, 0.05, 1.0, 1e3] {
            let s = system(&cart(size, wheel, ", velocity = [1, 0]"));
            let (p, _) = assembled(&s);
            assert_eq!(p.v[0], 1.0, "size {size}, wheel {wheel}: {:?}", p.v);
            for i in [5, 8] {
                assert!((p.v[i] * wheel + 1.0).abs() < 1e-12, "size {size}, wheel {wheel}: {:?}", p.v);
            }
        }
    }
}

#[test]
fn a_given_spin_of_a_small_wheel_in_a_large_model_is_kept() {
    for (size, wheel) in [(50.0, 0.05), (100.0, 1e-3), (1e6, 1e-6), (1e-6, 1e3)] {
        let text = cart(size, wheel, "").replace("rear = { mass = 1,", "rear = { angular_velocity = 3, mass = 1,");
        let (p, _) = assembled(&system(&text));
        assert_eq!(p.v[8], 3.0);
        for i in [0, 3, 6] {
            assert!((p.v[i] / (-3.0 * wheel) - 1.0).abs() < 1e-12, "size {size}, wheel {wheel}: {:?}", p.v);
        }
    }
}

const SLIDE: &str = r#"
model = { plane = "xy" }
[body.cart]
mass = 1
inertia = 1
velocity = [1, 0.5]
[joint.rail]
type = "prismatic"
between = ["ground", "cart"]
at = [0, 0]
axis = [1, 0]
"#;

#[test]
fn an_impossible_velocity_is_refused_with_the_joint() {
    let error = refused(SLIDE);
    assert!(error.contains("`velocity` of body `cart` contradicts joint `rail`"), "{error}");
    assembled(&system(&SLIDE.replace("0.5]", "0]")));
}

#[test]
fn velocities_that_contradict_each_other_are_refused_with_both_names() {
    let text = r#"
model = { plane = "xy" }
[body]
a = { mass = 1, inertia = 1, velocity = [1, 0] }
b = { mass = 1, inertia = 1, at = [1, 0], velocity = [2, 0] }
c = { mass = 1, inertia = 1, at = [9, 0] }
[joint]
rod = { type = "distance", between = ["a", "b"], at = [[0, 0], [1, 0]] }
far = { type = "revolute", between = ["ground", "c"], at = [8, 0] }
"#;
    let error = refused(text);
    for name in ["`velocity` of body `a`", "`velocity` of body `b`", "joint `rod`"] {
        assert!(error.contains(name), "{error}");
    }
    assert!(!error.contains("far"), "{error}");
}

#[test]
fn a_start_does_not_override_the_rate_of_a_body() {
    let text = |rate: f64| {
        format!(
            r#"
model = {{ plane = "xy" }}
body.arm = {{ mass = 1, inertia = 1, at = [1, 0], angular_velocity = 2 }}
joint.pin = {{ type = "revolute", between = ["ground", "arm"], at = [0, 0] }}
start.pin = {{ rate = {rate} }}
"#
        )
    };
    let error = refused(&text(1.0));
    assert!(error.contains("`angular_velocity` of body `arm` contradicts the start of joint `pin`"), "{error}");
    let (p, _) = assembled(&system(&text(2.0)));
    assert_eq!(p.v[2], 2.0);
    assert!((p.v[1] - 2.0).abs() < 1e-15);
}

#[test]
fn the_velocity_of_a_thin_rod_is_kept_when_its_rate_is_not_given() {
    for (model, v) in [("plane = \"xy\", ", "[0, 3]"), ("", "[0, 3, 0]")] {
        let zeros = if model.is_empty() { ", 0" } else { "" };
        let text = format!(
            r#"
model = {{ {model}gravity = [0, -9.81{zeros}] }}
body.bar = {{ rod = {{ from = [0, 0{zeros}], to = [2, 0{zeros}], mass = 1 }}, coordinates = "natural", velocity = {v} }}
joint.pin = {{ type = "spherical", between = ["ground", "bar"], at = [0, 0{zeros}] }}
"#
        );
        let text = if zeros.is_empty() { text.replace("spherical", "revolute") } else { text };
        let s = system(&text);
        assert!((at_start(&s, Coordinates::Cartesian, "bar.vy") - 3.0).abs() < 1e-14, "{model}");
    }
}

/// An arm with a pendulum on it, in the plane or in space; and a third body.
fn chain(plane: bool, start: &str) -> Arc<System> {
    let (model, zero, axis) = if plane { ("plane = \"xy\", ", "", "") } else { ("", ", 0", ", axis = [0, 0, 1]") };
    let inertia = if plane { "1" } else { "[1, 1, 1]" };
    system(&format!(
        r#"
model = {{ {model}gravity = [0, -9.81{zero}] }}
[body]
arm = {{ mass = 1, inertia = {inertia}, at = [0.5, 0{zero}] }}
bob = {{ mass = 2, inertia = {inertia}, at = [1, -0.7{zero}] }}
tip = {{ mass = 2, inertia = {inertia}, at = [1.5, -1{zero}] }}
[joint]
p = {{ type = "revolute", between = ["ground", "arm"], at = [0, 0{zero}]{axis} }}
q = {{ type = "revolute", between = ["arm", "bob"], at = [1, 0{zero}]{axis} }}
r = {{ type = "revolute", between = ["tip", "bob"], at = [1.2, -1{zero}]{axis} }}
[start]
{start}
"#
    ))
}

#[test]
fn joints_that_are_not_named_stay_at_rest_on_a_tree() {
    for plane in [true, false] {
        let s = chain(plane, "p = { rate = 1 }");
        for coordinates in BOTH {
            let value = |channel: &str| at_start(&s, coordinates, channel);
            assert!((value("p.rate") - 1.0).abs() < 1e-14);
            for other in ["q.rate", "r.rate"] {
                assert!(value(other).abs() < 1e-14, "{other} {}, plane {plane}", value(other));
            }
        }
        assert_eq!(assembled(&s).1.followed, []);
    }
}

#[test]
fn joints_that_are_not_named_stay_as_drawn_on_a_tree() {
    for plane in [true, false] {
        let s = chain(plane, "q = { angle = 0.8 }\nr = { rate = 2 }");
        let drawn = chain(plane, "");
        for coordinates in BOTH {
            assert!((at_start(&s, coordinates, "q.angle") - 0.8).abs() < 1e-12);
            assert!((at_start(&s, coordinates, "r.rate") - 2.0).abs() < 1e-12);
            for other in ["p.angle", "p.rate", "q.rate", "r.angle"] {
                let off = at_start(&s, coordinates, other) - at_start(&drawn, coordinates, other);
                assert!(off.abs() < 1e-12, "{other} is off by {off}, plane {plane}");
            }
        }
    }
}

#[test]
fn a_driven_joint_takes_the_others_along() {
    let text = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
arm = { mass = 1, inertia = 1, at = [0.5, 0] }
bob = { mass = 2, inertia = 1, at = [1, -0.7] }
[joint]
p = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
q = { type = "revolute", between = ["arm", "bob"], at = [1, 0] }
m = { type = "drive", joint = "p", angle = "0.3 + 2*t" }
"#;
    let s = system(text);
    for (channel, exact) in [("p.angle", 0.3), ("p.rate", 2.0), ("q.angle", 0.0), ("q.rate", 0.0)] {
        let value = at_start(&s, Coordinates::Cartesian, channel);
        assert!((value - exact).abs() < 1e-12, "{channel} {value}");
    }
}

#[test]
fn loops_move_joints_that_are_not_named_and_it_is_told() {
    for coordinates in BOTH {
        let s = system(FOUR_BAR);
        assert!((at_start(&s, coordinates, "a.rate") - 1.5).abs() < 1e-13);
    }
    let (_, report) = assembled(&system(FOUR_BAR));
    let names: Vec<&str> = report.followed.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["b.angle", "c.angle", "d.angle"]);
    // with an arm on the coupler, which nothing moves
    let with_arm = FOUR_BAR
        .replace("[joint]", "arm = { mass = 1, inertia = 1, at = [1.3, 2] }\n[joint]\ne = { type = \"revolute\", between = [\"coupler\", \"arm\"], at = [1.3, 1] }");
    let (_, report) = assembled(&system(&with_arm));
    let names: Vec<&str> = report.followed.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["b.angle", "c.angle", "d.angle"]);
}

/// A wheel on a pin with a torsion spring, a stop beyond a turn and an arm on it.
fn wound(plane: bool, angle: f64) -> Arc<System> {
    let (model, zero, axis) = if plane { ("plane = \"xy\"", "", "") } else { ("", ", 0", ", axis = [0, 0, 1]") };
    let inertia = if plane { "2" } else { "[1, 1, 2]" };
    system(&format!(
        r#"
model = {{ {model} }}
body.wheel = {{ mass = 1, inertia = {inertia} }}
body.arm = {{ mass = 1, inertia = {inertia}, at = [2, 0{zero}] }}
joint.pin = {{ type = "revolute", between = ["ground", "wheel"], at = [0, 0{zero}]{axis} }}
joint.hinge = {{ type = "revolute", between = ["wheel", "arm"], at = [1, 0{zero}]{axis} }}
force.spring = {{ type = "torsional-spring-damper", between = ["ground", "wheel"], at = [0, 0{zero}]{axis}, stiffness = 3 }}
start.pin = {{ angle = {angle} }}
"#
    ))
}

#[test]
fn given_angles_keep_their_full_turns() {
    for plane in [true, false] {
        for angle in [4.0, 10.0, -20.0, 3.0, -3.2, 700.0] {
            let s = wound(plane, angle);
            for coordinates in BOTH {
                let value = |channel: &str| at_start(&s, coordinates, channel);
                assert!((value("pin.angle") - angle).abs() < 1e-9, "{angle}: {}", value("pin.angle"));
                assert!(value("hinge.angle").abs() < 1e-9, "{angle}: {}", value("hinge.angle"));
            }
            // the spring knows the turns too: its energy is ½ k θ²
            let (p, _) = assembled(&s);
            let mut w = s.workspace();
            s.realize(&p, &mut w);
            let stored = s.energy(&p, &mut w).stored;
            assert!((stored / (1.5 * angle * angle) - 1.0).abs() < 1e-9, "{angle}, plane {plane}: {stored}");
        }
    }
}

#[test]
fn a_gear_turns_as_often_as_its_wheel_is_given() {
    let text = r#"
model = { plane = "xy" }
body.a = { mass = 1, inertia = 1 }
body.b = { mass = 1, inertia = 1, at = [3, 0] }
joint.pa = { type = "revolute", between = ["ground", "a"], at = [0, 0] }
joint.pb = { type = "revolute", between = ["ground", "b"], at = [3, 0] }
joint.mesh = { type = "gear", joints = ["pa", "pb"], ratio = -2.5 }
start.pa = { angle = 10, rate = 2 }
"#;
    let s = system(text);
    for (channel, exact) in [("pa.angle", 10.0), ("pb.angle", -25.0), ("pb.rate", -5.0)] {
        for coordinates in BOTH {
            let value = at_start(&s, coordinates, channel);
            assert!((value - exact).abs() < 1e-10, "{channel} {value}");
        }
    }
}

#[test]
fn a_closed_loop_is_taken_round_by_its_crank() {
    // a crank-rocker turns all the way: two turns and a bit are the same place as the bit alone
    let text = |angle: f64| {
        format!(
            r#"
model = {{ plane = "xy" }}
[body]
crank = {{ rod = {{ from = [0, 0], to = [0.4, 0], mass = 1 }} }}
coupler = {{ rod = {{ from = [0.4, 0], to = [2.2, 1.3], mass = 1 }} }}
rocker = {{ rod = {{ from = [2, 0], to = [2.2, 1.3], mass = 1 }} }}
[joint]
a = {{ type = "revolute", between = ["ground", "crank"], at = [0, 0] }}
b = {{ type = "revolute", between = ["crank", "coupler"], at = [0.4, 0] }}
c = {{ type = "revolute", between = ["coupler", "rocker"], at = [2.2, 1.3] }}
d = {{ type = "revolute", between = ["rocker", "ground"], at = [2, 0] }}
[start]
a = {{ angle = {angle} }}
"#
        )
    };
    let tau = std::f64::consts::TAU;
    let near = system(&text(0.7));
    let far = system(&text(0.7 + 2.0 * tau));
    let off = at_start(&far, Coordinates::Cartesian, "a.angle") - 0.7 - 2.0 * tau;
    assert!(off.abs() < 1e-10, "{off}");
    for channel in ["rocker.x", "rocker.y"] {
        let values = [&near, &far].map(|s| at_start(s, Coordinates::Cartesian, channel));
        assert!((values[0] - values[1]).abs() < 1e-9, "{channel} {values:?}");
    }
}

#[test]
fn a_flexible_arm_goes_along_without_turning_its_joints() {
    let text = r#"
model = { plane = "xy" }
body.beam = { beam = { from = [0, 0], to = [1, 0], density = 2700, area = 1e-4, second_moment = 1e-9, youngs_modulus = 7e10, bending = 2 } }
body.bob = { mass = 1, inertia = 1, at = [1, -0.5] }
joint.p = { type = "revolute", between = ["ground", "beam"], at = [0, 0] }
joint.q = { type = "revolute", between = ["beam", "bob"], at = [1, 0] }
start.p = { rate = 1.5 }
"#;
    let s = system(text);
    for (channel, exact) in [("p.rate", 1.5), ("q.rate", 0.0)] {
        let value = at_start(&s, Coordinates::Cartesian, channel);
        assert!((value - exact).abs() < 1e-12, "{channel} {value}");
    }
}

#[test]
fn a_state_that_moves_already_is_kept_where_a_drive_moves_too() {
    let text = r#"
model = { plane = "xy" }
[body]
arm = { mass = 1, inertia = 1, at = [0.5, 0] }
bob = { mass = 2, inertia = 1, at = [1, -0.7] }
[joint]
p = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
q = { type = "revolute", between = ["arm", "bob"], at = [1, 0] }
m = { type = "drive", joint = "p", angle = "2*t" }
"#;
    let s = system(text);
    let mut state = s.initial_state();
    // both turn: the arm at 2, the bob at 5 rad/s
    state.v.copy_from_slice(&[0.0, 1.0, 2.0, 3.5, 2.0, 5.0]);
    let dynamics: Arc<dyn Dynamics> = s.clone();
    let (point, _) = start::assemble(&dynamics, &state).unwrap_or_else(|e| panic!("{e}"));
    let off = point.v.iter().zip(&state.v).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(off < 1e-14, "{:?}", point.v);
}
