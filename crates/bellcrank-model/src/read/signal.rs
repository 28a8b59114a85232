//! Expressions of the state, and `[state.NAME]`: what they may use, and where it is measured.

use super::Reader;
use super::fields::STATE;
use super::input::{lasting, too_long};
use crate::bodies::{Coordinates, Orientation, each};
use crate::catalog;
use crate::file::expression::{MOST_BENDS, Scope, Unfollowed, is_constant, is_function};
use crate::file::*;
use crate::frames::Attachment;
use crate::joints;
use crate::model::{End, Sense, Sensor, Signal, StateEntry};
use crate::subject::Place;
use crate::system::signals::MOST_SENSED;
use std::fmt::Display;

/// How deep outputs may stand in each other.
const DEEPEST: usize = 50;

impl Laws for Reader<'_> {
    fn law(&self, node: &Node, text: &str, what: &dyn Display) -> Option<Result<Expression, Diagnostics>> {
        let of_state = |(name, _): &(&str, std::ops::Range<usize>)| {
            let known = self.parameters.get(name).is_some() || self.variables.contains(name);
            !known && (name.contains('.') || self.is_entry("state", name) || self.is_entry("output", name))
        };
        let used = Expression::names(text).iter().any(of_state);
        used.then(|| self.signal(node, text, what))
    }
}

impl<'a> Reader<'a> {
    fn is_entry(&self, section: &str, name: &str) -> bool {
        self.root.get(section).is_some_and(|s| s.get(name).is_some())
    }

    pub(super) fn read_state(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let number = self.model.states.len();
        self.law_of.set(Place::State(number));
        let values = self.fields_of_state(node, &format!("state {}", suggest::quoted(name)), &[STATE])?;
        let text = |key: &str| values.optional_name(key).map_or("", |n| n.name);
        let Some(unit) = lasting(text("unit")) else { return Err(too_long(&values).into()) };
        if values.has("input") || values.has("denominator") || values.has("numerator") {
            return self.read_transfer(name, unit, &values);
        }
        let Some(rate) = values.optional_function("rate") else {
            let help = "add `rate = …`, or `input`, `numerator` and `denominator` of a transfer function";
            return Err(values.error(format!("{} needs `rate`", values.what())).help(help).into());
        };
        let rate = self.rate_signal(rate, &values, "rate", number)?;
        let (start, doc) = (values.number("start"), text("doc").to_string());
        self.model.states.push(StateEntry { name: name.to_string(), rate, start, unit, doc });
        Ok(())
    }

    /// The number of the signal that is a rate; an expression of time and inputs becomes one.
    fn rate_signal(&self, rate: &Expression, values: &Values, key: &str, state: usize) -> Result<usize, Diagnostics> {
        let inputs = self.variables.len() - 1;
        let mut signals = self.signals.borrow_mut();
        if let Some(k) = (inputs..inputs + signals.len()).rev().find(|k| rate.uses(1 + k)) {
            return Ok(k - inputs);
        }
        let bends =
            rate.state_bends(1 + inputs).map_err(|why| unfollowed(&why, values.error_at(key, ""), values.what()))?;
        signals.push(Signal::of_inputs(Place::State(state), rate.clone(), bends));
        Ok(signals.len() - 1)
    }

    /// The number of the signal that an expression is; one of time and inputs becomes one.
    pub(super) fn as_signal(&self, node: &Node, what: &str, of: Place) -> Result<usize, Diagnostics> {
        self.law_of.set(of);
        let context = Context { laws: Some(self), ..self.context() };
        let value = context.function(node, &what, units::ANY)?;
        let inputs = self.variables.len() - 1;
        let mut signals = self.signals.borrow_mut();
        if let Some(k) = (0..signals.len()).rev().find(|k| value.uses(1 + inputs + k)) {
            return Ok(k);
        }
        let bends =
            value.state_bends(1 + inputs).map_err(|why| unfollowed(&why, Diagnostic::error("").at(node.span), what))?;
        signals.push(Signal::of_inputs(of, value, bends));
        Ok(signals.len() - 1)
    }

