//! Study files: the keys, what they mean, and what is wrong with them.

mod vary;

pub use vary::VARY;
pub(crate) use vary::target;

use crate::axis::Target;
use crate::column::{Column, of_outputs};
use crate::models::Models;
use crate::sampling::{SAMPLINGS, SOBOL_AXES, Sampler, Sampling};
use crate::space::{MOST_POINTS, Space};
use crate::study::{FOLDER, REASON, ROW, STATUS, Study};
use bellcrank_model::file::NodeValue as Given;
use bellcrank_model::file::{
    Context, Diagnostic, Diagnostics, Document, Entry, Field, FieldKind, FileLayout, Node, Parameters, Report, Span,
    read, suggest,
};
use bellcrank_model::read::{Read, Template};
use bellcrank_model::settings::Settings;
use bellcrank_solve::choices::{EQUILIBRIUM, Options, Origin, Said, Voice, choice, understood};
use std::path::Path;

/// The keys of `[study]`.
pub const STUDY: &[Field] = &[
    Field::optional("model", FieldKind::Text, "", "", "the model file, from the folder of the study"),
    Field::optional(
        "combine",
        FieldKind::Word(&["all", "together"]),
        "",
        "all",
        "how lists combine: in all combinations, or together (first with first, second with second)",
    ),
    Field::optional(
        "samples",
        FieldKind::Count,
        "",
        "",
        "how many points are drawn, where something has a distribution",
    ),
    Field::optional("sampling", FieldKind::Word(SAMPLINGS), "", "latin-hypercube", "how they are drawn"),
    Field::optional("seed", FieldKind::Integer, "", "1", "another seed draws other points"),
    Field::optional("keep", FieldKind::Flag, "", "false", "whole results of every run, in a folder for each row"),
];

/// The sections of a study file.
pub(crate) const LAYOUT: FileLayout<'static> =
    FileLayout { settings: &["study", "vary", "column", "solve", "set"], named: &[] };

impl Study {
    /// Reads a study file and its model.
    pub fn open(path: &str) -> Result<Study, Report> {
        Study::made(Document::open(path, &[], &LAYOUT)?, path, None)
    }

    /// Reads a study from a text under the name the user knows it by. A model that is given takes the place of `model`.
    pub fn parse(name: &str, text: &str, models: Option<Box<dyn Models>>) -> Result<Study, Report> {
        Study::made(Document::parse(name, text.to_string(), &[], &LAYOUT)?, name, models)
    }

    fn made(document: Document, path: &str, models: Option<Box<dyn Models>>) -> Result<Study, Report> {
        let reader = StudyReader { root: &document.root, parameters: Parameters::default() };
        let report = |problems: Diagnostics| document.report(problems);
        let header = reader.header().map_err(report)?;
        let models: Box<dyn Models> = match (models, header.model) {
            (Some(models), _) => models,
            (None, Some((file, span))) => {
                let file = Path::new(path).parent().unwrap_or(Path::new("")).join(file);
                Box::new(reader.template(&file.to_string_lossy(), span).map_err(|e| e.unwrap_or_else(report))?)
            }
            (None, None) => {
                let problem = Diagnostic::error("[study] needs `model`").at(document.root.span);
                return Err(report(problem.help("add `model = \"FILE.toml\"` under [study]: what is run").into()));
            }
        };
        let set = reader.set().map_err(report)?;
        if let Err(problem) = models.find(&set) {
            return Err(report(reader.about_set(&problem).into()));
        }
        let base = models.read(&set)?;
        let said = reader.solve().map_err(report)?;
        let axes = reader.axes(&base, &*models, &set).map_err(report)?;
        let space = Space { axes, together: header.together, sampler: header.sampler };
        reader.check_together(&space).map_err(report)?;
        reader.check_size(&space, header.has_samples).map_err(report)?;
        if !space.axes.iter().any(|a| matches!(a.target, Target::Choice(_))) {
            reader.check_options(&base, &said).map_err(|e| e.unwrap_or_else(report))?;
        }
        let columns = reader.columns(&base, &space).map_err(report)?;
        let mut added = Vec::new();
        for output in columns.iter().filter_map(Column::made) {
            if !added.iter().any(|o: &bellcrank_model::model::Output| o.name == output.name) {
                added.push(output);
            }
        }
        let stem = Path::new(path).file_stem().map(|s| s.to_string_lossy().into_owned());
        let (name, model, keep) = (stem.unwrap_or_default(), base.model.name.clone(), header.keep);
        Ok(Study { name, model, space, columns, keep, models, set, said, added })
    }
}

