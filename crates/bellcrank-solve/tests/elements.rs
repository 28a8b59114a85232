//! Elements against closed forms: friction that follows reactions, backlash, curves on curves.

mod common;

use bellcrank_solve::choices::{Coordinates, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::*;

const G: f64 = 9.81;

/// Methods of every kind that can follow reactions, with their formulations.
const METHODS: [&str; 10] =
    ["dopri5", "dop853", "auto", "bdf", "gen-alpha", "hht-i3", "hht-si2", "nstiff-si2", "cs", "cm"];

/// Of the second order: they take a larger tolerance.
const LOW: [&str; 4] = ["gen-alpha", "hht-i3", "hht-si2", "nstiff-si2"];

fn options(name: &str, until: f64) -> Options {
    let rtol = if LOW.contains(&name) { 1e-7 } else { 1e-9 };
    let named = if name == "auto" { Options::default() } else { Options::named(name).unwrap() };
    Options { rtol, until, ..named }
}

/// By how much more than the best ones a method may err.
fn leeway(name: &str) -> f64 {
    match name {
        "nstiff-si2" => 1000.0,
        _ if LOW.contains(&name) => 100.0,
        _ => 1.0,
    }
}

/// The times at which something happened.
fn times(summary: &Summary, what: &str) -> Vec<f64> {
    summary.events.iter().filter(|e| e.what == what).map(|e| e.t).collect()
}

fn refused(text: &str, options: Options) -> String {
    Simulation::new(system(text), options).err().map(|e| e.to_string()).unwrap_or_default()
}

fn block_on_slope(angle: f64, speed: f64, friction: &str) -> String {
    let (c, s) = (angle.cos(), angle.sin());
    format!(
        r#"
        model = {{ plane = "xy", gravity = [0, -{G}] }}
        body.block = {{ mass = 2, inertia = 0.1, velocity = [{}, {}] }}
        joint.slope = {{ type = "prismatic", between = ["ground", "block"], at = [0, 0], axis = [{c}, {s}] }}
        [force.rub]
        type = "joint-friction"
        joint = "slope"
        {friction}
        "#,
        speed * c,
        speed * s
    )
}

#[test]
fn a_block_slides_up_a_slope_stops_and_sticks_or_slides_back_as_coulomb_says() {
    let mu = 0.4;
    // up with g (sin + μ cos) against it; the normal force is m g cos at all times
    for (angle, back) in [(0.3f64, false), (0.5, true)] {
        let text = block_on_slope(angle, 2.0, &format!("coefficient = {mu}\nstatic_coefficient = 0.45"));
        let up = G * (angle.sin() + mu * angle.cos());
        let stop = 2.0 / up;
        for name in METHODS {
            for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
                let summary = run(&system(&text), Options { coordinates, ..options(name, 1.0) });
                let what = if back { "slips backward" } else { "sticks" };
                let found = times(&summary, what);
                assert!(
                    found.len() == 1 && (found[0] - stop).abs() < 1e-9 * leeway(name),
                    "{name}: {:?} {stop}",
                    summary.events
                );
                let down = if back { 0.5 * G * (angle.sin() - mu * angle.cos()) * (1.0 - stop).powi(2) } else { 0.0 };
                let exact = (2.0 - 0.5 * up * stop) * stop - down;
                let error = last(&summary, "block.x") / angle.cos() - exact;
                assert!(error.abs() < 2e-9 * leeway(name), "{name}: {error}");
                let pressing = last(&summary, "rub.pressing");
                assert!((pressing - 2.0 * G * angle.cos()).abs() < 1e-6, "{name}: {pressing}");
                assert!(summary.energy.largest_error < 1e-7 * leeway(name), "{name}: {:?}", summary.energy);
            }
        }
    }
}

