//! What stands for the general solver of accelerations on small machines with constant masses.

use super::derivatives::each_block;
use super::plan::LinearPlan;
use bellcrank_math::linear::range_space::RangeSpace;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, State, Unknown};

/// A solver in the space of the constraints, where there is one.
pub(super) enum Quick {
    /// There is none.
    No,
    /// It is written when it is first needed.
    Later,
    Made(Box<RangeSpace>),
}

impl Quick {
    /// As planned for some equations.
    pub(super) fn planned(plan: LinearPlan, dynamics: &dyn Dynamics) -> Quick {
        let suits = plan.by_range_space(dynamics.layout().bodies.len())
            && dynamics.keeps_gradients()
            && dynamics.pattern(Piece::MassAccel, Unknown::Q).is_empty();
        if suits { Quick::Later } else { Quick::No }
    }

    /// Writes it, if there is one and it has not been written.
    pub(super) fn make(&mut self, dynamics: &dyn Dynamics) {
        if !matches!(self, Quick::Later) {
            return;
        }
        let layout = dynamics.layout();
        let mut masses = vec![Vec::new(); layout.bodies.len()];
        let mut alone = true;
        // masses are constant: they are the same at every point
        let (at, slopes) = (Point::at(&State::default(), layout), Slopes { q: 0.0, v: 1.0, z: 0.0 });
        each_block(dynamics, Piece::MassAccel, Unknown::V, slopes, &at, &mut dynamics.workspace(), |r, c, block| {
            alone &= r == c;
            masses[r] = block.to_vec();
        });
        let gradients = dynamics.pattern(Piece::Position, Unknown::Q);
        let written = RangeSpace::new(&layout.bodies, &masses, &layout.constraints, &gradients).filter(|_| alone);
        *self = written.map_or(Quick::No, |quick| Quick::Made(Box::new(quick)));
    }

    /// It, if it has been written.
    pub(super) fn made(&mut self) -> Option<&mut RangeSpace> {
        match self {
            Quick::Made(quick) => Some(quick),
            _ => None,
        }
    }

    /// It, if it has the last factors.
    pub(super) fn held(&self) -> Option<&RangeSpace> {
        match self {
            Quick::Made(quick) if quick.holds() => Some(quick),
            _ => None,
        }
    }

    /// Tells a tape what one factorization leaves to the next; with `factors`, those too.
    pub(super) fn keep(&mut self, tape: &mut Tape, factors: bool, dynamics: &dyn Dynamics) {
        let mut made = self.made().is_some();
        tape.flag(&mut made);
        if made {
            self.make(dynamics);
        }
        self.made().into_iter().for_each(|quick| quick.keep(tape, factors));
    }
}
