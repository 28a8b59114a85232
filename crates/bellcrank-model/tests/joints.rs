//! What joints do in small mechanisms, against closed forms: angles and speeds of driven mechanisms, found
//! from the equations alone.

use bellcrank_math::Vec3;
use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::frames::nearest_turn;
use bellcrank_model::read::read_text;
use bellcrank_model::testing::{Random, assemble, derivative, least_squares, values};
use bellcrank_model::{Piece, Point, Slopes, State, System, Unknown};
use std::f64::consts::TAU;

fn system(text: &str) -> System {
    match read_text("mechanism.toml", text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    }
}

fn message(text: &str) -> String {
    read_text("mechanism.toml", text, &[]).err().map(|r| r.to_string()).unwrap_or_default()
}

/// A mechanism whose drives leave no freedom, moved along its course step by step.
struct Course {
    s: System,
    p: Point,
}

impl Course {
    fn new(text: &str) -> Course {
        let s = system(text);
        let p = Point::at(&s.initial_state(), s.layout());
        let mut course = Course { s, p };
        course.to(0.0);
        course
    }

    /// Moves to the time t: positions, turns and velocities.
    fn to(&mut self, t: f64) {
        let Course { s, p } = self;
        p.t = t;
        let off = assemble(s, p);
        assert!(off < 1e-12, "assembled to {off} at t = {t}");
        p.v.fill(0.0);
        let g_t: Vec<f64> = values(s, Piece::Velocity, p).iter().map(|g| -g).collect();
        p.v = least_squares(&derivative(s, Piece::Velocity, Unknown::V, Slopes::default(), p), &g_t);
        let mut state = State::default();
        p.store(&mut state);
        s.settle(&mut state, &mut s.workspace());
        p.set(&state);
    }

    /// A coordinate of a joint and its rate.
    fn joint(&self, name: &str, motion: usize) -> (f64, f64) {
        let number = self.s.model.joints.iter().position(|j| j.name == name).expect("a joint");
        let coordinate = self.s.coordinates().iter().filter(|c| c.joint == number).nth(motion).expect("a motion");
        let mut w = self.s.workspace();
        self.s.realize(&self.p, &mut w);
        self.s.coordinate(coordinate, &self.p, &w)
    }
}

#[track_caller]
fn close(x: f64, expected: f64, tolerance: f64) {
    assert!((x - expected).abs() < tolerance, "{x} against {expected}");
}

/// Two shafts in bearings that meet at the origin at the angle β, the first driven, with a joint between.
fn shafts(beta: f64, joint: &str) -> String {
    let (c, s) = (beta.cos(), beta.sin());
    format!(
        r#"
        [body]
        in = {{ mass = 1, inertia = [1, 1, 1], at = [-1, 0, 0] }}
        out = {{ mass = 1, inertia = [1, 1, 1], at = [{c}, {s}, 0], orientation = {{ axis = [1, 2, 3], angle = 1 }} }}
        [joint]
        first = {{ type = "revolute", between = ["ground", "in"], at = [-1, 0, 0], axis = [1, 0, 0] }}
        second = {{ type = "revolute", between = ["ground", "out"], at = [{c}, {s}, 0], axis = [{c}, {s}, 0] }}
        motor = {{ type = "drive", joint = "first", angle = "t" }}
        cross = {{ {joint}, between = ["in", "out"], at = [0, 0, 0] }}
        "#
    )
}

