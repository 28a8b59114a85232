//! The constant-velocity joint.

use super::equations::{Equation, coincide, homokinetic};
use super::{Axes, Joint, Kind, Mount};
use crate::space::Space;

/// Two shafts along the z axes of the frames that meet in a point and turn alike.
struct ConstantVelocity;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "constant-velocity",
    doc: "A homokinetic joint: the shafts `axis` of the first body and `axis2` of the second may incline at the \
          point where they meet, and turn by equal angles at any inclination.",
    fields: &[],
    mount: Mount::Shared(Axes::Shafts),
    in_plane: Some("a revolute joint"),
    make: |_, _| Ok(Box::new(ConstantVelocity)),
};

impl Joint for ConstantVelocity {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![coincide(3), homokinetic()]
    }
}
