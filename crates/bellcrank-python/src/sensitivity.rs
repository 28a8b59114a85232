//! Derivatives of outputs by parameters.

use crate::arrays;
use crate::description::Description;
use crate::errors::{Kind, failed, model, reported, step};
use crate::studies::Swept;
use crate::value::said;
use bellcrank::study::sensitivity::{Answer, Mode, Question, QuestionError, answer};
use bellcrank_solve::machine::StartError;
use bellcrank_solve::sensitivity::SensitivityError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long it goes on before it looks at signals.
const PAUSE: Duration = Duration::from_millis(50);

/// Values and derivatives of outputs, as arrays.
#[pyfunction]
#[pyo3(signature = (it, of, to, values, solve, mode="auto", over_time=false))]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub fn sensitivity<'py>(
    py: Python<'py>,
    it: &Description,
    of: Vec<String>,
    to: Vec<String>,
    values: Vec<String>,
    solve: &Bound<'py, PyDict>,
    mode: &str,
    over_time: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mode = match mode {
        "auto" => Mode::Auto,
        "forward" => Mode::Forward,
        "adjoint" => Mode::Adjoint,
        other => {
            let text = format!("unknown mode `{other}`\nhelp: use \"auto\", \"forward\" or \"adjoint\"");
            return Err(PyValueError::new_err(text));
        }
    };
    let (models, said) = (Swept::new(it)?, said(solve)?);
    let question = Question { of, to, over_time, mode, words: ["of: ", "to: "] };
    let interrupt: Arc<AtomicBool> = Arc::default();
    let mut signal = None;
    let found = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = channel();
            let flag = &interrupt;
            let work = scope.spawn(move || {
                let found = answer(&models, &values, &question, &said, flag);
                // whoever waits sees the end by the channel alone
                let _ = done.send(());
                found
            });
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(PAUSE) {
                if let Err(e) = Python::attach(|py| py.check_signals()) {
                    signal.get_or_insert(e);
                    interrupt.store(true, Ordering::Relaxed);
                }
            }
            work.join()
        })
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    let found = found.map_err(|_| failed("the computation stopped for a fault of the program"))?;
    told(py, found.map_err(wrong)?)
}

fn wrong(error: QuestionError) -> PyErr {
    match error {
        QuestionError::Report(report) => reported(Kind::Model, &report),
        QuestionError::Sensitivity(SensitivityError::Step(e) | SensitivityError::Start(StartError::Step(e))) => {
            step(&e)
        }
        QuestionError::Sensitivity(SensitivityError::Start(e)) => {
            model(bellcrank::places::spoken(e, bellcrank_solve::choices::Voice::Python))
        }
        QuestionError::Sensitivity(e) => failed(e),
    }
}

fn told(py: Python<'_>, found: Answer) -> PyResult<Bound<'_, PyDict>> {
    let (rows, columns) = (found.columns.len(), found.parameters.len());
    let out = PyDict::new(py);
    out.set_item("of", found.columns.iter().map(|c| c.text.clone()).collect::<Vec<_>>())?;
    out.set_item("units", found.columns.iter().map(|c| c.unit.to_string()).collect::<Vec<_>>())?;
    out.set_item("to", found.parameters.iter().map(|p| p.name.clone()).collect::<Vec<_>>())?;
    out.set_item("parameters", arrays::vector(py, found.parameters.iter().map(|p| p.value).collect())?)?;
    out.set_item("values", arrays::vector(py, found.measured.iter().map(|m| m.value).collect())?)?;
    out.set_item("at", found.measured.iter().map(|m| m.at).collect::<Vec<_>>())?;
    let jacobian: Vec<f64> = found.measured.iter().flat_map(|m| m.derivatives.clone()).collect();
    out.set_item("jacobian", arrays::owned(py, jacobian, &[rows, columns])?)?;
    out.set_item("method", found.method)?;
    out.set_item("steps", found.steps)?;
    out.set_item("events", found.events)?;
    out.set_item("mode", if found.curves.is_some() { "forward" } else { "adjoint" })?;
    if let Some(curves) = &found.curves {
        let sampled = || curves.rows.iter().filter(|row| row.sampled);
        let count = sampled().count();
        out.set_item("time", arrays::vector(py, sampled().map(|row| row.t).collect())?)?;
        let values = sampled().flat_map(|row| found.places.iter().map(|k| row.values[*k])).collect();
        out.set_item("curves", arrays::owned(py, values, &[count, rows])?)?;
        let derivatives =
            sampled().flat_map(|row| found.places.iter().flat_map(|k| row.derivatives[*k].clone())).collect();
        out.set_item("derivatives", arrays::owned(py, derivatives, &[count, rows, columns])?)?;
    }
    Ok(out)
}
