//! A compiled model: what is computed. Immutable, shared between threads.

use crate::bodies::{Body, Coordinates, each};
use crate::dynamics::*;
use crate::forces::{Force, MAX_STATES, MAX_SWITCHES, Seen, StateSlopes};
use crate::frames::*;
use crate::joints::{Equation, Motion, Plain};
use crate::model::{Model, Space};
use crate::shares::{LEAST, add_scaled, each_block, set_each_block, span};
use bellcrank_math::{Quat, Vec3, rotation, team};
use std::sync::Arc;

mod asked;
mod compile;
mod constraints;
mod plain;

use plain::{PLAIN, Pulls, Tables, Touch};

/// Stands for the ground where a body's number is expected.
pub const GROUND: u32 = u32::MAX;
/// By how much two bodies may turn against each other before turns are counted, in rad; they are told apart below π.
const UNCOUNTED: f64 = 0.2;
/// Stands for "no angle is measured here".
pub const NO_ANGLE: u32 = u32::MAX;

/// A place an element stands on.
#[derive(Clone, Copy, Debug)]
pub struct SystemEnd {
    /// The body, or [`GROUND`].
    pub body: u32,
    /// Where on it.
    pub on: Attachment,
    /// Where its block of G starts in the workspace, and how wide that is.
    jacobian: u32,
    width: u32,
}

/// The constraint block of a joint, or of a body's own coordinates.
pub struct Constraint {
    equations: Vec<Box<dyn Equation>>,
    /// The same as data, where all of them are plain; else none.
    plain: [Option<Plain>; PLAIN],
    /// The places it joins.
    pub ends: Vec<SystemEnd>,
    /// Their numbers in the order of the bodies they are on; the ground is last.
    order: [u8; MAX_ENDS],
    /// How many rows it has.
    pub rows: usize,
    /// The number of the joint it belongs to; `None` for a body's own, and for what a force holds.
    pub joint: Option<usize>,
    /// The number of the force that holds it.
    force: Option<usize>,
    holonomic: bool,
    straight: bool,
    rheonomic: bool,
    angle: u32,
}

struct PlacedForce {
    force: Arc<dyn Force>,
    ends: Vec<SystemEnd>,
    angle: u32,
    /// The number of its block of states, or [`NO_STATES`].
    states: u32,
    /// Its place among the modes, where it has switch functions.
    slot: Option<usize>,
    /// The mode in which these equations hold it, and its constraint block.
    held: Option<(Mode, usize)>,
}

const NO_STATES: u32 = u32::MAX;

/// A joint coordinate whose turns may have to be counted.
#[derive(Clone, Copy, Debug)]
pub struct Coordinate {
    /// The joint's number in the model.
    pub joint: usize,
    /// The motion it measures, between the first two places of the joint.
    pub motion: Motion,
    angle: u32,
}

/// Whose angle is counted.
#[derive(Clone, Copy)]
enum Owner {
    Joint(u32),
    Force(u32),
}

/// An angle whose turns are counted, and which places of its owner it is measured between.
struct Angle {
    of: Owner,
    ends: [u8; 2],
    motion: Motion,
    /// Whether an equation or a force needs it while a step is computed.
    acts: bool,
}

/// The equations of a compiled model.
pub struct System {
    /// The model it was compiled from.
    pub model: Model,
    layout: Layout,
    bodies: Vec<Body>,
    /// The number of the rotation chart of every body that has one, and the first coordinate of every chart.
    charts: Vec<u32>,
    charted: Vec<u32>,
    constraints: Vec<Constraint>,
    /// The constraint blocks of each joint: its holonomic equations, then the others.
    joint_blocks: Vec<std::ops::Range<usize>>,
    forces: Vec<PlacedForce>,
    angles: Vec<Angle>,
    coordinates: Vec<Coordinate>,
    gravity: Vec3,
    length: f64,
    /// Whether an equation or a force uses a counted angle.
    turns_act: bool,
    /// Whether all constraints are holonomic.
    holonomic: bool,
    /// The blocks of G, by constraint and end; those of constraint k are `touches_before[k]..touches_before[k + 1]`.
    touches: Vec<Touch>,
    touches_before: Vec<u32>,
    pulls: Pulls,
    tables: Tables,
    jacobian_size: usize,
}

/// (G u)_q of one constraint at the level of frames: the rows of G, and how they bend along u.
struct Drift {
    rows: [Row; MAX_ROWS],
    bend: [Row; MAX_ROWS],
}

/// The most coordinates of a body with a constraint of its own.
const OWN_WIDTH: usize = 6;

impl System {
    /// Whether the third coordinate of a body is its angle in the plane.
    pub fn counts_turns(&self, body: usize) -> bool {
        let plane = self.model.space == Space::Plane;
        plane && matches!(self.bodies[body], Body::Planar(_) | Body::Flexible(_))
    }

    #[inline]
    fn width(&self, body: u32) -> usize {
        self.layout.bodies[body as usize].len()
    }

    /// The state the model file describes: not yet assembled.
    pub fn initial_state(&self) -> State {
        let n = self.layout.n();
        let z = self.forces.iter().flat_map(|f| f.force.initial()).collect();
        let mut s = State { t: 0.0, q: vec![0.0; n], v: vec![0.0; n], z, charts: Charts::default() };
        for (b, entry) in self.model.bodies.iter().enumerate() {
            let range = self.layout.bodies[b].clone();
            let q = &mut s.q[range.clone()];
            each!(&self.bodies[b], body => body.coordinates(entry.at, entry.rotation, q));
            if self.counts_turns(b) {
                q[2] = entry.angle;
            }
            if self.charts[b] != u32::MAX {
                s.charts.centres.push(entry.rotation);
            }
            let mut frame = BodyFrame::default();
            each!(&self.bodies[b], body => {
                body.locate(&s.q[range.clone()], entry.rotation, &mut frame);
                let (v, w) = (entry.velocity.unwrap_or_default(), entry.angular_velocity.unwrap_or_default());
                body.velocities(&frame, v, w, &mut s.v[range])
            });
        }
        // in the plane the angles of the bodies count turns from the start
        let turn = |e: SystemEnd| match e.body {
            GROUND => 0.0,
            b if self.model.space == Space::Plane => self.model.bodies[b as usize].angle,
            _ => 0.0,
        };
        let turned = |a: &Angle| {
            let [first, second] = self.ends_of(a).map(turn);
            second - first
        };
        s.charts.angles = self.angles.iter().map(turned).collect();
        s.charts.inputs = self.model.inputs.iter().map(|input| input.start).collect();
        self.count_turns(&mut s, &mut self.workspace());
        s
    }

