//! Graphs of blocks as lists of neighbours.

use crate::linear::blocks::BlockPattern;

/// Lists of neighbours in one array; list i is `list[start[i]..start[i + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub start: Vec<u32>,
    pub list: Vec<u32>,
}

impl Lists {
    /// Groups pairs (key, item) by key < n; within a key, the pairs stay in order.
    pub fn grouped(n: usize, pairs: &[(u32, u32)]) -> Lists {
        let mut start = vec![0; n + 1];
        for &(key, _) in pairs {
            start[key as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut list = vec![0; pairs.len()];
        for &(key, item) in pairs {
            list[next[key as usize] as usize] = item;
            next[key as usize] += 1;
        }
        Lists { start, list }
    }

    /// The list of a key.
    pub fn of(&self, key: usize) -> &[u32] {
        &self.list[self.start[key] as usize..self.start[key + 1] as usize]
    }
}

/// The neighbours of every block in the pattern of A + Aᵀ, ascending, without the block itself.
pub fn graph(pattern: &BlockPattern) -> Lists {
    let n = pattern.blocks();
    let mut pairs = Vec::new();
    for i in 0..n {
        pairs.extend(pattern.row(i).filter(|&(j, _)| j != i).map(|(j, _)| (j as u32, i as u32)));
    }
    let by_column = Lists::grouped(n, &pairs);
    let mut closed = Lists { start: vec![0], list: Vec::new() };
    for i in 0..n {
        let mut above = by_column.of(i).iter().copied().peekable();
        for (j, _) in pattern.row(i).filter(|&(j, _)| j != i) {
            while let Some(k) = above.next_if(|&k| k < j as u32) {
                closed.list.push(k);
            }
            above.next_if_eq(&(j as u32));
            closed.list.push(j as u32);
        }
        closed.list.extend(above);
        closed.start.push(closed.list.len() as u32);
    }
    closed
}
