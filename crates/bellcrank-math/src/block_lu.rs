//! Block elimination in a fixed order: the production solver.
//!
//! The blocks are eliminated in a static order ([`crate::ordering`]); neighbours in that order with
//! the same structure are merged into *nodes*. A node keeps its pivot rows and columns dense,
//!
//! ```text
//!     ┌─────────┬───────────────┐
//!     │ D  p×p  │ U  p×m        │   [D | U] by rows, p + m wide
//!     ├─────────┼───────────────┘
//!     │ L  m×p  │                   L by rows, p wide
//!     └─────────┘
//! ```
//!
//! and, once its pivots are gone, subtracts L D⁻¹ U from the nodes of its m border rows, at offsets
//! that were listed by the analysis. Diagonal blocks are kept inverted, U is kept as D⁻¹U:
//! right-looking block LU [Golub & Van Loan 2013, 3.2.10] on a supernodal structure.

use crate::{
    blocks::{BlockMatrix, BlockPattern, Class},
    ordering::{Lists, Symbolic, symbolic},
    solver::{LinearError, LinearSolver},
};
use std::{cmp::Ordering, sync::Arc};

/// A multiplier's pivot below this part of the magnitudes summed into it is noise: its constraint
/// is redundant. Redundant rows were seen at 2e-15, needed ones at 0.1.
const REDUNDANT: f64 = 1e-9;

/// Diagonal pivots above this part of their magnitude need no search for a better one.
const SAFE: f64 = 0.02;

/// Diagonal blocks are joined up to this size; the numeric kernels know these sizes.
const SMALL: usize = 6;

/// Nodes with a border this wide take several diagonal blocks, up to `WIDEST` pivots.
const WIDE_BORDER: usize = 24;
const WIDEST: usize = 24;

/// Columns of a border that are spread together.
const PIECE: usize = 8;

/// Block LU with a static order and pivoting inside the diagonal blocks only.
#[derive(Default)]
pub struct BlockLu {
    plan: Plan,
    values: Vec<f64>,
    /// Σ |contributions| to every diagonal entry, in elimination order.
    magnitude: Vec<f64>,
    x: Vec<f64>,
    strip: Vec<f64>,
    pivot: Pivot,
    dropped: Vec<usize>,
    /// The largest magnitude over pivot.
    growth: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Elimination position of the first pivot.
    first: u32,
    p: u32,
    m: u32,
    /// Where the panel begins in the values.
    panel: u32,
    /// Where its lists begin: diagonal blocks, border positions, pieces, targets.
    block: u32,
    border: u32,
    piece: u32,
    target: u32,
    /// How many panels are in use, in order of first use, once this node is eliminated.
    opened: u32,
}

/// A block of the matrix and its place in a panel.
#[derive(Clone, Copy, Debug)]
struct Copy {
    from: u32,
    to: u32,
    stride: u32,
    rows: u32,
    columns: u32,
}

impl Copy {
    #[inline(always)]
    fn run<const C: usize>(&self, from: &[f64], to: &mut [f64]) {
        for r in 0..self.rows as usize {
            *at_mut::<C>(to, self.to as usize + r * self.stride as usize) = *at(from, self.from as usize + r * C);
        }
    }
}

/// A panel in order of first use, with the end of its copies.
#[derive(Clone, Copy, Debug)]
struct Opening {
    node: u32,
    copies: u32,
}

/// What the analysis found; never changed by the numeric phases.
#[derive(Default)]
struct Plan {
    dimension: usize,
    entries: usize,
    /// With one more at the end, to close the lists.
    nodes: Vec<Node>,
    /// Position of a diagonal block inside its node, and its class.
    blocks: Vec<(u32, Class)>,
    /// Elimination positions of the border rows.
    border: Vec<u32>,
    /// Lengths of the pieces of the borders: columns that stay adjacent in every panel.
    pieces: Vec<u32>,
    /// For every piece and border row: where it goes, counted from the end of the node's panel.
    targets: Vec<u32>,
    openings: Vec<Opening>,
    copies: Vec<Copy>,
    /// Scalar row at every elimination position.
    scalar: Vec<u32>,
    length: usize,
    widest: usize,
    /// The largest diagonal block.
    largest: usize,
}