    /// Copies the coordinates, velocities and chart of a body out of a point of another system.
    pub fn copy_body(&self, body: usize, state: &mut State, from: &System, other: usize, source: &Point) {
        let (to, range) = (self.layout.bodies[body].clone(), from.layout.bodies[other].clone());
        state.q[to.clone()].copy_from_slice(&source.q[range.clone()]);
        state.v[to].copy_from_slice(&source.v[range]);
        if let (Some(to), Some(centre)) = (
            state.charts.centres.get_mut(self.charts[body] as usize),
            source.charts.centres.get(from.charts[other] as usize),
        ) {
            *to = *centre;
        }
    }

    pub(crate) fn count_turns(&self, s: &mut State, w: &mut Workspace) {
        if self.angles.is_empty() {
            return;
        }
        let passed = s.t - s.charts.time;
        // as long as nothing can have turned far, the last count will do
        if passed > 0.0 && s.charts.rates.len() == self.angles.len() && self.can_wait(passed, &s.v) {
            return;
        }
        self.locate(&s.q, &s.charts, w);
        s.charts.rates.resize(self.angles.len(), 0.0);
        for (angle, (old, old_rate)) in self.angles.iter().zip(s.charts.angles.iter_mut().zip(&mut s.charts.rates)) {
            let ends = self.ends_of(angle).map(|e| self.frame(&e, w, Some(&s.v)));
            let seen = Frames { t: s.t, ends: &ends, near: &[] };
            let gradient = angle.motion.gradient(&seen);
            let rate = gradient[0].on(&ends[0]) + gradient[1].on(&ends[1]);
            *old = angle.motion.between().value_near(&seen, *old + 0.5 * passed * (*old_rate + rate));
            *old_rate = rate;
        }
        s.charts.time = s.t;
    }

    /// Whether turns need not be counted yet: no equation or force uses them, and frames turned against each
    /// other by less than [`UNCOUNTED`].
    fn can_wait(&self, passed: f64, v: &[f64]) -> bool {
        let spin = |b: usize| each!(&self.bodies[b], body => body.spin(&v[self.layout.bodies[b].clone()]));
        let slow = |mut bodies: std::ops::Range<usize>| bodies.all(|b| 2.0 * passed * spin(b) < UNCOUNTED);
        !self.turns_act && team::reduced(self.bodies.len(), slow, |a, b| a && b)
    }

    /// What the angles that equations or forces use are near to at a located point.
    fn approximate_turns(&self, at: &Point, w: &mut Workspace) {
        let passed = at.t - at.charts.time;
        for (k, angle) in self.angles.iter().enumerate().filter(|(_, angle)| angle.acts) {
            // by the mean of the rates, as at the end of the step: a step may pass many turns
            let before = at.charts.rates.get(k).copied().unwrap_or(0.0);
            let now = if passed != 0.0 { self.turn_rate(angle, at, w) } else { before };
            w.near[k] = at.charts.angles[k] + 0.5 * passed * (before + now);
        }
    }

    /// The places an angle is measured between.
    fn ends_of(&self, angle: &Angle) -> [SystemEnd; 2] {
        let ends = match angle.of {
            Owner::Joint(j) => &self.model.joints[j as usize].ends,
            Owner::Force(f) => &self.model.forces[f as usize].ends,
        };
        angle.ends.map(|k| place(&ends[k as usize]))
    }

    fn locate(&self, q: &[f64], charts: &Charts, w: &mut Workspace) {
        let mut rest = &mut w.bodies[..];
        team::divided(
            self.bodies.len(),
            LEAST,
            |bodies| (bodies.clone(), team::cut(&mut rest, bodies.len())),
            |(bodies, frames)| {
                for (b, frame) in bodies.zip(frames) {
                    let centre = match self.charts[b] {
                        u32::MAX => Quat::IDENTITY,
                        c => charts.centres[c as usize],
                    };
                    each!(&self.bodies[b], body => body.locate(&q[self.layout.bodies[b].clone()], centre, frame));
                }
            },
        );
    }

    /// A frame at one end, with its twist under the velocities `v` (none: at rest).
    #[inline]
    fn frame(&self, end: &SystemEnd, w: &Workspace, v: Option<&[f64]>) -> Frame {
        if end.body == GROUND {
            return Frame { p: end.on.point, r: end.on.axes, ..Frame::default() };
        }
        let b = end.body as usize;
        let frame = &w.bodies[b];
        each!(&self.bodies[b], body => {
            let (v, w) = match v {
                Some(v) => body.twist(frame, &end.on, &v[self.layout.bodies[b].clone()]),
                None => Default::default(),
            };
            Frame { p: body.point(frame, &end.on), r: body.rotation(frame, &end.on), v, w }
        })
    }

    #[inline]
    fn frames(&self, ends: &[SystemEnd], w: &Workspace, v: Option<&[f64]>) -> [Frame; MAX_ENDS] {
        let mut out = [Frame::default(); MAX_ENDS];
        for (f, end) in out.iter_mut().zip(ends) {
            *f = self.frame(end, w, v);
        }
        out
    }

    /// The counted angles of an element, from its first one on.
    #[inline]
    fn near(angle: u32, w: &Workspace) -> &[f64] {
        if angle == NO_ANGLE { &[] } else { &w.near[angle as usize..] }
    }

    /// Adds Bᵀ(load) of one end into the forces on its body.
    #[inline]
    fn pull(&self, end: &SystemEnd, w: &Workspace, load: Covector, c: f64, out: &mut [f64]) {
        let b = end.body as usize;
        each!(&self.bodies[b], body => body.pull(&w.bodies[b], &end.on, load, c, out));
    }

