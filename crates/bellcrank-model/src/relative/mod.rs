//! Relative coordinates: the same model on a spanning tree of joint coordinates, with equations where loops close.
//!
//! With J(q) the map from joint rates to the velocities of all bodies, the Cartesian pieces of a [`System`] become
//!
//! ```text
//!     M = JᵀM_c J      f = Jᵀ(f_c − M_c J̇ v)      Gᵀλ = Jᵀ(G_cᵀλ)      g = g_c of the joints that are cut
//! ```
//!
//! J and Jᵀ are sweeps over the tree, never matrices: no joint, force or body knows of relative coordinates. Joints of
//! the tree hold by themselves; their reactions are what the bodies they carry need to move as they do.

mod derivatives;
mod kinematics;
mod recursion;
pub mod tree;

pub use kinematics::{TreeSpace, Twist, Wrench};
pub use recursion::Recursion;

use crate::bodies::{Body, Coordinates, each};
use crate::dynamics::*;
use crate::frames::Covector;
use crate::model::Space;
use crate::shares::add_scaled;
use crate::system::System;
use bellcrank_math::{Quat, Vec3, rotation};
use derivatives::Maps;
use kinematics::{classical, coordinates, velocities, wrench};
use recursion::Links;
use std::sync::Arc;
use tree::{NONE, Pose, Step, Tree};

/// The equations of a model in relative coordinates.
pub struct Relative {
    /// The same model with the joints of the tree hollow, in Cartesian coordinates.
    cartesian: System,
    /// The tree.
    pub tree: Tree,
    layout: Layout,
    /// The angles of the bodies at the start, in the plane; those of rods are kept within a turn.
    angles: Vec<f64>,
    rods: Vec<bool>,
    maps: Maps,
    links: Links,
    start: State,
}

impl System {
    /// The same model in relative coordinates, which are zero where the bodies stand at `at`: an assembled point.
    pub fn relative(&self, at: &Point) -> Relative {
        let model = &self.model;
        let mut w = self.workspace();
        self.realize(at, &mut w);
        let pose = |b: usize| {
            let (p, r) = self.pose(b, at);
            Pose { p, r: r.matrix() }
        };
        let poses: Vec<Pose> = (0..model.bodies.len()).map(pose).collect();
        let tree = Tree::new(model, &poses);
        let cartesian = kinematics::without_tree(model, &tree.has_joint).compile();
        let layout = layout(&cartesian, &tree);
        let range = |b: usize| self.layout().bodies[b].clone();
        let is_rod = |b: usize| matches!(model.bodies[b].body, Body::Rod(_));
        let angle = |b: usize| match (model.space, &model.bodies[b].body) {
            (Space::Plane, Body::Planar(_)) => at.q[range(b)][2],
            _ => poses[b].r.0[1][0].atan2(poses[b].r.0[0][0]),
        };
        let mut relative = Relative {
            angles: (0..model.bodies.len()).map(angle).collect(),
            rods: (0..model.bodies.len()).map(is_rod).collect(),
            links: Links::new(&cartesian.model, &tree),
            layout,
            maps: Maps::new(),
            cartesian,
            start: State::default(),
            tree,
        };
        relative.start = relative.state_at(self, at);
        relative
    }
}

/// The blocks of the tree's joints, with the constraints and states of the Cartesian equations.
fn layout(cartesian: &System, tree: &Tree) -> Layout {
    let inner = cartesian.layout();
    Layout {
        bodies: tree.nodes.iter().filter(|n| n.block != NONE).map(|n| n.columns.clone()).collect(),
        constraints: inner.constraints.clone(),
        rates: inner.rates.clone(),
        states: inner.states.clone(),
    }
}

impl Relative {
    /// The state that it was made at: coordinates zero, velocities those of the bodies.
    pub fn initial_state(&self) -> State {
        self.start.clone()
    }

    /// The same model in Cartesian coordinates, without the joints of the tree.
    pub fn cartesian(&self) -> &System {
        &self.cartesian
    }

