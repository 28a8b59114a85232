//! A compiled model: what is computed. Immutable, shared between threads.
//!
//! | file | what |
//! |---|---|
//! | `compile.rs` | from a model to its equations |
//! | `kinematics.rs`, `turns.rs` | poses, frames, charts; joint angles over many turns |
//! | `constraints.rs`, `tables.rs` | joints: g, G and their derivatives; the fast paths of large models |
//! | `equations.rs`, `bias.rs`, `derivatives.rs` | the pieces and their derivatives |
//! | `signals.rs`, `guests.rs` | what forces and states compute from the state; FMUs whose equations are part of the machine |
//! | `start.rs`, `switching.rs` | the start; events |
//! | `observe.rs`, `channels.rs`, `balance.rs`, `queries.rs`, `limits.rs` | what can be seen of a point |
//! | `reach.rs` | the rows that a value of the model reaches |

mod balance;
mod bias;
pub mod channels;
mod compile;
mod constraints;
mod derivatives;
mod equations;
mod guests;
mod kinematics;
mod laws;
mod limits;
mod not_finite;
mod observe;
mod queries;
mod reach;
pub mod signals;
mod start;
mod switching;
mod tables;
mod turns;

use crate::bodies::{Body, BodyFrame, Coordinates, each};
use crate::dynamics::*;
use crate::forces::{Followed, Force};
use crate::frames::*;
use crate::joints::{Equation, Motion, Plain};
use crate::model::Model;
use crate::parallel::each_block;
use crate::space::Space;
pub use reach::ReachedRows;
use std::sync::Arc;
use tables::{Gradients, PLAIN, Tables};
use turns::Turns;

/// Stands for the ground where the number of a body is expected.
pub const GROUND: u32 = u32::MAX;
/// Stands for "no angle is measured here".
pub const NO_ANGLE: u32 = u32::MAX;
/// Stands for "has no states".
const NO_STATES: u32 = u32::MAX;
/// Stands for "has no rotation chart".
const NO_CHART: u32 = u32::MAX;

/// A place an element stands on.
#[derive(Clone, Copy, Debug)]
pub struct SystemEnd {
    /// The body, or [`GROUND`].
    pub body: u32,
    /// Where on it.
    pub on: Attachment,
    /// Where its block of G starts in the workspace, and how wide that is.
    jacobian: u32,
    width: u32,
}

/// The constraint block of a joint, of a force that holds a motion, or within a body.
pub struct Constraint {
    /// Its equations; none if the body itself has the equation.
    equations: Vec<Box<dyn Equation>>,
    /// The same as data, if all of them are plain.
    plain: [Option<Plain>; PLAIN],
    /// The places it joins.
    pub ends: Vec<SystemEnd>,
    /// Numbers of the ends, sorted by body; the ground comes last.
    order: [u8; MAX_ENDS],
    /// Its number of rows.
    pub rows: usize,
    /// The number of its joint; `None` within a body, and for what a force holds.
    pub joint: Option<usize>,
    /// The number of the force that holds it.
    force: Option<usize>,
    holonomic: bool,
    straight: bool,
    rheonomic: bool,
    /// Whether the bias of g̈ follows from the plain equations.
    plainly_biased: bool,
    /// The first of its counted angles, or [`NO_ANGLE`].
    angle: u32,
}

/// A force in its places.
struct PlacedForce {
    force: Arc<dyn Force>,
    ends: Vec<SystemEnd>,
    angle: u32,
    /// The number of its block of states, or [`NO_STATES`].
    states: u32,
    /// How many arguments its laws with narrow features have.
    arguments: u32,
    /// Its place among the modes, if it switches.
    slot: Option<usize>,
    /// The mode in which these equations hold motions, and the constraint blocks that do.
    held: Option<(Mode, std::ops::Range<usize>)>,
    /// The constraint block whose multipliers its load follows: of a gap that it holds, or of a joint.
    follows: Option<usize>,
}

/// A joint coordinate whose turns may have to be counted.
#[derive(Clone, Copy, Debug)]
pub struct Coordinate {
    /// The joint's number in the model.
    pub joint: usize,
    /// The motion it measures, between the first two places of the joint.
    pub motion: Motion,
    angle: u32,
}

/// Which bodies have rotation charts.
#[derive(Default)]
struct ChartIndex {
    /// The chart of each body, or [`NO_CHART`].
    of_body: Vec<u32>,
    /// The first coordinate of each chart.
    first: Vec<u32>,
}

