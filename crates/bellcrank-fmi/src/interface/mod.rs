//! The variables of an FMU: what a value reference stands for.

mod export;

pub use export::{Export, Kinds, Version, token};

use bellcrank_model::read::Read;
use std::collections::HashSet;

/// What a value reference stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Time, in s.
    Time,
    /// A parameter of the model; those that are expressions of others cannot be set.
    Parameter(usize),
    /// An input of the model.
    Input(usize),
    /// A channel.
    Output(usize),
    /// A continuous state: q, then v, then z.
    State(usize),
    /// Its derivative.
    Derivative(usize),
    /// An event indicator: positive while nothing happens.
    Indicator(usize),
}

/// A named number of the interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its unit; empty if it has none.
    pub unit: String,
    /// What it is; empty if there is nothing to say.
    pub doc: String,
    /// Its value at the start, where it is set from outside.
    pub start: f64,
    /// Whether it follows from other parameters.
    pub calculated: bool,
    /// Of an output, whether it depends on states alone.
    pub of_state: bool,
}

/// The variables of an FMU, in the order of their value references: the same for the description and for the library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// Parameters of the model.
    pub parameters: Vec<Named>,
    /// Inputs of the model.
    pub inputs: Vec<Named>,
    /// Channels.
    pub outputs: Vec<Named>,
    /// Number of continuous states, for model exchange.
    pub states: usize,
    /// Number of event indicators, for model exchange.
    pub indicators: usize,
}

impl Interface {
    /// The variables of a model, with the outputs and states of an export.
    pub fn new(read: &Read, export: &Export) -> Interface {
        let parameters = read.parameters.list().iter().map(|p| Named {
            name: p.name.clone(),
            unit: p.unit.clone(),
            doc: p.doc.clone(),
            start: p.value,
            calculated: p.expression.is_some(),
            of_state: false,
        });
        let inputs = read.model.inputs.iter().map(|input| Named {
            name: input.name.clone(),
            unit: input.unit.to_string(),
            doc: input.doc.clone(),
            start: input.start,
            calculated: false,
            of_state: false,
        });
        let wanted: HashSet<&str> = export.outputs.iter().map(String::as_str).collect();
        let of_state = bellcrank_model::catalog::of_the_state(&read.model, &|name| wanted.contains(name));
        let of_state: HashSet<&str> = of_state.iter().map(String::as_str).collect();
        let outputs = export.outputs.iter().map(|name| Named {
            of_state: of_state.contains(name.as_str()),
            name: name.clone(),
            ..Named::default()
        });
        let exchange = export.kinds.model_exchange;
        Interface {
            parameters: parameters.collect(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            states: if exchange { 2 * export.n + export.nz } else { 0 },
            indicators: if exchange { export.switches } else { 0 },
        }
    }

    fn blocks(&self) -> [(usize, fn(usize) -> Variable); 7] {
        [
            (1, |_| Variable::Time),
            (self.parameters.len(), Variable::Parameter),
            (self.inputs.len(), Variable::Input),
            (self.outputs.len(), Variable::Output),
            (self.states, Variable::State),
            (self.states, Variable::Derivative),
            (self.indicators, Variable::Indicator),
        ]
    }

    /// All variables; the place of each is its value reference.
    pub fn list(&self) -> Vec<Variable> {
        self.blocks().into_iter().flat_map(|(n, make)| (0..n).map(make)).collect()
    }

    /// What a value reference stands for.
    pub fn find(&self, reference: u32) -> Option<Variable> {
        let mut k = reference as usize;
        for (n, make) in self.blocks() {
            if k < n {
                return Some(make(k));
            }
            k -= n;
        }
        None
    }

    /// The name of a variable.
    pub fn name(&self, variable: Variable) -> String {
        match variable {
            Variable::Time => "time".into(),
            Variable::Parameter(k) => self.parameters[k].name.clone(),
            Variable::Input(k) => self.inputs[k].name.clone(),
            Variable::Output(k) => self.outputs[k].name.clone(),
            Variable::State(k) => format!("state[{}]", k + 1),
            Variable::Derivative(k) => format!("der(state[{}])", k + 1),
            Variable::Indicator(k) => format!("indicator[{}]", k + 1),
        }
    }
}
