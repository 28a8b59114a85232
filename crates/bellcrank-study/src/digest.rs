//! Digests of texts and values: FNV-1a of 128 bits [Fowler, Noll & Vo 1991].
//!
//! They tell sets of values apart, and whether a study is the one that was begun. Nobody gains by a collision, so that nothing
//! cryptographic is needed.

const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// A digest that grows with what is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u128);

impl Default for Digest {
    fn default() -> Digest {
        Digest(BASIS)
    }
}

impl Digest {
    /// Adds bytes and their number, so that neighbours do not run into each other.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    /// The number.
    pub fn value(self) -> u128 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_published_one_and_keeps_neighbours_apart() {
        // of "a", as published with the algorithm
        let plain = (BASIS ^ u128::from(b'a')).wrapping_mul(PRIME);
        assert_eq!(plain, 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        let of = |parts: &[&str]| {
            let mut digest = Digest::default();
            parts.iter().for_each(|p| digest.add(p.as_bytes()));
            digest.value()
        };
        assert!(of(&["ab", "c"]) != of(&["a", "bc"]) && of(&[]) != of(&[""]) && of(&["x"]) == of(&["x"]));
    }
}
