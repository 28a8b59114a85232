//! Cams, points on curves and ropes: exact lifts, closed forms of blocks and tackles, lift-off.

mod common;

use bellcrank_solve::choices::Coordinates;
use bellcrank_solve::record::Memory;
use bellcrank_solve::run::Status;
use bellcrank_solve::{MethodName, Options, Simulation, Summary};
use common::{last, system};

fn run(text: &str, options: Options) -> (Memory, Summary) {
    let mut memory = Memory::default();
    let mut simulation = Simulation::new(system(text), options).unwrap_or_else(|e| panic!("{e}"));
    let summary = simulation.run(&mut memory);
    assert_eq!(summary.status, Status::Finished, "{:?}", summary.status);
    (memory, summary)
}

fn until(until: f64) -> Options {
    Options { until, rtol: 1e-8, sample: Some(until / 40.0), ..Options::default() }
}

/// A cam about the origin that turns at 2 rad/s, and a follower of 1 kg that slides along x from `x`.
fn follower(x: f64, joint: &str) -> String {
    format!(
        "model = {{ plane = \"xy\", gravity = [0, 0] }}\n\
         [body.cam]\nmass = 1\ninertia = 0.01\n\
         [body.follower]\nmass = 1\ninertia = 0.01\nat = [{x:?}, 0]\n\
         [joint.shaft]\ntype = \"revolute\"\nbetween = [\"ground\", \"cam\"]\nat = [0, 0]\n\
         [joint.turn]\ntype = \"drive\"\njoint = \"shaft\"\nangle = \"2*t\"\n\
         [joint.guide]\ntype = \"prismatic\"\nbetween = [\"ground\", \"follower\"]\nat = [{x:?}, 0]\naxis = [1, 0]\n\
         [joint.touch]\nbetween = [\"cam\", \"follower\"]\non = [[0, 0], [0, 0]]\n{joint}\n"
    )
}

/// Compares the place of the follower with its closed form over the angle of the cam.
fn lifts(text: &str, time: f64, exact: impl Fn(f64) -> f64, most: f64) {
    for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
        let (memory, _) = run(text, Options { coordinates, ..until(time) });
        let (x, angle) = (memory.column("follower.x").unwrap(), memory.column("shaft.angle").unwrap());
        for (x, angle) in x.iter().zip(&angle[..]) {
            assert!((x - exact(*angle)).abs() < most, "{coordinates:?}: {x} against {} at {angle}", exact(*angle));
        }
    }
}

#[test]
fn an_archimedean_cam_lifts_in_proportion_to_its_angle() {
    // r = r₀ + c s; the follower on the x axis meets the point at the angle −θ of the cam
    let cam =
        "type = \"point-on-curve\"\ncurve = [\"(0.05 - 0.01*s)*cos(s)\", \"(0.05 - 0.01*s)*sin(s)\"]\nrange = [-6, 1]";
    lifts(&follower(0.05, cam), 2.0, |angle| 0.05 + 0.01 * angle, 1e-10);
}

#[test]
fn an_eccentric_disk_with_a_roller_is_a_crank() {
    let (e, r, roller) = (0.02, 0.06, 0.015);
    let cam = format!(
        "type = \"cam\"\ncurve = [\"{e} + {r}*cos(s)\", \"{r}*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nradius = {roller}"
    );
    let exact = |angle: f64| e * angle.cos() + ((r + roller) * (r + roller) - (e * angle.sin()).powi(2)).sqrt();
    lifts(&follower(e + r + roller, &cam), 5.0, exact, 1e-9);
    // the same disk by points: a periodic spline of fourth order
    let points: Vec<String> = (0..60)
        .map(|k| std::f64::consts::TAU * k as f64 / 60.0)
        .map(|s| format!("[{:?}, {:?}]", e + r * s.cos(), r * s.sin()))
        .collect();
    let cam = format!("type = \"cam\"\npoints = [{}]\nclosed = true\nradius = {roller}", points.join(", "));
    lifts(&follower(e + r + roller, &cam), 5.0, exact, 1e-6);
}

#[test]
fn a_flat_face_on_an_ellipse_follows_its_support_function() {
    let (a, b) = (0.08f64, 0.05f64);
    let cam = format!(
        "type = \"cam\"\ncurve = [\"{a}*cos(s)\", \"{b}*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nface = [1, 0]"
    );
    lifts(&follower(a, &cam), 5.0, |angle| (a * angle.cos()).hypot(b * angle.sin()), 1e-9);
}

