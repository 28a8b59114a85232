//! `run --verify`, `--report` and `--live` from outside.

mod common;

use common::Scratch;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

/// A mass on a spring, ω = 2: x = cos 2t.
const SPRING: &str = r#"
model = { name = "<b>spring</b>", plane = "xy", gravity = [0, 0] }
body.m = { mass = 1, at = [1, 0] }
joint.x = { type = "point-on-line", between = ["ground", "m"], at = [1, 0], axis = [1, 0] }
force.k = { type = "spring-damper", between = ["ground", "m"], at = [[-10, 0], [1, 0]], stiffness = 4, length = 10 }
solve = { until = 3 }
"#;

fn text(s: &Scratch, name: &str) -> String {
    s.path(name).to_string_lossy().into_owned()
}

fn data(html: &str) -> Value {
    let begin = html.find("id=\"bellcrank-data\">").unwrap() + 20;
    let end = begin + html[begin..].find("</script>").unwrap();
    serde_json::from_str(&html[begin..end]).unwrap()
}

#[test]
fn the_accuracy_is_told_in_units_in_words_and_in_the_summary() {
    let s = Scratch::new("verify");
    s.write("m.toml", SPRING);
    let model = text(&s, "m.toml");
    let out = text(&s, "out");
    let ended = s.bellcrank(&["run", &model, "--verify", "--method", "rk4", "--step", "0.02", "--out", &out]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("accuracy: the largest error is"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("a step 2.1 times finer makes it") && ended.stderr.contains("(rk4 has 4)"),
        "{}",
        ended.stderr
    );
    let summary: Value = serde_json::from_slice(&std::fs::read(format!("{out}/summary.json")).unwrap()).unwrap();
    let v = &summary["verification"];
    assert_eq!((&summary["status"], &v["converges"]), (&"finished".into(), &true.into()));
    assert!((v["observed_order"].as_f64().unwrap() - 4.0).abs() < 0.2, "{v}");
    // the told error is that of x = cos 2t
    let csv = std::fs::read_to_string(format!("{out}/results.csv")).unwrap();
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let x = head.iter().position(|c| c.starts_with("m.x")).unwrap();
    let rows = csv.lines().skip(1).map(|l| l.split(',').map(|c| c.parse::<f64>().unwrap()).collect::<Vec<_>>());
    let error = rows.map(|r| (r[x] - (2.0 * r[0]).cos()).abs()).fold(0.0, f64::max);
    let told = v["errors"]["m.x"].as_f64().unwrap();
    assert!(told > 0.7 * error && told < 1.4 * error, "told {told:e}, is {error:e}");
    // what cannot be refined is told, and no failure
    let ended = s.bellcrank(&["run", &model, "--verify", "--rtol", "1e-13", "--json"]);
    let v: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(ended.code == 0 && v["verification"]["error"].as_str().unwrap().contains("double precision"), "{v}");
}

#[test]
fn rounding_errors_of_what_never_moves_are_no_failures() {
    // one pin without a moment, a wheel that turns in its place, a free body, a road that never turns
    for name in ["pendulum", "gear-train", "dzhanibekov", "quarter-car", "cardan-shaft"] {
        let s = Scratch::new(&format!("noise-{name}"));
        let model = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let file = text(&s, "r.html");
        let ended = s.bellcrank(&["run", &model, "--verify", "--report", &file, "-q"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let d = data(&std::fs::read_to_string(&file).unwrap());
        for section in d["sections"].as_array().unwrap() {
            for fact in section["facts"].as_array().unwrap() {
                assert_ne!(fact["verdict"], "bad", "{name}: {fact}");
            }
        }
    }
}

#[test]
fn a_report_is_one_file_with_all_the_evidence() {
    let s = Scratch::new("report");
    s.write("m.toml", SPRING);
    let model = text(&s, "m.toml");
    let file = text(&s, "r.html");
    let ended = s.bellcrank(&[
        "run",
        &model,
        "--verify",
        "--sample",
        "0.015",
        "--report",
        &file,
        "--plot",
        "m.x",
        "--plot",
        "m.vx, m.vy",
        "--set",
        "body.m.mass=1",
    ]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let html = std::fs::read_to_string(&file).unwrap();
    let d = data(&html);
    assert_eq!(d["plots"], serde_json::json!([["m.x"], ["m.vx", "m.vy"]]));
    assert_eq!((&d["status"]["state"], &d["rows"]), (&"finished".into(), &201.into()));
    let titles: Vec<&str> = d["sections"].as_array().unwrap().iter().map(|s| s["title"].as_str().unwrap()).collect();
    let all = [
        "In short",
        "Doubts",
        "Accuracy",
        "Energy",
        "Momentum",
        "Constraints",
        "Reactions",
        "Steps",
        "Time",
        "Model and program",
    ];
    assert_eq!(titles, all);
    let fact = |section: usize, name: &str| {
        let facts = d["sections"][section]["facts"].as_array().unwrap();
        facts.iter().find(|f| f["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!(d["sections"][1]["facts"].as_array().map(Vec::len), Some(0), "a spring on a rail leaves no doubt");
    for k in 2..7 {
        assert_eq!(d["sections"][k]["facts"][0]["verdict"], "good", "{}", d["sections"][k]);
    }
    assert_eq!(fact(9, "Overridden")["value"], "body.m.mass=1");
    assert_eq!(d["sections"][9]["code"], SPRING);
    let digest = Command::new("sha256sum").arg(&model).output().map(|o| String::from_utf8_lossy(&o.stdout).to_string());
    if let Ok(digest) = digest {
        assert_eq!(fact(9, "SHA-256")["value"], digest.split(' ').next().unwrap());
    }
    assert!(!d["sections"][7]["diagrams"][0]["points"].as_array().unwrap().is_empty());
    assert!(html.len() < 1_200_000, "{} bytes", html.len());
    // without a name it goes beside the results; a model is never overwritten, an unknown channel told at once
    let out = text(&s, "out");
    assert_eq!(s.bellcrank(&["run", &model, "--report", "--out", &out, "--quiet"]).code, 0);
    assert!(
        data(&std::fs::read_to_string(format!("{out}/report.html")).unwrap())["sections"][2]["text"]
            .as_str()
            .unwrap()
            .contains("--verify")
    );
    let ended = s.bellcrank(&["run", &model, "--report", &model]);
    assert!(ended.code == 2 && ended.stderr.contains("HTML") && std::fs::read_to_string(&model).unwrap() == SPRING);
    let ended = s.bellcrank(&["run", &model, "--report", &file, "--plot", "m.xx"]);
    assert!(ended.code == 2 && ended.stderr.contains("did you mean"), "{}", ended.stderr);
}

#[test]
fn a_live_run_serves_itself_while_it_goes_on_and_ends_when_nobody_looks() {
    let s = Scratch::new("live");
    s.write("m.toml", SPRING);
    let model = text(&s, "m.toml");
    let program = env!("CARGO_BIN_EXE_bellcrank");
    let start = |until: &str, more: &[&str]| {
        let mut child = Command::new(program)
            .args(["run", &model, "--live", "--no-open", "--port", "0", "--step", "1e-4", "--until", until])
            .args(more)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            assert!(words.read_line(&mut line).unwrap() > 0, "no address was told");
        }
        let at = line.find("127.0.0.1:").unwrap();
        (child, words, line[at..].split('/').next().unwrap().to_string())
    };
    let out = text(&s, "out");
    let (mut child, mut words, address) = start("2000", &["--out", &out]);
    let mut page = std::net::TcpStream::connect(&address).unwrap();
    page.write_all(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    let mut news = BufReader::new(page.try_clone().unwrap());
    let mut seen = (0, 0);
    while seen.0 < 5 {
        let mut line = String::new();
        assert!(news.read_line(&mut line).unwrap() > 0);
        if let Some(text) = line.strip_prefix("data: ") {
            let v: Value = serde_json::from_str(text).unwrap();
            assert_eq!(v["ended"], false, "it runs for long");
            seen = (seen.0 + 1, v["strip"].as_array().unwrap().len() + seen.1);
        }
    }
    assert!(seen.1 > 0);
    // interrupted, it ends at once although a page is open, and keeps what it has
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    if !stopped.is_ok_and(|s| s.success()) {
        let _ = child.kill();
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut rest = String::new();
    words.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("interrupted"), "{rest}");
    let mut rest = String::new();
    news.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("event: end"), "{rest}");
    let summary: Value = serde_json::from_slice(&std::fs::read(format!("{out}/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["status"], "interrupted");
    // nobody looks and there is no terminal: the end of the run is the end
    let (mut child, _words, _) = start("0.01", &[]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
