//! The additive formulation HHT-ADD [Jay & Negrut 2007]: reactions of two times as forces added to the method's law.
//!
//! λ stands for the reactions at the old point and μ for those at the new one:
//!
//! ```text
//!     T q̇ − v + h o M_n⁻¹G_nᵀλ + h w M⁻¹Gᵀμ = 0
//!     M (v̇ + s M_n⁻¹G_nᵀλ) − f + s Gᵀμ = 0
//! ```
//!
//! s = 1/(2γ(1 − α_f)), o = ½((1 − b)γ/β − 1), w = ½(bγ/β − 1). The table of the formulation has the terms at the new point;
//! those at the old point, and the factors, which depend on the method, are here.

use super::terms::offsets;
use crate::stencil::Stencil;
use crate::unknowns::Unknowns;
use bellcrank_math::linear::blocks::BlockPattern;
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Unknown, Workspace};

/// The equations of motion at the trial point of a step, with its law.
pub(super) struct Site<'a> {
    pub(super) dynamics: &'a dyn Dynamics,
    pub(super) law: &'a Stencil,
    pub(super) point: &'a mut Point,
    pub(super) w: &'a mut Workspace,
}

/// What a formulation adds to a step beyond its table.
pub(super) trait Correction: Send {
    /// The point is a start, where λ are the reactions.
    fn started(&mut self, at: Site) {
        let _ = at;
    }
    /// A step begins at this point.
    fn begin(&mut self, dynamics: &dyn Dynamics, point: &Point) {
        let _ = (dynamics, point);
    }
    /// The method has predicted the end of the step.
    fn predicted(&mut self, at: Site) {
        let _ = at;
    }
    /// Residual or matrix are about to be formed.
    fn enter(&mut self, at: Site) {
        let _ = at;
    }
    /// The factor of a term of the table.
    fn factor(&self, law: &Stencil, factor: f64, piece: Piece) -> f64 {
        let _ = (law, piece);
        factor
    }
    /// Completes the residual, given its rows paired with v.
    fn add_residual(&mut self, at: Site, rows: &mut [f64]) {
        let _ = (at, rows);
    }
    /// Completes the matrix.
    fn add_derivatives(&mut self, at: Site, values: &mut [f64]) {
        let _ = (at, values);
    }
    /// The step is solved.
    fn solved(&mut self, at: Site) {
        let _ = at;
    }
    /// Whether the matrix holds G as the equations of motion keep it.
    fn keeps_gradients(&self) -> bool {
        true
    }
}

/// Formulations that are their table.
pub(super) struct NoCorrection;

impl Correction for NoCorrection {}

/// s, o and w.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factors {
    share: f64,
    old: f64,
    new: f64,
}

/// Blocks of the matrix beyond those of the table.
pub(super) struct ExtraBlocks {
    /// M_n⁻¹G_nᵀ in the kinematic rows.
    kinematics: Vec<(u32, u32)>,
    /// G_nᵀ in the balance.
    balance: Vec<(u32, u32)>,
}

impl ExtraBlocks {
    /// The places for these unknowns.
    pub(super) fn new(dynamics: &dyn Dynamics, unknowns: &Unknowns) -> ExtraBlocks {
        let places = |row: Unknown, piece: Piece| {
            let pairs = dynamics.pattern(piece, Unknown::Mu);
            let block = |&(r, c): &(u32, u32)| Some((unknowns.block(row, r)?, unknowns.block(Unknown::Lambda, c)?));
            pairs.iter().filter_map(block).collect()
        };
        ExtraBlocks { kinematics: places(Unknown::V, Piece::MinvGtMu), balance: places(Unknown::Q, Piece::GtMu) }
    }

    /// All of them.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.kinematics.iter().chain(&self.balance).copied()
    }
}

/// The old point with the pull M_n⁻¹G_nᵀλ of the reactions there.
pub(super) struct Additive {
    /// b: the share of the new reactions in the positions.
    b: f64,
    old: Point,
    w: Workspace,
    pull: Vec<f64>,
    /// Offsets of the blocks at [`ExtraBlocks`].
    kinematics: Vec<u32>,
    balance: Vec<u32>,
}

impl Additive {
    /// For steps from points of this size.
    pub(super) fn new(
        b: f64,
        dynamics: &dyn Dynamics,
        point: &Point,
        at: &ExtraBlocks,
        pattern: &BlockPattern,
    ) -> Additive {
        Additive {
            b,
            old: point.clone(),
            w: dynamics.workspace(),
            pull: vec![0.0; dynamics.layout().n()],
            kinematics: offsets(pattern, &at.kinematics),
            balance: offsets(pattern, &at.balance),
        }
    }

