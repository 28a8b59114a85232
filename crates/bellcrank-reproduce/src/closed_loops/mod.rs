//! Many closed loops [Ascher & Lin 2000]: sequential regularization as published, its successor loop-CG, and elimination of
//! the whole system, on a chain of squares and on nets.

mod epsilon;
mod known;
mod loop_cg;
pub mod models;
mod motions;
mod regularized;
pub mod runs;
#[cfg(test)]
mod tests;
mod theorem;
mod time;

use crate::report::Report;
use epsilon::{order, stability};
use loop_cg::{implicit, successor};
use motions::{motion, references, singular};
use regularized::{table_1, table_2, table_3};

/// What can be asked for.
pub const TABLES: &[&str] = &[
    "4.1",
    "4.2",
    "4.3",
    "stability",
    "order",
    "theorem",
    "space",
    "references",
    "singular",
    "successor",
    "implicit",
    "motion",
    "time",
];

fn short(x: f64) -> String {
    format!("{x:.2e}")
}

fn names<const N: usize>(header: [&str; N]) -> Vec<String> {
    header.map(String::from).to_vec()
}

/// Computes what was asked for, or everything.
pub fn reproduce(table: Option<&str>, quick: bool) -> Report {
    let mut report =
        Report { title: "Many closed loops: sequential regularization and its successor".into(), ..Report::default() };
    let all: [fn(&mut Report, bool); 13] = [
        table_1,
        table_2,
        table_3,
        stability,
        order,
        theorem::theorem,
        theorem::space,
        references,
        singular,
        successor,
        implicit,
        motion,
        time::diagram,
    ];
    for (name, compute) in TABLES.iter().zip(all) {
        // minutes: left out of a quick run unless it is asked for by name
        let slow = *name == "time" && quick;
        if table.map_or(!slow, |t| t == *name) {
            compute(&mut report, quick);
        }
    }
    report
}
