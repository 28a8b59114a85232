//! Tables of fields: one description of the keys of a table reads it, checks it and documents it.
//!
//! ```
//! use bellcrank_model::file::{Field, FieldKind};
//! const SPRING: &[Field] = &[
//!     Field::required("between", FieldKind::Names(2, 2), "", "the two bodies"),
//!     Field::required("stiffness", FieldKind::NonNegative, "N/m", "force per elongation"),
//!     Field::optional("damping", FieldKind::NonNegative, "N·s/m", "0", "force per rate of elongation"),
//!     Field::optional("length", FieldKind::NonNegative, "m", "the length at the start", "unstretched length"),
//! ];
//! ```

use super::diagnostic::{Diagnostic, Diagnostics};
use super::expression::{Expression, Scope};
use super::parameters::{Parameters, in_place};
use super::source::Span;
use super::suggest::{count, list, nearest, quoted};
use super::tree::{Node, Value};
use bellcrank_math::Vec3;
use std::fmt::Display;
use std::path::Path;

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What its value may be.
    pub kind: FieldKind,
    /// Whether it must be there.
    pub required: bool,
    /// The unit, `""` if it has none.
    pub unit: &'static str,
    /// What it means, in a few words.
    pub doc: &'static str,
    /// What holds when it is left out. A number, word or flag here is taken as the value
    /// ([`Values::number`] gives it); other words are for the reader, and the value is absent.
    pub default: &'static str,
}

/// What a value may be. Every number may be an expression of parameters.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// A number.
    Number,
    /// A number > 0.
    Positive,
    /// A number ≥ 0.
    NonNegative,
    /// A whole number.
    Integer,
    /// A whole number ≥ 1.
    Count,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// The name of something in the model.
    Name,
    /// From the first to the second number of names.
    Names(usize, usize),
    /// A function of time: a number, an expression of parameters and `t`, or a table
    /// ([`TABULATED`](super::csv::TABULATED)).
    Function,
    /// A vector: 2 numbers in the plane, 3 in space.
    Vector,
    /// A vector of functions of time.
    VectorFunction,
    /// A vector along z in the plane, such as a torque: one number there, 3 in space.
    Axial,
    /// An axial vector of functions of time.
    AxialFunction,
    /// The place of a point.
    Point,
    /// From the first to the second number of points; one alone needs no outer brackets.
    Points(usize, usize),
    /// A vector that is not zero; read as a unit vector.
    Direction,
    /// From the first to the second number of directions.
    Directions(usize, usize),
    /// From the first to the second number of numbers; one alone needs no brackets.
    Numbers(usize, usize),
    /// Rows of two numbers, or a table of them ([`TABULATED_PAIRS`](super::csv::TABULATED_PAIRS)).
    Pairs,
    /// An n×n matrix, or the n numbers of its diagonal, or its one number if n = 1.
    Square {
        /// n in the plane.
        plane: usize,
        /// n in space.
        space: usize,
    },
    /// A table with its own fields.
    Table(&'static [Field]),
    /// Anything; the caller looks at [`Values::node`].
    Any,
}

impl Field {
    /// A key that must be there.
    pub const fn required(name: &'static str, kind: FieldKind, unit: &'static str, doc: &'static str) -> Field {
        Field { name, kind, required: true, unit, doc, default: "" }
    }

    /// A key that may be left out.
    pub const fn optional(
        name: &'static str,
        kind: FieldKind,
        unit: &'static str,
        default: &'static str,
        doc: &'static str,
    ) -> Field {
        Field { name, kind, required: false, unit, doc, default }
    }

    /// The value of the default text, if it is one.
    fn default_item(&self) -> Option<Item<'static>> {
        use FieldKind::*;
        match self.kind {
            Number | Positive | NonNegative => self.default.parse().ok().map(Item::Number),
            Integer | Count => self.default.parse().ok().map(Item::Integer),
            Flag => self.default.parse().ok().map(Item::Flag),
            Word(words) => words.iter().find(|w| **w == self.default).map(|w| Item::Word(w)),
            Function => self.default.parse().ok().map(|x| Item::Function(Expression::constant(x))),
            _ => None,
        }
    }
}

