//! Loop-CG: accelerations of a machine with many closed loops by sweeps over its tree and conjugate gradients on what closes
//! the loops (`book/src/closed-loops.md`).
//!
//! ```text
//!     S μ = D a + δ,   S = D P Dᵀ                          one sweep over the tree for each product with S
//!     S₀⁻¹ r = the multipliers of K₀ x = (0, 0, −r)        the preconditioner: factors K₀ of an earlier position
//! ```
//!
//! The iteration starts from the μ of the last evaluation. The factors of the whole system are renewed when the iterations
//! that a renewal would have spared have cost as much as it does: so the total is never more than twice the best. The matrices
//! of implicit steps are solved by the same iteration ([`super::loop_step`]).

use super::kkt::Kkt;
use super::loops::Loops;
use super::plan::{FACTOR_COST, MANY_BODIES, loops_pay_for_accelerations};
use super::projection::Projector;
use bellcrank_math::linear::solver::{Flops, LinearError};
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Piece, Point, Workspace};
use std::sync::Arc;

/// Accelerations close the loops up to this part of themselves.
const TOLERANCE: f64 = 1e-12;

/// A correction of a projection closes them up to this part of what was open.
pub(crate) const CORRECTION: f64 = 1e-6;

/// Iterations that a solve takes right after a renewal.
const RENEWED: usize = 2;

/// Iterations after which the cost of factors of the whole system is looked into for the first time.
const UNKNOWN_COST: f64 = 40.0;

/// Directions in which S is below this part of its largest eigenvalue count as redundant: at a singular position.
const SINGULAR: f64 = 1e-9;

/// Below this many bodies singular positions are looked for by factors of their own.
const OWN_FACTORS_BELOW: usize = 64;

/// Pivots above this are not told apart: what is not close to a singular position counts as this far from it.
const REGULAR: f64 = 0.1;

/// An iteration of more steps than this does not converge.
const MOST_ITERATIONS: usize = 500;

/// A system of loops, as conjugate gradients see it.
pub(crate) trait LoopSystem {
    /// out = S p.
    fn product(&mut self, p: &[f64], out: &mut [f64]) -> Result<(), LinearError>;
    /// z = S₀⁻¹ r; z = r while there are no factors of an earlier position.
    fn precondition(&mut self, r: &[f64], z: &mut [f64]) -> Result<(), LinearError>;
    /// What a sweep over the tree costs.
    fn sweep(&self) -> f64;
    /// What the factors of the whole system cost and a solution with them, once that is known, by count.
    fn whole(&self) -> Option<Flops>;
    /// Orders the whole system, so that its costs are known.
    fn learn(&mut self);
    /// Makes factors of the whole system here and now.
    fn renew(&mut self) -> Result<(), LinearError>;
    /// The smallest pivot of a multiplier in these factors: zero where one was left out.
    fn pivot(&self) -> f64;
}

/// The preconditioned residual z, the direction p, and S p.
#[derive(Default)]
struct Directions {
    z: Vec<f64>,
    p: Vec<f64>,
    sp: Vec<f64>,
}

/// What the iteration has seen of S.
#[derive(Default)]
struct SpectrumSeen {
    /// Unit directions that the present solution leaves out.
    redundant: Vec<Vec<f64>>,
    /// The largest eigenvalue of S, as far as it is known.
    mobility: f64,
    /// The tridiagonal matrix of the present iteration: its diagonal, and the squares beside it.
    ritz: Vec<(f64, f64)>,
}

