//! Plain equations of two ends, evaluated from tables rather than by way of frames, and products with the blocks of G.
//!
//! A model of thousands of joints spends its time here. Common block sizes are compile-time constants, and what a product
//! needs of a constraint and an end fits in a few bytes ([`GradientBlock`], [`Pull`]).

use super::*;
use crate::bodies::PoseKind;
use crate::parallel::{MIN_BLOCKS, span};
use bellcrank_math::Vec3;
use bellcrank_math::threads::team;
use std::ops::Range;

/// The most plain equations of one constraint.
pub(super) const PLAIN: usize = 5;

/// A block of G: a constraint on the coordinates of a body. The blocks follow each other in the workspace.
#[derive(Clone, Copy, Debug)]
pub(super) struct GradientBlock {
    /// The first row of the constraint in λ, and in μ.
    pub row: u32,
    pub rate: u32,
    /// The first coordinate.
    pub column: u32,
    /// Where the block stands in the workspace.
    pub jacobian: u32,
    pub rows: u8,
    pub width: u8,
    pub holonomic: bool,
}

/// The same block as its body sees it.
struct Pull {
    row: u32,
    rate: u32,
    jacobian: u32,
    rows: u8,
    width: u8,
    holonomic: bool,
}

/// The constraints on each body, in order.
#[derive(Default)]
pub(super) struct Pulls {
    /// Those of body b are `list[start[b]..start[b + 1]]`.
    start: Vec<u32>,
    list: Vec<Pull>,
}

impl Pulls {
    pub fn new(bodies: usize, touches: &[GradientBlock], ranges: &[Range<usize>]) -> Pulls {
        let body = |t: &GradientBlock| ranges.partition_point(|range| range.end <= t.column as usize) as u32;
        let mut order: Vec<(u32, u32)> = touches.iter().enumerate().map(|(k, t)| (body(t), k as u32)).collect();
        order.sort_unstable();
        let start = (0..=bodies as u32).map(|b| order.partition_point(|o| o.0 < b) as u32).collect();
        let pull = |&(_, k): &(u32, u32)| {
            let GradientBlock { row, rate, jacobian, rows, width, holonomic, .. } = touches[k as usize];
            Pull { row, rate, jacobian, rows, width, holonomic }
        };
        Pulls { start, list: order.iter().map(pull).collect() }
    }

    fn of(&self, body: usize) -> &[Pull] {
        &self.list[self.start[body] as usize..self.start[body + 1] as usize]
    }
}

/// Where the blocks of G are.
pub(super) struct Gradients {
    /// By constraint and end; those of constraint k are `before[k]..before[k + 1]`.
    pub blocks: Vec<GradientBlock>,
    pub before: Vec<u32>,
    pub pulls: Pulls,
    /// The number of values of all blocks.
    pub size: usize,
    /// Whether all constraints are holonomic.
    pub holonomic: bool,
}

impl Default for Gradients {
    fn default() -> Gradients {
        Gradients { blocks: Vec::new(), before: vec![0], pulls: Pulls::default(), size: 0, holonomic: true }
    }
}

/// A pin between two bodies of the plane, or one and the ground.
pub(super) struct Pin {
    pub(super) bodies: [u32; 2],
    pub(super) jacobian: [u32; 2],
    pub(super) row: u32,
    pub(super) points: [[f64; 2]; 2],
}

/// A distance between two point masses in space, or one and the ground.
pub(super) struct Bar {
    pub(super) bodies: [u32; 2],
    pub(super) jacobian: [u32; 2],
    pub(super) row: u32,
    pub(super) length: f64,
    /// Its fixed end, if that is on the ground.
    pub(super) points: [Vec3; 2],
}

/// A point that two rigid bodies share, or one and the ground, with up to two pairs of perpendicular axes: spherical,
/// universal and revolute joints.
pub(super) struct Hinge {
    pub(super) bodies: [u32; 2],
    pub(super) jacobian: [u32; 2],
    pub(super) row: u32,
    pub(super) pairs: u32,
    pub(super) points: [Vec3; 2],
    /// Of each pair, the axis of the first end and that of the second, in their frames.
    pub(super) axes: [[Vec3; 2]; 2],
}

