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
