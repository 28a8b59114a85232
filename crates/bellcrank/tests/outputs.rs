//! What a user asks of a run and is told: words, channels, outputs, starts, comparisons; from outside.

mod common;

use common::Scratch;

const SLIDE: &str = r#"
model = { plane = "xy" }
body.road = { mass = 1, inertia = 1 }
joint.up = { type = "prismatic", between = ["ground", "road"], at = [0, 0], axis = [0, 1] }
joint.bump = { type = "drive", joint = "up", position = "0" }
joint.bump2 = { type = "drive", joint = "up", position = "0.1*t" }
"#;

#[test]
fn run_blames_start_rates_nobody_gave_where_two_drives_contradict() {
    let s = Scratch::new("contradiction");
    s.write("m.toml", SLIDE);
    let told = s.bellcrank(&["run", "m.toml"]);
    assert_eq!(told.code, 2);
    assert!(told.stderr.contains("joint `bump` contradicts joint `bump2`"), "{}", told.stderr);
    assert!(told.stderr.contains("they prescribe rates that cannot all be"), "{}", told.stderr);
    assert!(!told.stderr.contains("given at the start"), "{}", told.stderr);
}

#[test]
fn a_model_in_millimetres_is_not_asked_about_square_kilometres() {
    let s = Scratch::new("millimetres");
    let body = |name: &str, x: f64| {
        format!("body.{name} = {{ mass = 6, inertia = [0.1, 0.06, 0.15], at = [{x}, 500, 220] }}\n")
    };
    let joint = "joint.ball = { type = \"spherical\", between = [\"a\", \"b\"], at = [0, 730, 200] }\n";
    let hinge = "joint.pin = { type = \"spherical\", between = [\"ground\", \"a\"], at = [0, 300, 220] }\n";
    s.write("m.toml", body("a", 0.0) + &body("b", 20.0) + joint + hinge);
    let told = s.bellcrank(&["check", "m.toml"]);
    let all = told.stdout + &told.stderr;
    assert!(all.contains("are the lengths of the model in mm?"), "{all}");
    assert!(!all.contains("km"), "{all}");
}

#[test]
fn statics_says_in_which_motion_a_model_is_free() {
    let s = Scratch::new("free");
    s.write(
        "m.toml",
        r#"
model = { plane = "xy" }
body.a = { box = { size = [0.1, 0.1], mass = 1 } }
body.w = { cylinder = { radius = 0.3, length = 0.1, mass = 5 } }
joint.s = { type = "prismatic", between = ["ground", "a"], at = [0, 0], axis = [0, 1] }
joint.hub = { type = "revolute", between = ["a", "w"], at = [0, 0] }
force.k = { type = "spring-damper", between = ["ground", "a"], at = [[0, -1], [0, 0]], stiffness = 1000, damping = 5 }
"#,
    );
    let told = s.bellcrank(&["statics", "m.toml"]);
    let all = told.stdout + &told.stderr;
    assert!(all.contains("an equilibrium that is free to move in hub.angle"), "{all}");
    assert!(!all.contains("neutral"), "{all}");
}

/// A mass on a spring, drawn where the spring is slack: it rests 2 g/k = 0.1962 m lower.
const HANGING: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
body.bob = { mass = 2, inertia = 1, at = [0, -1] }
joint.guide = { type = "prismatic", between = ["ground", "bob"], at = [0, -1], axis = [0, 1] }
force.spring = { type = "spring-damper", between = ["ground", "bob"], at = [[0, 0], [0, -1]], stiffness = 100, damping = 1, length = 1 }
output.low = { value = "bob.y", unit = "m" }
solve = { until = 0.5 }
"#;