#[test]
fn a_universal_joint_has_the_speed_ratio_of_hooke() {
    for beta in [0.0f64, 0.2, 0.7, 1.2] {
        let (c, s) = (beta.cos(), beta.sin());
        let cross = format!(r#"type = "universal", axis = [0, 0, 1], axis2 = [{}, {c}, 0]"#, -s);
        let mut course = Course::new(&shafts(beta, &cross));
        // the arm of the first shaft starts across the plane of the shafts: tan θ₂ = cos β tan θ₁
        for k in 0..=64 {
            let t = k as f64 * TAU / 32.0;
            course.to(t);
            let (out, rate) = course.joint("second", 0);
            close(out, nearest_turn((t.sin() * c).atan2(t.cos()), t), 1e-10);
            close(rate, c / (t.cos().powi(2) + (c * t.sin()).powi(2)), 1e-9);
            close(course.joint("first", 0).0, t, 1e-10);
        }
        close(course.joint("second", 0).0, 2.0 * TAU, 1e-9);
    }
}

#[test]
fn the_angles_of_a_universal_joint_are_those_of_its_arms() {
    let beta = 0.7f64;
    let cross = format!(r#"type = "universal", axis = [0, 0, 1], axis2 = [{}, {}, 0]"#, -beta.sin(), beta.cos());
    let mut course = Course::new(&shafts(beta, &cross));
    for k in 0..=32 {
        let t = k as f64 * TAU / 32.0;
        course.to(t);
        // the arms: a on the first shaft, b on the second, each turned with its shaft
        let a = Vec3::new(0.0, -t.sin(), t.cos());
        let along = Vec3::new(beta.cos(), beta.sin(), 0.0);
        let turned = course.joint("second", 0).0;
        let b = Vec3::new(-beta.sin(), beta.cos(), 0.0) * turned.cos() + Vec3::Z * turned.sin();
        // the first angle turns b about a, from where it was drawn on the first shaft; the second turns
        // the second shaft about b, from where it was drawn against a
        let drawn = Vec3::new(-beta.sin(), beta.cos() * t.cos(), beta.cos() * t.sin());
        let first = a.dot(drawn.cross(b)).atan2(drawn.dot(b));
        close(course.joint("cross", 0).0, first, 1e-9);
        let drawn = along.cross(b); // where a was on the second shaft
        let second = b.dot(a.cross(drawn)).atan2(a.dot(drawn));
        close(course.joint("cross", 1).0, second, 1e-9);
    }
}

#[test]
fn a_constant_velocity_joint_passes_on_every_angle() {
    for beta in [0.0f64, 0.3, 0.9, 1.4] {
        let joint =
            format!(r#"type = "constant-velocity", axis = [1, 0, 0], axis2 = [{}, {}, 0]"#, beta.cos(), beta.sin());
        let mut course = Course::new(&shafts(beta, &joint));
        for k in 0..=64 {
            let t = k as f64 * TAU / 32.0;
            course.to(t);
            let (angle, rate) = course.joint("second", 0);
            close(angle, t, 1e-9);
            close(rate, 1.0, 1e-9);
        }
    }
}

#[test]
fn a_constant_velocity_joint_stays_so_while_it_bends() {
    // the second shaft turns in a fork that swings about z
    let text = r#"
        [body]
        in = { mass = 1, inertia = [1, 1, 1], at = [-1, 0, 0] }
        fork = { mass = 1, inertia = [1, 1, 1], at = [0, 0, 0] }
        out = { mass = 1, inertia = [1, 1, 1], at = [1, 0, 0] }
        [joint]
        first = { type = "revolute", between = ["ground", "in"], at = [-1, 0, 0], axis = [1, 0, 0] }
        swing = { type = "revolute", between = ["ground", "fork"], at = [0, 0, 0], axis = [0, 0, 1] }
        second = { type = "revolute", between = ["fork", "out"], at = [1, 0, 0], axis = [1, 0, 0] }
        bend = { type = "constant-velocity", between = ["in", "out"], at = [0, 0, 0], axis = [1, 0, 0] }
        motor = { type = "drive", joint = "first", angle = "2*t" }
        bender = { type = "drive", joint = "swing", angle = "1.3*sin(t)" }
    "#;
    let mut course = Course::new(text);
    for k in 0..=60 {
        course.to(0.1 * k as f64);
        let (angle, rate) = course.joint("second", 0);
        close(angle, 2.0 * course.p.t, 1e-9);
        close(rate, 2.0, 1e-9);
    }
}

#[test]
fn a_screw_advances_by_its_pitch_with_every_turn() {
    let text = r#"
        [body]
        nut = { mass = 1, inertia = [1, 2, 3], at = [0.3, 0.1, 0], orientation = { axis = [1, 2, 3], angle = 1 } }
        [joint]
        thread = { type = "screw", between = ["ground", "nut"], at = [0.2, 0.3, 0.4], axis = [1, 2, 2], pitch = -0.06 }
        motor = { type = "drive", joint = "thread", angle = "t" }
    "#;
    let mut course = Course::new(text);
    let start = course.s.pose(0, &course.p).0;
    for k in 1..=160 {
        course.to(k as f64 * TAU / 16.0);
        let ((angle, _), (position, speed)) = (course.joint("thread", 0), course.joint("thread", 1));
        close(angle, course.p.t, 1e-10);
        close(position, -0.06 * course.p.t / TAU, 1e-11);
        close(speed, -0.06 / TAU, 1e-11);
    }
    let moved = course.s.pose(0, &course.p).0 - start;
    let axis = Vec3::new(1.0, 2.0, 2.0) * (1.0 / 3.0);
    close((moved - axis * -0.6).norm(), 0.0, 1e-10);
}

#[test]
fn gears_keep_their_ratio_over_ten_turns() {
    // bevel gears: axes that are not parallel
    let text = r#"
        [body]
        a = { mass = 1, inertia = [1, 2, 3], at = [0, 0, 0] }
        b = { mass = 1, inertia = [1, 2, 3], at = [1, 1, 0], orientation = { axis = [1, 2, 3], angle = 1 } }
        [joint]
        mesh = { type = "gear", joints = ["first", "second"], ratio = -0.35 }
        first = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [1, 0, 0] }
        second = { type = "revolute", between = ["ground", "b"], at = [1, 1, 0], axis = [1, 2, 0] }
        motor = { type = "drive", joint = "first", angle = "t" }
    "#;
    let mut course = Course::new(text);
    for k in 1..=160 {
        course.to(k as f64 * TAU / 16.0);
        let (angle, rate) = course.joint("second", 0);
        close(angle, -0.35 * course.p.t, 1e-9);
        close(rate, -0.35, 1e-10);
    }
    close(course.p.t, 10.0 * TAU, 1e-12);
}

#[test]
fn turns_are_counted_over_steps_of_more_than_a_turn() {
    let text = r#"
        [body]
        a = { mass = 1, inertia = [1, 2, 3], at = [0, 0, 0] }
        b = { mass = 1, inertia = [1, 2, 3], at = [1, 1, 0] }
        [joint]
        first = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0], axis = [1, 0, 0] }
        second = { type = "revolute", between = ["ground", "b"], at = [1, 1, 0], axis = [1, 2, 0] }
        mesh = { type = "gear", joints = ["first", "second"], ratio = 1.7 }
        motor = { type = "drive", joint = "first", angle = "100*t + sin(10*t)" }
    "#;
    let mut course = Course::new(text);
    for k in 1..=50 {
        course.to(0.1 * k as f64);
        let angle = 100.0 * course.p.t + (10.0 * course.p.t).sin();
        close(course.joint("first", 0).0, angle, 1e-9);
        close(course.joint("second", 0).0, 1.7 * angle, 1e-9);
    }
}

