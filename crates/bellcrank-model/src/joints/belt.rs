//! Belts and chains between two joints.

use super::gear::{coupler, turns};
use super::{Kind, Mount};
use crate::file::{Field, FieldKind};

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "belt",
    doc: "A belt or chain that does not slip, over pulleys on two turning `joints`: the rims of both have the same \
        speed.",
    fields: &[
        Field::required("radii", FieldKind::Numbers(2, 2), "m", "radii of the pulleys"),
        Field::optional("crossed", FieldKind::Flag, "", "false", "the pulleys turn opposite ways"),
    ],
    mount: Mount::Joints,
    in_plane: None,
    make: |values, place| {
        let (radii, sign) = (values.numbers("radii"), if values.flag("crossed") { 1.0 } else { -1.0 });
        if radii.iter().any(|r| *r <= 0.0) {
            return Err(values.error_at("radii", format!("the radii of {} must be positive", values.what())).into());
        }
        // λ is the difference of the tensions in the two runs
        coupler([sign * radii[0], radii[1]], turns(values, place)?, place)
    },
};
