//! The narrow waist: equations of motion as pieces that are *added* into the caller's buffer.
//!
//! Every compiled model, and every hand-written set of equations, is
//!
//! ```text
//!     T(q) q̇ = v                    N = T⁻¹; T = I but for rotation charts
//!     M(q) v̇ = f(t, q, v, z) − Gᵀλ
//!     g(t, q) = 0,   G v + g_t = 0   G = ∂g/∂q · N
//!     ż = φ(t, q, v, z)
//! ```
//!
//! A formulation is a table of pieces; it knows no joint, and no joint knows a formulation.
//!
//! **Derivatives with respect to `Unknown::Q` are taken along tangent displacements δ with
//! Δq = N(q) δ**: the pose moves as it would under the velocity δ. So ∂g/∂q is G itself, and a
//! Newton step is applied by [`Dynamics::retract`].

use crate::shares::add_scaled;
use bellcrank_math::{Quat, Vec3, team};
use std::ops::Range;
use std::sync::Arc;

/// Implements `Clone` so that `clone_from` re-uses the vectors of every field: a derived one does not.
#[macro_export]
macro_rules! clone_by_fields {
    ($type:ty { $($field:ident),* }) => {
        impl Clone for $type {
            fn clone(&self) -> Self {
                Self { $($field: self.$field.clone()),* }
            }
            fn clone_from(&mut self, other: &Self) {
                $(self.$field.clone_from(&other.$field);)*
            }
        }
    };
}

/// What stays constant during a step: the centres of the rotation charts, the last accepted values of the
/// joint angles, the modes of forces that have several, and the inputs.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Charts {
    /// One centre for every body with a rotation chart: R = R_c exp(φ̃).
    pub centres: Vec<Quat>,
    /// Continuous angles of the joints at the last accepted step, so that turns are counted.
    pub angles: Vec<f64>,
    /// Their rates there: from the angle that was reached with them a new one is less than half a turn off.
    pub rates: Vec<f64>,
    /// The time of that step.
    pub time: f64,
    /// The mode of each force that has several (in contact or free, sticking or slipping); [`BY_VALUE`], or
    /// none at all, where it follows from the present values.
    pub modes: Vec<Mode>,
    /// The values of the model's inputs, in its order: constant until somebody sets them between two steps.
    pub inputs: Vec<f64>,
}

clone_by_fields!(Charts { centres, angles, rates, time, modes, inputs });

/// The mode of a force that has several: a smooth branch of its law, kept until an event.
pub type Mode = u8;

/// No mode is kept: the force goes by its present values.
pub const BY_VALUE: Mode = 0;

/// All that moves: small, and cloned freely (checkpoints, retries).
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct State {
    /// Time.
    pub t: f64,
    /// Coordinates.
    pub q: Vec<f64>,
    /// Velocities, T(q) q̇.
    pub v: Vec<f64>,
    /// First-order states (actuators, controllers).
    pub z: Vec<f64>,
    /// Where the rotation charts are centred.
    pub charts: Charts,
}

clone_by_fields!(State { t, q, v, z, charts });

impl State {
    /// Whether another one is of the same sizes.
    pub fn fits(&self, other: &State) -> bool {
        let sizes = |s: &State| {
            let c = &s.charts;
            let charts = [c.centres.len(), c.angles.len(), c.modes.len(), c.inputs.len()];
            ([s.q.len(), s.v.len(), s.z.len()], charts)
        };
        sizes(self) == sizes(other)
    }
}

/// A trial point of the equations: a state with its rates and multipliers.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Point {
    /// Time.
    pub t: f64,
    /// Coordinates.
    pub q: Vec<f64>,
    /// q̇.
    pub qdot: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// v̇.
    pub vdot: Vec<f64>,
    /// First-order states.
    pub z: Vec<f64>,
    /// ż.
    pub zdot: Vec<f64>,
    /// Multipliers of the constraints: the reactions.
    pub lambda: Vec<f64>,
    /// Multipliers of the stabilization; zero in exact arithmetic.
    pub mu: Vec<f64>,
    /// Where the rotation charts are centred.
    pub charts: Charts,
}

clone_by_fields!(Point { t, q, qdot, v, vdot, z, zdot, lambda, mu, charts });

