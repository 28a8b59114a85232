//! Mechanisms with redundant equations run with any method; their motion is that of their planar twin, and
//! their reactions are the least.

mod common;

use bellcrank_math::linear::dense::least_squares;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::{Dynamics, Piece, Slopes, Unknown};
use bellcrank_solve::FormulationKind::{Ggl, Index1, Index3, Si2};
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::linear::derivatives::dense;
use bellcrank_solve::linear::kkt::Kkt;
use bellcrank_solve::linear::scales::RowScales;
use bellcrank_solve::{Summary, start};
use common::*;
use std::sync::Arc;

/// Method, formulation, step, and what it may be off by after half a second.
fn methods() -> Vec<(Options, f64)> {
    use MethodName::*;
    let error = |method, formulation| Options {
        method,
        formulation: Some(formulation),
        rtol: 1e-7,
        until: 0.5,
        ..Options::default()
    };
    let fixed = |method, formulation| Options { step: Some(1e-3), ..error(method, formulation) };
    vec![
        (error(Bdf, Ggl), 1e-4),
        (error(Bdf, Si2), 1e-4),
        (error(Bdf, Index1), 1e-4),
        (error(Dopri5, Index1), 1e-5),
        (error(Dop853, Index1), 1e-5),
        (fixed(GeneralizedAlpha, Index3), 1e-4),
        (fixed(GeneralizedAlpha, Si2), 1e-4),
        (fixed(GeneralizedAlpha, Ggl), 1e-4),
        (fixed(Hht, Si2), 1e-4),
        (fixed(Rk4, Index1), 1e-5),
    ]
}

fn tight() -> Options {
    Options { method: MethodName::Dop853, rtol: 1e-11, until: 0.5, ..Options::default() }
}

fn channels(summary: &Summary, names: &[&str]) -> Vec<f64> {
    names.iter().map(|n| last(summary, n)).collect()
}

#[test]
fn spatial_windows_move_like_their_planar_twin() {
    let seen = ["g0.rate", "v2.x", "v2.y", "h0.vx", "h2.vy"];
    // in the plane of the motion the forces are unique too
    let twin = run(&system(&windows(3, false)), tight());
    let exact = channels(&twin, &seen);
    let s = system(&windows(3, true));
    for (options, tolerance) in methods() {
        let name = format!("{} {:?}", options.method.name(), options.formulation);
        let summary = run(&s, options);
        assert_eq!(summary.assembly.redundant, 9, "{name}");
        assert_eq!(summary.assembly.degrees_of_freedom, 1, "{name}");
        for ((channel, x), y) in seen.iter().zip(channels(&summary, &seen)).zip(&exact) {
            assert!((x - y).abs() < tolerance, "{name}: {channel} {x} against {y}");
        }
        assert!(!summary.not_unique.is_empty() && summary.events.is_empty(), "{name}: {:?}", summary.events);
        for joint in ["g0", "a1", "b2"] {
            for part in ["fz", "mx", "my"] {
                let x = last(&summary, &format!("{joint}.{part}"));
                assert!(x.abs() < 1e-6, "{name}: {joint}.{part} = {x}, but nothing loads it");
            }
        }
    }
}

#[test]
fn overconstrained_loops_run_with_any_method() {
    for (what, text, redundant) in [("bennett", bennett(), 3), ("bricard", bricard(), 1)] {
        let s = system(&text);
        let seen = ["j0.angle", "j1.angle", "j2.rate", "l2.x", "l3.vz"];
        let exact = channels(&run(&s, tight()), &seen);
        for (options, tolerance) in methods() {
            let name = format!("{what}: {} {:?}", options.method.name(), options.formulation);
            let summary = run(&s, options);
            assert_eq!((summary.assembly.redundant, summary.assembly.degrees_of_freedom), (redundant, 1), "{name}");
            for ((channel, x), y) in seen.iter().zip(channels(&summary, &seen)).zip(&exact) {
                assert!((x - y).abs() < 3.0 * tolerance, "{name}: {channel} {x} against {y}");
            }
            assert!(summary.drift.position < 1e-7, "{name}: {:?}", summary.drift);
            assert!(summary.events.is_empty(), "{name}: {:?}", summary.events);
        }
    }
}

