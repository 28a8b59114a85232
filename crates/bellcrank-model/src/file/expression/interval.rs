//! Bounds of expressions over a stretch of time.
//!
//! Sums, products, quotients and roots are rounded correctly, so they grow where their arguments do, and the bounds of
//! the results are the results of bounds: nothing is widened. The others are widened by some units of rounding. So an
//! interval holds what a program gives at every number of a stretch, its rounding included.

use super::{branches, function};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// All numbers from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub lo: f64,
    pub hi: f64,
}

/// What the functions of a library may be off by, relative to their results.
const LIBRARY: f64 = 8.0 * f64::EPSILON;

/// Bounds of a function of one argument.
macro_rules! rising {
    ($($name:ident),+) => {
        $(pub(super) fn $name(a: &[Interval]) -> Interval {
            Interval { lo: a[0].lo.$name(), hi: a[0].hi.$name() }.widened()
        })+
    };
}

impl Interval {
    /// Everything: nothing is known.
    pub const ALL: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    pub fn new(lo: f64, hi: f64) -> Interval {
        if lo <= hi { Interval { lo, hi } } else { Interval::ALL }
    }

    pub fn point(x: f64) -> Interval {
        Interval { lo: x, hi: x }
    }

    /// Whether it is a single number, and which.
    pub fn as_point(self) -> Option<f64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether both of its ends are numbers.
    pub fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    fn widened(self) -> Interval {
        let off = |x: f64| LIBRARY * x.abs() + f64::MIN_POSITIVE;
        Interval::new(self.lo - off(self.lo), self.hi + off(self.hi))
    }

    /// The least interval around two.
    pub fn hull(self, b: Interval) -> Interval {
        Interval::new(self.lo.min(b.lo), self.hi.max(b.hi))
    }

    fn corners(values: [f64; 4]) -> Interval {
        if values.iter().any(|x| x.is_nan()) {
            return Interval::ALL;
        }
        Interval::new(
            values.into_iter().fold(f64::INFINITY, f64::min),
            values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    fn over(a: &[Interval], f: impl Fn(f64, f64) -> f64) -> Interval {
        let (x, y) = (a[0], a[1]);
        Interval::corners([f(x.lo, y.lo), f(x.lo, y.hi), f(x.hi, y.lo), f(x.hi, y.hi)])
    }
}

pub(super) fn add(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo + a[1].lo, a[0].hi + a[1].hi)
}

pub(super) fn subtract(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo - a[1].hi, a[0].hi - a[1].lo)
}

pub(super) fn multiply(a: &[Interval]) -> Interval {
    Interval::over(a, |x, y| x * y)
}

pub(super) fn divide(a: &[Interval]) -> Interval {
    if a[1].lo <= 0.0 && a[1].hi >= 0.0 { Interval::ALL } else { Interval::over(a, |x, y| x / y) }
}

pub(super) fn negate(a: &[Interval]) -> Interval {
    Interval::new(-a[0].hi, -a[0].lo)
}

rising!(atan, sinh, tanh, exp);

pub(super) fn sqrt(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.max(0.0).sqrt(), a[0].hi.sqrt())
}

pub(super) fn asin(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.max(-1.0).asin(), a[0].hi.min(1.0).asin()).widened()
}

pub(super) fn acos(a: &[Interval]) -> Interval {
    Interval::new(a[0].hi.min(1.0).acos(), a[0].lo.max(-1.0).acos()).widened()
}

pub(super) fn log(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.max(0.0).ln(), a[0].hi.ln()).widened()
}

pub(super) fn log10(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.max(0.0).log10(), a[0].hi.log10()).widened()
}

/// A sine whose crests are at `crest` + 2πk and whose troughs are half a turn from them.
fn wave(x: Interval, f: impl Fn(f64) -> f64, crest: f64) -> Interval {
    let holds = |at: f64| {
        let slack = 1e-12 + 4.0 * f64::EPSILON * x.lo.abs().max(x.hi.abs());
        let k = ((x.lo - slack - at) / TAU).ceil();
        at + k * TAU <= x.hi + slack
    };
    let width = x.hi - x.lo;
    if width.is_nan() || width >= TAU || x.lo.abs().max(x.hi.abs()) > 1e12 {
        return match x.as_point() {
            Some(x) => Interval::point(f(x)),
            None => Interval { lo: -1.0, hi: 1.0 },
        };
    }
    let (a, b) = (f(x.lo), f(x.hi));
    let ends = Interval::new(a.min(b), a.max(b)).widened();
    Interval {
        lo: if holds(crest - PI) { -1.0 } else { ends.lo.max(-1.0) },
        hi: if holds(crest) { 1.0 } else { ends.hi.min(1.0) },
    }
}

pub(super) fn sin(a: &[Interval]) -> Interval {
    wave(a[0], f64::sin, FRAC_PI_2)
}