impl Point {
    /// A point of the right sizes at a state, its rates and multipliers zero.
    pub fn at(state: &State, layout: &Layout) -> Point {
        Point {
            t: state.t,
            q: state.q.clone(),
            qdot: vec![0.0; layout.n()],
            v: state.v.clone(),
            vdot: vec![0.0; layout.n()],
            z: state.z.clone(),
            zdot: vec![0.0; layout.nz()],
            lambda: vec![0.0; layout.m()],
            mu: vec![0.0; layout.m_rates()],
            charts: state.charts.clone(),
        }
    }

    /// Whether another one is of the same sizes.
    pub fn fits(&self, other: &Point) -> bool {
        let sizes = |p: &Point| [&p.q, &p.qdot, &p.v, &p.vdot, &p.z, &p.zdot, &p.lambda, &p.mu].map(Vec::len);
        let charts = |p: &Point| {
            let Charts { centres, angles, modes, inputs, .. } = &p.charts;
            [centres.len(), angles.len(), modes.len(), inputs.len()]
        };
        sizes(self) == sizes(other) && charts(self) == charts(other)
    }

    /// Copies a state in; rates and multipliers stay as they are. Allocates nothing.
    pub fn set(&mut self, state: &State) {
        self.t = state.t;
        self.q.clone_from(&state.q);
        self.v.clone_from(&state.v);
        self.z.clone_from(&state.z);
        self.charts.clone_from(&state.charts);
    }

    /// Copies the state out. Allocates nothing once the sizes fit.
    pub fn store(&self, state: &mut State) {
        self.store_motion(state);
        state.charts.clone_from(&self.charts);
    }

    /// Copies out what moved within a step: the charts of the state are those of the point.
    pub fn store_motion(&self, state: &mut State) {
        state.t = self.t;
        team::copy(&self.z, &mut state.z);
        state.q.resize(self.q.len(), 0.0);
        state.v.resize(self.v.len(), 0.0);
        team::fill([&mut state.q, &mut state.v], |range, [q, v]| {
            q.copy_from_slice(&self.q[range.clone()]);
            v.copy_from_slice(&self.v[range]);
        });
    }
}

/// How the unknowns are grouped into blocks.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Coordinates (and velocities) of each body.
    pub bodies: Vec<Range<usize>>,
    /// Rows of each constraint: its part of λ, of the position rows and of the acceleration rows.
    pub constraints: Vec<Range<usize>>,
    /// Velocity rows of each constraint: its part of μ; empty for a nonholonomic constraint, whose
    /// velocity row already stands among the position rows.
    pub rates: Vec<Range<usize>>,
    /// First-order states, by element.
    pub states: Vec<Range<usize>>,
}

impl Layout {
    /// Number of coordinates.
    pub fn n(&self) -> usize {
        self.bodies.last().map_or(0, |r| r.end)
    }
    /// Number of constraint rows.
    pub fn m(&self) -> usize {
        self.constraints.last().map_or(0, |r| r.end)
    }
    /// Number of velocity rows, m less the nonholonomic ones.
    pub fn m_rates(&self) -> usize {
        self.rates.last().map_or(0, |r| r.end)
    }
    /// Number of first-order states.
    pub fn nz(&self) -> usize {
        self.states.last().map_or(0, |r| r.end)
    }
    /// The blocks of an unknown.
    pub fn columns(&self, of: Unknown) -> &[Range<usize>] {
        match of {
            Unknown::Q | Unknown::V => &self.bodies,
            Unknown::Z => &self.states,
            Unknown::Lambda => &self.constraints,
            Unknown::Mu => &self.rates,
        }
    }
    /// The blocks of the rows a piece stands in.
    pub fn rows(&self, of: Piece) -> &[Range<usize>] {
        use Piece::*;
        match of {
            Rate | Speed | GtMu | MinvGtMu | MassAccel | Force | GtLambda => &self.bodies,
            Position | Acceleration => &self.constraints,
            Velocity => &self.rates,
            ZDot | Flow => &self.states,
        }
    }
}

/// A group of unknowns of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unknown {
    /// Coordinates, moved along tangent displacements.
    Q,
    /// Velocities.
    V,
    /// First-order states.
    Z,
    /// Reactions.
    Lambda,
    /// Stabilization.
    Mu,
}

impl Unknown {
    /// All of them.
    pub const ALL: [Unknown; 5] = [Unknown::Q, Unknown::V, Unknown::Z, Unknown::Lambda, Unknown::Mu];
}