/// Conjugate gradients on S μ = …, with the counts of all solves.
#[derive(Default)]
pub struct Cg {
    /// μ, from where an iteration starts and where it ends.
    pub mu: Vec<f64>,
    /// The residual of it.
    pub r: Vec<f64>,
    work: Directions,
    seen: SpectrumSeen,
    /// What renewed factors would have spared since the last ones, in operations.
    spent: f64,
    /// How close to a singular position the last solve was: the smallest pivot of the factors of an earlier position, times the
    /// smallest eigenvalue of S₀⁻¹S that was seen.
    pub nearness: f64,
    /// Systems of loops solved.
    pub solves: usize,
    /// Iterations of all of them.
    pub iterations: usize,
    /// Most iterations of one.
    pub most: usize,
    /// Factorizations of the whole system.
    pub renewals: usize,
    /// Whether factors of the whole system are not made.
    pub plain: bool,
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// x ← x − N Nᵀx.
fn leave_out(directions: &[Vec<f64>], x: &mut [f64]) {
    for n in directions {
        let c = dot(n, x);
        x.iter_mut().zip(n).for_each(|(x, n)| *x -= c * n);
    }
}

/// The smallest eigenvalue of a positive tridiagonal matrix, by halving: its diagonal, and the squares beside it.
fn smallest(tridiagonal: &[(f64, f64)]) -> f64 {
    let (mut low, mut high) = (0.0, tridiagonal.iter().fold(f64::INFINITY, |m: f64, d| m.min(d.0)));
    for _ in 0..40 {
        let x = 0.5 * (low + high);
        let (mut pivot, mut beside, mut below) = (1.0, 0.0, false);
        for &(d, next) in tridiagonal {
            pivot = d - x - beside / pivot;
            below |= pivot <= 0.0;
            beside = next;
            if below {
                break;
            }
        }
        if below { high = x } else { low = x }
    }
    high
}

impl Cg {
    /// For this many equations of loops, with an estimate of the largest eigenvalue of S.
    pub fn new(size: usize, mobility: f64) -> Cg {
        let zero = || vec![0.0; size];
        Cg {
            mu: zero(),
            r: zero(),
            work: Directions { z: zero(), p: zero(), sp: zero() },
            seen: SpectrumSeen { redundant: Vec::new(), mobility, ritz: Vec::with_capacity(64) },
            nearness: f64::INFINITY,
            ..Cg::default()
        }
    }

    /// Tells a tape what one solve leaves to the next.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        tape.fixed(&mut self.mu);
        tape.fixed(&mut self.r);
        tape.number(&mut self.seen.mobility);
        tape.number(&mut self.spent);
        tape.number(&mut self.nearness);
        tape.count(&mut self.solves);
        tape.count(&mut self.iterations);
        tape.count(&mut self.most);
        tape.count(&mut self.renewals);
        tape.flag(&mut self.plain);
    }

    /// New factors of the whole system.
    pub(crate) fn renew(&mut self, of: &mut dyn LoopSystem) -> Result<(), LinearError> {
        of.renew()?;
        self.renewals += 1;
        self.spent = 0.0;
        Ok(())
    }

    /// z = S₀⁻¹ r, both without the directions that are left out.
    fn precondition(&mut self, of: &mut dyn LoopSystem) -> Result<(), LinearError> {
        leave_out(&self.seen.redundant, &mut self.r);
        of.precondition(&self.r, &mut self.work.z)?;
        leave_out(&self.seen.redundant, &mut self.work.z);
        Ok(())
    }

    /// What an iteration costs, and a renewal.
    fn costs(&self, of: &dyn LoopSystem) -> (f64, f64) {
        let sweep = of.sweep();
        match of.whole() {
            // what is not counted is too much
            Some(flops) if flops.factor == 0 => (sweep, f64::INFINITY),
            Some(flops) if self.renewals > 0 => (sweep + flops.solve as f64, FACTOR_COST * flops.factor as f64),
            Some(flops) => (sweep, FACTOR_COST * flops.factor as f64),
            None => (sweep, sweep * UNKNOWN_COST),
        }
    }

