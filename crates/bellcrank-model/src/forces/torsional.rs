//! A spring and damper about an axis.

use super::characteristic::{Characteristic, curve_field};
use super::{Along, Ends, Force, Kind, Seen, combined, scaled};
use crate::channel::Quantity;
use crate::dynamics::StateLaw;
use crate::file::{Field, FieldKind};
use crate::frames::{Covector, Stiffness};
use crate::joints::{Motion, Z};
use std::sync::Arc;

/// Torque −F(θ − θ₀) − c θ̇ on the second body about the axis.
struct Torsional {
    spring: Characteristic,
    damping: f64,
    angle: f64,
}

const TURN: Along = Along { motion: Motion::Rotate(Z), first: 0 };

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "torsional-spring-damper",
    doc: "A spring and damper about an axis: torque −F(θ − angle) − damping · dθ/dt on the second body with \
          F(s) = stiffness · s, or F the curve through given points. In the plane θ is the second body's angle less \
          the first's; in space it is counted from the start.",
    fields: &[
        Field::optional("stiffness", FieldKind::NonNegative, "N m/rad", "a `curve`", "stiffness"),
        curve_field("rad, N m", "pairs [angle, torque] instead of `stiffness`"),
        Field::optional("damping", FieldKind::NonNegative, "N m s/rad", "0", "viscous damping"),
        Field::optional("angle", FieldKind::Number, "rad", "0", "angle at which the spring is at rest"),
    ],
    ends: Ends::Turning,
    channels: CHANNELS,
    make: |values, _| {
        Ok(Box::new(Torsional {
            spring: Characteristic::read(values)?,
            damping: values.number("damping"),
            angle: values.number("angle"),
        }))
    },
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("angle", "rad", "angle of the second body against the first about the axis, turns counted"),
    Quantity::new("rate", "rad/s", "its rate"),
    Quantity::new(
        "torque",
        "N m",
        "torque on the second body about the axis, spring and damper together: positive when it turns it forward",
    ),
];

impl Force for Torsional {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let (angle, rate) = (TURN.value(at), TURN.rate(at));
        out.copy_from_slice(&[angle, rate, -self.spring.at(angle - self.angle).force - self.damping * rate]);
    }
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        self.spring.laws()
    }
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        out.fill(TURN.value(at) - self.angle);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let spring = self.spring.at(TURN.value(at) - self.angle);
        TURN.push(at, -spring.force - self.damping * TURN.rate(at), out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let spring = self.spring.at(TURN.value(at) - self.angle);
        let (gradient, drift) = (TURN.gradient(at), TURN.drift(at));
        let effort = -spring.force - self.damping * TURN.rate(at);
        let by_displacement = combined(-spring.slope, &gradient, -self.damping, &drift);
        let by_twist = scaled(-self.damping, &gradient);
        TURN.push_stiffness(at, effort, &by_displacement, &by_twist, k, d);
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.spring.at(TURN.value(at) - self.angle).energy
    }
    fn power(&self, at: &Seen) -> f64 {
        -self.damping * TURN.rate(at).powi(2)
    }
    fn has_power(&self) -> bool {
        self.damping != 0.0
    }
    fn damped(&self) -> bool {
        self.damping != 0.0
    }
    fn rotational(&self, _end: usize) -> bool {
        true
    }
    fn measures(&self) -> Option<Motion> {
        Some(TURN.motion)
    }
}