/// A piece of the equations of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// T(q) q̇, the velocity that belongs to the rates of the coordinates.
    Rate,
    /// v.
    Speed,
    /// Gᵀμ.
    GtMu,
    /// M⁻¹Gᵀμ.
    MinvGtMu,
    /// M v̇.
    MassAccel,
    /// f(t, q, v, z), gyroscopic terms included.
    Force,
    /// Gᵀλ.
    GtLambda,
    /// g(t, q); for a nonholonomic constraint its velocity row.
    Position,
    /// G v + g_t.
    Velocity,
    /// G v̇ + (G v)_q v + …, the second derivative of g.
    Acceleration,
    /// ż.
    ZDot,
    /// φ(t, q, v, z).
    Flow,
}

/// The slopes of an implicit method: q̇ = α_q q + η_q, v̇ = α_v v + η_v, ż = α_z z + η_z.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slopes {
    /// ∂q̇/∂q.
    pub q: f64,
    /// ∂v̇/∂v.
    pub v: f64,
    /// ∂ż/∂z.
    pub z: f64,
}

/// Where the blocks of one derivative go: the k-th block that is emitted lands at `offsets[k]`.
pub struct Targets<'a> {
    /// The values of a block matrix.
    pub values: &'a mut [f64],
    /// Offsets of the blocks, in the order of [`Dynamics::pattern`].
    pub offsets: &'a [u32],
    next: usize,
    /// What stands before `values`.
    base: usize,
    rising: bool,
    /// Whether blocks are to be set, not added to: for what [`Dynamics::sets`].
    pub fresh: bool,
    /// Whether each block begins where the one before it ends.
    pub together: bool,
}

impl<'a> Targets<'a> {
    /// Targets for one call of [`Dynamics::add_derivative`].
    pub fn new(values: &'a mut [f64], offsets: &'a [u32]) -> Targets<'a> {
        Targets { values, offsets, next: 0, base: 0, rising: false, fresh: false, together: false }
    }

    /// The same, where blocks of a row lie before those of all later rows.
    pub fn rising(values: &'a mut [f64], offsets: &'a [u32]) -> Targets<'a> {
        Targets { rising: true, ..Targets::new(values, offsets) }
    }

    /// Emits the blocks of every row, several rows at the same time where there is a team. `before` tells how many blocks come
    /// before those of a row.
    pub(crate) fn each_row(
        &mut self,
        rows: usize,
        before: impl Fn(usize) -> usize,
        work: impl Fn(usize, &mut Targets) + Sync,
    ) {
        if !self.rising {
            return (0..rows).for_each(|row| work(row, self));
        }
        let (offsets, first, fresh) = (self.offsets, self.next, self.fresh);
        let end = self.base + self.values.len();
        let begin = |row: usize| {
            // rows may be empty
            let mut row = row..rows;
            let blocks = row.find_map(|row| (before(row) < before(row + 1)).then(|| before(row)..before(row + 1)));
            let least = blocks.and_then(|blocks| offsets[first + blocks.start..first + blocks.end].iter().min());
            least.map_or(end, |offset| *offset as usize)
        };
        let (mut at, mut rest) = (self.base, &mut *self.values);
        team::divided(
            rows,
            crate::shares::LEAST,
            |range| {
                let to = begin(range.end);
                let values = team::cut(&mut rest, to - at);
                let base = std::mem::replace(&mut at, to);
                let next = first + before(range.start);
                (range, Targets { values, offsets, next, base, rising: false, fresh, together: false })
            },
            |(range, mut targets)| range.for_each(|row| work(row, &mut targets)),
        );
        self.next = first + before(rows);
    }

    /// Sets the next blocks, which lie [`Self::together`], to the values that are given for all of them.
    pub(crate) fn set_together(&mut self, blocks: usize, given: &[f64]) {
        let Some(&first) = self.offsets.get(self.next) else { return };
        let first = first as usize - self.base;
        team::fill([&mut self.values[first..first + given.len()]], |range, [out]| out.copy_from_slice(&given[range]));
        self.next += blocks;
    }

    /// A place to come back to, when one pair takes several contributions.
    pub fn mark(&self) -> usize {
        self.next
    }

    /// Emits the blocks since `mark` once more.
    pub fn back_to(&mut self, mark: usize) {
        self.next = mark;
    }

    /// The next block, `rows`×`columns` numbers by rows, to be added into.
    #[inline]
    pub fn block(&mut self, rows: usize, columns: usize) -> &mut [f64] {
        let at = self.offsets[self.next] as usize - self.base;
        self.next += 1;
        &mut self.values[at..at + rows * columns]
    }
}

/// Energies of a point, in joules, and the power that goes in from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// ½ vᵀM v.
    pub kinetic: f64,
    /// Energy stored in gravity and springs.
    pub stored: f64,
    /// Power of everything else (dampers, loads, drives): d(kinetic + stored)/dt.
    pub power: f64,
}

