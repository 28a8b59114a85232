//! The shape of the sources of all crates: no cycles between modules, files, functions and structs of a size that can be
//! read, and a kind of body is known in few places.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut out = Vec::new();
    for path in entries.map(|e| e.expect("a readable folder").path()) {
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// The code of a file without comments, line by line.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("a readable file");
    text.lines().filter(|l| !l.trim_start().starts_with("//")).map(str::to_string).collect()
}

/// Words that follow a prefix in a line.
fn words<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(prefix).filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back();
        let whole = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
        let rest = &line[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (whole && end > 0).then(|| &rest[..end])
    })
}

/// The folders of sources of all crates.
fn crates() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut out: Vec<PathBuf> =
        fs::read_dir(&all).expect("the workspace").map(|e| e.expect("a folder").path()).collect();
    out.sort();
    assert!(out.len() > 8, "the crates were found");
    out.into_iter().map(|folder| folder.join("src")).collect()
}

/// The modules of a crate that use each other in cycles, each with those it uses.
fn cycles(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(src) {
        let inside = path.strip_prefix(src).expect("below src");
        let first = inside.components().next().expect("a file").as_os_str().to_string_lossy().into_owned();
        let module = first.trim_end_matches(".rs").to_string();
        if module == "lib" || module == "main" {
            continue;
        }
        let to = uses.entry(module.clone()).or_default();
        let code = code(&path);
        let code = code.iter().take_while(|l| *l != "#[cfg(test)]");
        code.for_each(|l| to.extend(words(l, "crate::").map(str::to_string).filter(|w| *w != module)));
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    uses.values_mut().for_each(|to| to.retain(|m| modules.contains(m)));
    // a start may be given on the joints, whose equations are `Relative` over a `System`
    for module in ["dynamics", "system"] {
        uses.get_mut(module).map(|to| to.remove("relative"));
    }
    // what uses nothing that is left can go, and what nobody that is left uses; cycles remain
    while let Some(m) = uses.iter().find(|(_, to)| to.is_empty()).map(|(m, _)| m.clone()) {
        uses.remove(&m);
        uses.values_mut().for_each(|to| _ = to.remove(&m));
    }
    while let Some(m) = uses.keys().find(|m| !uses.values().any(|to| to.contains(*m))).cloned() {
        uses.remove(&m);
    }
    uses
}

#[test]
fn modules_form_no_cycles() {
    // classes of the Python package hand out each other, as Python's do
    for src in crates().into_iter().filter(|src| !src.ends_with("bellcrank-python/src")) {
        let mut found = cycles(&src);
        // the reader of files knows the curves that expressions may call, and curves know places in files
        found.retain(|m, _| m != "curve" && m != "file");
        assert!(found.is_empty(), "modules of {} use each other in cycles: {found:?}", src.display());
    }
}

/// The lines from an opening line to the brace that closes it, if it opens a block.
fn block<'a>(lines: &'a [&'a str], first: usize) -> Option<&'a [&'a str]> {
    let indent = &lines[first][..lines[first].len() - lines[first].trim_start().len()];
    let opens = lines[first..].iter().position(|l| l.ends_with('{') || l.ends_with(';') || l.ends_with('}'))?;
    if !lines[first + opens].ends_with('{') {
        return None;
    }
    let last = lines[first..].iter().position(|l| l.strip_prefix(indent) == Some("}"))?;
    Some(&lines[first..=first + last])
}

/// The comments right above a line.
fn comment(lines: &[&str], first: usize) -> String {
    let above = lines[..first].iter().rev().take_while(|l| l.trim_start().starts_with(['/', '#']));
    above.copied().collect::<Vec<_>>().join("\n")
}

#[test]
fn files_functions_and_structs_can_be_read() {
    let mut large = Vec::new();
    for path in crates().iter().flat_map(|src| sources(src)) {
        let text = fs::read_to_string(&path).expect("a readable file");
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > 600 {
            large.push(format!("{}: {} lines", path.display(), lines.len()));
        }
        for (k, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split(['(', '<', ' ']).filter(|w| !w.is_empty()).collect();
            let named = |word: &str| {
                let at = words.iter().position(|w| *w == word)?;
                words[..at].iter().all(|w| ["pub", "const", "unsafe", "crate)", "super)"].contains(w)).then_some(())?;
                words.get(at + 1).copied()
            };
            let function = named("fn").filter(|_| !line.contains(" = ")).zip(block(&lines, k));
            if let Some((name, body)) = function.filter(|(_, body)| body.len() > 80) {
                large.push(format!("{}: `{name}` has {} lines", path.display(), body.len()));
            }
            let Some((name, body)) = named("struct").zip(block(&lines, k)) else { continue };
            let inside = "    ".len() + line.len() - line.trim_start().len();
            let is_field = |l: &&&str| {
                let field =
                    l.len() > inside && l[..inside].trim().is_empty() && !l[inside..].starts_with([' ', '/', '#']);
                field && l.contains(": ")
            };
            let fields = body[1..].iter().filter(is_field).count();
            if fields > 12 && !comment(&lines, k).contains("fields") {
                large.push(format!("{}: `{name}` has {fields} fields, and no comment on why", path.display()));
            }
        }
    }
    assert!(large.is_empty(), "build a wall:\n{}", large.join("\n"));
}

/// Names that two types of one crate may share: the twins of the two catalogs, a model that is written and one that was
/// read, a stand-in where there are no processes, and (until their doors are one) the two sides of FMI.
const SHARED_NAMES: [&str; 8] = ["Kind", "Placement", "Model", "Guest", "Callbacks", "Instance", "Setting", "Start"];

#[test]
fn a_type_has_a_name_of_its_own_within_its_crate() {
    let mut doubles = Vec::new();
    for src in crates() {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in sources(&src).into_iter().filter(|p| !p.ends_with("tests.rs")) {
            let text = fs::read_to_string(&path).expect("a readable file");
            let code = text.split("#[cfg(test)]").next().expect("a first part");
            let public = |line: &'_ str| {
                line.strip_prefix("pub ")
                    .or(line.split_once("pub(").and_then(|(_, l)| l.split_once(") ").map(|p| p.1)))
                    .unwrap_or(line)
                    .to_string()
            };
            for line in code.lines().filter(|l| !l.starts_with([' ', '/'])).map(public) {
                let mut words = line.split([' ', '<', '(', ';', ':', '{']);
                if matches!(words.next(), Some("struct" | "enum" | "trait" | "type"))
                    && let Some(name) =
                        words.next().filter(|n| n.starts_with(char::is_uppercase) && !SHARED_NAMES.contains(n))
                {
                    places.entry(name.to_string()).or_default().push(path.display().to_string());
                }
            }
        }
        doubles.extend(places.into_iter().filter(|(_, files)| files.len() > 1));
    }
    assert!(doubles.is_empty(), "one name for one thing: {doubles:#?}");
}

/// All files of the repository below a folder, but for what is built.
fn all_files(folder: &Path, out: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|e| e.expect("a readable folder").path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with('.') || ["target", "node_modules", "results"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            out.push(format!("{}/", path.display()));
            all_files(&path, out);
        } else {
            out.push(path.display().to_string());
        }
    }
}

