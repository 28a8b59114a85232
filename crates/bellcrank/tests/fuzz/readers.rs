//! Every reader of files, given any bytes: it reads them or refuses them. The bodies of the fuzz targets in `fuzz/`, and of
//! the test with spoiled copies of good files.

use bellcrank_model::mesh;
use bellcrank_model::read::read_text;
use bellcrank_results::Columns;
use bellcrank_solve::begin::EndState;
use bellcrank_solve::run::SavedState;
use std::path::PathBuf;

/// Names of the readers, which are those of the fuzz targets.
pub const READERS: &[(&str, fn(&[u8]))] = &[
    ("toml", |b| model("model.toml", b)),
    ("json", |b| model("model.json", b)),
    ("urdf", |b| robot("robot.urdf", b)),
    ("mjcf", |b| robot("robot.xml", b)),
    ("sdf", |b| robot("robot.sdf", b)),
    ("stl", |b| triangles("stl", b)),
    ("obj", |b| triangles("obj", b)),
    ("dae", |b| triangles("dae", b)),
    ("glb", |b| triangles("glb", b)),
    ("parquet", |b| table("parquet", b)),
    ("csv", |b| table("csv", b)),
    ("assembly", assembly),
    ("state", |b| _ = (SavedState::from_bytes(b), EndState::from_bytes(b))),
];

fn model(name: &str, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match read_text(name, text, &[]) {
        Ok(read) => drop(read.model.compile()),
        Err(report) => assert!(report.to_string().starts_with("error: ")),
    }
}

fn robot(name: &str, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match bellcrank_robots::parse(name, text, &bellcrank_robots::RobotOptions::default()) {
        Ok(robots) => _ = robots.read(&[]).map(|read| read.model.compile()),
        Err(report) => assert!(!report.to_string().is_empty()),
    }
}

fn triangles(ending: &str, bytes: &[u8]) {
    match mesh::parse(ending, bytes) {
        Ok(mesh) => assert!(mesh.corners.iter().all(|x| x.is_finite())),
        Err((text, help)) => assert!(!text.is_empty() && !help.is_empty()),
    }
}

fn file(ending: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bellcrank-fuzz-{}.{ending}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn table(ending: &str, bytes: &[u8]) {
    let path = file(ending, bytes);
    if let Ok(columns) = Columns::open(&path) {
        let all: Vec<usize> = (0..columns.names.len().min(50)).collect();
        if let Ok(values) = columns.read(&all) {
            assert!(values.windows(2).all(|pair| pair[0].len() == pair[1].len()));
        }
    }
    std::fs::remove_file(&path).unwrap();
}

fn assembly(bytes: &[u8]) {
    let path = file("toml", bytes);
    if let Err(told) = bellcrank_glue::read_assembly(&path.to_string_lossy()) {
        assert!(!told.is_empty());
    }
    std::fs::remove_file(&path).unwrap();
}
