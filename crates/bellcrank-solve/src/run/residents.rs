//! FMUs whose equations are part of the machine: they move in before a run, are told of its steps, and do what they do at events.
//!
//! Their rates, outputs and indicators are evaluated with those of the machine ([`ResidentProcess`]), and the run finds where an
//! indicator changes its sign. There, at their time events, and wherever anything else jumps, they are in event mode: states may
//! jump, discrete variables change. All of them take part, one after the other, as one may be given what another one gives.

use super::observer::Observer;
use super::{Machine, Simulation, Start, StartError};
use crate::choices::Options;
use crate::engines::StepError;
use crate::events::EventRoot;
use crate::guest::Guest;
use crate::guest::resident::{Happened, ResidentProcess};
use crate::start;
use bellcrank_model::dynamics::Switching;
use bellcrank_model::fmu::wire::Instant;
use bellcrank_model::fmu::{FmuEquations, Resident, side_of_indicator};
use bellcrank_model::{Dynamics, Place, State, Subject, System};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// An FMU whose equations are part of the machine.
#[derive(Clone)]
pub(super) struct Tenant {
    fmu: usize,
    process: Arc<ResidentProcess>,
    pub subject: Subject,
    /// Its states among z, and the places of its indicators among the modes.
    z: Range<usize>,
    slots: Range<usize>,
    outputs: usize,
    /// The time of its next event.
    next: f64,
    completes: bool,
    keeps_state: bool,
}

/// What it needs to go on from an earlier time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedTenant {
    next: f64,
    state: Vec<u8>,
}

/// Looks behind a root, each twice as far as the last, where a switch function is zero to the last digit.
const NUDGES: i32 = 24;

impl Tenant {
    fn failed(&self, t: f64, why: String) -> StepError {
        StepError::Fmu { t, culprit: self.subject.clone(), why }
    }

    /// The time of its next event.
    pub fn next(&self) -> f64 {
        self.next
    }

    /// What it said when its equations could not be evaluated.
    pub fn failure(&self, t: f64) -> Option<StepError> {
        self.process.failure().map(|why| self.failed(t, why))
    }

    /// The place where an observer is, as it sees it.
    fn place(&self, observer: &mut Observer) -> Instant {
        observer.place();
        let u = observer.dynamics.given_to_fmu(self.fmu, &observer.point, &mut observer.w);
        let x = observer.state.z.get(self.z.clone()).unwrap_or_default();
        Instant { t: observer.state.t, x: x.to_vec(), u }
    }

    fn indicators(&self, at: &Instant) -> Vec<f64> {
        let first = self.z.len() + self.outputs;
        let mut values = vec![0.0; first + self.slots.len()];
        self.process.values(at.t, &at.x, &at.u, &mut values);
        values.split_off(first)
    }

    /// Does what happens where an observer is, whose state goes on behind it. Whether anything changed.
    fn happen(&mut self, observer: &mut Observer) -> Result<bool, StepError> {
        let mut at = self.place(observer);
        let before = self.indicators(&at);
        let happened = self.process.happen(at.clone()).map_err(|why| self.failed(at.t, why))?;
        let Happened { next, x } = happened;
        if x.len() != at.x.len() {
            return Err(self.failed(at.t, "told another number of states than its file".into()));
        }
        self.next = if next > at.t { next } else { f64::INFINITY };
        let mut changed = x != at.x;
        at.x.clone_from(&x);
        observer.state.z[self.z.clone()].copy_from_slice(&x);
        let after = self.indicators(&at);
        let pairs = self.slots.clone().zip(before.iter().zip(&after));
        // one that the event left alone keeps the side that it crossed to
        for (slot, (_, after)) in pairs.filter(|(_, (before, after))| before != after) {
            changed = true;
            if let Some(mode) = observer.state.charts.modes.get_mut(slot) {
                *mode = side_of_indicator(*after);
            }
        }
        Ok(changed)
    }

    pub fn save(&self, t: f64) -> Result<SavedTenant, StepError> {
        if !self.keeps_state {
            return Err(self.failed(t, super::guests::CANNOT_SAVE.into()));
        }
        let state = self.process.save().map_err(|why| self.failed(t, why))?;
        Ok(SavedTenant { next: self.next, state })
    }

    pub fn restore(&mut self, saved: &SavedTenant, t: f64) -> Result<(), StepError> {
        self.next = saved.next;
        self.process.restore(&saved.state).map_err(|why| self.failed(t, why))
    }

    pub fn keeps_state(&self) -> bool {
        self.keeps_state
    }
}

/// Starts the FMUs of a machine whose equations are part of it; gives the machine with them, from a start with their states.
pub(super) fn move_in(
    machine: &Machine,
    start: Start,
    options: &Options,
) -> Result<(Machine, Start, Vec<Tenant>), StartError> {
    let Machine::Model(system) = machine else { return Ok((machine.clone(), start, Vec::new())) };
    // the reader refuses loops
    let order = system.model.order_of_residents().unwrap_or_default();
    let (mut system, mut start, mut tenants) = (system.clone(), start, Vec::new());
    for fmu in order {
        let tenant = move_one_in(&mut system, &mut start, fmu, options)?;
        tenants.push(tenant);
    }
    Ok((Machine::Model(system), start, tenants))
}

