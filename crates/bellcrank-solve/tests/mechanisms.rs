//! Small mechanisms of every kind of joint against closed forms, and their reactions against momentum.

mod common;

use bellcrank_math::{Mat3, Quat, Vec3};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::record::Memory;
use bellcrank_solve::run::{Simulation, Status};
use common::*;
use std::f64::consts::{PI, TAU};

/// A run to the end with tight tolerances, all frames kept.
fn record(text: &str, until: f64, samples: usize) -> Memory {
    let s = system(text);
    let options = Options {
        method: MethodName::Dop853,
        rtol: 1e-11,
        until,
        sample: Some(until / samples as f64),
        ..Options::default()
    };
    let mut memory = Memory::default();
    let mut simulation = Simulation::new(s, options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let summary = simulation.run(&mut memory);
    assert_eq!(summary.status, Status::Finished, "{text}");
    memory
}

fn column(m: &Memory, name: &str) -> Vec<f64> {
    m.column(name).unwrap_or_else(|| panic!("no channel {name}"))
}

fn vectors(m: &Memory, names: [&str; 3]) -> Vec<Vec3> {
    let [x, y, z] = names.map(|n| column(m, n));
    (0..x.len()).map(|i| Vec3::new(x[i], y[i], z[i])).collect()
}

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (found - expected).abs();
    assert!(off <= tolerance * expected.abs().max(1.0), "{what}: {found:.12} against {expected:.12}, off by {off:.1e}");
}

#[test]
fn a_hookes_joint_passes_its_uneven_speed_on() {
    let beta: f64 = 0.6;
    let text = format!(
        r#"
        [body]
        input = {{ mass = 1, inertia = [0.1, 0.2, 0.2], at = [-0.5, 0, 0] }}
        output = {{ mass = 1, inertia = [0.1, 0.2, 0.2], at = [{x:?}, {y:?}, 0] }}
        [joint]
        left = {{ type = "revolute", between = ["ground", "input"], at = [-1, 0, 0], axis = [1, 0, 0] }}
        right = {{ type = "revolute", between = ["ground", "output"], at = [{x:?}, {y:?}, 0], axis = [{x:?}, {y:?}, 0] }}
        cross = {{ type = "universal", between = ["input", "output"], at = [0, 0, 0], axis = [0, 0, 1], axis2 = [{nx:?}, {x:?}, 0] }}
        motor = {{ type = "drive", joint = "left", angle = "5*t" }}
        "#,
        x = beta.cos(),
        y = beta.sin(),
        nx = -beta.sin()
    );
    let m = record(&text, 4.0, 200);
    let (angle, rate) = (column(&m, "right.angle"), column(&m, "right.rate"));
    for (i, t) in m.times.iter().enumerate() {
        let phi = 5.0 * t;
        // tan ψ = cos β tan φ, on the same turn as φ
        let psi = phi
            + (beta.cos() * phi.sin() * phi.cos() - phi.cos() * phi.sin())
                .atan2(phi.cos().powi(2) + beta.cos() * phi.sin().powi(2));
        close(angle[i], psi, 1e-9, "angle");
        let slope = beta.cos() / (phi.cos().powi(2) + (beta.cos() * phi.sin()).powi(2));
        close(rate[i], 5.0 * slope, 1e-9, "rate");
    }
}

#[test]
fn a_constant_velocity_joint_passes_its_speed_on_at_every_bend() {
    let beta: f64 = 0.6;
    let text = format!(
        r#"
        [body]
        input = {{ mass = 1, inertia = [0.1, 0.2, 0.2], at = [-0.5, 0, 0] }}
        output = {{ mass = 1, inertia = [0.1, 0.2, 0.2], at = [{x:?}, {y:?}, 0] }}
        [joint]
        left = {{ type = "revolute", between = ["ground", "input"], at = [-1, 0, 0], axis = [1, 0, 0] }}
        right = {{ type = "revolute", between = ["ground", "output"], at = [{x:?}, {y:?}, 0], axis = [{x:?}, {y:?}, 0] }}
        ball = {{ type = "constant-velocity", between = ["input", "output"], at = [0, 0, 0], axis = [1, 0, 0], axis2 = [{x:?}, {y:?}, 0] }}
        motor = {{ type = "drive", joint = "left", angle = "5*t + sin(2*t)" }}
        "#,
        x = beta.cos(),
        y = beta.sin(),
    );
    let m = record(&text, 4.0, 200);
    let (angle, rate) = (column(&m, "right.angle"), column(&m, "right.rate"));
    for (i, t) in m.times.iter().enumerate() {
        close(angle[i], 5.0 * t + (2.0 * t).sin(), 1e-9, "angle");
        close(rate[i], 5.0 + 2.0 * (2.0 * t).cos(), 1e-9, "rate");
    }
}

