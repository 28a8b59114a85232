//! Values of one key: numbers, expressions, vectors, matrices and names, each refused with what was expected.

use super::{Field, FieldKind, Item, Named, read};
use crate::file::csv::open_text;
use crate::file::diagnostic::{Diagnostic, Diagnostics};
use crate::file::expression::{Expression, Scope};
use crate::file::parameters::{Parameters, in_place};
use crate::file::suggest::{nearest, quoted};
use crate::file::tree::{Node, NodeValue};
use crate::file::units;
use bellcrank_math::Vec3;
use std::fmt::Display;
use std::path::Path;

/// What expressions may use, and where the model lives.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The parameters of the file.
    pub parameters: &'a Parameters,
    /// True for a planar model.
    pub plane: bool,
    /// The free variables of functions: `t`, then the inputs of the model.
    pub variables: &'a [&'a str],
    /// The model's folder, where its tables lie; `None` if the model was not read from a file.
    pub folder: Option<&'a Path>,
    /// What reads functions of the state; `None` where there is no state.
    pub laws: Option<&'a dyn Laws>,
}

/// Reads expressions of the state, which the tables of fields know nothing of.
pub trait Laws {
    /// The expression, with what depends on the state as further inputs; `None` if nothing does.
    fn law(&self, node: &Node, text: &str, what: &dyn Display) -> Option<Result<Expression, Diagnostics>>;
}

