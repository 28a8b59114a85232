//! Modes, equilibria and prescribed motions against closed forms.

mod common;

use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_solve::analyses::inverse::{InverseError, inverse};
use bellcrank_solve::analyses::modes::{Modes, modes};
use bellcrank_solve::analyses::statics::{Equilibrium, StaticsError, equilibrium, least_reactions};
use bellcrank_solve::initial;
use bellcrank_solve::record::Memory;
use common::*;
use std::f64::consts::PI;
use std::fmt::Write;
use std::sync::Arc;

fn assembled(s: &Arc<System>) -> Point {
    let dynamics: Arc<dyn Dynamics> = s.clone();
    match initial::assemble(&dynamics, &s.initial_state()) {
        Ok((point, _)) => point,
        Err(e) => panic!("{e}"),
    }
}

fn rest(s: &Arc<System>) -> Equilibrium {
    let dynamics: Arc<dyn Dynamics> = s.clone();
    match equilibrium(&dynamics, &assembled(s)) {
        Ok(found) => found,
        Err(e) => panic!("{e}"),
    }
}

fn modes_at_rest(text: &str) -> Modes {
    let s = system(text);
    modes(&*s, &rest(&s).point).expect("modes")
}

fn modes_at_start(text: &str) -> Modes {
    let s = system(text);
    modes(&*s, &assembled(&s)).expect("modes")
}

/// ω of all modes that oscillate, ascending.
fn pulsations(m: &Modes) -> Vec<f64> {
    let mut out: Vec<f64> = m.modes.iter().filter(|m| m.oscillates()).map(|m| m.eigenvalue.1).collect();
    out.sort_by(f64::total_cmp);
    out
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: {found:?} against {expected:?}");
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance * e.abs().max(1.0), "{what}: {f:.15} against {e:.15}");
    }
}

/// A chain of n rods of unit mass and length l along a direction, from the origin.
fn chain(n: usize, l: f64, direction: [f64; 2], head: &str, kind: &str) -> String {
    let mut text = format!("{head}\n");
    let plane = head.contains("plane");
    let point = |k: usize| {
        let (x, y) = (k as f64 * l * direction[0], k as f64 * l * direction[1]);
        if plane { format!("[{x:?}, {y:?}]") } else { format!("[{x:?}, 0, {y:?}]") }
    };
    for k in 0..n {
        writeln!(text, "[body.b{k}]\nrod = {{ from = {}, to = {}, mass = 1 }}\n{kind}", point(k), point(k + 1))
            .unwrap();
        let before = if k == 0 { "ground".into() } else { format!("b{}", k - 1) };
        let axis = if plane { "" } else { "axis = [0, 1, 0]" };
        writeln!(
            text,
            "[joint.j{k}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"b{k}\"]\nat = {}\n{axis}",
            point(k)
        )
        .unwrap();
    }
    text
}

/// ω of a hanging chain of uniform rods, from its exact linearization in the angles.
fn chain_pulsations(n: usize, l: f64, g: f64) -> Vec<f64> {
    let k: Vec<f64> = (1..=n).map(|i| g * l * ((n - i) as f64 + 0.5)).collect();
    let m = |i: usize, j: usize| {
        let below = (n - 1 - i.max(j)) as f64;
        l * l * (below + if i == j { 1.0 / 3.0 } else { 0.5 })
    };
    let scaled = Matrix::from_fn(n, n, |i, j| m(i, j) / (k[i] * k[j]).sqrt());
    let mut out: Vec<f64> = scaled.symmetric_eigen().unwrap().0.iter().map(|x| x.recip().sqrt()).collect();
    out.sort_by(f64::total_cmp);
    out
}

#[test]
fn modes_of_a_hanging_chain_are_those_of_its_angles() {
    let n = 8;
    let exact = chain_pulsations(n, 0.7, 9.81);
    let plane = "model = { plane = \"xy\", gravity = [0, -9.81] }";
    let down = [0.0, -1.0];
    for (what, text) in [
        ("rigid", chain(n, 0.7, down, plane, "")),
        ("natural", chain(n, 0.7, down, plane, "coordinates = \"natural\"")),
        (
            "space",
            chain(
                n,
                0.7,
                down,
                "model = { gravity = [0, 0, -9.81] }",
                "inertia = [1e-3, 0.04083333333333333, 0.04083333333333333]",
            ),
        ),
    ] {
        let text = if what == "space" {
            text.replace(", mass = 1 }", "}").replace("inertia", "mass = 1\ninertia")
        } else {
            text
        };
        let found = modes_at_start(&text);
        assert_close(&pulsations(&found), &exact, 1e-9, what);
        assert!(found.linearization.conservative && found.modes.len() == n);
    }
    // drawn askew, it first has to find its equilibrium
    let askew = chain(n, 0.7, [0.6, -0.8], plane, "");
    assert_close(&pulsations(&modes_at_rest(&askew)), &exact, 1e-8, "askew");
}

