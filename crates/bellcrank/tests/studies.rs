//! `bellcrank study`: rows against closed forms, the same bytes for any number of workers and after kills, and what is refused.

#![cfg(unix)]

mod common;

use bellcrank_results::tidy::{TidyTable, TidyValues};
use common::Scratch;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A ball that is thrown: z = v²/2g at its highest.
const BALL: &str = "
[model]
gravity = [0, 0, -9.81]
[parameter]
v = 1.0
m = { value = 2.0, unit = \"kg\" }
[body.ball]
mass = \"m\"
velocity = [0, 0, \"v\"]
[output.energy]
value = \"energy.kinetic\"
unit = \"J\"
[solve]
rtol = 1e-9
";

/// A pendulum that takes some milliseconds.
const PENDULUM: &str = "
[model]
plane = \"xy\"
gravity = [0, -9.81]
[parameter]
length = 1.0
[body.bob]
mass = 1.0
inertia = 0.01
at = [\"length\", 0]
[joint.pin]
type = \"revolute\"
between = [\"ground\", \"bob\"]
at = [0, 0]
";

fn table(s: &Scratch, out: &str) -> TidyTable {
    TidyTable::open(&s.path(&format!("{out}/study.parquet"))).unwrap()
}

fn numbers(t: &TidyTable, name: &str) -> Vec<f64> {
    t.values[t.place(name).unwrap_or_else(|| panic!("no column {name}"))].numbers().unwrap().to_vec()
}

fn texts(t: &TidyTable, name: &str) -> Vec<String> {
    match &t.values[t.place(name).unwrap_or_else(|| panic!("no column {name}"))] {
        TidyValues::Texts(list) => list.clone(),
        TidyValues::Numbers(_) => panic!("{name} holds numbers"),
    }
}

fn run(s: &Scratch, args: &[&str]) {
    let all: Vec<&str> = ["study"].into_iter().chain(args.iter().copied()).collect();
    let ended = s.bellcrank(&all);
    assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
}

#[test]
fn rows_are_what_the_closed_form_says_in_the_order_of_the_grid() {
    let s = Scratch::new("study-grid");
    let study = "
        study.model = 'ball.toml'
        solve.until = 1
        [vary]
        v = { from = 1, to = 5, points = 5 }
        method = { of = 'solve.method', values = ['dop853', 'bdf'] }
        'body.ball.velocity.0' = [0, '36 km/h']
        [column]
        height = 'ball.z.max'
        energy = 'energy.max'
        x = 'ball.x'
        steps = 'run.steps'
    ";
    s.write("ball.toml", BALL).write("study.toml", study);
    run(&s, &["study.toml", "--out", "out", "--quiet"]);
    let t = table(&s, "out");
    assert_eq!(t.rows(), 20);
    let names: Vec<&str> = t.columns.iter().map(|c| c.name.as_str()).collect();
    let expected = ["row", "v", "method", "body.ball.velocity.0", "height", "energy", "x", "steps", "status", "reason"];
    assert_eq!(names, expected);
    assert_eq!((t.columns[4].unit.as_str(), t.columns[5].unit.as_str()), ("m", "J"));
    let (v, u, method) = (numbers(&t, "v"), numbers(&t, "body.ball.velocity.0"), texts(&t, "method"));
    let (height, energy, x) = (numbers(&t, "height"), numbers(&t, "energy"), numbers(&t, "x"));
    for k in 0..20 {
        assert_eq!((v[k], u[k]), (1.0 + (k / 4) as f64, 10.0 * (k % 2) as f64));
        assert_eq!(method[k], ["dop853", "bdf"][k / 2 % 2]);
        assert!((height[k] - v[k] * v[k] / (2.0 * 9.81)).abs() < 1e-6, "{k}: {}", height[k]);
        assert!((x[k] - u[k]).abs() < 1e-6, "{k}: {}", x[k]);
        let end = (v[k] - 9.81).abs().max(v[k]);
        let most = 0.5 * 2.0 * (end * end + u[k] * u[k]);
        assert!((energy[k] / most - 1.0).abs() < 1e-6, "{k}: {} for {most}", energy[k]);
    }
    assert!(texts(&t, "status").iter().all(|s| s == "finished"));
    assert!(texts(&t, "reason").iter().all(String::is_empty));
}

#[test]
fn samples_follow_their_distributions() {
    let s = Scratch::new("study-samples");
    for sampling in ["latin-hypercube", "sobol", "monte-carlo"] {
        let study = format!(
            "study = {{ model = 'ball.toml', samples = 256, sampling = '{sampling}', seed = 7 }}
             vary.v = {{ distribution = 'normal', mean = 3, deviation = 0.5 }}
             vary.m = {{ distribution = 'uniform', from = 1, to = 2 }}
             column.p = 'ball.vz.max'
             solve.until = 0.01"
        );
        s.write("ball.toml", BALL).write("study.toml", study);
        let out = format!("out-{sampling}");
        run(&s, &["study.toml", "--out", &out, "--quiet"]);
        let t = table(&s, &out);
        let (v, m, p) = (numbers(&t, "v"), numbers(&t, "m"), numbers(&t, "p"));
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let spread = |x: &[f64]| (x.iter().map(|y| (y - mean(x)).powi(2)).sum::<f64>() / x.len() as f64).sqrt();
        // four standard errors of 256 independent draws; the others are closer
        assert!((mean(&v) - 3.0).abs() < 4.0 * 0.5 / 16.0 && (mean(&m) - 1.5).abs() < 4.0 * 0.29 / 16.0, "{sampling}");
        assert!((spread(&v) - 0.5).abs() < 0.1 && (spread(&m) - 0.2887).abs() < 0.05, "{sampling}");
        assert!(m.iter().all(|m| (1.0..=2.0).contains(m)));
        assert!(v.iter().zip(&p).all(|(v, p)| (v - p).abs() < 1e-12));
        let points = s.bellcrank(&["study", "study.toml", "--points"]);
        assert_eq!(points.stdout.lines().count(), 257);
        assert_eq!(points.stdout.lines().nth(1).unwrap(), format!("{},{}", v[0], m[0]));
    }
}

#[test]
fn half_of_the_rows_may_break_the_model_and_say_why() {
    let s = Scratch::new("study-broken");
    let study = "
        study.model = 'ball.toml'
        vary.m = [-2, -1, 1, 2]
        column.z = 'ball.z'
    ";
    s.write("ball.toml", BALL).write("study.toml", study);
    let ended = s.bellcrank(&["study", "study.toml", "--out", "out"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: 2 rows failed; the column `reason` says why"), "{}", ended.stderr);
    let t = table(&s, "out");
    assert_eq!(texts(&t, "status"), ["failed", "failed", "finished", "finished"]);
    let (reason, z) = (texts(&t, "reason"), numbers(&t, "z"));
    assert!(reason[0].contains("mass") && reason[0].contains("-2"), "{}", reason[0]);
    assert!(reason[2].is_empty() && z[1].is_nan() && z[2].is_finite());
    // a run that fails on its way is a row too
    let study = "
        study.model = 'ball.toml'
        vary.v = [1]
        solve = { max_steps = 3, until = 100, method = 'dopri5', step = 0.01 }
        column.z = 'ball.z'
    ";
    s.write("study.toml", study);
    run(&s, &["study.toml", "--out", "steps", "--quiet"]);
    let t = table(&s, "steps");
    assert_eq!(texts(&t, "status"), ["failed"]);
    assert!(texts(&t, "reason")[0].contains("3 steps"), "{:?}", texts(&t, "reason"));
}

/// The study of the kills: some hundred milliseconds on one core.
fn swings(s: &Scratch, rows: usize) {
    let study = format!(
        "study = {{ model = 'pendulum.toml', samples = {rows} }}
         vary.length = {{ distribution = 'uniform', from = 0.5, to = 2 }}
         vary.'start.pin.rate' = {{ distribution = 'normal', mean = 0, deviation = 1 }}
         column = {{ low = 'bob.y.min', rate = 'pin.rate.absmax' }}
         solve = {{ until = 2, rtol = 1e-8 }}"
    );
    s.write("pendulum.toml", PENDULUM).write("swings.toml", study);
}

#[test]
fn any_number_of_workers_and_any_kill_give_the_same_bytes() {
    let s = Scratch::new("study-killed");
    swings(&s, 600);
    let begun = Instant::now();
    run(&s, &["swings.toml", "--out", "one", "--jobs", "1", "--quiet"]);
    let whole = begun.elapsed();
    run(&s, &["swings.toml", "--out", "three", "--jobs", "3", "--quiet"]);
    let bytes = s.read("one/study.parquet");
    assert!(bytes == s.read("three/study.parquet"));
    assert_eq!(s.list("one"), ["study.json", "study.parquet", "study.rows"]);
    let mut kills = 0;
    for k in 0..5u32 {
        let mut child = s
            .command(&["study", "swings.toml", "--out", "killed", "--jobs", "2", "--resume", "--quiet"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64(0.06 + 0.02 * f64::from(k)) + Duration::from_millis(u64::from(3 * k)));
        assert!(Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap().success());
        kills += u32::from(!child.wait().unwrap().success());
    }
    assert!(kills >= 3, "{kills} kills");
    let refused = s.bellcrank(&["study", "swings.toml", "--out", "killed", "--quiet"]);
    if s.path("killed/unfinished/study.rows").exists() && refused.code != 0 {
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains("--resume continues with them"), "{}", refused.stderr);
    }
    run(&s, &["swings.toml", "--out", "killed", "--resume", "--quiet"]);
    assert!(bytes == s.read("killed/study.parquet"), "after {kills} kills");
    assert_eq!(s.list("killed"), ["study.json", "study.parquet", "study.rows"]);
}

#[test]
fn an_interrupted_study_keeps_its_rows_and_a_larger_one_takes_them_over() {
    let s = Scratch::new("study-interrupted");
    swings(&s, 4000);
    let child = s.command(&["study", "swings.toml", "--out", "out", "--quiet"]).stderr(Stdio::piped()).spawn().unwrap();
    let rows = s.path("out/unfinished/study.rows");
    let begun = Instant::now();
    while std::fs::metadata(&rows).map_or(0, |m| m.len()) < 2000 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{told}");
    assert!(told.contains("interrupted after") && told.contains("--resume continues with them"), "{told}");
    assert!(!s.path("out/study.parquet").exists());

    // a grid that grows: only what is new is computed
    let grid = |values: &str| format!("study.model = 'ball.toml'\nvary.v = {values}\ncolumn.z = 'ball.z.max'\n");
    s.write("ball.toml", BALL).write("grid.toml", grid("[1, 3]"));
    let told = |args: &[&str]| -> serde_json::Value {
        let ended = s.bellcrank(args);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    };
    told(&["study", "grid.toml", "--out", "grid", "--json"]);
    s.write("grid.toml", grid("[1, 2, 3, 4]"));
    let grown = told(&["study", "grid.toml", "--out", "grid", "--json", "--resume"]);
    assert_eq!((&grown["rows"], &grown["computed"]), (&4.into(), &2.into()));
    told(&["study", "grid.toml", "--out", "fresh", "--json"]);
    assert!(s.read("grid/study.parquet") == s.read("fresh/study.parquet"));

    // what the rows depend on may not change in between
    s.write("ball.toml", BALL.replace("9.81", "1.62"));
    let refused = s.bellcrank(&["study", "grid.toml", "--out", "grid", "--resume"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("the model, or a file that it reads, has changed"), "{}", refused.stderr);
    s.write("ball.toml", BALL).write("grid.toml", grid("[1, 2]").replace("max", "min"));
    let refused = s.bellcrank(&["study", "grid.toml", "--out", "grid", "--resume"]);
    assert!(refused.stderr.contains("`[column]` has changed"), "{}", refused.stderr);
    assert!(s.read("grid/study.parquet") == s.read("fresh/study.parquet"));
}

#[test]
fn whole_results_are_those_of_runs_by_themselves() {
    let s = Scratch::new("study-kept");
    let study = "
        study = { model = 'ball.toml', keep = true }
        vary.v = [1, 2]
        column.z = 'ball.z.max'
        solve.until = 0.5
    ";
    s.write("ball.toml", BALL).write("study.toml", study);
    run(&s, &["study.toml", "--out", "out", "--quiet"]);
    let folders = texts(&table(&s, "out"), "folder");
    for (v, folder) in [(1, &folders[0]), (2, &folders[1])] {
        let set = format!("parameter.v={v}.0");
        let alone = format!("alone{v}");
        let ended = s.bellcrank(&["run", "ball.toml", "--set", &set, "--until", "0.5", "--out", &alone, "--quiet"]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(s.read(&format!("out/{folder}/results.csv")) == s.read(&format!("{alone}/results.csv")), "{v}");
    }
    // without them the next study leaves none
    s.write("study.toml", study.replace("keep = true", "keep = false"));
    run(&s, &["study.toml", "--out", "out", "--quiet"]);
    assert!(!s.path("out/runs").exists());
}

#[test]
fn a_study_is_drawn_in_every_way_and_what_is_missing_is_told() {
    let s = Scratch::new("study-plot");
    let study = "
        study = { model = 'ball.toml', keep = true }
        vary = { v = [1, 2, 3], m = [1, 2] }
        column = { height = 'ball.z.max', energy = 'energy.max' }
        solve.until = 0.5
    ";
    s.write("ball.toml", BALL).write("study.toml", study);
    run(&s, &["study.toml", "--out", "out", "--quiet"]);
    assert_eq!(s.bellcrank(&["plot", "out"]).stdout, "v\nm [kg]\nheight [m]\nenergy [J]\n");
    let draw = |words: &str| {
        let mut args = vec!["plot", "out"];
        args.extend(words.split(' '));
        args.extend(["--save", "drawn.svg"]);
        let ended = s.bellcrank(&args);
        assert_eq!(ended.code, 0, "{words}: {}", ended.stderr);
        String::from_utf8(s.read("drawn.svg")).unwrap()
    };
    let count = |svg: &str, what: &str| svg.matches(what).count();
    assert_eq!(count(&draw("v height m --as scatter"), "<circle"), 6);
    assert_eq!(count(&draw("v height --as scatter"), "<circle"), 6);
    assert_eq!(count(&draw("v m energy --as heat"), "stroke=\"#ffffff\""), 6);
    assert!(draw("energy --as tornado").contains("mean of energy [J]"));
    assert!(draw("--as parallel").contains("height [m]"));
    let family = draw("ball.z v --as family");
    assert!(family.contains("ball.z [m]") && family.contains("t [s]"));
    for (words, told) in [
        (vec!["--as", "heat", "v", "--save", "x.svg"], "--as heat is of X Y RESULT, found 1 names"),
        (vec!["--as", "tornado", "heigt", "--save", "x.svg"], "did you mean `height`?"),
        (vec!["--as", "family", "ball.q", "v", "--save", "x.svg"], "the results have no channel `ball.q`"),
        (vec!["--as", "scatter", "v", "m"], "a study is drawn to a file"),
        (vec!["v", "--save", "x.svg"], "--as is missing"),
    ] {
        let args: Vec<&str> = ["plot", "out"].into_iter().chain(words).collect();
        let ended = s.bellcrank(&args);
        assert!(ended.code == 2 && ended.stderr.contains(told), "{args:?}: {}", ended.stderr);
    }
    assert!(s.list("").iter().all(|name| name != "x.svg"));
}

/// Every message about a study file, one after the other.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    let s = Scratch::new("study-errors");
    s.write("ball.toml", BALL).write("robot.urdf", "<robot/>");
    let head = "[study]\nmodel = \"ball.toml\"\n";
    let column = "[column]\nz = \"ball.z.max\"\n";
    let vary = |text: &str| format!("{head}[vary]\n{text}\n{column}");
    let cases = [
        vary("vv = [1, 2]"),
        vary("v = []"),
        vary("v = 3"),
        vary("v = [1, 2, 1]"),
        vary("v = [1, [2]]"),
        vary("v = [1]\nspeed = { of = \"parameter.v\", values = [2] }"),
        vary("v = { from = 1, to = 2 }"),
        vary("v = { from = 2, to = 1, points = 3 }"),
        vary("v = { from = 1, to = 2, points = 1 }"),
        vary("v = { from = 0, to = 2, points = 3, scale = \"log\" }"),
        vary("v = { distribution = \"gauss\", mean = 1, deviation = 2 }"),
        vary("v = { distribution = \"normal\", mean = 1 }"),
        vary("v = { distribution = \"normal\", mean = 1, deviation = 2 }"),
        vary("v = { distribution = \"uniform\", from = 1, to = 2, mean = 2 }"),
        vary("v = { from = 1, to = 2, points = 1000000 }\nm = { from = 1, to = 2, points = 1000000 }"),
        vary("v = [1, 2]\nm = [1, 2, 3]").replacen("\n[vary]", "\ncombine = \"together\"\n[vary]", 1),
        vary("\"body.bal.mass\" = [1]"),
        vary("\"body.ball.masss\" = [1]"),
        vary("body.ball.mass = [1]"),
        vary("\"solve.methd\" = [\"bdf\"]"),
        vary("\"solve.method\" = [\"bdf\", \"bfd\"]"),
        vary("status = { of = \"v\", values = [1] }"),
        format!("{head}[vary]\nv = [1]\n[column]\nv = \"ball.z\"\n"),
        format!("{head}[vary]\nv = [1]\n[column]\nrow = \"ball.z\"\n"),
        format!("{head}[vary]\nv = [1]\n[column]\nz = \"ball.zz.max\"\nw = \"ball.z.maximum\"\ne = \"enrgy.max\"\n"),
        format!("{head}[vary]\nv = [1]\nv = [2]\n"),
        format!("{head}[vary]\nv = [1]\n[solve]\nmethod = \"bfd\"\n"),
        format!("{head}[vary]\nv = [1]\n[solve]\nmax_order = 9\n"),
        format!("{head}[vary]\nv = [1]\n[solve]\nfrom = \"results\"\n"),
        format!("{head}[vary]\nv = [1]\n[set]\nmm = 3\n"),
        format!("{head}{column}"),
        format!("{head}samples = 10\n[vary]\nv = [1]\n"),
        format!("{head}[varry]\nv = [1]\n"),
        "[study]\nmodel = \"bal.toml\"\n[vary]\nv = [1]\n".into(),
        "[study]\nmodel = \"robot.urdf\"\n[vary]\nv = [1]\n".into(),
        "[study]\n[vary]\nv = [1]\n".into(),
        "[vary]\nv = [1]\n".into(),
        "[study\n".into(),
    ];
    let mut shown = String::new();
    for text in cases {
        s.write("study.toml", &text);
        let ended = s.bellcrank(&["study", "study.toml", "--out", "out"]);
        assert_eq!(ended.code, 2, "{text}\n{}", ended.stderr);
        assert!(!s.path("out").exists(), "{text}");
        shown += &format!("{}\n", ended.stderr);
    }
    s.write("study.toml", vary("v = [1]"));
    std::fs::create_dir(s.path("full")).unwrap();
    s.write("full/thesis.tex", "");
    let ended = s.bellcrank(&["study", "study.toml", "--out", "full"]);
    assert_eq!((ended.code, s.list("full")), (2, vec!["thesis.tex".to_string()]));
    shown += &ended.stderr;
    insta::assert_snapshot!(shown);
}
