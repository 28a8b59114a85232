//! Given velocities and joints that contradict each other, as few as it takes.

use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::linear::derivatives::each_block;
use crate::linear::rank::weights;
use bellcrank_math::linear::dense;
use bellcrank_model::dynamics::StartRow;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Subject, Unknown, Workspace};
use std::sync::Arc;

/// Up to so many velocities, and twice as many rows, the smallest contradiction is looked for.
const SEARCHED_UP_TO: usize = 400;
/// A set of rows contradicts itself if it stays off by more than this part of what all of them are off by.
const NOTICED: f64 = 1e-6;

/// Some rows A x = b that come and go together.
struct RowGroup {
    subject: Subject,
    rows: Vec<(Vec<f64>, f64)>,
}

/// QuickXplain: the smallest part of `items` that contradicts what is given [Junker 2004].
pub fn smallest<T: Clone>(given: &[T], added: bool, items: &[T], contradict: &dyn Fn(&[T]) -> bool) -> Vec<T> {
    if added && contradict(given) {
        return Vec::new();
    }
    if items.len() <= 1 {
        return items.to_vec();
    }
    let (first, second) = items.split_at(items.len() / 2);
    let with = |more: &[T]| [given, more].concat();
    let of_second = smallest(&with(first), !first.is_empty(), second, contradict);
    let of_first = smallest(&with(&of_second), !of_second.is_empty(), first, contradict);
    [of_first, of_second].concat()
}

/// The joints and given velocities that cannot all hold, as few as it takes; none for large models.
pub(super) fn sides(
    dynamics: &Arc<dyn Dynamics>,
    given: &[StartRow],
    metric: &[f64],
    at: &Point,
    w: &mut Workspace,
) -> Vec<Subject> {
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    if n > SEARCHED_UP_TO || m + given.len() > 2 * SEARCHED_UP_TO {
        return Vec::new();
    }
    fewest(all_sides(&**dynamics, Some(given), metric, at, w, true), n)
}

/// The joints that cannot all hold at a realized point, or whose rates cannot, as few as it takes; none for large models, and
/// none where all of them can.
pub(crate) fn contradicting(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace, rates: bool) -> Vec<Subject> {
    let (n, m) = (dynamics.layout().n(), dynamics.layout().m());
    if n > SEARCHED_UP_TO || m > 2 * SEARCHED_UP_TO {
        return Vec::new();
    }
    let metric: Vec<f64> = weights(dynamics).into_iter().map(|x| x * x).collect();
    fewest(all_sides(dynamics, None, &metric, at, w, rates), n)
}

/// The fewest sides that contradict each other.
fn fewest(all: Vec<RowGroup>, n: usize) -> Vec<Subject> {
    let everything: Vec<usize> = (0..all.len()).collect();
    let Some(off) = left_over(&all, &everything, n) else { return Vec::new() };
    let largest = off.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    if largest.is_nan() || largest <= 0.0 {
        return Vec::new();
    }
    // only what pulls on others can be part of it
    let pulls = |k: &usize| off[*k].iter().any(|x| x.abs() > NOTICED * largest);
    let involved: Vec<usize> = everything.into_iter().filter(pulls).collect();
    let contradict = |set: &[usize]| {
        let left = left_over(&all, set, n);
        left.is_some_and(|off| off.iter().flatten().any(|x| x.abs() > NOTICED * largest))
    };
    smallest(&[], false, &involved, &contradict).into_iter().map(|k| all[k].subject.clone()).collect()
}

/// What least squares leave of the rows of some sides, by side.
fn left_over(all: &[RowGroup], set: &[usize], n: usize) -> Option<Vec<Vec<f64>>> {
    let rows: Vec<&(Vec<f64>, f64)> = set.iter().flat_map(|k| &all[*k].rows).collect();
    let a: Vec<f64> = rows.iter().flat_map(|(row, _)| row.iter().copied()).collect();
    let b: Vec<f64> = rows.iter().map(|(_, b)| *b).collect();
    if rows.is_empty() {
        return Some(vec![Vec::new(); set.len()]);
    }
    let x = dense::least_squares(&a, rows.len(), n, &b, 1e-11).ok()?.x;
    let off = |(row, b): &(Vec<f64>, f64)| b - row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
    Some(set.iter().map(|k| all[*k].rows.iter().map(off).collect()).collect())
}

/// Every side, with what is given at the start or without, in units in which a change of each velocity weighs the same, rows scaled to one.
fn all_sides(
    dynamics: &dyn Dynamics,
    given: Option<&[StartRow]>,
    metric: &[f64],
    at: &Point,
    w: &mut Workspace,
    rates: bool,
) -> Vec<RowGroup> {
    let layout = dynamics.layout();
    let n = layout.n();
    let mut matrix = vec![vec![0.0; n]; layout.m()];
    each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
        let rows = layout.constraints[k].clone();
        for (values, i) in block.chunks_exact(rows.len().max(1)).zip(layout.bodies[b].clone()) {
            rows.clone().zip(values).for_each(|(j, g)| matrix[j][i] += g / metric[i].sqrt());
        }
    });
    let mut off = vec![0.0; layout.m()];
    match rates {
        true => add_velocity_residual(dynamics, -1.0, at, w, &mut off),
        false => add_position_residual(dynamics, -1.0, at, w, &mut off),
    }
    let scaled = |mut row: Vec<f64>, b: f64| {
        let size = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if size > 0.0 {
            row.iter_mut().for_each(|x| *x /= size);
        }
        (row, if size > 0.0 { b / size } else { b })
    };
    let mut sides: Vec<RowGroup> = Vec::new();
    let mut add = |subject: Subject, row: (Vec<f64>, f64)| match sides.iter_mut().find(|s| s.subject == subject) {
        Some(side) => side.rows.push(row),
        None => sides.push(RowGroup { subject, rows: vec![row] }),
    };
    for i in (0..n).filter(|i| given.is_some() && dynamics.velocity_given(*i)) {
        let mut row = vec![0.0; n];
        row[i] = 1.0;
        add(dynamics.giver(i), (row, 0.0));
    }
    for start in given.unwrap_or_default() {
        let (_, rate, gradient) = dynamics.start_row(start, at, w);
        let mut row = vec![0.0; n];
        for (b, form) in gradient {
            layout.bodies[b].clone().zip(form).for_each(|(i, g)| row[i] += g / metric[i].sqrt());
        }
        add(start.subject.clone(), scaled(row, -rate));
    }
    // what holds a rate alone holds no position
    let blocks = layout.constraints.iter().enumerate().filter(|(k, _)| rates || !layout.rates[*k].is_empty());
    for (k, range) in blocks {
        for i in range.clone() {
            add(dynamics.subject(Unknown::Lambda, k), scaled(std::mem::take(&mut matrix[i]), off[i]));
        }
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_contradiction_is_found() {
        // 2, 5 and 8 cannot be together
        let contradict = |set: &[i32]| [2, 5, 8].iter().all(|k| set.contains(k));
        let all: Vec<i32> = (0..20).collect();
        assert_eq!(smallest(&[], false, &all, &contradict), [2, 5, 8]);
    }
}
