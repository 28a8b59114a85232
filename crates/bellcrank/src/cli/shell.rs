//! `bellcrank completions SHELL` and `bellcrank man`: made from the description of the command line that `--help` prints.

use crate::cli::{Cli, Failure, print, tell};
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Options of `completions`.
#[derive(Args)]
pub struct Completions {
    /// The shell to print a completion script for.
    shell: clap_complete::Shell,
}

/// Prints a completion script.
pub fn completions(args: Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bellcrank", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Options of `man`.
#[derive(Args)]
pub struct Man {
    /// Writes one page per command to this folder; without it the main page is printed.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints or writes manual pages.
pub fn man(args: Man) -> Result<(), Failure> {
    let Some(out) = args.out else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
        rendered.map_err(|e| Failure::Failed(e.to_string()))?;
        return print(&String::from_utf8_lossy(&page));
    };
    let failed = |e: std::io::Error| Failure::Failed(format!("cannot write to {}: {e}", out.display()));
    std::fs::create_dir_all(&out).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &out).map_err(failed)?;
    tell(&format!("manual pages: {}", out.display()));
    Ok(())
}
