//! O(n) recursions over the tree: articulated bodies [Featherstone 2008, ch. 7] and composite bodies (ch. 6).
//!
//! World directions; the reference of every body is the point P of the joint that carries it, so that nothing cancels
//! in long chains; accelerations are those of the points themselves, which needs no linear velocities. A load on what a
//! joint carries is
//!
//! ```text
//!     m = A α + B a + p_m        f = Bᵀ α + C a + p_f
//! ```
//!
//! with the symmetric articulated inertia [A B; Bᵀ C] of 21 numbers. A joint with motions S, U = I S, D = SᵀU and
//! u = τ − Sᵀp leaves I − U D⁻¹Uᵀ and p + (I − U D⁻¹Uᵀ) c + U D⁻¹u to the body that carries it; c is its acceleration
//! at rest. Bodies that hang on a single turn keep frames whose z is its axis: their rotation is one sine and cosine.

use super::Relative;
use super::kinematics::{TreeSpace, Twist, Wrench};
use super::tree::{NONE, Step, Tree};
use crate::bodies::{Body, BodyFrame, CentralInertia, Coordinates, each};
use crate::dynamics::*;
use crate::model::Model;
use bellcrank_math::{Mat3, Quat, Vec3, rotation};

/// A symmetric 3×3 matrix: xx, xy, xz, yy, yz, zz.
type Sym = [f64; 6];

#[inline(always)]
fn sym_times(s: &Sym, x: Vec3) -> Vec3 {
    let [xx, xy, xz, yy, yz, zz] = *s;
    let [x, y, z] = x.0;
    Vec3([xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z])
}

/// s −= c u uᵀ.
#[inline(always)]
fn sym_less(s: &mut Sym, c: f64, u: Vec3) {
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
fn turned(r: &Mat3, j: &Sym) -> Sym {
    let rows = [r.row(0), r.row(1), r.row(2)];
    let x = rows.map(|row| sym_times(j, row));
    [x[0].dot(rows[0]), x[0].dot(rows[1]), x[0].dot(rows[2]), x[1].dot(rows[1]), x[1].dot(rows[2]), x[2].dot(rows[2])]
}

/// What is constant about a body of the tree.
#[derive(Clone, Debug)]
struct Link {
    /// The body that carries it, or [`NONE`].
    parent: u32,
    /// The coordinate of its single turn, or [`NONE`] for any other joint.
    turn: u32,
    /// From the joint of the carrying body to this one, in the carrying body's link frame.
    reach: Vec3,
    /// From the carrying body's link frame to that of the joint, whose z is the axis of a single turn.
    axes: Mat3,
    mass: f64,
    /// Mass times centre, from the joint, in the link frame.
    moment: Vec3,
    /// Inertia about the joint, in the link frame.
    inertia: Sym,
    /// Whether it carries the next body; those after that stand in the store of this number, or [`NONE`].
    heir: bool,
    store: u32,
}

/// A body on its way through the sweeps.
#[derive(Clone, Debug, Default)]
struct Moving {
    /// Link frame to world; its z is the axis of a single turn.
    r: Mat3,
    w: Vec3,
    /// From the joint of the carrying body to this one.
    l: Vec3,
    /// Acceleration at rest: angular, and of the joint's point.
    c_w: Vec3,
    c_v: Vec3,
    /// Of a single turn: U and u, and 1/D.
    u_m: Vec3,
    u_f: Vec3,
    u: f64,
    over_d: f64,
    /// Accelerations.
    alpha: Vec3,
    acc: Vec3,
}

/// An articulated inertia with the load at rest.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    a: Sym,
    b: Mat3,
    c: Sym,
    p_m: Vec3,
    p_f: Vec3,
}

impl Carried {
    #[inline(always)]
    fn add(&mut self, x: &Carried) {
        self.a.iter_mut().zip(x.a).for_each(|(a, x)| *a += x);
        self.b += x.b;
        self.c.iter_mut().zip(x.c).for_each(|(c, x)| *c += x);
        self.p_m += x.p_m;
        self.p_f += x.p_f;
    }

