//! FMUs of others inside of models: two in C (FMI 2.0 and 3.0), our own exported ones, and such that misbehave.
//!
//! The C compiler is the one that Rust links with.

#![cfg(unix)]

mod common;
#[path = "fmus/exchange.rs"]
mod exchange;
#[path = "fmus/parts.rs"]
mod parts;
#[path = "fmus/residents.rs"]
mod residents;

use bellcrank::{Options, Simulation, read_model};
use common::Scratch;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bellcrank");

/// The library of a guest in C that has the functions of one version, compiled once.
fn library(name: &str) -> Vec<u8> {
    built(name, true)
}

/// The library of a guest in C that has those of both, of one of them.
fn built(name: &str, three: bool) -> Vec<u8> {
    static BUILT: Mutex<BTreeMap<(String, bool), Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap();
    let compile = || {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{three}-{}", std::process::id()));
        let source = format!("{}/tests/fmus/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let mut cc = Command::new(std::env::var("CC").unwrap_or("cc".into()));
        cc.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&out).args([&source, "-lm"]).args((!three).then_some("-DTWO"));
        assert!(cc.status().expect("a C compiler, which Rust links with too").success(), "{name}.c");
        let bytes = std::fs::read(&out).unwrap();
        std::fs::remove_file(&out).unwrap();
        bytes
    };
    built.entry((name.to_string(), three)).or_insert_with(compile).clone()
}

fn description(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/fmus/{name}.xml", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn platform(three: bool) -> String {
    use bellcrank::fmu::Version;
    bellcrank::fmu::platform(if three { Version::Three } else { Version::Two })
}

/// An archive of files.
fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        match name.strip_prefix("link:") {
            Some(name) => zip.add_symlink(name, String::from_utf8_lossy(bytes), options).unwrap(),
            None => {
                zip.start_file(*name, options).unwrap();
                zip.write_all(bytes).unwrap();
            }
        }
    }
    zip.finish().unwrap().into_inner()
}

fn extension() -> &'static str {
    std::env::consts::DLL_EXTENSION
}

fn motor() -> Vec<u8> {
    let file = format!("binaries/{}/motor.{}", platform(true), extension());
    packed(&[("modelDescription.xml", description("motor3").as_bytes()), (&file, &library("motor3"))])
}

fn servo() -> Vec<u8> {
    let file = format!("binaries/{}/servo.{}", platform(false), extension());
    packed(&[("modelDescription.xml", description("servo2").as_bytes()), (&file, &library("servo2"))])
}

/// A cart of 2 kg that a servo leads.
const CART: &str = r#"
model = { plane = "xy" }
body.cart = { mass = 2, inertia = 1 }
joint.slide = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
force.lead = { type = "joint-actuator", joint = "slide", effort = "servo.force" }
[fmu.servo]
file = "servo.fmu"
step = "10 ms"
inputs = { position = "slide.position", speed = "slide.rate", target = "if(t < 0.5, 0.2, 1)" }
set = { stiffness = 50, damping = 8 }
[solve]
until = 2
rtol = 1e-10
"#;

/// A rotor of 0.01 kg m² that a motor turns.
const ROTOR: &str = r#"
model = { plane = "xy" }
body.rotor = { mass = 1, inertia = 0.01 }
joint.pin = { type = "revolute", between = ["ground", "rotor"], at = [0, 0] }
force.drive = { type = "joint-actuator", joint = "pin", effort = "motor.torque - 1e-3*pin.rate" }
[fmu.motor]
file = "motor.fmu"
step = 4e-3
inputs = { speed = "pin.rate" }
set = { deed = 0 }
[solve]
until = 0.4
rtol = 1e-9
sample = 0.02
"#;

/// The same with the motor as a state of the model.
const WHOLE_ROTOR: &str = r#"
model = { plane = "xy" }
body.rotor = { mass = 1, inertia = 0.01 }
joint.pin = { type = "revolute", between = ["ground", "rotor"], at = [0, 0] }
force.drive = { type = "joint-actuator", joint = "pin", effort = "0.1*current - 1e-3*pin.rate" }
state.current = { rate = "(12 - current - 0.1*pin.rate)/0.05" }
[solve]
until = 0.4
rtol = 1e-10
sample = 0.02
"#;

