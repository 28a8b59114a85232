//! Statics: a pose in which all forces balance, found by letting the model creep there.
//!
//! The model moves as if through honey, M (q − q₀)/τ = f(q, 0, z) − Gᵀλ with g(q) = 0, in implicit Euler
//! steps of growing τ (pseudo-transient continuation [Kelley & Keyes 1998]). Every step is one Newton
//! solve. Small steps follow the force, so that the model ends where it would come to rest and not in the
//! next equilibrium, stable or not; with τ → ∞ the steps become Newton's method for the equilibrium itself.

use super::modes::{grows, moved_most};
use crate::formulation;
use crate::linear::kkt::Kkt;
use crate::linearization::linearize;
use crate::newton::{Iteration, MatrixLoan, Newton, Residual, SetParts, Wants};
use crate::step::Step;
use bellcrank_math::linear::blocks::BlockPattern;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::{BeyondLimit, Scale, Targets};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, System, Unknown, Workspace};
use std::fmt;
use std::sync::Arc;

/// A model at rest under its loads.
#[derive(Clone, Debug)]
pub struct Equilibrium {
    /// The pose, with the reactions as multipliers; v and v̇ are zero.
    pub point: Point,
    /// What is left of the forces, relative to the largest.
    pub residual: f64,
    /// Pseudo-time steps.
    pub steps: usize,
    /// Newton iterations.
    pub iterations: usize,
    /// Constraint rows without an own reaction: the reactions are not unique.
    pub redundant: usize,
    /// What the stiffness says; `None` where it was too large to ask.
    pub stability: Option<Stability>,
    /// What is beyond the range in which its equations are right.
    pub beyond: Vec<BeyondLimit>,
}

/// Whether a model that is pushed a little comes back to its equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// Eigenvalues of the mass-normalized stiffness on the manifold of the constraints, ascending, in 1/s².
    pub eigenvalues: Vec<f64>,
    /// As many ways to fall: motions that grow without turning back.
    pub negative: usize,
    /// As many motions that nothing resists.
    pub zero: usize,
    /// What these move most, as results call it: `hub.angle`.
    pub free: Vec<String>,
    /// Whether an oscillation grows, as with a follower load or a controller that is too quick.
    pub flutter: bool,
}

impl Stability {
    /// One word: stable, neutral, unstable or flutter.
    pub fn word(&self) -> &'static str {
        match self {
            s if s.negative > 0 => "unstable",
            s if s.flutter => "flutter",
            s if s.zero > 0 => "neutral",
            _ => "stable",
        }
    }
}

/// Why no equilibrium was found.
#[derive(Clone, Debug, PartialEq)]
pub enum StaticsError {
    /// The model runs away.
    Runaway {
        /// The body that goes farthest.
        name: String,
        /// How far it went, in m.
        distance: f64,
    },
    /// The forces do not come to balance.
    Stalled {
        /// The body with the largest force left.
        name: String,
        /// What is left of the forces, relative to the largest.
        residual: f64,
    },
    /// A force or a function is not finite at the start.
    NotFinite,
    /// An FMU acts on the model.
    Fmu {
        /// Which.
        name: String,
    },
}

/// Refuses FMUs: they tell what they give in the course of time alone.
pub(super) fn refuse_fmus(system: &System) -> Result<(), StaticsError> {
    system.model.fmus.first().map_or(Ok(()), |fmu| Err(StaticsError::Fmu { name: fmu.name.clone() }))
}

impl fmt::Display for StaticsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StaticsError::Runaway { name, distance } => write!(
                f,
                "there is no equilibrium within reach: {name} went {distance:.3} m and keeps moving\nhelp: hold it \
                 by a joint or a spring; a load that nothing resists has no equilibrium"
            ),
            StaticsError::Stalled { name, residual } => write!(
                f,
                "the forces do not come to balance: {residual:.2e} of the largest force is left, most of it at {name}\n\
                 help: start nearer to the equilibrium, or apply the load in steps (--follow); look for a force that \
                 jumps, or a position at a dead centre"
            ),
            StaticsError::NotFinite => write!(
                f,
                "a force is not finite at the start\nhelp: look for a division by zero, or points that coincide"
            ),
            StaticsError::Fmu { name } => write!(
                f,
                "FMU `{name}` acts in runs over time alone: what it gives at rest, or about a state, is not known\nhelp: \
                 leave it out of this model, and put an `[input]` or a number in the place of its outputs"
            ),
        }
    }
}

