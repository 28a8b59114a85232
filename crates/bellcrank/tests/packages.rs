//! Every crate can be packaged: it has a description, and whatever its sources include lies inside its package.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

mod common;

/// The files of a package, by path from the crate's folder.
fn packaged(manifest: &Path) -> HashSet<PathBuf> {
    let out = Command::new(env!("CARGO"))
        .args(["package", "--list", "--offline", "--allow-dirty", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}: {}", manifest.display(), String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(PathBuf::from).collect()
}

/// The files that a source includes, by path from the crate's folder; `..` is taken away.
fn included(source: &str, at: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for call in ["include_str", "include_bytes"].map(|name| format!("{name}!(")) {
        for rest in source.split(&call).skip(1) {
            let Some(literals) = rest.split(')').next() else { continue };
            // the build script names a file that the build makes
            if rest.starts_with("env!(") {
                continue;
            }
            let manifest = rest.starts_with("concat!(env!(\"CARGO_MANIFEST_DIR\")");
            // in `concat!(env!("CARGO_MANIFEST_DIR"), "/path")` the path is the second literal
            let path = if manifest { rest.split('"').nth(3) } else { literals.split('"').nth(1) };
            let Some(path) = path else { continue };
            let whole = if manifest { PathBuf::from(path.trim_start_matches('/')) } else { at.join(path) };
            let mut plain = PathBuf::new();
            for part in whole.components() {
                match part {
                    Component::ParentDir if plain.pop() => {}
                    part => plain.push(part),
                }
            }
            found.push(plain);
        }
    }
    found
}

/// All Rust sources below a folder; links are not followed, for those lead out of the crate.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            sources(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn packages_are_whole() {
    let (mut crates, mut checked) = (0, 0);
    for entry in std::fs::read_dir(common::root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let description = manifest.lines().find_map(|l| l.strip_prefix("description = "));
        assert!(description.is_some_and(|d| d.len() > 20), "{} has no description", folder.display());
        let files = packaged(&folder.join("Cargo.toml"));
        let mut all = Vec::new();
        sources(&folder, &mut all);
        for path in all {
            let inside = path.strip_prefix(&folder).unwrap();
            assert!(files.contains(inside), "{} is not packaged", path.display());
            for file in included(&std::fs::read_to_string(&path).unwrap(), inside.parent().unwrap()) {
                assert!(files.contains(&file), "{} includes {}, which is not packaged", path.display(), file.display());
                checked += 1;
            }
        }
        crates += 1;
    }
    // the program carries its examples by way of its build script
    assert!(packaged(&common::root().join("crates/bellcrank/Cargo.toml")).contains(Path::new("models/pendulum.toml")));
    assert!(crates >= 8 && checked >= 20, "{crates} crates, {checked} included files");
}

/// `cargo run` builds the program, `cargo test --workspace` everything: with the same features, so that the second uses what
/// the first has compiled.
#[test]
fn the_program_and_the_tests_share_one_build() {
    let features = |selection: &[&str]| -> HashSet<String> {
        let out = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--prefix", "none", "--format", "{p} {f}", "--edges"])
            .args(selection)
            .current_dir(common::root())
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        text.lines().map(|line| line.trim_end_matches(" (*)").to_string()).collect()
    };
    let program = features(&["normal,build", "--package", "bellcrank"]);
    let all = features(&["normal,build,dev", "--workspace"]);
    let other: Vec<&String> = program.difference(&all).collect();
    assert!(program.len() > 100 && other.is_empty(), "built with other features for the tests: {other:?}");
}

/// What the page of promises says of a row: the number before a word.
fn promised(words: &str) -> usize {
    let page = std::fs::read_to_string(common::root().join("book/src/about/rely.md")).unwrap();
    let (before, _) = page.split_once(words).unwrap_or_else(|| panic!("rely.md does not say `{words}`"));
    let digits: String = before.chars().rev().take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap()
}

/// Other people's packages that the program is built of on Linux, each with its licence.
fn dependencies() -> Vec<(String, String)> {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", "bellcrank", "--edges", "normal,build", "--prefix", "none"])
        .args(["--target", "x86_64-unknown-linux-gnu", "--format", "{p}|{l}"])
        .current_dir(common::root())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let others = text.lines().filter(|line| !line.starts_with("bellcrank"));
    let found: HashSet<(String, String)> = others
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('|'))
        .map(|(package, licence)| (package.replace(" (proc-macro)", ""), licence.to_string()))
        .collect();
    found.into_iter().collect()
}

#[test]
fn dependencies_are_as_few_as_promised_and_all_are_permissive() {
    let (all, most) = (dependencies(), promised(" packages of others"));
    let says = "say so in book/src/about/rely.md";
    assert!(all.len() <= most && all.len() + 15 > most, "{} packages, {most} are promised: {says}", all.len());
    // one of these is enough of an alternative, and all of them of a sum
    let free = ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "CC0-1.0", "0BSD", "Unicode-3.0"];
    let permits = |licence: &str| {
        let sum = |text: &str| text.split(" AND ").all(|word| free.contains(&word.trim_matches(['(', ')', ' '])));
        licence.contains(") AND ") && licence.replace(") AND ", " OR ").split(" OR ").all(sum)
            || licence.replace('/', " OR ").split(" OR ").any(|text| sum(text.trim()))
    };
    let others: Vec<_> = all.iter().filter(|(_, licence)| !permits(licence)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn unsafe_code_is_where_it_was_promised_with_its_contract() {
    let (mut blocks, mut crates) = (0, HashSet::new());
    for entry in std::fs::read_dir(common::root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let mut all = Vec::new();
        sources(&folder.join("src"), &mut all);
        for path in all {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let found = code.filter(|line| line.contains("unsafe {") || line.contains("unsafe impl")).count();
            blocks += found;
            if found > 0 {
                crates.insert(folder.clone());
            }
        }
    }
    let mut names: Vec<_> = crates.iter().map(|c| c.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["bellcrank-fmi", "bellcrank-math", "bellcrank-python"]);
    // clippy then refuses a block without its contract
    for folder in crates {
        let root = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        assert!(root.contains("clippy::undocumented_unsafe_blocks)]"), "{}", folder.display());
    }
    let said = promised(" `unsafe` blocks");
    assert!(
        blocks <= said && blocks + 30 > said,
        "{blocks} blocks, {said} are promised: say so in book/src/about/rely.md"
    );
}
