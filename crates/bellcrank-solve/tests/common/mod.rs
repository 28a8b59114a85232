//! What the tests of whole simulations share.
#![allow(dead_code)]

use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, State, System};
use bellcrank_solve::choices::Options;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Machine, Simulation, Status, Summary};
use std::sync::Arc;

/// Compiles a model from its text.
pub fn system(text: &str) -> Arc<System> {
    match read_text("model.toml", text, &[]) {
        Ok(read) => Arc::new(read.model.compile()),
        Err(report) => panic!("{report}"),
    }
}

/// Runs a compiled model to the end.
pub fn run(system: &Arc<System>, options: Options) -> Summary {
    finish(system.into(), options)
}

/// Runs any equations to the end.
pub fn run_own(dynamics: Arc<dyn Dynamics>, start: &State, options: Options) -> Summary {
    finish(Machine::equations("test", dynamics, start), options)
}

fn finish(machine: Machine, options: Options) -> Summary {
    let mut simulation = match Simulation::new(machine, options) {
        Ok(simulation) => simulation,
        Err(e) => panic!("{e}"),
    };
    let summary = simulation.run(&mut Silent);
    assert_eq!(summary.status, Status::Finished);
    summary
}

/// The final value of a channel.
pub fn last(summary: &Summary, channel: &str) -> f64 {
    let found = summary.last.iter().find(|(name, _)| name == channel);
    found.unwrap_or_else(|| panic!("no channel {channel}")).1
}

/// A planar four-bar with a spring, swinging.
pub const FOUR_BAR: &str = r#"
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
[force]
k = { type = "spring-damper", between = ["ground", "coupler"], at = [[1, 3], [1.3, 1.0]], stiffness = 40, damping = 0.5, length = 1.5 }
[start]
a = { rate = 1.5 }
"#;

/// A spatial double pendulum: a revolute on a skew axis, then a ball joint, spinning.
pub const SPATIAL: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body.arm]
mass = 2
inertia = [0.3, 0.4, 0.2]
at = [0.5, 0, 0]
[body.top]
mass = 1
inertia = [0.05, 0.08, 0.06]
at = [1.0, 0.3, 0]
angular_velocity = [1, 3, 2]
[joint.hinge]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0, 0]
axis = [0.2, 1, 0.1]
[joint.ball]
type = "spherical"
between = ["arm", "top"]
at = [1, 0, 0]
[force.bush]
type = "torsional-spring-damper"
between = ["ground", "arm"]
axis = [0.2, 1, 0.1]
stiffness = 6
damping = 0.3
"#;

/// Windows in a row, in space or in the plane.
pub fn windows(n: usize, space: bool) -> String {
    let (plane, z) = if space { ("", ", 0") } else { ("plane = \"xy\", ", "") };
    let mut text = format!("model = {{ {plane}gravity = [0, -9.81{z}] }}\n[body]\n");
    let mut bar = |name: String, at: (f64, f64), upright: bool| {
        let inertia = if space { "[0.002, 0.0834, 0.0834]" } else { "0.0834" };
        let turn = match (space, upright) {
            (_, false) => "",
            (true, true) => ", orientation = { axis = [0, 0, 1], angle = \"pi/2\" }",
            (false, true) => ", angle = \"pi/2\"",
        };
        text += &format!("{name} = {{ mass = 1, inertia = {inertia}, at = [{}, {}{z}]{turn} }}\n", at.0, at.1);
    };
    (0..=n).for_each(|i| bar(format!("v{i}"), (i as f64, 0.5), true));
    (0..n).for_each(|i| bar(format!("h{i}"), (i as f64 + 0.5, 1.0), false));
    text += "[joint]\n";
    let mut pin = |name: String, a: String, b: String, at: (usize, usize)| {
        text += &format!(
            "{name} = {{ type = \"revolute\", between = [\"{a}\", \"{b}\"], at = [{}, {}{z}] }}\n",
            at.0, at.1
        );
    };
    (0..=n).for_each(|i| pin(format!("g{i}"), "ground".into(), format!("v{i}"), (i, 0)));
    for i in 0..n {
        pin(format!("a{i}"), format!("v{i}"), format!("h{i}"), (i, 1));
        pin(format!("b{i}"), format!("h{i}"), format!("v{}", i + 1), (i + 1, 1));
    }
    text + "[start]\ng0 = { rate = -1 }\n"
}

