//! Curves on curves in space against closed forms and other models: rings on rods, rings in rings, crossing lines, lift-off.

mod common;

use bellcrank_solve::choices::{Coordinates, Options};
use bellcrank_solve::run::Summary;
use common::*;
use std::f64::consts::PI;

const G: f64 = 9.81;

/// Methods of several kinds.
const METHODS: [&str; 4] = ["dopri5", "bdf", "gen-alpha", "cs"];
const BOTH: [Coordinates; 2] = [Coordinates::Cartesian, Coordinates::Relative];

fn options(name: &str, until: f64) -> Options {
    let rtol = if name == "gen-alpha" { 1e-7 } else { 1e-9 };
    Options { rtol, until, ..Options::named(name).unwrap() }
}

fn leeway(name: &str) -> f64 {
    if name == "gen-alpha" { 100.0 } else { 1.0 }
}

fn times(summary: &Summary, what: &str) -> Vec<f64> {
    summary.events.iter().filter(|e| e.what == what).map(|e| e.t).collect()
}

fn near(found: f64, exact: f64, tolerance: f64, what: &str) {
    assert!((found - exact).abs() < tolerance, "{what}: {found} instead of {exact}");
}

/// π/2 over the arithmetic-geometric mean of 1 and k′: K of the elliptic integral.
fn quarter(half_angle: f64) -> f64 {
    let (mut a, mut b) = (1.0, half_angle.cos());
    for _ in 0..10 {
        (a, b) = (0.5 * (a + b), f64::sqrt(a * b));
    }
    0.5 * PI / a
}

const RING: [f64; 3] = [0.5, 0.02, 0.03];

/// A ring over a rod along y, at an angle from the vertical.
fn ring_on_rod(kind: &str, angle: f64, keys: &str) -> String {
    let [ring, wire, rod] = RING;
    let l = ring - wire - rod;
    format!(
        r#"
        model = {{ gravity = [0, 0, -{G}] }}
        body.ring = {{ mass = 2, inertia = [0.25, 0.5, 0.25], at = [{}, 0, {}] }}
        [{kind}]
        between = ["ground", "ring"]
        on = [[0, 0, 0], [0, 0, 0]]
        curve = ["0", "s", "0"]
        range = [-1, 1]
        radius = {rod}
        curve2 = ["{ring}*cos(s)", "0", "{ring}*sin(s)"]
        range2 = [0, "2*pi"]
        closed2 = true
        radius2 = {wire}
        {keys}
        "#,
        l * angle.sin(),
        -l * angle.cos()
    )
}

#[test]
fn a_ring_that_slides_on_a_rod_swings_like_a_point_at_the_difference_of_their_radii() {
    // its centre stays at R − r₁ − r₂ from the rod's axis, and nothing turns it
    let [ring, wire, rod] = RING;
    let (l, angle) = (ring - wire - rod, 0.9);
    let half = 2.0 * quarter(0.5 * angle) * (l / G).sqrt();
    let joint = ring_on_rod("joint.touch", angle, "type = \"curve-on-curve\"");
    let contact = ring_on_rod("force.touch", angle, "type = \"curve-contact\"\nrestitution = 0");
    for (what, text) in [("joint", joint), ("contact", contact)] {
        for name in METHODS.into_iter().filter(|name| what == "joint" || *name != "cs") {
            for coordinates in BOTH {
                let summary = run(&system(&text), Options { coordinates, ..options(name, half) });
                let told = format!("{what} {name} {coordinates:?}");
                // at the end of half a swing it is at rest: the error of the time does not show
                near(last(&summary, "ring.x"), -l * angle.sin(), 1e-7 * leeway(name), &told);
                near(last(&summary, "ring.y"), 0.0, 1e-9, &told);
                near(last(&summary, "ring.vz"), 0.0, 1e-6 * leeway(name), &told);
                assert!(summary.energy.largest_error < 1e-6 * leeway(name), "{told}: {:?}", summary.energy);
            }
        }
    }
}

