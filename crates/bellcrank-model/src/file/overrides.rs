//! Overrides: `--set parameter.k=200` changes a value of the file before it is read.
//!
//! The value is taken as TOML (`200`, `[0, "L1"]`, `true`, `{ rate = 1 }`), else as text, so that
//! expressions and words need no quotes: `--set body.crank.mass=2*m`. Parts of a path that are numbers
//! count in arrays from 0: `body.crank.rod.to.1`.

use super::diagnostic::{Diagnostic, Diagnostics};
use super::source::{Source, Sources, Span};
use super::suggest::{count, list, nearest, quoted};
use super::tree::{Entry, Node, NodeValue, Table};
use std::ops::Range;

/// What stands at the top of a model file, so that overrides know what they may add.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileLayout<'a> {
    /// Sections whose keys are fixed or checked later (`model`, `solve`, `start`): an override may add
    /// the section and anything in it.
    pub settings: &'a [&'a str],
    /// Sections whose entries are named by the user (`parameter`, `body`, `joint`): an override changes
    /// them and may add keys to them, but a new name is taken for a slip.
    pub named: &'a [&'a str],
}

/// What an override looks like on the command line.
const OPTION: &str = "--set ";
/// Paths have at most this many parts.
const LONGEST: usize = 16;

/// Puts overrides `path=value` on the tree; each becomes a source of its own.
pub fn apply(
    root: &mut Node,
    overrides: &[String],
    layout: &FileLayout,
    sources: &mut Sources,
) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    for text in overrides {
        let id = sources.0.len() as u32;
        if u32::try_from(text.len()).is_err() {
            problems.push(Diagnostic::error("an override is larger than 4 GB"));
            continue;
        }
        sources.0.push(Source { name: "command line".into(), text: format!("{OPTION}{text}") });
        let source = &sources.0[id as usize];
        problems.take(one(root, text, layout, source, id));
    }
    problems.or(())
}

fn one(root: &mut Node, text: &str, layout: &FileLayout, source: &Source, id: u32) -> Result<(), Diagnostics> {
    let offset = OPTION.len();
    let place = |at: Range<usize>| Span::new(id, offset + at.start, offset + at.end);
    let example = "write it like --set parameter.k=200";
    let Some(equals) = equals_sign(text) else {
        return Err(Diagnostic::error("an override needs a path and a value")
            .at(place(0..text.len()))
            .label("expected `=`")
            .help(example)
            .into());
    };
    let wrong_path = || {
        Diagnostic::error("an override needs a path to a value").at(place(0..equals)).label("not a path").help(example)
    };
    let path = split_path(&text[..equals]).filter(|p| p.len() <= LONGEST).ok_or_else(wrong_path)?;
    let space = text[equals + 1..].len() - text[equals + 1..].trim_start().len();
    let value_at = equals + 1 + space;
    if value_at == text.len() {
        return Err(Diagnostic::error(format!("no value for {}", quoted(text[..equals].trim())))
            .at(place(equals..text.len()))
            .label("nothing follows the `=`")
            .help(example)
            .into());
    }
    let value = read_value(source, id, offset + value_at)?;
    let path: Vec<(String, Span)> = path.into_iter().map(|(name, at)| (name, place(at))).collect();
    put(root, &path, value, layout).map_err(Diagnostics::from)
}

/// The value as TOML, else as text. What begins like a TOML array, table or string must be one.
fn read_value(source: &Source, id: u32, at: usize) -> Result<Node, Diagnostics> {
    let text = source.text[at..].trim_end();
    let problems = match super::toml::parse_value(source, id, at) {
        Ok(node) => return Ok(node),
        Err(problems) => problems,
    };
    if text.starts_with(['[', '{', '"', '\'']) {
        let help = "quote it for the shell as well: --set 'joint.pin.at=[\"L1\", 0]'";
        return Err(Diagnostics(problems.0.into_iter().map(|p| p.help(help)).collect()));
    }
    let span = Span::new(id, at, at + text.len());
    Ok(Node { span, value: NodeValue::String { text: text.into(), start: Some(span.start) } })
}

/// The `=` that ends the path, outside of quotes.
fn equals_sign(text: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (c, quote) {
            ('=', None) => return Some(i),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            _ => {}
        }
    }
    None
}

/// The parts of a path `a.b."c d"` with their places, or `None` if a part is empty or a quote is left open.
pub(super) fn split_path(text: &str) -> Option<Vec<(String, Range<usize>)>> {
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        let start = at;
        let name = match rest.chars().next()? {
            quote @ ('"' | '\'') => {
                let length = rest[1..].find(quote)?;
                at += length + 2;
                &rest[1..1 + length]
            }
            _ => {
                let length = rest.find('.').unwrap_or(rest.len());
                let name = rest[..length].trim_end();
                at += name.len();
                name
            }
        };
        if name.is_empty() {
            return None;
        }
        parts.push((name.to_string(), start..at));
        let rest = text[at..].trim_start();
        if rest.is_empty() {
            return Some(parts);
        }
        at = text.len() - rest.strip_prefix('.')?.len();
    }
}

/// Puts the value of an entry at a path such as `parameter.k`, which stands where the entry does.
pub(crate) fn put_at(root: &mut Node, path: &str, entry: &Entry, layout: &FileLayout) -> Result<(), Diagnostic> {
    let Some(parts) = split_path(path).filter(|p| p.len() <= LONGEST) else {
        return Err(Diagnostic::error(format!("{} is no path to a value", quoted(path))).at(entry.span));
    };
    let parts: Vec<(String, Span)> = parts.into_iter().map(|(name, _)| (name, entry.span)).collect();
    put(root, &parts, entry.node.clone(), layout)
}

