//! Consistent initial values: positions, velocities, accelerations and multipliers.
//!
//! Positions move as little as possible (lengths and angles weighed by the size of the model, or of its parts
//! where it is large: [`kkt::turn`]) until
//! the constraints and the given joint coordinates hold; velocities change as little as possible; the
//! accelerations and reactions follow from the equations of motion. Redundant rows are harmless:
//! the linear solver drops them. Near singular positions, and where a full step would not close the
//! joints further, the step is damped [Levenberg 1944, Marquardt 1963].

use crate::check;
use crate::kkt::{self, Kkt, add_position_residual, add_velocity_residual};
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::deferred;
use bellcrank_math::linear::dense;
use bellcrank_math::linear::solver::{self, LinearSolver};
use bellcrank_math::random::Xorshift;
use bellcrank_model::dynamics::{Scale, StartRow, Targets};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, Unknown, Workspace};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A body that the assembly moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Its name.
    pub name: String,
    /// How far, in m (the largest change of a length).
    pub distance: f64,
    /// How much it turned, in rad (the largest change of an angle).
    pub angle: f64,
}

/// A joint that was open at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// The user's name of the joint, or of the given start value.
    pub name: String,
    /// Its largest residual in m (or rad) before the assembly, and after.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// What it took to make a start consistent.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// Iterations for the positions.
    pub iterations: usize,
    /// The largest position residual before, and after.
    pub residual: (f64, f64),
    /// The largest velocity residual before, and after.
    pub velocity_residual: (f64, f64),
    /// The bodies that moved, the farthest first.
    pub moved: Vec<Moved>,
    /// The joints that were open, the widest first.
    pub gaps: Vec<Gap>,
    /// Constraint rows found redundant at the start.
    pub redundant: usize,
    /// Degrees of freedom at the start.
    pub degrees_of_freedom: usize,
    /// The redundant constraint rows.
    pub redundant_rows: Vec<usize>,
    /// Names of the joints with redundant rows, with how many.
    pub redundant_joints: Vec<(String, usize)>,
}

/// Why a start cannot be made consistent.
#[derive(Clone, Debug, PartialEq)]
pub enum AssemblyError {
    /// The joints cannot all be closed.
    Open {
        /// The joint that is farthest from closed.
        worst: String,
        /// By how much, in m (or rad).
        by: f64,
        /// Other joints that stay open.
        others: Vec<String>,
        /// Bodies that were not to move.
        held: Vec<String>,
    },
    /// The given rates contradict the joints, or each other.
    Rates {
        /// The joint where it shows.
        worst: String,
        /// By how much, in m/s (or rad/s).
        by: f64,
    },
    /// A body without inertia in a direction that nothing holds.
    Singular {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for AssemblyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssemblyError::Open { worst, by, others, held } => {
                write!(f, "the model cannot be assembled: {worst} stays open by {by:.3e} m")?;
                if !others.is_empty() {
                    write!(f, "\n  also open: {}", others.join(", "))?;
                }
                if !held.is_empty() {
                    write!(f, "\n  held by `fixed = true`: {}", held.join(", "))?;
                }
                write!(
                    f,
                    "\nhelp: check the points, lengths and given start values of these joints; \
                     start the bodies nearer to their places"
                )
            }
            AssemblyError::Rates { worst, by } => write!(
                f,
                "the given start rates contradict the joints: {worst} is off by {by:.3e} m/s\n\
                 help: give only as many rates as the mechanism has degrees of freedom"
            ),
            AssemblyError::Singular { name } => write!(
                f,
                "the accelerations are not determined at the start: {name} has no inertia in a direction that is free\n\
                 help: give it a mass and an inertia, or hold it by a joint"
            ),
        }
    }
}

impl std::error::Error for AssemblyError {}

const MAX_ITERATIONS: usize = 200;
/// The first damping after a step that did not serve, relative to rows of unit length; each further
/// one is ten times stronger, up to the last.
const DAMPING: (f64, f64) = (1e-4, 1e8);
/// A step is damped that is longer than this many times the gap, and as many times as there are bodies (gaps add up
/// along a chain): the position is all but singular.
const LONGEST: f64 = 1e3;
/// So many iterations without closing by a tenth are the end: this is as near as it gets.
const PATIENCE: usize = 25;
/// Where the start leads nowhere: other starts of models that are not large are tried near to it, up to this far, in lengths of the model.
const DETOURS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];
/// Largest change of an angle in one iteration, in rad; of a length, in lengths of the model.
const LARGEST_CHANGE: f64 = 0.5;
/// Bodies that are to stay move this much less easily.
const HELD: f64 = 1e8;

