//! An actuator on a joint coordinate, and the limits and lag it shares with controllers.

use super::{Along, Ends, Force, Kind, Placement, Seen, StateSlopes};
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
    doc: "A force (or torque) along a joint coordinate as a function of time, kept within `limits` and following with \
          a first-order `lag`. It acts on the second body of the joint and against the first.",
    fields: &[
        Field::required("effort", FieldKind::Function, "N, N m", "the force or torque, a function of t"),
        LIMITS,
        LAG,
        START,
    ],
    ends: Ends::Joint,
    make: |values, place| {
        Ok(Box::new(Actuator { effort: values.function("effort").clone(), stage: Stage::read(values, place)? }))
    },
};

/// The key `limits`.
pub const LIMITS: Field = Field::optional(
    "limits",
    FieldKind::Numbers(2, 2),
    "N, N m",
    "none",
    "least and greatest effort; the corners are rounded over a 20th of the range on both sides",
);
/// The key `lag`.
pub const LAG: Field =
    Field::optional("lag", FieldKind::NonNegative, "s", "0", "time constant with which the effort follows its command");
/// The key `start`.
pub const START: Field = Field::optional("start", FieldKind::Number, "N, N m", "0", "effort at the start, with `lag`");

/// What stands between a command u and a joint: limits, then a lag with the state z, ż = (s(u) − z)/τ.
pub struct Stage {
    limits: Option<Limits>,
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
            limits => limits.map(|l| Limits { least: l[0], greatest: l[1] }),
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

    /// s(u) and s′(u).
    pub fn limited(&self, u: f64) -> (f64, f64) {
        self.limits.map_or((u, 1.0), |l| l.apply(u))
    }

    /// The effort, given the command and the state of the lag.
    pub fn effort(&self, u: f64, z: Option<&f64>) -> f64 {
        z.copied().unwrap_or_else(|| self.limited(u).0)
    }

    /// ż.
    pub fn flow(&self, u: f64, z: f64) -> f64 {
        (self.limited(u).0 - z) / self.lag
    }
}

/// Limits with rounded corners.
#[derive(Clone, Copy, Debug)]
struct Limits {
    least: f64,
    greatest: f64,
}

/// Half the width of a rounded corner over the range between the limits.
const CORNER: f64 = 0.05;

impl Limits {
    /// s and s′: the identity inside, constant outside, between them s′ = 1 − 3x² + 2x³; twice
    /// differentiable.
    fn apply(&self, u: f64) -> (f64, f64) {
        let r = CORNER * (self.greatest - self.least);
        let rounded = |over: f64| {
            // over = how far u is beyond the begin of the corner
            let x = (over / (2.0 * r)).min(1.0);
            (2.0 * r * x * (1.0 - x * x * (1.0 - 0.5 * x)), 1.0 - x * x * (3.0 - 2.0 * x))
        };
        if u > self.greatest - r {
            let (s, slope) = rounded(u - (self.greatest - r));
            (self.greatest - r + s, slope)
        } else if u < self.least + r {
            let (s, slope) = rounded(self.least + r - u);
            (self.least + r - s, slope)
        } else {
            (u, 1.0)
        }
    }
}

impl Force for Actuator {
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
        self.stage.effort(self.effort.value(at.t), at.z.first())
    }
    fn power(&self, at: &Seen) -> f64 {
        self.effort(at) * self.stage.along.rate(at)
    }
    fn has_power(&self) -> bool {
        true
    }
    fn initial(&self) -> Vec<f64> {
        if self.stage.lag > 0.0 { vec![self.stage.start] } else { Vec::new() }
    }
    fn flow(&self, at: &Seen, out: &mut [f64]) {
        out[0] = self.stage.flow(self.effort.value(at.t), at.z[0]);
    }
    fn state_slopes(&self, at: &Seen, out: &mut StateSlopes) {
        out.flow_by_state[0][0] = -1.0 / self.stage.lag;
        out.load_by_state[0] = self.stage.along.gradient(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_kept_and_leave_the_inside_alone() {
        let limits = Limits { least: -1.0, greatest: 3.0 };
        for k in -100..=100 {
            let u = 0.0501 * k as f64;
            let (s, slope) = limits.apply(u);
            assert!((-1.0..=3.0).contains(&s) && (0.0..=1.0).contains(&slope));
            if (-0.8..=2.8).contains(&u) {
                assert_eq!((s, slope), (u, 1.0));
            }
            let h = 1e-6;
            let difference = (limits.apply(u + h).0 - limits.apply(u - h).0) * 0.5 / h;
            assert!((slope - difference).abs() < 1e-8);
        }
        assert_eq!((limits.apply(7.0), limits.apply(-7.0)), ((3.0, 0.0), (-1.0, 0.0)));
    }
}
