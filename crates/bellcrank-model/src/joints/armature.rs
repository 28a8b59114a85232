//! The armature of a joint: inertia along its coordinate.

use super::equations::{Couple, Equation, couple};
use super::{Joint, Kind, Motion, Mount, Z};
use crate::space::Space;

/// x − θ = 0 between a joint coordinate and a rotor's; its λ is the load that accelerates the rotor.
struct Armature {
    motion: Motion,
    couple: Couple,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "armature",
    doc: "Reflected inertia of a motor: `inertia` along one coordinate x of a joint, with the kinetic energy \
          ½ · inertia · (dx/dt)². It has no weight and no gyroscopic effect; a rotor of inertia J behind a gear of ratio n \
          counts as n² · J.",
    fields: &[],
    mount: Mount::Rotor,
    in_plane: None,
    make: |_, place| {
        let motion = place.joints[0].motions[0];
        let own = if motion.turns() { Motion::Rotate(Z) } else { Motion::Translate(Z) };
        Ok(Box::new(Armature { motion, couple: couple([(1.0, motion, [0, 1]), (-1.0, own, [2, 3])], place) }))
    },
};

impl Joint for Armature {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![Box::new(self.couple)]
    }
    fn turns_rotor(&self) -> Option<Motion> {
        Some(self.motion)
    }
}
