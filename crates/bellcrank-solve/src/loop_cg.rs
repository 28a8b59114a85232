//! Loop-CG: accelerations of a machine with many closed loops by sweeps over its tree and conjugate gradients on what closes
//! the loops (`book/src/closed-loops.md`).
//!
//! ```text
//!     S μ = D a + δ,   S = D P Dᵀ                          one sweep over the tree for each product with S
//!     S₀⁻¹ r = the multipliers of K₀ x = (0, 0, −r)        the preconditioner: factors K₀ of an earlier position
//! ```
//!
//! The iteration starts from the μ of the last evaluation. The factors of the whole system are renewed when the iterations
//! that a renewal would have spared have cost as much as it does: so the total is never more than twice the best.

use crate::engines::implicit::Projector;
use crate::kkt::Kkt;
use crate::loops::Loops;
use bellcrank_math::solver::LinearError;
use bellcrank_model::{Dynamics, Piece, Point, Workspace};
use std::sync::Arc;

/// Accelerations close the loops up to this part of themselves.
const TOLERANCE: f64 = 1e-12;

/// A correction of a projection closes them up to this part of what was open.
const CORRECTION: f64 = 1e-6;

/// So many iterations are right after a renewal.
const FRESH: usize = 2;

/// A multiplication of a factorization, which works on dense blocks, costs this part of one of a sweep.
const DENSE: f64 = 0.3;

/// After so many iterations the factors of the whole system are made for the first time.
const PATIENCE: usize = 40;

/// An iteration that takes longer does not converge.
const MOST: usize = 500;

