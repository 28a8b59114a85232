//! Equations of motion that are written in Python: M(q) v̇ = f(t, q, v) − Gᵀλ, g(t, q) = 0.
//!
//! Derivatives that are not given come from differences, so that every formulation and method runs on them.

use crate::errors::{self, Kind, failed, reported, with_result};
use crate::laws::Fault;
use crate::results::Results;
use crate::running::SignalWatch;
use crate::simulation::Simulation;
use crate::value::{said, wrong};
use crate::{arrays, value};
use bellcrank::results::json as told;
use bellcrank::{ColumnMemory, Equations, HandWritten, Options, StartError, Tee};
use bellcrank_model::State;
use bellcrank_solve::choices::{Said, Voice, resolve};
use bellcrank_solve::run::Status;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The callables by their names, and the sizes.
struct Laws {
    n: usize,
    m: usize,
    names: Vec<String>,
    mass: Py<PyAny>,
    force: Py<PyAny>,
    constraint: Option<Py<PyAny>>,
    jacobian: Option<Py<PyAny>>,
    force_q: Option<Py<PyAny>>,
    force_v: Option<Py<PyAny>>,
}

/// The laws of one run, and where their exceptions go.
struct Called {
    laws: Arc<Laws>,
    fault: Arc<Fault>,
}

/// Steps of differences, against the size of what is moved: of first derivatives of a law, and of those of differences.
const FIRST: f64 = 6e-6;
const SECOND: f64 = 2e-4;

