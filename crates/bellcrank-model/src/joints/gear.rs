//! Gears between two joints, and what belts and racks share with them.

use super::equations::{Couple, Equation, couple};
use super::{Joint, Kind, Motion, Mount, Placement};
use crate::file::{Diagnostics, Field, FieldKind, Values};
use crate::space::Space;

/// The motions of two joints keep a weighted sum.
struct Coupler {
    couple: Couple,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "gear",
    doc: "Two wheels in mesh: the angle of the second of two turning `joints` is `ratio` times that of the first, \
          counted from the start, over any number of turns.",
    fields: &[Field::required(
        "ratio",
        FieldKind::Number,
        "",
        "turns of the second joint per turn of the first; negative for external gears",
    )],
    mount: Mount::Joints,
    in_plane: None,
    make: |values, place| {
        let ratio = values.number("ratio");
        if ratio == 0.0 {
            let help = "to hold the second joint, use a drive with a constant `angle`";
            return Err(values.error_at("ratio", format!("`ratio` of {} is zero", values.what())).help(help).into());
        }
        // λ is the torque on the second wheel
        coupler([-ratio, 1.0], turns(values, place)?, place)
    },
};

/// The turns of both joints.
pub(super) fn turns(values: &Values, place: &Placement) -> Result<[Motion; 2], Diagnostics> {
    let turn = |k: usize| place.joints[k].turn().ok_or_else(|| place.joints[k].lacks(values, "joints", "turn"));
    Ok([turn(0)?, turn(1)?])
}

/// Σ weight·motion of both joints is as it is at the start.
pub(super) fn coupler(
    weights: [f64; 2],
    motions: [Motion; 2],
    place: &Placement,
) -> Result<Box<dyn Joint>, Diagnostics> {
    let terms = [(weights[0], motions[0], [2, 0]), (weights[1], motions[1], [3, 1])];
    Ok(Box::new(Coupler { couple: couple(terms, place) }))
}

impl Joint for Coupler {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![Box::new(self.couple)]
    }
}
