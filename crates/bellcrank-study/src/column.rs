//! What is wanted of every run: measures of outputs and channels, and counts of the run itself.

use bellcrank_model::catalog;
use bellcrank_model::file::expression::Scope;
use bellcrank_model::file::{Diagnostic, Expression, Parameters, Span, suggest};
use bellcrank_model::model::{Filter, Model, Output};
use bellcrank_solve::Summary;
use bellcrank_solve::run::OutputSummary;

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// A measure of an output of the model, or of one that the study adds for a channel.
    Signal {
        /// The output.
        output: String,
        /// One of [`OutputSummary::MEASURES`].
        measure: &'static str,
    },
    /// A number of the run itself: its place in the list of those.
    Run(usize),
}

/// Numbers of a run that depend on nothing but its values.
const OF_RUN: &[(&str, &str, fn(&Summary) -> f64)] = &[
    ("run.steps", "", |s| s.statistics.steps as f64),
    ("run.evaluations", "", |s| s.statistics.residual_evaluations as f64),
    ("run.drift", "m", |s| s.drift.position),
    ("run.energy_error", "J", |s| s.energy.largest_error),
];

/// The names of the numbers of a run.
pub fn of_run() -> impl Iterator<Item = &'static str> {
    OF_RUN.iter().map(|(name, _, _)| *name)
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it was asked for as, such as `camber.max`.
    pub text: String,
    /// Its unit.
    pub unit: String,
    /// What it holds.
    pub measure: Measure,
    /// The channel that the study makes an output of.
    pub(crate) channel: Option<String>,
}

impl Column {
    /// The column that a text asks for; the error points at the text.
    pub(crate) fn new(name: &str, text: &str, span: Span, model: &Model) -> Result<Column, Diagnostic> {
        let made = |unit: &str, measure: Measure, channel: Option<String>| Column {
            name: name.to_string(),
            text: text.to_string(),
            unit: unit.to_string(),
            measure,
            channel,
        };
        if let Some(k) = OF_RUN.iter().position(|(of, _, _)| *of == text) {
            return Ok(made(OF_RUN[k].1, Measure::Run(k), None));
        }
        let measures = OutputSummary::MEASURES;
        let split = text.rsplit_once('.').and_then(|(of, m)| Some((of, *measures.iter().find(|k| **k == m)?)));
        // without a measure it is the value at the end
        for (of, measure) in [split, Some((text, "final"))].into_iter().flatten() {
            if let Some(output) = model.outputs.iter().find(|o| o.name == of) {
                return Ok(made(output.unit, Measure::Signal { output: of.to_string(), measure }, None));
            }
            let found = catalog::select(model, &mut |name, _| name == of);
            if let [channel] = &found.channels[..] {
                let output = added(of);
                return Ok(made(channel.unit, Measure::Signal { output, measure }, Some(of.to_string())));
            }
        }
        Err(unknown(text, split.map_or(text, |(of, _)| of), span, model))
    }

    /// The output or channel that it is of, without its measure.
    pub fn signal(&self) -> &str {
        match (&self.channel, &self.measure) {
            (Some(channel), _) => channel,
            (None, Measure::Signal { output, .. }) => output,
            (None, Measure::Run(_)) => &self.text,
        }
    }

    /// Its value in a run that came to its end.
    pub fn value(&self, summary: &Summary) -> Option<f64> {
        match &self.measure {
            Measure::Run(k) => Some((OF_RUN[*k].2)(summary)),
            Measure::Signal { output, measure } => summary.outputs.iter().find(|o| o.name == *output)?.measure(measure),
        }
    }

    /// The output that is added to the model, where it is a channel.
    pub fn made(&self) -> Option<Output> {
        let channel = self.channel.clone()?;
        let scope = Scope { parameters: &Parameters::default(), variables: &["t", "x"], inputs: &[] };
        let value = Expression::parse("x", scope).ok()?;
        let Measure::Signal { output, .. } = &self.measure else { return None };
        let (name, doc) = (output.clone(), String::new());
        Some(Output { name, value, channels: vec![channel], filter: Filter::None, unit: "", doc })
    }
}

/// The name of the output that stands for a channel: no user's name has a colon.
fn added(channel: &str) -> String {
    format!("study:{channel}")
}

/// All columns of the outputs of a model, where none are asked for.
pub(crate) fn of_outputs(model: &Model) -> Vec<String> {
    let measures = ["max", "min", "final"];
    model.outputs.iter().flat_map(|o| measures.map(|m| format!("{}.{m}", o.name))).collect()
}

fn unknown(text: &str, of: &str, span: Span, model: &Model) -> Diagnostic {
    let channels = catalog::all(model);
    let names = || {
        let outputs = model.outputs.iter().map(|o| o.name.as_str());
        outputs.chain(channels.iter().map(|c| c.name.as_str())).chain(of_run().map(|name| -> &str { name }))
    };
    let measures = suggest::list(OutputSummary::MEASURES);
    let problem = Diagnostic::error(format!("{} is no output or channel of the model", suggest::quoted(text))).at(span);
    // `bob.y.maximum`: the channel is right and the measure is not
    if let Some((known, measure)) = text.rsplit_once('.').filter(|(of, _)| names().any(|name| name == *of)) {
        let near = suggest::nearest(measure, OutputSummary::MEASURES);
        let label = near.map_or("no measure has this name".into(), |n| format!("did you mean `{known}.{n}`?"));
        return problem.label(label).help(format!("of a channel or output, take {measures}"));
    }
    let label = match suggest::nearest(of, names()) {
        Some(near) => format!("did you mean {}?", suggest::quoted(near)),
        None => "not known".into(),
    };
    let outputs: Vec<&str> = model.outputs.iter().map(|o| o.name.as_str()).collect();
    let there = match outputs.is_empty() {
        true => "`bellcrank run MODEL --json` prints all channels".to_string(),
        false => format!("outputs are {}", suggest::list(outputs)),
    };
    problem.label(label).help(format!("{there}; behind a dot, take {measures}"))
}