fn with_motor(name: &str, model: &str) -> Scratch {
    let s = Scratch::new(name);
    s.write("motor.fmu", motor()).write("model.toml", model);
    std::fs::create_dir(s.path("tmp")).unwrap();
    s
}

/// Force held over a step: x and v at its end are exact, so that the run is a recursion.
#[test]
fn a_servo_of_fmi_2_gives_the_motion_of_sampled_control() {
    let s = Scratch::new("servo");
    s.write("servo.fmu", servo());
    let table = s.record(CART, &["--sample", "0.01"]);
    let (x, v, f) = (table.column("slide.position"), table.column("slide.rate"), table.column("servo.force"));
    let (h, m) = (0.01, 2.0);
    let (mut x0, mut v0) = (0.0f64, 0.0f64);
    for k in 0..200usize {
        assert!((x[k] - x0).abs() < 1e-9 && (v[k] - v0).abs() < 1e-8, "{k}: {} {x0} {} {v0}", x[k], v[k]);
        let target = if k < 50 { 0.2 } else { 1.0 };
        let force = 50.0 * (target - x0) - 8.0 * v0;
        // rows at an exchange show what is behind it
        assert!((f[k] - force).abs() < 1e-6, "{k}: {} {force}", f[k]);
        x0 += h * v0 + h * h * force / (2.0 * m);
        v0 += h * force / m;
    }
    assert!((x0 - 1.0).abs() < 0.1, "{x0}");
    let off = s.record(&CART.replace("set = { ", "set = { on = false, "), &[]);
    assert!(off.column("slide.position").iter().all(|x| *x == 0.0));
}

