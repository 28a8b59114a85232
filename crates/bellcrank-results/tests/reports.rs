//! Reports of real runs as JSON, and as folders hold them.

use bellcrank_model::read::read_text;
use bellcrank_results::{Columns, Folder, json, names};
use bellcrank_solve::choices::{Coordinates, MethodName, Options};
use bellcrank_solve::record::{ColumnMemory, Silent, Tee};
use bellcrank_solve::run::{Simulation, Summary};
use serde_json::{Value, json as object};
use std::sync::Arc;

fn run(text: &str, options: Options) -> Summary {
    start(text, options).run(&mut Silent)
}

fn start(text: &str, options: Options) -> Simulation {
    let system = read_text("model.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model.into_system();
    Simulation::new(Arc::new(system), options).unwrap_or_else(|e| panic!("{e}"))
}

const BALL: &str = r#"
    model = { plane = "xy", gravity = [0, -9.81] }
    body.ball = { mass = 0.5, sphere = { radius = 0.1 }, at = [0, 1] }
    force.floor = { type = "contact", between = ["ground", "ball"], normal = [0, 1], restitution = 0.9 }
"#;

const FOUR_BAR: &str = r#"
    model = { plane = "xy", gravity = [0, -9.81] }
    body.crank = { mass = 1, inertia = 0.01, at = [0, 0.5] }
    body.coupler = { mass = 2, inertia = 0.1, at = [1, 1] }
    body.rocker = { mass = 1, inertia = 0.01, at = [2, 0.5] }
    joint.a = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
    joint.b = { type = "revolute", between = ["crank", "coupler"], at = [0, 1] }
    joint.c = { type = "revolute", between = ["coupler", "rocker"], at = [2, 1] }
    joint.d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0] }
"#;

/// The keys that other programs rely on, in their order.
#[test]
fn keys_of_a_run_stay() {
    let summary = run(FOUR_BAR, Options { until: 0.1, ..Options::default() });
    let told = json::whole(&summary);
    let keys: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "model status method formulation iteration steps rejected error_test_failures \
        convergence_failures residual_evaluations jacobian_evaluations factorizations iterations wall_seconds \
        degrees_of_freedom redundant_equations reactions_unique reactions_not_unique event_count events doubts drift energy \
        choices plan solver refused final";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!((&told["status"], &told["reactions_unique"]), (&object!("finished"), &object!(true)));
    assert_eq!(told["energy"].as_object().unwrap().keys().collect::<Vec<_>>(), ["initial", "final", "max_error"]);
    assert_eq!(told["final"]["t"], 0.1);
    assert_eq!(told["final"].as_object().unwrap().len(), summary.last.len() + 1);
}

#[test]
fn joints_that_are_cut_and_evidence_are_told_where_there_are_any() {
    let relative = Options { coordinates: Coordinates::Relative, until: 1e-3, ..Options::default() };
    let told = Value::Object(json::run(&run(FOUR_BAR, relative)));
    assert_eq!(told["cut_joints"].as_array().map(Vec::len), Some(1), "{told}");
    assert!(told.get("proof").is_none() && told.get("error").is_none());
    let mut simulation = start(FOUR_BAR, Options { until: 1e-3, ..Options::default() });
    simulation.prove();
    let told = Value::Object(json::run(&simulation.run(&mut Silent)));
    assert_eq!(told["proof"]["momentum"]["largest"].as_array().map(Vec::len), Some(2));
    assert!(told["proof"]["seconds"].is_object() && told.get("cut_joints").is_none());
}

#[test]
fn a_folder_holds_the_report_and_its_columns_are_those_of_memory() {
    let dir = std::env::temp_dir().join(format!("bellcrank-reports-{}", std::process::id()));
    let (mut folder, mut memory) = (Folder::new(&dir), ColumnMemory::default());
    let options = Options { method: MethodName::Dopri5, until: 1.0, sample: Some(0.01), ..Options::default() };
    let summary = start(BALL, options).run(&mut Tee(vec![&mut folder, &mut memory]));
    assert!(!summary.events.is_empty());
    let text = std::fs::read_to_string(dir.join(names::SUMMARY)).unwrap();
    let held: Value = serde_json::from_str(&text).unwrap();
    let told = json::whole(&summary);
    for (key, value) in told.as_object().unwrap() {
        assert_eq!(&held[key], value, "{key}");
    }
    assert_eq!(held["event_count"], summary.events.len());
    assert_eq!(held["events"][0]["name"], "force `floor`");
    assert!(held["program"].as_str().unwrap().starts_with("bellcrank "));
    let columns = Columns::open(&dir).unwrap();
    let all = columns.read(&(0..columns.names.len()).collect::<Vec<_>>()).unwrap();
    assert_eq!(all.len(), memory.header().channels.len() + 1);
    for (j, column) in all.iter().enumerate() {
        let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(column), bits(&memory.column(j)), "{}", columns.names[j]);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
