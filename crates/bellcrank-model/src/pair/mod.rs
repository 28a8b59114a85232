//! Two curves, one on each of two bodies, that touch at one place.
//!
//! In the plane they are `Outlines` of bodies, with a free side; in space `Wires`, with a thickness. Both tell where they meet, with the
//! derivatives of that: `joints/curve_on_curve.rs` holds them in touch, `forces/curve_contact.rs` lets them push.

mod flat;
mod wires;

use crate::dual::{Dual, DualVec};
use crate::dynamics::Limit;
use crate::file::{Diagnostics, Field, FieldKind, Values, joined};
use crate::frames::Frame;
use crate::profile::{FIELDS, FIELDS_2, Profile};
use crate::space::Space;
use bellcrank_math::Vec3;
use flat::Outlines;
use wires::Wires;

/// The key that turns the free side of the first curve to its inside.
const INSIDE: Field = Field::optional(
    "inside",
    FieldKind::Flag,
    "",
    "false",
    "in the plane: the second body is inside of the first curve, which is closed",
);

/// The thickness of the first curve in space, and of the second.
const RADII: [Field; 2] = [
    Field::optional(
        "radius",
        FieldKind::Positive,
        "m",
        "0",
        "in space: the curve is the middle line of a round wire of this radius",
    ),
    Field::optional("radius2", FieldKind::Positive, "m", "0", "in space: the same of the second curve"),
];

/// The keys of both curves.
pub const PAIR_FIELDS: [Field; 11] = joined(&[&FIELDS, &FIELDS_2, &[INSIDE], &RADII]);

/// Two curves on two frames.
#[derive(Clone, Debug)]
pub enum Pair {
    /// In the plane.
    Flat(Outlines),
    /// In space.
    Wires(Wires),
}

/// Where two curves are nearest.
pub struct Meeting<const N: usize> {
    /// From the origin of the first frame to the point where they touch, and from that of the second.
    pub arms: [DualVec<N>; 2],
    /// The common normal, towards the second body.
    pub normal: DualVec<N>,
    /// The distance along it.
    pub gap: Dual<N>,
    /// The parameters of both points.
    pub at: [f64; 2],
}

impl Pair {
    /// From the keys of both curves, with their frames at the start; refuses what touches at several places.
    pub fn read(values: &Values, space: Space, frames: &[Frame]) -> Result<Pair, Diagnostics> {
        let (keys, instead): (&[&str], _) = match space {
            Space::Plane => {
                (&["radius", "radius2"], "in the plane the curves are the outlines themselves: leave it out")
            }
            Space::Space => (&["inside"], "in space the curves are wires, which have no sides: leave it out"),
        };
        if let Some(key) = keys.iter().find(|key| values.has(key)) {
            let other = if space == Space::Plane { "space" } else { "the plane" };
            let message = format!("`{key}` of {} is for {other}", values.what());
            return Err(values.error_at(key, message).help(instead).into());
        }
        match space {
            Space::Plane => Ok(Pair::Flat(Outlines::read(values)?)),
            Space::Space => Ok(Pair::Wires(Wires::read(values, frames)?)),
        }
    }

    fn curves(&self) -> [&Profile; 2] {
        match self {
            Pair::Flat(pair) => pair.curves(),
            Pair::Wires(pair) => pair.curves(),
        }
    }

    /// Points along the first curve, to be drawn.
    pub fn outline(&self) -> Vec<Vec3> {
        self.curves()[0].outline().collect()
    }

    /// The thickness of both together: none in the plane.
    pub fn thickness(&self) -> f64 {
        match self {
            Pair::Flat(_) => 0.0,
            Pair::Wires(pair) => pair.thickness(),
        }
    }

    /// The circles around both curves in the plane, where both are closed and the second body is outside of the first.
    pub fn circles_around(&self) -> Option<[(Vec3, f64); 2]> {
        match self {
            Pair::Flat(pair) => pair.circles_around(),
            Pair::Wires(_) => None,
        }
    }

    /// Whether it has [limits](Pair::limit).
    pub fn is_limited(&self) -> bool {
        matches!(self, Pair::Wires(_)) || self.curves().iter().any(|curve| !curve.is_closed())
    }

    /// What is most beyond its range: the nearest points on curves that end, or the angle between wires.
    pub fn limit(&self, ends: &[Frame]) -> (Limit, f64) {
        let meeting = self.meet::<0>(ends);
        let beyond = self.curves().into_iter().zip(meeting.at).map(|(curve, s)| curve.beyond(s)).fold(0.0, f64::max);
        match self {
            Pair::Wires(pair) if beyond <= Limit::Range.bound() => (Limit::Parallel, pair.likeness(ends, meeting.at)),
            _ => (Limit::Range, beyond),
        }
    }

    /// The nearest points, with derivatives by the motions of the frames.
    pub fn meet<const N: usize>(&self, ends: &[Frame]) -> Meeting<N> {
        match self {
            Pair::Flat(pair) => pair.meet(ends),
            Pair::Wires(pair) => pair.meet(ends),
        }
    }
}
