//! Formulations by name.

use super::options::MethodParameters;
use super::words::named;
use crate::formulation::{self, Formulation};

named! {
    /// A formulation by name; [`FormulationKind::table`] gives its rows.
    FormulationKind {
        /// The constraints as they stand: g = 0.
        Index3 = "index3",
        /// Position and velocity constraints, with Gᵀμ [Gear, Gupta & Leimkuhler 1985].
        Ggl = "ggl",
        /// Position and velocity constraints, with M⁻¹Gᵀμ.
        Si2 = "si2",
        /// The acceleration constraints, with a projection after every step.
        Index1 = "index1",
        /// The reactions of two times as two forces: HHT-ADD [Jay & Negrut 2007].
        Additive = "add",
        /// Acceleration constraints that draw open joints closed, g̈ + 2α ġ + β² g = 0 [Baumgarte 1972].
        Baumgarte = "baumgarte",
        /// A penalty on g̈ + 2α ġ + β² g, and multipliers that take it over in some iterates [Bayo, García de Jalón & Serna 1988]; explicit methods.
        Augmented = "augmented",
        /// Multipliers as states, λ̇ = ġ/ε [Park & Chiou 1988]; explicit methods.
        Park = "park",
        /// Coordinate partitioning: Maggi's equations in coordinates that elimination finds independent [Wehage & Haug 1982]; explicit methods.
        MaggiLu = "maggi-lu",
        /// Maggi's equations in a null space by QR [Kim & Vanderploeg 1986]; explicit methods.
        MaggiQr = "maggi-qr",
        /// Maggi's equations in a null space by singular values [Mani, Haug & Atkinson 1985]; explicit methods.
        MaggiSvd = "maggi-svd",
    }
}

impl FormulationKind {
    /// Its rows; none where it gives accelerations alone, to explicit methods.
    pub fn table(self, p: &MethodParameters) -> Option<Formulation> {
        Some(match self {
            FormulationKind::Index3 => formulation::index3(),
            FormulationKind::Ggl => formulation::ggl(),
            FormulationKind::Si2 => formulation::si2(),
            FormulationKind::Index1 => formulation::index1(),
            FormulationKind::Additive => formulation::additive(p.b),
            FormulationKind::Baumgarte => formulation::baumgarte(p.closing().0, p.closing().1),
            _ => return None,
        })
    }

    /// Whether implicit methods run on it.
    pub fn implicit(self) -> bool {
        self.table(&MethodParameters::default()).is_some()
    }

    /// Whether explicit methods run on it.
    pub fn explicit(self) -> bool {
        use FormulationKind::{Additive, Ggl, Index3, Si2};
        !matches!(self, Index3 | Ggl | Si2 | Additive)
    }

    /// Whether it is an alternative to the whole system of accelerations with a projection.
    pub fn is_alternative(self) -> bool {
        self.explicit() && self != FormulationKind::Index1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_own_unknown() {
        for (kind, name, _) in FormulationKind::ALL {
            let Some(f) = kind.table(&MethodParameters::default()) else {
                assert!(kind.explicit(), "{name}");
                continue;
            };
            assert_eq!(f.name, *name);
            let mut pairs: Vec<_> = f.unknowns().collect();
            pairs.sort();
            pairs.dedup();
            assert_eq!(pairs.len(), f.rows.len(), "{name}");
        }
        assert_eq!(FormulationKind::by_name("index4"), None);
    }
}
