//! What FMI 3.0 alone has, or has otherwise than FMI 2.0.

use super::{
    Component, Importer, IntermediateUpdate, Logger, LoggerThree, OK, Outcome, Steps, both, made, not_offered, path_of,
    refused, text_of, with,
};
use crate::instance::Stage;
use crate::run::{Experiment, Kind};
use std::ffi::{CString, c_char, c_int, c_void};

#[unsafe(no_mangle)]
extern "C" fn fmi3GetVersion() -> *const c_char {
    c"3.0".as_ptr()
}

/// Who the importer is, and what it wants of which model.
///
/// # Safety
/// Texts end with a zero.
unsafe fn instantiate(
    texts: [*const c_char; 3],
    logging: bool,
    environment: *mut c_void,
    logger: Option<LoggerThree>,
    kind: Kind,
    steps: Steps,
) -> *mut Component {
    // SAFETY: the contract of this function.
    let [name, token, resources] = texts.map(|text| unsafe { text_of(text) });
    let name = CString::new(name).unwrap_or_default();
    let importer = Importer { name, environment, logger: Logger::Three(logger), logging };
    made(importer, &path_of(&resources), &token, kind, steps)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateModelExchange(
    name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _visible: bool,
    logging: bool,
    environment: *mut c_void,
    logger: Option<LoggerThree>,
) -> *mut Component {
    let texts = [name, token, resources];
    // SAFETY: texts end with a zero, as the standard says.
    unsafe { instantiate(texts, logging, environment, logger, Kind::ModelExchange, Steps::default()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3InstantiateCoSimulation(
    name: *const c_char,
    token: *const c_char,
    resources: *const c_char,
    _visible: bool,
    logging: bool,
    event_mode: bool,
    early_return: bool,
    _intermediate: *const u32,
    _intermediate_count: usize,
    environment: *mut c_void,
    logger: Option<LoggerThree>,
    update: Option<IntermediateUpdate>,
) -> *mut Component {
    let (texts, steps) = ([name, token, resources], Steps { event_mode, early_return, update });
    // SAFETY: texts end with a zero, as the standard says.
    unsafe { instantiate(texts, logging, environment, logger, Kind::CoSimulation, steps) }
}

#[unsafe(no_mangle)]
extern "C" fn fmi3InstantiateScheduledExecution() -> *mut Component {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3SetDebugLogging(c: *mut Component, on: bool, _: usize, _: *const *const c_char) -> c_int {
    let work = |c: &mut Component| {
        c.importer.logging = on;
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3EnterInitializationMode(
    c: *mut Component,
    tolerance_defined: bool,
    tolerance: f64,
    start: f64,
    stop_defined: bool,
    stop: f64,
) -> c_int {
    let (stop, tolerance) = (stop_defined.then_some(stop), tolerance_defined.then_some(tolerance));
    let work = |c: &mut Component| {
        c.instance.set_up(Experiment { start, stop, tolerance })?;
        c.instance.stage = Stage::Initializing;
        c.instance.motion().map(|_| ())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetFloat64(
    c: *mut Component,
    references: *const u32,
    n: usize,
    out: *mut f64,
    values: usize,
) -> c_int {
    // SAFETY: the standard's contract is that of `with` and `get`.
    unsafe { with(c, |c| both::get(c, references, n, out, values)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3SetFloat64(
    c: *mut Component,
    references: *const u32,
    n: usize,
    values: *const f64,
    m: usize,
) -> c_int {
    // SAFETY: the standard's contract is that of `with` and `set`.
    unsafe { with(c, |c| both::set(c, references, n, values, m)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3GetDirectionalDerivative(
    c: *mut Component,
    unknowns: *const u32,
    n: usize,
    knowns: *const u32,
    m: usize,
    seed: *const f64,
    seeds: usize,
    out: *mut f64,
    outs: usize,
) -> c_int {
    let work = |c: &mut Component| {
        if seeds != m || outs != n {
            return Err("seed and sensitivity must have one value for each variable".into());
        }
        // SAFETY: the arrays are as long as the importer says.
        unsafe { both::directional(c, (unknowns, n), (knowns, m), seed, out) }
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

/// Where the answers of a step go.
struct Answers {
    event: *mut bool,
    terminate: *mut bool,
    early: *mut bool,
    last: *mut f64,
}

impl Answers {
    /// # Safety
    /// The places are null or the importer's.
    unsafe fn give(&self, event: bool, early: bool, last: f64) -> Outcome {
        // SAFETY: the contract of this function.
        unsafe {
            for (place, value) in [(self.event, event), (self.terminate, false), (self.early, early)] {
                place.as_mut().into_iter().for_each(|place| *place = value);
            }
            self.last.as_mut().into_iter().for_each(|place| *place = last);
        }
        Ok(())
    }
}

/// What the importer wants after a step of the solver.
struct Wish {
    /// It wants back what it can use until here.
    until: Option<f64>,
}

/// Tells the importer that a step of the solver is done. It may read variables of this instance meanwhile.
///
/// # Safety
/// As for `with`, and no reference to the instance is held.
unsafe fn intermediate(c: *mut Component, t: f64) -> Wish {
    // SAFETY: the contract of this function; the reference ends before the importer is called.
    let (update, environment, may_return) = match unsafe { c.as_ref() } {
        Some(c) => (c.steps.update, c.importer.environment, c.steps.early_return),
        None => (None, std::ptr::null_mut(), false),
    };
    let Some(update) = update else { return Wish { until: None } };
    let (mut requested, mut time) = (false, t);
    // SAFETY: the importer gave the function, and the places live until it returns.
    unsafe { update(environment, t, false, true, true, may_return, &mut requested, &mut time) };
    Wish { until: (requested && may_return).then_some(time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3DoStep(
    c: *mut Component,
    t: f64,
    h: f64,
    _no_set_before: bool,
    event: *mut bool,
    terminate: *mut bool,
    early: *mut bool,
    last: *mut f64,
) -> c_int {
    let answers = Answers { event, terminate, early, last };
    let (mut to, mut now) = (t, t);
    let begin = |c: &mut Component| {
        let motion = c.instance.motion()?;
        (now, to) = (motion.time(), motion.begin_step(t, h)?);
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with` and `give`, here and below.
    unsafe {
        let status = with(c, begin);
        let whole = to;
        let mut events = false;
        let mut taken = status == OK;
        let mut failed = status;
        while taken {
            failed = with(c, |c| {
                let step = c.instance.motion()?.step(to)?;
                let told = c.instance.motion()?.tell();
                c.instance.happened.extend(told);
                taken = step.is_some();
                if let Some(step) = step {
                    now = step.t;
                    events = step.events > 0 && c.steps.event_mode && c.steps.early_return;
                }
                Ok(())
            });
            if failed != OK || !taken || events {
                break;
            }
            if let Some(until) = intermediate(c, now).until {
                to = until.max(now).min(to);
            }
        }
        let _ = answers.give(events, failed == OK && (events || to < whole) && now < whole, now);
        failed
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3UpdateDiscreteStates(
    c: *mut Component,
    more: *mut bool,
    terminate: *mut bool,
    nominals_changed: *mut bool,
    values_changed: *mut bool,
    next_defined: *mut bool,
    next_time: *mut f64,
) -> c_int {
    let work = |c: &mut Component| {
        let (changed, next, happened) = c.instance.motion()?.update()?;
        c.instance.happened.extend(happened);
        let answers = [
            (more, false),
            (terminate, false),
            (nominals_changed, false),
            (values_changed, changed),
            (next_defined, next.is_some()),
        ];
        // SAFETY: the places are null or the importer's.
        unsafe {
            answers.iter().for_each(|(place, value)| place.as_mut().into_iter().for_each(|place| *place = *value));
            next_time.as_mut().into_iter().for_each(|place| *place = next.unwrap_or(0.0));
        }
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3CompletedIntegratorStep(
    c: *mut Component,
    _no_set_before: bool,
    enter_event_mode: *mut bool,
    terminate: *mut bool,
) -> c_int {
    let work = |c: &mut Component| {
        let enter = c.instance.motion()?.completed_step()?;
        // SAFETY: the places are null or the importer's.
        unsafe {
            *enter_event_mode.as_mut().ok_or("there is no place for the answer")? = enter;
            terminate.as_mut().into_iter().for_each(|terminate| *terminate = false);
        }
        Ok(())
    };
    // SAFETY: the standard's contract is that of `with`.
    unsafe { with(c, work) }
}

macro_rules! numbers {
    ($($name:ident: |$c:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut Component, n: *mut usize) -> c_int {
            let work = |$c: &mut Component| {
                // SAFETY: the importer has a place for the number.
                *unsafe { n.as_mut() }.ok_or("there is no place for the number")? = $value;
                Ok(())
            };
            // SAFETY: the standard's contract is that of `with`.
            unsafe { with(c, work) }
        }
    )*};
}

numbers! {
    fmi3GetNumberOfEventIndicators: |c| c.instance.interface.indicators;
    fmi3GetNumberOfContinuousStates: |c| c.instance.interface.states;
}

/// Modes in which there is nothing to do.
macro_rules! fine {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(c: *mut Component) -> c_int {
            // SAFETY: the standard's contract is that of `with`.
            unsafe { with(c, |_| Ok(())) }
        }
    )*};
}

fine! { fmi3EnterStepMode fmi3EvaluateDiscreteStates fmi3EnterConfigurationMode fmi3ExitConfigurationMode }

not_offered! {
    fmi3GetFloat32 fmi3GetInt8 fmi3GetUInt8 fmi3GetInt16 fmi3GetUInt16 fmi3GetInt32 fmi3GetUInt32 fmi3GetInt64 fmi3GetUInt64
    fmi3GetBoolean fmi3GetString fmi3GetBinary fmi3GetClock fmi3SetFloat32 fmi3SetInt8 fmi3SetUInt8 fmi3SetInt16
    fmi3SetUInt16 fmi3SetInt32 fmi3SetUInt32 fmi3SetInt64 fmi3SetUInt64 fmi3SetBoolean fmi3SetString fmi3SetBinary
    fmi3SetClock fmi3GetIntervalDecimal fmi3GetIntervalFraction fmi3GetShiftDecimal fmi3GetShiftFraction
    fmi3SetIntervalDecimal fmi3SetIntervalFraction fmi3SetShiftDecimal fmi3SetShiftFraction fmi3GetOutputDerivatives
}

refused! {
    fmi3GetNumberOfVariableDependencies fmi3GetVariableDependencies fmi3GetAdjointDerivative fmi3ActivateModelPartition
}
