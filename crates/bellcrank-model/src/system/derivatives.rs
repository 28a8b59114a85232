//! The derivatives of the pieces, block by block: which blocks there are, and their values in the same order.

use super::constraints::FEW;
use super::*;
use crate::forces::StateSlopes;
use bellcrank_math::{Vec3, rotation};

/// A realized point.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub point: &'a Point,
    pub w: &'a Realized<'a>,
}

/// Which constraints have rows of a kind.
#[derive(Clone, Copy, PartialEq)]
enum RowKind {
    All,
    Holonomic,
    Nonholonomic,
}

impl RowKind {
    fn has(self, c: &Constraint) -> bool {
        match self {
            RowKind::All => true,
            RowKind::Holonomic => c.holonomic,
            RowKind::Nonholonomic => !c.holonomic,
        }
    }
}

/// Adds a matrix that is computed column by column to a block by rows.
fn add_by_columns(block: &mut [f64], rows: usize, columns: usize, column: impl FnMut(usize, &mut [f64])) {
    match rows {
        ..=FEW => add_columns_within::<FEW>(block, rows, columns, column),
        _ => add_columns_within::<MAX_WIDTH>(block, rows, columns, column),
    }
}

fn add_columns_within<const MOST: usize>(
    block: &mut [f64],
    rows: usize,
    columns: usize,
    mut column: impl FnMut(usize, &mut [f64]),
) {
    for j in 0..columns {
        let mut x = [0.0; MOST];
        column(j, &mut x[..rows]);
        (0..rows).for_each(|i| block[i * columns + j] += x[i]);
    }
}

/// Adds c I to a square block.
fn add_identity(c: f64, n: usize, block: &mut [f64]) {
    (0..n).for_each(|i| block[i * n + i] += c);
}

/// What is differentiated: the pattern of blocks.
impl System {
    /// The (row, column) pairs of ∂piece/∂unknown in the order of emission.
    pub(super) fn derivative_pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        let mut pattern = self.pattern_without_signals(piece, wrt);
        pattern.extend(self.signal_pattern(piece, wrt));
        pattern
    }

    fn pattern_without_signals(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        use Piece::*;
        match (piece, wrt) {
            (Rate, Unknown::Q) | (Speed, Unknown::V) | (MassAccel, Unknown::V) => {
                diagonal(0..self.bodies.len()).collect()
            }
            (MassAccel, Unknown::Q) => diagonal(self.varying()).collect(),
            (GtMu, Unknown::Q) => self.stiffness_pattern(RowKind::Holonomic).collect(),
            (MinvGtMu, Unknown::Q) => {
                diagonal(self.varying()).chain(self.stiffness_pattern(RowKind::Holonomic)).collect()
            }
            (GtLambda, Unknown::Q) => self.stiffness_pattern(RowKind::All).collect(),
            (GtMu | MinvGtMu, Unknown::Mu) => self.gradient_pattern(RowKind::Holonomic).map(swapped).collect(),
            (GtLambda, Unknown::Lambda) => self.gradient_pattern(RowKind::All).map(swapped).collect(),
            (Position, Unknown::Q) => self.gradient_pattern(RowKind::All).collect(),
            (Position, Unknown::V) => self.gradient_pattern(RowKind::Nonholonomic).collect(),
            (Velocity, Unknown::Q | Unknown::V) => self.gradient_pattern(RowKind::Holonomic).collect(),
            (Acceleration, Unknown::Q | Unknown::V) => self.gradient_pattern(RowKind::All).collect(),
            (Force, Unknown::Q) => {
                diagonal(self.varying()).chain(self.forces.iter().flat_map(|f| pairs_of(&f.ends))).collect()
            }
            (Force, Unknown::V) => {
                let damped = self.forces.iter().filter(|f| f.force.damped());
                diagonal(self.with_inner()).chain(damped.flat_map(|f| pairs_of(&f.ends))).collect()
            }
            (Force, Unknown::Lambda) => {
                self.following_pairs().map(|(body, block, _, _)| (body, block as u32)).collect()
            }
            (ZDot | Flow, Unknown::Z) => diagonal(0..self.layout.states.len()).collect(),
            (Flow, Unknown::Q | Unknown::V) => self.state_pairs().collect(),
            (Force, Unknown::Z) => self.state_pairs().map(swapped).collect(),
            _ => Vec::new(),
        }
    }

    /// The blocks of G: (constraint, body).
    fn gradient_pattern(&self, rows: RowKind) -> impl Iterator<Item = (u32, u32)> + '_ {
        let chosen = self.constraints.iter().enumerate().filter(move |(_, c)| rows.has(c));
        chosen.flat_map(|(k, c)| c.touching().map(move |(_, end)| (k as u32, end.body)))
    }

    /// The blocks of (Gᵀλ)_q: (body, body).
    fn stiffness_pattern(&self, rows: RowKind) -> impl Iterator<Item = (u32, u32)> + '_ {
        let chosen = self.constraints.iter().filter(move |c| rows.has(c));
        chosen.flat_map(|c| c.bent_pairs().map(|(i, j)| (c.ends[i].body, c.ends[j].body)))
    }

    /// The blocks of states with the bodies that their forces act on.
    fn state_pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.stateful().flat_map(|(f, _)| f.ends.iter().filter(|e| e.body != GROUND).map(|e| (f.states, e.body)))
    }

    /// The ends of loads that follow multipliers: body, constraint block, force and number of the end.
    fn following_pairs(&self) -> impl Iterator<Item = (u32, usize, &PlacedForce, usize)> {
        self.following().flat_map(|(f, block)| {
            let ends = f.ends.iter().enumerate().filter(|(_, end)| end.body != GROUND);
            ends.map(move |(i, end)| (end.body, block, f, i))
        })
    }

    /// The bodies whose mass depends on their coordinates.
    fn varying(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.bodies.len()).filter(|&b| each!(&self.bodies[b], body => body.varies()))
    }

    /// The bodies with inner forces.
    fn with_inner(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.bodies.len()).filter(|&b| each!(&self.bodies[b], body => body.has_inner()))
    }
}

