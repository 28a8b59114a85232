//! `[include.NAME]`: other model files as parts of a machine.
//!
//! ```toml
//! [include.left]
//! file = "parts/corner.toml"
//! at = [0, 0.7, 0]
//! mirror = "xz"
//! set = { stiffness = 22e3 }
//! ports = { ground = "chassis" }
//! ```
//!
//! Parts are put into the document before it is read: their entries come into its sections under the names `left.…` ([`names`]),
//! mirrored in their own coordinates where that is asked for ([`mirror`]). Entries keep their places in the file they came from, which is
//! a source of its own for every part: by that the reader knows the part of an entry, and where the part stands ([`super::part`]).

mod mirror;
mod names;

use crate::file::expression::is_name;
use crate::file::suggest::{count, list, nearest, quoted};
use crate::file::*;
use crate::read::fields::{INCLUDE, LAYOUT};
use bounded::LARGEST;
use names::Names;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Parts in parts in parts: deeper ones are refused.
const DEEPEST: usize = 16;
/// More parts are refused.
const MOST_PARTS: usize = 10_000;

/// A file that was included.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// `left`, with the names of the parts it is in.
    pub name: String,
    /// The part that includes it.
    pub parent: Option<usize>,
    /// The source that its entries point into.
    pub source: u32,
    /// The axes across which it is mirrored, its own first.
    pub mirrors: Vec<usize>,
    /// The body that its ground is; otherwise that of the part that includes it.
    pub ground: Option<String>,
    /// The file, from the model's folder.
    file: PathBuf,
    /// The same without links.
    whole: PathBuf,
}

/// Puts all parts into a document.
pub(super) fn expand(document: &mut Document) -> Result<Vec<Part>, Diagnostics> {
    if document.root.get("include").is_none() {
        return Ok(Vec::new());
    }
    let model = PathBuf::from(&document.sources.0[0].name);
    let folder = model.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut work = Work { plane: plane(&document.root), model, folder, parts: Vec::new(), text: 0 };
    // those that were found in parts are behind those that were there
    let mut next = 0;
    loop {
        repeat::expand(&mut document.root, &["include"])?;
        let Some(entry) = include_at(&document.root, next)?.cloned() else { break };
        work.include(document, &entry)?;
        next += 1;
    }
    clashes(&document.root)?;
    Ok(work.parts)
}

/// Mirrors the parts that are to be; what repeats has been written out.
pub(super) fn mirror(root: &mut Node, parts: &[Part]) -> Result<(), Diagnostics> {
    let plane = plane(root).is_some();
    mirror::apply(root, parts, plane)
}

/// The entry of `[include]` of this number.
fn include_at(root: &Node, number: usize) -> Result<Option<&Entry>, Diagnostics> {
    let Some(node) = root.get("include") else { return Ok(None) };
    match node.as_table() {
        Some(table) => Ok(table.entries.get(number)),
        None => {
            let problem = Diagnostic::error("[include] must be a table of named entries").at(node.span);
            Err(problem.help("write [include.NAME] above the keys of each").into())
        }
    }
}

/// Where a file says that it is planar.
fn plane(root: &Node) -> Option<Span> {
    root.get("model").and_then(|m| m.get("plane")).map(|n| n.span)
}

struct Work {
    plane: Option<Span>,
    model: PathBuf,
    folder: PathBuf,
    parts: Vec<Part>,
    /// Bytes of all files so far, each counted as often as it is included.
    text: u64,
}

/// A part that is read, before its entries are put into the machine.
struct Loaded {
    root: Node,
    part: Part,
    /// Bodies of the part that are bodies of the machine.
    ports: HashMap<String, String>,
}

impl Work {
    fn include(&mut self, document: &mut Document, entry: &Entry) -> Result<(), Diagnostics> {
        let Loaded { root, part, ports } = self.load(document, entry)?;
        let folder = part.file.parent().map(Path::to_path_buf).unwrap_or_default();
        let own = ["parameter", "input", "output", "state", "table"];
        let tables = own.iter().filter_map(|section| root.get(section)?.as_table());
        let own: HashSet<String> = tables.flat_map(Table::names).map(str::to_string).collect();
        let prefix = format!("{}.", part.name);
        let names = Names { prefix, ports, own, folder: &folder, source: part.source };
        self.parts.push(part);
        let NodeValue::Table(table) = root.value else { return Ok(()) };
        let NodeValue::Table(all) = &mut document.root.value else { return Ok(()) };
        for section in table.entries {
            let kind = section.name.clone();
            if ["model", "solve", "$schema"].contains(&kind.as_str()) {
                continue;
            }
            let at = match all.entries.iter().position(|e| e.name == kind) {
                Some(at) => at,
                // one that is not known is told when the model is read
                None => {
                    let node = Node { span: section.node.span, value: NodeValue::Table(Table::default()) };
                    all.entries.push(Entry { name: kind.clone(), span: section.span, node });
                    all.entries.len() - 1
                }
            };
            let (NodeValue::Table(from), NodeValue::Table(to)) = (section.node.value, &mut all.entries[at].node.value)
            else {
                let message = format!("[{kind}] of a part must be a table of named entries");
                return Err(Diagnostic::error(message).at(section.node.span).into());
            };
            for mut entry in from.entries {
                if kind == "body" && names.ports.contains_key(&entry.name) {
                    continue;
                }
                names.rename(&kind, &mut entry);
                to.entries.push(entry);
            }
        }
        Ok(())
    }

