//! Modes, equilibria and prescribed motions against closed forms.

mod common;

use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::Observable;
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_solve::analyses::about::{About, operating_point};
use bellcrank_solve::analyses::inverse::{InverseError, inverse};
use bellcrank_solve::analyses::modes::{Modes, modes};
use bellcrank_solve::analyses::state_space::{Shown, StateSpace, StateSpaceError, state_space};
use bellcrank_solve::analyses::statics::{Equilibrium, StaticsError, equilibrium, least_reactions};
use bellcrank_solve::choices::Options;
use bellcrank_solve::record::Memory;
use bellcrank_solve::start;
use common::*;
use std::f64::consts::PI;
use std::fmt::Write;
use std::sync::Arc;

fn assembled(s: &Arc<System>) -> Point {
    let dynamics: Arc<dyn Dynamics> = s.clone();
    match start::assemble(&dynamics, &s.initial_state()) {
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
fn the_peak_of_an_effort_that_jumps_is_the_one_of_its_jump() {
    // a flywheel that is turned by 1 rad within T: its acceleration is largest, 6/T², where the motion begins and ends
    let text = r#"
        model = { plane = "xy" }
        [body.wheel]
        mass = 1
        inertia = 0.4
        [joint.pin]
        type = "revolute"
        between = ["ground", "wheel"]
        at = [0, 0]
        [joint.motor]
        type = "drive"
        joint = "pin"
        angle = "step(t, 0.3001, 0, 0.4007, 1)"
    "#;
    let (peak, s) = (0.4 * 6.0 / 0.1006f64.powi(2), system(text));
    let mut memory = Memory::default();
    let found = inverse(&s, 1.0, None, &mut memory).unwrap();
    let d = &found.demands[0];
    assert!((d.peak.0.abs() - peak).abs() < 1e-6 * peak, "{:?} against {peak}", d.peak);
    assert!(memory.times.is_sorted_by(|a, b| a < b));
    let sides = |t: f64| memory.times.iter().filter(|x| (*x - t).abs() < 1e-12).count();
    assert_eq!([sides(0.3001), sides(0.4007)], [2, 2], "both sides of two jumps");
    let even = inverse(&s, 1.0, Some(0.005), &mut Memory::default()).unwrap();
    assert_eq!(even.samples, 201, "equal intervals where they are asked for");
    assert!(even.demands[0].peak.0.abs() < 0.99 * peak, "{:?}", even.demands[0].peak);
}

#[test]
fn a_quick_swing_is_followed_between_two_hundredths_of_the_run() {
    // θ = A sin(Ωt) of a flywheel takes τ = −J A Ω² sin(Ωt): 160 swings, less than two samples for each at equal intervals
    let model = |until: f64| {
        format!(
            r#"
            model = {{ plane = "xy" }}
            solve = {{ until = {until} }}
            [body.wheel]
            mass = 1
            inertia = 0.4
            [joint.pin]
            type = "revolute"
            between = ["ground", "wheel"]
            at = [0, 0]
            [joint.motor]
            type = "drive"
            joint = "pin"
            angle = "0.01*sin(500*t)"
            "#
        )
    };
    let (torque, rate) = (0.4 * 0.01 * 500.0f64.powi(2), 0.01 * 500.0);
    for until in [0.1, 2.0] {
        let mut memory = Memory::default();
        let found = inverse(&system(&model(until)), until, None, &mut memory).unwrap();
        let d = &found.demands[0];
        assert!((d.peak.0.abs() / torque - 1.0).abs() < 1e-3, "{:?} against {torque}", d.peak);
        // τ θ̇ = −½ J A² Ω³ sin(2Ωt)
        assert!((d.peak_power.0 / (0.5 * torque * rate) - 1.0).abs() < 3e-3, "{:?}", d.peak_power);
        let phase = 2.0 * 500.0 * until;
        let rms = torque * (0.5 - phase.sin() / (2.0 * phase)).sqrt();
        assert!((d.rms / rms - 1.0).abs() < 1e-3, "{} against {rms}", d.rms);
        // what is recorded keeps the extremes of every channel within the budget of rows
        let channels = memory.header.channels.len();
        assert!(memory.times.len() > 300 && memory.times.len() <= 2000 + 2 * channels, "{}", memory.times.len());
        let k = memory.header.channels.iter().position(|c| c.name == d.name).unwrap();
        let largest = (0..memory.times.len()).map(|row| memory.row(row)[k].abs()).fold(0.0, f64::max);
        assert_eq!(largest, d.peak.0.abs());
    }
    // a motion that does not bend is not looked at more often than it was
    let steady = model(2.0).replace("0.01*sin(500*t)", "3*t");
    let found = inverse(&system(&steady), 2.0, None, &mut Memory::default()).unwrap();
    assert!(found.samples <= 401, "{} samples", found.samples);
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
    let found = inverse(&s, 2.0, Some(0.01), &mut memory).unwrap();
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
    inverse(&by_rate, 2.0, Some(0.01), &mut memory).unwrap();
    for (t, x) in memory.times.iter().zip(memory.column("motor.torque").unwrap()) {
        assert!((x - torque(*t)).abs() < 1e-6, "{t}: {x} against {}", torque(*t));
    }
    let undriven = system(&text.replace(
        "[joint.motor]\n        type = \"drive\"\n        joint = \"pin\"\n        angle = \"0.7*sin(3*t)\"",
        "",
    ));
    let error = inverse(&undriven, 1.0, Some(0.1), &mut Memory::default()).unwrap_err();
    assert!(matches!(&error, InverseError::Free { freedoms: 1, .. }), "{error}");
    assert!(error.to_string().contains("`pin.angle`") && error.to_string().contains("body `rod`"), "{error}");
}

/// The benchmark bicycle at a speed, z downwards [Meijaard, Papadopoulos, Ruina & Schwab 2007].
fn bicycle(speed: f64) -> String {
    let (rear, front) = (speed / 0.3, speed / 0.35);
    format!(
        r#"
model = {{ gravity = [0, 0, 9.81] }}
[body.rear]
mass = 2
inertia = [0.0603, 0.12, 0.0603]
at = [0, 0, -0.3]
angular_velocity = [0, {:?}, 0]
[body.frame]
mass = 85
inertia = [[9.2, 0, 2.4], [0, 11, 0], [2.4, 0, 2.8]]
at = [0.3, 0, -0.9]
velocity = [{speed:?}, 0, 0]
angular_velocity = [0, 0, 0]
[body.fork]
mass = 4
inertia = [[0.05892, 0, -0.00756], [0, 0.06, 0], [-0.00756, 0, 0.00708]]
at = [0.9, 0, -0.7]
angular_velocity = [0, 0, 0]
[body.front]
mass = 3
inertia = [0.1405, 0.28, 0.1405]
at = [1.02, 0, -0.35]
angular_velocity = [0, {:?}, 0]
[joint]
hub = {{ type = "revolute", between = ["frame", "rear"], at = [0, 0, -0.3], axis = [0, 1, 0] }}
head = {{ type = "revolute", between = ["frame", "fork"], at = [1.1, 0, 0], axis = ["sin(pi/10)", 0, "cos(pi/10)"] }}
axle = {{ type = "revolute", between = ["fork", "front"], at = [1.02, 0, -0.35], axis = [0, 1, 0] }}
road = {{ type = "rolling-disk", between = ["ground", "rear"], at = [[0, 0, 0], [0, 0, -0.3]], normal = [0, 0, -1], axis = [0, 1, 0], radius = 0.3 }}
way = {{ type = "rolling-disk", between = ["ground", "front"], at = [[1.02, 0, 0], [1.02, 0, -0.35]], normal = [0, 0, -1], axis = [0, 1, 0], radius = 0.35 }}
"#,
        -rear, -front
    )
}

#[test]
fn a_bicycle_that_rides_is_judged_as_it_rides() {
    // stable between the weave speed 4.292 and the capsize speed 6.024 m/s
    for (speed, stable) in [(3.5, false), (5.0, true), (7.0, false)] {
        let s = system(&bicycle(speed));
        let found = bellcrank_solve::check::check(&s, &Default::default());
        let spectrum = found.spectrum.expect("a spectrum");
        assert_eq!(spectrum.falling.is_none(), stable, "{speed} m/s: {spectrum:?}");
        let modes = modes(&*s, &assembled(&s)).expect("modes");
        assert_eq!(modes.modes.iter().all(|m| !m.grows()), stable, "{speed} m/s");
        if speed == 5.0 {
            assert!((spectrum.decay - 14.078_389_692_798_22).abs() < 1e-7, "{spectrum:?}");
            let weave = f64::hypot(0.775_341_882_195_85, 4.464_867_713_788_23) / (2.0 * PI);
            assert!(spectrum.frequencies.iter().any(|f| (f - weave).abs() < 1e-7), "{spectrum:?}");
        }
    }
}

/// A mass on a spring that pushes it away, and a controller with a lag that holds it.
fn held_up(kp: f64) -> String {
    format!(
        r#"
model = {{ plane = "xy" }}
body.cart = {{ mass = 1, inertia = 1 }}
joint.slide = {{ type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }}
force.away = {{ type = "spring-damper", between = ["ground", "cart"], at = [[0, -1], [0, 0]], stiffness = 40, damping = 0, length = 2 }}
force.pid = {{ type = "pid", joint = "slide", measure = "slide.position", reference = 0, kp = {kp:?}, kd = 30, lag = 0.01 }}
"#
    )
}

#[test]
fn statics_and_check_judge_a_controller_that_lags_as_modes_do() {
    for (kp, stable) in [(200.0, true), (10.0, false), (9000.0, false)] {
        let s = system(&held_up(kp));
        let found = rest(&s);
        let stability = found.stability.clone().expect("a verdict");
        let grows = modes(&*s, &found.point).expect("modes").modes.iter().any(|m| m.grows());
        let spectrum = bellcrank_solve::check::check(&s, &Default::default()).spectrum.expect("a spectrum");
        assert_eq!(stability.word() == "stable", stable, "kp {kp}: {stability:?}");
        assert_eq!((!grows, spectrum.falling.is_none()), (stable, stable), "kp {kp}: {spectrum:?}");
    }
}

#[test]
fn a_free_wheel_is_one_rigid_mode_and_named() {
    let text = r#"
model = { plane = "xy" }
body.a = { box = { size = [0.1, 0.1], mass = 1 } }
body.w = { cylinder = { radius = 0.3, length = 0.1, mass = 5 } }
joint.s = { type = "prismatic", between = ["ground", "a"], at = [0, 0], axis = [0, 1] }
joint.hub = { type = "revolute", between = ["a", "w"], at = [0, 0] }
force.k = { type = "spring-damper", between = ["ground", "a"], at = [[0, -1], [0, 0]], stiffness = 1000, damping = 5 }
"#;
    let s = system(text);
    let found = rest(&s);
    let stability = found.stability.clone().expect("a verdict");
    assert_eq!((stability.word(), stability.zero), ("neutral", 1), "{stability:?}");
    assert_eq!(stability.free, ["hub.angle"]);
    let rigid = modes(&*s, &found.point).expect("modes").modes.iter().filter(|m| m.rigid).count();
    assert_eq!(rigid, 1);
}

#[test]
fn what_rounding_leaves_of_a_drive_is_not_a_motion() {
    let mut text = held_up(200.0);
    text += "body.road = { mass = 1, inertia = 1 }\njoint.up = { type = \"prismatic\", between = [\"ground\", \"road\"], at = [0, 0], axis = [0, 1] }\n";
    text += "joint.bump = { type = \"drive\", joint = \"up\", position = \"1e-29*t\" }\n";
    let s = system(&text);
    let point = assembled(&s);
    assert!(point.v.iter().any(|v| *v != 0.0) && !bellcrank_solve::linearization::moves(&*s, &point));
    let modes = modes(&*s, &point).expect("modes");
    assert!(modes.linearization.at_rest);
}

#[test]
fn a_controller_does_not_add_to_what_inverse_asks_of_its_drive() {
    let arm = |more: &str| {
        system(&format!(
            r#"
model = {{ plane = "xy", gravity = [0, -9.81] }}
body.arm = {{ mass = 2, inertia = 0.5, at = [1, 0] }}
joint.pin = {{ type = "revolute", between = ["ground", "arm"], at = [0, 0] }}
joint.motor = {{ type = "drive", joint = "pin", angle = "0.5*sin(2*t)" }}
{more}
"#
        ))
    };
    let peak = |more: &str| {
        let found = inverse(&arm(more), 3.0, Some(0.01), &mut Memory::default()).unwrap_or_else(|e| panic!("{e}"));
        (found.demands[0].peak, found.left_out)
    };
    let (alone, none) = peak("");
    assert!(none.is_empty());
    let pid = "force.hold = { type = \"pid\", joint = \"pin\", measure = \"pin.angle\", reference = 3, kp = 1e5, ki = 10, lag = 0.1, start = 5e4 }";
    let (with, left) = peak(pid);
    assert_eq!((with, left), (alone, vec!["hold".to_string()]));
    let push = "force.push = { type = \"joint-actuator\", joint = \"pin\", effort = 700 }";
    assert_eq!(peak(push).0, alone);
}

/// A cantilever with a load at its tip that bends it by a part of its length.
fn bent(part: f64) -> String {
    // δ = F L³/(3 E I), with E I = 1000 N m² and L = 10 m
    let load = -part * 10.0 * 3.0 * 1000.0 / 1000.0;
    format!(
        r#"
model = {{ plane = "xy" }}
body.mast = {{ beam = {{ from = [0, 0], to = [10, 0], density = 1000, area = 1e-3, second_moment = 1e-6, youngs_modulus = 1e9, ends = "clamped", bending = 3 }} }}
joint.foot = {{ type = "fixed", between = ["ground", "mast"], at = [0, 0] }}
force.tip = {{ type = "force", body = "mast", at = [10, 0], force = [0, {load:?}] }}
"#
    )
}

#[test]
fn a_beam_bent_far_beyond_its_theory_says_so() {
    let slight = rest(&system(&bent(0.05)));
    assert_eq!(slight.beyond, []);
    let found = rest(&system(&bent(3.1)));
    assert_eq!(found.beyond.len(), 1, "{:?}", found.beyond);
    assert_eq!(found.beyond[0].name, "body `mast`");
    assert!((found.beyond[0].ratio - 3.1).abs() < 0.1, "{:?}", found.beyond);
    // while it runs: when it began, and how far it went
    let summary = run(&system(&bent(0.4)), Options { until: 2.0, ..Options::default() });
    let excess = &summary.beyond[0];
    assert!(excess.since > 0.0 && excess.since < 2.0 && excess.worst > 0.3, "{excess:?}");
    assert!(excess.to_string().contains("body `mast` bends by"), "{excess}");
    let summary = run(&system(&bent(0.02)), Options { until: 2.0, ..Options::default() });
    assert_eq!(summary.beyond, []);
}

#[test]
fn a_bushing_in_the_plane_counts_its_turns() {
    // a wheel that winds up a bushing: J φ″ = −k φ, from φ′ = 30 rad/s; φ goes to 15 rad
    let text = r#"
model = { plane = "xy" }
body.wheel = { mass = 1, inertia = 2, angular_velocity = 30, angle = 7 }
force.bush = { type = "bushing", between = ["ground", "wheel"], at = [0, 0], stiffness = [1e3, 1e3, 8] }
"#;
    let quarter = PI / 4.0;
    let summary = run(&system(text), Options { until: quarter, rtol: 1e-9, ..Options::default() });
    assert!((last(&summary, "wheel.angle") - 7.0 - 15.0).abs() < 1e-6, "{}", last(&summary, "wheel.angle"));
    assert!(last(&summary, "wheel.wz").abs() < 1e-5);
}

#[test]
fn a_bushing_in_space_beyond_half_a_turn_says_so() {
    let text = |rate: f64| {
        format!(
            "body.wheel = {{ mass = 1, inertia = [2, 2, 2], angular_velocity = [0, 0, {rate:?}] }}\nforce.bush = {{ type = \"bushing\", between = [\"ground\", \"wheel\"], at = [0, 0, 0], stiffness = [1e3, 1e3, 1e3, 8, 8, 8] }}"
        )
    };
    let summary = run(&system(&text(3.0)), Options { until: 3.0, ..Options::default() });
    assert_eq!(summary.beyond, []);
    let summary = run(&system(&text(9.0)), Options { until: 0.5, ..Options::default() });
    assert_eq!(summary.beyond.len(), 1);
    assert!(summary.beyond[0].name.contains("bush") && summary.beyond[0].since > 0.3, "{:?}", summary.beyond);
    assert!(summary.events.iter().any(|e| e.name.contains("bush")), "{:?}", summary.events);
}

#[test]
fn check_statics_and_modes_agree_on_every_example() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut compared = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let Ok(read) = bellcrank_model::read::read_model(path.to_str().unwrap(), &[]) else { continue };
        let s = Arc::new(read.model.into_system());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if s.layout().n() > 200 {
            continue;
        }
        let dynamics: Arc<dyn Dynamics> = s.clone();
        let grows = |at: &Point| modes(&*s, at).ok().map(|m| m.modes.iter().any(|m| m.grows()));
        let start = assembled(&s);
        let spectrum = bellcrank_solve::check::check(&s, &Default::default()).spectrum;
        if let (Some(spectrum), Some(grows)) = (spectrum, grows(&start)) {
            assert_eq!(spectrum.falling.is_some(), grows, "{name} at its start: {spectrum:?}");
            compared.0 += 1;
        }
        if let Ok(found) = equilibrium(&dynamics, &start)
            && let (Some(stability), Some(grows)) = (found.stability, grows(&found.point))
        {
            assert_eq!(matches!(stability.word(), "unstable" | "flutter"), grows, "{name} at rest: {stability:?}");
            compared.1 += 1;
        }
    }
    assert!(compared.0 > 15 && compared.1 > 10, "{compared:?}");
}

