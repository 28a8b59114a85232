//! Block-sparse matrices: a fixed pattern of small dense blocks in one array.

use crate::threads::team;
use std::{ops::Range, sync::Arc};

/// What the unknowns of a block are, which decides when the block may be eliminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Velocities of a body: their diagonal block is −I or a small regular block; eliminated first.
    Velocity,
    /// Coordinates of a body, or first-order states: regular once their velocities are eliminated.
    Body,
    /// Multipliers of a joint: their diagonal block is zero until all their neighbours but other multipliers are eliminated.
    /// Their pivots may vanish (redundant constraints).
    Multiplier,
}

/// The sparsity pattern of a square block-sparse matrix.
///
/// Block row i and block column i have the same size. The values of a block are dense, by rows and contiguous. The blocks
/// follow each other by rows, except for the columns of multipliers in the rows of other unknowns: these come after all the
/// rest, because symmetric elimination does not read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPattern {
    classes: Vec<Class>,
    /// Scalar offset of every block, and the dimension at the end.
    starts: Vec<u32>,
    /// Entries of block row i are `rows[i]..rows[i + 1]`.
    rows: Vec<u32>,
    columns: Vec<u32>,
    /// Offset of every entry's values.
    offsets: Vec<u32>,
    /// See [`BlockPattern::ends`].
    ends: [u32; 3],
}

impl BlockPattern {
    /// The pattern with the given block sizes, classes and (row, column) entries, which may come in any order and more than
    /// once.
    ///
    /// # Panics
    /// If there are not as many classes as sizes, or an entry names a block that does not exist.
    pub fn new(sizes: Vec<usize>, classes: Vec<Class>, mut entries: Vec<(u32, u32)>) -> BlockPattern {
        assert_eq!(sizes.len(), classes.len(), "one class per block");
        let n = sizes.len();
        let mut starts = Vec::with_capacity(n + 1);
        starts.push(0);
        for &size in &sizes {
            starts.push(starts[starts.len() - 1] + size as u32);
        }
        entries.sort_unstable();
        entries.dedup();
        let mut rows = vec![0; n + 1];
        let mut columns = Vec::with_capacity(entries.len());
        for &(row, column) in &entries {
            columns.push(column);
            rows[row as usize + 1] += 1;
        }
        let is_multiplier = |b: u32| classes[b as usize] == Class::Multiplier;
        let last_rows = n - classes.iter().rev().take_while(|class| **class == Class::Multiplier).count();
        let mut offsets = vec![0; entries.len()];
        let (mut offset, mut ends) = (0, [0; 3]);
        for above in [false, true] {
            for (k, &(row, column)) in entries.iter().enumerate() {
                if (!is_multiplier(row) && is_multiplier(column)) != above {
                    continue;
                }
                offsets[k] = offset;
                offset += (sizes[row as usize] * sizes[column as usize]) as u32;
                if (row as usize) < last_rows && !above {
                    ends[0] = offset;
                }
            }
            ends[1 + above as usize] = offset;
        }
        for i in 0..n {
            rows[i + 1] += rows[i];
        }
        BlockPattern { classes, starts, rows, columns, offsets, ends }
    }

    /// The pattern of the transposed matrices.
    pub fn transposed(&self) -> BlockPattern {
        let sizes = (0..self.blocks()).map(|b| self.size(b)).collect();
        let row = |i: usize| self.row(i).map(move |(j, _)| (j as u32, i as u32));
        BlockPattern::new(sizes, self.classes.clone(), (0..self.blocks()).flat_map(row).collect())
    }

    /// The number of block rows.
    pub fn blocks(&self) -> usize {
        self.classes.len()
    }

    /// The number of scalar rows.
    pub fn dimension(&self) -> usize {
        self.starts[self.blocks()] as usize
    }

    /// The number of stored values.
    pub fn values(&self) -> usize {
        self.ends[2] as usize
    }

    /// Offsets that divide the values in three: the rows before the trailing rows of multipliers, these trailing rows, and the
    /// columns of multipliers in the rows of other unknowns. Given are the three ends.
    pub fn ends(&self) -> [usize; 3] {
        self.ends.map(|end| end as usize)
    }

    /// The size of a block row.
    pub fn size(&self, block: usize) -> usize {
        (self.starts[block + 1] - self.starts[block]) as usize
    }

    /// The class of a block.
    pub fn class(&self, block: usize) -> Class {
        self.classes[block]
    }

    /// The scalar rows of a block.
    pub fn range(&self, block: usize) -> Range<usize> {
        self.starts[block] as usize..self.starts[block + 1] as usize
    }

