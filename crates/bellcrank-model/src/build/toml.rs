//! The text of a model file, from its sections.

use super::Section;
use super::value::Value;
use std::fmt::Write;

/// The sections in the order in which they were added; those of one kind need not stand together.
pub(super) fn text(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        let gap = if out.is_empty() { "" } else { "\n" };
        let name = if section.name.is_empty() { String::new() } else { format!(".{}", key(&section.name)) };
        // writing to a string cannot fail
        if !section.kind.is_empty() {
            let _ = writeln!(out, "{gap}[{}{name}]", key(&section.kind));
        }
        for (name, value) in &section.entries {
            let _ = write!(out, "{} = ", key(name));
            write_value(value, &mut out);
            out.push('\n');
        }
    }
    out
}

/// A key, in quotes where it needs them.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_string() } else { quoted(name) }
}

/// A basic string: quotes, backslashes and control characters are escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl std::fmt::Display for Value {
    /// As it stands in a file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        write_value(self, &mut text);
        f.write_str(&text)
    }
}

fn write_value(value: &Value, out: &mut String) {
    let separate = |i: usize, out: &mut String| out.push_str(if i > 0 { ", " } else { "" });
    match value {
        // the shortest text that reads back to the same bits
        Value::Number(x) if x.is_finite() => {
            let _ = write!(out, "{x:?}");
        }
        Value::Number(x) => out.push_str(if x.is_nan() {
            "nan"
        } else if *x > 0.0 {
            "inf"
        } else {
            "-inf"
        }),
        Value::Integer(n) => {
            let _ = write!(out, "{n}");
        }
        Value::Flag(flag) => {
            let _ = write!(out, "{flag}");
        }
        Value::Text(text) => out.push_str(&quoted(text)),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                separate(i, out);
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Table(entries) => {
            out.push_str("{ ");
            for (i, (name, item)) in entries.iter().enumerate() {
                separate(i, out);
                let _ = write!(out, "{} = ", key(name));
                write_value(item, out);
            }
            out.push_str(" }");
        }
    }
}
