//! Expressions of parameters and of time, such as `k*(1 - exp(-t/tau))`.
//!
//! Grammar, loosest first; `^` groups to the right and binds tighter than a sign, so −2^2 = −4:
//!
//! ```text
//! comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]      gives 1 or 0
//! sum        = product {("+" | "-") product}
//! product    = signed {("*" | "/") signed}
//! signed     = ("-" | "+") signed | power
//! power      = primary ["^" signed]
//! primary    = number | name | function "(" comparison {"," comparison} ")" | "(" comparison ")"
//! ```
//!
//! A name is a free variable (`t`), else a parameter, else a constant (`pi`, `e`): a parameter named `e`
//! hides the constant. Names and functions do not collide, since a function is followed by `(`.
//!
//! Parameters are replaced by their numbers when the text is read, and what is constant is computed
//! then. What is left is a postfix program that runs on a small fixed stack, over plain numbers or over
//! [`Jet`]s (value and two derivatives); neither allocates.

use super::parameters::Parameters;
use super::suggest::{count, list, nearest, quoted};
use crate::curve::Curve;
use std::ops::Range;
use std::sync::Arc;

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

/// An expression, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    program: Box<[Step]>,
    text: Box<str>,
    /// Applied to the result of the program.
    curve: Option<Arc<Curve>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Number(f64),
    Variable(u16),
    Apply(Function),
}

/// What is wrong with an expression, and where in its text. The message reads on with "in …".
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The bytes of the text that are wrong.
    pub at: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// A few words beside the place; may be empty.
    pub label: String,
    /// What to try; may be empty.
    pub help: String,
}

/// The names an expression may use.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Replaced by their numbers.
    pub parameters: &'a Parameters,
    /// Left free; `Expression::value_of` takes them in this order.
    pub variables: &'a [&'a str],
}

/// Slots of the evaluation stack.
const STACK: usize = 32;
/// Nested rules of the grammar; each pair of parentheses takes two.
const DEEPEST: usize = 128;
/// Names of constants, used unless a parameter has the same name.
const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

macro_rules! functions {
    ($($variant:ident $name:literal $least:literal ..= $most:literal $usage:literal $doc:literal)*) => {
        /// An operation on the stack.
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Function {
            Add, Subtract, Multiply, Divide, Negate, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual,
            $($variant,)*
        }
        /// Every function with its name, the number of its arguments, its use and its meaning.
        const FUNCTIONS: &[(Function, &str, usize, usize, &str, &str)] =
            &[$((Function::$variant, $name, $least, $most, $usage, $doc),)*];
    };
}

functions! {
    Sin "sin" 1..=1 "sin(x)" "sine of x in radians"
    Cos "cos" 1..=1 "cos(x)" "cosine of x in radians"
    Tan "tan" 1..=1 "tan(x)" "tangent of x in radians"
    Asin "asin" 1..=1 "asin(x)" "angle in −π/2 … π/2 whose sine is x"
    Acos "acos" 1..=1 "acos(x)" "angle in 0 … π whose cosine is x"
    Atan "atan" 1..=1 "atan(x)" "angle in −π/2 … π/2 whose tangent is x"
    Atan2 "atan2" 2..=2 "atan2(y, x)" "angle in −π … π of the point (x, y)"
    Sinh "sinh" 1..=1 "sinh(x)" "hyperbolic sine"
    Cosh "cosh" 1..=1 "cosh(x)" "hyperbolic cosine"
    Tanh "tanh" 1..=1 "tanh(x)" "hyperbolic tangent"
    Sqrt "sqrt" 1..=1 "sqrt(x)" "square root"
    Exp "exp" 1..=1 "exp(x)" "exponential"
    Log "log" 1..=1 "log(x)" "natural logarithm"
    Log10 "log10" 1..=1 "log10(x)" "logarithm to base 10"
    Pow "pow" 2..=2 "pow(x, y)" "x^y"
    Hypot "hypot" 2..=2 "hypot(x, y)" "√(x² + y²)"
    Abs "abs" 1..=1 "abs(x)" "magnitude"
    Sign "sign" 1..=1 "sign(x)" "−1, 0 or 1"
    Floor "floor" 1..=1 "floor(x)" "the integer at or below x"
    Min "min" 2..=1000 "min(x, y, …)" "the smallest"
    Max "max" 2..=1000 "max(x, y, …)" "the largest"
    Smooth "step" 5..=5 "step(x, x0, h0, x1, h1)" "h0 below x0, h1 above x1, and a smooth cubic between"
    If "if" 3..=3 "if(c, a, b)" "a where c is not 0, else b"
}

/// What people write after a number, to explain that units are not written.
const UNITS: &[&str] = &[
    "m", "mm", "cm", "km", "in", "kg", "g", "s", "ms", "N", "kN", "Nm", "rad", "deg", "Hz", "rpm", "Pa", "MPa", "GPa",
];

