//! The point on a line.

use super::equations::{Equation, hold};
use super::{Axes, Joint, Kind, Motion, Mount, X, Y, Z};
use crate::space::Space;

/// A point of the second body slides along an axis of the first frame: z in space, x in the plane.
struct PointOnLine;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "point-on-line",
    doc: "A pin in a slot, a bead on a wire: a point of the second body slides along `axis` of the first, all \
        rotations are free.",
    fields: &[],
    mount: Mount::Shared(Axes::Sliding),
    in_plane: None,
    make: |_, _| Ok(Box::new(PointOnLine)),
};

impl Joint for PointOnLine {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        match space {
            Space::Plane => vec![hold(Motion::Translate(Y))],
            Space::Space => vec![hold(Motion::Translate(X)), hold(Motion::Translate(Y))],
        }
    }
    fn motions(&self, space: Space) -> Vec<Motion> {
        match space {
            Space::Plane => vec![Motion::Translate(X)],
            Space::Space => vec![Motion::Translate(Z)],
        }
    }
}
