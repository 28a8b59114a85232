//! Seconds of a step on chains of squares, nets and lattices: sequential regularization, loop-CG and elimination of the whole
//! system; and of a correction of an implicit step.
//!
//!     cargo bench -p bellcrank-reproduce --bench closed_loops [explicit|implicit] [LARGEST]
//!
//! Explicit: RK2 for all three, h = .001; the fastest of some steps, in seconds of the processor, with the evaluation of the model,
//! factors and projection. The cost of a step of sequential regularization is linear in the number of bodies: the last column tells
//! it per body. Implicit: the matrix of a fixed step on `index3`, factored and solved, and solved by loop-CG without factors.

use bellcrank_reproduce::clock::processor;
use bellcrank_reproduce::closed_loops::models::{bent_net, chain, lattice, net, system};
use bellcrank_reproduce::closed_loops::runs::{LoopMachine, Setup};
use bellcrank_solve::choices::Solver;
use bellcrank_solve::engines::Engine;
use bellcrank_solve::methods::tableau::RK2;
use std::time::Instant;

/// The fastest of some steps; those of small machines by the dozen, for the clock of the processor ticks.
fn fastest(engine: &mut dyn Engine, bodies: usize) -> f64 {
    let (wall, together) = (Instant::now(), (20_000 / bodies).clamp(1, 100));
    let mut least = f64::INFINITY;
    for _ in 0..4 {
        let began = processor(wall);
        for _ in 0..together {
            if engine.step(f64::INFINITY).is_err() {
                return f64::NAN;
            }
            engine.settle();
        }
        least = least.min(1e-9 * (processor(wall) - began) / together as f64);
    }
    least
}

fn explicit(largest: usize) {
    println!(
        "{:8} {:>7} {:>11} {:>11} {:>11} {:>14}",
        "machine", "n", "srm [s]", "loop-cg [s]", "direct [s]", "srm/body [µs]"
    );
    for kind in ["chain", "net", "lattice"] {
        // the factors of a lattice of 10⁵ rods do not fit
        let most = if kind == "lattice" { largest.min(10_000) } else { largest };
        for n in [100, 1000, 10_000, 100_000].into_iter().filter(|n| *n <= most) {
            let w = (n as f64 / 2.0).sqrt().round() as usize;
            let cube = (n as f64 / 3.0).cbrt().round() as usize + 1;
            let text = match kind {
                "chain" => chain(n / 4),
                "net" => net(w, w, 0.5, false),
                _ => lattice(cube, cube),
            };
            let machine = LoopMachine::at_rest(&text);
            let bodies = machine.system.model.bodies.len();
            let srm =
                machine.regularized(&RK2, 1e-3, Setup::default()).map_or(f64::NAN, |mut e| fastest(&mut e, bodies));
            let of = |solver: Solver| {
                machine.engine(&RK2, solver, Some(1e-3), 1e-6).map_or(f64::NAN, |mut e| fastest(&mut e, bodies))
            };
            let (cg, direct) = (of(Solver::LoopCg), of(Solver::Direct));
            println!("{kind:8} {bodies:7} {srm:11.3e} {cg:11.3e} {direct:11.3e} {:14.2}", 1e6 * srm / bodies as f64);
        }
    }
}

fn implicit(largest: usize) {
    println!(
        "{:14} {:>7} {:>9} {:>9} {:>9} {:>6} {:>5} {:>10} {:>10} {:>10} {:>9} {:>9} {:>8}",
        "machine",
        "n",
        "factor",
        "solve",
        "sweep",
        "plain",
        "with",
        "factor [s]",
        "solve [s]",
        "plain [s]",
        "whole/st",
        "loops/st",
        "apart"
    );
    let mut cases: Vec<(String, String, Option<Vec<f64>>)> = Vec::new();
    for m in [25, 250, 2500] {
        cases.push((format!("chain {m}"), chain(m), None));
    }
    for w in [10, 32, 71, 120, 224] {
        let earlier = system(&net(w, w, 0.5, false)).initial_state().q;
        cases.push((format!("net {w}"), bent_net(w, w, &|i| 0.5 - 0.1 * i as f64 / w as f64, false), Some(earlier)));
    }
    for w in [4, 6, 8, 10, 12, 16, 20] {
        cases.push((format!("lattice {w}"), lattice(w, w), None));
    }
    for (name, text, earlier) in cases {
        let machine = LoopMachine::at_rest(&text);
        let n = machine.system.model.bodies.len();
        if n > largest {
            continue;
        }
        // a factorization of more than so many operations takes minutes
        let eliminated = machine.step_costs(1e-3, None, false).is_some_and(|s| s.factor < 3e10);
        let earlier = earlier.filter(|_| eliminated);
        let Some(s) = machine.step_costs(1e-3, earlier.as_deref(), eliminated) else { continue };
        let (with, (whole, loops)) = (s.with.map_or("–".into(), |k| k.to_string()), s.costs());
        let [factor, solve, plain] = s.seconds;
        println!(
            "{name:14} {n:7} {:9.2e} {:9.2e} {:9.2e} {:6} {with:>5} {factor:10.2e} {solve:10.2e} {plain:10.2e} {whole:9.2e} {loops:9.2e} {:8.0e}",
            s.factor, s.solve, s.sweep, s.plain, s.off
        );
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let largest = words.iter().find_map(|a| a.parse().ok()).unwrap_or(10_000);
    let asked =
        |what: &str| !words.iter().any(|w| w == "explicit" || w == "implicit") || words.iter().any(|w| w == what);
    if asked("explicit") {
        explicit(largest);
    }
    if asked("implicit") {
        implicit(largest);
    }
}