    /// The same about the joint l before.
    #[inline(always)]
    fn shifted(&self, l: Vec3) -> Carried {
        let [x, y, z] = l.0;
        // l̃ C
        let [xx, xy, xz, yy, yz, zz] = self.c;
        let lc = Mat3([
            [y * xz - z * xy, y * yz - z * yy, y * zz - z * yz],
            [z * xx - x * xz, z * xy - x * yz, z * xz - x * zz],
            [x * xy - y * xx, x * yy - y * xy, x * yz - y * xz],
        ]);
        // A − B l̃ + l̃ Bᵀ − l̃ C l̃ = A − X l̃ − (X l̃)ᵀ with X = B + ½ l̃ C, for l̃ᵀ = −l̃
        let h = self.b + lc * 0.5;
        let row = |i: usize| {
            let [hx, hy, hz] = h.0[i];
            [hy * z - hz * y, hz * x - hx * z, hx * y - hy * x]
        };
        let (a, n) = (&self.a, [row(0), row(1), row(2)]);
        Carried {
            a: [
                a[0] - 2.0 * n[0][0],
                a[1] - n[0][1] - n[1][0],
                a[2] - n[0][2] - n[2][0],
                a[3] - 2.0 * n[1][1],
                a[4] - n[1][2] - n[2][1],
                a[5] - 2.0 * n[2][2],
            ],
            b: self.b + lc,
            c: self.c,
            p_m: self.p_m + l.cross(self.p_f),
            p_f: self.p_f,
        }
    }
}

/// The sweeps' memory.
#[derive(Clone, Debug, Default)]
pub struct Recursion {
    bodies: Vec<Moving>,
    /// What bodies carry beside the next one.
    stores: Vec<Carried>,
    s: Vec<Twist>,
    /// U of joints with several coordinates, and u.
    u_of: Vec<[Vec3; 2]>,
    u: Vec<f64>,
    /// D⁻¹ of such joints, by rows of six.
    inverse: Vec<[f64; 6]>,
}

/// The constants of all bodies of a tree.
pub(super) struct Links {
    links: Vec<Link>,
    /// Inertias about the centres of mass, in the bodies' frames.
    central: Vec<Sym>,
    stores: usize,
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
        // from a body's link frame to its own, and where its joint is, in its own
        let mut to_own: Vec<Mat3> = Vec::new();
        let mut links: Vec<Link> = Vec::with_capacity(tree.nodes.len());
        let mut central = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let body = &model.bodies[node.body].body;
            let mut turn = NONE;
            let mut joint = node.axes;
            let mut own = Mat3::IDENTITY;
            if let [Step::Turn(axis)] = tree.steps[node.steps.clone()] {
                turn = node.columns.start as u32;
                let f = frame_of(axis);
                (joint, own) = (node.axes * f, f.transpose() * node.turn);
            }
            let (reach, axes) = match node.parent {
                NONE => (node.place, joint),
                k => {
                    let carrier = &tree.nodes[k as usize];
                    let link = to_own[k as usize];
                    (link * (carrier.offset + node.place), link * joint)
                }
            };
            let mass = each!(body, b => b.mass());
            let centre = own * node.offset;
            let about = own * inertia(body) * own.transpose() - centre.tilde() * centre.tilde() * mass;
            let packed = |j: Mat3| [j.0[0][0], j.0[0][1], j.0[0][2], j.0[1][1], j.0[1][2], j.0[2][2]];
            links.push(Link {
                parent: node.parent,
                turn,
                reach,
                axes,
                mass,
                moment: centre * mass,
                inertia: packed(about),
                heir: false,
                store: NONE,
            });
            central.push(packed(inertia(body)));
            to_own.push(own);
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
        Links { links, central, stores }
    }
}

/// What drives the accelerations.
struct Drive<'a> {
    q: &'a [f64],
    centres: &'a [Quat],
    v: Option<&'a [f64]>,
    /// Joint forces; none without any.
    tau: Option<&'a [f64]>,
    gravity: Vec3,
}

