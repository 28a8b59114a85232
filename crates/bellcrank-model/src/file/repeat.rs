//! `repeat = N`: one entry of a section that stands for many.
//!
//! ```toml
//! [body."link{i}"]
//! repeat = 40
//! mass = 0.1
//! at = ["({i} - 1/2)*pitch", 0]
//! [joint."pin{i}"]
//! repeat = 39
//! type = "revolute"
//! between = ["link{i}", "link{i+1}"]
//! ```
//!
//! Every `{…}` in the name and in texts of the entry is a whole number, computed from the index `i` = 1, 2, …, N and from parameters;
//! `repeat = [M, N]` has a second index `j`, and a third one is `k`. Copies keep the places of what they were made from, so that messages
//! point into the file.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::expression::{Expression, Scope};
use super::parameters::{Parameters, in_place};
use super::source::Span;
use super::suggest::quoted;
use super::tree::{Entry, Node, NodeValue, Table};
use std::collections::HashMap;
use std::fmt::Write;

/// The key.
pub const KEY: &str = "repeat";
/// More copies of one entry are refused.
const MOST_COPIES: f64 = 1e7;
const INDEX_HELP: &str = "write the index into the name, as in \"link{i}\"";
const INDICES: [&str; 3] = ["i", "j", "k"];

/// What is wrong with an index in the place of a name.
pub(super) fn misused<'a>(name: &str, mut known: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    (INDICES.contains(&name) && !known.any(|other| other == INDICES[0]))
        .then_some("the index of what repeats is written in braces, as in {i}")
}

/// Writes out the repeated entries of these sections.
pub fn expand(root: &mut Node, sections: &[&str]) -> Result<(), Diagnostics> {
    let repeats = |node: &Node| node.as_table().is_some_and(|t| t.entries.iter().any(|e| e.node.get(KEY).is_some()));
    let chosen = |name: &str| sections.contains(&name) && name != "parameter";
    let NodeValue::Table(table) = &root.value else { return Ok(()) };
    if !table.entries.iter().any(|section| chosen(&section.name) && repeats(&section.node)) {
        return Ok(());
    }
    // what is wrong with them is told when the model is read
    let Ok(parameters) = Parameters::read(root.get("parameter"), &[]) else { return Ok(()) };
    let mut problems = Diagnostics::new();
    let mut copier = Copier { parameters: &parameters, read: HashMap::new() };
    let NodeValue::Table(table) = &mut root.value else { return Ok(()) };
    for section in table.entries.iter_mut().filter(|s| chosen(&s.name)) {
        let kind = section.name.clone();
        if let NodeValue::Table(table) = &mut section.node.value
            && table.entries.iter().any(|e| e.node.get(KEY).is_some())
        {
            let entries = copier.section(&kind, std::mem::take(&mut table.entries), &mut problems);
            table.entries = entries;
            problems.append(clashes(&kind, &table.entries));
        }
    }
    problems.or(())
}

/// Names that come out twice.
pub(crate) fn clashes(kind: &str, entries: &[Entry]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut seen: HashMap<&str, Span> = HashMap::with_capacity(entries.len());
    for entry in entries {
        if let Some(first) = seen.insert(&entry.name, entry.span) {
            let problem = Diagnostic::error(format!("two entries of [{kind}] are named {}", quoted(&entry.name)));
            let problem = problem.at(entry.span).label("again here").also(first, "first here");
            let help = if first.source == entry.span.source { INDEX_HELP } else { "give one of them another name" };
            problems.push(problem.help(help));
            if problems.enough() {
                break;
            }
        }
    }
    problems
}

struct Copier<'p> {
    parameters: &'p Parameters,
    /// What stands between braces, read once.
    read: HashMap<String, Expression>,
}

