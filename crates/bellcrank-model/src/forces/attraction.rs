//! Gravity between two points.

use super::line::{Line, Tension};
use super::{Ends, Force, Kind, Made, Placement, Seen};
use crate::channel::Quantity;
use crate::dynamics::StateLaw;
use crate::file::{Field, FieldKind, Values};
use crate::frames::{Covector, Stiffness};
use std::sync::Arc;

/// Tension G m₁ m₂/r².
struct Attraction {
    /// G m₁ m₂.
    strength: f64,
}

/// The attraction over the three components of the distance, which steps must not pass over: it is large where two bodies fly past each
/// other.
struct OverDistance {
    strength: f64,
}

impl StateLaw for OverDistance {
    fn value(&self, x: &[f64]) -> f64 {
        self.strength / x.iter().map(|x| x * x).sum::<f64>()
    }

    fn bounds(&self, x: &[[f64; 2]]) -> [f64; 2] {
        let nearest = |[low, high]: &[f64; 2]| low.max(-high).max(0.0);
        let farthest = |[low, high]: &[f64; 2]| high.max(-low);
        let square = |of: &dyn Fn(&[f64; 2]) -> f64| x.iter().map(|x| of(x).powi(2)).sum::<f64>();
        [self.strength / square(&farthest), self.strength / square(&nearest)]
    }
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "attraction",
    doc: "Gravity between two points, as a rule the centres of mass: constant · m₁ m₂/r² along the line between them. \
          (The gravity of the earth's surface is `gravity` under [model].)",
    fields: &[
        Field::optional("masses", FieldKind::Numbers(2, 2), "kg", "those of the bodies", "the two masses"),
        Field::optional(
            "constant",
            FieldKind::NonNegative,
            "m³/(kg s²)",
            "6.6743e-11",
            "constant of gravitation [CODATA 2018]",
        ),
    ],
    ends: Ends::Centres,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("length", "m", "distance of the two points"),
    Quantity::new("rate", "m/s", "its rate"),
    Quantity::new("force", "N", "attraction, which pulls the points together: positive"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let masses = match values.optional_numbers("masses") {
        Some(m) => [Some(m[0]), Some(m[1])],
        None => [place.masses[0], place.masses[1]],
    };
    let [Some(a), Some(b)] = masses else {
        let message = format!("{} pulls towards the ground, which has no mass", values.what());
        return Err(values
            .error_at("between", message)
            .help("add `masses = [m₁, m₂]` [kg] in the order of `between`")
            .into());
    };
    if a < 0.0 || b < 0.0 {
        let message = format!("`masses` of {} must be positive or zero", values.what());
        return Err(values.error_at("masses", message).help("in kg").into());
    }
    if (place.points[1] - place.points[0]).norm() == 0.0 {
        let message = format!("the points of {} coincide: the force has no direction", values.what());
        return Err(values.error(message).help("move a body, or give other points with `at` or `on`").into());
    }
    Ok(Box::new(Attraction { strength: values.number("constant") * a * b }))
}

impl Attraction {
    fn tension(&self, line: &Line) -> Tension {
        let value = self.strength / (line.l * line.l);
        Tension { value, by_length: -2.0 * value / line.l, by_rate: 0.0 }
    }
}

impl Force for Attraction {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let line = Line::of(at);
        out.copy_from_slice(&[line.l, line.rate, self.tension(&line).value]);
    }
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        if self.strength == 0.0 { Vec::new() } else { vec![(Arc::new(OverDistance { strength: self.strength }), 3)] }
    }
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        out.copy_from_slice(&(at.ends[1].p - at.ends[0].p).0);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let line = Line::of(at);
        line.pull(self.tension(&line).value, out);
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let line = Line::of(at);
        line.pull_stiffness(self.tension(&line), k, d);
    }
    fn stored(&self, at: &Seen) -> f64 {
        -self.strength / Line::of(at).l
    }
}
