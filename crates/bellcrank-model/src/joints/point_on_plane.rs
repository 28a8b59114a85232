//! The point on a plane.

use super::equations::{Equation, hold};
use super::{Axes, Joint, Kind, Motion, Mount, X, Y, Z};
use crate::space::Space;

/// A point of the second body stays in the plane normal to z of the first frame.
struct PointOnPlane;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "point-on-plane",
    doc: "A point of the second body stays in the plane of the first that is normal to `axis`, all rotations are \
        free.",
    fields: &[],
    mount: Mount::Shared(Axes::Turning),
    in_plane: Some("a point-on-line joint"),
    make: |_, _| Ok(Box::new(PointOnPlane)),
};

impl Joint for PointOnPlane {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![hold(Motion::Translate(Z))]
    }
    fn motions(&self, _space: Space) -> Vec<Motion> {
        vec![Motion::Translate(X), Motion::Translate(Y)]
    }
}
