//! FMUs beside a run: at equal distances in time they are given values of the machine, and the machine values of theirs.
//!
//! With the communication step H and t_k = t₀ + k H, an FMU goes from t_k to t_{k+1} with the inputs u(t_k), and the machine with
//! the outputs y(t_k). Both are held constant in between, so that the error of the exchange is of first order in H, whatever
//! the tolerance of the run; `--verify` measures it with H/2 and H/4. At t_{k+1} the FMU is given u(t_{k+1}) before it tells
//! y(t_{k+1}): outputs that follow inputs at once come without delay.

use super::monitors::OutputMonitor;
use super::residents::{SavedTenant, Tenant};
use super::sampler::Sampler;
use super::{InputId, Simulation};
use crate::engines::StepError;
use crate::events::Event;
use crate::guest::Guest;
use crate::record::{Recorder, Silent};
use bellcrank_math::tape::Tape;
use bellcrank_model::model::FmuEntry;
use bellcrank_model::{Place, State, Subject};
use serde::{Deserialize, Serialize};

/// The FMUs of a run.
#[derive(Default)]
pub(super) struct Guests {
    /// Those that values are exchanged with.
    exchanges: Vec<Exchange>,
    /// Those whose equations are part of the machine.
    pub tenants: Vec<Tenant>,
}

/// One FMU, and what passes between it and the machine.
struct Exchange {
    guest: Guest,
    subject: Subject,
    /// What it is given, if anything.
    given: Option<OutputMonitor>,
    /// The inputs of the machine that it sets.
    sets: Vec<InputId>,
    /// Whether its state can be taken and set.
    keeps_state: bool,
    step: f64,
    memory: GuestProgress,
}

/// How far an FMU has come, and what it goes on with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct GuestProgress {
    from: f64,
    exchanges: u64,
    values: Vec<f64>,
}

/// What the FMUs of a run need to go on from an earlier time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedGuests {
    exchanges: Vec<SavedGuest>,
    tenants: Vec<SavedTenant>,
}

/// What one of those needs that values are exchanged with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SavedGuest {
    memory: GuestProgress,
    state: Vec<u8>,
}

impl Exchange {
    /// The time of an exchange.
    fn time(&self, number: u64) -> f64 {
        self.memory.from + number as f64 * self.step
    }

    fn next(&self) -> f64 {
        self.time(self.memory.exchanges + 1)
    }

    fn failed(&self, t: f64, why: String) -> StepError {
        StepError::Fmu { t, culprit: self.subject.clone(), why }
    }

    /// Goes on to the next exchange, or stays at this one, with what it is given there.
    fn take(&mut self, given: Vec<f64>, steps: bool) -> Result<Vec<f64>, StepError> {
        let (from, to) = (self.time(self.memory.exchanges), self.next());
        if let Some(x) = given.iter().find(|x| !x.is_finite()) {
            let why = format!("would be given {x}: one of its `inputs` is no number");
            return Err(self.failed(if steps { to } else { from }, why));
        }
        let values = if steps { self.guest.step(from, to - from, &given) } else { self.guest.look(&given) };
        let values = values.map_err(|why| self.failed(from, why))?;
        self.memory.exchanges += u64::from(steps);
        self.memory.values = given;
        Ok(values)
    }

    fn save(&mut self) -> Result<SavedGuest, StepError> {
        let t = self.time(self.memory.exchanges);
        if !self.keeps_state {
            return Err(self.failed(t, CANNOT_SAVE.into()));
        }
        let state = self.guest.save().map_err(|why| self.failed(t, why))?;
        Ok(SavedGuest { memory: self.memory.clone(), state })
    }

    fn restore(&mut self, saved: &SavedGuest) -> Result<(), StepError> {
        self.memory = saved.memory.clone();
        let t = self.time(self.memory.exchanges);
        self.guest.restore(&saved.state, &saved.memory.values).map_err(|why| self.failed(t, why))
    }
}

pub(super) const CANNOT_SAVE: &str = "cannot save its state, so that the run cannot go back to it (its file does not say \
                           `canGetAndSetFMUState` and `canSerializeFMUState`)";

