//! One implicit step as equations for Newton: formulation × equations of motion × stencil.

mod additive;
mod chain;
mod elimination;
mod terms;

pub use crate::unknowns::Unknowns;

use crate::formulation::{Formulation, MOST_TERMS};
use crate::linear::plan::MatrixPlan;
use crate::newton::{Iteration, MatrixLoan, Residual, Wants};
use crate::stencil::Stencil;
use crate::weights::{Weights, root_mean_square, root_mean_square_with_rates};
use additive::{Additive, Correction, ExtraBlocks, NoCorrection, Site};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::tape::Tape;
use bellcrank_math::threads::team;
use bellcrank_model::{Dynamics, Piece, Point, Unknown, Workspace};
use elimination::Elimination;
use std::ops::Range;
use std::sync::Arc;
use terms::{StepMatrix, bends};

/// What bounds the corrections of a step, in units of the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StepLimits {
    /// Corrections of this size are round-off.
    pub round_off: f64,
    /// Errors of this size are rounding of the coordinates themselves.
    pub exact: f64,
    /// Rounding of the constraints' rates where the largest velocity is one tolerance; zero where it does not matter.
    pub rates: f64,
    /// The largest correction applied at once: a step that turns a body over would find another solution.
    pub reach: f64,
    /// Corrections of this size may stop shrinking.
    pub stagnation: f64,
    /// One unit of rounding, where its amplification near singular positions is allowed for; else zero.
    pub rounding: f64,
}

impl Default for StepLimits {
    fn default() -> StepLimits {
        StepLimits { round_off: 0.0, exact: 0.0, rates: 0.0, reach: f64::INFINITY, stagnation: 0.0, rounding: 0.0 }
    }
}

/// The equations of one implicit step. Its fields are the equations and their matrix, the present point and law, what decides about
/// convergence, and room for both.
pub struct Step {
    dynamics: Arc<dyn Dynamics>,
    formulation: Formulation,
    /// Where the unknowns are in a step's vector.
    pub unknowns: Unknowns,
    matrix: StepMatrix,
    /// Whether v follows q and is no unknown.
    condensed: bool,
    /// The present trial point.
    pub point: Point,
    /// The law for the rates.
    pub stencil: Stencil,
    /// What decides about convergence.
    pub weights: Weights,
    /// What bounds corrections.
    pub limits: StepLimits,
    /// What eliminates the multipliers, in iterations that do.
    elimination: Option<Box<Elimination>>,
    /// What the formulation adds to its table.
    correction: Box<dyn Correction>,
    w: Workspace,
    /// Room for the rates of the constraints, where they are rows of the formulation.
    open_rates: Vec<f64>,
}

/// The [`Site`] of a step, which leaves its other fields free.
macro_rules! site {
    ($step:expr) => {
        Site { dynamics: &*$step.dynamics, law: &$step.stencil, point: &mut $step.point, w: &mut $step.w }
    };
}

/// x −= d.
fn subtract(d: &[f64], x: &mut [f64]) {
    x.iter_mut().zip(d).for_each(|(x, d)| *x -= d);
}

impl Step {
    /// The equations of a formulation at some point of the right sizes, with the whole matrix.
    pub fn new(dynamics: Arc<dyn Dynamics>, formulation: Formulation, point: Point) -> Step {
        Step::planned(dynamics, formulation, point, MatrixPlan::default())
    }

    /// The same with a matrix as planned.
    pub fn planned(dynamics: Arc<dyn Dynamics>, formulation: Formulation, point: Point, plan: MatrixPlan) -> Step {
        let condensed = plan.condensed && formulation.condenses();
        let plan = MatrixPlan { condensed, ..plan };
        let unknowns = Unknowns::of(&*dynamics, &formulation, condensed);
        let places = formulation.additive.map(|_| ExtraBlocks::new(&*dynamics, &unknowns));
        let more = places.iter().flat_map(ExtraBlocks::pairs);
        let matrix = StepMatrix::new(&*dynamics, &formulation, &unknowns, plan, more);
        let correction: Box<dyn Correction> = match (formulation.additive, &places) {
            (Some(b), Some(places)) => Box::new(Additive::new(b, &*dynamics, &point, places, &matrix.pattern)),
            _ => Box::new(NoCorrection),
        };
        let layout = dynamics.layout();
        let stencil = Stencil {
            eta_q: vec![0.0; layout.n()],
            eta_v: vec![0.0; layout.n()],
            eta_z: vec![0.0; layout.nz()],
            velocities_follow: condensed && dynamics.flat(),
            ..Stencil::default()
        };
        Step {
            w: dynamics.workspace(),
            open_rates: vec![0.0; unknowns.range(Unknown::Mu).len()],
            formulation,
            unknowns,
            matrix,
            condensed,
            point,
            stencil,
            weights: Weights::default(),
            limits: StepLimits::default(),
            elimination: None,
            correction,
            dynamics,
        }
    }

