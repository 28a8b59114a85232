//! `bellcrank run` from outside: what it prints, what it writes, and that the numbers obey mechanics.

mod common;

use common::{Ended, Recorded, Scratch, root};
use serde_json::{Value, json};
use std::f64::consts::TAU;

fn example() -> String {
    root().join("examples/slider-crank.toml").to_string_lossy().into_owned()
}

const PENDULUM: &str = r#"
[model]
name = "pendulum"
plane = "xy"
gravity = [0, -9.81]
[parameter]
length = 0.8
[body.bob]
mass = 1.5
inertia = 0.1
at = ["length", 0]
[joint.pin]
type = "revolute"
between = ["ground", "bob"]
at = [0, 0]
"#;

fn near(x: f64, y: f64, tolerance: f64, what: &str) {
    assert!((x - y).abs() <= tolerance, "{what}: {x} is not {y} within {tolerance:e}");
}

fn number(v: &Value, channel: &str) -> f64 {
    v["final"][channel].as_f64().unwrap_or_else(|| panic!("no {channel} in {v}"))
}

#[test]
fn json_has_every_promised_key_and_stdout_nothing_else() {
    let s = Scratch::new("json");
    let ended = s.bellcrank(&["run", &example(), "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_eq!(ended.stdout.lines().count(), 1);
    let v: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(v["model"], "slider-crank");
    assert_eq!(v["status"], "finished");
    for key in ["method", "formulation", "iteration"] {
        assert!(v[key].as_str().is_some_and(|s| !s.is_empty()), "{key}");
    }
    let counts = "steps rejected error_test_failures convergence_failures residual_evaluations \
                  jacobian_evaluations factorizations iterations";
    for key in counts.split_whitespace() {
        assert!(v[key].is_u64(), "{key}");
    }
    assert_eq!(
        v["rejected"].as_u64(),
        Some(v["error_test_failures"].as_u64().unwrap() + v["convergence_failures"].as_u64().unwrap())
    );
    let numbers =
        ["wall_seconds", "drift.position", "drift.velocity", "energy.initial", "energy.final", "energy.max_error"];
    for key in numbers.into_iter().chain(["final.t"]) {
        let value = key.split('.').fold(&v, |v, part| &v[part]);
        assert!(value.is_f64(), "{key}");
    }
    let mut channels: Vec<String> = Vec::new();
    for body in ["crank", "link"] {
        channels.extend(["x", "y", "angle", "vx", "vy", "wz"].map(|c| format!("{body}.{c}")));
    }
    channels.extend(["pin.angle", "pin.rate", "pin.fx", "pin.fy", "pin.mz"].map(String::from));
    channels.extend(["B.x", "B.y", "B.vx", "B.vy", "B.ax", "B.ay"].map(String::from));
    channels.extend(["energy.kinetic", "energy.stored", "energy.total"].map(String::from));
    for channel in channels {
        assert!(v["final"][&channel].is_f64(), "{channel}");
    }
    assert_eq!(number(&v, "t"), 2.0);
}

#[test]
fn channels_in_space_are_quaternions_and_vectors() {
    let s = Scratch::new("space");
    let model = r#"
        body.top = { mass = 1, inertia = [1, 2, 3], angular_velocity = [1, 2, 3] }
        joint.foot = { type = "revolute", between = ["ground", "top"], at = [0, 0, 0], axis = [1, 2, 3] }
        probe.P = { body = "top", at = [0, 0, 1] }
    "#;
    let v = s.write("m.toml", model).json("m.toml", &[]);
    let names = "top.x top.y top.z top.qw top.qx top.qy top.qz top.vx top.vy top.vz top.wx top.wy top.wz \
                 foot.angle foot.rate foot.fx foot.fy foot.fz foot.mx foot.my foot.mz \
                 P.x P.y P.z P.vx P.vy P.vz P.ax P.ay P.az P.wx P.wy P.wz energy.kinetic energy.stored energy.total";
    let found: Vec<&str> = v["final"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(found, ["t"].into_iter().chain(names.split_whitespace()).collect::<Vec<_>>());
    let q: f64 = ["qw", "qx", "qy", "qz"].iter().map(|c| number(&v, &format!("top.{c}")).powi(2)).sum();
    near(q, 1.0, 1e-14, "the quaternion's length");
}

#[test]
fn a_piped_run_shows_no_progress_and_writes_words_to_stderr_only() {
    let s = Scratch::new("piped");
    s.write("m.toml", PENDULUM);
    let ended = s.bellcrank(&["run", "m.toml", "--until", "100"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""));
    assert!(!ended.stderr.contains(['\r', '\u{1b}', '%']), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("pendulum: 1 body, 1 joint, 0 forces; 1 degree of freedom\n"), "{}", ended.stderr);
    let quiet = s.bellcrank(&["run", "m.toml", "--quiet"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let s = Scratch::new("closed");
    s.write("m.toml", PENDULUM);
    let lines = "run m.toml; run m.toml --json; statics m.toml; modes m.toml; check m.toml; reference; schema";
    for args in lines.split("; ").map(|line| line.split(' ').collect::<Vec<_>>()) {
        let mut child = s.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

#[test]
fn results_are_written_with_units() {
    let s = Scratch::new("out");
    let table = s.record(PENDULUM, &["--until", "2", "--sample", "0.1"]);
    assert_eq!(s.list("results"), ["end.state", "results.csv", "results.parquet", "scene.json", "summary.json"]);
    let header = "time [s],bob.x [m],bob.y [m],bob.angle [rad],bob.vx [m/s],bob.vy [m/s],bob.wz [rad/s],\
                  pin.angle [rad],pin.rate [rad/s],pin.fx [N],pin.fy [N],pin.mz [N m],\
                  energy.kinetic [J],energy.stored [J],energy.total [J]";
    assert_eq!(table.header.join(","), header);
    let times = table.column("time");
    assert_eq!(times.len(), 21);
    times.iter().enumerate().for_each(|(i, t)| near(*t, 0.1 * i as f64, 1e-15, "a sample's time"));

    let parquet = s.read("results/results.parquet");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let holds = |text: &str| parquet.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(holds("unit.bob.x") && holds("rad/s") && holds("pendulum"));

    let summary: Value = serde_json::from_slice(&s.read("results/summary.json")).unwrap();
    assert_eq!(summary["status"], "finished");
    assert_eq!(summary["files"], json!(["results.parquet", "results.csv"]));
    // the last row is the end that the summary tells
    for name in table.header.iter().skip(1).map(|h| h.split(" [").next().unwrap()) {
        let end = number(&summary, name); // read back to the last bit but one
        near(*table.column(name).last().unwrap(), end, 1e-15 * end.abs(), name);
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let s = Scratch::new("bytes");
    let run = |out: &str| {
        let ended = s.bellcrank(&["run", &example(), "--json", "--out", out]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let without_clock = |text: &[u8]| {
            let mut v: Value = serde_json::from_slice(text).unwrap();
            v.as_object_mut().unwrap().remove("wall_seconds");
            v.to_string()
        };
        let summary = without_clock(&s.read(&format!("{out}/summary.json")));
        (
            without_clock(ended.stdout.as_bytes()),
            summary,
            s.read(&format!("{out}/results.csv")),
            s.read(&format!("{out}/results.parquet")),
        )
    };
    assert!(run("first") == run("second"));
    assert!(run("first") == run("second"), "also when results are replaced");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_cleanly_and_keeps_the_results() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let s = Scratch::new("interrupt");
    s.write("m.toml", PENDULUM);
    let args = ["run", "m.toml", "--json", "--out", "results", "--until", "1e7", "--sample", "0.5", "--rtol", "1e-10"];
    let child = s.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while std::fs::metadata(s.path("results/unfinished/results.csv")).map_or(0, |m| m.len()) < 10_000 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 1);
    let v: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(v["status"], "interrupted");
    let t = number(&v, "t");
    let told = format!(
        "error: interrupted at t = {t} s\nhelp: results up to that time are in results; --resume continues from there\n"
    );
    assert_eq!(ended.stderr, told);
    assert_eq!(s.list("results"), ["results.csv", "results.parquet", "scene.json", "summary.json", "unfinished"]);
    assert_eq!(s.list("results/unfinished"), ["checkpoint", "results.rows"]);
    let summary: Value = serde_json::from_slice(&s.read("results/summary.json")).unwrap();
    assert_eq!((&summary["status"], number(&summary, "t")), (&v["status"], t));
    let times = Recorded::parse(&String::from_utf8(s.read("results/results.csv")).unwrap()).column("time");
    assert!(times.len() > 20 && t - times.last().unwrap() < 0.5 && *times.last().unwrap() <= t);
    assert!(s.read("results/results.parquet").ends_with(b"PAR1"));
}

#[test]
fn overrides_change_the_model() {
    let s = Scratch::new("set");
    s.write("m.toml", PENDULUM).write("long.toml", PENDULUM.replace("length = 0.8", "length = 1.2"));
    let last = |file: &str, options: &[&str]| s.json(file, options)["final"].clone();
    assert_eq!(last("m.toml", &["--set", "parameter.length=1.2"]), last("long.toml", &[]));
    assert_ne!(last("m.toml", &[]), last("long.toml", &[]));
    let twice = ["--set", "parameter.length=3", "--set", "parameter.length=\"0.6*2\"", "--set", "solve.until=2"];
    assert_eq!(last("m.toml", &twice), last("long.toml", &["--until", "2"]));
}

#[test]
fn toml_and_json_are_the_same_model() {
    let s = Scratch::new("twins");
    let twin = json!({
        "$schema": "https://bellcrank.dev/model.schema.json",
        "model": { "name": "pendulum", "plane": "xy", "gravity": [0, -9.81] },
        "parameter": { "length": 0.8 },
        "body": { "bob": { "mass": 1.5, "inertia": 0.1, "at": ["length", 0] } },
        "joint": { "pin": { "type": "revolute", "between": ["ground", "bob"], "at": [0, 0] } },
    });
    s.write("m.toml", PENDULUM).write("m.json", twin.to_string());
    let run = |file: &str, out: &str| {
        let mut v = s.json(file, &["--out", out]);
        v.as_object_mut().unwrap().remove("wall_seconds");
        (v, s.read(&format!("{out}/results.csv")), s.read(&format!("{out}/results.parquet")))
    };
    assert!(run("m.toml", "a") == run("m.json", "b"));
}

#[test]
fn keys_of_solve_are_the_options_of_the_command_line() {
    let s = Scratch::new("solve");
    s.write("plain.toml", PENDULUM);
    for (keys, options) in [
        ("until = 1.5", "--until 1.5"),
        ("rtol = 1e-9", "--rtol 1e-9"),
        ("rtol = 1e-9\natol = 1e-3", "--rtol 1e-9 --atol 1e-3"),
        ("method = \"bdf\"", "--method bdf"),
        ("method = \"bdf\"\nmax_order = 2", "--method bdf --max-order 2"),
        ("method = \"bdf\"\nformulation = \"index3\"", "--method bdf --formulation index3"),
        ("method = \"bdf\"\niteration = \"full\"", "--method bdf --iteration full"),
        ("method = \"bdf\"\ntest = \"q\"", "--method bdf --test q"),
        ("method = \"gen-alpha\"\nstep = 0.01", "--method gen-alpha --step 0.01"),
        ("method = \"gen-alpha\"\nstep = 0.01\nrho = 0.2", "--method gen-alpha --step 0.01 --rho 0.2"),
        ("step = 0.01\nformulation = \"index1\"", "--step 0.01 --formulation index1"),
    ] {
        let told = |v: &Value| (v["final"].clone(), v["steps"].clone(), v["method"].clone(), v["formulation"].clone());
        let file =
            s.write("keys.toml", format!("{PENDULUM}[solve]\n{keys}\n")).json("keys.toml", &["--errors", "step"]);
        let line = s.json("plain.toml", &format!("{options} --errors step").split(' ').collect::<Vec<_>>());
        assert_eq!(told(&file), told(&line), "{keys}");
    }
    // the command line wins
    s.write("keys.toml", format!("{PENDULUM}[solve]\nuntil = 3\nmethod = \"gen-alpha\"\nstep = 0.01\n"));
    let v = s.json("keys.toml", &["--until", "0.5", "--method", "bdf", "--rtol", "1e-7"]);
    let plain = s.json("plain.toml", &["--until", "0.5", "--method", "bdf", "--rtol", "1e-7"]);
    assert_eq!((&v["final"], &v["method"]), (&plain["final"], &json!("bdf")));
    // samples do not disturb the run
    let rows = |options: &[&str]| s.record(PENDULUM, options).rows;
    let (coarse, fine) = (rows(&["--sample", "0.5"]), rows(&["--sample", "0.05"]));
    assert_eq!((coarse.len(), fine.len()), (3, 21));
    assert_eq!(coarse.last(), fine.last());
}

#[test]
fn joint_angles_count_turns() {
    let s = Scratch::new("turns");
    let plane = |spin: f64| {
        format!(
            "model.plane = \"xy\"\nbody.arm = {{ mass = 1, inertia = 0.1, at = [0.5, 0] }}\n\
             joint.pin = {{ type = \"revolute\", between = [\"ground\", \"arm\"], at = [0, 0] }}\nstart.pin.rate = {spin}\n"
        )
    };
    let space = |spin: f64| {
        format!(
            "body.arm = {{ mass = 1, inertia = [0.1, 0.2, 0.2], at = [0.5, 0, 0] }}\n\
             joint.pin = {{ type = \"revolute\", between = [\"ground\", \"arm\"], at = [0, 0, 0], axis = [0.3, -1, 2] }}\n\
             start.pin.rate = {spin}\n"
        )
    };
    for spin in [20.0, -13.0] {
        for model in [plane(spin), space(spin)] {
            for options in [
                "--rtol 1e-9",
                // its error, a thousand times rtol, is doubted
                "--method bdf --rtol 1e-9 --errors step",
                "--method gen-alpha --step 2e-3",
                "--method rk4 --step 1e-3",
            ] {
                let mut args = vec!["--until", "5", "--sample", "0.1"];
                args.extend(options.split(' '));
                let table = s.record(&model, &args);
                let (t, angle, rate) = (table.column("time"), table.column("pin.angle"), table.column("pin.rate"));
                // a fixed step is late by its own error, but never by a turn
                let tolerance = if options.contains("step") { 0.05 } else { 1e-6 };
                for i in 0..t.len() {
                    near(angle[i], spin * t[i], tolerance * (1.0 + t[i]), &format!("{options}: angle at {}", t[i]));
                    near(
                        rate[i],
                        spin,
                        1e-2 * tolerance.max(1e-5) * spin.abs(),
                        &format!("{options}: rate at {}", t[i]),
                    );
                }
                assert!(angle.last().unwrap().abs() > 10.0 * TAU);
            }
        }
    }
}

#[test]
fn structures_have_reactions() {
    let s = Scratch::new("structures");
    let run = |model: &str, options: &[&str]| {
        let v = s.write("m.toml", model).json("m.toml", options);
        assert_eq!((&v["method"], &v["degrees_of_freedom"]), (&json!("kinematics"), &json!(0)));
        v
    };
    let weight = 2.0 * 9.81;

    let v = run(
        "model = { plane = \"xy\", gravity = [0, -9.81] }\nbody.beam = { mass = 2, inertia = 1, at = [1, 0] }\n\
         joint.weld = { type = \"fixed\", between = [\"ground\", \"beam\"], at = [0, 0] }",
        &[],
    );
    for (channel, value) in [("weld.fx", 0.0), ("weld.fy", weight), ("weld.mz", weight), ("beam.x", 1.0)] {
        near(number(&v, channel), value, 1e-12, channel);
    }

    let v = run(
        "model.gravity = [0, 0, -9.81]\nbody.beam = { mass = 2, inertia = [1, 1, 1], at = [1, 0.5, 0] }\n\
         joint.weld = { type = \"fixed\", between = [\"ground\", \"beam\"], at = [0, 0, 0] }\n\
         force.push = { type = \"force\", body = \"beam\", at = [1, 0.5, 0], force = [3, 0, 0] }",
        &[],
    );
    // M = −r × F at the joint
    let expected =
        [("fx", -3.0), ("fy", 0.0), ("fz", weight), ("mx", 0.5 * weight), ("my", -weight), ("mz", 0.5 * 3.0)];
    for (part, value) in expected {
        near(number(&v, &format!("weld.{part}")), value, 1e-12, part);
    }

    // a crane: two bars at 45° to the weight, and a load that grows with time
    let v = run(
        "model = { plane = \"xy\", gravity = [0, -9.81] }\nbody.knot = { mass = 2, at = [1, 0] }\n\
         joint.stay = { type = \"distance\", between = [\"ground\", \"knot\"], at = [[0, 1], [1, 0]] }\n\
         joint.strut = { type = \"distance\", between = [\"ground\", \"knot\"], at = [[0, 0], [1, 0]] }\n\
         force.load = { type = \"force\", body = \"knot\", force = [0, \"-10*t\"] }",
        &["--until", "3"],
    );
    let load = weight + 30.0;
    for (channel, value) in [("stay.fx", -load), ("stay.fy", load), ("strut.fx", load), ("strut.fy", 0.0)] {
        near(number(&v, channel), value, 1e-11, channel);
    }

    // inverse dynamics: the motor turns a pendulum by θ = t², torque = J θ̈ + m g l cos θ, J = I + m l²
    let v = run(
        &format!("{PENDULUM}[joint.motor]\ntype = \"drive\"\njoint = \"pin\"\nangle = \"t^2\"\n"),
        &["--until", "4"],
    );
    let (m, l, t) = (1.5, 0.8, 4.0f64);
    near(number(&v, "pin.angle"), t * t, 1e-10, "driven angle");
    near(number(&v, "pin.rate"), 2.0 * t, 1e-9, "driven rate");
    near(number(&v, "motor.mz"), (0.1 + m * l * l) * 2.0 + m * 9.81 * l * (t * t).cos(), 1e-8, "torque of the motor");
    near(v["energy"]["max_error"].as_f64().unwrap(), 0.0, 1e-6, "energy");
}

/// Fourth-order central differences of equally spaced samples, for all but two at each end.
fn derivative(x: &[f64], h: f64) -> Vec<f64> {
    x.windows(5).map(|x| (x[0] - 8.0 * x[1] + 8.0 * x[3] - x[4]) / (12.0 * h)).collect()
}

#[test]
fn probes_agree_with_differences() {
    let s = Scratch::new("probes");
    let space = r#"
        model.gravity = [0, 0, -9.81]
        body.top = { mass = 1, inertia = [0.1, 0.2, 0.25], at = [0, 0, 0.4], angular_velocity = [3, 1, 9] }
        body.stick = { rod = { from = [0, 0, 0.8], to = [0.5, 0, 0.8], mass = 0.3 }, coordinates = "natural" }
        joint.foot = { type = "spherical", between = ["ground", "top"], at = [0, 0, 0] }
        joint.hook = { type = "spherical", between = ["top", "stick"], at = [0, 0, 0.8] }
        probe.P = { body = "top", at = [0.1, 0.2, 0.3] }
        probe.Q = { body = "stick", at = [0.3, 0, 0.8] }
        probe.C = { body = "top" }
    "#;
    let plane = std::fs::read_to_string(example()).unwrap();
    let h = 1e-3;
    for (model, probes, axes) in [(space, &["P", "Q", "C"][..], &["x", "y", "z"][..]), (&plane, &["B"], &["x", "y"])] {
        let table = s.record(model, &["--rtol", "1e-11", "--until", "0.5", "--sample", "1e-3", "--method", "dop853"]);
        for probe in probes {
            for axis in axes {
                for (of, to) in [("", "v"), ("v", "a")] {
                    let x = table.column(&format!("{probe}.{of}{axis}"));
                    let v = table.column(&format!("{probe}.{to}{axis}"));
                    let size = v.iter().fold(1.0f64, |m, v| m.max(v.abs()));
                    for (i, d) in derivative(&x, h).iter().enumerate() {
                        near(v[i + 2], *d, 2e-7 * size, &format!("{probe}.{to}{axis} at sample {i}"));
                    }
                }
            }
        }
    }
}

#[test]
fn reactions_carry_the_rate_of_momentum() {
    let s = Scratch::new("momentum");
    let h = 1e-3;
    let options = ["--rtol", "1e-11", "--until", "0.5", "--sample", "1e-3", "--method", "dop853"];

    // the slider-crank as a whole: pin and slide from the ground, spring and weight
    let table = s.record(&std::fs::read_to_string(example()).unwrap(), &options);
    let column = |name: &str| table.column(name);
    let masses = [("crank", 3.0), ("link", 0.9), ("slider", 0.1)];
    let sum = |parts: &[(&str, f64)], channel: &str| -> Vec<f64> {
        let columns: Vec<Vec<f64>> = parts.iter().map(|(name, _)| column(&format!("{name}.{channel}"))).collect();
        (0..table.rows.len()).map(|i| columns.iter().zip(parts).map(|(c, (_, f))| f * c[i]).sum()).collect()
    };
    let (px, py) = (derivative(&sum(&masses, "vx"), h), derivative(&sum(&masses, "vy"), h));
    let (fx, fy) = (sum(&[("pin", 1.0), ("slide", 1.0)], "fx"), sum(&[("pin", 1.0), ("slide", 1.0)], "fy"));
    let (x, y, vx, vy) = (column("B.x"), column("B.y"), column("B.vx"), column("B.vy"));
    for i in 2..table.rows.len() - 2 {
        let d = [x[i] - 1.5, y[i]];
        let l = d[0].hypot(d[1]);
        let tension = 100.0 * (l - 0.6) + 5.0 * (d[0] * vx[i] + d[1] * vy[i]) / l;
        let weight = -9.81 * 4.0;
        near(px[i - 2], fx[i] - tension * d[0] / l, 1e-6 * 60.0, &format!("x at sample {i}"));
        near(py[i - 2], fy[i] - tension * d[1] / l + weight, 1e-6 * 60.0, &format!("y at sample {i}"));
    }

    // the crank alone: the pin acts on it, the elbow acts on the link and thus against the crank
    let (ax, ay) = (derivative(&column("crank.vx"), h), derivative(&column("crank.vy"), h));
    let alpha = derivative(&column("crank.wz"), h);
    let place = [column("crank.x"), column("crank.y")];
    let [pin, elbow] = ["pin", "elbow"].map(|j| [column(&format!("{j}.fx")), column(&format!("{j}.fy"))]);
    for i in 2..table.rows.len() - 2 {
        near(3.0 * ax[i - 2], pin[0][i] - elbow[0][i], 1e-5, "the crank along x");
        near(3.0 * (ay[i - 2] + 9.81), pin[1][i] - elbow[1][i], 1e-5, "the crank along y");
        // the pin is at the origin, the elbow at twice the centre of mass
        let torque =
            place[1][i] * pin[0][i] - place[0][i] * pin[1][i] - place[0][i] * elbow[1][i] + place[1][i] * elbow[0][i];
        near(3.0 * 0.09 / 12.0 * alpha[i - 2], torque, 1e-5, "the crank about its centre");
    }

    // in space: a hinge about a tilted axis, with its moment at the joint
    let hinge = r#"
        model.gravity = [0, 0, -9.81]
        body.door = { mass = 2, inertia = [0.1, 0.2, 0.25], at = [0.4, 0, 0.1] }
        joint.hinge = { type = "revolute", between = ["ground", "door"], at = [0, 0, 0], axis = [0.1, 0.2, 1] }
        start.hinge.rate = 4
    "#;
    let table = s.record(hinge, &options);
    let vector = |name: &str, parts: [&str; 3]| parts.map(|p| table.column(&format!("{name}.{p}")));
    let (p, v, w) =
        (vector("door", ["x", "y", "z"]), vector("door", ["vx", "vy", "vz"]), vector("door", ["wx", "wy", "wz"]));
    let [qw, qx, qy, qz] = ["qw", "qx", "qy", "qz"].map(|c| table.column(&format!("door.{c}")));
    let (f, m) = (vector("hinge", ["fx", "fy", "fz"]), vector("hinge", ["mx", "my", "mz"]));
    let rows = table.rows.len();
    // spin about the centre of mass, in the world: R J Rᵀ ω
    let mut spin = [vec![], vec![], vec![]];
    for i in 0..rows {
        let (a, b, c, d) = (qw[i], qx[i], qy[i], qz[i]);
        let r = [
            [1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
            [2.0 * (b * c + a * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - a * b)],
            [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), 1.0 - 2.0 * (b * b + c * c)],
        ];
        let inertia = [0.1, 0.2, 0.25];
        for k in 0..3 {
            let term = |j: usize| r[k][j] * inertia[j] * (0..3).map(|l| r[l][j] * w[l][i]).sum::<f64>();
            spin[k].push((0..3).map(term).sum());
        }
    }
    let axis = [0.1, 0.2, 1.0];
    for k in 0..3 {
        let (rate, turn) = (derivative(&v[k], h), derivative(&spin[k], h));
        for i in 2..rows - 2 {
            let weight = if k == 2 { 9.81 } else { 0.0 };
            near(2.0 * (rate[i - 2] + weight), f[k][i], 1e-5, &format!("force {k} at sample {i}"));
            let (a, b) = ((k + 1) % 3, (k + 2) % 3);
            let torque = m[k][i] - (p[a][i] * f[b][i] - p[b][i] * f[a][i]);
            near(turn[i - 2], torque, 1e-5, &format!("moment {k} at sample {i}"));
        }
    }
    // a hinge has no moment about its axis
    (0..rows).for_each(|i| near((0..3).map(|k| axis[k] * m[k][i]).sum(), 0.0, 1e-9, "moment about the axis"));
}

#[test]
fn auto_tells_what_it_chose() {
    let s = Scratch::new("auto");
    let v = s.write("m.toml", PENDULUM).json("m.toml", &[]);
    assert_eq!((&v["method"], &v["choices"]), (&json!("dopri5"), &json!(["started with dopri5"])));
    let stiff = root().join("tests/problems/double-pendulum/model.toml");
    let v = s.json(&stiff.to_string_lossy(), &[]);
    assert_eq!((&v["method"], &v["formulation"]), (&json!("bdf"), &json!("ggl")));
    assert!(v["choices"][1].as_str().unwrap().starts_with("stiff at t = "), "{}", v["choices"]);
}

#[test]
fn a_start_with_open_joints_is_told() {
    let s = Scratch::new("open");
    let model = PENDULUM.replace("at = [0, 0]", "on = [[0, 0], [\"-length\", 0.01]]");
    let ended = s.write("m.toml", model).bellcrank(&["run", "m.toml"]);
    assert!(ended.stderr.contains("assembled in "), "{}", ended.stderr);
    assert!(ended.stderr.contains("body `bob` moved by "), "{}", ended.stderr);
}

#[test]
fn check_tells_errors_and_their_places_as_json() {
    let s = Scratch::new("check-json");
    s.write("bad.toml", PENDULUM.replace("revolute", "revolut"));
    let ended = s.bellcrank(&["check", "bad.toml", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &told["runs"]), (2, &serde_json::json!(false)));
    let error = &told["errors"][0];
    assert_eq!((&error["file"], &error["severity"]), (&"bad.toml".into(), &"error".into()));
    assert!(error["line"].as_u64() > Some(0) && error["column"].as_u64() > Some(0), "{told}");
    assert!(error["message"].as_str().is_some_and(|m| m.contains("revolut")) && error["help"].is_array(), "{told}");

    let alone = format!("{PENDULUM}\n[body.lost]\nmass = 1\n");
    s.write("lost.toml", &alone);
    let ended = s.bellcrank(&["check", "lost.toml", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let finding = &told["findings"][0];
    let line = alone.lines().position(|l| l.contains("lost")).unwrap() + 1;
    assert_eq!((ended.code, &finding["kind"], &finding["line"]), (0, &"unconnected".into(), &line.into()), "{told}");
    // a run with --json says the same before it starts
    let ran = s.json("lost.toml", &[]);
    assert_eq!(ran["findings"][0], *finding);
}

#[test]
fn coordinates_that_are_not_there_and_contradictions_are_told() {
    let s = Scratch::new("coordinates");
    s.write("m.toml", PENDULUM);
    let told = |arguments: &[&str]| s.bellcrank(&[&["run", "m.toml"], arguments].concat()).stderr;
    let unknown = told(&["--coordinates", "polar"]);
    assert!(unknown.contains("unknown coordinates `polar`"), "{unknown}");
    assert!(unknown.contains("coordinates are cartesian, relative"), "{unknown}");
    let both = told(&["--coordinates", "cartesian", "--solver", "recursion"]);
    assert!(both.contains("recursion runs in relative coordinates"), "{both}");
}

#[test]
fn what_a_run_cannot_vouch_for_is_told_and_strict_makes_it_a_status() {
    let s = Scratch::new("strict");
    let bennett = root().join("examples/bennett.toml").to_string_lossy().into_owned();
    let open = PENDULUM.replace("at = [\"length\", 0]", "at = [0.8, 0]")
        + "[body.other]\nmass = 1\ninertia = 0.1\nat = [2, 0]\n\
        [joint.hinge]\ntype = \"revolute\"\nbetween = [\"bob\", \"other\"]\non = [[0.5, 0], [-0.6, 0]]\n";
    s.write("pendulum.toml", PENDULUM).write("open.toml", &open);
    let soft = "model = { plane = \"xy\", gravity = [0, -9.81] }\nbody.ball = { mass = 1, sphere = { radius = 0.1 }, at = [0, 0.3] }\n\
        force.floor = { type = \"contact\", between = [\"ground\", \"ball\"], normal = [0, 1], stiffness = 500 }\n";
    s.write("soft.toml", soft);
    let cases: [(&[&str], &str); 5] = [
        (&["soft.toml"], "theory"),
        (&["pendulum.toml"], ""),
        (&["pendulum.toml", "--method", "hht", "--step", "0.3", "--until", "5"], "energy"),
        (&["open.toml"], "start"),
        (&[&bennett, "--until", "0.1"], "reactions"),
    ];
    for (arguments, kind) in cases {
        let run = |more: &[&str]| s.bellcrank(&[&["run"], arguments, more].concat());
        let (plain, strict) = (run(&["--json"]), run(&["--quiet", "--strict"]));
        let v: Value = serde_json::from_str(&plain.stdout).unwrap();
        let kinds: Vec<&str> = v["doubts"].as_array().unwrap().iter().map(|d| d["kind"].as_str().unwrap()).collect();
        let doubtful = !kind.is_empty();
        assert_eq!((plain.code, strict.code), (0, if doubtful { 3 } else { 0 }), "{arguments:?}: {}", strict.stderr);
        assert_eq!(kinds.contains(&kind), doubtful, "{arguments:?}: {kinds:?}");
        for stderr in [&plain.stderr, &strict.stderr] {
            assert_eq!(stderr.contains("warning: "), doubtful, "{arguments:?}: {stderr}");
        }
    }
}

#[test]
fn all_exit_statuses_stand_in_one_table() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let help = Scratch::new("statuses").bellcrank(&["--help"]).stdout;
    for (status, meaning) in bellcrank::cli::STATUSES {
        assert!(
            readme.replace('`', "").contains(&format!("| {status} | {meaning} |")),
            "README lacks {status}: {meaning}"
        );
        assert!(help.contains(meaning), "--help lacks {status}: {meaning}");
    }
}