impl Plan {
    fn new(pattern: &BlockPattern) -> Result<Plan, LinearError> {
        let Symbolic { order, below, .. } = symbolic(pattern)?;
        let n = order.len();
        let size = |k: usize| pattern.size(order[k] as usize);
        let mut plan = Plan { dimension: pattern.dimension(), entries: pattern.values(), ..Plan::default() };

        // Elimination positions of the blocks.
        let mut position = vec![0; n]; // of a block, in blocks
        let mut first = Vec::with_capacity(n + 1); // in scalars
        for (k, &i) in order.iter().enumerate() {
            position[i as usize] = k;
            first.push(plan.scalar.len() as u32);
            plan.scalar.extend(pattern.range(i as usize).map(|s| s as u32));
        }
        first.push(plan.scalar.len() as u32);

        // Nodes: runs of block columns with one structure.
        let class = |k: usize| pattern.class(order[k] as usize);
        let border_of = |k: usize| below[k].iter().map(|&j| size(j as usize)).sum::<usize>();
        let mut node_of = vec![0; n];
        let mut last_block = Vec::new(); // of every node
        let mut k = 0;
        while k < n {
            let start = k;
            while k + 1 < n
                && below[k].first() == Some(&(k as u32 + 1))
                && below[k].len() == below[k + 1].len() + 1
                && match (first[k + 2] - first[start]) as usize {
                    p if p <= SMALL => class(k) == class(k + 1),
                    p => p <= WIDEST && border_of(k) >= WIDE_BORDER,
                }
            {
                k += 1;
            }
            let m: usize = below[k].iter().map(|&j| size(j as usize)).sum();
            let p = (first[k + 1] - first[start]) as usize;
            let node = plan.nodes.len();
            plan.nodes.push(Node {
                first: first[start],
                p: p as u32,
                m: m as u32,
                panel: plan.length as u32,
                block: plan.blocks.len() as u32,
                ..Node::default()
            });
            let mut joined = 0; // first block of the diagonal block at hand
            for b in start..=k {
                node_of[b] = node as u32;
                if b == start || class(b) != class(joined) || (first[b + 1] - first[joined]) as usize > SMALL {
                    joined = b;
                    plan.blocks.push((first[b] - first[start], class(b)));
                }
                plan.largest = plan.largest.max((first[b + 1] - first[joined]) as usize);
            }
            plan.length += plan.nodes[node].entries() as usize;
            plan.widest = plan.widest.max(p + m);
            last_block.push(k);
            k += 1;
        }

        // Borders, runs and targets.
        let nodes = plan.nodes.len();
        let mut used_by: Vec<u32> = (0..nodes as u32).collect();
        let mut place = Vec::new(); // of border block b in the node of border block a ≤ b
        for s in 0..nodes {
            let rows = &below[last_block[s]];
            plan.nodes[s].border = plan.border.len() as u32;
            plan.nodes[s].piece = plan.pieces.len() as u32;
            plan.nodes[s].target = plan.targets.len() as u32;
            let mut pieces: Vec<(usize, usize, u32)> = Vec::new(); // border block, column in it, length
            for (b, &j) in rows.iter().enumerate() {
                let j = j as usize;
                plan.border.extend(first[j]..first[j + 1]);
                let t = node_of[j] as usize;
                used_by[t] = used_by[t].min(s as u32);
                let follows = b > 0 && rows[b - 1] as usize + 1 == j && node_of[j - 1] == node_of[j];
                match pieces.last_mut() {
                    Some(piece) if follows && piece.2 as usize + size(j) <= PIECE => piece.2 += size(j) as u32,
                    _ => {
                        let starts = (0..size(j)).step_by(PIECE);
                        pieces.extend(starts.map(|c| (b, c, (size(j) - c).min(PIECE) as u32)));
                    }
                }
            }
            plan.pieces.extend(pieces.iter().map(|piece| piece.2));
            // Place of border block b among the rows of the node of a, for a ≤ b.
            place.clear();
            place.resize(rows.len() * rows.len(), 0u32);
            for (a, &i) in rows.iter().enumerate() {
                let t = node_of[i as usize] as usize;
                let node = plan.nodes[t];
                let mut later = below[last_block[t]].iter();
                let mut offset = node.p;
                for (b, &j) in rows.iter().enumerate().skip(a) {
                    place[a * rows.len() + b] = if node_of[j as usize] as usize == t {
                        first[j as usize] - node.first
                    } else {
                        for &k in later.by_ref() {
                            if k == j {
                                break;
                            }
                            offset += size(k as usize) as u32;
                        }
                        let here = offset;
                        offset += size(j as usize) as u32;
                        here
                    };
                }
            }
            let end = plan.nodes[s].panel + plan.nodes[s].entries();
            for &(b, c, _) in &pieces {
                for (a, &i) in rows.iter().enumerate() {
                    let (i, j) = (i as usize, rows[b] as usize);
                    let node = plan.nodes[node_of[i].min(node_of[j]) as usize];
                    let (row, column) = match node_of[i].cmp(&node_of[j]) {
                        Ordering::Less => (first[i] - node.first, place[a * rows.len() + b]),
                        Ordering::Equal => (first[i] - node.first, first[j] - node.first),
                        Ordering::Greater => (place[b * rows.len() + a], first[j] - node.first),
                    };
                    let targets = (0..size(i) as u32).map(|r| node.entry(row + r, column + c as u32) - end);
                    plan.targets.extend(targets);
                }
            }
        }
        plan.nodes.push(Node {
            first: plan.dimension as u32,
            panel: plan.length as u32,
            block: plan.blocks.len() as u32,
            border: plan.border.len() as u32,
            piece: plan.pieces.len() as u32,
            target: plan.targets.len() as u32,
            ..Node::default()
        });

        // Copies of the matrix into the panels, by order of first use.
        let mut by_node: Vec<(u32, u32)> = Vec::new(); // (node, entry)
        let mut entries = Vec::new();
        for i in 0..n {
            for (j, from) in pattern.row(i) {
                let (row, column) = (position[i], position[j]);
                let t = node_of[row.min(column)] as usize;
                let node = plan.nodes[t];
                let place = |k: usize| {
                    if node_of[k] as usize == t {
                        return first[k] - node.first;
                    }
                    let rows = &below[last_block[t]];
                    node.p
                        + rows.iter().take_while(|&&j| j as usize != k).map(|&j| size(j as usize) as u32).sum::<u32>()
                };
                let (row, column) = (place(row), place(column));
                by_node.push((t as u32, entries.len() as u32));
                entries.push(Copy {
                    from: from as u32,
                    to: node.entry(row, column),
                    stride: node.entry(row + 1, column) - node.entry(row, column),
                    rows: pattern.size(i) as u32,
                    columns: pattern.size(j) as u32,
                });
            }
        }
        let by_node = Lists::grouped(nodes, &by_node);
        let mut opening: Vec<u32> = (0..nodes as u32).collect();
        opening.sort_by_key(|&t| (used_by[t as usize], t));
        for &t in &opening {
            plan.copies.extend(by_node.of(t as usize).iter().map(|&e| entries[e as usize]));
            plan.openings.push(Opening { node: t, copies: plan.copies.len() as u32 });
        }
        let mut opened = 0;
        for s in 0..nodes {
            while opening.get(opened).is_some_and(|&t| used_by[t as usize] <= s as u32) {
                opened += 1;
            }
            plan.nodes[s].opened = opened as u32;
        }
        plan.check();
        Ok(plan)
    }

    /// The size that the kernels of node `s` are made for, or zero: any.
    #[inline(always)]
    fn kernel(&self, s: usize) -> u32 {
        let node = self.nodes[s];
        if self.nodes[s + 1].block - node.block == 1 && node.p as usize <= SMALL { node.p } else { 0 }
    }

