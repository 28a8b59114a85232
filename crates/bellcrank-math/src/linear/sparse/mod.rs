//! General sparse LU: the fallback for large systems that block elimination cannot factor.

mod factors;

use super::{
    blocks::{BlockMatrix, BlockPattern},
    interface::{LinearError, LinearSolver},
    ordering,
};
use crate::{numbers::recip_of_power, tape::Tape};
use factors::Factors;
use std::sync::Arc;

/// Sparse LU of the scalar matrix with partial pivoting; rows and columns equilibrated, columns in the order of block
/// elimination.
///
/// It does not detect redundant constraints, and its numeric phases allocate.
#[derive(Default)]
pub struct SparseLu {
    lu: Factors,
    pattern: Option<Arc<BlockPattern>>,
    /// Rows that are left out: a one stands on their diagonal, and nothing else.
    left_out: Vec<usize>,
    /// Row, column and place in the block matrix of every entry, by columns; [`ONE`] for a one.
    entries: Vec<(u32, u32, u32)>,
    expected: usize,
    row_scale: Vec<f64>,
    column_scale: Vec<f64>,
    /// The scaled entries that were factored last.
    values: Vec<f64>,
}

/// In the place of an entry: a one on the diagonal of a row that is left out.
const ONE: u32 = u32::MAX;

impl SparseLu {
    /// A solver that has seen no pattern yet.
    pub fn new() -> SparseLu {
        SparseLu::default()
    }
}

impl LinearSolver for SparseLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        let n = pattern.dimension();
        self.pattern = Some(pattern.clone());
        self.entries.clear();
        let mut out = vec![false; n];
        self.left_out.iter().for_each(|&r| out[r] = true);
        self.entries.extend(self.left_out.iter().map(|&r| (r as u32, r as u32, ONE)));
        for i in 0..pattern.blocks() {
            for (j, offset) in pattern.row(i) {
                let mut from = offset as u32;
                for r in pattern.range(i) {
                    for c in pattern.range(j) {
                        if !out[r] && !out[c] {
                            self.entries.push((r as u32, c as u32, from));
                        }
                        from += 1;
                    }
                }
            }
        }
        self.entries.sort_unstable_by_key(|&(r, c, _)| (c, r));
        let mut starts = vec![0; n + 1];
        for &(_, c, _) in &self.entries {
            starts[c as usize + 1] += 1;
        }
        for c in 0..n {
            starts[c + 1] += starts[c];
        }
        let rows = self.entries.iter().map(|&(r, ..)| r).collect();
        let order = ordering::elimination_order(pattern, &ordering::graph(pattern), None);
        let order = order.iter().flat_map(|&i| pattern.range(i as usize)).map(|c| c as u32).collect();
        self.lu = Factors::new(starts, rows, order);
        self.expected = pattern.values();
        self.row_scale = vec![1.0; n];
        self.column_scale = vec![1.0; n];
        Ok(())
    }

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        let rows = rows.unwrap_or_default();
        if self.left_out != rows {
            self.left_out = rows.to_vec();
            if let Some(pattern) = self.pattern.clone() {
                // a pattern that was analyzed can be without some of its rows
                let _ = self.analyze(&pattern);
            }
        }
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        let value = |from: u32| if from == ONE { 1.0 } else { a.values[from as usize] };
        if self.pattern.is_none() || a.values.len() != self.expected {
            return Err(LinearError::Sizes { expected: self.expected, found: a.values.len() });
        }
        let mut largest = vec![0.0; self.row_scale.len()];
        for &(r, _, from) in &self.entries {
            let a = value(from);
            if !a.is_finite() {
                return Err(LinearError::NotFinite { row: r as usize });
            }
            largest[r as usize] = a.abs().max(largest[r as usize]);
        }
        self.row_scale.iter_mut().zip(&largest).for_each(|(s, &m)| *s = recip_of_power(m));
        largest.fill(0.0);
        for &(r, c, from) in &self.entries {
            let a = value(from) * self.row_scale[r as usize];
            largest[c as usize] = a.abs().max(largest[c as usize]);
        }
        self.column_scale.iter_mut().zip(&largest).for_each(|(s, &m)| *s = recip_of_power(m));
        let scaled =
            |&(r, c, from): &(u32, u32, u32)| value(from) * self.row_scale[r as usize] * self.column_scale[c as usize];
        let values: Vec<f64> = self.entries.iter().map(scaled).collect();
        if !self.lu.factor(&values) {
            return Err(LinearError::Singular { row: 0 });
        }
        self.values = values;
        Ok(())
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        if !factors {
            return;
        }
        tape.numbers(&mut self.values);
        tape.fixed(&mut self.row_scale);
        tape.fixed(&mut self.column_scale);
        if !tape.reads() || self.values.is_empty() {
            return;
        }
        // the same entries have the same factors
        let fits = self.values.len() == self.entries.len();
        if !fits || !self.lu.factor(&self.values) {
            tape.refuse("a matrix cannot be factored again");
        }
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        let n = self.row_scale.len();
        if b.len() != n || !self.lu.is_factored() {
            return Err(LinearError::Sizes { expected: n, found: b.len() });
        }
        self.left_out.iter().for_each(|&r| b[r] = 0.0);
        b.iter_mut().zip(&self.row_scale).for_each(|(b, s)| *b *= s);
        self.lu.solve(b);
        b.iter_mut().zip(&self.column_scale).for_each(|(b, s)| *b *= s);
        match b.iter().position(|x| !x.is_finite()) {
            Some(row) => Err(LinearError::Singular { row }),
            None => Ok(()),
        }
    }

    fn dropped(&self) -> &[usize] {
        &self.left_out
    }

    /// 1: pivots of scalars cannot be compared with those of blocks.
    fn smallest_kept_pivot(&self) -> f64 {
        1.0
    }

    fn reveals_rank(&self) -> bool {
        false
    }

    fn name(&self) -> &'static str {
        "sparse LU"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::samples::{Form, Sample};
    use crate::numbers::largest;
    use crate::random::Random;

    #[test]
    fn agrees_with_block_elimination() {
        for form in [Form::Index3, Form::Ggl] {
            let a = Sample::ladder(40).matrix(form, 100.0, &mut Random::new(2));
            let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).sin()).collect();
            let (mut x, mut y) = (b.clone(), b);
            let mut sparse = SparseLu::new();
            sparse.analyze(a.pattern()).unwrap();
            sparse.factor(&a).unwrap();
            sparse.solve(&mut x).unwrap();
            let mut lu = crate::linear::block_lu::BlockLu::new();
            lu.analyze(a.pattern()).unwrap();
            lu.factor(&a).unwrap();
            lu.solve(&mut y).unwrap();
            let scale = largest(&y);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-10 * scale));
        }
    }
}
