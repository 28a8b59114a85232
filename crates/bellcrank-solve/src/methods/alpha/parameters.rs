//! The parameters of Newmark's family.

use crate::stencil::NewmarkRatios;

/// The four numbers of a generalized-α method.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AlphaParameters {
    /// Weight of the old pseudo-acceleration.
    pub alpha_m: f64,
    /// Weight of the old acceleration.
    pub alpha_f: f64,
    /// Newmark's β.
    pub beta: f64,
    /// Newmark's γ.
    pub gamma: f64,
}

impl AlphaParameters {
    /// The method that damps infinite frequencies to ρ per step, 0 ≤ ρ ≤ 1, and low ones least
    /// [Chung & Hulbert 1993]. Never take ρ = 1 on constraints of index 3.
    pub fn from_rho(rho: f64) -> AlphaParameters {
        let alpha_m = (2.0 * rho - 1.0) / (rho + 1.0);
        let alpha_f = rho / (rho + 1.0);
        let gamma = 0.5 + alpha_f - alpha_m;
        AlphaParameters { alpha_m, alpha_f, beta: 0.25 * (gamma + 0.5).powi(2), gamma }
    }

    /// HHT with −⅓ ≤ α ≤ 0 [Hilber, Hughes & Taylor 1977].
    pub fn hht(alpha: f64) -> AlphaParameters {
        AlphaParameters { alpha_m: 0.0, alpha_f: -alpha, beta: 0.25 * (1.0 - alpha).powi(2), gamma: 0.5 - alpha }
    }

    /// Newmark's method with β > 0, γ ≥ ½; of second order only for γ = ½ [Newmark 1959].
    pub fn newmark(beta: f64, gamma: f64) -> AlphaParameters {
        AlphaParameters { alpha_m: 0.0, alpha_f: 0.0, beta, gamma }
    }

    /// Whether the method is implicit and its laws can be solved: β, γ > 0 and α_m, α_f < 1.
    pub fn are_valid(&self) -> bool {
        self.beta > 0.0 && self.gamma > 0.0 && self.alpha_m < 1.0 && self.alpha_f < 1.0
    }

    /// Two for γ = ½ + α_f − α_m, else one.
    pub fn order(&self) -> usize {
        if self.lag() < 1e-12 { 2 } else { 1 }
    }

    /// |γ − ½ − α_f + α_m|: the error of a step of first order in the velocities, in units of h² v̈.
    pub fn lag(&self) -> f64 {
        (self.gamma - 0.5 - self.alpha_f + self.alpha_m).abs()
    }

    /// Backward Euler, where a_n = 0.
    pub const EULER: AlphaParameters = AlphaParameters { alpha_m: 0.0, alpha_f: 0.0, beta: 1.0, gamma: 1.0 };

    /// The ratios by which the additive formulation shares reactions.
    pub fn ratios(&self) -> NewmarkRatios {
        NewmarkRatios { position: self.gamma / self.beta, velocity: self.gamma * (1.0 - self.alpha_f) }
    }

    /// c of the error c h³ q⃛ that one step leaves in the positions: γ/2 − β − 1/12. By it the velocity constraints
    /// of index-3 steps are open, too: G v = c h² G q⃛.
    pub fn error_constant(&self) -> f64 {
        0.5 * self.gamma - self.beta - 1.0 / 12.0
    }
}

impl Default for AlphaParameters {
    fn default() -> AlphaParameters {
        AlphaParameters::from_rho(0.8)
    }
}
