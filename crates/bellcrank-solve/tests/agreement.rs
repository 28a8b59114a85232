//! Random machines by several methods and in both coordinates: they agree, or say why not.
//! `cargo bench -p bellcrank-solve --bench agreement` asks 2000 of them.

#[path = "common/machines.rs"]
mod machines;

use bellcrank_model::testing::Random;
use machines::{AGREEMENT, KINDS, RTOL, WAYS, compare};

#[test]
fn random_machines_agree_or_are_refused() {
    let mut wrong = Vec::new();
    for (kind, draw) in KINDS {
        let (mut ran, machines) = (0, 12);
        for seed in 0..machines {
            let text = draw(&mut Random::new(seed));
            let outcome = compare(&text, RTOL).unwrap_or_else(|e| panic!("{kind} {seed}: {e}\n{text}"));
            ran += usize::from(outcome.refused.len() < WAYS.len());
            if outcome.difference.is_nan() || outcome.difference > AGREEMENT {
                wrong.push(format!(
                    "{kind} {seed}: {:.3e} tolerances at {}; refused: {:?}",
                    outcome.difference, outcome.channel, outcome.refused
                ));
            }
            for why in outcome.refused.iter().filter(|why| why.len() < 40) {
                wrong.push(format!("{kind} {seed}: refused without a reason: {why}"));
            }
        }
        assert!(ran as u64 >= machines * 3 / 4, "{kind}: only {ran} of {machines} ran");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
