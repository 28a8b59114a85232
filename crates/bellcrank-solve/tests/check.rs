//! Small bad models, each classified right with the right names; and good ones, of which nothing bad is said.

mod common;

use bellcrank_model::read::read_text;
use bellcrank_solve::check::{Check, Severity, check};
use bellcrank_solve::choices::{MethodName, Options};
use common::*;

fn look(text: &str) -> Check {
    check(&system(text), &Options::default())
}

/// One bad model: what kind of finding, about what, and what it says.
struct Bad {
    what: &'static str,
    text: String,
    kind: &'static str,
    names: &'static [&'static str],
    says: &'static [&'static str],
    /// Degrees of freedom and redundant equations, where they are of interest.
    freedom: Option<(usize, usize)>,
}

fn bad(
    what: &'static str,
    kind: &'static str,
    names: &'static [&'static str],
    says: &'static [&'static str],
    freedom: Option<(usize, usize)>,
    text: &str,
) -> Bad {
    Bad { what, text: text.to_string(), kind, names, says, freedom }
}

const SPATIAL_FOUR_BAR: &str = r#"
[body]
crank = { rod = { from = [0, 0, 0], to = [0.5, 0.8, 0], mass = 2, radius = 0.02 } }
coupler = { rod = { from = [0.5, 0.8, 0], to = [2.1, 1.2, 0], mass = 3, radius = 0.02 } }
rocker = { rod = { from = [2.0, 0, 0], to = [2.1, 1.2, 0], mass = 2, radius = 0.02 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0, 0] }
b = { type = "revolute", between = ["crank", "coupler"], at = [0.5, 0.8, 0] }
c = { type = "revolute", between = ["coupler", "rocker"], at = [2.1, 1.2, 0] }
d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0, 0] }
"#;

fn redundant() -> Vec<Bad> {
    vec![
        bad(
            "spatial four-bar",
            "redundant",
            &["joint `d`"],
            &[
                "3 redundant",
                "shift along z, turn about x, turn about y",
                "joint `d` spherical",
                "joint `a` cylindrical",
            ],
            Some((1, 3)),
            SPATIAL_FOUR_BAR,
        ),
        bad(
            "a door on two hinges",
            "redundant",
            &["joint `upper`"],
            &["5 redundant equations", "make joint `lower`", "make joint `upper`"],
            Some((1, 5)),
            r#"
[body.door]
box = { size = [0.8, 0.05, 2], mass = 30 }
at = [0.4, 0, 1]
[joint]
lower = { type = "revolute", between = ["ground", "door"], at = [0, 0, 0.3] }
upper = { type = "revolute", between = ["ground", "door"], at = [0, 0, 1.7] }
"#,
        ),
        bad(
            "welded twice",
            "redundant",
            &["joint `second`"],
            &["6 redundant equations", "leave out joint `second`"],
            Some((0, 6)),
            r#"
[body.block]
box = { size = [1, 1, 1], mass = 1000 }
[joint]
first = { type = "fixed", between = ["ground", "block"], at = [0, 0, 0.5] }
second = { type = "fixed", between = ["ground", "block"], at = [0, 0.5, 0] }
"#,
        ),
        bad(
            "two parallel guides",
            "redundant",
            &["joint `right`"],
            &["2 redundant equations", "joint `right`"],
            Some((1, 2)),
            r#"
model = { plane = "xy" }
[body.carriage]
mass = 1
inertia = 0.1
[joint]
left = { type = "prismatic", between = ["ground", "carriage"], at = [0, -0.5], axis = [1, 0] }
right = { type = "prismatic", between = ["ground", "carriage"], at = [0, 0.5], axis = [1, 0] }
"#,
        ),
        bad(
            "the same pin twice",
            "redundant",
            &["joint `again`"],
            &["2 redundant equations", "shift along x, shift along y"],
            Some((1, 2)),
            r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body.arm]
rod = { from = [0, 0], to = [1, 0], mass = 1 }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
again = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
"#,
        ),
        bad(
            "a platform on three parallel cranks",
            "redundant",
            &["joint `c2`"],
            &["1 redundant equation"],
            Some((1, 1)),
            r#"
model = { plane = "xy" }
[body]
k1 = { rod = { from = [0, 0], to = [0.3, 1], mass = 1 } }
k2 = { rod = { from = [1, 0], to = [1.3, 1], mass = 1 } }
k3 = { rod = { from = [2, 0], to = [2.3, 1], mass = 1 } }
deck = { rod = { from = [0.3, 1], to = [2.3, 1], mass = 1 } }
[joint]
a1 = { type = "revolute", between = ["ground", "k1"], at = [0, 0] }
b1 = { type = "revolute", between = ["ground", "k2"], at = [1, 0] }
c1 = { type = "revolute", between = ["ground", "k3"], at = [2, 0] }
a2 = { type = "revolute", between = ["k1", "deck"], at = [0.3, 1] }
b2 = { type = "revolute", between = ["k2", "deck"], at = [1.3, 1] }
c2 = { type = "revolute", between = ["k3", "deck"], at = [2.3, 1] }
"#,
        ),
        bad(
            "two equal gears between the same shafts",
            "redundant",
            &["joint `g2`"],
            &["1 redundant equation", "the ratio", "leave out joint `g2`"],
            Some((1, 1)),
            r#"
model = { plane = "xy" }
[body]
w1 = { mass = 1, inertia = 0.1, at = [0, 0] }
w2 = { mass = 1, inertia = 0.1, at = [1, 0] }
[joint]
s1 = { type = "revolute", between = ["ground", "w1"], at = [0, 0] }
s2 = { type = "revolute", between = ["ground", "w2"], at = [1, 0] }
g1 = { type = "gear", joints = ["s1", "s2"], ratio = -2 }
g2 = { type = "gear", joints = ["s1", "s2"], ratio = -2 }
"#,
        ),
    ]
}