    /// Conjugate gradients from μ with its residual r, both of which it moves, until no entry of r is above the tolerance.
    pub(crate) fn iterate(&mut self, of: &mut dyn LoopSystem, tolerance: f64) -> Result<(), LinearError> {
        self.solves += 1;
        self.seen.redundant.clear();
        self.nearness = f64::INFINITY;
        self.seen.ritz.clear();
        let (mut count, mut fresh) = (0, false);
        // what is no number is open too
        let open = |r: &[f64]| largest(r).partial_cmp(&tolerance).is_none_or(|o| o.is_gt());
        while open(&self.r) {
            self.precondition(of)?;
            self.work.p.copy_from_slice(&self.work.z);
            let mut rz = dot(&self.r, &self.work.z);
            let (mut cost, mut renewal) = self.costs(of);
            let mut carried = 0.0;
            self.seen.ritz.clear();
            loop {
                of.product(&self.work.p, &mut self.work.sp)?;
                let curvature = dot(&self.work.p, &self.work.sp);
                count += 1;
                if !curvature.is_finite() {
                    return Err(LinearError::NotFinite { row: 0 });
                }
                let size = dot(&self.work.p, &self.work.p);
                if size == 0.0 {
                    return self.done(of, count, true);
                }
                self.seen.mobility = self.seen.mobility.max(curvature / size);
                if curvature <= SINGULAR * self.seen.mobility * size {
                    let unit = 1.0 / size.sqrt();
                    self.seen.redundant.push(self.work.p.iter().map(|p| unit * p).collect());
                    leave_out(&self.seen.redundant, &mut self.r);
                    self.nearness = 0.0;
                    break;
                }
                let step = rz / curvature;
                self.mu.iter_mut().zip(&self.work.p).for_each(|(m, p)| *m += step * p);
                self.r.iter_mut().zip(&self.work.sp).for_each(|(r, s)| *r -= step * s);
                self.seen.ritz.push((1.0 / step + carried, 0.0));
                if largest(&self.r) <= tolerance {
                    return self.done(of, count, true);
                }
                if count > RENEWED {
                    self.spent += cost;
                }
                let may = !self.plain && !fresh;
                if may && self.spent > renewal && of.whole().is_none() {
                    of.learn();
                    (cost, renewal) = self.costs(of);
                }
                if may && (self.spent > renewal || count >= MOST_ITERATIONS) {
                    self.measure(of);
                    self.renew(of)?;
                    fresh = true;
                    break;
                }
                if count >= 2 * MOST_ITERATIONS || (count >= MOST_ITERATIONS && !fresh) {
                    return self.done(of, count, false);
                }
                self.precondition(of)?;
                let next = dot(&self.r, &self.work.z);
                let along = next / rz;
                rz = next;
                carried = along / step;
                if let Some(last) = self.seen.ritz.last_mut() {
                    last.1 = along / (step * step);
                }
                self.work.p.iter_mut().zip(&self.work.z).for_each(|(p, z)| *p = z + along * *p);
            }
        }
        self.done(of, count, true)
    }

    /// Measures how close to a singular position the present iteration is.
    fn measure(&mut self, of: &dyn LoopSystem) {
        if self.renewals > 0 && !self.seen.ritz.is_empty() {
            self.nearness = self.nearness.min(smallest(&self.seen.ritz) * of.pivot().min(REGULAR));
        }
    }

    fn done(&mut self, of: &dyn LoopSystem, count: usize, closed: bool) -> Result<(), LinearError> {
        self.iterations += count;
        self.most = self.most.max(count);
        self.measure(of);
        if closed { Ok(()) } else { Err(LinearError::NotConverged) }
    }
}

/// The equations of motion as a system of loops.
struct LoopParts {
    dynamics: Arc<dyn Dynamics>,
    loops: Loops,
    /// Factors of the whole system at an earlier position.
    whole: Option<Kkt>,
    made: bool,
    /// What stands for S⁻¹ in rows that the factors left out.
    left_out: f64,
    scratch: Vec<f64>,
}

/// The same at a realized point.
struct Here<'a> {
    of: &'a mut LoopParts,
    at: &'a Point,
    w: &'a mut Workspace,
}

impl LoopSystem for Here<'_> {
    fn product(&mut self, p: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        self.of.loops.mobility(p, &mut self.of.scratch, out)
    }

    fn precondition(&mut self, r: &[f64], z: &mut [f64]) -> Result<(), LinearError> {
        let of = &mut *self.of;
        let (Some(whole), true) = (&mut of.whole, of.made) else {
            z.copy_from_slice(r);
            return Ok(());
        };
        let rows = of.loops.rows();
        let multipliers = whole.close(|all| rows.iter().zip(r).for_each(|(k, r)| all[*k] = -r))?;
        of.loops.pick(multipliers, z);
        if whole.dropped() > 0 {
            if of.left_out == 0.0 {
                of.left_out = largest(z) / largest(r).max(f64::MIN_POSITIVE);
            }
            for row in whole.dropped_rows() {
                if let Some(i) = of.loops.place(row) {
                    z[i] += of.left_out * r[i];
                }
            }
        }
        Ok(())
    }

    fn sweep(&self) -> f64 {
        2.0 * self.of.loops.factor_entries() as f64
    }

    fn whole(&self) -> Option<Flops> {
        self.of.whole.as_ref().map(|w| w.flops())
    }

    fn learn(&mut self) {
        self.of.whole.get_or_insert_with(|| Kkt::new(self.of.dynamics.clone()));
    }

    fn renew(&mut self) -> Result<(), LinearError> {
        self.learn();
        if let Some(whole) = &mut self.of.whole {
            whole.factor(self.at, self.w)?;
        }
        (self.of.made, self.of.left_out) = (true, 0.0);
        Ok(())
    }

    fn pivot(&self) -> f64 {
        let of = |w: &Kkt| if w.dropped() > 0 { 0.0 } else { w.smallest_pivot() };
        self.of.whole.as_ref().map_or(f64::INFINITY, of)
    }
}

