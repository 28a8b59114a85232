//! Random states for the tests that compare derivatives with differences.

use bellcrank_math::{Mat3, Quat, Vec3};

/// A small deterministic generator (splitmix64).
pub struct Random(u64);

impl Random {
    /// A generator with its seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number in [−1, 1).
    pub fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// `n` numbers in [−1, 1).
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.number()).collect()
    }

    /// A vector with components in [−1, 1).
    pub fn vec3(&mut self) -> Vec3 {
        Vec3([self.number(), self.number(), self.number()])
    }

    /// A rotation.
    pub fn rotation(&mut self) -> Mat3 {
        Quat::exp(self.vec3() * 3.0).matrix()
    }
}
