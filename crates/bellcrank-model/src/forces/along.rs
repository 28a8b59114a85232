//! Pushing along a motion: what every force on a joint coordinate has in common.

use super::Seen;
use crate::frames::{Covector, Row, Stiffness};
use crate::joints::Motion;

/// A motion between two ends of a force, as a rule a joint coordinate x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// The motion.
    pub motion: Motion,
    /// The first of the two ends; the other is the next.
    pub first: usize,
}

impl Along {
    /// x, with its turns counted if it is what the force measures.
    pub fn value(&self, at: &Seen) -> f64 {
        self.motion.value(&at.pair(self.first))
    }

    /// ∂x/∂displacement, which is ∂ẋ/∂twist.
    pub fn gradient(&self, at: &Seen) -> Row {
        let pair = self.motion.gradient(&at.pair(self.first));
        let mut row = Row::default();
        row[self.first..self.first + 2].copy_from_slice(&pair[..2]);
        row
    }

    /// ẋ.
    pub fn rate(&self, at: &Seen) -> f64 {
        self.gradient(at).iter().zip(at.ends).map(|(form, end)| form.on(end)).sum()
    }

    /// ∂ẋ/∂displacement at fixed twists.
    pub fn drift(&self, at: &Seen) -> Row {
        let pair = self.unit_curvature(at).contract(&at.ends[self.first..self.first + 2]);
        let mut row = Row::default();
        row[self.first..self.first + 2].copy_from_slice(&pair[..2]);
        row
    }

    /// ∂²x/∂displacement², for the two ends alone.
    fn unit_curvature(&self, at: &Seen) -> Stiffness {
        let mut unit = Stiffness::default();
        self.motion.curvature(&at.pair(self.first), 1.0, &mut unit);
        unit
    }

    /// Adds the loads of a force (or torque) `effort` along x.
    pub fn push(&self, at: &Seen, effort: f64, out: &mut [Covector]) {
        for (out, form) in out.iter_mut().zip(self.gradient(at)) {
            out.lin += form.lin * effort;
            out.ang += form.ang * effort;
        }
    }

    /// Adds the derivatives of these loads, given those of the effort by displacements and twists.
    pub fn push_stiffness(
        &self,
        at: &Seen,
        effort: f64,
        by_displacement: &Row,
        by_twist: &Row,
        k: &mut Stiffness,
        d: &mut Stiffness,
    ) {
        k.add_scaled(effort, &self.unit_curvature(at), self.first);
        let gradient = self.gradient(at);
        let none = Covector::default();
        for i in self.first..self.first + 2 {
            for j in 0..at.ends.len() {
                if by_displacement[j] != none {
                    k.add_outer(i, gradient[i], j, by_displacement[j]);
                }
                if by_twist[j] != none {
                    d.add_outer(i, gradient[i], j, by_twist[j]);
                }
            }
        }
    }
}
