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
        let _ =
            writeln!(self.joints, "{name} = {{ type = \"{kind}\", between = [\"{first}\", \"{second}\"], at = {at} }}");
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
    bent_net(w, l, &|_| tilt, space)
}

/// A net whose rods of level i = 1 … l are tilted by `tilt(i)`.
pub fn bent_net(w: usize, l: usize, tilt: &dyn Fn(usize) -> f64, space: bool) -> String {
    let mut text = Text::new(space);
    let mut down = vec![(0.0, 0.0)];
    for i in 1..=l {
        let (x, y) = down[i - 1];
        down.push((x + tilt(i).sin(), y - tilt(i).cos()));
    }
    let at = |i: usize, j: usize| match (space, down[i], j as f64) {
        (false, (x, y), j) => [j + x, y, 0.0],
        (true, (x, y), j) => [j, x, y],
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

/// A lattice in space: w × w strings of l rods, with horizontal rods to both sides at every joint, tilted by .5 rad.
pub fn lattice(w: usize, l: usize) -> String {
    let mut text = Text::new(true);
    let (s, c) = 0.5f64.sin_cos();
    let at = |i: usize, j: usize, k: usize| [j as f64 + i as f64 * s, k as f64, -(i as f64) * c];
    for (j, k) in (0..w * w).map(|e| (e / w, e % w)) {
        for i in 1..=l {
            let v = format!("v{j}x{k}x{i}");
            let above = if i == 1 { "ground".to_string() } else { format!("v{j}x{k}x{}", i - 1) };
            text.rod(&v, at(i - 1, j, k), at(i, j, k));
            text.joint(&format!("s{j}x{k}x{i}"), &above, &v, at(i - 1, j, k));
        }
    }
    for (j, k) in (0..w * w).map(|e| (e / w, e % w)) {
        for (dj, dk, name) in [(1, 0, "g"), (0, 1, "h")].into_iter().filter(|(dj, dk, _)| j + dj < w && k + dk < w) {
            for i in 1..=l {
                let h = format!("{name}{j}x{k}x{i}");
                text.rod(&h, at(i, j, k), at(i, j + dj, k + dk));
                text.joint(&format!("l{h}"), &format!("v{j}x{k}x{i}"), &h, at(i, j, k));
                text.joint(&format!("r{h}"), &h, &format!("v{}x{}x{i}", j + dj, k + dk), at(i, j + dj, k + dk));
            }
        }
    }
    text.model("rod-lattice")
}

/// The chain that a net in its plane moves like: rods of mass w, and at their lower ends points of mass w − 1.
pub fn pendulum(w: usize, l: usize, tilt: f64) -> String {
    let mut text = Text::new(false);
    let at = |i: usize| [i as f64 * tilt.sin(), -(i as f64) * tilt.cos(), 0.0];
    for i in 1..=l {
        let above = if i == 1 { "ground".to_string() } else { format!("v{}", i - 1) };
        let (from, to) = (text.point(at(i - 1)), text.point(at(i)));
        let _ = writeln!(
            text.bodies,
            "v{i} = {{ coordinates = \"natural\", rod = {{ from = {from}, to = {to}, mass = {w} }} }}\n\
             p{i} = {{ mass = {}, at = {to} }}",
            w - 1
        );
        text.joint(&format!("s{i}"), &above, &format!("v{i}"), at(i - 1));
        text.joint(&format!("k{i}"), &format!("v{i}"), &format!("p{i}"), at(i));
    }
    text.probe("bottom", &format!("v{l}"));
    text.model("pendulum")
}

/// Compiles a text of this module.
pub fn system(text: &str) -> Arc<System> {
    match read_text("model.toml", text, &[]) {
        Ok(read) => Arc::new(read.model.compile()),
        Err(report) => unreachable!("{report}"),
    }
}
