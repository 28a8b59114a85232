//! Derivatives in relative coordinates, column by column, exact where those of the Cartesian pieces are.
//!
//! A displacement along a joint coordinate with the twist s moves all that the joint carries as one rigid body. With V₊
//! and A₊ the motion before the joint, twists and spatial accelerations beyond it change by
//!
//! ```text
//!     ∂V/∂q = s × (V − V₊)        ∂A/∂q = s × (A − A₊) + (V₊ × s) × (V − V₊)
//!     ∂V/∂u = s                   ∂A/∂u = s × (V − V₊) + V × s
//! ```
//!
//! and the joint motions it carries by s × s' [Singh, Russell & Wensing 2022]. The Cartesian derivatives give what
//! forces and equations make of that, Jᵀ collects it. A column costs O(n), as much as it is long in a chain.
//!
//! A modal coordinate moves its own frame and every branch that stands on a station each as a rigid body: see `moved.rs`.
//!
//! Two things are left out, which Newton's iteration does not need: ∂(M⁻¹Gᵀμ)/∂q, for μ vanishes with the step size,
//! and what the Cartesian ∂g̈/∂q leaves out.

use super::kinematics::{Twist, Wrench, velocities, wrench};
use super::moved::{Moved, StepsOf};
use super::patterns::{Depends, InnerBlocks, OuterPairs, on_bodies};
use super::sweeps::add_modal;
use super::tree::NONE;
use super::{Relative, TreeSpace};
use crate::bodies::{BodyFrame, Coordinates, each};
use crate::dynamics::*;
use crate::frames::MAX_WIDTH;
use bellcrank_math::{Vec3, rotation};
use std::ops::Range;

/// Scratch of derivatives.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    by_q: Vec<f64>,
    by_v: Vec<f64>,
    by_a: Vec<f64>,
    by_m: Vec<f64>,
    rows: Vec<f64>,
    column: Vec<f64>,
    carried: Vec<Wrench>,
    moved: Vec<Moved>,
}

/// A derivative by coordinates or velocities: what all its columns share.
struct ByMotion<'a> {
    piece: Piece,
    /// By coordinates rather than by velocities.
    moves: bool,
    depends: Depends,
    /// ∂v̇/∂v.
    slope: f64,
    on_bodies: bool,
    /// The piece whose dependence on v̇ stands for this one's.
    accelerates: Piece,
    by_q: &'a InnerBlocks,
    by_v: &'a InnerBlocks,
    by_a: &'a InnerBlocks,
    /// Of masses that vary.
    by_m: &'a InnerBlocks,
    /// The rows of the Cartesian piece.
    rows: &'a [Range<usize>],
}