impl Field {
    /// Adds what could be written instead to messages that say nothing of it. An expression is on its
    /// own: its message points into it.
    fn advise(&self, mut problems: Diagnostics, node: &Node, context: &Context) -> Diagnostics {
        use FieldKind::*;
        let (number, vector) = ("1.5", if context.plane { "[1, 0]" } else { "[1, 0, 0]" });
        let example = match self.kind {
            Vector if self.name == "gravity" && context.plane => "[0, -9.81]",
            Vector if self.name == "gravity" => "[0, 0, -9.81]",
            Number | Positive | NonNegative | Function if node.as_str().is_none() => number,
            Integer | Count if node.as_str().is_none() => "2",
            Axial | AxialFunction if context.plane => number,
            Axial | AxialFunction | Vector | VectorFunction | Point | Direction => vector,
            Points(0 | 1, _) | Directions(0 | 1, _) => vector,
            Names(2, 2) => "[\"ground\", \"crank\"]",
            Flag => "true",
            _ => return problems,
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" [{}]", self.unit) };
        let expression = if example == number { ", or an expression in quotes" } else { "" };
        for problem in problems.0.iter_mut().filter(|p| p.help.is_empty()) {
            problem.help.push(format!("write it like `{} = {example}`{unit}{expression}", self.name));
        }
        problems
    }
}

/// What expressions may use, and where the model lives.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The parameters of the file.
    pub parameters: &'a Parameters,
    /// True for a planar model.
    pub plane: bool,
    /// The free variables of functions, usually `["t"]`.
    pub variables: &'a [&'a str],
    /// The model's folder, where its tables lie; `None` if the model is no file.
    pub folder: Option<&'a Path>,
}

/// A name the user wrote, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// Where it stands.
    pub span: Span,
}

/// The values of one table, read and checked.
///
/// `number("mass")` and its like are for keys that are required or have a default; they panic for a key
/// that is not declared so, whatever the file says. `optional_number` and its like are for the others.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    what: String,
    node: &'a Node,
    items: Vec<(&'static Field, Item<'a>)>,
}

