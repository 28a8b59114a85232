//! Two thousand random machines by several methods and in both coordinates: how well they agree, kind by kind, and each
//! disagreement with the seed that draws it again. `cargo bench -p bellcrank-solve --bench agreement [-- MACHINES]`; with
//! `-- KIND SEED` the model file of one of them.

#[path = "../tests/common/machines.rs"]
mod machines;

use bellcrank_model::testing::Random;
use machines::{AGREEMENT, KINDS, WAYS, compare};

/// Prints the machine that is asked for; whether one was.
fn print_one() -> bool {
    let words: Vec<String> = std::env::args().collect();
    let asked = words.windows(2).find_map(|pair| {
        let (_, draw) = KINDS.iter().find(|(kind, _)| *kind == pair[0])?;
        Some((draw, pair[1].parse().ok()?))
    });
    if let Some((draw, seed)) = &asked {
        println!("{}", draw(&mut Random::new(*seed)));
    }
    asked.is_some()
}

fn main() {
    if print_one() {
        return;
    }
    let wanted = std::env::args().filter_map(|a| a.parse::<u64>().ok()).next().unwrap_or(2000);
    let each = wanted.div_ceil(KINDS.len() as u64);
    println!("{:10} {:>8} {:>10} {:>10} {:>8} {:>9}", "kind", "machines", "median", "largest", "refused", "disagree");
    for (kind, draw) in KINDS {
        let (mut differences, mut refused, mut words) = (Vec::new(), 0, Vec::new());
        for seed in 1000..1000 + each {
            match compare(&draw(&mut Random::new(seed))) {
                Ok(outcome) => {
                    refused += outcome.refused.len();
                    if outcome.difference.is_nan() || outcome.difference > AGREEMENT {
                        words.push(format!(
                            "  seed {seed}: {:.2e} tolerances at {}",
                            outcome.difference, outcome.channel
                        ));
                    }
                    words
                        .extend(outcome.refused.iter().map(|why| format!("  seed {seed}: {}", why.replace('\n', " "))));
                    differences.push(outcome.difference);
                }
                Err(e) => words.push(format!("  seed {seed}: {e}")),
            }
        }
        differences.sort_by(f64::total_cmp);
        let disagree = differences.iter().filter(|d| d.is_nan() || **d > AGREEMENT).count();
        let (median, largest) = (differences[differences.len() / 2], differences.last().copied().unwrap_or(0.0));
        let runs = each as usize * WAYS.len();
        println!("{kind:10} {each:8} {median:10.2e} {largest:10.2e} {refused:4}/{runs} {disagree:9}");
        words.iter().take(20).for_each(|line| println!("{line}"));
    }
}
