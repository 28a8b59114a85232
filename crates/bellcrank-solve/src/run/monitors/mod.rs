//! Monitors look at a run from outside: the motion does not depend on them, but for the companion's, which says how strict
//! steps are to be.

mod clock;
mod drift;
mod energy;
mod history;
mod limits;
mod momentum;
mod outputs;
mod rank;

pub(crate) use clock::{Phase, RunClock};
pub(crate) use drift::DriftMonitor;
pub(crate) use energy::EnergyMonitor;
pub(crate) use limits::LimitMonitor;
pub(crate) use momentum::MomentumMonitor;
pub(crate) use outputs::OutputMonitor;
pub(crate) use rank::RankMonitor;

use super::companion::Companion;
use super::observer::Observer;
use super::summary::{Drift, Summary};
use crate::engines::{Engine, StepError};
use crate::events::Event;
use crate::history::History;
use bellcrank_math::tape::Tape;

/// A step as monitors see it.
pub(crate) struct StepView<'a> {
    /// Its beginning.
    pub from: f64,
    /// Its end: where the engine is, or the first event.
    pub to: f64,
    pub engine: &'a mut dyn Engine,
    pub observer: &'a mut Observer,
    /// What happened so far.
    pub events: &'a mut Vec<Event>,
}

/// Three Gauss points and weights on [0, 1]: order 6.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// Looks at a run from outside.
pub(crate) trait Monitor {
    /// After every step, up to its end or to the event in it.
    fn step(&mut self, _: &mut StepView<'_>) -> Result<(), StepError> {
        Ok(())
    }
    /// At the accepted point, which the observer's workspace has realized: every `check_every` steps, and at the end.
    fn measure(&mut self, _: &mut StepView<'_>) {}
    /// After an event: velocities may have jumped.
    fn jump(&mut self, _: &mut StepView<'_>) -> Result<(), StepError> {
        Ok(())
    }
    /// At the end of the run.
    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary);
}

/// All monitors of a run. They are fields and not a list, so that a step of a small model makes no virtual calls for them.
pub(crate) struct Monitors {
    pub drift: DriftMonitor,
    pub energy: EnergyMonitor,
    pub rank: RankMonitor,
    pub limits: LimitMonitor,
    pub momentum: Option<Box<MomentumMonitor>>,
    pub outputs: Option<Box<OutputMonitor>>,
    pub history: History,
    pub clock: RunClock,
    /// What tells the error, and the engines how strict to be.
    pub companion: Companion,
    /// Steps since the last measurement.
    unmeasured: usize,
    begun: bool,
}

/// What monitors need to go on from an earlier state.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedMonitors {
    drift: Drift,
    energy: EnergyMonitor,
    rank: RankMonitor,
    limits: LimitMonitor,
    outputs: Option<outputs::SavedOutputs>,
}

impl Monitors {
    pub fn new(energy: EnergyMonitor, companion: Companion, redundant: usize, clock: RunClock) -> Monitors {
        Monitors {
            drift: DriftMonitor::default(),
            energy,
            rank: RankMonitor::new(redundant),
            limits: LimitMonitor::default(),
            momentum: None,
            outputs: None,
            history: History::default(),
            clock,
            companion,
            unmeasured: 0,
            begun: false,
        }
    }

    /// Shows them the start, once.
    pub fn begin(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.measure(view);
        if let Some(outputs) = &mut self.outputs {
            outputs.begin(view.observer, &*view.engine)?;
        }
        match &mut self.momentum {
            Some(momentum) => momentum.step(view),
            None => Ok(()),
        }
    }

    /// What they need to go on from here later.
    pub fn save(&self) -> SavedMonitors {
        let (energy, rank, limits) = (self.energy.clone(), self.rank.clone(), self.limits.clone());
        let outputs = self.outputs.as_ref().map(|outputs| outputs.save());
        SavedMonitors { drift: self.drift.drift, energy, rank, limits, outputs }
    }

    /// Goes back to what they knew then.
    pub fn restore(&mut self, saved: &SavedMonitors) {
        self.drift.drift = saved.drift;
        self.energy.clone_from(&saved.energy);
        self.rank.clone_from(&saved.rank);
        self.limits.clone_from(&saved.limits);
        if let (Some(outputs), Some(saved)) = (&mut self.outputs, &saved.outputs) {
            outputs.restore(saved);
        }
    }

    /// Tells a tape all that they remember, but for the time that they took.
    pub fn keep(&mut self, tape: &mut Tape) {
        let mut saved = self.save();
        tape.plain(&mut saved);
        if tape.reads() {
            self.restore(&saved);
        }
        tape.option(&mut self.momentum, || Some(Box::default()));
        if let Some(momentum) = &mut self.momentum {
            momentum.keep(tape);
        }
        tape.plain(&mut self.history);
        self.companion.keep(tape);
        tape.count(&mut self.unmeasured);
        tape.flag(&mut self.begun);
    }

    /// After a step; history is kept by its own call, as refused steps are in it too.
    pub fn step(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        self.energy.step(view)?;
        if let Some(momentum) = &mut self.momentum {
            momentum.step(view)?;
        }
        self.rank.step(view)?;
        // last: a sample at the end of the step begins where they leave the observer
        match &mut self.outputs {
            Some(outputs) => outputs.step(view),
            None => Ok(()),
        }
    }

    /// After an event.
    pub fn jump(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        self.rank.jump(view)?;
        match &mut self.momentum {
            Some(momentum) => momentum.jump(view),
            None => Ok(()),
        }
    }

    /// Measures in every `check_every`-th step, and at the end.
    pub fn measure_in_turn(&mut self, check_every: usize, until: f64, view: &mut StepView<'_>) {
        self.unmeasured += 1;
        if self.unmeasured >= check_every || view.engine.state().t >= until {
            self.measure(view);
        }
    }

    /// Measures drift, energy, rank and limits at the accepted point.
    pub fn measure(&mut self, view: &mut StepView<'_>) {
        self.unmeasured = 0;
        view.observer.realize(view.engine.point());
        self.drift.measure(view);
        self.energy.measure(view);
        self.rank.measure(view);
        self.limits.measure(view);
    }

    /// What they found goes into the summary.
    pub fn end(&mut self, view: &mut StepView<'_>, into: &mut Summary) {
        self.drift.end(view, into);
        self.energy.end(view, into);
        self.rank.end(view, into);
        self.limits.end(view, into);
        if let Some(momentum) = &mut self.momentum {
            momentum.end(view, into);
        }
        if let Some(outputs) = &self.outputs {
            outputs.end(into);
        }
        self.history.end(view, into);
        self.clock.end(view, into);
    }
}
