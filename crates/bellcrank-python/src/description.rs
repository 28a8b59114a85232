//! A model as Python holds it: a file or sections written in code, values set since, callables, and the equations once made.

use crate::errors::{self, Kind, reported};
use crate::laws::{Fault, Law};
use crate::value::{entries, said, value, wrong};
use bellcrank::fmu::{ExportError, Kinds, Version};
use bellcrank::places::{not_started, refused};
use bellcrank::{Options, Read, StartError, System, read_text};
use bellcrank_model::build::{self, value::Value};
use bellcrank_model::file::bounded;
use bellcrank_solve::choices::{Said, Voice, in_file, understood};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// A model that was read and compiled.
pub struct Compiled {
    /// What is left of the file, for messages.
    pub read: Read,
    pub system: Arc<System>,
    /// Where its callables put their exceptions.
    pub fault: Arc<Fault>,
    /// Whether it has any.
    pub has_laws: bool,
}

impl Compiled {
    /// The options of `[solve]` under those of arguments.
    pub fn options(&self, arguments: &[Said]) -> PyResult<Options> {
        let chosen = Options::from_arguments(&self.read.settings, arguments);
        let mut options =
            chosen.map_err(|e| reported(Kind::Option, &refused(&self.read, arguments, e, Voice::Python)))?;
        if self.has_laws {
            options.resources.interrupt = self.fault.interrupt.clone();
        }
        Ok(options)
    }

    /// Why a run does not start; a callable that failed is the reason itself.
    pub fn not_started(&self, arguments: &[Said], error: StartError) -> PyErr {
        if let Some(error) = self.fault.take() {
            return error;
        }
        let kind = match error {
            StartError::Option(_) => Kind::Option,
            StartError::Assembly(_) => Kind::Model,
            StartError::Step(_) => Kind::Simulation,
        };
        reported(kind, &not_started(&self.read, arguments, error, Voice::Python))
    }
}

/// Where a model comes from.
#[derive(Clone)]
enum ModelSource {
    /// A text under the name of its file: messages point into it.
    Text { name: String, text: Arc<str> },
    /// Sections that are, or were, changed in code.
    Built(build::Model),
    /// A robot file.
    Robot(Arc<bellcrank::robots::Robots>),
}

#[derive(Clone)]
struct Inner {
    source: ModelSource,
    overrides: Vec<String>,
    laws: Vec<Arc<Law>>,
    /// How often it was changed.
    changes: usize,
    compiled: Option<Arc<Compiled>>,
}

impl Inner {
    fn of(source: ModelSource) -> Inner {
        Inner { source, overrides: Vec::new(), laws: Vec::new(), changes: 0, compiled: None }
    }

    fn changed(&mut self) {
        self.changes += 1;
        self.compiled = None;
    }

    fn read(&self) -> Result<Read, bellcrank::Report> {
        let read = match &self.source {
            ModelSource::Text { name, text } => read_text(name, text, &self.overrides)?,
            ModelSource::Built(model) => model.read_with(&self.overrides)?,
            ModelSource::Robot(robot) => robot.read(&self.overrides)?,
        };
        match understood(&in_file(&read.settings)) {
            Ok(_) => Ok(read),
            Err(e) => Err(refused(&read, &[], e, Voice::File)),
        }
    }

    fn compile(&mut self, py: Python<'_>) -> PyResult<Arc<Compiled>> {
        if let Some(compiled) = &self.compiled {
            return Ok(compiled.clone());
        }
        let mut read = self.read().map_err(|report| reported(Kind::Model, &report))?;
        let mut model = std::mem::take(&mut read.model);
        let fault = Arc::new(Fault::default());
        for law in &self.laws {
            let taken = model.forces.iter().map(|f| &f.name).chain(model.joints.iter().map(|j| &j.name));
            if taken.into_iter().any(|name| name == law.name()) {
                return Err(errors::model(format!("`{}` is defined twice", law.name())));
            }
            law.add(py, &mut model, &fault)?;
        }
        let compiled =
            Arc::new(Compiled { read, system: Arc::new(model.into_system()), fault, has_laws: !self.laws.is_empty() });
        // callables report to the run that calls them: each run has equations of its own
        if self.laws.is_empty() {
            self.compiled = Some(compiled.clone());
        }
        Ok(compiled)
    }

