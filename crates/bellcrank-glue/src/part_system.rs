//! What parts with a model here have in common: a compiled model with ports, and a committed state.

use crate::port::{Port, WIDTH};
use crate::subdomain::{Description, PartError};
use bellcrank_model::model::{End, Model};
use bellcrank_model::snapshot;
use bellcrank_model::{Dynamics, Point, State, System};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A compiled model with ports.
pub(crate) struct PartSystem {
    pub description: Description,
    pub system: Arc<System>,
    pub ports: Vec<Port>,
}

impl PartSystem {
    /// Opens ports in a model and compiles it.
    pub fn new(name: &str, mut model: Model, ports: &[(String, End)], in_step: bool) -> PartSystem {
        let ports: Vec<Port> = ports.iter().map(|(name, end)| Port::open(&mut model, name, *end)).collect();
        let system = Arc::new(model.compile());
        let description = Description {
            name: name.to_string(),
            space: system.model.space,
            ports: ports.iter().map(|p| p.name.clone()).collect(),
            in_step,
        };
        PartSystem { description, system, ports }
    }

    /// The given state, or the assembled start of the model, as a point with its rates zero.
    pub fn start(&self, state: Option<&State>) -> Result<Point, PartError> {
        let dynamics: Arc<dyn Dynamics> = self.system.clone();
        match state {
            Some(state) => Ok(Point::at(state, dynamics.layout())),
            None => {
                let assembled = bellcrank_solve::initial::assemble(&dynamics, &self.system.initial_state());
                Ok(assembled.map_err(|e| self.error(e))?.0)
            }
        }
    }

    /// The kind of its stored states, in messages.
    fn state_kind(&self) -> &'static str {
        if self.description.in_step { "state of a part in step" } else { "state of a part with its own solver" }
    }

    pub fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: why.to_string() }
    }

    /// Puts loads on the ports: six numbers for each, in the world.
    pub fn push(&self, loads: &[f64]) -> Result<(), PartError> {
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
        snapshot::encode(of.state_kind(), &self.committed)
    }

    /// Commits a state from bytes, if it fits the model.
    pub fn read(&mut self, of: &PartSystem, bytes: &[u8], fits: impl Fn(&T, &T) -> bool) -> Result<(), PartError> {
        let found: T =
            snapshot::decode(of.state_kind(), bytes).map_err(|why| of.error(format!("its stored state {why}")))?;
        if !fits(&self.committed, &found) {
            return Err(of.error("its stored state belongs to another model"));
        }
        self.committed = found;
        Ok(())
    }
}
