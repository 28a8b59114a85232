//! `[fmu.NAME]`: FMUs of other tools. Their outputs are inputs of the model, what they are given is computed from channels.

mod resident;

pub(super) use resident::state_names;

use super::Reader;
use super::input::lasting;
use crate::channel::Pattern;
use crate::file::*;
use crate::fmu::wire::Setting;
use crate::fmu::{Archive, Causality, Description, Type};
use crate::model::{Filter, FmuEntry, Input, Output};
use std::path::Path;
use std::sync::Arc;

/// Keys of `[fmu.NAME]`.
pub const FMU: &[Field] = &[
    Field::required(
        "file",
        FieldKind::Text,
        "",
        "an FMU in the model's folder: FMI 2.0 or 3.0, for co-simulation or model exchange",
    ),
    Field::optional(
        "coupling",
        FieldKind::Word(&["equations", "exchange"]),
        "",
        "\"equations\" for model exchange without `step`, else \"exchange\"",
        "whether its states are integrated with the model, or values are exchanged at equal distances in time",
    ),
    Field::optional("step", FieldKind::Positive, "s", "that of its file", "how often values are exchanged"),
    Field::optional(
        "inputs",
        FieldKind::Any,
        "",
        "at their start values",
        "what it is given: for each of its inputs an expression of channels, parameters, inputs and `t`",
    ),
    Field::optional(
        "outputs",
        FieldKind::Names(1, 10_000),
        "",
        "all",
        "which of its outputs are used and recorded, with `*` for any letters",
    ),
    Field::optional("set", FieldKind::Any, "", "as in its file", "values of its parameters, and other start values"),
    Field::optional("patience", FieldKind::Positive, "s", "30", "how long an answer may take until it is stopped"),
    Field::optional("memory", FieldKind::Positive, "", "2", "how much memory it may take, in GiB"),
];

/// An FMU whose file has been read.
pub(super) struct Opened {
    name: String,
    archive: Arc<Archive>,
    description: Arc<Description>,
    /// The numbers of the outputs that are used, and their names in the model.
    outputs: Vec<(usize, String)>,
    /// Whether its equations are part of the model.
    resident: bool,
}

impl Opened {
    /// Opens the files of all FMUs of a model: expressions need to know the names of their outputs.
    pub fn all(root: &Node, folder: Option<&Path>) -> Result<Vec<Opened>, Diagnostics> {
        let entries = root.get("fmu").and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
        let mut problems = Diagnostics::new();
        // what is no name of a file is told by the reader
        let named = entries.iter().filter_map(|e| Some((e, e.node.get("file")?.as_str()?)));
        let opened = named.filter_map(|(entry, file)| problems.take(Opened::one(entry, file, folder))).collect();
        problems.or(opened)
    }

    fn one(entry: &Entry, file: &str, folder: Option<&Path>) -> Result<Opened, Diagnostics> {
        let at = entry.node.get("file").map_or(entry.span, |node| node.span);
        let problem = |message: String| Diagnostic::error(message).at(at);
        let what = format!("FMU {}", suggest::quoted(&entry.name));
        let help = "export it without large resources";
        let bytes = bounded::read_inside(folder.unwrap_or(Path::new("")), Path::new(file), help)
            .map_err(|(why, help)| problem(why).help(help))?;
        let asked = entry.node.get("coupling").and_then(Node::as_str);
        let describe = if asked == Some("equations") { Description::of_exchange } else { Description::of };
        let opened = Archive::new(bytes).and_then(|archive| Ok((describe(&archive)?, archive)));
        let (description, archive) = opened.map_err(|why| {
            problem(format!("{what}: {} {why}", suggest::quoted(file)))
                .help("export it anew, for co-simulation on this system, as FMI 2.0 or 3.0")
        })?;
        let chosen = chosen(entry, &what, &description)?;
        let outputs = chosen.into_iter().map(|n| (n, format!("{}.{}", entry.name, description.variables[n].name)));
        let (outputs, name) = (outputs.collect(), entry.name.clone());
        let resident = resident::is_wanted(entry, &what, &description)?;
        Ok(Opened { name, archive: Arc::new(archive), description: Arc::new(description), outputs, resident })
    }

    /// Whether its equations are part of the model.
    pub fn is_resident(&self) -> bool {
        self.resident
    }

    /// The names of its outputs in the model.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|(_, name)| name.as_str())
    }
}