#[test]
fn a_shaft_out_of_balance_slows_down_by_the_reaction_that_its_slowing_makes() {
    // no gravity: the bearing carries m e √(ω⁴ + ω̇²), so that ω̇ = −c √(ω⁴ + ω̇²) = −k ω², and ω = ω₀/(1 + k ω₀ t)
    let (m, e, inertia, mu, r) = (2.0, 0.3, 0.1, 0.5, 0.4);
    let c: f64 = mu * r * m * e / (inertia + m * e * e);
    let k = c / (1.0 - c * c).sqrt();
    let exact = 5.0 / (1.0 + k * 5.0);
    for space in [false, true] {
        let (model, body, axis) = match space {
            false => ("plane = \"xy\"", format!("inertia = {inertia}, at = [{e}, 0], angular_velocity = 5"), ""),
            true => (
                "gravity = [0, 0, 0]",
                format!("inertia = [{inertia}, {inertia}, {inertia}], at = [{e}, 0, 0], angular_velocity = [0, 0, 5]"),
                ", axis = [0, 0, 1]",
            ),
        };
        let at = if space { "[0, 0, 0]" } else { "[0, 0]" };
        let text = format!(
            r#"
            model = {{ {model} }}
            body.wheel = {{ mass = {m}, {body} }}
            joint.pin = {{ type = "revolute", between = ["ground", "wheel"], at = {at}{axis} }}
            force.rub = {{ type = "joint-friction", joint = "pin", coefficient = {mu}, static_coefficient = {mu}, radius = {r} }}
            "#
        );
        for name in METHODS {
            for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
                let summary = run(&system(&text), Options { coordinates, ..options(name, 1.0) });
                let error = last(&summary, "pin.rate") / exact - 1.0;
                assert!(error.abs() < 1e-8 * leeway(name), "{name}, space {space}: {error}");
            }
        }
    }
}

#[test]
fn friction_that_wedges_its_own_joint_is_named_with_the_coefficient_that_would_do() {
    // the shaft of above: ω̇ = −c √(ω⁴ + ω̇²) has no solution for c = μ r m e/(I + m e²) ≥ 1, here from μ = 0.28/0.6 on
    let shaft = |mu: f64| {
        format!(
            r#"
            model = {{ plane = "xy" }}
            body.wheel = {{ mass = 2, inertia = 0.1, at = [0.3, 0], angular_velocity = 5 }}
            joint.pin = {{ type = "revolute", between = ["ground", "wheel"], at = [0, 0] }}
            force.rub = {{ type = "joint-friction", joint = "pin", coefficient = {mu}, static_coefficient = {mu}, radius = 1 }}
            "#
        )
    };
    // a mast that is pushed up on a sledge: from κ = 2 μ m₂ h/(ℓ M) = 1 on the guide jams, at h = 0.5333
    let sledge = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.sledge = { mass = 1, inertia = 0.1, velocity = [6, 0] }
        body.mast = { mass = 3, inertia = 0.1, at = [0, 0.1], velocity = [6, 0.5] }
        joint.guide = { type = "prismatic", between = ["ground", "sledge"], at = [0, 0], axis = [1, 0] }
        joint.lift = { type = "prismatic", between = ["sledge", "mast"], at = [0, 0], axis = [0, 1] }
        joint.up = { type = "drive", joint = "lift", position = "0.5*t" }
        force.rub = { type = "joint-friction", joint = "guide", coefficient = 0.5, static_coefficient = 0.5, length = 0.4 }
        "#;
    for name in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            run(&system(&shaft(0.46)), Options { coordinates, ..options(name, 0.2) });
            let told = refused(&shaft(0.5), Options { coordinates, ..options(name, 0.2) });
            assert!(told.contains("force `rub` wedges joint `pin`") && told.contains("below 0.4667"), "{name}: {told}");
            let mut simulation =
                Simulation::new(system(sledge), Options { coordinates, ..options(name, 1.0) }).unwrap();
            let summary = simulation.run(&mut Silent);
            let Status::Failed(e) = &summary.status else { panic!("{name}: {:?}", summary.status) };
            let told = e.to_string();
            assert!(told.contains("force `rub` wedges joint `guide`") && told.contains("`length`"), "{name}: {told}");
            assert!((summary.t - 13.0 / 15.0).abs() < 2e-3, "{name}: {}", summary.t);
        }
    }
}

