//! Makes a table of the models in `examples/`, so that the program carries them: name and text.

use std::fmt::Write;
use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    println!("cargo:rerun-if-changed={}", root.display());
    let entries = std::fs::read_dir(&root).expect("the examples are part of the sources");
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    let mut text = String::from("&[\n");
    for path in paths {
        let name = path.file_stem().and_then(|n| n.to_str()).expect("examples have plain names");
        let _ = writeln!(text, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    let out = std::env::var("OUT_DIR").expect("cargo tells where to write");
    std::fs::write(Path::new(&out).join("examples.rs"), text + "]\n").expect("the folder can be written to");
}
