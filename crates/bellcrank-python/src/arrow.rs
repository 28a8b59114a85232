//! Tables as Arrow streams, by Arrow's C interface: batches of columns, in which numbers are not copied.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A table that goes out in batches.
pub trait Batches: Send + Sync + 'static {
    /// The columns.
    fn fields(&self) -> Vec<Field<'_>>;
    /// How many batches there are.
    fn batches(&self) -> usize;
    /// A column of a batch, by the numbers of both.
    fn column(&self, batch: usize, column: usize) -> io::Result<Cells<'_>>;
}

/// A column, as its schema tells it.
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its unit, for the metadata.
    pub unit: &'a str,
    /// Whether it holds texts, not numbers.
    pub is_text: bool,
    /// Whether values may be missing.
    pub nullable: bool,
}

/// A column of a batch.
pub enum Cells<'a> {
    /// Numbers that are all there.
    Whole(&'a [f64]),
    /// Numbers, of which NaN is missing.
    Numbers(&'a [f64]),
    /// Texts, of which an empty one is missing.
    Texts(&'a [String]),
}

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

/// The table that an array looks into, what was made for it, and its buffers.
struct Buffers {
    _table: Arc<dyn Batches>,
    _made: MadeBuffers,
    buffers: Vec<*const c_void>,
}

/// What of an array is not in the table: which values are there, by bits; where each text begins, and their bytes.
#[derive(Default)]
struct MadeBuffers {
    there: Vec<u8>,
    begins: Vec<i32>,
    bytes: Vec<u8>,
}

impl MadeBuffers {
    /// Notes which values are there; gives how many are not.
    fn note(&mut self, there: impl ExactSizeIterator<Item = bool>) -> i64 {
        self.there = vec![0; there.len().div_ceil(8)];
        let mut missing = 0;
        for (k, there) in there.enumerate() {
            self.there[k / 8] |= u8::from(there) << (k % 8);
            missing += i64::from(!there);
        }
        missing
    }

    /// Where the bits stand, if they are needed.
    fn bits(&self, missing: i64) -> *const c_void {
        if missing == 0 { null() } else { self.there.as_ptr().cast() }
    }
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

/// The fields of a table, with their units in the metadata.
fn table_schema(table: &dyn Batches) -> PyResult<ArrowSchema> {
    const NULLABLE: i64 = 2;
    let field = |of: Field<'_>| {
        let unit = if of.nullable && of.unit.is_empty() { Vec::new() } else { metadata(&[("unit", of.unit)]) };
        let made = schema(if of.is_text { "u" } else { "g" }, of.name, unit, Vec::new())?;
        Ok(ArrowSchema { flags: if of.nullable { NULLABLE } else { 0 }, ..made })
    };
    schema("+s", "", Vec::new(), table.fields().into_iter().map(field).collect::<PyResult<_>>()?)
}

fn array(
    table: &Arc<dyn Batches>,
    (length, missing): (usize, i64),
    made: MadeBuffers,
    buffers: Vec<*const c_void>,
    children: Vec<ArrowArray>,
) -> ArrowArray {
    let kept = Buffers { _table: table.clone(), _made: made, buffers };
    let mut owned = Box::new(Owned { children: boxed(children), _kept: kept });
    ArrowArray {
        length: length as i64,
        null_count: missing,
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

/// A column of a batch as an array: numbers stay where they are.
fn column(table: &Arc<dyn Batches>, batch: usize, number: usize) -> io::Result<ArrowArray> {
    let mut made = MadeBuffers::default();
    let (size, buffers) = match table.column(batch, number)? {
        Cells::Whole(x) => ((x.len(), 0), vec![null(), x.as_ptr().cast()]),
        Cells::Numbers(x) => {
            let missing = made.note(x.iter().map(|x| !x.is_nan()));
            ((x.len(), missing), vec![made.bits(missing), x.as_ptr().cast()])
        }
        Cells::Texts(texts) => {
            let missing = made.note(texts.iter().map(|text| !text.is_empty()));
            made.begins.push(0);
            for text in texts {
                made.bytes.extend(text.as_bytes());
                let end = i32::try_from(made.bytes.len());
                made.begins.push(end.map_err(|_| io::Error::other("the texts of a batch are longer than 2 GB"))?);
            }
            let places = vec![made.bits(missing), made.begins.as_ptr().cast(), made.bytes.as_ptr().cast()];
            ((texts.len(), missing), places)
        }
    };
    // what `made` holds stays where it is when `made` itself moves
    Ok(array(table, size, made, buffers, Vec::new()))
}

/// A stream over a table: the next batch, and what went wrong.
struct Stream {
    table: Arc<dyn Batches>,
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
    match table_schema(&*stream.table) {
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
    let table = stream.table.clone();
    let next = if stream.next < table.batches() {
        let columns = (0..table.fields().len()).map(|j| column(&table, stream.next, j)).collect::<io::Result<Vec<_>>>();
        let columns = match columns {
            Ok(columns) => columns,
            Err(e) => return refuse(stream, &e.to_string()),
        };
        let rows = columns.first().map_or(0, |column| column.length as usize);
        stream.next += 1;
        array(&table, (rows, 0), MadeBuffers::default(), vec![null()], columns)
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
pub fn stream<'py>(py: Python<'py>, table: Arc<dyn Batches>) -> PyResult<Bound<'py, PyCapsule>> {
    let private = Box::new(Stream { table, next: 0, problem: CString::default() });
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
pub fn schema_of<'py>(py: Python<'py>, table: &dyn Batches) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value_and_destructor(py, table_schema(table)?, c"arrow_schema", |mut schema, _| {
        if let Some(release) = schema.release {
            // SAFETY: as above
            unsafe { release(&mut schema) }
        }
    })
}
