//! What the unchecked accesses of the kernels rely on, asserted once per pattern.

use super::{ElimNode, Kernel, PartPlan, SMALL, WIDEST_RUN, layout::panel_entries, take};

/// Whether `size` entries from `offset` on lie below `length`.
fn inside(offset: u32, size: u32, length: usize) -> bool {
    offset as usize + size as usize <= length
}

impl PartPlan {
    /// Asserts that all offsets stay inside their arrays; elimination reads the first `entries` values of the matrix.
    ///
    /// # Panics
    /// If one does not: a defect of the analysis.
    pub fn check(&self, entries: usize) {
        let (dimension, length) = (self.dimension + self.shared_dimension, self.length + self.shared_length);
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
            node.check(blocks.len(), blocks.iter().map(|b| b.0).sum());
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
                assert!(block.windows(2).all(|pair| pair[0] + 1 == pair[1]), "the rows of a block are adjacent");
            }
            let runs = take(&mut lists.runs, node.runs as usize);
            let most = if self.symmetric && p as usize <= SMALL { SMALL } else { WIDEST_RUN };
            assert!(runs.iter().sum::<u32>() == m && runs.iter().all(|&run| run > 0 && run as usize <= most));
            let (mut left, mut all) = (m, 0);
            for &run in runs {
                let positions = &border[(m - left) as usize..][..run as usize];
                assert!(positions.windows(2).all(|pair| pair[0] + 1 == pair[1]), "the columns of a run are adjacent");
                let rows = if self.symmetric { left } else { m };
                let targets = take(&mut lists.targets, rows as usize);
                (left, all) = (left - run, all + rows);
                assert!(targets.iter().all(|&to| inside(to, run, length - panel)));
            }
            assert_eq!(all, node.targets);
        }
        assert_eq!((first, panel), (self.dimension, self.length));
        assert_eq!(self.scalar.len(), first);
    }
}

impl ElimNode {
    /// Asserts that its kernel fits its diagonal blocks, `blocks` in number with `pivots` rows in all.
    fn check(&self, blocks: usize, pivots: u32) {
        assert!(pivots == self.p && blocks >= (self.p > 0) as usize);
        match self.kernel {
            Kernel::Leaf(size) | Kernel::Small(size) => {
                assert!(size as u32 == self.p && blocks == 1 && (1..=SMALL as u32).contains(&self.p));
            }
            Kernel::General => {}
        }
    }
}
