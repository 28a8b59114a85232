//! The arguments of `run`.

use crate::cli::flags::{All, Flags};
use crate::cli::robot::RobotArgs;
use bellcrank_solve::choices::Said;
use clap::Args;
use std::path::PathBuf;

/// Options of `run`; those of the solver are also keys of `[solve]` in the model file, and win over it. Its fields are the
/// flags, in the order of the help.
#[derive(Args, Default)]
pub struct Run {
    /// The model file (.toml or .json), or a robot file (URDF, MJCF, SDF).
    pub model: String,
    #[command(flatten)]
    pub solve: Flags<All>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    pub set: Vec<String>,
    /// Runs the model whole and cut into parts at these joints (or forces), and prints the largest difference.
    #[arg(long, value_name = "JOINTS", value_delimiter = ',')]
    pub split: Vec<String>,
    /// With --split: tolerances of gaps (in lengths), gap rates (lengths per window), accelerations (fractions of the
    /// largest) and balance of loads (as a displacement, in lengths): four numbers, or one for all.
    #[arg(long, value_name = "P,V,A,D", value_delimiter = ',', requires = "split")]
    pub tolerances: Vec<f64>,
    /// Writes results.parquet, results.csv and summary.json to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// With --out: writes a checkpoint every so many seconds (default: 60; 0 for never), from which a killed or interrupted
    /// run can continue.
    #[arg(long, value_name = "SECONDS", requires = "out", value_parser = seconds)]
    pub checkpoint: Option<f64>,
    /// With --out: continues from the last checkpoint; the results have the same bytes as those of a run without
    /// interruption.
    #[arg(long, requires = "out", conflicts_with_all = ["split", "live"])]
    pub resume: bool,
    /// Measures the error: runs the model again with finer steps and compares all channels.
    #[arg(long)]
    pub verify: bool,
    /// Writes one HTML file with the moving machine, plots and the accuracy report.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", value_parser = html_file)]
    pub report: Option<PathBuf>,
    /// Adds a plot to the report: a channel, or several separated by commas; may be repeated.
    #[arg(long = "plot", value_name = "CHANNELS", requires = "report")]
    pub plots: Vec<String>,
    #[command(flatten)]
    pub watch: LiveView,
    #[command(flatten)]
    pub robot: RobotArgs,
    /// Ends with status 3 if the run finished but its result is doubtful.
    #[arg(long)]
    pub strict: bool,
    /// Prints one JSON object with counts, drift, energy and the final values.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub talk: Talk,
}

/// How much is printed.
#[derive(Args, Default)]
pub struct Talk {
    /// Prints no progress bar and no summary; only warnings and errors.
    #[arg(long, short)]
    pub quiet: bool,
    /// Also prints the plan, counts, the solver, more of the largest values and events, and the final values.
    #[arg(long, short, conflicts_with_all = ["quiet", "json"])]
    pub verbose: bool,
}

/// A run in the browser.
#[derive(Args, Default)]
pub struct LiveView {
    /// Shows the run in the browser while it is computed.
    #[arg(long)]
    pub live: bool,
    /// With --live: prints the address without opening a browser.
    #[arg(long, requires = "live")]
    pub no_open: bool,
    /// With --live: the port to serve on (this machine only).
    #[arg(long, requires = "live")]
    pub port: Option<u16>,
}

impl Run {
    /// All as the file says.
    pub fn of(model: &str) -> Run {
        Run { model: model.to_string(), ..Run::default() }
    }

    /// With a report there, and the accuracy told in it.
    pub fn with_report(self, file: PathBuf) -> Run {
        Run { report: Some(file), verify: true, ..self }
    }

    /// Into a folder, without printing anything.
    pub fn into_folder(self, out: PathBuf) -> Run {
        Run { out: Some(out), talk: Talk { quiet: true, verbose: false }, ..self }
    }

    /// What the command line says of the solver.
    pub fn said(&self) -> &[Said] {
        &self.solve.0
    }

    /// Whether people are told about the run.
    pub fn talks(&self) -> bool {
        !self.json && !self.talk.quiet
    }

    /// Where the report goes, if there is one.
    pub fn report_file(&self) -> Option<PathBuf> {
        let file = self.report.as_ref()?;
        Some(match (file.as_os_str().is_empty(), &self.out) {
            (false, _) => file.clone(),
            (true, Some(out)) => out.join("report.html"),
            (true, None) => PathBuf::from("report.html"),
        })
    }
}

/// Seconds on the clock.
fn seconds(text: &str) -> Result<f64, &'static str> {
    text.parse().ok().filter(|x: &f64| (0.0..=1e9).contains(x)).ok_or("a number of seconds is wanted, 0 for never")
}

/// The file of a report; nothing stands for report.html.
fn html_file(text: &str) -> Result<PathBuf, &'static str> {
    let path = PathBuf::from(text);
    let html = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"));
    // a model that was meant is not overwritten
    if text.is_empty() || html { Ok(path) } else { Err("a report is an HTML file: name it like report.html") }
}