fn drawer(arm: f64, push: f64) -> String {
    format!(
        r#"
        model = {{ plane = "xy" }}
        body.drawer = {{ mass = 3, inertia = 0.2 }}
        joint.guide = {{ type = "prismatic", between = ["ground", "drawer"], at = [0, 0], axis = [1, 0] }}
        force.rub = {{ type = "joint-friction", joint = "guide", coefficient = 0.2, static_coefficient = 0.25, length = 0.4 }}
        force.push = {{ type = "force", body = "drawer", on = [0, {arm}], force = [{push}, 0] }}
        "#
    )
}

#[test]
fn a_drawer_that_is_pulled_beside_its_middle_jams_however_hard_one_pulls() {
    // the moment F e presses both ends of the guide with F e/ℓ: it sticks beyond e = ℓ/(2 μ₀) = 0.8
    for name in METHODS {
        for push in [1.0, 1e4] {
            let stuck = run(&system(&drawer(0.81, push)), options(name, 0.1));
            assert!(last(&stuck, "drawer.x").abs() < 1e-9 * push, "{name}");
            let free = run(&system(&drawer(0.79, push)), options(name, 0.1));
            let exact = 0.5 * push * (1.0 - 2.0 * 0.2 * 0.79 / 0.4) / 3.0 * 0.01;
            assert!(
                (last(&free, "drawer.x") / exact - 1.0).abs() < 1e-8 * leeway(name),
                "{name}: {} {exact}",
                last(&free, "drawer.x")
            );
        }
    }
}

#[test]
fn friction_by_reaction_of_a_slider_crank_is_the_same_with_all_methods_and_balances_energy() {
    let text = r#"
        model = { plane = "xy", gravity = [0, -9.81] }
        body.crank = { rod = { from = [0, 0], to = [0.3, 0.1], mass = 1 }, angular_velocity = 8 }
        body.rod = { rod = { from = [0.3, 0.1], to = [1.1, 0], mass = 2 } }
        body.slider = { mass = 3, inertia = 0.1, at = [1.1, 0] }
        joint.shaft = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
        joint.pin = { type = "revolute", between = ["crank", "rod"], at = [0.3, 0.1] }
        joint.wrist = { type = "revolute", between = ["rod", "slider"], at = [1.1, 0] }
        joint.guide = { type = "prismatic", between = ["ground", "slider"], at = [1.1, 0], axis = [1, 0] }
        force.shaft-rub = { type = "joint-friction", joint = "shaft", coefficient = 0.1, radius = 0.03, preload = 20, velocity = 0.5 }
        force.pin-rub = { type = "joint-friction", joint = "pin", coefficient = 0.1, radius = 0.02, velocity = 0.5 }
        force.guide-rub = { type = "joint-friction", joint = "guide", coefficient = 0.2, length = 0.2, velocity = 0.1 }
        "#;
    let mut reference = None;
    for name in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let options = Options { coordinates, ..options(name, 0.6) };
            let summary = run(&system(text), options);
            let found = last(&summary, "shaft.angle");
            let reference = *reference.get_or_insert(found);
            assert!((found - reference).abs() < 1e-7 * leeway(name), "{name}: {found} {reference}");
            assert!(summary.energy.largest_error < 1e-6 * leeway(name), "{name}: {:?}", summary.energy);
        }
    }
}

#[test]
fn what_cannot_follow_reactions_refuses_by_name() {
    let text = block_on_slope(0.3, 2.0, "coefficient = 0.4");
    let step = |name: &str| Options { step: Some(1e-3), until: 0.1, ..Options::named(name).unwrap() };
    for options in [
        step("hht-add"),
        Options { formulation: Some(bellcrank_solve::choices::FormulationKind::MaggiQr), ..options("dopri5", 0.1) },
        Options { solver: bellcrank_solve::choices::Solver::LoopCg, ..options("dopri5", 0.1) },
    ] {
        let message = refused(&text, options);
        assert!(message.contains("force `rub`") && message.contains("reaction"), "{message}");
    }
    // reactions of parallel pins in space are not unique
    let text = r#"
        model = { gravity = [0, -9.81, 0] }
        body.a = { mass = 1, inertia = [0.1, 0.1, 0.1], at = [0.5, 0, 0] }
        body.b = { mass = 1, inertia = [0.1, 0.1, 0.1], at = [1, 0.5, 0] }
        joint.p = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [0, 0, 1] }
        joint.q = { type = "revolute", between = ["a", "b"], at = [1, 0, 0], axis = [0, 0, 1] }
        joint.r = { type = "revolute", between = ["ground", "b"], at = [1, 1, 0], axis = [0, 0, 1] }
        force.rub = { type = "joint-friction", joint = "q", coefficient = 0.1, radius = 0.02 }
        "#;
    let message = refused(text, options("dopri5", 0.1));
    assert!(
        message.contains("force `rub`") && message.contains("joint `q`") && message.contains("undetermined"),
        "{message}"
    );
}

