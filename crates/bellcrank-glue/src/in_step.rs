//! A part that takes one step of generalized-α per window, in step with all others.
//!
//! Its load and its rates are in balance at the end of the window, so that the parts together take exactly the
//! step that the whole would take.

use crate::part_system::{PartState, PartSystem, settle};
use crate::port::{WIDTH, responses, turnings, twists};
use crate::subdomain::{Admittance, Description, PartError, PartResponse, Subdomain, Window};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::linear::solver::choose_pivoting;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::dynamics::{Break, CHART_LIMIT, Channel};
use bellcrank_model::model::{End, Model};
use bellcrank_model::{Dynamics, Point, State, Unknown, Workspace};
use bellcrank_solve::choices::{Options, Tested};
use bellcrank_solve::formulation::Formulation;
use bellcrank_solve::linear::kkt::Kkt;
use bellcrank_solve::methods::Method;
use bellcrank_solve::methods::alpha::{AlphaParameters, GeneralizedAlpha};
use bellcrank_solve::newton::{Iteration, Newton};
use bellcrank_solve::start::without_mass;
use bellcrank_solve::stencil::Stencil;
use bellcrank_solve::step::Step;
use bellcrank_solve::tolerances::Tolerances;
use bellcrank_solve::weights::Weights;
use std::sync::Arc;

/// Newton's tolerance inside a part, in lengths of the part.
const PRECISION: f64 = 1e-12;
/// Rounding of the coordinates, in units of their last place: Newton is not asked for more.
const ROUNDING: f64 = 1e3;
const MAX_ITERATIONS: usize = 20;

/// A compiled model that steps by generalized-α.
pub struct InStep {
    part: PartSystem,
    state: PartState<Committed>,
    trial: WindowTrial,
    method: GeneralizedAlpha,
    step: Step,
    newton: Newton,
    kkt: Kkt,
    /// The same without nonholonomic rows, where there are some: they do not hold what shifts the positions.
    holonomic: Option<Kkt>,
    tolerances: Tolerances,
    weights: Weights,
    w: Workspace,
}

/// The window that is being tried.
struct WindowTrial {
    window: Option<Window>,
    /// Whether its start is rough: the first steps are then damped.
    soft: bool,
    /// The law of its step.
    law: Stencil,
    /// How the coordinates follow unit shifts of the ports.
    shifts: Matrix,
}

/// All that a committed part is.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Committed {
    state: State,
    point: Point,
    method: GeneralizedAlpha,
    started: bool,
}

impl Committed {
    /// Whether another one is of the same model.
    fn fits(&self, other: &Committed) -> bool {
        self.state.fits(&other.state) && self.point.fits(&other.point) && other.method.fits(&self.point)
    }
}

impl InStep {
    /// A part from a model with ports, at a state that fulfils its own constraints.
    pub fn new(
        name: &str,
        model: Model,
        ports: &[(String, End)],
        state: Option<&State>,
        formulation: Formulation,
        parameters: AlphaParameters,
    ) -> Result<InStep, PartError> {
        let part = PartSystem::new(name, model, ports, true)?;
        let dynamics: Arc<dyn Dynamics> = part.system.clone();
        let mut start = part.start(state)?;
        let (mut state, mut w) = (State::default(), dynamics.workspace());
        start.store(&mut state);
        let method = GeneralizedAlpha::new(parameters);
        settle(&part.system, limit(&method), &mut state, &mut start, &mut w);
        let step = Step::new(dynamics.clone(), formulation, start.clone());
        let pattern = step.pattern().clone();
        let newton = match without_mass(&*dynamics, &start).is_empty() {
            true => Newton::new(pattern, Iteration::Full, MAX_ITERATIONS),
            false => {
                let solver = choose_pivoting(&pattern).map_err(|e| part.error(e))?;
                Newton::with_solver(solver, pattern, Iteration::Full, MAX_ITERATIONS)
            }
        };
        let shifts = Matrix::zeros(dynamics.layout().n(), WIDTH * part.ports.len());
        Ok(InStep {
            state: PartState::new(Committed { state, point: start, method: method.clone(), started: false }),
            trial: WindowTrial { window: None, soft: false, law: Stencil::default(), shifts },
            method,
            step,
            newton,
            kkt: Kkt::new(dynamics.clone()),
            holonomic: dynamics.layout().rates.iter().any(|r| r.is_empty()).then(|| Kkt::proximal(dynamics.clone())),
            // errors as fractions of the size of the machine: the coordinator divides by its tolerance
            tolerances: Tolerances::new(&*part.system, &Options { rtol: 1.0, ..Options::default() }, Tested::QV),
            weights: Weights::default(),
            w,
            part,
        })
    }

