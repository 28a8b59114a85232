//! Result folders with motions that are known in closed form, or nearly: for the tests and for a look.
#![allow(dead_code)]

use bellcrank_model::read::read_text;
use bellcrank_model::scene::scene;
use bellcrank_results::Folder;
use bellcrank_results::json::Object;
use bellcrank_solve::record::{Channel, Header, Recorder};
use serde_json::json;
use std::f64::consts::{PI, TAU};
use std::io;
use std::path::{Path, PathBuf};

/// A folder that is removed with its owner.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("bellcrank-view-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The values of one time; the first frame also tells the channels.
#[derive(Default)]
pub struct Frame {
    pub channels: Vec<Channel>,
    pub values: Vec<f64>,
    named: bool,
}

impl Frame {
    pub fn put(&mut self, name: &str, unit: &'static str, value: f64) {
        if !self.named {
            self.channels.push(Channel { name: name.to_string(), unit });
        }
        self.values.push(value);
    }
    pub fn vector(&mut self, name: &str, prefix: &str, unit: &'static str, v: &[f64]) {
        for (axis, x) in ["x", "y", "z"].iter().zip(v) {
            self.put(&format!("{name}.{prefix}{axis}"), unit, *x);
        }
    }
    /// A pose in the plane.
    pub fn planar(&mut self, name: &str, x: f64, y: f64, angle: f64) {
        self.vector(name, "", "m", &[x, y]);
        self.put(&format!("{name}.angle"), "rad", angle);
    }
    /// A pose in space.
    pub fn spatial(&mut self, name: &str, p: [f64; 3], q: [f64; 4]) {
        self.vector(name, "", "m", &p);
        for (part, x) in ["qw", "qx", "qy", "qz"].iter().zip(q) {
            self.put(&format!("{name}.{part}"), "", x);
        }
    }
}

/// Writes a folder: the model's scene, and `motion` at `n` times up to `until`.
pub fn write(dir: &Path, model: &str, until: f64, n: usize, motion: impl FnMut(f64, &mut Frame)) -> io::Result<()> {
    let mut folder = begin(dir, model, until, n, motion)?;
    folder.end(&Object::new(json!({
        "status": "finished",
        "time": {"start": 0.0, "end": until},
        "method": "closed form",
        "steps": {"accepted": n, "rejected": 3},
        "seconds": 0.042,
    })))
}

/// The same without an end: a run that goes on while the recorder lives.
pub fn begin(
    dir: &Path,
    model: &str,
    until: f64,
    n: usize,
    mut motion: impl FnMut(f64, &mut Frame),
) -> io::Result<Folder> {
    let model = read_text("sample.toml", model, &[]).unwrap_or_else(|e| panic!("{e}")).model;
    let drawn = scene(&model).to_string();
    let mut folder = Folder::new(dir).with_scene(move |out| out.write_all(drawn.as_bytes()));
    let mut frame = Frame::default();
    motion(0.0, &mut frame);
    frame.named = true;
    folder.begin(&Header { model: model.name.clone(), channels: std::mem::take(&mut frame.channels) })?;
    for i in 0..n {
        let t = until * i as f64 / (n.max(2) - 1) as f64;
        frame.values.clear();
        motion(t, &mut frame);
        folder.frame(t, &frame.values)?;
    }
    Ok(folder)
}

/// Time and values of one channel, by the same closed form.
pub fn channel(name: &str, times: &[f64], mut motion: impl FnMut(f64, &mut Frame)) -> Vec<f64> {
    let mut at = |t| {
        let mut frame = Frame::default();
        motion(t, &mut frame);
        let k = frame.channels.iter().position(|c| c.name == name).unwrap();
        frame.values[k]
    };
    times.iter().map(|t| at(*t)).collect()
}

/// Where two circles meet: the point at distance `r` from p and `s` from q, to the left of p → q.
fn meet(p: [f64; 2], r: f64, q: [f64; 2], s: f64) -> [f64; 2] {
    let d = [q[0] - p[0], q[1] - p[1]];
    let l = d[0].hypot(d[1]);
    let along = (r * r - s * s + l * l) / (2.0 * l);
    let across = (r * r - along * along).max(0.0).sqrt();
    let u = [d[0] / l, d[1] / l];
    [p[0] + along * u[0] - across * u[1], p[1] + along * u[1] + across * u[0]]
}

