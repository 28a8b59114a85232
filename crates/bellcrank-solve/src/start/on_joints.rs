//! A start on the joints: named joint coordinates move, the others stay as drawn and at rest unless loops move them.

use super::assemble::{RowsToClose, descend};
use super::closure::Closure;
use super::velocities::solve_velocities;
use super::{Assembly, Followed};
use crate::constraints::add_velocity_residual;
use crate::linear::plan::MOST_BLOCKS;
use bellcrank_model::dynamics::{StartGiven, StartRow};
use bellcrank_model::relative::Relative;
use bellcrank_model::{Dynamics, Point, State, Subject, Workspace};
use std::collections::HashSet;
use std::sync::Arc;

/// The machine on its joints at a closed point, unless its matrix would be too large.
fn on_joints(dynamics: &dyn Dynamics, at: &Point) -> Option<Arc<Relative>> {
    dynamics.on_joints(at).filter(|r| r.matrix_blocks() <= MOST_BLOCKS).map(Arc::new)
}

/// Closes the joints as they are drawn, then moves the given coordinates to their values, and driven ones to theirs.
/// False where nothing is to move, or where there is no such way.
pub(super) fn close(
    dynamics: &Arc<dyn Dynamics>,
    rows: &[StartRow],
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> bool {
    let layout = dynamics.layout();
    let held = (0..layout.bodies.len()).any(|b| dynamics.held(b));
    let driven: Vec<usize> = (0..layout.constraints.len()).filter(|k| dynamics.prescribed(*k)).collect();
    if held || (rows.is_empty() && driven.is_empty()) {
        return false;
    }
    dynamics.realize(point, w);
    let mut closure = Closure::new(dynamics.clone(), rows.to_vec(), point, w);
    let residual = closure.residual(point, w, false);
    let tolerance = 1e-12 * dynamics.length();
    let off = |i: usize| closure.rhs[closure.n + i].abs() > tolerance;
    let moves =
        driven.iter().any(|k| layout.constraints[*k].clone().any(off)) || (closure.m..closure.m + rows.len()).any(off);
    if !moves {
        return false;
    }
    let before = closure.open(tolerance);
    let elastic = (0..point.q.len()).any(|i| dynamics.elastic(i));
    let closing = RowsToClose { rows: Vec::new(), hold: true, rigid: elastic, as_drawn: true };
    let mut found = Assembly::default();
    if descend(dynamics, closing, point, w, &mut found).is_err() {
        return false;
    }
    let Some(relative) = on_joints(&**dynamics, point) else { return false };
    let on_joints: Arc<dyn Dynamics> = relative.clone();
    let mut moved = Point::at(&relative.initial_state(), relative.layout());
    let mut v = on_joints.workspace();
    let closing = RowsToClose { rows: rows.to_vec(), ..RowsToClose::default() };
    if descend(&on_joints, closing, &mut moved, &mut v, &mut found).is_err() {
        return false;
    }
    dynamics.take_poses(&relative, &moved, point);
    w.invalidate();
    // what the way over the joints left to rounding
    let closing = RowsToClose { rows: rows.to_vec(), hold: true, rigid: elastic, as_drawn: false };
    if descend(dynamics, closing, point, w, &mut found).is_err() {
        return false;
    }
    let after = found.residual.1;
    let gap = |(before, of): (f64, Subject)| super::Gap { of, before, after: after.min(before) };
    *report = Assembly {
        iterations: found.iterations,
        residual: (residual, after),
        gaps: before.into_iter().map(gap).collect(),
        ..Assembly::default()
    };
    true
}

/// Sets the velocities that nobody gave to those with every joint at rest that is neither named nor driven, nor moved by
/// a loop. A state that moves without being told to, as of a run that goes on, stays as it is.
pub(super) fn rest(dynamics: &Arc<dyn Dynamics>, rows: &[StartRow], point: &mut Point, w: &mut Workspace) {
    let layout = dynamics.layout();
    let of_body = |row: &StartRow| match row.given {
        StartGiven::Joint(_) => None,
        StartGiven::Velocity(b, _) | StartGiven::Spin(b, _) => Some(layout.bodies[b].clone()),
    };
    let by_rows: HashSet<usize> = rows.iter().filter_map(of_body).flatten().collect();
    let rows: Vec<StartRow> = rows.iter().filter(|r| of_body(r).is_none()).cloned().collect();
    let kept = |i: &usize| dynamics.velocity_given(*i) || dynamics.elastic(*i);
    let still = |i: usize| point.v[i] == 0.0 || kept(&i) || by_rows.contains(&i);
    if !(0..layout.n()).all(still) {
        return;
    }
    let mut at_rest = point.clone();
    at_rest.v.fill(0.0);
    w.invalidate();
    dynamics.realize(&at_rest, w);
    let mut driven = vec![0.0; layout.m()];
    add_velocity_residual(&**dynamics, 1.0, &at_rest, w, &mut driven);
    let named = |row: &StartRow| row.rate.is_some_and(|rate| rate != 0.0);
    let moves = driven.iter().any(|x| *x != 0.0) || rows.iter().any(named);
    if moves && let Some(relative) = on_joints(&**dynamics, &at_rest) {
        let on_joints: Arc<dyn Dynamics> = relative.clone();
        let mut moved = Point::at(&relative.initial_state(), relative.layout());
        moved.v.fill(0.0);
        let mut v = on_joints.workspace();
        on_joints.realize(&moved, &mut v);
        let mut found = Assembly::default();
        if solve_velocities(&on_joints, rows, &[], &mut moved, &mut v, &mut found).is_ok() {
            let given = point.v.clone();
            dynamics.take_velocities(&relative, &moved, point);
            (0..layout.n()).filter(kept).for_each(|i| point.v[i] = given[i]);
        }
    }
    w.invalidate();
    dynamics.realize(point, w);
}

/// Notes the joint coordinates that nobody named and that the start moved or that move.
pub(super) fn followed(dynamics: &dyn Dynamics, drawn: &State, at: &Point, w: &mut Workspace, report: &mut Assembly) {
    if dynamics.start().is_empty() && !dynamics.driven() {
        return;
    }
    let mut other = dynamics.workspace();
    let drawn = Point::at(drawn, dynamics.layout());
    dynamics.realize(&drawn, &mut other);
    dynamics.realize(at, w);
    let before = dynamics.not_given(&drawn, &other);
    let (length, speed) = (dynamics.length(), at.v.iter().fold(0.0f64, |m, v| m.max(v.abs())));
    for ((name, was, _), (_, value, rate)) in before.into_iter().zip(dynamics.not_given(at, w)) {
        let change = value - was;
        let change = if change.abs() > 1e-9 * length.max(1.0) { change } else { 0.0 };
        let rate = if rate.abs() > 1e-9 * speed { rate } else { 0.0 };
        if change != 0.0 || rate != 0.0 {
            report.followed.push(Followed { name, change, rate });
        }
    }
}