    /// The block that a scalar row belongs to.
    pub fn block_of(&self, scalar: usize) -> usize {
        self.starts.partition_point(|&s| s as usize <= scalar) - 1
    }

    /// The columns of a block row, ascending, each with the offset of its values.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let entries = self.rows[row] as usize..self.rows[row + 1] as usize;
        entries.map(|e| (self.columns[e] as usize, self.offsets[e] as usize))
    }

    /// Where the values of a block begin.
    pub fn offset(&self, row: usize, column: usize) -> Option<u32> {
        let first = self.rows[row] as usize;
        let columns = &self.columns[first..self.rows[row + 1] as usize];
        columns.binary_search(&(column as u32)).ok().map(|e| self.offsets[first + e])
    }
}

/// A block-sparse matrix.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    pattern: Arc<BlockPattern>,
    /// The values of all blocks, at the offsets of the pattern.
    pub values: Vec<f64>,
    /// The values of the trailing rows of multipliers while they are borrowed; else empty.
    borrowed: Vec<f64>,
}

/// The values of a matrix, some of which may be borrowed.
#[derive(Clone, Copy)]
pub struct MatrixValues<'a> {
    /// All values, void where rows are borrowed.
    pub own: &'a [f64],
    /// The values from the trailing rows of multipliers on.
    last: &'a [f64],
    first_of_last: usize,
}

/// Cache lines of a block of 5 × 6 numbers.
#[cfg(target_arch = "x86_64")]
const LINES: usize = 4;

impl<'a> MatrixValues<'a> {
    /// The array that holds the value at `offset`, and its index there.
    #[inline(always)]
    pub fn from(self, offset: u32) -> (&'a [f64], usize) {
        match (offset as usize).checked_sub(self.first_of_last) {
            Some(place) => (self.last, place),
            None => (self.own, offset as usize),
        }
    }

    /// Prefetches the block at `offset` into the cache.
    #[inline(always)]
    pub fn prefetch(self, offset: u32) {
        let (values, place) = self.from(offset);
        #[cfg(target_arch = "x86_64")]
        for line in 0..LINES {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let at = values.as_ptr().wrapping_add(place + 8 * line);
            // SAFETY: a prefetch is a hint; its address may be invalid.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (values, place);
    }
}

impl BlockMatrix {
    /// The zero matrix.
    pub fn new(pattern: Arc<BlockPattern>) -> BlockMatrix {
        let values = vec![0.0; pattern.values()];
        BlockMatrix { pattern, values, borrowed: Vec::new() }
    }

    /// The pattern.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Sets every value to zero.
    pub fn clear(&mut self) {
        self.clear_parts([true; 3]);
    }

    /// Sets some of the three divisions of the values ([`BlockPattern::ends`]) to zero.
    pub fn clear_parts(&mut self, parts: [bool; 3]) {
        let mut begin = 0;
        for (end, clear) in self.pattern.ends.into_iter().zip(parts) {
            if clear {
                team::fill([&mut self.values[begin..end as usize]], |_, [values]| values.fill(0.0));
            }
            begin = end as usize;
        }
    }

    /// Takes the trailing rows of multipliers by swap from an array that holds them already, until [`Self::give_back`]; false if
    /// they do not fit. Until then, those of `values` are void, and only symmetric block elimination may read the matrix.
    pub fn borrow_last(&mut self, rows: &mut Vec<f64>) -> bool {
        let [first, end, _] = self.pattern.ends();
        let fits = rows.len() == end - first && self.borrowed.is_empty();
        if fits {
            std::mem::swap(&mut self.borrowed, rows);
        }
        fits
    }

    /// Gives borrowed rows back, if there are any.
    pub fn give_back(&mut self, rows: &mut Vec<f64>) {
        if !self.borrowed.is_empty() {
            std::mem::swap(&mut self.borrowed, rows);
        }
    }

    /// Whether rows are borrowed.
    pub fn has_borrowed(&self) -> bool {
        !self.borrowed.is_empty()
    }

    /// All values, borrowed or not.
    pub fn all_values(&self) -> MatrixValues<'_> {
        let first_of_last = self.pattern.ends[0] as usize;
        let last = if self.borrowed.is_empty() { &self.values[first_of_last..] } else { &self.borrowed[..] };
        MatrixValues { own: &self.values, last, first_of_last }
    }

    /// Copies the values of another matrix of the same pattern, its borrowed rows included.
    pub fn copy_values(&mut self, other: &BlockMatrix) {
        self.values.clone_from(&other.values);
        let first = self.pattern.ends[0] as usize;
        self.values[first..first + other.borrowed.len()].copy_from_slice(&other.borrowed);
    }

