//! What a run recorded: columns as arrays and Arrow, the summary, evidence, files.

use crate::arrow::{Batches, Cells, Field};
use crate::description::Compiled;
use crate::errors::{ResultsError, failed, json, unknown_channel};
use crate::{arrays, arrow};
use bellcrank::results::{Columns, Folder, json as told};
use bellcrank::{ColumnMemory, Options, Recorder, Simulation, Summary};
use bellcrank_model::scene;
use bellcrank_solve::choices::Said;
use bellcrank_solve::evidence::Evidence;
use bellcrank_solve::run::StartError;
use bellcrank_solve::run::doubts::Doubt;
use bellcrank_solve::verify::{ThinnedFrames, Verification, verify_with};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Columns, the time first.
pub struct ColumnFrames {
    pub names: Vec<String>,
    pub units: Vec<String>,
    pub rows: usize,
    places: HashMap<String, usize>,
    source: ResultSource,
    /// Columns in one piece, once asked for.
    joined: Vec<OnceLock<Vec<f64>>>,
}

enum ResultSource {
    Memory(ColumnMemory),
    File(Columns),
}

impl ColumnFrames {
    fn new(names: Vec<String>, units: Vec<String>, rows: usize, source: ResultSource) -> ColumnFrames {
        let places = names.iter().enumerate().map(|(i, name)| (name.clone(), i)).collect();
        let joined = names.iter().map(|_| OnceLock::new()).collect();
        ColumnFrames { names, units, rows, places, source, joined }
    }

    fn of_memory(memory: ColumnMemory) -> ColumnFrames {
        let channels = &memory.header().channels;
        let names = std::iter::once("time".to_string()).chain(channels.iter().map(|c| c.name.clone())).collect();
        let units = std::iter::once("s".to_string()).chain(channels.iter().map(|c| c.unit.to_string())).collect();
        let rows = memory.rows();
        ColumnFrames::new(names, units, rows, ResultSource::Memory(memory))
    }

    /// The number of pieces that columns come in.
    fn chunks(&self) -> usize {
        match &self.source {
            ResultSource::Memory(memory) => memory.slices(0).count(),
            ResultSource::File(_) => 1,
        }
    }

    /// A piece of a column.
    fn slice(&self, column: usize, chunk: usize) -> io::Result<&[f64]> {
        match &self.source {
            ResultSource::Memory(memory) => Ok(memory.slices(column).nth(chunk).unwrap_or_default()),
            ResultSource::File(_) => self.column(column),
        }
    }

    /// A whole column; of a short run it is where it was recorded.
    pub fn column(&self, column: usize) -> io::Result<&[f64]> {
        if let ResultSource::Memory(memory) = &self.source
            && memory.slices(column).nth(1).is_none()
        {
            return Ok(memory.slices(column).next().unwrap_or_default());
        }
        if let Some(values) = self.joined[column].get() {
            return Ok(values);
        }
        let values = match &self.source {
            ResultSource::Memory(memory) => memory.column(column),
            ResultSource::File(columns) => columns.read(&[column])?.pop().unwrap_or_default(),
        };
        Ok(self.joined[column].get_or_init(|| values))
    }
}

/// How the run ended.
enum RunEnd {
    Run(Box<Summary>),
    File(Value),
}

/// What the run was made from, to make it again.
pub struct Made {
    pub compiled: Arc<Compiled>,
    pub options: Options,
    pub said: Vec<Said>,
    pub overrides: Vec<String>,
}

/// What a run recorded.
#[pyclass(frozen, weakref, module = "bellcrank._bellcrank")]
pub struct Results {
    frames: Arc<ColumnFrames>,
    ended: RunEnd,
    made: Option<Made>,
    scene: Option<Value>,
}

impl Batches for ColumnFrames {
    fn fields(&self) -> Vec<Field<'_>> {
        let both = self.names.iter().zip(&self.units);
        both.map(|(name, unit)| Field { name, unit, is_text: false, nullable: false }).collect()
    }

    fn batches(&self) -> usize {
        self.chunks()
    }

    fn column(&self, batch: usize, column: usize) -> io::Result<Cells<'_>> {
        self.slice(column, batch).map(Cells::Whole)
    }
}

fn unreadable(e: io::Error) -> PyErr {
    ResultsError::new_err(e.to_string())
}

/// Opens a folder that `bellcrank run --out` or `Results.save` wrote, or a table from it.
#[pyfunction]
pub fn open(path: PathBuf) -> PyResult<Results> {
    let columns = Columns::open(&path).map_err(unreadable)?;
    let rows = columns.read(&[0]).map_err(unreadable)?.first().map_or(0, Vec::len);
    let read = |name: &str| {
        let text = std::fs::read_to_string(path.join(name)).ok()?;
        serde_json::from_str(&text).ok()
    };
    let (summary, scene) = (read("summary.json").unwrap_or(Value::Null), read("scene.json"));
    let frames = ColumnFrames::new(columns.names.clone(), columns.units.clone(), rows, ResultSource::File(columns));
    Ok(Results { frames: Arc::new(frames), ended: RunEnd::File(summary), made: None, scene })
}

