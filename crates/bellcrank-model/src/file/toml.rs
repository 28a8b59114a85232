//! TOML into a tree; the `toml` crate parses, this gives its errors the user's words.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::fast_toml::Stop;
use super::overrides::split_path;
use super::source::{Source, Span};
use super::suggest::quoted;
use super::tree::{Entry, Node, NodeValue, Table, text_node};
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue, Error};
use std::ops::Range;

/// Larger files must be simple TOML: the crate takes up to 110 times their size in memory.
const LARGEST_RARE: usize = 8 << 20;

/// Reads a TOML document. `id` is the number of the source in its [`Sources`](super::Sources).
pub fn parse(source: &Source, id: u32) -> Result<Node, Diagnostics> {
    match super::fast_toml::parse(source, id) {
        Ok(root) => Ok(root),
        Err(_) if source.text.len() <= LARGEST_RARE => parse_all(source, id),
        Err(stop) => Err(stopped(source, id, &stop)),
    }
}

/// What stopped the reader of a large file: told by the crate where it can read up to there.
fn stopped(source: &Source, id: u32, stop: &Stop) -> Diagnostics {
    let at = Span::new(id, stop.start, source.line(stop.start).0 + source.line(stop.start).1.len());
    if stop.open {
        return Diagnostic::error("a bracket is not closed").at(at).label("opened here").into();
    }
    if let Some(text) = source.text.get(..stop.end).filter(|t| t.len() <= LARGEST_RARE) {
        let before = Source { name: source.name.clone(), text: text.to_string() };
        if let Err(problems) = parse_all(&before, id) {
            return problems;
        }
    }
    let limit = LARGEST_RARE >> 20;
    let help = format!("files larger than {limit} MB may have no escapes in text, no arrays of tables, no name twice");
    Diagnostic::error("this statement cannot be read").at(at).help(help).into()
}

/// Reads any TOML document.
pub(super) fn parse_all(source: &Source, id: u32) -> Result<Node, Diagnostics> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let convert = Convert { source, id, offset: 0 };
    let mut problems = Diagnostics::new();
    let root = convert.table(table.into_inner(), Span::new(id, 0, 0), &mut problems);
    if errors.is_empty() {
        return problems.or(root);
    }
    Err(explain(source, id, &root, &errors))
}

/// Reads one TOML value that stands from `offset` to the end of its source.
pub(super) fn parse_value(source: &Source, id: u32, offset: usize) -> Result<Node, Diagnostics> {
    let text = source.text.get(offset..).unwrap_or("").trim_end();
    let convert = Convert { source, id, offset };
    let value = DeValue::parse(text).map_err(|e| Diagnostics::from(syntax(source, id, offset, &e)))?;
    let mut problems = Diagnostics::new();
    let node = convert.node(value, &mut problems);
    problems.or(node)
}

struct Convert<'s> {
    source: &'s Source,
    id: u32,
    offset: usize,
}

impl Convert<'_> {
    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.id, self.offset + range.start, self.offset + range.end)
    }

    fn table(&self, table: DeTable, span: Span, problems: &mut Diagnostics) -> Node {
        let entry = |(key, value): (Spanned<std::borrow::Cow<str>>, _)| {
            let span = self.span(key.span());
            Entry { name: key.into_inner().into_owned(), span, node: self.node(value, problems) }
        };
        let mut entries: Vec<Entry> = table.into_iter().map(entry).collect();
        // the parser sorts by name; the file's own order is the order of the keys in the text
        entries.sort_by_key(|e| e.span.start);
        Node { span, value: NodeValue::Table(Table { entries }) }
    }

    fn node(&self, value: Spanned<DeValue>, problems: &mut Diagnostics) -> Node {
        let span = self.span(value.span());
        let value = match value.into_inner() {
            DeValue::String(text) => return text_node(text.into_owned(), span, self.source),
            DeValue::Table(table) => return self.table(table, span, problems),
            DeValue::Array(list) => NodeValue::Array(list.into_iter().map(|v| self.node(v, problems)).collect()),
            DeValue::Boolean(flag) => NodeValue::Bool(flag),
            DeValue::Integer(n) => super::fast_toml::integer(n.as_str(), n.radix()),
            DeValue::Float(x) => NodeValue::Number(x.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Datetime(date) => {
                let problem = Diagnostic::error("a model file has no use for dates").at(span).label("a date");
                problems.push(problem.help(format!("if it is meant as text, put it in quotes: \"{date}\"")));
                NodeValue::Bool(false)
            }
        };
        Node { span, value }
    }
}

/// At most this many names that are defined twice are looked up; more would not be read.
const MOST_TWICE: usize = 20;

