//! The functions of the standard, as importers find them in the library.
//!
//! Most functions of FMI 2.0 and 3.0 are the same under two names: [`both`] lists them once. Those that differ are in
//! [`two`] and [`three`]. No panic leaves the library, and an instance in which one happened answers nothing more.

mod both;
mod three;
mod two;

use crate::instance::Instance;
use crate::run::Kind;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What functions of both versions return.
pub const OK: c_int = 0;
pub const DISCARD: c_int = 2;
pub const ERROR: c_int = 3;
pub const FATAL: c_int = 4;

/// The logger of FMI 2.0.
pub type LoggerTwo = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *const c_char, ...);
/// The logger of FMI 3.0.
pub type LoggerThree = unsafe extern "C" fn(*mut c_void, c_int, *const c_char, *const c_char);
/// The callback of FMI 3.0 between two steps of the solver.
pub type IntermediateUpdate = unsafe extern "C" fn(*mut c_void, f64, bool, bool, bool, bool, *mut bool, *mut f64);

/// Where messages go.
pub enum Logger {
    Two(Option<LoggerTwo>),
    Three(Option<LoggerThree>),
}

/// How the importer is told things.
pub struct Importer {
    pub name: CString,
    pub environment: *mut c_void,
    pub logger: Logger,
    /// Whether it wants to hear of more than errors.
    pub logging: bool,
}

impl Importer {
    /// Tells the importer something.
    pub fn log(&self, status: c_int, message: &str) {
        let category = if status == OK { c"logEvents" } else { c"logStatusError" };
        let text = |message: String| CString::new(message.replace('\0', "")).unwrap_or_default();
        match self.logger {
            Logger::Two(Some(logger)) => {
                // the message is a format: a lone % would read the stack
                let text = text(message.replace('%', "%%"));
                // SAFETY: the importer gave the function; all texts live until it returns.
                unsafe { logger(self.environment, self.name.as_ptr(), status, category.as_ptr(), text.as_ptr()) }
            }
            Logger::Three(Some(logger)) => {
                let text = text(message.to_string());
                // SAFETY: as above.
                unsafe { logger(self.environment, status, category.as_ptr(), text.as_ptr()) }
            }
            _ => {}
        }
    }
}

/// What an importer holds.
pub struct Component {
    pub instance: Instance,
    pub importer: Importer,
    /// A function panicked: what is left of the instance is not to be trusted.
    pub broken: bool,
    pub steps: Steps,
}

/// How FMI 3.0 wants steps to be taken.
#[derive(Default)]
pub struct Steps {
    pub event_mode: bool,
    pub early_return: bool,
    pub update: Option<IntermediateUpdate>,
}

/// Why a function fails, in words.
pub type Outcome = Result<(), String>;

/// Calls the work of a function on an instance.
///
/// # Safety
/// `c` is null or what [`made`] gave and [`free`] has not taken back, and no other call on it is under way.
pub unsafe fn with(c: *mut Component, work: impl FnOnce(&mut Component) -> Outcome) -> c_int {
    // SAFETY: the contract of this function.
    let Some(component) = (unsafe { c.as_mut() }) else { return ERROR };
    if component.broken {
        return FATAL;
    }
    match catch_unwind(AssertUnwindSafe(|| work(component))) {
        Ok(Ok(())) => {
            let happened = std::mem::take(&mut component.instance.happened);
            if component.importer.logging {
                happened.iter().for_each(|line| component.importer.log(OK, line));
            }
            OK
        }
        Ok(Err(message)) => {
            component.importer.log(ERROR, &message);
            ERROR
        }
        Err(_) => {
            component.broken = true;
            component.importer.log(FATAL, "a fault of Bellcrank: please report it with the model");
            FATAL
        }
    }
}

/// Makes an instance; null where that fails, and the importer is told why.
pub fn made(importer: Importer, folder: &Path, token: &str, kind: Kind, steps: Steps) -> *mut Component {
    match catch_unwind(AssertUnwindSafe(|| Instance::open(folder, token, kind))) {
        Ok(Ok(instance)) => Box::into_raw(Box::new(Component { instance, importer, broken: false, steps })),
        Ok(Err(message)) => {
            importer.log(ERROR, &message);
            std::ptr::null_mut()
        }
        Err(_) => {
            importer.log(FATAL, "a fault of Bellcrank: please report it with the model");
            std::ptr::null_mut()
        }
    }
}

