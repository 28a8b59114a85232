//! What parts with a model here have in common: a compiled model with ports, and a committed state.

use crate::port::{Port, WIDTH, responses, twists};
use crate::subdomain::{Admittance, Description, PartError, PartResponse};
use bellcrank_model::dynamics::Break;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::model::{End, Model};
use bellcrank_model::snapshot;
use bellcrank_model::{Dynamics, Point, State, System, Workspace};
use bellcrank_solve::constraints::{add_position_residual, add_velocity_residual};
use bellcrank_solve::linear::kkt::Kkt;
use bellcrank_solve::run::{Timetable, accelerations_differ};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A compiled model with ports.
pub(crate) struct PartSystem {
    pub description: Description,
    pub system: Arc<System>,
    pub ports: Vec<Port>,
    /// What its stored states are, in messages.
    pub kind: &'static str,
    timetable: Timetable,
}

/// A prescribed position that changes by more than this part of the machine's size in no time jumps, and a prescribed rate by
/// more than this part of the largest velocity.
const JUMP: f64 = 1e-9;

impl PartSystem {
    /// Opens ports in a model and compiles it.
    pub fn new(name: &str, mut model: Model, ports: &[(String, End)], in_step: bool) -> Result<PartSystem, PartError> {
        if let Some(fmu) = model.fmus.first() {
            let why =
                format!("FMU `{}` of its model cannot go back to the beginning of a window, as parts do", fmu.name);
            return Err(PartError { part: name.to_string(), why });
        }
        let ports: Vec<Port> = ports.iter().map(|(name, end)| Port::open(&mut model, name, *end)).collect();
        let system = Arc::new(model.compile());
        if let Some((_, force)) = system.followed_blocks().into_iter().next() {
            let why = format!("{force} follows a reaction, which ports of parts do not know: run the whole machine");
            return Err(PartError { part: name.to_string(), why });
        }
        let description = Description {
            name: name.to_string(),
            space: system.model.space,
            ports: ports.iter().map(|p| p.name.clone()).collect(),
            in_step,
        };
        let timetable = Timetable::new(system.courses());
        let kind = if in_step { "state of a part in step" } else { "state of a part with its own solver" };
        Ok(PartSystem { description, system, ports, kind, timetable })
    }

    /// The time that a window of some length from a state must not pass.
    pub fn stop(&mut self, at: &State, until: f64, length: f64) -> f64 {
        self.timetable.stop(at, until, length, true)
    }

    /// The breakpoint that a state has come to.
    pub fn due(&mut self, at: &State, until: f64) -> Option<Break> {
        self.timetable.due(at, until)
    }

    /// The committed state is another one: breakpoints are looked for anew.
    pub fn forget_breaks(&mut self) {
        self.timetable.forget();
    }

    /// Whether accelerations jump from a state to a time behind a breakpoint. What drives prescribe must not: the impact would go
    /// through the ports to the other parts.
    pub fn jumps(&self, at: &State, after: f64, kkt: &mut Kkt, w: &mut Workspace) -> Result<bool, PartError> {
        let system = &*self.system;
        let mut look = |t: f64| {
            let mut point = Point::at(at, system.layout());
            point.t = t;
            kkt.complete(&mut point, w).map_err(|e| self.error(e))?;
            let (mut places, mut rates) = (vec![0.0; system.layout().m()], vec![0.0; system.layout().m()]);
            add_position_residual(system, 1.0, &point, w, &mut places);
            add_velocity_residual(system, 1.0, &point, w, &mut rates);
            Ok::<_, PartError>((point, places, rates))
        };
        let (before, behind) = (look(at.t)?, look(after)?);
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let change = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        let jump = |what: &str| {
            let why = "which glued parts cannot resolve: run the whole machine";
            Err(self.error(format!("at t = {after} s the {what} of a drive jumps, {why}")))
        };
        if change(&before.1, &behind.1) > JUMP * system.length().min(1.0) + 1e-12 * largest(&at.q) {
            return jump("position");
        }
        if change(&before.2, &behind.2) > JUMP * largest(&at.v).max(system.length().min(1.0)) {
            return jump("rate");
        }
        Ok(accelerations_differ(&before.0, &behind.0))
    }

