//! The matrix of a stabilized step, solved as two systems of half the size.
//!
//! A step of `si2` has the unknowns v, q, z, λ, μ, and rows that hold them only loosely together:
//!
//! ```text
//!     S δq − δv + W δμ = r_v        S ≈ s I,  W = M⁻¹Gᵀ
//!     B_v δv + B_q δq + Gᵀδλ = r_q
//!     G δq = r_λ
//!     G δv + (G v)_q δq = r_μ
//! ```
//!
//! Without δμ in the first row δq = (δv + r_v)/s, and what is left is one system for accelerations and one that
//! puts the positions onto g = 0 [Negrut, Jay & Khude 2009, eq. 13]:
//!
//! ```text
//!     [ B_v + B_q/s       Gᵀ ] [ δv ]        [ S  W ] [ δq' ]
//!     [ G + (G v)_q/s     0  ] [ δλ ] ,      [ G  0 ] [ δμ  ]
//! ```
//!
//! What δq' does to the first of them is a part O(h) of itself: with new factors the solution is improved once, which
//! makes velocities exact. Factors that are kept are those of another point: what they leave is larger than what one
//! pass leaves, and the next iteration has both. Where that is not enough, Newton's iteration contracts slowly and
//! takes the whole matrix ([`crate::newton`]).

use crate::step::Unknowns;
use bellcrank_math::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::solver::{self, Flops, LinearError, LinearSolver};
use bellcrank_model::Unknown;
use std::ops::Range;
use std::sync::Arc;

/// How often both systems are solved for the first right-hand side after a factorization, and for all others. Two for
/// all cost up to 3.4 steps of `index3` where matrices are kept, and save no iteration.
const PASSES: [usize; 2] = [2, 1];

/// A multiplier's pivot below this tells of a singular position close by: the two systems are not for that.
const CLOSE: f64 = 1e-4;

/// A block of one matrix that goes into another.
#[derive(Clone, Copy)]
struct Copy {
    from: u32,
    to: u32,
    entries: u32,
    /// Whether it stands for a change of q that follows a change of v.
    follows: bool,
}

/// One of the two systems: its matrix, and where its rows and columns are in the whole one.
struct Part {
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    copies: Vec<Copy>,
    rows: Vec<Range<usize>>,
    columns: Vec<Range<usize>>,
    x: Vec<f64>,
}

/// A block B_q: a row block, a body's q, and where its values are.
struct ByQ {
    rows: Range<usize>,
    columns: Range<usize>,
    offset: usize,
}

/// The two systems of a stabilized step.
pub struct TwoKkt {
    expected: usize,
    motion: Part,
    position: Part,
    /// Blocks in the columns of q: in the rows of v and of g, and in all others.
    held: Vec<ByQ>,
    others: Vec<ByQ>,
    /// The values of those blocks, of the last matrix.
    values: Vec<f64>,
    v: Range<usize>,
    q: Range<usize>,
    slope: f64,
    diagonal: Vec<usize>,
    rest: Vec<f64>,
    sum: Vec<f64>,
    step: Vec<f64>,
    dropped: Vec<usize>,
    /// Whether the factors have not been used yet.
    fresh: bool,
    /// Of a factorization and of the last solution.
    flops: Flops,
    /// Of one pass, and of the start of a solution.
    pass: usize,
    opening: usize,
}

