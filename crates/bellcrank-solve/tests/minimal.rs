//! The motion of every kind of joint against an independent solution in minimal coordinates: poses as explicit
//! functions of a few numbers, d'Alembert's principle with all derivatives by differences, and Runge–Kutta.

mod common;

use bellcrank_math::{Mat3, Quat, Vec3};
use bellcrank_solve::choices::{MethodName, Options};
use common::*;

/// Mass, principal moments.
type Inertia = (f64, [f64; 3]);

const GRAVITY: Vec3 = Vec3([0.4, -0.3, -9.81]);
const A: Inertia = (2.3, [0.2, 0.3, 0.4]);
const B: Inertia = (1.7, [0.11, 0.17, 0.14]);
/// Where the bodies stand at the start, without rotation, and the joint.
const AT_A: Vec3 = Vec3([0.1, -0.2, 0.1]);
const AT_B: Vec3 = Vec3([0.6, 0.1, 0.05]);
const PIN: Vec3 = Vec3([0.5, 0.0, 0.0]);

type Pose = (Vec3, Mat3);

struct Case {
    kind: &'static str,
    joints: &'static str,
    /// Coordinates and rates at the start.
    x: &'static [f64],
    u: &'static [f64],
    /// Poses of the bodies: of `b`, or of `a` and `b`.
    poses: fn(&[f64], f64) -> Vec<Pose>,
}

fn unit(x: f64, y: f64, z: f64) -> Vec3 {
    let v = Vec3::new(x, y, z);
    v * (1.0 / v.norm())
}

/// Rodrigues' formula, I + sin α ñ + (1 − cos α) ñ².
fn turn(n: Vec3, angle: f64) -> Mat3 {
    let (s, c) = angle.sin_cos();
    let column = |e: Vec3| e * c + n.cross(e) * s + n * (n.dot(e) * (1.0 - c));
    Mat3::from_columns(column(Vec3::X), column(Vec3::Y), column(Vec3::Z))
}

fn euler(x: &[f64]) -> Mat3 {
    turn(Vec3::X, x[0]) * turn(Vec3::Y, x[1]) * turn(Vec3::Z, x[2])
}

/// The axis of most joints, and two across.
fn axes() -> [Vec3; 3] {
    let n = unit(1.0, 2.0, 3.0);
    let e = n.cross(Vec3::X);
    let e = e * (1.0 / e.norm());
    [n, e, n.cross(e)]
}

/// `b` with the point of the pin at `p`, turned by `r`.
fn at(p: Vec3, r: Mat3) -> Pose {
    (p + r * (AT_B - PIN), r)
}

/// `a` turned about [0, 1, 1] through the origin.
fn wheel(angle: f64) -> Pose {
    let r = turn(unit(0.0, 1.0, 1.0), angle);
    (r * AT_A, r)
}

