//! `bellcrank bench`: speed with accuracy beside it, against other programs in the same run.

use crate::cli::{Failure, print, tell};
use bellcrank_bench::{PROBLEMS, measure, peers::Peers, processor_name};
use bellcrank_model::file::suggest;
use bellcrank_reproduce::report::{Report, Table};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Options of `bench`.
#[derive(Args)]
pub struct Bench {
    /// What to measure: ladder, spatial-ladder, net, chain, seven-body, slider-crank, stiff-bushing; all if left out.
    problems: Vec<String>,
    /// Skips the largest models.
    #[arg(long)]
    quick: bool,
    /// Installs the programs to compare with (Exudyn, MuJoCo, Pinocchio) from PyPI, in an environment of their own.
    #[arg(long)]
    install_peers: bool,
    /// The folder of that environment.
    #[arg(long, value_name = "DIR")]
    peers: Option<PathBuf>,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
    /// Writes index.html and the diagrams as SVG to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The user's folder for what can be made again.
fn cache() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_else(std::env::temp_dir);
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).unwrap_or_else(|| home.join(".cache"));
    cache.join("bellcrank").join("peers")
}

/// Measures what was asked for.
pub fn bench(args: Bench) -> Result<(), Failure> {
    if let Some(unknown) = args.problems.iter().find(|p| !PROBLEMS.contains(&p.as_str())) {
        let near = suggest::nearest(unknown, PROBLEMS).map(|n| format!("did you mean `{n}`? "));
        let help = format!("{}problems are {}", near.unwrap_or_default(), PROBLEMS.join(", "));
        return Err(Failure::BadInput(format!("unknown problem {}\nhelp: {help}", suggest::quoted(unknown))));
    }
    let folder = args.peers.unwrap_or_else(cache);
    let peers = Peers::find(&folder, args.install_peers).map_err(|e| {
        let help =
            "python3 with venv and a package index are needed; without --install-peers only Bellcrank is measured";
        Failure::Failed(format!("cannot get the peers ready in {}: {e}\nhelp: {help}", folder.display()))
    })?;
    let found = peers.words();
    match found.is_empty() {
        true => tell("no peers are installed: --install-peers fetches Exudyn, MuJoCo and Pinocchio"),
        false => tell(&format!("beside {}", found.join(", "))),
    }
    let title = format!("Bellcrank {}: speed and accuracy", env!("CARGO_PKG_VERSION"));
    let processor = processor_name().unwrap_or_else(|| "a processor that does not tell its name".into());
    let beside = if found.is_empty() { "alone".into() } else { format!("beside {}", found.join(", ")) };
    let about = format!("One thread of {processor}, {beside}; all in one run.");
    let mut report = Report { title, about, ..Report::default() };
    for problem in PROBLEMS.into_iter().filter(|p| args.problems.is_empty() || args.problems.iter().any(|a| a == p)) {
        let one = measure(problem, args.quick, &peers, &mut |what| tell(&format!("measuring {what}")));
        if !args.json {
            print(&format!("{}\n", one.to_text()))?;
        }
        report.tables.extend(one.tables);
        report.figures.extend(one.figures);
    }
    if let Some(folder) = &args.out {
        report.write(folder).map_err(|e| Failure::Failed(format!("cannot write to {}: {e}", folder.display())))?;
    }
    if !args.json {
        return Ok(());
    }
    let table = |t: &Table| json!({ "title": t.title, "header": t.header, "rows": t.rows });
    let tables: Vec<_> = report.tables.iter().map(table).collect();
    print(&json!({ "processor": processor, "peers": found, "tables": tables }).to_string())
}
