//! Finds the library that goes into FMUs: that of `bellcrank-fmi`, which is linked before this crate is compiled.
//!
//! Makes a table of the example models, so that the program carries them: name and text; and of the files that they
//! read. `models` is a link to the `examples` of the repository, which a package of this crate replaces by their files.

use std::fmt::Write;
use std::path::Path;

fn main() {
    find_library();
    write_examples();
    write_problems();
}

/// Tells the compiler where the library for FMUs will be. Where nothing is linked (`cargo check`, clippy, documentation) an
/// empty file stands there, and the program says so when it is asked for an FMU. `BELLCRANK_FMU_LIBRARY` names another one:
/// there is no shared library for every target.
fn find_library() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=BELLCRANK_FMU_LIBRARY");
    let given = std::env::var("BELLCRANK_FMU_LIBRARY").ok().filter(|path| !path.is_empty());
    let path = given.unwrap_or_else(|| {
        let out = std::env::var("OUT_DIR").expect("cargo tells where to write");
        // the layout of cargo's folder: <profile>/build/<package>/out beside <profile>/deps
        let deps = Path::new(&out).join("../../../deps");
        let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
        let name = match target.as_str() {
            "windows" => "bellcrank_fmi.dll",
            "macos" => "libbellcrank_fmi.dylib",
            _ => "libbellcrank_fmi.so",
        };
        let path = deps.join(name);
        // never over a library that is there
        let _ = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        path.display().to_string()
    });
    println!("cargo:rustc-env=FMU_LIBRARY={path}");
}

fn write_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    println!("cargo:rerun-if-changed={}", root.display());
    let entries = std::fs::read_dir(&root).expect("the examples are part of the sources");
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).filter(|p| p.is_file()).collect();
    paths.sort();
    let (mut models, mut attached) = (String::from("&[\n"), String::from("&[\n"));
    // files that models include as parts
    let folder = std::fs::read_dir(root.join("parts")).expect("the parts are part of the sources");
    let mut parts: Vec<_> = folder.flatten().map(|e| e.path()).filter(|p| p.is_file()).collect();
    parts.sort();
    for path in parts {
        let name = path.file_name().and_then(|n| n.to_str()).expect("examples have plain names");
        let _ = writeln!(
            attached,
            "    ({:?}, include_bytes!({:?})),",
            format!("parts/{name}"),
            path.display().to_string()
        );
    }
    for path in paths {
        let name = path.file_name().and_then(|n| n.to_str()).expect("examples have plain names");
        let file = path.display().to_string();
        let _ = match name.strip_suffix(".toml") {
            Some(name) => writeln!(models, "    ({name:?}, include_str!({file:?})),"),
            None => writeln!(attached, "    ({name:?}, include_bytes!({file:?})),"),
        };
    }
    let out = std::env::var("OUT_DIR").expect("cargo tells where to write");
    for (name, text) in [("examples.rs", models), ("attached.rs", attached)] {
        std::fs::write(Path::new(&out).join(name), text + "]\n").expect("the folder can be written to");
    }
    shrink();
}

/// The reference problems with what they are held against: name, source, model, references. `problems` is a link, as `models`.
fn write_problems() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("problems");
    println!("cargo:rerun-if-changed={}", root.display());
    let entries = std::fs::read_dir(&root).expect("the problems are part of the sources");
    let mut folders: Vec<_> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    let mut out = String::from("&[\n");
    for folder in folders {
        let name = folder.file_name().and_then(|n| n.to_str()).expect("problems have plain names");
        let _ = writeln!(out, "    Problem {{ name: {name:?},");
        for (field, file) in [("about", "README.md"), ("model", "model.toml"), ("reference", "reference.csv")] {
            let _ = writeln!(out, "        {field}: include_str!({:?}),", folder.join(file).display().to_string());
        }
        out.push_str("    },\n");
    }
    let path = std::env::var("OUT_DIR").expect("cargo tells where to write");
    std::fs::write(Path::new(&path).join("problems.rs"), out + "]\n").expect("the folder can be written to");
}

/// `cargo install` gives a program without symbols, a fifth smaller. `strip` of a profile cannot be set for one package, and
/// tests are better off with symbols. Where the C library reads packed relative relocations, they take a megabyte less.
fn shrink() {
    let variable = |key: &str| std::env::var(key).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("PROFILE") != "release" {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-Wl,-s");
    println!("cargo:rerun-if-env-changed={PORTABLE}");
    let native = variable("HOST") == variable("TARGET") && std::env::var_os(PORTABLE).is_none();
    if native && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// If it is set, the program is made for computers with an older C library than this one.
const PORTABLE: &str = "BELLCRANK_PORTABLE";

/// The version of this computer's C library, if that is glibc.
fn glibc() -> Option<(u32, u32)> {
    let told = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
