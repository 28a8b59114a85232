//! Bodies as functions of the joint coordinates: poses, J x, Jᵀ y and the bias J̇ v, each in one sweep.
//!
//! A motion of a body is a twist (ω, v) and a load a wrench (m, f), both in the directions of the world and at the
//! body's centre; at another point r away v becomes v + ω × r. Along the tree, with s the twist of a joint coordinate,
//!
//! ```text
//!     V = V₊ + Σ s u        A = A₊ + Σ s u̇ + V × s u        τ = s · Σ W over the bodies it carries
//! ```
//!
//! where V × s u is the spatial cross product and A the spatial acceleration, that of the point a less ω × v
//! [Featherstone 2008, ch. 2–5].

use super::tree::{JointStep, NONE, Tree, TreeBody};
use crate::bodies::{Body, Deformed, InTree, each};
use crate::dynamics::{Charts, Point, Workspace};
use crate::model::Model;
use bellcrank_math::{Mat3, Quat, Vec3, rotation};

/// A twist or a spatial acceleration: rotation and translation at a known point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Angular part.
    pub w: Vec3,
    /// Linear part.
    pub v: Vec3,
}

impl Twist {
    /// No motion.
    pub const ZERO: Twist = Twist { w: Vec3::ZERO, v: Vec3::ZERO };

    /// The same motion at a point r away.
    #[inline]
    pub fn at(self, r: Vec3) -> Twist {
        Twist { w: self.w, v: self.v + self.w.cross(r) }
    }

    /// self + c x.
    #[inline]
    pub fn plus(self, c: f64, x: Twist) -> Twist {
        Twist { w: self.w + x.w * c, v: self.v + x.v * c }
    }

    /// self − x.
    #[inline]
    pub fn less(self, x: Twist) -> Twist {
        self.plus(-1.0, x)
    }

    /// The spatial cross product: the rate of x when it moves with self.
    #[inline]
    pub fn cross(self, x: Twist) -> Twist {
        Twist { w: self.w.cross(x.w), v: self.w.cross(x.v) + self.v.cross(x.w) }
    }
}

/// A force with a torque at a known point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// Force.
    pub f: Vec3,
    /// Torque.
    pub m: Vec3,
}

impl Wrench {
    /// The same load at a point r away.
    #[inline]
    pub fn at(self, r: Vec3) -> Wrench {
        Wrench { f: self.f, m: self.m - r.cross(self.f) }
    }

    /// Its power.
    #[inline]
    pub fn on(self, x: Twist) -> f64 {
        self.f.dot(x.v) + self.m.dot(x.w)
    }

    #[inline]
    pub(super) fn add(&mut self, x: Wrench) {
        self.f += x.f;
        self.m += x.m;
    }
}

/// What relative coordinates keep of a point: poses and joint motions, and scratch of the sweeps. The arrays of one
/// workspace, each named in the equations above: hence more than a dozen fields.
#[derive(Clone, Debug, Default)]
pub struct TreeSpace {
    /// Centres of the bodies, by node.
    pub p: Vec<Vec3>,
    /// Rotations of the bodies.
    pub r: Vec<Mat3>,
    /// The angle that each has turned about z since the start.
    pub turned: Vec<f64>,
    /// The points of the joints that carry them.
    pub joint: Vec<Vec3>,
    /// The twist of each joint coordinate, at its joint's point.
    pub s: Vec<Twist>,
    /// J v.
    pub twist: Vec<Twist>,
    /// J v̇.
    pub linear: Vec<Twist>,
    /// Spatial accelerations at v̇ = 0.
    pub bias: Vec<Twist>,
    /// The shapes of bodies that bend, by node; none where no body does.
    pub(super) bent: Vec<Deformed>,
    /// The motion of each seat with each mode of the body it is on, at its joint's point.
    pub(super) sway: Vec<Twist>,
    /// Loads on the bodies, then on what each joint carries, at the joint.
    pub load: Vec<Wrench>,
    /// The Cartesian point, as far as it was filled.
    pub point: Point,
    /// Its workspace.
    pub cartesian: Workspace,
    /// Cartesian vectors.
    pub y: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) tau: Vec<f64>,
    /// The coordinates and chart centres that the poses belong to.
    pub(super) q: Vec<f64>,
    pub(super) centres: Vec<Quat>,
    /// The velocities that `twist` and the Cartesian ones belong to, at these poses; empty where they have not been computed.
    pub(super) v: Vec<f64>,
    /// Whether the poses are those of the point.
    pub(super) placed: bool,
    pub(super) columns: super::derivatives::Columns,
    pub(super) recursion: super::aba::Recursion,
    pub(super) composite: Vec<super::crba::Composite>,
    pub(super) modal: super::sway::ModalInertia,
}

