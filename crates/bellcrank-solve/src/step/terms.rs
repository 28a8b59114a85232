//! The derivatives a step's matrix is summed from, with their places.

use super::chain::Chain;
use crate::formulation::Formulation;
use crate::linear::plan::MatrixPlan;
use crate::newton::SetParts;
use crate::unknowns::{ORDER, Unknowns};
use bellcrank_math::linear::blocks::{BlockPattern, Class};
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Unknown};
use std::sync::Arc;

/// One derivative ∂piece/∂unknown in a row of the table, with its targets.
pub(super) struct Term {
    pub(super) factor: f64,
    pub(super) piece: Piece,
    pub(super) wrt: Unknown,
    pub(super) offsets: Vec<u32>,
    /// Whether it sets its blocks, instead of adding to them.
    pub(super) sets: bool,
    /// Whether its blocks follow each other in the matrix.
    pub(super) together: bool,
    /// Whether it is the derivative by velocities too, whose offsets follow those of the one by positions.
    pub(super) both: bool,
}

impl Term {
    /// Whether its blocks stand in the workspace as they are to stand in the matrix.
    pub(super) fn is_kept(&self, dynamics: &dyn Dynamics) -> bool {
        let gradients = (self.piece, self.wrt) == (Piece::Position, Unknown::Q) && self.factor == 1.0;
        self.sets && self.together && gradients && dynamics.keeps_gradients()
    }

    /// Whether it stands in columns of multipliers: Gᵀ.
    pub(super) fn is_above(&self) -> bool {
        matches!((self.piece, self.wrt), (Piece::GtLambda, Unknown::Lambda) | (Piece::GtMu, Unknown::Mu))
    }

    /// Where its blocks go.
    pub(super) fn targets<'a>(&'a self, values: &'a mut [f64]) -> Targets<'a> {
        let mut targets = Targets::rising(values, &self.offsets);
        (targets.fresh, targets.together) = (self.sets, self.together);
        targets
    }
}

/// A term, and the pairs of blocks it has.
pub(super) struct Placed {
    pub(super) term: Term,
    pub(super) blocks: Vec<(u32, u32)>,
}

/// The pattern of a step's matrix, and what it is summed from.
pub(super) struct StepMatrix {
    pub(super) pattern: Arc<BlockPattern>,
    pub(super) terms: Vec<Term>,
    /// The parts that the first terms set.
    pub(super) sets: SetParts,
    /// The derivatives by velocities that follow bent coordinates.
    pub(super) chain: Option<Chain>,
}

impl StepMatrix {
    /// The matrix of a formulation, with blocks beyond its table.
    pub(super) fn new(
        dynamics: &dyn Dynamics,
        formulation: &Formulation,
        unknowns: &Unknowns,
        plan: MatrixPlan,
        more: impl Iterator<Item = (u32, u32)>,
    ) -> StepMatrix {
        let mut found = find(dynamics, formulation, unknowns, plan);
        // multipliers have no diagonal: nothing is copied and cleared for their sake
        let has_own = |b: &u32| unknowns.classes[*b as usize] != Class::Multiplier;
        let diagonal = (0..unknowns.sizes.len() as u32).filter(has_own).map(|b| (b, b));
        let entries = found.iter().flat_map(|f| f.blocks.iter().copied()).chain(diagonal).chain(more).collect();
        let pattern = Arc::new(BlockPattern::new(unknowns.sizes.clone(), unknowns.classes.clone(), entries));
        for Placed { term, blocks } in &mut found {
            term.offsets = offsets(&pattern, blocks);
            let size = |&(r, c): &(u32, u32)| (pattern.size(r as usize) * pattern.size(c as usize)) as u32;
            let follows = |(pair, at): (&(u32, u32), &[u32])| at[0] + size(pair) == at[1];
            term.together = blocks.iter().zip(term.offsets.windows(2)).all(follows);
        }
        let bent = plan.condensed && !plan.lean && !dynamics.flat();
        let (by_velocity, mut terms): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|f| bent && f.term.wrt == Unknown::V);
        let chain = bent.then(|| Chain::new(unknowns, &pattern, by_velocity));
        let sets = set_first(dynamics, &pattern, &mut terms);
        terms.sort_by_key(|f| !f.term.sets);
        let mut terms: Vec<Term> = terms.into_iter().map(|f| f.term).collect();
        join(&mut terms);
        StepMatrix { pattern, terms, sets, chain }
    }
}

