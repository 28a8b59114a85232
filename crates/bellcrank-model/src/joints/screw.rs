//! The screw joint.

use super::cylindrical::coaxial;
use super::equations::{Couple, Equation, couple};
use super::{Axes, Joint, Kind, Motion, Mount, Move, Z};
use crate::file::{Field, FieldKind};
use crate::space::Space;
use std::f64::consts::TAU;

/// A shift of `pitch` along the common z axis with every turn about it.
struct Screw {
    lead: Couple,
    lead_per_radian: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "screw",
    doc: "A screw in its nut: a rotation about `axis` is also a translation along it.",
    fields: &[Field::required(
        "pitch",
        FieldKind::Number,
        "m",
        "translation of the second body along `axis` per turn; negative for a left-handed thread",
    )],
    mount: Mount::Shared(Axes::Turning),
    in_plane: Some("a rack joint between a revolute and a prismatic one"),
    make: |values, place| {
        let pitch = values.number("pitch");
        if pitch == 0.0 {
            let help = "a screw without pitch is a revolute joint";
            return Err(values.error_at("pitch", format!("`pitch` of {} is zero", values.what())).help(help).into());
        }
        // λ is the force along the screw
        let terms = [(-pitch / TAU, Motion::Rotate(Z), [0, 1]), (1.0, Motion::Translate(Z), [0, 1])];
        Ok(Box::new(Screw { lead: couple(terms, place), lead_per_radian: pitch / TAU }))
    },
};

impl Joint for Screw {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        let mut equations = coaxial();
        equations.push(Box::new(self.lead));
        equations
    }
    fn motions(&self, _space: Space) -> Vec<Motion> {
        vec![Motion::Rotate(Z), Motion::Translate(Z)]
    }
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        Some(vec![Move::Screw(self.lead_per_radian)])
    }
}
