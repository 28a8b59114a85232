//! Accelerations of sample robots beside those of other programs, whose values stand in `samples/`: Pinocchio 4.1.0 (`pin`) for
//! URDF, MuJoCo 4.0.0 for MJCF. They were made, and can be made again, by
//!
//! ```text
//! pip install pin==4.1.0 mujoco==4.0.0 numpy
//! python benches/peers/robot_samples.py crates/bellcrank-robots/tests/samples
//! ```

#[allow(dead_code)]
#[path = "../examples/accelerations.rs"]
mod accelerations;

use accelerations::{both_ways, columns};
use bellcrank_model::Point;
use bellcrank_robots::{RobotOptions, open};
use std::path::Path;

/// The largest difference to the values of another program, against the largest acceleration of the state; of five states.
fn difference(file: &str) -> f64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let path = folder.join(file);
    let options = RobotOptions { friction: false, actuators: false, visuals: false, ..RobotOptions::default() };
    let robot = open(&path.to_string_lossy(), &options).unwrap_or_else(|e| panic!("{e}"));
    let system = robot.read(&[]).unwrap_or_else(|e| panic!("{e}")).model.into_system();
    let relative = system.relative(&Point::at(&system.initial_state(), system.layout()));
    let joints = columns(&system, &relative);
    let stored = std::fs::read_to_string(path.with_extension("peer")).unwrap();
    let mut lines = stored.lines().skip(1);
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let ours: Vec<&str> = joints.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ours);
    let (n, mut worst, mut states) = (names.len(), 0.0f64, 0);
    for line in lines {
        let x: Vec<f64> = line.split(' ').map(|x| x.parse().unwrap()).collect();
        let (given, theirs) = x.split_at(3 * n);
        assert_eq!(theirs.len(), n);
        let size = theirs.iter().fold(0.0f64, |m, a| m.max(a.abs()));
        for own in both_ways(&system, &relative, &joints, given) {
            let off = own.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            worst = worst.max(off / size);
        }
        states += 1;
    }
    assert_eq!(states, 5);
    worst
}

#[test]
fn urdf_robots_accelerate_as_in_pinocchio() {
    for file in ["arm.urdf", "tree.urdf"] {
        let off = difference(file);
        assert!(off < 1e-10, "{file}: {off}");
    }
}

#[test]
fn mjcf_robots_accelerate_as_in_mujoco() {
    let off = difference("crane.xml");
    assert!(off < 1e-9, "{off}");
}
