//! Joints: which equations hold between two bodies, and which motions stay free.
//!
//! A new joint is one file here and its line in [`CATALOG`]; parser, schema, documentation and the
//! laws of `tests/catalog.rs` walk the catalog.

pub mod equations;

mod distance;
mod fixed;
mod prismatic;
mod revolute;
mod spherical;

use crate::file::{Diagnostics, Field, Values};
use crate::model::Space;
use bellcrank_math::Vec3;
pub use equations::Equation;

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
    /// A shift along an axis of the first frame.
    Translate(usize),
}

/// A joint between two bodies.
pub trait Joint: Send + Sync {
    /// The equations that hold: Cartesian coordinates, loop closures.
    fn equations(&self, space: Space) -> Vec<Box<dyn Equation>>;
    /// The motions that stay free, as far as single numbers describe them.
    fn motions(&self, _space: Space) -> Vec<Motion> {
        Vec::new()
    }
}

/// Which axis of the frames `axis` in the file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// None: only the point matters.
    None,
    /// The frame's z is `axis` in space; in the plane it points at the reader.
    Turning,
    /// The frame's z is `axis` in space, its x is `axis` in the plane.
    Sliding,
}

/// What the joint needs to know of the start, where lengths are left to it.
pub struct Placement {
    /// The two points, in the world, at the start.
    pub points: [Vec3; 2],
    /// Plane or space.
    pub space: Space,
}

/// A kind of joint: its name in the file, its fields and how it is made from them.
pub struct Kind {
    /// The value of `type`.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub doc: &'static str,
    /// Fields beside `type`, `between`, `at`, `on`, `axis` and `axis2`.
    pub fields: &'static [Field],
    /// What `axis` means.
    pub axes: Axes,
    /// Whether `at` names two points (one on each body) instead of a shared one.
    pub two_points: bool,
    /// Makes the joint.
    pub make: fn(&Values, &Placement) -> Result<Box<dyn Joint>, Diagnostics>,
}

/// Every kind of joint.
pub const CATALOG: &[&Kind] = &[&fixed::KIND, &revolute::KIND, &prismatic::KIND, &spherical::KIND, &distance::KIND];
