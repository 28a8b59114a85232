//! Methods by name: one row each.

use super::formulation::FormulationKind::{self, Ggl, Index1, Index3, Si2};
use super::options::MethodParameters;
use crate::methods::alpha::AlphaParameters;
use crate::methods::tableau::{DORMAND_PRINCE_5, DORMAND_PRINCE_8, EULER, RK2, RK4, Tableau};

/// What a method is made of.
#[derive(Clone, Copy)]
pub enum Family {
    /// Chosen as the run goes.
    Auto,
    /// Backward differentiation, of variable order.
    Bdf,
    /// The generalized-α family: its order with the default parameters, and its coefficients.
    Alpha(usize, fn(&MethodParameters) -> AlphaParameters),
    /// An explicit Runge–Kutta method.
    RungeKutta(&'static Tableau),
}

/// One method.
pub struct MethodRow {
    /// The method.
    pub method: MethodName,
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub doc: &'static str,
    /// The formulation it runs on unless another is asked for.
    pub formulation: FormulationKind,
    /// What it is made of.
    pub family: Family,
}

macro_rules! methods {
    ($( $member:ident, $name:literal, $formulation:expr, $family:expr, $doc:literal; )+) => {
        /// A method by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum MethodName { $( #[doc = $doc] $member, )+ }

        /// All methods; a new one is its file and a line here.
        pub static METHODS: &[MethodRow] = &[ $( MethodRow {
            method: MethodName::$member, name: $name, doc: $doc, formulation: $formulation, family: $family,
        }, )+ ];
    };
}

methods! {
    Auto, "auto", Si2, Family::Auto, "explicit until the problem proves stiff, then bdf";
    Bdf, "bdf", Ggl, Family::Bdf, "error-controlled BDF of order 1 to 5";
    GeneralizedAlpha, "gen-alpha", Si2, Family::Alpha(2, |p| AlphaParameters::from_rho(p.rho)), "generalized-α of order 2, damped by `rho`";
    Hht, "hht", Si2, Family::Alpha(2, |p| AlphaParameters::hht(p.alpha)), "Hilber–Hughes–Taylor of order 2, damped by `alpha`";
    Newmark, "newmark", Index3, Family::Alpha(1, MethodParameters::newmark), "Newmark, of order 1 unless `gamma` is 1/2";
    Euler, "euler", Index1, Family::RungeKutta(&EULER), "explicit Euler of order 1, fixed steps";
    Rk2, "rk2", Index1, Family::RungeKutta(&RK2), "explicit midpoint rule of order 2, fixed steps";
    Rk4, "rk4", Index1, Family::RungeKutta(&RK4), "classical Runge–Kutta of order 4, fixed steps";
    Dopri5, "dopri5", Index1, Family::RungeKutta(&DORMAND_PRINCE_5), "Dormand–Prince 5(4)";
    Dop853, "dop853", Index1, Family::RungeKutta(&DORMAND_PRINCE_8), "Dormand–Prince 8(5,3)";
}

impl MethodName {
    /// The method of a name.
    pub fn by_name(name: &str) -> Option<MethodName> {
        METHODS.iter().find(|row| row.name == name).map(|row| row.method)
    }

    /// The names of all methods.
    pub fn names() -> Vec<&'static str> {
        METHODS.iter().map(|row| row.name).collect()
    }

    /// Its row of the table.
    pub fn row(self) -> &'static MethodRow {
        &METHODS[self as usize]
    }

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its coefficients, if it is an explicit Runge–Kutta method.
    pub fn tableau(self) -> Option<&'static Tableau> {
        match self.row().family {
            Family::RungeKutta(tableau) => Some(tableau),
            _ => None,
        }
    }

    /// Whether it is an explicit Runge–Kutta method.
    pub fn explicit(self) -> bool {
        self.tableau().is_some()
    }

    /// Whether it has an error estimate.
    pub fn adaptive(self) -> bool {
        self.tableau().is_none_or(|t| !t.errors.is_empty())
    }

    /// The order of its positions, with the default parameters; none where it varies.
    pub fn order(self) -> Option<usize> {
        match self.row().family {
            Family::RungeKutta(tableau) => Some(tableau.order),
            Family::Alpha(order, _) => Some(order),
            Family::Auto | Family::Bdf => None,
        }
    }

    /// The formulation it runs on unless another is asked for.
    pub fn default_formulation(self) -> FormulationKind {
        self.row().formulation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_methods_and_tableaus_have_their_names() {
        for (k, row) in METHODS.iter().enumerate() {
            assert_eq!(row.method as usize, k);
            assert_eq!(MethodName::by_name(row.name), Some(row.method));
            assert!(row.method.tableau().is_none_or(|t| t.name == row.name), "{}", row.name);
        }
        assert_eq!(MethodName::by_name("leapfrog"), None);
        let fixed: Vec<&str> = METHODS.iter().filter(|r| !r.method.adaptive()).map(|r| r.name).collect();
        assert_eq!(fixed, ["euler", "rk2", "rk4"]);
    }
}
