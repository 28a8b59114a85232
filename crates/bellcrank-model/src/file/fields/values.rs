//! The values of a table that was read, by key.

use super::{Field, FieldKind};
use crate::file::diagnostic::{Diagnostic, Diagnostics};
use crate::file::expression::Expression;
use crate::file::source::Span;
use crate::file::suggest::{count, list, nearest, quoted};
use crate::file::tree::Node;
use crate::file::units::{self, NumberWithUnit};
use bellcrank_math::Vec3;

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
    pub(super) what: String,
    pub(super) node: &'a Node,
    pub(super) items: Vec<(&'static Field, Item<'a>)>,
    /// Numbers with units where the unit of the field hangs on what the table is about.
    pub(super) quantities: Vec<GivenNumber<'a>>,
}

/// A number with its unit, in a column of a list.
#[derive(Clone, Debug)]
pub(super) struct GivenNumber<'a> {
    pub field: &'static Field,
    pub column: usize,
    pub quantity: NumberWithUnit<'a>,
    pub node: &'a Node,
}

#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
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
    File(Named<'a>, String),
    Table(Values<'a>),
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
    /// The value of a `File`: its name and its text.
    file optional_file Item::File(n, text) => (*n, text.as_str()), (Named<'a>, &str);
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

    /// Refuses a number that was given in another unit than this, for a key whose unit hangs on what the table is about.
    pub fn check_unit(&self, key: &str, unit: &'static str) -> Result<(), Diagnostics> {
        self.check_units(|given| (given.field.name == key).then_some(unit))
    }

    /// Of keys that have one unit where something turns and another where it slides, refuses numbers in the other one.
    pub fn check_turning(&self, turns: bool) -> Result<(), Diagnostics> {
        self.check_units(|given| {
            // in lists a semicolon stands between choices, and a comma between columns
            let listed =
                matches!(given.field.kind, FieldKind::Square { .. } | FieldKind::Numbers(2.., _) | FieldKind::Pairs);
            if given.field.unit.matches(',').count() > 2 {
                return None; // chosen by more than that
            }
            let (a, b) = given.field.unit.split_once(if listed { "; " } else { ", " })?;
            let turning = |unit: &str| units::Unit::parse(unit.split(", ").next()?).map(|u| u.turns());
            let unit = if turning(a)? == turns { a } else { b };
            if unit.contains(", ") { unit.split(", ").nth(given.column) } else { Some(unit) }
        })
    }

    fn check_units(&self, unit: impl Fn(&GivenNumber<'a>) -> Option<&'static str>) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        for given in &self.quantities {
            let problem = unit(given).and_then(|unit| units::refuse(&given.quantity, unit));
            if let Some(problem) = problem {
                let message = format!("{} of {} {problem}", quoted(given.field.name), self.what);
                problems.push(given.quantity.misplaced(given.node, message));
            }
        }
        problems.or(())
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
