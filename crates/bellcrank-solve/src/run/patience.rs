//! Runs that will not end: they are given up, with what was computed.

use super::Simulation;
use crate::engines::StepError;
use crate::wedge::CLOSE;
use bellcrank_math::tape::Tape;
use bellcrank_model::Subject;
use bellcrank_model::dynamics::Lost;
use std::time::Instant;

/// Steps between two looks at how far a run comes.
const LOOK: usize = 4096;

/// A run that would need more steps than this, at the pace of several looks in a row, is given up.
const ENDLESS: f64 = 1e9;
const LOOKS: usize = 5;

/// How far a run came at the last look.
#[derive(Default)]
pub(super) struct Patience {
    steps: usize,
    looked: f64,
    slow: usize,
    /// Seconds that earlier processes took for the run.
    earlier: f64,
    began: Option<Instant>,
}

impl Patience {
    /// Seconds so far.
    fn seconds(&self) -> f64 {
        self.earlier + self.began.map_or(0.0, |began| began.elapsed().as_secs_f64())
    }

    /// A run that is resumed has as much left as it had.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        let mut seconds = self.seconds();
        tape.count(&mut self.steps);
        tape.number(&mut self.looked);
        tape.count(&mut self.slow);
        tape.number(&mut seconds);
        if tape.reads() {
            (self.earlier, self.began) = (seconds, None);
        }
    }
}

impl Simulation {
    /// Gives a run up that took all that it may take, or that will not come to its end.
    pub(super) fn lose_patience(&mut self, until: f64) -> Result<(), StepError> {
        let patience = &mut self.patience;
        patience.steps += 1;
        patience.began.get_or_insert_with(Instant::now);
        let (resources, t) = (&self.options.resources, self.engine.state().t);
        if resources.max_steps.is_some_and(|most| patience.steps >= most && t < until) {
            let why = format!("it took {} steps, and max_steps allows no more", patience.steps);
            return Err(self.give_up(why));
        }
        if let Some(most) = resources.max_seconds
            && patience.seconds() > most
            && t < until
        {
            return Err(self.give_up(format!("it took {most} s on the clock, and max_seconds allows no more")));
        }
        if patience.steps.is_multiple_of(LOOK) && self.options.step.is_none() {
            let pace = (t - std::mem::replace(&mut patience.looked, t)) / LOOK as f64;
            let needed = (until - t) / pace;
            patience.slow = if needed > ENDLESS || pace <= 0.0 { patience.slow + 1 } else { 0 };
            if patience.slow >= LOOKS {
                let why = format!("its steps of {pace:.1e} s would be {needed:.0e} up to {until} s");
                let e = self.give_up(why);
                return Err(self.explain_failure(t, e));
            }
        }
        Ok(())
    }

    /// The error of a run that is given up, with what held it up most.
    fn give_up(&self, why: String) -> StepError {
        let culprits = self.monitors.history.culprits.iter();
        let worst = culprits.filter(|c| c.owner.is_some()).max_by_key(|c| c.errors + c.convergence);
        let owner = worst.and_then(|c| c.owner);
        let culprit: Subject = match owner {
            Some((unknown, block)) => self.observer.dynamics.subject(unknown, block),
            None => "the model".into(),
        };
        StepError::GivenUp { t: self.engine.state().t, culprit, why }
    }

    /// The error of a step that failed, with the force, drive or expression that is no number at its times, if one is.
    pub(super) fn explain_failure(&mut self, from: f64, e: StepError) -> StepError {
        if matches!(e, StepError::Chatter { .. } | StepError::Jump { .. } | StepError::Record(_)) {
            return e;
        }
        self.observer.state.clone_from(self.engine.state());
        self.observer.place();
        if let Some(wedged) = self.observer.wedged(CLOSE) {
            return wedged;
        }
        let (h, until) =
            (self.engine.refusals().iter().map(|r| r.h).fold(self.engine.step_size(), f64::max), self.options.until);
        // just ahead, or within what was tried
        let ahead = from + h.clamp(1e-3 * until, (until - from).max(1e-3 * until));
        let pole = self.timetable.pole(self.engine.state(), from, ahead, until);
        let times = (0..=8).map(|k| from + h * f64::from(k) / 8.0).chain([from + 1e-12 * h]);
        let times: Vec<f64> = pole.into_iter().chain(times).collect();
        for t in times {
            self.observer.state.clone_from(self.engine.state());
            self.observer.state.t = t;
            self.observer.place();
            let found = self.observer.dynamics.not_finite(&self.observer.point, &mut self.observer.w);
            // what is merely large may be the stiffness that held the steps down
            let found = found.filter(|lost| !(lost.is_finite && matches!(e, StepError::GivenUp { .. })));
            if let Some(Lost { subject: culprit, what, .. }) = found {
                return StepError::NoNumber { t, culprit, what };
            }
        }
        e
    }

    /// Refuses a step over a time at which a function of time is infinite.
    pub(super) fn refuse_poles(&mut self, from: f64) -> Result<(), StepError> {
        let to = self.engine.state().t;
        let Some(t) = self.timetable.pole(self.engine.state(), from, to, self.options.until) else { return Ok(()) };
        self.observer.state.clone_from(self.engine.state());
        self.observer.state.t = t;
        self.observer.place();
        match self.observer.dynamics.not_finite(&self.observer.point, &mut self.observer.w) {
            Some(Lost { subject: culprit, what, .. }) => Err(StepError::NoNumber { t, culprit, what }),
            None => Ok(()),
        }
    }
}