/// Accelerations and reactions by conjugate gradients on the loops.
pub struct LoopCg {
    dynamics: Arc<dyn Dynamics>,
    /// The tree and its loops.
    pub loops: Loops,
    /// Factors of the whole system at an earlier position.
    whole: Option<Kkt>,
    fresh: bool,
    /// What renewed factors would have spared since the last ones, in operations.
    spent: f64,
    /// What stands for S⁻¹ in rows that the factors left out.
    left_out: f64,
    mu: Vec<f64>,
    nu: Vec<f64>,
    r: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    sp: Vec<f64>,
    f: Vec<f64>,
    rows: Vec<f64>,
    a: Vec<f64>,
    scratch: Vec<f64>,
    /// Systems of loops solved, iterations of all of them, and the most of one.
    pub solves: usize,
    /// See `solves`.
    pub iterations: usize,
    /// See `solves`.
    pub most: usize,
    /// Factorizations of the whole system.
    pub renewals: usize,
    /// Whether factors of the whole system are made at all.
    pub preconditioned: bool,
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl LoopCg {
    /// On a tree chosen at a point; none where the equations have no tree.
    pub fn new(dynamics: Arc<dyn Dynamics>, at: &Point) -> Option<LoopCg> {
        let loops = Loops::new(dynamics.clone(), at)?;
        let (n, m, k) = (dynamics.layout().n(), dynamics.layout().m(), loops.size());
        let mut mu = vec![0.0; k];
        if at.lambda.len() == m {
            loops.pick(&at.lambda, &mut mu);
        }
        Some(LoopCg {
            whole: None,
            fresh: false,
            spent: 0.0,
            left_out: 0.0,
            mu,
            nu: vec![0.0; k],
            r: vec![0.0; k],
            z: vec![0.0; k],
            p: vec![0.0; k],
            sp: vec![0.0; k],
            f: vec![0.0; n],
            rows: vec![0.0; m],
            a: vec![0.0; n],
            scratch: vec![0.0; n],
            solves: 0,
            iterations: 0,
            most: 0,
            renewals: 0,
            preconditioned: true,
            loops,
            dynamics,
        })
    }

    /// Forgets the multipliers of the last evaluation.
    pub fn cool(&mut self) {
        self.mu.fill(0.0);
    }

    /// Makes the factors of the whole system at a realized point.
    pub fn renew(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        let whole = self.whole.get_or_insert_with(|| Kkt::new(self.dynamics.clone()));
        whole.factor(at, w)?;
        self.renewals += 1;
        (self.spent, self.left_out, self.fresh) = (0.0, 0.0, true);
        Ok(())
    }

    /// z = S₀⁻¹ r.
    fn precondition(&mut self) -> Result<(), LinearError> {
        let (Some(whole), true) = (&mut self.whole, self.renewals > 0) else {
            self.z.copy_from_slice(&self.r);
            return Ok(());
        };
        let (loops, r) = (self.loops.rows(), &self.r);
        let multipliers = whole.close(|rows| loops.iter().zip(r).for_each(|(k, r)| rows[*k] = -r))?;
        self.loops.pick(multipliers, &mut self.z);
        if whole.dropped() > 0 {
            if self.left_out == 0.0 {
                self.left_out = largest(&self.z) / largest(&self.r).max(f64::MIN_POSITIVE);
            }
            for row in whole.dropped_rows() {
                if let Some(i) = self.loops.place(row) {
                    self.z[i] += self.left_out * self.r[i];
                }
            }
        }
        Ok(())
    }

    /// What an iteration costs, and a renewal.
    fn costs(&self) -> (f64, f64) {
        let sweep = 2.0 * self.loops.factor_entries() as f64;
        match &self.whole {
            Some(whole) if self.renewals > 0 => {
                let flops = whole.flops();
                (sweep + flops.solve as f64, DENSE * flops.factor as f64)
            }
            _ => (sweep, sweep * PATIENCE as f64),
        }
    }

    /// Conjugate gradients from μ with the residual r = D a + δ − S μ of it, both of which it moves.
    fn iterate(&mut self, tolerance: f64, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.solves += 1;
        self.fresh = false;
        let mut count = 0;
        // NaN does not end here
        while !(largest(&self.r) <= tolerance) {
            self.precondition()?;
            self.p.copy_from_slice(&self.z);
            let mut rz = dot(&self.r, &self.z);
            let (cost, renewal) = self.costs();
            loop {
                self.loops.mobility(&self.p, &mut self.scratch, &mut self.sp)?;
                let curvature = dot(&self.p, &self.sp);
                count += 1;
                if !curvature.is_finite() {
                    return Err(LinearError::NotFinite { row: 0 });
                }
                if curvature <= 0.0 {
                    return self.done(count); // a direction in which no loop can move: redundant
                }
                let step = rz / curvature;
                self.mu.iter_mut().zip(&self.p).for_each(|(m, p)| *m += step * p);
                self.r.iter_mut().zip(&self.sp).for_each(|(r, s)| *r -= step * s);
                if largest(&self.r) <= tolerance || count >= MOST {
                    return self.done(count);
                }
                if count > FRESH {
                    self.spent += cost;
                }
                if self.preconditioned && !self.fresh && self.spent > renewal {
                    self.renew(at, w)?;
                    break;
                }
                self.precondition()?;
                let next = dot(&self.r, &self.z);
                let along = next / rz;
                rz = next;
                self.p.iter_mut().zip(&self.z).for_each(|(p, z)| *p = z + along * *p);
            }
        }
        self.done(count)
    }

    fn done(&mut self, count: usize) -> Result<(), LinearError> {
        self.iterations += count;
        self.most = self.most.max(count);
        if count < MOST { Ok(()) } else { Err(LinearError::NotConverged) }
    }

    /// v̇ and λ at a realized point.
    pub fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.loops.factor(at, w)?;
        at.vdot.fill(0.0);
        self.f.fill(0.0);
        self.rows.fill(0.0);
        self.dynamics.add(1.0, Piece::Force, at, w, &mut self.f);
        self.dynamics.add(-1.0, Piece::Acceleration, at, w, &mut self.rows);
        // r = D a + δ − S μ at the μ of the last evaluation
        self.scratch.copy_from_slice(&self.f);
        self.loops.add_pull(-1.0, &self.mu, &mut self.scratch);
        self.loops.solve(&self.scratch, Some(&self.rows), &mut self.a, None)?;
        self.loops.pick(&self.rows, &mut self.r);
        let bias = largest(&self.r);
        self.r.iter_mut().for_each(|r| *r = -*r);
        self.loops.add_closing(1.0, &self.a, &mut self.r);
        let scale = bias.max(largest(&self.a));
        self.iterate(TOLERANCE * scale, at, w)?;
        self.scratch.copy_from_slice(&self.f);
        self.loops.add_pull(-1.0, &self.mu, &mut self.scratch);
        self.loops.solve(&self.scratch, Some(&self.rows), &mut at.vdot, Some(&mut at.lambda))?;
        self.loops.rows().iter().zip(&self.mu).for_each(|(k, mu)| at.lambda[*k] = *mu);
        Ok(())
    }
}

impl Projector for LoopCg {
    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.loops.factor(at, w)
    }

    fn project(
        &mut self,
        at: &Point,
        w: &mut Workspace,
        fill: &dyn Fn(&mut Workspace, &mut [f64]),
    ) -> Result<&[f64], LinearError> {
        self.rows.fill(0.0);
        fill(w, &mut self.rows);
        self.f.fill(0.0);
        self.loops.solve(&self.f, Some(&self.rows), &mut self.a, None)?;
        self.loops.pick(&self.rows, &mut self.r);
        let open = largest(&self.r);
        self.r.iter_mut().for_each(|r| *r = -*r);
        self.loops.add_closing(1.0, &self.a, &mut self.r);
        // the μ of accelerations wait for the next evaluation
        std::mem::swap(&mut self.mu, &mut self.nu);
        self.mu.fill(0.0);
        let tolerance = CORRECTION * open.max(largest(&self.r));
        let iterated = self.iterate(tolerance, at, w);
        self.loops.add_pull(-1.0, &self.mu, &mut self.f);
        std::mem::swap(&mut self.mu, &mut self.nu);
        iterated?;
        self.loops.solve(&self.f, Some(&self.rows), &mut self.a, None)?;
        Ok(&self.a)
    }
}
