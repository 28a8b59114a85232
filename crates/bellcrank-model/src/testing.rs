//! What tests share: random states, pieces and their derivatives as dense arrays, a plain assembly.

use crate::dynamics::{Dynamics, Layout, Piece, Point, Slopes, Targets, Unknown};
use bellcrank_math::{Mat3, Quat, Vec3};

/// A small deterministic generator (splitmix64).
pub struct Random(u64);

impl Random {
    /// A generator with its seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number in [−1, 1).
    pub fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// `n` numbers in [−1, 1).
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.number()).collect()
    }

    /// A vector with components in [−1, 1).
    pub fn vec3(&mut self) -> Vec3 {
        Vec3([self.number(), self.number(), self.number()])
    }

    /// A rotation.
    pub fn rotation(&mut self) -> Mat3 {
        Quat::exp(self.vec3() * 3.0).matrix()
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
        s.retract(&mut p.q, &least_squares(&rows, &g));
    }
    residual
}
