//! What is varied: parameters, any other value of the model, and choices of the solver.

use crate::distribution::Distribution;
use bellcrank_solve::choices::Said;

/// One value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValue {
    /// A number in SI units.
    Number(f64),
    /// A word, a flag or an expression.
    Text(String),
}

impl AxisValue {
    /// As an override has it behind its `=`.
    pub fn as_toml(&self) -> String {
        match self {
            AxisValue::Number(x) => format!("{x:?}"),
            AxisValue::Text(text) if text == "true" || text == "false" => text.clone(),
            AxisValue::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        }
    }

    /// In letters.
    pub fn shown(&self) -> String {
        match self {
            AxisValue::Number(x) => x.to_string(),
            AxisValue::Text(text) => text.clone(),
        }
    }
}

/// What an axis changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A value of the model, by its path, such as `parameter.k`.
    Model(String),
    /// A choice of `[solve]`, by its key.
    Choice(String),
}

impl Target {
    /// Its path.
    pub fn path(&self) -> String {
        match self {
            Target::Model(path) => path.clone(),
            Target::Choice(key) => format!("solve.{key}"),
        }
    }
}

/// The values of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValues {
    /// These, one after the other.
    Listed(Vec<AxisValue>),
    /// Drawn from a distribution.
    Drawn(Distribution),
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name of its column.
    pub name: String,
    /// What it changes.
    pub target: Target,
    /// Its unit, if the model tells one.
    pub unit: String,
    /// Its values.
    pub(crate) values: AxisValues,
}

impl Axis {
    /// How many values are listed; none where they are drawn.
    pub fn listed(&self) -> Option<usize> {
        match &self.values {
            AxisValues::Listed(list) => Some(list.len()),
            AxisValues::Drawn(_) => None,
        }
    }

    /// Whether any of its values is a text.
    pub fn is_text(&self) -> bool {
        matches!(&self.values, AxisValues::Listed(list) if list.iter().any(|v| matches!(v, AxisValue::Text(_))))
    }

    /// Some of its values, to try it with: the first, one in the middle and the last.
    pub(crate) fn samples(&self) -> Vec<AxisValue> {
        match &self.values {
            AxisValues::Listed(list) => [0, list.len() / 2, list.len().saturating_sub(1)]
                .into_iter()
                .filter_map(|k| list.get(k).cloned())
                .collect(),
            AxisValues::Drawn(d) => [0.05, 0.5, 0.95].map(|u| AxisValue::Number(d.quantile(u))).to_vec(),
        }
    }

    /// What a value says to the model or to the solver.
    pub(crate) fn say(&self, value: &AxisValue, overrides: &mut Vec<String>, said: &mut Vec<Said>) {
        match (&self.target, value) {
            (Target::Model(path), value) => overrides.push(format!("{path}={}", value.as_toml())),
            (Target::Choice(key), AxisValue::Number(x)) => said.push(Said::argument(key.as_str(), *x)),
            (Target::Choice(key), AxisValue::Text(text)) => said.push(Said::argument(key.as_str(), text.as_str())),
        }
    }
}
