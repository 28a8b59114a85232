//! Pulling along the line between two points.

use super::Seen;
use crate::frames::{Covector, LIN, Stiffness};
use bellcrank_math::{Mat3, Vec3};

/// The line from the first end to the second.
pub struct Line {
    /// Its direction; zero for a line of no length.
    u: Vec3,
    /// Its length l.
    pub l: f64,
    /// l̇.
    pub rate: f64,
    /// The relative velocity.
    v: Vec3,
}

/// A tension with its derivatives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tension {
    /// The tension: positive pulls the ends together.
    pub value: f64,
    /// ∂/∂l.
    pub by_length: f64,
    /// ∂/∂l̇.
    pub by_rate: f64,
}

impl Line {
    /// The line at a time.
    pub fn of(at: &Seen) -> Line {
        let d = at.ends[1].p - at.ends[0].p;
        let v = at.ends[1].v - at.ends[0].v;
        let u = d.normalized().unwrap_or(Vec3::ZERO);
        Line { u, l: d.norm(), rate: u.dot(v), v }
    }

    /// Adds the loads of a tension.
    pub fn pull(&self, tension: f64, out: &mut [Covector]) {
        let pull = self.u * tension;
        out[0].lin += pull;
        out[1].lin -= pull;
    }

    /// Adds their derivatives.
    pub fn pull_stiffness(&self, tension: Tension, k: &mut Stiffness, d: &mut Stiffness) {
        let along = self.u.outer(self.u);
        add_opposed(d, along * tension.by_rate);
        if self.l == 0.0 {
            return;
        }
        let across = (Mat3::IDENTITY - along) * (1.0 / self.l);
        let turning = self.u.outer(across * self.v); // u ∂(l̇)/∂d
        add_opposed(k, along * tension.by_length + turning * tension.by_rate + across * tension.value);
    }
}

/// Adds ∓m to the four pairs of two ends that pull at each other.
fn add_opposed(k: &mut Stiffness, m: Mat3) {
    for (i, j, m) in [(0, 0, -m), (0, 1, m), (1, 0, m), (1, 1, -m)] {
        k.add(i, LIN, j, LIN, m);
    }
}