/// Functions under names they have elsewhere.
const ALIASES: &[(&str, &str)] = &[
    ("ln", "log"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("sgn", "sign"),
    ("fabs", "abs"),
    ("power", "pow"),
];

impl Function {
    fn arity(self) -> usize {
        use Function::*;
        match self {
            Smooth => 5,
            If => 3,
            Add | Subtract | Multiply | Divide | Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual => 2,
            Atan2 | Pow | Hypot | Min | Max => 2,
            _ => 1,
        }
    }

    fn value(self, a: &[f64]) -> f64 {
        use Function::*;
        let truth = |b: bool| f64::from(u8::from(b));
        let (x, y) = (a[0], if a.len() > 1 { a[1] } else { 0.0 });
        match self {
            Add => x + y,
            Subtract => x - y,
            Multiply => x * y,
            Divide => x / y,
            Negate => -x,
            Less => truth(x < y),
            LessEqual => truth(x <= y),
            Greater => truth(x > y),
            GreaterEqual => truth(x >= y),
            Equal => truth(x == y),
            NotEqual => truth(x != y),
            Sin => x.sin(),
            Cos => x.cos(),
            Tan => x.tan(),
            Asin => x.asin(),
            Acos => x.acos(),
            Atan => x.atan(),
            Atan2 => x.atan2(y),
            Sinh => x.sinh(),
            Cosh => x.cosh(),
            Tanh => x.tanh(),
            Sqrt => x.sqrt(),
            Exp => x.exp(),
            Log => x.ln(),
            Log10 => x.log10(),
            Pow => x.powf(y),
            Hypot => x.hypot(y),
            Abs => x.abs(),
            Sign => sign(x),
            Floor => x.floor(),
            // f64::min would hide a NaN
            Min => pick(y < x || y.is_nan(), y, x),
            Max => pick(y > x || y.is_nan(), y, x),
            Smooth => {
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
            If if x.is_nan() => x,
            If => pick(x != 0.0, a[1], a[2]),
        }
    }

    /// The same over jets, by the chain rule: (f∘u)˙ = f′u̇, (f∘u)¨ = f″u̇² + f′ü.
    fn jet(self, a: &[Jet]) -> Jet {
        use Function::*;
        let (x, y) = (a[0], if a.len() > 1 { a[1] } else { Jet::default() });
        let u = x.value;
        match self {
            Add => x.plus(y),
            Subtract => x.minus(y),
            Multiply => x.times(y),
            Divide => x.over(y),
            Negate => Jet { value: -x.value, rate: -x.rate, second: -x.second },
            Sin => x.chain(u.sin(), u.cos(), -u.sin()),
            Cos => x.chain(u.cos(), -u.sin(), -u.cos()),
            Tan => {
                let f = u.tan();
                x.chain(f, 1.0 + f * f, 2.0 * f * (1.0 + f * f))
            }
            Asin | Acos => {
                let d = 1.0 / (1.0 - u * u).sqrt();
                let d = if self == Asin { d } else { -d };
                x.chain(self.value(&[u]), d, u * d / (1.0 - u * u))
            }
            Atan => {
                let d = 1.0 / (1.0 + u * u);
                x.chain(u.atan(), d, -2.0 * u * d * d)
            }
            Atan2 => {
                // θ̇ = (x ẏ − y ẋ)/r², first argument y
                let (y, x) = (x, y);
                let r2 = x.value * x.value + y.value * y.value;
                let value = y.value.atan2(x.value);
                if x.is_still() && y.is_still() {
                    return Jet::constant(value);
                }
                let rate = (x.value * y.rate - y.value * x.rate) / r2;
                let growth = 2.0 * (x.value * x.rate + y.value * y.rate);
                Jet { value, rate, second: (x.value * y.second - y.value * x.second - rate * growth) / r2 }
            }
            Sinh => x.chain(u.sinh(), u.cosh(), u.sinh()),
            Cosh => x.chain(u.cosh(), u.sinh(), u.cosh()),
            Tanh => {
                let f = u.tanh();
                x.chain(f, 1.0 - f * f, -2.0 * f * (1.0 - f * f))
            }
            Sqrt => {
                let f = u.sqrt();
                x.chain(f, 0.5 / f, -0.25 / (f * u))
            }
            Exp => x.chain(u.exp(), u.exp(), u.exp()),
            Log => x.chain(u.ln(), 1.0 / u, -1.0 / (u * u)),
            Log10 => {
                let c = std::f64::consts::LOG10_E;
                x.chain(u.log10(), c / u, -c / (u * u))
            }
            Pow => x.to_the(y),
            Hypot => {
                let h = u.hypot(y.value);
                if x.is_still() && y.is_still() {
                    return Jet::constant(h);
                }
                let rate = (u * x.rate + y.value * y.rate) / h;
                let inner = x.rate * x.rate + y.rate * y.rate + u * x.second + y.value * y.second;
                Jet { value: h, rate, second: (inner - rate * rate) / h }
            }
            Abs => x.chain(u.abs(), if u < 0.0 { -1.0 } else { 1.0 }, 0.0),
            Min => pick(y.value < u || y.value.is_nan(), y, x),
            Max => pick(y.value > u || y.value.is_nan(), y, x),
            Smooth => {
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
            If if u.is_nan() => Jet { value: f64::NAN, rate: f64::NAN, second: f64::NAN },
            If => pick(u != 0.0, a[1], a[2]),
            // constant between their jumps
            Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual | Sign | Floor => {
                Jet::constant(self.value(&[u, y.value]))
            }
        }
    }

    /// Why finite arguments gave a result that is not finite.
    fn failure(self, a: &[f64]) -> &'static str {
        match self {
            Function::Divide if a[1] == 0.0 => "division by zero",
            Function::Sqrt => "square root of a negative number",
            Function::Log | Function::Log10 if a[0] == 0.0 => "logarithm of zero",
            Function::Log | Function::Log10 => "logarithm of a negative number",
            Function::Asin | Function::Acos => "argument outside −1 … 1",
            Function::Pow if a[0] == 0.0 => "zero to a negative power",
            Function::Pow if a[0] < 0.0 && a[1].fract() != 0.0 => "negative number to a fractional power",
            _ => "number too large",
        }
    }
}

fn pick<T>(first: bool, a: T, b: T) -> T {
    if first { a } else { b }
}

fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
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

    fn is_still(self) -> bool {
        self.rate == 0.0 && self.second == 0.0
    }

    /// f(u) from f, f′ and f″ at u. A still argument keeps still, even where f′ is infinite.
    fn chain(self, f: f64, f1: f64, f2: f64) -> Jet {
        if self.is_still() {
            return Jet::constant(f);
        }
        Jet { value: f, rate: f1 * self.rate, second: f2 * self.rate * self.rate + f1 * self.second }
    }

    fn plus(self, b: Jet) -> Jet {
        Jet { value: self.value + b.value, rate: self.rate + b.rate, second: self.second + b.second }
    }

    fn minus(self, b: Jet) -> Jet {
        Jet { value: self.value - b.value, rate: self.rate - b.rate, second: self.second - b.second }
    }

    fn times(self, b: Jet) -> Jet {
        let a = self;
        Jet {
            value: a.value * b.value,
            rate: a.rate * b.value + a.value * b.rate,
            second: a.second * b.value + 2.0 * a.rate * b.rate + a.value * b.second,
        }
    }

    fn over(self, b: Jet) -> Jet {
        let value = self.value / b.value;
        if self.is_still() && b.is_still() {
            return Jet::constant(value);
        }
        let rate = (self.rate - value * b.rate) / b.value;
        Jet { value, rate, second: (self.second - 2.0 * rate * b.rate - value * b.second) / b.value }
    }

    fn to_the(self, b: Jet) -> Jet {
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

impl Expression {
    /// An expression that is a number.
    pub fn constant(value: f64) -> Expression {
        Expression { program: Box::new([Step::Number(value)]), text: "".into(), curve: None }
    }

    /// A curve as a function of the first variable; `text` tells where it comes from.
    pub fn tabulated(curve: Curve, text: &str) -> Expression {
        let program = Box::new([Step::Variable(0)]);
        Expression { program, text: text.into(), curve: Some(Arc::new(curve)) }
    }

    /// Reads an expression. One without free variables must come out finite.
    pub fn parse(text: &str, scope: Scope) -> Result<Expression, Fault> {
        let tokens = tokens(text)?;
        let mut parser = Parser { text, tokens, at: 0, scope, program: Vec::new(), slots: 0, depth: 0, culprit: None };
        parser.comparison()?;
        if let Some(extra) = parser.peek() {
            return Err(parser.unexpected(extra));
        }
        let Parser { program, culprit, .. } = parser;
        // a branch of `if` that is not taken may hold anything
        let guarded = program.len() > 1 && program.contains(&Step::Apply(Function::If));
        let broken = program.iter().any(|s| matches!(s, Step::Number(x) if !x.is_finite()))
            || program.windows(2).any(|w| w == [Step::Number(0.0), Step::Apply(Function::Divide)]);
        if broken && !guarded {
            return Err(culprit.unwrap_or_else(|| fault(0..text.len(), "number that is not finite", "", "")));
        }
        match program[..] {
            [Step::Number(value)] => Ok(Expression::constant(value)),
            _ => Ok(Expression { program: program.into(), text: text.into(), curve: None }),
        }
    }

    /// The names a text uses other than as functions, each with its place. Empty if it cannot be read.
    pub fn names(text: &str) -> Vec<(&str, Range<usize>)> {
        let tokens = tokens(text).unwrap_or_default();
        let called = |i: usize| tokens.get(i + 1).is_some_and(|t| t.kind == Kind::Open);
        let names = tokens.iter().enumerate().filter(|(i, t)| t.kind == Kind::Name && !called(*i));
        names.map(|(_, t)| (&text[t.at.clone()], t.at.clone())).collect()
    }

    /// The number, if it does not depend on a variable.
    pub fn as_constant(&self) -> Option<f64> {
        match self.program[..] {
            [Step::Number(value)] => Some(value),
            _ => None,
        }
    }

    /// The text it was read from; empty for a number.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if it depends on the variable of that number.
    pub fn uses(&self, variable: usize) -> bool {
        self.program.iter().any(|s| matches!(s, Step::Variable(v) if *v as usize == variable))
    }

    /// f(t), for an expression whose only variable is `t`.
    pub fn value(&self, t: f64) -> f64 {
        self.value_of(&[t])
    }

    /// f, ḟ and f̈ at t, for an expression whose only variable is `t`.
    pub fn jet(&self, t: f64) -> Jet {
        self.jet_of(&[Jet::variable(t)])
    }

    /// The value, given the variables in the order of [`Scope::variables`]. A variable that is not given is NaN.
    pub fn value_of(&self, variables: &[f64]) -> f64 {
        if let [Step::Number(value)] = self.program[..] {
            return value;
        }
        let mut stack = [0.0; STACK];
        let mut top = 0;
        for step in &self.program {
            match *step {
                Step::Number(value) => stack[top] = value,
                Step::Variable(v) => stack[top] = variables.get(v as usize).copied().unwrap_or(f64::NAN),
                Step::Apply(f) => {
                    top -= f.arity();
                    stack[top] = f.value(&stack[top..top + f.arity()]);
                }
            }
            top += 1;
        }
        match &self.curve {
            None => stack[0],
            Some(curve) => curve.value(stack[0]),
        }
    }

    /// Value and derivatives, given the variables as jets: the total derivative along them. With one
    /// variable as [`Jet::variable`] and the others constant, the partial derivatives in that one.
    pub fn jet_of(&self, variables: &[Jet]) -> Jet {
        if let [Step::Number(value)] = self.program[..] {
            return Jet::constant(value);
        }
        let mut stack = [Jet::default(); STACK];
        let mut top = 0;
        for step in &self.program {
            match *step {
                Step::Number(value) => stack[top] = Jet::constant(value),
                Step::Variable(v) => {
                    stack[top] = variables.get(v as usize).copied().unwrap_or(Jet::constant(f64::NAN));
                }
                Step::Apply(f) => {
                    top -= f.arity();
                    stack[top] = f.jet(&stack[top..top + f.arity()]);
                }
            }
            top += 1;
        }
        match &self.curve {
            None => stack[0],
            Some(curve) => {
                let f = curve.jet(stack[0].value);
                stack[0].chain(f.value, f.rate, f.second)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number(f64),
    Name,
    Open,
    Close,
    Comma,
    Operator(&'static str),
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    at: Range<usize>,
}

fn fault(at: Range<usize>, message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Fault {
    Fault { at, message: message.into(), label: label.into(), help: help.into() }
}

/// True if a name can be used in expressions: a letter or `_`, then letters, digits and `_`.
pub fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    const OPERATORS: [&str; 14] = ["**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "^", "<", ">", "=", "%"];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let start = at;
        at += c.len_utf8();
        let kind = if c.is_whitespace() {
            continue;
        } else if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            at = start + number_length(rest);
            match text[start..at].parse() {
                Ok(x) if f64::is_finite(x) => Kind::Number(x),
                _ => return Err(fault(start..at, "number too large", "", "")),
            }
        } else if c.is_alphabetic() && c != 'π' || c == '_' {
            // a dot joins names (`crank.x`) where a letter follows it
            while let Some(c) = text[at..].chars().next() {
                let joins = c == '.' && text[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_');
                if !(c.is_alphanumeric() || c == '_' || joins) {
                    break;
                }
                at += c.len_utf8();
            }
            Kind::Name
        } else if let Some(operator) = OPERATORS.iter().find(|o| rest.starts_with(**o)) {
            at = start + operator.len();
            Kind::Operator(operator)
        } else {
            match c {
                '(' => Kind::Open,
                ')' => Kind::Close,
                ',' => Kind::Comma,
                c => {
                    let instead = match c {
                        '−' | '–' | '—' => "write `-`",
                        '×' | '·' | '⋅' => "write `*`",
                        '÷' => "write `/`",
                        'π' => "write `pi`",
                        '√' => "write `sqrt(…)`",
                        '²' => "write `^2`",
                        '³' => "write `^3`",
                        '≤' => "write `<=`",
                        '≥' => "write `>=`",
                        '[' | ']' | '{' | '}' => "use ( and )",
                        ';' => "arguments are separated by `,`",
                        _ => "not part of an expression",
                    };
                    return Err(fault(start..at, format!("unknown character `{c}`"), instead, ""));
                }
            }
        };
        tokens.push(Token { kind, at: start..at });
    }
    Ok(tokens)
}

/// Bytes of the number a text begins with: digits, a point, an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        i
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    scope: Scope<'a>,
    program: Vec<Step>,
    /// Stack slots in use after the program so far.
    slots: usize,
    depth: usize,
    /// The first constant operation that came out not finite.
    culprit: Option<Fault>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).cloned()
    }

    fn operator(&mut self, among: &[&str]) -> Option<&'static str> {
        match self.tokens.get(self.at)?.kind {
            Kind::Operator(operator) if among.contains(&operator) => {
                self.at += 1;
                Some(operator)
            }
            _ => None,
        }
    }

    /// First byte of what comes next.
    fn here(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |t| t.at.start)
    }

    /// The byte after what came last.
    fn last(&self) -> usize {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.at.end)
    }

    fn deeper(&mut self, inner: fn(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if self.depth == DEEPEST {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let done = inner(self);
        self.depth -= 1;
        done
    }

    fn too_deep(&self) -> Fault {
        let at = self.here().min(self.text.len());
        let end = self.tokens.get(self.at).map_or(at, |t| t.at.end);
        fault(at..end, "expression nested too deeply", "", "put a part of it into a parameter")
    }

    fn push(&mut self, step: Step) -> Result<(), Fault> {
        self.program.push(step);
        self.slots += 1;
        if self.slots > STACK { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Adds an operation, or its result where all arguments are numbers.
    fn apply(&mut self, f: Function, at: Range<usize>) {
        let n = f.arity();
        self.slots -= n - 1;
        let mut arguments = [0.0; 5];
        let tail = self.program.len().saturating_sub(n);
        let constant = self.program[tail..].iter().zip(&mut arguments).all(|(step, slot)| match step {
            Step::Number(value) => {
                *slot = *value;
                true
            }
            _ => false,
        });
        if !constant {
            if (f, self.program.last()) == (Function::Divide, Some(&Step::Number(0.0))) {
                self.culprit.get_or_insert(fault(at, "division by zero", "", ""));
            }
            self.program.push(Step::Apply(f));
            return;
        }
        let arguments = &arguments[..n];
        let value = f.value(arguments);
        match (value.is_finite(), arguments.iter().all(|a| a.is_finite())) {
            (false, true) => {
                let label = if n == 1 { format!("of {}", arguments[0]) } else { String::new() };
                self.culprit.get_or_insert(fault(at, f.failure(arguments), label, ""));
            }
            // an `if` has chosen the other branch
            (true, false) => self.culprit = None,
            _ => {}
        }
        self.program.truncate(tail);
        self.program.push(Step::Number(value));
    }

    fn comparison(&mut self) -> Result<(), Fault> {
        const SIGNS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];
        let start = self.here();
        self.sum()?;
        let Some(sign) = self.operator(&SIGNS) else { return Ok(()) };
        self.sum()?;
        let f = match sign {
            "<" => Function::Less,
            "<=" => Function::LessEqual,
            ">" => Function::Greater,
            ">=" => Function::GreaterEqual,
            "==" => Function::Equal,
            _ => Function::NotEqual,
        };
        self.apply(f, start..self.last());
        let next = self.here();
        match self.operator(&SIGNS) {
            Some(_) => Err(fault(
                next..self.last(),
                "chained comparison",
                "a comparison cannot follow another",
                "write (0 < t)*(t < 1) for 0 < t < 1",
            )),
            None => Ok(()),
        }
    }

    fn sum(&mut self) -> Result<(), Fault> {
        let start = self.here();
        self.product()?;
        while let Some(operator) = self.operator(&["+", "-"]) {
            self.product()?;
            self.apply(if operator == "+" { Function::Add } else { Function::Subtract }, start..self.last());
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), Fault> {
        let start = self.here();
        self.deeper(Self::signed)?;
        while let Some(operator) = self.operator(&["*", "/"]) {
            self.deeper(Self::signed)?;
            self.apply(if operator == "*" { Function::Multiply } else { Function::Divide }, start..self.last());
        }
        Ok(())
    }

    fn signed(&mut self) -> Result<(), Fault> {
        let start = self.here();
        match self.operator(&["-", "+"]) {
            Some("-") => {
                self.deeper(Self::signed)?;
                self.apply(Function::Negate, start..self.last());
                Ok(())
            }
            Some(_) => self.deeper(Self::signed),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<(), Fault> {
        let start = self.here();
        self.primary()?;
        if self.operator(&["^"]).is_some() {
            self.deeper(Self::signed)?;
            self.apply(Function::Pow, start..self.last());
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<(), Fault> {
        let Some(token) = self.peek() else {
            let end = self.text.len();
            return Err(match self.at {
                0 => fault(0..end, "empty expression", "expected a number or an expression", ""),
                _ => fault(self.last()..end, "expression ends too early", "expected a value", ""),
            });
        };
        match token.kind {
            Kind::Number(value) => {
                self.at += 1;
                self.push(Step::Number(value))
            }
            Kind::Open => {
                self.at += 1;
                self.deeper(Self::comparison)?;
                self.close(token.at)
            }
            Kind::Name if self.tokens.get(self.at + 1).is_some_and(|t| t.kind == Kind::Open) => self.call(token.at),
            Kind::Name => {
                self.at += 1;
                let step = self.name(token.at)?;
                self.push(step)
            }
            _ => Err(self.unexpected(token)),
        }
    }

    fn close(&mut self, open: Range<usize>) -> Result<(), Fault> {
        match self.peek() {
            Some(token) if token.kind == Kind::Close => {
                self.at += 1;
                Ok(())
            }
            None => Err(fault(open, "unbalanced parenthesis", "never closed", "")),
            Some(token) => Err(self.unexpected(token)),
        }
    }

    fn name(&self, at: Range<usize>) -> Result<Step, Fault> {
        let name = &self.text[at.clone()];
        let Scope { parameters, variables } = self.scope;
        if let Some(v) = variables.iter().position(|v| *v == name) {
            return Ok(Step::Variable(v as u16));
        }
        if let Some(value) = parameters.get(name) {
            return Ok(Step::Number(value));
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(n, _)| *n == name) {
            return Ok(Step::Number(*value));
        }
        if name == "t" {
            let why = "only loads and drives are functions of time";
            return Err(fault(at, "time `t` cannot be used", "must be constant", why));
        }
        if let Some((_, _, _, _, usage, _)) = FUNCTIONS.iter().find(|f| f.1 == name) {
            return Err(fault(
                at,
                format!("function {} without arguments", quoted(name)),
                format!("write {usage}"),
                "",
            ));
        }
        let known = || variables.iter().copied().chain(parameters.names());
        let constants = CONSTANTS.iter().map(|(n, _)| *n);
        let near = nearest(name, known().chain(constants));
        let label = match near {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => "not a parameter".into(),
        };
        let help = match (near, known().next()) {
            (_, None) => "define it under [parameter]".into(),
            (Some(_), _) => format!("known names are {}", list(known())),
            (None, _) => format!("define it under [parameter], or use one of {}", list(known())),
        };
        Err(fault(at, format!("unknown name {}", quoted(name)), label, help))
    }

    fn call(&mut self, at: Range<usize>) -> Result<(), Fault> {
        let name = &self.text[at.clone()];
        let Some(&(f, _, least, most, usage, _)) = FUNCTIONS.iter().find(|f| f.1 == name) else {
            return Err(self.unknown_function(at));
        };
        self.at += 1;
        let open = self.tokens[self.at].at.clone();
        self.at += 1;
        let mut starts = Vec::new();
        if !self.peek().is_some_and(|t| t.kind == Kind::Close) {
            loop {
                starts.push(self.program.len());
                self.deeper(Self::comparison)?;
                // min and max fold as they go, so that a long list needs two slots
                if matches!(f, Function::Min | Function::Max) && starts.len() > 1 {
                    self.apply(f, at.start..self.last());
                }
                match self.peek() {
                    Some(token) if token.kind == Kind::Comma => self.at += 1,
                    _ => break,
                }
            }
        }
        self.close(open)?;
        let whole = at.start..self.last();
        if starts.len() < least || starts.len() > most {
            let takes =
                if most > least { format!("at least {}", count(least, "argument")) } else { count(least, "argument") };
            let message = format!("{} takes {takes}, found {}", quoted(name), starts.len());
            return Err(fault(whole, message, format!("write {usage}"), ""));
        }
        if f == Function::Smooth
            && let (Step::Number(x0), Step::Number(x1)) = (self.program[starts[1]], self.program[starts[3]])
            && (starts[2], starts[4]) == (starts[1] + 1, starts[3] + 1)
            && x0 >= x1
        {
            let message = format!("step from {x0} to {x1}");
            return Err(fault(whole, message, "x1 must be greater than x0", format!("write {usage}")));
        }
        if !matches!(f, Function::Min | Function::Max) {
            self.apply(f, whole);
        }
        Ok(())
    }

    fn unknown_function(&self, at: Range<usize>) -> Fault {
        let name = &self.text[at.clone()];
        let Scope { parameters, variables } = self.scope;
        let constant = CONSTANTS.iter().any(|(n, _)| *n == name);
        if variables.contains(&name) || parameters.get(name).is_some() || constant {
            let label = format!("to multiply, write {name}*(…)");
            return fault(at, format!("{} is not a function", quoted(name)), label, "");
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, f)| *f);
        let near = alias.or_else(|| nearest(name, FUNCTIONS.iter().map(|f| f.1)));
        let label = near.map_or("not a function".into(), |near| format!("did you mean {}?", quoted(near)));
        let known: Vec<&str> = FUNCTIONS.iter().map(|f| f.1).collect();
        fault(at, format!("unknown function {}", quoted(name)), label, format!("functions are {}", known.join(", ")))
    }

    fn unexpected(&self, token: Token) -> Fault {
        let raw = &self.text[token.at.clone()];
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        let value_before = before.is_some_and(|t| matches!(t.kind, Kind::Number(_) | Kind::Name | Kind::Close));
        let (message, label): (String, &str) = match token.kind {
            Kind::Operator("**") => ("unknown operator `**`".into(), "write `^` for powers"),
            Kind::Operator("=") => ("unknown operator `=`".into(), "write `==` to compare"),
            Kind::Operator("%") => ("unknown operator `%`".into(), "write x - y*floor(x/y) for the remainder"),
            Kind::Close if value_before => ("unbalanced parenthesis".into(), "never opened"),
            Kind::Close => (format!("unexpected {}", quoted(raw)), "expected a value before this"),
            Kind::Name if value_before && UNITS.contains(&raw) => {
                let help = "numbers are in SI units and carry no unit: 5 mm is 5e-3, 30° is 30*pi/180";
                return fault(token.at, format!("unit {}", quoted(raw)), "leave the unit out", help);
            }
            Kind::Number(_) | Kind::Name | Kind::Open if value_before => {
                ("missing operator".into(), "expected an operator such as `*` before this")
            }
            Kind::Comma if value_before => {
                ("unexpected `,`".into(), "a comma stands only between arguments; decimals have a point")
            }
            _ => (format!("unexpected {}", quoted(raw)), "expected a value"),
        };
        fault(token.at, message, label, "")
    }
}

/// The functions of expressions as a Markdown table.
pub fn function_table() -> String {
    let mut out = String::from("| function | meaning |\n|---|---|\n");
    for (_, _, _, _, usage, doc) in FUNCTIONS {
        out += &format!("| `{usage}` | {doc} |\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expression, Fault> {
        let mut parameters = Parameters::default();
        for (name, value) in [("k", 100.0), ("L1", 0.3), ("tau", 0.5), ("min", 7.0), ("zero", 0.0)] {
            parameters.set(name, value);
        }
        Expression::parse(text, Scope { parameters: &parameters, variables: &["t"] })
    }

    fn constant(text: &str) -> f64 {
        parse(text).unwrap().as_constant().unwrap()
    }

    #[test]
    fn precedence_and_functions_follow_the_grammar() {
        let pi = std::f64::consts::PI;
        for (text, value) in [
            ("sqrt(0.27)/2", 0.27f64.sqrt() / 2.0),
            ("-L1", -0.3),
            ("0.9 + L1", 0.9 + 0.3),
            ("-2^2", -4.0),
            ("2^-1", 0.5),
            ("2^3^2", 512.0),
            ("(2^3)^2", 64.0),
            ("--3", 3.0),
            ("1 - 2 - 3", -4.0),
            ("8/4/2", 1.0),
            ("2*-3", -6.0),
            (".5 + 5. + 1e2 + 1E-2", 105.51),
            ("1 + 1 == 2", 1.0),
            ("(1 < 2)*(2 <= 1)", 0.0),
            ("1 != 1", 0.0),
            ("2*pi", 2.0 * pi),
            ("log(e)", 1.0),
            ("min + min(3, 1, 2)", 8.0),
            ("max(1, 5, 2, 4)", 5.0),
            ("if(k > 50, 1, 2)", 1.0),
            ("if(zero > 0, 1/zero, 4)", 4.0),
            ("atan2(1, -1)", 0.75 * pi),
            ("pow(2, 10)", 1024.0),
            ("hypot(3, 4) + sign(-2) + sign(0) + floor(-0.5)", 3.0),
            ("step(0.5, 0, 0, 1, 8)", 4.0),
            ("step(-1, 0, 2, 1, 8) + step(3, 0, 2, 1, 8)", 10.0),
            ("log10(1000) + abs(-2)", 5.0),
        ] {
            assert_eq!(constant(text), value, "{text}");
        }
        assert_eq!(parse("k*(1 - exp(-t/tau))").unwrap().value(0.5), 100.0 * (1.0 - (-1.0f64).exp()));
        assert_eq!(parse("if(t < 1, 0, 5)").unwrap().value(1.0), 5.0);
        assert!(parse("t").unwrap().uses(0) && !parse("k").unwrap().uses(0));
    }

    #[test]
    fn a_parameter_hides_a_constant_and_a_variable_hides_both() {
        let mut parameters = Parameters::default();
        parameters.set("e", 0.8);
        let read = |text, variables| Expression::parse(text, Scope { parameters: &parameters, variables }).unwrap();
        assert_eq!(read("e", &[]).as_constant(), Some(0.8));
        assert_eq!(read("e*crank.x", &["t", "crank.x", "e"]).value_of(&[0.0, 3.0, 2.0]), 6.0);
        assert!(read("e*crank.x", &["t", "crank.x"]).value_of(&[0.0]).is_nan());
    }

    #[test]
    fn jets_agree_with_differences() {
        let texts = "sin(3*t); cos(t)^2; tan(t/2); asin(t/3); acos(t/3); atan(5*t); atan2(sin(t), 2 + t); atan2(t, -3);
            sinh(t); cosh(2*t); tanh(3*t); sqrt(1 + t^2); exp(-t/tau); log(2 + t); log10(1 + t); t^3; t^2.5; 2^t;
            (1 + t)^t; pow(t, -2); hypot(t, 2 - t); abs(t - 3); min(t^2, 100, t); max(t, -t); step(t, 0.1, 1, 2, 5);
            step(t^2, t/3, sin(t), 3, t); if(t < 1, t^2, t^3); t*sin(t)/(1 + exp(t)); -t + 3 - t*t;
            sign(t) + floor(t) + (t > 0); 1/t; (t + 1)^1; (t + 1)^0";
        let h = 1e-3;
        for text in texts.split(';') {
            let f = parse(text).unwrap();
            for t in [0.37, 0.81, 1.6] {
                let j = f.jet(t);
                assert_eq!(j.value, f.value(t), "{text}");
                let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|s: f64| f.value(t + s * h));
                let rate = (a - 8.0 * b + 8.0 * c - d) / (12.0 * h);
                let second = (-a + 16.0 * b - 30.0 * j.value + 16.0 * c - d) / (12.0 * h * h);
                assert!((j.rate - rate).abs() < 1e-8 * (1.0 + rate.abs()), "{text} at {t}: {} {rate}", j.rate);
                assert!(
                    (j.second - second).abs() < 1e-7 * (1.0 + second.abs()),
                    "{text} at {t}: {} {second}",
                    j.second
                );
            }
        }
    }

    #[test]
    fn still_arguments_stay_still_where_a_slope_is_infinite() {
        let still = [Jet::constant(0.0)];
        let texts =
            "sqrt(t); hypot(t, 0); atan2(t, 0); t^0.5; asin(1 + t); acos(1 - t); 0^(1 + t); (t + 0)^1; 3/(1 + t)";
        for text in texts.split(';') {
            let j = parse(text).unwrap().jet_of(&still);
            assert_eq!((j.rate, j.second), (0.0, 0.0), "{text}");
        }
        assert_eq!(parse("t^2").unwrap().jet(0.0), Jet { value: 0.0, rate: 0.0, second: 2.0 });
        assert_eq!(parse("t^1").unwrap().jet(0.0), Jet { value: 0.0, rate: 1.0, second: 0.0 });
        assert_eq!(parse("0^t").unwrap().jet(1.0), Jet::default());
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        let deep = ["(".repeat(1_000_000), "-".repeat(1_000_000), "sin(".repeat(100_000), "2^".repeat(100_000)];
        for text in deep.into_iter().chain(["if(1,".repeat(1000)]) {
            assert_eq!(parse(&text).unwrap_err().message, "expression nested too deeply");
        }
        // forty operands would wait on the stack
        assert!(parse(&("t+(".repeat(40) + "t" + &")".repeat(40))).is_err());
        let long = "t+".repeat(100_000) + "t";
        assert_eq!(parse(&long).unwrap().value(1.0), 100_001.0);
        let wide = format!("max({}t)", "t,".repeat(500));
        assert_eq!(parse(&wide).unwrap().value(2.0), 2.0);
        assert_eq!(constant(&("(".repeat(25) + "1" + &")".repeat(25))), 1.0);
    }

    #[test]
    fn a_fault_names_the_part_that_failed() {
        let part = |text: &str| {
            let fault = parse(text).unwrap_err();
            (fault.message, text[fault.at].to_string())
        };
        assert_eq!(part("1 + k/zero"), ("division by zero".into(), "k/zero".into()));
        let root = ("square root of a negative number".into(), "sqrt(-k)".into());
        assert_eq!(part("if(zero > 0, 1/zero, 0) + sqrt(-k)"), root);
        assert_eq!(part("3*(t/zero)"), ("division by zero".into(), "t/zero".into()));
        assert!(parse("if(zero > 0, t/zero, 0)").is_ok());
    }
}
