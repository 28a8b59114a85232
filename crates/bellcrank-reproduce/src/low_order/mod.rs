//! Low-order integrators [Negrut, Jay & Khude 2009]: figures 3–16, the stiff double pendulum, and what goes beyond.

mod beyond;
mod convergence;
mod cost;
mod drift;
mod energy;
mod mean_mass;
pub mod printed;
pub mod runs;
mod stiff;
mod sweep;
#[cfg(test)]
mod tests;

use crate::claim::{Against, around};
use crate::report::Report;
use beyond::{error_control, heavy_top, printed_form};
use convergence::{convergence, flexible, seven_body};
use cost::cost;
use drift::{boxes, no_drift};
use energy::{energy, flexible_energy};
use mean_mass::mean_mass;
use stiff::stiff;

/// What can be asked for.
pub const FIGURES: &[&str] = &[
    "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "stiff", "eq8", "mean", "top", "rtol",
];

/// The title of the page.
const TITLE: &str = "Low-order integrators: the paper's figures, computed again";

/// Runs one figure, or all of them; `quick` leaves the finest steps and the longest runs out.
pub fn reproduce(figure: Option<&str>, quick: bool) -> Report {
    let mut report = Report { title: TITLE.into(), ..Report::default() };
    type Part = (&'static [&'static str], fn(&mut Report, bool));
    let parts: [Part; 13] = [
        (&["3"], convergence),
        (&["4"], flexible),
        (&["5", "6"], seven_body),
        (&["7", "8", "9"], energy),
        (&["10"], flexible_energy),
        (&["11", "12"], no_drift),
        (&["13", "14", "15"], boxes),
        (&["16"], cost),
        (&["stiff"], stiff),
        (&["eq8"], printed_form),
        (&["mean"], mean_mass),
        (&["top"], heavy_top),
        (&["rtol"], error_control),
    ];
    for (names, part) in parts {
        if figure.is_none_or(|f| names.contains(&f)) {
            part(&mut report, quick);
        }
    }
    report
}

fn strings<T: ToString>(cells: &[T]) -> Vec<String> {
    cells.iter().map(|c| c.to_string()).collect()
}

fn shown(x: f64) -> String {
    format!("{x:.2e}")
}

/// A claim about an order of convergence, which the paper states and theory demands.
fn claim_slope(report: &mut Report, table: &'static str, what: String, ours: f64, wanted: f64, by: f64) {
    report.claim(table, Against::Theory, what).asks("order", ours, around(wanted, by)).paper(format!("{wanted:.0}"));
}
