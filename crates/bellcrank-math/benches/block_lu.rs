//! Times of the block solvers: `cargo bench -p bellcrank-math --bench block_lu`. Symmetric elimination solves for the
//! lower triangle of the matrix, so its residual is not shown.

#[path = "../tests/samples/mod.rs"]
mod samples;

use bellcrank_math::linear::{block_lu::BlockLu, blocks::BlockMatrix, dense::DenseLu, solver::LinearSolver};
use bellcrank_math::random::Random;
use bellcrank_math::threads::team::Team;
use samples::{Form, Sample};
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

fn measure(name: &str, a: &BlockMatrix, bodies: usize, symmetric: bool) {
    let start = Instant::now();
    let analyze = if symmetric { BlockLu::for_symmetric } else { BlockLu::for_pattern };
    let mut lu = analyze(a.pattern()).expect("not too large");
    let analysis = start.elapsed().as_secs_f64() * 1e6 / bodies as f64;
    let repetitions = std::env::var("REPETITIONS")
        .ok()
        .and_then(|r| r.parse().ok())
        .unwrap_or((30_000_000 / a.values.len()).clamp(10, 20_000));
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
    let both = match lu.parts() {
        1 => String::new(),
        _ => Team::of(2).lead(|| {
            let factored = best(|| lu.factor(a).expect("regular"), repetitions);
            let solved = best(
                || {
                    x.copy_from_slice(&b);
                    lu.solve(&mut x).expect("sizes fit");
                },
                repetitions,
            );
            format!("  two threads {:4.2} × {:4.2} ×", factor / factored, solve / solved)
        }),
    };
    let mut residual: Vec<f64> = b.iter().map(|b| -b).collect();
    a.add_times(&x, &mut residual);
    let residual = residual.iter().fold(0.0, |m: f64, r| m.max(r.abs()));
    let n = bodies as f64;
    let residual = if symmetric { String::new() } else { format!("  residual {residual:.0e}") };
    println!(
        "{name:24} {bodies:7}  {:10}  analysis {analysis:7.3}  factor {:6.3}  solve {:6.3}  entries {:6.1}  {:5.2} Gflop/s{both}{residual}",
        lu.name(),
        factor / n,
        solve / n,
        lu.factor_entries() as f64 / n,
        1e-3 * lu.flops().factor as f64 / factor
    );
}

/// Dense LU beside block elimination, where models are small: µs of factors and one solution.
fn measure_small(bodies: usize) {
    let mut rng = Random::new(1);
    let mut chain = Sample { bodies: vec![3; bodies], ..Sample::default() };
    chain.random_joint(&mut rng, 2, &[0]);
    (1..bodies).for_each(|b| chain.random_joint(&mut rng, 2, &[b - 1, b]));
    let a = chain.matrix(Form::Index3, 1e3, &mut rng);
    let (mut lu, mut dense) = (BlockLu::for_pattern(a.pattern()).expect("small"), DenseLu::new());
    dense.analyze(a.pattern()).expect("small");
    let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).sin()).collect();
    let mut x = b.clone();
    let mut time = |solver: &mut dyn LinearSolver| {
        let many = || {
            for _ in 0..100 {
                x.copy_from_slice(&b);
                solver.factor(&a).expect("regular");
                solver.solve(&mut x).expect("sizes fit");
            }
        };
        best(many, 200) / 100.0
    };
    let (blocks, full) = (time(&mut lu), time(&mut dense));
    println!("chain of {bodies:3}, dimension {:3}: block LU {blocks:7.3}  dense LU {full:7.3}", b.len());
}

fn main() {
    // arguments: parts of names to run, all without
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let run = |name: &str, form: Form, bodies: usize, sample: &dyn Fn(&mut Random) -> Sample| {
        let name = format!("{name}, {}", if form == Form::Ggl { "GGL" } else { "index 3" });
        if wanted.is_empty() || wanted.iter().any(|w| format!("{name} {bodies}").ends_with(w.as_str())) {
            let mut rng = Random::new(1);
            let matrix = sample(&mut rng).matrix(form, 1e3, &mut rng);
            measure(&name, &matrix, bodies, false);
            if form == Form::Index3 {
                measure(&name, &matrix, bodies, true);
            }
        }
    };
    if wanted.is_empty() || wanted.iter().any(|w| w == "small") {
        [1, 2, 3, 5, 10, 20].into_iter().for_each(measure_small);
    }
    println!("µs and factor entries per body");
    for form in [Form::Index3, Form::Ggl] {
        for m in [33, 333, 3333, 33333] {
            run("ladder", form, 3 * m + 1, &|_| Sample::ladder(m));
        }
        for n in [1000, 100_000] {
            run("spatial chain", form, n, &|rng| {
                let mut chain = Sample { bodies: vec![6; n], ..Sample::default() };
                (1..n).for_each(|b| chain.random_joint(rng, 5, &[b - 1, b]));
                chain
            });
        }
        for n in [10, 30, 100] {
            run("net", form, n * n, &|_| Sample::net(n));
        }
    }
}
