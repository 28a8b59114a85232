//! `bellcrank inverse MODEL`.

use crate::cli::flags::{Flags, SpanFlags, TakenFlags};
use crate::cli::places::refused;
use crate::cli::{Failure, output, print};
use bellcrank_model::file::expression::Scope;
use bellcrank_model::file::{Expression, Parameters};
use bellcrank_results::{Folder, json};
use bellcrank_solve::analyses::inverse::{self as analysis, InverseError};
use bellcrank_solve::choices::{in_file, resolve};
use bellcrank_solve::record::{Recorder, Silent};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `inverse`.
#[derive(Args)]
pub struct Inverse {
    /// The model file (.toml or .json); its drives prescribe the motion.
    model: String,
    /// Prescribes a joint coordinate as a function of t, such as --drive pin.angle='0.5*sin(t)'; may be repeated.
    #[arg(long = "drive", value_name = "JOINT.KEY=F(T)")]
    drive: Vec<String>,
    #[command(flatten)]
    span: Flags<SpanFlags>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes results.parquet, results.csv, summary.json and a scene for `bellcrank view` to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints one JSON object with the peaks of all drives.
    #[arg(long)]
    json: bool,
}

/// Follows the prescribed motion and prints what it takes.
pub fn run(args: Inverse) -> Result<(), Failure> {
    let mut read = output::read(&args.model, &args.set)?;
    for text in &args.drive {
        add_drive(&mut read.model, text)?;
    }
    // the motion is prescribed: of `[solve]`, its span and samples count
    let mut said = in_file(&read.settings);
    said.retain(|s| SpanFlags::takes(&s.key));
    said.extend_from_slice(&args.span.0);
    let options = resolve(&said).map_err(|e| Failure::BadInput(refused(&read, &args.span.0, e).to_string()))?;
    let system = Arc::new(read.model.compile());
    let mut folder = args.out.as_ref().map(|dir| Folder::of_model(dir, system.clone()));
    let mut silent = Silent;
    let recorder: &mut dyn Recorder = match &mut folder {
        Some(folder) => folder,
        None => &mut silent,
    };
    let found = analysis::inverse(&system, options.until, options.sample, recorder).map_err(|e| {
        let text = format!("{}: {e}", args.model);
        match e {
            InverseError::Step(_) => Failure::Failed(text),
            _ => Failure::BadInput(text),
        }
    })?;
    if args.json {
        print(&serde_json::Value::Object(json::inverse(&found)).to_string())?;
    } else {
        to_people(&system.model.name, &found)?;
    }
    args.out.as_ref().map_or(Ok(()), |folder| output::recorded(folder, Ok(())))
}

fn to_people(model: &str, found: &analysis::Inverse) -> Result<(), Failure> {
    crate::cli::tell(&format!(
        "{}: {} from t = {} to {} s",
        model,
        output::plural(found.samples, "sample", "samples"),
        found.span.0,
        found.span.1
    ));
    if found.assembly.redundant > 0 {
        crate::cli::tell(&format!(
            "  efforts may not be unique: {}",
            output::plural(found.assembly.redundant, "redundant equation", "redundant equations")
        ));
    }
    if !found.left_out.is_empty() {
        let names: Vec<String> = found.left_out.iter().map(|name| format!("`{name}`")).collect();
        crate::cli::tell(&format!("  did not act, as the drives take their place: {}", names.join(", ")));
    }
    let width = found.demands.iter().map(|d| d.name.chars().count()).max().unwrap_or(0).max(5);
    let mut out = format!(
        "{:width$}  {:>14} {:3}  {:>9}  {:>14}  {:>14}  {:>14}  {:>14}\n",
        "drive", "peak", "", "at [s]", "rms", "power [W]", "braking [W]", "work [J]"
    );
    for d in &found.demands {
        out += &format!(
            "{:width$}  {:>14.6} {:3}  {:>9.4}  {:>14.6}  {:>14.6}  {:>14.6}  {:>14.6}\n",
            d.name, d.peak.0, d.unit, d.peak.1, d.rms, d.peak_power.0, d.peak_braking.0, d.work
        );
    }
    print(&out)
}

fn add_drive(model: &mut bellcrank_model::Model, text: &str) -> Result<(), Failure> {
    let wrong = |what: String, help: &str| Failure::BadInput(format!("--drive {text}: {what}\nhelp: {help}"));
    let example = "write it like --drive pin.angle='0.5*sin(t)'";
    let (path, course) = text.split_once('=').ok_or_else(|| wrong("there is no `=`".into(), example))?;
    let (joint, key) =
        path.trim().rsplit_once('.').ok_or_else(|| wrong("there is no joint and coordinate".into(), example))?;
    let parameters = Parameters::default();
    let scope = Scope { parameters: &parameters, variables: &["t"], inputs: &[] };
    let course = Expression::parse(course.trim(), scope).map_err(|f| wrong(f.message, example))?;
    let entry =
        bellcrank_model::drives::drive_of(model, joint, key, course).map_err(|(what, help)| wrong(what, &help))?;
    model.joints.push(entry);
    Ok(())
}
