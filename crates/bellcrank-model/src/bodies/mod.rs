//! Bodies: how a frame on a body moves with the body's coordinates.
//!
//! A new kind of body is one file that implements [`Coordinates`] and [`InTree`], its line in [`Body`] and in `each!`, and
//! the reader that makes it. With B the map from velocities to the twist of a frame on the body, a body tells: its pose,
//! B w, Bᵀ(load), ∂(B w)/∂q and ∂(Bᵀ load)/∂q, its mass matrix, and its inner forces.

mod beam;
mod coordinates;
mod flexible;
mod frame;
mod in_tree;
mod modal;
mod planar;
mod point;
mod rigid;
mod rod;
mod rotor;
mod station;
mod structure;
#[cfg(test)]
mod tests;

pub use beam::{Beam, BeamMode, BeamModeKind, cantilever};
pub use coordinates::{Coordinates, Orientation, PoseKind};
pub use flexible::{Deformed, Flexible, MAX_MODES};
pub use frame::BodyFrame;
pub use in_tree::{CentralInertia, InTree};
pub use modal::{ModalFault, ModalNode, parse as parse_modal};
pub use planar::Planar;
pub use point::PointMass;
pub use rigid::Rigid;
pub use rod::Rod;
pub use rotor::Rotor;
pub use station::{FrameTwist, StationView};
pub use structure::{ElasticMode, ModeField, Structure};

use crate::space::Space;
use coordinates::or_one;

/// A body of the catalog, with its constants.
#[derive(Clone, Debug)]
pub enum Body {
    /// Six coordinates in space.
    Rigid(Rigid),
    /// (x, y, θ) in the plane.
    Planar(Planar),
    /// A position.
    Point(PointMass),
    /// A slender rod in natural coordinates: an end point and the link vector.
    Rod(Rod),
    /// A floating frame with modes.
    Flexible(Flexible),
    /// The inertia of an armature along a joint coordinate.
    Rotor(Rotor),
}

/// `each!(body, b => expression)`: the same expression for every kind of body, compiled for each.
macro_rules! each {
    ($body:expr, $b:ident => $do:expr) => {
        match $body {
            $crate::bodies::Body::Rigid($b) => $do,
            $crate::bodies::Body::Planar($b) => $do,
            $crate::bodies::Body::Point($b) => $do,
            $crate::bodies::Body::Rod($b) => $do,
            $crate::bodies::Body::Flexible($b) => $do,
            $crate::bodies::Body::Rotor($b) => $do,
        }
    };
}
pub(crate) use each;

impl Body {
    /// What the body tells of itself.
    pub fn coordinates(&self) -> &dyn Coordinates {
        each!(self, b => b)
    }

    /// What the body is in a spanning tree.
    pub fn in_tree(&self) -> &dyn InTree {
        each!(self, b => b)
    }

    /// A rigid body of unit mass and inertia, to be moved and not weighed.
    pub(crate) fn rigid(space: Space) -> Body {
        match space {
            Space::Plane => Body::Planar(Planar::new(1.0, 1.0)),
            Space::Space => Body::Rigid(Rigid::new(1.0, bellcrank_math::Mat3::IDENTITY)),
        }
    }

    /// The inertia of an armature, which is part of a joint and not a body of the user.
    pub fn as_rotor(&self) -> Option<&Rotor> {
        if let Body::Rotor(rotor) = self { Some(rotor) } else { None }
    }

    /// Whether it bends.
    pub fn bends(&self) -> bool {
        self.coordinates().deformable().is_some()
    }
}
