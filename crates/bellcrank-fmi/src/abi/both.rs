//! The functions that FMI 2.0 and 3.0 have in common, under two names each.

use super::{Component, Outcome, array, fill, free, room, with};
use crate::instance::Stage;
use std::ffi::c_int;

/// A state that an importer holds.
pub type SavedBytes = Vec<u8>;

macro_rules! both {
    ($($two:ident $three:ident ($($arg:ident: $type:ty),*) $work:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $two(c: *mut Component $(, $arg: $type)*) -> c_int {
            // SAFETY: the standard's contract is that of `with`; pointers are what the standard says.
            unsafe { with(c, |c| $work(c $(, $arg)*)) }
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $three(c: *mut Component $(, $arg: $type)*) -> c_int {
            // SAFETY: as above.
            unsafe { with(c, |c| $work(c $(, $arg)*)) }
        }
    )*};
}

both! {
    fmi2ExitInitializationMode fmi3ExitInitializationMode () exit_initialization;
    fmi2Terminate fmi3Terminate () terminate;
    fmi2Reset fmi3Reset () reset;
    fmi2GetFMUstate fmi3GetFMUState (out: *mut *mut SavedBytes) save;
    fmi2SetFMUstate fmi3SetFMUState (saved: *const SavedBytes) restore;
    fmi2FreeFMUstate fmi3FreeFMUState (saved: *mut *mut SavedBytes) free_saved;
    fmi2SerializedFMUstateSize fmi3SerializedFMUStateSize (saved: *const SavedBytes, n: *mut usize) size_of_saved;
    fmi2SerializeFMUstate fmi3SerializeFMUState (saved: *const SavedBytes, out: *mut u8, n: usize) serialize;
    fmi2DeSerializeFMUstate fmi3DeserializeFMUState (bytes: *const u8, n: usize, out: *mut *mut SavedBytes) deserialize;
    fmi2EnterEventMode fmi3EnterEventMode () nothing;
    fmi2EnterContinuousTimeMode fmi3EnterContinuousTimeMode () nothing;
    fmi2SetTime fmi3SetTime (t: f64) set_time;
    fmi2SetContinuousStates fmi3SetContinuousStates (x: *const f64, n: usize) set_states;
    fmi2GetDerivatives fmi3GetContinuousStateDerivatives (out: *mut f64, n: usize) get_derivatives;
    fmi2GetEventIndicators fmi3GetEventIndicators (out: *mut f64, n: usize) get_indicators;
    fmi2GetContinuousStates fmi3GetContinuousStates (out: *mut f64, n: usize) get_states;
    fmi2GetNominalsOfContinuousStates fmi3GetNominalsOfContinuousStates (out: *mut f64, n: usize) get_nominals;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi2FreeInstance(c: *mut Component) {
    // SAFETY: the standard's contract is that of `free`.
    unsafe { free(c) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fmi3FreeInstance(c: *mut Component) {
    // SAFETY: as above.
    unsafe { free(c) }
}

/// Values of variables.
///
/// # Safety
/// The arrays are as long as the importer says.
pub unsafe fn get(c: &mut Component, references: *const u32, n: usize, out: *mut f64, values: usize) -> Outcome {
    // SAFETY: the contract of this function.
    let (references, out) = unsafe { (array(references, n)?, room(out, values)?) };
    let found = references.iter().map(|r| c.instance.get(*r)).collect::<Result<Vec<_>, _>>()?;
    fill(out, &found)
}

/// Sets variables.
///
/// # Safety
/// The arrays are as long as the importer says.
pub unsafe fn set(c: &mut Component, references: *const u32, n: usize, values: *const f64, m: usize) -> Outcome {
    // SAFETY: the contract of this function.
    let (references, values) = unsafe { (array(references, n)?, array(values, m)?) };
    if n != m {
        return Err(format!("{m} values were given for {n} variables"));
    }
    references.iter().zip(values).try_for_each(|(reference, value)| c.instance.set(*reference, *value))
}

/// ∂(unknowns)/∂(knowns) · seed.
///
/// # Safety
/// The arrays are as long as the importer says.
pub unsafe fn directional(
    c: &mut Component,
    unknowns: (*const u32, usize),
    knowns: (*const u32, usize),
    seed: *const f64,
    out: *mut f64,
) -> Outcome {
    // SAFETY: the contract of this function.
    let (unknowns, knowns, seed, out) = unsafe {
        let (n, m) = (unknowns.1, knowns.1);
        (array(unknowns.0, n)?, array(knowns.0, m)?, array(seed, m)?, room(out, n)?)
    };
    let found = c.instance.directional(unknowns, knowns, seed)?;
    fill(out, &found)
}

unsafe fn nothing(_: &mut Component) -> Outcome {
    Ok(())
}

unsafe fn exit_initialization(c: &mut Component) -> Outcome {
    // the last parameters are known: whatever is wrong with them is told now
    c.instance.motion()?.time();
    c.instance.stage = Stage::Running;
    Ok(())
}

unsafe fn terminate(c: &mut Component) -> Outcome {
    c.instance.stage = Stage::Ended;
    Ok(())
}

unsafe fn reset(c: &mut Component) -> Outcome {
    c.instance.reset();
    Ok(())
}

unsafe fn save(c: &mut Component, out: *mut *mut SavedBytes) -> Outcome {
    let bytes = c.instance.save()?;
    // SAFETY: the importer's place holds null, or a state that this function has given before.
    unsafe {
        let out = out.as_mut().ok_or("there is no place for the state")?;
        match out.as_mut() {
            Some(old) => *old = bytes,
            None => *out = Box::into_raw(Box::new(bytes)),
        }
    }
    Ok(())
}

unsafe fn bytes_of<'a>(saved: *const SavedBytes) -> Result<&'a SavedBytes, String> {
    // SAFETY: the importer hands out what `save` or `deserialize` gave.
    unsafe { saved.as_ref() }.ok_or_else(|| "no FMU state was given".to_string())
}

unsafe fn restore(c: &mut Component, saved: *const SavedBytes) -> Outcome {
    // SAFETY: as in `bytes_of`.
    let bytes = unsafe { bytes_of(saved)? };
    c.instance.restore(bytes)
}

unsafe fn free_saved(_: &mut Component, saved: *mut *mut SavedBytes) -> Outcome {
    // SAFETY: as in `bytes_of`; the importer gives it back once.
    unsafe {
        if let Some(saved) = saved.as_mut().filter(|saved| !saved.is_null()) {
            drop(Box::from_raw(*saved));
            *saved = std::ptr::null_mut();
        }
    }
    Ok(())
}

unsafe fn size_of_saved(_: &mut Component, saved: *const SavedBytes, n: *mut usize) -> Outcome {
    // SAFETY: as in `bytes_of`, and the importer has a place for the size.
    unsafe { *n.as_mut().ok_or("there is no place for the size")? = bytes_of(saved)?.len() };
    Ok(())
}

unsafe fn serialize(_: &mut Component, saved: *const SavedBytes, out: *mut u8, n: usize) -> Outcome {
    // SAFETY: as in `bytes_of`, and the importer has room for n bytes.
    let (bytes, out) = unsafe { (bytes_of(saved)?, room(out, n)?) };
    let out = out.get_mut(..bytes.len()).ok_or("there is too little room for the FMU state")?;
    out.copy_from_slice(bytes);
    Ok(())
}

unsafe fn deserialize(_: &mut Component, bytes: *const u8, n: usize, out: *mut *mut SavedBytes) -> Outcome {
    // SAFETY: the importer gives n bytes, and a place for the state.
    unsafe {
        let bytes = array(bytes, n)?.to_vec();
        *out.as_mut().ok_or("there is no place for the state")? = Box::into_raw(Box::new(bytes));
    }
    Ok(())
}

unsafe fn set_time(c: &mut Component, t: f64) -> Outcome {
    c.instance.motion()?.set_time(t)
}

unsafe fn set_states(c: &mut Component, x: *const f64, n: usize) -> Outcome {
    // SAFETY: the importer gives n states.
    let x = unsafe { array(x, n)? };
    c.instance.motion()?.set_states(x)
}

macro_rules! getters {
    ($($name:ident: |$motion:ident| $values:expr;)*) => {$(
        unsafe fn $name(c: &mut Component, out: *mut f64, n: usize) -> Outcome {
            let $motion = c.instance.motion()?;
            let values: Vec<f64> = $values;
            // SAFETY: the importer has room for n values.
            fill(unsafe { room(out, n)? }, &values)
        }
    )*};
}

getters! {
    get_derivatives: |motion| motion.derivatives()?;
    get_indicators: |motion| motion.indicators()?;
    get_states: |motion| motion.states();
    get_nominals: |motion| motion.nominals();
}
