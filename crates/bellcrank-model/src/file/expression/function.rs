//! Operators and functions of expressions: one row each, with its value, its derivatives and its documentation.

use super::branches::{self, Pick};
use super::interval::{self, Interval};
use super::jet::Jet;
use std::f64::consts::PI;

/// An operator or a function.
pub(super) struct Function {
    /// What is written: `sin`, or the sign of an operator.
    pub name: &'static str,
    /// How many values it takes from the stack. `min` and `max` take more arguments by being applied in turn.
    pub arity: usize,
    /// Whether it takes any number of arguments from `arity` on.
    pub variadic: bool,
    /// How a call is written.
    pub usage: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// f(a₀, a₁, …).
    pub value: fn(&[f64]) -> f64,
    /// The same over jets, by the chain rule: (f∘u)˙ = f′u̇, (f∘u)¨ = f″u̇² + f′ü.
    pub jet: fn(&[Jet]) -> Jet,
    /// Bounds of its values over intervals of its arguments.
    pub bounds: fn(&[Interval]) -> Interval,
    /// How it picks a branch, if it bends or jumps.
    pub pick: Option<Pick>,
    /// The arguments by which it picks its branch, as bits.
    pub picks_by: u8,
    /// Why finite arguments gave a result that is not finite.
    pub failure: fn(&[f64]) -> &'static str,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

/// The operator or function of a name; names come from the grammar, which has a row for each.
pub(super) fn named(name: &str) -> &'static Function {
    find(name).expect("every operator of the grammar has a row")
}

/// The operator or function of a name, if there is one.
fn find(name: &str) -> Option<&'static Function> {
    OPERATORS.iter().chain(FUNCTIONS).find(|f| f.name == name)
}