impl std::error::Error for StaticsError {}

/// Most pseudo-time steps.
const MOST_STEPS: usize = 400;
/// Forces count as balanced below this part of the largest.
const BALANCED: f64 = 1e-11;
/// Rounding may leave this much where forces are sums of much larger ones.
const ENOUGH: f64 = 1e-8;
/// A body that went so many lengths of the model runs away.
const FAR: f64 = 100.0;
/// One that went so far when patience ended, too.
const AWAY: f64 = 10.0;
/// The largest turn (in rad) and shift (in lengths of the model) of one step.
const LONGEST: f64 = 0.5;
/// A stiffness below this part of the largest is none.
const SLACK: f64 = 1e-12;

/// One creeping step as equations for Newton.
struct Creep {
    step: Step,
    dynamics: Arc<dyn Dynamics>,
    /// Where the blocks of M go.
    mass: Vec<u32>,
    /// The blocks of Gᵀ, by constraint.
    columns: Vec<Vec<(usize, usize)>>,
    /// The blocks of multipliers whose row is a velocity: they keep the pose where it is.
    velocity_rows: Vec<bool>,
    /// 1/τ.
    rate: f64,
    /// The displacement since the start of the step, as the sum of its corrections.
    moved: Vec<f64>,
    weights: Vec<f64>,
    scratch: Vec<f64>,
}

impl Creep {
    /// Centres charts and counts turns at the present point.
    fn settle(&mut self, w: &mut Workspace) {
        let mut state = State::default();
        self.step.point.store(&mut state);
        self.dynamics.settle(&mut state, w);
        self.step.point.set(&state);
        self.step.touched();
    }

    fn new(dynamics: Arc<dyn Dynamics>, point: Point) -> Creep {
        let mut step = Step::new(dynamics.clone(), formulation::statics(), point);
        step.stencil.t = step.point.t;
        let layout = dynamics.layout();
        let pattern = step.pattern().clone();
        let block = |unknown: Unknown, number: usize| {
            (0..pattern.blocks()).find(|b| step.unknowns.owner(*b) == (unknown, number))
        };
        let bodies: Vec<usize> = (0..layout.bodies.len()).filter_map(|b| block(Unknown::Q, b)).collect();
        let first_row = block(Unknown::Lambda, 0).unwrap_or(0);
        let mass = dynamics
            .pattern(Piece::MassAccel, Unknown::V)
            .iter()
            .filter_map(|&(r, c)| pattern.offset(bodies[r as usize], bodies[c as usize]))
            .collect();
        let mut columns = vec![Vec::new(); layout.constraints.len()];
        for (b, k) in dynamics.pattern(Piece::GtLambda, Unknown::Lambda) {
            let pair = (bodies[b as usize], first_row + k as usize);
            if !columns[k as usize].contains(&pair) {
                columns[k as usize].push(pair);
            }
        }
        let length = dynamics.length();
        let unit = |s: &Scale| if *s == Scale::Length { length } else { 1.0 };
        let weights = dynamics.scales().iter().map(|s| 1.0 / (NEWTON * unit(s))).collect();
        let n = layout.n();
        Creep {
            velocity_rows: layout.rates.iter().map(|r| r.is_empty()).collect(),
            step,
            dynamics,
            mass,
            columns,
            rate: 0.0,
            moved: vec![0.0; n],
            weights,
            scratch: vec![0.0; n],
        }
    }

    fn pattern(&self) -> Arc<BlockPattern> {
        self.step.pattern().clone()
    }

    /// −f + Gᵀλ into `r`, and the largest force it is the sum of.
    fn imbalance(&mut self, r: &mut [f64]) -> f64 {
        let (at, w) = self.step.parts();
        r.fill(0.0);
        self.dynamics.add(-1.0, Piece::Force, at, w, r);
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let loads = largest(r);
        self.scratch.fill(0.0);
        self.dynamics.add(1.0, Piece::GtLambda, at, w, &mut self.scratch);
        r.iter_mut().zip(&self.scratch).for_each(|(r, x)| *r += x);
        loads.max(largest(&self.scratch))
    }
}

