//! Machines of parts: a part that is turned, mirrored or mounted moves as the part by itself does, seen in its own coordinates.

mod common;

use bellcrank_math::{Quat, Vec3};
use bellcrank_model::read::read_model;
use bellcrank_solve::{Options, Summary};
use common::{last, run};
use std::path::PathBuf;
use std::sync::Arc;

/// Files in a folder of their own.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("parts-{}-{name}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        Files(folder)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn run(&self, name: &str, text: &str, until: f64) -> Summary {
        self.write(name, text);
        let read = read_model(&self.0.join(name).to_string_lossy(), &[]).unwrap_or_else(|report| panic!("{report}"));
        run(&Arc::new(read.model.compile()), Options { rtol: 1e-9, until, ..Options::default() })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One of nearly everything in space that has a handedness, a sign or a frame.
const SPATIAL: &str = r#"
[parameter]
k = 300
lean = 0.2

[body.arm]
rod = { from = [0, 0.1, 0], to = [0.3, 0.2, 0.1], mass = 1, radius = 0.02 }
[body.fork]
mass = 1
inertia = [[0.02, 0.003, -0.002], [0.003, 0.03, 0.004], [-0.002, 0.004, 0.025]]
at = [0.5, 0.3, 0.1]
orientation = { order = "zyx", angles = [0.3, -0.2, 0.5] }
[body.nut]
mass = 2
inertia = [0.01, 0.012, 0.02]
at = [1, 0.1, 0.2]
orientation = [0.8, 0.36, 0.48, 0]
[body.bolt]
mass = 0.5
inertia = [0.004, 0.004, 0.003]
at = [1, 0.2, 0.5]
orientation = { axis = [1, 2, -1], angle = 0.7 }
[body.puck]
mass = 0.7
inertia = [0.01, 0.01, 0.02]
at = [-0.5, 0.2, 0.3]
[body.wheel]
cylinder = { radius = 0.1, length = 0.05, mass = 1 }
at = [0, -0.4, 0]
[body.slide]
box = { size = [0.1, 0.2, 0.3], mass = 1.5 }
at = [-1, 0, 0]
[body.ball]
sphere = { radius = 0.1, mass = 0.4 }
at = [0.2, 1, 0.6]
velocity = [0.2, -0.1, 0]
angular_velocity = [1, 2, 3]

[joint.hinge]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0.1, 0]
axis = ["lean", 1, 0.3]
[joint.cross]
type = "universal"
between = ["arm", "fork"]
on = [["1/2*sqrt(0.11)", 0, 0], [-0.05, 0.02, 0.01]]
axis = [[0, 1, 0], [0.1, 1, 0]]
axis2 = [[0, 0, 1], [0, 0, 1]]
[joint.sleeve]
type = "cylindrical"
between = ["ground", "nut"]
at = [1, 0.1, 0.2]
axis = [0, 0.3, 1]
[joint.thread]
type = "screw"
between = ["nut", "bolt"]
at = [1, 0.2, 0.5]
axis = [0, 0.3, 1]
pitch = 0.05
[joint.table]
type = "planar"
between = ["ground", "puck"]
at = [-0.5, 0.2, 0.3]
axis = [0.1, 0.2, 1]
[joint.axle]
type = "revolute"
between = ["ground", "wheel"]
at = [0, -0.4, 0]
[joint.mesh]
type = "gear"
joints = ["hinge", "axle"]
ratio = -2
[joint.rail]
type = "prismatic"
between = ["ground", "slide"]
at = [-1, 0, 0]
axis = [1, 1, 0.2]
[joint.lead]
type = "tie"
joints = ["sleeve", "rail"]
coordinates = ["angle", "position"]
ratio = 0.3

