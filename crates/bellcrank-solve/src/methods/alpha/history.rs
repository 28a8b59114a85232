//! What generalized-α remembers of the last steps.

use bellcrank_math::threads::team;
use bellcrank_model::Point;

/// A state with its rates.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Node {
    pub(super) q: Vec<f64>,
    pub(super) qdot: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) vdot: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) zdot: Vec<f64>,
}

/// The pseudo-rates of v and z.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Pseudo {
    pub(super) v: Vec<f64>,
    pub(super) z: Vec<f64>,
}

impl Node {
    /// Whether it is of these sizes, or empty.
    pub fn fits(&self, n: usize, nz: usize) -> bool {
        let sized = |x: &Vec<f64>, n: usize| x.is_empty() || x.len() == n;
        [&self.q, &self.qdot, &self.v, &self.vdot].iter().all(|x| sized(x, n))
            && [&self.z, &self.zdot].iter().all(|x| sized(x, nz))
    }

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