/// Newton stops at corrections of this many lengths of the model.
const NEWTON: f64 = 1e-11;

impl Residual for Creep {
    fn residual(&mut self, r: &mut [f64]) {
        self.step.residual(r);
        for (k, row) in self.dynamics.layout().constraints.iter().enumerate() {
            if self.velocity_rows[k] {
                let first = self.step.unknowns.range(Unknown::Lambda).start;
                r[first + row.start..first + row.end].fill(0.0);
            }
        }
        if self.rate > 0.0 {
            self.step.point.vdot.copy_from_slice(&self.moved);
            let range = self.step.unknowns.range(Unknown::Q);
            let (at, w) = self.step.parts();
            self.dynamics.add(self.rate, Piece::MassAccel, at, w, &mut r[range]);
            self.step.point.vdot.fill(0.0);
        }
    }

    fn jacobian<'m>(&'m mut self, iteration: Iteration, loan: &mut MatrixLoan<'m>) {
        loan.clear(SetParts::default());
        let wants = Wants { borrowed_rows: false, ..loan.wants() };
        let j = loan.matrix();
        self.step.fill(iteration, wants, j);
        let pattern = j.pattern().clone();
        for (pairs, _) in self.columns.iter().zip(&self.velocity_rows).filter(|(_, velocity)| **velocity) {
            for &(b, row) in pairs {
                let (n, m) = (pattern.size(b), pattern.size(row));
                let (Some(from), Some(to)) = (pattern.offset(b, row), pattern.offset(row, b)) else { continue };
                for i in 0..n {
                    for c in 0..m {
                        j.values[to as usize + c * n + i] = j.values[from as usize + i * m + c];
                    }
                }
            }
        }
        if self.rate > 0.0 {
            let slopes = Slopes { v: self.rate, ..Slopes::default() };
            let mut out = Targets::new(&mut j.values, &self.mass);
            let (at, w) = self.step.parts();
            self.dynamics.add_derivative(1.0, Piece::MassAccel, Unknown::V, slopes, at, w, &mut out);
        }
    }

    fn correct(&mut self, dx: &[f64]) {
        let range = self.step.unknowns.range(Unknown::Q);
        self.moved.iter_mut().zip(&dx[range]).for_each(|(m, d)| *m -= d);
        self.step.correct(dx);
    }

    fn size(&self, dx: &[f64]) -> f64 {
        let q = &dx[self.step.unknowns.range(Unknown::Q)];
        let z = &dx[self.step.unknowns.range(Unknown::Z)];
        let mean: f64 = q.iter().zip(&self.weights).map(|(d, w)| (d * w) * (d * w)).sum();
        let states = z.iter().zip(&self.step.point.z).map(|(d, z)| (d / (1e-10 * (1.0 + z.abs()))).powi(2));
        let sum = mean + states.sum::<f64>();
        (sum / (q.len() + z.len()).max(1) as f64).sqrt()
    }

    fn round_off(&self) -> f64 {
        0.1
    }
}

/// How a model would start to move from rest; zero where that is not determined.
fn urge(dynamics: &Arc<dyn Dynamics>, kkt: &mut Kkt, at: &mut Point, w: &mut Workspace) -> Vec<f64> {
    dynamics.realize(at, w);
    let moves = kkt.accelerate(at, w).is_ok();
    let urge = if moves { at.vdot.clone() } else { vec![0.0; at.v.len()] };
    at.vdot.fill(0.0);
    urge
}

/// The largest displacement in lengths of the model, and, if they count, of the angles.
fn reach(delta: &[f64], scales: &[Scale], length: f64, angles: bool) -> f64 {
    delta.iter().zip(scales).fold(0.0f64, |m, (d, s)| match s {
        Scale::Angle if angles => m.max(d.abs()),
        Scale::Angle => m,
        _ => m.max(d.abs() / length),
    })
}