    /// A transfer function b(s)/a(s) in observer form: ẋₖ = xₖ₊₁ − aₖ y + bₖ u, and y = x₁ is the state of its name.
    fn read_transfer(&mut self, name: &str, unit: &'static str, values: &Values<'a>) -> Result<(), Diagnostics> {
        let what = values.what();
        for key in ["rate", "start"] {
            if values.has(key) {
                let message = format!("{what} has both `{key}` and a transfer function");
                return Err(values
                    .error_at(key, message)
                    .help("a transfer function begins with zeros; leave it out")
                    .into());
            }
        }
        for key in ["input", "denominator"] {
            if !values.has(key) {
                let help = "a transfer function has `input`, `numerator` and `denominator`";
                return Err(values.error(format!("{what} needs `{key}`")).help(help).into());
            }
        }
        let a = values.optional_numbers("denominator").unwrap_or(&[]);
        let b = values.optional_numbers("numerator").unwrap_or(&[1.0]);
        if a[0] == 0.0 {
            let message = format!("`denominator` of {what} begins with zero");
            return Err(values
                .error_at("denominator", message)
                .help("the first is that of the highest power of s")
                .into());
        }
        let n = a.len() - 1;
        if b.len() > n {
            let message =
                format!("`numerator` of {what} has the degree {}, that of its `denominator` is {n}", b.len() - 1);
            let help =
                "separate the direct feed-through: b(s)/a(s) = d + r(s)/a(s), and write d*… + NAME where it is used";
            return Err(values.error_at("numerator", message).help(help).into());
        }
        let Some(input) = values.node("input") else { return Ok(()) };
        let input_text = match &input.value {
            NodeValue::String { text, .. } => text.clone(),
            _ => format!("{:?}", self.context().number(input, &format_args!("`input` of {what}"), units::ANY)?),
        };
        let first = self.model.states.len();
        for k in 0..n {
            self.law_of.set(Place::State(first));
            let (from_output, from_input) =
                (a[k + 1] / a[0], (k + b.len()).checked_sub(n).map_or(0.0, |i| b[i] / a[0]));
            let mut text = format!("(0-({from_output:?}))*`{name}`");
            if k + 1 < n {
                text += &format!(" + `{}`", inner_state(name, k + 1));
            }
            if from_input != 0.0 {
                text += &format!(" + ({from_input:?})*({input_text})");
            }
            let rate = self.signal(input, &text, &format_args!("`input` of {what}"))?;
            let rate = self.rate_signal(&rate, values, "input", first)?;
            let (name, unit) = if k == 0 { (name.to_string(), unit) } else { (inner_state(name, k), "") };
            let doc = values.optional_name("doc").map_or("", |n| n.name).to_string();
            self.model.states.push(StateEntry { name, rate, start: 0.0, unit, doc });
        }
        Ok(())
    }

    /// An expression of the state as a signal; the expression that is left knows it as a further input.
    fn signal(&self, node: &Node, text: &str, what: &dyn Display) -> Result<Expression, Diagnostics> {
        let mut chain = vec![what.to_string()];
        let written = self.with_outputs(node, text, &mut chain)?;
        let (mut names, mut sensors) = (Vec::new(), Vec::new());
        let (mut state_names, mut states) = (Vec::new(), Vec::new());
        let (mut guest_names, mut guests) = (Vec::new(), Vec::new());
        for (name, at) in Expression::names(&written) {
            let known = self.parameters.get(name).is_some() || self.variables.contains(&name);
            if known || names.contains(&name) || state_names.contains(&name) || guest_names.contains(&name) {
                continue;
            }
            if let Some(k) = self.state_names.iter().position(|n| n == name) {
                state_names.push(name);
                states.push(k);
            } else if let Some(guest) = self.value_of_fmu(name) {
                guest_names.push(name);
                guests.push(guest);
            } else if name.contains('.') {
                // a place in the text only where that is as the user wrote it
                let span = if written == text { node.part(at) } else { node.span };
                sensors.push(self.sensor(name, span, written != text, what)?);
                names.push(name);
            }
        }
        let count = sensors.len() + states.len() + guests.len();
        if count > MOST_SENSED {
            let message = format!("{what} uses {count} channels and states");
            let help = format!("an expression may use {MOST_SENSED}; put a part of it into a [state] of its own");
            return Err(Diagnostic::error(message).at(node.span).help(help).into());
        }
        let variables: Vec<&str> =
            self.variables.iter().copied().chain(names).chain(state_names).chain(guest_names).collect();
        let scope = Scope { parameters: &self.parameters, variables: &variables, inputs: &self.variables[1..] };
        let value = Expression::parse(&written, scope).map_err(|mut fault| {
            if written != text {
                fault.at = 0..text.len();
            }
            parameters::in_place(fault, node, &what.to_string())
        })?;
        let bends = value
            .state_bends(self.variables.len())
            .map_err(|why| unfollowed(&why, Diagnostic::error("").at(node.span), &what.to_string()))?;
        let mut signals = self.signals.borrow_mut();
        signals.push(Signal { of: self.law_of.get(), value, bends, sensors, states, guests });
        Ok(Expression::variable(self.variables.len() + signals.len() - 1, text))
    }

