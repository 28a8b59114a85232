//! Joints: which equations hold between two bodies, and which motions stay free.
//!
//! A new joint is one file here and its line in [`CATALOG`]; parser, schema, documentation and the
//! laws of `tests/catalog.rs` walk the catalog.

pub mod equations;

mod armature;
mod belt;
pub mod cam;
mod constant_velocity;
pub mod curve_on_curve;
mod cylindrical;
mod distance;
mod drive;
mod drive_point;
mod fixed;
mod gear;
mod knife_edge;
mod planar;
mod point_on_curve;
mod point_on_line;
mod point_on_plane;
mod prismatic;
mod rack;
mod revolute;
mod rolling_disk;
mod screw;
mod spherical;
mod tie;
mod universal;

use crate::file::{Diagnostic, Diagnostics, Expression, Field, Values};
use crate::frames::Frame;
use crate::space::Space;
use bellcrank_math::{Mat3, Vec3};
pub use drive::drive;
pub use equations::{Equation, Plain};

/// The first axis of a frame.
pub const X: usize = 0;
/// The second axis of a frame.
pub const Y: usize = 1;
/// The third axis of a frame; in the plane it points at the reader.
pub const Z: usize = 2;

/// A motion that a joint leaves free: its coordinate and rate are recorded, may be set at the start
/// and may be driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// A turn about an axis of the first frame.
    Rotate(usize),
    /// A turn about an axis of the second frame.
    RotateSecond(usize),
    /// A shift along an axis of the first frame.
    Translate(usize),
}

/// What the coordinates of a joint and their rates are called, in the file and in the results.
///
/// A turn has `angle` and `rate`, a slide `position` and `rate`, or `speed` where the joint also turns; a
/// second turn or slide has `angle2`, `rate2` and so on.
pub fn names(motions: &[Motion]) -> Vec<[&'static str; 2]> {
    let turning = motions.iter().any(Motion::turns);
    let (mut turns, mut slides) = (0, 0);
    let name = |m: &Motion| {
        let count = if m.turns() { &mut turns } else { &mut slides };
        *count += 1;
        match (m.turns(), turning, *count) {
            (true, _, 1) => ["angle", "rate"],
            (true, _, _) => ["angle2", "rate2"],
            (false, true, 1) => ["position", "speed"],
            (false, true, _) => ["position2", "speed2"],
            (false, false, 1) => ["position", "rate"],
            (false, false, _) => ["position2", "rate2"],
        }
    };
    motions.iter().map(name).collect()
}

/// A joint between bodies.
pub trait Joint: Send + Sync {
    /// The equations that hold: Cartesian coordinates, loop closures.
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>>;
    /// The motions that stay free, as far as single numbers describe them; those of a screw are one.
    fn motions(&self, _space: Space) -> Vec<Motion> {
        Vec::new()
    }
    /// The motion between its first two places that it leads as a function of time, if it does.
    fn drives(&self) -> Option<Motion> {
        None
    }
    /// The motion between its first two places whose rotor it turns: the last of its places, its only coordinate.
    fn turns_rotor(&self) -> Option<Motion> {
        None
    }
    /// The curve it follows, in its first frame, to be drawn.
    fn outline(&self) -> Vec<Vec3> {
        Vec::new()
    }
    /// The radii of what is round about its places, to be drawn.
    fn radii(&self) -> Vec<f64> {
        Vec::new()
    }
    /// The moves that lead from the first frame to the second, where the joint has coordinates of its own: it may
    /// then be a joint of the tree in relative coordinates. Slides come before turns.
    fn moves(&self, _space: Space) -> Option<Vec<Move>> {
        None
    }
}

/// A step on the way from one frame of a joint to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// A turn or a slide.
    Along(Motion),
    /// A turn about z of the first frame that shifts along it by so much per rad.
    Screw(f64),
    /// Any rotation.
    Ball,
}

/// Which axes the frames of a joint have, and what `axis` and `axis2` in the file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// None: only the point matters.
    None,
    /// The frames' z is `axis` in space and x `axis2`; in the plane z points at the reader.
    Turning,
    /// The frames' z is `axis` in space and x `axis2`; in the plane x is `axis`.
    Sliding,
    /// z of the first frame is `axis`, z of the second `axis2`: two shafts that meet at an angle, x of
    /// the second frame being x of the first, bent with the shaft.
    Shafts,
    /// z of the first frame is `normal`, of the second `axis`; in the plane y of both is `normal`.
    Rolling,
    /// z of both frames is `normal`, in the plane y.
    Facing,
    /// z of the first frame is `normal` with x along the road, z of the second the axle `axis`; in the plane y of both is
    /// `normal`.
    Road,
}