    /// The law and the first guess of a new window.
    fn prepare(&mut self, window: &Window) -> Result<(), PartError> {
        if (self.state.committed.state.t - window.from).abs() > 1e-9 * window.length().abs() || window.length() <= 0.0 {
            return Err(self.part.error(format!(
                "stands at t = {} s, the window goes from {} s to {} s",
                self.state.committed.state.t, window.from, window.to
            )));
        }
        self.method.clone_from(&self.state.committed.method);
        if !self.state.committed.started {
            self.method.start(&self.state.committed.point, window.length());
            if self.trial.soft {
                self.method.soften();
            }
        }
        self.method.set_step(window.length());
        self.method.limit(window.to);
        self.method.prepare(&mut self.trial.law, &mut self.step.point);
        self.step.point.charts.clone_from(&self.state.committed.state.charts);
        self.trial.law.rates(&mut self.step.point);
        self.step.touched();
        self.newton.forget_matrix();
        let (n, system) = (self.part.system.layout().n(), self.part.system.clone());
        self.w.invalidate();
        system.realize(&self.step.point, &mut self.w);
        let kkt = match &mut self.holonomic {
            Some(kkt) => kkt.factor_holonomic(&self.step.point, &mut self.w).map(|()| kkt),
            None => self.kkt.factor(&self.step.point, &mut self.w).map(|()| &mut self.kkt),
        };
        let b = twists(&self.part.ports, &system, &self.w, n);
        let mut shifts = kkt.and_then(|kkt| responses(kkt, &b)).map_err(|e| self.part.error(e))?;
        // rates of the coordinates, not velocities
        let mut rates = vec![0.0; n];
        for k in 0..shifts.columns {
            let column = shifts.column(k);
            system.rates(&self.step.point.q, &column, &mut rates);
            (0..n).for_each(|i| *shifts.at_mut(i, k) = rates[i]);
        }
        self.trial.shifts = shifts;
        self.trial.window = Some(*window);
        Ok(())
    }

    fn admittance(&mut self) -> Result<Admittance, PartError> {
        let (n, p, system) = (self.part.system.layout().n(), WIDTH * self.part.ports.len(), self.part.system.clone());
        let (point, w) = self.step.parts();
        let b = twists(&self.part.ports, &system, w, n);
        let turning = turnings(&self.part.ports, &system, w, &point.v);
        // T(q) times the shifts, as they stand in the kinematic rows
        let mut moved = vec![0.0; n];
        let mut trial = point.clone();
        let mut columns = Matrix::zeros(n, p);
        for k in 0..p {
            trial.qdot = self.trial.shifts.column(k);
            moved.fill(0.0);
            system.add(1.0, bellcrank_model::Piece::Rate, &trial, w, &mut moved);
            (0..n).for_each(|i| *columns.at_mut(i, k) = moved[i]);
        }
        let ranges = (self.step.unknowns.range(Unknown::Q), self.step.unknowns.range(Unknown::V));
        let size = self.step.pattern().dimension();
        let mut found: [Matrix; 4] = std::array::from_fn(|_| Matrix::zeros(p, p));
        for by_shift in [false, true] {
            for k in 0..p {
                let mut x = vec![0.0; size];
                match by_shift {
                    // the balance M v̇ − f + … stands in the rows of q, the kinematics T q̇ − v in those of v
                    false => x[ranges.0.clone()].copy_from_slice(b.row(k)),
                    true => (0..n).for_each(|i| x[ranges.1.start + i] = columns.at(i, k)),
                }
                self.newton.respond(&mut x).map_err(|e| self.part.error(e))?;
                let place = b.apply(&x[ranges.0.clone()]);
                let turned = turning.apply(&x[ranges.0.clone()]);
                let mut velocity = b.apply(&x[ranges.1.clone()]);
                velocity.iter_mut().zip(turned).for_each(|(v, c)| *v += c);
                for i in 0..p {
                    *found[2 * by_shift as usize].at_mut(i, k) = place[i];
                    *found[2 * by_shift as usize + 1].at_mut(i, k) = velocity[i];
                }
            }
        }
        let [place, velocity, place_by_shift, velocity_by_shift] = found;
        Ok(Admittance { place, velocity, place_by_shift, velocity_by_shift })
    }
}

/// The angle past which charts are centred anew.
fn limit(method: &GeneralizedAlpha) -> f64 {
    if method.centred() { 0.0 } else { CHART_LIMIT }
}