/// What a coordinate measures: how its errors are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A length, weighed by the length of the model.
    Length,
    /// An angle, weighed by one radian.
    Angle,
    /// A number of unknown kind, weighed by its own magnitude (as in DASSL).
    Own,
}

/// Scratch of one thread: what [`Dynamics::realize`] computes and the pieces read.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// Whether the rest belongs to the present point.
    pub valid: bool,
    /// Poses of the bodies of a compiled model.
    pub bodies: Vec<crate::frames::BodyFrame>,
    /// What the angles of the joints are near to at this time.
    pub near: Vec<f64>,
    /// The blocks of G, by constraint and end (or one dense matrix).
    pub jacobian: Vec<f64>,
    /// g of the constraints with plain equations.
    pub gap: Vec<f64>,
    /// Room for dense intermediate matrices of hand-written equations.
    pub scratch: Vec<f64>,
    /// The charts that the last [`Dynamics::settle`] re-centred.
    pub recentred: ChartChange,
    /// What relative coordinates need: the bodies of the tree, and their Cartesian point.
    pub tree: Option<Box<crate::relative::TreeSpace>>,
}

impl Workspace {
    /// To be called whenever the point moved.
    pub fn invalidate(&mut self) {
        self.valid = false;
    }
}

/// New centres for some rotation charts.
#[derive(Clone, Debug, Default)]
pub struct ChartChange {
    /// The charts.
    pub moves: Vec<ChartMove>,
}

/// A new centre for a rotation chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartMove {
    /// Index of the first of the three chart coordinates.
    pub at: usize,
    /// R_new⁻¹ R_old of the centres, and the same as a rotation vector.
    pub turn: Quat,
    old_centre: Vec3,
}

impl ChartMove {
    /// To φ, coordinates of the old chart.
    pub fn to(at: usize, phi: Vec3) -> ChartMove {
        ChartMove { at, turn: Quat::exp(phi).conjugate(), old_centre: -phi }
    }
}

impl ChartChange {
    /// Carries coordinates of the old charts over to the new ones.
    pub fn apply(&self, q: &mut [f64]) {
        for m in &self.moves {
            let phi = Vec3::from_slice(&q[m.at..m.at + 3]);
            let moved = match phi == Vec3::ZERO {
                true => m.old_centre,
                false => m.turn.then(Quat::exp(phi)).log(),
            };
            q[m.at..m.at + 3].copy_from_slice(&moved.0);
        }
    }
}

/// A rotation chart is re-centred when its angle passes this, in rad; N(φ) is singular only at 2π.
pub const CHART_LIMIT: f64 = 1.0;

/// [`Dynamics::set`] with one piece after the other.
pub(crate) fn set_by_pieces<D: Dynamics + ?Sized>(
    of: &D,
    terms: &[(f64, Piece)],
    at: &Point,
    w: &mut Workspace,
    out: &mut [f64],
) {
    team::fill([&mut *out], |_, [out]| out.fill(0.0));
    terms.iter().for_each(|&(c, piece)| of.add(c, piece, at, w, out));
}

/// Equations of motion: immutable, shared between threads.
pub trait Dynamics: Send + Sync {
    /// How the unknowns are grouped.
    fn layout(&self) -> &Layout;

    /// A workspace of the right size.
    fn workspace(&self) -> Workspace;

    /// Computes the poses and G of this point, unless the workspace holds them already.
    fn realize(&self, at: &Point, w: &mut Workspace);

    /// `out += c · piece` at a realized point.
    fn add(&self, c: f64, piece: Piece, at: &Point, w: &mut Workspace, out: &mut [f64]);

    /// `out ← Σ c · piece` over the pieces of one row.
    fn set(&self, terms: &[(f64, Piece)], at: &Point, w: &mut Workspace, out: &mut [f64]) {
        set_by_pieces(self, terms, at, w, out);
    }

    /// The (row block, column block) pairs of ∂piece/∂unknown, in the order in which
    /// [`Dynamics::add_derivative`] emits them. A pair may occur more than once.
    fn pattern(&self, piece: Piece, wrt: Unknown) -> Vec<(u32, u32)>;

    /// `out += c · ∂piece/∂unknown`, with the rates q̇, v̇, ż depending on q, v, z by the slopes.
    fn add_derivative(
        &self,
        c: f64,
        piece: Piece,
        wrt: Unknown,
        slopes: Slopes,
        at: &Point,
        w: &mut Workspace,
        out: &mut Targets,
    );