#[test]
fn a_planetary_gear_turns_by_the_formula_of_willis() {
    // sun and planet on a carrier, the planet inside a ring that stands still
    let (sun, planet) = (20.0, 15.0);
    let ring = sun + 2.0 * planet;
    let text = format!(
        r#"
        model = {{ plane = "xy" }}
        [body]
        carrier = {{ mass = 1, inertia = 1, at = [0, 0] }}
        sun = {{ mass = 1, inertia = 1, at = [0, 0], angle = 0.3 }}
        planet = {{ mass = 1, inertia = 1, at = [0.35, 0], angle = 9 }}
        [joint]
        main = {{ type = "revolute", between = ["ground", "carrier"], at = [0, 0] }}
        first = {{ type = "revolute", between = ["carrier", "sun"], at = [0, 0] }}
        second = {{ type = "revolute", between = ["carrier", "planet"], at = [0.35, 0] }}
        shaft = {{ type = "revolute", between = ["ground", "sun"], at = [0, 0] }}
        outer = {{ type = "gear", joints = ["first", "second"], ratio = {} }}
        inner = {{ type = "gear", joints = ["main", "second"], ratio = {} }}
        motor = {{ type = "drive", joint = "shaft", angle = "0.3 + t" }}
        "#,
        -sun / planet,
        -ring / planet
    );
    let mut course = Course::new(&text);
    for k in 1..=100 {
        course.to(0.5 * k as f64);
        let (carrier, rate) = course.joint("main", 0);
        close(carrier, course.p.t * sun / (sun + ring), 1e-9);
        close(rate, sun / (sun + ring), 1e-10);
        close(course.joint("second", 0).0, 9.0 - ring / planet * carrier, 1e-9);
    }
}

