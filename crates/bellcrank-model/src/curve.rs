//! Smooth functions through points, piecewise cubic: characteristics of springs, tables over time.

use crate::dynamics::StateLaw;
use crate::file::Jet;

/// What a curve does beyond its first and last point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It keeps the value of the last point.
    Hold,
    /// It runs on along its tangent.
    Line,
}

/// A function through points (xᵢ, yᵢ): between them the cubic with the slopes dᵢ at its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    x: Box<[f64]>,
    y: Box<[f64]>,
    slope: Box<[f64]>,
    /// ∫ from x₀ to xᵢ.
    area: Box<[f64]>,
    /// ∫ from x₀ to 0.
    area_to_zero: f64,
    beyond: Beyond,
    /// The knots that matter: no cubic over several pieces stands in for what is between two of them.
    knots: Box<[f64]>,
}

/// Within this fraction of the range of its values a cubic may stand in for several pieces of a curve.
const ALIKE: f64 = 1e-4;

/// f(x₀ + s) = y + s (d + s (c₂ + s c₃)).
struct Cubic {
    s: f64,
    y: f64,
    d: f64,
    c2: f64,
    c3: f64,
    area: f64,
}

impl Curve {
    /// The curve that is monotone wherever the points are, once differentiable [Fritsch & Butland 1984].
    pub fn monotone(points: &[[f64; 2]], beyond: Beyond) -> Result<Curve, String> {
        Curve::new(points, beyond, monotone_slopes)
    }

    /// The cubic spline, twice differentiable; it has no knot at its second and last but one point and so
    /// reproduces cubics [de Boor 1978, ch. IV].
    pub fn spline(points: &[[f64; 2]], beyond: Beyond) -> Result<Curve, String> {
        Curve::new(points, beyond, spline_slopes)
    }

    fn new(points: &[[f64; 2]], beyond: Beyond, slopes: fn(&[f64], &[f64]) -> Vec<f64>) -> Result<Curve, String> {
        if points.len() < 2 {
            return Err(format!("has {} but needs two or more", crate::file::suggest::count(points.len(), "point")));
        }
        if let Some(i) = points.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
            return Err(format!("has a number that is not finite in point {}", i + 1));
        }
        if let Some(i) = (1..points.len()).find(|&i| points[i][0] <= points[i - 1][0]) {
            let (a, b) = (points[i - 1][0], points[i][0]);
            return Err(format!("must go upward, but point {} at {b} comes after {a}", i + 1));
        }
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|p| (p[0], p[1])).unzip();
        let h: Vec<f64> = x.windows(2).map(|w| w[1] - w[0]).collect();
        let rise: Vec<f64> = y.windows(2).zip(&h).map(|(w, h)| (w[1] - w[0]) / h).collect();
        let slope = if rise.len() == 1 { vec![rise[0]; 2] } else { slopes(&h, &rise) };
        let area = vec![0.0; x.len()].into();
        let knots = knots_that_matter(&x, &y, &slope, beyond);
        let mut curve = Curve { x: x.into(), y: y.into(), slope: slope.into(), area, area_to_zero: 0.0, beyond, knots };
        for i in 1..curve.x.len() {
            curve.area[i] = curve.piece(i - 1, curve.x[i]).integral();
        }
        curve.area_to_zero = curve.at(0.0).integral();
        Ok(curve)
    }

    /// The number of the stretch between two knots that matter in which all of lo … hi lies.
    pub fn stretch(&self, lo: f64, hi: f64) -> Option<usize> {
        let k = self.knots.partition_point(|k| *k <= lo);
        self.knots.get(k).is_none_or(|next| hi < *next).then_some(k)
    }

    fn piece(&self, i: usize, x: f64) -> Cubic {
        let h = self.x[i + 1] - self.x[i];
        let rise = (self.y[i + 1] - self.y[i]) / h;
        let (d, d1) = (self.slope[i], self.slope[i + 1]);
        let (c2, c3) = ((3.0 * rise - 2.0 * d - d1) / h, (d + d1 - 2.0 * rise) / (h * h));
        Cubic { s: x - self.x[i], y: self.y[i], d, c2, c3, area: self.area[i] }
    }

    fn at(&self, x: f64) -> Cubic {
        let last = self.x.len() - 1;
        let outside = if x < self.x[0] {
            0
        } else if x >= self.x[last] {
            last
        } else {
            // NaN ends here too, and stays NaN
            let i = self.x.partition_point(|k| *k <= x).saturating_sub(1);
            return self.piece(i.min(last - 1), x);
        };
        let d = if self.beyond == Beyond::Line { self.slope[outside] } else { 0.0 };
        Cubic { s: x - self.x[outside], y: self.y[outside], d, c2: 0.0, c3: 0.0, area: self.area[outside] }
    }

    /// f(x).
    pub fn value(&self, x: f64) -> f64 {
        let c = self.at(x);
        c.y + c.s * (c.d + c.s * (c.c2 + c.s * c.c3))
    }

    /// f, f′ and f″ at x.
    pub fn jet(&self, x: f64) -> Jet {
        let Cubic { s, y, d, c2, c3, .. } = self.at(x);
        Jet {
            value: y + s * (d + s * (c2 + s * c3)),
            rate: d + s * (2.0 * c2 + 3.0 * s * c3),
            second: 2.0 * c2 + 6.0 * s * c3,
        }
    }

    /// Whether it is a line: two points, beyond which it runs on.
    pub fn is_line(&self) -> bool {
        self.x.len() == 2 && self.beyond == Beyond::Line
    }

    /// ∫ f from 0 to x, exactly.
    pub fn integral(&self, x: f64) -> f64 {
        self.at(x).integral() - self.area_to_zero
    }
}