/// Velocities that were given change this much less easily than those that follow.
const GIVEN: f64 = 1e8;

/// Least-change solves with the constraints and the given start values as rows.
struct Closure {
    dynamics: Arc<dyn Dynamics>,
    start: Vec<StartRow>,
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    columns: Vec<u32>,
    /// Bodies and constraints that meet, each pair once.
    pairs: Vec<(u32, u32)>,
    metric: Vec<f64>,
    rhs: Vec<f64>,
    /// One over the length of each row of G.
    row_scale: Vec<f64>,
    /// Coordinates that do not move at all.
    frozen: Vec<bool>,
    n: usize,
    m: usize,
}

impl Closure {
    fn new(dynamics: Arc<dyn Dynamics>, start: Vec<StartRow>, at: &Point, w: &mut Workspace) -> Closure {
        // what one radian weighs
        let turn = kkt::turn(&*dynamics, at, w).powi(2);
        let layout = dynamics.layout();
        let (bodies, constraints) = (layout.bodies.len(), layout.constraints.len());
        let mut sizes: Vec<usize> = layout.bodies.iter().chain(&layout.constraints).map(|r| r.len()).collect();
        sizes.extend(start.iter().map(|_| 1));
        let classes = (0..sizes.len()).map(|i| if i < bodies { Class::Body } else { Class::Multiplier }).collect();
        let pairs = dynamics.pattern(Piece::GtLambda, Unknown::Lambda);
        let mut entries: Vec<(u32, u32)> = (0..sizes.len() as u32).map(|i| (i, i)).collect();
        for &(b, k) in &pairs {
            entries.extend([(b, bodies as u32 + k), (bodies as u32 + k, b)]);
        }
        for (s, row) in start.iter().enumerate() {
            let k = (bodies + constraints + s) as u32;
            for (b, _) in dynamics.start_row(row, at, w).2 {
                entries.extend([(b as u32, k), (k, b as u32)]);
            }
        }
        let pattern = Arc::new(BlockPattern::new(sizes, classes, entries));
        let columns =
            pairs.iter().filter_map(|&(b, k)| pattern.offset(b as usize, bodies + k as usize)).collect::<Vec<_>>();
        let mut pairs = pairs;
        pairs.sort_unstable();
        pairs.dedup();
        let scales = dynamics.scales();
        let mut metric = (0..layout.n())
            .map(|i| match scales[i] {
                Scale::Angle => turn,
                _ => 1.0,
            })
            .collect::<Vec<f64>>();
        for (_, range) in layout.bodies.iter().enumerate().filter(|(b, _)| dynamics.held(*b)) {
            metric[range.clone()].iter_mut().for_each(|w| *w *= HELD);
        }
        let (n, m) = (layout.n(), layout.m());
        // a start that is consistent needs no factors
        let linear = deferred::choose(&pattern);
        let rhs = vec![0.0; pattern.dimension()];
        let row_scale = vec![1.0; rhs.len() - n];
        let frozen = vec![false; n];
        let matrix = BlockMatrix::new(pattern);
        Closure { matrix, linear, columns, pairs, metric, rhs, row_scale, frozen, n, m, start, dynamics }
    }

    fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), usize> {
        self.factor_damped(at, w, 0.0)
    }

    /// Factors [W Gᵀ; G −μ D⁻²] with D the scale of the rows.
    fn factor_damped(&mut self, at: &Point, w: &mut Workspace, damping: f64) -> Result<(), usize> {
        self.matrix.clear();
        let dynamics = self.dynamics.clone();
        let layout = dynamics.layout();
        let mut out = Targets::new(&mut self.matrix.values, &self.columns);
        let slopes = Slopes::default();
        self.dynamics.add_derivative(1.0, Piece::GtLambda, Unknown::Lambda, slopes, at, w, &mut out);
        let bodies = layout.bodies.len();
        let mut lengths = vec![0.0; self.row_scale.len()];
        for i in 0..self.pairs.len() {
            let (b, k) = (self.pairs[i].0 as usize, self.pairs[i].1 as usize);
            self.finish_block(b, bodies + k, layout.constraints[k].clone(), &mut lengths);
        }
        for s in 0..self.start.len() {
            let k = bodies + layout.constraints.len() + s;
            let (_, _, gradient) = self.dynamics.start_row(&self.start[s], at, w);
            for (b, form) in gradient {
                if let Some(block) = self.matrix.block_mut(b, k) {
                    block.copy_from_slice(&form);
                }
                self.finish_block(b, k, self.m + s..self.m + s + 1, &mut lengths);
            }
        }
        // a row that is all but flat must not outweigh the others
        let flat = 1e-6 / (1.0 + self.dynamics.length().powi(2));
        for (scale, length) in self.row_scale.iter_mut().zip(&lengths) {
            *scale = 1.0 / (length + flat).sqrt();
        }
        if damping > 0.0 {
            let mut row = 0;
            for k in bodies..self.matrix.pattern().blocks() {
                let size = self.matrix.pattern().size(k);
                if let Some(block) = self.matrix.block_mut(k, k) {
                    (0..size).for_each(|i| block[i * size + i] = -damping / self.row_scale[row + i].powi(2));
                }
                row += size;
            }
        }
        for (b, range) in layout.bodies.iter().enumerate() {
            let n = range.len();
            if let Some(block) = self.matrix.block_mut(b, b) {
                range.clone().enumerate().for_each(|(i, k)| block[i * n + i] = self.metric[k]);
            }
        }
        self.linear.factor(&self.matrix).map_err(|_| 0)
    }

    /// Takes frozen coordinates out of a block of Gᵀ, adds to the squared lengths of its rows, and transposes it.
    fn finish_block(&mut self, b: usize, k: usize, rows: std::ops::Range<usize>, lengths: &mut [f64]) {
        let first = self.dynamics.layout().bodies[b].start;
        let Some(block) = self.matrix.block_mut(b, k) else { return };
        for (i, column) in block.chunks_exact_mut(rows.len().max(1)).enumerate() {
            if self.frozen[first + i] {
                column.fill(0.0);
            }
            for (sum, g) in lengths[rows.clone()].iter_mut().zip(&*column) {
                *sum += g * g / self.metric[first + i];
            }
        }
        transpose(&mut self.matrix, b, k);
    }

    /// The length of all residuals, each in units of the motion that would close it.
    fn gap(&self) -> f64 {
        self.rhs[self.n..].iter().zip(&self.row_scale).map(|(r, s)| (r * s) * (r * s)).sum::<f64>().sqrt()
    }

    /// Residuals of all rows, constraints first, with their opposite as right-hand side.
    fn residual(&mut self, at: &Point, w: &mut Workspace, velocity: bool) -> f64 {
        self.rhs.fill(0.0);
        let rows = &mut self.rhs[self.n..];
        if velocity {
            add_velocity_residual(&*self.dynamics, -1.0, at, w, &mut rows[..self.m]);
        } else {
            add_position_residual(&*self.dynamics, -1.0, at, w, &mut rows[..self.m]);
        }
        for (s, row) in self.start.iter().enumerate() {
            let (position, rate, _) = self.dynamics.start_row(row, at, w);
            rows[self.m + s] = if velocity { -rate } else { -position };
        }
        rows.iter().fold(0.0, |worst, r| if r.is_nan() { f64::INFINITY } else { r.abs().max(worst) })
    }

    /// The names of what is open by more than the tolerance, the worst first.
    fn open(&self, tolerance: f64) -> Vec<(f64, String)> {
        let layout = self.dynamics.layout();
        let size = |x: f64| if x.is_nan() { f64::INFINITY } else { x.abs() };
        let worst = |r: &[f64]| r.iter().fold(0.0f64, |m, x| m.max(size(*x)));
        let rows = &self.rhs[self.n..];
        let mut list: Vec<(f64, String)> = layout
            .constraints
            .iter()
            .enumerate()
            .map(|(k, range)| (worst(&rows[range.clone()]), self.dynamics.name(Unknown::Lambda, k)))
            .chain(
                self.start
                    .iter()
                    .enumerate()
                    .map(|(s, row)| (size(rows[self.m + s]), format!("the start of joint `{}`", row.name))),
            )
            .filter(|(r, _)| *r > tolerance || tolerance.is_nan())
            .collect();
        list.sort_by(|a, b| b.0.total_cmp(&a.0));
        list
    }
}

fn transpose(matrix: &mut BlockMatrix, b: usize, k: usize) {
    let (n, m) = (matrix.pattern().size(b), matrix.pattern().size(k));
    let (Some(from), Some(to)) = (matrix.pattern().offset(b, k), matrix.pattern().offset(k, b)) else { return };
    for i in 0..n {
        for j in 0..m {
            matrix.values[to as usize + j * n + i] = matrix.values[from as usize + i * m + j];
        }
    }
}

