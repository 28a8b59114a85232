//! A rack and pinion between two joints.

use super::gear::coupler;
use super::{Kind, Mount};
use crate::file::{Field, FieldKind};

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "rack",
    doc: "A pinion and its rack: the first of two `joints` turns, and the second slides by `radius` times the angle.",
    fields: &[Field::required(
        "radius",
        FieldKind::Number,
        "m",
        "pitch radius of the pinion; negative if the rack moves backwards when the pinion turns forwards",
    )],
    mount: Mount::Joints,
    in_plane: None,
    make: |values, place| {
        let radius = values.number("radius");
        if radius == 0.0 {
            return Err(values.error_at("radius", format!("`radius` of {} is zero", values.what())).into());
        }
        let [first, second] = &place.joints[..] else { unreachable!("two joints") };
        let turn = first.turn().ok_or_else(|| first.lacks(values, "joints", "turn"))?;
        let slide = second.slide().ok_or_else(|| second.lacks(values, "joints", "slide"))?;
        // λ is the force along the rack
        coupler([-radius, 1.0], [turn, slide], place)
    },
};
