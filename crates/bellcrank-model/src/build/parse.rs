//! A model file as a model that is written in code: its sections with their keys and values, overrides put on them.

use super::value::Value;
use super::{Model, Section};
use crate::file::{self, Document, Entry, Node, Report};
use crate::read::LAYOUT;
use std::path::Path;

impl Model {
    /// The sections of a file, to be changed or written again. What the file means is not looked at.
    pub fn open(path: impl AsRef<Path>, overrides: &[String]) -> Result<Model, Report> {
        let path = path.as_ref().to_string_lossy();
        Ok(Model::of(&path, Document::open(&path, overrides, &LAYOUT)?))
    }

    /// The same of a text, under the name of the file it would be in.
    ///
    /// ```
    /// use bellcrank_model::build::Model;
    /// let text = "model = { plane = 'xy' }\nparameter.m = 1.5\nbody.bob = { mass = 'm' }";
    /// let m = Model::parse("bob.toml", text, &["parameter.m=2".to_string()]).unwrap();
    /// assert_eq!(m.to_toml(), "[model]\nplane = \"xy\"\n\n[parameter]\nm = 2\n\n[body.bob]\nmass = \"m\"\n");
    /// ```
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Model, Report> {
        Ok(Model::of(name, Document::parse(name, text.to_string(), overrides, &LAYOUT)?))
    }

    fn of(path: &str, document: Document) -> Model {
        let path = Path::new(path);
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut m = Model { name, folder, sections: Vec::new() };
        let file::NodeValue::Table(root) = document.root.value else { return m };
        // keys without a section stand before the first one, where they can be read back
        let (sections, loose): (Vec<_>, Vec<_>) = root.entries.into_iter().partition(|e| e.node.as_table().is_some());
        if !loose.is_empty() {
            m.sections.push(Section { kind: "".into(), name: String::new(), entries: entries(loose) });
        }
        for section in sections {
            let file::NodeValue::Table(table) = section.node.value else { continue };
            let named = LAYOUT.named.contains(&section.name.as_str());
            let (named, plain): (Vec<_>, Vec<_>) =
                table.entries.into_iter().partition(|e| named && e.node.as_table().is_some());
            if !plain.is_empty() || named.is_empty() {
                m.add(&section.name, "", entries(plain));
            }
            for Entry { name, node, .. } in named {
                let file::NodeValue::Table(table) = node.value else { continue };
                m.sections.push(Section { kind: section.name.clone().into(), name, entries: entries(table.entries) });
            }
        }
        m
    }
}

fn entries(list: Vec<Entry>) -> Vec<(String, Value)> {
    list.into_iter().map(|entry| (entry.name, value(entry.node))).collect()
}

fn value(node: Node) -> Value {
    match node.value {
        file::NodeValue::Table(table) => Value::Table(entries(table.entries)),
        file::NodeValue::Array(list) => Value::List(list.into_iter().map(value).collect()),
        file::NodeValue::Number(x) => Value::Number(x),
        file::NodeValue::Integer(n) => Value::Integer(n),
        file::NodeValue::Bool(flag) => Value::Flag(flag),
        file::NodeValue::String { text, .. } => Value::Text(text),
    }
}
