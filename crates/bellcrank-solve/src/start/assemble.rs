//! Assembly: positions, velocities, accelerations and reactions of a start.

use super::closure::{Closure, HELD};
use super::deformation::bend;
use super::massless::free_without_mass;
use super::{Assembly, AssemblyError, Gap, Moved};
use crate::linear::kkt::Kkt;
use crate::linear::scales::MANY;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::{Scale, StartRow};
use bellcrank_model::{Dynamics, Piece, Point, State, Unknown, Workspace};
use std::collections::HashMap;
use std::sync::Arc;

const MAX_ITERATIONS: usize = 200;
/// The first and the last damping after a step that failed, relative to rows of unit length; each is ten times as strong as
/// the one before.
const DAMPING: (f64, f64) = (1e-4, 1e8);
/// A step is damped that is longer than this many times the gap, and as many times as there are bodies (gaps add up
/// along a chain): the position is all but singular.
const LONGEST: f64 = 1e3;
/// Iterations without closing the gap by a tenth after which it is as small as it gets.
const PATIENCE: usize = 25;
/// Where a start leads nowhere, others nearby are tried, at these distances in lengths of the model; not for large models.
const DETOURS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];
/// Largest change of an angle in one iteration, in rad; of a length, in lengths of the model.
const LARGEST_CHANGE: f64 = 0.5;
/// Given velocities have this many times the weight of those that follow.
const GIVEN: f64 = 1e8;
/// A step that leaves room: angles and lengths change by at most a half in one iteration.
fn shorten(delta: &mut [f64], scales: &[Scale], length: f64) {
    let largest = delta.iter().zip(scales).fold(0.0f64, |worst, (d, s)| {
        worst.max(match s {
            Scale::Length => d.abs() / length,
            Scale::Angle => d.abs(),
            Scale::Magnitude => 0.0,
        })
    });
    if largest > LARGEST_CHANGE {
        delta.iter_mut().for_each(|d| *d *= LARGEST_CHANGE / largest);
    }
}

/// Makes a state consistent and completes it to a point with accelerations and reactions.
pub fn assemble(dynamics: &Arc<dyn Dynamics>, state: &State) -> Result<(Point, Assembly), AssemblyError> {
    let layout = dynamics.layout();
    let mut point = Point::at(state, layout);
    let mut w = dynamics.workspace();
    let mut report = Assembly::default();
    close_positions(dynamics, &mut point, &mut w, &mut report)?;
    moved(&**dynamics, state, &point, &mut report);
    let mut settled = State::default();
    point.store(&mut settled);
    dynamics.settle(&mut settled, &mut w);
    point.set(&settled);
    w.invalidate();
    dynamics.realize(&point, &mut w);
    close_velocities(dynamics, &mut point, &mut w, &mut report)?;
    bend(dynamics, &mut point, &mut w)?;
    if let Some(name) = free_without_mass(dynamics, &point, &mut w).into_iter().next() {
        return Err(AssemblyError::Singular { name });
    }
    let mut kkt = Kkt::new(dynamics.clone());
    kkt.accelerate(&mut point, &mut w).map_err(|e| AssemblyError::Singular { name: name_of(&kkt, e) })?;
    dynamics.rates(&point.q, &point.v, &mut point.qdot);
    let mut zdot = vec![0.0; layout.nz()];
    dynamics.add(1.0, Piece::Flow, &point, &mut w, &mut zdot);
    point.zdot = zdot;
    report.redundant = kkt.dropped();
    report.degrees_of_freedom = (layout.n() + report.redundant).saturating_sub(layout.m());
    let mut counted: Vec<(String, usize)> = Vec::new();
    report.redundant_rows = kkt.dropped_rows();
    for &row in &report.redundant_rows {
        let block = layout.constraints.partition_point(|r| r.end <= row);
        let name = dynamics.name(Unknown::Lambda, block);
        match counted.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => counted.push((name, 1)),
        }
    }
    report.redundant_joints = counted;
    Ok((point, report))
}

pub(super) fn name_of(kkt: &Kkt, error: LinearError) -> String {
    match error {
        LinearError::Singular { row } | LinearError::NotFinite { row } => kkt.owner_of_row(row),
        _ => error.to_string(),
    }
}

