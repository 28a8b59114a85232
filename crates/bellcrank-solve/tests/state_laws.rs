//! Forces, torques and states by expressions of the state: against forces of the catalog, closed forms and energy.

mod common;

use bellcrank_solve::choices::Coordinates;
use bellcrank_solve::record::Memory;
use bellcrank_solve::run::Status;
use bellcrank_solve::{MethodName, Options, Simulation, Summary};
use common::system;

/// Methods, and what their errors may be against those of the tightest.
const METHODS: [(MethodName, f64); 3] =
    [(MethodName::Bdf, 1.0), (MethodName::Dop853, 1.0), (MethodName::GeneralizedAlpha, 1e3)];

fn run(text: &str, options: Options) -> (Memory, Summary) {
    let mut memory = Memory::default();
    let mut simulation = Simulation::new(system(text), options).unwrap_or_else(|e| panic!("{e}"));
    let summary = simulation.run(&mut memory);
    assert_eq!(summary.status, Status::Finished, "{:?}", summary.status);
    (memory, summary)
}

fn options(method: MethodName, coordinates: Coordinates, until: f64) -> Options {
    Options {
        method,
        coordinates,
        rtol: if method == MethodName::GeneralizedAlpha { 1e-6 } else { 1e-9 },
        until,
        sample: Some(until / 40.0),
        ..Options::default()
    }
}

fn last(memory: &Memory, name: &str) -> f64 {
    *memory.column(name).unwrap_or_else(|| panic!("no channel {name}")).last().unwrap()
}

/// A double pendulum on a slide; `forces` come behind it.
fn cart(forces: &str) -> String {
    format!(
        r#"
model = {{ plane = "xy", gravity = [0, -9.81] }}
[body.cart]
mass = 2
inertia = 0.1
[body.rod]
mass = 1
inertia = 0.05
at = [0, -0.5]
[joint.slide]
type = "prismatic"
between = ["ground", "cart"]
at = [0, 0]
axis = [1, 0]
[joint.pin]
type = "revolute"
between = ["cart", "rod"]
at = [0, 0]
[start]
pin = {{ angle = 0.6, rate = 0.4 }}
slide = {{ rate = 0.5 }}
{forces}"#
    )
}

const BY_CATALOG: &str = r#"
[force.spring]
type = "joint-spring"
joint = "slide"
stiffness = 30
damping = 2
rest = 0.1
[force.twist]
type = "joint-spring"
joint = "pin"
stiffness = 4
damping = 0.3
"#;

const BY_LAW: &str = r#"
[parameter]
k = "30 N/m"
[force.spring]
type = "joint-actuator"
joint = "slide"
effort = "-k*(slide.position - 0.1) - 2*cart.vx"
[force.twist]
type = "torque"
body = "rod"
torque = "-4*pin.angle - 0.3*pin.rate"
[force.back]
type = "torque"
body = "cart"
torque = "4*pin.angle + 0.3*pin.rate"
"#;

/// The same machine by another road, with every method and in both kinds of coordinates.
#[test]
fn a_spring_by_an_expression_is_a_spring() {
    let reference = run(&cart(BY_CATALOG), options(MethodName::Dop853, Coordinates::Cartesian, 2.0)).0;
    for (method, slack) in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let found = run(&cart(BY_LAW), options(method, coordinates, 2.0)).0;
            for channel in ["slide.position", "pin.angle", "pin.rate"] {
                let error = (last(&found, channel) - last(&reference, channel)).abs();
                assert!(error < 2e-6 * slack, "{method:?} {coordinates:?} {channel}: {error:e}");
            }
        }
    }
}

/// Exact derivatives: Newton takes as many iterations as with the force of the catalog.
#[test]
fn an_expression_costs_newton_no_more_iterations_than_a_force_of_the_catalog() {
    let stiff =
        |text: &str| text.replace("30", "3e5").replace("stiffness = 4", "stiffness = 4e4").replace("4*pin", "4e4*pin");
    let count = |text: String| run(&text, options(MethodName::Bdf, Coordinates::Cartesian, 0.2)).1.statistics;
    let (by_catalog, by_law) = (count(cart(&stiff(BY_CATALOG))), count(cart(&stiff(BY_LAW))));
    let near = |a: u64, b: u64| a.abs_diff(b) as f64 <= 0.05 * b as f64;
    assert!(near(by_law.steps as u64, by_catalog.steps as u64), "{by_law:?} {by_catalog:?}");
    assert!(
        near(by_law.residual_evaluations as u64, by_catalog.residual_evaluations as u64),
        "{by_law:?} {by_catalog:?}"
    );
}

