//! What generalized-α remembers of the last steps.

use bellcrank_math::threads::team;
use bellcrank_model::Point;

/// A state with its rates.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) q: Vec<f64>,
    pub(super) qdot: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) vdot: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) zdot: Vec<f64>,
}

/// The pseudo-rates of v and z.
#[derive(Clone, Debug, Default)]
pub(super) struct Pseudo {
    pub(super) v: Vec<f64>,
    pub(super) z: Vec<f64>,
}

impl Node {
    pub(super) fn set(&mut self, p: &Point) {
        for (mine, theirs) in [
            (&mut self.q, &p.q),
            (&mut self.qdot, &p.qdot),
            (&mut self.v, &p.v),
            (&mut self.vdot, &p.vdot),
            (&mut self.z, &p.z),
            (&mut self.zdot, &p.zdot),
        ] {
            team::copy(theirs, mine);
        }
    }
}

bellcrank_model::kept_by_fields!(Node { q, qdot, v, vdot, z, zdot });
bellcrank_model::kept_by_fields!(Pseudo { v, z });
