//! `bellcrank check MODEL`.

use crate::cli::places::refused;
use crate::cli::robot::{self, RobotArgs};
use crate::cli::{Failure, fail, print, tell};
use bellcrank_model::file::{Diagnostic, Report};
use bellcrank_model::model::Input;
use bellcrank_model::read::Read;
use bellcrank_results::json;
use bellcrank_robots::Told;
use bellcrank_solve::check::Finding;
use bellcrank_solve::choices::Options;
use clap::Args;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Options of `check`.
#[derive(Args)]
pub struct Check {
    /// The model file (.toml or .json), or a robot file (URDF, MJCF, SDF).
    model: String,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    #[command(flatten)]
    robot: RobotArgs,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
    /// Checks again whenever a file in the model's folder is saved, until Ctrl-C.
    #[arg(long)]
    watch: bool,
}

/// Looks at a model. What keeps it from running makes the command fail.
pub fn check(args: Check) -> Result<(), Failure> {
    if !args.watch {
        return once(&args);
    }
    loop {
        let seen = stamps(&args.model);
        if let Err(Failure::BadInput(text) | Failure::Failed(text) | Failure::Doubtful(text)) = once(&args) {
            fail(&text, 2);
        }
        tell(&format!("watching {}; Ctrl-C ends", args.model));
        let pause = || std::thread::sleep(Duration::from_millis(100));
        let mut last = seen.clone();
        loop {
            pause();
            let now = stamps(&args.model);
            // a file that is still being written waits
            if now == last && now != seen {
                break;
            }
            last = now;
        }
    }
}

/// Sizes and times of all files in a model's folder; an editor may replace a file by another one.
fn stamps(model: &str) -> Vec<(OsString, u64, SystemTime)> {
    let folder = Path::new(model).parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let stamp = |entry: std::fs::DirEntry| {
        let about = entry.metadata().ok().filter(|m| m.is_file())?;
        Some((entry.file_name(), about.len(), about.modified().ok()?))
    };
    let mut all: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().filter_map(stamp).collect();
    all.sort();
    all
}

fn once(args: &Check) -> Result<(), Failure> {
    let bad = |report: Report| {
        let object = serde_json::json!({ "model": args.model, "runs": false, "errors": report.to_json() });
        let printed = if args.json { print(&object.to_string()) } else { Ok(()) };
        printed.err().unwrap_or(Failure::BadInput(report.to_string()))
    };
    let (mut read, told) = robot::parsed(&args.model, &args.set, &args.robot).map_err(bad)?;
    let options = Options::from_settings(&read.settings).map_err(|e| bad(refused(&read, &[], e)))?;
    let system = Arc::new(std::mem::take(&mut read.model).into_system());
    let found = bellcrank_solve::check::check(&system, &options);
    match args.json {
        true => {
            let mut object = with_places(&found, &read);
            if !system.model.inputs.is_empty() {
                let input =
                    |i: &Input| serde_json::json!({ "name": i.name, "start": i.start, "unit": i.unit, "doc": i.doc });
                object["inputs"] = system.model.inputs.iter().map(input).collect();
            }
            if told != Told::default() {
                object["robot"] = robot::json(&told);
            }
            print(&object.to_string())?
        }
        false => {
            robot::tell_of(&told);
            print(&format!("{found}{}", inputs(&system.model.inputs)))?
        }
    }
    match found.runs() {
        true => Ok(()),
        false => Err(Failure::BadInput(format!("{}: the model cannot run\nhelp: see the errors above", args.model))),
    }
}

/// The inputs in one line, as in "inputs: torque = 0 N m".
fn inputs(inputs: &[Input]) -> String {
    if inputs.is_empty() {
        return String::new();
    }
    let one = |i: &Input| format!("{} = {} {}", i.name, i.start, i.unit).trim_end().to_string();
    format!("\ninputs: {}", inputs.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// A check as JSON, its findings with `file`, `line` and `column` of the first that each is about, where the file has it.
pub fn with_places(found: &bellcrank_solve::check::Check, read: &Read) -> Value {
    let mut check = json::check(found);
    let findings = check.get_mut("findings").and_then(Value::as_array_mut);
    for (finding, Finding { about, .. }) in findings.into_iter().flatten().zip(&found.findings) {
        let place = about.first().and_then(|subject| subject.place);
        let Some(span) = place.and_then(|place| read.place(place)) else { continue };
        let told = read.document.report(Diagnostic::note("").at(span).into()).to_json();
        ["file", "line", "column"].iter().for_each(|key| finding[*key] = told[0][*key].clone());
    }
    check
}