    /// How many coordinates and loop equations it has.
    pub fn size(&self) -> (usize, usize) {
        (self.layout.n(), self.layout.m())
    }

    /// About how many blocks the matrix of accelerations has, counted from the tree without forming it: M is full along
    /// every branch, and so are the rows of G from the bodies that a loop joins to the ground.
    pub fn matrix_blocks(&self) -> usize {
        let depths = self.tree.depths();
        let joined = self.cartesian.pattern(Piece::GtLambda, Unknown::Lambda);
        let closing: usize = joined.iter().map(|(b, _)| depths[self.tree.node_of[*b as usize] as usize]).sum();
        2 * (depths.iter().sum::<usize>() + closing)
    }

    /// x ← M⁻¹ x at a realized point, by recursion; or the block whose inertia vanishes.
    pub fn mass_solve(&self, at: &Point, w: &mut Workspace, x: &mut [f64]) -> Result<(), usize> {
        let mut t = space(w);
        self.ready(at, &mut t);
        let done = self.divide_by_mass(&mut t, x);
        w.tree = Some(t);
        done
    }

    fn state_at(&self, system: &System, at: &Point) -> State {
        let mut s = State {
            t: at.t,
            q: vec![0.0; self.tree.n],
            v: vec![0.0; self.tree.n],
            z: at.z.clone(),
            ..State::default()
        };
        s.charts.centres = vec![Quat::IDENTITY; self.tree.charts];
        s.charts.time = at.t;
        let mut w = self.workspace();
        let Some(t) = w.tree.as_deref_mut() else { return s };
        self.tree.locate(&s.q, &s.charts, t);
        let mut seen = system.workspace();
        system.realize(at, &mut seen);
        for (i, node) in self.tree.nodes.iter().enumerate() {
            let range = system.layout().bodies[node.body].clone();
            if node.own {
                s.q[node.columns.clone()].copy_from_slice(&at.q[range.clone()]);
                s.v[node.columns.clone()].copy_from_slice(&at.v[range]);
                if let Some(k) = each!(&system.model.bodies[node.body].body, b => b.chart()) {
                    let first = node.columns.start + k;
                    s.q[first..first + 3].fill(0.0);
                    s.charts.centres[self.chart_of(i)] = system.pose(node.body, at).1;
                }
                continue;
            }
            let place = crate::frames::Attachment::CENTRE;
            let end = crate::model::End { body: Some(node.body), on: place };
            let frame = system.look(&end, &seen, &at.v);
            t.twist[i] = Twist { w: frame.w, v: frame.v };
            let carried = self.tree.carried(node, &t.twist, &t.p, t.joint[i]);
            let moves = t.twist[i].at(t.joint[i] - t.p[i]).less(carried);
            // slides are across turns: a turn is seen in the rotation, a slide in what is left of the shift
            let mut rest = moves;
            for k in node.columns.clone().filter(|&k| t.s[k].w != Vec3::ZERO) {
                s.v[k] = moves.w.dot(t.s[k].w);
                rest = rest.plus(-s.v[k], t.s[k]);
            }
            for k in node.columns.clone().filter(|&k| t.s[k].w == Vec3::ZERO) {
                s.v[k] = rest.v.dot(t.s[k].v);
            }
        }
        // the turns that were counted, where the hollow joints are measured as before
        let inner = self.cartesian.initial_state().charts;
        (s.charts.angles, s.charts.rates) = match at.charts.angles.len() == inner.angles.len() {
            true => (at.charts.angles.clone(), at.charts.rates.clone()),
            false => (inner.angles, inner.rates),
        };
        s.charts.rates.resize(s.charts.angles.len(), 0.0);
        s.charts.modes = at.charts.modes.clone();
        s.charts.inputs = at.charts.inputs.clone();
        let mut w = self.workspace();
        self.count_turns(&mut s, &mut w);
        s
    }

