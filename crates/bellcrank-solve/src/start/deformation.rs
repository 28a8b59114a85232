//! The quasi-static start of flexible bodies: deformations that follow from the loads of the motion.

use super::assemble::{RowsToClose, descend, owner, reach};
use super::velocities::solve_velocities;
use super::{Assembly, AssemblyError};
use crate::linear::kkt::Kkt;
use bellcrank_math::linear::dense;
use bellcrank_model::dynamics::StartRow;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// How far the motion is followed to see how deformations change, in the time it takes to cross the model.
const GLIMPSE: f64 = 1e-3;

/// Bends the bodies with a quasi-static start as the loads of the motion bend them: η̈ = 0, and η̇ is the rate of that η
/// along the motion.
pub(super) fn bend(dynamics: &Arc<dyn Dynamics>, point: &mut Point, w: &mut Workspace) -> Result<(), AssemblyError> {
    let layout = dynamics.layout();
    let bodies = layout.bodies.iter().enumerate().filter(|(b, _)| dynamics.quasi_static(*b));
    let elastic: Vec<usize> = bodies.flat_map(|(_, r)| r.clone()).filter(|i| dynamics.elastic(*i)).collect();
    if elastic.is_empty() {
        return Ok(());
    }
    let mut kkt = Kkt::new(dynamics.clone());
    // η depends on η̇ a little, through the forces of Coriolis
    for _ in 0..3 {
        balance(dynamics, &elastic, true, point, w, &mut kkt)?;
        let (scales, length) = (dynamics.scales(), dynamics.length());
        let largest = |x: &[f64]| x.iter().zip(&scales).fold(0.0f64, |m, (x, s)| m.max(x.abs() / reach(*s, length)));
        let h = GLIMPSE / (1e-3 + largest(&point.v) + largest(&point.vdot).sqrt());
        let mut seen = Vec::new();
        for h in [h, -h] {
            let mut aside = point.clone();
            let step: Vec<f64> = point.v.iter().zip(&point.vdot).map(|(v, a)| h * v + 0.5 * h * h * a).collect();
            dynamics.retract(1.0, &mut aside.q, &step);
            aside.v.iter_mut().zip(&point.vdot).for_each(|(v, a)| *v += h * a);
            aside.t += h;
            elastic.iter().for_each(|&i| aside.v[i] = point.v[i]);
            balance(dynamics, &elastic, false, &mut aside, w, &mut kkt)?;
            seen.push(elastic.iter().map(|&i| aside.q[i]).collect::<Vec<f64>>());
        }
        for (k, &i) in elastic.iter().enumerate() {
            point.v[i] = (seen[0][k] - seen[1][k]) / (2.0 * h);
        }
    }
    close_and_accelerate(dynamics, true, point, w, &mut kkt)
}

/// Finds the deformations with η̈ = 0, by Newton's method with differences: η̈ is all but linear in η.
fn balance(
    dynamics: &Arc<dyn Dynamics>,
    elastic: &[usize],
    given: bool,
    point: &mut Point,
    w: &mut Workspace,
    kkt: &mut Kkt,
) -> Result<(), AssemblyError> {
    let (n, h) = (elastic.len(), 1e-6 * dynamics.length());
    close_and_accelerate(dynamics, given, point, w, kkt)?;
    let mut slopes = vec![0.0; n * n];
    for (k, &i) in elastic.iter().enumerate() {
        let mut moved = point.clone();
        moved.q[i] += h;
        close_and_accelerate(dynamics, given, &mut moved, w, kkt)?;
        for (row, &j) in elastic.iter().enumerate() {
            slopes[row * n + k] = (moved.vdot[j] - point.vdot[j]) / h;
        }
    }
    for _ in 0..4 {
        let rest: Vec<f64> = elastic.iter().map(|&i| -point.vdot[i]).collect();
        let Ok(step) = dense::least_squares(&slopes, n, n, &rest, 1e-14) else { break };
        elastic.iter().zip(&step.x).for_each(|(&i, d)| point.q[i] += d);
        close_and_accelerate(dynamics, given, point, w, kkt)?;
    }
    Ok(())
}

/// Closes positions and velocities with the deformations as they are, with the given start values or without; v̇ follows.
fn close_and_accelerate(
    dynamics: &Arc<dyn Dynamics>,
    given: bool,
    point: &mut Point,
    w: &mut Workspace,
    kkt: &mut Kkt,
) -> Result<(), AssemblyError> {
    let rows: Vec<StartRow> = dynamics.start().into_iter().filter(|_| given).collect();
    let (positions, rates) = (|r: &&StartRow| r.value.is_some(), |r: &&StartRow| r.rate.is_some());
    let elastic: Vec<usize> = (0..point.v.len()).filter(|i| dynamics.elastic(*i)).collect();
    let mut report = Assembly::default();
    w.invalidate();
    let given = rows.iter().filter(positions).cloned().collect();
    descend(dynamics, RowsToClose { rows: given, hold: true, rigid: true, as_drawn: false }, point, w, &mut report)?;
    w.invalidate();
    dynamics.realize(point, w);
    let rates = rows.iter().filter(rates).cloned().collect();
    solve_velocities(dynamics, rates, &elastic, point, w, &mut report)?;
    kkt.accelerate(point, w).map_err(|e| AssemblyError::Singular { culprit: owner(kkt, e) })
}
