//! The part of TOML that large model files are made of, read straight into a tree.
//!
//! Tables, dotted keys, inline tables, arrays, decimal numbers and text without escapes are nearly all there is in a model
//! file. The `toml` crate takes 9 kB for a body and its joints on the way to the tree, this nothing but the tree. A reader
//! of the events of `toml_parser` gave the same trees, but for 1e5 bodies took 1.4 times as long and 3 % more memory.
//! Everything else, errors above all, is left to the `toml` crate, so that there are no messages here.

use super::source::{Source, Span};
use super::tree::{Entry, Node, Table, Value};
use std::collections::HashMap;

/// Values nested deeper than this are not plain.
const DEEPEST: usize = 16;
/// Inline tables with more keys are not plain: each is compared with all before it.
const KEYS: usize = 64;

/// Reads a document; nothing if it is not plain, or wrong.
pub fn parse(source: &Source, id: u32) -> Option<Node> {
    let mut reader = Reader { text: source.text.as_bytes(), whole: &source.text, at: 0, id };
    let mut tables = Tables::new(id);
    let mut current = 0;
    loop {
        reader.blank();
        match reader.peek() {
            None => return Some(tables.into_node()),
            Some(b'\n' | b'\r' | b'#') => {}
            Some(b'[') => {
                let start = reader.at;
                reader.at += 1;
                reader.blank();
                let path = reader.path()?;
                reader.blank();
                reader.take(b']')?;
                current = tables.open(&path, reader.span(start))?;
            }
            Some(_) => {
                let path = reader.path()?;
                reader.blank();
                reader.take(b'=')?;
                reader.blank();
                let node = reader.value(0)?;
                tables.put(current, &path, node)?;
            }
        }
        reader.blank();
        reader.end_of_line()?;
    }
}

struct Reader<'t> {
    text: &'t [u8],
    whole: &'t str,
    at: usize,
    id: u32,
}

/// A key as it stands, and its name.
type Key<'t> = (&'t str, Span);

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.id, start, self.at)
    }

    /// Passes while bytes are of a kind; what was passed.
    fn pass(&mut self, kind: impl Fn(u8) -> bool) -> &'t str {
        let start = self.at;
        while self.peek().is_some_and(&kind) {
            self.at += 1;
        }
        // kinds are of ASCII, or of all that is not
        self.whole.get(start..self.at).unwrap_or("")
    }

    fn blank(&mut self) {
        self.pass(|b| b == b' ' || b == b'\t');
    }

    /// A comment, and the end of the line or of the text.
    fn end_of_line(&mut self) -> Option<()> {
        if self.peek() == Some(b'#') {
            self.pass(printable);
        }
        match self.peek() {
            None => Some(()),
            Some(b'\r') => {
                self.at += 1;
                self.take(b'\n')
            }
            Some(_) => self.take(b'\n'),
        }
    }

    /// Blanks, comments and ends of lines between the values of an array.
    fn between(&mut self) -> Option<()> {
        loop {
            self.blank();
            match self.peek()? {
                b'#' | b'\n' | b'\r' => self.end_of_line()?,
                _ => return Some(()),
            }
        }
    }

    /// Text in quotes of one line without escapes, the quotes passed too.
    fn quoted(&mut self) -> Option<&'t str> {
        let quote = self.peek()?;
        self.at += 1;
        let text = self.pass(|b| printable(b) && b != quote && (b != b'\\' || quote == b'\''));
        self.take(quote)?;
        // three quotes begin a text of many lines
        (!text.is_empty() || self.peek() != Some(quote)).then_some(text)
    }

    fn key(&mut self) -> Option<Key<'t>> {
        let start = self.at;
        let name = match self.peek()? {
            b'"' | b'\'' => self.quoted()?,
            _ => self.pass(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
        };
        (!name.is_empty()).then(|| (name, self.span(start)))
    }

    fn path(&mut self) -> Option<Vec<Key<'t>>> {
        let mut path = vec![self.key()?];
        while self.peek() == Some(b'.') {
            self.at += 1;
            path.push(self.key()?);
        }
        (path.len() < DEEPEST).then_some(path)
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        let start = self.at;
        let value = match self.peek()? {
            _ if depth > DEEPEST => return None,
            b'"' | b'\'' => {
                let text = self.quoted()?.to_string();
                Value::String { text, start: Some(start as u32 + 1) }
            }
            b'[' => Value::Array(self.array(depth)?),
            b'{' => Value::Table(Table { entries: self.table(depth)? }),
            b't' | b'f' => match self.pass(|b| b.is_ascii_alphanumeric()) {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return None,
            },
            _ => self.number()?,
        };
        Some(Node { span: self.span(start), value })
    }

    fn array(&mut self, depth: usize) -> Option<Vec<Node>> {
        self.take(b'[')?;
        let mut list = Vec::new();
        loop {
            self.between()?;
            if self.take(b']').is_some() {
                list.shrink_to_fit();
                return Some(list);
            }
            list.push(self.value(depth + 1)?);
            self.between()?;
            if self.peek()? != b']' {
                self.take(b',')?;
            }
        }
    }

    /// An inline table in one line, of keys without dots.
    fn table(&mut self, depth: usize) -> Option<Vec<Entry>> {
        self.take(b'{')?;
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.blank();
            if entries.is_empty() && self.take(b'}').is_some() {
                return Some(entries);
            }
            let (name, span) = self.key()?;
            self.blank();
            self.take(b'=')?;
            self.blank();
            let node = self.value(depth + 1)?;
            if entries.len() >= KEYS || entries.iter().any(|e| e.name == name) {
                return None;
            }
            entries.push(Entry { name: name.to_string(), span, node });
            self.blank();
            if self.take(b'}').is_some() {
                entries.shrink_to_fit();
                return Some(entries);
            }
            self.take(b',')?;
        }
    }

    /// A decimal number: sign, digits, perhaps a fraction and an exponent.
    fn number(&mut self) -> Option<Value> {
        let start = self.at;
        let digits = |reader: &mut Self| Some(reader.pass(|b| b.is_ascii_digit())).filter(|d| !d.is_empty());
        let sign = |reader: &mut Self| {
            if matches!(reader.peek(), Some(b'+' | b'-')) {
                reader.at += 1;
            }
        };
        sign(self);
        if digits(self)?.strip_prefix('0').is_some_and(|rest| !rest.is_empty()) {
            return None;
        }
        let mut whole = true;
        if self.take(b'.').is_some() {
            digits(self)?;
            whole = false;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            sign(self);
            digits(self)?;
            whole = false;
        }
        // a date, or what else goes on
        if self.peek().is_some_and(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}' | b'#')) {
            return None;
        }
        let text = self.whole.get(start..self.at)?;
        match whole {
            true => text.parse().ok().map(Value::Integer),
            false => text.parse().ok().map(Value::Number),
        }
    }
}