#[test]
fn architecture_names_rooms_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    all_files(&root, &mut files);
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let named: BTreeSet<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| [".rs", ".py", ".ts", ".md", "/"].iter().any(|end| word.ends_with(end)))
        .filter(|word| !word.contains([' ', '<', '\n']))
        .collect();
    assert!(named.len() > 100, "{named:?}");
    let lost: Vec<_> = named.iter().filter(|word| !files.iter().any(|f| f.ends_with(&format!("/{word}")))).collect();
    assert!(lost.is_empty(), "not in the repository: {lost:?}");
}

#[test]
fn kinds_of_bodies_are_known_where_they_are_made() {
    const KINDS: [&str; 5] = ["Rigid", "Planar", "Point", "Rod", "Flexible"];
    // the reader of files, the ports of glued parts, and the front door make bodies; all others ask them
    const MAKERS: [&str; 3] = ["bellcrank-model/src/read", "bellcrank-glue/src/interface.rs", "bellcrank/src/"];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = BTreeSet::new();
    let folders = fs::read_dir(&crates).expect("the workspace").map(|e| e.expect("a readable folder").path());
    for path in folders.flat_map(|folder| sources(&folder.join("src"))) {
        let name = path.strip_prefix(&crates).expect("below crates").to_string_lossy().replace('\\', "/");
        let names_a_kind = code(&path).iter().any(|l| words(l, "Body::").any(|w| KINDS.contains(&w)));
        let maker = MAKERS.iter().any(|m| name.starts_with(m));
        if names_a_kind && !maker && !name.starts_with("bellcrank-model/src/bodies/") {
            known.insert(name);
        }
    }
    assert!(known.is_empty(), "these files match kinds of bodies, and should ask the body: {known:?}");
}
