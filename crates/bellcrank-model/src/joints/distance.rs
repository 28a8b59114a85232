//! The distance joint.

use super::equations::{self, Equation};
use super::{Axes, Joint, Kind, Mount};
use crate::file::{Field, FieldKind};
use crate::space::Space;

/// Two points keep their distance, as if a massless bar joined them.
struct FixedDistance {
    length: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "distance",
    doc: "A massless bar between two points, one on each body.",
    fields: &[Field::optional("length", FieldKind::Positive, "m", "that at the start", "the distance")],
    mount: Mount::Points(Axes::None),
    in_plane: None,
    make: |values, place| {
        let start = (place.frames[1].p - place.frames[0].p).norm();
        let length = values.optional_number("length").unwrap_or(start);
        if length.is_nan() || length <= 0.0 {
            return Err(values
                .error("the two points of a distance joint coincide at the start")
                .help("give two different points, a `length`, or use a spherical joint")
                .into());
        }
        Ok(Box::new(FixedDistance { length }))
    },
};

impl Joint for FixedDistance {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![equations::distance(self.length)]
    }
}
