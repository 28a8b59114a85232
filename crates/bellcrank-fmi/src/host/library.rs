//! The library of an FMU, and the functions of the standard in it. Only those that are used have to be there.

use super::exchange::Integrator;
use crate::abi::{DISCARD, FATAL, LoggerThree, OK};
use bellcrank_model::fmu::wire::{Handle, Reply, Request, Setting, Start};
use bellcrank_model::fmu::{Type, Version};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

/// Statuses that are no failure: fine, and with a warning.
const WARNING: c_int = 1;

/// The last words of the FMU.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// How many of them are told, and how long they may be.
const MOST_SAID: usize = 3;
const LONGEST_SAID: usize = 300;

fn hear(status: c_int, message: *const c_char) {
    if message.is_null() || status == OK {
        return;
    }
    // SAFETY: the standard says that messages end with a zero.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().replace("%%", "%");
    let Ok(mut said) = SAID.lock() else { return };
    if said.len() == MOST_SAID {
        said.remove(0);
    }
    said.push(text.trim().chars().take(LONGEST_SAID).collect());
}

/// The logger of FMI 2.0 has further arguments, for the format that a message is; they are not looked at.
unsafe extern "C" fn log_two(
    _: *mut c_void,
    _: *const c_char,
    status: c_int,
    _: *const c_char,
    message: *const c_char,
) {
    hear(status, message);
}

unsafe extern "C" fn log_three(_: *mut c_void, status: c_int, _: *const c_char, message: *const c_char) {
    hear(status, message);
}

#[repr(C)]
struct Callbacks {
    logger: *const c_void,
    allocate: *const c_void,
    free: *const c_void,
    finished: *const c_void,
    environment: *const c_void,
}

/// A number as functions of the standard pass it.
trait Number: Default + Copy {
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(impl Number for $type {
        fn of(x: f64) -> $type { x as $type }
        fn number(self) -> f64 { self as f64 }
    })* };
}
numbers!(f64 f32 i8 u8 i16 u16 i32 u32 i64 u64);

impl Number for bool {
    fn of(x: f64) -> bool {
        x != 0.0
    }
    fn number(self) -> f64 {
        f64::from(u8::from(self))
    }
}

/// Calls `$self.$do::<type>(name, …)` with the type and the name that functions have for a variable.
macro_rules! by_type {
    ($self:ident, $do:ident, $handle:expr, $($rest:expr),*) => {
        match ($self.version, $handle.of) {
            (Version::Two, Type::Float64) => $self.$do::<f64>("Real", $handle, $($rest),*),
            (Version::Two, Type::Boolean) => $self.$do::<c_int>("Boolean", $handle, $($rest),*),
            (Version::Two, _) => $self.$do::<c_int>("Integer", $handle, $($rest),*),
            (_, Type::Float64) => $self.$do::<f64>("Float64", $handle, $($rest),*),
            (_, Type::Float32) => $self.$do::<f32>("Float32", $handle, $($rest),*),
            (_, Type::Int8) => $self.$do::<i8>("Int8", $handle, $($rest),*),
            (_, Type::UInt8) => $self.$do::<u8>("UInt8", $handle, $($rest),*),
            (_, Type::Int16) => $self.$do::<i16>("Int16", $handle, $($rest),*),
            (_, Type::UInt16) => $self.$do::<u16>("UInt16", $handle, $($rest),*),
            (_, Type::Int32) => $self.$do::<i32>("Int32", $handle, $($rest),*),
            (_, Type::UInt32) => $self.$do::<u32>("UInt32", $handle, $($rest),*),
            (_, Type::Int64) => $self.$do::<i64>("Int64", $handle, $($rest),*),
            (_, Type::UInt64) => $self.$do::<u64>("UInt64", $handle, $($rest),*),
            (_, Type::Boolean | Type::Text) => $self.$do::<bool>("Boolean", $handle, $($rest),*),
        }
    };
}

/// An FMU that is loaded and initialized.
pub struct Loaded {
    library: *mut c_void,
    pub(super) version: Version,
    pub(super) instance: *mut c_void,
    pub(super) inputs: Vec<Handle>,
    pub(super) outputs: Vec<Handle>,
    /// A state of the FMU that it can go back to, and what its integrator remembers there.
    kept: *mut c_void,
    kept_memory: [f64; 2],
    /// Of model exchange.
    pub(super) integrator: Option<Integrator>,
    /// The FMU keeps a pointer to them.
    _callbacks: Box<Callbacks>,
}

