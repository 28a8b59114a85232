//! A part that keeps its own method and its own steps inside a window, and tells nothing but how its ports moved.

use crate::part_system::{PartState, PartSystem};
use crate::port::{PortMotion, WIDTH, displacement, responses, twist, twists};
use crate::subdomain::{Admittance, Description, PartError, PartResponse, Subdomain, Window};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::dynamics::{Break, Channel};
use bellcrank_model::model::{End, Model, Space};
use bellcrank_model::{Dynamics, Point, State, Workspace};
use bellcrank_solve::Options;
use bellcrank_solve::constraints::add_velocity_residual;
use bellcrank_solve::linear::kkt::Kkt;
use bellcrank_solve::run::{Timetable, engine};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of a finite difference, as a fraction of the load: motion follows held loads almost linearly, and smaller differences
/// are disturbed by the choice of steps.
const DIFFERENCE: f64 = 1e-2;

/// A compiled model with a method of its own; the loads are held over a window.
pub struct OwnSolver {
    part: PartSystem,
    state: PartState<State>,
    tried: Option<State>,
    options: Options,
    kkt: Kkt,
    w: Workspace,
    /// Steps of the solver so far, attempts included.
    pub steps: usize,
}

impl OwnSolver {
    /// A part from a model with ports, at a state that fulfils its own constraints.
    pub fn new(
        name: &str,
        model: Model,
        ports: &[(String, End)],
        state: Option<&State>,
        options: Options,
    ) -> Result<OwnSolver, PartError> {
        let part = PartSystem::new(name, model, ports, false)?;
        let dynamics: Arc<dyn Dynamics> = part.system.clone();
        let mut committed = State::default();
        part.start(state)?.store(&mut committed);
        Ok(OwnSolver {
            state: PartState::new(committed),
            tried: None,
            options,
            kkt: Kkt::new(dynamics.clone()),
            w: dynamics.workspace(),
            steps: 0,
            part,
        })
    }

    /// A state with its rates under the present loads.
    fn complete(&mut self, state: &State) -> Result<Point, PartError> {
        let mut point = Point::at(state, self.part.system.layout());
        self.kkt.complete(&mut point, &mut self.w).map_err(|e| self.part.error(e))?;
        Ok(point)
    }

    /// Refuses drives whose rates jump: the impact would go through the ports to the other parts.
    fn refuse_jolts(&mut self, at: &Point) -> Result<(), PartError> {
        let system = self.part.system.clone();
        let mut rates = vec![0.0; system.layout().m()];
        add_velocity_residual(&*system, 1.0, at, &mut self.w, &mut rates);
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        if largest(&rates) > 1e-6 * largest(&at.v).max(1e-3) {
            let why = "the rate of a drive jumps, which glued parts cannot resolve: run the whole machine";
            return Err(self.part.error(format!("at t = {} s {why}", at.t)));
        }
        Ok(())
    }

    fn response(&mut self, state: &State) -> Result<PartResponse, PartError> {
        let point = self.complete(state)?;
        let ports = self.part.ports.iter().map(|p| p.motion(&self.part.system, &point, &self.w)).collect();
        Ok(PartResponse { ports, admittance: None, error: 0.0, rough: false })
    }

    /// Crosses a window from the committed state with the loads held.
    fn cross(&mut self, window: &Window, loads: &[f64]) -> Result<State, PartError> {
        self.part.push(loads)?;
        let start = self.state.committed.clone();
        let point = self.complete(&start)?;
        let dynamics: Arc<dyn Dynamics> = self.part.system.clone();
        let options = Options { until: window.to, ..self.options.clone() };
        let mut engine = engine(&dynamics, &options, &point).map_err(|e| self.part.error(e))?;
        let mut timetable = Timetable::new(dynamics.courses());
        while engine.state().t < window.to {
            while let Some(b) = timetable.due(engine.state(), window.to) {
                let ends = window.to - b.before <= 64.0 * f64::EPSILON * window.to.abs();
                if b.bends || ends {
                    let mut behind = engine.state().clone();
                    behind.t = if ends { window.to } else { b.after };
                    let behind = self.complete(&behind)?;
                    self.refuse_jolts(&behind)?;
                    engine.restart(&behind).map_err(|e| self.part.error(e))?;
                }
            }
            if engine.state().t >= window.to {
                break;
            }
            if options.resources.interrupt.load(Ordering::Relaxed) {
                return Err(self.part.error(format!("was interrupted at t = {} s", engine.state().t)));
            }
            let stop = timetable.stop(engine.state(), window.to, engine.step_size(), options.step.is_some());
            engine.step(stop).map_err(|e| self.part.error(e))?;
            engine.settle();
        }
        self.steps += engine.statistics().steps;
        Ok(engine.state().clone())
    }

    /// How the motion at the end of a window follows the held loads, by differences: the window is crossed once more for
    /// every load, which costs no exchange here.
    fn admittance(&mut self, window: &Window, loads: &[f64], at: &[PortMotion]) -> Result<Admittance, PartError> {
        let n = loads.len();
        let size = DIFFERENCE * (1.0 + loads.iter().fold(0.0f64, |m, x| m.max(x.abs())));
        let acts: &[usize] = if self.part.description.space == Space::Plane { &[0, 1, 5] } else { &[0, 1, 2, 3, 4, 5] };
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
        &self.part.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError> {
        self.part.push(loads)?;
        let state = self.state.committed.clone();
        let mut response = self.response(&state)?;
        let b = twists(&self.part.ports, &self.part.system, &self.w, self.part.system.layout().n());
        let follows = responses(&mut self.kkt, &b).map_err(|e| self.part.error(e))?;
        response.admittance = Some(Admittance::of_accelerations(b.times(&follows)));
        Ok(response)
    }

    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        _: &[f64],
        admittance: bool,
    ) -> Result<PartResponse, PartError> {
        let reached = self.cross(window, loads)?;
        let mut response = self.response(&reached)?;
        if admittance {
            response.admittance = Some(self.admittance(window, loads, &response.ports)?);
        }
        self.tried = Some(reached);
        Ok(response)
    }

    fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.options.resources.interrupt = flag;
    }

    fn stop(&mut self, until: f64, length: f64) -> f64 {
        self.part.stop(&self.state.committed, until, length)
    }

    fn due(&mut self, until: f64) -> Option<Break> {
        self.part.due(&self.state.committed, until)
    }

    fn jumps(&mut self, after: f64) -> Result<bool, PartError> {
        self.part.jumps(&self.state.committed, after, &mut self.kkt, &mut self.w)
    }

    /// Its method begins anew in every window anyway.
    fn pass(&mut self, after: f64, _: bool) -> Result<(), PartError> {
        self.state.committed.t = after;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), PartError> {
        self.state.committed = self.tried.take().ok_or_else(|| self.part.error("has nothing to commit"))?;
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.state.save();
        Ok(())
    }

    fn restore(&mut self) -> Result<(), PartError> {
        self.tried = None;
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
        self.state.read(&self.part, bytes, State::fits)?;
        self.part.forget_breaks();
        self.tried = None;
        Ok(())
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        let state = self.state.committed.clone();
        let mut values = vec![f64::NAN; self.part.system.channels().len()];
        if let Ok(point) = self.complete(&state) {
            self.part.system.observe(&point, &mut self.w, &mut values);
        }
        out.extend(values);
        Ok(())
    }
}