/// The common plain constraints, one table for each kind: large models have thousands of them.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) pins: Vec<Pin>,
    pub(super) bars: Vec<Bar>,
    pub(super) hinges: Vec<Hinge>,
    /// The numbers of all other constraints.
    pub(super) others: Vec<u32>,
    /// Whether some constraints are not plain.
    pub mixed: bool,
}

impl Tables {
    pub(super) fn shrink(&mut self) {
        self.pins.shrink_to_fit();
        self.bars.shrink_to_fit();
        self.hinges.shrink_to_fit();
        self.others.shrink_to_fit();
    }
}

/// Calls a function with the sizes of a block as constants if they are common ones.
macro_rules! with_block {
    ($rows:expr, $width:expr, $call:ident, $($argument:expr),*) => {
        match ($rows, $width) {
            (2, 3) => $call::<2, 3>(2, 3, $($argument),*),
            (1, 3) => $call::<1, 3>(1, 3, $($argument),*),
            (3, 3) => $call::<3, 3>(3, 3, $($argument),*),
            (5, 6) => $call::<5, 6>(5, 6, $($argument),*),
            (4, 6) => $call::<4, 6>(4, 6, $($argument),*),
            (3, 6) => $call::<3, 6>(3, 6, $($argument),*),
            (1, 6) => $call::<1, 6>(1, 6, $($argument),*),
            (6, 6) => $call::<6, 6>(6, 6, $($argument),*),
            (2, 4) => $call::<2, 4>(2, 4, $($argument),*),
            (1, 4) => $call::<1, 4>(1, 4, $($argument),*),
            (r, w) => $call::<0, 0>(r, w, $($argument),*),
        }
    };
}

/// out += c gᵀλ.
#[inline(always)]
fn pull_back<const R: usize, const W: usize>(r: usize, w: usize, c: f64, g: &[f64], lambda: &[f64], out: &mut [f64]) {
    let (r, w) = if R > 0 { (R, W) } else { (r, w) };
    let (g, lambda, out) = (&g[..r * w], &lambda[..r], &mut out[..w]);
    let mut sum = [0.0; W]; // in registers, where the size is known
    sum.iter_mut().zip(&*out).for_each(|(sum, out)| *sum = *out);
    for i in 0..r {
        let l = c * lambda[i];
        let sums = if R > 0 { &mut sum[..] } else { &mut *out };
        for j in 0..w {
            sums[j] += l * g[i * w + j];
        }
    }
    out.iter_mut().zip(sum).for_each(|(out, sum)| *out = sum);
}

/// out += c g x.
#[inline(always)]
fn push<const R: usize, const W: usize>(r: usize, w: usize, c: f64, g: &[f64], x: &[f64], out: &mut [f64]) {
    let (r, w) = if R > 0 { (R, W) } else { (r, w) };
    let (g, x, out) = (&g[..r * w], &x[..w], &mut out[..r]);
    for i in 0..r {
        let mut sum = 0.0;
        for j in 0..w {
            sum += g[i * w + j] * x[j];
        }
        out[i] += c * sum;
    }
}

/// out += c g.
#[inline(always)]
fn copy<const R: usize, const W: usize>(r: usize, w: usize, c: f64, g: &[f64], out: &mut [f64]) {
    let (r, w) = if R > 0 { (R, W) } else { (r, w) };
    let (g, out) = (&g[..r * w], &mut out[..r * w]);
    for i in 0..r * w {
        out[i] += c * g[i];
    }
}

/// out ← c g.
#[inline(always)]
fn put<const R: usize, const W: usize>(r: usize, w: usize, c: f64, g: &[f64], out: &mut [f64]) {
    let (r, w) = if R > 0 { (R, W) } else { (r, w) };
    let (g, out) = (&g[..r * w], &mut out[..r * w]);
    for i in 0..r * w {
        out[i] = c * g[i];
    }
}

/// out += c gᵀ.
#[inline(always)]
fn turn<const R: usize, const W: usize>(r: usize, w: usize, c: f64, g: &[f64], out: &mut [f64]) {
    let (r, w) = if R > 0 { (R, W) } else { (r, w) };
    let (g, out) = (&g[..r * w], &mut out[..r * w]);
    for i in 0..r {
        for j in 0..w {
            out[j * r + i] += c * g[i * w + j];
        }
    }
}