fn conflicting() -> Vec<Bad> {
    vec![
        bad(
            "a coupler too short",
            "conflicting",
            &["joint `a`", "joint `b`", "joint `c`", "joint `d`"],
            &["contradict each other", "m at"],
            None,
            r#"
model = { plane = "xy" }
[body]
crank = { rod = { from = [0, 0], to = [0.5, 0], mass = 2 } }
coupler = { rod = { from = [0.5, 0], to = [1.0, 0], mass = 3 } }
rocker = { rod = { from = [3, 0], to = [2.5, 0.1], mass = 2 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
b = { type = "revolute", between = ["crank", "coupler"], on = [[0.25, 0], [-0.25, 0]] }
c = { type = "revolute", between = ["coupler", "rocker"], on = [[0.25, 0], [0.25, 0]] }
d = { type = "revolute", between = ["rocker", "ground"], at = [3, 0] }
"#,
        ),
        bad(
            "two motors on one shaft",
            "conflicting",
            &["joint `m1`", "joint `m2`"],
            &["contradict each other"],
            None,
            r#"
model = { plane = "xy" }
[body.arm]
rod = { from = [0, 0], to = [1, 0], mass = 1 }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
m1 = { type = "drive", joint = "pin", angle = 0.1 }
m2 = { type = "drive", joint = "pin", angle = 0.4 }
"#,
        ),
        bad(
            "a bar that does not reach",
            "conflicting",
            &["joint `pin`", "joint `bar`"],
            &["contradict each other"],
            None,
            r#"
model = { plane = "xy" }
[body.arm]
rod = { from = [0, 0], to = [1, 0], mass = 1 }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
bar = { type = "distance", between = ["ground", "arm"], at = [[5, 0], [1, 0]], length = 2 }
"#,
        ),
        bad(
            "welded to two places",
            "conflicting",
            &["joint `here`", "joint `there`"],
            &["0.5000 m"],
            None,
            r#"
model = { plane = "xy" }
[body.block]
mass = 1
inertia = 0.1
[joint]
here = { type = "fixed", between = ["ground", "block"], on = [[0, 0], [0, 0]] }
there = { type = "fixed", between = ["ground", "block"], on = [[1, 0], [0, 0]] }
"#,
        ),
        bad(
            "a fixed body that would have to move",
            "conflicting",
            &["joint `pin`"],
            &["body `arm` is not to move", "0.2000 m"],
            None,
            r#"
model = { plane = "xy" }
[body.arm]
rod = { from = [0, 0], to = [1, 0], mass = 1 }
fixed = true
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
on = [[0, 0.2], [-0.5, 0]]
"#,
        ),
        bad(
            "a start out of reach",
            "conflicting",
            &["joint `pin`", "the start of joint `slide`"],
            &["contradict each other"],
            None,
            r#"
model = { plane = "xy" }
[body.arm]
rod = { from = [0, 0], to = [1, 0.1], mass = 1 }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
slide = { type = "point-on-line", between = ["ground", "arm"], at = [1, 0.1], axis = [1, 0] }
[start]
slide = { position = 3 }
"#,
        ),
        bad(
            "rates that contradict",
            "conflicting",
            &["joint `pin`", "joint `tip`", "the start of joint `pin`", "the start of joint `slide`"],
            &["m/s"],
            None,
            r#"
model = { plane = "xy" }
[body.arm]
rod = { from = [0, 0], to = [0, 1], mass = 1 }
[body.cart]
mass = 1
at = [0, 1]
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
tip = { type = "revolute", between = ["arm", "cart"], at = [0, 1] }
slide = { type = "point-on-line", between = ["ground", "cart"], at = [0, 1], axis = [1, 0] }
[start]
pin = { rate = 1 }
slide = { rate = 1 }
"#,
        ),
        bad(
            "hinges a centimetre out of line",
            "conflicting",
            &["joint `lower`", "joint `upper`"],
            &["contradict each other"],
            None,
            r#"
[body.door]
box = { size = [0.8, 0.05, 2], mass = 30 }
at = [0.4, 0, 1]
[joint]
lower = { type = "revolute", between = ["ground", "door"], on = [[0, 0, 0.3], [-0.4, 0, -0.7]] }
upper = { type = "revolute", between = ["ground", "door"], on = [[0, 0, 1.71], [-0.4, 0, 0.7]] }
"#,
        ),
    ]
}

fn massless() -> Vec<Bad> {
    vec![
        bad("a free point without mass", "massless", &["body `p`"], &["without inertia"], None, "[body.p]\nmass = 0"),
        bad(
            "no mass on a spring",
            "massless",
            &["body `p`"],
            &["not determined"],
            None,
            r#"
model = { plane = "xy" }
[body.p]
mass = 0
at = [1, 0]
[force.k]
type = "spring-damper"
between = ["ground", "p"]
at = [[0, 0], [1, 0]]
stiffness = 10
"#,
        ),
        bad(
            "a bead without mass",
            "massless",
            &["body `bead`"],
            &["give it a mass"],
            None,
            r#"
[body]
bead = { mass = 0 }
ball = { mass = 1, at = [0, 0, 1] }
[joint]
wire = { type = "point-on-line", between = ["ground", "bead"], at = [0, 0, 0], axis = [1, 0, 0] }
thread = { type = "distance", between = ["ground", "ball"], at = [[0, 0, 2], [0, 0, 1]] }
"#,
        ),
        bad(
            "a wheel without inertia",
            "massless",
            &["body `wheel`"],
            &["without inertia"],
            None,
            r#"
model = { plane = "xy" }
[body.wheel]
mass = 0
inertia = 0
[joint.axle]
type = "revolute"
between = ["ground", "wheel"]
at = [0, 0]
"#,
        ),
    ]
}

fn unconnected() -> Vec<Bad> {
    vec![
        bad(
            "a stone",
            "unconnected",
            &["body `stone`"],
            &["connected to nothing"],
            Some((3, 0)),
            "[body.stone]\nmass = 1",
        ),
        bad(
            "two stones on a string",
            "unconnected",
            &["body `s1`", "body `s2`"],
            &["not connected to the ground"],
            Some((5, 0)),
            r#"
[body]
s1 = { mass = 1 }
s2 = { mass = 1, at = [1, 0, 0] }
[joint.string]
type = "distance"
between = ["s1", "s2"]
at = [[0, 0, 0], [1, 0, 0]]
"#,
        ),
        bad(
            "a forgotten body",
            "unconnected",
            &["body `spare`"],
            &["connected to nothing"],
            Some((4, 0)),
            r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
arm = { rod = { from = [0, 0], to = [1, 0], mass = 1 } }
spare = { rod = { from = [0, 1], to = [1, 1], mass = 1 } }
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0]
"#,
        ),
    ]
}

fn inertia() -> Vec<Bad> {
    let body = |inertia: &str| {
        format!("[body.b]\nmass = 1\ninertia = {inertia}\n[force.f]\ntype = \"force\"\nbody = \"b\"\nforce = [0, 0, 1]")
    };
    let mut list = vec![
        bad("triangle", "inertia", &["body `b`"], &["each is at most the sum"], None, &body("[1, 1, 3]")),
        bad("a digit", "inertia", &["body `b`"], &["third moment ten times too large"], None, &body("[1, 1.1, 12]")),
        bad(
            "products of the wrong sign",
            "inertia",
            &["body `b`"],
            &["products of inertia of the opposite sign"],
            None,
            &body("[[2, 0.9, 0.9], [0.9, 2, 0.9], [0.9, 0.9, 2]]"),
        ),
        bad(
            "kg mm²",
            "inertia",
            &["body `arm`"],
            &["in kg mm²?"],
            None,
            r#"
model = { plane = "xy" }
[body.arm]
mass = 1
inertia = 7500
at = [0.15, 0]
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0]
"#,
        ),
    ];
    list.push(bad(
        "g mm² in space",
        "inertia",
        &["body `top`"],
        &["radius of gyration", "in g cm²?"],
        None,
        r#"
[body.top]
cylinder = { radius = 0.03, length = 0.05, mass = 0.2 }
inertia = [1000, 1000, 1200]
[joint.ball]
type = "spherical"
between = ["ground", "top"]
at = [0, 0, -0.04]
"#,
    ));
    list
}

