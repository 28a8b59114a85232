//! Frames: what joints and forces see of the bodies they stand on.

use bellcrank_math::{Mat3, Vec3};

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyFrame {
    /// Its reference point, in the world.
    pub p: Vec3,
    /// Its rotation, body to world.
    pub r: Mat3,
    /// Velocity of the reference point, in the world.
    pub v: Vec3,
    /// Angular velocity, in the world.
    pub w: Vec3,
}
