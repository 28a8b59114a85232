//! Spanning trees: accelerations by recursion, and which constraints may be edges of a tree.

use super::{Point, Workspace};

/// What a constraint may be in a spanning tree of the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// It ties coordinates of one body to each other: part of the tree, but it joins nothing.
    WithinBody,
    /// It may carry a body.
    Maybe,
    /// The user wants it in the tree.
    Wanted,
    /// It closes a loop.
    Never,
}

/// The bodies as a tree. By default there is no recursion, and any constraint may carry a body.
pub trait TreeRecursion {
    /// What a constraint may be in a spanning tree of the bodies.
    fn carries(&self, constraint: usize) -> Carries {
        let _ = constraint;
        Carries::Maybe
    }

    /// Whether accelerations come by recursion over a tree: there are no constraints, and
    /// [`recursion`](TreeRecursion::recursion) takes the place of the linear system.
    fn recursive(&self) -> bool {
        false
    }

    /// Computes v̇ by recursion. The error is the block whose inertia vanishes.
    fn recursion(&self, at: &mut Point, w: &mut Workspace) -> Result<(), usize> {
        let _ = (at, w);
        Ok(())
    }
}
