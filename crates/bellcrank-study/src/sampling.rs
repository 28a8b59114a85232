//! Numbers between 0 and 1, by a rule and a seed: Monte Carlo, Latin hypercube and Sobol's sequence.
//!
//! Every number is a function of the seed, the axis and the index of the sample, so that samples are the same on every machine and
//! in any order. None of them is 0 or 1, where a normal distribution has no quantile.

use std::sync::LazyLock;

/// How points are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// One point in every slice of every axis [McKay, Beckman & Conover 1979].
    #[default]
    LatinHypercube,
    /// A sequence that fills the cube evenly, shifted by the seed [Sobol' 1967; Joe & Kuo 2008].
    Sobol,
    /// Independent numbers.
    MonteCarlo,
}

/// The words for them.
pub const SAMPLINGS: &[&str] = &["latin-hypercube", "sobol", "monte-carlo"];

impl Sampling {
    /// The one with this name.
    pub fn by_name(name: &str) -> Option<Sampling> {
        [Sampling::LatinHypercube, Sampling::Sobol, Sampling::MonteCarlo].into_iter().find(|s| s.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        SAMPLINGS[self as usize]
    }
}

/// A hash of numbers with good bits: the finalizer of SplitMix64, chained [Steele, Lea & Flood 2014].
fn mixed(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0, |state: u64, part| {
        let mut z = (state ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The middle of one of 2⁵² cells of (0, 1).
fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// A bijection of 0..n by a seed: a Feistel network on the least power of four that holds n, walked until it falls into n again
/// [Black & Rogaway 2002]. Nothing is stored, however many samples there are.
fn permuted(index: u64, n: u64, seed: u64, axis: u64) -> u64 {
    let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2).div_ceil(2);
    let mask = (1u64 << bits) - 1;
    let mut at = index;
    loop {
        let (mut left, mut right) = (at >> bits, at & mask);
        for round in 0..6 {
            (left, right) = (right, left ^ (mixed([seed, axis ^ (round << 32), right]) & mask));
        }
        at = left << bits | right;
        if at < n {
            return at;
        }
    }
}

/// Draws samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler {
    /// How.
    pub how: Sampling,
    /// By what seed.
    pub seed: u64,
    /// How many.
    pub samples: u64,
}

impl Sampler {
    /// The number of a sample on an axis.
    pub fn draw(&self, index: u64, axis: usize) -> f64 {
        let chance = |about: u64| mixed([self.seed, axis as u64 ^ about << 48, index]);
        match self.how {
            Sampling::MonteCarlo => unit(chance(1)),
            Sampling::LatinHypercube => {
                let slice = permuted(index, self.samples, self.seed, axis as u64) as f64;
                (slice + unit(chance(2))) / self.samples as f64
            }
            Sampling::Sobol => {
                let shift = mixed([self.seed, axis as u64 ^ 3 << 48, 0]) as u32;
                (f64::from(sobol(index as u32, axis) ^ shift) + 0.5) / (1u64 << 32) as f64
            }
        }
        .clamp(f64::EPSILON / 4.0, 1.0 - f64::EPSILON / 2.0)
    }
}

/// Primitive polynomials and first numbers of the axes after the first: degree, coefficients, m₁ … m_s
/// [Joe & Kuo 2008, new-joe-kuo-6.21201].
const DIRECTIONS: &[(u32, u32, &[u32])] = &[
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// Sobol's sequence is known here for this many axes.
pub const SOBOL_AXES: usize = 21;

/// The direction numbers of all axes, as fractions of 2³².
static NUMBERS: LazyLock<Vec<[u32; 32]>> = LazyLock::new(|| {
    let of = |axis: usize| {
        let mut v: [u32; 32] = std::array::from_fn(|k| 1 << (31 - k)); // van der Corput's sequence
        let Some(&(degree, coefficients, first)) = axis.checked_sub(1).and_then(|a| DIRECTIONS.get(a)) else {
            return v;
        };
        let degree = degree as usize;
        for k in 0..32 {
            let inner = (1..degree).filter(|j| coefficients >> (degree - 1 - j) & 1 == 1);
            v[k] = match first.get(k) {
                Some(m) => m << (31 - k),
                None => inner.fold(v[k - degree] ^ v[k - degree] >> degree, |sum, j| sum ^ v[k - j]),
            };
        }
        v
    };
    (0..SOBOL_AXES).map(of).collect()
});

/// A number of Sobol's sequence, as a fraction of 2³², in the order of Gray's code.
pub fn sobol(index: u32, axis: usize) -> u32 {
    let gray = index ^ index >> 1;
    let v = &NUMBERS[axis % SOBOL_AXES];
    (0..32).filter(|k| gray >> k & 1 == 1).fold(0, |sum, k| sum ^ v[k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latin_hypercube_has_one_point_in_every_slice() {
        for n in [1u64, 2, 7, 64, 1000] {
            let sampler = Sampler { how: Sampling::LatinHypercube, seed: 5, samples: n };
            for axis in 0..4 {
                let mut slices: Vec<u64> = (0..n).map(|i| (sampler.draw(i, axis) * n as f64) as u64).collect();
                slices.sort_unstable();
                assert_eq!(slices, (0..n).collect::<Vec<_>>(), "{n} {axis}");
            }
        }
        let orders: Vec<Vec<u64>> = (0..3).map(|axis| (0..50).map(|i| permuted(i, 50, 1, axis)).collect()).collect();
        assert!(orders[0] != orders[1] && orders[1] != orders[2]);
    }

    /// The defining property of a (t, m, s)-net: in any two of the first axes, each of 16 boxes of equal size has its share.
    #[test]
    fn sobols_sequence_fills_elementary_boxes_and_starts_as_published() {
        // points 0 to 3 of the first three axes
        let first: Vec<Vec<f64>> =
            (0..4).map(|i| (0..3).map(|a| f64::from(sobol(i, a)) / 4294967296.0).collect()).collect();
        assert_eq!(first, [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]);
        for axis in 0..SOBOL_AXES {
            let mut slices: Vec<u32> = (0..1024).map(|i| sobol(i, axis) >> 22).collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..1024).collect::<Vec<_>>(), "{axis}");
        }
        for (a, b) in [(0, 1), (1, 2), (2, 3), (0, 4)] {
            let mut boxes = [0; 16];
            (0..256).for_each(|i| boxes[(sobol(i, a) >> 30 << 2 | sobol(i, b) >> 30) as usize] += 1);
            assert_eq!(boxes, [16; 16], "{a} {b}");
        }
    }

    #[test]
    fn every_rule_is_even_depends_on_its_seed_and_stays_inside() {
        for how in [Sampling::LatinHypercube, Sampling::Sobol, Sampling::MonteCarlo] {
            let draw = |seed| {
                let sampler = Sampler { how, seed, samples: 4096 };
                (0..4096).map(|i| [sampler.draw(i, 0), sampler.draw(i, 1)]).collect::<Vec<_>>()
            };
            let (points, others) = (draw(1), draw(2));
            assert!(points != others && points == draw(1), "{how:?}");
            assert!(points.iter().flatten().all(|u| *u > 0.0 && *u < 1.0));
            let mean = |f: &dyn Fn(&[f64; 2]) -> f64| points.iter().map(f).sum::<f64>() / 4096.0;
            // ∫u, ∫v and ∫uv over the square; three standard deviations of Monte Carlo
            for (found, expected) in [(mean(&|p| p[0]), 0.5), (mean(&|p| p[1]), 0.5), (mean(&|p| p[0] * p[1]), 0.25)] {
                assert!((found - expected).abs() < 3.0 * 0.29 / 64.0, "{how:?}: {found}");
            }
            assert_eq!(Sampling::by_name(how.name()), Some(how));
        }
    }
}
