//! Limits of a joint coordinate.

use super::closing::{CARRIED, CLOSED, Closing, DAMPING, OPEN, PUSH_OUT, Push, REST_SPEED, RESTITUTION};
use super::{Along, Ends, Force, Kind, Made, Placement, Seen, Switch, combined, scaled};
use crate::channel::Quantity;
use crate::dynamics::{HoldingLaw, Mode, Track};
use crate::file::{Expression, Field, FieldKind, Values};
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::Motion;
use crate::joints::equations::{Equation, follow};

/// Stops that a joint coordinate x runs into at its limits: springs and dampers, or impacts.
///
/// With the depth δ beyond a limit a soft stop pushes back by k δ (1 + α δ̇), but never pulls
/// [Hunt & Crossley 1975]. The damping grows with the depth, so the force does not jump at the touch, and a
/// soft touch at the speed v leaves about v (1 − ⅔ α v) of it.
struct JointStop {
    along: Along,
    lower: f64,
    upper: f64,
    law: Closing,
}

/// The mode in which x is at the lower limit, and that in which it is at the upper one.
const LOWER: Mode = CLOSED;
const UPPER: Mode = CLOSED + 1;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "stop",
    doc: "Stops at the limits of a joint coordinate x: at the depth d beyond `lower` or `upper` they push back by \
          stiffness · d · (1 + damping · dd/dt), and never pull. With `restitution` they are hard: x bounces off, and \
          rests where less than `rest_speed` would be left. Touching, leaving and bouncing are events.",
    fields: &[
        Field::optional("lower", FieldKind::Number, "m, rad", "no limit", "lower limit of the coordinate"),
        Field::optional("upper", FieldKind::Number, "m, rad", "no limit", "upper limit of the coordinate"),
        Field::optional("stiffness", FieldKind::Positive, "N/m, N m/rad", "`restitution`", "stiffness of the stops"),
        DAMPING,
        RESTITUTION,
        REST_SPEED,
        PUSH_OUT,
    ],
    ends: Ends::Joint,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("depth", "m", "how far the coordinate is beyond the limit that it touches; zero between the limits")
        .turning("rad"),
    Quantity::new(
        "effort",
        "N",
        "push along the joint coordinate: positive at the lower limit, negative at the upper one; for a hard stop, \
         the force that holds the coordinate at rest; its impacts are events",
    )
    .turning("N m"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let [lower, upper] = ["lower", "upper"].map(|key| values.optional_number(key));
    if lower.is_none() && upper.is_none() {
        let help = "add `lower = …`, `upper = …`, or both";
        return Err(values.error(format!("{} has no limit", values.what())).help(help).into());
    }
    let (lower, upper) = (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY));
    if lower >= upper {
        let message = format!("`lower` of {} is not below `upper`", values.what());
        return Err(values.error_at("lower", message).help("to hold a coordinate, use a drive").into());
    }
    Ok(Box::new(JointStop { along: place.joint(), lower, upper, law: Closing::read(values, None)? }))
}

impl JointStop {
    /// The gaps to both limits.
    fn gaps(&self, at: &Seen) -> [f64; 2] {
        let x = self.along.value(at);
        [x - self.lower, self.upper - x]
    }

    /// The push of the stop that acts, and the direction along x in which it goes.
    fn push(&self, at: &Seen) -> Option<(Push, f64)> {
        let sides = self.gaps(at).into_iter().zip([(LOWER, 1.0), (UPPER, -1.0)]);
        let mut acting = sides.filter(|(gap, (closed, _))| Closing::acts(at.mode, *closed, *gap));
        let (gap, (_, sign)) = acting.next()?;
        Some((self.law.push(gap, sign * self.along.rate(at)), sign))
    }
}

impl Force for JointStop {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let [lower, upper] = self.gaps(at);
        out.copy_from_slice(&[(-lower).max(-upper).max(0.0), self.effort(at)]);
    }
    fn along(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        // what is held is held by −λ
        self.push(at).map_or(0.0, |(push, sign)| sign * push.force) - at.lambda
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        if let Some((push, sign)) = self.push(at) {
            self.along.push(at, sign * push.force, out);
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let Some((push, sign)) = self.push(at) else { return };
        let (gradient, drift) = (self.along.gradient(at), self.along.drift(at));
        let by_displacement = combined(push.by_gap, &gradient, push.by_rate, &drift);
        self.along.push_stiffness(at, sign * push.force, &by_displacement, &scaled(push.by_rate, &gradient), k, d);
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.push(at).map_or(0.0, |(push, _)| push.stored)
    }
    fn power(&self, at: &Seen) -> f64 {
        self.push(at).map_or(0.0, |(push, sign)| (push.force - push.elastic) * sign * self.along.rate(at))
    }
    fn has_power(&self) -> bool {
        self.law.damped()
    }
    fn damped(&self) -> bool {
        self.law.damped()
    }
    fn measures(&self) -> Option<Motion> {
        Some(self.along.motion)
    }
    fn switches(&self) -> usize {
        2
    }
    fn mode(&self, at: &Seen) -> Mode {
        let (gaps, rate) = (self.gaps(at), self.along.rate(at));
        match [self.law.starts_closed(gaps[0], rate), self.law.starts_closed(gaps[1], -rate)] {
            [true, _] => LOWER,
            [_, true] => UPPER,
            _ => OPEN,
        }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let [lower, upper] = self.gaps(at);
        match at.mode {
            LOWER => out[0] = self.law.while_closed(lower, -at.lambda),
            UPPER => out[1] = self.law.while_closed(upper, at.lambda),
            mode => (out[0], out[1]) = (self.law.while_open(mode, lower), self.law.while_open(mode, upper)),
        }
    }
    fn tracks(&self, at: &Seen, out: &mut [Track]) {
        let ([lower, upper], rate) = (self.gaps(at), self.along.rate(at));
        match at.mode {
            LOWER | UPPER if self.law.holds() => {}
            LOWER => out[0] = Track::Line { x: -lower, rate: -rate },
            UPPER => out[1] = Track::Line { x: -upper, rate },
            CARRIED => {}
            _ => (out[0], out[1]) = (Track::Line { x: lower, rate }, Track::Line { x: upper, rate: -rate }),
        }
    }
    fn cross(&self, k: usize, at: &Seen) -> Option<Switch> {
        self.law.cross(at.mode, [LOWER, UPPER][k])
    }
    fn candidate(&self, at: &Seen) -> Option<(HoldingLaw, Vec<Row>)> {
        let [lower, upper] = self.gaps(at);
        let at_lower = at.mode == LOWER || at.mode != UPPER && lower <= upper;
        let (gap, closed) = if at_lower { ((lower, 1.0), LOWER) } else { ((upper, -1.0), UPPER) };
        let law = self.law.candidate(gap, closed, 0.0, None)?;
        Some((law, vec![scaled(gap.1, &self.along.gradient(at))]))
    }
    fn holds(&self, mode: Mode) -> Vec<Box<dyn Equation>> {
        let limit = match mode {
            LOWER => self.lower,
            UPPER => self.upper,
            _ => f64::INFINITY,
        };
        match self.law.holds() && limit.is_finite() {
            true => vec![follow(self.along.motion, Expression::constant(limit))],
            false => Vec::new(),
        }
    }
}
