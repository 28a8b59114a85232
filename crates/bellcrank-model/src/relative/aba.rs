//! Accelerations of a tree in O(n) by articulated bodies: ABA [Featherstone 2008, ch. 7].
//!
//! All vectors have world directions. The reference point of every body is the joint that carries it, so that nothing
//! cancels in long chains. Accelerations are those of the points themselves, which needs no linear velocities. The load
//! on what a joint carries is
//!
//! ```text
//!     m = A α + B a + p_m        f = Bᵀ α + C a + p_f
//! ```
//!
//! with the symmetric articulated inertia [A B; Bᵀ C] of 21 numbers. A joint with motions S, U = I S, D = SᵀU (and its
//! armatures on the diagonal) and
//! u = τ − Sᵀp leaves I − U D⁻¹Uᵀ and p + (I − U D⁻¹Uᵀ) c + U D⁻¹u to the body that carries it; c is its acceleration
//! at rest. Bodies that hang on a single turn keep frames whose z is its axis: their rotation is one sine and cosine.

use super::Relative;
use super::bending::{BendingPass, accelerate_bending};
use super::kinematics::{TreeSpace, Twist};
use super::links::{Sym, TreeLink, sym_less, sym_times, turned};
use super::tree::{JointStep, NONE};
use crate::bodies::{BodyFrame, Coordinates, each};
use crate::dynamics::*;
use bellcrank_math::{Mat3, Quat, Vec3, rotation};
use std::ops::Range;

/// What the passes compute of a link.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkState {
    /// Link frame to world; its z is the axis of a single turn.
    pub r: Mat3,
    pub w: Vec3,
    /// From the joint of the carrying body to this one.
    pub l: Vec3,
    /// Acceleration at rest: angular, and of the joint's point.
    pub c_w: Vec3,
    pub c_v: Vec3,
    /// Of a single turn: U and u, and 1/D.
    u_m: Vec3,
    u_f: Vec3,
    u: f64,
    over_d: f64,
    /// Accelerations.
    alpha: Vec3,
    acc: Vec3,
}

/// An articulated inertia [A B; Bᵀ C] with the load (m, f) that it needs at rest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Articulated {
    pub a: Sym,
    pub b: Mat3,
    pub c: Sym,
    pub p_m: Vec3,
    pub p_f: Vec3,
}

impl Articulated {
    #[inline(always)]
    fn add(&mut self, x: &Articulated) {
        self.a.iter_mut().zip(x.a).for_each(|(a, x)| *a += x);
        self.b += x.b;
        self.c.iter_mut().zip(x.c).for_each(|(c, x)| *c += x);
        self.p_m += x.p_m;
        self.p_f += x.p_f;
    }