fn diagonal(blocks: impl Iterator<Item = usize>) -> impl Iterator<Item = (u32, u32)> {
    blocks.map(|b| (b as u32, b as u32))
}

fn swapped((a, b): (u32, u32)) -> (u32, u32) {
    (b, a)
}

fn pairs_of(ends: &[SystemEnd]) -> impl Iterator<Item = (u32, u32)> + '_ {
    pairs(ends).map(|(i, j)| (ends[i].body, ends[j].body))
}

/// The values of the blocks.
impl System {
    /// `out += c · ∂piece/∂unknown`.
    pub(super) fn add_piece_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &At,
        scratch: &mut Vec<f64>,
        out: &mut Targets,
    ) {
        use Piece::*;
        match (piece, wrt) {
            (Rate, Unknown::Q) => self.rate_by_q(c, slopes.q, at.point, out),
            (Speed, Unknown::V) => {
                self.layout.bodies.iter().for_each(|r| add_identity(c, r.len(), out.block(r.len(), r.len())))
            }
            (MassAccel, Unknown::V) => self.mass_by_v(c * slopes.v, at, out),
            (MassAccel, Unknown::Q) => self.mass_by_q(c, at, out),
            (GtMu | GtLambda, Unknown::Q) => self.reaction_by_q(c, piece == GtLambda, at, out),
            (MinvGtMu, Unknown::Q) => self.projection_by_q(c, at, scratch, out),
            (GtMu, Unknown::Mu) => self.emit_transposed(c, false, at.w, out),
            (GtLambda, Unknown::Lambda) => self.emit_transposed(c, true, at.w, out),
            (MinvGtMu, Unknown::Mu) => self.projection_by_mu(c, at, out),
            (Force, Unknown::Q) => self.add_force_derivatives(Some(c), None, at, out),
            (Force, Unknown::V) => self.add_force_derivatives(None, Some(c), at, out),
            (Force, Unknown::Lambda) => self.following_pairs().for_each(|(body, block, f, i)| {
                let frames = self.frames(&f.ends, at.w, Some(&at.point.v));
                let of = f.force.following(&self.seen(f, at.point, &frames, at.w));
                let (n, m) = (self.width(body), self.constraints[block].rows);
                add_by_columns(out.block(n, m), n, m, |k, column| {
                    self.pull(&f.ends[i], at.w, of.load[i], c * of.slopes[k], column)
                });
            }),
            (Force, Unknown::Z) | (Flow, Unknown::Q | Unknown::V | Unknown::Z) => {
                self.add_state_derivative(c, piece, wrt, at, out)
            }
            (Position, Unknown::Q) if self.gradients.holonomic => self.emit_all(c, at.w, out),
            (Position | Velocity, Unknown::Q | Unknown::V) => self.constraint_derivative(c, piece, wrt, at, out),
            // ∂((G v)_q v)/∂q is left out: it is small against G v̇ while steps resolve the motion
            (Acceleration, Unknown::Q) => {
                self.constraints.iter().for_each(|k| self.emit_drift(c, k, &at.point.vdot, at, out))
            }
            (Acceleration, Unknown::V) => self.acceleration_by_v(c, slopes.v, at, out),
            (ZDot, Unknown::Z) => {
                self.layout.states.iter().for_each(|r| add_identity(c * slopes.z, r.len(), out.block(r.len(), r.len())))
            }
            _ => {}
        }
        if matches!((piece, wrt), (Force | Flow, Unknown::Q | Unknown::V | Unknown::Z)) {
            self.add_signal_derivative(c, piece, wrt, at, out);
        }
    }

    /// ∂(T q̇)/∂q, with q̇ = slope · q + ….
    fn rate_by_q(&self, c: f64, slope: f64, at: &Point, out: &mut Targets) {
        for (body, range) in self.bodies.iter().zip(&self.layout.bodies) {
            let n = range.len();
            let block = out.block(n, n);
            add_identity(c * slope, n, block);
            if let Some(k) = each!(body, body => body.chart()) {
                let i = range.start + k;
                let (phi, rate) = (Vec3::from_slice(&at.q[i..i + 3]), Vec3::from_slice(&at.qdot[i..i + 3]));
                let turn = rotation::tangent_derivative(phi, rate) * rotation::inverse_tangent(phi);
                for r in 0..3 {
                    let row = &mut block[(k + r) * n + k..(k + r) * n + k + 3];
                    row.iter_mut().zip(turn.0[r]).for_each(|(o, x)| *o += c * x);
                }
            }
        }
    }

    /// c M.
    fn mass_by_v(&self, c: f64, at: &At, out: &mut Targets) {
        let (fresh, bodies) = (out.fresh, at.w.bodies);
        out.each_row(
            self.bodies.len(),
            |b| b,
            |b, out| {
                let n = self.width(b as u32);
                let (frame, block) = (&bodies[b], out.block(n, n));
                each!(&self.bodies[b], body => if fresh {
                    body.set_mass(frame, c, block)
                } else {
                    body.add_mass(frame, c, block)
                })
            },
        )
    }

    /// ∂(M v̇)/∂q of the bodies whose mass varies.
    fn mass_by_q(&self, c: f64, at: &At, out: &mut Targets) {
        for b in self.varying() {
            let range = self.layout.bodies[b].clone();
            let block = out.block(range.len(), range.len());
            each!(&self.bodies[b], body => body.mass_stiffness(&at.w.bodies[b], &at.point.vdot[range], c, block));
        }
    }

    /// (Gᵀλ)_q, or (Gᵀμ)_q of the holonomic constraints.
    fn reaction_by_q(&self, c: f64, reactions: bool, at: &At, out: &mut Targets) {
        let (multipliers, ranges) =
            if reactions { (&at.point.lambda, &self.layout.constraints) } else { (&at.point.mu, &self.layout.rates) };
        for (constraint, range) in self.constraints.iter().zip(ranges).filter(|(_, r)| !r.is_empty()) {
            let mut ends = constraint.bent_pairs();
            self.add_multiplier_stiffness(c, constraint, &multipliers[range.clone()], at, |_, fill| {
                let (i, j) = ends.next().unwrap_or((0, 0));
                fill(out.block(self.width(constraint.ends[i].body), self.width(constraint.ends[j].body)));
            });
        }
    }

    /// ∂(M⁻¹Gᵀμ)/∂q.
    fn projection_by_q(&self, c: f64, at: &At, scratch: &mut Vec<f64>, out: &mut Targets) {
        if self.varying().next().is_some() {
            self.add_projection_by_mass(c, at, scratch, out);
        }
        for (constraint, range) in self.constraints.iter().zip(&self.layout.rates).filter(|(_, r)| !r.is_empty()) {
            let mut ends = constraint.bent_pairs();
            self.add_multiplier_stiffness(c, constraint, &at.point.mu[range.clone()], at, |body, fill| {
                let (i, j) = ends.next().unwrap_or((0, 0));
                let rows = self.width(constraint.ends[i].body);
                let columns = self.width(constraint.ends[j].body);
                scratch.clear();
                scratch.resize(rows * columns, 0.0);
                fill(scratch);
                add_by_columns(out.block(rows, columns), rows, columns, |j, column| {
                    (0..rows).for_each(|i| column[i] = scratch[i * columns + j]);
                    each!(&self.bodies[body], b => b.divide_by_mass(&at.w.bodies[body], column));
                });
            });
        }
    }

    /// −M⁻¹ ∂(M y)/∂q with y = M⁻¹Gᵀμ: what the mass of flexible bodies adds to ∂y/∂q.
    fn add_projection_by_mass(&self, c: f64, at: &At, x: &mut Vec<f64>, out: &mut Targets) {
        self.projected_multipliers(at.point, at.w, x);
        let n = x.len();
        for b in self.varying() {
            let range = self.layout.bodies[b].clone();
            let width = range.len();
            x.resize(n + width * width, 0.0);
            let (y, by) = x.split_at_mut(n);
            by.fill(0.0);
            each!(&self.bodies[b], body => {
                body.mass_stiffness(&at.w.bodies[b], &y[range], -c, by);
                add_by_columns(out.block(width, width), width, width, |j, column| {
                    (0..width).for_each(|i| column[i] = by[i * width + j]);
                    body.divide_by_mass(&at.w.bodies[b], column);
                });
            });
            x.truncate(n);
        }
    }

    /// c M⁻¹Gᵀ of the holonomic constraints.
    fn projection_by_mu(&self, c: f64, at: &At, out: &mut Targets) {
        for constraint in self.constraints.iter().filter(|k| k.holonomic) {
            for (_, end) in constraint.touching() {
                let (n, m) = (self.width(end.body), constraint.rows);
                let g = &at.w.jacobian[end.jacobian as usize..end.jacobian as usize + m * n];
                let b = end.body as usize;
                add_by_columns(out.block(n, m), n, m, |j, column| {
                    column.iter_mut().zip(&g[j * n..]).for_each(|(o, g)| *o = c * g);
                    each!(&self.bodies[b], body => body.divide_by_mass(&at.w.bodies[b], column));
                });
            }
        }
    }

    /// ∂/∂q and ∂/∂v of the position or velocity rows.
    fn constraint_derivative(&self, c: f64, piece: Piece, wrt: Unknown, at: &At, out: &mut Targets) {
        for constraint in &self.constraints {
            // a nonholonomic constraint has its velocity row among the position rows
            let velocity_row = (piece == Piece::Velocity) == constraint.holonomic;
            match (piece, wrt, constraint.holonomic) {
                (Piece::Position, Unknown::V, true) | (Piece::Velocity, _, false) => continue,
                (_, Unknown::Q, _) if velocity_row => self.emit_drift(c, constraint, &at.point.v, at, out),
                _ => self.emit_jacobian(c, constraint, at, out),
            }
        }
    }

    /// ∂g̈/∂v, with v̇ = slope · v + ….
    fn acceleration_by_v(&self, c: f64, slope: f64, at: &At, out: &mut Targets) {
        for constraint in &self.constraints {
            let before = out.mark();
            self.emit_jacobian(c * slope, constraint, at, out);
            out.back_to(before);
            self.emit_drift(2.0 * c, constraint, &at.point.v, at, out);
        }
    }

    /// Emits c G of one constraint.
    fn emit_jacobian(&self, c: f64, constraint: &Constraint, at: &At, out: &mut Targets) {
        for (_, end) in constraint.touching() {
            let n = self.width(end.body);
            let g = &at.w.jacobian[end.jacobian as usize..];
            out.block(constraint.rows, n).iter_mut().zip(g).for_each(|(o, g)| *o += c * g);
        }
    }

    /// Emits c (G u)_q of one constraint.
    fn emit_drift(&self, c: f64, constraint: &Constraint, u: &[f64], at: &At, out: &mut Targets) {
        let drift = self.drift(constraint, at.point, at.w, u);
        for (k, end) in constraint.touching() {
            let n = self.width(end.body);
            for (r, row) in out.block(constraint.rows, n).chunks_exact_mut(n).enumerate() {
                self.add_drift(c, constraint, &drift, (r, k), u, at.w, row);
            }
        }
    }

    /// ∂f/∂q and ∂f/∂v as far as they are asked for, in one pass over the forces: c_q ∂f/∂q, then c_v ∂f/∂v, whose blocks follow.
    ///
    /// By q: inner forces and weights of bodies that vary, then the forces of the catalog. By v: inner forces of the bodies, then
    /// damped forces.
    pub(super) fn add_force_derivatives(&self, by_q: Option<f64>, by_v: Option<f64>, at: &At, out: &mut Targets) {
        let (v, w) = (&at.point.v, at.w);
        if let Some(c) = by_q {
            for b in self.varying() {
                let (range, frame) = (self.layout.bodies[b].clone(), &w.bodies[b]);
                let block = out.block(range.len(), range.len());
                each!(&self.bodies[b], body => {
                    body.add_inner_stiffness(frame, c, &v[range], block);
                    body.weight_stiffness(frame, self.model.gravity, c, block);
                });
            }
        }
        let mut place_q = out.mark();
        if let Some(c) = by_v {
            if by_q.is_some() {
                out.back_to(place_q + self.forces.iter().map(|f| pairs(&f.ends).count()).sum::<usize>());
            }
            for b in self.with_inner() {
                let range = self.layout.bodies[b].clone();
                let block = out.block(range.len(), range.len());
                each!(&self.bodies[b], body => body.add_inner_damping(&w.bodies[b], c, &v[range], block));
            }
        }
        let mut place_v = out.mark();
        let (mut k, mut d) = (Stiffness::default(), Stiffness::default());
        for f in self.forces.iter().filter(|f| by_q.is_some() || f.force.damped()) {
            let frames = self.frames(&f.ends, w, Some(v));
            let seen = self.seen(f, at.point, &frames, w);
            k.clear();
            d.clear();
            f.force.stiffness(&seen, &mut k, &mut d);
            if let Some(c) = by_q {
                out.back_to(place_q);
                let mut loads = [Covector::default(); MAX_ENDS];
                f.force.load(&seen, &mut loads[..f.ends.len()]);
                for (i, j) in pairs(&f.ends) {
                    let block = out.block(self.width(f.ends[i].body), self.width(f.ends[j].body));
                    self.add_pair(c, &f.ends, (i, j), &k, Some((&d, v)), w, block);
                    if i == j {
                        let b = f.ends[i].body as usize;
                        each!(&self.bodies[b], body => {
                            body.load_stiffness(&w.bodies[b], &f.ends[i].on, loads[i], c, block)
                        });
                    }
                }
                place_q = out.mark();
            }
            if let Some(c) = by_v.filter(|_| f.force.damped()) {
                out.back_to(place_v);
                for (i, j) in pairs(&f.ends) {
                    let block = out.block(self.width(f.ends[i].body), self.width(f.ends[j].body));
                    self.add_pair(c, &f.ends, (i, j), &d, None, w, block);
                }
                place_v = out.mark();
            }
        }
        out.back_to(if by_v.is_some() { place_v } else { place_q });
    }

    /// ∂φ/∂unknown and ∂f/∂z.
    fn add_state_derivative(&self, c: f64, piece: Piece, wrt: Unknown, at: &At, out: &mut Targets) {
        let (v, w) = (&at.point.v, at.w);
        for (f, range) in self.stateful() {
            let n = range.len();
            let frames = self.frames(&f.ends, w, Some(v));
            let mut slopes = StateSlopes::default();
            f.force.state_slopes(&self.seen(f, at.point, &frames, w), &mut slopes);
            if (piece, wrt) == (Piece::Flow, Unknown::Z) {
                for (row, block) in slopes.flow_by_state.iter().zip(out.block(n, n).chunks_exact_mut(n)) {
                    block.iter_mut().zip(row).for_each(|(o, x)| *o += c * x);
                }
                continue;
            }
            for (k, end) in f.ends.iter().enumerate().filter(|(_, e)| e.body != GROUND) {
                let b = end.body as usize;
                let (body, frame, coordinates) = (&self.bodies[b], &w.bodies[b], self.layout.bodies[b].clone());
                let width = coordinates.len();
                if piece == Piece::Force {
                    add_by_columns(out.block(width, n), width, n, |j, column| {
                        self.pull(end, w, slopes.load_by_state[j][k], c, column)
                    });
                    continue;
                }
                for (i, row) in out.block(n, width).chunks_exact_mut(width).enumerate() {
                    let by_twist = slopes.flow_by_twist[i][k];
                    each!(body, body => if wrt == Unknown::V {
                        body.pull(frame, &end.on, by_twist, c, row);
                    } else {
                        body.pull(frame, &end.on, slopes.flow_by_displacement[i][k], c, row);
                        body.twist_stiffness(frame, &end.on, &v[coordinates.clone()], by_twist, c, row);
                    });
                }
            }
        }
        // the diagonal of the user's states is that of their signals
        if (piece, wrt) == (Piece::Flow, Unknown::Z) {
            self.model.states.iter().for_each(|_| _ = out.block(1, 1));
        }
    }
}
