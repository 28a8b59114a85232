//! What tests share: random states, pieces and their derivatives as dense arrays, a plain assembly.

use crate::dynamics::{Dynamics, Layout, Piece, Point, Slopes, Targets, Unknown};
use bellcrank_math::Vec3;

pub use bellcrank_math::random::Random;

/// A model file of `bodies` bodies that hang on each other at random by every kind of joint a tree may have, closed by
/// `loops` joints more; in the plane, or in space.
pub fn random_mechanism(random: &mut Random, bodies: usize, loops: usize, plane: bool) -> String {
    let mut draw = Draw { random, plane };
    let mut text = String::from(match plane {
        true => "model = { plane = \"xy\", gravity = [0.3, -9.81] }\n[body]\n",
        false => "model = { gravity = [0.3, -9.81, 0.7] }\n[body]\n",
    });
    (0..bodies).for_each(|b| text += &draw.body(b));
    text += "[joint]\n";
    (0..bodies).for_each(|b| text += &draw.joint(b, false));
    (0..loops).for_each(|l| text += &draw.closing(l, bodies));
    text
}

/// The same with bodies that bend among the others, which hang on each other's stations.
pub fn random_soft_mechanism(random: &mut Random, bodies: usize, loops: usize, plane: bool) -> String {
    let mut draw = Draw { random, plane };
    let mut text = String::from(match plane {
        true => "model = { plane = \"xy\", gravity = [0.3, -9.81] }\n[body]\n",
        false => "model = { gravity = [0.3, -9.81, 0.7] }\n[body]\n",
    });
    (0..bodies).for_each(|b| text += &if draw.pick(3) == 0 { draw.body(b) } else { draw.beam(b) });
    text += "[joint]\n";
    (0..bodies).for_each(|b| text += &draw.joint(b, true));
    (0..loops).for_each(|l| text += &draw.soft_closing(l, bodies));
    text
}

/// Draws the lines of a model file.
struct Draw<'a> {
    random: &'a mut Random,
    plane: bool,
}

