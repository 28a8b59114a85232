//! Driving a run from outside, step by step: a controller, another simulator, a game.

use super::Simulation;
use super::companion::Account;
use super::forecast::Forecast;
use super::guests::SavedGuests;
use super::monitors::SavedMonitors;
use crate::choices::{MethodName, Solver};
use crate::engines::StepError;
use crate::record::Silent;
use bellcrank_math::threads::team::Team;
use bellcrank_model::State;
use bellcrank_model::dynamics::BY_VALUE;
use bellcrank_model::snapshot::{self, SnapshotError};
use std::sync::atomic::Ordering;

/// One accepted step, or the part of it up to an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTaken {
    /// Where it began.
    pub from: f64,
    /// Where it ended.
    pub t: f64,
    /// Events at its end.
    pub events: usize,
}

/// A channel of a simulation, by its place in [`Simulation::header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub usize);

/// All that a run needs to go on from a time, to the bit.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct SavedState {
    /// Positions, velocities, modes of forces, charts.
    pub state: State,
    /// The method `auto` was in; none where nothing is free to move.
    pub method: Option<MethodName>,
    /// The end of the run, from which first steps are made.
    pub until: f64,
    solver: Solver,
    repeated: usize,
    events: usize,
    monitors: SavedMonitors,
    account: (Account, Forecast),
    guests: SavedGuests,
}

/// The name of saved states among stored ones.
const KIND: &str = "saved run";

impl SavedState {
    /// As bytes, for a file or another process.
    pub fn to_bytes(&self) -> Vec<u8> {
        snapshot::encode(KIND, self)
    }

    /// What [`SavedState::to_bytes`] wrote; bytes that are cut or changed are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<SavedState, SnapshotError> {
        snapshot::decode(KIND, bytes)
    }
}

impl Simulation {
    /// The present time, in s.
    pub fn t(&self) -> f64 {
        self.engine.state().t
    }

    /// The end of the run, in s.
    pub fn until(&self) -> f64 {
        self.options.until
    }

    /// What happened so far.
    pub fn events(&self) -> &[crate::events::Event] {
        &self.passing.events
    }