    /// The sections, to be changed.
    fn add(&mut self, section: &str, name: &str, values: Vec<(String, Value)>) -> Result<(), bellcrank::Report> {
        self.changed();
        if let ModelSource::Text { name, text } = &self.source {
            self.source = ModelSource::Built(build::Model::parse(name, text, &[])?);
        } else if let ModelSource::Robot(robot) = &self.source {
            // what bodies look like stays with the file
            self.source = ModelSource::Built(robot.model.clone());
        }
        if let ModelSource::Built(model) = &mut self.source {
            model.add(section, name, values);
        }
        Ok(())
    }

    /// The text of a file: as it was read, or from its sections.
    fn to_toml(&self) -> Result<String, bellcrank::Report> {
        let text = match &self.source {
            ModelSource::Text { name, text }
                if self.overrides.is_empty() && !name.to_lowercase().ends_with(".json") =>
            {
                return Ok(text.to_string());
            }
            ModelSource::Text { name, text } => return Ok(build::Model::parse(name, text, &self.overrides)?.to_toml()),
            ModelSource::Built(model) => model.to_toml(),
            ModelSource::Robot(robot) => robot.model.to_toml(),
        };
        match self.overrides.is_empty() {
            true => Ok(text),
            false => Ok(build::Model::parse("model.toml", &text, &self.overrides)?.to_toml()),
        }
    }
}

/// A model: its sections, values that were set since, and callables.
///
/// Nothing of Python runs while the lock is held: another thread that waits for it may hold the interpreter.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct Description(Mutex<Inner>);

impl Description {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The equations; a model with callables makes new ones each time.
    pub fn compiled(&self, py: Python<'_>) -> PyResult<Arc<Compiled>> {
        let mut inner = self.inner().clone();
        if let Some(compiled) = inner.compiled {
            return Ok(compiled);
        }
        let compiled = inner.compile(py)?;
        let mut now = self.inner();
        if now.changes == inner.changes {
            now.compiled = inner.compiled;
        }
        Ok(compiled)
    }

    /// The name and the text of its file, and the values that were set; a Python function is in no file.
    pub fn content(&self) -> PyResult<(String, String, Vec<String>)> {
        let inner = self.inner().clone();
        if let Some(law) = inner.laws.first() {
            let help = "write the law as an expression, or call `Model.run` in a loop";
            let text = format!("`{}` is a Python function: runs of a study cannot wait for Python", law.name());
            return Err(errors::model(format!("{text}\nhelp: {help}")));
        }
        let (name, text) = match &inner.source {
            ModelSource::Text { name, text } => (name.clone(), text.to_string()),
            ModelSource::Built(model) => (model.path().to_string_lossy().into_owned(), model.to_toml()),
            ModelSource::Robot(robot) => (robot.model.path().to_string_lossy().into_owned(), robot.model.to_toml()),
        };
        Ok((name, text, inner.overrides))
    }

    /// The values that were set.
    pub fn overrides(&self) -> Vec<String> {
        self.inner().overrides.clone()
    }
}

#[pymethods]
impl Description {
    /// A model without sections but `[model]`.
    #[new]
    #[pyo3(signature = (name, header, folder))]
    fn new(name: &str, header: &Bound<'_, PyDict>, folder: PathBuf) -> PyResult<Description> {
        let mut model = build::Model::spatial(name).folder(folder);
        model.add("model", "", entries(header)?);
        Ok(Description(Mutex::new(Inner::of(ModelSource::Built(model)))))
    }

    /// A model from a text, under the name of the file it is in; it is read at once.
    #[staticmethod]
    fn parse(py: Python<'_>, name: String, text: &str) -> PyResult<Description> {
        let mut inner = Inner::of(ModelSource::Text { name, text: text.into() });
        inner.compile(py)?;
        Ok(Description(Mutex::new(inner)))
    }

