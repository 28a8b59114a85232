//! Machines of any size, as model files: ladders, nets, chains.

use std::fmt::Write;

/// Unit rods between points of a grid, each with the names of the rods that end there.
#[derive(Default)]
struct Frame {
    bodies: String,
    /// Of every node: the rods that end there, and on which end.
    nodes: Vec<((usize, usize), Vec<(String, f64)>)>,
}

impl Frame {
    /// A rod from one node to another; nodes are (column, row below the top).
    fn rod(&mut self, name: String, from: (usize, usize), to: (usize, usize), inertia: &str, zero: &str) {
        let x = 0.5 * (from.0 + to.0) as f64;
        let y = -0.5 * (from.1 + to.1) as f64;
        let turned = match (from.0 == to.0, zero.is_empty()) {
            (false, _) => "",
            (true, true) => "angle = \"-pi/2\"\n",
            (true, false) => "orientation = { axis = [0, 0, 1], angle = \"-pi/2\" }\n",
        };
        let _ = write!(self.bodies, "[body.{name}]\nmass = 1\ninertia = {inertia}\nat = [{x}, {y}{zero}]\n{turned}");
        for (node, end) in [(from, -0.5), (to, 0.5)] {
            match self.nodes.iter_mut().rev().take(4).find(|(n, _)| *n == node) {
                Some((_, rods)) => rods.push((name.clone(), end)),
                None => self.nodes.push((node, vec![(name.clone(), end)])),
            }
        }
    }

    /// Pins of every node: each rod on the one before it, the first of node (0, 0) on the ground.
    fn pins(&self, zero: &str) -> String {
        let mut out = String::new();
        for ((i, j), rods) in &self.nodes {
            let ground = ("ground".to_string(), 0.0);
            let grounded = (*i, *j) == (0, 0);
            let all: Vec<&(String, f64)> = grounded.then_some(&ground).into_iter().chain(rods).collect();
            for (k, pair) in all.windows(2).enumerate() {
                let [(a, on_a), (b, on_b)] = [pair[0], pair[1]];
                let axis = if zero.is_empty() { "" } else { "axis = [0, 0, 1]\n" };
                let _ = write!(
                    out,
                    "[joint.p{i}_{j}_{k}]\ntype = \"revolute\"\nbetween = [\"{a}\", \"{b}\"]\n\
                     on = [[{on_a}, 0{zero}], [{on_b}, 0{zero}]]\n{axis}"
                );
            }
        }
        out
    }
}

fn squares(m: usize, head: &str, inertia: &str, zero: &str) -> String {
    let mut frame = Frame::default();
    frame.rod("r0".into(), (0, 0), (0, 1), inertia, zero);
    for i in 0..m {
        frame.rod(format!("t{i}"), (i, 0), (i + 1, 0), inertia, zero);
        frame.rod(format!("b{i}"), (i, 1), (i + 1, 1), inertia, zero);
        frame.rod(format!("r{}", i + 1), (i + 1, 0), (i + 1, 1), inertia, zero);
    }
    let pins = frame.pins(zero);
    let probe = format!("[probe.tip]\nbody = \"r{m}\"\non = [0.5, 0{zero}]\n");
    format!("{head}{}{pins}{probe}", frame.bodies)
}

/// A ladder of m squares: 3m + 1 unit rods with pins at the nodes (i, 0) and (i, −1), the first on the ground.
pub fn ladder(m: usize) -> String {
    squares(m, "[model]\nplane = \"xy\"\ngravity = [0, -9.81]\n", "0.08333333333333333", "")
}

/// The same ladder of bodies with six coordinates and revolutes of five equations: three of every loop are redundant.
pub fn spatial_ladder(m: usize) -> String {
    let inertia = "[1e-3, 0.08333333333333333, 0.08333333333333333]";
    squares(m, "[model]\ngravity = [0, -9.81, 0]\n", inertia, ", 0")
}

/// n × n unit masses with rigid unit links between neighbours, two opposite corners held, flat at first.
pub fn net(n: usize) -> String {
    let mut out = String::from("[model]\ngravity = [0, 0, -9.81]\n");
    let held = |i: usize, j: usize| (i, j) == (0, 0) || (i, j) == (n - 1, n - 1);
    let name = |i: usize, j: usize| if held(i, j) { "ground".into() } else { format!("p{i}_{j}") };
    let on = |i: usize, j: usize| if held(i, j) { format!("[{i}, {j}, 0]") } else { "[0, 0, 0]".into() };
    let each = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    for (i, j) in each().filter(|(i, j)| !held(*i, *j)) {
        let _ = write!(out, "[body.p{i}_{j}]\nmass = 1\nat = [{i}, {j}, 0]\n");
    }
    for (i, j) in each() {
        for (k, l) in [(i + 1, j), (i, j + 1)].into_iter().filter(|(k, l)| *k < n && *l < n) {
            let _ = write!(
                out,
                "[joint.l{i}_{j}_{k}_{l}]\ntype = \"distance\"\nbetween = [\"{}\", \"{}\"]\non = [{}, {}]\nlength = 1\n",
                name(i, j),
                name(k, l),
                on(i, j),
                on(k, l)
            );
        }
    }
    out
}

/// n revolute unit rods in space, one after the other.
pub fn chain(n: usize) -> String {
    let mut out = String::from("[model]\ngravity = [0, -9.81, 0]\n");
    for i in 0..n {
        let before = if i == 0 { "ground".to_string() } else { format!("b{}", i - 1) };
        let _ = write!(
            out,
            "[body.b{i}]\nmass = 1\ninertia = [1e-3, 0.08333333333333333, 0.08333333333333333]\nat = [{}, 0, 0]\n\
             [joint.j{i}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"b{i}\"]\nat = [{i}, 0, 0]\naxis = [0, 0, 1]\n",
            i as f64 + 0.5
        );
    }
    out
}
