//! The unknowns and the pieces of the equations, and how both are grouped into blocks.

use std::ops::Range;

/// How the unknowns and the rows are grouped into blocks.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Coordinates (and velocities) of each body.
    pub bodies: Vec<Range<usize>>,
    /// Rows of each constraint in λ, in the position rows and in the acceleration rows.
    pub constraints: Vec<Range<usize>>,
    /// Rows of each constraint in μ and in the velocity rows; empty for a nonholonomic constraint, whose velocity
    /// row already stands among the position rows.
    pub rates: Vec<Range<usize>>,
    /// First-order states of each element that has any.
    pub states: Vec<Range<usize>>,
}

impl Layout {
    /// Number of coordinates n.
    pub fn n(&self) -> usize {
        self.bodies.last().map_or(0, |r| r.end)
    }
    /// Number of constraint rows m.
    pub fn m(&self) -> usize {
        self.constraints.last().map_or(0, |r| r.end)
    }
    /// Number of velocity rows: m less the nonholonomic ones.
    pub fn m_rates(&self) -> usize {
        self.rates.last().map_or(0, |r| r.end)
    }
    /// Number of first-order states.
    pub fn nz(&self) -> usize {
        self.states.last().map_or(0, |r| r.end)
    }
    /// The blocks of an unknown.
    pub fn columns(&self, of: Unknown) -> &[Range<usize>] {
        match of {
            Unknown::Q | Unknown::V => &self.bodies,
            Unknown::Z => &self.states,
            Unknown::Lambda => &self.constraints,
            Unknown::Mu => &self.rates,
        }
    }
    /// The blocks of the rows that a piece contributes to.
    pub fn rows(&self, of: Piece) -> &[Range<usize>] {
        use Piece::*;
        match of {
            Rate | Speed | GtMu | MinvGtMu | MassAccel | Force | GtLambda => &self.bodies,
            Position | Acceleration => &self.constraints,
            Velocity => &self.rates,
            ZDot | Flow => &self.states,
        }
    }
}

/// A group of unknowns of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Unknown {
    /// Coordinates q, displaced along tangents: Δq = N(q) δ.
    Q,
    /// Velocities v.
    V,
    /// First-order states z.
    Z,
    /// Reactions λ.
    Lambda,
    /// Multipliers μ of the stabilization.
    Mu,
}

impl Unknown {
    /// All groups.
    pub const ALL: [Unknown; 5] = [Unknown::Q, Unknown::V, Unknown::Z, Unknown::Lambda, Unknown::Mu];
}

/// A piece of the equations of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// T(q) q̇, the velocity that belongs to the rates of the coordinates.
    Rate,
    /// v.
    Speed,
    /// Gᵀμ.
    GtMu,
    /// M⁻¹Gᵀμ.
    MinvGtMu,
    /// M v̇.
    MassAccel,
    /// f(t, q, v, z), gyroscopic terms included.
    Force,
    /// Gᵀλ.
    GtLambda,
    /// g(t, q); for a nonholonomic constraint its velocity row.
    Position,
    /// G v + g_t.
    Velocity,
    /// g̈ = G v̇ + (G v)_q v + 2 G_t v + g_tt.
    Acceleration,
    /// ż.
    ZDot,
    /// φ(t, q, v, z).
    Flow,
}

/// The slopes of an implicit method: q̇ = α_q q + η_q, v̇ = α_v v + η_v, ż = α_z z + η_z.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Slopes {
    /// α_q = ∂q̇/∂q.
    pub q: f64,
    /// α_v = ∂v̇/∂v.
    pub v: f64,
    /// α_z = ∂ż/∂z.
    pub z: f64,
}