#[test]
fn a_run_begins_in_its_equilibrium_and_stays_there() {
    let s = Scratch::new("equilibrium");
    s.write("m.toml", HANGING);
    let told = s.json("m.toml", &["--from", "equilibrium"]);
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    let rest = -1.0 - 2.0 * 9.81 / 100.0;
    for measure in ["min", "max", "mean", "final"] {
        assert!((number(&told["outputs"]["low"][measure]) - rest).abs() < 1e-9, "{measure}: {told}");
    }
    assert!((number(&told["final"]["spring.force"]) - 2.0 * 9.81).abs() < 1e-7, "{told}");
    // rates are applied after it: now it swings about the equilibrium
    s.write("rate.toml", HANGING.to_string() + "start.guide = { rate = 0.5 }\n");
    let told = s.json("rate.toml", &["--from", "equilibrium", "--until", "0.02", "--rtol", "1e-9"]);
    assert!((number(&told["final"]["guide.rate"]) - 0.5).abs() < 0.02, "{told}");
    assert!((number(&told["outputs"]["low"]["min"]) - rest).abs() < 1e-9, "{told}");
    // what moved is told
    let told = s.bellcrank(&["run", "m.toml", "--from", "equilibrium"]);
    let all = told.stdout + &told.stderr;
    assert!(all.contains("begins from equilibrium") && all.contains("1.962e-1 m"), "{all}");
    // a coordinate that is given contradicts it
    s.write("given.toml", HANGING.to_string() + "start.guide = { position = 0.1 }\n");
    let told = s.bellcrank(&["run", "given.toml", "--from", "equilibrium"]);
    assert!(told.code == 2 && told.stderr.contains("the start of joint `guide` gives a coordinate"), "{}", told.stderr);
    // in the file it is the same
    s.write("file.toml", HANGING.replace("until = 0.5", "until = 0.5, from = \"equilibrium\""));
    assert!((number(&s.json("file.toml", &[])["final"]["bob.y"]) - rest).abs() < 1e-9);
    // a machine that nothing holds has none
    s.write("free.toml", "model = { plane = \"xy\", gravity = [0, -9.81] }\nbody.a = { mass = 1 }\n");
    let told = s.bellcrank(&["run", "free.toml", "--from", "equilibrium"]);
    assert!(told.code == 1 && told.stderr.contains("there is no equilibrium within reach"), "{}", told.stderr);
}

#[test]
fn a_run_goes_on_where_another_ended() {
    let s = Scratch::new("goes-on");
    s.write("m.toml", HANGING);
    let run = |args: &[&str]| {
        let told = s.bellcrank(args);
        assert_eq!(told.code, 0, "{args:?}: {}", told.stderr);
    };
    run(&["run", "m.toml", "--until", "0.3", "--rtol", "1e-10", "--out", "first", "--quiet"]);
    let second = s.json("m.toml", &["--from", "first", "--until", "0.4", "--rtol", "1e-10"]);
    let whole = s.json("m.toml", &["--until", "0.7", "--rtol", "1e-10"]);
    for channel in ["bob.y", "bob.vy", "spring.force", "guide.position"] {
        let of = |v: &serde_json::Value| v["final"][channel].as_f64().unwrap();
        assert!((of(&second) - of(&whole)).abs() < 1e-7, "{channel}: {} {}", of(&second), of(&whole));
    }
    let other = HANGING.replace("body.bob", "body.bell").replace("\"bob\"", "\"bell\"").replace("bob.y", "bell.y");
    s.write("other.toml", other);
    let told = s.bellcrank(&["run", "other.toml", "--from", "first"]);
    assert!(told.code == 2 && told.stderr.contains("a machine with other bodies"), "{}", told.stderr);
    let told = s.bellcrank(&["run", "m.toml", "--from", "nowhere"]);
    assert!(told.code == 2 && told.stderr.contains("there is no folder `nowhere` to begin from"), "{}", told.stderr);
    let told = s.bellcrank(&["run", "m.toml", "--from", "equilbrium"]);
    assert!(told.code == 2 && told.stderr.contains("help: use --from equilibrium\n"), "{}", told.stderr);
    assert_eq!(s.bellcrank(&["statics", "m.toml", "--out", "at-rest"]).code, 0);
    let told = s.bellcrank(&["run", "m.toml", "--from", "at-rest"]);
    assert!(told.code == 2 && told.stderr.contains("`at-rest` has no end of a run to begin with"), "{}", told.stderr);
}

