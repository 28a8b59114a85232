//! Forces and drives whose laws are Python callables.
//!
//! A force has no way to say that its law failed. So the exception is kept aside, the load becomes NaN, the run is interrupted,
//! and whoever started the run raises the exception.

use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::drives::drive_of;
use bellcrank_model::file::{Expression, Jet, OwnFunction, suggest};
use bellcrank_model::forces::{Law as ForceLaw, Own};
use bellcrank_model::frames::{Attachment, Covector, Frame};
use bellcrank_model::model::{End, ForceEntry, Model};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What went wrong in a callable, and the flag that ends the run.
#[derive(Default)]
pub struct Fault {
    error: Mutex<Option<PyErr>>,
    pub interrupt: Arc<AtomicBool>,
}

impl Fault {
    /// Keeps the first error, and ends the run.
    pub fn set(&self, error: PyErr) {
        let mut slot = self.error.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(error);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// The error, if there is one; the next step may go on.
    pub fn take(&self) -> Option<PyErr> {
        let error = self.error.lock().unwrap_or_else(|e| e.into_inner()).take();
        if error.is_some() {
            self.interrupt.store(false, Ordering::Relaxed);
        }
        error
    }

    fn failed(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// A callable with its place in the model.
pub enum Law {
    /// A load on a point of a body.
    Force { name: String, body: String, on: Option<Vec<f64>>, law: Py<PyAny>, derivative: Option<Py<PyAny>> },
    /// A joint coordinate, or its rate, as a function of time.
    Drive { name: String, joint: String, key: String, law: Py<PyAny>, derivative: Option<Py<PyAny>> },
}

impl Law {
    pub fn name(&self) -> &str {
        match self {
            Law::Force { name, .. } | Law::Drive { name, .. } => name,
        }
    }

    /// Puts it into a model that was read.
    pub fn add(&self, py: Python<'_>, model: &mut Model, fault: &Arc<Fault>) -> PyResult<()> {
        match self {
            Law::Force { name, body, on, law, derivative } => {
                let number = model.bodies.iter().position(|b| b.name == *body).ok_or_else(|| {
                    let near = suggest::nearest(body, model.bodies.iter().map(|b| b.name.as_str()));
                    let help = near.map_or(String::new(), |near| format!("\nhelp: did you mean `{near}`?"));
                    crate::errors::model(format!("force `{name}`: there is no body `{body}`{help}"))
                })?;
                let mut point = [0.0; 3];
                for (to, from) in point.iter_mut().zip(on.iter().flatten()) {
                    *to = *from;
                }
                let place = Attachment::new(Vec3(point), Mat3::IDENTITY);
                let force = Callable {
                    name: name.clone(),
                    law: law.clone_ref(py),
                    derivative: derivative.as_ref().map(|d| d.clone_ref(py)),
                    fault: fault.clone(),
                };
                let ends = vec![End { body: Some(number), on: place }];
                let force = Arc::new(Own(force));
                model.forces.push(ForceEntry { name: name.clone(), kind: "callable", force, ends });
                model.find_stations();
            }
            Law::Drive { name, joint, key, law, derivative } => {
                let function = Callable {
                    name: name.clone(),
                    law: law.clone_ref(py),
                    derivative: derivative.as_ref().map(|d| d.clone_ref(py)),
                    fault: fault.clone(),
                };
                let course = Expression::own(Arc::new(function), name);
                let mut entry = drive_of(model, joint, key, course)
                    .map_err(|(what, help)| crate::errors::model(format!("joint `{name}`: {what}\nhelp: {help}")))?;
                entry.name.clone_from(name);
                model.joints.push(entry);
            }
        }
        Ok(())
    }
}

struct Callable {
    name: String,
    law: Py<PyAny>,
    derivative: Option<Py<PyAny>>,
    fault: Arc<Fault>,
}

fn three(v: Vec3) -> (f64, f64, f64) {
    v.0.into()
}

fn rows(m: &Mat3) -> [(f64, f64, f64); 3] {
    [0, 1, 2].map(|i| three(m.row(i)))
}

impl Callable {
    /// Calls, unless something failed before: then the run ends anyway.
    fn guarded<T>(&self, otherwise: T, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        if self.fault.failed() {
            return otherwise;
        }
        Python::attach(call).unwrap_or_else(|error| {
            self.fault.set(error);
            otherwise
        })
    }

    fn finite(&self, t: f64, numbers: impl IntoIterator<Item = f64>) -> PyResult<()> {
        match numbers.into_iter().find(|x| !x.is_finite()) {
            Some(x) => Err(PyValueError::new_err(format!("the law of `{}` returned {x} at t = {t} s", self.name))),
            None => Ok(()),
        }
    }

    fn wrong(&self, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
        crate::value::wrong(&format!("what the law of `{}` returns", self.name), expected, found)
    }
}

impl ForceLaw for Callable {
    fn load(&self, t: f64, _inputs: &[f64], f: &Frame) -> Covector {
        let nothing = Covector::new(Vec3([f64::NAN; 3]), Vec3([f64::NAN; 3]));
        self.guarded(nothing, |py| {
            let out = self.law.bind(py).call1((t, three(f.p), three(f.v), rows(&f.r), three(f.w)))?;
            let plain = out.call_method0("tolist").unwrap_or_else(|_| out.clone());
            let [force, torque] = match plain.extract::<Vec<f64>>() {
                Ok(force) => [Some(force), None],
                Err(_) => {
                    let pair = plain.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().ok();
                    let vector = |v: &Bound<'_, PyAny>| {
                        let plain = v.call_method0("tolist").unwrap_or_else(|_| v.clone());
                        plain.extract::<Vec<f64>>().or_else(|_| plain.extract::<f64>().map(|z| vec![0.0, 0.0, z])).ok()
                    };
                    pair.and_then(|(force, torque)| Some([Some(vector(&force)?), Some(vector(&torque)?)]))
                        .unwrap_or_default()
                }
            };
            let full = |v: Vec<f64>| match v[..] {
                [x, y] => Some(Vec3([x, y, 0.0])),
                [x, y, z] => Some(Vec3([x, y, z])),
                _ => None,
            };
            let expected = "a force (two or three numbers), or a force and a torque";
            let force = force.and_then(full).ok_or_else(|| self.wrong(expected, &out))?;
            let torque = match torque {
                Some(torque) => full(torque).ok_or_else(|| self.wrong(expected, &out))?,
                None => Vec3::ZERO,
            };
            self.finite(t, force.0.into_iter().chain(torque.0))?;
            Ok(Covector::new(force, torque))
        })
    }

    fn derivatives(&self, t: f64, _inputs: &[f64], f: &Frame) -> Option<[[[Mat3; 2]; 2]; 2]> {
        let derivative = self.derivative.as_ref()?;
        let nothing = [[[Mat3::ZERO; 2]; 2]; 2];
        Some(self.guarded(nothing, |py| {
            let out = derivative.bind(py).call1((t, three(f.p), three(f.v), rows(&f.r), three(f.w)))?;
            let pair = out.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
            let expected = "two 3×3 or 6×6 matrices: by displacement and by velocity";
            let (k, d) = pair.map_err(|_| self.wrong(expected, &out))?;
            let mut found = nothing;
            for (matrix, to) in [k, d].iter().zip(&mut found) {
                let plain = matrix.call_method0("tolist").unwrap_or_else(|_| matrix.clone());
                let rows: Vec<Vec<f64>> = plain.extract().map_err(|_| self.wrong(expected, matrix))?;
                let n = rows.len();
                if !(n == 3 || n == 6) || rows.iter().any(|row| row.len() != n) {
                    return Err(self.wrong(expected, matrix));
                }
                self.finite(t, rows.iter().flatten().copied())?;
                for (i, row) in rows.iter().enumerate() {
                    row.iter().enumerate().for_each(|(j, x)| to[i / 3][j / 3].0[i % 3][j % 3] = *x);
                }
            }
            Ok(found)
        }))
    }
}

impl OwnFunction for Callable {
    fn value(&self, t: f64) -> f64 {
        self.guarded(f64::NAN, |py| {
            let out = self.law.bind(py).call1((t,))?;
            let value = out.extract::<f64>().map_err(|_| self.wrong("a number", &out))?;
            self.finite(t, [value])?;
            Ok(value)
        })
    }

    fn jet(&self, t: f64) -> Jet {
        let Some(derivative) = &self.derivative else { return differences(self, t) };
        let value = self.value(t);
        self.guarded(Jet { value, rate: f64::NAN, second: f64::NAN }, |py| {
            let out = derivative.bind(py).call1((t,))?;
            let pair = out.extract::<(f64, f64)>();
            let (rate, second) = pair.map_err(|_| self.wrong("two numbers: the first and second derivative", &out))?;
            self.finite(t, [rate, second])?;
            Ok(Jet { value, rate, second })
        })
    }
}

/// The derivatives of a drive by the differences that functions have unless they know better.
fn differences(function: &Callable, t: f64) -> Jet {
    struct Plain<'a>(&'a Callable);
    impl OwnFunction for Plain<'_> {
        fn value(&self, t: f64) -> f64 {
            self.0.value(t)
        }
    }
    Plain(function).jet(t)
}