#[test]
fn a_chain_that_stands_is_unstable_in_every_mode() {
    let text = chain(3, 0.5, [0.0, 1.0], "model = { plane = \"xy\", gravity = [0, -9.81] }", "");
    let found = modes_at_start(&text);
    let growing: Vec<f64> = found.modes.iter().filter(|m| m.grows()).map(|m| m.eigenvalue.0).collect();
    let mut sorted = growing.clone();
    sorted.sort_by(f64::total_cmp);
    assert_close(&sorted, &chain_pulsations(3, 0.5, 9.81), 1e-9, "growth");
    let s = system(&text);
    let stability = rest(&s).stability.unwrap();
    assert_eq!((stability.word(), stability.negative), ("unstable", 3));
}

#[test]
fn redundant_loops_have_the_modes_of_their_freedoms() {
    // a parallelogram in space: four revolutes, three redundant equations, one freedom
    let text = r#"
        model = { gravity = [0, 0, -9.81] }
        [body]
        left = { mass = 2, inertia = [0.1, 0.2, 0.3], at = [0, 0, -0.5] }
        right = { mass = 2, inertia = [0.1, 0.2, 0.3], at = [1.5, 0, -0.5] }
        bar = { mass = 3, inertia = [0.1, 0.7, 0.7], at = [0.75, 0, -1] }
        [joint]
        a = { type = "revolute", between = ["ground", "left"], at = [0, 0, 0], axis = [0, 1, 0] }
        b = { type = "revolute", between = ["left", "bar"], at = [0, 0, -1], axis = [0, 1, 0] }
        c = { type = "revolute", between = ["bar", "right"], at = [1.5, 0, -1], axis = [0, 1, 0] }
        d = { type = "revolute", between = ["right", "ground"], at = [1.5, 0, 0], axis = [0, 1, 0] }
    "#;
    let found = modes_at_rest(text);
    let inertia = 2.0 * (0.2 + 2.0 * 0.25) + 3.0;
    let stiffness = 9.81 * (2.0 * 2.0 * 0.5 + 3.0);
    assert_close(&pulsations(&found), &[f64::sqrt(stiffness / inertia)], 1e-10, "parallelogram");
    let bar = found.components.iter().position(|(name, _)| name == "bar.x").unwrap();
    let turn = found.components.iter().position(|(name, _)| name == "a.angle").unwrap();
    let shape = &found.shapes[0];
    assert!((shape[bar].0.abs() - 1.0).abs() < 1e-10 && (shape[turn].0.abs() - 1.0).abs() < 1e-10, "{shape:?}");
    // the reactions of least size are told, and they still balance
    let s = system(text);
    let mut at = rest(&s);
    assert_eq!(at.redundant, 3);
    least_reactions(&*s, &mut at.point).unwrap();
    let mut w = s.workspace();
    s.realize(&at.point, &mut w);
    let up: f64 = ["a", "d"]
        .iter()
        .map(|name| {
            let joint = s.model.joints.iter().position(|j| j.name == *name).unwrap();
            s.reaction(joint, &at.point, &w).lin[2] * if *name == "d" { -1.0 } else { 1.0 }
        })
        .sum();
    assert!((up - 7.0 * 9.81).abs() < 1e-8, "{up}");
}

