//! Where the blocks of a derivative go, and what a solver may know of their memory.

use super::{Piece, Unknown};
use crate::parallel::MIN_BLOCKS;
use bellcrank_math::threads::team;
use std::ops::Range;

/// What solvers may know of how derivatives are computed, to spare memory traffic. By default nothing.
pub trait MatrixHints {
    /// Whether every block of a derivative is emitted exactly once, and can thus be stored without clearing its place
    /// first ([`Targets::fresh`]).
    fn sets(&self, piece: Piece, wrt: Unknown) -> bool {
        let _ = (piece, wrt);
        false
    }

    /// Whether [`Workspace::jacobian`](super::Workspace::jacobian) holds the blocks of ∂g/∂q in the order of emission.
    fn keeps_gradients(&self) -> bool {
        false
    }

    /// Whether rows of G may vanish on the way. In joint coordinates one does where it has no arm about any joint of its loop: a
    /// singular position, of which pivots relative to their rows tell nothing.
    fn rows_fade(&self) -> bool {
        false
    }
}

/// The destination of one derivative: the k-th emitted block goes to `offsets[k]`.
pub struct Targets<'a> {
    /// The values of a block matrix.
    pub values: &'a mut [f64],
    /// Offsets of the blocks, in the order of [`Dynamics::pattern`](super::Dynamics::pattern).
    pub offsets: &'a [u32],
    next: usize,
    /// The offset at which `values` begins.
    base: usize,
    rising: bool,
    /// Whether blocks are stored rather than added, for derivatives that are [set](MatrixHints::sets).
    pub fresh: bool,
    /// Whether the blocks follow each other without gaps.
    pub together: bool,
}

impl<'a> Targets<'a> {
    /// Targets for one call of [`Dynamics::add_derivative`](super::Dynamics::add_derivative).
    pub fn new(values: &'a mut [f64], offsets: &'a [u32]) -> Targets<'a> {
        Targets { values, offsets, next: 0, base: 0, rising: false, fresh: false, together: false }
    }

    /// Targets in which the blocks of each row lie before those of all later rows: threads can share them.
    pub fn rising(values: &'a mut [f64], offsets: &'a [u32]) -> Targets<'a> {
        Targets { rising: true, ..Targets::new(values, offsets) }
    }

    /// The targets of some of the blocks.
    pub(crate) fn part(&mut self, blocks: Range<usize>) -> Targets<'_> {
        let (offsets, base, rising, fresh) = (&self.offsets[blocks], self.base, self.rising, self.fresh);
        Targets { values: self.values, offsets, next: 0, base, rising, fresh, together: false }
    }

    /// Emits the blocks of every row, several rows at a time if there is a team of threads. `before(row)` is the number
    /// of blocks in all earlier rows.
    pub(crate) fn each_row(
        &mut self,
        rows: usize,
        before: impl Fn(usize) -> usize,
        work: impl Fn(usize, &mut Targets) + Sync,
    ) {
        if !self.rising {
            return (0..rows).for_each(|row| work(row, self));
        }
        let (offsets, first, fresh) = (self.offsets, self.next, self.fresh);
        let end = self.base + self.values.len();
        let begin = |row: usize| {
            // rows may be empty
            let mut row = row..rows;
            let blocks = row.find_map(|row| (before(row) < before(row + 1)).then(|| before(row)..before(row + 1)));
            let least = blocks.and_then(|blocks| offsets[first + blocks.start..first + blocks.end].iter().min());
            least.map_or(end, |offset| *offset as usize)
        };
        let (mut at, mut rest) = (self.base, &mut *self.values);
        team::divided(
            rows,
            MIN_BLOCKS,
            |range| {
                let to = begin(range.end);
                let values = team::cut(&mut rest, to - at);
                let base = std::mem::replace(&mut at, to);
                let next = first + before(range.start);
                (range, Targets { values, offsets, next, base, rising: false, fresh, together: false })
            },
            |(range, mut targets)| range.for_each(|row| work(row, &mut targets)),
        );
        self.next = first + before(rows);
    }

    /// Stores the next blocks, which lie [together](Self::together), from one list of values.
    pub(crate) fn set_together(&mut self, blocks: usize, given: &[f64]) {
        let Some(&first) = self.offsets.get(self.next) else { return };
        let first = first as usize - self.base;
        team::fill([&mut self.values[first..first + given.len()]], |range, [out]| out.copy_from_slice(&given[range]));
        self.next += blocks;
    }

    /// The present place, to return to when several terms contribute to the same blocks.
    pub fn mark(&self) -> usize {
        self.next
    }

    /// Returns to a marked place: the blocks since then are emitted again.
    pub fn back_to(&mut self, mark: usize) {
        self.next = mark;
    }

    /// The next block, `rows`×`columns` numbers by rows, to be added into.
    #[inline]
    pub fn block(&mut self, rows: usize, columns: usize) -> &mut [f64] {
        let at = self.offsets[self.next] as usize - self.base;
        self.next += 1;
        &mut self.values[at..at + rows * columns]
    }
}