impl Context<'_> {
    pub(super) fn item<'a>(&self, node: &'a Node, field: &'static Field, of: &str) -> Result<Item<'a>, Diagnostics> {
        use FieldKind::*;
        let what = format_args!("{} of {of}", quoted(field.name));
        let what: &dyn Display = &what;
        let unit = field.unit;
        let item = match field.kind {
            Number => Item::Number(self.number(node, what, unit)?),
            Positive | NonNegative => {
                let x = self.number(node, what, unit)?;
                let positive = matches!(field.kind, Positive);
                if x < 0.0 || (positive && x == 0.0) {
                    let want = if positive { "positive" } else { "positive or zero" };
                    let label = if node.as_str().is_some() { format!("this is {x}") } else { String::new() };
                    return Err(Diagnostic::error(format!("{what} must be {want}, found {x}"))
                        .at(node.span)
                        .label(label)
                        .into());
                }
                Item::Number(x)
            }
            Integer | Count => Item::Integer(self.integer(node, what, matches!(field.kind, Count))?),
            Flag => match node.value {
                NodeValue::Bool(flag) => Item::Flag(flag),
                _ => return Err(expected(node, what, "true or false").into()),
            },
            Word(words) => Item::Word(word(node, what, words)?),
            Text | Name => match field.kind {
                Text if node.as_str().is_some_and(str::is_empty) => Item::Name(Named { name: "", span: node.span }),
                Text if node.as_str().is_none() => return Err(expected(node, what, "text in quotes").into()),
                _ => Item::Name(name(node, what)?),
            },
            Names(least, most) => Item::Names(names(node, what, least, most)?),
            Function => Item::Function(self.function(node, what, unit)?),
            FunctionOf(variables) => Item::Function(self.expression(node, what, variables, unit)?),
            FunctionsOf(variables) => {
                let mut problems = Diagnostics::new();
                let one = |e| problems.take(self.expression(e, what, variables, unit));
                let mut list: Vec<Expression> = self.components(node, what)?.iter().filter_map(one).collect();
                list.resize(3, Expression::constant(0.0));
                problems.or(Item::Functions(list))?
            }
            File(kind) => self.file(node, what, kind)?,
            Vector | Point => Item::Vector(self.vector(node, what, unit)?),
            VectorFunction => Item::Functions(self.functions(node, what, unit)?),
            Axial if self.plane => Item::Vector(Vec3::Z * self.number(node, what, unit)?),
            Axial => Item::Vector(self.vector(node, what, unit)?),
            AxialFunction if self.plane => {
                let zero = || Expression::constant(0.0);
                Item::Functions(vec![zero(), zero(), self.function(node, what, unit)?])
            }
            AxialFunction => Item::Functions(self.functions(node, what, unit)?),
            Points(least, most) => {
                Item::Points(self.several(node, what, "point", [least, most], |c, n, w| c.vector(n, w, unit))?)
            }
            Direction => Item::Vector(self.direction(node, what)?),
            Directions(least, most) => {
                Item::Points(self.several(node, what, "direction", [least, most], Self::direction)?)
            }
            Numbers(least, most) => Item::Numbers(self.numbers(node, what, [least, most], unit)?),
            Pairs => Item::Pairs(self.pairs(node, what, unit)?),
            Square { plane, space } => {
                Item::Numbers(self.square(node, what, if self.plane { plane } else { space }, unit)?)
            }
            Table(fields) => Item::Table(read(node, &what.to_string(), &[fields], self)?),
            Any => Item::Any,
        };
        Ok(item)
    }

    /// The text of a file in the model's folder.
    fn file<'a>(&self, node: &'a Node, what: &dyn Display, kind: &str) -> Result<Item<'a>, Diagnostics> {
        let named = name(node, what)?;
        let Some(folder) = self.folder else {
            let help = "save the model as a file: what it reads lies in its folder";
            let message = format!("{what}: a model without a file has no folder to read from");
            return Err(Diagnostic::error(message).at(node.span).help(help).into());
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let text = open_text(folder, named.name, kind)
            .map_err(|(message, help)| Diagnostic::error(format!("{what}: {message}")).at(node.span).help(help))?;
        Ok(Item::File(named, text))
    }

    /// A number, or an expression of parameters that gives one, in this unit ([`units::ANY`] for any). `what` names it in
    /// messages, as in "`mass` of body `link`".
    pub fn number(&self, node: &Node, what: &dyn Display, unit: &str) -> Result<f64, Diagnostic> {
        self.expression(node, what, &[], unit).map(|e| e.as_constant().unwrap_or(f64::NAN))
    }

    /// A function of the free variables, or one of time from a table.
    pub fn function(&self, node: &Node, what: &dyn Display, unit: &str) -> Result<Expression, Diagnostics> {
        if node.as_table().is_some() && self.variables.first() == Some(&"t") {
            return self.tabulated(node, what);
        }
        let law = self.laws.zip(node.as_str()).and_then(|(laws, text)| laws.law(node, text, what));
        if let Some(law) = law {
            return law;
        }
        Ok(self.expression(node, what, self.variables, unit)?)
    }

    fn expression(
        &self,
        node: &Node,
        what: &dyn Display,
        variables: &[&str],
        unit: &str,
    ) -> Result<Expression, Diagnostic> {
        match &node.value {
            NodeValue::Integer(n) => Ok(Expression::constant(*n as f64)),
            NodeValue::Number(x) if x.is_finite() => Ok(Expression::constant(*x)),
            NodeValue::Number(x) => Err(Diagnostic::error(format!("{what} must be a finite number"))
                .at(node.span)
                .label(if x.is_nan() { "not a number" } else { "infinite, or too large" })),
            NodeValue::String { text, .. } => {
                if let Some(quantity) = self.parameters.quantity(text) {
                    return match units::refuse(&quantity, unit) {
                        None => Ok(Expression::constant(quantity.value)),
                        Some(problem) => Err(quantity.misplaced(node, format!("{what} {problem}"))),
                    };
                }
                let inputs = self.variables.get(1..).unwrap_or_default();
                let scope = Scope { parameters: self.parameters, variables, inputs };
                Expression::parse(text, scope).map_err(|fault| in_place(fault, node, &what.to_string()))
            }
            _ => Err(expected(node, what, "a number or an expression")),
        }
    }

    fn integer(&self, node: &Node, what: &dyn Display, positive: bool) -> Result<i64, Diagnostic> {
        let x = self.number(node, what, "")?;
        // whole numbers are exact in f64 up to 2⁵³
        if x.fract() != 0.0 || x.abs() > 9e15 {
            return Err(Diagnostic::error(format!("{what} must be a whole number, found {x}")).at(node.span));
        }
        if positive && x < 1.0 {
            return Err(Diagnostic::error(format!("{what} must be at least 1, found {x}")).at(node.span));
        }
        Ok(x as i64)
    }

    /// The entries of a vector: 2 in the plane, 3 in space.
    fn components<'n>(&self, node: &'n Node, what: &dyn Display) -> Result<&'n [Node], Diagnostic> {
        let (n, shape) = if self.plane { (2, "[x, y]") } else { (3, "[x, y, z]") };
        let Some(entries) = node.as_array() else { return Err(expected(node, what, &format!("a vector {shape}"))) };
        if entries.len() == n {
            return Ok(entries);
        }
        let help = match (self.plane, entries.len()) {
            (true, 3) => "the model is planar (`plane` under [model]): leave out the third number",
            (false, 2) => "the model is in space: add the third number, or set `plane = \"xy\"` under [model]",
            _ => "",
        };
        Err(Diagnostic::error(format!("{what} must have {n} numbers {shape}, found {}", entries.len()))
            .at(node.span)
            .label(format!("expected {n} numbers"))
            .help(help))
    }

    /// A vector: 2 numbers in the plane (z = 0), 3 in space.
    pub fn vector(&self, node: &Node, what: &dyn Display, unit: &str) -> Result<Vec3, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut v = Vec3::ZERO;
        for (i, entry) in self.components(node, what)?.iter().enumerate() {
            v[i] = problems.take(self.number(entry, what, unit)).unwrap_or(0.0);
        }
        problems.or(v)
    }

    /// A vector of functions: always three, the third zero in the plane.
    pub fn functions(&self, node: &Node, what: &dyn Display, unit: &str) -> Result<Vec<Expression>, Diagnostics> {
        if node.as_table().is_some() {
            return self.tabulated_vector(node, what);
        }
        let mut problems = Diagnostics::new();
        let entries = self.components(node, what)?.iter();
        let mut list: Vec<Expression> = entries.filter_map(|e| problems.take(self.function(e, what, unit))).collect();
        list.resize(3, Expression::constant(0.0));
        problems.or(list)
    }

    /// A vector that is not zero, made a unit vector.
    pub fn direction(&self, node: &Node, what: &dyn Display) -> Result<Vec3, Diagnostics> {
        let v = self.vector(node, what, "")?;
        let short = || Diagnostic::error(format!("{what} is a zero vector")).at(node.span).label("has no direction");
        v.normalized().ok_or_else(|| short().into())
    }

    /// Vectors; one alone needs no outer brackets.
    fn several(
        &self,
        node: &Node,
        what: &dyn Display,
        thing: &str,
        [least, most]: [usize; 2],
        one: impl Fn(&Self, &Node, &dyn Display) -> Result<Vec3, Diagnostics>,
    ) -> Result<Vec<Vec3>, Diagnostics> {
        let Some(entries) = node.as_array() else {
            let shape = if self.plane { "[x, y]" } else { "[x, y, z]" };
            let want =
                if most == 1 { format!("a {thing} {shape}") } else { format!("a {thing} {shape} or a list of them") };
            return Err(expected(node, what, &want).into());
        };
        let alone = entries.first().is_some_and(|e| e.as_array().is_none());
        let n = if alone { 1 } else { entries.len() };
        let mut problems = Diagnostics::new();
        let list: Vec<Vec3> = if alone {
            problems.take(one(self, node, what)).into_iter().collect()
        } else {
            entries.iter().filter_map(|e| problems.take(one(self, e, what))).collect()
        };
        if problems.is_empty() && !(least..=most).contains(&n) {
            let want = format!("{} {thing}s", range(least, most)).replace("1 points", "1 point");
            problems.push(Diagnostic::error(format!("{what} must have {want}, found {n}")).at(node.span));
        }
        problems.or(list)
    }

    /// A list of numbers. Of two units the first is that of its first half, and the second that of the rest.
    pub fn numbers(
        &self,
        node: &Node,
        what: &dyn Display,
        [least, most]: [usize; 2],
        unit: &str,
    ) -> Result<Vec<f64>, Diagnostics> {
        let Some(entries) = node.as_array() else {
            // one alone needs no brackets
            return match least {
                1 => Ok(vec![self.number(node, what, unit)?]),
                _ => Err(expected(node, what, "a list of numbers").into()),
            };
        };
        if !(least..=most).contains(&entries.len()) {
            let message = format!("{what} must have {} numbers, found {}", range(least, most), entries.len());
            return Err(Diagnostic::error(message).at(node.span).into());
        }
        let mut problems = Diagnostics::new();
        let halves = Halves::of(unit, entries.len(), least);
        let number = |(i, e)| problems.take(self.number(e, what, halves.at(i)));
        let list = entries.iter().enumerate().filter_map(number).collect();
        problems.or(list)
    }

    fn pairs(&self, node: &Node, what: &dyn Display, unit: &str) -> Result<Vec<[f64; 2]>, Diagnostics> {
        if node.as_table().is_some() {
            return self.tabulated_pairs(node, what);
        }
        let Some(rows) = node.as_array() else {
            return Err(expected(node, what, "a list of pairs [[x, y], …]").into());
        };
        let mut problems = Diagnostics::new();
        let pair = |row| problems.take(self.numbers(row, what, [2, 2], unit)).map(|r| [r[0], r[1]]);
        let list = rows.iter().filter_map(pair).collect();
        problems.or(list)
    }

    /// An n×n matrix by rows: given as rows, as the n numbers of its diagonal, or, if n = 1, as a number.
    pub fn square(&self, node: &Node, what: &dyn Display, n: usize, unit: &str) -> Result<Vec<f64>, Diagnostics> {
        let want = match n {
            1 => "a number or an expression".to_string(),
            _ => format!("{n} numbers (the diagonal) or {n} rows of {n} numbers"),
        };
        let refuse = |found: String| Diagnostic::error(format!("{what} must be {want}, found {found}")).at(node.span);
        let help = match n {
            1 => "the model is planar: one number is enough",
            _ if self.plane => "",
            _ => "the model is in space; a planar one has `plane = \"xy\"` under [model]",
        };
        let Some(rows) = node.as_array() else {
            return match n {
                1 => Ok(vec![self.number(node, what, unit)?]),
                _ => Err(refuse(node.article().into()).help(help).into()),
            };
        };
        if n == 1 {
            return Err(refuse("an array".into()).help(help).into());
        }
        if rows.len() != n {
            return Err(refuse(format!("an array of {}", rows.len())).into());
        }
        let mut problems = Diagnostics::new();
        let mut matrix = vec![0.0; n * n];
        let halves = Halves::of(unit, n, 2);
        let full = rows.iter().any(|r| r.as_array().is_some());
        for (i, row) in rows.iter().enumerate() {
            if full {
                // what couples a shift and a turn has a unit of its own, which is not looked at
                let unit = if halves.second.is_some() { "SI units" } else { unit };
                let what = format_args!("row {} of {what}", i + 1);
                if let Some(row) = problems.take(self.numbers(row, &what, [n, n], unit)) {
                    matrix[i * n..(i + 1) * n].copy_from_slice(&row);
                }
            } else {
                matrix[i * n + i] = problems.take(self.number(row, what, halves.at(i))).unwrap_or(0.0);
            }
        }
        problems.or(matrix)
    }
}

