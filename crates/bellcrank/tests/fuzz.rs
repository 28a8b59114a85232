//! Spoiled copies of good models: whatever they say, reading, compiling, starting and stepping them ends
//! without a panic.

mod common;

use bellcrank_model::read::read_text;
use bellcrank_solve::options::{MethodName, Options};
use bellcrank_solve::record::{Header, Recorder};
use bellcrank_solve::simulation::Simulation;
use common::Dice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Every kind of body, joint and force, in the plane and in space.
const PLANE: &str = r#"
[model]
name = "all of the plane"
plane = "xy"
gravity = [0, -9.81]
[parameter]
k = 100.0
L = 0.3
[body.crank]
rod = { from = [0, 0], to = ["L", 0], mass = 3.0 }
[body.link]
mass = 0.9
inertia = 0.027
at = [0.6, 0]
angle = 0
velocity = [0, 1]
[body.string]
rod = { from = [0.9, 0], to = [1.2, 0], mass = 0.5 }
coordinates = "natural"
[body.bob]
mass = 1
at = [1.2, 0]
[body.block]
box = { size = [0.2, 0.1], mass = 2 }
at = [0, 1]
[joint.pin]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0]
[joint.elbow]
type = "revolute"
between = ["crank", "link"]
on = [[0.15, 0], [-0.3, 0]]
[joint.knot]
type = "revolute"
between = ["link", "string"]
at = [0.9, 0]
[joint.end]
type = "revolute"
between = ["string", "bob"]
at = [1.2, 0]
[joint.slide]
type = "prismatic"
between = ["ground", "block"]
at = [0, 1]
axis = [1, 1]
[joint.bar]
type = "distance"
between = ["block", "bob"]
at = [[0, 1], [1.2, 0]]
[force.spring]
type = "spring-damper"
between = ["ground", "link"]
at = [[3, 0], [0.7, 0]]
stiffness = "k"
damping = 5.0
length = "L"
[force.coil]
type = "torsional-spring-damper"
between = ["ground", "crank"]
stiffness = 4
damping = 0.1
angle = 1
[force.push]
type = "force"
body = "bob"
force = ["sin(3*t)", "if(t < 0.5, 1, 0)"]
[probe.B]
body = "link"
at = [0.7, 0]
[start]
pin = { angle = 0.1, rate = 1.0 }
[solve]
until = 2.0
rtol = 1e-6
"#;

const SPACE: &str = r#"
model = { gravity = [0, 0, -9.81] }
[parameter]
m = 2
[body.top]
mass = "m"
inertia = [0.2, 0.2, 0.1]
at = [0, 0, 1]
orientation = { axis = [1, 0, 0], angle = 0.3 }
angular_velocity = [0, 0, 20]
[body.arm]
cylinder = { radius = 0.1, length = 1, mass = 1 }
at = [1, 0, 0.5]
orientation = [1, 0, 0, 0]
[body.stick]
rod = { from = [0, 0, 2], to = [0, 1, 2], mass = 1 }
coordinates = "natural"
[body.ball]
sphere = { radius = 0.2, mass = 1 }
at = [2, 0, 0]
[body.brick]
mass = 1
inertia = [[1, 0.1, 0], [0.1, 2, 0], [0, 0, 2.5]]
at = [0, 3, 0]
[joint.foot]
type = "spherical"
between = ["ground", "top"]
at = [0, 0, 0]
[joint.hinge]
type = "revolute"
between = ["ground", "arm"]
at = [1, 0, 0]
axis = [0, 1, 0]
[joint.glue]
type = "fixed"
between = ["arm", "ball"]
at = [1, 0, 0]
[joint.hook]
type = "spherical"
between = ["ground", "stick"]
at = [0, 0, 2]
[joint.bar]
type = "distance"
between = ["stick", "brick"]
at = [[0, 1, 2], [0, 3, 0]]
length = 2.8
[joint.rail]
type = "prismatic"
between = ["ground", "brick"]
on = [[0, 3, 0], [0, 0, 0]]
axis = [[0, 0, 1], [0, 0, 1]]
[force.mount]
type = "bushing"
between = ["ground", "top"]
at = [0, 0, 1]
stiffness = [10, 10, 10, 1, 1, 1]
damping = [1, 1, 1, 0.1, 0.1, 0.1]
[force.twist]
type = "torque"
body = "arm"
torque = [0, "cos(t)", 0]
[probe.P]
body = "brick"
on = [0, 0, 1]
[start]
rail = { rate = 0.1 }
"#;

/// Counts frames and keeps none.
struct Count(usize);

impl Recorder for Count {
    fn begin(&mut self, _: &Header) -> std::io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> std::io::Result<()> {
        self.0 += 1;
        Ok(())
    }
    fn end(&mut self, summary: &serde_json::Value) -> std::io::Result<()> {
        assert!(summary.to_string().len() > 100);
        Ok(())
    }
}