impl Results {
    pub fn of_run(memory: ColumnMemory, summary: Summary, made: Made) -> Results {
        let frames = Arc::new(ColumnFrames::of_memory(memory));
        Results { frames, ended: RunEnd::Run(Box::new(summary)), made: Some(made), scene: None }
    }

    /// Of an analysis that is no run.
    pub fn of_analysis(memory: ColumnMemory, told: Value, made: Made) -> Results {
        let scene = Some(scene::scene(&made.compiled.system.model));
        Results { frames: Arc::new(ColumnFrames::of_memory(memory)), ended: RunEnd::File(told), made: None, scene }
    }

    /// Of equations that no model file has.
    pub fn of_equations(memory: ColumnMemory, told: Value) -> Results {
        Results {
            frames: Arc::new(ColumnFrames::of_memory(memory)),
            ended: RunEnd::File(told),
            made: None,
            scene: None,
        }
    }

    fn place(&self, name: &str) -> PyResult<usize> {
        let known = || self.frames.names.iter().map(String::as_str);
        self.frames.places.get(name).copied().ok_or_else(|| unknown_channel(name, known()))
    }

    fn array<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyAny>> {
        arrays::view(py, self.frames.clone(), self.frames.column(column).map_err(unreadable)?)
    }

    /// What made the run, and how it ended.
    fn made(&self) -> PyResult<(&Made, &Summary, &ColumnMemory)> {
        match (&self.made, &self.ended, &self.frames.source) {
            (Some(made), RunEnd::Run(summary), ResultSource::Memory(memory)) => Ok((made, summary, memory)),
            _ => {
                let help = "run the model again: model.run(...)";
                Err(failed(format!("results from files do not have the model they were made from\nhelp: {help}")))
            }
        }
    }

    fn verification(&self, py: Python<'_>) -> PyResult<Result<Verification, String>> {
        let (made, summary, memory) = self.made()?;
        let system = &made.compiled.system;
        let make = |o: Options| -> Result<Simulation, StartError> { bellcrank::begin::simulation(system, o) };
        let found = py.detach(|| {
            let kept = ThinnedFrames::of(memory, &made.options);
            verify_with(&make, &made.options, &kept, summary)
        });
        made.compiled.fault.take().map_or(Ok(found), Err)
    }

    fn summary(&self) -> Value {
        match &self.ended {
            RunEnd::Run(summary) => told::whole(summary),
            RunEnd::File(summary) => summary.clone(),
        }
    }

    fn scene(&self) -> Value {
        match (&self.scene, &self.made) {
            (Some(scene), _) => scene.clone(),
            (None, Some(made)) => scene::scene(&made.compiled.system.model),
            _ => Value::Null,
        }
    }
}