[force.rubber]
type = "bushing"
between = ["ground", "fork"]
at = [0.5, 0.3, 0.1]
axis = [0.3, 1, 0.2]
stiffness = [[90, 5, 0, 3, 0, 1], [5, 70, 4, 0, 2, 0], [0, 4, 60, 0, 0, 1], [3, 0, 0, 9, 1, 0], [0, 2, 0, 1, 8, 0], [1, 0, 1, 0, 0, 7]]
offset = [0.02, 0.01, -0.01, 0.05, 0.02, 0.1]
[force.mount]
type = "bushing"
between = ["ground", "ball"]
at = [0.2, 1, 0.6]
stiffness = [40, 30, 20, 1, 2, 3]
damping = [1, 1, 1, 0.1, 0.1, 0.1]
preload = [1, 2, 3, 0.1, 0.2, 0.3]
curve = { y = [[-1, -20], [0, 0], [1, 5]], rx = [[-2, -1], [0, 0], [2, 3]] }
[force.twist]
type = "torsional-spring-damper"
between = ["ground", "arm"]
at = [0, 0.1, 0]
axis = ["lean", 1, 0.3]
stiffness = 5
angle = 0.4
[force.coil]
type = "joint-spring"
joint = "sleeve"
coordinate = "angle"
curve = [[-3, -2], [0, 0], [1, 3], [3, 4]]
rest = 0.6
[force.bumper]
type = "stop"
joint = "sleeve"
coordinate = "angle"
lower = -0.1
upper = 2
stiffness = 400
[force.motor]
type = "joint-actuator"
joint = "sleeve"
coordinate = "angle"
effort = "0.5*sleeve.angle + sin(5*t) + 0.4*fork.y - 0.3*fork.wz + pressure"
limits = [-0.9, 1.1]
[force.hold]
type = "pid"
joint = "table"
coordinate = "position2"
measure = "puck.y"
reference = "0.3 + 0.1*sin(3*t)"
kp = 20
kd = 2
[force.push]
type = "force"
body = "puck"
force = ["0.5*ball.vx - puck.x", "sin(4*t)", "pressure"]
[force.follow]
type = "force"
body = "ball"
on = [0, 0.05, 0.02]
force = [0.5, "0.3*cos(t)", 0.2]
frame = "body"
[force.spin]
type = "torque"
body = "ball"
torque = [0.1, "0.2*sin(t)", 0.05]
[force.air]
type = "drag"
body = "fork"
coefficient = 0.5
wind = [1, "2*cos(t)", 0.5]
[force.spring]
type = "spring-damper"
between = ["ground", "fork"]
at = [[0.4, -0.3, 0.5], [0.5, 0.35, 0.1]]
stiffness = "k"
damping = 2
length = 0.5
[force.touch]
type = "contact"
between = ["ground", "ball"]
at = [[0, 0, 0.45], [0.2, 1, 0.6]]
normal = [0.1, 0.1, 1]
stiffness = 2e3
exponent = 1
friction = 0.2

[force.bearing]
type = "joint-friction"
joint = "hinge"
coefficient = 0.2
radius = 0.02
length = 0.1
preload = 3
velocity = 0.5
[force.teeth]
type = "gear-mesh"
joints = ["sleeve", "rail"]
coordinates = ["position", "position"]
ratio = -0.4
stiffness = 60
backlash = 0.02
viscous = 0.5
offset = 0.03
[state.pressure]
rate = "fork.vx + 0.5*sleeve.rate - 2*pressure - ball.y"
start = 0.3

[start]
hinge = { rate = 1 }
sleeve = { angle = 0.2, rate = -1.5, position = 0.05, speed = 0.3 }
thread = { rate = 2 }
table = { position2 = 0.04 }
"#;

const BODIES: [&str; 8] = ["arm", "fork", "nut", "bolt", "puck", "wheel", "slide", "ball"];

fn vector(summary: &Summary, name: &str, quantity: &str) -> Vec3 {
    Vec3(["x", "y", "z"].map(|axis| last(summary, &format!("{name}.{quantity}{axis}"))))
}

fn mirrored(mut v: Vec3, axis: Option<usize>) -> Vec3 {
    if let Some(axis) = axis {
        v[axis] = -v[axis];
    }
    v
}

