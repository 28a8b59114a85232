//! FMUs whose equations are part of the machine: what evaluates them in their process, with the last places kept.

use super::Guest;
use bellcrank_model::fmu::FmuEquations;
use bellcrank_model::fmu::wire::{Instant, Request};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Places whose values are kept: what a step looks at again soon.
const KEPT: usize = 4;

/// The process of an FMU as its equations.
pub(crate) struct ResidentProcess(Mutex<AskedProcess>);

struct AskedProcess {
    guest: Guest,
    values: Vec<(Instant, Vec<f64>)>,
    slopes: Vec<(Instant, Vec<f64>)>,
    failure: Option<String>,
}

impl fmt::Debug for ResidentProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResidentProcess")
    }
}

/// What happened in event mode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Happened {
    /// The time of the next event.
    pub next: f64,
    /// The states behind it.
    pub x: Vec<f64>,
}

impl AskedProcess {
    /// A number of values at a place; NaN where it fails, which is kept.
    fn at(&mut self, slopes: bool, at: Instant, out: &mut [f64]) {
        let kept = if slopes { &self.slopes } else { &self.values };
        if let Some((_, values)) = kept.iter().find(|(place, _)| *place == at) {
            return out.copy_from_slice(values);
        }
        out.fill(f64::NAN);
        if self.failure.is_some() || at.x.iter().chain(&at.u).any(|x| !x.is_finite()) {
            return;
        }
        let request = match slopes {
            true => Request::Slopes { at: at.clone() },
            false => Request::Equations { at: at.clone() },
        };
        match self.guest.numbers(&request, "its equations") {
            Ok(values) if values.len() == out.len() => {
                out.copy_from_slice(&values);
                let kept = if slopes { &mut self.slopes } else { &mut self.values };
                kept.truncate(KEPT - 1);
                kept.insert(0, (at, values));
            }
            Ok(_) => self.failure = Some("told other numbers of values than its file".into()),
            Err(why) => self.failure = Some(why),
        }
    }

    fn forget(&mut self) {
        self.values.clear();
        self.slopes.clear();
    }
}

impl ResidentProcess {
    pub fn new(guest: Guest) -> ResidentProcess {
        ResidentProcess(Mutex::new(AskedProcess { guest, values: Vec::new(), slopes: Vec::new(), failure: None }))
    }

    fn lock(&self) -> MutexGuard<'_, AskedProcess> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What failed since the last look.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.take()
    }

    /// The time of its next event, and its states.
    pub fn states(&self) -> Result<Happened, String> {
        let told = self.lock().guest.numbers(&Request::States, "its states")?;
        happened(&told)
    }

    /// Lets it do what happens at a place.
    pub fn happen(&self, at: Instant) -> Result<Happened, String> {
        let mut asked = self.lock();
        asked.forget();
        let told = asked.guest.numbers(&Request::Event { at }, "an event")?;
        happened(&told)
    }

    /// Tells it of an accepted step; whether it wants event mode.
    pub fn accepted(&self, at: Instant) -> Result<bool, String> {
        let told = self.lock().guest.numbers(&Request::Accepted { at }, "a step")?;
        Ok(told.first() == Some(&1.0))
    }

    pub fn save(&self) -> Result<Vec<u8>, String> {
        self.lock().guest.save()
    }

    pub fn restore(&self, state: &[u8]) -> Result<(), String> {
        let mut asked = self.lock();
        asked.forget();
        asked.guest.restore(state, &[])
    }
}

fn happened(told: &[f64]) -> Result<Happened, String> {
    let Some((next, x)) = told.split_first() else { return Err("tells nothing of its states".into()) };
    match x.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(format!("gave {x} for one of its states")),
        None => Ok(Happened { next: *next, x: x.to_vec() }),
    }
}

impl FmuEquations for ResidentProcess {
    fn values(&self, t: f64, x: &[f64], u: &[f64], out: &mut [f64]) {
        self.lock().at(false, Instant { t, x: x.to_vec(), u: u.to_vec() }, out);
    }

    fn slopes(&self, t: f64, x: &[f64], u: &[f64], out: &mut [f64]) {
        self.lock().at(true, Instant { t, x: x.to_vec(), u: u.to_vec() }, out);
    }
}
