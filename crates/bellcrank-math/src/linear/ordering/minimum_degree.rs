//! Approximate minimum degree on the quotient graph, under the rules of the classes.

use super::graph::Lists;
use crate::linear::blocks::{BlockPattern, Class};
use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

/// The blocks in their order of elimination.
///
/// Approximate minimum degree on the quotient graph [Amestoy, Davis & Duff 1996], with degrees weighted by block sizes. Ties
/// go to the block closer to the ground: a chain is eliminated from there to its free end, so that every joint meets a body
/// that can still move. (Where two long halves meet, or everything meets the ground, the pivots of a spatial ladder of n
/// squares, rigid out of its plane, are n⁻³.) There are three rules:
/// * velocities come first;
/// * a multiplier comes after the bodies that are its neighbours once the velocities are eliminated;
/// * a multiplier that touches velocities (μ of a velocity row) also comes after those that do not (λ of a position row) and
///   act on some of the same bodies and no others: eliminating q leaves G Gᵀ − α G S⁻¹ α M Gᵀ = 0 in the place of μ, and
///   only the elimination of λ restores G Gᵀ.
///
/// Where stages are given, blocks also come after all of earlier stages.
pub fn elimination_order(pattern: &BlockPattern, graph: &Lists, stages: Option<&[u32]>) -> Vec<u32> {
    let mut q = Quotient::new(pattern, graph);
    let mut order = Vec::with_capacity(q.n);
    let velocities = (0..q.n).filter(|&i| pattern.class(i) == Class::Velocity).count();
    for i in 0..q.n {
        q.ready[i] = pattern.class(i) == Class::Velocity;
        q.push(i);
    }
    q.run(&mut order, velocities);
    let (waiting, waiters) = q.dependencies(graph);
    q.waiting = waiting;
    q.waiters = waiters;
    q.merging = true;
    let last = stages.map_or(0, |stages| stages.iter().copied().max().unwrap_or(0));
    if let Some(stages) = stages {
        stages.iter().zip(&mut q.waiting).for_each(|(stage, waiting)| *waiting += (*stage > 0) as u32);
    }
    for i in 0..q.n {
        if pattern.class(i) != Class::Velocity && q.waiting[i] == 0 {
            q.ready[i] = true;
            q.push(i);
        }
    }
    let n = q.n;
    q.run(&mut order, n);
    for stage in 1..=last {
        let stages = stages.unwrap_or_default();
        for i in (0..n).filter(|&i| stages[i] == stage) {
            q.unlock(i);
        }
        q.run(&mut order, n);
    }
    order
}

/// Graphs of fewer blocks have no long chains: ties are broken by number.
const LONG: usize = 100;

/// Distances of the blocks from the ground, which holds the joints of one body; zero in small graphs.
fn distances(pattern: &BlockPattern, graph: &Lists) -> Vec<u32> {
    let n = pattern.blocks();
    if n < LONG {
        return vec![0; n];
    }
    let bodies = |i: usize| graph.of(i).iter().filter(|&&j| pattern.class(j as usize) == Class::Body).count();
    let held = (0..n).filter(|&i| pattern.class(i) == Class::Multiplier && bodies(i) == 1);
    let mut distance = vec![NONE; n];
    let mut queue: Vec<u32> = held.map(|i| i as u32).collect();
    queue.iter().for_each(|&i| distance[i as usize] = 0);
    let mut next = 0;
    while let Some(&i) = queue.get(next) {
        next += 1;
        for &j in graph.of(i as usize).iter().filter(|&&j| distance[j as usize] == NONE).collect::<Vec<_>>() {
            distance[j as usize] = distance[i as usize] + 1;
            queue.push(j);
        }
    }
    distance
}

const NONE: u32 = u32::MAX;

/// Elements with more members are not searched for variables to merge: groups of equal hashes are compared pairwise.
const MERGED_BELOW: usize = 1000;

