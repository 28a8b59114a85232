//! A spring and damper along the line between two points.

use super::characteristic::{Characteristic, curve_field};
use super::line::{Line, Tension};
use super::{Ends, Force, Kind, Made, Placement, Seen, Switch};
use crate::channel::Quantity;
use crate::dynamics::{BY_VALUE, Mode, StateLaw, Track};
use crate::file::{Field, FieldKind, Values};
use crate::frames::{Covector, Stiffness};
use std::sync::Arc;

/// Tension T = F(s) + c l̇ along the line, s = l − l₀. A one-sided one has T = 0 on the other side of
/// s = 0, its damping sets in over a short elongation, and T never changes sign: its modes are slack, acting, and
/// let go, where the damper would turn T around.
struct SpringDamper {
    spring: Characteristic,
    damping: f64,
    length: f64,
    side: Option<Side>,
}

/// Where a one-sided spring acts.
struct Side {
    /// +1 for tension, −1 for compression.
    sign: f64,
    /// The elongation over which the damping sets in.
    engagement: f64,
}

/// The modes of a one-sided spring.
const SLACK: Mode = 1;
const ACTING: Mode = 2;
const LET_GO: Mode = 3;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "spring-damper",
    doc: "A spring and damper along the line between two points: tension F(l − length) + damping · dl/dt with \
          F(s) = stiffness · s, or F the curve through given points (monotone where they are, beyond them straight). \
          A one-sided one acts in tension (a cable) or in compression (a stop) alone.",
    fields: &[
        Field::optional("stiffness", FieldKind::NonNegative, "N/m", "a `curve`", "stiffness"),
        curve_field("m, N", "pairs [elongation, tension] instead of `stiffness`"),
        Field::optional("damping", FieldKind::NonNegative, "N s/m", "0", "viscous damping"),
        Field::optional("length", FieldKind::NonNegative, "m", "that at the start", "unstretched length"),
        Field::optional("tension_only", FieldKind::Flag, "", "false", "acts only when longer than `length`"),
        Field::optional("compression_only", FieldKind::Flag, "", "false", "acts only when shorter than `length`"),
        Field::optional(
            "engagement",
            FieldKind::Positive,
            "m",
            "1 % of `length`",
            "elongation over which the damping of a one-sided spring sets in",
        ),
    ],
    ends: Ends::Points,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("length", "m", "distance of its two points"),
    Quantity::new("deflection", "m", "`length` less the unstretched length: positive when stretched"),
    Quantity::new("rate", "m/s", "rate of `length`: positive when the points move apart"),
    Quantity::new("force", "N", "tension, spring and damper together: positive when it pulls the points together"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let start = (place.points[1] - place.points[0]).norm();
    let spring = Characteristic::read(values)?;
    let length = values.optional_number("length").unwrap_or(start);
    let sign = match (values.flag("tension_only"), values.flag("compression_only")) {
        (false, false) => None,
        (true, false) => Some(1.0),
        (false, true) => Some(-1.0),
        (true, true) => {
            let message = format!("{} cannot act in tension only and in compression only", values.what());
            return Err(values.error_at("compression_only", message).help("leave one of them out").into());
        }
    };
    if sign.is_none() && values.has("engagement") {
        let message = format!("`engagement` of {} is for one-sided springs", values.what());
        let help = "leave it out, or add `tension_only = true` or `compression_only = true`";
        return Err(values.error_at("engagement", message).help(help).into());
    }
    if let (Some(_), Characteristic::Curve(curve)) = (sign, &spring)
        && curve.value(0.0) != 0.0
    {
        let message =
            format!("the curve of {} has the force {} at rest, and would jump", values.what(), curve.value(0.0));
        return Err(values.error_at("curve", message).help("a one-sided spring needs the pair [0, 0]").into());
    }
    let side = match (sign, values.optional_number("engagement")) {
        (None, _) => None,
        (Some(sign), Some(engagement)) => Some(Side { sign, engagement }),
        (Some(sign), None) if length > 0.0 => Some(Side { sign, engagement: 0.01 * length }),
        (Some(_), None) => {
            let message = format!("{} has no length to take `engagement` from", values.what());
            return Err(values.error(message).help("add `engagement = …` [m]: a short elongation").into());
        }
    };
    Ok(Box::new(SpringDamper { spring, damping: values.number("damping"), length, side }))
}

