//! The system of positions, (G S⁻¹W) δμ: what puts them onto g = 0.

use super::blocks::{Block, Body, Half, Owners, Slopes, local, narrow, wide, without_values};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::deferred;
use bellcrank_math::linear::solver::{LinearError, LinearSolver};
use bellcrank_model::Unknown;
use std::ops::Range;
use std::sync::Arc;

/// A block W of a body, and where S⁻¹W is kept.
struct ScaledBlock {
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

/// The system of positions; the values of its matrix are there only while it is factored.
pub(super) struct Position {
    pub(super) matrix: BlockMatrix,
    pub(super) linear: Box<dyn LinearSolver>,
    /// G: rows of the system, columns of the whole.
    pub(super) gradients: Vec<Block>,
    pulls: Vec<ScaledBlock>,
    pub(super) pulled: Vec<f64>,
    pub(super) pulled_size: usize,
    products: Vec<Product>,
    /// The rows of g, and of μ, in the whole.
    pub(super) lambda: Vec<Range<usize>>,
    pub(super) mu: Vec<Range<usize>>,
    pub(super) x: Vec<f64>,
}

impl Position {
    pub(super) fn new(of: &Owners, bodies: &[Body], lean: bool) -> Position {
        let pattern = of.pattern;
        let of_mu = (0..pattern.blocks()).filter(|b| of.owner(*b).0 == Unknown::Mu);
        let pairs: Vec<(usize, usize)> =
            of_mu.filter_map(|mu| Some((of.find(Unknown::Lambda, of.owner(mu).1)?, mu))).collect();
        let (mut start, mut first) = (0, Vec::with_capacity(pairs.len()));
        let mut place = vec![usize::MAX; pattern.blocks()];
        for (k, &(_, mu)) in pairs.iter().enumerate() {
            place[mu] = k;
            first.push(start..start + pattern.size(mu));
            start += pattern.size(mu);
        }
        let (mut gradients, mut gradient_of) = (Vec::new(), Vec::new());
        for (k, &(lambda, _)) in pairs.iter().enumerate() {
            for (column, offset) in pattern.row(lambda).filter(|(c, _)| of.owner(*c).0 == Unknown::Q) {
                if let Some(body) = of.body_of[column] {
                    gradients.push(Block::new(first[k].clone(), pattern.range(column), offset));
                    gradient_of.push((k, body as usize));
                }
            }
        }
        // S⁻¹W of every body, one after the other
        let mut pulls: Vec<ScaledBlock> = Vec::new();
        let mut of_body = vec![0..0; bodies.len()];
        let mut pulled = 0;
        for v in (0..pattern.blocks()).filter(|b| of.owner(*b).0 == Unknown::V) {
            let Some(body) = of.body_of[v].map(|b| b as usize) else { continue };
            let begin = pulls.len();
            for (column, from) in pattern.row(v).filter(|(c, _)| place[*c] != usize::MAX) {
                let columns = narrow(first[place[column]].clone());
                pulls.push(ScaledBlock { body: body as u32, columns, from: from as u32, to: pulled });
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
            linear: if lean { deferred::choose_nearly_symmetric(&own) } else { deferred::choose(&own) },
            matrix: without_values(own),
            gradients,
            pulls,
            pulled: Vec::new(),
            pulled_size: pulled as usize,
        }
    }

    /// x += G δq; `values` are those of the whole matrix, `dq` all unknowns.
    pub(super) fn add_opening(&mut self, values: &[f64], dq: &[f64]) {
        for b in &self.gradients {
            let dq = &dq[wide(&b.columns)];
            let block = &values[b.offset as usize..][..b.entries()];
            for (x, row) in self.x[wide(&b.rows)].iter_mut().zip(block.chunks_exact(dq.len())) {
                *x += row.iter().zip(dq).map(|(a, d)| a * d).sum::<f64>();
            }
        }
    }

    /// δμ from x; adds it, and takes S⁻¹W δμ from δq.
    pub(super) fn solve(&mut self, bodies: &[Body], sum: &mut [f64]) -> Result<(), LinearError> {
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
    pub(super) fn flops(&self) -> usize {
        let gradients: usize = self.gradients.iter().map(|b| b.rows.len() * b.columns.len()).sum();
        self.linear.flops().solve + 2 * (gradients + self.pulled.len())
    }

    /// Leaves rows out, which are given as columns of the whole.
    pub(super) fn leave_out(&mut self, rows: Option<&[usize]>) {
        let own = rows.map(|rows| local(rows, &self.mu, self.matrix.pattern()));
        self.linear.leave_out(own.as_deref());
    }

    /// Adds the rows that were dropped, as columns of the whole.
    pub(super) fn dropped(&self, out: &mut Vec<usize>) {
        let pattern = self.matrix.pattern();
        out.extend(self.linear.dropped().iter().map(|&row| {
            let block = pattern.block_of(row);
            self.mu[block].start + row - pattern.range(block).start
        }));
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