const LOADED: &str = r#"
model = { gravity = [0.3, -9.81, 1.5] }
[body]
crank = { rod = { from = [0, 0, 0], to = [0.5, 0.8, 0], mass = 2, radius = 0.02 } }
coupler = { rod = { from = [0.5, 0.8, 0], to = [2.1, 1.2, 0], mass = 3, radius = 0.02 } }
rocker = { rod = { from = [2.0, 0, 0], to = [2.1, 1.2, 0], mass = 2, radius = 0.02 } }
[joint]
"#;
const HINGES: [&str; 4] = [
    "a = { type = \"revolute\", between = [\"ground\", \"crank\"], at = [0, 0, 0] }\n",
    "b = { type = \"revolute\", between = [\"crank\", \"coupler\"], at = [0.5, 0.8, 0] }\n",
    "c = { type = \"revolute\", between = [\"coupler\", \"rocker\"], at = [2.1, 1.2, 0] }\n",
    "d = { type = \"revolute\", between = [\"rocker\", \"ground\"], at = [2, 0, 0] }\n",
];

#[test]
fn least_reactions_do_not_depend_on_the_order_of_the_joints() {
    let text = |order: [usize; 4]| format!("{LOADED}{}", order.map(|i| HINGES[i]).concat());
    let first = run(&system(&text([0, 1, 2, 3])), tight());
    assert_eq!(first.not_unique, ["joint `a`", "joint `b`", "joint `c`", "joint `d`"]);
    let second = run(&system(&text([3, 1, 0, 2])), tight());
    let mut loaded = 0.0f64;
    for joint in ["a", "b", "c", "d"] {
        for part in ["fx", "fy", "fz", "mx", "my", "mz"] {
            let channel = format!("{joint}.{part}");
            let (x, y) = (last(&first, &channel), last(&second, &channel));
            assert!((x - y).abs() < 1e-6 * (1.0 + x.abs()), "{channel}: {x} against {y}");
            if part == "fz" {
                loaded = loaded.max(x.abs());
            }
        }
    }
    assert!(loaded > 1.0, "the hinges carry something across the plane");
    // together they balance what moves: the load across the plane is m g, as nothing moves there
    let across = last(&first, "a.fz") - last(&first, "d.fz");
    assert!((across + 7.0 * 1.5).abs() < 1e-6, "{across}");
}

#[test]
fn least_multipliers_are_those_of_least_squares() {
    let s = system(&format!("{LOADED}{}", HINGES.concat()));
    let dynamics: Arc<dyn Dynamics> = s.clone();
    let (point, _) = start::assemble(&dynamics, &s.initial_state()).unwrap();
    let mut w = s.workspace();
    s.realize(&point, &mut w);
    let (n, m) = (s.layout().n(), s.layout().m());
    let mut pull = vec![0.0; n];
    s.add(1.0, Piece::GtLambda, &point, &mut w, &mut pull);
    // rows that only turn count by the length of the model
    let transposed = dense(&*s, Piece::GtLambda, Unknown::Lambda, Slopes::default(), &point, &mut w);
    let turns: Vec<bool> = (0..m).map(|k| (0..n).all(|i| i % 6 >= 3 || transposed[i * m + k].abs() < 1e-9)).collect();
    assert_eq!(turns.iter().filter(|t| **t).count(), 8);
    let weight = |k: usize| if turns[k] { s.length() } else { 1.0 };
    let scaled: Vec<f64> = (0..n * m).map(|i| transposed[i] * weight(i % m)).collect();
    let exact = least_squares(&scaled, n, m, &pull, 1e-9).unwrap();
    assert_eq!(exact.rank, m - 3);
    let mut least = point.lambda.clone();
    let scales = RowScales::new(&*s, &point, &mut w);
    Kkt::proximal(dynamics.clone()).least_multipliers(&scales, &point, &mut w, &mut least).unwrap();
    // and as in large models, with the factors of accelerations
    let (mut at, mut kkt) = (point.clone(), Kkt::new(dynamics));
    kkt.accelerate(&mut at, &mut w).unwrap();
    kkt.least_at_hand(&scales, &mut at.lambda).unwrap();
    let size = point.lambda.iter().fold(0.0f64, |m, l| m.max(l.abs()));
    for k in 0..m {
        let expected = exact.x[k] * weight(k);
        for least in [least[k], at.lambda[k]] {
            assert!((least - expected).abs() < 1e-8 * size, "{k}: {least} against {expected}");
        }
    }
}

