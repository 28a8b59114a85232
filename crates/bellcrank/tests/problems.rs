//! Reference problems through the public interface: `tests/problems/NAME/` holds a model, its source, and a table of options,
//! times, channels, values and tolerances. The program carries them: `bellcrank validate`.

mod common;

use common::{Scratch, root};
use serde_json::Value;

#[test]
fn every_problem_meets_its_reference() {
    let scratch = Scratch::new("validate");
    let ended = scratch.bellcrank(&["validate", "--json", "--out", "manual.md"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    let folders = std::fs::read_dir(root().join("tests/problems")).unwrap();
    let mut names: Vec<String> = folders.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let problems = told["problems"].as_array().unwrap();
    assert_eq!(problems.iter().map(|p| p["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let mut rows = 0;
    for name in &names {
        let reference = std::fs::read_to_string(root().join(format!("tests/problems/{name}/reference.csv"))).unwrap();
        assert_eq!(reference.lines().next(), Some("options,t,channel,value,tolerance"), "{name}");
        rows += reference.lines().count() - 1;
    }
    assert_eq!((told["values"].as_u64(), told["holding"].as_u64()), (Some(rows as u64), Some(rows as u64)));
    let manual = String::from_utf8(scratch.read("manual.md")).unwrap();
    assert_eq!(manual.matches("\n## ").count(), names.len());
    assert_eq!(manual.lines().filter(|l| l.starts_with("| ") && !l.contains("options")).count(), rows);
}

#[test]
fn an_unknown_problem_is_refused_with_the_nearest_name() {
    let ended = Scratch::new("validate-name").bellcrank(&["validate", "heavytop"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("`heavytop`") && ended.stderr.contains("did you mean `heavy-top`?"),
        "{}",
        ended.stderr
    );
}

/// The page of the book is that of this version's problems.
#[test]
fn the_validation_manual_has_every_problem() {
    let page = std::fs::read_to_string(root().join("book/src/about/validation.md")).unwrap();
    for folder in std::fs::read_dir(root().join("tests/problems")).unwrap() {
        let about = std::fs::read_to_string(folder.unwrap().path().join("README.md")).unwrap();
        let title = about.lines().next().unwrap().trim_start_matches("# ");
        let hint = "write it anew: bellcrank validate --out book/src/about/validation.md";
        assert!(page.contains(&format!("\n## {title}\n")), "{title} is missing; {hint}");
    }
}
