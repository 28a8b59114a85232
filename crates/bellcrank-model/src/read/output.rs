//! `[output.NAME]`: what is computed from channels and recorded beside them.

use super::Reader;
use super::fields::OUTPUT;
use super::input::{lasting, too_long};
use crate::catalog;
use crate::file::*;
use crate::model::{Filter, Output};

impl<'a> Reader<'a> {
    pub(super) fn read_output(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("output {}", suggest::quoted(name));
        let values = self.fields(node, &what, &[OUTPUT])?;
        let text = |key: &str| values.optional_name(key).map_or("", |n| n.name);
        let Some(unit) = lasting(text("unit")) else { return Err(too_long(&values).into()) };
        let filter = filter(&values)?;
        let Some(value) = values.node("value") else { return Ok(()) };
        let (value, channels) = self.measured(value, &what, "value")?;
        let doc = text("doc").to_string();
        self.model.outputs.push(Output { name: name.to_string(), value, channels, filter, unit, doc });
        Ok(())
    }

    /// An expression of `t` and channels, with these channels in the order of its variables.
    pub(super) fn measured(
        &self,
        node: &Node,
        what: &str,
        key: &str,
    ) -> Result<(Expression, Vec<String>), Diagnostics> {
        let used = Expression::names(node.as_str().unwrap_or_default());
        let channels = self.used_channels(what, node, &used)?;
        let variables: Vec<&str> = std::iter::once("t").chain(channels.iter().map(String::as_str)).collect();
        let context = Context { variables: &variables, ..self.context() };
        let value = context.function(node, &format_args!("`{key}` of {what}"), units::ANY)?;
        Ok((value, channels))
    }

    /// The channels among the names that an expression uses; a name with a dot that is none is an error.
    fn used_channels(
        &self,
        what: &str,
        value: &Node,
        used: &[(&str, std::ops::Range<usize>)],
    ) -> Result<Vec<String>, Diagnostics> {
        let is_parameter = |name: &str| self.parameters.get(name).is_some();
        let asked = |name: &str| used.iter().any(|(u, _)| *u == name) && !is_parameter(name);
        let found = catalog::select(&self.model, &mut |name, _| asked(name));
        let channels: Vec<String> = found.channels.into_iter().map(|c| c.name).collect();
        let strange = |name: &str| name.contains('.') && !channels.iter().any(|c| c == name) && !is_parameter(name);
        let Some((name, _)) = used.iter().find(|(name, _)| strange(name)) else { return Ok(channels) };
        let message = format!("{what} uses {}, which is no channel", suggest::quoted(name));
        let all = catalog::all(&self.model);
        let near = suggest::nearest(name, all.iter().map(|c| c.name.as_str()));
        let owner = name.split('.').next().unwrap_or_default();
        let of_owner: Vec<&str> = all
            .iter()
            .map(|c| c.name.as_str())
            .filter(|c| c.strip_prefix(owner).is_some_and(|rest| rest.starts_with('.')))
            .collect();
        let label = near.map_or(String::new(), |n| format!("did you mean {}?", suggest::quoted(n)));
        let help = match of_owner.is_empty() {
            false => format!("there are {}", suggest::list(of_owner)),
            true => {
                "`bellcrank reference channels` lists all of them; put names with other characters in backquotes".into()
            }
        };
        Err(Diagnostic::error(message).at(value.span).label(label).help(help).into())
    }

    /// Outputs are recorded by their names, beside inputs.
    pub(super) fn check_outputs(&mut self) {
        let entries = |section: &str| self.root.get(section).and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
        let mut problems = Vec::new();
        for entry in entries("output") {
            problems.extend(parameters::refuse_name(entry, "an output"));
            let others = ["input", "parameter"].into_iter().flat_map(|s| entries(s).iter().map(move |e| (s, e)));
            if let Some((section, other)) = others.into_iter().find(|(_, e)| e.name == entry.name) {
                let article = if section == "input" { "an input" } else { "a parameter" };
                let message = format!("{} is the name of {article} and of an output", suggest::quoted(&entry.name));
                let problem = Diagnostic::error(message).at(entry.span).label("an output").also(other.span, article);
                problems.push(problem.help("give one of them another name"));
            } else if entry.name == "time" || entry.name == catalog::DEFAULT {
                let message = format!("an output cannot be named `{}`", entry.name);
                let problem = Diagnostic::error(message).at(entry.span);
                problems.push(problem.label("this name has a meaning in the results").help("choose another name"));
            }
        }
        problems.into_iter().for_each(|problem| self.problems.push(problem));
    }
}

fn filter(v: &Values) -> Result<Filter, Diagnostics> {
    let asked = [v.has("lag"), v.flag("derivative"), v.flag("integral")];
    if asked.iter().filter(|a| **a).count() > 1 {
        let message = format!("{} has more than one of `lag`, `derivative` and `integral`", v.what());
        return Err(v.error(message).help("leave one of them; a second output may have the other").into());
    }
    Ok(match (v.optional_number("lag"), v.flag("derivative"), v.flag("integral")) {
        (Some(tau), ..) => Filter::Lag(tau),
        (_, true, _) => Filter::Derivative,
        (_, _, true) => Filter::Integral,
        _ => Filter::None,
    })
}
