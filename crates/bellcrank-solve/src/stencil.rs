//! What an implicit method is to everything else: an affine law for the rates at the new time.

use bellcrank_math::team;
use bellcrank_model::{Point, Slopes};
use std::ops::Range;

/// q̇ = α_q q + η_q, v̇ = α_v v + η_v, ż = α_z z + η_z at the time `t` = t_n + `h`.
#[derive(Debug, Default, PartialEq)]
pub struct Stencil {
    /// The new time.
    pub t: f64,
    /// The step size.
    pub h: f64,
    /// α_q, α_v, α_z.
    pub slopes: Slopes,
    /// η_q.
    pub eta_q: Vec<f64>,
    /// η_v.
    pub eta_v: Vec<f64>,
    /// η_z.
    pub eta_z: Vec<f64>,
}

bellcrank_model::clone_by_fields!(Stencil { t, h, slopes, eta_q, eta_v, eta_z });

impl Stencil {
    /// Sets the rates of a point from its q, v, z, and its time.
    pub fn rates(&self, p: &mut Point) {
        self.flows(p);
        self.accelerations(p);
    }

    /// Sets q̇ and ż from q and z, and the time.
    pub fn flows(&self, p: &mut Point) {
        p.t = self.t;
        affine(&mut p.qdot, self.slopes.q, &p.q, &self.eta_q);
        affine(&mut p.zdot, self.slopes.z, &p.z, &self.eta_z);
    }

    /// Sets all rates where v = q̇, and v, after every range of q was changed.
    pub fn rates_with_velocities(&self, p: &mut Point, change: impl Fn(Range<usize>, &mut [f64]) + Sync) {
        p.t = self.t;
        let Slopes { q: slope_q, v: slope_v, .. } = self.slopes;
        team::fill([&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot], |range, [q, qdot, v, vdot]| {
            change(range.clone(), q);
            let known = q.iter().zip(&self.eta_q[range.clone()]).zip(&self.eta_v[range]);
            for (((qdot, v), vdot), ((q, eta_q), eta_v)) in qdot.iter_mut().zip(v).zip(vdot).zip(known) {
                let rate = slope_q * q + eta_q;
                (*qdot, *v, *vdot) = (rate, rate, slope_v * rate + eta_v);
            }
        });
        affine(&mut p.zdot, self.slopes.z, &p.z, &self.eta_z);
    }

    /// Makes room for η of these sizes.
    pub fn resize(&mut self, nq: usize, nv: usize, nz: usize) {
        for (eta, n) in [(&mut self.eta_q, nq), (&mut self.eta_v, nv), (&mut self.eta_z, nz)] {
            eta.resize(n, 0.0);
        }
    }

    /// Sets v̇ from v.
    pub fn accelerations(&self, p: &mut Point) {
        affine(&mut p.vdot, self.slopes.v, &p.v, &self.eta_v);
    }
}

fn affine(rate: &mut [f64], slope: f64, x: &[f64], eta: &[f64]) {
    team::fill([rate], |range, [rate]| {
        for ((r, x), e) in rate.iter_mut().zip(&x[range.clone()]).zip(&eta[range]) {
            *r = slope * x + e;
        }
    });
}
