//! The revolute joint.

use super::equations::{Equation, coincide, perpendicular};
use super::{Axes, Joint, Kind, Motion, Mount, Move, X, Y, Z};
use crate::space::Space;

/// One rotation about the common z axis of both frames.
struct Revolute;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "revolute",
    doc: "A hinge: one rotation about `axis`.",
    fields: &[],
    mount: Mount::Shared(Axes::Turning),
    in_plane: None,
    make: |_, _| Ok(Box::new(Revolute)),
};

impl Joint for Revolute {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        match space {
            Space::Plane => vec![coincide(2)],
            Space::Space => vec![coincide(3), perpendicular(X, Z), perpendicular(Y, Z)],
        }
    }
    fn motions(&self, _space: Space) -> Vec<Motion> {
        vec![Motion::Rotate(Z)]
    }
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        Some(vec![Move::Along(Motion::Rotate(Z))])
    }
}