/// The offsets of some blocks in the values of a matrix.
pub(super) fn offsets(pattern: &BlockPattern, blocks: &[(u32, u32)]) -> Vec<u32> {
    blocks.iter().filter_map(|&(r, c)| pattern.offset(r as usize, c as usize)).collect()
}

/// The derivatives of all rows by all unknowns they have.
fn find(dynamics: &dyn Dynamics, formulation: &Formulation, unknowns: &Unknowns, plan: MatrixPlan) -> Vec<Placed> {
    let mut found = Vec::new();
    for row in &formulation.rows {
        for &(factor, piece) in &row.terms {
            for wrt in ORDER.into_iter().filter(|wrt| !(plan.lean && bends(piece, *wrt))) {
                let pairs = dynamics.pattern(piece, wrt);
                let column = if plan.condensed && wrt == Unknown::V { Unknown::Q } else { wrt };
                let block = |&(r, c): &(u32, u32)| Some((unknowns.block(row.pairs, r)?, unknowns.block(column, c)?));
                let blocks: Vec<(u32, u32)> = pairs.iter().filter_map(block).collect();
                // an unknown that the formulation does not have, has no derivative
                if !pairs.is_empty() && blocks.len() == pairs.len() {
                    let term =
                        Term { factor, piece, wrt, offsets: Vec::new(), sets: false, together: false, both: false };
                    found.push(Placed { term, blocks });
                }
            }
        }
    }
    found
}

/// Lets one term stand for the derivatives of forces by positions and by velocities.
fn join(terms: &mut Vec<Term>) {
    let find = |terms: &[Term], wrt| terms.iter().position(|t| t.piece == Piece::Force && t.wrt == wrt);
    if let (Some(q), Some(v)) = (find(terms, Unknown::Q), find(terms, Unknown::V)) {
        let by_v = std::mem::take(&mut terms[v].offsets);
        terms[q].offsets.extend(by_v);
        terms[q].both = true;
        terms.remove(v);
    }
}

/// Lets a term set its blocks, instead of adding to them, where it alone covers a part of the matrix: the rows of bodies without
/// columns of multipliers, or the rows of multipliers. Others are added to it.
fn set_first(dynamics: &dyn Dynamics, pattern: &BlockPattern, terms: &mut [Placed]) -> SetParts {
    let is_multiplier = |b: u32| pattern.class(b as usize) == Class::Multiplier;
    let all = (0..pattern.blocks()).flat_map(|r| pattern.row(r).map(move |(c, _)| (r as u32, c as u32)));
    let within = |&(r, c): &(u32, u32), multipliers: bool| match multipliers {
        true => is_multiplier(r),
        false => !is_multiplier(r) && !is_multiplier(c),
    };
    let mut wanted = [0; 2];
    all.for_each(|pair| (0..2).filter(|&k| within(&pair, k == 1)).for_each(|k| wanted[k] += 1));
    let [bodies, multipliers] = [false, true].map(|multipliers| {
        let covers = |Placed { term, blocks }: &Placed| {
            let mut own: Vec<_> = blocks.iter().filter(|pair| within(pair, multipliers)).collect();
            own.sort_unstable();
            own.dedup();
            let whole = own.len() == blocks.len() && own.len() == wanted[multipliers as usize];
            whole && dynamics.sets(term.piece, term.wrt)
        };
        let first = terms.iter_mut().find(|placed| covers(placed));
        first.map(|placed| placed.term.sets = true).is_some()
    });
    SetParts { bodies, multipliers }
}

/// Whether a derivative is that of reactions by the positions they act at.
pub(super) fn bends(piece: Piece, wrt: Unknown) -> bool {
    matches!(piece, Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu) && wrt == Unknown::Q
}
