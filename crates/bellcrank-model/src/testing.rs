//! What tests share: random states, pieces and their derivatives as dense arrays, a plain assembly.

use crate::dynamics::{Dynamics, Layout, Piece, Point, Slopes, Targets, Unknown};
use bellcrank_math::Vec3;

pub use bellcrank_math::random::Random;

/// A model file of `bodies` bodies that hang on each other at random by every kind of joint a tree may have, closed by
/// `loops` joints more; in the plane, or in space.
pub fn random_mechanism(random: &mut Random, bodies: usize, loops: usize, plane: bool) -> String {
    let point = |random: &mut Random| -> String {
        let n = if plane { 2 } else { 3 };
        let x: Vec<String> = (0..n).map(|_| format!("{}", random.number())).collect();
        format!("[{}]", x.join(", "))
    };
    let pick = |random: &mut Random, n: usize| ((random.number() + 1.0) * 0.5 * n as f64) as usize % n.max(1);
    let mut text = String::from(match plane {
        true => "model = { plane = \"xy\", gravity = [0.3, -9.81] }\n[body]\n",
        false => "model = { gravity = [0.3, -9.81, 0.7] }\n[body]\n",
    });
    for b in 0..bodies {
        let (at, v) = (point(random), point(random));
        let inertia = |random: &mut Random| 1.0 + 0.3 * random.number();
        let rest = match plane {
            true if pick(random, 4) == 0 => {
                let to = point(random);
                text += &format!(
                    "b{b} = {{ rod = {{ from = {at}, to = {to}, mass = 0.7 }}, coordinates = \"natural\" }}\n"
                );
                continue;
            }
            true => format!(
                "inertia = {}, angle = {}, angular_velocity = {}",
                inertia(random),
                random.number(),
                random.number()
            ),
            false => {
                let [x, y, z] = [0; 3].map(|_| inertia(random));
                let (axis, turn, w) = (point(random), random.number(), point(random));
                format!(
                    "inertia = [{x}, {y}, {z}], orientation = {{ axis = {axis}, angle = {turn} }}, angular_velocity = {w}"
                )
            }
        };
        text += &format!("b{b} = {{ mass = {}, at = {at}, velocity = {v}, {rest} }}\n", 1.5 + random.number());
    }
    text += "[joint]\n";
    let kinds =
        ["revolute", "prismatic", "spherical", "fixed", "revolute", "cylindrical", "universal", "planar", "screw"];
    for b in 0..bodies {
        let kind = kinds[pick(random, if plane { 5 } else { kinds.len() })];
        let carrier = match pick(random, b + 2) {
            0 => "ground".to_string(),
            k if k > b => continue, // a tree of its own, that moves freely
            k => format!("b{}", k - 1),
        };
        let mut names = [carrier, format!("b{b}")];
        if pick(random, 3) == 0 {
            names.reverse();
        }
        let at = point(random);
        let axis = point(random);
        let more = match kind {
            "screw" => format!(", axis = {axis}, pitch = 0.6"),
            "universal" => {
                let z = random.vec3();
                let x = z.any_perpendicular();
                let list = |v: Vec3| format!("[{}, {}, {}]", v[0], v[1], v[2]);
                format!(", axis = {}, axis2 = {}", list(z), list(x))
            }
            "spherical" | "fixed" => String::new(),
            "revolute" if plane => String::new(),
            _ => format!(", axis = {axis}"),
        };
        text += &format!(
            "j{b} = {{ type = \"{kind}\", between = [\"{}\", \"{}\"], at = {at}{more} }}\n",
            names[0], names[1]
        );
    }
    for l in 0..loops {
        let (first, second) = (pick(random, bodies), pick(random, bodies));
        let names = if first == second {
            ["ground".to_string(), format!("b{first}")]
        } else {
            [first, second].map(|b| format!("b{b}"))
        };
        let place = match pick(random, 3) {
            0 => format!("type = \"distance\", at = [{}, {}]", point(random), point(random)),
            1 => format!("type = \"point-on-line\", at = {}, axis = {}", point(random), point(random)),
            _ => format!("type = \"spherical\", at = {}", point(random)),
        };
        text += &format!("l{l} = {{ {place}, between = [\"{}\", \"{}\"] }}\n", names[0], names[1]);
    }
    text
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