/// Every name that is defined twice, and the first of the other errors: those after it are often its echo.
fn explain(source: &Source, id: u32, root: &Node, errors: &[Error]) -> Diagnostics {
    let mut twice: Vec<Range<usize>> =
        errors.iter().filter(|e| is_twice(e)).map(|e| e.span().unwrap_or(0..0)).take(MOST_TWICE).collect();
    // the keys of a table that is there twice are there twice as well, which need not be told
    let tables: Vec<usize> = twice.iter().map(|at| at.start).filter(|at| header(source, *at).is_some()).collect();
    twice.retain(|at| header(source, at.start).is_some() || !tables.contains(&section(source, at.start).1));
    let mut problems = Diagnostics::new();
    for at in twice {
        problems.push(duplicate(source, id, root, at));
    }
    let start = |e: &&Error| e.span().map_or(0, |s| s.start);
    if let Some(error) = errors.iter().filter(|e| !is_twice(e)).min_by_key(start) {
        problems.push(syntax(source, id, 0, error));
    }
    problems
}

fn is_twice(error: &Error) -> bool {
    error.message() == "duplicate key"
}

/// The path in the table header `[a.b]` of the line that holds a byte, if it is one, with the place of each part.
fn header(source: &Source, byte: usize) -> Option<Vec<(String, Range<usize>)>> {
    let (start, line) = source.line(byte);
    let inner = line.trim_start().strip_prefix('[')?.trim_start_matches('[');
    let offset = start + line.len() - inner.len();
    let path = split_path(inner.split(']').next()?)?;
    Some(path.into_iter().map(|(name, at)| (name, offset + at.start..offset + at.end)).collect())
}

/// Of the last table header before a byte: its first byte, and that of the last name in it.
fn section(source: &Source, byte: usize) -> (usize, usize) {
    let before = &source.text[..source.boundary(byte)];
    let start = if before.starts_with('[') { Some(0) } else { None };
    let start = before.rfind("\n[").map(|n| n + 1).or(start).unwrap_or(0);
    (start, header(source, start).and_then(|path| path.last().map(|p| p.1.start)).unwrap_or(start))
}

/// A key or table header that was there before.
fn duplicate(source: &Source, id: u32, root: &Node, at: Range<usize>) -> Diagnostic {
    let span = Span::new(id, at.start, at.end);
    let names = |path: Vec<(String, Range<usize>)>| path.into_iter().map(|p| p.0).collect::<Vec<_>>().join(".");
    let (name, first) = match header(source, at.start) {
        Some(path) => {
            let last = path.len() - 1;
            let name = names(path);
            let mut starts = source.text.match_indices('\n').map(|(i, _)| i + 1).take_while(|s| *s <= at.start);
            let same = |start: usize| {
                let path = header(source, start)?;
                let at = path.get(last)?.1.clone();
                (names(path) == name).then_some(Span::new(id, at.start, at.end))
            };
            let first = same(0).or_else(|| starts.find_map(same));
            (name, first)
        }
        None => {
            let name = source.text.get(at.clone()).unwrap_or("");
            (name.to_string(), last_key_between(root, name, section(source, at.start).0 as u32..span.start))
        }
    };
    let problem = Diagnostic::error(format!("{} is defined twice", quoted(&name))).at(span).label("defined again here");
    let problem = match first.filter(|f| f.start < span.start) {
        Some(first) => problem.also(first, "first defined here"),
        None => problem,
    };
    problem.help("remove one of them, or give it another name")
}

/// The place of the last key of a name within a range of the text.
fn last_key_between(node: &Node, name: &str, range: Range<u32>) -> Option<Span> {
    let table = match &node.value {
        NodeValue::Table(table) => table,
        NodeValue::Array(list) => return list.iter().filter_map(|n| last_key_between(n, name, range.clone())).max(),
        _ => return None,
    };
    let own =
        table.entries.iter().filter(|e| e.name == name.trim_matches(['"', '\'']) && range.contains(&e.span.start));
    let inner = table.entries.iter().filter_map(|e| last_key_between(&e.node, name, range.clone()));
    own.map(|e| e.span).chain(inner).max()
}

