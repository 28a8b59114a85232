//! Bodies that bend as links of a tree: modal coordinates are the last columns of their nodes.
//!
//! A joint holds the body at a station P, and others stand on its stations Q. With the twist U = Σ Φₙ η̇ₙ of a station against
//! the floating frame, the frame moves as V = V_P − U_P, and the seat of a joint that it carries as V + U_Q. The twist of the
//! modal column n is thus −Φ_P,n at the body's own frame, and Φ_Q,n − Φ_P,n on the branch that stands on Q: the tables
//! `s` and `sway` of a [`TreeSpace`] hold −Φ_P,n and Φ_Q,n. Spatial accelerations at v̇ = 0 follow as
//!
//! ```text
//!     A = A_P − V × U_P − D_P        A_Q = A + V × U_Q + D_Q        D = Σ ∂Φₙ/∂ηₘ η̇ₘ η̇ₙ
//! ```

use super::kinematics::{TreeSpace, Twist, Wrench};
use super::tree::{NONE, Tree, TreeBody};
use crate::bodies::{Body, Coordinates, Deformed, Flexible, FrameTwist, StationView, each};
use crate::frames::Attachment;
use bellcrank_math::{Mat3, Vec3};
use std::ops::Range;

/// What bends of a link: the body itself, or the one that carries it.
#[derive(Clone, Debug)]
pub struct Flex {
    /// Its number among the bodies that bend, or [`NONE`].
    pub body: u32,
    /// Its modal coordinates.
    pub modes: Range<usize>,
    /// The motions of its seat with the modes of the carrying body, among those of all seats.
    pub sway: Range<usize>,
}

impl Default for Flex {
    fn default() -> Flex {
        Flex { body: NONE, modes: 0..0, sway: 0..0 }
    }
}

/// The two places of a joint of the tree.
#[derive(Clone, Copy, Debug)]
pub struct JointPlaces {
    /// Where it holds its body.
    pub station: Attachment,
    /// Where it stands on the carrying body.
    pub seat: Attachment,
}

/// A station of a body of the tree, seen from the world; its twists are taken at a point of the tree.
pub(super) struct Seat<'a> {
    view: StationView<'a>,
    r: Mat3,
    /// From the station to that point.
    reach: Vec3,
}

impl Seat<'_> {
    fn twist(&self, (v, w): FrameTwist) -> Twist {
        Twist { w: self.r * w, v: self.r * v }.at(self.reach)
    }

    /// Φₙ.
    pub fn motion(&self, n: usize) -> Twist {
        self.twist(self.view.motion(n))
    }

    /// ∂Φₙ/∂ηₘ.
    pub fn slope(&self, m: usize, n: usize) -> Twist {
        self.twist(self.view.slope(m, n))
    }

    /// Σₙ ∂Φₙ/∂ηₘ xₙ.
    pub fn change(&self, m: usize, x: &[f64]) -> Twist {
        self.twist(self.view.change(m, x))
    }

    /// D.
    pub fn bias(&self, x: &[f64]) -> Twist {
        self.twist(self.view.bias(x))
    }

    /// ∂D/∂ηₘ.
    pub fn bias_slope(&self, m: usize, x: &[f64]) -> Twist {
        self.twist(self.view.bias_slope(m, x))
    }
}

impl Tree {
    /// Whether any of its bodies bends.
    pub fn bends(&self) -> bool {
        !self.flexible.is_empty()
    }

    /// The body of a node, if it bends.
    pub(super) fn bending(&self, i: usize) -> Option<&Flexible> {
        self.flexible.get(self.nodes[i].flex.body as usize)
    }

    /// Appends the modal coordinates of a body that bends, and the motions of its seat on one that does.
    pub(super) fn flex(&mut self, body: &Body, parent: u32) -> Flex {
        let number = body.in_tree().flexible().map_or(NONE, |flexible| {
            self.flexible.push(flexible.clone());
            self.flexible.len() as u32 - 1
        });
        let (first, sway) = (self.n, self.sways);
        if number != NONE {
            self.n += each!(body, b => b.width() - b.rigid_width());
        }
        self.sways += if parent == NONE { 0 } else { self.nodes[parent as usize].flex.modes.len() };
        Flex { body: number, modes: first..self.n, sway: sway..self.sways }
    }