    /// `out += c · piece` for one body, of forces those of its own: weight, gyroscopic and inner ones.
    #[inline(always)]
    fn add_to_body(&self, b: usize, c: f64, piece: Piece, at: &Point, w: &Workspace, out: &mut [f64]) {
        let (range, frame) = (self.layout.bodies[b].clone(), &w.bodies[b]);
        match piece {
            Piece::MassAccel => each!(&self.bodies[b], body => body.add_mass_times(frame, c, &at.vdot[range], out)),
            Piece::Force => each!(&self.bodies[b], body => {
                body.add_weight(frame, self.gravity, c, out);
                body.add_inner(frame, c, &at.v[range], out);
            }),
            Piece::GtLambda => self.add_multipliers(b, c, Unknown::Lambda, &at.lambda, w, out),
            Piece::GtMu => self.add_multipliers(b, c, Unknown::Mu, &at.mu, w, out),
            Piece::Rate => {
                let (q, qdot) = (&at.q[range.clone()], &at.qdot[range]);
                let add = |out: &mut [f64], x: &[f64]| out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x);
                match each!(&self.bodies[b], body => body.chart()) {
                    None => add(out, qdot),
                    Some(k) => {
                        add(&mut out[..k], &qdot[..k]);
                        let (phi, rate) = (Vec3::from_slice(&q[k..k + 3]), Vec3::from_slice(&qdot[k..k + 3]));
                        add(&mut out[k..k + 3], &(rotation::tangent(phi) * rate).0);
                        add(&mut out[k + 3..], &qdot[k + 3..]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the forces of the catalog.
    fn add_forces_to(&self, c: f64, at: &Point, w: &Workspace, out: &mut [f64]) {
        for f in &self.forces {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let mut loads = [Covector::default(); MAX_ENDS];
            let seen = self.seen(f, at, &frames, w);
            f.force.load(&seen, &mut loads[..f.ends.len()]);
            for (end, load) in f.ends.iter().zip(loads).filter(|(e, _)| e.body != GROUND) {
                self.pull(end, w, load, c, &mut out[self.layout.bodies[end.body as usize].clone()]);
            }
        }
    }

    fn seen<'a>(&self, f: &PlacedForce, at: &'a Point, frames: &'a [Frame; MAX_ENDS], w: &'a Workspace) -> Seen<'a> {
        let z = self.layout.states.get(f.states as usize).map_or(&[][..], |range| &at.z[range.clone()]);
        let mode = f.slot.and_then(|slot| at.charts.modes.get(slot).copied()).unwrap_or(BY_VALUE);
        // what holds the force in another mode does not tell about this one
        let held = f.held.filter(|(held, _)| *held == mode);
        let lambda = held.map_or(0.0, |(_, block)| at.lambda[self.layout.constraints[block].start]);
        let inputs = &at.charts.inputs;
        Seen { t: at.t, inputs, ends: &frames[..f.ends.len()], near: Self::near(f.angle, w), z, mode, lambda }
    }

    /// The equations with what the modes hold; `None` if they are these.
    pub(crate) fn with_modes(&self, modes: &[Mode]) -> Option<System> {
        let same = self.switching().all(|(_, f)| {
            let mode = f.slot.and_then(|slot| modes.get(slot).copied()).unwrap_or(BY_VALUE);
            match f.held {
                Some((held, _)) => held == mode,
                None => f.force.holds(mode).is_none(),
            }
        });
        if same { None } else { Some(System::new(self.model.clone(), modes)) }
    }

    /// Whether an event may let velocities jump, or hold a motion.
    pub fn jumps(&self) -> bool {
        self.forces.iter().any(|f| f.slot.is_some() && f.force.jumps())
    }

    /// The forces with switch functions, each with the number of the first of them.
    fn switching(&self) -> impl Iterator<Item = (usize, &PlacedForce)> {
        let forces = self.forces.iter().filter(|f| f.slot.is_some());
        forces.scan(0, |next, f| {
            let first = *next;
            *next += f.force.switches();
            Some((first, f))
        })
    }

    /// The forces with states, each with its part of z.
    fn stateful(&self) -> impl Iterator<Item = (&PlacedForce, std::ops::Range<usize>)> {
        let forces = self.forces.iter().filter(|f| f.states != NO_STATES);
        forces.map(|f| (f, self.layout.states[f.states as usize].clone()))
    }

    /// The blocks of states with the bodies their forces stand on.
    fn state_pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.stateful().flat_map(|(f, _)| f.ends.iter().filter(|e| e.body != GROUND).map(|e| (f.states, e.body)))
    }

    /// out += c φ.
    fn add_flow(&self, c: f64, at: &Point, w: &Workspace, out: &mut [f64]) {
        for (f, range) in self.stateful() {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let mut flow = [0.0; MAX_STATES];
            f.force.flow(&self.seen(f, at, &frames, w), &mut flow[..range.len()]);
            out[range].iter_mut().zip(flow).for_each(|(o, x)| *o += c * x);
        }
    }

    /// The blocks of ∂φ/∂unknown and of ∂f/∂z.
    fn add_state_derivative(&self, c: f64, piece: Piece, wrt: Unknown, at: &Point, w: &Workspace, out: &mut Targets) {
        for (f, range) in self.stateful() {
            let n = range.len();
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let mut slopes = StateSlopes::default();
            f.force.state_slopes(&self.seen(f, at, &frames, w), &mut slopes);
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
                        body.twist_stiffness(frame, &end.on, &at.v[coordinates.clone()], by_twist, c, row);
                    });
                }
            }
        }
    }
}

fn place(end: &crate::model::End) -> SystemEnd {
    SystemEnd { body: end.body.map_or(GROUND, |b| b as u32), on: end.on, jacobian: 0, width: 0 }
}

/// All pairs of ends that stand on bodies.
fn pairs(ends: &[SystemEnd]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let n = ends.len();
    let stands = move |i: usize| ends[i].body != GROUND;
    (0..n).filter(move |&i| stands(i)).flat_map(move |i| (0..n).filter(move |&j| stands(j)).map(move |j| (i, j)))
}

impl Constraint {
    /// The ends that stand on bodies, with their numbers, in the order of the bodies: that of the blocks of G.
    fn touching(&self) -> impl Iterator<Item = (usize, &SystemEnd)> + '_ {
        let ends = self.order.iter().filter_map(|&k| Some((k as usize, self.ends.get(k as usize)?)));
        ends.take_while(|(_, end)| end.body != GROUND)
    }

    /// The pairs of ends that (Gᵀλ)_q has blocks for: where equations are straight, each end with itself.
    fn bent_pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        pairs(&self.ends).filter(|(i, j)| !self.straight || self.equations.is_empty() || i == j)
    }
}