/// An error of the parser, reworded where modellers meet it often; its places count from `offset`.
fn syntax(source: &Source, id: u32, offset: usize, error: &Error) -> Diagnostic {
    let range = error.span().unwrap_or(0..0);
    let range = offset + range.start..offset + range.end;
    let span = Span::new(id, range.start, range.end);
    let raw = source.text.get(range.clone()).unwrap_or("").trim();
    let plain = |what: &str| Diagnostic::error(what).at(span);
    match error.message() {
        m if m.starts_with("string values must be quoted") => {
            if raw.is_empty() {
                return plain("a value is missing").label("nothing follows the `=`");
            }
            let words = raw.split_whitespace().collect::<Vec<_>>();
            let operator = |w: &str| {
                w.ends_with(|c: char| "+-*/^(,<>=".contains(c)) || w.starts_with(|c: char| "+-*/^),<>=".contains(c))
            };
            if words.windows(2).all(|w| operator(w[0]) || operator(w[1])) {
                return plain("text and expressions must be in quotes").label(
                    if raw.len() < 60 && !raw.contains('"') {
                        format!("write \"{raw}\"")
                    } else {
                        "not in quotes".into()
                    },
                );
            }
            plain("this is neither a number nor text in quotes").label("expected one value").help(
                "put text and expressions in quotes; separate the entries of an array by commas, and keys by new lines",
            )
        }
        m if m.starts_with("invalid mantissa") || m.starts_with("invalid fraction") => {
            plain("a number needs digits on both sides of its point").label("write it like 0.5 or 5.0")
        }
        m if m.starts_with("unexpected leading zero") => {
            plain("a number cannot start with 0").label("remove this zero")
        }
        m if m.starts_with("key with no value") => {
            plain("a key without a value").label("expected `=` and a value").help("put a key with spaces in quotes")
        }
        m if m.starts_with("unclosed array") => plain("an array is not closed").label("expected `]`"),
        m if m.starts_with("unclosed table") => plain("a table header is not closed").label("expected `]`"),
        m if m.starts_with("unclosed inline table") => plain("an inline table is not closed").label("expected `}`"),
        m if m.contains("visible character") => plain("a control character in text").label("not allowed here"),
        m if m.starts_with("invalid basic string") || m.starts_with("invalid literal string") => {
            plain("text is not closed in this line")
                .label(m.rsplit(", ").next().unwrap_or("expected a quote").to_string())
        }
        m if m.starts_with("missing comma") => {
            plain("a comma is missing in an array, or its `]`").label("expected `,` or `]`")
        }
        m if m.starts_with("missing escaped value") => {
            plain("unknown escape in text").help("text in single quotes keeps its backslashes: 'C:\\data'")
        }
        m if m.contains("recurs") => plain("values are nested too deeply"),
        m => match m.split_once(", expected ") {
            Some((what, expected)) => plain(&format!("invalid TOML: {what}")).label(format!("expected {expected}")),
            None => plain(&format!("invalid TOML: {m}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Node {
        parse(&Source::new("m.toml", text.into()), 0).unwrap()
    }

    #[test]
    fn values_keep_their_order_and_place() {
        let text = "z = 1\n[body.crank]\nmass = 2.5\n[joint.a]\nok = true\n[body.arm]\nat = ['k', 0x10]\n";
        let root = read(text);
        let names: Vec<&str> = root.as_table().unwrap().names().collect();
        assert_eq!(names, ["z", "body", "joint"]);
        let bodies: Vec<&str> = root.get("body").unwrap().as_table().unwrap().names().collect();
        assert_eq!(bodies, ["crank", "arm"]);
        let slice = |span: Span| &text[span.start as usize..span.end as usize];
        let crank = root.get("body").and_then(|b| b.get("crank")).unwrap();
        assert_eq!(slice(crank.span), "[body.crank]");
        assert_eq!(slice(crank.get("mass").unwrap().span), "2.5");
        assert_eq!(crank.get("mass").unwrap().value, NodeValue::Number(2.5));
        let at = root.get("body").and_then(|b| b.get("arm")).and_then(|a| a.get("at")).unwrap();
        assert_eq!(slice(at.span), "['k', 0x10]");
        assert_eq!(at.as_array().unwrap()[1].value, NodeValue::Integer(16));
        assert_eq!(root.get("joint").and_then(|j| j.get("a")?.get("ok")).unwrap().value, NodeValue::Bool(true));
    }

    #[test]
    fn large_files_that_are_wrong_are_told_without_reading_all_of_them() {
        let wrong = |text: String| parse(&Source::new("m.toml", text), 0).unwrap_err().0.remove(0);
        let many: String = (0..300_000).map(|k| format!("[body.b{k}]\nmass = {k}\nat = [1, 2]\n")).collect();
        assert!(many.len() > LARGEST_RARE);
        // early: in the words of the crate's reader
        let told = wrong(format!("[model]\nname = \n{many}"));
        assert!(told.message.contains("a value is missing"), "{}", told.message);
        let told = wrong(format!("[model]\n[model]\n{many}"));
        assert!(told.message.contains("`model` is defined twice"), "{}", told.message);
        // late: where, and what such files may not have
        for (last, wanted) in
            [("mass = ", "cannot be read"), ("a = [1, 2", "not closed"), ("[body.b0]", "cannot be read")]
        {
            let text = format!("{many}{last}\n");
            let told = wrong(text.clone());
            assert!(told.message.contains(wanted), "{}", told.message);
            assert_eq!(&text[told.span.unwrap().start as usize..told.span.unwrap().end as usize], last);
        }
    }

    #[test]
    fn parts_of_text_are_found_where_no_escape_hides_them() {
        let text = "a = \"xyz\"\nb = 'xyz'\nc = \"\"\"\nxyz\"\"\"\nd = \"x\\u0079z\"\ne = \"\"\nf = '''\r\nxyz'''";
        let root = read(text);
        let part = |name: &str, at: Range<usize>| {
            let span = root.get(name).unwrap().part(at);
            &text[span.start as usize..span.end as usize]
        };
        for name in ["a", "b", "c", "f"] {
            assert_eq!(part(name, 1..2), "y", "{name}");
        }
        assert_eq!(root.get("d").unwrap().as_str(), Some("xyz"));
        assert_eq!(part("d", 1..2), "\"x\\u0079z\"");
        assert_eq!(part("e", 0..0), "");
    }
}