const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "1e-300",
    "1e300",
    "-1e300",
    "1e-9",
    "1e9",
    "nan",
    "inf",
    "true",
    "\"\"",
    "\"t\"",
    "\"1/t\"",
    "\"sqrt(0.001 - t)\"",
    "\"1/(t - 0.001)\"",
    "\"k\"",
    "\"exp(1e3*t)\"",
    "[0, 0]",
    "[0, 0, 0]",
    "[1, 0]",
    "[0, 1, 0]",
    "[]",
    "[[0, 0], [1, 0]]",
    "[[0, 0, 0], [1, 0, 0]]",
    "{}",
    "\"ground\"",
    "\"xy\"",
    "9007199254740993",
    "-0.0",
    "4e-324",
];

const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "7", "0.1", "0.5", "0.9", "1e-300", "1e300", "1e-9", "1e9", "1e-3", "1e3", "4e-324", "nan",
    "1e17",
];

const WORDS: &[&str] = &[
    "ground",
    "crank",
    "link",
    "string",
    "bob",
    "top",
    "arm",
    "stick",
    "brick",
    "pin",
    "rail",
    "revolute",
    "prismatic",
    "spherical",
    "distance",
    "fixed",
    "bushing",
    "force",
    "torque",
    "spring-damper",
    "natural",
    "xy",
    "nobody",
    "",
];

/// A copy of the model with a few lines dropped, doubled, exchanged, or with other values or names.
fn spoil(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..=dice.below(3) {
        let (i, j) = (dice.below(lines.len()), dice.below(lines.len()));
        let line = lines[i].clone();
        match dice.below(12) {
            0 => drop(lines.remove(i)),
            1 => lines.insert(j, line),
            2 => lines.swap(i, j),
            // another value for a key
            3 | 4 => {
                if let Some((key, _)) = line.split_once(" = ") {
                    lines[i] = format!("{key} = {}", dice.pick(VALUES));
                }
            }
            // another number for a number
            5..=9 => {
                let digits = |c: char| c.is_ascii_digit() || c == '.';
                let starts: Vec<usize> = line.match_indices(|c: char| c.is_ascii_digit()).map(|(i, _)| i).collect();
                if !starts.is_empty() {
                    let start = starts[dice.below(starts.len())];
                    let end = start + line[start..].find(|c| !digits(c)).unwrap_or(line.len() - start);
                    lines[i] = format!("{}{}{}", &line[..start], dice.pick(NUMBERS), &line[end..]);
                }
            }
            // another word for a word
            10 => {
                let quotes: Vec<usize> = line.match_indices('"').map(|(i, _)| i).collect();
                if quotes.len() >= 2 {
                    let k = dice.below(quotes.len() / 2) * 2;
                    lines[i] = format!("{}{}{}", &line[..=quotes[k]], dice.pick(WORDS), &line[quotes[k + 1]..]);
                }
            }
            // noise
            _ => {
                let mut chars: Vec<char> = line.chars().collect();
                let noise: Vec<char> = "[]{}=\",.#\\-\u{0}\u{202e}é".chars().collect();
                chars.insert(dice.below(chars.len() + 1), noise[dice.below(noise.len())]);
                lines[i] = chars.into_iter().collect();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

const METHODS: &[(MethodName, Option<f64>)] = &[
    (MethodName::Auto, None),
    (MethodName::Bdf, None),
    (MethodName::Dop853, None),
    (MethodName::GeneralizedAlpha, Some(1e-3)),
    (MethodName::Rk4, Some(1e-3)),
];

/// Reads, compiles, starts and takes a few steps; tells how far it came.
fn attempt(text: &str, method: (MethodName, Option<f64>)) -> usize {
    let read = match read_text("model.toml", text, &[]) {
        Ok(read) => read,
        Err(report) => {
            assert!(report.to_string().starts_with("error: "));
            return 0;
        }
    };
    let system = Arc::new(read.model.compile());
    let start = system.initial_state();
    let options = Options { method: method.0, step: method.1, until: 0.01, ..Options::default() };
    let interrupt = options.interrupt.clone();
    match Simulation::new("fuzz", system, &start, options) {
        Err(e) => {
            assert!(!e.to_string().is_empty());
            1
        }
        Ok(mut simulation) => {
            let mut steps = 0;
            let summary = simulation.run(&mut Count(0), &mut |_, _| {
                steps += 1;
                interrupt.store(steps >= 5, Ordering::Relaxed);
            });
            assert!(summary.to_json()["final"].is_object());
            2
        }
    }
}

#[test]
fn no_model_makes_it_panic() {
    let mut texts = vec![PLANE.to_string(), SPACE.to_string()];
    texts.extend(
        common::models().iter().filter(|p| common::is_readable(p)).map(|p| std::fs::read_to_string(p).unwrap()),
    );
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut reached = [0; 3];
    for text in &texts {
        for method in METHODS {
            assert_eq!(attempt(text, *method), 2, "the unspoiled model runs with {method:?}");
        }
    }
    for round in 0..4000 {
        // the two models that have everything take every other round
        let text = if round % 2 == 0 { &texts[round / 2 % 2] } else { &texts[dice.below(texts.len())] };
        reached[attempt(&spoil(text, &mut dice), METHODS[round % METHODS.len()])] += 1;
    }
    assert!(reached.iter().all(|n| *n > 100), "{reached:?}");
}