pub(super) fn cos(a: &[Interval]) -> Interval {
    wave(a[0], f64::cos, 0.0)
}

pub(super) fn tan(a: &[Interval]) -> Interval {
    let x = a[0];
    let branch = |x: f64| ((x + FRAC_PI_2) / PI).floor();
    if x.hi - x.lo < PI && branch(x.lo) == branch(x.hi) && x.hi.abs() < 1e9 {
        Interval::new(x.lo.tan(), x.hi.tan()).widened()
    } else {
        Interval::ALL
    }
}

/// A function that is straight over half turns: bounds of one of them, or of all.
pub(super) fn folded(x: Interval, from: f64, line: fn(f64, f64) -> [f64; 2]) -> Interval {
    let [first, last] = [x.lo, x.hi].map(|x| (x / PI + from).floor());
    if first == last {
        let [a, b] = [x.lo, x.hi].map(|x| line(first, x)[0]);
        return Interval::new(a.min(b), a.max(b)).widened();
    }
    let ends = [first - from, first + 1.0 - from].map(|k| line(first, k * PI)[0]);
    Interval::new(ends[0].min(ends[1]), ends[0].max(ends[1])).widened()
}

pub(super) fn abs(a: &[Interval]) -> Interval {
    let x = a[0];
    let least = if x.lo <= 0.0 && x.hi >= 0.0 { 0.0 } else { x.lo.abs().min(x.hi.abs()) };
    Interval::new(least, x.lo.abs().max(x.hi.abs()))
}

pub(super) fn cosh(a: &[Interval]) -> Interval {
    let x = abs(a);
    Interval::new(x.lo.cosh(), x.hi.cosh()).widened()
}

pub(super) fn hypot(a: &[Interval]) -> Interval {
    let (x, y) = (abs(&a[..1]), abs(&a[1..]));
    Interval::new(x.lo.hypot(y.lo), x.hi.hypot(y.hi)).widened()
}

pub(super) fn atan2(a: &[Interval]) -> Interval {
    let (y, x) = (a[0], a[1]);
    if x.lo > 0.0 || y.lo > 0.0 || y.hi < 0.0 {
        Interval::over(a, f64::atan2).widened()
    } else {
        Interval { lo: -PI, hi: PI }
    }
}

pub(super) fn pow(a: &[Interval]) -> Interval {
    let (x, y) = (a[0], a[1]);
    if x.lo > 0.0 || (x.lo == 0.0 && y.lo > 0.0) {
        return Interval::over(a, f64::powf).widened();
    }
    let Some(n) = y.as_point().filter(|n| n.fract() == 0.0 && (*n > 0.0 || x.hi < 0.0)) else { return Interval::ALL };
    let ends = [x.lo.powf(n), x.hi.powf(n)];
    let hull = Interval::point(ends[0]).hull(Interval::point(ends[1])).widened();
    let even = n.rem_euclid(2.0) == 0.0;
    if even && x.hi >= 0.0 { Interval { lo: 0.0, ..hull } } else { hull }
}

pub(super) fn least(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.min(a[1].lo), a[0].hi.min(a[1].hi))
}

pub(super) fn largest(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.max(a[1].lo), a[0].hi.max(a[1].hi))
}

pub(super) fn floor(a: &[Interval]) -> Interval {
    Interval::new(a[0].lo.floor(), a[0].hi.floor())
}

pub(super) fn sign(a: &[Interval]) -> Interval {
    let of = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
    Interval::new(of(a[0].lo), of(a[0].hi))
}

/// 0 or 1.
pub(super) fn truth(_: &[Interval]) -> Interval {
    Interval { lo: 0.0, hi: 1.0 }
}

/// h₀, h₁, or between them: on a given ramp, between the values at both ends.
pub(super) fn step(a: &[Interval]) -> Interval {
    let between = a[2].hull(a[4]);
    match branches::step(a).map(|b| b.number) {
        Some(0) => a[2],
        Some(2) => a[4],
        _ if a[1..5].iter().all(|x| x.as_point().is_some()) => {
            let at = |x: f64| Interval::point(function::step(&[x, a[1].lo, a[2].lo, a[3].lo, a[4].lo]));
            // s²(3 − 2s) rises but for rounding
            let blur = 16.0 * f64::EPSILON * (between.hi.abs().max(between.lo.abs()));
            let ends = at(a[0].lo).hull(at(a[0].hi));
            Interval::new((ends.lo - blur).max(between.lo), (ends.hi + blur).min(between.hi))
        }
        _ => between,
    }
}

/// One of both.
pub(super) fn either(a: &[Interval]) -> Interval {
    match branches::choice(a).map(|b| b.number) {
        Some(0) => a[2],
        Some(_) => a[1],
        None => a[1].hull(a[2]),
    }
}
