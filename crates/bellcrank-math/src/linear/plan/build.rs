//! The plan of an elimination, from the layout of its factors.

use super::{
    BlockCopy, ElimNode, Kernel, Opening, Outline, PartPlan, SMALL, WIDEST_RUN,
    layout::{FactorLayout, Panel, panel_entries},
};
use crate::linear::{
    blocks::{BlockPattern, Class},
    interface::LinearError,
    ordering::Lists,
};

/// Plans the elimination of matrices of this pattern, in parts for several threads if `parted`. For symmetric elimination the
/// pattern must be symmetric.
pub fn plans(pattern: &BlockPattern, symmetric: bool, parted: bool) -> Result<(Outline, Vec<PartPlan>), LinearError> {
    let layout = FactorLayout::new(pattern, symmetric, parted)?;
    let outline = Outline {
        symmetric,
        bodies: (0..pattern.blocks()).filter(|&b| pattern.class(b) != Class::Multiplier).count(),
        dissection: layout.symbolic.dissection,
        cut: layout.symbolic.cut,
        dimension: pattern.dimension(),
        entries: pattern.values(),
        read: if symmetric { pattern.ends()[1] } else { pattern.values() },
    };
    let uses = Uses::of(&layout);
    let (mut plans, mut opened) = (Vec::new(), Vec::new());
    for (r, bounds) in layout.begins.windows(2).enumerate() {
        let [begin, end] = [bounds[0], bounds[1]];
        let blocks = &layout.symbolic.order[begin.block..end.block];
        let mut plan = PartPlan {
            symmetric,
            dimension: (end.scalar - begin.scalar) as usize,
            length: (end.offset - begin.offset) as usize,
            scalar: blocks.iter().flat_map(|&i| pattern.range(i as usize).map(|s| s as u32)).collect(),
            ..PartPlan::default()
        };
        for s in begin.panel..end.panel {
            let untouched = uses.touched_by[s] as usize == s;
            if !plan.add_node(pattern, &layout, r, s, untouched) {
                opened.push(s);
            }
        }
        plans.push(plan);
    }
    let (dimension, length) = plans.last().map_or((0, 0), |last| (last.dimension, last.length));
    let last = layout.last();
    plans[..last].iter_mut().for_each(|p| (p.shared_dimension, p.shared_length) = (dimension, length));
    opened.sort_by_key(|&t| (uses.used_by[t], t));
    add_openings(&mut plans, pattern, &layout, &opened, &uses.used_by);
    let mut taken = vec![false; outline.dimension];
    for plan in &plans {
        plan.check(outline.read);
        plan.scalar.iter().for_each(|&i| assert!(!std::mem::replace(&mut taken[i as usize], true)));
    }
    assert!(taken.iter().all(|taken| *taken), "every row belongs to one part");
    plans.iter_mut().for_each(PartPlan::shrink);
    Ok((outline, plans))
}

/// When panels are first used.
struct Uses {
    /// The first node that touches each panel, maybe itself.
    touched_by: Vec<u32>,
    /// The first of the same part.
    used_by: Vec<u32>,
}

impl Uses {
    fn of(layout: &FactorLayout) -> Uses {
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
        Uses { touched_by, used_by }
    }
}