fn units() -> Vec<Bad> {
    vec![
        bad(
            "gravity in mm",
            "units",
            &["gravity"],
            &["1000 times that of the earth"],
            None,
            "model = { gravity = [0, 0, -9810] }\n[body.b]\nmass = 1\n[force.f]\ntype = \"force\"\nbody = \"b\"\nforce = [0, 0, 1]",
        ),
        bad(
            "lengths in mm",
            "units",
            &["body `block`"],
            &["7.850e-6 kg/m³", "lengths in mm?"],
            None,
            "[body.block]\nbox = { size = [100, 50, 20], mass = 0.785 }\n[joint.f]\ntype = \"spherical\"\nbetween = [\"ground\", \"block\"]\nat = [50, 25, 10]",
        ),
        bad(
            "a whole model in mm",
            "units",
            &["model"],
            &["lighter than air", "lengths in mm?"],
            None,
            "model = { plane = \"xy\", gravity = [0, -9.81] }\n[body.crank]\nmass = 0.5\ninertia = 1200\nat = [100, 0]\n[body.rod]\nmass = 0.8\ninertia = 9000\nat = [350, 0]\n[joint.a]\ntype = \"revolute\"\nbetween = [\"ground\", \"crank\"]\nat = [0, 0]\n[joint.b]\ntype = \"revolute\"\nbetween = [\"crank\", \"rod\"]\nat = [200, 0]",
        ),
        bad(
            "a damper that feeds energy in",
            "unstable",
            &["force `mount`"],
            &["feeds energy in", "`damping` has the negative eigenvalue -5"],
            None,
            "model = { plane = \"xy\" }\n[body.b]\nmass = 1\ninertia = 1\n[force.mount]\ntype = \"bushing\"\nbetween = [\"ground\", \"b\"]\nat = [0, 0]\nstiffness = [1000, 1000, 10]\ndamping = [-5, 1, 1]",
        ),
        bad(
            "springs that push away by their coupling",
            "unstable",
            &["force `mount`"],
            &["pushes away from rest", "`stiffness`"],
            None,
            "model = { plane = \"xy\" }\n[body.b]\nmass = 1\ninertia = 1\n[force.mount]\ntype = \"bushing\"\nbetween = [\"ground\", \"b\"]\nat = [0, 0]\nstiffness = [[10, 20, 0], [20, 10, 0], [0, 0, 1]]",
        ),
        bad(
            "a controller with the wrong sign",
            "unstable",
            &["force `servo`"],
            &["drives away", "`kp` is -10"],
            None,
            "model = { plane = \"xy\" }\n[body.b]\nmass = 1\ninertia = 1\n[joint.pin]\ntype = \"revolute\"\nbetween = [\"ground\", \"b\"]\nat = [0, 0]\n[force.servo]\ntype = \"pid\"\njoint = \"pin\"\nreference = \"1\"\nkp = -10",
        ),
        bad(
            "mass in g",
            "units",
            &["body `block`"],
            &["mass in g?"],
            None,
            "[body.block]\nbox = { size = [0.1, 0.05, 0.02], mass = 785 }\n[joint.f]\ntype = \"spherical\"\nbetween = [\"ground\", \"block\"]\nat = [0.5, 0, 0]",
        ),
        bad(
            "an angle in degrees",
            "units",
            &["body `arm`"],
            &["90 rad", "90*pi/180"],
            None,
            "model = { plane = \"xy\" }\n[body.arm]\nmass = 1\ninertia = 0.1\nangle = 90\n[joint.pin]\ntype = \"revolute\"\nbetween = [\"ground\", \"arm\"]\non = [[0, 0], [-0.5, 0]]",
        ),
        bad(
            "a start in degrees",
            "units",
            &["joint `pin`"],
            &["45 rad"],
            None,
            "model = { plane = \"xy\" }\n[body.arm]\nmass = 1\ninertia = 0.1\nat = [0.5, 0]\n[joint.pin]\ntype = \"revolute\"\nbetween = [\"ground\", \"arm\"]\nat = [0, 0]\n[start]\npin = { angle = 45 }",
        ),
        bad(
            "mm and g",
            "units",
            &["model"],
            &["lengths in mm?"],
            None,
            "model = { plane = \"xy\" }\n[body.ball]\nmass = 0.02\nat = [1000, 0]\n[joint.thread]\ntype = \"distance\"\nbetween = [\"ground\", \"ball\"]\nat = [[0, 0], [1000, 0]]",
        ),
        bad(
            "grams on a watch",
            "units",
            &["model"],
            &["masses in g?"],
            None,
            "model = { plane = \"xy\" }\n[body.ball]\nmass = 20\nat = [0.01, 0]\n[joint.thread]\ntype = \"distance\"\nbetween = [\"ground\", \"ball\"]\nat = [[0, 0], [0.01, 0]]",
        ),
    ]
}

