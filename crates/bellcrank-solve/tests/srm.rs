//! Sequential regularization: how its iterates approach the motion, from which multipliers, and what keeps its tree.

mod common;

use bellcrank_solve::choices::{MethodName, Options, Solver, SrmStart, SrmTree};
use common::*;

const UNTIL: f64 = 0.2;

fn places(summary: &bellcrank_solve::Summary) -> Vec<f64> {
    let place = |name: &str| [".x", ".y", ".z"].iter().any(|end| name.ends_with(end));
    summary.last.iter().filter(|(name, _)| place(name)).map(|(_, v)| *v).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn srm(iterates: usize, epsilon: f64, start: SrmStart) -> Options {
    let (method, solver, step) = (MethodName::Rk4, Solver::Srm, Some(1e-4));
    Options { method, solver, step, until: UNTIL, ..Options::default() }.with(|o| {
        (o.parameters.iterates, o.parameters.epsilon, o.parameters.srm_start) = (iterates, Some(epsilon), start);
    })
}

/// Planar and spatial loops.
fn machines() -> [(&'static str, String); 2] {
    [("four-bar", FOUR_BAR.replace("rate = 1.5", "rate = 3")), ("windows in space", windows(2, true))]
}

#[test]
fn the_error_of_an_iterate_falls_with_that_power_of_epsilon() {
    for (name, text) in machines() {
        let s = system(&text);
        let tight = Options { method: MethodName::Dop853, rtol: 1e-12, until: UNTIL, ..Options::default() };
        let exact = places(&run(&s, tight));
        for (iterates, expected) in [(1, 1.0), (2, 2.0)] {
            let error = |epsilon| distance(&places(&run(&s, srm(iterates, epsilon, SrmStart::Exact))), &exact);
            let errors = [error(4e-3), error(2e-3)];
            let order = (errors[0] / errors[1]).log2();
            assert!((order - expected).abs() < 0.45, "{name}, iterate {iterates}: {order:.2}, {errors:?}");
        }
    }
}

#[test]
fn exact_multipliers_of_the_start_leave_no_layer() {
    for (name, text) in machines() {
        let s = system(&text);
        let drift = |start| {
            // while the multipliers are still near those of the start
            let summary = run(&s, Options { until: 0.01, ..srm(1, 2e-3, start) });
            summary.loops.map_or(f64::NAN, |l| l.drift[0].0)
        };
        let [zero, exact] = [drift(SrmStart::Zero), drift(SrmStart::Exact)];
        assert!(exact < 0.3 * zero, "{name}: {exact:e} m against {zero:e} m");
    }
}

#[test]
fn baumgarte_keeps_the_tree_between_a_projection_and_nothing() {
    let s = system(&FOUR_BAR.replace("rate = 1.5", "rate = 3"));
    let drift = |tree| {
        let options = srm(2, 2e-3, SrmStart::Zero).with(|o| {
            (o.parameters.srm_tree, o.parameters.baumgarte_alpha) = (tree, 50.0);
            (o.method, o.step, o.until) = (MethodName::Rk2, Some(1e-3), 0.5);
            o.parameters.epsilon = None;
        });
        run(&s, options).loops.map_or(f64::NAN, |l| l.drift[1].1)
    };
    let [projected, baumgarte, drifting] = [SrmTree::Projected, SrmTree::Baumgarte, SrmTree::Drifting].map(drift);
    assert!(projected < 0.1 * baumgarte && baumgarte < 0.5 * drifting, "{projected:e}, {baumgarte:e}, {drifting:e}");
}
