//! The point on a curve.

use super::equations::{Equation, on_curve};
use super::{Axes, Joint, Kind, Mount};
use crate::profile::{FIELDS, Profile};
use crate::space::Space;
use bellcrank_math::Vec3;
use std::sync::Arc;

/// A point of the second body stays on a curve of the first.
struct PointOnCurve {
    curve: Arc<Profile>,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "point-on-curve",
    doc: "A bead on a wire, a pin in a curved slot, a barrel cam: a point of the second body stays on a curve of the first, all \
          rotations are free. The first point is the origin of the curve's frame, the second one follows. That frame has the \
          axes of the world at the start (with `on` those of the first body), in space with z along `axis` and x along `axis2`. \
          In space the curve must not cross itself as seen along z.",
    fields: &[FIELDS[0], FIELDS[1], FIELDS[2], FIELDS[3]],
    mount: Mount::Points(Axes::None),
    in_plane: None,
    make: |values, _| Ok(Box::new(PointOnCurve { curve: Arc::new(Profile::read(values)?) })),
};

impl Joint for PointOnCurve {
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>> {
        vec![on_curve(self.curve.clone(), space == Space::Space)]
    }
    fn outline(&self) -> Vec<Vec3> {
        self.curve.outline().collect()
    }
}
