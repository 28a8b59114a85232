//! The tree of values in a file, each with its place.

use super::source::{Source, Span};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where the value stands; for a table `[a.b]` its header.
    pub span: Span,
    /// The value.
    pub value: NodeValue,
}

/// A value as TOML and JSON have it in common.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Keys and their values.
    Table(Table),
    /// A list.
    Array(Vec<Node>),
    /// A number with a point or an exponent; also `inf` and `nan`, which readers refuse.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Bool(bool),
    /// A text, without its quotes and escapes.
    String {
        /// The text.
        text: String,
        /// The byte at which it starts in the source, if it stands there letter by letter.
        start: Option<u32>,
    },
}

/// Keys and their values in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The entries; no two have the same name.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Where the key stands.
    pub span: Span,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            NodeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::Array(list) => Some(list),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The value of a key, if this is a table that has it. Looks through all entries.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.as_table()?.get(name)
    }

    /// What it is, as in "found an array".
    pub fn article(&self) -> &'static str {
        match &self.value {
            NodeValue::Table(_) => "a table",
            NodeValue::Array(list) if list.is_empty() => "an empty array",
            NodeValue::Array(_) => "an array",
            NodeValue::Number(_) => "a number",
            NodeValue::Integer(_) => "an integer",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::String { .. } => "text",
        }
    }

    /// The place of a part of a text, or of the whole text where escapes hide the part.
    pub fn part(&self, part: std::ops::Range<usize>) -> Span {
        match &self.value {
            NodeValue::String { start: Some(start), .. } => {
                let start = *start as usize;
                Span::new(self.span.source, start + part.start, start + part.end)
            }
            _ => self.span,
        }
    }
}

impl Table {
    /// The value of a key. Looks through all entries.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|e| &e.node)
    }

    /// The entry of a key. Looks through all entries.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// The keys in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.name.as_str())
    }
}

/// A text node; notes where the text starts if between the quotes it stands letter by letter.
pub(super) fn text_node(text: String, span: Span, source: &Source) -> Node {
    let raw = source.text.get(span.start as usize..span.end as usize).unwrap_or("");
    let quotes = if raw.len() >= 6 && (raw.starts_with("\"\"\"") || raw.starts_with("'''")) { 3 } else { 1 };
    let inner = raw.len().checked_sub(quotes).and_then(|end| raw.get(quotes..end)).unwrap_or("");
    let trimmed =
        if quotes == 3 { inner.strip_prefix("\r\n").or(inner.strip_prefix('\n')).unwrap_or(inner) } else { inner };
    let start = (trimmed == text).then(|| span.start + (quotes + inner.len() - trimmed.len()) as u32);
    Node { span, value: NodeValue::String { text, start } }
}