/// A rod of 2 kg and 1 m that stands on a hinge, a motor at the hinge and a lagging one, a cart below.
const UPRIGHT: &str = r#"
    model = { plane = "xy", gravity = [0, -9.81] }
    input.torque = { start = 0.5 }
    body.b = { rod = { from = [0, 0], to = [0, 1], mass = 2 } }
    joint.pin = { type = "revolute", between = ["ground", "b"], at = [0, 0] }
    force.motor = { type = "joint-actuator", joint = "pin", effort = "3*torque - 1.5" }
"#;

/// The linear model of the first input and one output about the start.
fn linear(text: &str, output: &str) -> Result<StateSpace, StateSpaceError> {
    let system = system(text);
    let (point, _) = operating_point(&system, Some(About::Start), &Options::default()).expect("a start");
    state_space(&system, &point, &[0], &Shown::new(&system, &[output]).expect("a channel or an output"))
}

/// C (s − A)⁻¹ B + D of one input and one output at a real s.
fn transfer(text: &str, output: &str, s: f64) -> f64 {
    let m = linear(text, output).expect("a linear model");
    let n = m.a.rows;
    let shifted = Matrix::from_fn(n, n, |i, j| if i == j { s } else { 0.0 } - m.a.at(i, j));
    let x = shifted.solve(&m.b).expect("no pole there");
    m.c.times(&x).at(0, 0) + m.d.at(0, 0)
}

