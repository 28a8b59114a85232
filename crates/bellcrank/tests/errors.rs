//! What the program says when it cannot do what was asked: the exact words and exit codes.
//!
//! After a deliberate change read the new messages as a stranger would, then take them over with
//! `INSTA_UPDATE=always cargo test --release -p bellcrank --test errors`.

mod common;

use common::Scratch;
use std::fmt::Write;

/// Runs of the program, one after the other, as they look on a terminal.
struct Session {
    scratch: Scratch,
    shown: String,
}

impl Session {
    fn new(name: &str) -> Session {
        Session { scratch: Scratch::new(name), shown: String::new() }
    }

    /// Runs `bellcrank run FILE OPTIONS` on a text; nothing may appear on stdout.
    fn run(&mut self, file: &str, text: &str, options: &str) {
        self.scratch.write(file, text);
        self.line(&format!("run {file} {options}"));
    }

    fn line(&mut self, line: &str) {
        let args: Vec<&str> = line.split_whitespace().collect();
        let ended = self.scratch.bellcrank(&args);
        assert_eq!(ended.stdout, "", "{line}");
        let clean = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(ended.stderr.chars().all(clean), "{:?}", ended.stderr);
        let stderr = without_step(ended.stderr);
        let _ = write!(self.shown, "$ bellcrank {}\n{stderr}[exit {}]\n\n", args.join(" "), ended.code);
    }

    fn check(self, name: &str) {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => true }, {
            insta::assert_snapshot!(name, self.shown.trim_end());
        });
    }
}

/// The size of a step that collapsed hangs on the last bits.
fn without_step(mut text: String) -> String {
    if let Some(at) = text.find("(step ")
        && let Some(length) = text[at..].find(')')
    {
        text.replace_range(at..at + length, "(step …");
    }
    text
}

const GOOD: &str = r#"[model]
plane = "xy"
gravity = [0, -9.81]
[parameter]
k = 100
length = "k / 200"
[body.crank]
mass = 1
inertia = 0.1
at = ["length", 0]
[body.link]
mass = 1
inertia = 0.1
at = [1.5, 0]
[joint.pin]
type = "revolute"
between = ["ground", "crank"]
at = [0, 0]
[joint.elbow]
type = "revolute"
between = ["crank", "link"]
at = [1, 0]
[force.spring]
type = "spring-damper"
between = ["ground", "link"]
at = [[3, 0], [2, 0]]
stiffness = "k"
"#;

/// The good model with one text in the place of another.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

