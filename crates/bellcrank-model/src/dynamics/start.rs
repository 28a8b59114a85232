//! What is given at the start, and what assembly may change.

use super::{HasLayout, Point, Workspace};
use crate::relative::Relative;
use crate::subject::Subject;

/// What is given at the start by an equation of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartGiven {
    /// The joint coordinate of this number.
    Joint(usize),
    /// A component of the velocity of this body, where it is not one of its coordinates' rates.
    Velocity(usize, usize),
    /// A component of the angular velocity of this body.
    Spin(usize, usize),
}

/// A joint coordinate, or a component of a velocity, that is given at the start.
#[derive(Clone, Debug)]
pub struct StartRow {
    /// What is given.
    pub given: StartGiven,
    /// Its value, if given.
    pub value: Option<f64>,
    /// Its rate, if given.
    pub rate: Option<f64>,
    /// What messages call it: the start of its joint, or the body's key.
    pub subject: Subject,
}

/// The rules of assembly: which values are given, which ones follow.
///
/// By default nothing is given but the state itself, and all of it may move.
pub trait StartRules: HasLayout {
    /// Equations that hold at the start beside the constraints: given joint coordinates and rates.
    fn start(&self) -> Vec<StartRow> {
        Vec::new()
    }

    /// The residuals of a start row at a realized point, of the coordinate (full turns included) and of its rate, and
    /// their common gradient as (block of coordinates, row) pairs. Always the same blocks, whatever the point.
    fn start_row(&self, row: &StartRow, at: &Point, w: &mut Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let _ = (row, at, w);
        (0.0, 0.0, Vec::new())
    }

    /// Whether velocity `i` is given at the start: it is kept, and the others follow it.
    fn velocity_given(&self, i: usize) -> bool {
        let _ = i;
        false
    }

    /// What gives velocity `i`, for messages.
    fn giver(&self, i: usize) -> Subject {
        format!("velocity {i}").into()
    }

    /// The same machine in the coordinates of its joints, which are zero at a point with closed joints. A start changes
    /// these as little as possible, so that joints nobody named stay as drawn and at rest. None where there are no joints.
    fn on_joints(&self, at: &Point) -> Option<Relative> {
        let _ = at;
        None
    }

    /// Takes over the poses of the bodies from a point in the coordinates of the joints, and the turns counted there.
    fn take_poses(&self, from: &Relative, point: &Point, to: &mut Point) {
        let _ = (from, point, to);
    }

    /// Takes over the velocities of the bodies from a point in the coordinates of the joints. Rates of deformation stay.
    fn take_velocities(&self, from: &Relative, point: &Point, to: &mut Point) {
        let _ = (from, point, to);
    }

    /// The joint coordinates that may move though nobody gave them, at a realized point: names, values and rates.
    fn not_given(&self, at: &Point, w: &Workspace) -> Vec<(String, f64, f64)> {
        let _ = (at, w);
        Vec::new()
    }

    /// The largest angle by which a change of the coordinates turns anything, if it is known better than from the angles
    /// among the coordinates.
    fn largest_turn(&self, delta: &[f64]) -> Option<f64> {
        let _ = delta;
        None
    }

    /// Whether the rows of a constraint follow a function of time.
    fn prescribed(&self, constraint: usize) -> bool {
        let _ = constraint;
        false
    }

    /// Whether the rows of a constraint are rates of functions of the coordinates. All holonomic ones are, and so is
    /// a coordinate whose rate is driven.
    fn integrable(&self, constraint: usize) -> bool {
        !self.layout().rates[constraint].is_empty()
    }

    /// Whether coordinate `i` measures a deformation, which assembly keeps if it can.
    fn elastic(&self, i: usize) -> bool {
        let _ = i;
        false
    }

    /// Whether a body starts with the deformation that the loads of its motion cause.
    fn quasi_static(&self, body: usize) -> bool {
        let _ = body;
        false
    }

    /// Whether assembly must leave a body where it is.
    fn held(&self, body: usize) -> bool {
        let _ = body;
        false
    }
}