/// z = e^(−t/τ) z₀ + forced part, and a lag of one's own against that of an actuator.
#[test]
fn states_of_ones_own_follow_their_rates() {
    let own = cart(
        r#"
[input.u]
start = 3
[state.z]
rate = "-z/0.2"
start = 2
[state.effort]
rate = "(u*sin(3*t) - slide.rate - effort)/0.1"
start = "5 N"
unit = "N"
[force.drive]
type = "joint-actuator"
joint = "slide"
effort = "effort"
"#,
    );
    let lag = cart(
        r#"
[input.u]
start = 3
[force.drive]
type = "joint-actuator"
joint = "slide"
effort = "u*sin(3*t) - slide.rate"
lag = 0.1
start = 5
"#,
    );
    let reference = run(&lag, options(MethodName::Dop853, Coordinates::Cartesian, 1.0)).0;
    for (method, slack) in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let found = run(&own, options(method, coordinates, 1.0)).0;
            assert!(
                (last(&found, "z") - 2.0 * (-5.0f64).exp()).abs() < 1e-7 * slack,
                "{method:?} {}",
                last(&found, "z")
            );
            let error = (last(&found, "slide.position") - last(&reference, "slide.position")).abs();
            assert!(error < 1e-6 * slack, "{method:?} {coordinates:?}: {error:e}");
            assert!((last(&found, "effort") - last(&reference, "drive.effort")).abs() < 1e-5 * slack);
        }
    }
}

/// ω²/(s² + 2ζωs + ω²) against the closed form of its answer to a step, and a third-order one against its parts in a row.
#[test]
fn transfer_functions_answer_a_step_as_they_should() {
    let text = cart(
        r#"
[state.second]
input = "if(t < 0.25, 0, 3)"
numerator = [100]
denominator = [1, 4, 100]
[state.third]
input = "pin.angle"
numerator = [2, 6]
denominator = [0.02, 0.32, 1.3, 1]
[state.lag]
rate = "(pin.angle - lag)/1"
[state.first]
rate = "10*lag - 10*first"
[state.last]
rate = "5*first - 5*last"
[output.sum]
value = "6*last + 2*(5*first - 5*last)"
"#,
    );
    let (omega, zeta, t): (f64, f64, f64) = (10.0, 0.2, 1.0 - 0.25);
    let damped = omega * (1.0 - zeta * zeta).sqrt();
    let step = 1.0 - (-zeta * omega * t).exp() * ((damped * t).cos() + zeta * omega / damped * (damped * t).sin());
    for (method, slack) in METHODS {
        let found = run(&text, options(method, Coordinates::Cartesian, 1.0)).0;
        let error = (last(&found, "second") - 3.0 * step).abs();
        assert!(error < 1e-6 * slack, "{method:?} {error:e}");
        // (s + 1)(0.1 s + 1)(0.2 s + 1) = 0.02 s³ + 0.32 s² + 1.3 s + 1
        let error = (last(&found, "third") - last(&found, "sum")).abs();
        assert!(error < 1e-6 * slack, "{method:?} {error:e} {} {}", last(&found, "third"), last(&found, "sum"));
    }
}

