//! FMUs whose equations are part of the model: their inputs are signals, their outputs variables of signals, their states states.

use super::*;
use crate::fmu::{ExchangeFacts, FmuSignal, Resident};
use crate::model::{Signal, StateEntry};
use crate::subject::Place;

/// Whether an FMU's equations are to be part of the model; what does not fit is refused.
pub(super) fn is_wanted(entry: &Entry, what: &str, description: &Description) -> Result<bool, Diagnostics> {
    let (asked, step) = (entry.node.get("coupling"), entry.node.get("step"));
    let problem = |node: &Node, message: String| Diagnostic::error(message).at(node.span);
    match (asked.and_then(|node| Some((node, node.as_str()?))), step) {
        (Some((node, "equations")), _) if description.exchange.is_none() => {
            let message = format!("{what} is for co-simulation alone: it shows no equations");
            Err(problem(node, message).help("leave `coupling` out, and export it for model exchange if you can").into())
        }
        (Some((_, "equations")), Some(step)) => {
            let message =
                format!("{what} has a `step`, and nothing is exchanged where its equations are part of the model");
            Err(problem(step, message).help("leave out `step`, or write `coupling = \"exchange\"`").into())
        }
        (Some((_, word)), _) => Ok(word == "equations"),
        (None, step) => Ok(description.exchange.is_some() && step.is_none()),
    }
}

/// The variable of a state, if the file tells it.
fn variable_of(facts: &ExchangeFacts, state: usize) -> Option<usize> {
    facts.states.get(state).and_then(|state| state.variable)
}

/// The names of the states of one FMU: those of its variables where the file tells them.
fn names_of_states(fmu: &Opened) -> Vec<String> {
    let Some(facts) = fmu.description.exchange.as_ref().filter(|_| fmu.resident) else { return Vec::new() };
    let name = |k: usize| match variable_of(facts, k) {
        Some(variable) => format!("{}.{}", fmu.name, fmu.description.variables[variable].name),
        None => format!("{}.state{}", fmu.name, k + 1),
    };
    (0..facts.states.len()).map(name).collect()
}

/// The names of the states of all FMUs whose equations are part of the model: behind those of the user.
pub(crate) fn state_names(fmus: &[Opened]) -> Vec<String> {
    fmus.iter().flat_map(names_of_states).collect()
}

impl Opened {
    /// What it gives: its outputs that are no states.
    fn told(&self) -> impl Iterator<Item = FmuSignal> + '_ {
        let states = names_of_states(self);
        self.outputs.iter().filter(move |(_, name)| !states.contains(name)).map(|(variable, name)| {
            let unit = lasting(&self.description.variables[*variable].unit).unwrap_or_default();
            let free = self.description.exchange.as_ref().is_some_and(|facts| facts.free.contains(variable));
            FmuSignal { variable: *variable, name: name.clone(), unit, direct: !free }
        })
    }
}

impl<'a> Reader<'a> {
    /// What is known of an FMU before its inputs are, if its equations are part of the model.
    pub(super) fn resident(&self, opened: &Opened) -> Option<Resident> {
        let facts = opened.description.exchange.as_ref().filter(|_| opened.resident)?;
        let before = self.fmus.iter().take_while(|fmu| fmu.name != opened.name);
        let others: usize = self.fmus.iter().map(|fmu| names_of_states(fmu).len()).sum();
        let first = self.state_names.len() - others + before.map(|fmu| names_of_states(fmu).len()).sum::<usize>();
        let (given, outputs) = (Vec::new(), opened.told().collect());
        let states = first..first + facts.states.len();
        Some(Resident { states, given, outputs, indicators: facts.indicators, process: None })
    }

    /// The FMU and which of its values an output is that expressions of the state use.
    pub(in crate::read) fn value_of_fmu(&self, name: &str) -> Option<[usize; 2]> {
        let value = |(k, fmu): (usize, &FmuEntry)| {
            let resident = fmu.resident.as_ref()?;
            let output = resident.outputs.iter().position(|o| o.name == name)?;
            Some([k, resident.states.len() + output])
        };
        self.model.fmus.iter().enumerate().find_map(value)
    }

    /// Reads what an FMU is given whose equations are part of the model, and its states.
    pub(in crate::read) fn read_equations(
        &mut self,
        name: &'a str,
        node: &'a Node,
        _span: Span,
    ) -> Result<(), Diagnostics> {
        let what = format!("FMU {}", suggest::quoted(name));
        let Some(opened) = self.opened(name).filter(|opened| opened.resident) else { return Ok(()) };
        let Some(number) = self.model.fmus.iter().position(|fmu| fmu.name == name) else { return Ok(()) };
        let values = self.fields(node, &what, &[FMU])?;
        let mut problems = Diagnostics::new();
        let mut given = Vec::new();
        for entry in entries(&values, "inputs")? {
            let variable = match opened.description.find(&entry.name, Causality::Input) {
                Ok(variable) => variable,
                Err((why, near)) => {
                    problems.push(unknown(&what, why, near).at(entry.span));
                    continue;
                }
            };
            let told = format!("{} in `inputs` of {what}", suggest::quoted(&entry.name));
            if !opened.description.variables[variable].continuous {
                let message = format!("{told} changes at events alone, and the model changes all the time");
                let help = "give it `step`: values are then exchanged at equal distances in time";
                problems.push(Diagnostic::error(message).at(entry.span).help(help));
                continue;
            }
            match self.as_signal(&entry.node, &told, Place::Fmu(number)) {
                Ok(signal) => given.push((variable, signal)),
                Err(found) => problems.append(found.with_help(EXCHANGE)),
            }
        }
        let inputs = self.variables.len() - 1;
        for (k, state) in names_of_states(opened).into_iter().enumerate() {
            let mut signals = self.signals.borrow_mut();
            signals.push(Signal::of_fmu(number, k, inputs));
            let variable = opened.description.exchange.as_ref().and_then(|facts| variable_of(facts, k));
            let variable = variable.map(|v| &opened.description.variables[v]);
            let unit = variable.and_then(|v| lasting(&v.unit)).unwrap_or_default();
            let (start, doc) = (variable.map_or(0.0, |v| v.start), format!("state of {what}"));
            self.model.states.push(StateEntry { name: state, rate: signals.len() - 1, start, unit, doc });
        }
        if let Some(resident) = &mut self.model.fmus[number].resident {
            resident.given = given;
        }
        problems.or(())
    }

    /// FMUs that are given each other's outputs in a circle have no values.
    pub(in crate::read) fn refuse_loops_of_fmus(&mut self) {
        let signals = self.signals.take();
        let before = std::mem::replace(&mut self.model.signals, signals);
        if let Err(rest) = self.model.order_of_residents() {
            let names: Vec<String> = rest.iter().map(|k| suggest::quoted(&self.model.fmus[*k].name)).collect();
            let names = names.join(", ");
            let node = rest.first().and_then(|k| self.root.get("fmu")?.get(&self.model.fmus[*k].name));
            let message = match rest.len() {
                1 => format!("FMU {names} is given its own outputs: an algebraic loop"),
                _ => format!("the FMUs {names} are given each other's outputs: an algebraic loop"),
            };
            let span = node.map_or(self.root.span, |node| node.span);
            self.problems.push(Diagnostic::error(message).at(span).help(EXCHANGE));
        }
        let signals = std::mem::replace(&mut self.model.signals, before);
        *self.signals.borrow_mut() = signals;
    }
}

/// What is always possible.
const EXCHANGE: &str =
    "with `step`, values are exchanged at equal distances in time instead: all channels may be used then";
