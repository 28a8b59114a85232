//! Bodies and blocks of a step's matrix, as the two systems see them.

use crate::unknowns::Unknowns;
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::linear::solver::{LinearError, LinearSolver};
use bellcrank_model::Unknown;
use std::ops::Range;
use std::sync::Arc;

/// A body: where its v and q begin, its block S among the values, and S⁻¹ among the inverses.
pub(super) struct Body {
    pub(super) v: usize,
    pub(super) q: usize,
    pub(super) size: usize,
    pub(super) block: usize,
    pub(super) inverse: usize,
}

/// A block between rows and columns.
pub(super) struct Block {
    pub(super) rows: Range<u32>,
    pub(super) columns: Range<u32>,
    pub(super) offset: u32,
}

impl Block {
    pub(super) fn new(rows: Range<usize>, columns: Range<usize>, offset: usize) -> Block {
        Block { rows: narrow(rows), columns: narrow(columns), offset: offset as u32 }
    }

    pub(super) fn entries(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// There are tens of these lists for every body of a large machine: they count in four bytes, as patterns do.
pub(super) fn narrow(range: Range<usize>) -> Range<u32> {
    range.start as u32..range.end as u32
}

pub(super) fn wide(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// The blocks of a step's matrix by what they belong to.
pub(super) struct Owners<'a> {
    pub(super) pattern: &'a BlockPattern,
    pub(super) unknowns: &'a Unknowns,
    /// The body of every block of v and q.
    pub(super) body_of: Vec<Option<u32>>,
}

impl Owners<'_> {
    /// The unknown and the block of the layout.
    pub(super) fn owner(&self, block: usize) -> (Unknown, usize) {
        self.unknowns.owner(block)
    }

    /// The block of an unknown.
    pub(super) fn find(&self, unknown: Unknown, number: usize) -> Option<usize> {
        self.unknowns.block(unknown, number as u32).map(|b| b as usize)
    }
}

/// Factors a matrix in one of two ways.
pub(super) type Factor = fn(&mut dyn LinearSolver, &BlockMatrix) -> Result<(), LinearError>;

/// One of the two systems.
pub(super) trait Half {
    /// Fills the matrix, which comes cleared, and what it is made from; returns the flops.
    fn fill(&mut self, values: &[f64], bodies: &[Body], slopes: Slopes) -> usize;

    /// Its matrix, and what factors it.
    fn parts(&mut self) -> (&mut BlockMatrix, &mut dyn LinearSolver);

    /// Fills the matrix in a buffer and factors it; returns the flops of the first.
    fn factor(
        &mut self,
        buffer: &mut Vec<f64>,
        values: &[f64],
        bodies: &[Body],
        slopes: Slopes,
        by: Factor,
    ) -> Result<usize, LinearError> {
        lend(buffer, self.parts().0);
        let flops = self.fill(values, bodies, slopes);
        let (matrix, linear) = self.parts();
        let done = by(linear, matrix);
        std::mem::swap(buffer, &mut matrix.values);
        done.map(|()| flops)
    }
}

/// Rows of the whole, ascending, as rows of a system whose blocks stand at these places of it.
pub(super) fn local(rows: &[usize], places: &[Range<usize>], own: &BlockPattern) -> Vec<usize> {
    let mut found = Vec::new();
    for (block, place) in places.iter().enumerate().filter(|_| !rows.is_empty()) {
        let inside = &rows[rows.partition_point(|r| *r < place.start)..rows.partition_point(|r| *r < place.end)];
        found.extend(inside.iter().map(|r| own.range(block).start + r - place.start));
    }
    found.sort_unstable();
    found
}

/// A matrix that has its values only while it is factored.
pub(super) fn without_values(pattern: Arc<BlockPattern>) -> BlockMatrix {
    let mut matrix = BlockMatrix::new(pattern);
    matrix.values = Vec::new();
    matrix
}

/// Gives a matrix a buffer for its values, cleared.
pub(super) fn lend(buffer: &mut Vec<f64>, matrix: &mut BlockMatrix) {
    std::mem::swap(buffer, &mut matrix.values);
    matrix.values.clear();
    matrix.values.resize(matrix.pattern().values(), 0.0);
}

/// S⁻¹: a number, or a block for every body.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    pub(super) plain: Option<f64>,
    pub(super) inverses: &'a [f64],
}

impl Slopes<'_> {
    /// out += A S⁻¹ for a block A with the columns of a body; returns the flops.
    pub(super) fn add_after(&self, a: &[f64], body: &Body, out: &mut [f64]) -> usize {
        let n = body.size;
        let Some(inverse) = self.plain else {
            let inverse = &self.inverses[body.inverse..][..n * n];
            for (a, out) in a.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                for (a, inverse) in a.iter().zip(inverse.chunks_exact(n)) {
                    out.iter_mut().zip(inverse).for_each(|(o, i)| *o += a * i);
                }
            }
            return 2 * n * a.len();
        };
        out.iter_mut().zip(a).for_each(|(o, a)| *o += inverse * a);
        2 * a.len()
    }

    /// out = S⁻¹ A for a block A with the rows of a body; returns the flops.
    pub(super) fn set_before(&self, a: &[f64], body: &Body, out: &mut [f64]) -> usize {
        let (n, columns) = (body.size, a.len() / body.size);
        let Some(inverse) = self.plain else {
            out.fill(0.0);
            let inverse = self.inverses[body.inverse..][..n * n].chunks_exact(n);
            for (out, inverse) in out.chunks_exact_mut(columns).zip(inverse) {
                for (i, a) in inverse.iter().zip(a.chunks_exact(columns)) {
                    out.iter_mut().zip(a).for_each(|(o, a)| *o += i * a);
                }
            }
            return 2 * n * a.len();
        };
        out.iter_mut().zip(a).for_each(|(o, a)| *o = inverse * a);
        a.len()
    }
}

/// A ← A⁻¹ by Gauss and Jordan: S is close to a multiple of the unit matrix. False where it is singular.
pub(super) fn invert(a: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let pivot = 1.0 / a[k * n + k];
        if !pivot.is_finite() {
            return false;
        }
        a[k * n + k] = 1.0;
        a[k * n..(k + 1) * n].iter_mut().for_each(|x| *x *= pivot);
        for i in (0..n).filter(|i| *i != k) {
            let factor = std::mem::take(&mut a[i * n + k]);
            for j in 0..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    true
}

/// rest −= B δq over some blocks of the whole matrix; `dq` are all unknowns.
pub(super) fn subtract(blocks: &[Block], values: &[f64], dq: &[f64], rest: &mut [f64]) {
    for b in blocks {
        let x = &dq[wide(&b.columns)];
        let block = &values[b.offset as usize..][..b.entries()];
        for (r, row) in rest[wide(&b.rows)].iter_mut().zip(block.chunks_exact(x.len())) {
            *r -= row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        }
    }
}
