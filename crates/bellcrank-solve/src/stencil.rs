//! What an implicit method is to everything else: an affine law for the rates at the new time.

use bellcrank_math::threads::team;
use bellcrank_model::{Point, Slopes};
use std::ops::Range;

/// q̇ = α_q q + η_q, v̇ = α_v v + η_v, ż = α_z z + η_z at the time `t` = t_n + `h`.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
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
    /// Whether velocities follow the coordinates, v = q̇, and are no unknowns.
    pub velocities_follow: bool,
    /// The constants of Newmark's family, where the law is of it.
    pub newmark: Option<NewmarkRatios>,
}

/// What the additive formulation needs to know of a law of Newmark's family.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NewmarkRatios {
    /// γ/β.
    pub position: f64,
    /// γ(1 − α_f).
    pub velocity: f64,
}

bellcrank_model::clone_by_fields!(Stencil { t, h, slopes, eta_q, eta_v, eta_z, velocities_follow, newmark });

impl Stencil {
    /// Sets the rates of a point from its q, v, z, and its time.
    pub fn rates(&self, p: &mut Point) {
        self.flows(p);
        self.accelerations(p);
    }

    /// Sets q̇ and ż from q and z, and the time.
    pub fn flows(&self, p: &mut Point) {
        affine(&mut p.qdot, self.slopes.q, &p.q, &self.eta_q);
        self.states(p);
    }

    /// Sets ż from z, and the time.
    pub fn states(&self, p: &mut Point) {
        p.t = self.t;
        affine(&mut p.zdot, self.slopes.z, &p.z, &self.eta_z);
    }

    /// Sets all rates, and velocities, where these follow.
    pub fn rates_and_velocities(&self, p: &mut Point) {
        team::fill([&mut p.qdot, &mut p.v, &mut p.vdot], |range, [qdot, v, vdot]| {
            self.follow(range.clone(), &p.q[range], qdot, v, vdot);
        });
        self.states(p);
    }

    /// v and v̇ of a coordinate from itself and its η_q and η_v, where velocities follow.
    #[inline]
    pub fn following(&self) -> impl Fn(f64, f64, f64) -> (f64, f64) + Copy + Sync + use<> {
        let Slopes { q: slope_q, v: slope_v, .. } = self.slopes;
        move |q, eta_q, eta_v| {
            let v = slope_q * q + eta_q;
            (v, slope_v * v + eta_v)
        }
    }

    /// Sets the rates and velocities of some coordinates, where velocities follow.
    #[inline]
    pub fn follow(&self, range: Range<usize>, q: &[f64], qdot: &mut [f64], v: &mut [f64], vdot: &mut [f64]) {
        let following = self.following();
        let known = q.iter().zip(&self.eta_q[range.clone()]).zip(&self.eta_v[range]);
        for (((qdot, v), vdot), ((q, eta_q), eta_v)) in qdot.iter_mut().zip(v).zip(vdot).zip(known) {
            let (rate, acceleration) = following(*q, *eta_q, *eta_v);
            (*qdot, *v, *vdot) = (rate, rate, acceleration);
        }
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
