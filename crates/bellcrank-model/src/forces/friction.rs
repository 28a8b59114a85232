//! Friction in a joint.

use super::{Along, Ends, Force, Kind, Made, Placement, Seen, scaled};
use crate::file::{Field, FieldKind, Values};
use crate::frames::{Covector, Stiffness};
use crate::joints::Motion;

/// −c ẋ − F_c tanh(ẋ/v₀) along a joint coordinate x.
struct Friction {
    along: Along,
    viscous: f64,
    coulomb: f64,
    velocity: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "joint-friction",
    doc: "Friction along a joint coordinate x: −viscous · dx/dt − coulomb · tanh((dx/dt)/velocity). The level `coulomb` \
          is given, it does not follow the reaction of the joint; below `velocity` the joint creeps instead of sticking.",
    fields: &[
        Field::optional("viscous", FieldKind::NonNegative, "N s/m, N m s/rad", "0", "viscous friction"),
        Field::optional(
            "coulomb",
            FieldKind::NonNegative,
            "N, N m",
            "0",
            "dry friction: the force or torque when sliding",
        ),
        Field::optional(
            "velocity",
            FieldKind::Positive,
            "m/s, rad/s",
            "0.01",
            "rate at which dry friction reaches 76 % of its level",
        ),
    ],
    ends: Ends::Joint,
    make,
};

fn make(values: &Values, place: &Placement) -> Made {
    if !values.has("viscous") && !values.has("coulomb") {
        let message = format!("{} needs `viscous` or `coulomb`", values.what());
        return Err(values.error(message).help("add the friction: `viscous = …`, `coulomb = …`, or both").into());
    }
    if values.has("velocity") && !values.has("coulomb") {
        let message = format!("`velocity` of {} is for dry friction", values.what());
        return Err(values.error_at("velocity", message).help("add `coulomb = …`, or leave it out").into());
    }
    Ok(Box::new(Friction {
        along: place.joint(),
        viscous: values.number("viscous"),
        coulomb: values.number("coulomb"),
        velocity: values.number("velocity"),
    }))
}

impl Friction {
    /// The effort at a rate, and its derivative.
    fn at_rate(&self, rate: f64) -> (f64, f64) {
        let y = (rate / self.velocity).tanh();
        let slope = self.viscous + self.coulomb * (1.0 - y * y) / self.velocity;
        (-self.viscous * rate - self.coulomb * y, -slope)
    }
}

impl Force for Friction {
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        self.along.push(at, self.effort(at), out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let (effort, slope) = self.at_rate(self.along.rate(at));
        let (gradient, drift) = (self.along.gradient(at), self.along.drift(at));
        let (by_displacement, by_twist) = (scaled(slope, &drift), scaled(slope, &gradient));
        self.along.push_stiffness(at, effort, &by_displacement, &by_twist, k, d);
    }
    fn along(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        self.at_rate(self.along.rate(at)).0
    }
    fn power(&self, at: &Seen) -> f64 {
        let rate = self.along.rate(at);
        self.at_rate(rate).0 * rate
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        true
    }
}