    /// Asserts what the unchecked accesses of the kernels rely on.
    fn check(&self) {
        let inside = |offset: u32, size: u32, length: usize| offset as usize + size as usize <= length;
        for pair in self.nodes.windows(2) {
            let (node, next) = (pair[0], pair[1]);
            assert!(node.panel + node.entries() == next.panel && inside(node.first, node.p, self.dimension));
            let targets = &self.targets[node.target as usize..next.target as usize];
            let pieces = &self.pieces[node.piece as usize..next.piece as usize];
            assert!((next.border - node.border, pieces.iter().sum()) == (node.m, node.m));
            assert!(pieces.len() * node.m as usize == targets.len());
            for (&piece, targets) in pieces.iter().zip(targets.chunks_exact(node.m.max(1) as usize)) {
                assert!(targets.iter().all(|&to| inside(next.panel + to, piece, self.length)));
            }
        }
        assert!(self.nodes.last().is_none_or(|end| end.panel as usize == self.length));
        assert!(self.border.iter().all(|&i| inside(i, 1, self.dimension)));
        for copy in &self.copies {
            let last = copy.rows.saturating_sub(1);
            assert!(inside(copy.from, copy.rows * copy.columns, self.entries));
            assert!(inside(copy.to + last * copy.stride, copy.columns, self.length));
        }
    }
}

impl Node {
    /// The number of entries of the panel.
    fn entries(&self) -> u32 {
        self.p * (self.p + 2 * self.m)
    }

    /// Offset of the entry (row, column) of the panel; rows and columns from p on are border.
    fn entry(&self, row: u32, column: u32) -> u32 {
        if row < self.p {
            self.panel + row * (self.p + self.m) + column
        } else {
            self.panel + self.p * (self.p + self.m) + (row - self.p) * self.p + column
        }
    }
}

/// Scratch for the inversion of one diagonal block.
#[derive(Default)]
struct Pivot {
    inverse: Vec<f64>,
    work: Vec<f64>,
    scale: Vec<f64>,
    /// Pivot row of every column, or none.
    row_of: Vec<usize>,
    row_used: Vec<bool>,
}

impl Pivot {
    fn resize(&mut self, n: usize) {
        self.inverse.resize(n * n, 0.0);
        self.work.resize(n * n, 0.0);
        self.scale.resize(n, 0.0);
        self.row_of.resize(n, 0);
        self.row_used.resize(n, false);
    }

    /// `inverse` ← D⁻¹ for the block `d` of n rows, `stride` apart, at elimination position `first`;
    /// returns the largest magnitude over pivot.
    fn invert(
        &mut self,
        plan: &Plan,
        first: usize,
        d: &[f64],
        stride: usize,
        n: usize,
        magnitude: &[f64],
        class: Class,
    ) -> Result<f64, LinearError> {
        self.row_used[..n].fill(true);
        let w = &mut self.inverse[..n * n];
        for i in 0..n {
            w[i * n..(i + 1) * n].copy_from_slice(&d[i * stride..i * stride + n]);
        }
        let mut growth = 0.0;
        for k in 0..n {
            let size = magnitude[k] / w[k * n + k].abs();
            growth = if size <= growth { growth } else { size };
            exchange(w, n, k, k);
        }
        if growth <= 1.0 / SAFE {
            return Ok(growth);
        }
        self.search(plan, first, d, stride, n, magnitude, class)
    }

    /// `invert` by Gauss–Jordan exchanges with complete pivoting, relative to the magnitudes of row
    /// and column. Rows without a usable pivot are left unmarked in `row_used` if the class allows
    /// that; their unknowns come out zero.
    #[cold]
    fn search(
        &mut self,
        plan: &Plan,
        first: usize,
        d: &[f64],
        stride: usize,
        n: usize,
        magnitude: &[f64],
        class: Class,
    ) -> Result<f64, LinearError> {
        let row_at = |i: usize| plan.scalar[first + i] as usize;
        let w = &mut self.work[..n * n];
        for i in 0..n {
            w[i * n..(i + 1) * n].copy_from_slice(&d[i * stride..i * stride + n]);
        }
        for i in 0..n {
            let row = w[i * n..(i + 1) * n].iter().fold(0.0, |m: f64, a| m.max(a.abs()));
            if !row.is_finite() || w[i * n..(i + 1) * n].iter().any(|a| a.is_nan()) {
                return Err(LinearError::NotFinite { row: row_at(i) });
            }
            let scale = if magnitude[i] > 0.0 { magnitude[i] } else { row };
            self.scale[i] = if scale > 0.0 { scale.sqrt().recip() } else { 0.0 };
        }
        self.row_used[..n].fill(false);
        self.row_of[..n].fill(usize::MAX);
        let mut smallest = f64::INFINITY;
        for _ in 0..n {
            let mut best = (0.0, 0, 0);
            for r in (0..n).filter(|&r| !self.row_used[r]) {
                for c in (0..n).filter(|&c| self.row_of[c] == usize::MAX) {
                    let size = w[r * n + c].abs() * self.scale[r] * self.scale[c];
                    if size > best.0 {
                        best = (size, r, c);
                    }
                }
            }
            let (size, r, c) = best;
            if size == 0.0 || (class == Class::Multiplier && size < REDUNDANT) {
                break;
            }
            smallest = smallest.min(size);
            self.row_used[r] = true;
            self.row_of[c] = r;
            exchange(w, n, r, c);
        }
        if class != Class::Multiplier
            && let Some(row) = self.row_used[..n].iter().position(|used| !used)
        {
            return Err(LinearError::Singular { row: row_at(row) });
        }
        // Row r of w now speaks of the unknown c it was exchanged with, column c of the row r.
        self.inverse[..n * n].fill(0.0);
        for c in 0..n {
            for k in 0..n {
                let (r, s) = (self.row_of[c], self.row_of[k]);
                if r != usize::MAX && s != usize::MAX {
                    self.inverse[c * n + s] = w[r * n + k];
                }
            }
        }
        Ok(smallest.recip())
    }
}

