//! Equations written by hand, in place of a compiled model.

use crate::dynamics::*;
use crate::model::Subject;

/// M(q) v̇ = f(t, q, v) − Gᵀλ, g(t, q) = 0, q̇ = v, with the derivatives Newton needs.
///
/// Matrices are dense, by rows, and come zeroed; what vanishes need not be written.
pub trait Equations: Send + Sync {
    /// Number of coordinates.
    fn coordinates(&self) -> usize;
    /// Number of constraints.
    fn constraints(&self) -> usize;
    /// M(q), n×n.
    fn mass(&self, q: &[f64], m: &mut [f64]);
    /// ∂(M a)/∂q, n×n, for given accelerations; zero where M is constant.
    fn mass_derivative(&self, _q: &[f64], _a: &[f64], _out: &mut [f64]) {}
    /// f(t, q, v).
    fn force(&self, t: f64, q: &[f64], v: &[f64], f: &mut [f64]);
    /// ∂f/∂q, n×n.
    fn force_q(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]);
    /// ∂f/∂v, n×n.
    fn force_v(&self, _t: f64, _q: &[f64], _v: &[f64], _out: &mut [f64]) {}
    /// g(t, q).
    fn constraint(&self, t: f64, q: &[f64], g: &mut [f64]);
    /// G = ∂g/∂q, m×n.
    fn jacobian(&self, t: f64, q: &[f64], out: &mut [f64]);
    /// ∂(G u)/∂q, m×n, for a given vector u.
    fn jacobian_derivative(&self, t: f64, q: &[f64], u: &[f64], out: &mut [f64]);
    /// ∂(Gᵀλ)/∂q, n×n, for given multipliers.
    fn multiplier_derivative(&self, t: f64, q: &[f64], lambda: &[f64], out: &mut [f64]);
    /// ∂g/∂t.
    fn constraint_t(&self, _t: f64, _q: &[f64], _out: &mut [f64]) {}
    /// ∂²g/∂t².
    fn constraint_tt(&self, _t: f64, _q: &[f64], _out: &mut [f64]) {}
    /// ∂G/∂t, m×n.
    fn jacobian_t(&self, _t: f64, _q: &[f64], _out: &mut [f64]) {}
    /// Potential energy, for the energy check of conservative problems.
    fn potential(&self, _t: f64, _q: &[f64]) -> Option<f64> {
        None
    }
    /// Names of the coordinates, for channels and messages.
    fn name(&self, i: usize) -> String {
        format!("q{}", i + 1)
    }
}

/// Hand-written [`Equations`] as [`Dynamics`]: one body block, one constraint block.
pub struct HandWritten<E> {
    equations: E,
    layout: Layout,
}

impl<E: Equations> HandWritten<E> {
    /// Wraps equations.
    pub fn new(equations: E) -> HandWritten<E> {
        let (n, m) = (equations.coordinates(), equations.constraints());
        // one range each: a vector of blocks with a single block
        let one = |n: usize| std::iter::once(0..n).collect::<Vec<_>>();
        let layout = Layout { bodies: one(n), constraints: one(m), rates: one(m), states: Vec::new() };
        HandWritten { equations, layout }
    }

    fn n(&self) -> usize {
        self.layout.n()
    }

    fn m(&self) -> usize {
        self.layout.m()
    }
}

/// Fills a zeroed scratch matrix and adds c times it to `out`.
fn add_filled(c: f64, size: usize, scratch: &mut [f64], out: &mut [f64], fill: impl FnOnce(&mut [f64])) {
    let scratch = &mut scratch[..size];
    scratch.fill(0.0);
    fill(scratch);
    out.iter_mut().zip(scratch).for_each(|(o, s)| *o += c * *s);
}