impl Relative {
    /// v̇ of a tree without loops.
    pub(super) fn forward_dynamics(&self, at: &mut Point, t: &mut TreeSpace) -> Result<(), usize> {
        let plain = self.cartesian.model.forces.is_empty() && self.tree.nodes.iter().all(|n| !n.own);
        if !plain {
            let mut x = std::mem::take(&mut at.vdot);
            x.fill(0.0);
            self.fill(at, t);
            self.tree.biases(&at.v, t);
            self.cartesian_force(Piece::Force, at, t);
            let y = std::mem::take(&mut t.y);
            self.pull(1.0, &y, t, &mut x);
            t.y = y;
            let done = self.divide_by_mass(t, &mut x);
            at.vdot = x;
            return done;
        }
        let gravity = self.cartesian.model.gravity;
        let drive = Drive { q: &at.q, centres: &at.charts.centres, v: Some(&at.v), tau: None, gravity };
        self.articulate(&drive, &mut t.recursion, &mut at.vdot)
    }

    /// x ← M⁻¹ x at a point whose poses are known; else the block without inertia.
    pub(super) fn divide_by_mass(&self, t: &mut TreeSpace, x: &mut [f64]) -> Result<(), usize> {
        let mut tau = std::mem::take(&mut t.tau);
        tau.clear();
        tau.extend_from_slice(x);
        let (q, centres) = (std::mem::take(&mut t.q), std::mem::take(&mut t.centres));
        let drive = Drive { q: &q, centres: &centres, v: None, tau: Some(&tau), gravity: Vec3::ZERO };
        let done = self.articulate(&drive, &mut t.recursion, x);
        for node in self.tree.nodes.iter().filter(|n| n.own) {
            x[node.columns.clone()].copy_from_slice(&tau[node.columns.clone()]);
            each!(&self.cartesian.model.bodies[node.body].body, b => b.divide_by_mass(&BodyFrame::default(), &mut x[node.columns.clone()]));
        }
        (t.tau, t.q, t.centres) = (tau, q, centres);
        done
    }

    fn articulate(&self, drive: &Drive, m: &mut Recursion, out: &mut [f64]) -> Result<(), usize> {
        let n = self.links.links.len();
        if m.bodies.len() != n {
            m.bodies = vec![Moving::default(); n];
            m.stores = vec![Carried::default(); self.links.stores];
            m.s = vec![Twist::ZERO; self.tree.n];
            m.u_of = vec![Default::default(); self.tree.n];
            m.u = vec![0.0; self.tree.n];
            m.inverse = vec![[0.0; 6]; self.tree.n];
        }
        self.outwards(drive, m);
        self.inwards(drive, m)?;
        self.outwards_again(drive.gravity, m, out);
        Ok(())
    }

    /// Poses, angular velocities and accelerations at rest.
    fn outwards(&self, drive: &Drive, m: &mut Recursion) {
        let (start, ground) = (Moving { r: Mat3::IDENTITY, ..Moving::default() }, NONE);
        for i in 0..self.links.links.len() {
            let link = &self.links.links[i];
            let (before, rest) = m.bodies.split_at_mut(i);
            let body = &mut rest[0];
            let carrier = if link.parent == ground { &start } else { &before[link.parent as usize] };
            let w0 = carrier.w;
            let l = carrier.r * link.reach;
            let f = carrier.r * link.axes;
            if link.turn != NONE {
                let k = link.turn as usize;
                let (sin, cos) = drive.q[k].sin_cos();
                let (x, y, z) = (f.column(0), f.column(1), f.column(2));
                body.r = Mat3::from_columns(x * cos + y * sin, y * cos - x * sin, z);
                let spin = z * drive.v.map_or(0.0, |v| v[k]);
                body.w = w0 + spin;
                body.c_w = w0.cross(spin);
                body.l = l;
                body.c_v = w0.cross(w0.cross(l));
            } else {
                self.lead(i, f, l, w0, drive, body, &mut m.s);
            }
        }
    }

