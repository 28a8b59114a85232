//! Machines that nothing damps, over some ten periods: what is lost in one of their steps is never forgotten.
#![allow(dead_code)]

use bellcrank_model::dynamics::Scale;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::{State, System};

/// The largest difference of a coordinate, in sizes of the machine, or of an angle, in rad.
pub fn distance(system: &System, a: &State, b: &State) -> f64 {
    let mut delta = vec![0.0; a.q.len()];
    system.differ(a, b, &mut delta);
    let size = |(d, scale): (&f64, Scale)| d.abs() / if scale == Scale::Length { system.length() } else { 1.0 };
    delta.iter().zip(system.scales()).map(size).fold(0.0, f64::max)
}

/// A machine, and how long it runs.
pub struct Undamped {
    /// Its name.
    pub name: &'static str,
    /// The model file.
    pub text: String,
    /// The end of the run, in s.
    pub until: f64,
    /// Whether it is stiff: fast motions that accuracy does not ask for.
    pub stiff: bool,
}

fn machine(name: &'static str, until: f64, text: &str) -> Undamped {
    Undamped { name, text: text.to_string(), until, stiff: false }
}

/// Rods in a row, hanging from the ground and let go from an angle to the vertical.
fn chain(n: usize, angle: f64) -> String {
    let (dx, dy) = (angle.sin(), -angle.cos());
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for i in 0..n {
        let at = |k: usize| format!("[{}, {}]", k as f64 * dx, k as f64 * dy);
        let before = if i == 0 { "ground".into() } else { format!("b{}", i - 1) };
        text += &format!("body.b{i}.rod = {{ from = {}, to = {}, mass = 1 }}\n", at(i), at(i + 1));
        text +=
            &format!("joint.j{i} = {{ type = \"revolute\", between = [\"{before}\", \"b{i}\"], at = {} }}\n", at(i));
    }
    text
}

/// Two rods in the plane, `size` m long, at a place; gravity grows with the size, so that the motion is the same.
pub fn rods(size: f64, x: f64, y: f64) -> String {
    let at = |a: f64, b: f64| format!("[{:?}, {:?}]", x + size * a, y + size * b);
    let (top, middle, end) = (at(0.0, 0.0), at(0.6, -0.8), at(1.4, -1.4));
    format!(
        r#"
model = {{ plane = "xy", gravity = [0, {:?}] }}
body.upper.rod = {{ from = {top}, to = {middle}, mass = 2 }}
body.lower.rod = {{ from = {middle}, to = {end}, mass = 1 }}
joint.pin = {{ type = "revolute", between = ["ground", "upper"], at = {top} }}
joint.elbow = {{ type = "revolute", between = ["upper", "lower"], at = {middle} }}
"#,
        -9.81 * size
    )
}

/// All of them: in the plane and in space, trees and loops, with springs, flexible, stiff.
pub fn machines() -> Vec<Undamped> {
    let mut all = vec![
        machine(
            "pendulum",
            18.0,
            r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.bob = { mass = 1.5, at = [0.8, 0] }
joint.rod = { type = "distance", between = ["ground", "bob"], at = [[0, 0], [0.8, 0]] }
"#,
        ),
        machine("small-swing", 20.0, &chain(1, 0.1)),
        machine("double-pendulum", 20.0, &chain(2, 0.5)),
        machine("chain", 20.0, &chain(5, 0.15)),
        machine(
            "oscillator",
            10.0,
            r#"
model = { plane = "xy" }
body.a = { mass = 1, inertia = 1, at = [1, 0] }
joint.g = { type = "prismatic", between = ["ground", "a"], at = [0, 0], axis = [1, 0] }
force.k = { type = "spring-damper", between = ["ground", "a"], at = [[0, 0], [1, 0]], stiffness = 40, damping = 0, length = 0.8 }
"#,
        ),
        machine("four-bar", 15.0, &super::FOUR_BAR.replace("damping = 0.5", "damping = 0")),
        machine("spatial", 4.0, &super::SPATIAL.replace("damping = 0.3", "damping = 0")),
        machine(
            "slider-crank",
            6.0,
            &include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/slider-crank/model.toml"))
                .replace("c = 5", "c = 0"),
        ),
        machine("top", 2.0, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/heavy-top/model.toml"))),
        machine(
            "free-body",
            30.0,
            &include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/free-body/model.toml"))
                .replace("[0.01, 2, 0]", "[0.3, 2, 0.1]"),
        ),
        machine(
            "orbits",
            20.0,
            r#"
model = { plane = "xy" }
body.sun = { mass = 1, inertia = 1, at = [0, 0] }
body.near = { mass = 1e-3, inertia = 1e-3, at = [0.6, 0], velocity = [0, 1.5] }
body.far = { mass = 1e-3, inertia = 1e-3, at = [0, 1.3], velocity = [-0.9, 0] }
force.a = { type = "attraction", between = ["sun", "near"], constant = 1 }
force.b = { type = "attraction", between = ["sun", "far"], constant = 1 }
force.c = { type = "attraction", between = ["near", "far"], constant = 1 }
"#,
        ),
        machine("bennett", 8.0, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/bennett.toml"))),
        machine(
            "ruler",
            8.0,
            &include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/flexible-rod.toml"))
                .replace("damping = 0.005", "damping = 0"),
        ),
        machine(
            "flexible-crank",
            1.0,
            &include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/flexible-crank.toml"))
                .replace("damping = 0.02", "damping = 0"),
        ),
        machine(
            "elastic-pendulum",
            15.0,
            r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.bob = { mass = 1, at = [0.9, -0.4] }
force.k = { type = "spring-damper", between = ["ground", "bob"], at = [[0, 0], [0.9, -0.4]], stiffness = 200, damping = 0, length = 0.95 }
"#,
        ),
    ];
    for (name, size, x) in
        [("rods", 1.0, 0.0), ("rods-1e-6-m", 1e-6, 0.0), ("rods-1e6-m", 1e6, 0.0), ("rods-1e5-m-away", 1.0, 1e5)]
    {
        all.push(machine(name, 20.0, &rods(size, x, -x)));
    }
    all.push(Undamped {
        stiff: true,
        ..machine(
            "stiff-pendulum",
            15.0,
            r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.bob = { mass = 1, at = [0, -1.00000981], velocity = [2.5, 0] }
force.k = { type = "spring-damper", between = ["ground", "bob"], at = [[0, 0], [0, -1.00000981]], stiffness = 1e6, damping = 2e3, length = 1 }
"#,
        )
    });
    all
}