impl System {
    /// The plain equations of a constraint, where it has no others.
    pub(super) fn plain_of(&self, equations: &[Box<dyn Equation>], ends: &[SystemEnd]) -> [Option<Plain>; PLAIN] {
        let bends = |e: &SystemEnd| self.bodies.get(e.body as usize).is_some_and(Body::bends);
        let mut plain = [None; PLAIN];
        let all = equations.len() <= PLAIN && equations.iter().all(|e| e.plain().is_some());
        if all && ends.len() == 2 && !ends.iter().any(bends) {
            plain.iter_mut().zip(equations).for_each(|(p, e)| *p = e.plain());
        }
        plain
    }

    /// Enters a constraint into the table of its kind.
    pub(super) fn tabulate(&mut self, number: usize, row: usize, plain: &[Option<Plain>; PLAIN], ends: &[SystemEnd]) {
        self.tables.mixed |= plain[0].is_none();
        let kind = |b: u32| each!(&self.bodies[b as usize], body => body.pose_kind());
        let all = |pose: PoseKind| ends.iter().all(|e| e.body == GROUND || kind(e.body) == pose);
        let row = row as u32;
        match (*plain, ends) {
            ([Some(Plain::Coincide(2)), None, ..], [near, far]) if all(PoseKind::Planar) => {
                let points = [near, far].map(|e| [e.on.point[0], e.on.point[1]]);
                let (bodies, jacobian) = ([near.body, far.body], [near.jacobian, far.jacobian]);
                self.tables.pins.push(Pin { bodies, jacobian, row, points });
            }
            ([Some(Plain::Distance(length)), None, ..], [near, far]) if all(PoseKind::SpatialPoint) => {
                let points = [near, far].map(|e| e.on.point);
                let (bodies, jacobian) = ([near.body, far.body], [near.jacobian, far.jacobian]);
                self.tables.bars.push(Bar { bodies, jacobian, row, length, points });
            }
            ([Some(Plain::Coincide(3)), first, second, None, ..], [near, far])
                if all(PoseKind::Spatial)
                    && [first, second].iter().flatten().all(|p| matches!(p, Plain::Perpendicular(..))) =>
            {
                let (points, pairs) =
                    ([near, far].map(|e| e.on.point), [first, second].iter().flatten().count() as u32);
                let axes = [first, second].map(|pair| match pair {
                    Some(Plain::Perpendicular(i, j)) => [near.on.axes.column(i), far.on.axes.column(j)],
                    _ => [Vec3::ZERO; 2],
                });
                let (bodies, jacobian) = ([near.body, far.body], [near.jacobian, far.jacobian]);
                self.tables.hinges.push(Hinge { bodies, jacobian, row, pairs, points, axes });
            }
            _ => self.tables.others.push(number as u32),
        }
    }

    /// g and G of all constraints, from the poses in `w`.
    pub(super) fn realize_constraints(&self, at: &Point, w: &Realized, jacobian: &mut [f64], gap: &mut [f64]) {
        let (mut blocks, mut rows) = (jacobian, gap);
        let first_block = |k: usize| self.gradients.blocks.get(self.gradients.before[k] as usize);
        let begin = |k: usize| first_block(k).map_or(self.gradients.size, |t| t.jacobian as usize);
        team::divided(
            self.constraints.len(),
            MIN_BLOCKS,
            |constraints| {
                let (first, last) = (begin(constraints.start), begin(constraints.end));
                let range = span(&self.layout.constraints[constraints.clone()]);
                let out = RealizedRows {
                    jacobian: team::cut(&mut blocks, last - first),
                    first,
                    gap: team::cut(&mut rows, range.len()),
                    row: range.start,
                };
                (constraints, out)
            },
            |(constraints, mut out)| self.realize_some(constraints, at, w, &mut out),
        );
    }