fn move_one_in(
    system: &mut Arc<System>,
    start: &mut Start,
    fmu: usize,
    options: &Options,
) -> Result<Tenant, StartError> {
    let entry = &system.model.fmus[fmu];
    let t = start.point.t;
    let subject = system.model.subject(Place::Fmu(fmu));
    let failed = |why: String| StepError::Fmu { t, culprit: subject.clone(), why };
    let mut w = system.workspace();
    system.realize(&start.point, &mut w);
    let given = system.given_to_fmu(fmu, &start.point, &mut w);
    let (guest, _) = Guest::start(&entry.into(), &given, [t, options.until], options.rtol).map_err(failed)?;
    let process = Arc::new(ResidentProcess::new(guest));
    let Happened { next, x } = process.states().map_err(failed)?;
    let (z, slots) = system.places_of_fmu(fmu);
    if x.len() != z.len() {
        return Err(failed("told another number of states than its file".into()).into());
    }
    let (completes, keeps_state) =
        (entry.description.exchange.as_ref().is_some_and(|facts| facts.completes), entry.description.keeps_state);
    let mut model = system.model.clone();
    let mut outputs = 0;
    if let Some(resident) = &mut model.fmus[fmu].resident {
        outputs = resident.outputs.len();
        resident.process = Some(process.clone());
        let Resident { states, .. } = resident;
        model.states[states.clone()].iter_mut().zip(&x).for_each(|(state, x)| state.start = *x);
    }
    *system = Arc::new(model.into_system());
    let mut state = State::default();
    start.point.store(&mut state);
    state.z[z.clone()].copy_from_slice(&x);
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let assembled = start::assemble(&dynamics, &state);
    if let Some(why) = process.failure() {
        return Err(failed(why).into());
    }
    start.point = assembled?.0;
    let next = if next > t { next } else { f64::INFINITY };
    Ok(Tenant { fmu, process, subject, z, slots, outputs, next, completes, keeps_state })
}

impl Simulation {
    /// Lets the FMUs do what they do at the observer's state. Whether anything changed.
    pub(super) fn visit_tenants(&mut self) -> Result<bool, StepError> {
        let (mut changed, observer) = (false, &mut self.observer);
        for tenant in &mut self.guests.tenants {
            changed |= tenant.happen(observer)?;
        }
        Ok(changed)
    }

    /// A state behind something that jumps, as FMUs go on from it; whether anything changed.
    pub(super) fn visited(&mut self, state: &State) -> Result<(State, bool), StepError> {
        self.observer.state.clone_from(state);
        let changed = self.visit_tenants()?;
        Ok((self.observer.state.clone(), changed))
    }

    /// The FMUs that have an event at the present time, or that ask for event mode after an accepted step; whether it is a time
    /// event.
    pub(super) fn tenants_to_visit(&mut self, accepted: bool) -> Result<Option<bool>, StepError> {
        if self.guests.tenants.is_empty() {
            return Ok(None);
        }
        let t = self.engine.state().t;
        let reached = t + 8.0 * f64::EPSILON * t.abs();
        if self.guests.tenants.iter().any(|tenant| tenant.next <= reached) {
            return Ok(Some(true));
        }
        let mut asked = false;
        self.observer.state.clone_from(self.engine.state());
        for tenant in self.guests.tenants.iter().filter(|tenant| accepted && tenant.completes) {
            let at = tenant.place(&mut self.observer);
            asked |= tenant.process.accepted(at).map_err(|why| tenant.failed(t, why))?;
        }
        Ok(asked.then_some(false))
    }

    /// A root a little later, where the indicator of an FMU is beyond zero and not at it.
    pub(super) fn beyond_zero(&mut self, root: EventRoot) -> Result<EventRoot, StepError> {
        let owner = self.observer.dynamics.owner_of_switch(root.switch);
        if !matches!(owner, Some((_, Subject { place: Some(Place::Fmu(_)), .. }))) {
            return Ok(root);
        }
        let (mut t, end) = (root.t, self.engine.state().t);
        let mut values = vec![0.0; self.passing.count()];
        for k in 0..NUDGES {
            let observer = &mut self.observer;
            observer.go_to(t, &mut *self.engine)?;
            observer.place();
            observer.dynamics.switch_values(&observer.point, &mut observer.w, &mut values);
            if values[root.switch] < 0.0 {
                return Ok(EventRoot { t, ..root });
            }
            t += f64::EPSILON * root.t.abs().max(end - root.t) * 2f64.powi(k);
            if t > end {
                break;
            }
        }
        Ok(root)
    }
}
