//! The spanning tree: which joints carry the bodies, and which ones close loops.
//!
//! Every body hangs on the ground by the shortest path over joints that have coordinates, so that loops are cut in the
//! middle and both halves are short. Among paths of equal length the one with less freedom wins, because a joint with more
//! freedom leaves fewer equations when it is cut. `tree = true` and `tree = false` of a joint overrule this. Bodies
//! without a path to the ground hang on the middle one among them, which moves freely; of two in the middle on the one that forces tie to
//! the ground.

use super::sway::{Flex, JointPlaces};
use crate::bodies::{Body, Coordinates, Deformed, Flexible, Orientation, each};
use crate::frames::Attachment;
use crate::joints::{Motion, Move, Z};
use crate::model::{End, ForceEntry, JointEntry, Model};
use crate::space::Space;
use bellcrank_math::{Mat3, Vec3};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// No node: the ground.
pub const NONE: u32 = u32::MAX;

/// A step from a place on one body to the next body: the identity at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointStep {
    /// A turn about an axis.
    Turn(Vec3),
    /// A shift along an axis.
    Slide(Vec3),
    /// A turn about an axis with a shift along it, in m per rad.
    Screw(Vec3, f64),
    /// A rotation, in the chart of this number.
    Ball(u32),
}

impl JointStep {
    /// Its number of coordinates.
    pub fn width(&self) -> usize {
        if let JointStep::Ball(_) = self { 3 } else { 1 }
    }
}

/// A body of the tree with the joint that carries it. One record of the tree's table, hence its 14 fields.
#[derive(Clone, Debug)]
pub struct TreeBody {
    /// The body's number in the model.
    pub body: usize,
    /// The node that carries it, or [`NONE`].
    pub parent: u32,
    /// One past the last node that it carries, directly or not; they follow it.
    pub end: u32,
    /// Whether it keeps its Cartesian coordinates (point masses, thin rods in space): nothing hangs on it. The rotor of an
    /// armature of the tree does so too, and its coordinate is that of its joint: see [`is_geared`](TreeBody::is_geared).
    pub is_cartesian: bool,
    /// The joint that carries it, and whether the body is its first one.
    pub joint: Option<(usize, bool)>,
    /// The joint's place on the carrying body, in its frame; on a body that bends, in the axes of its station.
    pub place: Vec3,
    /// The joint's axes there.
    pub axes: Mat3,
    /// From the frame that the steps lead to, to the body's frame, or to the station of a body that bends.
    pub turn: Mat3,
    /// From the joint to the body's centre (to the station), in the body's frame (in the station's axes).
    pub offset: Vec3,
    /// What bends, of the body and of the one that carries it.
    pub flex: Flex,
    /// Its steps.
    pub steps: Range<usize>,
    /// Its coordinates: those of the joint, then its modal ones.
    pub columns: Range<usize>,
    /// Its block among the unknowns, or [`NONE`] where it has no coordinate.
    pub block: u32,
    /// The first node of its tree.
    pub root: u32,
}

impl TreeBody {
    /// Whether it is a rotor whose column is that of the joint it is geared to.
    #[inline]
    pub fn is_geared(&self) -> bool {
        self.is_cartesian && self.block == NONE
    }

    /// The coordinate of a body that keeps its own, for one unit of its column: that of a geared rotor turns against it
    /// where the tree goes through its joint backwards.
    #[inline]
    pub fn own_sign(&self) -> f64 {
        if self.joint.is_some_and(|(_, reversed)| reversed) { -1.0 } else { 1.0 }
    }
}

/// Where a body is at the start.
#[derive(Clone, Copy, Debug)]
pub struct Pose {
    /// The centre of mass.
    pub p: Vec3,
    /// The rotation, body to world.
    pub r: Mat3,
}

