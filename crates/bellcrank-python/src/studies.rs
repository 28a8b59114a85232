//! Studies from Python: on threads of this process, or row by row wherever an executor has room.

use crate::arrow::{Batches, Cells, Field};
use crate::description::Description;
use crate::errors::{self, Kind, ResultsError, reported};
use crate::{arrays, arrow};
use bellcrank::results::tidy::{GROUP, TidyColumn, TidyTable, TidyValues};
use bellcrank::study::{self, Jobs, LedgerError, Models, Row, StudyError, StudyProgress};
use bellcrank::{Read, Report};
use bellcrank_model::read::{Template, Uses};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a study goes on before it looks at signals and tells its progress.
const PAUSE: Duration = Duration::from_millis(50);

/// A model with the values that were set in Python.
pub struct Swept {
    template: Template,
    overrides: Vec<String>,
}

impl Swept {
    /// That of a description.
    pub fn new(model: &Description) -> PyResult<Swept> {
        let (name, content, overrides) = model.content()?;
        let template = Template::parse(&name, &content).map_err(|report| reported(Kind::Model, &report))?;
        Ok(Swept { template, overrides })
    }

    fn all(&self, overrides: &[String]) -> Vec<String> {
        [&self.overrides, overrides].concat()
    }
}

impl Models for Swept {
    fn read(&self, overrides: &[String]) -> Result<Read, Report> {
        self.template.read(&self.all(overrides))
    }

    fn find(&self, overrides: &[String]) -> Result<(), Report> {
        self.template.with(&self.all(overrides)).map(|_| ())
    }

    fn number(&self, overrides: &[String], path: &str) -> Result<f64, Report> {
        self.template.number(&self.all(overrides), path)
    }

    fn numbers(&self, overrides: &[String], paths: &[&str]) -> Result<Vec<f64>, Report> {
        self.template.numbers(&self.all(overrides), paths)
    }

    fn uses(&self, overrides: &[String]) -> Option<Uses> {
        self.template.uses(&self.all(overrides)).ok()
    }

    fn digest(&self) -> Result<u128, Report> {
        let read = self.template.read(&self.overrides)?;
        let folder = Path::new(self.template.path()).parent().unwrap_or(Path::new(""));
        match self.overrides.is_empty() {
            true => Models::digest(&self.template),
            false => {
                let text = format!("{}\n{}", self.template.text(), self.overrides.join("\n"));
                Ok(study::of_text(&text, folder, &read.files))
            }
        }
    }
}

/// A study of a model.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct Study(Arc<study::Study>);

#[pymethods]
impl Study {
    /// A study from the text of its file, of a model that is at hand.
    #[new]
    fn new(model: &Description, text: &str) -> PyResult<Study> {
        let models = Box::new(Swept::new(model)?);
        let made = study::Study::parse("sweep.json", text, Some(models));
        Ok(Study(Arc::new(made.map_err(|report| reported(Kind::Model, &report))?)))
    }

    /// How many rows it has.
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Runs all rows on threads of this process; gives how many there are, were computed and failed.
    #[pyo3(signature = (out, resume=false, jobs=0, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        resume: bool,
        jobs: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        let mut error = None;
        let ended = py.detach(|| {
            let mut last = Instant::now();
            let tell = |at: StudyProgress| {
                if last.elapsed() < PAUSE && at.done < at.rows {
                    return true;
                }
                last = Instant::now();
                let told = Python::attach(|py| {
                    py.check_signals()?;
                    let tell = progress.as_ref().map(|tell| tell.bind(py).call1((at.done, at.rows)));
                    tell.transpose().map(|_| ())
                });
                told.map_err(|e| error.get_or_insert(e)).is_ok()
            };
            let mut jobs = Jobs { threads: jobs, interrupt: Arc::default(), progress: Box::new(tell) };
            study::run(&self.0, &out, resume, &mut jobs)
        });
        match (error, ended) {
            (Some(error), _) => Err(error),
            (None, Ok(outcome)) => Ok((outcome.rows, outcome.computed, outcome.failed)),
            (None, Err(e)) => Err(failed(e)),
        }
    }

    /// Computes some rows, as bytes for whoever keeps the ledger.
    #[pyo3(signature = (indices, out=None))]
    fn compute<'py>(&self, py: Python<'py>, indices: Vec<u64>, out: Option<PathBuf>) -> PyResult<Bound<'py, PyBytes>> {
        let interrupt: Arc<AtomicBool> = Arc::default();
        let mut rows = Vec::with_capacity(indices.len());
        for index in indices {
            if index >= self.0.rows() {
                return Err(PyValueError::new_err(format!("the study has no row {index}")));
            }
            let row = py.detach(|| {
                let point = self.0.space.point(index);
                let kept = out.as_ref().filter(|_| self.0.keep).map(|dir| dir.join(self.0.folder(point.key)));
                self.0.compute(&point, kept.as_deref(), &interrupt)
            });
            if let Err(e) = py.check_signals() {
                interrupt.store(true, Ordering::Relaxed);
                return Err(e);
            }
            rows.extend(row.map(|row| (index, row)));
        }
        Ok(PyBytes::new(py, &study::packed(&rows)?))
    }

    /// Takes hold of a folder for rows that are computed elsewhere.
    #[pyo3(signature = (out, resume=false))]
    fn ledger(&self, out: PathBuf, resume: bool) -> PyResult<Ledger> {
        let ledger = study::Ledger::open(self.0.clone(), &out, resume).map_err(|e| failed(e.into()))?;
        Ok(Ledger(Mutex::new(Some(ledger)), self.0.clone()))
    }
}

