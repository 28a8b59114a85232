//! Formulations: tables that arrange the pieces of the equations of motion.
//!
//! Each row names the unknown it is paired with (the pivot of its block) and the pieces it sums.
//! Residual, Jacobian and sparsity are interpreted from the rows, once, for all ([`crate::step`]).

use bellcrank_model::{Piece, Unknown};
use std::fmt;

/// One row of a formulation: Σ c · piece = 0, paired with an unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct EquationRow {
    /// The unknown whose diagonal block the row holds.
    pub pairs: Unknown,
    /// The pieces with their factors.
    pub terms: Vec<(f64, Piece)>,
}

/// A form of the equations of motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Formulation {
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// Its rows.
    pub rows: Vec<EquationRow>,
    /// Index of the differential-algebraic equations: 1, 2 (stabilized) or 3.
    pub index: usize,
    /// In the additive formulation, the share b of the new reactions in the positions.
    pub additive: Option<f64>,
}

fn formulation(name: &'static str, rows: Vec<EquationRow>, index: usize) -> Formulation {
    Formulation { name, rows, index, additive: None }
}

/// Most terms of a row.
pub(crate) const MOST_TERMS: usize = 8;

fn row(pairs: Unknown, terms: &[(f64, Piece)]) -> EquationRow {
    assert!(terms.len() <= MOST_TERMS, "a row has few terms");
    EquationRow { pairs, terms: terms.to_vec() }
}

/// T q̇ − v + …, paired with v.
fn kinematics(stabilization: Option<Piece>) -> EquationRow {
    let mut terms = vec![(1.0, Piece::Rate), (-1.0, Piece::Speed)];
    terms.extend(stabilization.map(|piece| (1.0, piece)));
    row(Unknown::V, &terms)
}

/// M v̇ − f + Gᵀλ, paired with q.
fn balance() -> EquationRow {
    row(Unknown::Q, &[(1.0, Piece::MassAccel), (-1.0, Piece::Force), (1.0, Piece::GtLambda)])
}

/// ż − φ, paired with z.
fn flow() -> EquationRow {
    row(Unknown::Z, &[(1.0, Piece::ZDot), (-1.0, Piece::Flow)])
}

/// The constraints as they stand: g = 0.
pub fn index3() -> Formulation {
    let position = row(Unknown::Lambda, &[(1.0, Piece::Position)]);
    formulation("index3", vec![kinematics(None), balance(), flow(), position], 3)
}

/// Position and velocity constraints, the second multiplier as Gᵀμ [Gear, Gupta & Leimkuhler 1985].
/// P Gᵀ = 0 of coordinate splitting needs the plain Gᵀ.
pub fn ggl() -> Formulation {
    stabilized("ggl", Piece::GtMu)
}

/// Like [`ggl`] with M⁻¹Gᵀμ: units fit, and a step splits into two KKT solves.
pub fn si2() -> Formulation {
    stabilized("si2", Piece::MinvGtMu)
}

fn stabilized(name: &'static str, stabilization: Piece) -> Formulation {
    let position = row(Unknown::Lambda, &[(1.0, Piece::Position)]);
    let velocity = row(Unknown::Mu, &[(1.0, Piece::Velocity)]);
    formulation(name, vec![kinematics(Some(stabilization)), balance(), flow(), position, velocity], 2)
}

/// The acceleration constraints; positions and velocities are projected after every accepted step.
pub fn index1() -> Formulation {
    let acceleration = row(Unknown::Lambda, &[(1.0, Piece::Acceleration)]);
    formulation("index1", vec![kinematics(None), balance(), flow(), acceleration], 1)
}

/// Constraints that are drawn closed, g̈ + 2α ġ + β² g = 0 [Baumgarte 1972]; nothing is projected.
pub fn baumgarte(alpha: f64, beta: f64) -> Formulation {
    let closing = [(1.0, Piece::Acceleration), (2.0 * alpha, Piece::Velocity), (beta * beta, Piece::Position)];
    let closing = row(Unknown::Lambda, &closing);
    formulation("baumgarte", vec![kinematics(None), balance(), flow(), closing], 1)
}

