//! Expressions of parameters, of time and of inputs, such as `k*(1 - exp(-t/tau))`.
//!
//! Grammar, loosest first; `^` groups to the right and binds tighter than a sign, so −2^2 = −4:
//!
//! ```text
//! comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]      gives 1 or 0
//! sum        = product {("+" | "-") product}
//! product    = signed {("*" | "/") signed}
//! signed     = ("-" | "+") signed | power
//! power      = primary ["^" signed]
//! primary    = number [unit] | name | function "(" comparison {"," comparison} ")" | "(" comparison ")"
//! ```
//!
//! A number may have a unit behind it ([`units`](super::units)): `2*12 mm` is 0.024.
//!
//! A name is a free variable (`t` or an input), else a parameter, else a constant (`pi`, `e`): a parameter named `e`
//! hides the constant. Names and functions do not collide, since a function is followed by `(`.
//!
//! Parameters are replaced by their numbers when the text is read, and what is constant is computed
//! then. What is left is a postfix program that runs on a small fixed stack, over plain numbers or over
//! [`Jet`]s (value and two derivatives); neither allocates.

mod bends;
mod branches;
mod breaks;
mod corners;
mod function;
mod interval;
mod jet;
mod parse;
mod tokens;

pub use bends::{Bends, Branches, MOST_BENDS, Unfollowed};
pub use function::{function_table, is_function};
pub use jet::Jet;
pub use parse::is_constant;
pub use tokens::is_name;
pub(super) use tokens::number_length;

use super::parameters::Parameters;
use crate::curve::Curve;
use crate::surface::Surface;
use function::Function;
use std::ops::Range;
use std::sync::Arc;

/// An expression, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    program: Box<[Instruction]>,
    text: Box<str>,
    /// Applied to the result of the program.
    outer: Option<Outer>,
    /// The tables that the program looks into.
    tables: Box<[Arc<Surface>]>,
}

/// What is applied to the result of a program.
#[derive(Clone)]
enum Outer {
    Curve(Arc<Curve>),
    Function(Arc<dyn OwnFunction>),
}

/// A function of time that a program brings along: a drive of its own.
pub trait OwnFunction: Send + Sync {
    /// f(t).
    fn value(&self, t: f64) -> f64;

    /// f, ḟ and f̈ at t; unless they are known, by central differences of fourth order.
    fn jet(&self, t: f64) -> Jet {
        let h = OWN_STEP * t.abs().max(1.0);
        let [a, b, f, c, d] = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|k: f64| self.value(t + k * h));
        Jet {
            value: f,
            rate: (a - 8.0 * b + 8.0 * c - d) / (12.0 * h),
            second: (-a + 16.0 * b - 30.0 * f + 16.0 * c - d) / (12.0 * h * h),
        }
    }
}

/// The step of differences in time, in s: of a motion of 1 rad/s, ḟ is good to 1e-13 and f̈ to 1e-10.
const OWN_STEP: f64 = 1e-3;

