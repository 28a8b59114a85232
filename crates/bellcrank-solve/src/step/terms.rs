//! The derivatives a step's matrix is summed from, with their places.

use bellcrank_math::blocks::{BlockPattern, Class};
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Unknown};

/// One derivative ∂piece/∂unknown in a row of the table, with its targets.
pub(super) struct Term {
    pub(super) factor: f64,
    pub(super) piece: Piece,
    pub(super) wrt: Unknown,
    pub(super) offsets: Vec<u32>,
    /// Whether it sets its blocks, and whether they follow each other.
    pub(super) fresh: bool,
    pub(super) together: bool,
}

impl Term {
    /// Whether its blocks stand in the workspace as they are to stand in the matrix.
    pub(super) fn is_kept(&self, dynamics: &dyn Dynamics) -> bool {
        let gradients = (self.piece, self.wrt) == (Piece::Position, Unknown::Q) && self.factor == 1.0;
        self.fresh && self.together && gradients && dynamics.keeps_gradients()
    }

    /// Where its blocks go.
    pub(super) fn targets<'a>(&'a self, values: &'a mut [f64]) -> Targets<'a> {
        let mut targets = Targets::rising(values, &self.offsets);
        (targets.fresh, targets.together) = (self.fresh, self.together);
        targets
    }
}

/// A term, and the pairs of blocks it has.
pub(super) type Placed = (Term, Vec<(u32, u32)>);

/// Lets terms set blocks where one alone stands for all of a part of the matrix: rows of bodies without columns of multipliers, and
/// rows of multipliers. Others are added to it. Tells for which part it is so.
pub(super) fn set_first(dynamics: &dyn Dynamics, pattern: &BlockPattern, terms: &mut [Placed]) -> [bool; 2] {
    let is_multiplier = |b: u32| pattern.class(b as usize) == Class::Multiplier;
    let all = (0..pattern.blocks()).flat_map(|r| pattern.row(r).map(move |(c, _)| (r as u32, c as u32)));
    let within = |&(r, c): &(u32, u32), multipliers: bool| match multipliers {
        true => is_multiplier(r),
        false => !is_multiplier(r) && !is_multiplier(c),
    };
    let mut wanted = [0; 2];
    all.for_each(|pair| (0..2).filter(|&k| within(&pair, k == 1)).for_each(|k| wanted[k] += 1));
    [false, true].map(|multipliers| {
        let covers = |(term, pairs): &Placed| {
            let mut own: Vec<_> = pairs.iter().filter(|pair| within(pair, multipliers)).collect();
            own.sort_unstable();
            own.dedup();
            own.len() == pairs.len() && own.len() == wanted[multipliers as usize] && dynamics.sets(term.piece, term.wrt)
        };
        let first = terms.iter_mut().find(|term| covers(term));
        first.map(|term| term.0.fresh = true).is_some()
    })
}

/// Whether a derivative is that of reactions by the positions they act at.
pub(super) fn bends(piece: Piece, wrt: Unknown) -> bool {
    matches!(piece, Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu) && wrt == Unknown::Q
}
