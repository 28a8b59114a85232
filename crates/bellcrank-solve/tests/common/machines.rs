//! Random machines of every kind, and the question put to each: do methods and coordinates agree?
//!
//! A machine is run by three methods in Cartesian coordinates and by two in relative ones. Runs that reach their end must agree
//! within [`AGREEMENT`] times the tolerance, relative to the size of the machine; the others must say why not.

#[path = "mixed.rs"]
mod mixed;

use bellcrank_model::read::read_text;
use bellcrank_model::system::System;
use bellcrank_model::testing::{Random, random_mechanism};
use bellcrank_solve::choices::{Coordinates, MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status};
use mixed::between;
use std::sync::Arc;

/// The tolerance of the runs.
pub const RTOL: f64 = 1e-6;
/// A run that takes longer, in s, is given up, and told.
const PATIENCE: f64 = 20.0;
/// Runs may differ by this many tolerances.
pub const AGREEMENT: f64 = 100.0;

/// The ways a machine is run.
pub const WAYS: [(MethodName, Coordinates); 5] = [
    (MethodName::Dopri5, Coordinates::Cartesian),
    (MethodName::Bdf, Coordinates::Cartesian),
    (MethodName::GeneralizedAlpha, Coordinates::Cartesian),
    (MethodName::Dop853, Coordinates::Relative),
    (MethodName::Bdf, Coordinates::Relative),
];

/// The kinds of machines, each with how one is drawn.
pub const KINDS: [(&str, fn(&mut Random) -> String); 10] = [
    ("tree", |r| at_rest(&random_mechanism(r, 2, 0, false))),
    ("loop", |r| at_rest(&random_mechanism(r, 3, 1, true))),
    ("four-bar", |r| four_bar(r, "plane = \"xy\", ", "")),
    ("redundant", |r| four_bar(r, "", ", 0")),
    ("massless", massless),
    ("gears", gears),
    ("contact", contact),
    ("pulse", pulse),
    ("drive", drive),
    ("mixed", mixed::mixed),
];

/// A four-bar with a spring; in space its parallel hinges are redundant.
fn four_bar(r: &mut Random, plane: &str, z: &str) -> String {
    let (x, y) = (between(r, 0.2, 0.5), between(r, 0.5, 0.9));
    let (u, v, d) = (between(r, 1.4, 2.0), between(r, 0.8, 1.3), between(r, 1.6, 2.2));
    let k = between(r, 10.0, 60.0);
    let rest = if z.is_empty() { "" } else { ", radius = 0.02" };
    format!(
        r#"model = {{ {plane}gravity = [0, -9.81{z}] }}
[body]
crank = {{ rod = {{ from = [0, 0{z}], to = [{x}, {y}{z}], mass = 2{rest} }} }}
coupler = {{ rod = {{ from = [{x}, {y}{z}], to = [{u}, {v}{z}], mass = 3{rest} }} }}
rocker = {{ rod = {{ from = [{d}, 0{z}], to = [{u}, {v}{z}], mass = 2{rest} }} }}
[joint]
a = {{ type = "revolute", between = ["ground", "crank"], at = [0, 0{z}] }}
b = {{ type = "revolute", between = ["crank", "coupler"], at = [{x}, {y}{z}] }}
c = {{ type = "revolute", between = ["coupler", "rocker"], at = [{u}, {v}{z}] }}
d = {{ type = "revolute", between = ["rocker", "ground"], at = [{d}, 0{z}] }}
[force]
s = {{ type = "spring-damper", between = ["ground", "coupler"], at = [[1, 2{z}], [{u}, {v}{z}]], stiffness = {k}, damping = 0.3, length = 1.2 }}
"#
    )
}

/// A weight on a link without mass.
fn massless(r: &mut Random) -> String {
    let (length, mass) = (between(r, 0.3, 0.8), between(r, 0.5, 2.0));
    let inertia = between(r, 0.01, 0.1);
    format!(
        r#"model = {{ plane = "xy", gravity = [0, -9.81] }}
[body]
link = {{ mass = 0, inertia = 0, at = [{length}, 0] }}
weight = {{ mass = {mass}, inertia = {inertia}, at = [{length}, -0.2] }}
[joint]
pin = {{ type = "revolute", between = ["ground", "link"], at = [0, 0] }}
key = {{ type = "fixed", between = ["link", "weight"], at = [{length}, 0] }}
"#
    )
}

/// Two wheels in mesh, a weight on one of them.
fn gears(r: &mut Random) -> String {
    let (ratio, arm, first, second) =
        (between(r, -3.0, -0.5), between(r, 0.1, 0.4), between(r, 0.02, 0.1), between(r, 0.02, 0.2));
    format!(
        r#"model = {{ plane = "xy", gravity = [0, -9.81] }}
[body]
pinion = {{ mass = 1, inertia = {first}, at = [0, 0] }}
wheel = {{ mass = 2, inertia = {second}, at = [{arm}, 1] }}
[joint]
p = {{ type = "revolute", between = ["ground", "pinion"], at = [0, 0] }}
w = {{ type = "revolute", between = ["ground", "wheel"], at = [0, 1] }}
mesh = {{ type = "gear", joints = ["p", "w"], ratio = {ratio} }}
"#
    )
}

