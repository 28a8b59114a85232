//! The shape of the sources: no cycles between modules, and a kind of body is known in few places.

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

#[test]
fn modules_form_no_cycles() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(&src) {
        let inside = path.strip_prefix(&src).expect("below src");
        let first = inside.components().next().expect("a file").as_os_str().to_string_lossy().into_owned();
        let module = first.trim_end_matches(".rs").to_string();
        if module == "lib" {
            continue;
        }
        let to = uses.entry(module.clone()).or_default();
        for line in code(&path) {
            to.extend(words(&line, "crate::").map(str::to_string).filter(|w| *w != module));
        }
    }
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    uses.values_mut().for_each(|to| to.retain(|m| modules.contains(m)));
    assert!(modules.len() > 10 && uses["system"].contains("dynamics"), "the sources were found");
    // what uses nothing that is left can go; cycles remain
    loop {
        let done: Vec<String> = uses.iter().filter(|(_, to)| to.is_empty()).map(|(m, _)| m.clone()).collect();
        if done.is_empty() {
            break;
        }
        done.iter().for_each(|m| drop(uses.remove(m)));
        uses.values_mut().for_each(|to| to.retain(|m| !done.contains(m)));
    }
    // and what nobody in a cycle uses only hangs on one
    while let Some(m) = uses.keys().find(|m| !uses.values().any(|to| to.contains(*m))).cloned() {
        uses.remove(&m);
    }
    // the reader of files knows the curves that expressions may call, and curves know places in files
    uses.retain(|m, _| m != "curve" && m != "file");
    assert!(uses.is_empty(), "modules use each other in cycles: {uses:?}");
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