    /// The steps of a joint that is not a single turn.
    fn lead(&self, i: usize, f: Mat3, l: Vec3, w: Vec3, drive: &Drive, body: &mut Moving, s: &mut [Twist]) {
        let node = &self.tree.nodes[i];
        let (mut axes, mut l, mut w) = (f, l, w);
        let (mut c_w, mut c_v) = (Vec3::ZERO, w.cross(w.cross(l)));
        let mut k = node.columns.start;
        let rate = |k: usize| drive.v.map_or(0.0, |v| v[k]);
        for step in &self.tree.steps[node.steps.clone()] {
            let mut shift = |axis: Vec3, way: f64, speed: f64, w: Vec3, c_w: Vec3, s: &mut [Twist]| {
                let d = axis * way;
                l += d;
                c_v += w.cross(w.cross(d)) + w.cross(axis) * (2.0 * speed) + c_w.cross(d);
                s.iter_mut().for_each(|s| *s = s.at(d));
            };
            match *step {
                Step::Slide(axis) => {
                    let axis = axes * axis;
                    shift(axis, drive.q[k], rate(k), w, c_w, &mut s[node.columns.start..k]);
                    s[k] = Twist { w: Vec3::ZERO, v: axis };
                }
                Step::Screw(local, lead) => {
                    let axis = axes * local;
                    shift(axis, lead * drive.q[k], lead * rate(k), w, c_w, &mut s[node.columns.start..k]);
                    s[k] = Twist { w: axis, v: axis * lead };
                    c_w += w.cross(axis) * rate(k);
                    w += axis * rate(k);
                    axes = axes * rotation::exp(local * drive.q[k]);
                }
                Step::Turn(local) => {
                    let axis = axes * local;
                    s[k] = Twist { w: axis, v: Vec3::ZERO };
                    c_w += w.cross(axis) * rate(k);
                    w += axis * rate(k);
                    axes = axes * rotation::exp(local * drive.q[k]);
                }
                Step::Ball(chart) => {
                    let phi = Vec3::from_slice(&drive.q[k..k + 3]);
                    axes = axes * drive.centres[chart as usize].matrix() * rotation::exp(phi);
                    let mut spin = Vec3::ZERO;
                    for j in 0..3 {
                        s[k + j] = Twist { w: axes.column(j), v: Vec3::ZERO };
                        spin += axes.column(j) * rate(k + j);
                    }
                    c_w += w.cross(spin);
                    w += spin;
                }
            }
            k += step.width();
        }
        (body.r, body.l, body.w, body.c_w, body.c_v) = (axes * node.turn, l, w, c_w, c_v);
    }

