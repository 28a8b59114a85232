//! Momentum and what changes it: evidence that reactions and forces are those that move the bodies.
//!
//! Let δ be the velocities of a body in a rigid motion of all space, a translation e or a rotation e about the origin.
//! Then, by the principle of virtual power,
//!
//! ```text
//! e·P = δᵀ M v        e·Ṗ = δᵀ (M v̇ − f_inner)
//! ```
//!
//! and likewise for L about the origin. The loads come from the elements, in the world: two independent routes.

use super::*;
use bellcrank_math::Vec3;

/// Momentum, its rate and the loads at a realized point with its v̇ and λ.
pub(super) fn balance(system: &System, at: &Point, w: &Workspace, out: &mut Balance) {
    let (bodies, poses) = (&system.model.bodies, realized(w).bodies);
    let Balance { momentum, rate, load, worst, largest, bodies: each_body } = out;
    each_body.clear();
    each_body.resize(bodies.len(), [0.0; 6]);
    (*momentum, *rate, *load, *worst, *largest) = Default::default();
    for (b, entry) in bodies.iter().enumerate() {
        let range = system.layout().bodies[b].clone();
        let (v, vdot) = (&at.v[range.clone()], &at.vdot[range.clone()]);
        let n = range.len();
        let [mut m_v, mut m_vdot, mut weight, mut delta] = [[0.0; MAX_WIDTH]; 4];
        each!(&entry.body, body => {
            let frame = &poses[b];
            body.add_mass_times(frame, 1.0, v, &mut m_v[..n]);
            body.add_mass_times(frame, 1.0, vdot, &mut m_vdot[..n]);
            body.add_inner(frame, -1.0, v, &mut m_vdot[..n]);
            body.add_weight(frame, system.model.gravity, 1.0, &mut weight[..n]);
            largest.0 = largest.0.max(body.mass() * system.model.gravity.norm());
            let (origin, rigid) = (body.origin(frame), body.rigid_width());
            for k in 0..6 {
                let e = Vec3::unit(k % 3);
                let (velocity, spin) = if k < 3 { (e, Vec3::ZERO) } else { (e.cross(origin), e) };
                delta[..n].fill(0.0);
                body.velocities(frame, velocity, spin, &mut delta[..n]);
                delta[rigid..n].fill(0.0);
                let along = |x: &[f64; MAX_WIDTH]| delta[..n].iter().zip(x).map(|(d, x)| d * x).sum::<f64>();
                momentum[k] += along(&m_v);
                rate[k] += along(&m_vdot);
                load[k] += along(&weight);
                each_body[b][k] = along(&m_vdot) - along(&weight);
            }
        });
    }
    system.loads(at, w, &mut |body, p, l| {
        let Some(b) = body else { return };
        let moment = l.ang + p.cross(l.lin);
        *largest = (largest.0.max(l.lin.norm()), largest.1.max(moment.norm()));
        for k in 0..3 {
            for (k, x) in [(k, l.lin[k]), (k + 3, moment[k])] {
                load[k] += x;
                each_body[b][k] -= x;
            }
        }
    });
    for (b, r) in each_body.iter().enumerate() {
        // in the plane there are two forces and a moment
        let size = |k: usize| match system.model.space {
            Space::Plane if k == 0 => r[0].hypot(r[1]),
            Space::Plane => r[5].abs(),
            _ => (r[k] * r[k] + r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2]).sqrt(),
        };
        let (force, moment) = (size(0), size(3));
        if force > worst.1 {
            worst.0 = b;
        }
        *worst = (worst.0, worst.1.max(force), worst.2.max(moment));
    }
}