    /// The text with the outputs in it written out. An output that comes back to itself is refused with its loop.
    fn with_outputs(&self, node: &Node, text: &str, chain: &mut Vec<String>) -> Result<String, Diagnostics> {
        let mut out = String::new();
        let mut from = 0;
        for (name, at) in Expression::names(text) {
            let known = self.parameters.get(name).is_some() || self.variables.contains(&name);
            let Some(output) = self.root.get("output").and_then(|o| o.get(name)).filter(|_| !known) else { continue };
            let link = format!("output {}", suggest::quoted(name));
            let again = chain.contains(&link) || chain.len() > DEEPEST;
            chain.push(link);
            if again {
                let message = format!("an algebraic loop: {}", chain.join(" → "));
                let help = "an output that depends on itself has no value; put a [state] in between";
                return Err(Diagnostic::error(message).at(node.span).label("comes back to itself").help(help).into());
            }
            if self.sees_otherwise() && output.get("value").and_then(Node::as_str).is_some_and(|t| t.contains('.')) {
                let message =
                    format!("{} uses output {}, which is recorded in the world", chain[0], suggest::quoted(name));
                let help = "laws of a part that is placed or mirrored see its own coordinates: write the expression into the law";
                return Err(Diagnostic::error(message).at(node.span).also(output.span, "the output").help(help).into());
            }
            for filter in ["lag", "derivative", "integral"] {
                if let Some(key) = output.get(filter) {
                    let message = format!("{} uses output {}, which has a `{filter}`", chain[0], suggest::quoted(name));
                    let problem = Diagnostic::error(message).at(node.span).also(key.span, "its filter");
                    return Err(problem
                        .help("filtered outputs are only recorded: write a [state] with its `rate`")
                        .into());
                }
            }
            let value = output.get("value").map_or(String::new(), |value| match &value.value {
                NodeValue::String { text, .. } => text.clone(),
                NodeValue::Integer(n) => n.to_string(),
                NodeValue::Number(x) => format!("{x:?}"),
                _ => String::new(),
            });
            let inner = self.with_outputs(node, &value, chain)?;
            chain.pop();
            // a name in backquotes goes with them
            let quoted = usize::from(text[..at.start].ends_with('`'));
            out += &text[from..at.start - quoted];
            out += &format!("({inner})");
            from = at.end + quoted;
        }
        Ok(out + &text[from..])
    }

    /// What a channel measures, if it is one of positions or velocities.
    fn sensor(&self, name: &str, span: Span, from_output: bool, what: &dyn Display) -> Result<Sensor, Diagnostics> {
        let (owner, quantity) = name.rsplit_once('.').unwrap_or((name, ""));
        let choices = self.sensors_of(owner);
        if let Some((_, sensor)) = choices.iter().find(|(n, _)| n == quantity) {
            return Ok(*sensor);
        }
        let unread = |section: &str| self.is_entry(section, owner);
        if choices.is_empty() && !self.problems.is_empty() && ["joint", "probe", "body"].into_iter().any(unread) {
            return Err(Diagnostics::new()); // its own errors are reported
        }
        let full: Vec<String> = choices.iter().map(|(n, _)| format!("{owner}.{n}")).collect();
        let through = self.output_with(name).filter(|_| from_output).map_or(String::new(), |o| format!(" → {o}"));
        Err(self.no_sensor(name, &full, &through, what).at(span).into())
    }

