//! Forces: what pushes and pulls between frames, with energy and exact derivatives.
//!
//! A new force is one file here and its line in [`CATALOG`]; parser, schema, documentation and the
//! laws of `tests/catalog.rs` walk the catalog.

mod bushing;
mod load;
mod spring_damper;
mod torsional;

use crate::file::{Diagnostics, Field, Values};
use crate::frames::{Covector, Frames, Stiffness};
use crate::model::Space;
use bellcrank_math::Vec3;

/// A force between frames.
pub trait Force: Send + Sync {
    /// Adds the load on each end: force and torque, in the world.
    fn load(&self, at: &Frames, out: &mut [Covector]);
    /// Adds ∂load/∂displacement to `k` and ∂load/∂twist to `d`.
    fn stiffness(&self, at: &Frames, k: &mut Stiffness, d: &mut Stiffness);
    /// The energy stored.
    fn stored(&self, _at: &Frames) -> f64 {
        0.0
    }
    /// The power that does not come out of what is stored: negative for a damper.
    fn power(&self, _at: &Frames) -> f64 {
        0.0
    }
    /// Whether `power` can be other than zero.
    fn has_power(&self) -> bool {
        false
    }
    /// Whether the load depends on velocities.
    fn damped(&self) -> bool {
        false
    }
    /// The axis about which the force measures an angle, so that its turns are counted.
    fn angle_axis(&self) -> Option<usize> {
        None
    }
}

/// Where a force acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two points, one on each of two bodies: `between`, `at` or `on` with two points.
    Points,
    /// A frame on each of two bodies at one place: `between`, `at`, `axis`.
    Frames,
    /// Like `Frames`, but in the plane the angle is that between the bodies.
    Turning,
    /// A point of one body: `body`, `at` or `on`.
    One,
}

/// What a force needs to know of the start.
pub struct Placement {
    /// The points of the ends, in the world, at the start.
    pub points: Vec<Vec3>,
    /// Plane or space.
    pub space: Space,
}

/// A kind of force: its name in the file, its fields and how it is made from them.
pub struct Kind {
    /// The value of `type`.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub doc: &'static str,
    /// Fields beside `type`, `between`, `body`, `at`, `on`, `axis` and `axis2`.
    pub fields: &'static [Field],
    /// Where it acts.
    pub ends: Ends,
    /// Makes the force.
    pub make: fn(&Values, &Placement) -> Result<Box<dyn Force>, Diagnostics>,
}

/// Every kind of force; gravity is a key of `[model]`.
pub const CATALOG: &[&Kind] = &[&spring_damper::KIND, &torsional::KIND, &bushing::KIND, &load::FORCE, &load::TORQUE];