    fn count_turns(&self, s: &mut State, w: &mut Workspace) {
        let point = Point {
            t: s.t,
            q: std::mem::take(&mut s.q),
            v: std::mem::take(&mut s.v),
            z: std::mem::take(&mut s.z),
            charts: std::mem::take(&mut s.charts),
            ..Point::default()
        };
        if let Some(t) = w.tree.as_deref_mut() {
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
            (s.charts.angles, s.charts.rates, s.charts.time) =
                (counted.charts.angles.clone(), counted.charts.rates.clone(), counted.charts.time);
            (c.q, c.v, c.charts) = (counted.q, counted.v, counted.charts);
        }
        (s.q, s.v, s.z) = (point.q, point.v, point.z);
        s.charts.centres = point.charts.centres;
        s.charts.modes = point.charts.modes;
        s.charts.inputs = point.charts.inputs;
    }

    /// Poses, twists and the Cartesian coordinates and velocities of a point.
    fn place(&self, at: &Point, t: &mut TreeSpace) {
        self.tree.locate(&at.q, &at.charts, t);
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
            if node.own {
                q.copy_from_slice(&at.q[node.columns.clone()]);
                if charted {
                    c.charts.centres[chart] = at.charts.centres[self.chart_of(i)];
                }
            } else {
                let mut angle = self.angles[b] + t.turned[i];
                if self.rods[b] {
                    let r = Quat::from_matrix(&t.r[i]);
                    angle = 2.0 * r.0[3].atan2(r.0[0]); // as rods in natural coordinates tell it
                }
                let centre = charted.then(|| &mut c.charts.centres[chart]);
                coordinates(body, t.p[i], &t.r[i], angle, q, centre);
            }
            chart += charted as usize;
        }
        self.set_velocities(at, t);
    }

    /// Poses and what the Cartesian pieces need, unless they are there: the recursion alone needs none of it.
    fn ready(&self, at: &Point, t: &mut TreeSpace) {
        if !t.placed {
            self.place(at, t);
            t.cartesian.invalidate();
            self.cartesian.realize(&t.point, &mut t.cartesian);
            t.placed = true;
        }
    }

    #[inline]
    fn node(&self, body: usize) -> (usize, &tree::Node) {
        let i = self.tree.node_of[body] as usize;
        (i, &self.tree.nodes[i])
    }

    /// The Cartesian velocities and accelerations, states and multipliers of a point whose poses are known.
    fn fill(&self, at: &Point, t: &mut TreeSpace) {
        self.ready(at, t);
        self.set_velocities(at, t);
    }

    fn set_velocities(&self, at: &Point, t: &mut TreeSpace) {
        let mut twist = std::mem::take(&mut t.twist);
        self.tree.twists(&at.v, t, &mut twist);
        t.twist = twist;
        self.to_velocities(&at.v, false, t);
        t.point.z.clone_from(&at.z);
        t.point.charts.modes.clone_from(&at.charts.modes);
        t.point.charts.inputs.clone_from(&at.charts.inputs);
        t.point.lambda.clone_from(&at.lambda);
        t.point.mu.clone_from(&at.mu);
    }

    /// J v̇ and the bias, each by body.
    fn accelerate(&self, at: &Point, t: &mut TreeSpace) {
        let mut linear = std::mem::take(&mut t.linear);
        self.tree.twists(&at.vdot, t, &mut linear);
        t.linear = linear;
        self.tree.biases(&at.v, t);
    }

    /// Twists of the tree and own velocities as Cartesian velocities of the point: of J v, or of J v̇.
    fn to_velocities(&self, own: &[f64], dot: bool, t: &mut TreeSpace) {
        let (from, out) = match dot {
            true => (&t.linear, &mut t.point.vdot),
            false => (&t.twist, &mut t.point.v),
        };
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            match node.own {
                true => out[range.clone()].copy_from_slice(&own[node.columns.clone()]),
                false => velocities(&self.cartesian.model.bodies[b].body, &t.r[i], from[i], &mut out[range.clone()]),
            }
        }
    }

    /// J̇ v as Cartesian accelerations of the point, added to what is there.
    fn add_bias(&self, t: &mut TreeSpace) {
        let mut x = [0.0; crate::frames::MAX_WIDTH];
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            if !node.own {
                let a = classical(t.twist[i], t.bias[i]);
                velocities(&self.cartesian.model.bodies[b].body, &t.r[i], a, &mut x[..range.len()]);
                t.point.vdot[range.clone()].iter_mut().zip(x).for_each(|(o, x)| *o += x);
            }
        }
    }

    /// out += c Jᵀ y for a Cartesian force.
    fn pull(&self, c: f64, y: &[f64], t: &mut TreeSpace, out: &mut [f64]) {
        for (b, range) in self.cartesian.layout().bodies.iter().enumerate() {
            let (i, node) = self.node(b);
            let y = &y[range.clone()];
            match node.own {
                true => out[node.columns.clone()].iter_mut().zip(y).for_each(|(o, y)| *o += c * y),
                false => t.load[i] = wrench(&self.cartesian.model.bodies[b].body, &t.r[i], y),
            }
        }
        self.tree.pull(c, &t.p, &t.joint, &t.s, &mut t.load, out);
    }

    /// The Cartesian force of a piece, into `t.y`.
    fn cartesian_force(&self, piece: Piece, at: &Point, t: &mut TreeSpace) {
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

    /// The loads that the joints of the tree carry, at the joints: what their bodies need to move as they do.
    fn carry(&self, at: &Point, t: &mut TreeSpace) {
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
    }

    /// The load that a joint puts on its second body, at its place on it, in the world.
    fn reaction(&self, joint: usize, t: &TreeSpace, w: &Workspace) -> Covector {
        if !self.tree.has_joint[joint] {
            return self.cartesian.reaction(joint, &t.point, w);
        }
        let i = self.tree.node_of_joint[joint] as usize;
        let node = &self.tree.nodes[i];
        let end = &self.cartesian.model.joints[joint].ends[1];
        let at = self.cartesian.look(end, w, &t.point.v).p;
        let load = t.load[i].at(at - t.joint[i]);
        let sign = if node.joint.is_some_and(|(_, reversed)| reversed) { -1.0 } else { 1.0 };
        Covector::new(load.f * sign, load.m * sign)
    }
}

