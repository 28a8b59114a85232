//! Study files: the keys, what they mean, and what is wrong with them.

use crate::axis::{Axis, Target, Value, Values};
use crate::column::{Column, of_outputs};
use crate::distribution::Distribution;
use crate::models::Models;
use crate::sampling::{SAMPLINGS, SOBOL_AXES, Sampler, Sampling};
use crate::space::{MOST_POINTS, Space};
use crate::study::{FOLDER, REASON, ROW, STATUS, Study};
use bellcrank_model::file::Value as Given;
use bellcrank_model::file::{
    Context, Diagnostic, Diagnostics, Document, Entry, Field, FieldKind, Layout, Node, Parameters, Report, Span, Table,
    Values as Fields, read, suggest, units,
};
use bellcrank_model::read::{Read, Template};
use bellcrank_model::settings::Settings;
use bellcrank_solve::choices::{EQUILIBRIUM, Options, Origin, Said, Voice, choice, understood};
use std::path::Path;

/// The keys of `[study]`.
pub const STUDY: &[Field] = &[
    Field::optional("model", FieldKind::Text, "", "", "the model file, from the folder of the study"),
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

const DISTRIBUTIONS: &[&str] = &["uniform", "log-uniform", "normal", "log-normal", "triangular"];

/// The keys of an entry of `[vary]`.
pub const VARY: &[Field] = &[
    Field::optional(
        "of",
        FieldKind::Name,
        "",
        "the entry's name",
        "what is varied: a parameter, a path such as `start.pin.rate`, or a choice such as `solve.method`",
    ),
    Field::optional("values", FieldKind::Any, "", "", "a list of numbers or words"),
    Field::optional("from", FieldKind::Number, units::ANY, "", "the least value"),
    Field::optional("to", FieldKind::Number, units::ANY, "", "the greatest value"),
    Field::optional(
        "points",
        FieldKind::Count,
        "",
        "",
        "how many values from the least to the greatest, both among them",
    ),
    Field::optional("scale", FieldKind::Word(&["linear", "log"]), "", "linear", "how `points` lie between them"),
    Field::optional("distribution", FieldKind::Word(DISTRIBUTIONS), "", "", "what values are drawn from"),
    Field::optional("mean", FieldKind::Number, units::ANY, "", "of `normal`"),
    Field::optional("median", FieldKind::Positive, units::ANY, "", "of `log-normal`"),
    Field::optional(
        "deviation",
        FieldKind::Positive,
        units::ANY,
        "",
        "standard deviation of `normal`; of `log-normal` that of the logarithm",
    ),
    Field::optional("mode", FieldKind::Number, units::ANY, "", "the most likely value of `triangular`"),
];

/// The sections of a study file.
pub(crate) const LAYOUT: Layout<'static> =
    Layout { settings: &["study", "vary", "column", "solve", "set"], named: &[] };

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
        let reader = Reader { root: &document.root, parameters: Parameters::default() };
        let report = |problems: Diagnostics| document.report(problems);
        let header = reader.header().map_err(report)?;
        let models: Box<dyn Models> = match (models, header.model) {
            (Some(models), _) => models,
            (None, Some((file, span))) => {
                let file = Path::new(path).parent().unwrap_or(Path::new("")).join(file);
                Box::new(reader.template(&file.to_string_lossy(), span).map_err(|e| e.unwrap_or_else(&report))?)
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
        let space = Space { axes, sampler: header.sampler };
        reader.check_size(&space, header.has_samples).map_err(report)?;
        if !space.axes.iter().any(|a| matches!(a.target, Target::Choice(_))) {
            reader.check_options(&base, &said).map_err(|e| e.unwrap_or_else(&report))?;
        }
        let columns = reader.columns(&base, &space).map_err(report)?;
        let mut added = Vec::new();
        for output in columns.iter().filter_map(Column::output) {
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
    keep: bool,
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

struct Reader<'a> {
    root: &'a Node,
    parameters: Parameters,
}

impl<'a> Reader<'a> {
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
        let values = read(node, "[study]", &[STUDY], &self.context());
        let Some(values) = problems.take(values) else { return Err(problems) };
        let how = Sampling::by_name(values.word("sampling")).unwrap_or_default();
        let samples = values.optional_integer("samples");
        let sampler =
            Sampler { how, seed: values.integer("seed") as u64, samples: samples.map_or(0, |n| n.max(0) as u64) };
        let model = values.optional_name("model").map(|n| (n.name, n.span));
        problems.or(Header { model, sampler, has_samples: samples.is_some(), keep: values.flag("keep") })
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

    fn axes(&self, base: &Read, models: &dyn Models, set: &[String]) -> Result<Vec<Axis>, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut axes: Vec<(Axis, Span)> = Vec::new();
        for entry in self.entries("vary")? {
            let Some(axis) = problems.take(self.axis(entry, base)) else { continue };
            if let Some((_, first)) = axes.iter().find(|(a, _)| a.target == axis.target) {
                let message = format!("{} is varied twice", suggest::quoted(&axis.target.path()));
                let problem = Diagnostic::error(message).at(entry.span).label("here again").also(*first, "first");
                problems.push(problem.help("leave one of them out"));
                continue;
            }
            problems.take(try_axis(&axis, entry.span, models, set));
            axes.push((axis, entry.span));
        }
        if axes.is_empty() && problems.is_empty() {
            let help = "add [vary] and below it what is varied, such as `k = [100, 200, 400]`";
            problems.push(Diagnostic::error("the study varies nothing").at(self.root.span).help(help));
        }
        problems.or(axes.into_iter().map(|(axis, _)| axis).collect())
    }

    fn axis(&self, entry: &Entry, base: &Read) -> Result<Axis, Diagnostics> {
        let what = format!("the variation of {}", suggest::quoted(&entry.name));
        let (of, of_span, values) = match entry.node.as_array() {
            Some(list) => (entry.name.as_str(), entry.span, self.listed(list, &entry.node, &what)?),
            None if entry.node.as_table().is_none() => {
                let message = format!("{what} must be a list or a table, found {}", entry.node.article());
                let help = "write it like `k = [100, 200]` or `k = { from = 100, to = 400, points = 4 }`";
                return Err(Diagnostic::error(message).at(entry.node.span).help(help).into());
            }
            None => {
                self.refuse_path(entry)?;
                let fields = read(&entry.node, &what, &[VARY], &self.context())?;
                let of = fields.optional_name("of").map_or((entry.name.as_str(), entry.span), |n| (n.name, n.span));
                (of.0, of.1, self.values(&fields)?)
            }
        };
        if [ROW, STATUS, REASON, FOLDER].contains(&entry.name.as_str()) {
            let problem = Diagnostic::error(format!("what is varied cannot be named {}", suggest::quoted(&entry.name)));
            let help = format!("give it another name: NAME = {{ of = \"parameter.{}\", … }}", entry.name);
            return Err(problem.at(entry.span).label("every table has such a column").help(help).into());
        }
        let (target, unit) = target(of, of_span, base)?;
        if let (Target::Choice(key), Values::Listed(list)) = (&target, &values) {
            self.check_choices(key, list, &entry.node)?;
        }
        Ok(Axis { name: entry.name.clone(), target, unit, values })
    }

    /// A path without quotes is a table within a table.
    fn refuse_path(&self, entry: &Entry) -> Result<(), Diagnostic> {
        let mut path = vec![entry.name.as_str()];
        let mut node = &entry.node;
        while let Some(Table { entries, .. }) = node.as_table().filter(|t| t.entries.len() == 1) {
            if VARY.iter().any(|f| f.name == entries[0].name) && path.len() == 1 {
                return Ok(());
            }
            path.push(&entries[0].name);
            node = &entries[0].node;
            if node.as_array().is_some() {
                let message = format!("a path in [vary] stands in quotes: \"{}\"", path.join("."));
                return Err(Diagnostic::error(message)
                    .at(entry.span)
                    .help("without them it is a table within a table"));
            }
        }
        Ok(())
    }

    /// Every value of a choice is one that the solver knows.
    fn check_choices(&self, key: &str, list: &[Value], node: &Node) -> Result<(), Diagnostics> {
        let items = node.as_array().or_else(|| node.get("values").and_then(Node::as_array)).unwrap_or_default();
        let mut problems = Diagnostics::new();
        for (k, value) in list.iter().enumerate() {
            let said = match value {
                Value::Number(x) => Said::argument(key, *x),
                Value::Text(text) => Said::argument(key, text.as_str()),
            };
            let span = items.get(k).map_or(node.span, |n| n.span);
            match understood(&[said]) {
                Err(e) => {
                    let problem = e.diagnostic(Voice::File);
                    problems.push(Diagnostic { span: Some(span), ..problem });
                }
                Ok(options) => _ = problems.take(self.check_from(&options, span)),
            }
        }
        problems.or(())
    }

    fn listed(&self, list: &[Node], node: &Node, what: &str) -> Result<Values, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut values: Vec<Value> = Vec::with_capacity(list.len());
        for item in list {
            let Some(value) = problems.take(self.value(item, what)) else { continue };
            if let Some(k) = values.iter().position(|v| *v == value) {
                let message = format!("{what} has the value {} twice", value.shown());
                let problem = Diagnostic::error(message).at(item.span).label("here again");
                problems.push(problem.also(list[k].span, "first"));
            }
            values.push(value);
        }
        if list.is_empty() {
            let help = "list at least one value, or leave it out";
            problems.push(Diagnostic::error(format!("{what} has no values")).at(node.span).label("empty").help(help));
        }
        problems.or(Values::Listed(values))
    }

    fn value(&self, node: &Node, what: &str) -> Result<Value, Diagnostic> {
        match &node.value {
            Given::Integer(n) => Ok(Value::Number(*n as f64)),
            Given::Number(x) if x.is_finite() => Ok(Value::Number(*x)),
            Given::Bool(flag) => Ok(Value::Text(flag.to_string())),
            Given::String { text, .. } => {
                let quantity = units::Quantity::parse(text).map(|q| Value::Number(q.value));
                Ok(quantity.unwrap_or_else(|| Value::Text(text.clone())))
            }
            _ => Err(Diagnostic::error(format!(
                "a value in {what} must be a number or a word, found {}",
                node.article()
            ))
            .at(node.span)
            .help("of a vector, vary its components: \"body.ball.velocity.0\" = [1, 2]")),
        }
    }

    /// The values of a table of keys.
    fn values(&self, v: &Fields) -> Result<Values, Diagnostics> {
        v.at_most_one(&["values", "distribution"])?;
        v.at_most_one(&["values", "points"])?;
        v.at_most_one(&["distribution", "points"])?;
        if let Some(node) = v.node("values") {
            let list = node.as_array().ok_or_else(|| {
                let message = format!("`values` of {} must be a list, found {}", v.what(), node.article());
                Diagnostic::error(message).at(node.span).help("write it like `values = [100, 200]`")
            })?;
            refuse_others(v, &[], "values are listed")?;
            return self.listed(list, node, v.what());
        }
        match v.optional_word("distribution") {
            Some(word) => Ok(Values::Drawn(distribution(word, v)?)),
            None => Ok(Values::Listed(steps(v)?)),
        }
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
            let drawn = if drawn > 0 { format!(" × {} samples", space.sampler.samples) } else { String::new() };
            let message = format!("the study has {} points, and at most {MOST_POINTS} can be run", space.len());
            let help =
                "list fewer values, or draw points: give axes a `distribution`, and [study] a number of `samples`";
            let problem = Diagnostic::error(message).at(self.root.get("vary").map_or(self.root.span, |n| n.span));
            return Err(problem.label(format!("{}{drawn}", sizes.join(" × "))).help(help).into());
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

/// Refuses keys that mean nothing here.
fn refuse_others(v: &Fields, meant: &[&str], where_: &str) -> Result<(), Diagnostic> {
    let all = VARY.iter().map(|f| f.name).filter(|name| !["of", "values", "distribution"].contains(name));
    match all.into_iter().find(|name| v.has(name) && !meant.contains(name)) {
        None => Ok(()),
        Some(key) => {
            Err(v.error_at(key, format!("`{key}` of {} means nothing where {where_}", v.what())).help("leave it out"))
        }
    }
}

fn needed(v: &Fields, key: &str, why: &str) -> Result<f64, Diagnostic> {
    v.optional_number(key).filter(|x| x.is_finite()).ok_or_else(|| {
        v.error(format!("{} needs `{key}`", v.what())).label(format!("`{key}` is missing here")).help(why.to_string())
    })
}

/// `from`, `to`, with one below the other.
fn bounds(v: &Fields, why: &str) -> Result<(f64, f64), Diagnostic> {
    let (from, to) = (needed(v, "from", why)?, needed(v, "to", why)?);
    if from < to {
        return Ok((from, to));
    }
    let help = "the least value is `from`, and the greatest is `to`";
    Err(v.error_at("to", format!("{} goes from {from} to {to}", v.what())).label("not above `from`").help(help))
}

fn positive(v: &Fields, from: f64, scale: &str) -> Result<(), Diagnostic> {
    if from > 0.0 {
        return Ok(());
    }
    Err(v.error_at("from", format!("a {scale} scale begins above zero, found {from}")).help("use a positive `from`"))
}

/// Values at equal distances.
fn steps(v: &Fields) -> Result<Vec<Value>, Diagnostics> {
    let why = "a grid needs `from`, `to` and `points`; or list `values`; or give a `distribution`";
    refuse_others(v, &["from", "to", "points", "scale"], "values lie between bounds")?;
    let (from, to) = bounds(v, why)?;
    let Some(points) = v.optional_integer("points") else {
        let problem = v.error(format!("{} needs `points`", v.what())).label("`points` is missing here");
        return Err(problem.help(why).into());
    };
    let points = points.max(1) as u64;
    if points > MOST_POINTS {
        let message = format!("{} has {points} points, and a study has at most {MOST_POINTS}", v.what());
        return Err(v.error_at("points", message).help("use fewer").into());
    }
    if points == 1 {
        let message = format!("{} has one point between {from} and {to}", v.what());
        return Err(v.error_at("points", message).help("use two or more, or list one value: `values = [1]`").into());
    }
    let logarithmic = v.word("scale") == "log";
    if logarithmic {
        positive(v, from, "logarithmic")?;
    }
    let place = |k: u64| {
        let u = k as f64 / (points - 1) as f64;
        match (k == points - 1, logarithmic) {
            (true, _) => to, // exactly
            (_, false) => from + u * (to - from),
            (_, true) => from * (to / from).powf(u),
        }
    };
    Ok((0..points).map(|k| Value::Number(place(k))).collect())
}

fn distribution(word: &str, v: &Fields) -> Result<Distribution, Diagnostic> {
    let why = |keys: &str| format!("`{word}` needs {keys}");
    let (meant, keys): (&[&str], &str) = match word {
        "uniform" | "log-uniform" => (&["from", "to"], "`from` and `to`"),
        "normal" => (&["mean", "deviation"], "`mean` and `deviation`"),
        "log-normal" => (&["median", "deviation"], "`median` and `deviation`"),
        _ => (&["from", "mode", "to"], "`from`, `mode` and `to`"),
    };
    refuse_others(v, meant, &format!("the distribution is `{word}`"))?;
    let number = |key: &str| needed(v, key, &why(keys));
    match word {
        "normal" => Ok(Distribution::Normal { mean: number("mean")?, deviation: number("deviation")? }),
        "log-normal" => Ok(Distribution::LogNormal { median: number("median")?, deviation: number("deviation")? }),
        _ => {
            let (from, to) = bounds(v, &why(keys))?;
            if word == "log-uniform" {
                positive(v, from, "logarithmic")?;
                return Ok(Distribution::LogUniform { from, to });
            }
            if word == "uniform" {
                return Ok(Distribution::Uniform { from, to });
            }
            let mode = number("mode")?;
            if (from..=to).contains(&mode) {
                return Ok(Distribution::Triangular { from, mode, to });
            }
            Err(v
                .error_at("mode", format!("the mode {mode} is not between {from} and {to}"))
                .help("put it between them"))
        }
    }
}

/// A bare name is a parameter; a path says what it is of.
fn path_of(name: &str) -> String {
    if name.contains('.') { name.to_string() } else { format!("parameter.{name}") }
}

/// What is varied, and its unit.
fn target(of: &str, span: Span, base: &Read) -> Result<(Target, String), Diagnostic> {
    if let Some(key) = of.strip_prefix("solve.") {
        return match choice(key) {
            Some(found) => Ok((Target::Choice(key.to_string()), found.unit.to_string())),
            None => {
                let known = || bellcrank_solve::choices::CHOICES.iter().map(|c| c.key);
                let near = suggest::nearest(key, known()).map(|n| format!("did you mean `solve.{n}`?"));
                let problem = Diagnostic::error(format!("there is no choice {} to vary", suggest::quoted(key)));
                Err(problem
                    .at(span)
                    .label(near.unwrap_or_default())
                    .help(format!("choices are {}", suggest::list(known()))))
            }
        };
    }
    let path = path_of(of);
    let Some(name) = path.strip_prefix("parameter.") else { return Ok((Target::Model(path), String::new())) };
    match base.parameters.list().iter().find(|p| p.name == name) {
        Some(parameter) => {
            // the number is in SI units, whatever unit the file has
            let unit = if parameter.quantity.is_some() { String::new() } else { parameter.unit.clone() };
            Ok((Target::Model(path.clone()), unit))
        }
        None => {
            let known: Vec<&str> = base.parameters.names().collect();
            let near =
                suggest::nearest(name, known.iter().copied()).map(|n| format!("did you mean {}?", suggest::quoted(n)));
            let help = match known.is_empty() {
                true => "the model has no parameters; name a value by its path: \"force.spring.stiffness\"".into(),
                false => format!(
                    "parameters are {}; other values go by their paths: \"start.pin.rate\"",
                    suggest::list(known)
                ),
            };
            let problem = Diagnostic::error(format!("the model has no parameter {} to vary", suggest::quoted(name)));
            Err(problem.at(span).label(near.unwrap_or("not in the model".into())).help(help))
        }
    }
}

/// Refuses an axis whose path leads nowhere, or with which no value makes a model.
fn try_axis(axis: &Axis, span: Span, models: &dyn Models, set: &[String]) -> Result<(), Diagnostic> {
    if matches!(axis.target, Target::Choice(_)) {
        return Ok(());
    }
    let with = |value: &Value| {
        let mut overrides = set.to_vec();
        axis.say(value, &mut overrides, &mut Vec::new());
        overrides
    };
    let samples = axis.samples();
    let lost = samples.first().and_then(|value| models.find(&with(value)).err());
    let broken = || {
        let mut reports = samples.iter().map(|value| models.read(&with(value)).err());
        let first = reports.next()??;
        reports.all(|r| r.is_some()).then_some(first)
    };
    let Some(report) = lost.or_else(broken) else { return Ok(()) };
    let Some(found) = report.diagnostics().0.first() else { return Ok(()) };
    let message = format!("{} cannot be varied: {}", suggest::quoted(&axis.target.path()), found.message);
    let mut problem = Diagnostic::error(message).at(span).label(found.label.clone());
    problem.help.clone_from(&found.help);
    Err(problem)
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