/// The equations of a compiled model, in Cartesian coordinates. Its fields are lists: one for each kind of element, and what is known
/// of all of them.
pub struct System {
    /// The model it was compiled from.
    pub model: Model,
    layout: Layout,
    bodies: Vec<Body>,
    charts: ChartIndex,
    constraints: Vec<Constraint>,
    /// The constraint blocks of each joint: its holonomic equations, then the others.
    joint_blocks: Vec<std::ops::Range<usize>>,
    forces: Vec<PlacedForce>,
    signals: signals::Signals,
    turns: Turns,
    coordinates: Vec<Coordinate>,
    length: f64,
    gradients: Gradients,
    tables: Tables,
}

/// What a system keeps in a workspace.
#[derive(Clone, Debug)]
struct SystemCache {
    bodies: Vec<BodyFrame>,
    near: Vec<f64>,
    gap: Vec<f64>,
    scratch: Vec<f64>,
    signals: Vec<f64>,
    guests: Vec<f64>,
    standing: kinematics::Standing,
}

/// What [`realize`](Dynamics::realize) computed for a point, as the pieces read it.
#[derive(Clone, Copy)]
struct Realized<'a> {
    /// The poses of the bodies.
    bodies: &'a [BodyFrame],
    /// A prediction of each counted angle, to within half a turn.
    near: &'a [f64],
    /// g of the plain constraints.
    gap: &'a [f64],
    /// The blocks of G, by constraint and end.
    jacobian: &'a [f64],
    /// The inputs and the signals behind them; empty where there are no signals.
    signals: &'a [f64],
    /// The values of FMUs whose equations are part of the machine.
    guests: &'a [f64],
}

impl<'a> Realized<'a> {
    /// Poses alone.
    fn poses(bodies: &'a [BodyFrame]) -> Realized<'a> {
        Realized { bodies, near: &[], gap: &[], jacobian: &[], signals: &[], guests: &[] }
    }
}

/// What was realized in a workspace.
#[inline]
fn realized(w: &Workspace) -> Realized<'_> {
    let SystemCache { bodies, near, gap, signals, guests, .. } = w.cache();
    Realized { bodies, near, gap, jacobian: &w.jacobian, signals, guests }
}

/// What was realized in a workspace, and scratch beside it.
#[inline]
fn realized_with_scratch(w: &mut Workspace) -> (Realized<'_>, &mut Vec<f64>) {
    let (SystemCache { bodies, near, gap, scratch, signals, guests, .. }, jacobian) = w.parts();
    (Realized { bodies, near, gap, jacobian, signals, guests }, scratch)
}

fn place(end: &crate::model::End) -> SystemEnd {
    SystemEnd { body: end.body.map_or(GROUND, |b| b as u32), on: end.on, jacobian: 0, width: 0 }
}

/// All pairs of ends that stand on bodies.
fn pairs(ends: &[SystemEnd]) -> impl Iterator<Item = (usize, usize)> + '_ {
    pairs_by(ends, 1)
}

/// Every so many of the n² pairs of n ends, as far as they stand on bodies: with n + 1, each end with itself.
fn pairs_by(ends: &[SystemEnd], step: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
    let n = ends.len() as u32;
    let stands = |i: &usize| ends[*i].body != GROUND;
    let all = (0..n * n).step_by(step).map(move |k| ((k / n) as usize, (k % n) as usize));
    all.filter(move |(i, j)| stands(i) && stands(j))
}

impl Constraint {
    /// The ends that stand on bodies, with their numbers, in the order of the bodies: that of the blocks of G.
    fn touching(&self) -> impl Iterator<Item = (usize, &SystemEnd)> + '_ {
        let ends = self.order.iter().filter_map(|&k| Some((k as usize, self.ends.get(k as usize)?)));
        ends.take_while(|(_, end)| end.body != GROUND)
    }

    /// The pairs of ends that (Gᵀλ)_q has blocks for: where equations are straight, each end with itself.
    fn bent_pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let alone = self.straight && !self.equations.is_empty();
        pairs_by(&self.ends, if alone { self.ends.len() + 1 } else { 1 })
    }
}

impl System {
    /// The poses of the bodies, and the angles that forces and equations use.
    fn pose_all(&self, at: &Point, w: &mut Workspace) {
        let SystemCache { bodies, near, standing, .. } = w.cache_mut();
        standing.leave();
        self.locate(&at.q, &at.charts, bodies);
        if self.turns.act {
            self.predict_angles(at, bodies, near);
        }
    }

