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

use crate::unknowns::Unknowns;
use bellcrank_math::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::lazy;
use bellcrank_math::solver::{Flops, LinearError, LinearSolver};
use bellcrank_model::Unknown;
use std::ops::Range;
use std::sync::Arc;

/// A multiplier's pivot below this tells of a singular position close by: the two systems are not for that. Where the two
/// halves of a chain of n bodies meet, pivots are about 1/n, and this part of it is close.
const CLOSE: f64 = 1e-4;
const CLOSE_IN_CHAINS: f64 = 0.1;

/// No body.
const NONE: u32 = u32::MAX;

/// A block that goes from the whole matrix into that of the motion; one of q goes there by way of its body's S⁻¹.
#[derive(Clone, Copy)]
struct Copy {
    from: u32,
    to: u32,
    rows: u16,
    columns: u16,
    body: u32,
}

/// A body: where its v and q begin, its block S among the values, and S⁻¹ among the inverses.
struct Body {
    v: usize,
    q: usize,
    size: usize,
    block: usize,
    inverse: usize,
}

/// A block between rows and columns.
struct Block {
    rows: Range<u32>,
    columns: Range<u32>,
    offset: u32,
}

impl Block {
    fn new(rows: Range<usize>, columns: Range<usize>, offset: usize) -> Block {
        Block { rows: narrow(rows), columns: narrow(columns), offset: offset as u32 }
    }