#[test]
fn the_transfer_of_a_standing_rod_is_that_of_its_equation() {
    // I φ̈ = m g l/2 φ + 3 τ
    let (inertia, moment) = (2.0 / 3.0, 2.0 * 9.81 * 0.5);
    for s in [0.7, 2.0, 11.0] {
        let angle = 3.0 / (inertia * s * s - moment);
        let close =
            |found: f64, want: f64| assert!((found - want).abs() < 1e-9 * want.abs().max(1.0), "{found} {want}");
        close(transfer(UPRIGHT, "pin.angle", s), angle);
        close(transfer(UPRIGHT, "pin.rate", s), s * angle);
        close(transfer(UPRIGHT, "b.x", s), -0.5 * angle);
        close(transfer(UPRIGHT, "torque", s), 1.0);
    }
}

/// Outputs of the standing rod, with their filters.
fn upright_with(outputs: &str) -> String {
    format!("{UPRIGHT}\nparameter.half = 0.5\n{outputs}")
}

#[test]
fn the_transfer_of_an_output_is_what_its_expression_and_its_filter_make_of_its_channels() {
    let text = upright_with(
        r#"
        output.tip = { value = "-2*half*cos(pin.angle)*10", unit = "cm" }
        output.mixed = { value = "pin.rate*exp(pin.angle - pi/2) + 4*abs(b.y) + 2*torque + t^2" }
        output.slow = { value = "pin.angle", lag = 0.2 }
        output.speed = { value = "sin(3*(pin.angle - pi/2))", derivative = true }
        output.path = { value = "pin.rate + torque", integral = true }
        output.demand = { value = "motor.effort" }
        "#,
    );
    for s in [0.7, 2.0, 11.0] {
        let angle = 3.0 / (2.0 / 3.0 * s * s - 9.81);
        let close = |output: &str, want: f64| {
            let found = transfer(&text, output, s);
            assert!((found - want).abs() < 1e-8 * want.abs().max(1.0), "{output} at {s}: {found} {want}");
        };
        close("tip", 10.0 * angle);
        close("mixed", s * angle + 2.0);
        close("slow", angle / (1.0 + 0.2 * s));
        close("speed", 3.0 * s * angle);
        close("path", (s * angle + 1.0) / s);
        close("demand", 3.0);
    }
    let of = |output: &str| linear(&text, output).expect("a linear model");
    assert_eq!(of("tip").a.rows, 2);
    assert_eq!((of("slow").a.rows, of("slow").counts), (3, (1, 1, 1)));
    // the rod stands at an angle of 0 with its centre half a metre up, under a torque of 0.5
    assert!((of("mixed").outputs[0] - 3.0).abs() < 1e-12, "{:?}", of("mixed").outputs);
}

