//! The `[parameter]` table: named numbers that expressions use.
//!
//! A parameter is a number, or an expression of other parameters in any order; where it has a unit or needs a word of
//! explanation, a table `{ value = …, unit = "…", doc = "…" }`.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::expression::{Expression, ExpressionFault, Scope, is_name};
use super::source::Span;
use super::suggest::quoted;
use super::tree::{Entry, Node, NodeValue};
use super::units::{self, NumberWithUnit, Unit};
use crate::surface::Surface;
use std::collections::HashMap;
use std::sync::Arc;

/// A named number.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The expression it came from, if it is not a plain number.
    pub expression: Option<String>,
    /// Where its value stands.
    pub span: Span,
    /// Its unit; empty if none was given.
    pub unit: String,
    /// The unit that its number was written in; `value` is in SI units.
    pub quantity: Option<Unit>,
    /// What it means; empty if nothing was said.
    pub doc: String,
}

/// Named numbers, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    list: Vec<Parameter>,
    index: HashMap<String, usize>,
    /// Tables, which expressions call like functions.
    tables: Vec<(String, Arc<Surface>)>,
}

impl Parameters {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.index.get(name).map(|&i| self.list[i].value)
    }

    /// The names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|p| p.name.as_str())
    }

    /// Names and values, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.list.iter().map(|p| (p.name.as_str(), p.value))
    }

    /// The parameters with all that the file says about them, in its order.
    pub fn list(&self) -> &[Parameter] {
        &self.list
    }

    /// Adds a parameter, or changes its value.
    pub fn set(&mut self, name: &str, value: f64) {
        match self.index.get(name) {
            Some(&i) => self.list[i].value = value,
            None => self.add(Parameter {
                name: name.into(),
                value,
                expression: None,
                span: Span::default(),
                unit: String::new(),
                quantity: None,
                doc: String::new(),
            }),
        }
    }

    /// A number with its unit, or a parameter that was given one, if the text is nothing else.
    pub fn quantity<'t>(&self, text: &'t str) -> Option<NumberWithUnit<'t>> {
        let name = text.trim();
        match self.index.get(name).map(|&i| &self.list[i]) {
            Some(&Parameter { quantity: Some(unit), value, .. }) => {
                Some(NumberWithUnit { value, unit, text: name, at: text.len() - text.trim_start().len() })
            }
            Some(_) => None,
            None => NumberWithUnit::parse(text),
        }
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Option<&Arc<Surface>> {
        self.tables.iter().find(|(n, _)| n == name).map(|(_, table)| table)
    }

    /// The names of all tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// Adds a table.
    pub fn add_table(&mut self, name: &str, table: Surface) {
        self.tables.push((name.to_string(), Arc::new(table)));
    }

    fn add(&mut self, parameter: Parameter) {
        self.index.insert(parameter.name.clone(), self.list.len());
        self.list.push(parameter);
    }

    /// Reads the `[parameter]` table, if the file has one. Inputs are refused in it.
    pub fn read(table: Option<&Node>, inputs: &[&str]) -> Result<Parameters, Diagnostics> {
        let Some(node) = table else { return Ok(Parameters::default()) };
        let Some(table) = node.as_table() else {
            return Err(Diagnostic::error(format!("`parameter` must be a table, found {}", node.article()))
                .at(node.span)
                .help("write [parameter] and below it a line like k = 100.0")
                .into());
        };
        let mut problems = Diagnostics::new();
        // every name is there from the start, so that `set` keeps the order and suggestions know all
        let mut parameters = Parameters::default();
        for entry in &table.entries {
            problems.0.extend(refuse_name(entry, "a parameter"));
            parameters.add(described(entry));
        }

        let needs: Vec<Vec<usize>> = table
            .entries
            .iter()
            .map(|e| {
                let names = Expression::names(value_node(e).as_str().unwrap_or(""));
                let mut needs: Vec<usize> =
                    names.iter().filter_map(|(n, _)| parameters.index.get(*n).copied()).collect();
                needs.sort_unstable();
                needs.dedup();
                needs
            })
            .collect();
        let (order, rest) = in_order(&needs);
        problems.append(cycles(&table.entries, &needs, &rest));

        // a parameter that needs a wrong one is left out silently: its cause has been told
        let mut sound = vec![false; table.entries.len()];
        for i in order {
            let entry = &table.entries[i];
            if problems.enough() {
                break;
            }
            if needs[i].iter().all(|&j| sound[j]) {
                match value(entry, &parameters, inputs) {
                    Ok((value, quantity)) => {
                        parameters.set(&entry.name, value);
                        parameters.list[i].quantity = quantity;
                        if let Some(unit) = quantity.filter(|_| parameters.list[i].unit.is_empty()) {
                            parameters.list[i].unit = unit.si();
                        }
                        sound[i] = true;
                    }
                    Err(problem) => problems.push(problem),
                }
            }
        }
        problems.or(parameters)
    }
}