#[test]
fn belts_and_racks_move_as_much_as_they_are_moved() {
    let text = r#"
        model = { plane = "xy" }
        [body]
        a = { mass = 1, inertia = 1, at = [0, 0] }
        b = { mass = 1, inertia = 1, at = [1, 0] }
        c = { mass = 1, inertia = 1, at = [2, 0] }
        d = { mass = 1, inertia = 1, at = [2, 0.4], angle = 1 }
        [joint]
        pa = { type = "revolute", between = ["ground", "a"], at = [0, 0] }
        pb = { type = "revolute", between = ["ground", "b"], at = [1, 0] }
        pc = { type = "revolute", between = ["ground", "c"], at = [2, 0] }
        slide = { type = "prismatic", between = ["ground", "d"], at = [2, 0.4], axis = [-1, 0] }
        open = { type = "belt", joints = ["pa", "pb"], radii = [0.1, 0.3] }
        crossed = { type = "belt", joints = ["pa", "pc"], radii = [0.1, 0.4], crossed = true }
        rack = { type = "rack", joints = ["pc", "slide"], radius = 0.4 }
        motor = { type = "drive", joint = "pa", angle = "12*t" }
    "#;
    let mut course = Course::new(text);
    for k in 1..=100 {
        course.to(0.1 * k as f64);
        close(course.joint("pb", 0).0, 4.0 * course.p.t, 1e-9);
        close(course.joint("pc", 0).0, -3.0 * course.p.t, 1e-9);
        close(course.joint("slide", 0).0, -1.2 * course.p.t, 1e-9);
        close(course.joint("slide", 0).1, -1.2, 1e-10);
    }
}

#[test]
fn drives_lead_angles_up_to_full_turns_and_points_along_their_path() {
    let text = r#"
        model = { plane = "xy" }
        [body]
        a = { mass = 1, inertia = 1, at = [0, 0] }
        b = { mass = 1, inertia = 1, at = [1, 0] }
        [joint]
        pin = { type = "revolute", between = ["ground", "a"], at = [0, 0] }
        motor = { type = "drive", joint = "pin", angle = "20 + 3*t" }
        hand = { type = "drive-point", body = "b", on = [0.1, 0.2], position = ["cos(t)", "t^2"] }
    "#;
    let mut course = Course::new(text);
    for k in 0..=20 {
        course.to(0.2 * k as f64);
        let (t, mut w) = (course.p.t, course.s.workspace());
        let angle = course.joint("pin", 0).0;
        close(angle, nearest_turn(20.0 + 3.0 * t, angle), 1e-12);
        course.s.realize(&course.p, &mut w);
        let hand = course.s.model.joints.iter().find(|j| j.name == "hand").expect("a joint");
        let point = course.s.look(&hand.ends[1], &w, &course.p.v);
        close((point.p - Vec3::new(t.cos(), t * t, 0.0)).norm(), 0.0, 1e-12);
        close((point.v - Vec3::new(-t.sin(), 2.0 * t, 0.0)).norm(), 0.0, 1e-10);
    }
}