    /// Where the joint of a node stands: the place, its axes, and the angle about z.
    pub(super) fn seat_pose(&self, i: usize, t: &TreeSpace) -> (Vec3, Mat3, f64) {
        let node = &self.nodes[i];
        let k = node.parent as usize;
        let (p, r, turned) = match node.parent {
            NONE => (Vec3::ZERO, Mat3::IDENTITY, 0.0),
            _ => (t.p[k], t.r[k], t.turned[k]),
        };
        if node.flex.sway.is_empty() {
            return (p + r * node.place, r * node.axes, turned);
        }
        let view = self.flexible[self.nodes[k].flex.body as usize].seen(&t.bent[k], &self.places[i].seat);
        let axes = r * view.turn();
        (p + r * view.place() + axes * node.place, axes * node.axes, turned + view.angle())
    }

    /// The motions of a node's seat with the modes of the body that carries it, once its joint is located.
    pub(super) fn locate_seat(&self, i: usize, t: &mut TreeSpace) {
        let range = self.nodes[i].flex.sway.clone();
        let mut sway = std::mem::take(&mut t.sway);
        if let Some(seat) = self.seat(i, t) {
            sway[range].iter_mut().enumerate().for_each(|(n, e)| *e = seat.motion(n));
        }
        t.sway = sway;
    }

    /// From the station that the joint holds, which stands in `t.p` and `t.r`, to the frame of a body that bends.
    pub(super) fn unbend(&self, i: usize, q: &[f64], t: &mut TreeSpace) {
        let Some(body) = self.bending(i) else { return };
        let flex = &self.nodes[i].flex;
        body.deform(&q[flex.modes.clone()], &mut t.bent[i]);
        let view = body.seen(&t.bent[i], &self.places[i].station);
        t.r[i] = t.r[i] * view.turn().transpose();
        t.p[i] = t.p[i] - t.r[i] * view.place();
        t.turned[i] -= view.angle();
        let mut s = std::mem::take(&mut t.s);
        if let Some(held) = self.station(i, t) {
            s[flex.modes.clone()].iter_mut().enumerate().for_each(|(n, s)| *s = Twist::ZERO.less(held.motion(n)));
        }
        t.s = s;
    }

    /// The station that a node's joint holds, if its body bends; twists at the joint.
    pub(super) fn station<'a>(&'a self, i: usize, t: &TreeSpace) -> Option<Seat<'a>> {
        let view = self.bending(i)?.seen(&t.bent[i], &self.places[i].station);
        let at = t.p[i] + t.r[i] * view.place();
        Some(Seat { view, r: t.r[i], reach: t.joint[i] - at })
    }

    /// The station that a node's joint stands on, if the body that carries it bends; twists at the joint.
    pub(super) fn seat<'a>(&'a self, i: usize, t: &TreeSpace) -> Option<Seat<'a>> {
        let node = &self.nodes[i];
        let k = node.parent as usize;
        let body = if node.parent == NONE { None } else { self.bending(k) };
        let view = body?.seen(&t.bent[k], &self.places[i].seat);
        let at = t.p[k] + t.r[k] * view.place();
        Some(Seat { view, r: t.r[k], reach: t.joint[i] - at })
    }

    /// The modal coordinates that a node's seat moves with, each with the motion.
    #[inline]
    pub(super) fn sway<'a>(&'a self, node: &TreeBody, t: &'a TreeSpace) -> impl Iterator<Item = (usize, Twist)> + 'a {
        let first = if node.flex.sway.is_empty() { 0 } else { self.nodes[node.parent as usize].flex.modes.start };
        t.sway[node.flex.sway.clone()].iter().enumerate().map(move |(n, e)| (first + n, *e))
    }

    /// U_Q: the motion of a node's seat against the body that carries it.
    #[inline]
    pub(super) fn swaying(&self, node: &TreeBody, x: &[f64], t: &TreeSpace) -> Twist {
        self.sway(node, t).fold(Twist::ZERO, |u, (k, e)| u.plus(x[k], e))
    }

    /// −U_P: the motion of a body that bends against the station that its joint holds.
    #[inline]
    pub(super) fn recoil(&self, node: &TreeBody, x: &[f64], t: &TreeSpace) -> Twist {
        node.flex.modes.clone().fold(Twist::ZERO, |u, k| u.plus(x[k], t.s[k]))
    }

    /// Twist and spatial acceleration at v̇ = 0 of a node's seat, at its joint.
    pub(super) fn seat_motion(&self, i: usize, v: &[f64], t: &TreeSpace) -> (Twist, Twist) {
        let node = &self.nodes[i];
        let twist = self.carried(node, &t.twist, &t.p, t.joint[i]);
        let bias = self.carried(node, &t.bias, &t.p, t.joint[i]);
        let Some(seat) = self.seat(i, t) else { return (twist, bias) };
        let u = self.swaying(node, v, t);
        let modes = self.nodes[node.parent as usize].flex.modes.clone();
        (twist.plus(1.0, u), bias.plus(1.0, twist.cross(u)).plus(1.0, seat.bias(&v[modes])))
    }
}