/// What the laws are called with.
enum Arguments<'a> {
    Q(&'a [f64]),
    TQ(f64, &'a [f64]),
    Tqv(f64, &'a [f64], &'a [f64]),
}

impl Called {
    /// The numbers that a law returns, in rows; NaN once anything has failed.
    fn call(&self, name: &str, law: &Py<PyAny>, arguments: Arguments, out: &mut [f64]) {
        let t = match &arguments {
            Arguments::Q(_) => None,
            Arguments::TQ(t, _) | Arguments::Tqv(t, ..) => Some(*t),
        };
        let called = Python::attach(|py| -> PyResult<()> {
            let array = |x: &[f64]| arrays::vector(py, x.to_vec());
            let law = law.bind(py);
            let found = match arguments {
                Arguments::Q(q) => law.call1((array(q)?,))?,
                Arguments::TQ(t, q) => law.call1((t, array(q)?))?,
                Arguments::Tqv(t, q, v) => law.call1((t, array(q)?, array(v)?))?,
            };
            let plain = found.call_method0("tolist").unwrap_or_else(|_| found.clone());
            let flat = match plain.extract::<Vec<Vec<f64>>>() {
                Ok(rows) => rows.concat(),
                Err(_) => plain
                    .extract::<Vec<f64>>()
                    .or_else(|_| plain.extract::<f64>().map(|x| vec![x]))
                    .map_err(|_| wrong(&format!("what `{name}` returns"), "numbers", &found))?,
            };
            let at = t.map_or(String::new(), |t| format!(" at t = {t} s"));
            if flat.len() != out.len() {
                let (found, wanted) = (flat.len(), out.len());
                return Err(PyValueError::new_err(format!("`{name}` returned {found} numbers{at}, expected {wanted}")));
            }
            if let Some(x) = flat.iter().find(|x| !x.is_finite()) {
                return Err(PyValueError::new_err(format!("`{name}` returned {x}{at}")));
            }
            out.copy_from_slice(&flat);
            Ok(())
        });
        if let Err(error) = called {
            self.fault.set(error);
            out.fill(f64::NAN);
        }
    }

    fn mass_at(&self, q: &[f64]) -> Vec<f64> {
        let mut m = vec![0.0; self.laws.n * self.laws.n];
        self.mass(q, &mut m);
        m
    }

    fn jacobian_at(&self, t: f64, q: &[f64]) -> Vec<f64> {
        let mut g = vec![0.0; self.laws.m * self.laws.n];
        self.jacobian(t, q, &mut g);
        g
    }

    fn constraint_at(&self, t: f64, q: &[f64]) -> Vec<f64> {
        let mut g = vec![0.0; self.laws.m];
        self.constraint(t, q, &mut g);
        g
    }
}

/// out[i][j] = ∂fᵢ/∂xⱼ by central differences; `f` has as many components as `out` has rows.
fn differences(step: f64, x: &[f64], out: &mut [f64], mut f: impl FnMut(&[f64]) -> Vec<f64>) {
    let n = x.len();
    let mut moved = x.to_vec();
    for j in 0..n {
        let h = step * x[j].abs().max(1.0);
        moved[j] = x[j] + h;
        let up = f(&moved);
        moved[j] = x[j] - h;
        let down = f(&moved);
        moved[j] = x[j];
        up.iter().zip(&down).enumerate().for_each(|(i, (a, b))| out[i * n + j] = (a - b) / (2.0 * h));
    }
}

/// A x for a matrix by rows.
fn times(a: &[f64], x: &[f64]) -> Vec<f64> {
    a.chunks_exact(x.len().max(1)).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// Aᵀ x.
fn transposed(a: &[f64], x: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for (row, x) in a.chunks_exact(n.max(1)).zip(x) {
        out.iter_mut().zip(row).for_each(|(o, a)| *o += a * x);
    }
    out
}

impl Equations for Called {
    fn coordinates(&self) -> usize {
        self.laws.n
    }
    fn constraints(&self) -> usize {
        self.laws.m
    }
    fn mass(&self, q: &[f64], m: &mut [f64]) {
        self.call("mass", &self.laws.mass, Arguments::Q(q), m);
    }
    fn mass_derivative(&self, q: &[f64], a: &[f64], out: &mut [f64]) {
        differences(FIRST, q, out, |q| times(&self.mass_at(q), a));
    }
    fn force(&self, t: f64, q: &[f64], v: &[f64], f: &mut [f64]) {
        self.call("force", &self.laws.force, Arguments::Tqv(t, q, v), f);
    }
    fn force_q(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        match &self.laws.force_q {
            Some(law) => self.call("force_q", law, Arguments::Tqv(t, q, v), out),
            None => differences(FIRST, q, out, |q| {
                let mut f = vec![0.0; self.laws.n];
                self.force(t, q, v, &mut f);
                f
            }),
        }
    }
    fn force_v(&self, t: f64, q: &[f64], v: &[f64], out: &mut [f64]) {
        match &self.laws.force_v {
            Some(law) => self.call("force_v", law, Arguments::Tqv(t, q, v), out),
            None => differences(FIRST, v, out, |v| {
                let mut f = vec![0.0; self.laws.n];
                self.force(t, q, v, &mut f);
                f
            }),
        }
    }
    fn constraint(&self, t: f64, q: &[f64], g: &mut [f64]) {
        if let Some(law) = &self.laws.constraint {
            self.call("constraint", law, Arguments::TQ(t, q), g);
        }
    }
    fn jacobian(&self, t: f64, q: &[f64], out: &mut [f64]) {
        match &self.laws.jacobian {
            Some(law) => self.call("jacobian", law, Arguments::TQ(t, q), out),
            None => differences(FIRST, q, out, |q| self.constraint_at(t, q)),
        }
    }
    fn jacobian_derivative(&self, t: f64, q: &[f64], u: &[f64], out: &mut [f64]) {
        differences(self.second(), q, out, |q| times(&self.jacobian_at(t, q), u));
    }
    fn multiplier_derivative(&self, t: f64, q: &[f64], lambda: &[f64], out: &mut [f64]) {
        differences(self.second(), q, out, |q| transposed(&self.jacobian_at(t, q), lambda, self.laws.n));
    }
    fn constraint_t(&self, t: f64, q: &[f64], out: &mut [f64]) {
        let h = FIRST * t.abs().max(1.0);
        let (a, b) = (self.constraint_at(t + h, q), self.constraint_at(t - h, q));
        out.iter_mut().enumerate().for_each(|(i, o)| *o = (a[i] - b[i]) / (2.0 * h));
    }
    fn constraint_tt(&self, t: f64, q: &[f64], out: &mut [f64]) {
        let h = SECOND * t.abs().max(1.0);
        let (a, b, c) = (self.constraint_at(t + h, q), self.constraint_at(t, q), self.constraint_at(t - h, q));
        out.iter_mut().enumerate().for_each(|(i, o)| *o = (a[i] - 2.0 * b[i] + c[i]) / (h * h));
    }
    fn jacobian_t(&self, t: f64, q: &[f64], out: &mut [f64]) {
        let h = self.second() * t.abs().max(1.0);
        let (a, b) = (self.jacobian_at(t + h, q), self.jacobian_at(t - h, q));
        out.iter_mut().enumerate().for_each(|(i, o)| *o = (a[i] - b[i]) / (2.0 * h));
    }
    fn name(&self, i: usize) -> String {
        self.laws.names[i].clone()
    }
}

impl Called {
    /// The step for derivatives of G: a larger one where G itself is made of differences.
    fn second(&self) -> f64 {
        if self.laws.jacobian.is_some() { FIRST } else { SECOND }
    }
}

/// Equations of motion with a start.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct Machine {
    name: String,
    laws: Arc<Laws>,
    q: Vec<f64>,
    v: Vec<f64>,
}

impl Machine {
    fn machine(&self, fault: &Arc<Fault>) -> bellcrank::Machine {
        let called = Called { laws: self.laws.clone(), fault: fault.clone() };
        let state = State { q: self.q.clone(), v: self.v.clone(), ..State::default() };
        bellcrank::Machine::equations(self.name.clone(), Arc::new(HandWritten::new(called)), &state)
    }

    fn options(&self, said: &[Said], fault: &Fault) -> PyResult<Options> {
        let mut options =
            resolve(said).map_err(|e| reported(Kind::Option, &bellcrank::Report::from(e.diagnostic(Voice::Python))))?;
        options.resources.interrupt = fault.interrupt.clone();
        Ok(options)
    }
}

fn not_started(fault: &Fault, e: StartError) -> PyErr {
    match (fault.take(), e) {
        (Some(error), _) => error,
        (None, StartError::Option(e)) => reported(Kind::Option, &bellcrank::Report::from(e.diagnostic(Voice::Python))),
        (None, StartError::Assembly(e)) => errors::model(e),
        (None, StartError::Step(e)) => errors::step(&e),
    }
}

#[pymethods]
impl Machine {
    /// From callables: `mass(q)`, `force(t, q, v)`, `constraint(t, q)`, and derivatives that are known.
    #[new]
    #[pyo3(signature = (name, names, q, v, mass, force, constraint=None, constraints=0, derivatives=None))]
    fn new(
        name: String,
        names: Vec<String>,
        q: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        mass: Py<PyAny>,
        force: Py<PyAny>,
        constraint: Option<Py<PyAny>>,
        constraints: usize,
        derivatives: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Machine> {
        let (q, v) = (arrays::numbers("`q`", q)?, arrays::numbers("`v`", v)?);
        let n = q.len();
        if n == 0 || v.len() != n || q.iter().chain(&v).any(|x| !x.is_finite()) {
            return Err(PyValueError::new_err("`q` and `v` must be finite numbers, as many of each and at least one"));
        }
        let names = if names.is_empty() { (1..=n).map(|i| format!("q{i}")).collect() } else { names };
        if names.len() != n {
            return Err(PyValueError::new_err(format!("there are {} names for {n} coordinates", names.len())));
        }
        let known = |key: &str| -> PyResult<Option<Py<PyAny>>> {
            let found = derivatives.map_or(Ok(None), |d| d.get_item(key))?;
            Ok(found.filter(|law| !law.is_none()).map(Bound::unbind))
        };
        let (jacobian, force_q, force_v) = (known("jacobian")?, known("force_q")?, known("force_v")?);
        let laws = Laws { n, m: constraints, names, mass, force, constraint, jacobian, force_q, force_v };
        Ok(Machine { name, laws: Arc::new(laws), q, v })
    }

    /// Runs to the end.
    #[pyo3(signature = (solve, progress=None))]
    fn run(&self, py: Python<'_>, solve: &Bound<'_, PyDict>, progress: Option<Py<PyAny>>) -> PyResult<Results> {
        let (fault, said) = (Arc::new(Fault::default()), said(solve)?);
        let options = self.options(&said, &fault)?;
        let (mut frames, machine) = (ColumnMemory::default(), self.machine(&fault));
        let mut watch = SignalWatch::new(progress, fault.interrupt.clone());
        let ended = py.detach(|| {
            let mut simulation = bellcrank::Simulation::new(machine, options)?;
            Ok(simulation.run(&mut Tee(vec![&mut frames, &mut watch])))
        });
        let summary = ended.map_err(|e| not_started(&fault, e))?;
        let error = fault.take().or(watch.error).or_else(|| match &summary.status {
            Status::Failed(e) => Some(errors::step(e)),
            Status::Interrupted => Some(failed(format!("interrupted at t = {} s", summary.t))),
            Status::Finished => None,
        });
        let results = Results::of_equations(frames, told::whole(&summary));
        match error {
            None => Ok(results),
            Some(error) => Err(with_result(py, error, results)),
        }
    }

    /// A simulation at its start, to be stepped.
    fn simulate(&self, py: Python<'_>, solve: &Bound<'_, PyDict>) -> PyResult<Simulation> {
        let (fault, said) = (Arc::new(Fault::default()), value::said(solve)?);
        let options = self.options(&said, &fault)?;
        let machine = self.machine(&fault);
        let made = py.detach(|| bellcrank::Simulation::new(machine, options));
        let made = made.map_err(|e| not_started(&fault, e))?;
        let interrupt = fault.interrupt.clone();
        Ok(Simulation::of(made, Vec::new(), fault, interrupt))
    }
}
