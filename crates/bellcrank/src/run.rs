//! `bellcrank run MODEL`.

use crate::progress::Progress;
use crate::{Failure, print};
use bellcrank_model::read::{Read, read_model};
use bellcrank_model::system::System;
use bellcrank_solve::newton::{self, Iteration};
use bellcrank_solve::options::{COORDINATES, METHODS, MethodName, On, Options, TESTS, Tested};
use bellcrank_solve::record::{Folder, Header, Recorder};
use bellcrank_solve::simulation::{Simulation, StartError, Status, Summary};
use bellcrank_solve::{formulation, options::OptionError};
use clap::Args;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Options of `run`; each is also a key of `[solve]` in the model file, and wins over it.
#[derive(Args)]
pub struct Run {
    /// The model file (TOML, or JSON by its ending).
    model: String,
    /// Method: auto, bdf, gen-alpha, hht, newmark, rk4, dopri5, dop853.
    #[arg(long)]
    method: Option<String>,
    /// Formulation: index3, ggl, si2, index1.
    #[arg(long)]
    formulation: Option<String>,
    /// Newton's iteration: auto, full, simplified, cs, cm.
    #[arg(long)]
    iteration: Option<String>,
    /// Which unknowns decide: q, q+v, all.
    #[arg(long)]
    test: Option<String>,
    /// On which coordinates errors are tested: all, independent.
    #[arg(long)]
    on: Option<String>,
    /// Fixed step size in s.
    #[arg(long, value_name = "H", conflicts_with = "rtol")]
    step: Option<f64>,
    /// Relative tolerance of error-controlled methods.
    #[arg(long, value_name = "R")]
    rtol: Option<f64>,
    /// Absolute tolerance, in SI units.
    #[arg(long, value_name = "A")]
    atol: Option<f64>,
    /// End of the run in s.
    #[arg(long, value_name = "T")]
    until: Option<f64>,
    /// Distance of recorded samples in s.
    #[arg(long, value_name = "DT")]
    sample: Option<f64>,
    /// Highest order of bdf, 1 to 5.
    #[arg(long, value_name = "K")]
    max_order: Option<usize>,
    /// Most Newton iterations per step.
    #[arg(long, value_name = "N")]
    max_iterations: Option<usize>,
    /// Spectral radius at infinity of gen-alpha: 1 is undamped, 0 most damped.
    #[arg(long)]
    rho: Option<f64>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes results.parquet, results.csv and summary.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints one JSON object with counts, drift, energy and the final values.
    #[arg(long)]
    json: bool,
    /// No progress bar and no summary.
    #[arg(long, short)]
    quiet: bool,
}

/// Records nothing.
struct Nothing;

impl Recorder for Nothing {
    fn begin(&mut self, _: &Header) -> std::io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> std::io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &serde_json::Value) -> std::io::Result<()> {
        Ok(())
    }
    fn wants_frames(&self) -> bool {
        false
    }
}