impl Draw<'_> {
    fn pick(&mut self, n: usize) -> usize {
        ((self.random.number() + 1.0) * 0.5 * n as f64) as usize % n.max(1)
    }

    fn point(&mut self) -> String {
        let n = if self.plane { 2 } else { 3 };
        let x: Vec<String> = (0..n).map(|_| format!("{}", self.random.number())).collect();
        format!("[{}]", x.join(", "))
    }

    fn inertia(&mut self) -> f64 {
        1.0 + 0.3 * self.random.number()
    }

    fn body(&mut self, b: usize) -> String {
        let (at, v) = (self.point(), self.point());
        if self.plane && self.pick(4) == 0 {
            let to = self.point();
            return format!("b{b} = {{ rod = {{ from = {at}, to = {to}, mass = 0.7 }}, coordinates = \"natural\" }}\n");
        }
        let rest = if self.plane {
            let (inertia, angle, rate) = (self.inertia(), self.random.number(), self.random.number());
            format!("inertia = {inertia}, angle = {angle}, angular_velocity = {rate}")
        } else {
            let [x, y, z] = [0; 3].map(|_| self.inertia());
            let (axis, turn, w) = (self.point(), self.random.number(), self.point());
            format!(
                "inertia = [{x}, {y}, {z}], orientation = {{ axis = {axis}, angle = {turn} }}, angular_velocity = {w}"
            )
        };
        format!("b{b} = {{ mass = {}, at = {at}, velocity = {v}, {rest} }}\n", 1.5 + self.random.number())
    }

    /// A soft beam of length 1.
    fn beam(&mut self, b: usize) -> String {
        let from = self.random.vec3();
        let along = if self.plane { Vec3([1.0, 0.0, 0.0]) } else { Vec3([0.6, 0.0, 0.8]) };
        let turn = bellcrank_math::rotation::exp(Vec3([0.0, 0.0, 3.0 * self.random.number()]));
        let to = from + turn * along;
        let list = |v: Vec3| format!("{:?}", &v.0[..if self.plane { 2 } else { 3 }]);
        let (from, to) = (list(from), list(to));
        let ends = ["pinned", "clamped"][self.pick(2)];
        let (axial, bending) = (self.pick(2), 1 + self.pick(2));
        let more = match self.plane {
            true => format!("bending = {bending}"),
            false => format!("up = [0, 1, 0], torsion_constant = 0.2, bending = [{bending}, 1]"),
        };
        format!(
            "b{b} = {{ beam = {{ from = {from}, to = {to}, mass = 2, youngs_modulus = 1, area = 3, second_moment = 0.2, \
             ends = \"{ends}\", axial = {axial}, {more}, damping = 0.1 }} }}\n"
        )
    }

    /// A place on a beam, beside its axis.
    fn place(&mut self) -> String {
        let x: Vec<String> = (0..if self.plane { 2 } else { 3 })
            .map(|i| format!("{}", if i == 0 { 0.5 + 0.45 * self.random.number() } else { 0.2 * self.random.number() }))
            .collect();
        format!("[{}]", x.join(", "))
    }

    /// A joint between stations that closes a loop.
    fn soft_closing(&mut self, l: usize, bodies: usize) -> String {
        let first = self.pick(bodies);
        let other = (first + 1 + self.pick(bodies - 1)) % bodies;
        let on = format!("on = [{}, {}]", self.place(), self.place());
        let kind = match self.pick(3) {
            0 => "type = \"distance\", length = 0.7".to_string(),
            1 => format!("type = \"point-on-line\", axis = {}", self.point()),
            _ => "type = \"spherical\"".to_string(),
        };
        format!("l{l} = {{ {kind}, {on}, between = [\"b{first}\", \"b{other}\"] }}\n")
    }

    /// The joint that carries a body, if any; on stations of bodies that bend, or where the bodies are drawn.
    fn joint(&mut self, b: usize, soft: bool) -> String {
        const KINDS: [&str; 9] =
            ["revolute", "prismatic", "spherical", "fixed", "revolute", "cylindrical", "universal", "planar", "screw"];
        let kind = KINDS[self.pick(if self.plane { 5 } else { KINDS.len() })];
        let carrier = match self.pick(b + 2) {
            0 => "ground".to_string(),
            k if k > b => return String::new(), // a tree of its own, that moves freely
            k => format!("b{}", k - 1),
        };
        let mut names = [carrier, format!("b{b}")];
        if self.pick(3) == 0 {
            names.reverse();
        }
        let at = match soft {
            true => format!("on = [{}, {}]", self.place(), self.place()),
            false => format!("at = {}", self.point()),
        };
        let axis = self.point();
        let more = match kind {
            "screw" => format!(", axis = {axis}, pitch = 0.6"),
            "universal" => {
                let z = self.random.vec3();
                let list = |v: Vec3| format!("[{}, {}, {}]", v[0], v[1], v[2]);
                format!(", axis = {}, axis2 = {}", list(z), list(z.any_perpendicular()))
            }
            "spherical" | "fixed" => String::new(),
            "revolute" if self.plane => String::new(),
            _ => format!(", axis = {axis}"),
        };
        let [first, second] = names;
        format!("j{b} = {{ type = \"{kind}\", between = [\"{first}\", \"{second}\"], {at}{more} }}\n")
    }

    /// A joint that closes a loop.
    fn closing(&mut self, l: usize, bodies: usize) -> String {
        let [first, second] = match (self.pick(bodies), self.pick(bodies)) {
            (a, b) if a == b => ["ground".to_string(), format!("b{a}")],
            (a, b) => [a, b].map(|b| format!("b{b}")),
        };
        let place = match self.pick(3) {
            0 => format!("type = \"distance\", at = [{}, {}]", self.point(), self.point()),
            1 => format!("type = \"point-on-line\", at = {}, axis = {}", self.point(), self.point()),
            _ => format!("type = \"spherical\", at = {}", self.point()),
        };
        format!("l{l} = {{ {place}, between = [\"{first}\", \"{second}\"] }}\n")
    }
}

/// A piece at a point.
pub fn values(s: &dyn Dynamics, piece: Piece, p: &Point) -> Vec<f64> {
    let mut w = s.workspace();
    s.realize(p, &mut w);
    let mut out = vec![0.0; s.layout().rows(piece).last().map_or(0, |r| r.end)];
    s.add(1.0, piece, p, &mut w, &mut out);
    out
}