fn singular() -> Vec<Bad> {
    let parallelogram = r#"
model = { plane = "xy" }
[body]
left = { rod = { from = [0, 0], to = [1, 0], mass = 1 } }
deck = { rod = { from = [1, 0], to = [3, 0], mass = 1 } }
right = { rod = { from = [2, 0], to = [3, 0], mass = 1 } }
[joint]
a = { type = "revolute", between = ["ground", "left"], at = [0, 0] }
b = { type = "revolute", between = ["left", "deck"], at = [1, 0] }
c = { type = "revolute", between = ["deck", "right"], at = [3, 0] }
d = { type = "revolute", between = ["ground", "right"], at = [2, 0] }
"#;
    vec![
        bad(
            "a flat parallelogram",
            "singular",
            &["joint `a`", "joint `b`", "joint `c`", "joint `d`"],
            &["2 degrees of freedom there, 1 nearby"],
            Some((1, 0)),
            parallelogram,
        ),
        bad(
            "two bars in line",
            "singular",
            &["joint `a`", "joint `b`", "joint `c`"],
            &["give way a little"],
            Some((0, 0)),
            r#"
model = { plane = "xy" }
[body]
left = { rod = { from = [0, 0], to = [1, 0], mass = 1 } }
right = { rod = { from = [1, 0], to = [2, 0], mass = 1 } }
[joint]
a = { type = "revolute", between = ["ground", "left"], at = [0, 0] }
b = { type = "revolute", between = ["left", "right"], at = [1, 0] }
c = { type = "revolute", between = ["right", "ground"], at = [2, 0] }
"#,
        ),
        bad(
            "an isosceles slider-crank with its slider on the axle",
            "singular",
            &["joint `axle`", "joint `elbow`", "joint `wrist`", "joint `slide`"],
            &["singular position"],
            Some((1, 0)),
            r#"
model = { plane = "xy" }
[body]
crank = { rod = { from = [0, 0], to = [0, 1], mass = 1 } }
rod = { rod = { from = [0, 1], to = [0, 0], mass = 1 } }
slider = { mass = 1, at = [0, 0] }
[joint]
axle = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
elbow = { type = "revolute", between = ["crank", "rod"], at = [0, 1] }
wrist = { type = "revolute", between = ["rod", "slider"], at = [0, 0] }
slide = { type = "point-on-line", between = ["ground", "slider"], at = [0, 0], axis = [1, 0] }
"#,
        ),
        bad(
            "a bead held by a thread along its normal",
            "singular",
            &["joint `wire`", "joint `thread`"],
            &["give way a little"],
            Some((0, 0)),
            r#"
model = { plane = "xy" }
[body.bead]
mass = 1
[joint]
wire = { type = "point-on-line", between = ["ground", "bead"], at = [0, 0], axis = [1, 0] }
thread = { type = "distance", between = ["ground", "bead"], at = [[0, 1], [0, 0]] }
"#,
        ),
    ]
}

