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