#[test]
fn a_scotch_yoke_is_a_pin_in_a_straight_slot() {
    // the slot is a curve of the yoke, and the pin a point of the crank
    let text = follower(0.1, "type = \"point-on-curve\"\ncurve = [0, \"s\"]\nrange = [-1, 1]")
        .replace("[\"cam\", \"follower\"]\non = [[0, 0], [0, 0]]", "[\"follower\", \"cam\"]\non = [[0, 0], [0.1, 0]]");
    lifts(&text, 5.0, |angle| 0.1 * angle.cos(), 1e-10);
}

#[test]
fn a_bead_on_an_ellipse_keeps_its_energy_with_every_method() {
    let text = "model = { plane = \"xy\", gravity = [0, -9.81] }\n[body.bead]\nmass = 2\nat = [0.5, 0]\nvelocity = [0, -1]\n\
        [joint.wire]\ntype = \"point-on-curve\"\nbetween = [\"ground\", \"bead\"]\nat = [[0, 0], [0.5, 0]]\n\
        curve = [\"0.5*cos(s)\", \"0.3*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\n";
    let mut ends = Vec::new();
    for method in [MethodName::Dop853, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let rtol = if method == MethodName::GeneralizedAlpha { 1e-6 } else { 1e-9 };
        let (memory, summary) = run(text, Options { method, rtol, ..until(3.0) });
        let (x, y) = (memory.column("bead.x").unwrap(), memory.column("bead.y").unwrap());
        assert!(x.iter().zip(&y[..]).all(|(x, y)| ((x / 0.5).hypot(y / 0.3) - 1.0).abs() < 1e-7), "{method:?}");
        let energy = memory.column("energy.total").unwrap();
        let most = if method == MethodName::GeneralizedAlpha { 1e-2 } else { 1e-5 };
        assert!(energy.iter().all(|e| (e - 1.0).abs() < most), "{method:?} {:?}", energy.last());
        ends.push((last(&summary, "bead.x"), most));
    }
    assert!(ends.iter().all(|(x, most)| (x - ends[0].0).abs() < 3.0 * most), "{ends:?}");
}

#[test]
fn a_barrel_cam_moves_its_follower_along_the_drum() {
    let text = "[body.drum]\nmass = 1\ninertia = [0.01, 0.01, 0.01]\n[body.follower]\nmass = 1\ninertia = [0.01, 0.01, 0.01]\nat = [0.05, 0, 0]\n\
        [joint.shaft]\ntype = \"revolute\"\nbetween = [\"ground\", \"drum\"]\nat = [0, 0, 0]\naxis = [0, 0, 1]\n\
        [joint.turn]\ntype = \"drive\"\njoint = \"shaft\"\nangle = \"2*t\"\n\
        [joint.guide]\ntype = \"point-on-line\"\nbetween = [\"ground\", \"follower\"]\nat = [0.05, 0, 0]\naxis = [0, 0, 1]\n";
    let groove = "[joint.groove]\ntype = \"point-on-curve\"\nbetween = [\"drum\", \"follower\"]\non = [[0, 0, 0], [0, 0, 0]]\n\
        curve = [\"0.05*cos(s)\", \"0.05*sin(s)\", \"0.02*sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\n";
    // the guide already keeps the follower on the cylinder of the groove: one of its two rows is redundant
    let (memory, _) = run(&format!("{text}{groove}"), until(3.0));
    let (z, angle) = (memory.column("follower.z").unwrap(), memory.column("shaft.angle").unwrap());
    for (z, angle) in z.iter().zip(&angle[..]) {
        let exact = 0.02 * (-2.0 * angle).sin();
        assert!((z - exact).abs() < 1e-8, "{z} against {exact}");
    }
}

#[test]
fn a_follower_lifts_off_a_fast_cam_and_comes_back() {
    // a spring presses a roller onto an eccentric disk: while it turns slowly it stays, then it flies
    let contact = |law: &str, rate: f64| {
        follower(0.095, "").split("[joint.touch]").next().unwrap().replace("2*t", &format!("{rate}*t^2"))
            + "[force.spring]\ntype = \"spring-damper\"\nbetween = [\"follower\", \"ground\"]\nat = [[0.095, 0], [1, 0]]\n\
               stiffness = 100\nlength = 1\n[force.touch]\ntype = \"contact\"\nbetween = [\"cam\", \"follower\"]\non = [[0, 0], [0, 0]]\n\
               curve = [\"0.02 + 0.06*cos(s)\", \"0.06*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true\nradius = 0.015\n"
            + law
    };
    for law in ["restitution = 0", "stiffness = 1e5\nexponent = 1\ndamping = 1"] {
        let (_, slow) = run(&contact(law, 3.0), Options { rtol: 1e-6, ..until(1.5) });
        assert!(!slow.events.iter().any(|e| format!("{e:?}").contains("leaves")), "{law}: {:?}", slow.events);
        let (memory, fast) = run(&contact(law, 40.0), Options { rtol: 1e-6, ..until(1.0) });
        assert!(fast.events.iter().any(|e| format!("{e:?}").contains("leaves")), "{law}: {:?}", fast.events);
        let least = memory.column("touch.normal").unwrap().iter().fold(0.0f64, |a, b| a.min(*b));
        assert!(least >= -1e-9, "{law}: {least}");
        assert!(memory.column("touch.gap").unwrap().iter().all(|g| *g > -2e-3), "{law}");
    }
}

