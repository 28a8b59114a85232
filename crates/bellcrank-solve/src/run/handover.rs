//! Handing a run over from one engine to another: one way for all revisions of the plan.

use super::Simulation;
use crate::choices::MethodName;
use crate::engines::{Engine, StepError, Stiff};
use crate::linearization::{DAMPED, linearize_with_loads_as_they_are};
use crate::plan::{Revision, formulation};
use bellcrank_model::Point;

/// Eigenvalues of models with more coordinates would cost as much as many steps.
const MOST_COORDINATES: usize = 150;

/// Steps of an explicit method at the edge of stability are about this long, in units of the fastest rate; much shorter
/// ones are held down by something else.
const AT_THE_EDGE: f64 = 0.2;

impl Simulation {
    /// Goes over to BDF, unless what is fast is an oscillation that goes on: its steps would be no longer, and it would damp what
    /// nothing damps. An oscillation that never began is passed over, damped or not.
    pub(super) fn meet_stiffness(&mut self, how: Stiff) -> Result<(), StepError> {
        if how == Stiff::Rough && self.oscillates()? {
            self.engine.follow_oscillation();
            return Ok(());
        }
        self.become_implicit()
    }

    /// Whether the fastest motion about the present state hardly dies out, as far as that can be told.
    fn oscillates(&mut self) -> Result<bool, StepError> {
        if self.observer.dynamics.layout().n() > MOST_COORDINATES {
            return Ok(false);
        }
        let state = self.engine.state().clone();
        let at = self.observer.complete(&state)?;
        let about = linearize_with_loads_as_they_are(&*self.observer.dynamics, &at);
        let fastest = about.ok().and_then(|l| l.fastest());
        let h = self.engine.step_size();
        Ok(fastest.is_some_and(|f| f.rate * h > AT_THE_EDGE && f.damping < DAMPED))
    }

    /// Hands the state over from the explicit method to BDF.
    fn become_implicit(&mut self) -> Result<(), StepError> {
        let state = self.engine.state().clone();
        let start = self.observer.complete(&state)?;
        let formulation = formulation(MethodName::Bdf, &self.options, &*self.observer.dynamics);
        self.revise(Revision::Stiff { t: state.t, formulation }, &start)
    }

    /// Goes on from a consistent point with an engine of the revised plan.
    pub(super) fn revise(&mut self, revision: Revision, start: &Point) -> Result<(), StepError> {
        let dynamics = &self.observer.dynamics;
        let decided = self.plan.revised(revision, dynamics, start, &self.options)?;
        let (plan, engine) = decided.build(dynamics, &self.options, start, &self.observer.kkt)?;
        self.plan = plan;
        self.monitors.companion.renew(&self.plan, dynamics, &self.options, start);
        self.change_engine(engine, start);
        Ok(())
    }

    /// Goes on from a consistent point with a new engine of the same plan.
    pub(super) fn rebuild(&mut self, start: &Point) -> Result<(), StepError> {
        let dynamics = &self.observer.dynamics;
        let decided = self.plan.again(dynamics, start, &self.options)?;
        let (plan, engine) = decided.build(dynamics, &self.options, start, &self.observer.kkt)?;
        self.plan = plan;
        self.monitors.companion.renew(&self.plan, dynamics, &self.options, start);
        self.change_engine(engine, start);
        Ok(())
    }

    fn change_engine(&mut self, engine: Box<dyn Engine>, start: &Point) {
        self.born = Some(Box::new(start.clone()));
        self.plan.note_revisions(self.engine.revisions());
        self.earlier += self.engine.statistics();
        self.left_out.forget();
        self.monitors.clock.leave(&*self.engine);
        self.engine = engine;
        self.monitors.companion.instruct(&mut *self.engine);
        if self.monitors.clock.measures() {
            self.engine.measure();
        }
    }
}
