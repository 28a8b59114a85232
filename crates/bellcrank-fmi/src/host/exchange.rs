//! Model exchange: the states of the FMU are integrated here, in its own process.
//!
//! Between two exchanges of values inputs are constant. Steps are those of DOPRI5 [Dormand & Prince 1980], with error control by the
//! tolerance of the run; they end on time events, and where an event indicator changes its sign, which is found by bisection of
//! the step itself. One-step methods have no past, so that going back to a state needs the size of the next step and nothing else.

use super::library::{Instance, Loaded};
use bellcrank_model::fmu::Version;
use bellcrank_model::fmu::wire::ExchangeStart;
use std::ffi::c_int;

/// The steps of DOPRI5: rows of a, with b as the last one.
const A: [&[f64]; 6] = [
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
    &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
    &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
    &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const C: [f64; 6] = [1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];
/// b − b̂.
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];

/// The error of a step against the tolerance of the run.
const LOCAL: f64 = 0.1;
/// Steps between two exchanges: more are a sign of a stiff FMU, or of one that does not get on.
const MOST_STEPS: usize = 2_000_000;
/// Events without any progress in time.
const MOST_EVENTS: usize = 1000;
/// Rounds of event iteration.
const MOST_ROUNDS: usize = 1000;
/// Times that are this close, as a fraction of themselves, are one.
const SAME: f64 = 4.0 * f64::EPSILON;

/// What it takes to integrate the states of an FMU.
pub(super) struct Integrator {
    states: usize,
    indicators: usize,
    /// The value references of states and derivatives, where it tells derivatives along a direction.
    pub(super) directional: Option<[Vec<u32>; 2]>,
    tolerance: f64,
    nominals: Vec<f64>,
    /// The next step, if one was taken before, and the next time event.
    pub(super) memory: [f64; 2],
}

impl Integrator {
    pub(super) fn new(start: &ExchangeStart, tolerance: f64) -> Integrator {
        let ExchangeStart { states, indicators, directional } = start.clone();
        let nominals = vec![1.0; states];
        Integrator { states, indicators, directional, tolerance, nominals, memory: [f64::NAN, f64::INFINITY] }
    }
}

impl Integrator {
    /// The usual size of a state.
    pub(super) fn nominal(&self, state: usize) -> Option<f64> {
        self.nominals.get(state).copied()
    }
}

/// A state with its derivatives.
#[derive(Clone, Default)]
pub(super) struct Place {
    t: f64,
    x: Vec<f64>,
    pub(super) f: Vec<f64>,
}

impl Loaded {
    fn numbers(&self, name: &str, n: usize) -> Result<Vec<f64>, String> {
        let get: unsafe extern "C" fn(Instance, *mut f64, usize) -> c_int = self.function(name)?;
        let mut out = vec![0.0; n];
        // SAFETY: the type is that of the standard; the buffer has room for n numbers.
        self.check(unsafe { get(self.instance, out.as_mut_ptr(), n) }, name)?;
        Ok(out)
    }

    pub(super) fn indicators(&self) -> Result<Vec<f64>, String> {
        let n = self.integrator.as_ref().map_or(0, |i| i.indicators);
        if n == 0 { Ok(Vec::new()) } else { self.numbers("GetEventIndicators", n) }
    }

    pub(super) fn states(&self) -> Result<Vec<f64>, String> {
        let n = self.integrator.as_ref().map_or(0, |i| i.states);
        if n == 0 { Ok(Vec::new()) } else { self.numbers("GetContinuousStates", n) }
    }

    fn set_time(&self, t: f64) -> Result<(), String> {
        let set: unsafe extern "C" fn(Instance, f64) -> c_int = self.function("SetTime")?;
        // SAFETY: the type is that of the standard, and the instance is alive.
        self.check(unsafe { set(self.instance, t) }, "SetTime")
    }

