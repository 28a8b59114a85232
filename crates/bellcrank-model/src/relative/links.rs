//! The bodies of a tree as links: what the recursions know of them that is constant.

use super::tree::{JointStep, NONE, Tree};
use crate::bodies::{Body, CentralInertia, Coordinates, each};
use crate::model::Model;
use bellcrank_math::{Mat3, Vec3};

/// A symmetric 3×3 matrix: xx, xy, xz, yy, yz, zz.
pub(super) type Sym = [f64; 6];

#[inline(always)]
pub(super) fn sym_times(s: &Sym, x: Vec3) -> Vec3 {
    let [xx, xy, xz, yy, yz, zz] = *s;
    let [x, y, z] = x.0;
    Vec3([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z])
}

/// s −= c u uᵀ.
#[inline(always)]
pub(super) fn sym_less(s: &mut Sym, c: f64, u: Vec3) {
    let [x, y, z] = u.0;
    let (cx, cy, cz) = (c * x, c * y, c * z);
    s[0] -= cx * x;
    s[1] -= cx * y;
    s[2] -= cx * z;
    s[3] -= cy * y;
    s[4] -= cy * z;
    s[5] -= cz * z;
}

/// R J Rᵀ.
#[inline(always)]
pub(super) fn turned(r: &Mat3, j: &Sym) -> Sym {
    let rows = [r.row(0), r.row(1), r.row(2)];
    let x = rows.map(|row| sym_times(j, row));
    [x[0].dot(rows[0]), x[0].dot(rows[1]), x[0].dot(rows[2]), x[1].dot(rows[1]), x[1].dot(rows[2]), x[2].dot(rows[2])]
}

/// A symmetric matrix by its six numbers.
pub(super) fn packed(j: &Mat3) -> Sym {
    [j.0[0][0], j.0[0][1], j.0[0][2], j.0[1][1], j.0[1][2], j.0[2][2]]
}

/// What is constant about a body of the tree. Bodies on a single turn have link frames whose z is its axis.
#[derive(Clone, Debug)]
pub(super) struct TreeLink {
    /// The body that carries it, or [`NONE`].
    pub parent: u32,
    /// The coordinate of its single turn, or [`NONE`] for any other joint.
    pub turn: u32,
    /// From the joint of the carrying body to this one, in the carrying body's link frame.
    pub reach: Vec3,
    /// From the carrying body's link frame to that of the joint, whose z is the axis of a single turn.
    pub axes: Mat3,
    pub mass: f64,
    /// Mass times centre, from the joint, in the link frame.
    pub moment: Vec3,
    /// Inertia about the joint, in the link frame.
    pub inertia: Sym,
    /// Whether it carries the next body in the list.
    pub heir: bool,
    /// Where the inertias of the other bodies it carries are summed, or [`NONE`].
    pub store: u32,
}

/// The constants of all bodies of a tree.
pub(super) struct Links {
    pub links: Vec<TreeLink>,
    /// Inertias about the centres of mass, in the bodies' frames.
    pub central: Vec<Sym>,
    pub stores: usize,
    /// The armature of each coordinate: inertia along it alone.
    pub armature: Vec<f64>,
}

/// Inertia about the centre of mass in the body's frame.
fn inertia(body: &Body) -> Mat3 {
    match body.in_tree().central_inertia() {
        CentralInertia::Space(j) => j,
        CentralInertia::Plane(j) => Mat3::diagonal(Vec3::Z * j),
        CentralInertia::None => Mat3::ZERO,
    }
}

/// A rotation whose z is a given direction.
fn frame_of(z: Vec3) -> Mat3 {
    if z == Vec3::Z {
        return Mat3::IDENTITY;
    }
    let x = z.any_perpendicular();
    Mat3::from_columns(x, z.cross(x), z)
}

impl Links {
    pub(super) fn new(model: &Model, tree: &Tree) -> Links {
        // from the body frame to the link frame of each body
        let mut to_link: Vec<Mat3> = Vec::new();
        let mut links: Vec<TreeLink> = Vec::with_capacity(tree.nodes.len());
        let mut central = Vec::with_capacity(tree.nodes.len());
        let mut armature = vec![0.0; tree.n];
        for node in &tree.nodes {
            let body = &model.bodies[node.body].body;
            if let Some(rotor) = body.as_rotor().filter(|_| node.is_geared()) {
                armature[node.columns.start] += rotor.inertia();
            }
            let mut turn = NONE;
            let mut joint = node.axes;
            let mut turn_frame = Mat3::IDENTITY;
            // with bodies that bend, the recursion begins from the poses of the bodies
            if let ([JointStep::Turn(axis)], false) = (&tree.steps[node.steps.clone()], tree.bends()) {
                let axis = *axis;
                turn = node.columns.start as u32;
                let f = frame_of(axis);
                (joint, turn_frame) = (node.axes * f, f.transpose() * node.turn);
            }
            let (reach, axes) = match node.parent {
                NONE => (node.place, joint),
                k => {
                    let carrier = &tree.nodes[k as usize];
                    let link = to_link[k as usize];
                    (link * (carrier.offset + node.place), link * joint)
                }
            };
            let mass = each!(body, b => b.mass());
            let centre = turn_frame * node.offset;
            let about = turn_frame * inertia(body) * turn_frame.transpose() - centre.tilde() * centre.tilde() * mass;
            links.push(TreeLink {
                parent: node.parent,
                turn,
                reach,
                axes,
                mass,
                moment: centre * mass,
                inertia: packed(&about),
                heir: false,
                store: NONE,
            });
            central.push(packed(&inertia(body)));
            to_link.push(turn_frame);
        }
        let mut stores = 0;
        for i in 0..links.len() {
            match links[i].parent {
                NONE => {}
                k if k as usize + 1 == i => links[k as usize].heir = true,
                k if links[k as usize].store == NONE => {
                    links[k as usize].store = stores as u32;
                    stores += 1;
                }
                _ => {}
            }
        }
        Links { links, central, stores, armature }
    }
}
