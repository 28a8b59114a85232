//! `[input.NAME]` and parameters that are tables: numbers that expressions use by name.

use super::Reader;
use super::fields::{INPUT, PARAMETER};
use crate::file::*;
use crate::model::Input;
use std::sync::Mutex;

impl<'a> Reader<'a> {
    pub(super) fn read_input(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let values = self.fields(node, &format!("input {}", suggest::quoted(name)), &[INPUT])?;
        let text = |key: &str| values.optional_name(key).map_or("", |n| n.name);
        let start = values.node("start").and_then(Node::as_str).and_then(|text| self.parameters.quantity(text));
        let si = start.as_ref().map(|quantity| quantity.unit.si()).unwrap_or_default();
        let unit = if values.has("unit") { text("unit") } else { &si };
        if let Some(quantity) = &start
            && !units::Unit::parse(unit).is_some_and(|u| u.is_like(&quantity.unit) && u.is_coherent())
        {
            let message = format!("`start` of {} is given in {}, which is kept in {si}", values.what(), quantity.text);
            let help = "leave `unit` out, or leave the unit behind the number out";
            return Err(values.error_at("unit", message).label(format!("expected \"{si}\"")).help(help).into());
        }
        let Some(unit) = lasting(unit) else { return Err(too_long(&values).into()) };
        let start = values.number("start");
        self.model.inputs.push(Input { name: name.to_string(), start, unit, doc: text("doc").to_string() });
        Ok(())
    }

    /// Checks the keys of a parameter that is a table; its value is known already.
    pub(super) fn check_parameter(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        match node.as_table() {
            Some(_) => self.fields(node, &format!("parameter {}", suggest::quoted(name)), &[PARAMETER]).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Inputs need names that expressions can use and that no parameter has.
    pub(super) fn check_inputs(&mut self) {
        let entries = |section: &str| self.root.get(section).and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
        let mut problems = Vec::new();
        for entry in entries("input") {
            problems.extend(parameters::refuse_name(entry, "an input"));
            if entry.name == "time" {
                let problem = Diagnostic::error("an input cannot be named `time`").at(entry.span);
                problems.push(problem.label("the results have a column of this name").help("choose another name"));
            }
            if let Some(other) = entries("parameter").iter().find(|p| p.name == entry.name) {
                let message = format!("{} is the name of a parameter and of an input", suggest::quoted(&entry.name));
                problems.push(
                    Diagnostic::error(message)
                        .at(entry.span)
                        .label("an input")
                        .also(other.span, "a parameter")
                        .help("give one of them another name: expressions refer to both by name"),
                );
            }
        }
        problems.into_iter().for_each(|problem| self.problems.push(problem));
    }
}

/// What is wrong with a unit that is too long.
pub(super) fn too_long(values: &Values) -> Diagnostic {
    let message = format!("`unit` of {} is longer than {LONGEST_UNIT} letters", values.what());
    values.error_at("unit", message).help("say in `doc` what it means")
}

/// Longer units are refused, in letters.
const LONGEST_UNIT: usize = 24;
/// Different units that are kept; channels have units that last as long as the program.
const MOST_UNITS: usize = 1000;

/// A unit as text that lasts as long as the program, for channels; none where it is too long.
pub fn lasting_unit(unit: &str) -> &'static str {
    lasting(unit).unwrap_or_default()
}

/// A unit as text that lasts: each is kept once, and beyond [`MOST_UNITS`] different ones channels have none.
pub(super) fn lasting(unit: &str) -> Option<&'static str> {
    static KEPT: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if unit.is_empty() || unit.chars().count() > LONGEST_UNIT {
        return unit.is_empty().then_some("");
    }
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = kept.iter().find(|k| **k == unit) {
        return Some(known);
    }
    if kept.len() == MOST_UNITS {
        return Some("");
    }
    let new: &'static str = Box::leak(unit.to_string().into_boxed_str());
    kept.push(new);
    Some(new)
}