    /// Tells a tape what one step leaves to the next.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.point);
        tape.plain(&mut self.stencil);
        tape.plain(&mut self.weights);
        tape.plain(&mut self.limits);
        if let Some(elimination) = &mut self.elimination {
            elimination.keep(tape);
        }
        if tape.reads() {
            self.w.invalidate();
        }
    }

    /// The point is a start of the method.
    pub fn started(&mut self) {
        self.correction.started(site!(self));
    }

    /// A step begins at the present point.
    pub fn begin(&mut self) {
        self.correction.begin(&*self.dynamics, &self.point);
    }

    /// The point is the method's prediction.
    pub fn predicted(&mut self) {
        self.touched();
        self.correction.predicted(site!(self));
    }

    /// The equations hold at the point.
    pub fn solved(&mut self) {
        self.correction.solved(site!(self));
    }

    /// Sets the rates from q, v and z; v = T q̇ where velocities follow q.
    pub fn follow(&mut self) {
        let (law, p) = (&self.stencil, &mut self.point);
        if law.velocities_follow {
            return law.rates_and_velocities(p);
        }
        law.flows(p);
        if self.condensed {
            self.dynamics.velocities(&p.q, &p.qdot, &mut p.v);
        }
        law.accelerations(p);
    }

    /// The sparsity of the matrix.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.matrix.pattern
    }

    /// To be called when the point was changed from outside.
    pub fn touched(&mut self) {
        self.w.invalidate();
    }

    /// The unknown and the block of the layout with the largest entry of a correction.
    pub fn worst(&self, dx: &[f64]) -> (Unknown, usize) {
        let mut worst = (0.0, 0);
        for block in 0..self.pattern().blocks() {
            if let (Unknown::Q | Unknown::V | Unknown::Z, _) = self.unknowns.owner(block) {
                let size = self.pattern().range(block).map(|i| dx[i].abs()).fold(0.0, f64::max);
                if size > worst.0 || size.is_nan() {
                    worst = (size, block);
                }
            }
        }
        self.unknowns.owner(worst.1)
    }

    /// The unknown and the block of the layout that a scalar row belongs to.
    pub fn owner(&self, row: usize) -> (Unknown, usize) {
        self.unknowns.owner(self.pattern().block_of(row))
    }

    /// The workspace, realized at the present point.
    pub fn realized(&mut self) -> &mut Workspace {
        self.dynamics.realize(&self.point, &mut self.w);
        &mut self.w
    }

    /// The present point with its workspace, realized.
    pub fn parts(&mut self) -> (&Point, &mut Workspace) {
        self.dynamics.realize(&self.point, &mut self.w);
        (&self.point, &mut self.w)
    }

    /// Sets a matrix to ∂r/∂x at the present point, all of it.
    pub fn form_matrix(&mut self, iteration: Iteration, j: &mut BlockMatrix) {
        j.clear();
        self.fill(iteration, Wants::ALL, j);
    }

    /// Fills a cleared matrix with the parts of ∂r/∂x at the present point that are wanted. Tells whether the last rows are left
    /// out, for they stand in the workspace and can be borrowed.
    pub fn fill(&mut self, iteration: Iteration, wants: Wants, j: &mut BlockMatrix) -> bool {
        self.dynamics.realize(&self.point, &mut self.w);
        let mut elimination = self.elimination.take();
        let moved = elimination.as_mut().is_some_and(|e| self.visit_manifold(e));
        self.correction.enter(site!(self));
        let lends = wants.borrowed_rows && elimination.is_none() && self.can_lend();
        let lent = self.add_terms(iteration, wants.above, lends, j);
        let slopes = self.stencil.slopes;
        if let Some(chain) = &mut self.matrix.chain {
            chain.add(&*self.dynamics, slopes, &self.point, &mut self.w, &mut j.values);
        }
        self.correction.add_derivatives(site!(self), &mut j.values);
        if let Some(e) = elimination.as_ref().filter(|_| moved) {
            self.point.clone_from(&e.aside);
            self.w.invalidate();
        }
        self.elimination = elimination;
        lent
    }

    /// Whether the workspace holds G as it stands in the matrix.
    fn can_lend(&self) -> bool {
        let [first, last, _] = self.pattern().ends();
        self.correction.keeps_gradients() && self.w.jacobian.len() == last - first
    }

    /// Adds the derivatives of the table; tells whether G was left out to be lent.
    fn add_terms(&mut self, iteration: Iteration, above: bool, lends: bool, j: &mut BlockMatrix) -> bool {
        let slopes = self.stencil.slopes;
        let mut lent = false;
        for term in &self.matrix.terms {
            let bent = bends(term.piece, term.wrt) && iteration.omits_bending();
            if bent || term.is_above() && !above {
                continue;
            }
            if lends && term.is_kept(&*self.dynamics) {
                lent = true;
                continue;
            }
            let follows = if self.condensed { slopes.q } else { 1.0 };
            let c = self.correction.factor(&self.stencil, term.factor, term.piece);
            let (mut out, point, w) = (term.targets(&mut j.values), &self.point, &mut self.w);
            if term.both {
                self.dynamics.add_both_derivatives([c, c * follows], term.piece, slopes, point, w, &mut out);
                continue;
            }
            let c = if term.wrt == Unknown::V { c * follows } else { c };
            self.dynamics.add_derivative(c, term.piece, term.wrt, slopes, point, w, &mut out);
        }
        lent
    }
}

