//! What a tolerance is worth: `cargo bench -p bellcrank-solve --bench tolerance [-- step] [MACHINES…] [METHODS…]`.
//!
//! Every method with error control on machines that nothing damps, against dop853 at 1e-13. For each run: steps, refused
//! ones, evaluations, and the error at the end over `rtol` times the size of the machine, measured and as the run told it.
//! 1 is what was asked for. With `step` the tolerance is that of every step, as with `--errors step`.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/undamped.rs"]
mod undamped;

use bellcrank_model::{State, System};
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use common::*;
use std::sync::Arc;

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let tolerances = [1e-3, 1e-4, 1e-6, 1e-8];
    let methods = ["dopri5", "dop853", "bdf", "gen-alpha", "hht"];
    let asked: Vec<&str> = methods.into_iter().filter(|m| words.iter().any(|w| w == m)).collect();
    words.retain(|w| !methods.contains(&w.as_str()));
    let budget = if words.iter().any(|w| w == "step") { ErrorBudget::Step } else { ErrorBudget::Run };
    words.retain(|w| w != "step" && w != "run");
    let asked = if asked.is_empty() { methods.to_vec() } else { asked };
    for m in undamped::machines() {
        if !words.is_empty() && !words.iter().any(|w| w == m.name) {
            continue;
        }
        let s = system(&m.text);
        let tight = Options { method: MethodName::Dop853, rtol: 1e-13, until: m.until, ..Options::default() };
        let Some((_, reference)) = attempt(&s, tight) else {
            println!("{}: no reference", m.name);
            continue;
        };
        for method in &asked {
            for rtol in tolerances {
                if rtol < 1e-6 && matches!(*method, "gen-alpha" | "hht") {
                    continue;
                }
                let options = Options { rtol, until: m.until, ..Options::named(method).unwrap_or_default() };
                let options = options.with(|o| o.testing.budget = budget);
                report(m.name, &s, &reference, options);
            }
        }
    }
}

/// A run to the end, with its state there and the largest error against another run.
fn attempt(s: &Arc<System>, options: Options) -> Option<(Summary, State)> {
    let mut simulation = Simulation::new(s.clone(), options).ok()?;
    let summary = simulation.run(&mut Silent);
    (summary.status == Status::Finished).then(|| (summary, simulation.state().clone()))
}

fn report(name: &str, s: &Arc<System>, reference: &State, options: Options) {
    let (method, rtol) = (options.method.name(), options.rtol);
    let Some((summary, state)) = attempt(s, options) else {
        println!("{name:17} {method:9} {rtol:.0e}   failed");
        return;
    };
    let n = summary.statistics;
    println!(
        "{name:17} {method:9} {rtol:.0e} {:7} steps {:5} refused {:8} evaluations  error {:8.2} told {:8.2}",
        n.steps,
        n.error_test_failures + n.convergence_failures,
        n.residual_evaluations,
        undamped::distance(s, reference, &state) / rtol,
        summary.error.unwrap_or(f64::NAN) / rtol,
    );
}
