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
mod context;
mod values;

pub use context::{Context, Laws};
pub use values::{Named, Values};

use super::diagnostic::{Diagnostic, Diagnostics};
use super::expression::Expression;
use super::suggest::{nearest, quoted};
use super::tree::Node;
use context::{expected, word};
use values::{GivenNumber, Item};

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
    /// An expression of parameters, tables and these variables.
    FunctionOf(&'static [&'static str]),
    /// A vector of such expressions: 2 in the plane, 3 in space.
    FunctionsOf(&'static [&'static str]),
    /// The name of a text file in the model's folder; such files usually end so.
    File(&'static str),
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

/// Lists of keys, one after the other.
pub const fn joined<const N: usize>(lists: &[&[Field]]) -> [Field; N] {
    let mut out = [Field::optional("", FieldKind::Any, "", "", ""); N];
    let (mut list, mut k, mut next) = (0, 0, 0);
    while list < lists.len() {
        if k == lists[list].len() {
            (list, k) = (list + 1, 0);
            continue;
        }
        out[next] = lists[list][k];
        (k, next) = (k + 1, next + 1);
    }
    assert!(next == N, "as many keys as there are places");
    out
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
            Function | FunctionOf(_) => self.default.parse().ok().map(|x| Item::Function(Expression::constant(x))),
            _ => None,
        }
    }

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
    let mut quantities = Vec::new();
    for field in all() {
        let item = match table.get(field.name) {
            Some(node) => {
                if field.unit.contains([',', ';']) {
                    gather(node, 0, field, context, &mut quantities);
                }
                let item = context.item(node, field, what).map_err(|problems| field.advise(problems, node, context));
                problems.take(item).unwrap_or(Item::Absent)
            }
            None if !field.required => field.default_item().unwrap_or(Item::Absent),
            None => {
                // a misspelling of this key has been reported already
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
    problems.or(Values { what: what.into(), node: table, items, quantities })
}

/// The numbers with units in a value; those of a list know their column.
fn gather<'a>(
    node: &'a Node,
    column: usize,
    field: &'static Field,
    context: &Context,
    found: &mut Vec<GivenNumber<'a>>,
) {
    if let Some(list) = node.as_array() {
        list.iter().enumerate().for_each(|(i, entry)| gather(entry, i, field, context, found));
    } else if let Some(quantity) = node.as_str().and_then(|text| context.parameters.quantity(text)) {
        found.push(GivenNumber { field, column, quantity, node });
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::parameters::Parameters;
    use crate::file::source::Source;
    use bellcrank_math::Vec3;

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
        let context = Context { parameters: &parameters, plane, variables: &["t"], folder: None, laws: None };
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