/// Exchanges unknown c with right-hand side r in y = W x.
#[inline]
fn exchange(w: &mut [f64], n: usize, r: usize, c: usize) {
    let inverse = w[r * n + c].recip();
    for j in 0..n {
        w[r * n + j] *= inverse;
    }
    w[r * n + c] = inverse;
    for i in (0..n).filter(|&i| i != r) {
        let factor = w[i * n + c];
        w[i * n + c] = 0.0;
        for j in 0..n {
            w[i * n + j] -= factor * w[r * n + j];
        }
    }
}

impl BlockLu {
    /// A solver that has seen no pattern yet.
    pub fn new() -> BlockLu {
        BlockLu::default()
    }

    /// A solver for matrices of this pattern, analyzed.
    pub fn for_pattern(pattern: &BlockPattern) -> Result<BlockLu, LinearError> {
        let plan = Plan::new(pattern)?;
        let multipliers = (0..pattern.blocks()).filter(|&b| pattern.class(b) == Class::Multiplier);
        let mut pivot = Pivot::default();
        pivot.resize(plan.largest);
        Ok(BlockLu {
            values: vec![0.0; plan.length],
            magnitude: vec![0.0; plan.dimension],
            x: vec![0.0; plan.dimension],
            strip: vec![0.0; plan.widest * plan.largest],
            pivot,
            dropped: Vec::with_capacity(multipliers.map(|b| pattern.size(b)).sum()),
            growth: 0.0,
            plan,
        })
    }

    /// The number of scalars stored in the factors.
    pub fn factor_entries(&self) -> usize {
        self.plan.length
    }

    /// Copies the matrix into the panels that are used up to node `s`.
    fn open(&mut self, a: &BlockMatrix, opened: &mut usize, s: usize) {
        let plan = &self.plan;
        while *opened < plan.nodes[s].opened as usize {
            let copies = if *opened == 0 { 0 } else { plan.openings[*opened - 1].copies };
            let Opening { node: t, copies: end } = plan.openings[*opened];
            *opened += 1;
            let (node, next) = (plan.nodes[t as usize], plan.nodes[t as usize + 1]);
            self.values[node.panel as usize..next.panel as usize].fill(0.0);
            for copy in &plan.copies[copies as usize..end as usize] {
                let values = &mut self.values;
                match copy.columns {
                    1 => copy.run::<1>(&a.values, values),
                    2 => copy.run::<2>(&a.values, values),
                    3 => copy.run::<3>(&a.values, values),
                    4 => copy.run::<4>(&a.values, values),
                    5 => copy.run::<5>(&a.values, values),
                    6 => copy.run::<6>(&a.values, values),
                    columns => {
                        let columns = columns as usize;
                        for r in 0..copy.rows as usize {
                            let (from, to) =
                                (copy.from as usize + r * columns, copy.to as usize + r * copy.stride as usize);
                            values[to..to + columns].copy_from_slice(&a.values[from..from + columns]);
                        }
                    }
                }
            }
            let (first, p, width) = (node.first as usize, node.p as usize, (node.p + node.m) as usize);
            for r in 0..p {
                self.magnitude[first + r] = self.values[node.panel as usize + r * (width + 1)].abs();
            }
        }
    }