/// A closed chain of hinges from lengths, twists and angles [Denavit & Hartenberg 1955].
pub fn chain(links: &[(f64, f64)], angles: &[f64]) -> String {
    type Frame = [[f64; 4]; 3];
    let mut t: Frame = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    let (mut points, mut axes) = (Vec::new(), Vec::new());
    for (&(a, twist), angle) in links.iter().zip(angles) {
        points.push([0, 1, 2].map(|i| t[i][3]));
        axes.push([0, 1, 2].map(|i| t[i][2]));
        let ((s, c), (st, ct)) = (angle.sin_cos(), twist.sin_cos());
        let step = [[c, -s * ct, s * st, a * c], [s, c * ct, -c * st, a * s], [0.0, st, ct, 0.0], [0.0, 0.0, 0.0, 1.0]];
        t = t.map(|row| [0, 1, 2, 3].map(|j| (0..4).map(|k| row[k] * step[k][j]).sum()));
    }
    let gap = (0..3).map(|i| (0..4).map(|j| (t[i][j] - (i == j) as usize as f64).abs()).fold(0.0, f64::max));
    assert!(gap.fold(0.0, f64::max) < 1e-12, "the chain is closed");
    let n = links.len();
    let mut text = "model = { gravity = [0.3, -9.81, 1] }\n[body]\n".to_string();
    for i in 1..n {
        let at = [0, 1, 2].map(|k| 0.5 * (points[i - 1][k] + points[i][k]));
        text += &format!("l{i} = {{ mass = {}, inertia = [0.1, 0.12, 0.15], at = {at:?} }}\n", 1.0 + 0.3 * i as f64);
    }
    text += "[joint]\n";
    for i in 0..n {
        let body = |k: usize| if k == 0 || k == n { "ground".to_string() } else { format!("l{k}") };
        let (a, b) = (body(i), body(i + 1));
        text += &format!(
            "j{i} = {{ type = \"revolute\", between = [\"{a}\", \"{b}\"], at = {:?}, axis = {:?} }}\n",
            points[i], axes[i]
        );
    }
    text + "[start]\nj0 = { rate = 1 }\n"
}

/// Four hinges that no count of equations would let move [Bennett 1903].
pub fn bennett() -> String {
    let (a, b, alpha) = (1.0f64, 0.7f64, 70f64.to_radians());
    let beta = (alpha.sin() * b / a).asin();
    let first = 50f64.to_radians();
    let second = 2.0 * ((0.5 * (beta + alpha)).sin() / (0.5 * (beta - alpha)).sin() / (0.5 * first).tan()).atan();
    chain(&[(a, alpha), (b, beta), (a, alpha), (b, beta)], &[first, second, -first, -second])
}

/// Six hinges, three times alike [Bricard 1897]: cos θ + cos φ + cos θ cos φ = 0.
pub fn bricard() -> String {
    let theta = 70f64.to_radians();
    let phi = (-theta.cos() / (1.0 + theta.cos())).acos();
    let quarter = std::f64::consts::FRAC_PI_2;
    let half = std::f64::consts::PI;
    for (s1, s2, o1, o2) in (0..16).map(|k| (k & 1, k >> 1 & 1, k >> 2 & 1, k >> 3 & 1)) {
        let sign = |s: i32| if s == 0 { 1.0 } else { -1.0 };
        let (x, y) = (sign(s1) * theta + o1 as f64 * half, sign(s2) * phi + o2 as f64 * half);
        let links = [(1.0, quarter), (1.0, -quarter), (1.0, quarter), (1.0, -quarter), (1.0, quarter), (1.0, -quarter)];
        if let Ok(text) = std::panic::catch_unwind(|| chain(&links, &[x, y, x, y, x, y])) {
            return text;
        }
    }
    panic!("no branch closes");
}

/// A flyball governor: arms and sleeve of a spinning shaft, joined by spring-dampers, some of them hardly damped.
pub fn governor(damping: f64) -> String {
    let joined = |name: &str, x: f64| {
        format!(
            r#"
body.{name}.rod = {{ from = [0, 0, 0.2], to = [{}, 0, 0.06], mass = 1, radius = 0.01 }}
joint.h{name} = {{ type = "revolute", between = ["shaft", "{name}"], at = [0, 0, 0.2], axis = [0, 1, 0] }}
force.s{name} = {{ type = "spring-damper", between = ["{name}", "sleeve"], at = [[{}, 0, 0.12], [0, 0, 0.05]], stiffness = 8e5, damping = {damping} }}
"#,
            1.75 * x,
            x
        )
    };
    format!(
        r#"
model = {{ gravity = [0, 0, -9.81] }}
body.shaft = {{ cylinder = {{ radius = 0.02, length = 0.6, mass = 20 }}, at = [0, 0, 0], angular_velocity = [0, 0, 11.1] }}
body.sleeve = {{ cylinder = {{ radius = 0.03, length = 0.05, mass = 0.15 }}, at = [0, 0, 0.05] }}
joint.axle = {{ type = "revolute", between = ["ground", "shaft"], at = [0, 0, 0], axis = [0, 0, 1] }}
joint.guide = {{ type = "prismatic", between = ["shaft", "sleeve"], at = [0, 0, 0.05], axis = [0, 0, 1] }}
force.spring = {{ type = "spring-damper", between = ["shaft", "sleeve"], at = [[0, 0, 0.2], [0, 0, 0.05]], stiffness = 1e3, damping = 30 }}
start.axle = {{ rate = 11.1 }}
{}{}"#,
        joined("right", 0.08),
        joined("left", -0.08)
    )
}
