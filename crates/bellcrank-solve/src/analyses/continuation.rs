//! Continuation in a parameter: the equilibria of models that differ in one value, each found from the one before.

use super::statics::{Equilibrium, StaticsError, equilibrium, least_reactions, refuse_fmus};
use crate::start::{self, AssemblyError};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::{Dynamics, Point, System};
use std::fmt;
use std::sync::Arc;

/// An equilibrium with the values of all channels there.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The equilibrium; of redundant reactions those of least size.
    pub equilibrium: Equilibrium,
    /// The values, in the order of the model's channels.
    pub channels: Vec<f64>,
}

/// Why there is no equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub enum ContinuationError {
    /// The model cannot be assembled.
    Assembly(AssemblyError),
    /// It does not come to rest.
    Statics(StaticsError),
}

impl fmt::Display for ContinuationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContinuationError::Assembly(e) => write!(f, "{e}"),
            ContinuationError::Statics(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for ContinuationError {}

/// Follows an equilibrium through models that differ in a value: each starts where the one before came to rest, so that
/// the branch is kept where several equilibria exist.
pub struct Continuation {
    t: f64,
    /// Where the last model came to rest, and the number of its coordinates.
    last: Option<(usize, Point)>,
}

impl Continuation {
    /// Loads and drives are taken at the time `t`, in s.
    pub fn new(t: f64) -> Continuation {
        Continuation { t, last: None }
    }

    /// The equilibrium of the next model. One with other coordinates than the last starts from its own assembled pose.
    pub fn next(&mut self, system: &Arc<System>) -> Result<Rest, ContinuationError> {
        refuse_fmus(system).map_err(ContinuationError::Statics)?;
        let dynamics: Arc<dyn Dynamics> = system.clone();
        let n = system.layout().n();
        let begin = match self.last.take() {
            Some((before, point)) if before == n => point,
            _ => {
                let mut state = system.initial_state();
                (state.t, state.charts.time) = (self.t, self.t);
                start::assemble(&dynamics, &state).map_err(ContinuationError::Assembly)?.0
            }
        };
        let mut found = equilibrium(&dynamics, &begin).map_err(ContinuationError::Statics)?;
        if found.redundant > 0 {
            least_reactions(&*dynamics, &mut found.point);
        }
        let (mut w, mut channels) = (system.workspace(), Vec::new());
        system.realize(&found.point, &mut w);
        system.observe(&found.point, &mut w, &mut channels);
        self.last = Some((n, found.point.clone()));
        Ok(Rest { equilibrium: found, channels })
    }
}

/// The values of a parameter on its way: `from`, then `steps` equal steps to `to`.
pub fn values(from: f64, to: f64, steps: usize) -> impl Iterator<Item = f64> {
    (0..=steps).map(move |k| from + (to - from) * k as f64 / steps.max(1) as f64)
}
