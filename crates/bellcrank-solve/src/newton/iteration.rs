//! The kinds of Newton's iteration a user can choose from.

/// How a matrix is formed and how long it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Iteration {
    /// A new matrix in every iteration.
    Full,
    /// A matrix is kept, across steps too, while it converges well.
    Simplified,
    /// Like `Simplified`, but the matrix lacks (Gᵀλ)_q and (Gᵀμ)_q: what CM omits, with the multipliers as unknowns.
    Modified,
    /// Coordinate splitting: like `Simplified`, with the reactions eliminated by a partition of the coordinates,
    /// λ = −(GY)⁻ᵀYᵀ(M v̇ − f), in residuals and matrices: Newton's iteration for P(M v̇ − f) = 0
    /// [Yen & Petzold 1998].
    CoordinateSplit,
    /// Like `CoordinateSplit`, but the matrix lacks (Gᵀλ)_q and (Gᵀμ)_q: the CM iteration
    /// [Yen & Petzold 1998].
    CoordinateModified,
    /// Like `Simplified`, but matrices are formed on the manifold: at the prediction projected onto
    /// g = 0, with the least-squares multipliers of that point.
    Auto,
}

/// All iterations with their names.
const ALL: &[(Iteration, &str)] = &[
    (Iteration::Auto, "auto"),
    (Iteration::Full, "full"),
    (Iteration::Simplified, "simplified"),
    (Iteration::Modified, "modified"),
    (Iteration::CoordinateSplit, "cs"),
    (Iteration::CoordinateModified, "cm"),
];

/// The names of all iterations.
pub const NAMES: &[&str] = &["auto", "full", "simplified", "modified", "cs", "cm"];

impl Iteration {
    /// The iteration with this name.
    pub fn by_name(name: &str) -> Option<Iteration> {
        ALL.iter().find(|(_, n)| *n == name).map(|(i, _)| *i)
    }

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(i, _)| *i == self).map_or("", |(_, n)| n)
    }

    /// Whether its matrices lack (Gᵀλ)_q and (Gᵀμ)_q.
    pub fn omits_bending(self) -> bool {
        matches!(self, Iteration::Modified | Iteration::CoordinateModified)
    }

    /// Whether the multipliers are eliminated by a partition of the coordinates.
    pub fn splits(self) -> bool {
        matches!(self, Iteration::CoordinateSplit | Iteration::CoordinateModified)
    }
}