/// Eigenvalues of x′ = v, v′ = 1e-3 p − 10 v, p′ = 1e6 (u − v), u′ = −100 x − 30 u: the unit of a state does not matter.
#[test]
fn a_state_in_small_units_hides_no_coupling() {
    let text = |unit: f64| {
        let (push, fill) = (1e-3 * unit, 1e9 / unit);
        format!(
            "model = {{ plane = \"xy\" }}\n[body.m]\nmass = 1\ninertia = 1\n[joint.s]\ntype = \"prismatic\"\nbetween = [\"ground\", \"m\"]\n\
             at = [0, 0]\naxis = [1, 0]\n[force.f]\ntype = \"joint-actuator\"\njoint = \"s\"\neffort = \"{push:?}*p - 10*s.rate\"\n[state.p]\n\
             rate = \"{fill:?}*(1e-3*u - 1e-3*s.rate)\"\n[state.u]\nrate = \"-100*s.position - 30*u\"\n"
        )
    };
    let values = |unit: f64| {
        let system = system(&text(unit));
        let point = bellcrank_model::Point::at(&system.initial_state(), system.layout());
        let found = bellcrank_solve::linearization::linearize(&*system, &point).unwrap().eigen().unwrap();
        let mut values: Vec<(f64, f64)> = found.iter().map(|pair| pair.value).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values
    };
    let (fine, coarse) = (values(1.0), values(1e6));
    assert_eq!(fine.len(), coarse.len());
    for (a, b) in fine.iter().zip(&coarse) {
        assert!((a.0 - b.0).hypot(a.1 - b.1) < 1e-6 * (1.0 + b.0.hypot(b.1)), "{fine:?} {coarse:?}");
        assert!(a.0 < 0.0 && (a.0, a.1) != (0.0, 0.0), "{fine:?}");
    }
}

/// A mass between two one-sided springs: each half swing is a half period, π √(m/k), and every touch is an event.
#[test]
fn an_expression_that_bends_is_passed_by_events() {
    let text = r#"
model = { plane = "xy" }
[body.m]
mass = 2
inertia = 1
velocity = [1.5, 0]
[joint.slide]
type = "prismatic"
between = ["ground", "m"]
at = [0, 0]
axis = [1, 0]
[force.springs]
type = "force"
body = "m"
force = ["-50*max(slide.position - 0.3, 0) + if(slide.position < -0.3, 50*(-0.3 - slide.position), 0)", 0]
"#;
    // free flight of 0.6 m at 1.5 m/s, then half a swing
    let period = 2.0 * (0.4 + std::f64::consts::PI * (2.0f64 / 50.0).sqrt());
    for (method, slack) in METHODS {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            let (found, summary) = run(text, options(method, coordinates, 3.0 * period));
            assert!(last(&found, "m.x").abs() < 1e-6 * slack, "{method:?} {coordinates:?} {}", last(&found, "m.x"));
            assert!((last(&found, "m.vx") - 1.5).abs() < 1e-6 * slack, "{method:?}");
            assert_eq!(summary.events.len(), 12, "{method:?} {coordinates:?} {:?}", summary.events);
            assert!(summary.events[0].to_string().contains("springs"), "{}", summary.events[0]);
        }
    }
}

/// A mass of 2 kg that slides at 1 m/s past what `force` does between 0.9 and 1.1 m.
fn slider(force: &str) -> String {
    format!(
        r#"
model = {{ plane = "xy" }}
[body.cart]
mass = 2
inertia = 0.1
[joint.slide]
type = "prismatic"
between = ["ground", "cart"]
at = [0, 0]
axis = [1, 0]
[start]
slide = {{ rate = 1 }}
{force}"#
    )
}

fn drive(effort: &str) -> String {
    slider(&format!("[force.drive]\ntype = \"joint-actuator\"\njoint = \"slide\"\neffort = \"{effort}\"\n"))
}