fn close_positions(
    dynamics: &Arc<dyn Dynamics>,
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    let rows: Vec<StartRow> = dynamics.start().into_iter().filter(|r| r.value.is_some()).collect();
    let start = point.clone();
    // bodies keep their deformation, if the joints can be closed without it
    let elastic = (0..point.q.len()).any(|i| dynamics.elastic(i));
    let closing = Closing { rows, hold: true, rigid: elastic };
    let mut first = descend(dynamics, closing.clone(), point, w, report);
    if first.is_err() && elastic {
        point.clone_from(&start);
        w.invalidate();
        *report = Assembly::default();
        first = descend(dynamics, Closing { rigid: false, ..closing.clone() }, point, w, report);
    }
    let Err(first) = first else { return Ok(()) };
    // another way round may lead there, from a start nearby
    let (scales, length) = (dynamics.scales(), dynamics.length());
    let held: Vec<usize> = (0..dynamics.layout().bodies.len()).filter(|&b| dynamics.held(b)).collect();
    let mut random = Xorshift(1);
    for far in DETOURS.into_iter().filter(|_| scales.len() <= MANY) {
        let mut aside: Vec<f64> = scales.iter().map(|s| far * random.number() * reach(*s, length)).collect();
        held.iter().for_each(|&b| aside[dynamics.layout().bodies[b].clone()].fill(0.0));
        let (mut trial, mut found) = (start.clone(), Assembly::default());
        dynamics.retract(1.0, &mut trial.q, &aside);
        w.invalidate();
        if descend(dynamics, closing.clone(), &mut trial, w, &mut found).is_ok() {
            report.iterations += found.iterations;
            report.residual.1 = found.residual.1;
            report.gaps.iter_mut().for_each(|g| g.after = found.residual.1.min(g.before));
            *point = trial;
            return Ok(());
        }
    }
    *point = start;
    Err(first)
}

/// Closes the constraints alone (not the given start values) from a point nearby, as `assemble` does.
pub fn close(dynamics: &Arc<dyn Dynamics>, point: &mut Point, w: &mut Workspace) -> Result<(), AssemblyError> {
    w.invalidate();
    descend(dynamics, Closing::default(), point, w, &mut Assembly::default())
}

/// How much of a coordinate is one length of the model.
pub(crate) fn reach(scale: Scale, length: f64) -> f64 {
    match scale {
        Scale::Angle => 1.0,
        _ => length,
    }
}

/// Which rows are to be closed, and by what.
#[derive(Clone, Default)]
pub(super) struct Closing {
    /// Given start values that are closed like constraints.
    pub(super) rows: Vec<StartRow>,
    /// Whether bodies held by the user do not move at all.
    pub(super) hold: bool,
    /// Whether deformations stay as they are.
    pub(super) rigid: bool,
}

/// Closes positions by damped least-change steps.
pub(super) fn descend(
    dynamics: &Arc<dyn Dynamics>,
    closing: Closing,
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    dynamics.realize(point, w);
    let hold = closing.hold;
    let mut closure = Closure::new(dynamics.clone(), closing.rows, point, w);
    for (_, range) in dynamics.layout().bodies.iter().enumerate().filter(|(b, _)| dynamics.held(*b)) {
        closure.frozen[range.clone()].fill(hold);
        closure.metric[range.clone()].iter_mut().for_each(|w| *w /= HELD);
    }
    if closing.rigid {
        (0..closure.n).filter(|i| dynamics.elastic(*i)).for_each(|i| closure.frozen[i] = true);
    }
    let length = dynamics.length();
    let largest = point.q.iter().fold(length, |m, q| m.max(q.abs()));
    // what rounding leaves of differences of coordinates
    let tolerance = 1e-12 * length + 32.0 * f64::EPSILON * largest;
    let residual = closure.residual(point, w, false);
    report.residual = (residual, residual);
    let open_before = closure.open(tolerance);
    let mut descent = Descent::new(&**dynamics, closure, residual);
    descent.run(tolerance, point, w, report);
    let (mut closure, residual) = (descent.closure, descent.residual);
    closure.residual(point, w, false);
    let open = closure.open(0.0);
    report.residual.1 = residual;
    // the worst of each name comes first
    let mut after: HashMap<&str, f64> = HashMap::with_capacity(open.len());
    open.iter().for_each(|(r, name)| _ = *after.entry(name).or_insert(*r));
    let after = |name: &String| after.get(name.as_str()).copied().unwrap_or(0.0);
    let gaps = open_before.into_iter().map(|(before, name)| Gap { after: after(&name), before, name });
    report.gaps = gaps.collect();
    // a singular position closes only with the square root of the precision
    let enough = tolerance.max(1e-9 * length);
    if residual > enough {
        let mut open = open.into_iter().filter(|(r, _)| *r > enough);
        let (by, worst) = open.next().unwrap_or((residual, "the model".into()));
        let others = open.take(5).map(|(_, name)| name).collect();
        let held = (0..dynamics.layout().bodies.len()).filter(|b| hold && dynamics.held(*b));
        let held = held.map(|b| dynamics.name(Unknown::Q, b)).collect();
        return Err(AssemblyError::Open { worst, by, others, held });
    }
    Ok(())
}

/// A descent on the way to closed joints.
struct Descent<'a> {
    dynamics: &'a dyn Dynamics,
    closure: Closure,
    scales: Vec<Scale>,
    residual: f64,
    damping: f64,
    /// The gap that was last closed by a tenth, and the iterations left to do so again.
    milestone: f64,
    patience: usize,
}