impl SpringDamper {
    /// The tension of a spring that acts, also beyond the place where it becomes slack, and the energy stored.
    fn acting(&self, line: &Line) -> (Tension, f64) {
        let s = line.l - self.length;
        let spring = self.spring.at(s);
        let (mut c, mut c_s) = (self.damping, 0.0);
        if let Some(Side { sign, engagement }) = self.side {
            let x = (sign * s / engagement).min(1.0);
            c *= x * x * (3.0 - 2.0 * x);
            c_s = self.damping * 6.0 * x * (1.0 - x) * sign / engagement;
        }
        let value = spring.force + c * line.rate;
        (Tension { value, by_length: spring.slope + c_s * line.rate, by_rate: c }, spring.energy)
    }

    /// The mode that fits: that of a spring with two sides is always the same.
    fn fitting(&self, line: &Line) -> Mode {
        match &self.side {
            None => ACTING,
            Some(side) if side.sign * (line.l - self.length) <= 0.0 => SLACK,
            Some(side) if side.sign * self.acting(line).0.value <= 0.0 => LET_GO,
            Some(_) => ACTING,
        }
    }

    /// The tension, and the energy stored.
    fn tension(&self, mode: Mode, line: &Line) -> (Tension, f64) {
        match if mode == BY_VALUE { self.fitting(line) } else { mode } {
            SLACK => (Tension::default(), 0.0),
            LET_GO => (Tension::default(), self.acting(line).1),
            _ => self.acting(line),
        }
    }
}

impl Force for SpringDamper {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let line = Line::of(at);
        out.copy_from_slice(&[line.l, line.l - self.length, line.rate, self.tension(at.mode, &line).0.value]);
    }
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        self.spring.laws()
    }
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        out.fill(Line::of(at).l - self.length);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let line = Line::of(at);
        line.pull(self.tension(at.mode, &line).0.value, out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let line = Line::of(at);
        line.pull_stiffness(self.tension(at.mode, &line).0, k, d);
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.tension(at.mode, &Line::of(at)).1
    }
    fn power(&self, at: &Seen) -> f64 {
        // what the tension takes less what the spring keeps
        let line = Line::of(at);
        let mode = if at.mode == BY_VALUE { self.fitting(&line) } else { at.mode };
        let kept = if mode == SLACK { 0.0 } else { self.spring.at(line.l - self.length).force };
        -(self.tension(mode, &line).0.value - kept) * line.rate
    }
    fn has_power(&self) -> bool {
        self.damping != 0.0 || self.side.is_some()
    }
    fn damped(&self) -> bool {
        self.damping != 0.0
    }
    fn switches(&self) -> usize {
        match self.side {
            None => 0,
            Some(_) if self.damping == 0.0 => 1,
            Some(_) => 2,
        }
    }
    fn jumps(&self) -> bool {
        false
    }
    fn mode(&self, at: &Seen) -> Mode {
        self.fitting(&Line::of(at))
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let Some(Side { sign, .. }) = self.side else { return };
        let line = Line::of(at);
        let beyond = sign * (line.l - self.length);
        out[0] = if at.mode == SLACK { -beyond } else { beyond };
        if self.damping != 0.0 && at.mode != SLACK {
            let tension = sign * self.acting(&line).0.value;
            out[1] = if at.mode == LET_GO { -tension } else { tension };
        }
    }
    fn tracks(&self, at: &Seen, out: &mut [Track]) {
        let Some(Side { sign, .. }) = self.side else { return };
        let ([a, b], outside) = ([at.ends[0], at.ends[1]], (sign > 0.0) != (at.mode == SLACK));
        out[0] = Track::Sphere { d: b.p - a.p, rate: b.v - a.v, radius: self.length, outside };
    }
    fn cross(&self, k: usize, at: &Seen) -> Option<Switch> {
        let (mode, what) = match (at.mode, k) {
            (SLACK, _) => (ACTING, "becomes taut"),
            (_, 0) => (SLACK, "becomes slack"),
            (LET_GO, _) => (ACTING, "holds again"),
            _ => (LET_GO, "lets go"),
        };
        Some(Switch { mode, what })
    }
}
