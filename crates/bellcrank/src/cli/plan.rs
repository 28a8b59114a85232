//! `bellcrank plan MODEL`: what a run would do, and why, without running it.

use crate::cli::flags::{All, Flags};
use crate::cli::places::not_started;
use crate::cli::{Failure, output, print};
use bellcrank_results::json;
use bellcrank_solve::begin;
use clap::Args;

/// Options of `plan`: those of the solver are the options of `run`.
#[derive(Args)]
pub struct Plan {
    /// The model file (.toml or .json).
    model: String,
    #[command(flatten)]
    solve: Flags<All>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// Assembles a model, decides everything about its run and prints that.
pub fn plan(args: Plan) -> Result<(), Failure> {
    let mut read = output::read(&args.model, &args.set)?;
    let options = output::options(&read, &args.solve.0)?;
    let system = std::mem::take(&mut read.model).into_system();
    let simulation = begin::simulation(system, options).map_err(|e| not_started(&read, &args.solve.0, e))?;
    match args.json {
        true => print(&serde_json::Value::from(json::plan(simulation.plan())).to_string()),
        false => print(&simulation.plan().to_string()),
    }
}