/// A velocity that fulfils every constraint, and is random else.
fn admissible(s: &System, p: &Point, random: &mut Random) -> Vec<f64> {
    let mut v = random.vector(s.layout().n());
    let columns = derivative(s, Piece::GtLambda, Unknown::Lambda, Slopes::default(), p);
    let g: Vec<Vec<f64>> = (0..s.layout().m()).map(|i| columns.iter().map(|row| row[i]).collect()).collect();
    for _ in 0..3 {
        let off: Vec<f64> = g.iter().map(|row| row.iter().zip(&v).map(|(g, v)| g * v).sum()).collect();
        v.iter_mut().zip(least_squares(&g, &off)).for_each(|(v, c)| *v -= c);
    }
    v
}

#[test]
fn a_rolling_disk_touches_with_its_lowest_point_at_rest() {
    let text = r#"
        [body]
        disk = { mass = 1, inertia = [1, 1, 2], at = [0.3, 0.2, 0.4], orientation = { axis = [1, 0.2, 0.3], angle = 1 } }
        [joint.contact]
        type = "rolling-disk"
        between = ["ground", "disk"]
        on = [[0.5, -0.3, 0.1], [0.02, -0.01, 0.03]]
        axis = [0.1, 0.2, 1]
        normal = [0.1, -0.2, 1]
        radius = 0.5
    "#;
    let s = system(text);
    assert_eq!((s.layout().m(), s.layout().m_rates(), s.blocks(0).len()), (3, 1, 2));
    assert_eq!(s.name(Unknown::Lambda, 1), "joint `contact`");
    let ends = &s.model.joints[0].ends;
    let mut random = Random::new(1);
    for _ in 0..100 {
        let mut p = Point::at(&s.initial_state(), s.layout());
        p.q.iter_mut().for_each(|x| *x += 0.3 * random.number());
        assert!(assemble(&s, &mut p) < 1e-12);
        p.v = admissible(&s, &p, &mut random);
        let mut w = s.workspace();
        s.realize(&p, &mut w);
        let (plane, disk) = (s.look(&ends[0], &w, &p.v), s.look(&ends[1], &w, &p.v));
        // the lowest point of the rim, by its angle: height h = A cos φ + B sin φ
        let (a, b) = (plane.axis(2).dot(disk.axis(0)), plane.axis(2).dot(disk.axis(1)));
        let phi = (-b).atan2(-a);
        let arm = (disk.axis(0) * phi.cos() + disk.axis(1) * phi.sin()) * 0.5;
        close(plane.axis(2).dot(disk.p + arm - plane.p), 0.0, 1e-12);
        close((disk.v + disk.w.cross(arm)).norm(), 0.0, 1e-9);
        assert!(p.v.iter().any(|v| v.abs() > 0.1));
    }
}

#[test]
fn a_wheel_in_the_plane_rolls_by_its_circumference() {
    let text = r#"
        model = { plane = "xy" }
        [body.wheel]
        mass = 1
        inertia = 1
        at = [0, 0.25]
        velocity = [0, 0]
        [joint.road]
        type = "rolling-disk"
        between = ["ground", "wheel"]
        at = [[0, 0], [0, 0.25]]
        radius = 0.25
        [joint.engine]
        type = "drive-point"
        body = "wheel"
        position = ["t", 0.25]
    "#;
    let mut course = Course::new(text);
    for k in 0..=100 {
        course.to(0.1 * k as f64);
        close(course.p.q[2], -course.p.t / 0.25, 1e-10);
        close(course.p.v[2], -4.0, 1e-10);
    }
}

