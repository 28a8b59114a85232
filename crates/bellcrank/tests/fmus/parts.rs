//! FMUs as parts of assemblies: one in C, in both versions and with and without a way back, and our own with ports.

use super::{built, packed, platform};
use crate::common::{Recorded, Scratch};
use serde_json::Value;

/// The seat as an archive, with some of what it says it can do.
fn seat(three: bool, can: &str) -> Vec<u8> {
    let variable = |name: &str, reference: u32, causality: &str| {
        let start = if causality == "output" { "" } else { " start=\"0\"" };
        let head = format!("name=\"{name}\" valueReference=\"{reference}\" causality=\"{causality}\"");
        match three {
            true => format!("<Float64 {head}{start}/>"),
            false => format!("<ScalarVariable {head}><Real{start}/></ScalarVariable>"),
        }
    };
    let variables = [
        variable("force", 1, "input"),
        variable("position", 2, "output"),
        variable("velocity", 3, "output"),
        variable("acceleration", 4, "output"),
        variable("mass", 5, "parameter"),
        variable("stiffness", 6, "parameter"),
    ];
    let (number, token) = if three { ("3.0", "instantiationToken") } else { ("2.0", "guid") };
    let can = if three { can.to_string() } else { can.replace("FMUState", "FMUstate") };
    let xml = format!(
        "<fmiModelDescription fmiVersion=\"{number}\" {token}=\"{{seat}}\"><CoSimulation modelIdentifier=\"seat\" {can}/>\
         <ModelVariables>{}</ModelVariables></fmiModelDescription>",
        variables.concat()
    );
    let library = format!("binaries/{}/seat.{}", platform(three), std::env::consts::DLL_EXTENSION);
    packed(&[("modelDescription.xml", xml.as_bytes()), (&library, &built("seat", three))])
}

const BACK: &str = "canGetAndSetFMUState=\"true\" canHandleVariableCommunicationStepSize=\"true\"";
const FORWARD: &str = "canHandleVariableCommunicationStepSize=\"true\"";

/// A cart of 2 kg with a spring of its own.
const CART: &str = r#"
model = { plane = "xy" }
body.cart = { mass = 2, inertia = 1 }
joint.slide = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
force.pull = { type = "force", body = "cart", force = ["20*cos(3*t)", 0] }
force.own = { type = "joint-spring", joint = "slide", stiffness = 30 }
probe.hitch = { body = "cart", at = [0, 0] }
"#;

/// The seat as a body of a model, at the same place.
const SEAT: &str = r#"
body.seat = { mass = 1, inertia = 1 }
joint.guide = { type = "prismatic", between = ["ground", "seat"], at = [0, 0], axis = [1, 0] }
force.ground = { type = "joint-spring", joint = "guide", stiffness = 100 }
"#;

const BUSHING: &str = "force.link = { type = \"bushing\", between = [A, B], at = [0, 0], stiffness = [400, 0, 0], damping = [2, 0, 0] }\n";
const LINE: &str = "joint.link = { type = \"point-on-line\", between = [A, B], at = [0, 0], axis = [0, 1] }\n";

const PARTS: &str = r#"
model = { plane = "xy" }
[part.cart]
model = "cart.toml"
rtol = 1e-11
[part.seat]
fmu = "seat.fmu"
[part.seat.port.base]
fx = "force"
x = "position"
vx = "velocity"
ax = "acceleration"
y = 0
angle = 0
"#;

fn between(link: &str, a: &str, b: &str) -> String {
    link.replace('A', &format!("\"{a}\"")).replace('B', &format!("\"{b}\""))
}

fn assembly(link: &str) -> String {
    // keys before tables
    PARTS.replacen("[part.cart]", &format!("{}[part.cart]", between(link, "cart/hitch", "seat/base")), 1)
}

/// The end of the seat in one model.
fn whole(s: &Scratch, link: &str) -> f64 {
    s.write("whole.toml", [CART, SEAT, &between(link, "cart", "seat")].concat());
    let ended = s.json("whole.toml", &["--until", "1", "--rtol", "1e-11"]);
    ended["final"]["guide.position"].as_f64().unwrap()
}

