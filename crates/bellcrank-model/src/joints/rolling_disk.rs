//! The rolling disk.

use super::equations::{Couple, Equation, couple, follow, roll, touch};
use super::{Axes, Joint, Kind, Motion, Mount, X, Y, Z};
use crate::file::{Expression, Field, FieldKind};
use crate::space::Space;

/// A disk on the second body touches a plane of the first and rolls on it without slip.
///
/// In space the contact is an equation of position and the rolling two of velocity. In the plane rolling
/// can be integrated, x + rθ = const with x along the line, so both are equations of position.
struct RollingDisk {
    radius: f64,
    in_plane: Option<Couple>,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "rolling-disk",
    doc: "A thin disk on the second body that rolls on a plane of the first without slip (in the plane: a wheel on a line). \
          The first point lies in that plane, the second is the centre of the disk, and `axis` is its axle.",
    fields: &[
        Field::required("radius", FieldKind::Positive, "m", "radius of the disk"),
        Field::optional("normal", FieldKind::Direction, "", "z, in the plane y", "normal of the plane it rolls on"),
    ],
    mount: Mount::Points(Axes::Rolling),
    in_plane: None,
    make: |values, place| {
        let radius = values.number("radius");
        // λ is the force of friction; with the normal along y, the disk rolls towards −x as it turns
        let terms = [(radius, Motion::Rotate(Z), [0, 1]), (1.0, Motion::Translate(X), [0, 1])];
        let in_plane = (place.space == Space::Plane).then(|| couple(terms, place));
        Ok(Box::new(RollingDisk { radius, in_plane }))
    },
};

impl Joint for RollingDisk {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        match self.in_plane {
            Some(couple) => {
                vec![follow(Motion::Translate(Y), Expression::constant(self.radius)), Box::new(couple)]
            }
            None => vec![touch(self.radius), roll(self.radius)],
        }
    }
}