/// Two shafts with an inertia each and teeth between them.
fn shafts(inertias: [f64; 2], mesh: &str, rates: [f64; 2]) -> String {
    let [a, b] = inertias;
    format!(
        r#"
        model = {{ plane = "xy" }}
        body.pinion = {{ mass = 1, inertia = {a}, at = [0, 0], angular_velocity = {} }}
        body.wheel = {{ mass = 1, inertia = {b}, at = [1, 0], angular_velocity = {} }}
        joint.in = {{ type = "revolute", between = ["ground", "pinion"], at = [0, 0] }}
        joint.out = {{ type = "revolute", between = ["ground", "wheel"], at = [1, 0] }}
        [force.teeth]
        type = "gear-mesh"
        joints = ["in", "out"]
        {mesh}
        "#,
        rates[0], rates[1]
    )
}

#[test]
fn teeth_without_play_are_a_torsional_spring_over_many_turns() {
    // δ = x₂ + x₁/2 swings with ω² = k (1/(4 J₁) + 1/J₂) about zero, while both turn on
    let (a, b, k) = (0.02f64, 0.3f64, 50.0f64);
    let text = shafts([a, b], "ratio = -0.5\nstiffness = 50", [100.0, -50.2]);
    let omega = (k * (0.25 / a + 1.0 / b)).sqrt();
    for name in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let summary = run(&system(&text), Options { coordinates, ..options(name, 1.0) });
            let exact = (-50.2 + 50.0) / omega * omega.sin();
            let error = last(&summary, "teeth.deflection") - exact;
            assert!(error.abs() < 2e-7 * leeway(name), "{name}: {error}");
            assert!(last(&summary, "in.angle") > 90.0);
        }
    }
}

#[test]
fn teeth_with_play_rattle_at_the_exact_times() {
    // the flanks meet at u and leave at −u after half a period; between them they cross the play
    let (a, b, k, play, u) = (0.02f64, 0.3f64, 50.0f64, 0.04f64, 0.5f64);
    let mesh = format!("ratio = -0.5\nstiffness = {k}\nbacklash = {play}");
    let text = shafts([a, b], &mesh, [0.0, u]);
    let half_period = std::f64::consts::PI / (k * (0.25 / a + 1.0 / b)).sqrt();
    let mut exact = vec![0.5 * play / u];
    while *exact.last().unwrap() < 1.5 {
        let last = *exact.last().unwrap();
        exact.push(last + if exact.len() % 2 == 1 { half_period } else { play / u });
    }
    exact.pop();
    for name in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let summary = run(&system(&text), Options { coordinates, ..options(name, 1.5) });
            let found: Vec<f64> = summary.events.iter().map(|e| e.t).collect();
            assert_eq!(found.len(), exact.len(), "{name}: {:?}", summary.events);
            for (a, b) in found.iter().zip(&exact) {
                assert!((a - b).abs() < 1e-7 * leeway(name), "{name}: {a} {b}");
            }
            assert!(summary.energy.largest_error < 1e-8 * leeway(name), "{name}: {:?}", summary.energy);
        }
    }
}