    /// Copies the rows of multipliers, transposed, to the columns of multipliers, for solvers that read them.
    pub fn mirror(&mut self) {
        let p = self.pattern.clone();
        for i in (0..p.blocks()).filter(|&i| p.class(i) == Class::Multiplier) {
            for (j, from) in p.row(i).filter(|(j, _)| p.class(*j) != Class::Multiplier) {
                let (m, n) = (p.size(i), p.size(j));
                let Some(to) = p.offset(j, i) else { continue };
                for k in 0..m * n {
                    self.values[to as usize + (k % n) * m + k / n] = self.values[from + k];
                }
            }
        }
    }

    fn place(&self, row: usize, column: usize) -> Option<Range<usize>> {
        let offset = self.pattern.offset(row, column)? as usize;
        Some(offset..offset + self.pattern.size(row) * self.pattern.size(column))
    }

    /// A block, by rows.
    pub fn block(&self, row: usize, column: usize) -> Option<&[f64]> {
        self.place(row, column).map(|place| &self.values[place])
    }

    /// A block to write to, by rows.
    pub fn block_mut(&mut self, row: usize, column: usize) -> Option<&mut [f64]> {
        self.place(row, column).map(|place| &mut self.values[place])
    }

    /// Replaces some scalar rows and columns by those of the identity; their diagonal blocks must be stored.
    pub fn take_out(&mut self, scalars: &[usize]) {
        let pattern = self.pattern.clone();
        let mut out = vec![false; pattern.dimension()];
        scalars.iter().for_each(|&i| out[i] = true);
        for i in 0..pattern.blocks() {
            for (j, offset) in pattern.row(i) {
                let mut values = self.values[offset..].iter_mut();
                for r in pattern.range(i) {
                    for (c, value) in pattern.range(j).zip(&mut values) {
                        if out[r] || out[c] {
                            *value = if r == c { 1.0 } else { 0.0 };
                        }
                    }
                }
            }
        }
    }

    /// How far the matrix is from symmetric: the largest |a_rc − a_cr|, relative to the largest entry of its block.
    pub fn skewness(&self) -> f64 {
        let p = &*self.pattern;
        let mut worst = 0.0f64;
        for i in 0..p.blocks() {
            for (j, offset) in p.row(i) {
                let (m, n) = (p.size(i), p.size(j));
                let Some(mirror) = p.offset(j, i) else { return f64::INFINITY };
                if j > i {
                    continue;
                }
                let (mut difference, mut largest) = (0.0f64, 0.0f64);
                for (k, a) in self.values[offset..offset + m * n].iter().enumerate() {
                    let b = self.values[mirror as usize + (k % n) * m + k / n];
                    difference = difference.max((a - b).abs());
                    largest = largest.max(a.abs()).max(b.abs());
                }
                worst = worst.max(if difference > 0.0 { difference / largest } else { 0.0 });
            }
        }
        worst
    }

    /// y += A x.
    pub fn add_times(&self, x: &[f64], y: &mut [f64]) {
        self.add_product(x, y, |a, x| a * x);
    }

    /// y += |A| |x|, to which the rounding errors of A x are relative.
    pub fn add_absolute_times(&self, x: &[f64], y: &mut [f64]) {
        self.add_product(x, y, |a, x| (a * x).abs());
    }

    fn add_product(&self, x: &[f64], y: &mut [f64], product: impl Fn(f64, f64) -> f64) {
        let p = &*self.pattern;
        for i in 0..p.blocks() {
            let y = &mut y[p.range(i)];
            for (j, offset) in p.row(i) {
                let x = &x[p.range(j)];
                for (y, a) in y.iter_mut().zip(self.values[offset..].chunks_exact(x.len().max(1))) {
                    *y += a.iter().zip(x).map(|(&a, &x)| product(a, x)).sum::<f64>();
                }
            }
        }
    }

    /// y += Aᵀ x.
    pub fn add_transposed_times(&self, x: &[f64], y: &mut [f64]) {
        let p = &*self.pattern;
        for i in 0..p.blocks() {
            for (j, offset) in p.row(i) {
                let y = &mut y[p.range(j)];
                for (x, a) in x[p.range(i)].iter().zip(self.values[offset..].chunks_exact(y.len().max(1))) {
                    y.iter_mut().zip(a).for_each(|(y, a)| *y += a * x);
                }
            }
        }
    }

