//! Seconds of a step on chains of squares and nets: sequential regularization, loop-CG and elimination of the whole system.
//!
//!     cargo bench -p bellcrank-reproduce --bench closed_loops [LARGEST]
//!
//! RK2 for all three, h = .001; the fastest of some steps, with the evaluation of the model, factors and projection. The cost of
//! a step of sequential regularization is linear in the number of bodies: the last column tells it per body.

use bellcrank_reproduce::closed_loops::models::{chain, net};
use bellcrank_reproduce::closed_loops::runs::{Machine, Setup};
use bellcrank_solve::engines::Engine;
use bellcrank_solve::methods::tableau::RK2;
use bellcrank_solve::options::Solver;
use std::time::Instant;

fn srm_step(machine: &Machine, steps: usize) -> f64 {
    let Some(mut engine) = machine.regularized(&RK2, 1e-3, Setup::default()) else { return f64::NAN };
    let mut least = f64::INFINITY;
    for _ in 0..steps {
        let clock = Instant::now();
        if engine.step(f64::INFINITY).is_err() {
            return f64::NAN;
        }
        least = least.min(clock.elapsed().as_secs_f64());
    }
    least
}

fn main() {
    let largest = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(10_000);
    println!(
        "{:12} {:>7} {:>11} {:>11} {:>11} {:>14}",
        "machine", "n", "srm [s]", "loop-cg [s]", "direct [s]", "srm/body [µs]"
    );
    for kind in ["chain", "net"] {
        for n in [100, 1000, 10_000, 100_000].into_iter().filter(|n| *n <= largest) {
            let w = (n as f64 / 2.0).sqrt().round() as usize;
            let (machine, n) = match kind {
                "chain" => (Machine::new(&chain(n / 4)), n / 4 * 4),
                _ => (Machine::new(&net(w, w, 0.5, false)), (2 * w - 1) * w),
            };
            let srm = srm_step(&machine, 5);
            let [cg, direct] = [Solver::LoopCg, Solver::Direct].map(|s| machine.explicit(&RK2, s, 1e-3, 5).seconds);
            println!("{kind:12} {n:7} {srm:11.3e} {cg:11.3e} {direct:11.3e} {:14.2}", 1e6 * srm / n as f64);
        }
    }
}