impl Dynamics for System {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn workspace(&self) -> Workspace {
        Workspace {
            bodies: vec![BodyFrame::default(); self.bodies.len()],
            near: vec![0.0; self.angles.len()],
            jacobian: vec![0.0; self.jacobian_size],
            gap: vec![0.0; self.layout.m()],
            scratch: vec![0.0; self.layout.n()],
            ..Workspace::default()
        }
    }

    fn realize(&self, at: &Point, w: &mut Workspace) {
        if w.valid {
            return;
        }
        self.locate(&at.q, &at.charts, w);
        if self.turns_act {
            self.approximate_turns(at, w);
        }
        self.realize_constraints(at, w);
        w.valid = true;
    }

    fn add(&self, c: f64, piece: Piece, at: &Point, whole: &mut Workspace, out: &mut [f64]) {
        let mut scratch = std::mem::take(&mut whole.scratch);
        let w: &Workspace = whole;
        let add = |out: &mut [f64], x: &[f64]| out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x);
        match piece {
            Piece::Rate | Piece::GtMu | Piece::GtLambda | Piece::MassAccel => {
                each_block(&self.layout.bodies, out, |b, out| self.add_to_body(b, c, piece, at, w, out))
            }
            Piece::Speed => add_scaled(c, &at.v, out),
            Piece::MinvGtMu => {
                self.mean_drift(at, w, &mut scratch);
                add(out, &scratch);
            }
            Piece::Force => {
                each_block(&self.layout.bodies, out, |b, out| self.add_to_body(b, c, piece, at, w, out));
                self.add_forces_to(c, at, w, out);
            }
            Piece::Position if !self.tables.mixed => add_scaled(c, &w.gap, out),
            Piece::Position => each_block(&self.layout.constraints, out, |k, out| {
                let constraint = &self.constraints[k];
                if constraint.plain[0].is_some() {
                    return add(out, &w.gap[self.layout.constraints[k].clone()]);
                }
                if !constraint.holonomic {
                    return self.add_velocity(c, k, at, w, out);
                }
                if constraint.equations.is_empty() {
                    let b = constraint.ends[0].body as usize;
                    let q = &at.q[self.layout.bodies[b].clone()];
                    out[0] += c * each!(&self.bodies[b], body => body.own_value(q));
                    return;
                }
                let frames = self.frames(&constraint.ends, w, None);
                let near = Self::near(constraint.angle, w);
                let seen = Frames { t: at.t, ends: &frames[..constraint.ends.len()], near };
                let mut g = [0.0; MAX_ROWS];
                let mut first = 0;
                for e in &constraint.equations {
                    e.value(&seen, &mut g[first..first + e.rows()]);
                    first += e.rows();
                }
                add(out, &g[..first]);
            }),
            Piece::Velocity => each_block(&self.layout.rates, out, |k, out| {
                if !out.is_empty() {
                    self.add_velocity(c, k, at, w, out);
                }
            }),
            Piece::Acceleration => each_block(&self.layout.constraints, out, |k, out| {
                let constraint = &self.constraints[k];
                self.add_times(c, k, &at.vdot, w, out);
                if let [Some(Plain::Coincide(_)), None, ..] = constraint.plain {
                    return add(out, &self.coincidence_bias(constraint, at, w).0);
                }
                self.add_time(c, constraint, at.t, &at.charts.inputs, 2, out);
                let drift = self.drift(constraint, at, w, &at.v);
                for (r, o) in out.iter_mut().enumerate() {
                    for (k, end) in constraint.ends.iter().enumerate().filter(|(_, e)| e.body != GROUND) {
                        let v = &at.v[self.layout.bodies[end.body as usize].clone()];
                        let mut row = [0.0; MAX_WIDTH];
                        self.add_drift(1.0, constraint, &drift, (r, k), &at.v, w, &mut row[..v.len()]);
                        *o += c * row.iter().zip(v).map(|(d, v)| d * v).sum::<f64>();
                    }
                }
            }),
            Piece::ZDot => add(out, &at.zdot),
            Piece::Flow => self.add_flow(c, at, w, out),
        }
        whole.scratch = scratch;
    }

    /// The balance of forces in one pass over the bodies: those of large models come from memory each time they are looked at.
    fn set(&self, terms: &[(f64, Piece)], at: &Point, w: &mut Workspace, out: &mut [f64]) {
        if let ([(c, Piece::Position)], false) = (terms, self.tables.mixed) {
            return team::fill([out], |range, [out]| {
                out.iter_mut().zip(&w.gap[range]).for_each(|(o, g)| *o = c * g);
            });
        }
        if !terms.iter().any(|t| t.1 == Piece::MassAccel) {
            return set_by_pieces(self, terms, at, w, out);
        }
        let factor = |piece: Piece| terms.iter().filter(|t| t.1 == piece).map(|t| t.0).sum::<f64>();
        let [mass, force, reactions] = [Piece::MassAccel, Piece::Force, Piece::GtLambda].map(factor);
        let seen = &*w;
        set_each_block(&self.layout.bodies, out, |b, out| {
            let (range, frame) = (self.layout.bodies[b].clone(), &seen.bodies[b]);
            each!(&self.bodies[b], body => {
                body.add_mass_times(frame, mass, &at.vdot[range.clone()], out);
                body.add_weight(frame, self.gravity, force, out);
                body.add_inner(frame, force, &at.v[range], out);
            });
            self.add_multipliers(b, reactions, Unknown::Lambda, &at.lambda, seen, out);
        });
        for &(c, piece) in terms {
            match piece {
                Piece::MassAccel | Piece::GtLambda => {}
                Piece::Force => self.add_forces_to(c, at, w, out),
                _ => self.add(c, piece, at, w, out),
            }
        }
    }

    fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        use Piece::*;
        let bodies = 0..self.bodies.len() as u32;
        let diagonal = || bodies.clone().map(|b| (b, b)).collect();
        let pairs_of = |ends: &[SystemEnd]| pairs(ends).map(|(i, j)| (ends[i].body, ends[j].body)).collect::<Vec<_>>();
        // the constraints that have rows (or columns) of the asked kind
        let chosen = |of: &'static str| {
            self.constraints.iter().enumerate().filter(move |(_, c)| match of {
                "holonomic" => c.holonomic,
                "nonholonomic" => !c.holonomic,
                _ => true,
            })
        };
        let rows = |of| chosen(of).flat_map(|(k, c)| bodies_of(c).map(move |b| (k as u32, b))).collect();
        let columns = |of| chosen(of).flat_map(|(k, c)| bodies_of(c).map(move |b| (b, k as u32))).collect();
        let stiffness = |of| {
            let ends =
                |c: &Constraint| c.bent_pairs().map(|(i, j)| (c.ends[i].body, c.ends[j].body)).collect::<Vec<_>>();
            chosen(of).flat_map(|(_, c)| ends(c)).collect()
        };
        match (piece, wrt) {
            (Rate, Unknown::Q) | (Speed, Unknown::V) | (MassAccel, Unknown::V) => diagonal(),
            (GtMu, Unknown::Q) => stiffness("holonomic"),
            (MinvGtMu, Unknown::Q) => {
                let pairs: Vec<(u32, u32)> = stiffness("holonomic");
                self.varying().map(|b| (b as u32, b as u32)).chain(pairs).collect()
            }
            (MassAccel, Unknown::Q) => self.varying().map(|b| (b as u32, b as u32)).collect(),
            (GtMu | MinvGtMu, Unknown::Mu) => columns("holonomic"),
            (GtLambda, Unknown::Q) => stiffness("all"),
            (GtLambda, Unknown::Lambda) => columns("all"),
            (Force, Unknown::Q) => {
                let own = self.varying().map(|b| (b as u32, b as u32));
                own.chain(self.forces.iter().flat_map(|f| pairs_of(&f.ends))).collect()
            }
            (Force, Unknown::V) => {
                let own = self.with_inner().map(|b| (b as u32, b as u32));
                own.chain(self.forces.iter().filter(|f| f.force.damped()).flat_map(|f| pairs_of(&f.ends))).collect()
            }
            (Position, Unknown::Q) => rows("all"),
            (Position, Unknown::V) => rows("nonholonomic"),
            (Velocity, Unknown::Q | Unknown::V) => rows("holonomic"),
            (Acceleration, Unknown::Q | Unknown::V) => rows("all"),
            (ZDot | Flow, Unknown::Z) => (0..self.layout.states.len() as u32).map(|k| (k, k)).collect(),
            (Flow, Unknown::Q | Unknown::V) => self.state_pairs().collect(),
            (Force, Unknown::Z) => self.state_pairs().map(|(k, b)| (b, k)).collect(),
            _ => Vec::new(),
        }
    }

    fn add_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        whole: &mut Workspace,
        out: &mut Targets,
    ) {
        use Piece::*;
        let mut scratch = std::mem::take(&mut whole.scratch);
        let w: &Workspace = whole;
        match (piece, wrt) {
            (Rate, Unknown::Q) => {
                for (body, range) in self.bodies.iter().zip(&self.layout.bodies) {
                    let n = range.len();
                    let block = out.block(n, n);
                    (0..n).for_each(|i| block[i * n + i] += c * slopes.q);
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
            (Speed, Unknown::V) => {
                for range in &self.layout.bodies {
                    let n = range.len();
                    let block = out.block(n, n);
                    (0..n).for_each(|i| block[i * n + i] += c);
                }
            }
            (MassAccel, Unknown::V) => {
                let (c, fresh) = (c * slopes.v, out.fresh);
                out.each_row(
                    self.bodies.len(),
                    |b| b,
                    |b, out| {
                        let n = self.width(b as u32);
                        let (frame, block) = (&w.bodies[b], out.block(n, n));
                        each!(&self.bodies[b], body => match fresh {
                            true => body.set_mass(frame, c, block),
                            false => body.add_mass(frame, c, block),
                        })
                    },
                )
            }
            (MassAccel, Unknown::Q) => {
                for b in self.varying() {
                    let range = self.layout.bodies[b].clone();
                    let block = out.block(range.len(), range.len());
                    each!(&self.bodies[b], body => body.mass_stiffness(&w.bodies[b], &at.vdot[range], c, block));
                }
            }
            (GtMu | MinvGtMu | GtLambda, Unknown::Q) => {
                let (multipliers, ranges) = match piece {
                    GtLambda => (&at.lambda, &self.layout.constraints),
                    _ => (&at.mu, &self.layout.rates),
                };
                if piece == MinvGtMu && self.varying().next().is_some() {
                    self.add_mean_drift_by_mass(c, at, w, &mut scratch, out);
                }
                for (constraint, range) in self.constraints.iter().zip(ranges).filter(|(_, r)| !r.is_empty()) {
                    let lambda = &multipliers[range.clone()];
                    let mut ends = constraint.bent_pairs();
                    self.add_multiplier_stiffness(c, constraint, lambda, at, w, |body, fill| {
                        let (i, j) = ends.next().unwrap_or((0, 0));
                        let (rows, columns) =
                            (self.width(constraint.ends[i].body), self.width(constraint.ends[j].body));
                        let block = out.block(rows, columns);
                        if piece != MinvGtMu {
                            return fill(block);
                        }
                        scratch.clear();
                        scratch.resize(rows * columns, 0.0);
                        fill(&mut scratch);
                        add_by_columns(block, rows, columns, |j, column| {
                            (0..rows).for_each(|i| column[i] = scratch[i * columns + j]);
                            each!(&self.bodies[body], b => b.divide_by_mass(&w.bodies[body], column));
                        });
                    });
                }
            }
            (GtMu, Unknown::Mu) | (GtLambda, Unknown::Lambda) => {
                self.emit_transposed(c, piece == GtLambda, w, out);
            }
            (MinvGtMu, Unknown::Mu) => {
                for constraint in self.constraints.iter().filter(|k| k.holonomic) {
                    for (_, end) in constraint.touching() {
                        let (n, m) = (self.width(end.body), constraint.rows);
                        let g = &w.jacobian[end.jacobian as usize..end.jacobian as usize + m * n];
                        let block = out.block(n, m);
                        add_by_columns(block, n, m, |j, column| {
                            column.iter_mut().zip(&g[j * n..]).for_each(|(o, g)| *o = c * g);
                            let b = end.body as usize;
                            each!(&self.bodies[b], body => body.divide_by_mass(&w.bodies[b], column));
                        });
                    }
                }
            }
            (Force, Unknown::Q | Unknown::V) => self.add_force_derivative(c, wrt, at, w, out),
            (Force, Unknown::Z) | (Flow, Unknown::Q | Unknown::V | Unknown::Z) => {
                self.add_state_derivative(c, piece, wrt, at, w, out)
            }
            (Position, Unknown::Q) if self.holonomic => self.emit_all(c, w, out),
            (Position, Unknown::Q | Unknown::V) | (Velocity, Unknown::Q | Unknown::V) => {
                for constraint in &self.constraints {
                    let drifts = (piece == Velocity) == constraint.holonomic; // a velocity row
                    match (piece, wrt, constraint.holonomic) {
                        (Position, Unknown::V, true) | (Velocity, _, false) => continue,
                        (_, Unknown::Q, _) if drifts => self.emit_drift(c, constraint, &at.v, at, w, out),
                        _ => self.emit_jacobian(c, constraint, w, out),
                    }
                }
            }
            // ∂((G v)_q v)/∂q is left out: it is small against G v̇ while steps resolve the motion
            (Acceleration, Unknown::Q) => {
                for constraint in &self.constraints {
                    self.emit_drift(c, constraint, &at.vdot, at, w, out);
                }
            }
            (Acceleration, Unknown::V) => {
                for constraint in &self.constraints {
                    let before = out.mark();
                    self.emit_jacobian(c * slopes.v, constraint, w, out);
                    out.back_to(before);
                    self.emit_drift(2.0 * c, constraint, &at.v, at, w, out);
                }
            }
            (ZDot, Unknown::Z) => {
                for range in &self.layout.states {
                    let n = range.len();
                    let block = out.block(n, n);
                    (0..n).for_each(|i| block[i * n + i] += c * slopes.z);
                }
            }
            _ => {}
        }
        whole.scratch = scratch;
    }

    fn retract(&self, c: f64, q: &mut [f64], delta: &[f64]) {
        if self.flat() {
            return add_scaled(c, delta, q);
        }
        let add = |q: &mut [f64], d: &[f64]| q.iter_mut().zip(d).for_each(|(q, d)| *q += c * d);
        each_block(&self.layout.bodies, q, |b, q| {
            let delta = &delta[self.layout.bodies[b].clone()];
            let Some(k) = each!(&self.bodies[b], body => body.chart()) else { return add(q, delta) };
            add(&mut q[..k], &delta[..k]);
            let phi = Vec3::from_slice(&q[k..k + 3]);
            let step = rotation::inverse_tangent(phi) * (Vec3::from_slice(&delta[k..k + 3]) * c);
            q[k..k + 3].copy_from_slice(&(phi + step).0);
            add(&mut q[k + 3..], &delta[k + 3..]);
        });
    }

    fn rates(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        each_block(&self.layout.bodies, qdot, |b, qdot| {
            let range = self.layout.bodies[b].clone();
            let (q, v) = (&q[range.clone()], &v[range]);
            qdot.copy_from_slice(v);
            if let Some(k) = each!(&self.bodies[b], body => body.chart()) {
                let n = rotation::inverse_tangent(Vec3::from_slice(&q[k..k + 3]));
                qdot[k..k + 3].copy_from_slice(&(n * Vec3::from_slice(&v[k..k + 3])).0);
            }
        });
    }

    fn velocities(&self, q: &[f64], qdot: &[f64], v: &mut [f64]) {
        each_block(&self.layout.bodies, v, |b, v| {
            let range = self.layout.bodies[b].clone();
            let (q, qdot) = (&q[range.clone()], &qdot[range]);
            v.copy_from_slice(qdot);
            if let Some(k) = each!(&self.bodies[b], body => body.chart()) {
                let t = rotation::tangent(Vec3::from_slice(&q[k..k + 3]));
                v[k..k + 3].copy_from_slice(&(t * Vec3::from_slice(&qdot[k..k + 3])).0);
            }
        });
    }

    fn sets(&self, piece: Piece, wrt: Unknown) -> bool {
        match (piece, wrt) {
            (Piece::Position, Unknown::Q) => self.holonomic,
            (Piece::MassAccel, Unknown::V) => true,
            _ => false,
        }
    }

    fn keeps_gradients(&self) -> bool {
        self.holonomic
    }

    fn settle_past(&self, limit: f64, state: &mut State, w: &mut Workspace) -> bool {
        w.invalidate();
        self.count_turns(state, w);
        w.recentred.moves.clear();
        for (&i, centre) in self.charted.iter().zip(&mut state.charts.centres) {
            let i = i as usize;
            let phi = Vec3::from_slice(&state.q[i..i + 3]);
            if phi.norm() > limit {
                let change = ChartMove::to(i, phi);
                *centre = centre.then(change.turn.conjugate());
                state.q[i..i + 3].fill(0.0);
                w.recentred.moves.push(change);
            }
        }
        !w.recentred.moves.is_empty()
    }

    fn flat(&self) -> bool {
        self.charted.is_empty()
    }

    fn scales(&self) -> Vec<Scale> {
        let scales = |b: &Body| -> Vec<Scale> { each!(b, b => (0..b.width()).map(|i| b.scale(i)).collect()) };
        self.bodies.iter().flat_map(scales).collect()
    }

    fn length(&self) -> f64 {
        self.length
    }

    fn name(&self, of: Unknown, block: usize) -> String {
        match of {
            Unknown::Q | Unknown::V => format!("body `{}`", self.model.bodies[block].name),
            Unknown::Z => {
                let force = self.forces.iter().position(|f| f.states as usize == block);
                force.map_or_else(String::new, |i| format!("force `{}`", self.model.forces[i].name))
            }
            Unknown::Lambda | Unknown::Mu => match self.constraints[block].joint {
                Some(joint) => format!("joint `{}`", self.model.joints[joint].name),
                None if self.constraints[block].force.is_some() => {
                    let force = self.constraints[block].force.unwrap_or(0);
                    format!("force `{}`", self.model.forces[force].name)
                }
                None => {
                    let body = self.constraints[block].ends[0].body as usize;
                    format!("the length of rod `{}`", self.model.bodies[body].name)
                }
            },
        }
    }

    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy {
        let mut e = Energy::default();
        for (b, body) in self.bodies.iter().enumerate() {
            let v = &at.v[self.layout.bodies[b].clone()];
            let mut momentum = [0.0; MAX_WIDTH];
            each!(body, body => {
                body.add_mass_times(&w.bodies[b], 1.0, v, &mut momentum[..v.len()]);
                e.stored += body.stored(&w.bodies[b]);
                e.stored -= body.mass() * self.gravity.dot(body.centre_of_mass(&w.bodies[b]));
                e.power -= body.dissipated(v);
            });
            e.kinetic += 0.5 * momentum.iter().zip(v).map(|(p, v)| p * v).sum::<f64>();
        }
        for f in &self.forces {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let seen = self.seen(f, at, &frames, w);
            e.stored += f.force.stored(&seen);
            e.power += f.force.power(&seen);
        }
        // a rheonomic constraint works: the reactions −Gᵀλ have the power λ·g_t
        for (constraint, range) in self.constraints.iter().zip(&self.layout.constraints).filter(|(c, _)| c.rheonomic) {
            let mut g_t = [0.0; MAX_ROWS];
            self.add_time(1.0, constraint, at.t, &at.charts.inputs, 1, &mut g_t[..constraint.rows]);
            e.power += g_t.iter().zip(&at.lambda[range.clone()]).map(|(g, l)| g * l).sum::<f64>();
        }
        e
    }

    fn balance(&self, at: &Point, w: &mut Workspace, out: &mut Balance) -> bool {
        crate::balance::balance(self, at, w, out);
        true
    }

    fn channels(&self) -> Vec<Channel> {
        crate::channels::list(self)
    }

    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        crate::channels::observe(self, at, w, |joint, w| self.reaction(joint, at, w), out);
    }

    fn start(&self) -> Vec<StartRow> {
        let mut rows: Vec<StartRow> = Vec::new();
        for s in &self.model.start {
            let mut of_joint = self.coordinates.iter().enumerate().filter(|(_, c)| c.joint == s.joint);
            let Some((coordinate, _)) = of_joint.nth(s.motion) else { continue };
            match rows.iter_mut().find(|r| r.coordinate == coordinate) {
                Some(row) => {
                    row.value = row.value.or(s.value);
                    row.rate = row.rate.or(s.rate);
                }
                None => rows.push(StartRow {
                    coordinate,
                    value: s.value,
                    rate: s.rate,
                    name: self.model.joints[s.joint].name.clone(),
                }),
            }
        }
        rows
    }

    fn start_row(&self, row: &StartRow, at: &Point, w: &Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let c = &self.coordinates[row.coordinate];
        let (value, rate) = self.coordinate(c, at, w);
        let target = row.value.unwrap_or(value);
        let turn = c.motion.turns();
        // an angle is reached the short way, whatever turn it is on
        let off = if turn { nearest_turn(value - target, 0.0) } else { value - target };
        (off, rate - row.rate.unwrap_or(rate), self.coordinate_gradient(c, at, w))
    }

    fn velocity_given(&self, i: usize) -> bool {
        let b = self.layout.bodies.partition_point(|r| r.end <= i);
        let entry = &self.model.bodies[b];
        match each!(&self.bodies[b], body => body.scale(i - self.layout.bodies[b].start)) {
            _ if self.elastic(i) => true,
            Scale::Angle => entry.angular_velocity.is_some(),
            _ => entry.velocity.is_some(),
        }
    }

    fn integrable(&self, constraint: usize) -> bool {
        self.constraints[constraint].equations.iter().all(|e| e.integrable())
    }

    fn carries(&self, constraint: usize) -> Carries {
        let c = &self.constraints[constraint];
        match (c.joint.map(|j| self.model.joints[j].tree), c.force) {
            (Some(Some(true)), _) => Carries::Wanted,
            (Some(Some(false)), _) | (None, Some(_)) => Carries::Never,
            (Some(None), _) => Carries::Maybe,
            (None, None) => Carries::Own,
        }
    }

    fn held(&self, body: usize) -> bool {
        self.model.bodies[body].fixed
    }

    fn elastic(&self, i: usize) -> bool {
        let b = self.layout.bodies.partition_point(|r| r.end <= i);
        each!(&self.bodies[b], body => body.elastic(i - self.layout.bodies[b].start))
    }

    fn quasi_static(&self, body: usize) -> bool {
        matches!(&self.bodies[body], Body::Flexible(f) if f.structure().quasi_static)
    }

    fn switches(&self) -> usize {
        self.forces.iter().filter(|f| f.slot.is_some()).map(|f| f.force.switches()).sum()
    }

    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        out.fill(f64::INFINITY);
        for (first, f) in self.switching() {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let values = &mut out[first..first + f.force.switches().min(MAX_SWITCHES)];
            f.force.switch_values(&self.seen(f, at, &frames, w), values);
        }
    }

    fn reactive(&self) -> bool {
        self.forces.iter().any(|f| f.held.is_some())
    }

    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let mode = |(_, f): (usize, &PlacedForce)| {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            f.force.mode(&self.seen(f, at, &frames, w))
        };
        self.switching().map(mode).collect()
    }

    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let (first, f) = self.switching().take_while(|(first, _)| *first <= k).last()?;
        let frames = self.frames(&f.ends, w, Some(&at.v));
        let switch = f.force.cross(k - first, &self.seen(f, at, &frames, w));
        let number = self.forces.iter().position(|g| g.slot == f.slot)?;
        let impact = switch.jump.map(|(forms, after)| {
            let mut row = vec![0.0; self.layout.n()];
            for (end, form) in f.ends.iter().zip(forms).filter(|(e, _)| e.body != GROUND) {
                self.pull(end, w, form, 1.0, &mut row[self.layout.bodies[end.body as usize].clone()]);
            }
            Impact { row, after }
        });
        let name = format!("force `{}`", self.model.forces[number].name);
        Some(Crossing { slot: f.slot?, mode: switch.mode, name, what: switch.what, impact })
    }

    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        self.with_modes(modes).map(|system| Arc::new(system) as Arc<dyn Dynamics>)
    }

    fn may_stick(&self) -> Option<String> {
        let sticks = |f: &PlacedForce| {
            let mut modes = (BY_VALUE..=Mode::MAX).filter(|_| f.slot.is_some());
            modes.any(|mode| f.force.holds(mode).is_some_and(|equation| !equation.holonomic()))
        };
        let force = self.forces.iter().position(sticks)?;
        Some(format!("force `{}`", self.model.forces[force].name))
    }

    fn has_power(&self) -> bool {
        let dissipates = |b: &Body| each!(b, b => b.dissipates());
        self.driven() || self.forces.iter().any(|f| f.force.has_power()) || self.bodies.iter().any(dissipates)
    }

    fn driven(&self) -> bool {
        self.constraints.iter().any(|c| c.equations.iter().any(|e| e.rheonomic()))
    }
}

