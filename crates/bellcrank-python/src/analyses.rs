//! Check, plan, statics, modes, inverse dynamics and linear models.

use crate::arrays;
use crate::description::Description;
use crate::errors::{Kind, failed, json, model, reported, unknown_channel, unknown_input};
use crate::results::{Made, Results};
use crate::value::said;
use bellcrank::places::refused;
use bellcrank::results::json as told;
use bellcrank::{ColumnMemory, Simulation};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::dynamics::roles::*;
use bellcrank_solve::analyses::about::{About, AboutError, operating_point};
use bellcrank_solve::analyses::continuation::{Continuation, ContinuationError};
use bellcrank_solve::analyses::inverse::{InverseError, inverse};
use bellcrank_solve::analyses::modes::modes;
use bellcrank_solve::analyses::state_space::{Shown, state_space};
use bellcrank_solve::choices::{Voice, in_file, resolve};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The state that a word or a time stands for.
fn about(at: Option<&str>) -> PyResult<Option<About>> {
    let unknown = |word: &str| {
        PyValueError::new_err(format!(
            "unknown state `{word}` for `at`\nhelp: use \"equilibrium\", \"start\", or a time in s such as 2.5"
        ))
    };
    at.map(|word| About::parse(word).ok_or_else(|| unknown(word))).transpose()
}

fn not_reached(e: AboutError) -> PyErr {
    match e {
        AboutError::Assembly(e) => model(e),
        AboutError::Run(e) => failed(bellcrank::places::spoken(e, Voice::Python)),
        AboutError::Statics(e) => failed(e),
    }
}

fn matrix<'py>(py: Python<'py>, m: Matrix) -> PyResult<Bound<'py, PyAny>> {
    arrays::owned(py, m.values, &[m.rows, m.columns])
}

/// What `bellcrank check` prints, as text and as JSON.
#[pyfunction]
pub fn check_model<'py>(it: &Description, py: Python<'py>) -> PyResult<(String, Bound<'py, PyAny>)> {
    let compiled = it.compiled(py)?;
    let options = compiled.options(&[])?;
    let found = py.detach(|| bellcrank::check::check(&compiled.system, &options));
    Ok((found.to_string(), json(py, &told::check(&found))?))
}

/// What `bellcrank plan` prints, as text and as JSON.
#[pyfunction]
pub fn plan<'py>(
    it: &Description,
    py: Python<'py>,
    solve: &Bound<'py, PyDict>,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let (compiled, said) = (it.compiled(py)?, said(solve)?);
    let options = compiled.options(&said)?;
    let made = py.detach(|| Simulation::new(compiled.system.clone(), options));
    let simulation = made.map_err(|e| compiled.not_started(&said, e))?;
    Ok((simulation.plan().to_string(), json(py, &told::plan(simulation.plan()).into())?))
}

/// The equilibrium: stability, residual, number of steps, eigenvalues of the stiffness, and names and values of channels.
#[pyfunction]
#[pyo3(signature = (it, time=0.0))]
pub fn statics<'py>(it: &Description, py: Python<'py>, time: f64) -> PyResult<Bound<'py, PyDict>> {
    let compiled = it.compiled(py)?;
    let found = py.detach(|| Continuation::new(time).next(&compiled.system));
    let found = found.map_err(|e| match (compiled.fault.take(), e) {
        (Some(error), _) => error,
        (None, ContinuationError::Assembly(e)) => model(e),
        (None, ContinuationError::Statics(e)) => failed(e),
    })?;
    let e = &found.equilibrium;
    let out = PyDict::new(py);
    out.set_item("stability", e.stability.as_ref().map(|s| s.word()))?;
    let eigenvalues = e.stability.as_ref().map_or(Vec::new(), |s| s.eigenvalues.clone());
    out.set_item("stiffness_eigenvalues", arrays::vector(py, eigenvalues)?)?;
    out.set_item("residual", e.residual)?;
    out.set_item("iterations", e.iterations)?;
    out.set_item("redundant_equations", e.redundant)?;
    let channels = PyDict::new(py);
    for (channel, value) in compiled.system.channels().iter().zip(&found.channels) {
        channels.set_item(&channel.name, value)?;
    }
    out.set_item("values", channels)?;
    Ok(out)
}