const CASES: &[Case] = &[
    Case {
        kind: "fixed",
        joints: r#"h = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "fixed", between = ["a", "b"], at = [0.5, 0, 0] }"#,
        x: &[0.0],
        u: &[1.0],
        poses: |x, _| {
            let r = turn(axes()[0], x[0]);
            vec![(PIN + r * (AT_A - PIN), r), at(PIN, r)]
        },
    },
    Case {
        kind: "revolute",
        joints: r#"j = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![at(PIN, turn(axes()[0], x[0]))],
    },
    Case {
        kind: "prismatic",
        joints: r#"j = { type = "prismatic", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        x: &[0.0],
        u: &[0.7],
        poses: |x, _| vec![at(PIN + axes()[0] * x[0], Mat3::IDENTITY)],
    },
    Case {
        kind: "cylindrical",
        joints: r#"j = { type = "cylindrical", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        x: &[0.0, 0.0],
        u: &[2.0, 0.7],
        poses: |x, _| vec![at(PIN + axes()[0] * x[1], turn(axes()[0], x[0]))],
    },
    Case {
        kind: "screw",
        joints: r#"j = { type = "screw", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3], pitch = 0.4 }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![at(PIN + axes()[0] * (0.4 / std::f64::consts::TAU * x[0]), turn(axes()[0], x[0]))],
    },
    Case {
        kind: "spherical",
        joints: r#"j = { type = "spherical", between = ["ground", "b"], at = [0.5, 0, 0] }"#,
        x: &[0.0, 0.0, 0.0],
        u: &[2.0, -0.5, 1.0],
        poses: |x, _| vec![at(PIN, euler(x))],
    },
    Case {
        kind: "universal",
        joints: r#"j = { type = "universal", between = ["ground", "b"], at = [0.5, 0, 0], axis = [0, 0, 1], axis2 = [1, 1, 0] }"#,
        x: &[0.0, 0.0],
        u: &[2.0, -1.5],
        poses: |x, _| vec![at(PIN, turn(Vec3::Z, x[0]) * turn(unit(1.0, 1.0, 0.0), x[1]))],
    },
    Case {
        // no twist: the rotation that takes the first axis to the second is about a line across the first
        kind: "constant-velocity",
        joints: r#"j = { type = "constant-velocity", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 0, 0], axis2 = [1, 0.3, 0] }"#,
        x: &[0.0, 0.2914567944778671],
        u: &[1.0, 0.5],
        poses: |x, _| {
            let bend = Vec3::new(0.0, x[0], x[1]);
            let swing = turn(bend * (1.0 / bend.norm()), bend.norm());
            vec![at(PIN, swing * turn(Vec3::Z, -(0.3f64.atan())))]
        },
    },
    Case {
        kind: "planar",
        joints: r#"j = { type = "planar", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        x: &[0.0, 0.0, 0.0],
        u: &[2.0, 0.5, -0.3],
        poses: |x, _| vec![at(PIN + axes()[1] * x[1] + axes()[2] * x[2], turn(axes()[0], x[0]))],
    },
    Case {
        kind: "point-on-line",
        joints: r#"j = { type = "point-on-line", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        x: &[0.0, 0.0, 0.0, 0.0],
        u: &[2.0, -0.5, 1.0, 0.3],
        poses: |x, _| vec![at(PIN + axes()[0] * x[3], euler(x))],
    },
    Case {
        kind: "point-on-curve",
        joints: r#"j = { type = "point-on-curve", between = ["ground", "b"], at = [[0, 0, 0], [0.5, 0, 0]], curve = ["0.5*cos(s)", "0.3*sin(s)", "0.1*sin(2*s)"], range = [0, "2*pi"], closed = true }"#,
        x: &[0.0, 0.0, 0.0, 0.0],
        u: &[2.0, -0.5, 1.0, 0.3],
        poses: |x, _| {
            let s = x[3];
            vec![at(Vec3::new(0.5 * s.cos(), 0.3 * s.sin(), 0.1 * (2.0 * s).sin()), euler(x))]
        },
    },
    Case {
        // an eccentric circle and a roller on a slide: the distance of their centres is 0.4 m
        kind: "cam",
        joints: r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 0, 1] }
