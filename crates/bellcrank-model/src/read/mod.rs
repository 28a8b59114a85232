//! From a model file to a [`Model`]: the meaning of every section.

use crate::file::*;
use crate::model::*;
use crate::settings::Settings;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

mod body;
pub mod fields;
mod flexible;
mod fmu;
mod force;
mod include;
mod input;
mod joint;
mod marker;
mod output;
mod part;
mod place;
mod probe;
mod reach;
mod shape;
mod signal;
mod start;
mod table;
mod visual;

pub use fields::*;
pub use flexible::{BEAM, MODAL};
pub use fmu::FMU;
pub use input::lasting_unit;
pub use reach::{Reach, Uses};
pub use visual::VISUAL;

/// A model file that was read.
pub struct Read {
    /// The model.
    pub model: Model,
    /// Its `[solve]` section, as it stands.
    pub settings: Settings,
    /// The texts and places, for messages that point into them.
    pub document: Outline,
    /// Its parameters; the model has their values in it.
    pub parameters: Parameters,
    /// The files in the model's folder that it reads: tables, meshes, modes.
    pub files: Vec<String>,
    /// The place of each joint among those of the file; empty if the order is the same.
    joints: Vec<usize>,
    /// The place of each state among those of the file: a transfer function has several.
    states: Vec<usize>,
}

impl Read {
    /// Where the name of something in the model stands in the file, also after the model was taken out to be compiled.
    pub fn place(&self, place: Place) -> Option<Span> {
        let in_file = |joint: usize| if self.joints.is_empty() { Some(joint) } else { self.joints.get(joint).copied() };
        let number = match place {
            Place::Start(i) => {
                let (joint, _) = self.document.entries("joint").get(in_file(i)?)?;
                return self.document.place("start", joint);
            }
            Place::Joint(i) => in_file(i)?,
            Place::State(i) => *self.states.get(i)?,
            Place::Body(i) | Place::Force(i) | Place::Probe(i) | Place::Input(i) | Place::Fmu(i) => i,
        };
        self.document.entries(place.section()).get(number).map(|(_, span)| *span)
    }
}

/// The place of each joint of the model among those of the file: joints on joints come last in the model.
fn order_of_joints(model: &Model, document: &Outline) -> Vec<usize> {
    let entries = document.entries("joint");
    if model.joints.iter().zip(entries).all(|(joint, (name, _))| *joint.name == **name) {
        return Vec::new();
    }
    let places: HashMap<&str, usize> = entries.iter().enumerate().map(|(i, (name, _))| (&**name, i)).collect();
    model.joints.iter().map(|joint| places.get(joint.name.as_str()).copied().unwrap_or(usize::MAX)).collect()
}

/// The place of each state of the model among those of the file: those within a transfer function come behind its own.
fn order_of_states(model: &Model, document: &Outline) -> Vec<usize> {
    let entries = document.entries("state");
    let mut last = 0;
    let mut place = |state: &StateEntry| {
        last = entries.iter().position(|(name, _)| **name == *state.name).unwrap_or(last);
        last
    };
    model.states.iter().map(&mut place).collect()
}

