//! The spherical joint.

use super::equations::{Equation, coincide};
use super::{Axes, Joint, Kind, Motion, Mount, Move, Z};
use crate::space::Space;

/// A point of one body stays at a point of the other; all turns are free.
struct Spherical;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "spherical",
    doc: "A ball joint: the points stay together, all rotations are free (in the plane the same as a revolute).",
    fields: &[],
    mount: Mount::Shared(Axes::None),
    in_plane: None,
    make: |_, _| Ok(Box::new(Spherical)),
};

impl Joint for Spherical {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        vec![coincide(space.dimension())]
    }
    fn moves(&self, space: Space) -> Option<Vec<Move>> {
        Some(match space {
            Space::Plane => vec![Move::Along(Motion::Rotate(Z))],
            Space::Space => vec![Move::Ball],
        })
    }
}
