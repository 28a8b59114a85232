//! A spring and damper about an axis.

use super::{Ends, Force, Kind};
use crate::file::{Field, FieldKind};
use crate::frames::{ANG, Covector, Frames, Stiffness};
use crate::joints::{Motion, Z};

/// Torque −k(θ − θ₀) − c θ̇ on the second body about the axis.
struct Torsional {
    stiffness: f64,
    damping: f64,
    angle: f64,
}

const TURN: Motion = Motion::Rotate(Z);

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "torsional-spring-damper",
    doc: "A spring and damper about an axis: torque −stiffness (θ − angle) − damping · dθ/dt on the second body. \
          In the plane θ is the second body's angle less the first's; in space it is counted from the start.",
    fields: &[
        Field::required("stiffness", FieldKind::NonNegative, "N m/rad", "stiffness"),
        Field::optional("damping", FieldKind::NonNegative, "N m s/rad", "0", "viscous damping"),
        Field::optional("angle", FieldKind::Number, "rad", "0", "angle at which the spring is at rest"),
    ],
    ends: Ends::Turning,
    make: |values, _| {
        Ok(Box::new(Torsional {
            stiffness: values.number("stiffness"),
            damping: values.number("damping"),
            angle: values.number("angle"),
        }))
    },
};

impl Torsional {
    /// The torque on the second body, and the rate of the angle.
    fn torque(&self, at: &Frames) -> (f64, f64) {
        let gradient = TURN.gradient(at);
        let rate = gradient[0].on(&at.ends[0]) + gradient[1].on(&at.ends[1]);
        (-self.stiffness * (TURN.value(at) - self.angle) - self.damping * rate, rate)
    }
}

impl Force for Torsional {
    fn load(&self, at: &Frames, out: &mut [Covector]) {
        let (torque, _) = self.torque(at);
        let gradient = TURN.gradient(at);
        for end in 0..2 {
            out[end].ang += gradient[end].ang * torque;
        }
    }
    fn stiffness(&self, at: &Frames, k: &mut Stiffness, d: &mut Stiffness) {
        let (torque, _) = self.torque(at);
        let gradient = TURN.gradient(at);
        let mut unit = Stiffness::default();
        TURN.curvature(at, 1.0, &mut unit);
        let drift = unit.contract(at.ends);
        TURN.curvature(at, torque, k);
        for i in 0..2 {
            for j in 0..2 {
                let u = gradient[i].ang;
                let change = gradient[j].ang * self.stiffness + drift[j].ang * self.damping;
                k.add(i, ANG, j, ANG, -u.outer(change));
                d.add(i, ANG, j, ANG, -u.outer(gradient[j].ang * self.damping));
            }
        }
    }
    fn stored(&self, at: &Frames) -> f64 {
        0.5 * self.stiffness * (TURN.value(at) - self.angle).powi(2)
    }
    fn power(&self, at: &Frames) -> f64 {
        -self.damping * self.torque(at).1.powi(2)
    }
    fn has_power(&self) -> bool {
        self.damping != 0.0
    }
    fn damped(&self) -> bool {
        self.damping != 0.0
    }
    fn angle_axis(&self) -> Option<usize> {
        Some(Z)
    }
}
