//! Coordinate splitting [Yen & Petzold 1998]: tables 1–4, the point mass and what became of it.

mod auto;
pub mod bushings;
mod equal;
mod full;
pub mod partition;
pub mod problems;
#[cfg(test)]
mod projector;
mod rates;
mod s1c;
mod table_1;
mod table_2;
mod table_3;
mod table_4;
#[cfg(test)]
mod tests;

use crate::report::Report;
use crate::study::{Preset, Setting, StudyRun, consistent, own, plain, run};
use auto::auto;
use bellcrank_solve::choices::ErrorScope;
use bellcrank_solve::newton::Iteration;
use equal::equal;
use full::{point_mass, two_bodies};
use problems::Bushing;
use rates::rates;
use s1c::s1c;
use table_1::table_1;
use table_2::table_2;
use table_3::table_3;
use table_4::table_4;

/// What can be asked for.
pub const TABLES: &[&str] =
    &["1", "2", "3", "4", "s1c", "point", "bodies", "rates", "auto", "equal", "ladder", "bushing", "hour"];

/// The title of the page.
const TITLE: &str = "Coordinate splitting: the papers' tables, computed again";

/// Runs one table, or all of them; `quick` leaves the long rows out.
pub fn reproduce(table: Option<&str>, quick: bool) -> Report {
    let mut report = Report { title: TITLE.into(), ..Report::default() };
    let parts: [fn(&mut Report, bool); 13] = [
        table_1,
        table_2,
        table_3,
        table_4,
        s1c,
        point_mass,
        two_bodies,
        rates,
        auto,
        equal,
        bushings::ladder,
        bushings::stiff,
        bushings::hour,
    ];
    for (name, part) in TABLES.iter().zip(parts) {
        if table.is_none_or(|t| t == *name) {
            part(&mut report, quick);
        }
    }
    report
}

fn strings<T: ToString>(cells: &[T]) -> Vec<String> {
    cells.iter().map(|c| c.to_string()).collect()
}

/// steps/f/J/error test failures/convergence failures.
fn slashed(counts: &[usize; 5]) -> String {
    strings(counts).join("/")
}

/// A count of a run that may have failed.
fn counted(count: Option<usize>) -> String {
    count.map_or("–".into(), |c| c.to_string())
}

/// One step of a bushing, without error test, with Newton's norm over all of q and v.
fn one_step(bushing: Bushing, q: [f64; 3], v: [f64; 3], h: f64, iteration: Iteration) -> StudyRun {
    let preloaded = bushing.preloaded;
    let dynamics = own(bushing);
    let mut start = plain(&dynamics, &q, &v);
    if !preloaded && let Some(with_reactions) = consistent(&dynamics, &q, &v) {
        start = with_reactions;
    }
    let setting = Setting { iteration, on: ErrorScope::All, max_iterations: 100, ..Preset::Cs.setting(1e-10, 1) };
    run(&dynamics, &start, h, Some(h), &setting)
}
