//! Runs from Python: without the interpreter's lock, with a look at signals and at the progress now and then.

use crate::description::Compiled;
use crate::errors::{self, Kind, reported, with_result};
use crate::results::{Made, Results};
use bellcrank::places;
use bellcrank::{ColumnMemory, Header, Recorder, RunReport, Tee};
use bellcrank_solve::choices::{Said, Voice};
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::run::Status;
use pyo3::prelude::*;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a run goes on before it looks at signals and tells its progress.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks at signals (Ctrl-C), and tells the progress to a callable.
pub struct SignalWatch {
    last: Instant,
    progress: Option<Py<PyAny>>,
    interrupt: Arc<AtomicBool>,
    pub error: Option<PyErr>,
}

impl SignalWatch {
    pub fn new(progress: Option<Py<PyAny>>, interrupt: Arc<AtomicBool>) -> SignalWatch {
        SignalWatch { last: Instant::now(), progress, interrupt, error: None }
    }

    /// After a step.
    pub fn look(&mut self, t: f64) {
        if self.last.elapsed() < PAUSE {
            return;
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |tell| tell.bind(py).call1((t,)).map(|_| ()))
        });
        self.last = Instant::now();
        if let Err(error) = told {
            self.interrupt.store(true, Ordering::Relaxed);
            self.error.get_or_insert(error);
        }
    }
}

impl Recorder for SignalWatch {
    fn begin(&mut self, _: &Header) -> io::Result<()> {
        Ok(())
    }
    fn frame(&mut self, _: f64, _: &[f64]) -> io::Result<()> {
        Ok(())
    }
    fn step(&mut self, taken: &AcceptedStep) {
        self.look(taken.t);
    }
    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a model to its end. A run that ends early raises its reason, with what was computed up to there.
pub fn run(
    py: Python<'_>,
    compiled: Arc<Compiled>,
    said: Vec<Said>,
    overrides: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let options = compiled.options(&said)?;
    let mut frames = ColumnMemory::default();
    let mut watch = SignalWatch::new(progress, options.resources.interrupt.clone());
    let chosen = options.clone();
    let ended = py.detach(|| {
        let mut simulation = bellcrank::begin::simulation(compiled.system.clone(), chosen)?;
        // a callable may do more than compute, and its exceptions are those of the run
        if !compiled.has_laws {
            simulation.tell_error();
        }
        Ok(simulation.run(&mut Tee(vec![&mut frames, &mut watch])))
    });
    let summary = ended.map_err(|e| compiled.not_started(&said, e))?;
    let status = summary.status.clone();
    let error = compiled.fault.take().or(watch.error).or_else(|| match &status {
        Status::Failed(e) => {
            let told = reported(Kind::Simulation, &places::failed(&compiled.read, e, Voice::Python));
            errors::about(&told, e);
            Some(told)
        }
        Status::Interrupted => Some(errors::failed(format!("interrupted at t = {} s", summary.t))),
        Status::Finished => None,
    });
    let made = Made { compiled, options, said, overrides };
    let results = Results::of_run(frames, summary, made);
    match error {
        None => Ok(results),
        Some(error) => Err(with_result(py, error, results)),
    }
}
