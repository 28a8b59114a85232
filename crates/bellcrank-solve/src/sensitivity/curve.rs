//! Curves through rows: values between them, integrals and extremes.

/// Rows that a polynomial goes through.
const WINDOW: usize = 8;

/// Gauss's points and weights on [0, 1] for polynomials up to degree 15: a product of two of degree 7 has 14.
const GAUSS: [(f64, f64); 8] = [
    (0.019_855_071_751_231_912, 0.050_614_268_145_188_53),
    (0.101_666_761_293_186_64, 0.111_190_517_226_687_21),
    (0.237_233_795_041_835_5, 0.156_853_322_938_943_44),
    (0.408_282_678_752_175_1, 0.181_341_891_689_180_83),
    (0.591_717_321_247_824_8, 0.181_341_891_689_180_83),
    (0.762_766_204_958_164_5, 0.156_853_322_938_943_44),
    (0.898_333_238_706_813_4, 0.111_190_517_226_687_21),
    (0.980_144_928_248_768_1, 0.050_614_268_145_188_53),
];

/// The places of the rows around an interval, among so many.
pub(super) fn window(interval: usize, rows: usize) -> std::ops::Range<usize> {
    let size = WINDOW.min(rows);
    let first = (interval + 1).saturating_sub(size / 2).min(rows - size);
    first..first + size
}

/// The weights of the values at some times in the value at another, of the polynomial through all.
pub(super) fn bases(times: &[f64], t: f64) -> Vec<f64> {
    let basis = |j: usize| {
        let factor = |m: usize| if m == j { 1.0 } else { (t - times[m]) / (times[j] - times[m]) };
        (0..times.len()).map(factor).product::<f64>()
    };
    (0..times.len()).map(basis).collect()
}

/// The times and weights of an integral between two times.
pub(super) fn gauss(from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> {
    GAUSS.iter().map(move |(x, weight)| (from + x * (to - from), weight * (to - from)))
}

/// Where a smooth function is largest between two times: by golden sections.
pub(super) fn largest(mut from: f64, mut to: f64, f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    for _ in 0..60 {
        let (a, b) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
        if f(a) < f(b) {
            from = a;
        } else {
            to = b;
        }
    }
    0.5 * (from + to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_of_the_seventh_degree_is_met_integrated_and_levelled() {
        let times: Vec<f64> = (0..9).map(|k| 0.3 * k as f64 + 0.02 * (k % 3) as f64).collect();
        let p = |t: f64| 1.0 - 2.0 * t + 0.3 * t.powi(3) - 0.05 * t.powi(5) + 0.007 * t.powi(7);
        let rows = window(4, times.len());
        assert_eq!(rows, 1..9);
        let near = &times[rows.clone()];
        let between = |t: f64| bases(near, t).iter().zip(near).map(|(basis, t)| basis * p(*t)).sum::<f64>();
        assert!((between(1.4) - p(1.4)).abs() < 1e-13);
        let whole = |t: f64| t - t * t + 0.075 * t.powi(4) - 0.05 / 6.0 * t.powi(6) + 0.007 / 8.0 * t.powi(8);
        let integral: f64 = gauss(1.2, 1.5).map(|(t, weight)| weight * between(t)).sum();
        assert!((integral - (whole(1.5) - whole(1.2))).abs() < 1e-13);
        let top = largest(1.0, 2.6, |t| -(t - 1.7).powi(2));
        assert!((top - 1.7).abs() < 1e-7, "{top}");
    }
}
