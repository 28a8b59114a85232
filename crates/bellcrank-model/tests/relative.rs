//! Relative coordinates against the Cartesian equations and against differences, on random trees and loops.

use bellcrank_math::Quat;
use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_text;
use bellcrank_model::testing::{Random, derivative, moved, random_mechanism, random_soft_mechanism, values};
use bellcrank_model::{Piece, Point, Relative, Slopes, State, System, Unknown};

fn system(text: &str) -> System {
    match read_text("mechanism.toml", text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    }
}

fn relative(text: &str) -> Relative {
    let s = system(text);
    s.relative(&Point::at(&s.initial_state(), s.layout()))
}

/// Springs, a controller and loads on the first bodies, so that forces of every sort act.
fn forces(plane: bool) -> &'static str {
    match plane {
        true => {
            r#"[force]
            s = { type = "spring-damper", between = ["b0", "b2"], on = [[0.1, 0.2], [0.3, 0.1]], stiffness = 30, damping = 4, length = 0.2 }
            t = { type = "torsional-spring-damper", between = ["b1", "b3"], stiffness = 30, damping = 4, angle = 0.2 }
            l = { type = "force", body = "b2", on = [0.1, 0.2], force = ["3 + t", "sin(2*t)"], frame = "body" }
            "#
        }
        false => {
            r#"[force]
            s = { type = "spring-damper", between = ["b0", "b2"], on = [[0.1, 0.2, 0.1], [0.3, 0.1, 0]], stiffness = 30, damping = 4, length = 0.2 }
            b = { type = "bushing", between = ["b1", "b3"], at = [0.5, 0.1, 0.2], stiffness = [30, 20, 25, 3, 4, 5], damping = [3, 2, 1, 0.3, 0.2, 0.1] }
            l = { type = "force", body = "b2", on = [0.1, 0.2, 0.3], force = ["3 + t", "sin(2*t)", 1], frame = "body" }
            d = { type = "drag", body = "b1", on = [0.1, 0.2, 0.3], coefficient = 1.2, wind = ["2*t", 0.5, 0] }
            "#
        }
    }
}

fn shaken(r: &Relative, random: &mut Random, by: f64) -> Point {
    let mut p = Point::at(&r.initial_state(), r.layout());
    for x in [&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot, &mut p.z, &mut p.zdot, &mut p.lambda, &mut p.mu] {
        x.iter_mut().for_each(|x| *x += by * random.number());
    }
    p.charts.centres.iter_mut().for_each(|c| *c = Quat::exp(random.vec3() * by));
    p.t = 0.7;
    let mut state = State::default();
    p.store(&mut state);
    r.settle(&mut state, &mut r.workspace());
    p.set(&state);
    p
}

/// The mechanism with an armature on every coordinate of its joints.
fn with_armatures(text: &str, random: &mut Random) -> String {
    let model = system(text).model;
    let mut out = text.to_string();
    for (k, joint) in model.joints.iter().enumerate() {
        for (i, [name, _]) in bellcrank_model::joints::names(&joint.joint.motions(model.space)).iter().enumerate() {
            let (of, inertia) = (&joint.name, 0.5 + 0.4 * random.number());
            out += &format!(
                "[joint.a{k}x{i}]\ntype = \"armature\"\njoint = \"{of}\"\ncoordinate = \"{name}\"\ninertia = {inertia:?}\n"
            );
        }
    }
    out
}

fn is_rotor(r: &Relative, body: usize) -> bool {
    r.cartesian().model.bodies[body].body.as_rotor().is_some()
}

fn quadratic(m: &[Vec<f64>], v: &[f64]) -> f64 {
    m.iter().zip(v).map(|(row, a)| a * row.iter().zip(v).map(|(m, b)| m * b).sum::<f64>()).sum()
}

