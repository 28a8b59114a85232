//! Passing an event: where it is, and how a run goes on behind it.

use super::Simulation;
use super::hidden::NarrowFeatures;
use super::impact::Resolved;
use super::observer::Observer;
use crate::engines::StepError;
use crate::events::{Event, EventFinder, EventRoot};
use crate::methods::clock::RESOLUTION;
use crate::plan::Revision;
use crate::record::Recorder;
use bellcrank_math::tape::Tape;
use bellcrank_model::dynamics::{Crossing, PlacedLaw};

/// Events in a row that may happen without time passing, and one more for each switch function.
const MOST_AT_ONCE: usize = 100;

/// After so many a shorter step is tried, which may be wanting: the first step of bdf after a bounce that is lower than the tolerance leads
/// below the floor, to the same bounce of a ball that leaves. Others pass with the steps that they want (Newton's cradle).
const REPEATED: std::ops::Range<usize> = 20..30;

/// The step that is tried then, in parts of the one that led there.
const SHORTER: f64 = 0.25;

/// No more than this fraction of a run is no time.
pub(super) const NO_TIME: f64 = 1e-13;

/// The switch functions of a run, and what happened so far.
pub(super) struct Passing {
    finder: EventFinder,
    pub features: NarrowFeatures,
    /// Events at the present time.
    pub repeated: usize,
    /// The next step is no longer, where those before it led to events without time passing.
    pub longest: f64,
    pub events: Vec<Event>,
}

impl Passing {
    pub fn new(switches: usize, laws: Vec<PlacedLaw>) -> Passing {
        let features = NarrowFeatures::new(laws);
        Passing {
            finder: EventFinder::new(switches),
            features,
            repeated: 0,
            longest: f64::INFINITY,
            events: Vec::new(),
        }
    }

    /// The number of switch functions.
    pub fn count(&self) -> usize {
        self.finder.count()
    }

    /// Whether there are any.
    pub fn watches(&self) -> bool {
        self.finder.count() > 0
    }

    /// Tells a tape what was seen and what happened.
    pub fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.finder);
        self.features.keep(tape);
        tape.count(&mut self.repeated);
        tape.number(&mut self.longest);
        tape.plain(&mut self.events);
    }

    /// The same behind a jump of something that is given, through which switch functions may fall.
    pub fn restart_behind_jump(&mut self) {
        self.finder.restart_behind_jump();
        self.features.restart();
    }

    /// Switch functions are looked at anew: the state or the equations are others.
    pub fn restart(&mut self) {
        self.finder.restart();
        self.features.restart();
    }
}

impl Observer {
    /// What happens at `self.state` when a switch function falls through zero: modes change, velocities may jump.
    pub(super) fn happen(&mut self, switch: usize) -> Result<Resolved, StepError> {
        // what sticks is at rest to rounding, and not to the tolerance of an integrator: let go, it would begin to slip backward
        if self.dynamics.reactive() && self.dynamics.may_stick().is_some() {
            self.consistent()?;
        }
        self.accelerate()?;
        match self.dynamics.cross(switch, &self.point, &mut self.w) {
            Some(Crossing { slot, mode, subject, what }) => {
                if let Some(kept) = self.state.charts.modes.get_mut(slot) {
                    *kept = mode;
                }
                Ok(Resolved { events: vec![(subject, what)], work: 0.0 })
            }
            None => {
                let trigger = self.dynamics.owner_of_switch(switch).map(|(slot, _)| slot);
                self.resolve(trigger)
            }
        }
    }
}

impl Simulation {
    /// The first event in the last step.
    pub(super) fn find(&mut self, from: f64) -> Result<Option<EventRoot>, StepError> {
        let (engine, observer) = (&mut *self.engine, &mut self.observer);
        let to = engine.state().t;
        self.passing.finder.find(from, to, &mut |t, values, approaches| {
            observer.go_to(t, engine)?;
            if observer.dynamics.reactive() {
                // where rows depend on each other, each of them has its share
                observer.react()?
            } else {
                observer.place()
            }
            observer.dynamics.switch_values(&observer.point, &mut observer.w, values);
            observer.dynamics.approaches(&observer.point, &mut observer.w, approaches);
            Ok(())
        })
    }

    /// Whether the run is so close to the time it has to stop at, as after an event there, that no step is short enough: a method would step
    /// past it. Then the run is put there.
    pub(super) fn arrives(&mut self, end: f64) -> Result<bool, StepError> {
        let state = self.engine.state();
        if end - state.t > RESOLUTION * state.t.abs() {
            return Ok(false);
        }
        let mut state = state.clone();
        state.t = end;
        let start = self.observer.complete(&state)?;
        self.engine.restart(&start)?;
        self.monitors.companion.turn_back(&start);
        self.passing.restart();
        self.monitors.energy.forget_power();
        Ok(true)
    }

    /// Goes to an event and starts anew from there: with another mode, with velocities that jumped where there was an
    /// impact, on other equations where the modes hold other motions, and on the constraints.
    pub(super) fn pass(&mut self, root: EventRoot, from: f64, out: &mut dyn Recorder) -> Result<(), StepError> {
        let root = self.beyond_zero(root)?;
        let observer = &mut self.observer;
        observer.go_to(root.t, &mut *self.engine)?;
        // turns are counted from the end of the step back to here by the velocities that led here, before these jump
        observer.dynamics.settle_past(f64::INFINITY, &mut observer.state, &mut observer.w);
        let Resolved { events: happened, work } = observer.happen(root.switch)?;
        self.monitors.energy.work += work;
        let passed = root.t - from > NO_TIME * self.options.until;
        self.passing.repeated = if passed { 0 } else { self.passing.repeated + 1 };
        if self.passing.repeated > MOST_AT_ONCE + observer.dynamics.switches() {
            let culprit =
                observer.dynamics.owner_of_switch(root.switch).map(|(_, subject)| subject).unwrap_or_default();
            return Err(StepError::Chatter { t: root.t, culprit });
        }
        self.passing.longest = if REPEATED.contains(&self.passing.repeated) {
            SHORTER * (self.engine.state().t - from)
        } else {
            f64::INFINITY
        };
        for (subject, what) in happened {
            let event = Event { t: root.t, name: subject.words, what: what.to_string() };
            out.event(&event).map_err(|e| StepError::Record(e.to_string()))?;
            self.passing.events.push(event);
        }
        self.visit_tenants()?;
        let observer = &mut self.observer;
        let holds = observer.hold();
        let start = observer.consistent()?;
        if holds {
            let rows = observer.dynamics.layout().m();
            self.revise(Revision::OtherEquations { t: root.t, rows }, &start)?;
        } else {
            self.engine.restart(&start)?;
            self.monitors.companion.restart(&start);
        }
        self.passing.restart();
        self.monitors.energy.forget_power();
        Ok(())
    }
}