/// ∂piece/∂unknown as a dense matrix.
pub fn derivative(s: &dyn Dynamics, piece: Piece, wrt: Unknown, slopes: Slopes, p: &Point) -> Vec<Vec<f64>> {
    let layout: &Layout = s.layout();
    let (rows, columns) = (layout.rows(piece), layout.columns(wrt));
    let mut w = s.workspace();
    s.realize(p, &mut w);
    let pattern = s.pattern(piece, wrt);
    let mut offsets = Vec::new();
    let mut size = 0;
    for &(r, c) in &pattern {
        offsets.push(size as u32);
        size += rows[r as usize].len() * columns[c as usize].len();
    }
    let mut buffer = vec![0.0; size];
    s.add_derivative(1.0, piece, wrt, slopes, p, &mut w, &mut Targets::new(&mut buffer, &offsets));
    let mut dense = vec![vec![0.0; columns.last().map_or(0, |r| r.end)]; rows.last().map_or(0, |r| r.end)];
    for (&(r, c), &at) in pattern.iter().zip(&offsets) {
        let (r, c) = (rows[r as usize].clone(), columns[c as usize].clone());
        for i in 0..r.len() {
            for j in 0..c.len() {
                dense[r.start + i][c.start + j] += buffer[at as usize + i * c.len() + j];
            }
        }
    }
    dense
}

/// A least-squares solution of a x = b of nearly least norm, a of any rank: (aᵀa + ε) x = aᵀb.
pub fn least_squares(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = a.first().map_or(0, |row| row.len());
    let scale: f64 = a.iter().flatten().map(|x| x * x).sum();
    let mut m = vec![vec![0.0; n + 1]; n];
    for (row, b) in a.iter().zip(b) {
        for i in 0..n {
            (0..n).for_each(|j| m[i][j] += row[i] * row[j]);
            m[i][n] += row[i] * b;
        }
    }
    (0..n).for_each(|i| m[i][i] += 1e-13 * scale + f64::MIN_POSITIVE);
    // Gauß–Jordan; the matrix is positive definite and needs no pivoting
    for i in 0..n {
        let pivot = m[i].clone();
        for (_, row) in m.iter_mut().enumerate().filter(|(k, _)| *k != i) {
            let f = row[i] / pivot[i];
            (i..=n).for_each(|j| row[j] -= f * pivot[j]);
        }
    }
    (0..n).map(|i| m[i][n] / m[i][i]).collect()
}

/// Moves a point onto its position constraints by Newton's iteration; the largest residual left.
/// Velocity rows of nonholonomic joints are passed over.
pub fn assemble(s: &dyn Dynamics, p: &mut Point) -> f64 {
    let holonomic: Vec<usize> = s
        .layout()
        .constraints
        .iter()
        .zip(&s.layout().rates)
        .filter(|(_, rates)| !rates.is_empty())
        .flat_map(|(rows, _)| rows.clone())
        .collect();
    let mut residual = f64::INFINITY;
    for _ in 0..50 {
        let all = values(s, Piece::Position, p);
        let g: Vec<f64> = holonomic.iter().map(|&i| -all[i]).collect();
        residual = g.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        if residual < 1e-14 {
            break;
        }
        let mut jacobian = derivative(s, Piece::Position, Unknown::Q, Slopes::default(), p);
        let rows: Vec<Vec<f64>> = holonomic.iter().map(|&i| std::mem::take(&mut jacobian[i])).collect();
        s.retract(1.0, &mut p.q, &least_squares(&rows, &g));
    }
    residual
}

/// The point with one unknown moved by h, its rates following the slopes.
pub fn moved(s: &dyn Dynamics, p: &Point, wrt: Unknown, i: usize, h: f64, slopes: Slopes) -> Point {
    let mut p = p.clone();
    match wrt {
        Unknown::Q => {
            let mut delta = vec![0.0; p.q.len()];
            delta[i] = h;
            let before = p.q.clone();
            s.retract(1.0, &mut p.q, &delta);
            (0..p.q.len()).for_each(|k| p.qdot[k] += slopes.q * (p.q[k] - before[k]));
        }
        Unknown::V => {
            p.v[i] += h;
            p.vdot[i] += slopes.v * h;
        }
        Unknown::Z => {
            p.z[i] += h;
            p.zdot[i] += slopes.z * h;
        }
        Unknown::Lambda => p.lambda[i] += h,
        Unknown::Mu => p.mu[i] += h,
    }
    p
}