#[pymethods]
impl Results {
    fn __len__(&self) -> usize {
        self.frames.rows
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<&str>().is_ok_and(|name| self.frames.places.contains_key(name))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, self.place(name)?)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyList::new(py, &self.frames.names)?.into_any().call_method0("__iter__")
    }

    fn keys(&self) -> Vec<String> {
        self.frames.names.clone()
    }

    /// Names and units of all columns.
    fn columns(&self) -> Vec<(String, String)> {
        self.frames.names.iter().cloned().zip(self.frames.units.iter().cloned()).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // the protocol lets a producer keep to its own schema
        let _ = requested_schema;
        arrow::stream(py, self.frames.clone())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema_of(py, &*self.frames)
    }

    /// What `bellcrank run --json` prints.
    fn summary_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json(py, &self.summary())
    }

    /// The seconds that the solver took, from the assembly of the start on.
    fn wall_seconds(&self) -> f64 {
        match &self.ended {
            RunEnd::Run(summary) => summary.wall_seconds,
            RunEnd::File(summary) => summary["wall_seconds"].as_f64().unwrap_or(f64::NAN),
        }
    }

    /// Why the run cannot vouch for its result: kind, message and what to try.
    fn doubts(&self) -> Vec<(String, String, String)> {
        match &self.ended {
            RunEnd::Run(summary) => {
                let one = |d: &Doubt| (d.kind.to_string(), d.message.clone(), d.help.to_string());
                summary.doubts.iter().map(one).collect()
            }
            RunEnd::File(summary) => {
                let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
                let one = |d: &Value| (text(&d["kind"]), text(&d["message"]), text(&d["help"]));
                summary["doubts"].as_array().into_iter().flatten().map(one).collect()
            }
        }
    }

    /// Time, name and what happened, of all events.
    fn events(&self) -> Vec<(f64, String, String)> {
        match &self.ended {
            RunEnd::Run(summary) => summary.events.iter().map(|e| (e.t, e.name.clone(), e.what.clone())).collect(),
            RunEnd::File(summary) => {
                let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
                let one = |e: &Value| (e["t"].as_f64().unwrap_or(f64::NAN), text(&e["name"]), text(&e["what"]));
                summary["events"].as_array().into_iter().flatten().map(one).collect()
            }
        }
    }

    /// How accurate the run was: it is made again, more finely.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.verification(py)? {
            Ok(found) => json(py, &told::verification(&found)),
            Err(why) => Err(failed(format!("the accuracy is not known: {why}"))),
        }
    }

    /// Writes a folder as `bellcrank run --out` does.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let (made, summary, memory) = self.made()?;
        let system = made.compiled.system.clone();
        let written = py.detach(|| {
            let mut out = Folder::of_model(folder, system);
            out.begin(memory.header())?;
            summary.events.iter().filter(|e| e.t.is_finite()).try_for_each(|event| out.event(event))?;
            memory.replay(&mut |t, values| out.frame(t, values))?;
            out.end(summary)
        });
        written.map_err(unreadable)
    }

    /// The viewer with these results as one page of HTML.
    #[pyo3(signature = (plots=Vec::new()))]
    fn page(&self, py: Python<'_>, plots: Vec<Vec<String>>) -> PyResult<String> {
        for name in plots.iter().flatten() {
            self.place(name)?;
        }
        let (summary, scene, frames) = (self.summary(), self.scene(), &self.frames);
        let page = py.detach(|| {
            let shown = bellcrank_view::ReportData {
                summary: &summary,
                scene: &scene,
                names: frames.names.iter().map(String::as_str).collect(),
                units: frames.units.iter().map(String::as_str).collect(),
                rows: frames.rows,
                column: &|c| frames.column(c).map(<[f64]>::to_vec),
            };
            let report = bellcrank_view::Report { plots, ..bellcrank_view::Report::default() };
            bellcrank_view::report_of(&shown, &report)
        });
        page.map_err(unreadable)
    }

    /// The report of `bellcrank run --report --verify` as HTML: the run is made again to gather evidence.
    #[pyo3(signature = (plots=Vec::new(), verify=true))]
    fn report(&self, py: Python<'_>, plots: Vec<Vec<String>>, verify: bool) -> PyResult<String> {
        for name in plots.iter().flatten() {
            self.place(name)?;
        }
        let (made, _, memory) = self.made()?;
        let verification = if verify { self.verification(py)? } else { Err("verify=True would tell".into()) };
        let system = &made.compiled.system;
        let html = py.detach(|| {
            let failed = |e: StartError| io::Error::other(e.to_string());
            let mut simulation = bellcrank::begin::simulation(system, made.options.clone()).map_err(failed)?;
            simulation.prove();
            let mut kept = ThinnedFrames::new(&made.options, memory.header().channels.len());
            let summary = simulation.run(&mut kept);
            let mut told = told::run(&summary);
            if let Ok(found) = &verification {
                told.insert("verification".into(), told::verification(found));
            }
            let evidence = Evidence {
                system,
                options: &made.options,
                summary: &summary,
                frames: &kept.memory,
                verification: verification.as_ref().map_err(String::as_str),
            };
            let file = made.compiled.read.document.sources.0.first();
            let (name, text) = file.map_or(("", ""), |s| (s.name.as_str(), s.text.as_str()));
            let sha256 = bellcrank::cli::sha256(text.as_bytes());
            let source = bellcrank_view::ModelText { name, text, sha256, overridden: &made.overrides };
            bellcrank_view::truth_report(&evidence, &source, &told.into(), plots)
        });
        match made.compiled.fault.take() {
            Some(error) => Err(error),
            None => html.map_err(unreadable),
        }
    }

    /// A drawing of channels over time, or over another channel: the text of an SVG file, or the bytes of a PNG.
    #[pyo3(signature = (channels, x=None, logarithmic=false, title=String::new()))]
    fn drawing(
        &self,
        channels: Vec<String>,
        x: Option<String>,
        logarithmic: bool,
        title: String,
    ) -> PyResult<(String, String)> {
        let read = |k: usize| self.frames.column(k).map(<[f64]>::to_vec);
        let names: Vec<&str> = self.frames.names.iter().map(String::as_str).collect();
        let units: Vec<&str> = self.frames.units.iter().map(String::as_str).collect();
        let chosen = channels.iter().map(|name| self.place(name)).collect::<PyResult<Vec<_>>>()?;
        let x = x.map_or(Ok(0), |name| self.place(&name))?;
        let table = bellcrank_view::plot::Table { names: &names, units: &units, read: &read };
        let style = bellcrank_view::plot::Chosen {
            x,
            channels: &chosen,
            logarithmic,
            title: &title,
            span: f64::NEG_INFINITY..=f64::INFINITY,
        };
        let figures = bellcrank_view::plot::figures(&table, &style).map_err(unreadable)?;
        let drawing = bellcrank_view::plot::draw(&figures);
        Ok((drawing.to_svg(), bellcrank_view::plot::terminal(&figures, 80, 16, false)))
    }
}
