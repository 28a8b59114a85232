//! Assembly from random starts: it closes or refuses, never makes it worse, keeps the branch and what is held.

mod common;

use bellcrank_model::dynamics::roles::*;
use bellcrank_model::testing::Random;
use bellcrank_model::{Dynamics, State, System};
use bellcrank_solve::start::{self, Assembly, AssemblyError};
use common::*;
use std::sync::Arc;
use std::time::Instant;

const SPATIAL_LOOP: &str = r#"
[body]
crank = { rod = { from = [0, 0, 0], to = [0.5, 0.8, 0], mass = 2, radius = 0.02 } }
coupler = { rod = { from = [0.5, 0.8, 0], to = [2.1, 1.2, 0], mass = 3, radius = 0.02 } }
rocker = { rod = { from = [2.0, 0, 0], to = [2.1, 1.2, 0], mass = 2, radius = 0.02 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0, 0] }
b = { type = "universal", between = ["crank", "coupler"], at = [0.5, 0.8, 0], axis = [0, 0, 1], axis2 = [1, 0, 0] }
c = { type = "spherical", between = ["coupler", "rocker"], at = [2.1, 1.2, 0] }
d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0, 0] }
"#;

/// The start moved aside at random by up to `size` lengths of the model.
fn aside(system: &System, size: f64, random: &mut Random) -> State {
    let mut state = system.initial_state();
    let n = state.q.len();
    let scales = system.scales();
    let delta: Vec<f64> = random
        .vector(n)
        .iter()
        .zip(scales)
        .map(|(x, s)| if s == bellcrank_model::dynamics::Scale::Angle { size * x } else { size * x * system.length() })
        .collect();
    system.retract(1.0, &mut state.q, &delta);
    state
}

fn assemble(system: &Arc<System>, state: &State) -> Result<(Vec<f64>, Assembly), AssemblyError> {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    start::assemble(&dynamics, state).map(|(point, report)| (point.q, report))
}

#[test]
fn random_starts_close_or_are_refused() {
    let slider = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/slider-crank.toml"));
    let mut random = Random::new(3);
    for (name, text) in [("four-bar", FOUR_BAR), ("spatial", SPATIAL), ("loop", SPATIAL_LOOP), ("slider-crank", slider)]
    {
        let s = system(text);
        let (right, _) = assemble(&s, &s.initial_state()).unwrap();
        let (mut far, mut closed) = (0, 0);
        for trial in 0..200 {
            let size = 10f64.powf(-9.0 + 9.0 * trial as f64 / 199.0);
            let state = aside(&s, size, &mut random);
            let begun = Instant::now();
            let result = assemble(&s, &state);
            assert!(begun.elapsed().as_secs_f64() < 2.0, "{name} {size}: slow");
            match result {
                Ok((q, report)) => {
                    let (before, after) = report.residual;
                    assert!(after <= 1e-9 * s.length() && after <= before.max(1e-12), "{name}: {report:?}");
                    // the branch: no farther from the start than the start was from the right place
                    let distance =
                        |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
                    if size < 0.03 {
                        let moved = distance(&q, &right);
                        assert!(moved < 20.0 * size * s.length() + 1e-9, "{name} {size}: moved by {moved}");
                    }
                    closed += (size >= 0.03) as usize;
                    far += (size >= 0.03) as usize;
                }
                Err(e) => {
                    assert!(size > 0.03, "{name} {size}: {e}");
                    far += 1;
                }
            }
        }
        println!("{name}: {closed} of {far} far starts closed");
        assert!(closed as f64 >= 0.9 * far as f64, "{name}: {closed} of {far} far starts closed");
    }
}

#[test]
fn singular_starts_close_too() {
    let flat = r#"
model = { plane = "xy" }
[body]
left = { rod = { from = [0, 0], to = [1, 0], mass = 1 } }
deck = { rod = { from = [1, 0], to = [3, 0], mass = 1 } }
right = { rod = { from = [2, 0], to = [3, 0], mass = 1 } }
[joint]
a = { type = "revolute", between = ["ground", "left"], at = [0, 0] }
b = { type = "revolute", between = ["left", "deck"], at = [1, 0] }
c = { type = "revolute", between = ["deck", "right"], at = [3, 0] }
d = { type = "revolute", between = ["ground", "right"], at = [2, 0] }
"#;
    let s = system(flat);
    let mut random = Random::new(5);
    for trial in 0..100 {
        let size = 10f64.powf(-9.0 + 8.0 * trial as f64 / 99.0);
        let (_, report) = assemble(&s, &aside(&s, size, &mut random)).unwrap();
        assert!(report.residual.1 < 1e-9 * s.length(), "{size}: {report:?}");
        let moved = report.moved.iter().fold(0.0f64, |m, b| m.max(b.distance));
        assert!(moved < 10.0 * (size + size.sqrt()), "{size}: moved by {moved}");
    }
}

#[test]
fn fixed_bodies_stay_where_they_are() {
    let held = FOUR_BAR.replace("to = [0.5, 0.8], mass = 2 }", "to = [0.5, 0.8], mass = 2 }, fixed = true");
    assert_ne!(held, FOUR_BAR);
    // the others are off, the crank is right
    let s = system(&held);
    let mut random = Random::new(8);
    let exact = s.initial_state();
    for _ in 0..50 {
        let mut state = aside(&s, 0.05, &mut random);
        state.q[..3].copy_from_slice(&exact.q[..3]);
        let (q, report) = assemble(&s, &state).unwrap();
        assert_eq!(q[..3], exact.q[..3], "bit by bit");
        assert!(report.residual.1 < 1e-11 && report.moved.len() == 2, "{report:?}");
    }
    // the crank is off, and not to move: refused, and said why
    let mut state = s.initial_state();
    state.q[0] += 0.1;
    let error = assemble(&s, &state).unwrap_err().to_string();
    assert!(error.contains("held by `fixed = true`: body `crank`"), "{error}");
}

#[test]
fn the_report_shows_before_and_after() {
    let s = system(FOUR_BAR);
    let mut state = s.initial_state();
    state.q[3] += 0.01;
    let (_, report) = assemble(&s, &state).unwrap();
    let mut names: Vec<&str> = report.gaps.iter().map(|g| g.of.words.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["joint `b`", "joint `c`"]);
    assert!(report.gaps.iter().all(|g| (g.before - 0.01).abs() < 1e-12 && g.after < 1e-12));
    assert_eq!(report.moved.len(), 3);
}

#[test]
fn errors_carry_their_place_in_the_model_as_data() {
    let open = system(&FOUR_BAR.replace(
        "[joint]",
        "[joint]\nfar = { type = \"distance\", between = [\"ground\", \"crank\"], at = [[90, 0], [0, 0]], length = 1 }",
    ));
    let error = assemble(&open, &open.initial_state()).unwrap_err();
    let culprit = error.culprit();
    let place = culprit.place.expect("a place");
    assert_eq!(open.model.subject(place), *culprit);
    assert!(matches!(place, bellcrank_model::Place::Joint(_)) && error.reason().contains(&culprit.words), "{error}");
}
