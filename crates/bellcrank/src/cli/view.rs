//! `bellcrank view [RESULT_DIR]…`: serves result folders, or that of a study, to the browser.

use crate::cli::Failure;
use clap::Args;
use std::path::PathBuf;

/// Options of `view`.
#[derive(Args)]
pub struct View {
    /// The folder that `run`, `study`, `statics`, `modes` or `inverse` wrote; several runs appear in one scene and in the
    /// same plots, the first one solid.
    #[arg(default_value = "results", value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The port to serve on, on this machine only.
    #[arg(long)]
    port: Option<u16>,
    /// Prints the address without opening a browser.
    #[arg(long)]
    no_open: bool,
}

/// Serves the viewer until the program ends.
pub fn view(args: View) -> Result<(), Failure> {
    let options = bellcrank_view::ServeOptions { port: args.port, open: !args.no_open };
    bellcrank_view::view(&args.folders, &options, &mut std::io::stderr()).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Failure::BadInput(e.to_string()),
        _ => Failure::Failed(e.to_string()),
    })
}
