//! What solves the linear systems, why, and that all of them give the same motion.

mod common;

use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{Coordinates, MethodName, Options, Solver};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::{FOUR_BAR, last, system};
use std::fmt::Write;

/// A chain of rods that hangs from the ground.
fn chain(n: usize) -> String {
    let mut text = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for i in 0..n {
        let before = if i == 0 { "ground".to_string() } else { format!("r{}", i - 1) };
        writeln!(text, "body.r{i} = {{ mass = 1, inertia = 0.1, at = [{}.5, 0] }}", i).unwrap();
        writeln!(text, "joint.p{i} = {{ type = \"revolute\", between = [\"{before}\", \"r{i}\"], at = [{i}, 0] }}")
            .unwrap();
    }
    text
}

fn run(text: &str, options: Options) -> Result<Summary, String> {
    let mut simulation = Simulation::new(system(text), options).map_err(|e| e.to_string())?;
    let summary = simulation.run(&mut Silent);
    assert_eq!(summary.status, Status::Finished);
    Ok(summary)
}

fn told(summary: &Summary) -> &str {
    summary.solver.as_deref().unwrap_or("nothing")
}

#[test]
fn every_choice_says_what_it_does_and_gives_the_same_motion() {
    let until = 0.3;
    let explicit = Options { until, rtol: 1e-10, method: MethodName::Dop853, ..Options::default() };
    let fixed = Options {
        until,
        step: Some(1e-3),
        method: MethodName::GeneralizedAlpha,
        formulation: Some(FormulationKind::Index3),
        ..Options::default()
    };
    let text = chain(3);
    for base in [explicit, fixed] {
        let reference = run(&text, base.clone()).unwrap();
        assert!(
            told(&reference).starts_with("block LU") && told(&reference).contains("dense LU of"),
            "{}",
            told(&reference)
        );
        let direct = run(&text, Options { solver: Solver::Direct, ..base.clone() }).unwrap();
        // small machines find accelerations in the space of their constraints unless they are told otherwise
        for ((name, x), (_, y)) in direct.last.iter().zip(reference.last.iter()) {
            assert!((x - y).abs() <= 1e-11 * x.abs().max(1.0), "{name}: {x} {y}");
        }
        let dense = run(&text, Options { solver: Solver::Dense, ..base.clone() }).unwrap();
        assert!(told(&dense).starts_with("dense LU"), "{}", told(&dense));
        assert!((last(&dense, "r2.x") - last(&reference, "r2.x")).abs() < 1e-8);
        let recursion = run(&text, Options { solver: Solver::Recursion, ..base.clone() });
        match base.method.explicit() {
            true => {
                let recursion = recursion.unwrap();
                assert!(told(&recursion).starts_with("recursion"), "{}", told(&recursion));
                assert!((last(&recursion, "r2.x") - last(&reference, "r2.x")).abs() < 1e-7);
            }
            false => assert!(recursion.is_err_and(|e| e.contains("needs matrices"))),
        }
    }
}

#[test]
fn size_and_topology_choose() {
    let options = Options { until: 1e-3, ..Options::default() };
    let relative = Options { coordinates: Coordinates::Relative, ..options.clone() };
    assert!(told(&run(&chain(70), options.clone()).unwrap()).starts_with("block LDLᵀ"));
    assert!(told(&run(&chain(70), relative.clone()).unwrap()).starts_with("recursion"));
    assert!(told(&run(FOUR_BAR, relative).unwrap()).starts_with("block LU"));
    let asked =
        |solver| run(&chain(3), Options { coordinates: Coordinates::Relative, solver, ..options.clone() }).unwrap();
    let [recursion, direct, dense] = [Solver::Auto, Solver::Direct, Solver::Dense].map(asked);
    assert!(told(&direct).starts_with("block LU") && told(&dense).starts_with("dense LU"));
    for other in [&direct, &dense] {
        assert!((last(other, "r2.x") - last(&recursion, "r2.x")).abs() < 1e-12);
    }
    // a long tree is swept in descriptor form too: nothing iterates
    let long = run(&chain(2000), options.clone()).unwrap();
    assert!(told(&long).contains("leaves of the tree") && told(&long).contains("no loops"), "{}", told(&long));
    assert!(long.loops.is_none() && long.choices.iter().all(|c| !c.contains("loop")), "{:?}", long.choices);
    assert_eq!(long.names.iteration, "none");
    let asked = run(FOUR_BAR, Options { solver: Solver::LoopCg, ..options.clone() }).unwrap();
    assert_eq!(told(&asked), "loop-cg, as asked");
    let stabilized = Options { step: Some(1e-3), method: MethodName::GeneralizedAlpha, ..options.clone() };
    // small machines keep the whole matrix over several steps, large ones solve two systems of half the size
    let small = run(FOUR_BAR, stabilized.clone()).unwrap();
    assert!(told(&small).starts_with("block LU"), "{}", told(&small));
    let large = run(&chain(70), stabilized).unwrap();
    assert!(told(&large).contains("of half the size for one"), "{}", told(&large));
    let refused = |text: &str, solver| run(text, Options { solver, ..options.clone() }).map(|_| ()).unwrap_err();
    assert!(refused(FOUR_BAR, Solver::Recursion).contains("loops"));
    assert!(refused(&chain(400), Solver::Dense).contains("2000 unknowns"));
}

#[test]
fn a_recursion_has_no_constraints_that_could_be_singular() {
    let options = Options { coordinates: Coordinates::Relative, until: 0.5, ..Options::default() };
    let summary = run(&chain(3), options).unwrap();
    assert!(told(&summary).starts_with("recursion"));
    assert!(summary.events.is_empty(), "{:?}", summary.events);
}

#[test]
fn what_becomes_stiff_goes_on_without_the_solver_of_explicit_steps() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/stiff-bushing.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let summary = run(&text, Options { solver: Solver::LoopCg, until: 0.05, ..Options::default() }).unwrap();
    assert!(summary.choices.iter().any(|c| c.contains("bdf does not use loop-cg")), "{:?}", summary.choices);
    assert_eq!(summary.names.method, "bdf");
}
