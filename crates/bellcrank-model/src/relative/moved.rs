//! What a column moves: parts of the tree that go along as rigid bodies, and how their motion changes beyond that.
//!
//! A part follows an anchor, the motion before a step of a joint or that of a station. With the displacement s of the part,
//! V₊ and A₊ the motion of the anchor, and ∂V₊, ∂A₊ what the column changes of it,
//!
//! ```text
//!     ∂V = ∂V₊ + s × (V − V₊)        ∂A = ∂A₊ + s × (A − A₊) + (∂V₊ + V₊ × s) × (V − V₊)
//! ```
//!
//! A coordinate of a joint has one part, with nothing changed at its anchor. A modal coordinate has one for the frame of its body
//! and one for each branch that stands on a station. With the motions U of stations against the frame, their change d = ∂U/∂ηₘ in
//! the axes of the frame, and D, dd = ∂D/∂ηₘ of `sway.rs`, all as twists of the world:
//!
//! ```text
//!     frame:   s = −Φ_P          ∂V₊ = −d_P                      ∂A₊ = −V × d_P − dd_P
//!     branch:  s = Φ_Q − Φ_P     ∂V₊ = ∂V + s_F × U_Q + d_Q      ∂A₊ = ∂A + ∂V × U_Q + V × (s_F × U_Q + d_Q) + s_F × D_Q + dd_Q
//! ```
//!
//! with V, A and s_F of the frame; the anchors are the stations P and Q.

use super::Relative;
use super::kinematics::{TreeSpace, Twist};
use super::sway::Seat;
use super::tree::{NONE, TreeBody};
use crate::dynamics::Point;
use bellcrank_math::Vec3;
use std::ops::Range;

/// A motion, or its change: velocity, the acceleration that v̇ gives, and that at v̇ = 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RelativeMotion {
    pub twist: Twist,
    pub linear: Twist,
    pub bias: Twist,
}

impl RelativeMotion {
    /// The same at a point r away.
    pub fn at(self, r: Vec3) -> RelativeMotion {
        RelativeMotion { twist: self.twist.at(r), linear: self.linear.at(r), bias: self.bias.at(r) }
    }
}

/// A part of the tree that a column moves as one rigid body.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    /// Its bodies.
    pub nodes: Range<usize>,
    /// The point that its twists are taken at.
    pub at: Vec3,
    /// Its displacement.
    pub s: Twist,
    /// The motion of its anchor.
    pub anchor: RelativeMotion,
    /// What the column changes of it: by coordinates all of it, by velocities the acceleration at v̇ = 0.
    pub change: RelativeMotion,
}

/// Walks along the steps of a joint.
pub(super) struct StepsOf {
    node: usize,
    step: usize,
    /// The first coordinate of the present step, and the first after it.
    pub first: usize,
    next: usize,
    before: RelativeMotion,
}

impl StepsOf {
    pub fn new(node: usize, of: &TreeBody) -> StepsOf {
        let first = of.columns.start;
        StepsOf { node, step: of.steps.start, first, next: first, before: RelativeMotion::default() }
    }

    /// The motion before the step of coordinate `k`, and that of the step itself; coordinates are asked for in their order.
    fn at(&mut self, r: &Relative, k: usize, at: &Point, t: &TreeSpace) -> (RelativeMotion, Twist) {
        let node = &r.tree.nodes[self.node];
        let begins = k == node.columns.start;
        let along = |x: &[f64]| (self.first..self.next).fold(Twist::ZERO, |sum, j| sum.plus(x[j], t.s[j]));
        if begins {
            let (twist, bias) = r.tree.seat_motion(self.node, &at.v, t);
            let linear = r.tree.carried(node, &t.linear, &t.p, t.joint[self.node]);
            self.before = RelativeMotion { twist, bias, linear: linear.plus(1.0, r.tree.swaying(node, &at.vdot, t)) };
        } else if k >= self.next {
            let (before, step) = (self.before, along(&at.v));
            self.before = RelativeMotion {
                twist: before.twist.plus(1.0, step),
                linear: before.linear.plus(1.0, along(&at.vdot)),
                bias: before.bias.plus(1.0, before.twist.cross(step)),
            };
        }
        if k >= self.next {
            self.first = self.next;
            self.next += r.tree.steps[self.step].width();
            self.step += 1;
        }
        let step = (self.first..self.next).fold(Twist::ZERO, |sum, j| sum.plus(at.v[j], t.s[j]));
        (self.before, step)
    }
}

impl Relative {
    /// The parts that column `k` of node `i` moves, as a coordinate or as a velocity.
    pub(super) fn find_moved(
        &self,
        i: usize,
        k: usize,
        moves: bool,
        steps: &mut StepsOf,
        at: &Point,
        t: &TreeSpace,
        out: &mut Vec<Moved>,
    ) {
        out.clear();
        let node = &self.tree.nodes[i];
        if node.is_cartesian {
            return;
        }
        if node.flex.modes.contains(&k) {
            steps.first = node.flex.modes.start;
            return self.moved_by_mode(i, k, moves, at, t, out);
        }
        let (anchor, step) = steps.at(self, k, at, t);
        let mut change = RelativeMotion::default();
        if !moves {
            change.bias = anchor.twist.plus(1.0, step).cross(t.s[k]);
        }
        out.push(Moved { nodes: i..node.end as usize, at: t.joint[i], s: t.s[k], anchor, change });
    }

