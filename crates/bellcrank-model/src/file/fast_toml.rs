//! Large TOML files, read straight into a tree.
//!
//! The `toml` crate takes 9 kB for a body and its joints on the way to its own tree. Here the parser below it,
//! `toml_parser`, tells what it meets, one statement at a time, and nothing is kept but our tree. What is rare (text with
//! escapes, dates, arrays of tables) and what is wrong is left to the `toml` crate, so that there are no messages here.

use super::source::{Source, Span};
use super::tree::{Entry, Node, NodeValue, Table};
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::lexer::TokenKind;
use toml_parser::parser::{EventReceiver, parse_document};
use toml_parser::{ErrorSink, ParseError, Raw};

/// Values nested deeper than this are left to the crate.
const DEEPEST: usize = 16;
/// So are inline tables with more keys: each is compared with all before it.
const KEYS: usize = 64;

/// No statement has more words and signs than this.
const TOKENS: usize = 4_000_000;

/// The statement that is left to the crate.
#[derive(Debug)]
pub struct Stop {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// A bracket in it is never closed.
    pub open: bool,
}

/// Reads a document, up to a statement that is rare or wrong.
pub fn parse(source: &Source, id: u32) -> Result<Node, Stop> {
    let document = toml_parser::Source::new(&source.text);
    let mut reader = FastReader::new(&source.text, id);
    let mut statement: Vec<toml_parser::lexer::Token> = Vec::new();
    let mut open = 0i64;
    let stop = |statement: &[toml_parser::lexer::Token], open| {
        let start = statement.first().map_or(0, |t| t.span().start());
        Stop { start, end: statement.last().map_or(start, |t| t.span().end()), open }
    };
    for token in document.lex() {
        open += match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => 1,
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => -1,
            _ => 0,
        };
        statement.push(token);
        if open == 0 && matches!(token.kind(), TokenKind::Newline | TokenKind::Eof) {
            let mut error: Option<ParseError> = None;
            parse_document(&statement, &mut reader, &mut error);
            if error.is_some() || reader.rare {
                return Err(stop(&statement, false));
            }
            statement.clear();
        } else if statement.len() > TOKENS {
            break;
        }
    }
    if !statement.is_empty() {
        return Err(stop(&statement, open > 0));
    }
    Ok(reader.tables.into_node())
}

/// An integer as TOML writes it; beyond 64 bits it is a number.
pub(super) fn integer(text: &str, radix: u32) -> NodeValue {
    match i64::from_str_radix(text, radix) {
        Ok(n) => NodeValue::Integer(n),
        Err(_) => NodeValue::Number(text.parse().unwrap_or(f64::INFINITY)),
    }
}

/// A key as it stands, and its name.
type Key<'t> = (&'t str, Span);

/// An array or inline table that is not closed yet.
enum Open {
    Array(Vec<Node>),
    /// Its entries, and how many keys were read before it.
    Table(Vec<Entry>, usize),
}

struct FastReader<'t> {
    text: &'t str,
    id: u32,
    tables: TableList<'t>,
    /// The table of the last header.
    current: u32,
    /// Keys whose value is not read yet.
    keys: Vec<Key<'t>>,
    /// What is open, and where it began.
    open: Vec<(usize, Open)>,
    /// The first byte of the header that is being read.
    header: usize,
    /// Something was met that is left to the crate.
    rare: bool,
}

impl<'t> FastReader<'t> {
    fn new(text: &'t str, id: u32) -> FastReader<'t> {
        let tables = TableList::new(id);
        FastReader { text, id, tables, current: 0, keys: Vec::new(), open: Vec::new(), header: 0, rare: false }
    }

    fn raw(&self, span: toml_parser::Span, encoding: Option<Encoding>) -> Raw<'t> {
        Raw::new_unchecked(self.text.get(span.start()..span.end()).unwrap_or(""), encoding, span)
    }

    fn is_multiline(encoding: Option<Encoding>) -> bool {
        matches!(encoding, Some(Encoding::MlBasicString | Encoding::MlLiteralString))
    }

    fn begin(&mut self, span: toml_parser::Span, open: Open) -> bool {
        self.open.push((span.start(), open));
        self.rare |= self.open.len() > DEEPEST;
        !self.rare
    }

