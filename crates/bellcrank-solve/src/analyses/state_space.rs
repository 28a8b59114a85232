//! A linear model for controllers: from inputs to channels, about a state.
//!
//! ```text
//!     x′ = A x + B w,   y = C x + D w,      x = (y, u, ζ) of the linearization
//! ```
//!
//! w are deviations of the inputs and y those of channels, both from their values at the state. A is exact
//! ([`linearize`]); B, C and D are differences of fourth order of the exact equations, good to about 1e-11 of their size. The
//! states are displacements and velocities along directions in which the mass matrix is the identity; what they mean in the
//! user's terms is what C tells.

use crate::linear::kkt::Kkt;
use crate::linearization::{Linearization, LinearizationError, linearize, units};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::{Dynamics, Piece, Point, System, Workspace};
use std::fmt;
use std::sync::Arc;

/// A linear model from inputs to channels.
#[derive(Clone, Debug)]
pub struct StateSpace {
    /// A, B, C and D.
    pub a: Matrix,
    /// How the inputs move the states.
    pub b: Matrix,
    /// What of the states the channels show.
    pub c: Matrix,
    /// What of the inputs the channels show at once.
    pub d: Matrix,
    /// The values of the inputs at the state.
    pub inputs: Vec<f64>,
    /// The values of the channels at the state.
    pub outputs: Vec<f64>,
    /// Freedoms of displacement, freedoms of velocity, first-order states.
    pub counts: (usize, usize, usize),
}

/// Why there is no such model.
#[derive(Clone, Debug, PartialEq)]
pub enum StateSpaceError {
    /// The equations cannot be linearized.
    Linear(LinearizationError),
    /// An input drives a rate: the motion jumps with it, and x′ = A x + B w has no state for that.
    Drives {
        /// The input.
        input: String,
    },
}

impl fmt::Display for StateSpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateSpaceError::Linear(e) => write!(f, "{e}"),
            StateSpaceError::Drives { input } => write!(
                f,
                "input `{input}` drives a rate, so that velocities jump with it: a linear model in its states cannot describe that\n\
                 help: let it act as a force or a torque (`joint-actuator`), or through a controller (`pid`)"
            ),
        }
    }
}

impl std::error::Error for StateSpaceError {}

impl<E: Into<LinearizationError>> From<E> for StateSpaceError {
    fn from(e: E) -> StateSpaceError {
        StateSpaceError::Linear(e.into())
    }
}

/// Steps of differences: of displacements in lengths of the model, of velocities and inputs against their size.
const STEP: f64 = 1e-3;

/// A rate that an input drives by less is rounding.
const NOTHING: f64 = 1e-12;

/// The model about a point with its v̇ and λ, from inputs to channels by their numbers.
pub fn state_space(
    system: &Arc<System>,
    at: &Point,
    inputs: &[usize],
    outputs: &[usize],
) -> Result<StateSpace, StateSpaceError> {
    let linearization = linearize(&**system, at)?;
    let (d, d_v, nz) = linearization.counts;
    let mut look = NearbyPoints::new(system, at);
    let mut values = Vec::new();
    look.observe(at, &mut values)?;
    let pick = |all: &[f64]| outputs.iter().map(|i| all[*i]).collect::<Vec<f64>>();

    let mut b = Matrix::zeros(d + d_v + nz, inputs.len());
    let mut direct = Matrix::zeros(outputs.len(), inputs.len());
    for (column, input) in inputs.iter().enumerate() {
        let h = STEP * at.charts.inputs[*input].abs().max(1.0);
        let moved = |s: f64| {
            let mut p = at.clone();
            p.charts.inputs[*input] += s;
            p
        };
        // rows of rates are among the positions where they are nonholonomic
        let rows = slope(h, |s| {
            let point = moved(s);
            Ok([look.piece(Piece::Velocity, &point), look.piece(Piece::Position, &point)].concat())
        })?;
        if rows.iter().any(|x| x.abs() > NOTHING) {
            return Err(StateSpaceError::Drives { input: system.model.inputs[*input].name.clone() });
        }
        let force = slope(h, |s| Ok(look.piece(Piece::Force, &moved(s))))?;
        let flow = slope(h, |s| Ok(look.piece(Piece::Flow, &moved(s))))?;
        for k in 0..d_v {
            *b.at_mut(d + k, column) = (0..force.len()).map(|i| linearization.velocities.at(i, k) * force[i]).sum();
        }
        (0..nz).for_each(|k| *b.at_mut(d + d_v + k, column) = flow[k]);
        let shown = slope(h, |s| look.channels(&moved(s)))?;
        pick(&shown).into_iter().enumerate().for_each(|(i, x)| *direct.at_mut(i, column) = x);
    }

    let mut c = Matrix::zeros(outputs.len(), d + d_v + nz);
    for state in 0..d + d_v + nz {
        let h = step_of(&**system, at, &linearization, state);
        let shown = slope(h, |s| look.channels(&along(&**system, at, &linearization, state, s)))?;
        pick(&shown).into_iter().enumerate().for_each(|(i, x)| *c.at_mut(i, state) = x);
    }
    let inputs = inputs.iter().map(|i| at.charts.inputs[*i]).collect();
    let outputs = pick(&values);
    Ok(StateSpace { a: linearization.matrix, b, c, d: direct, inputs, outputs, counts: (d, d_v, nz) })
}

