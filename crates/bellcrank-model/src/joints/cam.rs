//! The cam with its follower.

use super::equations::{Beside, Equation, face_on_curve, roll_on_curve};
use super::{Axes, Joint, Kind, Mount, Placement};
use crate::file::{Diagnostics, Field, FieldKind, Values};
use crate::frames::Frame;
use crate::profile::{FIELDS, Profile};
use crate::space::Space;
use bellcrank_math::Vec3;
use std::sync::Arc;

/// A follower of the second body stays on a curve of the first.
struct Cam {
    curve: Arc<Profile>,
    follower: FollowerShape,
}

enum FollowerShape {
    /// A roller of this radius to one side of the curve.
    Roller { side: f64, radius: f64 },
    /// A flat face with this normal, in the second frame.
    Face { normal: Vec3 },
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "cam",
    doc: "A cam on the first body with a follower on the second that never leaves it: a roller of a `radius` about the second \
          point, or a flat face through it (`face` is its normal, away from the cam). The cam is a curve in a frame at the first \
          point, with the axes of the world at the start (with `on` those of the first body); in space it is a cylinder along z \
          of that frame (`axis`). The roller stays on the side of the curve that it starts on. For a follower that may lift off \
          use the force `contact` with a `curve`.",
    fields: &[
        FIELDS[0],
        FIELDS[1],
        FIELDS[2],
        FIELDS[3],
        Field::optional("radius", FieldKind::Positive, "m", "a `face`", "radius of the roller"),
        Field::optional(
            "face",
            FieldKind::Direction,
            "",
            "a roller",
            "normal of a flat face, away from the cam (plane): in the world at the start, with `on` in the body's frame",
        ),
    ],
    mount: Mount::Points(Axes::None),
    in_plane: None,
    make,
};

fn make(values: &Values, place: &Placement) -> Result<Box<dyn Joint>, Diagnostics> {
    let curve = Arc::new(Profile::read(values)?);
    values.at_most_one(&["radius", "face"])?;
    let follower = match (values.optional_number("radius"), values.optional_vector("face")) {
        (Some(radius), _) => FollowerShape::Roller { side: roller(values, &curve, &place.frames, radius)?, radius },
        (None, Some(face)) => {
            let normal = if values.has("on") { face } else { place.frames[1].r.transpose_times(place.axes * face) };
            check_face(values, &curve, place)?;
            FollowerShape::Face { normal }
        }
        (None, None) => {
            let help = "add `radius = …` for a roller, or `face = […]` for a flat face; a point has the joint `point-on-curve`";
            return Err(values.error(format!("{} does not say what follows", values.what())).help(help).into());
        }
    };
    Ok(Box::new(Cam { curve, follower }))
}

/// The side of a curve that a roller starts on; refuses one that does not fit into its hollows.
pub fn roller(values: &Values, curve: &Arc<Profile>, frames: &[Frame], radius: f64) -> Result<f64, Diagnostics> {
    let what = values.what();
    let (field, s) = Beside { curve: curve.clone(), side: 1.0 }.distance(frames);
    if field.value.abs() < 1e-9 {
        let message =
            format!("{what} does not tell on which side of the curve it is: its centre is on it, at s = {s:.6}");
        return Err(values.error(message).help("put the second point beside the curve, at about the radius").into());
    }
    let side = field.value.signum();
    let (bent, s) = curve.sharpest(side);
    if bent * radius >= 1.0 {
        let message = format!(
            "the roller of {what} does not fit into its curve: at s = {s:.6} the hollow has a radius of {:.6} m, the roller one \
             of {radius} m",
            1.0 / bent
        );
        return Err(values
            .error_at("radius", message)
            .help("use a smaller roller, or a curve that is less hollow")
            .into());
    }
    Ok(side)
}

/// A flat face follows convex curves, in the plane.
fn check_face(values: &Values, curve: &Profile, place: &Placement) -> Result<(), Diagnostics> {
    let what = values.what();
    if place.space == Space::Space {
        let message = format!("`face` of {what} is for the plane");
        return Err(values.error_at("face", message).help("in space use a roller: `radius`").into());
    }
    let (left, right) = (curve.sharpest(1.0), curve.sharpest(-1.0));
    if left.0 >= 0.0 && right.0 >= 0.0 {
        let s = if left.0 < right.0 { left.1 } else { right.1 };
        let message = format!("a flat face cannot follow the curve of {what}, which is not convex: see s = {s:.6}");
        return Err(values
            .error_at("face", message)
            .help("use a roller, or a curve that bends to one side only")
            .into());
    }
    Ok(())
}

impl Joint for Cam {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![match self.follower {
            FollowerShape::Roller { side, radius } => roll_on_curve(Beside { curve: self.curve.clone(), side }, radius),
            FollowerShape::Face { normal } => face_on_curve(self.curve.clone(), normal),
        }]
    }
    fn outline(&self) -> Vec<Vec3> {
        self.curve.outline().collect()
    }
    fn radii(&self) -> Vec<f64> {
        match self.follower {
            FollowerShape::Roller { radius, .. } => vec![0.0, radius],
            FollowerShape::Face { .. } => Vec::new(),
        }
    }
}
