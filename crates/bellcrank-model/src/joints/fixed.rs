//! The fixed joint.

use super::equations::{Equation, coincide, perpendicular};
use super::{Axes, Joint, Kind, Mount, Move, X, Y, Z};
use crate::space::Space;

/// No motion at all.
struct Fixed;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "fixed",
    doc: "Holds two bodies together; no motion stays free.",
    fields: &[],
    mount: Mount::Shared(Axes::None),
    in_plane: None,
    make: |_, _| Ok(Box::new(Fixed)),
};

impl Joint for Fixed {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        match space {
            Space::Plane => vec![coincide(2), perpendicular(X, Y)],
            Space::Space => vec![coincide(3), perpendicular(X, Y), perpendicular(Y, Z), perpendicular(Z, X)],
        }
    }
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        Some(Vec::new())
    }
}