    /// A model from a file; it is read at once.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Description> {
        let name = path.to_string_lossy().into_owned();
        if bellcrank::robots::is_robot(&name) {
            return Description::robot(py, name, None, false, None, false, Vec::new(), None, None);
        }
        let bytes = bounded::read_stream(&path, bounded::LARGEST).ok();
        let text = match bytes.and_then(|b| String::from_utf8(b).ok()) {
            Some(text) => text,
            // the reader tells it in its own words
            None => match bellcrank::read_model(&name, &[]) {
                Err(report) => return Err(reported(Kind::Model, &report)),
                Ok(_) => return Err(PyValueError::new_err(format!("{name} changed while it was read"))),
            },
        };
        Description::parse(py, name, &text)
    }

    /// A model from a robot file: URDF, MJCF or SDF.
    #[staticmethod]
    #[pyo3(signature = (path, base=None, repair=false, stops=None, inputs=false, package_roots=Vec::new(), loops=None, ground=None))]
    fn robot(
        py: Python<'_>,
        path: String,
        base: Option<&str>,
        repair: bool,
        stops: Option<f64>,
        inputs: bool,
        package_roots: Vec<PathBuf>,
        loops: Option<PathBuf>,
        ground: Option<&str>,
    ) -> PyResult<Description> {
        use bellcrank::robots::{Base, Ground, RobotOptions};
        let base = match base {
            None => None,
            Some("fixed") => Some(Base::Fixed),
            Some("free") => Some(Base::Free),
            Some(other) => {
                return Err(PyValueError::new_err(format!("`base` is \"{other}\", and can be \"fixed\" or \"free\"")));
            }
        };
        if stops.is_some_and(|k| !k.is_finite() || k <= 0.0) {
            return Err(PyValueError::new_err("`stops` is a stiffness, and must be positive"));
        }
        let told = ground;
        let ground = told.and_then(Ground::parse);
        if let (Some(word), None) = (told, ground) {
            let message = format!("`ground` is {word}, and can be \"hard\" or a stiffness, which must be positive");
            return Err(PyValueError::new_err(message));
        }
        let roots = package_roots;
        let options = RobotOptions { base, repair, stops, ground, inputs, roots, loops, ..RobotOptions::default() };
        let robot = bellcrank::robots::open(&path, &options).map_err(|report| reported(Kind::Model, &report))?;
        let mut inner = Inner::of(ModelSource::Robot(Arc::new(robot)));
        inner.compile(py)?;
        Ok(Description(Mutex::new(inner)))
    }

    /// What was left out of a robot file, as (what, why, names), and what else there is to tell.
    fn left_out(&self) -> (Vec<(String, String, Vec<String>)>, Vec<String>) {
        match &self.inner().source {
            ModelSource::Robot(robot) => {
                let left = robot.told.left_out.iter().map(|l| (l.what.clone(), l.why.clone(), l.names.clone()));
                (left.collect(), robot.told.notes.clone())
            }
            _ => Default::default(),
        }
    }

    /// Adds a section, or keys to one without a name.
    fn add(&self, section: &str, name: &str, values: &Bound<'_, PyDict>) -> PyResult<()> {
        let values = entries(values)?;
        let added = self.inner().add(section, name, values);
        added.map_err(|report| reported(Kind::Model, &report))
    }

    /// Adds a force by a callable on a point of a body.
    #[pyo3(signature = (name, body, law, on=None, derivative=None))]
    fn add_law(
        &self,
        name: String,
        body: String,
        law: Bound<'_, PyAny>,
        on: Option<Bound<'_, PyAny>>,
        derivative: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let on = on.map(|on| crate::arrays::numbers("`on`", &on)).transpose()?;
        if on.as_ref().is_some_and(|on| !(2..=3).contains(&on.len()) || on.iter().any(|x| !x.is_finite())) {
            return Err(PyValueError::new_err("`on` must be a point: two or three finite numbers"));
        }
        let (law, derivative) = callables(law, derivative)?;
        self.push(Law::Force { name, body, on, law, derivative });
        Ok(())
    }

    /// Adds a drive of a joint coordinate, or of its rate, by a callable.
    #[pyo3(signature = (name, joint, key, law, derivative=None))]
    fn add_drive(
        &self,
        name: String,
        joint: String,
        key: String,
        law: Bound<'_, PyAny>,
        derivative: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (law, derivative) = callables(law, derivative)?;
        self.push(Law::Drive { name, joint, key, law, derivative });
        Ok(())
    }

    /// A copy with other values, by their paths; it is read at once.
    fn replaced(&self, py: Python<'_>, values: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Description> {
        let mut inner = self.inner().clone();
        for (path, given) in values {
            inner.overrides.push(format!("{path}={}", value(&path, &given)?));
        }
        inner.changed();
        inner.compile(py)?;
        Ok(Description(Mutex::new(inner)))
    }

    /// A copy that can be changed without the other.
    fn copy(&self) -> Description {
        Description(Mutex::new(self.inner().clone()))
    }

    /// The model as the text of a file: as it was read, or from its sections.
    fn to_toml(&self) -> PyResult<String> {
        let inner = self.inner().clone();
        if let Some(law) = inner.laws.first() {
            let help = "write the law as an expression, or keep the model in Python";
            let name = law.name();
            return Err(errors::model(format!("`{name}` is a Python function: no file can hold it\nhelp: {help}")));
        }
        inner.to_toml().map_err(|report| reported(Kind::Model, &report))
    }

    /// Writes the model as an FMU of a version of the standard, 2 or 3.
    fn to_fmu(
        &self,
        py: Python<'_>,
        out: PathBuf,
        version: u8,
        kinds: &str,
        outputs: Vec<String>,
        ports: Vec<String>,
    ) -> PyResult<()> {
        let text = self.to_toml()?;
        let kinds = Kinds::parse(kinds).map_err(|e| PyValueError::new_err(format!("`kind`: {e}")))?;
        let version = if version == 2 { Version::Two } else { Version::Three };
        let path = match self.inner().source.clone() {
            ModelSource::Text { name, .. } => PathBuf::from(name).with_extension("toml"),
            ModelSource::Built(model) => model.path(),
            ModelSource::Robot(robot) => robot.model.path().with_extension("toml"),
        };
        let path = path.to_string_lossy().into_owned();
        let written =
            py.detach(|| bellcrank::fmu::write(&out, (&path, &text), &[], (version, kinds), &outputs, &ports));
        match written {
            Ok(_) => Ok(()),
            Err(ExportError::Model(report)) => Err(reported(Kind::Model, &report)),
            Err(ExportError::Start(e)) => Err(self.compiled(py)?.not_started(&[], *e)),
            Err(ExportError::Write(path, e)) => {
                Err(PyOSError::new_err(format!("cannot write {}: {e}", path.display())))
            }
            Err(e) => Err(errors::model(e)),
        }
    }

    /// What a copy in another process is made of.
    fn parts(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let inner = self.inner().clone();
        let (name, text, built) = match &inner.source {
            ModelSource::Text { name, text } => (name.clone(), text.to_string(), false),
            ModelSource::Built(model) => (model.path().to_string_lossy().into_owned(), model.to_toml(), true),
            ModelSource::Robot(robot) => {
                (robot.model.path().to_string_lossy().into_owned(), robot.model.to_toml(), true)
            }
        };
        let part = |law: &Arc<Law>| {
            let keep = |d: &Option<Py<PyAny>>| d.as_ref().map(|d| d.clone_ref(py));
            match &**law {
                Law::Force { name, body, on, law, derivative } => (
                    "force",
                    name.clone(),
                    body.clone(),
                    String::new(),
                    on.clone(),
                    law.clone_ref(py),
                    keep(derivative),
                ),
                Law::Drive { name, joint, key, law, derivative } => {
                    ("drive", name.clone(), joint.clone(), key.clone(), None, law.clone_ref(py), keep(derivative))
                }
            }
        };
        let laws: Vec<_> = inner.laws.iter().map(part).collect();
        let overrides = inner.overrides.clone();
        Ok((name, text, built, overrides, laws).into_pyobject(py)?.into_any().unbind())
    }

    /// The copy that is made of these parts.
    #[staticmethod]
    fn of_parts(
        name: String,
        text: &str,
        built: bool,
        overrides: Vec<String>,
        laws: Vec<(String, String, String, String, Option<Vec<f64>>, Py<PyAny>, Option<Py<PyAny>>)>,
    ) -> PyResult<Description> {
        let source = match built {
            true => {
                let model = build::Model::parse(&name, text, &[]);
                ModelSource::Built(model.map_err(|report| reported(Kind::Model, &report))?)
            }
            false => ModelSource::Text { name, text: text.into() },
        };
        let laws = laws.into_iter().map(|(kind, name, of, key, on, law, derivative)| {
            Arc::new(match kind.as_str() {
                "drive" => Law::Drive { name, joint: of, key, law, derivative },
                _ => Law::Force { name, body: of, on, law, derivative },
            })
        });
        let laws = laws.collect();
        Ok(Description(Mutex::new(Inner { source, overrides, laws, changes: 0, compiled: None })))
    }

    /// The name.
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.compiled(py)?.system.model.name.clone())
    }

    /// Names of bodies, joints, forces or probes.
    fn names(&self, py: Python<'_>, section: &str) -> PyResult<Vec<String>> {
        let compiled = self.compiled(py)?;
        let model = &compiled.system.model;
        Ok(match section {
            "body" => model.bodies.iter().filter(|b| b.is_shown()).map(|b| b.name.clone()).collect(),
            "joint" => model.joints.iter().map(|j| j.name.clone()).collect(),
            "force" => model.forces.iter().map(|f| f.name.clone()).collect(),
            _ => model.probes.iter().map(|p| p.name.clone()).collect(),
        })
    }

    /// Names and values of the parameters.
    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let compiled = self.compiled(py)?;
        Ok(compiled.read.parameters.iter().map(|(name, value)| (name.to_string(), value)).collect())
    }

    /// Names and starts of the inputs.
    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<(String, f64)>> {
        let compiled = self.compiled(py)?;
        Ok(compiled.system.model.own_inputs().iter().map(|i| (i.name.clone(), i.start)).collect())
    }

    /// Names and units of the channels.
    fn channels(&self, py: Python<'_>) -> PyResult<Vec<(String, &'static str)>> {
        use bellcrank_model::dynamics::roles::*;
        let compiled = self.compiled(py)?;
        Ok(compiled.system.channels().into_iter().map(|c| (c.name, c.unit)).collect())
    }

    /// Runs to the end.
    #[pyo3(signature = (solve, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        solve: &Bound<'_, PyDict>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<crate::results::Results> {
        crate::running::run(py, self.compiled(py)?, said(solve)?, self.overrides(), progress)
    }

    /// A simulation at its start, to be stepped.
    fn simulate(&self, py: Python<'_>, solve: &Bound<'_, PyDict>) -> PyResult<crate::simulation::Simulation> {
        crate::simulation::Simulation::start(py, self.compiled(py)?, &said(solve)?)
    }
}

impl Description {
    fn push(&self, law: Law) {
        let mut inner = self.inner();
        inner.laws.push(Arc::new(law));
        inner.changed();
    }
}

/// A law and its derivative, which must be callable.
fn callables(law: Bound<'_, PyAny>, derivative: Option<Bound<'_, PyAny>>) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    if !law.is_callable() {
        return Err(wrong("a law", "a function", &law));
    }
    if let Some(derivative) = derivative.as_ref().filter(|d| !d.is_callable()) {
        return Err(wrong("`derivative`", "a function", derivative));
    }
    Ok((law.unbind(), derivative.map(Bound::unbind)))
}
