//! `bellcrank check MODEL`.

use crate::run;
use crate::{Failure, print};
use bellcrank_model::read::read_model;
use clap::Args;
use std::sync::Arc;

/// Options of `check`.
#[derive(Args)]
pub struct Check {
    /// The model file (TOML, or JSON by its ending).
    model: String,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Looks at a model. What keeps it from running makes the command fail.
pub fn check(args: Check) -> Result<(), Failure> {
    let bad = |report: bellcrank_model::file::Report| Failure::BadInput(report.to_string());
    let read = read_model(&args.model, &args.set).map_err(bad)?;
    let options = run::options(&run::Run::of(&args.model), &read).map_err(bad)?;
    let system = Arc::new(read.model.compile());
    let found = bellcrank_solve::check::check(&system, &options);
    match args.json {
        true => print(&found.to_json().to_string())?,
        false => print(&found.to_string())?,
    }
    match found.runs() {
        true => Ok(()),
        false => Err(Failure::BadInput(format!("{}: the model cannot run\nhelp: see the errors above", args.model))),
    }
}