fn space(w: &mut Workspace) -> Box<TreeSpace> {
    w.tree.take().unwrap_or_default()
}

impl Dynamics for Relative {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn workspace(&self) -> Workspace {
        let mut t = self.tree.space();
        let inner = self.cartesian.initial_state();
        t.point = Point::at(&inner, self.cartesian.layout());
        t.cartesian = self.cartesian.workspace();
        t.y = vec![0.0; self.cartesian.layout().n()];
        t.x = vec![0.0; self.tree.n];
        Workspace { tree: Some(Box::new(t)), ..Workspace::default() }
    }

    fn realize(&self, at: &Point, w: &mut Workspace) {
        if w.valid {
            return;
        }
        let mut t = space(w);
        t.placed = false;
        if !self.recursive() {
            self.ready(at, &mut t);
        }
        w.tree = Some(t);
        w.valid = true;
    }

    fn add(&self, c: f64, piece: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let add = |out: &mut [f64], x: &[f64]| out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x);
        if piece == Piece::Speed {
            return add(out, &at.v);
        }
        if piece == Piece::Rate {
            add(out, &at.qdot);
            for i in self.charts() {
                let (phi, rate) = (Vec3::from_slice(&at.q[i..i + 3]), Vec3::from_slice(&at.qdot[i..i + 3]));
                add(&mut out[i..i + 3], &(rotation::tangent(phi) * rate - rate).0);
            }
            return;
        }
        let mut t = space(w);
        self.fill(at, &mut t);
        match piece {
            Piece::MassAccel | Piece::Force | Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu => {
                if matches!(piece, Piece::MassAccel | Piece::Force) {
                    self.accelerate(at, &mut t);
                }
                self.cartesian_force(piece, at, &mut t);
                let y = std::mem::take(&mut t.y);
                if piece == Piece::MinvGtMu {
                    let mut x = std::mem::take(&mut t.x);
                    x.fill(0.0);
                    self.pull(1.0, &y, &mut t, &mut x);
                    // without inertia somewhere the projection is weighed by what there is
                    let _ = self.divide_by_mass(&mut t, &mut x);
                    add(out, &x);
                    t.x = x;
                } else {
                    self.pull(c, &y, &mut t, out);
                }
                t.y = y;
            }
            Piece::Acceleration => {
                self.accelerate(at, &mut t);
                self.to_velocities(&at.vdot, true, &mut t);
                self.add_bias(&mut t);
                self.cartesian.add(c, piece, &t.point, &mut t.cartesian, out);
            }
            Piece::ZDot => add(out, &at.zdot),
            _ => self.cartesian.add(c, piece, &t.point, &mut t.cartesian, out),
        }
        w.tree = Some(t);
    }

    fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        self.pairs(piece, wrt)
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
        let mut t = space(w);
        self.fill(at, &mut t);
        self.differentiate(c, piece, wrt, slopes, at, &mut t, out);
        w.tree = Some(t);
    }

    fn retract(&self, c: f64, q: &mut [f64], delta: &[f64]) {
        for i in self.charts() {
            let (phi, delta) = (Vec3::from_slice(&q[i..i + 3]), Vec3::from_slice(&delta[i..i + 3]) * c);
            let step = rotation::inverse_tangent(phi) * delta;
            (0..3).for_each(|k| q[i + k] += step[k] - delta[k]);
        }
        add_scaled(c, delta, q);
    }

    fn rates(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        qdot.copy_from_slice(v);
        for i in self.charts() {
            let n = rotation::inverse_tangent(Vec3::from_slice(&q[i..i + 3]));
            qdot[i..i + 3].copy_from_slice(&(n * Vec3::from_slice(&v[i..i + 3])).0);
        }
    }

    fn velocities(&self, q: &[f64], qdot: &[f64], v: &mut [f64]) {
        v.copy_from_slice(qdot);
        for i in self.charts() {
            let t = rotation::tangent(Vec3::from_slice(&q[i..i + 3]));
            v[i..i + 3].copy_from_slice(&(t * Vec3::from_slice(&qdot[i..i + 3])).0);
        }
    }

    fn settle_past(&self, limit: f64, state: &mut State, w: &mut Workspace) -> bool {
        w.invalidate();
        self.count_turns(state, w);
        w.recentred.moves.clear();
        for (chart, i) in self.charts().enumerate() {
            let phi = Vec3::from_slice(&state.q[i..i + 3]);
            if phi.norm() > limit {
                let centre = &mut state.charts.centres[chart];
                *centre = centre.then(Quat::exp(phi));
                state.q[i..i + 3].fill(0.0);
                w.recentred.moves.push(ChartMove::to(i, phi));
            }
        }
        !w.recentred.moves.is_empty()
    }

    fn flat(&self) -> bool {
        self.charts().next().is_none()
    }

    fn scales(&self) -> Vec<Scale> {
        let mut out = Vec::with_capacity(self.tree.n);
        for node in &self.tree.nodes {
            if node.own {
                each!(&self.cartesian.model.bodies[node.body].body, b => out.extend((0..b.width()).map(|i| b.scale(i))));
            }
            for step in &self.tree.steps[node.steps.clone()] {
                let scale = if let Step::Slide(_) = step { Scale::Length } else { Scale::Angle };
                out.extend(std::iter::repeat_n(scale, step.width()));
            }
        }
        out
    }

    fn length(&self) -> f64 {
        self.cartesian.length()
    }

    fn name(&self, of: Unknown, block: usize) -> String {
        match of {
            Unknown::Q | Unknown::V => {
                let node = self.tree.nodes.iter().find(|n| n.block as usize == block);
                node.map_or_else(String::new, |n| self.cartesian.name(of, n.body))
            }
            _ => self.cartesian.name(of, block),
        }
    }

    fn recursive(&self) -> bool {
        // an impact asks for a response that takes the matrix
        self.layout.m() == 0 && !self.cartesian.jumps()
    }

    fn recursion(&self, at: &mut Point, w: &mut Workspace) -> Result<(), usize> {
        let mut t = space(w);
        let done = self.forward_dynamics(at, &mut t);
        w.tree = Some(t);
        done
    }

    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy {
        let mut t = space(w);
        self.fill(at, &mut t);
        let energy = self.cartesian.energy(&t.point, &mut t.cartesian);
        w.tree = Some(t);
        energy
    }

    fn has_power(&self) -> bool {
        self.cartesian.has_power()
    }

    fn driven(&self) -> bool {
        self.cartesian.driven()
    }

    fn channels(&self) -> Vec<Channel> {
        self.cartesian.channels()
    }

    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let mut t = space(w);
        self.carry(at, &mut t);
        let mut inner = std::mem::take(&mut t.cartesian);
        crate::channels::observe(&self.cartesian, &t.point, &mut inner, |j, w| self.reaction(j, &t, w), out);
        t.cartesian = inner;
        w.tree = Some(t);
    }

    fn integrable(&self, constraint: usize) -> bool {
        self.cartesian.integrable(constraint)
    }

    fn switches(&self) -> usize {
        self.cartesian.switches()
    }

    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let mut t = space(w);
        self.fill(at, &mut t);
        self.cartesian.switch_values(&t.point, &mut t.cartesian, out);
        w.tree = Some(t);
    }

    fn reactive(&self) -> bool {
        self.cartesian.reactive()
    }

    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let mut t = space(w);
        self.fill(at, &mut t);
        let modes = self.cartesian.modes(&t.point, &mut t.cartesian);
        w.tree = Some(t);
        modes
    }

    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let mut t = space(w);
        self.fill(at, &mut t);
        let mut crossing = self.cartesian.cross(k, &t.point, &mut t.cartesian);
        if let Some(impact) = crossing.as_mut().and_then(|c| c.impact.as_mut()) {
            let y = std::mem::replace(&mut impact.row, vec![0.0; self.tree.n]);
            self.pull(1.0, &y, &mut t, &mut impact.row);
        }
        w.tree = Some(t);
        crossing
    }

    fn may_stick(&self) -> Option<String> {
        self.cartesian.may_stick()
    }

    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        let cartesian = self.cartesian.with_modes(modes)?;
        Some(Arc::new(Relative {
            layout: layout(&cartesian, &self.tree),
            links: Links::new(&cartesian.model, &self.tree),
            cartesian,
            tree: self.tree.clone(),
            angles: self.angles.clone(),
            rods: self.rods.clone(),
            maps: Maps::new(),
            start: self.start.clone(),
        }))
    }
}

impl Relative {
    /// The number of the first chart of a node.
    fn chart_of(&self, node: usize) -> usize {
        let first = self.tree.nodes[node].columns.start;
        self.charts().take_while(|i| *i < first).count()
    }

    /// Where the coordinates of each rotation chart begin, in the order of the charts.
    fn charts(&self) -> impl Iterator<Item = usize> + '_ {
        self.tree.nodes.iter().flat_map(|node| {
            let mut k = node.columns.start;
            let own = each!(&self.cartesian.model.bodies[node.body].body, b => b.chart());
            let own = own.filter(|_| node.own).map(|c| node.columns.start + c);
            let balls = self.tree.steps[node.steps.clone()].iter().filter_map(move |s| {
                k += s.width();
                matches!(s, Step::Ball(_)).then(|| k - 3)
            });
            own.into_iter().chain(balls)
        })
    }
}
