//! The two models beside a parameter's value, and what is asked of them.

use super::tangent::{Tangent, add};
use super::{FAR, Members, SensitivityError};
use crate::analyses::begin;
use crate::choices::Options;
use crate::engines::StepError;
use crate::linear::kkt::Kkt;
use crate::run::Simulation;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Dynamics, Piece, Point, State, System, Workspace};
use std::sync::Arc;

/// Runs of neighbours through an event are this exact: their difference is divided by twice a part in a million.
const TIGHT: f64 = 1e-13;

/// Of a move of the start, both halves must be the same but for this part of it.
const LOPSIDED: f64 = 0.05;

/// States may be moved along by this part of their sizes: δ² is then far below what is asked, and rounding over δ too.
const MOVED: f64 = 1.0 / (1 << 14) as f64;

/// A displacement of coordinates, velocities and states.
type Displacement<'s> = (&'s [f64], &'s [f64], &'s [f64]);

/// f − M v̇ − Gᵀλ.
const BALANCE: [(f64, Piece); 3] = [(1.0, Piece::Force), (-1.0, Piece::MassAccel), (-1.0, Piece::GtLambda)];

/// The signs of the two sides.
pub(super) const SIGNS: [f64; 2] = [-1.0, 1.0];

/// A model with p − δ or p + δ.
pub(super) struct Side {
    pub run: Simulation,
    pub dynamics: Arc<dyn Dynamics>,
    pub w: Workspace,
    pub point: Point,
    kkt: Kkt,
    row: Vec<f64>,
}

/// Two models beside that of the run, 16 δ away, which start and pass events, and take differences wherever states do not move along far:
/// rounding counts less there. Where states do, two that are nearer are made.
pub(super) struct Pair<'a> {
    pub name: String,
    pub far: [Side; 2],
    /// Half of the distance between these; one where several parameters differ.
    pub reach: f64,
    near: Near<'a>,
    /// A length of the model or one radian for each coordinate.
    scales: Vec<f64>,
}

/// Two models p − δ and p + δ, once somebody asks for them.
struct Near<'a> {
    members: &'a Members<'a>,
    which: Vec<usize>,
    options: Options,
    made: Option<[Side; 2]>,
}

/// The rates of a tangent in the coordinates of a chart.
pub(super) struct Imbalance {
    /// ∂(f − M v̇ − Gᵀλ)/∂p, or ∂v̇/∂p where accelerations themselves are compared.
    pub load: Vec<f64>,
    /// −∂g̈/∂p.
    pub rows: Vec<f64>,
    pub qdot: Vec<f64>,
    pub zdot: Vec<f64>,
}

impl Side {
    fn new(run: Simulation) -> Side {
        let dynamics = run.equations().clone();
        let (w, kkt) = (dynamics.workspace(), Kkt::new(dynamics.clone()));
        let point = Point::at(run.state(), dynamics.layout());
        let row = vec![0.0; dynamics.layout().n()];
        Side { run, w, point, kkt, row, dynamics }
    }

    /// Goes on from a state behind an event, on the equations that hold there.
    pub fn restart(&mut self, from: &State) -> Result<(), StepError> {
        self.run.restart(from)?;
        self.refresh();
        Ok(())
    }

    /// Takes the equations that hold where its run is.
    pub fn refresh(&mut self) {
        if !Arc::ptr_eq(&self.dynamics, self.run.equations()) {
            self.dynamics = self.run.equations().clone();
            self.w = self.dynamics.workspace();
            self.kkt = Kkt::new(self.dynamics.clone());
        }
    }

    /// Stands at a state.
    pub fn place(&mut self, state: &State) {
        self.point = Point::at(state, self.dynamics.layout());
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
    }
}

