//! What surrounds a run: examples, templates, plots, comparisons, the gallery.

mod common;

use bellcrank::choices::METHODS;
use common::{Recorded, Scratch, root};
use serde_json::Value;

/// Name and text of every example.
fn examples() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(root().join("examples")).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<(String, String)> = entries
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .map(|p| (p.file_stem().unwrap().to_str().unwrap().into(), std::fs::read_to_string(&p).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn every_example_runs_keeps_its_joints_closed_and_its_energy_balanced() {
    let examples = examples();
    assert!(examples.len() >= 20, "{}", examples.len());
    let scratch = Scratch::new("examples");
    for (name, text) in &examples {
        let head: Vec<&str> = text.lines().take_while(|l| l.starts_with('#')).collect();
        assert!(head.len() > 2, "{name} says what it teaches");
        assert!(text.contains(&format!("name = \"{name}\"")), "{name} has its file's name");
        assert!(text.contains("\n[solve]\n"), "{name} says how it is solved");
        let path = root().join(format!("examples/{name}.toml"));
        let s = scratch.json(&path.to_string_lossy(), &[]);
        let number = |a: &str, b: &str| s[a][b].as_f64().unwrap();
        assert_eq!(s["status"], "finished", "{name}");
        assert!(number("drift", "position") < 1e-6 && number("drift", "velocity") < 1e-4, "{name}: {}", s["drift"]);
        // what kinetic and stored energy can be told to, by the tolerance of the run
        let size = [
            number("energy", "initial"),
            number("energy", "final"),
            number("final", "energy.kinetic"),
            number("final", "energy.stored"),
        ];
        let size = size.iter().fold(0.0f64, |m, e| m.max(e.abs()));
        assert!(number("energy", "max_error") < 2e-3 * size, "{name}: {} of {size}", s["energy"]);
    }
}

#[test]
fn examples_without_loss_keep_their_energy() {
    let scratch = Scratch::new("conservative");
    let names = [
        "belt-drive",
        "bennett",
        "cardan-shaft",
        "chaplygin-sleigh",
        "double-pendulum",
        "dzhanibekov",
        "figure-eight",
        "four-bar",
        "gyroscope",
        "pendulum",
        "rolling-disk",
        "spatial-slider-crank",
        "windows",
    ];
    for name in names {
        let s = scratch.json(&root().join(format!("examples/{name}.toml")).to_string_lossy(), &[]);
        let (a, b) = (s["energy"]["initial"].as_f64().unwrap(), s["energy"]["final"].as_f64().unwrap());
        let size = s["final"]["energy.kinetic"].as_f64().unwrap().max(1e-2);
        assert!((a - b).abs() < 2e-6 * size, "{name}: {a} {b}");
    }
}

#[test]
fn the_figure_eight_closes_and_the_cardan_shaft_passes_its_speed_on() {
    let scratch = Scratch::new("claims");
    let run = |name: &str| {
        let text = examples().into_iter().find(|(n, _)| n == name).unwrap().1;
        scratch.record(&text, &[])
    };
    let eight = run("figure-eight");
    for body in ["a.x", "a.y", "b.x", "c.y"] {
        let values = eight.column(body);
        assert!((values[0] - values[values.len() - 1]).abs() < 1e-4, "{body}");
    }
    let shaft = run("cardan-shaft");
    let (first, last) = (shaft.column("in.rate"), shaft.column("out.rate"));
    assert!(first.iter().zip(&last).all(|(a, b)| (a.abs() - b.abs()).abs() < 1e-6));
    assert!(first.iter().any(|w| (w - first[0]).abs() > 0.01), "the middle shaft's inertia is felt");
}

#[test]
fn templates_run_at_once_and_nothing_is_overwritten() {
    let scratch = Scratch::new("new");
    for template in ["pendulum", "four-bar", "slider-crank", "quarter-car", "robot-arm", "net"] {
        let name = format!("my-{template}");
        let made = scratch.bellcrank(&["new", &name, "--template", template]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let text = String::from_utf8(scratch.read(&format!("{name}.toml"))).unwrap();
        assert!(text.contains(&format!("name = \"{name}\"")) && !text.contains("examples/"), "{text}");
        assert!(text.starts_with("#:schema ./model.schema.json\n"), "{text}");
        assert_eq!(scratch.json(&format!("{name}.toml"), &["--until", "0.05"])["model"], name.as_str());
        let again = scratch.bellcrank(&["new", &name]);
        assert_eq!(again.code, 2);
        assert!(again.stderr.contains("already exists"), "{}", again.stderr);
        assert_eq!(String::from_utf8(scratch.read(&format!("{name}.toml"))).unwrap(), text);
    }
    let listed = scratch.bellcrank(&["new", "--list"]).stdout;
    assert!(examples().iter().all(|(name, _)| listed.lines().any(|l| l.starts_with(&format!("{name} ")))), "{listed}");
    let wrong = scratch.bellcrank(&["new", "x", "--template", "pendulm"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean `pendulum`?"), "{}", wrong.stderr);
    for name in ["../x", "a/b", "", ".hidden"] {
        assert_eq!(scratch.bellcrank(&["new", name]).code, 2, "{name}");
    }
}

fn swinging(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let model = root().join("examples/slider-crank.toml").to_string_lossy().into_owned();
    assert_eq!(scratch.bellcrank(&["run", &model, "--quiet", "--out", "r", "--until", "0.5"]).code, 0);
    scratch
}

#[test]
fn plots_show_the_recorded_values() {
    let scratch = swinging("plot");
    assert_eq!(
        scratch.bellcrank(&["plot", "r", "crank.x", "crank.angle", "--save", "p.svg", "--save", "p.png"]).code,
        0
    );
    let svg = String::from_utf8(scratch.read("p.svg")).unwrap();
    assert!(["t [s]", "crank.x [m]", "crank.angle [rad]"].iter().all(|l| svg.contains(l)), "{svg}");
    assert_eq!(&scratch.read("p.png")[..8], b"\x89PNG\r\n\x1a\n");
    // a curve of n frames is a line of n points whose heights are those of the values, upside down
    let table = Recorded::parse(&String::from_utf8(scratch.read("r/results.csv")).unwrap());
    let lines: Vec<Vec<f64>> = svg
        .lines()
        .filter_map(|l| l.strip_prefix("<polyline points=\"")?.split('"').next())
        .map(|l| l.split(' ').map(|p| p.split_once(',').unwrap().1.parse().unwrap()).collect::<Vec<f64>>())
        .filter(|l| l.len() == table.rows.len())
        .collect();
    assert_eq!(lines.len(), 2);
    for (line, name) in lines.iter().zip(["crank.x", "crank.angle"]) {
        let values = table.column(name);
        let last = values.len() - 1;
        let slope = (line[last] - line[0]) / (values[last] - values[0]);
        assert!(slope < 0.0, "{name}");
        assert!(values.iter().zip(line).all(|(v, y)| (line[0] + slope * (v - values[0]) - y).abs() < 0.02), "{name}");
    }
}

#[test]
fn plots_in_the_terminal_and_by_pattern() {
    let scratch = swinging("pattern");
    let text = scratch.bellcrank(&["plot", "r", "*.x"]).stdout;
    assert!(["crank.x", "link.x", "slider.x", "B.x", "t [s]", "┤", "└"].iter().all(|w| text.contains(w)), "{text}");
    assert!(!text.contains("pin.fx") && !text.contains('\x1b') && text.lines().all(|l| l.chars().count() <= 80));
    let listed = scratch.bellcrank(&["plot", "r"]).stdout;
    assert!(listed.starts_with("time [s]\ncrank.x [m]\n") && listed.contains("\npin.fx [N]\n"), "{listed}");
    let orbit = scratch.bellcrank(&["plot", "r", "B.y", "--x", "B.x"]).stdout;
    assert!(orbit.contains("B.x [m]") && orbit.contains("B.y [m]"), "{orbit}");
    assert_eq!(scratch.bellcrank(&["plot", "r", "--picture", "--save", "machine.svg"]).code, 0);
    assert!(String::from_utf8(scratch.read("machine.svg")).unwrap().matches("<poly").count() > 10);
    // the table alone will do
    std::fs::remove_file(scratch.path("r/results.parquet")).unwrap();
    assert!(scratch.bellcrank(&["plot", "r", "crank.x"]).stdout.contains("crank.x [m]"));
}

#[test]
fn wrong_plots_say_what_to_try() {
    let scratch = swinging("wrong");
    let cases: [(&[&str], &str); 8] = [
        (&["plot", "r", "cranc.x"], "did you mean `crank.x`?"),
        (&["plot", "r", "crank"], "'crank.*' plots them all"),
        (&["plot", "r", "q*"], "no channel matches `q*`"),
        (&["plot", "r", "crank.x", "--save", "p.pdf"], "ends with .svg or .png"),
        (&["plot", "r", "crank.x", "--from", "9"], "covers 0 to 0.5 s"),
        (&["plot", "nowhere", "x"], "there is no folder nowhere"),
        (&["plot", "r", "crank.x", "--x", "*.y"], "several channels"),
        (&["plot", ".", "crank.x"], "There are no results in this folder"),
    ];
    for (args, words) in cases {
        let ended = scratch.bellcrank(args);
        assert!(ended.code == 2 && ended.stderr.contains(words), "{args:?}: {} {}", ended.code, ended.stderr);
    }
}

#[test]
fn comparisons_tell_work_and_precision() {
    let scratch = Scratch::new("compare");
    let model = root().join("examples/slider-crank.toml").to_string_lossy().into_owned();
    let args = [
        "compare",
        &model,
        "--until",
        "0.5",
        "--method",
        "bdf,dop853,gen-alpha,rk4",
        "--iteration",
        "full,cm",
        "--rtol",
        "1e-4..1e-6",
        "--step",
        "1e-2,5e-3",
        "--json",
    ];
    let ended = scratch.bellcrank(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let v: Value = serde_json::from_str(&ended.stdout).unwrap();
    let runs = v["runs"].as_array().unwrap();
    let of = |method: &str, iteration: &str, key: &str| -> Vec<&Value> {
        let asked = |r: &&Value| r["method"] == method && r["iteration"] == iteration && r[key].is_number();
        runs.iter().filter(asked).collect()
    };
    // gen-alpha is run with both, and --step is not ignored for it
    for (method, iteration, key, n) in [
        ("bdf", "full", "rtol", 3),
        ("bdf", "cm", "rtol", 3),
        ("dop853", "none", "rtol", 3),
        ("gen-alpha", "full", "rtol", 3),
        ("gen-alpha", "full", "step", 2),
        ("rk4", "none", "step", 2),
    ] {
        let runs = of(method, iteration, key);
        assert_eq!(runs.len(), n, "{method} {iteration}");
        for pair in runs.windows(2) {
            let number = |k: usize, key: &str| pair[k][key].as_f64().unwrap();
            assert!(number(1, "error") < 0.5 * number(0, "error"), "{method}: {pair:?}");
            assert!(number(1, "residual_evaluations") > number(0, "residual_evaluations"), "{method}: {pair:?}");
        }
        for r in runs.iter().filter(|r| r["rtol"].is_number()) {
            let times = if r["method"] == "gen-alpha" { 300.0 } else { 10.0 }; // of second order
            assert!(r["error"].as_f64() < r["rtol"].as_f64().map(|x| times * x), "{r}");
        }
    }
    // halving the step of a method of order 4 leaves a 16th of the error
    let errors: Vec<f64> = of("rk4", "none", "step").iter().map(|r| r["error"].as_f64().unwrap()).collect();
    assert!((errors[0] / errors[1]).log2() > 3.7, "{errors:?}");
    let errors: Vec<f64> = of("gen-alpha", "full", "step").iter().map(|r| r["error"].as_f64().unwrap()).collect();
    assert!((errors[0] / errors[1]).log2() > 1.7, "{errors:?}");
    let refused = scratch.bellcrank(&["compare", &model, "--method", "bdf,dop853", "--step", "1e-3"]);
    assert!(refused.code == 2 && refused.stderr.contains("choose their steps by the error"), "{}", refused.stderr);
    let skipped = v["skipped"].to_string();
    assert!(skipped.contains("gen-alpha cm") && skipped.contains("does not iterate"), "{skipped}");
    assert!(v["reference"]["doubt"].as_f64() < Some(1e-8));
}

#[test]
fn steps_are_taken_by_every_method_that_is_compared_or_the_reason_is_told() {
    let scratch = Scratch::new("compare-steps");
    let model = root().join("examples/pendulum.toml").to_string_lossy().into_owned();
    for row in METHODS {
        // beside a method that takes the step, nothing is refused
        let methods = format!("{},rk4", row.name);
        let args = ["compare", &model, "--until", "0.1", "--rtol", "1e-3", "--method", &methods, "--step", "1e-2"];
        let ended = scratch.bellcrank(&[&args[..], &["--json"]].concat());
        assert_eq!(ended.code, 0, "{}: {}", row.name, ended.stderr);
        let v: Value = serde_json::from_str(&ended.stdout).unwrap();
        let takes = |r: &Value| r["method"] == row.name && r["step"] == 1e-2;
        let taken = v["runs"].as_array().unwrap().iter().any(takes);
        let told = v["skipped"].to_string().contains(&format!("{} with --step", row.name));
        assert!(taken != told, "{}: {v}", row.name);
    }
}

#[test]
fn comparisons_have_a_table_a_diagram_and_clear_errors() {
    let scratch = Scratch::new("compare-text");
    let model = root().join("examples/pendulum.toml").to_string_lossy().into_owned();
    let told = scratch
        .bellcrank(&["compare", &model, "--until", "0.5", "--rtol", "1e-3,1e-5", "--method", "dopri5,rk4"])
        .stdout;
    for words in [
        "factorizations",
        "dopri5  index1",
        "rtol 1e-5",
        "skipped: rk4: rk4 has no error control",
        "achieved error",
        "Errors are those against",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(
        scratch.bellcrank(&["compare", &model, "--until", "0.2", "--rtol", "1e-3..1e-5", "--save", "c.svg"]).code,
        0
    );
    let svg = String::from_utf8(scratch.read("c.svg")).unwrap();
    assert!(
        svg.contains("evaluations")
            && svg.contains("time [s]")
            && svg.contains(">bdf ggl auto<")
            && svg.contains(">dop853 index1<"),
        "{svg}"
    );
    let wiper = root().join("examples/windshield-wiper.toml").to_string_lossy().into_owned();
    let cases: [(&[&str], &str); 4] = [
        (&["compare", &model, "--method", "bfd"], "did you mean `bdf`?"),
        (&["compare", &model, "--rtol", "1e-3..x"], "expected a positive number, found `x`"),
        (&["compare", &wiper], "no degree of freedom"),
        (&["compare", "none.toml"], "none.toml"),
    ];
    for (args, words) in cases {
        let ended = scratch.bellcrank(args);
        assert!(ended.code == 2 && ended.stderr.contains(words), "{args:?}: {} {}", ended.code, ended.stderr);
    }
}

#[test]
fn the_gallery_has_a_picture_and_numbers_of_every_machine() {
    let scratch = Scratch::new("gallery");
    let names = ["pendulum", "bennett", "seven-body", "net"];
    let mut args = vec!["gallery", "--out", "g", "--png"];
    names.iter().for_each(|n| args.extend(["--only", n]));
    let ended = scratch.bellcrank(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let page = String::from_utf8(scratch.read("g/index.html")).unwrap();
    for name in names {
        let svg = String::from_utf8(scratch.read(&format!("g/{name}.svg"))).unwrap();
        assert!(svg.matches("<poly").count() > 8, "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        assert!(page.contains(&format!("src=\"{name}.svg\"")) && page.contains(&format!("href=\"{name}.html\"")));
        assert!(
            scratch.read(&format!("g/{name}.png")).len() > 2000
                && scratch.path(&format!("g/{name}/summary.json")).exists()
        );
        assert!(String::from_utf8(scratch.read(&format!("g/{name}.html"))).unwrap().contains("bellcrank-data"));
    }
    assert_eq!(page.matches("<article").count(), names.len());
    assert!(page.contains("1, 3 redundant equations"));
    // filters: what each machine has is told from the machine
    for (name, tags) in [
        ("pendulum", "plane"),
        ("bennett", "space loops redundant"),
        ("seven-body", "plane loops springs"),
        ("net", "space springs"),
    ] {
        assert!(page.contains(&format!("id=\"{name}\" data-tags=\"{tags}\"")), "{name}");
        for tag in tags.split(' ') {
            assert!(page.contains(&format!("<button type=button data-tag={tag} ")), "{tag}");
        }
    }
    // again, over what is there
    assert_eq!(scratch.bellcrank(&["gallery", "--out", "g", "--only", "pendulum"]).code, 0);
    let wrong = scratch.bellcrank(&["gallery", "--only", "penduluum"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("did you mean `pendulum`?"), "{}", wrong.stderr);
}

#[test]
fn bench_measures_and_writes_a_page_that_tells_where() {
    let s = Scratch::new("bench");
    let ended = s.bellcrank(&["bench", "slider-crank", "--quick", "--json", "--out", "page", "--peers", "nobody"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let processor = told["processor"].as_str().unwrap();
    let (header, row) = (told["tables"][0]["header"].as_array().unwrap(), &told["tables"][0]["rows"][0]);
    assert_eq!(row[1], "Bellcrank");
    let error = header.iter().position(|h| h == "error").unwrap();
    assert!(row[error].as_str().unwrap().parse::<f64>().unwrap() <= 1e-6, "{row}");
    let page = std::fs::read_to_string(s.path("page/index.html")).unwrap();
    assert!(page.contains(processor) && page.contains("error, largest angle [rad]") && page.contains("<svg"), "{page}");
    assert!(std::fs::exists(s.path("page/slider-crank.svg")).unwrap());
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let s = Scratch::new("shell");
    let help = s.bellcrank(&["--help"]).stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|l| !l.is_empty());
    let commands: Vec<&str> = commands.filter_map(|l| l.trim().split(' ').next()).filter(|c| *c != "help").collect();
    assert!(commands.len() > 15 && commands.contains(&"completions"), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = s.bellcrank(&["completions", shell]);
        assert_eq!((script.code, script.stderr.as_str()), (0, ""), "{shell}");
        assert!(commands.iter().all(|c| script.stdout.contains(c)) && script.stdout.contains("verify"), "{shell}");
    }
    assert_eq!(s.bellcrank(&["completions", "tcsh"]).code, 2);
    assert_eq!(s.bellcrank(&["man", "--out", "man"]).code, 0);
    let pages = s.list("man");
    assert!(commands.iter().all(|c| pages.contains(&format!("bellcrank-{c}.1"))), "{pages:?}");
    let page = String::from_utf8(s.read("man/bellcrank-run.1")).unwrap();
    assert!(page.contains("\\-\\-verify") && page.contains(".TH"), "{page}");
    assert!(s.bellcrank(&["man"]).stdout.contains("bellcrank"));
}

#[test]
fn check_watches_a_model_that_is_saved_again() {
    use std::io::BufRead;
    use std::process::Stdio;
    let s = Scratch::new("watch");
    s.write("m.toml", "[body.a]\nmass = 1\n");
    let mut child = s.command(&["check", "m.toml", "--watch"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |what: &str| stderr.by_ref().map_while(Result::ok).any(|line| line.contains(what));
    assert!(stdout.next().unwrap().unwrap().starts_with("m: 1 body") && until("watching m.toml"));
    s.write("m.toml", "[body.a]\nmas = 1\n");
    assert!(until("unknown key `mas`") && until("watching m.toml"));
    s.write("m.toml", "[body.a]\nmass = 1\n[body.b]\nmass = 2\n");
    assert!(stdout.by_ref().map_while(Result::ok).any(|line| line.starts_with("m: 2 bodies")));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_prints_verdicts_largest_values_and_what_to_do_next() {
    let s = Scratch::new("told");
    let model = root().join("examples/bouncing-ball.toml").to_string_lossy().into_owned();
    let brief = s.bellcrank(&["run", &model, "--out", "r"]).stderr;
    for words in [
        "bouncing-ball: 1 body, 0 joints, 1 force",
        "method: dopri5 on index1, rtol 1e-6; 10 s in ",
        "energy: good, balanced to ",
        "largest values at the samples:",
        "events:\n  t = 0.428353 s: force `floor` bounces\n",
        "results: r\nnext: bellcrank view r\n      bellcrank plot r ball.x\n",
    ] {
        assert!(brief.contains(words), "{words} is not in\n{brief}");
    }
    assert!(!brief.contains("solver: ") && !brief.contains("evaluations") && brief.lines().count() < 20, "{brief}");
    let verbose = s.bellcrank(&["run", &model, "--verbose"]).stderr;
    for words in ["solver: ", " evaluations, ", "t = 10 s:\n", "energy.total", "to keep the results"] {
        assert!(verbose.contains(words), "{words} is not in\n{verbose}");
    }
    assert_eq!(s.bellcrank(&["run", &model, "--verbose", "--quiet"]).code, 2);
    // the fastest it falls is √(2 g h), at the first bounce
    let line = brief.lines().find(|l| l.contains("speed of ball")).unwrap();
    let speed: f64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!(speed < (2.0 * 9.81 * 0.9f64).sqrt() && speed > 3.8, "{line}");
}

#[test]
fn an_fmu_is_written_whole_and_the_same_each_time_or_refused_with_a_reason() {
    let s = Scratch::new("fmu");
    let slider = root().join("examples/slider-crank.toml").to_string_lossy().into_owned();
    for version in ["2", "3"] {
        let told = s.bellcrank(&["fmu", &slider, "--fmi", version, "-o", "a.fmu"]);
        assert_eq!(told.code, 0, "{}", told.stderr);
        assert!(told.stderr.contains(&format!("FMI {version}.0 (cs,me)")), "{}", told.stderr);
        assert!(told.stderr.contains("for other systems, make it there"), "{}", told.stderr);
        assert_eq!(s.bellcrank(&["fmu", &slider, "--fmi", version, "-o", "b.fmu"]).code, 0);
        let (a, b) = (s.read("a.fmu"), s.read("b.fmu"));
        assert!(a == b && a.len() > 500_000 && a.starts_with(b"PK"), "{} {}", a.len(), b.len());
    }
    s.write("arm.toml", "model = { plane = \"xy\" }\ninput.u = {}\nbody.a = { mass = 1, inertia = 1 }\njoint.j = { type = \"revolute\", between = [\"ground\", \"a\"], at = [0, 0] }\njoint.motor = { type = \"drive\", joint = \"j\", rate = \"u\" }\n");
    for (args, words) in [
        (&["fmu", "arm.toml"][..], "input `u` prescribes a motion"),
        (&["fmu", "arm.toml", "--kind", "xx"], "`xx` is no kind of FMU"),
        (&["fmu", "arm.toml", "--kind", "cs", "--output", "j.angel"], "did you mean `j.angle`?"),
        (&["fmu", "none.toml"], "none.toml"),
        (&["fmu", "arm.toml", "--fmi", "4"], "2, 3"),
    ] {
        let told = s.bellcrank(args);
        assert!(told.code == 2 && told.stderr.contains(words), "{args:?}: {}", told.stderr);
    }
    assert!(!s.path("arm.fmu").exists());
    assert_eq!(s.bellcrank(&["fmu", "arm.toml", "--kind", "cs"]).code, 0);
    assert!(s.path("arm.fmu").exists() && !s.path("arm.fmu.part").exists());
    let told =
        s.command(&["fmu", "arm.toml", "--kind", "cs"]).env("BELLCRANK_FMU_LIBRARY", "none.so").output().unwrap();
    assert!(!told.status.success() && String::from_utf8_lossy(&told.stderr).contains("BELLCRANK_FMU_LIBRARY"));
}
