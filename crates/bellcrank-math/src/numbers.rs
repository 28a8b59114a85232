//! Sums and norms over slices, each written once.

/// a · b, summed from the front; over the shorter of the two.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// max |xᵢ|, zero for nothing. NaN entries are skipped, as by [`f64::max`]; [`worst`] keeps them.
#[inline]
pub fn largest<'a>(x: impl IntoIterator<Item = &'a f64>) -> f64 {
    // one instruction, where `f64::max` takes five
    x.into_iter().map(|x| x.abs()).fold(0.0, |m: f64, x| if x > m { x } else { m })
}

/// max xᵢ over numbers that are not negative, or NaN if there is one: for errors that must not be overlooked.
#[inline]
pub fn worst(x: impl IntoIterator<Item = f64>) -> f64 {
    x.into_iter().fold(0.0, |m: f64, x| if m.is_nan() || x <= m { m } else { x })
}

/// The power of two 2^−⌊log₂ x⌋, so that scaling by it rounds nothing and brings x into [1, 2); one where x is zero or not finite.
pub fn recip_of_power(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { (-x.log2().floor()).exp2() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_of_slices() {
        assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, -5.0]), -6.0);
        assert_eq!((largest(&[1.0, -3.0, 2.0]), largest(&[])), (3.0, 0.0));
        assert_eq!(largest(&[f64::NAN, -1.0]), 1.0);
        assert!(worst([1.0, f64::NAN, 2.0]).is_nan() && worst([1.0, 3.0, 2.0]) == 3.0);
        assert_eq!((recip_of_power(5.0), recip_of_power(0.0), recip_of_power(f64::NAN)), (0.25, 1.0, 1.0));
    }
}