    fn load(&mut self, document: &mut Document, entry: &Entry) -> Result<Loaded, Diagnostics> {
        let what = format!("include {}", quoted(&entry.name));
        let last = entry.name.rsplit('.').next().unwrap_or_default();
        if !is_name(last) {
            let problem = Diagnostic::error(format!("a part cannot be named {}", quoted(last))).at(entry.span);
            return Err(problem.help("its name has letters, digits and `_`, and begins with a letter").into());
        }
        let plane = self.plane.is_some();
        let inputs: Vec<&str> =
            document.root.get("input").and_then(Node::as_table).into_iter().flat_map(Table::names).collect();
        let parameters = Parameters::read(document.root.get("parameter"), &inputs)?;
        let context = Context { parameters: &parameters, plane, variables: &["t"], folder: None, laws: None };
        let values = read(&entry.node, &what, &[INCLUDE], &context)?;
        let parent = self.parts.iter().position(|p| p.source == entry.span.source);
        let file = PathBuf::from(values.name("file").name);
        let (text, whole) = self.open(&values, &file)?;
        self.refuse_cycles(&values, parent, &file, &whole)?;
        let source = document.sources.0.len() as u32;
        document.sources.0.push(Source::new(&self.folder.join(&file).to_string_lossy(), text));
        let mut root = parse_source(&document.sources.0[source as usize], source)?;
        self.agrees(&root, document, &values)?;
        let mut ports = ports(&values, &root, &document.root)?;
        if let Some(ground) = parent.and_then(|p| self.parts[p].ground.clone()) {
            ports.entry("ground".to_string()).or_insert(ground);
        }
        set(&mut root, &values)?;
        let axis = values.has("mirror").then(|| mirror::axis(&values, plane)).transpose()?;
        let inherited = parent.map_or(&[][..], |p| &self.parts[p].mirrors);
        let part = Part {
            name: entry.name.clone(),
            parent,
            source,
            mirrors: axis.into_iter().chain(inherited.iter().copied()).collect(),
            ground: ports.get("ground").cloned(),
            file,
            whole,
        };
        Ok(Loaded { root, part, ports })
    }

    /// The text of the file of a part, and its whole path.
    fn open(&mut self, values: &Values, file: &Path) -> Result<(String, PathBuf), Diagnostics> {
        let what = values.what();
        let kind = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if !["toml", "json"].contains(&kind) {
            let message = format!("{what}: {} is no model file", quoted(&file.to_string_lossy()));
            return Err(values.error_at("file", message).help("parts are model files, .toml or .json").into());
        }
        let text = csv::open_text(&self.folder, &file.to_string_lossy(), kind)
            .map_err(|(message, help)| values.error_at("file", format!("{what}: {message}")).help(help))?;
        self.text += text.len() as u64;
        if self.text > LARGEST || self.parts.len() == MOST_PARTS {
            let parts = count(self.parts.len(), "part");
            let message = format!("{what}: {parts} of {} MB are too many", self.text >> 20);
            return Err(values.error_at("file", message).help("write what is equal with `repeat`").into());
        }
        let whole = self.folder.join(file);
        Ok((text, whole.canonicalize().unwrap_or(whole)))
    }

    /// Refuses a file that includes itself, and parts that are too deep in each other.
    fn refuse_cycles(
        &self,
        values: &Values,
        parent: Option<usize>,
        file: &Path,
        whole: &Path,
    ) -> Result<(), Diagnostics> {
        let mut chain = Vec::new();
        let mut at = parent;
        while let Some(p) = at {
            chain.push(p);
            at = self.parts[p].parent;
        }
        chain.reverse();
        let main = self.model.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let is_main = self.model.canonicalize().is_ok_and(|m| m == whole);
        if is_main || chain.iter().any(|p| self.parts[*p].whole == whole) {
            let files = chain.iter().map(|p| self.parts[*p].file.display().to_string());
            let way: Vec<String> = std::iter::once(main).chain(files).chain([file.display().to_string()]).collect();
            let message = format!("{} includes itself: {}", values.what(), way.join(" → "));
            return Err(values.error_at("file", message).help("a part cannot have itself as a part").into());
        }
        if chain.len() == DEEPEST {
            let message = format!("{}: parts are more than {DEEPEST} deep in each other", values.what());
            return Err(values.error_at("file", message).help("include it closer to the machine").into());
        }
        Ok(())
    }

