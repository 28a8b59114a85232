//! Values as Python writes them, as values of the model file and of options.

use bellcrank_model::build::value::Value;
use bellcrank_model::settings::Given;
use bellcrank_solve::choices::Said;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Lists inside lists: deeper ones are refused before the stack ends.
const DEEPEST: usize = 16;

/// A value of the model file: numbers, texts, symbols, lists, arrays and dictionaries.
pub fn value(key: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(key, given, 0)
}

fn nested(key: &str, given: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("`{key}` is nested too deeply")));
    }
    // a bool is an int to Python: it comes first
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(Value::Flag(flag.is_true()));
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(given.extract()?));
    }
    if given.is_instance_of::<PyInt>() {
        return match given.extract::<i64>() {
            Ok(n) => Ok(Value::Integer(n)),
            Err(_) => Ok(Value::Number(given.extract()?)),
        };
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::Text(text.to_str()?.to_string()));
    }
    if let Ok(table) = given.cast::<PyDict>() {
        let one = |(name, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name = name.extract::<String>().map_err(|_| wrong(&format!("a key in `{key}`"), "a text", &name))?;
            let item = nested(&format!("{key}.{name}"), &item, depth + 1)?;
            // `from` is a word of Python: `from_` stands for it
            Ok((name.strip_suffix('_').map_or(name.clone(), String::from), item))
        };
        return Ok(Value::Table(table.iter().map(one).collect::<PyResult<_>>()?));
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let items = given.try_iter()?.map(|item| nested(key, &item?, depth + 1));
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    if let Ok(expression) = given.getattr("expression").and_then(|text| text.extract::<String>()) {
        return Ok(Value::Text(expression));
    }
    // arrays and numbers of NumPy
    if let Ok(plain) = given.call_method0("tolist") {
        return nested(key, &plain, depth + 1);
    }
    Err(wrong(&format!("`{key}`"), "a number, a text, a list or a dictionary", given))
}

/// What was expected, and what came.
pub fn wrong(what: &str, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let kind = found.get_type().name().map_or_else(|_| "something else".to_string(), |name| name.to_string());
    PyTypeError::new_err(format!("{what} must be {expected}, found {kind}"))
}

/// Keys and values of a section.
pub fn entries(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    let one = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key = key.extract::<String>().map_err(|_| wrong("a key", "a text", &key))?;
        let item = value(&key, &item)?;
        Ok((key, item))
    };
    given.iter().map(one).collect()
}

/// Options that are given as keywords; `None` leaves one out.
pub fn said(given: &Bound<'_, PyDict>) -> PyResult<Vec<Said>> {
    let mut out = Vec::with_capacity(given.len());
    for (key, item) in given.iter() {
        if item.is_none() {
            continue;
        }
        let key: String = key.extract()?;
        let value = match value(&key, &item)? {
            Value::Number(x) => Given::Number(x),
            Value::Integer(n) => Given::Number(n as f64),
            Value::Text(text) => Given::from(text.as_str()),
            Value::Flag(_) => Given::Other("a boolean"),
            Value::List(items) => {
                let text = |item: Value| match item {
                    Value::Text(text) => Some(text),
                    _ => None,
                };
                let texts: Option<Vec<String>> = items.into_iter().map(text).collect();
                texts.map_or(Given::Other("a list"), Given::Texts)
            }
            Value::Table(_) => Given::Other("a dictionary"),
        };
        out.push(Said::argument(key, value));
    }
    Ok(out)
}
