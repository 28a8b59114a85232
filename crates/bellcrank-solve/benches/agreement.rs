//! Two thousand random machines by several methods and in both coordinates: how well they agree, kind by kind, and each
//! disagreement with the seed that draws it again. A machine that disagrees is run again at a hundredth of the tolerance: errors that
//! add up fall with it, and a wrong answer does not. `cargo bench -p bellcrank-solve --bench agreement [-- MACHINES [FIRST_SEED]] [KINDS]`;
//! with `-- KIND=SEED` the model file of one of them.

#[path = "../tests/common/machines.rs"]
mod machines;

use bellcrank_model::testing::Random;
use machines::{AGREEMENT, KINDS, RTOL, WAYS, compare};

/// The tolerance at which machines that disagree are run again, and what is to be left of the difference.
const FINER: f64 = 1e-2;
const LEFT: f64 = 0.1;

/// Prints the machine that is asked for; whether one was.
fn print_one() -> bool {
    let asked = std::env::args().find_map(|word| {
        let (kind, seed) = word.split_once('=')?;
        let (_, draw) = KINDS.iter().find(|(name, _)| *name == kind)?;
        Some((draw, seed.parse().ok()?))
    });
    if let Some((draw, seed)) = &asked {
        println!("{}", draw(&mut Random::new(*seed)));
    }
    asked.is_some()
}

/// The differences of the machines of one kind, and what there is to say of them.
#[derive(Default)]
struct Tally {
    differences: Vec<f64>,
    refused: usize,
    disagree: usize,
    unexplained: usize,
    words: Vec<String>,
}

impl Tally {
    fn look(&mut self, seed: u64, text: &str) {
        let outcome = match compare(text, RTOL) {
            Ok(outcome) => outcome,
            Err(e) => return self.words.push(format!("  seed {seed}: {e}")),
        };
        self.refused += outcome.refused.len();
        self.words.extend(outcome.refused.iter().map(|why| format!("  seed {seed}: {}", why.replace('\n', " "))));
        let apart = outcome.difference;
        self.differences.push(apart);
        if apart <= AGREEMENT {
            return;
        }
        let finer = compare(text, FINER * RTOL).map_or(f64::NAN, |o| o.difference * FINER);
        let is_explained = finer <= LEFT * apart;
        (self.disagree, self.unexplained) = (self.disagree + 1, self.unexplained + usize::from(!is_explained));
        let verdict = if is_explained { "errors that add up" } else { "NOT EXPLAINED" };
        let at = outcome.channel;
        self.words.push(format!("  seed {seed}: {apart:.1e} tolerances at {at}, {finer:.1e} at rtol/100: {verdict}"));
    }
}

fn main() {
    if print_one() {
        return;
    }
    let words: Vec<String> = std::env::args().collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let (wanted, first) = (numbers.first().copied().unwrap_or(2000), numbers.get(1).copied().unwrap_or(1000));
    let named = |kind: &str| words.iter().any(|word| word == kind);
    let any = !KINDS.iter().any(|(kind, _)| named(kind));
    let kinds: Vec<_> = KINDS.iter().filter(|(kind, _)| any || named(kind)).collect();
    let each = wanted.div_ceil(kinds.len() as u64);
    let runs = each as usize * WAYS.len();
    println!(
        "{:10} {:>8} {:>10} {:>10} {:>8} {:>9} {:>11}",
        "kind", "machines", "median", "largest", "refused", "disagree", "unexplained"
    );
    for (kind, draw) in kinds {
        let mut tally = Tally::default();
        (first..first + each).for_each(|seed| tally.look(seed, &draw(&mut Random::new(seed))));
        let Tally { mut differences, refused, disagree, unexplained, words } = tally;
        differences.sort_by(f64::total_cmp);
        let (median, largest) = (differences[differences.len() / 2], differences.last().copied().unwrap_or(0.0));
        println!("{kind:10} {each:8} {median:10.2e} {largest:10.2e} {refused:4}/{runs} {disagree:9} {unexplained:11}");
        words.iter().for_each(|line| println!("{line}"));
    }
}
