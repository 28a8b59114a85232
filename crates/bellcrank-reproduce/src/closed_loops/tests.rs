use super::models::{bent_net, chain, lattice, net, system};
use super::runs::{LoopMachine, Setup};
use super::*;
use crate::claim::vacuous::every_claim_holds_and_could_fail;
use bellcrank_solve::choices::Solver;
use bellcrank_solve::methods::tableau::RK2;
use std::sync::OnceLock;

/// The whole quick report, computed once.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| reproduce(None, true))
}

fn all_hold(table: &str) {
    every_claim_holds_and_could_fail(report(), &[table]);
}

#[test]
fn every_claim_about_closed_loops_holds_and_could_fail() {
    let tables: Vec<&str> = report().claims.iter().map(|c| c.table).collect();
    every_claim_holds_and_could_fail(report(), &tables);
}

#[test]
fn iterates_do_not_depend_on_the_length_of_a_chain() {
    all_hold("4.1");
}

#[test]
fn keeping_the_tree_admits_smaller_epsilon_than_regularizing_all() {
    all_hold("4.2");
}

#[test]
fn limits_of_epsilon_are_those_of_the_largest_eigenvalue() {
    all_hold("stability");
}

#[test]
fn the_order_is_that_of_the_iterate() {
    all_hold("order");
}

#[test]
fn chains_and_nets_move_as_they_are_known_to() {
    all_hold("references");
}

#[test]
fn singular_positions_are_passed_and_told() {
    all_hold("singular");
}

/// Wide nets stagnate, and the successor closes them.
#[test]
fn a_wide_net_stagnates_and_is_closed_by_loop_cg() {
    let machine = LoopMachine::new(&net(16, 16, 0.5, false));
    let how = Setup { iterates: 8, ..Setup::default() };
    let run = machine.srm(&RK2, 2e-3, how, 0.06).expect("a run");
    let drift: Vec<f64> = run.worst().iter().map(|d| d.0).collect();
    assert!(drift[7] > 0.1 * drift[3] && drift[7] > 1e-7, "{drift:?}");
    let closed = machine.explicit(&RK2, Solver::LoopCg, 2e-3, 10);
    assert!(closed.drift < 1e-10, "{}", closed.drift);
    assert!(closed.iterations < 8 * closed.solves, "{} of {}", closed.iterations, closed.solves);
}

#[test]
fn iterations_of_loop_cg_do_not_depend_on_the_length_of_a_chain() {
    let counts: Vec<usize> = [25, 250, 2500]
        .iter()
        .filter_map(|&m| LoopMachine::new(&chain(m)).iterations(None))
        .map(|s| s.iterations)
        .collect();
    assert!(counts.len() == 3 && counts.iter().all(|c| *c <= 12 && c.abs_diff(counts[0]) <= 2), "{counts:?}");
}

/// Factors of a straight net, tilted by .5 rad, for one that is bent; n up to 10⁴.
#[test]
fn iterations_of_loop_cg_grow_at_most_like_the_root_of_the_width_of_a_net() {
    let solved = |w: usize| {
        let machine = LoopMachine::new(&bent_net(w, w, &|i| 0.5 - 0.6 * i as f64 / w as f64, false));
        machine.iterations(Some(&system(&net(w, w, 0.5, false)).initial_state().q)).expect("convergence")
    };
    let (small, large) = (solved(8), solved(70));
    assert!(small.open < 1e-10 && large.open < 1e-10, "{} and {}", small.open, large.open);
    let allowed = small.iterations as f64 * (70.0f64 / 8.0).sqrt();
    assert!(large.iterations as f64 <= allowed, "{} against {}", large.iterations, small.iterations);
}

#[test]
fn implicit_steps_are_solved_by_loop_cg_too_and_elimination_is_cheaper() {
    all_hold("implicit");
}

/// What the bench measured (`closed_loops explicit`): elimination is faster on chains, on nets and on a lattice of 1408 rods, loop-CG
/// on one of 11776, twice; and small machines are not asked.
#[test]
fn auto_takes_what_was_measured_to_be_faster() {
    let takes = |text: &str| {
        let machine = LoopMachine::at_rest(text);
        bellcrank_solve::linear::loop_cg::LoopCg::if_cheaper(machine.dynamics(), machine.start()).is_some()
    };
    assert!(!takes(&chain(4)) && !takes(&chain(600)) && !takes(&net(6, 6, 0.5, false)));
    assert!(!takes(&net(34, 34, 0.5, false)));
    assert!(!takes(&lattice(10, 10)) && takes(&lattice(12, 12)));
}

#[test]
fn every_table_can_be_asked_for() {
    assert!(TABLES.contains(&"4.3") && TABLES.contains(&"time"));
    assert!(reproduce(Some("5"), true).claims.is_empty());
}
