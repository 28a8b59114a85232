//! The matrix of a stabilized step, solved as two systems of half the size.
//!
//! A step of `si2` has the unknowns v, q, z, λ, μ, whose rows couple them only loosely:
//!
//! ```text
//!     S δq − δv + W δμ = r_v        S ≈ s I,  W = M⁻¹Gᵀ
//!     B_v δv + B_q δq + Gᵀδλ = r_q
//!     G δq = r_λ
//!     G δv + (G v)_q δq = r_μ
//! ```
//!
//! Without δμ in the first row δq = S⁻¹(δv + r_v), and what is left is one system for accelerations and one that
//! puts the positions onto g = 0 [Negrut, Jay & Khude 2009, eq. 13]. The second has blocks on its diagonal for the bodies,
//! which are eliminated by hand:
//!
//! ```text
//!     [ B_v + B_q S⁻¹        Gᵀ ] [ δv ]
//!     [ G + (G v)_q S⁻¹      0  ] [ δλ ] ,      (G S⁻¹W) δμ = G S⁻¹(δv + r_v) − r_λ
//! ```
//!
//! What δμ does to the first of them is foreseen: G δv ≈ r_μ gives a δμ before δv is known, which is right up to a part O(h)
//! of itself. Positions are solved for once more afterwards, and what the first system does not see then is O(h²): velocities
//! are exact. Factors that are kept are those of another point: what they leave is larger, and nothing is foreseen with
//! them. Where that is not enough, Newton's iteration contracts slowly and takes the whole matrix ([`crate::newton`]).

mod blocks;
mod motion;
mod position;

use crate::unknowns::Unknowns;
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern};
use bellcrank_math::linear::solver::{Flops, LinearError, LinearSolver};
use bellcrank_math::tape::Tape;
use bellcrank_model::Unknown;
use blocks::{Block, Body, Factor, Half, Owners, Slopes, invert, subtract};
use motion::Motion;
use position::Position;
use std::ops::Range;
use std::sync::Arc;

/// A multiplier's pivot below this tells of a singular position close by, which the two systems are not made for.
const CLOSE: f64 = 1e-4;
/// Where the two halves of a chain of n bodies meet, pivots are about 1/n: there a pivot below this fraction of 1/n is close.
const CLOSE_IN_CHAINS: f64 = 0.1;

/// The two systems of a stabilized step.
pub struct TwoKkt {
    expected: usize,
    motion: Motion,
    position: Position,
    bodies: Vec<Body>,
    s: RateMatrix,
    /// Blocks in the columns of q that the motion sees.
    others: Vec<Block>,
    v: Range<usize>,
    q: Range<usize>,
    scratch: Scratch,
    dropped: Vec<usize>,
    /// Whether the factors have not been used yet.
    unused: bool,
    /// Of a factorization and of the last solution.
    flops: Flops,
}

/// S, by bodies.
struct RateMatrix {
    /// Whether it is always taken for s I.
    lean: bool,
    /// Whether it is taken for s I now, and whether it is.
    scalar: bool,
    exact: bool,
    /// s.
    slope: f64,
    /// S⁻¹ of every body, where it is not taken for s I.
    inverses: Vec<f64>,
}

struct Scratch {
    /// The values of one matrix after the other.
    values: Vec<f64>,
    rest: Vec<f64>,
    sum: Vec<f64>,
}

