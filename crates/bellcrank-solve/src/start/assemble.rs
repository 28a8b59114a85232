//! Assembly: positions, velocities, accelerations and reactions of a start.

use super::closure::Closure;
use super::deformation::bend;
use super::massless::free_without_mass;
use super::on_joints;
use super::velocities::{close_velocities, solve_velocities};
use super::{Assembly, AssemblyError, Gap, Moved};
use crate::linear::kkt::Kkt;
use crate::linear::scales::MANY;
use crate::redundancy;
use crate::wedge::{CLOSE, Wedge};
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::{Scale, StartRow};
use bellcrank_model::{Dynamics, Piece, Point, State, Subject, Unknown, Workspace};
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
const ITERATIONS_IN_VAIN: usize = 25;
/// Where a start leads nowhere, others nearby are tried, at these distances in lengths of the model; not for large models.
const DETOURS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];
/// Largest change of an angle in one iteration, in rad; of a length, in lengths of the model.
const LARGEST_CHANGE: f64 = 0.5;
/// A step that leaves room: angles and lengths change by at most a half in one iteration. By what part it is shorter.
fn shorten(dynamics: &dyn Dynamics, delta: &mut [f64], scales: &[Scale], length: f64) -> f64 {
    let largest = delta.iter().zip(scales).fold(0.0f64, |worst, (d, s)| {
        worst.max(match s {
            Scale::Length => d.abs() / length,
            Scale::Angle => d.abs(),
            Scale::Magnitude => 0.0,
        })
    });
    let largest = largest.max(dynamics.largest_turn(delta).unwrap_or(0.0));
    if largest <= LARGEST_CHANGE {
        return 1.0;
    }
    delta.iter_mut().for_each(|d| *d *= LARGEST_CHANGE / largest);
    LARGEST_CHANGE / largest
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
    accelerate(dynamics, &mut point, &mut w, &mut report)?;
    on_joints::followed(&**dynamics, state, &point, &mut w, &mut report);
    Ok((point, report))
}

/// Completes a state that is consistent already to a point with accelerations and reactions: nothing moves.
pub fn complete(dynamics: &Arc<dyn Dynamics>, state: &State) -> Result<(Point, Assembly), AssemblyError> {
    let mut w = dynamics.workspace();
    let mut settled = state.clone();
    dynamics.settle(&mut settled, &mut w);
    let mut point = Point::at(&settled, dynamics.layout());
    w.invalidate();
    dynamics.realize(&point, &mut w);
    let mut report = Assembly::default();
    accelerate(dynamics, &mut point, &mut w, &mut report)?;
    Ok((point, report))
}

/// Like [`complete`], but rates and velocities that the machine gives hold: the others change as little as they can.
pub fn resume(dynamics: &Arc<dyn Dynamics>, state: &State) -> Result<(Point, Assembly), AssemblyError> {
    let rows: Vec<StartRow> = dynamics.start().into_iter().filter(|r| r.rate.is_some()).collect();
    if rows.is_empty() {
        return complete(dynamics, state);
    }
    let mut w = dynamics.workspace();
    let mut settled = state.clone();
    dynamics.settle(&mut settled, &mut w);
    let mut point = Point::at(&settled, dynamics.layout());
    w.invalidate();
    dynamics.realize(&point, &mut w);
    let mut report = Assembly::default();
    solve_velocities(dynamics, rows, &[], &mut point, &mut w, &mut report)?;
    accelerate(dynamics, &mut point, &mut w, &mut report)?;
    Ok((point, report))
}

/// v̇, λ and all rates of a realized point, and which of its constraints are redundant.
fn accelerate(
    dynamics: &Arc<dyn Dynamics>,
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    let layout = dynamics.layout();
    if let Some(culprit) = free_without_mass(dynamics, point, w).into_iter().next() {
        return Err(AssemblyError::Singular { culprit });
    }
    let mut kkt = Kkt::new(dynamics.clone());
    kkt.accelerate(point, w).map_err(|e| undetermined(&mut kkt, e, (dynamics, point, w)))?;
    if let Some(rows) = redundancy::of_structure(&**dynamics, &mut kkt, point, w) {
        point.charts.left_out = rows;
        w.invalidate();
        dynamics.realize(point, w);
        kkt.accelerate(point, w).map_err(|e| undetermined(&mut kkt, e, (dynamics, point, w)))?;
    }
    dynamics.rates(&point.q, &point.v, &mut point.qdot);
    let mut zdot = vec![0.0; layout.nz()];
    dynamics.add(1.0, Piece::Flow, point, w, &mut zdot);
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
    Ok(())
}

/// Why there are no accelerations.
fn undetermined(
    kkt: &mut Kkt,
    error: LinearError,
    (dynamics, at, w): (&Arc<dyn Dynamics>, &Point, &mut Workspace),
) -> AssemblyError {
    match Wedge::find(kkt, &**dynamics, (at, w), CLOSE) {
        Some(wedge) => AssemblyError::Wedged(Box::new(wedge)),
        None => AssemblyError::Singular { culprit: owner(kkt, error) },
    }
}