/// A ball that falls on the floor, hard or soft. A stiff floor turns an error of the position into one of the speed that is
/// √(k/m) times as large; here that is at most 70.
fn contact(r: &mut Random) -> String {
    let (height, speed) = (between(r, 0.3, 0.8), between(r, -1.0, 1.0));
    let law = match r.below(2) {
        0 => format!("restitution = {}", between(r, 0.3, 0.9)),
        _ => format!("stiffness = {}, exponent = 1, damping = 0.2", between(r, 500.0, 2500.0)),
    };
    format!(
        r#"model = {{ plane = "xy", gravity = [0, -9.81] }}
body.ball = {{ mass = 0.5, sphere = {{ radius = 0.1 }}, at = [0, {height}], velocity = [{speed}, 0] }}
force.floor = {{ type = "contact", between = ["ground", "ball"], normal = [0, 1], {law} }}
"#
    )
}

/// A pendulum at rest, hit once.
fn pulse(r: &mut Random) -> String {
    let (t, width, force) = (between(r, 0.1, 0.7), 10f64.powf(between(r, -3.0, -1.0)), between(r, 1.0, 20.0));
    let until = t + width;
    format!(
        r#"model = {{ plane = "xy", gravity = [0, -9.81] }}
body.bob = {{ mass = 1, inertia = 0.1, at = [0, -0.5] }}
joint.pin = {{ type = "revolute", between = ["ground", "bob"], at = [0, 0] }}
force.hammer = {{ type = "force", body = "bob", force = ["if(t > {t}, if(t < {until}, {force}, 0), 0)", 0] }}
"#
    )
}

/// A driven crank with a pendulum on it.
fn drive(r: &mut Random) -> String {
    let (rate, size) = (between(r, 1.0, 6.0), between(r, 0.2, 1.0));
    format!(
        r#"model = {{ plane = "xy", gravity = [0, -9.81] }}
[body]
crank = {{ mass = 1, inertia = 0.1, at = [0.3, 0] }}
bob = {{ mass = 1, inertia = 0.02, at = [0.6, -0.4] }}
[joint]
pin = {{ type = "revolute", between = ["ground", "crank"], at = [0, 0] }}
elbow = {{ type = "revolute", between = ["crank", "bob"], at = [0.6, 0] }}
motor = {{ type = "drive", joint = "pin", angle = "{size}*sin({rate}*t)" }}
"#
    )
}

/// What became of a machine.
#[derive(Debug)]
pub struct Outcome {
    /// The largest difference of two runs, in tolerances.
    pub difference: f64,
    /// The channel where it is.
    pub channel: String,
    /// Runs that did not reach the end, with their words.
    pub refused: Vec<String>,
}

/// Runs a machine in every way at a tolerance and compares the ends.
pub fn compare(text: &str, rtol: f64) -> Result<Outcome, String> {
    let read = read_text("machine.toml", text, &[]).map_err(|e| e.to_string())?;
    let system = Arc::new(read.model.into_system());
    let mut refused = Vec::new();
    let mut ends: Vec<Vec<(String, f64)>> = Vec::new();
    for (method, coordinates) in WAYS {
        match run(&system, method, coordinates, rtol) {
            Ok(end) => ends.push(end),
            Err(why) => refused.push(format!("{} {coordinates:?}: {why}", method.name())),
        }
    }
    let mut outcome = Outcome { difference: 0.0, channel: String::new(), refused };
    let Some(first) = ends.first() else { return Ok(outcome) };
    // lengths against the machine's, velocities against its largest one
    let size = |unit: &str| {
        let of_unit = first.iter().filter(|(name, _)| kind(name) == Some(unit));
        of_unit.fold(1.0f64, |m, (_, x)| m.max(x.abs()))
    };
    let sizes = [("position", size("position")), ("velocity", size("velocity"))];
    for (j, (name, x)) in first.iter().enumerate() {
        let Some((_, size)) = sizes.iter().find(|(k, _)| kind(name) == Some(*k)) else { continue };
        for other in &ends[1..] {
            let difference = (other[j].1 - x).abs() / (size * rtol);
            if difference.is_nan() || difference > outcome.difference {
                (outcome.difference, outcome.channel) = (difference, name.clone());
            }
        }
    }
    Ok(outcome)
}

/// Whether a channel of a body is a position or a velocity.
fn kind(channel: &str) -> Option<&'static str> {
    match channel.rsplit_once('.')?.1 {
        "x" | "y" | "z" => Some("position"),
        "vx" | "vy" | "vz" => Some("velocity"),
        _ => None,
    }
}

fn run(
    system: &Arc<System>,
    method: MethodName,
    coordinates: Coordinates,
    rtol: f64,
) -> Result<Vec<(String, f64)>, String> {
    let mut options = Options { method, coordinates, until: 1.0, rtol, ..Options::default() };
    options.resources.max_seconds = Some(PATIENCE);
    let mut simulation = Simulation::new(system.clone(), options).map_err(|e| e.to_string())?;
    let summary = simulation.run(&mut Silent);
    match summary.status {
        Status::Finished => Ok(summary.last.to_vec()),
        Status::Failed(e) => Err(e.to_string()),
        Status::Interrupted => Err("interrupted".into()),
    }
}

/// The machine without the random velocities of its bodies, which its joints forbid.
fn at_rest(text: &str) -> String {
    let line = |line: &str| {
        let (body, rest) = line.split_once(", velocity = [").unwrap_or((line, ""));
        let rest = rest.split_once(']').map_or("", |(_, rest)| rest);
        let (kept, cut) = rest.split_once(", angular_velocity").map_or((rest, ""), |(kept, _)| (kept, " }"));
        format!("{body}{kept}{cut}\n")
    };
    text.lines().map(line).collect()
}