    /// The same about a point that is −l away: the joint before.
    #[inline(always)]
    pub(super) fn shifted(&self, l: Vec3) -> Articulated {
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
        Articulated {
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

/// Scratch of the passes.
#[derive(Clone, Debug, Default)]
pub struct Recursion {
    pub(super) bodies: Vec<LinkState>,
    /// Sums of what links carry beside the next one.
    stores: Vec<Articulated>,
    pub(super) s: Vec<Twist>,
    /// U of joints with several coordinates, and u.
    pub(super) u_of: Vec<[Vec3; 2]>,
    pub(super) u: Vec<f64>,
    /// D⁻¹ of such joints, by rows of six.
    inverse: Vec<[f64; 6]>,
    pub(super) bending: BendingPass,
}

/// What drives the accelerations.
pub(super) struct AccelerationSource<'a> {
    q: &'a [f64],
    centres: &'a [Quat],
    v: Option<&'a [f64]>,
    /// Joint forces; none without any.
    pub tau: Option<&'a [f64]>,
    gravity: Vec3,
}

impl Relative {
    /// v̇ of a tree without loops: by ABA alone if nothing but weight acts, else as M⁻¹ of the joint forces.
    pub(super) fn forward_dynamics(&self, at: &mut Point, t: &mut TreeSpace) -> Result<(), usize> {
        let plain = self.cartesian.model.forces.is_empty()
            && self.tree.nodes.iter().all(|n| !n.is_cartesian || n.is_geared())
            && !self.tree.bends();
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
        let drive = AccelerationSource { q: &at.q, centres: &at.charts.centres, v: Some(&at.v), tau: None, gravity };
        let mut m = std::mem::take(&mut t.recursion);
        let done = self.aba(&drive, t, &mut m, &mut at.vdot);
        t.recursion = m;
        done
    }

    /// x ← M⁻¹ x at a point whose poses are known; else the block without inertia.
    pub(super) fn divide_by_mass(&self, t: &mut TreeSpace, x: &mut [f64]) -> Result<(), usize> {
        let mut tau = std::mem::take(&mut t.tau);
        tau.clear();
        tau.extend_from_slice(x);
        let (q, centres) = (std::mem::take(&mut t.q), std::mem::take(&mut t.centres));
        let drive = AccelerationSource { q: &q, centres: &centres, v: None, tau: Some(&tau), gravity: Vec3::ZERO };
        let mut m = std::mem::take(&mut t.recursion);
        let done = self.aba(&drive, t, &mut m, x);
        t.recursion = m;
        for node in self.tree.nodes.iter().filter(|n| n.is_cartesian && !n.is_geared()) {
            x[node.columns.clone()].copy_from_slice(&tau[node.columns.clone()]);
            each!(&self.cartesian.model.bodies[node.body].body, b => b.divide_by_mass(&BodyFrame::default(), &mut x[node.columns.clone()]));
        }
        (t.tau, t.q, t.centres) = (tau, q, centres);
        done
    }

    /// Accelerations by the three passes.
    fn aba(&self, drive: &AccelerationSource, t: &TreeSpace, m: &mut Recursion, out: &mut [f64]) -> Result<(), usize> {
        let n = self.links.links.len();
        if m.bodies.len() != n {
            m.bodies = vec![LinkState::default(); n];
            m.stores = vec![Articulated::default(); self.links.stores];
            m.s = vec![Twist::ZERO; self.tree.n];
            m.u_of = vec![Default::default(); self.tree.n];
            m.u = vec![0.0; self.tree.n];
            m.inverse = vec![[0.0; 6]; self.tree.n];
        }
        if self.tree.bends() {
            self.take_poses(t, m);
        } else {
            self.aba_kinematics(drive, m);
        }
        self.aba_backward(drive, t, m)?;
        self.aba_forward(drive.gravity, t, m, out);
        Ok(())
    }

    /// First pass, outwards: rotations, angular velocities, and accelerations at v̇ = 0.
    fn aba_kinematics(&self, drive: &AccelerationSource, m: &mut Recursion) {
        let (start, ground) = (LinkState { r: Mat3::IDENTITY, ..LinkState::default() }, NONE);
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
                self.joint_kinematics(i, f, l, w0, drive, body, &mut m.s);
            }
        }
    }