/// Every body of a part against the part by itself: x = p + R S x₀, v = R S v₀, ω = ± R S ω₀.
fn compare(alone: &Summary, whole: &Summary, prefix: &str, p: Vec3, r: Quat, axis: Option<usize>) {
    let r = r.matrix();
    let sign = if axis.is_some() { -1.0 } else { 1.0 };
    for body in BODIES {
        let name = format!("{prefix}{body}");
        let at = |quantity: &str| (vector(alone, body, quantity), vector(whole, &name, quantity));
        let (x0, x) = at("");
        assert!((x - (p + r * mirrored(x0, axis))).norm() < 2e-6, "{name} {axis:?}: {x:?} from {x0:?}");
        let (v0, v) = at("v");
        assert!((v - r * mirrored(v0, axis)).norm() < 2e-5, "{name} {axis:?}: {v:?} from {v0:?}");
        let (w0, w) = at("w");
        assert!((w - r * mirrored(w0, axis) * sign).norm() < 1e-4, "{name} {axis:?}: {w:?} from {w0:?}");
    }
    let (here, there) = (last(alone, "pressure"), last(whole, &format!("{prefix}pressure")));
    assert!((here - there).abs() < 1e-6, "{here} {there}");
}

#[test]
fn a_part_in_space_moves_as_by_itself_wherever_it_stands_and_in_every_mirror() {
    let files = Files::new("space");
    let gravity = Vec3::new(0.0, 1.0, -9.0);
    let head = |g: Vec3| format!("[model]\ngravity = [{}, {}, {}]\n", g[0], g[1], g[2]);
    files.write("sub/machine.toml", &format!("{}{SPATIAL}", head(gravity)));
    let alone = files.run("alone.toml", &format!("{}{SPATIAL}", head(gravity)), 0.4);
    let (p, turn) = (Vec3::new(0.3, -0.2, 0.5), Vec3::new(0.4, -0.8, 1.1));
    let r = Quat::exp(turn);
    let place =
        format!("at = [0.3, -0.2, 0.5]\norientation = {{ axis = [0.4, -0.8, 1.1], angle = {:?} }}\n", turn.norm());
    let include = |keys: &str| format!("[include.left]\nfile = \"sub/machine.toml\"\n{keys}");
    let text = format!("{}{}", head(r.matrix() * gravity), include(&place));
    compare(&alone, &files.run("placed.toml", &text, 0.4), "left.", p, r, None);
    for (plane, axis) in [("yz", 0), ("xz", 1), ("xy", 2)] {
        let g = r.matrix() * mirrored(gravity, Some(axis));
        let text = format!("{}{}", head(g), include(&format!("mirror = \"{plane}\"\n{place}")));
        compare(&alone, &files.run("mirrored.toml", &text, 0.4), "left.", p, r, Some(axis));
    }
    // on a body that stands still, and inside another part whose mirror undoes its own
    let base = "[body.base]\nmass = 1\ninertia = [1, 1, 1]\nat = [0.2, 0.1, 0.3]\norientation = [0.6, 0.8, 0, 0]\n\
                [joint.weld]\ntype = \"fixed\"\nbetween = [\"ground\", \"base\"]\nat = [0, 0, 0]\n";
    let g = r.matrix() * gravity;
    // laws of a part on a body measure no angular velocities against it
    let still = SPATIAL.replace(" - 0.3*fork.wz", "");
    // what is drawn closed: where a start has to be closed, the base is among the bodies that are moved on the way
    let (open, rest) = still.split_once("on = [[\"1/2*sqrt").unwrap();
    let rest = rest.split_once("[joint.sleeve]").unwrap().1;
    let still = format!("{open}at = [0.3, 0.2, 0.1]\naxis = [0, 1, 0]\naxis2 = [0, 0, 1]\n[joint.sleeve]{rest}");
    files.write("sub/still.toml", &format!("{}{still}", head(gravity)));
    let by_itself = files.run("by-itself.toml", &format!("{}{still}", head(gravity)), 0.4);
    let text = format!("{}{base}{}", head(g), include(&format!("ports = {{ ground = \"base\" }}\n{place}")));
    let text = text.replace("machine.toml", "still.toml");
    compare(&by_itself, &files.run("mounted.toml", &text, 0.4), "left.", p, r, None);
    files.write(
        "sub/outer.toml",
        "[include.inner]\nfile = \"machine.toml\"\nmirror = \"xz\"\nset = { k = \"stiff\" }\n[parameter]\nstiff = 10\n",
    );
    let text = format!(
        "{}[include.outer]\nfile = \"sub/outer.toml\"\nmirror = \"xz\"\nset = {{ stiff = \"3*c\" }}\n[parameter]\nc = 100\n",
        head(gravity)
    );
    compare(&alone, &files.run("nested.toml", &text, 0.4), "outer.inner.", Vec3::ZERO, Quat::IDENTITY, None);
}

