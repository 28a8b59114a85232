//! Nothing of finite size is passed through: fast bodies, small ones, those that turn, and those that come and go in one step.

mod common;

use bellcrank_solve::choices::{Coordinates, MethodName, Options};
use bellcrank_solve::run::Summary;
use common::*;

/// Ways to run: by error control and in fixed steps, explicit and implicit.
const WAYS: [(&str, Option<f64>); 8] = [
    ("auto", None),
    ("dopri5", None),
    ("dop853", None),
    ("bdf", None),
    ("gen-alpha", None),
    ("gen-alpha", Some(0.01)),
    ("hht-i3", Some(0.01)),
    ("rk4", Some(0.01)),
];

fn each_way(text: &str, until: f64, look: impl FnMut(&str, &Summary)) {
    some_ways(text, until, |_| true, look);
}

fn some_ways(text: &str, until: f64, wanted: impl Fn(Option<f64>) -> bool, mut look: impl FnMut(&str, &Summary)) {
    let s = system(text);
    for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
        for (name, step) in WAYS.into_iter().filter(|(_, step)| wanted(*step)) {
            let how = format!("{name}, step {step:?}, {coordinates:?}");
            let summary = run(&s, Options { coordinates, step, until, ..Options::named(name).unwrap() });
            look(&how, &summary);
        }
    }
}

fn whats(summary: &Summary) -> Vec<&str> {
    summary.events.iter().map(|e| e.what.as_str()).collect()
}

#[test]
fn two_balls_head_on_do_not_pass_through_each_other() {
    for speed in [100.0, 1e4] {
        for (law, soft) in [("restitution = 0.8", false), ("stiffness = 1e12", true)] {
            let text = format!(
                r#"
                body.a = {{ sphere = {{ radius = 0.05, mass = 1 }}, at = [-1, 0, 0], velocity = [{speed}, 0, 0] }}
                body.b = {{ sphere = {{ radius = 0.05, mass = 1 }}, at = [1, 0, 0], velocity = [-{speed}, 0, 0] }}
                force.hit = {{ type = "contact", between = ["a", "b"], {law} }}
                "#
            );
            // fixed steps of 10 ms cannot follow a soft contact of 10 µs
            some_ways(
                &text,
                1.0,
                |step| !soft || step.is_none(),
                |how, summary| {
                    let (a, b) = (last(summary, "a.vx"), last(summary, "b.vx"));
                    let e = if soft { 1.0 } else { 0.8 };
                    let allowed = 1e-3 * speed;
                    assert!(a < 0.0 && b > 0.0 && (a + b).abs() < 1e-6 * speed, "{how}, {law}: {a} {b}");
                    assert!((a + e * speed).abs() < allowed, "{how}, {law}: {a}");
                    let happened: Vec<&str> =
                        whats(summary).into_iter().filter(|what| !what.contains("is pressed in")).collect();
                    assert_eq!(happened, if soft { vec!["touches", "leaves"] } else { vec!["bounces"] }, "{how}");
                    let t = (2.0 - 0.1) / (2.0 * speed);
                    assert!((summary.events[0].t - t).abs() < 1e-9 * t, "{how}: {:?}", summary.events);
                },
            );
        }
    }
}

#[test]
fn balls_that_miss_by_little_miss_and_those_that_graze_touch() {
    for (aside, touches) in [(0.1 + 1e-9, false), (0.1 - 1e-9, true), (0.09, true), (0.11, false)] {
        let text = format!(
            r#"
            body.a = {{ sphere = {{ radius = 0.05, mass = 1 }}, at = [-1.3, 0, 0], velocity = [500, 0, 0] }}
            body.b = {{ sphere = {{ radius = 0.05, mass = 1 }}, at = [1, {aside}, 0] }}
            force.hit = {{ type = "contact", between = ["a", "b"], restitution = 1 }}
            "#
        );
        each_way(&text, 1.0, |how, summary| {
            assert_eq!(summary.events.len(), touches as usize, "{how}, {aside}: {:?}", summary.events);
        });
    }
}

#[test]
fn a_small_ball_does_not_cross_a_narrow_gap_between_walls() {
    // 1 mm to and fro at 100 m/s: a hit every 10 µs
    let text = r#"
        body.a = { sphere = { radius = 1e-4, mass = 1e-6 }, at = [0, 0, 0], velocity = [100, 0, 0] }
        force.left = { type = "contact", between = ["ground", "a"], at = [[-5e-4, 0, 0], [0, 0, 0]], normal = [1, 0, 0], restitution = 1 }
        force.right = { type = "contact", between = ["ground", "a"], at = [[5e-4, 0, 0], [0, 0, 0]], normal = [-1, 0, 0], restitution = 1 }
        "#;
    each_way(text, 1e-3, |how, summary| {
        assert_eq!(summary.events.len(), 125, "{how}");
        assert!(last(summary, "a.x").abs() < 4.1e-4, "{how}");
        assert!((last(summary, "a.vx").abs() - 100.0).abs() < 1e-9, "{how}");
    });
}