/// What may stand in a comment or a text of one line.
fn printable(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// What made a table: its header, the header of a table in it, or a dotted key.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Header,
    Parent,
    Dots,
}

enum Item {
    Value(Node),
    Table(u32),
}

struct Building<'t> {
    made: Made,
    span: Span,
    entries: Vec<(Key<'t>, Item)>,
}

/// The tables of a document; the first is the document.
struct Tables<'t> {
    all: Vec<Building<'t>>,
    /// The entries by table and name.
    places: HashMap<(u32, &'t str), u32>,
}

impl<'t> Tables<'t> {
    fn new(id: u32) -> Tables<'t> {
        let root = Building { made: Made::Header, span: Span::new(id, 0, 0), entries: Vec::new() };
        Tables { all: vec![root], places: HashMap::new() }
    }

    /// Adds an entry; nothing if there is one of the same name.
    fn add(&mut self, table: u32, key: Key<'t>, item: Item) -> Option<()> {
        let entries = &mut self.all[table as usize].entries;
        if self.places.insert((table, key.0), entries.len() as u32).is_some() {
            return None;
        }
        entries.push((key, item));
        Some(())
    }

    fn add_table(&mut self, table: u32, key: Key<'t>, made: Made, span: Span) -> Option<u32> {
        let new = self.all.len() as u32;
        self.add(table, key, Item::Table(new))?;
        self.all.push(Building { made, span, entries: Vec::new() });
        Some(new)
    }

    /// The table of a key, made if there is none; nothing if it was made in a way that lets nothing be added.
    fn descend(&mut self, table: u32, key: Key<'t>, made: Made) -> Option<u32> {
        let Some(&place) = self.places.get(&(table, key.0)) else { return self.add_table(table, key, made, key.1) };
        let Item::Table(inner) = self.all[table as usize].entries[place as usize].1 else { return None };
        let dotted = |made: Made| made == Made::Dots;
        (dotted(self.all[inner as usize].made) == dotted(made)).then_some(inner)
    }

    /// A table with a header.
    fn open(&mut self, path: &[Key<'t>], span: Span) -> Option<u32> {
        let (key, parents) = path.split_last()?;
        let parent = parents.iter().try_fold(0, |table, key| self.descend(table, *key, Made::Parent))?;
        self.add_table(parent, *key, Made::Header, span)
    }

    fn put(&mut self, table: u32, path: &[Key<'t>], node: Node) -> Option<()> {
        let (key, parents) = path.split_last()?;
        let table = parents.iter().try_fold(table, |table, key| self.descend(table, *key, Made::Dots))?;
        self.add(table, *key, Item::Value(node))
    }

    fn into_node(mut self) -> Node {
        self.places = HashMap::new();
        self.node(0)
    }

    fn node(&mut self, table: u32) -> Node {
        let table = &mut self.all[table as usize];
        let (span, entries) = (table.span, std::mem::take(&mut table.entries));
        let entry = |((name, span), item)| {
            let node = match item {
                Item::Value(node) => node,
                Item::Table(inner) => self.node(inner),
            };
            Entry { name: String::from(name), span, node }
        };
        Node { span, value: Value::Table(Table { entries: entries.into_iter().map(entry).collect() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::toml;
    use super::*;

    fn both(text: &str) -> (Option<Node>, Option<Node>) {
        let source = Source::new("m.toml", text.into());
        (parse(&source, 3), toml::parse_all(&source, 3).ok())
    }

    const PLAIN: &[&str] = &[
        "",
        "a = 1",
        "model = { plane = \"xy\", gravity = [0, -9.81] } # comment\n\nbody.a = {}\nbody.b = { mass = 1.5e-3 }\n",
        "# only\r\n[body.crank]\r\nmass = +2\r\nat = [ 1, 2.0,\n # in between\n 3E5, ]\n[joint.'a b']\nbetween = ['x', \"y\"]\n",
        "[a]\nx.y = 1\nx.z = [[1], [-0.0]]\n[a.b]\nq = true\n[a.c.d]\nq = false\n[e]\n",
        "\"quoted.name\" = \"räder φ\"\n  indented   =  'C:\\data' \nlong = 123456789012345678\n",
    ];

    #[test]
    fn what_is_plain_is_read_as_the_crate_reads_it() {
        for text in PLAIN {
            let (plain, other) = both(text);
            assert!(plain.is_some(), "{text}");
            assert_eq!(plain, other, "{text}");
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()) {
            if file.extension().is_some_and(|e| e == "toml") {
                let (plain, other) = both(&std::fs::read_to_string(&file).unwrap());
                assert!(plain.is_some() && plain == other, "{}", file.display());
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_crate() {
        for text in [
            "a = 1\na = 2",
            "[a]\n[a]",
            "a = { x = 1, x = 2 }",
            "a.b = 1\n[a]",
            "[a.b]\n[a]",
            "a = {}\na.b = 1",
            "[a]\nb = 1\n[c]\n[a.b]\nx = 1",
            "[[a]]\nb = 1",
            "a = 0x10",
            "a = 1_000",
            "a = 007",
            "a = .5",
            "a = 1.",
            "a = 1979-05-27",
            "a = inf",
            "a = \"\\u0041\"",
            "a = \"\"\"x\"\"\"",
            "a = 'x",
            "a = [1 2]",
            "a = [1, 2",
            "a = {x = 1,}",
            "a = true false",
            "a b = 1",
            "a . b = 1",
            "a =\n1",
            "a = 1 b = 2",
            "\"\" = 1",
            "a = 99999999999999999999",
            "a = \"\u{7f}\"",
            "a = 1 \r",
            "a",
            "=",
        ] {
            assert_eq!(both(text).0, None, "{text}");
        }
    }

    /// What is spoiled is read alike, or not at all.
    #[test]
    fn spoiled_text_is_never_read_otherwise() {
        let mut seed = 7u64;
        let mut next = |n: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % n.max(1) as u64) as usize
        };
        let bits = [
            "[", "]", "{", "}", "=", ".", ",", "\"", "'", "\n", "\r", "#", " ", "0", "-", "e", "a", "b.c", "\\", "\t",
            "ä",
        ];
        let mut read = 0;
        for round in 0..30_000 {
            let mut text: Vec<char> = PLAIN[1 + round % (PLAIN.len() - 1)].chars().collect();
            for _ in 0..1 + next(3) {
                let at = next(text.len() + 1);
                match next(3) {
                    0 if at < text.len() => drop(text.remove(at)),
                    1 => {
                        let other = next(text.len());
                        let part = text[at.min(other)..at.max(other)].to_vec();
                        text.splice(at..at, part);
                    }
                    _ => drop(text.splice(at..at, bits[next(bits.len())].chars())),
                }
            }
            let text: String = text.into_iter().collect();
            let (plain, other) = both(&text);
            if plain.is_some() {
                assert_eq!(plain, other, "{text:?}");
                read += 1;
            }
        }
        assert!(read > 3000, "{read}");
    }
}