/// A step that leaves room: angles and lengths change by at most a half in one iteration.
fn shorten(delta: &mut [f64], scales: &[Scale], length: f64) {
    let largest = delta.iter().zip(scales).fold(0.0f64, |worst, (d, s)| {
        worst.max(match s {
            Scale::Length => d.abs() / length,
            Scale::Angle => d.abs(),
            Scale::Own => 0.0,
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
    if let Some(name) = check::free_without_mass(dynamics, &point, &mut w).into_iter().next() {
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

fn name_of(kkt: &Kkt, error: solver::LinearError) -> String {
    match error {
        solver::LinearError::Singular { row } | solver::LinearError::NotFinite { row } => kkt.owner_of_row(row),
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
    let mut first = descend(dynamics, rows.clone(), point, w, true, elastic, report);
    if first.is_err() && elastic {
        point.clone_from(&start);
        w.invalidate();
        *report = Assembly::default();
        first = descend(dynamics, rows.clone(), point, w, true, false, report);
    }
    let Err(first) = first else { return Ok(()) };
    // another way round may lead there, from a start nearby
    let (scales, length) = (dynamics.scales(), dynamics.length());
    let held: Vec<usize> = (0..dynamics.layout().bodies.len()).filter(|&b| dynamics.held(b)).collect();
    let mut random = Xorshift(1);
    for far in DETOURS.into_iter().filter(|_| scales.len() <= kkt::MANY) {
        let mut aside: Vec<f64> = scales.iter().map(|s| far * random.number() * reach(*s, length)).collect();
        held.iter().for_each(|&b| aside[dynamics.layout().bodies[b].clone()].fill(0.0));
        let (mut trial, mut found) = (start.clone(), Assembly::default());
        dynamics.retract(1.0, &mut trial.q, &aside);
        w.invalidate();
        if descend(dynamics, rows.clone(), &mut trial, w, true, elastic, &mut found).is_ok() {
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
    descend(dynamics, Vec::new(), point, w, false, false, &mut Assembly::default())
}

/// How much of a coordinate is one length of the model.
pub(crate) fn reach(scale: Scale, length: f64) -> f64 {
    match scale {
        Scale::Angle => 1.0,
        _ => length,
    }
}

fn descend(
    dynamics: &Arc<dyn Dynamics>,
    rows: Vec<StartRow>,
    point: &mut Point,
    w: &mut Workspace,
    hold: bool,
    rigid: bool,
    report: &mut Assembly,
) -> Result<(), AssemblyError> {
    dynamics.realize(point, w);
    let mut closure = Closure::new(dynamics.clone(), rows, point, w);
    for (_, range) in dynamics.layout().bodies.iter().enumerate().filter(|(b, _)| dynamics.held(*b)) {
        closure.frozen[range.clone()].fill(hold);
        closure.metric[range.clone()].iter_mut().for_each(|w| *w /= HELD);
    }
    if rigid {
        (0..closure.n).filter(|i| dynamics.elastic(*i)).for_each(|i| closure.frozen[i] = true);
    }
    let (length, scales) = (dynamics.length(), dynamics.scales());
    let largest = point.q.iter().fold(length, |m, q| m.max(q.abs()));
    // what rounding leaves of differences of coordinates
    let tolerance = 1e-12 * length + 32.0 * f64::EPSILON * largest;
    let mut residual = closure.residual(point, w, false);
    report.residual = (residual, residual);
    let open_before = closure.open(tolerance);
    let (mut damping, mut polished) = (0.0, false);
    let (mut patience, mut milestone) = (PATIENCE, f64::INFINITY);
    let longest = LONGEST.max(dynamics.layout().bodies.len() as f64);
    while residual > tolerance || !polished {
        // one more iteration after the tolerance is met squares what is left
        polished = residual <= tolerance;
        if report.iterations == MAX_ITERATIONS || residual == 0.0 {
            break;
        }
        report.iterations += 1;
        let before = point.q.clone();
        let mut improved = false;
        while !improved && damping <= DAMPING.1 {
            closure.residual(point, w, false);
            let solved = closure.factor_damped(point, w, damping).is_ok();
            let gap = closure.gap();
            if gap < 0.9 * milestone {
                (patience, milestone) = (PATIENCE, gap);
            }
            let solved = solved && closure.linear.solve(&mut closure.rhs).is_ok();
            let mut delta = closure.rhs[..closure.n].to_vec();
            let long = delta.iter().zip(&closure.metric).map(|(d, w)| d * d * w).sum::<f64>().sqrt();
            if solved && long.is_finite() && (long <= longest * gap || damping >= 1.0) {
                shorten(&mut delta, &scales, length);
                dynamics.retract(1.0, &mut point.q, &delta);
                w.invalidate();
                dynamics.realize(point, w);
                let now = closure.residual(point, w, false);
                // never make it worse
                if closure.gap() < gap && now.is_finite() {
                    (residual, improved) = (now, true);
                    break;
                }
                point.q.copy_from_slice(&before);
                w.invalidate();
                dynamics.realize(point, w);
            }
            if polished {
                break;
            }
            damping = (10.0 * damping).max(DAMPING.0);
        }
        if !improved {
            break;
        }
        damping = if damping > DAMPING.0 { 0.1 * damping } else { 0.0 };
        patience -= 1;
        if patience == 0 {
            break;
        }
    }
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

fn solve_velocities(
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

/// How far the motion is followed to see how deformations change, in the time it takes to cross the model.
const GLIMPSE: f64 = 1e-3;

/// Bends the bodies with a quasi-static start as the loads of the motion bend them: η̈ = 0, and η̇ is the rate of that η
/// along the motion.
fn bend(dynamics: &Arc<dyn Dynamics>, point: &mut Point, w: &mut Workspace) -> Result<(), AssemblyError> {
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
    descend(dynamics, rows.iter().filter(positions).cloned().collect(), point, w, true, true, &mut report)?;
    w.invalidate();
    dynamics.realize(point, w);
    let rates = rows.iter().filter(rates).cloned().collect();
    solve_velocities(dynamics, rates, &elastic, point, w, &mut report)?;
    kkt.accelerate(point, w).map_err(|e| AssemblyError::Singular { name: name_of(kkt, e) })
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

/// Keeps a mechanism without freedom closed while time goes on.
pub struct Follower {
    dynamics: Arc<dyn Dynamics>,
    closure: Closure,
    kkt: Kkt,
    w: Workspace,
    /// Newton iterations so far.
    pub iterations: usize,
}

impl Follower {
    /// For points like this one.
    pub fn new(dynamics: Arc<dyn Dynamics>, at: &Point) -> Follower {
        let mut w = dynamics.workspace();
        dynamics.realize(at, &mut w);
        let closure = Closure::new(dynamics.clone(), Vec::new(), at, &mut w);
        Follower { kkt: Kkt::new(dynamics.clone()), closure, w, iterations: 0, dynamics }
    }

    /// Closes positions by Newton's method, then velocities; accelerations and reactions follow.
    pub fn close(&mut self, at: &mut Point) -> Result<(), AssemblyError> {
        let length = self.dynamics.length();
        let largest = at.q.iter().fold(length, |m, q| m.max(q.abs()));
        let tolerance = 1e-13 * length + 32.0 * f64::EPSILON * largest;
        let open = |c: &Closure, by: f64| {
            let worst = c.open(0.0).into_iter().next().map_or_else(|| "the model".into(), |(_, name)| name);
            AssemblyError::Open { worst, by, others: Vec::new(), held: Vec::new() }
        };
        let mut residual = f64::INFINITY;
        for _ in 0..12 {
            self.w.invalidate();
            self.dynamics.realize(at, &mut self.w);
            let now = self.closure.residual(at, &mut self.w, false);
            if now <= tolerance || (now >= 0.5 * residual && now <= 1e3 * tolerance) {
                residual = now;
                break;
            }
            residual = now;
            self.iterations += 1;
            let solved = self.closure.factor(at, &mut self.w).is_ok()
                && self.closure.linear.solve(&mut self.closure.rhs).is_ok();
            if !solved || !now.is_finite() {
                break;
            }
            self.dynamics.retract(1.0, &mut at.q, &self.closure.rhs[..self.closure.n]);
        }
        self.w.invalidate();
        self.dynamics.realize(at, &mut self.w);
        residual = self.closure.residual(at, &mut self.w, false).min(residual);
        if residual > 1e4 * tolerance {
            return Err(open(&self.closure, residual));
        }
        self.closure.factor(at, &mut self.w).map_err(|_| open(&self.closure, residual))?;
        self.closure.residual(at, &mut self.w, true);
        self.closure.linear.solve(&mut self.closure.rhs).map_err(|_| open(&self.closure, residual))?;
        at.v.iter_mut().zip(&self.closure.rhs).for_each(|(v, d)| *v += d);
        let accelerated = self.kkt.accelerate(at, &mut self.w);
        accelerated.map_err(|e| AssemblyError::Singular { name: name_of(&self.kkt, e) })?;
        self.dynamics.rates(&at.q, &at.v, &mut at.qdot);
        Ok(())
    }
}