impl PartialEq for Outer {
    fn eq(&self, other: &Outer) -> bool {
        match (self, other) {
            (Outer::Curve(a), Outer::Curve(b)) => a == b,
            (Outer::Function(a), Outer::Function(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl std::fmt::Debug for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outer::Curve(curve) => curve.fmt(f),
            Outer::Function(_) => f.write_str("a function of its own"),
        }
    }
}

impl Outer {
    fn value(&self, x: f64) -> f64 {
        match self {
            Outer::Curve(curve) => curve.value(x),
            Outer::Function(function) => function.value(x),
        }
    }

    fn jet(&self, x: f64) -> Jet {
        match self {
            Outer::Curve(curve) => curve.jet(x),
            Outer::Function(function) => function.jet(x),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Instruction {
    Number(f64),
    Variable(u16),
    Apply(&'static Function),
    /// Looks into a table of this number, with one or two arguments.
    Lookup(u8, u8),
}

/// What is wrong with an expression, and where in its text. The message reads on with "in …".
#[derive(Clone, Debug, PartialEq)]
pub struct ExpressionFault {
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
    /// Names of inputs; those that are not among the variables are refused with the reason.
    pub inputs: &'a [&'a str],
}

/// Slots of the evaluation stack.
const STACK: usize = 32;
/// Nested rules of the grammar; each pair of parentheses takes two.
const DEEPEST: usize = 128;

impl Expression {
    /// An expression that is a number.
    pub fn constant(value: f64) -> Expression {
        Expression { program: Box::new([Instruction::Number(value)]), text: "".into(), outer: None, tables: [].into() }
    }

    /// A curve as a function of the first variable; `text` tells where it comes from.
    pub fn tabulated(curve: Curve, text: &str) -> Expression {
        let program = Box::new([Instruction::Variable(0)]);
        Expression { program, text: text.into(), outer: Some(Outer::Curve(Arc::new(curve))), tables: [].into() }
    }

    /// A function of the first variable, which is time, that no text can tell; `text` is its name in messages.
    pub fn own(function: Arc<dyn OwnFunction>, text: &str) -> Expression {
        let program = Box::new([Instruction::Variable(0)]);
        Expression { program, text: text.into(), outer: Some(Outer::Function(function)), tables: [].into() }
    }

    /// The curve that is applied to the result, if there is one.
    fn curve(&self) -> Option<&Curve> {
        match &self.outer {
            Some(Outer::Curve(curve)) => Some(curve),
            _ => None,
        }
    }

    /// Reads an expression. One without free variables must come out finite.
    pub fn parse(text: &str, scope: Scope) -> Result<Expression, ExpressionFault> {
        let (program, tables) = parse::program(text, scope)?;
        match program[..] {
            [Instruction::Number(value)] => Ok(Expression::constant(value)),
            _ => Ok(Expression { program: program.into(), text: text.into(), outer: None, tables: tables.into() }),
        }
    }

    /// The names a text uses other than as functions, each with its place. Empty if it cannot be read.
    pub fn names(text: &str) -> Vec<(&str, Range<usize>)> {
        let others = tokens::words(text).into_iter().filter(|(_, called)| !called);
        others.map(|(at, _)| (&text[at.clone()], at)).collect()
    }

    /// The places of all names in a text, and whether each is called as a function. Empty if it cannot be read.
    pub fn words(text: &str) -> Vec<(Range<usize>, bool)> {
        tokens::words(text)
    }

    /// The number, if it does not depend on a variable.
    pub fn as_constant(&self) -> Option<f64> {
        match self.program[..] {
            [Instruction::Number(value)] => Some(value),
            _ => None,
        }
    }

    /// The text it was read from; empty for a number.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True if it depends on the variable of that number.
    pub fn uses(&self, variable: usize) -> bool {
        self.program.iter().any(|s| matches!(s, Instruction::Variable(v) if *v as usize == variable))
    }

    /// True if it depends on an input: on any variable but the first, which is time.
    pub fn uses_inputs(&self) -> bool {
        self.program.iter().any(|s| matches!(s, Instruction::Variable(v) if *v > 0))
    }

    /// f(t), for an expression whose only variable is `t`.
    pub fn value(&self, t: f64) -> f64 {
        self.value_with(t, &[])
    }

    /// f, ḟ and f̈ at t, for an expression whose only variable is `t`.
    pub fn jet(&self, t: f64) -> Jet {
        self.jet_with(t, &[])
    }

    /// f(t, u), where the variables are `t` and the inputs u in their order.
    pub fn value_with(&self, t: f64, inputs: &[f64]) -> f64 {
        self.evaluate(|v| if v == 0 { t } else { inputs.get(v - 1).copied().unwrap_or(f64::NAN) })
    }

    /// f, ḟ and f̈ at t; inputs are constant between the times they are set: u̇ = 0.
    pub fn jet_with(&self, t: f64, inputs: &[f64]) -> Jet {
        self.differentiate(|v| match v {
            0 => Jet::variable(t),
            v => Jet::constant(inputs.get(v - 1).copied().unwrap_or(f64::NAN)),
        })
    }

    /// The value, given the variables in the order of [`Scope::variables`]. A variable that is not given is NaN.
    pub fn value_of(&self, variables: &[f64]) -> f64 {
        self.evaluate(|v| variables.get(v).copied().unwrap_or(f64::NAN))
    }

    /// Value and derivatives, given the variables as jets: the total derivative along them. With one
    /// variable as [`Jet::variable`] and the others constant, the partial derivatives in that one.
    pub fn jet_of(&self, variables: &[Jet]) -> Jet {
        self.differentiate(|v| variables.get(v).copied().unwrap_or(Jet::constant(f64::NAN)))
    }

    #[inline]
    fn evaluate(&self, variable: impl Fn(usize) -> f64) -> f64 {
        if let [Instruction::Number(value)] = self.program[..] {
            return value;
        }
        let mut stack = [0.0; STACK];
        let mut top = 0;
        for instruction in &self.program {
            match *instruction {
                Instruction::Number(value) => stack[top] = value,
                Instruction::Variable(v) => stack[top] = variable(v as usize),
                Instruction::Apply(f) => {
                    top -= f.arity;
                    stack[top] = (f.value)(&stack[top..top + f.arity]);
                }
                Instruction::Lookup(table, arity) => {
                    top -= arity as usize;
                    stack[top] = self.tables[table as usize].at(stack[top], second(&stack[top..], arity)).value;
                }
            }
            top += 1;
        }
        match &self.outer {
            None => stack[0],
            Some(outer) => outer.value(stack[0]),
        }
    }

    #[inline]
    fn differentiate(&self, variable: impl Fn(usize) -> Jet) -> Jet {
        if let [Instruction::Number(value)] = self.program[..] {
            return Jet::constant(value);
        }
        let mut stack = [Jet::default(); STACK];
        let mut top = 0;
        for instruction in &self.program {
            match *instruction {
                Instruction::Number(value) => stack[top] = Jet::constant(value),
                Instruction::Variable(v) => stack[top] = variable(v as usize),
                Instruction::Apply(f) => {
                    top -= f.arity;
                    stack[top] = (f.jet)(&stack[top..top + f.arity]);
                }
                Instruction::Lookup(table, arity) => {
                    top -= arity as usize;
                    stack[top] = self.looked_up(table, stack[top], second(&stack[top..], arity));
                }
            }
            top += 1;
        }
        self.applied(stack[0])
    }

    /// A value of a table along its arguments.
    fn looked_up(&self, table: u8, x: Jet, y: Jet) -> Jet {
        let at = self.tables[table as usize].at(x.value, y.value);
        let ([fx, fy], [fxx, fxy, fyy]) = (at.slope, at.second);
        Jet {
            value: at.value,
            rate: fx * x.rate + fy * y.rate,
            second: fxx * x.rate * x.rate
                + 2.0 * fxy * x.rate * y.rate
                + fyy * y.rate * y.rate
                + fx * x.second
                + fy * y.second,
        }
    }

    /// What is applied to the result of the program, if anything is.
    fn applied(&self, x: Jet) -> Jet {
        match &self.outer {
            None => x,
            Some(outer) => {
                let f = outer.jet(x.value);
                x.chain(f.value, f.rate, f.second)
            }
        }
    }

    /// ∂f/∂variable, where the variables are `t` and the inputs u in their order.
    pub fn slope_with(&self, variable: usize, t: f64, inputs: &[f64]) -> f64 {
        if !self.uses(variable) {
            return 0.0;
        }
        let jet = self.differentiate(|v| {
            let x = if v == 0 { t } else { inputs.get(v - 1).copied().unwrap_or(f64::NAN) };
            if v == variable { Jet::variable(x) } else { Jet::constant(x) }
        });
        jet.rate
    }
}

/// The second argument of a table, where it has one.
fn second<T: Copy + Default>(arguments: &[T], arity: u8) -> T {
    if arity > 1 { arguments[1] } else { T::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expression, ExpressionFault> {
        let mut parameters = Parameters::default();
        for (name, value) in [("k", 100.0), ("L1", 0.3), ("tau", 0.5), ("min", 7.0), ("zero", 0.0)] {
            parameters.set(name, value);
        }
        Expression::parse(text, Scope { parameters: &parameters, variables: &["t"], inputs: &[] })
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
    fn an_own_function_is_differentiated() {
        struct Sine;
        impl OwnFunction for Sine {
            fn value(&self, t: f64) -> f64 {
                (2.0 * t).sin()
            }
        }
        let f = Expression::own(Arc::new(Sine), "sine");
        for t in [0.0, 0.7, -3.0, 50.0] {
            let (j, s, c) = (f.jet(t), (2.0 * t).sin(), (2.0 * t).cos());
            assert_eq!((j.value, f.value(t)), (s, s));
            let error = [(j.rate - 2.0 * c).abs(), (j.second + 4.0 * s).abs()];
            assert!(error[0] < 1e-5 && error[1] < 1e-4 && (t.abs() > 3.0 || error[1] < 1e-8), "{t}: {error:?}");
        }
        assert!(f.uses(0) && f.as_constant().is_none() && f == f.clone());
    }

    #[test]
    fn a_parameter_hides_a_constant_and_a_variable_hides_both() {
        let mut parameters = Parameters::default();
        parameters.set("e", 0.8);
        let read = |text, variables| {
            Expression::parse(text, Scope { parameters: &parameters, variables, inputs: &[] }).unwrap()
        };
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
