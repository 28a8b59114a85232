//! The chain rule for condensed velocities in charts: (∂r/∂v) ∂(T q̇)/∂q goes where ∂r/∂q is.

use super::terms::{Placed, Term};
use crate::unknowns::{NONE, Unknowns};
use bellcrank_math::linear::blocks::BlockPattern;
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};

/// The derivatives by velocities, and what they are multiplied by.
#[derive(Default)]
pub(super) struct Chain {
    /// The terms ∂r/∂v.
    terms: Vec<Term>,
    /// Their blocks, and ∂(T q̇)/∂q of every body.
    values: Vec<f64>,
    rates: Vec<f64>,
    rate_offsets: Vec<u32>,
    links: Vec<ChainBlock>,
}

/// A block ∂r/∂v: its offset, that of its factor ∂(T q̇)/∂q, and where the product goes.
struct ChainBlock {
    from: u32,
    rate: u32,
    to: u32,
    rows: u32,
    columns: u32,
}

impl Chain {
    /// For these terms.
    pub(super) fn new(unknowns: &Unknowns, pattern: &BlockPattern, terms: Vec<Placed>) -> Chain {
        let mut pairs: Vec<(u32, u32)> = terms.iter().flat_map(|t| t.blocks.iter().copied()).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut chain = Chain::default();
        let size = |b: u32| pattern.size(b as usize) as u32;
        let mut rate_of = vec![NONE; pattern.blocks()];
        let mut length = 0;
        for &b in unknowns.numbers[Unknowns::place(Unknown::Q)].iter().filter(|b| **b != NONE) {
            rate_of[b as usize] = length;
            chain.rate_offsets.push(length);
            length += size(b) * size(b);
        }
        chain.rates = vec![0.0; length as usize];
        let mut from = 0;
        for &(r, c) in &pairs {
            let Some(to) = pattern.offset(r as usize, c as usize) else { continue };
            let (rows, columns) = (size(r), size(c));
            chain.links.push(ChainBlock { from, rate: rate_of[c as usize], to, rows, columns });
            from += rows * columns;
        }
        chain.values = vec![0.0; from as usize];
        for Placed { mut term, blocks } in terms {
            let place = |pair: &(u32, u32)| pairs.binary_search(pair).ok().map(|k| chain.links[k].from);
            term.offsets = blocks.iter().filter_map(place).collect();
            chain.terms.push(term);
        }
        chain
    }

    /// Adds the products at a realized point to a matrix.
    pub(super) fn add(
        &mut self,
        dynamics: &dyn Dynamics,
        slopes: Slopes,
        point: &Point,
        w: &mut Workspace,
        out: &mut [f64],
    ) {
        self.values.fill(0.0);
        self.rates.fill(0.0);
        let mut rates = Targets::new(&mut self.rates, &self.rate_offsets);
        dynamics.add_derivative(1.0, Piece::Rate, Unknown::Q, slopes, point, w, &mut rates);
        for t in &self.terms {
            let mut values = Targets::new(&mut self.values, &t.offsets);
            dynamics.add_derivative(t.factor, t.piece, t.wrt, slopes, point, w, &mut values);
        }
        for link in &self.links {
            let (rows, n) = (link.rows as usize, link.columns as usize);
            let by_v = &self.values[link.from as usize..][..rows * n];
            let rate = &self.rates[link.rate as usize..][..n * n];
            let out = &mut out[link.to as usize..][..rows * n];
            for (by_v, out) in by_v.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                for (a, rate) in by_v.iter().zip(rate.chunks_exact(n)).filter(|(a, _)| **a != 0.0) {
                    out.iter_mut().zip(rate).for_each(|(o, r)| *o += a * r);
                }
            }
        }
    }
}
