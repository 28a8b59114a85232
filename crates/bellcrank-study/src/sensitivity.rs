//! Sensitivities of a model file: `camber.max` to `parameter.k`, `body.crank.mass` or any other value that can be overridden.

use crate::axis::Target;
use crate::column::{Column, Measure as Asks};
use crate::file::target;
use crate::models::Models;
use bellcrank_model::file::{Diagnostic, Report, Source, Sources, Span, suggest};
use bellcrank_model::model::Output;
use bellcrank_model::read::Read;
use bellcrank_model::{Model, System};
use bellcrank_solve::Options;
use bellcrank_solve::choices::{Said, Voice};
use bellcrank_solve::sensitivity::{
    Asked, Measure, Measured, Member, Members, Sensitivities, SensitivityError, Varied, gradients_of, sensitivities_of,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The relative tolerance of runs, unless another is said.
pub const RTOL: f64 = 1e-8;

/// Rows over time, unless their distance is said.
const ROWS: f64 = 400.0;

/// Which way derivatives are carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// With the run: its cost grows with the parameters, and curves over time come out.
    #[default]
    Forward,
    /// Back over the run, once for each output: for many parameters.
    Adjoint,
    /// Back where there are many parameters for each output and the method allows it.
    Auto,
}

/// Parameters for each output from which on the way back is cheaper: it takes about as long as this many go forward.
const MANY: usize = 8;

/// What is asked of a model.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Outputs and channels, with a measure behind a dot: `camber.max`, `bob.x`; without one, the final value.
    pub of: Vec<String>,
    /// Parameters, or paths of values.
    pub to: Vec<String>,
    /// Whether curves over time are wanted.
    pub over_time: bool,
    /// Which way.
    pub mode: Mode,
    /// How messages name `of` and `to`, such as `--of ` and `--to `.
    pub words: [&'static str; 2],
}

/// A parameter by which outputs are differentiated.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// As it was asked for.
    pub name: String,
    /// Its path in the file.
    pub path: String,
    /// Its unit, if the model tells one.
    pub unit: String,
    /// Its value, in SI units.
    pub value: f64,
}