impl<'a> ByMotion<'a> {
    fn new(of: &'a Relative, piece: Piece, wrt: Unknown, slope: f64) -> ByMotion<'a> {
        let on_bodies = on_bodies(piece);
        let accelerates = if piece == Piece::Acceleration { piece } else { Piece::MassAccel };
        ByMotion {
            piece,
            moves: wrt == Unknown::Q,
            depends: Depends::of(piece),
            slope,
            on_bodies,
            accelerates,
            by_q: of.inner(piece, Unknown::Q),
            by_v: of.inner(piece, Unknown::V),
            by_a: of.inner(accelerates, Unknown::V),
            by_m: of.inner(Piece::MassAccel, Unknown::Q),
            rows: if on_bodies { &of.cartesian.layout().bodies } else { of.layout.rows(piece) },
        }
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

impl Relative {
    pub(super) fn differentiate(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        t: &mut TreeSpace,
        out: &mut Targets,
    ) {
        use Piece::*;
        if out.offsets.is_empty() {
            return;
        }
        match (piece, wrt) {
            (Rate, Unknown::Q) | (Speed, Unknown::V) => {
                let d = if piece == Rate { c * slopes.q } else { c };
                for (b, range) in self.layout.bodies.iter().enumerate() {
                    let n = range.len();
                    let from = out.offsets[b] as usize;
                    (0..n).for_each(|i| out.values[from + i * n + i] += d);
                }
                if piece == Rate {
                    for i in self.charts() {
                        let b = self.layout.bodies.partition_point(|r| r.end <= i);
                        let (n, k) = (self.layout.bodies[b].len(), i - self.layout.bodies[b].start);
                        let (phi, rate) = (Vec3::from_slice(&at.q[i..i + 3]), Vec3::from_slice(&at.qdot[i..i + 3]));
                        let turn = rotation::tangent_derivative(phi, rate) * rotation::inverse_tangent(phi);
                        for r in 0..3 {
                            let from = out.offsets[b] as usize + (k + r) * n + k;
                            out.values[from..from + 3].iter_mut().zip(turn.0[r]).for_each(|(o, x)| *o += c * x);
                        }
                    }
                }
            }
            (ZDot | Flow, Unknown::Z) => {
                t.point.zdot.clone_from(&at.zdot);
                self.cartesian.add_derivative(c, piece, wrt, slopes, &t.point, &mut t.cartesian, out);
            }
            (MinvGtMu, Unknown::Q) => {}
            (MassAccel, Unknown::V) => self.by_composites(c * slopes.v, t, out),
            (_, Unknown::Q | Unknown::V) => self.by_motion(c, piece, wrt, slopes, at, t, out),
            _ => self.by_multiplier(c, piece, wrt, t, out),
        }
    }

    /// Adds a column of a derivative to its blocks.
    fn scatter(
        &self,
        c: f64,
        outer: &OuterPairs,
        block: usize,
        j: usize,
        width: usize,
        rows: &[Range<usize>],
        x: &[f64],
        out: &mut Targets,
    ) {
        for k in outer.first[block] as usize..outer.first[block + 1] as usize {
            let range = rows[outer.pairs[k].0 as usize].clone();
            let from = out.offsets[k] as usize;
            for (i, x) in x[range].iter().enumerate() {
                out.values[from + i * width + j] += c * x;
            }
        }
    }

    /// What is rounding of numbers up to `size`, times lengths of the model, is none: an equation that the tree fulfils
    /// by itself (the sixth joint of a planar loop in space) has the gradient zero, and is seen to be redundant.
    fn drop_noise(&self, size: f64, x: &mut [f64]) {
        let floor = 1e-13 * size * (1.0 + self.cartesian.length());
        x.iter_mut().filter(|x| x.abs() < floor).for_each(|x| *x = 0.0);
    }

    /// ∂/∂λ, ∂/∂μ and ∂/∂z of forces.
    fn by_multiplier(&self, c: f64, piece: Piece, wrt: Unknown, t: &mut TreeSpace, out: &mut Targets) {
        let from = if piece == Piece::MinvGtMu { Piece::GtMu } else { piece };
        let (inner, outer) = (self.inner(from, wrt), self.outer(piece, wrt));
        let mut s = std::mem::take(&mut t.columns);
        s.by_v.clear();
        s.by_v.resize(inner.size, 0.0);
        let mut targets = Targets::new(&mut s.by_v, &inner.offsets);
        self.cartesian.add_derivative(1.0, from, wrt, Slopes::default(), &t.point, &mut t.cartesian, &mut targets);
        s.column.clear();
        s.column.resize(self.tree.n, 0.0);
        let mut y = std::mem::take(&mut t.y);
        let bodies = &self.cartesian.layout().bodies;
        for (block, range) in self.cartesian.layout().columns(wrt).iter().enumerate() {
            let width = range.len();
            if outer.first[block] == outer.first[block + 1] {
                continue;
            }
            for j in 0..width {
                y.fill(0.0);
                s.column.fill(0.0);
                for (b, o) in inner.column(block) {
                    for (i, y) in y[bodies[b].clone()].iter_mut().enumerate() {
                        *y += s.by_v[o + i * width + j];
                    }
                }
                self.pull(1.0, &y, t, &mut s.column);
                self.drop_noise(largest(&y), &mut s.column);
                if piece == Piece::MinvGtMu {
                    let _ = self.divide_by_mass(t, &mut s.column);
                }
                self.scatter(c, outer, block, j, width, &self.layout.bodies, &s.column, out);
            }
        }
        (t.y, t.columns) = (y, s);
    }

    /// c M.
    fn by_composites(&self, c: f64, t: &mut TreeSpace, out: &mut Targets) {
        let outer = self.outer(Piece::MassAccel, Unknown::V);
        let (mut last, mut at) = ((usize::MAX, usize::MAX), 0);
        let bodies = &self.layout.bodies;
        let block = |k: usize| bodies.partition_point(|r| r.end <= k);
        let (mut known, mut known_block) = ([usize::MAX; 2], [0; 2]);
        let mut add = |i: usize, j: usize, x: f64| {
            for (k, scalar) in [i, j].into_iter().enumerate() {
                if known[k] != scalar {
                    (known[k], known_block[k]) = (scalar, block(scalar));
                }
            }
            let [row, column] = known_block;
            if last != (row, column) {
                let first = outer.first[column] as usize;
                let pairs = &outer.pairs[first..outer.first[column + 1] as usize];
                at = out.offsets[first + pairs.partition_point(|p| (p.0 as usize) < row)] as usize;
                last = (row, column);
            }
            let (r, w) = (i - bodies[row].start, bodies[column].len());
            out.values[at + r * w + j - bodies[column].start] += c * x;
        };
        self.crba(t, &mut add);
        for node in self.tree.nodes.iter().filter(|n| n.is_cartesian) {
            let body = &self.cartesian.model.bodies[node.body].body;
            let n = node.columns.len();
            for j in 0..n {
                let (mut unit, mut column) = ([0.0; MAX_WIDTH], [0.0; MAX_WIDTH]);
                unit[j] = 1.0;
                each!(body, b => b.add_mass_times(&BodyFrame::default(), 1.0, &unit[..n], &mut column[..n]));
                (0..n).for_each(|i| add(node.columns.start + i, node.columns.start + j, column[i]));
            }
        }
    }

    /// ∂/∂q and ∂/∂v.
    fn by_motion(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        t: &mut TreeSpace,
        out: &mut Targets,
    ) {
        let of = ByMotion::new(self, piece, wrt, slopes.v);
        let outer = self.outer(piece, wrt);
        let mut s = std::mem::take(&mut t.columns);
        self.cartesian_derivatives(&of, at, t, &mut s);
        for (i, node) in self.tree.nodes.iter().enumerate().filter(|(_, n)| n.block != NONE) {
            let block = node.block as usize;
            let width = node.columns.len();
            if outer.first[block] == outer.first[block + 1] {
                continue;
            }
            let mut steps = StepsOf::new(i, node);
            for (j, k) in node.columns.clone().enumerate() {
                let mut moved = std::mem::take(&mut s.moved);
                self.find_moved(i, k, of.moves, &mut steps, at, t, &mut moved);
                self.change_rows(&of, (i, j), &moved, t, &mut s);
                if !of.on_bodies {
                    match (piece, wrt) {
                        (Piece::Position, Unknown::Q) => self.drop_noise(largest(&s.by_q), &mut s.rows),
                        (Piece::Velocity, Unknown::V) => self.drop_noise(largest(&s.by_v), &mut s.rows),
                        _ => {}
                    }
                    self.scatter(c, outer, block, j, width, of.rows, &s.rows, out);
                } else {
                    s.column.fill(0.0);
                    self.collect(if of.moves { &moved } else { &[] }, &s.rows, t, &mut s.column);
                    if of.moves && !node.is_cartesian {
                        self.turn_motions(i, k, steps.first, &moved, &s.carried, t, &mut s.column);
                    }
                    self.scatter(c, outer, block, j, width, &self.layout.bodies, &s.column, out);
                }
                s.moved = moved;
            }
        }
        t.columns = s;
    }

    /// The derivatives of the Cartesian piece, and the loads that joints carry, for all columns.
    fn cartesian_derivatives(&self, of: &ByMotion, at: &Point, t: &mut TreeSpace, s: &mut Columns) {
        let (piece, depends) = (of.piece, of.depends);
        let accelerated = depends.linear != 0.0 || depends.bias != 0.0;
        if accelerated {
            self.accelerate(at, t);
        }
        if of.moves && of.on_bodies {
            self.cartesian_force(piece, at, t);
            s.column.clear();
            s.column.resize(self.tree.n, 0.0);
            let y = std::mem::take(&mut t.y);
            self.pull(1.0, &y, t, &mut s.column);
            t.y = y;
            s.carried.clone_from(&t.load);
        }
        if piece == Piece::Acceleration {
            self.to_velocities(&at.vdot, true, t);
            self.add_bias(t);
        }
        let fill = |buffer: &mut Vec<f64>, c: f64, piece: Piece, wrt: Unknown, slope: f64, t: &mut TreeSpace| {
            let blocks = self.inner(piece, wrt);
            let slopes = Slopes { q: 0.0, v: slope, z: 0.0 };
            buffer.resize(blocks.size, 0.0);
            let mut targets = Targets::new(buffer, &blocks.offsets);
            self.cartesian.add_derivative(c, piece, wrt, slopes, &t.point, &mut t.cartesian, &mut targets);
        };
        for buffer in [&mut s.by_q, &mut s.by_v, &mut s.by_a, &mut s.by_m] {
            buffer.clear();
        }
        if of.moves {
            fill(&mut s.by_q, 1.0, piece, Unknown::Q, 0.0, t);
        }
        if of.moves && depends.bias != 0.0 && of.on_bodies && of.by_m.size > 0 {
            // of M J̇ v, whose acceleration is that of the point
            fill(&mut s.by_m, depends.bias, Piece::MassAccel, Unknown::Q, 0.0, t);
        }
        if depends.v {
            fill(&mut s.by_v, 1.0, piece, Unknown::V, 0.0, t);
        }
        if accelerated {
            // the part that comes with v̇: its slope one, less what there is at slope zero
            fill(&mut s.by_a, 1.0, of.accelerates, Unknown::V, 1.0, t);
            fill(&mut s.by_a, -1.0, of.accelerates, Unknown::V, 0.0, t);
        }
        s.rows.clear();
        s.rows.resize(of.rows.last().map_or(0, |r| r.end), 0.0);
        s.column.clear();
        s.column.resize(self.tree.n, 0.0);
    }

    /// How the Cartesian rows change with column `j` of tree body `i`, into `s.rows`.
    fn change_rows(&self, of: &ByMotion, (i, j): (usize, usize), moved: &[Moved], t: &TreeSpace, s: &mut Columns) {
        let node = &self.tree.nodes[i];
        s.rows.fill(0.0);
        if node.is_cartesian {
            let mut x = [[0.0; MAX_WIDTH]; 3];
            self.own_coordinate(of, j, &mut x);
            self.apply(of, node.body, &x, s);
        }
        for part in moved {
            for d in part.nodes.clone() {
                let body = &self.cartesian.model.bodies[self.tree.nodes[d].body].body;
                let mut x = [[0.0; MAX_WIDTH]; 3];
                for (x, change) in x.iter_mut().zip(self.change(of, t, part, d)) {
                    velocities(body, &t.r[d], change, &mut x[..each!(body, b => b.width())]);
                }
                if d == i && node.columns.start + j >= node.flex.modes.start && !node.flex.modes.is_empty() {
                    let mode = node.columns.start + j - node.flex.modes.start;
                    self.own_coordinate(of, each!(body, b => b.rigid_width()) + mode, &mut x);
                }
                self.apply(of, self.tree.nodes[d].body, &x, s);
            }
        }
    }

    /// The changes of a coordinate, a velocity and an acceleration that the column itself is.
    fn own_coordinate(&self, of: &ByMotion, k: usize, x: &mut [[f64; MAX_WIDTH]; 3]) {
        x[0][k] = 1.0;
        if !of.moves {
            (x[1][k], x[2][k]) = (1.0, of.depends.linear * of.slope);
        }
    }

    /// Adds what the rows make of the changes of a body.
    fn apply(&self, of: &ByMotion, b: usize, x: &[[f64; MAX_WIDTH]; 3], s: &mut Columns) {
        let size = self.cartesian.layout().bodies[b].len();
        if of.moves {
            of.by_q.apply(&s.by_q, b, &x[0][..size], of.rows, &mut s.rows);
        }
        if of.depends.v {
            of.by_v.apply(&s.by_v, b, &x[1][..size], of.rows, &mut s.rows);
        }
        if !s.by_a.is_empty() {
            of.by_a.apply(&s.by_a, b, &x[2][..size], of.rows, &mut s.rows);
        }
        if !s.by_m.is_empty() {
            of.by_m.apply(&s.by_m, b, &x[0][..size], of.rows, &mut s.rows);
        }
    }

    /// How displacement, velocity and acceleration of body `d` of a part change.
    fn change(&self, of: &ByMotion, t: &TreeSpace, part: &Moved, d: usize) -> [Twist; 3] {
        let (depends, slope) = (of.depends, of.slope);
        let reach = t.p[d] - part.at;
        let s = part.s.at(reach);
        let (anchor, change) = (part.anchor.at(reach), part.change.at(reach));
        let v = t.twist[d];
        let beyond = v.less(anchor.twist);
        let relative = s.cross(beyond);
        if !of.moves {
            let mut acceleration = Twist { w: s.w * (depends.linear * slope), v: s.v * (depends.linear * slope) };
            if depends.bias != 0.0 {
                let bias = relative.plus(1.0, change.bias);
                let bias = Twist { w: bias.w, v: bias.v + s.w.cross(v.v) + v.w.cross(s.v) };
                acceleration = acceleration.plus(depends.bias, bias);
            }
            return [s, s, acceleration];
        }
        // of twists at the point that stays where it is
        let by = relative.plus(1.0, change.twist);
        let velocity = Twist { w: by.w - s.w.cross(v.w), v: by.v + v.w.cross(s.v) };
        let mut acceleration = Twist::ZERO;
        if depends.linear != 0.0 {
            let x = t.linear[d];
            let by = s.cross(x.less(anchor.linear)).plus(1.0, change.linear);
            let change = Twist { w: by.w - s.w.cross(x.w), v: by.v + x.w.cross(s.v) };
            acceleration = acceleration.plus(depends.linear, change);
        }
        if depends.bias != 0.0 {
            let a = t.bias[d];
            let turned = anchor.twist.cross(s).plus(1.0, change.twist).cross(beyond);
            let spatial = s.cross(a.less(anchor.bias)).plus(1.0, turned).plus(1.0, change.bias);
            let lin = spatial.v + a.w.cross(s.v) + by.w.cross(v.v) + v.w.cross(velocity.v);
            acceleration = acceleration.plus(depends.bias, Twist { w: spatial.w - s.w.cross(a.w), v: lin });
        }
        [s, velocity, acceleration]
    }

    /// Jᵀ of the changes of Cartesian forces `rows`, and of the forces `t.y` that move with the bodies of the parts.
    fn collect(&self, moved: &[Moved], rows: &[f64], t: &mut TreeSpace, column: &mut [f64]) {
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (d, node) = self.node(b);
            let body = &self.cartesian.model.bodies[b].body;
            if node.is_cartesian {
                column[node.columns.clone()].copy_from_slice(&rows[range.clone()]);
                continue;
            }
            t.load[d] = wrench(body, &t.r[d], &rows[range.clone()]);
            add_modal(1.0, &rows[range.clone()], &mut column[node.flex.modes.clone()]);
        }
        for part in moved {
            for d in part.nodes.clone() {
                let b = self.tree.nodes[d].body;
                let s = part.s.at(t.p[d] - part.at);
                let load = wrench(
                    &self.cartesian.model.bodies[b].body,
                    &t.r[d],
                    &t.y[self.cartesian.layout().bodies[b].clone()],
                );
                t.load[d].m += s.v.cross(load.f) + s.w.cross(load.m);
            }
        }
        self.tree.pull(1.0, t, column);
    }

    /// Adds what the loads that joints carry do on motions of joints and modes that move with the column `k` of node `i`; of
    /// the same joint only from column `first` on: what follows, and the other axes of a ball.
    fn turn_motions(
        &self,
        i: usize,
        k: usize,
        first: usize,
        moved: &[Moved],
        carried: &[Wrench],
        t: &TreeSpace,
        column: &mut [f64],
    ) {
        for part in moved {
            for d in part.nodes.clone() {
                let s = part.s.at(t.joint[d] - part.at);
                let node = &self.tree.nodes[d];
                let from = if d == i { first } else { node.columns.start };
                for other in from..node.columns.end {
                    column[other] += carried[d].on(s.cross(t.s[other]));
                }
                // the seat of the first node of a branch moves with the body that bends
                let on_branch = d == part.nodes.start;
                for (other, e) in self.tree.sway(node, t).filter(|_| d != i && !on_branch) {
                    column[other] += carried[d].on(s.cross(e));
                }
            }
        }
        let node = &self.tree.nodes[i];
        let Some(m) = k.checked_sub(node.flex.modes.start).filter(|m| *m < node.flex.modes.len()) else { return };
        if let Some(station) = self.tree.station(i, t) {
            for (n, other) in node.flex.modes.clone().enumerate() {
                column[other] -= carried[i].on(station.slope(m, n));
            }
        }
        for part in moved.iter().skip(1) {
            let c = part.nodes.start;
            let Some(seat) = self.tree.seat(c, t) else { continue };
            let s = t.s[k].at(t.joint[c] - t.joint[i]);
            for (n, (other, e)) in self.tree.sway(&self.tree.nodes[c], t).enumerate() {
                column[other] += carried[c].on(s.cross(e).plus(1.0, seat.slope(m, n)));
            }
        }
    }
}