    /// The frame of a body that bends, and the branches that stand on it.
    fn moved_by_mode(&self, i: usize, k: usize, moves: bool, at: &Point, t: &TreeSpace, out: &mut Vec<Moved>) {
        let node = &self.tree.nodes[i];
        let Some(held) = self.tree.station(i, t) else { return };
        let (m, modes) = (k - node.flex.modes.start, node.flex.modes.clone());
        let (rates, accelerations) = (&at.v[modes.clone()], &at.vdot[modes]);
        let (here, s) = (t.joint[i], t.s[k]);
        let frame = RelativeMotion { twist: t.twist[i], linear: t.linear[i], bias: t.bias[i] }.at(here - t.p[i]);
        let v = frame.twist;
        let recoil = self.tree.recoil(node, &at.v, t);
        let anchor = RelativeMotion {
            twist: v.less(recoil),
            linear: frame.linear.less(self.tree.recoil(node, &at.vdot, t)),
            bias: frame.bias.less(v.less(recoil).cross(recoil)).plus(1.0, held.bias(rates)),
        };
        let d = held.change(m, rates);
        let minus = |x: Twist| Twist::ZERO.less(x);
        let change = if moves {
            RelativeMotion {
                twist: minus(d),
                linear: minus(held.change(m, accelerations)),
                bias: minus(v.cross(d)).less(held.bias_slope(m, rates)),
            }
        } else {
            RelativeMotion { bias: anchor.twist.cross(s).plus(-2.0, d), ..RelativeMotion::default() }
        };
        out.push(Moved { nodes: i..i + 1, at: here, s, anchor, change });
        // how the motion of the frame changes
        let beyond = v.less(anchor.twist);
        let by = if moves {
            RelativeMotion {
                twist: change.twist.plus(1.0, s.cross(beyond)),
                linear: change.linear.plus(1.0, s.cross(frame.linear.less(anchor.linear))),
                bias: change
                    .bias
                    .plus(1.0, s.cross(frame.bias.less(anchor.bias)))
                    .plus(1.0, change.twist.plus(1.0, anchor.twist.cross(s)).cross(beyond)),
            }
        } else {
            RelativeMotion { bias: change.bias.plus(1.0, s.cross(beyond)), ..RelativeMotion::default() }
        };
        let mut c = i + 1;
        while c < node.end as usize {
            let end = self.tree.nodes[c].end as usize;
            if let Some(seat) = self.tree.seat(c, t) {
                let branch = StationBranch { tree: self, c, m, seat, frame, s, by, at: t.joint[c] };
                out.push(branch.moved(c..end, moves, here, at, t));
            }
            c = end;
        }
    }
}

/// A branch on a station of a body that bends, with the motion of the body's frame at the joint that holds it.
struct StationBranch<'a> {
    tree: &'a Relative,
    c: usize,
    m: usize,
    seat: Seat<'a>,
    frame: RelativeMotion,
    /// The displacement of the frame, and the change of its motion.
    s: Twist,
    by: RelativeMotion,
    /// The joint of the branch.
    at: Vec3,
}

impl StationBranch<'_> {
    /// Its part, for the mode's coordinate or velocity; the frame's motion is that at `from`.
    fn moved(&self, nodes: Range<usize>, moves: bool, from: Vec3, at: &Point, t: &TreeSpace) -> Moved {
        let reach = self.at - from;
        let (frame, by, s) = (self.frame.at(reach), self.by.at(reach), self.s.at(reach));
        let tree = &self.tree.tree;
        let node = &tree.nodes[self.c];
        debug_assert!(node.parent != NONE);
        let modes = tree.nodes[node.parent as usize].flex.modes.clone();
        let (rates, accelerations) = (&at.v[modes.clone()], &at.vdot[modes]);
        let (u, bias) = (tree.swaying(node, &at.v, t), self.seat.bias(rates));
        let own = t.sway[node.flex.sway.start + self.m];
        let anchor = RelativeMotion {
            twist: frame.twist.plus(1.0, u),
            linear: frame.linear.plus(1.0, tree.swaying(node, &at.vdot, t)),
            bias: frame.bias.plus(1.0, frame.twist.cross(u)).plus(1.0, bias),
        };
        let d = self.seat.change(self.m, rates);
        let change = if moves {
            let du = s.cross(u).plus(1.0, d);
            let du_linear = s.cross(tree.swaying(node, &at.vdot, t)).plus(1.0, self.seat.change(self.m, accelerations));
            RelativeMotion {
                twist: by.twist.plus(1.0, du),
                linear: by.linear.plus(1.0, du_linear),
                bias: by
                    .bias
                    .plus(1.0, by.twist.cross(u))
                    .plus(1.0, frame.twist.cross(du))
                    .plus(1.0, s.cross(bias))
                    .plus(1.0, self.seat.bias_slope(self.m, rates)),
            }
        } else {
            let bias = by.bias.plus(1.0, s.cross(u)).plus(1.0, anchor.twist.cross(own)).plus(2.0, d);
            RelativeMotion { bias, ..RelativeMotion::default() }
        };
        Moved { nodes, at: self.at, s: s.plus(1.0, own), anchor, change }
    }
}