#[test]
fn elliptical_gears_about_their_foci_keep_their_closed_form() {
    // two equal ellipses at the distance 2a of their pivots: tan(θ₂/2) = (1 − ε)/(1 + ε) tan(θ₁/2)
    let (a, eps) = (0.5f64, 0.6f64);
    let b = a * (1.0 - eps * eps).sqrt();
    let (c, tau) = (a * eps, std::f64::consts::TAU);
    // at the vertices the common normal passes through both pivots: they cannot lead each other there
    let k = (1.0 - eps) / (1.0 + eps);
    let exact = |first: f64| -2.0 * (k * (0.5 * first).tan()).atan();
    let text = format!(
        r#"
        model = {{ plane = "xy" }}
        body.first = {{ mass = 1, inertia = 0.1, at = [0, 0], angle = 0.6 }}
        body.second = {{ mass = 1, inertia = 0.1, at = [{}, 0], angle = {} }}
        joint.one = {{ type = "revolute", between = ["ground", "first"], at = [0, 0] }}
        joint.two = {{ type = "revolute", between = ["ground", "second"], at = [{}, 0] }}
        joint.turns = {{ type = "drive", joint = "one", rate = 2 }}
        [joint.teeth]
        type = "curve-on-curve"
        between = ["first", "second"]
        on = [[0, 0], [0, 0]]
        curve = ["-{c} + {a}*cos(s)", "{b}*sin(s)"]
        range = [0, {tau}]
        closed = true
        curve2 = ["-{c} + {a}*cos(s)", "{b}*sin(s)"]
        range2 = [0, {tau}]
        closed2 = true
        "#,
        2.0 * a,
        exact(0.6),
        2.0 * a
    );
    for until in [0.2, 0.5, 1.0] {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let summary = run(&system(&text), Options { until, coordinates, ..options("dopri5", until) });
            let (first, second) = (last(&summary, "first.angle"), last(&summary, "second.angle"));
            assert!((first - 0.6 - 2.0 * until).abs() < 1e-8, "{first}");
            assert!((second - exact(first)).abs() < 1e-8, "{until}: {second} {}", exact(first));
        }
    }
}

#[test]
fn a_shoe_on_a_cam_does_what_a_roller_does_and_lifts_off_when_it_does() {
    let cam = |contact: &str, law: &str| {
        format!(
            r#"
            model = {{ plane = "xy" }}
            body.cam = {{ mass = 1, inertia = 0.1 }}
            body.valve = {{ mass = 0.5, inertia = 0.01, at = [0, 1.3] }}
            joint.shaft = {{ type = "revolute", between = ["ground", "cam"], at = [0, 0] }}
            joint.guide = {{ type = "prismatic", between = ["ground", "valve"], at = [0, 1.3], axis = [0, 1] }}
            joint.turns = {{ type = "drive", joint = "shaft", angle = "12*t" }}
            force.spring = {{ type = "joint-spring", joint = "guide", stiffness = 40, rest = -0.5 }}
            [force.touch]
            type = "{contact}"
            between = ["cam", "valve"]
            on = [[0, 0], [0, 0]]
            curve = ["(0.8 + 0.2*cos(2*s))*cos(s)", "(0.8 + 0.2*cos(2*s))*sin(s)"]
            range = [0, "2*pi"]
            closed = true
            {law}
            "#
        )
    };
    for law in ["stiffness = 1e5\nexponent = 1\ndamping = 0.2", "restitution = 0.3"] {
        let roller = run(&system(&cam("contact", &format!("radius = 0.3\n{law}"))), options("dopri5", 1.0));
        let shoe = "curve2 = [\"0.3*cos(s)\", \"0.3*sin(s)\"]\nrange2 = [0, \"2*pi\"]\nclosed2 = true";
        assert!(roller.events.len() > 3, "{:?}", roller.events);
        for name in ["dopri5", "bdf", "gen-alpha"] {
            let text = cam("curve-contact", &format!("{shoe}\n{law}"));
            let summary = run(&system(&text), options(name, 1.0));
            assert_eq!(summary.events.len(), roller.events.len(), "{name}: {:?}", summary.events);
            for (a, b) in summary.events.iter().zip(&roller.events) {
                assert!(a.what == b.what && (a.t - b.t).abs() < 1e-6 * leeway(name), "{name}: {a} {b}");
            }
        }
    }
}
