//! The plan of a block elimination: nodes, panels and every offset the numeric phases will need.

use crate::{
    blocks::{BlockPattern, Class},
    ordering::{Lists, Symbolic, symbolic},
    solver::LinearError,
};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Diagonal blocks are joined up to this size; the numeric kernels know these sizes.
pub const SMALL: usize = 6;

/// Nodes with a border this wide take several diagonal blocks, up to `WIDEST` pivots.
const WIDE_BORDER: usize = 24;
const WIDEST: usize = 24;

/// Most columns of a border that are spread together.
pub const PIECE: usize = 8;

/// One step of the elimination. Its lists follow those of the node before.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub kernel: Kernel,
    /// Class of the first diagonal block.
    pub class: Class,
    /// Number of pivots.
    pub p: u32,
    /// Number of border rows.
    pub m: u32,
    /// Lengths of its lists: diagonal blocks, pieces, targets, sources, openings.
    pub blocks: u32,
    pub pieces: u32,
    pub targets: u32,
    pub sources: u32,
    pub opens: u32,
    /// The number of entries of its panel.
    pub entries: u32,
}

/// How a node is eliminated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    /// One diagonal block of 1 to `SMALL` pivots, all of whose panel is in the matrix.
    Leaf(u8),
    /// One diagonal block of 1 to `SMALL` pivots.
    Small(u8),
    /// Anything.
    General,
}

/// Where a leaf finds its blocks in the matrix: the diagonal block, then U and L of every border block. Symmetric
/// elimination looks at L alone.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub upper: u32,
    pub lower: u32,
    pub size: u32,
}

/// A panel to be filled from the matrix before it is first used. It begins `panel` entries after
/// the node that uses it.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    pub panel: u32,
    pub first: u32,
    pub p: u32,
    pub entries: u32,
    pub copies: u32,
}

/// A block of the matrix and its place in the panel that is opened.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub from: u32,
    pub to: u32,
    pub stride: u32,
    pub rows: u32,
    pub columns: u32,
}

/// All that numeric phases need to know of a pattern; never changed by them.
#[derive(Default)]
pub struct Analysis {
    pub outline: Outline,
    /// The last one waits for all others.
    pub plans: Vec<Arc<Plan>>,
}

/// An analysis that may be in use, and what it is of.
struct Known {
    pattern: Weak<BlockPattern>,
    symmetric: bool,
    parted: bool,
    analysis: Weak<Analysis>,
}

/// Analyses in use: several systems of a model mostly have one structure.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

impl Analysis {
    /// The analysis of a pattern, taken over from one in use where the patterns are equal.
    pub fn of(pattern: &Arc<BlockPattern>, symmetric: bool, parted: bool) -> Result<Arc<Analysis>, LinearError> {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |k: &Known| {
            (k.symmetric, k.parted) == (symmetric, parted) && k.pattern.upgrade().is_some_and(|p| p == *pattern)
        };
        if let Some(found) = known().iter().filter(|k| is_it(k)).find_map(|k| k.analysis.upgrade()) {
            return Ok(found);
        }
        // others may analyze at the same time
        let (outline, plans) = plans(pattern, symmetric, parted)?;
        let made = Arc::new(Analysis { outline, plans: plans.into_iter().map(Arc::new).collect() });
        let mut known = known();
        known.retain(|k| k.analysis.strong_count() > 0);
        let (pattern, analysis) = (Arc::downgrade(pattern), Arc::downgrade(&made));
        known.push(Known { pattern, symmetric, parted, analysis });
        Ok(made)
    }
}

/// What the analysis found of the whole.
#[derive(Default)]
pub struct Outline {
    /// Whether panels hold [D; L] alone, both by rows of p numbers, because U = Lᵀ; else [D | U] and L.
    pub symmetric: bool,
    /// The number of diagonal blocks that are not multipliers, and what nested dissection would cost or does.
    pub bodies: usize,
    pub dissection: Option<f64>,
    /// Whether the graph was cut for the parts' sake.
    pub cut: bool,
    pub dimension: usize,
    /// Number of values of the matrix, and of those that are looked at.
    pub entries: usize,
    pub seen: usize,
}

