//! A point that is led along a path.

use super::equations::{Equation, trace};
use super::{Joint, Kind, Mount};
use crate::file::{Expression, Field, FieldKind};
use crate::space::Space;

/// A point of a body follows functions of time.
struct DrivePoint {
    course: Vec<Expression>,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "drive-point",
    doc: "Moves a point of a body along a path in the world.",
    fields: &[Field::required("position", FieldKind::VectorFunction, "m", "where the point is, in the world")],
    mount: Mount::Body,
    in_plane: None,
    make: |values, _| {
        let course = values.functions("position");
        super::refuse_inputs(values, "position", course, "drive the rate of a slide")?;
        Ok(Box::new(DrivePoint { course: course.to_vec() }))
    },
};

impl Joint for DrivePoint {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        vec![trace(space.dimension(), &self.course)]
    }
}
