//! The command line of Bellcrank: data to stdout, words to stderr, a hint at the end of every error.
//!
//! Exit codes: 0 for success, 1 for a run that failed, 2 for bad input.

mod progress;
mod reproduce;
mod run;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Multibody dynamics: from a model file to a trusted result.
#[derive(Parser)]
#[command(name = "bellcrank", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulates a model file.
    Run(run::Run),
    /// Computes the tables of a paper again, ours beside the paper's.
    Reproduce(reproduce::Reproduce),
    /// Prints the JSON Schema of model files, for editors.
    Schema,
    /// Prints the reference of the model file: every section, joint and force with its keys.
    Reference,
}

/// How a command ends, and what it says of it on stderr.
pub enum Failure {
    /// Exit code 2.
    BadInput(String),
    /// Exit code 1.
    Failed(String),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(options) => run::run(options),
        Command::Reproduce(options) => reproduce::reproduce(options),
        Command::Schema => print(&format!("{:#}", bellcrank_model::reference::schema())),
        Command::Reference => print(&bellcrank_model::reference::markdown()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::BadInput(text)) => fail(&text, 2),
        Err(Failure::Failed(text)) => fail(&text, 1),
    }
}

fn fail(text: &str, code: u8) -> ExitCode {
    let prefix = if text.starts_with("error") { "" } else { "error: " };
    eprintln!("{prefix}{}", text.trim_end());
    ExitCode::from(code)
}

/// Prints to stdout; a reader that went away is no error.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    match writeln!(std::io::stdout().lock(), "{}", text.trim_end()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Failed(format!("cannot write: {e}"))),
        _ => Ok(()),
    }
}