#[derive(Clone, Debug)]
enum Item<'a> {
    Absent,
    Any,
    Number(f64),
    Integer(i64),
    Flag(bool),
    Word(&'static str),
    Function(Expression),
    Functions(Vec<Expression>),
    Vector(Vec3),
    Points(Vec<Vec3>),
    Numbers(Vec<f64>),
    Pairs(Vec<[f64; 2]>),
    Name(Named<'a>),
    Names(Vec<Named<'a>>),
    Table(Values<'a>),
}

/// Reads a table by its fields; `what` names it in messages, as in "force `spring`". The fields come in
/// groups, so that those of all joints need not be repeated for each kind.
pub fn read<'a>(
    table: &'a Node,
    what: &str,
    fields: &[&'static [Field]],
    context: &Context,
) -> Result<Values<'a>, Diagnostics> {
    let Some(entries) = table.as_table().map(|t| &t.entries) else {
        return Err(expected(table, &what, "a table").into());
    };
    let all = || fields.iter().copied().flatten();
    let mut problems = Diagnostics::new();
    let mut slips = Vec::new();
    for entry in entries {
        if problems.enough() {
            break;
        }
        if all().all(|f| f.name != entry.name) {
            let absent = all().map(|f| f.name).filter(|n| table.get(n).is_none());
            let near = nearest(&entry.name, absent).or_else(|| nearest(&entry.name, all().map(|f| f.name)));
            slips.extend(near);
            let label = near.map_or("not a known key".into(), |near| format!("did you mean {}?", quoted(near)));
            let known: Vec<&str> = all().map(|f| f.name).collect();
            problems.push(
                Diagnostic::error(format!("unknown key {} in {what}", quoted(&entry.name)))
                    .at(entry.span)
                    .label(label)
                    .help(if known.is_empty() {
                        format!("{what} takes no keys")
                    } else {
                        format!("known keys are {}", known.join(", "))
                    }),
            );
        }
    }
    let mut items = Vec::with_capacity(fields.iter().map(|g| g.len()).sum());
    for field in all() {
        let item = match table.get(field.name) {
            Some(node) => {
                let item = context.item(node, field, what).map_err(|problems| field.advise(problems, node, context));
                problems.take(item).unwrap_or(Item::Absent)
            }
            None if !field.required => field.default_item().unwrap_or(Item::Absent),
            None => {
                // a slip of this key has been told already
                if !slips.contains(&field.name) {
                    let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
                    problems.push(
                        Diagnostic::error(format!("{what} needs {}", quoted(field.name)))
                            .at(table.span)
                            .label(format!("{} is missing here", quoted(field.name)))
                            .help(format!("add `{} = …`{unit}: {}", field.name, field.doc)),
                    );
                }
                Item::Absent
            }
        };
        items.push((field, item));
    }
    problems.or(Values { what: what.into(), node: table, items })
}

/// The word under `key` that says which kind of thing a table is, such as the `type` of a joint.
pub fn choose<'w>(table: &Node, what: &str, key: &str, words: &[&'w str]) -> Result<&'w str, Diagnostic> {
    let Some(entries) = table.as_table() else { return Err(expected(table, &what, "a table")) };
    match entries.get(key) {
        Some(node) => word(node, &format_args!("{} of {what}", quoted(key)), words),
        None => {
            let slip = nearest(key, entries.names());
            let slip = slip.and_then(|name| entries.entry(name));
            let problem = Diagnostic::error(format!("{what} needs {}", quoted(key)));
            let problem = match slip {
                Some(entry) => problem.at(entry.span).label(format!("did you mean {}?", quoted(key))),
                None => problem.at(table.span).label(format!("{} is missing here", quoted(key))),
            };
            Err(problem.help(format!("it is one of {}", words.join(", "))))
        }
    }
}

fn expected(node: &Node, what: &dyn Display, want: &str) -> Diagnostic {
    Diagnostic::error(format!("{what} must be {want}, found {}", node.article()))
        .at(node.span)
        .label(format!("expected {want}"))
}

fn word<'w>(node: &Node, what: &dyn Display, words: &[&'w str]) -> Result<&'w str, Diagnostic> {
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

