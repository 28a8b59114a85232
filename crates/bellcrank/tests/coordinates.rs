//! Every command that runs a model honours the coordinates it asks for.

use serde_json::Value;
use std::process::Command;

const PENDULUM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/double-pendulum.toml");

fn json(args: &[&str]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_bellcrank")).args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// An open tree in relative coordinates needs no matrix, so the number of factorizations tells which coordinates it was
/// run in.
#[test]
fn compare_runs_in_the_coordinates_of_the_model() {
    let factorizations = |set: &[&str]| {
        let base = ["compare", PENDULUM, "--method", "dopri5", "--rtol", "1e-6", "--json"];
        let found = json(&[&base[..], set].concat());
        let runs = found["runs"].as_array().unwrap().clone();
        assert!(!runs.is_empty() && runs.iter().all(|run| run["status"] == "finished"), "{found}");
        runs.iter().map(|run| run["factorizations"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(factorizations(&[]) > 100);
    assert_eq!(factorizations(&["--set", "solve.coordinates=\"relative\""]), 0);
}

/// The whole model of `run --split` is refused where its coordinates cannot be had, as without `--split`.
#[test]
fn a_split_run_honours_the_coordinates_of_the_whole() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/four-bar.toml");
    let args = ["run", model, "--solver", "recursion", "--method", "dopri5", "--until", "0.01", "--split", "B"];
    let out = Command::new(env!("CARGO_BIN_EXE_bellcrank")).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("recursion alone is for open trees"), "{said}");
}