fn glued(s: &Scratch, window: f64, more: &[&str]) -> Value {
    let window = window.to_string();
    let args = [&["glue", "glue.toml", "--until", "1", "--json", "--window", &window], more].concat();
    let ended = s.bellcrank(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn end(told: &Value, channel: &str) -> f64 {
    told["final"][channel].as_f64().unwrap_or_else(|| panic!("{channel}: {told}"))
}

#[test]
fn a_part_that_goes_back_is_iterated_to_the_second_order_of_windows() {
    let s = Scratch::new("seat-back");
    s.write("cart.toml", CART);
    for (link, three) in [(BUSHING, true), (BUSHING, false), (LINE, true), (LINE, false)] {
        let whole = whole(&s, link);
        s.write("seat.fmu", seat(three, BACK)).write("glue.toml", assembly(link));
        let error = |window: f64| {
            let told = glued(&s, window, &[]);
            assert!(told["lag"].is_null());
            if link == LINE {
                let gap = end(&told, "seat/position") - end(&told, "cart/slide.position");
                assert!(gap.abs() < 1e-5, "{gap}");
            }
            (end(&told, "seat/position") - whole).abs()
        };
        let (coarse, fine) = (error(4e-3), error(2e-3));
        // a joint is held better still: the error of a window is in its load alone
        let order = if link == LINE { 3.0..12.0 } else { 3.0..5.0 };
        assert!(coarse < 1e-4 && order.contains(&(coarse / fine)), "{three} {link}: {coarse:.3e} {fine:.3e}");
    }
}

#[test]
fn a_part_that_tells_no_accelerations_is_held_at_a_joint_all_the_same() {
    let s = Scratch::new("seat-blind");
    s.write("cart.toml", CART).write("seat.fmu", seat(true, BACK));
    let whole = whole(&s, LINE);
    s.write("glue.toml", assembly(LINE).replace("ax = \"acceleration\"\n", ""));
    let told = glued(&s, 2e-3, &[]);
    assert!((end(&told, "seat/position") - whole).abs() < 1e-4, "{told}");
}

#[test]
fn a_part_that_cannot_go_back_is_coupled_in_one_pass_with_a_stated_error() {
    let s = Scratch::new("seat-forward");
    s.write("cart.toml", CART);
    let whole = [CART, SEAT, &between(BUSHING, "cart", "seat")].concat();
    let whole = s.record(&whole, &["--until", "1", "--rtol", "1e-11", "--sample", "5e-4"]).column("guide.position");
    for three in [true, false] {
        s.write("seat.fmu", seat(three, FORWARD)).write("glue.toml", assembly(BUSHING));
        let error = |window: f64| {
            let told = glued(&s, window, &["--out", "glued"]);
            assert_eq!(told["most_exchanges"], 1);
            let table = Recorded::parse(&String::from_utf8(s.read("glued/results.csv")).unwrap());
            let (times, both) = (table.column("time"), table.column("seat/position"));
            assert!(both.len() > 900, "{}", both.len());
            let then = |t: f64| whole[(t / 5e-4).round() as usize];
            let largest = times.iter().zip(&both).map(|(t, x)| (x - then(*t)).abs()).fold(0.0, f64::max);
            (largest, told["lag"].as_f64().unwrap())
        };
        let ((coarse, said), (fine, half)) = (error(1e-3), error(5e-4));
        assert!((1.8..2.2).contains(&(coarse / fine)), "{coarse:.3e} {fine:.3e}");
        for (told, found) in [(said, coarse), (half, fine)] {
            assert!((0.7..1.5).contains(&(told / found)), "{told:.3e} for {found:.3e}");
        }
    }
    let text = s.bellcrank(&["glue", "glue.toml", "--until", "0.1"]);
    assert!(format!("{}{}", text.stdout, text.stderr).contains("coupled in one pass"), "{}", text.stdout);
    let refused = |said: &str, args: &[&str]| {
        let ended = s.bellcrank(args);
        assert!(ended.code == 2 && ended.stderr.contains(said), "{said}: {} {}", ended.code, ended.stderr);
    };
    refused("part `seat` cannot go back", &["glue", "glue.toml", "--coupling", "windows"]);
    s.write("glue.toml", assembly(LINE));
    refused("which cannot hold joint `link`", &["glue", "glue.toml"]);
}

/// A pendulum in a file, and one below it as our own FMU, joined at a pin.
#[test]
fn our_own_fmus_with_ports_are_parts() {
    let s = Scratch::new("own-part");
    let upper = "body.upper = { mass = 1, inertia = 0.1, at = [0.5, 0] }\n\
                 joint.top = { type = \"revolute\", between = [\"ground\", \"upper\"], at = [0, 0] }\n";
    let lower = "body.lower = { mass = 0.5, inertia = 0.05, at = [1.3, 0] }\n";
    let head = "model = { plane = \"xy\", gravity = [0, -9.81] }\n";
    let pin = "joint.pin = { type = \"revolute\", between = [A, B], at = [1, 0] }\n";
    let solve = "[solve]\nuntil = 0.5\nrtol = 1e-10\n";
    s.write("whole.toml", [head, upper, lower, &between(pin, "upper", "lower"), solve].concat());
    let whole = s.json("whole.toml", &[]);
    s.write("upper.toml", [head, upper, "probe.tip = { body = \"upper\", at = [1, 0] }\n", solve].concat());
    s.write("lower.toml", [head, lower, "probe.eye = { body = \"lower\", at = [1, 0] }\n", solve].concat());
    let parts = "[part.upper]\nmodel = \"upper.toml\"\n[part.lower]\nfmu = \"lower.fmu\"\n";
    s.write("glue.toml", [head, &between(pin, "upper/tip", "lower/eye"), parts].concat());
    for version in ["2", "3"] {
        let made = s.bellcrank(&["fmu", "lower.toml", "--fmi", version, "--kind", "cs", "--port", "eye"]);
        assert!(
            made.code == 0 && format!("{}{}", made.stdout, made.stderr).contains("1 port"),
            "{} {}",
            made.stdout,
            made.stderr
        );
        let error = |window: &str| {
            let ended = s.bellcrank(&["glue", "glue.toml", "--until", "0.5", "--json", "--window", window]);
            assert_eq!(ended.code, 0, "{}", ended.stderr);
            let told: Value = serde_json::from_str(&ended.stdout).unwrap();
            (end(&told, "lower/lower.x") - end(&whole, "lower.x")).abs()
        };
        let (coarse, fine) = (error("4e-3"), error("2e-3"));
        assert!(coarse < 1e-6 && (3.0..12.0).contains(&(coarse / fine)), "{version}: {coarse:.3e} {fine:.3e}");
    }
    let near = s.bellcrank(&["fmu", "lower.toml", "--port", "eys"]);
    assert!(
        near.code == 2 && near.stderr.contains("no probe `eys`") && near.stderr.contains("`eye`"),
        "{}",
        near.stderr
    );
}

/// In space: a body that hangs from two others by a ball, with its own axes turned.
#[test]
fn ports_of_our_own_fmus_turn_in_space() {
    let s = Scratch::new("own-space");
    let head = "model = { gravity = [0, 0, -9.81] }\n";
    let upper = "body.upper = { mass = 1, inertia = [0.1, 0.1, 0.01], at = [0.5, 0, 0] }\n\
                 joint.top = { type = \"universal\", between = [\"ground\", \"upper\"], at = [0, 0, 0], axis = [0, 1, 0], axis2 = [0, 0, 1] }\n\
                 start.top = { rate1 = 0.5, rate2 = 1.5 }\n";
    let lower =
        "body.lower = { mass = 0.5, inertia = [0.03, 0.05, 0.02], at = [1.3, 0, 0], angular_velocity = [1, 0, 0] }\n";
    let pin = "joint.pin = { type = \"revolute\", between = [A, B], at = [1, 0, 0], axis = [1, 0, 0] }\n";
    let solve = "[solve]\nuntil = 0.3\nrtol = 1e-10\n";
    // at rest at the start, so that the parts meet in velocity as well
    let upper = upper.lines().take(2).map(|l| format!("{l}\n")).collect::<String>();
    let lower = lower.replace(", angular_velocity = [1, 0, 0]", "");
    let push = "force.push = { type = \"torque\", body = \"lower\", torque = [0.2, 0, 0.6] }\n";
    s.write("whole.toml", [head, &upper, &lower, push, &between(pin, "upper", "lower"), solve].concat());
    let whole = s.json("whole.toml", &[]);
    s.write("upper.toml", [head, &upper, "probe.tip = { body = \"upper\", at = [1, 0, 0] }\n", solve].concat());
    s.write("lower.toml", [head, &lower, push, "probe.eye = { body = \"lower\", at = [1, 0, 0] }\n", solve].concat());
    let parts = "[part.upper]\nmodel = \"upper.toml\"\n[part.lower]\nfmu = \"lower.fmu\"\n";
    s.write("glue.toml", [head, &between(pin, "upper/tip", "lower/eye"), parts].concat());
    let made = s.bellcrank(&["fmu", "lower.toml", "--kind", "cs", "--port", "*"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let ended = s.bellcrank(&["glue", "glue.toml", "--until", "0.3", "--json", "--window", "2e-3"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    for channel in ["lower.x", "lower.y", "lower.z", "lower.wx", "lower.wz"] {
        let (ours, theirs) = (end(&told, &format!("lower/{channel}")), end(&whole, channel));
        assert!((ours - theirs).abs() < 1e-3 * (1.0 + theirs.abs()), "{channel}: {ours} {theirs}");
    }
    assert!(end(&whole, "lower.wx").abs() > 0.3);
}

#[test]
fn a_run_with_an_fmu_that_writes_its_state_resumes_to_the_same_bytes() {
    let s = Scratch::new("seat-resume");
    let can = format!("{BACK} canSerializeFMUState=\"true\"");
    s.write("cart.toml", CART).write("seat.fmu", seat(false, &can)).write("glue.toml", assembly(BUSHING));
    let run = |out: &str, until: &str, more: &[&str]| {
        let args =
            [&["glue", "glue.toml", "--window", "0.01", "--checkpoint", "10", "--out", out, "--until", until], more]
                .concat();
        let ended = s.bellcrank(&args);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    };
    run("whole", "1", &[]);
    run("part", "0.5", &[]);
    run("part", "1", &["--resume"]);
    let last = |folder: &str| {
        let text = String::from_utf8(s.read(&format!("{folder}/results.csv"))).unwrap();
        text.lines().last().unwrap().to_string()
    };
    assert_eq!(last("whole"), last("part"));
}

#[test]
fn wrong_ports_are_told_by_name() {
    let s = Scratch::new("seat-wrong");
    s.write("cart.toml", CART).write("seat.fmu", seat(true, BACK));
    let good = assembly(BUSHING);
    for (from, to, said) in [
        ("fx = \"force\"", "fxx = \"force\"", "unknown member `fxx`"),
        ("fx = \"force\"", "fx = \"forse\"", "did you mean `force`?"),
        ("fx = \"force\"", "fx = \"mass\"", "`mass` is no input"),
        ("fx = \"force\"\n", "", "has a port `base` without `fx`"),
        ("vx = \"velocity\"\n", "", "has a port `base` without `vx`"),
        ("y = 0\n", "", "has a port `base` without `y`"),
        ("vx = \"velocity\"", "vx = 3", "only places and angles can be held"),
        ("angle = 0\n", "mz = \"force\"\n", "has a port `base`"),
        ("[part.seat.port.base]", "set = { mas = 2 }\n[part.seat.port.base]", "did you mean `mass`?"),
        ("[part.seat.port.base]", "method = \"bdf\"\n[part.seat.port.base]", "leave `method` out"),
        ("\"seat.fmu\"", "\"sea.fmu\"", "cannot read"),
        ("rtol = 1e-11", "set = { a = 1 }", "which only parts with `fmu` have"),
    ] {
        assert!(good.contains(from), "{from}");
        s.write("glue.toml", good.replacen(from, to, 1));
        let ended = s.bellcrank(&["glue", "glue.toml", "--until", "0.01"]);
        assert!(ended.code == 2 && ended.stderr.contains(said), "{to}: {} {}", ended.code, ended.stderr);
    }
    // a port without angle and torque is a point
    s.write("glue.toml", good.replace("angle = 0\n", "").replace("damping =", "preload = [0, 0, 1], damping ="));
    let ended = s.bellcrank(&["glue", "glue.toml", "--until", "0.01"]);
    assert!(ended.code != 0 && ended.stderr.contains("is turned by a torque of"), "{}", ended.stderr);
    s.write("glue.toml", good.replace("[part.seat.port.base]", "set = { mass = 2 }\n[part.seat.port.base]"));
    let heavy = glued(&s, 2e-3, &[]);
    s.write("glue.toml", good);
    assert!((end(&heavy, "seat/position") - end(&glued(&s, 2e-3, &[]), "seat/position")).abs() > 1e-3);
}
