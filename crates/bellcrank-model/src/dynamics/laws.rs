//! Functions of the state in the equations, whose narrow features no step must pass over.

use crate::subject::Subject;
use std::sync::Arc;

/// A function of a few arguments that follow from time and state: the curve of a spring, an expression of sensors, a road.
pub trait StateLaw: Send + Sync {
    /// Its value.
    fn value(&self, x: &[f64]) -> f64;

    /// Bounds of its values where every argument lies between two numbers; infinite where none are known.
    fn bounds(&self, x: &[[f64; 2]]) -> [f64; 2];
}

/// Such a function among the equations.
#[derive(Clone)]
pub struct PlacedLaw {
    /// The function.
    pub law: Arc<dyn StateLaw>,
    /// How many arguments it has.
    pub arguments: usize,
    /// What it belongs to.
    pub subject: Subject,
}