/// The inertia that modal coordinates see: of their own body, and of all that stands on its stations.
#[derive(Clone, Debug, Default)]
pub(super) struct ModalInertia {
    /// By column: the load at the joint that a unit acceleration of a mode takes while the frame stays.
    coupling: Vec<Wrench>,
    /// The square blocks of all bodies that bend, by rows.
    blocks: Vec<f64>,
    /// Where the block of each body begins.
    first: Vec<usize>,
}

impl ModalInertia {
    /// The inertia of the bodies alone.
    pub fn begin(&mut self, tree: &Tree, t: &TreeSpace) {
        if !tree.bends() {
            return;
        }
        self.coupling.clear();
        self.coupling.resize(tree.n, Wrench::default());
        self.blocks.clear();
        self.first.resize(tree.flexible.len(), 0);
        for (i, node) in tree.nodes.iter().enumerate() {
            let Some(body) = tree.bending(i) else { continue };
            for (n, k) in node.flex.modes.clone().enumerate() {
                let (f, m) = body.coupling(&t.bent[i], n);
                self.coupling[k] = Wrench { f: t.r[i] * f, m: t.r[i] * m }.at(t.joint[i] - t.p[i]);
            }
            self.first[node.flex.body as usize] = self.blocks.len();
            self.blocks.extend_from_slice(&body.structure().modal_mass);
        }
    }

    /// Adds what node `i` and all that it carries, with the inertia `times`, add on the body it stands on.
    pub fn carry(&mut self, tree: &Tree, i: usize, t: &TreeSpace, times: impl Fn(Twist) -> Wrench) {
        let node = &tree.nodes[i];
        if node.flex.sway.is_empty() {
            return;
        }
        let carrier = node.parent as usize;
        let flex = &tree.nodes[carrier].flex;
        let n = flex.modes.len();
        let first = self.first[flex.body as usize];
        for (column, (k, e)) in tree.sway(node, t).enumerate() {
            let load = times(e);
            self.coupling[k].add(load.at(t.joint[carrier] - t.joint[i]));
            for (row, (_, other)) in tree.sway(node, t).enumerate() {
                self.blocks[first + row * n + column] += load.on(other);
            }
        }
    }

    /// The load at the joint that a unit acceleration of column `k` takes, beside that of the frame's motion.
    #[inline]
    pub fn load(&self, k: usize) -> Wrench {
        self.coupling.get(k).copied().unwrap_or_default()
    }

    /// The inertia between two columns of a node, beside that of the frame's motion.
    #[inline]
    pub fn between(&self, node: &TreeBody, i: usize, k: usize) -> f64 {
        let modes = &node.flex.modes;
        match (modes.contains(&i), modes.contains(&k)) {
            (true, true) => {
                let n = modes.len();
                self.blocks[self.first[node.flex.body as usize] + (i - modes.start) * n + k - modes.start]
            }
            _ => 0.0,
        }
    }
}

/// The shapes of bodies that bend at modal coordinates, one for each body of a model; none where no body bends.
pub(super) fn shapes<'a>(bodies: impl Iterator<Item = (&'a Body, &'a [f64])> + Clone) -> Vec<Deformed> {
    if bodies.clone().all(|(b, _)| b.in_tree().flexible().is_none()) {
        return Vec::new();
    }
    let shape = |(body, q): (&Body, &[f64])| {
        let mut d = Deformed::default();
        if let Some(flexible) = body.in_tree().flexible() {
            flexible.deform(&q[flexible.rigid()..], &mut d);
        }
        d
    };
    bodies.map(shape).collect()
}
