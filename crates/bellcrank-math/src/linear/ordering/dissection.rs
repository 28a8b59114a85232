//! Nested dissection: joints that cut a model in halves are eliminated after both halves [George 1973].
//!
//! Halves are found on the graph of the bodies by multilevel bisection: neighbours are matched until few are left, those are
//! cut, and single bodies move across the cut on the way back [Hendrickson & Leland 1995; Fiduccia & Mattheyses 1982].

use super::graph::Lists;
use crate::linear::blocks::{BlockPattern, Class};
use std::collections::BinaryHeap;

/// Regions of up to this many bodies are not cut further: minimum degree orders them.
const SMALL_REGION: usize = 24;

/// The largest share of the weight that one side of a cut may have.
const LARGEST_SIDE: f64 = 0.55;

/// Graphs of up to this many vertices are cut directly,
const COARSEST: usize = 40;

/// growing one side from each of this many seeds.
const SEEDS: usize = 8;

/// The most sweeps of single moves.
const SWEEPS: usize = 6;

/// A sweep ends after this many moves in a row without a smaller cut.
const MOVES_IN_VAIN: usize = 200;

const NONE: u32 = u32::MAX;

/// The stage of every block: blocks of stage s are eliminated after all of earlier stages. `None` where velocities are
/// unknowns of their own, or all bodies fit one region. Cuts are nested up to `most` levels deep.
pub fn stages(pattern: &BlockPattern, graph: &Lists, most: u32) -> Option<Vec<u32>> {
    let n = pattern.blocks();
    let is = |i: u32, class: Class| pattern.class(i as usize) == class;
    let bodies: Vec<u32> = (0..n as u32).filter(|&i| is(i, Class::Body)).collect();
    if bodies.len() <= 2 * SMALL_REGION || (0..n as u32).any(|i| is(i, Class::Velocity)) {
        return None;
    }
    let mut number = vec![NONE; n];
    bodies.iter().enumerate().for_each(|(k, &i)| number[i as usize] = k as u32);
    let of = |i: u32| graph.of(i as usize).iter().copied().filter(|&j| is(j, Class::Body));
    let mut edges = Vec::new();
    for i in 0..n as u32 {
        let size = pattern.size(i as usize) as u32;
        if is(i, Class::Body) {
            // a cut between directly coupled bodies costs one of them with its joints
            edges.extend(of(i).map(|j| (number[i as usize], number[j as usize], 2 * size)));
        } else {
            // a path through the bodies of the joint, mostly two
            let on: Vec<u32> = of(i).map(|j| number[j as usize]).collect();
            edges.extend(on.windows(2).flat_map(|pair| [(pair[0], pair[1], size), (pair[1], pair[0], size)]));
        }
    }
    let whole = Graph::new(vec![1; bodies.len()], edges);

    let mut depth_of = vec![NONE; n];
    let mut region = vec![0u32; bodies.len()];
    let mut regions = 1;
    let mut todo = vec![((0..bodies.len() as u32).collect::<Vec<u32>>(), 0)];
    let mut deepest = 0;
    while let Some((part, depth)) = todo.pop() {
        if part.len() <= SMALL_REGION || depth >= most {
            continue;
        }
        let sides = bisect(&whole.part(&part));
        let (one, other): (Vec<_>, Vec<_>) = part.iter().zip(&sides).partition(|(_, side)| !**side);
        let [one, other] = [one, other].map(|half| half.into_iter().map(|(&v, _)| v).collect::<Vec<u32>>());
        if one.is_empty() || other.is_empty() {
            continue;
        }
        other.iter().for_each(|&v| region[v as usize] = regions);
        let there = regions;
        regions += 1;
        deepest = deepest.max(depth);
        let lies = |i: u32, at: u32, depth_of: &[u32]| {
            depth_of[i as usize] == NONE && region[number[i as usize] as usize] == at
        };
        for &v in &one {
            let i = bodies[v as usize];
            if of(i).any(|j| lies(j, there, &depth_of)) {
                depth_of[i as usize] = depth;
                let joints = graph.of(i as usize).iter().filter(|&&j| is(j, Class::Multiplier));
                joints.for_each(|&j| depth_of[j as usize] = depth_of[j as usize].min(depth));
            }
            for &j in graph.of(i as usize).iter().filter(|&&j| is(j, Class::Multiplier)) {
                if depth_of[j as usize] == NONE && of(j).any(|k| lies(k, there, &depth_of)) {
                    depth_of[j as usize] = depth;
                }
            }
        }
        todo.extend([(one, depth + 1), (other, depth + 1)]);
    }
    Some(depth_of.into_iter().map(|depth| if depth == NONE { 0 } else { deepest + 1 - depth }).collect())
}