/// Squares of hinged bars in a row, in the plane or in space, and pulled across it there.
fn ladder(m: usize, across: Option<f64>) -> Arc<bellcrank_model::System> {
    let space = across.is_some();
    let (z, axis) = if space { (", 0", ", axis = [0, 0, 1]") } else { ("", "") };
    let mut text = match across {
        Some(g) => format!("model = {{ gravity = [0, -9.81, {g:?}] }}\n"),
        None => "model = { plane = \"xy\", gravity = [0, -9.81] }\n".into(),
    };
    let inertia = if space { "[0.08, 0.08, 0.08]" } else { "0.08" };
    let mut body = |name: String, x: f64, y: f64| {
        text += &format!("body.{name} = {{ mass = 1, inertia = {inertia}, at = [{x:?}, {y:?}{z}] }}\n");
    };
    for i in 0..=m {
        body(format!("v{i}"), i as f64, -0.5);
        if i < m {
            body(format!("t{i}"), i as f64 + 0.5, 0.0);
            body(format!("b{i}"), i as f64 + 0.5, -1.0);
        }
    }
    let mut pin = |a: &str, b: &str, x: usize, y: i32| {
        let between = format!("between = [\"{a}\", \"{b}\"], at = [{x}, {y}{z}]{axis}");
        text += &format!("joint.{a}-{b} = {{ type = \"revolute\", {between} }}\n");
    };
    pin("ground", "v0", 0, 0);
    for i in 0..m {
        for (rail, y) in [("t", 0), ("b", -1)] {
            pin(&format!("v{i}"), &format!("{rail}{i}"), i, y);
            pin(&format!("{rail}{i}"), &format!("v{}", i + 1), i + 1, y);
        }
    }
    system(&text)
}

/// Accelerations and reactions at the start, the least ones.
fn reactions(s: &Arc<bellcrank_model::System>) -> Vec<f64> {
    let dynamics: Arc<dyn Dynamics> = s.clone();
    let (mut point, _) = start::assemble(&dynamics, &s.initial_state()).unwrap();
    let mut w = s.workspace();
    s.realize(&point, &mut w);
    let mut kkt = Kkt::new(dynamics);
    kkt.accelerate(&mut point, &mut w).unwrap();
    let scales = RowScales::new(&**s, &point, &mut w);
    kkt.least_at_hand(&scales, &mut point.lambda).unwrap();
    point.lambda
}

/// In the plane the reactions of a long ladder are unique: its twin in space has the same, and none across the plane.
#[test]
fn unique_reactions_of_a_long_ladder_stay_what_they_are() {
    let m = 350;
    let (plane, space) = (reactions(&ladder(m, None)), reactions(&ladder(m, Some(0.0))));
    let size = plane.iter().fold(0.0f64, |m, l| m.max(l.abs()));
    assert!(size > 1.0);
    for (k, (plane, space)) in plane.chunks_exact(2).zip(space.chunks_exact(5)).enumerate() {
        let apart = (0..2).map(|i| (plane[i] - space[i]).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-7 * size, "{k}: {plane:?} against {space:?}");
        assert!(space[2..].iter().all(|l| l.abs() < 1e-7 * size), "{k}: {space:?}");
    }
}