h = { type = "prismatic", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 0, 0] }
j = { type = "cam", between = ["a", "b"], at = [[0, 0, 0], [0.5, 0, 0]], curve = ["0.1 + 0.3*cos(s)", "0.3*sin(s)", 0], range = [0, "2*pi"], closed = true, radius = 0.1 }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| {
            let place = 0.1 * x[0].cos() + (0.16 - 0.01 * x[0].sin().powi(2)).sqrt();
            let turned = turn(Vec3::new(0.0, 0.0, 1.0), x[0]);
            vec![(turned * AT_A, turned), at(Vec3::new(place, 0.0, 0.0), Mat3::IDENTITY)]
        },
    },
    Case {
        kind: "point-on-plane",
        joints: r#"j = { type = "point-on-plane", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        x: &[0.0, 0.0, 0.0, 0.0, 0.0],
        u: &[2.0, -0.5, 1.0, 0.3, 0.2],
        poses: |x, _| vec![at(PIN + axes()[1] * x[3] + axes()[2] * x[4], euler(x))],
    },
    Case {
        kind: "distance",
        joints: r#"j = { type = "distance", between = ["ground", "b"], at = [[0.1, 0.2, 0.3], [0.5, 0, 0]] }"#,
        x: &[0.0, 0.0, 0.0, 0.0, 0.0],
        u: &[2.0, -0.5, 1.0, 0.3, 0.2],
        poses: |x, _| {
            let hook = Vec3::new(0.1, 0.2, 0.3);
            vec![at(hook + turn(Vec3::Y, x[3]) * turn(Vec3::Z, x[4]) * (PIN - hook), euler(x))]
        },
    },
    Case {
        kind: "drive-point",
        joints: r#"j = { type = "drive-point", body = "b", at = [0.5, 0, 0], position = ["0.5+sin(t)", "t^2", "0.3*t"] }"#,
        x: &[0.0, 0.0, 0.0],
        u: &[2.0, -0.5, 1.0],
        poses: |x, t| vec![at(Vec3::new(0.5 + t.sin(), t * t, 0.3 * t), euler(x))],
    },
    Case {
        kind: "drive",
        joints: r#"h = { type = "universal", between = ["ground", "b"], at = [0.5, 0, 0], axis = [0, 0, 1], axis2 = [1, 1, 0] }
j = { type = "drive", joint = "h", angle = "t + sin(3*t)" }"#,
        x: &[0.0],
        u: &[-1.5],
        poses: |x, t| vec![at(PIN, turn(Vec3::Z, t + (3.0 * t).sin()) * turn(unit(1.0, 1.0, 0.0), x[0]))],
    },
    Case {
        kind: "gear",
        joints: r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "gear", joints = ["g", "h"], ratio = 1.5 }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![wheel(x[0]), at(PIN, turn(axes()[0], 1.5 * x[0]))],
    },
    Case {
        kind: "belt",
        joints: r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "belt", joints = ["g", "h"], radii = [0.2, 0.3] }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![wheel(x[0]), at(PIN, turn(axes()[0], 0.2 / 0.3 * x[0]))],
    },
    Case {
        kind: "tie",
        joints: r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "prismatic", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "tie", joints = ["g", "h"], ratio = -0.3 }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![wheel(x[0]), at(PIN - axes()[0] * (0.3 * x[0]), Mat3::IDENTITY)],
    },
    Case {
        kind: "armature",
        joints: r#"h = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "armature", joint = "h", inertia = 0.3 }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![at(PIN, turn(axes()[0], x[0]))],
    },
    Case {
        kind: "rack",
        joints: r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "prismatic", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "rack", joints = ["g", "h"], radius = 0.2 }"#,
        x: &[0.0],
        u: &[2.0],
        poses: |x, _| vec![wheel(x[0]), at(PIN + axes()[0] * (0.2 * x[0]), Mat3::IDENTITY)],
    },
];

/// Kinds without coordinates of position, of which `mechanisms.rs` has the sleigh and the disk, and curves on curves, of which `elements.rs`
/// has elliptical gears and `wires.rs` rings.
const ELSEWHERE: &[&str] = &["knife-edge", "rolling-disk", "curve-on-curve"];

/// First and second derivative at zero, of order six.
fn derivatives(f: impl Fn(f64) -> Vec3) -> (Vec3, Vec3) {
    let h = 5e-3;
    let f = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0].map(|k| f(k * h));
    let d = |k: usize| f[3 + k] - f[3 - k];
    let s = |k: usize| f[3 + k] + f[3 - k] - f[3] * 2.0;
    (
        (d(1) * 45.0 - d(2) * 9.0 + d(3)) * (1.0 / (60.0 * h)),
        (s(1) * 1.5 - s(2) * 0.15 + s(3) * (1.0 / 90.0)) * (1.0 / (h * h)),
    )
}

/// The rotation vector of a small rotation.
fn vector(r: &Mat3) -> Vec3 {
    let m = &r.0;
    let v = Vec3::new(m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]) * 0.5;
    let s = v.norm();
    if s < 1e-12 { v } else { v * (s.asin() / s) }
}

/// Places and turns of all bodies, seen from a pose, along a path.
fn along(case: &Case, from: &[Pose], body: usize, path: impl Fn(f64) -> (Vec<f64>, f64)) -> [(Vec3, Vec3); 2] {
    let pose = |s: f64| {
        let (x, t) = path(s);
        (case.poses)(&x, t)[body]
    };
    let back = from[body].1.transpose();
    [derivatives(|s| pose(s).0), derivatives(|s| vector(&(back * pose(s).1)))]
}