impl TwoKkt {
    /// For the unknowns of a step of `si2`, with the pattern of its matrix. A lean one takes S for s I and corrects that once,
    /// which is good for charts that are centred at every step.
    pub fn new(pattern: &BlockPattern, unknowns: &Unknowns, lean: bool) -> TwoKkt {
        let mut of = Owners { pattern, unknowns, body_of: vec![None; pattern.blocks()] };
        let (mut bodies, mut inverse) = (Vec::new(), 0);
        for q in (0..pattern.blocks()).filter(|b| unknowns.owner(*b).0 == Unknown::Q) {
            let Some(v) = of.find(Unknown::V, of.owner(q).1) else { continue };
            let Some(block) = pattern.offset(v, q) else { continue };
            of.body_of[q] = Some(bodies.len() as u32);
            of.body_of[v] = of.body_of[q];
            let (size, block) = (pattern.size(q), block as usize);
            bodies.push(Body { v: pattern.range(v).start, q: pattern.range(q).start, size, block, inverse });
            inverse += size * size;
        }
        let motion = Motion::new(&of);
        let position = Position::new(&of, &bodies, lean);
        let mut others = Vec::new();
        for row in 0..pattern.blocks() {
            let seen = match of.owner(row) {
                (Unknown::V, _) => false,
                (Unknown::Lambda, number) => of.find(Unknown::Mu, number).is_none(),
                _ => true,
            };
            for (column, offset) in pattern.row(row).filter(|(c, _)| seen && of.owner(*c).0 == Unknown::Q) {
                others.push(Block::new(pattern.range(row), pattern.range(column), offset));
            }
        }
        others.shrink_to_fit();
        let n = pattern.dimension();
        TwoKkt {
            expected: pattern.values(),
            motion,
            position,
            bodies,
            s: RateMatrix {
                lean,
                scalar: false,
                exact: false,
                slope: 1.0,
                inverses: if lean { Vec::new() } else { vec![0.0; inverse] },
            },
            others,
            v: unknowns.range(Unknown::V),
            q: unknowns.range(Unknown::Q),
            scratch: Scratch { values: Vec::new(), rest: vec![0.0; n], sum: vec![0.0; n] },
            dropped: Vec::new(),
            unused: false,
            flops: Flops::default(),
        }
    }

    fn factor_by(&mut self, a: &BlockMatrix, by: Factor) -> Result<(), LinearError> {
        if a.values.len() != self.expected {
            return Err(LinearError::Sizes { expected: self.expected, found: a.values.len() });
        }
        self.unused = true;
        self.invert(&a.values)?;
        let slopes = Slopes { plain: self.s.scalar.then_some(1.0 / self.s.slope), inverses: &self.s.inverses };
        let inverted: usize = if self.s.scalar { 0 } else { self.bodies.iter().map(|b| 2 * b.size.pow(3)).sum() };
        let buffer = &mut self.scratch.values;
        let filled = self.motion.factor(buffer, &a.values, &self.bodies, slopes, by)? + inverted;
        let formed = self.position.factor(buffer, &a.values, &self.bodies, slopes, by)?;
        // positions are foreseen once for every factorization
        let foreseen = self.position.flops();
        self.flops.factor =
            self.motion.linear.flops().factor + self.position.linear.flops().factor + filled + formed + foreseen;
        self.dropped.clear();
        self.motion.dropped(&mut self.dropped);
        self.position.dropped(&mut self.dropped);
        self.dropped.sort_unstable();
        // there the whole matrix keeps its digits longer
        match self.smallest_multiplier_pivot() < CLOSE.min(CLOSE_IN_CHAINS / self.bodies.len().max(1) as f64) {
            true => Err(LinearError::Singular { row: self.dropped.first().copied().unwrap_or(self.v.end) }),
            false => Ok(()),
        }
    }

    /// s, whether S = s I, and S⁻¹ where it is not.
    fn invert(&mut self, values: &[f64]) -> Result<(), LinearError> {
        let (mut sum, mut count) = (0.0, 0);
        for b in &self.bodies {
            sum += (0..b.size).map(|i| values[b.block + i * (b.size + 1)]).sum::<f64>();
            count += b.size;
        }
        let first = self.bodies.first().map_or(1.0, |b| values[b.block]);
        self.s.exact = self.bodies.iter().all(|b| {
            let block = &values[b.block..][..b.size * b.size];
            block.iter().enumerate().all(|(k, x)| *x == if k % (b.size + 1) == 0 { first } else { 0.0 })
        });
        self.s.scalar = self.s.exact || self.s.lean;
        self.s.slope = if self.s.exact { first } else { sum / count.max(1) as f64 };
        if self.s.scalar {
            return Ok(());
        }
        for b in &self.bodies {
            let inverse = &mut self.s.inverses[b.inverse..][..b.size * b.size];
            inverse.copy_from_slice(&values[b.block..][..b.size * b.size]);
            if !invert(inverse, b.size) {
                return Err(LinearError::Singular { row: b.v });
            }
        }
        Ok(())
    }