    /// The given state, or the assembled start of the model, as a point with its rates zero.
    pub fn start(&self, state: Option<&State>) -> Result<Point, PartError> {
        let dynamics: Arc<dyn Dynamics> = self.system.clone();
        match state {
            Some(state) => Ok(Point::at(state, dynamics.layout())),
            None => {
                let assembled = bellcrank_solve::start::assemble(&dynamics, &self.system.initial_state());
                Ok(assembled.map_err(|e| self.error(e))?.0)
            }
        }
    }

    pub fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: why.to_string() }
    }

    /// The motion of a point under these loads, accelerations found there, with how they follow the loads.
    pub fn accelerate(
        &self,
        loads: &[f64],
        kkt: &mut Kkt,
        at: &mut Point,
        w: &mut Workspace,
    ) -> Result<PartResponse, PartError> {
        self.push(loads)?;
        let system = &*self.system;
        kkt.complete(at, w).map_err(|e| self.error(e))?;
        let b = twists(&self.ports, system, w, system.layout().n());
        let place = b.times(&responses(kkt, &b).map_err(|e| self.error(e))?);
        let ports = self.ports.iter().map(|p| p.motion(system, at, w)).collect();
        Ok(PartResponse { ports, admittance: Some(Admittance::of_accelerations(place)), error: 0.0, rough: false })
    }

    /// Appends the values of all channels at a point.
    pub fn observe(&self, at: &Point, w: &mut Workspace, out: &mut Vec<f64>) {
        w.invalidate();
        self.system.realize(at, w);
        let mut values = Vec::new();
        self.system.observe(at, w, &mut values);
        out.extend(values);
    }

    /// Puts loads on the ports: six numbers for each, in the world.
    pub fn push(&self, loads: &[f64]) -> Result<(), PartError> {
        self.check_width(loads)?;
        self.ports.iter().zip(loads.chunks_exact(WIDTH)).for_each(|(port, load)| port.push(load));
        Ok(())
    }

    /// Refuses loads that are not six finite numbers for each port.
    pub fn check_width(&self, loads: &[f64]) -> Result<(), PartError> {
        if loads.len() != WIDTH * self.ports.len() || loads.iter().any(|x| !x.is_finite()) {
            return Err(self.error(format!(
                "needs {} finite numbers as loads of its {} ports, found {}",
                WIDTH * self.ports.len(),
                self.ports.len(),
                loads.len()
            )));
        }
        Ok(())
    }
}

/// Counts turns and centres the charts past `limit`, as the engine of the whole does; whether a centre moved.
pub(crate) fn settle(system: &System, limit: f64, state: &mut State, point: &mut Point, w: &mut Workspace) -> bool {
    w.invalidate();
    let moved = system.settle_past(limit, state, w);
    point.q.clone_from(&state.q);
    point.charts.clone_from(&state.charts);
    moved
}

/// The committed state of a part, and the one that was saved.
pub(crate) struct PartState<T> {
    pub committed: T,
    saved: Option<T>,
}

impl<T: Clone + Serialize + DeserializeOwned> PartState<T> {
    pub fn new(committed: T) -> PartState<T> {
        PartState { committed, saved: None }
    }

    /// Keeps the committed state in memory.
    pub fn save(&mut self) {
        self.saved = Some(self.committed.clone());
    }

    /// Goes back to the saved state.
    pub fn restore(&mut self, of: &PartSystem) -> Result<(), PartError> {
        self.committed = self.saved.clone().ok_or_else(|| of.error("has no saved state"))?;
        Ok(())
    }

    /// The committed state as bytes.
    pub fn write(&self, of: &PartSystem) -> Vec<u8> {
        snapshot::encode(of.kind, &self.committed)
    }

    /// Commits a state from bytes, if it fits the model.
    pub fn read(&mut self, of: &PartSystem, bytes: &[u8], fits: impl Fn(&T, &T) -> bool) -> Result<(), PartError> {
        let found: T = snapshot::decode(of.kind, bytes).map_err(|why| of.error(format!("its stored state {why}")))?;
        if !fits(&self.committed, &found) {
            return Err(of.error("its stored state belongs to another model"));
        }
        self.committed = found;
        Ok(())
    }
}