    fn end(&mut self, span: toml_parser::Span) {
        let Some((start, open)) = self.open.pop() else { return self.rare = true };
        let value = match open {
            Open::Array(mut list) => {
                list.shrink_to_fit();
                NodeValue::Array(list)
            }
            Open::Table(mut entries, _) => {
                entries.shrink_to_fit();
                NodeValue::Table(Table { entries })
            }
        };
        self.put(Node { span: Span::new(self.id, start, span.end()), value });
    }

    /// A value, for the array that is open or for the key before it.
    fn put(&mut self, node: Node) {
        let done = match self.open.last_mut() {
            Some((_, Open::Array(list))) => {
                list.push(node);
                Some(())
            }
            Some((_, Open::Table(entries, before))) => match self.keys[*before..] {
                [(name, span)] if entries.len() < KEYS && entries.iter().all(|e| e.name != name) => {
                    entries.push(Entry { name: name.to_string(), span, node });
                    self.keys.truncate(*before);
                    Some(())
                }
                _ => None,
            },
            None => {
                let done = self.tables.put(self.current, &self.keys, node);
                self.keys.clear();
                done
            }
        };
        self.rare |= done.is_none();
    }
}

impl EventReceiver for FastReader<'_> {
    fn std_table_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.header = span.start();
    }

    fn std_table_close(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) {
        let span = Span::new(self.id, self.header, span.end());
        match self.tables.open(&self.keys, span) {
            Some(table) => self.current = table,
            None => self.rare = true,
        }
        self.keys.clear();
    }

    fn array_table_open(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.rare = true;
    }

    fn inline_table_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
        self.begin(span, Open::Table(Vec::new(), self.keys.len()))
    }

    fn inline_table_close(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.end(span);
    }

    fn array_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
        self.begin(span, Open::Array(Vec::new()))
    }

    fn array_close(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.end(span);
    }

    fn simple_key(&mut self, span: toml_parser::Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        let mut name = "";
        self.raw(span, encoding).decode_key(&mut name, error);
        self.rare |= self.keys.len() >= DEEPEST;
        self.keys.push((name, Span::new(self.id, span.start(), span.end())));
    }

    fn scalar(&mut self, span: toml_parser::Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        let mut text = "";
        let value = match self.raw(span, encoding).decode_scalar(&mut text, error) {
            ScalarKind::String if !Self::is_multiline(encoding) => {
                NodeValue::String { text: text.to_string(), start: Some(span.start() as u32 + 1) }
            }
            ScalarKind::Boolean(flag) => NodeValue::Bool(flag),
            ScalarKind::Integer(radix) => integer(text, radix.value()),
            ScalarKind::Float => NodeValue::Number(text.parse().unwrap_or(f64::NAN)),
            ScalarKind::String | ScalarKind::DateTime => return self.rare = true,
        };
        self.put(Node { span: Span::new(self.id, span.start(), span.end()), value });
    }

    fn comment(&mut self, span: toml_parser::Span, error: &mut dyn ErrorSink) {
        self.raw(span, None).decode_comment(error);
    }

    fn newline(&mut self, span: toml_parser::Span, error: &mut dyn ErrorSink) {
        self.raw(span, None).decode_newline(error);
    }
}

/// What made a table: its header, the header of a table in it, or a dotted key.
#[derive(Clone, Copy, PartialEq)]
enum TableOrigin {
    Header,
    Parent,
    Dots,
}

enum TomlItem {
    Value(Node),
    Table(u32),
}

struct Building<'t> {
    made: TableOrigin,
    span: Span,
    entries: Vec<(Key<'t>, TomlItem)>,
}

/// The tables of a document; the first is the document.
struct TableList<'t> {
    all: Vec<Building<'t>>,
    /// The entries by table and name.
    places: HashMap<(u32, &'t str), u32>,
}

