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
//! Two things are left out, which Newton's iteration does not need: ∂(M⁻¹Gᵀμ)/∂q, for μ vanishes with the step size,
//! and what the Cartesian ∂g̈/∂q leaves out.

use super::kinematics::{Twist, Wrench, velocities, wrench};
use super::tree::{NONE, Node};
use super::{Relative, TreeSpace};
use crate::bodies::{BodyFrame, Coordinates, each};
use crate::dynamics::*;
use crate::frames::MAX_WIDTH;
use crate::system::System;
use bellcrank_math::{Vec3, rotation};
use std::ops::Range;
use std::sync::OnceLock;

/// The blocks of a Cartesian derivative, by columns.
struct Blocks {
    offsets: Vec<u32>,
    size: usize,
    /// For each column block the numbers of its pairs.
    first: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Blocks {
    fn new(system: &System, piece: Piece, wrt: Unknown) -> Blocks {
        let layout = system.layout();
        let (rows, columns) = (layout.rows(piece), layout.columns(wrt));
        let (mut size, mut offsets) = (0, Vec::new());
        let mut pairs = Vec::new();
        for (r, c) in system.pattern(piece, wrt) {
            offsets.push(size as u32);
            pairs.push((r, c, size as u32));
            size += rows[r as usize].len() * columns[c as usize].len();
        }
        pairs.sort_by_key(|&(_, c, _)| c);
        let first = (0..=columns.len()).map(|c| pairs.partition_point(|p| (p.1 as usize) < c) as u32).collect();
        Blocks { offsets, size, first, pairs: pairs.into_iter().map(|(r, _, o)| (r, o)).collect() }
    }

    /// The row blocks of a column block, with the places of their values.
    fn column(&self, c: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = self.first[c] as usize..self.first[c + 1] as usize;
        self.pairs[range].iter().map(|&(r, o)| (r as usize, o as usize))
    }

    /// y += K x for one column block.
    fn apply(&self, values: &[f64], c: usize, x: &[f64], rows: &[Range<usize>], y: &mut [f64]) {
        for (r, o) in self.column(c) {
            for (y, k) in y[rows[r].clone()].iter_mut().zip(values[o..].chunks_exact(x.len())) {
                *y += k.iter().zip(x).map(|(k, x)| k * x).sum::<f64>();
            }
        }
    }
}

/// The pairs of a derivative in relative coordinates, by columns.
struct Outer {
    pairs: Vec<(u32, u32)>,
    first: Vec<u32>,
}

const UNKNOWNS: usize = Unknown::ALL.len();
const PIECES: usize = Piece::Flow as usize + 1;

fn slot(piece: Piece, wrt: Unknown) -> usize {
    piece as usize * UNKNOWNS + wrt as usize
}

/// Where the blocks of all derivatives are.
pub(super) struct Maps {
    inner: Vec<OnceLock<Blocks>>,
    outer: Vec<OnceLock<Outer>>,
}

impl Maps {
    pub(super) fn new() -> Maps {
        let cells = PIECES * UNKNOWNS;
        Maps {
            inner: (0..cells).map(|_| OnceLock::new()).collect(),
            outer: (0..cells).map(|_| OnceLock::new()).collect(),
        }
    }
}

/// Scratch of derivatives.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    by_q: Vec<f64>,
    by_v: Vec<f64>,
    by_a: Vec<f64>,
    rows: Vec<f64>,
    column: Vec<f64>,
    carried: Vec<Wrench>,
}

/// The motion before a step of a joint, at the joint.
#[derive(Clone, Copy)]
struct Before {
    twist: Twist,
    linear: Twist,
    bias: Twist,
    /// Of the step itself.
    own: Twist,
}

/// What a piece depends on.
#[derive(Clone, Copy, Default)]
struct Depends {
    /// On velocities.
    v: bool,
    /// On J v̇, with this factor.
    linear: f64,
    /// On J̇ v.
    bias: f64,
}

