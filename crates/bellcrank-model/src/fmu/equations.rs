//! FMUs whose equations are part of a machine: ẋ = f(t, x, u), y = h(t, x, u) and event indicators, with x among its states z.
//!
//! Their inputs u are signals, their outputs y are variables of signals. Within a step discrete variables are constant, so that all
//! of these are functions of t, x and u.

use super::Variable;
use crate::dynamics::Mode;
use std::sync::Arc;

/// What evaluates the equations of an FMU. It is asked from any thread; what fails is kept for who made it, and gives NaN.
pub trait FmuEquations: Send + Sync + std::fmt::Debug {
    /// Rates of the states, then outputs, then event indicators.
    fn values(&self, t: f64, x: &[f64], u: &[f64], out: &mut [f64]);

    /// The derivatives of rates and outputs, one row for each, by the states and then by the inputs.
    fn slopes(&self, t: f64, x: &[f64], u: &[f64], out: &mut [f64]);
}

/// The modes of an event indicator: above zero, and not.
pub(crate) const ABOVE: Mode = 1;
pub(crate) const BELOW: Mode = 2;

/// The mode of an event indicator of this value.
pub fn side_of_indicator(value: f64) -> Mode {
    if value > 0.0 { ABOVE } else { BELOW }
}

/// An output that expressions of the state may use.
#[derive(Clone, Debug)]
pub struct FmuSignal {
    /// The number of its variable.
    pub variable: usize,
    /// Its name in expressions and in the results.
    pub name: String,
    /// Its unit, for the results; may be empty.
    pub unit: &'static str,
    /// Whether it may follow inputs at once.
    pub direct: bool,
}

/// What is known of an FMU whose equations are part of a model.
#[derive(Clone, Debug, Default)]
pub struct Resident {
    /// The numbers of its states among [`Model::states`](crate::Model::states).
    pub states: std::ops::Range<usize>,
    /// What it is given: the number of its variable, and that of the signal.
    pub given: Vec<(usize, usize)>,
    /// What it gives.
    pub outputs: Vec<FmuSignal>,
    /// How many event indicators it has.
    pub indicators: usize,
    /// What evaluates its equations. Until it runs, rates are zero and outputs have the values of its file.
    pub process: Option<Arc<dyn FmuEquations>>,
}

impl Resident {
    /// How many values it has: rates, outputs and indicators.
    pub fn values(&self) -> usize {
        self.states.len() + self.outputs.len() + self.indicators
    }

    /// Whether one of its values follows its inputs at once: rates do, and outputs that the file does not tell to be free.
    pub fn is_direct(&self, value: usize) -> bool {
        let output = value.checked_sub(self.states.len()).and_then(|k| self.outputs.get(k));
        output.is_none_or(|output| output.direct)
    }

    /// The values while nothing runs.
    pub fn idle(&self, variables: &[Variable]) -> Vec<f64> {
        let outputs = self.outputs.iter().map(|o| variables.get(o.variable).map_or(0.0, |v| v.start));
        let rates = std::iter::repeat_n(0.0, self.states.len());
        rates.chain(outputs).chain(std::iter::repeat_n(1.0, self.indicators)).collect()
    }
}