/// b ← A⁻¹ b by Gaussian elimination with row pivoting; A is used up. A singular A gives no finite b.
fn solve(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        if pivot != k {
            (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
            b.swap(k, pivot);
        }
        for i in k + 1..n {
            let l = a[i * n + k] / a[k * n + k];
            (k..n).for_each(|j| a[i * n + j] -= l * a[k * n + j]);
            b[i] -= l * b[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k * n + j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
}

/// out += c A x for a matrix by rows.
fn add_times(c: f64, a: &[f64], x: &[f64], out: &mut [f64]) {
    if !x.is_empty() {
        for (row, o) in a.chunks_exact(x.len()).zip(out) {
            *o += c * row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        }
    }
}

impl<E: Equations> HasLayout for HandWritten<E> {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl<E: Equations> Geometry for HandWritten<E> {}
impl<E: Equations> StartRules for HandWritten<E> {}
impl<E: Equations> Switching for HandWritten<E> {}
impl<E: Equations> TreeRecursion for HandWritten<E> {}
impl<E: Equations> MatrixHints for HandWritten<E> {}

impl<E: Equations> Observable for HandWritten<E> {
    fn subject(&self, of: Unknown, _block: usize) -> Subject {
        match of {
            Unknown::Q | Unknown::V | Unknown::Z => "the coordinates".into(),
            Unknown::Lambda | Unknown::Mu => "the constraints".into(),
        }
    }

    fn channels(&self) -> Vec<Channel> {
        let e = &self.equations;
        let each = |prefix: &str| -> Vec<Channel> {
            (0..self.n()).map(|i| Channel { name: format!("{prefix}{}", e.name(i)), unit: "" }).collect()
        };
        let lambda = (1..=self.m()).map(|j| Channel { name: format!("lambda{j}"), unit: "" });
        each("").into_iter().chain(each("d.")).chain(each("dd.")).chain(lambda).collect()
    }
}

impl<E: Equations> Dynamics for HandWritten<E> {
    fn workspace(&self) -> Workspace {
        let (n, m) = (self.n(), self.m());
        let scratch: Vec<f64> = vec![0.0; n * n.max(m).max(1)];
        Workspace::new(m * n, scratch)
    }

    fn realize(&self, at: &Point, w: &mut Workspace) {
        if !w.valid {
            w.jacobian.fill(0.0);
            self.equations.jacobian(at.t, &at.q, &mut w.jacobian);
            w.valid = true;
        }
    }

    fn add(&self, c: f64, piece: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let (n, m, e) = (self.n(), self.m(), &self.equations);
        let (scratch, g) = w.parts::<Vec<f64>>();
        let g = &*g;
        let add = |x: &[f64], out: &mut [f64]| out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x);
        let transposed = |l: &[f64], out: &mut [f64]| {
            for (row, l) in g.chunks_exact(n.max(1)).zip(l) {
                out.iter_mut().zip(row).for_each(|(o, g)| *o += c * g * l);
            }
        };
        match piece {
            Piece::Rate => add(&at.qdot, out),
            Piece::Speed => add(&at.v, out),
            Piece::GtMu => transposed(&at.mu, out),
            Piece::GtLambda => transposed(&at.lambda, out),
            Piece::MinvGtMu => {
                let mut load = vec![0.0; n];
                for (row, l) in g.chunks_exact(n.max(1)).zip(&at.mu) {
                    load.iter_mut().zip(row).for_each(|(o, g)| *o += g * l);
                }
                let mut mass = vec![0.0; n * n];
                e.mass(&at.q, &mut mass);
                solve(&mut mass, &mut load);
                add(&load, out);
            }
            Piece::MassAccel => {
                scratch[..n * n].fill(0.0);
                e.mass(&at.q, &mut scratch[..n * n]);
                add_times(c, &scratch[..n * n], &at.vdot, out);
            }
            Piece::Force => add_filled(c, n, scratch, out, |f| e.force(at.t, &at.q, &at.v, f)),
            Piece::Position => add_filled(c, m, scratch, out, |g| e.constraint(at.t, &at.q, g)),
            Piece::Velocity => {
                add_times(c, g, &at.v, out);
                add_filled(c, m, scratch, out, |g| e.constraint_t(at.t, &at.q, g));
            }
            Piece::Acceleration => {
                add_times(c, g, &at.vdot, out);
                add_filled(c, m, scratch, out, |g| e.constraint_tt(at.t, &at.q, g));
                scratch[..m * n].fill(0.0);
                e.jacobian_derivative(at.t, &at.q, &at.v, &mut scratch[..m * n]);
                add_times(c, &scratch[..m * n], &at.v, out);
                scratch[..m * n].fill(0.0);
                e.jacobian_t(at.t, &at.q, &mut scratch[..m * n]);
                add_times(2.0 * c, &scratch[..m * n], &at.v, out);
            }
            Piece::ZDot | Piece::Flow => {}
        }
    }

    fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        use Piece::*;
        let constrained = match (piece, wrt) {
            (Rate, Unknown::Q) | (Speed | MassAccel | Force, Unknown::V) | (Force | MassAccel, Unknown::Q) => false,
            (GtMu | MinvGtMu, Unknown::Q | Unknown::Mu) | (GtLambda, Unknown::Q | Unknown::Lambda) => true,
            (Position, Unknown::Q) | (Velocity | Acceleration, Unknown::Q | Unknown::V) => true,
            _ => return Vec::new(),
        };
        if constrained && self.m() == 0 { Vec::new() } else { vec![(0, 0)] }
    }

    fn add_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    ) {
        use Piece::*;
        let (n, m, e) = (self.n(), self.m(), &self.equations);
        if self.pattern(piece, wrt).is_empty() {
            return;
        }
        let (scratch, g) = w.parts::<Vec<f64>>();
        let g = &*g;
        let identity = |c: f64, out: &mut [f64]| (0..n).for_each(|i| out[i * n + i] += c);
        match (piece, wrt) {
            (Rate, Unknown::Q) => identity(c * slopes.q, out.block(n, n)),
            (Speed, Unknown::V) => identity(c, out.block(n, n)),
            (MassAccel, Unknown::V) => add_filled(c * slopes.v, n * n, scratch, out.block(n, n), |x| e.mass(&at.q, x)),
            (MassAccel, Unknown::Q) => {
                add_filled(c, n * n, scratch, out.block(n, n), |x| e.mass_derivative(&at.q, &at.vdot, x))
            }
            (Force, Unknown::Q) => add_filled(c, n * n, scratch, out.block(n, n), |x| e.force_q(at.t, &at.q, &at.v, x)),
            (Force, Unknown::V) => add_filled(c, n * n, scratch, out.block(n, n), |x| e.force_v(at.t, &at.q, &at.v, x)),
            (GtMu | MinvGtMu | GtLambda, Unknown::Q) => {
                let l = if piece == GtLambda { &at.lambda } else { &at.mu };
                let block = out.block(n, n);
                scratch[..n * n].fill(0.0);
                e.multiplier_derivative(at.t, &at.q, l, &mut scratch[..n * n]);
                self.add_maybe_divided(c, piece, at, n, &mut scratch[..n * n], block);
            }
            (GtMu | MinvGtMu, Unknown::Mu) | (GtLambda, Unknown::Lambda) => {
                let block = out.block(n, m);
                for i in 0..n {
                    (0..m).for_each(|j| scratch[i * m + j] = g[j * n + i]);
                }
                self.add_maybe_divided(c, piece, at, m, &mut scratch[..n * m], block);
            }
            (Position, _) | (Velocity, Unknown::V) => {
                out.block(m, n).iter_mut().zip(g).for_each(|(o, g)| *o += c * g);
            }
            (Velocity, _) => {
                let block = out.block(m, n);
                add_filled(c, m * n, scratch, block, |x| e.jacobian_derivative(at.t, &at.q, &at.v, x));
                add_filled(c, m * n, scratch, block, |x| e.jacobian_t(at.t, &at.q, x));
            }
            // ∂((G v)_q v)/∂q is left out, as in compiled models
            (Acceleration, Unknown::Q) => {
                let block = out.block(m, n);
                add_filled(c, m * n, scratch, block, |x| e.jacobian_derivative(at.t, &at.q, &at.vdot, x));
            }
            (Acceleration, _) => {
                let block = out.block(m, n);
                block.iter_mut().zip(g).for_each(|(o, g)| *o += c * slopes.v * g);
                add_filled(2.0 * c, m * n, scratch, block, |x| e.jacobian_derivative(at.t, &at.q, &at.v, x));
                add_filled(2.0 * c, m * n, scratch, block, |x| e.jacobian_t(at.t, &at.q, x));
            }
            _ => {}
        }
    }

    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy {
        let n = self.n();
        let mut momentum = vec![0.0; n];
        let mass = &mut w.cache_mut::<Vec<f64>>()[..n * n];
        mass.fill(0.0);
        self.equations.mass(&at.q, mass);
        add_times(1.0, mass, &at.v, &mut momentum);
        let kinetic = 0.5 * momentum.iter().zip(&at.v).map(|(p, v)| p * v).sum::<f64>();
        match self.equations.potential(at.t, &at.q) {
            Some(stored) => Energy { kinetic, stored, power: 0.0 },
            // without a potential every force is counted as power
            None => {
                let mut f = vec![0.0; n];
                self.equations.force(at.t, &at.q, &at.v, &mut f);
                Energy { kinetic, stored: 0.0, power: f.iter().zip(&at.v).map(|(f, v)| f * v).sum() }
            }
        }
    }
}

impl<E: Equations> HandWritten<E> {
    /// block += c X, or c M⁻¹X for the pieces with M⁻¹.
    fn add_maybe_divided(&self, c: f64, piece: Piece, at: &Point, columns: usize, x: &mut [f64], block: &mut [f64]) {
        let n = self.n();
        if piece == Piece::MinvGtMu {
            let mut column = vec![0.0; n];
            for j in 0..columns {
                let mut mass = vec![0.0; n * n];
                self.equations.mass(&at.q, &mut mass);
                (0..n).for_each(|i| column[i] = x[i * columns + j]);
                solve(&mut mass, &mut column);
                (0..n).for_each(|i| x[i * columns + j] = column[i]);
            }
        }
        block.iter_mut().zip(x).for_each(|(o, x)| *o += c * *x);
    }
}