/// The same in a run. (A proximal iteration with too few steps, which large models had, erred by a half of the largest.)
#[test]
fn a_long_ladder_in_space_is_held_like_the_one_in_the_plane() {
    let options = Options { until: 0.02, rtol: 1e-8, ..Options::default() };
    let m = 170;
    let [plane, space] = [None, Some(0.0)].map(|across| run(&ladder(m, across), options.clone()));
    assert_eq!((plane.not_unique.len(), space.not_unique.len()), (0, 4 * m));
    let of = |s: &Summary| -> std::collections::HashMap<String, f64> { s.last.iter().cloned().collect() };
    let (plane, space) = (of(&plane), of(&space));
    let forces: Vec<&String> = plane.keys().filter(|k| k.ends_with(".fx") || k.ends_with(".fy")).collect();
    assert_eq!(forces.len(), 2 * (4 * m + 1));
    let size = forces.iter().fold(0.0f64, |m, k| m.max(plane[*k].abs()));
    for k in forces {
        assert!((plane[k] - space[k]).abs() < 1e-5 * size, "{k}: {} against {} of {size}", plane[k], space[k]);
    }
}

/// Pulled across, what holds it there is shared by the joints of every loop, as least squares share it.
#[test]
fn least_reactions_of_loops_are_those_of_least_squares() {
    let s = ladder(14, Some(3.0));
    let least = reactions(&s);
    let dynamics: Arc<dyn Dynamics> = s.clone();
    let (point, _) = start::assemble(&dynamics, &s.initial_state()).unwrap();
    let mut w = s.workspace();
    s.realize(&point, &mut w);
    let (n, m) = (s.layout().n(), s.layout().m());
    let transposed = dense(&*s, Piece::GtLambda, Unknown::Lambda, Slopes::default(), &point, &mut w);
    let weight = |k: usize| if k % 5 > 2 { s.length() } else { 1.0 };
    let scaled: Vec<f64> = (0..n * m).map(|i| transposed[i] * weight(i % m)).collect();
    let pull: Vec<f64> = transposed.chunks_exact(m).map(|g| g.iter().zip(&least).map(|(g, l)| g * l).sum()).collect();
    let exact = least_squares(&scaled, n, m, &pull, 1e-9).unwrap();
    assert_eq!(exact.rank, m - 3 * 14);
    let size = least.iter().fold(0.0f64, |m, l| m.max(l.abs()));
    for (k, least) in least.iter().enumerate() {
        let expected = exact.x[k] * weight(k);
        assert!((least - expected).abs() < 1e-7 * size, "{k}: {least} against {expected}");
    }
}

#[test]
fn where_nothing_is_redundant_reactions_are_unique() {
    let options = Options { until: 0.1, ..Options::default() };
    let summary = run(&system(FOUR_BAR), options);
    assert!(summary.not_unique.is_empty());
}

/// All bars on a line, time and again: there the windows have as many freedoms as there are of them, and a
/// step of 1e-3 s comes as close to it as 1e-3 rad.
#[test]
fn many_windows_pass_their_singular_positions() {
    let slow = system(&windows(40, false));
    let fast = system(&windows(40, true).replace("rate = -1", "rate = -6"));
    for (s, until) in [(slow, 1.3), (fast, 0.3)] {
        let options = Options {
            method: MethodName::GeneralizedAlpha,
            formulation: Some(Si2),
            step: Some(1e-3),
            until,
            ..Options::default()
        };
        let summary = run(&s, options);
        let passed = if summary.assembly.redundant == 0 { 2 } else { 0 };
        assert_eq!(summary.events.len(), passed, "{:?}", summary.events);
        assert!(
            summary.events.iter().all(|e| e.what.contains("passed by a singular position")),
            "{:?}",
            summary.events
        );
        assert!(summary.drift.position < 1e-10 && summary.drift.velocity < 1e-8, "{:?}", summary.drift);
        assert!(summary.energy.largest_error < 1e-4 * summary.energy.initial, "{:?}", summary.energy);
        assert!(last(&summary, "g0.angle") < -1.7);
        for i in [17, 40] {
            let angle = last(&summary, &format!("g{i}.angle"));
            assert!((angle - last(&summary, "g0.angle")).abs() < 1e-9, "window {i} left the others");
        }
    }
}