/// The angle nearest to `near`.
fn continuous(angle: f64, near: &mut f64) -> f64 {
    *near = angle + TAU * ((*near - angle) / TAU).round();
    *near
}

const A: f64 = 0.3;
const B: f64 = 0.8;
const C: f64 = 0.6;
const D: [f64; 2] = [0.9, 0.1];

pub const FOUR_BAR: &str = r#"
[model]
name = "Four-bar linkage"
plane = "xy"
gravity = [0, -9.81]
[body.crank]
rod = { from = [0, 0], to = [0.3, 0], mass = 1 }
[body.coupler]
mass = 2
inertia = 0.1
at = [0.6, 0.3]
[body.rocker]
rod = { from = [0.9, 0.1], to = [0.9, 0.7], mass = 1.5 }
[joint.A]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0]
[joint.B]
type = "revolute"
between = ["crank", "coupler"]
on = [[0.15, 0], [-0.4, -0.1]]
[joint.C]
type = "revolute"
between = ["coupler", "rocker"]
on = [[0.4, -0.1], [0.3, 0]]
[joint.D]
type = "revolute"
between = ["ground", "rocker"]
at = [0.9, 0.1]
[force.return_spring]
type = "spring-damper"
between = ["ground", "rocker"]
on = [[1.6, 0.35], [0.1, 0]]
stiffness = 100
damping = 3
[force.drive]
type = "torque"
body = "crank"
torque = "2"
[probe.P]
body = "coupler"
on = [0.05, 0.35]
"#;

/// A crank that turns once a second; the coupler carries a point P.
pub fn four_bar() -> impl FnMut(f64, &mut Frame) {
    let (mut near_b, mut near_c) = (0.0, 0.0);
    move |t, f| {
        let theta = TAU * t;
        let b = [A * theta.cos(), A * theta.sin()];
        let c = meet(b, B, D, C);
        let coupler = continuous((c[1] - b[1]).atan2(c[0] - b[0]), &mut near_b);
        let rocker = continuous((c[1] - D[1]).atan2(c[0] - D[0]), &mut near_c);
        let (s, k) = coupler.sin_cos();
        let centre = [b[0] + 0.4 * k - 0.1 * s, b[1] + 0.4 * s + 0.1 * k]; // B is at (−0.4, −0.1) on the coupler
        f.planar("crank", b[0] / 2.0, b[1] / 2.0, theta);
        f.planar("coupler", centre[0], centre[1], coupler);
        f.planar("rocker", (c[0] + D[0]) / 2.0, (c[1] + D[1]) / 2.0, rocker);
        f.put("A.angle", "rad", theta);
        f.put("A.rate", "rad/s", TAU);
        f.put("D.angle", "rad", rocker);
        f.vector("P", "", "m", &[centre[0] + 0.05 * k - 0.35 * s, centre[1] + 0.05 * s + 0.35 * k]);
    }
}

pub const SLIDER_CRANK: &str = r#"
[model]
name = "Slider-crank"
plane = "xy"
[body.crank]
cylinder = { radius = 0.16, mass = 2 }
[body.rod]
rod = { from = [0.12, 0], to = [0.62, 0], mass = 0.4 }
[body.piston]
box = { size = [0.14, 0.12], mass = 0.6 }
at = [0.62, 0]
[joint.main]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0]
[joint.pin]
type = "revolute"
between = ["crank", "rod"]
at = [0.12, 0]
[joint.wrist]
type = "revolute"
between = ["rod", "piston"]
at = [0.62, 0]
[joint.bore]
type = "prismatic"
between = ["ground", "piston"]
at = [0.62, 0]
axis = [1, 0]
[force.buffer]
type = "spring-damper"
between = ["piston", "ground"]
on = [[0.07, 0], [0.98, 0]]
stiffness = 200
[probe.piston_pin]
body = "piston"
"#;

/// A disk as crank, with a rod and a piston.
pub fn slider_crank(t: f64, f: &mut Frame) {
    let theta = TAU * t * 0.8;
    let b = [0.12 * theta.cos(), 0.12 * theta.sin()];
    let x = b[0] + (0.25 - b[1] * b[1]).sqrt();
    f.planar("crank", 0.0, 0.0, theta);
    f.planar("rod", (b[0] + x) / 2.0, b[1] / 2.0, (-b[1]).atan2(x - b[0]));
    f.planar("piston", x, 0.0, 0.0);
    f.put("main.angle", "rad", theta);
    f.put("bore.position", "m", x - 0.62);
    f.vector("piston_pin", "", "m", &[x, 0.0]);
}