impl StateLaw for Curve {
    fn value(&self, x: &[f64]) -> f64 {
        self.value(x[0])
    }

    /// Between its knots a cubic lies within the hull of its Bernstein coefficients.
    fn bounds(&self, x: &[[f64; 2]]) -> [f64; 2] {
        let [from, to] = x[0];
        let inside = self.x.partition_point(|x| *x <= from)..self.x.partition_point(|x| *x < to);
        let mut bounds = [f64::INFINITY, f64::NEG_INFINITY];
        let mut a = from;
        for b in self.x.get(inside).unwrap_or_default().iter().copied().chain([to]) {
            let third = (b - a) / 3.0;
            let (before, behind) = (self.jet(a), self.jet(b));
            let bent = [before.value + third * before.rate, behind.value - third * behind.rate];
            let inner = self.x[0] <= a && b <= self.x[self.x.len() - 1];
            for c in [before.value, behind.value].into_iter().chain(bent.into_iter().filter(|_| inner)) {
                bounds = [bounds[0].min(c), bounds[1].max(c)];
            }
            a = b;
        }
        bounds
    }
}

impl Cubic {
    fn integral(&self) -> f64 {
        let Cubic { s, y, d, c2, c3, area } = self;
        area + s * (y + s * (d / 2.0 + s * (c2 / 3.0 + s * c3 / 4.0)))
    }
}

/// A few of the knots, chosen from left to right, each as far on as the cubic from the last one meets all knots between
/// them. A table of many samples of a smooth signal has few of them; where a pulse rises out of nothing there is one. At its
/// ends a curve matters where it is bent there.
fn knots_that_matter(x: &[f64], y: &[f64], slope: &[f64], beyond: Beyond) -> Box<[f64]> {
    let last = x.len() - 1;
    let (low, high) = y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(*y), b.max(*y)));
    let range = high - low;
    let still = |k: usize| slope[k].abs() * (x[last] - x[0]) <= 1e-9 * range;
    let bent = |k: usize| match beyond {
        Beyond::Hold => !still(k) || y[if k == 0 { 1 } else { last - 1 }] != y[k],
        Beyond::Line => true,
    };
    let meets = |i: usize, j: usize| {
        let h = x[j] - x[i];
        (i + 1..j).all(|k| {
            let s = (x[k] - x[i]) / h;
            let (a, b) = (s * s * (3.0 - 2.0 * s), s * (1.0 - s));
            let cubic = y[i] + (y[j] - y[i]) * a + h * b * ((1.0 - s) * slope[i] - s * slope[j]);
            let steep = (slope[k] * h).abs().min(range);
            (cubic - y[k]).abs() <= ALIKE * range.max(0.0) + 1e-3 * ALIKE * steep
        })
    };
    let mut knots = Vec::new();
    let mut i = 0;
    while i < last {
        // twice as far while that does, then back by halves
        let (mut good, mut bad) = (i + 1, None);
        while bad.is_none() && good < last {
            let next = (i + 2 * (good - i)).min(last);
            if meets(i, next) { good = next } else { bad = Some(next) }
        }
        while let Some(far) = bad.filter(|far| far - good > 1) {
            let middle = good + (far - good) / 2;
            if meets(i, middle) { good = middle } else { bad = Some(middle) }
        }
        i = good;
        if i < last {
            knots.push(x[i]);
        }
    }
    let first = bent(0).then_some(x[0]);
    first.into_iter().chain(knots).chain(bent(last).then_some(x[last])).collect()
}