    /// Becomes the transpose of a matrix, of whose pattern its own is the transpose.
    pub fn transpose(&mut self, of: &BlockMatrix) {
        let from = of.pattern.clone();
        for i in 0..from.blocks() {
            for (j, offset) in from.row(i) {
                let (m, n) = (from.size(i), from.size(j));
                let Some(to) = self.block_mut(j, i) else { continue };
                for (k, a) in of.values[offset..offset + m * n].iter().enumerate() {
                    to[(k % n) * m + k / n] = *a;
                }
            }
        }
    }

    /// The whole matrix, by rows; for small systems and tests.
    pub fn to_dense(&self) -> Vec<f64> {
        let p = &*self.pattern;
        let n = p.dimension();
        let mut dense = vec![0.0; n * n];
        for i in 0..p.blocks() {
            for (j, offset) in p.row(i) {
                let (rows, columns) = (p.range(i), p.range(j));
                for (k, r) in rows.enumerate() {
                    let from = offset + k * columns.len();
                    dense[r * n + columns.start..r * n + columns.end]
                        .copy_from_slice(&self.values[from..from + columns.len()]);
                }
            }
        }
        dense
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_above_is_restored_by_its_mirror_image() {
        use Class::*;
        let entries =
            vec![(0, 0), (1, 1), (2, 2), (3, 3), (0, 2), (2, 0), (1, 2), (2, 1), (1, 3), (3, 1), (0, 1), (1, 0)];
        let pattern = Arc::new(BlockPattern::new(vec![3, 2, 2, 1], vec![Body, Body, Multiplier, Multiplier], entries));
        let n = pattern.dimension();
        let mut a = BlockMatrix::new(pattern.clone());
        a.values.iter_mut().enumerate().for_each(|(k, x)| *x = (k + 1) as f64);
        let before = a.to_dense();
        a.clear_parts([true, true, false]);
        let cleared = a.to_dense();
        for (k, x) in cleared.iter().enumerate() {
            let above = k / n < 5 && k % n >= 5;
            assert_eq!(*x, if above { before[k] } else { 0.0 });
        }
        a.values.iter_mut().enumerate().filter(|(_, x)| **x == 0.0).for_each(|(k, x)| *x = -(k as f64));
        let filled = a.to_dense();
        a.clear_parts([true, false, false]);
        for (k, x) in a.to_dense().iter().enumerate() {
            assert_eq!(*x, if k / n < 5 && k % n < 5 { 0.0 } else { filled[k] });
        }
        a.mirror();
        let whole = a.to_dense();
        assert!((0..5).all(|r| (5..n).all(|c| whole[r * n + c] == whole[c * n + r])));
    }

    #[test]
    fn product_is_the_dense_product() {
        let pattern = BlockPattern::new(
            vec![2, 1, 3],
            vec![Class::Body, Class::Multiplier, Class::Body],
            vec![(2, 0), (0, 0), (0, 2), (1, 2), (2, 1), (0, 2)],
        );
        assert_eq!((pattern.dimension(), pattern.values(), pattern.range(2)), (6, 4 + 6 + 3 + 6 + 3, 3..6));
        assert_eq!((pattern.offset(0, 2), pattern.offset(0, 1), pattern.offset(2, 1)), (Some(4), None, Some(19)));
        assert_eq!((pattern.block_of(1), pattern.block_of(2), pattern.block_of(5)), (0, 1, 2));
        let mut a = BlockMatrix::new(Arc::new(pattern));
        for (i, v) in a.values.iter_mut().enumerate() {
            *v = (i * i % 17) as f64 - 5.0;
        }
        assert_eq!(a.block(1, 2), Some(&a.values[10..13]));
        let dense = a.to_dense();
        let x = [1.0, -2.0, 3.0, 0.5, 4.0, -1.0];
        let mut y = [1.0; 6];
        a.add_times(&x, &mut y);
        assert!(a.skewness() > 0.0 && a.skewness() <= 2.0);
        for i in 0..6 {
            assert_eq!(y[i], 1.0 + (0..6).map(|j| dense[i * 6 + j] * x[j]).sum::<f64>());
        }
        let mut t = BlockMatrix::new(Arc::new(a.pattern().transposed()));
        t.transpose(&a);
        let (mut by_transpose, mut by_rows) = ([1.0; 6], [1.0; 6]);
        t.add_times(&x, &mut by_transpose);
        a.add_transposed_times(&x, &mut by_rows);
        assert_eq!(by_transpose, by_rows);
        assert!((0..36).all(|k| t.to_dense()[k] == dense[k % 6 * 6 + k / 6]));
    }
}
