//! The recursion of articulated bodies with bodies that bend: their modal coordinates are columns of their joint.
//!
//! With a the acceleration of the frame at the joint, I the articulated inertia of all that the frame carries, and E, C the
//! inertia of the modes and their coupling with the frame, a node needs the load I a + C η̈ at its joint and Cᵀa + E η̈ along its
//! modes. Its columns move the frame by S and the modes by N, hence
//!
//! ```text
//!     U = I S + C N        D = SᵀU + NᵀCᵀS + NᵀE N        u = τ − Sᵀp − Nᵀp_η
//! ```
//!
//! and D = L Lᵀ leaves I − U D⁻¹Uᵀ and p + U D⁻¹u to the body that carries it. What stands on a station adds EᵀI E, I E and
//! Eᵀp with the motions E of its seat. Poses are those of the tree, and velocities play no part: x ← M⁻¹ x.

use super::Relative;
use super::aba::{AccelerationSource, Articulated, NoInertia, Recursion};
use super::kinematics::{TreeSpace, Twist, Wrench};
use super::links::{Sym, sym_less, sym_times, turned};
use super::sway::ModalInertia;
use super::tree::{NONE, TreeBody};
use bellcrank_math::Vec3;

/// What the passes keep of bodies that bend.
#[derive(Clone, Debug, Default)]
pub(super) struct BendingPass {
    inertia: ModalInertia,
    /// Eᵀp of what stands on the stations, by column.
    load: Vec<f64>,
    /// L of each node that bends, by rows.
    factors: Vec<f64>,
    /// Where they begin, by the number of the body among those that bend.
    first: Vec<usize>,
}

impl Relative {
    /// First pass: frames and joint motions as the tree knows them.
    pub(super) fn take_poses(&self, t: &TreeSpace, m: &mut Recursion) {
        m.s.clone_from(&t.s);
        for (i, body) in m.bodies.iter_mut().enumerate() {
            body.r = t.r[i];
            let parent = self.tree.nodes[i].parent;
            body.l = if parent == NONE { t.joint[i] } else { t.joint[i] - t.joint[parent as usize] };
            (body.w, body.c_w, body.c_v) = Default::default();
        }
        let pass = &mut m.bending;
        pass.inertia.begin(&self.tree, t);
        pass.load.clear();
        pass.load.resize(self.tree.n, 0.0);
        pass.first.clear();
        let mut size = 0;
        for node in self.tree.nodes.iter().filter(|n| n.flex.body != NONE) {
            pass.first.push(size);
            size += node.columns.len() * node.columns.len();
        }
        pass.factors.resize(size, 0.0);
    }

    /// The inertia of a body that bends about its joint, as a rigid body in the shape it has; it is at rest.
    pub(super) fn bent_inertia(&self, i: usize, t: &TreeSpace) -> Articulated {
        let (h, j) = self.frozen(i, t);
        let mass = self.links.links[i].mass;
        let own = Articulated {
            a: turned(&t.r[i], &j),
            b: h.tilde(),
            c: [mass, 0.0, 0.0, mass, 0.0, mass],
            ..Articulated::default()
        };
        own.shifted(t.p[i] - t.joint[i])
    }