    /// Eliminates the pivots of node `s` within its panel.
    fn eliminate(&mut self, s: usize) -> Result<(), LinearError> {
        let plan = &self.plan;
        let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
        let (first, p, m) = (node.first as usize, node.p as usize, node.m as usize);
        let width = p + m;
        let (upper, lower) = self.values[node.panel as usize..next.panel as usize].split_at_mut(p * width);
        for b in node.block as usize..next.block as usize {
            let (k, class) = (plan.blocks[b].0 as usize, plan.blocks[b].1);
            let end = if b + 1 < next.block as usize { plan.blocks[b + 1].0 as usize } else { p };
            let n = end - k;
            let magnitude = &self.magnitude[first + k..first + end];
            let growth = self.pivot.invert(plan, first + k, &upper[k * width + k..], width, n, magnitude, class)?;
            self.growth = self.growth.max(growth);
            let unused = self.pivot.row_used[..n].iter().enumerate().filter(|(_, used)| !**used);
            self.dropped.extend(unused.map(|(r, _)| plan.scalar[first + k + r] as usize));
            let inverse = &self.pivot.inverse[..n * n];

            // U ← D⁻¹ U
            let tail = width - end;
            let old = &mut self.strip[..n * tail];
            for r in 0..n {
                let row = (k + r) * width;
                old[r * tail..(r + 1) * tail].copy_from_slice(&upper[row + end..row + width]);
                upper[row + k..row + end].copy_from_slice(&inverse[r * n..(r + 1) * n]);
            }
            for r in 0..n {
                let row = &mut upper[(k + r) * width + end..(k + r + 1) * width];
                row.fill(0.0);
                for c in 0..n {
                    let factor = inverse[r * n + c];
                    for (u, old) in row.iter_mut().zip(&old[c * tail..(c + 1) * tail]) {
                        *u += factor * old;
                    }
                }
            }

            // The rest of the node's pivots.
            let (done, rest) = upper.split_at_mut(end * width);
            for (r, row) in rest.chunks_exact_mut(width.max(1)).enumerate() {
                let before = row[end + r];
                for c in 0..n {
                    let factor = row[k + c];
                    for (x, u) in row[end..].iter_mut().zip(&done[(k + c) * width + end..(k + c + 1) * width]) {
                        *x -= factor * u;
                    }
                }
                self.magnitude[first + end + r] += (row[end + r] - before).abs();
            }
            if end < p {
                for row in lower.chunks_exact_mut(p.max(1)) {
                    for c in 0..n {
                        let factor = row[k + c];
                        for (x, u) in row[end..].iter_mut().zip(&done[(k + c) * width + end..(k + c) * width + p]) {
                            *x -= factor * u;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Subtracts L (D⁻¹ U) of node `s` from the panels of its border.
    fn spread(&mut self, s: usize) {
        let plan = &self.plan;
        let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
        let (p, m) = (node.p as usize, node.m as usize);
        let width = p + m;
        // later panels only: borders are eliminated after their node
        let (own, later) = self.values.split_at_mut(next.panel as usize);
        let (upper, lower) = own[node.panel as usize..].split_at(p * width);
        let border = &plan.border[node.border as usize..next.border as usize];
        for (i, (l, &to)) in lower.chunks_exact(p.max(1)).zip(border).enumerate() {
            let sum: f64 = l.iter().enumerate().map(|(r, l)| (l * upper[r * width + p + i]).abs()).sum();
            self.magnitude[to as usize] += sum;
        }
        let pieces = &plan.pieces[node.piece as usize..next.piece as usize];
        let targets = &plan.targets[node.target as usize..next.target as usize];
        let mut column = p;
        for (&piece, targets) in pieces.iter().zip(targets.chunks_exact(m.max(1))) {
            let u = &upper[column..];
            match piece {
                1 => spread_piece::<1>(lower, u, p, width, targets, later),
                2 => spread_piece::<2>(lower, u, p, width, targets, later),
                3 => spread_piece::<3>(lower, u, p, width, targets, later),
                4 => spread_piece::<4>(lower, u, p, width, targets, later),
                5 => spread_piece::<5>(lower, u, p, width, targets, later),
                6 => spread_piece::<6>(lower, u, p, width, targets, later),
                7 => spread_piece::<7>(lower, u, p, width, targets, later),
                _ => spread_piece::<8>(lower, u, p, width, targets, later),
            }
            column += piece as usize;
        }
    }

    /// `eliminate` and `spread` for a node with one diagonal block of P pivots.
    #[inline(always)]
    fn eliminate_small<const P: usize>(&mut self, s: usize) -> Result<(), LinearError> {
        let plan = &self.plan;
        let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
        let (first, m) = (node.first as usize, node.m as usize);
        let width = P + m;
        let (own, later) = self.values.split_at_mut(next.panel as usize);
        let (upper, lower) = own[node.panel as usize..].split_at_mut(P * width);

        let mut inverse = [[0.0; P]; P];
        let magnitude = *at(&self.magnitude, first);
        for i in 0..P {
            inverse[i] = *at(upper, i * width);
        }
        let growth = invert(&mut inverse, &magnitude);
        if growth <= 1.0 / SAFE {
            self.growth = self.growth.max(growth);
        } else {
            let class = plan.blocks[node.block as usize].1;
            self.growth = self.growth.max(self.pivot.search(plan, first, upper, width, P, &magnitude, class)?);
            let unused = self.pivot.row_used[..P].iter().enumerate().filter(|(_, used)| !**used);
            self.dropped.extend(unused.map(|(r, _)| plan.scalar[first + r] as usize));
            for i in 0..P {
                inverse[i].copy_from_slice(&self.pivot.inverse[i * P..(i + 1) * P]);
            }
        }
        for i in 0..P {
            *at_mut(upper, i * width) = inverse[i];
        }
        let mut column = P;
        while column + 4 <= width {
            scale::<P, 4>(&inverse, upper, width, column);
            column += 4;
        }
        while column < width {
            scale::<P, 1>(&inverse, upper, width, column);
            column += 1;
        }

        let border = &plan.border[node.border as usize..next.border as usize];
        for (i, &to) in border.iter().enumerate() {
            let l = at::<P>(lower, i * P);
            let mut sum = 0.0;
            for r in 0..P {
                sum += (l[r] * at::<1>(upper, r * width + P + i)[0]).abs();
            }
            at_mut::<1>(&mut self.magnitude, to as usize)[0] += sum;
        }
        let pieces = &plan.pieces[node.piece as usize..next.piece as usize];
        let targets = &plan.targets[node.target as usize..next.target as usize];
        let mut column = P;
        for (&piece, targets) in pieces.iter().zip(targets.chunks_exact(m.max(1))) {
            let u = &upper[column..];
            match piece {
                1 => spread_piece_small::<P, 1>(lower, u, width, targets, later),
                2 => spread_piece_small::<P, 2>(lower, u, width, targets, later),
                3 => spread_piece_small::<P, 3>(lower, u, width, targets, later),
                4 => spread_piece_small::<P, 4>(lower, u, width, targets, later),
                5 => spread_piece_small::<P, 5>(lower, u, width, targets, later),
                6 => spread_piece_small::<P, 6>(lower, u, width, targets, later),
                7 => spread_piece_small::<P, 7>(lower, u, width, targets, later),
                _ => spread_piece_small::<P, 8>(lower, u, width, targets, later),
            }
            column += piece as usize;
        }
        Ok(())
    }
}

/// N numbers of `v` from `i` on.
///
/// The kernels spend a third of their time on bounds checks. Their offsets all come from a `Plan`,
/// whose constructor has checked that they stay inside the arrays.
#[inline(always)]
fn at<const N: usize>(v: &[f64], i: usize) -> &[f64; N] {
    debug_assert!(i + N <= v.len());
    // SAFETY: in bounds by `Plan::check`; arrays of f64 have the alignment of f64.
    unsafe { &*v.as_ptr().add(i).cast() }
}

/// N numbers of `v` from `i` on, to write to.
#[inline(always)]
fn at_mut<const N: usize>(v: &mut [f64], i: usize) -> &mut [f64; N] {
    debug_assert!(i + N <= v.len());
    // SAFETY: as for `at`.
    unsafe { &mut *v.as_mut_ptr().add(i).cast() }
}

/// W ← W⁻¹ by exchanges along the diagonal; returns the largest magnitude over pivot, not a number
/// or infinite if a pivot vanished.
#[inline(always)]
fn invert<const P: usize>(w: &mut [[f64; P]; P], magnitude: &[f64; P]) -> f64 {
    let mut growth = 0.0;
    for k in 0..P {
        let inverse = w[k][k].recip();
        let size = inverse.abs() * magnitude[k];
        growth = if size <= growth { growth } else { size };
        w[k][k] = 1.0;
        for j in 0..P {
            w[k][j] *= inverse;
        }
        for i in 0..P {
            if i != k {
                let factor = w[i][k];
                w[i][k] = 0.0;
                for j in 0..P {
                    w[i][j] -= factor * w[k][j];
                }
            }
        }
    }
    growth
}

/// U ← D⁻¹ U for C columns.
#[inline(always)]
fn scale<const P: usize, const C: usize>(inverse: &[[f64; P]; P], upper: &mut [f64], width: usize, column: usize) {
    let mut u = [[0.0; C]; P];
    for r in 0..P {
        u[r] = *at(upper, r * width + column);
    }
    for r in 0..P {
        let mut x = [0.0; C];
        for k in 0..P {
            for c in 0..C {
                x[c] += inverse[r][k] * u[k][c];
            }
        }
        *at_mut(upper, r * width + column) = x;
    }
}

/// Subtracts B columns of L U from the places of the border rows.
#[inline(always)]
fn spread_piece_small<const P: usize, const B: usize>(
    lower: &[f64],
    u: &[f64],
    width: usize,
    targets: &[u32],
    later: &mut [f64],
) {
    let mut columns = [[0.0; B]; P];
    for r in 0..P {
        columns[r] = *at(u, r * width);
    }
    for (i, &to) in targets.iter().enumerate() {
        let l = at::<P>(lower, i * P);
        let x = at_mut::<B>(later, to as usize);
        let mut sum = [0.0; B];
        for r in 0..P {
            for c in 0..B {
                sum[c] += l[r] * columns[r][c];
            }
        }
        for c in 0..B {
            x[c] -= sum[c];
        }
    }
}

/// `spread_piece_small` for any number of pivots.
#[inline(always)]
fn spread_piece<const B: usize>(lower: &[f64], u: &[f64], p: usize, width: usize, targets: &[u32], later: &mut [f64]) {
    for (l, &to) in lower.chunks_exact(p.max(1)).zip(targets) {
        let mut sum = [0.0; B];
        for (l, u) in l.iter().zip(u.chunks(width)) {
            let u = &u[..B];
            for c in 0..B {
                sum[c] += l * u[c];
            }
        }
        let x = &mut later[to as usize..to as usize + B];
        for c in 0..B {
            x[c] -= sum[c];
        }
    }
}

impl LinearSolver for BlockLu {
    fn analyze(&mut self, pattern: &Arc<BlockPattern>) -> Result<(), LinearError> {
        *self = BlockLu::for_pattern(pattern)?;
        Ok(())
    }

    fn factor(&mut self, a: &BlockMatrix) -> Result<(), LinearError> {
        if a.values.len() != self.plan.entries {
            return Err(LinearError::Sizes { expected: self.plan.entries, found: a.values.len() });
        }
        self.dropped.clear();
        self.growth = 0.0;
        let mut opened = 0;
        for s in 0..self.plan.nodes.len().saturating_sub(1) {
            self.open(a, &mut opened, s);
            match self.plan.kernel(s) {
                1 => self.eliminate_small::<1>(s)?,
                2 => self.eliminate_small::<2>(s)?,
                3 => self.eliminate_small::<3>(s)?,
                4 => self.eliminate_small::<4>(s)?,
                5 => self.eliminate_small::<5>(s)?,
                6 => self.eliminate_small::<6>(s)?,
                _ => {
                    self.eliminate(s)?;
                    self.spread(s);
                }
            }
        }
        self.dropped.sort_unstable();
        Ok(())
    }

    fn solve(&mut self, b: &mut [f64]) -> Result<(), LinearError> {
        let plan = &self.plan;
        if b.len() != plan.dimension {
            return Err(LinearError::Sizes { expected: plan.dimension, found: b.len() });
        }
        let x = &mut self.x;
        for (x, &i) in x.iter_mut().zip(&plan.scalar) {
            *x = b[i as usize];
        }
        for (s, pair) in plan.nodes.windows(2).enumerate() {
            let values = &self.values[pair[0].panel as usize..pair[1].panel as usize];
            match plan.kernel(s) {
                1 => forward_small::<1>(plan, s, values, x),
                2 => forward_small::<2>(plan, s, values, x),
                3 => forward_small::<3>(plan, s, values, x),
                4 => forward_small::<4>(plan, s, values, x),
                5 => forward_small::<5>(plan, s, values, x),
                6 => forward_small::<6>(plan, s, values, x),
                _ => forward(plan, s, values, x, &mut self.strip),
            }
        }
        for (s, pair) in plan.nodes.windows(2).enumerate().rev() {
            let values = &self.values[pair[0].panel as usize..pair[1].panel as usize];
            match plan.kernel(s) {
                1 => backward_small::<1>(plan, s, values, x),
                2 => backward_small::<2>(plan, s, values, x),
                3 => backward_small::<3>(plan, s, values, x),
                4 => backward_small::<4>(plan, s, values, x),
                5 => backward_small::<5>(plan, s, values, x),
                6 => backward_small::<6>(plan, s, values, x),
                _ => backward(plan, s, values, x, &mut self.strip),
            }
        }
        for (x, &i) in x.iter().zip(&plan.scalar) {
            b[i as usize] = *x;
        }
        Ok(())
    }

    fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    fn smallest_kept_pivot(&self) -> f64 {
        self.growth.recip()
    }

    fn name(&self) -> &'static str {
        "block LU"
    }
}

/// x ← D⁻¹ x at the pivots of a node, then x −= L x at its border.
#[inline(always)]
fn forward_small<const P: usize>(plan: &Plan, s: usize, values: &[f64], x: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, width) = (node.first as usize, P + node.m as usize);
    let old = *at::<P>(x, first);
    let mut own = [0.0; P];
    for r in 0..P {
        let inverse = at::<P>(values, r * width);
        for c in 0..P {
            own[r] += inverse[c] * old[c];
        }
    }
    *at_mut(x, first) = own;
    let border = &plan.border[node.border as usize..next.border as usize];
    for (i, &to) in border.iter().enumerate() {
        let l = at::<P>(values, P * width + i * P);
        let mut sum = 0.0;
        for r in 0..P {
            sum += l[r] * own[r];
        }
        at_mut::<1>(x, to as usize)[0] -= sum;
    }
}

/// x −= D⁻¹U x at the pivots of a node, from those of its border.
#[inline(always)]
fn backward_small<const P: usize>(plan: &Plan, s: usize, values: &[f64], x: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, width) = (node.first as usize, P + node.m as usize);
    let mut own = *at::<P>(x, first);
    let border = &plan.border[node.border as usize..next.border as usize];
    for (i, &from) in border.iter().enumerate() {
        let x = at::<1>(x, from as usize)[0];
        for r in 0..P {
            own[r] -= at::<1>(values, r * width + P + i)[0] * x;
        }
    }
    *at_mut(x, first) = own;
}

/// `forward_small` for any node.
fn forward(plan: &Plan, s: usize, values: &[f64], x: &mut [f64], strip: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, p, width) = (node.first as usize, node.p as usize, (node.p + node.m) as usize);
    let (upper, lower) = values.split_at(p * width);
    let (own, later) = x[first..].split_at_mut(p);
    let blocks = &plan.blocks[node.block as usize..next.block as usize];
    for (b, &(k, _)) in blocks.iter().enumerate() {
        let k = k as usize;
        let end = blocks.get(b + 1).map_or(p, |next| next.0 as usize);
        for r in k..end {
            strip[r - k] = dot(&upper[r * width + k..r * width + end], &own[k..end]);
        }
        own[k..end].copy_from_slice(&strip[..end - k]);
        for r in end..p {
            own[r] -= dot(&upper[r * width + k..r * width + end], &own[k..end]);
        }
    }
    let border = &plan.border[node.border as usize..next.border as usize];
    for (l, &i) in lower.chunks_exact(p.max(1)).zip(border) {
        later[i as usize - first - p] -= dot(l, own);
    }
}

/// `backward_small` for any node.
fn backward(plan: &Plan, s: usize, values: &[f64], x: &mut [f64], strip: &mut [f64]) {
    let (node, next) = (plan.nodes[s], plan.nodes[s + 1]);
    let (first, p, width) = (node.first as usize, node.p as usize, (node.p + node.m) as usize);
    let border = &plan.border[node.border as usize..next.border as usize];
    for (x_border, &i) in strip.iter_mut().zip(border) {
        *x_border = x[i as usize];
    }
    let own = &mut x[first..first + p];
    let blocks = &plan.blocks[node.block as usize..next.block as usize];
    let mut end = p;
    for &(k, _) in blocks.iter().rev() {
        let k = k as usize;
        for r in k..end {
            let row = &values[r * width..(r + 1) * width];
            own[r] -= dot(&row[end..p], &own[end..]) + dot(&row[p..], &strip[..border.len()]);
        }
        end = k;
    }
}

#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
#[path = "../tests/samples/mod.rs"]
pub(crate) mod samples;

#[cfg(test)]
mod tests {
    use super::samples::{Form, Random, Sample};
    use super::*;
    use crate::{dense::DenseLu, ordering::fill};

    fn solution(solver: &mut dyn LinearSolver, a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
        solver.analyze(a.pattern()).unwrap();
        solver.factor(a).unwrap();
        let mut x = b.to_vec();
        solver.solve(&mut x).unwrap();
        x
    }

    fn largest(x: impl Iterator<Item = f64>) -> f64 {
        x.fold(0.0, |m, x| if x.abs() > m { x.abs() } else { m })
    }

    fn assert_close(x: &[f64], y: &[f64], tolerance: f64, what: &str) {
        let difference = largest(x.iter().zip(y).map(|(x, y)| x - y));
        assert!(difference <= tolerance * largest(y.iter().copied()), "{what}: {difference:e}");
    }

    fn check(sample: &Sample, what: &str) {
        for form in [Form::Index3, Form::Ggl] {
            let mut rng = Random(5);
            let a = sample.matrix(form, 3.0, &mut rng);
            let b: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
            let mut lu = BlockLu::new();
            let x = solution(&mut lu, &a, &b);
            assert_eq!(lu.dropped(), &[] as &[usize], "{what}");
            assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, what);
        }
    }

    #[test]
    fn trees_chains_and_ladders_agree_with_dense() {
        for seed in 1..6 {
            let mut rng = Random(seed);
            check(&Sample::tree(&mut rng, &[3], 20, 1), "planar chain");
            check(&Sample::tree(&mut rng, &[2, 3, 4, 6], 25, 100), "tree");
            let mut mixed = Sample::tree(&mut rng, &[1, 6, 12], 12, 3);
            mixed.springs = vec![(0, 5), (3, 4), (2, 9), (0, 11)];
            mixed.random_joint(&mut rng, 1, &[1, 7, 10]);
            check(&mixed, "mixed with springs and a joint of three");
        }
        check(&Sample::ladder(6), "ladder");
        check(&Sample::net(5), "net");
    }

    #[test]
    fn one_large_body_and_joint() {
        for (coordinates, rows) in [(4, 2), (40, 11), (40, 39)] {
            let mut rng = Random(11);
            let mut s = Sample { bodies: vec![coordinates], ..Sample::default() };
            s.random_joint(&mut rng, rows, &[0]);
            check(&s, "hand-written");
        }
    }

    /// Bodies' part of the solution with b = A x, against x; returns how many rows were dropped.
    fn check_redundant(sample: &Sample, form: Form, what: &str) -> usize {
        let mut rng = Random(17);
        let a = sample.matrix(form, 50.0, &mut rng);
        let pattern = a.pattern().clone();
        let x: Vec<f64> = (0..pattern.dimension()).map(|_| rng.number()).collect();
        let mut b = vec![0.0; x.len()];
        a.add_times(&x, &mut b);
        let mut lu = BlockLu::new();
        let y = solution(&mut lu, &a, &b);
        for k in (0..pattern.blocks()).filter(|&k| pattern.class(k) != Class::Multiplier) {
            assert_close(&y[pattern.range(k)], &x[pattern.range(k)], 1e-8, what);
        }
        assert!(lu.smallest_kept_pivot() > 1e-6, "{what}: {:e}", lu.smallest_kept_pivot());
        lu.dropped().len()
    }

    #[test]
    fn redundant_constraints_are_dropped_and_bodies_stay() {
        for seed in 1..8 {
            let mut rng = Random(seed);
            for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
                let mut s = Sample::tree(&mut rng, &[3, 6], 15, 4);
                // the same joint twice, one of them scaled
                let mut twin = s.joints[3].clone();
                twin.on.iter_mut().for_each(|(_, g)| g.iter_mut().for_each(|g| *g *= 1e3));
                let rows = twin.rows;
                s.joints.push(twin);
                assert_eq!(check_redundant(&s, form, "twin"), rows * per_row);
                // a row that follows from two others on other bodies
                let (g, h) = (s.joints[5].clone(), s.joints[7].clone());
                let first_row = |joint: &samples::Joint, factor: f64| {
                    let row = |(b, g): &(usize, Vec<f64>)| {
                        (*b, g[..g.len() / joint.rows].iter().map(|g| factor * g).collect::<Vec<f64>>())
                    };
                    joint.on.iter().map(row).collect::<Vec<_>>()
                };
                let mut on = first_row(&g, 2.0);
                for (b, row) in first_row(&h, -0.7) {
                    match on.iter_mut().find(|(a, _)| *a == b) {
                        Some((_, sum)) => sum.iter_mut().zip(&row).for_each(|(s, r)| *s += r),
                        None => on.push((b, row)),
                    }
                }
                s.joints.push(samples::Joint { rows: 1, on });
                assert_eq!(check_redundant(&s, form, "dependent"), (rows + 1) * per_row);
                // inside one joint, a row twice
                let joint = &mut s.joints[0];
                joint.rows += 1;
                for (_, g) in &mut joint.on {
                    let n = g.len() / (joint.rows - 1);
                    g.extend_from_within(..n);
                }
                assert_eq!(check_redundant(&s, form, "row twice"), (rows + 2) * per_row);
            }
        }
    }