/// Old and new reactions as two forces that are added to the law of the method, so that positions and velocities
/// both obey the constraints: HHT-ADD [Jay & Negrut 2007]. b is the share of the new ones in the positions.
pub fn additive(b: f64) -> Formulation {
    // the factors of the reactions come from the method
    let kinematics = kinematics(Some(Piece::MinvGtMu));
    let balance = row(Unknown::Q, &[(1.0, Piece::MassAccel), (-1.0, Piece::Force), (1.0, Piece::GtMu)]);
    let position = row(Unknown::Lambda, &[(1.0, Piece::Position)]);
    let velocity = row(Unknown::Mu, &[(1.0, Piece::Velocity)]);
    let rows = vec![kinematics, balance, flow(), position, velocity];
    Formulation { additive: Some(b), ..formulation("add", rows, 2) }
}

/// Equilibrium: the balance without M v̇, at rest. It is no formulation of a motion, and has no name there.
pub fn statics() -> Formulation {
    let balance = row(Unknown::Q, &[(-1.0, Piece::Force), (1.0, Piece::GtLambda)]);
    let flow = row(Unknown::Z, &[(-1.0, Piece::Flow)]);
    let position = row(Unknown::Lambda, &[(1.0, Piece::Position)]);
    formulation("statics", vec![balance, flow, position], 3)
}

impl Formulation {
    /// Whether T q̇ = v holds as it stands and velocities occur in the balance alone: then v follows q.
    pub fn condenses(&self) -> bool {
        let kinematics = |r: &EquationRow| r.terms == kinematics(None).terms;
        self.index == 3 && self.rows.iter().any(|r| r.pairs == Unknown::V && kinematics(r))
    }

    /// Whether positions and velocities drift, and are put back after every step.
    pub fn projects(&self) -> bool {
        self.index == 1 && !self.rows.iter().any(|r| r.terms.iter().any(|t| t.1 == Piece::Position))
    }

    /// Whether positions and accelerations hang together so loosely that two systems may be solved for one.
    pub fn splits(&self) -> bool {
        let of_mass = |r: &EquationRow| r.terms.iter().any(|t| t.1 == Piece::MinvGtMu);
        self.additive.is_none() && self.rows.iter().any(of_mass)
    }

    /// The unknowns its rows are paired with.
    pub fn unknowns(&self) -> impl Iterator<Item = Unknown> + '_ {
        self.rows.iter().map(|r| r.pairs)
    }
}

impl fmt::Display for Formulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = |piece: Piece| match piece {
            Piece::Rate => "T q̇",
            Piece::Speed => "v",
            Piece::GtMu => "Gᵀμ",
            Piece::MinvGtMu => "M⁻¹Gᵀμ",
            Piece::MassAccel => "M v̇",
            Piece::Force => "f",
            Piece::GtLambda => "Gᵀλ",
            Piece::Position => "g",
            Piece::Velocity => "ġ",
            Piece::Acceleration => "g̈",
            Piece::ZDot => "ż",
            Piece::Flow => "φ",
        };
        for row in &self.rows {
            for (i, (c, piece)) in row.terms.iter().enumerate() {
                let sign = if *c < 0.0 {
                    " − "
                } else if i > 0 {
                    " + "
                } else {
                    ""
                };
                let factor = if c.abs() == 1.0 { String::new() } else { format!("{} ", c.abs()) };
                write!(f, "{sign}{factor}{}", symbol(*piece))?;
            }
            writeln!(f, " = 0")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_read_like_the_book() {
        assert_eq!(ggl().to_string(), "T q̇ − v + Gᵀμ = 0\nM v̇ − f + Gᵀλ = 0\nż − φ = 0\ng = 0\nġ = 0\n");
        let closing = baumgarte(5.0, 10.0).to_string();
        assert!(closing.ends_with("g̈ + 10 ġ + 100 g = 0\n"), "{closing}");
    }
}
