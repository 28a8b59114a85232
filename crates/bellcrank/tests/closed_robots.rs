//! Robots with closed loops from MJCF files: a delta robot and a parallel gripper keep their loops closed, and move as their
//! parallelograms allow.

mod common;

use common::{Recorded, Scratch};
use std::f64::consts::PI;
use std::fmt::Write;

/// Links pass each other.
const APART: &str = "<default><geom contype=\"0\" conaffinity=\"0\"/></default>";

/// A delta robot: three arms, each with a parallelogram of two rods to the platform.
fn delta() -> String {
    let mut out = format!("<mujoco><compiler angle=\"radian\"/>{APART}<worldbody>\n");
    let mut loops = String::new();
    for k in 0..3 {
        let (sin, cos) = (2.0 * PI * f64::from(k) / 3.0).sin_cos();
        let _ = writeln!(
            out,
            "<body name=\"arm{k}\" pos=\"{} {} 0\"><joint name=\"motor{k}\" axis=\"{} {cos} 0\" damping=\"0.1\"/>\
             <geom type=\"capsule\" fromto=\"0 0 0 {} {} 0\" size=\"0.01\"/>",
            0.1 * cos,
            0.1 * sin,
            -sin,
            0.2 * cos,
            0.2 * sin,
        );
        for (side, off) in [("a", -0.04), ("b", 0.04)] {
            let elbow = [0.2 * cos - off * sin, 0.2 * sin + off * cos];
            let rod = format!("{} {} -0.45", -0.25 * cos, -0.25 * sin);
            let [x, y] = elbow;
            let _ = writeln!(
                out,
                "<body name=\"rod{k}{side}\" pos=\"{x} {y} 0\"><joint name=\"ball{k}{side}\" type=\"ball\"/>\
                 <geom type=\"capsule\" fromto=\"0 0 0 {rod}\" size=\"0.005\"/></body>"
            );
            let _ = writeln!(
                loops,
                "<connect name=\"end{k}{side}\" body1=\"rod{k}{side}\" body2=\"platform\" anchor=\"{rod}\"/>"
            );
        }
        out += "</body>\n";
    }
    out +=
        "<body name=\"platform\" pos=\"0 0 -0.45\"><freejoint/><geom type=\"cylinder\" size=\"0.05 0.01\"/></body>\n";
    format!("{out}</worldbody><equality>\n{loops}</equality></mujoco>\n")
}

/// A gripper whose pads are the couplers of two parallelograms; one motor moves both.
fn gripper() -> String {
    let mut out = format!("<mujoco><option gravity=\"0 0 0\"/>{APART}<worldbody>\n");
    let mut loops = String::new();
    for (side, s) in [("left", 1.0), ("right", -1.0)] {
        let (x, tip) = (0.02 * s, 0.04 * s);
        let bar = format!("<geom type=\"capsule\" fromto=\"0 0 0 {tip} 0.06 0\" size=\"0.004\"/>");
        let _ = writeln!(
            out,
            "<body name=\"{side}_crank\" pos=\"{x} 0 0\"><joint name=\"{side}_drive\" axis=\"0 0 1\" damping=\"0.02\"/>{bar}\
             <body name=\"{side}_pad\" pos=\"{tip} 0.06 0\"><joint name=\"{side}_knuckle\" axis=\"0 0 1\"/>\
             <geom type=\"box\" pos=\"0 0.02 0\" size=\"0.004 0.02 0.01\"/></body></body>\n\
             <body name=\"{side}_rocker\" pos=\"{x} 0.02 0\"><joint name=\"{side}_follow\" axis=\"0 0 1\"/>{bar}</body>"
        );
        let _ = writeln!(
            loops,
            "<connect name=\"{side}_loop\" body1=\"{side}_pad\" body2=\"{side}_rocker\" anchor=\"0 0.02 0\"/>"
        );
    }
    let mirror = "<joint name=\"mirror\" joint1=\"right_drive\" joint2=\"left_drive\" polycoef=\"0 -1 0 0 0\"/>";
    let motor = "<actuator><motor name=\"squeeze\" joint=\"left_drive\"/></actuator>";
    format!("{out}</worldbody><equality>\n{loops}{mirror}</equality>{motor}</mujoco>\n")
}

/// Runs a robot for a second; gives how far its loops opened, and what was recorded.
fn run(s: &Scratch, name: &str, text: &str, more: &[&str]) -> (f64, Recorded) {
    s.write(name, text);
    let args = [&["run", name, "--until", "1", "--sample", "0.02", "--json", "--out", "results"], more].concat();
    let ended = s.bellcrank(&args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let table = Recorded::parse(&String::from_utf8(s.read("results/results.csv")).unwrap());
    (summary["drift"]["position"].as_f64().unwrap(), table)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, x| m.max(x.abs()))
}

#[test]
fn a_delta_robot_keeps_its_loops_closed_and_its_platform_level() {
    let s = Scratch::new("delta");
    let (open, table) = run(&s, "delta.xml", &delta(), &[]);
    assert!(open < 1e-12, "{open}");
    for rate in ["platform.wx", "platform.wy", "platform.wz"] {
        assert!(largest(&table.column(rate)) < 1e-9, "{rate}");
    }
    // all three arms fall alike, so that the platform sinks along z
    assert!(largest(&table.column("platform.vz")) > 0.1);
    assert!(largest(&table.column("platform.vx")) < 1e-9 && largest(&table.column("platform.vy")) < 1e-9);
}

#[test]
fn a_parallel_gripper_keeps_its_loops_closed_and_its_pads_parallel() {
    let s = Scratch::new("gripper");
    let (open, table) = run(&s, "gripper.xml", &gripper(), &["--set", "input.squeeze.start=0.01"]);
    assert!(open < 1e-12, "{open}");
    let [left, right] = ["left_drive.angle", "right_drive.angle"].map(|name| table.column(name));
    assert!(largest(&left) > 0.05, "{left:?}");
    assert!(left.iter().zip(&right).all(|(a, b)| (a + b).abs() < 1e-12));
    for pad in ["left_pad.wz", "right_pad.wz"] {
        assert!(largest(&table.column(pad)) < 1e-9, "{pad}");
    }
}
