//! Any two joint coordinates, tied.

use super::equations::{Couple, Equation, couple};
use super::{Joint, Kind, Mount};
use crate::file::{Field, FieldKind};
use crate::space::Space;

/// x₂ − ratio · x₁ − offset = 0.
struct Tie {
    couple: Couple,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "tie",
    doc: "Couples two joint coordinates: x₂ = offset + ratio · x₁ for one coordinate of each of two `joints`, turns \
          or slides, over any number of turns.",
    fields: &[
        Field::optional(
            "ratio",
            FieldKind::Number,
            "rad/rad, m/m, m/rad, rad/m",
            "1",
            "motion of the second joint per motion of the first",
        ),
        Field::optional(
            "offset",
            FieldKind::Number,
            "rad, m",
            "as drawn",
            "the second coordinate where the first is zero",
        ),
        Field::optional(
            "coordinates",
            FieldKind::Names(2, 2),
            "",
            "their only ones",
            "which coordinate of each joint: `angle` or `position`, then `angle2`, `position2`, …",
        ),
    ],
    mount: Mount::Joints,
    in_plane: None,
    make: |values, place| {
        let ratio = values.number("ratio");
        if ratio == 0.0 {
            let help = "to hold the second coordinate, use a drive with a constant value";
            return Err(values.error_at("ratio", format!("`ratio` of {} is zero", values.what())).help(help).into());
        }
        let named = values.optional_names("coordinates").unwrap_or(&[]);
        let key = if named.is_empty() { "joints" } else { "coordinates" };
        let motion = |k: usize| place.joints[k].motion(values, key, named.get(k).map(|n| n.name));
        let motions = [motion(0)?, motion(1)?];
        let [first, second] = motions.map(|m| usize::from(m.turns()));
        values.check_unit("ratio", [["m/m", "rad/m"], ["m/rad", "rad/rad"]][first][second])?;
        values.check_unit("offset", ["m", "rad"][second])?;
        // λ is the load along the second coordinate
        let mut couple = couple([(-ratio, motions[0], [2, 0]), (1.0, motions[1], [3, 1])], place);
        if let Some(offset) = values.optional_number("offset") {
            couple = couple.with_constant(offset);
        }
        Ok(Box::new(Tie { couple }))
    },
};

impl Joint for Tie {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        vec![Box::new(self.couple)]
    }
}
