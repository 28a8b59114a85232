//! JSON into a tree with places, strictly as the standard has it [RFC 8259].

use super::diagnostic::{Diagnostic, Diagnostics};
use super::source::{Source, Span};
use super::suggest::quoted;
use super::tree::{Entry, Node, NodeValue, Table, text_node};
use std::collections::HashMap;

/// Objects and arrays may be nested this deep.
const DEEPEST: usize = 80;

/// Reads a JSON document whose value is an object. `id` is the number of the source in its
/// [`Sources`](super::Sources).
pub fn parse(source: &Source, id: u32) -> Result<Node, Diagnostics> {
    let mut reader = JsonReader { source, text: &source.text, id, at: 0, depth: 0, twice: Diagnostics::new() };
    match reader.document() {
        Ok(root) => reader.twice.or(root),
        Err(problem) => {
            let mut problems = reader.twice;
            problems.push(problem);
            Err(problems)
        }
    }
}

struct JsonReader<'s> {
    source: &'s Source,
    text: &'s str,
    id: u32,
    at: usize,
    depth: usize,
    /// Names that are defined twice; reading goes on after them.
    twice: Diagnostics,
}

type Outcome<T> = Result<T, Diagnostic>;

impl JsonReader<'_> {
    fn document(&mut self) -> Outcome<Node> {
        self.space()?;
        if self.peek().is_none() {
            return Err(self
                .here("the file is empty")
                .help("a model is an object: { \"model\": { … }, \"body\": { … } }"));
        }
        let root = self.value()?;
        self.space()?;
        if self.peek().is_some() {
            return Err(self.here("text after the end of the model").label("expected nothing more"));
        }
        match root.value {
            NodeValue::Table(_) => Ok(root),
            _ => Err(Diagnostic::error("a model is an object")
                .at(root.span)
                .label(format!("this is {}", root.article()))),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.id, start, self.at)
    }

    /// A problem with the character that comes next.
    fn here(&self, message: impl Into<String>) -> Diagnostic {
        let end = self.at + self.peek().map_or(0, char::len_utf8);
        Diagnostic::error(message).at(Span::new(self.id, self.at, end))
    }

    fn space(&mut self) -> Outcome<()> {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
        let rest = &self.text[self.at..];
        if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
            return Err(self.here("JSON has no comments").help("TOML has: write the model in TOML to comment it"));
        }
        Ok(())
    }

    fn value(&mut self) -> Outcome<Node> {
        let start = self.at;
        match self.peek() {
            Some('{') => self.nested(JsonReader::object),
            Some('[') => self.nested(JsonReader::array),
            Some('"') => {
                let text = self.string()?;
                Ok(text_node(text, self.span(start), self.source))
            }
            Some('-' | '0'..='9') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.word(),
            Some('\'') => Err(self.here("JSON text stands in double quotes").label("write \"")),
            Some('+' | '.') => Err(self.here("a JSON number begins with a digit or `-`").label("write it like 0.5")),
            Some(_) => Err(self.here("expected a value").label("not the beginning of a value")),
            None => Err(self.here("the file ends where a value should be").label("expected a value")),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Outcome<Node>) -> Outcome<Node> {
        if self.depth == DEEPEST {
            return Err(self.here("values are nested too deeply"));
        }
        self.depth += 1;
        let node = inner(self);
        self.depth -= 1;
        node
    }

    fn object(&mut self) -> Outcome<Node> {
        let start = self.at;
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        let mut first: HashMap<String, Span> = HashMap::new();
        self.space()?;
        if self.eat('}') {
            return Ok(Node { span: self.span(start), value: NodeValue::Table(Table { entries }) });
        }
        loop {
            let key_start = self.at;
            if self.peek() != Some('"') {
                let problem = match self.peek() {
                    Some('}') => {
                        self.here("JSON has no comma after the last entry").label("a comma stands before this")
                    }
                    None => self.unclosed(start, '}'),
                    _ => self.here("a key must be in double quotes").label("expected \""),
                };
                return Err(problem);
            }
            let name = self.string()?;
            let span = self.span(key_start);
            self.space()?;
            if !self.eat(':') {
                return Err(self.here(format!("a value is missing for {}", quoted(&name))).label("expected `:`"));
            }
            self.space()?;
            let node = self.value()?;
            match first.get(&name) {
                Some(first) => self.twice.push(
                    Diagnostic::error(format!("{} is defined twice", quoted(&name)))
                        .at(span)
                        .label("defined again here")
                        .also(*first, "first defined here")
                        .help("remove one of them, or give it another name"),
                ),
                None => {
                    first.insert(name.clone(), span);
                    entries.push(Entry { name, span, node });
                }
            }
            self.space()?;
            if self.eat(',') {
                self.space()?;
            } else if self.eat('}') {
                return Ok(Node { span: self.span(start), value: NodeValue::Table(Table { entries }) });
            } else {
                return Err(self.separator(start, '}'));
            }
        }
    }

    fn array(&mut self) -> Outcome<Node> {
        let start = self.at;
        self.at += 1;
        let mut list = Vec::new();
        self.space()?;
        if self.eat(']') {
            return Ok(Node { span: self.span(start), value: NodeValue::Array(list) });
        }
        loop {
            match self.peek() {
                Some(']') => {
                    return Err(self
                        .here("JSON has no comma after the last entry")
                        .label("a comma stands before this"));
                }
                None => return Err(self.unclosed(start, ']')),
                _ => list.push(self.value()?),
            }
            self.space()?;
            if self.eat(',') {
                self.space()?;
            } else if self.eat(']') {
                return Ok(Node { span: self.span(start), value: NodeValue::Array(list) });
            } else {
                return Err(self.separator(start, ']'));
            }
        }
    }

    fn separator(&self, start: usize, close: char) -> Diagnostic {
        match self.peek() {
            None => self.unclosed(start, close),
            Some(_) => self.here(format!("expected `,` or `{close}`")).label("after the value before this"),
        }
    }

    fn unclosed(&self, start: usize, close: char) -> Diagnostic {
        self.here(format!("the file ends before a `{close}`"))
            .label(format!("expected `{close}`"))
            .also(Span::new(self.id, start, start + 1), "opened here")
    }

    fn word(&mut self) -> Outcome<Node> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.bump();
        }
        let span = self.span(start);
        let value = match &self.text[start..self.at] {
            "true" => NodeValue::Bool(true),
            "false" => NodeValue::Bool(false),
            "null" => {
                let problem = Diagnostic::error("`null` is not a value here").at(span);
                return Err(problem.help("leave the key out to have its default"));
            }
            "NaN" | "Infinity" | "nan" | "inf" => {
                return Err(Diagnostic::error("JSON numbers are finite").at(span).label("not a finite number"));
            }
            word => {
                return Err(Diagnostic::error("text and expressions must be in quotes")
                    .at(span)
                    .label(if word.len() < 60 { format!("write \"{word}\"") } else { "not in quotes".into() }));
            }
        };
        Ok(Node { span, value })
    }

    fn number(&mut self) -> Outcome<Node> {
        let start = self.at;
        self.eat('-');
        if self.peek() == Some('0') && self.text[self.at + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.here("a number cannot start with 0").label("remove this zero"));
        }
        self.digits("a digit")?;
        let mut whole = true;
        if self.eat('.') {
            whole = false;
            self.digits("a digit after the point")?;
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            whole = false;
            self.at += 1;
            let _sign = self.eat('+') || self.eat('-');
            self.digits("the digits of the exponent")?;
        }
        let raw = &self.text[start..self.at];
        let value = match raw.parse() {
            Ok(n) if whole => NodeValue::Integer(n),
            _ => NodeValue::Number(raw.parse().unwrap_or(f64::NAN)),
        };
        Ok(Node { span: self.span(start), value })
    }

    fn digits(&mut self, what: &str) -> Outcome<()> {
        let start = self.at;
        while matches!(self.peek(), Some('0'..='9')) {
            self.at += 1;
        }
        if self.at > start {
            Ok(())
        } else {
            Err(self.here("a number is not complete").label(format!("expected {what}")))
        }
    }

    /// Reads a string; the opening quote comes next.
    fn string(&mut self) -> Outcome<String> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.bump() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(at)?),
                Some('\n' | '\r') | None => {
                    self.at = at;
                    let opened = Span::new(self.id, start, start + 1);
                    return Err(self
                        .here("text is not closed in this line")
                        .label("expected \"")
                        .also(opened, "opened here"));
                }
                Some(c) if (c as u32) < 0x20 => {
                    self.at = at;
                    let code = format!("write \\u{:04x}", c as u32);
                    return Err(self.here("a control character must be escaped").label(code));
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// The character after a backslash at `start`.
    fn escape(&mut self, start: usize) -> Outcome<char> {
        let simple = match self.bump() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('u') => {
                let high = self.hex(start)?;
                if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    let low = self.hex(start)?;
                    let pair = 0x10000 + ((high - 0xd800) << 10) + low.wrapping_sub(0xdc00);
                    if (0xdc00..0xe000).contains(&low)
                        && let Some(c) = char::from_u32(pair)
                    {
                        return Ok(c);
                    }
                }
                match char::from_u32(high) {
                    Some(c) => c,
                    None => return Err(Diagnostic::error("half of a surrogate pair").at(self.span(start))),
                }
            }
            _ => {
                let problem = Diagnostic::error("unknown escape in text").at(self.span(start));
                return Err(
                    problem.help("JSON knows \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits")
                );
            }
        };
        Ok(simple)
    }

    fn hex(&mut self, start: usize) -> Outcome<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|d| u32::from_str_radix(d, 16).ok()) {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => Err(Diagnostic::error("\\u needs four hexadecimal digits").at(self.span(start))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Node {
        parse(&Source::new("m.json", text.into()), 0).unwrap()
    }

    /// The same value without places.
    fn plain(node: &Node) -> serde_json::Value {
        match &node.value {
            NodeValue::Table(table) => table.entries.iter().map(|e| (e.name.clone(), plain(&e.node))).collect(),
            NodeValue::Array(list) => list.iter().map(plain).collect(),
            NodeValue::Number(x) => (*x).into(),
            NodeValue::Integer(n) => (*n).into(),
            NodeValue::Bool(b) => (*b).into(),
            NodeValue::String { text, .. } => text.as_str().into(),
        }
    }

    #[test]
    fn agrees_with_serde_json_and_with_toml() {
        let text = r#"{"z": [1, -2.5e-3, 0, -0.0, 1E2], "a": {"t": true, "f": false, "o": {}, "l": []},
            "s": "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é", "": 9007199254740993}"#;
        assert_eq!(plain(&read(text)), serde_json::from_str::<serde_json::Value>(text).unwrap());
        let toml = "z = [1, 2.5]\n[body.crank]\nat = [0, \"-L1\"]\nfixed = true\n";
        let json = r#"{"z": [1, 2.5], "body": {"crank": {"at": [0, "-L1"], "fixed": true}}}"#;
        assert_eq!(plain(&super::super::toml::parse(&Source::new("m", toml.into()), 0).unwrap()), plain(&read(json)));
    }

    #[test]
    fn places_cover_the_values() {
        let text = r#"{"body": {"crank": {"at": [0, "-L1"]}}}"#;
        let slice = |span: Span| &text[span.start as usize..span.end as usize];
        let root = read(text);
        let at = root.get("body").and_then(|b| b.get("crank")?.get("at")).unwrap();
        assert_eq!(slice(at.span), r#"[0, "-L1"]"#);
        assert_eq!(slice(at.as_array().unwrap()[1].part(1..3)), "L1");
        assert_eq!(slice(root.as_table().unwrap().entries[0].span), "\"body\"");
    }

    #[test]
    fn deep_nesting_is_refused() {
        for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            let problems = parse(&Source::new("m.json", text), 0).unwrap_err();
            assert_eq!(problems.0[0].message, "values are nested too deeply");
        }
    }
}
