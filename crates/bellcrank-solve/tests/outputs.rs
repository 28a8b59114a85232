//! Channels, outputs and what is recorded: by work, momentum and closed forms.

mod common;

use bellcrank_math::{Quat, Vec3};
use bellcrank_model::read::read_text;
use bellcrank_model::{catalog, forces};
use bellcrank_solve::record::Memory;
use bellcrank_solve::run::Status;
use bellcrank_solve::{MethodName, Options, Simulation, Summary};
use common::system;

/// Runs a model and records all there is, or what fits some patterns.
fn record(text: &str, options: Options) -> (Memory, Summary) {
    let mut memory = Memory::default();
    let mut simulation = match Simulation::new(system(text), options) {
        Ok(simulation) => simulation,
        Err(e) => panic!("{e}"),
    };
    let summary = simulation.run(&mut memory);
    assert_eq!(summary.status, Status::Finished);
    (memory, summary)
}

fn everything(until: f64, sample: f64) -> Options {
    let (sample, record) = (Some(sample), vec!["*".to_string()]);
    Options { method: MethodName::Dop853, rtol: 1e-10, until, sample, record, ..Options::default() }
}

struct Table<'a>(&'a Memory);

impl Table<'_> {
    fn get(&self, name: &str) -> Vec<f64> {
        self.0.column(name).unwrap_or_else(|| panic!("no channel {name}"))
    }
    fn three(&self, owner: &str, names: [&str; 3]) -> Vec<Vec3> {
        let [x, y, z] = names.map(|n| self.get(&format!("{owner}.{n}")));
        (0..x.len()).map(|i| Vec3([x[i], y[i], z[i]])).collect()
    }
}

fn near(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    let scale = b.iter().fold(0.0f64, |m, x| m.max(x.abs())).max(1e-3);
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * scale, "{what}, sample {i}: {a} {b} of {scale}");
    }
}

/// Every kind of force but attraction, on bodies that tumble in space.
const TUMBLING: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body.arm]
mass = 2
inertia = [0.3, 0.4, 0.2]
at = [0.5, 0.1, 0]
orientation = { axis = [1, 2, 3], angle = 0.4 }
[body.hand]
mass = 1
inertia = [0.1, 0.15, 0.12]
at = [1.2, 0.1, 0.2]
[body.ball]
sphere = { radius = 0.1, mass = 0.5 }
at = [3, 0, 0.095]
velocity = [0.7, 0.2, 0]
[body.block]
mass = 1
inertia = [0.1, 0.1, 0.1]
at = [0, 2, 0]
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0, 0]
axis = [0.2, 1, 0.3]
[joint.wrist]
type = "universal"
between = ["arm", "hand"]
at = [1, 0.1, 0]
axis = [0, 0, 1]
axis2 = [0, 1, 0]
[joint.slide]
type = "prismatic"
between = ["ground", "block"]
at = [0, 2, 0]
axis = [1, 0, 0.2]
[force.strut]
type = "spring-damper"
between = ["ground", "hand"]
at = [[1, 1, 1], [1.3, 0.1, 0.2]]
stiffness = 60
damping = 2
length = 0.9
[force.twist]
type = "torsional-spring-damper"
between = ["ground", "arm"]
axis = [0.2, 1, 0.3]
stiffness = 5
damping = 0.3
[force.rubber]
type = "bushing"
between = ["arm", "hand"]
at = [1, 0.1, 0]
axis = [0.1, 0.3, 1]
stiffness = [100, 120, 90, 3, 4, 5]
damping = [1, 2, 1, 0.1, 0.2, 0.1]
preload = [1, 0, 0, 0.2, 0, 0]
[force.floor]
type = "contact"
between = ["ground", "ball"]
at = [[0, 0, 0], [3, 0, 0.095]]
normal = [0, 0, 1]
stiffness = 2e4
damping = 0.2
friction = 0.3
velocity = 0.05
[force.end]
type = "stop"
joint = "slide"
lower = -0.2
upper = 0.05
stiffness = 500
damping = 0.2
[force.rub]
type = "joint-friction"
joint = "slide"
viscous = 0.5
coulomb = 0.2
velocity = 0.2
[force.motor]
type = "joint-actuator"
joint = "pin"
effort = "3*sin(5*t)"
lag = 0.05
[force.servo]
type = "pid"
joint = "slide"
reference = "0.1*sin(3*t)"
kp = 60
ki = 20
kd = 4
[force.wind]
type = "drag"
body = "hand"
coefficient = 0.4
[force.push]
type = "force"
body = "ball"
force = ["0.3*cos(t)", 0, 0]
[probe.hub]
body = "hand"
[probe.tip]
body = "hand"
on = [0.2, 0.1, -0.1]
relative_to = "arm"
orientation = { axis = [1, 0, 1], angle = 0.7 }
[probe.fixed]
body = "arm"
on = [0.3, -0.1, 0.2]
relative_to = "arm"
[start]
pin = { rate = 2 }
wrist = { rate = 1, rate2 = -2 }
[output.kinetic_rate]
value = "energy.kinetic"
unit = "W"
derivative = true
[output.all_power]
value = "strut.power + twist.power + rubber.power + floor.power + end.power + rub.power + motor.power + servo.power + wind.power + push.power - g*(2*arm.vz + hand.vz + 0.5*ball.vz + block.vz)"
unit = "W"
[output.tip_speed]
value = "tip.x"
derivative = true
[output.tip_acceleration]
value = "tip.vy"
derivative = true
[output.turning]
value = "tip.wz"
derivative = true
[output.slide_second]
value = "slide.rate"
derivative = true
[output.wrist_second]
value = "wrist.rate2"
derivative = true
[parameter]
g = 9.81
"#;

