//! A part that takes one step of generalized-α per window, in step with all others.
//!
//! Its load and its rates are in balance at the end of the window, so that the parts together take exactly the
//! step the whole would take.

use crate::port::{Port, WIDTH, responses, turnings, twists};
use crate::subdomain::{Admittance, Description, PartError, Response, Subdomain, Window};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::{CHART_LIMIT, Channel};
use bellcrank_model::model::{End, Model};
use bellcrank_model::tape;
use bellcrank_model::{Dynamics, Point, State, System, Unknown, Workspace};
use bellcrank_solve::formulation::Formulation;
use bellcrank_solve::kkt::Kkt;
use bellcrank_solve::methods::Method;
use bellcrank_solve::methods::alpha::{AlphaParameters, GeneralizedAlpha};
use bellcrank_solve::newton::{Iteration, Newton};
use bellcrank_solve::options::{Options, Tested};
use bellcrank_solve::stencil::Stencil;
use bellcrank_solve::step::Step;
use bellcrank_solve::tolerances::Tolerances;
use bellcrank_solve::weights::Weights;
use std::sync::Arc;

/// Newton's tolerance inside a part, in lengths of the part.
const PRECISION: f64 = 1e-12;
const MAX_ITERATIONS: usize = 20;

/// A compiled model that steps by generalized-α.
pub struct InStep {
    description: Description,
    system: Arc<System>,
    ports: Vec<Port>,
    method: GeneralizedAlpha,
    step: Step,
    newton: Newton,
    kkt: Kkt,
    tolerances: Tolerances,
    weights: Weights,
    w: Workspace,
    committed: Committed,
    kept: Option<Committed>,
    /// The window that is being tried, the law of its step and how the part follows unit shifts.
    trying: Option<Window>,
    /// Whether its start was found to be rough.
    soft: bool,
    law: Stencil,
    shifts: Matrix,
}

/// All that a committed part is.
#[derive(Clone)]
struct Committed {
    state: State,
    point: Point,
    method: GeneralizedAlpha,
    started: bool,
}

bellcrank_model::kept_by_fields!(Committed { state, point, method, started });

impl InStep {
    /// A part from a model with ports, at a state that fulfils its own constraints.
    pub fn new(
        name: &str,
        mut model: Model,
        ports: &[(String, End)],
        state: Option<&State>,
        formulation: Formulation,
        parameters: AlphaParameters,
    ) -> Result<InStep, PartError> {
        let error = |why: String| PartError { part: name.to_string(), why };
        let ports: Vec<Port> = ports.iter().map(|(name, end)| Port::open(&mut model, name, *end)).collect();
        let system = Arc::new(model.compile());
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let start = match state {
            Some(state) => Point::at(state, dynamics.layout()),
            None => {
                bellcrank_solve::initial::assemble(&dynamics, &system.initial_state())
                    .map_err(|e| error(e.to_string()))?
                    .0
            }
        };
        let (mut start, mut state, mut w) = (start, State::default(), dynamics.workspace());
        start.store(&mut state);
        let method = GeneralizedAlpha::new(parameters);
        settle(&system, &method, &mut state, &mut start, &mut w);
        let step = Step::new(dynamics.clone(), formulation, start.clone());
        let newton = Newton::new(step.pattern().clone(), Iteration::Full, MAX_ITERATIONS);
        Ok(InStep {
            description: Description {
                name: name.to_string(),
                space: system.model.space,
                ports: ports.iter().map(|p| p.name.clone()).collect(),
                in_step: true,
            },
            kkt: Kkt::new(dynamics.clone()),
            // in parts of the machine: who asks divides by the tolerance
            tolerances: Tolerances::new(&*system, &Options { rtol: 1.0, ..Options::default() }, Tested::QV),
            weights: Weights::default(),
            w,
            committed: Committed { state, point: start, method: method.clone(), started: false },
            kept: None,
            trying: None,
            soft: false,
            law: Stencil::default(),
            shifts: Matrix::zeros(dynamics.layout().n(), WIDTH * ports.len()),
            system,
            ports,
            method,
            step,
            newton,
        })
    }

    fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: why.to_string() }
    }

    fn push(&self, loads: &[f64]) -> Result<(), PartError> {
        if loads.len() != WIDTH * self.ports.len() || loads.iter().any(|x| !x.is_finite()) {
            return Err(self.error(format!(
                "needs {} finite numbers as loads of its {} ports, found {}",
                WIDTH * self.ports.len(),
                self.ports.len(),
                loads.len()
            )));
        }
        self.ports.iter().zip(loads.chunks_exact(WIDTH)).for_each(|(port, load)| port.push(load));
        Ok(())
    }

    /// The law and the first guess of a new window.
    fn prepare(&mut self, window: &Window) -> Result<(), PartError> {
        if (self.committed.state.t - window.from).abs() > 1e-9 * window.length().abs() || window.length() <= 0.0 {
            return Err(self.error(format!(
                "stands at t = {} s, the window goes from {} s to {} s",
                self.committed.state.t, window.from, window.to
            )));
        }
        self.method.clone_from(&self.committed.method);
        if !self.committed.started {
            self.method.start(&self.committed.point, window.length());
            if self.soft {
                self.method.soften();
            }
        }
        self.method.set_step(window.length());
        self.method.limit(window.to);
        self.method.prepare(&mut self.law, &mut self.step.point);
        self.step.point.charts.clone_from(&self.committed.state.charts);
        self.law.rates(&mut self.step.point);
        self.step.touched();
        self.newton.forget_matrix();
        let (n, system) = (self.system.layout().n(), self.system.clone());
        self.w.invalidate();
        system.realize(&self.step.point, &mut self.w);
        self.kkt.factor(&self.step.point, &mut self.w).map_err(|e| self.error(e))?;
        let b = twists(&self.ports, &system, &self.w, n);
        let mut shifts = responses(&mut self.kkt, &b).map_err(|e| self.error(e))?;
        // rates of the coordinates, not velocities
        let mut rates = vec![0.0; n];
        for k in 0..shifts.columns {
            let column = shifts.column(k);
            system.rates(&self.step.point.q, &column, &mut rates);
            (0..n).for_each(|i| *shifts.at_mut(i, k) = rates[i]);
        }
        self.shifts = shifts;
        self.trying = Some(*window);
        Ok(())
    }

    fn admittance(&mut self) -> Result<Admittance, PartError> {
        let (n, p, system) = (self.system.layout().n(), WIDTH * self.ports.len(), self.system.clone());
        let (point, w) = self.step.parts();
        let b = twists(&self.ports, &system, w, n);
        let turning = turnings(&self.ports, &system, w, &point.v);
        // T(q) times the shifts, as they stand in the kinematic rows
        let mut moved = vec![0.0; n];
        let mut trial = point.clone();
        let mut columns = Matrix::zeros(n, p);
        for k in 0..p {
            trial.qdot = self.shifts.column(k);
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
                self.newton.respond(&mut x).map_err(|e| self.error(e))?;
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

/// Counts turns and centres charts as the engine of the whole does.
fn settle(system: &System, method: &GeneralizedAlpha, state: &mut State, point: &mut Point, w: &mut Workspace) -> bool {
    let limit = if method.centred() { 0.0 } else { CHART_LIMIT };
    w.invalidate();
    let moved = system.settle_past(limit, state, w);
    point.q.clone_from(&state.q);
    point.charts.clone_from(&state.charts);
    moved
}

impl Subdomain for InStep {
    fn description(&self) -> &Description {
        &self.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<Response, PartError> {
        self.push(loads)?;
        self.trying = None;
        let system = self.system.clone();
        self.kkt
            .complete(&mut self.committed.point, &mut self.w)
            .map_err(|e| PartError { part: self.description.name.clone(), why: e.to_string() })?;
        let b = twists(&self.ports, &system, &self.w, system.layout().n());
        let place = b.times(&responses(&mut self.kkt, &b).map_err(|e| self.error(e))?);
        let ports = self.ports.iter().map(|p| p.motion(&system, &self.committed.point, &self.w)).collect();
        Ok(Response { ports, admittance: Some(Admittance::of_accelerations(place)), error: 0.0, rough: false })
    }

    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        shifts: &[f64],
        admittance: bool,
    ) -> Result<Response, PartError> {
        self.push(loads)?;
        if self.trying != Some(*window) {
            self.prepare(window)?;
        }
        self.step.stencil.clone_from(&self.law);
        let shift = self.shifts.apply(shifts);
        self.step.stencil.eta_q.iter_mut().zip(&shift).for_each(|(eta, s)| *eta -= s);
        let largest = self.committed.state.q.iter().fold(0.0f64, |m, q| m.max(q.abs()));
        let floor = 1e3 * f64::EPSILON * largest / self.system.length();
        let (state, h) = (&self.committed.state, window.length());
        self.tolerances.weigh_fixed(state, h, PRECISION.max(floor), &mut self.step.weights);
        self.step.round_off = 0.01;
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
            self.trying = None;
            return Err(self.error(format!("its step of {h:.3e} s from t = {} s did not converge", window.from)));
        }
        let admittance = if admittance { Some(self.admittance()?) } else { None };
        let system = self.system.clone();
        let (point, w) = self.step.parts();
        let ports = self.ports.iter().map(|p| p.motion(&system, point, w)).collect();
        self.tolerances.weigh(&self.committed.state, &self.committed.point, &mut self.weights);
        let error = self.method.local_error(&self.step.point, &self.weights);
        let rough = !self.committed.started && !self.soft && {
            self.tolerances.weigh_fixed(&self.committed.state, h, 1.0, &mut self.weights);
            self.method.rough(&self.step.point, &self.weights)
        };
        Ok(Response { ports, admittance, error, rough })
    }

    fn soften(&mut self) -> Result<(), PartError> {
        (self.soft, self.trying) = (true, None);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), PartError> {
        if self.trying.take().is_none() {
            return Err(self.error("has nothing to commit"));
        }
        // the history keeps the law without the shift, as a stabilized formulation does
        self.law.rates(&mut self.step.point);
        let c = &mut self.committed;
        self.method.accept(&self.step.point, &Weights::default(), &mut c.state);
        c.state.charts.clone_from(&self.step.point.charts);
        if settle(&self.system, &self.method, &mut c.state, &mut self.step.point, &mut self.w) {
            self.method.recentre(&self.w.recentred);
        }
        self.step.touched();
        c.point.clone_from(&self.step.point);
        c.method.clone_from(&self.method);
        c.started = true;
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.kept = Some(self.committed.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<(), PartError> {
        self.committed = self.kept.clone().ok_or_else(|| self.error("has kept no state"))?;
        self.trying = None;
        Ok(())
    }

    fn channels(&self) -> Vec<Channel> {
        self.system.channels()
    }

    fn state(&mut self) -> Result<Vec<u8>, PartError> {
        Ok(tape::write(&mut self.committed))
    }

    fn set_state(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        let mut found = self.committed.clone();
        tape::read(&mut found, bytes).map_err(|why| self.error(format!("its kept state {why}")))?;
        if !self.committed.state.fits(&found.state) || found.point.vdot.len() != self.committed.point.vdot.len() {
            return Err(self.error("its kept state belongs to another model"));
        }
        // what is rough about a start is found out again
        (self.committed, self.trying, self.soft) = (found, None, false);
        Ok(())
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        self.w.invalidate();
        self.system.realize(&self.committed.point, &mut self.w);
        let mut values = Vec::new();
        self.system.observe(&self.committed.point, &mut self.w, &mut values);
        out.extend(values);
        Ok(())
    }
}
