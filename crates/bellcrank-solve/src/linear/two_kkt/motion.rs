//! The system of accelerations: rows of the balance under the columns of v, and rows of ġ.

use super::blocks::{Body, Half, Owners, Slopes, local, without_values};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::deferred;
use bellcrank_math::linear::solver::{LinearError, LinearSolver};
use bellcrank_model::Unknown;
use std::ops::Range;
use std::sync::Arc;

/// No body.
const NONE: u32 = u32::MAX;

/// A block that goes from the whole matrix into that of the motion; one of q goes there by way of its body's S⁻¹.
#[derive(Clone, Copy)]
struct MotionCopy {
    from: u32,
    to: u32,
    rows: u16,
    columns: u16,
    body: u32,
}

/// The system of accelerations: its matrix (its values are there only while it is factored), and where its rows and columns
/// are in the whole one.
pub(super) struct Motion {
    pub(super) matrix: BlockMatrix,
    pub(super) linear: Box<dyn LinearSolver>,
    copies: Vec<MotionCopy>,
    pub(super) rows: Vec<Range<usize>>,
    pub(super) columns: Vec<Range<usize>>,
    pub(super) x: Vec<f64>,
}

impl Motion {
    /// Rows of the balance under the columns of v; rows of ġ, or of what a nonholonomic joint has.
    pub(super) fn new(of: &Owners) -> Motion {
        let pattern = of.pattern;
        let mut place = vec![u32::MAX; pattern.blocks()];
        let (mut sizes, mut classes, mut rows, mut columns) = (vec![], vec![], vec![], vec![]);
        for column in 0..pattern.blocks() {
            let (unknown, number) = of.owner(column);
            let row = match unknown {
                Unknown::V => of.find(Unknown::Q, number),
                Unknown::Z => Some(column),
                Unknown::Lambda => of.find(Unknown::Mu, number).or(Some(column)),
                _ => None,
            };
            if let Some(row) = row {
                place[column] = sizes.len() as u32;
                sizes.push(pattern.size(column));
                classes.push(if unknown == Unknown::Lambda { Class::Multiplier } else { Class::Body });
                rows.push(row);
                columns.push(column);
            }
        }
        let mut found = Vec::new();
        for (r, &row) in rows.iter().enumerate() {
            for (column, offset) in pattern.row(row) {
                let (target, body) = match of.owner(column) {
                    (Unknown::Mu, _) => continue,
                    (Unknown::Q, number) => match of.find(Unknown::V, number) {
                        Some(v) => (v, of.body_of[column]),
                        None => continue,
                    },
                    _ => (column, None),
                };
                found.push((r, place[target] as usize, offset, body));
            }
        }
        let diagonal = (0..sizes.len() as u32).map(|b| (b, b));
        let entries = found.iter().map(|f| (f.0 as u32, f.1 as u32)).chain(diagonal).collect();
        let own = Arc::new(BlockPattern::new(sizes, classes, entries));
        let copies = found.iter().filter_map(|&(r, c, from, body)| {
            let (rows, columns) = (own.size(r) as u16, own.size(c) as u16);
            Some(MotionCopy { from: from as u32, to: own.offset(r, c)?, rows, columns, body: body.unwrap_or(NONE) })
        });
        let mut copies: Vec<MotionCopy> = copies.collect();
        copies.shrink_to_fit();
        drop(found);
        Motion {
            copies,
            rows: rows.iter().map(|b| pattern.range(*b)).collect(),
            columns: columns.iter().map(|b| pattern.range(*b)).collect(),
            x: vec![0.0; own.dimension()],
            linear: deferred::choose(&own),
            matrix: without_values(own),
        }
    }

    /// Solves for its rows of `rest`, into its columns of `out`.
    pub(super) fn solve(&mut self, rest: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        let mut at = 0;
        for rows in &self.rows {
            self.x[at..at + rows.len()].copy_from_slice(&rest[rows.clone()]);
            at += rows.len();
        }
        self.linear.solve(&mut self.x)?;
        let mut at = 0;
        for columns in &self.columns {
            out[columns.clone()].copy_from_slice(&self.x[at..at + columns.len()]);
            at += columns.len();
        }
        Ok(())
    }

    /// Leaves rows out, which are given as columns of the whole.
    pub(super) fn leave_out(&mut self, rows: Option<&[usize]>) {
        let own = rows.map(|rows| local(rows, &self.columns, self.matrix.pattern()));
        self.linear.leave_out(own.as_deref());
    }

    /// Adds the rows that were dropped, as columns of the whole.
    pub(super) fn dropped(&self, out: &mut Vec<usize>) {
        let pattern = self.matrix.pattern();
        out.extend(self.linear.dropped().iter().map(|&row| {
            let block = pattern.block_of(row);
            self.columns[block].start + row - pattern.range(block).start
        }));
    }
}

impl Half for Motion {
    fn fill(&mut self, values: &[f64], bodies: &[Body], slopes: Slopes) -> usize {
        let mut flops = 0;
        for c in &self.copies {
            let entries = c.rows as usize * c.columns as usize;
            let (from, to) =
                (&values[c.from as usize..][..entries], &mut self.matrix.values[c.to as usize..][..entries]);
            match c.body {
                NONE => to.iter_mut().zip(from).for_each(|(t, f)| *t += f),
                body => flops += slopes.add_after(from, &bodies[body as usize], to),
            }
        }
        flops
    }

    fn parts(&mut self) -> (&mut BlockMatrix, &mut dyn LinearSolver) {
        (&mut self.matrix, &mut *self.linear)
    }
}
