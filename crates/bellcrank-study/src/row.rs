//! What a run gave: a row of the table.

use crate::space::Point;
use crate::study::Study;
use bellcrank_model::catalog;
use bellcrank_model::file::Report;
use bellcrank_model::model::Model;
use bellcrank_results::Folder;
use bellcrank_solve::begin;
use bellcrank_solve::choices::{Options, Voice};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{self, StartError, Summary};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It reached its end.
    Finished,
    /// The same, but it cannot vouch for its result.
    Doubtful,
    /// There is no result.
    Failed,
}

impl Status {
    /// As the table has it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Finished => "finished",
            Status::Doubtful => "doubtful",
            Status::Failed => "failed",
        }
    }
}

/// What a run at a point gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The key of the point.
    pub key: u128,
    /// How the run ended.
    pub status: Status,
    /// A value for each column; none where it failed.
    pub values: Vec<f64>,
    /// Why it failed, or is doubtful.
    pub reason: String,
}

impl Row {
    /// The row of a run that failed.
    pub fn failed(key: u128, reason: impl Into<String>) -> Row {
        Row { key, status: Status::Failed, values: Vec::new(), reason: one_line(&reason.into()) }
    }
}

/// A message without line breaks: the table has one line for each run.
fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The first problem of a report, and what to try.
fn told(report: &Report) -> String {
    let Some(first) = report.diagnostics().0.first() else { return report.to_string() };
    let help = first.help.first().map_or(String::new(), |help| format!("; {help}"));
    format!("{}{help}", first.message)
}

impl Study {
    /// Runs the model at a point. Whatever goes wrong is the row's reason; nothing comes back from a run that was interrupted.
    pub fn compute(&self, point: &Point, kept: Option<&Path>, interrupt: &Arc<AtomicBool>) -> Option<Row> {
        let run = || self.attempt(point, kept, interrupt);
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(row)) => row,
            Ok(Err(reason)) => Some(Row::failed(point.key, reason)),
            Err(_) => Some(Row::failed(point.key, "the run ended in an internal error: please report it")),
        }
    }

    fn attempt(&self, point: &Point, kept: Option<&Path>, interrupt: &Arc<AtomicBool>) -> Result<Option<Row>, String> {
        let (mut overrides, mut said) = (self.set.clone(), self.said.clone());
        self.space.axes.iter().zip(&point.values).for_each(|(axis, value)| axis.say(value, &mut overrides, &mut said));
        let read = self.models.read(&overrides).map_err(|report| told(&report))?;
        let mut options = Options::from_arguments(&read.settings, &said)
            .map_err(|e| told(&Report::from(e.diagnostic(Voice::File))))?;
        options.resources.interrupt = interrupt.clone();
        // the machine is shared by runs, not by the threads of one
        options.resources.threads = options.resources.threads.or(Some(1));
        let mut model = read.model;
        if kept.is_some() && options.record.is_empty() {
            options.record = recorded(&model);
        }
        self.add_outputs(&mut model)?;
        let system = Arc::new(model.into_system());
        let mut simulation = begin::simulation(&system, options).map_err(not_started)?;
        let summary = match kept {
            None => simulation.run(&mut Silent),
            Some(folder) => simulation.run(&mut Folder::of_model(folder, system)),
        };
        Ok(self.row(point, &summary))
    }

    /// Adds an output for each channel that a column is of.
    fn add_outputs(&self, model: &mut Model) -> Result<(), String> {
        if self.added.is_empty() {
            return Ok(());
        }
        // a parameter may have changed how many bodies there are
        let wanted = |name: &str| self.added.iter().any(|o| o.channels.iter().any(|c| c == name));
        let found = catalog::select(model, &mut |name, _| wanted(name)).channels;
        let missing = |name: &&String| !found.iter().any(|c| c.name == **name);
        if let Some(name) = self.added.iter().flat_map(|o| &o.channels).find(missing) {
            return Err(format!("with these values the model has no channel `{name}`"));
        }
        model.outputs.extend(self.added.iter().cloned());
        Ok(())
    }

    fn row(&self, point: &Point, summary: &Summary) -> Option<Row> {
        match &summary.status {
            run::Status::Interrupted => None,
            run::Status::Failed(e) => Some(Row::failed(point.key, e.say(Voice::File).replace("\nhelp: ", "; "))),
            run::Status::Finished => {
                let values = self.columns.iter().map(|c| c.value(summary).unwrap_or(f64::NAN)).collect();
                let reason = summary.doubts.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; ");
                let status = if reason.is_empty() { Status::Finished } else { Status::Doubtful };
                Some(Row { key: point.key, status, values, reason: one_line(&reason) })
            }
        }
    }
}

/// What a run of the model alone would record.
fn recorded(model: &Model) -> Vec<String> {
    let channels = catalog::list(model).into_iter().map(|c| c.name);
    channels.chain(model.outputs.iter().map(|o| o.name.clone())).collect()
}

fn not_started(error: StartError) -> String {
    match error {
        StartError::Option(e) => told(&Report::from(e.diagnostic(Voice::File))),
        StartError::Step(e) => e.say(Voice::File).replace("\nhelp: ", "; "),
        StartError::Assembly(e) => e.reason(),
    }
}