#[test]
fn a_knife_edge_does_not_move_across() {
    let text = r#"
        [body]
        ice = { mass = 1, inertia = [1, 1, 2], at = [0.5, 0, 0] }
        skate = { mass = 1, inertia = [1, 1, 2], at = [0.3, 0.2, 0.4], orientation = { axis = [1, 0.2, 0.3], angle = 1 } }
        [joint.edge]
        type = "knife-edge"
        between = ["ice", "skate"]
        at = [0.1, 0.2, 0.3]
        axis = [1, 0.5, 0]
        axis2 = [0, 0, 1]
    "#;
    let s = system(text);
    let ends = &s.model.joints[0].ends;
    let mut random = Random::new(2);
    for _ in 0..100 {
        let mut p = Point::at(&s.initial_state(), s.layout());
        p.q.iter_mut().for_each(|x| *x += 0.5 * random.number());
        p.v = admissible(&s, &p, &mut random);
        let mut w = s.workspace();
        s.realize(&p, &mut w);
        let (ice, skate) = (s.look(&ends[0], &w, &p.v), s.look(&ends[1], &w, &p.v));
        let v = skate.v - ice.v - ice.w.cross(skate.p - ice.p);
        close(v.dot(skate.axis(0)), 0.0, 1e-12);
        assert!(v.dot(skate.axis(2)).abs() > 1e-6);
    }
}

#[test]
fn the_start_names_the_coordinates_of_a_joint() {
    let text = r#"
        [body]
        a = { mass = 1, inertia = [1, 2, 3], at = [0, 0, 0] }
        b = { mass = 1, inertia = [1, 2, 3], at = [1, 0, 0] }
        [joint]
        sleeve = { type = "cylindrical", between = ["ground", "a"], at = [0, 0, 0] }
        slide = { type = "prismatic", between = ["ground", "b"], at = [1, 0, 0] }
        [start]
        sleeve = { angle = 1, rate = 2, position = 3, speed = 4 }
        slide = { position = 5, rate = 6 }
    "#;
    let start = system(text).model.start.clone();
    let all: Vec<_> = start.iter().map(|s| (s.joint, s.motion, s.value.or(s.rate).unwrap_or(0.0))).collect();
    assert_eq!(all, [(0, 0, 1.0), (0, 1, 3.0), (0, 0, 2.0), (0, 1, 4.0), (1, 0, 5.0), (1, 0, 6.0)]);
    let wrong = message(&text.replace("rate = 6", "speed = 6"));
    assert!(wrong.contains("a prismatic joint has no `speed` to start with"), "{wrong}");
    assert!(wrong.contains("it has `position`, `rate`"), "{wrong}");
}