/// The body or joint at which a factorization failed.
pub(super) fn owner(kkt: &Kkt, error: LinearError) -> Subject {
    match error {
        LinearError::Singular { row } | LinearError::NotFinite { row } => kkt.owner_of_row(row),
        _ => error.to_string().into(),
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
    if on_joints::close(dynamics, &rows, point, w, report) {
        return Ok(());
    }
    point.clone_from(&start);
    w.invalidate();
    // bodies keep their deformation, if the joints can be closed without it
    let elastic = (0..point.q.len()).any(|i| dynamics.elastic(i));
    let closing = RowsToClose { rows, hold: true, rigid: elastic, as_drawn: false };
    let mut first = descend(dynamics, closing.clone(), point, w, report);
    if first.is_err() && elastic {
        point.clone_from(&start);
        w.invalidate();
        *report = Assembly::default();
        first = descend(dynamics, RowsToClose { rigid: false, ..closing.clone() }, point, w, report);
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
    descend(dynamics, RowsToClose::default(), point, w, &mut Assembly::default())
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
pub(super) struct RowsToClose {
    /// Given start values that are closed like constraints.
    pub(super) rows: Vec<StartRow>,
    /// Whether bodies held by the user do not move at all.
    pub(super) hold: bool,
    /// Whether deformations stay as they are.
    pub(super) rigid: bool,
    /// Whether driven coordinates stay where they are drawn, and are not moved to where their drives want them.
    pub(super) as_drawn: bool,
}

/// Closes positions by damped least-change steps.
pub(super) fn descend(
    dynamics: &Arc<dyn Dynamics>,
    closing: RowsToClose,
    point: &mut Point,
    w: &mut Workspace,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    dynamics.realize(point, w);
    let hold = closing.hold;
    let mut closure = Closure::new(dynamics.clone(), closing.rows, point, w);
    for (_, range) in dynamics.layout().bodies.iter().enumerate().filter(|(b, _)| dynamics.held(*b)) {
        closure.frozen[range.clone()].fill(hold);
    }
    if closing.as_drawn {
        closure.silent = (0..dynamics.layout().constraints.len()).filter(|k| dynamics.prescribed(*k)).collect();
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
    // full turns of given angles are taken one step after the other
    let far = closure.rhs[closure.n + closure.m..].iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let most = MAX_ITERATIONS + if far.is_finite() { (4.0 * far / LARGEST_CHANGE).min(1e6) as usize } else { 0 };
    let mut descent = Descent::new(&**dynamics, closure, residual, most);
    descent.run(tolerance, point, w, report);
    let (mut closure, residual) = (descent.closure, descent.residual);
    closure.residual(point, w, false);
    let open = closure.open(0.0);
    report.residual.1 = residual;
    // the worst of each name comes first
    let mut after: HashMap<&str, f64> = HashMap::with_capacity(open.len());
    open.iter().for_each(|(r, joint)| _ = *after.entry(&joint.words).or_insert(*r));
    let after = |name: &String| after.get(name.as_str()).copied().unwrap_or(0.0);
    let gaps = open_before.into_iter().map(|(before, joint)| Gap { after: after(&joint.words), before, of: joint });
    report.gaps = gaps.collect();
    // a singular position closes only with the square root of the precision
    let enough = tolerance.max(1e-9 * length);
    if residual > enough {
        let mut open = open.into_iter().filter(|(r, _)| *r > enough);
        let (by, worst) = open.next().unwrap_or((residual, "the model".into()));
        let others = open.take(5).map(|(_, joint)| joint).collect();
        let held = (0..dynamics.layout().bodies.len()).filter(|b| hold && dynamics.held(*b));
        let held = held.map(|b| dynamics.subject(Unknown::Q, b)).collect();
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
    /// The iterations left.
    left: usize,
    counted: State,
}

impl Descent<'_> {
    fn new(dynamics: &dyn Dynamics, closure: Closure, residual: f64, left: usize) -> Descent<'_> {
        let (scales, counted) = (dynamics.scales(), State::default());
        let (milestone, patience) = (f64::INFINITY, ITERATIONS_IN_VAIN);
        Descent { dynamics, closure, scales, residual, damping: 0.0, milestone, patience, left, counted }
    }

    /// Steps until the residual is below the tolerance, and once more, which squares what is left; or until nothing improves.
    fn run(&mut self, tolerance: f64, point: &mut Point, w: &mut Workspace, report: &mut Assembly) {
        let mut polished = false;
        while self.residual > tolerance || !polished {
            polished = self.residual <= tolerance;
            if self.left == 0 || self.residual == 0.0 {
                break;
            }
            self.left -= 1;
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
                (self.patience, self.milestone) = (ITERATIONS_IN_VAIN, gap);
            }
            let solved = solved && closure.linear.solve(&mut closure.rhs).is_ok();
            let mut delta = closure.rhs[..closure.n].to_vec();
            let long = delta.iter().zip(&closure.metric).map(|(d, w)| d * d * w).sum::<f64>().sqrt();
            if solved && long.is_finite() && (long <= longest * gap || self.damping >= 1.0) {
                let part = shorten(dynamics, &mut delta, &self.scales, length);
                dynamics.retract(1.0, &mut point.q, &delta);
                w.invalidate();
                dynamics.realize(point, w);
                let now = closure.residual(point, w, false);
                // never make it worse
                let gap_now = closure.gap();
                if gap_now < gap && now.is_finite() {
                    self.residual = now;
                    // on a long way a short step is as good as it gets
                    if part < 1.0 && gap_now < (1.0 - 0.5 * part) * gap {
                        self.patience = ITERATIONS_IN_VAIN + 1;
                    }
                    self.count_turns(point, w);
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

    /// Counts the turns that angles have made, after each step: no step is longer than half a turn.
    fn count_turns(&mut self, point: &mut Point, w: &mut Workspace) {
        point.store(&mut self.counted);
        self.dynamics.settle_past(f64::INFINITY, &mut self.counted, w);
        point.set(&self.counted);
        w.invalidate();
        self.dynamics.realize(point, w);
    }
}

/// Reports the bodies that moved between two states.
pub(crate) fn moved(dynamics: &dyn Dynamics, from: &State, to: &Point, report: &mut Assembly) {
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