/// Weighted harmonic means of the neighbouring rises; zero where the points turn.
fn monotone_slopes(h: &[f64], rise: &[f64]) -> Vec<f64> {
    let n = h.len();
    let mut d = vec![0.0; n + 1];
    for i in 1..n {
        if rise[i - 1] * rise[i] > 0.0 {
            let (a, b) = (2.0 * h[i] + h[i - 1], h[i] + 2.0 * h[i - 1]);
            d[i] = (a + b) / (a / rise[i - 1] + b / rise[i]);
        }
    }
    d[0] = end_slope(h[0], h[1], rise[0], rise[1]);
    d[n] = end_slope(h[n - 1], h[n - 2], rise[n - 1], rise[n - 2]);
    d
}

/// The slope of the parabola through three points at its end, cut where it would overshoot.
fn end_slope(h0: f64, h1: f64, rise0: f64, rise1: f64) -> f64 {
    let d = parabola(h0, h1, rise0, rise1);
    if d * rise0 <= 0.0 {
        0.0
    } else if rise0 * rise1 <= 0.0 && d.abs() > 3.0 * rise0.abs() {
        3.0 * rise0
    } else {
        d
    }
}

fn parabola(h0: f64, h1: f64, rise0: f64, rise1: f64) -> f64 {
    ((2.0 * h0 + h1) * rise0 - h0 * rise1) / (h0 + h1)
}

