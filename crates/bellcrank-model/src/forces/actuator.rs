//! An actuator on a joint coordinate, and the limits and lag it shares with controllers.

use super::{Along, Ends, Force, Kind, MAX_STATES, Placement, Seen, StateSlopes, Switch, scaled};
use crate::channel::Quantity;
use crate::dynamics::{BY_VALUE, Mode};
use crate::file::{Diagnostics, Expression, Field, FieldKind, Values};
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::Motion;

/// A given effort, within limits and behind a lag, along a joint coordinate.
struct Actuator {
    effort: Expression,
    stage: Stage,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "joint-actuator",
    doc: "A force (or torque) along a joint coordinate as a function of time and of the state, kept within `limits` and following with \
          a first-order `lag`. It acts on the second body of the joint and against the first.",
    fields: &[
        Field::required("effort", FieldKind::Function, "N, N m", "the force or torque, a function of t and the state"),
        LIMITS,
        LAG,
        START,
    ],
    ends: Ends::Joint,
    channels: CHANNELS,
    make: |values, place| {
        Ok(Box::new(Actuator { effort: values.function("effort").clone(), stage: Stage::read(values, place)? }))
    },
};

/// The channel `effort` of whatever acts along a joint coordinate.
pub const EFFORT: Quantity = Quantity::new(
    "effort",
    "N",
    "force (or torque) along the joint coordinate, on the second body of the joint and against the first, after limits and lag",
)
.turning("N m");

const CHANNELS: &[Quantity] =
    &[Quantity::new("command", "N", "the effort that is asked for, before limits and lag").turning("N m"), EFFORT];

/// The key `limits`.
pub const LIMITS: Field = Field::optional(
    "limits",
    FieldKind::Numbers(2, 2),
    "N; N m",
    "none",
    "least and greatest effort; reaching and leaving them are events",
);
/// The key `lag`.
pub const LAG: Field =
    Field::optional("lag", FieldKind::NonNegative, "s", "0", "time constant with which the effort follows its command");
/// The key `start`.
pub const START: Field = Field::optional("start", FieldKind::Number, "N, N m", "0", "effort at the start, with `lag`");

/// What stands between a command u and a joint: limits, then a lag with the state z, ż = (s(u) − z)/τ.
pub struct Stage {
    limits: Option<EffortLimits>,
    /// τ; zero for none.
    pub lag: f64,
    /// z at the start.
    pub start: f64,
    /// The coordinate it acts on.
    pub along: Along,
}

impl Stage {
    /// From the keys `limits`, `lag` and `start`.
    pub fn read(values: &Values, place: &Placement) -> Result<Stage, Diagnostics> {
        let what = values.what();
        let limits = match values.optional_numbers("limits") {
            Some(l) if l[0] >= l[1] => {
                let message = format!("`limits` of {what} are {} and {}: the first must be the lower", l[0], l[1]);
                return Err(values.error_at("limits", message).help("write them as [least, greatest]").into());
            }
            limits => limits.map(|l| EffortLimits { least: l[0], greatest: l[1] }),
        };
        let (lag, start) = (values.number("lag"), values.number("start"));
        if lag == 0.0 && values.has("start") {
            let message = format!("`start` of {what} is for an effort that lags behind");
            return Err(values.error_at("start", message).help("add `lag = …` [s], or leave it out").into());
        }
        if let Some(l) = limits.filter(|l| !(l.least..=l.greatest).contains(&start)) {
            let message = format!("`start` of {what} is {start}, outside of its limits {} and {}", l.least, l.greatest);
            let key = if values.has("start") { "start" } else { "limits" };
            return match lag {
                0.0 => Ok(Stage { limits, lag, start, along: place.joint() }),
                _ => Err(values.error_at(key, message).help("give a `start` within the limits").into()),
            };
        }
        Ok(Stage { limits, lag, start, along: place.joint() })
    }

    /// s(u) and s′(u) in a mode.
    pub fn limited(&self, mode: Mode, u: f64) -> (f64, f64) {
        let Some(EffortLimits { least, greatest }) = self.limits else { return (u, 1.0) };
        match if mode == BY_VALUE { self.fitting(u) } else { mode } {
            LEAST => (least, 0.0),
            GREATEST => (greatest, 0.0),
            _ => (u, 1.0),
        }
    }

    /// The effort in a mode, given the command and the state of the lag.
    pub fn effort(&self, mode: Mode, u: f64, z: Option<&f64>) -> f64 {
        z.copied().unwrap_or_else(|| self.limited(mode, u).0)
    }

