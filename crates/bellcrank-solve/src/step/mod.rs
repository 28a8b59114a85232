//! One implicit step as equations for Newton: formulation × equations of motion × stencil.

mod additive;
mod chain;
mod elimination;
mod terms;

pub use crate::unknowns::Unknowns;

use crate::formulation::{Formulation, MOST_TERMS};
use crate::newton::{Iteration, Residual};
use crate::stencil::Stencil;
use crate::unknowns::ORDER;
use crate::weights::{Weights, root_mean_square, root_mean_square_with_rates};
use additive::Old;
use bellcrank_math::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::team;
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Unknown, Workspace};
use chain::Chain;
use elimination::Elimination;
use std::ops::Range;
use std::sync::Arc;
use terms::{Term, bends, set_first};

/// What the matrix of a step leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Velocities are no unknowns: v = T q̇ follows q, where the formulation condenses.
    pub condensed: bool,
    /// (Gᵀλ)_q is left out, and that charts bend T q̇: bodies hang together by constraints alone, and the matrix is
    /// much sparser. The iteration contracts by about h ω.
    pub lean: bool,
}

/// x −= d.
fn subtract(d: &[f64], x: &mut [f64]) {
    x.iter_mut().zip(d).for_each(|(x, d)| *x -= d);
}

/// The equations of one implicit step.
pub struct Step {
    dynamics: Arc<dyn Dynamics>,
    formulation: Formulation,
    /// Where the unknowns are in a step's vector.
    pub unknowns: Unknowns,
    pattern: Arc<BlockPattern>,
    terms: Vec<Term>,
    /// Whether the first of them set all blocks of bodies, and those in the rows of multipliers.
    sets: [bool; 2],
    /// Whether v follows q; the derivatives by v, and what they are multiplied by where charts bend it.
    condensed: bool,
    by_velocity: Vec<Term>,
    chain: Option<Chain>,
    /// The present trial point.
    pub point: Point,
    /// The law for the rates.
    pub stencil: Stencil,
    /// What decides about convergence.
    pub weights: Weights,
    /// Corrections of this size are round-off.
    pub round_off: f64,
    /// No more than this, in units of the tolerance, is corrected at once: a step that turns a body about finds
    /// another solution.
    pub reach: f64,
    /// Corrections of this size may stop shrinking.
    pub stagnation: f64,
    /// A unit of rounding, where it is amplified close to singular positions.
    pub rounding: f64,
    /// What eliminates the multipliers, in iterations that do.
    elimination: Option<Elimination>,
    /// The point before the step, where a formulation needs it.
    old: Option<Old>,
    w: Workspace,
}

impl Step {
    /// The equations of a formulation at some point of the right sizes.
    pub fn new(dynamics: Arc<dyn Dynamics>, formulation: Formulation, point: Point) -> Step {
        Step::shaped(dynamics, formulation, point, Shape::default())
    }