/// Slopes with continuous f″ everywhere and continuous f‴ at the second and the last but one point.
fn spline_slopes(h: &[f64], rise: &[f64]) -> Vec<f64> {
    let n = h.len();
    if n == 2 {
        let middle = (h[1] * rise[0] + h[0] * rise[1]) / (h[0] + h[1]);
        return vec![parabola(h[0], h[1], rise[0], rise[1]), middle, parabola(h[1], h[0], rise[1], rise[0])];
    }
    let end = |h0: f64, h1: f64, r0: f64, r1: f64| ((3.0 * h0 + 2.0 * h1) * h1 * r0 + h0 * h0 * r1) / (h0 + h1);
    // rows below · dᵢ₋₁ + on · dᵢ + above · dᵢ₊₁ = d: a tridiagonal elimination, stable without pivoting
    let (mut on, mut above, mut d) = (vec![0.0; n + 1], vec![0.0; n + 1], vec![0.0; n + 1]);
    (on[0], above[0], d[0]) = (h[1], h[0] + h[1], end(h[0], h[1], rise[0], rise[1]));
    for i in 1..=n {
        let below = if i < n { h[i] } else { h[n - 2] + h[n - 1] };
        (on[i], above[i], d[i]) = if i < n {
            (2.0 * (h[i - 1] + h[i]), h[i - 1], 3.0 * (h[i] * rise[i - 1] + h[i - 1] * rise[i]))
        } else {
            (h[n - 2], 0.0, end(h[n - 1], h[n - 2], rise[n - 1], rise[n - 2]))
        };
        let factor = below / on[i - 1];
        on[i] -= factor * above[i - 1];
        d[i] -= factor * d[i - 1];
    }
    d[n] /= on[n];
    for i in (0..n).rev() {
        d[i] = (d[i] - above[i] * d[i + 1]) / on[i];
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 7] = [-1.3, -0.7, -0.65, 0.1, 0.8, 1.7, 1.9];

    fn points(f: impl Fn(f64) -> f64) -> Vec<[f64; 2]> {
        X.iter().map(|x| [*x, f(*x)]).collect()
    }

    #[test]
    fn a_spline_reproduces_cubics_with_derivatives_and_integral() {
        for n in 2..=X.len() {
            // as many terms as the points determine
            let c: [f64; 4] = std::array::from_fn(|k| if k < n { [0.3, -2.0, 1.5, 0.7][k] } else { 0.0 });
            let f = |x: f64| c[0] + x * (c[1] + x * (c[2] + x * c[3]));
            let curve = Curve::spline(&points(f)[..n], Beyond::Line).unwrap();
            for k in 0..=20 {
                let x = X[0] + (X[n - 1] - X[0]) * k as f64 / 20.0;
                let jet = curve.jet(x);
                assert!((jet.value - f(x)).abs() < 1e-13 && (curve.value(x) - f(x)).abs() < 1e-13, "{n} points");
                assert!((jet.rate - (c[1] + x * (2.0 * c[2] + 3.0 * x * c[3]))).abs() < 1e-12);
                if k < 20 {
                    assert!((jet.second - (2.0 * c[2] + 6.0 * c[3] * x)).abs() < 1e-10);
                }
                // from one point inside to another: beyond the first point the curve is a line
                let a = |x: f64| x * (c[0] + x * (c[1] / 2.0 + x * (c[2] / 3.0 + x * c[3] / 4.0)));
                let exact = a(x) - a(X[0]);
                assert!((curve.integral(x) - curve.integral(X[0]) - exact).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_spline_of_many_points_converges_with_order_four() {
        let error = |n: usize| {
            let points: Vec<[f64; 2]> = (0..=n).map(|i| i as f64 / n as f64).map(|x| [x, (3.0 * x).sin()]).collect();
            let curve = Curve::spline(&points, Beyond::Hold).unwrap();
            (0..1000).map(|k| k as f64 / 1000.0).map(|x| (curve.value(x) - (3.0 * x).sin()).abs()).fold(0.0, f64::max)
        };
        let order = (error(40) / error(80)).log2();
        assert!((3.7..4.3).contains(&order), "{order}");
    }

    #[test]
    fn monotone_points_give_a_monotone_curve_and_lines_stay_lines() {
        let step = [[0.0, 0.0], [1.0, 0.01], [1.1, 5.0], [1.2, 5.0], [3.0, 5.1], [3.1, 9.0]];
        let curve = Curve::monotone(&step, Beyond::Line).unwrap();
        let values: Vec<f64> = (-100..500).map(|k| curve.value(k as f64 / 100.0)).collect();
        assert!(values.windows(2).all(|w| w[1] >= w[0]));
        for p in step {
            assert_eq!(curve.value(p[0]), p[1]);
        }
        let line = Curve::monotone(&points(|x| 2.0 - 3.0 * x), Beyond::Line).unwrap();
        for x in [-5.0, -1.0, 0.0, 0.7, 9.0] {
            assert!((line.value(x) - (2.0 - 3.0 * x)).abs() < 1e-13);
            assert!((line.integral(x) - (2.0 * x - 1.5 * x * x)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_slope_is_continuous_and_the_integral_is_that_of_the_value() {
        for curve in [Curve::monotone, Curve::spline] {
            for beyond in [Beyond::Hold, Beyond::Line] {
                let curve = curve(&points(|x| (4.0 * x).sin()), beyond).unwrap();
                assert_eq!(curve.integral(0.0), 0.0);
                for k in -30..30 {
                    let (x, h) = (k as f64 * 0.0937, 1e-5);
                    let slope = (curve.value(x + h) - curve.value(x - h)) * 0.5 / h;
                    assert!((slope - curve.jet(x).rate).abs() < 1e-6);
                    let value = (curve.integral(x + h) - curve.integral(x - h)) * 0.5 / h;
                    assert!((value - curve.value(x)).abs() < 1e-8);
                }
                for x in &X[1..6] {
                    assert!((curve.jet(x - 1e-9).rate - curve.jet(x + 1e-9).rate).abs() < 1e-6);
                }
            }
        }
        let hold = Curve::spline(&points(f64::exp), Beyond::Hold).unwrap();
        assert_eq!((hold.value(7.0), hold.jet(-9.0)), (1.9f64.exp(), Jet::constant((-1.3f64).exp())));
    }

    #[test]
    fn points_that_make_no_function_are_refused() {
        let refuse = |p: &[[f64; 2]]| Curve::monotone(p, Beyond::Line).unwrap_err();
        assert_eq!(refuse(&[[0.0, 1.0]]), "has 1 point but needs two or more");
        assert_eq!(refuse(&[[0.0, 1.0], [0.0, 2.0]]), "must go upward, but point 2 at 0 comes after 0");
        assert_eq!(refuse(&[[0.0, 1.0], [f64::NAN, 2.0]]), "has a number that is not finite in point 2");
        assert!(Curve::spline(&points(|x| x), Beyond::Hold).unwrap().value(f64::NAN).is_nan());
    }
}
