//! Distributions of values, by their quantiles: whatever draws numbers between 0 and 1 draws from them.

/// What numbers are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Evenly between two numbers.
    Uniform {
        /// The least.
        from: f64,
        /// The greatest.
        to: f64,
    },
    /// Evenly on a logarithmic scale between two positive numbers.
    LogUniform {
        /// The least.
        from: f64,
        /// The greatest.
        to: f64,
    },
    /// Gauss's bell.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Numbers whose logarithm is normally distributed.
    LogNormal {
        /// The median.
        median: f64,
        /// The standard deviation of the logarithm.
        deviation: f64,
    },
    /// A triangle over an interval.
    Triangular {
        /// The least.
        from: f64,
        /// The most likely.
        mode: f64,
        /// The greatest.
        to: f64,
    },
}

impl Distribution {
    /// The value that is exceeded with the probability 1 − u, for 0 < u < 1.
    pub fn quantile(&self, u: f64) -> f64 {
        match *self {
            // neither end is passed by rounding
            Distribution::Uniform { from, to } => (from + u * (to - from)).clamp(from, to),
            Distribution::LogUniform { from, to } => (from.ln() + u * (to / from).ln()).exp().clamp(from, to),
            Distribution::Normal { mean, deviation } => mean + deviation * normal_quantile(u),
            Distribution::LogNormal { median, deviation } => median * (deviation * normal_quantile(u)).exp(),
            Distribution::Triangular { from, mode, to } => {
                let left = (mode - from) / (to - from);
                let value = if u < left {
                    from + (u * (to - from) * (mode - from)).sqrt()
                } else {
                    to - ((1.0 - u) * (to - from) * (to - mode)).sqrt()
                };
                value.clamp(from, to)
            }
        }
    }
}

/// The quantile of the standard normal distribution, to some 1e-16 of its value [Wichura 1988, AS 241].
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * ratio(r, &A, &B);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-tail.ln()).sqrt();
    let z = if r <= 5.0 { ratio(r - 1.6, &C, &D) } else { ratio(r - 5.0, &E, &F) };
    if q < 0.0 { -z } else { z }
}

/// A polynomial over another.
fn ratio(x: f64, above: &[f64; 8], below: &[f64; 8]) -> f64 {
    let value = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    value(above) / value(below)
}

const A: [f64; 8] = [
    3.3871328727963666080e0,
    1.3314166789178437745e+2,
    1.9715909503065514427e+3,
    1.3731693765509461125e+4,
    4.5921953931549871457e+4,
    6.7265770927008700853e+4,
    3.3430575583588128105e+4,
    2.5090809287301226727e+3,
];
const B: [f64; 8] = [
    1.0,
    4.2313330701600911252e+1,
    6.8718700749205790830e+2,
    5.3941960214247511077e+3,
    2.1213794301586595867e+4,
    3.9307895800092710610e+4,
    2.8729085735721942674e+4,
    5.2264952788528545610e+3,
];
const C: [f64; 8] = [
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
];
const D: [f64; 8] = [
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
];
const E: [f64; 8] = [
    6.65790464350110377720e0,
    5.46378491116411436990e0,
    1.78482653991729133580e0,
    2.96560571828504891230e-1,
    2.65321895265761230930e-2,
    1.24266094738807843860e-3,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
];
const F: [f64; 8] = [
    1.0,
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Φ(z) by Simpson's rule.
    fn area(z: f64) -> f64 {
        let n = 20_000;
        let h = z / f64::from(n);
        let f = |x: f64| (-0.5 * x * x).exp();
        let sum: f64 = (0..=n)
            .map(|k| {
                f(f64::from(k) * h)
                    * if k == 0 || k == n {
                        1.0
                    } else if k % 2 == 1 {
                        4.0
                    } else {
                        2.0
                    }
            })
            .sum();
        0.5 + sum * h / 3.0 / std::f64::consts::TAU.sqrt()
    }

    #[test]
    fn the_normal_quantile_inverts_the_area_under_the_bell() {
        for p in [1e-12, 1e-6, 0.01, 0.0749, 0.0751, 0.3, 0.5, 0.7, 0.9251, 0.99, 0.999999] {
            let found = area(normal_quantile(p));
            assert!((found - p).abs() < 3e-14, "{p}: {found}");
            if p > 1e-5 {
                assert!((normal_quantile(p) + normal_quantile(1.0 - p)).abs() < 1e-11, "{p}");
            }
        }
        assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-15);
        // far out, where the third pair of polynomials holds: known to 16 digits
        assert!((normal_quantile(1e-20) + 9.262340089798408).abs() < 1e-13);
    }

    #[test]
    fn quantiles_rise_and_keep_their_bounds() {
        let all = [
            Distribution::Uniform { from: -1.0, to: 3.0 },
            Distribution::LogUniform { from: 1e-3, to: 1e3 },
            Distribution::Normal { mean: 2.0, deviation: 0.5 },
            Distribution::LogNormal { median: 2.0, deviation: 0.3 },
            Distribution::Triangular { from: 0.0, mode: 1.0, to: 4.0 },
        ];
        for d in all {
            let values: Vec<f64> = (1..1000).map(|k| d.quantile(f64::from(k) / 1000.0)).collect();
            assert!(values.windows(2).all(|w| w[0] < w[1]), "{d:?}");
        }
        assert_eq!((all[0].quantile(0.5), all[2].quantile(0.5), all[3].quantile(0.5)), (1.0, 2.0, 2.0));
        assert!((all[1].quantile(0.5) - 1.0).abs() < 1e-15);
        // a quarter of the triangle is left of its mode
        assert_eq!(all[4].quantile(0.25), 1.0);
        let mean: f64 = (0..100_000).map(|k| all[4].quantile((f64::from(k) + 0.5) / 1e5)).sum::<f64>() / 1e5;
        assert!((mean - 5.0 / 3.0).abs() < 1e-6, "{mean}");
        assert_eq!(Distribution::Uniform { from: 0.1, to: 0.3 }.quantile(1.0), 0.3);
    }
}
