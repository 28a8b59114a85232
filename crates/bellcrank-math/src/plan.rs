//! The plan of a block elimination: nodes, panels and every offset the numeric phases will need.

use crate::{
    blocks::{BlockPattern, Class},
    ordering::{Lists, Symbolic, symbolic},
    solver::LinearError,
};
use std::cmp::Ordering;

/// Diagonal blocks are joined up to this size; the numeric kernels know these sizes.
pub const SMALL: usize = 6;

/// Nodes with a border this wide take several diagonal blocks, up to `WIDEST` pivots.
const WIDE_BORDER: usize = 24;
const WIDEST: usize = 24;

/// Columns of a border that are spread together.
pub const PIECE: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// Elimination position of the first pivot.
    pub first: u32,
    /// Number of pivots.
    pub p: u32,
    /// Number of border rows.
    pub m: u32,
    /// Where the panel begins in the values.
    pub panel: u32,
    /// Where its lists begin: diagonal blocks, border positions, pieces, targets, sources.
    pub block: u32,
    pub border: u32,
    pub piece: u32,
    pub target: u32,
    pub source: u32,
    /// How many panels are in use, in order of first use, once this node is eliminated.
    pub opened: u32,
    pub kernel: Kernel,
}

/// How a node is eliminated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Kernel {
    /// One diagonal block of 1 to `SMALL` pivots, all of whose panel is in the matrix.
    Leaf(u8),
    /// One diagonal block of 1 to `SMALL` pivots.
    Small(u8),
    #[default]
    General,
}

/// A block of the matrix and its place in a panel.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub from: u32,
    pub to: u32,
    pub stride: u32,
    pub rows: u32,
    pub columns: u32,
}

/// A panel in order of first use, with the end of its copies.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub node: u32,
    pub copies: u32,
}

/// Where a leaf finds its blocks in the matrix: of U and L for a border block, after the diagonal block.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub upper: u32,
    pub lower: u32,
    pub size: u32,
}

/// What the analysis found; never changed by the numeric phases.
#[derive(Default)]
pub struct Plan {
    pub dimension: usize,
    pub entries: usize,
    /// With one more at the end, to close the lists.
    pub nodes: Vec<Node>,
    /// Position of a diagonal block inside its node, and its class.
    pub blocks: Vec<(u32, Class)>,
    /// Elimination positions of the border rows.
    pub border: Vec<u32>,
    /// Lengths of the pieces of the borders: columns that stay adjacent in every panel.
    pub pieces: Vec<u32>,
    /// For every piece and border row: where it goes, counted from the end of the node's panel.
    pub targets: Vec<u32>,
    pub sources: Vec<Source>,
    pub openings: Vec<Opening>,
    pub copies: Vec<Copy>,
    /// Scalar row at every elimination position.
    pub scalar: Vec<u32>,
    pub length: usize,
    /// The largest p + m.
    pub widest: usize,
    /// The largest diagonal block.
    pub largest: usize,
}

impl Plan {
    /// Plans the elimination of matrices of this pattern.
    pub fn new(pattern: &BlockPattern) -> Result<Plan, LinearError> {
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
        let mut receives = vec![false; nodes];
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
                receives[t] = true;
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
        let mut opening = Vec::new();
        for t in 0..nodes {
            plan.nodes[t].source = plan.sources.len() as u32;
            let node = plan.nodes[t];
            let small = plan.nodes[t + 1].block - node.block == 1 && (1..=SMALL as u32).contains(&node.p);
            let leaf = small && !receives[t];
            let sources = leaf.then(|| sources_of(pattern, &order, last_block[t], &below[last_block[t]])).flatten();
            plan.nodes[t].kernel = match (&sources, small) {
                (Some(_), _) => Kernel::Leaf(node.p as u8),
                (None, true) => Kernel::Small(node.p as u8),
                (None, false) => Kernel::General,
            };
            match sources {
                Some(sources) => plan.sources.extend(sources),
                None => opening.push(t),
            }
        }
        plan.nodes[nodes].source = plan.sources.len() as u32;
        opening.sort_by_key(|&t| (used_by[t], t));
        for &t in &opening {
            plan.copies.extend(by_node.of(t).iter().map(|&e| entries[e as usize]));
            plan.openings.push(Opening { node: t as u32, copies: plan.copies.len() as u32 });
        }
        let mut opened = 0;
        for s in 0..nodes {
            while opening.get(opened).is_some_and(|&t| used_by[t] <= s as u32) {
                opened += 1;
            }
            plan.nodes[s].opened = opened as u32;
        }
        plan.check();
        Ok(plan)
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
        for (s, pair) in self.nodes.windows(2).enumerate() {
            let (node, next) = (pair[0], pair[1]);
            let sources = &self.sources[node.source as usize..next.source as usize];
            match node.kernel {
                Kernel::Leaf(p) => {
                    assert!(p as u32 == node.p && next.block - node.block == 1, "node {s}");
                    let all = |source: &Source| {
                        let size = source.size * node.p;
                        inside(source.upper, size, self.entries) && inside(source.lower, size, self.entries)
                    };
                    assert!(sources.iter().all(all) && sources[0].size == node.p);
                    assert!(sources[1..].iter().map(|source| source.size).sum::<u32>() == node.m);
                }
                Kernel::Small(p) => assert!(p as u32 == node.p && next.block - node.block == 1),
                Kernel::General => {}
            }
        }
        for copy in &self.copies {
            let last = copy.rows.saturating_sub(1);
            assert!(inside(copy.from, copy.rows * copy.columns, self.entries));
            assert!(inside(copy.to + last * copy.stride, copy.columns, self.length));
        }
    }
}

/// The sources of the block at position `k` with border `below`; none if an entry is missing.
fn sources_of(pattern: &BlockPattern, order: &[u32], k: usize, below: &[u32]) -> Option<Vec<Source>> {
    let own = order[k] as usize;
    let source = |other: usize| {
        let (upper, lower) = (pattern.offset(own, other)?, pattern.offset(other, own)?);
        Some(Source { upper, lower, size: pattern.size(other) as u32 })
    };
    std::iter::once(own).chain(below.iter().map(|&j| order[j as usize] as usize)).map(source).collect()
}

impl Node {
    /// The number of entries of the panel.
    pub fn entries(&self) -> u32 {
        self.p * (self.p + 2 * self.m)
    }

    /// Offset of the entry (row, column) of the panel; rows and columns from p on are border.
    pub fn entry(&self, row: u32, column: u32) -> u32 {
        if row < self.p {
            self.panel + row * (self.p + self.m) + column
        } else {
            self.panel + self.p * (self.p + self.m) + (row - self.p) * self.p + column
        }
    }
}