#[test]
fn a_ball_on_a_fast_rotor_hits_what_stands_in_its_way() {
    // 1000 rad/s: the ball on its rim comes round every 6.3 ms, in steps of any length
    for (joint, body) in [
        (r#"joint.pin = { type = "revolute", between = ["ground", "rotor"], at = [0, 0, 0], axis = [0, 0, 1] }"#, ""),
        ("", ""),
    ] {
        let text = format!(
            r#"
            [body.rotor]
            mass = 1
            inertia = [0.1, 0.1, 0.2]
            angular_velocity = [0, 0, 1000]
            {body}
            [body.post]
            mass = 1
            inertia = [1, 1, 1]
            at = [-1, 0, 0]
            [force.hit]
            type = "contact"
            between = ["rotor", "post"]
            at = [[1, 0, 0], [-1, 0, 0]]
            radii = [0.02, 0.02]
            restitution = 0.5
            "#
        );
        let text = format!("{text}\n[joint]\n{}", joint.replace("joint.pin", "pin"));
        each_way(&text, 0.5, |how, summary| {
            let t = (std::f64::consts::PI - 2.0 * 0.02f64.asin()) / 1000.0;
            assert!(!summary.events.is_empty(), "{how}: {:?}", summary.statistics);
            assert!((summary.events[0].t - t).abs() < 1e-6 * t, "{how}: {:?} {t}", summary.events);
        });
    }
}

#[test]
fn a_fast_joint_does_not_jump_over_its_stop() {
    for (kind, start, coordinate) in
        [("revolute", "angular_velocity = 1e4", "pin.angle"), ("prismatic", "velocity = [1e4, 0]", "pin.position")]
    {
        for law in ["restitution = 0.6", "stiffness = 1e11"] {
            let axis = if kind == "prismatic" { "axis = [1, 0]" } else { "" };
            let text = format!(
                r#"
                model = {{ plane = "xy" }}
                [body.a]
                mass = 2
                inertia = 1
                {start}
                [joint.pin]
                type = "{kind}"
                between = ["ground", "a"]
                at = [0, 0]
                {axis}
                [force.end]
                type = "stop"
                joint = "pin"
                lower = -0.4
                upper = 0.5
                {law}
                "#
            );
            let s = system(&text);
            for coordinates in [Coordinates::Cartesian, Coordinates::Relative] {
                for name in ["auto", "bdf", "gen-alpha"] {
                    let options = Options { coordinates, until: 1e-3, ..Options::named(name).unwrap() };
                    let summary = run(&s, options);
                    let x = last(&summary, coordinate);
                    assert!(x > -0.6 && x < 0.7, "{kind}, {law}, {name}: {x}");
                    assert!(summary.events.len() > 3, "{kind}, {law}, {name}: {:?}", summary.events);
                    let first = summary.events[0].t;
                    assert!((first - 0.5e-4).abs() < 1e-9, "{kind}, {law}, {name}: {first}");
                }
            }
        }
    }
}

/// A rotor that passes many turns in a step counts them up to an impact by the speed before it.
#[test]
fn a_rotor_that_bounces_within_a_long_step_keeps_its_turns() {
    for (model, more) in [("plane = \"xy\"", ""), ("", ", axis = [0, 0, 1]")] {
        let text = format!(
            r#"
            model = {{ {model} }}
            body.a = {{ mass = 1, inertia = {}, at = {} }}
            joint.pin = {{ type = "revolute", between = ["ground", "a"], at = {} {more} }}
            force.end = {{ type = "stop", joint = "pin", upper = 700, restitution = 1 }}
            start.pin = {{ rate = 1000 }}
            "#,
            if more.is_empty() { "1" } else { "[1, 1, 1]" },
            if more.is_empty() { "[0, 0]" } else { "[0, 0, 0]" },
            if more.is_empty() { "[0, 0]" } else { "[0, 0, 0]" },
        );
        some_ways(
            &text,
            1.0,
            |step| step.is_none(),
            |how, summary| {
                let angle = last(summary, "pin.angle");
                assert!((angle - 400.0).abs() < 1e-6, "{how}: {angle}");
                assert_eq!(whats(summary), ["bounces"], "{how}");
            },
        );
    }
}

/// A soft contact in fixed steps that are too long for it: the balls part on the wrong sides, and the run says how deep they were.
#[test]
fn soft_balls_that_pass_through_each_other_in_one_step_are_told() {
    let text = r#"
        model = { plane = "xy" }
        body.a = { mass = 1, inertia = 1, at = [-10, 0], velocity = [100, 0] }
        body.b = { mass = 1, inertia = 1, at = [10, 0], velocity = [-100, 0] }
        [force.touch]
        type = "contact"
        between = ["a", "b"]
        at = [[-10, 0], [10, 0]]
        radii = [0.05, 0.05]
        stiffness = 1e9
        exponent = 1
        "#;
    let long = Options { step: Some(1e-3), until: 0.2, ..Options::named("gen-alpha").unwrap() };
    let summary = run(&system(text), long.clone());
    assert!(last(&summary, "a.vx") > 0.0, "they bounce after all: {:?}", summary.events);
    assert!(summary.doubts.iter().any(|d| d.kind == "theory"), "{:?} {:?}", summary.events, summary.beyond);
    let short = Options { step: Some(1e-6), until: 0.11, ..long };
    let summary = run(&system(text), short);
    assert!((last(&summary, "a.vx") + 100.0).abs() < 0.1 && summary.doubts.is_empty(), "{:?}", summary.beyond);
}

#[test]
fn a_touch_that_begins_and_ends_within_a_step_is_seen() {
    // a ball is thrown up against a ceiling that it reaches by a hair: steps of the free flight are long
    for reach in [1e-3, 1e-6, 1e-9] {
        let height = 10.0f64 * 10.0 / (2.0 * 9.81);
        let text = format!(
            r#"
            model = {{ gravity = [0, 0, -9.81] }}
            body.a = {{ sphere = {{ radius = 0.05, mass = 1 }}, velocity = [0, 0, 10] }}
            [force.ceiling]
            type = "contact"
            between = ["ground", "a"]
            at = [[0, 0, {:.17}], [0, 0, 0]]
            normal = [0, 0, -1]
            restitution = 0.5
            rest_speed = 1e-9
            "#,
            height + 0.05 - reach
        );
        each_way(&text, 1.5, |how, summary| {
            let speed = (2.0 * 9.81 * reach).sqrt();
            let t = (10.0 - speed) / 9.81;
            assert_eq!(whats(summary), ["bounces"], "{how}, {reach}");
            assert!((summary.events[0].t - t).abs() < 1e-5, "{how}, {reach}: {:?} {t}", summary.events);
        });
    }
}

#[test]
fn a_ball_from_far_away_does_not_pass_through_a_cam() {
    // the cam is 0.4 m wide, and the ball comes from 50 m away in steps as long as that
    for (law, left) in [("restitution = 0.5", -50.0), ("stiffness = 1e8, exponent = 1", -100.0)] {
        for y in [0.0, 0.01] {
            let text = format!(
                r#"
model = {{ plane = "xy" }}
body.ball = {{ mass = 1, inertia = 1, at = [-50, {y}], velocity = [100, 0] }}
force.cam = {{ type = "contact", between = ["ground", "ball"], at = [[0, 0], [-50, {y}]], radius = 0.01, curve = ["0.2*cos(s)", "0.1*sin(s)"],
    range = [0, "2*pi"], closed = true, {law} }}
"#
            );
            for method in [MethodName::Dopri5, MethodName::Bdf, MethodName::GeneralizedAlpha] {
                let summary = run(&system(&text), Options { method, until: 1.0, ..Options::default() });
                let v = last(&summary, "ball.vx");
                if y == 0.0 {
                    assert!((v - left).abs() < 1e-3, "{law} {method:?}: {v}");
                } else {
                    assert!(v < 0.9 * left, "{law} {method:?}: {v}");
                }
            }
        }
    }
}

#[test]
fn two_rollers_that_turn_do_not_pass_through_each_other() {
    let text = r#"
model = { plane = "xy" }
body.a = { mass = 1, inertia = 1, at = [-50, 0], velocity = [100, 0], angular_velocity = 30 }
body.b = { mass = 1, inertia = 1, at = [0, 0] }
[force.touch]
type = "curve-contact"
between = ["b", "a"]
at = [[0, 0], [-50, 0]]
curve = ["0.02*cos(s)", "0.02*sin(s)"]
range = [0, "2*pi"]
closed = true
curve2 = ["0.02*cos(s)", "0.02*sin(s)"]
range2 = [0, "2*pi"]
closed2 = true
restitution = 1
"#;
    for method in [MethodName::Dopri5, MethodName::Dop853, MethodName::Bdf] {
        let summary = run(&system(text), Options { method, until: 1.0, ..Options::default() });
        let (a, b) = (last(&summary, "a.vx"), last(&summary, "b.vx"));
        assert!(a.abs() < 1e-6 && (b - 100.0).abs() < 1e-6, "{method:?}: {a} {b}");
    }
}