/// Accelerations and reactions by conjugate gradients on the loops.
pub struct LoopCg {
    parts: LoopParts,
    /// The iteration, and its counts.
    pub cg: Cg,
    /// Whether it was chosen by counts.
    chosen: bool,
    /// Whether factors are made at once.
    small: bool,
    /// What tells of singular positions where there are few bodies.
    watch: Option<Kkt>,
    nu: Vec<f64>,
    f: Vec<f64>,
    rows: Vec<f64>,
    a: Vec<f64>,
}

impl LoopCg {
    /// On a tree chosen at a point; none where the equations have no tree.
    pub fn new(dynamics: Arc<dyn Dynamics>, at: &Point) -> Option<LoopCg> {
        let mut loops = Loops::new(dynamics.clone(), at)?;
        let mut w = dynamics.workspace();
        dynamics.realize(at, &mut w);
        loops.factor(at, &mut w).ok()?;
        let mobility = loops.largest_mobility(&vec![1.0; loops.size()], 12).ok()?;
        let (n, m, k) = (dynamics.layout().n(), dynamics.layout().m(), loops.size());
        let mut cg = Cg::new(k, mobility);
        if at.lambda.len() == m {
            loops.pick(&at.lambda, &mut cg.mu);
        }
        Some(LoopCg {
            cg,
            chosen: false,
            small: dynamics.layout().bodies.len() < MANY_BODIES,
            watch: (dynamics.layout().bodies.len() < OWN_FACTORS_BELOW && k > 0).then(|| Kkt::new(dynamics.clone())),
            nu: vec![0.0; k],
            f: vec![0.0; n],
            rows: vec![0.0; m],
            a: vec![0.0; n],
            parts: LoopParts { dynamics, loops, whole: None, made: false, left_out: 0.0, scratch: vec![0.0; n] },
        })
    }