/// What is wrong with the name of `thing`, an entry that expressions use by its name.
pub fn refuse_name(entry: &Entry, thing: &str) -> Option<Diagnostic> {
    let problem = Diagnostic::error(format!("{thing} cannot be named {}", quoted(&entry.name))).at(entry.span);
    if entry.name == "t" {
        Some(problem.label("`t` is time"))
    } else if !entry.name.split('.').all(is_name) || (entry.name.contains('.') && entry.span.source == 0) {
        // those of parts have dots
        let rule = "a name in expressions has letters, digits and `_`, and begins with a letter";
        Some(problem.label("expressions could not use it").help(rule))
    } else {
        None
    }
}

/// The number or expression of a parameter, which may stand in a table with its unit.
fn value_node(entry: &Entry) -> &Node {
    entry.node.get("value").unwrap_or(&entry.node)
}

/// A parameter with what the file says about it, its value not yet known.
fn described(entry: &Entry) -> Parameter {
    let node = value_node(entry);
    let text = |key: &str| entry.node.get(key).and_then(Node::as_str).unwrap_or_default().to_string();
    Parameter {
        name: entry.name.clone(),
        value: f64::NAN,
        expression: node.as_str().map(str::to_string),
        span: node.span,
        unit: text("unit"),
        quantity: None,
        doc: text("doc"),
    }
}

fn value(entry: &Entry, parameters: &Parameters, inputs: &[&str]) -> Result<(f64, Option<Unit>), Diagnostic> {
    let what = format!("parameter {}", quoted(&entry.name));
    let node = value_node(entry);
    match &node.value {
        NodeValue::Integer(n) => Ok((*n as f64, None)),
        NodeValue::Number(x) if x.is_finite() => Ok((*x, None)),
        NodeValue::Number(_) => Err(Diagnostic::error(format!("{what} is not a finite number")).at(node.span)),
        NodeValue::String { text, .. } => {
            if let Some(quantity) = parameters.quantity(text) {
                let given = entry.node.get("unit").filter(|unit| unit.as_str().is_some());
                return quantity_of(&quantity, node, given, parameters, &what);
            }
            let scope = Scope { parameters, variables: &[], inputs };
            let expression = Expression::parse(text, scope).map_err(|fault| in_place(fault, node, &what))?;
            Ok((expression.as_constant().unwrap_or(f64::NAN), None))
        }
        NodeValue::Table(_) if entry.node.as_table().is_some() => {
            Err(Diagnostic::error(format!("{what} needs `value`"))
                .at(node.span)
                .help("write it like { value = 100.0, unit = \"N/m\" }"))
        }
        _ => Err(Diagnostic::error(format!("{what} must be a number or an expression, found {}", node.article()))
            .at(node.span)),
    }
}

/// A parameter that is a number with its unit; a `unit` beside it must be that of SI, which the value is in.
fn quantity_of(
    quantity: &NumberWithUnit,
    node: &Node,
    given: Option<&Node>,
    parameters: &Parameters,
    what: &str,
) -> Result<(f64, Option<Unit>), Diagnostic> {
    let (value, unit, si) = (quantity.value, quantity.unit, quantity.unit.si());
    let Some(given) = given else {
        // `5 N/m` where a parameter is called `m`
        let doubtful = |name: &&str| parameters.get(name).is_some();
        return match units::divisors(quantity.text).find(doubtful) {
            Some(name) if quantity.text != node.as_str().unwrap_or_default().trim() => {
                let part = quantity.at..quantity.at + quantity.text.len();
                Err(Diagnostic::error(format!("{what} has a unit that could be something else"))
                    .at(node.part(part))
                    .label(format!("{} is also a parameter", quoted(name)))
                    .help(format!(
                        "to divide by it, put spaces around `/`; for the unit write {{ value = …, unit = \"{si}\" }}"
                    )))
            }
            _ => Ok((value, Some(unit))),
        };
    };
    let wanted = Unit::parse(given.as_str().unwrap_or_default());
    match wanted {
        Some(u) if u.is_like(&unit) && u.is_coherent() => Ok((value, Some(unit))),
        _ => Err(Diagnostic::error(format!("{what} is given in {}, which is kept in {si}", quantity.text))
            .at(given.span)
            .label(format!("expected \"{si}\""))
            .help("leave `unit` out, or leave the unit behind the number out")),
    }
}

/// The fault of an expression as a message about the text node it stands in.
pub(crate) fn in_place(fault: ExpressionFault, node: &Node, what: &str) -> Diagnostic {
    Diagnostic::error(format!("{} in {what}", fault.message))
        .at(node.part(fault.at))
        .label(fault.label)
        .help(fault.help)
}

/// An order in which each comes after those it needs [Kahn 1962], and those that have none.
fn in_order(needs: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut users = vec![Vec::new(); needs.len()];
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    for (i, needed) in needs.iter().enumerate() {
        for &j in needed {
            users[j].push(i);
        }
    }
    let mut order: Vec<usize> = (0..needs.len()).filter(|&i| open[i] == 0).collect();
    let mut next = 0;
    while let Some(&j) = order.get(next) {
        next += 1;
        for &i in &users[j] {
            open[i] -= 1;
            if open[i] == 0 {
                order.push(i);
            }
        }
    }
    (order, (0..needs.len()).filter(|&i| open[i] > 0).collect())
}