/// ∫₀¹ by Gauss's rule of four points on n parts.
fn integral(n: usize, f: impl Fn(f64) -> f64) -> f64 {
    let points = [(0.861136311594052_6, 0.347854845137453_86), (0.339981043584856_26, 0.652145154862546_1)];
    let mut sum = 0.0;
    for k in 0..n {
        for (x, w) in points {
            for x in [-x, x] {
                sum += 0.5 * w * f((k as f64 + 0.5 + 0.5 * x) / n as f64);
            }
        }
    }
    sum / n as f64
}

/// d/dθ of a vector by differences of order six.
fn slope(f: impl Fn(f64) -> Vec3, at: f64) -> Vec3 {
    let h = 2e-3;
    let d = |k: f64| (f(at + k * h) - f(at - k * h)) * (0.5 / (k * h));
    d(1.0) * 1.5 - d(2.0) * 0.6 + d(3.0) * 0.1
}

/// The spatial slider-crank: crank of radius 0.08 about x at (0, 0.1, 0.12), rod of 0.3, slider along x.
struct SliderCrank;

impl SliderCrank {
    fn pin(theta: f64) -> Vec3 {
        Vec3::new(0.0, 0.1 - 0.08 * theta.sin(), 0.12 + 0.08 * theta.cos())
    }
    fn slider(theta: f64) -> Vec3 {
        let p = Self::pin(theta);
        Vec3::new((0.09 - p[1] * p[1] - p[2] * p[2]).sqrt(), 0.0, 0.0)
    }
    /// The axes of the rod: along it, along the arm of its cross, and across.
    fn rod(theta: f64) -> Mat3 {
        let u = (Self::slider(theta) - Self::pin(theta)) * (1.0 / 0.3);
        let c = Vec3::new(0.0, 0.0, 1.0).cross(u).normalized().unwrap();
        Mat3::from_columns(u, c, u.cross(c))
    }
    fn text(universal: bool) -> String {
        let (p, s) = (Self::pin(0.0), Self::slider(0.0));
        let vector = |v: Vec3| format!("{:?}", v.0);
        let r = Quat::from_matrix(&Self::rod(0.0));
        let (rod, joint) = if universal {
            let c = Self::rod(0.0).column(1);
            (
                format!(
                    "mass = 0.5\ninertia = [0.002, 0.00375, 0.005]\nat = {}\norientation = {:?}",
                    vector((p + s) * 0.5),
                    r.0
                ),
                format!(
                    "type = \"universal\"\nbetween = [\"slider\", \"rod\"]\nat = {}\naxis = [0, 0, 1]\naxis2 = {}",
                    vector(s),
                    vector(c)
                ),
            )
        } else {
            (
                format!("coordinates = \"natural\"\nrod = {{ from = {}, to = {}, mass = 0.5 }}", vector(p), vector(s)),
                format!("type = \"spherical\"\nbetween = [\"slider\", \"rod\"]\nat = {}", vector(s)),
            )
        };
        format!(
            r#"
model = {{ gravity = [0, 0, -9.81] }}
[body.crank]
mass = 0.4
inertia = [0.003, 0.002, 0.002]
at = [0, 0.1, 0.12]
[body.slider]
mass = 0.7
inertia = [0.001, 0.001, 0.001]
at = {s}
[body.rod]
{rod}
[joint.hinge]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0.1, 0.12]
axis = [1, 0, 0]
[joint.pin]
type = "spherical"
between = ["crank", "rod"]
at = {p}
[joint.end]
{joint}
[joint.guide]
type = "prismatic"
between = ["ground", "slider"]
at = {s}
axis = [1, 0, 0]
[start]
hinge = {{ rate = 20 }}
"#,
            p = vector(p),
            s = vector(s)
        )
    }
    /// 2T/θ̇² and V.
    fn energies(theta: f64, universal: bool) -> (f64, f64) {
        let (vp, vs) = (slope(Self::pin, theta), slope(Self::slider, theta));
        let mut inertia = 0.003 + 0.7 * vs.dot(vs);
        if universal {
            let v = (vp + vs) * 0.5;
            let r = Self::rod(theta);
            let rates: Vec<Vec3> = (0..3).map(|k| slope(|t| Self::rod(t).column(k), theta)).collect();
            // ω = ½ Σ e × e′
            let mut w = Vec3::ZERO;
            (0..3).for_each(|k| w += r.column(k).cross(rates[k]) * 0.5);
            let w_b = r.transpose_times(w);
            inertia += 0.5 * v.dot(v) + 0.002 * w_b[0].powi(2) + 0.00375 * w_b[1].powi(2) + 0.005 * w_b[2].powi(2);
        } else {
            inertia += 0.5 / 3.0 * (vp.dot(vp) + vp.dot(vs) + vs.dot(vs));
        }
        let height = 0.5 * (Self::pin(theta)[2] + Self::slider(theta)[2]);
        (inertia, 9.81 * 0.5 * height)
    }
}