#[test]
fn bad_models_are_told_apart_and_named() {
    let all = [redundant(), conflicting(), massless(), unconnected(), inertia(), units(), singular()].concat_all();
    let mut wrong = Vec::new();
    for case in &all {
        let c = look(&case.text);
        let Some(f) = c.findings.iter().find(|f| f.kind == case.kind) else {
            wrong.push(format!("{}: not found:\n{c}", case.what));
            continue;
        };
        let mut names = f.names();
        names.sort();
        let mut expected: Vec<&str> = case.names.to_vec();
        expected.sort_unstable();
        if names != expected {
            wrong.push(format!("{}: names {names:?}, expected {expected:?}\n{c}", case.what));
        }
        let text = format!("{}\n{}", f.message, f.help);
        for says in case.says.iter().filter(|s| !text.contains(**s)) {
            wrong.push(format!("{}: does not say `{says}`:\n{c}", case.what));
        }
        // nothing else is wrong
        if let Some(other) = c.findings.iter().find(|o| o.kind != case.kind && o.severity != Severity::Note) {
            wrong.push(format!("{}: also {other:?}", case.what));
        }
        let level_ok = match case.kind {
            "conflicting" | "massless" => f.severity == Severity::Error && !c.runs(),
            "redundant" | "unconnected" => f.severity == Severity::Note && c.runs(),
            _ => f.severity == Severity::Warning && c.runs(),
        };
        if !level_ok {
            wrong.push(format!("{}: level {:?}", case.what, f.severity));
        }
        if let Some((freedom, redundant)) = case.freedom
            && (c.degrees_of_freedom, c.redundant()) != (Some(freedom), redundant)
        {
            wrong.push(format!("{}: freedom {:?}, redundant {}", case.what, c.degrees_of_freedom, c.redundant()));
        }
        assert!(!c.findings.is_empty());
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), all.len(), wrong.join("\n\n"));
    assert!(all.len() + UNREADABLE.len() >= 40, "{}", all.len() + UNREADABLE.len());
}