/// What `[study]` says.
struct Header<'a> {
    model: Option<(&'a str, Span)>,
    sampler: Sampler,
    has_samples: bool,
    together: bool,
    keep: bool,
}

/// Words where `[study]` wants whole numbers: there are no parameters that they could name.
fn texts_for_numbers(study: &Node) -> Vec<Diagnostic> {
    let problem = |key: &&str| {
        let node = study.get(key)?;
        let text = node.as_str().filter(|text| text.chars().any(char::is_alphabetic))?;
        let message = format!("`{key}` of [study] must be a whole number, found {}", suggest::quoted(text));
        Some(Diagnostic::error(message).at(node.span).help(format!("write it like `{key} = 2`")))
    };
    ["samples", "seed"].iter().filter_map(problem).collect()
}

/// Why there is no model: a report of its own, or a problem of the study.
enum NoModel {
    Report(Report),
    Problem(Diagnostics),
}

impl NoModel {
    fn unwrap_or_else(self, report: impl Fn(Diagnostics) -> Report) -> Report {
        match self {
            NoModel::Report(its) => its,
            NoModel::Problem(problems) => report(problems),
        }
    }
}

struct StudyReader<'a> {
    root: &'a Node,
    parameters: Parameters,
}

impl<'a> StudyReader<'a> {
    fn context(&self) -> Context<'_> {
        Context { parameters: &self.parameters, plane: true, variables: &[], folder: None, laws: None }
    }

    fn entries(&self, section: &str) -> Result<&'a [Entry], Diagnostic> {
        let Some(node) = self.root.get(section) else { return Ok(&[]) };
        node.as_table().map(|t| &t.entries[..]).ok_or_else(|| {
            let message = format!("[{section}] must be a table, found {}", node.article());
            Diagnostic::error(message).at(node.span).help(format!("write [{section}] above its keys"))
        })
    }

    fn header(&self) -> Result<Header<'a>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let known = LAYOUT.settings;
        let strange = |e: &&Entry| !known.contains(&e.name.as_str()) && e.name != "$schema";
        for entry in self.root.as_table().map_or(&[][..], |t| &t.entries).iter().filter(strange) {
            let near = suggest::nearest(&entry.name, known.iter().copied());
            let label = near.map_or("not a known section".into(), |n| format!("did you mean `{n}`?"));
            let problem = Diagnostic::error(format!("unknown section {}", suggest::quoted(&entry.name)));
            let help = format!("sections of a study are {}", known.join(", "));
            problems.push(problem.at(entry.span).label(label).help(help));
        }
        let Some(node) = self.root.get("study") else {
            if problems.is_empty() {
                let help = "write [study] and below it `model = \"FILE.toml\"`";
                let problem = Diagnostic::error("the study has no section [study]").at(self.root.span);
                problems.push(problem.help(help));
            }
            return Err(problems);
        };
        texts_for_numbers(node).into_iter().for_each(|problem| problems.push(problem));
        if !problems.is_empty() {
            return Err(problems);
        }
        let values = read(node, "[study]", &[STUDY], &self.context());
        let Some(values) = problems.take(values) else { return Err(problems) };
        let how = Sampling::by_name(values.word("sampling")).unwrap_or_default();
        let samples = values.optional_integer("samples");
        let sampler =
            Sampler { how, seed: values.integer("seed") as u64, samples: samples.map_or(0, |n| n.max(0) as u64) };
        let model = values.optional_name("model").map(|n| (n.name, n.span));
        let (together, keep) = (values.word("combine") == "together", values.flag("keep"));
        problems.or(Header { model, sampler, has_samples: samples.is_some(), together, keep })
    }

    /// The model file; where it cannot be found, the study is what is wrong.
    fn template(&self, file: &str, span: Span) -> Result<Template, NoModel> {
        let problem = |message: String| NoModel::Problem(Diagnostic::error(message).at(span).into());
        let ending = Path::new(file).extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        if matches!(ending.as_str(), "urdf" | "xml" | "mjcf" | "sdf") {
            let help = format!("make a model file of it first: bellcrank convert {file} robot.toml");
            let message = "a study runs model files, and this is a robot file";
            return Err(NoModel::Problem(Diagnostic::error(message).at(span).help(help).into()));
        }
        Template::open(file).map_err(|report| {
            let placeless = report.diagnostics().0.iter().find(|d| d.span.is_none());
            match placeless {
                Some(found) => match problem(found.message.clone()) {
                    NoModel::Problem(Diagnostics(mut list)) => {
                        list[0].help.clone_from(&found.help);
                        NoModel::Problem(Diagnostics(list))
                    }
                    other => other,
                },
                None => NoModel::Report(report),
            }
        })
    }

    /// `[set]`: values for all rows.
    fn set(&self) -> Result<Vec<String>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let of = |e: &Entry| match &e.node.value {
            Given::Table(_) => Err(Diagnostic::error(format!("{} must be a value", suggest::quoted(&e.name)))
                .at(e.node.span)
                .help("write a path with dots in quotes: \"start.pin.rate\" = 2")),
            _ => Ok(format!("{}={}", path_of(&e.name), toml_text(&e.node))),
        };
        let set = self.entries("set")?.iter().filter_map(|e| problems.take(of(e))).collect();
        problems.or(set)
    }

    /// A problem with one of `[set]`, at its place.
    fn about_set(&self, report: &Report) -> Diagnostic {
        let Some(found) = report.diagnostics().0.first() else { return Diagnostic::error(report.to_string()) };
        let number = found.span.map_or(0, |s| s.source as usize).saturating_sub(1);
        let entries = self.entries("set").unwrap_or_default();
        let mut problem = Diagnostic::error(found.message.clone()).label(found.label.clone());
        problem.span = entries.get(number).map(|e| e.span);
        problem.help.clone_from(&found.help);
        problem
    }

    /// `[solve]`: choices for all rows.
    fn solve(&self) -> Result<Vec<Said>, Diagnostics> {
        let Some(node) = self.root.get("solve") else { return Ok(Vec::new()) };
        let settings = Settings::read(node, &self.context())?;
        let said: Vec<Said> = settings
            .0
            .iter()
            .map(|s| Said {
                key: s.key.clone(),
                value: s.value.clone(),
                origin: Origin::File(if choice(&s.key).is_some() { s.span } else { s.key_span }),
            })
            .collect();
        let options = understood(&said).map_err(|e| e.diagnostic(Voice::File))?;
        self.check_from(&options, node.span)?;
        // they win over those of the model, as flags do
        Ok(said.into_iter().map(|s| Said { origin: Origin::Argument, ..s }).collect())
    }

    /// Choices that are the same for all rows can be run.
    fn check_options(&self, base: &Read, said: &[Said]) -> Result<(), NoModel> {
        let Err(e) = Options::from_arguments(&base.settings, said) else { return Ok(()) };
        let problem = e.diagnostic(Voice::File);
        match e.origin {
            Some(Origin::File(_)) => Err(NoModel::Report(base.document.report(problem.into()))),
            _ => {
                let span = self.root.get("solve").map_or(self.root.span, |n| n.span);
                Err(NoModel::Problem(Diagnostic { span: Some(span), ..problem }.into()))
            }
        }
    }

    fn check_from(&self, options: &Options, span: Span) -> Result<(), Diagnostics> {
        match options.from.as_deref() {
            None | Some(EQUILIBRIUM) => Ok(()),
            Some(_) => Err(Diagnostic::error("runs of a study cannot begin where another run ended")
                .at(span)
                .help(format!("use `from = \"{EQUILIBRIUM}\"`, or leave it out"))
                .into()),
        }
    }

    /// Lists that go together have one length.
    fn check_together(&self, space: &Space) -> Result<(), Diagnostics> {
        let mut listed = space.axes.iter().filter_map(|a| Some((a, a.listed()?)));
        let Some((first, n)) = listed.next().filter(|_| space.together) else { return Ok(()) };
        let Some((other, m)) = listed.find(|(_, m)| *m != n) else { return Ok(()) };
        let name = |axis: &crate::axis::Axis| suggest::quoted(&axis.name);
        let message = format!("values go together, and {} has {n} of them, {} has {m}", name(first), name(other));
        let entry = self.entries("vary")?.iter().find(|e| e.name == other.name);
        let span = entry.map_or(self.root.span, |e| e.span);
        let help = "list as many of each, or leave out `combine = \"together\"`";
        Err(Diagnostic::error(message).at(span).help(help).into())
    }

    fn check_size(&self, space: &Space, has_samples: bool) -> Result<(), Diagnostics> {
        let drawn = space.axes.iter().filter(|a| a.listed().is_none()).count();
        let place = |key: &str| {
            let node = self.root.get("study").and_then(|n| n.get(key)).or(self.root.get("study"));
            node.map_or(self.root.span, |n| n.span)
        };
        if drawn > 0 && !has_samples {
            let help = "add `samples = 100` under [study]: how many points are drawn";
            let message = "the study has distributions, and does not say how many points are drawn";
            return Err(Diagnostic::error(message).at(place("study")).help(help).into());
        }
        if drawn == 0 && has_samples {
            let message = "`samples` says how many points are drawn, and nothing has a distribution";
            let help = "leave it out, or give something a `distribution` under [vary]";
            return Err(Diagnostic::error(message).at(place("samples")).help(help).into());
        }
        if space.sampler.how == Sampling::Sobol && drawn > SOBOL_AXES {
            let message = format!("Sobol's sequence is known for {SOBOL_AXES} axes, and {drawn} are drawn");
            let help = "use `sampling = \"latin-hypercube\"`, which takes any number";
            return Err(Diagnostic::error(message).at(place("sampling")).help(help).into());
        }
        if space.len() > u128::from(MOST_POINTS) {
            let sizes: Vec<String> = space
                .axes
                .iter()
                .filter_map(|a| Some(format!("{} {}", a.listed()?, suggest::quoted(&a.name))))
                .collect();
            let drawn = (drawn > 0).then(|| format!("{} samples", space.sampler.samples));
            let sizes: Vec<String> = sizes.into_iter().chain(drawn).collect();
            let message = format!("the study has {} points, and at most {MOST_POINTS} can be run", space.len());
            let help =
                "list fewer values, or draw points: give axes a `distribution`, and [study] a number of `samples`";
            let problem = Diagnostic::error(message).at(self.root.get("vary").map_or(self.root.span, |n| n.span));
            return Err(problem.label(sizes.join(" × ")).help(help).into());
        }
        Ok(())
    }

    fn columns(&self, base: &Read, space: &Space) -> Result<Vec<Column>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut columns: Vec<Column> = Vec::new();
        for entry in self.entries("column")? {
            let Some(text) = entry.node.as_str() else {
                let message =
                    format!("column {} must be a text, found {}", suggest::quoted(&entry.name), entry.node.article());
                let help = "write what it holds: `peak = \"ball.z.max\"`";
                problems.push(Diagnostic::error(message).at(entry.node.span).help(help));
                continue;
            };
            let column = Column::new(&entry.name, text, entry.node.span, &base.model);
            columns.extend(problems.take(column));
            problems.take(self.check_name(entry, space));
        }
        if columns.is_empty() && problems.is_empty() {
            for text in of_outputs(&base.model) {
                columns.extend(problems.take(Column::new(&text, &text, self.root.span, &base.model)));
            }
        }
        if columns.is_empty() && problems.is_empty() {
            let help = "add [column] and below it what is wanted of every run, such as `peak = \"ball.z.max\"`";
            problems.push(Diagnostic::error("the study has no columns").at(self.root.span).help(help));
        }
        problems.or(columns)
    }

    /// A name stands for one column of the table.
    fn check_name(&self, entry: &Entry, space: &Space) -> Result<(), Diagnostic> {
        let quoted = suggest::quoted(&entry.name);
        if [ROW, STATUS, REASON, FOLDER].contains(&entry.name.as_str()) {
            let problem = Diagnostic::error(format!("a column cannot be named {quoted}")).at(entry.span);
            return Err(problem.label("every table has such a column").help("choose another name"));
        }
        if !space.axes.iter().any(|a| a.name == entry.name) {
            return Ok(());
        }
        let axis = self.entries("vary")?.iter().find(|e| e.name == entry.name);
        let mut problem =
            Diagnostic::error(format!("{quoted} is the name of a column and of what is varied")).at(entry.span);
        if let Some(axis) = axis {
            problem = problem.also(axis.span, "what is varied");
        }
        Err(problem.label("a column").help("give the column another name"))
    }
}

/// A bare name is a parameter; a path says what it is of.
fn path_of(name: &str) -> String {
    if name.contains('.') { name.to_string() } else { format!("parameter.{name}") }
}

/// A value as an override has it.
fn toml_text(node: &Node) -> String {
    match &node.value {
        Given::Integer(n) => n.to_string(),
        Given::Number(x) => format!("{x:?}"),
        Given::Bool(flag) => flag.to_string(),
        Given::String { text, .. } => serde_json::Value::from(text.as_str()).to_string(),
        Given::Array(items) => format!("[{}]", items.iter().map(toml_text).collect::<Vec<_>>().join(", ")),
        _ => "{}".into(),
    }
}