/// Lists the panels `opened`, in order of first use, with the blocks they take from the matrix.
fn add_openings(
    plans: &mut [PartPlan],
    pattern: &BlockPattern,
    layout: &FactorLayout,
    opened: &[usize],
    used_by: &[u32],
) {
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
            copies.push(BlockCopy { from: from as u32, to, stride, rows, columns });
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

impl PartPlan {
    /// Adds node s, of part r, which no earlier node touches if `untouched`. Returns whether it is a leaf, which needs no
    /// opening.
    fn add_node(&mut self, pattern: &BlockPattern, layout: &FactorLayout, r: usize, s: usize, untouched: bool) -> bool {
        let panel = &layout.panels[s];
        let class = |k: usize| pattern.class(layout.symbolic.order[k] as usize);
        let blocks = self.blocks.len();
        for k in panel.start..panel.end {
            let (size, class) = (layout.size(k), class(k));
            match self.blocks[blocks..].last_mut() {
                Some(last) if last.1 == class && (last.0 + size) as usize <= SMALL => last.0 += size,
                _ => self.blocks.push((size, class)),
            }
        }
        let small = self.blocks.len() == blocks + 1 && (1..=SMALL as u32).contains(&panel.p);
        let leaf = small && panel.end == panel.start + 1 && untouched;
        let sources = leaf.then(|| layout.sources(pattern, s)).flatten();
        let targets = self.targets.len();
        let runs = self.add_border(layout, r, s);
        self.nodes.push(ElimNode {
            kernel: match (&sources, small) {
                (Some(_), _) => Kernel::Leaf(panel.p as u8),
                (None, true) => Kernel::Small(panel.p as u8),
                (None, false) => Kernel::General,
            },
            class: class(panel.start),
            p: panel.p,
            m: panel.m,
            blocks: (self.blocks.len() - blocks) as u32,
            runs,
            targets: (self.targets.len() - targets) as u32,
            sources: sources.as_ref().map_or(0, |list| list.len() as u32),
            opens: 0,
            entries: panel_entries(layout.symmetric, panel.p, panel.m),
        });
        self.largest = self.largest.max(self.blocks[blocks..].iter().map(|b| b.0).max().unwrap_or(0) as usize);
        self.widest = self.widest.max((panel.p + panel.m) as usize);
        let is_leaf = sources.is_some();
        self.sources.extend(sources.into_iter().flatten());
        is_leaf
    }

    /// Gives back spare capacity.
    fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.border.shrink_to_fit();
        self.runs.shrink_to_fit();
        self.targets.shrink_to_fit();
        self.sources.shrink_to_fit();
        self.openings.shrink_to_fit();
        self.copies.shrink_to_fit();
        self.scalar.shrink_to_fit();
    }

    /// Lists the border of node s, of part r; returns the number of its runs.
    fn add_border(&mut self, layout: &FactorLayout, r: usize, s: usize) -> u32 {
        let rows = layout.border(s);
        // symmetric kernels of few pivots are compiled for runs up to SMALL
        let few = layout.symmetric && layout.panels[s].p as usize <= SMALL;
        let most = if few { SMALL } else { WIDEST_RUN };
        let mut runs: Vec<(usize, u32, u32)> = Vec::new(); // block, column in it, size
        let mut previous = usize::MAX;
        for &j in rows {
            let j = j as usize;
            let (scalar, size) = (layout.seen_scalar(r, j), layout.size(j));
            self.border.extend(scalar..scalar + size);
            // neighbours in one node are neighbours in every panel they share
            let follows = j == previous.wrapping_add(1) && layout.node_of[previous] == layout.node_of[j];
            match runs.last_mut() {
                Some(run) if follows && (run.2 + size) as usize <= most => run.2 += size,
                _ => runs.extend((0..size).step_by(most).map(|c| (j, c, (size - c).min(most as u32)))),
            }
            previous = j;
        }
        let panel = &layout.panels[s];
        let end = panel.offset + panel_entries(layout.symmetric, panel.p, panel.m) - layout.begins[r].offset;
        for &(j, column, size) in &runs {
            self.runs.push(size);
            for &i in rows.iter().filter(|&&i| !layout.symmetric || i as usize >= j) {
                let (offset, stride) = layout.offset(i as usize, j);
                let offset = layout.seen_offset(r, offset);
                let from = if layout.symmetric && i as usize == j { column } else { 0 };
                self.targets.extend((from..layout.size(i as usize)).map(|k| offset + k * stride + column - end));
            }
        }
        runs.len() as u32
    }
}