/// The value that a path leads to, parts that are numbers counting in arrays from 0.
pub fn find<'n>(root: &'n Node, path: &str) -> Option<&'n Node> {
    split_path(path)?.into_iter().try_fold(root, |node, (part, _)| match node.as_array() {
        Some(list) => list.get(part.parse::<usize>().ok()?),
        None => node.get(&part),
    })
}

fn put(root: &mut Node, path: &[(String, Span)], value: Node, layout: &FileLayout) -> Result<(), Diagnostic> {
    let section = path[0].0.as_str();
    let settings = layout.settings.contains(&section);
    let named = layout.named.contains(&section);
    let known = settings || named;
    let mut node = root;
    for (depth, (name, span)) in path.iter().enumerate() {
        let last = depth + 1 == path.len();
        let walked = || path[..depth].iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(".");
        let may_add = match depth {
            0 => known,
            1 if named => false,
            // `set` of a part need not be there
            _ => settings || last || section == "include",
        };
        let (kind, at) = (node.article(), node.span);
        node = match &mut node.value {
            NodeValue::Table(table) => {
                let found = table.entries.iter().position(|e| e.name == *name);
                let i = match found {
                    Some(i) => i,
                    None if may_add => {
                        let node = Node { span: *span, value: NodeValue::Table(Table::default()) };
                        table.entries.push(Entry { name: name.clone(), span: *span, node });
                        table.entries.len() - 1
                    }
                    None => return Err(missing(table, name, *span, &walked(), layout)),
                };
                &mut table.entries[i].node
            }
            NodeValue::Array(entries) => {
                let n = entries.len();
                match name.parse::<usize>().ok().and_then(|i| entries.get_mut(i)) {
                    Some(node) => node,
                    None => {
                        let label = format!(
                            "{} has {}, counted from 0",
                            quoted(&walked()),
                            count(n, "entry").replace("entrys", "entries")
                        );
                        return Err(Diagnostic::error(format!(
                            "there is no {} to set",
                            quoted(&format!("{}.{name}", walked()))
                        ))
                        .at(*span)
                        .label(label));
                    }
                }
            }
            _ => {
                let label = format!("{} is {}, not a table", quoted(&walked()), kind);
                let problem = Diagnostic::error(format!("{} has no keys", quoted(&walked()))).at(*span).label(label);
                return Err(problem.also(at, "its value"));
            }
        };
    }
    *node = value;
    Ok(())
}

/// The message for a path that leads nowhere.
fn missing(table: &Table, name: &str, span: Span, walked: &str, layout: &FileLayout) -> Diagnostic {
    let top = walked.is_empty();
    let what = if top {
        format!("there is no section {}", quoted(name))
    } else {
        format!("there is no {}", quoted(&format!("{walked}.{name}")))
    };
    let known = || {
        let sections = layout.settings.iter().chain(layout.named).copied().filter(|_| top);
        let more = sections.filter(|s| table.get(s).is_none());
        table.names().chain(more)
    };
    let label = match nearest(name, known()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => "not in the model".into(),
    };
    let help = match known().next() {
        Some(_) if top => format!("sections are {}", list(known())),
        Some(_) => format!("{} has {}", quoted(walked), list(known())),
        None => format!("{} is empty", quoted(walked)),
    };
    Diagnostic::error(format!("{what} to set")).at(span).label(label).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[parameter]\nk = 1\n[body.crank]\nmass = 1\nat = [0, 1]\n[body.\"a b\"]\nmass = 1\n";

    fn with(text: &str) -> Node {
        let mut sources = Sources::new(Source::new("m.toml", FILE.into()));
        let mut root = crate::file::toml::parse(&sources.0[0], 0).unwrap();
        let layout = FileLayout { settings: &["solve"], named: &["parameter", "body"] };
        apply(&mut root, &[text.to_string()], &layout, &mut sources).unwrap();
        root
    }

    #[test]
    fn values_are_toml_or_else_text() {
        let get = |text: &str, path: &[&str]| {
            let root = with(text);
            path.iter().try_fold(&root, |n, p| n.get(p)).map(|n| n.value.clone()).unwrap()
        };
        let k = |text: &str| get(text, &["parameter", "k"]);
        assert_eq!(k("parameter.k=200"), NodeValue::Integer(200));
        assert_eq!(k(" parameter . k = 2e2 "), NodeValue::Number(200.0));
        assert_eq!(k("parameter.k=true"), NodeValue::Bool(true));
        assert_eq!(k("parameter.k=2*m"), NodeValue::String { text: "2*m".into(), start: Some(18) });
        assert_eq!(k("parameter.k=\"2*m\""), NodeValue::String { text: "2*m".into(), start: Some(19) });
        assert_eq!(k("parameter.k=a == b"), NodeValue::String { text: "a == b".into(), start: Some(18) });
        assert_eq!(get("body.'a b'.mass=3", &["body", "a b", "mass"]), NodeValue::Integer(3));
        assert_eq!(get("solve.rtol=1e-8", &["solve", "rtol"]), NodeValue::Number(1e-8));
        let NodeValue::Array(at) = get("body.crank.at.1=\"L1\"", &["body", "crank", "at"]) else { panic!() };
        assert_eq!((at.len(), at[1].as_str(), at[1].span.source), (2, Some("L1"), 1));
    }
}
