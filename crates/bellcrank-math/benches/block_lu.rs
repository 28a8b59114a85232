//! Times of the block solver: `cargo bench -p bellcrank-math --bench block_lu`.

#[path = "../tests/samples/mod.rs"]
mod samples;

use bellcrank_math::{block_lu::BlockLu, blocks::BlockMatrix, solver::LinearSolver};
use samples::{Form, Random, Sample};
use std::time::Instant;

/// The best of several times, in microseconds.
fn best(mut run: impl FnMut(), repetitions: usize) -> f64 {
    (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::INFINITY, f64::min)
}

fn measure(name: &str, a: &BlockMatrix, bodies: usize) {
    let start = Instant::now();
    let mut lu = BlockLu::for_pattern(a.pattern()).expect("not too large");
    let analysis = start.elapsed().as_secs_f64() * 1e6 / bodies as f64;
    let repetitions = (3_000_000 / a.values.len()).clamp(10, 2000);
    let factor = best(|| lu.factor(a).expect("regular"), repetitions);
    let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).sin()).collect();
    let mut x = b.clone();
    let solve = best(
        || {
            x.copy_from_slice(&b);
            lu.solve(&mut x).expect("sizes fit");
        },
        repetitions,
    );
    let mut residual: Vec<f64> = b.iter().map(|b| -b).collect();
    a.add_times(&x, &mut residual);
    let residual = residual.iter().fold(0.0, |m: f64, r| m.max(r.abs()));
    let n = bodies as f64;
    println!(
        "{name:24} {bodies:7}  analysis {analysis:7.3}  factor {:6.3}  solve {:6.3}  entries {:6.1}  residual {residual:.0e}",
        factor / n,
        solve / n,
        lu.factor_entries() as f64 / n
    );
}

fn main() {
    println!("µs and factor entries per body");
    let mut rng = Random(1);
    for m in [33, 333, 3333, 33333] {
        let ladder = Sample::ladder(m);
        measure("ladder, index 3", &ladder.matrix(Form::Index3, 1e3, &mut rng), 3 * m + 1);
    }
    for m in [333, 33333] {
        let ladder = Sample::ladder(m);
        measure("ladder, GGL", &ladder.matrix(Form::Ggl, 1e3, &mut rng), 3 * m + 1);
    }
    for n in [1000, 100_000] {
        let mut chain = Sample { bodies: vec![6; n], ..Sample::default() };
        (1..n).for_each(|b| chain.random_joint(&mut rng, 5, &[b - 1, b]));
        measure("spatial chain, index 3", &chain.matrix(Form::Index3, 1e3, &mut rng), n);
        measure("spatial chain, GGL", &chain.matrix(Form::Ggl, 1e3, &mut rng), n);
    }
    for n in [10, 30, 100] {
        measure("net, index 3", &Sample::net(n).matrix(Form::Index3, 1e3, &mut rng), n * n);
    }
}
