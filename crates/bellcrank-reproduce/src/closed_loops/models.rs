//! The paper's two machines, of any size: a chain of squares and a net, of unit rods with unit masses.

use bellcrank_model::System;
use bellcrank_model::read::read_text;
use std::fmt::Write;
use std::sync::Arc;

/// The text of a model: rods by their ends, joints by their place.
struct Text {
    bodies: String,
    joints: String,
    probes: String,
    space: bool,
}

impl Text {
    fn new(space: bool) -> Text {
        Text { bodies: "[body]\n".into(), joints: "[joint]\n".into(), probes: "[probe]\n".into(), space }
    }

    fn point(&self, [x, y, z]: [f64; 3]) -> String {
        if self.space { format!("[{x:?}, {y:?}, {z:?}]") } else { format!("[{x:?}, {y:?}]") }
    }

    fn rod(&mut self, name: &str, from: [f64; 3], to: [f64; 3]) {
        let (from, to) = (self.point(from), self.point(to));
        let _ = writeln!(
            self.bodies,
            "{name} = {{ coordinates = \"natural\", rod = {{ from = {from}, to = {to}, mass = 1 }} }}"
        );
    }

    fn joint(&mut self, name: &str, first: &str, second: &str, at: [f64; 3]) {
        let (kind, at) = (if self.space { "spherical" } else { "revolute" }, self.point(at));
        let _ = writeln!(self.joints, "{name} = {{ type = \"{kind}\", between = [\"{first}\", \"{second}\"], at = {at} }}");
    }

    fn probe(&mut self, name: &str, body: &str) {
        let on = self.point([0.5, 0.0, 0.0]);
        let _ = writeln!(self.probes, "{name} = {{ body = \"{body}\", on = {on} }}");
    }

    fn model(&self, name: &str) -> String {
        let head = match self.space {
            true => format!("[model]\nname = \"{name}\"\ngravity = [0, 0, -9.81]\n"),
            false => format!("[model]\nname = \"{name}\"\nplane = \"xy\"\ngravity = [0, -9.81]\n"),
        };
        format!("{head}\n{}\n{}\n{}", self.bodies, self.joints, self.probes)
    }
}

/// A chain of m squares that share opposite corners, held at the first one; probes c1 … cm at the far corners.
pub fn chain(m: usize) -> String {
    let mut text = Text::new(false);
    let mut root = "ground".to_string();
    for k in 1..=m {
        let s = (k - 1) as f64;
        let at = |x: f64, y: f64| [s + x, -s - y, 0.0];
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|l| format!("{l}{k}"));
        text.rod(&a, at(0.0, 0.0), at(1.0, 0.0));
        text.rod(&b, at(0.0, 0.0), at(0.0, 1.0));
        text.rod(&c, at(1.0, 0.0), at(1.0, 1.0));
        text.rod(&d, at(0.0, 1.0), at(1.0, 1.0));
        text.joint(&format!("ra{k}"), &root, &a, at(0.0, 0.0));
        text.joint(&format!("rb{k}"), &root, &b, at(0.0, 0.0));
        text.joint(&format!("ac{k}"), &a, &c, at(1.0, 0.0));
        text.joint(&format!("bd{k}"), &b, &d, at(0.0, 1.0));
        text.joint(&format!("cd{k}"), &c, &d, at(1.0, 1.0));
        text.probe(&format!("corner{k}"), &c);
        root = c;
    }
    text.model("square-chain")
}

/// A net of w strings of l rods with horizontal rods between them, tilted by `tilt`: in the plane of the net, or in space out
/// of it. The probe `bottom` is the last joint of the last string.
pub fn net(w: usize, l: usize, tilt: f64, space: bool) -> String {
    let mut text = Text::new(space);
    let (c, s) = (tilt.cos(), tilt.sin());
    let at = |i: usize, j: usize| match (space, i as f64, j as f64) {
        (false, i, j) => [j + i * s, -i * c, 0.0],
        (true, i, j) => [j, i * s, -i * c],
    };
    for j in 0..w {
        for i in 1..=l {
            let v = format!("v{j}x{i}");
            let above = if i == 1 { "ground".to_string() } else { format!("v{j}x{}", i - 1) };
            text.rod(&v, at(i - 1, j), at(i, j));
            text.joint(&format!("s{j}x{i}"), &above, &v, at(i - 1, j));
        }
    }
    for j in 0..w - 1 {
        for i in 1..=l {
            let h = format!("h{j}x{i}");
            text.rod(&h, at(i, j), at(i, j + 1));
            text.joint(&format!("l{j}x{i}"), &format!("v{j}x{i}"), &h, at(i, j));
            text.joint(&format!("r{j}x{i}"), &h, &format!("v{}x{i}", j + 1), at(i, j + 1));
        }
    }
    text.probe("bottom", &format!("v{}x{l}", w - 1));
    text.model("rod-net")
}

/// Compiles a text of this module.
pub fn system(text: &str) -> Arc<System> {
    match read_text("model.toml", text, &[]) {
        Ok(read) => Arc::new(read.model.compile()),
        Err(report) => unreachable!("{report}"),
    }
}
