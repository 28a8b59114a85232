//! Where a body is: what its coordinates say, in a form that frames on it can use.

use super::Deformed;
use bellcrank_math::{Mat3, Vec3};

/// Where a body is. In large models poses come from memory in lines of 64 bytes: what a body of the plane needs stands in
/// the first.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct BodyFrame {
    /// Its reference point, in the world.
    pub p: Vec3,
    /// Its rotation, body to world.
    pub r: Mat3,
    /// For rods: the vector from one end to the other.
    pub link: Vec3,
    /// For flexible bodies: what depends on the deformation.
    pub deformed: Option<Box<Deformed>>,
}

impl Default for BodyFrame {
    fn default() -> BodyFrame {
        BodyFrame { p: Vec3::ZERO, r: Mat3::IDENTITY, link: Vec3::ZERO, deformed: None }
    }
}
