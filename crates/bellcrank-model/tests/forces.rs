//! Forces against closed forms, and the messages about wrong ones.

use bellcrank_math::Quat;
use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_text;
use bellcrank_model::{Piece, Point, System};

fn system(text: &str) -> System {
    match read_text("tests/catalog/sample.toml", text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    }
}

fn start(s: &System) -> Point {
    Point::at(&s.initial_state(), s.layout())
}

fn piece(s: &System, piece: Piece, p: &Point) -> Vec<f64> {
    let mut w = s.workspace();
    s.realize(p, &mut w);
    let mut out = vec![0.0; s.layout().rows(piece).last().map_or(0, |r| r.end)];
    s.add(1.0, piece, p, &mut w, &mut out);
    out
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} against {b}");
}

const FALLING: &str =
    "model = { plane = 'xy', gravity = [0, -10] }\n[body]\nb = { mass = 2, inertia = 1, at = [0, 0] }\n";

#[test]
fn drag_balances_the_weight_at_the_final_speed() {
    let force = "[force.air]\ntype = 'drag'\nbody = 'b'\ncd = 0.8\narea = 0.5\ndensity = 2\nwind = [3, 0]";
    let s = system(&format!("{FALLING}{force}"));
    let mut p = start(&s);
    // relative to the wind, straight down: m g = c v²
    (p.v[0], p.v[1]) = (3.0, -(20.0f64 / 0.4).sqrt());
    let f = piece(&s, Piece::Force, &p);
    close(f[0], 0.0);
    close(f[1], 0.0);
}

#[test]
fn a_circular_orbit_needs_the_attraction() {
    let bodies = "[body]\nsun = { mass = 1000 }\nplanet = { mass = 3, at = [0, 5, 0] }\n";
    let s = system(&format!("{bodies}[force.pull]\ntype = 'attraction'\nbetween = ['sun', 'planet']\nconstant = 0.2"));
    let f = piece(&s, Piece::Force, &start(&s));
    assert_eq!(f, [0.0, 24.0, 0.0, 0.0, -24.0, 0.0]);
    let mut w = s.workspace();
    let p = start(&s);
    s.realize(&p, &mut w);
    close(s.energy(&p, &mut w).stored, -120.0);
}

#[test]
fn a_one_sided_spring_is_slack_on_the_other_side() {
    let force = |more: &str| {
        let bodies = "[body]\na = { mass = 1, at = [0, 0, 0] }\nb = { mass = 1, at = [1, 0, 0] }\n";
        let text = "[force.rope]\ntype = 'spring-damper'\nbetween = ['a', 'b']\nat = [[0,0,0], [1,0,0]]\ndamping = 2\nstiffness = 100\n";
        let s = system(&format!("{bodies}{text}{more}"));
        let mut p = start(&s);
        p.v[3] = 0.3;
        let mut outward = p.clone();
        outward.v[3] = -9.0;
        [piece(&s, Piece::Force, &p)[0], piece(&s, Piece::Force, &outward)[0]]
    };
    // k s + c v; a rope does not push while it shortens fast
    assert_eq!(force("length = 0.9"), [100.0 * (1.0 - 0.9) + 0.6, 100.0 * (1.0 - 0.9) - 18.0]);
    assert_eq!(force("length = 0.9\ntension_only = true"), [100.0 * (1.0 - 0.9) + 0.6, 0.0]);
    assert_eq!(force("length = 1.1\ntension_only = true"), [0.0, 0.0]);
    assert_eq!(force("length = 0.9\ncompression_only = true"), [0.0, 0.0]);
    let stop = force("length = 1.1\ncompression_only = true");
    close(stop[0], -10.0 + 0.6);
    close(stop[1], -10.0 - 18.0);
}

const ARM: &str = "[body]\narm = { mass = 1, inertia = [1, 1, 1], at = [0, 0, 0] }\n\
    [joint.pin]\ntype = 'revolute'\nbetween = ['ground', 'arm']\nat = [0, 0, 0]\n";