#[test]
fn several_filtered_outputs_together_are_those_of_each_alone() {
    let text = upright_with(
        r#"
        output.lagging = { value = "pin.angle", lag = 0.2 }
        output.path = { value = "pin.rate", integral = true }
        output.speed = { value = "pin.angle", derivative = true }
        "#,
    );
    let machine = system(&text);
    let (point, _) = operating_point(&machine, Some(About::Start), &Options::default()).expect("a start");
    let names = ["speed", "lagging", "pin.angle", "path"];
    let shown = Shown::new(&machine, &names).expect("outputs");
    assert_eq!(shown.units(), ["", "", "rad", ""]);
    let all = state_space(&machine, &point, &[0], &shown).expect("a linear model");
    assert_eq!(all.a.rows, 4);
    for omega in [0.3, 5.0] {
        let together = all.response(omega).expect("no pole");
        for (k, name) in names.iter().enumerate() {
            let alone = linear(&text, name).expect("a linear model").response(omega).expect("no pole")[0];
            let apart = (together[k].re - alone.re).hypot(together[k].im - alone.im);
            assert!(apart < 1e-12 * alone.magnitude().max(1.0), "{name} at {omega}: {alone:?} {:?}", together[k]);
        }
    }
}

#[test]
fn a_derivative_that_is_shown_in_motion_has_its_value_there() {
    let text = r#"
        model = { plane = "xy" }
        input.push = {}
        body.b = { mass = 2, inertia = 1, velocity = [3, 0] }
        force.f = { type = "force", body = "b", force = ["push", 0] }
        output.rate = { value = "b.x^2 + b.x + 5*t", derivative = true }
    "#;
    let m = linear(text, "rate").expect("a linear model");
    assert!((m.outputs[0] - 8.0).abs() < 1e-6, "{:?}", m.outputs);
}

