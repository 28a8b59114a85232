//! Which blocks the derivatives in relative coordinates have, and where those of the Cartesian derivatives stand.

use super::Relative;
use super::tree::{NONE, TreeBody};
use crate::dynamics::*;
use crate::system::System;
use std::ops::Range;
use std::sync::OnceLock;

/// The blocks of a Cartesian derivative, by columns.
pub(super) struct InnerBlocks {
    pub offsets: Vec<u32>,
    pub size: usize,
    /// For each column block the numbers of its pairs.
    pub first: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl InnerBlocks {
    fn new(system: &System, piece: Piece, wrt: Unknown) -> InnerBlocks {
        let layout = system.layout();
        let (rows, columns) = (layout.rows(piece), layout.columns(wrt));
        let (mut size, mut offsets) = (0, Vec::new());
        let mut pairs = Vec::new();
        for (r, c) in system.pattern(piece, wrt) {
            offsets.push(size as u32);
            pairs.push((r, c, size as u32));
            size += rows[r as usize].len() * columns[c as usize].len();
        }
        pairs.sort_by_key(|&(_, c, _)| c);
        let first = (0..=columns.len()).map(|c| pairs.partition_point(|p| (p.1 as usize) < c) as u32).collect();
        InnerBlocks { offsets, size, first, pairs: pairs.into_iter().map(|(r, _, o)| (r, o)).collect() }
    }

    /// The row blocks of a column block, with the places of their values.
    pub fn column(&self, c: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = self.first[c] as usize..self.first[c + 1] as usize;
        self.pairs[range].iter().map(|&(r, o)| (r as usize, o as usize))
    }

    /// y += K x for one column block.
    pub fn apply(&self, values: &[f64], c: usize, x: &[f64], rows: &[Range<usize>], y: &mut [f64]) {
        for (r, o) in self.column(c) {
            for (y, k) in y[rows[r].clone()].iter_mut().zip(values[o..].chunks_exact(x.len())) {
                *y += k.iter().zip(x).map(|(k, x)| k * x).sum::<f64>();
            }
        }
    }
}

/// The pairs of a derivative in relative coordinates, by columns.
pub(super) struct OuterPairs {
    pub pairs: Vec<(u32, u32)>,
    pub first: Vec<u32>,
}

const UNKNOWNS: usize = Unknown::ALL.len();
const PIECES: usize = Piece::Flow as usize + 1;

fn slot(piece: Piece, wrt: Unknown) -> usize {
    piece as usize * UNKNOWNS + wrt as usize
}

/// Where the blocks of all derivatives are.
pub(super) struct Maps {
    inner: Vec<OnceLock<InnerBlocks>>,
    outer: Vec<OnceLock<OuterPairs>>,
}

impl Maps {
    pub(super) fn new() -> Maps {
        let cells = PIECES * UNKNOWNS;
        Maps {
            inner: (0..cells).map(|_| OnceLock::new()).collect(),
            outer: (0..cells).map(|_| OnceLock::new()).collect(),
        }
    }
}

/// What a piece depends on.
#[derive(Clone, Copy, Default)]
pub(super) struct Depends {
    /// On velocities.
    pub v: bool,
    /// On J v̇, with this factor.
    pub linear: f64,
    /// On J̇ v.
    pub bias: f64,
}

impl Depends {
    pub fn of(piece: Piece) -> Depends {
        match piece {
            Piece::MassAccel => Depends { v: false, linear: 1.0, bias: 0.0 },
            Piece::Force => Depends { v: true, linear: 0.0, bias: -1.0 },
            Piece::Acceleration => Depends { v: true, linear: 1.0, bias: 1.0 },
            Piece::GtLambda | Piece::GtMu | Piece::MinvGtMu => Depends::default(),
            _ => Depends { v: true, ..Depends::default() },
        }
    }
}

/// Whether the rows of a piece are those of bodies.
pub(super) fn on_bodies(piece: Piece) -> bool {
    use Piece::*;
    matches!(piece, MassAccel | Force | GtLambda | GtMu | MinvGtMu)
}

impl Relative {
    /// The blocks of a Cartesian derivative.
    pub(super) fn inner(&self, piece: Piece, wrt: Unknown) -> &InnerBlocks {
        self.maps.inner[slot(piece, wrt)].get_or_init(|| InnerBlocks::new(&self.cartesian, piece, wrt))
    }

    /// The pairs of a derivative in relative coordinates.
    pub(super) fn outer(&self, piece: Piece, wrt: Unknown) -> &OuterPairs {
        self.maps.outer[slot(piece, wrt)].get_or_init(|| self.find_outer(piece, wrt))
    }

