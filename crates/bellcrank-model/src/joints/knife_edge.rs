//! The knife edge.

use super::equations::{Equation, no_slip_along};
use super::{Axes, Joint, Kind, Mount, X, Y};
use crate::space::Space;

/// A point of the second body moves along its edge and turns freely, but does not move across.
///
/// Across is y of the second frame in the plane, x in space; the edge is x and z.
struct KnifeEdge;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "knife-edge",
    doc: "A skate or blade on the second body: its point has no velocity across the edge `axis`; in space `axis2` is the \
          direction across. A nonholonomic joint.",
    fields: &[],
    mount: Mount::Shared(Axes::Sliding),
    in_plane: None,
    make: |values, place| {
        if place.space == Space::Space && !values.has("axis2") {
            let help = "`axis` runs along the edge, `axis2` points across it, the way it cannot go";
            return Err(values.error(format!("{} needs `axis2`", values.what())).help(help).into());
        }
        Ok(Box::new(KnifeEdge))
    },
};

impl Joint for KnifeEdge {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        vec![no_slip_along(if space == Space::Plane { Y } else { X })]
    }
}
