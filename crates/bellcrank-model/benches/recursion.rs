//! Forward dynamics of the open chain: `cargo bench -p bellcrank-model --bench recursion [-- LINKS…]`.
//!
//! n revolute unit rods in space at qᵢ = .1 sin i, q̇ᵢ = .1 cos i; a second chain has its axes turned by .3 i rad. Times
//! are those of the processor, so that other work on the machine does not count.

use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, Point, Relative};
use std::fmt::Write;
use std::time::Instant;

fn chain(n: usize, skew: f64) -> Relative {
    let mut text = String::from("[model]\ngravity = [0, -9.81, 0]\n");
    for i in 0..n {
        let before = if i == 0 { "ground".to_string() } else { format!("b{}", i - 1) };
        let (y, z) = (skew * i as f64).sin_cos();
        let _ = write!(
            text,
            "[body.b{i}]\nmass = 1\ninertia = [1e-3, 0.08333333333333333, 0.08333333333333333]\nat = [{}, 0, 0]\n\
             [joint.j{i}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"b{i}\"]\nat = [{i}, 0, 0]\naxis = [0, {y}, {z}]\n",
            i as f64 + 0.5
        );
    }
    let system = match read_text("chain.toml", &text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    };
    let start = Point::at(&system.initial_state(), system.layout());
    system.relative(&start)
}

/// Nanoseconds of the processor so far, where the system tells; else of the clock.
fn processor(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = told.and_then(|t| t.split_whitespace().next().and_then(|x| x.parse::<f64>().ok()));
    first.unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![10, 100, 1000, 10_000, 100_000] } else { given };
    println!("  links    skew   µs per link   first acceleration");
    for skew in [0.0, 0.3] {
        for &n in &sizes {
            let r = chain(n, skew);
            let mut p = Point::at(&r.initial_state(), r.layout());
            for i in 0..n {
                let k = (i + 1) as f64;
                (p.q[i], p.v[i]) = (0.1 * k.sin(), 0.1 * k.cos());
            }
            let mut w = r.workspace();
            let clock = Instant::now();
            let times = (2_000_000 / n).max(4);
            let mut best = f64::INFINITY;
            for _ in 0..10 {
                let before = processor(clock);
                for _ in 0..times {
                    w.invalidate();
                    r.realize(&p, &mut w);
                    r.recursion(&mut p, &mut w).expect("every rod has inertia");
                }
                best = best.min((processor(clock) - before) / (times * n) as f64);
            }
            println!("{n:7} {skew:7} {:13.4} {:20.9}", best * 1e-3, p.vdot[0]);
        }
    }
}
