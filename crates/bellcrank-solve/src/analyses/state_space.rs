//! A linear model for controllers: from inputs to channels and outputs, about a state.
//!
//! ```text
//!     x′ = A x + B w,   y = C x + D w,      x = (y, u, ζ) of the linearization
//! ```
//!
//! w are deviations of the inputs and y those of channels, both from their values at the state. A is exact
//! ([`linearize`]); B, C and D are differences of fourth order of the exact equations, good to about 1e-11 of their size. The
//! states are displacements and velocities along directions in which the mass matrix is the identity; what they mean in the
//! user's terms is what C tells.
//!
//! An output e(c, t) of the channels c has the rows Σ ∂e/∂cₖ Cₖ and Σ ∂e/∂cₖ Dₖ, with exact derivatives of its expression on the branches
//! it is on. Its filter acts on the linear signal: a lag and an integral are one more state each, a derivative is s times the signal.

use crate::linear::kkt::Kkt;
use crate::linearization::{Linearization, LinearizationError, linearize, units};
use crate::outputs::channels_of;
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::channel::Selection;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::file::expression::{Bends, Branches, Expression, Jet};
use bellcrank_model::model::{Filter, Output};
use bellcrank_model::{Dynamics, Piece, Point, System, Workspace};
use std::fmt;
use std::sync::Arc;

/// A linear model from inputs to channels and outputs.
#[derive(Clone, Debug)]
pub struct StateSpace {
    /// A, B, C and D.
    pub a: Matrix,
    /// How the inputs move the states.
    pub b: Matrix,
    /// What of the states the channels and outputs show.
    pub c: Matrix,
    /// What of the inputs they show at once.
    pub d: Matrix,
    /// The values of the inputs at the state.
    pub inputs: Vec<f64>,
    /// The values of channels and outputs at the state, where integrals begin and lags have settled.
    pub outputs: Vec<f64>,
    /// Freedoms of displacement, freedoms of velocity, first-order states, those of filters among them.
    pub counts: (usize, usize, usize),
}

/// What a linear model shows: channels, and outputs of the model.
#[derive(Clone, Debug)]
pub struct Shown {
    outputs: Vec<Output>,
    /// The channels that they are computed from.
    needed: Selection,
    /// Where the variables of each stand among these.
    places: Vec<Vec<usize>>,
}

impl Shown {
    /// By their names; the first one that is unknown, if one is.
    pub fn new(system: &System, names: &[impl AsRef<str>]) -> Result<Shown, String> {
        let plain = |name: &str| Output {
            name: name.into(),
            value: Expression::variable(1, name),
            channels: vec![name.into()],
            filter: Filter::None,
            unit: "",
            doc: String::new(),
        };
        let outputs = &system.model.outputs;
        let of = |name: &str| outputs.iter().find(|o| o.name == name).cloned().unwrap_or_else(|| plain(name));
        let mut outputs: Vec<Output> = names.iter().map(|name| of(name.as_ref())).collect();
        let (needed, places) = channels_of(&outputs, system);
        for (output, places) in outputs.iter_mut().zip(&places) {
            if places.contains(&usize::MAX) {
                return Err(output.name.clone());
            }
            if let [place] = places[..]
                && output.channels[0] == output.name
            {
                output.unit = needed.channels[place].unit;
            }
        }
        Ok(Shown { outputs, needed, places })
    }