/// A spanning tree.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Bodies, each after the one that carries it.
    pub nodes: Vec<TreeBody>,
    /// The steps of all nodes.
    pub steps: Vec<JointStep>,
    /// The node of each body.
    pub node_of: Vec<u32>,
    /// Whether each joint of the model is in the tree.
    pub has_joint: Vec<bool>,
    /// The node that each of them carries, or [`NONE`].
    pub node_of_joint: Vec<u32>,
    /// Number of coordinates.
    pub n: usize,
    /// Number of rotation charts.
    pub charts: usize,
    /// The bodies that bend.
    pub flexible: Vec<Flexible>,
    /// Where the joint of each node stands, if any body bends.
    pub places: Vec<JointPlaces>,
    /// Number of motions of seats with the modes of carrying bodies.
    pub sways: usize,
}

/// Whether others may hang on a body.
fn carries(body: &Body) -> bool {
    body.in_tree().carries()
}

/// The cost of a joint on a path to the ground: one step, and a little for each freedom.
fn cost(moves: &[Move]) -> u64 {
    let freedom: u64 = moves.iter().map(|m| if *m == Move::Ball { 3 } else { 1 }).sum();
    1000 + freedom
}

struct Edge {
    joint: usize,
    ends: [u32; 2],
    cost: u64,
}

