//! The rows in which elements stand that a value reaches.

use super::*;

/// Rows that a value reaches: those of bodies, and of the states of forces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReachedRows {
    /// The numbers of the bodies.
    pub bodies: Vec<usize>,
    /// The numbers of the blocks of states.
    pub states: Vec<usize>,
}

impl System {
    /// The rows of the masses of some bodies and of some forces, by their names; none are told where others may be among them.
    pub fn reached(&self, bodies: &[String], forces: &[String]) -> Option<ReachedRows> {
        let mut rows = ReachedRows::default();
        for name in bodies {
            rows.bodies.push(self.model.bodies.iter().position(|b| b.name == *name)?);
        }
        for name in forces {
            let force = &self.forces[self.model.forces.iter().position(|f| f.name == *name)?];
            // what holds motions, or follows reactions, has rows elsewhere
            if force.held.is_some() || force.follows.is_some() {
                return None;
            }
            rows.bodies.extend(force.ends.iter().filter(|end| end.body != GROUND).map(|end| end.body as usize));
            rows.states.extend((force.states != NO_STATES).then_some(force.states as usize));
        }
        rows.bodies.sort_unstable();
        rows.bodies.dedup();
        Some(rows)
    }
}
