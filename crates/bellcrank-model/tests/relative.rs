//! Relative coordinates against the Cartesian equations and against differences, on random trees and loops.

use bellcrank_math::Quat;
use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_text;
use bellcrank_model::testing::{Random, derivative, moved, random_mechanism, values};
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

#[test]
fn every_derivative_agrees_with_differences() {
    use Piece::*;
    let pieces =
        [Rate, Speed, GtMu, MinvGtMu, MassAccel, Force, GtLambda, Position, Velocity, Acceleration, ZDot, Flow];
    let slopes = Slopes { q: 1.3, v: 0.7, z: 0.9 };
    let mut random = Random::new(3);
    for case in 0..30 {
        let plane = case % 3 == 0;
        let text = random_mechanism(&mut random, 5, 2, plane) + forces(plane);
        let s = relative(&text);
        let mut p = shaken(&s, &mut random, 0.4);
        p.mu.fill(0.0);
        for piece in pieces {
            for wrt in Unknown::ALL {
                // the acceleration row leaves ∂((G v)_q v)/∂q out
                if piece == Acceleration && matches!(wrt, Unknown::Q | Unknown::V) {
                    continue;
                }
                let exact = derivative(&s, piece, wrt, slopes, &p);
                let columns = s.layout().columns(wrt).last().map_or(0, |r| r.end);
                for j in 0..columns {
                    let h = 1e-5;
                    let plus = values(&s, piece, &moved(&s, &p, wrt, j, h, slopes));
                    let minus = values(&s, piece, &moved(&s, &p, wrt, j, -h, slopes));
                    for i in 0..exact.len() {
                        let difference = (plus[i] - minus[i]) / (2.0 * h);
                        let scale = 10.0 + difference.abs();
                        assert!(
                            (exact[i][j] - difference).abs() < 1e-6 * scale,
                            "∂{piece:?}/∂{wrt:?} ({i}, {j}) of case {case}\n{text}\n{:?}: {} against {difference}",
                            s.tree.nodes,
                            exact[i][j]
                        );
                    }
                }
            }
        }
    }
}