#[test]
fn force_times_rate_is_the_power_of_every_force() {
    let (memory, _) = record(TUMBLING, everything(1.0, 0.01));
    let t = Table(&memory);
    let product = |a: &str, b: &str, sign: f64| -> Vec<f64> {
        t.get(a).iter().zip(t.get(b)).map(|(a, b)| sign * a * b).collect()
    };
    near("strut", &product("strut.force", "strut.rate", -1.0), &t.get("strut.power"), 1e-12);
    near("twist", &product("twist.torque", "twist.rate", 1.0), &t.get("twist.power"), 1e-12);
    for (force, rate) in [("end", "slide.rate"), ("rub", "slide.rate"), ("motor", "pin.rate"), ("servo", "slide.rate")]
    {
        near(force, &product(&format!("{force}.effort"), rate, 1.0), &t.get(&format!("{force}.power")), 1e-12);
    }
    near("wind", &product("wind.force", "wind.speed", -1.0), &t.get("wind.power"), 1e-12);
    let mut rubber = vec![0.0; memory.times.len()];
    for (effort, rate) in [("force_x", "x_rate"), ("force_y", "y_rate"), ("force_z", "z_rate")].into_iter().chain([
        ("torque_x", "rx_rate"),
        ("torque_y", "ry_rate"),
        ("torque_z", "rz_rate"),
    ]) {
        let part = product(&format!("rubber.{effort}"), &format!("rubber.{rate}"), 1.0);
        rubber.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    near("rubber", &rubber, &t.get("rubber.power"), 1e-12);
    // the floor pushes the ball up and rubs across
    near("normal", &t.get("floor.normal"), &t.get("floor.fz"), 1e-12);
    let across: Vec<f64> = t.get("floor.fx").iter().zip(t.get("floor.fy")).map(|(x, y)| x.hypot(y)).collect();
    near("friction", &t.get("floor.friction"), &across, 1e-12);
    assert!(t.get("floor.normal").iter().any(|n| *n > 1.0) && t.get("end.depth").iter().any(|d| *d > 0.0));
    // what all forces do is what the kinetic energy gains
    near("power", &t.get("kinetic_rate"), &t.get("all_power"), 2e-4);
}

#[test]
fn loads_have_the_axes_that_they_say_and_accelerate_their_bodies() {
    let (memory, _) = record(TUMBLING, everything(0.5, 0.01));
    let t = Table(&memory);
    let (f, m) = (["fx", "fy", "fz"], ["mx", "my", "mz"]);
    let turn = |axis: Vec3, angle: f64| Quat::exp(axis * angle).matrix();
    let angles = t.three("arm", ["roll", "pitch", "yaw"]);
    let arm: Vec<_> = angles.iter().map(|a| turn(Vec3::Z, a[2]) * turn(Vec3::Y, a[1]) * turn(Vec3::X, a[0])).collect();
    let in_world = |owner: &str, axes: &str, names: [&str; 3]| -> Vec<Vec3> {
        let parts = t.three(&format!("{owner}.{axes}"), names);
        parts.iter().zip(&arm).map(|(v, r)| *r * *v).collect()
    };
    let same = |what: &str, a: &[Vec3], b: &[Vec3]| {
        (0..3).for_each(|k| {
            let of = |v: &[Vec3]| v.iter().map(|v| v[k]).collect::<Vec<_>>();
            near(what, &of(a), &of(b), 1e-9);
        });
    };
    for names in [f, m] {
        same("pin in the arm", &in_world("pin", "second", names), &t.three("pin", names));
        same("wrist in the arm", &in_world("wrist", "first", names), &t.three("wrist", names));
        same("rubber in the arm", &in_world("rubber", "first", names), &t.three("rubber", names));
        same("pin on the ground", &t.three("pin.first", names), &t.three("pin", names));
    }
    // all that acts on the hand makes m a
    let acceleration = t.three("hand", ["ax", "ay", "az"]);
    let loads = ["wrist", "strut", "rubber", "wind"].map(|owner| t.three(owner, f));
    for (i, a) in acceleration.iter().enumerate() {
        let sum = loads.iter().fold(Vec3([0.0, 0.0, -9.81]), |sum, of| sum + of[i]);
        assert!((sum - *a).norm() < 1e-8 * (1.0 + sum.norm()), "{i}: {sum:?} {a:?}");
    }
    // the probe on the same place, in the world
    same("hub", &t.three("hub", ["ax", "ay", "az"]), &acceleration);
}

#[test]
fn motions_seen_from_a_body_are_the_derivatives_of_each_other() {
    let (memory, _) = record(TUMBLING, everything(0.5, 0.01));
    let t = Table(&memory);
    near("x", &t.get("tip_speed"), &t.get("tip.vx"), 1e-5);
    near("vy", &t.get("tip_acceleration"), &t.get("tip.ay"), 1e-4);
    near("wz", &t.get("turning"), &t.get("tip.alphaz"), 1e-4);
    near("slide", &t.get("slide_second"), &t.get("slide.acceleration"), 1e-4);
    near("wrist", &t.get("wrist_second"), &t.get("wrist.acceleration2"), 1e-4);
    // a place on the body itself stands still, whatever the body does
    for name in ["vx", "vy", "vz", "ax", "ay", "az", "wx", "wy", "wz"] {
        assert!(t.get(&format!("fixed.{name}")).iter().all(|x| x.abs() < 1e-9), "{name}");
    }
    near("place", &t.get("fixed.x"), &vec![0.3; memory.times.len()], 1e-12);
    // own axes are the same vector in other components
    let size = |names| t.three("tip", names).iter().map(|v| v.norm()).collect::<Vec<_>>();
    near("own", &size(["own.ax", "own.ay", "own.az"]), &size(["ax", "ay", "az"]), 1e-12);
}

#[test]
fn relative_coordinates_tell_the_same() {
    let few = |coordinates: &str| {
        let options = Options { until: 0.3, ..everything(0.3, 0.03) };
        let mut options = options;
        options.coordinates = bellcrank_solve::choices::Coordinates::by_name(coordinates).expect("is known");
        record(TUMBLING, options).0
    };
    let (a, b) = (few("cartesian"), few("relative"));
    assert_eq!(a.header.channels, b.header.channels);
    for channel in &a.header.channels {
        let tolerance = if channel.name.ends_with("acceleration") { 1e-3 } else { 1e-5 };
        near(&channel.name, &a.column(&channel.name).unwrap(), &b.column(&channel.name).unwrap(), tolerance);
    }
}

/// x = 0.2 cos(ω t) with ω = 5, from rest.
const OSCILLATOR: &str = r#"
[model]
plane = "xy"
[body.cart-1]
mass = 2
inertia = 1
at = [0.2, 0]
[joint.rail]
type = "prismatic"
between = ["ground", "cart-1"]
on = [[0, 0], [0, 0]]
axis = [1, 0]
[force.k]
type = "spring-damper"
between = ["ground", "cart-1"]
on = [[-1, 0], [0, 0]]
stiffness = 50
length = 1
[output]
x = { value = "`cart-1.x`", unit = "m" }
quick = { value = "rail.rate", derivative = true }
way = { value = "rail.position + 1", integral = true }
slow = { value = "rail.position", lag = 0.3 }
force = { value = "scale*k.force", unit = "kN" }
bump = { value = "abs(rail.position) + 0.001*t" }
[parameter]
scale = 1e-3
"#;

#[test]
fn outputs_are_filtered_and_measured_as_closed_forms_say() {
    let (w, until) = (5.0f64, 2.0f64);
    for method in [MethodName::Dop853, MethodName::Bdf] {
        // cubics of steps are good to fourth order, their derivatives to third: dop853 alone takes steps of 0.1 s here
        let options = Options { method, rtol: 1e-9, until, sample: Some(0.1), ..Options::default() };
        let options = options.with(|o| o.testing.max_step = Some(0.02));
        let (memory, summary) = record(OSCILLATOR, options);
        let t = Table(&memory);
        let of = |f: &dyn Fn(f64) -> f64| memory.times.iter().map(|t| f(*t)).collect::<Vec<_>>();
        near("x", &t.get("x"), &of(&|t| 0.2 * (w * t).cos()), 1e-6);
        near("quick", &t.get("quick"), &of(&|t| -0.2 * w * w * (w * t).cos()), 2e-4);
        near("way", &t.get("way"), &of(&|t| 0.2 / w * (w * t).sin() + t), 1e-6);
        // τ ẏ + y = 0.2 cos ωt, y(0) = 0.2
        let tau = 0.3;
        let d = 1.0 + (w * tau).powi(2);
        let lag = |t: f64| 0.2 / d * ((w * t).cos() + w * tau * (w * t).sin()) + (0.2 - 0.2 / d) * (-t / tau).exp();
        near("slow", &t.get("slow"), &of(&lag), 1e-6);
        near("force", &t.get("force"), &of(&|t| 0.01 * (w * t).cos()), 1e-6);
        let measure = |name: &str| summary.measure(name).unwrap_or_else(|| panic!("{name}"));
        // extremes and means do not depend on the ten samples in a period
        let (mean, square) = ((w * until).sin() / (w * until), (2.0 * w * until).sin() / (4.0 * w * until));
        for (name, value) in [
            ("x.max", 0.2),
            ("x.min", -0.2),
            ("x.absmax", 0.2),
            ("x.mean", 0.2 * mean),
            ("x.rms", 0.2 * (0.5 + square).sqrt()),
            ("x.final", 0.2 * (w * until).cos()),
            ("way.final", 0.2 / w * (w * until).sin() + until),
            ("slow.final", lag(until)),
        ] {
            assert!((measure(name) - value).abs() < 1e-6, "{method:?} {name}: {} {value}", measure(name));
        }
        assert!((measure("quick.max") - 5.0).abs() < 1e-3, "{}", measure("quick.max"));
        let x = summary.outputs.iter().find(|o| o.name == "x").unwrap();
        let period = std::f64::consts::TAU / w;
        let off = (x.min_at - 0.5 * period).rem_euclid(period);
        assert!(off.min(period - off) < 1e-3, "{}", x.min_at);
        assert_eq!((x.unit, summary.measure("x.median"), summary.measure("nothing.max")), ("m", None, None));
        assert_eq!(summary.last.get("way"), Some(measure("way.final")));
    }
}

/// An output of time is not stepped over where nothing else happens.
#[test]
fn an_integral_of_a_short_pulse_is_not_missed() {
    let text = r#"
        model = { plane = "xy" }
        body.ball = { mass = 1, inertia = 1, at = [0, 0], velocity = [1, 0] }
        [output]
        pulse = { value = "if(t < 5, 0, if(t < 5.001, 1000, 0))", integral = true }
        with_state = { value = "ball.x*if((t - 5)^2 < 2.5e-7, 1000, 0)", integral = true }
        "#;
    for method in [MethodName::Auto, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let (_, summary) = record(text, Options { method, until: 10.0, ..Options::default() });
        let last = |name: &str| summary.outputs.iter().find(|o| o.name == name).map(|o| o.last).unwrap();
        assert!((last("pulse") - 1.0).abs() < 1e-9, "{}: {}", method.name(), last("pulse"));
        assert!((last("with_state") - 5.0).abs() < 1e-6, "{}: {}", method.name(), last("with_state"));
    }
}

#[test]
fn what_is_recorded_is_chosen_and_changes_nothing_else() {
    let options = |record: &[&str]| Options {
        until: 0.5,
        record: record.iter().map(|s| s.to_string()).collect(),
        ..Options::default()
    };
    let names = |m: &Memory| m.header.channels.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let (all, whole) = record(OSCILLATOR, options(&[]));
    let (some, few) = record(OSCILLATOR, options(&["rail.f?", "rail.second.fx", "slow"]));
    assert_eq!(names(&some), ["rail.fx", "rail.fy", "rail.second.fx", "slow"]);
    assert_eq!((all.column("slow"), all.column("rail.fy")), (some.column("slow"), some.column("rail.fy")));
    assert_eq!((&whole.last, &whole.outputs), (&few.last, &few.outputs));
    assert_eq!(whole.statistics, few.statistics);
    // without reactions nothing is solved for
    let (poses, _) = record(OSCILLATOR, options(&["rail.position", "x"]));
    assert_eq!(poses.column("x"), all.column("x"));
    let (both, _) = record(OSCILLATOR, options(&["default", "rail.acceleration"]));
    let (mut wanted, outputs) = (names(&all), 6);
    wanted.insert(wanted.len() - outputs, "rail.acceleration".into());
    assert_eq!(names(&both), wanted);
    for (pattern, words) in [("rail.foce", "nothing is called `rail.foce`"), ("pin.*", "nothing is called `pin.*`")] {
        let error = Simulation::new(system(OSCILLATOR), options(&[pattern])).err().expect("a refusal").to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_run_that_goes_on_from_a_saved_state_has_the_same_outputs() {
    let options = Options { until: 1.0, method: MethodName::Dopri5, ..Options::default() };
    let mut simulation = Simulation::new(system(OSCILLATOR), options).expect("starts");
    simulation.advance_to(0.4).expect("goes");
    let saved = simulation.save().expect("is saved");
    let slow = simulation.channel("slow").expect("is recorded");
    simulation.advance_to(1.0).expect("goes");
    let first = simulation.value(slow).expect("is known");
    simulation.restore(&saved).expect("goes back");
    simulation.advance_to(1.0).expect("goes");
    assert_eq!(simulation.value(slow).expect("is known").to_bits(), first.to_bits());
}

#[test]
fn outputs_that_cannot_be_are_refused_with_what_to_try() {
    let with = |output: &str| format!("{}\n[output.y]\n{output}\n", OSCILLATOR.replace("[output]", "[output]\n"));
    for (output, words) in [
        (
            "value = \"rail.positon\"",
            &["output `y` uses `rail.positon`, which is no channel", "did you mean `rail.position`"][..],
        ),
        ("value = \"rial.rate\"", &["`rial.rate`"]),
        ("value = \"unknown + 1\"", &["unknown"]),
        ("value = \"t\"\nlag = 0.1\nderivative = true", &["more than one of `lag`, `derivative` and `integral`"]),
        ("value = \"t\"\nlag = 0", &["must be positive"]),
        ("unit = \"m\"", &["`value`"]),
    ] {
        let report = read_text("m.toml", &with(output), &[]).err().expect("a refusal").to_string();
        words.iter().for_each(|w| assert!(report.contains(w), "{w}: {report}"));
    }
    let clash = OSCILLATOR.replace("scale = 1e-3", "scale = 1e-3\nx = 1");
    let report = read_text("m.toml", &clash, &[]).err().expect("a refusal").to_string();
    assert!(report.contains("`x` is the name of a parameter and of an output"), "{report}");
    let twice = OSCILLATOR.replace("[force.k]", "[force.rail]").replace("k.force", "rail.force");
    let report = read_text("m.toml", &twice, &[]).err().expect("a refusal").to_string();
    assert!(report.contains("is the name of a joint and of a force"), "{report}");
}

#[test]
fn every_channel_is_in_the_reference_and_every_force_has_the_table_of_its_kind() {
    let reference = catalog::markdown();
    let s = system(TUMBLING);
    let owners: Vec<&str> = s.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert!(owners.len() == 4);
    for channel in catalog::all(&s.model) {
        let name = channel
            .name
            .split_once('.')
            .map_or(channel.name.as_str(), |(owner, rest)| if owner == "energy" { &channel.name } else { rest });
        let name = name.trim_start_matches("first.").trim_start_matches("second.").trim_end_matches('2');
        assert!(reference.contains(&format!("| `{name}` |")), "{} is not in the reference", channel.name);
    }
    for entry in &s.model.forces {
        let kind = forces::CATALOG.iter().find(|k| k.name == entry.kind).expect("in the catalog");
        assert_eq!(kind.channels, entry.force.quantities(), "{}", kind.name);
        assert!(kind.channels.len() <= forces::MAX_QUANTITIES);
        assert!(reference.contains(&format!("## Force `{}`", kind.name)) || kind.channels.is_empty());
    }
    let names: std::collections::HashSet<String> = catalog::all(&s.model).into_iter().map(|c| c.name).collect();
    assert_eq!(names.len(), catalog::all(&s.model).len(), "a name is there twice");
}

/// The least and the greatest of each channel.
fn extremes<'a>(rows: impl Iterator<Item = &'a [f64]>) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for row in rows {
        found.resize(row.len(), (f64::INFINITY, f64::NEG_INFINITY));
        found.iter_mut().zip(row).for_each(|(f, x): (&mut (f64, f64), _)| *f = (f.0.min(*x), f.1.max(*x)));
    }
    found
}

#[test]
fn a_hammer_of_twenty_milliseconds_shows_its_peak_in_ten_seconds() {
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.rod = { rod = { from = [0, 0], to = [0, -1], mass = 3 } }
        joint.pin = { type = "revolute", between = ["ground", "rod"], at = [0, 0] }
        force.hit = { type = "torque", body = "rod", torque = "50*max(0, 1 - abs(t - 5.013)/0.01)" }
    "#;
    for method in [MethodName::Auto, MethodName::Dop853, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let step = (method == MethodName::GeneralizedAlpha).then_some(1e-3);
        let (memory, _) = record(text, Options { method, step, until: 10.0, ..Options::default() });
        let table = Table(&memory);
        let (torque, force) = (table.get("hit.mz"), table.get("pin.fx"));
        let peak = (0..torque.len()).max_by(|a, b| torque[*a].total_cmp(&torque[*b])).unwrap();
        assert!((torque[peak] - 50.0).abs() < 1e-9, "{method:?}: {}", torque[peak]);
        assert!((memory.times[peak] - 5.013).abs() < 1e-9);
        // the pin pushes the rod sideways with 3/2 of M/l, as the rod is still nearly upright and at rest
        let largest = force.iter().fold(0.0f64, |m, f| m.max(f.abs()));
        assert!((largest - 75.0).abs() < 0.5, "{method:?}: {largest}");
        // a run that is quiet otherwise still has its curve
        assert!((200..2300).contains(&memory.times.len()), "{method:?}: {} rows", memory.times.len());
        let longest = memory.times.windows(2).map(|t| t[1] - t[0]).fold(0.0, f64::max);
        assert!(longest < 10.0 / 200.0 * (1.0 + 1e-9) || memory.times.len() > 1000, "{method:?}: {longest}");
    }
}

#[test]
fn both_sides_of_an_impact_are_recorded() {
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.ball = { mass = 0.5, sphere = { radius = 0.1 }, at = [0, 1] }
        force.floor = { type = "contact", between = ["ground", "ball"], normal = [0, 1], restitution = 0.5 }
    "#;
    let (memory, summary) = record(text, Options { until: 1.0, ..Options::default() });
    let t = summary.events[0].t;
    let k = memory.times.iter().position(|x| *x == t).expect("a row at the impact");
    let v = Table(&memory).get("ball.vy");
    let speed = (2.0 * 9.81 * 0.9f64).sqrt();
    assert!((v[k] + speed).abs() < 1e-6 && (v[k + 1] - 0.5 * speed).abs() < 1e-6, "{} {}", v[k], v[k + 1]);
    assert_eq!(memory.times[k + 1], t.next_up());
    assert!(memory.times.is_sorted_by(|a, b| a < b));
}

#[test]
fn fifty_thousand_steps_stay_within_the_budget_and_keep_every_extreme() {
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.upper = { mass = 1, at = [0.8, 0] }
        body.lower = { mass = 1, at = [1.3, 0] }
        joint.rod = { type = "distance", between = ["ground", "upper"], at = [[0, 0], [0.8, 0]] }
        joint.second = { type = "distance", between = ["upper", "lower"], at = [[0.8, 0], [1.3, 0]] }
    "#;
    let options = Options { method: MethodName::Bdf, rtol: 1e-8, until: 105.0, ..Options::default() };
    let (memory, summary) = record(text, options.clone());
    let channels = memory.header.channels.len();
    assert!(summary.statistics.steps > 50_000, "{}", summary.statistics.steps);
    assert!(memory.times.len() <= 2000 + 2 * channels, "{} rows", memory.times.len());
    let mut every = Simulation::new(system(text), options).unwrap();
    let mut rows = vec![every.observe().unwrap().to_vec()];
    while every.step().unwrap().is_some() {
        rows.push(every.observe().unwrap().to_vec());
    }
    assert_eq!(rows.len(), summary.statistics.steps + 1);
    let (all, kept) =
        (extremes(rows.iter().map(Vec::as_slice)), extremes((0..memory.times.len()).map(|k| memory.row(k))));
    for ((a, b), channel) in all.iter().zip(&kept).zip(&memory.header.channels) {
        assert_eq!(a, b, "{}", channel.name);
    }
}

#[test]
fn a_run_of_few_steps_keeps_every_one_of_them() {
    let (memory, summary) = record(TUMBLING, Options { until: 0.5, ..Options::default() });
    let mut every = Simulation::new(system(TUMBLING), Options { until: 0.5, ..Options::default() }).unwrap();
    let mut steps = 0;
    while let Some(step) = every.step().unwrap() {
        assert!(memory.times.contains(&step.t), "{step:?}");
        steps += 1;
    }
    assert!(steps < 1000 && steps >= summary.statistics.steps, "{steps}");
    // the same values as at equal intervals, where the times agree
    let until = memory.times[memory.times.len() - 1];
    let (even, _) = record(TUMBLING, Options { until: 0.5, sample: Some(0.5), ..Options::default() });
    assert_eq!((until, memory.row(memory.times.len() - 1)), (0.5, even.row(1)));
}

#[test]
fn a_run_of_too_many_channels_to_follow_the_motion_says_so() {
    let text = "[body.\"ball{i}\"]\nrepeat = 300\nmass = 1\ninertia = [1, 1, 1]\nat = [\"{i}\", 0, 0]\n";
    let options = |record: &[&str]| Options {
        method: MethodName::Dop853,
        until: 1.0,
        record: record.iter().map(|r| r.to_string()).collect(),
        ..Options::default()
    };
    let notes = |record: &[&str]| {
        let mut simulation = Simulation::new(system(text), options(record)).unwrap();
        let mut memory = Memory::default();
        assert_eq!(simulation.run(&mut memory).status, Status::Finished);
        let notes: Vec<String> = simulation.plan().revision_notes().map(|n| n.line).collect();
        (memory.times.len(), notes)
    };
    let (rows, told) = notes(&["*"]);
    assert_eq!(rows, 201);
    assert!(matches!(&told[..], [line] if line.starts_with("recorded at 200 equal intervals")), "{told:?}");
    assert!(notes(&["ball1.*"]).1.is_empty());
}

/// A slide that moves at 10 m/s, and outputs of it.
fn sliding(outputs: &str) -> String {
    format!(
        "model = {{ plane = \"xy\" }}\nbody.a = {{ mass = 1, inertia = 1, at = [0, 0], velocity = [10, 0] }}\n\
         joint.g = {{ type = \"prismatic\", between = [\"ground\", \"a\"], at = [0, 0] }}\n{outputs}\n"
    )
}

#[test]
fn integrals_and_lags_of_what_oscillates_within_a_step_are_right() {
    // four steps of a run to 10 s, which saw some sixty periods of six hundred; the integral was 8.4 for 5.0
    let text = sliding(
        "output.o = { value = \"sin(60*t)^2\", integral = true }\noutput.p = { value = \"sin(6*g.position)^2\", integral = true }\n\
         output.l = { value = \"sin(60*t)\", lag = 1 }\noutput.m = { value = \"sin(60*t)\" }",
    );
    let exact = 5.0 - 1200f64.sin() / 240.0;
    let lag = (600f64.sin() - 60.0 * 600f64.cos() + 60.0 * (-10f64).exp()) / 3601.0;
    for method in [MethodName::Auto, MethodName::Dop853, MethodName::Bdf] {
        let (memory, summary) = record(&text, Options { method, until: 10.0, ..Options::default() });
        let last = |name: &str| *memory.column(name).unwrap().last().unwrap();
        for (name, exact, most) in [("o", exact, 1e-4), ("p", exact, 1e-4), ("l", lag, 1e-5)] {
            assert!((last(name) - exact).abs() < most, "{method:?} {name}: {} {exact}", last(name));
        }
        let m = summary.outputs.iter().find(|o| o.name == "m").unwrap();
        assert!((m.rms - 0.5f64.sqrt()).abs() < 1e-2 && (m.max - 1.0).abs() < 1e-3, "{method:?} {m:?}");
    }
}

#[test]
fn outputs_do_not_pass_over_narrow_pulses() {
    let text = sliding(
        "output.s = { value = \"100*exp(-((t - 5)/0.01)^2)\", integral = true }\n\
         output.x = { value = \"100*exp(-((g.position - 50)/0.1)^2)\", integral = true }\n\
         output.c = { value = \"if(g.position > 51, if(g.position < 51.1, 100, 0), 0)\", integral = true }\n\
         output.m = { value = \"1/(1 + ((g.position - 33)/0.01)^2)\" }",
    );
    for method in [MethodName::Auto, MethodName::Dop853, MethodName::Bdf] {
        let (memory, summary) = record(&text, Options { method, until: 10.0, ..Options::default() });
        let last = |name: &str| *memory.column(name).unwrap().last().unwrap();
        for (name, exact) in [("s", std::f64::consts::PI.sqrt()), ("x", std::f64::consts::PI.sqrt()), ("c", 1.0)] {
            assert!((last(name) - exact).abs() < 1e-3, "{method:?} {name}: {} {exact}", last(name));
        }
        let m = summary.outputs.iter().find(|o| o.name == "m").unwrap();
        assert!(m.max > 0.99, "{method:?} {m:?}");
    }
}

#[test]
fn a_filtered_output_has_its_value_at_every_sample_also_within_a_divided_step() {
    let text = sliding("output.o = { value = \"sin(60*t)\", integral = true }");
    let (memory, _) = record(&text, Options { until: 10.0, sample: Some(0.01), ..Options::default() });
    for (k, o) in memory.column("o").unwrap().iter().enumerate() {
        let t = 0.01 * k as f64;
        let exact = (1.0 - (60.0 * t).cos()) / 60.0;
        assert!((o - exact).abs() < 1e-4, "{t}: {o} {exact}");
    }
}