    /// Takes one step, as [`Simulation::run`] would; `None` at the end of the run.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use bellcrank_solve::{Options, Simulation};
    /// let text = r#"
    /// model = { plane = "xy", gravity = [0, -9.81] }
    /// body.bob = { mass = 1, at = [0.8, 0] }
    /// joint.rod = { type = "distance", between = ["ground", "bob"], at = [[0, 0], [0.8, 0]] }
    /// "#;
    /// let system = bellcrank_model::read::read_text("pendulum.toml", text, &[])?.model.into_system();
    /// let mut simulation = Simulation::new(system, Options::default())?;
    /// let x = simulation.channel("bob.x").ok_or("no such channel")?;
    /// while let Some(step) = simulation.step()? {
    ///     println!("{} {}", step.t, simulation.value(x)?);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn step(&mut self) -> Result<Option<StepTaken>, StepError> {
        self.step_within(self.options.until)
    }

    /// Takes one step that does not pass a time; `None` if that time is reached. A time after the end of the run moves the
    /// end.
    pub fn step_within(&mut self, limit: f64) -> Result<Option<StepTaken>, StepError> {
        let stop = self.reach(limit);
        let from = self.t();
        if from >= stop {
            return Ok(None);
        }
        let before = self.passing.events.len();
        self.in_team(|simulation| {
            simulation.begin_monitors()?;
            simulation.advance_once(stop, &mut None, &mut Silent)
        })?;
        Ok(Some(StepTaken { from, t: self.t(), events: self.passing.events.len() - before }))
    }

    /// Moves the end of the run if a time is beyond it; gives the time to stop at.
    fn reach(&mut self, t: f64) -> f64 {
        if t > self.options.until && t.is_finite() {
            self.options.until = t;
        }
        t.min(self.options.until)
    }

    /// Goes on to a time, events on the way included, and stops there. Gives the time that was reached: an interrupt ends
    /// it early, and a time that has passed changes nothing. A time after the end of the run moves the end.
    pub fn advance_to(&mut self, t: f64) -> Result<f64, StepError> {
        self.advance_watched(t, &mut |_| ())
    }

    /// The same with a look at the time after every step: a caller that waits may answer its user, and interrupt.
    pub fn advance_watched(&mut self, t: f64, look: &mut dyn FnMut(f64)) -> Result<f64, StepError> {
        let stop = self.reach(t);
        self.in_team(|simulation| {
            simulation.begin_monitors()?;
            while simulation.t() < stop && !simulation.options.resources.interrupt.load(Ordering::Relaxed) {
                simulation.advance_once(stop, &mut None, &mut Silent)?;
                look(simulation.t());
            }
            Ok(simulation.t())
        })
    }

    fn in_team<T>(&mut self, work: impl FnOnce(&mut Simulation) -> Result<T, StepError>) -> Result<T, StepError> {
        self.observed = false;
        if self.plan.threads <= 1 {
            return work(self);
        }
        let team = self.team.take().unwrap_or_else(|| Team::of(self.plan.threads));
        let done = team.lead(|| work(self));
        self.team = Some(team);
        done
    }

    /// The channel of a name, such as `bob.x`.
    pub fn channel(&self, name: &str) -> Option<ChannelId> {
        self.recorded_channels().iter().position(|channel| channel.name == name).map(ChannelId)
    }

    /// The present value of a channel; NaN for a channel of another simulation. One of positions or velocities is computed
    /// alone; one of accelerations or forces takes all channels with it, once for a state.
    pub fn value(&mut self, channel: ChannelId) -> Result<f64, StepError> {
        if !self.observed
            && let Some(value) = self.observe_one(channel.0)?
        {
            return Ok(value);
        }
        Ok(self.observe()?.get(channel.0).copied().unwrap_or(f64::NAN))
    }

    /// The present values of all channels, in the order of [`Simulation::header`]. They are computed once for a state.
    pub fn observe(&mut self) -> Result<&[f64], StepError> {
        if !self.observed {
            self.begin_monitors()?;
            self.observer.state.clone_from(self.engine.state());
            self.observe_recorded()?;
            self.observed = true;
        }
        Ok(&self.observer.values)
    }

    /// Saves all that the run needs to go on from here, to the bit: after [`Simulation::restore`] it takes the same steps
    /// as after the save. For that the method begins anew here; one that keeps a history, as BDF does, builds it up
    /// again from first order.
    pub fn save(&mut self) -> Result<SavedState, StepError> {
        let saved = SavedState {
            state: self.engine.state().clone(),
            method: self.plan.method(),
            until: self.options.until,
            solver: self.plan.solver(),
            repeated: self.passing.repeated,
            events: self.passing.events.len(),
            monitors: self.monitors.save(),
            account: self.monitors.companion.save(),
            guests: self.save_guests()?,
        };
        self.begin_anew(&saved.state)?;
        Ok(saved)
    }

    /// Goes back to a state that this simulation, or one of the same machine and options, has saved.
    pub fn restore(&mut self, saved: &SavedState) -> Result<(), StepError> {
        self.check_machine(&saved.state)?;
        self.options.until = saved.until;
        self.plan.resume(saved.method, saved.solver);
        self.passing.repeated = saved.repeated;
        self.passing.events.truncate(saved.events);
        self.monitors.restore(&saved.monitors);
        self.monitors.companion.restore(saved.account);
        self.restore_guests(&saved.guests)?;
        self.begin_anew(&saved.state)
    }

    /// Starts anew from a state of the same machine, as it is: nothing is assembled. Forces without a mode in it get the
    /// one that fits its values.
    pub fn restart(&mut self, state: &State) -> Result<(), StepError> {
        self.check_machine(state)?;
        self.begin_anew(state)
    }

    /// Refuses a state whose sizes are not those of this machine.
    fn check_machine(&self, state: &State) -> Result<(), StepError> {
        let sizes = |s: &State| [s.q.len(), s.v.len(), s.z.len(), s.charts.centres.len(), s.charts.inputs.len()];
        match sizes(state) == sizes(self.engine.state()) {
            true => Ok(()),
            false => Err(StepError::Refused { t: state.t, why: "the state is of another machine".into() }),
        }
    }

    /// Begins the method anew at a state, on the equations that its modes hold.
    pub(super) fn begin_anew(&mut self, state: &State) -> Result<(), StepError> {
        self.observed = false;
        self.timetable.forget();
        let observer = &mut self.observer;
        observer.state.clone_from(state);
        let needs_modes =
            self.passing.watches() && state.charts.modes.is_empty() || state.charts.modes.contains(&BY_VALUE);
        if needs_modes {
            observer.place();
            observer.state.charts.modes = observer.dynamics.modes(&observer.point, &mut observer.w);
        }
        observer.hold();
        let state = observer.state.clone();
        let start = observer.complete(&state)?;
        self.rebuild(&start)?;
        self.passing.restart();
        self.monitors.energy.forget_power();
        Ok(())
    }
}