    /// Their units; empty for pure numbers.
    pub fn units(&self) -> Vec<&'static str> {
        self.outputs.iter().map(|o| o.unit).collect()
    }
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
    /// An output has no derivative: it bends at the state.
    Bends {
        /// The output.
        output: String,
    },
    /// An output is the derivative of something that jumps with an input.
    Improper {
        /// The output.
        output: String,
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
            StateSpaceError::Bends { output } => write!(
                f,
                "output `{output}` bends at this state (`abs`, `min`, `max` or a comparison changes its branch there): it has no derivative\n\
                 help: linearize about another state, or show the channels that it is computed from"
            ),
            StateSpaceError::Improper { output, input } => write!(
                f,
                "output `{output}` is the derivative of a quantity that jumps with input `{input}`: its response grows without bound with \
                 the frequency\n\
                 help: use the quantity itself, or a `lag` of it"
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

/// How far to look along the motion, in s.
const MOMENT: f64 = 1e-6;

/// A rate that an input drives by less is rounding.
const NOTHING: f64 = 1e-12;

/// An output is at a bend if that is within this part of what a step of the differences covers.
const AT_BEND: f64 = 1e-6;

/// The model about a point with its v̇ and λ, from inputs by their numbers to channels and outputs.
pub fn state_space(
    system: &Arc<System>,
    at: &Point,
    inputs: &[usize],
    shown: &Shown,
) -> Result<StateSpace, StateSpaceError> {
    let linearization = linearize(&**system, at)?;
    let (d, d_v, nz) = linearization.counts;
    let mut look = NearbyPoints::new(system, shown);
    let values = look.channels(at)?;

    let mut b = Matrix::zeros(d + d_v + nz, inputs.len());
    let mut direct = Matrix::zeros(values.len(), inputs.len());
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
        let seen = slope(h, |s| look.channels(&moved(s)))?;
        seen.into_iter().enumerate().for_each(|(i, x)| *direct.at_mut(i, column) = x);
    }

    let mut c = Matrix::zeros(values.len(), d + d_v + nz);
    let mut steps = Vec::with_capacity(d + d_v + nz);
    for state in 0..d + d_v + nz {
        let h = step_of(&**system, at, &linearization, state);
        steps.push(h);
        let seen = slope(h, |s| look.channels(&along(&**system, at, &linearization, state, s)))?;
        seen.into_iter().enumerate().for_each(|(i, x)| *c.at_mut(i, state) = x);
    }
    let of_inputs: Vec<f64> = inputs.iter().map(|i| at.charts.inputs[*i]).collect();
    let channels = StateSpace {
        a: linearization.matrix,
        b,
        c,
        d: direct,
        inputs: of_inputs,
        outputs: values,
        counts: (d, d_v, nz),
    };
    let signals = channels.signals(shown, at.t, &steps)?;
    let mut filtered = signals.filtered(shown, |k| system.model.inputs[inputs[k]].name.clone())?;
    for (k, output) in shown.outputs.iter().enumerate().filter(|(_, o)| o.filter == Filter::Derivative) {
        filtered.outputs[k] = look.rate(at, &output.value, &shown.places[k])?;
    }
    Ok(filtered)
}

impl StateSpace {
    /// From a model of the channels to one of the outputs before their filters.
    fn signals(self, shown: &Shown, t: f64, steps: &[f64]) -> Result<StateSpace, StateSpaceError> {
        let mut by_channels = Matrix::zeros(shown.outputs.len(), self.c.rows);
        let mut outputs = Vec::with_capacity(shown.outputs.len());
        for (row, (output, places)) in shown.outputs.iter().zip(&shown.places).enumerate() {
            let slopes = ChannelSlopes::of(&output.value, t, places, &self.outputs);
            // how far a step along each state moves a bend
            let reach = |slopes: &[f64]| {
                let along =
                    |k: usize| slopes.iter().zip(places).map(|(x, i)| x * self.c.at(*i, k)).sum::<f64>() * steps[k];
                (0..steps.len()).map(|k| along(k).abs()).fold(0.0, f64::max)
            };
            if slopes.bends.iter().any(|(distance, slopes)| distance.abs() < AT_BEND * reach(slopes)) {
                return Err(StateSpaceError::Bends { output: output.name.clone() });
            }
            places.iter().zip(&slopes.value).for_each(|(i, x)| *by_channels.at_mut(row, *i) += x);
            outputs.push(slopes.at);
        }
        let (c, d) = (by_channels.times(&self.c), by_channels.times(&self.d));
        Ok(StateSpace { c, d, outputs, ..self })
    }

    /// The same behind the filters of the outputs, τ ẏ + y = u, ẏ = u and y = u̇.
    fn filtered(mut self, shown: &Shown, input: impl Fn(usize) -> String) -> Result<StateSpace, StateSpaceError> {
        for (row, output) in shown.outputs.iter().enumerate() {
            let (c, d) = (self.c.row(row).to_vec(), self.d.row(row));
            match output.filter {
                Filter::None => {}
                Filter::Lag(tau) => self.add_state(row, 1.0 / tau, -1.0 / tau),
                Filter::Integral => {
                    self.add_state(row, 1.0, 0.0);
                    self.outputs[row] = 0.0;
                }
                Filter::Derivative => {
                    if let Some(k) = d.iter().position(|x| x.abs() > NOTHING) {
                        return Err(StateSpaceError::Improper { output: output.name.clone(), input: input(k) });
                    }
                    let through = |m: &Matrix, k: usize| (0..m.rows).map(|i| c[i] * m.at(i, k)).sum::<f64>();
                    (0..self.a.columns).for_each(|k| *self.c.at_mut(row, k) = through(&self.a, k));
                    (0..self.b.columns).for_each(|k| *self.d.at_mut(row, k) = through(&self.b, k));
                }
            }
        }
        Ok(self)
    }

    /// Puts a state ξ̇ = gain u + pole ξ behind the signal u of a row, which then shows ξ.
    fn add_state(&mut self, row: usize, gain: f64, pole: f64) {
        let (n, m) = (self.a.rows, self.b.columns);
        let (a, b, c, d) = (&self.a, &self.b, &self.c, &self.d);
        let next = Matrix::from_fn(n + 1, n + 1, |i, j| match (i < n, j < n) {
            (true, true) => a.at(i, j),
            (true, false) => 0.0,
            (false, true) => gain * c.at(row, j),
            (false, false) => pole,
        });
        let loads = Matrix::from_fn(n + 1, m, |i, j| if i < n { b.at(i, j) } else { gain * d.at(row, j) });
        let seen = Matrix::from_fn(c.rows, n + 1, |i, j| match (i == row, j < n) {
            (true, known) => f64::from(u8::from(!known)),
            (false, true) => c.at(i, j),
            (false, false) => 0.0,
        });
        let at_once = Matrix::from_fn(c.rows, m, |i, j| if i == row { 0.0 } else { d.at(i, j) });
        (self.a, self.b, self.c, self.d) = (next, loads, seen, at_once);
        self.counts.2 += 1;
    }
}

/// The value of an expression of channels, with its derivatives by them.
struct ChannelSlopes {
    at: f64,
    value: Vec<f64>,
    /// Of each bend, its distance and the derivatives of that.
    bends: Vec<(f64, Vec<f64>)>,
}

impl ChannelSlopes {
    fn of(value: &Expression, t: f64, places: &[usize], channels: &[f64]) -> ChannelSlopes {
        // of what cannot be followed, the branches of its values
        let bends = value.state_bends(1).unwrap_or_default();
        let known = |v: usize| if v == 0 { t } else { places.get(v - 1).map_or(f64::NAN, |i| channels[*i]) };
        let (mut on, mut found) = (Branches::default(), vec![(0.0, Vec::new()); bends.count()]);
        let at = value.follow(
            &bends,
            None,
            |v| Jet::constant(known(v)),
            |k, d| {
                on |= Branches::from(d.value < 0.0) << k;
                found[k].0 = d.value;
            },
        );
        let along = |along: usize, bends: &Bends, found: &mut [(f64, Vec<f64>)]| {
            let variable = |v: usize| if v == along { Jet::variable(known(v)) } else { Jet::constant(known(v)) };
            value.follow(bends, Some(on), variable, |k, d| found[k].1.push(d.rate)).rate
        };
        let slopes = (1..=places.len()).map(|v| along(v, &bends, &mut found)).collect();
        ChannelSlopes { at: at.value, value: slopes, bends: found }
    }
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
struct NearbyPoints<'a> {
    system: Arc<System>,
    kkt: Kkt,
    w: Workspace,
    shown: &'a Selection,
}

impl NearbyPoints<'_> {
    fn new<'a>(system: &Arc<System>, shown: &'a Shown) -> NearbyPoints<'a> {
        NearbyPoints {
            system: system.clone(),
            kkt: Kkt::new(system.clone()),
            w: system.workspace(),
            shown: &shown.needed,
        }
    }

    /// The channels at a point.
    fn channels(&mut self, at: &Point) -> Result<Vec<f64>, LinearizationError> {
        let mut p = at.clone();
        self.kkt.complete(&mut p, &mut self.w)?;
        let mut out = Vec::new();
        self.system.observe_some(self.shown, &p, &mut self.w, &mut out);
        Ok(out)
    }

    /// How an expression of channels changes with time at a point of the motion.
    fn rate(&mut self, at: &Point, value: &Expression, places: &[usize]) -> Result<f64, LinearizationError> {
        let mut p = at.clone();
        self.kkt.complete(&mut p, &mut self.w)?;
        let mut later = |h: f64| {
            let mut moved = p.clone();
            moved.t += h;
            let step: Vec<f64> = p.v.iter().zip(&p.vdot).map(|(v, a)| v + 0.5 * h * a).collect();
            self.system.retract(h, &mut moved.q, &step);
            moved.v.iter_mut().zip(&p.vdot).for_each(|(v, a)| *v += h * a);
            moved.z.iter_mut().zip(&p.zdot).for_each(|(z, rate)| *z += h * rate);
            let channels = self.channels(&moved)?;
            let variables: Vec<f64> = std::iter::once(moved.t).chain(places.iter().map(|i| channels[*i])).collect();
            Ok::<f64, LinearizationError>(value.value_of(&variables))
        };
        Ok((later(MOMENT)? - later(-MOMENT)?) / (2.0 * MOMENT))
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