    /// Articulated inertias and loads, from the leaves to the ground.
    fn inwards(&self, drive: &Drive, m: &mut Recursion) -> Result<(), usize> {
        m.stores.fill(Carried::default());
        // what the next body leaves to this one
        let mut pending = Carried::default();
        for i in (0..self.links.links.len()).rev() {
            let link = &self.links.links[i];
            let node = &self.tree.nodes[i];
            if node.own {
                continue;
            }
            let body = &mut m.bodies[i];
            let (w, h) = (body.w, body.r * link.moment);
            let a = turned(&body.r, &link.inertia);
            let mut own = Carried {
                a,
                b: h.tilde(),
                c: [link.mass, 0.0, 0.0, link.mass, 0.0, link.mass],
                p_m: w.cross(sym_times(&a, w)),
                p_f: w.cross(w.cross(h)),
            };
            if link.heir {
                own.add(&pending);
            }
            if link.store != NONE {
                own.add(&m.stores[link.store as usize]);
            }
            let Carried { mut a, mut b, mut c, mut p_m, mut p_f } = own;
            if link.turn != NONE {
                let z = body.r.column(2);
                let u_m = sym_times(&a, z);
                let u_f = b.transpose_times(z);
                let d = z.dot(u_m);
                let u = drive.tau.map_or(0.0, |tau| tau[link.turn as usize]) - z.dot(p_m);
                if d.is_nan() || d <= 0.0 {
                    return Err(node.block as usize);
                }
                let over_d = 1.0 / d;
                (body.u_m, body.u_f, body.u, body.over_d) = (u_m, u_f, u, over_d);
                if link.parent == NONE {
                    continue;
                }
                sym_less(&mut a, over_d, u_m);
                b = b - (u_m * over_d).outer(u_f);
                sym_less(&mut c, over_d, u_f);
                p_m += u_m * (over_d * u);
                p_f += u_f * (over_d * u);
            } else {
                let columns = node.columns.clone();
                let w = columns.len();
                let mut d = [[0.0; 6]; 6];
                for k in columns.clone() {
                    let s = m.s[k];
                    m.u_of[k] = [sym_times(&a, s.w) + b * s.v, b.transpose_times(s.w) + sym_times(&c, s.v)];
                    m.u[k] = drive.tau.map_or(0.0, |tau| tau[k]) - s.w.dot(p_m) - s.v.dot(p_f);
                }
                for (j, k) in columns.clone().enumerate() {
                    for (i, s) in m.s[columns.clone()].iter().enumerate() {
                        d[i][j] = s.w.dot(m.u_of[k][0]) + s.v.dot(m.u_of[k][1]);
                    }
                }
                invert(&mut d, w).map_err(|()| node.block as usize)?;
                m.inverse[columns.clone()].copy_from_slice(&d[..w]);
                if link.parent == NONE {
                    continue;
                }
                for (i, k) in columns.clone().enumerate() {
                    let (mut x_m, mut x_f, mut y) = (Vec3::ZERO, Vec3::ZERO, 0.0);
                    for (j, k) in columns.clone().enumerate() {
                        x_m += m.u_of[k][0] * d[i][j];
                        x_f += m.u_of[k][1] * d[i][j];
                        y += d[i][j] * m.u[k];
                    }
                    let [u_m, u_f] = m.u_of[k];
                    let sub = |s: &mut Sym, u: Vec3, x: Vec3| {
                        for (e, (i, j)) in s.iter_mut().zip([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]) {
                            *e -= u[i] * x[j];
                        }
                    };
                    sub(&mut a, u_m, x_m);
                    sub(&mut c, u_f, x_f);
                    b = b - u_m.outer(x_f);
                    p_m += u_m * y;
                    p_f += u_f * y;
                }
            }
            if link.parent == NONE {
                continue;
            }
            p_m += sym_times(&a, body.c_w) + b * body.c_v;
            p_f += b.transpose_times(body.c_w) + sym_times(&c, body.c_v);
            let left = Carried { a, b, c, p_m, p_f }.shifted(body.l);
            let carrier = &self.links.links[link.parent as usize];
            if link.parent as usize + 1 == i {
                pending = left;
            } else {
                m.stores[carrier.store as usize].add(&left);
            }
        }
        Ok(())
    }

    /// Accelerations, from the ground to the leaves.
    fn outwards_again(&self, gravity: Vec3, m: &mut Recursion, out: &mut [f64]) {
        let start = Moving { acc: -gravity, ..Moving::default() };
        for i in 0..self.links.links.len() {
            let link = &self.links.links[i];
            let (before, rest) = m.bodies.split_at_mut(i);
            let body = &mut rest[0];
            let carrier = if link.parent == NONE { &start } else { &before[link.parent as usize] };
            let mut alpha = carrier.alpha + body.c_w;
            let mut acc = carrier.acc + carrier.alpha.cross(body.l) + body.c_v;
            if link.turn != NONE {
                let x = (body.u - body.u_m.dot(alpha) - body.u_f.dot(acc)) * body.over_d;
                alpha += body.r.column(2) * x;
                out[link.turn as usize] = x;
            } else if !self.tree.nodes[i].own {
                let columns = self.tree.nodes[i].columns.clone();
                let mut rhs = [0.0; 6];
                for (r, k) in rhs.iter_mut().zip(columns.clone()) {
                    *r = m.u[k] - m.u_of[k][0].dot(alpha) - m.u_of[k][1].dot(acc);
                }
                for k in columns {
                    let x = m.inverse[k].iter().zip(rhs).map(|(d, r)| d * r).sum::<f64>();
                    alpha += m.s[k].w * x;
                    acc += m.s[k].v * x;
                    out[k] = x;
                }
            }
            (body.alpha, body.acc) = (alpha, acc);
        }
    }
}