#[test]
fn armatures_add_their_inertia_to_the_coordinates_of_the_tree_and_keep_the_recursion() {
    let mut random = Random::new(21);
    let (mut geared, mut recursive) = (0, 0);
    for case in 0..24 {
        let (plane, loops) = (case % 3 == 0, case % 2);
        let plain = random_mechanism(&mut random, 5, loops, plane);
        let text = with_armatures(&plain, &mut random);
        let (without, s) = (relative(&plain), relative(&text));
        geared += s.tree.nodes.iter().filter(|n| n.is_geared()).count();
        let p = shaken(&s, &mut random, 0.4);
        // kinetic energy through the bodies and rotors, and by the mass matrix
        let mass = derivative(&s, Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..Slopes::default() }, &p);
        let mut w = s.workspace();
        s.realize(&p, &mut w);
        let kinetic = s.energy(&p, &mut w).kinetic;
        assert!((0.5 * quadratic(&mass, &p.v) - kinetic).abs() < 1e-12 * kinetic, "case {case}\n{text}");
        // M⁻¹ by recursion
        let x = random.vector(p.v.len());
        let mut y: Vec<f64> = mass.iter().map(|row| row.iter().zip(&x).map(|(m, x)| m * x).sum()).collect();
        s.mass_solve(&p, &mut w, &mut y).unwrap();
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9), "case {case}: {x:?} {y:?}");
        // the slide of a screw, and what turns a point mass, have no coordinate of the tree: they keep a rotor and its row
        let (n, m) = without.size();
        let apart = s.tree.nodes.iter().filter(|n| n.is_cartesian && !n.is_geared() && is_rotor(&s, n.body)).count();
        assert_eq!(s.size(), (n + apart, m + apart), "case {case}");
        if s.recursive() {
            recursive += 1;
            let mut by_recursion = p.clone();
            s.recursion(&mut by_recursion, &mut w).unwrap();
            let rest = values(&s, Piece::MassAccel, &by_recursion);
            let force = values(&s, Piece::Force, &p);
            assert!(rest.iter().zip(&force).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "case {case}");
        }
    }
    assert!(geared > 60 && recursive >= 5, "{geared} {recursive}");
}

#[test]
fn armatures_have_their_derivatives_in_relative_coordinates() {
    let slopes = Slopes { q: 1.3, v: 0.7, z: 0.9 };
    let mut random = Random::new(22);
    for case in 0..6 {
        let plane = case % 3 == 0;
        let text = random_mechanism(&mut random, 4, 1, plane);
        let s = relative(&with_armatures(&text, &mut random));
        let p = shaken(&s, &mut random, 0.4);
        for piece in [Piece::MassAccel, Piece::Force, Piece::GtLambda, Piece::Position, Piece::Velocity] {
            for wrt in [Unknown::Q, Unknown::V, Unknown::Lambda] {
                let exact = derivative(&s, piece, wrt, slopes, &p);
                for j in 0..s.layout().columns(wrt).last().map_or(0, |r| r.end) {
                    let [plus, minus] = [1e-5, -1e-5].map(|h| values(&s, piece, &moved(&s, &p, wrt, j, h, slopes)));
                    for i in 0..exact.len() {
                        let d = (plus[i] - minus[i]) / 2e-5;
                        assert!(
                            (exact[i][j] - d).abs() < 1e-6 * (10.0 + d.abs()),
                            "∂{piece:?}/∂{wrt:?} of case {case}"
                        );
                    }
                }
            }
        }
    }
}

/// Every derivative of every piece at a point against differences; `size` is that of large derivatives.
fn agree_with_differences(s: &Relative, p: &Point, size: f64, case: &str) {
    use Piece::*;
    let pieces =
        [Rate, Speed, GtMu, MinvGtMu, MassAccel, Force, GtLambda, Position, Velocity, Acceleration, ZDot, Flow];
    let slopes = Slopes { q: 1.3, v: 0.7, z: 0.9 };
    for piece in pieces {
        for wrt in Unknown::ALL {
            // the acceleration row leaves ∂((G v)_q v)/∂q out
            if piece == Acceleration && matches!(wrt, Unknown::Q | Unknown::V) {
                continue;
            }
            let exact = derivative(s, piece, wrt, slopes, p);
            let columns = s.layout().columns(wrt).last().map_or(0, |r| r.end);
            for j in 0..columns {
                let h = 1e-5;
                let plus = values(s, piece, &moved(s, p, wrt, j, h, slopes));
                let minus = values(s, piece, &moved(s, p, wrt, j, -h, slopes));
                for i in 0..exact.len() {
                    let difference = (plus[i] - minus[i]) / (2.0 * h);
                    let scale = size + difference.abs();
                    assert!(
                        (exact[i][j] - difference).abs() < 1e-6 * scale,
                        "∂{piece:?}/∂{wrt:?} ({i}, {j}) of {case}\n{:#?}: {} against {difference}",
                        s.tree.nodes,
                        exact[i][j]
                    );
                }
            }
        }
    }
}

#[test]
fn every_derivative_agrees_with_differences() {
    let mut random = Random::new(3);
    for case in 0..30 {
        let plane = case % 3 == 0;
        let text = random_mechanism(&mut random, 5, 2, plane) + forces(plane);
        let s = relative(&text);
        let mut p = shaken(&s, &mut random, 0.4);
        p.mu.fill(0.0);
        agree_with_differences(&s, &p, 10.0, &format!("case {case}\n{text}"));
    }
}

