//! The extension module behind `import bellcrank`: it lets Python use the library, and has no mechanics of its own.
//!
//! Values go in as Python writes them and come out as NumPy arrays, Arrow streams and JSON that `python/bellcrank` turns into
//! typed objects. Runs go on without the interpreter's lock.

#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod analyses;
mod arrays;
mod arrow;
mod description;
mod equations;
mod errors;
mod laws;
mod results;
mod running;
mod sensitivity;
mod simulation;
mod studies;
mod value;

use pyo3::prelude::*;
use std::ffi::OsString;

/// The command line of Bellcrank, with these arguments behind its name; gives the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let arguments: Vec<OsString> = std::iter::once("bellcrank".into()).chain(arguments).collect();
    py.detach(|| bellcrank::cli::run_with(arguments))
}

/// Names the command that FMUs of other tools run in.
#[pyfunction]
fn set_fmu_host(command: Vec<OsString>) {
    bellcrank::set_fmu_host(command);
}

/// Names and texts of the examples.
#[pyfunction]
fn examples() -> Vec<(&'static str, &'static str)> {
    bellcrank::cli::EXAMPLES.to_vec()
}

#[pymodule(gil_used = true)]
fn _bellcrank(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<arrays::Array>()?;
    m.add_class::<description::Description>()?;
    m.add_class::<equations::Machine>()?;
    m.add_class::<results::Results>()?;
    m.add_class::<simulation::Simulation>()?;
    m.add_class::<simulation::State>()?;
    m.add_class::<studies::Study>()?;
    m.add_class::<studies::Ledger>()?;
    m.add_class::<studies::StudyTable>()?;
    m.add_function(wrap_pyfunction!(main, m)?)?;
    m.add_function(wrap_pyfunction!(set_fmu_host, m)?)?;
    m.add_function(wrap_pyfunction!(examples, m)?)?;
    m.add_function(wrap_pyfunction!(analyses::check_model, m)?)?;
    m.add_function(wrap_pyfunction!(analyses::plan, m)?)?;
    m.add_function(wrap_pyfunction!(analyses::statics, m)?)?;
    m.add_function(wrap_pyfunction!(analyses::modes_of, m)?)?;
    m.add_function(wrap_pyfunction!(analyses::linearize, m)?)?;
    m.add_function(wrap_pyfunction!(analyses::inverse_of, m)?)?;
    m.add_function(wrap_pyfunction!(sensitivity::sensitivity, m)?)?;
    m.add_function(wrap_pyfunction!(studies::parts_of, m)?)?;
    m.add_function(wrap_pyfunction!(results::open, m)?)?;
    m.add_function(wrap_pyfunction!(errors::nearest, m)?)?;
    Ok(())
}
