//! Names of a part in the machine that includes it: `hub` of `[include.left]` is `left.hub`, also in expressions.

use crate::file::expression::is_constant;
use crate::file::{Entry, Expression, Field, FieldKind, Node, NodeValue, Table, units};
use crate::read::fields::*;
use crate::read::fmu::FMU;
use crate::{forces, joints};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What becomes of the names in one file.
pub(super) struct Names<'a> {
    /// `left.`
    pub prefix: String,
    /// Bodies of the file that are bodies of the file that includes it.
    pub ports: HashMap<String, String>,
    /// Parameters, inputs, outputs, states and tables of the file.
    pub own: HashSet<String>,
    /// The folder of the file, from that of the model.
    pub folder: &'a Path,
    /// The text that the file is: values that were set from outside stand elsewhere, and keep their names.
    pub source: u32,
}

/// The keys of an entry of a section; none where its kind is not known, which is told when it is read.
pub(super) fn keys_of(section: &str, node: &Node) -> Vec<&'static [Field]> {
    let kind = node.get("type").and_then(Node::as_str).unwrap_or_default();
    match section {
        "parameter" => vec![PARAMETER],
        "input" => vec![INPUT],
        "body" => vec![BODY],
        "joint" => joints::CATALOG.iter().find(|k| k.name == kind).map_or(Vec::new(), |k| joint_fields(k).to_vec()),
        "force" => forces::CATALOG.iter().find(|k| k.name == kind).map_or(Vec::new(), |k| force_fields(k).to_vec()),
        "probe" => vec![PROBE],
        "state" => vec![STATE],
        "output" => vec![OUTPUT],
        "fmu" => vec![FMU],
        "visual" => vec![crate::read::VISUAL],
        "table" => vec![TABLE],
        "start" => vec![START],
        "include" => vec![INCLUDE],
        "marker" => vec![MARKER],
        _ => Vec::new(),
    }
}

