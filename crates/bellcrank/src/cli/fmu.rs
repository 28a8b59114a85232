//! `bellcrank fmu MODEL`: a model as an FMU for other tools. `bellcrank fmu-host`, which runs start by themselves: the process
//! of an FMU of another tool.

use crate::cli::output::{self, plural};
use crate::cli::places::{not_started, refused};
use crate::cli::{Failure, tell};
use crate::fmu::{self, ExportError, Kinds, Version};
use bellcrank_solve::choices::Options;
use bellcrank_solve::run::StartError;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Options of `fmu`.
#[derive(Args)]
pub struct MakeFmu {
    /// The model file (.toml or .json).
    model: String,
    /// The version of the standard.
    #[arg(long, value_enum, default_value = "3", value_name = "2|3")]
    fmi: Fmi,
    /// What it can be used for: cs (co-simulation, with the solver inside), me (model exchange), or both.
    #[arg(long, default_value = "cs,me", value_name = "KINDS")]
    kind: String,
    /// Channels that become outputs, such as pin.angle or 'crank.*'; may be repeated (default: all channels).
    #[arg(long = "output", value_name = "CHANNEL")]
    outputs: Vec<String>,
    /// Probes that become ports, at which other machines are joined: loads are inputs, motions outputs; with `*`, may be
    /// repeated. In FMI 3.0 they are terminals.
    #[arg(long = "port", value_name = "PROBE")]
    ports: Vec<String>,
    /// Overrides a value of the file, such as --set parameter.k=200; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// The file to write (default: the name of the model with .fmu, in the current folder).
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Versions as they are given.
#[derive(Clone, Copy, ValueEnum)]
enum Fmi {
    /// FMI 2.0.
    #[value(name = "2")]
    Two,
    /// FMI 3.0.
    #[value(name = "3")]
    Three,
}

/// Writes the FMU and tells what is in it.
pub fn make(args: MakeFmu) -> Result<(), Failure> {
    let kinds = Kinds::parse(&args.kind).map_err(|e| Failure::BadInput(format!("--kind: {e}")))?;
    let version = match args.fmi {
        Fmi::Two => Version::Two,
        Fmi::Three => Version::Three,
    };
    // reading it first gives the messages of every command
    let read = output::read(&args.model, &args.set)?;
    Options::from_settings(&read.settings).map_err(|e| Failure::BadInput(refused(&read, &[], e).to_string()))?;
    let stem = Path::new(&args.model).file_stem().unwrap_or_default();
    let out = args.out.unwrap_or_else(|| Path::new(stem).with_extension("fmu"));
    let text = read.document.sources.0.first().map(|source| source.text.clone()).unwrap_or_default();
    let made = fmu::write(&out, (&args.model, &text), &args.set, (version, kinds), &args.outputs, &args.ports);
    let made = made.map_err(|e| match e {
        ExportError::Start(e) => match *e {
            StartError::Option(e) => Failure::BadInput(refused(&read, &[], e).to_string()),
            e => not_started(&read, &[], e),
        },
        ExportError::Write(..) => Failure::Failed(e.to_string()),
        e => Failure::BadInput(e.to_string()),
    })?;
    let number = if version == Version::Two { "2.0" } else { "3.0" };
    let interface = &made.interface;
    let mut parts = vec![
        plural(interface.parameters.len(), "parameter", "parameters"),
        plural(interface.inputs.len(), "input", "inputs"),
        plural(interface.outputs.len(), "output", "outputs"),
    ];
    if !made.ports.is_empty() {
        parts.push(plural(made.ports.len(), "port", "ports"));
    }
    if kinds.model_exchange {
        parts.push(plural(interface.states, "state", "states"));
        parts.push(plural(interface.indicators, "event indicator", "event indicators"));
    }
    tell(&format!("{}: FMI {number} ({kinds}), {}", out.display(), parts.join(", ")));
    tell(&format!(
        "it runs on {}; for other systems, make it there and put the folders of `binaries` together",
        fmu::platform(version)
    ));
    Ok(())
}

/// Is the process of an FMU of another tool; gives the exit status.
pub fn host() -> u8 {
    #[cfg(unix)]
    let status = bellcrank_fmi::host::serve();
    #[cfg(not(unix))]
    let status = 2;
    if status != 0 {
        tell("fmu-host is for runs of models with FMUs, which start it by themselves");
    }
    status
}
