//! Limits of a joint coordinate.

use super::{Along, Ends, Force, Kind, Made, Placement, Seen, combined, scaled};
use crate::file::{Field, FieldKind, Values};
use crate::frames::{Covector, Stiffness};
use crate::joints::Motion;

/// Springs and dampers that a joint coordinate x runs into at its limits [Hunt & Crossley 1975].
///
/// With the depth δ beyond a limit the stop pushes back by k δ (1 + α δ̇), but never pulls. The damping
/// grows with the depth, so the force does not jump at the touch, and a soft touch at the speed v leaves
/// about v (1 − ⅔ α v) of it.
struct Stop {
    along: Along,
    lower: f64,
    upper: f64,
    stiffness: f64,
    damping: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "stop",
    doc: "Stops at the limits of a joint coordinate x: at the depth d beyond `lower` or `upper` they push back by \
          stiffness · d · (1 + damping · dd/dt), and never pull.",
    fields: &[
        Field::optional("lower", FieldKind::Number, "m, rad", "no limit", "lower limit of the coordinate"),
        Field::optional("upper", FieldKind::Number, "m, rad", "no limit", "upper limit of the coordinate"),
        Field::required("stiffness", FieldKind::Positive, "N/m, N m/rad", "stiffness of the stops"),
        Field::optional(
            "damping",
            FieldKind::NonNegative,
            "s/m, s/rad",
            "0",
            "damping; a slow impact at the speed v loses about 2/3 · damping · v of its speed",
        ),
    ],
    ends: Ends::Joint,
    make,
};

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
    let (stiffness, damping) = (values.number("stiffness"), values.number("damping"));
    Ok(Box::new(Stop { along: place.joint(), lower, upper, stiffness, damping }))
}

impl Stop {
    /// The depth beyond a limit with its sign: x less the limit, zero between both.
    fn depth(&self, at: &Seen) -> f64 {
        let x = self.along.value(at);
        x - x.clamp(self.lower, self.upper)
    }

    /// The effort along x, and its derivatives by x and by ẋ.
    fn effort(&self, depth: f64, rate: f64) -> (f64, f64, f64) {
        let (k, sign) = (self.stiffness, depth.signum());
        let factor = 1.0 + self.damping * sign * rate;
        if depth == 0.0 || factor <= 0.0 {
            return (0.0, 0.0, 0.0);
        }
        (-k * depth * factor, -k * factor, -k * depth * self.damping * sign)
    }
}

impl Force for Stop {
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let depth = self.depth(at);
        if depth != 0.0 {
            self.along.push(at, self.effort(depth, self.along.rate(at)).0, out);
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let depth = self.depth(at);
        if depth == 0.0 {
            return;
        }
        let (effort, by_value, by_rate) = self.effort(depth, self.along.rate(at));
        let (gradient, drift) = (self.along.gradient(at), self.along.drift(at));
        let by_displacement = combined(by_value, &gradient, by_rate, &drift);
        self.along.push_stiffness(at, effort, &by_displacement, &scaled(by_rate, &gradient), k, d);
    }
    fn stored(&self, at: &Seen) -> f64 {
        0.5 * self.stiffness * self.depth(at).powi(2)
    }
    fn power(&self, at: &Seen) -> f64 {
        let (depth, rate) = (self.depth(at), self.along.rate(at));
        (self.effort(depth, rate).0 + self.stiffness * depth) * rate
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