/// Modes as `bellcrank modes --json` prints them.
#[pyfunction]
#[pyo3(signature = (it, at=None))]
pub fn modes_of<'py>(it: &Description, py: Python<'py>, at: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let (compiled, at) = (it.compiled(py)?, about(at)?);
    let options = compiled.options(&[])?;
    let found = py.detach(|| {
        let (point, about) = operating_point(&compiled.system, at, &options).map_err(not_reached)?;
        let found = modes(&*compiled.system, &point).map_err(failed)?;
        Ok(told::modes(&found, &compiled.system.model.name, &about.to_string()))
    });
    let found = found.map_err(|e: PyErr| compiled.fault.take().unwrap_or(e))?;
    json(py, &found)
}

/// A, B, C and D about a state, and the values of inputs and outputs there.
#[pyfunction]
#[pyo3(signature = (it, inputs, outputs, at=None))]
pub fn linearize<'py>(
    it: &Description,
    py: Python<'py>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    at: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let (compiled, at) = (it.compiled(py)?, about(at)?);
    let options = compiled.options(&[])?;
    let system = &compiled.system;
    let known = || system.model.inputs.iter().map(|i| i.name.as_str());
    let of = |name: &String| system.model.input(name).ok_or_else(|| unknown_input(name, known()));
    let input_places = inputs.iter().map(of).collect::<PyResult<Vec<_>>>()?;
    let shown = Shown::new(system, &outputs).map_err(|name| {
        let channels = system.all_channels();
        let of_model = system.model.outputs.iter().map(|o| o.name.as_str());
        unknown_channel(&name, of_model.chain(channels.iter().map(|c| c.name.as_str())))
    })?;
    let found = py.detach(|| {
        let (point, about) = operating_point(system, at, &options).map_err(not_reached)?;
        let found = state_space(system, &point, &input_places, &shown).map_err(failed)?;
        Ok((found, about.to_string(), point))
    });
    let (found, about, point) = found.map_err(|e: PyErr| compiled.fault.take().unwrap_or(e))?;
    let out = PyDict::new(py);
    out.set_item("A", matrix(py, found.a)?)?;
    out.set_item("B", matrix(py, found.b)?)?;
    out.set_item("C", matrix(py, found.c)?)?;
    out.set_item("D", matrix(py, found.d)?)?;
    out.set_item("about", about)?;
    out.set_item("time", point.t)?;
    out.set_item("q", arrays::vector(py, point.q)?)?;
    out.set_item("v", arrays::vector(py, point.v)?)?;
    out.set_item("input_values", arrays::vector(py, found.inputs)?)?;
    out.set_item("output_values", arrays::vector(py, found.outputs)?)?;
    out.set_item("freedoms", found.counts.0)?;
    Ok(out)
}

/// What a prescribed motion takes: what `bellcrank inverse --json` prints, and the motion.
#[pyfunction]
pub fn inverse_of<'py>(
    it: &Description,
    py: Python<'py>,
    solve: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Results)> {
    let (compiled, arguments) = (it.compiled(py)?, said(solve)?);
    // the motion is prescribed: of `[solve]`, its span and samples count
    let mut all = in_file(&compiled.read.settings);
    all.retain(|s| matches!(s.key.as_str(), "until" | "sample"));
    all.extend_from_slice(&arguments);
    let options =
        resolve(&all).map_err(|e| reported(Kind::Option, &refused(&compiled.read, &arguments, e, Voice::Python)))?;
    let mut frames = ColumnMemory::default();
    let found = py.detach(|| inverse(&compiled.system, options.until, options.sample, &mut frames));
    let found = found.map_err(|e| match (compiled.fault.take(), e) {
        (Some(error), _) => error,
        (None, InverseError::Step(e)) => crate::errors::step(&e),
        (None, e) => model(e),
    })?;
    let told = told::inverse(&found);
    let made = Made { compiled, options, said: arguments, overrides: it.overrides() };
    Ok((json(py, &told.clone().into())?, Results::of_analysis(frames, told.into(), made)))
}
