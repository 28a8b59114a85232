//! From a model to an FMU: what it will have, its description and its archive.

mod describe;
mod pack;
mod ports;
mod units;

pub use pack::platform;
pub use ports::Port;

use crate::interface::{Export, Interface, Kinds};
use bellcrank_model::build;
use bellcrank_model::file::Report;
use bellcrank_model::read::{Read, read_text};
use bellcrank_solve::choices::{Coordinates, Options};
use bellcrank_solve::run::{Machine, Simulation, StartError};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why there is no FMU of a model.
#[derive(Debug)]
pub enum ExportError {
    /// The model cannot be read.
    Model(Box<Report>),
    /// The model does not start.
    Start(Box<StartError>),
    /// The request cannot be honoured.
    Refused {
        /// Why.
        why: String,
        /// What to try.
        help: String,
    },
    /// The archive cannot be written.
    Write(PathBuf, std::io::Error),
}

fn refused<T>(why: impl Into<String>, help: impl Into<String>) -> Result<T, ExportError> {
    Err(ExportError::Refused { why: why.into(), help: help.into() })
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Model(e) => write!(f, "{e}"),
            ExportError::Start(e) => write!(f, "{e}"),
            ExportError::Refused { why, help } if help.is_empty() => write!(f, "{why}"),
            ExportError::Refused { why, help } => write!(f, "{why}\nhelp: {help}"),
            ExportError::Write(path, e) => write!(f, "cannot write {}: {e}", path.display()),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<Report> for ExportError {
    fn from(report: Report) -> ExportError {
        ExportError::Model(Box::new(report))
    }
}

/// A model on its way into an FMU.
pub struct Fmu {
    /// The name of the model.
    pub name: String,
    /// What the library needs to know.
    pub export: Export,
    /// The variables.
    pub interface: Interface,
    /// Where other machines can be joined to it.
    pub ports: Vec<Port>,
    /// The text of the model, with all that was overridden.
    text: String,
    /// The folder of the model, and the files in it that it reads.
    folder: PathBuf,
    files: Vec<String>,
    /// End of the run, distance of samples, tolerance.
    experiment: [f64; 3],
}

impl Fmu {
    /// Prepares the FMU of a model: the text of the file that `path` names, with `overrides` put on it. `outputs` are patterns
    /// of channels with `*`; without any, every channel is an output. `ports` are patterns of probes.
    pub fn new(
        path: &str,
        text: &str,
        overrides: &[String],
        kinds: Kinds,
        outputs: &[String],
        ports: &[String],
    ) -> Result<Fmu, ExportError> {
        let read = read_text(path, text, overrides)?;
        if let Some(fmu) = read.model.fmus.first() {
            let help =
                "export the model without it, with inputs in the place of its outputs, and join both in the other tool";
            return refused(
                format!("FMU `{}` of the model needs a program to run in, which an FMU lacks", fmu.name),
                help,
            );
        }
        let as_it_is = overrides.is_empty() && ports.is_empty() && !path.to_lowercase().ends_with(".json");
        let ports = ports::chosen(&read, ports)?;
        let text = match as_it_is {
            true => text.to_string(),
            false => ports::opened(build::Model::parse(path, text, overrides)?, &ports)?.to_toml(),
        };
        let folder = Path::new(path).parent().map(Path::to_path_buf).unwrap_or_default();
        let (name, path) = (read.model.name, folder.join("model.toml"));
        let read_again = || read_text(&path.to_string_lossy(), &text, &[]);
        let (read, machine) = (read_again()?, Machine::from(read_again()?));
        let options = Options::from_settings(&read.settings).map_err(|e| ExportError::Start(Box::new(e.into())))?;
        let (mut simulation, coordinates) = posed(&machine, &read, &options, kinds)?;
        if kinds.model_exchange {
            refuse_drives(&mut simulation, &read)?;
        }
        let chosen = chosen(&simulation, &read, outputs, &ports)?;
        let sizes = simulation.sizes();
        let names = chosen.iter().map(|(name, _)| name.clone()).collect();
        let export = Export { kinds, coordinates, n: sizes.n, nz: sizes.nz, switches: sizes.switches, outputs: names };
        let mut interface = Interface::new(&read, &export);
        for (output, (_, unit)) in interface.outputs.iter_mut().zip(&chosen) {
            output.unit = unit.to_string();
        }
        refuse_twice(&interface)?;
        let experiment = [options.until, options.sample_distance(), options.rtol];
        Ok(Fmu { name, export, interface, ports, text, folder, files: read.files, experiment })
    }
}

/// A model in the coordinates of its FMU. Model exchange takes the coordinates of joints where they leave no equations:
/// nothing can drift then. Where there are loops, or where the user asks for other coordinates, it keeps those of a run.
fn posed(
    machine: &Machine,
    read: &Read,
    options: &Options,
    kinds: Kinds,
) -> Result<(Simulation, Coordinates), ExportError> {
    let start = |options: Options| Simulation::new(machine.clone(), options);
    let asked = read.settings.0.iter().any(|s| s.key == "coordinates" || s.key == "solver");
    if kinds.model_exchange && !asked {
        let relative = Options { coordinates: Coordinates::Relative, ..options.clone() };
        if let Some(simulation) = start(relative).ok().filter(|s| s.sizes().m == 0) {
            return Ok((simulation, Coordinates::Relative));
        }
    }
    let simulation = start(options.clone()).map_err(|e| ExportError::Start(Box::new(e)))?;
    Ok((simulation, options.coordinates))
}

/// A drive needs the rates of what drives it, and model exchange does not tell those of inputs.
fn refuse_drives(simulation: &mut Simulation, read: &Read) -> Result<(), ExportError> {
    let state = simulation.state().clone();
    let Some(k) = simulation.input_of_a_drive(&state) else { return Ok(()) };
    let name = read.model.inputs.get(k).map_or("", |input| &input.name);
    let why =
        format!("input `{name}` prescribes a motion: model exchange would need its rates, which FMI does not give");
    refused(why, "export it for co-simulation alone (kind cs), or let the input be a force")
}

/// The channels that become outputs, with their units.
fn chosen(
    simulation: &Simulation,
    read: &Read,
    wanted: &[String],
    ports: &[Port],
) -> Result<Vec<(String, &'static str)>, ExportError> {
    let is_input = |name: &str| read.model.inputs.iter().any(|input| input.name == name);
    let all = simulation.header().channels;
    let all: Vec<(String, &'static str)> =
        all.into_iter().filter(|c| !is_input(&c.name)).map(|c| (c.name, c.unit)).collect();
    if wanted.is_empty() {
        return Ok(all);
    }
    for pattern in wanted {
        if !all.iter().any(|(name, _)| matches(pattern, name)) {
            let near = bellcrank_model::file::suggest::nearest(pattern, all.iter().map(|(name, _)| name.as_str()));
            let help =
                near.map_or("`bellcrank run --json` lists all channels".into(), |n| format!("did you mean `{n}`?"));
            return refused(format!("the model has no channel `{pattern}`"), help);
        }
    }
    let of_port = |name: &str| ports.iter().any(|p| p.variables().any(|variable| variable == name));
    let is_wanted = |name: &str| wanted.iter().any(|pattern| matches(pattern, name)) || of_port(name);
    Ok(all.into_iter().filter(|(name, _)| is_wanted(name)).collect())
}

/// Whether a name fits a pattern, in which `*` stands for any letters.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Variables of an FMU have one list of names.
fn refuse_twice(interface: &Interface) -> Result<(), ExportError> {
    let mut names: Vec<String> = interface.list().into_iter().map(|v| interface.name(v)).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let help = "give the parameter or input another name, or choose outputs without this channel";
            refused(format!("`{}` is the name of two variables, and those of an FMU must differ", pair[0]), help)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_outputs() {
        for (pattern, name, fits) in [
            ("pin.*", "pin.angle", true),
            ("*.x", "bob.x", true),
            ("*.x", "bob.xy", false),
            ("pin.angle", "pin.angle", true),
            ("pin", "pin.angle", false),
            ("p*n.*e", "pin.angle", true),
            ("*", "anything", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
