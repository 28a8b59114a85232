//! Velocities at the start: those that are given are kept, the others change as little as they can.
//!
//! ```text
//!     min |v − v₀|²_W    with    G v + g_t = 0,    vᵢ = given,    joint rates = given
//! ```
//!
//! v₀ are the velocities with every joint at rest that nobody named ([`super::on_joints`]). Given velocities are
//! equations, not weights: they hold to the last bit, or the start is refused with those that contradict each other.

use super::closure::Closure;
use super::{Assembly, AssemblyError, conflict, on_joints};
use crate::linear::derivatives::each_block;
use bellcrank_model::dynamics::{Scale, StartRow};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};
use std::sync::Arc;

/// What a row may be off by, relative to the sum of its terms.
const TOLERANCE: f64 = 1e-8;
/// Rates of deformation weigh this much more than others where a body has to bend.
const BENDS: f64 = 1e8;

/// Makes the velocities consistent at a realized point.
pub(super) fn close_velocities(
    dynamics: &Arc<dyn Dynamics>,
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    let rows: Vec<StartRow> = dynamics.start().into_iter().filter(|r| r.rate.is_some()).collect();
    on_joints::rest(dynamics, &rows, point, w);
    let elastic: Vec<usize> = (0..point.v.len()).filter(|i| dynamics.elastic(*i)).collect();
    if !elastic.is_empty() {
        // rates of deformation stay as they are, if the joints allow it
        let before = point.v.clone();
        if solve_velocities(dynamics, rows.clone(), &elastic, point, w, report).is_ok() {
            return Ok(());
        }
        point.v = before;
    }
    solve_velocities(dynamics, rows, &[], point, w, report)
}

/// Closes the velocity rows and the given rates by the least change; neither given velocities change nor those in
/// `frozen`.
pub(super) fn solve_velocities(
    dynamics: &Arc<dyn Dynamics>,
    rows: Vec<StartRow>,
    frozen: &[usize],
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    let mut closure = Closure::new(dynamics.clone(), rows.clone(), point, w);
    let before = closure.residual(point, w, true);
    report.velocity_residual = (before, before);
    if before == 0.0 {
        return Ok(());
    }
    closure.metric = metric(&**dynamics, point, w);
    for i in 0..closure.n {
        closure.frozen[i] = dynamics.velocity_given(i);
        if dynamics.elastic(i) {
            closure.metric[i] *= BENDS;
        }
    }
    frozen.iter().for_each(|&i| closure.frozen[i] = true);
    let singular = |_| AssemblyError::Rates { worst: "the constraint matrix".into(), by: before, sides: Vec::new() };
    closure.factor(point, w).map_err(singular)?;
    let start = point.v.clone();
    // the second solve takes what rounding left of the first
    for _ in 0..2 {
        closure.residual(point, w, true);
        closure.linear.solve(&mut closure.rhs).map_err(|_| singular(0))?;
        let moves = closure.rhs.iter().zip(&closure.frozen).map(|(d, frozen)| if *frozen { 0.0 } else { *d });
        point.v.iter_mut().zip(moves).for_each(|(v, d)| *v += d);
    }
    report.velocity_residual.1 = closure.residual(point, w, true);
    let sizes = row_sizes(&**dynamics, &rows, &closure.metric, point, w);
    let off = |i: &usize| {
        let by = closure.rhs[closure.n + i].abs();
        by.is_nan() || by > TOLERANCE * sizes[*i]
    };
    if !(0..sizes.len()).any(|i| off(&i)) {
        return Ok(());
    }
    if let Some(lost) = dynamics.not_finite(point, w).filter(|lost| !lost.is_finite) {
        point.v = start;
        return Err(AssemblyError::NoNumber { culprit: lost.subject, what: lost.what });
    }
    let (by, worst) = closure.open(0.0).into_iter().next().unwrap_or((before, "the model".into()));
    point.v = start;
    let sides = conflict::sides(dynamics, &rows, &closure.metric, point, w);
    Err(AssemblyError::Rates { worst, by, sides })
}

/// What each velocity weighs: 1 for a shift, and for a turn the square of the arm at which the joints hold the body,
/// √(Σ|∂g/∂φ|² / Σ|∂g/∂x|²), so that a small wheel in a large model is not stiffer than its axle.
pub(super) fn metric(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> Vec<f64> {
    let (layout, scales, length) = (dynamics.layout(), dynamics.scales(), dynamics.length());
    let mut sums = vec![(0.0f64, 0.0f64); layout.bodies.len()];
    each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
        let m = layout.constraints[k].len();
        for j in 0..m {
            let (mut by_turn, mut by_shift) = (0.0, 0.0);
            for (g, i) in block.iter().skip(j).step_by(m).zip(layout.bodies[b].clone()) {
                *if scales[i] == Scale::Angle { &mut by_turn } else { &mut by_shift } += g * g;
            }
            if by_shift > 0.0 {
                sums[b] = (sums[b].0 + by_turn, sums[b].1 + by_shift);
            }
        }
    });
    let mut out = vec![1.0; layout.n()];
    for (range, (turns, shifts)) in layout.bodies.iter().zip(sums) {
        let arm = (turns / shifts).sqrt();
        let arm = if arm > 0.0 { arm.min(length) } else { length };
        range.clone().filter(|i| scales[*i] == Scale::Angle).for_each(|i| out[i] = arm * arm);
    }
    out
}

/// The sum of the sizes of the terms of each velocity row. A velocity counts at least as much as rounding of the largest one.
fn row_sizes(dynamics: &dyn Dynamics, rows: &[StartRow], metric: &[f64], at: &Point, w: &mut Workspace) -> Vec<f64> {
    const ROUNDING: f64 = 1e-13;
    let layout = dynamics.layout();
    let mut sizes = vec![0.0; layout.m()];
    let mut rest = at.clone();
    rest.v.fill(0.0);
    w.invalidate();
    dynamics.realize(&rest, w);
    crate::constraints::add_velocity_residual(dynamics, 1.0, &rest, w, &mut sizes);
    w.invalidate();
    dynamics.realize(at, w);
    sizes.iter_mut().for_each(|s| *s = s.abs());
    let largest = at.v.iter().zip(metric).fold(0.0f64, |m, (v, weight)| m.max(v.abs() * weight.sqrt()));
    let least = ROUNDING / TOLERANCE * largest;
    let speed = |i: usize| at.v[i].abs() + least / metric[i].sqrt();
    each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
        let m = layout.constraints[k].len();
        for (row, i) in block.chunks_exact(m.max(1)).zip(layout.bodies[b].clone()) {
            sizes[layout.constraints[k].clone()].iter_mut().zip(row).for_each(|(s, g)| *s += g.abs() * speed(i));
        }
    });
    for row in rows {
        let (_, _, gradient) = dynamics.start_row(row, at, w);
        let parts = gradient.iter().flat_map(|(b, form)| form.iter().zip(layout.bodies[*b].clone()));
        sizes.push(row.rate.unwrap_or(0.0).abs() + parts.map(|(g, i)| g.abs() * speed(i)).sum::<f64>());
    }
    sizes
}