/// What an actuator or a spring does over a millimetre is work: v² = v₀² + 2 W/m.
#[test]
fn no_step_passes_over_what_a_force_does_over_a_short_way() {
    let spike = |x: &str| format!("{x}[table.spike]\nx = [-100, 0.999, 1, 1.001, 100]\nvalues = [0, 0, 900, 0, 0]\n");
    let gauss = std::f64::consts::PI.sqrt();
    // ∫ of the table: parabolas cut to keep between the values are cubics from 0 to 900 and back with level ends
    let cases = [
        (drive("900*exp(-((slide.position - 1)/0.001)^2)"), 0.9 * gauss),
        (drive("if(abs(slide.position - 1) < 0.0005, 900, 0)"), 0.9),
        (drive("900*(slide.position > 1)*(slide.position < 1.001)"), 0.9),
        (drive("900*step(slide.position, 0.999, 0, 1, 1)*step(slide.position, 1, 1, 1.001, 0)"), 0.9),
        (drive("9e-4/((slide.position - 1)^2 + 1e-6)"), 0.9 * std::f64::consts::PI - 9e-4 * (1.0 + 1.0 / 2.93)),
        (spike(&drive("spike(slide.position)")), 0.9),
        (
            slider(
                "[force.spring]\ntype = \"joint-spring\"\njoint = \"slide\"\n\
                 curve = [[-1, 0], [0.999, 0], [1, -900], [1.001, 0], [100, 0]]\n",
            ),
            0.9,
        ),
    ];
    let ways = [
        (MethodName::Bdf, None),
        (MethodName::Dop853, None),
        (MethodName::Dopri5, None),
        (MethodName::GeneralizedAlpha, None),
        (MethodName::GeneralizedAlpha, Some(0.05)),
        (MethodName::Rk4, Some(0.05)),
    ];
    for (text, work) in &cases {
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            for (method, step) in ways {
                let options = Options { step, rtol: 1e-6, sample: Some(0.5), ..options(method, coordinates, 2.5) };
                let mut memory = Memory::default();
                let summary = Simulation::new(system(text), options).unwrap().run(&mut memory);
                let exact = (1.0 + work).sqrt();
                let error = (last(&memory, "slide.rate") - exact).abs();
                // steps of a given size may be too long for it, but then they say so
                let told = step.is_some() && (summary.status != Status::Finished || !summary.doubts.is_empty());
                let right = summary.status == Status::Finished && error < if step.is_some() { 0.02 } else { 1e-4 };
                let status = &summary.status;
                assert!(right || told, "{method:?} {step:?} {coordinates:?} {status:?} {error:e} of {exact}:\n{text}");
                assert!(summary.statistics.steps < 4000, "{method:?} {}: {text}", summary.statistics.steps);
            }
        }
    }
}

#[test]
fn a_pole_of_a_force_on_the_way_is_refused() {
    for effort in ["1/(slide.position - 1)", "-0.1/abs(slide.position - 1)^0.5", "0.3/(slide.position - 1)^3"] {
        for method in [MethodName::Bdf, MethodName::Dop853, MethodName::GeneralizedAlpha] {
            let mut memory = Memory::default();
            let options = Options { rtol: 1e-5, ..options(method, Coordinates::Cartesian, 2.5) };
            let summary = Simulation::new(system(&drive(effort)), options).unwrap().run(&mut memory);
            let far = last(&memory, "slide.position") > 1.001;
            assert!(!far || summary.status != Status::Finished, "{method:?} passed {effort}");
        }
    }
}

/// A plate with a curved edge slides along x; a follower of 1 kg moves along y on that edge.
fn plate(curve: &str) -> String {
    format!(
        r#"
model = {{ plane = "xy" }}
[body]
plate = {{ mass = 1, inertia = 0.01 }}
follower = {{ mass = 1, inertia = 0.01, at = [0, 0.05] }}
[joint]
shaft = {{ type = "prismatic", between = ["ground", "plate"], at = [0, 0], axis = [1, 0] }}
guide = {{ type = "prismatic", between = ["ground", "follower"], at = [0, 0.05], axis = [0, 1] }}
[joint.edge]
between = ["plate", "follower"]
on = [[0, 0], [0, 0]]
{curve}
[start]
shaft = {{ rate = -1 }}
"#
    )
}