    /// Tells a tape what one solve leaves to the next.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        let parts = &mut self.parts;
        tape.flag(&mut parts.made);
        tape.number(&mut parts.left_out);
        tape.option(&mut parts.whole, || Some(Kkt::new(parts.dynamics.clone())));
        if let Some(whole) = &mut parts.whole {
            whole.keep(tape, parts.made);
        }
        if let Some(watch) = &mut self.watch {
            watch.keep(tape, false);
        }
        tape.plain(&mut parts.loops.sweeps);
        self.cg.keep(tape);
        tape.flag(&mut self.chosen);
        tape.fixed(&mut self.nu);
    }

    /// Loop-CG where an evaluation costs less with it than by elimination of the whole system, by count; large machines with
    /// many loops.
    pub fn if_cheaper(dynamics: Arc<dyn Dynamics>, at: &Point) -> Option<LoopCg> {
        if dynamics.layout().bodies.len() < MANY_BODIES {
            return None;
        }
        let mut cg = LoopCg::new(dynamics.clone(), at)?;
        cg.chosen = true;
        if cg.loops().size() == 0 {
            return Some(cg);
        }
        let whole = Kkt::new(dynamics);
        let pays = loops_pay_for_accelerations(whole.flops(), 2.0 * cg.loops().factor_entries() as f64);
        cg.parts.whole = Some(whole);
        pays.then_some(cg)
    }

    /// How many iterations a system of loops takes without factors, to the accuracy of a correction, at a realized point: from
    /// loads at random.
    pub fn trial(&mut self, at: &Point, w: &mut Workspace) -> Result<usize, LinearError> {
        let plain = std::mem::replace(&mut self.cg.plain, true);
        let mut random = bellcrank_math::random::Xorshift(5);
        let load: Vec<f64> = (0..self.cg.mu.len()).map(|_| random.number()).collect();
        self.parts.loops.factor(at, w)?;
        // S of loads, so that the smallest eigenvalues have the part that they have in motions
        self.parts.loops.mobility(&load, &mut self.parts.scratch, &mut self.cg.r)?;
        self.cool();
        let before = self.cg.iterations;
        let tolerance = CORRECTION * largest(&self.cg.r);
        let closed = self.iterate(tolerance, at, w);
        self.cg.plain = plain;
        self.cool();
        closed.map(|()| self.cg.iterations - before)
    }

    /// How accelerations are found and why, in words.
    pub fn explain(&self) -> String {
        match (self.loops().size(), self.chosen) {
            (0, _) => {
                "elimination of each body with its joint, from the leaves of the tree to its root (no loops)".into()
            }
            (_, true) => "loop-cg, which takes fewer operations than elimination of the whole system".into(),
            (_, false) => "loop-cg, as asked".into(),
        }
    }

    /// How close to a singular position a realized point is that was just solved. What conjugate gradients see of that depends on
    /// where they started: the pivots of a system of few bodies tell it for sure, and cost next to nothing.
    pub fn nearness(&mut self, at: &Point, w: &mut Workspace) -> f64 {
        let Some(kkt) = &mut self.watch else { return self.cg.nearness };
        match kkt.factor(at, w) {
            Ok(()) if kkt.dropped() == 0 => kkt.smallest_pivot(),
            _ => 0.0,
        }
    }

    /// How many rows are left out, and the smallest pivot of the others, at the point of the last look at [`Self::nearness`]; none
    /// where nothing is left out, or where there are many bodies.
    pub fn rank(&self) -> Option<(usize, f64)> {
        let rank = self.watch.as_ref().map(|kkt| (kkt.dropped(), kkt.smallest_pivot()));
        rank.filter(|_| !self.parts.loops.left_out().is_empty())
    }

    /// The tree and its loops.
    pub fn loops(&self) -> &Loops {
        &self.parts.loops
    }

    /// Forgets the multipliers of the last evaluation.
    pub fn cool(&mut self) {
        self.cg.mu.fill(0.0);
    }

    /// Makes the factors of the whole system at a realized point.
    pub fn renew(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.cg.renew(&mut Here { of: &mut self.parts, at, w })
    }

    fn iterate(&mut self, tolerance: f64, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.cg.iterate(&mut Here { of: &mut self.parts, at, w }, tolerance)
    }

    /// v̇ and λ at a realized point.
    pub fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        if self.small && self.cg.renewals == 0 && !self.cg.plain {
            self.renew(at, w)?;
        }
        let (loops, cg) = (&mut self.parts.loops, &mut self.cg);
        loops.factor(at, w)?;
        at.vdot.fill(0.0);
        self.f.fill(0.0);
        self.rows.fill(0.0);
        self.parts.dynamics.add(1.0, Piece::Force, at, w, &mut self.f);
        self.parts.dynamics.add(-1.0, Piece::Acceleration, at, w, &mut self.rows);
        // r = D a + δ − S μ at the μ of the last evaluation
        let scratch = &mut self.parts.scratch;
        scratch.copy_from_slice(&self.f);
        loops.add_pull(-1.0, &cg.mu, scratch);
        loops.solve(scratch, Some(&self.rows), &mut self.a, None)?;
        loops.pick(&self.rows, &mut cg.r);
        let bias = largest(&cg.r);
        cg.r.iter_mut().for_each(|r| *r = -*r);
        loops.add_closing(1.0, &self.a, &mut cg.r);
        let scale = bias.max(largest(&self.a));
        self.iterate(TOLERANCE * scale, at, w)?;
        let LoopParts { loops, scratch, .. } = &mut self.parts;
        scratch.copy_from_slice(&self.f);
        loops.add_pull(-1.0, &self.cg.mu, scratch);
        loops.solve(scratch, Some(&self.rows), &mut at.vdot, Some(&mut at.lambda))?;
        loops.rows().iter().zip(&self.cg.mu).for_each(|(k, mu)| at.lambda[*k] = *mu);
        Ok(())
    }
}

impl Projector for LoopCg {
    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.parts.loops.factor(at, w)
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
        let (loops, cg) = (&mut self.parts.loops, &mut self.cg);
        loops.solve(&self.f, Some(&self.rows), &mut self.a, None)?;
        loops.pick(&self.rows, &mut cg.r);
        let open = largest(&cg.r);
        cg.r.iter_mut().for_each(|r| *r = -*r);
        loops.add_closing(1.0, &self.a, &mut cg.r);
        // the μ of accelerations wait for the next evaluation
        std::mem::swap(&mut cg.mu, &mut self.nu);
        cg.mu.fill(0.0);
        let tolerance = CORRECTION * open.max(largest(&cg.r));
        let iterated = self.iterate(tolerance, at, w);
        self.parts.loops.add_pull(-1.0, &self.cg.mu, &mut self.f);
        std::mem::swap(&mut self.cg.mu, &mut self.nu);
        iterated?;
        self.parts.loops.solve(&self.f, Some(&self.rows), &mut self.a, None)?;
        Ok(&self.a)
    }
}