/// The values of all keys that name a file, each once.
fn files_of(root: &Node) -> Vec<String> {
    fn collect(node: &Node, found: &mut Vec<String>) {
        match &node.value {
            NodeValue::Table(table) => {
                for entry in &table.entries {
                    match entry.node.as_str().filter(|_| entry.name == "file" || entry.name == "table") {
                        Some(file) => found.push(file.to_string()),
                        None => collect(&entry.node, found),
                    }
                }
            }
            NodeValue::Array(items) => items.iter().for_each(|item| collect(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(root, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Reads a model file with overrides `path.to.key=value`.
pub fn read_model(path: &str, overrides: &[String]) -> Result<Read, Report> {
    complete(Document::open_bare(path)?, overrides, path)
}

/// Reads a model from a text under the name the user knows it by.
pub fn read_text(name: &str, text: &str, overrides: &[String]) -> Result<Read, Report> {
    complete(Document::bare(name, text.to_string())?, overrides, name)
}

/// A model file that is read again and again, with other values each time: its text is parsed once.
#[derive(Clone, Debug)]
pub struct Template {
    path: String,
    document: Document,
}

impl Template {
    /// The file at a path.
    pub fn open(path: &str) -> Result<Template, Report> {
        Ok(Template { path: path.to_string(), document: Document::open_bare(path)? })
    }

    /// A text under the name the user knows it by.
    pub fn parse(name: &str, text: &str) -> Result<Template, Report> {
        Ok(Template { path: name.to_string(), document: Document::bare(name, text.to_string())? })
    }

    /// The name of the file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        self.document.sources.0.first().map_or("", |source| &source.text)
    }

    /// The tree of its values with overrides on it, whether or not they make a model.
    pub fn with(&self, overrides: &[String]) -> Result<Document, Report> {
        self.document.clone().with(overrides, &LAYOUT)
    }

    /// The model with overrides `path.to.key=value`: the same as [`read_model`] gives.
    pub fn read(&self, overrides: &[String]) -> Result<Read, Report> {
        complete(self.document.clone(), overrides, &self.path)
    }

    /// The number that an override of this path would replace, in SI units: expressions and units are read as in the file.
    pub fn number(&self, overrides: &[String], path: &str) -> Result<f64, Report> {
        self.numbers(overrides, &[path]).map(|found| found[0])
    }

    /// The numbers that overrides of some paths would replace; the model is read once.
    pub fn numbers(&self, overrides: &[String], paths: &[&str]) -> Result<Vec<f64>, Report> {
        let document = self.with(overrides)?;
        let parameters = self.read(overrides)?.parameters;
        let context = Context { parameters: &parameters, plane: false, variables: &[], folder: None, laws: None };
        let number = |path: &&str| {
            let what = crate::file::suggest::quoted(path);
            let Some(node) = crate::file::find(&document.root, path) else {
                let problem = Diagnostic::error(format!("{what} has no value in {}", self.path));
                let help = "write its value into the file, or name another path such as body.crank.mass or force.spring.at.0.1";
                return Err(problem.help(help).into());
            };
            context.number(node, &what, crate::file::units::ANY).map_err(|problem| document.report(problem.into()))
        };
        paths.iter().map(number).collect()
    }
}

/// A document as it stands in its file, with overrides and parts put in, read.
fn complete(document: Document, overrides: &[String], path: &str) -> Result<Read, Report> {
    let (mut document, parts) = document.with_parts(overrides, &LAYOUT, include::expand)?;
    match include::mirror(&mut document.root, &parts) {
        Ok(()) => interpret(document, &parts, path),
        Err(problems) => Err(document.report(problems)),
    }
}

fn interpret(document: Document, parts: &[include::Part], path: &str) -> Result<Read, Report> {
    let folder = std::path::Path::new(path).parent();
    let fmus = match fmu::Opened::all(&document.root, folder) {
        Ok(fmus) => fmus,
        Err(problems) => return Err(document.report(problems)),
    };
    let read = |mut r: Reader| {
        r.place_parts(parts)?;
        r.read(path).map(|(model, settings)| (model, settings, r.parameters))
    };
    match Reader::new(&document.root, folder, &fmus).and_then(read) {
        Ok((model, settings, parameters)) => {
            let files = files_of(&document.root);
            let document = document.outline();
            let joints = order_of_joints(&model, &document);
            let states = order_of_states(&model, &document);
            Ok(Read { model, settings, document, parameters, files, joints, states })
        }
        Err(problems) => Err(document.report(problems)),
    }
}

/// A section with its article: `a body`, `an input`.
fn with_article(section: &str) -> String {
    match section {
        "fmu" => "an FMU".into(),
        "input" | "output" | "include" => format!("an {section}"),
        _ => format!("a {section}"),
    }
}

/// A file on its way to a model. Its thirteen fields are what the readers of its sections share.
struct Reader<'a> {
    root: &'a Node,
    folder: Option<&'a std::path::Path>,
    parameters: Parameters,
    /// What functions may use: `t`, the inputs and the outputs of FMUs.
    variables: Vec<&'a str>,
    fmus: &'a [fmu::Opened],
    plane: bool,
    model: Model,
    body_names: HashMap<String, usize>,
    /// The names of the user's states, in their order.
    state_names: Vec<String>,
    /// What expressions compute from the state.
    signals: RefCell<Vec<Signal>>,
    /// What the expressions that are being read belong to.
    law_of: Cell<Place>,
    /// Where parts stand.
    frames: part::PartFrames,
    problems: Diagnostics,
}

impl<'a> Reader<'a> {
    fn new(
        root: &'a Node,
        folder: Option<&'a std::path::Path>,
        fmus: &'a [fmu::Opened],
    ) -> Result<Reader<'a>, Diagnostics> {
        let inputs = root.get("input").and_then(Node::as_table).into_iter().flat_map(Table::names);
        let given = fmus.iter().filter(|fmu| !fmu.is_resident()).flat_map(fmu::Opened::names);
        let variables: Vec<&str> = std::iter::once("t").chain(inputs).chain(given).collect();
        let parameters = Parameters::read(root.get("parameter"), &variables[1..])?;
        let plane = root.get("model").and_then(|m| m.get("plane")).is_some();
        Ok(Reader {
            root,
            folder,
            parameters,
            variables,
            fmus,
            plane,
            model: Model::default(),
            body_names: HashMap::new(),
            state_names: signal::state_names(root).into_iter().chain(fmu::state_names(fmus)).collect(),
            signals: RefCell::default(),
            law_of: Cell::new(Place::Body(0)),
            frames: part::PartFrames::default(),
            problems: Diagnostics::new(),
        })
    }

    fn context(&self) -> Context<'_> {
        let (parameters, variables) = (&self.parameters, &self.variables);
        Context { parameters, plane: self.plane, variables, folder: self.folder, laws: None }
    }

    /// Reads a table whose functions may depend on the state.
    fn fields_of_state(
        &self,
        node: &'a Node,
        what: &str,
        fields: &[&'static [Field]],
    ) -> Result<Values<'a>, Diagnostics> {
        read(node, what, fields, &Context { laws: Some(self), ..self.context() })
    }

    fn fields(&self, node: &'a Node, what: &str, fields: &[&'static [Field]]) -> Result<Values<'a>, Diagnostics> {
        read(node, what, fields, &self.context())
    }

    fn read(&mut self, path: &str) -> Result<(Model, Settings), Diagnostics> {
        self.check_sections();
        self.each("table", Reader::read_table);
        self.check_names();
        self.check_inputs();
        self.check_outputs();
        self.check_states();
        self.each("parameter", Reader::check_parameter);
        self.each("input", Reader::read_input);
        self.each("fmu", Reader::read_fmu);
        self.model.space = if self.plane { Space::Plane } else { Space::Space };
        let stem = std::path::Path::new(path).file_stem().map(|s| s.to_string_lossy().into_owned());
        self.model.name = stem.unwrap_or_default();
        if let Some(node) = self.root.get("model") {
            let values = self.fields(node, "[model]", &[MODEL]);
            if let Some(values) = self.problems.take(values) {
                if let Some(name) = values.optional_name("name") {
                    self.model.name = name.name.to_string();
                }
                self.model.gravity = values.optional_vector("gravity").unwrap_or_default();
            }
        }
        let length = |section: &str| self.root.get(section).and_then(Node::as_table).map_or(0, |t| t.entries.len());
        let (bodies, joints) = (length("body"), length("joint"));
        self.model.bodies.reserve_exact(bodies);
        self.model.joints.reserve_exact(joints);
        self.each("body", Reader::read_body);
        // places on bodies need all bodies: with one of them unread, messages about the rest would mislead
        std::mem::take(&mut self.problems).or(())?;
        self.each("marker", Reader::read_marker);
        std::mem::take(&mut self.problems).or(())?;
        self.each("joint", Reader::read_joint);
        if self.problems.is_empty() {
            self.each("joint", Reader::read_coupler); // they refer to joints by name, in any order
        }
        self.each("probe", Reader::read_probe);
        self.each("visual", Reader::read_visual);
        self.each("force", Reader::read_force);
        self.each("state", Reader::read_state);
        self.each("fmu", Reader::read_equations);
        self.refuse_loops_of_fmus();
        self.model.signals = self.signals.take();
        std::mem::take(&mut self.problems).or(())?;
        self.each("start", Reader::read_start);
        self.each("output", Reader::read_output);
        self.each("fmu", Reader::read_given);
        let mut settings = Settings::default();
        if let Some(node) = self.root.get("solve") {
            let read = Settings::read(node, &self.context());
            settings = self.problems.take(read).unwrap_or_default();
        }
        std::mem::take(&mut self.problems).or(())?;
        if self.model.bodies.is_empty() {
            let hint = "add one: a table [body.NAME] with at least its `mass`";
            return Err(Diagnostic::error("the model has no bodies").at(self.root.span).help(hint).into());
        }
        Ok((std::mem::take(&mut self.model), settings))
    }

    /// Bodies, joints, forces, probes, parts, FMUs, inputs and outputs must not share names: `pin.x` is one channel.
    fn check_names(&mut self) {
        let mut seen: HashMap<&str, (&str, Span)> = HashMap::new();
        // those of states, and inputs against outputs, are looked at with the rules for names in expressions; an actuator may
        // have the name of its input, as in robot files: its channels have a dot
        let may_share = |pair: (&str, &str)| matches!(pair, ("input", "output") | ("force", "input"));
        for section in ["body", "joint", "probe", "force", "include", "fmu", "input", "output"] {
            let entries = self.root.get(section).and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
            for entry in entries {
                let before = seen.insert(&entry.name, (section, entry.span));
                if let Some((first, span)) = before.filter(|(first, _)| !may_share((first, section))) {
                    let [first, second] = [first, section].map(with_article);
                    let message = format!("{} is the name of {first} and of {second}", suggest::quoted(&entry.name));
                    self.problems.push(
                        Diagnostic::error(message)
                            .at(entry.span)
                            .label(second)
                            .also(span, first)
                            .help("give one of them another name: their channels use it"),
                    );
                }
            }
        }
    }

    fn check_sections(&mut self) {
        let known: Vec<&str> = LAYOUT.settings.iter().chain(LAYOUT.named).copied().collect();
        let Some(table) = self.root.as_table() else { return };
        // editors look for `$schema`
        for entry in table.entries.iter().filter(|e| !known.contains(&e.name.as_str()) && e.name != "$schema") {
            let near = suggest::nearest(&entry.name, known.iter().copied());
            let label = near.map_or("not a known section".into(), |n| format!("did you mean `{n}`?"));
            let help = format!("sections are {}", known.join(", "));
            let message = format!("unknown section {}", suggest::quoted(&entry.name));
            self.problems.push(Diagnostic::error(message).at(entry.span).label(label).help(help));
        }
    }

    /// Reads every entry of a section, collecting what is wrong with each.
    fn each(&mut self, section: &str, one: fn(&mut Self, &'a str, &'a Node, Span) -> Result<(), Diagnostics>) {
        let Some(node) = self.root.get(section) else { return };
        let Some(table) = node.as_table() else {
            let message = format!("[{section}] must be a table of named entries");
            let help = format!("write [{section}.NAME] above the keys of each");
            self.problems.push(Diagnostic::error(message).at(node.span).help(help));
            return;
        };
        for entry in &table.entries {
            if self.problems.enough() {
                return; // each suggests names, for which it looks through all that are known
            }
            if entry.name.trim().is_empty() {
                let message = format!("a name in [{section}] is empty");
                let help = format!("write [{section}.NAME] above the keys of each");
                self.problems.push(Diagnostic::error(message).at(entry.span).help(help));
                continue;
            }
            self.enter(entry.span);
            let result = one(self, &entry.name, &entry.node, entry.span);
            self.problems.take(result);
        }
    }
}