    /// Whether the blocks of a derivative can be set where they stand, each once: what stood there need not be cleared.
    fn sets(&self, piece: Piece, wrt: Unknown) -> bool {
        let _ = (piece, wrt);
        false
    }

    /// Whether [`Workspace::jacobian`] holds the blocks of ∂g/∂q in the order in which they are emitted.
    fn keeps_gradients(&self) -> bool {
        false
    }

    /// q ← q + c N(q) δ for a correction δ from a Newton step.
    fn retract(&self, c: f64, q: &mut [f64], delta: &[f64]) {
        add_scaled(c, delta, q);
    }

    /// q̇ = N(q) v.
    fn rates(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        let _ = q;
        qdot.copy_from_slice(v);
    }

    /// v = T(q) q̇.
    fn velocities(&self, q: &[f64], qdot: &[f64], v: &mut [f64]) {
        let _ = q;
        v.copy_from_slice(qdot);
    }

    /// Re-centres the charts whose angle grew large, moves `state.q` along and counts joint turns;
    /// to be called at every accepted step. True if a centre changed: `w.recentred` tells which.
    fn settle(&self, state: &mut State, w: &mut Workspace) -> bool {
        self.settle_past(CHART_LIMIT, state, w)
    }

    /// [`Dynamics::settle`] for charts whose angle is larger than `limit`.
    fn settle_past(&self, limit: f64, state: &mut State, w: &mut Workspace) -> bool {
        let _ = (limit, state, w);
        false
    }

    /// Whether q̇ = v: no coordinate is that of a rotation chart.
    fn flat(&self) -> bool {
        true
    }

    /// What each coordinate measures.
    fn scales(&self) -> Vec<Scale> {
        vec![Scale::Own; self.layout().n()]
    }

    /// A length that is typical of the model.
    fn length(&self) -> f64 {
        1.0
    }

    /// The user's name for the body, joint or force that owns an unknown's block.
    fn name(&self, of: Unknown, block: usize) -> String {
        match of {
            Unknown::Q | Unknown::V => format!("coordinates {:?}", self.layout().bodies[block]),
            Unknown::Z => format!("states {:?}", self.layout().states[block]),
            Unknown::Lambda | Unknown::Mu => format!("constraint rows {:?}", self.layout().constraints[block]),
        }
    }

    /// Whether accelerations come by recursion over a tree: there are no constraints, and
    /// [`Dynamics::recursion`] stands for the linear system.
    fn recursive(&self) -> bool {
        false
    }

    /// v̇ by recursion, or the block whose inertia vanishes.
    fn recursion(&self, at: &mut Point, w: &mut Workspace) -> Result<(), usize> {
        let _ = (at, w);
        Ok(())
    }

    /// Energies at a realized point.
    fn energy(&self, at: &Point, w: &mut Workspace) -> Energy;

    /// Momentum, its rate and the loads that must make it, at a realized point with its v̇ and λ; false where
    /// the equations do not know of forces in space.
    fn balance(&self, at: &Point, w: &mut Workspace, out: &mut Balance) -> bool {
        let _ = (at, w, out);
        false
    }

    /// Whether energy leaves or enters other than through gravity and springs.
    fn has_power(&self) -> bool {
        true
    }

    /// Whether constraints do work, so that the power depends on λ.
    fn driven(&self) -> bool {
        true
    }

    /// The quantities that are recorded, in the order of [`Dynamics::observe`].
    fn channels(&self) -> Vec<Channel> {
        let layout = self.layout();
        let list = |prefix: &str, n: usize| -> Vec<Channel> {
            (1..=n).map(|i| Channel { name: format!("{prefix}{i}"), unit: "" }).collect()
        };
        [("q", layout.n()), ("v", layout.n()), ("a", layout.n()), ("z", layout.nz()), ("lambda", layout.m())]
            .into_iter()
            .flat_map(|(prefix, n)| list(prefix, n))
            .collect()
    }