#[test]
fn outputs_without_a_derivative_are_refused_by_name() {
    let text = upright_with(
        r#"
        output.bent = { value = "abs(pin.angle - pi/2)" }
        output.near = { value = "abs(pin.angle - pi/2 + 1e-5)" }
        output.jerk = { value = "motor.effort", derivative = true }
        "#,
    );
    let refused = |name: &str| linear(&text, name).expect_err("a refusal");
    assert_eq!(refused("bent"), StateSpaceError::Bends { output: "bent".into() });
    assert_eq!(refused("jerk"), StateSpaceError::Improper { output: "jerk".into(), input: "torque".into() });
    // close to the bend its derivative is the one of its branch, whatever the differences reach over
    let angle = 3.0 / (2.0 / 3.0 * 4.0 - 9.81);
    assert!((transfer(&text, "near", 2.0) - angle).abs() < 1e-9);
    assert_eq!(Shown::new(&system(&text), &["pin.angle", "near", "pin.angel"]).expect_err("unknown"), "pin.angel");
}

#[test]
fn an_input_that_drives_a_rate_is_refused_by_name() {
    let text = format!("{UPRIGHT}\njoint.turn = {{ type = \"drive\", joint = \"pin\", rate = \"torque\" }}");
    let error = linear(&text, "pin.angle").expect_err("a refusal");
    assert_eq!(error, StateSpaceError::Drives { input: "torque".into() });
    assert!(error.to_string().contains("input `torque` drives a rate"), "{error}");
}