impl<'t> TableList<'t> {
    fn new(id: u32) -> TableList<'t> {
        let root = Building { made: TableOrigin::Header, span: Span::new(id, 0, 0), entries: Vec::new() };
        TableList { all: vec![root], places: HashMap::new() }
    }

    /// Adds an entry; nothing if there is one of the same name.
    fn add(&mut self, table: u32, key: Key<'t>, item: TomlItem) -> Option<()> {
        let entries = &mut self.all[table as usize].entries;
        // the first one keeps its place: what follows may look for it
        let Slot::Vacant(place) = self.places.entry((table, key.0)) else { return None };
        place.insert(entries.len() as u32);
        entries.push((key, item));
        Some(())
    }

    fn add_table(&mut self, table: u32, key: Key<'t>, made: TableOrigin, span: Span) -> Option<u32> {
        let new = self.all.len() as u32;
        self.add(table, key, TomlItem::Table(new))?;
        self.all.push(Building { made, span, entries: Vec::new() });
        Some(new)
    }

    /// The table of a key, made if there is none; nothing if it was made in a way that lets nothing be added.
    fn descend(&mut self, table: u32, key: Key<'t>, made: TableOrigin) -> Option<u32> {
        let Some(&place) = self.places.get(&(table, key.0)) else { return self.add_table(table, key, made, key.1) };
        let TomlItem::Table(inner) = self.all[table as usize].entries[place as usize].1 else { return None };
        let dotted = |made: TableOrigin| made == TableOrigin::Dots;
        (dotted(self.all[inner as usize].made) == dotted(made)).then_some(inner)
    }

    /// A table with a header.
    fn open(&mut self, path: &[Key<'t>], span: Span) -> Option<u32> {
        let (key, parents) = path.split_last()?;
        let parent = parents.iter().try_fold(0, |table, key| self.descend(table, *key, TableOrigin::Parent))?;
        self.add_table(parent, *key, TableOrigin::Header, span)
    }

    fn put(&mut self, table: u32, path: &[Key<'t>], node: Node) -> Option<()> {
        let (key, parents) = path.split_last()?;
        let table = parents.iter().try_fold(table, |table, key| self.descend(table, *key, TableOrigin::Dots))?;
        self.add(table, *key, TomlItem::Value(node))
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
                TomlItem::Value(node) => node,
                TomlItem::Table(inner) => self.node(inner),
            };
            Entry { name: String::from(name), span, node }
        };
        Node { span, value: NodeValue::Table(Table { entries: entries.into_iter().map(entry).collect() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::toml;
    use super::*;

    fn both(text: &str) -> (Option<Node>, Option<Node>) {
        let source = Source::new("m.toml", text.into());
        (parse(&source, 3).ok(), toml::parse_all(&source, 3).ok())
    }

    #[test]
    fn what_follows_a_name_that_is_given_twice_is_read_on() {
        for text in ["a = 1\na = 2\na.b = 3\n", "a = 1\na = 2\n[a.b]\nc = 3\n", "[a]\n[a]\nb = 1\n[a.c]\n"] {
            assert_eq!(both(text), (None, None), "{text}");
        }
    }

    const PLAIN: &[&str] = &[
        "",
        "a = 1",
        "model = { plane = \"xy\", gravity = [0, -9.81] } # comment\n\nbody.a = {}\nbody.b = { mass = 1.5e-3 }\n",
        "# only\r\n[body.crank]\r\nmass = +2\r\nat = [ 1, 2.0,\n # in between\n 3E5, ]\n[joint.'a b']\nbetween = ['x', \"y\"]\n",
        "[a]\nx.y = 1\nx.z = [[1], [-0.0]]\n[a.b]\nq = true\n[a.c.d]\nq = false\n[e]\n",
        "\"quoted.name\" = \"räder φ\"\n  indented   =  'C:\\data' \nlong = 123456789012345678\n",
        "a = 0x10\nb = inf\nc = { x = 1, }\nd . e = 1\n\"\" = 1\nf = 99999999999999999999\n",
    ];

    #[test]
    fn both_readers_give_the_same_tree() {
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
    fn what_is_rare_or_wrong_is_left_to_the_crate() {
        let rare = ["[[a]]\nb = 1", "a = 1_000", "a = \"\\u0041\"", "a = \"\"\"x\"\"\"", "a = { b.c = 1 }"];
        for text in rare {
            let (fast, other) = both(text);
            assert!(fast.is_none() && other.is_some(), "{text}");
        }
        for text in [
            "a = 1\na = 2",
            "[a]\n[a]",
            "a = { x = 1, x = 2 }",
            "a.b = 1\n[a]",
            "a = {}\na.b = 1",
            "[a]\nb = 1\n[c]\n[a.b]\nx = 1",
            "a = 007",
            "a = .5",
            "a = 1.",
            "a = 1979-05-27",
            "a = 'x",
            "a = [1 2]",
            "a = [1, 2",
            "a = true false",
            "a b = 1",
            "a =\n1",
            "a = 1 b = 2",
            "a = \"\u{7f}\"",
            "a = 1 # \u{7f}",
            "a = 1 \r",
            "a",
            "=",
        ] {
            assert_eq!(both(text), (None, None), "{text}");
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