/// In the plane turns change their signs in a mirror, and angles are counted from the part's own axes.
const PLANAR: &str = r#"
[parameter]
long = 0.6
[body.crank]
rod = { from = [0, 0], to = ["-0.8*long", "0.6*long"], mass = 1 }
[body.link]
rod = { from = ["-0.8*long", "0.6*long"], to = [-1, 0.2], mass = 0.7 }
[body.disk]
mass = 2
inertia = 0.05
at = [0.5, 0.1]
angle = 3
angular_velocity = 1
[body.slide]
mass = 1
inertia = 0.1
at = [0, -1]
[joint.pin]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0]
[joint.elbow]
type = "revolute"
between = ["crank", "link"]
at = ["-0.8*long", "0.6*long"]
[joint.hub]
type = "revolute"
between = ["ground", "disk"]
at = [0.5, 0.1]
[joint.rail]
type = "prismatic"
between = ["ground", "slide"]
at = [0, -1]
axis = [1, 0.5]
[joint.teeth]
type = "rack"
joints = ["hub", "rail"]
radius = 0.1
[force.coil]
type = "torsional-spring-damper"
between = ["ground", "crank"]
curve = [[-4, -3], [0, 0], [1, 4], [4, 5]]
angle = 2
[force.rest]
type = "joint-spring"
joint = "elbow"
stiffness = 3
rest = 0.5
[force.motor]
type = "joint-actuator"
joint = "pin"
effort = "0.3*pin.angle + 0.2*disk.angle - 0.4*link.wz + 0.3*link.x"
limits = [-0.5, 2]
[force.turn]
type = "pid"
joint = "elbow"
measure = "link.y"
reference = 0.4
kp = 3
kd = 0.2
[force.dry]
type = "joint-friction"
joint = "elbow"
coefficient = 0.3
radius = 0.05
velocity = 0.3
[force.mesh]
type = "gear-mesh"
joints = ["elbow", "rail"]
ratio = 0.1
stiffness = 30
backlash = 0.01
offset = 0.02
[force.bend]
type = "torque"
body = "link"
torque = "0.1*sin(4*t)"
[force.push]
type = "force"
body = "slide"
force = ["sin(3*t)", "-disk.x"]
[start]
pin = { rate = 1 }
elbow = { rate = -2 }
"#;

#[test]
fn a_part_in_the_plane_keeps_its_angles_and_turns_them_in_a_mirror() {
    let files = Files::new("plane");
    let head = |g: Vec3| format!("[model]\nplane = \"xy\"\ngravity = [{}, {}]\n", g[0], g[1]);
    let gravity = Vec3::new(1.0, -9.0, 0.0);
    files.write("sub/machine.toml", &format!("{}{PLANAR}", head(gravity)));
    let alone = files.run("alone.toml", &format!("{}{PLANAR}", head(gravity)), 0.5);
    // half a turn is as far as one can be from the part's own axes
    for angle in [0.7, std::f64::consts::PI, -2.9] {
        for (mirror, axis) in [("", None), ("mirror = \"x\"\n", Some(1)), ("mirror = \"y\"\n", Some(0))] {
            let r = Quat::exp(Vec3::Z * angle).matrix();
            let g = head(r * mirrored(gravity, axis));
            let text =
                format!("{g}[include.left]\nfile = \"sub/machine.toml\"\nat = [0.2, 0.4]\nangle = {angle:?}\n{mirror}");
            let whole = files.run("whole.toml", &text, 0.5);
            let sign = if axis.is_some() { -1.0 } else { 1.0 };
            for body in ["crank", "link", "disk", "slide"] {
                let plane = |s: &Summary, name: &str| {
                    Vec3::new(last(s, &format!("{name}.x")), last(s, &format!("{name}.y")), 0.0)
                };
                let (x0, x) = (plane(&alone, body), plane(&whole, &format!("left.{body}")));
                let off = (x - (Vec3::new(0.2, 0.4, 0.0) + r * mirrored(x0, axis))).norm();
                assert!(off < 1e-6, "{body} {mirror}{angle}: {x:?} from {x0:?}");
            }
            for channel in ["pin.angle", "elbow.angle", "elbow.rate", "hub.angle", "pin.rate", "coil.angle"] {
                let (here, there) = (last(&alone, channel), last(&whole, &format!("left.{channel}")));
                assert!((there - sign * here).abs() < 1e-5, "{channel} {mirror}{angle}: {there} from {here}");
            }
            let rail = [last(&alone, "rail.position"), last(&whole, "left.rail.position")];
            assert!((rail[0] - rail[1]).abs() < 1e-6, "{rail:?}");
        }
    }
}

