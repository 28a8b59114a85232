//! Through the tree and back: Cartesian points from joint coordinates, and joint forces from Cartesian ones.

use super::kinematics::{TreeSpace, Wrench, classical, velocities, wrench};
use super::tree::TreeBody;
use super::{Relative, space};
use crate::bodies::{Coordinates, InTree, each};
use crate::dynamics::*;
use crate::frames::{Covector, MAX_WIDTH};
use bellcrank_math::Quat;

/// The last of a body's coordinates are its modal ones.
fn copy_modal(modal: &[f64], out: &mut [f64]) {
    let rigid = out.len() - modal.len();
    out[rigid..].copy_from_slice(modal);
}

/// out += c y for the modal part of a force on a body's coordinates.
pub(super) fn add_modal(c: f64, y: &[f64], out: &mut [f64]) {
    let rigid = y.len() - out.len();
    out.iter_mut().zip(&y[rigid..]).for_each(|(o, y)| *o += c * y);
}

impl Relative {
    /// Counts the turns of all joint angles at an accepted state.
    pub(super) fn count_turns(&self, s: &mut State, w: &mut Workspace) {
        let mut point = Point {
            t: s.t,
            q: std::mem::take(&mut s.q),
            v: std::mem::take(&mut s.v),
            z: std::mem::take(&mut s.z),
            charts: std::mem::take(&mut s.charts),
            ..Point::default()
        };
        let t = space(w);
        self.place(&point, t);
        t.placed = false;
        let c = &mut t.point;
        let mut counted = State {
            t: c.t,
            q: std::mem::take(&mut c.q),
            v: std::mem::take(&mut c.v),
            z: Vec::new(),
            charts: std::mem::take(&mut c.charts),
        };
        self.cartesian.count_turns(&mut counted, &mut t.cartesian);
        let charts = &mut point.charts;
        charts.angles.clone_from(&counted.charts.angles);
        charts.rates.clone_from(&counted.charts.rates);
        charts.time = counted.charts.time;
        (c.q, c.v, c.charts) = (counted.q, counted.v, counted.charts);
        (s.q, s.v, s.z, s.charts) = (point.q, point.v, point.z, point.charts);
    }