    /// Goes to a time and a state; gives the derivatives there.
    pub(super) fn at(&self, t: f64, x: Vec<f64>) -> Result<Place, String> {
        self.set_time(t)?;
        if x.is_empty() {
            return Ok(Place { t, x, f: Vec::new() });
        }
        let set: unsafe extern "C" fn(Instance, *const f64, usize) -> c_int = self.function("SetContinuousStates")?;
        // SAFETY: the type is that of the standard, and the states are as many as told.
        self.check(unsafe { set(self.instance, x.as_ptr(), x.len()) }, "SetContinuousStates")?;
        let name = if self.version == Version::Two { "GetDerivatives" } else { "GetContinuousStateDerivatives" };
        let f = self.numbers(name, x.len())?;
        match f.iter().find(|f| !f.is_finite()) {
            Some(f) => Err(format!("gave {f} for a derivative of its states at t = {t} s")),
            None => Ok(Place { t, x, f }),
        }
    }

    /// One step from a place; gives the place at its end and the error against the tolerance.
    fn try_step(&self, from: &Place, h: f64, tolerance: f64, nominals: &[f64]) -> Result<(Place, f64), String> {
        let mut k = vec![from.f.clone()];
        let mut to = Place::default();
        for (row, c) in A.iter().zip(C) {
            let mut x = from.x.clone();
            for (a, k) in row.iter().zip(&k) {
                x.iter_mut().zip(k).for_each(|(x, k)| *x += h * a * k);
            }
            to = self.at(from.t + c * h, x)?;
            k.push(to.f.clone());
        }
        let error = |i: usize| h * E.iter().zip(&k).map(|(e, k)| e * k[i]).sum::<f64>();
        let size = |i: usize| LOCAL * tolerance * (nominals[i] + from.x[i].abs().max(to.x[i].abs()));
        let worst = (0..from.x.len()).map(|i| (error(i) / size(i)).abs()).fold(0.0, f64::max);
        Ok((to, worst))
    }