impl Descent<'_> {
    fn new(dynamics: &dyn Dynamics, closure: Closure, residual: f64) -> Descent<'_> {
        let scales = dynamics.scales();
        Descent { dynamics, closure, scales, residual, damping: 0.0, milestone: f64::INFINITY, patience: PATIENCE }
    }

    /// Steps until the residual is below the tolerance, and once more, which squares what is left; or until nothing improves.
    fn run(&mut self, tolerance: f64, point: &mut Point, w: &mut Workspace, report: &mut Assembly) {
        let mut polished = false;
        while self.residual > tolerance || !polished {
            polished = self.residual <= tolerance;
            if report.iterations == MAX_ITERATIONS || self.residual == 0.0 {
                break;
            }
            report.iterations += 1;
            if !self.improve(polished, point, w) {
                break;
            }
            self.damping = if self.damping > DAMPING.0 { 0.1 * self.damping } else { 0.0 };
            self.patience -= 1;
            if self.patience == 0 {
                break;
            }
        }
    }

    /// Takes a step that closes the gap further, damped as much as it takes; false if there is none.
    fn improve(&mut self, polished: bool, point: &mut Point, w: &mut Workspace) -> bool {
        let (dynamics, length) = (self.dynamics, self.dynamics.length());
        let longest = LONGEST.max(dynamics.layout().bodies.len() as f64);
        let before = point.q.clone();
        while self.damping <= DAMPING.1 {
            let closure = &mut self.closure;
            closure.residual(point, w, false);
            let solved = closure.factor_damped(point, w, self.damping).is_ok();
            let gap = closure.gap();
            if gap < 0.9 * self.milestone {
                (self.patience, self.milestone) = (PATIENCE, gap);
            }
            let solved = solved && closure.linear.solve(&mut closure.rhs).is_ok();
            let mut delta = closure.rhs[..closure.n].to_vec();
            let long = delta.iter().zip(&closure.metric).map(|(d, w)| d * d * w).sum::<f64>().sqrt();
            if solved && long.is_finite() && (long <= longest * gap || self.damping >= 1.0) {
                shorten(&mut delta, &self.scales, length);
                dynamics.retract(1.0, &mut point.q, &delta);
                w.invalidate();
                dynamics.realize(point, w);
                let now = closure.residual(point, w, false);
                // never make it worse
                if closure.gap() < gap && now.is_finite() {
                    self.residual = now;
                    return true;
                }
                point.q.copy_from_slice(&before);
                w.invalidate();
                dynamics.realize(point, w);
            }
            if polished {
                break;
            }
            self.damping = (10.0 * self.damping).max(DAMPING.0);
        }
        false
    }
}

fn close_velocities(
    dynamics: &Arc<dyn Dynamics>,
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    let rows: Vec<StartRow> = dynamics.start().into_iter().filter(|r| r.rate.is_some()).collect();
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

pub(super) fn solve_velocities(
    dynamics: &Arc<dyn Dynamics>,
    rows: Vec<StartRow>,
    frozen: &[usize],
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    let mut closure = Closure::new(dynamics.clone(), rows, point, w);
    frozen.iter().for_each(|&i| closure.frozen[i] = true);
    // what was given stays as far as it can, what was not follows
    for (_, weight) in closure.metric.iter_mut().enumerate().filter(|(i, _)| dynamics.velocity_given(*i)) {
        *weight *= GIVEN;
    }
    let before = closure.residual(point, w, true);
    report.velocity_residual = (before, before);
    if before == 0.0 {
        return Ok(());
    }
    let singular = |_| AssemblyError::Rates { worst: "the constraint matrix".into(), by: before };
    closure.factor(point, w).map_err(singular)?;
    // the second solve takes what rounding left of the first
    for _ in 0..2 {
        closure.residual(point, w, true);
        closure.linear.solve(&mut closure.rhs).map_err(|_| singular(0))?;
        point.v.iter_mut().zip(&closure.rhs).for_each(|(v, d)| *v += d);
    }
    let after = closure.residual(point, w, true);
    report.velocity_residual.1 = after;
    let speed = point.v.iter().fold(before, |m, v| m.max(v.abs()));
    match closure.open(1e-8 * speed.max(1e-12)).first() {
        Some((by, worst)) => Err(AssemblyError::Rates { worst: worst.clone(), by: *by }),
        None => Ok(()),
    }
}

fn moved(dynamics: &dyn Dynamics, from: &State, to: &Point, report: &mut Assembly) {
    let scales = dynamics.scales();
    let tolerance = 1e-9 * dynamics.length();
    for (b, range) in dynamics.layout().bodies.iter().enumerate() {
        let (mut distance, mut angle) = (0.0f64, 0.0f64);
        for i in range.clone() {
            let change = (to.q[i] - from.q[i]).abs();
            match scales[i] {
                Scale::Angle => angle = angle.max(change),
                _ => distance = distance.max(change),
            }
        }
        if distance > tolerance || angle > 1e-9 {
            report.moved.push(Moved { name: dynamics.name(Unknown::Q, b), distance, angle });
        }
    }
    report.moved.sort_by(|a, b| (b.distance + b.angle).total_cmp(&(a.distance + a.angle)));
}