#[test]
fn the_good_model_is_good() {
    let scratch = Scratch::new("good");
    let ended = scratch.write("m.toml", GOOD).bellcrank(&["run", "m.toml", "--quiet"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
}

#[test]
fn the_file() {
    let mut s = Session::new("file");
    s.scratch.write("good.toml", GOOD).write("latin.toml", b"[model]\nname = \"M\xfcller\"\n");
    s.line("run god.toml");
    s.line("run nothing.toml");
    s.line("run nowhere/good.toml");
    s.line("run .");
    s.line("run latin.toml");
    s.run("empty.toml", "", "");
    s.run("comment.toml", "# to be done\n", "");
    s.run("list.json", "[1, 2]", "");
    s.run("cut.json", "{ \"body\": { \"a\": { \"mass\": 1 }", "");
    s.run("table.toml", "[body.a\nmass = 1\n", "");
    s.run("scalar.toml", "body = 3\njoint = \"pin\"\n", "");
    s.run("section.toml", &with("[joint.pin]", "[joints.pin]"), "");
    s.check("the_file");
}

#[test]
fn keys_and_values() {
    let mut s = Session::new("keys");
    s.run("key.toml", &with("inertia = 0.1", "inertial = 0.1"), "");
    s.run("type.toml", &with("mass = 1", "mass = [1, 2]"), "");
    s.run("word.toml", &with("mass = 1", "mass = \"heavy\""), "");
    s.run("nan.toml", &with("mass = 1", "mass = nan"), "");
    s.run("huge.toml", &with("mass = 1", "mass = 1e999"), "");
    s.run("negative.toml", &with("mass = 1", "mass = -1"), "");
    s.run("below.toml", &with("mass = 1", "mass = \"k - 200\""), "");
    s.run("massless.toml", &with("mass = 1\n", ""), "");
    s.run("inertia.toml", &with("inertia = 0.1", "inertia = -0.1"), "");
    s.run("vector.toml", &with("at = [0, 0]", "at = [0, 0, 0]"), "");
    s.run("plane.toml", &with("plane = \"xy\"", "plane = \"xz\""), "");
    s.run("parameter.toml", &with("\"k / 200\"", "\"kk / 200\""), "");
    s.run("division.toml", &with("\"k / 200\"", "\"k / (k - 100)\""), "");
    s.run("circle.toml", &with("k = 100", "k = \"200 * length\""), "");
    s.run("time.toml", &with("mass = 1", "mass = \"1 + t\""), "");
    s.check("keys_and_values");
}

#[test]
fn units() {
    let mut s = Session::new("units");
    s.run("kind.toml", &with("mass = 1", "mass = \"5 kN\""), "");
    s.run("vector.toml", &with("at = [1.5, 0]", "at = [\"150 mm\", \"2 deg\"]"), "");
    s.run(
        "none.toml",
        &with("plane = \"xy\"", "plane = \"xy\"\nname = \"x\"").replace("[joint.pin]", "[joint.pin]\ntree = \"1 m\""),
        "",
    );
    s.run("unknown.toml", &with("mass = 1", "mass = \"5 Kg\""), "");
    s.run("space.toml", &with("stiffness = \"k\"", "stiffness = \"5 kN / m\""), "");
    s.run("parameter.toml", &with("k = 100", "k = \"100 N\""), "");
    s.run("doubt.toml", &with("k = 100", "m = 2\nk = \"100 N/m\""), "");
    s.run("mixed.toml", &with("k = 100", "m = 2\nk = \"2 * 50 N/m\""), "");
    s.run("kept.toml", &with("k = 100", "k = { value = \"100 N/mm\", unit = \"N/mm\" }"), "");
    s.run("input.toml", &format!("{GOOD}[input.u]\nstart = \"3 kN\"\nunit = \"kN\"\n"), "");
    s.run(
        "turn.toml",
        &format!("{GOOD}[force.f]\ntype = \"joint-spring\"\njoint = \"pin\"\nstiffness = \"5 N/mm\"\n"),
        "",
    );
    s.run(
        "curve.toml",
        &format!("{GOOD}[force.f]\ntype = \"joint-spring\"\njoint = \"pin\"\ncurve = [[0, 0], [\"2 deg\", \"3 N\"]]\n"),
        "",
    );
    s.run("start.toml", &format!("{GOOD}[start]\npin = {{ rate = \"3 m/s\" }}\n"), "");
    s.run("hertz.toml", &format!("{GOOD}[start]\npin = {{ rate = \"3 Hz\" }}\n"), "");
    s.run("drive.toml", &format!("{GOOD}[joint.d]\ntype = \"drive\"\njoint = \"pin\"\nrate = \"3 m/s\"\n"), "");
    s.run(
        "gain.toml",
        &format!("{GOOD}[force.f]\ntype = \"pid\"\njoint = \"pin\"\nreference = \"5 mm\"\nkp = \"3 N\"\n"),
        "",
    );
    s.run("solve.toml", &format!("{GOOD}[solve]\nuntil = \"3 m\"\n"), "");
    s.run("good.toml", GOOD, "--until 3kg");
    s.check("units");
}

#[test]
fn functions_of_the_state() {
    let mut s = Session::new("state");
    let law = |law: &str| format!("{GOOD}[force.f]\ntype = \"joint-actuator\"\njoint = \"pin\"\neffort = \"{law}\"\n");
    s.run("channel.toml", &law("-2*pin.angel"), "");
    s.run("owner.toml", &law("-2*pni.angle"), "");
    s.run("acceleration.toml", &law("-2*crank.ax"), "");
    s.run("reaction.toml", &law("0.1*pin.fx"), "");
    s.run("force.toml", &law("0.1*spring.length"), "");
    s.run("energy.toml", &law("0.1*energy.total"), "");
    s.run("output.toml", &format!("{}[output.o]\nvalue = \"crank.ax\"\n", law("0.1*o")), "");
    s.run("circle.toml", &format!("{}[output.o]\nvalue = \"2*p\"\n[output.p]\nvalue = \"o\"\n", law("0.1*o")), "");
    s.run("filter.toml", &format!("{}[output.o]\nvalue = \"crank.x\"\nlag = 0.1\n", law("0.1*o")), "");
    s.run("floor.toml", &law("floor(pin.angle)"), "");
    s.run("bends.toml", &law(&["abs(pin.angle)"; 8].join(" + ")), "");
    s.run("syntax.toml", &law("2*pin.angle +"), "");
    s.run("mass.toml", &with("mass = 1", "mass = \"1 + pin.angle\""), "");
    s.run("drive.toml", &format!("{GOOD}[joint.d]\ntype = \"drive\"\njoint = \"pin\"\nrate = \"elbow.rate\"\n"), "");
    s.run(
        "wind.toml",
        &format!("{GOOD}[force.f]\ntype = \"drag\"\nbody = \"link\"\ncd = 1\narea = 1\nwind = [\"link.x\", 0]\n"),
        "",
    );
    s.run(
        "kd.toml",
        &format!("{GOOD}[force.f]\ntype = \"pid\"\njoint = \"pin\"\nreference = \"elbow.angle\"\nkp = 1\nkd = 1\n"),
        "",
    );
    s.run("rate.toml", &format!("{GOOD}[state.p]\nstart = 1\n"), "");
    s.run(
        "name.toml",
        &format!("{GOOD}[state.sin]\nrate = 1\n[state.pi]\nrate = 1\n[state.t]\nrate = 1\n[state.a-b]\nrate = 1\n"),
        "",
    );
    s.run("clash.toml", &format!("{GOOD}[state.k]\nrate = 1\n[state.crank]\nrate = 1\n"), "");
    s.check("functions_of_the_state");
}

#[test]
fn repetition() {
    let mut s = Session::new("repeat");
    let links = |entry: &str| format!("{GOOD}[body.\"l{{i}}\"]\n{entry}\n");
    s.run("text.toml", &links("repeat = \"many\"\nmass = 1"), "");
    s.run("half.toml", &links("repeat = 2.5\nmass = 1"), "");
    s.run("four.toml", &links("repeat = [1, 2, 3, 4]\nmass = 1"), "");
    s.run("huge.toml", &links("repeat = [100000, 100000]\nmass = 1"), "");
    s.run("flag.toml", &links("repeat = true\nmass = 1"), "");
    s.run("brace.toml", &links("repeat = 2\nmass = \"{i\""), "");
    s.run("index.toml", &links("repeat = 2\nmass = \"{j}\""), "");
    s.run("fraction.toml", &links("repeat = 2\nmass = \"{i/2}\""), "");
    s.run("clash.toml", &format!("{GOOD}[body.\"l{{i}}\"]\nrepeat = 2\nmass = 1\n[body.l2]\nmass = 1\n"), "");
    s.run("inside.toml", &links("repeat = 2\nmass = \"{i} - 2\""), "");
    s.check("repetition");
}

#[test]
fn parts() {
    let mut s = Session::new("parts");
    let part = "[model]\nplane = \"xy\"\n[parameter]\nk = 100\n[body.hub]\nmass = \"m\"\n[body.rim]\nmass = 1\ninertia = 1\nat = [1, 0]\n\
                [joint.pin]\ntype = \"revolute\"\nbetween = [\"ground\", \"rim\"]\nat = [1, 0]\n";
    let good = part.replace("\"m\"", "1");
    s.scratch.write("wheel.toml", &good);
    s.scratch.write("wrong.toml", part);
    s.scratch.write("cycle.toml", "[model]\nplane = \"xy\"\n[include.again]\nfile = \"turns.toml\"\n");
    s.scratch.write("turns.toml", "[model]\nplane = \"xy\"\n[include.back]\nfile = \"cycle.toml\"\n");
    s.scratch.write("space.toml", "[body.a]\nmass = 1\n");
    s.scratch.write("heavy.toml", format!("{}gravity = [0, -9.81]\n", "[body.a]\nmass = 1\n[model]\nplane = \"xy\"\n"));
    let curve = "[force.coil]\ntype = \"joint-spring\"\njoint = \"pin\"\ncurve = { table = \"f.csv\", columns = [\"x\", \"f\"] }\n";
    s.scratch.write("coil.toml", format!("{good}{curve}"));
    s.scratch.write("beam.toml", "[model]\nplane = \"xy\"\n[body.b]\nbeam = { from = [0, 0], to = [1, 0], mass = 1, youngs_modulus = 1e9, section = { radius = 0.01 } }\n");
    s.scratch.write("law.toml", format!("{good}[output.level]\nvalue = \"rim.y\"\n[force.f]\ntype = \"force\"\nbody = \"rim\"\nforce = [0, \"-level\"]\n"));
    let left = |keys: &str| format!("[model]\nplane = \"xy\"\n[body.a]\nmass = 1\n[include.left]\n{keys}\n");
    s.run("unknown.toml", &left("file = \"wheels.toml\""), "");
    s.run("outside.toml", &left("file = \"../wheel.toml\""), "");
    s.run("kind.toml", &left("file = \"wheel.urdf\""), "");
    s.run("in-part.toml", &left("file = \"wrong.toml\""), "");
    s.run("circle.toml", &left("file = \"cycle.toml\""), "");
    s.run("itself.toml", &left("file = \"itself.toml\""), "");
    s.run("kinds.toml", &left("file = \"space.toml\""), "");
    s.run("gravity.toml", &left("file = \"heavy.toml\""), "");
    s.run("set.toml", &left("file = \"wheel.toml\"\nset = { kk = 3 }"), "");
    s.run("path.toml", &left("file = \"wheel.toml\"\nset = { \"body.hup.mass\" = 3 }"), "");
    s.run("port.toml", &left("file = \"wheel.toml\"\nports = { hup = \"a\" }"), "");
    s.run("leads.toml", &left("file = \"wheel.toml\"\nports = { hub = \"b\" }"), "");
    s.run("plane.toml", &left("file = \"wheel.toml\"\nmirror = \"xz\""), "");
    s.run("curve.toml", &left("file = \"coil.toml\"\nmirror = \"x\""), "");
    s.run("flexible.toml", &left("file = \"beam.toml\"\nmirror = \"x\""), "");
    s.run("output.toml", &left("file = \"law.toml\"\nat = [0, 1]"), "");
    s.run("name.toml", &left("file = \"wheel.toml\"").replace("include.left", "include.a"), "");
    s.run("dot.toml", &left("file = \"wheel.toml\"").replace("include.left", "include.\"a-b\""), "");
    s.run("twice.toml", &format!("{}[body.\"left.hub\"]\nmass = 1\n", left("file = \"wheel.toml\"")), "");
    s.run("set-flag.toml", &left("file = \"wheel.toml\""), "--set include.left.set.kk=3");
    s.run("marker.toml", &format!("{}[marker.m]\nbody = \"left.hup\"\n", left("file = \"wheel.toml\"")), "");
    s.check("parts");
}

#[test]
fn names() {
    let mut s = Session::new("names");
    s.run("unknown.toml", &with("\"crank\", \"link\"", "\"crnak\", \"link\""), "");
    s.run("itself.toml", &with("\"crank\", \"link\"", "\"link\", \"link\""), "");
    s.run("twice.toml", &format!("{GOOD}[body.crank]\nmass = 2\n"), "");
    s.run("both.toml", &format!("{GOOD}[body.pin]\nmass = 2\n"), "");
    s.run("probe.toml", &format!("{GOOD}[probe.link]\nbody = \"link\"\n"), "");
    s.run("ground.toml", &with("[body.link]", "[body.ground]"), "");
    s.run("empty.toml", &with("[body.link]", "[body.\"\"]"), "");
    s.run("start.toml", &format!("{GOOD}[start]\nelbw = {{ rate = 1 }}\n"), "");
    s.run("twice.json", r#"{ "body": { "a": { "mass": 1 }, "a": { "mass": 2 } } }"#, "");
    s.check("names");
}

#[test]
fn names_that_could_fool_a_terminal() {
    let mut s = Session::new("odd");
    let odd = ["\\u001b[31mred", "\\u202edlrow", "<script>alert(1)</script>", "two\\nlines", "ra\\u0308der"];
    let each = |values: &str| -> String { odd.iter().map(|n| format!("[body.\"{n}\"]\n{values}\n")).collect() };
    s.run("mass.toml", &each("mass = -1"), "");
    s.run("key.toml", &each("mas = 1"), "");
    let pole =
        "[force.\"\\u0007bell\"]\ntype = \"force\"\nbody = \"\\u001b[31mred\"\nforce = [\"1/(t - 0.5)^2\", 0, 0]\n";
    s.run("pole.toml", &format!("{}{pole}", each("mass = 1")), "--quiet");
    let joint =
        "[joint.\"\\u202ej\"]\ntype = \"distance\"\nbetween = [\"\\u001b[31mred\", \"<script>alert(1)</script>\"]\n";
    s.run("joint.toml", &format!("{}{joint}on = [[0,0,0],[1,0,0]]", each("mass = 1")), "");
    s.line("run \u{1b}[31mx.toml");
    s.run("good.toml", GOOD, "--method \u{1b}[31mbdf");
    s.run("set.toml", GOOD, "--set body.\u{202e}.mass=1");
    s.scratch.write("file", "");
    s.run("out.toml", GOOD, "--quiet --out file/\u{1b}[31mx");
    s.check("odd_names");

    // the words of a run that succeeds are as safe
    let s = Scratch::new("odd-run");
    let model = format!("model.name = \"\\u001b[2J\"\n{}", each("mass = 1"));
    let ended = s.write("m.toml", model).bellcrank(&["run", "m.toml", "--verbose"]);
    assert_eq!(ended.code, 0);
    assert!(ended.stderr.contains("\\u{1b}[31mred.x"), "{}", ended.stderr);
    assert!(ended.stderr.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{:?}", ended.stderr);
}

#[test]
fn bodies_without_what_a_joint_needs() {
    let mut s = Session::new("bodies");
    let rod = "rod = { from = [0, 0, 0], to = [1, 0, 0], mass = 1 }";
    let natural = format!("[body.stick]\n{rod}\ncoordinates = \"natural\"\n");
    let joint = |kind: &str, body: &str, at: &str| {
        format!("[joint.hinge]\ntype = \"{kind}\"\nbetween = [\"ground\", \"{body}\"]\nat = {at}\n")
    };
    s.run("spin.toml", &format!("{natural}{}axis = [0, 1, 0]\n", joint("revolute", "stick", "[0, 0, 0]")), "");
    s.run("beside.toml", &format!("{natural}{}", joint("spherical", "stick", "[0, 0.5, 0]")), "");
    let ball = "[body.ball]\nmass = 1\nat = [1, 0, 0]\n";
    s.run("off.toml", &format!("{ball}{}", joint("spherical", "ball", "[0, 0, 0]")), "");
    s.run("turn.toml", &format!("{ball}{}", joint("revolute", "ball", "[1, 0, 0]")), "");
    s.run("point.toml", &format!("{ball}[joint.bar]\ntype = \"distance\"\nbetween = [\"ground\", \"ball\"]\n"), "");
    let no_length = "[body.stick]\nrod = { from = [1, 0, 0], to = [1, 0, 0], mass = 1, radius = 0.1 }\n";
    s.run("no-length.toml", no_length, "");
    s.run("inertia.toml", "[body.brick]\nmass = 1\ninertia = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]\n", "");
    s.run("matrix.toml", "[body.brick]\nmass = 1\ninertia = [1, 1, 1]\norientation = [1, 1, 0, 0]\n", "");
    s.run("angle.toml", "[body.brick]\nmass = 1\ninertia = [1, 1, 1]\nangle = 0.3\n", "");
    for (old, new) in [
        ("[body.crank]", "[body.crank]\ncolour = \"reed\""),
        ("[body.crank]", "[body.crank]\ncolor = \"red\""),
        ("[body.crank]", "[body.crank]\ncolour = \"#12345\""),
        ("[body.crank]", "[body.crank]\nopacity = 40"),
        ("[body.crank]", "[body.crank]\nhidden = \"yes\""),
    ] {
        assert!(GOOD.contains(old));
        s.run("m.toml", &GOOD.replacen(old, new, 1), "");
    }
    s.check("bodies_and_joints");
}

/// Four bars with the rocker's pin at `x`, on the ground.
fn four_bar(x: f64) -> String {
    format!(
        r#"model = {{ plane = "xy", gravity = [0, -9.81] }}
body.crank = {{ rod = {{ from = [0, 0], to = [0, 1], mass = 1 }} }}
body.coupler = {{ rod = {{ from = [0, 1], to = [1, 1], mass = 1 }} }}
body.rocker = {{ rod = {{ from = [{x}, 0], to = [{x}, 1], mass = 1 }} }}
joint.A = {{ type = "revolute", between = ["ground", "crank"], at = [0, 0] }}
joint.B = {{ type = "revolute", between = ["crank", "coupler"], at = [0, 1] }}
joint.C = {{ type = "revolute", between = ["coupler", "rocker"], on = [[0.5, 0], [0.5, 0]] }}
joint.D = {{ type = "revolute", between = ["ground", "rocker"], at = [{x}, 0] }}
"#
    )
}

#[test]
fn starts_that_cannot_be() {
    let mut s = Session::new("starts");
    s.run("four-bar.toml", &four_bar(5.0), "--out results");
    s.run("rates.toml", &format!("{}start.A.rate = 1\nstart.D.rate = 2\n", four_bar(1.0)), "--out results");
    s.run("angles.toml", &format!("{}start.A.angle = 1\nstart.D.angle = -1\n", four_bar(1.0)), "--out results");
    s.run("motion.toml", &format!("{}start.A.position = 1\n", four_bar(1.0)), "--out results");
    assert!(!s.scratch.path("results").exists());
    s.check("starts");
}

const POLE: &str = r#"[body.anvil]
mass = 5
[body.hammer]
mass = 1
at = [1, 0, 0]
[force.push]
type = "force"
body = "hammer"
force = ["1/(t - 0.5)^2", 0, 0]
"#;

#[test]
fn runs_that_fail() {
    let mut s = Session::new("runs");
    let root = POLE.replace("1/(t - 0.5)^2", "sqrt(0.5 - t)");
    for method in ["dopri5", "dop853", "bdf", "rk4 --step 0.02"] {
        s.run("pole.toml", POLE, &format!("--quiet --method {method}"));
    }
    for method in ["dopri5", "dop853", "rk4 --step 0.02"] {
        s.run("root.toml", &root, &format!("--quiet --method {method}"));
    }
    s.check("runs_that_fail");
}

#[test]
fn a_failed_run_keeps_its_results_and_says_so() {
    let s = Scratch::new("kept");
    let args = ["run", "pole.toml", "--json", "--out", "results", "--sample", "0.005"];
    let ended = s.write("pole.toml", POLE).bellcrank(&args);
    assert_eq!(ended.code, 1);
    let printed: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(printed["status"], "failed");
    assert!(printed["error"].as_str().unwrap().contains("force `push` is no number at t = 0.5"), "{printed}");
    assert_eq!(s.list("results"), ["results.csv", "results.parquet", "scene.json", "summary.json"]);
    let summary: serde_json::Value = serde_json::from_slice(&s.read("results/summary.json")).unwrap();
    assert_eq!((&summary["status"], &summary["error"]), (&printed["status"], &printed["error"]));
    let table = common::Recorded::parse(&String::from_utf8(s.read("results/results.csv")).unwrap());
    assert!((80..101).contains(&table.rows.len()), "{}", table.rows.len());
    assert!(table.column("hammer.vx").iter().all(|v| v.is_finite()));
    // rows that wait when a run fails are not lost: the last one is just before the pole
    let ended = s.bellcrank(&["run", "pole.toml", "--json", "--out", "steps"]);
    assert_eq!(ended.code, 1);
    let table = common::Recorded::parse(&String::from_utf8(s.read("steps/results.csv")).unwrap());
    let last = table.column("time").last().copied().unwrap();
    assert!(last < 0.5 && last > 0.499_999, "{last}");
}

#[test]
fn options() {
    let mut s = Session::new("options");
    s.scratch.write("m.toml", GOOD);
    for options in [
        "--method bfd",
        "--method leapfrog",
        "--formulation index2",
        "--iteration newton",
        "--test v",
        "--method rk4",
        "--step 1e-3 --rtol 1e-6",
        "--step 0",
        "--step 1mm",
        "--until -1",
        "--until nan",
        "--rtol 1e-20",
        "--sample 1e-12",
        "--method rk4 --step 1e-3 --formulation ggl",
        "--method dopri5 --iteration full",
        "--formulation index3",
        "--method gen-alpha --step 1e-3 --rho 2",
        "--method gen-alpha --formulation index3 --rho 1",
        "--method hht-i3 --alpha 0",
        "--method hht-si2 --alpha -0.6",
        "--method hht-add --b 0.5",
        "--method hht-i3 --formulation si2",
        "--method hht-i4",
        "--method gen-alpha --alpha -0.1",
        "--method newmark --gamma 0.4",
        "--method newmark --beta 0.1",
        "--method bdf --formulation add",
        "--method bdf --max-order 9",
        "--metod bdf",
    ] {
        s.line(&format!("run m.toml {options}"));
    }
    s.check("options");
}

#[test]
fn options_in_the_file() {
    let mut s = Session::new("solve");
    for (i, solve) in [
        "method = \"bfd\"",
        "formulation = \"index2\"",
        "method = \"rk4\"",
        "method = \"hht-i3\"\nalpha = 0",
        "method = \"hht-i3\"\nformulation = \"si2\"",
        "method = \"dopri5\"\niteration = \"full\"",
        "rtol = 1e-20",
        "max_order = 9",
        "until = 0",
        "metod = \"bdf\"",
    ]
    .iter()
    .enumerate()
    {
        s.run(&format!("{i}.toml"), &format!("{GOOD}[solve]\n{solve}\n"), "");
    }
    s.check("options_in_the_file");
}

#[test]
fn overrides() {
    let mut s = Session::new("set");
    s.scratch.write("m.toml", GOOD);
    for set in [
        "parameter.q=2",
        "parameter.k",
        "parameter.k=",
        "parameter.k=1/0",
        "body.crank.mass=heavy",
        "body.crank.mss=3",
        "body.crnak.mass=3",
        "body.crank.mass=-3",
        "force.spring.at=[0,0]",
        "mass=3",
    ] {
        s.line(&format!("run m.toml --set {set}"));
    }
    s.check("overrides");
}

#[test]
fn folders_that_cannot_be_written() {
    let mut s = Session::new("folders");
    s.scratch.write("m.toml", GOOD).write("file", "mine");
    std::fs::create_dir(s.scratch.path("thesis")).unwrap();
    s.scratch.write("thesis/thesis.tex", "years");
    s.line("run m.toml --out file");
    s.line("run m.toml --json --out file/below");
    s.line("run m.toml --out thesis");
    assert_eq!(s.scratch.read("file"), b"mine");
    assert_eq!(s.scratch.list("thesis"), ["thesis.tex"]);
    assert_eq!(s.scratch.list("."), ["file", "m.toml", "thesis"]);
    s.check("folders");
}

#[test]
fn other_commands() {
    let mut s = Session::new("commands");
    s.scratch.write("m.toml", GOOD).write("open.toml", four_bar(5.0));
    for line in [
        "statics nothing.toml",
        "statics open.toml",
        "statics m.toml --follow parameter.k",
        "modes m.toml --at somewhere",
        "modes open.toml",
        "inverse open.toml",
        "inverse m.toml --drive pn=t",
        "check nothing.toml",
        "reproduce nothing",
        "simulate m.toml",
    ] {
        s.line(line);
    }
    s.check("other_commands");
}

/// A wheel on a road; the last lines are those of its tyre.
fn tyre(more: &str) -> String {
    format!(
        "model = {{ plane = \"xy\", gravity = [0, -9.81] }}\n[body.wheel]\ncylinder = {{ radius = 0.3, length = 0.2, mass = 20 }}\n\
         at = [0, 0.3]\n[force.tyre]\ntype = \"tyre\"\nbetween = [\"ground\", \"wheel\"]\n{more}\n"
    )
}

#[test]
fn tyres() {
    let mut s = Session::new("errors-tyres");
    s.run("stiffness.toml", &tyre("friction = 1\nslip_stiffness = 5e4"), "");
    s.run("grip.toml", &tyre("stiffness = 2e5\nfriction = 1"), "");
    s.run("road.toml", &tyre("stiffness = 2e5\nfriction = 1\nslip_stiffness = 5e4\nroad = \"0.1*sin(X)\""), "");
    s.run("relaxation.toml", &tyre("stiffness = 2e5\nfriction = 1\nslip_stiffness = 5e4\nrelaxation = [0.2, 0]"), "");
    s.run("missing.toml", &tyre("file = \"car.tir\""), "");
    s.scratch.write("bad.tir", "[VERTICAL]\nFNOMIN = 4000\n[LATERAL_COEFFICIENTS]\nPKYY1 = -20\n");
    s.run("coefficient.toml", &tyre("file = \"bad.tir\""), "");
    s.scratch.write("short.tir", "[DIMENSION]\nUNLOADED_RADIUS = 0.3 $ m\n[VERTICAL]\nFNOMIN = 4000\n");
    s.run("short.toml", &tyre("file = \"short.tir\"\nfriction = 1"), "");
    s.scratch.write("inches.tir", "[UNITS]\nLENGTH = 'inch'\n");
    s.run("inches.toml", &tyre("file = \"inches.tir\""), "");
    s.check("tyres");
}

/// A cam with a follower; the last lines are those of the joint between them.
fn cam(more: &str) -> String {
    format!(
        "model = {{ plane = \"xy\" }}\n[body.cam]\nmass = 1\ninertia = 1\n[body.follower]\nmass = 1\ninertia = 1\nat = [3, 0]\n\
         [joint.touch]\nbetween = [\"cam\", \"follower\"]\non = [[0, 0], [0, 0]]\n{more}\n"
    )
}

#[test]
fn curves_and_ropes() {
    let mut s = Session::new("errors-curves");
    let circle = "curve = [\"2*cos(s)\", \"2*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true";
    s.run("nothing.toml", &cam("type = \"point-on-curve\""), "");
    s.run("range.toml", &cam("type = \"point-on-curve\"\ncurve = [\"s\", \"s^2\"]"), "");
    s.run("cusp.toml", &cam("type = \"point-on-curve\"\ncurve = [\"s^2\", \"s^3\"]\nrange = [-1, 1]"), "");
    s.run(
        "open.toml",
        &cam("type = \"point-on-curve\"\ncurve = [\"cos(s)\", \"sin(s)\"]\nrange = [0, 6]\nclosed = true"),
        "",
    );
    let eight = "curve = [\"sin(s)\", \"sin(2*s)\"]\nrange = [0, \"2*pi\"]\nclosed = true";
    s.run("eight.toml", &cam(&format!("type = \"point-on-curve\"\n{eight}")), "");
    s.run("follower.toml", &cam(&format!("type = \"cam\"\n{circle}")), "");
    let wavy =
        "curve = [\"(2 + 0.3*cos(5*s))*cos(s)\", \"(2 + 0.3*cos(5*s))*sin(s)\"]\nrange = [0, \"2*pi\"]\nclosed = true";
    s.run("hollow.toml", &cam(&format!("type = \"cam\"\n{wavy}\nradius = 0.8")), "");
    s.run("face.toml", &cam(&format!("type = \"cam\"\n{wavy}\nface = [1, 0]")), "");
    let rope = |more: &str| {
        format!("{}\n[force.rope]\ntype = \"rope\"\nstiffness = 1e4\n{more}\n", cam("").split("[joint").next().unwrap())
    };
    s.run("points.toml", &rope("bodies = [\"cam\", \"ground\", \"follower\"]\nat = [[0, 0], [1, 1]]"), "");
    s.run("same.toml", &rope("bodies = [\"cam\", \"cam\"]\nat = [[0, 0], [1, 1]]"), "");
    let over = "bodies = [\"cam\", \"ground\", \"follower\"]\nat = [[0, 0], [1, 0], [3, 0]]\nradii = 0.2";
    s.run("straight.toml", &rope(over), "");
    s.check("curves_and_ropes");
}