/// Runs a model.
pub fn run(args: Run) -> Result<(), Failure> {
    let read = read_model(&args.model, &args.set).map_err(|report| Failure::BadInput(report.to_string()))?;
    let options = options(&args, &read)?;
    let system = Arc::new(read.model.compile());
    let interrupt = options.interrupt.clone();
    let until = options.until;
    // the first Ctrl-C ends the run cleanly, the second at once
    let _ = ctrlc::set_handler(move || {
        if interrupt.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let start = system.initial_state();
    let mut simulation = Simulation::new(&system.model.name, system.clone(), &start, options).map_err(|e| match e {
        StartError::Option(e) => Failure::BadInput(e.message + "\nhelp: " + &e.help),
        StartError::Assembly(_) => Failure::BadInput(format!("{}: {e}", args.model)),
        StartError::Step(_) => Failure::Failed(format!("{}: {e}", args.model)),
    })?;
    let talk = !args.json && !args.quiet;
    if talk {
        tell_start(&system, &simulation);
    }
    let mut progress = Progress::new(until, talk && std::io::stderr().is_terminal());
    let mut folder = args.out.as_ref().map(Folder::new);
    let mut nothing = Nothing;
    let recorder: &mut dyn Recorder = match &mut folder {
        Some(folder) => folder,
        None => &mut nothing,
    };
    let summary = simulation.run(recorder, &mut |t, h| progress.update(t, h));
    progress.finish();
    if args.json {
        print(&summary.to_json().to_string())?;
    } else if talk {
        tell_end(&summary, args.out.as_ref());
    }
    match &summary.status {
        Status::Failed(e) => Err(Failure::Failed(format!("{}: {e}", args.model))),
        Status::Interrupted => Err(Failure::Failed(format!(
            "interrupted at t = {} s; results up to there are kept\nhelp: run it again to the end, or read what was recorded",
            summary.t
        ))),
        Status::Finished => Ok(()),
    }
}

fn choice<T>(
    option: &str,
    word: Option<&str>,
    names: &[&str],
    find: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let Some(word) = word else { return Ok(None) };
    find(word).map(Some).ok_or_else(|| {
        let near = bellcrank_model::file::suggest::nearest(word, names.iter().copied());
        let hint = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
        Failure::BadInput(format!("unknown {option} `{word}`\nhelp: {hint}one of {}", names.join(", ")))
    })
}

/// The options of the command line over those of the file over the defaults.
fn options(args: &Run, read: &Read) -> Result<Options, Failure> {
    let settings = &read.settings;
    let number = |key: &str, given: Option<f64>| given.or_else(|| settings.numbers.get(key).copied());
    let word = |key: &str, given: &Option<String>| {
        given.clone().or_else(|| settings.words.get(key).map(|(word, _)| word.clone()))
    };
    let defaults = Options::default();
    let methods: Vec<&str> = METHODS.iter().map(|(_, name, _)| *name).collect();
    let tests: Vec<&str> = TESTS.iter().map(|(_, name)| *name).collect();
    let method = word("method", &args.method);
    let form = word("formulation", &args.formulation);
    let iteration = word("iteration", &args.iteration);
    let test = word("test", &args.test);
    let on = word("on", &args.on);
    let coordinates: Vec<&str> = COORDINATES.iter().map(|(_, name)| *name).collect();
    // a tolerance on the command line means error control, whatever step the file has
    let step = if args.rtol.is_some() { args.step } else { number("step", args.step) };
    let count = |key: &str, given: Option<usize>| given.or_else(|| settings.numbers.get(key).map(|x| *x as usize));
    let static_name = |name: &str| formulation::NAMES.iter().copied().find(|n| *n == name);
    let options = Options {
        method: choice("method", method.as_deref(), &methods, MethodName::by_name)?.unwrap_or(defaults.method),
        formulation: choice("formulation", form.as_deref(), formulation::NAMES, static_name)?,
        iteration: choice("iteration", iteration.as_deref(), newton::NAMES, Iteration::by_name)?,
        test: choice("test", test.as_deref(), &tests, Tested::by_name)?,
        on: choice("choice of coordinates", on.as_deref(), &coordinates, On::by_name)?.unwrap_or(defaults.on),
        step,
        rtol: number("rtol", args.rtol).unwrap_or(defaults.rtol),
        atol: number("atol", args.atol),
        until: number("until", args.until).unwrap_or(defaults.until),
        sample: number("sample", args.sample),
        max_order: count("max_order", args.max_order).unwrap_or(defaults.max_order),
        max_iterations: count("max_iterations", args.max_iterations),
        rho: number("rho", args.rho).unwrap_or(defaults.rho),
        interrupt: defaults.interrupt,
    };
    let told = |e: OptionError| Failure::BadInput(format!("{}\nhelp: {}", e.message, e.help));
    options.check().map_err(told)?;
    Ok(options)
}

fn tell_start(system: &System, simulation: &Simulation) {
    let model = &system.model;
    let a = simulation.assembly();
    let plural = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
    eprintln!(
        "{}: {}, {}, {}; {}{}",
        model.name,
        plural(model.bodies.len(), "body", "bodies"),
        plural(model.joints.len(), "joint", "joints"),
        plural(model.forces.len(), "force", "forces"),
        plural(a.degrees_of_freedom, "degree of freedom", "degrees of freedom"),
        if a.redundant > 0 {
            format!(", {}", plural(a.redundant, "redundant equation", "redundant equations"))
        } else {
            String::new()
        },
    );
    for (joint, rows) in a.redundant_joints.iter().take(5) {
        eprintln!("  redundant: {} of {joint}", plural(*rows, "equation", "equations"));
    }
    if !a.moved.is_empty() {
        eprintln!(
            "assembled in {} (joints were open by {:.3e} m):",
            plural(a.iterations, "iteration", "iterations"),
            a.residual.0
        );
        for m in a.moved.iter().take(8) {
            eprintln!("  {} moved by {:.3e} m and {:.3e} rad", m.name, m.distance, m.angle);
        }
        if a.moved.len() > 8 {
            eprintln!("  and {} more", a.moved.len() - 8);
        }
    }
}

fn tell_end(summary: &Summary, out: Option<&PathBuf>) {
    let s = &summary.statistics;
    let (method, formulation, iteration) = summary.names;
    for choice in &summary.choices {
        eprintln!("auto: {choice}");
    }
    eprintln!(
        "{method} on {formulation} ({iteration}): {} steps, {} rejected, {} evaluations, {} factorizations, {:.3} s",
        s.steps,
        s.error_test_failures + s.convergence_failures,
        s.residual_evaluations,
        s.factorizations,
        summary.wall_seconds
    );
    eprintln!("drift: position {:.2e} m, velocity {:.2e} m/s", summary.drift.0, summary.drift.1);
    let (initial, last, error) = summary.energy;
    eprintln!(
        "energy: {initial:.9} J at the start, {last:.9} J at the end, largest error of the balance {error:.2e} J"
    );
    eprintln!("t = {} s:", summary.t);
    let width = summary.last.iter().take(24).map(|(n, _)| n.chars().count()).max().unwrap_or(0);
    for (name, value) in summary.last.iter().take(24) {
        let name = bellcrank_model::file::suggest::quoted(name).trim_matches('`').to_string();
        eprintln!("  {name:width$}  {value:.9}");
    }
    if summary.last.len() > 24 {
        eprintln!("  and {} more channels (--json prints them all)", summary.last.len() - 24);
    }
    if let Some(out) = out {
        eprintln!("results: {}", out.display());
    }
}