impl Tree {
    /// The tree of a model whose bodies stand at `poses`; those that bend have the given shapes, and some joints close loops
    /// whatever the tree.
    pub fn new(model: &Model, poses: &[Pose], shapes: &[Deformed], closing: &[usize]) -> Tree {
        let places = Places { model, poses, shapes };
        let bodies = model.bodies.len();
        let edges = edges(model, closing);
        let mut ways: Vec<Vec<usize>> = vec![Vec::new(); bodies + 1];
        let place = |b: u32| if b == NONE { bodies } else { b as usize };
        for (k, e) in edges.iter().enumerate() {
            e.ends.iter().for_each(|b| ways[place(*b)].push(k));
        }
        let mut carrier: Vec<Option<usize>> = vec![None; bodies];
        let mut cost = vec![u64::MAX; bodies + 1];
        reach(bodies, &edges, &ways, model, &mut cost, &mut carrier);
        for b in 0..bodies {
            if cost[b] == u64::MAX && carries(&model.bodies[b].body) {
                let alone = ways[b].is_empty();
                let root = if alone { b } else { middle(b, &edges, &ways, model, &cost) };
                reach(root, &edges, &ways, model, &mut cost, &mut carrier);
            }
        }
        let mut tree = Tree {
            node_of: vec![NONE; bodies],
            has_joint: vec![false; model.joints.len()],
            node_of_joint: vec![NONE; model.joints.len()],
            ..Tree::default()
        };
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); bodies + 1];
        for b in 0..bodies {
            match carrier[b] {
                Some(k) => {
                    let [first, second] = edges[k].ends;
                    children[place(if first as usize == b { second } else { first })].push(b);
                }
                None => children[bodies].push(b),
            }
        }
        let armatures = armatures(model);
        // depth first, so that what a body carries stands right after it; rotors are the last bodies
        let mut stack: Vec<(usize, u32)> = children[bodies].iter().rev().map(|&b| (b, NONE)).collect();
        while let Some((b, parent)) = stack.pop() {
            let number = tree.nodes.len() as u32;
            tree.node_of[b] = number;
            let joint = carrier[b].map(|k| (edges[k].joint, edges[k].ends[0] as usize == b));
            if !tree.push_geared(&places, b, armatures.get(&b)) {
                tree.push(&places, b, parent, joint);
            }
            stack.extend(children[b].iter().rev().map(|&c| (c, number)));
        }
        for i in (0..tree.nodes.len()).rev() {
            tree.nodes[i].end = tree.nodes[i].end.max(i as u32 + 1);
            let (end, parent) = (tree.nodes[i].end, tree.nodes[i].parent);
            if parent != NONE {
                let carrying = &mut tree.nodes[parent as usize];
                carrying.end = carrying.end.max(end);
            }
        }
        tree
    }

    /// Appends a node. Its steps begin where the joint stands on the carrying body.
    fn push(&mut self, places: &Places, b: usize, parent: u32, joint: Option<(usize, bool)>) {
        let model = places.model;
        let body = &model.bodies[b].body;
        let on = |end: usize| joint.map_or(Attachment::CENTRE, |(k, _)| model.joints[k].ends[end].on);
        let reversed = joint.is_some_and(|(_, reversed)| reversed);
        let (station, seat) = (on(!reversed as usize), on(reversed as usize));
        // the frame of the body, or its station
        let pose = places.held(b, &station);
        let is_cartesian = joint.is_none() && !carries(body);
        let (first_step, first_column) = (self.steps.len(), self.n);
        let mut axes = pose.r;
        let mut at = pose.p;
        match joint {
            _ if is_cartesian => {
                self.n += each!(body, b => b.width());
                self.charts += each!(body, b => b.chart().is_some()) as usize;
            }
            None => {
                let slides =
                    (0..model.space.dimension()).map(|i| JointStep::Slide(pose.r.transpose_times(Vec3::unit(i))));
                self.steps.extend(slides);
                self.steps.push(match model.space {
                    Space::Plane => JointStep::Turn(Vec3::Z),
                    Space::Space => JointStep::Ball(0),
                });
            }
            Some((number, reversed)) => {
                self.has_joint[number] = true;
                self.node_of_joint[number] = self.nodes.len() as u32;
                (at, axes) = self.push_steps(places, body, number, reversed);
            }
        }
        for step in &mut self.steps[first_step..] {
            if let JointStep::Ball(chart) = step {
                *chart = self.charts as u32;
                self.charts += 1;
            }
            self.n += step.width();
        }
        let flex = self.flex(body, parent);
        if !places.shapes.is_empty() {
            self.places.push(JointPlaces { station, seat });
        }
        let carrier = match parent {
            NONE => Pose { p: Vec3::ZERO, r: Mat3::IDENTITY },
            k => places.held(self.nodes[k as usize].body, &seat),
        };
        let number = self.nodes.len() as u32;
        let blocks = self.nodes.iter().rev().find(|n| n.block != NONE).map_or(0, |n| n.block + 1);
        self.nodes.push(TreeBody {
            body: b,
            parent,
            end: 0,
            is_cartesian,
            joint,
            place: carrier.r.transpose_times(at - carrier.p),
            axes: carrier.r.transpose() * axes,
            turn: axes.transpose() * pose.r,
            offset: pose.r.transpose_times(pose.p - at),
            flex,
            steps: first_step..self.steps.len(),
            columns: first_column..self.n,
            block: if self.n > first_column { blocks } else { NONE },
            root: if parent == NONE { number } else { self.nodes[parent as usize].root },
        });
    }

    /// Appends the steps of a joint; where it stands on the carrying body, and its axes there.
    fn push_steps(&mut self, places: &Places, body: &Body, joint: usize, reversed: bool) -> (Vec3, Mat3) {
        let (space, entry) = (places.model.space, &places.model.joints[joint]);
        let frames = [places.world(&entry.ends[0]), places.world(&entry.ends[1])];
        let Pose { p, r: axes } = frames[reversed as usize];
        let mut moves = match each!(body, b => b.orientation()) {
            Orientation::None => Vec::new(),
            _ => entry.joint.moves(space).unwrap_or_default(),
        };
        if reversed {
            moves.reverse();
        }
        let local = |frame: usize, axis: usize| axes.transpose_times(frames[frame].r.column(axis));
        self.steps.extend(moves.into_iter().map(|m| match m {
            Move::Along(Motion::Rotate(axis)) => JointStep::Turn(local(0, axis)),
            Move::Along(Motion::RotateSecond(axis)) => JointStep::Turn(local(1, axis)),
            Move::Along(Motion::Translate(axis)) => JointStep::Slide(local(0, axis)),
            Move::Screw(lead) => JointStep::Screw(local(0, Z), lead),
            Move::Ball => JointStep::Ball(0),
        }));
        (p, axes)
    }

    /// Appends the rotor of an armature on a coordinate of the tree, if it is one: it takes no coordinate of its own.
    fn push_geared(&mut self, places: &Places, b: usize, armature: Option<&usize>) -> bool {
        let model = places.model;
        let Some((&number, Some((column, reversed)))) = armature.map(|k| (k, self.geared(model, *k))) else {
            return false;
        };
        self.has_joint[number] = true;
        self.node_of_joint[number] = self.nodes.len() as u32;
        let steps = self.steps.len();
        if !places.shapes.is_empty() {
            self.places.push(JointPlaces { station: Attachment::CENTRE, seat: Attachment::CENTRE });
        }
        self.nodes.push(TreeBody {
            body: b,
            parent: NONE,
            end: 0,
            is_cartesian: true,
            joint: Some((number, reversed)),
            place: Vec3::ZERO,
            axes: Mat3::IDENTITY,
            turn: Mat3::IDENTITY,
            offset: Vec3::ZERO,
            flex: Flex::default(),
            steps: steps..steps,
            columns: column..column + 1,
            block: NONE,
            root: self.nodes.len() as u32,
        });
        true
    }

    /// The column of the coordinate that an armature acts along, and whether it runs against the joint's.
    fn geared(&self, model: &Model, armature: usize) -> Option<(usize, bool)> {
        let entry = &model.joints[armature];
        let motion = entry.joint.turns_rotor()?;
        let carrying = entry.ends[..2].iter().filter_map(|e| self.nodes.get(self.node_of[e.body?] as usize));
        let of_joint = |n: &&TreeBody| n.joint.is_some_and(|(k, _)| model.joints[k].ends[..2] == entry.ends[..2]);
        let node = carrying.filter(|n| !n.is_cartesian).find(of_joint)?;
        let (joint, reversed) = node.joint?;
        let moves = model.joints[joint].joint.moves(model.space)?;
        let along = |m: &Move| *m == Move::Along(motion) || matches!(m, Move::Screw(_)) && motion.turns();
        let mut k = moves.iter().position(along)?;
        if reversed {
            k = moves.len() - 1 - k;
        }
        let steps = self.steps.get(node.steps.clone())?;
        (steps.len() == moves.len())
            .then(|| (node.columns.start + steps[..k].iter().map(JointStep::width).sum::<usize>(), reversed))
    }

    /// The nodes on the path to the ground, beginning with the node itself.
    pub fn ancestors(&self, node: u32) -> impl Iterator<Item = usize> + '_ {
        let next = |k: u32| (k != NONE).then_some(k);
        std::iter::successors(next(node), move |&k| next(self.nodes[k as usize].parent)).map(|k| k as usize)
    }

    /// The number of joints between each node and the ground.
    pub fn depths(&self) -> Vec<usize> {
        let mut depth = vec![0usize; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            depth[i] = 1 + if node.parent == NONE { 0 } else { depth[node.parent as usize] };
        }
        depth
    }
}