impl Residual for Step {
    fn residual(&mut self, r: &mut [f64]) {
        self.dynamics.realize(&self.point, &mut self.w);
        let eliminated = self.eliminate();
        self.correction.enter(site!(self));
        let (condensed, rows) = (self.condensed, std::mem::take(&mut self.formulation.rows));
        for row in rows.iter().filter(|row| !(condensed && row.pairs == Unknown::V)) {
            if self.unknowns.range(row.pairs).is_empty() {
                continue;
            }
            if self.set_balanced(row, eliminated, &mut r[self.unknowns.range(row.pairs)]) {
                continue;
            }
            let mut terms = [(0.0, Piece::Rate); MOST_TERMS];
            for (term, &(c, piece)) in terms.iter_mut().zip(&row.terms) {
                *term = (self.correction.factor(&self.stencil, c, piece), piece);
            }
            let out = &mut r[self.unknowns.range(row.pairs)];
            self.dynamics.set(&terms[..row.terms.len()], &self.point, &mut self.w, out);
        }
        self.formulation.rows = rows;
        self.correction.add_residual(site!(self), &mut r[self.unknowns.range(Unknown::V)]);
    }

    fn jacobian<'m>(&'m mut self, iteration: Iteration, loan: &mut MatrixLoan<'m>) {
        loan.clear(self.matrix.sets);
        let wants = loan.wants();
        if self.fill(iteration, wants, loan.matrix()) {
            loan.borrow_rows(&mut self.w.jacobian);
        }
    }

    fn correct(&mut self, dx: &[f64]) {
        let p = &mut self.point;
        let part = |u| &dx[self.unknowns.range(u)];
        let less = |x: &mut [f64], d: &[f64]| {
            let n = d.len(); // zero where they are no unknowns
            team::fill([&mut x[..n]], |range, [x]| subtract(&d[range], x));
        };
        less(&mut p.v, part(Unknown::V));
        less(&mut p.z, part(Unknown::Z));
        less(&mut p.mu, part(Unknown::Mu));
        let (dq, dlambda, law) = (part(Unknown::Q), part(Unknown::Lambda), &self.stencil);
        if law.velocities_follow {
            team::fill_both(
                ([&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot], |range, [q, qdot, v, vdot]| {
                    subtract(&dq[range.clone()], q);
                    law.follow(range, q, qdot, v, vdot);
                }),
                ([&mut p.lambda[..dlambda.len()]], |range, [lambda]| subtract(&dlambda[range], lambda)),
            );
            law.states(p);
        } else {
            less(&mut p.lambda, dlambda);
            self.dynamics.retract(-1.0, &mut p.q, dq);
            self.follow();
        }
        self.w.invalidate();
    }

    fn size(&self, dx: &[f64]) -> f64 {
        let part = |u| &dx[self.unknowns.range(u)];
        let w = &self.weights;
        if self.condensed {
            let slope = self.stencil.slopes.q;
            return root_mean_square_with_rates(&w.q, &w.v, slope, part(Unknown::Q), &w.z, part(Unknown::Z));
        }
        root_mean_square(&[
            (&w.q, part(Unknown::Q)),
            (&w.v, part(Unknown::V)),
            (&w.z, part(Unknown::Z)),
            (&w.lambda, part(Unknown::Lambda)),
            (&w.mu, part(Unknown::Mu)),
        ])
    }

    fn step_fraction(&self, dx: &[f64], size: f64) -> f64 {
        let reach = self.limits.reach;
        // no entry exceeds the root of the sum of all squares, at most two for every unknown
        if size * (2.0 * dx.len() as f64).sqrt() <= reach {
            return 1.0;
        }
        let (dq, w) = (&dx[self.unknowns.range(Unknown::Q)], &self.weights.q);
        let largest =
            |i: Range<usize>| dq[i.clone()].iter().zip(&w[i]).fold(0.0, |m: f64, (d, w)| m.max((d * w).abs()));
        reach / team::reduced(dq.len(), largest, f64::max).max(reach)
    }

    fn round_off(&self) -> f64 {
        self.limits.round_off
    }

    fn exact(&self) -> f64 {
        self.limits.exact
    }

    fn open_rates(&mut self) -> f64 {
        if self.limits.rates == 0.0 || self.open_rates.is_empty() {
            return 0.0;
        }
        let (dynamics, point, w) = (&*self.dynamics, &self.point, &mut self.w);
        dynamics.realize(point, w);
        self.open_rates.fill(0.0);
        dynamics.add(1.0, Piece::Velocity, point, w, &mut self.open_rates);
        let weighed = point.v.iter().zip(&self.weights.v).fold(0.0f64, |m, (v, w)| m.max((v * w).abs()));
        team::largest(&self.open_rates) / (self.limits.rates * weighed).max(f64::MIN_POSITIVE)
    }

    fn stagnation(&self) -> f64 {
        self.limits.stagnation
    }

    fn rounding(&self) -> f64 {
        self.limits.rounding
    }

    fn slope(&self) -> f64 {
        self.stencil.slopes.v
    }
}