/// The numbers of the outputs that a model uses.
fn chosen(entry: &Entry, what: &str, description: &Description) -> Result<Vec<usize>, Diagnostics> {
    let variables = &description.variables;
    let is_output = |n: &usize| {
        let v = &variables[*n];
        v.causality == Causality::Output && v.of.is_some_and(|of| of != Type::Text)
    };
    let all = || (0..variables.len()).filter(is_output);
    let Some(node) = entry.node.get("outputs") else { return Ok(all().collect()) };
    let one = std::slice::from_ref(node);
    let patterns = node.as_array().unwrap_or(one).iter().filter_map(|n| Some((n, n.as_str()?)));
    let mut found: Vec<usize> = Vec::new();
    for (node, pattern) in patterns {
        let wanted = Pattern(pattern.to_string());
        let fitting: Vec<usize> = all().filter(|n| wanted.fits(&variables[*n].name)).collect();
        if fitting.is_empty() {
            let (why, help) = match description.find(pattern, Causality::Output) {
                Err(fault) => fault,
                Ok(_) => (String::new(), None),
            };
            return Err(unknown(what, why, help).at(node.span).into());
        }
        found.extend(fitting);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// What is wrong with a name of a variable.
fn unknown(what: &str, why: String, near: Option<String>) -> Diagnostic {
    Diagnostic::error(format!("{what} {}{why}", if why.starts_with("has") { "" } else { "does not fit: " }))
        .label(near.unwrap_or_default())
        .help("the names are those of `modelDescription.xml` in its file")
}

impl<'a> Reader<'a> {
    fn opened(&self, name: &str) -> Option<&'a Opened> {
        self.fmus.iter().find(|fmu| fmu.name == name)
    }

    /// Reads all but what it is given, for which channels have to be known.
    pub(super) fn read_fmu(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("FMU {}", suggest::quoted(name));
        let values = self.fields(node, &what, &[FMU])?;
        let Some(opened) = self.opened(name) else { return Ok(()) };
        let description = &opened.description;
        let step = if opened.resident { f64::INFINITY } else { exchange_step(&values, description)? };
        let set = self.settings(&values, description)?;
        let mut outputs = Vec::new();
        for (number, output) in opened.outputs.iter().filter(|_| !opened.resident) {
            let variable = &description.variables[*number];
            outputs.push((*number, self.model.inputs.len()));
            let unit = lasting(&variable.unit).unwrap_or_default();
            let (name, doc) = (output.clone(), format!("output of {what}"));
            self.model.inputs.push(Input { name, start: variable.start, unit, doc });
        }
        self.model.fmus.push(FmuEntry {
            name: name.to_string(),
            archive: opened.archive.clone(),
            description: description.clone(),
            step,
            inputs: Vec::new(),
            outputs,
            resident: self.resident(opened),
            set,
            patience: values.number("patience"),
            memory: (values.number("memory") * f64::from(1 << 30)).min(1e18) as u64,
        });
        Ok(())
    }

    /// The values of parameters.
    fn settings(&self, values: &Values, description: &Description) -> Result<Vec<(usize, Setting)>, Diagnostics> {
        let what = values.what();
        let mut found = Vec::new();
        let mut problems = Diagnostics::new();
        for entry in entries(values, "set")? {
            let number = match description.find(&entry.name, Causality::Parameter) {
                Ok(number) => number,
                Err((why, near)) => {
                    problems.push(unknown(what, why, near).at(entry.span));
                    continue;
                }
            };
            let of = description.variables[number].of.unwrap_or(Type::Float64);
            let told = format!("{} in `set` of {what}", suggest::quoted(&entry.name));
            let value = match (&entry.node.value, of) {
                (NodeValue::String { text, .. }, Type::Text) => Ok(Setting::Text(text.clone())),
                (_, Type::Text) => Err(Diagnostic::error(format!("{told} must be a text")).at(entry.node.span)),
                (NodeValue::Bool(on), _) => Ok(Setting::Number(f64::from(u8::from(*on)))),
                _ => self.context().number(&entry.node, &told, units::ANY).map(Setting::Number),
            };
            let whole = |value: &Setting| matches!(value, Setting::Number(x) if x.fract() != 0.0 && of.is_whole());
            match value {
                Ok(value) if whole(&value) => {
                    let message = format!("{told} must be a whole number, or true or false");
                    problems.push(Diagnostic::error(message).at(entry.node.span));
                }
                Ok(value) => found.push((number, value)),
                Err(problem) => problems.push(problem),
            }
        }
        problems.or(found)
    }

    /// Reads what it is given: expressions of channels.
    pub(super) fn read_given(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("FMU {}", suggest::quoted(name));
        let values = self.fields(node, &what, &[FMU])?;
        let Some(opened) = self.opened(name) else { return Ok(()) };
        if opened.resident {
            return Ok(());
        }
        let mut found = Vec::new();
        let mut problems = Diagnostics::new();
        for entry in entries(&values, "inputs")? {
            match opened.description.find(&entry.name, Causality::Input) {
                Err((why, near)) => problems.push(unknown(&what, why, near).at(entry.span)),
                Ok(number) => {
                    let read = self.measured(&entry.node, &what, &entry.name);
                    let Some((value, channels)) = problems.take(read) else { continue };
                    let (name, filter, doc) = (format!("{name}.{}", entry.name), Filter::None, String::new());
                    found.push((number, Output { name, value, channels, filter, unit: "", doc }));
                }
            }
        }
        if let Some(fmu) = self.model.fmus.iter_mut().find(|fmu| fmu.name == name) {
            fmu.inputs = found;
        }
        problems.or(())
    }
}

/// The entries of a key that is a table.
fn entries<'a>(values: &Values<'a>, key: &str) -> Result<&'a [Entry], Diagnostics> {
    match values.node(key).map(|node| (node, node.as_table())) {
        None => Ok(&[]),
        Some((_, Some(table))) => Ok(&table.entries),
        Some(_) => {
            let message = format!("`{key}` of {} must be a table", values.what());
            Err(values.error_at(key, message).help(format!("write it like `{key} = {{ NAME = … }}`")).into())
        }
    }
}

/// The communication step: the user's, or the one that the FMU suggests.
fn exchange_step(values: &Values, description: &Description) -> Result<f64, Diagnostics> {
    let what = values.what();
    let Some(step) = values.optional_number("step").or(description.step) else {
        let message = format!("{what} needs `step`: its file suggests none");
        return Err(values.error(message).help("write how often values are exchanged, as `step = \"1 ms\"`").into());
    };
    let off = |inner: f64| (step / inner - (step / inner).round().max(1.0)).abs() > 1e-9 * step / inner;
    match description.inner_step.filter(|inner| off(*inner)) {
        None => Ok(step),
        Some(inner) => {
            let message = format!("{what} takes steps of {inner} s inside, and its `step` of {step} s is no multiple");
            Err(values.error_at("step", message).help("let `step` be a multiple of its own step").into())
        }
    }
}