#[test]
fn a_controller_counts_turns() {
    let s = system(&format!("{ARM}[force.servo]\ntype = 'pid'\njoint = 'pin'\nreference = 20\nkp = 3\nkd = 2"));
    let mut state = s.initial_state();
    let mut w = s.workspace();
    // three turns and a bit, in steps that a solver might take
    let target = 6.0 * std::f64::consts::PI + 0.4;
    for k in 1..=100 {
        let turn = target * k as f64 / 100.0;
        state.charts.centres[0] = Quat::exp(bellcrank_math::Vec3::Z * turn);
        s.settle(&mut state, &mut w);
    }
    let mut p = Point::at(&state, s.layout());
    p.v[5] = 1.5;
    close(piece(&s, Piece::Force, &p)[5], 3.0 * (20.0 - target) - 2.0 * 1.5);
}

#[test]
fn a_controller_at_rest_holds_its_integral_and_does_not_wind_up() {
    let pid = "[force.servo]\ntype = 'pid'\njoint = 'pin'\nreference = 2\nkp = 3\nki = 6\nlimits = [-4, 4]\nlag = 0.1\nstart = 1";
    let s = system(&format!("{ARM}{pid}"));
    let mut p = start(&s);
    assert_eq!((s.layout().nz(), p.z.clone()), (2, vec![0.0, 1.0]));
    assert_eq!(s.name(bellcrank_model::Unknown::Z, 0), "force `servo`");
    // error 2: u = 6 is cut to 4; İ = 6·2 + (4 − 6)/T with T = kp/ki = 0.5; the effort follows in 0.1 s
    let flow = piece(&s, Piece::Flow, &p);
    close(flow[0], 12.0 - 4.0);
    close(flow[1], (4.0 - 1.0) / 0.1);
    close(piece(&s, Piece::Force, &p)[5], 1.0);
    // far in the limits the integral runs back
    p.z[0] = 100.0;
    close(piece(&s, Piece::Flow, &p)[0], 12.0 - 2.0 * 102.0);
    // at the reference nothing moves, and the integral holds the effort
    p.charts.centres[0] = Quat::exp(bellcrank_math::Vec3::Z * 2.0);
    p.z = vec![2.5, 2.5];
    piece(&s, Piece::Flow, &p).into_iter().for_each(|x| close(x, 0.0));
    close(piece(&s, Piece::Force, &p)[5], 2.5);
}

#[test]
fn friction_acts_on_both_bodies_against_the_rate() {
    let friction = "[force.rub]\ntype = 'joint-friction'\njoint = 'pin'\nviscous = 0.5\ncoulomb = 2\nvelocity = 1e-3";
    let s = system(&format!("{ARM}{friction}"));
    for rate in [-3.0, 0.0, 4.0] {
        let mut p = start(&s);
        p.v[5] = rate;
        let f = piece(&s, Piece::Force, &p);
        close(f[5], -0.5 * rate - if rate == 0.0 { 0.0 } else { 2.0 * rate.signum() });
    }
}

#[test]
fn a_bushing_at_its_offset_carries_its_preload() {
    let bodies = "[body]\na = { mass = 1, inertia = [1,1,1], at = [0,0,0] }\nb = { mass = 1, inertia = [1,1,1], at = [0.1,0.2,0.3], orientation = { axis = [0,0,1], angle = 0.25 } }\n";
    let bushing = "[force.mount]\ntype = 'bushing'\nbetween = ['a', 'b']\non = [[0,0,0], [0,0,0]]\nstiffness = [10,20,30,4,5,6]\n\
        offset = [0.1, 0.2, 0.3, 0, 0, 0.25]\npreload = [1, 2, 3, 0, 0, 0.5]\ncurve = { x = [[-1, -2], [0, 0], [1, 7]] }";
    let s = system(&format!("{bodies}{bushing}"));
    let mut p = start(&s);
    let f = piece(&s, Piece::Force, &p);
    for (i, want) in [1.0, 2.0, 3.0, 0.0, 0.0, 0.5].into_iter().enumerate() {
        close(f[6 + i], want);
    }
    // a metre further along x: −10·1 of the matrix, −7 of the curve, + 1
    p.q[6] += 1.0;
    close(piece(&s, Piece::Force, &p)[6], -16.0);
}