impl Near<'_> {
    fn both(&self, far: bool, trim: &dyn Fn(Arc<System>) -> Arc<System>) -> Result<[Simulation; 2], SensitivityError> {
        let [minus, plus] = self.members.both(&self.which, far)?.map(trim);
        Ok([begin::simulation(&minus, self.options.clone())?, begin::simulation(&plus, self.options.clone())?])
    }

    /// Both, on the equations that hold at a state.
    fn at(&self, state: &State) -> Result<[Side; 2], SensitivityError> {
        let mut sides = self.both(false, &|system| system)?.map(Side::new);
        sides.iter_mut().try_for_each(|side| side.restart(state))?;
        Ok(sides)
    }

    fn delta(&self) -> f64 {
        if self.which.len() == 1 { self.members.list[self.which[0]].delta } else { 1.0 / FAR }
    }
}

impl<'a> Pair<'a> {
    /// The neighbours of one parameter, or of several at once, at their starts, and how these differ.
    pub fn new(
        members: &'a Members<'a>,
        which: &[usize],
        options: &Options,
        nominal: &Simulation,
    ) -> Result<(Pair<'a>, Tangent), SensitivityError> {
        Pair::trimmed(members, which, options, nominal, &|system| system)
    }

    /// The same of models from which something is left out.
    pub fn trimmed(
        members: &'a Members<'a>,
        which: &[usize],
        options: &Options,
        nominal: &Simulation,
        trim: &dyn Fn(Arc<System>) -> Arc<System>,
    ) -> Result<(Pair<'a>, Tangent), SensitivityError> {
        let options = Options { coordinates: nominal.plan().coordinates, ..options.clone() };
        let near = Near { members, which: which.to_vec(), options: tight(&options), made: None };
        let of = &members.list[which[0]];
        let far = near.both(true, trim)?;
        far.iter().try_for_each(|run| check_side(&of.name, nominal, run))?;
        let reach = if which.len() == 1 { FAR * of.delta } else { 1.0 };
        let (here, dynamics) = (nominal.state(), &**nominal.equations());
        let ends = [&far[0], &far[1]].map(|run| Tangent::between(dynamics, here, run.state(), reach));
        let across = ends[0].q.iter().zip(&ends[1].q).fold(0.0f64, |m, (a, b)| m.max((a + b).abs()));
        if (across - LOPSIDED * ends[0].size().max(ends[1].size())) * reach > 1e-9 * dynamics.length() {
            let why = "the start jumps: with a little more or less, the joints close in another position";
            return Err(refused(&of.name, why));
        }
        let start = Tangent::between(dynamics, far[0].state(), far[1].state(), 2.0 * reach);
        let far = far.map(Side::new);
        let scales = dynamics.scales().iter().map(|scale| size(scale, dynamics.length())).collect();
        Ok((Pair { name: of.name.clone(), far, reach, near, scales }, start))
    }

    /// Both go on from a state, on the equations that hold there.
    pub fn restart(&mut self, from: &State) -> Result<(), StepError> {
        self.far.iter_mut().try_for_each(|side| side.restart(from))?;
        self.restart_near(from)
    }

    /// The nearer two go on from a state.
    pub fn restart_near(&mut self, from: &State) -> Result<(), StepError> {
        self.near.made.iter_mut().flatten().try_for_each(|side| side.restart(from))
    }

    /// The models that differences are taken with where states are moved along a displacement, and half of their distance.
    pub fn beside(&mut self, at: &State, along: Displacement<'_>) -> (&mut [Side; 2], f64) {
        if self.is_far_enough(&at.v, along) {
            return (&mut self.far, self.reach);
        }
        if self.near.made.is_none() {
            self.near.made = self.near.at(at).ok();
        }
        let delta = self.near.delta();
        match &mut self.near.made {
            Some(sides) => (sides, delta),
            // where nearer ones do not start, these must do
            None => (&mut self.far, self.reach),
        }
    }

    /// Whether a displacement by the distance of the far models is small.
    fn is_far_enough(&self, v: &[f64], (dq, dv, dz): Displacement<'_>) -> bool {
        let q = dq.iter().zip(&self.scales).map(|(d, scale)| (d / scale).abs());
        let v = dv.iter().zip(&self.scales).zip(v).map(|((d, scale), v)| (d / (scale + v.abs())).abs());
        let most = q.chain(v).chain(dz.iter().map(|d| d.abs())).fold(0.0, f64::max);
        most * self.reach <= MOVED
    }

