//! How a state moves with a parameter: a vector in the tangent of the states.

use super::neighbours::size;
use bellcrank_model::{Dynamics, State};

/// Steps of differences, in lengths of the model, radians, or their rates: their square and rounding over them are both near 10⁻¹¹.
pub(super) const APART: f64 = 1.0 / (1 << 17) as f64;

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

    /// The sum of the products of all entries.
    pub fn dot(&self, other: &Tangent) -> f64 {
        let of = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        of(&self.q, &other.q) + of(&self.v, &other.v) + of(&self.z, &other.z)
    }

    /// Its largest entry.
    pub fn size(&self) -> f64 {
        self.q.iter().chain(&self.v).chain(&self.z).fold(0.0, |m, x| m.max(x.abs()))
    }
}

/// Coordinates, velocities and states one by one: 0, 1 or 2, the place there, and a step of differences.
pub(super) fn directions(dynamics: &dyn Dynamics, at: &State) -> Vec<(usize, usize, f64)> {
    let sizes: Vec<f64> = dynamics.scales().iter().map(|scale| size(scale, dynamics.length())).collect();
    let q = sizes.iter().enumerate().map(|(k, size)| (0, k, APART * size));
    let v = sizes.iter().zip(&at.v).enumerate().map(|(k, (size, v))| (1, k, APART * size.max(v.abs())));
    let z = at.z.iter().enumerate().map(|(k, z)| (2, k, APART * z.abs().max(1.0)));
    q.chain(v).chain(z).collect()
}

/// How many times a tangent a state may be moved for differences; infinite where it is zero.
pub(super) fn reach(dynamics: &dyn Dynamics, at: &State, tangent: &Tangent) -> f64 {
    let parts = [&tangent.q, &tangent.v, &tangent.z];
    let widths = directions(dynamics, at).into_iter();
    1.0 / widths.map(|(part, place, h)| (parts[part][place] / h).abs()).fold(0.0, f64::max)
}

/// y += c x.
pub(super) fn add(c: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += c * x);
}