#[test]
fn tables_hold_their_values_and_follower_loads_turn() {
    let force = "[force.push]\ntype = 'force'\nbody = 'b'\nforce = { table = 'load.csv', columns = ['fx', 'fy'], scale = 2 }\nframe = 'body'";
    let s = system(&format!("{}{force}", FALLING.replace("-10", "0")));
    let mut p = start(&s);
    for (t, x, y) in
        [(-1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.5, 2.5, -1.0), (1.0, 0.0, 2.0), (2.0, -1.0, 1.0), (9.0, -1.0, 1.0)]
    {
        p.t = t;
        p.q[2] = 0.3;
        let f = piece(&s, Piece::Force, &p);
        let (sin, cos) = 0.3f64.sin_cos();
        close(f[0], 2.0 * (cos * x - sin * y));
        close(f[1], 2.0 * (sin * x + cos * y));
    }
}

/// What follows where a second shaft is meant.
const MORE: &str = "[body.b]\nmass = 1\ninertia = 1\nat = [2, 0]\n[joint.pin2]\ntype = 'revolute'\nbetween = ['ground', 'b']\nat = [2, 0]\n";

/// The messages about a model with these lines added to a small one.
fn messages(lines: &[&str]) -> String {
    let model = "[model]\nplane = 'xy'\n[body]\na = { mass = 1, inertia = 1, at = [0, 0] }\np = { mass = 1, at = [1, 0] }\n\
        [joint]\npin = { type = 'revolute', between = ['ground', 'a'], at = [0, 0] }\n\
        ball = { type = 'spherical', between = ['ground', 'p'], at = [1, 0] }\n[force.f]\n";
    let mut out = String::new();
    for line in lines {
        let more = if line.contains("pin2") { MORE } else { "" };
        let text = format!("{model}{}\n{more}", line.replace("; ", "\n"));
        let report = match read_text("tests/catalog/sample.toml", &text, &[]) {
            Ok(_) => "(accepted)\n".to_string(),
            Err(report) => report.to_string(),
        };
        out += &format!("──── {line}\n{report}\n");
    }
    out
}