#[test]
fn spatial_slider_cranks_keep_to_their_energy_integral() {
    for universal in [false, true] {
        let m = record(&SliderCrank::text(universal), 1.0, 100);
        let (angle, rate, x) = (column(&m, "hinge.angle"), column(&m, "hinge.rate"), column(&m, "slider.x"));
        let (inertia, stored) = SliderCrank::energies(0.0, universal);
        let energy = 0.5 * inertia * 400.0 + stored;
        let speed = |theta: f64| {
            let (inertia, stored) = SliderCrank::energies(theta, universal);
            (2.0 * (energy - stored) / inertia).sqrt()
        };
        for i in 0..m.times.len() {
            close(x[i], SliderCrank::slider(angle[i])[0], 1e-10, "slider");
            close(rate[i], speed(angle[i]), 1e-8, "speed of the crank");
        }
        let last = *angle.last().unwrap();
        assert!(last > 10.0);
        let time = last * integral(400, |s| 1.0 / speed(last * s));
        close(time, 1.0, 1e-8, if universal { "time, universal" } else { "time, spherical" });
    }
}

#[test]
fn a_screw_falls_by_its_thread() {
    let (m, j, pitch, g): (f64, f64, f64, f64) = (3.0, 0.02, 0.05, 9.81);
    for sign in [1.0, -1.0] {
        let text = format!(
            "model = {{ gravity = [0, 0, -{g}] }}\n[body.bolt]\nmass = {m}\ninertia = [0.1, 0.1, {j}]\nat = [0, 0, 0]\n[joint.thread]\ntype = \"screw\"\nbetween = [\"ground\", \"bolt\"]\nat = [0, 0, 0]\npitch = {:?}\n",
            sign * pitch
        );
        let r = record(&text, 8.0, 50);
        let a = m * g / (m + j * (TAU / pitch).powi(2));
        let (z, angle, fz, mz) =
            (column(&r, "bolt.z"), column(&r, "thread.angle"), column(&r, "thread.fz"), column(&r, "thread.mz"));
        for (i, t) in r.times.iter().enumerate() {
            let fall = -0.5 * a * t * t;
            close(z[i], fall, 1e-9, "fall");
            close(angle[i], sign * fall * TAU / pitch, 1e-9, "turns");
            close(fz[i], m * (g - a), 1e-9, "force of the thread");
            close(mz[i], -sign * j * a * TAU / pitch, 1e-9, "torque of the thread");
        }
        assert!(angle.last().unwrap().abs() > 10.0 * TAU);
    }
}

#[test]
fn gears_keep_their_ratio_over_many_turns() {
    let text = r#"
        [body]
        a = { mass = 1, inertia = [0.4, 0.4, 0.5], at = [0, 0, 0] }
        b = { mass = 1, inertia = [0.4, 0.4, 0.2], at = [1, 0, 0] }
        [joint]
        pa = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0] }
        pb = { type = "revolute", between = ["ground", "b"], at = [1, 0, 0] }
        mesh = { type = "gear", joints = ["pa", "pb"], ratio = -2 }
        [force]
        push = { type = "torque", body = "a", torque = [0, 0, 2.6] }
    "#;
    let m = record(text, 9.0, 60);
    let (a, b, ra) = (column(&m, "pa.angle"), column(&m, "pb.angle"), column(&m, "pa.rate"));
    for (i, t) in m.times.iter().enumerate() {
        close(a[i], t * t, 1e-9, "first wheel");
        close(b[i], -2.0 * t * t, 1e-9, "second wheel");
        close(ra[i], 2.0 * t, 1e-9, "rate");
    }
    assert!(a.last().unwrap() / TAU > 10.0);
}

