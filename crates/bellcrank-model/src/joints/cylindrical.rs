//! The cylindrical joint.

use super::equations::{Equation, hold, perpendicular};
use super::{Axes, Joint, Kind, Motion, Mount, Move, X, Y, Z};
use crate::space::Space;

/// A turn about and a shift along the common z axis of both frames.
struct Cylindrical;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "cylindrical",
    doc: "A shaft in a sleeve: one rotation about `axis` and one translation along it.",
    fields: &[],
    mount: Mount::Shared(Axes::Turning),
    in_plane: Some("a revolute joint for a shaft seen end on, a prismatic one for a shaft in the plane"),
    make: |_, _| Ok(Box::new(Cylindrical)),
};

/// z of the second frame stays on the line of z of the first: four rows.
pub(super) fn coaxial() -> Vec<Box<dyn Equation>> {
    vec![hold(Motion::Translate(X)), hold(Motion::Translate(Y)), perpendicular(X, Z), perpendicular(Y, Z)]
}

impl Joint for Cylindrical {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        coaxial()
    }
    fn motions(&self, _space: Space) -> Vec<Motion> {
        vec![Motion::Rotate(Z), Motion::Translate(Z)]
    }
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        Some(vec![Move::Along(Motion::Translate(Z)), Move::Along(Motion::Rotate(Z))])
    }
}
