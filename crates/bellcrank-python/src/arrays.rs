//! NumPy arrays over memory of the library, by the array interface: nothing is copied, and nothing of NumPy is compiled in.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::sync::Arc;

/// Numbers that NumPy looks at; it keeps them alive as long as an array does.
#[pyclass(frozen, module = "bellcrank._bellcrank")]
pub struct Array {
    /// Whoever owns the numbers.
    _owner: Arc<dyn Any + Send + Sync>,
    address: usize,
    shape: Vec<usize>,
    read_only: bool,
}

#[pymethods]
impl Array {
    /// See NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", if cfg!(target_endian = "little") { "<f8" } else { ">f8" })?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("data", (self.address, self.read_only))?;
        Ok(interface)
    }
}

fn array<'py>(py: Python<'py>, view: Array) -> PyResult<Bound<'py, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = AS_ARRAY.get_or_try_init(py, || py.import("numpy")?.getattr("asarray").map(Bound::unbind))?;
    make.bind(py).call1((view,))
}

/// An array that looks at numbers which somebody else owns, and cannot be written to.
pub fn view<'py>(py: Python<'py>, owner: Arc<dyn Any + Send + Sync>, numbers: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    let (address, shape) = (numbers.as_ptr() as usize, vec![numbers.len()]);
    array(py, Array { _owner: owner, address, shape, read_only: true })
}

/// An array of its own, which can be written to.
pub fn owned<'py>(py: Python<'py>, numbers: Vec<f64>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    // nobody else has this memory: NumPy may write to it
    let address = numbers.as_ptr() as usize;
    array(py, Array { _owner: Arc::new(numbers), address, shape: shape.to_vec(), read_only: false })
}

/// A vector.
pub fn vector(py: Python<'_>, numbers: Vec<f64>) -> PyResult<Bound<'_, PyAny>> {
    let n = numbers.len();
    owned(py, numbers, &[n])
}

/// The numbers of a list, a tuple or an array with one dimension.
pub fn numbers(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let plain = given.call_method0("tolist").unwrap_or_else(|_| given.clone());
    plain.extract::<Vec<f64>>().map_err(|_| crate::value::wrong(what, "a list of numbers", given))
}