/// The plan of one part. Parts but the last see own values and positions, then copies of
/// those of the last part, into which they subtract what is later added up.
#[derive(Default)]
pub struct Plan {
    pub symmetric: bool,
    pub dimension: usize,
    /// Number of values of its factors.
    pub length: usize,
    /// Dimension and length of the last part, where this is another.
    pub shared_dimension: usize,
    pub shared_length: usize,
    pub nodes: Vec<Node>,
    /// Sizes and classes of the diagonal blocks.
    pub blocks: Vec<(u32, Class)>,
    /// Elimination positions of the border rows, counted from the first of the part.
    pub border: Vec<u32>,
    /// Sizes of the pieces of the borders: columns that stay adjacent in every panel.
    pub pieces: Vec<u32>,
    /// For every piece and border row, in symmetric plans from the piece on: where it goes, counted from the end of the
    /// node's panel.
    pub targets: Vec<u32>,
    pub sources: Vec<Source>,
    pub openings: Vec<Opening>,
    pub copies: Vec<Copy>,
    /// Scalar row at every elimination position.
    pub scalar: Vec<u32>,
    /// The largest p + m.
    pub widest: usize,
    /// The largest diagonal block.
    pub largest: usize,
}

/// The panel of a node, in the terms of block positions.
struct Panel {
    /// Positions of its blocks.
    start: usize,
    end: usize,
    /// Scalar position of its first pivot.
    first: u32,
    p: u32,
    m: u32,
    offset: u32,
    /// Where its border begins in `Layout::places`.
    border: usize,
}

/// Where every block of the factors lies.
struct Layout {
    symmetric: bool,
    symbolic: Symbolic,
    /// Scalar position of every block, and the dimension at the end.
    first: Vec<u32>,
    panels: Vec<Panel>,
    /// Row of every border block in its panel.
    places: Vec<u32>,
    node_of: Vec<u32>,
    /// Where the parts begin; the end of all is the last.
    begins: Vec<Begin>,
}

/// Where a part begins: the first of its blocks, panels, scalar positions and values.
#[derive(Clone, Copy)]
struct Begin {
    block: usize,
    panel: usize,
    scalar: u32,
    offset: u32,
}

