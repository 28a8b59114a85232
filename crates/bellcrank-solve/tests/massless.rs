//! Bodies without mass that joints hold: every method moves them alike, or is refused with the reason.

mod common;

use bellcrank_solve::choices::{MethodName, Options, Solver};
use bellcrank_solve::choices::{Said, understood};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::*;

/// A bar without mass between crank and rocker.
const COUPLER: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
crank = { rod = { from = [0, 0], to = [0.4, 0.6], mass = 1 } }
coupler = { rod = { from = [0.4, 0.6], to = [2.1, 1.2] }, mass = 0 }
rocker = { rod = { from = [2.1, 1.2], to = [2, 0], mass = 2 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
b = { type = "revolute", between = ["crank", "coupler"], at = [0.4, 0.6] }
c = { type = "revolute", between = ["coupler", "rocker"], at = [2.1, 1.2] }
d = { type = "revolute", between = ["ground", "rocker"], at = [2, 0] }
[start]
a = { rate = 1 }
"#;

/// A point without mass on two bars, with a weight on a third.
const KNOT: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
knot = { mass = 0, at = [0.5, 0] }
weight = { mass = 1, at = [1, 0] }
[joint]
one = { type = "distance", between = ["ground", "knot"], at = [[0, 0.3], [0.5, 0]] }
two = { type = "distance", between = ["ground", "knot"], at = [[0.6, 0.9], [0.5, 0]] }
three = { type = "distance", between = ["knot", "weight"], at = [[0.5, 0], [1, 0]] }
"#;

/// The cross of a universal joint without mass, between two heavy shafts.
const CROSS: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body]
one = { rod = { from = [0, 0, 0], to = [1, 0, 0], mass = 1, radius = 0.05 } }
cross = { mass = 0, inertia = [0, 0, 0], at = [1, 0, 0] }
two = { rod = { from = [1, 0, 0], to = [2, 0, 0], mass = 1, radius = 0.05 } }
[joint]
a = { type = "revolute", between = ["ground", "one"], at = [0, 0, 0], axis = [0, 1, 0] }
b = { type = "revolute", between = ["one", "cross"], at = [1, 0, 0], axis = [0, 1, 0] }
c = { type = "revolute", between = ["cross", "two"], at = [1, 0, 0], axis = [0, 0, 1] }
[start]
c = { rate = 1 }
"#;

const MACHINES: [(&str, &str); 3] = [("coupler", COUPLER), ("knot", KNOT), ("cross", CROSS)];

fn options(said: &[(&str, &str)]) -> Options {
    let said: Vec<Said> = said.iter().map(|(key, word)| Said::argument(*key, *word)).collect();
    Options {
        until: 0.5,
        ..understood(&said).unwrap_or_else(|e| panic!("{}", e.reason(bellcrank_solve::choices::Voice::Rust)))
    }
}

fn places(summary: &Summary) -> impl Iterator<Item = &(String, f64)> {
    summary.last.iter().filter(|(name, _)| [".x", ".y", ".z"].iter().any(|end| name.ends_with(end)))
}

#[test]
fn every_method_moves_bodies_without_mass_alike() {
    for (name, text) in MACHINES {
        let s = system(text);
        let exact = run(&s, Options { method: MethodName::Dop853, rtol: 1e-11, until: 0.5, ..Options::default() });
        let near = |o: Options, what: &str, most: f64| {
            let summary = run(&s, o);
            for ((channel, a), (_, b)) in places(&exact).zip(places(&summary)) {
                assert!((a - b).abs() < most, "{name} {what}: {channel} {a} {b}");
            }
            assert!(summary.drift.position < 1e-6, "{name} {what}: {:?}", summary.drift);
        };
        for method in
            ["auto", "dopri5", "bdf", "gen-alpha", "hht", "nstiff", "nstiff-si2", "hht-si2", "cs", "cm", "ggl-star"]
        {
            near(Options { rtol: 1e-5, ..options(&[("method", method)]) }, method, 3e-3);
        }
        near(Options { rtol: 1e-9, ..options(&[("method", "bdf")]) }, "bdf at 1e-9", 1e-6);
        for method in ["rk4", "gen-alpha", "hht", "newmark"] {
            near(Options { step: Some(1e-3), ..options(&[("method", method)]) }, method, 2e-2);
        }
        for formulation in ["index3", "ggl", "si2", "index1"] {
            let o = Options { step: Some(1e-3), ..options(&[("method", "gen-alpha"), ("formulation", formulation)]) };
            near(o, formulation, 1e-3);
        }
        near(
            Options { solver: Solver::Direct, step: Some(1e-3), ..options(&[("method", "gen-alpha")]) },
            "direct",
            1e-3,
        );
    }
}

#[test]
fn velocities_of_a_knot_without_mass_do_not_drift() {
    let s = system(KNOT);
    let summary = run(&s, Options { step: Some(1e-3), until: 2.0, ..options(&[("method", "gen-alpha")]) });
    assert!(summary.drift.velocity < 1e-9 && summary.drift.position < 1e-9, "{:?}", summary.drift);
    assert!(summary.energy.largest_error < 1e-3, "{:?}", summary.energy);
}

#[test]
fn what_needs_masses_is_refused_with_the_body_and_a_way_out() {
    for (name, text) in MACHINES {
        let o = options(&[("method", "hht-add")]);
        let said = Simulation::new(system(text), o).err().unwrap_or_else(|| panic!("{name} ran")).to_string();
        assert!(said.contains("has no mass") && said.contains(name) && said.contains("hht-si2"), "{name}: {said}");
    }
    let o = Options { solver: Solver::Srm, step: Some(1e-3), until: 0.1, ..Options::default() };
    let said = match Simulation::new(system(COUPLER), o) {
        Err(e) => e.to_string(),
        Ok(mut run) => match run.run(&mut Silent).status {
            Status::Failed(e) => e.to_string(),
            other => panic!("{other:?}"),
        },
    };
    assert!(said.contains("sequential regularization opens loops") && said.contains("coupler"), "{said}");
}