#[test]
fn a_leaning_disk_rolls_in_its_circle() {
    // (C + m r²) ω₃Ω sin θ − AΩ² sin θ cos θ + m g r cos θ = 0
    let (m, r, g): (f64, f64, f64) = (1.5, 0.4, 9.81);
    let (a, c) = (m * r * r / 4.0, m * r * r / 2.0);
    for (theta, turn) in [(1.2f64, 1.5f64), (0.7, 3.0), (1.9, -2.0)] {
        let (s, k) = theta.sin_cos();
        let w3 = (a * turn * turn * s * k - m * g * r * k) / ((c + m * r * r) * turn * s);
        let axle = Vec3::new(s, 0.0, k);
        let w = Vec3::Z * turn + axle * (w3 - turn * k);
        let speed = -r * w3;
        let text = format!(
            r#"
            model = {{ gravity = [0, 0, -{g}] }}
            [body.disk]
            mass = {m}
            inertia = [{a:?}, {a:?}, {c:?}]
            at = [0, 0, {h:?}]
            orientation = {{ axis = [0, 1, 0], angle = {theta:?} }}
            velocity = [0, {speed:?}, 0]
            angular_velocity = {w:?}
            [joint.road]
            type = "rolling-disk"
            between = ["ground", "disk"]
            at = [[0, 0, 0], [0, 0, {h:?}]]
            axis = {axle:?}
            radius = {r}
            "#,
            h = r * s,
            w = w.0,
            axle = axle.0
        );
        let period = TAU / turn.abs();
        let run = record(&text, period, 40);
        let (x, y, z) = (column(&run, "disk.x"), column(&run, "disk.y"), column(&run, "disk.z"));
        let (fz, fx) = (column(&run, "road.fz"), column(&run, "road.fx"));
        // the centre goes round (c, 0) with the velocity `speed` along y at the start
        let centre = -speed / turn;
        for (i, t) in run.times.iter().enumerate() {
            close(z[i], r * s, 1e-8, "height");
            close(x[i] - centre, -centre * (turn * t).cos(), 1e-7, "x");
            close(y[i], -centre * (turn * t).sin(), 1e-7, "y");
            close(fz[i], m * g, 1e-7, "weight");
        }
        close(fx[0], -m * speed * turn, 1e-7, "the force to the middle");
    }
}

#[test]
fn chaplygins_sleigh_goes_its_way() {
    let text = r#"
        model = { plane = "xy" }
        [body.sleigh]
        mass = 1
        inertia = 0.5
        at = [0.4, 0]
        velocity = [1, 0.8]
        angular_velocity = 2
        [joint.edge]
        type = "knife-edge"
        between = ["ground", "sleigh"]
        at = [0, 0]
        axis = [1, 0]
        [probe.tip]
        body = "sleigh"
        at = [0, 0]
    "#;
    let m = record(text, 10.0, 10);
    let at = |name: &str, i: usize| column(&m, name)[i];
    for (i, [v, w, heading, x, y]) in [
        (1, [1.793466727810, 0.801019328104, 1.362840472922, 0.930345574744, 1.053157068606]),
        (10, [1.907878402726, 0.000024964969, 2.069756965566, -6.184773445286, 16.448314262356]),
    ] {
        let angle = at("sleigh.angle", i);
        close(angle, heading, 1e-8, "heading");
        close(at("sleigh.wz", i), w, 1e-8, "ω");
        close(at("tip.vx", i) * angle.cos() + at("tip.vy", i) * angle.sin(), v, 1e-8, "speed");
        close(at("tip.x", i), x, 1e-8, "x");
        close(at("tip.y", i), y, 1e-8, "y");
    }
}