/// An undirected graph with weights: neighbours of v are `list[start[v]..start[v + 1]]`.
struct Graph {
    weight: Vec<u32>,
    start: Vec<u32>,
    list: Vec<(u32, u32)>,
}

impl Graph {
    /// From edges (from, to, weight), given in both directions; weights of equal edges are added.
    fn new(weight: Vec<u32>, mut edges: Vec<(u32, u32, u32)>) -> Graph {
        edges.sort_unstable();
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if same { next.2 } else { 0 };
            same
        });
        let mut start = vec![0; weight.len() + 1];
        edges.iter().for_each(|edge| start[edge.0 as usize + 1] += 1);
        (0..weight.len()).for_each(|v| start[v + 1] += start[v]);
        Graph { weight, start, list: edges.into_iter().map(|(_, to, weight)| (to, weight)).collect() }
    }

    fn len(&self) -> usize {
        self.weight.len()
    }

    fn of(&self, v: u32) -> &[(u32, u32)] {
        &self.list[self.start[v as usize] as usize..self.start[v as usize + 1] as usize]
    }

    /// The subgraph of some vertices, given in ascending order.
    fn part(&self, vertices: &[u32]) -> Graph {
        let number = |v: u32| vertices.binary_search(&v).ok().map(|k| k as u32);
        let mut edges = Vec::new();
        for (k, &v) in vertices.iter().enumerate() {
            edges.extend(self.of(v).iter().filter_map(|&(to, weight)| Some((k as u32, number(to)?, weight))));
        }
        Graph::new(vertices.iter().map(|&v| self.weight[v as usize]).collect(), edges)
    }

    /// The graph with every vertex merged with the free neighbour of the heaviest edge; and the new number of every vertex.
    fn matched(&self) -> (Graph, Vec<u32>) {
        let mut number = vec![NONE; self.len()];
        let mut weight = Vec::new();
        // vertices of few neighbours first: they have the least choice
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|&v| self.of(v).len());
        for v in order {
            if number[v as usize] != NONE {
                continue;
            }
            let free = self.of(v).iter().filter(|(to, _)| number[*to as usize] == NONE && *to != v);
            let mate = free.max_by_key(|(to, w)| (*w, u32::MAX - self.weight[*to as usize], u32::MAX - to));
            number[v as usize] = weight.len() as u32;
            let mut sum = self.weight[v as usize];
            if let Some(&(to, _)) = mate {
                number[to as usize] = number[v as usize];
                sum += self.weight[to as usize];
            }
            weight.push(sum);
        }
        let mut edges = Vec::new();
        for v in 0..self.len() as u32 {
            let from = number[v as usize];
            let others = self.of(v).iter().map(|&(to, w)| (from, number[to as usize], w));
            edges.extend(others.filter(|edge| edge.0 != edge.1));
        }
        (Graph::new(weight, edges), number)
    }

    /// The weight of the edges between the sides.
    fn cut(&self, sides: &[bool]) -> u32 {
        let across = |v: u32| self.of(v).iter().filter(move |e| sides[e.0 as usize] != sides[v as usize]);
        (0..self.len() as u32).flat_map(across).map(|e| e.1).sum::<u32>() / 2
    }

    /// Sides: false for the vertices reached from one of them until they have half of the weight.
    fn grown(&self, from: u32) -> Vec<bool> {
        let total: u32 = self.weight.iter().sum();
        let mut sides = vec![true; self.len()];
        let mut seen = vec![false; self.len()];
        let (mut queue, mut next, mut weight) = (vec![from], 0, 0);
        seen[from as usize] = true;
        let mut unseen = 0;
        while 2 * weight < total {
            // a graph may be disconnected
            while next == queue.len() {
                if !seen[unseen] {
                    seen[unseen] = true;
                    queue.push(unseen as u32);
                }
                unseen += 1;
            }
            let v = queue[next];
            next += 1;
            sides[v as usize] = false;
            weight += self.weight[v as usize];
            for &(to, _) in self.of(v) {
                if !std::mem::replace(&mut seen[to as usize], true) {
                    queue.push(to);
                }
            }
        }
        sides
    }

    /// Moves vertices across the cut, one by one, as long as a sweep of moves makes the cut smaller.
    fn refine(&self, sides: &mut [bool]) {
        let total: u32 = self.weight.iter().sum();
        let heaviest = self.weight.iter().copied().max().unwrap_or(0);
        let most = ((LARGEST_SIDE * total as f64) as u32).max(total.div_ceil(2) + heaviest / 2);
        let mut on = [0u32; 2];
        (0..self.len()).for_each(|v| on[sides[v] as usize] += self.weight[v]);
        for _ in 0..SWEEPS {
            let gain = |v: u32, sides: &[bool]| -> i64 {
                let signed =
                    |e: &(u32, u32)| if sides[e.0 as usize] != sides[v as usize] { e.1 as i64 } else { -(e.1 as i64) };
                self.of(v).iter().map(signed).sum()
            };
            let mut gains: Vec<i64> = (0..self.len() as u32).map(|v| gain(v, sides)).collect();
            let at_cut = |v: u32, sides: &[bool]| self.of(v).iter().any(|e| sides[e.0 as usize] != sides[v as usize]);
            let mut heap: BinaryHeap<(i64, u32)> = (0..self.len() as u32)
                .filter(|&v| at_cut(v, sides))
                .map(|v| (gains[v as usize], u32::MAX - v))
                .collect();
            let mut moved = vec![false; self.len()];
            let (mut moves, mut sum, mut best, mut kept) = (Vec::new(), 0, 0, 0);
            let mut in_vain = 0;
            while let Some((g, v)) = heap.pop() {
                let v = u32::MAX - v;
                let (from, w) = (sides[v as usize], self.weight[v as usize]);
                if moved[v as usize] || g != gains[v as usize] || on[!from as usize] + w > most.max(on[from as usize]) {
                    continue;
                }
                moved[v as usize] = true;
                sides[v as usize] = !from;
                on[from as usize] -= w;
                on[!from as usize] += w;
                moves.push(v);
                sum += g;
                in_vain += 1;
                if sum > best {
                    (best, kept, in_vain) = (sum, moves.len(), 0);
                }
                if in_vain > MOVES_IN_VAIN {
                    break;
                }
                for &(to, w) in self.of(v) {
                    let sign = if sides[to as usize] == sides[v as usize] { -2 } else { 2 };
                    gains[to as usize] += sign * w as i64;
                    if !moved[to as usize] {
                        heap.push((gains[to as usize], u32::MAX - to));
                    }
                }
            }
            for &v in &moves[kept..] {
                let side = &mut sides[v as usize];
                on[*side as usize] -= self.weight[v as usize];
                *side = !*side;
                on[*side as usize] += self.weight[v as usize];
            }
            if best == 0 {
                break;
            }
        }
    }
}