/// The units of a list: one of them, or one of its first half and one of the rest (two of the plane's three are shifts). A
/// semicolon stands between units to choose from.
struct Halves<'u> {
    first: &'u str,
    second: Option<&'u str>,
    middle: usize,
}

impl<'u> Halves<'u> {
    /// For a list of `n`; where one number may stand alone, units between commas are a choice.
    fn of(unit: &'u str, n: usize, least: usize) -> Halves<'u> {
        match unit.split_once(", ") {
            Some((first, second)) if least > 1 && !unit.contains(';') => {
                Halves { first, second: Some(second), middle: n.div_ceil(2) }
            }
            _ => Halves { first: unit, second: None, middle: n },
        }
    }

    fn at(&self, i: usize) -> &'u str {
        if i < self.middle { self.first } else { self.second.unwrap_or(self.first) }
    }
}

fn names<'a>(node: &'a Node, what: &dyn Display, least: usize, most: usize) -> Result<Vec<Named<'a>>, Diagnostics> {
    let entries = match node.as_array() {
        Some(entries) => entries,
        None if least <= 1 && node.as_str().is_some() => std::slice::from_ref(node),
        None => {
            let example = if least == 2 { "write it like [\"ground\", \"crank\"]" } else { "" };
            return Err(expected(node, what, "a list of names").help(example).into());
        }
    };
    let mut problems = Diagnostics::new();
    let list: Vec<Named> = entries.iter().filter_map(|e| problems.take(name(e, what))).collect();
    if problems.is_empty() && !(least..=most).contains(&list.len()) {
        let want = range(least, most);
        let thing = if want == "1" { "name" } else { "names" };
        problems
            .push(Diagnostic::error(format!("{what} must have {want} {thing}, found {}", list.len())).at(node.span));
    }
    problems.or(list)
}

