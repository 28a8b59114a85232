//! The order of elimination: minimum degree on the graph of the blocks, under the rules of the classes.

use crate::{
    blocks::{BlockPattern, Class},
    dissection::stages,
    solver::LinearError,
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Lists of neighbours in one array; list i is `list[start[i]..start[i + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    start: Vec<u32>,
    list: Vec<u32>,
}

impl Lists {
    /// Groups pairs (key, item) by key < n; within a key the order of the pairs stays.
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

/// The neighbours of every block, of the pattern closed symmetrically, ascending, without itself.
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

/// The blocks in their order of elimination.
///
/// Approximate minimum degree on the quotient graph [Amestoy, Davis & Duff 1996], degrees weighted
/// by block sizes, of ties what is closer to the ground first: a chain is eliminated from there to its free end, so that every
/// joint meets a body that still moves on its own. (Where two long halves meet, or all meets the ground, pivots of a spatial
/// ladder of n squares, rigid out of its plane, are n⁻³.) There are three rules:
/// * velocities go first;
/// * a multiplier waits for the bodies that are its neighbours once the velocities are gone;
/// * a multiplier that touches velocities (μ of a velocity row) also waits for those that do not
///   (λ of a position row) and act on some of the same bodies and no others: eliminating q leaves
///   G Gᵀ − α G S⁻¹ α M Gᵀ = 0 in the place of μ, and only the elimination of λ restores G Gᵀ.
///
/// Where stages are given, blocks also wait for all of earlier stages.
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

/// Only chains of so many blocks are long.
const LONG: usize = 100;

/// How far blocks are from the ground, which holds joints on one body alone; zero in small graphs.
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

/// More entries than this are left to other solvers; offsets must fit 32 bits, and memory.
const MOST_ENTRIES: usize = 1 << 29;

/// Block structure of the factors, in elimination order.
pub struct Symbolic {
    /// Block at every position.
    pub order: Vec<u32>,
    /// Positions below the diagonal of every block column, ascending.
    pub below: Vec<Vec<u32>>,
    /// The number of scalar entries of L, U and D.
    pub entries: usize,
    /// The work of the elimination, in squares of the columns' lengths.
    pub work: f64,
    /// Where nested dissection was tried: its work over that of minimum degree. The smaller is what was taken.
    pub dissection: Option<f64>,
    /// Where the parts end that can be eliminated at the same time; the rest waits for all of them. Empty: all waits.
    pub parts: Vec<u32>,
    /// Whether a cut was made for the parts' sake.
    pub cut: bool,
}

/// Where a column of the factors is as long as this, a dissection is tried.
const WIDE: usize = 60;

/// The elimination order, postordered along the elimination tree, and the structure it leads to: by minimum degree, or
/// for wide graphs after nested dissection, if that is less work. (A net of 100 × 100 takes 0.92 of the work then, a ladder
/// would take twice as much.)
///
/// Large graphs are `parted` for several threads where that is wanted.
pub fn symbolic(pattern: &BlockPattern, parted: bool) -> Result<Symbolic, LinearError> {
    let graph = graph(pattern);
    let whole = best(pattern, &graph)?;
    let bodies = (0..pattern.blocks()).filter(|&i| pattern.class(i) != Class::Multiplier).count();
    if bodies < WORTH_PARTING || !parted {
        return Ok(whole);
    }
    let most = if whole.dissection.is_some_and(|ratio| ratio < 1.0) { PARTS_OF_WIDE } else { 2 };
    let share = if most > 2 { SHARE_OF_REST } else { SMALL_REST };
    if let Some(parted) = whole.parted(pattern, most, share) {
        return Ok(parted);
    }
    // a chain is eliminated from end to end: it takes a cut in the middle
    let halves = stages(pattern, &graph, 1);
    let halved =
        halves.and_then(|stages| structure(pattern, &graph, elimination_order(pattern, &graph, Some(&stages))).ok());
    let parted = halved.filter(|h| h.work <= MORE_WORK * whole.work).and_then(|h| h.parted(pattern, 2, SHARE_OF_REST));
    Ok(match parted {
        Some(parted) => Symbolic { dissection: whole.dissection, cut: true, ..parted },
        None => whole,
    })
}

/// From so many bodies on, elimination is parted for several threads: below, they cost more than they give.
const WORTH_PARTING: usize = 400;

/// Wide graphs fall into parts anyway; copies of what the parts have in common limit their number.
const PARTS_OF_WIDE: usize = 4;

/// The largest part may have this much more than the mean.
const UNEVEN: f64 = 1.15;

/// What waits for all parts may have this share of the work; where a cut would leave next to nothing, this one.
const SHARE_OF_REST: f64 = 0.25;
const SMALL_REST: f64 = 0.01;

/// A cut for two threads may cost this much more work in all.
const MORE_WORK: f64 = 1.1;

impl Symbolic {
    /// The same with subtrees of the elimination tree gathered in parts of like work; none where the tree does not allow it.
    fn parted(&self, pattern: &BlockPattern, most: usize, share: f64) -> Option<Symbolic> {
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
        let weight = |root: u32| (subtree[root as usize].to_bits(), Reverse(root)); // positive numbers sort like their bits
        let mut heap: BinaryHeap<(u64, Reverse<u32>)> = roots.into_iter().map(weight).collect();
        while let Some(&(heaviest, Reverse(root))) = heap.peek() {
            let even = UNEVEN * (total - rest) / most as f64;
            if f64::from_bits(heaviest) <= even {
                let roots: Vec<u32> =
                    heap.clone().into_sorted_vec().into_iter().rev().map(|(_, root)| root.0).collect();
                let mut loads: Vec<f64> = vec![0.0; most];
                let mut parts: Vec<Vec<u32>> = vec![Vec::new(); most];
                for root in roots {
                    let least = (0..most).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
                    loads[least] += subtree[root as usize];
                    parts[least].push(root);
                }
                if loads.iter().all(|load| *load <= even) {
                    return Some(self.gathered(parts, &first, &in_rest));
                }
            }
            // the heaviest subtree gives its root to the rest
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

    /// The same in the order of parts, given by the roots of their subtrees, and the rest at the end.
    fn gathered(&self, parts: Vec<Vec<u32>>, first: &[u32], in_rest: &[bool]) -> Symbolic {
        let mut parts: Vec<Vec<u32>> = parts
            .into_iter()
            .map(|mut roots| {
                roots.sort_unstable();
                roots.into_iter().flat_map(|root| first[root as usize]..=root).collect()
            })
            .collect();
        // what was numbered first is worked on by the first thread, here and elsewhere
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
        // rows of a column are of its own part, then of the rest: they stay in order
        let below = taken.iter().map(|&old| self.below[old as usize].iter().map(|&j| renumbered[j as usize]).collect());
        Symbolic {
            below: below.collect(),
            order: taken.iter().map(|&old| self.order[old as usize]).collect(),
            parts: ends,
            ..*self
        }
    }
}

/// By minimum degree or after nested dissection.
fn best(pattern: &BlockPattern, graph: &Lists) -> Result<Symbolic, LinearError> {
    let of = |stages: Option<&[u32]>| structure(pattern, graph, elimination_order(pattern, graph, stages));
    let by_degree = of(None);
    let length = |rows: &[u32], s: &Symbolic| rows.iter().map(|&j| pattern.size(s.order[j as usize] as usize)).sum();
    let wide = |s: &Symbolic| s.below.iter().any(|rows| rows.len() > 8 && WIDE <= length(rows, s));
    if by_degree.as_ref().is_ok_and(|s| !wide(s)) {
        return by_degree;
    }
    let dissected = stages(pattern, graph, u32::MAX).and_then(|stages| of(Some(&stages)).ok());
    let (mut taken, ratio) = match (by_degree, dissected) {
        (Ok(s), Some(d)) => {
            let ratio = d.work / s.work;
            (if ratio < 1.0 { d } else { s }, Some(ratio))
        }
        (Err(_), Some(d)) => (d, Some(0.0)),
        (s, None) => return s,
    };
    taken.dissection = ratio;
    Ok(taken)
}

/// The structure that an order leads to, which is then postordered.
fn structure(pattern: &BlockPattern, graph: &Lists, order: Vec<u32>) -> Result<Symbolic, LinearError> {
    let n = order.len();
    let mut position = vec![0; n];
    for (k, &i) in order.iter().enumerate() {
        position[i as usize] = k as u32;
    }
    let mut below: Vec<Vec<u32>> = Vec::with_capacity(n);
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut roots = Vec::new();
    let mut mark = vec![u32::MAX; n];
    let (mut entries, mut work) = (0, 0.0);
    for k in 0..n as u32 {
        let mut rows = Vec::new();
        let neighbours = graph.of(order[k as usize] as usize).iter().map(|&j| position[j as usize]);
        let filled = children[k as usize].iter().flat_map(|&c| below[c as usize].iter().copied());
        for j in neighbours.chain(filled) {
            if j > k && mark[j as usize] != k {
                mark[j as usize] = k;
                rows.push(j);
            }
        }
        rows.sort_unstable();
        let size = |k: u32| pattern.size(order[k as usize] as usize);
        let length = rows.iter().map(|&j| size(j)).sum::<usize>();
        entries += size(k) * (size(k) + 2 * length);
        work += size(k) as f64 * ((size(k) + length) as f64).powi(2);
        if entries > MOST_ENTRIES {
            return Err(LinearError::TooLarge { entries });
        }
        match rows.first() {
            Some(&parent) => children[parent as usize].push(k),
            None => roots.push(k),
        }
        below.push(rows);
    }
    // Postorder, the child with the longest column last: it is the one to share a node with.
    for list in &mut children {
        list.sort_by_key(|&c| (below[c as usize].len(), c));
    }
    let mut visited = Vec::with_capacity(n);
    let mut stack: Vec<(u32, usize)> = Vec::new();
    for root in roots {
        stack.push((root, 0));
        while let Some((k, next)) = stack.last_mut() {
            if let Some(&child) = children[*k as usize].get(*next) {
                *next += 1;
                stack.push((child, 0));
            } else {
                visited.push(*k);
                stack.pop();
            }
        }
    }
    let mut renumbered = vec![0; n];
    for (new, &old) in visited.iter().enumerate() {
        renumbered[old as usize] = new as u32;
    }
    let below = visited
        .iter()
        .map(|&old| {
            let mut rows = std::mem::take(&mut below[old as usize]);
            rows.iter_mut().for_each(|j| *j = renumbered[*j as usize]);
            rows
        })
        .collect();
    Ok(Symbolic {
        order: visited.iter().map(|&old| order[old as usize]).collect(),
        below,
        entries,
        work,
        dissection: None,
        parts: Vec::new(),
        cut: false,
    })
}

/// The number of scalar entries of L, U and D that elimination leads to.
pub fn fill(pattern: &BlockPattern) -> Result<usize, LinearError> {
    symbolic(pattern, false).map(|s| s.entries)
}

const NONE: u32 = u32::MAX;

/// The quotient graph: live variables see live variables and elements (eliminated variables).
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
    /// Weight of the members; it stays, since an element loses members only by being absorbed.
    size: Vec<u32>,
    /// Weight of a live variable with all merged into it; zero for the others.
    weight: Vec<u32>,
    degree: Vec<u32>,
    /// Live elements.
    alive: Vec<bool>,
    /// Chain of the variables merged into a variable.
    next: Vec<u32>,
    last: Vec<u32>,
    mark: Vec<u32>,
    stamp: u32,
    /// |Lₑ \ Lₚ| of the elements seen in this step, valid where `seen` is the step.
    outside: Vec<u32>,
    seen: Vec<u32>,
    heap: BinaryHeap<Reverse<(u32, bool, u32, u32)>>,
    /// How far blocks are from the ground.
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

    /// Eliminates ready variables, the smallest degree first, until `until` blocks are ordered.
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

    /// Variables that waited for `i` alone become ready.
    fn release(&mut self, i: usize) {
        if self.waiting.is_empty() {
            return;
        }
        for k in 0..self.waiters.of(i).len() {
            self.unlock(self.waiters.of(i)[k] as usize);
        }
    }

    /// A variable waits for one less.
    fn unlock(&mut self, j: usize) {
        self.waiting[j] -= 1;
        if self.waiting[j] == 0 {
            self.ready[j] = true;
            self.push(j);
        }
    }

    fn eliminate(&mut self, p: usize) {
        // Lₚ: the live variables seen directly and through the elements of p, which p absorbs.
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
        let size: u32 = self.members[first..].iter().map(|&i| self.weight[i as usize]).sum();
        let end = self.members.len();
        self.first[p] = first as u32;
        self.count[p] = (end - first) as u32;
        self.size[p] = size;
        self.alive[p] = true;

        // |Lₑ \ Lₚ| for every element e that meets Lₚ.
        for m in first..end {
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

        // New lists and degrees of the variables of Lₚ.
        let mut hashes: Vec<(u32, u32)> = Vec::with_capacity(end - first);
        for m in first..end {
            let i = self.members[m] as usize;
            let (start, split, length) = (self.start[i] as usize, self.elements[i] as usize, self.length[i] as usize);
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
            to += 1; // p itself, written below: its place is free, for i lost p or an absorbed element
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
            hashes.push((hash, i as u32));
        }
        if self.merging && end - first < 1000 {
            self.merge(&mut hashes);
        }
        for m in first..end {
            let i = self.members[m] as usize;
            if self.weight[i] != 0 {
                self.push(i);
            }
        }
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

    /// How many items each multiplier waits for, and who waits for each item.
    fn dependencies(&mut self, graph: &Lists) -> (Vec<u32>, Lists) {
        let is = |i: usize, class| self.pattern.class(i) == class;
        let multipliers: Vec<usize> = (0..self.n).filter(|&i| is(i, Class::Multiplier)).collect();
        // Bodies seen by each multiplier, directly and through the eliminated velocities.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_lu::samples::{Form, Random, Sample, Shuffled};

    #[test]
    fn fill_grows_linearly() {
        type Make = fn(usize) -> Sample;
        let samples: [(&str, f64, Make); 3] = [
            ("chain", 1e4, |n| Sample::tree(&mut Random(1), &[3], n, 1)),
            ("tree", 1e4, |n| Sample::tree(&mut Random(2), &[3], n, n / 4)),
            ("ladder", 1e5, |n| Sample::ladder(n / 3)),
        ];
        for (form, part) in [(Form::Index3, 1.0), (Form::Ggl, 0.1)] {
            for (name, n, make) in samples {
                let n = n * part;
                let entries =
                    |n: f64| fill(make(n as usize).matrix(form, 1.0, &mut Random(1)).pattern()).unwrap() as f64;
                let exponent = (entries(n) / entries(100.0)).ln() / (n / 100.0).ln();
                assert!(exponent <= 1.05, "{name}: exponent {exponent}");
            }
        }
        let ladder = Sample::ladder(333).matrix(Form::Index3, 1.0, &mut Random(1));
        assert!(fill(ladder.pattern()).unwrap() <= 71 * 1000);
    }

    #[test]
    fn a_shuffled_ladder_fills_no_more() {
        let a = Sample::ladder(300).matrix(Form::Index3, 1.0, &mut Random(1));
        let straight = fill(a.pattern()).unwrap();
        let shuffled = fill(a.shuffled(&mut Random(4)).pattern()).unwrap();
        assert!(shuffled as f64 <= 1.1 * straight as f64, "{straight} to {shuffled}");
    }

    #[test]
    fn classes_are_kept_in_order() {
        let mut rng = Random(8);
        let mut s = Sample::tree(&mut rng, &[3, 6], 40, 7);
        s.springs = vec![(0, 20), (5, 30), (3, 8)];
        s.random_joint(&mut rng, 2, &[1, 17, 33]);
        let a = s.matrix(Form::Ggl, 1.0, &mut rng);
        let pattern = a.pattern();
        let order = symbolic(pattern, true).unwrap().order;
        let position = |b: usize| order.iter().position(|&k| k as usize == b).unwrap();
        let n = s.bodies.len();
        for (j, joint) in s.joints.iter().enumerate() {
            let (lambda, mu) = (2 * n + 2 * j, 2 * n + 2 * j + 1);
            assert!(position(lambda) < position(mu));
            for &(b, _) in &joint.on {
                assert!(position(b) < position(n + b), "velocity, then coordinates");
                assert!(position(n + b) < position(lambda), "bodies, then their joints");
            }
        }
    }
}
