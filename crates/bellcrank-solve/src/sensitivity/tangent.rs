//! How a state moves with a parameter: a vector in the tangent of the states.

use bellcrank_model::{Dynamics, State};

/// ∂(q, v, z)/∂p, with displacements of the coordinates along tangents: the same in every chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tangent {
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    pub z: Vec<f64>,
}

impl Tangent {
    /// (plus − minus)/width; of rotations log(R₋ᵀR₊)/width.
    pub fn between(dynamics: &dyn Dynamics, minus: &State, plus: &State, width: f64) -> Tangent {
        let mut q = vec![0.0; minus.q.len()];
        dynamics.differ(minus, plus, &mut q);
        q.iter_mut().for_each(|x| *x /= width);
        let over = |a: &[f64], b: &[f64]| b.iter().zip(a).map(|(b, a)| (b - a) / width).collect();
        Tangent { q, v: over(&minus.v, &plus.v), z: over(&minus.z, &plus.z) }
    }

    /// The state that is c of it away from another.
    pub fn moved(&self, dynamics: &dyn Dynamics, c: f64, from: &State) -> State {
        let mut to = from.clone();
        dynamics.retract(c, &mut to.q, &self.q);
        add(c, &self.v, &mut to.v);
        add(c, &self.z, &mut to.z);
        to
    }

    /// Its largest entry.
    pub fn size(&self) -> f64 {
        self.q.iter().chain(&self.v).chain(&self.z).fold(0.0, |m, x| m.max(x.abs()))
    }
}

/// y += c x.
pub(super) fn add(c: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += c * x);
}