/// The rows of a study that goes on.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct Ledger(Mutex<Option<study::Ledger<Arc<study::Study>>>>, Arc<study::Study>);

impl Ledger {
    fn inner(&self) -> MutexGuard<'_, Option<study::Ledger<Arc<study::Study>>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[pymethods]
impl Ledger {
    /// The rows that are not there yet.
    fn pending(&self) -> Vec<u64> {
        match &*self.inner() {
            Some(ledger) => (0..self.1.rows()).filter(|index| !ledger.has(*index)).collect(),
            None => Vec::new(),
        }
    }

    /// Writes down rows that were computed; one that is there already stays. Gives how many there are.
    fn push(&self, rows: &[u8]) -> PyResult<u64> {
        let mut inner = self.inner();
        let Some(ledger) = inner.as_mut() else { return Ok(0) };
        let rows = study::unpacked(rows).map_err(|_| PyValueError::new_err("these are no rows of a study"))?;
        rows.iter().try_for_each(|(index, row)| ledger.push(*index, row)).map_err(unwritten)?;
        Ok(ledger.done().0)
    }

    /// Writes down that a row cannot be computed.
    fn fail(&self, index: u64, reason: String) -> PyResult<()> {
        let key = self.1.space.point(index).key;
        let mut inner = self.inner();
        let Some(ledger) = inner.as_mut() else { return Ok(()) };
        ledger.push(index, &Row::failed(key, reason)).map_err(unwritten)
    }

    /// Makes the table and lets go of the folder.
    fn finish(&self, py: Python<'_>, computed: u64) -> PyResult<()> {
        let Some(ledger) = self.inner().take() else { return Ok(()) };
        py.detach(|| ledger.finish(computed)).map_err(unwritten)?;
        Ok(())
    }
}

fn unwritten(e: std::io::Error) -> PyErr {
    ResultsError::new_err(e.to_string())
}

fn failed(error: StudyError) -> PyErr {
    match error {
        StudyError::Ledger(LedgerError::Model(report)) => reported(Kind::Model, &report),
        StudyError::Ledger(LedgerError::Disk(e)) => unwritten(e),
        StudyError::Ledger(LedgerError::Refused(text)) => {
            ResultsError::new_err(text.replace("--resume ", "`resume=True` ").replace(" with --out", ""))
        }
        e @ StudyError::Interrupted(_) => errors::failed(e),
    }
}

/// The names of the parts of an assembly file, with the files of their models; none where a part has an address.
#[pyfunction]
pub fn parts_of(path: PathBuf) -> PyResult<Vec<(String, Option<PathBuf>)>> {
    bellcrank::glue::parts_of(&path).map_err(errors::model)
}

/// The table of a study.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct StudyTable(Arc<TidyTable>);

/// The rows of a batch.
fn rows_of<T>(list: &[T], batch: usize) -> &[T] {
    let from = (batch * GROUP).min(list.len());
    &list[from..(from + GROUP).min(list.len())]
}

impl Batches for TidyTable {
    fn fields(&self) -> Vec<Field<'_>> {
        fn field(c: &TidyColumn) -> Field<'_> {
            Field { name: &c.name, unit: &c.unit, is_text: c.is_text, nullable: true }
        }
        self.columns.iter().map(field).collect()
    }

    fn batches(&self) -> usize {
        self.rows().div_ceil(GROUP)
    }

    fn column(&self, batch: usize, column: usize) -> std::io::Result<Cells<'_>> {
        Ok(match &self.values[column] {
            TidyValues::Numbers(list) => Cells::Numbers(rows_of(list, batch)),
            TidyValues::Texts(list) => Cells::Texts(rows_of(list, batch)),
        })
    }
}

#[pymethods]
impl StudyTable {
    /// Reads a folder that a study wrote, or its table.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<StudyTable> {
        let path = if path.is_dir() { path.join(study::TABLE) } else { path };
        let table = py.detach(|| TidyTable::open(&path)).map_err(unwritten)?;
        Ok(StudyTable(Arc::new(table)))
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.0.rows()
    }

    /// Names, units and whether they are texts, of all columns.
    fn columns(&self) -> Vec<(String, String, bool)> {
        self.0.columns.iter().map(|c| (c.name.clone(), c.unit.clone(), c.is_text)).collect()
    }

    /// The metadata of the file.
    fn about(&self) -> Vec<(String, String)> {
        self.0.about.clone()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // the protocol lets a producer keep to its own schema
        let _ = requested_schema;
        arrow::stream(py, self.0.clone())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_of(py, &*self.0)
    }

    /// The numbers of a column as an array, or its texts as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(k) = self.0.place(name) else {
            return Err(errors::unknown_channel(name, self.0.columns.iter().map(|c| c.name.as_str())));
        };
        match &self.0.values[k] {
            TidyValues::Numbers(list) => arrays::view(py, self.0.clone(), list),
            TidyValues::Texts(list) => Ok(list.clone().into_pyobject(py)?.into_any()),
        }
    }
}