    /// The same with a matrix of some shape.
    pub fn shaped(dynamics: Arc<dyn Dynamics>, formulation: Formulation, point: Point, shape: Shape) -> Step {
        let condensed = shape.condensed && formulation.condenses();
        let unknowns = Unknowns::of(&*dynamics, &formulation, condensed);
        let mut found = Vec::new();
        for row in &formulation.rows {
            for &(factor, piece) in &row.terms {
                for wrt in ORDER.into_iter().filter(|wrt| !(shape.lean && bends(piece, *wrt))) {
                    let pairs = dynamics.pattern(piece, wrt);
                    let column = if condensed && wrt == Unknown::V { Unknown::Q } else { wrt };
                    let blocks: Vec<(u32, u32)> = pairs
                        .iter()
                        .filter_map(|&(r, c)| Some((unknowns.block(row.pairs, r)?, unknowns.block(column, c)?)))
                        .collect();
                    // an unknown that the formulation does not have, has no derivative
                    if !pairs.is_empty() && blocks.len() == pairs.len() {
                        let (offsets, fresh, together) = (Vec::new(), false, false);
                        found.push((Term { factor, piece, wrt, offsets, fresh, together }, blocks));
                    }
                }
            }
        }
        let of_old = |row: Unknown, piece: Piece| -> Vec<(u32, u32)> {
            let pairs = dynamics.pattern(piece, Unknown::Mu);
            let blocks =
                pairs.iter().map(|&(r, c)| Some((unknowns.block(row, r)?, unknowns.block(Unknown::Lambda, c)?)));
            blocks.flatten().collect()
        };
        let (old_kinematics, old_balance) = match formulation.additive {
            Some(_) => (of_old(Unknown::V, Piece::MinvGtMu), of_old(Unknown::Q, Piece::GtMu)),
            None => (Vec::new(), Vec::new()),
        };
        // multipliers have none: nothing is copied and cleared for their sake
        let has_own = |b: &u32| unknowns.classes[*b as usize] != Class::Multiplier;
        let diagonal = (0..unknowns.sizes.len() as u32).filter(has_own).map(|b| (b, b));
        let diagonal = diagonal.chain(old_kinematics.iter().copied()).chain(old_balance.iter().copied());
        let entries = found.iter().flat_map(|f| f.1.iter().copied()).chain(diagonal).collect();
        let pattern = Arc::new(BlockPattern::new(unknowns.sizes.clone(), unknowns.classes.clone(), entries));
        for (term, blocks) in &mut found {
            term.offsets = blocks.iter().filter_map(|&(r, c)| pattern.offset(r as usize, c as usize)).collect();
            let size = |&(r, c): &(u32, u32)| (pattern.size(r as usize) * pattern.size(c as usize)) as u32;
            let follows = |(pair, at): (&(u32, u32), &[u32])| at[0] + size(pair) == at[1];
            term.together = blocks.iter().zip(term.offsets.windows(2)).all(follows);
        }
        let bent = condensed && !shape.lean && !dynamics.flat();
        let (mut by_velocity, mut terms): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(term, _)| bent && term.wrt == Unknown::V);
        let chain = bent.then(|| Chain::new(&unknowns, &pattern, &mut by_velocity));
        let sets = set_first(&*dynamics, &pattern, &mut terms);
        terms.sort_by_key(|(term, _)| !term.fresh);
        let [terms, by_velocity] = [terms, by_velocity].map(|list| list.into_iter().map(|(term, _)| term).collect());
        let w = dynamics.workspace();
        let layout = dynamics.layout();
        let offsets = |pairs: &[(u32, u32)]| -> Vec<u32> {
            pairs.iter().filter_map(|&(r, c)| pattern.offset(r as usize, c as usize)).collect()
        };
        let old = formulation.additive.map(|_| Old {
            point: point.clone(),
            w: dynamics.workspace(),
            pull: vec![0.0; layout.n()],
            kinematics: offsets(&old_kinematics),
            balance: offsets(&old_balance),
        });
        let stencil = Stencil {
            eta_q: vec![0.0; layout.n()],
            eta_v: vec![0.0; layout.n()],
            eta_z: vec![0.0; layout.nz()],
            velocities_follow: condensed && dynamics.flat(),
            ..Stencil::default()
        };
        let weights = Weights::default();
        Step {
            dynamics,
            formulation,
            unknowns,
            pattern,
            terms,
            sets,
            condensed,
            by_velocity,
            chain,
            point,
            stencil,
            weights,
            round_off: 0.0,
            reach: f64::INFINITY,
            stagnation: 0.0,
            rounding: 0.0,
            elimination: None,
            old,
            w,
        }
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
        &self.pattern
    }

    /// To be called when the point was changed from outside.
    pub fn touched(&mut self) {
        self.w.invalidate();
    }

    /// What is largest in a correction: where it hurts.
    pub fn worst(&self, dx: &[f64]) -> (Unknown, usize) {
        let mut worst = (0.0, 0);
        for block in 0..self.pattern.blocks() {
            if let (Unknown::Q | Unknown::V | Unknown::Z, _) = self.unknowns.owner(block) {
                let size = self.pattern.range(block).map(|i| dx[i].abs()).fold(0.0, f64::max);
                if size > worst.0 || size.is_nan() {
                    worst = (size, block);
                }
            }
        }
        self.unknowns.owner(worst.1)
    }

    /// Which unknown and which block of the layout a scalar row belongs to.
    pub fn owner(&self, row: usize) -> (Unknown, usize) {
        self.unknowns.owner(self.pattern.block_of(row))
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
}

impl Residual for Step {
    fn residual(&mut self, r: &mut [f64]) {
        self.dynamics.realize(&self.point, &mut self.w);
        self.eliminate();
        self.pull();
        for row in self.formulation.rows.iter().filter(|row| !(self.condensed && row.pairs == Unknown::V)) {
            let mut terms = [(0.0, Piece::Rate); MOST_TERMS];
            for (term, &(c, piece)) in terms.iter_mut().zip(&row.terms) {
                *term = (self.factor(c, piece), piece);
            }
            let out = &mut r[self.unknowns.range(row.pairs)];
            self.dynamics.set(&terms[..row.terms.len()], &self.point, &mut self.w, out);
        }
        if let (Some(old), Some(factors)) = (&self.old, self.formulation.additive) {
            let c = factors.old * self.stencil.h;
            r[self.unknowns.range(Unknown::V)].iter_mut().zip(&old.pull).for_each(|(r, p)| *r += c * p);
            self.stencil.rates(&mut self.point);
        }
    }