    /// The message about a name that is no channel of positions or velocities, without its place.
    fn no_sensor(&self, name: &str, choices: &[String], through: &str, what: &dyn Display) -> Diagnostic {
        let (owner, quantity) = name.rsplit_once('.').unwrap_or((name, ""));
        let there = match choices {
            [] => "use coordinates and rates of joints, positions and velocities of bodies and probes, and states"
                .to_string(),
            all => format!("there are {}", suggest::list(all.iter().map(String::as_str))),
        };
        let shown = suggest::quoted(name);
        let found = catalog::select(&self.model, &mut |channel, _| channel == name);
        let later = ["ax", "ay", "az", "alphax", "alphay", "alphaz", "fx", "fy", "fz", "mx", "my", "mz", "power"];
        let loops = later.contains(&quantity) || quantity.contains("acceleration");
        if loops && !found.channels.is_empty() {
            return Diagnostic::error(format!("an algebraic loop: {what}{through} → {shown} → {what}"))
                .label("is only known when all forces are")
                .help("accelerations and loads follow from what is computed here: measure positions and velocities")
                .help(there);
        }
        let force = self.is_entry("force", owner.split('.').next().unwrap_or_default());
        let message = match found.channels.is_empty() {
            _ if force => format!("{what} uses {shown}, a channel of a force"),
            true => format!("{what} uses {shown}, which is no channel"),
            false => format!("{what} uses {shown}, which cannot act back on the machine"),
        };
        let owners = self.model.joints.iter().map(|j| &j.name).chain(self.model.bodies.iter().map(|b| &b.name));
        let owners = owners.chain(self.model.probes.iter().map(|p| &p.name)).map(String::as_str);
        let near = match choices {
            [] if force => None,
            [] => suggest::nearest(owner, owners).map(|o| format!("{o}.{quantity}")),
            all => suggest::nearest(name, all.iter().map(String::as_str)).map(str::to_string),
        };
        let label = near.map_or(String::new(), |n| format!("did you mean {}?", suggest::quoted(&n)));
        Diagnostic::error(message).label(label).help(there)
    }

    /// The output in whose expression a name stands, in words.
    fn output_with(&self, name: &str) -> Option<String> {
        let outputs = self.root.get("output")?.as_table()?;
        let uses = |e: &&Entry| {
            let text = e.node.get("value").and_then(Node::as_str).unwrap_or_default();
            Expression::names(text).iter().any(|(n, _)| *n == name)
        };
        outputs.entries.iter().find(uses).map(|e| format!("output {}", suggest::quoted(&e.name)))
    }