/// The body that forces pull at most.
fn stalled(dynamics: &dyn Dynamics, rest: &[f64], residual: f64) -> StaticsError {
    let worst = (0..rest.len()).max_by(|a, b| rest[*a].abs().total_cmp(&rest[*b].abs())).unwrap_or(0);
    let body = dynamics.layout().bodies.partition_point(|r| r.end <= worst);
    StaticsError::Stalled { name: dynamics.name(Unknown::Q, body), residual }
}

/// Lets an assembled point creep to an equilibrium.
pub fn equilibrium(dynamics: &Arc<dyn Dynamics>, start: &Point) -> Result<Equilibrium, StaticsError> {
    let n = dynamics.layout().n();
    let mut at = start.clone();
    [&mut at.v, &mut at.vdot, &mut at.qdot, &mut at.zdot, &mut at.mu].into_iter().for_each(|x| x.fill(0.0));
    at.charts.rates.fill(0.0);
    let mut w = dynamics.workspace();
    let mut kkt = Kkt::new(dynamics.clone());
    let urge = urge(dynamics, &mut kkt, &mut at, &mut w);
    let (scales, length) = (dynamics.scales(), dynamics.length());
    let reach = |delta: &[f64], angles: bool| reach(delta, &scales, length, angles);
    let mut creep = Creep::new(dynamics.clone(), at.clone());
    let mut newton = Newton::new(creep.pattern(), Iteration::Full, 25);
    let mut rest = vec![0.0; n];
    let mut size = creep.imbalance(&mut rest);
    let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::INFINITY } else { m.max(x.abs()) });
    if !largest(&rest).is_finite() {
        return Err(StaticsError::NotFinite);
    }
    // the first step moves by a tenth of the model if the start's accelerations mean anything
    let pace = reach(&urge, true);
    let mut tau = if pace > 0.0 { 0.1 / pace } else { 1.0 };
    let mut last_move = urge;
    let (mut steps, mut rejected) = (0, 0);
    let mut travelled = vec![0.0; n];
    let mut best = f64::INFINITY;
    let (mut idle, mut still) = (0, 0);
    while steps + rejected < MOST_STEPS {
        let relative = if size > 0.0 { largest(&rest) / size } else { 0.0 };
        // balanced, or at rest however long the step; a few more steps may still halve what is left
        if relative <= BALANCED || still >= 2 || (idle >= 2 && relative <= ENOUGH) {
            break;
        }
        creep.rate = 1.0 / tau;
        creep.moved.fill(0.0);
        let solved = newton.solve(&mut creep, |_| {});
        let agreeable = |moved: &[f64]| {
            let far = reach(moved, true);
            let product: f64 = moved.iter().zip(&last_move).map(|(a, b)| a * b).sum();
            far.is_finite() && far <= LONGEST && (product >= 0.0 || far < 1e-3)
        };
        if solved.is_err() || !agreeable(&creep.moved) {
            rejected += 1;
            tau *= 0.2;
            creep.step.point.clone_from(&at);
            creep.step.touched();
            newton.forget_matrix();
            continue;
        }
        steps += 1;
        last_move.copy_from_slice(&creep.moved);
        travelled.iter_mut().zip(&creep.moved).for_each(|(t, m)| *t += m);
        if reach(&travelled, false) > FAR {
            return Err(runaway(&**dynamics, &travelled));
        }
        creep.settle(&mut w);
        at.clone_from(&creep.step.point);
        size = size.max(creep.imbalance(&mut rest));
        still = if reach(&creep.moved, true) < 0.1 * NEWTON { still + 1 } else { 0 };
        let now = if size > 0.0 { largest(&rest) / size } else { 0.0 };
        idle = if now > 0.5 * best { idle + 1 } else { 0 };
        best = best.min(now);
        let quick = solved.is_ok_and(|c| c.iterations <= 6);
        tau *= if quick { 8.0 } else { 2.0 };
    }
    let residual = if size > 0.0 { largest(&rest) / size } else { 0.0 };
    if residual > ENOUGH && still < 2 {
        if reach(&travelled, false) > AWAY {
            return Err(runaway(&**dynamics, &travelled));
        }
        return Err(stalled(&**dynamics, &rest, residual));
    }
    w.invalidate();
    dynamics.realize(&at, &mut w);
    let redundant = kkt.factor(&at, &mut w).map_or(0, |()| kkt.dropped());
    let beyond = dynamics.beyond(&at, &mut w);
    let stability = stability(&**dynamics, &at);
    Ok(Equilibrium { point: at, residual, steps, iterations: newton.counts.iterations, redundant, stability, beyond })
}