/// What a joint carries as one rigid body: inertia about the joint, mass times centre, mass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Composite {
    a: Sym,
    h: Vec3,
    mass: f64,
}

impl Composite {
    /// The same about a point l before.
    fn shifted(&self, l: Vec3) -> Composite {
        let Composite { mut a, h, mass } = *self;
        // −h̃ l̃ − l̃ h̃ − m l̃ l̃, where x̃ ỹ = y xᵀ − (x·y) I
        let k = h + l * (0.5 * mass);
        let trace = 2.0 * k.dot(l);
        for (e, (i, j)) in a.iter_mut().zip([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]) {
            *e += if i == j { trace } else { 0.0 } - k[i] * l[j] - k[j] * l[i];
        }
        Composite { a, h: h + l * mass, mass }
    }

    /// The load that a motion of it takes, both at the joint.
    fn times(&self, s: Twist) -> Wrench {
        Wrench { f: s.v * self.mass + s.w.cross(self.h), m: sym_times(&self.a, s.w) + self.h.cross(s.v) }
    }
}

impl Relative {
    /// The blocks of M by composite bodies, in O(n · depth): `add` gets row, column and entry.
    pub(super) fn mass_matrix(&self, t: &mut TreeSpace, mut add: impl FnMut(usize, usize, f64)) {
        let nodes = &self.tree.nodes;
        let mut composite = std::mem::take(&mut t.composite);
        composite.clear();
        for (i, link) in self.links.links.iter().enumerate() {
            let central = Composite { a: turned(&t.r[i], &self.links.central[i]), h: Vec3::ZERO, mass: link.mass };
            composite.push(central.shifted(t.p[i] - t.joint[i]));
        }
        for (i, node) in nodes.iter().enumerate().rev().filter(|(_, n)| !n.own) {
            if node.parent != NONE {
                let k = node.parent as usize;
                let x = composite[i].shifted(t.joint[i] - t.joint[k]);
                let to = &mut composite[k];
                to.a.iter_mut().zip(x.a).for_each(|(a, x)| *a += x);
                to.h += x.h;
                to.mass += x.mass;
            }
            for k in node.columns.clone() {
                let load = composite[i].times(t.s[k]);
                for j in self.tree.ancestors(i as u32) {
                    let load = load.at(t.joint[j] - t.joint[i]);
                    for other in nodes[j].columns.clone() {
                        let x = load.on(t.s[other]);
                        add(other, k, x);
                        if j != i {
                            add(k, other, x);
                        }
                    }
                }
            }
        }
        t.composite = composite;
    }
}

/// The inverse of a symmetric positive definite matrix of order w ≤ 6.
fn invert(d: &mut [[f64; 6]; 6], w: usize) -> Result<(), ()> {
    let mut x = [[0.0; 6]; 6];
    (0..w).for_each(|i| x[i][i] = 1.0);
    let largest = (0..w).fold(0.0f64, |m, i| m.max(d[i][i]));
    for i in 0..w {
        let pivot = d[i][i];
        if pivot.is_nan() || pivot <= 1e-14 * largest {
            return Err(());
        }
        let (row, own) = (d[i], x[i]);
        for k in (0..w).filter(|&k| k != i) {
            let f = d[k][i] / pivot;
            (0..w).for_each(|j| {
                d[k][j] -= f * row[j];
                x[k][j] -= f * own[j];
            });
        }
    }
    for i in 0..w {
        let s = 1.0 / d[i][i];
        (0..w).for_each(|j| x[i][j] *= s);
    }
    *d = x;
    Ok(())
}
