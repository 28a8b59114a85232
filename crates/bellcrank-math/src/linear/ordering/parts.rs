//! Parts of an elimination for several threads: subtrees of the elimination tree, gathered to like amounts of work.

use super::{Symbolic, graph::Lists};
use crate::linear::blocks::BlockPattern;
use std::{cmp::Reverse, collections::BinaryHeap};

/// From this many bodies on, elimination is divided for several threads; below, the threads cost more than they save. (Miri takes
/// minutes for a large matrix.)
pub const WORTH_PARTING: usize = if cfg!(miri) { 40 } else { 400 };

/// The number of parts of a wide graph. Nested dissection offers more, but every part keeps a copy of the rest.
pub const PARTS_OF_WIDE: usize = 4;

/// The largest part may exceed the mean by this factor.
const UNEVEN: f64 = 1.15;

/// The rest, which comes after all parts, may take this share of the work.
pub const SHARE_OF_REST: f64 = 0.25;
/// The same for graphs that a cut would divide leaving next to nothing.
pub const SMALL_REST: f64 = 0.01;

/// A cut for two threads may increase the total work by this factor.
pub const MORE_WORK: f64 = 1.1;

impl Symbolic {
    /// The same in `count` parts of like work, with at most `share` of the work in the rest; `None` where the tree does not
    /// allow it.
    pub fn parted(&self, pattern: &BlockPattern, count: usize, share: f64) -> Option<Symbolic> {
        let n = self.order.len();
        let size = |k: usize| pattern.size(self.order[k] as usize) as f64;
        let work =
            |k: usize| size(k) * (size(k) + self.below[k].iter().map(|&j| size(j as usize)).sum::<f64>()).powi(2);
        // in postorder the subtree of k is first[k]..=k
        let mut first: Vec<u32> = (0..n as u32).collect();
        let mut subtree: Vec<f64> = (0..n).map(work).collect();
        let mut children: Vec<(u32, u32)> = Vec::new();
        let mut roots: Vec<u32> = Vec::new();
        for k in 0..n {
            match self.below[k].first() {
                Some(&parent) => {
                    first[parent as usize] = first[parent as usize].min(first[k]);
                    subtree[parent as usize] += subtree[k];
                    children.push((parent, k as u32));
                }
                None => roots.push(k as u32),
            }
        }
        let children = Lists::grouped(n, &children);
        let total: f64 = roots.iter().map(|&r| subtree[r as usize]).sum();
        let mut in_rest = vec![false; n];
        let mut rest = 0.0;
        let weight = |root: u32| (subtree[root as usize].to_bits(), Reverse(root)); // bits of positive numbers sort like the numbers
        let mut heap: BinaryHeap<(u64, Reverse<u32>)> = roots.into_iter().map(weight).collect();
        while let Some(&(heaviest, Reverse(root))) = heap.peek() {
            let even = UNEVEN * (total - rest) / count as f64;
            if f64::from_bits(heaviest) <= even {
                let roots: Vec<u32> =
                    heap.clone().into_sorted_vec().into_iter().rev().map(|(_, root)| root.0).collect();
                let mut loads: Vec<f64> = vec![0.0; count];
                let mut parts: Vec<Vec<u32>> = vec![Vec::new(); count];
                for root in roots {
                    let least = (0..count).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
                    loads[least] += subtree[root as usize];
                    parts[least].push(root);
                }
                if loads.iter().all(|load| *load <= even) {
                    return Some(self.gathered(parts, &first, &in_rest));
                }
            }
            // the root of the heaviest subtree goes to the rest
            heap.pop();
            in_rest[root as usize] = true;
            rest += work(root as usize);
            heap.extend(children.of(root as usize).iter().map(|&child| weight(child)));
            if rest > share * total {
                break;
            }
        }
        None
    }

    /// The same, reordered to parts, given by the roots of their subtrees, and the rest at the end.
    fn gathered(&self, parts: Vec<Vec<u32>>, first: &[u32], in_rest: &[bool]) -> Symbolic {
        let mut parts: Vec<Vec<u32>> = parts
            .into_iter()
            .map(|mut roots| {
                roots.sort_unstable();
                roots.into_iter().flat_map(|root| first[root as usize]..=root).collect()
            })
            .collect();
        // the first thread gets the bodies numbered first, here as elsewhere: they are in its cache
        let middle = |part: &Vec<u32>| {
            part.iter().map(|&k| self.order[k as usize] as u64).sum::<u64>() / part.len().max(1) as u64
        };
        parts.sort_by_key(middle);
        let ends = parts.iter().scan(0, |end, part| {
            *end += part.len() as u32;
            Some(*end)
        });
        let ends = ends.collect();
        let rest = (0..self.order.len() as u32).filter(|&k| in_rest[k as usize]);
        let taken: Vec<u32> = parts.iter().flatten().copied().chain(rest).collect();
        let mut renumbered = vec![0; taken.len()];
        taken.iter().enumerate().for_each(|(new, &old)| renumbered[old as usize] = new as u32);
        // the rows of a column belong to its own part, then to the rest: they stay ascending
        let below = taken.iter().map(|&old| self.below[old as usize].iter().map(|&j| renumbered[j as usize]).collect());
        Symbolic {
            below: below.collect(),
            order: taken.iter().map(|&old| self.order[old as usize]).collect(),
            parts: ends,
            ..*self
        }
    }
}
