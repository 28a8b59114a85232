//! Reproducible pseudo-random numbers, for tests and for trial points. Not for secrets.
//!
//! There are two generators because the numbers are part of results: assemblies and checks of models draw their trial points
//! from [`Xorshift`], tests draw their samples from [`Random`].

use crate::{Mat3, Quat, Vec3};

/// The 53 leading bits of `bits` as a number in [−1, 1).
fn signed_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// SplitMix64 [Steele, Lea & Flood 2014]: any seed will do, neighbouring ones too.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in [−1, 1).
    pub fn number(&mut self) -> f64 {
        signed_unit(self.bits())
    }

    /// An integer in 0..n, or 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.number() * 0.5 + 0.5) * n as f64) as usize
    }

    /// `n` numbers in [−1, 1).
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.number()).collect()
    }

    /// A vector with components in [−1, 1).
    pub fn vec3(&mut self) -> Vec3 {
        Vec3([self.number(), self.number(), self.number()])
    }

    /// A rotation by up to 3√3 rad.
    pub fn rotation(&mut self) -> Mat3 {
        Quat::exp(self.vec3() * 3.0).matrix()
    }
}

/// Xorshift64 with the shifts 13, 7, 17 [Marsaglia 2003]. The seed must not be zero: zero is a fixed point.
#[derive(Clone, Debug)]
pub struct Xorshift(pub u64);

impl Xorshift {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number in [−1, 1).
    pub fn number(&mut self) -> f64 {
        signed_unit(self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequences_are_the_published_ones() {
        // Vigna's splitmix64.c, seed 1234567
        let mut random = Random::new(1234567);
        assert_eq!([random.bits(), random.bits()], [6457827717110365317, 3203168211198807973]);
        // x ^= x << 13; x ^= x >> 7; x ^= x << 17 from 1
        let mut random = Xorshift(1);
        assert_eq!([random.bits(), random.bits()], [1082269761, 1152992998833853505]);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| (-1.0..1.0).contains(&random.number()) && random.below(7) < 7));
        assert_eq!(random.below(0), 0);
        let r = random.rotation();
        assert!((r.determinant() - 1.0).abs() < 1e-14);
        assert_eq!((signed_unit(0), signed_unit(u64::MAX) < 1.0), (-1.0, true));
    }
}