/// Each point of the edge is steep for less than a step that has nothing else to resolve.
#[test]
fn no_step_passes_over_a_step_or_a_bump_of_a_curve() {
    let cam = |y: &str, range: &str| format!("type = \"point-on-curve\"\ncurve = [\"s\", \"{y}\"]\nrange = {range}");
    let points: Vec<String> =
        (0..=60).map(|k| format!("[{:?}, {:?}]", -1.0 + 0.05 * k as f64, if k == 40 { 0.07 } else { 0.05 })).collect();
    let edges = [
        cam("0.06 + 0.01*tanh((s - 1)/0.02)", "[-1, 3]"),
        cam("0.05 + 0.02*exp(-((s - 1)/0.03)^2)", "[-1, 3]"),
        format!("type = \"point-on-curve\"\npoints = [{}]", points.join(", ")),
    ];
    for edge in edges {
        let text = plate(&edge);
        let fine = options(MethodName::Dop853, Coordinates::Cartesian, 1.5).with(|o| o.testing.max_step = Some(2e-3));
        let exact = last(&run(&text, fine).0, "plate.x");
        assert!((exact + 1.5).abs() > 1e-3, "the edge takes time: {exact}");
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            for (method, step) in [
                (MethodName::Bdf, None),
                (MethodName::Dop853, None),
                (MethodName::GeneralizedAlpha, None),
                (MethodName::Auto, None),
                (MethodName::GeneralizedAlpha, Some(5e-3)),
            ] {
                let options = Options { step, rtol: 1e-6, ..options(method, coordinates, 1.5) };
                let error = (last(&run(&text, options).0, "plate.x") - exact).abs();
                let bound = if step.is_some() { 5e-3 } else { 1e-4 };
                assert!(error < bound, "{method:?} {step:?} {coordinates:?}: {error:e}\n{edge}");
            }
        }
    }
    let narrow = plate(&cam("0.05 + 0.02*exp(-((s - 1.0013)/1e-4)^2)", "[-1, 3]"));
    let refused =
        bellcrank_model::read::read_text("plate.toml", &narrow, &[]).err().expect("too narrow for its samples");
    assert!(refused.to_string().contains("narrower"), "{refused}");
}

/// A ball that lies on a curved floor and slides, one that flies low over it, and a wheel on its tyre: a bump is met, also where a step
/// has nothing else to resolve.
#[test]
fn no_step_passes_over_a_bump_of_a_floor_or_a_road() {
    let ball = |y: f64, gravity: f64, law: &str| {
        format!(
            "model = {{ plane = \"xy\", gravity = [0, {gravity:?}] }}\n\
             body.ball = {{ mass = 1, inertia = 0.01, at = [0, {y:?}], velocity = [2, 0] }}\n\
             [force.floor]\ntype = \"contact\"\nbetween = [\"ground\", \"ball\"]\nat = [[0, 0], [0, {y:?}]]\nradius = 0.02\n\
             curve = [\"s\", \"0.01*exp(-((s - 1)/0.03)^2)\"]\nrange = [-1, 4]\n{law}\n"
        )
    };
    let loaded = 0.3 - 20.0 * 9.81 / 2e5;
    let wheel = format!(
        "model = {{ plane = \"xy\", gravity = [0, -9.81] }}\n\
         body.ball = {{ mass = 20, inertia = 0.9, at = [0, {loaded:?}], velocity = [2, 0], angular_velocity = {:?} }}\n\
         [force.tyre]\ntype = \"tyre\"\nbetween = [\"ground\", \"ball\"]\nradius = 0.3\nstiffness = 2e5\ndamping = 0.05\n\
         friction = 1\nslip_stiffness = 5e4\nroad = \"0.002*exp(-((x - 1)/0.05)^2)\"\n",
        -2.0 / loaded
    );
    let hard = "restitution = 0.3";
    for text in [ball(0.02, -9.81, hard), ball(0.025, 0.0, hard), ball(0.025, 0.0, "stiffness = 1e5"), wheel] {
        let at = |options: Options| {
            let (memory, summary) = run(&text, options);
            (["ball.vx", "ball.vy"].map(|channel| last(&memory, channel)), !summary.doubts.is_empty())
        };
        let fine = options(MethodName::Dop853, Coordinates::Cartesian, 1.0).with(|o| o.testing.max_step = Some(2e-3));
        let (exact, _) = at(fine);
        assert!((exact[0] - 2.0).abs() + exact[1].abs() > 1e-3, "the bump is felt: {exact:?}");
        for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
            for method in [MethodName::Bdf, MethodName::Dop853, MethodName::GeneralizedAlpha, MethodName::Auto] {
                let (found, told) = at(Options { rtol: 1e-6, ..options(method, coordinates, 1.0) });
                let error = (0..2).map(|k| (found[k] - exact[k]).abs()).fold(0.0, f64::max);
                assert!(error < 2e-3 || told, "{method:?} {coordinates:?}: {found:?} for {exact:?}\n{text}");
            }
        }
    }
}