    /// All that can be measured of a joint, a body or a probe, by the names of its channels.
    fn sensors_of(&self, owner: &str) -> Vec<(String, Sensor)> {
        let mut out = Vec::new();
        if let Some(joint) = self.model.joints.iter().position(|j| j.name == owner) {
            let entry = &self.model.joints[joint];
            let motions = entry.joint.motions(self.model.space);
            if let [first, second, ..] = entry.ends[..] {
                for (k, names) in joints::names(&motions).into_iter().enumerate() {
                    for (name, rate) in names.into_iter().zip([false, true]) {
                        out.push((
                            name.to_string(),
                            Sensor { sense: Sense::Joint(joint, k), rate, ends: [first, second] },
                        ));
                    }
                }
            }
            return out;
        }
        let body = self.body_names.get(owner).copied();
        let probe = self.model.probes.iter().find(|p| p.name == owner);
        let Some(end) = probe.map(|p| p.end).or(body.map(|b| End { body: Some(b), on: Attachment::CENTRE })) else {
            return out;
        };
        let seen_from = probe.and_then(|p| p.relative_to);
        let from = seen_from.map_or(self.ground_end(), |b| End { body: Some(b), on: Attachment::CENTRE });
        for (i, axis) in ["x", "y", "z"].into_iter().enumerate().take(self.model.space.dimension()) {
            let along = |rate| Sensor { sense: Sense::Along(i), rate, ends: [from, end] };
            out.push((axis.to_string(), along(false)));
            out.push((format!("v{axis}"), along(true)));
        }
        let turns = |b: usize| each!(&self.model.bodies[b].body, b => b.orientation()) == Orientation::Full;
        if from.body.is_none() && end.body.is_some_and(turns) {
            for (i, axis) in ["wx", "wy", "wz"].into_iter().enumerate().skip(if self.plane { 2 } else { 0 }) {
                out.push((axis.to_string(), Sensor { sense: Sense::Spin(i), rate: true, ends: [from, end] }));
            }
            let counts = |b: usize| each!(&self.model.bodies[b].body, b => b.plane_angle()).is_some();
            if self.plane && body.is_some_and(counts) {
                out.push(("angle".to_string(), Sensor { sense: Sense::Angle, rate: false, ends: [from, end] }));
            }
        }
        out
    }

    /// States need names that expressions can use and that nothing else has.
    pub(super) fn check_states(&mut self) {
        let entries = |section: &str| self.root.get(section).and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
        let mut problems = Vec::new();
        for entry in entries("state") {
            let refused = parameters::refuse_name(entry, "a state");
            let shown = suggest::quoted(&entry.name);
            let meaning = match entry.name.as_str() {
                name if is_function(name) => "a function of expressions",
                name if is_constant(name) => "a constant of expressions",
                "time" => "a column of the results",
                catalog::DEFAULT => "a word for what is recorded",
                _ => "",
            };
            if refused.is_none() && !meaning.is_empty() {
                let problem = Diagnostic::error(format!("a state cannot be named {shown}")).at(entry.span);
                problems.push(problem.label(format!("this is {meaning}")).help("choose another name"));
            }
            problems.extend(refused);
            for section in ["parameter", "input", "output", "body", "joint", "force", "probe"] {
                if let Some(other) = entries(section).iter().find(|e| e.name == entry.name) {
                    let article = if matches!(section, "input" | "output") { "an" } else { "a" };
                    let message = format!("{shown} is the name of {article} {section} and of a state");
                    let problem = Diagnostic::error(message).at(entry.span).label("a state");
                    problems.push(
                        problem.also(other.span, format!("{article} {section}")).help("give one of them another name"),
                    );
                }
            }
        }
        problems.into_iter().for_each(|problem| self.problems.push(problem));
    }
}

/// The name of a state within a transfer function.
fn inner_state(name: &str, k: usize) -> String {
    format!("{name}.{}", k + 1)
}

/// The names of all states, with those within transfer functions.
pub(super) fn state_names(root: &Node) -> Vec<String> {
    let entries = root.get("state").and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
    let inner = |entry: &Entry| {
        let order = entry.node.get("denominator").and_then(Node::as_array).map_or(1, |a| a.len().saturating_sub(1));
        (1..order).map(|k| inner_state(&entry.name, k)).collect::<Vec<_>>()
    };
    entries.iter().flat_map(|e| std::iter::once(e.name.clone()).chain(inner(e))).collect()
}

/// The message about an expression whose bends cannot be followed.
fn unfollowed(why: &Unfollowed, problem: Diagnostic, what: &str) -> Diagnostic {
    let (message, help) = match why {
        Unfollowed::TooMany(n) => (
            format!("{what} bends at {n} places"),
            format!(
                "an expression of the state may have {MOST_BENDS} of `abs`, `sign`, `min`, `max` and comparisons; split it"
            ),
        ),
        Unfollowed::Function(name) => (
            format!("{what} uses `{name}`, whose jumps are not found in expressions of the state"),
            "use comparisons, as in if(x < 1, …, …)".to_string(),
        ),
    };
    Diagnostic { message, ..problem }.help(help)
}
