//! What FMI 2.0 alone has, or has otherwise than FMI 3.0.

use super::{
    Component, DISCARD, Importer, Logger, LoggerTwo, Steps, both, made, not_offered, path_of, refused, text_of, with,
};
use crate::instance::Stage;
use crate::run::{Experiment, Kind};
use std::ffi::{CString, c_char, c_int, c_void};

/// `fmi2CallbackFunctions`; memory is our own.
#[repr(C)]
struct Callbacks {
    logger: Option<LoggerTwo>,
    allocate: *const c_void,
    free: *const c_void,
    finished: *const c_void,
    environment: *mut c_void,
}

/// `fmi2EventInfo`.
#[repr(C)]
struct EventInfo {
    more: c_int,
    terminate: c_int,
    nominals_changed: c_int,
    values_changed: c_int,
    next_defined: c_int,
    next: f64,
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetTypesPlatform() -> *const c_char {
    c"default".as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fmi2GetVersion() -> *const c_char {
    c"2.0".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2Instantiate(
    name: *const c_char,
    kind: c_int,
    guid: *const c_char,
    resources: *const c_char,
    callbacks: *const Callbacks,
    _visible: c_int,
    logging: c_int,
) -> *mut Component {
    // SAFETY: texts end with a zero, and callbacks are null or there, as the standard says.
    let (name, guid, resources, callbacks) =
        unsafe { (text_of(name), text_of(guid), text_of(resources), callbacks.as_ref()) };
    let importer = Importer {
        name: CString::new(name).unwrap_or_default(),
        environment: callbacks.map_or(std::ptr::null_mut(), |c| c.environment),
        logger: Logger::Two(callbacks.and_then(|c| c.logger)),
        logging: logging != 0,
    };
    let kind = if kind == 0 { Kind::ModelExchange } else { Kind::CoSimulation };
    made(importer, &path_of(&resources), &guid, kind, Steps::default())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetDebugLogging(c: *mut Component, on: c_int, _: usize, _: *const *const c_char) -> c_int {
    let work = |c: &mut Component| {
        c.importer.logging = on != 0;
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetupExperiment(
    c: *mut Component,
    tolerance_defined: c_int,
    tolerance: f64,
    start: f64,
    stop_defined: c_int,
    stop: f64,
) -> c_int {
    let experiment = Experiment {
        start,
        stop: (stop_defined != 0).then_some(stop),
        tolerance: (tolerance_defined != 0).then_some(tolerance),
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, |c| c.instance.set_up(experiment)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2EnterInitializationMode(c: *mut Component) -> c_int {
    let work = |c: &mut Component| {
        c.instance.stage = Stage::Initializing;
        c.instance.motion().map(|_| ())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetReal(c: *mut Component, references: *const u32, n: usize, out: *mut f64) -> c_int {
    // SAFETY: the standard's contract is that of `with` and `get`.
    unsafe { with(c, |c| both::get(c, references, n, out, n)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2SetReal(c: *mut Component, references: *const u32, n: usize, values: *const f64) -> c_int {
    // SAFETY: the standard's contract is that of `with` and `set`.
    unsafe { with(c, |c| both::set(c, references, n, values, n)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2GetDirectionalDerivative(
    c: *mut Component,
    unknowns: *const u32,
    n: usize,
    knowns: *const u32,
    m: usize,
    seed: *const f64,
    out: *mut f64,
) -> c_int {
    // SAFETY: the standard's contract is that of `with` and `directional`.
    unsafe { with(c, |c| both::directional(c, (unknowns, n), (knowns, m), seed, out)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2DoStep(c: *mut Component, t: f64, h: f64, _no_return: c_int) -> c_int {
    let work = |c: &mut Component| {
        let motion = c.instance.motion()?;
        let to = motion.begin_step(t, h)?;
        while motion.step(to)?.is_some() {}
        let told = motion.tell();
        c.instance.happened.extend(told);
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2NewDiscreteStates(c: *mut Component, info: *mut EventInfo) -> c_int {
    let work = |c: &mut Component| {
        let (changed, next, happened) = c.instance.motion()?.update()?;
        c.instance.happened.extend(happened);
        // SAFETY: the importer has a place for it.
        let info = unsafe { info.as_mut() }.ok_or("there is no place for the event's outcome")?;
        *info = EventInfo {
            more: 0,
            terminate: 0,
            nominals_changed: 0,
            values_changed: c_int::from(changed),
            next_defined: c_int::from(next.is_some()),
            next: next.unwrap_or(0.0),
        };
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2CompletedIntegratorStep(
    c: *mut Component,
    _no_set_before: c_int,
    enter_event_mode: *mut c_int,
    terminate: *mut c_int,
) -> c_int {
    let work = |c: &mut Component| {
        let enter = c.instance.motion()?.completed_step()?;
        // SAFETY: the importer has places for both.
        unsafe {
            *enter_event_mode.as_mut().ok_or("there is no place for the answer")? = c_int::from(enter);
            terminate.as_mut().into_iter().for_each(|terminate| *terminate = 0);
        }
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

/// Status of a step that is under way: steps never are when a function returns.
macro_rules! status {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(_: *mut Component, _: c_int, _: *mut c_void) -> c_int {
            DISCARD
        }
    )*};
}

status! { fmi2GetStatus fmi2GetRealStatus fmi2GetIntegerStatus fmi2GetBooleanStatus fmi2GetStringStatus }

not_offered! {
    fmi2GetInteger fmi2GetBoolean fmi2GetString fmi2SetInteger fmi2SetBoolean fmi2SetString
    fmi2SetRealInputDerivatives fmi2GetRealOutputDerivatives
}

refused! { fmi2CancelStep }
