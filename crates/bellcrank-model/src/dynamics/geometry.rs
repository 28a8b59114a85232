//! The coordinates as a manifold: how q moves under a velocity, and what each coordinate measures.

use super::{HasLayout, State, Workspace};
use crate::parallel::add_scaled;

/// A rotation chart is re-centred once its angle exceeds this, in rad. N(φ) is singular at 2π only.
pub const CHART_LIMIT: f64 = 1.0;

/// What a coordinate measures, and thus how its error is weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A length, weighed by the length of the model.
    Length,
    /// An angle, weighed by one radian.
    Angle,
    /// A number of unknown kind, weighed by its own magnitude as in DASSL.
    Magnitude,
}

/// The geometry of the coordinates, q̇ = N(q) v with N = T⁻¹.
///
/// The defaults are those of a flat space, q̇ = v: only rotation charts need anything else.
pub trait Geometry: HasLayout {
    /// q ← q + c N(q) δ, for a correction δ of a Newton step.
    fn retract(&self, c: f64, q: &mut [f64], delta: &[f64]) {
        add_scaled(c, delta, q);
    }

    /// q̇ = N(q) v.
    fn rates(&self, q: &[f64], v: &[f64], qdot: &mut [f64]) {
        let _ = q;
        qdot.copy_from_slice(v);
    }

    /// v = T(q) q̇.
    fn velocities(&self, q: &[f64], qdot: &[f64], v: &mut [f64]) {
        let _ = q;
        v.copy_from_slice(qdot);
    }

    /// Re-centres the charts whose angle exceeds [`CHART_LIMIT`], maps `state.q` to them and counts joint turns. To be
    /// called after every accepted step. True if a centre changed; `w.recentred` then lists which.
    fn settle(&self, state: &mut State, w: &mut Workspace) -> bool {
        self.settle_past(CHART_LIMIT, state, w)
    }

    /// [`settle`](Geometry::settle) with a limit of its own, in rad.
    fn settle_past(&self, limit: f64, state: &mut State, w: &mut Workspace) -> bool {
        let _ = (limit, state, w);
        false
    }

    /// The tangent displacement δ that leads from one state to another, in whatever charts they are.
    fn differ(&self, from: &State, to: &State, delta: &mut [f64]) {
        delta.iter_mut().zip(&to.q).zip(&from.q).for_each(|((d, to), from)| *d = to - from);
    }

    /// Whether q̇ = v: there is no rotation chart.
    fn flat(&self) -> bool {
        true
    }

    /// What each coordinate measures.
    fn scales(&self) -> Vec<Scale> {
        vec![Scale::Magnitude; self.layout().n()]
    }

    /// A typical length of the model, in m.
    fn length(&self) -> f64 {
        1.0
    }
}