#[test]
fn a_point_beyond_the_end_of_its_curve_is_told() {
    let text =
        follower(0.05, "type = \"point-on-curve\"\ncurve = [\"0.05 + 0.001*s\", \"0.05*s\"]\nrange = [-0.5, 0.5]");
    let (_, summary) = run(&text, until(0.5));
    let told = format!("{:?}", summary.beyond);
    assert!(told.contains("joint `touch`") && told.contains("Range"), "{told}");
}

const G: f64 = 9.81;

/// Two weights on a rope over a pulley of the ground, stretched as it will be.
fn atwood(m: [f64; 2], tension: f64, more: &str) -> String {
    let k = 1e5;
    // two straight parts of 1 m and half a circle
    let length = 2.0 + std::f64::consts::PI * 0.2 - tension / k;
    format!(
        "model = {{ plane = \"xy\", gravity = [0, -{G}] }}\n\
         [body.one]\nmass = {:?}\nat = [-0.2, -1]\n[body.two]\nmass = {:?}\nat = [0.2, -1]\n\
         [force.rope]\ntype = \"rope\"\nbodies = [\"one\", \"ground\", \"two\"]\nat = [[-0.2, -1], [0, 0], [0.2, -1]]\n\
         radii = 0.2\nstiffness = {k}\nlength = {length:?}\n{more}\n",
        m[0], m[1]
    )
}

#[test]
fn an_atwood_machine_falls_as_its_closed_form() {
    let m = [3.0, 2.0];
    let tension = 2.0 * m[0] * m[1] * G / (m[0] + m[1]);
    let text = atwood(m, tension, "");
    for (method, coordinates) in [
        (MethodName::Dop853, Coordinates::Cartesian),
        (MethodName::Dop853, Coordinates::Relative),
        (MethodName::Bdf, Coordinates::Cartesian),
    ] {
        let (_, summary) = run(&text, Options { method, coordinates, ..until(0.5) });
        let fall = 0.5 * (m[0] - m[1]) * G / (m[0] + m[1]) * 0.25;
        assert!((last(&summary, "one.y") + 1.0 + fall).abs() < 1e-6, "{method:?} {coordinates:?}");
        assert!((last(&summary, "two.y") + 1.0 - fall).abs() < 1e-6, "{method:?} {coordinates:?}");
        assert!((last(&summary, "rope.tension") - tension).abs() < 1e-3 * tension);
    }
}

#[test]
fn friction_on_a_pulley_has_eulers_ratio_of_tensions() {
    let (m, mu) = ([10.0, 2.0], 0.2);
    let ratio = (mu * std::f64::consts::PI).exp();
    // m₁ g − T₁ = m₁ a and T₂ − m₂ g = m₂ a with T₁ = ratio T₂
    let a = (m[0] - ratio * m[1]) * G / (m[0] + ratio * m[1]);
    let end = m[1] * (G + a);
    let text = atwood(m, 0.5 * (1.0 + ratio) * end, &format!("friction = {mu}\nvelocity = 1e-4\ndamping = 0.05"));
    let (_, summary) = run(&text, until(0.3));
    let [one, two] = ["rope.tension", "rope.tension_end"].map(|channel| last(&summary, channel));
    assert!((one / two - ratio).abs() < 1e-9 * ratio, "{one} {two} {ratio}");
    let fall = -1.0 - last(&summary, "one.y");
    assert!((fall - 0.5 * a * 0.09).abs() < 2e-2 * fall, "{fall} {}", 0.5 * a * 0.09);
}