#[test]
fn what_is_recorded_is_chosen_in_the_file_and_on_the_command_line() {
    let s = Scratch::new("record");
    let table = s.record(HANGING, &["--record", "spring.*,low"]);
    let names: Vec<&str> = table.header.iter().map(|h| h.split(' ').next().unwrap()).collect();
    assert_eq!(names[..5], ["time", "spring.length", "spring.deflection", "spring.rate", "spring.force"]);
    assert_eq!((names.last(), names.contains(&"bob.x")), (Some(&"low"), false));
    assert!(names.contains(&"spring.power") && names.contains(&"spring.first.fx"), "{names:?}");
    // force times rate is power, in the table too
    let (force, rate, power) =
        (table.column("spring.force"), table.column("spring.rate"), table.column("spring.power"));
    assert!(force.iter().zip(&rate).zip(&power).all(|((f, r), p)| (f * r + p).abs() < 1e-12 * (1.0 + p.abs())));
    let in_file = HANGING.replace("until = 0.5", "until = 0.5, record = [\"low\", \"guide.f?\"]");
    let table = s.record(&in_file, &[]);
    assert_eq!(table.header, ["time [s]", "guide.fx [N]", "guide.fy [N]", "low [m]"]);
    s.write("m.toml", HANGING);
    let told = s.bellcrank(&["run", "m.toml", "--record", "spring.lenght"]);
    assert!(told.code == 2 && told.stderr.contains("nothing is called `spring.lenght`"), "{}", told.stderr);
    assert!(told.stderr.contains("spring.length"), "{}", told.stderr);
    let split = s.bellcrank(&["run", "m.toml", "--split", "spring", "--step", "1e-3"]);
    assert!(split.code == 2 && split.stderr.contains("output `low` cannot be computed"), "{}", split.stderr);
}

