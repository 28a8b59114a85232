//! The universal joint.

use super::equations::{Equation, coincide, perpendicular};
use super::{Axes, Joint, Kind, Motion, Mount, Move, X, Z};
use crate::space::Space;

/// A cross with one arm along z of the first frame and one along x of the second.
struct Universal;

/// The cosine of the angle between the arms up to which they count as perpendicular.
const PERPENDICULAR: f64 = 1e-6;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "universal",
    doc: "A Hooke's joint: a cross that turns in the first body about `axis` and in the second about `axis2`, \
          which is perpendicular to `axis`.",
    fields: &[],
    mount: Mount::Shared(Axes::Turning),
    in_plane: Some("a revolute joint"),
    make: |values, _| {
        let [Some(axis), Some(axis2)] = ["axis", "axis2"].map(|key| values.optional_points(key)) else {
            let help = "`axis` is the arm of the cross in the first body, `axis2` that in the second";
            return Err(values.error(format!("{} needs `axis` and `axis2`", values.what())).help(help).into());
        };
        // given in the bodies' frames, the pair of each body counts
        let cosines = (0..2).map(|k| axis[k.min(axis.len() - 1)].dot(axis2[k.min(axis2.len() - 1)]));
        let cosine = cosines.fold(0.0f64, |most, c| most.max(c.abs()));
        if cosine > PERPENDICULAR {
            let angle = cosine.acos().to_degrees();
            let message = format!("the axes of {} are {angle:.2}° apart, not 90°", values.what());
            let help = "the arms of a cross are perpendicular; shafts at an angle have them perpendicular too";
            return Err(values.error_at("axis2", message).help(help).into());
        }
        Ok(Box::new(Universal))
    },
};

impl Joint for Universal {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![coincide(3), perpendicular(Z, X)]
    }
    fn motions(&self, _space: Space) -> Vec<Motion> {
        vec![Motion::Rotate(Z), Motion::RotateSecond(X)]
    }
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        Some(vec![Move::Along(Motion::Rotate(Z)), Move::Along(Motion::RotateSecond(X))])
    }
}