/// ẍ from Σ m (p̈ − g)·∂p + (J ω̇ + ω × J ω)·∂ω = 0.
fn accelerate(case: &Case, x: &[f64], u: &[f64], t: f64) -> Vec<f64> {
    let n = x.len();
    let from = (case.poses)(x, t);
    let (mut m, mut f) = (vec![0.0; n * n], vec![0.0; n]);
    for body in 0..from.len() {
        let (mass, j) = if body + 1 == from.len() { B } else { A };
        let times = |w: Vec3| Vec3::new(j[0] * w[0], j[1] * w[1], j[2] * w[2]);
        let moved = |s: f64| (x.iter().zip(u).map(|(x, u)| x + s * u).collect(), t + s);
        let [(_, a), (w, wdot)] = along(case, &from, body, moved);
        let (push, twist) = ((a - GRAVITY) * mass, times(wdot) + w.cross(times(w)));
        let by: Vec<[Vec3; 2]> = (0..n)
            .map(|i| {
                let one = |s: f64| ((0..n).map(|k| x[k] + if k == i { s } else { 0.0 }).collect(), t);
                along(case, &from, body, one).map(|d| d.0)
            })
            .collect();
        for i in 0..n {
            f[i] -= push.dot(by[i][0]) + twist.dot(by[i][1]);
            (0..n).for_each(|k| m[i * n + k] += mass * by[i][0].dot(by[k][0]) + times(by[i][1]).dot(by[k][1]));
        }
    }
    if case.kind == "armature" {
        m[0] += 0.3; // T = ½ J ẋ²
    }
    bellcrank_math::linear::dense::least_squares(&m, n, n, &f, 1e-12).unwrap().x
}

/// The coordinates at the end.
fn integrate(case: &Case, until: f64) -> Vec<f64> {
    let (n, steps) = (case.x.len(), 400);
    let h = until / steps as f64;
    let mut y = [case.x, case.u].concat();
    let rate = |y: &[f64], t: f64| [&y[n..], &accelerate(case, &y[..n], &y[n..], t)].concat();
    let shifted = |y: &[f64], c: f64, k: &[f64]| y.iter().zip(k).map(|(y, k)| y + c * k).collect::<Vec<_>>();
    for i in 0..steps {
        let t = i as f64 * h;
        let k1 = rate(&y, t);
        let k2 = rate(&shifted(&y, 0.5 * h, &k1), t + 0.5 * h);
        let k3 = rate(&shifted(&y, 0.5 * h, &k2), t + 0.5 * h);
        let k4 = rate(&shifted(&y, h, &k3), t + h);
        (0..2 * n).for_each(|i| y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    y.truncate(n);
    y
}

#[test]
fn every_joint_moves_as_in_minimal_coordinates() {
    for kind in bellcrank_model::joints::CATALOG.iter().map(|k| k.name) {
        let known = CASES.iter().any(|c| c.kind == kind) || ELSEWHERE.contains(&kind);
        assert!(known, "no case for {kind}");
    }
    let until = 0.4;
    for case in CASES {
        let from = (case.poses)(case.x, 0.0);
        let mut text = format!("model = {{ gravity = {:?} }}\n[body]\n", GRAVITY.0);
        for body in 0..from.len() {
            let last = body + 1 == from.len();
            let (name, (mass, j)) = if last { ("b", B) } else { ("a", A) };
            let path = |s: f64| (case.x.iter().zip(case.u).map(|(x, u)| x + s * u).collect(), s);
            let [(v, _), (w, _)] = along(case, &from, body, path);
            assert!((from[body].0 - if last { AT_B } else { AT_A }).norm() < 1e-14, "{}", case.kind);
            text += &format!(
                "{name} = {{ mass = {mass}, inertia = {j:?}, at = {:?}, velocity = {:?}, angular_velocity = {:?} }}\n",
                from[body].0.0, v.0, w.0
            );
        }
        text += &format!("[joint]\n{}\n", case.joints);
        let options = Options { method: MethodName::Dop853, rtol: 1e-10, until, ..Options::default() };
        let summary = run(&system(&text), options);
        let expected = (case.poses)(&integrate(case, until), until);
        for (body, (p, r)) in expected.iter().enumerate() {
            let name = if body + 1 == expected.len() { "b" } else { "a" };
            let seen = |part: &str| last(&summary, &format!("{name}.{part}"));
            let off = (Vec3::new(seen("x"), seen("y"), seen("z")) - *p).norm();
            assert!(off < 1e-7, "{}: `{name}` off by {off:.1e} m", case.kind);
            let found = Quat([seen("qw"), seen("qx"), seen("qy"), seen("qz")]).matrix();
            let off = vector(&(r.transpose() * found)).norm();
            assert!(off < 1e-7, "{}: `{name}` off by {off:.1e} rad", case.kind);
            assert!((*p - from[body].0).norm() > 0.01, "{}: it moves", case.kind);
        }
    }
}