/// Where everything is at the start.
struct Places<'a> {
    model: &'a Model,
    poses: &'a [Pose],
    shapes: &'a [Deformed],
}

impl Places<'_> {
    /// A place, seen from the world.
    fn world(&self, end: &End) -> Pose {
        let Some(b) = end.body else { return Pose { p: end.on.point, r: end.on.axes } };
        let Pose { p, r } = self.held(b, &end.on);
        let rigid = self.model.bodies[b].body.in_tree().flexible().is_none();
        Pose { p: if rigid { p + r * end.on.point } else { p }, r: r * end.on.axes }
    }

    /// The frame of a body, or the station of one that bends: the point, and the axes as the section has turned.
    fn held(&self, b: usize, on: &Attachment) -> Pose {
        let Pose { p, r } = self.poses[b];
        let Some(body) = self.model.bodies[b].body.in_tree().flexible() else { return Pose { p, r } };
        let station = body.seen(&self.shapes[b], on);
        Pose { p: p + r * station.place(), r: r * station.turn() }
    }
}

/// The armature of each rotor, by body.
fn armatures(model: &Model) -> HashMap<usize, usize> {
    let of = |(k, j): (usize, &JointEntry)| j.joint.turns_rotor().and(j.ends.get(3)?.body).map(|b| (b, k));
    model.joints.iter().enumerate().filter_map(of).collect()
}

/// The joints that may be in a tree.
fn edges(model: &Model, closing: &[usize]) -> Vec<Edge> {
    let may = |k: &usize| model.joints[*k].tree != Some(false) && !closing.contains(k);
    (0..model.joints.len()).filter(may).filter_map(|k| edge(model, k)).collect()
}

