//! The commands statics, modes and inverse, from outside.

use bellcrank_results::Columns;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

const PENDULUM: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
arm = { rod = { from = [0, 0], to = [1, 0], mass = 2 } }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0] }
[force]
push = { type = "force", body = "arm", at = [1, 0], force = [0, 0] }
"#;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("bellcrank-analyses-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("arm.toml"), PENDULUM).unwrap();
        Scratch(folder)
    }
    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_bellcrank")).current_dir(&self.0).args(arguments).output().unwrap()
    }
    fn json(&self, arguments: &[&str]) -> Value {
        let out = self.run(arguments);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn statics_follows_a_load() {
    let s = Scratch::new("statics");
    let all = s.json(&["statics", "arm.toml", "--json", "--follow", "force.push.force.0=0..20:2", "--out", "results"]);
    let found = all["equilibria"].as_array().unwrap();
    assert_eq!(found.len(), 3);
    for (k, e) in found.iter().enumerate() {
        // F l cos β = m g (l/2) sin β with β from the vertical
        let expected = (10.0 * k as f64 / 9.81f64).atan() - std::f64::consts::FRAC_PI_2;
        assert!((e["final"]["pin.angle"].as_f64().unwrap() - expected).abs() < 1e-9, "{e}");
        assert_eq!(e["stability"], "stable");
        assert!((e["final"]["pin.fy"].as_f64().unwrap() - 19.62).abs() < 1e-8);
    }
    let table = std::fs::read_to_string(s.0.join("results/statics.csv")).unwrap();
    assert!(table.starts_with("force.push.force.0,arm.x [m],") && table.lines().count() == 4);
    let wrong = s.run(&["statics", "arm.toml", "--follow", "force.push.force.0=1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("help: write it like --follow"));
}

#[test]
fn modes_are_told_about_the_asked_state() {
    let s = Scratch::new("modes");
    let all = s.json(&["modes", "arm.toml", "--json", "--out", "results"]);
    let frequency = all["modes"][0]["frequency"].as_f64().unwrap();
    assert!((frequency - f64::sqrt(1.5 * 9.81) / std::f64::consts::TAU).abs() < 1e-10);
    assert!(s.0.join("results/modes.json").exists() && s.0.join("results/modes.csv").exists());
    let start = s.json(&["modes", "arm.toml", "--json", "--at", "start"]);
    assert!(start["modes"][0]["frequency"].as_f64().unwrap() < 1e-6, "level, no torque drives it back");
    let wrong = s.run(&["modes", "arm.toml", "--at", "noon"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("unknown state `noon`"));
}

#[test]
fn inverse_tells_the_torque_or_what_is_missing() {
    let s = Scratch::new("inverse");
    let free = s.run(&["inverse", "arm.toml"]);
    assert_eq!(free.status.code(), Some(2));
    let told = String::from_utf8_lossy(&free.stderr).into_owned();
    assert!(
        told.contains("not fully prescribed: 1 degree of freedom is free") && told.contains("`pin.angle`"),
        "{told}"
    );
    let all = s.json(&["inverse", "arm.toml", "--json", "--until", "1", "--drive", "pin.angle=0"]);
    assert!((all["drives"][0]["peak"].as_f64().unwrap() - 9.81).abs() < 1e-9, "{all}");
    assert_eq!(all["drives"][0]["unit"], "N m");
}

impl Scratch {
    /// A column of the results in a folder.
    fn column(&self, folder: &str, name: &str) -> Vec<f64> {
        let columns = Columns::open(&self.0.join(folder)).unwrap();
        let k = columns.names.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name}: {:?}", columns.names));
        columns.read(&[k]).unwrap().pop().unwrap()
    }

    fn read(&self, file: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.0.join(file)).unwrap()).unwrap()
    }
}

#[test]
fn equilibria_are_a_scene_with_a_chapter_for_each() {
    let s = Scratch::new("statics-scene");
    s.json(&["statics", "arm.toml", "--json", "--follow", "force.push.force.0=0..20:2", "--out", "rest"]);
    assert_eq!(s.read("rest/scene.json")["bodies"][0]["name"], "arm");
    assert_eq!(s.column("rest", "time"), [0.0, 1.0, 2.0]);
    assert_eq!(s.column("rest", "force.push.force.0"), [0.0, 10.0, 20.0]);
    for (k, (x, y)) in s.column("rest", "arm.x").into_iter().zip(s.column("rest", "arm.y")).enumerate() {
        // the arm lies along the sum of its weight at the middle and the load at its end: (F, −m g / 2)
        let (f, g) = (10.0 * k as f64, 9.81);
        assert!((x - 0.5 * f / f.hypot(g)).abs() < 1e-9 && (y + 0.5 * g / f.hypot(g)).abs() < 1e-9, "{x} {y}");
    }
    let chapters = s.read("rest/summary.json")["chapters"].clone();
    assert_eq!(chapters[2]["name"], "force.push.force.0 = 20");
    assert_eq!(chapters[2]["facts"][0], "stable equilibrium");
    // once more, and alone; the earlier rows are gone
    s.json(&["statics", "arm.toml", "--json", "--out", "rest"]);
    assert_eq!(s.column("rest", "time"), [0.0]);
    assert!(s.0.join("rest/statics.csv").exists());
    let drawn = s.run(&["plot", "rest", "--picture", "--save", "rest.svg"]);
    assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
}

#[test]
fn results_of_a_run_are_not_replaced_by_an_analysis() {
    let s = Scratch::new("kept");
    assert!(s.run(&["run", "arm.toml", "--until", "0.1", "--quiet", "--out", "r"]).status.success());
    for analysis in ["statics", "modes"] {
        let refused = s.run(&[analysis, "arm.toml", "--out", "r"]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(
            told.contains("r holds the results of `bellcrank run`") && told.contains("help: choose another"),
            "{told}"
        );
    }
    assert!(s.column("r", "time").len() > 1);
}

#[test]
fn shapes_of_modes_move_and_keep_their_joints_closed() {
    let s = Scratch::new("modes-scene");
    s.json(&["modes", "arm.toml", "--json", "--out", "m"]);
    let summary = s.read("m/summary.json");
    let chapter = &summary["chapters"][0];
    let frequency = f64::sqrt(1.5 * 9.81) / std::f64::consts::TAU;
    assert!((chapter["frequency"].as_f64().unwrap() - frequency).abs() < 1e-10);
    assert_eq!(chapter["facts"][0], format!("{frequency:.6} Hz"));
    assert_eq!(chapter["facts"][1], "damping 0.000000");
    let [from, to] = ["from", "to"].map(|k| chapter[k].as_f64().unwrap());
    let times = s.column("m", "time");
    let angles = s.column("m", "pin.angle");
    let (x, y) = (s.column("m", "arm.x"), s.column("m", "arm.y"));
    let swing: Vec<usize> = (0..times.len()).filter(|i| (from..=to).contains(&times[*i])).collect();
    let rest = angles[swing[0]];
    let most = swing.iter().map(|i| (angles[*i] - rest).abs()).fold(0.0, f64::max);
    assert!(most > 0.05 && most < 0.4, "{most}");
    for i in swing {
        // a sine of one period about the equilibrium, up to the curvature of the way
        let sine = (std::f64::consts::TAU * (times[i] - from) / (to - from)).sin();
        assert!(((angles[i] - rest).abs() - most * sine.abs()).abs() < 0.05 * most, "{} {sine}", angles[i] - rest);
        assert!((x[i].hypot(y[i]) - 0.5).abs() < 1e-10, "the pin is closed");
        assert!((x[i] - 0.5 * angles[i].cos()).abs() < 1e-10 && (y[i] - 0.5 * angles[i].sin()).abs() < 1e-10);
    }
}

#[test]
fn a_prescribed_motion_has_a_scene() {
    let s = Scratch::new("inverse-scene");
    s.json(&["inverse", "arm.toml", "--json", "--until", "1", "--drive", "pin.angle=t", "--out", "driven"]);
    assert_eq!(s.read("driven/scene.json")["joints"][0]["name"], "pin");
    for (t, x) in s.column("driven", "time").into_iter().zip(s.column("driven", "arm.x")) {
        assert!((x - 0.5 * t.cos()).abs() < 1e-12, "{t} {x}");
    }
}
