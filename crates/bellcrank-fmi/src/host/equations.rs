//! Model exchange as equations: rates, outputs and indicators at any place, and what happens at events. The run integrates.
//!
//! Derivatives are those that the FMU tells along the directions of its states and inputs; one that tells none is asked at
//! neighbours, with central differences.

use super::library::{Instance, Loaded};
use bellcrank_model::fmu::wire::Instant;
use bellcrank_model::fmu::{Type, Version};
use std::ffi::c_int;

/// The relative step of central differences: ε^⅓.
const STEP: f64 = 6.0e-6;

impl Loaded {
    /// Goes to a place; gives the rates of the states.
    fn go_to(&self, at: &Instant) -> Result<Vec<f64>, String> {
        // inputs come first, as rates are told with the states
        self.set_inputs(&at.u)?;
        self.at(at.t, at.x.clone()).map(|place| place.f)
    }

    fn told(&self) -> Result<Vec<f64>, String> {
        self.outputs.iter().map(|handle| self.get(*handle)).collect()
    }

    /// Rates, outputs and event indicators at a place.
    pub(super) fn equations(&self, at: &Instant) -> Result<Vec<f64>, String> {
        let mut all = self.go_to(at)?;
        all.extend(self.told()?);
        all.extend(self.indicators()?);
        Ok(all)
    }

    /// The derivatives of rates and outputs by states and inputs, row by row.
    pub(super) fn slopes(&self, at: &Instant) -> Result<Vec<f64>, String> {
        self.go_to(at)?;
        let (n, width) = (at.x.len(), at.x.len() + at.u.len());
        let rows = n + self.outputs.len();
        let mut out = vec![0.0; rows * width];
        for column in 0..width {
            let slopes = match self.along(column, n)? {
                Some(slopes) => slopes,
                None => self.difference(at, column)?,
            };
            slopes.iter().enumerate().for_each(|(row, slope)| out[row * width + column] = *slope);
        }
        Ok(out)
    }

    /// The derivatives along a state or an input as the FMU tells them, if it does and all of these are real.
    fn along(&self, column: usize, n: usize) -> Result<Option<Vec<f64>>, String> {
        let directional = self.integrator.as_ref().and_then(|i| i.directional.as_ref());
        let Some([states, rates]) = directional else { return Ok(None) };
        if self.inputs.iter().chain(&self.outputs).any(|handle| handle.of != Type::Float64) {
            return Ok(None);
        }
        let known = match column.checked_sub(n) {
            None => states[column],
            Some(input) => self.inputs[input].reference,
        };
        let unknown: Vec<u32> = rates.iter().copied().chain(self.outputs.iter().map(|o| o.reference)).collect();
        let (name, seed, mut slopes) = ("GetDirectionalDerivative", 1.0, vec![0.0; unknown.len()]);
        if unknown.is_empty() {
            return Ok(Some(slopes));
        }
        // SAFETY: the types are those of the standard, with as many numbers at each pointer as told.
        let status = unsafe {
            if self.version == Version::Two {
                type Along =
                    unsafe extern "C" fn(Instance, *const u32, usize, *const u32, usize, *const f64, *mut f64) -> c_int;
                let along: Along = self.function(name)?;
                along(self.instance, unknown.as_ptr(), unknown.len(), &known, 1, &seed, slopes.as_mut_ptr())
            } else {
                type Along = unsafe extern "C" fn(
                    Instance,
                    *const u32,
                    usize,
                    *const u32,
                    usize,
                    *const f64,
                    usize,
                    *mut f64,
                    usize,
                ) -> c_int;
                let (along, count): (Along, usize) = (self.function(name)?, unknown.len());
                along(self.instance, unknown.as_ptr(), count, &known, 1, &seed, 1, slopes.as_mut_ptr(), count)
            }
        };
        self.check(status, name)?;
        Ok(Some(slopes))
    }

    /// The same by central differences.
    fn difference(&self, at: &Instant, column: usize) -> Result<Vec<f64>, String> {
        let n = at.x.len();
        let here = if column < n { at.x[column] } else { at.u[column - n] };
        let step = STEP * here.abs().max(self.nominal(column));
        let side = |sign: f64| {
            let mut there = at.clone();
            let place = if column < n { &mut there.x[column] } else { &mut there.u[column - n] };
            *place += sign * step;
            let moved = *place;
            let mut values = self.go_to(&there)?;
            values.extend(self.told()?);
            Ok::<_, String>((moved, values))
        };
        let ((right, after), (left, before)) = (side(1.0)?, side(-1.0)?);
        Ok(after.iter().zip(before).map(|(a, b)| (a - b) / (right - left)).collect())
    }

    /// Does what happens at a place in event mode; tells the time of the next event and the states.
    pub(super) fn happen(&mut self, at: &Instant) -> Result<Vec<f64>, String> {
        self.go_to(at)?;
        self.plain("EnterEventMode")?;
        self.set_inputs(&at.u)?;
        self.settle()?;
        self.told_states()
    }

    /// Tells of an accepted step that led to a place; 1 if event mode is wanted.
    pub(super) fn accepted(&self, at: &Instant) -> Result<Vec<f64>, String> {
        self.go_to(at)?;
        Ok(vec![f64::from(u8::from(self.completed()?))])
    }

    /// The time of the next event, and the states.
    pub(super) fn told_states(&self) -> Result<Vec<f64>, String> {
        let next = self.integrator.as_ref().map_or(f64::INFINITY, |i| i.memory[1]);
        Ok(std::iter::once(next).chain(self.states()?).collect())
    }

    /// The usual size of a state; 1 for inputs.
    fn nominal(&self, column: usize) -> f64 {
        self.integrator.as_ref().and_then(|i| i.nominal(column)).unwrap_or(1.0)
    }
}