    /// The factors of the law of a step; a law without Newmark's constants leaves reactions out.
    fn factors(&self, law: &Stencil) -> Factors {
        let Some(newmark) = law.newmark else { return Factors { share: 0.0, old: 0.0, new: 0.0 } };
        Factors {
            share: 0.5 / newmark.velocity,
            old: 0.5 * ((1.0 - self.b) * newmark.position - 1.0),
            new: 0.5 * (self.b * newmark.position - 1.0),
        }
    }

    /// `pull` = c M_n⁻¹G_nᵀ times the multipliers in the old point's μ.
    fn set_pull(&mut self, c: f64, dynamics: &dyn Dynamics) {
        self.pull.fill(0.0);
        dynamics.add(c, Piece::MinvGtMu, &self.old, &mut self.w, &mut self.pull);
    }
}

/// v̇ += c M⁻¹Gᵀμ.
fn add_pull(c: f64, dynamics: &dyn Dynamics, point: &mut Point, w: &mut Workspace) {
    let mut vdot = std::mem::take(&mut point.vdot);
    dynamics.add(c, Piece::MinvGtMu, point, w, &mut vdot);
    point.vdot = vdot;
}

impl Correction for Additive {
    /// v̇ ← M⁻¹f, the acceleration without reactions, with which the method counts.
    fn started(&mut self, at: Site) {
        at.point.mu.copy_from_slice(&at.point.lambda);
        at.w.invalidate();
        at.dynamics.realize(at.point, at.w);
        add_pull(1.0, at.dynamics, at.point, at.w);
    }

    fn begin(&mut self, dynamics: &dyn Dynamics, point: &Point) {
        self.old.clone_from(point);
        self.w.invalidate();
        dynamics.realize(&self.old, &mut self.w);
    }

    /// Adds what the predicted reactions do to positions and velocities, of which the method knows nothing.
    fn predicted(&mut self, at: Site) {
        let (h, slope, factors) = (at.law.h, at.law.slopes.q, self.factors(at.law));
        let point = at.point;
        // v −= h/2 (R_I + R_II), and what the kinematic row asks of q then
        self.old.mu.copy_from_slice(&point.lambda);
        self.old.mu.iter_mut().zip(&point.mu).for_each(|(a, b)| *a += b);
        self.set_pull(0.5 * h, at.dynamics);
        point.v.iter_mut().zip(&self.pull).for_each(|(v, r)| *v -= r);
        point.q.iter_mut().zip(&self.pull).for_each(|(q, r)| *q -= r / slope);
        for (i, mu) in self.old.mu.iter_mut().enumerate() {
            *mu = factors.old * point.lambda[i] + factors.new * point.mu[i];
        }
        self.set_pull(h / slope, at.dynamics);
        point.q.iter_mut().zip(&self.pull).for_each(|(q, r)| *q -= r);
        at.law.rates(point);
        at.w.invalidate();
    }

    /// Finds M_n⁻¹G_nᵀλ and adds its share to v̇; the law of the step takes it off again.
    fn enter(&mut self, at: Site) {
        let factors = self.factors(at.law);
        self.old.mu.copy_from_slice(&at.point.lambda);
        self.set_pull(1.0, at.dynamics);
        at.point.vdot.iter_mut().zip(&self.pull).for_each(|(a, r)| *a += factors.share * r);
    }

    fn factor(&self, law: &Stencil, factor: f64, piece: Piece) -> f64 {
        match piece {
            Piece::MinvGtMu => factor * self.factors(law).new * law.h,
            Piece::GtMu => factor * self.factors(law).share,
            _ => factor,
        }
    }

    fn add_residual(&mut self, at: Site, rows: &mut [f64]) {
        let c = self.factors(at.law).old * at.law.h;
        rows.iter_mut().zip(&self.pull).for_each(|(r, p)| *r += c * p);
        at.law.rates(at.point);
    }

    fn add_derivatives(&mut self, at: Site, values: &mut [f64]) {
        let (factors, slopes) = (self.factors(at.law), at.law.slopes);
        let (old, w) = (&self.old, &mut self.w);
        let mut out = Targets::new(values, &self.kinematics);
        let c = factors.old * at.law.h;
        at.dynamics.add_derivative(c, Piece::MinvGtMu, Unknown::Mu, slopes, old, w, &mut out);
        // M M_n⁻¹ = I + O(h) is left out: it is I where M is constant
        let mut out = Targets::new(values, &self.balance);
        at.dynamics.add_derivative(factors.share, Piece::GtMu, Unknown::Mu, slopes, old, w, &mut out);
        at.law.rates(at.point);
    }

    /// v̇ ← M⁻¹f again.
    fn solved(&mut self, at: Site) {
        let share = self.factors(at.law).share;
        self.enter(Site { dynamics: at.dynamics, law: at.law, point: &mut *at.point, w: &mut *at.w });
        at.dynamics.realize(at.point, at.w);
        add_pull(share, at.dynamics, at.point, at.w);
    }

    fn keeps_gradients(&self) -> bool {
        false
    }
}
