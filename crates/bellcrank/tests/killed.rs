//! Runs that are killed, interrupted, started twice or kept from writing: nothing is lost that was written, an earlier result
//! stays, and a run that is resumed gives the same bytes. `tools/kills` does the same 200 times.

#![cfg(unix)]

mod common;

use bellcrank_results::Results;
use common::{Scratch, root};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A machine with bounces on the way that takes a second or two, and one with some thousands of channels.
fn models(s: &Scratch) -> [(&'static str, Vec<String>); 2] {
    let examples = root().join("examples");
    let ball = examples.join("stick-slip.toml").to_string_lossy().into_owned();
    let net = examples.join("net.toml").to_string_lossy().into_owned();
    let _ = s;
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let mut small = words("--until 150 --sample 0.05 --method bdf --rtol 1e-8");
    small.insert(0, ball);
    let mut large = words("--until 2 --sample 0.001 --method gen-alpha --step 0.001");
    large.insert(0, net);
    [("small", small), ("large", large)]
}

fn start(s: &Scratch, arguments: &[String], out: &str, more: &[&str]) -> Child {
    let mut all = vec!["run"];
    all.extend(arguments.iter().map(String::as_str));
    all.extend(["--quiet", "--out", out]);
    all.extend(more);
    s.command(&all).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn kill(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// The frames and events of a result, and what its summary says of the motion.
fn result(s: &Scratch, out: &str) -> (Vec<u8>, Vec<u8>, Vec<u8>, Value) {
    let text = |name: &str| std::fs::read(s.path(&format!("{out}/{name}"))).unwrap_or_default();
    let mut summary: Value = serde_json::from_slice(&text("summary.json")).unwrap();
    summary["wall_seconds"] = Value::Null;
    assert!(!s.path(&format!("{out}/unfinished")).exists());
    (text("results.parquet"), text("results.csv"), text("events.csv"), summary)
}

/// Kills at ten moments, each of which finds something else going on, and resumes after each until the run ends.
#[test]
fn a_run_that_is_killed_again_and_again_gives_the_same_bytes() {
    let s = Scratch::new("killed");
    for (name, arguments) in models(&s) {
        let begun = Instant::now();
        assert!(start(&s, &arguments, "whole", &[]).wait().unwrap().success());
        let whole = begun.elapsed();
        let mut resume: &[&str] = &["--checkpoint", "0.02"];
        let mut kills = 0;
        for k in 0..5u32 {
            let mut child = start(&s, &arguments, "killed", resume);
            std::thread::sleep(whole.mul_f64(0.1 + 0.13 * f64::from(k % 3)) + Duration::from_millis(u64::from(7 * k)));
            kill(&child, "-KILL");
            if child.wait().unwrap().success() {
                resume = &[];
                break;
            }
            kills += 1;
            let found = Results::open(s.path("killed")).unwrap().now();
            assert!(matches!(found.state.word(), "killed" | "missing"), "{name}: {}", found.message);
            if s.path("killed/unfinished/checkpoint").exists() {
                resume = &["--checkpoint", "0.02", "--resume"];
            }
        }
        let ended = start(&s, &arguments, "killed", resume).wait_with_output().unwrap();
        assert!(ended.status.success(), "{name}: {}", String::from_utf8_lossy(&ended.stderr));
        assert!(kills >= 3, "{name}: {kills} kills");
        assert!(result(&s, "killed") == result(&s, "whole"), "{name}: after {kills} kills");
        std::fs::remove_dir_all(s.path("killed")).unwrap();
        std::fs::remove_dir_all(s.path("whole")).unwrap();
    }
}

#[test]
fn every_signal_that_ends_a_run_ends_it_cleanly_and_it_goes_on_from_there() {
    let s = Scratch::new("signals");
    let [(_, mut arguments), _] = models(&s);
    let until = arguments.iter().position(|a| a == "150").unwrap();
    arguments[until] = "600".into(); // rows are written once a second
    assert!(start(&s, &arguments, "whole", &[]).wait().unwrap().success());
    // who runs this test under `nohup` has asked for hang-ups to be ignored
    let ignored = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        ignored.lines().find_map(|l| l.strip_prefix("SigIgn:")).and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    let hangs_up = ignored.unwrap_or(0) & 1 == 0;
    for signal in ["-TERM", "-HUP", "-QUIT", "-INT"].into_iter().filter(|s| hangs_up || *s != "-HUP") {
        let _ = std::fs::remove_dir_all(s.path("results"));
        let child = start(&s, &arguments, "results", &[]);
        let begun = Instant::now();
        let rows = |s: &Scratch| std::fs::metadata(s.path("results/unfinished/results.rows")).map_or(0, |m| m.len());
        let before = rows(&s);
        while begun.elapsed() < Duration::from_secs(30) && rows(&s) <= before.max(1) {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(&child, signal);
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{signal}: {told}");
        assert!(told.contains("interrupted at t = ") && told.contains("--resume continues from there"), "{told}");
        assert_eq!(Results::open(s.path("results")).unwrap().now().state.word(), "interrupted");
    }
    assert!(start(&s, &arguments, "results", &["--resume"]).wait().unwrap().success());
    assert!(result(&s, "results") == result(&s, "whole"));
}

#[test]
fn resume_refuses_what_is_not_the_same_run_by_name() {
    let s = Scratch::new("refused");
    let [(_, arguments), _] = models(&s);
    let text = std::fs::read_to_string(&arguments[0]).unwrap();
    s.write("m.toml", &text);
    let mut mine = arguments.clone();
    mine[0] = "m.toml".into();
    let fails = |arguments: &[String], told: &str| {
        let ended = start(&s, arguments, "results", &["--resume"]).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{text}");
        assert!(text.contains(told), "{told}: {text}");
    };
    fails(&mine, "there is no checkpoint in results to resume from; run it without --resume");
    let child = start(&s, &mine, "results", &["--checkpoint", "0.01"]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) && !s.path("results/unfinished/checkpoint").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    fails(&mine, "another run is writing there");
    kill(&child, "-KILL");
    child.wait_with_output().unwrap();
    s.write("m.toml", text.replacen("mass = ", "mass = 1.0 + ", 1).replacen("1.0 + ", "1", 1));
    fails(&mine, "the model has changed since the run began");
    s.write("m.toml", &text);
    let mut other = mine.clone();
    other.extend(["--rtol".into(), "1e-7".into()]);
    let other: Vec<String> = {
        let at = other.iter().position(|a| a == "--rtol").unwrap();
        other.drain(at..at + 2);
        other
    };
    fails(&other, "rtol was 1e-8 and is 1e-7");
    let path = s.path("results/unfinished/checkpoint");
    let whole = std::fs::read(&path).unwrap();
    let mut bad = whole.clone();
    bad[whole.len() / 2] ^= 1;
    std::fs::write(&path, bad).unwrap();
    fails(&mine, "checkpoint is damaged: its checksum is wrong");
    let mut version = whole.clone();
    version[8] ^= 1;
    std::fs::write(&path, version).unwrap();
    fails(&mine, "of the format; this program reads version");
    std::fs::write(&path, whole).unwrap();
    assert!(start(&s, &mine, "results", &["--resume"]).wait().unwrap().success());
}

/// A resumed run took up with another road than it had begun on, and said nothing.
#[test]
fn resume_refuses_another_table_mesh_or_buffer_and_names_the_file() {
    let s = Scratch::new("files");
    let [(_, mut arguments), _] = models(&s);
    let text = std::fs::read_to_string(&arguments[0]).unwrap();
    let corners: Vec<u8> =
        [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let gltf = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}],"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"uri":"corners.bin","byteLength":36}]}"#;
    let pull = "\n[force.pull]\ntype = \"pid\"\njoint = \"slide\"\nreference = { table = \"data/pull.csv\", column = \"F\" }\nkp = 0.1\nkd = 0.01\n\
        [visual.block]\nbody = \"mass\"\nmesh = { file = \"block.gltf\" }\n[visual.wedge]\nbody = \"mass\"\nmesh = { file = \"wedge.stl\" }\n";
    std::fs::create_dir_all(s.path("data")).unwrap();
    let seeds = root().join("crates/bellcrank/tests/fuzz/seeds");
    let stl = std::fs::read(seeds.join("triangle.stl")).unwrap();
    s.write("m.toml", text + pull).write("block.gltf", gltf).write("corners.bin", &corners).write("wedge.stl", &stl);
    s.write("data/pull.csv", "t,F\n0,0\n100,1e-3\n200,0\n");
    arguments[0] = "m.toml".into();
    let child = start(&s, &arguments, "results", &["--checkpoint", "0.01"]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) && !s.path("results/unfinished/checkpoint").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(&child, "-KILL");
    let told = child.wait_with_output().unwrap();
    assert!(s.path("results/unfinished/checkpoint").exists(), "{}", String::from_utf8_lossy(&told.stderr));
    for file in ["data/pull.csv", "block.gltf", "corners.bin", "wedge.stl"] {
        let good = s.read(file);
        let mut changed = good.clone();
        // another number, the same number of bytes
        match file {
            "data/pull.csv" => changed = b"t,F\n0,0\n100,2e-3\n200,0\n".to_vec(),
            "block.gltf" => changed.push(b' '),
            "corners.bin" => changed[15] ^= 1,
            _ => *changed.last_mut().unwrap() ^= 1,
        }
        s.write(file, &changed);
        let ended = start(&s, &arguments, "results", &["--resume"]).wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{file}: {told}");
        assert!(
            told.contains(&format!("the file `{file}`, which the model reads, has changed since the run began")),
            "{file}: {told}"
        );
        s.write(file, &good);
    }
    assert!(start(&s, &arguments, "results", &["--resume"]).wait().unwrap().success());
}

#[test]
fn an_earlier_result_outlives_a_run_that_fails_or_is_killed() {
    let s = Scratch::new("outlives");
    let [(_, arguments), _] = models(&s);
    let mut short = arguments.clone();
    let at = short.iter().position(|a| a == "--until").unwrap() + 1;
    short[at] = "20".into();
    assert!(start(&s, &short, "results", &[]).wait().unwrap().success());
    let files = ["results.parquet", "results.csv", "summary.json", "end.state"];
    let read = || files.map(|name| s.read(&format!("results/{name}")));
    let earlier = read();
    for pause in [0, 5, 30, 100, 300] {
        let mut child = start(&s, &arguments, "results", &[]);
        std::thread::sleep(Duration::from_millis(pause));
        kill(&child, "-KILL");
        child.wait().unwrap();
        assert!(read() == earlier, "after {pause} ms");
    }
    let pole = "[model]\nplane = \"xy\"\n[body.b]\nmass = 1\ninertia = 1\n\
                [force.f]\ntype = \"force\"\nbody = \"b\"\nat = [0, 0]\nforce = [\"1/(0.3 - t)\", 0]\n";
    s.write("pole.toml", pole);
    let failed = start(&s, &["pole.toml".into()], "results", &[]).wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && told.contains("`1/(0.3 - t)` is infinite for t = 0.3"), "{told}");
    assert!(read() == earlier);
    // what was computed is beside it
    assert_eq!(Results::open(s.path("results/unfinished")).unwrap().now().state.word(), "failed");
}

/// The folder is moved away at sixty moments of a run, from its start to behind its end. Whoever reads exit status 0 finds the result, there or
/// where it was moved to.
#[test]
fn a_folder_that_goes_away_during_a_run_is_never_success_without_results() {
    let s = Scratch::new("vanishing");
    let model = root().join("examples/pendulum.toml").to_string_lossy().into_owned();
    let arguments = [model, "--until".into(), "20".into()];
    let began = Instant::now();
    assert!(start(&s, &arguments, "whole", &[]).wait().unwrap().success());
    let whole = began.elapsed();
    let (mut finished, mut refused) = (0, 0);
    for k in 0..60 {
        let mut child = start(&s, &arguments, "results", &[]);
        let moment = whole.mul_f64(f64::from(k) / 50.0);
        let until = Instant::now() + moment;
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = std::fs::rename(s.path("results"), s.path("gone"));
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        if ended.status.success() {
            finished += 1;
            // it may have begun behind the move
            let place = if s.path("gone/summary.json").exists() { "gone" } else { "results" };
            let found = Results::open(s.path(place)).unwrap().now();
            assert_eq!(found.state.word(), "finished", "{k}, after {moment:?}: {} {told}", found.message);
            assert!(s.path(&format!("{place}/results.parquet")).is_file(), "{k}, after {moment:?}: {told}");
        } else {
            refused += 1;
            assert!(told.contains("cannot write "), "{k}, after {moment:?}: {told}");
        }
        let _ = std::fs::remove_dir_all(s.path("gone"));
        let _ = std::fs::remove_dir_all(s.path("results"));
    }
    assert!(finished > 0 && refused > 0, "{finished} finished, {refused} refused");
}