    fn jacobian(&mut self, iteration: Iteration, whole: bool, j: &mut BlockMatrix) {
        self.dynamics.realize(&self.point, &mut self.w);
        let mut elimination = self.elimination.take();
        let manifold = elimination.as_mut().filter(|e| e.on_manifold && e.factored);
        let moved = manifold.is_some();
        if let Some(e) = manifold {
            e.aside.clone_from(&self.point);
            if self.go_to_manifold(e).is_err() {
                self.point.clone_from(&e.aside);
                self.w.invalidate();
                self.dynamics.realize(&self.point, &mut self.w);
            }
        }
        self.pull();
        let slopes = self.stencil.slopes;
        let [first, last, _] = self.pattern.ends();
        let free = elimination.is_none() && self.old.is_none();
        let lends = j.borrows && free && self.w.jacobian.len() == last - first;
        let mut lent = false;
        for term in &self.terms {
            let above =
                matches!((term.piece, term.wrt), (Piece::GtLambda, Unknown::Lambda) | (Piece::GtMu, Unknown::Mu));
            if bends(term.piece, term.wrt) && iteration == Iteration::CoordinateModified || above && !whole {
                continue;
            }
            if lends && term.is_kept(&*self.dynamics) {
                lent = true;
                continue;
            }
            let follows = if self.condensed && term.wrt == Unknown::V { slopes.q } else { 1.0 };
            let (c, mut out) = (self.factor(term.factor, term.piece) * follows, term.targets(&mut j.values));
            self.dynamics.add_derivative(c, term.piece, term.wrt, slopes, &self.point, &mut self.w, &mut out);
        }
        if let Some(chain) = &mut self.chain {
            chain.values.fill(0.0);
            chain.rates.fill(0.0);
            let mut out = Targets::new(&mut chain.rates, &chain.rate_offsets);
            self.dynamics.add_derivative(1.0, Piece::Rate, Unknown::Q, slopes, &self.point, &mut self.w, &mut out);
            for t in &self.by_velocity {
                let mut out = Targets::new(&mut chain.values, &t.offsets);
                self.dynamics.add_derivative(t.factor, t.piece, t.wrt, slopes, &self.point, &mut self.w, &mut out);
            }
            chain.add(&mut j.values);
        }
        if let (Some(old), Some(factors)) = (&mut self.old, self.formulation.additive) {
            let (c, slopes) = (factors.old * self.stencil.h, self.stencil.slopes);
            let mut out = Targets::new(&mut j.values, &old.kinematics);
            self.dynamics.add_derivative(c, Piece::MinvGtMu, Unknown::Mu, slopes, &old.point, &mut old.w, &mut out);
            // M M_n⁻¹ = I + O(h) is left out: it is I where M is constant
            let mut out = Targets::new(&mut j.values, &old.balance);
            let share = factors.share;
            self.dynamics.add_derivative(share, Piece::GtMu, Unknown::Mu, slopes, &old.point, &mut old.w, &mut out);
            self.stencil.rates(&mut self.point);
        }
        if let Some(e) = elimination.as_ref().filter(|_| moved) {
            self.point.clone_from(&e.aside);
            self.w.invalidate();
        }
        self.elimination = elimination;
        if lent {
            j.borrow_last(&mut self.w.jacobian);
        }
    }

    fn take_back(&mut self, j: &mut BlockMatrix) {
        j.give_back(&mut self.w.jacobian);
    }

    fn sets(&self) -> [bool; 2] {
        self.sets
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

    fn part(&self, dx: &[f64], size: f64) -> f64 {
        // none is larger than the root of the sum of all squares, at most two for every unknown
        if size * (2.0 * dx.len() as f64).sqrt() <= self.reach {
            return 1.0;
        }
        let (dq, w) = (&dx[self.unknowns.range(Unknown::Q)], &self.weights.q);
        let largest =
            |i: Range<usize>| dq[i.clone()].iter().zip(&w[i]).fold(0.0, |m: f64, (d, w)| m.max((d * w).abs()));
        self.reach / team::reduced(dq.len(), largest, f64::max).max(self.reach)
    }

    fn round_off(&self) -> f64 {
        self.round_off
    }

    fn stagnation(&self) -> f64 {
        self.stagnation
    }

    fn rounding(&self) -> f64 {
        self.rounding
    }

    fn slope(&self) -> f64 {
        self.stencil.slopes.v
    }
}