trait ConcatAll {
    fn concat_all(self) -> Vec<Bad>;
}

impl<const N: usize> ConcatAll for [Vec<Bad>; N] {
    fn concat_all(self) -> Vec<Bad> {
        self.into_iter().flatten().collect()
    }
}

/// What is refused by the reader already, with what it says.
const UNREADABLE: [(&str, &str); 4] = [
    ("[body.b]\nmass = 1\ninertia = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]", "not positive definite"),
    ("[body.b]\nmass = 1\ninertia = [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]", "not symmetric"),
    ("[body.b]\nmass = -1", "mass"),
    ("model = { plane = \"xy\" }\n[body.b]\nmass = 1\ninertia = -0.1", "inertia"),
];

#[test]
fn what_cannot_be_a_body_is_not_read() {
    for (text, says) in UNREADABLE {
        let report = read_text("model.toml", text, &[]).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(report.contains(says), "{text}: {report}");
    }
}

#[test]
fn nothing_bad_is_said_of_good_models() {
    let flexible = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
a = { mass = 1, at = [1, 0] }
[force.k]
type = "spring-damper"
between = ["ground", "a"]
at = [[0, 0], [1, 0]]
stiffness = 1e4
"#;
    // a link without mass is fine between joints
    let massless = FOUR_BAR.replace("to = [2.1, 1.2], mass = 3 }", "to = [2.1, 1.2] }, mass = 0");
    assert_ne!(massless, FOUR_BAR);
    for (text, freedom) in [(FOUR_BAR, 1), (SPATIAL, 4), (flexible, 2), (massless.as_str(), 1)] {
        let c = look(text);
        assert!(c.findings.is_empty(), "{c}");
        assert_eq!(c.degrees_of_freedom, Some(freedom), "{c}");
    }
    let example = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/slider-crank.toml"));
    let c = look(example);
    assert!(c.findings.is_empty() && c.degrees_of_freedom == Some(1), "{c}");
}

#[test]
fn a_link_without_mass_moves_like_a_light_one() {
    let with =
        |mass: &str| FOUR_BAR.replace("to = [2.1, 1.2], mass = 3 }", &format!("to = [2.1, 1.2] }}, mass = {mass}"));
    let options = |method, step| Options { method, step, rtol: 1e-9, until: 0.5, ..Options::default() };
    let (none, light) = (system(&with("0")), system(&with("1e-9")));
    let reference = run(&light, options(MethodName::Dop853, None));
    for (method, step, tolerance) in [
        (MethodName::Dop853, None, 1e-7),
        (MethodName::Bdf, None, 1e-5),
        (MethodName::GeneralizedAlpha, Some(1e-3), 1e-4),
    ] {
        let summary = run(&none, options(method, step));
        for channel in ["crank.angle", "rocker.angle", "coupler.x", "crank.wz", "a.fx"] {
            let (x, y) = (last(&summary, channel), last(&reference, channel));
            assert!((x - y).abs() < tolerance * (1.0 + y.abs()), "{} {channel}: {x} against {y}", method.name());
        }
    }
}