pub(super) type Instance = *mut c_void;

impl Loaded {
    /// Loads and initializes an FMU.
    pub fn start(start: &Start) -> Result<Loaded, String> {
        let callbacks = Box::new(Callbacks {
            logger: log_two as *const c_void,
            allocate: libc::calloc as *const c_void,
            free: libc::free as *const c_void,
            finished: std::ptr::null(),
            environment: std::ptr::null(),
        });
        let mut fmu = Loaded {
            library: open(&start.library)?,
            version: start.version,
            instance: std::ptr::null_mut(),
            inputs: start.inputs.clone(),
            outputs: start.outputs.clone(),
            kept: std::ptr::null_mut(),
            kept_memory: [0.0; 2],
            integrator: start.exchange.as_ref().map(|exchange| Integrator::new(exchange, start.tolerance)),
            _callbacks: callbacks,
        };
        fmu.instantiate(start)?;
        for (handle, value) in &start.set {
            match value {
                Setting::Number(x) => fmu.set(*handle, *x)?,
                Setting::Text(text) => fmu.set_text(*handle, text)?,
            }
        }
        fmu.initialize(start)?;
        Ok(fmu)
    }

    /// A function of the standard.
    pub(super) fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let whole = format!("{}{name}", if self.version == Version::Two { "fmi2" } else { "fmi3" });
        let text = CString::new(whole.as_str()).unwrap_or_default();
        // SAFETY: the library is open, and the name ends with a zero.
        let found = unsafe { libc::dlsym(self.library, text.as_ptr()) };
        if found.is_null() {
            return Err(format!("has no function `{whole}` in its library"));
        }
        // SAFETY: a pointer to a function of the type that the standard gives to this name.
        Ok(unsafe { std::mem::transmute_copy(&found) })
    }

    /// Fails with what the FMU said, unless a status is fine.
    pub(super) fn check(&self, status: c_int, name: &str) -> Result<(), String> {
        let said = SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default().join("; ");
        let word = match status {
            OK | WARNING => return Ok(()),
            DISCARD => "discard",
            FATAL => "fatal",
            _ => "error",
        };
        let number = if self.version == Version::Two { 2 } else { 3 };
        let said = if said.is_empty() { "it says nothing about it".into() } else { format!("it says: {said}") };
        Err(format!("failed in `fmi{number}{name}` ({word}); {said}"))
    }

    fn instantiate(&mut self, start: &Start) -> Result<(), String> {
        let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let (name, token) = (text(&start.name), text(&start.token));
        let resources = start.folder.join("resources");
        // SAFETY: the types are those of the standard; texts and callbacks outlive the calls.
        self.instance = unsafe {
            if self.version == Version::Two {
                type Instantiate = unsafe extern "C" fn(
                    *const c_char,
                    c_int,
                    *const c_char,
                    *const c_char,
                    *const Callbacks,
                    c_int,
                    c_int,
                ) -> Instance;
                let instantiate: Instantiate = self.function("Instantiate")?;
                let place = text(&uri(&resources));
                let kind = c_int::from(start.exchange.is_none());
                instantiate(name.as_ptr(), kind, token.as_ptr(), place.as_ptr(), &*self._callbacks, 0, 0)
            } else {
                type Instantiate = unsafe extern "C" fn(
                    *const c_char,
                    *const c_char,
                    *const c_char,
                    bool,
                    bool,
                    bool,
                    bool,
                    *const u32,
                    usize,
                    *mut c_void,
                    Option<LoggerThree>,
                    *const c_void,
                ) -> Instance;
                let place = text(&format!("{}/", resources.display()));
                let (nothing, none) = (std::ptr::null_mut(), std::ptr::null());
                let [name, token, place] = [&name, &token, &place].map(|text| text.as_ptr());
                let log = Some(log_three as LoggerThree);
                if start.exchange.is_some() {
                    return self.instantiate_exchange([name, token, place], log);
                }
                let instantiate: Instantiate = self.function("InstantiateCoSimulation")?;
                instantiate(name, token, place, false, false, false, false, none, 0, nothing, log, none.cast())
            }
        };
        if !self.instance.is_null() {
            return Ok(());
        }
        let name = if self.version == Version::Two { "Instantiate" } else { "InstantiateCoSimulation" };
        self.check(FATAL, name)
    }

    /// FMI 3.0 has a function of its own for model exchange.
    fn instantiate_exchange(
        &mut self,
        [name, token, place]: [*const c_char; 3],
        log: Option<LoggerThree>,
    ) -> Result<(), String> {
        type Instantiate = unsafe extern "C" fn(
            *const c_char,
            *const c_char,
            *const c_char,
            bool,
            bool,
            *mut c_void,
            Option<LoggerThree>,
        ) -> Instance;
        let instantiate: Instantiate = self.function("InstantiateModelExchange")?;
        // SAFETY: the type is that of the standard; the texts live until it returns.
        self.instance = unsafe { instantiate(name, token, place, false, false, std::ptr::null_mut(), log) };
        if self.instance.is_null() { self.check(FATAL, "InstantiateModelExchange") } else { Ok(()) }
    }

    fn initialize(&mut self, start: &Start) -> Result<(), String> {
        let (c, tolerance, from) = (self.instance, start.tolerance, start.times[0]);
        // a run may go on beyond its end, so that no end is told
        if self.version == Version::Two {
            let set_up: unsafe extern "C" fn(Instance, c_int, f64, f64, c_int, f64) -> c_int =
                self.function("SetupExperiment")?;
            // SAFETY: here and below, the type is that of the standard, and the instance is alive.
            self.check(unsafe { set_up(c, 1, tolerance, from, 0, 0.0) }, "SetupExperiment")?;
            self.plain("EnterInitializationMode")?;
        } else {
            let enter: unsafe extern "C" fn(Instance, bool, f64, f64, bool, f64) -> c_int =
                self.function("EnterInitializationMode")?;
            // SAFETY: as above.
            self.check(unsafe { enter(c, true, tolerance, from, false, 0.0) }, "EnterInitializationMode")?;
        }
        self.set_inputs(&start.given)?;
        self.plain("ExitInitializationMode")?;
        if self.integrator.is_some() { self.settle() } else { Ok(()) }
    }

    /// Calls a function that has no arguments.
    pub(super) fn plain(&self, name: &str) -> Result<(), String> {
        let function: unsafe extern "C" fn(Instance) -> c_int = self.function(name)?;
        // SAFETY: the type is that of the standard, and the instance is alive.
        self.check(unsafe { function(self.instance) }, name)
    }

    /// Does what is asked.
    pub fn answer(&mut self, request: Request) -> Result<Reply, String> {
        match request {
            Request::Start(_) => Err("has started already".into()),
            Request::Step { t, h, given } => {
                self.step(t, h)?;
                self.give(&given)?;
                self.outputs()
            }
            Request::Look { given } => {
                self.give(&given)?;
                self.outputs()
            }
            Request::Window { t, h, given, back } => {
                if back {
                    self.go_back()?;
                }
                self.give(&given)?;
                if h > 0.0 {
                    self.step(t, h)?;
                }
                self.outputs()
            }
            Request::Equations { at } => self.equations(&at).map(Reply::Values),
            Request::Slopes { at } => self.slopes(&at).map(Reply::Values),
            Request::Event { at } => self.happen(&at).map(Reply::Values),
            Request::Accepted { at } => self.accepted(&at).map(Reply::Values),
            Request::States => self.told_states().map(Reply::Values),
            Request::Keep => {
                self.keep()?;
                self.outputs()
            }
            Request::Save => self.save().map(Reply::State),
            Request::Restore { state, given } => {
                self.restore(&state)?;
                self.give(&given)?;
                self.outputs()
            }
        }
    }

    /// The values of the outputs.
    pub fn outputs(&self) -> Result<Reply, String> {
        self.outputs.iter().map(|handle| self.get(*handle)).collect::<Result<_, _>>().map(Reply::Values)
    }

    /// Takes other inputs. In model exchange that is an event: some of them may be discrete.
    fn give(&mut self, values: &[f64]) -> Result<(), String> {
        if self.integrator.is_none() || self.inputs.is_empty() {
            return self.set_inputs(values);
        }
        self.plain("EnterEventMode")?;
        self.set_inputs(values)?;
        self.settle()
    }

    pub(super) fn set_inputs(&self, values: &[f64]) -> Result<(), String> {
        self.inputs.iter().zip(values).try_for_each(|(handle, x)| self.set(*handle, *x))
    }

    pub(super) fn get(&self, handle: Handle) -> Result<f64, String> {
        by_type!(self, get_as, handle,)
    }

    fn set(&self, handle: Handle, x: f64) -> Result<(), String> {
        by_type!(self, set_as, handle, x)
    }

    fn get_as<T: Number>(&self, of: &str, handle: Handle) -> Result<f64, String> {
        let (c, name, mut x) = (self.instance, format!("Get{of}"), T::default());
        // SAFETY: the types are those of the standard, with one value at each pointer.
        let status = unsafe {
            if self.version == Version::Two {
                let get: unsafe extern "C" fn(Instance, *const u32, usize, *mut T) -> c_int = self.function(&name)?;
                get(c, &handle.reference, 1, &mut x)
            } else {
                let get: unsafe extern "C" fn(Instance, *const u32, usize, *mut T, usize) -> c_int =
                    self.function(&name)?;
                get(c, &handle.reference, 1, &mut x, 1)
            }
        };
        self.check(status, &name)?;
        Ok(x.number())
    }

    fn set_as<T: Number>(&self, of: &str, handle: Handle, x: f64) -> Result<(), String> {
        self.put(&format!("Set{of}"), handle, &T::of(x))
    }

    fn put<T>(&self, name: &str, handle: Handle, x: &T) -> Result<(), String> {
        // SAFETY: the types are those of the standard, with one value at each pointer.
        let status = unsafe {
            if self.version == Version::Two {
                let set: unsafe extern "C" fn(Instance, *const u32, usize, *const T) -> c_int = self.function(name)?;
                set(self.instance, &handle.reference, 1, x)
            } else {
                let set: unsafe extern "C" fn(Instance, *const u32, usize, *const T, usize) -> c_int =
                    self.function(name)?;
                set(self.instance, &handle.reference, 1, x, 1)
            }
        };
        self.check(status, name)
    }

    fn set_text(&self, handle: Handle, text: &str) -> Result<(), String> {
        let text = CString::new(text.replace('\0', "")).unwrap_or_default();
        self.put("SetString", handle, &text.as_ptr())
    }

    fn step(&mut self, t: f64, h: f64) -> Result<(), String> {
        let (c, to) = (self.instance, t + h);
        if self.integrator.is_some() {
            return self.integrate(t, to);
        }
        if self.version == Version::Two {
            let step: unsafe extern "C" fn(Instance, f64, f64, c_int) -> c_int = self.function("DoStep")?;
            // SAFETY: here and below, the type is that of the standard, and the instance is alive.
            return self.check(unsafe { step(c, t, h, 0) }, "DoStep");
        }
        type Step = unsafe extern "C" fn(Instance, f64, f64, bool, *mut bool, *mut bool, *mut bool, *mut f64) -> c_int;
        let step: Step = self.function("DoStep")?;
        let (mut event, mut ends, mut early, mut last) = (false, false, false, to);
        // SAFETY: as above.
        self.check(unsafe { step(c, t, h, false, &mut event, &mut ends, &mut early, &mut last) }, "DoStep")?;
        if ends {
            return Err(format!("wants the simulation to end at t = {last} s"));
        }
        match early || (last - to).abs() > 1e-9 * h.abs() {
            true => Err(format!("was asked to go to t = {to} s and went to t = {last} s")),
            false => Ok(()),
        }
    }

    /// The names of the functions of states, which differ by a letter.
    fn of_state(&self, three: &'static str) -> String {
        match self.version {
            Version::Two => three.replace("FMUState", "FMUstate").replace("Deserialize", "DeSerialize"),
            Version::Three => three.into(),
        }
    }

    fn save(&self) -> Result<Vec<u8>, String> {
        let (c, mut state, mut size) = (self.instance, std::ptr::null_mut(), 0usize);
        let names = ["GetFMUState", "SerializedFMUStateSize", "SerializeFMUState"].map(|name| self.of_state(name));
        let get: unsafe extern "C" fn(Instance, *mut *mut c_void) -> c_int = self.function(&names[0])?;
        let measure: unsafe extern "C" fn(Instance, *mut c_void, *mut usize) -> c_int = self.function(&names[1])?;
        let write: unsafe extern "C" fn(Instance, *mut c_void, *mut u8, usize) -> c_int = self.function(&names[2])?;
        // SAFETY: here and below, the types are those of the standard; the buffer has the size that was told.
        self.check(unsafe { get(c, &mut state) }, &names[0])?;
        let written = (|| {
            // SAFETY: as above.
            self.check(unsafe { measure(c, state, &mut size) }, &names[1])?;
            let mut bytes = vec![0; size];
            // SAFETY: as above.
            self.check(unsafe { write(c, state, bytes.as_mut_ptr(), size) }, &names[2])?;
            let memory = self.integrator.as_ref().map(|integrator| integrator.memory);
            bytes.extend(memory.into_iter().flatten().flat_map(f64::to_le_bytes));
            Ok(bytes)
        })();
        self.forget(state).and(written)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut bytes = bytes;
        if let Some(integrator) = &mut self.integrator {
            let (state, memory) = bytes.split_last_chunk::<16>().ok_or("has no state in so few bytes")?;
            bytes = state;
            for (number, bytes) in integrator.memory.iter_mut().zip(memory.as_chunks::<8>().0) {
                *number = f64::from_le_bytes(*bytes);
            }
        }
        let (c, mut state) = (self.instance, std::ptr::null_mut());
        let names = ["DeserializeFMUState", "SetFMUState"].map(|name| self.of_state(name));
        let read: unsafe extern "C" fn(Instance, *const u8, usize, *mut *mut c_void) -> c_int =
            self.function(&names[0])?;
        let set: unsafe extern "C" fn(Instance, *mut c_void) -> c_int = self.function(&names[1])?;
        // SAFETY: the types are those of the standard; the state was made by the first call.
        self.check(unsafe { read(c, bytes.as_ptr(), bytes.len(), &mut state) }, &names[0])?;
        // SAFETY: as above.
        let set = self.check(unsafe { set(c, state) }, &names[1]);
        self.forget(state).and(set)
    }

    /// Keeps the present state. Not every FMU writes over the one that was kept before.
    fn keep(&mut self) -> Result<(), String> {
        let before = std::mem::replace(&mut self.kept, std::ptr::null_mut());
        if !before.is_null() {
            self.forget(before)?;
        }
        let name = self.of_state("GetFMUState");
        let get: unsafe extern "C" fn(Instance, *mut *mut c_void) -> c_int = self.function(&name)?;
        // SAFETY: the type is that of the standard; the state is null before it.
        let status = unsafe { get(self.instance, &mut self.kept) };
        self.kept_memory = self.integrator.as_ref().map_or([0.0; 2], |integrator| integrator.memory);
        self.check(status, &name)
    }

    fn go_back(&mut self) -> Result<(), String> {
        if self.kept.is_null() {
            return Err("keeps no state".into());
        }
        if let Some(integrator) = &mut self.integrator {
            integrator.memory = self.kept_memory;
        }
        let name = self.of_state("SetFMUState");
        let set: unsafe extern "C" fn(Instance, *mut c_void) -> c_int = self.function(&name)?;
        // SAFETY: the type is that of the standard; the state is the FMU's own.
        self.check(unsafe { set(self.instance, self.kept) }, &name)
    }

    fn forget(&self, mut state: *mut c_void) -> Result<(), String> {
        let name = self.of_state("FreeFMUState");
        let free: unsafe extern "C" fn(Instance, *mut *mut c_void) -> c_int = self.function(&name)?;
        // SAFETY: the type is that of the standard; the state is not used again.
        self.check(unsafe { free(self.instance, &mut state) }, &name)
    }

    /// Says goodbye, so that it may close its files.
    pub fn end(&self) {
        if !self.kept.is_null() {
            let _ = self.forget(self.kept);
        }
        if self.plain("Terminate").is_ok()
            && let Ok(free) = self.function::<unsafe extern "C" fn(Instance)>("FreeInstance")
        {
            // SAFETY: the type is that of the standard, and the instance is not used again.
            unsafe { free(self.instance) }
        }
    }
}

/// Loads a library; its symbols are seen by nobody else.
fn open(path: &Path) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    // SAFETY: the path ends with a zero. What the library does as it is loaded is why this is a process of its own.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if !library.is_null() {
        return Ok(library);
    }
    // SAFETY: there was an error, and nobody else loads libraries here.
    let why = unsafe { libc::dlerror() };
    let why = if why.is_null() {
        "no reason was given".into()
    } else {
        // SAFETY: a text that ends with a zero.
        unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned()
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    // the folder is a temporary one, whose name helps nobody
    let why = why.replace(&*path.to_string_lossy(), &file);
    Err(format!("has a library that cannot be loaded: {why}"))
}

/// A folder as a URI.
fn uri(path: &Path) -> String {
    let mut out = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(*byte)),
            b if b.is_ascii_alphanumeric() => out.push(char::from(*b)),
            b => {
                let _ = write!(out, "%{b:02X}");
            }
        }
    }
    out
}