/// f′(0) by central differences of fourth order.
fn slope(
    h: f64,
    mut f: impl FnMut(f64) -> Result<Vec<f64>, LinearizationError>,
) -> Result<Vec<f64>, LinearizationError> {
    let [a, b, c, d] = [f(-2.0 * h)?, f(-h)?, f(h)?, f(2.0 * h)?];
    Ok((0..a.len()).map(|i| (8.0 * (c[i] - b[i]) - (d[i] - a[i])) / (12.0 * h)).collect())
}

/// How far to go along a state: so that nothing moves by more than a thousandth of the model, or of a radian.
fn step_of(dynamics: &dyn Dynamics, at: &Point, l: &Linearization, state: usize) -> f64 {
    let (d, d_v, _) = l.counts;
    let units = units(dynamics);
    let length = dynamics.length();
    let size = |m: &Matrix, k: usize| (0..m.rows).map(|i| (m.at(i, k) / units[i]).abs()).fold(0.0, f64::max);
    let largest = match state {
        k if k < d => size(&l.directions, k) / length,
        k if k < d + d_v => {
            let speed = at.v.iter().zip(&units).map(|(v, u)| (v / u).abs()).fold(length, f64::max);
            size(&l.velocities, k - d) / speed
        }
        k => 1.0 / at.z[k - d - d_v].abs().max(1.0),
    };
    if largest > 0.0 { STEP / largest } else { STEP }
}

/// The point moved by s along a state: δ = S y, ν = S_v u + P y.
fn along(dynamics: &dyn Dynamics, at: &Point, l: &Linearization, state: usize, s: f64) -> Point {
    let (d, d_v, _) = l.counts;
    let mut p = at.clone();
    let mut speeds = |m: &Matrix, k: usize| (0..m.rows).for_each(|i| p.v[i] += s * m.at(i, k));
    match state {
        k if k < d => {
            speeds(&l.transport, k);
            dynamics.retract(s, &mut p.q, &l.directions.column(k));
        }
        k if k < d + d_v => speeds(&l.velocities, k - d),
        k => p.z[k - d - d_v] += s,
    }
    p
}

/// Looks at points near one.
struct NearbyPoints {
    system: Arc<System>,
    kkt: Kkt,
    w: Workspace,
}

impl NearbyPoints {
    fn new(system: &Arc<System>, _: &Point) -> NearbyPoints {
        NearbyPoints { system: system.clone(), kkt: Kkt::new(system.clone()), w: system.workspace() }
    }

    fn observe(&mut self, at: &Point, out: &mut Vec<f64>) -> Result<(), LinearizationError> {
        let mut p = at.clone();
        self.kkt.complete(&mut p, &mut self.w)?;
        self.system.observe(&p, &mut self.w, out);
        Ok(())
    }

    fn channels(&mut self, at: &Point) -> Result<Vec<f64>, LinearizationError> {
        let mut out = Vec::new();
        self.observe(at, &mut out)?;
        Ok(out)
    }

    fn piece(&mut self, piece: Piece, at: &Point) -> Vec<f64> {
        let layout = self.system.layout();
        let rows = layout.rows(piece).last().map_or(0, |range| range.end);
        let mut out = vec![0.0; rows];
        self.w.invalidate();
        self.system.realize(at, &mut self.w);
        self.system.add(1.0, piece, at, &mut self.w, &mut out);
        out
    }
}