    /// How the unknowns are grouped.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    #[inline]
    fn width(&self, body: u32) -> usize {
        self.layout.bodies[body as usize].len()
    }
}

impl HasLayout for System {
    fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Dynamics for System {
    fn workspace(&self) -> Workspace {
        let cache = SystemCache {
            bodies: vec![BodyFrame::default(); self.bodies.len()],
            near: vec![0.0; self.turns.angles.len()],
            gap: vec![0.0; self.layout.m()],
            scratch: vec![0.0; self.layout.n()],
            signals: Vec::new(),
            guests: Vec::new(),
            standing: kinematics::Standing::default(),
        };
        Workspace::new(self.gradients.size, cache)
    }

    fn realize(&self, at: &Point, w: &mut Workspace) {
        if w.valid {
            return;
        }
        // looks of monitors are often at the place of the last one
        let keeps = self.has_few_constraints() && !self.turns.act;
        if !(keeps && w.cache::<SystemCache>().standing.is(self, at)) {
            self.pose_all(at, w);
            let (SystemCache { bodies, near, gap, standing, .. }, jacobian) = w.parts();
            self.realize_constraints(at, &Realized { near, ..Realized::poses(bodies) }, jacobian, gap);
            if keeps {
                standing.come(self, at);
            }
        }
        self.refresh_signals(at, w);
        w.valid = true;
    }

    fn place(&self, at: &Point, w: &mut Workspace) {
        if !w.valid {
            self.pose_all(at, w);
            self.refresh_signals(at, w);
        }
    }

    fn add(&self, c: f64, piece: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        if matches!(piece, Piece::Force | Piece::Flow) {
            self.refresh_signals(at, w);
        }
        let (w, scratch) = realized_with_scratch(w);
        self.add_piece(c, piece, at, &w, scratch, out);
    }

    fn add_bias(&self, c: f64, at: &mut Point, w: &mut Workspace, out: &mut [f64]) {
        self.add_bias_to(c, at, &realized(w), out);
    }

    fn set(&self, terms: &[(f64, Piece)], at: &Point, w: &mut Workspace, out: &mut [f64]) {
        self.refresh_signals(at, w);
        self.set_row_of_pieces(terms, at, w, out);
    }

    fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)> {
        self.derivative_pattern(piece, wrt)
    }

    fn add_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    ) {
        if matches!(piece, Piece::Force | Piece::Flow) {
            self.refresh_signals(at, w);
        }
        let (w, scratch) = realized_with_scratch(w);
        self.add_piece_derivative(c, piece, wrt, slopes, &derivatives::At { point: at, w: &w }, scratch, out);
    }

    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy {
        self.refresh_signals(at, w);
        self.energy_at(at, &realized(w))
    }

    fn power(&self, at: &Point, w: &mut Workspace) -> f64 {
        self.refresh_signals(at, w);
        self.power_at(at, &realized(w))
    }

    fn add_both_derivatives(
        &self,
        c: [f64; 2],
        piece: Piece,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    ) {
        if piece != Piece::Force || !self.signals.list.is_empty() {
            self.add_derivative(c[0], piece, Unknown::Q, slopes, at, w, out);
            return self.add_derivative(c[1], piece, Unknown::V, slopes, at, w, out);
        }
        let at = derivatives::At { point: at, w: &realized(w) };
        self.add_force_derivatives(Some(c[0]), Some(c[1]), &at, out);
    }
}

impl MatrixHints for System {
    fn sets(&self, piece: Piece, wrt: Unknown) -> bool {
        match (piece, wrt) {
            (Piece::Position, Unknown::Q) => self.gradients.holonomic,
            (Piece::MassAccel, Unknown::V) => true,
            _ => false,
        }
    }

    fn keeps_gradients(&self) -> bool {
        self.gradients.holonomic
    }
}

impl TreeRecursion for System {
    fn carries(&self, constraint: usize) -> Carries {
        let c = &self.constraints[constraint];
        match (c.joint.map(|j| self.model.joints[j].tree), c.force) {
            (Some(Some(true)), _) => Carries::Wanted,
            (Some(Some(false)), _) | (None, Some(_)) => Carries::Never,
            (Some(None), _) => Carries::Maybe,
            (None, None) => Carries::WithinBody,
        }
    }
}
