//! A section whose keys get their meaning elsewhere, read as it stands: `[solve]`.

use crate::file::{Context, Diagnostic, Entry, Node, NodeValue, Span, units};

/// A value as the user gave it, before anybody knows what kind it should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A number.
    Number(f64),
    /// A text: a word, or an expression of parameters with its value, or why it has none.
    Text {
        /// The text.
        text: String,
        /// The number it stands for.
        number: Result<f64, String>,
    },
    /// A list of texts.
    Texts(Vec<String>),
    /// Something else, such as `an array`.
    Other(&'static str),
}

impl Given {
    fn read(node: &Node, key: &str, context: &Context) -> Given {
        match &node.value {
            NodeValue::Integer(n) => Given::Number(*n as f64),
            NodeValue::Number(x) => Given::Number(*x),
            NodeValue::String { text, .. } => {
                let number =
                    context.number(node, &format_args!("`{key}`"), units::ANY).map_err(|problem| problem.message);
                Given::Text { text: text.clone(), number }
            }
            NodeValue::Array(items) => {
                let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_string)).collect();
                texts.map_or_else(|| Given::Other(node.article()), Given::Texts)
            }
            _ => Given::Other(node.article()),
        }
    }
}

impl From<f64> for Given {
    fn from(x: f64) -> Given {
        Given::Number(x)
    }
}

impl From<usize> for Given {
    fn from(n: usize) -> Given {
        Given::Number(n as f64)
    }
}

impl From<&str> for Given {
    /// A word, or a number in digits, perhaps with its unit.
    fn from(text: &str) -> Given {
        let quantity = || units::NumberWithUnit::parse(text).map(|q| q.value);
        let number = text.trim().parse().ok().or_else(quantity).ok_or_else(String::new);
        Given::Text { text: text.to_string(), number }
    }
}

/// One `key = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Given,
    /// Where the value stands.
    pub span: Span,
}

/// All entries of the section, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// Reads a section; numbers may be expressions of parameters.
    pub fn read(section: &Node, context: &Context) -> Result<Settings, Diagnostic> {
        let Some(table) = section.as_table() else {
            let problem = Diagnostic::error("[solve] must be a table").at(section.span);
            return Err(problem.help("write [solve] above its keys"));
        };
        let setting = |e: &Entry| Setting {
            key: e.name.clone(),
            key_span: e.span,
            value: Given::read(&e.node, &e.name, context),
            span: e.node.span,
        };
        Ok(Settings(table.entries.iter().map(setting).collect()))
    }

    /// The number of a key, if it is there and is one.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.iter().find(|s| s.key == key).and_then(|s| match s.value {
            Given::Number(x) | Given::Text { number: Ok(x), .. } => Some(x),
            _ => None,
        })
    }
}
