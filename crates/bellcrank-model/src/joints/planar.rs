//! The planar joint.

use super::equations::{Equation, hold, perpendicular};
use super::{Axes, Joint, Kind, Motion, Mount, Move, X, Y, Z};
use crate::space::Space;

/// Shifts along x and y of the first frame and a turn about the common z axis.
struct PlanarJoint;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "planar",
    doc: "A flat face on another: two translations in the plane normal to `axis` (the first along `axis2`), one \
        rotation about it.",
    fields: &[],
    mount: Mount::Shared(Axes::Turning),
    in_plane: Some("no joint: bodies of a planar model move so by themselves"),
    make: |_, _| Ok(Box::new(PlanarJoint)),
};

impl Joint for PlanarJoint {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![hold(Motion::Translate(Z)), perpendicular(X, Z), perpendicular(Y, Z)]
    }
    fn motions(&self, _space: Space) -> Vec<Motion> {
        vec![Motion::Rotate(Z), Motion::Translate(X), Motion::Translate(Y)]
    }
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        Some([Motion::Translate(X), Motion::Translate(Y), Motion::Rotate(Z)].map(Move::Along).to_vec())
    }
}