    /// The (row, column) pairs of a derivative in the order of emission.
    pub(super) fn pairs(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        use Piece::*;
        match (piece, wrt) {
            (Rate, Unknown::Q) | (Speed, Unknown::V) => (0..self.layout.bodies.len() as u32).map(|b| (b, b)).collect(),
            (ZDot | Flow, Unknown::Z) => self.cartesian.pattern(piece, wrt),
            (Rate | Speed | ZDot, _) => Vec::new(),
            (MinvGtMu, Unknown::Q) => Vec::new(),
            (GtLambda | GtMu | MinvGtMu, Unknown::V) | (Position | Velocity | Acceleration, Unknown::Z) => Vec::new(),
            (MassAccel, Unknown::Z) => Vec::new(),
            _ => self.outer(piece, wrt).pairs.clone(),
        }
    }

    /// Which rows of a piece depend on which columns.
    fn find_outer(&self, piece: Piece, wrt: Unknown) -> OuterPairs {
        let mut found = Marks {
            nodes: &self.tree.nodes,
            bodies: vec![false; self.tree.nodes.len()],
            rows: vec![false; self.layout.rows(piece).len()],
            out: OuterPairs { pairs: Vec::new(), first: vec![0] },
        };
        if matches!(wrt, Unknown::Q | Unknown::V) {
            self.mark_by_motion(piece, wrt == Unknown::Q, &mut found);
        } else {
            self.mark_by_multiplier(piece, wrt, &mut found);
        }
        found.out
    }

    /// Marks the rows that depend on coordinates (`moves`) or velocities.
    fn mark_by_motion(&self, piece: Piece, moves: bool, found: &mut Marks) {
        let depends = Depends::of(piece);
        let nodes = &self.tree.nodes;
        let node_of = |b: usize| self.tree.node_of[b] as usize;
        let mut loaded = vec![matches!(piece, Piece::MassAccel | Piece::Force); nodes.len()];
        let loads = match piece {
            Piece::GtLambda => Some(self.inner(piece, Unknown::Lambda)),
            Piece::GtMu => Some(self.inner(piece, Unknown::Mu)),
            _ => None,
        };
        for (b, _) in loads.into_iter().flat_map(|l| (0..l.first.len() - 1).flat_map(|c| l.column(c))) {
            loaded[node_of(b)] = true;
        }
        for (i, node) in nodes.iter().enumerate().filter(|(_, n)| n.block != NONE) {
            for d in i..node.end as usize {
                let b = nodes[d].body;
                let by_q = moves.then(|| self.inner(piece, Unknown::Q));
                let by_v = (depends.v || piece == Piece::Acceleration).then(|| self.inner(piece, Unknown::V));
                for (r, _) in by_q.into_iter().chain(by_v).flat_map(|k| k.column(b)) {
                    if on_bodies(piece) {
                        found.bodies[node_of(r)] = true;
                    } else {
                        found.rows[r] = true;
                    }
                }
                found.bodies[d] |=
                    loaded[d] && on_bodies(piece) && (moves || depends.bias != 0.0 || piece == Piece::MassAccel);
            }
            found.end_column(node.block);
        }
    }

    /// Marks the rows of bodies that depend on multipliers or states.
    fn mark_by_multiplier(&self, piece: Piece, wrt: Unknown, found: &mut Marks) {
        let nodes = &self.tree.nodes;
        let inner = self.inner(if piece == Piece::MinvGtMu { Piece::GtMu } else { piece }, wrt);
        for c in 0..inner.first.len() - 1 {
            for (b, _) in inner.column(c) {
                let node = self.tree.node_of[b] as usize;
                let root = nodes[node].root as usize;
                if piece == Piece::MinvGtMu {
                    found.bodies[root..nodes[root].end as usize].fill(true);
                } else {
                    found.bodies[node] = true;
                }
            }
            found.end_column(c as u32);
        }
    }
}

/// The marked bodies and rows of one column at a time.
struct Marks<'a> {
    nodes: &'a [TreeBody],
    bodies: Vec<bool>,
    rows: Vec<bool>,
    out: OuterPairs,
}

impl Marks<'_> {
    /// Carries the marks of bodies to all that carry them, and writes the column down.
    fn end_column(&mut self, c: u32) {
        for i in (0..self.nodes.len()).rev() {
            if !std::mem::take(&mut self.bodies[i]) {
                continue;
            }
            let node = &self.nodes[i];
            if node.parent != NONE {
                self.bodies[node.parent as usize] = true;
            }
            if node.block != NONE {
                self.rows[node.block as usize] = true;
            }
        }
        let marked = self.rows.iter().enumerate().filter(|(_, r)| **r).map(|(r, _)| (r as u32, c));
        self.out.pairs.extend(marked);
        self.out.first.push(self.out.pairs.len() as u32);
        self.rows.fill(false);
    }
}