#[test]
fn frequencies_are_those_of_the_closed_forms() {
    // a mass on a spring and a pendulum
    let text = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
cart = { mass = 2, at = [1, 0] }
bob = { mass = 1, at = [5, -0.5] }
[joint]
rail = { type = "point-on-line", between = ["ground", "cart"], at = [1, 0], axis = [1, 0] }
thread = { type = "distance", between = ["ground", "bob"], at = [[5, 0], [5, -0.5]] }
[force.k]
type = "spring-damper"
between = ["ground", "cart"]
at = [[0, 0], [1, 0]]
stiffness = 800
damping = 6
"#;
    let c = look(text);
    let s = c.spectrum.as_ref().unwrap();
    let exact = [(9.81f64 / 0.5).sqrt(), 20.0].map(|w| w / std::f64::consts::TAU);
    assert_eq!(s.frequencies.len(), 2, "{c}");
    for (f, e) in s.frequencies.iter().zip(exact) {
        assert!((f - e).abs() < 1e-9 * e, "{f} {e}");
    }
    assert!((s.decay - 3.0).abs() < 1e-9 && s.falling.is_none());
    assert!(c.method.starts_with("dopri5"), "{}", c.method);
    let stiff = look(&text.replace("800", "8e9").replace("damping = 6", "damping = 1e6"));
    assert!(stiff.method.starts_with("bdf"), "{}", stiff.method);
}

#[test]
fn a_large_model_is_looked_at_by_elimination() {
    let c = look(&windows(40, true));
    assert!(c.large && c.runs());
    assert_eq!((c.degrees_of_freedom, c.redundant()), (Some(1), 120));
    assert_eq!(c.not_unique.len(), 121);
    let told = c.to_string();
    assert!(told.contains("to make them unique, make joint `"), "{told}");
    assert!(told.contains("not checked: all natural frequencies but the highest"), "{told}");
    assert_eq!(c.left_out[0].0, "all natural frequencies but the highest");
    assert!(c.findings.iter().all(|f| f.kind == "redundant"), "{told}");

    // a parallelogram with all bars on a line, beside a long chain
    let bar = |name: &str, x: f64| format!("{name} = {{ mass = 1, inertia = 0.1, at = [{x:?}, 5] }}\n");
    let bars = bar("left", 0.5) + &bar("top", 1.5) + &bar("right", 1.5);
    let pin = |name: &str, a: &str, b: &str, x: f64| {
        format!("{name} = {{ type = \"revolute\", between = [\"{a}\", \"{b}\"], at = [{x:?}, 5] }}\n")
    };
    let pins = pin("A", "ground", "left", 0.0)
        + &pin("B", "left", "top", 1.0)
        + &pin("C", "top", "right", 2.0)
        + &pin("D", "right", "ground", 1.0);
    let c = look(&(long(&bars) + &pins));
    assert!(c.large);
    match c.findings.iter().find(|f| f.kind == "singular") {
        Some(singular) => {
            assert_eq!(singular.names(), ["joint `A`", "joint `B`", "joint `C`", "joint `D`"]);
            assert!(singular.message.contains("152 degrees of freedom there, 151 nearby"), "{}", singular.message);
            assert_eq!((c.degrees_of_freedom, c.redundant()), (Some(151), 0));
        }
        // where no pose nearby closes, that is said
        None => assert!(c.left_out.iter().any(|(what, _)| what == "whether the start is singular"), "{c}"),
    }
}

/// A chain of 150 pendulums, with more bodies.
fn long(more: &str) -> String {
    let mut text = String::from("model = { plane = \"xy\" }\n[body]\n");
    (0..150).for_each(|i| text += &format!("l{i} = {{ mass = 1, inertia = 0.1, at = [{i}.5, 0] }}\n"));
    text += more;
    text += "[joint]\n";
    for i in 0..150 {
        let before = if i == 0 { "ground".to_string() } else { format!("l{}", i - 1) };
        text += &format!("p{i} = {{ type = \"revolute\", between = [\"{before}\", \"l{i}\"], at = [{i}, 0] }}\n");
    }
    text
}