impl Names<'_> {
    /// Gives an entry of a section, and all that it names, their names in the machine.
    pub fn rename(&self, section: &str, entry: &mut Entry) {
        entry.name = format!("{}{}", self.prefix, self.in_braces(&entry.name));
        if section == "parameter" && entry.node.as_table().is_none() {
            return self.expressions(&mut entry.node, &[]);
        }
        let keys = keys_of(section, &entry.node);
        let NodeValue::Table(table) = &mut entry.node.value else { return };
        self.table(table, &keys);
    }

    fn table(&self, table: &mut Table, keys: &[&'static [Field]]) {
        for entry in &mut table.entries {
            let known = keys.iter().copied().flatten().find(|f| f.name == entry.name);
            match known {
                Some(field) => self.value(&mut entry.node, field),
                None if entry.name == "repeat" => self.expressions(&mut entry.node, &[]),
                None => {}
            }
        }
    }

    fn value(&self, node: &mut Node, field: &'static Field) {
        use FieldKind::*;
        match (field.kind, field.name) {
            (Flag | Word(_), _) | (_, "type" | "coordinate" | "coordinates") => {}
            (Text, "file") | (File(_), _) => self.each_text(node, &|text| self.path(text)),
            (Text, _) => {}
            (Any, "ports") => self.values_of(node, &|node| self.each_text(node, &|text| self.name(text))),
            // patterns of the outputs of an FMU
            (_, "outputs") => {}
            (Any, "inputs") => self.values_of(node, &|node| self.expressions(node, &[])),
            (Any, "set") => self.values_of(node, &|node| match node.as_table() {
                Some(_) => self.expressions(node, &[]),
                None => self.each_text(node, &|text| self.value_text(text)),
            }),
            (Name | Names(..), _) => self.each_text(node, &|text| self.name(text)),
            (Table(fields), _) => {
                if let NodeValue::Table(table) = &mut node.value {
                    self.table(table, &[fields]);
                }
            }
            (FunctionOf(free) | FunctionsOf(free), _) => self.expressions(node, free),
            _ => self.expressions(node, &[]),
        }
    }

    /// Renames what expressions use, also in lists and in tables such as `{ axis, angle }`; of a function by a file, the file.
    /// `free` are variables of their own, such as `s` of a curve.
    fn expressions(&self, node: &mut Node, free: &[&str]) {
        match &mut node.value {
            NodeValue::Array(list) => list.iter_mut().for_each(|node| self.expressions(node, free)),
            NodeValue::Table(table) => {
                let by_file = table.get("table").is_some();
                for entry in &mut table.entries {
                    match entry.name.as_str() {
                        "table" => self.each_text(&mut entry.node, &|text| self.path(text)),
                        "order" | "unit" | "doc" | "interpolation" => {}
                        "time" | "column" | "columns" if by_file => {}
                        _ => self.expressions(&mut entry.node, free),
                    }
                }
            }
            _ => self.each_text(node, &|text| self.expression(text, free)),
        }
    }

    /// Changes the texts of a node that is a text or a list of them.
    fn each_text(&self, node: &mut Node, change: &dyn Fn(&str) -> String) {
        let own = node.span.source == self.source;
        match &mut node.value {
            NodeValue::Array(list) => list.iter_mut().for_each(|node| self.each_text(node, change)),
            NodeValue::String { text, start } if own => {
                let changed = change(text);
                if changed != *text {
                    (*text, *start) = (changed, None);
                }
            }
            _ => {}
        }
    }

    fn values_of(&self, node: &mut Node, change: &dyn Fn(&mut Node)) {
        if let NodeValue::Table(table) = &mut node.value {
            table.entries.iter_mut().for_each(|entry| change(&mut entry.node));
        }
    }

    /// A text that is an expression of the file's own names, or one that an FMU is given as it stands.
    fn value_text(&self, text: &str) -> String {
        let words = Expression::words(text);
        let known = |(at, called): &(std::ops::Range<usize>, bool)| {
            *called || is_constant(&text[at.clone()]) || self.own.contains(&text[at.clone()])
        };
        if words.iter().all(known) { self.expression(text, &[]) } else { text.to_string() }
    }

    /// The path of a file, from the model's folder.
    fn path(&self, text: &str) -> String {
        self.folder.join(text).to_string_lossy().into_owned()
    }

    /// The name of a body, a joint or a channel. The ground is that of the machine, unless it is a port.
    pub fn name(&self, text: &str) -> String {
        let (owner, rest) = text.split_once('.').map_or((text, ""), |(owner, _)| (owner, &text[owner.len()..]));
        match self.ports.get(owner) {
            Some(body) => format!("{body}{rest}"),
            None if text == "ground" => text.to_string(),
            None => format!("{}{}", self.prefix, self.in_braces(text)),
        }
    }

    /// An expression with its names in the machine: all but `t`, constants and functions.
    pub fn expression(&self, text: &str, free: &[&str]) -> String {
        let plain = without_braces(text);
        let is_own = |text: &str| self.own.contains(text.trim());
        if units::NumberWithUnit::parse(&plain).is_some() && !is_own(text) {
            return text.to_string();
        }
        let mut out = String::new();
        let mut from = 0;
        for (at, called) in Expression::words(&plain) {
            let name = &text[at.clone()];
            let builtin = if called { !name.contains('.') } else { name == "t" || is_constant(name) };
            if name.starts_with('{') || free.contains(&name) || (builtin && !is_own(name)) {
                continue;
            }
            out += &self.in_braces(&text[from..at.start]);
            out += &self.name(name);
            from = at.end;
        }
        out + &self.in_braces(&text[from..])
    }

    /// A text whose indices `{…}` use the parameters of the file.
    fn in_braces(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, inner, after)) = next_brace(rest) {
            out += before;
            let index = |name: &str| ["i", "j", "k"].contains(&name) && !self.own.contains(name);
            let mut from = 0;
            out.push('{');
            for (at, called) in Expression::words(inner) {
                if !called && !index(&inner[at.clone()]) {
                    out += &inner[from..at.start];
                    out += &self.expression(&inner[at.clone()], &[]);
                    from = at.end;
                }
            }
            out += &inner[from..];
            out.push('}');
            rest = after;
        }
        out + rest
    }
}

/// What stands before, within and after the first braces.
fn next_brace(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.find('{')?;
    let close = open + text[open..].find('}')?;
    Some((&text[..open], &text[open + 1..close], &text[close + 1..]))
}

/// A text of the same length with the indices in it as part of a name, or as a number where they stand alone.
fn without_braces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner, after)) = next_brace(rest) {
        out += before;
        let in_name = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        out += &if in_name { "_" } else { "1" }.repeat(inner.len() + 2);
        rest = after;
    }
    out + rest
}