/// Whether a joint may be in a tree.
pub fn may_carry(model: &Model, joint: usize) -> bool {
    edge(model, joint).is_some()
}

fn edge(model: &Model, number: usize) -> Option<Edge> {
    let joint = model.joints.get(number).filter(|j| j.ends.len() == 2)?;
    let moves = joint.joint.moves(model.space)?;
    let body = |k: usize| joint.ends[k].body.map_or(NONE, |b| b as u32);
    let fits = |k: usize| {
        joint.ends[k].body.is_none_or(|b| {
            let body = &model.bodies[b].body;
            carries(body) || each!(body, b => b.orientation()) == Orientation::None
        })
    };
    // a point mass hangs on a body or on the ground, but not on another one
    let points = (0..2).filter(|&k| joint.ends[k].body.is_some_and(|b| !carries(&model.bodies[b].body))).count();
    let carries = fits(0) && fits(1) && points < 2 && body(0) != body(1);
    carries.then(|| Edge { joint: number, ends: [body(0), body(1)], cost: cost(&moves) })
}

/// Finds the cheapest paths from a body (or the ground, as the last number) to all others not reached yet. With a body
/// comes all that hangs on it by joints that the user wants in the tree.
fn reach(
    from: usize,
    edges: &[Edge],
    ways: &[Vec<usize>],
    model: &Model,
    cost: &mut [u64],
    carrier: &mut [Option<usize>],
) {
    let ground = ways.len() - 1;
    let mut heap = BinaryHeap::from([Reverse((0u64, usize::MAX, from))]);
    while let Some(Reverse((so_far, by, at))) = heap.pop() {
        if cost[at] != u64::MAX {
            continue;
        }
        cost[at] = so_far;
        if at != ground {
            carrier[at] = edges.get(by).map(|_| by);
        }
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            if at != ground && !carries(&model.bodies[at].body) {
                continue; // nothing hangs on a point mass
            }
            let here = if at == ground { NONE } else { at as u32 };
            for &k in &ways[at] {
                let [first, second] = edges[k].ends;
                let there = if first == here { second } else { first };
                if there == NONE || cost[there as usize] != u64::MAX {
                    continue;
                }
                let there = there as usize;
                let total = cost[at] + edges[k].cost;
                if model.joints[edges[k].joint].tree == Some(true) {
                    (cost[there], carrier[there]) = (total, Some(k));
                    stack.push(there);
                } else {
                    heap.push(Reverse((total, k, there)));
                }
            }
        }
    }
}

/// The body in the middle of the longest path among the bodies connected with `from`.
fn middle(from: usize, edges: &[Edge], ways: &[Vec<usize>], model: &Model, cost: &[u64]) -> usize {
    let ground = ways.len() - 1;
    let search = |root: usize| {
        let mut far = cost.to_vec();
        let mut carrier = vec![None; ground];
        reach(root, edges, ways, model, &mut far, &mut carrier);
        let joined = |b: &usize| cost[*b] == u64::MAX && far[*b] != u64::MAX && carries(&model.bodies[*b].body);
        let last = (0..ground).filter(joined).max_by_key(|&b| (far[b], Reverse(b))).unwrap_or(root);
        (last, far, carrier)
    };
    let (one_end, ..) = search(from);
    let (mut at, far, carrier) = search(one_end);
    let (length, mut before) = (far[at], at);
    while far[at] > length / 2 {
        let Some(k) = carrier[at] else { break };
        let [first, second]: [u32; 2] = edges[k].ends;
        let next = if first as usize == at { second } else { first } as usize;
        (before, at) = (at, next);
    }
    // of two in the middle that which forces tie to the ground: where these are stiff, they are straight in its own coordinates
    let as_short = far[before] <= length - far[at];
    if as_short && tied(before, model) && !tied(at, model) { before } else { at }
}

/// Whether a force acts between a body and the ground.
fn tied(body: usize, model: &Model) -> bool {
    let on = |f: &ForceEntry, b: Option<usize>| f.ends.iter().any(|end| end.body == b);
    model.forces.iter().any(|f| on(f, None) && on(f, Some(body)))
}