/// Where a joint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mount {
    /// At one place, shared by two bodies: `between`, `at` or `on`, `axis`, `axis2`.
    Shared(Axes),
    /// At two places, one on each body: `between`, `at` or `on` with two points, `axis`, `axis2`.
    Points(Axes),
    /// At a point of one body: `body`, `at` or `on`. The first frame is the world.
    Body,
    /// On one other joint: `joint`. The frames are its own.
    Joint,
    /// On two other joints: `joints`. The frames are their second ones, then their first ones.
    Joints,
    /// On a coordinate of one other joint, which it gives an inertia: `joint`, `coordinate`, `inertia`. The frames are
    /// those of the joint, then one in the world and one on the rotor, whose z is the direction of the coordinate.
    Rotor,
}

/// What a joint may know of the start, where lengths, angles and motions are left to it.
pub struct Placement {
    /// Its frames, in the world, at the start.
    pub frames: Vec<Frame>,
    /// The angles of their bodies, in the plane; they may exceed a turn.
    pub angles: Vec<f64>,
    /// Plane or space.
    pub space: Space,
    /// The axes that directions in its fields are given in, in the world.
    pub axes: Mat3,
    /// The joints it stands on, where it does; of [`Mount::Rotor`] with the one motion it acts along.
    pub joints: Vec<Base>,
}

impl Placement {
    /// The angle between two frames to the nearest turn: a turn of the joint is counted from there.
    pub fn turned(&self, ends: [usize; 2]) -> f64 {
        self.angles[ends[1]] - self.angles[ends[0]]
    }
}

/// A joint that another one stands on.
pub struct Base {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its motions.
    pub motions: Vec<Motion>,
}

impl Base {
    /// Its first turn.
    pub fn turn(&self) -> Option<Motion> {
        self.motions.iter().copied().find(Motion::turns)
    }

    /// Its first slide.
    pub fn slide(&self) -> Option<Motion> {
        self.motions.iter().copied().find(|m| !m.turns())
    }

    /// The motion of a coordinate by its name, or its only one.
    fn motion(&self, values: &Values, key: &str, name: Option<&str>) -> Result<Motion, Diagnostic> {
        let names: Vec<&str> = names(&self.motions).into_iter().map(|[name, _]| name).collect();
        let found = match name {
            Some(name) => names.iter().position(|n| *n == name),
            None if names.len() == 1 => Some(0),
            None => None,
        };
        found.map(|k| self.motions[k]).ok_or_else(|| match name {
            Some(name) => self.lacks(values, key, &format!("`{name}`")),
            None => self.lacks(values, key, "single coordinate"),
        })
    }

    /// The error for a motion it does not have.
    fn lacks(&self, values: &Values, key: &str, motion: &str) -> Diagnostic {
        let names = names(&self.motions).concat();
        let help = match names.len() {
            0 => format!("a {} joint has no coordinate of its own", self.kind),
            _ => format!("the coordinates of a {} joint are `{}`", self.kind, names.join("`, `")),
        };
        values.error_at(key, format!("{}: joint `{}` has no {motion}", values.what(), self.name)).help(help)
    }
}

/// Refuses inputs where a position is prescribed: an input is constant between the times it is set, so the position
/// would jump.
fn refuse_inputs(values: &Values, key: &str, course: &[Expression], instead: &str) -> Result<(), Diagnostic> {
    if !course.iter().any(Expression::uses_inputs) {
        return Ok(());
    }
    let message =
        format!("`{key}` of {} cannot depend on an input: it would jump when the input is set", values.what());
    let help = format!("{instead}, or let a `pid` controller follow the input as its `reference`");
    Err(values.error_at(key, message).label("uses an input").help(help))
}

/// A kind of joint: its name in the file, its fields and how it is made from them.
pub struct Kind {
    /// The value of `type`.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub doc: &'static str,
    /// Fields beside those of its place.
    pub fields: &'static [Field],
    /// Where it stands.
    pub mount: Mount,
    /// For joints of space: what to use in the plane instead.
    pub in_plane: Option<&'static str>,
    /// Makes the joint.
    pub make: Make,
}

/// How a joint is made from its fields and the start.
pub type Make = fn(&Values, &Placement) -> Result<Box<dyn Joint>, Diagnostics>;

/// Every kind of joint.
pub const CATALOG: &[&Kind] = &[
    &fixed::KIND,
    &revolute::KIND,
    &prismatic::KIND,
    &cylindrical::KIND,
    &spherical::KIND,
    &universal::KIND,
    &constant_velocity::KIND,
    &planar::KIND,
    &point_on_line::KIND,
    &point_on_plane::KIND,
    &point_on_curve::KIND,
    &cam::KIND,
    &curve_on_curve::KIND,
    &distance::KIND,
    &screw::KIND,
    &gear::KIND,
    &belt::KIND,
    &rack::KIND,
    &tie::KIND,
    &armature::KIND,
    &drive::KIND,
    &drive_point::KIND,
    &knife_edge::KIND,
    &rolling_disk::KIND,
];