    /// Takes joint motion and modes out of what a node that bends carries, and keeps what the last pass needs.
    pub(super) fn reduce_bending(
        &self,
        node: &TreeBody,
        drive: &AccelerationSource,
        m: &mut Recursion,
        of: &mut Articulated,
    ) -> Result<(), NoInertia> {
        let (columns, w) = (node.columns.clone(), node.columns.len());
        let pass = &mut m.bending;
        let first = pass.first[node.flex.body as usize];
        let d = &mut pass.factors[first..first + w * w];
        for k in columns.clone() {
            let (s, own) = (m.s[k], pass.inertia.load(k));
            m.u_of[k] =
                [sym_times(&of.a, s.w) + of.b * s.v + own.m, of.b.transpose_times(s.w) + sym_times(&of.c, s.v) + own.f];
            m.u[k] = drive.tau.map_or(0.0, |tau| tau[k]) - s.w.dot(of.p_m) - s.v.dot(of.p_f) - pass.load[k];
        }
        for (i, row) in columns.clone().enumerate() {
            for (j, k) in columns.clone().enumerate().take(i + 1) {
                let [u_m, u_f] = m.u_of[k];
                let coupled = pass.inertia.load(row).on(m.s[k]) + pass.inertia.between(node, row, k);
                d[i * w + j] = m.s[row].w.dot(u_m) + m.s[row].v.dot(u_f) + coupled;
            }
            d[i * w + i] += self.links.armature[row];
        }
        factor(d, w)?;
        // U and u become L⁻¹Uᵀ and L⁻¹u
        for (i, row) in columns.clone().enumerate() {
            let ([mut u_m, mut u_f], mut u) = (m.u_of[row], m.u[row]);
            for (j, k) in columns.clone().enumerate().take(i) {
                let l = d[i * w + j];
                u_m -= m.u_of[k][0] * l;
                u_f -= m.u_of[k][1] * l;
                u -= l * m.u[k];
            }
            let over = 1.0 / d[i * w + i];
            (m.u_of[row], m.u[row]) = ([u_m * over, u_f * over], u * over);
        }
        for k in columns {
            let ([u_m, u_f], u) = (m.u_of[k], m.u[k]);
            sym_less(&mut of.a, 1.0, u_m);
            of.b = of.b - u_m.outer(u_f);
            sym_less(&mut of.c, 1.0, u_f);
            of.p_m += u_m * u;
            of.p_f += u_f * u;
        }
        Ok(())
    }

    /// What node `i` with the articulated inertia `of` adds along the modes of the body that it stands on.
    pub(super) fn carry_on_modes(&self, i: usize, t: &TreeSpace, m: &mut Recursion, of: &Articulated) {
        let pass = &mut m.bending;
        let times = |s: Twist| Wrench {
            f: of.b.transpose_times(s.w) + sym_times(&of.c, s.v),
            m: sym_times(&of.a, s.w) + of.b * s.v,
        };
        pass.inertia.carry(&self.tree, i, t, times);
        for (k, e) in self.tree.sway(&self.tree.nodes[i], t) {
            pass.load[k] += e.w.dot(of.p_m) + e.v.dot(of.p_f);
        }
    }

    /// The first moment of a body about its centre, in the world, and its inertia there, in its own axes: as a rigid body
    /// in the shape it has.
    pub(super) fn frozen(&self, i: usize, t: &TreeSpace) -> (Vec3, Sym) {
        match self.tree.bending(i) {
            None => (Vec3::ZERO, self.links.central[i]),
            Some(body) => {
                let (first, j) = body.frozen_inertia(&t.bent[i]);
                (t.r[i] * first, super::links::packed(&j))
            }
        }
    }
}

impl BendingPass {
    /// L of a node that bends.
    pub(super) fn factor_of(&self, node: &TreeBody) -> &[f64] {
        let (first, w) = (self.first[node.flex.body as usize], node.columns.len());
        &self.factors[first..first + w * w]
    }
}

/// The accelerations of a node that bends into `x`, for the acceleration (α, a) that its joint stands on; with it, that of
/// the frame. `u_of` and `u` are L⁻¹Uᵀ and L⁻¹u.
pub(super) fn accelerate_bending(
    u_of: &[[Vec3; 2]],
    u: &[f64],
    s: &[Twist],
    l: &[f64],
    (mut alpha, mut acc): (Vec3, Vec3),
    x: &mut [f64],
) -> (Vec3, Vec3) {
    let w = x.len();
    for i in (0..w).rev() {
        let sum: f64 = (i + 1..w).map(|k| l[k * w + i] * x[k]).sum();
        x[i] = (u[i] - u_of[i][0].dot(alpha) - u_of[i][1].dot(acc) - sum) / l[i * w + i];
    }
    for (s, x) in s.iter().zip(x) {
        alpha += s.w * *x;
        acc += s.v * *x;
    }
    (alpha, acc)
}

/// D = L Lᵀ in place, from the lower half. A pivot that is rounding of its own entry is none.
fn factor(d: &mut [f64], w: usize) -> Result<(), NoInertia> {
    for i in 0..w {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| d[i * w + k] * d[j * w + k]).sum();
            let rest = d[i * w + j] - sum;
            if i != j {
                d[i * w + j] = rest / d[j * w + j];
                continue;
            }
            if rest.is_nan() || rest <= 1e-14 * d[i * w + i] {
                return Err(NoInertia);
            }
            d[i * w + i] = rest.sqrt();
        }
    }
    Ok(())
}
