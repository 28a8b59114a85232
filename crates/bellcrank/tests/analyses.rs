//! The commands statics, modes and inverse, from outside.

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
