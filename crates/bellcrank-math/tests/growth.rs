//! Memory and work of the block solver grow with the number of bodies, by counts.

mod samples;

use bellcrank_math::linear::block_lu::BlockLu;
use bellcrank_math::linear::solver::LinearSolver;
use bellcrank_math::random::Random;
use samples::{Form, Sample};

/// Entries of the factors, and multiplications and additions of a factorization and a solution.
fn cost(sample: Sample) -> [f64; 3] {
    let matrix = sample.matrix(Form::Index3, 1.0, &mut Random::new(1));
    let of = |lu: BlockLu| [lu.factor_entries() as f64, lu.flops().factor as f64, lu.flops().solve as f64];
    let general = of(BlockLu::for_pattern(matrix.pattern()).expect("not too large"));
    let symmetric = of(BlockLu::for_symmetric(matrix.pattern()).expect("not too large"));
    assert!(symmetric[0] < 0.7 * general[0] && symmetric[1] < general[1], "{symmetric:?} for {general:?}");
    symmetric
}

fn assert_growth(name: &str, [few, many]: [usize; 2], most: f64, make: impl Fn(usize) -> (usize, Sample)) {
    let ((n, small), (m, large)) = (make(few), make(many));
    let (small, large) = (cost(small), cost(large));
    for (k, what) in ["entries", "flops of the factors", "flops of a solution"].into_iter().enumerate() {
        let exponent = (large[k] / small[k]).ln() / (m as f64 / n as f64).ln();
        assert!(exponent <= most, "{name}: {what} grow with exponent {exponent:.3}");
    }
}

#[test]
fn chains_trees_and_ladders_cost_as_much_as_they_are_long() {
    assert_growth("chain", [100, 100_000], 1.05, |n| (n, Sample::tree(&mut Random::new(1), &[3], n, 1)));
    assert_growth("tree", [100, 100_000], 1.05, |n| (n, Sample::tree(&mut Random::new(2), &[3], n, n / 4)));
    assert_growth("ladder", [33, 33_333], 1.05, |m| (3 * m + 1, Sample::ladder(m)));
}

#[test]
fn nets_grow_at_most_with_the_power_of_three_halves() {
    assert_growth("net", [10, 100], 1.5, |n| (n * n, Sample::net(n)));
}