impl TwoKkt {
    /// For the unknowns of a step of `si2`, with the pattern of its matrix.
    pub fn new(pattern: &BlockPattern, unknowns: &Unknowns) -> TwoKkt {
        let owner = |block: usize| unknowns.owner(block);
        let find = |unknown: Unknown, number: usize| (0..pattern.blocks()).find(|b| owner(*b) == (unknown, number));
        let mut place = vec![u32::MAX; pattern.blocks()];
        // accelerations: rows of the balance under the columns of v; rows of ġ, or of what a nonholonomic joint has
        let (mut sizes, mut classes, mut rows, mut columns) = (vec![], vec![], vec![], vec![]);
        let (mut p_sizes, mut p_classes, mut p_rows, mut p_columns) = (vec![], vec![], vec![], vec![]);
        for column in 0..pattern.blocks() {
            let (unknown, number) = owner(column);
            let row = match unknown {
                Unknown::V => find(Unknown::Q, number),
                Unknown::Z => Some(column),
                Unknown::Lambda => find(Unknown::Mu, number).or(Some(column)),
                _ => None,
            };
            if let Some(row) = row {
                place[column] = sizes.len() as u32;
                sizes.push(pattern.size(column));
                classes.push(if unknown == Unknown::Lambda { Class::Multiplier } else { Class::Body });
                rows.push(row);
                columns.push(column);
            }
            let row = match unknown {
                Unknown::Q => find(Unknown::V, number),
                Unknown::Mu => find(Unknown::Lambda, number),
                _ => None,
            };
            if let Some(row) = row {
                place[column] = p_sizes.len() as u32;
                p_sizes.push(pattern.size(column));
                p_classes.push(if unknown == Unknown::Mu { Class::Multiplier } else { Class::Body });
                p_rows.push(row);
                p_columns.push(column);
            }
        }
        // blocks by (row, column) of the part, from the entry of the whole; a block of q follows v in the first part
        let collect = |rows: &[usize], of: &dyn Fn(usize) -> Option<(usize, bool)>| -> Vec<(u32, u32, usize, bool)> {
            let mut found = Vec::new();
            for (r, &row) in rows.iter().enumerate() {
                for (column, offset) in pattern.row(row) {
                    if let Some((target, follows)) = of(column) {
                        found.push((r as u32, place[target], offset, follows));
                    }
                }
            }
            found
        };
        let of_motion = |column: usize| match owner(column) {
            (Unknown::Q, number) => find(Unknown::V, number).map(|v| (v, true)),
            (Unknown::Mu, _) => None,
            _ => Some((column, false)),
        };
        let of_position = |column: usize| match owner(column) {
            (Unknown::Q | Unknown::Mu, _) => Some((column, false)),
            _ => None,
        };
        let motion = collect(&rows, &of_motion);
        let position: Vec<_> = collect(&p_rows, &of_position)
            .into_iter()
            // what μ bends is left out: it is as small as μ
            .filter(|(r, c, ..)| r == c || p_classes[*r as usize] != p_classes[*c as usize])
            .collect();
        let part = |sizes: Vec<usize>,
                    classes: Vec<Class>,
                    found: Vec<(u32, u32, usize, bool)>,
                    rows: Vec<usize>,
                    columns: Vec<usize>| {
            let diagonal = (0..sizes.len() as u32).map(|b| (b, b));
            let entries = found.iter().map(|f| (f.0, f.1)).chain(diagonal).collect();
            let own = Arc::new(BlockPattern::new(sizes, classes, entries));
            let copies = found.iter().filter_map(|&(r, c, from, follows)| {
                let entries = (own.size(r as usize) * own.size(c as usize)) as u32;
                Some(Copy { from: from as u32, to: own.offset(r as usize, c as usize)?, entries, follows })
            });
            Part {
                copies: copies.collect(),
                rows: rows.iter().map(|b| pattern.range(*b)).collect(),
                columns: columns.iter().map(|b| pattern.range(*b)).collect(),
                x: vec![0.0; own.dimension()],
                linear: solver::choose(&own),
                matrix: BlockMatrix::new(own),
            }
        };
        let (mut held, mut others, mut diagonal) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..pattern.blocks() {
            for (column, offset) in pattern.row(row).filter(|(c, _)| owner(*c).0 == Unknown::Q) {
                let block = ByQ { rows: pattern.range(row), columns: pattern.range(column), offset };
                match owner(row) {
                    (Unknown::V, number) => {
                        let own = owner(column).1 == number;
                        if own {
                            diagonal.extend((0..pattern.size(row)).map(|i| offset + i * (pattern.size(row) + 1)));
                            held.push(block);
                        }
                    }
                    (Unknown::Lambda, number) if find(Unknown::Mu, number).is_some() => held.push(block),
                    _ => others.push(block),
                }
            }
        }
        let n = pattern.dimension();
        let motion = part(sizes, classes, motion, rows, columns);
        let position = part(p_sizes, p_classes, position, p_rows, p_columns);
        let (a, b) = (motion.linear.flops(), position.linear.flops());
        let count = |blocks: &[ByQ]| blocks.iter().map(|b| 2 * b.rows.len() * b.columns.len()).sum::<usize>();
        let copies: usize = motion.copies.iter().map(|c| c.entries as usize).sum();
        let flops = Flops { factor: a.factor + b.factor + 2 * copies, solve: 0 };
        TwoKkt {
            expected: pattern.values(),
            motion,
            position,
            flops,
            pass: a.solve + b.solve + count(&held) + count(&others),
            opening: count(&held),
            fresh: false,
            held,
            others,
            values: vec![0.0; pattern.values()],
            v: unknowns.range(Unknown::V),
            q: unknowns.range(Unknown::Q),
            slope: 1.0,
            diagonal,
            rest: vec![0.0; n],
            sum: vec![0.0; n],
            step: vec![0.0; n],
            dropped: Vec::new(),
        }
    }