fn bodies_of(c: &Constraint) -> impl Iterator<Item = u32> + '_ {
    c.touching().map(|(_, end)| end.body)
}

/// Adds a matrix that is computed column by column to a block by rows.
fn add_by_columns(block: &mut [f64], rows: usize, columns: usize, mut column: impl FnMut(usize, &mut [f64])) {
    for j in 0..columns {
        let mut x = [0.0; MAX_WIDTH];
        column(j, &mut x[..rows]);
        (0..rows).for_each(|i| block[i * columns + j] += x[i]);
    }
}

impl System {
    fn emit_jacobian(&self, c: f64, constraint: &Constraint, w: &Workspace, out: &mut Targets) {
        for (_, end) in constraint.touching() {
            let n = self.width(end.body);
            let g = &w.jacobian[end.jacobian as usize..];
            out.block(constraint.rows, n).iter_mut().zip(g).for_each(|(o, g)| *o += c * g);
        }
    }

    fn emit_drift(&self, c: f64, constraint: &Constraint, u: &[f64], at: &Point, w: &Workspace, out: &mut Targets) {
        let drift = self.drift(constraint, at, w, u);
        for (k, end) in constraint.touching() {
            let n = self.width(end.body);
            for (r, row) in out.block(constraint.rows, n).chunks_exact_mut(n).enumerate() {
                self.add_drift(c, constraint, &drift, (r, k), u, w, row);
            }
        }
    }