    /// Poses, twists and the Cartesian coordinates and velocities of a point.
    pub(super) fn place(&self, at: &Point, t: &mut TreeSpace) {
        self.tree.locate(&at.q, &at.charts, t);
        t.v.clear();
        t.q.clone_from(&at.q);
        t.centres.clone_from(&at.charts.centres);
        let c = &mut t.point;
        c.t = at.t;
        let mut chart = 0;
        c.charts.angles.clone_from(&at.charts.angles);
        c.charts.rates.clone_from(&at.charts.rates);
        c.charts.time = at.charts.time;
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            let q = &mut c.q[range.clone()];
            let body = &self.cartesian.model.bodies[b].body;
            let charted = each!(body, b => b.chart().is_some());
            if node.is_cartesian {
                q.copy_from_slice(&at.q[node.columns.clone()]);
                if node.is_geared() {
                    q[0] = self.angles[b] + node.own_sign() * q[0];
                }
                if charted {
                    c.charts.centres[chart] = at.charts.centres[self.chart_of(i)];
                }
            } else {
                let mut angle = self.angles[b] + t.turned[i];
                if self.wraps[b] {
                    let r = Quat::from_matrix(&t.r[i]);
                    angle = 2.0 * r.0[3].atan2(r.0[0]); // as rods in natural coordinates tell it
                }
                let centre = charted.then(|| &mut c.charts.centres[chart]);
                body.in_tree().place(t.p[i], &t.r[i], angle, q, centre);
                copy_modal(&at.q[node.flex.modes.clone()], q);
            }
            chart += charted as usize;
        }
        self.set_velocities(at, t);
    }

    /// Poses and what the Cartesian pieces need, unless they are there: the recursion alone needs none of it.
    pub(super) fn ready(&self, at: &Point, t: &mut TreeSpace) {
        if !t.placed {
            self.place(at, t);
            t.cartesian.invalidate();
            self.cartesian.realize(&t.point, &mut t.cartesian);
            t.placed = true;
        }
    }

    /// The tree body of a body of the model, with its number.
    #[inline]
    pub(super) fn node(&self, body: usize) -> (usize, &TreeBody) {
        let i = self.tree.node_of[body] as usize;
        (i, &self.tree.nodes[i])
    }

    /// The Cartesian velocities and accelerations, states and multipliers of a point whose poses are known.
    pub(super) fn fill(&self, at: &Point, t: &mut TreeSpace) {
        self.ready(at, t);
        self.set_velocities(at, t);
    }

    /// The Cartesian velocities, states and multipliers of a point.
    pub(super) fn set_velocities(&self, at: &Point, t: &mut TreeSpace) {
        if t.v != at.v {
            let mut twist = std::mem::take(&mut t.twist);
            self.tree.twists(&at.v, t, &mut twist);
            t.twist = twist;
            self.to_velocities(&at.v, false, t);
            t.v.clone_from(&at.v);
        }
        t.point.z.clone_from(&at.z);
        t.point.charts.modes.clone_from(&at.charts.modes);
        t.point.charts.inputs.clone_from(&at.charts.inputs);
        t.point.lambda.clone_from(&at.lambda);
        t.point.mu.clone_from(&at.mu);
    }

    /// J v̇ and the bias, each by body.
    pub(super) fn accelerate(&self, at: &Point, t: &mut TreeSpace) {
        let mut linear = std::mem::take(&mut t.linear);
        self.tree.twists(&at.vdot, t, &mut linear);
        t.linear = linear;
        self.tree.biases(&at.v, t);
    }

    /// The Cartesian velocities J v of the point, or J v̇ as its accelerations; `x` holds v or v̇.
    pub(super) fn to_velocities(&self, x: &[f64], dot: bool, t: &mut TreeSpace) {
        let (from, out) = if dot { (&t.linear, &mut t.point.vdot) } else { (&t.twist, &mut t.point.v) };
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            match node.is_cartesian {
                true if node.is_geared() => out[range.start] = node.own_sign() * x[node.columns.start],
                true => out[range.clone()].copy_from_slice(&x[node.columns.clone()]),
                false => {
                    let out = &mut out[range.clone()];
                    velocities(&self.cartesian.model.bodies[b].body, &t.r[i], from[i], out);
                    copy_modal(&x[node.flex.modes.clone()], out);
                }
            }
        }
    }

    /// J̇ v as Cartesian accelerations of the point, added to what is there.
    pub(super) fn add_bias(&self, t: &mut TreeSpace) {
        let mut x = [0.0; MAX_WIDTH];
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            if !node.is_cartesian {
                let a = classical(t.twist[i], t.bias[i]);
                let rigid = range.len() - node.flex.modes.len();
                velocities(&self.cartesian.model.bodies[b].body, &t.r[i], a, &mut x[..range.len()]);
                t.point.vdot[range.clone()].iter_mut().zip(&x[..rigid]).for_each(|(o, x)| *o += x);
            }
        }
    }

    /// out += c Jᵀ y for a Cartesian force.
    pub(super) fn pull(&self, c: f64, y: &[f64], t: &mut TreeSpace, out: &mut [f64]) {
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            let y = &y[range.clone()];
            match node.is_cartesian {
                true if node.is_geared() => {
                    out[node.columns.start] += c * node.own_sign() * y[0];
                    t.load[i] = wrench(&self.cartesian.model.bodies[b].body, &t.r[i], y);
                }
                true => out[node.columns.clone()].iter_mut().zip(y).for_each(|(o, y)| *o += c * y),
                false => {
                    t.load[i] = wrench(&self.cartesian.model.bodies[b].body, &t.r[i], y);
                    add_modal(c, y, &mut out[node.flex.modes.clone()]);
                }
            }
        }
        self.tree.pull(c, t, out);
    }

    /// The Cartesian force of a piece, into `t.y`.
    pub(super) fn cartesian_force(&self, piece: Piece, at: &Point, t: &mut TreeSpace) {
        let mut y = std::mem::take(&mut t.y);
        y.fill(0.0);
        match piece {
            Piece::MassAccel => {
                self.to_velocities(&at.vdot, true, t);
                self.cartesian.add(1.0, Piece::MassAccel, &t.point, &mut t.cartesian, &mut y);
            }
            Piece::Force => {
                self.cartesian.add(1.0, Piece::Force, &t.point, &mut t.cartesian, &mut y);
                t.point.vdot.fill(0.0);
                self.add_bias(t);
                self.cartesian.add(-1.0, Piece::MassAccel, &t.point, &mut t.cartesian, &mut y);
            }
            Piece::MinvGtMu => self.cartesian.add(1.0, Piece::GtMu, &t.point, &mut t.cartesian, &mut y),
            piece => self.cartesian.add(1.0, piece, &t.point, &mut t.cartesian, &mut y),
        }
        t.y = y;
    }

    /// Inverse dynamics: the loads that the joints of the tree carry, at the joints, so that their bodies move as they do
    /// (RNEA) [Featherstone 2008, ch. 5].
    pub(super) fn rnea_joint_loads(&self, at: &Point, t: &mut TreeSpace) {
        self.fill(at, t);
        self.accelerate(at, t);
        self.to_velocities(&at.vdot, true, t);
        self.add_bias(t);
        let mut y = std::mem::take(&mut t.y);
        let mut sum = std::mem::take(&mut t.x);
        y.fill(0.0);
        for (c, piece) in [(1.0, Piece::MassAccel), (-1.0, Piece::Force), (1.0, Piece::GtLambda)] {
            self.cartesian.add(c, piece, &t.point, &mut t.cartesian, &mut y);
        }
        sum.fill(0.0);
        self.pull(1.0, &y, t, &mut sum);
        (t.y, t.x) = (y, sum);
        // what rotors take is no load of the joint itself
        for (i, node) in self.tree.nodes.iter().enumerate().filter(|(_, n)| n.is_geared()) {
            let k = node.columns.start;
            let of = self.tree.nodes.partition_point(|n| !n.is_geared() && n.columns.end <= k);
            let (s, y) = (t.s[k], node.own_sign() * self.rotor_load(i, t));
            t.load[of].add(Wrench { f: s.v * y, m: s.w * y });
        }
    }

    /// The force or torque that accelerates a geared rotor, once its load is known.
    fn rotor_load(&self, node: usize, t: &TreeSpace) -> f64 {
        let mut y = [0.0];
        let body = &self.cartesian.model.bodies[self.tree.nodes[node].body].body;
        each!(body, b => b.twist_velocities(&t.r[node], t.load[node].f, t.load[node].m, &mut y));
        y[0]
    }

    /// The load that a joint puts on its second body, at its place on it, in the world.
    pub(super) fn reaction(&self, joint: usize, t: &TreeSpace, w: &Workspace) -> Covector {
        if !self.tree.has_joint[joint] {
            return self.cartesian.reaction(joint, &t.point, w);
        }
        let i = self.tree.node_of_joint[joint] as usize;
        let node = &self.tree.nodes[i];
        if node.is_geared() {
            // the motion of the joint's second body feels the rotor's inertia
            let (s, y) = (t.s[node.columns.start], self.rotor_load(i, t));
            return Covector::new(s.v * -y, s.w * -y);
        }
        let end = &self.cartesian.model.joints[joint].ends[1];
        let at = self.cartesian.look(end, w, &t.point.v).p;
        let load = t.load[i].at(at - t.joint[i]);
        let sign = if node.joint.is_some_and(|(_, reversed)| reversed) { -1.0 } else { 1.0 };
        Covector::new(load.f * sign, load.m * sign)
    }
}