#[test]
fn modes_of_a_square_lattice_under_tension() {
    // n×n unit masses, springs k of free length l0 at distance a: tension T = k (a − l0)
    let (n, k, a, l0) = (4usize, 300.0, 0.5, 0.4);
    let mut text = String::from("[body]\n");
    let name = |i: usize, j: usize| {
        if i == 0 || j == 0 || i > n || j > n { "ground".into() } else { format!("m{i}_{j}") }
    };
    let at = |i: usize, j: usize| format!("[{:?}, {:?}, 0]", a * i as f64, a * j as f64);
    for i in 1..=n {
        for j in 1..=n {
            writeln!(text, "m{i}_{j} = {{ mass = 1, at = {} }}", at(i, j)).unwrap();
        }
    }
    text += "[force]\n";
    for i in 0..=n {
        for j in 0..=n {
            for (x, y) in [(i + 1, j), (i, j + 1)] {
                let (first, second) = (name(i, j), name(x, y));
                if first != second {
                    writeln!(
                        text,
                        "s{i}_{j}_{x}_{y} = {{ type = \"spring-damper\", between = [\"{first}\", \"{second}\"], at = [{}, {}], stiffness = {k}, length = {l0} }}",
                        at(i, j),
                        at(x, y)
                    )
                    .unwrap();
                }
            }
        }
    }
    let found = modes_at_start(&text);
    let across = k * (a - l0) / a;
    let s = |p: usize| 4.0 * (PI * p as f64 / (2 * (n + 1)) as f64).sin().powi(2);
    let mut exact = Vec::new();
    for p in 1..=n {
        for q in 1..=n {
            exact.extend([k * s(p) + across * s(q), across * s(p) + k * s(q), across * (s(p) + s(q))].map(f64::sqrt));
        }
    }
    exact.sort_by(f64::total_cmp);
    assert_close(&pulsations(&found), &exact, 1e-10, "lattice");
}

