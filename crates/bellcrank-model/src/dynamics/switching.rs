//! Events: forces with several smooth branches, and what happens when one gives way to another.

use super::{Dynamics, Point, Workspace};
use std::sync::Arc;

/// The mode of a force that switches: a smooth branch of its law, kept until an event.
pub type Mode = u8;

/// No mode is kept: the force goes by its present values.
pub const BY_VALUE: Mode = 0;

/// What happens at an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The place in [`Charts::modes`](super::Charts::modes).
    pub slot: usize,
    /// The mode from now on.
    pub mode: Mode,
    /// The user's name of what switches.
    pub name: String,
    /// What it does: `bounces`, `sticks`.
    pub what: &'static str,
    /// The impact, if velocities jump.
    pub impact: Option<Impact>,
}

/// A jump of the velocities: M Δv + Gᵀ Λ = rowᵀ P and G Δv = 0, with row · v = `after` behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// The gradient of the gap that closes.
    pub row: Vec<f64>,
    /// Its rate after the impact.
    pub after: f64,
}

/// Switch functions and modes. By default there are none.
pub trait Switching {
    /// The number of switch functions. All are non-negative while the modes of the point are right; one that falls
    /// through zero is an event.
    fn switches(&self) -> usize {
        0
    }

    /// The values of the switch functions at a realized point, with its λ if they are [`reactive`](Switching::reactive);
    /// infinite where the present mode does not use one.
    fn switch_values(&self, at: &Point, w: &mut Workspace, out: &mut [f64]) {
        let _ = (at, w, out);
    }

    /// Whether switch functions depend on λ.
    fn reactive(&self) -> bool {
        false
    }

    /// The modes that fit a realized point.
    fn modes(&self, at: &Point, w: &mut Workspace) -> Vec<Mode> {
        let _ = (at, w);
        Vec::new()
    }

    /// What happens when switch function `k` falls through zero at a realized point.
    fn cross(&self, k: usize, at: &Point, w: &mut Workspace) -> Option<Crossing> {
        let _ = (k, at, w);
        None
    }

    /// The equations in which the motions are held that these modes hold (a contact at rest, a joint that sticks);
    /// `None` if they are the present ones. Bodies, states and angles stay the same; held rows come last.
    fn holding(&self, modes: &[Mode]) -> Option<Arc<dyn Dynamics>> {
        let _ = modes;
        None
    }

    /// The user's name of something that holds a mere rate in one of its modes (a joint that sticks), and so adds a
    /// nonholonomic row.
    fn may_stick(&self) -> Option<String> {
        None
    }
}