#[test]
fn a_linear_model_in_space_with_states_predicts_the_difference_of_two_runs() {
    use bellcrank_solve::Simulation;
    // a top that spins and is pushed through a lag
    let text = r#"
        model = { gravity = [0, 0, -9.81] }
        input.push = {}
        body.top = { mass = 1, inertia = [0.02, 0.02, 0.03], at = [0, 0, 0.2], angular_velocity = [0, 0, 40] }
        joint.tip = { type = "spherical", between = ["ground", "top"], at = [0, 0, 0] }
        force.wind = { type = "force", body = "top", force = ["push", "0.5*push", 0] }
    "#;
    let system = system(text);
    let (point, _) = operating_point(&system, Some(About::Start), &Options::default()).expect("a start");
    let names = ["top.x", "top.y", "top.vx", "top.wx"];
    let channel = |name: &str| system.channels().iter().position(|c| c.name == name).expect("a channel");
    let outputs = names.map(channel);
    let m =
        state_space(&system, &point, &[0], &Shown::new(&system, &names).expect("channels")).expect("a linear model");
    // x(t) = ∫ exp(A τ) B dτ by its series
    let (t, n) = (0.02, m.a.rows);
    let (mut x, mut term) = (vec![0.0; n], m.b.column(0).iter().map(|b| b * t).collect::<Vec<f64>>());
    for k in 2..60 {
        x.iter_mut().zip(&term).for_each(|(x, d)| *x += d);
        term = m.a.apply(&term).iter().map(|a| a * t / k as f64).collect();
    }
    let predicted = m.c.apply(&x);
    let end = |push: f64| {
        let mut s = Simulation::new(&system, Options { until: t, rtol: 1e-12, ..Options::default() }).expect("a start");
        s.set_input(s.input("push").expect("the input"), push).expect("a push");
        s.advance_to(t).expect("the end");
        let all = s.observe().expect("channels").to_vec();
        outputs.map(|k| all[k])
    };
    let small = 1e-3;
    let (up, down) = (end(small), end(-small));
    for i in 0..names.len() {
        let seen = (up[i] - down[i]) / (2.0 * small);
        let size = predicted.iter().fold(1e-6f64, |m, x| m.max(x.abs()));
        assert!((seen - predicted[i]).abs() < 2e-4 * size.max(seen.abs()), "{}: {seen} {}", names[i], predicted[i]);
    }
}