/// A symmetric rotor along z in two isotropic bearings at ±a, spinning.
fn rotor(spin: f64) -> String {
    let mut text = format!(
        "[body.rotor]\nmass = 4\ninertia = [0.3, 0.3, 0.5]\nangular_velocity = [0, 0, {spin:?}]\norientation = {{ axis = [0, 0, 1], angle = 0.4 }}\n[force]\n"
    );
    for (e, z) in [0.6, -0.6].iter().enumerate() {
        for (d, (x, y)) in [(1, 0), (-1, 0), (0, 1), (0, -1)].iter().enumerate() {
            writeln!(
                text,
                "s{e}{d} = {{ type = \"spring-damper\", between = [\"ground\", \"rotor\"], at = [[{x}, {y}, {z:?}], [0, 0, {z:?}]], stiffness = 50, length = 1 }}"
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn a_spinning_shaft_whirls_forward_and_backward() {
    for spin in [0.0, 10.0, -75.0] {
        let found = modes_at_start(&rotor(spin));
        let (stiff, tilt): (f64, f64) = (4.0 * 50.0, 4.0 * 50.0 * 0.36);
        let half = 0.5 * 0.5 * f64::abs(spin) / 0.3;
        let root = (half * half + tilt / 0.3).sqrt();
        let mut exact = vec![(stiff / 4.0f64).sqrt(), (stiff / 4.0f64).sqrt(), root - half, root + half];
        exact.sort_by(f64::total_cmp);
        assert_close(&pulsations(&found), &exact, 1e-9, &format!("spin {spin}"));
        // the shift along the axis and the spin itself are free
        assert!(found.modes.iter().filter(|m| m.rigid).count() >= 2);
        assert!(found.modes.iter().all(|m| !m.grows()));
    }
}

#[test]
fn a_pendulum_on_a_turning_shaft_swings_about_its_cone() {
    // V(θ) = −½Ω²I(θ) − …: cos θ₀ = m g l/(Ω² D), ω² = Ω² D sin²θ₀/J, D = J₁ + m l² − J₃, J = J₂ + m l²
    let (m, l, j, spin, g) = (2.0f64, 0.8f64, [0.3f64, 0.4, 0.15], 5.0f64, 9.81f64);
    let d = j[0] + m * l * l - j[2];
    let cos = m * g * l / (spin * spin * d);
    let (theta, sin) = (cos.acos(), (1.0 - cos * cos).sqrt());
    let text = format!(
        r#"
        model = {{ gravity = [0, 0, -{g}] }}
        [body]
        shaft = {{ mass = 1, inertia = [0.2, 0.2, 0.1], at = [0, 0, 0] }}
        bob = {{ mass = {m}, inertia = [{}, {}, {}], at = [{:?}, 0, {:?}], orientation = {{ axis = [0, 1, 0], angle = {:?} }} }}
        [joint]
        bearing = {{ type = "revolute", between = ["ground", "shaft"], at = [0, 0, 0] }}
        hinge = {{ type = "revolute", between = ["shaft", "bob"], at = [0, 0, 0], axis = [0, 1, 0] }}
        motor = {{ type = "drive", joint = "bearing", rate = {spin} }}
        [start]
        hinge = {{ rate = 0 }}
        "#,
        j[0],
        j[1],
        j[2],
        l * sin,
        -l * cos,
        -theta
    );
    let expected = spin * sin * (d / (j[1] + m * l * l)).sqrt();
    let found = modes_at_start(&text);
    assert_close(&pulsations(&found), &[expected], 1e-9, "conical pendulum");
    let by_angle = text.replace(&format!("rate = {spin}"), &format!("angle = \"{spin}*t\""));
    assert_close(&pulsations(&modes_at_start(&by_angle)), &[expected], 1e-9, "driven by its angle");
}

#[test]
fn a_rolling_disk_stays_up_above_its_critical_speed() {
    // ω² = 2.4 Ω² − 0.8 g/r for a thin disk: the limit is Ω² = g/(3r)
    let (r, g) = (0.3f64, 9.81f64);
    let critical = (g / (3.0 * r)).sqrt();
    for factor in [0.5, 0.999, 1.001, 2.0] {
        let w = factor * critical;
        let text = format!(
            r#"
            model = {{ gravity = [0, 0, -{g}] }}
            [body.disk]
            mass = 2
            inertia = [{:?}, {:?}, {:?}]
            at = [0, 0, {r}]
            orientation = {{ axis = [1, 0, 0], angle = {:?} }}
            velocity = [{:?}, 0, 0]
            angular_velocity = [0, {w:?}, 0]
            [joint.road]
            type = "rolling-disk"
            between = ["ground", "disk"]
            at = [[0, 0, 0], [0, 0, {r}]]
            axis = [0, 1, 0]
            radius = {r}
            "#,
            2.0 * r * r / 4.0,
            2.0 * r * r / 4.0,
            2.0 * r * r / 2.0,
            -PI / 2.0,
            w * r,
        );
        let found = modes_at_start(&text);
        let square = 2.4 * w * w - 0.8 * g / r;
        let lean = found.modes.iter().map(|m| m.eigenvalue).filter(|v| v.0.hypot(v.1) > 1e-3).collect::<Vec<_>>();
        match square > 0.0 {
            true => {
                assert_eq!(lean.len(), 1, "{lean:?}");
                assert!((lean[0].1 - square.sqrt()).abs() < 1e-8 * w && lean[0].0.abs() < 1e-8, "{lean:?}");
            }
            false => {
                assert_eq!(lean.len(), 2, "{lean:?}");
                assert!((lean[0].0.abs() - (-square).sqrt()).abs() < 1e-8 * w, "{lean:?}");
            }
        }
        assert_eq!(found.modes.iter().any(|m| m.grows()), square < 0.0);
    }
}

#[test]
fn damping_and_controllers_enter_the_eigenvalues() {
    // m x″ + c x′ + k x = z, τ z′ = −K x − z
    let text = r#"
        [body.cart]
        mass = 2
        inertia = [1, 1, 1]
        [joint.slide]
        type = "prismatic"
        between = ["ground", "cart"]
        at = [0, 0, 0]
        axis = [1, 0, 0]
        [force.spring]
        type = "spring-damper"
        between = ["ground", "cart"]
        at = [[-1, 0, 0], [0, 0, 0]]
        stiffness = 50
        damping = 4
        length = 1
    "#;
    let plain = modes_at_start(text);
    assert_eq!(plain.modes.len(), 1);
    let mode = &plain.modes[0];
    assert!((mode.damping() - 4.0 / (2.0 * f64::sqrt(100.0))).abs() < 1e-12);
    assert!((mode.undamped_frequency() - 5.0 / (2.0 * PI)).abs() < 1e-12);
    let controlled = format!(
        "{text}\n[force.pid]\ntype = \"pid\"\njoint = \"slide\"\nmeasure = \"slide.position\"\nreference = 0\nkp = 30\nlag = 0.2\n"
    );
    let found = modes_at_start(&controlled);
    // (2 s² + 4 s + 50)(0.2 s + 1) + 30 = 0
    let count: usize = found.modes.iter().map(|m| if m.eigenvalue.1 > 0.0 { 2 } else { 1 }).sum();
    assert_eq!(count, 3);
    for m in &found.modes {
        let (x, y) = m.eigenvalue;
        let times = |a: (f64, f64), b: (f64, f64)| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
        let s2 = times((x, y), (x, y));
        let p = times((2.0 * s2.0 + 4.0 * x + 50.0, 2.0 * s2.1 + 4.0 * y), (0.2 * x + 1.0, 0.2 * y));
        assert!((p.0 + 30.0).hypot(p.1) < 1e-10, "{:?}", m.eigenvalue);
    }
}

/// Nodes and left reaction of n uniform links of length l and weight w hung between (0, 0) and (x, y).
fn catenary(n: usize, l: f64, w: f64, x: f64, y: f64) -> (Vec<[f64; 2]>, [f64; 2]) {
    // link i lies along (H, V − (i + ½) w): the mean of the forces at its ends
    let ends = |h: f64, v: f64| {
        let mut at = [0.0, 0.0];
        let mut nodes = vec![at];
        for i in 0..n {
            let (a, b) = (h, -(v - (i as f64 + 0.5) * w));
            let s = l / a.hypot(b);
            at = [at[0] + s * a, at[1] + s * b];
            nodes.push(at);
        }
        nodes
    };
    let (mut h, mut v) = (0.5 * w * n as f64, 0.5 * w * n as f64);
    for _ in 0..200 {
        let off = |h: f64, v: f64| {
            let last = ends(h, v)[n];
            [last[0] - x, last[1] - y]
        };
        let (r, d) = (off(h, v), 1e-6 * w);
        let (a, b) = (off(h + d, v), off(h, v + d));
        let j = [[(a[0] - r[0]) / d, (b[0] - r[0]) / d], [(a[1] - r[1]) / d, (b[1] - r[1]) / d]];
        let det = j[0][0] * j[1][1] - j[0][1] * j[1][0];
        h -= ((j[1][1] * r[0] - j[0][1] * r[1]) / det).clamp(-0.3 * h, 0.3 * h);
        v -= (j[0][0] * r[1] - j[1][0] * r[0]) / det;
    }
    (ends(h, v), [-h, v])
}

#[test]
fn a_hanging_chain_finds_its_catenary() {
    let (n, l, g) = (20usize, 0.3, 9.81);
    // drawn as a tent that points up, far from where it will hang
    let (x, y) = (3.6, 0.0);
    let half = n as f64 * l / 2.0;
    let tent = (half * half - x * x / 4.0).sqrt();
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    let node = |k: usize| {
        let s = 2.0 * k as f64 / n as f64;
        let up = if s <= 1.0 { s } else { 2.0 - s };
        format!("[{:?}, {:?}]", 0.5 * x * s, 0.9 * tent * up + 0.02 * s)
    };
    for k in 0..n {
        writeln!(
            text,
            "[body.b{k}]\nmass = 1.5\ninertia = {:?}\nat = [0, 0]\nrod = {{ from = {}, to = {} }}",
            1.5 * l * l / 12.0,
            node(k),
            node(k + 1)
        )
        .unwrap();
        let before = if k == 0 { "ground".into() } else { format!("b{}", k - 1) };
        let first = if k == 0 { "[0, 0]".into() } else { format!("[{:?}, 0]", l / 2.0) };
        writeln!(
            text,
            "[joint.j{k}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"b{k}\"]\non = [{first}, [{:?}, 0]]",
            -l / 2.0
        )
        .unwrap();
    }
    writeln!(
        text,
        "[joint.end]\ntype = \"revolute\"\nbetween = [\"ground\", \"b{}\"]\non = [[{x:?}, {y:?}], [{:?}, 0]]",
        n - 1,
        l / 2.0
    )
    .unwrap();
    let text = text.replace("at = [0, 0]\nrod", "rod");
    let s = system(&text);
    let found = rest(&s);
    let (nodes, reaction) = catenary(n, l, 1.5 * g, x, y);
    for k in 0..n {
        let (p, _) = s.pose(k, &found.point);
        for i in 0..2 {
            let middle = 0.5 * (nodes[k][i] + nodes[k + 1][i]);
            assert!((p[i] - middle).abs() < 1e-8, "link {k}: {:?} against {middle}", p);
        }
    }
    let mut w = s.workspace();
    s.realize(&found.point, &mut w);
    let load = s.reaction(0, &found.point, &w);
    assert!(
        (load.lin[0] - reaction[0]).abs() < 1e-7 && (load.lin[1] - reaction[1]).abs() < 1e-7,
        "{load:?} {reaction:?}"
    );
    assert_eq!(found.stability.as_ref().unwrap().word(), "stable");
    assert!(found.residual < 1e-8);
}

#[test]
fn a_long_chain_comes_to_rest_too() {
    let n = 200;
    let plane = "model = { plane = \"xy\", gravity = [0, -9.81] }";
    let s = system(&chain(n, 0.05, [1.0, 0.0], plane, ""));
    let found = rest(&s);
    let (p, _) = s.pose(n - 1, &found.point);
    assert!(p[0].abs() < 1e-8 && (p[1] + 0.05 * (n as f64 - 0.5)).abs() < 1e-8, "{p:?}");
    assert_eq!(found.stability.unwrap().word(), "stable");
}

#[test]
fn a_body_settles_on_its_bushing_and_a_free_one_is_refused() {
    let text = r#"
        model = { gravity = [0, 0, -9.81] }
        [body.engine]
        mass = 100
        inertia = [5, 6, 7]
        at = [0.2, 0, 0.1]
        [force.mount]
        type = "bushing"
        between = ["ground", "engine"]
        at = [0.2, 0, 0.1]
        stiffness = [4e4, 5e4, 8e4, 300, 400, 500]
        damping = [10, 10, 10, 1, 1, 1]
        preload = [0, 0, 200, 0, 0, 0]
    "#;
    let s = system(text);
    let found = rest(&s);
    let (p, _) = s.pose(0, &found.point);
    let sink = (981.0 - 200.0) / 8e4;
    assert!((0.1 - p[2] - sink).abs() < 1e-12, "{p:?}");
    assert_eq!(found.stability.unwrap().word(), "stable");
    let free = system("model = { gravity = [0, 0, -9.81] }\n[body.stone]\nmass = 1\ninertia = [1, 1, 1]\n");
    let dynamics: Arc<dyn Dynamics> = free.clone();
    let error = equilibrium(&dynamics, &assembled(&free)).unwrap_err();
    assert!(matches!(&error, StaticsError::Runaway { name, .. } if name == "body `stone`"), "{error}");
}

#[test]
fn a_prescribed_swing_takes_the_torque_of_its_equation() {
    // a uniform rod swung as θ = A sin(Ωt): τ = (m l²/3) θ″ + m g (l/2) cos θ
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        [body.rod]
        rod = { from = [0, 0], to = [1.2, 0], mass = 3 }
        [joint.pin]
        type = "revolute"
        between = ["ground", "rod"]
        at = [0, 0]
        [joint.motor]
        type = "drive"
        joint = "pin"
        angle = "0.7*sin(3*t)"
    "#;
    let s = system(text);
    let mut memory = Memory::default();
    let found = inverse(&s, 2.0, 0.01, &mut memory).unwrap();
    let (j, k) = (3.0 * 1.44 / 3.0, 3.0 * 9.81 * 0.6);
    let torque = |t: f64| {
        let theta = 0.7 * (3.0 * t).sin();
        -9.0 * j * theta + k * theta.cos()
    };
    let column = memory.column("motor.torque").unwrap();
    for (t, x) in memory.times.iter().zip(column) {
        assert!((x - torque(*t)).abs() < 1e-9, "{t}: {x} against {}", torque(*t));
    }
    let d = &found.demands[0];
    assert_eq!((d.name.as_str(), d.unit, found.samples), ("motor.torque", "N m", 201));
    let peak = (0..=200).map(|i| torque(0.01 * i as f64).abs()).fold(0.0, f64::max);
    assert!((d.peak.0.abs() - peak).abs() < 1e-9);
    // the work is what the energy grew by
    let energy = |t: f64| 0.5 * j * (2.1 * (3.0 * t).cos()).powi(2) + k * (0.7 * (3.0 * t).sin()).sin();
    assert!((d.work - (energy(2.0) - energy(0.0))).abs() < 1e-3);
    // the same motion by its rate, which has to be integrated
    let by_rate = system(&text.replace("angle = \"0.7*sin(3*t)\"", "rate = \"2.1*cos(3*t)\""));
    let mut memory = Memory::default();
    inverse(&by_rate, 2.0, 0.01, &mut memory).unwrap();
    for (t, x) in memory.times.iter().zip(memory.column("motor.torque").unwrap()) {
        assert!((x - torque(*t)).abs() < 1e-6, "{t}: {x} against {}", torque(*t));
    }
    let undriven = system(&text.replace(
        "[joint.motor]\n        type = \"drive\"\n        joint = \"pin\"\n        angle = \"0.7*sin(3*t)\"",
        "",
    ));
    let error = inverse(&undriven, 1.0, 0.1, &mut Memory::default()).unwrap_err();
    assert!(matches!(&error, InverseError::Free { freedoms: 1, .. }), "{error}");
    assert!(error.to_string().contains("`pin.angle`") && error.to_string().contains("body `rod`"), "{error}");
}