#[test]
fn a_ring_that_rolls_on_a_rod_swings_more_slowly_by_its_inertia() {
    // (m l² + I l²/ρ²) φ″ = −m g l sin φ, with ρ = R − r₂ inside of the ring: friction holds the touch, it only creeps
    let [ring, wire, rod] = RING;
    let (l, inner, angle) = (ring - wire - rod, ring - wire, 0.4);
    let slower = (1.0f64 + 0.5 / (2.0 * inner * inner)).sqrt();
    let half = 2.0 * quarter(0.5 * angle) * (l / G).sqrt() * slower;
    let rubs =
        "type = \"curve-contact\"\nstiffness = 1e7\nexponent = 1\ndamping = 100\nfriction = 0.9\nvelocity = 1e-4";
    let summary = run(
        &system(&ring_on_rod("force.touch", angle, rubs)),
        Options { rtol: 1e-7, until: half, ..Options::named("bdf").unwrap() },
    );
    near(last(&summary, "ring.x"), -l * angle.sin(), 1e-3, "x");
    near(last(&summary, "ring.vx"), 0.0, 1e-2, "vx");
}

#[test]
fn a_ring_in_a_ring_is_a_double_pendulum() {
    // the first stands in the plane xz, the second hangs in it across: its wire passes that plane as a disk, within a circle
    let (first, second, wires) = (0.6, 0.3, [0.02, 0.03]);
    let (l, mass) = (first - wires[0] - wires[1], 1.5);
    let inertia = 0.5 * mass * second * second;
    let (phi, psi) = (0.7f64, -0.3f64);
    let top = [l * phi.sin(), -l * phi.cos()];
    let centre = [top[0] + second * psi.sin(), top[1] - second * psi.cos()];
    let body = format!(
        "mass = {mass}, inertia = [{inertia}, {inertia}, {}], at = [{}, 0, {}], orientation = {{ axis = [0, -1, 0], angle = {psi} }}",
        2.0 * inertia,
        centre[0],
        centre[1]
    );
    let rings = format!(
        r#"
        model = {{ gravity = [0, 0, -{G}] }}
        body.ring = {{ {body} }}
        [joint.touch]
        type = "curve-on-curve"
        between = ["ground", "ring"]
        on = [[0, 0, 0], [0, 0, 0]]
        curve = ["{first}*cos(s)", "0", "{first}*sin(s)"]
        range = [0, "2*pi"]
        closed = true
        radius = {}
        curve2 = ["0", "{second}*cos(s)", "{second}*sin(s)"]
        range2 = [0, "2*pi"]
        closed2 = true
        radius2 = {}
        "#,
        wires[0], wires[1]
    );
    let links = format!(
        r#"
        model = {{ gravity = [0, 0, -{G}] }}
        body.ring = {{ {body} }}
        joint.link = {{ type = "distance", between = ["ground", "ring"], on = [[0, 0, 0], [0, 0, {second}]] }}
        "#
    );
    let exact = run(&system(&links), Options { rtol: 1e-11, ..options("dop853", 1.0) });
    for name in METHODS {
        for coordinates in BOTH {
            let summary = run(&system(&rings), Options { coordinates, ..options(name, 1.0) });
            for channel in ["ring.x", "ring.z", "ring.qw", "ring.vx", "ring.vz"] {
                let told = format!("{name} {coordinates:?} {channel}");
                near(last(&summary, channel), last(&exact, channel), 2e-6 * leeway(name), &told);
            }
        }
    }
}

#[test]
fn a_bar_that_crosses_a_line_keeps_what_nothing_changes() {
    // ρ along the bar, φ its angle: (m ρ² + I) φ̇ and the energy are kept, and so is the momentum along the line
    let (m, i) = (2.0, 0.3);
    let text = format!(
        r#"
        model = {{ gravity = [0, 0, 0] }}
        body.bar = {{ mass = {m}, inertia = [0.1, {i}, 0.2], at = [0.4, 0, 0], velocity = [-1.5, 0.5, -0.8], angular_velocity = [0, 2, 0] }}
        [joint.cross]
        type = "curve-on-curve"
        between = ["ground", "bar"]
        on = [[0, 0, 0], [0, 0, 0]]
        curve = ["0", "s", "0"]
        range = [-5, 5]
        curve2 = ["s", "0", "0"]
        range2 = [-5, 5]
        "#
    );
    // by quadrature: φ̇ = L/(m ρ² + I), ρ̇² = (2E − L φ̇)/m
    let (rho, spin) = (0.4f64, 2.0f64);
    let momentum = (m * rho * rho + i) * spin;
    let twice = m * 2.25 + momentum * spin;
    let rate = |rho: f64| ((twice - momentum * momentum / (m * rho * rho + i)) / m).sqrt();
    // ρ falls from 0.4 to −0.3
    let steps = 2000;
    let h = 0.7 / steps as f64;
    let simpson = |f: &dyn Fn(f64) -> f64| {
        (0..steps).map(|k| 0.4 - h * k as f64).map(|x| (f(x) + 4.0 * f(x - 0.5 * h) + f(x - h)) * h / 6.0).sum::<f64>()
    };
    let until = simpson(&|x| 1.0 / rate(x));
    let turned = simpson(&|x| momentum / (m * x * x + i) / rate(x));
    for name in METHODS {
        for coordinates in BOTH {
            let summary = run(&system(&text), Options { coordinates, ..options(name, until) });
            let told = format!("{name} {coordinates:?}");
            near(last(&summary, "bar.x"), -0.3 * turned.cos(), 1e-7 * leeway(name), &told);
            near(last(&summary, "bar.z"), 0.3 * turned.sin(), 1e-7 * leeway(name), &told);
            near(last(&summary, "bar.y"), 0.5 * until, 1e-8 * leeway(name), &told);
            assert!(summary.energy.largest_error < 5e-8 * leeway(name), "{told}: {:?}", summary.energy);
        }
    }
}