impl Tree {
    /// A workspace of the right size.
    pub fn space(&self) -> TreeSpace {
        let bodies = self.nodes.len();
        TreeSpace {
            p: vec![Vec3::ZERO; bodies],
            r: vec![Mat3::IDENTITY; bodies],
            turned: vec![0.0; bodies],
            joint: vec![Vec3::ZERO; bodies],
            s: vec![Twist::ZERO; self.n],
            twist: vec![Twist::ZERO; bodies],
            linear: vec![Twist::ZERO; bodies],
            bias: vec![Twist::ZERO; bodies],
            load: vec![Wrench::default(); bodies],
            bent: vec![Deformed::default(); if self.bends() { bodies } else { 0 }],
            sway: vec![Twist::ZERO; self.sways],
            ..TreeSpace::default()
        }
    }

    /// Poses and joint motions. Bodies that keep their Cartesian coordinates are skipped.
    pub fn locate(&self, q: &[f64], charts: &Charts, t: &mut TreeSpace) {
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| !n.is_cartesian) {
            let (mut at, mut axes, mut turned) = self.seat_pose(i, t);
            let mut k = node.columns.start;
            for step in &self.steps[node.steps.clone()] {
                match *step {
                    JointStep::Slide(axis) => {
                        let axis = axes * axis;
                        at += axis * q[k];
                        // earlier motions of the joint now turn about another point
                        (node.columns.start..k).for_each(|j| t.s[j] = t.s[j].at(axis * q[k]));
                        t.s[k] = Twist { w: Vec3::ZERO, v: axis };
                    }
                    JointStep::Turn(axis) => {
                        t.s[k] = Twist { w: axes * axis, v: Vec3::ZERO };
                        axes = axes * rotation::exp(axis * q[k]);
                        turned += axis[2] * q[k];
                    }
                    JointStep::Screw(axis, lead) => {
                        let world = axes * axis;
                        at += world * (lead * q[k]);
                        t.s[k] = Twist { w: world, v: world * lead };
                        axes = axes * rotation::exp(axis * q[k]);
                    }
                    JointStep::Ball(chart) => {
                        let phi = Vec3::from_slice(&q[k..k + 3]);
                        axes = axes * charts.centres[chart as usize].matrix() * rotation::exp(phi);
                        (0..3).for_each(|j| t.s[k + j] = Twist { w: axes.column(j), v: Vec3::ZERO });
                    }
                }
                k += step.width();
            }
            let r = axes * node.turn;
            (t.joint[i], t.r[i], t.turned[i]) = (at, r, turned);
            t.p[i] = at + r * node.offset;
            self.locate_seat(i, t);
            self.unbend(i, q, t);
        }
    }

    /// The motion of what carries a node, at the node's joint.
    #[inline]
    pub(super) fn carried(&self, node: &TreeBody, of: &[Twist], p: &[Vec3], joint: Vec3) -> Twist {
        match node.parent {
            NONE => Twist::ZERO,
            k => of[k as usize].at(joint - p[k as usize]),
        }
    }

    /// J x.
    pub fn twists(&self, x: &[f64], t: &TreeSpace, out: &mut [Twist]) {
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| !n.is_cartesian) {
            let mut twist = self.carried(node, out, &t.p, t.joint[i]).plus(1.0, self.swaying(node, x, t));
            for k in node.columns.clone() {
                twist = twist.plus(x[k], t.s[k]);
            }
            out[i] = twist.at(t.p[i] - t.joint[i]);
        }
    }

    /// Spatial accelerations at v̇ = 0, with J v in `t.twist`.
    pub fn biases(&self, v: &[f64], t: &mut TreeSpace) {
        for (i, node) in self.nodes.iter().enumerate().filter(|(_, n)| !n.is_cartesian) {
            let (mut twist, mut bias) = self.seat_motion(i, v, t);
            let mut k = node.columns.start;
            for step in &self.steps[node.steps.clone()] {
                let mut own = Twist::ZERO;
                for _ in 0..step.width() {
                    own = own.plus(v[k], t.s[k]);
                    k += 1;
                }
                bias = bias.plus(1.0, twist.cross(own));
                twist = twist.plus(1.0, own);
            }
            if let Some(station) = self.station(i, t) {
                let own = self.recoil(node, v, t);
                bias = bias.plus(1.0, twist.cross(own)).less(station.bias(&v[node.flex.modes.clone()]));
            }
            t.bias[i] = bias.at(t.p[i] - t.joint[i]);
        }
    }

    /// out += c Jᵀ load, with loads on the bodies at their centres in `t.load`, which afterwards holds what each joint
    /// carries, at the joint.
    pub fn pull(&self, c: f64, t: &mut TreeSpace, out: &mut [f64]) {
        for (i, node) in self.nodes.iter().enumerate().rev().filter(|(_, n)| !n.is_cartesian) {
            let carried = t.load[i].at(t.joint[i] - t.p[i]);
            t.load[i] = carried;
            for k in node.columns.clone() {
                out[k] += c * carried.on(t.s[k]);
            }
            if node.parent != NONE {
                let k = node.parent as usize;
                t.load[k].add(carried.at(t.p[k] - t.joint[i]));
            }
            self.sway(node, t).for_each(|(k, e)| out[k] += c * carried.on(e));
        }
    }
}