pub const DOUBLE_PENDULUM: &str = r#"
[model]
name = "Double pendulum"
plane = "xy"
gravity = [0, -9.81]
[body.upper]
rod = { from = [0, 0], to = [1, 0], mass = 1 }
[body.lower]
rod = { from = [1, 0], to = [1.8, 0], mass = 1 }
[joint.pivot]
type = "revolute"
between = ["ground", "upper"]
at = [0, 0]
[joint.elbow]
type = "revolute"
between = ["upper", "lower"]
at = [1, 0]
[probe.tip]
body = "lower"
at = [1.8, 0]
"#;

/// Two rods under gravity, by the classical Runge–Kutta method in small steps: times must not go back.
pub fn double_pendulum() -> impl FnMut(f64, &mut Frame) {
    const G: f64 = 9.81;
    let (l1, l2, m) = (1.0, 0.8, 1.0);
    // angles from x; rates: M(θ₁ − θ₂) θ̈ = …
    let accelerations = move |y: &[f64; 4]| {
        let [a, b, u, w] = *y;
        let (m11, m22, m12) = (m * l1 * l1 * (1.0 / 3.0 + 1.0), m * l2 * l2 / 3.0, 0.5 * m * l1 * l2 * (a - b).cos());
        let s = 0.5 * m * l1 * l2 * (a - b).sin();
        let f1 = -s * w * w - 1.5 * m * G * l1 * a.cos();
        let f2 = s * u * u - 0.5 * m * G * l2 * b.cos();
        let det = m11 * m22 - m12 * m12;
        [(f1 * m22 - f2 * m12) / det, (f2 * m11 - f1 * m12) / det]
    };
    let slope = move |y: &[f64; 4]| {
        let a = accelerations(y);
        [y[2], y[3], a[0], a[1]]
    };
    let (mut y, mut now) = ([0.6, 0.4, 0.0, 0.0], 0.0);
    move |t, f| {
        if t < now {
            (y, now) = ([0.6, 0.4, 0.0, 0.0], 0.0);
        }
        while now < t - 1e-12 {
            let h = (t - now).min(5e-4);
            let add = |y: &[f64; 4], k: &[f64; 4], h: f64| -> [f64; 4] { std::array::from_fn(|i| y[i] + h * k[i]) };
            let k1 = slope(&y);
            let k2 = slope(&add(&y, &k1, h / 2.0));
            let k3 = slope(&add(&y, &k2, h / 2.0));
            let k4 = slope(&add(&y, &k3, h));
            y = std::array::from_fn(|i| y[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
            now += h;
        }
        let [a, b, u, w] = y;
        let [ua, wa] = accelerations(&y);
        let rod = |l: f64, angle: f64, rate: f64, second: f64| {
            let (s, c) = angle.sin_cos();
            let p = [l * c, l * s];
            (p, [-rate * p[1], rate * p[0]], [-second * p[1] - rate * rate * p[0], second * p[0] - rate * rate * p[1]])
        };
        let plus = |x: [f64; 2], y: [f64; 2]| [x[0] + y[0], x[1] + y[1]];
        let (c1, v1, a1) = rod(l1 / 2.0, a, u, ua);
        let (e, ve, ae) = rod(l1, a, u, ua);
        let (d, vd, ad) = rod(l2 / 2.0, b, w, wa);
        let (tip, vt, at) = rod(l2, b, w, wa);
        let (c2, v2, a2) = (plus(e, d), plus(ve, vd), plus(ae, ad));
        f.planar("upper", c1[0], c1[1], a);
        f.vector("upper", "v", "m/s", &v1);
        f.put("upper.w", "rad/s", u);
        f.planar("lower", c2[0], c2[1], b);
        f.vector("lower", "v", "m/s", &v2);
        f.put("lower.w", "rad/s", w);
        f.put("pivot.angle", "rad", a);
        f.put("pivot.rate", "rad/s", u);
        f.put("elbow.angle", "rad", b - a);
        f.put("elbow.rate", "rad/s", w - u);
        let elbow = [m * a2[0], m * (a2[1] + G)];
        f.vector("pivot", "f", "N", &[m * a1[0] + elbow[0], m * (a1[1] + G) + elbow[1]]);
        f.put("pivot.m", "N m", 0.0);
        f.vector("elbow", "f", "N", &elbow);
        f.put("elbow.m", "N m", 0.0);
        f.vector("tip", "", "m", &plus(e, tip));
        f.vector("tip", "v", "m/s", &plus(ve, vt));
        f.vector("tip", "a", "m/s²", &plus(ae, at));
        let square = |v: [f64; 2]| v[0] * v[0] + v[1] * v[1];
        let kinetic = 0.5 * m * (square(v1) + square(v2) + (l1 * l1 * u * u + l2 * l2 * w * w) / 12.0);
        let stored = m * G * (c1[1] + c2[1]);
        f.put("energy.kinetic", "J", kinetic);
        f.put("energy.stored", "J", stored);
        f.put("energy.total", "J", kinetic + stored);
    }
}

pub const TOP: &str = r#"
[model]
name = "Spinning top"
gravity = [0, 0, -9.81]
[body.top]
cylinder = { radius = 0.3, length = 0.08, mass = 1 }
at = [0, 0, 0.5]
[body.satellite]
box = { size = [0.2, 0.12, 0.08], mass = 1 }
at = [1, 0, 0.6]
[body.moon]
sphere = { radius = 0.09, mass = 1 }
at = [0, -1, 0.6]
[joint.foot]
type = "spherical"
between = ["ground", "top"]
at = [0, 0, 0]
[joint.arm]
type = "revolute"
between = ["ground", "satellite"]
on = [[0, 0, 0.6], [-1, 0, 0]]
axis = [0, 0, 1]
[force.tether]
type = "spring-damper"
between = ["satellite", "moon"]
on = [[0, 0, 0], [0, 0, 0]]
stiffness = 10
[force.wind]
type = "force"
body = "moon"
force = [0, 0, "1 + t"]
[probe.spindle]
body = "top"
on = [0, 0, 0.35]
[probe.beacon]
body = "moon"
"#;

fn times(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let ([aw, ax, ay, az], [bw, bx, by, bz]) = (a, b);
    [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]
}

/// A rotation about a world axis.
fn about(axis: usize, angle: f64) -> [f64; 4] {
    let mut q = [(angle / 2.0).cos(), 0.0, 0.0, 0.0];
    q[1 + axis] = (angle / 2.0).sin();
    q
}

/// A top that precesses and nods, and two bodies that go round it.
pub fn top(t: f64, f: &mut Frame) {
    let (phi, theta, psi) = (1.1 * t, 0.35 + 0.06 * (9.0 * t).cos(), 25.0 * t);
    let q = times(times(about(2, phi), about(1, theta)), about(2, psi));
    let up = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
    f.spatial("top", up.map(|c| 0.5 * c), q);
    let a = 0.7 * t;
    f.spatial("satellite", [a.cos(), a.sin(), 0.6], about(2, a));
    let m = 0.7 * t - PI / 2.0 + 0.3 * (2.0 * t).sin();
    let moon = [m.cos(), m.sin(), 0.6 + 0.2 * (3.0 * t).sin()];
    f.spatial("moon", moon, about(0, t));
    f.put("arm.angle", "rad", a);
    f.put("arm.rate", "rad/s", 0.7);
    f.vector("foot", "f", "N", &[-2.0 * phi.cos(), -2.0 * phi.sin(), 9.81 + 3.0 * (9.0 * t).cos()]);
    f.vector("spindle", "", "m", &up.map(|c| 0.85 * c));
    f.vector("beacon", "", "m", &moon);
}

/// `n` bodies of all shapes in space.
pub fn cloud_model(n: usize) -> String {
    let mut text = String::from("[model]\nname = \"Cloud\"\ngravity = [0, 0, -9.81]\n");
    for i in 0..n {
        let shape = match i % 3 {
            0 => "sphere = { radius = 0.11, mass = 1 }",
            1 => "box = { size = [0.26, 0.14, 0.1], mass = 1 }",
            _ => "cylinder = { radius = 0.08, length = 0.22, mass = 1 }",
        };
        text += &format!("[body.b{i}]\n{shape}\nat = [0, 0, 0]\n");
    }
    text
}

/// Bodies on a rolling torus.
pub fn cloud(n: usize) -> impl FnMut(f64, &mut Frame) {
    move |t, f| {
        for i in 0..n {
            let (k, golden) = (i as f64, PI * (3.0 - 5f64.sqrt()));
            let (u, v) = (golden * k + 0.25 * t, TAU * k / n as f64 * 7.0 + 1.1 * t);
            let r = 0.9 + 0.5 * (k * 0.7).sin();
            let ring = 3.0 + r * v.cos();
            let spin = times(about(2, u + t), about(0, v + 0.5 * t));
            f.spatial(&format!("b{i}"), [ring * u.cos(), ring * u.sin(), 2.0 + r * v.sin()], spin);
        }
    }
}

/// Rods in the plane, in rows of a hundred.
pub fn rods_model(n: usize) -> String {
    let mut text = String::from("[model]\nname = \"Rods\"\nplane = \"xy\"\ngravity = [0, -9.81]\n[body]\n");
    for i in 0..n {
        let (x, y) = ((i % 100) as f64, (i / 100) as f64);
        text += &format!("b{i} = {{ rod = {{ from = [{x}, {y}], to = [{}, {y}], mass = 1 }} }}\n", x + 0.8);
    }
    text
}

/// Each of them turns about its middle, and all rise.
pub fn rods(n: usize) -> impl FnMut(f64, &mut Frame) {
    move |t, f| {
        for i in 0..n {
            let (x, y) = ((i % 100) as f64, (i / 100) as f64);
            f.planar(&format!("b{i}"), x + 0.4, y + 2.0 * t, t * (1.0 + 1e-3 * i as f64));
        }
    }
}

/// `n` × `n` point masses held by springs and bars.
pub fn net_model(n: usize) -> String {
    let mut text = String::from("[model]\nname = \"Net\"\ngravity = [0, 0, -9.81]\n");
    let at = |i: usize, j: usize| format!("[{}, {}, 1]", i as f64 / 10.0, j as f64 / 10.0);
    for i in 0..n {
        for j in 0..n {
            text += &format!("[body.p{i}_{j}]\nmass = 0.1\nat = {}\n", at(i, j));
        }
    }
    for i in 0..n {
        for j in 0..n {
            if i + 1 < n {
                text += &format!(
                    "[joint.u{i}_{j}]\ntype = \"distance\"\nbetween = [\"p{i}_{j}\", \"p{}_{j}\"]\nat = [{}, {}]\n",
                    i + 1,
                    at(i, j),
                    at(i + 1, j)
                );
            }
            if j + 1 < n {
                text += &format!(
                    "[force.v{i}_{j}]\ntype = \"spring-damper\"\nstiffness = 9\nbetween = [\"p{i}_{j}\", \"p{i}_{}\"]\nat = [{}, {}]\n",
                    j + 1,
                    at(i, j),
                    at(i, j + 1)
                );
            }
        }
    }
    text
}

/// A net that waves.
pub fn net(n: usize) -> impl FnMut(f64, &mut Frame) {
    move |t, f| {
        for i in 0..n {
            for j in 0..n {
                let (x, y) = (i as f64 / 10.0, j as f64 / 10.0);
                f.vector(
                    &format!("p{i}_{j}"),
                    "",
                    "m",
                    &[x, y, 1.0 + 0.2 * (3.0 * x + 2.0 * t).sin() * (2.0 * y - t).cos()],
                );
            }
        }
    }
}

/// Names that break careless pages.
pub const ODD: [&str; 5] = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\u{1b}[31mred\u{7}",
    "\u{202e}txt.exe",
    "Räder \"φ\", a/b 🛞",
];

pub fn odd_model() -> String {
    let name = |s: &str| serde_json::to_string(s).unwrap();
    let mut text = format!("[model]\nname = {}\nplane = \"xy\"\n", name("</script><script>window.hacked = 1</script>"));
    for (i, odd) in ODD.iter().enumerate() {
        text += &format!("[body.{}]\nbox = {{ size = [0.5, 0.3], mass = 1 }}\nat = [{i}, 0]\n", name(odd));
        text += &format!(
            "[joint.{}]\ntype = \"revolute\"\nbetween = [\"ground\", {}]\nat = [{i}, 0]\n",
            name(&format!("joint {odd}")),
            name(odd)
        );
    }
    text
}

pub fn odd(t: f64, f: &mut Frame) {
    for (i, odd) in ODD.iter().enumerate() {
        f.planar(odd, i as f64, 0.0, t * (1.0 + i as f64));
        f.put(&format!("joint {odd}.angle"), "rad", t * (1.0 + i as f64));
    }
}
