//! Where every block of the factors lies.

use super::{LeafSource, SMALL, WIDE_BORDER, WIDEST_NODE};
use crate::linear::{
    blocks::BlockPattern,
    interface::LinearError,
    ordering::{Symbolic, symbolic},
};

/// The panel of a node.
pub struct Panel {
    /// Elimination positions of its blocks.
    pub start: usize,
    pub end: usize,
    /// Scalar position of its first pivot.
    pub first: u32,
    pub p: u32,
    pub m: u32,
    pub offset: u32,
    /// Where its border begins in `FactorLayout::places`.
    border: usize,
}

/// Where every block of the factors lies.
pub struct FactorLayout {
    pub symmetric: bool,
    pub symbolic: Symbolic,
    /// Scalar position of every block, and the dimension at the end.
    first: Vec<u32>,
    pub panels: Vec<Panel>,
    /// Row of every border block in its panel.
    places: Vec<u32>,
    pub node_of: Vec<u32>,
    /// Where the parts begin, and the end of the last.
    pub begins: Vec<Begin>,
}

/// Where a part begins: the first of its blocks, panels, scalar positions and values.
#[derive(Clone, Copy)]
pub struct Begin {
    pub block: usize,
    pub panel: usize,
    pub scalar: u32,
    pub offset: u32,
}

impl FactorLayout {
    pub fn new(pattern: &BlockPattern, symmetric: bool, parted: bool) -> Result<FactorLayout, LinearError> {
        let symbolic = symbolic(pattern, parted)?;
        let (order, below) = (&symbolic.order, &symbolic.below);
        let n = order.len();
        let class = |k: usize| pattern.class(order[k] as usize);
        let mut first = vec![0];
        for (k, &i) in order.iter().enumerate() {
            first.push(first[k] + pattern.size(i as usize) as u32);
        }
        let size = |k: u32| first[k as usize + 1] - first[k as usize];
        let border = |k: usize| below[k].iter().map(|&j| size(j)).sum::<u32>();
        let mut panels = Vec::new();
        let mut places = Vec::new();
        let mut node_of = Vec::with_capacity(n);
        let mut offset = 0;
        let mut end = 0;
        let mut begins = Vec::new();
        let mut ends = symbolic.parts.iter().map(|&end| end as usize).chain([n]).peekable();
        begins.push(Begin { block: 0, panel: 0, scalar: 0, offset: 0 });
        while let Some(&part) = ends.peek() {
            if end == part {
                begins.push(Begin { block: end, panel: panels.len(), scalar: first[end], offset });
                ends.next();
                continue;
            }
            let start = end;
            end += 1;
            // columns of one structure share a node
            while end < part
                && below[end - 1].first() == Some(&(end as u32))
                && below[end - 1].len() == below[end].len() + 1
                && match (first[end + 1] - first[start]) as usize {
                    p if p <= SMALL => class(end) == class(start),
                    p => p <= WIDEST_NODE && border(end) as usize >= WIDE_BORDER,
                }
            {
                end += 1;
            }
            node_of.resize(end, panels.len() as u32);
            let (p, m) = (first[end] - first[start], border(end - 1));
            panels.push(Panel { start, end, first: first[start], p, m, offset, border: places.len() });
            let mut place = p;
            for &j in &below[end - 1] {
                places.push(place);
                place += size(j);
            }
            offset += panel_entries(symmetric, p, m);
        }
        Ok(FactorLayout { symmetric, symbolic, first, panels, places, node_of, begins })
    }

    /// The part of a block.
    pub fn part(&self, block: usize) -> usize {
        self.begins.partition_point(|begin| begin.block <= block).min(self.last() + 1) - 1
    }

    /// The number of the last part, which is eliminated after the others.
    pub fn last(&self) -> usize {
        self.begins.len() - 2
    }

    /// Scalar position of a block in the numbering of part r.
    pub fn seen_scalar(&self, r: usize, block: usize) -> u32 {
        let last = self.begins[self.last()];
        if block < last.block || r == self.last() {
            self.first[block] - self.begins[r].scalar
        } else {
            self.first[block] - last.scalar + (self.begins[r + 1].scalar - self.begins[r].scalar)
        }
    }

    /// Offset of a value in the numbering of part r.
    pub fn seen_offset(&self, r: usize, offset: u32) -> u32 {
        let last = self.begins[self.last()];
        if offset < last.offset || r == self.last() {
            offset - self.begins[r].offset
        } else {
            offset - last.offset + (self.begins[r + 1].offset - self.begins[r].offset)
        }
    }

    /// The number of rows of a block.
    pub fn size(&self, k: usize) -> u32 {
        self.first[k + 1] - self.first[k]
    }

    /// Positions of the border blocks of node t.
    pub fn border(&self, t: usize) -> &[u32] {
        &self.symbolic.below[self.panels[t].end - 1]
    }

    /// Row or column of block k in the panel of node t.
    fn place(&self, t: usize, k: usize) -> u32 {
        let panel = &self.panels[t];
        if self.node_of[k] as usize == t {
            return self.first[k] - panel.first;
        }
        self.places[panel.border + self.border(t).partition_point(|&j| (j as usize) < k)]
    }

    /// Offset of block (i, j) in the factors, and the stride of its rows. Symmetric factors have no U.
    pub fn offset(&self, i: usize, j: usize) -> (u32, u32) {
        let t = self.node_of[i].min(self.node_of[j]) as usize;
        let panel = &self.panels[t];
        let (row, column, width) = (self.place(t, i), self.place(t, j), panel.p + panel.m);
        if self.symmetric {
            return (panel.offset + row * panel.p + column, panel.p);
        }
        if row < panel.p {
            (panel.offset + row * width + column, width)
        } else {
            (panel.offset + panel.p * width + (row - panel.p) * panel.p + column, panel.p)
        }
    }
}

/// The number of entries of a panel of p pivots with m border rows.
pub fn panel_entries(symmetric: bool, p: u32, m: u32) -> u32 {
    p * (p + if symmetric { m } else { 2 * m })
}

impl FactorLayout {
    /// The sources of a node of one block; `None` if an entry is missing or too large.
    pub fn sources(&self, pattern: &BlockPattern, s: usize) -> Option<Vec<LeafSource>> {
        let order = &self.symbolic.order;
        let own = order[self.panels[s].start] as usize;
        let source = |other: usize| {
            let (upper, lower) = (pattern.offset(own, other)?, pattern.offset(other, own)?);
            let size = pattern.size(other);
            (1..=SMALL).contains(&size).then_some(LeafSource { upper, lower, size: size as u32 })
        };
        std::iter::once(own).chain(self.border(s).iter().map(|&j| order[j as usize] as usize)).map(source).collect()
    }
}