    /// The steps of a joint that is not a single turn.
    fn joint_kinematics(
        &self,
        i: usize,
        f: Mat3,
        l: Vec3,
        w: Vec3,
        drive: &AccelerationSource,
        body: &mut LinkState,
        s: &mut [Twist],
    ) {
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
                JointStep::Slide(axis) => {
                    let axis = axes * axis;
                    shift(axis, drive.q[k], rate(k), w, c_w, &mut s[node.columns.start..k]);
                    s[k] = Twist { w: Vec3::ZERO, v: axis };
                }
                JointStep::Screw(local, lead) => {
                    let axis = axes * local;
                    shift(axis, lead * drive.q[k], lead * rate(k), w, c_w, &mut s[node.columns.start..k]);
                    s[k] = Twist { w: axis, v: axis * lead };
                    c_w += w.cross(axis) * rate(k);
                    w += axis * rate(k);
                    axes = axes * rotation::exp(local * drive.q[k]);
                }
                JointStep::Turn(local) => {
                    let axis = axes * local;
                    s[k] = Twist { w: axis, v: Vec3::ZERO };
                    c_w += w.cross(axis) * rate(k);
                    w += axis * rate(k);
                    axes = axes * rotation::exp(local * drive.q[k]);
                }
                JointStep::Ball(chart) => {
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

    /// Second pass, from the leaves to the ground: articulated inertias and loads. The error is the block without inertia.
    fn aba_backward(&self, drive: &AccelerationSource, t: &TreeSpace, m: &mut Recursion) -> Result<(), usize> {
        m.stores.fill(Articulated::default());
        // what the next link leaves to this one
        let mut pending = Articulated::default();
        for i in (0..self.links.links.len()).rev() {
            let link = &self.links.links[i];
            let node = &self.tree.nodes[i];
            if node.is_cartesian {
                continue;
            }
            let bends = node.flex.body != NONE;
            let mut inertia = if bends { self.bent_inertia(i, t) } else { m.bodies[i].rigid_inertia(link) };
            if link.heir {
                inertia.add(&pending);
            }
            if link.store != NONE {
                inertia.add(&m.stores[link.store as usize]);
            }
            let carried = link.parent != NONE;
            let solved = if link.turn != NONE {
                let tau = drive.tau.map_or(0.0, |tau| tau[link.turn as usize]);
                m.bodies[i].reduce_turn(tau, self.links.armature[link.turn as usize], carried, &mut inertia)
            } else if bends {
                self.reduce_bending(node, drive, m, &mut inertia)
            } else {
                m.reduce_joint(node.columns.clone(), drive.tau, &self.links.armature, carried, &mut inertia)
            };
            solved.map_err(|NoInertia| node.block as usize)?;
            if !carried {
                continue;
            }
            if !node.flex.sway.is_empty() {
                self.carry_on_modes(i, t, m, &inertia);
            }
            let body = &m.bodies[i];
            let Articulated { a, b, c, .. } = inertia;
            inertia.p_m += sym_times(&a, body.c_w) + b * body.c_v;
            inertia.p_f += b.transpose_times(body.c_w) + sym_times(&c, body.c_v);
            let left = inertia.shifted(body.l);
            let carrier = &self.links.links[link.parent as usize];
            if link.parent as usize + 1 == i {
                pending = left;
            } else {
                m.stores[carrier.store as usize].add(&left);
            }
        }
        Ok(())
    }

    /// Third pass, from the ground to the leaves: accelerations.
    fn aba_forward(&self, gravity: Vec3, t: &TreeSpace, m: &mut Recursion, out: &mut [f64]) {
        let start = LinkState { acc: -gravity, ..LinkState::default() };
        let bends = self.tree.bends();
        for i in 0..self.links.links.len() {
            let link = &self.links.links[i];
            let (before, rest) = m.bodies.split_at_mut(i);
            let body = &mut rest[0];
            let carrier = if link.parent == NONE { &start } else { &before[link.parent as usize] };
            let mut alpha = carrier.alpha + body.c_w;
            let mut acc = carrier.acc + carrier.alpha.cross(body.l) + body.c_v;
            if bends {
                for (k, e) in self.tree.sway(&self.tree.nodes[i], t) {
                    alpha += e.w * out[k];
                    acc += e.v * out[k];
                }
            }
            if link.turn != NONE {
                let x = (body.u - body.u_m.dot(alpha) - body.u_f.dot(acc)) * body.over_d;
                alpha += body.r.column(2) * x;
                out[link.turn as usize] = x;
            } else if bends && self.tree.nodes[i].flex.body != NONE {
                let columns = self.tree.nodes[i].columns.clone();
                let (u_of, u, s) = (&m.u_of[columns.clone()], &m.u[columns.clone()], &m.s[columns.clone()]);
                let l = m.bending.factor_of(&self.tree.nodes[i]);
                (alpha, acc) = accelerate_bending(u_of, u, s, l, (alpha, acc), &mut out[columns]);
            } else if !self.tree.nodes[i].is_cartesian {
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

/// A joint moves something without inertia.
pub(super) struct NoInertia;

impl LinkState {
    /// The inertia of the link alone about its joint, and its gyroscopic load.
    #[inline(always)]
    fn rigid_inertia(&self, link: &TreeLink) -> Articulated {
        let (w, h) = (self.w, self.r * link.moment);
        let a = turned(&self.r, &link.inertia);
        Articulated {
            a,
            b: h.tilde(),
            c: [link.mass, 0.0, 0.0, link.mass, 0.0, link.mass],
            p_m: w.cross(sym_times(&a, w)),
            p_f: w.cross(w.cross(h)),
        }
    }

    /// Keeps U, D⁻¹ and u of a single turn, and takes its motion out of what it carries if another link needs that.
    #[inline(always)]
    fn reduce_turn(&mut self, tau: f64, armature: f64, carried: bool, of: &mut Articulated) -> Result<(), NoInertia> {
        let z = self.r.column(2);
        let u_m = sym_times(&of.a, z);
        let u_f = of.b.transpose_times(z);
        let d = z.dot(u_m) + armature;
        let u = tau - z.dot(of.p_m);
        if d.is_nan() || d <= 0.0 {
            return Err(NoInertia);
        }
        let over_d = 1.0 / d;
        (self.u_m, self.u_f, self.u, self.over_d) = (u_m, u_f, u, over_d);
        if carried {
            sym_less(&mut of.a, over_d, u_m);
            of.b = of.b - (u_m * over_d).outer(u_f);
            sym_less(&mut of.c, over_d, u_f);
            of.p_m += u_m * (over_d * u);
            of.p_f += u_f * (over_d * u);
        }
        Ok(())
    }
}

impl Recursion {
    /// The same for a joint with several coordinates.
    fn reduce_joint(
        &mut self,
        columns: Range<usize>,
        tau: Option<&[f64]>,
        armature: &[f64],
        carried: bool,
        of: &mut Articulated,
    ) -> Result<(), NoInertia> {
        let width = columns.len();
        let mut d = [[0.0; 6]; 6];
        for k in columns.clone() {
            let s = self.s[k];
            self.u_of[k] = [sym_times(&of.a, s.w) + of.b * s.v, of.b.transpose_times(s.w) + sym_times(&of.c, s.v)];
            self.u[k] = tau.map_or(0.0, |tau| tau[k]) - s.w.dot(of.p_m) - s.v.dot(of.p_f);
        }
        for (j, k) in columns.clone().enumerate() {
            for (i, s) in self.s[columns.clone()].iter().enumerate() {
                d[i][j] = s.w.dot(self.u_of[k][0]) + s.v.dot(self.u_of[k][1]);
            }
            d[j][j] += armature[k];
        }
        invert(&mut d, width)?;
        self.inverse[columns.clone()].copy_from_slice(&d[..width]);
        if !carried {
            return Ok(());
        }
        for (i, k) in columns.clone().enumerate() {
            let (mut x_m, mut x_f, mut y) = (Vec3::ZERO, Vec3::ZERO, 0.0);
            for (j, k) in columns.clone().enumerate() {
                x_m += self.u_of[k][0] * d[i][j];
                x_f += self.u_of[k][1] * d[i][j];
                y += d[i][j] * self.u[k];
            }
            let [u_m, u_f] = self.u_of[k];
            let sub = |s: &mut Sym, u: Vec3, x: Vec3| {
                for (e, (i, j)) in s.iter_mut().zip([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]) {
                    *e -= u[i] * x[j];
                }
            };
            sub(&mut of.a, u_m, x_m);
            sub(&mut of.c, u_f, x_f);
            of.b = of.b - u_m.outer(x_f);
            of.p_m += u_m * y;
            of.p_f += u_f * y;
        }
        Ok(())
    }
}

/// The inverse of a symmetric positive definite matrix of order w ≤ 6.
fn invert(d: &mut [[f64; 6]; 6], w: usize) -> Result<(), NoInertia> {
    let mut x = [[0.0; 6]; 6];
    (0..w).for_each(|i| x[i][i] = 1.0);
    let largest = (0..w).fold(0.0f64, |m, i| m.max(d[i][i]));
    for i in 0..w {
        let pivot = d[i][i];
        if pivot.is_nan() || pivot <= 1e-14 * largest {
            return Err(NoInertia);
        }
        let (row, inverse_row) = (d[i], x[i]);
        for k in (0..w).filter(|&k| k != i) {
            let f = d[k][i] / pivot;
            (0..w).for_each(|j| {
                d[k][j] -= f * row[j];
                x[k][j] -= f * inverse_row[j];
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