impl Copier<'_> {
    fn section(&mut self, kind: &str, entries: Vec<Entry>, problems: &mut Diagnostics) -> Vec<Entry> {
        let mut out = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry.node.get(KEY) {
                None => out.push(entry),
                Some(counts) => {
                    let what = format!("{kind} {}", quoted(&entry.name));
                    problems.take(
                        self.counts(counts, &what).and_then(|counts| self.copies(&entry, &counts, &what, &mut out)),
                    );
                }
            }
        }
        out
    }

    /// How often in each direction.
    fn counts(&self, node: &Node, what: &str) -> Result<Vec<usize>, Diagnostics> {
        let list = match &node.value {
            NodeValue::Array(list) => list.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let wrong = |text: String| {
            let help = "write it like `repeat = 40`, or `repeat = [30, 20]` for indices i and j";
            Diagnostics::from(Diagnostic::error(format!("`repeat` of {what} {text}")).at(node.span).help(help))
        };
        if !(1..=INDICES.len()).contains(&list.len()) {
            return Err(wrong(format!("has {} numbers: there are one, two or three indices", list.len())));
        }
        let mut counts = Vec::new();
        for node in list {
            let x = match &node.value {
                NodeValue::Integer(n) => *n as f64,
                NodeValue::Number(x) => *x,
                NodeValue::String { text, .. } => {
                    let scope = Scope { parameters: self.parameters, variables: &[], inputs: &[] };
                    let what = format!("`repeat` of {what}");
                    let read = Expression::parse(text, scope).map_err(|fault| in_place(fault, node, &what))?;
                    read.as_constant().unwrap_or(f64::NAN)
                }
                _ => return Err(wrong(format!("must be a whole number, found {}", node.article()))),
            };
            if x.fract() != 0.0 || !(0.0..=MOST_COPIES).contains(&x) {
                return Err(wrong(format!("is {x}: expected a whole number from 0 to {MOST_COPIES:e}")));
            }
            counts.push(x as usize);
        }
        let all: f64 = counts.iter().map(|n| *n as f64).product();
        if all > MOST_COPIES {
            Err(wrong(format!("makes {all} copies, more than {MOST_COPIES:e}")))
        } else {
            Ok(counts)
        }
    }

    fn copies(&mut self, entry: &Entry, counts: &[usize], what: &str, out: &mut Vec<Entry>) -> Result<(), Diagnostics> {
        let total: usize = counts.iter().product();
        out.reserve(total);
        let name = match entry.name.contains('{') {
            true => entry.name.clone(),
            false => {
                let gap = if entry.name.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
                let indices: Vec<String> = INDICES[..counts.len()].iter().map(|i| format!("{{{i}}}")).collect();
                format!("{}{gap}{}", entry.name, indices.join("_"))
            }
        };
        let NodeValue::Table(table) = &entry.node.value else { return Ok(()) };
        let kept: Vec<&Entry> = table.entries.iter().filter(|e| e.name != KEY).collect();
        for number in 0..total {
            let mut index = [0.0; 3];
            let mut rest = number;
            for (place, count) in index.iter_mut().zip(counts).rev() {
                *place = (1 + rest % count) as f64;
                rest /= count;
            }
            let index = &index[..counts.len()];
            let at = &entry.node;
            let name = self.text(&name, index, at, what)?;
            let mut entries = Vec::with_capacity(kept.len());
            for e in &kept {
                entries.push(Entry { name: e.name.clone(), span: e.span, node: self.node(&e.node, index, what)? });
            }
            let node = Node { span: entry.node.span, value: NodeValue::Table(Table { entries }) };
            out.push(Entry { name, span: entry.span, node });
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, index: &[f64], what: &str) -> Result<Node, Diagnostics> {
        let value = match &node.value {
            NodeValue::String { text, .. } if text.contains('{') => {
                NodeValue::String { text: self.text(text, index, node, what)?, start: None }
            }
            NodeValue::Array(list) => {
                let mut copied = Vec::with_capacity(list.len());
                for node in list {
                    copied.push(self.node(node, index, what)?);
                }
                NodeValue::Array(copied)
            }
            NodeValue::Table(table) => {
                let mut entries = Vec::with_capacity(table.entries.len());
                for e in &table.entries {
                    entries.push(Entry { name: e.name.clone(), span: e.span, node: self.node(&e.node, index, what)? });
                }
                NodeValue::Table(Table { entries })
            }
            other => other.clone(),
        };
        Ok(Node { span: node.span, value })
    }

    /// A text with the numbers of an index in the places of its braces.
    fn text(&mut self, text: &str, index: &[f64], node: &Node, what: &str) -> Result<String, Diagnostics> {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        while let Some(open) = text[from..].find('{').map(|n| from + n) {
            let Some(close) = text[open..].find('}').map(|n| open + n) else {
                let problem =
                    Diagnostic::error(format!("a brace in {what} is never closed")).at(node.part(open..open + 1));
                return Err(problem.help("write the index as in \"link{i}\"").into());
            };
            out.push_str(&text[from..open]);
            let inner = &text[open + 1..close];
            let x = self.number(inner, index, node, open + 1, what)?;
            let _ = write!(out, "{x}");
            from = close + 1;
        }
        out.push_str(&text[from..]);
        out.shrink_to_fit();
        Ok(out)
    }

    fn number(&mut self, inner: &str, index: &[f64], node: &Node, at: usize, what: &str) -> Result<i64, Diagnostics> {
        if !self.read.contains_key(inner) {
            let scope = Scope { parameters: self.parameters, variables: &INDICES[..index.len()], inputs: &[] };
            let read = Expression::parse(inner, scope).map_err(|mut fault| {
                fault.at = at + fault.at.start..at + fault.at.end;
                in_place(fault, node, what)
            })?;
            self.read.insert(inner.to_string(), read);
        }
        let x = self.read.get(inner).map_or(f64::NAN, |e| e.value_of(index));
        if x.fract() != 0.0 || x.abs() > 9e15 {
            let message = format!("`{{{inner}}}` in {what} is {x} where {}, and no whole number", shown(index));
            let help = "indices are whole numbers; to divide, write {i}/2, without the divisor in the braces";
            return Err(Diagnostic::error(message).at(node.part(at..at + inner.len())).help(help).into());
        }
        Ok(x as i64)
    }
}

/// `i = 3, j = 1`.
fn shown(index: &[f64]) -> String {
    INDICES.iter().zip(index).map(|(name, x)| format!("{name} = {x}")).collect::<Vec<_>>().join(", ")
}
