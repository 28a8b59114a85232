//! Pseudo-random numbers for trial loads and detours.

/// Numbers in [−1, 1] that look random: xorshift [Marsaglia 2003].
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        for shift in [13i32, -7, 17] {
            self.0 ^= if shift > 0 { self.0 << shift } else { self.0 >> -shift };
        }
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