/// Takes an instance back.
///
/// # Safety
/// As for [`with`]; the instance is gone afterwards.
pub unsafe fn free(c: *mut Component) {
    if !c.is_null() {
        // SAFETY: the contract of this function.
        let component = unsafe { Box::from_raw(c) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(component)));
    }
}

/// A text of the importer; empty where there is none.
///
/// # Safety
/// `text` is null or ends with a zero.
pub unsafe fn text_of(text: *const c_char) -> String {
    // SAFETY: the contract of this function.
    if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
}

/// An array of the importer.
///
/// # Safety
/// `first` is null or the first of `n` values that live as long as the call.
pub unsafe fn array<'a, T>(first: *const T, n: usize) -> Result<&'a [T], String> {
    match (n, first.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(format!("an array of {n} values is null")),
        // SAFETY: the contract of this function.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, n) }),
    }
}

/// Room of the importer for values.
///
/// # Safety
/// As for [`array`], and nobody else uses it.
pub unsafe fn room<'a, T>(first: *mut T, n: usize) -> Result<&'a mut [T], String> {
    match (n, first.is_null()) {
        (0, _) => Ok(&mut []),
        (_, true) => Err(format!("room for {n} values is null")),
        // SAFETY: the contract of this function.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(first, n) }),
    }
}

/// Copies values into the importer's room, which must have their size.
pub fn fill(room: &mut [f64], values: &[f64]) -> Outcome {
    if room.len() != values.len() {
        return Err(format!("there is room for {} values, and there are {}", room.len(), values.len()));
    }
    room.copy_from_slice(values);
    Ok(())
}

/// A file URI as a path; `file:///a%20b`, `file:/a` and `file://host/a` all occur. A path stays what it is.
pub fn path_of(uri: &str) -> PathBuf {
    let Some(rest) = uri.strip_prefix("file:") else { return PathBuf::from(uri) };
    let rest = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/').unwrap_or(rest.len())..],
        None => rest,
    };
    let (bytes, mut out, mut i) = (rest.as_bytes(), Vec::new(), 0);
    while let Some(byte) = bytes.get(i) {
        let code = rest.get(i + 1..i + 3).filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(code.unwrap_or(*byte));
        i += if code.is_some() { 3 } else { 1 };
    }
    let path = String::from_utf8_lossy(&out).into_owned();
    // file:///C:/a
    let drive = cfg!(windows) && path.get(2..3) == Some(":");
    PathBuf::from(if drive { &path[1..] } else { &path })
}

/// Functions that an FMU of Bellcrank does not offer: with nothing to do they succeed.
macro_rules! not_offered {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut Component, _: *const u32, n: usize) -> c_int {
            let refused = |_: &mut Component| match n {
                0 => Ok(()),
                _ => Err(concat!(stringify!($name), " is not offered: all variables are real numbers").to_string()),
            };
            // SAFETY: the standard's contract is that of `with`.
            unsafe { with(c, refused) }
        }
    )*};
}
pub(crate) use not_offered;

/// Functions that an FMU of Bellcrank never offers.
macro_rules! refused {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut Component) -> c_int {
            // SAFETY: the standard's contract is that of `with`.
            unsafe { with(c, |_| Err(concat!(stringify!($name), " is not offered").into())) }
        }
    )*};
}
pub(crate) use refused;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_by_uri_and_by_path() {
        for (uri, path) in [
            ("file:///tmp/a%20b/resources", "/tmp/a b/resources"),
            ("file:/tmp/x", "/tmp/x"),
            ("file://localhost/tmp/x", "/tmp/x"),
            ("/tmp/100%/x", "/tmp/100%/x"),
            ("file:///tmp/100%/x", "/tmp/100%/x"),
        ] {
            assert_eq!(path_of(uri), PathBuf::from(path), "{uri}");
        }
    }
}
