//! Formulations by name.

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
    }
}

impl FormulationKind {
    /// Its rows; b is the share of the new reactions in the positions of the additive formulation.
    pub fn table(self, b: f64) -> Formulation {
        match self {
            FormulationKind::Index3 => formulation::index3(),
            FormulationKind::Ggl => formulation::ggl(),
            FormulationKind::Si2 => formulation::si2(),
            FormulationKind::Index1 => formulation::index1(),
            FormulationKind::Additive => formulation::additive(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_own_unknown() {
        for (kind, name, _) in FormulationKind::ALL {
            let f = kind.table(0.0);
            assert_eq!(f.name, *name);
            let mut pairs: Vec<_> = f.unknowns().collect();
            pairs.sort();
            pairs.dedup();
            assert_eq!(pairs.len(), f.rows.len(), "{name}");
        }
        assert_eq!(FormulationKind::by_name("index4"), None);
    }
}