    /// The bodies whose mass depends on their coordinates.
    fn varying(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.bodies.len()).filter(|&b| each!(&self.bodies[b], body => body.varies()))
    }

    /// The bodies with forces of their own.
    fn with_inner(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.bodies.len()).filter(|&b| each!(&self.bodies[b], body => body.has_inner()))
    }

    /// x ← M⁻¹Gᵀμ.
    fn mean_drift(&self, at: &Point, w: &Workspace, x: &mut Vec<f64>) {
        x.clear();
        x.resize(self.layout.n(), 0.0);
        each_block(&self.layout.bodies, x, |b, x| {
            self.add_multipliers(b, 1.0, Unknown::Mu, &at.mu, w, x);
            each!(&self.bodies[b], body => body.divide_by_mass(&w.bodies[b], x));
        });
    }

    /// −M⁻¹ ∂(M y)/∂q with y = M⁻¹Gᵀμ: what the mass of flexible bodies adds to ∂y/∂q.
    fn add_mean_drift_by_mass(&self, c: f64, at: &Point, w: &Workspace, x: &mut Vec<f64>, out: &mut Targets) {
        self.mean_drift(at, w, x);
        let n = x.len();
        for b in self.varying() {
            let range = self.layout.bodies[b].clone();
            let width = range.len();
            x.resize(n + width * width, 0.0);
            let (y, by) = x.split_at_mut(n);
            by.fill(0.0);
            each!(&self.bodies[b], body => {
                body.mass_stiffness(&w.bodies[b], &y[range], -c, by);
                add_by_columns(out.block(width, width), width, width, |j, column| {
                    (0..width).for_each(|i| column[i] = by[i * width + j]);
                    body.divide_by_mass(&w.bodies[b], column);
                });
            });
            x.truncate(n);
        }
    }

    fn add_force_derivative(&self, c: f64, wrt: Unknown, at: &Point, w: &Workspace, out: &mut Targets) {
        if wrt == Unknown::V {
            for b in self.with_inner() {
                let range = self.layout.bodies[b].clone();
                let block = out.block(range.len(), range.len());
                each!(&self.bodies[b], body => body.add_inner_damping(&w.bodies[b], c, &at.v[range], block));
            }
        } else {
            for b in self.varying() {
                let (range, frame) = (self.layout.bodies[b].clone(), &w.bodies[b]);
                let block = out.block(range.len(), range.len());
                each!(&self.bodies[b], body => {
                    body.add_inner_stiffness(frame, c, &at.v[range], block);
                    body.weight_stiffness(frame, self.gravity, c, block);
                });
            }
        }
        let (mut k, mut d) = (Stiffness::default(), Stiffness::default());
        for f in self.forces.iter().filter(|f| wrt == Unknown::Q || f.force.damped()) {
            let frames = self.frames(&f.ends, w, Some(&at.v));
            let seen = self.seen(f, at, &frames, w);
            k.clear();
            d.clear();
            f.force.stiffness(&seen, &mut k, &mut d);
            let mut loads = [Covector::default(); MAX_ENDS];
            if wrt == Unknown::Q {
                f.force.load(&seen, &mut loads[..f.ends.len()]);
            }
            for (i, j) in pairs(&f.ends) {
                let block = out.block(self.width(f.ends[i].body), self.width(f.ends[j].body));
                if wrt == Unknown::V {
                    self.add_pair(c, &f.ends, i, j, &d, None, w, block);
                    continue;
                }
                self.add_pair(c, &f.ends, i, j, &k, Some((&d, &at.v)), w, block);
                if i == j {
                    let b = f.ends[i].body as usize;
                    each!(&self.bodies[b], body => {
                        body.load_stiffness(&w.bodies[b], &f.ends[i].on, loads[i], c, block)
                    });
                }
            }
        }
    }
}
