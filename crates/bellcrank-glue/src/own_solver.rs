//! A part that keeps its own method and its own steps inside a window, and tells nothing but how its ports moved.

use crate::port::{Motion, Port, WIDTH, displacement, responses, twist, twists};
use crate::subdomain::{Admittance, Description, PartError, Response, Subdomain, Window};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::Channel;
use bellcrank_model::model::{End, Model, Space};
use bellcrank_model::tape;
use bellcrank_model::{Dynamics, Point, State, System, Workspace};
use bellcrank_solve::Options;
use bellcrank_solve::kkt::Kkt;
use bellcrank_solve::simulation::engine;
use std::sync::Arc;

/// The part of a load that a difference adds: motion follows held loads almost linearly, and with less the choice of steps
/// disturbs it.
const DIFFERENCE: f64 = 1e-2;

/// A compiled model with a method of its own; the loads are held over a window.
pub struct OwnSolver {
    description: Description,
    system: Arc<System>,
    ports: Vec<Port>,
    options: Options,
    kkt: Kkt,
    w: Workspace,
    committed: State,
    tried: Option<State>,
    kept: Option<State>,
    /// Steps of the solver so far, attempts included.
    pub steps: usize,
}

impl OwnSolver {
    /// A part from a model with ports, at a state that fulfils its own constraints.
    pub fn new(
        name: &str,
        mut model: Model,
        ports: &[(String, End)],
        state: Option<&State>,
        options: Options,
    ) -> Result<OwnSolver, PartError> {
        let error = |why: String| PartError { part: name.to_string(), why };
        let ports: Vec<Port> = ports.iter().map(|(name, end)| Port::open(&mut model, name, *end)).collect();
        let system = Arc::new(model.compile());
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let mut committed = State::default();
        match state {
            Some(state) => committed.clone_from(state),
            None => bellcrank_solve::initial::assemble(&dynamics, &system.initial_state())
                .map_err(|e| error(e.to_string()))?
                .0
                .store(&mut committed),
        }
        Ok(OwnSolver {
            description: Description {
                name: name.to_string(),
                space: system.model.space,
                ports: ports.iter().map(|p| p.name.clone()).collect(),
                in_step: false,
            },
            kkt: Kkt::new(dynamics.clone()),
            w: dynamics.workspace(),
            system,
            ports,
            options,
            committed,
            tried: None,
            kept: None,
            steps: 0,
        })
    }

    fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: why.to_string() }
    }

    fn push(&self, loads: &[f64]) {
        self.ports.iter().zip(loads.chunks_exact(WIDTH)).for_each(|(port, load)| port.push(load));
    }

    /// A state with its rates under the present loads.
    fn complete(&mut self, state: &State) -> Result<Point, PartError> {
        let mut point = Point::at(state, self.system.layout());
        self.kkt.complete(&mut point, &mut self.w).map_err(|e| self.error(e))?;
        Ok(point)
    }

    fn response(&mut self, state: &State) -> Result<Response, PartError> {
        let point = self.complete(state)?;
        let ports = self.ports.iter().map(|p| p.motion(&self.system, &point, &self.w)).collect();
        Ok(Response { ports, admittance: None, error: 0.0, rough: false })
    }

    /// Crosses a window from the committed state with the loads held.
    fn cross(&mut self, window: &Window, loads: &[f64]) -> Result<State, PartError> {
        self.push(loads);
        let start = self.committed.clone();
        let point = self.complete(&start)?;
        let dynamics: Arc<dyn Dynamics> = self.system.clone();
        let options = Options { until: window.to, ..self.options.clone() };
        let mut engine = engine(&dynamics, &options, &point).map_err(|e| self.error(e))?;
        while engine.state().t < window.to {
            engine.step(window.to).map_err(|e| self.error(e))?;
            engine.settle();
        }
        self.steps += engine.statistics().steps;
        Ok(engine.state().clone())
    }

    /// How the motion at the end of a window follows the held loads, by differences: the window is crossed once more for
    /// every load, here, where that costs no exchange.
    fn follows(&mut self, window: &Window, loads: &[f64], at: &[Motion]) -> Result<Admittance, PartError> {
        let n = loads.len();
        let size = DIFFERENCE * (1.0 + loads.iter().fold(0.0f64, |m, x| m.max(x.abs())));
        let acts: &[usize] = if self.description.space == Space::Plane { &[0, 1, 5] } else { &[0, 1, 2, 3, 4, 5] };
        let mut y = Admittance { velocity: Matrix::zeros(n, n), ..Admittance::of_accelerations(Matrix::zeros(n, n)) };
        for j in (0..n).filter(|j| acts.contains(&(j % WIDTH))) {
            let mut changed = loads.to_vec();
            changed[j] += size;
            let reached = self.cross(window, &changed)?;
            let moved = self.response(&reached)?.ports;
            for (y, by) in [(&mut y.place, displacement(&moved, at)), (&mut y.velocity, twist(&moved, at))] {
                by.iter().enumerate().for_each(|(i, x)| *y.at_mut(i, j) = x / size);
            }
        }
        Ok(y)
    }
}

impl Subdomain for OwnSolver {
    fn description(&self) -> &Description {
        &self.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<Response, PartError> {
        self.push(loads);
        let state = self.committed.clone();
        let mut response = self.response(&state)?;
        let b = twists(&self.ports, &self.system, &self.w, self.system.layout().n());
        let follows = responses(&mut self.kkt, &b).map_err(|e| self.error(e))?;
        response.admittance = Some(Admittance::of_accelerations(b.times(&follows)));
        Ok(response)
    }

    fn attempt(&mut self, window: &Window, loads: &[f64], _: &[f64], admittance: bool) -> Result<Response, PartError> {
        let reached = self.cross(window, loads)?;
        let mut response = self.response(&reached)?;
        if admittance {
            response.admittance = Some(self.follows(window, loads, &response.ports)?);
        }
        self.tried = Some(reached);
        Ok(response)
    }

    fn commit(&mut self) -> Result<(), PartError> {
        self.committed = self.tried.take().ok_or_else(|| self.error("has nothing to commit"))?;
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.kept = Some(self.committed.clone());
        Ok(())
    }

    fn restore(&mut self) -> Result<(), PartError> {
        self.committed = self.kept.clone().ok_or_else(|| self.error("has kept no state"))?;
        self.tried = None;
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
        if !self.committed.fits(&found) {
            return Err(self.error("its kept state belongs to another model"));
        }
        (self.committed, self.tried) = (found, None);
        Ok(())
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        let state = self.committed.clone();
        let mut values = vec![f64::NAN; self.system.channels().len()];
        if let Ok(point) = self.complete(&state) {
            self.system.observe(&point, &mut self.w, &mut values);
        }
        out.extend(values);
        Ok(())
    }
}