/// The quotient graph: live variables are adjacent to live variables and elements (eliminated variables).
///
/// The many fields are the arrays of the published algorithm, one number per block each.
struct Quotient<'a> {
    pattern: &'a BlockPattern,
    n: usize,
    /// Lists of variable i: elements `list[start..][..elements]`, then variables up to `length`.
    list: Vec<u32>,
    start: Vec<u32>,
    elements: Vec<u32>,
    length: Vec<u32>,
    /// Members of element e: `members[first..][..count]`.
    members: Vec<u32>,
    first: Vec<u32>,
    count: Vec<u32>,
    /// Weight of the members; it is constant, since an element loses members only by being absorbed.
    size: Vec<u32>,
    /// Weight of a live variable with all variables merged into it; zero for the others.
    weight: Vec<u32>,
    degree: Vec<u32>,
    /// Live elements.
    alive: Vec<bool>,
    /// Chain of the variables merged into a variable.
    next: Vec<u32>,
    last: Vec<u32>,
    mark: Vec<u32>,
    stamp: u32,
    /// |Lₑ \ Lₚ| of the elements seen in this step, valid where `seen` equals `stamp`.
    outside: Vec<u32>,
    seen: Vec<u32>,
    heap: BinaryHeap<Reverse<(u32, bool, u32, u32)>>,
    /// Distances from the ground.
    distance: Vec<u32>,
    ready: Vec<bool>,
    waiting: Vec<u32>,
    waiters: Lists,
    merging: bool,
    total: u32,
}