    /// What `[model]` of a part says must suit the machine; `[solve]` and gravity are those of the machine.
    fn agrees(&self, root: &Node, document: &Document, values: &Values) -> Result<(), Diagnostics> {
        let (part, machine) = (plane(root), self.plane);
        if part.is_some() != machine.is_some() {
            let place = |planar: bool| if planar { "in the plane" } else { "in space" };
            let message =
                format!("{} is {}, and the machine {}", values.what(), place(part.is_some()), place(machine.is_some()));
            let mut problem = values.error_at("file", message).label("of the other kind");
            if let Some(span) = part.or(machine) {
                problem = problem.also(span, "planar by this line");
            }
            return Err(problem.help("both need the same `plane` under [model], or none").into());
        }
        let gravity = |root: &Node| root.get("model").and_then(|m| m.get("gravity")).map(|n| n.span);
        if let (Some(span), None) = (gravity(root), gravity(&document.root)) {
            let message = format!("{} has gravity, and the machine has none", values.what());
            let problem = values.error_at("file", message).also(span, "gravity of the part");
            let help = "gravity is that of the machine: add `gravity` under [model] of the machine, [0, 0, 0] for none";
            return Err(problem.help(help).into());
        }
        Ok(())
    }
}

/// The bodies of a part that are bodies of the file that includes it, by their names in the part.
fn ports(values: &Values, part: &Node, machine: &Node) -> Result<HashMap<String, String>, Diagnostics> {
    let Some(node) = values.node("ports") else { return Ok(HashMap::new()) };
    let what = values.what();
    let Some(table) = node.as_table() else {
        let message = format!("`ports` of {what} must be a table, found {}", node.article());
        let help = "write `ports = { ground = \"chassis\" }`: a body of the part, and the body of this file that it is";
        return Err(Diagnostic::error(message).at(node.span).help(help).into());
    };
    let mut problems = Diagnostics::new();
    let mut found: HashMap<String, String> = HashMap::new();
    for entry in &table.entries {
        let bodies = part.get("body").and_then(Node::as_table);
        let names = || bodies.into_iter().flat_map(Table::names).chain(["ground"]);
        if !names().any(|name| name == entry.name) {
            let near = nearest(&entry.name, names());
            let label = near.map_or("not a body of the part".to_string(), |n| format!("did you mean {}?", quoted(n)));
            let message = format!("{what} has no body {} for a port", quoted(&entry.name));
            let help = format!("its bodies are {}", list(names()));
            problems.push(Diagnostic::error(message).at(entry.span).label(label).help(help));
            continue;
        }
        let Some(body) = entry.node.as_str() else {
            let message = format!("port {} of {what} must be the name of a body", quoted(&entry.name));
            problems.push(Diagnostic::error(message).at(entry.node.span).help("write it in quotes"));
            continue;
        };
        let known = || machine.get("body").and_then(Node::as_table).into_iter().flat_map(Table::names);
        // names with an index, and those of parts that are still to come, are looked at when the model is read
        if !body.contains('.') && !known().any(|name| name == body || name.contains('{')) {
            let near = nearest(body, known());
            let label = near.map_or(String::new(), |n| format!("did you mean {}?", quoted(n)));
            let message = format!("port {} of {what} leads to {}, which is no body", quoted(&entry.name), quoted(body));
            let help = format!("bodies are {}", list(known()));
            problems.push(Diagnostic::error(message).at(entry.node.span).label(label).help(help));
        } else if found.values().any(|other| other == body) {
            let message = format!("two ports of {what} lead to {}", quoted(body));
            problems
                .push(Diagnostic::error(message).at(entry.node.span).help("one body of a part is one of the machine"));
        }
        found.insert(entry.name.clone(), body.to_string());
    }
    problems.or(found)
}

/// Puts the values of `set` into a part: parameters by their names, other values by their paths.
fn set(root: &mut Node, values: &Values) -> Result<(), Diagnostics> {
    let Some(node) = values.node("set") else { return Ok(()) };
    let Some(table) = node.as_table() else {
        let message = format!("`set` of {} must be a table, found {}", values.what(), node.article());
        let help = "write `set = { stiffness = 22e3 }`, or \"body.hub.mass\" = 12 for what is no parameter";
        return Err(Diagnostic::error(message).at(node.span).help(help).into());
    };
    let mut problems = Diagnostics::new();
    for entry in &table.entries {
        let path = if entry.name.contains('.') { entry.name.clone() } else { format!("parameter.{}", entry.name) };
        problems.take(overrides::put_at(root, &path, entry, &LAYOUT));
    }
    problems.or(())
}

/// Names that come out twice.
fn clashes(root: &Node) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    for section in root.as_table().into_iter().flat_map(|t| &t.entries).filter(|s| s.name != "start") {
        let entries = section.node.as_table().map_or(&[][..], |t| &t.entries);
        problems.append(repeat::clashes(&section.name, entries));
    }
    problems.or(())
}