impl Subdomain for InStep {
    fn description(&self) -> &Description {
        &self.part.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError> {
        self.trial.window = None;
        self.part.accelerate(loads, &mut self.kkt, &mut self.state.committed.point, &mut self.w)
    }

    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        shifts: &[f64],
        admittance: bool,
    ) -> Result<PartResponse, PartError> {
        self.part.push(loads)?;
        if self.trial.window != Some(*window) {
            self.prepare(window)?;
        }
        self.step.stencil.clone_from(&self.trial.law);
        let shift = self.trial.shifts.apply(shifts);
        self.step.stencil.eta_q.iter_mut().zip(&shift).for_each(|(eta, s)| *eta -= s);
        let largest = self.state.committed.state.q.iter().fold(0.0f64, |m, q| m.max(q.abs()));
        let floor = ROUNDING * f64::EPSILON * largest / self.part.system.length();
        let (state, h) = (&self.state.committed.state, window.length());
        self.tolerances.weigh_fixed(state, h, PRECISION.max(floor), &mut self.step.weights);
        self.step.limits.round_off = 0.01;
        let law = self.step.stencil.clone();
        law.rates(&mut self.step.point);
        self.step.touched();
        let method = &self.method;
        let solved = self.newton.solve(&mut self.step, |s| {
            method.predict(&mut s.point);
            law.rates(&mut s.point);
            s.touched();
        });
        if solved.is_err() {
            self.trial.window = None;
            return Err(self.part.error(format!("its step of {h:.3e} s from t = {} s did not converge", window.from)));
        }
        let admittance = if admittance { Some(self.admittance()?) } else { None };
        let system = self.part.system.clone();
        let (point, w) = self.step.parts();
        let ports = self.part.ports.iter().map(|p| p.motion(&system, point, w)).collect();
        self.tolerances.weigh(&self.state.committed.state, &self.state.committed.point, &mut self.weights);
        let error = self.method.local_error(&self.step.point, &self.weights);
        let rough = !self.state.committed.started && !self.trial.soft && {
            self.tolerances.weigh_fixed(&self.state.committed.state, h, 1.0, &mut self.weights);
            self.method.is_rough(&self.step.point, &self.weights)
        };
        Ok(PartResponse { ports, admittance, error, rough })
    }

    fn stop(&mut self, until: f64, length: f64) -> f64 {
        self.part.stop(&self.state.committed.state, until, length)
    }

    fn due(&mut self, until: f64) -> Option<Break> {
        self.part.due(&self.state.committed.state, until)
    }

    fn jumps(&mut self, after: f64) -> Result<bool, PartError> {
        self.part.jumps(&self.state.committed.state, after, &mut self.kkt, &mut self.w)
    }

    fn pass(&mut self, after: f64, anew: bool) -> Result<(), PartError> {
        let c = &mut self.state.committed;
        (c.state.t, c.point.t) = (after, after);
        c.started &= !anew;
        self.trial.soft &= !anew;
        self.trial.window = None;
        Ok(())
    }

    fn soften(&mut self) -> Result<(), PartError> {
        self.trial.soft = true;
        self.trial.window = None;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), PartError> {
        if self.trial.window.take().is_none() {
            return Err(self.part.error("has nothing to commit"));
        }
        // the history keeps the rates without the shift, as a stabilized formulation does
        self.trial.law.rates(&mut self.step.point);
        let c = &mut self.state.committed;
        self.method.accept(&self.step.point, &Weights::default(), &mut c.state);
        c.state.charts.clone_from(&self.step.point.charts);
        if settle(&self.part.system, limit(&self.method), &mut c.state, &mut self.step.point, &mut self.w) {
            self.method.recentre(&self.w.recentred);
        }
        self.step.touched();
        c.point.clone_from(&self.step.point);
        c.method.clone_from(&self.method);
        c.started = true;
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.state.save();
        Ok(())
    }

    fn restore(&mut self) -> Result<(), PartError> {
        self.trial.window = None;
        self.part.forget_breaks();
        self.state.restore(&self.part)
    }

    fn channels(&self) -> Vec<Channel> {
        self.part.system.channels()
    }

    fn state(&mut self) -> Result<Vec<u8>, PartError> {
        Ok(self.state.write(&self.part))
    }

    fn set_state(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        self.state.read(&self.part, bytes, Committed::fits)?;
        self.part.forget_breaks();
        self.trial.window = None;
        // whether a start is rough is found out again
        self.trial.soft = false;
        Ok(())
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        self.part.observe(&self.state.committed.point, &mut self.w, out);
        Ok(())
    }
}
