//! The plan of a block elimination: its nodes, and every offset that the numeric phases need.

mod analyses;
mod build;
mod check;
mod layout;

pub use analyses::{Analysis, SHARED};

use super::blocks::Class;

/// Diagonal blocks are merged up to this size; kernels are compiled for sizes up to it.
pub const SMALL: usize = 6;

/// Nodes with at least this many border rows take several diagonal blocks, up to `WIDEST_NODE` pivots.
const WIDE_BORDER: usize = 24;
const WIDEST_NODE: usize = 24;

/// The longest run of border columns that is updated at a time.
pub const WIDEST_RUN: usize = 8;

/// One step of the elimination: pivots that are eliminated together. Its lists follow those of the node before.
#[derive(Clone, Copy, Debug)]
pub struct ElimNode {
    pub kernel: Kernel,
    /// Class of the first diagonal block.
    pub class: Class,
    /// Number of pivots.
    pub p: u32,
    /// Number of border rows.
    pub m: u32,
    /// Lengths of its lists: diagonal blocks, runs, targets, sources, openings.
    pub blocks: u32,
    pub runs: u32,
    pub targets: u32,
    pub sources: u32,
    pub opens: u32,
    /// The number of entries of its panel.
    pub entries: u32,
}

/// How a node is eliminated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// One diagonal block of 1 to `SMALL` pivots, whose panel comes straight from the matrix.
    Leaf(u8),
    /// One diagonal block of 1 to `SMALL` pivots.
    Small(u8),
    /// Anything.
    General,
}

/// Where a leaf finds its blocks in the matrix: the diagonal block, then U and L of every border block. Symmetric
/// elimination reads L alone.
#[derive(Clone, Copy, Debug)]
pub struct LeafSource {
    pub upper: u32,
    pub lower: u32,
    pub size: u32,
}

/// A panel to be filled from the matrix before its first use. It begins `panel` entries after the node that uses it first.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub panel: u32,
    pub first: u32,
    pub p: u32,
    pub entries: u32,
    pub copies: u32,
}

/// A block of the matrix and its place in the opened panel.
#[derive(Clone, Copy, Debug)]
pub struct BlockCopy {
    pub from: u32,
    pub to: u32,
    pub stride: u32,
    pub rows: u32,
    pub columns: u32,
}

/// What the analysis found out about the whole matrix.
#[derive(Default)]
pub struct Outline {
    /// Whether panels hold [D; L] alone, p numbers wide, because U = Lᵀ; else [D | U] and L.
    pub symmetric: bool,
    /// The number of diagonal blocks that are not multipliers, and the work of nested dissection over that of minimum degree.
    pub bodies: usize,
    pub dissection: Option<f64>,
    /// Whether the graph was cut to get parts for several threads.
    pub cut: bool,
    pub dimension: usize,
    /// Number of values of the matrix, and of those that elimination reads.
    pub entries: usize,
    pub read: usize,
}

/// The plan of one part. All parts but the last number their own values and positions first, then those of the last part, of
/// which they keep a copy for their contributions.
///
/// Its many fields are the lists that the numeric phases sweep through side by side.
#[derive(Default)]
pub struct PartPlan {
    pub symmetric: bool,
    pub dimension: usize,
    /// Number of values of its factors.
    pub length: usize,
    /// Dimension and length of the last part; zero in the last part itself.
    pub shared_dimension: usize,
    pub shared_length: usize,
    pub nodes: Vec<ElimNode>,
    /// Sizes and classes of the diagonal blocks.
    pub blocks: Vec<(u32, Class)>,
    /// Elimination positions of the border rows, counted from the first of the part.
    pub border: Vec<u32>,
    /// Lengths of the runs of the borders: columns that are adjacent in every panel.
    pub runs: Vec<u32>,
    /// For every run and border row (in symmetric plans: border row from the run on), where the product goes, counted from the
    /// end of the node's panel.
    pub targets: Vec<u32>,
    pub sources: Vec<LeafSource>,
    pub openings: Vec<Opening>,
    pub copies: Vec<BlockCopy>,
    /// Scalar row at every elimination position.
    pub scalar: Vec<u32>,
    /// The largest p + m.
    pub widest: usize,
    /// The largest diagonal block.
    pub largest: usize,
}

impl PartPlan {
    /// The lists, for a sweep from node to node.
    #[inline(always)]
    pub fn lists(&self) -> NodeLists<'_> {
        NodeLists {
            blocks: &self.blocks,
            border: &self.border,
            runs: &self.runs,
            targets: &self.targets,
            sources: &self.sources,
            openings: &self.openings,
            copies: &self.copies,
        }
    }
}

/// The rest of the lists of a plan during a sweep over its nodes.
pub struct NodeLists<'a> {
    pub blocks: &'a [(u32, Class)],
    pub border: &'a [u32],
    pub runs: &'a [u32],
    pub targets: &'a [u32],
    pub sources: &'a [LeafSource],
    pub openings: &'a [Opening],
    pub copies: &'a [BlockCopy],
}

/// Takes the first n items of a list.
#[inline(always)]
pub fn take<'a, T>(list: &mut &'a [T], n: usize) -> &'a [T] {
    let (head, tail) = list.split_at(n);
    *list = tail;
    head
}

/// Takes the last n items of a list.
#[inline(always)]
pub fn take_last<'a, T>(list: &mut &'a [T], n: usize) -> &'a [T] {
    let (head, tail) = list.split_at(list.len() - n);
    *list = head;
    tail
}
