//! What a tolerance is worth: `cargo bench -p bellcrank-solve --bench tolerance [-- auto|step|run] [MACHINES…] [METHODS…]`.
//!
//! Every method with error control on machines that nothing damps, of several sizes and far from the origin, against dop853 at
//! 1e-13. For each run: steps, refused ones, evaluations, those of the companion among them, and the error at the end over `rtol`
//! times the size of the machine, measured and as the run told it. 1 is what was asked for. `step` and `run` are what
//! `--errors` says; the default is the program's.

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

const METHODS: [&str; 6] = ["auto", "dopri5", "dop853", "bdf", "gen-alpha", "hht"];
const TOLERANCES: [f64; 7] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];

/// Methods of second order take millions of steps below this.
const COARSE: f64 = 1e-6;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let budget = words.iter().find_map(|w| ErrorBudget::by_name(w)).unwrap_or_default();
    let asked = |all: &[&'static str]| -> Vec<&'static str> {
        let some: Vec<&str> = all.iter().copied().filter(|m| words.iter().any(|w| w == m)).collect();
        if some.is_empty() { all.to_vec() } else { some }
    };
    let machines = undamped::machines();
    let names = asked(&machines.iter().map(|m| m.name).collect::<Vec<_>>());
    let mut tables: Vec<(&str, Vec<f64>)> = asked(&METHODS).into_iter().map(|m| (m, Vec::new())).collect();
    for m in machines.iter().filter(|m| names.contains(&m.name)) {
        let s = system(&m.text);
        let tight = Options { method: MethodName::Dop853, rtol: 1e-13, until: m.until, ..Options::default() };
        let Some((_, reference)) = attempt(&s, tight.with(|o| o.testing.budget = ErrorBudget::Step)) else {
            println!("{}: no reference", m.name);
            continue;
        };
        for (method, ratios) in &mut tables {
            let possible = |rtol: &f64| *rtol >= COARSE || !matches!(*method, "gen-alpha" | "hht");
            for rtol in TOLERANCES.into_iter().filter(possible) {
                let options = Options { rtol, until: m.until, ..Options::named(method).unwrap_or_default() };
                let options = options.with(|o| o.testing.budget = budget);
                ratios.extend(report((m.name, method), &s, &reference, options));
            }
        }
    }
    for (method, mut ratios) in tables {
        ratios.sort_by(f64::total_cmp);
        let within = ratios.iter().filter(|r| (0.1..=10.0).contains(*r)).count();
        let (least, most) = (ratios.first().copied().unwrap_or(0.0), ratios.last().copied().unwrap_or(0.0));
        println!(
            "{method:9} {within} of {} runs end within 0.1 to 10 times rtol; all within {least:.3} to {most:.1}",
            ratios.len()
        );
    }
}

/// A run to the end, with its state there and the largest error against another run.
fn attempt(s: &Arc<System>, options: Options) -> Option<(Summary, State)> {
    let mut simulation = Simulation::new(s.clone(), options).ok()?;
    let summary = simulation.run(&mut Silent);
    (summary.status == Status::Finished).then(|| (summary, simulation.state().clone()))
}

/// One line of the table; gives the error at the end, over what was asked for.
fn report((name, method): (&str, &str), s: &Arc<System>, reference: &State, options: Options) -> Option<f64> {
    let rtol = options.rtol;
    let Some((summary, state)) = attempt(s, options) else {
        println!("{name:17} {method:9} {rtol:.0e}   failed");
        return None;
    };
    let n = summary.statistics;
    let error = undamped::distance(s, reference, &state) / rtol;
    println!(
        "{name:17} {method:9} {rtol:.0e} {:7} steps {:5} refused {:8} evaluations {:7} of them beside  error {error:8.2} told {:8.2}",
        n.steps,
        n.error_test_failures + n.convergence_failures,
        n.residual_evaluations,
        summary.beside.residual_evaluations,
        summary.error.unwrap_or(f64::NAN) / rtol,
    );
    Some(error)
}