    fn realize_some(&self, which: Range<usize>, at: &Point, w: &Realized, out: &mut RealizedRows) {
        let frames = w.bodies;
        // tables are in the order of the constraints
        let rows = span(&self.layout.constraints[which.clone()]);
        for pin in between(&self.tables.pins, &rows, |pin| pin.row) {
            let mut ends = [[0.0; 2]; 2];
            for k in 0..2 {
                let ([x, y], b) = (pin.points[k], pin.bodies[k]);
                if b == GROUND {
                    ends[k] = [x, y];
                    continue;
                }
                let frame = &frames[b as usize];
                let (cos, sin) = (frame.r.0[0][0], frame.r.0[1][0]);
                let (x, y) = (cos * x - sin * y, sin * x + cos * y);
                ends[k] = [frame.p[0] + x, frame.p[1] + y];
                let c = if k == 0 { -1.0 } else { 1.0 };
                out.block(pin.jacobian[k], 6).copy_from_slice(&[c, 0.0, -c * y, 0.0, c, c * x]);
            }
            let gap = &mut out.gap[pin.row as usize - out.row..][..2];
            (gap[0], gap[1]) = (ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]);
        }
        for bar in between(&self.tables.bars, &rows, |bar| bar.row) {
            let [p, q] = [0, 1].map(|k| match bar.bodies[k] {
                GROUND => bar.points[k],
                b => frames[b as usize].p,
            });
            let d = q - p;
            out.gap[bar.row as usize - out.row] = 0.5 * (d.dot(d) / bar.length - bar.length);
            let u = d * (1.0 / bar.length);
            for (k, row) in [-u, u].into_iter().enumerate().filter(|(k, _)| bar.bodies[*k] != GROUND) {
                out.block(bar.jacobian[k], 3).copy_from_slice(&row.0);
            }
        }
        for hinge in between(&self.tables.hinges, &rows, |hinge| hinge.row) {
            match hinge.pairs {
                0 => hinge.realize::<0>(frames, out),
                1 => hinge.realize::<1>(frames, out),
                _ => hinge.realize::<2>(frames, out),
            }
        }
        for &k in between(&self.tables.others, &which, |k| *k) {
            let (c, range) = (&self.constraints[k as usize], &self.layout.constraints[k as usize]);
            match c.plain[0] {
                Some(_) => self.realize_plain(c, range.start, frames, out),
                None => self.realize_constraint(c, at, w, out),
            }
        }
    }

    #[inline]
    pub(super) fn point_of(&self, end: &SystemEnd, frames: &[BodyFrame]) -> Vec3 {
        match end.body {
            GROUND => end.on.point,
            b => each!(&self.bodies[b as usize], body => body.point(&frames[b as usize], &end.on)),
        }
    }

    #[inline]
    pub(super) fn axis_of(&self, end: &SystemEnd, axis: usize, frames: &[BodyFrame]) -> Vec3 {
        let axis = end.on.axes.column(axis);
        if end.body == GROUND { axis } else { frames[end.body as usize].r * axis }
    }

    /// g and G of a constraint with plain equations; `first` is its first row.
    fn realize_plain(&self, c: &Constraint, first: usize, frames: &[BodyFrame], out: &mut RealizedRows) {
        let first = first - out.row;
        let [near, far] = [&c.ends[0], &c.ends[1]];
        let (p, q) = (self.point_of(near, frames), self.point_of(far, frames));
        let mut row = 0;
        for plain in c.plain.iter().flatten() {
            match *plain {
                Plain::Coincide(d) => {
                    out.gap[first + row..first + row + d].copy_from_slice(&(q - p).0[..d]);
                    for (end, sign) in [(near, -1.0), (far, 1.0)].into_iter().filter(|(e, _)| e.body != GROUND) {
                        let (b, width) = (end.body as usize, end.width as usize);
                        let block = out.block(end.jacobian + (row * width) as u32, d * width);
                        each!(&self.bodies[b], body => body.point_rows(&frames[b], &end.on, sign, block));
                    }
                    row += d;
                    continue;
                }
                Plain::Distance(length) => {
                    let d = q - p;
                    out.gap[first + row] = 0.5 * (d.dot(d) / length - length);
                    let u = d * (1.0 / length);
                    let forms = [Covector::new(-u, Vec3::ZERO), Covector::new(u, Vec3::ZERO)];
                    self.set_row([near, far], row, forms, frames, out);
                }
                Plain::Perpendicular(i, j) => {
                    let (a, b) = (self.axis_of(near, i, frames), self.axis_of(far, j, frames));
                    out.gap[first + row] = a.dot(b);
                    let turn = a.cross(b);
                    let forms = [Covector::new(Vec3::ZERO, turn), Covector::new(Vec3::ZERO, -turn)];
                    self.set_row([near, far], row, forms, frames, out);
                }
                Plain::Along(i, x) => {
                    let (a, d) = (self.axis_of(near, i, frames), q - p);
                    out.gap[first + row] = a.dot(d) - x;
                    let forms = [Covector::new(-a, a.cross(d)), Covector::new(a, Vec3::ZERO)];
                    self.set_row([near, far], row, forms, frames, out);
                }
            }
            row += 1;
        }
    }

    #[inline]
    fn set_row(
        &self,
        ends: [&SystemEnd; 2],
        row: usize,
        forms: [Covector; 2],
        frames: &[BodyFrame],
        out: &mut RealizedRows,
    ) {
        for (end, form) in ends.into_iter().zip(forms).filter(|(e, _)| e.body != GROUND) {
            let (b, width) = (end.body as usize, end.width as usize);
            let block = out.block(end.jacobian + (row * width) as u32, width);
            block.fill(0.0);
            each!(&self.bodies[b], body => body.pull(&frames[b], &end.on, form, 1.0, block));
        }
    }

    /// out += c Gᵀλ, or c Gᵀμ over the holonomic constraints, for one body.
    #[inline(always)]
    pub(super) fn add_multipliers(
        &self,
        body: usize,
        c: f64,
        of: Unknown,
        lambda: &[f64],
        w: &Realized,
        out: &mut [f64],
    ) {
        for pull in self.gradients.pulls.of(body).iter().filter(|pull| of != Unknown::Mu || pull.holonomic) {
            let first = if of == Unknown::Mu { pull.rate } else { pull.row };
            let (g, lambda) = (&w.jacobian[pull.jacobian as usize..], &lambda[first as usize..]);
            with_block!(pull.rows as usize, pull.width as usize, pull_back, c, g, lambda, out);
        }
    }

    /// out += c Gᵀλ, or c Gᵀμ over the holonomic constraints, for all bodies, where they are few. Each takes its constraints in the
    /// same order.
    pub(super) fn add_all_multipliers(&self, c: f64, of: Unknown, at: &Point, w: &Realized, out: &mut [f64]) {
        let lambda = if of == Unknown::Mu { &at.mu } else { &at.lambda };
        for t in self.gradients.blocks.iter().filter(|t| of != Unknown::Mu || t.holonomic) {
            let first = if of == Unknown::Mu { t.rate } else { t.row };
            let (g, lambda) = (&w.jacobian[t.jacobian as usize..], &lambda[first as usize..]);
            let out = &mut out[t.column as usize..];
            with_block!(t.rows as usize, t.width as usize, pull_back, c, g, lambda, out);
        }
    }

    /// The blocks of G of a constraint.
    fn blocks_of(&self, constraint: usize) -> &[GradientBlock] {
        &self.gradients.blocks
            [self.gradients.before[constraint] as usize..self.gradients.before[constraint + 1] as usize]
    }

    /// out += c G x, for one constraint.
    pub(super) fn add_times(&self, c: f64, constraint: usize, x: &[f64], w: &Realized, out: &mut [f64]) {
        for t in self.blocks_of(constraint) {
            let (g, x) = (&w.jacobian[t.jacobian as usize..], &x[t.column as usize..]);
            with_block!(t.rows as usize, t.width as usize, push, c, g, x, out);
        }
    }

    /// out += c (G v + g_t) of all constraints, where they are few and holonomic.
    pub(super) fn add_velocities(&self, c: f64, at: &Point, w: &Realized, out: &mut [f64]) {
        for t in &self.gradients.blocks {
            let (g, v) = (&w.jacobian[t.jacobian as usize..], &at.v[t.column as usize..]);
            with_block!(t.rows as usize, t.width as usize, push, c, g, v, &mut out[t.rate as usize..]);
        }
        for (constraint, rows) in self.constraints.iter().zip(&self.layout.rates).filter(|(k, _)| k.rheonomic) {
            self.add_time(c, constraint, at.t, &at.charts.inputs, 1, &mut out[rows.clone()]);
        }
    }

    /// Emits G, of all constraints.
    pub(super) fn emit_all(&self, c: f64, w: &Realized, out: &mut Targets) {
        if out.fresh && out.together && c == 1.0 {
            return out.set_together(self.gradients.blocks.len(), w.jacobian);
        }
        let (before, fresh) = (|k: usize| self.gradients.before[k] as usize, out.fresh);
        out.each_row(self.constraints.len(), before, |k, out| {
            for t in self.blocks_of(k) {
                let (g, block) = (&w.jacobian[t.jacobian as usize..], out.block(t.rows as usize, t.width as usize));
                match fresh {
                    true => with_block!(t.rows as usize, t.width as usize, put, c, g, block),
                    false => with_block!(t.rows as usize, t.width as usize, copy, c, g, block),
                }
            }
        });
    }

    /// Emits Gᵀ, of all constraints or of the holonomic ones.
    pub(super) fn emit_transposed(&self, c: f64, all: bool, w: &Realized, out: &mut Targets) {
        for t in self.gradients.blocks.iter().filter(|t| all || t.holonomic) {
            let (g, block) = (&w.jacobian[t.jacobian as usize..], out.block(t.width as usize, t.rows as usize));
            with_block!(t.rows as usize, t.width as usize, turn, c, g, block);
        }
    }
}

