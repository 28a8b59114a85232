//! `bellcrank study STUDY.toml --out DIR`: many runs of one model, as one table.

use crate::cli::{Failure, output, print, signals, tell};
use bellcrank_study::{Jobs, LedgerError, Study, StudyError, StudyProgress, TABLE, run};
use clap::Args;
use indicatif::{FormattedDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Options of `study`.
#[derive(Args)]
pub struct StudyArgs {
    /// The study file (.toml or .json): the model, the values to vary, the results to collect.
    study: String,
    /// Writes study.parquet, with one row for each run, to this folder.
    #[arg(long, value_name = "DIR", required_unless_present = "points")]
    out: Option<PathBuf>,
    /// Number of simultaneous runs (default: one per core). The table does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: Option<u32>,
    /// Continues a study that was killed or interrupted, or extends a smaller one, with the rows in the folder.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Prints the points of the study as CSV, and runs nothing.
    #[arg(long, conflicts_with_all = ["out", "jobs", "resume"])]
    points: bool,
    /// Prints one JSON object with the number of rows.
    #[arg(long)]
    json: bool,
    /// Prints no progress and no summary; only errors.
    #[arg(long, short)]
    quiet: bool,
}

/// Runs a study.
pub fn study(args: StudyArgs) -> Result<(), Failure> {
    let study = Study::open(&args.study).map_err(|report| Failure::BadInput(report.to_string()))?;
    let Some(dir) = args.out.as_ref().filter(|_| !args.points) else { return points(&study) };
    let talks = !args.quiet && !args.json;
    let interrupt = Arc::new(AtomicBool::new(false));
    signals::set(&interrupt, 130);
    if talks {
        let axes = output::plural(study.space.axes.len(), "value is", "values are");
        tell(&format!("{}: {} runs of {}, {axes} varied", args.study, study.rows(), study.model));
    }
    let begun = Instant::now();
    let mut bar = Bar::new(talks);
    let threads = args.jobs.unwrap_or(0) as usize;
    let progress = Box::new(|at: StudyProgress| {
        bar.show(at);
        true
    });
    let ended = run(&study, dir, args.resume, &mut Jobs { threads, interrupt, progress });
    bar.close();
    let outcome = ended.map_err(|e| failed(e, dir))?;
    if args.json {
        let told = serde_json::json!({
            "rows": outcome.rows, "computed": outcome.computed, "failed": outcome.failed, "table": dir.join(TABLE),
        });
        return print(&told.to_string());
    }
    if talks {
        let taken = outcome.rows - outcome.computed;
        let again = if taken > 0 { format!(", {taken} of them taken over") } else { String::new() };
        let wall = begun.elapsed().as_secs_f64();
        tell(&format!("{} rows in {wall:.2} s{again}", outcome.rows));
        if outcome.failed > 0 {
            let rows = output::plural(outcome.failed as usize, "row failed", "rows failed");
            tell(&format!("warning: {rows}; the column `reason` says why"));
        }
        tell(&format!("table: {}", dir.join(TABLE).display()));
        tell(&format!("next: bellcrank view {}", dir.display()));
    }
    Ok(())
}

fn failed(error: StudyError, dir: &std::path::Path) -> Failure {
    match error {
        StudyError::Ledger(LedgerError::Disk(e)) => Failure::Failed(e.to_string()),
        StudyError::Ledger(e) => Failure::BadInput(e.to_string()),
        e @ StudyError::Interrupted(_) => {
            Failure::Failed(format!("{e}\nhelp: they are in {}; --resume continues with them", dir.display()))
        }
    }
}

/// The points of a study as CSV.
fn points(study: &Study) -> Result<(), Failure> {
    use bellcrank_results::csv::quoted;
    let names: Vec<String> = study.space.axes.iter().map(|a| quoted(a.name.clone())).collect();
    crate::cli::print_with(|out| {
        write!(out, "{}", names.join(","))?;
        for index in 0..study.rows() {
            let values: Vec<String> = study.space.point(index).values.iter().map(|v| quoted(v.shown())).collect();
            write!(out, "\n{}", values.join(","))?;
        }
        Ok(())
    })
}

/// A bar of rows on a terminal, nothing elsewhere.
struct Bar {
    bar: Option<ProgressBar>,
    begun: Instant,
    first: Option<u64>,
}

impl Bar {
    fn new(enabled: bool) -> Bar {
        let bar = (enabled && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1);
            if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Bar { bar, begun: Instant::now(), first: None }
    }

    fn show(&mut self, at: StudyProgress) {
        let first = *self.first.get_or_insert(at.done);
        let Some(bar) = &self.bar else { return };
        bar.set_length(at.rows);
        bar.set_position(at.done);
        bar.set_message(message(at, first, self.begun.elapsed()));
    }

    fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `312 of 1000 rows, 3 failed, 00:00:12 left`
fn message(at: StudyProgress, first: u64, elapsed: Duration) -> String {
    let failed = if at.failed > 0 { format!(", {} failed", at.failed) } else { String::new() };
    let new = at.done.saturating_sub(first);
    let left = (new > 0).then(|| elapsed.as_secs_f64() / new as f64 * at.rows.saturating_sub(at.done) as f64);
    let left = left.and_then(|s| Duration::try_from_secs_f64(s.ceil()).ok());
    let left = left.map_or(String::new(), |left| format!(", {} left", FormattedDuration(left)));
    format!("{} of {} rows{failed}{left}", at.done, at.rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_counts_rows_that_were_computed_now() {
        let at = |done, failed| StudyProgress { done, failed, rows: 1000 };
        let shown = message(at(600, 3), 200, Duration::from_secs(40));
        assert_eq!(shown, "600 of 1000 rows, 3 failed, 00:00:40 left");
        assert_eq!(message(at(200, 0), 200, Duration::from_secs(1)), "200 of 1000 rows");
    }
}