/// The sides of a bisection with few edges between them.
fn bisect(graph: &Graph) -> Vec<bool> {
    if graph.len() > COARSEST {
        let (coarse, number) = graph.matched();
        // coarsening has stalled where nine tenths of the vertices are left
        if 10 * coarse.len() < 9 * graph.len() {
            let coarse = bisect(&coarse);
            let mut sides: Vec<bool> = number.iter().map(|&k| coarse[k as usize]).collect();
            graph.refine(&mut sides);
            return sides;
        }
    }
    let step = graph.len().div_ceil(SEEDS).max(1);
    let tried = (0..graph.len() as u32).step_by(step).map(|seed| {
        let mut sides = graph.grown(seed);
        graph.refine(&mut sides);
        (graph.cut(&sides), sides)
    });
    tried.min_by_key(|(cut, _)| *cut).map_or_else(Vec::new, |(_, sides)| sides)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(m: u32, n: u32) -> Graph {
        let mut edges = Vec::new();
        for i in 0..m {
            for j in 0..n {
                let v = i * n + j;
                edges.extend((i + 1 < m).then_some([(v, v + n, 1), (v + n, v, 1)]).into_iter().flatten());
                edges.extend((j + 1 < n).then_some([(v, v + 1, 1), (v + 1, v, 1)]).into_iter().flatten());
            }
        }
        Graph::new(vec![1; (m * n) as usize], edges)
    }

    #[test]
    fn grids_and_paths_are_cut_across() {
        let grids = [(1, 1000, 1), (2, 500, 2), (30, 30, 36), (100, 100, 120), (20, 80, 22)];
        for &(m, n, most) in if cfg!(miri) { &grids[..1] } else { &grids } {
            let graph = grid(m, n);
            let sides = bisect(&graph);
            let one = sides.iter().filter(|side| **side).count();
            assert!(one * 100 >= 44 * sides.len() && one * 100 <= 56 * sides.len(), "{m} × {n}: {one}");
            assert!(graph.cut(&sides) <= most, "{m} × {n}: {}", graph.cut(&sides));
        }
    }

    #[test]
    fn what_falls_apart_is_cut_for_nothing() {
        let edges = (0..99u32).filter(|v| v % 10 != 9).flat_map(|v| [(v, v + 1, 1), (v + 1, v, 1)]).collect();
        let graph = Graph::new(vec![1; 100], edges);
        let sides = bisect(&graph);
        assert!(graph.cut(&sides) <= 1 && sides.iter().filter(|side| **side).count().abs_diff(50) <= 6);
        assert!(bisect(&Graph::new(vec![1], vec![])).len() == 1);
    }
}
