//! A spanning tree of the bodies: which joints belong to it, chosen so that each holds its body well.

use bellcrank_model::Dynamics;
use bellcrank_model::dynamics::Carries;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows that keep less than this part of themselves beside the others of a body do not count as independent.
const INDEPENDENT: f64 = 0.2;
/// A spanning tree.
pub(super) struct SpanningTree {
    /// The bodies, each after the one that carries it.
    pub(super) order: Vec<usize>,
    /// The constraints of the tree, ascending.
    pub(super) tree: Vec<usize>,
}

/// Spans the bodies by joints, given the bodies each constraint holds and its rows for one of them.
pub(super) fn span(
    dynamics: &dyn Dynamics,
    ends: &[Vec<usize>],
    rows: &dyn Fn(usize, usize) -> Vec<Vec<f64>>,
) -> SpanningTree {
    let layout = dynamics.layout();
    let bodies = layout.bodies.len();
    let own = |k: usize| dynamics.carries(k) == Carries::WithinBody;
    let mut basis: Vec<Vec<Vec<f64>>> = vec![Vec::new(); bodies];
    let mut tree: Vec<usize> = (0..ends.len()).filter(|&k| own(k)).collect();
    for &k in &tree {
        ends[k].iter().for_each(|&b| add_independent(&mut basis[b], rows(k, b), 0.0));
    }
    // ways between bodies; the ground is the last number
    let edge = |k: usize| match ends[k][..] {
        _ if matches!(dynamics.carries(k), Carries::WithinBody | Carries::Never) => None,
        [b] => Some((bodies, b)),
        [a, b] => Some((a, b)),
        _ => None,
    };
    let mut ways: Vec<Vec<usize>> = vec![Vec::new(); bodies + 1];
    for k in 0..ends.len() {
        if let Some((a, b)) = edge(k) {
            ways[a].push(k);
            ways[b].push(k);
        }
    }
    let other = |k: usize, here: usize| edge(k).map_or(here, |(a, b)| if a == here { b } else { a });
    let mut father: Vec<Option<(usize, usize)>> = vec![None; bodies];
    let mut seen = vec![false; bodies + 1];
    let mut order = Vec::new();
    // from the ground, then from what nothing joins to it
    for root in std::iter::once(bodies).chain(0..bodies) {
        let mut heap = BinaryHeap::from([Reverse((0usize, usize::MAX, root, root))]);
        while let Some(Reverse((so_far, by, from, at))) = heap.pop() {
            if seen[at] {
                continue;
            }
            if by != usize::MAX {
                let mut with = basis[at].clone();
                if !try_independent(&mut with, rows(by, at), 1e-6) {
                    continue;
                }
                basis[at] = with;
                father[at] = Some((from, by));
                tree.push(by);
            }
            seen[at] = true;
            if at != bodies {
                order.push(at);
            }
            for &k in &ways[at] {
                let there = other(k, at);
                if there != bodies && !seen[there] {
                    let wanted = dynamics.carries(k) == Carries::Wanted;
                    let freedom = layout.bodies[there].len().saturating_sub(layout.constraints[k].len());
                    heap.push(Reverse((so_far + if wanted { 0 } else { 1000 + freedom }, k, at, there)));
                }
            }
        }
    }
    // drives and the like, beside the joint that carries the body
    let mut inside = vec![false; ends.len()];
    tree.iter().for_each(|&k| inside[k] = true);
    for k in (0..ends.len()).filter(|&k| !inside[k]) {
        let Some((a, b)) = edge(k) else { continue };
        let carried = |son: usize, by: usize| son != bodies && father[son].is_some_and(|(f, _)| f == by);
        let son = if carried(b, a) { b } else { a };
        if (carried(b, a) || carried(a, b)) && try_independent(&mut basis[son], rows(k, son), INDEPENDENT) {
            tree.push(k);
        }
    }
    tree.sort_unstable();
    SpanningTree { order: depth_first(&order, &father), tree }
}

/// The bodies depth first, so that sweeps go through memory in order; the ground is the father with the last number.
fn depth_first(order: &[usize], father: &[Option<(usize, usize)>]) -> Vec<usize> {
    let bodies = father.len();
    let mut sons: Vec<Vec<usize>> = vec![Vec::new(); bodies];
    let mut stack = Vec::new();
    for &b in order.iter().rev() {
        match father[b] {
            Some((f, _)) if f != bodies => sons[f].push(b),
            _ => stack.push(b),
        }
    }
    let mut deep = Vec::with_capacity(bodies);
    while let Some(b) = stack.pop() {
        deep.push(b);
        stack.extend(&sons[b]);
    }
    deep
}

/// Adds rows to an orthonormal basis if each keeps more than a part of itself.
fn try_independent(basis: &mut Vec<Vec<f64>>, rows: Vec<Vec<f64>>, part: f64) -> bool {
    let before = basis.len();
    let added = rows.len();
    add_independent(basis, rows, part);
    let all = basis.len() == before + added;
    if !all {
        basis.truncate(before);
    }
    all
}

fn add_independent(basis: &mut Vec<Vec<f64>>, rows: Vec<Vec<f64>>, part: f64) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for mut row in rows {
        let size = dot(&row, &row).sqrt();
        for e in basis.iter() {
            let c = dot(e, &row);
            row.iter_mut().zip(e).for_each(|(r, e)| *r -= c * e);
        }
        let left = dot(&row, &row).sqrt();
        if size > 0.0 && left > part * size {
            row.iter_mut().for_each(|r| *r /= left);
            basis.push(row);
        }
    }
}