    /// What happens in event mode: values of discrete variables are found, and the time of the next event.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        for _ in 0..MOST_ROUNDS {
            let (more, ends, next) = self.update()?;
            if ends {
                return Err("wants the simulation to end".into());
            }
            if more {
                continue;
            }
            self.plain("EnterContinuousTimeMode")?;
            let n = self.integrator.as_ref().map_or(0, |i| i.states);
            let told = if n == 0 { Vec::new() } else { self.numbers("GetNominalsOfContinuousStates", n)? };
            if let Some(integrator) = &mut self.integrator {
                // a nominal value of zero says nothing
                integrator.nominals =
                    told.into_iter().map(|x| if x > 0.0 && x.is_finite() { x } else { 1.0 }).collect();
                integrator.memory[1] = next.unwrap_or(f64::INFINITY);
            }
            return Ok(());
        }
        Err("finds no end of its event iteration".into())
    }

    /// One round of event iteration: whether there are more, whether it wants to end, the next time event.
    fn update(&self) -> Result<(bool, bool, Option<f64>), String> {
        if self.version == Version::Two {
            #[repr(C)]
            #[derive(Default)]
            struct Info {
                more: c_int,
                ends: c_int,
                nominals: c_int,
                values: c_int,
                defined: c_int,
                next: f64,
            }
            let update: unsafe extern "C" fn(Instance, *mut Info) -> c_int = self.function("NewDiscreteStates")?;
            let mut info = Info::default();
            // SAFETY: here and below, the type is that of the standard, and the places live until it returns.
            self.check(unsafe { update(self.instance, &mut info) }, "NewDiscreteStates")?;
            return Ok((info.more != 0, info.ends != 0, (info.defined != 0).then_some(info.next)));
        }
        type Update =
            unsafe extern "C" fn(Instance, *mut bool, *mut bool, *mut bool, *mut bool, *mut bool, *mut f64) -> c_int;
        let update: Update = self.function("UpdateDiscreteStates")?;
        let (mut more, mut ends, mut nominals, mut values, mut defined, mut next) =
            (false, false, false, false, false, 0.0);
        // SAFETY: as above.
        let status =
            unsafe { update(self.instance, &mut more, &mut ends, &mut nominals, &mut values, &mut defined, &mut next) };
        self.check(status, "UpdateDiscreteStates")?;
        Ok((more, ends, defined.then_some(next)))
    }

    /// Whether an accepted step asks for event mode.
    pub(super) fn completed(&self) -> Result<bool, String> {
        let name = "CompletedIntegratorStep";
        let (enter, ends) = if self.version == Version::Two {
            let completed: unsafe extern "C" fn(Instance, c_int, *mut c_int, *mut c_int) -> c_int =
                self.function(name)?;
            let (mut enter, mut ends) = (0, 0);
            // SAFETY: here and below, the type is that of the standard, and the places live until it returns.
            self.check(unsafe { completed(self.instance, 1, &mut enter, &mut ends) }, name)?;
            (enter != 0, ends != 0)
        } else {
            let completed: unsafe extern "C" fn(Instance, bool, *mut bool, *mut bool) -> c_int = self.function(name)?;
            let (mut enter, mut ends) = (false, false);
            // SAFETY: as above.
            self.check(unsafe { completed(self.instance, true, &mut enter, &mut ends) }, name)?;
            (enter, ends)
        };
        if ends { Err("wants the simulation to end".into()) } else { Ok(enter) }
    }

    /// Goes on to a time with the inputs as they are.
    pub(super) fn integrate(&mut self, from: f64, to: f64) -> Result<(), String> {
        let (mut events, mut last_event) = (0, f64::NAN);
        let mut now = self.at(from, self.states()?)?;
        for _ in 0..MOST_STEPS {
            if to - now.t <= SAME * to.abs() {
                return self.set_time(to);
            }
            let before = self.indicators()?;
            let (place, happens) = self.advance(&now, to, &before)?;
            now = place;
            let asked = self.completed()?;
            let next = self.integrator.as_ref().map_or(f64::INFINITY, |i| i.memory[1]);
            if happens || asked || next <= now.t + SAME * now.t.abs() {
                events = if now.t == last_event { events + 1 } else { 0 };
                last_event = now.t;
                if events > MOST_EVENTS {
                    return Err(format!("has events without end at t = {} s", now.t));
                }
                self.plain("EnterEventMode")?;
                self.settle()?;
                now = self.at(now.t, self.states()?)?;
            }
        }
        Err(format!("took {MOST_STEPS} steps to t = {} s: its states are stiff, or it does not get on", now.t))
    }

    /// One accepted step that does not pass a time, a time event or a change of sign of an indicator; whether it ends at the
    /// latter.
    fn advance(&mut self, now: &Place, to: f64, before: &[f64]) -> Result<(Place, bool), String> {
        let Some(integrator) = &self.integrator else { return Err("has no states to integrate".into()) };
        let (tolerance, nominals, [wish, event]) =
            (integrator.tolerance, integrator.nominals.clone(), integrator.memory);
        let stop = if event > now.t { to.min(event) } else { to };
        let whole = stop - now.t;
        // the first step of all is short: nothing is known yet
        let mut h = if wish.is_nan() { 1e-3 * whole } else { wish }.min(whole);
        let shortest = 16.0 * f64::EPSILON * now.t.abs().max(whole);
        loop {
            let (mut place, worst) = self.try_step(now, h, tolerance, &nominals)?;
            let factor = (0.9 * worst.powf(-0.2)).clamp(0.2, 5.0);
            if worst > 1.0 {
                h *= factor.min(0.9);
                if h < shortest {
                    return Err(format!("has states that no step is short enough for at t = {} s", now.t));
                }
                continue;
            }
            // a step that was cut says nothing against a longer one
            let next = if h < whole || factor < 1.0 { h * factor } else { (h * factor).max(wish) };
            if let Some(integrator) = &mut self.integrator {
                integrator.memory[0] = if next.is_nan() { h * factor } else { next };
            }
            if (h - whole).abs() <= SAME * stop.abs() {
                place.t = stop;
            }
            let crossed = |after: &[f64]| before.iter().zip(after).any(|(a, b)| (*a > 0.0) != (*b > 0.0));
            self.at(place.t, place.x.clone())?;
            if !crossed(&self.indicators()?) {
                return Ok((place, false));
            }
            let (mut low, mut high) = (0.0, h);
            while high - low > SAME * (now.t.abs() + h) {
                let middle = 0.5 * (low + high);
                if middle <= low || middle >= high {
                    break;
                }
                let (there, _) = self.try_step(now, middle, tolerance, &nominals)?;
                self.at(there.t, there.x.clone())?;
                if crossed(&self.indicators()?) {
                    (high, place) = (middle, there);
                } else {
                    low = middle;
                }
            }
            let place = self.at(place.t, place.x)?;
            return Ok((place, true));
        }
    }
}
