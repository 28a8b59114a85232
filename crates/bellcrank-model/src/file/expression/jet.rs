//! Values with two derivatives: the arithmetic by which expressions are differentiated.

/// A value with its first and second derivative in one variable, by default time: (f, ḟ, f̈).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jet {
    /// f.
    pub value: f64,
    /// ḟ.
    pub rate: f64,
    /// f̈.
    pub second: f64,
}

impl Jet {
    /// A value that does not change.
    pub fn constant(value: f64) -> Jet {
        Jet { value, rate: 0.0, second: 0.0 }
    }

    /// The variable itself: (x, 1, 0).
    pub fn variable(value: f64) -> Jet {
        Jet { value, rate: 1.0, second: 0.0 }
    }

    pub(crate) fn is_still(self) -> bool {
        self.rate == 0.0 && self.second == 0.0
    }

    /// f(u) from f, f′ and f″ at u. A still argument keeps still, even where f′ is infinite.
    pub(crate) fn chain(self, f: f64, f1: f64, f2: f64) -> Jet {
        if self.is_still() {
            return Jet::constant(f);
        }
        Jet { value: f, rate: f1 * self.rate, second: f2 * self.rate * self.rate + f1 * self.second }
    }

    pub(crate) fn plus(self, b: Jet) -> Jet {
        Jet { value: self.value + b.value, rate: self.rate + b.rate, second: self.second + b.second }
    }

    pub(crate) fn minus(self, b: Jet) -> Jet {
        Jet { value: self.value - b.value, rate: self.rate - b.rate, second: self.second - b.second }
    }

    pub(crate) fn times(self, b: Jet) -> Jet {
        let a = self;
        Jet {
            value: a.value * b.value,
            rate: a.rate * b.value + a.value * b.rate,
            second: a.second * b.value + 2.0 * a.rate * b.rate + a.value * b.second,
        }
    }

    pub(crate) fn over(self, b: Jet) -> Jet {
        let value = self.value / b.value;
        if self.is_still() && b.is_still() {
            return Jet::constant(value);
        }
        let rate = (self.rate - value * b.rate) / b.value;
        Jet { value, rate, second: (self.second - 2.0 * rate * b.rate - value * b.second) / b.value }
    }

    pub(crate) fn to_the(self, b: Jet) -> Jet {
        let (u, n) = (self.value, b.value);
        if b.is_still() {
            let term = |c: f64, power: f64| if c == 0.0 { 0.0 } else { c * u.powf(power) };
            return self.chain(u.powf(n), term(n, n - 1.0), term(n * (n - 1.0), n - 2.0));
        }
        if u == 0.0 && self.is_still() && n > 0.0 {
            return Jet::default();
        }
        // uⁿ = exp(n ln u)
        let log = b.times(self.chain(u.ln(), 1.0 / u, -1.0 / (u * u)));
        let f = u.powf(n);
        Jet { value: f, rate: f * log.rate, second: f * (log.rate * log.rate + log.second) }
    }
}
