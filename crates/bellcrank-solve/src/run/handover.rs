//! Handing a run over from one engine to another: one way for all revisions of the plan.

use super::Simulation;
use crate::engines::{Engine, StepError};
use crate::plan::Revision;
use bellcrank_model::Point;

impl Simulation {
    /// Hands the state over from the explicit method to BDF.
    pub(super) fn become_implicit(&mut self) -> Result<(), StepError> {
        let state = self.engine.state().clone();
        let start = self.observer.complete(&state)?;
        self.revise(Revision::Stiff { t: state.t }, &start)
    }

    /// Goes on from a consistent point with an engine of the revised plan.
    pub(super) fn revise(&mut self, revision: Revision, start: &Point) -> Result<(), StepError> {
        let dynamics = &self.observer.dynamics;
        let decided = self.plan.revised(revision, dynamics, start, &self.options)?;
        let (plan, engine) = decided.build(dynamics, &self.options, start, &self.observer.kkt)?;
        self.plan = plan;
        self.monitors.companion.renew(&self.plan, dynamics, &self.options, start);
        self.change_engine(engine);
        Ok(())
    }

    /// Goes on from a consistent point with a new engine of the same plan.
    pub(super) fn rebuild(&mut self, start: &Point) -> Result<(), StepError> {
        let dynamics = &self.observer.dynamics;
        let decided = self.plan.again(dynamics, start, &self.options)?;
        let (plan, engine) = decided.build(dynamics, &self.options, start, &self.observer.kkt)?;
        self.plan = plan;
        self.monitors.companion.renew(&self.plan, dynamics, &self.options, start);
        self.change_engine(engine);
        Ok(())
    }

    fn change_engine(&mut self, engine: Box<dyn Engine>) {
        self.plan.note_revisions(self.engine.revisions());
        self.earlier += self.engine.statistics();
        self.monitors.clock.leave(&*self.engine);
        self.engine = engine;
        self.monitors.companion.instruct(&mut *self.engine);
        if self.monitors.clock.measures() {
            self.engine.measure();
        }
    }
}
