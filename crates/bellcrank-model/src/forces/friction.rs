//! Friction in a joint.

use super::bearing::{Bearing, Pressed};
use super::{Along, Ends, Followed, Following, Force, Kind, Made, Placement, Seen, combined, scaled};
use crate::channel::Quantity;
use crate::dynamics::{DryModes, HoldingLaw, Mode};
use crate::file::{Diagnostics, Expression, Field, FieldKind, Values};
use crate::frames::{Covector, MAX_ROWS, Row, Stiffness};
use crate::joints::Motion;
use crate::joints::equations::{Equation, follow_rate};

/// −c ẋ − F_c tanh(ẋ/v₀) along a joint coordinate x; or with F_c sign(ẋ), and ẋ = 0 while that needs no
/// more than F_s. F_c and F_s are given, or follow the reaction of the joint.
struct Friction {
    along: Along,
    viscous: f64,
    /// F_c; where it follows the reaction, that of a pressing force of 1 N: μ, at its radius where x is a turn.
    slides: f64,
    presses: Option<Presses>,
    dry: Dry,
}

/// What presses the surfaces together.
struct Presses {
    /// A force that does so whatever the reaction.
    preload: f64,
    /// μ.
    coefficient: f64,
    bearing: Bearing,
}

/// What dry friction does where ẋ changes its sign.
enum Dry {
    /// It rises over some rates v₀.
    Creeps { velocity: f64 },
    /// It holds with up to F_s, given as F_c is.
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
          is given, or follows the reaction R of the joint: coefficient · (preload + R), of a turn times `radius`. \
          R is the force across the axis, of a turn also the thrust along it; with `length`, moments across the axis press \
          two bearings (or the ends of a guide) at that distance, and on a slide with `radius`, moments about the axis press too. \
          Below `velocity` the joint creeps instead of sticking. With `static` or `static_coefficient` it sticks: dry friction is then \
          exactly that of sliding, and x is held while that takes no more; sticking and slipping are events. \
          Impacts do not rub.",
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
            "coefficient",
            FieldKind::NonNegative,
            "",
            "`coulomb`",
            "dry friction that follows the reaction of the joint: the coefficient when sliding",
        ),
        Field::optional(
            "preload",
            FieldKind::NonNegative,
            "N",
            "0",
            "with `coefficient`: a force that presses the surfaces together whatever the reaction",
        ),
        Field::optional(
            "radius",
            FieldKind::Positive,
            "m",
            "moments about a slide do not press",
            "with `coefficient`: the radius at which a turn rubs, or that of a guide which keeps a slide from turning",
        ),
        Field::optional(
            "length",
            FieldKind::Positive,
            "m",
            "moments across the axis do not press",
            "with `coefficient`: the distance of two bearings, or the length of the guide, about the place on the second body",
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
        Field::optional(
            "static_coefficient",
            FieldKind::Positive,
            "",
            "creeps",
            "the coefficient up to which it sticks, at least `coefficient`",
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
    Quantity::new(
        "pressing",
        "N",
        "what presses the surfaces together: `preload` and the reaction; zero where the level is given",
    ),
];

/// Refuses what does not fit together.
fn check(values: &Values) -> Result<(), Diagnostics> {
    let what = values.what();
    values.at_most_one(&["coulomb", "coefficient"])?;
    if !["viscous", "coulomb", "coefficient"].iter().any(|key| values.has(key)) {
        let help = "add the friction: `viscous = …`, `coulomb = …` for a given level, or `coefficient = …` to follow the reaction";
        return Err(values.error(format!("{what} needs `viscous`, `coulomb` or `coefficient`")).help(help).into());
    }
    let dry = ["coulomb", "coefficient"];
    let needs: [(&str, &[&str], &str); 6] = [
        ("velocity", &dry, "is for dry friction"),
        ("static", &dry[..1], "is for a given level of dry friction"),
        ("static_coefficient", &dry[1..], "is for friction that follows the reaction"),
        ("preload", &dry[1..], "is for friction that follows the reaction"),
        ("radius", &dry[1..], "is for friction that follows the reaction"),
        ("length", &dry[1..], "is for friction that follows the reaction"),
    ];
    for (key, any, why) in needs {
        if values.has(key) && !any.iter().any(|other| values.has(other)) {
            let help = format!("add `{} = …`, or leave it out", any.join(" = …` or `"));
            return Err(values.error_at(key, format!("`{key}` of {what} {why}")).help(help).into());
        }
    }
    values.at_most_one(&["velocity", "static"])?;
    values.at_most_one(&["velocity", "static_coefficient"])?;
    Ok(())
}

fn make(values: &Values, place: &Placement) -> Made {
    check(values)?;
    let along = place.joint();
    let presses = match values.has("coefficient") {
        true => Some(Presses {
            preload: values.number("preload"),
            coefficient: values.optional_number("coefficient").unwrap_or_default(),
            bearing: Bearing::read(values, place)?,
        }),
        false => None,
    };
    let (slides, sticks) =
        if presses.is_some() { ("coefficient", "static_coefficient") } else { ("coulomb", "static") };
    let level = values.optional_number(slides).unwrap_or(0.0);
    // a turn rubs at its radius
    let radius = values.optional_number("radius").filter(|_| along.motion.turns());
    let arm = radius.unwrap_or(1.0);
    let dry = match values.optional_number(sticks) {
        None => Dry::Creeps { velocity: values.number("velocity") },
        Some(most) if most >= level => Dry::Sticks { level: most * arm },
        Some(_) => {
            let message = format!("`{sticks}` of {} is below `{slides}`", values.what());
            let help = "static friction must be at least as large as sliding friction";
            return Err(values.error_at(sticks, message).help(help).into());
        }
    };
    Ok(Box::new(Friction { along, viscous: values.number("viscous"), slides: level * arm, presses, dry }))
}

/// What dry friction is against a rate, as a part of its level.
struct Against {
    part: f64,
    by_rate: f64,
}

impl Friction {
    fn against(&self, mode: Mode, rate: f64) -> Against {
        let part = match (&self.dry, mode) {
            (Dry::Creeps { velocity }, _) => {
                let part = (rate / velocity).tanh();
                return Against { part, by_rate: (1.0 - part * part) / velocity };
            }
            (_, FORWARD) => 1.0,
            (_, BACKWARD) => -1.0,
            (_, STICKING | CARRIED) => 0.0,
            _ if rate == 0.0 => 0.0,
            _ => rate.signum(),
        };
        Against { part, by_rate: 0.0 }
    }

    /// What presses the surfaces together: 1 where the level is given.
    fn pressed(&self, at: &Seen) -> Pressed {
        match &self.presses {
            None => Pressed { load: 1.0, ..Pressed::default() },
            Some(Presses { preload, bearing, .. }) => {
                let pressed = bearing.pressed(at);
                Pressed { load: preload + pressed.load, ..pressed }
            }
        }
    }

    /// The effort of what slips or creeps.
    fn slipping(&self, at: &Seen) -> f64 {
        let rate = self.along.rate(at);
        let part = self.against(at.mode, rate).part;
        let level = if part == 0.0 { 0.0 } else { self.slides * self.pressed(at).load };
        -self.viscous * rate - level * part
    }

    /// The level up to which it sticks, if it does.
    fn sticks(&self, at: &Seen) -> Option<f64> {
        match self.dry {
            Dry::Creeps { .. } => None,
            Dry::Sticks { level } => Some(level * self.pressed(at).load),
        }
    }

    fn may_stick(&self) -> bool {
        matches!(self.dry, Dry::Sticks { .. })
    }
}

impl Force for Friction {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let pressing = if self.presses.is_some() { self.pressed(at).load } else { 0.0 };
        out.copy_from_slice(&[self.along.rate(at), self.effort(at), pressing]);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        self.along.push(at, self.slipping(at), out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let (rate, pressed) = (self.along.rate(at), self.pressed(at));
        let against = self.against(at.mode, rate);
        let effort = -self.viscous * rate - self.slides * pressed.load * against.part;
        let slope = -self.viscous - self.slides * pressed.load * against.by_rate;
        let (gradient, drift) = (self.along.gradient(at), self.along.drift(at));
        let by_displacement = combined(slope, &drift, -self.slides * against.part, &pressed.by_displacement);
        self.along.push_stiffness(at, effort, &by_displacement, &scaled(slope, &gradient), k, d);
    }
    fn along(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        // what sticks is held by −λ
        self.slipping(at) - at.lambda
    }
    fn power(&self, at: &Seen) -> f64 {
        self.slipping(at) * self.along.rate(at)
    }
    fn has_power(&self) -> bool {
        true
    }
    fn damped(&self) -> bool {
        true
    }
    fn switches(&self) -> usize {
        if self.may_stick() { 2 } else { 0 }
    }
    fn mode(&self, at: &Seen) -> Mode {
        match self.along.rate(at) {
            rate if rate.abs() <= AT_REST => STICKING,
            rate if rate > 0.0 => FORWARD,
            _ => BACKWARD,
        }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        match (at.mode, self.sticks(at)) {
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
        let law = HoldingLaw::Dry { rate: self.along.rate(at), sticks: self.sticks(at)?, modes };
        Some((law, vec![self.along.gradient(at)]))
    }
    fn holds(&self, mode: Mode) -> Vec<Box<dyn Equation>> {
        match mode == STICKING && self.may_stick() {
            true => vec![follow_rate(self.along.motion, Expression::constant(0.0))],
            false => Vec::new(),
        }
    }
    fn follows(&self, _mode: Mode) -> Option<Followed> {
        self.presses.as_ref().map(|presses| Followed::Joint(presses.bearing.joint))
    }
    fn following(&self, at: &Seen) -> Following {
        let Some(presses) = &self.presses else { return Following::default() };
        let c = -self.slides * self.against(at.mode, self.along.rate(at)).part;
        let pressed = presses.bearing.pressed(at);
        let mut slopes = [0.0; MAX_ROWS];
        slopes.iter_mut().zip(pressed.by_lambda).for_each(|(slope, by)| *slope = c * by);
        Following { load: self.along.gradient(at), size: c * pressed.load, slopes, coefficient: presses.coefficient }
    }
}
