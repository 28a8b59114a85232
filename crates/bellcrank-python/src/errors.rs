//! The library's errors as Python exceptions, in the words of the command line.

use bellcrank::Report;
use bellcrank_model::file::suggest;
use bellcrank_solve::engines::StepError;
use pyo3::prelude::*;
use serde_json::Value;

pyo3::import_exception!(bellcrank._errors, ChannelError);
pyo3::import_exception!(bellcrank._errors, ModelError);
pyo3::import_exception!(bellcrank._errors, OptionError);
pyo3::import_exception!(bellcrank._errors, ResultsError);
pyo3::import_exception!(bellcrank._errors, SimulationError);

/// A report's words; that it is an error, the exception says.
fn words(text: &str) -> String {
    text.strip_prefix("error: ").unwrap_or(text).trim_end().to_string()
}

/// Which exception a report becomes.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Model,
    Option,
    Simulation,
}

/// A report, with file, line, column and help of each problem as `diagnostics`.
pub fn reported(kind: Kind, report: &Report) -> PyErr {
    Python::attach(|py| {
        let text = words(&report.to_string());
        let error = match kind {
            Kind::Model => ModelError::new_err(text),
            Kind::Option => OptionError::new_err(text),
            Kind::Simulation => SimulationError::new_err(text),
        };
        if let Ok(list) = json(py, &report.to_json()) {
            // an exception takes any attribute
            let _ = error.value(py).setattr("diagnostics", list);
        }
        error
    })
}

/// A model that is wrong, without a place.
pub fn model(text: impl std::fmt::Display) -> PyErr {
    ModelError::new_err(words(&text.to_string()))
}

/// A run that cannot go on, without a place.
pub fn failed(text: impl std::fmt::Display) -> PyErr {
    SimulationError::new_err(words(&text.to_string()))
}

/// A step that could not be taken.
pub fn step(error: &StepError) -> PyErr {
    let text = error.say(bellcrank_solve::choices::Voice::Python);
    let told = failed(text);
    about(&told, error);
    told
}

/// Time and culprit of a failure, as attributes.
pub fn about(told: &PyErr, error: &StepError) {
    Python::attach(|py| {
        let value = told.value(py);
        let _ = value.setattr("time", error.t());
        let _ = value.setattr("culprit", error.culprit().map(|subject| subject.words.as_str()));
    });
}

/// A name that is none of those known.
pub fn unknown_channel<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> PyErr {
    let help = match suggest::nearest(name, known.clone()) {
        Some(near) => format!("did you mean {}?", suggest::quoted(near)),
        None => format!("channels are {}", suggest::list(known)),
    };
    ChannelError::new_err(format!("there is no channel {}\nhelp: {help}", suggest::quoted(name)))
}

/// The same for inputs.
pub fn unknown_input<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> PyErr {
    let help = match (suggest::nearest(name, known.clone()), known.clone().next()) {
        (Some(near), _) => format!("did you mean {}?", suggest::quoted(near)),
        (None, Some(_)) => format!("inputs are {}", suggest::list(known)),
        (None, None) => "the model has no inputs: add one with `model.input(...)`, or [input.NAME] in its file".into(),
    };
    ChannelError::new_err(format!("there is no input {}\nhelp: {help}", suggest::quoted(name)))
}

/// The name among these that was probably meant.
#[pyfunction]
pub fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    suggest::nearest(name, known.iter().map(String::as_str)).map(String::from)
}

/// JSON as dictionaries and lists.
pub fn json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

/// With what was computed up to there, as `result`.
pub fn with_result(py: Python<'_>, error: PyErr, result: crate::results::Results) -> PyErr {
    if let Ok(result) = Py::new(py, result) {
        // an exception takes any attribute
        let _ = error.value(py).setattr("result", result);
    }
    error
}