pub(super) fn expected(node: &Node, what: &dyn Display, want: &str) -> Diagnostic {
    Diagnostic::error(format!("{what} must be {want}, found {}", node.article()))
        .at(node.span)
        .label(format!("expected {want}"))
}

pub(super) fn word<'w>(node: &Node, what: &dyn Display, words: &[&'w str]) -> Result<&'w str, Diagnostic> {
    let Some(text) = node.as_str() else { return Err(expected(node, what, "a word in quotes")) };
    if let Some(word) = words.iter().find(|w| **w == text) {
        return Ok(word);
    }
    let label = match nearest(text, words.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "unknown word".into(),
    };
    Err(Diagnostic::error(format!("{what} cannot be {}", quoted(text)))
        .at(node.span)
        .label(label)
        .help(format!("it is one of {}", words.join(", "))))
}

fn name<'a>(node: &'a Node, what: &dyn Display) -> Result<Named<'a>, Diagnostic> {
    match node.as_str() {
        Some("") => Err(Diagnostic::error(format!("{what} is an empty name")).at(node.span)),
        Some(name) => Ok(Named { name, span: node.span }),
        None => Err(expected(node, what, "a name in quotes")),
    }
}

/// `2`, `2 or 3`, `2 to 5`.
fn range(least: usize, most: usize) -> String {
    match most - least.min(most) {
        0 => format!("{least}"),
        1 => format!("{least} or {most}"),
        _ if most == usize::MAX => format!("at least {least}"),
        _ => format!("{least} to {most}"),
    }
}
