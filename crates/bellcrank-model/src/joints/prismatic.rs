//! The prismatic joint.

use super::equations::{Equation, hold, perpendicular};
use super::{Axes, Joint, Kind, Motion, Mount, Move, X, Y, Z};
use crate::space::Space;

/// One shift along the common axis of both frames: z in space, x in the plane.
struct Prismatic;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "prismatic",
    doc: "A slide: one translation along `axis`, no rotation.",
    fields: &[],
    mount: Mount::Shared(Axes::Sliding),
    in_plane: None,
    make: |_, _| Ok(Box::new(Prismatic)),
};

impl Joint for Prismatic {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        match space {
            Space::Plane => vec![hold(Motion::Translate(Y)), perpendicular(X, Y)],
            Space::Space => vec![
                hold(Motion::Translate(X)),
                hold(Motion::Translate(Y)),
                perpendicular(X, Y),
                perpendicular(Y, Z),
                perpendicular(Z, X),
            ],
        }
    }
    fn motions(&self, space: Space) -> Vec<Motion> {
        match space {
            Space::Plane => vec![Motion::Translate(X)],
            Space::Space => vec![Motion::Translate(Z)],
        }
    }
    fn moves(&self, space: Space) -> Option<Vec<Move>> {
        Some(self.motions(space).into_iter().map(Move::Along).collect())
    }
}