/// One message for each chain that comes back to where it began.
fn cycles(entries: &[Entry], needs: &[Vec<usize>], rest: &[usize]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut walk_of = vec![0; entries.len()];
    let in_rest: Vec<bool> = (0..entries.len()).map(|i| rest.binary_search(&i).is_ok()).collect();
    for (walk, &first) in rest.iter().enumerate() {
        // each of the rest needs another of the rest, so the walk ends where it has been before
        let walk = walk + 1;
        let mut path = Vec::new();
        let mut i = first;
        while walk_of[i] == 0 {
            walk_of[i] = walk;
            path.push(i);
            match needs[i].iter().find(|&&j| in_rest[j]) {
                Some(&j) => i = j,
                None => break,
            }
        }
        let Some(start) = path.iter().position(|&p| p == i).filter(|_| walk_of[i] == walk) else { continue };
        let mut ring = path.split_off(start);
        let earliest = (0..ring.len()).min_by_key(|&r| ring[r]).unwrap_or(0);
        ring.rotate_left(earliest);
        problems.push(cycle(entries, &ring));
    }
    problems
}

fn cycle(entries: &[Entry], ring: &[usize]) -> Diagnostic {
    const NAMES_SHOWN: usize = 8;
    let name = |i: usize| quoted(&entries[i].name);
    let mut chain: Vec<String> = ring.iter().take(NAMES_SHOWN).map(|&i| entries[i].name.clone()).collect();
    if ring.len() > NAMES_SHOWN {
        chain.push("…".into());
    }
    chain.push(entries[ring[0]].name.clone());
    let alone = ring.len() == 1;
    let mut problem = Diagnostic::error(match alone {
        true => format!("parameter {} needs itself", name(ring[0])),
        false => format!("parameters depend on each other in a circle: {}", chain.join(" → ")),
    });
    for (n, &i) in ring.iter().take(NAMES_SHOWN).enumerate() {
        let needed = ring[(n + 1) % ring.len()];
        let node = value_node(&entries[i]);
        let names = Expression::names(node.as_str().unwrap_or(""));
        let part = names.into_iter().find(|(n, _)| *n == entries[needed].name).map(|(_, at)| at);
        let span: Span = part.map_or(node.span, |at| node.part(at));
        let label = if alone { "its own value".into() } else { format!("{} needs {}", name(i), name(needed)) };
        problem = if n == 0 { problem.at(span).label(label) } else { problem.also(span, label) };
    }
    problem.help(if alone { "give it a number" } else { "give one of them a number" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::source::Source;

    fn read(text: &str) -> Result<Parameters, Diagnostics> {
        let root = crate::file::toml::parse(&Source::new("m", text.into()), 0).unwrap();
        Parameters::read(root.get("parameter"), &[])
    }

    #[test]
    fn any_order_will_do() {
        let p = read("[parameter]\nc = \"a + b\"\nb = \"2*a\"\na = 1.5\nn = 3\n").unwrap();
        assert_eq!(p.iter().collect::<Vec<_>>(), [("c", 4.5), ("b", 3.0), ("a", 1.5), ("n", 3.0)]);
        assert_eq!(read("x = 1").unwrap().names().count(), 0);
    }

    #[test]
    fn a_parameter_may_tell_its_unit_and_meaning() {
        let text = "[parameter]\nk = { value = \"2*m\", unit = \"N/m\", doc = \"of the spring\" }\nm = 1.5\n";
        let p = read(text).unwrap();
        let [k, m] = p.list() else { panic!("{p:?}") };
        assert_eq!((k.value, k.expression.as_deref()), (3.0, Some("2*m")));
        assert_eq!((k.unit.as_str(), k.doc.as_str()), ("N/m", "of the spring"));
        assert_eq!(&text[k.span.start as usize..k.span.end as usize], "\"2*m\"");
        assert_eq!((m.value, m.expression.as_deref(), m.unit.as_str()), (1.5, None, ""));
        assert!(read("[parameter]\nk = { unit = \"N\" }").unwrap_err().0[0].message.contains("needs `value`"));
    }

    #[test]
    fn long_chains_and_circles_need_no_deep_stack() {
        let n = 20_000;
        let chain: String = (0..n).map(|i| format!("p{i} = \"p{} + 1\"\n", i + 1)).collect();
        let p = read(&format!("[parameter]\n{chain}p{n} = 1\n")).unwrap();
        assert_eq!(p.get("p0"), Some(f64::from(n) + 1.0));
        let problems = read(&format!("[parameter]\n{chain}p{n} = \"p0\"\n")).unwrap_err();
        assert_eq!(problems.0.len(), 1);
        assert!(problems.0[0].message.ends_with("p0 → p1 → p2 → p3 → p4 → p5 → p6 → p7 → … → p0"));
        // those that only use a circle are not told
        let problems = read("[parameter]\na='b'\nb='a'\nc='d'\nd='c'\nu='a+c+d'\nv='u'").unwrap_err();
        let circles: Vec<&str> = problems.0.iter().map(|p| p.message.rsplit(": ").next().unwrap()).collect();
        assert_eq!(circles, ["a → b → a", "c → d → c"]);
    }
}
