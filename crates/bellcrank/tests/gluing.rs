//! `bellcrank glue` and `bellcrank run --split` from outside.

mod common;

use common::{Scratch, root};
use serde_json::Value;

fn example(name: &str) -> String {
    root().join("examples").join(name).to_string_lossy().into_owned()
}

fn json(s: &Scratch, args: &[&str]) -> Value {
    let ended = s.bellcrank(args);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn an_assembly_tells_what_is_left_of_every_residual() {
    let s = Scratch::new("glue");
    let assembly = example("quarter-car-parts/assembly.toml");
    let v = json(&s, &["glue", &assembly, "--until", "0.1", "--json"]);
    assert_eq!((&v["status"], &v["windows"]), (&"finished".into(), &100.into()));
    let names: Vec<&str> = v["parts"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, ["chassis", "suspension", "wheel"]);
    for level in ["position", "velocity", "acceleration", "dynamics"] {
        let (left, allowed) = (v["residuals"][level].as_f64().unwrap(), v["tolerances"][level].as_f64().unwrap());
        // gaps in m and rates in m/s of a machine of a metre with windows of 1 ms, accelerations of some 100 m/s²
        let unit = match level {
            "velocity" => 1e3,
            "acceleration" => 1e3,
            _ => 1.0,
        };
        assert!(allowed > 0.0 && left <= allowed * unit, "{level}: {left:e} > {allowed:e}");
    }
    // the final values: the rim of the wheel is held to its hub
    let last = |channel: &str| v["final"][channel].as_f64().unwrap_or_else(|| panic!("no {channel} in {}", v["final"]));
    assert_eq!(last("t"), 0.1);
    assert!((last("wheel/centre.x") - last("suspension/outer.x")).abs() < 1e-9);
    assert!((last("wheel/centre.y") - last("suspension/outer.y")).abs() < 1e-9 && last("chassis/mount.y") < 0.3);
    let loose = json(&s, &["glue", &assembly, "--until", "0.1", "--tolerances", "1e-6,1e-6,1e-6,1e-6", "--json"]);
    assert_eq!(loose["tolerances"]["dynamics"], 1e-6);
    assert!(loose["exchanges"].as_u64() < v["exchanges"].as_u64(), "{loose}\n{v}");
    let wrong = s.bellcrank(&["glue", &assembly, "--tolerances", "1e-6,-1"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("one positive number or four"), "{}", wrong.stderr);
    let wrong = s.bellcrank(&["glue", &assembly, "--coupling", "explicit"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("joint `hub`"), "{}", wrong.stderr);
}

#[test]
fn windows_by_error_control_end_at_the_samples() {
    let s = Scratch::new("glue-rtol");
    let assembly = example("quarter-car-parts/assembly.toml");
    for coupling in ["stabilized", "windows"] {
        let args = ["glue", &assembly, "--until", "0.1", "--rtol", "1e-4", "--coupling", coupling, "--json"];
        let v = json(&s, &args);
        assert_eq!(v["status"], "finished");
        assert!(v["windows"].as_u64() >= Some(200), "{v}");
    }
}

#[test]
fn the_papers_gluing_is_a_coupling_whose_exchanges_are_counted() {
    let s = Scratch::new("glue-gauss");
    let assembly = example("quarter-car-parts/assembly.toml");
    let run = |coupling: &str, window: &str| {
        json(&s, &["glue", &assembly, "--until", "0.05", "--window", window, "--coupling", coupling, "--json"])
    };
    let reference = run("stabilized", "1e-4");
    let off = |v: &Value| {
        let at = |v: &Value, channel: &str| v["final"][channel].as_f64().unwrap();
        let places = ["chassis/mount.y", "wheel/centre.y", "suspension/outer.x"];
        places.iter().map(|c| (at(v, c) - at(&reference, c)).abs()).fold(0.0, f64::max)
    };
    let (gauss, ours) = (run("gauss", "1e-3"), run("stabilized", "1e-3"));
    assert!(off(&gauss) < 1e-4 && off(&gauss) < 10.0 * off(&ours) + 1e-6, "{:e} {:e}", off(&gauss), off(&ours));
    let count = |v: &Value| v["exchanges"].as_u64().unwrap();
    // the bushing of 1e6 N/m costs ten iterations in a window of 1 ms
    let (many, few) = (count(&gauss), count(&ours));
    assert!(many > 10 * few && many < 35 * 50, "{many} exchanges, and {few}");
    let naive = s.bellcrank(&["glue", &assembly, "--until", "0.05", "--coupling", "naive"]);
    assert!(naive.code == 1 && naive.stderr.contains("use --coupling gauss"), "{}", naive.stderr);
    let adaptive = s.bellcrank(&["glue", &assembly, "--rtol", "1e-4", "--coupling", "gauss"]);
    assert!(adaptive.code == 2 && adaptive.stderr.contains("no estimate of its error"), "{}", adaptive.stderr);
}

#[test]
fn a_split_model_tells_the_largest_difference() {
    let s = Scratch::new("split");
    let model = example("four-bar.toml");
    let v = json(&s, &["run", &model, "--until", "0.2", "--step", "1e-3", "--split", "B,D", "--json"]);
    let differences = v["differences"].as_array().unwrap();
    let of = |unit: &str| differences.iter().find(|d| d["unit"] == unit).unwrap()["difference"].as_f64().unwrap();
    assert!(of("m") < 1e-9 && of("rad") < 1e-8, "{v}");
    assert!(v["exchanges"].as_u64().unwrap() <= 2 * v["windows"].as_u64().unwrap(), "{v}");
    let split = ["run", &model, "--until", "0.2", "--step", "1e-3", "--split", "B,D", "--tolerances", "1e-5", "--json"];
    let loose = json(&s, &split);
    assert_eq!(loose["tolerances"]["dynamics"], 1e-5);
    assert!(loose["exchanges"].as_u64() < v["exchanges"].as_u64(), "{loose}\n{v}");
    let text = s.bellcrank(&["run", &model, "--until", "0.2", "--split", "B"]);
    assert!(text.stdout.contains("whole and glued differ at most by") || text.stderr.contains("whole and glued"));
    let wrong = s.bellcrank(&["run", &model, "--split", "Q"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("`Q`") && wrong.stderr.contains("there are A, B"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn the_whole_beside_a_cut_model_runs_in_the_coordinates_that_were_asked_for() {
    let s = Scratch::new("cut-relative");
    let model = example("four-bar.toml");
    let run = |coordinates: &str| {
        json(
            &s,
            &[
                "run",
                &model,
                "--until",
                "0.2",
                "--rtol",
                "1e-8",
                "--split",
                "B",
                "--coordinates",
                coordinates,
                "--json",
            ],
        )
    };
    let (cartesian, relative) = (run("cartesian"), run("relative"));
    assert_eq!(cartesian["coordinates"]["whole"], "cartesian");
    assert_eq!(relative["coordinates"]["whole"], "relative");
    // the parts are the same, the whole is another run
    assert_eq!(relative["exchanges"], cartesian["exchanges"]);
    assert_ne!(relative["differences"], cartesian["differences"]);
    for d in relative["differences"].as_array().unwrap().iter().filter(|d| d["unit"] == "m" || d["unit"] == "rad") {
        assert!(d["difference"].as_f64().unwrap() < 1e-5, "{d}");
    }
}

#[test]
fn a_glued_run_is_not_resumed_with_a_part_that_changed() {
    let s = Scratch::new("glue-changed");
    for name in ["assembly.toml", "chassis.toml", "suspension.toml", "wheel.toml"] {
        s.write(name, std::fs::read(example(&format!("quarter-car-parts/{name}"))).unwrap());
    }
    let glue = |more: &[&str]| {
        let base = ["glue", "assembly.toml", "--until", "0.05", "--out", "results", "--checkpoint", "10", "--json"];
        s.bellcrank(&[&base[..], more].concat())
    };
    assert_eq!(glue(&[]).code, 0);
    assert_eq!(glue(&["--resume"]).code, 0);
    let wheel = String::from_utf8(s.read("wheel.toml")).unwrap();
    s.write("wheel.toml", wheel.replacen("mass = ", "mass = 1", 1));
    let ended = glue(&["--resume"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("part `wheel` has changed since the run began"), "{}", ended.stderr);
    s.write("wheel.toml", &wheel);
    assert_eq!(glue(&["--resume"]).code, 0);
    let assembly = String::from_utf8(s.read("assembly.toml")).unwrap();
    s.write("assembly.toml", format!("{assembly}\n# a remark changes nothing\n"));
    assert_eq!(glue(&["--resume"]).code, 0);
}

#[cfg(unix)]
#[test]
fn models_of_parts_are_plain_files_of_models() {
    let s = Scratch::new("glue-hostile");
    s.write("secret.txt", "the first line is nobody's business\n");
    assert!(std::process::Command::new("mkfifo").arg(s.path("pipe.toml")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", s.path("zero.toml")).unwrap();
    for (file, told) in [
        ("/dev/zero", "a model is a .toml or .json file"),
        ("secret.txt", "a model is a .toml or .json file"),
        ("pipe.toml", "it is no plain file"),
        ("zero.toml", "it is no plain file"),
    ] {
        s.write("assembly.toml", format!("[part.a]\nmodel = \"{file}\"\n"));
        let ended = s.bellcrank(&["glue", "assembly.toml"]);
        assert_eq!(ended.code, 2, "{file}: {}", ended.stderr);
        assert!(ended.stderr.contains(told) && !ended.stderr.contains("business"), "{file}: {}", ended.stderr);
    }
}