    fn entries(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// There are tens of these lists for every body of a large machine: they count in four bytes, as patterns do.
fn narrow(range: Range<usize>) -> Range<u32> {
    range.start as u32..range.end as u32
}

fn wide(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// A block W of a body, and where S⁻¹W is kept.
struct Pull {
    body: u32,
    columns: Range<u32>,
    from: u32,
    to: u32,
}

/// A block G times a block S⁻¹W, for G S⁻¹W.
struct Product {
    gradient: u32,
    pull: u32,
    to: u32,
    sizes: [u16; 3],
}

/// The system of accelerations: its matrix (its values are there only while it is factored), and where its rows and columns
/// are in the whole one.
struct Motion {
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    copies: Vec<Copy>,
    rows: Vec<Range<usize>>,
    columns: Vec<Range<usize>>,
    x: Vec<f64>,
}

/// The system of positions; the values of its matrix are there only while it is factored.
struct Position {
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    /// G: rows of the system, columns of the whole.
    gradients: Vec<Block>,
    pulls: Vec<Pull>,
    pulled: Vec<f64>,
    pulled_size: usize,
    products: Vec<Product>,
    /// The rows of g, and of μ, in the whole.
    lambda: Vec<Range<usize>>,
    mu: Vec<Range<usize>>,
    x: Vec<f64>,
}

/// Factors a matrix in one of two ways.
type Factor = fn(&mut dyn LinearSolver, &BlockMatrix) -> Result<(), LinearError>;

/// One of the two systems.
trait Half {
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

/// A matrix that has its values only while it is factored.
fn without_values(pattern: Arc<BlockPattern>) -> BlockMatrix {
    let mut matrix = BlockMatrix::new(pattern);
    matrix.values = Vec::new();
    matrix
}

/// Gives a matrix a buffer for its values, cleared.
fn lend(buffer: &mut Vec<f64>, matrix: &mut BlockMatrix) {
    std::mem::swap(buffer, &mut matrix.values);
    matrix.values.clear();
    matrix.values.resize(matrix.pattern().values(), 0.0);
}

/// The two systems of a stabilized step.
pub struct TwoKkt {
    expected: usize,
    motion: Motion,
    position: Position,
    bodies: Vec<Body>,
    /// The values of one matrix after the other.
    values: Vec<f64>,
    /// Of every body, where S is not taken for s I.
    inverses: Vec<f64>,
    /// Whether S is taken for s I, and whether it is.
    lean: bool,
    plain: bool,
    exact: bool,
    /// Blocks in the columns of q that the motion sees.
    others: Vec<Block>,
    v: Range<usize>,
    q: Range<usize>,
    slope: f64,
    rest: Vec<f64>,
    sum: Vec<f64>,
    dropped: Vec<usize>,
    /// Whether the factors have not been used yet.
    fresh: bool,
    /// Of a factorization and of the last solution.
    flops: Flops,
}

impl TwoKkt {
    /// For the unknowns of a step of `si2`, with the pattern of its matrix. A lean one takes S for s I and corrects that once,
    /// which is good for charts that are centred at every step.
    pub fn new(pattern: &BlockPattern, unknowns: &Unknowns, lean: bool) -> TwoKkt {
        let owner = |block: usize| unknowns.owner(block);
        let find = |unknown: Unknown, number: usize| unknowns.block(unknown, number as u32).map(|b| b as usize);
        let (mut bodies, mut body_of, mut inverse) = (Vec::new(), vec![None; pattern.blocks()], 0);
        for q in (0..pattern.blocks()).filter(|b| owner(*b).0 == Unknown::Q) {
            let Some(v) = find(Unknown::V, owner(q).1) else { continue };
            let Some(block) = pattern.offset(v, q) else { continue };
            body_of[q] = Some(bodies.len() as u32);
            body_of[v] = body_of[q];
            let (size, block) = (pattern.size(q), block as usize);
            bodies.push(Body { v: pattern.range(v).start, q: pattern.range(q).start, size, block, inverse });
            inverse += size * size;
        }
        let motion = Motion::new(pattern, &owner, &find, &body_of);
        let position = Position::new(pattern, &owner, &find, &body_of, &bodies, lean);
        let mut others = Vec::new();
        for row in 0..pattern.blocks() {
            let seen = match owner(row) {
                (Unknown::V, _) => false,
                (Unknown::Lambda, number) => find(Unknown::Mu, number).is_none(),
                _ => true,
            };
            for (column, offset) in pattern.row(row).filter(|(c, _)| seen && owner(*c).0 == Unknown::Q) {
                others.push(Block::new(pattern.range(row), pattern.range(column), offset));
            }
        }
        others.shrink_to_fit();
        let n = pattern.dimension();
        TwoKkt {
            expected: pattern.values(),
            motion,
            bodies,
            values: Vec::new(),
            inverses: if lean { Vec::new() } else { vec![0.0; inverse] },
            lean,
            plain: false,
            exact: false,
            others,
            position,
            v: unknowns.range(Unknown::V),
            q: unknowns.range(Unknown::Q),
            slope: 1.0,
            rest: vec![0.0; n],
            sum: vec![0.0; n],
            dropped: Vec::new(),
            fresh: false,
            flops: Flops::default(),
        }
    }

    fn factor_by(&mut self, a: &BlockMatrix, by: Factor) -> Result<(), LinearError> {
        if a.values.len() != self.expected {
            return Err(LinearError::Sizes { expected: self.expected, found: a.values.len() });
        }
        self.fresh = true;
        self.invert(&a.values)?;
        let slopes = Slopes { plain: self.plain.then_some(1.0 / self.slope), inverses: &self.inverses };
        let inverted: usize = if self.plain { 0 } else { self.bodies.iter().map(|b| 2 * b.size.pow(3)).sum() };
        let buffer = &mut self.values;
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
        self.exact = self.bodies.iter().all(|b| {
            let block = &values[b.block..][..b.size * b.size];
            block.iter().enumerate().all(|(k, x)| *x == if k % (b.size + 1) == 0 { first } else { 0.0 })
        });
        self.plain = self.exact || self.lean;
        self.slope = if self.exact { first } else { sum / count.max(1) as f64 };
        if self.plain {
            return Ok(());
        }
        for b in &self.bodies {
            let inverse = &mut self.inverses[b.inverse..][..b.size * b.size];
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

/// S⁻¹: a number, or a block for every body.
#[derive(Clone, Copy)]
struct Slopes<'a> {
    plain: Option<f64>,
    inverses: &'a [f64],
}

impl Slopes<'_> {
    /// out += A S⁻¹ for a block A with the columns of a body; returns the flops.
    fn add_after(&self, a: &[f64], body: &Body, out: &mut [f64]) -> usize {
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
    fn set_before(&self, a: &[f64], body: &Body, out: &mut [f64]) -> usize {
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
fn invert(a: &mut [f64], n: usize) -> bool {
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

impl Motion {
    /// Rows of the balance under the columns of v; rows of ġ, or of what a nonholonomic joint has.
    fn new(
        pattern: &BlockPattern,
        owner: &dyn Fn(usize) -> (Unknown, usize),
        find: &dyn Fn(Unknown, usize) -> Option<usize>,
        body_of: &[Option<u32>],
    ) -> Motion {
        let mut place = vec![u32::MAX; pattern.blocks()];
        let (mut sizes, mut classes, mut rows, mut columns) = (vec![], vec![], vec![], vec![]);
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
        }
        let mut found = Vec::new();
        for (r, &row) in rows.iter().enumerate() {
            for (column, offset) in pattern.row(row) {
                let (target, body) = match owner(column) {
                    (Unknown::Mu, _) => continue,
                    (Unknown::Q, number) => match find(Unknown::V, number) {
                        Some(v) => (v, body_of[column]),
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
            Some(Copy { from: from as u32, to: own.offset(r, c)?, rows, columns, body: body.unwrap_or(NONE) })
        });
        let mut copies: Vec<Copy> = copies.collect();
        copies.shrink_to_fit();
        drop(found);
        Motion {
            copies,
            rows: rows.iter().map(|b| pattern.range(*b)).collect(),
            columns: columns.iter().map(|b| pattern.range(*b)).collect(),
            x: vec![0.0; own.dimension()],
            linear: lazy::choose(&own),
            matrix: without_values(own),
        }
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

    /// Adds the rows that were dropped, as columns of the whole.
    fn dropped(&self, out: &mut Vec<usize>) {
        let pattern = self.matrix.pattern();
        out.extend(self.linear.dropped().iter().map(|&row| {
            let block = pattern.block_of(row);
            self.columns[block].start + row - pattern.range(block).start
        }));
    }
}

impl Position {
    fn new(
        pattern: &BlockPattern,
        owner: &dyn Fn(usize) -> (Unknown, usize),
        find: &dyn Fn(Unknown, usize) -> Option<usize>,
        body_of: &[Option<u32>],
        bodies: &[Body],
        lean: bool,
    ) -> Position {
        let of_mu = (0..pattern.blocks()).filter(|b| owner(*b).0 == Unknown::Mu);
        let pairs: Vec<(usize, usize)> =
            of_mu.filter_map(|mu| Some((find(Unknown::Lambda, owner(mu).1)?, mu))).collect();
        let (mut start, mut first) = (0, Vec::with_capacity(pairs.len()));
        let mut place = vec![usize::MAX; pattern.blocks()];
        for (k, &(_, mu)) in pairs.iter().enumerate() {
            place[mu] = k;
            first.push(start..start + pattern.size(mu));
            start += pattern.size(mu);
        }
        let (mut gradients, mut gradient_of) = (Vec::new(), Vec::new());
        for (k, &(lambda, _)) in pairs.iter().enumerate() {
            for (column, offset) in pattern.row(lambda).filter(|(c, _)| owner(*c).0 == Unknown::Q) {
                if let Some(body) = body_of[column] {
                    gradients.push(Block::new(first[k].clone(), pattern.range(column), offset));
                    gradient_of.push((k, body as usize));
                }
            }
        }
        // S⁻¹W of every body, one after the other
        let mut pulls: Vec<Pull> = Vec::new();
        let mut of_body = vec![0..0; bodies.len()];
        let mut pulled = 0;
        for v in (0..pattern.blocks()).filter(|b| owner(*b).0 == Unknown::V) {
            let Some(body) = body_of[v].map(|b| b as usize) else { continue };
            let begin = pulls.len();
            for (column, from) in pattern.row(v).filter(|(c, _)| place[*c] != usize::MAX) {
                let columns = narrow(first[place[column]].clone());
                pulls.push(Pull { body: body as u32, columns, from: from as u32, to: pulled });
                pulled += (pattern.size(v) * pattern.size(column)) as u32;
            }
            of_body[body] = begin..pulls.len();
        }
        let block_at = |scalar: usize| first.partition_point(|r| r.end <= scalar);
        let mut found = Vec::new();
        for (g, &(k, body)) in gradient_of.iter().enumerate() {
            found.extend(of_body[body].clone().map(|w| (k, block_at(pulls[w].columns.start as usize), g, w)));
        }
        let sizes: Vec<usize> = first.iter().map(|r| r.len()).collect();
        let diagonal = (0..sizes.len() as u32).map(|b| (b, b));
        let entries = found.iter().map(|f| (f.0 as u32, f.1 as u32)).chain(diagonal).collect();
        let own = Arc::new(BlockPattern::new(sizes.clone(), vec![Class::Multiplier; sizes.len()], entries));
        let products = found.iter().filter_map(|&(k, l, g, w)| {
            let sizes = [sizes[k], gradients[g].columns.len(), sizes[l]].map(|n| n as u16);
            Some(Product { gradient: gradients[g].offset, pull: pulls[w].to, to: own.offset(k, l)?, sizes })
        });
        let mut products: Vec<Product> = products.collect();
        products.shrink_to_fit();
        pulls.shrink_to_fit();
        gradients.shrink_to_fit();
        Position {
            products,
            lambda: pairs.iter().map(|p| pattern.range(p.0)).collect(),
            mu: pairs.iter().map(|p| pattern.range(p.1)).collect(),
            x: vec![0.0; own.dimension()],
            // with S = s I it is symmetric
            linear: if lean { lazy::choose_nearly_symmetric(&own) } else { lazy::choose(&own) },
            matrix: without_values(own),
            gradients,
            pulls,
            pulled: Vec::new(),
            pulled_size: pulled as usize,
        }
    }

    /// x += G δq; `values` are those of the whole matrix, `dq` all unknowns.
    fn add_opening(&mut self, values: &[f64], dq: &[f64]) {
        for b in &self.gradients {
            let dq = &dq[wide(&b.columns)];
            let block = &values[b.offset as usize..][..b.entries()];
            for (x, row) in self.x[wide(&b.rows)].iter_mut().zip(block.chunks_exact(dq.len())) {
                *x += row.iter().zip(dq).map(|(a, d)| a * d).sum::<f64>();
            }
        }
    }

    /// δμ from x; adds it, and takes S⁻¹W δμ from δq.
    fn solve(&mut self, bodies: &[Body], sum: &mut [f64]) -> Result<(), LinearError> {
        self.linear.solve(&mut self.x)?;
        let mut at = 0;
        for mu in &self.mu {
            sum[mu.clone()].iter_mut().zip(&self.x[at..]).for_each(|(s, x)| *s += x);
            at += mu.len();
        }
        for pull in &self.pulls {
            let (body, x) = (&bodies[pull.body as usize], &self.x[wide(&pull.columns)]);
            let block = self.pulled[pull.to as usize..].chunks_exact(x.len());
            for (q, row) in sum[body.q..body.q + body.size].iter_mut().zip(block) {
                *q -= row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            }
        }
        Ok(())
    }

    /// Of one solution.
    fn flops(&self) -> usize {
        let gradients: usize = self.gradients.iter().map(|b| b.rows.len() * b.columns.len()).sum();
        self.linear.flops().solve + 2 * (gradients + self.pulled.len())
    }

    /// Adds the rows that were dropped, as columns of the whole.
    fn dropped(&self, out: &mut Vec<usize>) {
        let pattern = self.matrix.pattern();
        out.extend(self.linear.dropped().iter().map(|&row| {
            let block = pattern.block_of(row);
            self.mu[block].start + row - pattern.range(block).start
        }));
    }
}

/// rest −= B δq over some blocks of the whole matrix; `dq` are all unknowns.
fn subtract(blocks: &[Block], values: &[f64], dq: &[f64], rest: &mut [f64]) {
    for b in blocks {
        let x = &dq[wide(&b.columns)];
        let block = &values[b.offset as usize..][..b.entries()];
        for (r, row) in rest[wide(&b.rows)].iter_mut().zip(block.chunks_exact(x.len())) {
            *r -= row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
        }
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

impl Half for Position {
    fn fill(&mut self, values: &[f64], bodies: &[Body], slopes: Slopes) -> usize {
        let mut flops = 0;
        self.pulled.resize(self.pulled_size, 0.0);
        for pull in &self.pulls {
            let body = &bodies[pull.body as usize];
            let entries = body.size * pull.columns.len();
            let (from, to) = (pull.from as usize, pull.to as usize);
            flops += slopes.set_before(&values[from..][..entries], body, &mut self.pulled[to..][..entries]);
        }
        for p in &self.products {
            let [rows, inner, columns] = p.sizes.map(usize::from);
            let g = values[p.gradient as usize..][..rows * inner].chunks_exact(inner);
            let w = &self.pulled[p.pull as usize..][..inner * columns];
            let out = self.matrix.values[p.to as usize..][..rows * columns].chunks_exact_mut(columns);
            for (out, g) in out.zip(g) {
                for (g, w) in g.iter().zip(w.chunks_exact(columns)) {
                    out.iter_mut().zip(w).for_each(|(o, w)| *o += g * w);
                }
            }
            flops += 2 * rows * inner * columns;
        }
        flops
    }

    fn parts(&mut self) -> (&mut BlockMatrix, &mut dyn LinearSolver) {
        (&mut self.matrix, &mut *self.linear)
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

    /// Needs the matrix: see [`LinearSolver::solve_with`].
    fn solve(&mut self, _: &mut [f64]) -> Result<(), LinearError> {
        Err(LinearError::Sizes { expected: self.expected, found: 0 })
    }

    fn release(&mut self) {
        (self.values, self.position.pulled) = (Vec::new(), Vec::new());
        self.motion.linear.release();
        self.position.linear.release();
    }

    fn solve_with(&mut self, a: &BlockMatrix, b: &mut [f64]) -> Result<(), LinearError> {
        if b.len() != self.rest.len() || a.values.len() != self.expected {
            return Err(LinearError::Sizes { expected: self.rest.len(), found: b.len() });
        }
        let (v, q) = (self.v.clone(), self.q.clone());
        let values = &a.values[..];
        let TwoKkt { motion, position, bodies, rest, sum, .. } = self;
        let slopes = Slopes { plain: self.plain.then_some(1.0 / self.slope), inverses: &self.inverses };
        rest.copy_from_slice(b);
        sum.fill(0.0);
        // δq = S⁻¹r_v, and of what the motion will do to the positions as much as is known
        TwoKkt::follow(bodies, slopes, &rest[v.clone()], &mut sum[q.clone()]);
        if std::mem::take(&mut self.fresh) {
            let mut at = 0;
            for (lambda, mu) in position.lambda.iter().zip(&position.mu) {
                for (k, (l, m)) in lambda.clone().zip(mu.clone()).enumerate() {
                    position.x[at + k] = rest[m] / self.slope - rest[l];
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
        let corrects = self.plain && !self.exact;
        for b in bodies.iter().filter(|_| corrects) {
            // δq ← 2 δq − S δq/s
            let (block, dq) = (&values[b.block..][..b.size * b.size], &mut sum[b.q..b.q + b.size]);
            let kept = &mut rest[b.v..b.v + b.size];
            kept.copy_from_slice(dq);
            for (q, row) in dq.iter_mut().zip(block.chunks_exact(b.size)) {
                *q += *q - row.iter().zip(&*kept).map(|(a, d)| a * d).sum::<f64>() / self.slope;
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
        let follows = match (self.exact, self.plain) {
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
    use bellcrank_math::solver;
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
        step.jacobian(Iteration::Full, true, &mut matrix);
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
        let crank = include_str!("../../../../tests/problems/slider-crank/model.toml");
        let seven = include_str!("../../../../tests/problems/seven-body/model.toml");
        let top = include_str!("../../../../tests/problems/heavy-top/model.toml");
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
