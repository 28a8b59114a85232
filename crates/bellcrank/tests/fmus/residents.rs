//! FMUs for model exchange whose equations are part of the model: their states are integrated with those of the machine.

use super::exchange::{ball, flight};
use super::{built, packed, platform};
use crate::common::Scratch;

/// The winding as an archive; it tells derivatives along a direction, or they are found by differences.
fn winding(three: bool, tells: bool) -> Vec<u8> {
    let names = "time speed voltage current rate torque inductance resistance constant most deed switch asked";
    let variable = |(k, name): (usize, &str)| {
        let (causality, start) = match k {
            1 | 2 => ("input", if k == 1 { "start=\"0\"" } else { "start=\"12\"" }),
            3 | 5 | 11 | 12 => ("output", if k == 3 { "start=\"0\"" } else { "" }),
            6..=10 => ("parameter", "start=\"1\""),
            _ => ("local", ""),
        };
        let variability = if k == 11 { "discrete" } else { "continuous" };
        let derivative = match (k, three) {
            (4, true) => "derivative=\"3\"",
            (4, false) => "derivative=\"4\"",
            _ => "",
        };
        let head =
            format!("name=\"{name}\" valueReference=\"{k}\" causality=\"{causality}\" variability=\"{variability}\"");
        match three {
            true => format!("<Float64 {head} {start} {derivative}/>"),
            false => format!("<ScalarVariable {head}><Real {start} {derivative}/></ScalarVariable>"),
        }
    };
    let variables: String = names.split(' ').enumerate().map(variable).collect();
    let (number, token, says, structure) = match three {
        true => (
            "3.0",
            "instantiationToken",
            format!("providesDirectionalDerivatives=\"{tells}\""),
            "<ContinuousStateDerivative valueReference=\"4\"/><EventIndicator valueReference=\"11\"/>",
        ),
        false => (
            "2.0\" numberOfEventIndicators=\"1",
            "guid",
            format!("completedIntegratorStepNotNeeded=\"true\" providesDirectionalDerivative=\"{tells}\""),
            "<Derivatives><Unknown index=\"5\"/></Derivatives>",
        ),
    };
    let xml = format!(
        "<fmiModelDescription fmiVersion=\"{number}\" {token}=\"{{winding}}\"><ModelExchange modelIdentifier=\"winding\" {says}/>\
         <ModelVariables>{variables}</ModelVariables><ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    );
    let library = format!("binaries/{}/winding.{}", platform(three), std::env::consts::DLL_EXTENSION);
    packed(&[("modelDescription.xml", xml.as_bytes()), (&library, &built("winding", three))])
}

/// A rotor of 0.01 kg m² that the winding turns.
const ROTOR: &str = r#"
model = { plane = "xy" }
body.rotor = { mass = 1, inertia = 0.01 }
joint.pin = { type = "revolute", between = ["ground", "rotor"], at = [0, 0] }
force.drive = { type = "joint-actuator", joint = "pin", effort = "motor.torque - 1e-3*pin.rate" }
fmu.motor = { file = "winding.fmu", inputs = { speed = "pin.rate" }, set = { inductance = 0.05, resistance = 1, constant = 0.1, most = 1e9, deed = 0 } }
[solve]
until = 0.4
rtol = 1e-9
sample = 0.02
"#;

/// The same with the current as a state of the model.
const WHOLE: &str = r#"
model = { plane = "xy" }
body.rotor = { mass = 1, inertia = 0.01 }
joint.pin = { type = "revolute", between = ["ground", "rotor"], at = [0, 0] }
force.drive = { type = "joint-actuator", joint = "pin", effort = "0.1*current - 1e-3*pin.rate" }
state.current = { rate = "(12 - current - 0.1*pin.rate)/0.05" }
[solve]
until = 0.4
rtol = 1e-9
sample = 0.02
"#;

/// The same equations, as states of the model or in an FMU, give the same steps: there is no exchange whose error would show.
#[test]
fn a_motor_of_model_exchange_is_the_same_machine_as_its_equations_in_the_model() {
    let s = Scratch::new("resident");
    for method in ["dopri5", "bdf", "gen-alpha"] {
        let whole = s.record(WHOLE, &["--method", method]);
        for (three, tells) in [(true, true), (false, true), (true, false), (false, false)] {
            s.write("winding.fmu", winding(three, tells));
            let table = s.record(ROTOR, &["--method", method]);
            for (ours, theirs, size) in
                [("pin.rate", "pin.rate", 50.0), ("motor.current", "current", 12.0), ("pin.angle", "pin.angle", 10.0)]
            {
                let pairs = table.column(ours).into_iter().zip(whole.column(theirs));
                let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                let tolerance = if tells { 1e-10 } else { 1e-7 };
                assert!(worst < tolerance * size, "{method} {three} {tells} {ours}: {worst}");
            }
            let asked = table.column("motor.asked").into_iter().fold(0.0, f64::max);
            assert_eq!(asked > 0.0, tells && method != "dopri5", "{method}: {asked}");
        }
    }
    let plan = s.bellcrank(&["plan", "model.toml"]);
    assert!(plan.stdout.contains("the equations of FMU `motor` are part of the model: 1 states"), "{}", plan.stdout);
}

/// The current of a winding that is cut off at 2 A and on again at 1 A, piece by piece.
fn current(until: f64) -> f64 {
    let (tau, full, most) = (0.05f64, 12.0f64, 2.0f64);
    let (mut t, mut i, mut on) = (0.0f64, 0.0f64, true);
    loop {
        let (end, stop): (f64, f64) = if on { (full, most) } else { (0.0, 0.5 * most) };
        let length = tau * ((i - end) / (stop - end)).ln();
        if t + length >= until {
            return end + (i - end) * (-(until - t) / tau).exp();
        }
        (t, i, on) = (t + length, stop, !on);
    }
}

#[test]
fn a_switch_within_an_fmu_changes_where_its_indicator_falls_through_zero() {
    let s = Scratch::new("switch");
    let model = ROTOR.replace("most = 1e9", "most = 2").replace("\"pin.rate\" }", "0 }");
    for three in [true, false] {
        s.write("winding.fmu", winding(three, true));
        for method in ["dop853", "bdf"] {
            let table = s.record(&model, &["--method", method]);
            let pairs = table.column("time").into_iter().zip(table.column("motor.current"));
            let worst = pairs.map(|(t, i)| (i - current(t)).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-6, "{three} {method}: {worst}");
        }
        let told = s.json("model.toml", &[]);
        let events = told["events"].as_array().unwrap();
        // between 2 A and 1 A it is on for 4.8 ms and off for 34.7 ms
        assert_eq!(events.len(), 20, "{events:?}");
        assert!(events.iter().all(|e| e["name"] == "FMU `motor`" && e["what"] == "has an event"), "{events:?}");
    }
}

const WITH_BALL: &str = r#"
model = { plane = "xy" }
body.cart = { mass = 2, inertia = 1 }
joint.slide = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
force.pull = { type = "joint-actuator", joint = "slide", effort = "ball.height" }
fmu.ball = { file = "ball.fmu", set = { kick = 2.5 } }
[solve]
until = 2
rtol = 1e-9
sample = 0.1
"#;

/// Impacts of an FMU are events of the run, in state and in time, and its states jump there.
#[test]
fn events_of_an_fmu_in_state_and_time_are_events_of_the_run() {
    let s = Scratch::new("resident-ball");
    for three in [true, false] {
        s.write("ball.fmu", ball(three));
        let table = s.record(WITH_BALL, &[]);
        let (times, heights) = (table.column("time"), table.column("ball.height"));
        for (t, height) in times.iter().zip(heights) {
            let (h, _) = flight(*t, 2.5);
            assert!((height - h).abs() < 1e-8, "{three} {t}: {height} {h}");
        }
        // m x'' = h: the speed of the cart is the area under the flight, by Simpson's rule over many points
        let n = 200_000;
        let h = 2.0 / f64::from(n);
        let area: f64 = (0..n).map(|k| flight((f64::from(k) + 0.5) * h, 2.5).0 * h).sum();
        let speed = *table.column("slide.rate").last().unwrap();
        assert!((speed - 0.5 * area).abs() < 1e-7, "{speed} {area}");
    }
}

/// The bouncing ball of the examples, exported for model exchange, against its own run: charts, indicators, steps that want event
/// mode.
#[test]
fn our_own_model_exchange_is_integrated_as_it_is_by_itself() {
    let s = Scratch::new("resident-own");
    let example = crate::common::root().join("examples/bouncing-ball.toml");
    let example = example.to_string_lossy();
    let own = s.json(&example, &["--until", "1", "--rtol", "1e-9"]);
    for version in ["2", "3"] {
        let made =
            s.bellcrank(&["fmu", &example, "--fmi", version, "--kind", "me", "--output", "ball.*", "-o", "ball.fmu"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let model = WITH_BALL.replace(", set = { kick = 2.5 }", "").replace("until = 2", "until = 1");
        s.write("beside.toml", model.replace("ball.height", "0*ball.ball.y"));
        let there = s.json("beside.toml", &[]);
        for channel in ["ball.y", "ball.vy", "ball.x"] {
            let (a, b) = (there["final"][format!("ball.{channel}")].as_f64(), own["final"][channel].as_f64());
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-6, "{version} {channel}: {a:?} {b:?}");
        }
    }
}

/// Two pendulums and the spring between them: in one model, and one of them as an FMU of model exchange. The exchange of values had
/// an error of first order; here both are one machine.
#[test]
fn a_pendulum_as_an_fmu_swings_with_one_of_the_model_as_in_one_model() {
    let s = Scratch::new("resident-pendulum");
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
    for version in ["2", "3"] {
        let made = s.bellcrank(&["fmu", "b.toml", "--fmi", version, "--kind", "me"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        for more in [[].as_slice(), &["--coordinates", "relative"], &["--method", "bdf"]] {
            let spring = spring.replace("b_pin", "b.b_pin");
            let given = spring.replace("-5", "10");
            let fmu = format!("[fmu.b]\nfile = \"b.fmu\"\ninputs = {{ torque = \"{given}\" }}\n");
            let table = s.record(&[head, &pendulum("a"), &push("a", &spring), &fmu, solve].concat(), more);
            for (ours, theirs) in [("a_pin.angle", "a_pin.angle"), ("b.b_pin.angle", "b_pin.angle")] {
                let pairs = table.column(ours).into_iter().zip(whole.column(theirs));
                let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 2e-7, "{version} {more:?} {ours}: {worst}");
            }
        }
    }
}

/// A rotor that hits a hard stop again and again, driven by the winding: its speed, which the FMU is given, jumps there.
#[test]
fn an_fmu_sees_the_impacts_of_the_machine() {
    let s = Scratch::new("resident-stop");
    let stop = "force.end = { type = \"stop\", joint = \"pin\", lower = -1, upper = 2, restitution = 0.6 }\n[solve]";
    s.write("winding.fmu", winding(true, true));
    let whole = s.record(&WHOLE.replace("[solve]", stop), &[]);
    let table = s.record(&ROTOR.replace("[solve]", stop), &[]);
    let (a, b) = (table.column("pin.rate"), whole.column("pin.rate"));
    assert!(a.iter().any(|v| *v < -1.0), "it bounces");
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-6, "{worst}");
}

/// A pendulum of the model at a pendulum that is an FMU of our own, which can save its state.
fn coupled(s: &Scratch) -> String {
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
    s.write("b.toml", [head, "input.torque = {}\n", &pendulum("b"), &push("b", "torque")].concat());
    let made = s.bellcrank(&["fmu", "b.toml", "--kind", "me"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let spring = "k*(a_pin.angle - 2*b.b_pin.angle)";
    let fmu = format!("[fmu.b]\nfile = \"b.fmu\"\ninputs = {{ torque = \"2*{spring}\" }}\n");
    let rest = "[parameter]\nk = 5\n[output.angle]\nvalue = \"a_pin.angle\"\n[solve]\nuntil = 1\nrtol = 1e-9\n";
    [head, &pendulum("a"), &push("a", &format!("-{spring}")), &fmu, rest].concat()
}

#[test]
fn runs_go_back_with_an_fmu_in_their_equations_and_on_in_another_one() {
    use bellcrank::{MethodName, Options, Simulation, read_model};
    bellcrank::set_fmu_host([super::PROGRAM, "fmu-host"]);
    let s = Scratch::new("resident-back");
    let model = coupled(&s);
    s.write("model.toml", model);
    for method in [MethodName::Dop853, MethodName::Bdf] {
        let open = || {
            let read = read_model(&s.path("model.toml").to_string_lossy(), &[]).unwrap_or_else(|e| panic!("{e}"));
            let options = Options { until: 1.0, rtol: 1e-8, method, ..Options::default() };
            Simulation::new(read, options).unwrap_or_else(|e| panic!("{e}"))
        };
        let mut run = open();
        run.advance_to(0.4031).unwrap();
        let saved = run.save().unwrap();
        run.advance_to(1.0).unwrap();
        let end = run.state().clone();
        assert!(end.z.len() == 2 && end.z[0].abs() > 0.1, "{:?}", end.z);
        run.restore(&saved).unwrap();
        run.advance_to(1.0).unwrap();
        assert_eq!(run.state(), &end, "{method:?}");
        let mut other = open();
        other.restore(&saved).unwrap();
        other.advance_to(1.0).unwrap();
        assert_eq!(other.state(), &end, "{method:?}, another process");
    }
}

/// Neighbours of a model have FMUs of their own.
#[test]
fn sensitivities_pass_through_the_equations_of_an_fmu() {
    let s = Scratch::new("resident-slope");
    let model = coupled(&s);
    s.write("model.toml", model);
    let told = s.bellcrank(&["sensitivity", "model.toml", "--of", "angle", "--to", "k"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let slope: f64 = told.stdout.split_whitespace().last().unwrap().parse().unwrap();
    let at = |k: f64| {
        let run = s.json("model.toml", &["--set", &format!("parameter.k={k}"), "--rtol", "1e-11"]);
        run["final"]["a_pin.angle"].as_f64().unwrap()
    };
    let difference = (at(5.005) - at(4.995)) / 0.01;
    assert!((slope - difference).abs() < 1e-5 * difference.abs(), "{slope} {difference}");
}

#[test]
fn what_does_not_fit_into_the_equations_is_refused_by_name() {
    let s = Scratch::new("resident-refused");
    s.write("winding.fmu", winding(true, true)).write("motor.fmu", super::motor());
    let told = |model: String| {
        s.write("model.toml", model);
        let out = s.bellcrank(&["run", "model.toml"]);
        assert_ne!(out.code, 0, "{}", out.stdout);
        out.stderr
    };
    let reaction = told(ROTOR.replace("speed = \"pin.rate\"", "speed = \"pin.rate\", voltage = \"pin.fx\""));
    assert!(reaction.contains("`voltage` in `inputs` of FMU `motor`"), "{reaction}");
    assert!(reaction.contains("with `step`, values are exchanged at equal distances in time instead"), "{reaction}");
    let own = told(ROTOR.replace("speed = \"pin.rate\"", "speed = \"pin.rate\", voltage = \"motor.torque\""));
    assert!(own.contains("FMU `motor` is given its own outputs: an algebraic loop"), "{own}");
    let alone = told(ROTOR.replace("winding.fmu\"", "motor.fmu\", coupling = \"equations\""));
    assert!(alone.contains("FMU `motor` is for co-simulation alone: it shows no equations"), "{alone}");
    let both = told(ROTOR.replace("winding.fmu\"", "winding.fmu\", step = 0.1, coupling = \"equations\""));
    assert!(both.contains("FMU `motor` has a `step`"), "{both}");
    for (deed, said) in [
        (1, "FMU `motor` gave NaN for a derivative of its states"),
        (2, "FMU `motor` failed in `fmi3Get"),
        (3, "FMU `motor` ended its process when asked for its equations (signal: 6"),
    ] {
        let failed = told(ROTOR.replace("deed = 0", &format!("deed = {deed}")));
        assert!(failed.contains(said), "{deed}: {failed}");
    }
}