/// Forces on stations of bodies that bend, and on their axes.
fn forces_on_stations(plane: bool) -> &'static str {
    match plane {
        true => {
            r#"[force]
            s = { type = "spring-damper", between = ["b0", "b2"], on = [[0.1, 0.2], [0.3, 0.1]], stiffness = 30, damping = 4, length = 0.2 }
            l = { type = "force", body = "b2", on = [0.7, 0.2], force = ["3 + t", "sin(2*t)"], frame = "body" }
            "#
        }
        false => {
            r#"[force]
            s = { type = "spring-damper", between = ["b0", "b2"], on = [[0.1, 0.2, 0.1], [0.3, 0.1, 0]], stiffness = 30, damping = 4, length = 0.2 }
            l = { type = "force", body = "b2", on = [0.7, 0.2, 0.3], force = ["3 + t", "sin(2*t)", 1], frame = "body" }
            d = { type = "drag", body = "b1", on = [0.1, 0.2, 0.3], coefficient = 1.2, wind = ["2*t", 0.5, 0] }
            "#
        }
    }
}

#[test]
fn every_derivative_of_bodies_that_bend_agrees_with_differences() {
    let mut random = Random::new(31);
    let mut on_stations = 0;
    for case in 0..24 {
        let plane = case % 3 == 0;
        let text = random_soft_mechanism(&mut random, 4, 1, plane) + forces_on_stations(plane);
        let s = relative(&text);
        on_stations += s.tree.nodes.iter().filter(|n| !n.flex.sway.is_empty()).count();
        let mut p = shaken(&s, &mut random, 0.3);
        p.mu.fill(0.0);
        agree_with_differences(&s, &p, 10.0, &format!("case {case}\n{text}"));
    }
    assert!(on_stations > 15, "{on_stations}");
}

#[test]
fn inertia_and_accelerations_of_bodies_that_bend_are_those_of_their_motions() {
    let mut random = Random::new(32);
    let (mut recursive, mut closed) = (0, 0);
    for case in 0..40 {
        let (plane, loops) = (case % 3 == 0, case % 2);
        let text = random_soft_mechanism(&mut random, 5, loops, plane) + forces_on_stations(plane);
        let s = relative(&text);
        let p = shaken(&s, &mut random, 0.3);
        let slopes = Slopes { v: 1.0, ..Slopes::default() };
        let mass = derivative(&s, Piece::MassAccel, Unknown::V, slopes, &p);
        let mut w = s.workspace();
        s.realize(&p, &mut w);
        // kinetic energy of the bodies in their Cartesian coordinates, and by the mass matrix
        let kinetic = s.energy(&p, &mut w).kinetic;
        assert!((0.5 * quadratic(&mass, &p.v) - kinetic).abs() < 1e-12 * kinetic, "case {case}\n{text}");
        let x = random.vector(p.v.len());
        let mut y: Vec<f64> = mass.iter().map(|row| row.iter().zip(&x).map(|(m, x)| m * x).sum()).collect();
        s.mass_solve(&p, &mut w, &mut y).unwrap();
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-9), "case {case}\n{text}\n{x:?} {y:?}");
        if s.recursive() {
            recursive += 1;
            let mut forward = p.clone();
            s.recursion(&mut forward, &mut w).unwrap();
            let (inverse, force) = (values(&s, Piece::MassAccel, &forward), values(&s, Piece::Force, &p));
            assert!(inverse.iter().zip(&force).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "case {case}");
        }
        // the rows of loops: accelerations are the rates of velocities along the motion
        closed += usize::from(!p.lambda.is_empty());
        let exact = values(&s, Piece::Acceleration, &p);
        let [plus, minus] = [1e-5, -1e-5].map(|h| {
            let mut along = p.clone();
            let step: Vec<f64> = p.v.iter().zip(&p.vdot).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
            s.retract(1.0, &mut along.q, &step);
            along.v.iter_mut().zip(&p.vdot).for_each(|(v, a)| *v += h * a);
            along.t += h;
            values(&s, Piece::Velocity, &along)
        });
        for ((a, plus), minus) in exact.iter().zip(plus).zip(minus) {
            let rate = (plus - minus) / 2e-5;
            assert!((a - rate).abs() < 1e-6 * (10.0 + rate.abs()), "case {case}: {a} against {rate}\n{text}");
        }
    }
    assert!(recursive > 8 && closed > 10, "{recursive} {closed}");
}