/// A wire along x above one along y.
fn dropped(law: &str) -> String {
    format!(
        r#"
        model = {{ gravity = [0, 0, -{G}] }}
        body.wire = {{ mass = 2, inertia = [0.1, 0.2, 0.2], at = [0, 0, 0.55] }}
        [force.touch]
        type = "curve-contact"
        between = ["ground", "wire"]
        on = [[0, 0, 0], [0, 0, 0]]
        curve = ["0", "s", "0"]
        range = [-1, 1]
        radius = 0.02
        curve2 = ["s", "0", "0"]
        range2 = [-1, 1]
        radius2 = 0.03
        {law}
        "#
    )
}

#[test]
fn a_wire_that_falls_on_a_wire_bounces_and_lifts_off_when_it_must() {
    let (fall, e) = ((1.0f64 / G).sqrt(), 0.6);
    let flight = 2.0 * e * fall;
    for name in ["dopri5", "bdf", "gen-alpha"] {
        for coordinates in BOTH {
            let hard = run(&system(&dropped("restitution = 0.6")), Options { coordinates, ..options(name, 1.2) });
            let found: Vec<f64> = hard.events.iter().map(|e| e.t).collect();
            let exact = [fall, fall + flight, fall + flight * (1.0 + e)];
            assert!(found.len() >= 3, "{name}: {:?}", hard.events);
            for (a, b) in found.iter().zip(exact) {
                near(*a, b, 1e-9 * leeway(name), name);
            }
            // a spring: m z″ = −m g − k z from the touch at √(2 g h)
            let soft =
                run(&system(&dropped("stiffness = 2e4\nexponent = 1")), Options { coordinates, ..options(name, 0.5) });
            let (omega, v) = (1e4f64.sqrt(), G * fall);
            let contact = (2.0 / omega) * (PI - (v * omega / G).atan());
            let (touches, leaves) = (times(&soft, "touches"), times(&soft, "leaves"));
            near(touches[0], fall, 1e-8 * leeway(name), name);
            near(leaves[0] - touches[0], contact, 1e-8 * leeway(name), name);
        }
    }
}

#[test]
fn wires_that_become_parallel_are_told_of() {
    // two rods that scissor: one turns through the direction of the other, far above it
    let text = |angle: f64, kind: &str, rest: &str| {
        format!(
            r#"
            model = {{ gravity = [0, 0, 0] }}
            body.wire = {{ mass = 2, inertia = [0.1, 0.2, 0.2], at = [0, 0, 0.05], orientation = {{ axis = [0, 0, 1], angle = {angle} }}, angular_velocity = [0, 0, 1] }}
            joint.axle = {{ type = "revolute", between = ["ground", "wire"], at = [0, 0, 0], axis = [0, 0, 1] }}
            [{kind}.touch]
            between = ["ground", "wire"]
            on = [[0, 0, 0], [0, 0, 0]]
            curve = ["s", "0", "0"]
            range = [-1, 1]
            radius = 0.02
            curve2 = ["s", "0", "0"]
            range2 = [-1, 1]
            radius2 = 0.04
            {rest}
            "#
        )
    };
    let touch = "type = \"curve-contact\"\nstiffness = 100";
    let summary = run(&system(&text(-0.4, "force", touch)), Options { step: Some(0.01), ..options("rk4", 0.4) });
    assert!(summary.beyond.iter().any(|b| b.to_string().contains("parallel")), "{:?}", summary.beyond);
    let at =
        bellcrank_model::read::read_text("model.toml", &text(0.0, "force", touch), &[]).err().map(|e| e.to_string());
    assert!(at.is_some_and(|e| e.contains("are parallel where they are nearest")), "parallel at the start");
}