    /// δq += S⁻¹ r for an r over v.
    fn follow(bodies: &[Body], slopes: Slopes, r: &[f64], dq: &mut [f64]) {
        match slopes.plain {
            Some(inverse) => dq.iter_mut().zip(r).for_each(|(q, r)| *q += inverse * r),
            None => {
                let (v, q) = bodies.first().map_or((0, 0), |b| (b.v, b.q));
                for b in bodies {
                    let inverse = slopes.inverses[b.inverse..][..b.size * b.size].chunks_exact(b.size);
                    let r = &r[b.v - v..][..b.size];
                    for (q, row) in dq[b.q - q..][..b.size].iter_mut().zip(inverse) {
                        *q += row.iter().zip(r).map(|(a, r)| a * r).sum::<f64>();
                    }
                }
            }
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

    fn leave_out(&mut self, rows: Option<&[usize]>) {
        self.motion.leave_out(rows);
        self.position.leave_out(rows);
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor_by(a, |linear, a| linear.factor(a))
    }

    fn refactor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        self.factor_by(a, |linear, a| linear.refactor(a))
    }

    /// Needs the matrix: see [`LinearSolver::solve_with`].
    fn solve(&mut self, _: &mut [f64]) -> Result<(), LinearError> {
        Err(LinearError::Sizes { expected: self.expected, found: 0 })
    }

    fn keep(&mut self, tape: &mut Tape, factors: bool) {
        tape.flag(&mut self.s.scalar);
        tape.flag(&mut self.s.exact);
        tape.number(&mut self.s.slope);
        tape.plain(&mut self.dropped);
        tape.flag(&mut self.unused);
        tape.count(&mut self.flops.factor);
        tape.count(&mut self.flops.solve);
        if factors {
            tape.numbers(&mut self.s.inverses);
            tape.numbers(&mut self.position.pulled);
            tape.numbers(&mut self.motion.matrix.values);
            tape.numbers(&mut self.position.matrix.values);
        }
        self.motion.linear.keep(tape, factors);
        self.position.linear.keep(tape, factors);
    }

    fn release(&mut self) {
        (self.scratch.values, self.position.pulled) = (Vec::new(), Vec::new());
        self.motion.linear.release();
        self.position.linear.release();
    }

    fn solve_with(&mut self, a: &BlockMatrix, b: &mut [f64]) -> Result<(), LinearError> {
        if b.len() != self.scratch.rest.len() || a.values.len() != self.expected {
            return Err(LinearError::Sizes { expected: self.scratch.rest.len(), found: b.len() });
        }
        let (v, q) = (self.v.clone(), self.q.clone());
        let values = &a.values[..];
        let TwoKkt { motion, position, bodies, scratch: Scratch { rest, sum, .. }, .. } = self;
        let slopes = Slopes { plain: self.s.scalar.then_some(1.0 / self.s.slope), inverses: &self.s.inverses };
        rest.copy_from_slice(b);
        sum.fill(0.0);
        // δq = S⁻¹r_v, and of what the motion will do to the positions as much as is known
        TwoKkt::follow(bodies, slopes, &rest[v.clone()], &mut sum[q.clone()]);
        if std::mem::take(&mut self.unused) {
            let mut at = 0;
            for (lambda, mu) in position.lambda.iter().zip(&position.mu) {
                for (k, (l, m)) in lambda.clone().zip(mu.clone()).enumerate() {
                    position.x[at + k] = rest[m] / self.s.slope - rest[l];
                }
                at += mu.len();
            }
            position.add_opening(values, sum);
            position.solve(bodies, sum)?;
        }
        subtract(&self.others, values, sum, rest);
        motion.solve(rest, sum)?;
        let (of_v, of_q) = sum.split_at_mut(q.start);
        TwoKkt::follow(bodies, slopes, &of_v[v], &mut of_q[..q.len()]);
        let corrects = self.s.scalar && !self.s.exact;
        for b in bodies.iter().filter(|_| corrects) {
            // δq ← 2 δq − S δq/s
            let (block, dq) = (&values[b.block..][..b.size * b.size], &mut sum[b.q..b.q + b.size]);
            let kept = &mut rest[b.v..b.v + b.size];
            kept.copy_from_slice(dq);
            for (q, row) in dq.iter_mut().zip(block.chunks_exact(b.size)) {
                *q += *q - row.iter().zip(&*kept).map(|(a, d)| a * d).sum::<f64>() / self.s.slope;
            }
        }
        let mut at = 0;
        for lambda in &position.lambda {
            position.x[at..at + lambda.len()].iter_mut().zip(&b[lambda.clone()]).for_each(|(x, r)| *x = -r);
            at += lambda.len();
        }
        position.add_opening(values, sum);
        position.solve(bodies, sum)?;
        let others: usize = self.others.iter().map(|b| 2 * b.rows.len() * b.columns.len()).sum();
        let blocks: usize = bodies.iter().map(|b| 2 * b.size * b.size).sum();
        let follows = match (self.s.exact, self.s.scalar) {
            (true, _) => 2 * q.len(),
            (false, true) => 2 * q.len() + blocks,
            (false, false) => 2 * blocks,
        };
        self.flops.solve = motion.linear.flops().solve + position.flops() + others + follows;
        b.copy_from_slice(sum);
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

    fn explain(&self) -> String {
        let each = match self.motion.linear.explain() {
            told if told.is_empty() => told,
            told => format!(": {told}"),
        };
        format!("{} of half the size for one, as positions and motion hang together loosely{each}", self.name())
    }

    fn flops(&self) -> Flops {
        self.flops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulation;
    use crate::methods::Method;
    use crate::methods::alpha::GeneralizedAlpha;
    use crate::newton::{Iteration, Residual};
    use crate::start;
    use crate::step::Step;
    use bellcrank_math::linear::solver;
    use bellcrank_model::Dynamics;
    use bellcrank_model::read::read_text;

    /// Both ways of solving, on the matrix of a step of size h.
    fn difference(text: &str, h: f64, lean: bool) -> (f64, Flops, Flops) {
        let read = read_text("model.toml", text, &[]).unwrap();
        let system: Arc<dyn Dynamics> = Arc::new(read.model.compile());
        let start = start::assemble(&system, &read.model.compile().initial_state()).unwrap().0;
        let mut step = Step::new(system, formulation::si2(), start.clone());
        let mut method = GeneralizedAlpha::from_rho(0.8);
        method.start(&start, h);
        method.prepare(&mut step.stencil, &mut step.point);
        step.follow();
        step.touched();
        let mut matrix = BlockMatrix::new(step.pattern().clone());
        step.form_matrix(Iteration::Full, &mut matrix);
        let mut r = vec![0.0; step.pattern().dimension()];
        step.residual(&mut r);
        // a right-hand side in all rows
        r.iter_mut().enumerate().for_each(|(i, r)| *r += 1e-3 * (i as f64).sin());
        let mut whole = solver::choose(step.pattern());
        whole.factor(&matrix).unwrap();
        let mut x = r.clone();
        whole.solve(&mut x).unwrap();
        let mut split = TwoKkt::new(step.pattern(), &step.unknowns, lean);
        split.factor(&matrix).unwrap();
        let mut y = r.clone();
        split.solve_with(&matrix, &mut y).unwrap();
        let (n, v) = (step.unknowns.range(Unknown::V), step.unknowns.range(Unknown::Q));
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let apart: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
        let of = |r: Range<usize>| largest(&apart[r.clone()]) / largest(&x[r]);
        (of(n).max(of(v)), whole.flops(), split.flops())
    }

    #[test]
    fn both_systems_give_the_solution_of_the_whole_up_to_the_step_squared() {
        let crank = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/slider-crank/model.toml"));
        let seven = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/seven-body/model.toml"));
        let top = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/heavy-top/model.toml"));
        for (name, text, h) in [("crank", crank, 4e-3), ("seven", seven, 1e-4), ("top", top, 1e-4)] {
            let (coarse, whole, split) = difference(text, h, false);
            let (fine, ..) = difference(text, h / 4.0, false);
            assert!(coarse < 1e-3 && fine < 0.3 * coarse + 1e-8, "{name}: {coarse:e} {fine:e}");
            // a lean one leaves more of what charts bend
            let (lean, ..) = difference(text, h, true);
            assert!(lean < 1e-4_f64.max(2.0 * coarse), "{name}: {lean:e}");
            assert!(split.factor < whole.factor, "{name}: {split:?} against {whole:?}");
        }
    }
}
