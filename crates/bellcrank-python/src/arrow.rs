//! Results as an Arrow stream, by Arrow's C interface: one batch of columns for each chunk of frames, nothing copied.

use crate::results::ColumnFrames;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

// SAFETY: it is handed over in a capsule, to one owner at a time
unsafe impl Send for ArrowSchema {}
// SAFETY: as above
unsafe impl Send for ArrowArrayStream {}

/// The pointers of a structure's children, and whatever else must live as long as it.
struct Owned<T, K> {
    children: Vec<*mut T>,
    _kept: K,
}

/// Defines how a structure is released: its children first, unless somebody has taken them over.
macro_rules! release {
    ($name:ident, $type:ty, $kept:ty) => {
        unsafe extern "C" fn $name(it: *mut $type) {
            // SAFETY: `private_data` and the children come from `Box::into_raw` below, and `release` is called once
            unsafe {
                let owned = Box::from_raw((*it).private_data as *mut Owned<$type, $kept>);
                for child in &owned.children {
                    if let Some(release) = (**child).release {
                        release(*child);
                    }
                    drop(Box::from_raw(*child));
                }
                (*it).release = None;
            }
        }
    };
}

/// The texts of a schema.
struct Texts {
    format: CString,
    name: CString,
    metadata: Vec<u8>,
}

/// The frames that an array looks into, and its buffers.
struct Buffers {
    _frames: Arc<ColumnFrames>,
    buffers: Vec<*const c_void>,
}

release!(release_schema, ArrowSchema, Texts);
release!(release_array, ArrowArray, Buffers);

/// Boxes children, so that their addresses stay.
fn boxed<T>(children: Vec<T>) -> Vec<*mut T> {
    children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect()
}

/// Pairs of texts as Arrow has them in its metadata.
fn metadata(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut out = (pairs.len() as i32).to_ne_bytes().to_vec();
    for text in pairs.iter().flat_map(|(key, value)| [key, value]) {
        out.extend((text.len() as i32).to_ne_bytes());
        out.extend(text.as_bytes());
    }
    out
}

fn schema(format: &str, name: &str, metadata: Vec<u8>, children: Vec<ArrowSchema>) -> PyResult<ArrowSchema> {
    let text = |s: &str| CString::new(s).map_err(|_| PyValueError::new_err("the name of a channel holds a NUL"));
    let kept = Texts { format: text(format)?, name: text(name)?, metadata };
    let mut owned = Box::new(Owned { children: boxed(children), _kept: kept });
    Ok(ArrowSchema {
        format: owned._kept.format.as_ptr(),
        name: owned._kept.name.as_ptr(),
        metadata: if owned._kept.metadata.is_empty() { null() } else { owned._kept.metadata.as_ptr().cast() },
        flags: 0,
        n_children: owned.children.len() as i64,
        children: owned.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(owned).cast(),
    })
}

/// The fields of a table: all numbers, with their units in the metadata.
fn table_schema(frames: &ColumnFrames) -> PyResult<ArrowSchema> {
    let fields = frames.names.iter().zip(&frames.units);
    let field = |(name, unit): (&String, &String)| schema("g", name, metadata(&[("unit", unit)]), Vec::new());
    schema("+s", "", Vec::new(), fields.map(field).collect::<PyResult<_>>()?)
}

fn array(
    frames: &Arc<ColumnFrames>,
    length: usize,
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
) -> ArrowArray {
    let kept = Buffers { _frames: frames.clone(), buffers };
    let mut owned = Box::new(Owned { children: boxed(children), _kept: kept });
    ArrowArray {
        length: length as i64,
        null_count: 0,
        offset: 0,
        n_buffers: owned._kept.buffers.len() as i64,
        n_children: owned.children.len() as i64,
        buffers: owned._kept.buffers.as_mut_ptr(),
        children: owned.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(owned).cast(),
    }
}

/// A stream over frames: the next chunk, and what went wrong.
struct Stream {
    frames: Arc<ColumnFrames>,
    next: usize,
    problem: CString,
}

/// The code for what went wrong, with the words kept for `get_last_error`.
fn refuse(stream: &mut Stream, problem: &str) -> c_int {
    const EIO: c_int = 5;
    stream.problem = CString::new(problem.replace('\0', "")).unwrap_or_default();
    EIO
}

unsafe extern "C" fn get_schema(it: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer passes the stream that it got, and room for a schema
    let stream = unsafe { &mut *((*it).private_data as *mut Stream) };
    match table_schema(&stream.frames) {
        Ok(schema) => {
            // SAFETY: as above
            unsafe { out.write(schema) };
            0
        }
        Err(e) => refuse(stream, &e.to_string()),
    }
}

unsafe extern "C" fn get_next(it: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above
    let stream = unsafe { &mut *((*it).private_data as *mut Stream) };
    let frames = stream.frames.clone();
    let next = if stream.next < frames.chunks() {
        let mut columns = Vec::with_capacity(frames.names.len());
        for j in 0..frames.names.len() {
            match frames.slice(j, stream.next) {
                Ok(slice) => columns.push(array(&frames, slice.len(), vec![null(), slice.as_ptr().cast()], Vec::new())),
                Err(e) => return refuse(stream, &e.to_string()),
            }
        }
        let rows = columns.first().map_or(0, |column| column.length as usize);
        stream.next += 1;
        array(&frames, rows, vec![null()], columns)
    } else {
        // the end is an array that is released already
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    };
    // SAFETY: the consumer passes room for an array
    unsafe { out.write(next) };
    0
}

unsafe extern "C" fn get_last_error(it: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: as above
    unsafe { (*((*it).private_data as *mut Stream)).problem.as_ptr() }
}

unsafe extern "C" fn release_stream(it: *mut ArrowArrayStream) {
    // SAFETY: `private_data` comes from `Box::into_raw` below, and `release` is called once
    unsafe {
        drop(Box::from_raw((*it).private_data as *mut Stream));
        (*it).release = None;
    }
}

/// The capsule of `__arrow_c_stream__`.
pub fn stream<'py>(py: Python<'py>, frames: &Arc<ColumnFrames>) -> PyResult<Bound<'py, PyCapsule>> {
    let private = Box::new(Stream { frames: frames.clone(), next: 0, problem: CString::default() });
    let stream = ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(private).cast(),
    };
    PyCapsule::new_with_value_and_destructor(py, stream, c"arrow_array_stream", |mut stream, _| {
        if let Some(release) = stream.release {
            // SAFETY: nobody has taken the stream over, or its `release` would be empty
            unsafe { release(&mut stream) }
        }
    })
}

/// The capsule of `__arrow_c_schema__`.
pub fn schema_of<'py>(py: Python<'py>, frames: &ColumnFrames) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value_and_destructor(py, table_schema(frames)?, c"arrow_schema", |mut schema, _| {
        if let Some(release) = schema.release {
            // SAFETY: as above
            unsafe { release(&mut schema) }
        }
    })
}