fn runaway(dynamics: &dyn Dynamics, travelled: &[f64]) -> StaticsError {
    let bodies = &dynamics.layout().bodies;
    let far = |b: &usize| bodies[*b].clone().map(|i| travelled[i].abs()).fold(0.0, f64::max);
    let body = (0..bodies.len()).max_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0);
    StaticsError::Runaway { name: dynamics.name(Unknown::Q, body), distance: far(&body) }
}

/// Whether an equilibrium is stable; `None` where the model is too large, or has no mass.
///
/// Where the stiffness is symmetric and there are no states its signs decide, whatever dampers there are. Everywhere else
/// (controllers, follower loads) the eigenvalues of the motion do, as `modes` has them.
pub fn stability(dynamics: &dyn Dynamics, at: &Point) -> Option<Stability> {
    let linear = linearize(dynamics, at).ok()?;
    let (eigenvalues, _) = linear.stiffness_eigenvalues().ok()?;
    if linear.by_stiffness() {
        let (values, vectors) = linear.stiffness.symmetric_eigen().ok()?;
        let none = SLACK * values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let negative = values.iter().filter(|x| **x < -none).count();
        let loose: Vec<usize> = (0..values.len()).filter(|k| values[*k].abs() <= none).collect();
        let shapes: Vec<Vec<f64>> = loose.iter().map(|k| linear.directions.apply(&vectors.column(*k))).collect();
        let free = moved_most(dynamics, at, &shapes);
        return Some(Stability { eigenvalues, negative, zero: loose.len(), free, flutter: false });
    }
    let pairs = linear.eigen().ok()?;
    let d = linear.counts.0;
    let loose = pairs.iter().filter(|p| p.value == (0.0, 0.0) && p.re[..d].iter().any(|x| *x != 0.0));
    let shapes: Vec<Vec<f64>> = loose.map(|p| linear.directions.apply(&p.re[..d])).collect();
    let growing: Vec<(f64, f64)> = pairs.iter().map(|p| p.value).filter(|value| grows(*value)).collect();
    let oscillates = |value: &&(f64, f64)| value.1 > 1e-9 * value.0;
    Some(Stability {
        eigenvalues,
        negative: growing.iter().filter(|value| !oscillates(value)).count(),
        zero: shapes.len(),
        free: moved_most(dynamics, at, &shapes),
        flutter: growing.iter().any(|value| oscillates(&value)),
    })
}

/// Replaces reactions that are not unique by those of least size: the λ of least |λ| with the same Gᵀλ.
pub fn least_reactions(dynamics: &dyn Dynamics, at: &mut Point) -> Option<()> {
    let layout = dynamics.layout();
    let (n, m) = (layout.n(), layout.m());
    // a dense decomposition: beyond this it would take minutes
    if n * m > 4_000_000 {
        return None;
    }
    let mut w = dynamics.workspace();
    dynamics.realize(at, &mut w);
    let mut load = vec![0.0; n];
    dynamics.add(1.0, Piece::GtLambda, at, &mut w, &mut load);
    let mut gt = Matrix::zeros(n, m);
    let mut unit = at.clone();
    for j in 0..m {
        unit.lambda.fill(0.0);
        unit.lambda[j] = 1.0;
        let mut column = vec![0.0; n];
        dynamics.add(1.0, Piece::GtLambda, &unit, &mut w, &mut column);
        (0..n).for_each(|i| *gt.at_mut(i, j) = column[i]);
    }
    let found = bellcrank_math::linear::dense::least_squares(&gt.values, n, m, &load, 1e-9).ok()?;
    at.lambda.copy_from_slice(&found.x);
    Some(())
}
