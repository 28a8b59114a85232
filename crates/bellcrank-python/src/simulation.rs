//! A simulation that Python steps: a controller, another simulator, an environment for learning.

use crate::description::Compiled;
use crate::errors::{self, unknown_channel, unknown_input};
use crate::laws::Fault;
use crate::running::SignalWatch;
use crate::{arrays, value::wrong};
use bellcrank::{ChannelId, InputId, SavedState, StepError};
use bellcrank_solve::choices::Said;
use bellcrank_solve::run::SparseMatrix;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A machine on its way through time.
#[pyclass(frozen, weakref, module = "bellcrank._bellcrank")]
pub struct Simulation {
    inner: Mutex<bellcrank::Simulation>,
    channels: Vec<(String, String)>,
    places: HashMap<String, usize>,
    inputs: Vec<String>,
    fault: Arc<Fault>,
    interrupt: Arc<AtomicBool>,
}

impl Simulation {
    /// A model at its start.
    pub fn start(py: Python<'_>, compiled: Arc<Compiled>, said: &[Said]) -> PyResult<Simulation> {
        let options = compiled.options(said)?;
        let interrupt = options.resources.interrupt.clone();
        let made = py.detach(|| bellcrank::begin::simulation(compiled.system.clone(), options));
        let made = made.map_err(|e| compiled.not_started(said, e))?;
        let inputs = compiled.system.model.inputs.iter().map(|i| i.name.clone()).collect();
        Ok(Simulation::of(made, inputs, compiled.fault.clone(), interrupt))
    }

    /// A simulation that is made already.
    pub fn of(
        made: bellcrank::Simulation,
        inputs: Vec<String>,
        fault: Arc<Fault>,
        interrupt: Arc<AtomicBool>,
    ) -> Simulation {
        let channels: Vec<_> = made.header().channels.into_iter().map(|c| (c.name, c.unit.to_string())).collect();
        let places = channels.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect();
        Simulation { inner: Mutex::new(made), channels, places, inputs, fault, interrupt }
    }

    /// The simulation; two threads cannot have it at once, and waiting could wait for ever.
    fn take(&self) -> PyResult<MutexGuard<'_, bellcrank::Simulation>> {
        self.inner.try_lock().map_err(|_| {
            PyRuntimeError::new_err("the simulation is in use by another thread, or by a callable of its own")
        })
    }

    /// What came out, unless a callable failed on the way.
    fn outcome<T>(&self, result: Result<T, StepError>) -> PyResult<T> {
        match (self.fault.take(), result) {
            (Some(error), _) => Err(error),
            (None, result) => result.map_err(|e| errors::step(&e)),
        }
    }

    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&mut bellcrank::Simulation) -> Result<T, StepError>,
    ) -> PyResult<T> {
        let mut inner = self.take()?;
        let simulation = &mut *inner;
        let result = py.detach(move || work(simulation));
        drop(inner);
        self.outcome(result)
    }

    fn place(&self, name: &str) -> PyResult<usize> {
        let known = || self.channels.iter().map(|(name, _)| name.as_str());
        self.places.get(name).copied().ok_or_else(|| unknown_channel(name, known()))
    }

    fn input(&self, name: &str) -> PyResult<InputId> {
        let known = || self.inputs.iter().map(String::as_str);
        let at = self.inputs.iter().position(|input| input == name);
        at.map(InputId).ok_or_else(|| unknown_input(name, known()))
    }
}

#[pymethods]
impl Simulation {
    /// The present time, in s.
    #[getter]
    fn time(&self) -> PyResult<f64> {
        Ok(self.take()?.t())
    }

    /// The end of the run, in s.
    #[getter]
    fn until(&self) -> PyResult<f64> {
        Ok(self.take()?.until())
    }

    /// Takes one step: its begin, its end and the number of events; nothing at the end of the run.
    fn step(&self, py: Python<'_>) -> PyResult<Option<(f64, f64, usize)>> {
        let taken = self.work(py, |s| s.step())?;
        Ok(taken.map(|step| (step.from, step.t, step.events)))
    }

    /// Goes on to a time.
    fn advance_to(&self, py: Python<'_>, t: f64) -> PyResult<f64> {
        if !t.is_finite() {
            return Err(PyValueError::new_err(format!("a simulation cannot advance to t = {t}")));
        }
        let mut watch = SignalWatch::new(None, self.interrupt.clone());
        let reached = self.work(py, |s| s.advance_watched(t, &mut |t| watch.look(t)));
        match watch.error {
            Some(error) => {
                self.interrupt.store(false, Ordering::Relaxed);
                Err(error)
            }
            None => reached,
        }
    }

    /// The present value of a channel.
    fn value(&self, py: Python<'_>, name: &str) -> PyResult<f64> {
        let channel = ChannelId(self.place(name)?);
        self.work(py, |s| s.value(channel))
    }