    #[test]
    fn closed_loops_of_spatial_revolutes_lose_the_rows_out_of_plane() {
        // A ladder of planar bodies seen out of plane, (z, φx, φy): rods joined by revolutes about z
        // leave three redundant rows per square.
        let m = 20;
        let planar = Sample::ladder(m);
        let mut s = Sample { bodies: planar.bodies.clone(), ..Sample::default() };
        for joint in &planar.joints {
            let on = joint.on.iter().map(|(b, g)| {
                let (sign, y, x) = (g[0], -g[2] * g[0], g[5] * g[0]);
                (*b, vec![sign, sign * y, -sign * x, 0.0, sign, 0.0, 0.0, 0.0, sign])
            });
            s.joints.push(samples::Joint { rows: 3, on: on.collect() });
        }
        for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
            assert_eq!(check_redundant(&s, form, "loops"), 3 * m * per_row);
        }
    }

    #[test]
    fn fill_grows_linearly() {
        let mut rng = Random(23);
        let entries = |s: &Sample, form| fill(s.matrix(form, 1.0, &mut Random(1)).pattern()).unwrap() as f64;
        for form in [Form::Index3, Form::Ggl] {
            for (what, make) in [
                ("chain", Box::new(|n| Sample::tree(&mut rng, &[3], n, 1)) as Box<dyn FnMut(usize) -> Sample>),
                ("tree", Box::new(|n| Sample::tree(&mut Random(2), &[3], n, n / 4))),
                ("ladder", Box::new(|n| Sample::ladder(n / 3))),
            ]
            .iter_mut()
            {
                let (few, many) = (entries(&make(100), form), entries(&make(20_000), form));
                let exponent = (many / few).ln() / 200f64.ln();
                assert!(exponent <= 1.05, "{what}: {few} to {many}, exponent {exponent}");
            }
        }
        assert!(entries(&Sample::ladder(333), Form::Index3) <= 71.0 * 1000.0);
    }

    #[test]
    fn a_shuffled_ladder_fills_no_more() {
        let mut s = Sample::ladder(300);
        let straight = fill(s.matrix(Form::Index3, 1.0, &mut Random(1)).pattern()).unwrap();
        let mut rng = Random(4);
        for i in (1..s.joints.len()).rev() {
            s.joints.swap(i, rng.below(i + 1));
        }
        let mut names: Vec<usize> = (0..s.bodies.len()).collect();
        for i in (1..names.len()).rev() {
            names.swap(i, rng.below(i + 1));
        }
        s.joints.iter_mut().flat_map(|j| &mut j.on).for_each(|(b, _)| *b = names[*b]);
        let shuffled = fill(s.matrix(Form::Index3, 1.0, &mut Random(1)).pattern()).unwrap();
        assert!(shuffled as f64 <= 1.1 * straight as f64, "{straight} to {shuffled}");
    }

    #[test]
    fn the_same_input_gives_the_same_bits() {
        let a = Sample::net(8).matrix(Form::Ggl, 7.0, &mut Random(1));
        let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).cos()).collect();
        let x = solution(&mut BlockLu::new(), &a, &b);
        let mut used = BlockLu::new();
        solution(&mut used, &a, &x);
        assert_eq!(x, solution(&mut used, &a, &b));
    }

    #[test]
    fn what_cannot_be_solved_is_named() {
        let s = Sample::ladder(3);
        let mut a = s.matrix(Form::Index3, 1.0, &mut Random(1));
        let mut lu = BlockLu::for_pattern(a.pattern()).unwrap();
        let good = a.clone();
        if let Some(d) = a.block_mut(4, 4) {
            d[3..6].fill(0.0);
        }
        assert_eq!(lu.factor(&a), Err(LinearError::Singular { row: 13 }));
        if let Some(d) = a.block_mut(4, 4) {
            d[8] = f64::NAN;
        }
        assert_eq!(lu.factor(&a), Err(LinearError::NotFinite { row: 14 }));
        assert_eq!(lu.factor(&good), Ok(()));
        assert_eq!(lu.solve(&mut [0.0]), Err(LinearError::Sizes { expected: 56, found: 1 }));
        let empty = BlockMatrix::new(Arc::new(BlockPattern::new(vec![], vec![], vec![])));
        assert_eq!(solution(&mut lu, &empty, &[]), []);
    }
}