#[test]
fn a_motor_of_fmi_3_comes_closer_to_the_whole_with_the_first_order_of_the_exchange() {
    let s = with_motor("order", ROTOR);
    let whole = s.record(WHOLE_ROTOR, &[]);
    let error = |h: &str| {
        let table = s.record(&ROTOR.replace("4e-3", h), &[]);
        let both = table.column("pin.rate").into_iter().zip(whole.column("pin.rate"));
        both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    let errors = ["4e-3", "2e-3", "1e-3"].map(error);
    assert!(errors[0] < 0.02 * 12.0, "{errors:?}");
    for pair in errors.windows(2) {
        assert!((1.8..2.2).contains(&(pair[0] / pair[1])), "{errors:?}");
    }
    // the accuracy that is told is that of the exchange
    s.write("model.toml", ROTOR);
    let told = s.json("model.toml", &["--verify"]);
    let rate = told["verification"]["errors"]["pin.rate"].as_f64().unwrap();
    assert!((0.7..1.5).contains(&(rate / errors[0])), "{rate} {errors:?}");
    let plan = s.bellcrank(&["plan", "model.toml"]);
    assert!(plan.stdout.contains("FMU `motor` exchanges values every 0.004 s"), "{}", plan.stdout);
}

/// A pendulum as an FMU of our own, coupled by a spring to one of the model, against both in one model.
#[test]
fn our_own_fmus_run_in_our_own_models() {
    let s = Scratch::new("own");
    let pendulum = |name: &str| {
        format!(
            "body.{name} = {{ mass = 1, inertia = 0.1, at = [0.5, 0] }}\n\
             joint.{name}_pin = {{ type = \"revolute\", between = [\"ground\", \"{name}\"], at = [0, 0] }}\n"
        )
    };
    let head = "model = { plane = \"xy\", gravity = [0, -9.81] }\n";
    let push = |name: &str, effort: &str| {
        format!("force.push_{name} = {{ type = \"joint-actuator\", joint = \"{name}_pin\", effort = \"{effort}\" }}\n")
    };
    let solve = "[solve]\nuntil = 1\nrtol = 1e-9\nsample = 0.05\n";
    let spring = "-5*(a_pin.angle - 2*b_pin.angle)";
    let whole =
        [head, &pendulum("a"), &pendulum("b"), &push("a", spring), &push("b", &spring.replace("-5", "10")), solve];
    let whole = s.record(&whole.concat(), &[]);
    s.write("b.toml", [head, "input.torque = {}\n", &pendulum("b"), &push("b", "torque"), solve].concat());
    for (version, kind) in [("2", "cs"), ("3", "cs"), ("2", "me"), ("3", "me")] {
        let made = s.bellcrank(&["fmu", "b.toml", "--fmi", version, "--kind", kind]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let other = |h: f64| {
            let spring = spring.replace("b_pin", "b.b_pin");
            let given = spring.replace("-5", "10");
            let fmu = format!("[fmu.b]\nfile = \"b.fmu\"\nstep = {h}\ninputs = {{ torque = \"{given}\" }}\n");
            let model = [head, &pendulum("a"), &push("a", &spring), &fmu, solve].concat();
            let table = s.record(&model, &[]);
            let error = |ours: &str, theirs: &str| {
                let pairs = table.column(ours).into_iter().zip(whole.column(theirs));
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            [error("a_pin.angle", "a_pin.angle"), error("b.b_pin.angle", "b_pin.angle")]
        };
        let (coarse, fine) = (other(2e-3), other(1e-3));
        for k in 0..2 {
            assert!(coarse[k] < 0.05 && (1.7..2.3).contains(&(coarse[k] / fine[k])), "{version}: {coarse:?} {fine:?}");
        }
    }
}

#[test]
fn runs_go_back_where_the_fmu_can_and_are_refused_by_name_where_it_cannot() {
    bellcrank::set_fmu_host([PROGRAM, "fmu-host"]);
    let s = with_motor("back", ROTOR);
    s.write("servo.fmu", servo()).write("cart.toml", CART);
    let options = || Options { until: 2.0, rtol: 1e-8, ..Options::default() };
    let open = |name: &str| {
        let read = read_model(&s.path(name).to_string_lossy(), &[]).unwrap_or_else(|e| panic!("{e}"));
        Simulation::new(read, options()).unwrap()
    };
    let mut run = open("cart.toml");
    assert_eq!(run.input("servo.force"), None, "what an FMU sets is no input of the user");
    run.advance_to(0.7031).unwrap();
    let saved = run.save().unwrap();
    run.advance_to(2.0).unwrap();
    let first = run.state().q.clone();
    run.restore(&saved).unwrap();
    run.advance_to(2.0).unwrap();
    assert_eq!(run.state().q, first);
    let mut motor = open("model.toml");
    motor.advance_to(0.1).unwrap();
    let why = motor.save().unwrap_err().to_string();
    assert!(why.contains("FMU `motor` cannot save its state") && why.contains("canSerializeFMUState"), "{why}");
}

fn folders(s: &Scratch) -> usize {
    std::fs::read_dir(s.path("tmp")).unwrap().count()
}

/// The process of the FMU cleans up behind a run that cannot; and what it resumes from gives the same bytes.
#[test]
fn a_killed_run_leaves_nothing_behind_and_resumes_to_the_same_bytes() {
    let s = with_motor("killed-fmu", ROTOR);
    s.write("servo.fmu", servo()).write("cart.toml", CART.replace("10 ms", "0.5 ms"));
    let run = |out: &str, more: &[&str]| {
        let args = [&["run", "cart.toml", "--quiet", "--until", "6", "--out", out], more].concat();
        s.command(&args).env("TMPDIR", s.path("tmp")).stderr(Stdio::piped()).spawn().unwrap()
    };
    assert!(run("whole", &[]).wait().unwrap().success());
    assert_eq!(folders(&s), 0);
    let mut child = run("part", &["--checkpoint", "0.01"]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) && !s.path("part/unfinished/checkpoint").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    while folders(&s) > 0 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(folders(&s), 0, "the folder of the FMU");
    if s.path("part/unfinished/checkpoint").exists() {
        let ended = run("part", &["--resume"]).wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert!(s.read("whole/results.parquet") == s.read("part/results.parquet"));
}

/// Each deed, in the third step: it is named, the run ends with status 1, and its folder is gone.
#[test]
fn fmus_that_crash_hang_eat_memory_or_lie_are_named_and_stopped() {
    let s = with_motor("deeds", ROTOR);
    let deeds = [
        (1, "ended its process when asked for a step (signal: 11"),
        (2, "did not answer within 0.3 s when asked for a step, and was stopped"),
        (3, "ended its process when asked for a step (signal: "),
        (4, "gave NaN for its output `torque`"),
        (6, "failed in `fmi3DoStep` (error); it says: the winding is broken"),
        (7, "was asked to go to t = 0.012 s and went to t = 0.008 s"),
        (8, "wants the simulation to end at t = 0.012 s"),
        (9, "ended its process when asked for a step (exit status: 0)"),
    ];
    for (deed, said) in deeds {
        let set = format!("fmu.motor.set.deed={deed}");
        // one that hangs is waited for, one that eats needs time for its meal
        let patience = format!("fmu.motor.patience={}", if deed == 2 { 0.3 } else { 60.0 });
        let args = ["run", "model.toml", "--set", &set, "--set", &patience, "--set", "fmu.motor.memory=0.1"];
        let out = s.command(&args).env("TMPDIR", s.path("tmp")).output().unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{deed}: {told}");
        assert!(told.contains(&format!("FMU `motor` {said}")), "{deed}: {told}");
        assert!(told.contains("model.toml:6"), "{told}");
        assert_eq!(folders(&s), 0, "{deed}");
    }
    let args = ["run", "model.toml", "--json", "--set", "fmu.motor.set.deed=5"];
    let chatter = s.bellcrank(&args);
    assert_eq!((chatter.code, chatter.stderr.as_str()), (0, ""), "what it prints goes nowhere");
    assert!(serde_json::from_str::<serde_json::Value>(&chatter.stdout).is_ok());
}

#[test]
fn archives_that_are_hostile_or_not_for_us_are_refused_by_name() {
    let s = with_motor("archives", ROTOR);
    let (xml, library) = (description("motor3"), library("motor3"));
    let place = format!("binaries/{}/motor.{}", platform(true), extension());
    let about: (&str, &[u8]) = ("modelDescription.xml", xml.as_bytes());
    let code: (&str, &[u8]) = (&place, &library);
    let plain = |xml: &str| packed(&[("modelDescription.xml", xml.as_bytes()), code]);
    let bad = [
        (Vec::new(), "is empty"),
        (b"not an archive at all".to_vec(), "is no archive that can be read"),
        (packed(&[("readme.txt", b"hello")]), "has no `modelDescription.xml`: it is an archive, but no FMU"),
        (
            packed(&[about, code, ("../../escape.txt", b"out")]),
            "has a file `../../escape.txt` that would be written outside",
        ),
        (
            packed(&[about, code, ("/etc/motor.conf", b"out")]),
            "has a file `/etc/motor.conf` that would be written outside",
        ),
        (packed(&[about, code, ("link:resources/a", b"/etc/passwd")]), "has a link, `resources/a`"),
        (packed(&[about]), "has no library for"),
        (packed(&[about, ("binaries/riscv64-plan9/motor.so", b"")]), "there are libraries for riscv64-plan9"),
        (plain("<oops"), "has a `modelDescription.xml` that is no XML"),
        (plain(&xml.replace("\"3.0\"", "\"1.0\"")), "is of FMI `1.0`, and FMI 2.0 and 3.0 are known"),
        (
            plain(&xml.replace("CoSimulation", "ScheduledExecution")),
            "is neither for co-simulation nor for model exchange",
        ),
        (plain(&xml.replace("\"motor\" can", "\"../motor\" can")), "which names no library"),
    ];
    for (bytes, said) in bad {
        s.write("motor.fmu", bytes);
        let ended = s.bellcrank(&["run", "model.toml"]);
        assert_eq!(ended.code, 2, "{said}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("FMU `motor`: `motor.fmu` {said}")) || ended.stderr.contains(said));
        assert!(ended.stderr.contains("model.toml:7"), "{}", ended.stderr);
    }
    assert!(!s.path("../escape.txt").exists() && !s.path("../../escape.txt").exists());
    // found out when it is loaded
    let late = [
        (packed(&[about, (&place, b"no library")]), "has a library that cannot be loaded"),
        (plain(&xml.replace("{motor}", "{other}")), "failed in `fmi3InstantiateCoSimulation` (fatal)"),
        (plain(&xml.replace("\"10\"", "\"99\"")), "failed in `fmi3GetFloat64` (error)"),
        (plain(&xml.replace("\"3.0\"", "\"2.0\"").replace("instantiationToken", "guid")), "has no library for"),
    ];
    for (bytes, said) in late {
        s.write("motor.fmu", bytes);
        let ended = s.bellcrank(&["run", "model.toml"]);
        assert!(ended.code != 0 && ended.stderr.contains(said), "{said}: {}", ended.stderr);
    }
}

#[test]
fn wrong_names_in_a_model_with_an_fmu_are_told_with_their_place() {
    let s = with_motor("names", ROTOR);
    let wrong = [
        ("motor.torque", "motor.torqe", "`motor.torqe`"),
        ("speed =", "sped =", "FMU `motor` has no variable `sped`"),
        ("speed =", "torque =", "`torque` is no input"),
        ("\"pin.rate\" }", "\"pin.rat\" }", "uses `pin.rat`, which is no channel"),
        ("deed = 0", "deed = 1.5", "must be a whole number"),
        ("deed = 0", "deeds = 1", "did you mean `deed`?"),
        ("[solve]", "outputs = [\"tork\"]\n[solve]", "FMU `motor` has no variable `tork`"),
        ("[solve]", "outputs = \"field\"\n[solve]", "`field` is an array"),
        ("[fmu.motor]", "[fmu.pin]", "`pin` is the name of a joint and of an FMU"),
        ("\"motor.fmu\"", "\"../motor.fmu\"", "leaves the model's folder"),
        ("step = 4e-3", "step = 0", "step"),
        ("step = 4e-3", "steps = 4e-3", "did you mean `step`?"),
    ];
    for (from, to, said) in wrong {
        s.write("model.toml", ROTOR.replacen(from, to, 1));
        let ended = s.bellcrank(&["check", "model.toml"]);
        assert_eq!(ended.code, 2, "{to}: {}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("model.toml:"), "{to}: {}", ended.stderr);
    }
    s.write("model.toml", ROTOR.replace("[solve]", "outputs = [\"torq*\"]\n[solve]"));
    let channels = s.bellcrank(&["run", "model.toml", "--json"]);
    assert!(channels.stdout.contains("motor.torque") && !channels.stdout.contains("motor.current"));
}

#[test]
fn what_cannot_be_done_with_an_fmu_says_so() {
    let s = with_motor("cannot", ROTOR);
    s.write("glue.toml", "part.a = { model = \"model.toml\", ports = { p = \"rotor\" } }\n");
    for (args, said) in [
        (&["statics", "model.toml"][..], "FMU `motor` acts in runs over time alone"),
        (&["modes", "model.toml"], "FMU `motor` acts in runs over time alone"),
        (&["inverse", "model.toml"], "FMU `motor` acts in runs over time alone"),
        (&["run", "model.toml", "--from", "equilibrium"], "FMU `motor` acts in runs over time alone"),
        (&["fmu", "model.toml"], "FMU `motor` of the model needs a program to run in"),
        (&["run", "model.toml", "--split", "pin"], "--split: FMU `motor` cannot run beside parts"),
    ] {
        let ended = s.bellcrank(args);
        assert!(ended.code != 0 && ended.stderr.contains(said), "{args:?}: {}", ended.stderr);
    }
    let out = s.command(&["run", "model.toml"]).env("BELLCRANK_FMU_HOST", "/nowhere/bellcrank").output().unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(told.contains("`/nowhere/bellcrank` cannot be started") && told.contains("BELLCRANK_FMU_HOST"), "{told}");
    let strange = s.command(&["fmu-host"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(strange.status.code(), Some(2));
}
