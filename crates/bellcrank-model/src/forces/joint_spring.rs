//! A spring and damper along a joint coordinate.

use super::characteristic::{Characteristic, curve_field};
use super::{Along, Ends, Force, Kind, Seen, combined, scaled};
use crate::channel::Quantity;
use crate::dynamics::StateLaw;
use crate::file::{Field, FieldKind};
use crate::frames::{Covector, Stiffness};
use crate::joints::Motion;
use std::sync::Arc;

/// −F(x − x₀) − c ẋ along a joint coordinate x.
struct JointSpring {
    along: Along,
    spring: Characteristic,
    damping: f64,
    rest: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "joint-spring",
    doc: "A spring and damper along a joint coordinate x: −F(x − rest) − damping · dx/dt with F(s) = stiffness · s, \
          or F the curve through given points. x is the recorded coordinate, over any number of turns.",
    fields: &[
        Field::optional("stiffness", FieldKind::NonNegative, "N/m, N m/rad", "a `curve`", "stiffness"),
        curve_field("m, N; rad, N m", "pairs [displacement, force] instead of `stiffness`"),
        Field::optional("damping", FieldKind::NonNegative, "N s/m, N m s/rad", "0", "viscous damping"),
        Field::optional("rest", FieldKind::Number, "m, rad", "0", "coordinate at which the spring is at rest"),
    ],
    ends: Ends::Joint,
    channels: CHANNELS,
    make: |values, place| {
        Ok(Box::new(JointSpring {
            along: place.joint(),
            spring: Characteristic::read(values)?,
            damping: values.number("damping"),
            rest: values.number("rest"),
        }))
    },
};

const CHANNELS: &[Quantity] =
    &[Quantity::new("effort", "N", "spring and damper along the joint coordinate: positive when it pushes forward")
        .turning("N m")];

impl Force for JointSpring {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        out.copy_from_slice(&[self.effort(at)]);
    }
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        self.spring.laws()
    }
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        out.fill(self.along.value(at) - self.rest);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        self.along.push(at, self.effort(at), out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let spring = self.spring.at(self.along.value(at) - self.rest);
        let (gradient, drift) = (self.along.gradient(at), self.along.drift(at));
        let by_displacement = combined(-spring.slope, &gradient, -self.damping, &drift);
        let by_twist = scaled(-self.damping, &gradient);
        self.along.push_stiffness(at, self.effort(at), &by_displacement, &by_twist, k, d);
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.spring.at(self.along.value(at) - self.rest).energy
    }
    fn power(&self, at: &Seen) -> f64 {
        -self.damping * self.along.rate(at).powi(2)
    }
    fn along(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        -self.spring.at(self.along.value(at) - self.rest).force - self.damping * self.along.rate(at)
    }
    fn has_power(&self) -> bool {
        self.damping != 0.0
    }
    fn damped(&self) -> bool {
        self.damping != 0.0
    }
    fn measures(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
}
