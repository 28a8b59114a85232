//! FMUs for model exchange inside of models: their states are integrated in their own process.

use super::{built, packed, platform};
use crate::common::Scratch;

/// The ball as an archive.
pub fn ball(three: bool) -> Vec<u8> {
    let variable = |name: &str, reference: u32, causality: &str, more: &str| {
        let head = format!("name=\"{name}\" valueReference=\"{reference}\" causality=\"{causality}\"");
        match three {
            true => format!("<Float64 {head} {more}/>"),
            false => format!("<ScalarVariable {head}><Real {more}/></ScalarVariable>"),
        }
    };
    let variables = [
        variable("height", 1, "output", ""),
        variable("velocity", 2, "output", ""),
        variable("kick", 7, "parameter", "start=\"3\""),
    ];
    let (number, token, structure) = match three {
        true => (
            "3.0",
            "instantiationToken",
            "<ContinuousStateDerivative valueReference=\"2\"/>\
            <ContinuousStateDerivative valueReference=\"5\"/><EventIndicator valueReference=\"1\"/>",
        ),
        false => (
            "2.0\" numberOfEventIndicators=\"1",
            "guid",
            "<Derivatives><Unknown index=\"1\"/><Unknown index=\"2\"/></Derivatives>",
        ),
    };
    let xml = format!(
        "<fmiModelDescription fmiVersion=\"{number}\" {token}=\"{{ball}}\"><ModelExchange modelIdentifier=\"ball\"/>\
         <ModelVariables>{}</ModelVariables><ModelStructure>{structure}</ModelStructure></fmiModelDescription>",
        variables.concat()
    );
    let library = format!("binaries/{}/ball.{}", platform(three), std::env::consts::DLL_EXTENSION);
    packed(&[("modelDescription.xml", xml.as_bytes()), (&library, &built("ball", three))])
}

/// Height and velocity at a time, flight by flight.
pub fn flight(until: f64, kick: f64) -> (f64, f64) {
    let (g, e) = (9.81f64, 0.8f64);
    let (mut t, mut h, mut v, mut kicked) = (0.0f64, 1.0f64, 0.0f64, false);
    loop {
        let impact = t + (v + (v * v + 2.0 * g * h).sqrt()) / g;
        let stop = if kicked { impact } else { impact.min(0.5) }.min(until);
        let d = stop - t;
        (h, v, t) = (h + v * d - 0.5 * g * d * d, v - g * d, stop);
        if t >= until {
            return (h, v);
        }
        if !kicked && t == 0.5 {
            (v, kicked) = (v + kick, true);
        } else {
            (h, v) = (0.0, -e * v);
        }
    }
}

const BESIDE: &str = r#"
model = { plane = "xy" }
body.cart = { mass = 2, inertia = 1 }
joint.slide = { type = "prismatic", between = ["ground", "cart"], at = [0, 0], axis = [1, 0] }
fmu.ball = { file = "ball.fmu", step = 0.1, set = { kick = 2.5 } }
[solve]
until = 2
rtol = 1e-9
sample = 0.1
"#;

#[test]
fn states_are_integrated_with_their_events_in_state_and_time() {
    let s = Scratch::new("ball");
    for three in [true, false] {
        s.write("ball.fmu", ball(three));
        let table = s.record(BESIDE, &[]);
        let (times, heights, speeds) =
            (table.column("time"), table.column("ball.height"), table.column("ball.velocity"));
        for ((t, height), speed) in times.iter().zip(heights).zip(speeds).filter(|((t, _), _)| (*t - 0.5).abs() > 1e-6)
        {
            let (h, v) = flight(*t, 2.5);
            assert!((height - h).abs() < 1e-8 && (speed - v).abs() < 1e-7, "{three} {t}: {height} {h} {speed} {v}");
        }
    }
}

/// The example with impacts, exported for model exchange, against its own run.
#[test]
fn our_own_model_exchange_with_impacts_is_its_own_run() {
    let s = Scratch::new("own-ball");
    let example = crate::common::root().join("examples/bouncing-ball.toml");
    let example = example.to_string_lossy();
    let own = s.json(&example, &["--until", "1", "--rtol", "1e-9"]);
    for version in ["2", "3"] {
        let made =
            s.bellcrank(&["fmu", &example, "--fmi", version, "--kind", "me", "--output", "ball.*", "-o", "ball.fmu"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        s.write("beside.toml", BESIDE.replace(", set = { kick = 2.5 }", "").replace("until = 2", "until = 1"));
        let there = s.json("beside.toml", &[]);
        for channel in ["ball.y", "ball.vy", "ball.x"] {
            let (a, b) = (there["final"][format!("ball.{channel}")].as_f64(), own["final"][channel].as_f64());
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-6, "{version} {channel}: {a:?} {b:?}");
        }
    }
}
