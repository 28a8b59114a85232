//! `bellcrank reproduce PAPER [TABLE]`.

use crate::cli::{Failure, print};
use bellcrank_reproduce::report::Report;
use bellcrank_reproduce::{closed_loops, coordinate_splitting, gluing, low_order};
use clap::Args;
use std::path::PathBuf;

/// Options of `reproduce`.
#[derive(Args)]
pub struct Reproduce {
    /// The paper: closed-loops, coordinate-splitting, gluing, low-order.
    paper: String,
    /// One table (1, 2, 3, 4, s1c, point, bodies, rates, auto, equal, ladder, bushing, hour) or figure (3 … 16, stiff, eq8, mean, top, rtol) of it; all
    /// of them if left out.
    table: Option<String>,
    /// Skips the long rows.
    #[arg(long)]
    quick: bool,
    /// Prints every claim as JSON: our numbers, what is asked of them and by whom, and what the paper has.
    #[arg(long)]
    json: bool,
    /// Writes index.html and the figures as SVG to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A paper: its name, its tables or figures, and what computes them.
type Paper = (&'static str, &'static [&'static str], fn(Option<&str>, bool) -> Report);

/// The papers.
const PAPERS: [Paper; 4] = [
    ("closed-loops", closed_loops::TABLES, closed_loops::reproduce),
    ("coordinate-splitting", coordinate_splitting::TABLES, coordinate_splitting::reproduce),
    ("gluing", gluing::TABLES, gluing::reproduce),
    ("low-order", low_order::FIGURES, low_order::reproduce),
];

/// Computes a paper's tables again; a claim that fails is exit code 1.
pub fn reproduce(args: Reproduce) -> Result<(), Failure> {
    let Some((_, tables, run)) = PAPERS.iter().find(|(name, ..)| *name == args.paper) else {
        let names = PAPERS.map(|(name, ..)| name).join(", ");
        return Err(Failure::BadInput(format!("unknown paper `{}`\nhelp: one of {names}", args.paper)));
    };
    if let Some(table) = args.table.as_deref().filter(|t| !tables.contains(t)) {
        let tables = tables.join(", ");
        return Err(Failure::BadInput(format!("unknown table `{table}`\nhelp: one of {tables}")));
    }
    let report = run(args.table.as_deref(), args.quick);
    if let Some(folder) = &args.out {
        report.write(folder).map_err(|e| Failure::Failed(format!("cannot write to {}: {e}", folder.display())))?;
    }
    print(&if args.json { report.to_json().to_string() } else { report.to_text() })?;
    match report.failed() {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} of {} claims do not hold", report.claims.len()))),
    }
}
