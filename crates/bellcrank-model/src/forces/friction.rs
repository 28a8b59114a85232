//! Friction in a joint.

use super::{Along, Ends, Force, Kind, Made, Placement, Seen, scaled};
use crate::channel::Quantity;
use crate::dynamics::{DryModes, HoldingLaw, Mode};
use crate::file::{Expression, Field, FieldKind, Values};
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::Motion;
use crate::joints::equations::{Equation, follow_rate};

/// −c ẋ − F_c tanh(ẋ/v₀) along a joint coordinate x; or with F_c sign(ẋ), and ẋ = 0 while that needs no
/// more than F_s.
struct Friction {
    along: Along,
    viscous: f64,
    coulomb: f64,
    dry: Dry,
}

/// What dry friction does where ẋ changes its sign.
enum Dry {
    /// It rises over some rates v₀.
    Creeps { velocity: f64 },
    /// It holds with up to F_s.
    Sticks { level: f64 },
}

/// The modes of friction that sticks.
const FORWARD: Mode = 1;
const BACKWARD: Mode = 2;
const STICKING: Mode = 3;
/// At rest because others hold it: no load, no row.
const CARRIED: Mode = 4;

/// A rate at which friction that others hold at rest is looked at again.
const MOVES: f64 = 1e-4;

/// A rate that counts as none at the start.
const AT_REST: f64 = 1e-9;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "joint-friction",
    doc: "Friction along a joint coordinate x: −viscous · dx/dt − coulomb · tanh((dx/dt)/velocity). The level `coulomb` \
          is given, it does not follow the reaction of the joint; below `velocity` the joint creeps instead of sticking. \
          With `static` it sticks: dry friction is then exactly `coulomb` against the sliding, and x is held while that \
          takes no more than `static`; sticking and slipping are events.",
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
        Field::optional(
            "static",
            FieldKind::Positive,
            "N, N m",
            "creeps",
            "the force or torque up to which it sticks, at least `coulomb`",
        ),
    ],
    ends: Ends::Joint,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("slip", "m/s", "rate of the joint coordinate; zero while it sticks").turning("rad/s"),
    Quantity::new(
        "effort",
        "N",
        "friction along the joint coordinate: negative when it holds a positive rate back, also while it sticks",
    )
    .turning("N m"),
];

fn make(values: &Values, place: &Placement) -> Made {
    if !values.has("viscous") && !values.has("coulomb") {
        let message = format!("{} needs `viscous` or `coulomb`", values.what());
        return Err(values.error(message).help("add the friction: `viscous = …`, `coulomb = …`, or both").into());
    }
    for key in ["velocity", "static"] {
        if values.has(key) && !values.has("coulomb") {
            let message = format!("`{key}` of {} is for dry friction", values.what());
            return Err(values.error_at(key, message).help("add `coulomb = …`, or leave it out").into());
        }
    }
    values.at_most_one(&["velocity", "static"])?;
    let coulomb = values.number("coulomb");
    let dry = match values.optional_number("static") {
        None => Dry::Creeps { velocity: values.number("velocity") },
        Some(level) if level >= coulomb => Dry::Sticks { level },
        Some(_) => {
            let message = format!("`static` of {} is below `coulomb`", values.what());
            return Err(values
                .error_at("static", message)
                .help("static friction must be at least as large as sliding friction")
                .into());
        }
    };
    Ok(Box::new(Friction { along: place.joint(), viscous: values.number("viscous"), coulomb, dry }))
}

impl Friction {
    /// The effort at a rate, and its derivative.
    fn at_rate(&self, mode: Mode, rate: f64) -> (f64, f64) {
        let (y, y_rate) = match (&self.dry, mode) {
            (Dry::Creeps { velocity }, _) => {
                let y = (rate / velocity).tanh();
                (y, (1.0 - y * y) / velocity)
            }
            (_, FORWARD) => (1.0, 0.0),
            (_, BACKWARD) => (-1.0, 0.0),
            (_, STICKING | CARRIED) => (0.0, 0.0),
            _ if rate == 0.0 => (0.0, 0.0),
            _ => (rate.signum(), 0.0),
        };
        (-self.viscous * rate - self.coulomb * y, -self.viscous - self.coulomb * y_rate)
    }

    fn sticks(&self) -> Option<f64> {
        match self.dry {
            Dry::Creeps { .. } => None,
            Dry::Sticks { level } => Some(level),
        }
    }
}

impl Force for Friction {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        out.copy_from_slice(&[self.along.rate(at), self.effort(at)]);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        self.along.push(at, self.at_rate(at.mode, self.along.rate(at)).0, out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let (effort, slope) = self.at_rate(at.mode, self.along.rate(at));
        let (gradient, drift) = (self.along.gradient(at), self.along.drift(at));
        let (by_displacement, by_twist) = (scaled(slope, &drift), scaled(slope, &gradient));
        self.along.push_stiffness(at, effort, &by_displacement, &by_twist, k, d);
    }
    fn along(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        // what sticks is held by −λ
        self.at_rate(at.mode, self.along.rate(at)).0 - at.lambda
    }
    fn power(&self, at: &Seen) -> f64 {
        let rate = self.along.rate(at);
        self.at_rate(at.mode, rate).0 * rate
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        true
    }
    fn switches(&self) -> usize {
        if self.sticks().is_some() { 2 } else { 0 }
    }
    fn mode(&self, at: &Seen) -> Mode {
        match self.along.rate(at) {
            rate if rate.abs() <= AT_REST => STICKING,
            rate if rate > 0.0 => FORWARD,
            _ => BACKWARD,
        }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        match (at.mode, self.sticks()) {
            // the joint feels −λ: a positive λ holds it back
            (STICKING, Some(level)) => (out[0], out[1]) = (level - at.lambda, level + at.lambda),
            (CARRIED, _) => (out[0], out[1]) = (MOVES - self.along.rate(at), MOVES + self.along.rate(at)),
            (FORWARD, _) => out[0] = self.along.rate(at),
            (BACKWARD, _) => out[0] = -self.along.rate(at),
            _ => {}
        }
    }
    fn candidate(&self, at: &Seen) -> Option<(HoldingLaw, Vec<Row>)> {
        let modes = DryModes { forward: FORWARD, backward: BACKWARD, sticks: STICKING, carried: CARRIED };
        let law = HoldingLaw::Dry { rate: self.along.rate(at), sticks: self.sticks()?, modes };
        Some((law, vec![self.along.gradient(at)]))
    }
    fn holds(&self, mode: Mode) -> Vec<Box<dyn Equation>> {
        match mode == STICKING && self.sticks().is_some() {
            true => vec![follow_rate(self.along.motion, Expression::constant(0.0))],
            false => Vec::new(),
        }
    }
}