    /// Shows a point to both sides, with their weights in a central difference.
    pub fn across(&mut self, at: &Point, mut f: impl FnMut(f64, &dyn Dynamics, &Point, &mut Workspace)) {
        for (side, sign) in self.far.iter_mut().zip(SIGNS) {
            let Side { dynamics, w, point, .. } = side;
            point.clone_from(at);
            w.invalidate();
            dynamics.realize(point, w);
            f(sign / (2.0 * self.reach), &**dynamics, point, w);
        }
    }

    /// Central differences at a point with its v̇ and λ, both sides moved along a tangent in the coordinates of its chart; with
    /// `whole`, of accelerations.
    pub fn imbalance(
        &mut self,
        at: &Point,
        (dq, dv, dz): Displacement<'_>,
        whole: bool,
        out: &mut Imbalance,
    ) -> Result<(), LinearError> {
        let Imbalance { load, rows, qdot, zdot } = out;
        [&mut *load, &mut *rows, &mut *qdot, &mut *zdot].into_iter().for_each(|x| x.fill(0.0));
        let moves = !self.is_far_enough(&at.v, (dq, dv, dz));
        let (sides, delta) = match moves {
            true => {
                let mut state = State::default();
                at.store(&mut state);
                self.beside(&state, (dq, dv, dz))
            }
            false => (&mut self.far, self.reach),
        };
        for (side, sign) in sides.iter_mut().zip(SIGNS) {
            let (c, weight) = (sign * delta, sign / (2.0 * delta));
            let Side { dynamics, w, point, kkt, row, .. } = side;
            point.clone_from(at);
            add(c, dq, &mut point.q);
            add(c, dv, &mut point.v);
            add(c, dz, &mut point.z);
            w.invalidate();
            dynamics.realize(point, w);
            if whole {
                kkt.accelerate(point, w)?;
                add(weight, &point.vdot, load);
            } else {
                // as one row, which takes one pass over the bodies
                dynamics.set(&BALANCE, point, w, row);
                add(weight, row, load);
                dynamics.add(-weight, Piece::Acceleration, point, w, rows);
            }
            if !zdot.is_empty() {
                dynamics.add(weight, Piece::Flow, point, w, zdot);
            }
            dynamics.rates(&point.q, &point.v, &mut point.qdot);
            add(weight, &point.qdot, qdot);
        }
        Ok(())
    }
}

/// The options of runs that are compared with each other through events.
pub(super) fn tight(options: &Options) -> Options {
    match options.step {
        Some(_) => options.clone(),
        None => options.clone().with(|o| {
            o.rtol = o.rtol.min(TIGHT);
            // integrals through events are those of cubics over the steps
            o.testing.max_step = o.sample.map(|distance| 0.5 * distance).or(o.testing.max_step);
        }),
    }
}

/// What counts as a whole displacement.
pub(super) fn size(scale: &Scale, length: f64) -> f64 {
    match scale {
        Scale::Length => length,
        Scale::Angle | Scale::Magnitude => 1.0,
    }
}

/// Whether a neighbour is the same machine in the same position, but for its values.
fn check_side(name: &str, nominal: &Simulation, side: &Simulation) -> Result<(), SensitivityError> {
    let (a, b) = (nominal.equations().layout(), side.equations().layout());
    if (a.n(), a.m(), a.nz()) != (b.n(), b.m(), b.nz()) || !nominal.state().fits(side.state()) {
        return Err(refused(name, "with a little more or less it is another machine, with other bodies or joints"));
    }
    let (here, there) = (&nominal.state().charts, &side.state().charts);
    if here.modes != there.modes {
        return Err(refused(
            name,
            "the start is at an event: with a little more or less, forces begin in another mode",
        ));
    }
    if here.left_out != there.left_out {
        return Err(refused(name, "with a little more or less, other rows of the constraints are redundant"));
    }
    Ok(())
}

/// A parameter that nothing can be differentiated by.
pub(super) fn refused(name: &str, why: impl Into<String>) -> SensitivityError {
    SensitivityError::Refused { parameter: name.to_string(), why: why.into() }
}