impl Depends {
    fn of(piece: Piece) -> Depends {
        match piece {
            Piece::MassAccel => Depends { v: false, linear: 1.0, bias: 0.0 },
            Piece::Force => Depends { v: true, linear: 0.0, bias: -1.0 },
            Piece::Acceleration => Depends { v: true, linear: 1.0, bias: 1.0 },
            Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu => Depends::default(),
            _ => Depends { v: true, ..Depends::default() },
        }
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

fn on_bodies(piece: Piece) -> bool {
    use Piece::*;
    matches!(piece, MassAccel | Force | GtLambda | GtMu | MinvGtMu)
}

impl Relative {
    fn inner(&self, piece: Piece, wrt: Unknown) -> &Blocks {
        self.maps.inner[slot(piece, wrt)].get_or_init(|| Blocks::new(&self.cartesian, piece, wrt))
    }

    fn outer(&self, piece: Piece, wrt: Unknown) -> &Outer {
        self.maps.outer[slot(piece, wrt)].get_or_init(|| self.find_outer(piece, wrt))
    }

    pub(super) fn pairs(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        use Piece::*;
        match (piece, wrt) {
            (Rate, Unknown::Q) | (Speed, Unknown::V) => (0..self.layout.bodies.len() as u32).map(|b| (b, b)).collect(),
            (ZDot | Flow, Unknown::Z) => self.cartesian.pattern(piece, wrt),
            (Rate | Speed | ZDot, _) => Vec::new(),
            (MinvGtMu, Unknown::Q) => Vec::new(),
            (GtLambda | GtMu | MinvGtMu, Unknown::V) | (Position | Velocity | Acceleration, Unknown::Z) => Vec::new(),
            (MassAccel, Unknown::Z) => Vec::new(),
            _ => self.outer(piece, wrt).pairs.clone(),
        }
    }

    /// Which rows of a piece feel which columns.
    fn find_outer(&self, piece: Piece, wrt: Unknown) -> Outer {
        let nodes = &self.tree.nodes;
        let (mut pairs, mut first) = (Vec::new(), vec![0]);
        let mut column = |rows: &mut Vec<bool>, c: u32| {
            pairs.extend(rows.iter_mut().enumerate().filter(|(_, r)| **r).map(|(r, _)| (r as u32, c)));
            first.push(pairs.len() as u32);
            rows.fill(false);
        };
        let mut rows = vec![false; self.layout.rows(piece).len()];
        let mut bodies = vec![false; nodes.len()];
        let upwards = |bodies: &mut Vec<bool>, rows: &mut Vec<bool>| {
            for i in (0..nodes.len()).rev() {
                if !std::mem::take(&mut bodies[i]) {
                    continue;
                }
                if nodes[i].parent != NONE {
                    bodies[nodes[i].parent as usize] = true;
                }
                if nodes[i].block != NONE {
                    rows[nodes[i].block as usize] = true;
                }
            }
        };
        let node_of = |b: usize| self.tree.node_of[b] as usize;
        if matches!(wrt, Unknown::Q | Unknown::V) {
            let depends = Depends::of(piece);
            let moves = wrt == Unknown::Q;
            let mut loaded = vec![matches!(piece, Piece::MassAccel | Piece::Force); nodes.len()];
            let loads = match piece {
                Piece::GtLambda => Some(self.inner(piece, Unknown::Lambda)),
                Piece::GtMu => Some(self.inner(piece, Unknown::Mu)),
                _ => None,
            };
            for (b, _) in loads.into_iter().flat_map(|l| (0..l.first.len() - 1).flat_map(|c| l.column(c))) {
                loaded[node_of(b)] = true;
            }
            for (i, node) in nodes.iter().enumerate().filter(|(_, n)| n.block != NONE) {
                for d in i..node.end as usize {
                    let b = nodes[d].body;
                    let by_q = moves.then(|| self.inner(piece, Unknown::Q));
                    let by_v = (depends.v || piece == Piece::Acceleration).then(|| self.inner(piece, Unknown::V));
                    for (r, _) in by_q.into_iter().chain(by_v).flat_map(|k| k.column(b)) {
                        match on_bodies(piece) {
                            true => bodies[node_of(r)] = true,
                            false => rows[r] = true,
                        }
                    }
                    bodies[d] |=
                        loaded[d] && on_bodies(piece) && (moves || depends.bias != 0.0 || piece == Piece::MassAccel);
                }
                upwards(&mut bodies, &mut rows);
                column(&mut rows, node.block);
            }
        } else {
            let from = if piece == Piece::MinvGtMu { Piece::GtMu } else { piece };
            let inner = self.inner(from, wrt);
            for c in 0..inner.first.len() - 1 {
                for (b, _) in inner.column(c) {
                    let root = nodes[node_of(b)].root as usize;
                    match piece {
                        Piece::MinvGtMu => bodies[root..nodes[root].end as usize].fill(true),
                        _ => bodies[node_of(b)] = true,
                    }
                }
                upwards(&mut bodies, &mut rows);
                column(&mut rows, c as u32);
            }
        }
        Outer { pairs, first }
    }

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
        outer: &Outer,
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
        self.mass_matrix(t, &mut add);
        for node in self.tree.nodes.iter().filter(|n| n.own) {
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
        let depends = Depends::of(piece);
        let outer = self.outer(piece, wrt);
        let moves = wrt == Unknown::Q;
        let body_rows = on_bodies(piece);
        if depends.linear != 0.0 || depends.bias != 0.0 {
            self.accelerate(at, t);
        }
        let mut s = std::mem::take(&mut t.columns);
        if moves && body_rows {
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
        for buffer in [&mut s.by_q, &mut s.by_v, &mut s.by_a] {
            buffer.clear();
        }
        if moves {
            fill(&mut s.by_q, 1.0, piece, Unknown::Q, 0.0, t);
        }
        if depends.v {
            fill(&mut s.by_v, 1.0, piece, Unknown::V, 0.0, t);
        }
        let accelerates = if piece == Piece::Acceleration { piece } else { Piece::MassAccel };
        if depends.linear != 0.0 || depends.bias != 0.0 {
            fill(&mut s.by_a, 1.0, accelerates, Unknown::V, 1.0, t);
            fill(&mut s.by_a, -1.0, accelerates, Unknown::V, 0.0, t);
        }
        let rows = match body_rows {
            true => &self.cartesian.layout().bodies,
            false => self.layout.rows(piece),
        };
        s.rows.clear();
        s.rows.resize(rows.last().map_or(0, |r| r.end), 0.0);
        s.column.clear();
        s.column.resize(self.tree.n, 0.0);
        let by_q = self.inner(piece, Unknown::Q);
        let by_v = self.inner(piece, Unknown::V);
        let by_a = self.inner(accelerates, Unknown::V);
        for (i, node) in self.tree.nodes.iter().enumerate().filter(|(_, n)| n.block != NONE) {
            let block = node.block as usize;
            let width = node.columns.len();
            if outer.first[block] == outer.first[block + 1] {
                continue;
            }
            let mut steps = StepsOf::new(i, node);
            for (j, k) in node.columns.clone().enumerate() {
                s.rows.fill(0.0);
                let before = steps.at(self, k, at, t);
                for d in i..node.end as usize {
                    let carried = &self.tree.nodes[d];
                    let b = carried.body;
                    let size = self.cartesian.layout().bodies[b].len();
                    let mut x = [[0.0; MAX_WIDTH]; 3];
                    if node.own {
                        x[0][j] = 1.0;
                        x[2][j] = if moves { 0.0 } else { depends.linear * slopes.v };
                        if !moves {
                            x[1][j] = 1.0;
                        }
                    } else {
                        let change = self.change(t, i, d, k, &before, moves, depends, slopes.v);
                        let body = &self.cartesian.model.bodies[b].body;
                        for (x, change) in x.iter_mut().zip(change) {
                            velocities(body, &t.r[d], change, &mut x[..size]);
                        }
                    }
                    if moves {
                        by_q.apply(&s.by_q, b, &x[0][..size], rows, &mut s.rows);
                    }
                    if depends.v {
                        by_v.apply(&s.by_v, b, &x[1][..size], rows, &mut s.rows);
                    }
                    if !s.by_a.is_empty() {
                        by_a.apply(&s.by_a, b, &x[2][..size], rows, &mut s.rows);
                    }
                }
                if !body_rows {
                    match (piece, wrt) {
                        (Piece::Position, Unknown::Q) => self.drop_noise(largest(&s.by_q), &mut s.rows),
                        (Piece::Velocity, Unknown::V) => self.drop_noise(largest(&s.by_v), &mut s.rows),
                        _ => {}
                    }
                    self.scatter(c, outer, block, j, width, rows, &s.rows, out);
                    continue;
                }
                s.column.fill(0.0);
                self.collect(moves.then_some((i, k)), &s.rows, t, &mut s.column);
                if moves && !node.own {
                    self.turn_motions(i, k, &steps, &s.carried, t, &mut s.column);
                }
                self.scatter(c, outer, block, j, width, &self.layout.bodies, &s.column, out);
            }
        }
        t.columns = s;
    }

    /// How displacement, velocity and acceleration of body `d` change with the coordinate `k` of node `i`.
    fn change(
        &self,
        t: &TreeSpace,
        i: usize,
        d: usize,
        k: usize,
        before: &Before,
        moves: bool,
        depends: Depends,
        slope: f64,
    ) -> [Twist; 3] {
        let reach = t.p[d] - t.joint[i];
        let s = t.s[k].at(reach);
        let (v, v0) = (t.twist[d], before.twist.at(reach));
        let relative = s.cross(v.less(v0));
        if !moves {
            let mut acceleration = Twist { w: s.w * (depends.linear * slope), v: s.v * (depends.linear * slope) };
            if depends.bias != 0.0 {
                let after = v0.plus(1.0, before.own.at(reach));
                let bias = relative.plus(1.0, after.cross(s));
                let bias = Twist { w: bias.w, v: bias.v + s.w.cross(v.v) + v.w.cross(s.v) };
                acceleration = acceleration.plus(depends.bias, bias);
            }
            return [s, s, acceleration];
        }
        let velocity = Twist { w: relative.w - s.w.cross(v.w), v: relative.v + v.w.cross(s.v) };
        let mut acceleration = Twist::ZERO;
        if depends.linear != 0.0 {
            let x = t.linear[d];
            let relative = s.cross(x.less(before.linear.at(reach)));
            let change = Twist { w: relative.w - s.w.cross(x.w), v: relative.v + x.w.cross(s.v) };
            acceleration = acceleration.plus(depends.linear, change);
        }
        if depends.bias != 0.0 {
            let a = t.bias[d];
            let spatial = s.cross(a.less(before.bias.at(reach))).plus(1.0, v0.cross(s).cross(v.less(v0)));
            let lin = spatial.v + a.w.cross(s.v) + relative.w.cross(v.v) + v.w.cross(velocity.v);
            acceleration = acceleration.plus(depends.bias, Twist { w: spatial.w - s.w.cross(a.w), v: lin });
        }
        [s, velocity, acceleration]
    }

    /// Jᵀ of the changes of Cartesian forces `rows`, and of the forces `t.y` that move with the bodies a coordinate
    /// carries.
    fn collect(&self, moved: Option<(usize, usize)>, rows: &[f64], t: &mut TreeSpace, column: &mut [f64]) {
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (d, node) = self.node(b);
            let body = &self.cartesian.model.bodies[b].body;
            if node.own {
                column[node.columns.clone()].copy_from_slice(&rows[range.clone()]);
                continue;
            }
            t.load[d] = wrench(body, &t.r[d], &rows[range.clone()]);
            if let Some((i, k)) = moved.filter(|(i, _)| d >= *i && d < self.tree.nodes[*i].end as usize) {
                let s = t.s[k].at(t.p[d] - t.joint[i]);
                let load = wrench(body, &t.r[d], &t.y[range.clone()]);
                t.load[d].m += s.v.cross(load.f) + s.w.cross(load.m);
            }
        }
        self.tree.pull(1.0, &t.p, &t.joint, &t.s, &mut t.load, column);
    }

    /// Adds what the loads that joints carry do on joint motions that move with the coordinate `k` of node `i`.
    fn turn_motions(&self, i: usize, k: usize, steps: &StepsOf, carried: &[Wrench], t: &TreeSpace, column: &mut [f64]) {
        for d in i..self.tree.nodes[i].end as usize {
            let s = t.s[k].at(t.joint[d] - t.joint[i]);
            let columns = self.tree.nodes[d].columns.clone();
            // of the same joint only what follows, and the other axes of a ball
            let from = if d == i { steps.first } else { columns.start };
            for other in from..columns.end {
                column[other] += carried[d].on(s.cross(t.s[other]));
            }
        }
    }
}

/// Walks along the steps of a joint.
struct StepsOf {
    node: usize,
    step: usize,
    /// The first coordinate of the present step, and the first after it.
    first: usize,
    next: usize,
    before: Option<Before>,
}

impl StepsOf {
    fn new(node: usize, of: &Node) -> StepsOf {
        StepsOf { node, step: of.steps.start, first: of.columns.start, next: of.columns.start, before: None }
    }

    /// The motion before the step of coordinate `k`; coordinates are asked for in their order.
    fn at(&mut self, r: &Relative, k: usize, at: &Point, t: &TreeSpace) -> Before {
        let node = &r.tree.nodes[self.node];
        if node.own {
            return Before { twist: Twist::ZERO, linear: Twist::ZERO, bias: Twist::ZERO, own: Twist::ZERO };
        }
        if k >= self.next || self.before.is_none() {
            let before = match self.before {
                None => {
                    let carried = |of: &[Twist]| r.tree.carried(node, of, &t.p, t.joint[self.node]);
                    let [twist, linear, bias] = [&t.twist, &t.linear, &t.bias].map(|f| carried(f));
                    Before { twist, linear, bias, own: Twist::ZERO }
                }
                Some(b) => {
                    let linear = (self.first..self.next).fold(b.linear, |x, j| x.plus(at.vdot[j], t.s[j]));
                    let bias = b.bias.plus(1.0, b.twist.cross(b.own));
                    Before { twist: b.twist.plus(1.0, b.own), linear, bias, own: Twist::ZERO }
                }
            };
            self.first = self.next;
            self.next += r.tree.steps[self.step].width();
            self.step += 1;
            let own = (self.first..self.next).fold(Twist::ZERO, |x, j| x.plus(at.v[j], t.s[j]));
            self.before = Some(Before { own, ..before });
        }
        self.before.unwrap_or(Before { twist: Twist::ZERO, linear: Twist::ZERO, bias: Twist::ZERO, own: Twist::ZERO })
    }
}