    fn factor_by(
        &mut self,
        a: &BlockMatrix,
        by: fn(&mut dyn LinearSolver, &BlockMatrix) -> Result<(), LinearError>,
    ) -> Result<(), LinearError> {
        if a.values.len() != self.expected {
            return Err(LinearError::Sizes { expected: self.expected, found: a.values.len() });
        }
        self.values.copy_from_slice(&a.values);
        self.fresh = true;
        let diagonal: f64 = self.diagonal.iter().map(|i| a.values[*i]).sum();
        self.slope = diagonal / self.diagonal.len().max(1) as f64;
        self.motion.factor(&a.values, self.slope, by)?;
        self.position.factor(&a.values, self.slope, by)?;
        self.dropped.clear();
        for part in [&self.motion, &self.position] {
            for &row in part.linear.dropped() {
                let pattern = part.matrix.pattern();
                let block = pattern.block_of(row);
                self.dropped.push(part.columns[block].start + row - pattern.range(block).start);
            }
        }
        self.dropped.sort_unstable();
        // there the whole matrix keeps its digits longer
        match self.smallest_multiplier_pivot() < CLOSE {
            true => Err(LinearError::Singular { row: self.dropped.first().copied().unwrap_or(self.v.end) }),
            false => Ok(()),
        }
    }
}

impl Part {
    fn factor(
        &mut self,
        values: &[f64],
        slope: f64,
        by: fn(&mut dyn LinearSolver, &BlockMatrix) -> Result<(), LinearError>,
    ) -> Result<(), LinearError> {
        self.matrix.clear();
        for c in &self.copies {
            let from = &values[c.from as usize..][..c.entries as usize];
            let to = &mut self.matrix.values[c.to as usize..][..c.entries as usize];
            let factor = if c.follows { 1.0 / slope } else { 1.0 };
            to.iter_mut().zip(from).for_each(|(t, f)| *t += factor * f);
        }
        by(&mut *self.linear, &self.matrix)
    }

    /// Solves for its rows of `rest`, into its columns of `out`.
    fn solve(&mut self, rest: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
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
}

/// rest −= B δq over some blocks.
fn subtract(blocks: &[ByQ], values: &[f64], dq: &[f64], rest: &mut [f64]) {
    for b in blocks {
        let x = &dq[b.columns.clone()];
        let block = values[b.offset..].chunks_exact(x.len());
        for (r, row) in rest[b.rows.clone()].iter_mut().zip(block) {
            *r -= row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        }
    }
}

impl LinearSolver for TwoKkt {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        match pattern.values() == self.expected {
            true => Ok(()),
            false => Err(LinearError::Sizes { expected: self.expected, found: pattern.values() }),
        }
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor_by(a, |linear, a| linear.factor(a))
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor_by(a, |linear, a| linear.refactor(a))
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        if b.len() != self.rest.len() {
            return Err(LinearError::Sizes { expected: self.rest.len(), found: b.len() });
        }
        let (v, q) = (self.v.clone(), self.q.clone());
        self.rest.copy_from_slice(b);
        self.sum.fill(0.0);
        let passes = PASSES[!std::mem::take(&mut self.fresh) as usize];
        self.flops.solve = self.opening + passes * self.pass;
        for pass in 0..passes {
            // δq = r_v/s
            self.step.fill(0.0);
            let mut any = false;
            for i in 0..v.len() {
                let follows = self.rest[v.start + i] / self.slope;
                any |= follows != 0.0;
                self.step[q.start + i] = follows;
                self.sum[q.start + i] += follows;
            }
            if any && pass == 0 {
                subtract(&self.held, &self.values, &self.step, &mut self.rest);
                subtract(&self.others, &self.values, &self.step, &mut self.rest);
            }
            self.step.fill(0.0);
            self.motion.solve(&self.rest, &mut self.step)?;
            for i in 0..v.len() {
                self.step[q.start + i] = self.step[v.start + i] / self.slope;
                self.rest[v.start + i] += self.step[v.start + i];
            }
            self.sum.iter_mut().zip(&self.step).for_each(|(s, x)| *s += x);
            subtract(&self.held, &self.values, &self.step, &mut self.rest);
            self.step.fill(0.0);
            self.position.solve(&self.rest, &mut self.step)?;
            self.sum.iter_mut().zip(&self.step).for_each(|(s, x)| *s += x);
            if pass + 1 < passes {
                // all rows are solved now, but for what δq' does to the motion
                self.rest.fill(0.0);
                subtract(&self.others, &self.values, &self.step, &mut self.rest);
            }
        }
        b.copy_from_slice(&self.sum);
        Ok(())
    }

    fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.motion.linear.smallest_kept_pivot().min(self.position.linear.smallest_kept_pivot())
    }

    fn reveals_rank(&self) -> bool {
        self.motion.linear.reveals_rank() && self.position.linear.reveals_rank()
    }

    fn smallest_multiplier_pivot(&self) -> f64 {
        let (a, b) = (&self.motion.linear, &self.position.linear);
        a.smallest_multiplier_pivot().min(b.smallest_multiplier_pivot())
    }

    fn name(&self) -> &'static str {
        "two KKT systems"
    }

    fn flops(&self) -> Flops {
        self.flops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulation;
    use crate::initial;
    use crate::methods::Method;
    use crate::methods::alpha::GeneralizedAlpha;
    use crate::newton::{Iteration, Residual};
    use crate::step::Step;
    use bellcrank_model::Dynamics;
    use bellcrank_model::read::read_text;

    /// Both ways of solving, on the matrix of a step of size h.
    fn difference(text: &str, h: f64) -> (f64, Flops, Flops) {
        let read = read_text("model.toml", text, &[]).unwrap();
        let system: Arc<dyn Dynamics> = Arc::new(read.model.compile());
        let start = initial::assemble(&system, &read.model.compile().initial_state()).unwrap().0;
        let mut step = Step::new(system, formulation::si2(), start.clone());
        let mut method = GeneralizedAlpha::from_rho(0.8);
        method.start(&start, h);
        method.prepare();
        step.stencil.clone_from(method.stencil());
        method.predict(&mut step.point);
        step.touched();
        let mut matrix = BlockMatrix::new(step.pattern().clone());
        step.jacobian(Iteration::Full, &mut matrix);
        let mut r = vec![0.0; step.pattern().dimension()];
        step.residual(&mut r);
        // a right-hand side in all rows
        r.iter_mut().enumerate().for_each(|(i, r)| *r += 1e-3 * (i as f64).sin());
        let mut whole = solver::choose(step.pattern());
        whole.factor(&matrix).unwrap();
        let mut x = r.clone();
        whole.solve(&mut x).unwrap();
        let mut split = TwoKkt::new(step.pattern(), &step.unknowns);
        split.factor(&matrix).unwrap();
        let mut y = r.clone();
        split.solve(&mut y).unwrap();
        let (n, v) = (step.unknowns.range(Unknown::V), step.unknowns.range(Unknown::Q));
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let apart: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        let of = |r: Range<usize>| largest(&apart[r.clone()]) / largest(&x[r]);
        (of(n).max(of(v)), whole.flops(), split.flops())
    }

    #[test]
    fn both_systems_give_the_solution_of_the_whole_up_to_the_step_squared() {
        let crank = include_str!("../../../tests/problems/slider-crank/model.toml");
        let seven = include_str!("../../../tests/problems/seven-body/model.toml");
        let top = include_str!("../../../tests/problems/heavy-top/model.toml");
        for (name, text, h) in [("crank", crank, 4e-3), ("seven", seven, 1e-4), ("top", top, 1e-4)] {
            let (coarse, whole, split) = difference(text, h);
            let (fine, ..) = difference(text, h / 4.0);
            assert!(coarse < 1e-3 && fine < 0.3 * coarse + 1e-8, "{name}: {coarse:e} {fine:e}");
            assert!(split.factor < whole.factor, "{name}: {split:?} against {whole:?}");
        }
    }
}