#[test]
fn freedom_without_mass_is_named_in_a_large_model_too() {
    // one is held, one hangs on a joint and may turn
    let more = "held = { mass = 0, inertia = 0, at = [3, 1] }\nlazy = { mass = 0, inertia = 0, at = [7, 1] }\n";
    let text = long(more)
        + "f = { type = \"fixed\", between = [\"l3\", \"held\"], at = [3, 0] }\n"
        + "g = { type = \"revolute\", between = [\"l7\", \"lazy\"], at = [7.5, 0] }\n";
    let c = look(&text);
    let massless = c.findings.iter().find(|f| f.kind == "massless").unwrap_or_else(|| panic!("{c}"));
    assert_eq!((massless.names(), c.runs()), (vec!["body `lazy`"], false));
    let c = look(&text.replace("g = { type = \"revolute\"", "g = { type = \"fixed\""));
    assert_eq!((c.degrees_of_freedom, c.runs()), (Some(150), true), "{c}");
}

#[test]
fn the_highest_frequency_of_a_large_model_is_found() {
    // masses on springs in a row: ω ≤ 2 √(k/m), with damping up to 4 c/m
    let n = 210;
    let mut text = String::from("model = { plane = \"xy\" }\n[body]\n");
    (0..n).for_each(|i| text += &format!("m{i} = {{ mass = 0.5, at = [{i}, 0] }}\n"));
    text += "[joint]\n";
    (0..n).for_each(|i| {
        text += &format!(
            "s{i} = {{ type = \"point-on-line\", between = [\"ground\", \"m{i}\"], at = [{i}, 0], axis = [1, 0] }}\n"
        )
    });
    text += "[force]\n";
    (1..n).for_each(|i| {
        text += &format!(
            "k{i} = {{ type = \"spring-damper\", between = [\"m{}\", \"m{i}\"], at = [[{}, 0], [{i}, 0]], stiffness = 800, damping = 2 }}\n",
            i - 1,
            i - 1
        )
    });
    let c = look(&text);
    let s = c.spectrum.as_ref().unwrap_or_else(|| panic!("{c}"));
    let exact = 2.0 * (800.0f64 / 0.5).sqrt() / std::f64::consts::TAU;
    assert!(s.only_fastest && s.frequencies[0] < exact && s.frequencies[0] > 0.97 * exact, "{s:?} against {exact}");
    assert!(s.decay < 16.0 && s.decay > 15.0, "{s:?}");
}

#[test]
fn what_is_said_of_many_bodies_is_said_of_the_first_and_counted() {
    let mut text = String::from("model = { plane = \"xy\" }\n");
    // pairs without a ground, with inertias in other units
    for i in 0..30 {
        for (name, x) in [("a", 0.0), ("b", 1.0)] {
            text += &format!("body.{name}{i} = {{ mass = 1, inertia = 83333, at = [{:?}, {i}] }}\n", x + 0.5);
        }
        text += &format!("joint.j{i} = {{ type = \"revolute\", between = [\"a{i}\", \"b{i}\"], at = [1, {i}] }}\n");
    }
    let c = look(&text);
    let told = c.to_string();
    let count = |start: &str| told.lines().filter(|l| l.starts_with(start)).count();
    assert_eq!((count("warning (inertia): body"), count("note (unconnected): body")), (12, 12), "{told}");
    assert!(told.contains("warning (inertia): and 48 more like these"), "{told}");
    assert!(told.contains("note (unconnected): and 18 more like these"), "{told}");
    assert_eq!(c.findings.len(), 60 + 30);
}

#[test]
fn a_joint_that_is_wanted_in_the_tree_in_vain_is_told() {
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.a = { mass = 1, inertia = 0.1, at = [1, 0] }
        joint.pin = { type = "revolute", between = ["ground", "a"], at = [0, 0], tree = true }
        joint.rod = { type = "distance", between = ["ground", "a"], at = [[2, 2], [2, 0]], tree = true }
    "#;
    let found = check(&system(text), &Options::default()).findings;
    let told: Vec<_> = found.iter().filter(|f| f.kind == "tree").collect();
    assert_eq!(told.len(), 1, "{found:?}");
    assert_eq!((told[0].severity, told[0].names()), (Severity::Warning, vec!["joint `rod`"]));
}

/// The scissor lift rises while its foot is pulled in: its gains are negative and right, everything decays, and `check` said unstable.
#[test]
fn a_controller_that_measures_elsewhere_is_not_called_unstable_by_its_signs() {
    let lift =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scissor-lift.toml")).unwrap();
    let found = look(&lift);
    assert!(found.findings.iter().all(|f| f.kind != "unstable"), "{found}");
}
