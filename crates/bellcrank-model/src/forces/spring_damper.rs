//! A spring and damper along the line between two points.

use super::{Ends, Force, Kind};
use crate::file::{Field, FieldKind};
use crate::frames::{Covector, Frames, LIN, Stiffness};
use bellcrank_math::{Mat3, Vec3};

/// Tension F = k(l − l₀) + c l̇ along the line.
struct SpringDamper {
    stiffness: f64,
    damping: f64,
    length: f64,
}

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "spring-damper",
    doc: "A spring and damper along the line between two points: tension k (l − length) + damping · dl/dt.",
    fields: &[
        Field::required("stiffness", FieldKind::NonNegative, "N/m", "stiffness k"),
        Field::optional("damping", FieldKind::NonNegative, "N s/m", "0", "viscous damping"),
        Field::optional("length", FieldKind::NonNegative, "m", "that at the start", "unstretched length"),
    ],
    ends: Ends::Points,
    make: |values, place| {
        let start = (place.points[1] - place.points[0]).norm();
        Ok(Box::new(SpringDamper {
            stiffness: values.number("stiffness"),
            damping: values.number("damping"),
            length: values.optional_number("length").unwrap_or(start),
        }))
    },
};

/// The line between the ends: direction, length, rate of the length, relative velocity.
struct Line {
    u: Vec3,
    l: f64,
    rate: f64,
    v: Vec3,
}

impl Line {
    fn of(at: &Frames) -> Line {
        let d = at.ends[1].p - at.ends[0].p;
        let v = at.ends[1].v - at.ends[0].v;
        let u = d.normalized().unwrap_or(Vec3::ZERO); // a line of no length has no direction
        Line { u, l: d.norm(), rate: u.dot(v), v }
    }
}

impl SpringDamper {
    fn tension(&self, line: &Line) -> f64 {
        self.stiffness * (line.l - self.length) + self.damping * line.rate
    }
}

/// Adds ∓m to the four pairs of two ends that pull at each other.
fn add_opposed(k: &mut Stiffness, m: Mat3) {
    for (i, j, m) in [(0, 0, -m), (0, 1, m), (1, 0, m), (1, 1, -m)] {
        k.add(i, LIN, j, LIN, m);
    }
}

impl Force for SpringDamper {
    fn load(&self, at: &Frames, out: &mut [Covector]) {
        let line = Line::of(at);
        let pull = line.u * self.tension(&line);
        out[0].lin += pull;
        out[1].lin -= pull;
    }
    fn stiffness(&self, at: &Frames, k: &mut Stiffness, d: &mut Stiffness) {
        let line = Line::of(at);
        let along = line.u.outer(line.u);
        add_opposed(d, along * self.damping);
        if line.l == 0.0 {
            return;
        }
        let across = (Mat3::IDENTITY - along) * (1.0 / line.l);
        let turning = line.u.outer(across * line.v); // u ∂(l̇)/∂d
        add_opposed(k, along * self.stiffness + turning * self.damping + across * self.tension(&line));
    }
    fn stored(&self, at: &Frames) -> f64 {
        0.5 * self.stiffness * (Line::of(at).l - self.length).powi(2)
    }
    fn power(&self, at: &Frames) -> f64 {
        -self.damping * Line::of(at).rate.powi(2)
    }
    fn has_power(&self) -> bool {
        self.damping != 0.0
    }
    fn damped(&self) -> bool {
        self.damping != 0.0
    }
}