impl Guests {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty() && self.tenants.is_empty()
    }

    /// Those whose equations are part of the machine.
    pub fn of(tenants: Vec<Tenant>) -> Guests {
        Guests { exchanges: Vec::new(), tenants }
    }

    /// The time of the next exchange, or of the next event that an FMU has foretold.
    pub fn next(&self) -> f64 {
        let exchanges = self.exchanges.iter().map(Exchange::next);
        exchanges.chain(self.tenants.iter().map(Tenant::next)).fold(f64::INFINITY, f64::min)
    }

    /// What an FMU said whose equations could not be evaluated, in the place of what followed from it.
    pub fn explain(&self, t: f64, error: StepError) -> StepError {
        self.tenants.iter().find_map(|tenant| tenant.failure(t)).unwrap_or(error)
    }

    /// The FMUs whose exchange a run has come to: a method may end a step a rounding error before it.
    fn due(&self, t: f64) -> impl Iterator<Item = usize> + '_ {
        let reached = t + 8.0 * f64::EPSILON * t.abs();
        (0..self.exchanges.len()).filter(move |k| self.exchanges[*k].next() <= reached)
    }

    /// The time up to which a step is looked at: rows at an exchange show what is behind it.
    pub fn before(&self, t: f64) -> f64 {
        let reached = t + 8.0 * f64::EPSILON * t.abs();
        if self.next() <= reached { t - 16.0 * f64::EPSILON * t.abs() } else { t }
    }
}

impl Simulation {
    /// Starts the FMUs of a model where the run starts.
    pub(super) fn invite(&mut self, fmus: &[FmuEntry]) -> Result<(), StepError> {
        let residents = fmus.iter().filter_map(|fmu| Some((fmu, fmu.resident.as_ref()?)));
        residents.for_each(|(fmu, resident)| self.plan.note_resident(fmu, resident));
        if fmus.iter().all(|fmu| fmu.resident.is_some()) {
            return Ok(());
        }
        let (t, until) = (self.t(), self.options.until);
        let finer = f64::from(self.options.testing.exchanges.max(1));
        let mut changes = Vec::new();
        for (k, fmu) in fmus.iter().enumerate().filter(|(_, fmu)| fmu.resident.is_none()) {
            let outputs: Vec<_> = fmu.inputs.iter().map(|(_, output)| output.clone()).collect();
            let mut given = OutputMonitor::new(&outputs, &*self.observer.dynamics, self.options.rtol);
            let values = self.measured(given.as_mut())?;
            let subject = Subject { words: format!("FMU `{}`", fmu.name), place: Some(Place::Fmu(k)) };
            let started = Guest::start(&fmu.into(), &values, [t, until], self.options.rtol);
            let (guest, outputs) = started.map_err(|why| StepError::Fmu { t, culprit: subject.clone(), why })?;
            let sets: Vec<InputId> = fmu.outputs.iter().map(|(_, input)| InputId(*input)).collect();
            changes.extend(sets.iter().copied().zip(outputs));
            let memory = GuestProgress { from: t, exchanges: 0, values };
            let (keeps_state, step) = (fmu.description.keeps_state, fmu.step / finer);
            self.guests.exchanges.push(Exchange { guest, subject, given, sets, keeps_state, step, memory });
            self.plan.note_exchange(&fmu.name, step);
        }
        self.change_inputs(&changes, &mut Silent)?;
        // what one gives may be what another one is given
        let all: Vec<usize> = (0..self.guests.exchanges.len()).collect();
        all.iter().try_for_each(|_| self.exchange_with(&all, false, &mut Silent).map(|_| ()))
    }

    /// The values of what an FMU is given, at the present state.
    fn measured(&mut self, given: Option<&mut OutputMonitor>) -> Result<Vec<f64>, StepError> {
        let Some(given) = given else { return Ok(Vec::new()) };
        self.observed = false;
        self.observer.state.clone_from(self.engine.state());
        let mut values = Vec::new();
        given.look(&mut self.observer, |_, value| values.push(value))?;
        Ok(values)
    }

