//! The grammar of expressions: tokens to a postfix program, constants folded on the way.

use super::corners::corner;
use super::function::{FUNCTIONS, Function, named};
use super::tokens::{Token, TokenKind, fault, tokens};
use super::{DEEPEST, ExpressionFault, Instruction, STACK, Scope};
use crate::file::suggest::{count, list, nearest, quoted};
use crate::file::{repeat, units};
use crate::surface::Surface;
use std::ops::Range;
use std::sync::Arc;

/// Names of constants, used unless a parameter has the same name.
const CONSTANTS: [(&str, f64); 2] = [("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

/// Most arguments of `min` and `max`.
const MOST_ARGUMENTS: usize = 1000;

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

/// True for the names of constants.
pub fn is_constant(name: &str) -> bool {
    CONSTANTS.iter().any(|(n, _)| *n == name)
}

/// Reads a text into a postfix program. One without free variables must come out finite.
pub(super) fn program(text: &str, scope: Scope) -> Result<(Vec<Instruction>, Vec<Arc<Surface>>), ExpressionFault> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        scope,
        program: Vec::new(),
        slots: 0,
        depth: 0,
        culprit: None,
        tables: Vec::new(),
    };
    parser.comparison()?;
    if let Some(extra) = parser.peek() {
        return Err(parser.unexpected(extra));
    }
    let Parser { program, culprit, tables, .. } = parser;
    // a branch of `if` that is not taken may hold anything
    let guarded = program.len() > 1 && program.contains(&Instruction::Apply(named("if")));
    let broken = program.iter().any(|s| matches!(s, Instruction::Number(x) if !x.is_finite()))
        || program.windows(2).any(|w| w == [Instruction::Number(0.0), Instruction::Apply(named("/"))]);
    if broken && !guarded {
        return Err(culprit.unwrap_or_else(|| fault(0..text.len(), "number that is not finite", "", "")));
    }
    Ok((program, tables))
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    scope: Scope<'a>,
    program: Vec<Instruction>,
    /// Stack slots in use after the program so far.
    slots: usize,
    depth: usize,
    /// The first constant operation that came out not finite.
    culprit: Option<ExpressionFault>,
    /// The tables it looks into.
    tables: Vec<Arc<Surface>>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).cloned()
    }

    fn operator(&mut self, among: &[&str]) -> Option<&'static str> {
        match self.tokens.get(self.at)?.kind {
            TokenKind::Operator(operator) if among.contains(&operator) => {
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

    fn deeper(&mut self, inner: fn(&mut Self) -> Result<(), ExpressionFault>) -> Result<(), ExpressionFault> {
        if self.depth == DEEPEST {
            return Err(self.too_deep());
        }
        self.depth += 1;
        let done = inner(self);
        self.depth -= 1;
        done
    }

    fn too_deep(&self) -> ExpressionFault {
        let at = self.here().min(self.text.len());
        let end = self.tokens.get(self.at).map_or(at, |t| t.at.end);
        fault(at..end, "expression nested too deeply", "", "put a part of it into a parameter")
    }

    fn push(&mut self, step: Instruction) -> Result<(), ExpressionFault> {
        self.program.push(step);
        self.slots += 1;
        if self.slots > STACK { Err(self.too_deep()) } else { Ok(()) }
    }

    /// Adds an operation, or its result where all arguments are numbers.
    fn apply(&mut self, f: &'static Function, at: Range<usize>) {
        let n = f.arity;
        self.slots -= n - 1;
        let mut arguments = [0.0; 5];
        let tail = self.program.len().saturating_sub(n);
        let constant = self.program[tail..].iter().zip(&mut arguments).all(|(step, slot)| match step {
            Instruction::Number(value) => {
                *slot = *value;
                true
            }
            _ => false,
        });
        if !constant {
            if f.name == "/" && self.program.last() == Some(&Instruction::Number(0.0)) {
                self.culprit.get_or_insert(fault(at, "division by zero", "", ""));
            }
            let f = corner(f, &mut self.program).unwrap_or(f);
            return self.program.push(Instruction::Apply(f));
        }
        let arguments = &arguments[..n];
        let value = (f.value)(arguments);
        match (value.is_finite(), arguments.iter().all(|a| a.is_finite())) {
            (false, true) => {
                let label = if n == 1 { format!("of {}", arguments[0]) } else { String::new() };
                self.culprit.get_or_insert(fault(at, (f.failure)(arguments), label, ""));
            }
            // an `if` has chosen the other branch
            (true, false) => self.culprit = None,
            _ => {}
        }
        self.program.truncate(tail);
        self.program.push(Instruction::Number(value));
    }

    fn comparison(&mut self) -> Result<(), ExpressionFault> {
        const SIGNS: [&str; 6] = ["<", "<=", ">", ">=", "==", "!="];
        let start = self.here();
        self.sum()?;
        let Some(sign) = self.operator(&SIGNS) else { return Ok(()) };
        self.sum()?;
        self.apply(named(sign), start..self.last());
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

    fn sum(&mut self) -> Result<(), ExpressionFault> {
        let start = self.here();
        self.product()?;
        while let Some(operator) = self.operator(&["+", "-"]) {
            self.product()?;
            self.apply(named(operator), start..self.last());
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), ExpressionFault> {
        let start = self.here();
        self.deeper(Self::signed)?;
        while let Some(operator) = self.operator(&["*", "/"]) {
            self.deeper(Self::signed)?;
            self.apply(named(operator), start..self.last());
        }
        Ok(())
    }

    fn signed(&mut self) -> Result<(), ExpressionFault> {
        let start = self.here();
        match self.operator(&["-", "+"]) {
            Some("-") => {
                self.deeper(Self::signed)?;
                self.apply(named("neg"), start..self.last());
                Ok(())
            }
            Some(_) => self.deeper(Self::signed),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<(), ExpressionFault> {
        let start = self.here();
        self.primary()?;
        if self.operator(&["^"]).is_some() {
            self.deeper(Self::signed)?;
            self.apply(named("pow"), start..self.last());
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<(), ExpressionFault> {
        let Some(token) = self.peek() else {
            let end = self.text.len();
            return Err(match self.at {
                0 => fault(0..end, "empty expression", "expected a number or an expression", ""),
                _ => fault(self.last()..end, "expression ends too early", "expected a value", ""),
            });
        };
        match token.kind {
            TokenKind::Number(value) => {
                self.at += 1;
                let value = self.unit(value)?;
                self.push(Instruction::Number(value))
            }
            TokenKind::Open => {
                self.at += 1;
                self.deeper(Self::comparison)?;
                self.close(token.at)
            }
            TokenKind::Name if self.tokens.get(self.at + 1).is_some_and(|t| t.kind == TokenKind::Open) => {
                self.call(token.at)
            }
            TokenKind::Name => {
                self.at += 1;
                let step = self.name(token.at)?;
                self.push(step)
            }
            _ => Err(self.unexpected(token)),
        }
    }

    /// A number in SI units, with the unit that follows it. A unit that has the name of something else is refused.
    fn unit(&mut self, value: f64) -> Result<f64, ExpressionFault> {
        let Some(Token { kind: TokenKind::Unit(unit), at }) = self.peek() else { return Ok(value) };
        self.at += 1;
        let Scope { parameters, variables, .. } = self.scope;
        let written = &self.text[at.clone()];
        let known = |name: &&str| variables.contains(name) || parameters.get(name).is_some();
        match units::divisors(written).find(known) {
            Some(name) => {
                let label = format!("{} is also a name in the model", quoted(name));
                let help = "to divide by it, put spaces around `/`; or put the number with its unit into a parameter";
                Err(fault(at, format!("unit {} that could be something else", quoted(written)), label, help))
            }
            None => Ok(unit.in_si(value)),
        }
    }

    fn close(&mut self, open: Range<usize>) -> Result<(), ExpressionFault> {
        match self.peek() {
            Some(token) if token.kind == TokenKind::Close => {
                self.at += 1;
                Ok(())
            }
            None => Err(fault(open, "unbalanced parenthesis", "never closed", "")),
            Some(token) => Err(self.unexpected(token)),
        }
    }

    fn name(&self, at: Range<usize>) -> Result<Instruction, ExpressionFault> {
        let name = &self.text[at.clone()];
        let Scope { parameters, variables, inputs } = self.scope;
        if let Some(v) = variables.iter().position(|v| *v == name) {
            return Ok(Instruction::Variable(v as u16));
        }
        if inputs.contains(&name) {
            let why = "an input may change during a run: only loads, drives of a rate and controllers can use it";
            return Err(fault(at, format!("input {} cannot be used", quoted(name)), "must be constant", why));
        }
        if let Some(value) = parameters.get(name) {
            return Ok(Instruction::Number(value));
        }
        if let Some((_, value)) = CONSTANTS.iter().find(|(n, _)| *n == name) {
            return Ok(Instruction::Number(*value));
        }
        if name == "t" {
            let why = "only loads and drives are functions of time";
            return Err(fault(at, "time `t` cannot be used", "must be constant", why));
        }
        if let Some(Function { usage, .. }) = FUNCTIONS.iter().find(|f| f.name == name) {
            return Err(fault(
                at,
                format!("function {} without arguments", quoted(name)),
                format!("write {usage}"),
                "",
            ));
        }
        if name.contains('.') {
            let why =
                "functions of the state are for loads, joint actuators, references of controllers and rates of states";
            return Err(fault(at, format!("unknown name {}", quoted(name)), "not known here", why));
        }
        let known = || variables.iter().copied().chain(parameters.names());
        let constants = CONSTANTS.iter().map(|(n, _)| *n);
        let near = nearest(name, known().chain(constants));
        let label = match (units::misused(name).or(repeat::misused(name, known())), near) {
            (Some(why), _) => why.into(),
            (_, Some(near)) => format!("did you mean {}?", quoted(near)),
            _ => "not a parameter".into(),
        };
        let help = match (near, known().next()) {
            (_, None) => "define it under [parameter]".into(),
            (Some(_), _) => format!("known names are {}", list(known())),
            (None, _) => format!("define it under [parameter], or use one of {}", list(known())),
        };
        Err(fault(at, format!("unknown name {}", quoted(name)), label, help))
    }

    fn call(&mut self, at: Range<usize>) -> Result<(), ExpressionFault> {
        let name = &self.text[at.clone()];
        let Some(f) = FUNCTIONS.iter().find(|f| f.name == name) else {
            return match self.scope.parameters.table(name).cloned() {
                Some(table) => self.lookup(at, table),
                None => Err(self.unknown_function(at)),
            };
        };
        self.at += 1;
        let open = self.tokens[self.at].at.clone();
        self.at += 1;
        let mut starts = Vec::new();
        if !self.peek().is_some_and(|t| t.kind == TokenKind::Close) {
            loop {
                starts.push(self.program.len());
                self.deeper(Self::comparison)?;
                // `min` and `max` are applied as the arguments come, so that a long list needs two slots
                if f.variadic && starts.len() > 1 {
                    self.apply(f, at.start..self.last());
                }
                match self.peek() {
                    Some(token) if token.kind == TokenKind::Comma => self.at += 1,
                    _ => break,
                }
            }
        }
        self.close(open)?;
        let whole = at.start..self.last();
        if starts.len() < f.arity || (starts.len() > f.arity && !f.variadic) || starts.len() > MOST_ARGUMENTS {
            let takes = count(f.arity, "argument");
            let takes = if f.variadic { format!("at least {takes}") } else { takes };
            let message = format!("{} takes {takes}, found {}", quoted(name), starts.len());
            return Err(fault(whole, message, format!("write {}", f.usage), ""));
        }
        if f.name == "step"
            && let (Instruction::Number(x0), Instruction::Number(x1)) =
                (self.program[starts[1]], self.program[starts[3]])
            && (starts[2], starts[4]) == (starts[1] + 1, starts[3] + 1)
            && x0 >= x1
        {
            let message = format!("step from {x0} to {x1}");
            return Err(fault(whole, message, "x1 must be greater than x0", format!("write {}", f.usage)));
        }
        if !f.variadic {
            self.apply(f, whole);
        }
        Ok(())
    }

    /// A call of a table.
    fn lookup(&mut self, at: Range<usize>, table: Arc<Surface>) -> Result<(), ExpressionFault> {
        let arity = table.arity();
        self.at += 1;
        let open = self.tokens[self.at].at.clone();
        self.at += 1;
        self.deeper(Self::comparison)?;
        let mut found = 1;
        while self.peek().is_some_and(|t| t.kind == TokenKind::Comma) {
            self.at += 1;
            found += 1;
            self.deeper(Self::comparison)?;
        }
        self.close(open)?;
        let name = &self.text[at.clone()];
        if found != arity || self.tables.len() == u8::MAX as usize {
            let message = format!("table {} takes {}, found {found}", quoted(name), count(arity, "argument"));
            let usage = if arity == 1 { format!("write {name}(x)") } else { format!("write {name}(x, y)") };
            return Err(fault(at.start..self.last(), message, usage, ""));
        }
        self.slots -= arity - 1;
        let tail = self.program.len() - arity.min(self.program.len());
        let constant = |i: &Instruction| if let Instruction::Number(x) = i { Some(*x) } else { None };
        if let Some(values) = self.program[tail..].iter().map(constant).collect::<Option<Vec<f64>>>() {
            let value = table.at(values[0], values.get(1).copied().unwrap_or(0.0)).value;
            self.program.truncate(tail);
            self.program.push(Instruction::Number(value));
            return Ok(());
        }
        let number = self.tables.iter().position(|t| Arc::ptr_eq(t, &table)).unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        self.program.push(Instruction::Lookup(number as u8, arity as u8));
        Ok(())
    }

    fn unknown_function(&self, at: Range<usize>) -> ExpressionFault {
        let name = &self.text[at.clone()];
        let Scope { parameters, variables, .. } = self.scope;
        let constant = CONSTANTS.iter().any(|(n, _)| *n == name);
        if variables.contains(&name) || parameters.get(name).is_some() || constant {
            let label = format!("to multiply, write {name}*(…)");
            return fault(at, format!("{} is not a function", quoted(name)), label, "");
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, f)| *f);
        let near = alias.or_else(|| nearest(name, FUNCTIONS.iter().map(|f| f.name)));
        let label = near.map_or("not a function".into(), |near| format!("did you mean {}?", quoted(near)));
        let known: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).chain(parameters.tables()).collect();
        fault(at, format!("unknown function {}", quoted(name)), label, format!("functions are {}", known.join(", ")))
    }

    fn unexpected(&self, token: Token) -> ExpressionFault {
        let raw = &self.text[token.at.clone()];
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        let value_before =
            before.is_some_and(|t| !matches!(t.kind, TokenKind::Open | TokenKind::Comma | TokenKind::Operator(_)));
        let number_before = before.is_some_and(|t| matches!(t.kind, TokenKind::Number(_)));
        let (message, label): (String, &str) = match token.kind {
            TokenKind::Operator("**") => ("unknown operator `**`".into(), "write `^` for powers"),
            TokenKind::Operator("=") => ("unknown operator `=`".into(), "write `==` to compare"),
            TokenKind::Operator("%") => ("unknown operator `%`".into(), "write x - y*floor(x/y) for the remainder"),
            TokenKind::Close if value_before => ("unbalanced parenthesis".into(), "never opened"),
            TokenKind::Close => (format!("unexpected {}", quoted(raw)), "expected a value before this"),
            TokenKind::Name if number_before && units::meant(raw).is_some() => {
                let label = format!("did you mean {}?", quoted(units::meant(raw).unwrap_or_default()));
                let help =
                    "units are written like 12 mm, 5 kN/m or 3 N m/rad; to multiply by a name, put `*` before it";
                return fault(token.at, format!("unknown unit {}", quoted(raw)), label, help);
            }
            TokenKind::Number(_) | TokenKind::Unit(_) | TokenKind::Name | TokenKind::Open if value_before => {
                ("missing operator".into(), "expected an operator such as `*` before this")
            }
            TokenKind::Comma if value_before => {
                ("unexpected `,`".into(), "use commas only between arguments, and a point for decimals")
            }
            _ => (format!("unexpected {}", quoted(raw)), "expected a value"),
        };
        fault(token.at, message, label, "")
    }
}