impl Context<'_> {
    fn item<'a>(&self, node: &'a Node, field: &'static Field, of: &str) -> Result<Item<'a>, Diagnostics> {
        use FieldKind::*;
        let what = format_args!("{} of {of}", quoted(field.name));
        let what: &dyn Display = &what;
        let item = match field.kind {
            Number => Item::Number(self.number(node, what)?),
            Positive | NonNegative => {
                let x = self.number(node, what)?;
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
                Value::Bool(flag) => Item::Flag(flag),
                _ => return Err(expected(node, what, "true or false").into()),
            },
            Word(words) => Item::Word(word(node, what, words)?),
            Text | Name => match field.kind {
                Text if node.as_str().is_some_and(str::is_empty) => Item::Name(Named { name: "", span: node.span }),
                Text if node.as_str().is_none() => return Err(expected(node, what, "text in quotes").into()),
                _ => Item::Name(name(node, what)?),
            },
            Names(least, most) => Item::Names(names(node, what, least, most)?),
            Function => Item::Function(self.function(node, what)?),
            Vector | Point => Item::Vector(self.vector(node, what)?),
            VectorFunction => Item::Functions(self.functions(node, what)?),
            Axial if self.plane => Item::Vector(Vec3::Z * self.number(node, what)?),
            Axial => Item::Vector(self.vector(node, what)?),
            AxialFunction if self.plane => {
                let zero = || Expression::constant(0.0);
                Item::Functions(vec![zero(), zero(), self.function(node, what)?])
            }
            AxialFunction => Item::Functions(self.functions(node, what)?),
            Points(least, most) => Item::Points(self.several(node, what, "point", least, most, Self::vector)?),
            Direction => Item::Vector(self.direction(node, what)?),
            Directions(least, most) => {
                Item::Points(self.several(node, what, "direction", least, most, Self::direction)?)
            }
            Numbers(least, most) => Item::Numbers(self.numbers(node, what, least, most)?),
            Pairs => Item::Pairs(self.pairs(node, what)?),
            Square { plane, space } => {
                Item::Numbers(self.square(node, what, if self.plane { plane } else { space })?)
            }
            Table(fields) => Item::Table(read(node, &what.to_string(), &[fields], self)?),
            Any => Item::Any,
        };
        Ok(item)
    }

    /// A number, or an expression of parameters that gives one. `what` names it in messages, as in
    /// "`mass` of body `link`".
    pub fn number(&self, node: &Node, what: &dyn Display) -> Result<f64, Diagnostic> {
        self.expression(node, what, &[]).map(|e| e.as_constant().unwrap_or(f64::NAN))
    }

    /// A function of the free variables, or one of time from a table.
    pub fn function(&self, node: &Node, what: &dyn Display) -> Result<Expression, Diagnostics> {
        if node.as_table().is_some() && self.variables == ["t"] {
            return self.tabulated(node, what);
        }
        Ok(self.expression(node, what, self.variables)?)
    }

    fn expression(&self, node: &Node, what: &dyn Display, variables: &[&str]) -> Result<Expression, Diagnostic> {
        match &node.value {
            Value::Integer(n) => Ok(Expression::constant(*n as f64)),
            Value::Number(x) if x.is_finite() => Ok(Expression::constant(*x)),
            Value::Number(x) => Err(Diagnostic::error(format!("{what} must be a finite number"))
                .at(node.span)
                .label(if x.is_nan() { "not a number" } else { "infinite, or too large to be held" })),
            Value::String { text, .. } => {
                let scope = Scope { parameters: self.parameters, variables };
                Expression::parse(text, scope).map_err(|fault| in_place(fault, node, &what.to_string()))
            }
            _ => Err(expected(node, what, "a number or an expression")),
        }
    }

    fn integer(&self, node: &Node, what: &dyn Display, positive: bool) -> Result<i64, Diagnostic> {
        let x = self.number(node, what)?;
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
    pub fn vector(&self, node: &Node, what: &dyn Display) -> Result<Vec3, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut v = Vec3::ZERO;
        for (i, entry) in self.components(node, what)?.iter().enumerate() {
            v[i] = problems.take(self.number(entry, what)).unwrap_or(0.0);
        }
        problems.or(v)
    }

    /// A vector of functions: always three, the third zero in the plane.
    pub fn functions(&self, node: &Node, what: &dyn Display) -> Result<Vec<Expression>, Diagnostics> {
        if node.as_table().is_some() {
            return self.tabulated_vector(node, what);
        }
        let mut problems = Diagnostics::new();
        let entries = self.components(node, what)?.iter();
        let mut list: Vec<Expression> = entries.filter_map(|e| problems.take(self.function(e, what))).collect();
        list.resize(3, Expression::constant(0.0));
        problems.or(list)
    }

    /// A vector that is not zero, made a unit vector.
    pub fn direction(&self, node: &Node, what: &dyn Display) -> Result<Vec3, Diagnostics> {
        let v = self.vector(node, what)?;
        let short = || Diagnostic::error(format!("{what} is a zero vector")).at(node.span).label("has no direction");
        v.normalized().ok_or_else(|| short().into())
    }

    /// Vectors; one alone needs no outer brackets.
    fn several(
        &self,
        node: &Node,
        what: &dyn Display,
        thing: &str,
        least: usize,
        most: usize,
        one: fn(&Self, &Node, &dyn Display) -> Result<Vec3, Diagnostics>,
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

    /// A list of numbers.
    pub fn numbers(&self, node: &Node, what: &dyn Display, least: usize, most: usize) -> Result<Vec<f64>, Diagnostics> {
        let Some(entries) = node.as_array() else {
            // one alone needs no brackets
            return match least {
                1 => Ok(vec![self.number(node, what)?]),
                _ => Err(expected(node, what, "a list of numbers").into()),
            };
        };
        if !(least..=most).contains(&entries.len()) {
            let message = format!("{what} must have {} numbers, found {}", range(least, most), entries.len());
            return Err(Diagnostic::error(message).at(node.span).into());
        }
        let mut problems = Diagnostics::new();
        let list = entries.iter().filter_map(|e| problems.take(self.number(e, what))).collect();
        problems.or(list)
    }

    fn pairs(&self, node: &Node, what: &dyn Display) -> Result<Vec<[f64; 2]>, Diagnostics> {
        if node.as_table().is_some() {
            return self.tabulated_pairs(node, what);
        }
        let Some(rows) = node.as_array() else {
            return Err(expected(node, what, "a list of pairs [[x, y], …]").into());
        };
        let mut problems = Diagnostics::new();
        let pair = |row| problems.take(self.numbers(row, what, 2, 2)).map(|r| [r[0], r[1]]);
        let list = rows.iter().filter_map(pair).collect();
        problems.or(list)
    }

    /// An n×n matrix by rows: given as rows, as the n numbers of its diagonal, or, if n = 1, as a number.
    pub fn square(&self, node: &Node, what: &dyn Display, n: usize) -> Result<Vec<f64>, Diagnostics> {
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
                1 => Ok(vec![self.number(node, what)?]),
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
        let full = rows.iter().any(|r| r.as_array().is_some());
        for (i, row) in rows.iter().enumerate() {
            if full {
                if let Some(row) = problems.take(self.numbers(row, &format_args!("row {} of {what}", i + 1), n, n)) {
                    matrix[i * n..(i + 1) * n].copy_from_slice(&row);
                }
            } else {
                matrix[i * n + i] = problems.take(self.number(row, what)).unwrap_or(0.0);
            }
        }
        problems.or(matrix)
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

macro_rules! accessors {
    ($($(#[$doc:meta])* $name:ident $optional:ident $item:pat => $value:expr, $type:ty;)*) => {
        impl<'a> Values<'a> {
            $(
                $(#[$doc])*
                pub fn $name(&self, name: &str) -> $type {
                    self.settled(name);
                    match self.$optional(name) {
                        Some(value) => value,
                        None => panic!("`{name}` of {} is not declared to be of this kind", self.what),
                    }
                }
                /// The same, or `None` if it is left out.
                pub fn $optional(&self, name: &str) -> Option<$type> {
                    match self.item(name) {
                        $item => Some($value),
                        _ => None,
                    }
                }
            )*
        }
    };
}

accessors! {
    /// The value of a `Number`, `Positive` or `NonNegative`.
    number optional_number Item::Number(x) => *x, f64;
    /// The value of an `Integer` or `Count`.
    integer optional_integer Item::Integer(n) => *n, i64;
    /// The value of a `Flag`.
    flag optional_flag Item::Flag(b) => *b, bool;
    /// The value of a `Word`.
    word optional_word Item::Word(w) => w, &'static str;
    /// The value of a `Function`.
    function optional_function Item::Function(f) => f, &Expression;
    /// The three values of a `VectorFunction` or `AxialFunction`.
    functions optional_functions Item::Functions(f) => f, &[Expression];
    /// The value of a `Vector`, `Axial`, `Point` or `Direction`.
    vector optional_vector Item::Vector(v) => *v, Vec3;
    /// The values of `Points` or `Directions`.
    points optional_points Item::Points(v) => v, &[Vec3];
    /// The values of `Numbers`, or a `Square` matrix by rows.
    numbers optional_numbers Item::Numbers(v) => v, &[f64];
    /// The rows of `Pairs`.
    pairs optional_pairs Item::Pairs(v) => v, &[[f64; 2]];
    /// The value of a `Name` or `Text`, with its place.
    name optional_name Item::Name(n) => *n, Named<'a>;
    /// The values of `Names`, with their places.
    names optional_names Item::Names(n) => n, &[Named<'a>];
    /// The values of a `Table`.
    table optional_table Item::Table(t) => t, &Values<'a>;
}

impl<'a> Values<'a> {
    fn item(&self, name: &str) -> &Item<'a> {
        match self.items.iter().find(|(f, _)| f.name == name) {
            Some((_, item)) => item,
            None => panic!("`{name}` is not among the fields of {}", self.what),
        }
    }

    /// Panics unless the key is declared required or has a default, whatever the file says.
    fn settled(&self, name: &str) {
        let field = self.items.iter().find(|(f, _)| f.name == name).map(|(f, _)| f);
        let settled = field.is_some_and(|f| f.required || f.default_item().is_some());
        assert!(settled, "`{name}` of {} may be absent: use the optional accessor", self.what);
    }

    /// What was read, as in "force `spring`".
    pub fn what(&self) -> &str {
        &self.what
    }

    /// True if the file has the key.
    pub fn has(&self, name: &str) -> bool {
        self.node.get(name).is_some()
    }

    /// The value as it stands in the file.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        self.node.get(name)
    }

    /// Where the value stands, or the table if it is left out.
    pub fn span(&self, name: &str) -> Span {
        self.node(name).map_or(self.node.span, |n| n.span)
    }

    /// An error about the whole table.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(message).at(self.node.span)
    }

    /// An error that points at the value of a key.
    pub fn error_at(&self, name: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(message).at(self.span(name))
    }

    /// The error for keys that exclude each other, if the file has more than one of them.
    pub fn at_most_one(&self, names: &[&str]) -> Result<(), Diagnostic> {
        let entries = self.node.as_table().map(|t| t.entries.as_slice()).unwrap_or_default();
        let mut given = entries.iter().filter(|e| names.contains(&e.name.as_str()));
        let (Some(first), Some(second)) = (given.next(), given.next()) else { return Ok(()) };
        Err(Diagnostic::error(format!("{} has both {} and {}", self.what, quoted(&first.name), quoted(&second.name)))
            .at(second.span)
            .label("leave one of them out")
            .also(first.span, "the other"))
    }
}

impl Named<'_> {
    /// The error for a name that is not among those there are.
    pub fn unknown<'c>(
        &self,
        thing: &str,
        of: &str,
        candidates: impl IntoIterator<Item = &'c str, IntoIter: Clone>,
    ) -> Diagnostic {
        let candidates = candidates.into_iter();
        let label = match nearest(self.name, candidates.clone()) {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => format!("no {thing} has this name"),
        };
        let problem =
            Diagnostic::error(format!("unknown {thing} {} in {of}", quoted(self.name))).at(self.span).label(label);
        let n = candidates.clone().count();
        problem.help(match n {
            0 => format!("there is no {thing} in the model"),
            1 => format!("the model has one {thing}: {}", list(candidates)),
            _ => format!("the model has {}: {}", count(n, thing).replace("bodys", "bodies"), list(candidates)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::source::Source;

    const FIELDS: &[Field] = &[
        Field::required("mass", FieldKind::Positive, "kg", "mass"),
        Field::optional("damping", FieldKind::NonNegative, "N·s/m", "0", "damping"),
        Field::optional("length", FieldKind::NonNegative, "m", "the length at the start", "length"),
        Field::optional("kind", FieldKind::Word(&["soft", "hard"]), "", "soft", "kind"),
        Field::optional("on", FieldKind::Points(1, 2), "m", "", "points"),
        Field::optional("axis", FieldKind::Direction, "", "", "axis"),
        Field::optional("force", FieldKind::VectorFunction, "N", "", "force"),
        Field::optional("torque", FieldKind::AxialFunction, "N·m", "", "torque"),
        Field::optional("spin", FieldKind::Axial, "rad/s", "", "spin"),
        Field::optional("inertia", FieldKind::Square { plane: 1, space: 3 }, "kg·m²", "", "inertia"),
        Field::optional("curve", FieldKind::Pairs, "", "", "curve"),
        Field::optional("bodies", FieldKind::Names(1, 3), "", "", "bodies"),
        Field::optional("steps", FieldKind::Count, "", "10", "steps"),
        Field::optional("load", FieldKind::Function, "N", "0", "load"),
        Field::optional("note", FieldKind::Text, "", "", "note"),
        Field::optional("extra", FieldKind::Any, "", "", "extra"),
    ];

    fn with(text: &str, plane: bool, test: impl Fn(Values)) {
        let root = crate::file::toml::parse(&Source::new("m", text.into()), 0).unwrap();
        let mut parameters = Parameters::default();
        parameters.set("L", 0.5);
        let context = Context { parameters: &parameters, plane, variables: &["t"], folder: None };
        test(read(&root, "thing `a`", &[FIELDS], &context).unwrap());
    }

    #[test]
    fn values_come_in_the_kind_that_was_declared() {
        let planar = "mass = '2*L'\non = [[1, 2], [3, 'L']]\naxis = [3, 4]\nforce = ['sin(t)', 2]\ntorque = 't'\nspin = 3\n\
            inertia = 4\ncurve = [[0, 1], [1, 3]]\nbodies = 'crank'\nload = 't^2'\nsteps = 5.0\nnote = ''\nextra = [{}]";
        with(planar, true, |v| {
            assert_eq!(v.number("mass"), 1.0);
            let points = [Vec3::new(1.0, 2.0, 0.0), Vec3::new(3.0, 0.5, 0.0)];
            assert_eq!(v.optional_points("on"), Some(&points[..]));
            assert_eq!(v.optional_vector("axis"), Vec3::new(3.0, 4.0, 0.0).normalized());
            let f = v.optional_functions("force").unwrap();
            assert_eq!([f[0].value(1.0), f[1].value(1.0), f[2].value(1.0)], [1f64.sin(), 2.0, 0.0]);
            assert_eq!(v.optional_functions("torque").unwrap()[2].value(4.0), 4.0);
            assert_eq!(v.optional_vector("spin"), Some(Vec3::new(0.0, 0.0, 3.0)));
            assert_eq!(v.optional_numbers("inertia"), Some(&[4.0][..]));
            assert_eq!(v.optional_pairs("curve"), Some(&[[0.0, 1.0], [1.0, 3.0]][..]));
            assert_eq!(v.optional_names("bodies").unwrap()[0].name, "crank");
            assert_eq!(v.function("load").value(3.0), 9.0);
            assert_eq!(v.integer("steps"), 5);
            assert_eq!(v.optional_name("note").unwrap().name, "");
            assert!(v.node("extra").is_some() && v.has("extra") && !v.has("damping"));
        });
        with("mass = 1\non = [1, 2, 3]\ninertia = [1, 2, 3]", false, |v| {
            assert_eq!(v.optional_points("on"), Some(&[Vec3::new(1.0, 2.0, 3.0)][..]));
            assert_eq!(v.optional_numbers("inertia"), Some(&[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0][..]));
        });
    }

    #[test]
    fn defaults_that_are_values_count() {
        with("mass = 1", true, |v| {
            assert_eq!((v.number("damping"), v.word("kind"), v.integer("steps")), (0.0, "soft", 10));
            assert_eq!(v.function("load").as_constant(), Some(0.0));
            assert_eq!((v.optional_number("length"), v.optional_points("on")), (None, None));
            assert_eq!(v.span("length"), v.error("x").span.unwrap());
        });
    }

    #[test]
    #[should_panic(expected = "use the optional accessor")]
    fn a_key_that_may_be_absent_is_not_read_as_if_it_were_there() {
        with("mass = 1\nlength = 2", true, |v| _ = v.number("length"));
    }

    #[test]
    fn keys_that_exclude_each_other() {
        with("mass = 1\nlength = 2\nspin = 3", true, |v| {
            assert!(v.at_most_one(&["mass", "damping"]).is_ok());
            let problem = v.at_most_one(&["spin", "damping", "length"]).unwrap_err();
            assert_eq!(problem.message, "thing `a` has both `length` and `spin`");
            assert_eq!(v.error_at("length", "x").span.unwrap().start, 18);
        });
    }
}