    /// ż.
    pub fn flow(&self, mode: Mode, u: f64, z: f64) -> f64 {
        (self.limited(mode, u).0 - z) / self.lag
    }

    /// How many switch functions the limits have.
    pub fn switches(&self) -> usize {
        if self.limits.is_some() { 2 } else { 0 }
    }

    /// The mode that fits a command.
    pub fn fitting(&self, u: f64) -> Mode {
        match self.limits {
            Some(l) if u < l.least => LEAST,
            Some(l) if u > l.greatest => GREATEST,
            _ => WITHIN,
        }
    }

    /// How far the command is inside of where the mode is right, over the range of the limits.
    pub fn switch_values(&self, mode: Mode, u: f64, out: &mut [f64]) {
        let Some(EffortLimits { least, greatest }) = self.limits else { return };
        let range = greatest - least;
        match mode {
            LEAST => out[0] = (least - u) / range,
            GREATEST => out[1] = (u - greatest) / range,
            _ => out.copy_from_slice(&[(u - least) / range, (greatest - u) / range]),
        }
    }

    /// What happens when one of them falls through zero.
    pub fn cross(&self, k: usize, mode: Mode) -> Switch {
        let (mode, what) = match (mode, k) {
            (LEAST | GREATEST, _) => (WITHIN, "leaves its limit"),
            (_, 0) => (LEAST, "reaches its least effort"),
            _ => (GREATEST, "reaches its greatest effort"),
        };
        Switch { mode, what }
    }
}

/// The limits s(u) = min(max(u, least), greatest) of an effort.
#[derive(Clone, Copy, Debug)]
struct EffortLimits {
    least: f64,
    greatest: f64,
}

/// The modes of an effort with limits.
const WITHIN: Mode = 1;
const LEAST: Mode = 2;
const GREATEST: Mode = 3;

impl Actuator {
    /// s′(u).
    fn limit_slope(&self, at: &Seen) -> f64 {
        self.stage.limited(at.mode, self.effort.value_with(at.t, at.inputs)).1
    }
}

impl Force for Actuator {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        out.copy_from_slice(&[self.effort.value_with(at.t, at.inputs), self.effort(at)]);
    }
    fn courses(&self) -> Vec<&Expression> {
        vec![&self.effort]
    }
    fn refuses_signals(&self) -> Option<&'static str> {
        None
    }
    fn load_by_input(&self, at: &Seen, variable: usize) -> Row {
        let slope = if self.stage.lag > 0.0 { 0.0 } else { self.limit_slope(at) };
        scaled(slope * self.effort.slope_with(variable, at.t, at.inputs), &self.stage.along.gradient(at))
    }
    fn flow_by_input(&self, at: &Seen, variable: usize) -> [f64; MAX_STATES] {
        let mut out = [0.0; MAX_STATES];
        out[0] = self.limit_slope(at) * self.effort.slope_with(variable, at.t, at.inputs) / self.stage.lag;
        out
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        self.stage.along.push(at, self.effort(at), out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let none = Row::default();
        self.stage.along.push_stiffness(at, self.effort(at), &none, &none, k, d);
    }
    fn along(&self) -> Option<Motion> {
        Some(self.stage.along.motion)
    }
    fn effort(&self, at: &Seen) -> f64 {
        self.stage.effort(at.mode, self.effort.value_with(at.t, at.inputs), at.z.first())
    }
    fn power(&self, at: &Seen) -> f64 {
        self.effort(at) * self.stage.along.rate(at)
    }
    fn stores(&self) -> bool {
        false
    }
    fn has_power(&self) -> bool {
        true
    }
    fn initial(&self) -> Vec<f64> {
        if self.stage.lag > 0.0 { vec![self.stage.start] } else { Vec::new() }
    }
    fn flow(&self, at: &Seen, out: &mut [f64]) {
        out[0] = self.stage.flow(at.mode, self.effort.value_with(at.t, at.inputs), at.z[0]);
    }
    fn state_slopes(&self, at: &Seen, out: &mut StateSlopes) {
        out.flow_by_state[0][0] = -1.0 / self.stage.lag;
        out.load_by_state[0] = self.stage.along.gradient(at);
    }
    fn switches(&self) -> usize {
        self.stage.switches()
    }
    fn jumps(&self) -> bool {
        false
    }
    fn mode(&self, at: &Seen) -> Mode {
        self.stage.fitting(self.effort.value_with(at.t, at.inputs))
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        self.stage.switch_values(at.mode, self.effort.value_with(at.t, at.inputs), out);
    }
    fn cross(&self, k: usize, at: &Seen) -> Option<Switch> {
        Some(self.stage.cross(k, at.mode))
    }
}