/// A tyre of one side of the car becomes that of the other side.
#[test]
fn a_tyre_from_a_file_and_its_road_have_mirror_images() {
    let files = Files::new("tyre");
    let soft = concat!(env!("CARGO_MANIFEST_DIR"), "/../bellcrank-model/tests/catalog/soft.tir");
    let soft = std::fs::read_to_string(soft).unwrap();
    // shifts that have a side
    let soft = soft
        .replace("PHY1", "$")
        .replace("PVY1", "$")
        .replace("[LATERAL_COEFFICIENTS]", "[LATERAL_COEFFICIENTS]\nPHY1 = 0.02\nPVY1 = 0.05\nRVY1 = 0.1");
    files.write("soft.tir", &soft);
    files.write("sub/soft.tir", &soft);
    let wheel = |road: &str| {
        format!(
            "[body.wheel]\nmass = 1\ninertia = [0.5, 0.6, 0.5]\nat = [0.1, 0.2, 3.0]\nvelocity = [6, -0.3, 0]\n\
             angular_velocity = [0.1, 1.3, 0.05]\norientation = {{ axis = [1, 0, 0], angle = 0.05 }}\n\
             [force.tyre]\ntype = \"tyre\"\nbetween = [\"ground\", \"wheel\"]\non = [[0, 0, 0], [0, 0, 0]]\nfile = \"soft.tir\"\nvelocity = 0.5\n{road}\n"
        )
    };
    let head = |g: Vec3| format!("[model]\ngravity = [{}, {}, {}]\n", g[0], g[1], g[2]);
    let gravity = Vec3::new(0.1, 0.2, -9.81);
    for (road, mirrors) in [("", vec![("xz", 1), ("yz", 0)]), ("road = \"0.1*sin(x) + 0.2*y\"", vec![("xz", 1)])] {
        files.write("sub/wheel.toml", &format!("{}{}", head(gravity), wheel(road)));
        let alone = files.run("alone.toml", &format!("{}{}", head(gravity), wheel(road)), 0.5);
        assert!(last(&alone, "tyre.lateral").abs() > 1e-3);
        for (plane, axis) in mirrors {
            let g = mirrored(gravity, Some(axis));
            let text = format!("{}[include.left]\nfile = \"sub/wheel.toml\"\nmirror = \"{plane}\"\n", head(g));
            let whole = files.run("mirrored.toml", &text, 0.5);
            let (x0, x) = (vector(&alone, "wheel", ""), vector(&whole, "left.wheel", ""));
            assert!((x - mirrored(x0, Some(axis))).norm() < 1e-6, "{plane} {road}: {x:?} from {x0:?}");
            let (w0, w) = (vector(&alone, "wheel", "w"), vector(&whole, "left.wheel", "w"));
            assert!((w + mirrored(w0, Some(axis))).norm() < 1e-5, "{plane} {road}: {w:?} from {w0:?}");
            let [fy0, fy] = [last(&alone, "tyre.lateral"), last(&whole, "left.tyre.lateral")];
            assert!((fy + fy0).abs() < 1e-5 * (1.0 + fy0.abs()), "{plane} {road}: {fy} from {fy0}");
        }
    }
}
