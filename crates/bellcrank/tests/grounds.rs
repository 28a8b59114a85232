//! Robots on the ground: they come to rest, the ground carries their weight, and spheres roll or slide as friction lets them.

mod common;

use common::Scratch;

const G: f64 = 9.81;

/// What `run FILE --json OPTIONS` prints; robot files tell on stderr what they leave out.
fn run(s: &Scratch, file: &str, options: &[&str]) -> serde_json::Value {
    let args: Vec<&str> = ["run", file, "--json"].into_iter().chain(options.iter().copied()).collect();
    let ended = s.bellcrank(&args);
    assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// A trunk on two feet, 5 cm above the floor.
const WALKER: &str = r#"<mujoco model="walker"><option gravity="0 0 -9.81"/><worldbody>
  <geom name="floor" type="plane" size="5 5 1"/>
  <body name="trunk" pos="0 0 0.49"><freejoint/>
    <inertial pos="0 0 0" mass="4" diaginertia="0.05 0.05 0.05"/>
    <body name="left" pos="0 0.2 0"><inertial pos="0 0 -0.3" mass="1" diaginertia="0.01 0.01 0.01"/>
      <geom name="left_sole" type="box" pos="0 0 -0.42" size="0.15 0.07 0.02"/></body>
    <body name="right" pos="0 -0.2 0"><inertial pos="0 0 -0.3" mass="1" diaginertia="0.01 0.01 0.01"/>
      <geom name="right_sole" type="box" pos="0 0 -0.42" size="0.15 0.07 0.02"/></body>
  </body></worldbody></mujoco>"#;

/// Dropped from 5 cm, it stands after a second and a half, and what the ground carries is its weight.
#[test]
fn a_robot_that_is_dropped_comes_to_rest_and_the_ground_carries_its_weight() {
    let s = Scratch::new("dropped");
    s.write("walker.xml", WALKER);
    for ground in ["hard", "20000"] {
        let told = run(&s, "walker.xml", &["--ground", ground, "--until", "1.5"]);
        let last = told["final"].as_object().unwrap();
        for channel in ["trunk.vx", "trunk.vy", "trunk.vz", "trunk.wx", "trunk.wy", "trunk.wz"] {
            let x = last[channel].as_f64().unwrap();
            assert!(x.abs() < 2e-4, "{ground} {channel}: {x}");
        }
        let normal = last.iter().filter(|(name, _)| name.ends_with(".normal"));
        let carried: f64 = normal.map(|(_, x)| x.as_f64().unwrap()).sum();
        assert!((carried - 6.0 * G).abs() < 1e-3 * G, "{ground}: {carried}");
        let z = last["trunk.z"].as_f64().unwrap();
        // the common centre of mass: 4 kg at 0.44 m and 2 kg at 0.14 m
        assert!((z - 0.34).abs() < 2e-3, "{ground}: {z}");
    }
}

/// A sphere that is thrown along the floor slides until it rolls: then its speed is 5/7 of what it was, after 2 v / (7 μ g).
#[test]
fn a_sphere_slides_and_then_rolls_with_five_sevenths_of_its_speed() {
    let s = Scratch::new("rolls");
    let (mu, v) = (0.2, 1.4);
    s.write(
        "ball.xml",
        format!(
            "<mujoco model=\"ball\"><option gravity=\"0 0 -{G}\"/><worldbody><geom type=\"plane\" size=\"9 9 9\" friction=\"{mu}\"/>\
             <body name=\"ball\" pos=\"0 0 0.1\"><freejoint/><geom size=\"0.1\" mass=\"1\" friction=\"0.1\"/></body></worldbody></mujoco>"
        ),
    );
    let start = format!("body.ball.velocity=[{v},0,0]");
    let until = 2.0 * v / (7.0 * mu * G);
    for (t, speed) in [(0.5 * until, v - 0.5 * mu * G * until), (2.0 * until, 5.0 / 7.0 * v)] {
        let args = ["--ground", "hard", "--set", &start, "--until", &t.to_string(), "--rtol", "1e-8"];
        let run = run(&s, "ball.xml", &args);
        let (vx, wy) = (run["final"]["ball.vx"].as_f64().unwrap(), run["final"]["ball.wy"].as_f64().unwrap());
        assert!((vx - speed).abs() < 1e-6, "{t}: {vx} {speed}");
        let spin = if t > until { vx / 0.1 } else { 2.5 * mu * G * t / 0.1 };
        assert!((wy - spin).abs() < 1e-4, "{t}: {wy} {spin}");
    }
}