const fn row(
    name: &'static str,
    arity: usize,
    [usage, doc]: [&'static str; 2],
    value: fn(&[f64]) -> f64,
    jet: fn(&[Jet]) -> Jet,
    bounds: fn(&[Interval]) -> Interval,
) -> Function {
    let failure: fn(&[f64]) -> &'static str = |_| "number too large";
    Function { name, arity, variadic: false, usage, doc, value, jet, bounds, pick: None, picks_by: u8::MAX, failure }
}

impl Function {
    const fn fails(mut self, failure: fn(&[f64]) -> &'static str) -> Function {
        self.failure = failure;
        self
    }

    const fn picks(mut self, pick: Pick) -> Function {
        self.pick = Some(pick);
        self
    }

    /// By some of its arguments alone.
    const fn by(mut self, arguments: u8) -> Function {
        self.picks_by = arguments;
        self
    }
}

/// A comparison: 1 or 0, and constant between its jumps.
macro_rules! comparison {
    ($name:literal $sign:tt $pick:ident) => {
        row(
            $name,
            2,
            ["", ""],
            |a| truth(a[0] $sign a[1]),
            |a| Jet::constant(truth(a[0].value $sign a[1].value)),
            interval::truth,
        )
        .picks(branches::$pick)
    };
}

/// A function that undoes a periodic one: straight over half a turn, with a corner or a jump at its ends. The parser puts it in the place of
/// both, whose derivatives would be 0/0 there.
macro_rules! folded {
    ($name:literal $pick:path, $from:literal, $line:ident) => {
        row(
            $name,
            1,
            ["", ""],
            |a| $line((a[0] / PI + $from).floor(), a[0])[0],
            |a| {
                of(a, |u| {
                    let [value, slope] = $line((u / PI + $from).floor(), u);
                    [value, slope, 0.0]
                })
            },
            |a| interval::folded(a[0], $from, $line),
        )
        .picks($pick)
    };
}

/// acos(cos x) in the k-th half turn, and its slope.
fn triangle(k: f64, x: f64) -> [f64; 2] {
    if k.rem_euclid(2.0) == 0.0 { [x - k * PI, 1.0] } else { [(k + 1.0) * PI - x, -1.0] }
}

/// asin(sin x) in the k-th half turn, which begins at (k − ½)π.
fn zigzag(k: f64, x: f64) -> [f64; 2] {
    if k.rem_euclid(2.0) == 0.0 { [x - k * PI, 1.0] } else { [k * PI - x, -1.0] }
}

/// atan(tan x) in the k-th half turn.
fn sawtooth(k: f64, x: f64) -> [f64; 2] {
    [x - k * PI, 1.0]
}

/// The operators; `^` is the function `pow`, and `neg` the sign before a value.
static OPERATORS: &[Function] = &[
    row("+", 2, ["", ""], |a| a[0] + a[1], |a| a[0].plus(a[1]), interval::add),
    row("-", 2, ["", ""], |a| a[0] - a[1], |a| a[0].minus(a[1]), interval::subtract),
    row("*", 2, ["", ""], |a| a[0] * a[1], |a| a[0].times(a[1]), interval::multiply),
    row("/", 2, ["", ""], |a| a[0] / a[1], |a| a[0].over(a[1]), interval::divide)
        .fails(|a| if a[1] == 0.0 { "division by zero" } else { "number too large" }),
    row(
        "neg",
        1,
        ["", ""],
        |a| -a[0],
        |a| Jet { value: -a[0].value, rate: -a[0].rate, second: -a[0].second },
        interval::negate,
    ),
    comparison!("<" < below),
    comparison!("<=" <= not_above),
    comparison!(">" > above),
    comparison!(">=" >= not_below),
    comparison!("==" == equal),
    comparison!("!=" != not_equal),
    folded!("acos cos" branches::half_turns, 0.0, triangle),
    folded!("asin sin" branches::half_turns_about_zero, 0.5, zigzag),
    folded!("atan tan" branches::half_turns_about_zero, 0.5, sawtooth),
];

/// The functions, in the order of the documentation.
pub(super) static FUNCTIONS: &[Function] = &[
    row(
        "sin",
        1,
        ["sin(x)", "sine of x in radians"],
        |a| a[0].sin(),
        |a| of(a, |u| [u.sin(), u.cos(), -u.sin()]),
        interval::sin,
    ),
    row(
        "cos",
        1,
        ["cos(x)", "cosine of x in radians"],
        |a| a[0].cos(),
        |a| of(a, |u| [u.cos(), -u.sin(), -u.cos()]),
        interval::cos,
    ),
    row(
        "tan",
        1,
        ["tan(x)", "tangent of x in radians"],
        |a| a[0].tan(),
        |a| {
            of(a, |u| {
                let f = u.tan();
                [f, 1.0 + f * f, 2.0 * f * (1.0 + f * f)]
            })
        },
        interval::tan,
    ),
    row(
        "asin",
        1,
        ["asin(x)", "angle in −π/2 … π/2 whose sine is x"],
        |a| a[0].asin(),
        |a| {
            of(a, |u| {
                let d = 1.0 / (1.0 - u * u).sqrt();
                [u.asin(), d, u * d / (1.0 - u * u)]
            })
        },
        interval::asin,
    )
    .fails(|_| "argument outside −1 … 1"),
    row(
        "acos",
        1,
        ["acos(x)", "angle in 0 … π whose cosine is x"],
        |a| a[0].acos(),
        |a| {
            of(a, |u| {
                let d = -(1.0 / (1.0 - u * u).sqrt());
                [u.acos(), d, u * d / (1.0 - u * u)]
            })
        },
        interval::acos,
    )
    .fails(|_| "argument outside −1 … 1"),
    row(
        "atan",
        1,
        ["atan(x)", "angle in −π/2 … π/2 whose tangent is x"],
        |a| a[0].atan(),
        |a| {
            of(a, |u| {
                let d = 1.0 / (1.0 + u * u);
                [u.atan(), d, -2.0 * u * d * d]
            })
        },
        interval::atan,
    ),
    row(
        "atan2",
        2,
        ["atan2(y, x)", "angle in −π … π of the point (x, y)"],
        |a| a[0].atan2(a[1]),
        atan2,
        interval::atan2,
    )
    .picks(branches::angle),
    row(
        "sinh",
        1,
        ["sinh(x)", "hyperbolic sine"],
        |a| a[0].sinh(),
        |a| of(a, |u| [u.sinh(), u.cosh(), u.sinh()]),
        interval::sinh,
    ),
    row(
        "cosh",
        1,
        ["cosh(x)", "hyperbolic cosine"],
        |a| a[0].cosh(),
        |a| of(a, |u| [u.cosh(), u.sinh(), u.cosh()]),
        interval::cosh,
    ),
    row(
        "tanh",
        1,
        ["tanh(x)", "hyperbolic tangent"],
        |a| a[0].tanh(),
        |a| {
            of(a, |u| {
                let f = u.tanh();
                [f, 1.0 - f * f, -2.0 * f * (1.0 - f * f)]
            })
        },
        interval::tanh,
    ),
    row(
        "sqrt",
        1,
        ["sqrt(x)", "square root"],
        |a| a[0].sqrt(),
        |a| {
            of(a, |u| {
                let f = u.sqrt();
                [f, 0.5 / f, -0.25 / (f * u)]
            })
        },
        interval::sqrt,
    )
    .fails(|_| "square root of a negative number"),
    row("exp", 1, ["exp(x)", "exponential"], |a| a[0].exp(), |a| of(a, |u| [u.exp(); 3]), interval::exp),
    row(
        "log",
        1,
        ["log(x)", "natural logarithm"],
        |a| a[0].ln(),
        |a| of(a, |u| [u.ln(), 1.0 / u, -1.0 / (u * u)]),
        interval::log,
    )
    .fails(no_logarithm),
    row(
        "log10",
        1,
        ["log10(x)", "logarithm to base 10"],
        |a| a[0].log10(),
        |a| {
            let c = std::f64::consts::LOG10_E;
            of(a, |u| [u.log10(), c / u, -c / (u * u)])
        },
        interval::log10,
    )
    .fails(no_logarithm),
    row("pow", 2, ["pow(x, y)", "x^y"], |a| a[0].powf(a[1]), |a| a[0].to_the(a[1]), interval::pow).fails(|a| {
        match (a[0], a[1]) {
            (0.0, _) => "zero to a negative power",
            (x, y) if x < 0.0 && y.fract() != 0.0 => "negative number to a fractional power",
            _ => "number too large",
        }
    }),
    row("hypot", 2, ["hypot(x, y)", "√(x² + y²)"], |a| a[0].hypot(a[1]), hypot, interval::hypot),
    row(
        "abs",
        1,
        ["abs(x)", "magnitude"],
        |a| a[0].abs(),
        |a| of(a, |u| [u.abs(), if u < 0.0 { -1.0 } else { 1.0 }, 0.0]),
        interval::abs,
    )
    .picks(branches::abs),
    row("sign", 1, ["sign(x)", "−1, 0 or 1"], |a| sign(a[0]), |a| Jet::constant(sign(a[0].value)), interval::sign)
        .picks(branches::sign),
    row(
        "floor",
        1,
        ["floor(x)", "the integer at or below x"],
        |a| a[0].floor(),
        |a| Jet::constant(a[0].value.floor()),
        interval::floor,
    )
    .picks(branches::floor),
    // f64::min and f64::max would hide a NaN
    Function {
        variadic: true,
        ..row(
            "min",
            2,
            ["min(x, y, …)", "the smallest"],
            |a| if a[1] < a[0] || a[1].is_nan() { a[1] } else { a[0] },
            |a| if a[1].value < a[0].value || a[1].value.is_nan() { a[1] } else { a[0] },
            interval::least,
        )
        .picks(branches::least)
    },
    Function {
        variadic: true,
        ..row(
            "max",
            2,
            ["max(x, y, …)", "the largest"],
            |a| if a[1] > a[0] || a[1].is_nan() { a[1] } else { a[0] },
            |a| if a[1].value > a[0].value || a[1].value.is_nan() { a[1] } else { a[0] },
            interval::largest,
        )
        .picks(branches::largest)
    },
    row(
        "step",
        5,
        ["step(x, x0, h0, x1, h1)", "h0 below x0, h1 above x1, and a smooth cubic between"],
        step,
        step_jet,
        interval::step,
    )
    .picks(branches::step)
    .by(0b01011),
    row(
        "if",
        3,
        ["if(c, a, b)", "a where c is not 0, else b"],
        |a| match a[0] {
            c if c.is_nan() => c,
            0.0 => a[2],
            _ => a[1],
        },
        |a| match a[0].value {
            c if c.is_nan() => Jet { value: f64::NAN, rate: f64::NAN, second: f64::NAN },
            0.0 => a[2],
            _ => a[1],
        },
        interval::either,
    )
    .picks(branches::choice)
    .by(0b001),
];

/// A function of one argument, from f, f′ and f″.
fn of(a: &[Jet], f: impl Fn(f64) -> [f64; 3]) -> Jet {
    let [value, first, second] = f(a[0].value);
    a[0].chain(value, first, second)
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

fn no_logarithm(a: &[f64]) -> &'static str {
    if a[0] == 0.0 { "logarithm of zero" } else { "logarithm of a negative number" }
}

/// θ̇ = (x ẏ − y ẋ)/r², with y the first argument.
fn atan2(a: &[Jet]) -> Jet {
    let (y, x) = (a[0], a[1]);
    let r2 = x.value * x.value + y.value * y.value;
    let value = y.value.atan2(x.value);
    if x.is_still() && y.is_still() {
        return Jet::constant(value);
    }
    let rate = (x.value * y.rate - y.value * x.rate) / r2;
    let growth = 2.0 * (x.value * x.rate + y.value * y.rate);
    Jet { value, rate, second: (x.value * y.second - y.value * x.second - rate * growth) / r2 }
}

/// ḣ = (x ẋ + y ẏ)/h.
fn hypot(a: &[Jet]) -> Jet {
    let (x, y) = (a[0], a[1]);
    let h = x.value.hypot(y.value);
    if x.is_still() && y.is_still() {
        return Jet::constant(h);
    }
    let rate = (x.value * x.rate + y.value * y.rate) / h;
    let inner = x.rate * x.rate + y.rate * y.rate + x.value * x.second + y.value * y.second;
    Jet { value: h, rate, second: (inner - rate * rate) / h }
}

/// h₀ + (h₁ − h₀) s²(3 − 2s) with s = (x − x₀)/(x₁ − x₀).
pub(super) fn step(a: &[f64]) -> f64 {
    let [x, x0, h0, x1, h1] = [a[0], a[1], a[2], a[3], a[4]];
    if x <= x0 {
        h0
    } else if x >= x1 {
        h1
    } else {
        let s = (x - x0) / (x1 - x0);
        h0 + (h1 - h0) * ((s * s) * (3.0 - 2.0 * s))
    }
}

fn step_jet(a: &[Jet]) -> Jet {
    let [x, x0, h0, x1, h1] = [a[0], a[1], a[2], a[3], a[4]];
    if x.value <= x0.value {
        h0
    } else if x.value >= x1.value {
        h1
    } else {
        let s = x.minus(x0).over(x1.minus(x0));
        let s3 = s.times(s).times(Jet::constant(3.0).minus(Jet::constant(2.0).times(s)));
        h0.plus(h1.minus(h0).times(s3))
    }
}

/// Whether a name is that of a function.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|f| f.name == name)
}

/// The functions of expressions as a Markdown table.
pub fn function_table() -> String {
    let mut out = String::from("| function | meaning |\n|---|---|\n");
    for Function { usage, doc, .. } in FUNCTIONS {
        out += &format!("| `{usage}` | {doc} |\n");
    }
    out
}
