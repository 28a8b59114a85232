//! `bellcrank reproduce PAPER [TABLE]`.

use crate::{Failure, print};
use bellcrank_reproduce::coordinate_splitting;
use clap::Args;
use std::path::PathBuf;

/// Options of `reproduce`.
#[derive(Args)]
pub struct Reproduce {
    /// The paper: coordinate-splitting.
    paper: String,
    /// One table of it: 1, 2, 3, 4, s1c, auto, equal, ladder, bushing, hour; all of them if left out.
    table: Option<String>,
    /// Leaves the long rows out.
    #[arg(long)]
    quick: bool,
    /// Prints every claim with ours, the paper's and whether it holds.
    #[arg(long)]
    json: bool,
    /// Writes index.html and the figures as SVG to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Computes a paper's tables again; a claim that fails is exit code 1.
pub fn reproduce(args: Reproduce) -> Result<(), Failure> {
    if args.paper != "coordinate-splitting" {
        return Err(Failure::BadInput(format!("unknown paper `{}`\nhelp: try coordinate-splitting", args.paper)));
    }
    if let Some(table) = args.table.as_deref().filter(|t| !coordinate_splitting::TABLES.contains(t)) {
        let tables = coordinate_splitting::TABLES.join(", ");
        return Err(Failure::BadInput(format!("unknown table `{table}`\nhelp: one of {tables}")));
    }
    let report = coordinate_splitting::reproduce(args.table.as_deref(), args.quick);
    if let Some(folder) = &args.out {
        let write = |name: String, text: String| {
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(folder.join(&name), text))
                .map_err(|e| Failure::Failed(format!("cannot write {}: {e}", folder.join(&name).display())))
        };
        write("index.html".into(), report.to_html())?;
        report.figures.iter().try_for_each(|(name, figure)| write(format!("{name}.svg"), figure.to_svg()))?;
    }
    print(&if args.json { report.to_json().to_string() } else { report.to_text() })?;
    let failed = report.claims.iter().filter(|c| !c.holds).count();
    match failed {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} of {} claims do not hold", report.claims.len()))),
    }
}