#[test]
fn messages_about_forces() {
    let shown = messages(&[
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; stiffness = 1; curve = [[0, 0], [1, 1]]",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; curve = [[0, 0], [0, 1]]",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; curve = [[0, 0]]",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; curve = [[-1, 1], [1, 2]]; tension_only = true",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; stiffness = 1; tension_only = true; compression_only = true",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; stiffness = 1; engagement = 0.1",
        "type = 'spring-damper'; between = ['a', 'p']; at = [[0, 0], [1, 0]]; stiffness = 1; length = 0; tension_only = true",
        "type = 'bushing'; between = ['ground', 'a']; at = [0, 0]",
        "type = 'bushing'; between = ['ground', 'a']; at = [0, 0]; stiffness = [1, 1, 1]; offset = [0, 0, 0, 0, 0, 0]",
        "type = 'bushing'; between = ['ground', 'a']; at = [0, 0]; curve = { z = [[0, 0], [1, 1]] }",
        "type = 'bushing'; between = ['ground', 'a']; at = [0, 0]; curve = { x = [[1, 0], [0, 1]] }",
        "type = 'bushing'; between = ['ground', 'p']; at = [1, 0]; stiffness = [1, 1, 1]",
        "type = 'force'; body = 'ground'; force = [1, 0]",
        "type = 'force'; body = 'p'; force = [1, 0]; frame = 'body'",
        "type = 'force'; body = 'a'; force = [1, 0]; frame = 'bdy'",
        "type = 'torque'; body = 'p'; torque = 1",
        "type = 'drag'; body = 'a'; cd = 1",
        "type = 'drag'; body = 'a'; coefficient = 1; area = 1",
        "type = 'attraction'; between = ['ground', 'a']",
        "type = 'attraction'; between = ['a', 'p']; masses = [1, -1]",
        "type = 'attraction'; between = ['ground', 'a']; masses = [1, 1]",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn messages_about_forces_on_joints() {
    let shown = messages(&[
        "type = 'joint-friction'",
        "type = 'joint-friction'; joint = 'pni'; viscous = 1",
        "type = 'joint-friction'; joint = 'ball'; viscous = 1",
        "type = 'joint-friction'; joint = 'pin'; coordinate = 'position'; viscous = 1",
        "type = 'joint-friction'; joint = 'pin'",
        "type = 'joint-friction'; joint = 'pin'; viscous = 1; velocity = 1",
        "type = 'joint-friction'; joint = 'pin'; coulomb = 1; velocity = 0",
        "type = 'joint-actuator'; joint = 'pin'",
        "type = 'joint-actuator'; joint = 'pin'; effort = 't + x'",
        "type = 'joint-actuator'; joint = 'pin'; effort = 1; limits = [1, -1]",
        "type = 'joint-actuator'; joint = 'pin'; effort = 1; limits = [1, 2]; lag = 1",
        "type = 'joint-actuator'; joint = 'pin'; effort = 1; start = 2",
        "type = 'pid'; joint = 'pin'; reference = 1",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'x'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'pin'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'pin.angl'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'pin.fx'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'tip.x'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'ball.angle'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'p.angle'",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; measure = 'ground.x'",
        "type = 'pid'; joint = 'pin'; reference = 1; kd = 1; measure = 'pin.rate'",
        "type = 'pid'; joint = 'pin'; reference = 1; ki = 1; limits = [-1, 1]",
        "type = 'pid'; joint = 'pin'; reference = 1; kp = 1; windup = 1",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn messages_about_contact() {
    let shown = messages(&[
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]",
        "type = 'contact'; between = ['ground', 'a']; stiffness = 1",
        "type = 'contact'; between = ['ground', 'a']; radius = 1; stiffness = 1",
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]; radii = [1, 1]; stiffness = 1",
        "type = 'contact'; between = ['ground', 'a']; radii = [1, -2]; stiffness = 1",
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]; restitution = 1.5",
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]; restitution = 0.5; stiffness = 1",
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]; restitution = 0.5; friction = 0.2; velocity = 1",
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]; stiffness = 1; rest_speed = 1",
        "type = 'contact'; between = ['ground', 'a']; normal = [0, 1]; stiffness = 1; velocity = 1",
        "type = 'contact'; between = ['p', 'a']; normal = [0, 1]; stiffness = 1",
        "type = 'contact'; between = ['a', 'p']; normal = [0, 1]; radius = 1; stiffness = 1; friction = 1",
        "type = 'stop'; joint = 'pin'; upper = 1",
        "type = 'stop'; joint = 'pin'; upper = 1; restitution = 0.5; damping = 1",
        "type = 'joint-friction'; joint = 'pin'; coulomb = 2; static = 1",
        "type = 'joint-friction'; joint = 'pin'; coulomb = 2; static = 3; velocity = 1",
        "type = 'joint-friction'; joint = 'pin'; viscous = 2; static = 3",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn messages_about_friction_by_reaction_and_teeth() {
    let rub = |keys: &str| format!("type = 'joint-friction'; joint = 'pin'; {keys}");
    let teeth = |keys: &str| format!("type = 'gear-mesh'; {keys}");
    let lines = [
        rub("coulomb = 1; coefficient = 0.1; radius = 0.02"),
        rub("coefficient = 0.1"),
        rub("coefficient = -0.1; radius = 0.02"),
        rub("coefficient = 0.2; static_coefficient = 0.1; radius = 0.02"),
        rub("coefficient = 0.2; static = 1; radius = 0.02"),
        rub("coulomb = 1; static_coefficient = 0.3"),
        rub("coulomb = 1; preload = 10"),
        rub("viscous = 1; length = 0.1"),
        rub("coefficient = 0.2; static_coefficient = 0.3; radius = 0.02; velocity = 0.1"),
        rub("coefficient = 0.2; radius = '20 deg'"),
        rub("coefficient = 0.2; radius = 0.02; preload = '3 mm'"),
        rub("coefficient = 0.2; radius = 0.02; lenght = 1"),
        teeth("joints = ['pin', 'pni']; ratio = 2; stiffness = 100"),
        teeth("joints = ['pin']; ratio = 2; stiffness = 100"),
        teeth("joints = ['pin', 'pin']; ratio = 2; stiffness = 100"),
        teeth("joints = ['pin', 'ball']; ratio = 2; stiffness = 100"),
        teeth("joints = ['pin', 'pin2']; ratio = 0; stiffness = 100"),
        teeth("joints = ['pin', 'pin2']; ratio = 2"),
        teeth("joints = ['pin', 'pin2']; ratio = 2; stiffness = 100; damping = 1"),
        teeth("joints = ['pin', 'pin2']; ratio = 2; stiffness = 100; backlash = '2 mm'"),
        teeth("joints = ['pin', 'pin2']; ratio = '2 rad/m'; stiffness = 100"),
        teeth("joints = ['pin', 'pin2']; coordinates = ['angle', 'position']; ratio = 2; stiffness = 100"),
    ];
    let shown = messages(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    insta::assert_snapshot!(shown);
}

#[test]
fn messages_about_curves_on_curves() {
    let circle =
        |n: &str, r: f64| format!("curve{n} = ['{r}*cos(s)', '{r}*sin(s)']; range{n} = [0, '2*pi']; closed{n} = true");
    let touch =
        |keys: String| format!("type = 'curve-contact'; between = ['ground', 'a']; at = [[0, 0], [1, 0]]; {keys}");
    let bean = "curve2 = ['(2 + cos(2*s))*cos(s)', '(2 + cos(2*s))*sin(s)']; range2 = [0, '2*pi']; closed2 = true";
    let wavy = "curve = ['(2 + 0.3*cos(5*s))*cos(s)', '(2 + 0.3*cos(5*s))*sin(s)']; range = [0, '2*pi']; closed = true";
    let lines = [
        touch(circle("", 0.5)),
        touch(format!("{}; curve2 = ['s', 's^2']", circle("", 0.5))),
        touch(format!("{}; points2 = [[0, 0], [1, 0]]", circle("", 0.5))),
        touch(format!("{}; curve2 = ['s^2', 's^3']; range2 = [-1, 1]", circle("", 0.5))),
        touch(format!("{}; {bean}", circle("", 0.5))),
        touch(format!("{wavy}; {}", circle("2", 0.8))),
        touch(format!("{}; {}; inside = true", circle("", 0.5), circle("2", 0.8))),
        touch(format!("curve = ['s', '0.1*s^2']; range = [-1, 1]; inside = true; {}", circle("2", 0.2))),
        touch(format!("{}; {}", circle("", 0.5), circle("2", 0.3))),
        touch(format!("{}; {}; restitution = 0.5; friction = 0.2; velocity = 0.1", circle("", 0.5), circle("2", 0.3))),
        touch(format!("{}; {}; stiffness = 10; velocity = 0.1", circle("", 0.5), circle("2", 0.3))),
        touch(format!("{}; {}; stiffness = 10; radius2 = 0.1", circle("", 0.5), circle("2", 0.3))),
    ];
    let shown = messages(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    insta::assert_snapshot!(shown);
}

#[test]
fn messages_about_tables() {
    let force = "type = 'torque'; body = 'a'; torque = ";
    let lines: Vec<String> = [
        "{ }",
        "{ table = 'load.csv' }",
        "{ table = 'load.csv', column = 'fz' }",
        "{ table = 'load.csv', column = 'fx', time = 'm' }",
        "{ table = 'laod.csv', column = 'fx' }",
        "{ table = '../catalog.rs', column = 'fx' }",
        "{ table = '/etc/passwd', column = 'fx' }",
        "{ table = 'load.csv', column = 'fx', interpolation = 'linear' }",
        "{ table = 'load.csv', column = 'fx', scale = 't' }",
    ]
    .iter()
    .map(|value| format!("{force}{value}"))
    .chain([
        "type = 'force'; body = 'a'; force = { table = 'load.csv', columns = ['fx', 'fy', 'm'] }".into(),
        "type = 'force'; body = 'a'; force = { table = 'load.csv', column = 'fx' }".into(),
        "type = 'torsional-spring-damper'; between = ['ground', 'a']; curve = { table = 'curve.csv' }".into(),
    ])
    .collect();
    let shown = messages(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    insta::assert_snapshot!(shown);
}

#[test]
fn a_wrong_joint_is_told_once() {
    let text = "[body]\na = { mass = 1, inertia = [1, 1, 1] }\n[joint.pin]\ntype = 'revolut'\nbetween = ['ground', 'a']\nat = [0, 0, 0]\n\
        [force.f]\ntype = 'joint-friction'\njoint = 'pin'\nviscous = 1\n";
    let Err(report) = read_text("m.toml", text, &[]) else { panic!("accepted") };
    assert_eq!(report.diagnostics().0.len(), 1, "{report}");
}

#[test]
fn efforts_along_joints_are_recorded() {
    let text = format!(
        "{FALLING}w = {{ mass = 1, inertia = 1, at = [3, 0] }}\n[joint]\nslide = {{ type = 'prismatic', between = ['ground', 'b'], at = [0, 0], axis = [0, 1] }}\nhinge = {{ type = 'revolute', between = ['ground', 'w'], at = [3, 0] }}\n[force]\nlift = {{ type = 'joint-actuator', joint = 'slide', effort = '20 + 3*t' }}\nhold = {{ type = 'pid', joint = 'hinge', reference = 0.5, kp = 8 }}\nrub = {{ type = 'joint-friction', joint = 'slide', viscous = 4 }}\nspring = {{ type = 'torsional-spring-damper', between = ['ground', 'w'], stiffness = 1 }}\n"
    );
    let s = system(&text);
    let mut p = start(&s);
    (p.t, p.v[1]) = (2.0, 0.5);
    let mut w = s.workspace();
    s.realize(&p, &mut w);
    let mut values = Vec::new();
    s.observe(&p, &mut w, &mut values);
    let channels = s.channels();
    assert_eq!(channels.len(), values.len());
    let efforts: Vec<(&str, &str, f64)> = channels
        .iter()
        .zip(&values)
        .filter(|(c, _)| c.name.ends_with(".effort"))
        .map(|(c, x)| (c.name.as_str(), c.unit, *x))
        .collect();
    assert_eq!(efforts, [("lift.effort", "N", 26.0), ("hold.effort", "N m", 4.0), ("rub.effort", "N", -2.0)]);
}

#[test]
fn help_about_a_force_on_a_point_names_no_joint() {
    let text = "[body.p]\nmass = 1\n[force.f]\ntype = 'torque'\nbody = 'p'\ntorque = [0, 0, 1]";
    let told = read_text("m.toml", text, &[]).err().map(|r| r.to_string()).unwrap_or_default();
    assert!(told.contains("needs the rotation of `p`, which is a point mass"), "{told}");
    assert!(told.contains("`inertia` or a shape") && !told.contains("spherical"), "{told}");
}

#[test]
fn messages_about_wires() {
    let touch = |kind: &str, place: &str, keys: &str| {
        let rod = "curve = ['0', 's', '0']; range = [-1, 1]";
        format!("[{kind}.f]; type = '{kind}'; between = ['ground', 'a']; {place}; {rod}; {keys}")
    };
    let ring = "curve2 = ['0.5*cos(s)', '0', '0.5*sin(s)']; range2 = [0, '2*pi']; closed2 = true";
    let at = "on = [[0, 0, 0], [0, 0, 0]]";
    let lines = [
        touch("force", at, &format!("{ring}; stiffness = 10")),
        touch("force", at, &format!("{ring}; radius = 0.1; inside = true; stiffness = 10")),
        touch("force", at, "curve2 = ['0', '0.1', 's']; range2 = [-1, 1]; radius = 0.1"),
        touch("joint", at, "curve2 = ['0', 's', '0.3']; range2 = [-1, 1]"),
        touch("joint", at, "curve2 = ['0.5*cos(s)', '0.1', '0.5*sin(s)', 's']; range2 = [0, 1]"),
        touch("joint", at, "curve2 = ['s^2', 's^3', '0']; range2 = [-1, 1]"),
        touch("joint", at, "curve2 = ['0.5*cos(s)', '0', '0.5*sin(s)']; range2 = [0, 6]; closed2 = true"),
    ];
    let mut shown = String::new();
    for line in lines {
        let line = line
            .replace("type = 'force'", "type = 'curve-contact'")
            .replace("type = 'joint'", "type = 'curve-on-curve'");
        let text =
            format!("[body.a]\nmass = 1\ninertia = [1, 1, 1]\nat = [0, 0, 0.45]\n{}\n", line.replace("; ", "\n"));
        let report = match read_text("tests/catalog/sample.toml", &text, &[]) {
            Ok(_) => "(accepted)\n".to_string(),
            Err(report) => report.to_string(),
        };
        shown += &format!("──── {line}\n{report}\n");
    }
    insta::assert_snapshot!(shown);
}
