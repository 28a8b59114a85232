//! `bellcrank sensitivity MODEL --of OUTPUT --to PARAMETER`: how outputs change with parameters.

use crate::cli::flags::{All, Flags};
use crate::cli::places::spoken;
use crate::cli::{Failure, output, print, signals, tell};
use bellcrank_model::read::Template;
use bellcrank_results::csv::quoted;
use bellcrank_solve::machine::StartError;
use bellcrank_solve::sensitivity::SensitivityError;
use bellcrank_study::sensitivity::{Answer, Mode, Question, QuestionError, answer};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of `sensitivity`.
#[derive(Args)]
pub struct Sensitivity {
    /// The model file (.toml or .json).
    model: String,
    /// Outputs or channels, separated by commas, each with a measure behind a dot (max, min, absmax, mean, rms); without one, its
    /// final value.
    #[arg(long, value_name = "OUTPUTS", value_delimiter = ',', required = true)]
    of: Vec<String>,
    /// Parameters, or paths of other values such as body.crank.mass, separated by commas.
    #[arg(long, value_name = "PARAMETERS", value_delimiter = ',', required = true)]
    to: Vec<String>,
    /// Carries derivatives back over the run instead of along with it, once for each output: for many parameters, with the one-step
    /// methods (dop853, dopri5, gen-alpha and their kin).
    #[arg(long, conflicts_with = "out")]
    adjoint: bool,
    #[command(flatten)]
    solve: Flags<All>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes sensitivity.csv, with outputs and derivatives over time, and sensitivity.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    json: bool,
}

/// Runs a model with the derivatives of its outputs.
pub fn run(args: Sensitivity) -> Result<(), Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::BadInput(e.to_string());
    let template = Template::open(&args.model).map_err(|e| bad(&e))?;
    // options are refused with their places
    let read = template.read(&args.set).map_err(|e| bad(&e))?;
    output::options(&read, &args.solve.0)?;
    let question = Question {
        of: args.of.clone(),
        to: args.to.clone(),
        over_time: args.out.is_some(),
        mode: if args.adjoint { Mode::Adjoint } else { Mode::Forward },
        words: ["--of ", "--to "],
    };
    let interrupt = Arc::new(AtomicBool::new(false));
    signals::set(&interrupt, 130);
    let found = answer(&template, &args.set, &question, &args.solve.0, &interrupt).map_err(|e| match e {
        QuestionError::Report(report) => bad(&report),
        QuestionError::Sensitivity(e) => failed(&args.model, e),
    })?;
    let object = object(&args.model, &found);
    match args.json {
        true => print(&object.to_string())?,
        false => to_people(&args.model, &found)?,
    }
    match &args.out {
        Some(folder) => {
            let files = [("sensitivity.csv", csv(&found)), ("sensitivity.json", format!("{object:#}\n"))];
            output::write(folder, &files)
        }
        None => Ok(()),
    }
}

fn failed(model: &str, error: SensitivityError) -> Failure {
    match error {
        SensitivityError::Step(e) => Failure::Failed(format!("{model}: {}", spoken(StartError::Step(e)))),
        SensitivityError::Start(e @ StartError::Step(_)) => Failure::Failed(format!("{model}: {}", spoken(e))),
        SensitivityError::Start(e) => Failure::BadInput(format!("{model}: {}", spoken(e))),
        e @ SensitivityError::Interrupted => Failure::Failed(format!("{model}: {e}")),
        e => Failure::BadInput(format!("{model}: {e}")),
    }
}

/// A table of derivatives: a line for each output, a column for each parameter.
fn to_people(model: &str, found: &Answer) -> Result<(), Failure> {
    let parameters = &found.parameters;
    let steps = output::plural(found.steps, "step", "steps");
    let events = match found.events {
        0 => String::new(),
        n => format!(", {}", output::plural(n, "event", "events")),
    };
    let rtol = found.options.rtol;
    let how = if found.options.step.is_some() { "fixed steps".into() } else { format!("rtol {rtol:e}") };
    tell(&format!("{model}: {} to t = {} s, {how}, {steps}{events}", found.method, found.options.until));
    let name = |k: usize| format!("d/d {}", parameters[k].name);
    let width = found.columns.iter().map(|c| c.text.chars().count()).max().unwrap_or(0).max(5);
    let mut out = format!("{:width$}  {:>16}", "of", "value");
    let wide = |k: usize| name(k).chars().count().max(16);
    (0..parameters.len()).for_each(|k| out += &format!("  {:>1$}", name(k), wide(k)));
    for (column, measured) in found.columns.iter().zip(&found.measured) {
        out += &format!("\n{:width$}  {:>16}", column.text, output::figure(measured.value));
        for (k, d) in measured.derivatives.iter().enumerate() {
            out += &format!("  {:>1$}", output::figure(*d), wide(k));
        }
    }
    print(&out)
}

/// A number, or nothing where it is none.
fn number(x: f64) -> Value {
    json!(x.is_finite().then_some(x))
}

fn object(model: &str, found: &Answer) -> Value {
    let columns = found.columns.iter().zip(&found.measured).map(|(column, measured)| {
        let by: Map<String, Value> =
            found.parameters.iter().zip(&measured.derivatives).map(|(p, d)| (p.name.clone(), number(*d))).collect();
        json!({
            "of": column.text, "unit": column.unit, "value": number(measured.value), "at": measured.at, "derivatives": by,
        })
    });
    let parameters =
        found.parameters.iter().map(|p| json!({ "name": p.name, "path": p.path, "unit": p.unit, "value": p.value }));
    json!({
        "analysis": "sensitivity",
        "model": model,
        "method": found.method,
        "until": found.options.until,
        "rtol": found.options.rtol,
        "steps": found.steps,
        "events": found.events,
        "parameters": parameters.collect::<Vec<_>>(),
        "of": columns.collect::<Vec<_>>(),
    })
}

/// Samples over time: every output, and behind it its derivatives.
fn csv(found: &Answer) -> String {
    let mut header = vec!["time [s]".to_string()];
    let mut shown: Vec<usize> = Vec::new();
    for (column, place) in found.columns.iter().zip(&found.places) {
        if shown.contains(place) {
            continue;
        }
        shown.push(*place);
        let name = column.signal();
        let unit = if column.unit.is_empty() { String::new() } else { format!(" [{}]", column.unit) };
        header.push(quoted(format!("{name}{unit}")));
        header.extend(found.parameters.iter().map(|p| quoted(format!("d {name}/d {}", p.name))));
    }
    let mut out = header.join(",") + "\n";
    for row in found.curves.iter().flat_map(|curves| &curves.rows).filter(|row| row.sampled) {
        out += &format!("{:?}", row.t);
        for place in &shown {
            out += &format!(",{:?}", row.values[*place]);
            row.derivatives[*place].iter().for_each(|d| out += &format!(",{d:?}"));
        }
        out.push('\n');
    }
    out
}
