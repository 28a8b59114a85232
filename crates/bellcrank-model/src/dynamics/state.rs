//! What moves: the state of a machine, and a trial point of its equations.

use super::{Layout, Mode};
use bellcrank_math::threads::team;
use bellcrank_math::{Quat, Vec3};

/// Implements `Clone` with a `clone_from` that reuses the buffers of every field; a derived one does not.
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

/// Rows of the constraints that hold nothing which the others do not hold: solvers leave them out.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LeftOut {
    /// The number of rows that they were chosen from: equations with another number know nothing of them.
    pub of: usize,
    /// The rows, ascending.
    pub rows: Vec<usize>,
}

clone_by_fields!(LeftOut { of, rows });

impl LeftOut {
    /// The rows to leave out of equations with m constraint rows; none where they were not chosen among these.
    pub fn among(&self, m: usize) -> &[usize] {
        self.chosen(m).unwrap_or_default()
    }

    /// The same, where they were chosen among these.
    pub fn chosen(&self, m: usize) -> Option<&[usize]> {
        (self.of == m).then_some(&self.rows)
    }
}

/// What is constant within a step: the centres of the rotation charts, the last accepted joint angles, the modes of
/// forces that switch, and the inputs.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Charts {
    /// The centre R_c of each rotation chart, R = R_c exp(φ̃).
    pub centres: Vec<Quat>,
    /// Continuous joint angles at the last accepted step, in rad; full turns are counted from them.
    pub angles: Vec<f64>,
    /// Their rates at that step, in rad/s. They predict the next angle to within half a turn.
    pub rates: Vec<f64>,
    /// The time of that step.
    pub time: f64,
    /// The mode of each force that switches (free or in contact, sticking or slipping). [`BY_VALUE`](super::BY_VALUE),
    /// or an empty list, means that the mode follows from the present values.
    pub modes: Vec<Mode>,
    /// The values of the model's inputs, in its order: constant until somebody sets them between two steps.
    pub inputs: Vec<f64>,
    /// Redundant rows of the constraints, chosen at a start and after events; none where they are not chosen yet.
    pub left_out: LeftOut,
}

clone_by_fields!(Charts { centres, angles, rates, time, modes, inputs, left_out });

/// The state of a machine: small, and cloned freely for checkpoints and retries.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct State {
    /// Time in s.
    pub t: f64,
    /// Coordinates q.
    pub q: Vec<f64>,
    /// Velocities v = T(q) q̇.
    pub v: Vec<f64>,
    /// First-order states z of actuators and controllers.
    pub z: Vec<f64>,
    /// Chart centres, counted angles and modes.
    pub charts: Charts,
}

clone_by_fields!(State { t, q, v, z, charts });

impl State {
    /// The displacement to another state: differences of coordinates, and log(R⁻¹R') where a rotation chart begins.
    pub(crate) fn turn_between(&self, to: &State, charts: impl Iterator<Item = usize>, delta: &mut [f64]) {
        delta.iter_mut().zip(&to.q).zip(&self.q).for_each(|((d, to), from)| *d = to - from);
        for (i, (a, b)) in charts.zip(self.charts.centres.iter().zip(&to.charts.centres)) {
            let pose = |centre: &Quat, q: &[f64]| centre.then(Quat::exp(Vec3::from_slice(&q[i..i + 3])));
            let turn = pose(a, &self.q).conjugate().then(pose(b, &to.q)).log();
            delta[i..i + 3].copy_from_slice(&turn.0);
        }
    }

    /// Whether `other` has the same sizes.
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
    /// Time in s.
    pub t: f64,
    /// Coordinates q.
    pub q: Vec<f64>,
    /// q̇.
    pub qdot: Vec<f64>,
    /// Velocities v.
    pub v: Vec<f64>,
    /// v̇.
    pub vdot: Vec<f64>,
    /// First-order states z.
    pub z: Vec<f64>,
    /// ż.
    pub zdot: Vec<f64>,
    /// Multipliers λ of the constraints: the reactions.
    pub lambda: Vec<f64>,
    /// Multipliers μ of the stabilization; zero in exact arithmetic.
    pub mu: Vec<f64>,
    /// Chart centres, counted angles and modes.
    pub charts: Charts,
}

clone_by_fields!(Point { t, q, qdot, v, vdot, z, zdot, lambda, mu, charts });

impl Point {
    /// The point of a state, with rates and multipliers zero.
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

    /// Whether another point has the same sizes.
    pub fn fits(&self, other: &Point) -> bool {
        let sizes = |p: &Point| [&p.q, &p.qdot, &p.v, &p.vdot, &p.z, &p.zdot, &p.lambda, &p.mu].map(Vec::len);
        let charts = |p: &Point| {
            let Charts { centres, angles, modes, inputs, .. } = &p.charts;
            [centres.len(), angles.len(), modes.len(), inputs.len()]
        };
        sizes(self) == sizes(other) && charts(self) == charts(other)
    }

    /// Copies a state in; rates and multipliers keep their values. Does not allocate.
    pub fn set(&mut self, state: &State) {
        self.t = state.t;
        self.q.clone_from(&state.q);
        self.v.clone_from(&state.v);
        self.z.clone_from(&state.z);
        self.charts.clone_from(&state.charts);
    }

    /// Copies the state out. Does not allocate once the sizes fit.
    pub fn store(&self, state: &mut State) {
        self.store_motion(state);
        state.charts.clone_from(&self.charts);
    }

    /// Copies out what changes within a step: t, q, v and z, but not the charts.
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

/// The charts that the last [`Geometry::settle`](super::Geometry::settle) re-centred.
#[derive(Clone, Debug, Default)]
pub struct ChartChange {
    /// One entry per re-centred chart.
    pub moves: Vec<ChartMove>,
}

/// A new centre for one rotation chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartMove {
    /// Index of the first of the three chart coordinates.
    pub at: usize,
    /// R_new⁻¹ R_old of the two centres.
    pub turn: Quat,
    /// The same as a rotation vector: where the old centre lies in the new chart.
    old_centre: Vec3,
}

impl ChartMove {
    /// Moves the centre to φ, given in the old chart.
    pub fn to(at: usize, phi: Vec3) -> ChartMove {
        ChartMove { at, turn: Quat::exp(phi).conjugate(), old_centre: -phi }
    }
}

impl ChartChange {
    /// Maps coordinates of the old charts to the new ones.
    pub fn apply(&self, q: &mut [f64]) {
        for m in &self.moves {
            let phi = Vec3::from_slice(&q[m.at..m.at + 3]);
            let moved = if phi == Vec3::ZERO { m.old_centre } else { m.turn.then(Quat::exp(phi)).log() };
            q[m.at..m.at + 3].copy_from_slice(&moved.0);
        }
    }
}