impl Layout {
    fn new(pattern: &BlockPattern, symmetric: bool, parted: bool) -> Result<Layout, LinearError> {
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
            // Columns of one structure share a node.
            while end < part
                && below[end - 1].first() == Some(&(end as u32))
                && below[end - 1].len() == below[end].len() + 1
                && match (first[end + 1] - first[start]) as usize {
                    p if p <= SMALL => class(end) == class(start),
                    p => p <= WIDEST && border(end) as usize >= WIDE_BORDER,
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
        Ok(Layout { symmetric, symbolic, first, panels, places, node_of, begins })
    }

    /// The part of a block; the last is the one that waits for the others.
    fn part(&self, block: usize) -> usize {
        self.begins.partition_point(|begin| begin.block <= block).min(self.last() + 1) - 1
    }

    fn last(&self) -> usize {
        self.begins.len() - 2
    }

    /// Scalar position of a block as part r sees it.
    fn seen_scalar(&self, r: usize, block: usize) -> u32 {
        let last = self.begins[self.last()];
        match block < last.block || r == self.last() {
            true => self.first[block] - self.begins[r].scalar,
            false => self.first[block] - last.scalar + (self.begins[r + 1].scalar - self.begins[r].scalar),
        }
    }

    /// Offset of a value as part r sees it.
    fn seen_offset(&self, r: usize, offset: u32) -> u32 {
        let last = self.begins[self.last()];
        match offset < last.offset || r == self.last() {
            true => offset - self.begins[r].offset,
            false => offset - last.offset + (self.begins[r + 1].offset - self.begins[r].offset),
        }
    }

    fn size(&self, k: usize) -> u32 {
        self.first[k + 1] - self.first[k]
    }

    /// Positions of the border blocks of node t.
    fn border(&self, t: usize) -> &[u32] {
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

    /// Offset of block (i, j) in the factors, and the stride of its rows. Symmetric ones have no U.
    fn offset(&self, i: usize, j: usize) -> (u32, u32) {
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

/// Entries of a panel of p pivots with m border rows.
fn panel_entries(symmetric: bool, p: u32, m: u32) -> u32 {
    p * (p + if symmetric { m } else { 2 * m })
}

/// Plans the elimination of matrices of this pattern, which symmetric elimination must find closed: part by part, or all at
/// once.
fn plans(pattern: &BlockPattern, symmetric: bool, parted: bool) -> Result<(Outline, Vec<Plan>), LinearError> {
    let layout = Layout::new(pattern, symmetric, parted)?;
    let order = &layout.symbolic.order;
    let outline = Outline {
        symmetric,
        bodies: (0..pattern.blocks()).filter(|&b| pattern.class(b) != Class::Multiplier).count(),
        dissection: layout.symbolic.dissection,
        cut: layout.symbolic.cut,
        dimension: pattern.dimension(),
        entries: pattern.values(),
        seen: if symmetric { pattern.ends()[1] } else { pattern.values() },
    };
    // The first node that touches a panel, and the first of the same part.
    let mut touched_by: Vec<u32> = (0..layout.panels.len() as u32).collect();
    let mut used_by = touched_by.clone();
    for s in (0..layout.panels.len()).rev() {
        let part = layout.part(layout.panels[s].start);
        for &j in layout.border(s) {
            let t = layout.node_of[j as usize] as usize;
            touched_by[t] = s as u32;
            if layout.part(j as usize) == part {
                used_by[t] = s as u32;
            }
        }
    }
    let (mut plans, mut opened) = (Vec::new(), Vec::new());
    for (r, bounds) in layout.begins.windows(2).enumerate() {
        let [begin, end] = [bounds[0], bounds[1]];
        let blocks = &order[begin.block..end.block];
        let mut plan = Plan {
            symmetric,
            dimension: (end.scalar - begin.scalar) as usize,
            length: (end.offset - begin.offset) as usize,
            scalar: blocks.iter().flat_map(|&i| pattern.range(i as usize).map(|s| s as u32)).collect(),
            ..Plan::default()
        };
        for s in begin.panel..end.panel {
            let panel = &layout.panels[s];
            let class = |k: usize| pattern.class(order[k] as usize);
            let blocks = plan.blocks.len();
            for k in panel.start..panel.end {
                let (size, class) = (layout.size(k), class(k));
                match plan.blocks[blocks..].last_mut() {
                    Some(last) if last.1 == class && (last.0 + size) as usize <= SMALL => last.0 += size,
                    _ => plan.blocks.push((size, class)),
                }
            }
            let small = plan.blocks.len() == blocks + 1 && (1..=SMALL as u32).contains(&panel.p);
            let leaf = small && panel.end == panel.start + 1 && touched_by[s] as usize == s;
            let sources = leaf.then(|| layout.sources(pattern, s)).flatten();
            let targets = plan.targets.len();
            let pieces = plan.add_border(&layout, r, s);
            let node = Node {
                kernel: match (&sources, small) {
                    (Some(_), _) => Kernel::Leaf(panel.p as u8),
                    (None, true) => Kernel::Small(panel.p as u8),
                    (None, false) => Kernel::General,
                },
                class: class(panel.start),
                p: panel.p,
                m: panel.m,
                blocks: (plan.blocks.len() - blocks) as u32,
                pieces,
                targets: (plan.targets.len() - targets) as u32,
                sources: sources.as_ref().map_or(0, |list| list.len() as u32),
                opens: 0,
                entries: panel_entries(symmetric, panel.p, panel.m),
            };
            match sources {
                Some(sources) => plan.sources.extend(sources),
                None => opened.push(s),
            }
            plan.largest = plan.largest.max(plan.blocks[blocks..].iter().map(|b| b.0).max().unwrap_or(0) as usize);
            plan.widest = plan.widest.max((panel.p + panel.m) as usize);
            plan.nodes.push(node);
        }
        plans.push(plan);
    }
    let (dimension, length) = plans.last().map_or((0, 0), |last| (last.dimension, last.length));
    let last = layout.last();
    plans[..last].iter_mut().for_each(|p| (p.shared_dimension, p.shared_length) = (dimension, length));
    opened.sort_by_key(|&t| (used_by[t], t));
    add_openings(&mut plans, pattern, &layout, &opened, &used_by);
    let mut taken = vec![false; outline.dimension];
    for plan in &plans {
        plan.check(outline.seen);
        plan.scalar.iter().for_each(|&i| assert!(!std::mem::replace(&mut taken[i as usize], true)));
    }
    assert!(taken.iter().all(|taken| *taken), "every row belongs to one part");
    plans.iter_mut().for_each(Plan::shrink);
    Ok((outline, plans))
}

/// Lists the panels `opened` in order of first use, with what they take from the matrix.
fn add_openings(plans: &mut [Plan], pattern: &BlockPattern, layout: &Layout, opened: &[usize], used_by: &[u32]) {
    let n = layout.symbolic.order.len();
    let mut position = vec![0; n];
    for (k, &i) in layout.symbolic.order.iter().enumerate() {
        position[i as usize] = k;
    }
    let mut is_opened = vec![false; layout.panels.len()];
    opened.iter().for_each(|&t| is_opened[t] = true);
    let mut copies = Vec::new();
    let mut by_node = Vec::new();
    for i in 0..n {
        for (j, from) in pattern.row(i) {
            let t = layout.node_of[position[i].min(position[j])];
            let (rows, columns) = (pattern.size(i) as u32, pattern.size(j) as u32);
            let above = layout.symmetric && position[i] < position[j];
            if !is_opened[t as usize] || rows * columns == 0 || above {
                continue;
            }
            let (to, stride) = layout.offset(position[i], position[j]);
            let to = to - layout.panels[t as usize].offset;
            by_node.push((t, copies.len() as u32));
            copies.push(Copy { from: from as u32, to, stride, rows, columns });
        }
    }
    let by_node = Lists::grouped(layout.panels.len(), &by_node);
    for &t in opened {
        let Panel { start, p, m, offset, .. } = layout.panels[t];
        let r = layout.part(start);
        let (plan, user) = (&mut plans[r], used_by[t] as usize);
        let copied = by_node.of(t).iter().map(|&c| copies[c as usize]);
        plan.openings.push(Opening {
            panel: offset - layout.panels[user].offset,
            first: layout.seen_scalar(r, start),
            p,
            entries: panel_entries(layout.symmetric, p, m),
            copies: copied.len() as u32,
        });
        plan.copies.extend(copied);
        plan.nodes[user - layout.begins[r].panel].opens += 1;
    }
}

impl Plan {
    /// Gives back what the lists do not need.
    fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.border.shrink_to_fit();
        self.pieces.shrink_to_fit();
        self.targets.shrink_to_fit();
        self.sources.shrink_to_fit();
        self.openings.shrink_to_fit();
        self.copies.shrink_to_fit();
        self.scalar.shrink_to_fit();
    }

    /// Lists the border of node s, of part r; returns the number of its pieces.
    fn add_border(&mut self, layout: &Layout, r: usize, s: usize) -> u32 {
        let rows = layout.border(s);
        // kernels of few pivots are compiled for each size of a piece
        let few = layout.symmetric && layout.panels[s].p as usize <= SMALL;
        let most = if few { SMALL } else { PIECE };
        let mut pieces: Vec<(usize, u32, u32)> = Vec::new(); // block, column in it, size
        let mut previous = usize::MAX;
        for &j in rows {
            let j = j as usize;
            let (scalar, size) = (layout.seen_scalar(r, j), layout.size(j));
            self.border.extend(scalar..scalar + size);
            // Neighbours in one node are neighbours in every panel they share.
            let follows = j == previous.wrapping_add(1) && layout.node_of[previous] == layout.node_of[j];
            match pieces.last_mut() {
                Some(piece) if follows && (piece.2 + size) as usize <= most => piece.2 += size,
                _ => pieces.extend((0..size).step_by(most).map(|c| (j, c, (size - c).min(most as u32)))),
            }
            previous = j;
        }
        let panel = &layout.panels[s];
        let end = panel.offset + panel_entries(layout.symmetric, panel.p, panel.m) - layout.begins[r].offset;
        for &(j, column, size) in &pieces {
            self.pieces.push(size);
            for &i in rows.iter().filter(|&&i| !layout.symmetric || i as usize >= j) {
                let (offset, stride) = layout.offset(i as usize, j);
                let offset = layout.seen_offset(r, offset);
                let from = if layout.symmetric && i as usize == j { column } else { 0 };
                self.targets.extend((from..layout.size(i as usize)).map(|k| offset + k * stride + column - end));
            }
        }
        pieces.len() as u32
    }

    /// Asserts what the unchecked accesses of the kernels rely on.
    fn check(&self, entries: usize) {
        let (dimension, length) = (self.dimension + self.shared_dimension, self.length + self.shared_length);
        let inside = |offset: u32, size: u32, length: usize| offset as usize + size as usize <= length;
        let mut lists = self.lists();
        let (mut first, mut panel) = (0, 0);
        for node in &self.nodes {
            let (p, m) = (node.p, node.m);
            for opening in take(&mut lists.openings, node.opens as usize) {
                let size = opening.entries;
                assert!(inside(panel as u32 + opening.panel, size, self.length));
                assert!(inside(opening.first, opening.p, self.dimension));
                for copy in take(&mut lists.copies, opening.copies as usize) {
                    assert!(copy.rows > 0 && copy.columns > 0 && inside(copy.from, copy.rows * copy.columns, entries));
                    assert!(inside(copy.to + (copy.rows - 1) * copy.stride, copy.columns, size as usize));
                }
            }
            let blocks = take(&mut lists.blocks, node.blocks as usize);
            assert!(blocks.iter().map(|b| b.0).sum::<u32>() == p && blocks.len() >= (p > 0) as usize);
            match node.kernel {
                Kernel::Leaf(size) | Kernel::Small(size) => {
                    assert!(size as u32 == p && blocks.len() == 1 && (1..=SMALL as u32).contains(&p));
                }
                Kernel::General => {}
            }
            let sources = take(&mut lists.sources, node.sources as usize);
            assert_eq!(matches!(node.kernel, Kernel::Leaf(_)), !sources.is_empty());
            if let [own, others @ ..] = sources {
                assert!(own.size == p && others.iter().map(|other| other.size).sum::<u32>() == m);
                assert!(others.iter().all(|other| (1..=SMALL as u32).contains(&other.size)));
                for source in sources {
                    assert!(self.symmetric || inside(source.upper, p * source.size, entries));
                    assert!(inside(source.lower, p * source.size, entries));
                }
            }
            first += p as usize;
            assert_eq!(node.entries, panel_entries(self.symmetric, p, m));
            panel += node.entries as usize;
            let border = take(&mut lists.border, m as usize);
            assert!(border.iter().all(|&i| (first..dimension).contains(&(i as usize))));
            let mut rows = border;
            for source in sources.iter().skip(1) {
                let block = take(&mut rows, source.size as usize);
                assert!(block.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a block lies together");
            }
            let pieces = take(&mut lists.pieces, node.pieces as usize);
            let most = if self.symmetric && p as usize <= SMALL { SMALL } else { PIECE };
            assert!(pieces.iter().sum::<u32>() == m && pieces.iter().all(|&piece| piece as usize <= most));
            let (mut left, mut all) = (m, 0);
            for &piece in pieces {
                let positions = &border[(m - left) as usize..][..piece as usize];
                assert!(positions.windows(2).all(|pair| pair[0] + 1 == pair[1]), "a piece lies together");
                let rows = if self.symmetric { left } else { m };
                let targets = take(&mut lists.targets, rows as usize);
                (left, all) = (left - piece, all + rows);
                assert!(targets.iter().all(|&to| inside(to, piece, length - panel)));
            }
            assert_eq!(all, node.targets);
        }
        assert_eq!((first, panel), (self.dimension, self.length));
        assert_eq!(self.scalar.len(), first);
    }

    /// The lists, to be taken from by node after node.
    #[inline(always)]
    pub fn lists(&self) -> NodeLists<'_> {
        NodeLists {
            blocks: &self.blocks,
            border: &self.border,
            pieces: &self.pieces,
            targets: &self.targets,
            sources: &self.sources,
            openings: &self.openings,
            copies: &self.copies,
        }
    }
}

impl Layout {
    /// The sources of a node of one block; none if an entry is missing or too large.
    fn sources(&self, pattern: &BlockPattern, s: usize) -> Option<Vec<Source>> {
        let order = &self.symbolic.order;
        let own = order[self.panels[s].start] as usize;
        let source = |other: usize| {
            let (upper, lower) = (pattern.offset(own, other)?, pattern.offset(other, own)?);
            let size = pattern.size(other);
            (1..=SMALL).contains(&size).then_some(Source { upper, lower, size: size as u32 })
        };
        std::iter::once(own).chain(self.border(s).iter().map(|&j| order[j as usize] as usize)).map(source).collect()
    }
}

/// What is left of the lists of a plan during a sweep over its nodes.
pub struct NodeLists<'a> {
    pub blocks: &'a [(u32, Class)],
    pub border: &'a [u32],
    pub pieces: &'a [u32],
    pub targets: &'a [u32],
    pub sources: &'a [Source],
    pub openings: &'a [Opening],
    pub copies: &'a [Copy],
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