#[test]
fn a_rope_over_two_pulleys_of_the_ground_falls_as_over_one() {
    // from pulley to pulley it does not stretch by the motion, and friction has a quarter of a turn on each
    let (m, k, mu) = ([10.0, 2.0], 1e5, 0.2f64);
    for mu in [0.0, mu] {
        let ratio = (mu * std::f64::consts::PI).exp();
        let a = (m[0] - ratio * m[1]) * G / (m[0] + ratio * m[1]);
        let text = format!(
            "model = {{ plane = \"xy\", gravity = [0, -{G}] }}\n\
             [body.one]\nmass = {:?}\nat = [-0.2, -1]\n[body.two]\nmass = {:?}\nat = [1.2, -1]\n\
             [force.rope]\ntype = \"rope\"\nbodies = [\"one\", \"ground\", \"ground\", \"two\"]\n\
             at = [[-0.2, -1], [0, 0], [1, 0], [1.2, -1]]\nradii = [0.2, 0.2]\nstiffness = {k}\ndamping = 0.05\n\
             friction = {mu}\nvelocity = 1e-4\n",
            m[0], m[1]
        );
        let (_, summary) = run(&text, until(0.3));
        let fall = -1.0 - last(&summary, "one.y");
        assert!((fall - 0.5 * a * 0.09).abs() < 2e-2 * fall, "{mu}: {fall} {}", 0.5 * a * 0.09);
        let [one, two] = ["rope.tension", "rope.tension_end"].map(|channel| last(&summary, channel));
        assert!((one / two - ratio).abs() < 1e-9 * ratio, "{one} {two} {ratio}");
    }
}

#[test]
fn a_block_and_tackle_halves_the_load() {
    // anchor, moving block of mass M, fixed pulley, weight m: 2T − M g = M a, m g − T = 2 m a
    let (block, weight, k) = (5.0, 3.0, 1e5);
    let a = (2.0 * weight - block) * G / (block + 4.0 * weight);
    let tension = 0.5 * block * (G + a);
    let length = 3.0 - tension / k;
    let text = format!(
        "model = {{ gravity = [0, 0, -{G}] }}\n[body.block]\nmass = {block}\nat = [0, 0, -1]\n[body.weight]\nmass = {weight}\nat = [0, 0, -1]\n\
         [force.rope]\ntype = \"rope\"\nbodies = [\"ground\", \"block\", \"ground\", \"weight\"]\n\
         at = [[0, 0, 0], [0, 0, -1], [0, 0, 0], [0, 0, -1]]\nstiffness = {k}\nlength = {length:?}\n"
    );
    let (_, summary) = run(&text, until(0.5));
    assert!((last(&summary, "block.z") + 1.0 - 0.5 * a * 0.25).abs() < 1e-6);
    assert!((last(&summary, "weight.z") + 1.0 + a * 0.25).abs() < 1e-6);
}

#[test]
fn a_rope_becomes_slack_and_taut() {
    let text = format!(
        "model = {{ plane = \"xy\", gravity = [0, -{G}] }}\n[body.weight]\nmass = 1\nat = [0, -0.5]\n\
         [force.rope]\ntype = \"rope\"\nbodies = [\"ground\", \"weight\"]\nat = [[0, 0], [0, -0.5]]\nstiffness = 1e4\nlength = 1\n"
    );
    let (memory, summary) = run(&text, until(1.0));
    let what: Vec<String> = summary.events.iter().map(|e| format!("{e:?}")).collect();
    assert!(
        what.iter().any(|e| e.contains("becomes taut")) && what.iter().any(|e| e.contains("becomes slack")),
        "{what:?}"
    );
    let energy = memory.column("energy.total").unwrap();
    assert!(energy.iter().all(|e| (e - energy[0]).abs() < 1e-6), "{energy:?}");
}

#[test]
fn a_taut_rope_that_bends_away_from_its_pulley_is_told() {
    // the weight flies up to the other side of the pulley, which a rope would leave
    let text = |speed: f64| {
        format!(
            "model = {{ plane = \"xy\" }}\n[body]\npost = {{ mass = 1, inertia = 1, at = [-1, -1] }}\n\
             a = {{ mass = 1, inertia = 1, at = [1, -1], velocity = [0, {speed}] }}\n\
             [joint.hold]\ntype = \"fixed\"\nbetween = [\"ground\", \"post\"]\nat = [-1, -1]\n\
             [force.rope]\ntype = \"rope\"\nbodies = [\"post\", \"ground\", \"a\"]\nat = [[-1, -1], [0, 0], [1, -1]]\n\
             radii = 0.2\nstiffness = 1\nlength = 2\n"
        )
    };
    for (speed, told) in [(0.5, false), (4.0, true)] {
        let (_, summary) = run(&text(speed), until(1.0));
        let doubt = summary.doubts.iter().find(|d| d.message.contains("bends away from a pulley"));
        assert_eq!(doubt.is_some(), told, "{speed}: {:?}", summary.doubts);
    }
}