#[test]
fn folders_of_results_are_compared_and_plotted_together() {
    let s = Scratch::new("two-results");
    s.write("m.toml", HANGING);
    for (stiffness, out) in [("100", "soft"), ("120", "stiff")] {
        let set = format!("force.spring.stiffness={stiffness}");
        for (out, sample) in [(out.to_string(), &["--sample", "0.0025"][..]), (format!("{out}-steps"), &[])] {
            let args = ["run", "m.toml", "--set", &set, "--out", &out, "--quiet", "--rtol", "1e-10"];
            let told = s.bellcrank(&[&args[..], sample].concat());
            assert_eq!(told.code, 0, "{}", told.stderr);
        }
    }
    // frames that follow the motion lie between those of the other run
    let told = s.bellcrank(&["compare", "soft", "soft-steps", "--json"]);
    let v: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(v["same_times"], serde_json::json!(false));
    for channel in v["channels"].as_array().unwrap() {
        let (apart, size) = (channel["difference"].as_f64().unwrap(), channel["size"].as_f64().unwrap());
        assert!(apart < 1e-5 * size.max(1.0), "{channel}");
    }
    let told = s.bellcrank(&["compare", "soft", "stiff", "--json"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let v: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    let channel = |name: &str| {
        let all = v["channels"].as_array().unwrap();
        all.iter().find(|c| c["channel"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    // both fall from rest: y + 1 = −(m g/k)(1 − e^{−δt}(cos ωt + δ/ω sin ωt)), ω² = k/m − δ², δ = c/2m
    let fall = |k: f64, t: f64| {
        let (m, d) = (2.0, 0.25f64);
        let w = (k / m - d * d).sqrt();
        -m * 9.81 / k * (1.0 - (-d * t).exp() * ((w * t).cos() + d / w * (w * t).sin()))
    };
    let largest =
        (0..=200).map(|i| 0.0025 * i as f64).map(|t| (fall(100.0, t) - fall(120.0, t)).abs()).fold(0.0, f64::max);
    let found = channel("bob.y");
    assert!((found["difference"].as_f64().unwrap() - largest).abs() < 1e-8, "{found} {largest}");
    assert_eq!((channel("bob.x")["difference"].as_f64(), &v["same_times"]), (Some(0.0), &serde_json::json!(true)));
    let same = s.bellcrank(&["compare", "soft", "soft"]);
    assert!(
        same.code == 0 && same.stdout.contains("the same") && !same.stdout.contains("of the largest"),
        "{}",
        same.stdout
    );
    let mixed = s.bellcrank(&["compare", "soft", "m.toml"]);
    assert!(mixed.code == 2 && mixed.stderr.contains("is a file and the other a folder"), "{}", mixed.stderr);
    let drawn = s.bellcrank(&["plot", "soft", "bob.y", "--with", "stiff", "--save", "both.svg"]);
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    let svg = String::from_utf8(s.read("both.svg")).unwrap();
    assert!(svg.contains("bob.y (soft)") && svg.contains("bob.y (stiff)"), "{svg}");
}

#[test]
fn the_response_of_a_damped_oscillator_is_its_transfer_function() {
    let s = Scratch::new("response");
    s.write(
        "m.toml",
        r#"
model = { plane = "xy" }
body.cart = { mass = 2, inertia = 1 }
joint.rail = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
force.k = { type = "spring-damper", between = ["ground", "cart"], on = [[-1, 0], [0, 0]], stiffness = 50, damping = 3, length = 1 }
force.push = { type = "joint-actuator", joint = "rail", effort = "u" }
input.u = { start = 0, unit = "N" }
"#,
    );
    let args = ["response", "m.toml", "--input", "u", "--output", "rail.position,rail.rate", "--points", "31"];
    let told = s.bellcrank(&[&args[..], &["--out", "bode", "--save", "bode.svg"]].concat());
    assert_eq!(told.code, 0, "{}", told.stderr);
    let table = common::Recorded::parse(&String::from_utf8(s.read("bode/response.csv")).unwrap());
    assert_eq!(table.rows.len(), 31);
    for row in &table.rows {
        // x/u = 1/(k − m ω² + i c ω), v/u = iω x/u
        let w = std::f64::consts::TAU * row[0];
        let (re, im) = (50.0 - 2.0 * w * w, 3.0 * w);
        let (size, phase) = (1.0 / re.hypot(im), -im.atan2(re).to_degrees());
        assert!((row[1] - size).abs() < 1e-9 * size && (row[2] - phase).abs() < 1e-6, "{row:?} {size} {phase}");
        assert!((row[3] - w * size).abs() < 1e-9 * w * size && (row[4] - phase - 90.0).abs() < 1e-6, "{row:?}");
    }
    let v: serde_json::Value = serde_json::from_slice(&s.read("bode/response.json")).unwrap();
    let entry = |m: &str, i: usize, j: usize| v[m][i][j].as_f64().unwrap();
    // the characteristic polynomial is s² + c/m s + k/m, whatever the states are
    let (trace, determinant) = (
        entry("A", 0, 0) + entry("A", 1, 1),
        entry("A", 0, 0) * entry("A", 1, 1) - entry("A", 0, 1) * entry("A", 1, 0),
    );
    assert!((trace + 1.5).abs() < 1e-9 && (determinant - 25.0).abs() < 1e-8, "{v}");
    let npy = s.read("bode/B.npy");
    assert!(npy.starts_with(b"\x93NUMPY") && npy.len() == 128 + 16, "{}", npy.len());
    let last = f64::from_le_bytes(npy[npy.len() - 8..].try_into().unwrap());
    assert_eq!(last, entry("B", 1, 0));
    let wrong = s.bellcrank(&["response", "m.toml", "--input", "w", "--output", "rail.rate"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("there is no input `w`"), "{}", wrong.stderr);
}

#[test]
fn examples_prove_what_their_comments_claim() {
    let s = Scratch::new("claims");
    let example = |name: &str| format!("{}/models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let output =
        |name: &str, output: &str, what: &str| s.json(&example(name), &[])["outputs"][output][what].as_f64().unwrap();
    assert!(output("peaucellier", "line", "absmax") < 1e-8);
    assert!(output("peaucellier", "inversion", "absmax") < 1e-8);
    assert!((output("planetary-gear", "ratio", "final") - 4.0).abs() < 1e-9);
    // cos θ = g/(ω² l); the arms' own weight, a hundredth of the balls', lowers them a little
    let angle = (9.81f64 / (7.3f64.powi(2) * 0.4)).acos().to_degrees();
    assert!((output("flyball-governor", "angle", "final") - angle).abs() < 0.1);
    // the way back is twice as fast: of each turn, 120° of 360°
    let table = s.record(&std::fs::read_to_string(example("quick-return")).unwrap(), &["--sample", "0.001"]);
    let at = table.header.iter().position(|name| name.starts_with("cutting_speed")).unwrap();
    let back = table.rows.iter().filter(|row| row[at] < 0.0).count() as f64 / table.rows.len() as f64;
    assert!((back - 1.0 / 3.0).abs() < 2e-3, "{back}");
}
