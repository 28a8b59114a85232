//! What is given at the start, and what assembly may change.

use super::{HasLayout, Point, Workspace};

/// A joint coordinate that is given at the start.
#[derive(Clone, Debug)]
pub struct StartRow {
    /// The number of the joint coordinate.
    pub coordinate: usize,
    /// Its value, if given.
    pub value: Option<f64>,
    /// Its rate, if given.
    pub rate: Option<f64>,
    /// The user's name of the joint.
    pub name: String,
}

/// The rules of assembly: which values are given, which ones follow.
///
/// By default nothing is given but the state itself, and all of it may move.
pub trait StartRules: HasLayout {
    /// Equations that hold at the start beside the constraints: given joint coordinates and rates.
    fn start(&self) -> Vec<StartRow> {
        Vec::new()
    }

    /// The residuals of a start row at a realized point, of the coordinate and of its rate, and their common
    /// gradient as (body, row) pairs.
    fn start_row(&self, row: &StartRow, at: &Point, w: &Workspace) -> (f64, f64, Vec<(usize, Vec<f64>)>) {
        let _ = (row, at, w);
        (0.0, 0.0, Vec::new())
    }

    /// Whether velocity `i` is given at the start, so that the others follow it.
    fn velocity_given(&self, i: usize) -> bool {
        let _ = i;
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