    /// Exchanges values with some FMUs, which take a step to the present time or are there already. Whether anything changed.
    fn exchange_with(&mut self, numbers: &[usize], steps: bool, out: &mut dyn Recorder) -> Result<bool, StepError> {
        let mut all = Vec::new();
        for k in numbers {
            let mut given = self.guests.exchanges[*k].given.take();
            let values = self.measured(given.as_mut());
            self.guests.exchanges[*k].given = given;
            all.push(values?);
        }
        let mut changes = Vec::new();
        for (k, given) in numbers.iter().zip(all) {
            let exchange = &mut self.guests.exchanges[*k];
            let values = exchange.take(given, steps)?;
            changes.extend(exchange.sets.iter().copied().zip(values));
        }
        self.change_inputs(&changes, out)
    }

    /// Exchanges values with the FMUs whose time has come, and lets those do what they do there that are part of the machine; after
    /// an accepted step some ask for that.
    pub(super) fn exchange_due(
        &mut self,
        accepted: bool,
        sampler: &mut Option<Sampler>,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        let t = self.engine.state().t;
        let due: Vec<usize> = self.guests.due(t).collect();
        let visit = self.tenants_to_visit(accepted)?;
        if due.is_empty() && visit.is_none() {
            return Ok(());
        }
        let before = self.guests.before(t);
        let mut changed = !due.is_empty() && self.exchange_with(&due, true, out)?;
        if let Some(foretold) = visit {
            changed |= self.visit_at(t, foretold, out)?;
            if !foretold && due.is_empty() {
                return Ok(());
            }
        }
        self.timetable.start_anew(before, t);
        match sampler.as_ref().is_some_and(Sampler::follows) {
            true if changed => self.sample_behind(t, sampler, out),
            true => Ok(()),
            false => self.sample(t, sampler, out),
        }
    }

    /// Goes on from the present state as FMUs do that are part of the machine: at an event that one of them has foretold, or after
    /// a step.
    fn visit_at(&mut self, t: f64, foretold: bool, out: &mut dyn Recorder) -> Result<bool, StepError> {
        let from = self.engine.state().clone();
        let next = self.guests.tenants.iter().map(Tenant::next).fold(f64::INFINITY, f64::min);
        let happens =
            self.guests.tenants.iter().find(|tenant| tenant.next() == next).map(|tenant| tenant.subject.clone());
        if let Some(subject) = happens.filter(|_| foretold) {
            let event = Event { t, name: subject.words, what: "has an event".into() };
            out.event(&event).map_err(|e| StepError::Record(e.to_string()))?;
            self.passing.events.push(event);
        }
        // it must not find itself before the time that it told
        let to = State { t: if foretold { t.max(next) } else { t }, ..from.clone() };
        self.timetable.forget();
        self.change_over(&from, &to, None, out)
    }

    /// What FMUs need to go on from here later.
    pub(super) fn save_guests(&mut self) -> Result<SavedGuests, StepError> {
        let t = self.t();
        let exchanges = self.guests.exchanges.iter_mut().map(Exchange::save).collect::<Result<_, _>>()?;
        let tenants = self.guests.tenants.iter().map(|tenant| tenant.save(t)).collect::<Result<_, _>>()?;
        Ok(SavedGuests { exchanges, tenants })
    }

    /// Goes back with them.
    pub(super) fn restore_guests(&mut self, saved: &SavedGuests) -> Result<(), StepError> {
        let t = self.t();
        let Guests { exchanges, tenants } = &mut self.guests;
        exchanges.iter_mut().zip(&saved.exchanges).try_for_each(|(exchange, saved)| exchange.restore(saved))?;
        tenants.iter_mut().zip(&saved.tenants).try_for_each(|(tenant, saved)| tenant.restore(saved, t))
    }

    /// Tells a tape what they remember, or takes it over.
    pub(super) fn keep_guests(&mut self, tape: &mut Tape) -> Result<(), StepError> {
        let Guests { exchanges, tenants } = &self.guests;
        if exchanges.iter().any(|e| !e.keeps_state) || tenants.iter().any(|tenant| !tenant.keeps_state()) {
            tape.refuse("an FMU of the model cannot save its state (`canSerializeFMUState`)");
            return Ok(());
        }
        let mut saved = if tape.reads() { SavedGuests::default() } else { self.save_guests()? };
        tape.plain(&mut saved);
        if tape.reads() { self.restore_guests(&saved) } else { Ok(()) }
    }
}
