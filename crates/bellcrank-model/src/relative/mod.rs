//! Relative coordinates: the same model on a spanning tree of joint coordinates, with equations where loops close.
//!
//! With J(q) the map from joint rates to the velocities of all bodies, the Cartesian pieces of a [`System`] become
//!
//! ```text
//!     M = JᵀM_c J      f = Jᵀ(f_c − M_c J̇ v)      Gᵀλ = Jᵀ(G_cᵀλ)      g = g_c of the joints that are cut
//! ```
//!
//! J and Jᵀ are sweeps over the tree, never matrices; no joint or force knows of relative coordinates. Joints of the tree
//! hold by construction, and their reactions follow from the motion of the bodies they carry.
//!
//! | file | what |
//! |---|---|
//! | `tree.rs`, `links.rs` | the spanning tree, and the constants of its links |
//! | `kinematics.rs`, `sweeps.rs` | poses, J x and Jᵀ y; Cartesian points, and joint loads (RNEA) |
//! | `aba.rs`, `crba.rs` | accelerations, and the mass matrix |
//! | `sway.rs`, `bending.rs` | bodies that bend: modal columns, and the recursion with them |
//! | `patterns.rs`, `derivatives.rs`, `moved.rs` | derivatives by columns |
//! | `geometry.rs`, `roles.rs`, `start.rs` | charts; events, channels; the start of a model on its joints |

mod aba;
mod bending;
mod crba;
mod derivatives;
mod geometry;
mod kinematics;
mod links;
mod moved;
mod patterns;
mod roles;
mod start;
mod sway;
mod sweeps;
pub mod tree;

pub use aba::Recursion;
pub use kinematics::{TreeSpace, Twist, Wrench};
pub use sway::{Flex, JointPlaces};

use crate::bodies::{Coordinates, each};
use crate::dynamics::*;
use crate::system::System;
use bellcrank_math::{Quat, Vec3, rotation};
use links::Links;
use patterns::Maps;
use tree::{NONE, Pose, Tree};

/// The equations of a model in relative coordinates.
pub struct Relative {
    /// The same model in Cartesian coordinates, without the equations of the tree's joints.
    cartesian: System,
    /// The tree.
    pub tree: Tree,
    layout: Layout,
    /// The angles of the bodies at the start, in the plane, and the coordinates of rotors.
    angles: Vec<f64>,
    /// Whether each body's angle is kept within a turn.
    wraps: Vec<bool>,
    maps: Maps,
    links: Links,
    start: State,
}

impl System {
    /// The same model in relative coordinates, which are zero at the assembled point `at`.
    pub fn relative(&self, at: &Point) -> Relative {
        self.relative_with_loops(at, &self.model.followed_joints())
    }

