//! A station of a deformed body, seen from the frame: where it is, and how it moves with the modes.
//!
//! Against the frame the station has the twist Σ Φₙ η̇ₙ. At the station itself Φₙ is (φₙ + ωₙ × d, ωₙ), with d the arm from the
//! axis and ωₙ = T ψₙ. Second derivatives are those of twists at a point that stays where it is in the frame:
//!
//! ```text
//!     ∂Φₙ/∂ηₘ = (∂ωₙ/∂ηₘ × d − ωₙ × φₘ, ∂ωₙ/∂ηₘ)
//! ```

use super::Flexible;
use super::flexible::{Bent, Deformed, tangent_slope};
use crate::frames::Attachment;
use bellcrank_math::{Mat3, Vec3, rotation};

/// A velocity and an angular velocity, in the axes of the frame.
pub type FrameTwist = (Vec3, Vec3);

/// A station of a deformed body.
pub struct StationView<'a> {
    bent: Bent,
    shapes: &'a [(Vec3, Vec3)],
}

impl Flexible {
    /// A place on the deformed body.
    pub fn seen<'a>(&'a self, d: &Deformed, on: &Attachment) -> StationView<'a> {
        let (bent, shapes) = self.bent_at(d, on);
        StationView { bent, shapes }
    }
}

impl StationView<'_> {
    /// Where it is.
    pub fn place(&self) -> Vec3 {
        self.bent.s
    }

    /// How its section has turned.
    pub fn turn(&self) -> Mat3 {
        self.bent.turn
    }

    /// The angle of the section about z, for bodies in the plane.
    pub fn angle(&self) -> f64 {
        self.bent.theta[2]
    }

    /// φ and ψ of a mode; what is fixed to the frame has none.
    fn shape(&self, n: usize) -> (Vec3, Vec3) {
        self.shapes.get(n).copied().unwrap_or_default()
    }

    /// Σ φₙ xₙ and Σ ψₙ xₙ.
    fn sum(&self, x: &[f64]) -> (Vec3, Vec3) {
        let zero = (Vec3::ZERO, Vec3::ZERO);
        self.shapes.iter().zip(x).fold(zero, |(v, w), ((phi, psi), x)| (v + *phi * *x, w + *psi * *x))
    }

    /// Φₙ.
    pub fn motion(&self, n: usize) -> FrameTwist {
        let (phi, psi) = self.shape(n);
        let w = self.bent.tangent * psi;
        (phi + w.cross(self.bent.arm), w)
    }

    /// ∂Φₙ/∂ηₘ.
    pub fn slope(&self, m: usize, n: usize) -> FrameTwist {
        let ((phi_m, psi_m), (_, psi_n)) = (self.shape(m), self.shape(n));
        let w = tangent_slope(self.bent.theta, psi_n) * psi_m;
        (w.cross(self.bent.arm) - (self.bent.tangent * psi_n).cross(phi_m), w)
    }

    /// Σₙ ∂Φₙ/∂ηₘ xₙ.
    pub fn change(&self, m: usize, x: &[f64]) -> FrameTwist {
        let (phi_m, psi_m) = self.shape(m);
        let (_, turn) = self.sum(x);
        let w = tangent_slope(self.bent.theta, turn) * psi_m;
        (w.cross(self.bent.arm) - (self.bent.tangent * turn).cross(phi_m), w)
    }

    /// Σₘₙ ∂Φₙ/∂ηₘ xₘ xₙ: what the modes' rates add to the acceleration.
    pub fn bias(&self, x: &[f64]) -> FrameTwist {
        let (slide, turn) = self.sum(x);
        let w = tangent_slope(self.bent.theta, turn) * turn;
        (w.cross(self.bent.arm) - (self.bent.tangent * turn).cross(slide), w)
    }

    /// The derivative of [`bias`](StationView::bias) by ηₘ.
    pub fn bias_slope(&self, m: usize, x: &[f64]) -> FrameTwist {
        let (phi_m, psi_m) = self.shape(m);
        let (slide, turn) = self.sum(x);
        let slope = tangent_slope(self.bent.theta, turn);
        let w = rotation::tangent_second_derivative(-self.bent.theta, turn, turn, psi_m);
        (w.cross(self.bent.arm) - (slope * turn).cross(phi_m) - (slope * psi_m).cross(slide), w)
    }
}