#[test]
fn slides_faces_and_wires_lead_a_falling_body() {
    // an isotropic body keeps its spin where the joint lets it, and its centre slides down the slope
    let g = Vec3::new(0.3, -0.5, -9.81);
    let axis = Vec3::new(1.0, 2.0, -2.0) * (1.0 / 3.0);
    let spin = axis * 3.0;
    let free = Vec3::new(1.0, -2.0, 0.5);
    let across = axis.any_perpendicular();
    // (joint, acceleration, spin at the start, start of the velocity)
    let along = axis * g.dot(axis);
    let cases = [
        ("cylindrical", along, spin, axis * 0.7),
        ("prismatic", along, Vec3::ZERO, axis * 0.7),
        ("point-on-line", along, free, axis * 0.7),
        ("planar", g - along, spin, across * 0.7),
        ("point-on-plane", g - along, free, across * 0.7),
    ];
    for (kind, a, w, v) in cases {
        let text = format!(
            "model = {{ gravity = {:?} }}\n[body.b]\nmass = 2\ninertia = [0.3, 0.3, 0.3]\nat = [0.1, 0.2, 0.3]\nvelocity = {:?}\nangular_velocity = {:?}\n[joint.j]\ntype = \"{kind}\"\nbetween = [\"ground\", \"b\"]\nat = [0.1, 0.2, 0.3]\naxis = {:?}\n",
            g.0, v.0, w.0, axis.0
        );
        let m = record(&text, 2.0, 20);
        let p = vectors(&m, ["b.x", "b.y", "b.z"]);
        let spins = vectors(&m, ["b.wx", "b.wy", "b.wz"]);
        let f = vectors(&m, ["j.fx", "j.fy", "j.fz"]);
        for (i, t) in m.times.iter().enumerate() {
            let expected = Vec3::new(0.1, 0.2, 0.3) + v * *t + a * (0.5 * t * t);
            close((p[i] - expected).norm(), 0.0, 1e-9, kind);
            close((spins[i] - w).norm(), 0.0, 1e-9, kind);
            close((f[i] - (a - g) * 2.0).norm(), 0.0, 1e-9, kind);
        }
    }
}

#[test]
fn a_bob_on_a_bar_swings_as_the_simple_pendulum() {
    let text = "model = { gravity = [0, -9.81, 0] }\n[body.bob]\nmass = 1\nat = [-1, 0, 0]\n[joint.bar]\ntype = \"distance\"\nbetween = [\"ground\", \"bob\"]\nat = [[0, 0, 0], [-1, 0, 0]]\n";
    let m = record(text, 10.0, 10);
    let at = |name: &str, i: usize| column(&m, name)[i];
    for (i, x, y, tension) in [
        (1, 0.9862917511318753, -0.1650108531255412, 4.856269407485),
        (10, -0.2750874625761169, -0.9614192050991251, 28.294567206067),
    ] {
        close(at("bob.x", i), x, 1e-8, "x");
        close(at("bob.y", i), y, 1e-8, "y");
        close(at("bar.fx", i).hypot(at("bar.fy", i)), tension, 1e-8, "tension");
    }
}