    /// The same, with joints that close loops whatever the tree.
    fn relative_with_loops(&self, at: &Point, closing: &[usize]) -> Relative {
        let model = &self.model;
        let mut w = self.workspace();
        self.realize(at, &mut w);
        let pose = |b: usize| {
            let (p, r) = self.pose(b, at);
            Pose { p, r: r.matrix() }
        };
        let poses: Vec<Pose> = (0..model.bodies.len()).map(pose).collect();
        let coordinates = self.layout().bodies.iter().map(|range| &at.q[range.clone()]);
        let shapes = sway::shapes(model.bodies.iter().map(|b| &b.body).zip(coordinates));
        let tree = Tree::new(model, &poses, &shapes, closing);
        let cartesian = kinematics::without_tree(model, &tree.has_joint).compile();
        let layout = layout(&cartesian, &tree);
        let angle = |b: usize| match self.plane_angle(b) {
            Some(k) => at.q[k],
            None if model.bodies[b].body.as_rotor().is_some() => at.q[self.layout().bodies[b].start],
            None => poses[b].r.0[1][0].atan2(poses[b].r.0[0][0]),
        };
        let mut relative = Relative {
            angles: (0..model.bodies.len()).map(angle).collect(),
            wraps: model.bodies.iter().map(|b| b.body.in_tree().angle_wraps()).collect(),
            links: Links::new(&cartesian.model, &tree),
            layout,
            maps: Maps::new(),
            cartesian,
            start: State::default(),
            tree,
        };
        relative.measure_angles(self, at);
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
    /// The state it was made at: coordinates zero, velocities those of the bodies.
    pub fn initial_state(&self) -> State {
        self.start.clone()
    }

    /// The same model in Cartesian coordinates, without the joints of the tree.
    pub fn cartesian(&self) -> &System {
        &self.cartesian
    }

    /// How the unknowns are grouped.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The numbers of coordinates and of loop equations.
    pub fn size(&self) -> (usize, usize) {
        (self.layout.n(), self.layout.m())
    }

    /// An estimate of the blocks in the matrix of accelerations, from the tree alone: M is full along every branch, and so
    /// are the rows of G from the bodies that a loop joins to the ground.
    pub fn matrix_blocks(&self) -> usize {
        let depths = self.tree.depths();
        let joined = self.cartesian.pattern(Piece::GtLambda, Unknown::Lambda);
        let closing: usize = joined.iter().map(|(b, _)| depths[self.tree.node_of[*b as usize] as usize]).sum();
        2 * (depths.iter().sum::<usize>() + closing)
    }

    /// x ← M⁻¹ x at a realized point, by recursion; or the block whose inertia vanishes.
    pub fn mass_solve(&self, at: &Point, w: &mut Workspace, x: &mut [f64]) -> Result<(), usize> {
        let t = space(w);
        self.ready(at, t);

        self.divide_by_mass(t, x)
    }

    /// A state with all joint coordinates zero, and the deformations of a point with their rates.
    fn undisplaced(&self, system: &System, at: &Point) -> State {
        let mut s = State {
            t: at.t,
            q: vec![0.0; self.tree.n],
            v: vec![0.0; self.tree.n],
            z: at.z.clone(),
            ..State::default()
        };
        s.charts.centres = vec![Quat::IDENTITY; self.tree.charts];
        s.charts.time = at.t;
        for node in self.tree.nodes.iter().filter(|n| !n.flex.modes.is_empty()) {
            let modes = node.flex.modes.clone();
            let end = system.layout().bodies[node.body].end;
            s.q[modes.clone()].copy_from_slice(&at.q[end - modes.len()..end]);
            s.v[modes.clone()].copy_from_slice(&at.v[end - modes.len()..end]);
        }
        s
    }

    /// Angles in the plane count from where no joint has turned and nothing is bent.
    fn measure_angles(&mut self, system: &System, at: &Point) {
        if !self.tree.bends() {
            return;
        }
        let s = self.undisplaced(system, at);
        let mut w = self.workspace();
        let t = space(&mut w);
        self.tree.locate(&s.q, &s.charts, t);
        for (node, turned) in self.tree.nodes.iter().zip(&t.turned).filter(|(n, _)| !n.is_cartesian) {
            self.angles[node.body] -= turned;
        }
    }

    fn state_at(&self, system: &System, at: &Point) -> State {
        let mut s = self.undisplaced(system, at);
        let mut w = self.workspace();
        let t = space(&mut w);
        self.tree.locate(&s.q, &s.charts, t);
        let mut seen = system.workspace();
        system.realize(at, &mut seen);
        for (i, node) in self.tree.nodes.iter().enumerate().filter(|(_, n)| !n.is_geared()) {
            let range = system.layout().bodies[node.body].clone();
            if node.is_cartesian {
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
            let carried =
                self.tree.carried(node, &t.twist, &t.p, t.joint[i]).plus(1.0, self.tree.swaying(node, &s.v, t));
            let moves = t.twist[i].at(t.joint[i] - t.p[i]).less(carried).less(self.tree.recoil(node, &s.v, t));
            // turns are read from the rotation, slides from what is left of the shift
            let mut rest = moves;
            let joint = node.columns.start..node.columns.end - node.flex.modes.len();
            for k in joint.clone().filter(|&k| t.s[k].w != Vec3::ZERO) {
                s.v[k] = moves.w.dot(t.s[k].w);
                rest = rest.plus(-s.v[k], t.s[k]);
            }
            for k in joint.filter(|&k| t.s[k].w == Vec3::ZERO) {
                s.v[k] = rest.v.dot(t.s[k].v);
            }
        }
        // turns counted so far, if the joints are measured as before
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
}

fn space(w: &mut Workspace) -> &mut TreeSpace {
    w.cache_mut()
}

impl HasLayout for Relative {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Dynamics for Relative {
    fn workspace(&self) -> Workspace {
        let mut t = self.tree.space();
        let inner = self.cartesian.initial_state();
        t.point = Point::at(&inner, self.cartesian.layout());
        t.cartesian = self.cartesian.workspace();
        t.y = vec![0.0; self.cartesian.layout().n()];
        t.x = vec![0.0; self.tree.n];
        Workspace::new(0, t)
    }

    fn realize(&self, at: &Point, w: &mut Workspace) {
        if w.valid {
            return;
        }
        let t = space(w);
        t.placed = false;
        if !self.recursive() {
            self.ready(at, t);
        }
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
        let t = space(w);
        self.fill(at, t);
        match piece {
            Piece::MassAccel | Piece::Force | Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu => {
                if matches!(piece, Piece::MassAccel | Piece::Force) {
                    self.accelerate(at, t);
                }
                self.cartesian_force(piece, at, t);
                let y = std::mem::take(&mut t.y);
                if piece == Piece::MinvGtMu {
                    let mut x = std::mem::take(&mut t.x);
                    x.fill(0.0);
                    self.pull(1.0, &y, t, &mut x);
                    // where inertia is missing, the projection is weighed by what there is
                    let _ = self.divide_by_mass(t, &mut x);
                    add(out, &x);
                    t.x = x;
                } else {
                    self.pull(c, &y, t, out);
                }
                t.y = y;
            }
            Piece::Acceleration => {
                self.accelerate(at, t);
                self.to_velocities(&at.vdot, true, t);
                self.add_bias(t);
                self.cartesian.add(c, piece, &t.point, &mut t.cartesian, out);
            }
            Piece::ZDot => add(out, &at.zdot),
            _ => self.cartesian.add(c, piece, &t.point, &mut t.cartesian, out),
        }
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
        let t = space(w);
        self.fill(at, t);
        self.differentiate(c, piece, wrt, slopes, at, t, out);
    }

    fn add_both_derivatives(
        &self,
        c: [f64; 2],
        piece: Piece,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    ) {
        let t = space(w);
        self.fill(at, t);
        let (of_q, all) = (self.outer(piece, Unknown::Q).pairs.len(), out.offsets.len());
        self.differentiate(c[0], piece, Unknown::Q, slopes, at, t, &mut out.part(0..of_q));
        self.differentiate(c[1], piece, Unknown::V, slopes, at, t, &mut out.part(of_q..all));
    }

    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy {
        let t = space(w);
        self.fill(at, t);

        self.cartesian.energy(&t.point, &mut t.cartesian)
    }

    fn power(&self, at: &Point, w: &mut Workspace) -> f64 {
        let t = space(w);
        self.fill(at, t);
        self.cartesian.power(&t.point, &mut t.cartesian)
    }
}

impl MatrixHints for Relative {
    fn rows_fade(&self) -> bool {
        true
    }
}