    /// The values of all channels at a realized point with its v̇ and λ.
    fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        let _ = w;
        out.clear();
        [&at.q, &at.v, &at.vdot, &at.z, &at.lambda].into_iter().for_each(|x| out.extend_from_slice(x));
    }

    /// Equations that are given at the start beside the constraints: joint coordinates and rates.
    fn start(&self) -> Vec<StartRow> {
        Vec::new()
    }

    /// The residuals and gradients (body, row) of the start's rows at a realized point: the coordinate
    /// less its given value, and the rate less its given rate.
    fn start_row(&self, row: &StartRow, at: &Point, w: &Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let _ = (row, at, w);
        (0.0, 0.0, Vec::new())
    }

    /// Whether a velocity was given for the start, so that the others follow it.
    fn velocity_given(&self, i: usize) -> bool {
        let _ = i;
        false
    }

    /// Whether the rows of a constraint are rates of functions of the coordinates: all holonomic ones are, and
    /// so is a coordinate whose rate is driven.
    fn integrable(&self, constraint: usize) -> bool {
        !self.layout().rates[constraint].is_empty()
    }

    /// Whether a coordinate measures the deformation of a body: the start keeps it as it is, if that can be.
    fn elastic(&self, i: usize) -> bool {
        let _ = i;
        false
    }

    /// Whether a body starts with the deformation that the loads of its motion give it.
    fn quasi_static(&self, body: usize) -> bool {
        let _ = body;
        false
    }

    /// What a constraint may be in a spanning tree of the bodies.
    fn carries(&self, constraint: usize) -> Carries {
        let _ = constraint;
        Carries::Maybe
    }

    /// Bodies that keep their start while the model is assembled.
    fn held(&self, body: usize) -> bool {
        let _ = body;
        false
    }

    /// How many switch functions there are. None of them is negative while the modes of the point are
    /// right; one that falls through zero is an event.
    fn switches(&self) -> usize {
        0
    }

    /// The values of the switch functions at a realized point, with its λ where [`Dynamics::reactive`]
    /// says so; infinite where a mode has no use for one.
    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let _ = (at, w, out);
    }

    /// Whether switch functions depend on λ.
    fn reactive(&self) -> bool {
        false
    }

    /// The modes that fit a realized point.
    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let _ = (at, w);
        Vec::new()
    }

    /// What happens when the switch function `k` falls through zero at a realized point.
    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let _ = (k, at, w);
        None
    }

    /// The equations with those motions held that these modes hold (a contact at rest, a joint that
    /// sticks); `None` if they are these equations. Bodies, states and angles are the same; constraint rows
    /// that are held come last.
    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        let _ = modes;
        None
    }

    /// What may hold a rate alone in one of its modes (a joint that sticks), by the user's name: a nonholonomic row then.
    fn may_stick(&self) -> Option<String> {
        None
    }
}

/// What a constraint may be in a spanning tree of the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// An equation of one body's own coordinates: it belongs to the tree, and joins nothing.
    Own,
    /// It may carry a body.
    Maybe,
    /// The user wants it in the tree.
    Wanted,
    /// It closes a loop.
    Never,
}

/// What happens at an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The place in [`Charts::modes`].
    pub slot: usize,
    /// The mode from now on.
    pub mode: Mode,
    /// The user's name of what switches.
    pub name: String,
    /// What it does: `bounces`, `sticks`.
    pub what: &'static str,
    /// The impact, where velocities jump.
    pub impact: Option<Impact>,
}

/// A jump of the velocities: M Δv + Gᵀ Λ = rowᵀ P, G Δv = 0, so that row · v is `after`.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// The gradient of the gap that closes.
    pub row: Vec<f64>,
    /// Its rate after the impact.
    pub after: f64,
}

/// Momentum and what changes it, about the origin of the world: (x, y, z) of the linear part, then of the angular.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Balance {
    /// P = Σ m v and L = Σ (r × m v + I ω).
    pub momentum: [f64; 6],
    /// Ṗ and L̇, from the accelerations.
    pub rate: [f64; 6],
    /// All loads on all bodies: those between bodies cancel.
    pub load: [f64; 6],
    /// Where the rate and the loads of a single body differ most: its number, by what force, by what moment.
    pub worst: (usize, f64, f64),
    /// The largest single force and moment.
    pub largest: (f64, f64),
    /// Rate less loads of each body.
    pub bodies: Vec<[f64; 6]>,
}

/// A quantity that is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The user's name of it, such as `crank.vx`.
    pub name: String,
    /// Its SI unit, such as `m/s`; empty for a pure number.
    pub unit: &'static str,
}

/// A joint coordinate that is given at the start.
#[derive(Clone, Debug)]
pub struct StartRow {
    /// The number of the joint coordinate.
    pub coordinate: usize,
    /// The coordinate, if given.
    pub value: Option<f64>,
    /// Its rate, if given.
    pub rate: Option<f64>,
    /// The user's name of the joint.
    pub name: String,
}