/// The velocities of a body that belong to a twist at its centre.
#[inline]
pub fn velocities(body: &Body, r: &Mat3, x: Twist, out: &mut [f64]) {
    each!(body, b => b.twist_velocities(r, x.v, x.w, out))
}

/// The load at the centre of a body that belongs to a force on its velocities: the transpose of [`velocities`].
#[inline]
pub fn wrench(body: &Body, r: &Mat3, y: &[f64]) -> Wrench {
    let (f, m) = each!(body, b => b.velocity_load(r, y));
    Wrench { f, m }
}

/// The acceleration of a body's centre, as its velocities change, from its twist and spatial acceleration.
#[inline]
pub fn classical(twist: Twist, spatial: Twist) -> Twist {
    Twist { w: spatial.w, v: spatial.v + twist.w.cross(twist.v) }
}

/// The model without the equations of the tree's joints, and with bodies that suit joint coordinates.
pub fn without_tree(model: &Model, has_joint: &[bool]) -> Model {
    use crate::joints::{Equation, Joint, Motion, Move};
    use crate::model::Space;
    use std::sync::Arc;
    /// A joint whose equations hold by construction; it is only measured.
    struct Hollow(Arc<dyn Joint>);
    impl Joint for Hollow {
        fn equations(&self, _: Space) -> Vec<Box<dyn Equation>> {
            Vec::new()
        }
        fn motions(&self, space: Space) -> Vec<Motion> {
            self.0.motions(space)
        }
        fn moves(&self, space: Space) -> Option<Vec<Move>> {
            self.0.moves(space)
        }
    }
    let mut out = model.clone();
    for (joint, _) in out.joints.iter_mut().zip(has_joint).filter(|(_, has)| **has) {
        joint.joint = Arc::new(Hollow(joint.joint.clone()));
    }
    for body in &mut out.bodies {
        if let Some(other) = body.body.in_tree().replacement() {
            body.body = other;
        }
    }
    out
}