impl Hinge {
    /// g = (p₂ − p₁, a·b of every pair) and its rows ±(1, r × Rᵀ), ±(0, Rᵀ(a × b)).
    #[inline]
    fn realize<const PAIRS: usize>(&self, frames: &[BodyFrame], out: &mut RealizedRows) {
        let (mut at, mut world) = (self.points, self.axes);
        for k in 0..2 {
            if let Some(frame) = frames.get(self.bodies[k] as usize) {
                at[k] = frame.p + frame.r * self.points[k];
                for pair in 0..PAIRS {
                    world[pair][k] = frame.r * self.axes[pair][k];
                }
            }
        }
        let gap = &mut out.gap[self.row as usize - out.row..][..3 + PAIRS];
        gap[..3].copy_from_slice(&(at[1] - at[0]).0);
        let mut turn = [Vec3::ZERO; PAIRS];
        for pair in 0..PAIRS {
            let [a, b] = world[pair];
            gap[3 + pair] = a.dot(b);
            turn[pair] = a.cross(b);
        }
        for k in 0..2 {
            let Some(frame) = frames.get(self.bodies[k] as usize) else { continue };
            let sign = if k == 0 { -1.0 } else { 1.0 };
            let (rows, _) = out.block(self.jacobian[k], 6 * (3 + PAIRS)).as_chunks_mut::<6>();
            for i in 0..3 {
                let [x, y, z] = (self.points[k].cross(frame.r.row(i)) * sign).0;
                rows[i] = [0.0, 0.0, 0.0, x, y, z];
                rows[i][i] = sign;
            }
            for pair in 0..PAIRS {
                let [x, y, z] = frame.r.transpose_times(turn[pair] * -sign).0;
                rows[3 + pair] = [0.0, 0.0, 0.0, x, y, z];
            }
        }
    }
}

/// Where g and G of a range of constraints go.
pub(super) struct RealizedRows<'a> {
    jacobian: &'a mut [f64],
    first: usize,
    gap: &'a mut [f64],
    row: usize,
}

impl RealizedRows<'_> {
    /// A block of G that stands at a place of the workspace.
    #[inline]
    pub fn block(&mut self, jacobian: u32, size: usize) -> &mut [f64] {
        &mut self.jacobian[jacobian as usize - self.first..][..size]
    }
}

/// The items of a table with numbers in a range; they ascend.
fn between<'a, T>(table: &'a [T], range: &Range<usize>, number: impl Fn(&T) -> u32) -> &'a [T] {
    let before = |end: usize| table.partition_point(|item| (number(item) as usize) < end);
    &table[before(range.start)..before(range.end)]
}