impl<'a> Quotient<'a> {
    fn new(pattern: &'a BlockPattern, graph: &Lists) -> Quotient<'a> {
        let n = pattern.blocks();
        let weight: Vec<u32> = (0..n).map(|i| pattern.size(i).max(1) as u32).collect();
        let degree = (0..n).map(|i| graph.of(i).iter().map(|&j| weight[j as usize]).sum()).collect();
        Quotient {
            pattern,
            n,
            list: graph.list.clone(),
            start: graph.start[..n].to_vec(),
            elements: vec![0; n],
            length: (0..n).map(|i| graph.of(i).len() as u32).collect(),
            members: Vec::with_capacity(graph.list.len()),
            first: vec![0; n],
            count: vec![0; n],
            size: vec![0; n],
            total: weight.iter().sum(),
            weight,
            degree,
            alive: vec![false; n],
            next: vec![NONE; n],
            last: (0..n as u32).collect(),
            mark: vec![0; n],
            stamp: 0,
            outside: vec![0; n],
            seen: vec![0; n],
            heap: BinaryHeap::new(),
            distance: distances(pattern, graph),
            ready: vec![false; n],
            waiting: Vec::new(),
            waiters: Lists::default(),
            merging: false,
        }
    }

    fn push(&mut self, i: usize) {
        if self.ready[i] {
            let later = self.pattern.class(i) == Class::Multiplier;
            self.heap.push(Reverse((self.degree[i], later, self.distance[i], i as u32)));
        }
    }

    /// Eliminates ready variables, smallest degree first, until `until` blocks are ordered.
    fn run(&mut self, order: &mut Vec<u32>, until: usize) {
        while order.len() < until {
            let Some(Reverse((degree, _, _, p))) = self.heap.pop() else { return };
            let p = p as usize;
            if self.weight[p] == 0 || degree != self.degree[p] {
                continue;
            }
            self.eliminate(p);
            let mut i = p as u32;
            while i != NONE {
                order.push(i);
                self.release(i as usize);
                i = self.next[i as usize];
            }
        }
    }

    /// Variables that waited for nothing but `i` become ready.
    fn release(&mut self, i: usize) {
        if self.waiting.is_empty() {
            return;
        }
        for k in 0..self.waiters.of(i).len() {
            self.unlock(self.waiters.of(i)[k] as usize);
        }
    }

    /// Variable j waits for one less.
    fn unlock(&mut self, j: usize) {
        self.waiting[j] -= 1;
        if self.waiting[j] == 0 {
            self.ready[j] = true;
            self.push(j);
        }
    }

    /// Eliminates variable p, which becomes an element.
    fn eliminate(&mut self, p: usize) {
        let members = self.absorb(p);
        self.count_outside(members.clone());
        let mut hashes: Vec<(u32, u32)> = Vec::with_capacity(members.len());
        for m in members.clone() {
            let i = self.members[m] as usize;
            let hash = self.relist(i, p);
            hashes.push((hash, i as u32));
        }
        if self.merging && members.len() < MERGED_BELOW {
            self.merge(&mut hashes);
        }
        for m in members {
            let i = self.members[m] as usize;
            if self.weight[i] != 0 {
                self.push(i);
            }
        }
    }

    /// Forms Lₚ, the live variables adjacent to p directly and through its elements, which p absorbs; returns its place in
    /// `members`.
    fn absorb(&mut self, p: usize) -> Range<usize> {
        self.stamp += 1;
        self.mark[p] = self.stamp;
        self.total -= self.weight[p];
        self.weight[p] = 0;
        let first = self.members.len();
        let (start, split) = (self.start[p] as usize, self.elements[p] as usize);
        for k in start + split..start + self.length[p] as usize {
            self.gather(self.list[k] as usize);
        }
        for k in start..start + split {
            let e = self.list[k] as usize;
            if self.alive[e] {
                self.alive[e] = false;
                for k in self.first[e] as usize..(self.first[e] + self.count[e]) as usize {
                    self.gather(self.members[k] as usize);
                }
            }
        }
        let end = self.members.len();
        self.first[p] = first as u32;
        self.count[p] = (end - first) as u32;
        self.size[p] = self.members[first..].iter().map(|&i| self.weight[i as usize]).sum();
        self.alive[p] = true;
        first..end
    }

    /// |Lₑ \ Lₚ| for every element e that meets Lₚ.
    fn count_outside(&mut self, members: Range<usize>) {
        for m in members {
            let i = self.members[m] as usize;
            let start = self.start[i] as usize;
            for k in start..start + self.elements[i] as usize {
                let e = self.list[k] as usize;
                if !self.alive[e] {
                    continue;
                }
                if self.seen[e] != self.stamp {
                    self.seen[e] = self.stamp;
                    self.outside[e] = self.size[e];
                }
                self.outside[e] -= self.weight[i];
            }
        }
    }

    /// The new lists and degree of variable i of Lₚ; returns a hash of the lists.
    fn relist(&mut self, i: usize, p: usize) -> u32 {
        let (start, split, length) = (self.start[i] as usize, self.elements[i] as usize, self.length[i] as usize);
        let size = self.size[p];
        let mut to = start;
        let mut degree = size - self.weight[i];
        let mut hash = p as u32;
        for k in start..start + split {
            let e = self.list[k];
            if !self.alive[e as usize] {
                continue;
            }
            if self.outside[e as usize] == 0 {
                self.alive[e as usize] = false; // covered by Lₚ
                continue;
            }
            degree += self.outside[e as usize];
            hash = hash.wrapping_add(e);
            self.list[to] = e;
            to += 1;
        }
        let elements = to;
        to += 1; // for p itself, written below; there is room, as i lost p or an absorbed element
        let mut kept = to;
        let mut pending = None;
        for k in start + split..start + length {
            let j = self.list[k];
            if self.weight[j as usize] == 0 || self.mark[j as usize] == self.stamp {
                continue;
            }
            degree += self.weight[j as usize];
            hash = hash.wrapping_add(j);
            // one behind, lest the place of p overwrite a variable not yet read
            if let Some(j) = pending.replace(j) {
                self.list[kept] = j;
                kept += 1;
            }
        }
        if let Some(j) = pending {
            self.list[kept] = j;
            kept += 1;
        }
        self.list[elements] = p as u32;
        self.elements[i] = (elements + 1 - start) as u32;
        self.length[i] = (kept - start) as u32;
        let bound = self.degree[i].saturating_add(size - self.weight[i]);
        self.degree[i] = degree.min(bound).min(self.total - self.weight[i]);
        hash
    }

    fn gather(&mut self, i: usize) {
        if self.weight[i] != 0 && self.mark[i] != self.stamp {
            self.mark[i] = self.stamp;
            self.members.push(i as u32);
        }
    }

    /// Merges ready variables of one class that see the same elements and variables.
    fn merge(&mut self, hashes: &mut [(u32, u32)]) {
        hashes.sort_unstable();
        for group in hashes.chunk_by(|a, b| a.0 == b.0) {
            for (a, &(_, i)) in group.iter().enumerate() {
                let i = i as usize;
                if self.weight[i] == 0 || !self.ready[i] {
                    continue;
                }
                self.stamp += 1;
                for k in self.start[i]..self.start[i] + self.length[i] {
                    self.mark[self.list[k as usize] as usize] = self.stamp;
                }
                for &(_, j) in &group[a + 1..] {
                    let j = j as usize;
                    let list = &self.list[self.start[j] as usize..(self.start[j] + self.length[j]) as usize];
                    let same = self.weight[j] != 0
                        && self.ready[j]
                        && self.pattern.class(i) == self.pattern.class(j)
                        && (self.elements[i], self.length[i]) == (self.elements[j], self.length[j])
                        && list.iter().all(|&k| self.mark[k as usize] == self.stamp);
                    if same {
                        self.degree[i] -= self.weight[j].min(self.degree[i]);
                        self.weight[i] += self.weight[j];
                        self.weight[j] = 0;
                        let last = self.last[i] as usize;
                        self.next[last] = j as u32;
                        self.last[i] = self.last[j];
                    }
                }
            }
        }
    }

    /// The number of blocks each multiplier waits for, and the multipliers that wait for each block.
    fn dependencies(&mut self, graph: &Lists) -> (Vec<u32>, Lists) {
        let is = |i: usize, class| self.pattern.class(i) == class;
        let multipliers: Vec<usize> = (0..self.n).filter(|&i| is(i, Class::Multiplier)).collect();
        // bodies adjacent to each multiplier, directly and through the eliminated velocities
        let mut pairs = Vec::new();
        let mut mark = vec![NONE; self.n];
        for &i in &multipliers {
            let start = self.start[i] as usize;
            let (elements, variables) =
                self.list[start..start + self.length[i] as usize].split_at(self.elements[i] as usize);
            let through = elements.iter().filter(|&&e| self.alive[e as usize]).flat_map(|&e| {
                &self.members
                    [self.first[e as usize] as usize..(self.first[e as usize] + self.count[e as usize]) as usize]
            });
            for &j in variables.iter().chain(through) {
                if is(j as usize, Class::Body) && mark[j as usize] != i as u32 {
                    mark[j as usize] = i as u32;
                    pairs.push((i as u32, j));
                }
            }
        }
        let bodies = Lists::grouped(self.n, &pairs);
        let fast: Vec<bool> =
            (0..self.n).map(|i| graph.of(i).iter().any(|&j| is(j as usize, Class::Velocity))).collect();
        let mut wait: Vec<(u32, u32)> = pairs.iter().map(|&(i, j)| (j, i)).collect();
        let of_body: Vec<(u32, u32)> = wait.iter().copied().filter(|&(_, i)| fast[i as usize]).collect();
        let fast_of_body = Lists::grouped(self.n, &of_body);
        mark.fill(NONE);
        for &i in multipliers.iter().filter(|&&i| !fast[i]) {
            let Some(&rarest) = bodies.of(i).iter().min_by_key(|&&b| (fast_of_body.of(b as usize).len(), b)) else {
                continue;
            };
            for &j in fast_of_body.of(rarest as usize) {
                let covers = bodies.of(i).iter().all(|b| bodies.of(j as usize).contains(b));
                if covers {
                    wait.push((i as u32, j));
                }
            }
        }
        let mut waiting = vec![0; self.n];
        for &(_, i) in &wait {
            waiting[i as usize] += 1;
        }
        (waiting, Lists::grouped(self.n, &wait))
    }
}
