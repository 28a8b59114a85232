//! `[vary]`: what is varied, over which values.

use super::{StudyReader, path_of};
use crate::axis::{Axis, AxisValue, AxisValues, Target};
use crate::distribution::Distribution;
use crate::models::Models;
use crate::space::MOST_POINTS;
use crate::study::{FOLDER, REASON, ROW, STATUS};
use bellcrank_model::file::{
    Diagnostic, Diagnostics, Entry, Field, FieldKind, Node, NodeValue, Span, Table, Values, read, suggest, units,
};
use bellcrank_model::read::Read;
use bellcrank_solve::choices::{CHOICES, Said, Voice, choice, understood};

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

impl StudyReader<'_> {
    pub(super) fn axes(&self, base: &Read, models: &dyn Models, set: &[String]) -> Result<Vec<Axis>, Diagnostics> {
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
        if let (Target::Choice(key), AxisValues::Listed(list)) = (&target, &values) {
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
                let message = format!("put a path in [vary] in quotes: \"{}\"", path.join("."));
                return Err(Diagnostic::error(message)
                    .at(entry.span)
                    .help("without them it is a table within a table"));
            }
        }
        Ok(())
    }

    /// Every value of a choice is one that the solver knows.
    fn check_choices(&self, key: &str, list: &[AxisValue], node: &Node) -> Result<(), Diagnostics> {
        let items = node.as_array().or_else(|| node.get("values").and_then(Node::as_array)).unwrap_or_default();
        let mut problems = Diagnostics::new();
        for (k, value) in list.iter().enumerate() {
            let said = match value {
                AxisValue::Number(x) => Said::argument(key, *x),
                AxisValue::Text(text) => Said::argument(key, text.as_str()),
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

    fn listed(&self, list: &[Node], node: &Node, what: &str) -> Result<AxisValues, Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut values: Vec<AxisValue> = Vec::with_capacity(list.len());
        for item in list {
            let Some(value) = problems.take(self.value(item, what)) else { continue };
            let again = values.iter().position(|v| *v == value).filter(|_| !self.together());
            if let Some(k) = again {
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
        problems.or(AxisValues::Listed(values))
    }

    /// Whether what is listed goes together: a value may then come twice.
    fn together(&self) -> bool {
        let word = self.root.get("study").and_then(|s| s.get("combine")).and_then(Node::as_str);
        word == Some("together")
    }

    fn value(&self, node: &Node, what: &str) -> Result<AxisValue, Diagnostic> {
        match &node.value {
            NodeValue::Integer(n) => Ok(AxisValue::Number(*n as f64)),
            NodeValue::Number(x) if x.is_finite() => Ok(AxisValue::Number(*x)),
            NodeValue::Bool(flag) => Ok(AxisValue::Text(flag.to_string())),
            NodeValue::String { text, .. } => {
                let quantity = units::NumberWithUnit::parse(text).map(|q| AxisValue::Number(q.value));
                Ok(quantity.unwrap_or_else(|| AxisValue::Text(text.clone())))
            }
            NodeValue::Number(x) => {
                let problem = Diagnostic::error(format!("a value in {what} is {x}, and runs need finite numbers"));
                Err(problem.at(node.span).help("leave it out"))
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
    fn values(&self, v: &Values) -> Result<AxisValues, Diagnostics> {
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
            Some(word) => Ok(AxisValues::Drawn(distribution(word, v)?)),
            None => Ok(AxisValues::Listed(steps(v)?)),
        }
    }
}

/// Refuses keys that mean nothing here.
fn refuse_others(v: &Values, meant: &[&str], where_: &str) -> Result<(), Diagnostic> {
    let all = VARY.iter().map(|f| f.name).filter(|name| !["of", "values", "distribution"].contains(name));
    match all.into_iter().find(|name| v.has(name) && !meant.contains(name)) {
        None => Ok(()),
        Some(key) => {
            Err(v.error_at(key, format!("`{key}` of {} means nothing where {where_}", v.what())).help("leave it out"))
        }
    }
}

fn needed(v: &Values, key: &str, why: &str) -> Result<f64, Diagnostic> {
    v.optional_number(key).filter(|x| x.is_finite()).ok_or_else(|| {
        v.error(format!("{} needs `{key}`", v.what())).label(format!("`{key}` is missing here")).help(why.to_string())
    })
}

/// `from`, `to`, with one below the other.
fn bounds(v: &Values, why: &str) -> Result<(f64, f64), Diagnostic> {
    let (from, to) = (needed(v, "from", why)?, needed(v, "to", why)?);
    if from < to {
        return Ok((from, to));
    }
    let help = "the least value is `from`, and the greatest is `to`";
    Err(v.error_at("to", format!("{} goes from {from} to {to}", v.what())).label("not above `from`").help(help))
}

fn positive(v: &Values, from: f64, scale: &str) -> Result<(), Diagnostic> {
    if from > 0.0 {
        return Ok(());
    }
    Err(v.error_at("from", format!("a {scale} scale begins above zero, found {from}")).help("use a positive `from`"))
}

/// Values at equal distances.
fn steps(v: &Values) -> Result<Vec<AxisValue>, Diagnostics> {
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
    Ok((0..points).map(|k| AxisValue::Number(place(k))).collect())
}

fn distribution(word: &str, v: &Values) -> Result<Distribution, Diagnostic> {
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

/// What is varied, and its unit.
pub(crate) fn target(of: &str, span: Span, base: &Read) -> Result<(Target, String), Diagnostic> {
    if let Some(key) = of.strip_prefix("solve.") {
        return match choice(key) {
            Some(found) => Ok((Target::Choice(key.to_string()), found.unit.to_string())),
            None => {
                let known = || CHOICES.iter().map(|c| c.key);
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
    let with = |value: &AxisValue| {
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