    /// The present values of channels.
    fn values<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let places = names.iter().map(|name| self.place(name)).collect::<PyResult<Vec<_>>>()?;
        let values =
            self.work(py, |s| places.iter().map(|k| s.value(ChannelId(*k))).collect::<Result<Vec<f64>, _>>())?;
        arrays::vector(py, values)
    }

    /// Names and units of all channels.
    fn channels(&self) -> Vec<(String, String)> {
        self.channels.clone()
    }

    /// Names of all inputs.
    fn input_names(&self) -> Vec<String> {
        self.inputs.clone()
    }

    /// The present value of an input.
    fn get_input(&self, name: &str) -> PyResult<f64> {
        let input = self.input(name)?;
        Ok(self.take()?.input_value(input))
    }

    /// Sets an input from now on.
    fn set_input(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let input = self.input(name)?;
        let x = value.extract::<f64>().map_err(|_| wrong(&format!("input `{name}`"), "a number", value))?;
        if !x.is_finite() {
            return Err(PyValueError::new_err(format!("input `{name}` cannot be {x}")));
        }
        self.work(py, |s| s.set_input(input, x))
    }

    /// What happened so far: time, name and what it did.
    fn events(&self) -> PyResult<Vec<(f64, String, String)>> {
        Ok(self.take()?.events().iter().map(|e| (e.t, e.name.clone(), e.what.clone())).collect())
    }

    /// The state, to go back to.
    fn save(&self, py: Python<'_>) -> PyResult<State> {
        self.work(py, |s| s.save()).map(State)
    }

    /// Goes back to a state.
    fn restore(&self, py: Python<'_>, state: &State) -> PyResult<()> {
        let saved = state.0.clone();
        self.work(py, move |s| s.restore(&saved))
    }

    /// Goes on with the parameters of another model.
    fn exchange(&self, py: Python<'_>, model: &crate::description::Description) -> PyResult<()> {
        let compiled = model.compiled(py)?;
        let mut inner = self.take()?;
        let simulation = &mut *inner;
        let done = py.detach(|| simulation.exchange(compiled.system.clone()));
        drop(inner);
        done.map_err(|e| compiled.not_started(&[], e))
    }

    /// The accelerations.
    fn accelerations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::vector(py, self.work(py, |s| s.accelerations())?)
    }

    /// The reactions.
    fn reactions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::vector(py, self.work(py, |s| s.reactions())?)
    }

    /// The mass matrix.
    fn mass_matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dense(py, self.work(py, |s| Ok(s.mass_matrix()))?)
    }

    /// The Jacobian of the constraints.
    fn constraint_jacobian<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dense(py, self.work(py, |s| Ok(s.constraint_jacobian()))?)
    }

    /// The loads that accelerations take.
    fn required_forces<'py>(&self, py: Python<'py>, accelerations: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let accelerations = arrays::numbers("`accelerations`", accelerations)?;
        arrays::vector(py, self.work(py, move |s| s.required_forces(&accelerations))?)
    }

    /// What was decided, as `bellcrank plan` prints it.
    fn plan(&self) -> PyResult<String> {
        Ok(self.take()?.plan().to_string())
    }
}

fn dense(py: Python<'_>, matrix: SparseMatrix) -> PyResult<Bound<'_, PyAny>> {
    let dense = matrix.to_dense();
    arrays::owned(py, dense.values, &[dense.rows, dense.columns])
}

/// All that a simulation needs to go on from a time, to the bit.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct State(SavedState);

#[pymethods]
impl State {
    /// From the bytes of another one.
    #[new]
    fn new(bytes: &[u8]) -> PyResult<State> {
        let read = SavedState::from_bytes(bytes);
        read.map(State).map_err(|e| PyValueError::new_err(format!("the stored state {e}")))
    }

    /// As bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().into_any(), (slf.get().to_bytes(slf.py()),)))
    }

    /// The time, in s.
    #[getter]
    fn time(&self) -> f64 {
        self.0.state.t
    }

    /// The coordinates.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::vector(py, self.0.state.q.clone())
    }

    /// The velocities.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::vector(py, self.0.state.v.clone())
    }

    /// The first-order states of actuators and controllers.
    #[getter]
    fn z<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::vector(py, self.0.state.z.clone())
    }

    /// The same with other coordinates, velocities or states; they are taken as they are.
    #[pyo3(signature = (*, q=None, v=None, z=None))]
    fn replace(
        &self,
        q: Option<&Bound<'_, PyAny>>,
        v: Option<&Bound<'_, PyAny>>,
        z: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<State> {
        let mut saved = self.0.clone();
        let state = &mut saved.state;
        for (name, given, now) in [("q", q, &mut state.q), ("v", v, &mut state.v), ("z", z, &mut state.z)] {
            let Some(given) = given else { continue };
            let numbers = arrays::numbers(&format!("`{name}`"), given)?;
            if numbers.len() != now.len() || numbers.iter().any(|x| !x.is_finite()) {
                let n = now.len();
                return Err(PyValueError::new_err(format!("`{name}` must be {n} finite numbers")));
            }
            *now = numbers;
        }
        Ok(State(saved))
    }
}