/// Two bodies thrown together, and what joins them; the loads on `b` come from the named joints at the
/// points of the named probes.
const PAIRS: &[(&str, &str, &[(&str, &str)])] = &[
    ("fixed", r#"j = { type = "fixed", between = ["a", "b"], at = [0.5, 0, 0] }"#, &[("j", "p")]),
    (
        "revolute",
        r#"j = { type = "revolute", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        &[("j", "p")],
    ),
    (
        "prismatic",
        r#"j = { type = "prismatic", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        &[("j", "p")],
    ),
    (
        "cylindrical",
        r#"j = { type = "cylindrical", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        &[("j", "p")],
    ),
    ("spherical", r#"j = { type = "spherical", between = ["a", "b"], at = [0.5, 0, 0] }"#, &[("j", "p")]),
    (
        "universal",
        r#"j = { type = "universal", between = ["a", "b"], at = [0.5, 0, 0], axis = [0, 0, 1], axis2 = [1, 1, 0] }"#,
        &[("j", "p")],
    ),
    (
        "constant-velocity",
        r#"j = { type = "constant-velocity", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 0, 0], axis2 = [1, 0.3, 0] }"#,
        &[("j", "p")],
    ),
    ("planar", r#"j = { type = "planar", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#, &[("j", "p")]),
    (
        "point-on-line",
        r#"j = { type = "point-on-line", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        &[("j", "p")],
    ),
    (
        "point-on-plane",
        r#"j = { type = "point-on-plane", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }"#,
        &[("j", "p")],
    ),
    (
        "point-on-curve",
        r#"j = { type = "point-on-curve", between = ["a", "b"], at = [[0, 0, 0], [0.5, 0, 0]], curve = ["0.5*cos(s)", "0.3*sin(s)", "0.1*sin(2*s)"], range = [0, "2*pi"], closed = true }"#,
        &[("j", "p")],
    ),
    (
        "cam",
        r#"j = { type = "cam", between = ["a", "b"], at = [[0, 0, 0], [0.5, 0, 0]], curve = ["0.4*cos(s)", "0.3*sin(s)", 0], range = [0, "2*pi"], closed = true, radius = 0.1 }"#,
        &[("j", "p")],
    ),
    (
        "curve-on-curve",
        r#"j = { type = "curve-on-curve", between = ["a", "b"], at = [[0, 0, 0], [0.5, 0, 0]], curve = ["0.5*cos(s)", "0.3*sin(s)", "0.1*sin(2*s)"], range = [0, "2*pi"], closed = true, curve2 = ["0.1*s", "0.05*s^2", "s"], range2 = [-1, 1] }"#,
        &[("j", "p")],
    ),
    (
        "distance",
        r#"j = { type = "distance", between = ["a", "b"], at = [[0.1, 0.2, 0], [0.5, 0, 0]] }"#,
        &[("j", "p")],
    ),
    (
        "screw",
        r#"j = { type = "screw", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3], pitch = 0.4 }"#,
        &[("j", "p")],
    ),
    (
        "knife-edge",
        r#"j = { type = "knife-edge", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 0, 0], axis2 = [0, 1, 0] }"#,
        &[("j", "p")],
    ),
    (
        "rolling-disk",
        r#"j = { type = "rolling-disk", between = ["a", "b"], at = [[0.5, 0, -0.3], [0.5, 0, 0]], axis = [0, 1, 0], radius = 0.3 }"#,
        &[("j", "p")],
    ),
    (
        "drive-point",
        r#"j = { type = "drive-point", body = "b", at = [0.5, 0, 0], position = ["0.5+sin(t)", "t^2", "0.3*t"] }"#,
        &[("j", "p")],
    ),
    (
        "drive",
        r#"h = { type = "revolute", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "drive", joint = "h", angle = "t + sin(3*t)" }"#,
        &[("h", "p"), ("j", "p")],
    ),
    (
        "gear",
        r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "gear", joints = ["g", "h"], ratio = 1.5 }"#,
        &[("h", "p"), ("j", "p")],
    ),
    (
        "belt",
        r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "revolute", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "belt", joints = ["g", "h"], radii = [0.2, 0.3] }"#,
        &[("h", "p"), ("j", "p")],
    ),
    (
        "rack",
        r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "prismatic", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "rack", joints = ["g", "h"], radius = 0.2 }"#,
        &[("h", "p"), ("j", "p")],
    ),
    (
        "tie",
        r#"g = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 1, 1] }
h = { type = "prismatic", between = ["ground", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "tie", joints = ["g", "h"], ratio = -0.3 }"#,
        &[("h", "p"), ("j", "p")],
    ),
    (
        "armature",
        r#"h = { type = "revolute", between = ["a", "b"], at = [0.5, 0, 0], axis = [1, 2, 3] }
j = { type = "armature", joint = "h", inertia = 0.3 }"#,
        &[("h", "p"), ("j", "p")],
    ),
];

#[test]
fn reactions_of_every_joint_are_the_rates_of_momentum() {
    for kind in bellcrank_model::joints::CATALOG.iter().map(|k| k.name) {
        assert!(PAIRS.iter().any(|(name, _, _)| *name == kind), "no pair for {kind}");
    }
    let (mass, gravity) = (1.7, Vec3::new(0.4, -0.3, -9.81));
    let inertia = Mat3::diagonal(Vec3::new(0.11, 0.17, 0.14));
    for (kind, joints, loads) in PAIRS {
        // what a joint holds to the ground starts at rest
        let moving = if joints.contains("\"ground\", \"a\"") {
            ""
        } else {
            ", velocity = [0.3, 0.2, 1], angular_velocity = [0.5, -0.8, 0.4]"
        };
        let text = format!(
            r#"
model = {{ gravity = [0.4, -0.3, -9.81] }}
[body]
a = {{ mass = 2.3, inertia = [0.2, 0.3, 0.4], at = [0.1, -0.2, 0.1]{moving} }}
b = {{ mass = 1.7, inertia = [0.11, 0.17, 0.14], at = [0.6, 0.1, 0.05], orientation = {{ axis = [1, 2, 0.5], angle = 0.4 }} }}
[joint]
{joints}
[force]
spring = {{ type = "spring-damper", between = ["ground", "a"], at = [[0, 0, 2], [0.2, -0.2, 0.1]], stiffness = 60, damping = 1, length = 1.5 }}
[probe]
p = {{ body = "b", at = [0.5, 0, 0] }}
"#
        );
        // a disk rolls about its centre of mass here, or it would lift off its plane
        let n = 80;
        let until = 0.2;
        let m = record(&text, until, n);
        let p = vectors(&m, ["b.x", "b.y", "b.z"]);
        let v = vectors(&m, ["b.vx", "b.vy", "b.vz"]);
        let w = vectors(&m, ["b.wx", "b.wy", "b.wz"]);
        let [qw, qx, qy, qz] = ["b.qw", "b.qx", "b.qy", "b.qz"].map(|c| column(&m, c));
        let momentum = |i: usize| v[i] * mass;
        let angular = |i: usize| {
            let r = Quat([qw[i], qx[i], qy[i], qz[i]]).matrix();
            p[i].cross(momentum(i)) + r * (inertia * r.transpose_times(w[i]))
        };
        let mut forces = vec![gravity * mass; n + 1];
        let mut torques: Vec<Vec3> = (0..=n).map(|i| p[i].cross(gravity * mass)).collect();
        for (joint, probe) in loads.iter() {
            let names = |part: &str| ["x", "y", "z"].map(|a| format!("{joint}.{part}{a}"));
            let get = |names: [String; 3]| vectors(&m, [&names[0], &names[1], &names[2]]);
            let (f, t) = (get(names("f")), get(names("m")));
            let at = vectors(&m, [&format!("{probe}.x"), &format!("{probe}.y"), &format!("{probe}.z")]);
            for i in 0..=n {
                forces[i] += f[i];
                torques[i] += t[i] + at[i].cross(f[i]);
            }
        }
        // Boole's rule: order six
        let h = until / n as f64;
        let impulse = |x: &[Vec3]| {
            let mut sum = Vec3::ZERO;
            for k in (0..n).step_by(4) {
                let part = (x[k] + x[k + 4]) * 7.0 + (x[k + 1] + x[k + 3]) * 32.0 + x[k + 2] * 12.0;
                sum += part * (2.0 * h / 45.0);
            }
            sum
        };
        let off = (momentum(n) - momentum(0) - impulse(&forces)).norm();
        assert!(off < 1e-8, "{kind}: momentum off by {off:.1e}");
        let off = (angular(n) - angular(0) - impulse(&torques)).norm();
        assert!(off < 1e-8, "{kind}: angular momentum off by {off:.1e}");
    }
}

#[test]
fn a_wheel_and_its_rack_share_the_weight() {
    // a rack that hangs on a wheel: (m + J/r²) a = m g
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        [body]
        wheel = { mass = 1, inertia = 0.3, at = [0, 0] }
        rack = { mass = 2, inertia = 1, at = [0.25, 0] }
        [joint]
        pin = { type = "revolute", between = ["ground", "wheel"], at = [0, 0] }
        slide = { type = "prismatic", between = ["ground", "rack"], at = [0.25, 0], axis = [0, 1] }
        mesh = { type = "rack", joints = ["pin", "slide"], radius = 0.25 }
    "#;
    let m = record(text, 3.0, 30);
    let a = 2.0 * 9.81 / (2.0 + 0.3 / 0.0625);
    let (y, angle) = (column(&m, "slide.position"), column(&m, "pin.angle"));
    for (i, t) in m.times.iter().enumerate() {
        close(y[i], -0.5 * a * t * t, 1e-9, "rack");
        close(angle[i].abs(), 0.5 * a * t * t / 0.25, 1e-9, "wheel");
    }
    assert!(angle.last().unwrap().abs() > 10.0 * PI);
}