#[test]
fn wrong_joints_are_told_in_the_words_of_the_file() {
    let bodies = r#"
        [body]
        a = { mass = 1, inertia = [1, 2, 3], at = [0, 0, 0] }
        b = { mass = 1, inertia = [1, 2, 3], at = [1, 0, 0] }
        p = { mass = 1, at = [1, 1, 0] }
        [joint]
        ball = { type = "spherical", between = ["a", "b"], at = [0, 0, 0] }
        pin = { type = "revolute", between = ["ground", "a"], at = [0, 0, 0] }
    "#;
    let told = |joint: &str, parts: &[&str]| {
        let text = message(&format!("{bodies}\n        x = {{ {joint} }}\n"));
        parts.iter().for_each(|part| assert!(text.contains(part), "no `{part}` in\n{text}"));
    };
    let between = r#"between = ["a", "b"], at = [0, 0, 0]"#;
    told(&format!(r#"type = "universal", {between}, axis = [1, 0, 0], axis2 = [1, 1, 0]"#), &["45.00° apart, not 90°"]);
    told(&format!(r#"type = "universal", {between}, axis = [1, 0, 0]"#), &["needs `axis` and `axis2`"]);
    told(
        &format!(r#"type = "constant-velocity", {between}, axis = [1, 0, 0], axis2 = [-1, 0.1, 0]"#),
        &["are bent by 174°"],
    );
    told(&format!(r#"type = "knife-edge", {between}, axis = [1, 0, 0]"#), &["needs `axis2`"]);
    told(&format!(r#"type = "screw", {between}, pitch = 0"#), &["`pitch` of joint `x` is zero"]);
    told(r#"type = "gear", joints = ["pin", "ball"], ratio = 1"#, &["joint `ball` has no turn"]);
    told(r#"type = "gear", joints = ["pin", "pin"], ratio = 1"#, &["ties joint `pin` to itself"]);
    told(r#"type = "gear", joints = ["pin", "pim"], ratio = 1"#, &["unknown joint `pim`", "did you mean `pin`?"]);
    told(r#"type = "drive", joint = "x", angle = 1"#, &["unknown joint `x`"]);
    told(r#"type = "drive", joint = "pin""#, &["drives nothing", "add `angle` or `rate = …`"]);
    told(r#"type = "drive", joint = "pin", position = 1"#, &["joint `pin` has no `position`", "`angle`, `rate`"]);
    told(r#"type = "drive", joint = "pin", angle = 1, rate = 2"#, &["both `angle` and `rate`"]);
    told(
        r#"type = "point-on-plane", between = ["p", "a"], on = [[0, 0, 0], [0, 0, 0]]"#,
        &["needs the rotation of `p`, which is a point mass"],
    );
    let plane = message(
        "model = { plane = \"xy\" }\n[body.a]\nmass = 1\ninertia = 1\n[joint.x]\ntype = \"planar\"\nbetween = [\"ground\", \"a\"]\nat = [0, 0]\n",
    );
    assert!(plane.contains("a planar joint needs space, and the model is planar"), "{plane}");
}

#[test]
fn a_stop_pushes_only_beyond_its_limits_and_gives_back_most_of_a_slow_impact() {
    let text = |damping: f64| {
        format!(
            r#"
            model = {{ plane = "xy" }}
            body.bead = {{ mass = 2, at = [0, 0] }}
            joint.wire = {{ type = "point-on-line", between = ["ground", "bead"], at = [0, 0], axis = [1, 0] }}
            force.end = {{ type = "stop", joint = "wire", lower = -0.5, upper = 1, stiffness = 800, damping = {damping} }}
            "#
        )
    };
    let force = |s: &System, x: f64, v: f64| {
        let mut p = Point::at(&s.initial_state(), s.layout());
        (p.q[0], p.v[0]) = (x, v);
        values(s, Piece::Force, &p)[0]
    };
    let s = system(&text(0.1));
    for (x, v, expected) in
        [(0.9, 5.0, 0.0), (-0.4, -5.0, 0.0), (1.1, 2.0, -96.0), (-0.6, -2.0, 96.0), (1.1, -20.0, 0.0)]
    {
        close(force(&s, x, v), expected, 1e-9);
    }
    // e = 1 − ⅔ α v + O((α v)²), by the classical Runge–Kutta method
    let (mut x, mut v, h) = (1.0, 0.2, 1e-4);
    while x >= 1.0 {
        let rate = |x: f64, v: f64| (v, force(&s, x, v) / 2.0);
        let (a1, b1) = rate(x, v);
        let (a2, b2) = rate(x + 0.5 * h * a1, v + 0.5 * h * b1);
        let (a3, b3) = rate(x + 0.5 * h * a2, v + 0.5 * h * b2);
        let (a4, b4) = rate(x + h * a3, v + h * b3);
        x += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
        v += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4);
    }
    close(-v / 0.2, 1.0 - 2.0 / 3.0 * 0.1 * 0.2, 3e-4);
}