/// What came out.
pub struct Answer {
    /// What was asked of runs.
    pub columns: Vec<Column>,
    /// The value and the derivatives of each.
    pub measured: Vec<Measured>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Which curve each column is of.
    pub places: Vec<usize>,
    /// Values and derivatives over time; none of the adjoint.
    pub curves: Option<Sensitivities>,
    /// The method of the run.
    pub method: &'static str,
    /// Steps of the run.
    pub steps: usize,
    /// Events that were crossed.
    pub events: usize,
    /// With what it ran.
    pub options: Options,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum QuestionError {
    /// The question, or the model, is wrong.
    Report(Report),
    /// There are no derivatives.
    Sensitivity(SensitivityError),
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionError::Report(report) => write!(f, "{report}"),
            QuestionError::Sensitivity(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for QuestionError {}

impl From<Report> for QuestionError {
    fn from(report: Report) -> QuestionError {
        QuestionError::Report(report)
    }
}

impl From<SensitivityError> for QuestionError {
    fn from(e: SensitivityError) -> QuestionError {
        QuestionError::Sensitivity(e)
    }
}

/// A word of the question as a text that messages can point into.
fn pointed(word: &str, text: &str) -> (Sources, Span) {
    let name = if word.starts_with("--") { "command line" } else { "arguments" };
    let source = Source { name: name.into(), text: format!("{word}{text}") };
    (Sources(vec![source]), Span::new(0, word.len(), word.len() + text.len()))
}

/// Answers a question about a model with values set.
pub fn answer(
    models: &dyn Models,
    set: &[String],
    question: &Question,
    said: &[Said],
    interrupt: &Arc<AtomicBool>,
) -> Result<Answer, QuestionError> {
    let base = models.read(set)?;
    let columns = columns(question, &base.model)?;
    let parameters = parameters(models, set, question, &base)?;
    let mut options =
        Options::from_arguments(&base.settings, said).map_err(|e| Report::from(e.diagnostic(Voice::File)))?;
    options.resources.interrupt = interrupt.clone();
    if !said.iter().any(|s| s.key == "rtol") {
        options.rtol = options.rtol.min(RTOL);
    }
    let asked = asked(question, &columns);
    if asked.over_time && options.sample.is_none() {
        options.sample = Some(options.until / ROWS);
    }
    let added: Vec<Output> = columns.iter().filter_map(Column::made).collect();
    let compiled = |read: Read| -> Arc<System> {
        let mut model = read.model;
        for output in &added {
            if model.outputs.iter().all(|o| o.name != output.name) {
                model.outputs.push(output.clone());
            }
        }
        Arc::new(model.into_system())
    };
    let system = compiled(base);
    let members = members(models, set, &parameters, &compiled);
    let many = !question.over_time && parameters.len() >= MANY * columns.len();
    if question.mode == Mode::Adjoint || question.mode == Mode::Auto && many {
        let of: Vec<(String, Measure)> =
            columns.iter().map(signal).map(|(output, measure)| (output.to_string(), measure)).collect();
        match gradients_of(&system, &members, &of, &options) {
            Ok(found) => {
                let (method, steps, events) = (found.method, found.statistics.steps, found.events);
                let (measured, places) = (found.measured, vec![0; columns.len()]);
                drop(members);
                return Ok(Answer {
                    columns,
                    measured,
                    parameters,
                    places,
                    curves: None,
                    method,
                    steps,
                    events,
                    options,
                });
            }
            // the forward mode takes any method
            Err(SensitivityError::Method { .. }) if question.mode == Mode::Auto => {}
            Err(e) => return Err(e.into()),
        }
    }
    let curves = sensitivities_of(&system, &members, &asked, &options)?;
    let mut measured = Vec::new();
    let mut places = Vec::new();
    for column in &columns {
        let (output, measure) = signal(column);
        let place = curves.outputs.iter().position(|o| o.name == output).unwrap_or(0);
        measured.push(curves.measure(place, measure)?);
        places.push(place);
    }
    let (method, steps, events) = (curves.method, curves.statistics.steps, curves.events);
    drop(members);
    Ok(Answer { columns, measured, parameters, places, curves: Some(curves), method, steps, events, options })
}

/// The parameters with what makes models beside their values.
fn members<'a>(
    models: &'a dyn Models,
    set: &'a [String],
    parameters: &'a [Parameter],
    compiled: &'a dyn Fn(Read) -> Arc<System>,
) -> Members<'a> {
    let uses = models.uses(set);
    let list = parameters.iter().map(|p| Member {
        name: p.name.clone(),
        value: p.value,
        delta: Varied::delta(p.value),
        reach: uses.as_ref().and_then(|uses| uses.reach(&p.path)),
    });
    Members::new(list.collect(), move |which, c| {
        let moved = which.iter().map(|k| {
            let p = &parameters[*k];
            format!("{}={:?}", p.path, p.value + c * Varied::delta(p.value))
        });
        let overrides: Vec<String> = set.iter().cloned().chain(moved).collect();
        models.read(&overrides).map(compiled).map_err(|report| SensitivityError::Model(report.to_string()))
    })
}

/// The output and the measure of a column.
fn signal(column: &Column) -> (&str, Measure) {
    match &column.measure {
        Asks::Signal { output, measure } => (output, Measure::by_name(measure).unwrap_or(Measure::Final)),
        Asks::Run(_) => ("", Measure::Final),
    }
}

fn asked(question: &Question, columns: &[Column]) -> Asked {
    let mut outputs: Vec<String> = Vec::new();
    for column in columns {
        let name = signal(column).0;
        if !outputs.iter().any(|o| o == name) {
            outputs.push(name.to_string());
        }
    }
    let over_time = question.over_time || columns.iter().any(|c| signal(c).1 != Measure::Final);
    Asked { outputs, over_time }
}

fn columns(question: &Question, model: &Model) -> Result<Vec<Column>, Report> {
    let of = |text: &String| {
        let text = text.trim();
        let (sources, span) = pointed(question.words[0], text);
        let column = Column::new(text, text, span, model).and_then(|column| match column.measure {
            Asks::Signal { .. } => Ok(column),
            Asks::Run(_) => {
                let problem = Diagnostic::error(format!("{} counts work of the run", suggest::quoted(text))).at(span);
                Err(problem.label("it has no derivative").help("take an output or a channel of the model"))
            }
        });
        column.map_err(|problem| Report::new(sources, problem.into()))
    };
    question.of.iter().map(of).collect()
}

fn parameters(models: &dyn Models, set: &[String], question: &Question, base: &Read) -> Result<Vec<Parameter>, Report> {
    let of = |name: &String| {
        let name = name.trim();
        let (sources, span) = pointed(question.words[1], name);
        let report = |problem: Diagnostic| Report::new(sources.clone(), problem.into());
        let (path, unit) = match target(name, span, base).map_err(report)? {
            (Target::Model(path), unit) => (path, unit),
            (Target::Choice(key), _) => {
                let problem =
                    Diagnostic::error(format!("{} is a choice of the solver", suggest::quoted(&key))).at(span);
                return Err(report(
                    problem.label("outputs have no derivative by it").help("name a value of the model"),
                ));
            }
        };
        Ok((name.to_string(), path, unit))
    };
    let found: Vec<(String, String, String)> = question.to.iter().map(of).collect::<Result<_, Report>>()?;
    let paths: Vec<&str> = found.iter().map(|(_, path, _)| path.as_str()).collect();
    let values = models.numbers(set, &paths)?;
    let made = found.iter().zip(values).map(|((name, path, unit), value)| Parameter {
        name: name.clone(),
        path: path.clone(),
        unit: unit.clone(),
        value,
    });
    Ok(made.collect())
}
